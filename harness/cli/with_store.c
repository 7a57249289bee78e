#include "harness/cli/with_store.h"

#include <stdlib.h>

#include "harness/core/log.h"
#include "harness/core/text.h"
#include "harness/library/inside.h"
#include "results/evidence/bundle.h"

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

double database_wait_s(enum store_mode mode)
{
    int64_t seconds = mode == STORE_READ ? 10 : 60;

    read_wait(&seconds);
    return (double)seconds;
}

int with_store_at(const struct command_line *line, const char *path, enum store_mode mode,
                  with_store_fn *run, void *context)
{
    struct command_line passed = *line;
    struct assay_store *store;
    int result;

    if (assay_store_open(path, (enum assay_mode)mode, database_wait_s(mode), &store) != ASSAY_OK)
        return command_fail_store(library_error());
    passed.opened = store;
    if (store->folder)
        passed.bundle = path;
    result = run(&passed, store->store, context);
    assay_store_close(store);
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
    return with_store_at(&rest, line->arguments[0], STORE_READ, run, context);
}
