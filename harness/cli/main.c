#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/envelope.h"
#include "harness/cli/manual.h"
#include "harness/cli/output.h"
#include "harness/core/inherited.h"
#include "harness/core/log.h"
#include "harness/core/text.h"
#include "harness/core/version.h"
#include "harness/runner/tool.h"

static int print(void (*append)(struct text *))
{
    struct text text = TEXT_INIT;

    append(&text);
    return output_text(&text);
}

static void append_version(struct text *text)
{
    text_append(text, "assay " ASSAY_VERSION_TEXT "\n");
}

static int explain_unknown(const char *name)
{
    size_t count;
    const struct command *const *commands = commands_all(&count);
    const char **names = calloc(count, sizeof(*names));
    const char *nearest = NULL;

    for (size_t i = 0; names && i < count; i++)
        names[i] = commands[i]->name;
    if (names)
        nearest = text_nearest(name, names, count);
    log_error("no command \"%s\"%s%s%s; `assay --help` lists them", name,
              nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    free(names);
    return ASSAY_EXIT_USAGE;
}

/* Runs the command of this name. Output written on the way must have been flushed, too. */
static int run(const char *name, int argc, char **argv)
{
    const struct command *command = command_find(name);

    if (envelope_asked(argc, argv))
        envelope_begin(command ? command->name : NULL);
    return envelope_end(command ? command_main(command, argc, argv) : explain_unknown(name));
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;

    if (inherited_reset(&err) != STATUS_OK)
        return command_fail(&err);
    tool_has_commands();
    log_set_arguments(argv + (argc > 0));

    /*
     * Widths of characters need UTF-8; nothing else may follow the user's locale: in some the
     * capital of i is not I.
     */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "");
    if (argc < 2) {
        print(manual_append_overview);
        return ASSAY_EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return print(manual_append_overview);
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
        return print(append_version);
    if (!strcmp(argv[1], "--manual"))
        return print(manual_append_page);
    if (!strcmp(argv[1], "--completion"))
        return print(manual_append_completion);
    if (!strcmp(argv[1], "--completion=zsh"))
        return print(manual_append_completion_zsh);
    if (!strcmp(argv[1], "--completion=fish"))
        return print(manual_append_completion_fish);
    return run(argv[1], argc - 1, argv + 1);
}
