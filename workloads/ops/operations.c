/*
 * Which of its algorithms the vendor's library takes for an operation, where it lists several: as
 * the choices say, or by measurement at the first use, on that use's own operands. The library's
 * order is its expectation, so a later one must be faster by a MARGIN; what fails is skipped. The
 * choice is made once a campaign and handed to every trial, since time and the order of sums depend
 * on it.
 */
#include "workloads/ops/operations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/member.h"

#define MARGIN 0.98
#define MEASURES 3
#define MEASURE_NS 2000000 /* of launches one after the other: above the clock's resolution */
#define LAUNCHES_MAX 32
#define LONG_NS 50000000
#define HOPELESS 4
#define SCRATCH_OFFSETS 64 /* elements; every alignment that a library asks for divides it */

enum status operations_create(struct device *device, const struct workload_case *work,
                              const char *section, json_t *candidates, struct operations **ret,
                              struct error *err)
{
    struct operations *self = calloc(1, sizeof(*self));

    if (!self)
        return error_no_memory(err);
    self->candidates = json_incref(candidates);
    self->device = device;
    self->emulate = work->emulate;
    self->is_given = work->choices != NULL;
    self->given = json_incref(json_object_get(work->choices, section));
    *ret = self;
    return STATUS_OK;
}

void operations_destroy(struct operations *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        operation_destroy(self->items[i].operation);
    free(self->items);
    json_decref(self->candidates);
    json_decref(self->given);
    free(self);
}

void operations_seal(struct operations *self)
{
    self->sealed = true;
}

/* Only what is asked for is emulated. */
static enum status check_support(const struct operations *self, const struct operation *operation,
                                 enum precision precision, struct error *err)
{
    struct operation_info info;
    enum status status = operation_describe(operation, &info, err);

    if (status != STATUS_OK || self->emulate || info.support != SUPPORT_EMULATED)
        return status;
    return error_set(err, STATUS_UNSUPPORTED,
                     "%s emulates %s on %s (%s): --emulate measures that, labelled so",
                     info.library, precision_name(precision), self->device->info.name, info.method);
}

static enum precision precision_of(const struct operation_desc *desc)
{
    return desc->kind == OPERATION_GEMM          ? desc->gemm.precision
           : desc->kind == OPERATION_CONVOLUTION ? desc->convolution.precision
                                                 : desc->attention.precision;
}

enum status operations_add(struct operations *self, const struct operation_desc *desc,
                           struct error *err)
{
    struct operation *operation = NULL;
    enum status status;

    if (self->sealed) {
        AUTO_FREE char *key = operation_key(desc);

        return error_set(err, STATUS_INTERNAL, "the %s %s was first asked for while measuring",
                         operation_kind_name(desc->kind), key ? key : "");
    }
    TRY(ARRAY_GROW(self->items, self->count, 1, err));
    TRY(operation_create(self->device, desc, &operation, err));
    status = check_support(self, operation, precision_of(desc), err);
    if (status == STATUS_OK)
        self->items[self->count++] = (struct prepared_operation){.operation = operation};
    else
        operation_destroy(operation);
    return status;
}

/* An operation that is being tuned. */
struct tuning {
    struct operations *operations;
    struct prepared_operation *item;
    const char *key;
    union operands operands;
    struct buffer *scratch;
    struct event *start, *end; /* NULL: the host's clock */
};

/* ---- as given ---- */

/* `wanted`, which `tried` were measured for; NULL: the choices name none. */
static enum status take(struct tuning *tuning, const char *wanted, uint32_t tried, uint32_t count,
                        struct error *err)
{
    struct operation *operation = tuning->item->operation;
    const char *kind = operation_kind_name(operation->desc.kind);
    const char *stack = member_string(tuning->operations->given, WORKLOAD_CHOICES_STACK);
    struct operation_info info = {0};

    if (wanted == NULL)
        return error_set(err, STATUS_INVALID, "%s: the choices given name no algorithm for %s",
                         kind, tuning->key);
    for (uint32_t i = 0; i < count; i++) {
        TRY(operation_select(operation, i, err));
        TRY(operation_describe(operation, &info, err));
        if (strcmp(info.algorithm, wanted) == 0) {
            tuning->item->tried = tried;
            return STATUS_OK;
        }
    }
    operation_describe(operation, &info, NULL);
    return error_set(err, STATUS_UNSUPPORTED,
                     "%s %s does not offer the algorithm \"%s\" for the %s %s, which was chosen "
                     "with %s: measure with that library (--lib NAME=PATH), or begin anew with "
                     "`assay run`, which chooses again",
                     info.library, info.version, wanted, kind, tuning->key,
                     stack != NULL ? stack : "another library");
}

/* ---- by measurement ---- */

static enum status launch(struct tuning *tuning, uint32_t launches, struct error *err)
{
    for (uint32_t i = 0; i < launches; i++)
        TRY(operation_run(tuning->item->operation, &tuning->operands, err));
    return STATUS_OK;
}

/* What `launches` take one after the other, from the device's own clock where it has one. */
static enum status time_launches(struct tuning *tuning, uint32_t launches, int64_t *ret_ns,
                                 struct error *err)
{
    struct device *device = tuning->operations->device;
    const int64_t begin = clock_monotonic_ns();
    enum status status;
    int64_t ns;

    if (tuning->start != NULL)
        TRY(device_event_record(device, tuning->start, err));
    status = launch(tuning, launches, err);
    if (status == STATUS_OK && tuning->start != NULL)
        status = device_event_record(device, tuning->end, err);
    if (status != STATUS_OK) {
        device_synchronize(device, NULL);
        return status;
    }
    TRY(device_synchronize(device, err));
    ns = clock_monotonic_ns() - begin;
    if (tuning->start != NULL)
        TRY(device_event_elapsed_ns(device, tuning->start, tuning->end, &ns, err));
    *ret_ns = ns > 0 ? ns : 1;
    return STATUS_OK;
}

/* One launch's time: the best of a few measures. The first launch may load the library's kernel. */
static enum status measure(struct tuning *tuning, int64_t best, int64_t *ret_ns, struct error *err)
{
    int64_t mine = 0, ns = 0;
    uint32_t launches;

    TRY(time_launches(tuning, 1, &mine, err));
    if (mine > LONG_NS && best != INT64_MAX && mine / HOPELESS > best) {
        *ret_ns = mine;
        return STATUS_OK;
    }
    TRY(time_launches(tuning, 1, &ns, err));
    launches = MEASURE_NS / ns < LAUNCHES_MAX ? (uint32_t)(MEASURE_NS / ns) + 1 : LAUNCHES_MAX;
    mine = ns < mine ? ns : mine;
    for (int i = 0; i < MEASURES && mine / HOPELESS <= best; i++) {
        TRY(time_launches(tuning, launches, &ns, err));
        if (ns / launches < mine)
            mine = ns / launches > 0 ? ns / launches : 1;
    }
    *ret_ns = mine;
    return STATUS_OK;
}

/* One whose name is not available is named by its position in the library's list. */
static void note(struct tuning *tuning, uint32_t index, const char *name, int64_t ns,
                 const struct error *refusal)
{
    json_t *candidate =
        json_pack("{s:s, s:s, s:s}", "family", "vendor", "gemm", tuning->key, "algorithm", name);

    if (name[0] == '\0')
        json_object_set_new(candidate, "algorithm", json_sprintf("number %" PRIu32, index + 1));
    workload_note_candidate(tuning->operations->candidates, candidate, ns, refusal);
}

/* Names of algorithms, so that none is taken which cannot be distinguished from an earlier one. */
static bool is_known(char (*names)[OPERATION_WORD_MAX], uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static enum status try_algorithms(struct tuning *tuning, uint32_t count,
                                  char (*names)[OPERATION_WORD_MAX], uint32_t *ret_best,
                                  struct error *err)
{
    struct operation *operation = tuning->item->operation;
    struct error kept = ERROR_INIT;
    int64_t best = INT64_MAX;

    for (uint32_t i = 0; i < count; i++) {
        struct operation_info info = {0};
        struct error refusal = ERROR_INIT;
        int64_t ns = 0;
        enum status status = operation_select(operation, i, &refusal);

        if (status == STATUS_OK)
            status = operation_describe(operation, &info, &refusal);
        if (status == STATUS_OK && is_known(names, i, info.algorithm))
            continue;
        memcpy(names[i], info.algorithm, sizeof(names[i]));
        if (status == STATUS_OK)
            status = measure(tuning, best, &ns, &refusal);
        note(tuning, i, info.algorithm, ns, status == STATUS_OK ? NULL : &refusal);
        tuning->item->tried++;
        if (status == STATUS_DEVICE_LOST)
            return error_set(err, status, "%s", refusal.message);
        if (status != STATUS_OK)
            workload_keep_refusal(&kept, &refusal);
        if (status == STATUS_OK && (best == INT64_MAX || (double)ns < MARGIN * (double)best)) {
            best = ns;
            *ret_best = i;
        }
    }
    if (best != INT64_MAX)
        return STATUS_OK;
    return error_set(err, kept.code, "none of the library's %" PRIu32 " algorithms runs: %s", count,
                     kept.message);
}

static enum status choose(struct tuning *tuning, uint32_t count, struct error *err)
{
    AUTO_FREE char(*names)[OPERATION_WORD_MAX] = calloc(count, sizeof(*names));
    struct device *device = tuning->operations->device;
    uint32_t best = 0;

    if (!names)
        return error_no_memory(err);
    if (device_has_events(device)) {
        TRY(device_event_create(device, &tuning->start, err));
        TRY(device_event_create(device, &tuning->end, err));
    }
    TRY(try_algorithms(tuning, count, names, &best, err));
    return operation_select(tuning->item->operation, best, err);
}

/*
 * Where a GEMM adds to its own result, the repeated launches go to an array of zeros instead,
 * as long, and as far from an even address.
 */
static enum status provide_scratch(struct tuning *tuning, struct error *err)
{
    const struct operation_desc *desc = &tuning->item->operation->desc;
    const struct gemm_shape *shape = &desc->gemm;
    struct operand *c = &tuning->operands.gemm.c, *d = &tuning->operands.gemm.d;
    const uint64_t offset = c->offset % SCRATCH_OFFSETS;
    AUTO_FREE unsigned char *zeros = NULL;
    uint64_t bytes;

    if (desc->kind != OPERATION_GEMM || !shape->add || d->buffer != c->buffer)
        return STATUS_OK;
    bytes =
        (offset + (shape->outer - 1) * shape->c.outer_stride +
         (shape->inner - 1) * shape->c.inner_stride + (shape->m - 1) * shape->c.stride + shape->n) *
        dtype_bits(shape->c.type) / 8;
    zeros = calloc(1, bytes);
    if (!zeros)
        return error_no_memory(err);
    TRY(device_buffer_alloc(tuning->operations->device, bytes, BUFFER_READ_WRITE, &tuning->scratch,
                            err));
    TRY(device_upload(tuning->scratch, 0, zeros, bytes, err));
    *c = *d = (struct operand){tuning->scratch, offset};
    return STATUS_OK;
}

/* One of the same name that has its algorithm; NULL: none. */
static const struct prepared_operation *find_twin(const struct operations *self, const char *key)
{
    for (size_t i = 0; i < self->count; i++) {
        char *other = self->items[i].tuned ? operation_key(&self->items[i].operation->desc) : NULL;
        const bool same = other && !strcmp(other, key);

        free(other);
        if (same)
            return &self->items[i];
    }
    return NULL;
}

static enum status tune_by_key(struct tuning *tuning, struct error *err)
{
    const struct operations *self = tuning->operations;
    const json_t *given = member_in(self->given, "algorithms", tuning->key);
    const struct prepared_operation *twin = find_twin(self, tuning->key);
    struct operation_info info = {0}, other = {0};
    enum status status;

    TRY(operation_describe(tuning->item->operation, &info, err));
    if (given)
        return take(tuning, member_string(given, "algorithm"),
                    (uint32_t)member_integer(given, "tried"), info.algorithms, err);
    /* Choices without this one: it is not one that is measured, and takes the library's first. */
    if (self->is_given || info.algorithms < 2)
        return STATUS_OK;
    if (twin && operation_describe(twin->operation, &other, NULL) == STATUS_OK)
        return take(tuning, other.algorithm, twin->tried, info.algorithms, err);
    status = provide_scratch(tuning, err);
    if (status == STATUS_DEVICE_MEMORY) /* too full to measure in: the library's first */
        return STATUS_OK;
    return status == STATUS_OK ? choose(tuning, info.algorithms, err) : status;
}

static enum status tune(struct operations *self, struct prepared_operation *item,
                        const union operands *operands, struct error *err)
{
    char *key = operation_key(&item->operation->desc);
    struct tuning tuning = {.operations = self, .item = item, .key = key, .operands = *operands};
    enum status status = key ? tune_by_key(&tuning, err) : error_no_memory(err);

    item->tuned = status == STATUS_OK;
    device_event_destroy(self->device, tuning.start);
    device_event_destroy(self->device, tuning.end);
    device_buffer_free(tuning.scratch);
    free(key);
    return status;
}

enum status operations_run(struct operations *self, size_t index, const union operands *operands,
                           struct error *err)
{
    struct prepared_operation *item = &self->items[index];

    TRY(item->tuned ? STATUS_OK : tune(self, item, operands, err));
    return operation_run(item->operation, operands, err);
}

json_t *operations_choices(const struct operations *self)
{
    json_t *algorithms = json_object();
    struct operation_info info = {0};

    for (size_t i = 0; i < self->count; i++) {
        const struct prepared_operation *item = &self->items[i];
        char *key = item->tuned ? operation_key(&item->operation->desc) : NULL;

        if (key && operation_describe(item->operation, &info, NULL) == STATUS_OK &&
            info.algorithms > 0)
            json_object_set_new(algorithms, key,
                                json_pack("{s:s, s:I}", "algorithm", info.algorithm, "tried",
                                          (json_int_t)item->tried));
        free(key);
    }
    if (json_object_size(algorithms) == 0) {
        json_decref(algorithms);
        return NULL;
    }
    return json_pack("{s:o, s:o}", WORKLOAD_CHOICES_STACK,
                     json_sprintf("%s %s", info.library, info.version), "algorithms", algorithms);
}
