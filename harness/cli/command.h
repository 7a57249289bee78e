/*
 * command - one table a command: its options, its arguments, its function. Help, manual page and
 * tab completion are made from the same tables (manual.c).
 */
#ifndef ASSAY_CLI_COMMAND_H
#define ASSAY_CLI_COMMAND_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/core/status.h"

/* Exit statuses; `assay --help` and the manual page print this list. */
#define EXIT_MAP(X)                                                                                \
    X(OK, 0, "done; every trial succeeded, or asked for what its device does not support")         \
    X(TRIALS, 1,                                                                                   \
      "at least one trial failed; gate: worse; --exit-status: slower; "                            \
      "accept: rejected; verify: wrong")                                                           \
    X(USAGE, 2, "wrong arguments or declarations; gate, --exit-status: the two do not compare")    \
    X(DEVICE, 3,                                                                                   \
      "no usable device, or the protocol refuses this machine; gate, accept, --exit-status: "      \
      "inconclusive")                                                                              \
    X(STORE, 4, "the database cannot be used, or has no such result")                              \
    X(SYSTEM, 5, "memory, disk or another part of the system failed")                              \
    X(INTERRUPTED, 130, "stopped by the user; what was finished is kept")

enum assay_exit {
#define EXIT_ENUM(code, value, meaning) ASSAY_EXIT_##code = value,
    EXIT_MAP(EXIT_ENUM)
#undef EXIT_ENUM
};

/* Options that several commands share; a command names the groups it takes. */
enum command_group {
    GROUP_NONE = 0,
    GROUP_STORE = 1 << 0,    /* --db */
    GROUP_JSON = 1 << 1,     /* --json */
    GROUP_STACK = 1 << 2,    /* --lib */
    GROUP_QUIET = 1 << 3,    /* --quiet */
    GROUP_MARKDOWN = 1 << 4, /* --markdown */
    GROUP_RECORD = 1 << 5,   /* --no-record */
};
#define GROUP_COUNT 6

struct assay_store;
struct command_line;

struct command {
    const char *name;
    const char *arguments;             /* "[NAME|FILE|SUITE]..." or NULL */
    const char *summary;               /* one line */
    const char *text;                  /* paragraphs for help and manual; NULL: none */
    const struct argp_option *options; /* its own, ended by {0}; NULL: none */
    unsigned groups;
    size_t arguments_min, arguments_max;
    bool hidden;
    bool takes_bundle;       /* a bundle to read may come before the arguments */
    const char *completes;   /* what the arguments are, as in an option's: "RESULT|FILE" */
    const char *first_words; /* what the first can be, blanks between; NULL: as above */
    int (*run)(const struct command_line *line);
    const struct judging *judging; /* of one that makes a judgement, in place of `run` */
};

/* The table of all commands, in the order that help shows them. */
const struct command *const *commands_all(size_t *ret_count);
/* The one of this name; NULL: there is none. */
const struct command *command_find(const char *name);

struct command_option {
    int key;
    const char *value; /* NULL: a flag */
};

/* A parsed call. Strings live as long as argv. */
struct command_line {
    const struct command *command;
    struct command_option *options; /* in the order given */
    size_t option_count;
    const char **arguments;
    size_t argument_count;
    const char *bundle;         /* what is read in place of a database; NULL: a database */
    struct assay_store *opened; /* by with_store, which closes it; NULL: none */
    char *text;                 /* the call as a shell would take it again, for the record */
};

/*
 * The letters: each means the same long option in every command, which a test checks. An option of
 * few commands has no letter.
 */
enum {
    KEY_ALL = 'a',
    KEY_DEVICE = 'd',
    KEY_OUTPUT = 'o',
    KEY_PROTOCOL = 'p',
    KEY_VERBOSE = 'v',
    KEY_WORKLOAD = 'w'
};

/*
 * A flag of an argp_option that argp does not know: it may be given several times. Completion
 * offers the others once. It also reads an option's argument: a name in capitals there is a kind of
 * value (DEVICE, PROTOCOL, FILE, ... of completion.c), one in small letters is offered itself.
 */
#define OPTION_REPEATS 0x1000

/* Keys of the shared groups. */
enum { KEY_DB = 0x400, KEY_JSON, KEY_LIB, KEY_MARKDOWN, KEY_NO_RECORD, KEY_QUIET };

/* Parses argv of one command and runs it; returns the exit status. */
int command_main(const struct command *command, int argc, char **argv);

/* Last value of an option, or NULL; whether it was given; its n-th value (NULL past the end). */
const char *command_value(const struct command_line *line, int key);
bool command_has(const struct command_line *line, int key);
const char *command_value_at(const struct command_line *line, int key, size_t n);

/*
 * Reads an option's number between 0 and 1, both left out, into `value`, which stays as it is where
 * the option is not given. INVALID says what to write.
 */
enum status command_fraction(const struct command_line *line, int key, const char *name,
                             double *value, struct error *err);

/*
 * Reads --since, the option of this key: UTC in ns into `ret`, which stays as it is where the
 * option is not given. INVALID says what to write.
 */
enum status command_since(const struct command_line *line, int key, int64_t *ret,
                          struct error *err);

/* The database: --db, else ASSAY_DB (or the user's default), else assay.db in this folder. */
const char *command_database(const struct command_line *line);

/* --protocol, else the user's default, else quick. */
const char *command_protocol(const struct command_line *line);

/* The author, for the record: the option's value, else the user's name. */
const char *command_author(const struct command_line *line, int key);

/* The options of the shared groups, ended by {0}; for manual.c. */
const struct argp_option *command_group_options(enum command_group group);

/* Reports an error on stderr, and in the envelope of --json. */
void command_say(const struct error *err);

/*
 * Reports on stderr that the user stopped the command and how to continue, which is an error in the
 * envelope of --json; returns ASSAY_EXIT_INTERRUPTED.
 */
int command_interrupted(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Reports that a campaign ended since the server that it measures does not answer, `done` of
 * `planned` trials being run; returns ASSAY_EXIT_TRIALS.
 */
int command_unanswered(size_t done, size_t planned);

/* Reports an error and returns the exit status that fits it. */
int command_fail(const struct error *err);

/* As command_fail, of what was asked of a store: what it has not or cannot give is
 * ASSAY_EXIT_STORE. */
int command_fail_store(const struct error *err);
/* The same, but of wrong arguments where it is INVALID. */
int command_fail_asked(const struct error *err);

#endif
