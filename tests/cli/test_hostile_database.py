"""Databases that another program changed, in the hands of every command that opens one."""

import contextlib
import os
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import run_tests  # noqa: E402

from tamper import TamperTest  # noqa: E402  (exits where the second verifier cannot run)

import forge  # noqa: E402

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


class HostileTest(TamperTest):
    def change(self, statements):
        """A copy that the statements changed, as somebody with SQLite changes it."""
        path = self.copy()
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.create_function("assay_leaf", -1, lambda *a: b"\1" * 32)
            db.executescript(statements)
        return path

    def commands(self):
        """Calls that open a database: to read it, and to write to it."""
        result = self.result()
        return {"results": ["results"], "show": ["show", result], "json": ["show", result, "--json"],
                "report": ["report"], "page": ["report", "--html", "page.html"],
                "compare": ["compare", result, result],
                "bundle": ["bundle", result[:8], "-o", "x.assay"],
                "export": ["export", "openmetrics", result],
                "amend": ["amend", result, "--reason", "x", "--by", "me"],
                "archive": ["archive", result[:8], "--reason", "x"],
                "checkpoint": ["checkpoint"], "resume": ["run", "--resume", "last"],
                "run": ["run", "synthetic", "--device", "null:0", "--protocol", self.fast()]}

    def result(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.copy()}?mode=ro", uri=True)) as db:
            return db.execute("SELECT substr(uid, 1, 8) || '/1' FROM campaign ORDER BY id").fetchone()[0]


class Schema(HostileTest):
    CASES = {
        "endless view": ("DROP VIEW results; CREATE VIEW results AS " + ENDLESS, "view results"),
        "table as endless view": ("PRAGMA foreign_keys=OFF; DROP TABLE amendment; CREATE VIEW amendment AS"
                                  " SELECT i AS id, i AS cell, i AS utc_ns, 'x' AS author, 'y' AS reason"
                                  " FROM (" + ENDLESS + ")", "amendment"),
        "trigger on the log": ("CREATE TRIGGER t AFTER INSERT ON ledger WHEN NEW.table_name = 'amendment'"
                               " BEGIN INSERT INTO phase (trial, name, begin_ns, end_ns)"
                               " VALUES (1, 'evil', 1, 2); END", "trigger t does not belong there"),
        "no trigger": ("DROP TRIGGER trial_ledger", "trigger trial_ledger is missing"),
        "index": ("DROP INDEX trial_by_cell", "index trial_by_cell is missing"),
        "column": ("ALTER TABLE trial ADD COLUMN x TEXT", "table trial is not the one"),
        "statistics": ("ANALYZE", "table sqlite_stat1 does not belong there"),
        "virtual table": ("CREATE VIRTUAL TABLE words USING fts5 (w)", "words"),
    }

    def test_every_open_compares_the_schema(self):
        """Nothing is read or written: not even what is signed next can hold what a trigger added."""
        commands = self.commands()
        for name, (statements, says) in self.CASES.items():
            path = self.change(statements)
            with open(path, "rb") as file:
                before = file.read()
            for command, words in commands.items():
                with self.subTest(name, command=command):
                    call = self.assay(*words, "--db", path, timeout=60)
                    self.assertEqual(call.status, 4, call.err)
                    self.assertIn("its schema is not the one that assay makes", call.err)
                    self.assertIn(says, call.err)
                    self.assertIn("`assay verify %s`" % path, call.err)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before, name)
            self.assert_found(path)

    def test_rebuilt_file_is_the_same(self):
        """VACUUM and another order of the same objects change nothing that counts."""
        path = self.change("VACUUM")
        for words in (["results"], ["checkpoint"]):
            call = self.assay(*words, "--db", path)
            self.assertEqual(call.status, 0, call.err)
        self.assert_good(path)


class Work(HostileTest):
    """A table whose pages lead to one page over and over has more rows than any file can hold."""

    LEVELS, CHILDREN = 6, 400

    def repeat_pages(self, path, table):
        with contextlib.closing(sqlite3.connect(path)) as db:
            root, size = db.execute("SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM"
                                    " sqlite_schema WHERE name = ?", (table,)).fetchone()
        with open(path, "r+b") as file:
            data = bytearray(file.read())
            count = len(data) // size
            old = data[(root - 1) * size:root * size]
            self.assertIn(old[0], (0x05, 0x0d), "a page of a table")
            for level in range(self.LEVELS):
                page = bytearray(size)
                following = count + level + 1
                page[0] = 5
                struct.pack_into(">HHHB", page, 1, 0, self.CHILDREN, size - 5 * self.CHILDREN, 0)
                struct.pack_into(">I", page, 8, following)
                for i in range(self.CHILDREN):
                    at = size - 5 * (i + 1)
                    struct.pack_into(">H", page, 12 + 2 * i, at)
                    struct.pack_into(">IB", page, at, following, 1)
                if level == 0:
                    data[(root - 1) * size:root * size] = page
                else:
                    data += page
            data += old
            struct.pack_into(">I", data, 28, len(data) // size)
            file.seek(0)
            file.write(data)

    def test_endless_table(self):
        path = self.copy()
        self.repeat_pages(path, "checkpoint")
        call = self.assay("bundle", self.result()[:8], "-o", "x.assay", "--db", path, timeout=300)
        self.assertEqual(call.status, 4, call.err)
        self.assertIn("it asks for more work than a file of this size explains", call.err)
        self.assertIn("`assay verify %s`" % path, call.err)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "x.assay")))


class Heads(HostileTest):
    """No head is signed over a row that is not the one that entered the log."""

    def altered(self, table, change):
        """A copy with an amendment since its last head, then `change`; and the table's last key before."""
        result, path = self.result(), self.copy()
        call = self.assay("amend", result, "--reason", "loud", "--by", "me", "--db", path)
        self.assertEqual(call.status, 0, call.err)
        with forge.Forgery(path) as forgery:
            row = forgery.rows(table)[-1]
            change(forgery, row)
            return path, forgery.key(table, row)

    def test_new_rows_are_checked(self):
        def alter(forgery, row):
            forgery.delete("amendment", row)
            forgery.insert("amendment", row[:-1] + (row[-1] + "x",))

        log = "UPDATE ledger SET %s WHERE table_name = 'amendment' AND key = %d"
        cases = {
            "altered": ("amendment", alter, "is not the one that entered the ledger"),
            "removed": ("amendment", lambda f, row: f.delete("amendment", row), "is missing, though it"),
            "added": ("phase", lambda f, row: f.insert("phase", (row[0] + 1, row[1], "evil") + row[3:]),
                      "is not in the ledger"),
            "added, composite key": ("trial_stack",
                                     lambda f, row: f.insert("trial_stack", (row[0], "added", row[2])),
                                     "is not in the ledger"),
            "digest": ("amendment", lambda f, row: f.db.execute(log % ("digest = zeroblob(32)", row[0])),
                       "is not the one that entered the ledger"),
            "key": ("amendment", lambda f, row: f.db.execute(log % ("key = 'x'", row[0])), "is missing"),
            "table": ("amendment", lambda f, row: f.db.execute(log % ("table_name = 'nothing'", row[0])),
                      "is of no table that there is"),
        }
        heads = {"checkpoint": ["checkpoint"], "bundle": ["bundle", "last", "-o", "x.assay"],
                 "plan": ["run", "synthetic", "--device", "null:0", "--protocol", self.fast()]}
        key = os.path.join(self.folder, "k.key")
        for name, (table, change, says) in cases.items():
            named = {"added": "phase %s", "added, composite key": "trial_stack ", "key": "amendment x",
                     "table": "nothing %s"}.get(name, "amendment %s")
            for head, words in heads.items():
                with self.subTest(name, head=head):
                    path, row = self.altered(table, change)
                    before = self.signed(path)
                    call = self.assay(*words, "--db", path, ASSAY_KEY=key)
                    self.assertNotEqual(call.status, 0)
                    self.assertIn(says, call.err)
                    self.assertIn("nothing was signed", call.err)
                    self.assertIn("the row " + (named % (row + (name == "added"))
                                                if "%" in named else named), call.err)
                    self.assertEqual(self.signed(path), before)

    def test_untouched_rows_are_signed(self):
        path, _ = self.altered("amendment", lambda forgery, row: None)
        call = self.assay("checkpoint", "--db", path, ASSAY_KEY=os.path.join(self.folder, "k.key"))
        self.assertEqual(call.status, 0, call.err)
        self.assert_good(path)

    @staticmethod
    def signed(path):
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return db.execute("SELECT (SELECT count(*) FROM signature), count(*) FROM checkpoint").fetchone()


if __name__ == "__main__":
    run_tests()
