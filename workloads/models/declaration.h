/*
 * declaration - the sections that all declarations of a transformer share: the model's shape, the
 * sequence's length, where tokens come from.
 */
#ifndef ASSAY_WORKLOADS_MODELS_DECLARATION_H
#define ASSAY_WORKLOADS_MODELS_DECLARATION_H

#include "workloads/data/tokens.h"
#include "workloads/declaration.h"
#include "workloads/models/adamw.h"
#include "workloads/models/gpt2.h"

enum gpt2_data_source { GPT2_DATA_MARKOV, GPT2_DATA_TEXT };

/* As written in YAML. */
struct gpt2_model_section {
    int64_t layers, heads, width, context, vocabulary, mlp_ratio;
};

struct gpt2_data_section {
    enum gpt2_data_source source;
    int64_t successors;
    char *path;
    char *sha256;
};

struct gpt2_declaration {
    struct gpt2_model_section model;
    int64_t sequence_length;
    struct gpt2_data_section data;
};

extern const struct declaration_field gpt2_model_fields[];
extern const struct declaration_field gpt2_data_fields[];

/* Fields of a declaration whose struct `type` has `struct gpt2_declaration` as its member `gpt2`.
 */
#define GPT2_DECLARATION_FIELDS(type)                                                              \
    FIELD_GROUP("model", FIELD_REQUIRED, type, gpt2.model, gpt2_model_fields),                     \
        FIELD_INT("sequence_length", FIELD_REQUIRED, type, gpt2.sequence_length),                  \
        FIELD_GROUP("data", FIELD_OPTIONAL, type, gpt2.data, gpt2_data_fields)

/*
 * A number that may be left out, which writes its fallback, and else lies within [low, high]. `key`
 * is that in the section.
 */
struct real_check {
    const char *key;
    double *value, fallback, low, high;
    const char *advice; /* behind "write" */
};
enum status real_checks(const struct declaration *declaration, const char *section,
                        const struct real_check *checks, size_t count, struct error *err);

/* Fields of a section with AdamW's numbers, whose struct `type` has a struct adamw as `member`. */
#define ADAMW_DECLARATION_FIELDS(type, member)                                                     \
    FIELD_FLOAT("learning_rate", FIELD_OPTIONAL, type, member.rate),                               \
        FIELD_FLOAT("beta1", FIELD_OPTIONAL, type, member.beta1),                                  \
        FIELD_FLOAT("beta2", FIELD_OPTIONAL, type, member.beta2),                                  \
        FIELD_FLOAT("epsilon", FIELD_OPTIONAL, type, member.epsilon),                              \
        FIELD_FLOAT("weight_decay", FIELD_OPTIONAL, type, member.decay)
/* Checks them, and writes defaults. */
enum status adamw_declaration_check(const struct declaration *declaration, const char *section,
                                    struct adamw *written, struct error *err);

/* What it comes to. */
struct gpt2_task {
    struct gpt2_shape shape;
    uint64_t length;
    enum gpt2_data_source source;
    uint64_t successors;
    char *path; /* heap; of a text */
    struct digest digest;
};

/*
 * Checks the sections, writes defaults into `written` (a text's SHA-256 among them), and fills
 * `ret` (gpt2_task_unload). A relative path is looked for in the declaration's directory first,
 * then in the working directory.
 */
enum status gpt2_declaration_check(const struct declaration *declaration,
                                   struct gpt2_declaration *written, struct gpt2_task *ret,
                                   struct error *err);
/* A kind's `unload` where the parameters begin with their struct gpt2_task. */
void gpt2_task_unload(struct workload *workload);

/* The task's token source under a seed. */
enum status gpt2_task_open_source(const struct gpt2_task *task, uint64_t seed,
                                  struct token_source **ret, struct error *err);

/* Lines for `assay describe`. */
void gpt2_task_describe(const struct gpt2_task *task, struct text *ret);

/* {"source": ..., "entropy_nats": ..., "sha256": ...}: facts of the data; new object. */
json_t *gpt2_source_json(const struct token_source *source);

#endif
