-- From schema version 6 to 7.

-- From which leaf of the ledger on another form of leaves holds (FORMAT.md, "Leaf"); form 1 holds
-- from the beginning. The row is the first leaf of its form.
CREATE TABLE leaf_form (
    form       INTEGER NOT NULL PRIMARY KEY, -- 2: some more columns are salted commitments
    first_leaf INTEGER NOT NULL
) STRICT;

CREATE TRIGGER leaf_form_no_update BEFORE UPDATE ON leaf_form BEGIN
    SELECT RAISE(ABORT, 'leaf_form is evidence: rows are added, never changed');
END;
CREATE TRIGGER leaf_form_no_delete BEFORE DELETE ON leaf_form BEGIN
    SELECT RAISE(ABORT, 'leaf_form is evidence: rows are added, never deleted');
END;

-- Two views showed '' for a digest that is not known.
DROP VIEW libraries;
CREATE VIEW libraries AS
SELECT DISTINCT s.trial, s.at, c.path, c.kind, c.version, c.build_id, c.size,
       nullif(lower(hex(c.sha256)), '') AS sha256, c.missing_reason
FROM trial_stack s
JOIN stack_member m ON m.stack = s.stack
JOIN component c ON c.id = m.component;

DROP VIEW dumps;
CREATE VIEW dumps AS
SELECT d.id AS dump, substr(g.uid, 1, 8) AS id, d.campaign, d.utc_ns / 1e9 AS at, d.tool, d.command,
       d.status, d.message, d.exit_code, length(CAST(c.body AS BLOB)) AS bytes,
       nullif(lower(hex(d.output)), '') AS sha256, c.body AS output
FROM dump d
JOIN campaign g ON g.id = d.campaign
LEFT JOIN content c ON c.digest = d.output;
