-- From schema version 2 to 3: the ledger, a Merkle log over every row of evidence (FORMAT.md).
--
-- After the last script every table except `ledger` itself gets a trigger <table>_ledger, which
-- enters each new row (store_schema.c). It calls a function that assay alone has, so another program
-- cannot insert by mistake. Rows that were there before version 3 are entered as they are found.

-- The log. One row a leaf, in the order of insertion.
CREATE TABLE ledger (
    leaf       INTEGER PRIMARY KEY CHECK (leaf >= 0), -- place in the log: 0, 1, 2 ... without gaps
    table_name TEXT NOT NULL,
    key        ANY  NOT NULL, -- primary key of the row; several columns with '/' between, BLOBs in hex
    digest     BLOB NOT NULL CHECK (length(digest) = 32) -- leaf hash
) STRICT;

-- Which log this is; one row.
CREATE TABLE ledger_origin (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    name           TEXT NOT NULL UNIQUE, -- first line of every signed note: 'assay-log/' and 32 hex digits
    secret         BLOB NOT NULL CHECK (length(secret) = 32), -- makes the salts of commitments
    created_utc_ns INTEGER NOT NULL
) STRICT;

-- The head of the log at one moment. It covers the leaves before its own.
CREATE TABLE checkpoint (
    id       INTEGER PRIMARY KEY,
    size     INTEGER NOT NULL CHECK (size >= 1), -- leaves covered: 0 to size - 1
    root     BLOB NOT NULL CHECK (length(root) = 32), -- Merkle tree hash of those leaves
    utc_ns   INTEGER NOT NULL, -- when
    -- 'plan' (before a campaign's first trial), 'resume', 'end' (after its estimates),
    -- 'request' (assay checkpoint), 'migration' (older rows were entered as they were found)
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
    signature  BLOB NOT NULL CHECK (length(signature) = 64)
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

-- Something said about a result later. The result stays as it was.
CREATE TABLE amendment (
    id     INTEGER PRIMARY KEY,
    cell   INTEGER NOT NULL REFERENCES cell (id),
    utc_ns INTEGER NOT NULL, -- when
    author TEXT NOT NULL, -- who says so
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX amendment_by_cell ON amendment (cell);

CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger BEGIN
    SELECT RAISE(ABORT, 'ledger is evidence: rows are added, never changed');
END;
CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger BEGIN
    SELECT RAISE(ABORT, 'ledger is evidence: rows are added, never deleted');
END;
CREATE TRIGGER ledger_origin_no_update BEFORE UPDATE ON ledger_origin BEGIN
    SELECT RAISE(ABORT, 'ledger_origin is evidence: rows are added, never changed');
END;
CREATE TRIGGER ledger_origin_no_delete BEFORE DELETE ON ledger_origin BEGIN
    SELECT RAISE(ABORT, 'ledger_origin is evidence: rows are added, never deleted');
END;
CREATE TRIGGER checkpoint_no_update BEFORE UPDATE ON checkpoint BEGIN
    SELECT RAISE(ABORT, 'checkpoint is evidence: rows are added, never changed');
END;
CREATE TRIGGER checkpoint_no_delete BEFORE DELETE ON checkpoint BEGIN
    SELECT RAISE(ABORT, 'checkpoint is evidence: rows are added, never deleted');
END;
CREATE TRIGGER signature_no_update BEFORE UPDATE ON signature BEGIN
    SELECT RAISE(ABORT, 'signature is evidence: rows are added, never changed');
END;
CREATE TRIGGER signature_no_delete BEFORE DELETE ON signature BEGIN
    SELECT RAISE(ABORT, 'signature is evidence: rows are added, never deleted');
END;
CREATE TRIGGER timestamp_token_no_update BEFORE UPDATE ON timestamp_token BEGIN
    SELECT RAISE(ABORT, 'timestamp_token is evidence: rows are added, never changed');
END;
CREATE TRIGGER timestamp_token_no_delete BEFORE DELETE ON timestamp_token BEGIN
    SELECT RAISE(ABORT, 'timestamp_token is evidence: rows are added, never deleted');
END;
CREATE TRIGGER amendment_no_update BEFORE UPDATE ON amendment BEGIN
    SELECT RAISE(ABORT, 'amendment is evidence: rows are added, never changed');
END;
CREATE TRIGGER amendment_no_delete BEFORE DELETE ON amendment BEGIN
    SELECT RAISE(ABORT, 'amendment is evidence: rows are added, never deleted');
END;

-- How far the log is covered, and by whom.
CREATE VIEW checkpoints AS
SELECT c.id AS checkpoint, c.utc_ns / 1e9 AS created, c.kind, g.uid AS campaign, c.size,
       lower(hex(c.root)) AS root,
       (SELECT group_concat(s.name || ' (' || s.role || ')', ', ') FROM signature s
        WHERE s.checkpoint = c.id) AS signed_by,
       (SELECT count(*) FROM timestamp_token t WHERE t.checkpoint = c.id) AS timestamps
FROM checkpoint c LEFT JOIN campaign g ON g.id = c.campaign;

CREATE VIEW amendments AS
SELECT a.id AS amendment, substr(g.uid, 1, 8) || '/' || c.ordinal AS result,
       a.utc_ns / 1e9 AS created, a.author, a.reason
FROM amendment a JOIN cell c ON c.id = a.cell JOIN campaign g ON g.id = c.campaign;
