#include "harness/cli/run_plan.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"

enum status run_witnesses_read(const char *command, const char *count, const char *roster,
                               struct run_witnesses *ret, struct error *err)
{
    struct run_witnesses witnesses = {.hold = {.command = command}};
    enum status status = STATUS_OK;

    memset(ret, 0, sizeof(*ret));
    if (!command && !count && !roster)
        return STATUS_OK;
    if (!command || !count || !roster)
        return error_set(
            err, STATUS_INVALID,
            "--witness-command, --witnesses and --roster go together: whom to ask, how "
            "many must answer, and whose keys count");
    TRY(roster_read(roster, &witnesses.roster, err));
    if (!text_parse_i64(count, &witnesses.hold.wanted) || witnesses.hold.wanted < 1 ||
        witnesses.hold.wanted > (int64_t)roster_witnesses(&witnesses.roster)) {
        status = error_set(err, STATUS_INVALID,
                           "--witnesses %s: write a number from 1 to %zu, which is how many "
                           "witnesses %s has",
                           count, roster_witnesses(&witnesses.roster), roster);
        roster_finish(&witnesses.roster);
        return status;
    }
    *ret = witnesses;
    ret->hold.roster = &ret->roster;
    return STATUS_OK;
}

void run_witnesses_finish(struct run_witnesses *witnesses)
{
    roster_finish(&witnesses->roster);
}

const struct witness_hold *run_witnesses_hold(const struct run_witnesses *witnesses)
{
    return witnesses->hold.command ? &witnesses->hold : NULL;
}

static json_t *plan_json(const struct campaign *campaign, const struct ledger_checkpoint *head,
                         const char *note)
{
    char root[DIGEST_HEX_SIZE];

    return json_pack("{s:s, s:o, s:s, s:I, s:I, s:s, s:s}", "campaign", campaign->uid, "database",
                     printable_or_null(store_path(campaign->store)), "run_with", "assay run --plan",
                     "checkpoint", (json_int_t)head->id, "size", (json_int_t)head->size, "root",
                     digest_hex(&head->root, root), "note", note);
}

int run_plan_show(const struct command_line *line, struct campaign *campaign, const struct key *key)
{
    const char *path = store_path_word(campaign->store);
    struct ledger_checkpoint head;
    struct error err = ERROR_INIT;
    char root[DIGEST_HEX_SIZE];
    struct text out = TEXT_INIT;
    AUTO_FREE char *note = NULL;
    int result;

    if (campaign_plan(campaign, key, &head, &err) != STATUS_OK ||
        ledger_note(campaign->store, &head, &note, &err) != STATUS_OK)
        return command_fail_store(&err);
    if (command_has(line, KEY_JSON)) {
        result = output_json(plan_json(campaign, &head, note));
        return result;
    }
    text_append_format(&out,
                       "Campaign %.8s is planned; nothing was run. Its head is checkpoint %lld:\n\n"
                       "%s\n"
                       "Whoever keeps %lld:%s can check later that this was the plan. A witness "
                       "signs it:\n\n"
                       "  assay checkpoint export --number %lld -o plan.note --db %s\n"
                       "  assay witness --key KEY --state STATE plan.note > answer\n"
                       "  assay checkpoint import answer --number %lld --roster ROSTER --db %s\n\n"
                       "Run it:\n\n"
                       "  assay run --plan %.8s --db %s\n",
                       campaign->uid, (long long)head.id, note, (long long)head.size,
                       digest_hex(&head.root, root), (long long)head.id, path, (long long)head.id,
                       path, campaign->uid, path);
    return output_text(&out);
}
