/*
 * What the transformer launches, as it was recorded: kernels, groups, buffers with their bytes,
 * offsets, and the costs and tolerances of its cases, for all built-in workloads. Of tiny cases the
 * launches are there to read, of the others a digest.
 *
 * Where something differs, what was recorded now is left in the folder in which the test runs, to
 * be compared with the file of the same name in tests/unit/data.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/digest.h"
#include "harness/core/file.h"
#include "launch_recorder.h"
#include "tests/support/unit.h"
#include "workloads/workload.h"

#define FILE_MAX ((size_t)16 << 20)
#define ITERATIONS 3

static const char *const checks[][2] = {
    {"loss", "normalised_rms"},        {"loss.prefix", "normalised_rms"},
    {"loss.floor", "nats_below"},      {"loss.fall", "last_over_first"},
    {"grad.wte", "normalised_rms"},    {"grad.blocks", "worst_block"},
    {"grad.logits", "max_of_bound"},   {"adamw.parameters", "max_relative"},
    {"adamw.copy", "count"},           {"norm.statistics", "max_of_bound"},
    {"logits.last", "normalised_rms"}, {"logits.blocks", "worst_block"},
    {"logits.top1", "regret"},         {"tokens.greedy", "count"},
};

static struct workload find(const char *name)
{
    struct workload workload;
    struct error err = ERROR_INIT;

    if (workload_find(name, &workload, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return workload;
}

/* What is known of a case without a device. */
static void append_case(const struct workload_case *work, struct text *out)
{
    struct workload_cost cost;
    struct error err = ERROR_INIT;

    if (workload_case_cost(work, &cost, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    text_append_format(out,
                       "%s %s batch %" PRId64 ": %" PRIu64 " FLOPs, %" PRIu64 " bytes, %" PRIu64
                       " %ss, holds %" PRIu64 ", touches %" PRIu64 ";",
                       work->workload->name, precision_name(work->precision), work->batch,
                       cost.flops, cost.bytes, cost.items, cost.item_name, cost.device_memory_bytes,
                       cost.working_set_bytes);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        const double tolerance = workload_case_tolerance(work, checks[i][0], checks[i][1]);

        if (tolerance >= 0.0)
            text_append_format(out, " %s %.17g", checks[i][0], tolerance);
    }
    text_append_char(out, '\n');
}

/* `launches` may be NULL. */
static void end_pass(const char *name, struct launch_recorder *recorder, struct text *digests,
                     struct text *launches)
{
    const struct digest digest = digest_bytes(recorder->lines.data, recorder->lines.length);
    char hex[DIGEST_HEX_SIZE];
    size_t count = 0;

    for (size_t i = 0; i < recorder->lines.length; i++)
        count += recorder->lines.data[i] == '\n';
    assert_true(text_ok(&recorder->lines));
    text_append_format(digests, "  %s: %zu lines %.16s\n", name, count, digest_hex(&digest, hex));
    if (launches)
        text_append(launches, recorder->lines.data);
    text_clear(&recorder->lines);
}

/* Preparation (calibration, losses in fp32) and iterations; choices are those of a past trial. */
static void append_passes(struct workload_case work, enum device_type type, struct text *digests,
                          struct text *launches)
{
    struct launch_recorder recorder;
    struct workload_instance *instance = NULL;
    struct error err = ERROR_INIT;
    json_t *choices = json_pack("{s:{s:i, s:i}, s:{s:i}}", "gemm", "lanes", 64, "register_rows", 4,
                                "rows", "lanes", 64);

    work.choices = choices;
    launch_recorder_init(&recorder, type);
    if (workload_instance_create(&work, &recorder.device, &instance, &err) != STATUS_OK)
        fail_msg("%s %s: %s", work.workload->name, precision_name(work.precision), err.message);
    end_pass("prepared", &recorder, digests, NULL);
    for (int i = 0; i < ITERATIONS; i++) {
        if (instance->kind->iterate(instance, &err) != STATUS_OK)
            fail_msg("%s: %s", work.workload->name, err.message);
        end_pass("iteration", &recorder, digests, i == 0 ? launches : NULL);
    }
    workload_instance_destroy(instance);
    launch_recorder_finish(&recorder);
    json_decref(choices);
}

static bool is_transformer(const char *name)
{
    return !strncmp(name, "gpt2_", strlen("gpt2_")) && !strstr(name, "server");
}

/* Our own GEMM has no tf32. Of the largest model, whose weights take long, one case is enough. */
static bool is_run(const struct workload_case *work)
{
    const struct workload *workload = work->workload;
    const bool ends = work->batch == workload->batches[0] ||
                      work->batch == workload->batches[workload->batch_count - 1];

    if (strstr(workload->name, "124m"))
        return work->precision == PRECISION_FP32 && strstr(workload->name, "training");
    return work->precision != PRECISION_TF32 && ends;
}

/* The rows of the logits of inference are others on processors. */
static bool is_run_on_processor(const struct workload_case *work)
{
    return is_run(work) && work->precision == PRECISION_FP32 &&
           !strstr(work->workload->name, "training");
}

static bool is_read(const struct workload_case *work)
{
    return strstr(work->workload->name, "tiny") && work->batch == work->workload->batches[0] &&
           (work->precision == PRECISION_FP32 ||
            (work->precision == PRECISION_INT8 && strstr(work->workload->name, "inference")));
}

static void append_workload(const struct workload *workload, struct text *digests,
                            struct text *launches)
{
    for (size_t p = 0; p < workload->precision_count; p++) {
        for (size_t b = 0; b < workload->batch_count; b++) {
            const struct workload_case work = {.workload = workload,
                                               .precision = workload->precisions[p],
                                               .batch = workload->batches[b],
                                               .scenario = workload->scenario,
                                               .implementation = IMPLEMENTATION_PORTABLE,
                                               .seed = 1,
                                               .emulate = true};

            append_case(&work, digests);
            if (is_read(&work))
                append_case(&work, launches);
            if (is_run(&work))
                append_passes(work, DEVICE_GPU, digests, is_read(&work) ? launches : NULL);
            if (is_run_on_processor(&work))
                append_passes(work, DEVICE_CPU, digests, NULL);
        }
    }
}

static bool is_recorded(const char *name, const struct text *now)
{
    char path[4096];
    AUTO_FREE char *recorded = NULL;
    size_t length = 0;
    struct error err = ERROR_INIT;

    assert_true(text_ok(now));
    snprintf(path, sizeof(path), "%s/%s", LAUNCHES_FOLDER, name);
    if (file_read(path, FILE_MAX, &recorded, &length, &err) == STATUS_OK && length == now->length &&
        !memcmp(recorded, now->data, length))
        return true;
    file_write_atomic(name, now->data, now->length, 0644, &err);
    return false;
}

TEST(launches)
{
    const struct catalog_entry *entries;
    struct text digests, launches;
    size_t count;
    bool same;

    text_init(&digests);
    text_init(&launches);
    entries = catalog_workloads(&count);
    for (size_t i = 0; i < count; i++) {
        if (is_transformer(entries[i].name)) {
            struct workload workload = find(entries[i].name);

            append_workload(&workload, &digests, &launches);
            workload_finish(&workload);
        }
    }
    same = is_recorded("model_launches.txt", &digests);
    same = is_recorded("model_launches_tiny.txt", &launches) && same;
    text_finish(&digests);
    text_finish(&launches);
    if (!same)
        fail_msg("launches, costs or tolerances are not those of tests/unit/data/model_launches*: "
                 "what they are now is in the files of that name in this folder");
}
