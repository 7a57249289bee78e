"""What is shown of a campaign that is running, that was stopped, or that has not begun."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, CliTest, run_tests  # noqa: E402

PROTOCOL = """name: slow
version: 1
extends: quick
description: trials that take a while
trials: 6
window: {time: 1s, min_samples: 3, max_time: 30s, max_samples: 100000}
"""
# Names that mean something to a shell; a newline is not shown as such, and a quote ends a quote.
NAMES = ("plain.db", "with blank/x.db", "it's $HOME.db", "a\nb.db", "`id`;x.db")


class Unfinished(CliTest):
    def begin(self, protocol=PROTOCOL):
        """A run that has ended a trial, and goes on."""
        child = self.start("run", "synthetic", "--device", "null:0", "--protocol",
                           self.write("slow.yaml", protocol), "--quiet", "--db", self.db)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            time.sleep(0.1)
            if child.poll() is not None:
                self.fail(child.stderr.read())
            if os.path.exists(self.path()):
                row = self.assay("results", "--json", "--db", self.db)
                if row.status == 0 and row.json() and row.json()[0]["trials_ended"] > 0:
                    return child
        return self.fail("no trial ended")

    def path(self):
        return os.path.join(self.folder, self.db)

    def shown(self):
        """The table, one result briefly and in full, and the page."""
        self.assertEqual(self.assay("report", "--html", "page.html", "--db", self.db).status, 0)
        with open(os.path.join(self.folder, "page.html"), encoding="utf-8") as file:
            page = file.read()
        return (self.assay("results", "--db", self.db).out, self.assay("show", "last/1", "--db", self.db).out,
                re.sub(r"<[^>]*>", " ", page))

    def test_running_then_killed(self):
        child = self.begin()
        table, one, page = self.shown()
        for text in (table, one, page):
            self.assertTrue("running" in text)
            self.assertTrue("no result yet" in text)
            for wrong in ("failed", "no end recorded", "not finished", "incomplete", "a later attempt counts"):
                self.assertFalse(wrong in text, wrong)
        self.assertRegex(table, r"running \[\d(,\d)*\] +[1-5]/6")
        self.assertRegex(one, r"running; [1-5] of 6 planned trials completed")
        child.send_signal(signal.SIGKILL)
        child.wait()
        table, one, page = self.shown()
        for text in (table, one, page):
            self.assertTrue("incomplete" in text)
            self.assertFalse("running" in text)
            self.assertFalse("failed" in text)
        self.resume(table, "--resume")
        self.assertNotIn("incomplete", self.shown()[0])

    def resume(self, table, option):
        """Runs the command that the table prints, as a shell takes it."""
        command = re.search(rf"assay (run {option} .*)$", table, re.M).group(1)
        done = subprocess.run(["sh", "-c", f"{shlex.quote(ASSAY)} {command}"], cwd=self.folder, check=False,
                              env=self.environment(), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_interrupted(self):
        child = self.begin()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate()
        self.assertIn("interrupted", err)
        self.assertRegex(self.assay("results", "--db", self.db).out, "[1-5]/6")
        self.resume(err, "--resume")

    def test_spread(self):
        """Rounds begin no sooner than planned, after an interruption, too."""
        child = self.begin(PROTOCOL + "spread: 20s\n")
        child.send_signal(signal.SIGINT)
        _, err = child.communicate()
        self.resume(err, "--resume")
        rows = self.query("SELECT t.sequence, t.started_utc_ns - c.created_utc_ns FROM trial t, campaign c"
                          " WHERE t.sequence BETWEEN 1 AND 6")
        self.assertEqual({sequence for sequence, _ in rows}, set(range(1, 7)))
        for sequence, after_ns in rows:
            self.assertGreaterEqual(after_ns, (sequence - 1) * 4e9, sequence)

    def test_planned(self):
        for name in NAMES:
            self.db = name
            os.makedirs(os.path.dirname(self.path()), exist_ok=True)
            call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--plan-only",
                              "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
            table = self.assay("results", "--db", self.db).out
            self.assertIn("not run", table)
            self.resume(table, "--plan")
            self.assertNotIn("not run", self.assay("results", "--db", self.db).out)


if __name__ == "__main__":
    run_tests()
