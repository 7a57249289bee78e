"""A database that another process holds, for longer than anybody waits: a clear end, and nothing lost."""

import contextlib
import json
import os
import sqlite3
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, CliTest, wait_until  # noqa: E402
from test_import import ROW  # noqa: E402

WAIT = "another process has been writing to this database for 1.0 s"


class Locked(CliTest):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.run_synthetic().status, 0)
        self.write("a.json", json.dumps([ROW]))

    def environment(self, **changes):
        return super().environment(**{"ASSAY_DB_WAIT": "1", **changes})

    @contextlib.contextmanager
    def held(self, exclusively=False):
        """Another program writes; in SQLite's exclusive mode nobody can read meanwhile."""
        with contextlib.closing(sqlite3.connect(self.db, isolation_level=None, timeout=PATIENCE)) as db:
            if exclusively:
                db.execute("PRAGMA locking_mode=EXCLUSIVE")
            db.execute("BEGIN IMMEDIATE")
            if exclusively:
                db.execute("SELECT count(*) FROM cell").fetchall()
            yield
            db.execute("ROLLBACK")

    def content(self):
        return self.query("SELECT leaf, digest FROM ledger ORDER BY leaf")

    def assert_kept(self, before):
        """All that was there is, and verifies."""
        self.assertEqual(self.content()[:len(before)], before)
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out + call.err)

    def run_words(self, *words):
        return ("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db,
                *words)

    def test_readers_do_not_mind_a_writer(self):
        with self.held():
            for words in (("verify", self.db), ("results", "--db", self.db),
                          ("show", "last/1", "--db", self.db), ("export", "csv", "--db", self.db),
                          ("report", "--html", "page.html", "--db", self.db)):
                call = self.assay(*words)
                self.assertEqual(call.status, 0, (words, call.err))

    def test_writers_say_who_is_in_the_way(self):
        before = self.content()
        with self.held():
            for words in (self.run_words(), ("import", "a.json", "--db", self.db),
                          ("bundle", "last", "-o", "b.assay", "--db", self.db),
                          ("amend", "last/1", "--reason", "x", "--db", self.db),
                          ("checkpoint", "--db", self.db)):
                call = self.assay(*words)
                self.assertEqual(call.status, 4, (words, call.err))
                self.assertIn(WAIT, call.err, words)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "b.assay")))
        self.assertEqual(self.content(), before)
        self.assert_kept(before)

    def test_held_from_readers_too(self):
        before = self.content()
        with self.held(exclusively=True):
            for words in (("verify", self.db), ("results", "--db", self.db),
                          ("show", "last/1", "--db", self.db), self.run_words(),
                          ("import", "a.json", "--db", self.db)):
                call = self.assay(*words)
                self.assertEqual(call.status, 4, (words, call.err))
                self.assertIn(WAIT, call.err, words)
        self.assert_kept(before)

    def test_waits_for_its_turn(self):
        before = self.content()
        with self.held():
            waiting = [self.start(*words, ASSAY_DB_WAIT="600") for words in
                       (self.run_words(), ("import", "a.json", "--db", self.db))]
        for process in waiting:
            _, told = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, told)
        self.assertEqual(self.query("SELECT count(*) FROM campaign"), [(3,)])
        self.assert_kept(before)

    def test_held_while_a_campaign_runs(self):
        """It ends with what to do; what was finished is kept, and the rest follows."""
        protocol = self.write("many.yaml", self.FAST.replace("trials: 2", "trials: 4"))
        # Its second worker waits until the database is held.
        worker = self.write("worker.sh", "#!/bin/sh\nmkdir first 2>/dev/null || while [ ! -e held ]; do\n"
                            f"sleep 0.05; done\nexec '{ASSAY}' worker\n")
        os.chmod(worker, 0o755)
        process = self.start("run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db",
                             self.db, ASSAY_WORKER=worker)
        wait_until(lambda: self.query("SELECT count(*) FROM trial_end WHERE trial > 2")[0][0], process)
        with self.held():
            self.write("held", "")
            _, told = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 4, told)
            self.assertIn(WAIT, told)
            self.assertIn("go on with: assay run --resume", told)
        before = self.content()
        self.assert_kept(before)
        call = self.assay("run", "--resume", "last", "--db", self.db, ASSAY_WORKER=worker)
        self.assertEqual(call.status, 0, call.err)
        self.assert_kept(before)
        self.assertEqual(self.query("SELECT count(DISTINCT sequence) FROM trial JOIN trial_end ON trial ="
                                    " id WHERE campaign = 2 AND status = 'ok'"), [(4,)])


if __name__ == "__main__":
    unittest.main()
