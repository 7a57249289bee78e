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

