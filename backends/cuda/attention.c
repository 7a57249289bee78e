/*
 * The vendor's attention through cuDNN's graph interface: one graph for the forward pass, one for
 * the backward pass (attention_graph.c), each with the plans that the library lists for it, one of
 * which is executed with packs of pointers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/attention_graph.h"
#include "backends/cuda/internal.h"

#define ALIGNMENT 16 /* of every operand, as the tensors say */
#define SCRATCH_ALIGNMENT ((uint64_t)256)
#define PACKS_MAX 64 /* of kept bindings: a model of 64 layers makes none in the steady state */

/* The addresses by id of an execution, bound. */
struct pack {
    void *pointers[ATTENTION_IDS];
    void *descriptor;
};

struct pass {
    struct cudnn_graph graph;
    struct cudnn_plans plans;
    bool ready; /* the selected plan is made, and the scratch is as large as it needs */
    struct pack packs[PACKS_MAX];
    size_t pack_count, latest;
};

struct cuda_attention {
    struct attention base;
    struct pass forward, backward;
    float scale, masked, one;     /* read by executions */
    struct gpu_workspace scratch; /* the plans' workspace, row sums, sums of dQ */
    uint64_t row_sums, d_q_sums;  /* offsets into it */
};

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

static uint64_t workspace(const struct pass *pass)
{
    return (uint64_t)pass->plans.list[pass->plans.selected].workspace_bytes;
}

static void drop_packs(struct pass *pass)
{
    for (size_t i = 0; i < pass->pack_count; i++)
        cudnn_graph_drop(&pass->graph, pass->packs[i].descriptor);
    pass->pack_count = pass->latest = 0;
}

/*
 * Scratch for the plans that are selected. Both passes run in order on one queue, so they share
 * one; what was bound to the old one is dropped with it.
 */
static enum status allocate(struct cuda_device *device, struct cuda_attention *self,
                            const struct attention_shape *shape, struct error *err)
{
    const uint64_t rows = shape->batch * shape->heads * shape->length;
    const uint64_t forward = workspace(&self->forward), backward = workspace(&self->backward);
    const uint64_t row_sums = rounded(forward > backward ? forward : backward);
    const uint64_t d_q_sums = row_sums + (shape->training ? rounded(rows * sizeof(float)) : 0);
    const uint64_t bytes =
        d_q_sums + (shape->training ? rounded(rows * shape->head_size * sizeof(float)) : 0);
    enum status status;

    if (bytes == self->scratch.bytes)
        return STATUS_OK;
    status = gpu_workspace_resize(&device->base, &self->scratch, bytes, err);
    if (status != STATUS_OK)
        return status;
    drop_packs(&self->forward);
    drop_packs(&self->backward);
    self->row_sums = row_sums;
    self->d_q_sums = d_q_sums;
    return STATUS_OK;
}

static enum status make_ready(struct cuda_device *device, struct cuda_attention *self,
                              struct pass *pass, struct error *err)
{
    enum status status;

    pass->graph.err = err;
    status = cudnn_graph_make(&pass->graph, &pass->plans.list[pass->plans.selected]);
    if (status == STATUS_OK)
        status = allocate(device, self, &self->base.shape, err);
    pass->ready = status == STATUS_OK;
    return status;
}

static enum status plan(struct cuda_device *device, const struct attention_shape *shape,
                        void (*build)(struct cudnn_graph *, const struct attention_shape *),
                        struct pass *pass, struct error *err)
{
    pass->graph.api = &device->state->cudnn;
    pass->graph.target.handle = device->cudnn;
    pass->graph.err = err;
    build(&pass->graph, shape);
    if (pass->graph.status != STATUS_OK)
        return pass->graph.status;
    return cudnn_graph_plan(&pass->graph, &pass->plans);
}

void cuda_attention_destroy(struct device *base, struct attention *attention)
{
    struct cuda_device *device = cuda_device(gpu_device(base));
    struct cuda_attention *self = (struct cuda_attention *)attention;

    if (gpu_bind(&device->base, NULL) == STATUS_OK)
        gpu_workspace_free(&device->base, &self->scratch);
    cudnn_graph_finish(&self->backward.graph);
    cudnn_graph_finish(&self->forward.graph);
    free(self);
}

static enum status prepare(struct cuda_device *device, const struct attention_shape *shape,
                           struct cuda_attention *self, struct error *err)
{
    enum status status = gpu_bind(&device->base, err);

    if (status == STATUS_OK)
        status = cuda_cudnn_handle(device, err);
    if (status == STATUS_OK)
        status = plan(device, shape, cuda_attention_graph_forward, &self->forward, err);
    if (status == STATUS_OK && shape->training)
        status = plan(device, shape, cuda_attention_graph_backward, &self->backward, err);
    if (status == STATUS_OK)
        status = allocate(device, self, shape, err);
    self->forward.ready = self->backward.ready = status == STATUS_OK;
    return status;
}

enum status cuda_attention_create(struct device *base, const struct attention_shape *shape,
                                  struct attention **ret, struct error *err)
{
    struct cuda_device *device = cuda_device(gpu_device(base));
    const size_t version = device->state->cudnn.cudnnGetVersion();
    struct cuda_attention *self;
    enum status status = cuda_attention_check(shape, version, err);

    if (status != STATUS_OK)
        return status;
    self = calloc(1, sizeof(*self));
    if (self == NULL)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    self->scale = shape->scale;
    self->masked = cuda_attention_masked(version);
    self->one = 1.0f;
    status = prepare(device, shape, self, err);
    if (status != STATUS_OK) {
        cuda_attention_destroy(base, &self->base);
        return status;
    }
    *ret = &self->base;
    return STATUS_OK;
}

enum status cuda_attention_select(struct device *base, struct attention *attention, bool backward,
                                  uint32_t index, struct error *err)
{
    struct cuda_device *device = cuda_device(gpu_device(base));
    struct cuda_attention *self = (struct cuda_attention *)attention;
    struct pass *pass = backward ? &self->backward : &self->forward;
    enum status status = gpu_bind(&device->base, err);

    if (status == STATUS_OK) /* it may still run in the scratch */
        status = device->base.driver->synchronize(&device->base, err);
    if (status != STATUS_OK)
        return status;
    pass->plans.selected = index;
    pass->ready = false;
    return STATUS_OK;
}

/* ---- runs ---- */

static const int64_t forward_ids[] = {ATTENTION_Q,     ATTENTION_K,     ATTENTION_V,
                                      ATTENTION_O,     ATTENTION_SCALE, ATTENTION_STATISTICS,
                                      ATTENTION_MASKED};
static const int64_t backward_ids[] = {
    ATTENTION_Q,        ATTENTION_K,     ATTENTION_V,   ATTENTION_O,     ATTENTION_STATISTICS,
    ATTENTION_D_O,      ATTENTION_D_Q,   ATTENTION_D_K, ATTENTION_D_V,   ATTENTION_ROW_SUMS,
    ATTENTION_D_Q_SUMS, ATTENTION_SCALE, ATTENTION_ONE, ATTENTION_MASKED};

static void *address_of(const struct gemm_operand *operand, size_t bits)
{
    return (void *)(uintptr_t)gpu_operand_address(operand, bits);
}

/* What both passes read and write, and whose address depends on the run. */
static void find(struct cuda_attention *self, const struct attention_operands *operands,
                 bool backward, void *ret[ATTENTION_IDS])
{
    const struct attention_shape *shape = &self->base.shape;

    memset(ret, 0, ATTENTION_IDS * sizeof(*ret));
    ret[ATTENTION_Q] = address_of(&operands->q, 16);
    ret[ATTENTION_K] = address_of(&operands->k, 16);
    ret[ATTENTION_V] = address_of(&operands->v, 16);
    ret[ATTENTION_O] = address_of(&operands->o, 16);
    ret[ATTENTION_SCALE] = &self->scale;
    if (shape->causal)
        ret[ATTENTION_MASKED] = &self->masked;
    if (shape->training)
        ret[ATTENTION_STATISTICS] = address_of(&operands->statistics, 32);
    if (!backward)
        return;
    ret[ATTENTION_D_O] = address_of(&operands->d_o, 16);
    ret[ATTENTION_D_Q] = address_of(&operands->d_q, 16);
    ret[ATTENTION_D_K] = address_of(&operands->d_k, 16);
    ret[ATTENTION_D_V] = address_of(&operands->d_v, 16);
    ret[ATTENTION_ROW_SUMS] = (void *)(uintptr_t)(self->scratch.address + self->row_sums);
    ret[ATTENTION_D_Q_SUMS] = (void *)(uintptr_t)(self->scratch.address + self->d_q_sums);
    ret[ATTENTION_ONE] = &self->one;
}

static enum status check_alignment(void *const pointers[ATTENTION_IDS], struct error *err)
{
    for (int id = ATTENTION_Q; id <= ATTENTION_D_V; id++)
        if ((uintptr_t)pointers[id] % ALIGNMENT != 0)
            return error_set(err, STATUS_UNSUPPORTED,
                             "attention: an operand is at %p, and cuDNN was promised multiples "
                             "of %d bytes",
                             pointers[id], ALIGNMENT);
    return STATUS_OK;
}

/* A model binds the same addresses in the same order, so the search begins after the latest. */
static struct pack *find_pack(struct pass *pass, void *const pointers[ATTENTION_IDS])
{
    for (size_t i = 0; i < pass->pack_count; i++) {
        const size_t at = (pass->latest + 1 + i) % pass->pack_count;

        if (memcmp(pass->packs[at].pointers, pointers, sizeof(pass->packs[at].pointers)) == 0) {
            pass->latest = at;
            return &pass->packs[at];
        }
    }
    return NULL;
}

/* A new binding; the oldest is replaced when there are too many. */
static struct pack *make_pack(struct pass *pass, const int64_t *ids, size_t id_count,
                              void *const pointers[ATTENTION_IDS], void *workspace,
                              struct error *err)
{
    const size_t at =
        pass->pack_count < PACKS_MAX ? pass->pack_count : (pass->latest + 1) % PACKS_MAX;
    int64_t bound[ATTENTION_IDS];
    void *values[ATTENTION_IDS];
    void *descriptor;
    size_t count = 0;

    for (size_t i = 0; i < id_count; i++)
        if (pointers[ids[i]] != NULL) {
            bound[count] = ids[i];
            values[count++] = pointers[ids[i]];
        }
    pass->graph.err = err;
    pass->graph.status = STATUS_OK;
    descriptor = cudnn_graph_pack(&pass->graph, bound, values, count, workspace);
    if (descriptor == NULL)
        return NULL;
    if (at < pass->pack_count)
        cudnn_graph_drop(&pass->graph, pass->packs[at].descriptor);
    else
        pass->pack_count++;
    memcpy(pass->packs[at].pointers, pointers, sizeof(pass->packs[at].pointers));
    pass->packs[at].descriptor = descriptor;
    pass->latest = at;
    return &pass->packs[at];
}

static enum status run(struct cuda_attention *self, struct cuda_device *device, struct pass *pass,
                       const struct attention_operands *operands, struct error *err)
{
    const bool backward = pass == &self->backward;
    const int64_t *ids = backward ? backward_ids : forward_ids;
    const size_t id_count = backward ? sizeof(backward_ids) / sizeof(backward_ids[0])
                                     : sizeof(forward_ids) / sizeof(forward_ids[0]);
    const struct cudnn_api *api = &device->state->cudnn;
    void *pointers[ATTENTION_IDS];
    struct pack *pack;
    enum status status = gpu_bind(&device->base, err);
    unsigned code;

    if (status == STATUS_OK && !pass->ready)
        status = make_ready(device, self, pass, err);
    if (status != STATUS_OK)
        return status;
    find(self, operands, backward, pointers);
    pack = find_pack(pass, pointers);
    if (pack == NULL) {
        status = check_alignment(pointers, err);
        if (status != STATUS_OK)
            return status;
        pack =
            make_pack(pass, ids, id_count, pointers, (void *)(uintptr_t)self->scratch.address, err);
        if (pack == NULL)
            return pass->graph.status;
    }
    code = api->cudnnBackendExecute(
        device->cudnn, pass->plans.list[pass->plans.selected].descriptor, pack->descriptor);
    return code == DNN_STATUS_SUCCESS ? STATUS_OK
                                      : cudnn_fail(api, "cudnnBackendExecute", code, err);
}

enum status cuda_attention_forward(struct device *base, struct attention *attention,
                                   const struct attention_operands *operands, struct error *err)
{
    struct cuda_attention *self = (struct cuda_attention *)attention;

    return run(self, cuda_device(gpu_device(base)), &self->forward, operands, err);
}

enum status cuda_attention_backward(struct device *base, struct attention *attention,
                                    const struct attention_operands *operands, struct error *err)
{
    struct cuda_attention *self = (struct cuda_attention *)attention;

    return run(self, cuda_device(gpu_device(base)), &self->backward, operands, err);
}

static void describe(const struct cuda_device *device, const struct cuda_attention *self,
                     const struct pass *pass, struct gemm_info *ret)
{
    const struct cudnn_plan *plan = &pass->plans.list[pass->plans.selected];
    char notes[64];

    cudnn_plan_notes(plan, notes, sizeof(notes));
    snprintf(ret->library, sizeof(ret->library), "cuDNN");
    snprintf(ret->version, sizeof(ret->version), "%s", device->state->cudnn_version);
    snprintf(ret->algorithm, sizeof(ret->algorithm), "%s", plan->name);
    ret->workspace_bytes = self->scratch.bytes;
    ret->support = plan->notes >> DNN_NOTE_TENSOR_CORE & 1 ? SUPPORT_NATIVE : SUPPORT_UNKNOWN;
    snprintf(ret->method, sizeof(ret->method), "engine's numerical notes: %s%s", notes,
             plan->compiled_at_run ? "; compiled at run time" : "");
    ret->algorithms = pass->plans.count;
}

enum status cuda_attention_describe(struct device *base, const struct attention *attention,
                                    struct attention_info *ret, struct error *err)
{
    const struct cuda_device *device = cuda_device(gpu_device(base));
    const struct cuda_attention *self = (const struct cuda_attention *)attention;

    (void)err;
    describe(device, self, &self->forward, &ret->forward);
    if (attention->shape.training)
        describe(device, self, &self->backward, &ret->backward);
    return STATUS_OK;
}
