"""What the owner of a database can do to it: change rows, repair triggers, rewrite the log."""

import contextlib
import sqlite3

import verify


class Forgery:
    """A database opened by its owner: without triggers while it is open, restored afterwards."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
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
        self.db.execute("INSERT INTO %s VALUES (%s)" % (table, ", ".join("?" * len(row))), row)

    def key(self, table, row):
        return key_of(self.columns(table), row)

    def enter(self, table, row):
        """Inserts a row as assay would, with its leaf."""
        self.insert(table, row)
        reader = leaf_reader(self.db)
        leaf = self.db.execute("SELECT coalesce(max(leaf) + 1, 0) FROM ledger").fetchone()[0]
        self.insert("ledger", (leaf, table, self.key(table, row), reader.leaf(table, row, leaf)))

    def rewrite(self):
        """Rewrites the whole log to match the current rows."""
        reader, tree = leaf_reader(self.db), verify.Tree()
        order = self.db.execute("SELECT table_name, key FROM ledger ORDER BY leaf").fetchall()
        self.db.execute("DELETE FROM ledger")
        rows = {t: {self.key(t, row): row for row in self.rows(t)} for t in reader.tables}
        known = set(order)
        order += [(t, k) for t in rows for k in rows[t] if (t, k) not in known]
        for table, key in order:
            row = rows[table].get(key)
            if row is None:
                continue
            if table == "checkpoint":
                row = (row[0], tree.size, tree.root()) + row[3:6] + (b"".join(tree.nodes),)
                self.delete(table, row)
                self.insert(table, row)
            digest = reader.leaf(table, row, tree.size)
            self.insert("ledger", (tree.size, table, key, digest))
            tree.add(digest)


def leaf_reader(db):
    """A Verifier that makes leaves of this connection's rows."""
    reader = verify.Verifier("")
    reader.db = db
    reader.tables = {}
    for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <>"
                               " 'ledger' AND name NOT LIKE 'sqlite_%'").fetchall():
        reader.tables[table] = db.execute("SELECT * FROM pragma_table_info(?)", (table,)).fetchall()
    reader.secret = db.execute("SELECT secret FROM ledger_origin").fetchone()[0]
    return reader


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


def contents(db, table):
    """Values that a row of a table must have where not every value is allowed."""
    if table != "comparison":
        return {}
    cell, name = db.execute("SELECT c.id, substr(uid, 1, 8) || '/' || ordinal FROM cell c JOIN campaign g"
                            " ON g.id = c.campaign ORDER BY c.id").fetchone()
    body = {"a": name, "b": name, "comparability": {"verdict": "not_comparable"}}
    return {"kind": "compare", "verdict": "not_comparable", "a": cell, "b": cell,
            "body": verify.canonical(body).decode()}


def fill_empty_tables(path):
    """Adds a row to every empty table, so that each can be forged."""
    filled = []
    with Forgery(path) as forgery:
        tables = [r[0] for r in forgery.db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        for table in tables:
            if forgery.rows(table):
                continue
            parents = {r[3]: r[2:5] for r in
                       forgery.db.execute("SELECT * FROM pragma_foreign_key_list(?)", (table,))}
            row, known = [], contents(forgery.db, table)
            for name, kind, _, _ in forgery.columns(table):
                if name in known:
                    row.append(known[name])
                elif name in parents:
                    parent, _, to = parents[name]
                    row.append(forgery.db.execute("SELECT %s FROM %s" % (to, parent)).fetchone()[0])
                else:
                    row.append({"INTEGER": 1, "REAL": 1.5, "BLOB": b"\1" * 32}.get(kind, "{}"))
            forgery.enter(table, tuple(row))
            filled.append(table)
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
    signed = wrap(0x30, b"\2\1\3", b"\x31\0", content)
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
