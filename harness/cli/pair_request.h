/* pair_request - the options that `ab`, `matrix` and `calibrate` share, read into plan requests. */
#ifndef ASSAY_CLI_PAIR_REQUEST_H
#define ASSAY_CLI_PAIR_REQUEST_H

#include "harness/cli/cell_lists.h"
#include "harness/cli/command.h"
#include "harness/runner/arm_spec.h"
#include "harness/runner/plan.h"
#include "protocols/compare.h"

enum {
    KEY_PAIR_A = 0x200,
    KEY_PAIR_B,
    KEY_PAIR_OVER,
    KEY_PAIR_PAIRS,
    KEY_PAIR_MARGIN,
    KEY_PAIR_PRECISION,
    KEY_PAIR_BATCH
};

/* Rows of an argp option table for them (without --a and --b). */
#define PAIR_OPTIONS                                                                                \
    {"pairs", KEY_PAIR_PAIRS, "K", 0, "number of pairs (default: the protocol's trials)", 0},       \
        {"margin", KEY_PAIR_MARGIN, "FRACTION", 0, "half-width of equivalence (default: 0.01)", 0}, \
        {"device", KEY_DEVICE, "DEVICE", 0, "device of both arms", 0},                              \
        {"protocol", KEY_PROTOCOL, "PROTOCOL|FILE", 0, "how to measure (default: paired)", 0},      \
        {"precision",    KEY_PAIR_PRECISION,        "PRECISION,...",                                \
         OPTION_REPEATS, "precisions of both arms", 0},                                             \
    {                                                                                               \
        "batch", KEY_PAIR_BATCH, "N,...", OPTION_REPEATS, "batch sizes of both arms", 0             \
    }

#define PAIR_ARMS_MAX 16

/* Two arms, or several; the requests point into the struct, so it must stay where it is. */
struct pair_request {
    size_t count;
    struct arm_spec specs[PAIR_ARMS_MAX];
    struct plan_request plans[PAIR_ARMS_MAX];
    const char *workloads[PAIR_ARMS_MAX]; /* of an arm that sets its own */
    const char *devices[PAIR_ARMS_MAX];
    struct cell_lists lists; /* of both arms */
    struct compare_options compare;
};

/*
 * Crosses `*arms` arms (PAIR_ARMS_MAX of memory, 1 at first) with the values of "KEY=VALUE,...":
 * each arm becomes one for every value, with that setting added and the value in its name. A range
 * stands for its numbers, {X,Y} in a value for several, and no value for no setting. INVALID says
 * what to write; the arms are still to be finished.
 */
enum status arms_cross(struct arm_spec *specs, size_t *arms, const char *over, struct error *err);

/*
 * `workloads` outlives the request. The arms are --a and --b, or, where the command has it, all
 * combinations of the values of --over KEY=VALUE,... (arms_cross). INVALID says what to write.
 */
enum status pair_request_read(const struct command_line *line, const char *const *workloads,
                              size_t workload_count, struct pair_request *ret, struct error *err);
void pair_request_finish(struct pair_request *request);

#endif
