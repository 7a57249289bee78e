"""A database that another process holds, or in a read-only folder: it is read, or a clear error says why not."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
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
        return self.query("SELECT leaf, digest FROM record ORDER BY id")

    def assert_kept(self, before):
        """Everything is still there, and verifies."""
        self.assertEqual(self.content()[:len(before)], before)
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out + call.err)

    def run_words(self, *words):
        return ("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db,
                *words)

    def test_the_writer_is_named(self):
        with self.held():
            call = self.assay(*self.run_words())
        self.assertIn(f"{WAIT}: process {os.getpid()} (", call.err)

    def test_readers_do_not_mind_a_writer(self):
        with self.held():
            for words in (("verify", self.db), ("results", "--db", self.db),
                          ("show", "last/1", "--db", self.db), ("export", "csv", "--db", self.db),
                          ("report", "--html", "page.html", "--db", self.db)):
                call = self.assay(*words)
                self.assertEqual(call.status, 0, (words, call.err))

    def read_only(self, *words):
        """A call where permissions count: as an ordinary user, in a folder that cannot be written to."""
        page = os.path.join(self.home, "page.html")
        words = [page if word == "PAGE" else word for word in words]
        if os.geteuid() == 0:
            words = ["setpriv", "--reuid", "65534", "--clear-groups", ASSAY, *words]
        else:
            words = [ASSAY, *words]
        os.chmod(self.home, 0o777)
        os.chmod(self.folder, 0o555)
        try:
            return subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False,
                                  env=self.environment())
        finally:
            os.chmod(self.folder, 0o755)

    def test_a_read_only_folder(self):
        if os.geteuid() == 0 and not shutil.which("setpriv"):
            self.skipTest("root writes everywhere, and there is no setpriv (package util-linux)")
        self.home = self.enterContext(tempfile.TemporaryDirectory())
        readers = (("verify", self.db), ("results", "--db", self.db),
                   ("show", "last/1", "--db", self.db), ("export", "csv", "--db", self.db),
                   ("report", "--html", "PAGE", "--db", self.db))
        # What a reader that ended, or one that was killed, leaves next to the file.
        for endings in ((), ("-wal",), ("-wal", "-shm")):
            for ending in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.db + ending)
            for ending in endings:
                with open(self.db + ending, "wb") as file:
                    file.truncate(32768 if ending == "-shm" else 0)
            for words in readers:
                done = self.read_only(*words)
                self.assertEqual(done.returncode, 0, (endings, words, done.stderr))

        os.unlink(self.db + "-shm")
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            db.execute("PRAGMA wal_autocheckpoint=0")
            db.execute("CREATE TABLE t (c)")
            db.execute("DROP TABLE t")
            db.commit()
            shutil.copy(self.db + "-wal", self.db + ".kept")
        os.rename(self.db + ".kept", self.db + "-wal")
        self.assertGreater(os.path.getsize(self.db + "-wal"), 0)
        for words in readers:
            done = self.read_only(*words)
            self.assertNotEqual(done.returncode, 0, (words, done.stdout))
            self.assertIn("copy both files to a writable folder", done.stderr, words)

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

    def test_locked_for_readers_too(self):
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
            _, output = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, output)
        self.assertEqual(self.query("SELECT count(*) FROM campaign"), [(3,)])
        self.assert_kept(before)

    def test_locked_while_a_campaign_runs(self):
        """It ends with advice; what was finished is kept, and the rest is run later."""
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
            _, output = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 4, output)
            self.assertIn(WAIT, output)
            self.assertIn("go on with: assay run --resume", output)
        before = self.content()
        self.assert_kept(before)
        call = self.assay("run", "--resume", "last", "--db", self.db, ASSAY_WORKER=worker)
        self.assertEqual(call.status, 0, call.err)
        self.assert_kept(before)
        self.assertEqual(self.query("SELECT count(DISTINCT sequence) FROM trial JOIN trial_end ON trial ="
                                    " id WHERE campaign = 2 AND status = 'ok'"), [(4,)])


if __name__ == "__main__":
    unittest.main()
