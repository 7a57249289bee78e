#include <stdlib.h>

#include "harness/cli/commands.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/log.h"
#include "harness/core/text.h"

enum { KEY_REASON = 0x100, KEY_BY, KEY_UNDO };

/* All of them or none: the first mistake rolls back what was recorded before it. */
static enum status record(struct store *store, const struct command_line *line, const char *reason,
                          struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < line->argument_count && status == STATUS_OK; i++) {
        int64_t campaign;

        status = store_find_campaign(store, line->arguments[i], &campaign, err);
        if (status == STATUS_OK &&
            (status = store_archive_campaign(store, campaign, !command_has(line, KEY_UNDO), reason,
                                             err)) == STATUS_INVALID)
            error_prefix(err, "%s", line->arguments[i]);
    }
    return status;
}

static int archive(const struct command_line *line, struct store *store, void *context)
{
    const char *ending = line->argument_count == 1 ? " is" : "s are";
    struct error err = ERROR_INIT;
    AUTO_FREE char *reason =
        text_format("%s (by %s)", command_value(line, KEY_REASON), command_author(line, KEY_BY));
    enum status status = reason ? store_batch_begin(store, &err) : error_no_memory(&err);

    (void)context;
    if (status == STATUS_OK) {
        enum status ended;

        status = record(store, line, reason, &err);
        ended = store_batch_end(store, status == STATUS_OK, status == STATUS_OK ? &err : NULL);
        status = status == STATUS_OK ? ended : status;
    }
    if (status != STATUS_OK)
        return command_fail_store(&err);
    if (command_has(line, KEY_UNDO))
        log_info("recorded: %zu campaign%s listed again", line->argument_count, ending);
    else
        log_info("recorded: %zu campaign%s archived, and lists leave them out unless asked with "
                 "--archived; nothing was removed, and --undo lists them again",
                 line->argument_count, ending);
    return ASSAY_EXIT_OK;
}

static int run(const struct command_line *line)
{
    const char *reason = command_value(line, KEY_REASON);

    if (!reason || !*reason) {
        log_error("say why with --reason TEXT");
        return ASSAY_EXIT_USAGE;
    }
    return with_store(line, STORE_WRITE, archive, NULL);
}

static const struct argp_option options[] = {
    {"reason", KEY_REASON, "TEXT", 0, "why"},
    {"by", KEY_BY, "WHO", 0, "who says so (default: the user's name)"},
    {"undo", KEY_UNDO, NULL, 0, "list them again"},
    {0}};

const struct command command_archive = {
    .name = "archive",
    .arguments = "CAMPAIGN...",
    .summary = "Leave campaigns out of lists; nothing stored is changed",
    .text =
        "CAMPAIGN is the start of a campaign's identifier, or `last`. Archiving is an event of the "
        "campaign, with its time and reason, in the log like all evidence; bundles contain it and "
        "a dossier lists it. `results`, `report`, `export` and the word `last` then leave the "
        "campaign out, and say so; by its identifier it can still be named everywhere.",
    .options = options,
    .groups = GROUP_STORE,
    .arguments_min = 1,
    .arguments_max = 1000,
    .completes = "CAMPAIGN",
    .run = run,
};

static int refuse(const struct command_line *line)
{
    (void)line;
    log_error(
        "nothing is ever deleted: who reads the evidence must see all that was measured, and the "
        "log's hashes cover it. `assay archive CAMPAIGN --reason TEXT` leaves a campaign "
        "out of lists. To hand on less than a file holds: `assay bundle CAMPAIGN... -o FILE`, "
        "with --withhold for single values");
    return ASSAY_EXIT_USAGE;
}

const struct command command_delete = {
    .name = "delete",
    .arguments = "[CAMPAIGN]...",
    .summary = "Say why nothing is deleted, and what to do instead (archive)",
    .groups = GROUP_STORE,
    .arguments_max = 1000,
    .hidden = true,
    .run = refuse,
};
