#include "harness/cli/pair_request.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cli/defaults.h"
#include "harness/core/cleanup.h"
#include "harness/core/text.h"

static enum status read_arm(const struct command_line *line, int key, struct arm_spec *spec,
                            struct error *err)
{
    const char *setting;
    enum status status = STATUS_OK;

    for (size_t n = 0; status == STATUS_OK && (setting = command_value_at(line, key, n)); n++)
        status = arm_spec_add(spec, setting, err);
    return status == STATUS_OK ? status : error_prefix(err, key == KEY_PAIR_A ? "--a" : "--b");
}

/* A comma parts values, but for one before a setting of a worker: pytorch,mode=compile. */
static bool parts_values(const char *at)
{
    return *at == ',' && strncmp(at + 1, "mode=", 5) != 0 && strncmp(at + 1, "threads=", 8) != 0;
}

/*
 * The next value of a list, heap, `*rest` after it; NULL: no memory. Commas within braces part what
 * the braces stand for: `part` says which of it to take, and whether it is the last.
 */
static char *next_value(const char **rest, size_t part, bool *ret_last)
{
    const char *end = *rest, *open = NULL, *close = NULL, *from, *to;
    char *value;

    while (*end && (!parts_values(end) || (open && !close))) {
        if (*end == '{' && !open)
            open = end;
        if (*end == '}' && open && !close)
            close = end;
        end++;
    }
    if (!close) {
        value = strndup(*rest, (size_t)(end - *rest));
        *ret_last = true;
    } else {
        for (from = open + 1; part > 0; part--)
            from = strpbrk(from, ",}") + 1;
        to = strpbrk(from, ",}");
        value = text_format("%.*s%.*s%.*s", (int)(open - *rest), *rest, (int)(to - from), from,
                            (int)(end - close - 1), close + 1);
        *ret_last = *to == '}';
    }
    if (*ret_last)
        *rest = *end ? end + 1 : end;
    return value;
}

/* A copy of what an arm was given, with one more setting. */
static enum status extend_arm(const struct arm_spec *from, const char *key, size_t key_length,
                              const char *value, struct arm_spec *ret, struct error *err)
{
    json_auto_t *json = arm_spec_to_json(from);
    json_auto_t *worker = from->worker ? named_worker_json(from->worker) : NULL;
    AUTO_FREE char *setting = text_format("%.*s=%s", (int)key_length, key, value);
    AUTO_FREE char *name = text_format("%s%s%s", from->name ? from->name : "",
                                       from->name ? ", " : "", value[0] ? value : "as it is");

    TRY(json && setting && name && !worker == !from->worker ? arm_spec_from_json(json, ret, err)
                                                            : error_no_memory(err));
    TRY(arm_spec_take_worker(ret, worker, err));
    if (value[0])
        TRY(arm_spec_add(ret, setting, err));
    free(ret->name);
    ret->name = name;
    name = NULL;
    return STATUS_OK;
}

enum status arms_cross(struct arm_spec *specs, size_t *arms, const char *over, struct error *err)
{
    const char *equals = strchr(over, '='), *rest;
    struct arm_spec made[PAIR_ARMS_MAX] = {{0}};
    AUTO_FREE char *list = NULL;
    size_t count = 0, part = 0;
    enum status status = STATUS_OK;
    bool last = false;

    if (!equals || equals == over || !equals[1])
        return error_set(err, STATUS_INVALID, "--over %s: write KEY=VALUE,VALUE,...", over);
    TRY(cell_list_ranges(equals + 1, &list, err));
    rest = list;
    do {
        AUTO_FREE char *value = next_value(&rest, part, &last);

        part = last ? 0 : part + 1;
        for (size_t i = 0; value && i < *arms && status == STATUS_OK; i++) {
            if (count == PAIR_ARMS_MAX)
                status = error_set(err, STATUS_INVALID, "more than %d arms", PAIR_ARMS_MAX);
            else
                status = extend_arm(&specs[i], over, (size_t)(equals - over), value, &made[count++],
                                    err);
        }
        if (!value)
            status = error_no_memory(err);
    } while (status == STATUS_OK && (!last || *rest));
    for (size_t i = 0; i < PAIR_ARMS_MAX; i++) {
        arm_spec_finish(&specs[i]);
        specs[i] = made[i];
    }
    *arms = count;
    return status;
}

static enum status read_matrix(const struct command_line *line, struct pair_request *request,
                               struct error *err)
{
    const char *over;

    request->count = 1;
    for (size_t n = 0; (over = command_value_at(line, KEY_PAIR_OVER, n)) != NULL; n++)
        TRY(arms_cross(request->specs, &request->count, over, err));
    if (request->count < 2)
        return error_set(err, STATUS_INVALID,
                         "--over gives one arm alone; name two values, such as "
                         "--over 'cc=gcc,clang'");
    return STATUS_OK;
}

static enum status read_numbers(const struct command_line *line, struct pair_request *request,
                                struct error *err)
{
    const char *pairs = command_value(line, KEY_PAIR_PAIRS);
    int64_t count = 0;
    enum status status;

    if (pairs && (!text_parse_i64(pairs, &count) || count < 5 || count > 10000))
        return error_set(err, STATUS_INVALID, "--pairs %s: write a whole number from 5 to 10000",
                         pairs);
    request->compare = compare_options_default();
    TRY(command_fraction(line, KEY_PAIR_MARGIN, "margin", &request->compare.margin, err));
    status = cell_lists_read(line, KEY_PAIR_PRECISION, KEY_PAIR_BATCH, &request->lists, err);
    for (size_t arm = 0; arm < request->count; arm++) {
        struct plan_request *plan = &request->plans[arm];

        plan->trials = count;
        cell_lists_apply(&request->lists, plan);
        if (request->specs[arm].has_precision) {
            plan->precisions = &request->specs[arm].precision;
            plan->precision_count = 1;
        }
    }
    return status;
}

enum status pair_request_read(const struct command_line *line, const char *const *workloads,
                              size_t workload_count, struct pair_request *ret, struct error *err)
{
    enum status status = STATUS_OK;

    memset(ret, 0, sizeof(*ret));
    if (command_has(line, KEY_PAIR_OVER)) {
        status = read_matrix(line, ret, err);
    } else {
        ret->count = 2;
        status = read_arm(line, KEY_PAIR_A, &ret->specs[0], err);
        if (status == STATUS_OK)
            status = read_arm(line, KEY_PAIR_B, &ret->specs[1], err);
    }
    if (status == STATUS_OK)
        status = read_numbers(line, ret, err);
    for (size_t arm = 0; arm < ret->count; arm++) {
        struct plan_request *plan = &ret->plans[arm];

        ret->devices[arm] = ret->specs[arm].device          ? ret->specs[arm].device
                            : command_has(line, KEY_DEVICE) ? command_value(line, KEY_DEVICE)
                                                            : defaults()->device;
        ret->workloads[arm] = ret->specs[arm].workload;
        plan->names = ret->workloads[arm] ? &ret->workloads[arm] : workloads;
        plan->name_count = ret->workloads[arm] ? 1 : workload_count;
        plan->devices = &ret->devices[arm];
        plan->device_count = ret->devices[arm] != NULL;
        plan->protocol = command_value(line, KEY_PROTOCOL);
        if (!plan->protocol)
            plan->protocol = "paired";
        plan->spec = &ret->specs[arm];
        plan->other = &ret->specs[arm ? 0 : 1];
    }
    if (status != STATUS_OK)
        pair_request_finish(ret);
    return status;
}

void pair_request_finish(struct pair_request *request)
{
    for (size_t i = 0; i < PAIR_ARMS_MAX; i++)
        arm_spec_finish(&request->specs[i]);
}
