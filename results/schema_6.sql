-- From schema version 5 to 6.

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

CREATE TRIGGER dump_no_update BEFORE UPDATE ON dump BEGIN
    SELECT RAISE(ABORT, 'dump is evidence: rows are added, never changed');
END;
CREATE TRIGGER dump_no_delete BEFORE DELETE ON dump BEGIN
    SELECT RAISE(ABORT, 'dump is evidence: rows are added, never deleted');
END;

-- SELECT output FROM dumps WHERE campaign = 1 AND tool = 'lscpu' gives it as it was.
CREATE VIEW dumps AS
SELECT d.id AS dump, substr(g.uid, 1, 8) AS id, d.campaign, d.utc_ns / 1e9 AS at, d.tool, d.command,
       d.status, d.message, d.exit_code, length(CAST(c.body AS BLOB)) AS bytes,
       lower(hex(d.output)) AS sha256, c.body AS output
FROM dump d
JOIN campaign g ON g.id = d.campaign
LEFT JOIN content c ON c.digest = d.output;
