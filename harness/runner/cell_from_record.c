#include "harness/runner/cell_from_record.h"

#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/declared.h"

static enum status take_case(const struct workload *workload, const struct verify_subject *subject,
                             struct workload_case *ret, struct error *err)
{
    bool declared = false, batch = false;

    *ret = (struct workload_case){.workload = workload,
                                  .batch = subject->batch,
                                  .scenario = workload->scenario,
                                  .implementation = IMPLEMENTATION_PORTABLE};
    for (size_t i = 0; i < workload->precision_count && !declared; i++) {
        ret->precision = workload->precisions[i];
        declared = !strcmp(precision_name(ret->precision), subject->precision);
    }
    for (size_t i = 0; i < workload->batch_count; i++)
        batch |= workload->batches[i] == subject->batch;
    if (declared && batch)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "the workload %s does not declare precision %s, batch %lld", workload->name,
                     subject->precision, (long long)subject->batch);
}

/* The stored declaration, and the case of it. On success the workload is to be finished. */
static enum status read_case(const struct verify_subject *subject, struct workload *workload,
                             struct workload_case *ret, struct error *err)
{
    char hex[DIGEST_HEX_SIZE];
    enum status status = workload_from_json(subject->workload, workload, err);

    if (status == STATUS_NO_MEMORY)
        return status;
    if (status != STATUS_OK)
        return error_set(err, STATUS_UNSUPPORTED, "this assay does not know such a workload");
    if (strcmp(digest_hex(&workload->digest, hex), subject->digest))
        status = error_set(err, STATUS_UNSUPPORTED,
                           "this assay reads the declaration of %s as another one", workload->name);
    if (status == STATUS_OK)
        status = take_case(workload, subject, ret, err);
    if (status != STATUS_OK)
        workload_finish(workload);
    return status;
}

enum status cell_from_record(void *context, const struct verify_subject *subject, json_t **ret,
                             struct error *err)
{
    CLEANUP(workload_finish) struct workload workload = {0};
    struct workload_case work;
    struct workload_cost cost;

    TRY(read_case(subject, &workload, &work, err));
    (void)context;
    TRY(workload_case_cost(&work, &cost, err));
    *ret = type_to_json(&workload_cost_type, &cost);
    return *ret ? STATUS_OK : error_no_memory(err);
}

enum status tolerance_from_record(void *context, const struct verify_subject *subject,
                                  const char *output, const char *metric, double *ret,
                                  struct error *err)
{
    struct workload workload;
    struct workload_case work;
    const enum status status = read_case(subject, &workload, &work, err);

    (void)context;
    TRY(status);
    *ret = workload_case_tolerance(&work, output, metric);
    workload_finish(&workload);
    return STATUS_OK;
}
