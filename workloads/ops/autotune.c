/*
 * Which of its algorithms the vendor's library takes for an operation, where it lists several: as
 * the choices say, or by measurement at the first use, on that use's own operands. The library's
 * order is its expectation, so a later one must be faster by a MARGIN; what fails is skipped. The
 * choice is made once a campaign and handed to every trial, since time and the order of sums depend
 * on it.
 */
#include "workloads/ops/autotune.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "harness/core/text.h"

#define MARGIN 0.98
#define MEASURES 3
#define MEASURE_NS 2000000 /* of launches one after the other: above the clock's resolution */
#define LAUNCHES_MAX 32
#define LONG_NS 50000000
#define HOPELESS 4

/* An operation that is being autotuned. */
struct autotuning {
    struct autotune *autotune;
    struct event *start, *end; /* NULL: the host's clock */
};

/* ---- as given ---- */

static enum status take_given(struct autotune *autotune, const json_t *given, uint32_t count,
                              struct error *err)
{
    const char *wanted = json_string_value(json_object_get(given, "algorithm"));
    const char *stack = json_string_value(json_object_get(autotune->given, WORKLOAD_CHOICES_STACK));
    struct gemm_info info = {0};
    enum status status = STATUS_OK;

    if (wanted == NULL)
        return error_set(err, STATUS_INVALID, "%s: the choices given name no algorithm for %s",
                         autotune->subject, autotune->key);
    for (uint32_t i = 0; i < count; i++) {
        status = autotune->select(autotune->operation, i, err);
        if (status == STATUS_OK)
            status = autotune->describe(autotune->operation, &info, err);
        if (status != STATUS_OK)
            return status;
        if (strcmp(info.algorithm, wanted) == 0) {
            autotune->tried = (uint32_t)json_integer_value(json_object_get(given, "tried"));
            return STATUS_OK;
        }
    }
    autotune->describe(autotune->operation, &info, NULL);
    return error_set(err, STATUS_UNSUPPORTED,
                     "%s %s does not offer the algorithm \"%s\" for the %s %s, which was chosen "
                     "with %s: measure with that library (--lib NAME=PATH), or begin anew with "
                     "`assay run`, which chooses again",
                     info.library, info.version, wanted, autotune->subject, autotune->key,
                     stack != NULL ? stack : "another library");
}

/* ---- by measurement ---- */

static enum status launch(struct autotuning *autotuning, uint32_t launches, struct error *err)
{
    enum status status = STATUS_OK;

    for (uint32_t i = 0; i < launches && status == STATUS_OK; i++)
        status = autotuning->autotune->run(autotuning->autotune->operation, err);
    return status;
}

/* What `launches` take one after the other, from the device's own clock where it has one. */
static enum status time_launches(struct autotuning *autotuning, uint32_t launches, int64_t *ret_ns,
                                 struct error *err)
{
    struct device *device = autotuning->autotune->device;
    const int64_t begin = clock_monotonic_ns();
    int64_t ns = 0;
    enum status status = STATUS_OK;

    if (autotuning->start != NULL)
        status = device_event_record(device, autotuning->start, err);
    if (status == STATUS_OK)
        status = launch(autotuning, launches, err);
    if (status == STATUS_OK && autotuning->start != NULL)
        status = device_event_record(device, autotuning->end, err);
    if (status == STATUS_OK)
        status = device_synchronize(device, err);
    else
        device_synchronize(device, NULL);
    ns = clock_monotonic_ns() - begin;
    if (status == STATUS_OK && autotuning->start != NULL)
        status = device_event_elapsed_ns(device, autotuning->start, autotuning->end, &ns, err);
    if (status == STATUS_OK)
        *ret_ns = ns > 0 ? ns : 1;
    return status;
}

/* One launch's time: the best of a few measures. The first launch may load the library's kernel. */
static enum status measure(struct autotuning *autotuning, int64_t best, int64_t *ret_ns,
                           struct error *err)
{
    int64_t mine = 0, ns = 0;
    uint32_t launches;
    enum status status = time_launches(autotuning, 1, &mine, err);

    if (status == STATUS_OK && (mine <= LONG_NS || best == INT64_MAX || mine / HOPELESS <= best)) {
        status = time_launches(autotuning, 1, &ns, err);
        launches = MEASURE_NS / (ns > 0 ? ns : 1) < LAUNCHES_MAX
                       ? (uint32_t)(MEASURE_NS / (ns > 0 ? ns : 1)) + 1
                       : LAUNCHES_MAX;
        mine = ns < mine ? ns : mine;
        for (int i = 0; i < MEASURES && status == STATUS_OK && mine / HOPELESS <= best; i++) {
            status = time_launches(autotuning, launches, &ns, err);
            if (status == STATUS_OK && ns / launches < mine)
                mine = ns / launches > 0 ? ns / launches : 1;
        }
    }
    if (status == STATUS_OK)
        *ret_ns = mine;
    return status;
}

/* One whose name is not available is named by its position in the library's list. */
static void note(struct autotuning *autotuning, uint32_t index, const char *name, int64_t ns,
                 const struct error *refusal)
{
    json_t *candidate = json_pack("{s:s, s:s, s:s}", "family", "vendor", "gemm",
                                  autotuning->autotune->key, "algorithm", name);

    if (name[0] == '\0')
        json_object_set_new(candidate, "algorithm", json_sprintf("number %" PRIu32, index + 1));
    workload_note_candidate(autotuning->autotune->candidates, candidate, ns, refusal);
}

/* Names of algorithms, so that none is taken which cannot be distinguished from an earlier one. */
static bool is_known(char (*names)[GEMM_WORD_MAX], uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static enum status try_algorithms(struct autotuning *autotuning, uint32_t count,
                                  char (*names)[GEMM_WORD_MAX], uint32_t *ret_best,
                                  struct error *err)
{
    struct autotune *autotune = autotuning->autotune;
    struct error kept = ERROR_INIT;
    int64_t best = INT64_MAX;

    for (uint32_t i = 0; i < count; i++) {
        struct gemm_info info = {0};
        struct error refusal = ERROR_INIT;
        int64_t ns = 0;
        enum status status = autotune->select(autotune->operation, i, &refusal);

        if (status == STATUS_OK)
            status = autotune->describe(autotune->operation, &info, &refusal);
        if (status == STATUS_OK && is_known(names, i, info.algorithm))
            continue;
        memcpy(names[i], info.algorithm, sizeof(names[i]));
        if (status == STATUS_OK)
            status = measure(autotuning, best, &ns, &refusal);
        note(autotuning, i, info.algorithm, ns, status == STATUS_OK ? NULL : &refusal);
        autotune->tried++;
        if (status == STATUS_DEVICE_LOST)
            return error_set(err, status, "%s", refusal.message);
        if (status != STATUS_OK)
            workload_keep_refusal(&kept, &refusal);
        if (status == STATUS_OK && (best == INT64_MAX || (double)ns < MARGIN * (double)best)) {
            best = ns;
            *ret_best = i;
        }
    }
    if (best != INT64_MAX)
        return STATUS_OK;
    return error_set(err, kept.code, "none of the library's %" PRIu32 " algorithms runs: %s", count,
                     kept.message);
}

static enum status choose(struct autotune *autotune, uint32_t count, struct error *err)
{
    char(*names)[GEMM_WORD_MAX] = calloc(count, sizeof(*names));
    struct autotuning autotuning = {.autotune = autotune};
    uint32_t best = 0;
    enum status status = STATUS_OK;

    if (!names)
        return error_set(err, STATUS_NO_MEMORY, "%s: out of memory", autotune->subject);
    if (device_has_events(autotune->device)) {
        status = device_event_create(autotune->device, &autotuning.start, err);
        if (status == STATUS_OK)
            status = device_event_create(autotune->device, &autotuning.end, err);
    }
    if (status == STATUS_OK)
        status = try_algorithms(&autotuning, count, names, &best, err);
    if (status == STATUS_OK)
        status = autotune->select(autotune->operation, best, err);
    device_event_destroy(autotune->device, autotuning.start);
    device_event_destroy(autotune->device, autotuning.end);
    free(names);
    return status;
}

enum status autotune_algorithm(struct autotune *autotune, struct error *err)
{
    const json_t *given =
        json_object_get(json_object_get(autotune->given, "algorithms"), autotune->key);
    struct gemm_info info = {0};
    enum status status = autotune->describe(autotune->operation, &info, err);

    if (status == STATUS_OK && given)
        return take_given(autotune, given, info.algorithms, err);
    /* Choices without this one: it is not one that is measured, and takes the library's first. */
    if (status != STATUS_OK || autotune->is_given || info.algorithms < 2)
        return status;
    if (autotune->prepare)
        status = autotune->prepare(autotune->operation, err);
    if (status == STATUS_DEVICE_MEMORY) /* too full to measure in: the library's first */
        return STATUS_OK;
    return status == STATUS_OK ? choose(autotune, info.algorithms, err) : status;
}

void autotune_record(json_t *algorithms, const char *key, const struct gemm_info *info,
                     uint32_t tried)
{
    if (key && info->algorithms > 0)
        json_object_set_new(
            algorithms, key,
            json_pack("{s:s, s:I}", "algorithm", info->algorithm, "tried", (json_int_t)tried));
}

json_t *autotune_choices(json_t *algorithms, const struct gemm_info *info)
{
    struct text stack;
    json_t *choices;

    if (json_object_size(algorithms) == 0) {
        json_decref(algorithms);
        return NULL;
    }
    text_init(&stack);
    text_append_format(&stack, "%s %s", info->library, info->version);
    choices = json_pack("{s:s, s:o}", WORKLOAD_CHOICES_STACK, text_ok(&stack) ? stack.data : "",
                        "algorithms", algorithms);
    text_finish(&stack);
    return choices;
}
