/*
 * verify_rules - what makes `assay verify` report something: one row a rule, with the code that
 * `--json` shows, the check that it is of, whether it is wrong or a note, the table that it is
 * reported for, and the message.
 *
 * Where SQL can say it, a rule is a SELECT of the rows that break it: a row's key, then the values
 * of the message, in their order; verify_rule_check runs it. The others are reported by the files
 * of the steps with VERIFY_REPORT, whose arguments the compiler holds against the message.
 *
 * X(constant, code, check, level, table, message, select)
 *   level    WRONG; UNVERIFIED: nothing is known; NOTE
 *   check    CHECK_COUNT: that of the step that reports it
 *   table    NULL: of no table, or of the one that the step names
 *   message  as of printf; a SELECT's values are text
 *   select   NULL: reported by a step
 *
 * A rule that is text in FORMAT.md is a row here, and in the second verifier
 * (tests/support/verify_rules.py). Codes are published: a rule that comes to mean something else
 * gets another.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_VERIFY_RULES_H
#define ASSAY_RESULTS_EVIDENCE_VERIFY_RULES_H

#include <inttypes.h>

#include "results/evidence/verify.h"

/* clang-format off */
/* What contradicts a trial (verify_trials). */
#define VERIFY_TRIAL_RULES(X)                                                                      \
    /* times and order */                                                                          \
    X(TRIAL_ENDS_EARLY, "trial_ends_early", TRIAL, WRONG, "trial_end",                             \
      "it ended at %s ns, before its start at %s ns",                                              \
      "SELECT e.trial, e.ended_utc_ns, t.started_utc_ns FROM trial_end e JOIN trial t ON t.id = "  \
      "e.trial WHERE e.ended_utc_ns < t.started_utc_ns")                                           \
    X(TRIAL_OVERLAPS, "trial_overlaps", TRIAL, WRONG, "trial",                                     \
      "it started before trial %s of its campaign ended: trials run one after the other",          \
      "SELECT id, before FROM (SELECT t.id, t.started_utc_ns, lag(t.id) OVER w AS before, "        \
      "lag(e.ended_utc_ns) OVER w AS ended FROM trial t LEFT JOIN trial_end e ON e.trial = t.id "  \
      "WINDOW w AS (PARTITION BY t.campaign ORDER BY t.id)) WHERE started_utc_ns < ended")         \
    X(TRIAL_BEFORE_PLAN, "trial_before_plan", TRIAL, WRONG, "trial",                               \
      "it started before its campaign was planned",                                                \
      "SELECT t.id FROM trial t JOIN campaign g ON g.id = t.campaign WHERE t.started_utc_ns < "    \
      "g.created_utc_ns")                                                                          \
    X(TRIAL_BEFORE_ROUND, "trial_before_round", TRIAL, WRONG, "trial",                             \
      "it started %s ns after its campaign was planned, and its round begins %s ns after "         \
      "that (spread)",                                                                             \
      "SELECT id, after, due FROM (SELECT t.id, t.started_utc_ns - g.created_utc_ns AS after, "    \
      "CAST(1.0 * (p.body ->> '$.spread_ns') * ((t.sequence - 1) / n.cells) / ((n.trials - 1) / "  \
      "n.cells) AS INTEGER) AS due FROM trial t JOIN campaign g ON g.id = t.campaign JOIN content "\
      "p ON p.digest = g.protocol AND json_valid(p.body) JOIN (SELECT m.id, (SELECT count(*) FROM "\
      "cell WHERE campaign = m.id) AS cells, (SELECT max(sequence) FROM planned_trial WHERE "      \
      "campaign = m.id) AS trials FROM campaign m) n ON n.id = g.id) WHERE after < due - 1000000000")\
    X(PHASE_TIMES, "phase_times", TRIAL, WRONG, "phase",                                           \
      "the phase %s of trial %s begins at %s ns and ends at %s ns",                                \
      "SELECT id, name, trial, begin_ns, end_ns FROM phase WHERE begin_ns < 0 OR end_ns < "        \
      "begin_ns")                                                                                  \
    /* what a trial that ended ok has */                                                           \
    X(TRIAL_MAPS, "trial_maps", TRIAL, WRONG, "trial",                                             \
      "it is ok without the files that its worker had mapped at %s",                               \
      "SELECT t.id, p.column1 FROM " OK_TRIALS ", (VALUES ('window_start'), ('window_end')) p "    \
      "WHERE NOT EXISTS (SELECT 1 FROM trial_stack s WHERE s.trial = t.id AND s.at = p.column1)")  \
    X(TRIAL_DEVICE_NONE, "trial_device_none", TRIAL, WRONG, "trial",                               \
      "it is ok without a device",                                                                 \
      "SELECT t.id FROM " OK_TRIALS " WHERE t.id" OWN " AND NOT EXISTS (SELECT 1 FROM "            \
      "trial_device d WHERE d.trial = t.id)")                                                      \
    X(TRIAL_GAPS_NONE, "trial_gaps_none", TRIAL, WRONG, "trial",                                   \
      "it is ok without the series gap_ns",                                                        \
      "SELECT t.id FROM " OK_TRIALS " WHERE t.id" OWN " AND NOT EXISTS (SELECT 1 FROM series s "   \
      "WHERE s.trial = t.id AND s.name = 'gap_ns')")                                               \
    X(TRIAL_PROGRAM, "trial_program", TRIAL, WRONG, "trial",                                       \
      "no file that its worker had mapped has the digest of the program that its campaign names",  \
      "SELECT t.id FROM " OK_TRIALS " JOIN campaign g ON g.id = t.campaign WHERE t.id" OWN " "     \
      "AND NOT EXISTS (SELECT 1 FROM trial_stack s JOIN stack_member m ON m.stack = s.stack "      \
      "JOIN component c ON c.id = m.component WHERE s.trial = t.id AND (c.sha256 = "               \
      "g.tool_digest OR (c.kind = 'executable' AND c.sha256 IS NULL)))")                           \
    X(TRIAL_MODEL, "trial_model", TRIAL, WRONG, "trial",                                           \
      "no file of its stack has the digest of the model that its workload names",                  \
      "SELECT t.id FROM " OK_TRIALS " JOIN cell c ON c.id = t.cell JOIN content w ON w.digest = "  \
      "c.workload WHERE json_extract(w.body, '$.kind') = 'onnx' AND t.id" OWN " AND NOT EXISTS "   \
      "(SELECT 1 FROM trial_stack s JOIN stack_member m ON m.stack = s.stack JOIN component f "    \
      "ON f.id = m.component WHERE s.trial = t.id AND f.kind = 'model' AND (f.sha256 IS NULL OR "  \
      "lower(hex(f.sha256)) = json_extract(w.body, '$.model.sha256')))")                           \
    X(TRIAL_WEIGHTS, "trial_weights", TRIAL, WRONG, "trial",                                       \
      "no file of its stack has the digest of the weights in %s",                                  \
      "SELECT t.id, json_extract(d.value, '$.location') FROM " OK_TRIALS " JOIN cell c ON c.id "   \
      "= t.cell JOIN content w ON w.digest = c.workload JOIN json_each(w.body, '$.model.data') "   \
      "d WHERE json_extract(w.body, '$.kind') = 'onnx' AND t.id" OWN " AND NOT EXISTS (SELECT 1 "  \
      "FROM trial_stack s JOIN stack_member m ON m.stack = s.stack JOIN component f ON f.id = "    \
      "m.component WHERE s.trial = t.id AND f.kind = 'model' AND (f.sha256 IS NULL OR "            \
      "lower(hex(f.sha256)) = json_extract(d.value, '$.sha256')))")                                \
    X(TRIAL_DEVICE, "trial_device", TRIAL, WRONG, "trial",                                         \
      "it ran on %s:%s, and its cell is of %s",                                                    \
      "SELECT t.id, d.backend, d.device_index, c.device_spec FROM trial t JOIN trial_device td "   \
      "ON td.trial = t.id JOIN device d ON d.id = td.device JOIN cell c ON c.id = t.cell WHERE "   \
      "(d.backend <> c.backend OR d.device_index IS NOT c.device_index) AND t.id" OWN)             \
    X(TRIAL_READINGS, "trial_readings", TRIAL, WRONG, "trial",                                     \
      "it has no readings of its surroundings (%s)",                                               \
      "SELECT t.id, p.column1 FROM trial t JOIN trial_end e ON e.trial = t.id, (VALUES "           \
      "('host'), ('before'), ('after')) p WHERE e.orphan = 0 AND NOT EXISTS (SELECT 1 FROM "       \
      "environment n WHERE n.trial = t.id AND n.at = p.column1)")                                  \
    /* how it ended */                                                                             \
    X(TRIAL_STATUS, "trial_status", TRIAL, WRONG, "trial_end",                                     \
      "it is %s, and %s",                                                                          \
      "SELECT trial, status, why FROM (SELECT trial, status, CASE WHEN exit_code IS NOT NULL "     \
      "AND signal IS NOT NULL THEN 'both an exit status and signal ' || signal || ' ended its "    \
      "worker' WHEN status <> 'ok' THEN NULL WHEN signal IS NOT NULL THEN 'signal ' || signal "    \
      "|| ' ended its worker' WHEN exit_code IS NULL THEN 'its worker did not exit' WHEN orphan "  \
      "= 1 THEN 'its harness ended first' WHEN message IS NOT NULL THEN 'has a reason: ' || "      \
      "message WHEN coalesce(iterations_per_sample, 0) < 1 OR coalesce(window_first, -1) < 0 OR "  \
      "coalesce(window_first >= samples, 1) THEN 'has no window with samples' END AS why FROM "    \
      "trial_end) WHERE why IS NOT NULL")                                                          \
    /* checks */                                                                                   \
    X(CHECK_PASSED, "check_passed", TRIAL, WRONG, "verification",                                  \
      "the check of %s in trial %s passed with the error %s of %s elements, tolerance %s",         \
      "SELECT id, output, trial, coalesce(error, error_text, 'none'), compared, tolerance FROM "   \
      "verification WHERE passed = 1 AND (error IS NULL OR error_text IS NOT NULL OR NOT error "   \
      "<= tolerance OR compared < 1)")                                                             \
    X(CHECK_FAILED, "check_failed", TRIAL, WRONG, "verification",                                  \
      "the check of %s in trial %s failed with the error %s, tolerance %s",                        \
      "SELECT id, output, trial, error, tolerance FROM verification WHERE passed = 0 AND error "   \
      "< tolerance AND trial" OWN)                                                                 \
    X(CHECK_FAILED_IN_OK, "check_failed_in_ok", TRIAL, WRONG, "verification",                      \
      "the check of %s failed, and trial %s is ok",                                                \
      "SELECT v.id, v.output, v.trial FROM verification v JOIN trial_end e ON e.trial = v.trial "  \
      "WHERE v.passed = 0 AND e.status = 'ok'")                                                    \
    X(CHECKS_FEW, "checks_few", TRIAL, WRONG, "trial",                                             \
      "its checks are said to be assay's own, of %s outputs, and it has %s spot checks and one "   \
      "before and after the window",                                                               \
      "SELECT t.id, coalesce(e.facts ->> '$.conduct.outputs_checked', 0), e.facts ->> "            \
      "'$.conduct.spot_checks' FROM " OK_TRIALS " WHERE e.facts ->> '$.conduct.checks' = "         \
      "'assay' AND coalesce(e.facts ->> '$.conduct.outputs_checked', 0) < 2 + (e.facts ->> "       \
      "'$.conduct.spot_checks')")                                                                  \
    X(CHECK_PHASE, "check_phase", TRIAL, WRONG, "verification",                                    \
      "it is of no phase with checks: %s",                                                         \
      "SELECT id, phase FROM verification WHERE phase NOT IN ('verify_before', 'spot_check', "     \
      "'verify_after')")                                                                           \
    X(CHECK_EARLIER, "check_earlier", TRIAL, WRONG, "verification",                                \
      "trial %s was compared with an earlier one, %s",                                             \
      "SELECT v.id, v.trial, CASE WHEN first_only THEN 'and none before it with the reference' "   \
      "ELSE 'and its protocol requires each compared with the reference' END FROM (SELECT v.id, "     \
      "v.trial, t.cell, json_extract(p.body, '$.verification') IS NOT 'each_trial' AS "            \
      "first_only FROM verification v JOIN trial t ON t.id = v.trial JOIN cell c ON c.id = "       \
      "t.cell JOIN content p ON p.digest = c.protocol WHERE v.metric = 'same_bits') v WHERE NOT "  \
      "first_only OR NOT EXISTS (SELECT 1 FROM trial b JOIN trial_end x ON x.trial = b.id AND "    \
      "x.status = 'ok' JOIN verification r ON r.trial = b.id AND r.metric <> 'same_bits' AND "     \
      "r.phase <> 'spot_check' WHERE b.cell = v.cell AND b.id < v.trial)")                         \
    X(CHECK_SAME_BITS, "check_same_bits", TRIAL, WRONG, "verification",                            \
      "trial %s has the same bits as an earlier one, with the error %s, tolerance %s",             \
      "SELECT id, trial, coalesce(error, error_text), tolerance FROM verification WHERE metric "   \
      "= 'same_bits' AND (error IS NOT 0 OR tolerance <> 0 OR output <> 'outputs')")                                      \
    /* campaigns and cells */                                                                      \
    X(FOREIGN_WORKER, "foreign_worker", TRIAL, NOTE, "campaign",                                   \
      "%s of its trials were measured by another worker than assay's own: device, phases, "        \
      "checks and series are as it says",                                                          \
      "SELECT campaign, count(*) FROM trial WHERE id IN (" VERIFY_FOREIGN_TRIALS " AND "           \
      FOREIGN_WORKER_UNCHECKED("n.trial") ") GROUP BY campaign")                                   \
    X(CELL_DEVICES, "cell_devices", TRIAL, WRONG, "cell",                                          \
      "its trials are of %s devices, %s and %s: one result is of one device",                      \
      "SELECT cell, count(*), min(device), max(device) FROM (SELECT DISTINCT t.cell, d.backend "   \
      "|| ':' || d.device_index || ' ' || d.name || coalesce(' ' || d.vendor, '') || coalesce(' ' "\
      "|| d.uuid, '') AS device FROM " OK_TRIALS " JOIN trial_device x ON x.trial = t.id JOIN "    \
      "device d ON d.id = x.device) GROUP BY cell HAVING count(*) > 1")                            \
    X(TRIAL_SHORT, "trial_short", TRIAL, NOTE, "trial",                                            \
      "it took %s ns by the date and its phases took %s ns: the date was set back meanwhile, or "  \
      "these times are not those of a measurement",                                                \
      "SELECT id, took, last FROM (SELECT t.id, e.ended_utc_ns - t.started_utc_ns AS took, (SELECT "\
      "max(end_ns) FROM phase p WHERE p.trial = t.id) AS last FROM " OK_TRIALS ") WHERE took < "   \
      "last * 0.99 - 100000000")                                                                   \
    X(TRIALS_ALIKE, "trials_alike", TRIAL, WRONG, "trial",                                         \
      "its %s samples are those of trial %s, one by one: no two trials measure the same times",    \
      "SELECT b.trial, b.count, a.trial FROM series a JOIN series b ON b.name = a.name AND b.first "\
      "= a.first AND b.count = a.count AND b.minimum = a.minimum AND b.maximum = a.maximum AND "   \
      "b.total = a.total AND b.trial > a.trial AND b.data = a.data WHERE a.name = 'wall_ns' AND "  \
      "a.count >= 20 AND a.maximum - a.minimum >= 1000 AND a.trial" OWN)                           \
    X(TRIAL_CHOICE, "trial_choice", TRIAL, WRONG, "trial",                                         \
      "its samples are of %s iterations, and %s were chosen for its cell",                         \
      "SELECT t.id, e.iterations_per_sample, x.body ->> '$.iterations_per_sample' AS chosen FROM " \
      OK_TRIALS " JOIN cell c ON c.id = t.cell JOIN choice h ON h.cell = c.id JOIN content x ON "  \
      "x.digest = h.content WHERE c.scenario NOT LIKE 'server@%' AND e.iterations_per_sample <> "  \
      "chosen AND t.id" OWN)                                                                       \
    X(PROGRAM_NONE, "program_none", TRIAL, WRONG, "campaign",                                      \
      "it names no program: its tool digest is zero",                                              \
      "SELECT id FROM campaign WHERE tool_digest = zeroblob(32)")                                  \
    X(CELL_DEVICE, "cell_device", TRIAL, WRONG, "cell",                                            \
      "it is of device %s, and of %s:%s",                                                          \
      "SELECT id, device_spec, backend, device_index FROM cell WHERE device_spec <> backend || "   \
      "':' || device_index")                                                                       \
    X(ESTIMATE_NONE, "estimate_none", TRIAL, WRONG, "cell",                                        \
      "its campaign has ended, trials of it are ok, and there is no estimate",                     \
      "SELECT c.id FROM cell c WHERE NOT EXISTS (SELECT 1 FROM estimate s WHERE s.cell = c.id) "   \
      "AND EXISTS (SELECT 1 FROM " OK_TRIALS " WHERE t.cell = c.id) AND "                          \
      CAMPAIGN_STATE("c.campaign") " IN ('finished', 'interrupted')")

/* Nothing planned is missing without a reason, and nothing is there without its owner
 * (verify_complete). */
#define VERIFY_PLAN_RULES(X)                                                                       \
    X(CELL_PLACE, "cell_place", COMPLETE, WRONG, "cell",                                           \
      "cell %s is in the place of cell %s: one is missing",                                        \
      "SELECT id, ordinal, place FROM (SELECT id, ordinal, row_number() OVER (PARTITION BY "       \
      "campaign ORDER BY ordinal) AS place FROM cell) WHERE ordinal <> place")                     \
    X(PLANNED_PLACE, "planned_place", COMPLETE, WRONG, "planned_trial",                            \
      "is in the place of trial %s: one is missing",                                               \
      "SELECT p.campaign || '/' || p.sequence, (SELECT count(*) FROM planned_trial b WHERE "       \
      "b.campaign = p.campaign AND b.sequence <= p.sequence) FROM (SELECT campaign FROM "          \
      "planned_trial GROUP BY campaign HAVING min(sequence) <> 1 OR max(sequence) <> count(*)) "   \
      "g JOIN planned_trial p ON p.campaign = g.campaign WHERE p.sequence <> 1 AND NOT EXISTS "    \
      "(SELECT 1 FROM planned_trial b WHERE b.campaign = p.campaign AND b.sequence = p.sequence "  \
      "- 1)")                                                                                      \
    X(PLANNED_CELL, "planned_cell", COMPLETE, WRONG, "planned_trial",                              \
      "is of a cell of another campaign",                                                          \
      "SELECT p.campaign || '/' || p.sequence FROM planned_trial p LEFT JOIN cell c ON c.id = "    \
      "p.cell WHERE c.campaign IS NOT p.campaign")                                                 \
    X(CELL_TRIALS, "cell_trials", COMPLETE, WRONG, "cell",                                         \
      "%s trials were planned, %s are in the order",                                               \
      "SELECT c.id, c.trials, count(p.sequence) FROM cell c LEFT JOIN planned_trial p ON p.cell "  \
      "= c.id AND p.campaign = c.campaign GROUP BY c.id HAVING count(p.sequence) <> c.trials")     \
    X(ATTEMPT_PLACE, "attempt_place", COMPLETE, WRONG, "trial",                                    \
      "attempt %s is in the place of attempt %s",                                                  \
      "SELECT t.id, t.attempt, (SELECT count(*) FROM trial b WHERE b.campaign = t.campaign AND "   \
      "b.sequence = t.sequence AND b.attempt <= t.attempt) FROM trial t WHERE t.attempt <> 1 "     \
      "AND NOT EXISTS (SELECT 1 FROM trial b WHERE b.campaign = t.campaign AND b.sequence = "      \
      "t.sequence AND b.attempt = t.attempt - 1)")                                                 \
    X(TRIAL_CELL, "trial_cell", COMPLETE, WRONG, "trial",                                          \
      "is of another cell than the trial that was planned",                                        \
      "SELECT t.id FROM trial t LEFT JOIN planned_trial p ON p.campaign = t.campaign AND "         \
      "p.sequence = t.sequence WHERE p.cell IS NOT t.cell")                                        \
    X(TRIAL_AGAIN, "trial_again", COMPLETE, WRONG, "trial",                                        \
      "was tried again although attempt %s ended '%s'",                                            \
      "SELECT t.id, f.attempt, e.status FROM trial t CROSS JOIN trial f ON f.campaign = "          \
      "t.campaign AND f.sequence = t.sequence AND f.attempt = t.attempt - 1 CROSS JOIN "           \
      "trial_end e ON e.trial = f.id WHERE t.attempt > 1 AND e.orphan = 0 AND e.status <> "        \
      "'interrupted'")                                                                             \
    X(TRIAL_NEVER_RUN, "trial_never_run", COMPLETE, WRONG, "campaign",                             \
      "it is finished, but trial %s was never run",                                                \
      "SELECT g.id, p.sequence FROM campaign g JOIN planned_trial p ON p.campaign = g.id WHERE "   \
      "NOT EXISTS (SELECT 1 FROM trial t WHERE t.campaign = g.id AND t.sequence = p.sequence) "    \
      "AND " CAMPAIGN_STATE("g.id") " = 'finished'")                                               \
    X(TRIAL_ENDLESS, "trial_endless", COMPLETE, WRONG, "trial",                                    \
      "has no end, although its campaign is finished",                                             \
      "SELECT t.id FROM trial t WHERE NOT EXISTS (SELECT 1 FROM trial_end e WHERE e.trial = "      \
      "t.id) AND " CAMPAIGN_STATE("t.campaign") " = 'finished'")                                   \
    X(CAMPAIGN_UNFINISHED, "campaign_unfinished", COMPLETE, NOTE, "campaign",                      \
      "campaign %s is not finished (%s): %s of %s planned trials have no end",                     \
      "SELECT g.id, substr(g.uid, 1, 8), coalesce(" CAMPAIGN_STATE("g.id") ", 'never started'), "  \
      "(SELECT count(*) FROM planned_trial p WHERE p.campaign = g.id AND NOT EXISTS (SELECT 1 "    \
      "FROM trial t JOIN trial_end x ON x.trial = t.id WHERE t.campaign = g.id AND t.sequence = "  \
      "p.sequence)), (SELECT count(*) FROM planned_trial p WHERE p.campaign = g.id) FROM "         \
      "campaign g WHERE coalesce(" CAMPAIGN_STATE("g.id") ", '') <> 'finished'")                       \
    /* members with defined words, and those that follow from what a record refers to */           \
    X(WORD_UNKNOWN, "word_unknown", COMPLETE, UNVERIFIED, "record",                                \
      "its %s is \"%s\", a word that this version does not know",                                  \
      "SELECT r.id, w.column2, r.body ->> w.column2 FROM record r JOIN (VALUES ('event', "         \
      "'event', ' planned started resumed interrupted finished failed imported archived restored " \
      "'), ('checkpoint', 'kind', ' plan resume end bundle request '), ('signature', 'role', ' "   \
      "author witness '), ('declaration', 'kind', ' workload protocol suite trace '), ('doctor', " \
      "'worst', ' critical warning info none ')) w ON w.column1 = r.type WHERE instr(w.column3, "  \
      "' ' || (r.body ->> w.column2) || ' ') = 0")                                                 \
    X(DECLARATION_TOLD, "declaration_told", COMPLETE, WRONG, "declaration",                        \
      "its record says %s version %s, and its content %s version %s",                              \
      "SELECT d.id, d.name, d.version, c.body ->> d.kind, c.body ->> 'version' FROM declaration d "\
      "JOIN content c ON c.digest = d.digest AND json_valid(c.body) WHERE json_type(c.body, '$.' " \
      "|| d.kind) = 'text' AND (c.body ->> d.kind <> d.name OR c.body ->> 'version' <> "           \
      "d.version)")                                                                                \
    X(DEVICE_REAL, "device_real", COMPLETE, WRONG, "device",                                       \
      "it is of the null backend, and is not marked as simulated",                                 \
      "SELECT id FROM device WHERE backend = 'null' AND simulated = 0")                            \
    X(DOCTOR_WORST, "doctor_worst", COMPLETE, WRONG, "doctor",                                     \
      "the worst of its findings is said to be %s, and one is %s",                                 \
      "SELECT d.id, d.worst, f.value ->> 'severity' FROM doctor d JOIN content c ON c.digest = "   \
      "d.body AND json_valid(c.body), json_each(c.body, '$.findings') f WHERE instr('critical "    \
      "warning info none', f.value ->> 'severity') < instr('critical warning info none', "         \
      "d.worst)")                                                                                  \
    X(BASELINE_OTHER, "baseline_other", COMPLETE, WRONG, "comparison",                             \
      "the baseline %s is %s, and no estimate of its result says so",                              \
      "SELECT m.id, m.body ->> 'name', m.body ->> 'value' FROM comparison m WHERE m.kind = "       \
      "'baseline' AND EXISTS (SELECT 1 FROM estimate e WHERE e.cell = m.a) AND NOT EXISTS (SELECT "\
      "1 FROM estimate e WHERE e.cell = m.a AND e.body ->> ('$.metrics.' || (m.body ->> 'metric') "\
      "|| '.value') IS m.body ->> 'value' AND e.body ->> ('$.metrics.' || (m.body ->> 'metric') "  \
      "|| '.lo') IS m.body ->> 'lo' AND e.body ->> ('$.metrics.' || (m.body ->> 'metric') || "     \
      "'.hi') IS m.body ->> 'hi')")

/* What the run of a campaign enters in its log beside a head c of it, and its date. */
#define RUN_RECORDS                                                                                \
    "checkpoint c JOIN campaign g ON g.id = c.campaign JOIN about a ON a.campaign = g.record JOIN "\
    "record r ON r.id = a.record AND r.log = c.log WHERE r.type IN ('choice', 'doctor', 'dump', "  \
    "'estimate', 'event', 'trial', 'trial_begin')"
#define RUN_DATE                                                                                   \
    "coalesce(r.body ->> '$.utc_ns', r.body ->> '$.created_utc_ns', r.body ->> "                   \
    "'$.started_utc_ns', r.body ->> '$.ended_utc_ns')"

/* Those that a step reports, or has run at its place. */
#define VERIFY_STEP_RULES(X)                                                                       \
    /* of any step */                                                                              \
    X(UNREADABLE, "unreadable", CHECK_COUNT, WRONG, NULL,                                          \
      "cannot be read: %s", NULL)                                                                  \
    X(ROWS_MISSING, "rows_missing", CHECK_COUNT, WRONG, NULL,                                      \
      "is missing: there are %" PRId64 ", and the last is number %" PRId64, NULL)                  \
    /* the file and its structure */                                                               \
    X(BUNDLE_REFUSED, "bundle_refused", FILE, WRONG, NULL,                                         \
      "%s", NULL)                                                                                  \
    X(FILE_UNREADABLE, "file_unreadable", FILE, WRONG, NULL,                                       \
      "cannot be read: %s", NULL)                                                                  \
    X(COMPANION_ODD, "companion_odd", FILE, WRONG, NULL,                                           \
      "%s%s is next to it and is not a regular file: remove it", NULL)                             \
    X(LOG_STRAY, "log_stray", FILE, WRONG, NULL,                                                   \
      "%s-wal is next to it, and is not a write-ahead log of a database with its pages, so nothing "  \
      "in it was read: remove it", NULL)                                                           \
    X(BYTES_AFTER_PAGES, "bytes_after_pages", FILE, WRONG, NULL,                                   \
      "%" PRId64 " bytes lie outside of the database, after its last page", NULL)                  \
    X(PAGES_UNUSED, "pages_unused", FILE, NOTE, NULL,                                              \
      "%" PRId64 " bytes lie outside of the database's content, on %" PRId64 " pages that it "     \
      "does not use; files in which rows are only added have none, and nothing is said of what "   \
      "they hold (VACUUM removes them)", NULL)                                                     \
    X(FILE_CUT, "file_cut", FILE, WRONG, NULL,                                                     \
      "the file has been cut short: %" PRId64 " of %" PRId64 " bytes", NULL)                       \
    X(JOURNAL_HOT, "journal_hot", FILE, WRONG, NULL,                                               \
      "an interrupted change is next to it in %s-journal; the next program that opens the file "   \
      "for writing rolls it back, which changes the file: do that first (sqlite3 FILE .tables, "   \
      "after copying both), then check it again", NULL)                                            \
    X(FILE_STRUCTURE, "file_structure", FILE, WRONG, NULL,                                         \
      "%s", NULL)                                                                                  \
    /* its schema */                                                                               \
    X(SCHEMA_CHANGED, "schema_changed", SCHEMA, WRONG, NULL,                                       \
      "the %s %s is not the one that assay makes", NULL)                                           \
    X(SCHEMA_MISSING, "schema_missing", SCHEMA, WRONG, NULL,                                       \
      "the %s %s is missing", NULL)                                                                \
    X(SCHEMA_FOREIGN, "schema_foreign", SCHEMA, WRONG, NULL,                                       \
      "does not belong here: somebody added it", NULL)                                             \
    X(SCHEMA_ENDS_CHECKS, "schema_ends_checks", SCHEMA, NOTE, NULL,                                \
      "what follows the schema is not checked, because tables are not as expected", NULL)          \
    /* records */                                                                                  \
    X(RECORDS_UNREADABLE, "records_unreadable", RECORD, WRONG, "record",                           \
      "cannot be read: %s", NULL)                                                                  \
    X(RECORD_FORM, "record_form", RECORD, WRONG, "record",                                         \
      "%s", NULL)                                                                                  \
    /* logs and their heads */                                                                     \
    X(LOG_MISSING, "log_missing", TREE, WRONG, "log",                                              \
      "is missing, although records are of it",                                                    \
      "SELECT DISTINCT log FROM record WHERE log NOT IN (SELECT id FROM log)")                     \
    X(LOG_FOREIGN, "log_foreign", TREE, WRONG, "log",                                              \
      "%s: is not a log that this file can have, or lacks its first record",                       \
      "SELECT id, name FROM log l WHERE (id <> 1 AND secret IS NOT NULL) OR (id = 1 AND secret "   \
      "IS NULL) OR (id <> 1 AND (NOT EXISTS (SELECT 1 FROM bundle WHERE origin = name) OR NOT "    \
      "EXISTS (SELECT 1 FROM record r WHERE r.log = l.id AND r.leaf = 0 AND r.type = 'log' AND "   \
      "r.body ->> '$.name' = l.name)))")                                                           \
    X(PLAN_HEAD_PLACE, "plan_head_place", TREE, WRONG, "campaign",                                 \
      "campaign %.8s has a checkpoint of its plan that does not lie between its plan and its "     \
      "first trial",                                                                               \
      "SELECT g.id, g.uid FROM campaign g JOIN record r ON r.id = g.record JOIN checkpoint c ON "  \
      "c.campaign = g.id AND c.kind = 'plan' WHERE c.log <> r.log OR c.size <= r.leaf OR EXISTS "  \
      "(SELECT 1 FROM trial t JOIN record b ON b.id = t.record WHERE t.campaign = g.id AND "       \
      "b.leaf < c.size) ORDER BY g.id")                                                            \
    X(BUNDLE_RECORD_MISSING, "bundle_record_missing", TREE, WRONG, "bundle",                       \
      "%s: record %" PRIu64 " of its log is neither here nor proven to be another's", NULL)        \
    X(BUNDLE_ROOT, "bundle_root", TREE, WRONG, "bundle",                                           \
      "%s: its root does not follow from the records that are here", NULL)                         \
    X(BUNDLE_HEAD_PLACE, "bundle_head_place", TREE, WRONG, "bundle",                               \
      "a head of %lld records comes after %lld", NULL)                                             \
    X(BUNDLE_HEAD_NONE, "bundle_head_none", TREE, WRONG, "bundle",                                 \
      "one of its earlier heads is not valid", NULL)                                                    \
    X(BUNDLE_PROOF, "bundle_proof", TREE, WRONG, "bundle",                                         \
      "its proof cannot be read, or contradicts itself", NULL)                                     \
    X(RECORD_UNPROVEN, "record_unproven", TREE, WRONG, "record",                                   \
      "is of another file's log, and no bundle here proves it", NULL)                              \
    X(HEAD_SIZE, "head_size", TREE, WRONG, "record",                                               \
      "is a head of %lld records and comes after %" PRIu64, NULL)                                  \
    X(HEAD_ROOT, "head_root", TREE, WRONG, "record",                                               \
      "is a head whose root does not follow from the records before it: %s, told %s", NULL)        \
    X(HEAD_FRONTIER, "head_frontier", TREE, WRONG, "record",                                       \
      "is a head whose frontier does not follow from the records before it", NULL)                 \
    X(LEAF_PLACE, "leaf_place", TREE, WRONG, "record",                                             \
      "is number %lld of the log where number %" PRIu64 " belongs: one is missing, or they are "   \
      "not in their order", NULL)                                                                  \
    X(LOG_SALTS, "log_salts", TREE, WRONG, "log",                                                  \
      "the salts of its records do not follow from its secret", NULL)                              \
    X(LOG_NAME, "log_name", TREE, WRONG, "log",                                                    \
      "its name is not the one in the log's first record", NULL)                                   \
    X(LOG_NONE, "log_none", TREE, WRONG, "log",                                                    \
      "the file has no log", NULL)                                                                 \
    X(HEAD_EXPECTED, "head_expected", HEAD, WRONG, NULL,                                           \
      "the expected head %s is not one that a log of this file has had", NULL)                        \
    /* tables against records */                                                                   \
    X(ROW_DIFFERS, "row_differs", ROW, WRONG, NULL,                                                \
      "is not what its record says: it differs in %s", NULL)                                       \
    X(ROW_FOREIGN, "row_foreign", ROW, WRONG, NULL,                                                \
      "no record says so: somebody added it", NULL)                                                \
    X(ROW_MISSING, "row_missing", ROW, WRONG, NULL,                                                \
      "is missing, although a record says so", NULL)                                               \
    X(FINDINGS_MORE, "findings_more", ROW, WRONG, NULL,                                            \
      "and %" PRId64 " more", NULL)                                                                \
    X(RECORD_NOT_ENTERED, "record_not_entered", ROW, WRONG, "record",                              \
      "%s", NULL)                                                                                  \
    /* signatures and time stamps */                                                               \
    X(RECORDS_AFTER_SIGNATURE, "records_after_signature", SIGNATURE, WRONG, "campaign",            \
      "campaign %.8s has records that came after what the key that you named has signed",          \
      "SELECT DISTINCT g.id, g.uid FROM record r JOIN about a ON a.record = r.id JOIN campaign "   \
      "g ON g.record = a.campaign WHERE r.log = ?1 AND r.leaf >= ?2 AND NOT (r.type IN "           \
      "('estimate', 'comparison', 'amendment', 'checkpoint', 'signature', 'timestamp') OR "        \
      "(r.type = 'event' AND r.body ->> '$.event' IN " EVENTS_LATER ")) ORDER BY 1")               \
    X(PLAN_WITNESSES, "plan_witnesses", SIGNATURE, NOTE, "campaign",                               \
      "%s", NULL)                                                                                  \
    X(PLAN_WITNESSES_FEW, "plan_witnesses_few", SIGNATURE, WRONG, "campaign",                      \
      "%s", NULL)                                                                                  \
    X(RELEASE, "release", SIGNATURE, NOTE, "campaign",                                             \
      "campaign %.8s was run by a release: %s", NULL)                                              \
    X(RELEASE_NONE, "release_none", SIGNATURE, WRONG, "campaign",                                  \
      "no release known: campaign %.8s was run by the program with the SHA-256 %s, which no "      \
      "statement of --releases names", NULL)                                                       \
    X(QUOTE, "quote", SIGNATURE, NOTE, "campaign",                                                 \
      "a TPM quoted the heads of plan and end of campaign %.8s, %.3f s apart by its clock; PCRs %s; "\
      "its key has the SHA-256 %s, and that it is a TPM's is for whoever knows the key to say "     \
      "(--quote-key)", NULL)                                                                       \
    X(QUOTE_BAD, "quote_bad", SIGNATURE, WRONG, "dump",                                            \
      "%s", NULL)                                                                                  \
    X(QUOTE_CLOCK, "quote_clock", SIGNATURE, WRONG, "campaign",                                    \
      "between plan and end of campaign %.8s there were %.3f s by the clock of its TPM, %.3f to "  \
      "%.3f s by the file's: a clock was slow, fast or set", NULL)                                 \
    X(QUOTE_RESET, "quote_reset", SIGNATURE, NOTE, "campaign",                                     \
      "the machine of campaign %.8s was started again between the quotes of its plan and its end", \
      NULL)                                                                                        \
    X(QUOTE_NONE, "quote_none", SIGNATURE, WRONG, "campaign",                                      \
      "campaign %.8s has no good quotes of its plan and its end by the key of --quote-key", NULL)  \
    X(WITNESS_ELAPSED, "witness_elapsed", SIGNATURE, WRONG, "campaign",                            \
      "between the witnessed heads of its plan and its end there were %s: a clock was slow, fast "  \
      "or set", NULL)                                                                              \
    X(SEAL_OTHER, "seal_other", SIGNATURE, WRONG, NULL,                                            \
      "the signed text at the bundle's end is not of this bundle", NULL)                           \
    X(SEAL_UNSIGNED, "seal_unsigned", SIGNATURE, WRONG, NULL,                                      \
      "the bundle's end is not signed by the key that you named", NULL)                            \
    X(SEAL_SIGNED, "seal_signed", SIGNATURE, NOTE, NULL,                                           \
      "the bundle is signed; --key checks by whom", NULL)                                          \
    X(SEAL_NONE, "seal_none", SIGNATURE, NOTE, NULL,                                               \
      "the bundle is unsigned: its author, and whether something was removed from it, cannot be "  \
      "determined", NULL)                                                                          \
    X(KEY_NOT_COUNTED, "key_not_counted", SIGNATURE, NOTE, "signature",                            \
      "is by %s and does not count: the key %s", NULL)                                             \
    X(KEY_REVOKED_LATER, "key_revoked_later", SIGNATURE, NOTE, "signature",                        \
      "is by %s, whose key was revoked later: that the head is older than that is the word of "    \
      "whoever had the key, unless a witness or a time stamp shows it", NULL)                      \
    X(SIGNATURE_FORM, "signature_form", SIGNATURE, WRONG, "signature",                             \
      "is of no checkpoint, or has not the form of a signature", NULL)                             \
    X(SIGNATURE_DIFFERS, "signature_differs", SIGNATURE, WRONG, "signature",                       \
      "does not match checkpoint %lld", NULL)                                                      \
    X(BUNDLE_NOTE, "bundle_note", SIGNATURE, WRONG, "bundle",                                      \
      "its note is not that of its head", NULL)                                                    \
    X(LOG_NAME_FORM, "log_name_form", SIGNATURE, WRONG, "log",                                     \
      "its name is not one that assay gives a log, so notes under it may read as another's",       \
      NULL)                                                                                        \
    X(STAMP_EARLY, "stamp_early", SIGNATURE, NOTE, "timestamp_token",                              \
      "is %lld s earlier than the time the checkpoint states: the times in this file are too "     \
      "late", NULL)                                                                                \
    X(STAMP_AFTER_TRIAL, "stamp_after_trial", SIGNATURE, NOTE, "timestamp_token",                  \
      "was made after the first trial of its campaign began, by the file's clock: it does not "    \
      "show that the plan came before", NULL)                                                      \
    X(STAMP_BAD, "stamp_bad", SIGNATURE, WRONG, "timestamp_token",                                 \
      "%s", NULL)                                                                                  \
    X(STAMP_CHECKED, "stamp_checked", SIGNATURE, NOTE, "timestamp_token",                          \
      "an authority of %s stamped this root at %s", NULL)                                          \
    X(STAMP_UNCHECKED, "stamp_unchecked", SIGNATURE, NOTE, "timestamp_token",                      \
      "is of the right root and states %s; its signer was not checked: no CA given (--tsa-ca)",    \
      NULL)                                                                                        \
    X(CAMPAIGN_UNSIGNED, "campaign_unsigned", SIGNATURE, WRONG, "campaign",                        \
      "campaign %s%s is not covered by a signature of the key that you named", NULL)               \
    X(UNSIGNED_BY_KEY, "unsigned_by_key", SIGNATURE, WRONG, NULL,                                  \
      "unsigned by the key that you named", NULL)                                                  \
    X(ROSTER_WITHOUT_AUTHORS, "roster_without_authors", SIGNATURE, NOTE, NULL,                     \
      "the roster names no author, so whose results these are was not checked", NULL)              \
    X(UNSIGNED, "unsigned", SIGNATURE, NOTE, NULL,                                                 \
      "unsigned: a rewrite of the whole file is detected only with --expect-head", NULL)           \
    X(RECORDS_UNSIGNED, "records_unsigned", SIGNATURE, NOTE, NULL,                                 \
      "the last %" PRId64 " records came after what %s covers", NULL)                              \
    X(SIGNERS_UNKNOWN, "signers_unknown", SIGNATURE, NOTE, NULL,                                   \
      "signatures match the keys stored with them; --key checks whose keys these are", NULL)       \
    /* blobs and samples */                                                                        \
    X(SERIES_ENDLESS_ROW, "series_endless_row", CONTENT, WRONG, "series",                          \
      "is of a trial that has no record of its end",                                               \
      "SELECT trial || '/' || name || '/' || first FROM series WHERE trial NOT IN (SELECT trial "  \
      "FROM trial_end)")                                                                           \
    X(SERIES_FOREIGN, "series_foreign", CONTENT, WRONG, "series",                                  \
      "the series %.100s of trial %lld is in no record: somebody added it", NULL)                  \
    X(SERIES_DIFFERS, "series_differs", CONTENT, WRONG, "series",                                  \
      "the series %.100s of trial %lld is not the one that its record names", NULL)                \
    X(WITHHELD_UNTOLD, "withheld_untold", CONTENT, WRONG, NULL,                                    \
      "something is withheld, although its maker says that nothing is", NULL)                      \
    X(WITHHELD_NOT, "withheld_not", CONTENT, WRONG, NULL,                                          \
      "its maker says that something is withheld that is not", NULL)                               \
    X(WITHHELD, "withheld", CONTENT, NOTE, NULL,                                                   \
      "%s", NULL)                                                                                  \
    X(SERIES_UNREADABLE, "series_unreadable", CONTENT, WRONG, "series",                            \
      "cannot be read: %s", NULL)                                                                  \
    X(SERIES_NAME_NUL, "series_name_nul", CONTENT, WRONG, "series",                                \
      "the series %.100s of trial %lld has a NUL in its name", NULL)                               \
    X(SERIES_GAP, "series_gap", CONTENT, WRONG, "series",                                          \
      "the series %.100s of trial %lld has a gap: samples are missing", NULL)                      \
    X(SERIES_CHUNK, "series_chunk", CONTENT, WRONG, "series",                                      \
      "the series %.100s of trial %lld %s", NULL)                                                  \
    X(SERIES_TOO_LONG, "series_too_long", CONTENT, WRONG, "series",                                \
      "the series %.100s of trial %lld has too many samples", NULL)                                \
    X(SERIES_MISSING, "series_missing", CONTENT, WRONG, "series",                                  \
      "the series %.100s of trial %lld is missing, although its record names it", NULL)            \
    X(SERIES_ENDLESS, "series_endless", CONTENT, WRONG, "series",                                  \
      "%" PRId64 " of its rows are of trials that have no record of their end", NULL)              \
    X(BLOB_FOREIGN, "blob_foreign", CONTENT, WRONG, "content",                                     \
      "no record refers to it: somebody added it", NULL)                                           \
    X(BLOB_EMPTY, "blob_empty", CONTENT, WRONG, "content",                                         \
      "is empty, although a record of this file's own log refers to it", NULL)                     \
    X(BLOB_EMPTY_UNTOLD, "blob_empty_untold", CONTENT, WRONG, "content",                           \
      "is empty, and no bundle came without it", NULL)                                             \
    X(BLOB_WITHHELD, "blob_withheld", CONTENT, NOTE, "content",                                    \
      "was withheld by who made the bundle", NULL)                                                 \
    X(BLOB_DIGEST, "blob_digest", CONTENT, WRONG, "content",                                       \
      "has another digest than the one that records name", NULL)                                   \
    X(BLOB_TYPE, "blob_type", CONTENT, WRONG, "content",                                           \
      "is of another type than its bytes: text is UTF-8, a BLOB is not", NULL)                     \
    X(BLOB_MISSING, "blob_missing", CONTENT, WRONG, "content",                                     \
      "is missing, although a record refers to it", NULL)                                          \
    /* what was planned, and what is here */                                                       \
    X(BUNDLE_CAMPAIGN_UNCOUNTED, "bundle_campaign_uncounted", COMPLETE, WRONG, "bundle",           \
      "its head does not count the records of campaign %s, so some may be missing",                \
      "SELECT b.record, substr(g.uid, 1, 8) FROM bundle b JOIN log l ON l.name = b.origin JOIN "   \
      "campaign g ON g.id = b.campaign JOIN record c ON c.id = g.record WHERE NOT EXISTS "         \
      "(SELECT 1 FROM record r WHERE r.log = l.id AND r.leaf = b.size - 1 AND r.type = "           \
      "'checkpoint' AND json_type(r.body, '$.manifest.\"' || lower(hex(c.digest)) || '\"') = "     \
      "'object')")                                                                                 \
    X(BUNDLE_CAMPAIGNS, "bundle_campaigns", COMPLETE, WRONG, "bundle",                             \
      "it names %s campaigns, of which %s are here, and its head counts the records of %s",        \
      "SELECT id, told, here, counted FROM (SELECT b.id, (SELECT count(*) FROM bundle x WHERE "    \
      "x.record = b.id) AS here, json_array_length(b.body, '$.campaigns') AS told, (SELECT "       \
      "count(*) FROM record r, json_each(r.body, '$.manifest') WHERE r.log = l.id AND r.leaf = "   \
      "b.body ->> '$.size' - 1 AND r.type = 'checkpoint') AS counted FROM record b LEFT JOIN "     \
      "log l ON l.name = b.body ->> '$.origin' WHERE b.type = 'bundle' AND b.log = 1) WHERE "      \
      "here <> told OR counted <> told")                                                           \
    X(HEAD_DATES, "head_dates", COMPLETE, WRONG, "checkpoint",                                     \
      "it is dated %s ns, and the record %s, of type %s, which %s it in the log, %s ns",           \
      "SELECT c.id, c.utc_ns, min(r.id), r.type, CASE WHEN r.leaf < c.size THEN 'is before' ELSE " \
      "'is after' END, " RUN_DATE " AS at FROM " RUN_RECORDS " AND CASE WHEN r.leaf < c.size THEN "\
      "at > c.utc_ns ELSE r.type = 'trial_begin' AND at < c.utc_ns END GROUP BY c.id")             \
    X(HEAD_DATES_BACK, "head_dates_back", COMPLETE, NOTE, "checkpoint",                            \
      "it is dated %s ns, and the record %s, of type %s, which is after it in the log, %s ns: the "\
      "date was set back meanwhile",                                                               \
      "SELECT c.id, c.utc_ns, min(r.id), r.type, " RUN_DATE " AS at FROM " RUN_RECORDS " AND "     \
      "r.leaf >= c.size AND r.type <> 'trial_begin' AND at < c.utc_ns GROUP BY c.id")              \
    X(PLAN_UNPROVEN, "plan_unproven", COMPLETE, NOTE, "campaign",                                  \
      "that campaign %.8s was planned before its first trial is not proven: there is no "          \
      "checkpoint of its plan",                                                                    \
      "SELECT g.id, g.uid FROM campaign g JOIN record r ON r.id = g.record WHERE EXISTS (SELECT "  \
      "1 FROM trial t WHERE t.campaign = g.id) AND NOT EXISTS (SELECT 1 FROM checkpoint c WHERE "  \
      "c.campaign = g.id AND c.kind = 'plan' AND c.log = r.log AND c.size > r.leaf) ORDER BY "     \
      "g.id")                                                                                      \
    X(BUNDLE_CAMPAIGNS_FEWER, "bundle_campaigns_fewer", COMPLETE, WRONG, "bundle",                 \
      "a head of it counts fewer campaigns in its log than are here: %lld, and here are %lld",     \
      NULL)                                                                                        \
    X(NONCE_OTHER, "nonce_other", COMPLETE, WRONG, "campaign",                                     \
      "its plan carries %s%s, not the nonce that was asked for: it is an answer to another "       \
      "question", NULL)                                                                            \
    X(PLAN_ORDER, "plan_order", COMPLETE, WRONG, "campaign",                                       \
      "the plan that was recorded has another trial number %zu than the order that is stored",     \
      NULL)                                                                                        \
    X(PLAN_UNREADABLE, "plan_unreadable", COMPLETE, WRONG, "campaign",                             \
      "%s", NULL)                                                                                  \
    X(NONCE_UNANSWERED, "nonce_unanswered", COMPLETE, WRONG, NULL,                                 \
      "a nonce is asked for, and there is no campaign that answers it", NULL)                      \
    X(TRIAL_END_SAMPLES, "trial_end_samples", COMPLETE, WRONG, "trial_end",                        \
      "states %" PRId64 " samples, %" PRId64 " are stored", NULL)                                  \
    X(CAMPAIGN_ATTEMPTS, "campaign_attempts", COMPLETE, NOTE, "campaign",                          \
      "campaign %.8s: %s", NULL)                                                                   \
    X(PLAN_REPEATED, "plan_repeated", COMPLETE, NOTE, "campaign",                                  \
      "%lld campaigns ran the same plan, so a result of one may be the best of them: %.*s%s",      \
      NULL)                                                                                        \
    X(VALUES_WITHHELD, "values_withheld", COMPLETE, NOTE, "bundle",                                \
      "%lld values in its records are withheld: %s", NULL)                                         \
    X(LOG_IN_PART, "log_in_part", COMPLETE, NOTE, "bundle",                                        \
      "%lld of the %lld records of its log are not shown; %lld of its %s campaigns are here",      \
      NULL)                                                                                        \
    X(HEAD_CAMPAIGNS, "head_campaigns", COMPLETE, WRONG, "record",                                 \
      "is a head that counts %lld campaigns and comes after %lld", NULL)                           \
    X(HEAD_MANIFEST, "head_manifest", COMPLETE, WRONG, "record",                                   \
      "is a head that counts other records of %s than are here: some were left out, or put in",    \
      NULL)                                                                                        \
    X(HEAD_SAME_CELLS, "head_same_cells", COMPLETE, WRONG, "record",                               \
      "is a head that counts other campaigns of its log than are here", NULL)                      \
    X(HEAD_CAMPAIGN_MISSING, "head_campaign_missing", COMPLETE, WRONG, "record",                   \
      "is a head that counts records of a campaign that is not here", NULL)                        \
    /* campaigns and cells */                                                                      \
    X(CELL_COLUMN, "cell_column", CELL, WRONG, NULL,                                               \
      "%s: %s is %s, by %s it is %s", NULL)                                                        \
    X(CONTENT_WITHHELD_HERE, "content_withheld_here", CELL, NOTE, "content",                       \
      "the %s of %s is withheld, so what follows from it is unverified", NULL)                     \
    X(CONTENT_UNREADABLE, "content_unreadable", CELL, WRONG, "content",                            \
      "the %s of %s cannot be read", NULL)                                                         \
    X(CELL_WORK, "cell_work", CELL, WRONG, "cell",                                                 \
      "%s: %s", NULL)                                                                              \
    X(IMPORT_HAS_TRIALS, "import_has_trials", CELL, WRONG, "campaign",                             \
      "%s: its plan is a file of another program, and it has %" PRId64 " trials", NULL)            \
    X(PLAN_CELLS, "plan_cells", CELL, WRONG, "campaign",                                           \
      "%s: its plan does not name its %zu cells and their order", NULL)                            \
    X(TOLERANCE_LARGE, "tolerance_large", CELL, WRONG, "verification",                             \
      "the tolerance of %s in %s is %s, by the declared workload at most %s", NULL)                \
    X(CHECK_NONE, "check_none", CELL, UNVERIFIED, "verification",                                  \
      "the check of %s by %s in %s is none that its kind of workload makes", NULL)                 \
    X(TOLERANCES_UNDERIVED, "tolerances_underived", CELL, NOTE, "verification",                    \
      "the tolerances of %" PRId64 " outputs are unverified: they do not follow from the "         \
      "declared workload alone", NULL)                                                             \
    X(WORK_UNDERIVED, "work_underived", CELL, NOTE, "cell",                                        \
      "bytes, FLOPs and items of an iteration are unverified for %" PRId64 " cells: %s", NULL)     \
    /* trials */                                                                                   \
    X(TRIAL_VALUES, "trial_values", TRIAL, WRONG, "trial",                                         \
      "it has %" PRId64 " samples and %" PRId64 " values of %s", NULL)                             \
    X(SERIES_VALUE, "series_value", TRIAL, WRONG, "series",                                        \
      "the series %.100s of trial %lld holds %" PRId64, NULL)                                      \
    X(TRIAL_TIME, "trial_time", TRIAL, WRONG, "trial",                                             \
      "its samples and the gaps between them take %.0f ns, and warmup and window together %.0f",   \
      NULL)                                                                                        \
    X(PHASE_ORDER, "phase_order", TRIAL, WRONG, "phase",                                           \
      "the phase %.60s of trial %" PRId64 " is out of order, after %s", NULL)                      \
    X(TRIAL_PHASES, "trial_phases", TRIAL, WRONG, "trial",                                         \
      "it is ok with %zu of its %zu phases", NULL)                                                 \
    X(TRIAL_CHECKS, "trial_checks", TRIAL, WRONG, "trial",                                         \
      "it is ok without a check in %s", NULL)                                                      \
    X(TRIAL_CONDUCT, "trial_conduct", TRIAL, WRONG, "trial",                                       \
      "it is ok, and was not measured as its protocol says: %s", NULL)                             \
    X(SCHEDULE_DIGEST_MISSING, "schedule_digest_missing", TRIAL, WRONG, "trial",                   \
      "it has no digest of its schedule (the reading serving.schedule before it)", NULL)           \
    X(SCHEDULE_DIGEST, "schedule_digest", TRIAL, WRONG, "trial",                                   \
      "its schedule had the digest %.64s, by what is declared it is %s", NULL)                     \
    X(SCHEDULE_TIMES, "schedule_times", TRIAL, WRONG, "series",                                    \
      "request:scheduled_ns of trial %s is not the declared schedule", NULL)                       \
    X(CAPACITY_SHARE, "capacity_share", TRIAL, WRONG, "trial",                                     \
      "its rate is a share of a capacity of %.15g requests/s, and the saturated server's trial "   \
      "shows %.15g", NULL)                                                                         \
    X(SCHEDULES_UNVERIFIED, "schedules_unverified", TRIAL, NOTE, "trial",                          \
      "the schedules of %" PRId64 " trials are unverified: this assay cannot make them again",     \
      NULL)                                                                                        \
    X(TRIAL_STACKS, "trial_stacks", TRIAL, WRONG, "cell",                                          \
      "%s", NULL)                                                                                  \
    /* estimates and comparisons */                                                                \
    X(ESTIMATE_VERSION_NONE, "estimate_version_none", ESTIMATE, WRONG, "estimate",                 \
      "says that version %" PRId64 " of the analysis made it, and there is no such version", NULL) \
    X(ESTIMATE_VERSION, "estimate_version", ESTIMATE, UNVERIFIED, "estimate",                      \
      "was made by analysis version %" PRId64 "; version %d gives %s", NULL)                       \
    X(ESTIMATE_VERSION_REPLACED, "estimate_version_replaced", ESTIMATE, NOTE, "estimate",          \
      "was made by analysis version %" PRId64 "; version %d gives %s", NULL)                       \
    X(ESTIMATES_UNREADABLE, "estimates_unreadable", ESTIMATE, WRONG, "estimate",                   \
      "cannot be read: %s", NULL)                                                                  \
    X(ESTIMATE_VERDICT, "estimate_verdict", ESTIMATE, WRONG, "estimate",                           \
      "its verdict is not the one in its body", NULL)                                              \
    X(ESTIMATE_SERVING_VERSION, "estimate_serving_version", ESTIMATE, UNVERIFIED, "estimate",            \
      "was made by another version of the analysis of servers: %" PRId64 ", and this is %d",       \
      NULL)                                                                                        \
    X(ESTIMATE_NOT_RECOMPUTED, "estimate_not_recomputed", ESTIMATE, UNVERIFIED, "estimate",              \
      "cannot be recomputed: %s", NULL)                                                            \
    X(ESTIMATE_DIFFERS, "estimate_differs", ESTIMATE, WRONG, "estimate",                           \
      "does not follow from the samples of cell %" PRId64 "%s%s", NULL)                                   \
    X(ESTIMATE_ROUNDED, "estimate_rounded", ESTIMATE, NOTE, "estimate",                            \
      "comes out within 1e-9 but not in the same bytes: another C library or processor rounds "    \
      "differently", NULL)                                                                         \
    X(ESTIMATE_ROWS, "estimate_rows", ESTIMATE, WRONG, "estimate",                                 \
      "has row %" PRId64 ", and only %" PRId64 " rows", NULL)                                      \
    X(COMPARISON_IN_PART, "comparison_in_part", COMPARISON, NOTE, "comparison",                      \
      "was recomputed, except for withheld values that do not affect it: %s", NULL)                \
    X(COMPARISON_NEEDS_WITHHELD, "comparison_needs_withheld", COMPARISON, NOTE, "comparison",      \
      "cannot be recomputed without withheld values: %s; ask for a bundle that contains them",     \
      NULL)                                                                                        \
    X(COMPARISON_WITHOUT_WITHHELD, "comparison_without_withheld", COMPARISON, NOTE, "comparison",  \
      "cannot be recomputed without withheld values%s%s", NULL)                                    \
    X(COMPARISON_WITHHELD, "comparison_withheld", COMPARISON, NOTE, "comparison",                  \
      "is withheld, so it was not recomputed", NULL)                                               \
    X(COMPARISON_UNREADABLE, "comparison_unreadable", COMPARISON, WRONG, "comparison",             \
      "%s", NULL)                                                                                  \
    X(COMPARISON_RESULTS, "comparison_results", COMPARISON, WRONG, "comparison",                   \
      "is not of the results in its body", NULL)                                                   \
    X(COMPARISON_NOT_RECOMPUTED, "comparison_not_recomputed", COMPARISON, UNVERIFIED,              \
      "comparison", "%s", NULL)                                                                    \
    X(COMPARISON_RULES, "comparison_version", COMPARISON, UNVERIFIED, "comparison",              \
      "was made by version %" PRId64 " of the rules; version %d gives another", NULL)              \
    X(COMPARISON_DIFFERS, "comparison_differs", COMPARISON, WRONG, "comparison",                   \
      "does not follow from what is stored%s%s", NULL)

/* Shortest and longest iteration by the samples, with rounding; of cells that are no servers. */
#define ITERATION_SPANS                                                                            \
    "SELECT t.cell, t.sequence, min(1.0 * s.minimum / x.iterations_per_sample) * (1 - 1e-6) AS "   \
    "lo, max(1.0 * s.maximum / x.iterations_per_sample) * (1 + 1e-6) AS hi FROM trial t JOIN "     \
    "cell c ON c.id = t.cell AND c.scenario NOT LIKE 'server%' JOIN trial_end x ON x.trial = "     \
    "t.id AND x.status = 'ok' AND x.iterations_per_sample > 0 JOIN series s ON s.trial = t.id "    \
    "AND s.name = 'wall_ns' "

/* What a sample of the series `counted` stands for (harness/core/workload_cost.h); NULL beyond 2^61.
 */
#define COUNTED_OF(s)                                                                              \
    "(1 + (" s " & 4294967295) / 4294967296.0) * CASE WHEN abs((" s " >> 32) - 1023) > 61 THEN "   \
    "NULL WHEN (" s " >> 32) >= 1023 THEN 1 << ((" s " >> 32) - 1023) ELSE 1.0 / (1 << (1023 - ("  \
    s " >> 32))) END"

/* What holds of an estimate whatever analysis made it (verify_estimates). */
#define VERIFY_ESTIMATE_RULES(X)                                                                   \
    X(ESTIMATE_VERSIONS, "estimate_versions", ESTIMATE, WRONG, "estimate",                         \
      "is of analysis version %s, and its body says %s",                                           \
      "SELECT id, version, body ->> '$.version' FROM estimate WHERE version <> body ->> "          \
      "'$.version'")                                                                               \
    X(ESTIMATE_OUTSIDE, "estimate_outside", ESTIMATE, WRONG, "estimate",                           \
      "its %s is %s ns, and an iteration of its samples takes from %s to %s ns",                   \
      "SELECT e.id, m.key, m.value ->> '$.value', lo, hi FROM estimate e JOIN ("                   \
      ITERATION_SPANS "GROUP BY t.cell) p ON p.cell = e.cell, json_each(e.body, '$.metrics') m "   \
      "WHERE (m.key = 'iteration_time' OR m.key GLOB 'p[0-9]*') AND NOT m.value ->> '$.value' "    \
      "BETWEEN lo AND hi")                                                                         \
    X(ESTIMATE_TRIAL_OUTSIDE, "estimate_trial_outside", ESTIMATE, WRONG, "estimate",               \
      "its trial %s takes %s ns an iteration, and the samples of that trial from %s to %s ns",     \
      "SELECT e.id, m.value ->> '$.sequence', m.value ->> n.column1, lo, hi FROM estimate e, "     \
      "json_each(e.body, '$.trials') m, (VALUES ('$.mean_ns'), ('$.median_ns')) n JOIN ("          \
      ITERATION_SPANS "GROUP BY t.cell, t.sequence) p ON p.cell = e.cell AND p.sequence = "        \
      "m.value ->> '$.sequence' WHERE NOT m.value ->> n.column1 BETWEEN lo AND hi AND (SELECT "     \
      "coalesce(headline, '') <> 'counted' FROM cell WHERE id = e.cell)")                          \
    X(ESTIMATE_COUNTED, "estimate_counted", ESTIMATE, WRONG, "estimate",                           \
      "its %s is %s, and its samples counted from %s to %s",                                       \
      "SELECT id, key, value, lo, hi FROM (SELECT e.id, m.key, m.value ->> '$.value' AS value, "   \
      "min(" COUNTED_OF("s.minimum") ") AS lo, max(" COUNTED_OF("s.maximum") ") AS hi FROM "       \
      "estimate e, json_each(e.body, '$.metrics') m JOIN trial t ON t.cell = e.cell JOIN "         \
      "trial_end x ON x.trial = t.id AND x.status = 'ok' JOIN series s ON s.trial = t.id AND "     \
      "s.name = 'counted' WHERE m.key GLOB 'counted_*' GROUP BY e.id, m.key) WHERE value NOT "     \
      "BETWEEN lo * (1 - 1e-6) AND hi * (1 + 1e-6)")                                               \
    X(ESTIMATE_RATE, "estimate_rate", ESTIMATE, WRONG, "estimate",                                 \
      "its %s is %s a second, and %s in %s ns are another rate",                                   \
      "SELECT id, name, rate, work, time FROM (SELECT e.id, m.key AS name, m.value ->> b.column1 " \
      "AS rate, e.body ->> ('$.metrics.iteration_time' || b.column2) AS time, CASE m.key WHEN "    \
      "'byte_rate' THEN c.bytes WHEN 'op_rate' THEN c.flops WHEN 'item_rate' THEN c.items END AS " \
      "work FROM estimate e JOIN cell c ON c.id = e.cell AND c.scenario NOT LIKE 'server%', "      \
      "json_each(e.body, '$.metrics') m, "                                                         \
      "(VALUES ('$.value', '.value'), ('$.lo', '.hi'), ('$.hi', '.lo')) b WHERE m.key IN "         \
      "('byte_rate', 'op_rate', 'item_rate')) WHERE rate IS NOT NULL AND coalesce(abs(rate * time "\
      "- 1e9 * work) > 1e-9 * abs(1e9 * work), 1)")                                                \
    X(ESTIMATE_INTERVAL, "estimate_interval", ESTIMATE, WRONG, "estimate",                         \
      "its %s is %s, outside of its own interval from %s to %s",                                   \
      "SELECT e.id, m.key, m.value ->> '$.value', m.value ->> '$.lo', m.value ->> '$.hi' FROM "    \
      "estimate e, json_each(e.body, '$.metrics') m WHERE NOT m.value ->> '$.value' BETWEEN "      \
      "m.value ->> '$.lo' AND m.value ->> '$.hi'")                                                 \
    X(ESTIMATE_GOODPUT, "estimate_goodput", ESTIMATE, WRONG, "estimate",                           \
      "a share of %s of %s requests/s kept its limits, and its goodput is %s requests/s",          \
      "SELECT id, share, arrivals, goodput FROM (SELECT id, body ->> "                             \
      "'$.metrics.attainment.value' AS share, body ->> '$.metrics.request_rate.value' AS "         \
      "arrivals, body ->> '$.metrics.goodput.value' AS goodput FROM estimate) WHERE NOT share "    \
      "BETWEEN 0 AND 1 OR goodput > share * arrivals * (1 + 1e-9)")
/* clang-format on */

#define VERIFY_RULE_MAP(X)                                                                         \
    VERIFY_TRIAL_RULES(X)                                                                          \
    VERIFY_PLAN_RULES(X)                                                                           \
    VERIFY_STEP_RULES(X)                                                                           \
    VERIFY_ESTIMATE_RULES(X)

enum verify_rule_code {
#define VERIFY_RULE_ENUM(constant, ...) VERIFY_RULE_##constant,
    VERIFY_RULE_MAP(VERIFY_RULE_ENUM)
#undef VERIFY_RULE_ENUM
        VERIFY_RULE_COUNT
};

/* For the compiler, which holds a message against what is put into it. */
#define VERIFY_RULE_MESSAGE(constant, code, check, level, table, message, select)                  \
    static const char verify_message_##constant[] = message;
VERIFY_RULE_MAP(VERIFY_RULE_MESSAGE)
#undef VERIFY_RULE_MESSAGE

struct verify_rule {
    const char *code;
    enum verify_check check;
    enum verify_level level;
    const char *table, *message, *select;
};

extern const struct verify_rule verify_rules[VERIFY_RULE_COUNT];

/* Counts a finding of that level. */
void verify_count(struct verify_summary *summary, enum verify_level level);

#endif
