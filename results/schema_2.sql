-- From schema version 1 to 2.

-- What a campaign's worker chose by measurement (sizes of groups, iterations in a sample) before the
-- first trial of a cell, and every trial of it was given. Cells that measure the same work on the
-- same device share one choice. A cell without a row had nothing to choose, or its trials chose
-- themselves.
CREATE TABLE choice (
    cell           INTEGER NOT NULL PRIMARY KEY REFERENCES cell (id),
    created_utc_ns INTEGER NOT NULL,
    content        BLOB NOT NULL REFERENCES content (digest) -- canonical JSON
) STRICT, WITHOUT ROWID;

CREATE TRIGGER choice_no_update BEFORE UPDATE ON choice BEGIN
    SELECT RAISE(ABORT, 'choice is evidence: rows are added, never changed');
END;
CREATE TRIGGER choice_no_delete BEFORE DELETE ON choice BEGIN
    SELECT RAISE(ABORT, 'choice is evidence: rows are added, never deleted');
END;

CREATE VIEW choices AS
SELECT substr(g.uid, 1, 8) || '/' || c.ordinal AS result, x.created_utc_ns / 1e9 AS created,
       b.body AS json
FROM choice x
JOIN content b ON b.digest = x.content
JOIN cell c ON c.id = x.cell
JOIN campaign g ON g.id = c.campaign;
