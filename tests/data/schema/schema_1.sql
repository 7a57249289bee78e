-- Schema version 1 of an assay database.
--
-- What happened is in `record` (FORMAT.md): the log, with the blobs of `content` and the samples of
-- `series` beside it. All other tables are made from the records as they are appended
-- (record/projection.sql), for people and programs to query; `assay verify` makes them again and
-- compares. Something that goes on in time is several records (a trial's start, its end), and no row
-- is ever changed: every table gets two triggers that refuse UPDATE and DELETE.
--
-- Times named *_utc_ns are nanoseconds since 1970-01-01T00:00:00Z; *_ns alone are durations or
-- CLOCK_MONOTONIC nanoseconds since the trial's start. Digests are SHA-256, 32 bytes (the views
-- show them as hex). NULL means: not known or not applicable; it never stands for 0. Numbers that
-- need all 64 bits without a sign (seeds) are decimal text. Text that was not UTF-8 is kept with
-- the bad bytes written as \xNN.
-- Views, for people, come after the tables.

------------------------------------------------------------------------------------- the evidence

-- The logs that records are of: this file's own is number 1; the others came in bundles.
CREATE TABLE log (
    id     INTEGER PRIMARY KEY CHECK (id >= 1),
    name   TEXT NOT NULL UNIQUE, -- first line of every signed note: 'assay-log/' and 32 hex digits
    secret BLOB CHECK (length(secret) = 32) -- makes the salts of records; NULL: another file's log
) STRICT;

-- The records, in the order in which they came into this file.
CREATE TABLE record (
    id     INTEGER PRIMARY KEY,
    log    INTEGER NOT NULL REFERENCES log (id),
    leaf   INTEGER NOT NULL CHECK (leaf >= 0), -- place in its log; in this file's own without gaps
    type   TEXT NOT NULL, -- as in its body
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32), -- leaf hash, with commitments (FORMAT.md)
    -- opens the commitments: 32 bytes for all of them, or TEXT, JSON {path: hex}; NULL: there are none
    salt   ANY,
    body   TEXT NOT NULL, -- canonical JSON
    UNIQUE (log, leaf)
) STRICT;

-- Which campaigns a record is about, itself or by what it refers to. Content that campaigns share
-- (devices, libraries, readings) is about none.
CREATE TABLE about (
    campaign INTEGER NOT NULL REFERENCES record (id), -- the campaign's record
    record   INTEGER NOT NULL REFERENCES record (id),
    PRIMARY KEY (campaign, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX about_by_record ON about (record);

-- What records refer to as blobs: declarations, plans, compiled kernels, outputs of tools.
CREATE TABLE content (
    digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32), -- SHA-256 of body's bytes
    body   ANY -- TEXT: canonical JSON or UTF-8; BLOB: bytes that are not UTF-8; NULL: withheld
) STRICT;

----------------------------------------------------------------------------------------------- plans

-- Where a declaration came from. The same content under another name or origin is another row.
CREATE TABLE declaration (
    id      INTEGER PRIMARY KEY,
    record  INTEGER NOT NULL UNIQUE REFERENCES record (id),
    kind    TEXT NOT NULL, -- 'workload', 'protocol', 'suite' or 'trace'
    name    TEXT NOT NULL, -- 'triad'
    version INTEGER NOT NULL, -- as declared
    digest  BLOB NOT NULL REFERENCES content (digest), -- canonical JSON, defaults filled in
    origin  TEXT NOT NULL -- file it was read from, or 'built-in'
) STRICT;
CREATE INDEX declaration_by_digest ON declaration (digest);
CREATE INDEX declaration_by_name ON declaration (kind, name, version);

-- One call of `assay run`: what was to be done, recorded before the first trial.
CREATE TABLE campaign (
    id             INTEGER PRIMARY KEY,
    record         INTEGER NOT NULL UNIQUE REFERENCES record (id),
    -- 64 hex digits drawn at random; its first 8 begin a result's id
    uid            TEXT NOT NULL UNIQUE,
    created_utc_ns INTEGER NOT NULL, -- when it was planned
    -- cells and order; this is the plan's hash
    plan           BLOB NOT NULL REFERENCES content (digest),
    protocol       BLOB NOT NULL REFERENCES content (digest), -- declared protocol
    order_seed     TEXT NOT NULL, -- of the shuffle; unsigned 64-bit, decimal
    command        TEXT NOT NULL, -- the command line
    tool_version   TEXT NOT NULL, -- of assay
    tool_digest    BLOB NOT NULL CHECK (length(tool_digest) = 32) -- of the assay binary
) STRICT;
CREATE INDEX campaign_by_time ON campaign (created_utc_ns);

-- One combination that a campaign measures; the cells' numbers are what results are about.
CREATE TABLE cell (
    id                  INTEGER PRIMARY KEY,
    campaign            INTEGER NOT NULL REFERENCES campaign (id),
    ordinal             INTEGER NOT NULL CHECK (ordinal >= 1), -- second part of a result's id
    workload            BLOB NOT NULL REFERENCES content (digest), -- declared workload
    protocol            BLOB NOT NULL REFERENCES content (digest), -- declared protocol
    workload_name       TEXT NOT NULL, -- 'triad'
    protocol_name       TEXT NOT NULL, -- 'quick'
    kind                TEXT NOT NULL, -- of workload: 'memory_bound', 'training_step' ...
    precision           TEXT NOT NULL, -- 'fp32'
    scenario            TEXT NOT NULL, -- 'single_stream', 'offline' ...
    implementation      TEXT NOT NULL, -- 'portable', 'vendor'; 'unknown': an endpoint
    -- batch size; 1 where batch has no meaning; NULL: imported, not told
    batch               INTEGER,
    -- of all generated data; unsigned 64-bit, decimal; NULL: imported, not told
    seed                TEXT,
    backend             TEXT NOT NULL, -- 'opencl'
    -- of the backend's devices, from 0; NULL: imported, not told
    device_index        INTEGER,
    device_spec         TEXT NOT NULL, -- 'opencl:0'
    flops               INTEGER, -- floating-point operations of one iteration, by flops_formula
    flops_formula       TEXT, -- NULL: not counted
    bytes               INTEGER, -- bytes moved by one iteration, by bytes_formula
    bytes_formula       TEXT, -- NULL: not counted
    items               INTEGER, -- units of work of one iteration
    item_name           TEXT, -- 'token'; NULL: no such unit
    device_memory_bytes INTEGER, -- needed at the peak; NULL: imported, not told
    working_set_bytes   INTEGER, -- touched by one iteration; NULL: imported, not told
    headline            TEXT, -- which rate is shown first: 'bytes', 'flops' or 'items'
    trials              INTEGER NOT NULL, -- planned
    UNIQUE (campaign, ordinal)
) STRICT;
CREATE INDEX cell_by_workload ON cell (workload_name, campaign);
CREATE INDEX cell_by_precision ON cell (precision);
CREATE INDEX cell_by_protocol ON cell (protocol_name);
CREATE INDEX cell_by_device ON cell (device_spec);

-- The order in which the campaign's trials were to run.
CREATE TABLE planned_trial (
    campaign INTEGER NOT NULL REFERENCES campaign (id),
    sequence INTEGER NOT NULL CHECK (sequence >= 1), -- place in the order
    cell     INTEGER NOT NULL REFERENCES cell (id),
    PRIMARY KEY (campaign, sequence)
) STRICT, WITHOUT ROWID;

-- What happened to a campaign as a whole.
CREATE TABLE campaign_event (
    id       INTEGER PRIMARY KEY,
    campaign INTEGER NOT NULL REFERENCES campaign (id),
    utc_ns   INTEGER NOT NULL, -- when
    event    TEXT NOT NULL, -- 'started', 'resumed', 'interrupted', 'finished', 'failed', 'imported'
    detail   TEXT -- for people
) STRICT;
CREATE INDEX campaign_event_by_campaign ON campaign_event (campaign);

-- What a campaign's worker chose by measurement (sizes of groups, iterations in a sample) before the
-- first trial of a cell, and every trial of it was given. Cells that measure the same work on the
-- same device share one choice. A cell without a row had nothing to choose, or its trials chose
-- themselves.
CREATE TABLE choice (
    cell           INTEGER NOT NULL PRIMARY KEY REFERENCES cell (id),
    created_utc_ns INTEGER NOT NULL,
    content        BLOB NOT NULL REFERENCES content (digest) -- canonical JSON
) STRICT, WITHOUT ROWID;

----------------------------------------------------------------------- readings, devices, libraries

-- One thing read (or not) of a device or a host, in content-addressed form: each distinct reading
-- is stored once, however many trials saw it.
CREATE TABLE reading (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32), -- SHA-256 of name, newline, body
    name   TEXT NOT NULL, -- dotted: 'host.cpu.model'
    body   TEXT NOT NULL -- canonical JSON: status, value, unit, source, reason
) STRICT;

-- A set of readings taken together.
CREATE TABLE reading_set (
    id     INTEGER PRIMARY KEY,
    record INTEGER NOT NULL UNIQUE REFERENCES record (id)
) STRICT;

CREATE TABLE reading_member (
    reading_set INTEGER NOT NULL REFERENCES reading_set (id),
    reading     INTEGER NOT NULL REFERENCES reading (id),
    PRIMARY KEY (reading_set, reading)
) STRICT, WITHOUT ROWID;

-- A device as it told of itself. The same device with a new driver or limit is a new row.
CREATE TABLE device (
    id           INTEGER PRIMARY KEY,
    record       INTEGER NOT NULL UNIQUE REFERENCES record (id),
    digest       BLOB NOT NULL UNIQUE CHECK (length(digest) = 32), -- of its record
    backend      TEXT NOT NULL, -- 'opencl'
    device_index INTEGER NOT NULL, -- of the backend's devices, from 0
    name         TEXT NOT NULL,
    vendor       TEXT, -- NULL: not told
    uuid         TEXT, -- NULL: not told
    type         TEXT, -- 'cpu', 'gpu', 'accelerator'
    simulated    INTEGER NOT NULL CHECK (simulated IN (0, 1)), -- 1: no real device, never published
    readings     INTEGER NOT NULL REFERENCES reading_set (id)
) STRICT;

-- A file that takes part in a measurement: library, compiler, driver ...
CREATE TABLE component (
    id             INTEGER PRIMARY KEY,
    digest         BLOB NOT NULL UNIQUE CHECK (length(digest) = 32), -- of its canonical JSON
    path           TEXT NOT NULL,
    -- 'library', 'executable', 'icd', 'driver', 'compiler', 'firmware'
    kind           TEXT NOT NULL,
    version        TEXT, -- NULL: not told
    build_id       TEXT, -- GNU build-id, hex; NULL: it has none
    size           INTEGER NOT NULL, -- bytes
    sha256         BLOB CHECK (length(sha256) = 32), -- of the file; NULL: see missing_reason
    missing_reason TEXT, -- why there is no sha256
    -- the package it came from, as the package manager told; NULL: of none, or there is no manager
    manager         TEXT, -- 'dpkg' or 'rpm'
    package         TEXT, -- 'libc6:amd64'
    package_version TEXT -- '2.36-9+deb12u10'
) STRICT;

-- A set of components seen together.
CREATE TABLE stack (
    id     INTEGER PRIMARY KEY,
    record INTEGER NOT NULL UNIQUE REFERENCES record (id)
) STRICT;

CREATE TABLE stack_member (
    stack     INTEGER NOT NULL REFERENCES stack (id),
    component INTEGER NOT NULL REFERENCES component (id),
    PRIMARY KEY (stack, component)
) STRICT, WITHOUT ROWID;

-------------------------------------------------------------------------------------- what was done

-- One attempt at a planned trial, written when it starts.
CREATE TABLE trial (
    id             INTEGER PRIMARY KEY,
    record         INTEGER NOT NULL UNIQUE REFERENCES record (id), -- its beginning
    campaign       INTEGER NOT NULL,
    sequence       INTEGER NOT NULL, -- which planned trial
    attempt        INTEGER NOT NULL CHECK (attempt >= 1), -- 1, then 2.. after a resume
    cell           INTEGER NOT NULL REFERENCES cell (id), -- the planned trial's
    started_utc_ns INTEGER NOT NULL,
    UNIQUE (campaign, sequence, attempt),
    FOREIGN KEY (campaign, sequence) REFERENCES planned_trial (campaign, sequence)
) STRICT;
CREATE INDEX trial_by_cell ON trial (cell);

-- Its end. A trial without this row is still running, or the harness was cut off.
CREATE TABLE trial_end (
    trial                 INTEGER NOT NULL PRIMARY KEY REFERENCES trial (id),
    record                INTEGER NOT NULL UNIQUE REFERENCES record (id),
    ended_utc_ns          INTEGER NOT NULL,
    -- 'ok', 'crashed', 'timeout', 'check_failed', 'interrupted' ...
    status                TEXT NOT NULL,
    message               TEXT, -- reason for people; NULL when ok
    -- 1: the harness ended first; written by a resume
    orphan                INTEGER NOT NULL CHECK (orphan IN (0, 1)),
    iterations_per_sample INTEGER, -- iterations timed as one wall_ns sample; NULL: never got there
    -- number of the window's first wall_ns sample; NULL: never got there
    window_first          INTEGER,
    samples               INTEGER, -- wall_ns samples of the whole trial; NULL: not told
    -- canonical JSON: choices and losses told by the worker
    facts                 TEXT,
    exit_code             INTEGER, -- of the worker; NULL: ended by a signal, or not known
    signal                INTEGER, -- that ended the worker; NULL: none, or not known
    max_rss_bytes         INTEGER -- the worker's largest resident memory; NULL: not known
) STRICT, WITHOUT ROWID;

-- The device it ran on.
CREATE TABLE trial_device (
    trial  INTEGER NOT NULL PRIMARY KEY REFERENCES trial (id),
    device INTEGER NOT NULL REFERENCES device (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX trial_by_device ON trial_device (device);

-- Sections of a trial, in the order they were over.
CREATE TABLE phase (
    id       INTEGER PRIMARY KEY,
    trial    INTEGER NOT NULL REFERENCES trial (id),
    -- 'setup', 'compile', 'verify_before', 'warmup', 'window', 'verify_after' ...
    name     TEXT NOT NULL,
    begin_ns INTEGER NOT NULL, -- since the trial's start
    end_ns   INTEGER NOT NULL
) STRICT;
CREATE INDEX phase_by_trial ON phase (trial);

-- Raw samples, warmup included, in chunks of up to 1024. The form of `data` is told in README.md;
-- the view `samples` decodes it in plain SQL. Beside it, what the chunk holds, as plain numbers.
CREATE TABLE series (
    trial   INTEGER NOT NULL REFERENCES trial (id),
    -- 'wall_ns', 'gap_ns', 'device_ns', 'stage:forward', 'telemetry:power_mw' ...
    name    TEXT NOT NULL,
    first   INTEGER NOT NULL CHECK (first >= 0), -- number of its first sample, from 0
    count   INTEGER NOT NULL CHECK (count >= 1), -- samples
    minimum INTEGER NOT NULL, -- smallest sample
    maximum INTEGER NOT NULL, -- largest sample
    total   INTEGER, -- their sum; NULL: beyond 64 bits
    data    BLOB NOT NULL, -- the samples
    PRIMARY KEY (trial, name, first)
) STRICT;

-- One output compared with its reference.
CREATE TABLE verification (
    id         INTEGER PRIMARY KEY,
    trial      INTEGER NOT NULL REFERENCES trial (id),
    phase      TEXT NOT NULL, -- 'verify_before', 'spot_check' or 'verify_after'
    output     TEXT NOT NULL, -- 'a', 'logits', 'grad.wte'
    metric     TEXT NOT NULL, -- 'max_relative' ...
    error      REAL, -- measured; NULL: not finite, see error_text
    error_text TEXT, -- 'nan', 'inf' or '-inf'
    tolerance  REAL NOT NULL, -- largest error that passes
    compared   INTEGER NOT NULL, -- elements
    passed     INTEGER NOT NULL CHECK (passed IN (0, 1)),
    reason     TEXT -- why this tolerance
) STRICT;
CREATE INDEX verification_by_trial ON verification (trial);

-- The surroundings, before and after.
CREATE TABLE environment (
    trial    INTEGER NOT NULL REFERENCES trial (id),
    at       TEXT NOT NULL, -- 'host', 'before' or 'after'
    readings INTEGER NOT NULL REFERENCES reading_set (id),
    PRIMARY KEY (trial, at)
) STRICT, WITHOUT ROWID;

-- Files that the worker had mapped. Several rows of one `at` add up.
CREATE TABLE trial_stack (
    trial INTEGER NOT NULL REFERENCES trial (id),
    at    TEXT NOT NULL, -- 'window_start' or 'window_end'
    stack INTEGER NOT NULL REFERENCES stack (id),
    PRIMARY KEY (trial, at, stack)
) STRICT, WITHOUT ROWID;

-- Compiled kernels.
CREATE TABLE artifact (
    id      INTEGER PRIMARY KEY,
    trial   INTEGER NOT NULL REFERENCES trial (id),
    -- JSON: file, digests, options, compiler, log ...
    content BLOB NOT NULL REFERENCES content (digest),
    UNIQUE (trial, content)
) STRICT;

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

-- What `assay doctor` found on the machine before a campaign's trials, once a start or resume.
CREATE TABLE doctor (
    id       INTEGER PRIMARY KEY,
    campaign INTEGER NOT NULL REFERENCES campaign (id),
    utc_ns   INTEGER NOT NULL, -- when
    worst    TEXT NOT NULL, -- of its findings: 'critical', 'warning', 'info' or 'none'
    body     BLOB NOT NULL REFERENCES content (digest) -- the object that `assay doctor --json` prints
) STRICT;
CREATE INDEX doctor_by_campaign ON doctor (campaign);

-- What the vendors' and the system's own tools said of the machine, verbatim, beside what assay read
-- itself; once a start or resume of a campaign, before its first trial. A tool that is not here, or
-- did not do as it should, has a row, too.
CREATE TABLE dump (
    id        INTEGER PRIMARY KEY,
    campaign  INTEGER NOT NULL REFERENCES campaign (id),
    utc_ns    INTEGER NOT NULL, -- when
    tool      TEXT NOT NULL, -- 'lscpu', 'nvidia-smi' ...
    command   TEXT NOT NULL, -- its words, with blanks between: 'nvidia-smi -q -x'
    -- 'ok', 'unavailable' (not here), 'denied', 'timeout', 'crashed' ...
    status    TEXT NOT NULL,
    message   TEXT, -- why it is not ok, or not whole; NULL: nothing to say
    exit_code INTEGER, -- NULL: it did not run to its end
    -- what it wrote to standard output; NULL: nothing. Bytes that are not UTF-8 stand as \xNN
    output    BLOB REFERENCES content (digest)
) STRICT;
CREATE INDEX dump_by_campaign ON dump (campaign);

--------------------------------------------------------------------------------------- what it says

-- What the samples of a cell say. Newer rows replace older ones for readers; the older stay.
CREATE TABLE estimate (
    id             INTEGER PRIMARY KEY,
    cell           INTEGER NOT NULL REFERENCES cell (id),
    version        INTEGER NOT NULL, -- of the analysis
    created_utc_ns INTEGER NOT NULL, -- when it was computed
    verdict        TEXT NOT NULL, -- 'flat', 'warmup', 'drift' ... (as in body)
    body           TEXT NOT NULL -- canonical JSON
) STRICT;
CREATE INDEX estimate_by_cell ON estimate (cell);

-- What two results came to when they were compared, and what calibrations of this machine found.
CREATE TABLE comparison (
    id             INTEGER PRIMARY KEY,
    created_utc_ns INTEGER NOT NULL, -- when it was computed
    -- 'compare', 'ab', 'gate', 'reproduce', 'calibration', 'cost', 'plan', 'baseline' or 'accept'
    kind           TEXT NOT NULL,
    a              INTEGER REFERENCES cell (id), -- NULL: a calibration
    b              INTEGER REFERENCES cell (id), -- NULL: a calibration, or of one result
    version        INTEGER NOT NULL, -- of the analysis
    verdict        TEXT NOT NULL, -- 'faster', 'equivalent', 'not_comparable' ... (as in body)
    body           TEXT NOT NULL CHECK (json_valid(body)) -- canonical JSON
) STRICT;
CREATE INDEX comparison_by_a ON comparison (a);
CREATE INDEX comparison_by_b ON comparison (b);

-- Something said about a result later. The result stays as it was.
CREATE TABLE amendment (
    id     INTEGER PRIMARY KEY,
    cell   INTEGER NOT NULL REFERENCES cell (id),
    utc_ns INTEGER NOT NULL, -- when
    author TEXT NOT NULL, -- who says so
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX amendment_by_cell ON amendment (cell);

------------------------------------------------------------------------- what was not measured here

-- Where a campaign came from that was not measured into this file.
CREATE TABLE bundle (
    campaign        INTEGER NOT NULL PRIMARY KEY REFERENCES campaign (id),
    imported_utc_ns INTEGER NOT NULL, -- when it was taken in
    file            TEXT NOT NULL, -- name of the bundle's file
    sha256          BLOB NOT NULL CHECK (length(sha256) = 32), -- of the bundle
    origin          TEXT NOT NULL, -- name of the ledger that its rows stand in
    size            INTEGER NOT NULL, -- leaves of that ledger that the bundle's head covers
    root            BLOB NOT NULL CHECK (length(root) = 32), -- that head
    note            TEXT NOT NULL, -- the head as a signed note, with the signatures it had
    record          INTEGER NOT NULL REFERENCES record (id),
    proof           BLOB NOT NULL REFERENCES content (digest) -- nodes of that log's tree (FORMAT.md)
) STRICT;

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

------------------------------------------------------------------------------------------ the heads

-- The head of a log at one moment. It covers the leaves before its own.
CREATE TABLE checkpoint (
    id       INTEGER PRIMARY KEY,
    record   INTEGER NOT NULL UNIQUE REFERENCES record (id),
    log      INTEGER NOT NULL REFERENCES log (id),
    size     INTEGER NOT NULL CHECK (size >= 1), -- leaves covered: 0 to size - 1
    root     BLOB NOT NULL CHECK (length(root) = 32), -- Merkle tree hash of those leaves
    utc_ns   INTEGER NOT NULL, -- when
    -- 'plan' (before a campaign's first trial), 'resume', 'end' (after its estimates),
    -- 'request' (assay checkpoint)
    kind     TEXT NOT NULL,
    campaign INTEGER REFERENCES campaign (id), -- NULL: of the file
    -- roots of the perfect subtrees of `size` leaves, largest first: the next checkpoint starts here
    frontier BLOB NOT NULL
) STRICT;
CREATE INDEX checkpoint_by_campaign ON checkpoint (campaign);

-- A signature of a checkpoint's note.
CREATE TABLE signature (
    id         INTEGER PRIMARY KEY,
    checkpoint INTEGER NOT NULL REFERENCES checkpoint (id),
    utc_ns     INTEGER NOT NULL, -- when, by the signer's clock
    role       TEXT NOT NULL, -- 'author' or 'witness'
    name       TEXT NOT NULL, -- of the key
    public_key BLOB NOT NULL CHECK (length(public_key) = 32), -- Ed25519
    signature  BLOB NOT NULL CHECK (length(signature) IN (64, 72)) -- 72: with a time, a witness's
) STRICT;
CREATE INDEX signature_by_checkpoint ON signature (checkpoint);

-- An RFC 3161 token whose imprint is a checkpoint's root.
CREATE TABLE timestamp_token (
    id         INTEGER PRIMARY KEY,
    checkpoint INTEGER NOT NULL REFERENCES checkpoint (id),
    utc_ns     INTEGER NOT NULL, -- when it was stored here
    token      BLOB NOT NULL -- DER, as the authority sent it
) STRICT;
CREATE INDEX timestamp_token_by_checkpoint ON timestamp_token (checkpoint);

---------------------------------------------------------------------------------- views, for people

-- In views, times of day are seconds since 1970 (datetime(created, 'unixepoch') reads them),
-- `result` is the id that the commands print and take, digests are hex.
--
-- DuckDB reads them, too. It spells a view's text anew (count(*) becomes count_star(), which SQLite
-- has not) or runs it itself: a join needs its ON or a comma, and what json_extract gives needs a
-- type. A text out of JSON keeps its quotes there; trim takes them off where no text has any.

CREATE VIEW declarations AS
SELECT d.kind, d.name, d.version, lower(hex(d.digest)) AS sha256, d.origin, c.body AS json
FROM declaration d JOIN content c ON c.digest = d.digest;

CREATE VIEW campaigns AS
SELECT id AS campaign, uid, created_utc_ns / 1e9 AS created, command,
       (SELECT name FROM declaration d WHERE d.digest = c.protocol AND d.kind = 'protocol' LIMIT 1)
           AS protocol,
       (SELECT count(*) FROM cell WHERE cell.campaign = c.id) AS cells,
       (SELECT count(*) FROM planned_trial p WHERE p.campaign = c.id) AS planned,
       (SELECT event FROM campaign_event e WHERE e.campaign = c.id ORDER BY e.id DESC LIMIT 1)
           AS state,
       tool_version, lower(hex(tool_digest)) AS tool_sha256, lower(hex(plan)) AS plan_sha256
FROM campaign c;

-- What was planned, in its order, and what became of it.
CREATE VIEW planned AS
SELECT p.campaign, p.sequence, substr(g.uid, 1, 8) || '/' || c.ordinal AS result,
       c.workload_name AS workload, c.precision, c.batch, c.scenario, c.implementation,
       c.device_spec AS device, c.protocol_name AS protocol, t.attempt AS attempts,
       CASE WHEN t.id IS NULL THEN 'not run' ELSE coalesce(e.status, 'no end') END AS state,
       g.created_utc_ns / 1e9 AS created
FROM planned_trial p
JOIN cell c ON c.id = p.cell
JOIN campaign g ON g.id = p.campaign
LEFT JOIN trial t ON t.campaign = p.campaign AND t.sequence = p.sequence
    AND t.attempt = (SELECT max(attempt) FROM trial l
                     WHERE l.campaign = p.campaign AND l.sequence = p.sequence)
LEFT JOIN trial_end e ON e.trial = t.id;

CREATE VIEW choices AS
SELECT substr(g.uid, 1, 8) || '/' || c.ordinal AS result, x.created_utc_ns / 1e9 AS created,
       b.body AS json
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
       e.iterations_per_sample, e.exit_code, e.signal, e.max_rss_bytes, e.facts
FROM trial t
JOIN cell c ON c.id = t.cell
JOIN campaign g ON g.id = t.campaign
LEFT JOIN trial_end e ON e.trial = t.id
LEFT JOIN trial_device td ON td.trial = t.id
LEFT JOIN device d ON d.id = td.device;

CREATE VIEW phases AS
SELECT trial, name AS phase, begin_ns / 1e9 AS begin, (end_ns - begin_ns) / 1e9 AS seconds
FROM phase;

CREATE VIEW verifications AS
SELECT trial, phase, output, metric, coalesce(error, error_text) AS error, tolerance, compared,
       passed, reason
FROM verification;

-- On which libraries: every file mapped by a trial's worker.
CREATE VIEW libraries AS
SELECT DISTINCT s.trial, s.at, c.path, c.kind, c.version, c.build_id, c.size,
       nullif(lower(hex(c.sha256)), '') AS sha256, c.missing_reason
FROM trial_stack s
JOIN stack_member m ON m.stack = s.stack
JOIN component c ON c.id = m.component;

-- Under which conditions: every reading of a trial's surroundings.
CREATE VIEW conditions AS
SELECT e.trial, e.at, r.name, json_extract(r.body, '$.value') AS value,
       json_extract(r.body, '$.unit') AS unit, json_extract(r.body, '$.status') AS status,
       json_extract(r.body, '$.source') AS source, json_extract(r.body, '$.reason') AS reason
FROM environment e
JOIN reading_member m ON m.reading_set = e.readings
JOIN reading r ON r.id = m.reading;

CREATE VIEW devices AS
SELECT id AS device, backend, device_index, name, vendor, uuid, type, simulated,
       lower(hex(digest)) AS sha256
FROM device;

CREATE VIEW device_readings AS
SELECT d.id AS device, r.name, json_extract(r.body, '$.value') AS value,
       json_extract(r.body, '$.unit') AS unit, json_extract(r.body, '$.status') AS status,
       json_extract(r.body, '$.source') AS source, json_extract(r.body, '$.reason') AS reason
FROM device d
JOIN reading_member m ON m.reading_set = d.readings
JOIN reading r ON r.id = m.reading;

-- Compiled kernels, one row each.
CREATE VIEW kernels AS
SELECT a.trial, lower(hex(a.content)) AS sha256, c.body AS json
FROM artifact a JOIN content c ON c.digest = a.content;

-- With which raw samples: how many, and their range, by trial and series.
CREATE VIEW samples_index AS
SELECT trial, name AS series, sum(count) AS samples, min(minimum) AS minimum,
       max(maximum) AS maximum, sum(total) AS total, count(first) AS chunks,
       sum(length(data)) AS stored_bytes
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
       AS value
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
                CASE status WHEN 'ok' THEN NULL ELSE message END) AS reason
FROM sensor;

-- What was found wrong with the machine, one row a finding.
CREATE VIEW findings AS
SELECT d.campaign, d.utc_ns / 1e9 AS at,
       trim(CAST(json_extract(f.value, '$.check') AS TEXT), '"') AS "check",
       trim(CAST(json_extract(f.value, '$.severity') AS TEXT), '"') AS severity,
       CAST(json_extract(f.value, '$.observed') AS TEXT) AS observed,
       CAST(json_extract(f.value, '$.effect') AS TEXT) AS effect,
       CAST(json_extract(f.value, '$.remedy') AS TEXT) AS remedy
FROM doctor d
JOIN content x ON x.digest = d.body, json_each(x.body, '$.findings') f;

-- SELECT output FROM dumps WHERE campaign = 1 AND tool = 'lscpu' gives it as it was.
CREATE VIEW dumps AS
SELECT d.id AS dump, substr(g.uid, 1, 8) AS id, d.campaign, d.utc_ns / 1e9 AS at, d.tool, d.command,
       d.status, d.message, d.exit_code, length(CAST(c.body AS BLOB)) AS bytes,
       nullif(lower(hex(d.output)), '') AS sha256, c.body AS output
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
       e.body AS json
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

CREATE VIEW amendments AS
SELECT a.id AS amendment, substr(g.uid, 1, 8) || '/' || c.ordinal AS result,
       a.utc_ns / 1e9 AS created, a.author, a.reason
FROM amendment a JOIN cell c ON c.id = a.cell JOIN campaign g ON g.id = c.campaign;

CREATE VIEW bundles AS
SELECT c.uid AS campaign, b.imported_utc_ns / 1e9 AS imported, b.file,
       lower(hex(b.sha256)) AS sha256, b.origin, b.size, lower(hex(b.root)) AS root, b.note
FROM bundle b JOIN campaign c ON c.id = b.campaign;

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

-- How far the log is covered, and by whom.
CREATE VIEW checkpoints AS
SELECT c.id AS checkpoint, c.utc_ns / 1e9 AS created, c.kind, g.uid AS campaign, c.size,
       lower(hex(c.root)) AS root,
       (SELECT group_concat(s.name || ' (' || s.role || ')', ', ') FROM signature s
        WHERE s.checkpoint = c.id) AS signed_by,
       (SELECT count(*) FROM timestamp_token t WHERE t.checkpoint = c.id) AS timestamps
FROM checkpoint c LEFT JOIN campaign g ON g.id = c.campaign;
