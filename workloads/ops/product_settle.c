/*
 * Which of its algorithms the vendor's library takes for a product, where it lists several: as the
 * choices say, or by measurement at the first use, on that use's own operands. The library's order
 * is its expectation, so a later one must be faster by a MARGIN; what fails is skipped. The choice
 * is made once a campaign and handed to every trial, since time and the order of sums depend on it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "workloads/ops/product_internal.h"

#define MARGIN 0.98
#define MEASURES 3
#define MEASURE_NS 2000000 /* of launches one behind the other: above the clock's grain */
#define LAUNCHES_MAX 32
#define LONG_NS 50000000
#define HOPELESS 4
#define SCRATCH_OFFSETS 64 /* elements; every alignment that a library asks for divides it */

/* A product that is being settled. */
struct settling {
    struct products *products;
    struct product_entry *entry;
    struct product_operands operands;
    struct event *start, *end; /* NULL: the host's clock */
    struct buffer *scratch;
    char *key;
};

static void append_matrix(struct text *text, char name, const struct product_matrix *matrix,
                          bool batch)
{
    text_append_format(text, " %c=%s%s/%" PRIu64, name, dtype_name(matrix->type),
                       matrix->transpose ? "'" : "", matrix->stride);
    if (batch)
        text_append_format(text, "+%" PRIu64 "+%" PRIu64, matrix->outer_stride,
                           matrix->inner_stride);
}

/* All of a shape in a word: "bf16 64x64x64 a=bf16/64 b=bf16'/64 c=f32/64"; heap, NULL: no memory.
 */
static char *shape_key(const struct product_shape *shape)
{
    const bool batch = shape->outer * shape->inner > 1;
    struct text text;
    uint32_t alpha;

    memcpy(&alpha, &shape->alpha, sizeof(alpha));
    text_init(&text);
    text_append_format(&text, "%s %" PRIu64 "x%" PRIu64 "x%" PRIu64,
                       precision_name(shape->precision), shape->m, shape->n, shape->k);
    if (batch)
        text_append_format(&text, " x%" PRIu64 "x%" PRIu64, shape->outer, shape->inner);
    append_matrix(&text, 'a', &shape->a, batch);
    append_matrix(&text, 'b', &shape->b, batch);
    append_matrix(&text, 'c', &shape->c, batch);
    if (shape->bias)
        text_append_format(&text, " bias=%s", dtype_name(shape->bias_type));
    if (shape->add)
        text_append(&text, " add");
    if (shape->alpha != 1.0f)
        text_append_format(&text, " alpha=0x%08" PRIx32, alpha);
    return text_steal(&text);
}

/* ---- as given ---- */

static enum status take_given(struct settling *settling, const json_t *given, uint32_t count,
                              struct error *err)
{
    const char *wanted = json_string_value(json_object_get(given, "algorithm"));
    const char *stack =
        json_string_value(json_object_get(settling->products->given, PRODUCT_STACK));
    struct product *product = settling->entry->product;
    struct product_info info = {0};
    enum status status = STATUS_OK;

    if (wanted == NULL)
        return error_set(err, STATUS_INVALID,
                         "matrix product: the choices given name no algorithm for %s",
                         settling->key);
    for (uint32_t i = 0; i < count; i++) {
        status = device_product_select(product, i, err);
        if (status == STATUS_OK)
            status = device_product_describe(product, &info, err);
        if (status != STATUS_OK)
            return status;
        if (strcmp(info.algorithm, wanted) == 0) {
            settling->entry->tried = (uint32_t)json_integer_value(json_object_get(given, "tried"));
            return STATUS_OK;
        }
    }
    device_product_describe(product, &info, NULL);
    return error_set(err, STATUS_UNSUPPORTED,
                     "%s %s does not offer the algorithm \"%s\" for the product %s, which was "
                     "chosen with %s: measure with that library (--lib NAME=PATH), or begin anew "
                     "with `assay run`, which chooses again",
                     info.library, info.version, wanted, settling->key,
                     stack != NULL ? stack : "another library");
}

/* ---- by measurement ---- */

static enum status launch(struct settling *settling, uint32_t launches, struct error *err)
{
    enum status status = STATUS_OK;

    for (uint32_t i = 0; i < launches && status == STATUS_OK; i++)
        status = device_product_run(settling->entry->product, &settling->operands, err);
    return status;
}

/* What `launches` take one behind the other, from the device's own clock where it has one. */
static enum status time_launches(struct settling *settling, uint32_t launches, int64_t *ret_ns,
                                 struct error *err)
{
    struct device *device = settling->products->device;
    const int64_t begin = clock_monotonic_ns();
    int64_t ns = 0;
    enum status status = STATUS_OK;

    if (settling->start != NULL)
        status = device_event_record(device, settling->start, err);
    if (status == STATUS_OK)
        status = launch(settling, launches, err);
    if (status == STATUS_OK && settling->start != NULL)
        status = device_event_record(device, settling->end, err);
    if (status == STATUS_OK)
        status = device_synchronize(device, err);
    else
        device_synchronize(device, NULL);
    ns = clock_monotonic_ns() - begin;
    if (status == STATUS_OK && settling->start != NULL)
        status = device_event_elapsed_ns(device, settling->start, settling->end, &ns, err);
    if (status == STATUS_OK)
        *ret_ns = ns > 0 ? ns : 1;
    return status;
}

/* One launch's time: the best of a few measures. The first launch may load the library's kernel. */
static enum status measure(struct settling *settling, int64_t best, int64_t *ret_ns,
                           struct error *err)
{
    int64_t mine = 0, ns = 0;
    uint32_t launches;
    enum status status = time_launches(settling, 1, &mine, err);

    if (status == STATUS_OK && (mine <= LONG_NS || best == INT64_MAX || mine / HOPELESS <= best)) {
        status = time_launches(settling, 1, &ns, err);
        launches = MEASURE_NS / (ns > 0 ? ns : 1) < LAUNCHES_MAX
                       ? (uint32_t)(MEASURE_NS / (ns > 0 ? ns : 1)) + 1
                       : LAUNCHES_MAX;
        mine = ns < mine ? ns : mine;
        for (int i = 0; i < MEASURES && status == STATUS_OK && mine / HOPELESS <= best; i++) {
            status = time_launches(settling, launches, &ns, err);
            if (status == STATUS_OK && ns / launches < mine)
                mine = ns / launches > 0 ? ns / launches : 1;
        }
    }
    if (status == STATUS_OK)
        *ret_ns = mine;
    return status;
}

static void note(struct settling *settling, const char *algorithm, int64_t ns,
                 const struct error *refusal)
{
    json_t *entry = json_pack("{s:s, s:s, s:s}", "family", "vendor", "product", settling->key,
                              "algorithm", algorithm);

    if (refusal)
        json_object_set_new(entry, "refused", json_string(refusal->message));
    else
        json_object_set_new(entry, "ns", json_integer(ns));
    json_array_append_new(settling->products->candidates, entry);
}

/* Names of algorithms, so that none is taken which cannot be told from an earlier one. */
static bool is_known(char (*names)[PRODUCT_WORD_MAX], uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static enum status try_algorithms(struct settling *settling, uint32_t count,
                                  char (*names)[PRODUCT_WORD_MAX], uint32_t *ret_best,
                                  struct error *err)
{
    struct product *product = settling->entry->product;
    struct error first = ERROR_INIT;
    int64_t best = INT64_MAX;

    for (uint32_t i = 0; i < count; i++) {
        struct product_info info = {0};
        struct error refusal = ERROR_INIT;
        int64_t ns = 0;
        enum status status = device_product_select(product, i, &refusal);

        if (status == STATUS_OK)
            status = device_product_describe(product, &info, &refusal);
        if (status == STATUS_OK && is_known(names, i, info.algorithm))
            continue;
        memcpy(names[i], info.algorithm, sizeof(names[i]));
        if (status == STATUS_OK)
            status = measure(settling, best, &ns, &refusal);
        note(settling, info.algorithm, ns, status == STATUS_OK ? NULL : &refusal);
        settling->entry->tried++;
        if (status == STATUS_DEVICE_LOST)
            return error_set(err, status, "%s", refusal.message);
        if (status != STATUS_OK && first.code == STATUS_OK)
            first = refusal;
        if (status == STATUS_OK && (best == INT64_MAX || (double)ns < MARGIN * (double)best)) {
            best = ns;
            *ret_best = i;
        }
    }
    if (best != INT64_MAX)
        return STATUS_OK;
    return error_set(err, first.code, "none of the library's %" PRIu32 " algorithms runs: %s",
                     count, first.message);
}

/*
 * Where a product adds to its own result, the repeated launches go to an array of zeros instead,
 * as long, and as far from an even address.
 */
static enum status provide_scratch(struct settling *settling, struct error *err)
{
    const struct product_shape *shape = &settling->entry->shape;
    struct product_operand *c = &settling->operands.c, *d = &settling->operands.d;
    const uint64_t offset = c->offset % SCRATCH_OFFSETS;
    const uint64_t elements = offset + (shape->outer - 1) * shape->c.outer_stride +
                              (shape->inner - 1) * shape->c.inner_stride +
                              (shape->m - 1) * shape->c.stride + shape->n;
    const uint64_t bytes = elements * dtype_bits(shape->c.type) / 8;
    unsigned char *zeros;
    enum status status;

    if (!shape->add || d->buffer != c->buffer)
        return STATUS_OK;
    zeros = calloc(1, bytes);
    if (!zeros)
        return error_set(err, STATUS_NO_MEMORY, "matrix product: out of memory");
    status = device_buffer_alloc(settling->products->device, bytes, BUFFER_READ_WRITE,
                                 &settling->scratch, err);
    if (status == STATUS_OK)
        status = device_upload(settling->scratch, 0, zeros, bytes, err);
    free(zeros);
    if (status == STATUS_OK)
        *c = *d = (struct product_operand){settling->scratch, offset};
    return status;
}

static enum status choose(struct settling *settling, uint32_t count, struct error *err)
{
    char(*names)[PRODUCT_WORD_MAX] = calloc(count, sizeof(*names));
    struct device *device = settling->products->device;
    uint32_t best = 0;
    enum status status = STATUS_OK;

    if (!names)
        return error_set(err, STATUS_NO_MEMORY, "matrix product: out of memory");
    if (device_has_events(device)) {
        status = device_event_create(device, &settling->start, err);
        if (status == STATUS_OK)
            status = device_event_create(device, &settling->end, err);
    }
    if (status == STATUS_OK)
        status = try_algorithms(settling, count, names, &best, err);
    if (status == STATUS_OK)
        status = device_product_select(settling->entry->product, best, err);
    free(names);
    return status;
}

static enum status settle(struct settling *settling, struct error *err)
{
    struct products *products = settling->products;
    const json_t *given =
        json_object_get(json_object_get(products->given, "algorithms"), settling->key);
    struct product_info info = {0};
    enum status status = device_product_describe(settling->entry->product, &info, err);

    if (status == STATUS_OK && given)
        return take_given(settling, given, info.algorithms, err);
    /* Choices without this product: it is not one that is measured, and takes the library's first.
     */
    if (status != STATUS_OK || products->is_given || info.algorithms < 2)
        return status;
    status = provide_scratch(settling, err);
    if (status == STATUS_DEVICE_MEMORY) /* too full to measure in: the library's first */
        return STATUS_OK;
    return status == STATUS_OK ? choose(settling, info.algorithms, err) : status;
}

enum status product_settle(struct products *products, struct product_entry *entry,
                           const struct product_operands *operands, struct error *err)
{
    struct settling settling = {.products = products,
                                .entry = entry,
                                .operands = *operands,
                                .key = shape_key(&entry->shape)};
    enum status status;

    if (!settling.key)
        return error_set(err, STATUS_NO_MEMORY, "matrix product: out of memory");
    status = settle(&settling, err);
    device_event_destroy(products->device, settling.start);
    device_event_destroy(products->device, settling.end);
    device_buffer_free(settling.scratch);
    free(settling.key);
    return status;
}

json_t *product_settled(const struct products *products)
{
    json_t *algorithms = json_object(), *settled;
    struct product_info info = {0};
    struct text stack;

    for (size_t i = 0; i < products->entry_count; i++) {
        const struct product_entry *entry = &products->entries[i];
        char *key = shape_key(&entry->shape);

        if (key && device_product_describe(entry->product, &info, NULL) == STATUS_OK &&
            info.algorithms > 0)
            json_object_set_new(algorithms, key,
                                json_pack("{s:s, s:I}", "algorithm", info.algorithm, "tried",
                                          (json_int_t)entry->tried));
        free(key);
    }
    if (json_object_size(algorithms) == 0) {
        json_decref(algorithms);
        return NULL;
    }
    text_init(&stack);
    text_append_format(&stack, "%s %s", info.library, info.version);
    settled = json_pack("{s:s, s:o}", PRODUCT_STACK, text_ok(&stack) ? stack.data : "",
                        "algorithms", algorithms);
    text_finish(&stack);
    return settled;
}
