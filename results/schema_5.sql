-- From schema version 4 to 5: campaigns that came in a bundle.

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

CREATE VIEW bundles AS
SELECT c.uid AS campaign, b.imported_utc_ns / 1e9 AS imported, b.file,
       lower(hex(b.sha256)) AS sha256, b.origin, b.size, lower(hex(b.root)) AS root, b.note
FROM bundle b JOIN campaign c ON c.id = b.campaign;
