-- From schema version 7 to 8.

-- Views that DuckDB can read, too. It spells a view's text anew (count(*) becomes count_star(), which
-- SQLite has not) or runs it itself: a join needs its ON or a comma, and what json_extract gives needs
-- a type. A text out of JSON keeps its quotes there; trim takes them off where no text has any.

DROP VIEW samples_index;
CREATE VIEW samples_index AS
SELECT trial, name AS series, sum(count) AS samples, min(minimum) AS minimum,
       max(maximum) AS maximum, sum(total) AS total, count(first) AS chunks,
       sum(length(data)) AS stored_bytes
FROM series GROUP BY trial, name;

DROP VIEW sensors;
CREATE VIEW sensors AS
WITH sensor AS (
    SELECT t.trial, t.part, t.status, t.message, c.value AS body,
           trim(CAST(json_extract(c.value, '$.name') AS TEXT), '"') AS channel
    FROM telemetry t
    JOIN content x ON x.digest = t.channels, json_each(x.body) c
)
SELECT trial, part, channel, trim(CAST(json_extract(body, '$.kind') AS TEXT), '"') AS kind,
       CAST(json_extract(body, '$.source') AS TEXT) AS source,
       'telemetry:' || part || '.' || channel AS series,
       (SELECT coalesce(sum(s.count), 0) FROM series s WHERE s.trial = sensor.trial
        AND s.name = 'telemetry:' || sensor.part || '.' || sensor.channel) AS samples,
       CAST(json_extract(body, '$.wraps_at') AS BIGINT) AS wraps_at,
       coalesce(CAST(json_extract(body, '$.reason') AS TEXT),
                CASE status WHEN 'ok' THEN NULL ELSE message END) AS reason
FROM sensor;

DROP VIEW findings;
CREATE VIEW findings AS
SELECT d.campaign, d.utc_ns / 1e9 AS at,
       trim(CAST(json_extract(f.value, '$.check') AS TEXT), '"') AS "check",
       trim(CAST(json_extract(f.value, '$.severity') AS TEXT), '"') AS severity,
       CAST(json_extract(f.value, '$.observed') AS TEXT) AS observed,
       CAST(json_extract(f.value, '$.effect') AS TEXT) AS effect,
       CAST(json_extract(f.value, '$.remedy') AS TEXT) AS remedy
FROM doctor d
JOIN content x ON x.digest = d.body, json_each(x.body, '$.findings') f;

DROP VIEW estimates;
CREATE VIEW estimates AS
SELECT e.id AS estimate, substr(g.uid, 1, 8) || '/' || c.ordinal AS result, e.version, e.verdict,
       e.created_utc_ns / 1e9 AS created,
       CAST(json_extract(e.body, '$.metrics.iteration_time.value') AS DOUBLE) AS iteration_ns,
       CAST(json_extract(e.body, '$.metrics.iteration_time.lo') AS DOUBLE) AS iteration_ns_lo,
       CAST(json_extract(e.body, '$.metrics.iteration_time.hi') AS DOUBLE) AS iteration_ns_hi,
       e.body AS json
FROM estimate e
JOIN cell c ON c.id = e.cell
JOIN campaign g ON g.id = c.campaign;

-- One row per result: its headline metric as the newest estimate has it, or as an import claims it.
-- `value`, `lo`, `hi` are in `unit`; `grade` and `verdict` say how far to trust them.
DROP VIEW results;
CREATE VIEW results AS
WITH cell_body AS (
    SELECT c.id AS cell, e.verdict, k.cell AS claimed, coalesce(e.body, k.body) AS body,
           trim(CAST(json_extract(coalesce(e.body, k.body), '$.headline') AS TEXT), '"') AS metric,
           trim(CAST(json_extract(k.body, '$.device') AS TEXT), '"') AS claimed_device
    FROM cell c
    LEFT JOIN estimate e ON e.id = (SELECT max(id) FROM estimate l WHERE l.cell = c.id)
    LEFT JOIN claim k ON k.cell = c.id
)
SELECT substr(g.uid, 1, 8) || '/' || c.ordinal AS result, c.workload_name AS workload,
       c.precision, c.batch, c.scenario, c.implementation, c.protocol_name AS protocol,
       c.device_spec, coalesce((SELECT d.name FROM trial t
                                JOIN trial_device td ON td.trial = t.id
                                JOIN device d ON d.id = td.device
                                WHERE t.cell = c.id ORDER BY t.id DESC LIMIT 1),
                               b.claimed_device) AS device,
       (SELECT max(d.simulated) FROM trial t
        JOIN trial_device td ON td.trial = t.id
        JOIN device d ON d.id = td.device WHERE t.cell = c.id) AS simulated,
       (SELECT count(DISTINCT t.sequence) FROM trial t JOIN trial_end x ON x.trial = t.id
        WHERE t.cell = c.id AND x.status = 'ok') AS trials_ok,
       c.trials AS trials_planned,
       coalesce(b.verdict, CASE WHEN b.claimed IS NOT NULL THEN 'imported' END) AS verdict,
       trim(CAST(json_extract(b.body, '$.metrics.' || b.metric || '.grade') AS TEXT), '"') AS grade,
       b.metric,
       CAST(json_extract(b.body, '$.metrics.' || b.metric || '.value') AS DOUBLE) AS value,
       CAST(json_extract(b.body, '$.metrics.' || b.metric || '.lo') AS DOUBLE) AS lo,
       CAST(json_extract(b.body, '$.metrics.' || b.metric || '.hi') AS DOUBLE) AS hi,
       trim(CAST(json_extract(b.body, '$.metrics.' || b.metric || '.unit') AS TEXT), '"') AS unit,
       g.created_utc_ns / 1e9 AS created, c.campaign, c.id AS cell, i.program AS imported
FROM cell c
JOIN campaign g ON g.id = c.campaign
JOIN cell_body b ON b.cell = c.id
LEFT JOIN import i ON i.campaign = c.campaign;

-- One row per result and metric, of the newest estimate or of a claim.
CREATE VIEW metrics AS
SELECT substr(g.uid, 1, 8) || '/' || c.ordinal AS result, c.workload_name AS workload,
       m.key AS metric, CAST(json_extract(m.value, '$.value') AS DOUBLE) AS value,
       CAST(json_extract(m.value, '$.lo') AS DOUBLE) AS lo,
       CAST(json_extract(m.value, '$.hi') AS DOUBLE) AS hi,
       trim(CAST(json_extract(m.value, '$.unit') AS TEXT), '"') AS unit,
       trim(CAST(json_extract(m.value, '$.grade') AS TEXT), '"') AS grade, c.campaign, c.id AS cell
FROM cell c
JOIN campaign g ON g.id = c.campaign
LEFT JOIN estimate e ON e.id = (SELECT max(id) FROM estimate l WHERE l.cell = c.id)
LEFT JOIN claim k ON k.cell = c.id, json_each(coalesce(e.body, k.body), '$.metrics') m;

-- What must be known beside a result's value: one row per finding of its newest estimate. (The view
-- `findings` is of `assay doctor`.)
CREATE VIEW result_findings AS
SELECT substr(g.uid, 1, 8) || '/' || c.ordinal AS result,
       trim(CAST(json_extract(f.value, '$.code') AS TEXT), '"') AS code,
       CAST(json_extract(f.value, '$.trial_number') AS BIGINT) AS trial_number,
       CAST(json_extract(f.value, '$.numbers') AS TEXT) AS numbers,
       trim(CAST(json_extract(f.value, '$.subject') AS TEXT), '"') AS subject, c.id AS cell
FROM cell c
JOIN campaign g ON g.id = c.campaign
JOIN estimate e ON e.id = (SELECT max(id) FROM estimate l WHERE l.cell = c.id),
     json_each(e.body, '$.findings') f;
