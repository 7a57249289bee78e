/*
 * pass_fixture - what the tests of declared stacks share: a check in each number of lanes, what a
 * device must refuse, and a device that leaves a launch out.
 */
#ifndef ASSAY_TESTS_UNIT_PASS_FIXTURE_H
#define ASSAY_TESTS_UNIT_PASS_FIXTURE_H

#include "tests/unit/model_fixture.h"

/* For workload_verify and workload_spot_check: a check compares something. */
void pass_fixture_note(void *context, const struct workload_check *check);

/* An honest instance: verified, spot-checked three times, and the same bits when checked again. */
void pass_fixture_check(struct workload_instance *base);
/* That, of an instance in fp32, bf16 and fp16 each. */
void pass_fixture_each_precision(struct device *device, const char *yaml);

/* Checks an instance for each number of lanes that the device could choose for the rows. */
void pass_fixture_each_lanes(struct device *device, const char *yaml, enum precision precision,
                             void (*check)(struct workload_instance *base));

/* An instance in fp32 must be refused with this status, with `words` in the message. */
void pass_fixture_refuse(struct device *device, const char *yaml, enum status status,
                         const char *words);

/* A device that leaves one launch out, or changes a text, between pass_lies_begin and _end. */
extern struct pass_lies {
    const struct device_ops *kept;
    struct device_ops ops; /* the device's; a test may put its own in, which call `kept` */
    uint64_t launches, drop;
    const char *uncounted; /* a kernel that is always launched, and not counted; NULL: none */
    char dropped[64];
    const char *from, *to; /* in texts that are loaded, of each the first; NULL: as they are */
    bool changed;          /* one has been */
} pass_lies;

/* `drop`: the number of the launch, from 0; UINT64_MAX: none. */
void pass_lies_begin(struct device *device, uint64_t drop, const char *uncounted);
void pass_lies_end(struct device *device);
/* The launch of such a device: for a test's own, behind what it changes. */
enum status pass_lies_launch(struct device *device, const struct kernel_launch *launch,
                             struct error *err);

/*
 * Each launch of an iteration, of which there are at least `least`, is missed by a spot check when
 * it is left out; `stack` is for messages, `reset` is called before each, and a spot check passes
 * then (NULL: not needed).
 */
void pass_lies_drop_each(struct device *device, struct workload_instance *base, size_t stack,
                         uint64_t least, const char *uncounted,
                         void (*reset)(struct workload_instance *base));

#endif
