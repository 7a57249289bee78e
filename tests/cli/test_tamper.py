"""The tamper matrix: both verifiers find and name every change of a database."""

import contextlib
import hmac
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
import verify_body  # noqa: E402


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
            for row in self.picked(table, rows):
                for i, (name, kind, needed, place) in enumerate(columns):
                    values = [forge.changed(row[i], kind)]
                    if row[i] is not None and not needed and not place:
                        values.append(None)
                    for value in values:
                        with self.subTest(table=table, column=name, value=value):
                            path = self.copy()
                            with forge.Forgery(path) as forgery:
                                forgery.delete(table, row)
                                for _ in range(200):  # until it is no other row's
                                    if forgery.insert(table, new := row[:i] + (value,) + row[i + 1:]):
                                        break
                                    value = forge.changed(value, kind)
                                else:
                                    self.fail("no other value can be inserted")
                            self.assert_named(path, table, (forge.key_of(columns, row),
                                                            forge.key_of(columns, new)))
                            cases += 1
        print("%d values changed, each found and named by both" % cases)

    @staticmethod
    def picked(table, rows):
        """One row, and one of each log and type of record."""
        if table == "log":
            return rows
        if table == "record":  # columns 1 and 3: log and type
            return list({(row[1] == 1, row[3]): row for row in rows}.values())
        return [rows[len(rows) // 2]]

    def test_withheld_later(self):
        """What a bundle left out is its maker's choice; nothing else can be withheld."""
        for log in (1, 2):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                number, body, salt = forgery.db.execute(
                    "SELECT id, body, salt FROM record WHERE log = ? AND type = 'trial' LIMIT 1", (log,)).fetchone()
                body = verify_body.spelled(body)
                key = hmac.new(salt, b'["facts"]', "sha256").digest()
                body["facts"] = {"withheld": verify_body.sha256(
                    key, verify_body.canonical(body["facts"]).encode()).hex()}
                forgery.db.execute("UPDATE record SET body = ? WHERE id = ?", (verify_body.canonical(body), number))
            self.assert_named(path, "record", [number])
        for digest, in self.blobs():
            path = self.copy()
            with forge.Forgery(path) as forgery:
                forgery.db.execute("UPDATE content SET body = NULL WHERE digest = ?", (digest,))
            self.assert_named(path, "content", [digest.hex()])

    def blobs(self):
        with contextlib.closing(sqlite3.connect(self.copy())) as db:
            return db.execute("SELECT digest FROM content WHERE body IS NOT NULL").fetchall()

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
                    self.assertTrue(forgery.insert(table, new))
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

    def test_log(self):
        """The log itself: its values, its records, their order, its end."""
        with contextlib.closing(sqlite3.connect(self.copy())) as db:
            count, last = db.execute("SELECT count(*), max(id) FROM record WHERE log = 1").fetchone()
            phases = db.execute("SELECT min(id), max(id) FROM record WHERE log = 1 AND type = 'trial'").fetchone()
        middle = count // 2
        cases = {
            "leaf": ["UPDATE record SET leaf = %d WHERE id = %d" % (count + 5, middle)],
            "last leaf": ["UPDATE record SET leaf = %d WHERE id = %d" % (count + 5, last)],
            "type": ["UPDATE record SET type = 'event' WHERE id = %d" % phases[0]],
            "no type": ["UPDATE record SET type = 'nothing' WHERE id = %d" % middle],
            "id": ["UPDATE record SET id = 1000 WHERE id = %d" % middle],
            "body": ["UPDATE record SET body = body || ' ' WHERE id = %d" % phases[0]],
            "body as bytes": ["UPDATE record SET salt = CAST(salt AS TEXT) WHERE id = %d" % phases[0]],
            "digest": ["UPDATE record SET digest = randomblob(32) WHERE id = %d" % middle],
            "delete": ["DELETE FROM record WHERE id = %d" % middle],
            "delete first": ["DELETE FROM record WHERE id = 1"],
            "delete last": ["DELETE FROM record WHERE id = %d" % last],
            "twice": ["INSERT INTO record SELECT %d, log, %d, type, randomblob(32), salt, body FROM record WHERE id ="
                      " %d" % (last + 1, count, phases[0])],
            "reorder": ["UPDATE record SET id = -1 WHERE id = %d" % phases[0],
                        "UPDATE record SET id = %d WHERE id = %d" % phases,
                        "UPDATE record SET id = %d WHERE id = -1" % phases[1]],
            "moved": ["UPDATE record SET log = 2, leaf = leaf + 1000 WHERE id = %d" % last],
            "empty": ["DELETE FROM record"],
            "secret": ["UPDATE log SET secret = randomblob(32) WHERE id = 1"],
            "salt": ["UPDATE record SET salt = randomblob(32) WHERE type = 'estimate'"],
            "name": ["UPDATE log SET name = name || 'x' WHERE id = 1"],
            "another's name": ["UPDATE log SET name = name || 'x' WHERE id = 2"],
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
            "trigger of the log": "DROP TRIGGER record_no_delete",
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
            "replace": "INSERT OR REPLACE INTO phase SELECT id, trial, name, begin_ns, end_ns + 1 FROM phase"
                       " WHERE id = 2",
        }
        for name, statements in cases.items():
            with self.subTest(name):
                path = self.copy()
                db = sqlite3.connect(path)
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
                    forgery.drop("id IN (SELECT record FROM trial WHERE id = 2 UNION SELECT record FROM trial_end"
                                 " WHERE trial = 2)")
                    if rewrite:
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
            texts = [(table, row[1]) for table in self.tables() for row in db.execute(
                "SELECT * FROM pragma_table_info(?) WHERE type IN ('TEXT', 'ANY')", (table,))]
        for table, column in texts:
            path = self.copy()
            with forge.Forgery(path) as forgery:
                changed = forgery.db.execute(
                    "UPDATE {0} SET {1} = {1} || char(0) || 'x' WHERE {1} = (SELECT {1} FROM {0} WHERE"
                    " typeof({1}) = 'text' LIMIT 1)".format(table, column)).rowcount
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
        for name in ("results", "trial_no_update", "record_no_delete"):
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
