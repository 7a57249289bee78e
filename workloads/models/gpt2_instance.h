/*
 * gpt2_instance - what the kinds that run the transformer have in common: operations, model, the
 * input batch, and the times of the stages.
 *
 * Stages are first those of the host, each timed by its own clock, then those of the device, timed
 * between marks: by events where the device has them, without extra waits; else the host waits at
 * each mark and says so (`host`). A kind's instance has `struct gpt2_instance` as its first member
 * and uses the hooks below as they are.
 */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_INSTANCE_H
#define ASSAY_WORKLOADS_MODELS_GPT2_INSTANCE_H

#include "workloads/data/tokens.h"
#include "workloads/models/gpt2_device.h"

#define GPT2_MARKS_MAX 4 /* stages of the device, and one */

struct gpt2_stages {
    const char *const *names;
    size_t count, host_count; /* those of the host come first */
};

struct gpt2_instance {
    struct workload_instance base;
    const struct gpt2_stages *stages;
    struct ops *ops; /* NULL: a framework runs the model */
    struct gpt2_device *model;
    struct event *events[GPT2_MARKS_MAX]; /* NULL: host times */
    int64_t host_ns[WORKLOAD_STAGES_MAX]; /* -1 where no time was taken */
    int64_t mark_ns;                      /* of the latest mark, by the host's clock */
};

/* First in a kind's `init`; gpt2_instance_finish, in its `finish`, frees what the struct holds. */
void gpt2_instance_init(struct gpt2_instance *instance, const struct gpt2_stages *stages);
/* Events for the marks, where the device has any. */
enum status gpt2_instance_add_events(struct gpt2_instance *instance, struct error *err);
void gpt2_instance_finish(struct gpt2_instance *instance);

/* The end of device stage `stage`; stages->host_count - 1 marks the start of the first. */
enum status gpt2_instance_mark(struct gpt2_instance *instance, size_t stage, struct error *err);

/*
 * Sequences [first, first + sequences) of the source into `indices`, in the form of op_tokens, with
 * the number of unique tokens.
 */
enum status gpt2_make_batch(const struct token_source *source, uint64_t first, uint64_t sequences,
                            uint64_t length, int32_t *indices, uint64_t *ret_unique,
                            struct error *err);

/*
 * Tokens, memory and FLOPs of a case, `passes` times those of the forward pass, into `ret`.
 * INVALID: more than an int64_t, or tokens than an int32_t holds.
 */
enum status gpt2_cost(const struct workload_case *work, const struct gpt2_device_plan *plan,
                      uint64_t passes, struct workload_cost *ret, struct error *err);

/* Hooks of a kind. */
/* An iteration has run every GEMM, so none may be new from now on. */
enum status gpt2_instance_resume(struct workload_instance *base, struct error *err);
enum status gpt2_instance_stages(struct workload_instance *base, struct workload_stages *ret,
                                 struct error *err);
size_t gpt2_instance_artifacts(struct workload_instance *base, struct module_artifact *ret,
                               size_t capacity);
json_t *gpt2_instance_choices(struct workload_instance *base);
/* Those of the operations, and "parameters": the facts that a kind adds its own to. */
json_t *gpt2_instance_facts(struct workload_instance *base);

#endif
