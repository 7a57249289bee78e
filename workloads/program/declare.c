/* A program as people declare it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/digest.h"
#include "workloads/declaration.h"
#include "workloads/program/program.h"

#define WORDS_MAX 4096
#define FILES_MAX 256
#define RUNS_MAX 1000
#define TIMEOUT_NS (600 * INT64_C(1000000000))
#define UNIT_MAX 30 /* of a unit, as metrics show it */

static const struct declaration_name stream_names[] = {{"stdout", PROGRAM_STDOUT},
                                                       {"stderr", PROGRAM_STDERR}};
static const struct declaration_name take_names[] = {
    {"one", PROGRAM_ONE},   {"first", PROGRAM_FIRST},   {"last", PROGRAM_LAST},
    {"mean", PROGRAM_MEAN}, {"median", PROGRAM_MEDIAN}, {"min", PROGRAM_MIN},
    {"max", PROGRAM_MAX},   {"sum", PROGRAM_SUM},
};
static const struct declaration_name better_names[] = {{"lower", PROGRAM_LOWER},
                                                       {"higher", PROGRAM_HIGHER}};

static const struct declaration_schema word = {ENTRY_STRING(0, FIELD_UNLIMITED)};

#define S struct program_environment
static const struct declaration_field environment_fields[] = {
    FIELD_LIST("set", FIELD_OPTIONAL, S, set, &word, 1, WORDS_MAX),
    FIELD_LIST("default", FIELD_OPTIONAL, S, otherwise, &word, 1, WORDS_MAX),
    FIELD_LIST("pass", FIELD_OPTIONAL, S, pass, &word, 1, WORDS_MAX),
    FIELD_END,
};
#undef S

#define S struct program_metric
static const struct declaration_field metric_fields[] = {
    FIELD_ENUM("from", FIELD_OPTIONAL, S, stream, stream_names, 2),
    FIELD_STRING("file", FIELD_OPTIONAL, S, file, 1, 4096),
    FIELD_STRING("pattern", FIELD_OPTIONAL, S, pattern, 1, 4096),
    FIELD_STRING("json", FIELD_OPTIONAL, S, json, 1, 4096),
    FIELD_STRING("csv", FIELD_OPTIONAL, S, csv, 1, 4096),
    FIELD_ENUM("take", FIELD_OPTIONAL, S, take, take_names, 8),
    FIELD_STRING("unit", FIELD_REQUIRED, S, unit, 1, UNIT_MAX),
    FIELD_ENUM("better", FIELD_REQUIRED, S, better, better_names, 2),
    FIELD_END,
};
#undef S

#define S struct program_file
static const struct declaration_field file_fields[] = {
    FIELD_STRING("path", FIELD_REQUIRED, S, path, 1, 4096),
    FIELD_STRING("sha256", FIELD_OPTIONAL, S, sha256, 64, 64),
    FIELD_END,
};
#undef S
static const struct declaration_schema file_entry = {ENTRY_GROUP(struct program_file, file_fields)};

#define S struct program_section
static const struct declaration_field section_fields[] = {
    FIELD_LIST("command", FIELD_REQUIRED, S, command, &word, 1, WORDS_MAX),
    FIELD_STRING("directory", FIELD_OPTIONAL, S, directory, 1, 4096),
    FIELD_GROUP("environment", FIELD_OPTIONAL, S, environment, environment_fields),
    FIELD_LIST("inputs", FIELD_OPTIONAL, S, inputs, &file_entry, 1, FILES_MAX),
    FIELD_LIST("outputs", FIELD_OPTIONAL, S, outputs, &file_entry, 1, FILES_MAX),
    FIELD_LIST("check", FIELD_OPTIONAL, S, check, &word, 1, WORDS_MAX),
    FIELD_INT("warmup", FIELD_OPTIONAL, S, warmup),
    FIELD_INT("exit_status", FIELD_OPTIONAL, S, exit_status),
    FIELD_INT("timeout", FIELD_OPTIONAL | DECLARATION_DURATION, S, timeout_ns),
    FIELD_GROUP("metric", FIELD_OPTIONAL, S, metric, metric_fields),
    FIELD_END,
};
#undef S

struct declared {
    struct workload_declaration common;
    struct program_section program;
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct declared),
    FIELD_GROUP("program", FIELD_REQUIRED, struct declared, program, section_fields),
    FIELD_END,
};

static const struct declaration_schema schema = {ENTRY_GROUP(struct declared, fields)};

char *program_path(const struct program_section *section, const char *path)
{
    return path[0] == '/'
               ? strdup(path)
               : text_format("%s/%s", section->directory ? section->directory : ".", path);
}

static enum status check_assignments(const struct declaration *declaration, const char *path,
                                     char *const *words, uint32_t count, struct error *err)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strchr(words[i], '=') || words[i][0] == '=')
            return declaration_error(declaration, path, err,
                                     "\"%s\" is no variable; write NAME=value", words[i]);
    return STATUS_OK;
}

static enum status check_metric(const struct declaration *declaration,
                                const struct program_metric *metric, struct error *err)
{
    struct error reason = ERROR_INIT;
    const int ways = (metric->pattern != NULL) + (metric->json != NULL) + (metric->csv != NULL);

    if (!declaration_has(declaration, "program.metric"))
        return STATUS_OK;
    if (ways != 1)
        return declaration_error(declaration, "program.metric", err,
                                 "where the number stands is said in %s; write one of `pattern`, "
                                 "`json` and `csv`",
                                 ways ? "several ways" : "no way");
    if (metric->file && declaration_has(declaration, "program.metric.from"))
        return declaration_error(declaration, "program.metric.from", err,
                                 "the number is read from `file`; remove `from`");
    if (strpbrk(metric->unit, "{}\"\\"))
        return declaration_error(declaration, "program.metric.unit", err,
                                 "\"%s\" is no unit; write one such as tokens/s", metric->unit);
    if (metric->pattern && program_check_pattern(metric->pattern, &reason) != STATUS_OK)
        return declaration_error(declaration, "program.metric.pattern", err, "%s", reason.message);
    return STATUS_OK;
}

static enum status check_digests(const struct declaration *declaration, const char *list,
                                 const struct program_file *files, uint32_t count,
                                 struct error *err)
{
    struct digest digest;
    char path[64];

    for (uint32_t i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "program.%s[%u].sha256", list, i);
        if (!files[i].sha256 || !digest_from_hex(files[i].sha256, &digest))
            return declaration_error(declaration, path, err,
                                     "%s needs its SHA-256, 64 hexadecimal digits in lower case",
                                     files[i].path);
    }
    return STATUS_OK;
}

/* An input whose digest is not written has that of the file as it is now: no trial takes another.
 */
static enum status fill_digests(const struct declaration *declaration,
                                struct program_section *section, struct error *err)
{
    for (uint32_t i = 0; i < section->inputs_count; i++) {
        struct program_file *input = &section->inputs[i];
        AUTO_FREE char *path = input->sha256 ? NULL : program_path(section, input->path);
        struct error reason = ERROR_INIT;
        char hex[DIGEST_HEX_SIZE], at[64];
        struct digest digest;

        if (input->sha256)
            continue;
        snprintf(at, sizeof(at), "program.inputs[%u].path", i);
        if (!path)
            return error_no_memory(err);
        if (digest_file(path, &digest, NULL, &reason) != STATUS_OK)
            return declaration_error(declaration, at, err, "%s", reason.message);
        input->sha256 = strdup(digest_hex(&digest, hex));
        if (!input->sha256)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

static enum status check_numbers(const struct declaration *declaration,
                                 struct program_section *section, struct error *err)
{
    if (!declaration_has(declaration, "program.timeout"))
        section->timeout_ns = TIMEOUT_NS;
    if (section->timeout_ns <= 0)
        return declaration_error(declaration, "program.timeout", err,
                                 "timeout: write how long a run may take, as in 10min");
    if (section->warmup < 0 || section->warmup > RUNS_MAX)
        return declaration_error(declaration, "program.warmup", err,
                                 "`warmup` is %lld; write a number of runs up to %d",
                                 (long long)section->warmup, RUNS_MAX);
    if (section->exit_status < 0 || section->exit_status > 255)
        return declaration_error(declaration, "program.exit_status", err,
                                 "`exit_status` is %lld; write a number from 0 to 255",
                                 (long long)section->exit_status);
    return STATUS_OK;
}

static enum status check(const struct declaration *declaration, struct workload *workload,
                         struct error *err)
{
    struct declared *declared = declaration->data;
    struct program_section *section = &declared->program;
    const struct program_environment *environment = &section->environment;

    (void)workload; /* nothing is kept: runs read it from workload->json (program_read) */
    if (declared->common.precisions_count > 1)
        return declaration_error(declaration, "precisions", err,
                                 "a program computes in what it computes; write one precision, or "
                                 "none");
    if (!section->command[0][0])
        return declaration_error(declaration, "program.command", err,
                                 "the command is empty; write [PROGRAM, ARGUMENT, ...]");
    TRY(check_assignments(declaration, "program.environment.set", environment->set,
                          environment->set_count, err));
    TRY(check_assignments(declaration, "program.environment.default", environment->otherwise,
                          environment->otherwise_count, err));
    TRY(check_numbers(declaration, section, err));
    TRY(check_metric(declaration, &section->metric, err));
    TRY(fill_digests(declaration, section, err));
    TRY(check_digests(declaration, "inputs", section->inputs, section->inputs_count, err));
    return check_digests(declaration, "outputs", section->outputs, section->outputs_count, err);
}

const struct workload_form program_form = {&schema, check};

enum status program_read(const struct workload *workload, struct declaration *ret,
                         const struct program_section **ret_section, struct error *err)
{
    AUTO_FREE char *text = NULL;

    TRY(canonical_dump(workload->json, &text, err));
    TRY(declaration_parse(workload->name, text, strlen(text), &schema, ret, err));
    *ret_section = &((const struct declared *)ret->data)->program;
    return STATUS_OK;
}

enum status program_check_inputs(const struct program_section *section, struct error *err)
{
    for (uint32_t i = 0; i < section->inputs_count; i++) {
        const struct program_file *input = &section->inputs[i];
        AUTO_FREE char *path = program_path(section, input->path);
        char hex[DIGEST_HEX_SIZE];
        struct digest digest;

        if (!path)
            return error_no_memory(err);
        TRY(digest_file(path, &digest, NULL, err));
        if (strcmp(digest_hex(&digest, hex), input->sha256) != 0)
            return error_set(err, STATUS_INVALID,
                             "the input %s is another file than the plan's: its SHA-256 is "
                             "%.12s..., and %.12s... is declared; measure again to take this one",
                             path, hex, input->sha256);
    }
    return STATUS_OK;
}
