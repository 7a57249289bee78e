/*
 * The vendor's attention through cuDNN's graph interface: a graph of the pass (attention_graph.c)
 * with the plans that the library lists for it, one of which is executed with packs of pointers.
 */
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

struct cuda_attention {
    struct operation base;
    struct cudnn_graph graph;
    struct cudnn_plans plans;
    bool ready; /* the selected plan is made, and the scratch is as large as it needs */
    struct pack packs[PACKS_MAX];
    size_t pack_count, latest;
    float scale, masked, one;     /* read by executions */
    struct gpu_workspace scratch; /* the plan's workspace; for backward row sums and sums of dQ */
    uint64_t row_sums, d_q_sums;  /* offsets into it */
};

static bool is_backward(const struct cuda_attention *self)
{
    return self->base.desc.kind == OPERATION_ATTENTION_BACKWARD;
}

static uint64_t rounded(uint64_t bytes)
{
    return (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

/* Scratch for the plan that is selected; what was bound to the old one is dropped with it. */
static enum status allocate(struct cuda_device *device, struct cuda_attention *self,
                            struct error *err)
{
    const struct attention_shape *shape = &self->base.desc.attention;
    const uint64_t rows = shape->batch * shape->heads * shape->length;
    const uint64_t row_sums =
        rounded((uint64_t)self->plans.list[self->plans.selected].workspace_bytes);
    const uint64_t d_q_sums = row_sums + (is_backward(self) ? rounded(rows * sizeof(float)) : 0);
    const uint64_t bytes =
        d_q_sums + (is_backward(self) ? rounded(rows * shape->head_size * sizeof(float)) : 0);

    if (bytes == self->scratch.bytes)
        return STATUS_OK;
    TRY(gpu_workspace_resize(&device->base, &self->scratch, bytes, err));
    for (size_t i = 0; i < self->pack_count; i++)
        cudnn_graph_drop(&self->graph, self->packs[i].descriptor);
    self->pack_count = self->latest = 0;
    self->row_sums = row_sums;
    self->d_q_sums = d_q_sums;
    return STATUS_OK;
}

static enum status make_ready(struct cuda_device *device, struct cuda_attention *self,
                              struct error *err)
{
    self->graph.err = err;
    TRY(cudnn_graph_make(&self->graph, &self->plans.list[self->plans.selected]));
    TRY(allocate(device, self, err));
    self->ready = true;
    return STATUS_OK;
}

static void destroy(struct operation *operation)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    struct cuda_attention *self = (struct cuda_attention *)operation;

    if (gpu_bind(&device->base, NULL) == STATUS_OK)
        gpu_workspace_free(&device->base, &self->scratch);
    cudnn_graph_finish(&self->graph);
    free(self);
}

static enum status prepare(struct operation *operation, struct error *err)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    struct cuda_attention *self = (struct cuda_attention *)operation;
    const size_t version = device->state->cudnn.cudnnGetVersion();

    TRY(cuda_attention_check(&operation->desc.attention, version, err));
    self->scale = operation->desc.attention.scale;
    self->masked = cuda_attention_masked(version);
    self->one = 1.0f;
    TRY(gpu_bind(&device->base, err));
    TRY(cuda_cudnn_handle(device, err));
    self->graph.api = &device->state->cudnn;
    self->graph.target.handle = device->cudnn;
    self->graph.err = err;
    if (is_backward(self))
        cuda_attention_graph_backward(&self->graph, &self->base.desc.attention);
    else
        cuda_attention_graph_forward(&self->graph, &self->base.desc.attention);
    TRY(self->graph.status);
    TRY(cudnn_graph_plan(&self->graph, &self->plans));
    TRY(allocate(device, self, err));
    self->ready = true;
    return STATUS_OK;
}

static enum status select_algorithm(struct operation *operation, uint32_t index, struct error *err)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    struct cuda_attention *self = (struct cuda_attention *)operation;

    TRY(gpu_bind(&device->base, err));
    TRY(device->base.driver->synchronize(&device->base, err));
    self->plans.selected = index;
    self->ready = false;
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

static void *address_of(const struct operand *operand, size_t bits)
{
    return (void *)(uintptr_t)gpu_operand_address(operand, bits);
}

/* What a pass reads and writes, and whose address depends on the run. */
static void find(struct cuda_attention *self, const struct attention_operands *operands,
                 void *ret[ATTENTION_IDS])
{
    const struct attention_shape *shape = &self->base.desc.attention;

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
    if (!is_backward(self))
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
static struct pack *find_pack(struct cuda_attention *self, void *const pointers[ATTENTION_IDS])
{
    for (size_t i = 0; i < self->pack_count; i++) {
        const size_t at = (self->latest + 1 + i) % self->pack_count;

        if (memcmp(self->packs[at].pointers, pointers, sizeof(self->packs[at].pointers)) == 0) {
            self->latest = at;
            return &self->packs[at];
        }
    }
    return NULL;
}

/* A new binding; the oldest is replaced when there are too many. */
static struct pack *make_pack(struct cuda_attention *self, const int64_t *ids, size_t id_count,
                              void *const pointers[ATTENTION_IDS], struct error *err)
{
    const size_t at =
        self->pack_count < PACKS_MAX ? self->pack_count : (self->latest + 1) % PACKS_MAX;
    int64_t bound[ATTENTION_IDS];
    void *values[ATTENTION_IDS];
    void *descriptor;
    size_t count = 0;

    for (size_t i = 0; i < id_count; i++)
        if (pointers[ids[i]] != NULL) {
            bound[count] = ids[i];
            values[count++] = pointers[ids[i]];
        }
    self->graph.err = err;
    self->graph.status = STATUS_OK;
    descriptor = cudnn_graph_pack(&self->graph, bound, values, count,
                                  (void *)(uintptr_t)self->scratch.address);
    if (descriptor == NULL)
        return NULL;
    if (at < self->pack_count)
        cudnn_graph_drop(&self->graph, self->packs[at].descriptor);
    else
        self->pack_count++;
    memcpy(self->packs[at].pointers, pointers, sizeof(self->packs[at].pointers));
    self->packs[at].descriptor = descriptor;
    self->latest = at;
    return &self->packs[at];
}

static enum status run(struct operation *operation, const union operands *operands,
                       struct error *err)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    struct cuda_attention *self = (struct cuda_attention *)operation;
    const int64_t *ids = is_backward(self) ? backward_ids : forward_ids;
    const size_t id_count = is_backward(self) ? sizeof(backward_ids) / sizeof(backward_ids[0])
                                              : sizeof(forward_ids) / sizeof(forward_ids[0]);
    const struct cudnn_api *api = &device->state->cudnn;
    void *pointers[ATTENTION_IDS];
    struct pack *pack;
    unsigned code;

    TRY(gpu_bind(&device->base, err));
    if (!self->ready)
        TRY(make_ready(device, self, err));
    find(self, &operands->attention, pointers);
    pack = find_pack(self, pointers);
    if (pack == NULL) {
        TRY(check_alignment(pointers, err));
        pack = make_pack(self, ids, id_count, pointers, err);
        if (pack == NULL)
            return self->graph.status;
    }
    code = api->cudnnBackendExecute(
        device->cudnn, self->plans.list[self->plans.selected].descriptor, pack->descriptor);
    return code == DNN_STATUS_SUCCESS ? STATUS_OK
                                      : cudnn_fail(api, "cudnnBackendExecute", code, err);
}

static enum status describe(const struct operation *operation, struct operation_info *ret,
                            struct error *err)
{
    const struct cuda_device *device = cuda_device(gpu_device(operation->device));
    const struct cuda_attention *self = (const struct cuda_attention *)operation;
    const struct cudnn_plan *plan = &self->plans.list[self->plans.selected];
    char notes[64];

    (void)err;
    cudnn_plan_notes(plan, notes, sizeof(notes));
    snprintf(ret->library, sizeof(ret->library), "cuDNN");
    snprintf(ret->version, sizeof(ret->version), "%s", device->state->cudnn_version);
    snprintf(ret->algorithm, sizeof(ret->algorithm), "%s", plan->name);
    ret->workspace_bytes = self->scratch.bytes;
    ret->support = plan->notes >> DNN_NOTE_TENSOR_CORE & 1 ? SUPPORT_NATIVE : SUPPORT_UNKNOWN;
    snprintf(ret->method, sizeof(ret->method), "engine's numerical notes: %s%s", notes,
             plan->compiled_at_run ? "; compiled at run time" : "");
    ret->algorithms = self->plans.count;
    return STATUS_OK;
}

enum status cuda_attention_create(struct device *device, const struct operation_desc *desc,
                                  struct operation **ret, struct error *err)
{
    static const struct operation_ops ops = {.size = sizeof(struct cuda_attention),
                                             .prepare = prepare,
                                             .destroy = destroy,
                                             .run = run,
                                             .describe = describe,
                                             .select = select_algorithm};

    return operation_make(&ops, device, desc, ret, err);
}
