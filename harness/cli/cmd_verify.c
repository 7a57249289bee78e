#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/commands.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/core/shortage.h"
#include "harness/core/text.h"
#include "harness/core/type.h"
#include "harness/runner/cell_from_record.h"
#include "results/evidence/bundle.h"
#include "results/evidence/verify.h"
#include "results/evidence/witnessing.h"

enum {
    KEY_HEAD = 0x100,
    KEY_PUBLIC,
    KEY_NONCE,
    KEY_FAST,
    KEY_THREADS,
    KEY_TSA,
    KEY_ROSTER,
    KEY_WITNESSES
};

#define KEYS_MAX 16
#define BAR_WIDTH 24
#define REDRAW_NS INT64_C(100000000) /* of the bar on a terminal */
#define LINE_NS INT64_C(10000000000) /* between two lines elsewhere */

/* What the verifier's calls come back with. */
struct report {
    json_t *findings, *campaigns, *shown;
    struct text lines[VERIFY_WRONG + 1]; /* of the findings, by level, unless in JSON */
    bool json, terminal, quiet;
    unsigned long shortages; /* of memory, before */
    int wake_fd;             /* readable after Ctrl-C */
    int64_t shown_ns;        /* when the progress was last shown */
};

static void found(void *context, const struct verify_finding *finding)
{
    struct report *report = context;
    const char *level = verify_levels[finding->level];
    struct text *line = &report->lines[finding->level];

    /* What could not be read for want of memory is not wrong. */
    if (finding->level == VERIFY_WRONG && shortage_count() != report->shortages)
        return;
    if (report->json) {
        CLEANUP(text_finish) struct text message = TEXT_INIT;

        text_append_printable(&message, finding->message, strlen(finding->message));
        json_array_append_new(report->findings,
                              json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s}", "code", finding->code,
                                        "level", level, "check", verify_check_name(finding->check),
                                        "table", finding->table, "key", finding->key, "message",
                                        text_ok(&message) ? message.data : ""));
        return;
    }
    text_append_format(line, "%s: %s: ", level, verify_check_name(finding->check));
    if (finding->table) /* in a bundle's row it can be any value */
        text_append_printable(line, finding->table, strlen(finding->table));
    text_append(line, finding->table && finding->key ? " " : "");
    if (finding->key)
        text_append_printable(line, finding->key, strlen(finding->key));
    text_append(line, finding->table || finding->key ? ": " : "");
    text_append_printable(line, finding->message, strlen(finding->message));
    text_append_char(line, '\n');
}

static void take_campaign(void *context, json_t *campaign)
{
    json_array_append(((struct report *)context)->campaigns, campaign);
}

/* A bar on a terminal; elsewhere a line now and then, none for what is done at once. */
static void show_progress(struct report *report, const struct verify_progress *progress)
{
    int64_t now = clock_monotonic_ns();
    double part = progress->total > 0 ? (double)progress->done / (double)progress->total : 0;
    int filled = (int)(part * BAR_WIDTH);

    if (report->quiet || progress->total == 0 ||
        now - report->shown_ns < (report->terminal ? REDRAW_NS : LINE_NS))
        return;
    report->shown_ns = now;
    if (report->terminal)
        fprintf(stderr, "\r\033[K%-12s [%.*s%*s] %3d %%", progress->doing, filled,
                "########################", BAR_WIDTH - filled, "", (int)(100 * part));
    else
        log_info("%s %d %%", progress->doing, (int)(100 * part));
}

static bool progress(void *context, const struct verify_progress *progress)
{
    struct report *report = context;

    show_progress(report, progress);
    return !interrupt_asked(report->wake_fd);
}

static json_t *summary_json(const struct verify_summary *summary, struct report *report,
                            const char *path, bool checked)
{
    const bool verified = checked && summary->wrong + summary->unverified == 0;
    json_t *json = type_to_json(&verify_summary_type, summary);

    json_object_update_new(json, json_pack("{s:o, s:b, s:s, s:O, s:O, s:O}", "file",
                                           printable_or_null(path), "verified", verified, "state",
                                           verified             ? "verified"
                                           : summary->wrong > 0 ? "not_verified"
                                                                : "could_not_verify",
                                           "campaigns", report->campaigns, "findings",
                                           report->findings, "shown", report->shown));
    return json;
}

/* A rate is shown only for what took long enough to have one. */
static void append_speed(struct text *out, const struct verify_summary *summary)
{
    char size[TEXT_HUMAN_SIZE], time[TEXT_HUMAN_SIZE];

    text_append_format(out, "%s in %s", text_human_bytes((double)summary->bytes, size),
                       text_human_duration(1e9 * summary->seconds, time));
    if (summary->seconds >= 1)
        text_append_format(out, ", %.3g MB/s", (double)summary->bytes / 1e6 / summary->seconds);
    text_append_char(out, '\n');
}

static void append_answer(struct text *out, const struct verify_summary *summary, const char *path)
{
    text_append_format(out, "%s: ", path);
    if (summary->wrong > 0)
        text_append_format(out, "NOT VERIFIED: %lld wrong", (long long)summary->wrong);
    else if (summary->unverified > 0)
        text_append_format(out, "COULD NOT BE VERIFIED in part: nothing is wrong, %lld unverified",
                           (long long)summary->unverified);
    else
        text_append(out, "verified: nothing is wrong");
    text_append_format(out, "; recomputed from the samples: %lld estimate%s, %lld comparison%s\n",
                       (long long)summary->estimates, summary->estimates == 1 ? "" : "s",
                       (long long)summary->comparisons, summary->comparisons == 1 ? "" : "s");
}

static void append_signers(struct text *out, const struct verify_summary *summary,
                           const struct verify_options *options)
{
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    if (summary->trusted_signatures > 0)
        text_append_format(&line, "Signed by %s, which you trust.", summary->signers);
    else if (verify_asks_for_authors(options))
        text_append(&line, "Not signed by a key that you trust.");
    else if (summary->signatures > 0)
        text_append_format(
            &line,
            "Signed by %s: whose key that is, the file cannot show (name the key that "
            "you expect with --key).",
            summary->signers[0] ? summary->signers : "who handed it over");
    else
        text_append(&line, "Not signed.");
    if (text_ok(&line))
        output_wrapped(out, line.data, 0, output_columns());
    out->failed |= line.failed;
}

/* What the verdict rests on, and what no file shows. */
static void append_meaning(struct text *out, const struct verify_summary *summary)
{
    output_wrapped(
        out,
        summary->wrong > 0 ? "Do not rely on this file: what is wrong stands below."
        : summary->unverified > 0
            ? "Nothing is known of what is named as `unverified` below: another version of the "
              "analysis or of the rules made it, and this one comes to something else. An assay of "
              "that version can verify it."
        : summary->signatures > 0
            ? "Shows that nothing was changed after it was signed. Does not show that the signer's "
              "machine measured honestly (`assay reproduce` on a machine of yours does), nor what "
              "the signer left out (--roster, --witnesses)."
            : "Shows that the file agrees with itself. Does not show that its owner did not "
              "rewrite "
              "all of it (--expect-head, --key), nor that the machine measured honestly (`assay "
              "reproduce`).",
        0, output_columns());
}

static void append_details(struct text *out, const struct verify_summary *summary)
{
    char root[DIGEST_HEX_SIZE];

    text_append_format(out, "\n%lld records of a log of %lld", (long long)summary->rows,
                       (long long)summary->leaves);
    if (summary->leaves > 0)
        text_append_format(out, " with root %s", digest_hex(&summary->root, root));
    text_append(out, "; ");
    append_speed(out, summary);
}

/* The worst first. */
static void append_findings(struct text *out, const struct report *report)
{
    for (int level = VERIFY_WRONG; level >= VERIFY_NOTE; level--) {
        text_append_bytes(out, report->lines[level].data, report->lines[level].length);
        out->failed |= report->lines[level].failed;
    }
}

/* The answer in three parts, then what it rests on. */
static int show(const struct verify_summary *summary, const struct verify_options *options,
                struct report *report, const char *path)
{
    struct text out;
    int result;

    if (report->json) {
        result = output_json(summary_json(summary, report, path, true));
    } else {
        text_init(&out);
        append_answer(&out, summary, path);
        append_signers(&out, summary, options);
        append_meaning(&out, summary);
        append_details(&out, summary);
        append_findings(&out, report);
        result = output_text(&out);
    }
    return result != ASSAY_EXIT_OK   ? result
           : summary->wrong > 0      ? ASSAY_EXIT_TRIALS
           : summary->unverified > 0 ? ASSAY_EXIT_DEVICE
                                     : ASSAY_EXIT_OK;
}

static enum status read_options(const struct command_line *line, struct key_public *keys,
                                struct roster *roster, struct verify_options *options,
                                struct error *err)
{
    const char *threads = command_value(line, KEY_THREADS), *word;
    const char *witnesses = command_value(line, KEY_WITNESSES);
    int64_t count = 0;

    for (; (word = command_value_at(line, KEY_PUBLIC, options->key_count)); options->key_count++) {
        enum status status;

        if (options->key_count == KEYS_MAX)
            return error_set(err, STATUS_INVALID, "--key: at most %d of them", KEYS_MAX);
        status = key_public_read(word, &keys[options->key_count], err);
        if (status != STATUS_OK)
            return error_set(err, STATUS_INVALID, "%s", err->message);
    }
    if (threads && (!text_parse_i64(threads, &count) || count < 1 || count > 64))
        return error_set(err, STATUS_INVALID, "--threads %s: write a number from 1 to 64", threads);
    if (command_has(line, KEY_ROSTER)) {
        enum status status = roster_read(command_value(line, KEY_ROSTER), roster, err);

        if (status != STATUS_OK)
            return error_set(err, STATUS_INVALID, "%s", err->message);
        options->roster = roster;
    }
    if (witnesses && (!text_parse_i64(witnesses, &options->witnesses) || options->witnesses < 1 ||
                      !options->roster || options->witnesses > (int64_t)roster_witnesses(roster)))
        return error_set(err, STATUS_INVALID,
                         "--witnesses %s: write a number from 1 to that of the witnesses in the "
                         "file that --roster names",
                         witnesses);
    options->threads = (int)count;
    options->keys = keys;
    options->expect_head = command_value(line, KEY_HEAD);
    options->nonce = command_value(line, KEY_NONCE);
    options->tsa_ca = command_value(line, KEY_TSA);
    if (options->tsa_ca && access(options->tsa_ca, R_OK) != 0)
        return error_set_errno(err, errno, "--tsa-ca %s", options->tsa_ca);
    options->skip_estimates = command_has(line, KEY_FAST);
    return STATUS_OK;
}

/* The system refused something, so nothing is known of the file: neither verified nor wrong. */
static bool is_of_system(enum status status)
{
    return status == STATUS_NO_MEMORY || status == STATUS_NO_SPACE || status == STATUS_IO;
}

static int exit_of(enum status status)
{
    if (is_of_system(status))
        return ASSAY_EXIT_SYSTEM;
    switch (status) {
    case STATUS_INVALID:
        return ASSAY_EXIT_USAGE;
    case STATUS_INTERRUPTED:
        return ASSAY_EXIT_INTERRUPTED;
    default:
        return ASSAY_EXIT_STORE;
    }
}

/* What was found before it ended early; `of_system`: not by a fault of the file. */
static int show_unchecked(const struct verify_summary *summary, struct report *report,
                          const char *path, bool of_system)
{
    struct text out = TEXT_INIT;

    if (report->json)
        return of_system ? output_json(summary_json(summary, report, path, false)) : 0;
    if (of_system)
        text_append_format(
            &out, "%s: COULD NOT BE VERIFIED: nothing is known of what was not checked\n", path);
    append_findings(&out, report);
    return output_text(&out);
}

static int run(const struct command_line *line)
{
    const char *path = line->argument_count ? line->arguments[0] : command_database(line);
    struct key_public keys[KEYS_MAX];
    struct report report = {.json = command_has(line, KEY_JSON),
                            .terminal = isatty(STDERR_FILENO) == 1,
                            .quiet = command_has(line, KEY_QUIET),
                            .shown_ns = clock_monotonic_ns()};
    CLEANUP(roster_finish) struct roster roster = {0};
    struct verify_options options = {.context = &report,
                                     .found = found,
                                     .campaign = take_campaign,
                                     .progress = progress,
                                     .derive = cell_from_record,
                                     .tolerance = tolerance_from_record,
                                     .wait_ns = database_wait_ns(STORE_READ)};
    struct verify_summary summary = {0};
    struct error err = ERROR_INIT;
    enum status status;
    int result;

    verify_watch_memory();
    if (read_options(line, keys, &roster, &options, &err) != STATUS_OK ||
        interrupt_open(INTERRUPT_READING, &report.wake_fd, &err) != STATUS_OK)
        return command_fail(&err);
    for (int level = VERIFY_NOTE; level <= VERIFY_WRONG; level++)
        text_init(&report.lines[level]);
    report.findings = json_array();
    report.campaigns = json_array();
    report.shown = json_pack("{s:[], s:[]}", "campaigns", "logs");
    options.shown = report.shown;
    report.shortages = shortage_count();
    status = bundle_recognise(path) ? bundle_verify(path, &options, &summary, &err)
                                    : verify_file(path, &options, &summary, &err);
    if (report.terminal && !report.quiet)
        fprintf(stderr, "\r\033[K");
    if (status == STATUS_OK && shortage_count() != report.shortages)
        status = error_set(&err, STATUS_NO_MEMORY,
                           "%s: memory ran out while it was checked, so nothing is known of it: "
                           "free some memory or raise the limit (ulimit -v), then check it again",
                           path);
    if (status == STATUS_OK) {
        result = show(&summary, &options, &report, path);
    } else {
        show_unchecked(&summary, &report, path, is_of_system(status));
        command_say(&err);
        result = exit_of(status);
    }
    json_decref(report.findings);
    json_decref(report.campaigns);
    for (int level = VERIFY_NOTE; level <= VERIFY_WRONG; level++)
        text_finish(&report.lines[level]);
    json_decref(report.shown);
    return result;
}

static const struct argp_option options[] = {
    {"expect-head", KEY_HEAD, "ROOT", 0,
     "the log must have had this head: ROOT or SIZE:ROOT, as `assay checkpoint` printed it"},
    {"key", KEY_PUBLIC, "PUBLIC|FILE", OPTION_REPEATS,
     "every campaign must be signed by this public key, or a file that holds it; may be given "
     "several times: any of them"},
    {"roster", KEY_ROSTER, "FILE", 0,
     "the keys that you trust, as authors and witnesses, with dates (see assay witness): every "
     "campaign must be signed by one of its authors while that key counted"},
    {"witnesses", KEY_WITNESSES, "K", 0,
     "every campaign's plan must have been cosigned before its first trial by K witnesses of the "
     "roster"},
    {"nonce", KEY_NONCE, "TEXT", 0, "every campaign must answer this nonce"},
    {"tsa-ca", KEY_TSA, "FILE", 0,
     "certificates (PEM) of time-stamping authorities that you trust: every time stamp must be "
     "signed by one of theirs, as `openssl ts -verify` judges at the stamped time"},
    {"no-estimates", KEY_FAST, NULL, 0, "do not recompute estimates"},
    {"threads", KEY_THREADS, "N", 0, "threads to use (default: one a processor)"},
    {0}};

const struct command command_verify = {
    .name = "verify",
    .arguments = "[FILE]",
    .summary = "Check that a database or bundle is what it claims to be",
    .text =
        "Reads the file and changes nothing: its structure and schema, every record's digest, "
        "the tables, rebuilt from the records, the log's tree against its checkpoints and "
        "signatures, what was planned against what is there, cells against plan, protocol and "
        "declared workload, trials against what they must hold, and every estimate again from "
        "the raw samples. First the answer: verified or not, signed by whom, what that shows and "
        "what no file shows; then one line a finding; `wrong` is what fails, `unverified` what "
        "this "
        "version cannot check, `note` what a reader should know. Exit status 0: verified; 1: "
        "something is wrong, or the file is damaged or cut off; 3: nothing is wrong, but "
        "something could not be verified, since another version of the analysis or of the "
        "rules made it; 4: it cannot be opened, is neither a database nor a bundle of assay, or "
        "one of a newer version; 5: it could not be verified, because memory ran out or the "
        "system let no more files be opened or read, which says nothing about the file (with "
        "--json `state` is could_not_verify).\n"
        "\n"
        "The owner of the file can rewrite all of it, the log too. A head that was published "
        "(--expect-head) or a key that the owner does not have (--key) shows that. The owner "
        "of the key may still have chosen what to keep: a plan that others saw before its "
        "first trial (--roster, --witnesses) shows which campaign was meant.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_QUIET,
    .arguments_max = 1,
    .completes = "FILE",
    .run = run,
};
