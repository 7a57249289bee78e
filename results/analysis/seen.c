#include "results/analysis/seen.h"

#include "harness/core/cleanup.h"
#include "protocols/conduct.h"
#include "results/store/store_internal.h"

#define CONDUCT                                                                                    \
    "SELECT coalesce(e.facts -> '$.conduct', 'null'), p.begin_ns, p.end_ns, c.kind FROM trial_end" \
    " e JOIN trial t ON t.id = e.trial JOIN cell c ON c.id = t.cell LEFT JOIN phase p ON p.trial"  \
    " = e.trial AND p.name = 'window' WHERE e.trial = ?1"
/* Their names alone: values may be withheld. */
#define PRELOADS                                                                                   \
    "SELECT replace(replace(r.name, 'host.ld_so_preload', '/etc/ld.so.preload'), 'variable.', '')" \
    " FROM environment n CROSS JOIN reading_member m ON m.reading_set = n.readings CROSS JOIN"     \
    " reading r ON r.id = m.reading WHERE n.trial = ?1 AND n.at = 'host' AND r.name IN"            \
    " ('variable.LD_PRELOAD', 'variable.LD_AUDIT', 'host.ld_so_preload') ORDER BY 1"
/* The reference loop's kernel is no artifact, so kernels are known by their folder as well. */
#define FILES                                                                                      \
    "WITH stacks AS MATERIALIZED (SELECT DISTINCT s.stack FROM trial t JOIN trial_stack s ON"      \
    " s.trial = t.id WHERE t.cell = ?1 AND t.id <= ?2), mapped AS MATERIALIZED (SELECT DISTINCT "  \
    "lower(hex("                                                                                   \
    "c.sha256)) AS sha256, c.manager, c.path FROM stacks s CROSS JOIN stack_member m ON m.stack"   \
    " = s.stack CROSS JOIN component c ON c.id = m.component WHERE c.sha256 IS NOT NULL AND"       \
    " c.kind IN ('library', 'executable')), made AS MATERIALIZED (SELECT lower(hex("               \
    "g.tool_digest)) AS sha256 FROM cell c JOIN campaign g ON g.id = c.campaign WHERE c.id = ?1"   \
    " UNION SELECT b.body ->> '$.binary' FROM (SELECT DISTINCT a.content FROM trial t JOIN"        \
    " artifact a ON a.trial = t.id WHERE t.cell = ?1 AND t.id <= ?2) a JOIN content b ON "         \
    "b.digest = a.content)"                                                                        \
    " SELECT count(DISTINCT sha256) FROM mapped WHERE manager IS NULL AND NOT EXISTS (SELECT 1"    \
    " FROM made WHERE made.sha256 = mapped.sha256) AND path NOT LIKE '%/assay/kcache/%' HAVING"    \
    " EXISTS (SELECT 1 FROM mapped WHERE manager IS NOT NULL)"

/* What the harness noted of the trial and its worker's phase `window`; false: withheld, or none. */
static bool take_conduct(sqlite3_stmt *row, struct conduct *ret)
{
    json_auto_t *json = json_loads((const char *)sqlite3_column_text(row, 0), 0, NULL);
    const bool known = json_is_object(json);

    type_read(&conduct_seen_type, json, &ret->seen);
    if (sqlite3_column_type(row, 1) != SQLITE_NULL) {
        ret->window.begin_ns = sqlite3_column_int64(row, 1);
        ret->window.end_ns = sqlite3_column_int64(row, 2);
    }
    return known;
}

static void add_checked(const struct conduct_seen *seen, const struct seen_trial *of,
                        const char *kind, struct finding_list *findings)
{
    const double ratio = conduct_checked_ratio(seen->checked_least_ns, of->iteration_ns);

    if (seen->spot_checks >= CONDUCT_CHECKED_LEAST &&
        ratio > conduct_checked_noted(kind, seen->spot_checks))
        finding_add(findings, FINDING_CHECKED_SLOWER, of->number, NULL, &ratio);
}

static void add_spent(struct conduct *conduct, const struct seen_trial *of,
                      struct finding_list *findings)
{
    struct conduct_spent spent;
    double share;

    conduct->window.wall_ns = of->wall_ns;
    if (of->wall_ns <= 0 || !conduct_spent(conduct, &spent))
        return;
    of->spent->window += spent.window;
    of->spent->samples += spent.samples;
    of->spent->checks += spent.checks;
    of->spent->gaps += spent.gaps;
    ++*of->known;
    share = conduct_gap_share(&spent);
    if (!of->is_cold && share > CONDUCT_GAPS_NOTED)
        finding_add(findings, FINDING_GAPS, of->number, NULL, &share);
}

/* Clocks that do not agree, yet not so far that the trial were invalid. */
static void add_conduct(sqlite3_stmt *row, const struct seen_trial *of,
                        struct finding_list *findings)
{
    struct conduct conduct = conduct_new();

    if (!take_conduct(row, &conduct))
        return;
    add_checked(&conduct.seen, of, (const char *)sqlite3_column_text(row, 3), findings);
    if (conduct.seen.hidden > 0)
        finding_add(findings, FINDING_HIDDEN, of->number, NULL,
                    (double[]){(double)conduct.seen.hidden});
    if (conduct.seen.steered > 0)
        finding_add(findings, FINDING_STEERED, of->number, NULL, NULL);
    add_spent(&conduct, of, findings);
    for (enum conduct_clock i = 0; i < CONDUCT_CLOCK_COUNT; i++) {
        const double share = conduct_clock_share(&conduct, i);

        if (share > CONDUCT_CLOCK_NOTED)
            finding_add(findings, FINDING_CLOCK_DISAGREES, of->number, conduct_clock_words(i),
                        &share);
    }
}

static void add_preload(sqlite3_stmt *row, const struct seen_trial *of,
                        struct finding_list *findings)
{
    finding_add(findings, FINDING_PRELOADED, of->number, (const char *)sqlite3_column_text(row, 0),
                NULL);
}

static void add_files(sqlite3_stmt *row, const struct seen_trial *of, struct finding_list *findings)
{
    const double files = (double)sqlite3_column_int64(row, 0);

    if (files > 0)
        finding_add(findings, FINDING_NO_PACKAGE, of->number, NULL, &files);
}

/* Calls `add` with each row that the query gives for `id`, and for trials up to `last`. */
static enum status each_row(struct store *store, const char *sql, int64_t id, int64_t last,
                            const struct seen_trial *of,
                            void (*add)(sqlite3_stmt *, const struct seen_trial *,
                                        struct finding_list *),
                            struct finding_list *findings, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    enum status status;

    TRY(statement_of(store, sql, id, &statement, err));
    if (sqlite3_bind_parameter_count(statement.handle) > 1)
        statement_i64(&statement, last);
    while (statement_next(&statement, &status, err))
        add(statement.handle, of, findings);
    return status;
}

enum status seen_add_trial(struct store *store, const struct seen_trial *trial,
                           struct finding_list *findings, struct error *err)
{
    TRY(each_row(store, CONDUCT, trial->trial, 0, trial, add_conduct, findings, err));
    return each_row(store, PRELOADS, trial->trial, 0, trial, add_preload, findings, err);
}

enum status seen_add_files(struct store *store, int64_t cell, int64_t last_trial,
                           struct finding_list *findings, struct error *err)
{
    const struct seen_trial of = {0};

    return each_row(store, FILES, cell, last_trial, &of, add_files, findings, err);
}
