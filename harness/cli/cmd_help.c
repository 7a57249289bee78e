#include "harness/cli/command.h"
#include "harness/cli/commands.h"
#include "harness/cli/guide.h"
#include "harness/cli/help.h"
#include "harness/cli/manual.h"
#include "harness/cli/output.h"

enum { KEY_ROFF = 0x100 };

static int run(const struct command_line *line)
{
    const char *name = line->argument_count > 0 ? line->arguments[0] : NULL;
    const struct command *command = name ? command_find(name) : NULL;
    struct error err = ERROR_INIT;
    struct text out = TEXT_INIT;

    if (!name) {
        manual_append_overview(&out);
        text_append_char(&out, '\n');
        guide_append_topics(&out);
    } else if (command && !command_has(line, KEY_ROFF)) {
        help_append(&out, command);
    } else if (guide_append(name, command_has(line, KEY_ROFF), &out, &err) != STATUS_OK) {
        return command_fail(&err);
    }
    return output_text(&out);
}

#define TOPIC_NAME(name, ...) name " "

static const struct argp_option options[] = {
    {"roff", KEY_ROFF, NULL, 0, "of a topic its manual page, for man"}, {0}};

const struct command command_help = {
    .name = "help",
    .arguments = "[COMMAND|TOPIC]",
    .summary = "Explain a command or a topic: tutorial, drivers, buy, audit, server ...",
    .options = options,
    .arguments_max = 1,
    .first_words = GUIDE_TOPIC_MAP(TOPIC_NAME),
    .run = run,
};
