/*
 * Every small case on one device, verified before and after an iteration, for several group sizes:
 *     kernels_small [--each-kernel-once] DEVICE LANES...
 * With the first group size all of them; with the others each workload's first precision an
 * implementation, since the precisions differ in how a value is read and written, not in where; all
 * of them with ASSAY_TEST_ALL_VARIANTS set. --each-kernel-once leaves out a case of ours whose
 * kernels, with their defines, have all been launched by earlier ones with this group size, and the
 * iteration after the first check: an interpreter sees in one launch what a kernel touches. Each
 * must report its measured errors, and our own text must do every precision that is declared but
 * tf32. Meant for an interpreter (Oclgrind). What the workload would choose by measurement is
 * chosen on a device that only records, since times mean nothing here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "tests/support/kernels/kernel_variants.h"

struct tally {
    size_t ran, known, refused, failed, checks;
    bool against_fp32; /* a loss was compared with fp32's at the same step */
};

static void count_check(void *context, const struct workload_check *check)
{
    struct tally *tally = context;

    tally->checks++;
    tally->against_fp32 |= strcmp(check->output, "loss.fp32") == 0 && check->compared > 0;
}

/* A result carries its measured error and, in training below fp32, the loss against fp32. */
static enum status check_errors(const struct small_case *item, const struct tally *tally,
                                size_t checks_before, struct error *err)
{
    const bool trains = strcmp(item->workload->kind->name, "training_step") == 0;

    if (tally->checks == checks_before)
        return error_set(err, STATUS_CHECK_FAILED, "no measured error is reported");
    if (trains && item->precision != PRECISION_FP32 && !tally->against_fp32)
        return error_set(err, STATUS_CHECK_FAILED, "no loss was compared with fp32's");
    return STATUS_OK;
}

/* Our own text has no tf32, and fp64 only where the device has: it must support all else, emulated
 * or not. */
static bool may_refuse(const struct small_case *item, const struct device *device)
{
    const struct reading *f64 = reading_find(&device->info.readings, "device.fp64");

    if (item->implementation == IMPLEMENTATION_VENDOR || item->precision == PRECISION_TF32)
        return true;
    /* A processor copies to itself, in one way, from any memory. */
    if (strcmp(item->workload->kind->name, "transfer") == 0 && device->ops->host_alloc == NULL)
        return true;
    return item->precision == PRECISION_FP64 && (!f64 || f64->status != READING_MEASURED);
}

/* `again`: one more iteration, and the same checks of what it left. */
static enum status run_case(const struct small_case *item, struct device *device, uint32_t lanes,
                            bool again, struct tally *tally, struct error *err)
{
    struct workload_case work = small_case_work(item);
    const struct workload_kind *kind = item->workload->kind;
    struct workload_instance *instance = NULL;
    const size_t checks_before = tally->checks;
    json_t *choices = NULL;
    enum status status = kernel_variants_choices(item, lanes, &choices, err);

    work.choices = choices;
    if (status == STATUS_OK)
        status = workload_instance_create(&work, device, &instance, err);
    if (status == STATUS_OK)
        status = workload_verify(instance, count_check, tally, err);
    if (status == STATUS_OK && again)
        status = kind->iterate(instance, err);
    if (status == STATUS_OK && again)
        status = device_synchronize(device, err);
    if (status == STATUS_OK && again)
        status = workload_verify(instance, count_check, tally, err);
    if (status == STATUS_OK)
        status = check_errors(item, tally, checks_before, err);
    workload_instance_destroy(instance);
    json_decref(choices);
    return status;
}

static bool is_first_precision(const struct small_cases *cases, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (cases->items[i].workload == cases->items[index].workload &&
            cases->items[i].implementation == cases->items[index].implementation)
            return false;
    return true;
}

/* Whether earlier cases have launched all that this one launches. */
static bool is_launched(struct kernel_launches *launched, const struct small_case *item,
                        uint32_t lanes)
{
    const size_t before = launched->count;
    struct error ignored = ERROR_INIT;

    return kernel_launches_add(launched, item, lanes, &ignored) == STATUS_OK &&
           launched->count == before && item->implementation == IMPLEMENTATION_PORTABLE;
}

/* `launched` is NULL where every case is run. */
static void run_all(const struct small_cases *cases, struct device *device, uint32_t lanes,
                    bool every_precision, struct kernel_launches *launched, struct tally *tally)
{
    for (size_t i = 0; i < cases->count; i++) {
        const struct small_case *item = &cases->items[i];
        struct error err = ERROR_INIT;
        enum status status;

        if (!every_precision && !is_first_precision(cases, i))
            continue;
        if (launched != NULL && is_launched(launched, item, lanes)) {
            tally->known++;
            continue;
        }
        tally->against_fp32 = false;
        status = run_case(item, device, lanes, launched == NULL, tally, &err);
        tally->ran += status == STATUS_OK;
        if (status == STATUS_UNSUPPORTED && may_refuse(item, device) && err.message[0] != '\0') {
            tally->refused++;
            continue;
        }
        printf("%s %s %s %s, %" PRIu32 " lanes%s%s\n", status == STATUS_OK ? "ok" : "FAIL",
               item->workload->name, precision_name(item->precision),
               implementation_name(item->implementation), lanes, status == STATUS_OK ? "" : ": ",
               err.message);
        fflush(stdout);
        tally->failed += status != STATUS_OK;
    }
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct small_cases cases = {0};
    struct backend *backend = NULL;
    struct device *device = NULL;
    struct tally tally = {0};
    struct kernel_launches launched = {0};
    const bool all = getenv("ASSAY_TEST_ALL_VARIANTS") != NULL;
    const bool once = argc > 1 && strcmp(argv[1], "--each-kernel-once") == 0;
    uint32_t index = 0;
    enum status status;

    argv += once;
    argc -= once;
    if (argc < 3) {
        fprintf(stderr, "usage: kernels_small [--each-kernel-once] DEVICE LANES...\n");
        return 2;
    }
    status = small_cases_init(&cases, &err);
    if (status == STATUS_OK)
        status = backend_resolve(argv[1], &backend, &index, &err);
    if (status == STATUS_OK)
        status = backend_device_open(backend, index, NULL, &device, &err);
    if (status == STATUS_UNAVAILABLE || status == STATUS_NOT_FOUND) {
        printf("SKIPPED: %s\n", err.message);
        small_cases_finish(&cases);
        return 77;
    }
    for (int i = 2; i < argc && status == STATUS_OK; i++) {
        uint64_t lanes = 0;

        if (!text_parse_u64(argv[i], &lanes) || lanes == 0 || lanes > 1024)
            status = error_set(&err, STATUS_INVALID, "%s lanes", argv[i]);
        else
            run_all(&cases, device, (uint32_t)lanes, i == 2 || all, once && !all ? &launched : NULL,
                    &tally);
    }
    if (status == STATUS_OK)
        printf("on %s: %zu ran, %zu launch nothing new, %zu refused, %zu failed, %zu checks\n",
               device->info.name, tally.ran, tally.known, tally.refused, tally.failed,
               tally.checks);
    else
        fprintf(stderr, "kernels_small: %s\n", err.message);
    kernel_launches_finish(&launched);
    device_close(device);
    small_cases_finish(&cases);
    return status != STATUS_OK || tally.failed > 0 || tally.ran == 0;
}
