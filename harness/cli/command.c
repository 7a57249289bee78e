#include "harness/cli/command.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/cli/defaults.h"
#include "harness/cli/envelope.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/log.h"
#include "harness/core/text.h"

static const struct {
    enum command_group group;
    struct argp_option options[2];
} groups[GROUP_COUNT] = {
    {GROUP_STORE,
     {{"db", KEY_DB, "FILE", 0, "database (default: $ASSAY_DB, else assay.db in this folder)",
       90}}},
    {GROUP_JSON, {{"json", KEY_JSON, NULL, 0, "write JSON to standard output", 91}}},
    {GROUP_MARKDOWN,
     {{"markdown", KEY_MARKDOWN, NULL, 0, "write Markdown, for issues, reviews and chats", 91}}},
    {GROUP_STACK,
     {{"lib", KEY_LIB, "NAME=PATH", OPTION_REPEATS,
       "open this file as the vendor library NAME (opencl, ...)", 92}}},
    {GROUP_RECORD,
     {{"no-record", KEY_NO_RECORD, NULL, 0, "store nothing, and leave the file as it is", 91}}},
    {GROUP_QUIET, {{"quiet", KEY_QUIET, NULL, 0, "no progress", 93}}},
};

const struct argp_option *command_group_options(enum command_group group)
{
    for (size_t i = 0; i < GROUP_COUNT; i++)
        if (groups[i].group == group)
            return groups[i].options;
    return NULL;
}

const char *command_value(const struct command_line *line, int key)
{
    const char *value = NULL;

    for (size_t i = 0; i < line->option_count; i++)
        if (line->options[i].key == key)
            value = line->options[i].value;
    return value;
}

bool command_has(const struct command_line *line, int key)
{
    for (size_t i = 0; i < line->option_count; i++)
        if (line->options[i].key == key)
            return true;
    return false;
}

const char *command_value_at(const struct command_line *line, int key, size_t n)
{
    for (size_t i = 0; i < line->option_count; i++)
        if (line->options[i].key == key && n-- == 0)
            return line->options[i].value;
    return NULL;
}

const char *command_database(const struct command_line *line)
{
    const char *path = command_value(line, KEY_DB);

    if (path)
        return path;
    path = getenv("ASSAY_DB");
    return path && path[0] ? path : "assay.db";
}

const char *command_protocol(const struct command_line *line)
{
    const char *asked = command_value(line, KEY_PROTOCOL);

    return asked ? asked : defaults()->protocol ? defaults()->protocol : "quick";
}

int command_unanswered(size_t done, size_t planned)
{
    envelope_explain(STATUS_UNAVAILABLE, "");
    log_error("the server does not answer, and after %zu of %zu trials no other was run", done,
              planned);
    return ASSAY_EXIT_TRIALS;
}

int command_interrupted(const char *format, ...)
{
    CLEANUP(text_finish) struct text text = TEXT_INIT;
    va_list args;

    va_start(args, format);
    text_append_formatv(&text, format, args);
    va_end(args);
    envelope_add_error(STATUS_INTERRUPTED, text.data, "");
    log_info("%s", text.data);
    return ASSAY_EXIT_INTERRUPTED;
}

enum status command_fraction(const struct command_line *line, int key, const char *name,
                             double *value, struct error *err)
{
    const char *word = command_value(line, key);
    double parsed;

    if (!word)
        return STATUS_OK;
    if (!text_parse_double(word, &parsed) || parsed <= 0 || parsed >= 1)
        return error_set(err, STATUS_INVALID,
                         "--%s %s: write a number between 0 and 1, such as 0.01, which is 1 %%",
                         name, word);
    *value = parsed;
    return STATUS_OK;
}

enum status command_since(const struct command_line *line, int key, int64_t *ret, struct error *err)
{
    const char *since = command_value(line, key);

    return !since || text_parse_moment_ns(since, clock_utc_ns(), ret)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID,
                           "--since %s: write a date (2026-11-20, 2026-11-20T15:52; UTC) or an "
                           "age (7d, 12h, 30min)",
                           since);
}

const char *command_author(const struct command_line *line, int key)
{
    const char *author = command_value(line, key);
    const struct passwd *user = author ? NULL : getpwuid(getuid());

    if (author)
        return author;
    return user && user->pw_name && *user->pw_name ? user->pw_name : "unknown";
}

int command_fail_store(const struct error *err)
{
    const int result = command_fail(err);

    return err->code == STATUS_NO_SPACE || err->code == STATUS_NO_MEMORY ? result
                                                                         : ASSAY_EXIT_STORE;
}

int command_fail_asked(const struct error *err)
{
    return err->code == STATUS_INVALID ? command_fail(err) : command_fail_store(err);
}

void command_say(const struct error *err)
{
    envelope_explain(err->code, err->place);
    log_error("%s", err->message[0] ? err->message : status_meaning(err->code));
}

int command_fail(const struct error *err)
{
    command_say(err);
    switch (err->code) {
    case STATUS_INVALID:
        return ASSAY_EXIT_USAGE;
    case STATUS_UNAVAILABLE:
        return ASSAY_EXIT_DEVICE;
    case STATUS_NOT_FOUND:
        return ASSAY_EXIT_USAGE;
    case STATUS_CORRUPT:
    case STATUS_BUSY:
    case STATUS_DENIED:
        return ASSAY_EXIT_STORE;
    case STATUS_INTERRUPTED:
        return ASSAY_EXIT_INTERRUPTED;
    default:
        return ASSAY_EXIT_SYSTEM;
    }
}
