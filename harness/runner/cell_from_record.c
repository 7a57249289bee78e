#include "harness/runner/cell_from_record.h"

#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/declared.h"

static json_t *counted(uint64_t count, const char *formula)
{
    return formula ? json_integer((json_int_t)count) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

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
    *ret = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "flops",
                     counted(cost.flops, cost.flops_formula), "flops_formula",
                     text_or_null(cost.flops_formula), "bytes",
                     counted(cost.bytes, cost.bytes_formula), "bytes_formula",
                     text_or_null(cost.bytes_formula), "items", counted(cost.items, cost.item_name),
                     "item_name", text_or_null(cost.item_name), "device_memory_bytes",
                     (json_int_t)cost.device_memory_bytes, "working_set_bytes",
                     (json_int_t)cost.working_set_bytes, "headline", text_or_null(cost.headline));
    if (!*ret)
        return error_no_memory(err);
    return STATUS_OK;
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
