-- From schema version 4 to 5: campaigns that came in a bundle, and what other programs measured.

---------------------------------------------------------------------- cells that are not fully told

-- What is imported tells less of a cell than a plan does: five of its columns lose their NOT NULL.
-- Rows, keys and whatever refers to them stay as they are: only the table's text is edited, in the
-- way that SQLite gives for this (https://sqlite.org/lang_altertable.html, "Making Other Kinds Of
-- Table Schema Changes"). It needs a connection that is not in defensive mode. The statements that
-- follow change the schema's cookie, by which other connections notice.
PRAGMA writable_schema=ON;
UPDATE sqlite_schema SET sql = replace(replace(replace(replace(replace(sql,
'    batch               INTEGER NOT NULL, -- batch size; 1 where batch has no meaning
',
'    -- batch size; 1 where batch has no meaning; NULL: imported, not told
    batch               INTEGER,
'),
'    seed                TEXT NOT NULL, -- of all generated data; unsigned 64-bit, decimal
',
'    -- of all generated data; unsigned 64-bit, decimal; NULL: imported, not told
    seed                TEXT,
'),
'    device_index        INTEGER NOT NULL, -- of the backend''s devices, from 0
',
'    -- of the backend''s devices, from 0; NULL: imported, not told
    device_index        INTEGER,
'),
'    device_memory_bytes INTEGER NOT NULL, -- needed at the peak
',
'    device_memory_bytes INTEGER, -- needed at the peak; NULL: imported, not told
'),
'    working_set_bytes   INTEGER NOT NULL, -- touched by one iteration
',
'    working_set_bytes   INTEGER, -- touched by one iteration; NULL: imported, not told
')
WHERE type = 'table' AND name = 'cell';
UPDATE sqlite_schema SET sql = replace(sql, '''finished'', ''failed''
',
'''finished'', ''failed'', ''imported''
')
WHERE type = 'table' AND name = 'campaign_event';
PRAGMA writable_schema=RESET;

-- For filters of `assay results` that match few. Some files of versions 1 to 4 have them already.
CREATE INDEX IF NOT EXISTS cell_by_precision ON cell (precision);
CREATE INDEX IF NOT EXISTS cell_by_protocol ON cell (protocol_name);
CREATE INDEX IF NOT EXISTS cell_by_device ON cell (device_spec);
CREATE INDEX IF NOT EXISTS trial_by_device ON trial_device (device);

------------------------------------------------------------------------------------------- bundles

-- Where a campaign came from that was not measured into this file.
CREATE TABLE bundle (
    campaign        INTEGER NOT NULL PRIMARY KEY REFERENCES campaign (id),
    imported_utc_ns INTEGER NOT NULL, -- when it was taken in
    file            TEXT NOT NULL, -- name of the bundle's file
    sha256          BLOB NOT NULL CHECK (length(sha256) = 32), -- of the bundle
    origin          TEXT NOT NULL, -- name of the ledger that its rows stand in
    size            INTEGER NOT NULL, -- leaves of that ledger that the bundle's head covers
    root            BLOB NOT NULL CHECK (length(root) = 32), -- that head
    note            TEXT NOT NULL -- the head as a signed note, with the signatures it had
) STRICT;

-- Values that the bundle did not tell. The row has a stand-in, '(withheld)' or a digest of the
-- commitment.
CREATE TABLE withheld (
    table_name  TEXT NOT NULL,
    key         TEXT NOT NULL, -- of the row here
    column_name TEXT NOT NULL,
    commitment  BLOB NOT NULL CHECK (length(commitment) = 32),
    PRIMARY KEY (table_name, key, column_name)
) STRICT, WITHOUT ROWID;

---------------------------------------------------------------------- what other programs measured

-- A file of another program that was taken over. Its results are the campaign's cells, which have
-- no trials, no samples and no estimate: they were not measured here.
CREATE TABLE import (
    campaign        INTEGER NOT NULL PRIMARY KEY REFERENCES campaign (id),
    sha256          BLOB NOT NULL UNIQUE CHECK (length(sha256) = 32), -- of the file
    file            TEXT NOT NULL, -- its name, as it was given
    size            INTEGER NOT NULL, -- bytes
    format          TEXT NOT NULL, -- 'llama-bench-json' ...
    program         TEXT NOT NULL, -- that measured: 'llama-bench' ...
    program_version TEXT -- NULL: not told
) STRICT;

-- What the file says of one result.
CREATE TABLE claim (
    cell     INTEGER NOT NULL PRIMARY KEY REFERENCES cell (id),
    -- what the file declares, and, as 'unavailable' with the reason, what it does not tell
    readings INTEGER NOT NULL REFERENCES reading_set (id),
    -- canonical JSON: device, rate, rate_unit, mean_ns, measured ... and `fields`, as they stand in
    -- the file
    body     TEXT NOT NULL CHECK (json_valid(body))
) STRICT;

------------------------------------------------------------------------------------ append-only

CREATE TRIGGER bundle_no_update BEFORE UPDATE ON bundle BEGIN
    SELECT RAISE(ABORT, 'bundle is evidence: rows are added, never changed');
END;
CREATE TRIGGER bundle_no_delete BEFORE DELETE ON bundle BEGIN
    SELECT RAISE(ABORT, 'bundle is evidence: rows are added, never deleted');
END;
CREATE TRIGGER withheld_no_update BEFORE UPDATE ON withheld BEGIN
    SELECT RAISE(ABORT, 'withheld is evidence: rows are added, never changed');
END;
CREATE TRIGGER withheld_no_delete BEFORE DELETE ON withheld BEGIN
    SELECT RAISE(ABORT, 'withheld is evidence: rows are added, never deleted');
END;
CREATE TRIGGER import_no_update BEFORE UPDATE ON import BEGIN
    SELECT RAISE(ABORT, 'import is evidence: rows are added, never changed');
END;
CREATE TRIGGER import_no_delete BEFORE DELETE ON import BEGIN
    SELECT RAISE(ABORT, 'import is evidence: rows are added, never deleted');
END;
CREATE TRIGGER claim_no_update BEFORE UPDATE ON claim BEGIN
    SELECT RAISE(ABORT, 'claim is evidence: rows are added, never changed');
END;
CREATE TRIGGER claim_no_delete BEFORE DELETE ON claim BEGIN
    SELECT RAISE(ABORT, 'claim is evidence: rows are added, never deleted');
END;

------------------------------------------------------------------------------- views, for people

CREATE VIEW bundles AS
SELECT c.uid AS campaign, b.imported_utc_ns / 1e9 AS imported, b.file,
       lower(hex(b.sha256)) AS sha256, b.origin, b.size, lower(hex(b.root)) AS root, b.note
FROM bundle b JOIN campaign c ON c.id = b.campaign;

-- What came of it: one row per cell, with its newest estimate. `rate` is in units of `rate_unit`.
-- `imported` names the program that measured, where it was not assay; its numbers are as told.
DROP VIEW results;
CREATE VIEW results AS
SELECT substr(g.uid, 1, 8) || '/' || c.ordinal AS result, c.workload_name AS workload,
       c.precision, c.batch, c.scenario, c.implementation, c.protocol_name AS protocol,
       c.device_spec, coalesce((SELECT d.name FROM trial t
                                JOIN trial_device td ON td.trial = t.id
                                JOIN device d ON d.id = td.device
                                WHERE t.cell = c.id ORDER BY t.id DESC LIMIT 1),
                               json_extract(k.body, '$.device')) AS device,
       (SELECT max(d.simulated) FROM trial t
        JOIN trial_device td ON td.trial = t.id
        JOIN device d ON d.id = td.device WHERE t.cell = c.id) AS simulated,
       (SELECT count(DISTINCT t.sequence) FROM trial t JOIN trial_end x ON x.trial = t.id
        WHERE t.cell = c.id AND x.status = 'ok') AS trials_ok,
       c.trials AS trials_planned,
       coalesce(e.verdict, CASE WHEN k.cell IS NOT NULL THEN 'imported' END) AS verdict,
       coalesce(json_extract(e.body, '$.mean_ns.value'), json_extract(k.body, '$.mean_ns')) AS mean_ns,
       json_extract(e.body, '$.mean_ns.lo') AS mean_ns_lo,
       json_extract(e.body, '$.mean_ns.hi') AS mean_ns_hi,
       CASE c.headline WHEN 'items' THEN c.item_name ELSE c.headline END || '/s' AS rate_unit,
       coalesce(json_extract(e.body, '$.' || c.headline || '_per_s.value'),
                json_extract(k.body, '$.rate')) AS rate,
       json_extract(e.body, '$.' || c.headline || '_per_s.lo') AS rate_lo,
       json_extract(e.body, '$.' || c.headline || '_per_s.hi') AS rate_hi,
       g.created_utc_ns / 1e9 AS created, c.campaign, c.id AS cell, i.program AS imported
FROM cell c
JOIN campaign g ON g.id = c.campaign
LEFT JOIN estimate e ON e.id = (SELECT max(id) FROM estimate l WHERE l.cell = c.id)
LEFT JOIN claim k ON k.cell = c.id
LEFT JOIN import i ON i.campaign = c.campaign;

-- Files of other programs, and what each of their results does not tell.
CREATE VIEW imports AS
SELECT i.campaign, substr(g.uid, 1, 8) AS id, i.file, i.size, lower(hex(i.sha256)) AS sha256,
       i.format, i.program, i.program_version, g.created_utc_ns / 1e9 AS imported,
       (SELECT count(*) FROM cell c WHERE c.campaign = i.campaign) AS results
FROM import i JOIN campaign g ON g.id = i.campaign;

CREATE VIEW claims AS
SELECT substr(g.uid, 1, 8) || '/' || c.ordinal AS result, i.program, r.name,
       json_extract(r.body, '$.status') AS status, json_extract(r.body, '$.value') AS value,
       json_extract(r.body, '$.reason') AS reason, k.body AS json
FROM claim k
JOIN cell c ON c.id = k.cell
JOIN campaign g ON g.id = c.campaign
JOIN import i ON i.campaign = c.campaign
JOIN reading_member m ON m.reading_set = k.readings
JOIN reading r ON r.id = m.reading;
