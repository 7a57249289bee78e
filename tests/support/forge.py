"""What the owner of a database can do to it: change records and rows, repair triggers, rewrite the log."""

import base64
import contextlib
import itertools
import json
import sqlite3

import verify
import verify_body
from verify_body import canonical, sha256
from verify_heads import Tree, cells, count_same, counts


def signer(secret):
    """(public key, function that signs) of a key's file."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(secret.strip().split("+", 4)[4])[1:])
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw), key.sign


class Forgery:
    """A database opened by its owner: without triggers while it is open, restored afterwards."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
        verify.functions(self.db)
        self.db.execute("PRAGMA foreign_keys=OFF")
        self.db.execute("PRAGMA ignore_check_constraints=ON")
        self.triggers = self.db.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        self.db.execute("BEGIN")
        for name, _ in self.triggers:
            self.db.execute("DROP TRIGGER %s" % name)
        return self

    def __exit__(self, kind, *_rest):
        if kind is None:
            for _, sql in self.triggers:
                self.db.execute(sql)
            self.db.execute("COMMIT")
        self.db.close()

    # ---- rows

    def columns(self, table):
        """[(name, type, not null, place in the key or 0)]"""
        return [(r[1], r[2], r[3], r[5]) for r in
                self.db.execute("SELECT * FROM pragma_table_info(?)", (table,))]

    def rows(self, table):
        return self.db.execute("SELECT * FROM %s" % table).fetchall()

    def where(self, table, row):
        """A condition that selects only this row, and its parameters."""
        names = [(i, c[0]) for i, c in enumerate(self.columns(table)) if c[3]]
        return " AND ".join("%s = ?" % name for _, name in names), [row[i] for i, _ in names]

    def delete(self, table, row):
        condition, parameters = self.where(table, row)
        self.db.execute("DELETE FROM %s WHERE %s" % (table, condition), parameters)

    def insert(self, table, row):
        """Whether the row could be inserted: false where another has its key."""
        return self.db.execute("INSERT OR IGNORE INTO %s VALUES (%s)" % (table, ", ".join("?" * len(row))),
                               row).rowcount > 0

    # ---- records, of the own log

    def bodies(self, kind):
        """[(row, body)] of a type, in the order of the log."""
        return [(number, verify_body.spelled(body)) for number, body in self.db.execute(
            "SELECT id, body FROM record WHERE log = 1 AND type = ? ORDER BY id", (kind,)).fetchall()]

    def edit(self, kind, change):
        """Calls `change` with the body of each record of a type, or updates it; what it returns False for, stays."""
        edited = 0
        for number, body in self.bodies(kind):
            if (body.update(change) if isinstance(change, dict) else change(body)) is not False:
                self.db.execute("UPDATE record SET body = ? WHERE id = ?", (canonical(body), number))
                edited += 1
        return edited

    def edit_blob(self, reference, change):
        """Changes a JSON text that is kept as a blob, and every reference to it; the new one."""
        old = reference["blob"]
        body = json.loads(self.db.execute("SELECT body FROM content WHERE digest = ?",
                                          (bytes.fromhex(old),)).fetchone()[0])
        change(body)
        new = self.blob(canonical(body))["blob"]
        self.db.execute("UPDATE record SET body = replace(body, ?, ?) WHERE log = 1", (
            canonical({"blob": old}), canonical({"blob": new})))
        if not self.db.execute("SELECT 1 FROM record WHERE instr(body, ?)", (canonical({"blob": old}),)).fetchone():
            self.db.execute("DELETE FROM content WHERE digest = ?", (bytes.fromhex(old),))
        return new

    def blob(self, text):
        """Keeps a text, and refers to it."""
        digest = sha256(text.encode())
        self.db.execute("INSERT OR IGNORE INTO content VALUES (?, ?)", (digest, text))
        return {"blob": digest.hex()}

    def drop(self, condition, *parameters):
        self.db.execute("DELETE FROM record WHERE log = 1 AND (%s)" % condition, parameters)

    def drop_blobs(self):
        """Deletes blobs that no record refers to."""
        wanted = {digest for (body,) in self.db.execute("SELECT body FROM record").fetchall()
                  for name, digest in verify_body.references(verify_body.spelled(body)) if name == "blob"}
        for digest, in self.db.execute("SELECT digest FROM content").fetchall():
            if digest not in wanted:
                self.db.execute("DELETE FROM content WHERE digest = ?", (digest,))

    def digest(self, body):
        """(digest, salt, text) of a body as a record of the own log."""
        text = canonical(body)
        salt = verify_body.salt(self.db.execute("SELECT secret FROM log WHERE id = 1").fetchone()[0], body["type"],
                                text)
        return verify_body.digest(body["type"], text, salt, True)[0], salt, text

    def enter(self, body):
        """Appends a record as assay would; a reference to it."""
        projection = verify.Projection(self.db)
        for number, digest in self.db.execute("SELECT id, digest FROM record").fetchall():
            projection.rows[digest] = number
            projection.about[digest] = {d for (d,) in self.db.execute(
                "SELECT r.digest FROM about a JOIN record r ON r.id = a.campaign WHERE a.record = ?", (number,))}
        leaf, = self.db.execute("SELECT coalesce(max(leaf) + 1, 0) FROM record WHERE log = 1").fetchone()
        number, = self.db.execute("SELECT coalesce(max(id), 0) + 1 FROM record").fetchone()
        digest, salt, text = self.digest(body)
        self.project(projection, number, verify.Record(number, 1, leaf, body["type"], digest, salt, text))
        return {"record": digest.hex()}

    def enter_before(self, number, body):
        """Puts a record before another, whose number is then one more; a reference to it, for rewrite."""
        for change in ("id = -id - 1, leaf = leaf + 1000000 WHERE id >= %d" % number, "id = -id WHERE id < 0"):
            self.db.execute("UPDATE record SET " + change)
        digest, salt, text = self.digest(body)
        self.db.execute("INSERT INTO record (id, log, leaf, type, digest, salt, body) VALUES (?, 1, ?, ?, ?, ?, ?)",
                        (number, -number, body["type"], digest, salt, text))
        return {"record": digest.hex()}

    def project(self, projection, number, record):
        """Enters a record in all tables, or, where they cannot show it, in `record` alone."""
        row = (number, record.log, record.leaf, record.type, record.digest, record.salt, record.body)
        self.db.execute("SAVEPOINT entering")
        try:
            projection.add(number, record)
            self.db.execute("DELETE FROM record WHERE id = ?", (number,))
        except (sqlite3.Error, ValueError):
            self.db.execute("ROLLBACK TO entering")
        self.db.execute("RELEASE entering")
        self.insert("record", row)

    def rewrite(self, key=None, kept=(), series=False, heads=None):
        """
        Makes digests, references, heads and tables again from the bodies that there are. Signatures are made
        again with the text of a key's file, and go without; time stamps go. `kept`: types that stay as they are.
        `series`: what trials say of their samples follows from the chunks. `heads` is called with each head's body
        after it was made.
        """
        key = key and signer(key)
        log, = self.db.execute("SELECT name FROM log WHERE id = 1").fetchone()
        ids = dict(self.db.execute("SELECT r.digest, t.id FROM trial t JOIN record r ON r.id = t.record"))
        trials = {digest.hex(): number for digest, number in ids.items()}
        known, self.bodies_of, tree, records, moved = {}, {}, Tree(), [], {}
        about, mine = {}, []  # about which campaigns; (type, digest) along the log

        def renew(value):
            """References, and the names of manifests, as they are now."""
            if isinstance(value, dict):
                return {known.get(name, name): renew(item) for name, item in value.items()}
            if isinstance(value, list):
                return [renew(item) for item in value]
            return known.get(value, value) if isinstance(value, str) else value

        for record in [verify.Record(*row) for row in self.rows_of_records()]:
            body = verify_body.spelled(record.body)
            trial = trials.get(body["begin"]["record"]) if "begin" in body else None
            if record.log == 1:
                if record.type == "timestamp" and "timestamp" not in kept or \
                        record.type == "signature" and not key and "signature" not in kept:
                    continue
                if record.type == "trial" and series:
                    body["series"] = self.series(trial)
                body = renew(body)
                if record.type == "bundle":
                    came = list(itertools.takewhile(lambda r: r.log != 1, reversed(records)))
                    body["received"] = verify_body.received((r.body, r.salt) for r in reversed(came))
                if record.type == "checkpoint":
                    self.head(body, tree, about, mine)
                    if heads:
                        heads(body)
                if record.type == "signature" and key:
                    self.sign(body, log, *key)
                digest, salt, text = self.digest(body)
                known[record.digest.hex()] = digest.hex()
                record = verify.Record(None, 1, tree.size, record.type, digest, salt, text)
                tree.add(digest)
                mine.append((record.type, digest))
            moved[trial] = record.digest
            self.bodies_of[record.digest.hex()] = body
            about[record.digest] = {record.digest} if record.type == "campaign" else {
                d for name, other in verify_body.references(body) if name == "record" for d in about.get(other, ())}
            records.append(record)
        self.rebuild(records, moved)

    def rows_of_records(self):
        return self.db.execute("SELECT id, log, leaf, type, digest, salt, body FROM record ORDER BY id").fetchall()

    def series(self, trial):
        """What a trial's record says of its samples."""
        found = {}
        for name, count, data in self.db.execute("SELECT name, count, data FROM series WHERE trial = ? ORDER BY name,"
                                                 " first", (trial,)):
            samples, bodies = found.setdefault(name, [0, []])
            found[name] = [samples + count, bodies + [sha256(data[:20], data[28:])]]
        return [{"name": name, "samples": samples, "sha256": sha256(*bodies).hex()}
                for name, (samples, bodies) in found.items()]

    def head(self, body, tree, about, mine):
        """A head of what came before it."""
        body.update(size=tree.size, root=tree.root().hex(), frontier=b"".join(tree.nodes).hex())
        if "manifest" in body:
            body.update(counts(map(bytes.fromhex, body["manifest"]), mine, about))
        if "campaigns_in_log" in body:
            body["campaigns_in_log"] = sum(kind == "campaign" for kind, _ in mine)
        if "same_cells_in_log" in body:
            of = {digest.hex(): cells(self.bodies_of[digest.hex()], lambda blob: self.db.execute(
                "SELECT body FROM content WHERE digest = ?", (bytes.fromhex(blob["blob"]),)).fetchone()[0])
                for kind, digest in mine if kind == "campaign"}
            body["same_cells_in_log"] = count_same(body["same_cells_in_log"], of)

    def sign(self, body, log, public, sign):
        """Signs its head, where it is a signature of this key."""
        head = self.bodies_of.get(body["checkpoint"]["record"])
        if head and body["public_key"] == public.hex():
            uid = self.bodies_of[head["campaign"]["record"]]["uid"] if "campaign" in head else "-"
            body["signature"] = sign(("%s\n%s\n%s\n%s %s %s\n" % (
                log, head["size"], base64.b64encode(bytes.fromhex(head["root"])).decode(), head["kind"],
                head["utc_ns"], uid)).encode()).hex()

    def rebuild(self, records, moved):
        """All tables from the records; `moved` has the record of the end of each trial that was there."""
        for (table,) in self.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            if table not in ("log", "content", "series"):
                self.db.execute("DELETE FROM " + table)
        projection = verify.Projection(self.db)
        for number, record in enumerate(records, 1):
            self.project(projection, number, record)
        ends = dict(self.db.execute("SELECT r.digest, e.trial FROM trial_end e JOIN record r ON r.id = e.record"))
        others = [t for t, in self.db.execute("SELECT DISTINCT trial FROM series").fetchall()]
        self.db.execute("UPDATE series SET trial = -trial")
        for trial in others:
            if moved.get(trial) in ends:
                self.db.execute("UPDATE series SET trial = ? WHERE trial = ?", (ends[moved[trial]], -trial))
        self.db.execute("DELETE FROM series WHERE trial < 0")


def key_of(columns, row):
    parts = [(place, kind, row[i]) for i, (_, kind, _, place) in enumerate(columns) if place]
    if len(parts) == 1 and parts[0][1] == "INTEGER":
        return parts[0][2]
    return "/".join(v.hex() if isinstance(v, bytes) else str(v) for _, _, v in sorted(parts))


def changed(value, kind):
    """Another value of the same type."""
    if value is None:
        return {"INTEGER": 1, "REAL": 1.5, "BLOB": b"\1" * 32}.get(kind, "x")
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 2 + 1
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:] if value else b"\1"
    return value + "x"


def fill_empty_tables(path):
    """Adds records that show in every empty table, so that each can be forged."""
    with Forgery(path) as forgery:
        (_, campaign), readings = forgery.bodies("campaign")[0], forgery.db.execute(
            "SELECT lower(hex(digest)) FROM record WHERE type = 'readings'").fetchone()[0]
        of = {"campaign": {"record": forgery.digest(campaign)[0].hex()}, "cell": 1}
        name = campaign["uid"][:8] + "/1"
        (at,), = forgery.db.execute("SELECT max(utc_ns) FROM checkpoint")
        records = {
            "choice": {**of, "type": "choice", "created_utc_ns": at, "choice": forgery.blob("{}")},
            "comparison": {"type": "comparison", "created_utc_ns": 1, "kind": "compare", "a": of, "b": of,
                           "version": 1, "verdict": "not_comparable",
                           "body": {"a": name, "b": name, "comparability": {"verdict": "not_comparable"}}},
            "amendment": {**of, "type": "amendment", "utc_ns": 1, "author": "me", "reason": "it was loud"},
            "import": {"campaign": of["campaign"], "type": "import", "sha256": "01" * 32, "file": "x", "size": 1,
                       "format": "x", "program": "x", "program_version": "1"},
            "claim": {**of, "type": "claim", "readings": {"record": readings}, "body": {}}}
        filled = [kind for kind in records if not forgery.rows(kind)]
        for kind in filled:
            forgery.enter(records[kind])
    return filled


def token(root, time=b"20261120190000Z"):
    """An RFC 3161 token of this root, as far as it is read here."""
    def wrap(tag, *parts):
        body = b"".join(parts)
        length = bytes([len(body)]) if len(body) < 128 else b"\x81" + bytes([len(body)])
        return bytes([tag]) + length + body
    info = wrap(0x30, b"\2\1\1", b"\6\3\x2a\3\4",
                wrap(0x30, wrap(0x30, b"\6\x09\x60\x86\x48\1\x65\3\4\2\1", b"\5\0"), wrap(4, root)),
                b"\2\1\7", wrap(0x18, time))
    content = wrap(0x30, b"\6\x0b\x2a\x86\x48\x86\xf7\x0d\1\x09\x10\1\4", wrap(0xA0, wrap(4, info)))
    signed = wrap(0x30, b"\2\1\3", b"\x31\0", content, b"\x31\0")
    return wrap(0x30, b"\6\x09\x2a\x86\x48\x86\xf7\x0d\1\7\2", wrap(0xA0, signed))


def dump(path):
    """Everything that a reader of the database sees, or why it cannot be read."""
    try:
        with contextlib.closing(verify.connect(path)) as db:
            schema = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"
                                " ORDER BY type, name").fetchall()
            return schema, [db.execute("SELECT * FROM %s NOT INDEXED" % row[1]).fetchall()
                            for row in schema if row[0] == "table"]
    except sqlite3.Error as error:
        return str(error)
