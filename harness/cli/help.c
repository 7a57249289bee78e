#include "harness/cli/help.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cli/output.h"
#include "harness/core/cleanup.h"

/* Longer names have their text on the next line. */
#define NAMES_MAX 27

static const struct argp_option help_options[] = {
    {"help", KEY_HELP, NULL, 0, "this text", 94},
    {"usage", KEY_USAGE, NULL, 0, "the options in short", 94},
    {0}};

const struct argp_option *help_group_options(void)
{
    return help_options;
}

void help_each_option(const struct command *command,
                      void (*take)(const struct argp_option *, void *), void *context)
{
    const struct argp_option *tables[GROUP_COUNT + 2] = {command->options};
    size_t count = 1;

    for (int i = 0; i < GROUP_COUNT; i++)
        if (command->groups & (1u << i))
            tables[count++] = command_group_options(1u << i);
    tables[count++] = help_options;
    for (size_t i = 0; i < count; i++)
        for (const struct argp_option *o = tables[i]; o && (o->name || o->key); o++)
            take(o, context);
}

/* "  -p, --protocol=NAME|FILE" */
static char *name_of(const struct argp_option *option)
{
    const char letter[] = {'-', (char)option->key, ',', ' ', '\0'};
    const bool has_letter = option->key > ' ' && option->key < 127;

    return text_format("  %s--%s%s%s", has_letter ? letter : "    ", option->name,
                       option->arg ? "=" : "", option->arg ? option->arg : "");
}

struct layout {
    struct text *out;
    size_t width; /* of the names, with the gap after them */
};

static void measure(const struct argp_option *option, void *context)
{
    struct layout *layout = context;
    AUTO_FREE char *name = name_of(option);
    const size_t length = name ? strlen(name) : 0;

    if (length <= NAMES_MAX && length + 2 > layout->width)
        layout->width = length + 2;
}

static void append_option(const struct argp_option *option, void *context)
{
    struct layout *layout = context;
    const int width = (int)layout->width;
    AUTO_FREE char *name = name_of(option);
    AUTO_FREE char *lead = !name ? NULL
                           : strlen(name) + 2 > layout->width
                               ? text_format("%s\n%*s", name, width, "")
                               : text_format("%-*s", width, name);

    if (lead) {
        text_append(layout->out, lead);
        output_wrapped(layout->out, option->doc ? option->doc : "", layout->width,
                       output_columns());
    } else {
        layout->out->failed = true;
    }
}

/* Paragraphs are separated by empty lines; lines that begin with a blank are not wrapped. */
static void append_paragraphs(struct text *out, const char *string)
{
    while (*string) {
        const size_t length = strcspn(string, "\n");
        AUTO_FREE char *line = strndup(string, length);

        if (!line)
            out->failed = true;
        else if (line[0] == ' ')
            text_append_format(out, "%s\n", line);
        else
            output_wrapped(out, line, 0, output_columns());
        string += length + (string[length] == '\n');
    }
}

void help_append(struct text *out, const struct command *command)
{
    struct layout layout = {out, 0};

    text_append_format(out, "Usage: assay %s [OPTION]...%s%s\n", command->name,
                       command->arguments ? " " : "", command->arguments ? command->arguments : "");
    output_wrapped(out, command->summary, 0, output_columns());
    text_append_char(out, '\n');
    help_each_option(command, measure, &layout);
    help_each_option(command, append_option, &layout);
    if (command->text) {
        text_append_char(out, '\n');
        append_paragraphs(out, command->text);
    }
}
