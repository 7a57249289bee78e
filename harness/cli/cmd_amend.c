#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/log.h"
#include "results/evidence/ledger.h"

enum { KEY_REASON = 0x100, KEY_BY };

static int amend(const struct command_line *line, struct store *store, void *context)
{
    struct error err = ERROR_INIT;
    int64_t cell;

    (void)context;
    if (store_find_cell(store, line->arguments[0], &cell, &err) != STATUS_OK ||
        ledger_add_amendment(store, cell, command_author(line, KEY_BY),
                             command_value(line, KEY_REASON), &err) != STATUS_OK)
        return command_fail_store(&err);
    if (command_has(line, KEY_JSON)) {
        json_auto_t *record = NULL;

        if (store_cell_json(store, cell, &record, &err) != STATUS_OK)
            return command_fail_store(&err);
        return output_json(json_pack("{s:s, s:O}", "id", line->arguments[0], "amendments",
                                     json_object_get(record, "amendments")));
    }
    log_info("recorded; the result itself stays as it was, and `assay show %s --db %s` says both",
             line->arguments[0], store_path_word(store));
    return ASSAY_EXIT_OK;
}

static int run(const struct command_line *line)
{
    const char *reason = command_value(line, KEY_REASON);

    if (!reason || !*reason) {
        log_error("say why with --reason TEXT");
        return ASSAY_EXIT_USAGE;
    }
    return with_store(line, STORE_WRITE, amend, NULL);
}

static const struct argp_option options[] = {
    {"reason", KEY_REASON, "TEXT", 0, "what is to be known of this result, and why"},
    {"by", KEY_BY, "WHO", 0, "who says so (default: the user's name)"},
    {0}};

const struct command command_amend = {
    .name = "amend",
    .arguments = "ID",
    .summary = "Add a remark to a stored result; nothing stored is changed",
    .text =
        "ID is what `assay results` lists, such as 9f2c41aa/3. The amendment is a record of its "
        "own, with its time, in the log like all evidence.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON,
    .arguments_min = 1,
    .arguments_max = 1,
    .completes = "RESULT",
    .run = run,
};
