#include "harness/cli/pair_request.h"

#include <string.h>

#include "harness/cli/comparison_view.h"
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

static enum status read_numbers(const struct command_line *line, struct pair_request *request,
                                struct error *err)
{
    const char *pairs = command_value(line, KEY_PAIR_PAIRS);
    int64_t count = 0;
    enum status status;

    if (pairs && (!text_parse_i64(pairs, &count) || count < 5 || count > 10000))
        return error_set(err, STATUS_INVALID, "--pairs %s: write a whole number from 5 to 10000",
                         pairs);
    status = comparison_margin(command_value(line, KEY_PAIR_MARGIN), &request->compare, err);
    if (status != STATUS_OK)
        return status;
    status = cell_lists_read(line, KEY_PAIR_PRECISION, KEY_PAIR_BATCH, &request->lists, err);
    for (int arm = 0; arm < 2; arm++) {
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
    enum status status;

    memset(ret, 0, sizeof(*ret));
    status = read_arm(line, KEY_PAIR_A, &ret->specs[0], err);
    if (status == STATUS_OK)
        status = read_arm(line, KEY_PAIR_B, &ret->specs[1], err);
    if (status == STATUS_OK)
        status = read_numbers(line, ret, err);
    for (int arm = 0; arm < 2; arm++) {
        struct plan_request *plan = &ret->plans[arm];

        ret->devices[arm] =
            ret->specs[arm].device ? ret->specs[arm].device : command_value(line, KEY_DEVICE);
        ret->workloads[arm] = ret->specs[arm].workload;
        plan->names = ret->workloads[arm] ? &ret->workloads[arm] : workloads;
        plan->name_count = ret->workloads[arm] ? 1 : workload_count;
        plan->devices = &ret->devices[arm];
        plan->device_count = ret->devices[arm] != NULL;
        plan->protocol = command_value(line, KEY_PROTOCOL);
        if (!plan->protocol)
            plan->protocol = "paired";
        plan->spec = &ret->specs[arm];
    }
    if (status != STATUS_OK)
        pair_request_finish(ret);
    return status;
}

void pair_request_finish(struct pair_request *request)
{
    arm_spec_finish(&request->specs[0]);
    arm_spec_finish(&request->specs[1]);
}
