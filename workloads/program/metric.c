/* The number that a program counts itself, out of what it wrote. */
#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/csv_reader.h"
#include "harness/core/text.h"
#include "workloads/program/program.h"

#define PLACE "{value}"
#define NUMBER_PATTERN "([-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?)"
#define SEPARATORS ",.'_" /* within numbers, in one country or another */
#define NUMBER_TEXT_MAX 64
#define NUMBERS_MAX ((size_t)1 << 20)
#define GROUPS 2
#define KEY_MAX 256

/* What was found, in its order. */
struct numbers {
    double *items;
    size_t count;
    char wrong[NUMBER_TEXT_MAX]; /* the first that is no number; "": none */
};

static void numbers_finish(struct numbers *numbers)
{
    free(numbers->items);
}

static enum status add_number(struct numbers *numbers, double value, struct error *err)
{
    if (numbers->count == NUMBERS_MAX)
        return error_set(err, STATUS_INVALID, "it has more than %zu numbers", NUMBERS_MAX);
    TRY(ARRAY_GROW(numbers->items, numbers->count, 1, err));
    numbers->items[numbers->count++] = value;
    return STATUS_OK;
}

static enum status add_text(struct numbers *numbers, const char *text, size_t length,
                            struct error *err)
{
    char word[NUMBER_TEXT_MAX];
    double value;

    snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word) - 1),
             text);
    if (length < sizeof(word) && text_parse_double(word, &value))
        return add_number(numbers, value, err);
    for (char *c = word; *c; c++)
        *c = *c >= ' ' && *c < 0x7f ? *c : '?';
    if (!numbers->wrong[0])
        memcpy(numbers->wrong, word, sizeof(word));
    return STATUS_OK;
}

/* ---- by a pattern ---- */

/* As an extended regular expression: the words as they are, blanks of any length. NULL: no memory.
 */
static char *expression_of(const char *pattern)
{
    struct text out = TEXT_INIT;

    if (!strstr(pattern, PLACE))
        return strdup(pattern);
    for (const char *c = pattern; *c; c++) {
        const bool is_blank = *c == ' ' || *c == '\t';

        if (!strncmp(c, PLACE, strlen(PLACE))) {
            text_append(&out, NUMBER_PATTERN);
            c += strlen(PLACE) - 1;
        } else if (is_blank && c > pattern && (c[-1] == ' ' || c[-1] == '\t')) {
            continue;
        } else if (is_blank) {
            text_append(&out, "[[:blank:]]+");
        } else {
            text_append_format(&out, strchr(".[]()*+?{}|^$\\", *c) ? "\\%c" : "%c", *c);
        }
    }
    return text_steal(&out);
}

static enum status compile(const char *pattern, regex_t *ret, struct error *err)
{
    AUTO_FREE char *expression = expression_of(pattern);
    char reason[128];
    int code;

    if (!expression)
        return error_no_memory(err);
    code = regcomp(ret, expression, REG_EXTENDED | REG_NEWLINE);
    if (code != 0) {
        regerror(code, ret, reason, sizeof(reason));
        return error_set(err, STATUS_INVALID, "\"%s\" is no pattern: %s", pattern, reason);
    }
    if (ret->re_nsub > 0)
        return STATUS_OK;
    regfree(ret);
    return error_set(err, STATUS_INVALID,
                     "\"%s\" does not say where the number is: write " PLACE
                     " there, or an extended regular expression with a group",
                     pattern);
}

enum status program_check_pattern(const char *pattern, struct error *err)
{
    CLEANUP(regfree) regex_t expression = {0};

    return compile(pattern, &expression, err);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/*
 * Whether what the pattern takes at its beginning or end is cut out of more: the 1 of 1,5, the 234
 * of 1,234.5, the 1.5 of 1.5k or 1.5µs. What the pattern itself has around the number was meant.
 */
static bool is_cut(const char *text, const char *rest, const regmatch_t at[GROUPS])
{
    const char *begin = rest + at[1].rm_so, *end = rest + at[1].rm_eo;

    if (at[0].rm_so == at[1].rm_so && begin - text >= 2 && is_digit(begin[-2]) &&
        strchr(SEPARATORS, begin[-1]))
        return true;
    if (at[0].rm_eo != at[1].rm_eo || !*end)
        return false;
    return strchr(SEPARATORS, *end) ? is_digit(end[1]) : !isascii(*end) || isalnum(*end);
}

static enum status refuse_cut(const char *at, size_t length, struct error *err)
{
    return error_set(err, STATUS_INVALID,
                     "%.*s is a part of a longer word there: write the text around the number "
                     "into the pattern, as in \"" PLACE
                     "ms\", and have the program write a decimal "
                     "point and no thousands separator (`environment: {set: [LC_ALL=C]}`)",
                     (int)length, at);
}

static enum status match_all(const char *pattern, const char *text, struct numbers *ret,
                             struct error *err)
{
    CLEANUP(regfree) regex_t expression = {0};
    const bool is_plain = strstr(pattern, PLACE) != NULL;
    regmatch_t at[GROUPS];
    const char *rest = text;

    TRY(compile(pattern, &expression, err));
    while (regexec(&expression, rest, GROUPS, at, rest > text ? REG_NOTBOL : 0) == 0) {
        const size_t length = at[1].rm_so >= 0 ? (size_t)(at[1].rm_eo - at[1].rm_so) : 0;

        if (is_plain && is_cut(text, rest, at))
            return refuse_cut(rest + at[1].rm_so, length, err);
        if (at[1].rm_so >= 0)
            TRY(add_text(ret, rest + at[1].rm_so, length, err));
        rest += at[0].rm_eo > 0 ? at[0].rm_eo : 1;
        if (rest[-1] == '\0' || *rest == '\0')
            break;
    }
    return STATUS_OK;
}

/* ---- by a path into JSON ---- */

static enum status walk(const json_t *value, const char *path, struct numbers *ret,
                        struct error *err);

/* After a `[`: a place of the list, or with `[]` all of them. */
static enum status walk_list(const json_t *list, const char *path, struct numbers *ret,
                             struct error *err)
{
    const char *close = strchr(path, ']');
    char *end;
    unsigned long at;

    if (!close)
        return error_set(err, STATUS_INVALID, "the path lacks a ]");
    if (close > path) {
        at = strtoul(path, &end, 10);
        return end == close ? walk(json_array_get(list, at), close + 1, ret, err)
                            : error_set(err, STATUS_INVALID,
                                        "between [ and ] stands a number, or "
                                        "nothing for all");
    }
    for (size_t i = 0; i < json_array_size(list); i++)
        TRY(walk(json_array_get(list, i), close + 1, ret, err));
    return STATUS_OK;
}

static enum status walk(const json_t *value, const char *path, struct numbers *ret,
                        struct error *err)
{
    char key[KEY_MAX];
    size_t length;

    path += *path == '.';
    length = strcspn(path, ".[");
    if (!value)
        return STATUS_OK;
    if (*path == '[')
        return walk_list(value, path + 1, ret, err);
    if (length > 0 && length < sizeof(key)) {
        snprintf(key, sizeof(key), "%.*s", (int)length, path);
        return walk(json_object_get(value, key), path + length, ret, err);
    }
    if (json_is_number(value))
        return add_number(ret, json_number_value(value), err);
    if (json_is_string(value))
        return add_text(ret, json_string_value(value), json_string_length(value), err);
    return STATUS_OK;
}

/* The first JSON value of the text; what programs write before and after it is passed over, as is
 * what only begins like one: "[INFO] ready". */
static enum status find_json(const char *path, const char *text, size_t length, struct numbers *ret,
                             struct error *err)
{
    const char *const end = text + length;
    const char *begin = text + strcspn(text, "{[");

    while (begin < end) {
        json_error_t reason;
        json_auto_t *json =
            json_loadb(begin, (size_t)(end - begin), JSON_DISABLE_EOF_CHECK, &reason);

        if (json)
            return walk(json, path, ret, err);
        begin += reason.position > 1 ? reason.position : 1;
        begin += begin < end ? strcspn(begin, "{[") : 0;
    }
    return error_set(err, STATUS_NOT_FOUND, "it has no whole JSON value");
}

/* ---- by a column of CSV ---- */

struct column {
    const char *name;
    size_t at;
    struct numbers *numbers;
};

static enum status take_header(void *context, const char *const *columns, size_t count,
                               struct error *err)
{
    struct column *column = context;

    while (column->at < count && strcmp(columns[column->at], column->name) != 0)
        column->at++;
    return column->at < count
               ? STATUS_OK
               : error_set(err, STATUS_NOT_FOUND, "it has no column \"%s\"", column->name);
}

static enum status take_row(void *context, const char *const *fields, uint64_t line,
                            struct error *err)
{
    const struct column *column = context;
    const char *field = fields[column->at];

    (void)line;
    return add_text(column->numbers, field, strlen(field), err);
}

static enum status find_column(const char *name, const char *text, size_t length,
                               struct numbers *ret, struct error *err)
{
    struct column column = {.name = name, .numbers = ret};
    FILE *file = length > 0 ? fmemopen((void *)(uintptr_t)text, length, "r") : NULL;
    enum status status;

    if (!file)
        return error_set(err, STATUS_NOT_FOUND, "it is empty");
    status = csv_reader_run_any(file, "CSV", take_header, take_row, &column, err);
    fclose(file);
    return status;
}

/* ---- which of them ---- */

static int compare_numbers(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median_of(struct numbers *numbers)
{
    const size_t half = numbers->count / 2;

    qsort(numbers->items, numbers->count, sizeof(double), compare_numbers);
    return numbers->count % 2 ? numbers->items[half]
                              : (numbers->items[half - 1] + numbers->items[half]) / 2;
}

static double take(struct numbers *numbers, enum program_take how)
{
    double sum = 0, least = INFINITY, most = -INFINITY;

    for (size_t i = 0; i < numbers->count; i++) {
        sum += numbers->items[i];
        least = fmin(least, numbers->items[i]);
        most = fmax(most, numbers->items[i]);
    }
    switch (how) {
    case PROGRAM_ONE:
    case PROGRAM_FIRST:
        return numbers->items[0];
    case PROGRAM_LAST:
        return numbers->items[numbers->count - 1];
    case PROGRAM_MEAN:
        return sum / (double)numbers->count;
    case PROGRAM_MEDIAN:
        return median_of(numbers);
    case PROGRAM_MIN:
        return least;
    case PROGRAM_MAX:
        return most;
    case PROGRAM_SUM:
        break;
    }
    return sum;
}

static enum status find_all(const struct program_metric *metric, const char *text, size_t length,
                            struct numbers *ret, struct error *err)
{
    if (metric->pattern)
        return match_all(metric->pattern, text, ret, err);
    return metric->json ? find_json(metric->json, text, length, ret, err)
                        : find_column(metric->csv, text, length, ret, err);
}

enum status program_find_number(const struct program_metric *metric, const char *text,
                                size_t length, double *ret, struct error *err)
{
    CLEANUP(numbers_finish) struct numbers numbers = {0};
    const char *where = metric->pattern ? metric->pattern
                        : metric->json  ? metric->json
                                        : metric->csv;

    TRY(find_all(metric, text, length, &numbers, err));
    if (numbers.wrong[0])
        return error_set(err, STATUS_INVALID, "\"%s\" has \"%s\", which is no finite number", where,
                         numbers.wrong);
    if (numbers.count == 0)
        return error_set(err, STATUS_NOT_FOUND, "it has no number at \"%s\"", where);
    if (numbers.count > 1 && metric->take == PROGRAM_ONE)
        return error_set(err, STATUS_INVALID,
                         "it has %zu numbers at \"%s\": write which counts, as in `take: last` or "
                         "`take: mean`",
                         numbers.count, where);
    *ret = take(&numbers, metric->take);
    return isfinite(*ret) && *ret > 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID,
                           "the number at \"%s\" is %g, and one above 0 is wanted", where, *ret);
}
