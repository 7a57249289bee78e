#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/cli/signing.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "harness/core/shell.h"
#include "harness/runner/tool.h"
#include "results/evidence/bundle.h"
#include "results/evidence/ledger.h"

enum { KEY_WITHHOLD = 0x100, KEY_UNSIGNED, KEY_SINCE, KEY_CONFIDENTIAL };

#define CAMPAIGNS_MAX 1000
#define WORDS_MAX 64

static bool show_progress(void *context, uint64_t done, uint64_t total)
{
    const bool *shown = context;

    (void)total;
    if (*shown)
        fprintf(stderr, "\rchunks %llu", (unsigned long long)done);
    return true;
}

/* How many campaigns of its plan the log has, of one of which the bundle lacks some; 0: of none. */
static json_int_t hidden_of(const struct bundle_options *options, const json_t *same_plans)
{
    for (size_t i = 0; i < options->campaign_count; i++) {
        const json_int_t here =
            member_integer(ledger_same_plan(same_plans, options->campaigns[i]), "here");

        if (here > (json_int_t)options->campaign_count)
            return here;
    }
    return 0;
}

static int tell(const struct command_line *line, const char *path,
                const struct bundle_summary *summary, const struct bundle_options *options,
                const json_t *same_plans)
{
    const bool is_signed = options->key != NULL;
    const json_int_t hidden = hidden_of(options, same_plans);
    char root[DIGEST_HEX_SIZE], sha256[DIGEST_HEX_SIZE];
    struct text out = TEXT_INIT;

    digest_hex(&summary->root, root);
    digest_hex(&summary->sha256, sha256);
    if (command_has(line, KEY_JSON))
        return output_json(json_pack(
            "{s:o, s:I, s:I, s:I, s:s, s:s, s:b}", "bundle", printable_or_null(path), "records",
            (json_int_t)summary->records, "withheld", (json_int_t)summary->withheld, "size",
            (json_int_t)summary->size, "root", root, "sha256", sha256, "signed", is_signed));
    text_append_format(&out,
                       "%s: %lld records, %lld values withheld, %s\n"
                       "SHA-256 %s\n\n"
                       "Whoever gets it checks it without this database:\n\n"
                       "  assay verify --expect-head %lld:%s ",
                       path, (long long)summary->records, (long long)summary->withheld,
                       is_signed ? "signed" : "not signed (`assay key new` makes a key)", sha256,
                       (long long)summary->size, root);
    shell_append(&out, path);
    text_append_char(&out, '\n');
    if (hidden > 0)
        text_append_format(&out,
                           "\nOf this plan the log has %lld campaigns, and the bundle says so: "
                           "whoever gets it\nasks whether this is the best of them.\n",
                           (long long)hidden);
    if (summary->confidential)
        text_append(&out,
                    "\nCosts and decisions that rest on prices marked confidential are left out: "
                    "their\nfigures tell the price. --show-confidential leaves them in.\n");
    return output_text(&out);
}

static int write_to(const struct command_line *line, struct store *store, const char *path,
                    struct bundle_options *options)
{
    struct bundle_summary summary;
    struct error err = ERROR_INIT;
    struct file_draft draft;
    json_auto_t *same_plans = NULL;
    enum status status = ledger_same_plans(store, &same_plans, &err);

    if (status == STATUS_OK)
        status = file_draft_begin(&draft, path, &err);
    if (status != STATUS_OK)
        return command_fail(&err);
    status = bundle_write(store, options, draft.stream, &summary, &err);
    status = file_draft_end(&draft, status, &err);
    if (options->context && *(bool *)options->context)
        fprintf(stderr, "\r%20s\r", "");
    return status == STATUS_OK ? tell(line, path, &summary, options, same_plans)
                               : command_fail(&err);
}

static int bundle(const struct command_line *line, struct store *store, void *context)
{
    struct signing *signing = context;
    int64_t campaigns[CAMPAIGNS_MAX];
    const char *words[WORDS_MAX], *since[WORDS_MAX], *word;
    bool progress = isatty(STDERR_FILENO) && !command_has(line, KEY_QUIET);
    struct bundle_options options = {
        .campaigns = campaigns,
        .withhold = words,
        .since = since,
        .show_confidential = command_has(line, KEY_CONFIDENTIAL),
        .key = command_has(line, KEY_UNSIGNED) ? NULL : signing_key(signing),
        .tool_version = tool_version(),
        .context = &progress,
        .progress = show_progress,
    };
    struct error err = ERROR_INIT;

    for (; options.campaign_count < line->argument_count; options.campaign_count++)
        if (store_find_campaign(store, line->arguments[options.campaign_count],
                                &campaigns[options.campaign_count], &err) != STATUS_OK) {
            command_say(&err);
            return ASSAY_EXIT_STORE;
        }
    for (; (word = command_value_at(line, KEY_WITHHOLD, options.withhold_count));) {
        if (options.withhold_count == WORDS_MAX) {
            error_set(&err, STATUS_INVALID, "--withhold: at most %d of them", WORDS_MAX);
            return command_fail(&err);
        }
        words[options.withhold_count++] = word;
    }
    for (; (word = command_value_at(line, KEY_SINCE, options.since_count));) {
        if (options.since_count == WORDS_MAX) {
            error_set(&err, STATUS_INVALID, "--since: at most %d of them", WORDS_MAX);
            return command_fail(&err);
        }
        since[options.since_count++] = word;
    }
    return write_to(line, store, command_value(line, KEY_OUTPUT), &options);
}

static int run(const struct command_line *line)
{
    CLEANUP(signing_close) struct signing signing = {0};
    struct error err = ERROR_INIT;

    if (!command_has(line, KEY_OUTPUT)) {
        error_set(&err, STATUS_INVALID, "-o FILE: say where the bundle shall go");
        return command_fail(&err);
    }
    if (signing_open(NULL, &signing, &err) != STATUS_OK)
        return command_fail(&err);
    return with_store(line, STORE_WRITE, bundle, &signing);
}

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "FILE", 0, "write the bundle here"},
    {"withhold", KEY_WITHHOLD, "NAME", OPTION_REPEATS,
     "leave this out: a reading's name or pattern (host.name, 'device.*') or a member of a type of "
     "record (campaign.command, stack.path); may be given several times"},
    {"since", KEY_SINCE, "SIZE:ROOT", OPTION_REPEATS,
     "prove that the log continues this head, which was kept; for checkpoints that is proved "
     "in any case; may be given several times"},
    {"show-confidential", KEY_CONFIDENTIAL, NULL, 0,
     "include costs and decisions that use prices marked confidential, which are otherwise "
     "withheld"},
    {"unsigned", KEY_UNSIGNED, NULL, 0, "do not sign, even where there is a key"},
    {0}};

const struct command command_bundle = {
    .name = "bundle",
    .arguments = "CAMPAIGN...",
    .summary = "Write campaigns into one file that can be verified by itself",
    .text = "The bundle has every record of these campaigns, with the proof that they are in this "
            "database's log. `assay verify` checks it anywhere, `assay import` takes it into "
            "another database. In place of what is withheld it has a salted commitment: the proofs "
            "remain valid, and the value cannot be guessed.\n"
            "\n"
            "  assay bundle 9f2c41aa -o offer.assay --withhold host.name",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_QUIET,
    .arguments_min = 1,
    .arguments_max = CAMPAIGNS_MAX,
    .completes = "CAMPAIGN",
    .run = run,
};
