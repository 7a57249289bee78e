/*
 * help - what `assay COMMAND --help` prints, from the command's table: words wrap at the edge of
 * the terminal, and examples, which are copied from there, stay as they are written.
 */
#ifndef ASSAY_CLI_HELP_H
#define ASSAY_CLI_HELP_H

#include "harness/cli/command.h"
#include "harness/core/text.h"

enum { KEY_HELP = 'h', KEY_USAGE = 0x480 };

/* --help and --usage, which every command has; ended by {0}. */
const struct argp_option *help_group_options(void);

/* Calls `take` for each option of a command, those of the groups last, as argp shows them. */
void help_each_option(const struct command *command,
                      void (*take)(const struct argp_option *, void *), void *context);

/* Appends usage, summary, options and text of one command. */
void help_append(struct text *out, const struct command *command);

#endif
