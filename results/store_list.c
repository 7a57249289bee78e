#include "results/store_internal.h"

static const char sql_list[] =
    "SELECT substr(g.uid, 1, 8) || '/' || c.ordinal AS id, c.id AS cell, c.campaign,"
    " c.workload_name AS workload, c.kind, c.precision, c.batch, c.scenario, c.arm,"
    " c.protocol_name AS protocol, c.backend, c.device_spec, d.name AS device,"
    " d.simulated AS 'simulated:bool',"
    " (SELECT count(DISTINCT t.sequence) FROM trial t JOIN trial_end x ON x.trial = t.id"
    " WHERE t.cell = c.id AND x.status = 'ok') AS trials_ok,"
    " (SELECT count(DISTINCT t.sequence) FROM trial t JOIN trial_end x ON x.trial = t.id"
    " WHERE t.cell = c.id) AS trials_ended,"
    " c.trials AS trials_planned, e.verdict,"
    " json_extract(e.body, '$.mean_ns.value') AS mean_ns,"
    " json_extract(e.body, '$.mean_ns.lo') AS mean_ns_lo,"
    " json_extract(e.body, '$.mean_ns.hi') AS mean_ns_hi, c.headline,"
    " CASE c.headline WHEN 'items' THEN c.item_name ELSE c.headline END || '/s' AS rate_unit,"
    " json_extract(e.body, '$.' || c.headline || '_per_s.value') AS rate,"
    " json_extract(e.body, '$.' || c.headline || '_per_s.lo') AS rate_lo,"
    " json_extract(e.body, '$.' || c.headline || '_per_s.hi') AS rate_hi,"
    " g.created_utc_ns, g.created_utc_ns AS 'created:iso'"
    /* CROSS JOIN keeps the campaigns outside, whose index gives the order without a sort. */
    " FROM campaign g CROSS JOIN cell c ON c.campaign = g.id"
    " LEFT JOIN estimate e ON e.id = (SELECT max(id) FROM estimate l WHERE l.cell = c.id)"
    " LEFT JOIN device d ON d.id = (SELECT device FROM trial_device td WHERE td.trial ="
    " (SELECT max(t.id) FROM trial t WHERE t.cell = c.id AND EXISTS"
    " (SELECT 1 FROM trial_device k WHERE k.trial = t.id)))"
    " WHERE (?1 = 0 OR g.id = ?1) AND (?2 IS NULL OR c.workload_name = ?2)"
    " AND (?3 IS NULL OR c.precision = ?3) AND (?4 IS NULL OR c.protocol_name = ?4)"
    " AND (?5 IS NULL OR e.verdict = ?5)"
    " AND (?6 IS NULL OR c.device_spec = ?6 OR instr(lower(d.name), lower(?6)) > 0)"
    " ORDER BY g.created_utc_ns DESC, g.id DESC, c.ordinal LIMIT ?7 OFFSET ?8";

enum status store_list_results(struct store *store, const struct store_filter *filter, json_t **ret,
                               struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(store, sql_list, &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, filter->campaign);
    statement_text(&statement, filter->workload);
    statement_text(&statement, filter->precision);
    statement_text(&statement, filter->protocol);
    statement_text(&statement, filter->verdict);
    statement_text(&statement, filter->device);
    statement_i64(&statement, filter->limit > 0 ? filter->limit : -1);
    statement_i64(&statement, filter->offset);
    return statement_rows_json(&statement, ret, err);
}
