/*
 * Campaigns and cells against what they follow from: the recorded plan, the protocol, the declared
 * workload, and, by the caller's formulas, the work of an iteration.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/canonical.h"
#include "harness/core/number.h"
#include "protocols/serving/saturation.h"
#include "protocols/data_seed.h"
#include "results/analysis/judged.h"
#include "results/evidence/verify_internal.h"

/* Calls of the caller's formulas: cells of one file repeat the same few declarations. */
#define DERIVED_MAX 20000

/* A member of a stored JSON object, and the column that repeats it. */
struct same {
    const char *member, *column;
};
static const struct same campaign_of_plan[] = {
    {"order_seed", "order_seed"}, {"protocol_digest", "protocol"}, {0}};
static const struct same campaign_of_tool[] = {
    {"version", "tool_version"}, {"digest", "tool_digest"}, {0}};
static const struct same cell_of_plan[] = {
    {"protocol", "protocol_name"}, {"protocol_digest", "protocol"}, {0}};
static const struct same cell_of_cell[] = {
    {"ordinal", "ordinal"}, {"workload", "workload_name"}, {"workload_digest", "workload"},
    {"seed", "seed"},       {"device", "device_spec"},     {0}};
static const struct same cell_of_protocol[] = {
    {"name", "protocol_name"}, {"trials", "trials"}, {0}};
static const struct same cell_of_workload[] = {
    {"workload", "workload_name"}, {"kind", "kind"}, {0}};

struct context {
    struct verify *verify;
    json_t *plan;     /* of the current campaign; NULL: withheld or unreadable */
    json_t *contents; /* object: protocols and workloads by digest, parsed; null: as above */
    json_t *derived;  /* object: columns by workload, precision and batch, or why there are none */
    int64_t wrong_before; /* findings of other steps */
    int64_t underived, underived_tolerances;
    char reason[256]; /* why the first cell was not derived */
};

/* A column as text, as json_text gives the value that it repeats. */
static const char *column_text(sqlite3_stmt *row, int column, char hex[DIGEST_HEX_SIZE])
{
    struct digest digest;

    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return "(unknown)";
    if (sqlite3_column_type(row, column) != SQLITE_BLOB ||
        sqlite3_column_bytes(row, column) != DIGEST_SIZE)
        return text_at(row, column);
    memcpy(digest.bytes, sqlite3_column_blob(row, column), DIGEST_SIZE);
    return digest_hex(&digest, hex);
}

/* Seeds use all 64 bits, and JSON's integers have a sign. */
static const char *json_text(const json_t *value, bool is_text, char number[24])
{
    const json_int_t integer = json_integer_value(value);

    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_null(value))
        return "(unknown)";
    if (!json_is_integer(value))
        return "(missing)";
    if (is_text)
        snprintf(number, 24, "%" PRIu64, (uint64_t)integer);
    else
        snprintf(number, 24, "%lld", (long long)integer);
    return number;
}

static int find_column(sqlite3_stmt *row, const char *name)
{
    for (int i = 0; i < sqlite3_column_count(row); i++)
        if (!strcmp(sqlite3_column_name(row, i), name))
            return i;
    return -1;
}

/* columns: 0 the key, 1 what messages call the row */
static void check_column(struct verify *verify, const char *table, sqlite3_stmt *row,
                         const char *name, const json_t *value, const char *source)
{
    const int column = find_column(row, name);
    const bool is_text = column >= 0 && sqlite3_column_type(row, column) == SQLITE_TEXT;
    char number[24], hex[DIGEST_HEX_SIZE], key[24];
    const char *wanted = json_text(value, is_text, number);
    const char *stored = column >= 0 ? column_text(row, column, hex) : "";

    if (column >= 0 && !strcmp(wanted, stored))
        return;
    snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
    VERIFY_REPORT_AT(verify, CELL_COLUMN, VERIFY_CELL, table, key, text_at(row, 1), name, stored,
                     source, wanted);
}

static void check_same(struct verify *verify, const char *table, sqlite3_stmt *row,
                       const json_t *object, const struct same *pairs, const char *source)
{
    for (; pairs->member; pairs++)
        check_column(verify, table, row, pairs->column, json_object_get(object, pairs->member),
                     source);
}

/* The JSON of a content's row: digest and body in these columns. NULL: withheld, or no JSON. */
static json_t *read_content(struct context *context, sqlite3_stmt *row, int column,
                            const char *what)
{
    char hex[DIGEST_HEX_SIZE];
    const char *digest = column_text(row, column, hex), *body = text_at(row, column + 1);
    json_t *json = NULL;

    if (sqlite3_column_type(row, column + 1) == SQLITE_NULL)
        VERIFY_REPORT(context->verify, CONTENT_WITHHELD_HERE, digest, what, text_at(row, 1));
    else if (canonical_parse(body, (size_t)sqlite3_column_bytes(row, column + 1), what, &json,
                             NULL) != STATUS_OK ||
             !json_is_object(json))
        VERIFY_REPORT(context->verify, CONTENT_UNREADABLE, digest, what, text_at(row, 1));
    if (json_is_object(json))
        return json;
    json_decref(json);
    return NULL;
}

/* The same, read once. Borrowed. */
static const json_t *find_content(struct context *context, sqlite3_stmt *row, int column,
                                  const char *what)
{
    char hex[DIGEST_HEX_SIZE];
    const char *digest = column_text(row, column, hex);
    json_t *json = json_object_get(context->contents, digest);

    if (!json) {
        json = read_content(context, row, column, what);
        json_object_set_new(context->contents, digest, json ? json : json_null());
    }
    return json_is_object(json) ? json : NULL;
}

static struct verify_subject subject_of(sqlite3_stmt *row, const json_t *workload,
                                        char hex[DIGEST_HEX_SIZE])
{
    return (struct verify_subject){.workload = workload,
                                   .digest = column_text(row, find_column(row, "workload"), hex),
                                   .precision = text_at(row, find_column(row, "precision")),
                                   .batch = sqlite3_column_int64(row, find_column(row, "batch"))};
}

/* The columns of a cell by the caller's formulas; a string: why there are none. NULL: no memory. */
static json_t *derive(struct context *context, const struct verify_subject *subject)
{
    const struct verify_options *options = context->verify->options;
    struct error err = ERROR_INIT;
    json_t *columns = NULL;
    enum status status = STATUS_UNSUPPORTED;

    if (!options->derive)
        error_set(&err, status, "no formulas were given");
    else if (json_object_size(context->derived) >= DERIVED_MAX)
        error_set(&err, status, "there are more than %d declarations and cases", DERIVED_MAX);
    else
        status = options->derive(options->context, subject, &columns, &err);
    if (status == STATUS_INVALID)
        return json_pack("[s]", err.message);
    return status == STATUS_OK ? columns : json_string(err.message);
}

/* The work of an iteration, derived once for all cells of a case. */
static void check_work(struct context *context, sqlite3_stmt *row, const json_t *workload)
{
    struct verify *verify = context->verify;
    char hex[DIGEST_HEX_SIZE];
    const struct verify_subject subject = subject_of(row, workload, hex);
    char *key =
        text_format("%s %lld %s", subject.digest, (long long)subject.batch, subject.precision);
    json_t *columns = key ? json_object_get(context->derived, key) : NULL, *value;
    const char *name;

    if (key && !columns) {
        columns = derive(context, &subject);
        json_object_set_new(context->derived, key, columns);
    }
    free(key);
    if (json_is_array(columns))
        VERIFY_REPORT(verify, CELL_WORK, text_at(row, 0), text_at(row, 1),
                      json_string_value(json_array_get(columns, 0)));
    else if (!json_is_object(columns) && context->underived++ == 0)
        snprintf(context->reason, sizeof(context->reason), "%.255s",
                 columns ? json_string_value(columns) : "out of memory");
    json_object_foreach(columns, name, value)
        check_column(verify, "cell", row, name, value, "the declared workload");
}

/* The protocol's seed, and the nonce that came with the plan or with what it repeats. */
static void check_seed(struct context *context, sqlite3_stmt *row, const json_t *protocol)
{
    const json_t *nonce = json_object_get(context->plan, "nonce");
    const json_t *declared = json_object_get(protocol, "seed");
    json_t *seed;

    if (!json_is_string(nonce))
        nonce = member_in(context->plan, "reproduces", "nonce");
    seed = json_integer(
        (json_int_t)data_seed((uint64_t)json_integer_value(declared), json_string_value(nonce)));
    check_column(context->verify, "cell", row, "seed", json_is_integer(declared) ? seed : NULL,
                 json_is_string(nonce) ? "the protocol and the nonce" : "the protocol");
    json_decref(seed);
}

/* Of a server: with one of the declared rates; saturated where one is a share. */
static void check_scenario(struct context *context, sqlite3_stmt *row, const json_t *workload)
{
    const json_t *declared = json_object_get(workload, "scenario");
    const json_t *rates = member_in(workload, "load", "rates");
    const char *stored = text_at(row, find_column(row, "scenario"));
    char text[48];

    EACH(rate, rates) {
        if (json_is_string(rate))
            snprintf(text, sizeof(text), "server@%.39s", json_string_value(rate));
        else
            snprintf(text, sizeof(text), "server@%.15g", json_number_value(rate));
        if (!strcmp(text, stored) || (json_is_string(rate) && !strcmp(stored, SERVING_SATURATED)))
            return;
    }
    check_column(context->verify, "cell", row, "scenario", declared, "the declared workload");
}

/* columns: 0 id, 1 name, 2 protocol, 3 its body, 4 workload, 5 its body, then the cell's */
static void check_cell(struct context *context, sqlite3_stmt *row, size_t at)
{
    struct verify *verify = context->verify;
    const json_t *planned = json_array_get(json_object_get(context->plan, "cells"), at);
    const json_t *protocol = find_content(context, row, 2, "protocol");
    const json_t *workload = find_content(context, row, 4, "workload");

    if (context->plan) {
        check_same(verify, "cell", row, context->plan, cell_of_plan, "the plan");
        check_same(verify, "cell", row, planned, cell_of_cell, "the plan");
        for (size_t i = 0; i < store_case_type.count; i++)
            check_column(verify, "cell", row, store_case_type.members[i].name,
                         json_object_get(planned, store_case_type.members[i].name), "the plan");
    }
    if (protocol)
        check_same(verify, "cell", row, protocol, cell_of_protocol, "the protocol");
    if (protocol && context->plan)
        check_seed(context, row, protocol);
    if (workload) {
        check_same(verify, "cell", row, workload, cell_of_workload, "the declared workload");
        check_scenario(context, row, workload);
        check_work(context, row, workload);
    }
}

/* Results that another program measured: no trial of them may be here. */
static void check_imported(struct verify *verify, sqlite3_stmt *campaign)
{
    const int64_t trials =
        verify_ask(verify, "SELECT coalesce(sum(trials), 0) FROM cell WHERE campaign = ?1",
                   sqlite3_column_int64(campaign, 0), 0, VERIFY_CELL);

    if (trials != 0)
        VERIFY_REPORT(verify, IMPORT_HAS_TRIALS, text_at(campaign, 0), text_at(campaign, 1),
                      trials);
}

/* Whether the plan, as far as it is known, is a file of another program. */
static bool is_import(const struct context *context, int64_t campaign)
{
    return verify_ask(context->verify, "SELECT count(*) FROM import WHERE campaign = ?1", campaign,
                      0, VERIFY_CELL) > 0 &&
           (!context->plan || json_object_get(context->plan, "imported"));
}

/* columns: 0 id, 1 name, 2 plan, 3 its body, then the campaign's */
static void check_campaign(struct context *context, sqlite3_stmt *campaign, sqlite3_stmt *cells)
{
    struct verify *verify = context->verify;
    size_t count = 0;

    context->plan = read_content(context, campaign, 2, "plan");
    if (is_import(context, sqlite3_column_int64(campaign, 0))) {
        check_imported(verify, campaign);
        json_decref(context->plan);
        return;
    }
    if (context->plan) {
        check_same(verify, "campaign", campaign, context->plan, campaign_of_plan, "the plan");
        check_same(verify, "campaign", campaign, json_object_get(context->plan, "tool"),
                   campaign_of_tool, "the plan");
    }
    sqlite3_bind_int64(cells, 1, sqlite3_column_int64(campaign, 0));
    while (!verify_stopped(verify) && verify_step(verify, cells, VERIFY_CELL, "cell")) {
        if (verify->summary->wrong - context->wrong_before < VERIFY_FINDINGS_MAX)
            check_cell(context, cells, count);
        count++;
    }
    sqlite3_reset(cells);
    if (context->plan && (member_size(context->plan, "cells") != count ||
                          !json_is_array(json_object_get(context->plan, "order"))))
        VERIFY_REPORT(verify, PLAN_CELLS, text_at(campaign, 0), text_at(campaign, 1), count);
    json_decref(context->plan);
}

/* columns: 0 id, 1 trial, 2 output, 3 metric, 4 tolerance, 5 workload, 6 its body, then the cell's
 */
static void check_tolerance(struct context *context, sqlite3_stmt *row)
{
    const struct verify_options *options = context->verify->options;
    const json_t *workload = find_content(context, row, 5, "workload");
    char hex[DIGEST_HEX_SIZE];
    const struct verify_subject subject = subject_of(row, workload, hex);
    const double stored = sqlite3_column_double(row, 4);
    char found[NUMBER_SIZE], most[NUMBER_SIZE];
    double largest = -1.0;

    if (workload && options->tolerance)
        options->tolerance(options->context, &subject, text_at(row, 2), text_at(row, 3), &largest,
                           NULL);
    if (largest < -1)
        VERIFY_REPORT(context->verify, CHECK_NONE, text_at(row, 0), text_at(row, 2),
                      text_at(row, 3), text_at(row, 1));
    else if (!(largest >= 0))
        context->underived_tolerances++;
    else if (!(stored <= largest * (1 + JUDGED_SAME_WITHIN))) {
        number_format_apart(stored, largest, 9, found, most);
        VERIFY_REPORT(context->verify, TOLERANCE_LARGE, text_at(row, 0), text_at(row, 2),
                      text_at(row, 1), found, most);
    }
}

/* The largest of each output, which is the row that SQLite gives the other columns of. */
static void check_tolerances(struct context *context)
{
    struct verify *verify = context->verify;
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db,
        "SELECT v.id, 'trial ' || v.trial, v.output, v.metric, max(v.tolerance), c.workload,"
        " w.body AS workload_body, c.precision, c.batch FROM verification v JOIN trial t ON t.id ="
        " v.trial JOIN cell c ON c.id = t.cell JOIN content w ON w.digest = c.workload WHERE"
        " v.metric <> 'same_bits' AND v.trial NOT IN (" VERIFY_UNCHECKED_TRIALS ") GROUP BY"
        " c.workload, c.precision, c.batch, v.output, v.metric",
        VERIFY_CELL, "verification");

    while (row && !verify_stopped(verify) && verify_step(verify, row, VERIFY_CELL, "verification"))
        check_tolerance(context, row);
    sqlite3_finalize(row);
    if (context->underived_tolerances > 0)
        VERIFY_REPORT(verify, TOLERANCES_UNDERIVED, NULL, context->underived_tolerances);
}

enum status verify_cells(struct verify *verify, struct error *err)
{
    struct context context = {
        .verify = verify,
        .contents = json_object(),
        .derived = json_object(),
        .wrong_before = verify->summary->wrong,
    };
    sqlite3_stmt *campaign = verify_prepare(
        verify, verify->db,
        /* A version is a number, a blank and the commit. */
        "SELECT g.id, 'campaign ' || substr(g.uid, 1, 8), g.plan, p.body AS plan_body, "
        "g.order_seed,"
        " g.protocol, substr(g.tool_version, 1, instr(g.tool_version || ' ', ' ') - 1) AS"
        " tool_version, g.tool_digest FROM campaign g JOIN content p ON p.digest = g.plan"
        " ORDER BY g.id",
        VERIFY_CELL, "campaign");
    sqlite3_stmt *cells = verify_prepare(
        verify, verify->db,
        "SELECT c.id, substr(g.uid, 1, 8) || '/' || c.ordinal, c.protocol, p.body AS protocol_body,"
        " c.workload, w.body AS workload_body, c.ordinal, c.workload_name, c.protocol_name, c.kind,"
        " c.precision, c.scenario, c.implementation, c.batch, c.seed, c.device_spec,"
        " c.trials, " STORED_COLUMNS(
            STORED_COST) " FROM cell c JOIN campaign g ON g.id ="
                         " c.campaign JOIN content p ON p.digest = c.protocol JOIN content w ON "
                         "w.digest ="
                         " c.workload WHERE c.campaign = ?1 ORDER BY c.ordinal",
        VERIFY_CELL, "cell");
    enum status status = STATUS_OK;

    if (!context.contents || !context.derived)
        status = error_no_memory(err);
    else
        check_tolerances(&context);
    while (status == STATUS_OK && campaign && cells && !verify_stopped(verify) &&
           verify_step(verify, campaign, VERIFY_CELL, "campaign"))
        check_campaign(&context, campaign, cells);
    json_decref(context.contents);
    json_decref(context.derived);
    sqlite3_finalize(campaign);
    sqlite3_finalize(cells);
    if (context.underived > 0)
        VERIFY_REPORT(verify, WORK_UNDERIVED, NULL, context.underived, context.reason);
    return status;
}
