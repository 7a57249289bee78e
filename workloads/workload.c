#include "workloads/workload.h"

#include "harness/core/member.h"
#include "workloads/serving.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const scenario_names[] = {
    [SCENARIO_SINGLE_STREAM] = "single_stream",
    [SCENARIO_OFFLINE] = "offline",
    [SCENARIO_SERVER] = "server",
};

static const char *const implementation_names[] = {
    [IMPLEMENTATION_PORTABLE] = "portable",
    [IMPLEMENTATION_VENDOR] = "vendor",
    [IMPLEMENTATION_UNKNOWN] = "unknown",
};

/* Index of `name` in `names`, or `count`. */
static size_t name_index(const char *name, const char *const *names, size_t count)
{
    size_t i = 0;

    while (i < count && (name == NULL || strcmp(name, names[i]) != 0))
        ++i;
    return i;
}

const char *scenario_name(enum scenario scenario)
{
    if ((size_t)scenario >= sizeof(scenario_names) / sizeof(scenario_names[0]))
        return "unknown";
    return scenario_names[scenario];
}

bool scenario_from_name(const char *name, enum scenario *ret)
{
    size_t count = sizeof(scenario_names) / sizeof(scenario_names[0]);
    size_t index = name_index(name, scenario_names, count);

    if (index == count)
        return false;
    *ret = (enum scenario)index;
    return true;
}

char *scenario_text(enum scenario scenario, double rate, char ret[SCENARIO_TEXT_SIZE])
{
    if (scenario == SCENARIO_SERVER && isinf(rate))
        snprintf(ret, SCENARIO_TEXT_SIZE, "%s@saturated", scenario_name(scenario));
    else if (scenario == SCENARIO_SERVER && rate != 0)
        snprintf(ret, SCENARIO_TEXT_SIZE, "%s@%.15g%s", scenario_name(scenario), fabs(rate),
                 rate < 0 ? "x" : "");
    else
        snprintf(ret, SCENARIO_TEXT_SIZE, "%s", scenario_name(scenario));
    return ret;
}

bool scenario_from_text(const char *text, enum scenario *ret, double *ret_rate)
{
    const char *at = strchr(text, '@');
    char again[SCENARIO_TEXT_SIZE], *end = NULL;
    double rate;

    *ret_rate = 0;
    if (!at)
        return scenario_from_name(text, ret);
    rate = strcmp(at + 1, "saturated") ? strtod(at + 1, &end) : INFINITY;
    if (isfinite(rate) && *end == 'x')
        rate = -rate;
    if (rate == 0 || isnan(rate) || (isfinite(rate) && fabs(rate) > SERVING_RATE_MAX) ||
        strcmp(scenario_text(SCENARIO_SERVER, rate, again), text) != 0)
        return false;
    *ret = SCENARIO_SERVER;
    *ret_rate = rate;
    return true;
}

const char *implementation_name(enum implementation implementation)
{
    if ((size_t)implementation >= sizeof(implementation_names) / sizeof(implementation_names[0]))
        return "unknown";
    return implementation_names[implementation];
}

bool implementation_from_name(const char *name, enum implementation *ret)
{
    size_t count = sizeof(implementation_names) / sizeof(implementation_names[0]);
    size_t index = name_index(name, implementation_names, count);

    if (index == count)
        return false;
    *ret = (enum implementation)index;
    return true;
}

void workload_finish(struct workload *workload)
{
    if (workload->kind != NULL && workload->kind->unload != NULL)
        workload->kind->unload(workload);
    free(workload->parameters);
    free(workload->description);
    free(workload->origin);
    free(workload->precisions);
    free(workload->batches);
    if (workload->serving)
        free(workload->serving->load.rates);
    free(workload->serving);
    json_decref(workload->json);
    json_decref(workload->trace);
    memset(workload, 0, sizeof(*workload));
}

enum status workload_check_memory(const struct device *device, uint64_t needed, uint64_t largest,
                                  struct error *err)
{
    const struct device_info *info = &device->info;
    char need[TEXT_HUMAN_SIZE], have[TEXT_HUMAN_SIZE];

    if (info->memory_bytes && needed > info->memory_bytes)
        return error_set(err, STATUS_DEVICE_MEMORY,
                         "the model needs %s on the device, which has %s: declare a smaller batch, "
                         "sequence_length or model",
                         text_human_bytes((double)needed, need),
                         text_human_bytes((double)info->memory_bytes, have));
    if (info->max_allocation_bytes && largest > info->max_allocation_bytes)
        return error_set(err, STATUS_DEVICE_MEMORY,
                         "the model needs one allocation of %s, the device gives at most %s: "
                         "declare a smaller batch, sequence_length or model",
                         text_human_bytes((double)largest, need),
                         text_human_bytes((double)info->max_allocation_bytes, have));
    return STATUS_OK;
}

enum status workload_instance_create(const struct workload_case *work, struct device *device,
                                     struct workload_instance **ret, struct error *err)
{
    const struct workload_kind *kind = work->workload->kind;
    struct workload_instance *instance;
    enum status status;

    TRY(device_check_precision(device, work->precision, err));
    instance = calloc(1, kind->instance_size);
    if (instance == NULL)
        return error_no_memory(err);
    instance->kind = kind;
    instance->work = *work;
    instance->device = device;
    status = kind->init(instance, err);
    if (status != STATUS_OK) {
        workload_instance_destroy(instance);
        return status;
    }
    *ret = instance;
    return STATUS_OK;
}

void workload_instance_destroy(struct workload_instance *instance)
{
    if (instance != NULL)
        instance->kind->finish(instance);
    free(instance);
}

struct framework_model workload_framework_model(const struct workload_instance *instance)
{
    const struct workload_case *work = &instance->work;

    return (struct framework_model){.threads = work->framework_threads
                                                   ? work->framework_threads
                                                   : framework_threads(instance->device),
                                    .precision = work->precision,
                                    .own_precision = work->own_precision};
}

json_t *workload_framework_json(const struct workload_case *work)
{
    struct framework_info info;

    framework_describe(work->framework, &info);
    return json_pack("{s:s, s:s, s:s?, s:o}", "name", info.name, "version", info.version,
                     "precision", info.precision[0] ? info.precision : NULL, "threads",
                     info.threads ? json_integer(info.threads) : json_null());
}

json_t *workload_choices_stacks(const json_t *choices)
{
    json_t *stacks = json_array();
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)choices, name, value)
    {
        if (json_is_object(value)) {
            json_t *inner = workload_choices_stacks(value);

            json_array_extend(stacks, inner);
            json_decref(inner);
        } else if (!strcmp(name, WORKLOAD_CHOICES_STACK)) {
            json_array_append(stacks, value);
        }
    }
    return stacks;
}

void workload_note_candidate(json_t *candidates, json_t *candidate, int64_t ns,
                             const struct error *refusal)
{
    if (refusal != NULL)
        json_object_set_new(candidate, "refused", json_string(refusal->message));
    else
        json_object_set_new(candidate, "ns", json_integer(ns));
    json_array_append_new(candidates, candidate);
}

void workload_keep_refusal(struct error *kept, const struct error *refusal)
{
    if (kept->code == STATUS_OK ||
        (kept->code == STATUS_UNSUPPORTED && refusal->code != STATUS_UNSUPPORTED))
        *kept = *refusal;
}

/* What distinguishes a candidate from the others, and why it was left out. */
static json_t *refusal_words(const json_t *candidate, const char *reason)
{
    const char *family = member_string(candidate, "family"), *name;
    struct text text;
    json_t *words, *value;

    text_init(&text);
    text_append(&text, family ? family : "");
    json_object_foreach((json_t *)candidate, name, value)
    {
        if (json_is_integer(value))
            text_append_format(&text, ", %s %lld", name, (long long)json_integer_value(value));
        else if (json_is_string(value) && strcmp(name, "family") != 0 &&
                 strcmp(name, "refused") != 0)
            text_append_format(&text, ", %s %s", name, json_string_value(value));
    }
    text_append_format(&text, ": %s", reason);
    words = text_ok(&text) ? json_string(text.data) : NULL;
    text_finish(&text);
    return words;
}

json_t *workload_refusals(const json_t *facts)
{
    json_t *refusals = NULL, *candidate;
    size_t i;

    json_array_foreach(json_object_get(facts, "candidates"), i, candidate)
    {
        const char *reason = member_string(candidate, "refused");

        if (reason != NULL && refusals == NULL)
            refusals = json_array();
        if (reason != NULL)
            json_array_append_new(refusals, refusal_words(candidate, reason));
    }
    return refusals;
}

bool workload_choice(const json_t *choices, const char *name, uint32_t max, uint32_t *ret)
{
    const json_int_t value = member_integer(choices, name);

    if (value < 1 || value > max)
        return false;
    *ret = (uint32_t)value;
    return true;
}

const char *workload_kind_name(const struct workload *workload)
{
    return workload->kind->name;
}

void workload_append_shapes(const struct workload *workload, struct text *out)
{
    if (workload->kind->describe)
        workload->kind->describe(workload, out);
}

enum status workload_case_cost(const struct workload_case *work, struct workload_cost *ret,
                               struct error *err)
{
    return work->workload->kind->cost(work, ret, err);
}

double workload_case_tolerance(const struct workload_case *work, const char *output,
                               const char *metric)
{
    const struct workload_kind *kind = work->workload->kind;

    return kind->checks->tolerance(work, output, metric);
}
