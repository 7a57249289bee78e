#include "results/analysis/serving_trace.h"

#include "protocols/serving/declared.h"

enum status serving_trace_json(struct store *store, const json_t *workload, json_t **ret,
                               struct error *err)
{
    struct digest digest;

    if (serving_trace_digest(workload, &digest))
        return store_get_json(store, &digest, ret, err);
    *ret = NULL;
    return STATUS_OK;
}

enum status serving_trace_load(struct store *store, const json_t *workload, struct trace *ret,
                               struct error *err)
{
    json_auto_t *json = NULL;

    TRY(serving_trace_json(store, workload, &json, err));
    if (!json)
        *ret = (struct trace){0};
    else
        TRY(trace_from_json(json, ret, err));
    return STATUS_OK;
}
