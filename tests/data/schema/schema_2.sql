-- Schema version 2: views say which campaigns are archived.
--
-- Every view with rows of a campaign ends with `archived`: 1 where `assay archive` put that
-- campaign away, else 0. `campaigns` works it out, and the others ask `campaigns` or `trials`. What
-- campaigns share (declarations, devices, their readings) is of none; schema.sql has those views.
-- To DuckDB a null in JSON is the text 'null': no grade is called so.

DROP VIEW campaigns;
DROP VIEW planned;
DROP VIEW choices;
DROP VIEW trials;
DROP VIEW phases;
DROP VIEW verifications;
DROP VIEW libraries;
DROP VIEW conditions;
DROP VIEW kernels;
DROP VIEW samples_index;
DROP VIEW samples;
DROP VIEW sensors;
DROP VIEW findings;
DROP VIEW dumps;
DROP VIEW estimates;
DROP VIEW results;
DROP VIEW metrics;
DROP VIEW result_findings;
DROP VIEW amendments;
DROP VIEW bundles;
DROP VIEW imports;
DROP VIEW claims;
DROP VIEW checkpoints;

CREATE VIEW campaigns AS
SELECT id AS campaign, uid, created_utc_ns / 1e9 AS created, command,
       (SELECT name FROM declaration d WHERE d.digest = c.protocol AND d.kind = 'protocol' LIMIT 1)
           AS protocol,
       (SELECT count(*) FROM cell WHERE cell.campaign = c.id) AS cells,
       (SELECT count(*) FROM planned_trial p WHERE p.campaign = c.id) AS planned,
       (SELECT event FROM campaign_event e WHERE e.campaign = c.id ORDER BY e.id DESC LIMIT 1)
           AS state,
       tool_version, lower(hex(tool_digest)) AS tool_sha256, lower(hex(plan)) AS plan_sha256,
       (SELECT count(*) FROM campaign_event e WHERE e.campaign = c.id AND e.event = 'archived'
        AND e.id = (SELECT max(l.id) FROM campaign_event l WHERE l.campaign = e.campaign
                    AND l.event IN ('archived', 'restored'))) AS archived
FROM campaign c;

-- What was planned, in its order, and what became of it.
CREATE VIEW planned AS
SELECT p.campaign, p.sequence, substr(g.uid, 1, 8) || '/' || c.ordinal AS result,
       c.workload_name AS workload, c.precision, c.batch, c.scenario, c.implementation,
       c.device_spec AS device, c.protocol_name AS protocol, t.attempt AS attempts,
       CASE WHEN t.id IS NULL THEN 'not run' ELSE coalesce(e.status, 'no end') END AS state,
       g.created_utc_ns / 1e9 AS created,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
FROM planned_trial p
JOIN cell c ON c.id = p.cell
JOIN campaign g ON g.id = p.campaign
LEFT JOIN trial t ON t.campaign = p.campaign AND t.sequence = p.sequence
    AND t.attempt = (SELECT max(attempt) FROM trial l
                     WHERE l.campaign = p.campaign AND l.sequence = p.sequence)
LEFT JOIN trial_end e ON e.trial = t.id;

CREATE VIEW choices AS
SELECT substr(g.uid, 1, 8) || '/' || c.ordinal AS result, x.created_utc_ns / 1e9 AS created,
       b.body AS json,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
FROM choice x
JOIN content b ON b.digest = x.content
JOIN cell c ON c.id = x.cell
JOIN campaign g ON g.id = c.campaign;

-- What ran: every attempt, failed ones with their reason.
CREATE VIEW trials AS
SELECT t.id AS trial, substr(g.uid, 1, 8) || '/' || c.ordinal AS result, t.sequence, t.attempt,
       c.workload_name AS workload, c.precision, c.batch, d.name AS device,
       coalesce(e.status, 'no end') AS status, e.message, t.started_utc_ns / 1e9 AS started,
       (e.ended_utc_ns - t.started_utc_ns) / 1e9 AS seconds, e.samples, e.window_first,
       e.iterations_per_sample, e.exit_code, e.signal, e.max_rss_bytes, e.facts,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
FROM trial t
JOIN cell c ON c.id = t.cell
JOIN campaign g ON g.id = t.campaign
LEFT JOIN trial_end e ON e.trial = t.id
LEFT JOIN trial_device td ON td.trial = t.id
LEFT JOIN device d ON d.id = td.device;

CREATE VIEW phases AS
SELECT trial, name AS phase, begin_ns / 1e9 AS begin, (end_ns - begin_ns) / 1e9 AS seconds,
       (SELECT v.archived FROM trials v WHERE v.trial = phase.trial) AS archived
FROM phase;

CREATE VIEW verifications AS
SELECT trial, phase, output, metric, coalesce(error, error_text) AS error, tolerance, compared,
       passed, reason,
       (SELECT v.archived FROM trials v WHERE v.trial = verification.trial) AS archived
FROM verification;

-- On which libraries: every file mapped by a trial's worker.
CREATE VIEW libraries AS
SELECT DISTINCT s.trial, s.at, c.path, c.kind, c.version, c.build_id, c.size,
       nullif(lower(hex(c.sha256)), '') AS sha256, c.missing_reason,
       (SELECT v.archived FROM trials v WHERE v.trial = s.trial) AS archived
FROM trial_stack s
JOIN stack_member m ON m.stack = s.stack
JOIN component c ON c.id = m.component;

-- Under which conditions: every reading of a trial's surroundings.
CREATE VIEW conditions AS
SELECT e.trial, e.at, r.name, json_extract(r.body, '$.value') AS value,
       json_extract(r.body, '$.unit') AS unit, json_extract(r.body, '$.status') AS status,
       json_extract(r.body, '$.source') AS source, json_extract(r.body, '$.reason') AS reason,
       (SELECT v.archived FROM trials v WHERE v.trial = e.trial) AS archived
FROM environment e
JOIN reading_member m ON m.reading_set = e.readings
JOIN reading r ON r.id = m.reading;

-- Compiled kernels, one row each.
CREATE VIEW kernels AS
SELECT a.trial, lower(hex(a.content)) AS sha256, c.body AS json,
       (SELECT v.archived FROM trials v WHERE v.trial = a.trial) AS archived
FROM artifact a JOIN content c ON c.digest = a.content;

-- With which raw samples: how many, and their range, by trial and series.
CREATE VIEW samples_index AS
SELECT trial, name AS series, sum(count) AS samples, min(minimum) AS minimum,
       max(maximum) AS maximum, sum(total) AS total, count(first) AS chunks,
       sum(length(data)) AS stored_bytes,
       (SELECT v.archived FROM trials v WHERE v.trial = series.trial) AS archived
FROM series GROUP BY trial, name;

-- The raw samples themselves, one row each. Ask by trial: WHERE trial = 1 AND series = 'wall_ns'
-- ORDER BY number. A chunk's sample is `minimum` plus an unsigned big-endian number of
-- width = (length(data) - 28) / count bytes at 28 + number * width; the byte at a place is its
-- position in a table of the bytes 1..255 (instr gives 0 for 0). Exact while a chunk's range is
-- below 2^63.
CREATE VIEW samples AS
WITH bytes (b) AS (SELECT x'0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'),
chunk AS (
    SELECT trial, name, first, minimum, data, (length(data) - 28) / count AS width,
           replace(hex(zeroblob(count)), '00', ',0') AS zeros
    FROM series
),
place AS (
    SELECT trial, name, first + n.key AS number, minimum, data, width,
           28 + (n.key + 1) * width AS last
    FROM chunk, json_each('[' || substr(zeros, 2) || ']') n
)
SELECT trial, name AS series, number, minimum
       + CASE WHEN width > 0 THEN instr(b, substr(data, last, 1)) ELSE 0 END
       + (CASE WHEN width > 1 THEN instr(b, substr(data, last - 1, 1)) ELSE 0 END << 8)
       + (CASE WHEN width > 2 THEN instr(b, substr(data, last - 2, 1)) ELSE 0 END << 16)
       + (CASE WHEN width > 3 THEN instr(b, substr(data, last - 3, 1)) ELSE 0 END << 24)
       + (CASE WHEN width > 4 THEN instr(b, substr(data, last - 4, 1)) ELSE 0 END << 32)
       + (CASE WHEN width > 5 THEN instr(b, substr(data, last - 5, 1)) ELSE 0 END << 40)
       + (CASE WHEN width > 6 THEN instr(b, substr(data, last - 6, 1)) ELSE 0 END << 48)
       + (CASE WHEN width > 7 THEN instr(b, substr(data, last - 7, 1)) ELSE 0 END << 56)
       AS value,
       (SELECT v.archived FROM trials v WHERE v.trial = place.trial) AS archived
FROM place, bytes;

-- What was sampled beside a trial, one row a channel. `samples` is 0 where it had no values, and
-- `reason` then says why. SELECT t.value / 1e9 AS s, v.value FROM samples t JOIN samples v
-- USING (trial, number) WHERE trial = 1 AND t.series = 'telemetry:host.time_ns'
-- AND v.series = 'telemetry:host.cpu_busy_ms' gives a channel without gaps over time.
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
                CASE status WHEN 'ok' THEN NULL ELSE message END) AS reason,
       (SELECT v.archived FROM trials v WHERE v.trial = sensor.trial) AS archived
FROM sensor;

-- What was found wrong with the machine, one row a finding.
CREATE VIEW findings AS
SELECT d.campaign, d.utc_ns / 1e9 AS at,
       trim(CAST(json_extract(f.value, '$.check') AS TEXT), '"') AS "check",
       trim(CAST(json_extract(f.value, '$.severity') AS TEXT), '"') AS severity,
       CAST(json_extract(f.value, '$.observed') AS TEXT) AS observed,
       CAST(json_extract(f.value, '$.effect') AS TEXT) AS effect,
       CAST(json_extract(f.value, '$.remedy') AS TEXT) AS remedy,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = d.campaign) AS archived
FROM doctor d
JOIN content x ON x.digest = d.body, json_each(x.body, '$.findings') f;

-- SELECT output FROM dumps WHERE campaign = 1 AND tool = 'lscpu' gives it as it was.
CREATE VIEW dumps AS
SELECT d.id AS dump, substr(g.uid, 1, 8) AS id, d.campaign, d.utc_ns / 1e9 AS at, d.tool, d.command,
       d.status, d.message, d.exit_code, length(CAST(c.body AS BLOB)) AS bytes,
       nullif(lower(hex(d.output)), '') AS sha256, c.body AS output,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
FROM dump d
JOIN campaign g ON g.id = d.campaign
LEFT JOIN content c ON c.digest = d.output;

-- Estimates, all of them; the newest of a cell is the one that counts.
CREATE VIEW estimates AS
SELECT e.id AS estimate, substr(g.uid, 1, 8) || '/' || c.ordinal AS result, e.version, e.verdict,
       e.created_utc_ns / 1e9 AS created,
       CAST(json_extract(e.body, '$.metrics.iteration_time.value') AS DOUBLE) AS iteration_ns,
       CAST(json_extract(e.body, '$.metrics.iteration_time.lo') AS DOUBLE) AS iteration_ns_lo,
       CAST(json_extract(e.body, '$.metrics.iteration_time.hi') AS DOUBLE) AS iteration_ns_hi,
       e.body AS json,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
FROM estimate e
JOIN cell c ON c.id = e.cell
JOIN campaign g ON g.id = c.campaign;

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
       nullif(trim(CAST(json_extract(b.body, '$.metrics.' || b.metric || '.grade') AS TEXT), '"'),
              'null') AS grade,
       b.metric,
       CAST(json_extract(b.body, '$.metrics.' || b.metric || '.value') AS DOUBLE) AS value,
       CAST(json_extract(b.body, '$.metrics.' || b.metric || '.lo') AS DOUBLE) AS lo,
       CAST(json_extract(b.body, '$.metrics.' || b.metric || '.hi') AS DOUBLE) AS hi,
       trim(CAST(json_extract(b.body, '$.metrics.' || b.metric || '.unit') AS TEXT), '"') AS unit,
       g.created_utc_ns / 1e9 AS created, c.campaign, c.id AS cell, i.program AS imported,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
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
       nullif(trim(CAST(json_extract(m.value, '$.grade') AS TEXT), '"'), 'null') AS grade,
       c.campaign, c.id AS cell,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
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
       trim(CAST(json_extract(f.value, '$.subject') AS TEXT), '"') AS subject, c.id AS cell,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
FROM cell c
JOIN campaign g ON g.id = c.campaign
JOIN estimate e ON e.id = (SELECT max(id) FROM estimate l WHERE l.cell = c.id),
     json_each(e.body, '$.findings') f;

CREATE VIEW amendments AS
SELECT a.id AS amendment, substr(g.uid, 1, 8) || '/' || c.ordinal AS result,
       a.utc_ns / 1e9 AS created, a.author, a.reason,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
FROM amendment a JOIN cell c ON c.id = a.cell JOIN campaign g ON g.id = c.campaign;

CREATE VIEW bundles AS
SELECT c.uid AS campaign, b.imported_utc_ns / 1e9 AS imported, b.file,
       lower(hex(b.sha256)) AS sha256, b.origin, b.size, lower(hex(b.root)) AS root, b.note,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = c.id) AS archived
FROM bundle b JOIN campaign c ON c.id = b.campaign;

-- Files of other programs, and what each of their results does not tell.
CREATE VIEW imports AS
SELECT i.campaign, substr(g.uid, 1, 8) AS id, i.file, i.size, lower(hex(i.sha256)) AS sha256,
       i.format, i.program, i.program_version, g.created_utc_ns / 1e9 AS imported,
       (SELECT count(*) FROM cell c WHERE c.campaign = i.campaign) AS results,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
FROM import i JOIN campaign g ON g.id = i.campaign;

CREATE VIEW claims AS
SELECT substr(g.uid, 1, 8) || '/' || c.ordinal AS result, i.program, r.name,
       json_extract(r.body, '$.status') AS status, json_extract(r.body, '$.value') AS value,
       json_extract(r.body, '$.reason') AS reason, k.body AS json,
       (SELECT v.archived FROM campaigns v WHERE v.campaign = g.id) AS archived
FROM claim k
JOIN cell c ON c.id = k.cell
JOIN campaign g ON g.id = c.campaign
JOIN import i ON i.campaign = c.campaign
JOIN reading_member m ON m.reading_set = k.readings
JOIN reading r ON r.id = m.reading;

-- How far the log is covered, and by whom.
CREATE VIEW checkpoints AS
SELECT c.id AS checkpoint, c.utc_ns / 1e9 AS created, c.kind, g.uid AS campaign, c.size,
       lower(hex(c.root)) AS root,
       (SELECT group_concat(s.name || ' (' || s.role || ')', ', ') FROM signature s
        WHERE s.checkpoint = c.id) AS signed_by,
       (SELECT count(*) FROM timestamp_token t WHERE t.checkpoint = c.id) AS timestamps,
       coalesce((SELECT v.archived FROM campaigns v WHERE v.campaign = c.campaign), 0) AS archived
FROM checkpoint c LEFT JOIN campaign g ON g.id = c.campaign;
