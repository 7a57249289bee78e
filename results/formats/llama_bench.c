/*
 * A result of llama-bench as a claim. It gives an average time and tokens a second of a few
 * repetitions (five by default) of one test: pp (a prompt of n_prompt tokens), tg (n_gen generated
 * tokens) or both. Fields that an older or newer version lacks or adds are kept verbatim.
 */
#include "results/formats/claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "results/formats/claim_fields.h"
#include "results/formats/import.h"

#define SOURCE "llama-bench"
#define TOKENS_MAX ((int64_t)1 << 40)

/* Integer field in [0, max]; text of digits counts, as CSV has it. */
static enum status get_count(const json_t *fields, const char *where, const char *name, int64_t max,
                             bool required, int64_t *ret, struct error *err)
{
    const json_t *value = json_object_get(fields, name);
    int64_t number = 0;
    bool ok = json_is_integer(value);

    if (!value && !required)
        return STATUS_OK;
    if (ok)
        number = json_integer_value(value);
    else if (json_is_string(value))
        ok = text_parse_i64(json_string_value(value), &number);
    if (!ok || number < 0 || number > max)
        return error_set(err, STATUS_INVALID, "%s: %s: %s", where, name,
                         value ? "must be a whole number, 0 or more" : "is missing");
    *ret = number;
    return STATUS_OK;
}

static void add_readings(struct store_claim *claim, const json_t *fields)
{
    size_t repetitions = json_array_size(json_object_get(fields, "samples_ns"));
    char count[24];

    claim_declare(claim, SOURCE, "device.name", claim->device, "gpu_info");
    claim_declare(claim, SOURCE, "device.backend", claim->backend, "backends");
    claim_declare(claim, SOURCE, "host.cpu.model",
                  json_string_value(json_object_get(fields, "cpu_info")), "cpu_info");
    claim_declare(claim, SOURCE, "import.measured", claim->measured, "test_time");
    claim_lack(claim, SOURCE, "device.driver_version", "llama-bench does not record the driver");
    claim_lack(claim, SOURCE, "device.uuid", "llama-bench does not say which unit it ran on");
    claim_lack(claim, SOURCE, "identity.precision",
               "llama-bench names the form of the weights (model_type), not the arithmetic");
    claim_lack(claim, SOURCE, "identity.seed", "llama-bench does not record its random tokens");
    if (repetitions) {
        snprintf(count, sizeof(count), "%zu", repetitions);
        claim_declare(claim, SOURCE, "import.repetitions", count, "samples_ns");
        claim_lack(
            claim, SOURCE, "import.raw_samples",
            "a mean time of each repetition is there (samples_ns), the single iterations are not");
    } else {
        claim_lack(claim, SOURCE, "import.repetitions",
                   "this form of the file does not tell how many there were");
        claim_lack(claim, SOURCE, "import.raw_samples",
                   "this form of the file keeps the average and its standard deviation alone");
    }
    claim_lack(claim, SOURCE, "import.warmup", "llama-bench does not keep its warmup run");
    claim_lack(claim, SOURCE, "import.steady_state",
               "without raw samples nobody can say whether it had settled");
    claim_lack(claim, SOURCE, "import.verification",
               "llama-bench does not check what the model computed");
    claim_lack(claim, SOURCE, "import.stack",
               "llama-bench does not record the libraries it had loaded");
    claim_lack(claim, SOURCE, "import.telemetry",
               "llama-bench does not record power, clocks or temperature");
    claim_lack(claim, SOURCE, "import.provenance",
               "the file is not signed, and no plan was recorded before it");
}

/* The fields that identify a test: all but who measured when, and the result. */
static json_t *parameters_of(const json_t *fields)
{
    static const char *const others[] = {
        "build_commit",   "build_number", "cpu_info",   "gpu_info",  "backends",
        "model_filename", "test_time",    "avg_ns",     "stddev_ns", "avg_ts",
        "stddev_ts",      "samples_ns",   "samples_ts", "cuda",      "vulkan",
        "metal",          "sycl",         "rpc",        "gpu_blas",  "blas"};
    json_t *parameters = json_copy((json_t *)(uintptr_t)fields);

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        json_object_del(parameters, others[i]);
    return parameters;
}

static bool name_workload(struct store_claim *claim, int64_t prompt, int64_t generated,
                          int64_t depth, const char *model)
{
    struct text name;

    text_init(&name);
    text_append(&name, "llama-bench:");
    if (prompt)
        text_append_format(&name, "pp%lld", (long long)prompt);
    if (generated)
        text_append_format(&name, "%stg%lld", prompt ? "+" : "", (long long)generated);
    if (depth)
        text_append_format(&name, "@d%lld", (long long)depth);
    if (model)
        text_append_format(&name, " %s", model);
    claim->workload = text_steal(&name);
    return claim->workload != NULL;
}

/* One version for all results, or none. */
static bool note_version(struct import_claims *claims, const json_t *fields)
{
    const char *commit = json_string_value(json_object_get(fields, "build_commit"));
    char *version;

    if (!commit || strlen(commit) > IMPORT_TEXT_MAX)
        return true;
    if (claims->count > 1) {
        if (claims->program_version && strcmp(claims->program_version, commit)) {
            free(claims->program_version);
            claims->program_version = NULL;
        }
        return true;
    }
    version = strdup(commit);
    claims->program_version = version;
    return version != NULL;
}

enum status llama_bench_add(struct import_claims *claims, const char *path, const char *where,
                            json_t *fields, struct error *err)
{
    int64_t prompt = 0, generated = 0, depth = 0, layers = 1;
    const char *gpu, *cpu, *backends, *time, *model;
    struct store_claim *claim;
    bool ok = true;
    enum status status = import_claims_add(claims, path, &claim, err);

    if (status != STATUS_OK)
        return status;
    if (!json_is_object(fields))
        return error_set(err, STATUS_INVALID, "%s: must be an object", where);
    status = get_count(fields, where, "n_prompt", TOKENS_MAX, true, &prompt, err);
    if (!status)
        status = get_count(fields, where, "n_gen", TOKENS_MAX, true, &generated, err);
    if (!status)
        status = get_count(fields, where, "n_depth", TOKENS_MAX, false, &depth, err);
    if (!status)
        status = get_count(fields, where, "n_batch", TOKENS_MAX, false, &claim->batch, err);
    if (!status)
        status = claim_get_positive(fields, where, "avg_ns", &claim->mean_ns, err);
    if (!status)
        status = claim_get_positive(fields, where, "avg_ts", &claim->rate, err);
    if (!status)
        status = claim_get_text(fields, where, "gpu_info", &gpu, err);
    if (!status)
        status = claim_get_text(fields, where, "cpu_info", &cpu, err);
    if (!status)
        status = claim_get_text(fields, where, "backends", &backends, err);
    if (!status)
        status = claim_get_text(fields, where, "test_time", &time, err);
    if (!status)
        status = claim_get_text(fields, where, "model_type", &model, err);
    if (status)
        return status;
    if (prompt + generated == 0)
        return error_set(err, STATUS_INVALID, "%s: n_prompt and n_gen are both 0", where);
    /* Without layers on the GPU, the processor was measured. */
    if (json_is_integer(json_object_get(fields, "n_gpu_layers")))
        layers = json_integer_value(json_object_get(fields, "n_gpu_layers"));
    claim->device = claim_copy(gpu && layers != 0 ? gpu : cpu, &ok);
    claim->backend = claim_copy(backends, &ok);
    claim->measured = claim_copy(time, &ok);
    claim->items = prompt + generated;
    claim->item_name = "token";
    claim->fields = json_incref(fields);
    ok = ok && name_workload(claim, prompt, generated, depth, model);
    if (ok)
        claim->declaration =
            json_pack("{s:s, s:i, s:s, s:s, s:s, s:o}", "workload", claim->workload, "version", 1,
                      "kind", "imported", "program", SOURCE, "description",
                      generated == 0 ? "a prompt processed by a language model"
                      : prompt == 0  ? "text generated by a language model"
                                     : "a prompt processed and text generated by a language model",
                      "parameters", parameters_of(fields));
    ok = ok && claim->declaration && note_version(claims, fields);
    add_readings(claim, fields);
    if (!ok || claim->readings.failed)
        return error_set(err, STATUS_NO_MEMORY, "%s: out of memory", where);
    return STATUS_OK;
}
