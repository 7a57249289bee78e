/*
 * A result of llama-bench as a claim. It gives an average time and tokens a second of a few
 * repetitions (five by default) of one test: pp (a prompt of n_prompt tokens), tg (n_gen generated
 * tokens) or both. Fields that an older or newer version lacks or adds are kept verbatim.
 */
#include "results/formats/claims.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "results/formats/claim_fields.h"
#include "results/formats/import.h"
#include "results/formats/llama_bench_place.h"

#define SOURCE "llama-bench"
#define TOKENS_MAX ((int64_t)1 << 40)

/* Whole number in [0, TOKENS_MAX]; null counts as missing. */
static enum status get_count(const json_t *fields, const char *where, const char *name,
                             bool required, int64_t *ret, struct error *err)
{
    const json_t *value = json_object_get(fields, name);
    int64_t number = 0;

    if ((!value || json_is_null(value)) && !required)
        return STATUS_OK;
    if (!llama_bench_get_whole(value, &number) || number < 0 || number > TOKENS_MAX)
        return error_set(err, STATUS_INVALID, "%s: %s: %s", where, name,
                         value ? "must be a whole number, 0 or more" : "is missing");
    *ret = number;
    return STATUS_OK;
}

/* Large products of a prompt go to the GPU even where no layer is on it, unless that is off. */
static void add_offload(struct store_claim *claim, const json_t *fields,
                        const struct llama_bench_place *place, bool has_prompt)
{
    const char *overrides = member_string(fields, "tensor_buft_overrides");
    const char *devices = member_string(fields, "devices");
    const json_t *kept = json_object_get(fields, "n_cpu_moe");

    if (!strcmp(place->field, "cpu_info") && claim->backend && !strcmp(claim->backend, "CPU") &&
        json_string_length(json_object_get(fields, "gpu_info")) > 0 &&
        !(devices && !strcmp(devices, "none")) && has_prompt &&
        !(member_integer(fields, "no_op_offload") == 1 || member_is_true(fields, "no_op_offload")))
        claim_lack(claim, SOURCE, "import.offload",
                   "no layer was on a GPU; whether large products of the prompt were sent to one "
                   "all the same is not in the file (no_op_offload is not set)");
    else if (!strcmp(place->field, "gpu_info") &&
             ((overrides && *overrides && strcmp(overrides, "none") != 0) ||
              json_integer_value(kept) > 0))
        claim_lack(claim, SOURCE, "import.offload",
                   "a part of the weights stayed with the processor (n_cpu_moe, "
                   "tensor_buft_overrides); how much is not in the file");
}

static void add_readings(struct store_claim *claim, const json_t *fields,
                         const struct llama_bench_place *place, bool has_prompt)
{
    size_t repetitions = member_size(fields, "samples_ns");
    char count[24];

    if (claim->device)
        claim_declare(claim, SOURCE, "device.name", claim->device, place->field);
    else
        claim_lack(claim, SOURCE, "device.name", place->reason);
    claim_declare(claim, SOURCE, "device.backend", claim->backend, "backends");
    add_offload(claim, fields, place, has_prompt);
    claim_declare(claim, SOURCE, "host.cpu.model", member_string(fields, "cpu_info"), "cpu_info");
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

/* One version for all results, or none. */
static bool note_version(struct import_claims *claims, const json_t *fields)
{
    const char *commit = member_string(fields, "build_commit");
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

/* The texts that tell where it ran. */
static enum status check_texts(const json_t *fields, const char *where, struct error *err)
{
    static const char *const names[] = {"gpu_info",   "cpu_info",     "backends", "devices",
                                        "split_mode", "tensor_split", NULL};
    const char *text;

    for (size_t i = 0; names[i]; i++)
        TRY(claim_get_text(fields, where, names[i], &text, err));
    return STATUS_OK;
}

/* What a test is. */
struct extent {
    int64_t prompt, generated, depth;
};

static enum status read_extent(const json_t *fields, const char *where, struct extent *ret,
                               struct error *err)
{
    *ret = (struct extent){0};
    TRY(get_count(fields, where, "n_prompt", true, &ret->prompt, err));
    TRY(get_count(fields, where, "n_gen", true, &ret->generated, err));
    TRY(get_count(fields, where, "n_depth", false, &ret->depth, err));
    return ret->prompt + ret->generated > 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "%s: n_prompt and n_gen are both 0", where);
}

static enum status read_numbers(const json_t *fields, const char *where, struct store_claim *claim,
                                struct extent *ret, struct error *err)
{
    TRY(read_extent(fields, where, ret, err));
    TRY(get_count(fields, where, "n_batch", false, &claim->batch, err));
    TRY(claim_get_positive(fields, where, "avg_ns", &claim->mean_ns, err));
    return claim_get_positive(fields, where, "avg_ts", &claim->rate, err);
}

static const char *description_of(const struct extent *extent)
{
    if (extent->generated == 0)
        return "a prompt processed by a language model";
    return extent->prompt == 0 ? "text generated by a language model"
                               : "a prompt processed and text generated by a language model";
}

static char *name_of(const struct extent *extent, const char *model)
{
    struct text name = TEXT_INIT;

    if (extent->prompt)
        text_append_format(&name, "pp%lld", (long long)extent->prompt);
    if (extent->generated)
        text_append_format(&name, "%stg%lld", extent->prompt ? "+" : "",
                           (long long)extent->generated);
    if (extent->depth)
        text_append_format(&name, "@d%lld", (long long)extent->depth);
    if (model)
        text_append_format(&name, " %s", model);
    return text_steal(&name);
}

enum status llama_bench_name(const json_t *fields, const char *where, char **ret, struct error *err)
{
    struct extent extent;
    const char *model;

    TRY(read_extent(fields, where, &extent, err));
    TRY(claim_get_text(fields, where, "model_type", &model, err));
    *ret = name_of(&extent, model);
    return *ret ? STATUS_OK : error_no_memory(err);
}

static bool name_workload(struct store_claim *claim, const struct extent *extent, const char *model)
{
    AUTO_FREE char *name = name_of(extent, model);

    claim->workload = name ? text_format("llama-bench:%s", name) : NULL;
    return claim->workload != NULL;
}

static enum status fill(struct import_claims *claims, struct store_claim *claim, const char *where,
                        json_t *fields, const struct extent *extent, struct error *err)
{
    const char *time, *model;
    struct llama_bench_place place = {0};
    bool ok = true;
    enum status status = check_texts(fields, where, err);

    if (!status)
        status = claim_get_text(fields, where, "test_time", &time, err);
    if (!status)
        status = claim_get_text(fields, where, "model_type", &model, err);
    if (!status)
        status = llama_bench_place_find(fields, &place, err);
    if (status)
        return status;
    claim->device = place.device;
    claim->backend = place.backend;
    claim->measured = claim_copy(time, &ok);
    claim->items = extent->prompt + extent->generated;
    claim->item_name = "token";
    claim->fields = json_incref(fields);
    ok = ok && name_workload(claim, extent, model);
    if (ok)
        claim->declaration =
            json_pack("{s:s, s:i, s:s, s:s, s:s, s:o}", "workload", claim->workload, "version", 1,
                      "kind", "imported", "program", SOURCE, "description", description_of(extent),
                      "parameters", parameters_of(fields));
    ok = ok && claim->declaration && note_version(claims, fields);
    add_readings(claim, fields, &place, extent->prompt > 0);
    if (!ok || claim->readings.failed)
        return error_no_memory(err);
    return STATUS_OK;
}

static enum status add(struct import_claims *claims, const char *path, const char *where,
                       json_t *fields, struct error *err)
{
    struct extent extent = {0};
    struct store_claim *claim;

    TRY(import_claims_add(claims, path, &claim, err));
    if (!json_is_object(fields))
        return error_set(err, STATUS_INVALID, "%s: must be an object", where);
    TRY(read_numbers(fields, where, claim, &extent, err));
    return fill(claims, claim, where, fields, &extent, err);
}

enum status llama_bench_add(struct import_claims *claims, const char *path, const char *where,
                            json_t *fields, struct error *err)
{
    const size_t before = claims->count;
    struct error why = ERROR_INIT;
    const enum status status = add(claims, path, where, fields, &why);

    return import_claims_entry(claims, before, status, &why, err);
}
