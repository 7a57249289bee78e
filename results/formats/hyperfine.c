#include "results/formats/hyperfine.h"

#include <stdbool.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"

/* Exit codes above it are a shell's, or hyperfine's own from 1.12 on, for an end by a signal. */
#define SIGNAL_BASE 128
#define SIGNAL_MAX 64

/* ---- names ---- */

static void append_value(struct text *text, const json_t *value)
{
    AUTO_FREE char *shown = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);

    text_append(text, shown ? shown : json_is_string(value) ? json_string_value(value) : "?");
}

/* "COMMAND (driver=550, size=4)"; `parameter` is a number by itself in hyperfine 1.5 to 1.10. */
static char *with_parameters(const json_t *result, const char *command)
{
    const json_t *single = json_object_get(result, "parameter"), *value;
    json_t *many = json_object_get(result, "parameters");
    const char *name, *before = " (";
    struct text text = TEXT_INIT;

    text_append(&text, command);
    json_object_foreach(many, name, value)
    {
        text_append_format(&text, "%s%s=", before, name);
        append_value(&text, value);
        before = ", ";
    }
    if (json_object_size(many) == 0 && single && !json_is_null(single)) {
        text_append(&text, " (parameter=");
        append_value(&text, single);
        before = ", ";
    }
    text_append(&text, before[0] == ',' ? ")" : "");
    return text_steal(&text);
}

/* How often each text of `names` is there, as an object. */
static json_t *count_names(const json_t *names)
{
    json_t *counts = json_object();

    EACH(name, names) {
        const char *key = json_string_value(name);

        if (key &&
            json_object_set_new(counts, key, json_integer(1 + member_integer(counts, key))) < 0) {
            json_decref(counts);
            return NULL;
        }
    }
    return counts;
}

/* Replaces names that several results have by `better`; false: no memory. */
static bool tell_apart(json_t *names, const json_t *results,
                       char *(*better)(const json_t *result, const char *name, json_t *numbers))
{
    json_auto_t *counts = count_names(names), *numbers = json_object();
    bool ok = counts && numbers;

    for (size_t i = 0; ok && i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        AUTO_FREE char *told = NULL;

        if (!name || member_integer(counts, name) < 2)
            continue;
        told = better(json_array_get(results, i), name, numbers);
        ok = told && json_array_set_new(names, i, json_string(told)) == 0;
    }
    return ok;
}

static char *by_parameters(const json_t *result, const char *name, json_t *numbers)
{
    (void)numbers;
    return with_parameters(result, name);
}

static char *by_number(const json_t *result, const char *name, json_t *numbers)
{
    const json_int_t number = 1 + member_integer(numbers, name);

    (void)result;
    if (json_object_set_new(numbers, name, json_integer(number)) < 0)
        return NULL;
    return text_format("%s #%lld", name, (long long)number);
}

json_t *hyperfine_names(const json_t *results)
{
    json_t *names = json_array();
    bool ok = names != NULL;

    EACH(result, results) {
        json_t *command = json_object_get(result, "command");

        ok = ok &&
             (json_string_length(command) > 0 ? json_array_append(names, command)
                                              : json_array_append_new(names, json_null())) == 0;
    }
    ok = ok && tell_apart(names, results, by_parameters) && tell_apart(names, results, by_number);
    if (!ok) {
        json_decref(names);
        return NULL;
    }
    return names;
}

/* ---- runs ---- */

static enum status check_code(const json_t *code, size_t run, const char *where, struct error *err)
{
    const long long number = (long long)json_integer_value(code);

    if (json_is_null(code))
        return error_set(err, STATUS_INVALID,
                         "%s: run %zu was ended by a signal (its exit code is null): times of "
                         "failed runs are not a result",
                         where, run);
    if (!json_is_integer(code))
        return error_set(err, STATUS_INVALID,
                         "%s: exit_codes: that of run %zu must be a whole number or null", where,
                         run);
    if (number > SIGNAL_BASE && number <= SIGNAL_BASE + SIGNAL_MAX)
        return error_set(err, STATUS_INVALID,
                         "%s: run %zu ended with exit code %lld, which stands for signal %lld: "
                         "times of failed runs are not a result",
                         where, run, number, number - SIGNAL_BASE);
    return number == 0
               ? STATUS_OK
               : error_set(
                     err, STATUS_INVALID,
                     "%s: run %zu ended with exit code %lld: times of failed runs are not a result",
                     where, run, number);
}

enum status hyperfine_check_runs(const json_t *result, const char *where, struct error *err)
{
    const json_t *codes = json_object_get(result, "exit_codes");
    const json_t *times = json_object_get(result, "times");

    if (!codes)
        return STATUS_OK; /* hyperfine before 1.12 did not write them */
    EACH(code, codes) {
        TRY(check_code(code, code_at + 1, where, err));
    }
    if (!json_is_array(codes) ||
        (json_is_array(times) && json_array_size(codes) != json_array_size(times)))
        return error_set(err, STATUS_INVALID, "%s: exit_codes: must be a list with one of each run",
                         where);
    return STATUS_OK;
}
