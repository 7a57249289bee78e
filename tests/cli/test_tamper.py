"""The tamper matrix: both verifiers find and name every change of a database."""

import contextlib
import os
import random
import shutil
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import unittest  # noqa: E402

from tamper import TamperTest  # noqa: E402  (exits where the second verifier cannot run)

import forge  # noqa: E402
import verify  # noqa: E402


class Tamper(TamperTest):
    def test_untouched(self):
        self.assert_good(self.copy())
        self.assert_good(self.copy(), ("--key", self.public, "--expect-head", self.head, "--nonce",
                                       "ask-17"),
                         keys=[self.public], head=self.head, nonce="ask-17")

    def test_one_value(self):
        cases = 0
        for table in self.tables():
            with forge.Forgery(self.copy()) as forgery:
                columns, rows = forgery.columns(table), forgery.rows(table)
            self.assertTrue(rows, table)
            row = rows[len(rows) // 2]
            for i, (name, kind, needed, place) in enumerate(columns):
                values = [forge.changed(row[i], kind)]
                if row[i] is not None and not needed and not place:
                    values.append(None)
                for value in values:
                    with self.subTest(table=table, column=name, value=value):
                        new = row[:i] + (value,) + row[i + 1:]
                        path = self.copy()
                        with forge.Forgery(path) as forgery:
                            if new[:1] in [r[:1] for r in rows] and place:
                                new = row[:i] + (forge.changed(max(r[i] for r in rows), kind),) + \
                                    row[i + 1:]
                            forgery.delete(table, row)
                            forgery.insert(table, new)
                        self.assert_named(path, table, (forge.key_of(columns, row),
                                                        forge.key_of(columns, new)))
                        cases += 1
        print("%d values changed, each found and named by both" % cases)

    def test_rows(self):
        cases = 0
        for table in self.tables():
            with forge.Forgery(self.copy()) as forgery:
                columns, rows = forgery.columns(table), forgery.rows(table)
            row, last = rows[len(rows) // 2], rows[-1]
            with self.subTest(table=table, what="delete"):
                path = self.copy()
                with forge.Forgery(path) as forgery:
                    forgery.delete(table, row)
                self.assert_named(path, table, [forge.key_of(columns, row)])
            with self.subTest(table=table, what="insert"):
                path = self.copy()
                new = tuple(forge.changed(v, c[1]) if v is not None and c[1] != "REAL" else v
                            for v, c in zip(last, columns))
                with forge.Forgery(path) as forgery:
                    while any(new[0] == r[0] for r in rows):
                        new = (forge.changed(new[0], columns[0][1]),) + new[1:]
                    forgery.insert(table, new)
                self.assert_named(path, table, [forge.key_of(columns, new)])
            cases += 2
            others = [r for r in rows if any(
                a != b for a, b, c in zip(r, row, columns) if not c[3])]
            if not others:
                continue
            with self.subTest(table=table, what="swap"):
                path, other = self.copy(), others[0]
                with forge.Forgery(path) as forgery:
                    for one in (row, other):
                        forgery.delete(table, one)
                    for one, two in ((row, other), (other, row)):
                        forgery.insert(table, tuple(a if c[3] else b for a, b, c in
                                                    zip(one, two, columns)))
                self.assert_named(path, table, [forge.key_of(columns, row)])
            cases += 1
        print("%d rows deleted, inserted or swapped, each found and named by both" % cases)

    def test_ledger(self):
        """The log itself: its values, its rows, their order, its end."""
        with sqlite3.connect(self.copy()) as db:
            count = db.execute("SELECT count(*) FROM ledger").fetchone()[0]
            (phases,) = [r for r in db.execute("SELECT min(leaf), max(leaf) FROM ledger WHERE"
                                               " table_name = 'phase'")]
        middle = count // 2
        cases = {
            "leaf": ["UPDATE ledger SET leaf = %d WHERE leaf = %d" % (count + 5, middle)],
            "last leaf": ["UPDATE ledger SET leaf = %d WHERE leaf = %d" % (count + 5, count - 1)],
            "table": ["UPDATE ledger SET table_name = 'trial' WHERE leaf = %d" % phases[0]],
            "no table": ["UPDATE ledger SET table_name = 'nothing' WHERE leaf = %d" % middle],
            "key": ["UPDATE ledger SET key = key + 1 WHERE leaf = %d" % phases[0]],
            "key as text": ["UPDATE ledger SET key = cast(key AS TEXT) WHERE leaf = %d" % phases[0]],
            "digest": ["UPDATE ledger SET digest = randomblob(32) WHERE leaf = %d" % middle],
            "delete": ["DELETE FROM ledger WHERE leaf = %d" % middle],
            "delete first": ["DELETE FROM ledger WHERE leaf = 0"],
            "delete last": ["DELETE FROM ledger WHERE leaf = %d" % (count - 1)],
            "twice": ["INSERT INTO ledger SELECT %d, table_name, key, digest FROM ledger WHERE leaf ="
                      " %d" % (count, phases[0])],
            "reorder": ["UPDATE ledger SET leaf = -1 WHERE leaf = %d" % phases[0],
                        "UPDATE ledger SET leaf = %d WHERE leaf = %d" % phases,
                        "UPDATE ledger SET leaf = %d WHERE leaf = -1" % phases[1]],
            "empty": ["DELETE FROM ledger"],
            "secret": ["UPDATE ledger_origin SET secret = randomblob(32)"],
            "name": ["UPDATE ledger_origin SET name = name || 'x'"],
        }
        for name, statements in cases.items():
            with self.subTest(name):
                path = self.copy()
                with forge.Forgery(path) as forgery:
                    for statement in statements:
                        forgery.db.execute(statement)
                self.assert_found(path)

    def test_schema(self):
        """Changes of the schema and rows inserted by another program."""
        cases = {
            "trigger": "DROP TRIGGER trial_no_update",
            "ledger trigger": "DROP TRIGGER trial_ledger",
            "trigger changed": "DROP TRIGGER trial_no_delete; CREATE TRIGGER trial_no_delete BEFORE"
                               " DELETE ON trial BEGIN SELECT 1; END",
            "trigger added": "CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM phase; END",
            "view": "DROP VIEW results",
            "view changed": "DROP VIEW trials; CREATE VIEW trials AS SELECT 1",
            "view added": "CREATE VIEW v AS SELECT 1",
            "index": "DROP INDEX trial_by_cell",
            "index added": "CREATE INDEX i ON trial (attempt)",
            "table added": "CREATE TABLE notes (id INTEGER)",
            "column added": "ALTER TABLE trial ADD COLUMN x TEXT",
            "table renamed": "ALTER TABLE phase RENAME TO phase2",
            "statistics": "ANALYZE",
            "replace": "DROP TRIGGER phase_ledger; INSERT OR REPLACE INTO phase SELECT id, trial, name,"
                       " begin_ns, end_ns + 1 FROM phase WHERE id = 2",
        }
        for name, statements in cases.items():
            with self.subTest(name):
                path = self.copy()
                db = sqlite3.connect(path)
                db.create_function("assay_leaf", -1, lambda *a: b"\1" * 32)
                db.executescript(statements)
                db.close()
                self.assert_found(path)

    def test_trials(self):
        with self.subTest("two trials swapped"):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                for a, b in ((1, -1), (2, 1), (-1, 2)):
                    forgery.db.execute("UPDATE series SET trial = ? WHERE trial = ?", (b, a))
            self.assert_found(path)
        for rewrite in (False, True):
            with self.subTest("the slow trial dropped", rewrite=rewrite):
                path = self.copy()
                with forge.Forgery(path) as forgery:
                    for table in self.tables():
                        for column in forgery.columns(table):
                            if column[0] == "trial":
                                forgery.db.execute("DELETE FROM %s WHERE trial = 2" % table)
                    forgery.db.execute("DELETE FROM trial WHERE id = 2")
                    if rewrite:
                        forgery.db.execute("DELETE FROM signature")
                        forgery.rewrite()
                self.assert_found(path)
                if rewrite:
                    self.assertIn(("complete", "campaign", "1"), self.ours(path))
                    self.assertIn(("estimate", "estimate", "1"), self.ours(path))

    def test_replayed(self):
        self.assert_found(self.copy(), ("--nonce", "ask-18"), nonce="ask-18")

    def test_bytes_behind_a_nul(self):
        """C strings end there, SQLite's do not."""
        with contextlib.closing(sqlite3.connect(self.copy())) as db:
            texts = [(table, row[1]) for table in self.tables() + ["ledger"] for row in db.execute(
                "SELECT * FROM pragma_table_info(?) WHERE type = 'TEXT'", (table,))]
        for table, column in texts:
            path = self.copy()
            with forge.Forgery(path) as forgery:
                changed = forgery.db.execute(
                    "UPDATE {0} SET {1} = {1} || char(0) || 'x' WHERE {1} = (SELECT {1} FROM {0} WHERE {1}"
                    " IS NOT NULL LIMIT 1)".format(table, column)).rowcount
            if changed:
                for found in self.both(path):
                    self.assertTrue(found, (table, column))

    def test_change_that_was_cut_off(self):
        """A journal that SQLite would roll back on opening, which changes the file."""
        path = self.copy()
        with open(path, "rb") as file:
            content = file.read()
        page = int.from_bytes(content[16:18], "big")
        pages, last = len(content) // page, content[-page:]
        last = bytes(page - 1) + last[-1:]
        check = (12345 + sum(last[i] for i in range(page - 200, 0, -200))) & 0xffffffff
        header = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", 1, 12345, pages, 512, page)
        journal = header.ljust(512, b"\0") + struct.pack(">I", pages) + last + struct.pack(">I", check)
        for kept, found in ((journal, {("file", None, None)}), (b"", set()), (bytes(512), set())):
            with open(path + "-journal", "wb") as file:
                file.write(kept)
            self.assertEqual(self.both(path), (found, found))
        os.unlink(path + "-journal")

    def test_schema_with_bytes_behind_a_nul(self):
        for name in ("results", "trial_no_update", "trial_ledger"):
            path = self.copy()
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
                db.execute("PRAGMA writable_schema=ON")
                db.execute("UPDATE sqlite_schema SET sql = sql || char(0) || 'x' WHERE name = ?", (name,))
            for found in self.both(path):
                self.assertEqual({f[:2] for f in found}, {("schema", name)})

    def test_not_a_database(self):
        path = os.path.join(self.folder, "x.db")
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE x (y)")
        other.close()
        with open(path, "rb") as file:
            other = file.read()
        for content in (b"", b"hello", other, os.urandom(5000), Tamper.base[:16], Tamper.base[:99]):
            with open(path, "wb") as file:
                file.write(content)
            call = self.assay("verify", path)
            self.assertEqual(call.status, 4, content[:100])
            self.assertIn("x.db: is neither a database nor a bundle of assay", call.err)
            self.assertRaises(verify.Refused, verify.Verifier(path).run)
        os.mkfifo(os.path.join(self.folder, "pipe"))
        for name in (".", "pipe", "/dev/null"):
            call = self.assay("verify", name)
            self.assertEqual(call.status, 4, name)
            self.assertIn("is not a regular file", call.err)
        call = self.assay("verify", "none.db")
        self.assertEqual((call.status, "No such file" in call.err), (4, True))

    def test_cut_database(self):
        """With an intact header it is a damaged database, and the file's length is reported."""
        path = os.path.join(self.folder, "x.db")
        chance = random.Random(7)
        whole = len(Tamper.base)
        for size in [100, 101, 4096, whole // 2, whole - 4096, whole - 1,
                     *(chance.randrange(100, whole) for _ in range(20))]:
            with open(path, "wb") as file:
                file.write(Tamper.base[:size])
            call = self.assay("verify", path)
            self.assertEqual((call.status, call.err), (1, ""), size)
            self.assertIn("wrong: file: the file has been cut short: %d of %d bytes\n" % (size, whole),
                          call.out)
            self.assertIn("x.db: NOT VERIFIED", call.out)
            self.assertTrue(verify.Verifier(path).run(), size)

    def test_wrong_options(self):
        for head in ("x", "-1:" + self.head.split(":")[1], ":" + self.head):
            self.assertEqual(self.assay("verify", self.copy(), "--expect-head", head).status, 2, head)
        self.assertEqual(self.assay("verify", self.copy(), "--key", "x").status, 2)

    def test_reads_only(self):
        """Nothing is written, and a read-only folder does no harm."""
        path = self.copy()
        before = os.stat(path)
        self.assertEqual(self.assay("verify", path).status, 0)
        after = os.stat(path)
        self.assertEqual((before.st_mtime_ns, before.st_size), (after.st_mtime_ns, after.st_size))
        self.assertEqual([f for f in os.listdir(self.folder) if f.startswith("copy1.db-")], [])
        shutil.copy(path, os.path.join(self.folder, "odd ?#%41 name.db"))
        self.assertEqual(self.assay("verify", "odd ?#%41 name.db").status, 0)


if __name__ == "__main__":
    unittest.main()
