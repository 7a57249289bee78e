/*
 * completion - what the completions of all shells are written from: kinds of values. bash's is in
 * completion.c, those of zsh and fish in completion_spec.c.
 */
#ifndef ASSAY_CLI_COMPLETION_H
#define ASSAY_CLI_COMPLETION_H

#include "harness/cli/command.h"
#include "harness/core/text.h"

/* A kind of value, by the name that an option's argument has in help. */
struct completion_kind {
    const char *name;
    const char *ask;    /* words of the call that prints them, one a line; or NULL */
    bool of_database;   /* that call takes the line's --db */
    const char *filter; /* what its output goes through, or "" */
    void (*append_words)(struct text *out); /* further words, a blank before each; or NULL */
    const char *files; /* the ending of files to offer, "" for all; NULL: none */
};

/* Ended by one without a name. */
extern const struct completion_kind completion_kinds[];

/* "PROTOCOL|FILE" as " PROTOCOL FILE", "PRECISION,..." as " PRECISION"; NULL as nothing. */
void completion_append_kinds(struct text *out, const char *argument);

/* Whether an option has a value that may be the next word. */
bool completion_takes_word(const struct argp_option *option);

/* What is written about a command's options (help_each_option). */
struct completion_text {
    struct text *out;
    const struct command *command;
};

#endif
