#include "workloads/models/declaration.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAYERS_MAX 1024
#define HEADS_MAX 1024
#define WIDTH_MAX (1 << 17)
#define LENGTH_MAX (1 << 20)
#define VOCABULARY_MAX (1 << 23)
#define MLP_RATIO_MAX 64
#define SUCCESSORS_DEFAULT 8
#define SUCCESSORS_MAX 64
#define MLP_RATIO_DEFAULT 4
#define BYTES 256

static const struct declaration_name source_names[] = {{"markov", GPT2_DATA_MARKOV},
                                                       {"text", GPT2_DATA_TEXT}};

#define MODEL_FIELD(name, flags) FIELD_INT(#name, flags, struct gpt2_model_section, name)

const struct declaration_field gpt2_model_fields[] = {
    MODEL_FIELD(layers, FIELD_REQUIRED),
    MODEL_FIELD(heads, FIELD_REQUIRED),
    MODEL_FIELD(width, FIELD_REQUIRED),
    MODEL_FIELD(context, FIELD_OPTIONAL),
    MODEL_FIELD(vocabulary, FIELD_REQUIRED),
    MODEL_FIELD(mlp_ratio, FIELD_OPTIONAL),
    FIELD_END,
};

const struct declaration_field gpt2_data_fields[] = {
    FIELD_ENUM("source", FIELD_REQUIRED, struct gpt2_data_section, source, source_names,
               sizeof(source_names) / sizeof(source_names[0])),
    FIELD_INT("successors", FIELD_OPTIONAL, struct gpt2_data_section, successors),
    FIELD_STRING("path", FIELD_OPTIONAL, struct gpt2_data_section, path, 1, FIELD_UNLIMITED),
    FIELD_STRING("sha256", FIELD_OPTIONAL, struct gpt2_data_section, sha256, 64, 64),
    FIELD_END,
};

static enum status check_shape(const struct declaration *declaration,
                               struct gpt2_declaration *written, struct gpt2_shape *shape,
                               struct error *err)
{
    struct gpt2_model_section *model = &written->model;
    struct error cause = ERROR_INIT;

    if (!declaration_has(declaration, "model.context"))
        model->context = written->sequence_length;
    if (!declaration_has(declaration, "model.mlp_ratio"))
        model->mlp_ratio = MLP_RATIO_DEFAULT;
    const struct {
        const char *path, *unit;
        int64_t value, max;
    } counts[] = {
        {"model.layers", "layers", model->layers, LAYERS_MAX},
        {"model.heads", "heads", model->heads, HEADS_MAX},
        {"model.width", "elements", model->width, WIDTH_MAX},
        {"model.vocabulary", "tokens", model->vocabulary, VOCABULARY_MAX},
        {"model.mlp_ratio", "times the width", model->mlp_ratio, MLP_RATIO_MAX},
        {"sequence_length", "tokens", written->sequence_length, LENGTH_MAX},
        {"model.context", "positions", model->context, LENGTH_MAX},
    };

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        TRY(workload_declaration_check_count(declaration, counts[i].path, counts[i].value,
                                             counts[i].max, counts[i].unit, err));
    if (model->width % model->heads != 0)
        return declaration_error(declaration, "model.width", err,
                                 "`width` is %lld, which %lld heads cannot share; write a multiple "
                                 "of the heads, such as %lld",
                                 (long long)model->width, (long long)model->heads,
                                 (long long)((model->width / model->heads + 1) * model->heads));
    if (written->sequence_length > model->context)
        return declaration_error(declaration, "sequence_length", err,
                                 "sequence_length is %lld, but the model embeds %lld positions; "
                                 "write a smaller one, or a larger model.context",
                                 (long long)written->sequence_length, (long long)model->context);
    *shape = (struct gpt2_shape){
        .layers = (uint64_t)model->layers,
        .heads = (uint64_t)model->heads,
        .width = (uint64_t)model->width,
        .context = (uint64_t)model->context,
        .vocabulary = (uint64_t)model->vocabulary,
        .mlp_width = (uint64_t)(model->mlp_ratio * model->width),
    };
    if (gpt2_shape_check(shape, &cause) == STATUS_OK)
        return STATUS_OK;
    return declaration_error(declaration, "model", err, "the shape is impossible: %s",
                             cause.message);
}

/* Heap: `path` itself, or relative to the declaration when it is found there. */
static char *resolve_path(const struct declaration *declaration, const char *path)
{
    char *joined = file_beside(declaration->origin, path);

    if (joined && access(joined, F_OK) == 0)
        return joined;
    free(joined);
    return strdup(path);
}

static enum status check_text(const struct declaration *declaration,
                              struct gpt2_declaration *written, struct gpt2_task *task,
                              struct error *err)
{
    struct gpt2_data_section *data = &written->data;
    struct token_source *source = NULL;
    struct digest expected;
    struct error cause = ERROR_INIT;
    char hex[DIGEST_HEX_SIZE], *path;

    if (!data->path)
        return declaration_error(declaration, "data", err,
                                 "a text needs `path`; write path: FILE under data");
    if (task->shape.vocabulary < BYTES)
        return declaration_error(declaration, "model.vocabulary", err,
                                 "`vocabulary` is %lld, a text's tokens are its bytes; write 256",
                                 (long long)written->model.vocabulary);
    if (data->sha256 && !digest_from_hex(data->sha256, &expected))
        return declaration_error(declaration, "data.sha256", err,
                                 "`sha256` must be 64 digits of 0-9 and a-f; leave it out to take "
                                 "the file as it is");
    path = resolve_path(declaration, data->path);
    if (!path)
        return error_no_memory(err);
    if (token_source_create_text(path, task->length + 1, data->sha256 ? &expected : NULL, 0,
                                 &source, &cause) != STATUS_OK) {
        free(path);
        return declaration_error(declaration, "data.path", err,
                                 "%s (write a path relative to the declaration or an absolute one)",
                                 cause.message);
    }
    task->digest = token_source_facts(source).digest;
    token_source_destroy(source);
    task->path = strdup(path);
    free(data->path);
    data->path = path;
    free(data->sha256);
    data->sha256 = strdup(digest_hex(&task->digest, hex));
    if (!task->path || !data->sha256)
        return error_no_memory(err);
    return STATUS_OK;
}

static enum status check_data(const struct declaration *declaration,
                              struct gpt2_declaration *written, struct gpt2_task *task,
                              struct error *err)
{
    struct gpt2_data_section *data = &written->data;
    const char *foreign = data->path ? "data.path" : data->sha256 ? "data.sha256" : NULL;

    task->source = data->source;
    if (data->source == GPT2_DATA_TEXT) {
        if (declaration_has(declaration, "data.successors"))
            return declaration_error(declaration, "data.successors", err,
                                     "`successors` belongs to a markov source; remove it");
        return check_text(declaration, written, task, err);
    }
    if (foreign)
        return declaration_error(declaration, foreign, err,
                                 "`%s` belongs to a text; write source: text, or remove it",
                                 strchr(foreign, '.') + 1);
    if (!declaration_has(declaration, "data.successors"))
        data->successors = SUCCESSORS_DEFAULT;
    task->successors = (uint64_t)data->successors;
    return workload_declaration_check_count(declaration, "data.successors", data->successors,
                                            SUCCESSORS_MAX, "successors of a token", err);
}

static void gpt2_task_finish(struct gpt2_task *task)
{
    free(task->path);
    task->path = NULL;
}

enum status gpt2_declaration_check(const struct declaration *declaration,
                                   struct gpt2_declaration *written, struct gpt2_task *ret,
                                   struct error *err)
{
    CLEANUP(gpt2_task_finish) struct gpt2_task task = {0};

    TRY(check_shape(declaration, written, &task.shape, err));
    task.length = (uint64_t)written->sequence_length;
    TRY(check_data(declaration, written, &task, err));
    *ret = task;
    task = (struct gpt2_task){0};
    return STATUS_OK;
}

void gpt2_task_unload(struct workload *workload)
{
    if (workload->parameters)
        gpt2_task_finish(workload->parameters);
}

enum status real_checks(const struct declaration *declaration, const char *section,
                        const struct real_check *checks, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct real_check *check = &checks[i];
        char path[64];

        snprintf(path, sizeof(path), "%s.%s", section, check->key);
        if (!declaration_has(declaration, path))
            *check->value = check->fallback;
        if (!(*check->value >= check->low && *check->value <= check->high))
            return declaration_error(declaration, path, err, "`%s` is %g; write %s", path,
                                     *check->value, check->advice);
    }
    return STATUS_OK;
}

enum status adamw_declaration_check(const struct declaration *declaration, const char *section,
                                    struct adamw *written, struct error *err)
{
    const struct real_check checks[] = {
        {"learning_rate", &written->rate, 1e-3, 0.0, 10.0, "a rate from 0 to 10, such as 0.001"},
        {"beta1", &written->beta1, 0.9, 0.0, 0.9999, "0 to 0.9999, such as 0.9"},
        {"beta2", &written->beta2, 0.95, 0.0, 0.99999, "0 to 0.99999, such as 0.95"},
        {"epsilon", &written->epsilon, 1e-8, 1e-30, 1.0, "a small number above 0, such as 1e-8"},
        {"weight_decay", &written->decay, 0.1, 0.0, 1.0, "0 to 1, such as 0.1"},
    };

    return real_checks(declaration, section, checks, sizeof(checks) / sizeof(checks[0]), err);
}

enum status gpt2_task_open_source(const struct gpt2_task *task, uint64_t seed,
                                  struct token_source **ret, struct error *err)
{
    if (task->source == GPT2_DATA_TEXT)
        return token_source_create_text(task->path, task->length + 1, &task->digest, seed, ret,
                                        err);
    return token_source_create_markov(task->shape.vocabulary, task->successors, seed, ret, err);
}

void gpt2_task_describe(const struct gpt2_task *task, struct text *ret)
{
    const struct gpt2_shape *s = &task->shape;
    char hex[DIGEST_HEX_SIZE];

    text_append_format(ret,
                       "model: GPT-2, %llu layers, %llu heads, width %llu, MLP %llu, context %llu, "
                       "vocabulary %llu (not padded), head tied to the embedding\n"
                       "parameters: %llu\n"
                       "sequence length: %llu tokens\n",
                       (unsigned long long)s->layers, (unsigned long long)s->heads,
                       (unsigned long long)s->width, (unsigned long long)s->mlp_width,
                       (unsigned long long)s->context, (unsigned long long)s->vocabulary,
                       (unsigned long long)gpt2_parameter_count(s),
                       (unsigned long long)task->length);
    if (task->source == GPT2_DATA_TEXT)
        text_append_format(ret, "data: the bytes of %s, SHA-256 %s\n", task->path,
                           digest_hex(&task->digest, hex));
    else
        text_append_format(ret,
                           "data: a seeded Markov chain, %llu successors of a token; its entropy "
                           "rate is the loss's floor\n",
                           (unsigned long long)task->successors);
}

json_t *gpt2_source_json(const struct token_source *source)
{
    const struct token_facts facts = token_source_facts(source);
    char hex[DIGEST_HEX_SIZE];

    if (facts.has_entropy_rate)
        return json_pack("{s:s, s:f, s:f}", "source", "markov", "entropy_rate_nats",
                         facts.entropy_rate, "unigram_entropy_nats", facts.unigram_entropy);
    return json_pack("{s:s, s:I, s:s, s:f}", "source", "text", "bytes", (json_int_t)facts.bytes,
                     "sha256", digest_hex(&facts.digest, hex), "unigram_entropy_nats",
                     facts.unigram_entropy);
}
