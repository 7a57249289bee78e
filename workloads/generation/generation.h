/*
 * generation - GPT-2 makes tokens: prefill of a batch of prompts, then one token of each a step,
 * the largest logit's (greedy), over a cache of keys and values in blocks. Private to this folder.
 *
 * What an iteration is, is declared: `request` (prefill and all steps of a batch of requests),
 * `prefill` (to the first token of each) or `decode` (a step; when the last output is made it goes
 * on behind the first, over the same prompts).
 */
#ifndef ASSAY_WORKLOADS_GENERATION_GENERATION_H
#define ASSAY_WORKLOADS_GENERATION_GENERATION_H

#include "workloads/batched_inference/batched_inference.h"

struct stack_reference;

enum generation_measure { GENERATION_REQUEST, GENERATION_PREFILL, GENERATION_DECODE };

struct generation_parameters {
    struct inference_parameters inference; /* its task's length is prompt + output */
    enum generation_measure measure;
    uint64_t prompt, output; /* tokens of a request; of a server at most */
    uint64_t page;           /* positions of a block of the cache */
    bool is_server;
    uint64_t max_tokens, chunk; /* of a step; of a prompt in it. Not a server: a whole batch */
    uint64_t blocks;            /* of a server's cache */
};

/* Tokens of the latest request that a slot of a server held. */
struct generation_text {
    uint64_t prompt, output; /* 0: none has ended there */
};

struct generation_server;
struct generation_framework;

struct generation_instance {
    struct inference_instance inference; /* pool: INFERENCE_POOL times prompts of (batch, prompt) */
    const struct generation_parameters *parameters;
    int32_t *blocks;         /* (slots, pages) */
    struct gpt2_part *parts; /* (slots), of the step that runs */
    uint64_t outputs;        /* tokens made of each sequence; 0: no prompts are there */
    /*
     * The slots that an iteration and the checks are of: all; of a server one more than requests
     * have, with blocks of its own, so that no request notices a check.
     */
    uint64_t first, count;
    struct generation_server *server;       /* NULL: none */
    struct generation_framework *framework; /* that runs the passes; NULL: our own operations do */
    struct generation_text *left;           /* (slots of requests), of a server */
    uint64_t served; /* parts of requests in the latest step; 0: it was none of theirs */
    /* (slots, outputs) of another program, behind the pool's first prompts; as inference.handed. */
    const struct tensor *handed;
};

static inline struct gpt2_device *generation_model(const struct generation_instance *instance)
{
    return instance->inference.gpt2.model;
}

/* declare.c */
extern const struct workload_form generation_form;
struct gpt2_device_plan generation_plan(const struct workload_case *work);
enum status generation_cost(const struct workload_case *work, struct workload_cost *ret,
                            struct error *err);
void generation_describe(const struct workload *workload, struct text *ret);

/* generation.c: parts of an iteration */

/* Prompts (batch, prompt) onto the device; no output is made yet. Waits. */
enum status generation_begin(struct generation_instance *instance, const int32_t *prompts,
                             struct error *err);
/* Prompts of the pool. */
int32_t *generation_prompts(const struct generation_instance *instance, uint64_t index);
/*
 * Sets the pass over all prompts from `from` on, up to a chunk of each, which gives the token
 * behind position `last` of each where that is among them.
 */
enum status generation_set_prefill(struct generation_instance *instance, uint64_t from,
                                   uint64_t last, struct error *err);
/* Sets the step that takes the token at `position` of each sequence. */
enum status generation_set_decode(struct generation_instance *instance, uint64_t position,
                                  struct error *err);
/* Enqueues the step that is set. */
enum status generation_run(struct generation_instance *instance, struct error *err);
/* Prefill and `outputs` - 1 steps from the prompts that are there, without stages. */
enum status generation_replay(struct generation_instance *instance, uint64_t outputs,
                              struct error *err);
/* Outputs of an iteration's last state: all of them, or the first. */
uint64_t generation_outputs(const struct generation_parameters *parameters);

/* framework.c: closed loops */
/* The models of prefill and step, with the case's framework prepared on them. */
enum status generation_take_framework(struct generation_instance *instance, struct error *err);
void generation_framework_destroy(struct generation_framework *framework); /* takes NULL */
/*
 * Sets the pass over `count` tokens of each sequence from position `first` on, the whole prompt or
 * one behind it, which gives the token behind position `output`.
 */
void generation_framework_set(struct generation_instance *instance, uint64_t first, uint64_t count,
                              uint64_t output);
enum status generation_framework_run(struct generation_instance *instance, struct error *err);
/* NaN in drawn places, of every layer, of the keys and values that a step is going to write. */
enum status generation_framework_poison(struct generation_instance *instance, struct random *random,
                                        struct error *err);
/* Counts those of the latest pass, if it was a step, that are not finite numbers. */
enum status generation_framework_live(const struct generation_instance *instance,
                                      struct workload_check *check, struct error *err);

/* server.c */
enum status generation_server_create(struct generation_instance *instance, struct error *err);
void generation_server_destroy(struct generation_server *server); /* takes NULL */
enum status generation_admit(struct workload_instance *base, uint32_t request,
                             uint32_t prompt_tokens, uint32_t output_tokens, bool *ret_room,
                             struct error *err);
enum status generation_serve(struct workload_instance *base, const struct workload_step *step,
                             struct error *err);

/* checks.c */
#define GENERATION_GREEDY                                                                          \
    {                                                                                              \
        .output = "tokens.greedy", .metric = "count",                                              \
        .reason = "the token taken is the first of the largest logits"                             \
    }
/*
 * The tokens of sequence `slot` and its logits, as they are, against the reference over these
 * tokens: the logits of the latest output, every token as a choice, and whether it is its logits'.
 */
enum status generation_compare(struct generation_instance *instance, uint64_t slot,
                               struct stack_reference *reference,
                               struct inference_findings *findings, struct workload_check *greedy,
                               struct error *err);
extern const struct workload_checks generation_checks;

/* handover.c */
extern const struct workload_handover generation_handover;

#endif
