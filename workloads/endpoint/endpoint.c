/* A server elsewhere as a workload: what is asked of it is declared, and how it is done is its own.
 */

#include "harness/core/member.h"
#include "harness/endpoint/declare.h"
#include "workloads/declaration.h"
#include "workloads/kinds.h"

struct declared {
    struct workload_declaration common;
    struct endpoint_declaration endpoint;
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct declared),
    FIELD_GROUP("endpoint", FIELD_REQUIRED, struct declared, endpoint, endpoint_fields),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct declared, fields)};

/* Nothing is kept: who asks the endpoint reads it from workload->json (endpoint_read). */
static enum status check(const struct declaration *declaration, struct workload *workload,
                         struct error *err)
{
    struct declared *declared = declaration->data;
    const struct serving_lengths *lengths = &declared->common.serving.load.lengths;

    (void)workload;
    if (declared->endpoint.prompts.path && (declared->common.serving.load.arrivals.columns.prompt ||
                                            declaration_has(declaration, "load.lengths.prompt")))
        return declaration_error(declaration, "endpoint.prompts", err,
                                 "the file has the prompts, and so their lengths; remove the "
                                 "`prompt` of `lengths` or `columns`, or `prompts`");
    if (!declared->common.serving.load.arrivals.columns.output &&
        ((lengths->prompt.law == SERVING_NONE && !declared->endpoint.prompts.path) ||
         lengths->output.law == SERVING_NONE))
        return declaration_error(declaration, "load.lengths", err,
                                 "a request has a prompt and asks for output; write another law "
                                 "than none");
    if (declared->common.precisions_count > 1)
        return declaration_error(declaration, "precisions", err,
                                 "an endpoint computes in what it was started with; write one "
                                 "precision, or none");
    return endpoint_declaration_check(declaration, "endpoint", &declared->endpoint, err);
}

static const struct workload_form form = {&schema, check};

/* What a request costs is the server's business. */
static enum status cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    (void)work;
    (void)err;
    *ret = (struct workload_cost){.items = 1, .item_name = "request", .headline = "items"};
    return STATUS_OK;
}

/* Whether an answer came is counted: none may be missing. */
static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    (void)work;
    (void)output;
    (void)metric;
    return 0;
}

static void describe(const struct workload *workload, struct text *ret)
{
    const json_t *endpoint = json_object_get(workload->json, "endpoint");
    const json_t *prompts = json_object_get(endpoint, "prompts");

    text_append_format(ret, "url: %s\nmodel: %s\n", member_text(endpoint, "url"),
                       member_text(endpoint, "model"));
    if (prompts)
        text_append_format(ret, "prompts: %s, SHA-256 %s\n", member_text(prompts, "path"),
                           member_text(prompts, "sha256"));
}

static enum status ready(const struct workload *workload, struct error *err)
{
    return endpoint_prompts_ready(json_object_get(workload->json, "endpoint"), err) == STATUS_OK
               ? STATUS_OK
               : error_prefix(err, "%s", workload->name);
}

static const struct workload_checks checks = {.tolerance = tolerance};

const struct workload_kind workload_endpoint = {
    .name = "endpoint",
    .summary = "a server that speaks the OpenAI API with streaming, here or elsewhere, under load",
    .form = &form,
    .cost = cost,
    .describe = describe,
    .ready = ready,
    .is_endpoint = true,
    .serves_tokens = true,
    .checks = &checks,
};
