#include "harness/cli/manual.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/core/version.h"

static const char purpose[] =
    "Measures AI workloads on devices under a declared protocol, and keeps every result with its "
    "provenance in an SQLite database.";

static const char *const environment[][2] = {
    {"ASSAY_CC", "C compiler for the cpu backend's kernels (cc, gcc or clang when it is not set)."},
    {"ASSAY_CC_TIMEOUT", "Time that it may take for one text (120s)."},
    {"ASSAY_DB", "Database when --db is not given."},
    {"ASSAY_DB_WAIT",
     "Seconds to wait for a database that another process holds (10 to read, 60 to write)."},
    {"ASSAY_KEY", "Secret key that signs plans and ends when --key is not given."},
    {"ASSAY_KEY_PASSPHRASE_FILE", "File whose first line is the passphrase of a key that has one; "
                                  "otherwise the terminal is asked."},
    {"ASSAY_LIB_NAME", "File to open as the vendor library NAME (ASSAY_LIB_OPENCL, ...)."},
    {"ASSAY_NULL", "What the null backend, which tests the tool, pretends and breaks."},
    {"ASSAY_PROBE_TIMEOUT", "Time that a backend may take to list its devices (60s)."},
    {"ASSAY_TPM_LOG", "The boot's event log that `assay run --quote` keeps (the kernel's "
                      "binary_bios_measurements)."},
    {"ASSAY_TOOL_TIMEOUT", "Time that a vendor's tool may take to report (15s)."},
    {"ASSAY_WORKER",
     "Program to start in place of assay's own worker; it speaks the worker protocol. What it "
     "measures is marked so, and `assay gate` refuses it."},
    {"ASSAY_WORKERS", "Folder of installed workers (assay/workers under XDG_DATA_HOME or "
                      "~/.local/share)."},
    {"NO_COLOR", "When set, no colour is written."},
    {"XDG_CONFIG_HOME",
     "Folder of assay/config.yaml (else ~/.config), a file of defaults: db, key, roster (of "
     "verify), "
     "device (of run, ab, matrix, calibrate), protocol (of run, time), quiet. Options win over the "
     "environment, and that over the file. Device and protocol stand in the recorded plan."},
};

static const struct {
    int value;
    const char *meaning;
} exits[] = {
#define EXIT_ROW(code, value, meaning) {value, meaning},
    EXIT_MAP(EXIT_ROW)
#undef EXIT_ROW
};

/* roff: a backslash and a leading dot or quote mean something else. */
void manual_append_roff(struct text *out, const char *string, size_t length)
{
    bool line_start = true;

    for (const char *end = string + length; string < end; string++) {
        if (line_start && (*string == '.' || *string == '\''))
            text_append(out, "\\&");
        if (*string == '\\')
            text_append(out, "\\e");
        else if (*string == '-')
            text_append(out, "\\-");
        else
            text_append_char(out, *string);
        line_start = *string == '\n';
    }
}

static void append_roff(struct text *out, const char *string)
{
    manual_append_roff(out, string, strlen(string));
}

/* Paragraphs are separated by empty lines; lines that begin with a blank are examples. */
static void append_roff_text(struct text *out, const char *string)
{
    bool example = false;

    while (*string) {
        const char *end = strchr(string, '\n');
        size_t length = end ? (size_t)(end - string) : strlen(string);
        bool indented = string[0] == ' ';

        if (indented != example) {
            text_append(out, indented ? ".PP\n.nf\n" : ".fi\n");
            example = indented;
        }
        if (length == 0)
            text_append(out, ".PP\n");
        else {
            manual_append_roff(out, string, length);
            text_append_char(out, '\n');
        }
        string += length + (end ? 1 : 0);
        if (!end)
            break;
    }
    if (example)
        text_append(out, ".fi\n");
}

static void append_roff_options(struct text *out, const struct argp_option *option)
{
    for (; option && (option->name || option->key); option++) {
        text_append(out, ".TP\n.B ");
        if (option->key > ' ' && option->key < 127)
            text_append_format(out, "\\-%c, ", option->key);
        append_roff(out, "--");
        append_roff(out, option->name);
        if (option->arg) {
            text_append(out, "=\\fI");
            append_roff(out, option->arg);
            text_append(out, "\\fR");
        }
        text_append_char(out, '\n');
        append_roff(out, option->doc ? option->doc : "");
        text_append_char(out, '\n');
    }
}

static void append_roff_command(struct text *out, const struct command *command)
{
    text_append(out, ".SS assay ");
    append_roff(out, command->name);
    if (command->arguments) {
        text_append(out, " [OPTION]... ");
        append_roff(out, command->arguments);
    }
    text_append_char(out, '\n');
    append_roff(out, command->summary);
    text_append(out, ".\n");
    if (command->text) {
        text_append(out, ".PP\n");
        append_roff_text(out, command->text);
    }
    append_roff_options(out, command->options);
    for (int i = 0; i < GROUP_COUNT; i++)
        if (command->groups & (1u << i))
            append_roff_options(out, command_group_options(1u << i));
}

void manual_append_page(struct text *out)
{
    size_t count;
    const struct command *const *commands = commands_all(&count);

    text_append(out, ".TH ASSAY 1 \"\" \"assay " ASSAY_VERSION "\" \"User Commands\"\n");
    text_append(out, ".SH NAME\nassay \\- reproducible AI hardware benchmarks\n");
    text_append(out, ".SH SYNOPSIS\n.B assay\n\\fICOMMAND\\fR [\\fIOPTION\\fR]... "
                     "[\\fIARGUMENT\\fR]...\n.SH DESCRIPTION\n");
    append_roff(out, purpose);
    text_append(out, "\n.SH COMMANDS\n");
    for (size_t i = 0; i < count; i++)
        if (!commands[i]->hidden)
            append_roff_command(out, commands[i]);
    text_append(out, ".SH \"EXIT STATUS\"\n");
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
        text_append_format(out, ".TP\n.B %d\n", exits[i].value);
        append_roff(out, exits[i].meaning);
        text_append(out, ".\n");
    }
    text_append(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof(environment) / sizeof(environment[0]); i++) {
        text_append_format(out, ".TP\n.B %s\n", environment[i][0]);
        append_roff(out, environment[i][1]);
        text_append_char(out, '\n');
    }
}

void manual_append_overview(struct text *out)
{
    const size_t columns = output_terminal_columns();
    size_t count;
    const struct command *const *commands = commands_all(&count);
    char lead[32];

    text_append(out, "Usage: assay COMMAND [OPTION]... [ARGUMENT]...\n\n");
    output_wrapped(out,
                   "Measures AI workloads on devices under a declared protocol, and keeps every "
                   "result with its provenance in an SQLite database.",
                   0, output_columns());
    text_append(out, "\nCommands:\n");
    for (size_t i = 0; i < count; i++) {
        if (commands[i]->hidden)
            continue;
        snprintf(lead, sizeof(lead), "  %-11s ", commands[i]->name);
        output_hanging(out, lead, commands[i]->summary, text_columns(lead), columns);
    }
    text_append(out, "\nExit status:\n");
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
        snprintf(lead, sizeof(lead), "  %3d  ", exits[i].value);
        output_hanging(out, lead, exits[i].meaning, text_columns(lead), columns);
    }
    text_append_char(out, '\n');
    output_wrapped(out,
                   "`assay COMMAND --help` describes one; the manual page is assay(1). Defaults of "
                   "db, key, roster, device, protocol and quiet are read from assay/config.yaml "
                   "under XDG_CONFIG_HOME or ~/.config.",
                   0, output_columns());
}
