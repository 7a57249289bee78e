"""The tamper matrix: whatever is changed in a database is found, and named, by both verifiers."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
try:
    import cryptography  # noqa: F401
except ImportError:
    print("skipped: the second verifier needs python3-cryptography")
    sys.exit(77)
import unittest  # noqa: E402

import forge  # noqa: E402
import verify  # noqa: E402
from assay_cli import CliTest  # noqa: E402


class Tamper(CliTest):
    """One signed database for all; each case forges a copy of it."""

    @classmethod
    def setUpClass(cls):
        cls.base = None

    def setUp(self):
        super().setUp()
        self.key = self.make_key("k.key")
        if not Tamper.base:
            self.make_base()
        self.public, self.head = Tamper.public, Tamper.head
        self.copies = 0

    def make_key(self, name):
        call = self.assay("key", "new", name.split(".", maxsplit=1)[0], "--file", name, "--json")
        self.assertEqual(call.status, 0, call.err)
        return call.json()["public_key"]

    def make_base(self):
        key = os.path.join(self.folder, "k.key")
        call = self.run_synthetic("--nonce", "ask-17", ASSAY_KEY=key)
        self.assertEqual(call.status, 0, call.err)
        result = self.query("SELECT substr(uid, 1, 8) || '/1' FROM campaign")[0][0]
        call = self.assay("amend", result, "--reason", "the fan was loud", "--by", "me", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        call = self.assay("checkpoint", "--db", self.db, "--json", ASSAY_KEY=key)
        self.assertEqual(call.status, 0, call.err)
        point = call.json()
        with open(os.path.join(self.folder, "token"), "wb") as file:
            file.write(forge.token(bytes.fromhex(point["root"])))
        call = self.assay("checkpoint", "--timestamp-token", "token", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        forge.fill_empty_tables(self.db)
        call = self.assay("checkpoint", "--db", self.db, ASSAY_KEY=key)
        self.assertEqual(call.status, 0, call.err)
        with open(self.db, "rb") as file:
            Tamper.base = file.read()
        Tamper.head = "%d:%s" % (point["size"], point["root"])
        Tamper.public = self.key

    def copy(self):
        self.copies += 1
        path = os.path.join(self.folder, "copy%d.db" % (self.copies % 2))
        with open(path, "wb") as file:
            file.write(Tamper.base)
        return path

    def ours(self, path, *words):
        call = self.assay("verify", path, "--json", "--threads", "1", *words)
        self.assertIn(call.status, (0, 1), call.err)
        found = [f for f in call.json()["findings"] if f["level"] == "wrong"]
        self.assertEqual(call.status, 1 if found else 0)
        return {(f["check"], f["table"], f["key"]) for f in found}

    @staticmethod
    def theirs(path, **options):
        return {f[:3] for f in verify.Verifier(path, **options).run()}

    def both(self, path, ours=(), **theirs):
        return self.ours(path, *ours), self.theirs(path, **theirs)

    def assert_good(self, path, ours=(), **theirs):
        for found in self.both(path, ours, **theirs):
            self.assertEqual(found, set())

    def assert_named(self, path, table, keys):
        """Both say that such a row of the table is wrong."""
        for found in self.both(path):
            named = {f[2] for f in found if f[1] == table and f[0] in ("row", "tree", "signature")}
            self.assertTrue(named & {str(k) for k in keys}, "%s %s: %s" % (table, keys, found))

    def assert_found(self, path, ours=(), **theirs):
        for found in self.both(path, ours, **theirs):
            self.assertTrue(found)

    def tables(self):
        with sqlite3.connect(self.copy()) as db:
            return [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"
                                             " AND name NOT LIKE 'sqlite_%' AND name <> 'ledger'")]

    # ---- the cases

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
        """A foreign shell's work on the schema, and rows that it puts in."""
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
                db.create_function("assay_leaf_2", -1, lambda *a: b"\1" * 32)
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

    def test_log_rewritten_without_the_key(self):
        """All of it fits; only what lies outside the file tells."""
        for signatures in ("kept", "dropped", "forged"):
            with self.subTest(signatures):
                path = self.copy()
                with forge.Forgery(path) as forgery:
                    forgery.db.execute("UPDATE phase SET end_ns = end_ns + 1 WHERE id = 1")
                    if signatures != "kept":
                        forgery.db.execute("DELETE FROM signature")
                    forgery.db.execute("DELETE FROM timestamp_token")
                    forgery.rewrite()
                if signatures == "kept":
                    self.assert_found(path)
                    continue
                if signatures == "forged":
                    self.make_key("other.key")
                    self.assertEqual(self.assay("checkpoint", "--db", path, "--key",
                                                "other.key").status, 0)
                self.assert_good(path)
                for ours, theirs in (((("--key", self.public)), {"keys": [self.public]}),
                                     ((("--expect-head", self.head)), {"head": self.head}),
                                     ((("--expect-head", self.head.split(":")[1])),
                                      {"head": self.head.split(":")[1]})):
                    self.assert_found(path, ours, **theirs)
                os.remove(os.path.join(self.folder, "other.key")) if signatures == "forged" else None

    def test_end_cut_off(self):
        """Everything after the plan's checkpoint taken away, log and rows."""
        path = self.copy()
        with forge.Forgery(path) as forgery:
            cut = forgery.db.execute("SELECT size FROM checkpoint WHERE kind = 'end'").fetchone()[0]
            gone = forgery.db.execute("SELECT table_name, key FROM ledger WHERE leaf >= ?",
                                      (cut,)).fetchall()
            for table in {t for t, _ in gone}:
                keys = {k for t, k in gone if t == table}
                for row in forgery.rows(table):
                    if forgery.key(table, row) in keys:
                        forgery.delete(table, row)
            forgery.db.execute("DELETE FROM ledger WHERE leaf >= ?", (cut,))
        self.assert_good(path)
        self.assert_found(path, ("--expect-head", self.head), head=self.head)

    def test_estimate_forged_with_its_log(self):
        """Only working it out again finds this without key or head, so only ours does."""
        path = self.copy()
        with forge.Forgery(path) as forgery:
            body = json.loads(forgery.db.execute("SELECT body FROM estimate").fetchone()[0])
            body["mean_ns"]["value"] *= 0.99
            forgery.db.execute("UPDATE estimate SET body = ?",
                               (json.dumps(body, sort_keys=True, separators=(",", ":")),))
            forgery.db.execute("DELETE FROM signature")
            forgery.db.execute("DELETE FROM timestamp_token")
            forgery.rewrite()
        self.assertIn(("estimate", "estimate", "1"), self.ours(path))
        self.assertEqual(self.theirs(path), set())
        self.assert_found(path, ("--key", self.public), keys=[self.public])

    def test_comparison_forged_with_its_log(self):
        path = os.path.join(self.folder, "ab.db")
        call = self.assay("ab", "synthetic", "--protocol", self.fast(), "--a", "device=null:0", "--b",
                          "device=null:0", "--pairs", "5", "--db", path)
        self.assertEqual(call.status, 0, call.err)
        call = self.assay("verify", path, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 1), call.out)
        with forge.Forgery(path) as forgery:
            forgery.db.execute("UPDATE comparison SET body = replace(body, 'null:0', 'null:1'),"
                               " verdict = 'faster'")
            forgery.db.execute("UPDATE comparison SET body = json_set(body, '$.verdict', 'faster')")
            forgery.rewrite()
        self.assertIn(("comparison", "comparison", "1"), self.ours(path))

    def test_bytes_behind_a_nul(self):
        """C's strings end there, SQLite's do not."""
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
        """A journal that SQLite would take back on opening: the file is not what it is about to be."""
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

    def test_withheld_as_a_cover(self):
        """A text that was changed, and said to be left out of a bundle that there never was."""
        path = os.path.join(self.folder, "covered.db")
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", path)
        self.assertEqual(call.status, 0, call.err)
        with forge.Forgery(path) as forgery:
            forgery.db.execute("INSERT INTO withheld SELECT 'content', lower(hex(protocol)), 'body',"
                               " zeroblob(32) FROM campaign")
            forgery.db.execute("UPDATE content SET body = '{}' WHERE digest = (SELECT protocol FROM campaign)")
            forgery.rewrite()
        for found in self.both(path):
            self.assertIn(("content", "withheld", None), found)

    def test_key_that_anybody_can_sign_with(self):
        """Points of small order, and the smallest forgery under them: R the neutral element, S 0."""
        neutral = b"\1" + bytes(31)
        for point in (neutral, bytes(31) + b"\x80", neutral[:31] + b"\x80"):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                number, checkpoint = forgery.db.execute(
                    "SELECT max(s.id) + 1, max(c.id) FROM signature s, checkpoint c").fetchone()
                forgery.enter("signature", (number, checkpoint, 1, "witness", "eve", point,
                                            neutral + bytes(32)))
            for found in self.both(path):
                self.assertEqual({f[:3] for f in found}, {("signature", "signature", str(number))})

    def test_members_twice_forged_with_the_log(self):
        """One reader takes the first, another the last: neither verifier takes either."""
        for change in ("'{\"verdict\":\"steady\",' || substr(body, 2)",
                       "replace(body, '\"n\":', '\"m\":1e400,\"n\":')"):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                forgery.db.execute("UPDATE estimate SET body = " + change)
                forgery.db.execute("DELETE FROM signature")
                forgery.db.execute("DELETE FROM timestamp_token")
                forgery.rewrite()
            for found in self.both(path):
                self.assertIn(("estimate", "estimate", "1"), found)

    def test_verdicts_forged_with_their_log(self):
        """What stands in a column and in the body is the same; both tell, without working anything out."""
        path = os.path.join(self.folder, "ab.db")
        call = self.assay("ab", "synthetic", "--protocol", self.write("e.yaml", self.EVIDENCE), "--a",
                          "device=null:0", "--b", "device=null:0", "--pairs", "5", "--db", path)
        self.assertEqual(call.status, 0, call.err)
        for words, statuses in ((("gate", "last/1", "last/2"), (0, 1, 3)), (("compare", "last/1", "last/2",
                                                                           "--record"), (0,)),
                                (("calibrate", "synthetic", "--protocol", "e.yaml", "--device", "null:0",
                                  "--comparisons", "1", "--pairs", "5"), (0,)),
                                (("reproduce", "last/1", "--quiet"), (0, 1, 3))):
            call = self.assay(*words, "--db", path)
            self.assertIn(call.status, statuses, call.out + call.err)
        self.assert_good(path)
        with open(path, "rb") as file:
            good = file.read()
        with contextlib.closing(sqlite3.connect(path)) as db:
            kinds = dict(db.execute("SELECT id, kind FROM comparison"))
        self.assertEqual(set(kinds.values()), {"ab", "gate", "compare", "calibration", "reproduce"})
        for table, number, change in [
                ("estimate", 1, "verdict = 'drift'"), *(("comparison", n, c) for n in kinds for c in (
                    "verdict = 'x'", "kind = 'x'", "a = coalesce((SELECT max(id) FROM cell WHERE id <> a), 1)",
                    "b = coalesce((SELECT max(id) FROM cell WHERE id <> b), 1)"))]:
            with open(path, "wb") as file:
                file.write(good)
            with forge.Forgery(path) as forgery:
                forgery.db.execute("UPDATE %s SET %s WHERE id = ?" % (table, change), (number,))
                forgery.rewrite()
            for found in self.both(path):
                self.assertIn((table, table, str(number)), found, (kinds.get(number), change))

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
        """As long as its beginning says whose it is, it is a damaged one: the file's length is told."""
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
        """Nothing is written, and a folder that cannot be written is no hindrance."""
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
