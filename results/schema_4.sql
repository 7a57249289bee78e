-- From schema version 3 to 4.

-- What was sampled beside a trial, one row for the host and one for the device. The values are
-- series: 'telemetry:PART.time_ns' holds the moments (since the trial's start), and
-- 'telemetry:PART.CHANNEL' a value a moment. A channel that could not be read at some moments has
-- the numbers of those moments at which it could in 'telemetry:PART.CHANNEL#'; a channel without
-- any value has no series.
CREATE TABLE telemetry (
    id              INTEGER PRIMARY KEY,
    trial           INTEGER NOT NULL REFERENCES trial (id),
    part            TEXT NOT NULL, -- 'host' or 'device'
    -- 'ok', 'unavailable', 'crashed', 'timeout' ...: how sampling went; the trial goes on either way
    status          TEXT NOT NULL,
    message         TEXT, -- why it is not whole; NULL: it is
    -- JSON: [{name, kind, source, wraps_at, bits, reason}]; kind is 'gauge', 'counter' or 'mask';
    -- reason tells why a channel has no values
    channels        BLOB NOT NULL REFERENCES content (digest),
    interval_ns     INTEGER NOT NULL, -- asked for, by the protocol
    ticks           INTEGER NOT NULL, -- moments at which it was sampled
    late_ticks      INTEGER NOT NULL, -- of them, more than half an interval late
    cpu_ns          INTEGER, -- processor time that sampling took; NULL: not known
    reading_ns      INTEGER, -- mean time that one moment's reading took; NULL: there was none
    readings_begin  INTEGER REFERENCES reading_set (id), -- limits, ECC, link ...; NULL: none told
    readings_end    INTEGER REFERENCES reading_set (id), -- the same after the trial; NULL: none told
    -- what the vendor's library tells, verbatim; NULL: not asked for, or none
    dump            BLOB REFERENCES content (digest),
    UNIQUE (trial, part)
) STRICT;

-- The package that a file came from, as the package manager told when the file was first seen. A file
-- without a row belongs to no package, or no package manager was there.
CREATE TABLE component_package (
    component INTEGER NOT NULL PRIMARY KEY REFERENCES component (id),
    manager   TEXT NOT NULL, -- 'dpkg' or 'rpm'
    package   TEXT NOT NULL, -- 'libc6:amd64'
    version   TEXT NOT NULL -- '2.36-9+deb12u10'
) STRICT, WITHOUT ROWID;

-- What `assay doctor` found on the machine before a campaign's trials, once a start or resume.
CREATE TABLE doctor (
    id       INTEGER PRIMARY KEY,
    campaign INTEGER NOT NULL REFERENCES campaign (id),
    utc_ns   INTEGER NOT NULL, -- when
    worst    TEXT NOT NULL, -- of its findings: 'critical', 'warning', 'note' or 'none'
    body     BLOB NOT NULL REFERENCES content (digest) -- the object that `assay doctor --json` prints
) STRICT;
CREATE INDEX doctor_by_campaign ON doctor (campaign);

CREATE TRIGGER component_package_no_update BEFORE UPDATE ON component_package BEGIN
    SELECT RAISE(ABORT, 'component_package is evidence: rows are added, never changed');
END;
CREATE TRIGGER component_package_no_delete BEFORE DELETE ON component_package BEGIN
    SELECT RAISE(ABORT, 'component_package is evidence: rows are added, never deleted');
END;
CREATE TRIGGER doctor_no_update BEFORE UPDATE ON doctor BEGIN
    SELECT RAISE(ABORT, 'doctor is evidence: rows are added, never changed');
END;
CREATE TRIGGER doctor_no_delete BEFORE DELETE ON doctor BEGIN
    SELECT RAISE(ABORT, 'doctor is evidence: rows are added, never deleted');
END;
CREATE TRIGGER telemetry_no_update BEFORE UPDATE ON telemetry BEGIN
    SELECT RAISE(ABORT, 'telemetry is evidence: rows are added, never changed');
END;
CREATE TRIGGER telemetry_no_delete BEFORE DELETE ON telemetry BEGIN
    SELECT RAISE(ABORT, 'telemetry is evidence: rows are added, never deleted');
END;

-- What was sampled beside a trial, one row a channel. `samples` is 0 where it had no values, and
-- `reason` then says why. SELECT t.value / 1e9 AS s, v.value FROM samples t JOIN samples v
-- USING (trial, number) WHERE trial = 1 AND t.series = 'telemetry:host.time_ns'
-- AND v.series = 'telemetry:host.cpu_busy_ms' gives a channel without gaps over time.
CREATE VIEW sensors AS
SELECT t.trial, t.part, json_extract(c.value, '$.name') AS channel,
       json_extract(c.value, '$.kind') AS kind, json_extract(c.value, '$.source') AS source,
       'telemetry:' || t.part || '.' || json_extract(c.value, '$.name') AS series,
       (SELECT coalesce(sum(s.count), 0) FROM series s WHERE s.trial = t.trial
        AND s.name = 'telemetry:' || t.part || '.' || json_extract(c.value, '$.name')) AS samples,
       json_extract(c.value, '$.wraps_at') AS wraps_at,
       coalesce(json_extract(c.value, '$.reason'), CASE t.status WHEN 'ok' THEN NULL ELSE t.message
                END) AS reason
FROM telemetry t
JOIN content x ON x.digest = t.channels
JOIN json_each(x.body) c;

-- What was found wrong with the machine, one row a finding.
CREATE VIEW findings AS
SELECT d.campaign, d.utc_ns / 1e9 AS at, json_extract(f.value, '$.check') AS 'check',
       json_extract(f.value, '$.severity') AS severity, json_extract(f.value, '$.observed') AS observed,
       json_extract(f.value, '$.effect') AS effect, json_extract(f.value, '$.remedy') AS remedy
FROM doctor d
JOIN content x ON x.digest = d.body
JOIN json_each(x.body, '$.findings') f;
