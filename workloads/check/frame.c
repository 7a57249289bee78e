#include "workloads/check/frame.h"

#include <math.h>
#include <string.h>

#include "workloads/data/element.h"
#include "workloads/storage.h"

/* ---- parts of a check ---- */

enum status check_iterate(struct workload_instance *instance, struct error *err)
{
    TRY(instance->kind->iterate(instance, err));
    return device_synchronize(instance->device, err);
}

enum status check_time_begin(struct workload_instance *instance, struct error *err)
{
    TRY(device_synchronize(instance->device, err));
    instance->checked = waits_span_begin();
    return STATUS_OK;
}

enum status check_time_end(struct workload_instance *instance, struct buffer *output,
                           uint64_t offset, struct error *err)
{
    unsigned char word;

    TRY(device_synchronize(instance->device, err));
    TRY(device_download(output, offset, &word, sizeof(word), err));
    instance->checked_ns = waits_span_end_ns(&instance->checked);
    return STATUS_OK;
}

enum status check_iterate_timed(struct workload_instance *instance, struct buffer *output,
                                uint64_t offset, struct error *err)
{
    TRY(check_time_begin(instance, err));
    TRY(instance->kind->iterate(instance, err));
    return check_time_end(instance, output, offset, err);
}

enum status check_settle(struct workload_instance *instance, struct error *err)
{
    return instance->unchecked == 0 ? check_iterate(instance, err)
                                    : device_synchronize(instance->device, err);
}

enum status check_output_row(const struct check_output *output, uint64_t row, float *ret,
                             struct error *err)
{
    const uint64_t first = output->first + row * output->stride;

    if (output->buffer)
        return storage_download(output->buffer, output->type, first, output->columns, ret, err);
    for (uint64_t i = 0; i < output->columns; i++)
        ret[i] = (float)element_decode(output->type, output->data, first + i);
    return STATUS_OK;
}

void check_count_live(const float *values, uint64_t count, struct workload_check *check)
{
    for (uint64_t i = 0; i < count; i++)
        check->error += !isfinite(values[i]);
    check->compared += count;
}

/* ---- recheck ---- */

enum status recheck_add(struct recheck *recheck, const struct check_output *output,
                        struct error *err)
{
    const uint64_t size = dtype_bits(output->type) / 8;
    const uint64_t pieces = output->stride == output->columns ? 1 : output->rows;

    for (uint64_t i = 0; i < pieces; i++)
        TRY(fingerprint_add_buffer(&recheck->fingerprint, output->buffer,
                                   (output->first + i * output->stride) * size,
                                   output->rows / pieces * output->columns * size, err));
    recheck->ret->compared += output->rows * output->columns;
    return STATUS_OK;
}

enum status recheck_conclude(struct recheck *recheck, struct error *err)
{
    struct workload_recheck *ret = recheck->ret;

    if (ret->text || ret->compared == 0)
        return STATUS_OK;
    ret->text = fingerprint_text(&recheck->fingerprint);
    if (!ret->text)
        return error_no_memory(err);
    ret->same = recheck->expected && !strcmp(ret->text, recheck->expected);
    return STATUS_OK;
}

static enum status resume(struct workload_instance *instance, struct error *err)
{
    const struct workload_checks *checks = instance->kind->checks;

    return checks->resume ? checks->resume(instance, err) : STATUS_OK;
}

enum status workload_recheck(struct workload_instance *instance, const char *expected,
                             struct workload_recheck *ret, struct error *err)
{
    struct recheck recheck = {.expected = expected, .ret = ret};

    if (!instance->kind->checks->recheck)
        return STATUS_OK;
    fingerprint_init(&recheck.fingerprint);
    TRY(instance->kind->checks->recheck(instance, &recheck, err));
    TRY(recheck_conclude(&recheck, err));
    return ret->same ? resume(instance, err) : STATUS_OK;
}

/* ---- checks against the reference ---- */

/* A failed check remains one, whatever happened after it. */
static enum status conclude(const struct check_sink *sink, enum status status, struct error *err)
{
    if (sink->status == STATUS_OK)
        return status;
    if (err)
        *err = sink->failure;
    return sink->status;
}

enum status workload_verify(struct workload_instance *instance, workload_check_fn *report,
                            void *context, struct error *err)
{
    struct check_sink sink = {.report = report, .context = context, .failure = ERROR_INIT};
    enum status status = instance->kind->checks->verify(instance, &sink, err);

    if (status == STATUS_OK && sink.status == STATUS_OK)
        status = resume(instance, err);
    return conclude(&sink, status, err);
}

enum status workload_spot_check(struct workload_instance *instance, uint64_t secret,
                                workload_check_fn *report, void *context, struct error *err)
{
    struct check_sink sink = {.report = report, .context = context, .failure = ERROR_INIT};
    enum status status;

    instance->checked_ns = -1;
    status = instance->kind->checks->spot_check(instance, secret, &sink, err);
    return conclude(&sink, status, err);
}

enum status workload_change(struct workload_instance *instance, uint64_t secret, bool *ret_changed,
                            struct error *err)
{
    const struct workload_checks *checks = instance->kind->checks;

    *ret_changed = false;
    return checks->change ? checks->change(instance, secret, ret_changed, err) : STATUS_OK;
}

enum status workload_check_changed(struct workload_instance *instance, uint64_t secret,
                                   workload_check_fn *report, void *context, struct error *err)
{
    struct check_sink sink = {.report = report, .context = context, .failure = ERROR_INIT};
    enum status status = instance->kind->checks->check_changed(instance, secret, &sink, err);

    return conclude(&sink, status, err);
}

enum status workload_judge(const struct workload_handed *handed, workload_check_fn *report,
                           void *context, struct error *err)
{
    struct check_sink sink = {.report = report, .context = context, .failure = ERROR_INIT};
    const enum status status = handed->work->workload->kind->handover->judge(handed, &sink, err);

    return conclude(&sink, status, err);
}
