#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/commands.h"
#include "harness/cli/defaults.h"
#include "harness/cli/interrupt.h"
#include "harness/cli/output.h"
#include "harness/cli/with_store.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/log.h"
#include "harness/core/text.h"
#include "harness/library/inside.h"

enum {
    KEY_HEAD = 0x100,
    KEY_PUBLIC,
    KEY_NONCE,
    KEY_FAST,
    KEY_THREADS,
    KEY_TSA,
    KEY_ROSTER,
    KEY_WITNESSES,
    KEY_RELEASES,
    KEY_RELEASE_KEY,
    KEY_QUOTE_KEY
};

#define KEYS_MAX 16
#define BAR_WIDTH 24
#define REDRAW_NS INT64_C(100000000) /* of the bar on a terminal */
#define LINE_NS INT64_C(10000000000) /* between two lines elsewhere */

/* How far it is, as it is shown. */
struct bar {
    bool terminal, quiet;
    int wake_fd;      /* readable after Ctrl-C */
    int64_t shown_ns; /* when it was last shown */
};

/* A bar on a terminal; elsewhere a line now and then, none for what is done at once. */
static void show_progress(struct bar *bar, const char *doing, uint64_t done, uint64_t total)
{
    int64_t now = clock_monotonic_ns();
    double part = total > 0 ? (double)done / (double)total : 0;
    int filled = (int)(part * BAR_WIDTH);

    if (bar->quiet || total == 0 || now - bar->shown_ns < (bar->terminal ? REDRAW_NS : LINE_NS))
        return;
    bar->shown_ns = now;
    if (bar->terminal)
        fprintf(stderr, "\r\033[K%-12s [%.*s%*s] %3d %%", doing, filled, "########################",
                BAR_WIDTH - filled, "", (int)(100 * part));
    else
        log_info("%s %d %%", doing, (int)(100 * part));
}

static bool progress(void *context, const char *doing, uint64_t done, uint64_t total)
{
    struct bar *bar = context;

    show_progress(bar, doing, done, total);
    return !interrupt_asked(bar->wake_fd);
}

/* A rate is shown only for what took long enough to have one. */
static void append_speed(struct text *out, const struct assay_verify_summary *summary)
{
    char size[TEXT_HUMAN_SIZE], time[TEXT_HUMAN_SIZE];

    text_append_format(out, "%s in %s", text_human_bytes((double)summary->bytes, size),
                       text_human_duration(1e9 * summary->seconds, time));
    if (summary->seconds >= 1)
        text_append_format(out, ", %.3g MB/s", (double)summary->bytes / 1e6 / summary->seconds);
    text_append_char(out, '\n');
}

static void append_answer(struct text *out, const struct assay_verify_summary *summary,
                          const char *path)
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

static void append_signers(struct text *out, const struct assay_verify_summary *summary)
{
    CLEANUP(text_finish) struct text line = TEXT_INIT;

    if (summary->trusted_signatures > 0)
        text_append_format(&line, "Signed by %s, which you trust.", summary->signers);
    else if (summary->authors)
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
static void append_meaning(struct text *out, const struct assay_verify_summary *summary)
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

static void append_details(struct text *out, const struct assay_verify_summary *summary)
{
    text_append_format(out, "\n%lld records of a log of %lld", (long long)summary->records,
                       (long long)summary->leaves);
    if (summary->leaves > 0)
        text_append_format(out, " with root %s", summary->root);
    text_append(out, "; ");
    append_speed(out, summary);
}

static void append_finding(struct text *out, const struct assay_verify_finding *one)
{
    text_append_format(out, "%s: %s: ", one->level, one->check);
    if (one->table)
        text_append_format(out, "%s%s%s: ", one->table, one->key ? " " : "",
                           one->key ? one->key : "");
    text_append_format(out, "%s\n", one->message ? one->message : "");
}

/* The worst first. */
static void append_findings(struct text *out, const struct assay_verification *made)
{
    const struct assay_verify_finding *one;

    for (int level = VERIFY_WRONG; level >= VERIFY_NOTE; level--)
        for (size_t i = 0; (one = assay_verification_finding(made, i)); i++)
            if (!strcmp(one->level, verify_levels[level]))
                append_finding(out, one);
}

/* The answer in three parts, then what it rests on. */
static int show(const struct assay_verification *made, const char *path, bool json)
{
    const struct assay_verify_summary *summary = assay_verification_summary(made);
    struct text out = TEXT_INIT;
    int result;

    if (json) {
        result = output_json(library_verification_json(made));
    } else {
        append_answer(&out, summary, path);
        append_signers(&out, summary);
        append_meaning(&out, summary);
        append_details(&out, summary);
        append_findings(&out, made);
        result = output_text(&out);
    }
    return result != ASSAY_EXIT_OK   ? result
           : summary->wrong > 0      ? ASSAY_EXIT_TRIALS
           : summary->unverified > 0 ? ASSAY_EXIT_DEVICE
                                     : ASSAY_EXIT_OK;
}

static enum status read_options(const struct command_line *line, const char *keys[KEYS_MAX],
                                struct assay_verify_options *options, struct error *err)
{
    const char *threads = command_value(line, KEY_THREADS), *word;
    const char *witnesses = command_value(line, KEY_WITNESSES);
    int64_t count = 0;

    for (; (word = command_value_at(line, KEY_PUBLIC, options->key_count)); options->key_count++) {
        if (options->key_count == KEYS_MAX)
            return error_set(err, STATUS_INVALID, "--key: at most %d of them", KEYS_MAX);
        keys[options->key_count] = word;
    }
    if (threads && (!text_parse_i64(threads, &count) || count < 1 || count > 64))
        return error_set(err, STATUS_INVALID, "--threads %s: write a number from 1 to 64", threads);
    if (witnesses && (!text_parse_i64(witnesses, &options->witnesses) || options->witnesses < 1))
        return error_set(err, STATUS_INVALID,
                         "--witnesses %s: write a number from 1 to that of the witnesses in the "
                         "file that --roster names",
                         witnesses);
    options->threads = (int)count;
    options->keys = keys;
    options->roster =
        command_has(line, KEY_ROSTER) ? command_value(line, KEY_ROSTER) : defaults()->roster;
    options->releases = command_value(line, KEY_RELEASES);
    options->release_key = command_value(line, KEY_RELEASE_KEY);
    options->quote_key = command_value(line, KEY_QUOTE_KEY);
    options->expect_head = command_value(line, KEY_HEAD);
    options->nonce = command_value(line, KEY_NONCE);
    options->tsa_ca = command_value(line, KEY_TSA);
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
static int show_unchecked(const struct assay_verification *made, const char *path, bool json,
                          bool of_system)
{
    struct text out = TEXT_INIT;

    if (json)
        return of_system ? output_json(library_verification_json(made)) : 0;
    if (of_system)
        text_append_format(
            &out, "%s: COULD NOT BE VERIFIED: nothing is known of what was not checked\n", path);
    append_findings(&out, made);
    return output_text(&out);
}

static int run(const struct command_line *line)
{
    const char *path = line->argument_count ? line->arguments[0] : command_database(line);
    const bool json = command_has(line, KEY_JSON);
    struct bar bar = {.terminal = isatty(STDERR_FILENO) == 1,
                      .quiet = command_has(line, KEY_QUIET),
                      .shown_ns = clock_monotonic_ns()};
    struct assay_verify_options options = ASSAY_VERIFY_OPTIONS_INIT;
    struct assay_verification *made = NULL;
    const char *keys[KEYS_MAX];
    struct error err = ERROR_INIT;
    enum status status;
    int result;

    options.context = &bar;
    options.progress = progress;
    options.wait_s = database_wait_s(STORE_READ);
    if (read_options(line, keys, &options, &err) != STATUS_OK ||
        interrupt_open(INTERRUPT_READING, &bar.wake_fd, &err) != STATUS_OK)
        return command_fail(&err);
    status = (enum status)assay_verify(path, &options, &made);
    if (bar.terminal && !bar.quiet)
        fprintf(stderr, "\r\033[K");
    if (status == STATUS_OK) {
        result = show(made, path, json);
    } else {
        if (made)
            show_unchecked(made, path, json, is_of_system(status));
        command_say(library_error());
        result = exit_of(status);
    }
    assay_verification_free(made);
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
    {"releases", KEY_RELEASES, "FILE", 0,
     "every campaign must have been run by a program that these signed statements name (in-toto, "
     "SLSA provenance v1, in DSSE envelopes)"},
    {"release-key", KEY_RELEASE_KEY, "PUBLIC|FILE", 0, "whose key has signed each of them"},
    {"quote-key", KEY_QUOTE_KEY, "FILE", 0,
     "every campaign's plan and end must have been quoted by the TPM with this public key (PEM; "
     "see "
     "`assay run --quote`)"},
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
        "first trial (--roster, --witnesses) shows which campaign was meant. Where they saw its "
        "end, "
        "too, the time that passed by their clocks must agree with the file's. --releases names "
        "the "
        "release that measured: statements, which harness/package/provenance.py makes of a "
        "reproducible build.",
    .options = options,
    .groups = GROUP_STORE | GROUP_JSON | GROUP_QUIET,
    .arguments_max = 1,
    .completes = "FILE",
    .run = run,
};
