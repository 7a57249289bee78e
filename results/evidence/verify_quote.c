/* Quotes of TPMs at a campaign's plan and end. */
#include "harness/core/shortage.h"
#include "results/evidence/quote.h"
#include "results/evidence/verify_internal.h"

#define RATE 0.325 /* how far a TPM's clock, which can be adjusted, may be off */
#define SLACK_NS 2e9

/* A quote with what the file says of its times. */
struct quoted {
    struct quote quote;
    int64_t head_ns; /* when the head was made that is its nonce */
    int64_t kept_ns; /* when it was stored */
};

/* The quotes of one campaign. */
struct quotes {
    struct quoted plan, end;
    bool has_plan, has_end;
};

/* columns: 0 dump, 1 utc_ns, 2 text */
#define QUOTES                                                                                     \
    "SELECT d.id, d.utc_ns, o.body FROM dump d JOIN content o ON o.digest = d.output WHERE "       \
    "d.campaign = ?1 AND d.tool = '" QUOTE_TOOL "' AND d.status = 'ok' AND o.body IS NOT NULL "    \
    "ORDER BY d.id"

/* The head whose root it has as nonce: its time, and whether it is an end; false: there is none. */
static bool find_head(struct verify *verify, int64_t campaign, struct quoted *quoted,
                      bool *ret_is_end)
{
    sqlite3_stmt *head = verify_prepare(verify, verify->db,
                                        "SELECT utc_ns, kind = 'end' FROM checkpoint WHERE campaign"
                                        " = ?1 AND root = ?2",
                                        VERIFY_SIGNATURE, "checkpoint");
    bool found;

    sqlite3_bind_int64(head, 1, campaign);
    sqlite3_bind_blob(head, 2, quoted->quote.nonce.bytes, DIGEST_SIZE, SQLITE_STATIC);
    found = head && verify_step(verify, head, VERIFY_SIGNATURE, "checkpoint");
    if (found) {
        quoted->head_ns = sqlite3_column_int64(head, 0);
        *ret_is_end = sqlite3_column_int(head, 1) == 1;
    }
    sqlite3_finalize(head);
    return found;
}

/* What is wrong with a quote; NULL: nothing, and it is among the others. */
static const char *take_quote(struct verify *verify, int64_t campaign, sqlite3_stmt *row,
                              struct quotes *quotes, struct error *err)
{
    struct quoted quoted = {.kept_ns = sqlite3_column_int64(row, 1)};
    bool is_end = false;

    if (quote_read(text_at(row, 2), &quoted.quote, err) != STATUS_OK) {
        if (err->code == STATUS_NO_MEMORY)
            shortage_note();
        return err->message;
    }
    if (!find_head(verify, campaign, &quoted, &is_end))
        return "its nonce is the root of no head of its campaign: it was made for something else";
    if (quotes->has_plan && !digest_equal(&quotes->plan.quote.key, &quoted.quote.key))
        return "it is signed by another key than the quote of the plan";
    if (is_end)
        quotes->end = quoted;
    else if (!quotes->has_plan)
        quotes->plan = quoted;
    quotes->has_end |= is_end;
    quotes->has_plan |= !is_end;
    return NULL;
}

/* The TPM's clock against the file's, where the machine was not started again between. */
static void compare_clocks(struct verify *verify, const char *key, const char *uid,
                           const struct quotes *quotes)
{
    const struct quoted *plan = &quotes->plan, *end = &quotes->end;
    const double elapsed = 1e6 * (double)(end->quote.clock_ms - plan->quote.clock_ms);
    const double least = (double)end->head_ns - (double)plan->kept_ns;
    const double most = (double)end->kept_ns - (double)plan->head_ns;

    if (end->quote.resets != plan->quote.resets)
        VERIFY_REPORT(verify, QUOTE_RESET, key, uid);
    else if (elapsed < least * (1 - RATE) - SLACK_NS || elapsed > most * (1 + RATE) + SLACK_NS)
        VERIFY_REPORT(verify, QUOTE_CLOCK, key, uid, elapsed / 1e9, least / 1e9, most / 1e9);
}

/* columns: 0 campaign, 1 uid */
static void check_campaign(struct verify *verify, sqlite3_stmt *campaign, sqlite3_stmt *rows)
{
    const struct digest *wanted = verify->options->quote_key;
    struct quotes quotes = {.has_plan = false};
    const char *uid = text_at(campaign, 1);
    char key[24], hex[DIGEST_HEX_SIZE];
    bool both;

    sqlite3_bind_int64(rows, 1, sqlite3_column_int64(campaign, 0));
    while (verify_step(verify, rows, VERIFY_SIGNATURE, "dump")) {
        struct error err = ERROR_INIT;
        const char *wrong =
            take_quote(verify, sqlite3_column_int64(campaign, 0), rows, &quotes, &err);

        if (wrong)
            VERIFY_REPORT(verify, QUOTE_BAD, key_of(rows, key), wrong);
    }
    sqlite3_reset(rows);
    key_of(campaign, key);
    both = quotes.has_plan && quotes.has_end;
    if (both) {
        VERIFY_REPORT(verify, QUOTE, key, uid,
                      (double)(quotes.end.quote.clock_ms - quotes.plan.quote.clock_ms) / 1e3,
                      quotes.plan.quote.has_log ? "led to by the log of the boot" : "without a log",
                      digest_hex(&quotes.plan.quote.key, hex));
        compare_clocks(verify, key, uid, &quotes);
    }
    if (wanted && (!both || !digest_equal(&quotes.plan.quote.key, wanted)))
        VERIFY_REPORT(verify, QUOTE_NONE, key, uid);
}

void verify_quotes(struct verify *verify)
{
    sqlite3_stmt *campaign =
        verify_prepare(verify, verify->db, "SELECT id, uid FROM campaign ORDER BY id",
                       VERIFY_SIGNATURE, "campaign");
    sqlite3_stmt *rows = verify_prepare(verify, verify->db, QUOTES, VERIFY_SIGNATURE, "dump");

    while (campaign && rows && verify_step(verify, campaign, VERIFY_SIGNATURE, "campaign"))
        check_campaign(verify, campaign, rows);
    sqlite3_finalize(campaign);
    sqlite3_finalize(rows);
}
