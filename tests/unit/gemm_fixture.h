/*
 * gemm_fixture - shared by the tests of GEMMs and of convolutions: declarations,
 * instances on a device, and a library that replaces the device's own.
 */
#ifndef ASSAY_TESTS_UNIT_GEMM_FIXTURE_H
#define ASSAY_TESTS_UNIT_GEMM_FIXTURE_H

#include "model_fixture.h"

/* A declaration "mine.yaml" of the kind, its section from line 7 on. Heap. */
char *fixture_declaration(const char *kind, const char *precisions, const char *more,
                          const char *section);

/* A declaration that must be refused as INVALID with `message` in the error's. */
struct gemm_mistake {
    const char *precisions, *more, *section, *message;
};
void gemm_mistakes_check(const char *kind, const struct gemm_mistake *mistakes, size_t count);

/* What to declare and how to run it; batch 0 counts as 1. */
struct gemm_plan {
    const char *kind, *section;
    enum precision precision;
    int64_t batch;
    enum implementation implementation;
    bool emulate;
    const json_t *choices;
};

struct gemm_running {
    struct workload workload;
    struct workload_case work;
    struct workload_instance *instance; /* NULL: not created */
};

/* Creates an instance of seed 99; gemm_stop in any case. */
enum status gemm_try_start(struct gemm_running *running, struct device *device,
                           const struct gemm_plan *plan, struct error *err);
/* Fails the test where that fails. */
void gemm_start(struct gemm_running *running, struct device *device, const struct gemm_plan *plan);
void gemm_stop(struct gemm_running *running);

/* Verifies: as many checks are reported, and all pass. */
void gemm_verify_ok(struct gemm_running *running, size_t checks);
/* At least one check fails, all are reported (0: none can be), and the error contains this text. */
void gemm_verify_fails(struct gemm_running *running, size_t checks, const char *words);
/* Spot checks: as gemm_verify_ok and gemm_verify_fails, one check for each output. */
void gemm_spot_check_ok(struct gemm_running *running, uint64_t secret, size_t checks);
void gemm_spot_check_fails(struct gemm_running *running, uint64_t secret, size_t checks,
                           const char *words);
/* Creation is UNSUPPORTED, with a message of one line that contains this text. */
void gemm_refused(struct device *device, const struct gemm_plan *plan, const char *words);

/* Whether the device computes in f64. */
bool gemm_has_f64(const struct device *device);

/*
 * A copy of the device's table, in use from now on, for a test to put a library's hooks into; one
 * at a time. gemm_library_remove puts the device's own back.
 */
struct device_ops *gemm_library_add(struct device *device);
void gemm_library_remove(struct device *device);

#endif
