"""kill -9 of the harness at random moments: the database is sound and the campaign continues."""

import os
import random
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import PATIENCE, CliTest  # noqa: E402

KILLS = int(os.environ.get("ASSAY_TEST_KILLS", "50"))


class KilledHarness(CliTest):
    def test_killed_at_random_moments(self):
        seed = int(os.environ.get("ASSAY_TEST_SEED", time.time_ns() % 1000000))
        generator = random.Random(seed)
        protocol = self.write("fast.yaml", self.FAST.replace("trials: 2", "trials: 6"))
        self.assertEqual(self.assay("key", "new").status, 0)
        words = ("run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db", self.db)
        process = self.start(*words)
        committed = 0
        for kill in range(KILLS):
            with self.subTest(kill=kill, seed=seed):
                try:
                    process.wait(timeout=generator.uniform(0.0, 0.6))
                except Exception:
                    os.kill(process.pid, signal.SIGKILL)
                process.communicate()
                if os.path.exists(self.db):
                    self.assert_sound_after_kill()
                    self.assert_verified()
                    if self.query("SELECT count(*) FROM sqlite_schema WHERE name='trial_end'")[0][0]:
                        now = self.query("SELECT count(*) FROM trial_end")[0][0]
                        self.assertGreaterEqual(now, committed, "a committed trial is gone")
                        committed = now
                if self.pending():
                    process = self.start("run", "--resume", "last", "--db", self.db)
                else:
                    process = self.start(*words)
        process.kill()
        process.communicate()
        if not self.pending():
            self.assertEqual(self.assay(*words).status, 0)
        call = self.assay("run", "--resume", "last", "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        self.assert_sound()
        self.assert_verified()
        planned, ok = self.query(
            "SELECT (SELECT count(*) FROM planned_trial WHERE campaign = m),"
            "(SELECT count(DISTINCT t.sequence) FROM trial t JOIN trial_end e ON e.trial = t.id"
            " WHERE t.campaign = m AND e.status = 'ok') FROM (SELECT max(id) AS m FROM campaign)"
        )[0]
        self.assertEqual((planned, ok), (6, 6))

    def pending(self):
        """True when the newest campaign was recorded and is not finished."""
        if not os.path.exists(self.db):
            return False
        if not self.query("SELECT count(*) FROM sqlite_schema WHERE name='campaign'")[0][0]:
            return False
        planned, ended = self.query(
            "SELECT (SELECT count(*) FROM planned_trial WHERE campaign = m),"
            "(SELECT count(DISTINCT t.sequence) FROM trial t JOIN trial_end e ON e.trial = t.id"
            " WHERE t.campaign = m AND e.orphan = 0)"
            " FROM (SELECT max(id) AS m FROM campaign)")[0]
        return planned > 0 and ended < planned

    def assert_verified(self):
        """What was committed passes, signatures too; without its schema a file is no database yet."""
        if not self.query("PRAGMA user_version")[0][0]:
            return
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out + call.err)

    def assert_sound_after_kill(self):
        # Reading may have to recover the log first, which needs write access.
        import sqlite3
        connection = sqlite3.connect(self.db, timeout=PATIENCE)
        try:
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(connection.execute("PRAGMA foreign_key_check").fetchall(), [])
        finally:
            connection.close()


if __name__ == "__main__":
    unittest.main()
