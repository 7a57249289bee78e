/*
 * arm_spec - how one arm of a comparison differs: device, precision, worker, library, variable,
 * root.
 *
 * A setting is one of
 *   device=opencl:1     backend=opencl     precision=bf16     workload=NAME|FILE
 *   implementation=vendor          emulate (what is not native)
 *   worker=openvino     who measures, as named_worker_find reads it (worker=assay: assay's own)
 *   driver=NAME|FOLDER    the OpenCL driver of an installed stack (intel-opencl-rt@2024.2), of the
 *                       ICD file /etc/OpenCL/vendors/NAME.icd, or of the one in FOLDER
 *   cc=COMMAND          the C compiler of the cpu backend (the variable ASSAY_CC)
 *   threads=N           of OpenMP, which the cpu backend runs kernels with (OMP_NUM_THREADS)
 *   lib:NAME=PATH       open this file as the vendor library NAME, or that of an installed stack
 *                       (lib:nvrtc=nvidia-cuda-nvrtc@13.0)
 *   env:NAME=VALUE      set a variable for the worker (env:NAME: remove it)
 *   root=DIR            the worker's root directory: its loader, libraries and drivers (needs
 *                       privilege, and assay's own libraries in DIR)
 * Values may hold commas; an arm has any number of settings.
 */
#ifndef ASSAY_RUNNER_ARM_SPEC_H
#define ASSAY_RUNNER_ARM_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "harness/core/precision.h"
#include "harness/core/status.h"
#include "harness/runner/named_worker.h"
#include "results/analysis/varied.h"
#include "workloads/declared.h"

#define ARM_SPEC_CHANGES_MAX VARIED_VARIABLES_MAX

struct arm_spec {
    char *name;     /* what people call the arm; NULL: a or b */
    char *workload; /* in place of the command's; NULL: not set */
    char *device;   /* "opencl:1" or "opencl"; NULL: not set */
    bool has_precision;
    enum precision precision;
    bool has_implementation;
    enum implementation implementation;
    bool emulate;
    struct named_worker *worker; /* heap; NULL: assay's own */
    char *root;
    char *driver; /* as it was named, whose variables are among the changes; NULL: not set */
    char *changes[ARM_SPEC_CHANGES_MAX + 1]; /* "NAME=VALUE" or "NAME", NULL-terminated */
    size_t change_count;
};

/* Adds one setting to a zeroed or filled spec. INVALID says what may be written. */
enum status arm_spec_add(struct arm_spec *spec, const char *setting, struct error *err);
void arm_spec_finish(struct arm_spec *spec);

/* All settings but the worker, as they are kept in the plan: {"root", "environment": [...], ...};
   new, NULL: no memory. */
json_t *arm_spec_to_json(const struct arm_spec *spec);
/* And back, for a resume and for comparing later. CORRUPT for another shape. */
enum status arm_spec_from_json(const json_t *json, struct arm_spec *ret, struct error *err);

/* Who measures, as the plan's cell says beside that (named_worker_json; NULL: assay's own). Errors
 * are those of named_worker_from_json, with the spec finished. */
enum status arm_spec_take_worker(struct arm_spec *spec, const json_t *worker, struct error *err);

/* The fixed environment readings as this arm's worker has them; new object, NULL: no memory. */
json_t *arm_spec_environment(const struct arm_spec *spec, const json_t *fixed);

#endif
