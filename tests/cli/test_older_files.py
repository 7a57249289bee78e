"""Files of earlier schema versions: both verifiers take them as they are, and after they went forward."""

import contextlib
import json
import os
import sqlite3
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
from test_import import ROW, SECOND  # noqa: E402

FIRST_WITH_LEDGER, FIRST_WITH_TELEMETRY, FIRST_WITH_IMPORTS, SECOND_FORM = 3, 4, 5, 7


class OlderFiles(CliTest):
    def assert_good(self, path):
        call = self.assay("verify", path, "--threads", "1")
        self.assertEqual(call.status, 0, call.out + call.err)
        self.assertEqual(verify.Verifier(path).run(), [])

    def leaves(self, path, table):
        with contextlib.closing(sqlite3.connect(path)) as db:
            return [r[0] for r in db.execute("SELECT leaf FROM ledger WHERE table_name = ?", (table,))]

    def make(self, version):
        """A file of this version; from 5 on it also holds results of another program."""
        path = os.path.join(self.folder, "v%d.db" % version)
        forge.older(self.with_imports if version >= FIRST_WITH_IMPORTS else self.db, path, version)
        if version < FIRST_WITH_TELEMETRY: # which its estimate rests on
            with forge.Forgery(path) as forgery:
                forgery.db.execute("DELETE FROM estimate")
                forgery.rewrite()
        return path

    def setUp(self):
        super().setUp()
        self.assertEqual(self.run_synthetic().status, 0)
        self.result = self.query("SELECT substr(uid, 1, 8) || '/1' FROM campaign")[0][0]
        self.with_imports = os.path.join(self.folder, "with_imports.db")
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            db.execute("VACUUM INTO ?", (self.with_imports,))
        self.write("a.json", json.dumps([ROW]))
        call = self.assay("import", "a.json", "--db", self.with_imports)
        self.assertEqual(call.status, 0, call.err)

    def test_each_version(self):
        for version in range(FIRST_WITH_LEDGER, SECOND_FORM):
            with self.subTest(version=version):
                path = self.make(version)
                self.assert_good(path)
                before = len(verify.connect(path).execute("SELECT 1 FROM ledger").fetchall())
                call = self.assay("amend", self.result, "--reason", "seen again", "--db", path)
                self.assertEqual(call.status, 0, call.err)
                self.assertEqual(self.leaves(path, "leaf_form"), [before])
                self.assert_good(path)
                # A value of before that another form has now, or the other way round, is found.
                with forge.Forgery(path) as forgery:
                    forgery.db.execute("UPDATE leaf_form SET first_leaf = 0")
                self.assertNotEqual(self.assay("verify", path).status, 0)
                self.assertNotEqual(verify.Verifier(path).run(), [])

    def test_of_the_second_form(self):
        """It had its form before it went forward, and keeps it."""
        newest = verify.Verifier(self.db).newest()
        for version in range(SECOND_FORM, newest):
            with self.subTest(version=version):
                path = self.make(version)
                self.assert_good(path)
                before = self.leaves(path, "leaf_form")
                call = self.assay("amend", self.result, "--reason", "seen again", "--db", path)
                self.assertEqual(call.status, 0, call.err)
                self.assertEqual(verify.connect(path).execute("PRAGMA user_version").fetchone()[0],
                                 newest)
                self.assertEqual(self.leaves(path, "leaf_form"), before)
                self.assert_good(path)

    def test_gate_says_that_it_takes_a_file_forward(self):
        """Only where it has something to store in it."""
        newest = verify.Verifier(self.db).newest()
        path = self.make(newest - 1)
        with contextlib.closing(sqlite3.connect(path)) as db:
            imported, = db.execute("SELECT substr(g.uid, 1, 8) || '/1' FROM import i JOIN campaign g"
                                   " ON g.id = i.campaign").fetchone()

        def version():
            with contextlib.closing(sqlite3.connect(path)) as db:
                return db.execute("PRAGMA user_version").fetchone()[0]

        for words, status in (((self.result, "zzzz/1"), 4), ((self.result, imported, "--no-record"), 2)):
            call = self.assay("gate", *words, "--db", path)
            self.assertEqual(call.status, status, call.err)
            self.assertNotIn("forward", call.err)
            self.assertEqual(version(), newest - 1)
        call = self.assay("gate", self.result, imported, "--db", path)
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("%s: was of schema version %d and had to be taken forward" % (path, newest - 1),
                      " ".join(call.err.split()))
        self.assertEqual(version(), newest)
        self.assert_good(path)
        call = self.assay("gate", self.result, imported, "--db", path)
        self.assertNotIn("forward", call.err)

    def test_what_can_be_withheld_of_it(self):
        """Rows of before keep their form, so they cannot; rows of after can."""
        path = self.make(SECOND_FORM - 1)
        self.write("b.json", json.dumps([SECOND]))
        told = self.assay("import", "b.json", "--json", "--db", path)
        self.assertEqual(told.status, 0, told.err)
        self.assert_good(path)
        with contextlib.closing(sqlite3.connect(path)) as db:
            (old,), (new,) = db.execute("SELECT g.uid FROM import i JOIN campaign g ON g.id = i.campaign"
                                        " ORDER BY g.id").fetchall()
        call = self.assay("bundle", old, "-o", "old.assay", "--withhold", "claim.body", "--db", path)
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("under an older assay", call.err)
        for words in (("--withhold", "claim.body"), ()):
            name = "new%d.assay" % len(words)
            call = self.assay("bundle", new, "-o", name, *words, "--db", path)
            self.assertEqual(call.status, 0, call.err)
            call = self.assay("verify", name)
            self.assertEqual(call.status, 0, call.out)
        call = self.assay("bundle", old, "-o", "old.assay", "--withhold", "campaign.command", "--db", path)
        self.assertEqual(call.status, 0, call.err)


if __name__ == "__main__":
    unittest.main()
