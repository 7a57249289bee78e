#include "harness/cli/with_store.h"

#include <stdlib.h>

#include "harness/cli/with_bundle.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/shell.h"
#include "harness/core/text.h"
#include "results/evidence/bundle.h"

#define SECOND_NS ((int64_t)1000000000)
#define WAIT_MAX 86400

/* False: ASSAY_DB_WAIT cannot be read. Where it is not set, `ret` stays. */
static bool read_wait(int64_t *ret)
{
    const char *asked = getenv("ASSAY_DB_WAIT");
    int64_t seconds;

    if (!asked || !asked[0])
        return true;
    if (!text_parse_i64(asked, &seconds) || seconds < 0 || seconds > WAIT_MAX)
        return false;
    *ret = seconds;
    return true;
}

enum status database_check_wait(struct error *err)
{
    int64_t seconds;

    if (read_wait(&seconds))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "ASSAY_DB_WAIT=%s: write a number of seconds from 0 to %d",
                     getenv("ASSAY_DB_WAIT"), WAIT_MAX);
}

int64_t database_wait_ns(enum store_mode mode)
{
    int64_t seconds = mode == STORE_READ ? 10 : 60;

    read_wait(&seconds);
    return seconds * SECOND_NS;
}

static enum status refuse_bundle(const char *path, struct error *err)
{
    AUTO_FREE char *word = shell_quoted(path);
    const char *shown = word ? word : "FILE";

    return error_set(err, STATUS_INVALID,
                     "%s: is a bundle, not a database: `assay verify %s` checks it, and `assay "
                     "import %s --db FILE` takes it into a database, where its results are shown",
                     path, shown, shown);
}

enum status database_open(const char *path, enum store_mode mode, int64_t wait_ns,
                          struct store **ret, struct error *err)
{
    TRY(bundle_recognise(path) ? refuse_bundle(path, err)
                               : store_open(path, mode, wait_ns, ret, err));
    if (store_carried_from(*ret) > 0)
        log_info(
            "%s: was of schema version %d and had to be taken forward to be written to; nothing "
            "in it changed, but the assay that wrote it cannot read it any more (keep a copy from "
            "before where that matters)",
            path, store_carried_from(*ret));
    return STATUS_OK;
}

int with_store_at(const struct command_line *line, const char *path, enum store_mode mode,
                  with_store_fn *run, void *context)
{
    struct error err = ERROR_INIT;
    struct store *store;
    int result;

    if (mode == STORE_READ && bundle_recognise(path))
        return with_bundle(line, path, run, context);
    if (database_open(path, mode, database_wait_ns(mode), &store, &err) != STATUS_OK)
        return command_fail_store(&err);
    result = run(line, store, context);
    store_close(store);
    return result;
}

int with_store(const struct command_line *line, enum store_mode mode, with_store_fn *run,
               void *context)
{
    struct command_line rest = *line;

    if (!line->command->takes_bundle || line->argument_count == 0 ||
        !bundle_recognise(line->arguments[0])) {
        if (line->argument_count <= line->command->arguments_max)
            return with_store_at(line, command_database(line), mode, run, context);
        log_error("too many arguments, unless the first is a bundle, which %s is not",
                  line->arguments[0]);
        return ASSAY_EXIT_USAGE;
    }
    rest.arguments++;
    rest.argument_count--;
    return with_bundle(&rest, line->arguments[0], run, context);
}
