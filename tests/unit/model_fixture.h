/*
 * model_fixture - a device for the workloads' tests, and instances of the transformer on it.
 *
 * The device is the first of the backend that ASSAY_TEST_BACKEND names, of OpenCL (PoCL, say) when
 * it is not set.
 */
#ifndef ASSAY_TESTS_UNIT_MODEL_FIXTURE_H
#define ASSAY_TESTS_UNIT_MODEL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backends/backend.h"
#include "workloads/models/gpt2_instance.h"
#include "workloads/ops/ops.h"
#include "workloads/workload.h"

/* The device, or NULL after saying why the test is skipped. */
struct device *model_fixture_open(void);
void model_fixture_close(struct device *device); /* takes NULL */
/* Runs the program's tests with that device in `*device` meanwhile; how many failed. */
int model_fixture_run(struct device **device);

/* A declared workload of a transformer's kind, in the portable implementation, emulated, of seed 3.
 */
struct model_running {
    struct workload workload;
    struct workload_instance *base;
    struct gpt2_instance *gpt2; /* the same */
};

/* Group sizes are measured for the first instance; the others take those. */
void model_running_start(struct model_running *running, struct device *device, const char *yaml,
                         enum precision precision);
void model_running_stop(struct model_running *running);

/* The declaration must be refused, with `words` in the message. */
void model_fixture_refuse(const char *yaml, const char *words);

/* Reloads the row kernels with the first `from` replaced by `to`. */
void model_fixture_break_kernel(struct device *device, struct ops *ops, const char *from,
                                const char *to);

#define ASSERT_OK(call)                                                                            \
    do {                                                                                           \
        struct error err_ = ERROR_INIT;                                                            \
        struct error *err = &err_;                                                                 \
                                                                                                   \
        if ((call) != STATUS_OK)                                                                   \
            fail_msg("%s:%d: %s", __FILE__, __LINE__, err->message);                               \
    } while (0)

#endif
