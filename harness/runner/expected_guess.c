#include "harness/runner/expected_guess.h"

#include <math.h>
#include <string.h>

#include "harness/core/member.h"
#include "protocols/serving/declared.h"
#include "workloads/workload.h"

#define SECOND_NS 1e9
#define START_NS                                                                                   \
    (0.25 * SECOND_NS) /* a process, its device, modules out of the cache, the store               \
                        */

/* Per second. */
struct speeds {
    double bytes, flops;      /* of iterations */
    double made;              /* bytes of input data generated and uploaded */
    double seen;              /* bytes compared with other bits */
    double verified, checked; /* bytes and FLOPs of the reference, on the host's processors */
};

static const struct speeds processor = {12e9, 80e9, 0.8e9, 4e9, 0.15e9, 12e9};
static const struct speeds accelerator = {800e9, 20e12, 0.8e9, 4e9, 0.15e9, 12e9};

static const struct speeds *speeds_of(const char *device)
{
    return device && (!strncmp(device, "cuda:", 5) || !strncmp(device, "hip:", 4)) ? &accelerator
                                                                                   : &processor;
}

static enum status cost_of(const json_t *message, struct workload_cost *ret, int64_t *ret_batch,
                           bool *ret_chooses, struct error *err)
{
    const char *precision = member_string(message, "precision");
    struct workload workload;
    struct workload_case work = {.workload = &workload, .batch = member_integer(message, "batch")};
    enum status status;

    TRY(workload_from_json(json_object_get(message, "workload"), &workload, err));
    if (precision && precision_from_name(precision, &work.precision))
        status = workload.kind->cost(&work, ret, err);
    else
        status = error_set(err, STATUS_INVALID, "unknown precision");
    *ret_batch = work.batch;
    *ret_chooses = workload.kind->choices != NULL;
    workload_finish(&workload); /* only the cost's texts are the workload's, and none is used */
    return status;
}

enum status expected_guess(const struct protocol *protocol, const json_t *message,
                           double ret[EXPECTED_STEPS], struct error *err)
{
    const struct speeds *speeds = speeds_of(member_string(message, "device"));
    struct workload_cost cost;
    double iteration, setup, sample, window, measured, verify, recheck;
    double rate;
    int64_t batch;
    bool chooses;

    TRY(cost_of(message, &cost, &batch, &chooses, err));
    iteration =
        SECOND_NS * fmax((double)cost.flops / speeds->flops, (double)cost.bytes / speeds->bytes);
    setup = START_NS + SECOND_NS * (double)cost.device_memory_bytes / speeds->made;
    sample = fmax(iteration, (double)protocol->min_sample_ns);
    window = fmax((double)protocol->window_ns, (double)protocol->window_min_samples * sample);
    window = fmin(window, (double)protocol->window_max_ns + sample);
    if (serving_rate_of(member_string(message, "scenario"), &rate))
        window =
            isfinite(rate) && rate > 0
                ? SECOND_NS *
                      (double)serving_requests_of(json_object_get(message, "workload"), protocol) /
                      rate
                : (double)protocol->serving_drain_ns; /* unknown: no longer than to drain */
    measured =
        fmax((double)protocol->warmup_ns, (double)protocol->warmup_iterations * iteration) + window;
    /* Before the warmup and after the window; of a model, a sequence of its batch. */
    verify =
        2 * SECOND_NS *
        (cost.flops > 0 ? (double)cost.flops / (double)(batch > 0 ? batch : 1) / speeds->checked
                        : (double)cost.device_memory_bytes / 3 / speeds->verified);
    recheck = 2 * SECOND_NS * (double)cost.device_memory_bytes / speeds->seen;
    ret[EXPECTED_CHOICE] = chooses ? setup + 10 * iteration : 0;
    ret[EXPECTED_FIRST] = setup + verify + measured + (double)protocol->throttle_cooldown_ns;
    ret[EXPECTED_LATER] = protocol->verification == PROTOCOL_VERIFY_EACH_TRIAL
                              ? ret[EXPECTED_FIRST]
                              : ret[EXPECTED_FIRST] - verify + recheck;
    return STATUS_OK;
}
