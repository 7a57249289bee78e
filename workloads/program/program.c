/* A command as a workload: an iteration is one run of it, and all that is checked is what a run
 * shows: how it ended, its number, its outputs. */
#include <math.h>
#include <string.h>
#include <sys/prctl.h>

#include "harness/core/cleanup.h"
#include "harness/core/digest.h"
#include "harness/core/member.h"
#include "workloads/check/compare.h"
#include "workloads/kinds.h"
#include "workloads/program/program.h"

struct program_instance {
    struct workload_instance base;
    struct declaration declaration;
    struct program program;
    struct program_trace trace;
    uint64_t runs; /* that ended as declared */
};

static enum status cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    const bool counts = member_in(work->workload->json, "program", "metric") != NULL;

    (void)err;
    *ret = (struct workload_cost){
        .items = 1, .item_name = "run", .headline = counts ? "counted" : NULL, .is_claimed = true};
    return STATUS_OK;
}

static void append_words(struct text *ret, const char *name, const json_t *words)
{
    if (!words)
        return;
    text_append_format(ret, "%s:", name);
    EACH(word, words)
        text_append_format(ret, " %s", json_string_value(word));
    text_append_char(ret, '\n');
}

static void describe(const struct workload *workload, struct text *ret)
{
    const json_t *section = json_object_get(workload->json, "program");
    const json_t *metric = json_object_get(section, "metric");

    append_words(ret, "command", json_object_get(section, "command"));
    append_words(ret, "check", json_object_get(section, "check"));
    if (metric)
        text_append_format(ret, "counted by the program itself: %s, %s is better\n",
                           member_text(metric, "unit"), member_text(metric, "better"));
    else
        text_append(ret, "measured: the time of a run\n");
}

static enum status ready(const struct workload *workload, struct error *err)
{
    CLEANUP(declaration_finish) struct declaration declaration = {0};
    const struct program_section *section = NULL;

    TRY(program_read(workload, &declaration, &section, err));
    return program_check_inputs(section, err);
}

static enum status init(struct workload_instance *base, struct error *err)
{
    struct program_instance *instance = (struct program_instance *)base;
    const struct program_section *section = NULL;

    TRY(program_read(base->work.workload, &instance->declaration, &section, err));
    TRY(program_check_inputs(section, err));
    TRY(program_open(section, base->work.batch, &instance->program, err));
    /* What leaves a run's process group comes here when its parent ends, and is ended with it. */
    prctl(PR_SET_CHILD_SUBREAPER, 1UL);
    backend_unbind_process(); /* runs have all processors, as without assay */
    return STATUS_OK;
}

static void finish(struct workload_instance *base)
{
    struct program_instance *instance = (struct program_instance *)base;

    program_trace_finish(&instance->trace);
    program_close(&instance->program);
    declaration_finish(&instance->declaration);
}

/* ---- runs ---- */

static enum status run(struct program_instance *instance, struct program_trace *trace,
                       struct error *err)
{
    enum status status;

    instance->program.alive = instance->base.alive;
    instance->program.alive_context = instance->base.alive_context;
    status = program_run(&instance->program, trace, err);
    instance->runs += status == STATUS_OK;
    if (status != STATUS_OK)
        process_end_adopted(); /* count() does it after a run that ended well */
    return status;
}

static enum status iterate(struct workload_instance *base, struct error *err)
{
    return run((struct program_instance *)base, NULL, err);
}

static enum status count(struct workload_instance *base, double *ret, struct error *err)
{
    struct program_instance *instance = (struct program_instance *)base;

    process_end_adopted();
    return program_number(&instance->program, ret, err);
}

/* The first run of a trial is followed, and none of its times is kept; the declared warmup runs
 * come after it. */
static enum status run_first(struct program_instance *instance, struct error *err)
{
    const int64_t warmup = instance->program.section->warmup;
    double number;

    TRY(run(instance, &instance->trace, err));
    program_trace_hold(&instance->trace);
    TRY(count(&instance->base, &number, err));
    for (int64_t i = 0; i < warmup; i++) {
        TRY(run(instance, NULL, err));
        TRY(count(&instance->base, &number, err));
    }
    return STATUS_OK;
}

/* ---- checks ---- */

static void put(struct check_sink *sink, const char *output, const char *reason, uint64_t compared,
                bool passed)
{
    const struct workload_check check = {.output = output,
                                         .metric = "count",
                                         .reason = reason,
                                         .error = passed ? 0 : 1,
                                         .compared = compared,
                                         .passed = passed};

    check_sink_put(sink, &check);
}

static enum status check_outputs(const struct program_section *section, struct check_sink *sink,
                                 struct error *err)
{
    for (uint32_t i = 0; i < section->outputs_count; i++) {
        const struct program_file *output = &section->outputs[i];
        AUTO_FREE char *path = program_path(section, output->path);
        struct error reason = ERROR_INIT;
        char hex[DIGEST_HEX_SIZE] = "";
        struct digest digest;
        bool passed;

        if (!path)
            return error_no_memory(err);
        if (digest_file(path, &digest, NULL, &reason) == STATUS_OK)
            digest_hex(&digest, hex);
        passed = !strcmp(hex, output->sha256);
        put(sink, "outputs", "the file has the declared SHA-256", 1, passed);
        if (!passed)
            check_sink_fail(sink, "the output %s %s%.12s%s, and %.12s... is declared", path,
                            hex[0] ? "has the SHA-256 " : "is not there: ",
                            hex[0] ? hex : reason.message, hex[0] ? "..." : "", output->sha256);
    }
    return STATUS_OK;
}

static enum status check_by_command(struct program_instance *instance, struct check_sink *sink,
                                    struct error *err)
{
    CLEANUP(text_finish) struct text words = TEXT_INIT;
    const struct program *program = &instance->program;
    bool passed;

    if (!program->check_argv)
        return STATUS_OK;
    TRY(program_run_check(program, &passed, &words, err));
    put(sink, "check", "the checking command ends with exit status 0", 1, passed);
    if (!passed)
        check_sink_fail(sink, "the checking command %s does not pass%s", program->check_argv[0],
                        text_ok(&words) ? words.data : "");
    return STATUS_OK;
}

/* A run that ended otherwise, or had no number, was an error of its own. */
static void put_runs(const struct program_instance *instance, struct check_sink *sink)
{
    put(sink, "runs", "each ended with the declared exit status, and had its number",
        instance->runs, true);
}

static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    struct program_instance *instance = (struct program_instance *)base;
    const struct program_section *section = instance->program.section;

    if (instance->runs == 0)
        TRY(run_first(instance, err));
    put_runs(instance, sink);
    TRY(program_check_inputs(section, err));
    TRY(check_outputs(section, sink, err));
    return check_by_command(instance, sink, err);
}

/* Each run was looked at when it ended. */
static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    (void)secret;
    (void)err;
    put_runs((struct program_instance *)base, sink);
    return STATUS_OK;
}

static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    const bool is_ours =
        !strcmp(output, "runs") || !strcmp(output, "outputs") || !strcmp(output, "check");

    (void)work;
    return is_ours && !strcmp(metric, "count") ? 0.0 : WORKLOAD_NO_CHECK;
}

static const struct workload_checks checks = {
    .verify = verify, .spot_check = spot_check, .tolerance = tolerance};

static json_t *facts(struct workload_instance *base)
{
    const struct program_instance *instance = (const struct program_instance *)base;

    return json_pack("{s:{s:I, s:b, s:I}}", "program", "runs", (json_int_t)instance->runs,
                     "followed", !instance->trace.refused, "files_seen",
                     (json_int_t)instance->trace.count);
}

/* What it reads and is told to by its command: scripts are mapped by nobody. */
static void files(const struct workload_case *work, struct backend_file_list *ret)
{
    CLEANUP(declaration_finish) struct declaration declaration = {0};
    const struct program_section *section = NULL;

    if (program_read(work->workload, &declaration, &section, NULL) != STATUS_OK)
        return;
    for (uint32_t i = 0; i < section->inputs_count; i++) {
        AUTO_FREE char *path = program_path(section, section->inputs[i].path);

        if (path)
            backend_file_list_add(ret, "input", path, NULL);
    }
    for (uint32_t i = 0; i < section->command_count; i++) {
        AUTO_FREE char *path = program_path(section, section->command[i]);

        if (path && strchr(section->command[i], '/'))
            backend_file_list_add(ret, "input", path, NULL);
    }
}

const struct workload_kind workload_program = {
    .name = "program",
    .summary = "any command, each run a fresh process; its time, or a number that it counts itself",
    .form = &program_form,
    .cost = cost,
    .describe = describe,
    .ready = ready,
    .instance_size = sizeof(struct program_instance),
    .is_program = true,
    .init = init,
    .iterate = iterate,
    .count = count,
    .checks = &checks,
    .facts = facts,
    .files = files,
    .finish = finish,
};
