/*
 * Our own attention against fp64: odd lengths, prefill and decode over a cache of keys, sequences
 * of different lengths, blocks in any order; what lies behind a sequence's keys is NaN.
 */
#include "model_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/support/unit.h"
#include "workloads/ops/attention.h"
#include "workloads/storage.h"

static struct device *device;

#define GAP 5 /* elements between rows, and before the first: never written */

struct array {
    struct operand at;
    uint64_t count; /* elements of the buffer, the offset's too */
    float *values;  /* as stored */
};

struct task {
    struct attention_shape shape;
    struct attention_operands at;
    struct array q, k, v, o;
    int32_t lengths[8], blocks[8 * 16];
};

static const struct form {
    uint64_t batch, heads, length, keys, size;
    bool causal, lengths;
    uint64_t page;
} forms[] = {
    {1, 1, 1, 1, 64, true, false, 0},      {2, 3, 33, 33, 64, true, false, 0},
    {1, 2, 100, 100, 64, false, false, 0}, {1, 1, 256, 256, 64, true, false, 0},
    {3, 2, 1, 70, 64, true, true, 0},      {2, 2, 1, 129, 16, true, false, 0},
    {3, 2, 1, 70, 64, true, true, 16},     {2, 1, 40, 90, 64, true, true, 0},
    {4, 2, 9, 45, 32, true, true, 7},      {2, 2, 3, 64, 64, true, false, 32},
    {2, 1, 40, 90, 64, false, true, 13},   {1, 1, 65, 65, 128, true, false, 0},
};

static struct array make(enum dtype storage, uint64_t count, uint64_t stream, bool random)
{
    struct array array = {.count = count, .values = malloc(count * sizeof(float))};
    void *bytes = malloc(count * sizeof(float));

    assert_non_null(array.values);
    assert_non_null(bytes);
    for (uint64_t i = 0; i < count; i++)
        array.values[i] = random ? (float)(4.0 * random_unit(random_at(7, stream, i)) - 2.0) : NAN;
    storage_encode(storage, array.values, count, bytes);
    storage_decode(storage, bytes, count, array.values);
    ASSERT_OK(device_buffer_alloc(device, count * dtype_bits(storage) / 8, BUFFER_READ_WRITE,
                                  &array.at.buffer, err));
    ASSERT_OK(device_upload(array.at.buffer, 0, bytes, count * dtype_bits(storage) / 8, err));
    free(bytes);
    array.at.offset = GAP;
    return array;
}

static struct buffer *numbers(const int32_t *values, uint64_t count)
{
    struct buffer *buffer = NULL;

    ASSERT_OK(device_buffer_alloc(device, count * sizeof(*values), BUFFER_READ_ONLY, &buffer, err));
    ASSERT_OK(device_upload(buffer, 0, values, count * sizeof(*values), err));
    return buffer;
}

/* Where position s of sequence b begins in keys and values. */
static uint64_t key_place(const struct task *task, const struct attention_strides *strides,
                          uint64_t b, uint64_t h, uint64_t s)
{
    const struct attention_shape *shape = &task->shape;

    if (shape->page == 0)
        return GAP + b * strides->batch + h * strides->head + s * strides->row;
    return GAP + (uint64_t)task->blocks[b * shape->pages + s / shape->page] * strides->batch +
           h * strides->head + s % shape->page * strides->row;
}

static void poison(struct task *task, struct array *array, const struct attention_strides *strides,
                   enum dtype storage)
{
    const struct attention_shape *shape = &task->shape;
    void *bytes = malloc(array->count * sizeof(float));

    for (uint64_t b = 0; b < shape->batch; b++)
        for (uint64_t h = 0; h < shape->heads; h++)
            for (uint64_t s = (uint64_t)task->lengths[b]; s < shape->keys; s++)
                for (uint64_t i = 0; i < shape->head_size; i++)
                    array->values[key_place(task, strides, b, h, s) + i] = NAN;
    storage_encode(storage, array->values, array->count, bytes);
    ASSERT_OK(
        device_upload(array->at.buffer, 0, bytes, array->count * dtype_bits(storage) / 8, err));
    free(bytes);
}

static struct task begin(const struct form *form, enum dtype storage)
{
    const uint64_t row = form->size + GAP, pages = form->page ? form->keys / form->page + 2 : 0;
    const uint64_t some = form->page ? form->page : form->keys; /* rows of one block */
    const uint64_t parts = form->page ? form->batch * pages : form->batch;
    const struct attention_strides queries = {form->heads * form->length * row, form->length * row,
                                              row};
    const struct attention_strides keys = {form->heads * some * row, row, form->heads * row};
    struct task task = {.shape = {.batch = form->batch,
                                  .heads = form->heads,
                                  .length = form->length,
                                  .keys = form->keys,
                                  .head_size = form->size,
                                  .causal = form->causal,
                                  .lengths = form->lengths,
                                  .page = form->page,
                                  .pages = pages,
                                  .q = queries,
                                  .k = keys,
                                  .v = keys,
                                  .o = queries}};

    for (uint64_t b = 0; b < form->batch; b++)
        task.lengths[b] =
            (int32_t)(form->lengths ? form->keys - b * (form->keys - form->length) / form->batch
                                    : form->keys);
    for (uint64_t i = 0; i < form->batch * pages; i++)
        task.blocks[i] = (int32_t)(form->batch * pages - 1 - i);
    task.q = make(storage, GAP + form->batch * queries.batch, 1, true);
    task.k = make(storage, GAP + parts * keys.batch, 2, true);
    task.v = make(storage, GAP + parts * keys.batch, 3, true);
    task.o = make(storage, GAP + form->batch * queries.batch, 4, false);
    poison(&task, &task.k, &keys, storage);
    poison(&task, &task.v, &keys, storage);
    task.at =
        (struct attention_operands){.q = task.q.at, .k = task.k.at, .v = task.v.at, .o = task.o.at};
    task.at.lengths.buffer = numbers(task.lengths, form->batch);
    if (pages)
        task.at.blocks.buffer = numbers(task.blocks, form->batch * pages);
    return task;
}

static void end(struct task *task)
{
    struct array *arrays[] = {&task->q, &task->k, &task->v, &task->o};

    for (size_t i = 0; i < 4; i++) {
        device_buffer_free(arrays[i]->at.buffer);
        free(arrays[i]->values);
    }
    device_buffer_free(task->at.lengths.buffer);
    device_buffer_free(task->at.blocks.buffer);
}

/*
 * One row. A score of n terms is off by at most (n + 1) u times the sum of their absolute values,
 * which moves every weight by that much relatively, twice, since the sum of weights moves, too; e^x
 * and the sums over keys add their own.
 */
static void check_row(const struct task *task, uint64_t b, uint64_t h, uint64_t t, const float *got,
                      double roundoff)
{
    const struct attention_shape *s = &task->shape;
    const uint64_t known = (uint64_t)task->lengths[b];
    const uint64_t count = s->causal ? known - s->length + t + 1 : known;
    const uint64_t query = GAP + b * s->q.batch + h * s->q.head + t * s->q.row;
    const double u = ldexp(1.0, -24), scale = 1.0 / sqrt((double)s->head_size);
    double *weights = calloc(count, sizeof(*weights));
    double top = -INFINITY, total = 0.0, widest = 0.0;

    for (uint64_t j = 0; j < count; j++) {
        const uint64_t key = key_place(task, &s->k, b, h, j);
        double terms = 0.0;

        for (uint64_t i = 0; i < s->head_size; i++) {
            const double term =
                (double)task->q.values[query + i] * (double)task->k.values[key + i] * scale;

            weights[j] += term;
            terms += fabs(term);
        }
        top = fmax(top, weights[j]);
        widest = fmax(widest, terms);
    }
    for (uint64_t j = 0; j < count; j++)
        total += weights[j] = exp(weights[j] - top);
    for (uint64_t i = 0; i < s->head_size; i++) {
        const double slack =
            2.0 * ((double)(s->head_size + 4) * widest + 4.0 + (double)count + 16.0) * u;
        double sum = 0.0, terms = 0.0;

        for (uint64_t j = 0; j < count; j++) {
            const double term =
                weights[j] / total * (double)task->v.values[key_place(task, &s->v, b, h, j) + i];

            sum += term;
            terms += fabs(term);
        }
        if (!(fabs((double)got[query + i] - sum) <=
              slack * terms + roundoff * fabs(sum) + 1e-6 * roundoff))
            fail_msg("sequence %llu, head %llu, row %llu: %g, not %g", (unsigned long long)b,
                     (unsigned long long)h, (unsigned long long)t, (double)got[query + i], sum);
    }
    for (uint64_t i = s->head_size; i < s->q.row; i++)
        assert_true(isnan(got[query + i])); /* between rows */
    free(weights);
}

static void check(const struct form *form, enum dtype storage, uint32_t lanes)
{
    struct attention_text *text = NULL;
    struct task task = begin(form, storage);
    float *got = malloc(task.o.count * sizeof(*got)), *again = malloc(task.o.count * sizeof(*got));
    void *bytes = malloc(task.o.count * sizeof(float));
    const uint64_t size = task.o.count * dtype_bits(storage) / 8;

    ASSERT_OK(attention_text_create(device, storage, form->size, lanes, &text, err));
    for (int run = 0; run < 2; run++) {
        ASSERT_OK(attention_text_run(text, &task.shape, &task.at, err));
        ASSERT_OK(device_download(task.o.at.buffer, 0, bytes, size, err));
        storage_decode(storage, bytes, task.o.count, run ? again : got);
    }
    assert_memory_equal(got, again, task.o.count * sizeof(*got));
    for (uint64_t b = 0; b < form->batch; b++)
        for (uint64_t h = 0; h < form->heads; h++)
            for (uint64_t t = 0; t < form->length; t++)
                check_row(&task, b, h, t, got, storage_unit_roundoff(storage));
    attention_text_destroy(text);
    free(bytes);
    free(got);
    free(again);
    end(&task);
}

TEST(forms)
{
    static const enum dtype storages[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    uint32_t lanes[4] = {1};
    size_t count = device_lane_candidates(device, lanes, 4);

    if (device->info.max_lanes >= 32) /* both forms of the text, whatever the device prefers */
        count = (lanes[0] = 1, lanes[1] = 32, 2);
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        for (size_t s = 0; s < 3; s++)
            for (size_t l = 0; l < count; l++)
                check(&forms[i], storages[s], lanes[l]);
}

/* A NaN in a query, or in a key that it takes part in, is in its output; a later one is not. */
TEST(nan)
{
    static const struct form form = {1, 1, 20, 20, 64, true, false, 0};
    const float none = NAN;
    struct attention_text *text = NULL;
    struct task task = begin(&form, DTYPE_F32);
    float *got = malloc(task.o.count * sizeof(*got));

    ASSERT_OK(attention_text_create(device, DTYPE_F32, 64, 1, &text, err));
    ASSERT_OK(device_upload(task.k.at.buffer, (GAP + 12 * task.shape.k.row + 3) * sizeof(none),
                            &none, sizeof(none), err));
    ASSERT_OK(attention_text_run(text, &task.shape, &task.at, err));
    ASSERT_OK(device_download(task.o.at.buffer, 0, got, task.o.count * sizeof(*got), err));
    for (uint64_t t = 0; t < 20; t++)
        assert_true(isnan(got[GAP + t * task.shape.o.row]) == (t >= 12));
    attention_text_destroy(text);
    free(got);
    end(&task);
}

TEST(refused)
{
    struct attention_text *text = NULL;
    struct error err = ERROR_INIT;

    assert_int_equal(attention_text_create(device, DTYPE_F32, 40, 1, &text, &err),
                     STATUS_UNSUPPORTED);
    assert_int_equal(attention_text_create(device, DTYPE_E4M3, 64, 1, &text, &err),
                     STATUS_UNSUPPORTED);
    assert_null(text);
}

int main(void)
{
    int status;

    device = model_fixture_open();
    if (!device)
        return 0; /* said so */
    status = unit_run(NULL, NULL);
    model_fixture_close(device);
    return status;
}
