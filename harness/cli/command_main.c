/* A call: environment and arguments checked and read by the tables of its command, which is run. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/command.h"
#include "harness/cli/defaults.h"
#include "harness/cli/envelope.h"
#include "harness/cli/help.h"
#include "harness/cli/judging.h"
#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/shell.h"
#include "harness/core/text.h"
#include "harness/runner/probe.h"

static enum status check_duration(const char *name, struct error *err)
{
    const char *value = getenv(name);
    int64_t ns;

    if (!value || !value[0] || (text_parse_duration_ns(value, &ns) && ns > 0))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "%s=%s: write a time with its unit, such as 90s or 5min",
                     name, value);
}

/*
 * A variable that cannot be read would leave the default in force, and a file chosen for a library
 * that no backend opens changes nothing: mistakes that must be reported.
 */
static enum status check_variables(const struct command *command, struct error *err)
{
    static const char *const durations[] = {"ASSAY_PROBE_TIMEOUT", "ASSAY_CC_TIMEOUT",
                                            "ASSAY_TOOL_TIMEOUT"};
    enum status status = database_check_wait(err);

    if (!(command->groups & GROUP_STACK))
        return status;
    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]) && status == STATUS_OK; i++)
        status = check_duration(durations[i], err);
    for (char **variable = environ; *variable && status == STATUS_OK; variable++)
        status = probe_check_variable(*variable, err);
    return status;
}

/* Children see the choice through the environment (core/dynlib). */
static bool set_library(const char *argument)
{
    const char *equals = strchr(argument, '=');
    char variable[128] = "ASSAY_LIB_";
    size_t at = strlen(variable);

    if (!equals || equals == argument || !equals[1] ||
        (size_t)(equals - argument) + at >= sizeof(variable))
        return false;
    for (const char *c = argument; c < equals; c++) {
        if (!isalnum((unsigned char)*c) && *c != '_')
            return false;
        variable[at++] = (char)toupper((unsigned char)*c);
    }
    variable[at] = '\0';
    return setenv(variable, equals + 1, 1) == 0;
}

static error_t parse_key(int key, char *value, struct argp_state *state)
{
    struct command_line *line = state->input;
    const struct command *command = line->command;

    switch (key) {
    case ARGP_KEY_INIT:
        for (size_t i = 0; state->root_argp->children[i].argp; i++)
            state->child_inputs[i] = line;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num >= command->arguments_max + command->takes_bundle) {
            argp_error(state, "too many arguments at \"%s\"", value);
            return EINVAL; /* with ARGP_NO_EXIT */
        }
        line->arguments[line->argument_count++] = value;
        return 0;
    case ARGP_KEY_END:
        if (line->argument_count >= command->arguments_min)
            return 0;
        argp_error(state, "it needs %s", command->arguments);
        return EINVAL;
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_ERROR:
    case ARGP_KEY_FINI:
    case ARGP_KEY_ARGS:
        return ARGP_ERR_UNKNOWN;
    default:
        break;
    }
    if (key == KEY_LIB && !set_library(value)) {
        argp_error(state, "--lib %s: write NAME=PATH, for instance opencl=/opt/lib/libOpenCL.so.1",
                   value);
        return EINVAL;
    }
    line->options[line->option_count++] = (struct command_option){key, value};
    return 0;
}

/* Shared options are argp children, each with its own small table. */
static error_t parse_group_key(int key, char *value, struct argp_state *state)
{
    if (key < KEY_DB || key > KEY_QUIET)
        return ARGP_ERR_UNKNOWN;
    return parse_key(key, value, state);
}

static error_t parse_help_key(int key, char *value, struct argp_state *state)
{
    const struct command_line *line = state->input;
    struct text out;

    (void)value;
    switch (key) {
    case KEY_HELP:
        text_init(&out);
        help_append(&out, line->command);
        exit(output_text(&out));
    case KEY_USAGE:
        argp_state_help(state, stdout, ARGP_HELP_USAGE);
        exit(output_flush());
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Taken before argp reorders the arguments. */
static char *call_text(const struct command *command, int argc, char **argv)
{
    struct text text = TEXT_INIT;

    text_append_format(&text, "assay %s", command->name);
    for (int i = 1; i < argc; i++) {
        text_append_char(&text, ' ');
        shell_append(&text, argv[i]);
    }
    return text_steal(&text);
}

/* Collects the long names of one table. */
static size_t add_names(const struct argp_option *option, const char **names, size_t count,
                        size_t capacity)
{
    for (; option && (option->name || option->key) && count < capacity; option++)
        if (option->name)
            names[count++] = option->name;
    return count;
}

/*
 * Explains the first long option that the command does not have, which getopt would do without the
 * nearest name. True when there is one. What follows an option as its value begins with no dashes.
 */
static bool has_unknown_option(const struct command *command, int argc, char **argv)
{
    enum { NAMES_MAX = 64 };
    const char *names[NAMES_MAX];
    size_t count = add_names(help_group_options(), names, 0, NAMES_MAX);

    count = add_names(command->options, names, count, NAMES_MAX);
    for (int i = 0; i < GROUP_COUNT; i++)
        if (command->groups & (1u << i))
            count = add_names(command_group_options(1u << i), names, count, NAMES_MAX);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        size_t length = strcspn(argv[i], "=");
        const char *nearest;
        bool known = false;
        AUTO_FREE char *name = NULL;

        if (strncmp(argv[i], "--", 2) != 0)
            continue;
        for (size_t n = 0; n < count && !known; n++)
            known = strncmp(names[n], argv[i] + 2, length - 2) == 0;
        if (known)
            continue;
        name = text_format("%.*s", (int)length - 2, argv[i] + 2);
        nearest = name ? text_nearest(name, names, count) : NULL;
        log_error("assay %s has no option --%s%s%s%s; `assay %s --help` lists them", command->name,
                  name ? name : "", nearest ? "; did you mean --" : "", nearest ? nearest : "",
                  nearest ? "?" : "", command->name);
        return true;
    }
    return false;
}

/* What argp and getopt said, which has words of the command line in it. */
static void repeat(const char *said)
{
    CLEANUP(text_finish) struct text shown = TEXT_INIT;

    log_append_lines(&shown, said);
    if (envelope_is_open())
        log_error("%.*s", (int)strcspn(shown.data, "\n"), shown.data);
    else
        fputs(shown.data, stderr);
}

/*
 * Parses the arguments. argp and getopt write errors to stderr: they are repeated fit for a
 * terminal, and with --json the first line of them is an error like others.
 */
static error_t parse(const struct argp *argp, int argc, char **argv, struct command_line *line)
{
    FILE *standard_error = stderr;
    AUTO_FREE char *said = NULL;
    size_t length = 0;
    error_t failed;

    stderr = open_memstream(&said, &length);
    if (!stderr) {
        stderr = standard_error;
        log_error("no memory");
        return ENOMEM;
    }
    failed = argp_parse(argp, argc, argv, ARGP_NO_HELP | ARGP_NO_EXIT, NULL, line);
    fclose(stderr);
    stderr = standard_error;
    if (failed && said)
        repeat(said);
    return failed;
}

/* What the user's file says where neither options nor environment do (defaults.h). */
static enum status apply_defaults(struct command_line *line, struct error *err)
{
    if (line->command->hidden)
        return STATUS_OK;
    TRY(defaults_load(err));
    if ((line->command->groups & GROUP_QUIET) && defaults()->quiet)
        line->options[line->option_count++] = (struct command_option){KEY_QUIET, NULL};
    return STATUS_OK;
}

int command_main(const struct command *command, int argc, char **argv)
{
    struct argp groups[GROUP_COUNT + 1] = {{0}};
    struct argp_child children[GROUP_COUNT + 2] = {{0}};
    struct command_line line = {.command = command, .text = call_text(command, argc, argv)};
    char name[128];
    struct argp argp = {
        command->options, parse_key, command->arguments, NULL, children, NULL, NULL};
    size_t count = 0;
    int result;

    for (int i = 0; i < GROUP_COUNT; i++) {
        if (!(command->groups & (1u << i)))
            continue;
        groups[count] =
            (struct argp){.options = command_group_options(1u << i), .parser = parse_group_key};
        children[count] = (struct argp_child){&groups[count], 0, NULL, 0};
        count++;
    }
    groups[count] = (struct argp){.options = help_group_options(), .parser = parse_help_key};
    children[count].argp = &groups[count];
    line.options = calloc((size_t)argc + 1, sizeof(*line.options));
    line.arguments = calloc((size_t)argc + 1, sizeof(*line.arguments));
    snprintf(name, sizeof(name), "assay %s", command->name);
    if (!line.options || !line.arguments || !line.text) {
        log_error("no memory");
        result = ASSAY_EXIT_SYSTEM;
    } else if (has_unknown_option(command, argc, argv)) {
        result = ASSAY_EXIT_USAGE;
    } else {
        char *program = argv[0];

        struct error err = ERROR_INIT;

        argv[0] = name;
        argp_err_exit_status = ASSAY_EXIT_USAGE;
        if (parse(&argp, argc, argv, &line) == 0) {
            argv[0] = program;
            if (envelope_is_open() && !command_has(&line, KEY_JSON))
                envelope_cancel(); /* --json was the value of another option */
            if (check_variables(command, &err) != STATUS_OK ||
                apply_defaults(&line, &err) != STATUS_OK)
                result = command_fail(&err);
            else
                result = command->judging ? judging_run(&line) : command->run(&line);
        } else {
            result = ASSAY_EXIT_USAGE;
        }
        argv[0] = program;
    }
    free(line.options);
    free(line.arguments);
    free(line.text);
    return result;
}
