"""A worker that is not ours speaks the protocol; one that breaks it ends its trial with a reason."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                      "foreign_worker.py")

# How it misbehaves, the status that its trials must end with, and a part of the reason.
MODES = {
    "silent": ("timeout", "no word"),
    "garbage": ("protocol", "worker message"),
    "binary": ("protocol", "worker message"),
    "long_line": ("protocol", "longer than"),
    "no_hello": ("protocol", "hello"),
    "closes": ("timeout", "did not exit"),
    "version": ("protocol", "version 2"),
    "failed_check": ("check_failed", "checks did not pass"),
    "no_check_after": ("protocol", "without a check in verify_after"),
    "passes_anyway": ("protocol", "passed with the error 1 of 10 elements"),
    "gap": ("protocol", "begins at 3"),
    "negative": ("protocol", "positive"),
    "many_series": ("protocol", "series"),
    "unknown_type": ("protocol", "type"),
    "harness_word": ("protocol", "go"),
    "no_sync": ("protocol", "window_start"),
    "no_end": ("crashed", "status 3"),
    "own_failure": ("device_lost", "has gone"),
    "crashes_at_exit": ("crashed", "after it had sent its results"),
    "lingers": ("timeout", "sent its results and did not exit"),
    "miscount": ("protocol", "counts 30"),
}


class ForeignWorker(CliTest):
    def fast(self):
        return self.write("fast.yaml", self.FAST.replace("trials: 2", "trials: 1"))

    def run_mode(self, mode):
        self.new_db()
        return self.run_synthetic("--json", ASSAY_WORKER=WORKER, FOREIGN_MODE=mode)

    def test_good(self):
        for mode in ("good", "noisy"):
            call = self.run_mode(mode)
            self.assertEqual(call.status, 0, call.err)
            self.assertEqual(call.json()["trials_ok"], 1)
            self.assertEqual(self.assay("verify", self.db).status, 0)
            self.assertEqual(self.query("SELECT name FROM device"), [("a <b> & \u202e device",)])
            identifier = call.json()["results"][0]["id"]
            shown = self.assay("show", identifier, "--db", self.db)
            self.assertEqual(shown.status, 0)
            # Its claim is marked as its claim, wherever its figures are shown.
            page, dossier = (os.path.join(self.folder, name) for name in ("r.html", "d.html"))
            self.assertEqual(self.assay("report", "--db", self.db, "--html", page).status, 0)
            self.assertEqual(self.assay("report", "--db", self.db, "--dossier", dossier).status, 0)
            for output in (shown.out, self.assay("results", "--db", self.db).out):
                self.assertIn("Measured by another program than assay's own worker",
                              " ".join(output.split()))
            for path, words in ((page, "Measured by another program than assay"),
                                (dossier, "1 of 1 results were measured by another worker")):
                with open(path, encoding="utf-8") as file:
                    self.assertIn(words, file.read())
            host = self.assay("show", identifier, "--db", self.db, "--json").json()
            self.assertEqual(host["trials"][0]["environment"]["host"]["variable.ASSAY_WORKER"]
                             ["value"], WORKER)

    def test_every_lie_has_its_reason(self):
        for mode, (status, word) in MODES.items():
            with self.subTest(mode=mode):
                # A worker that hangs must reach that point within the limit, which it then waits for.
                for limit in ("2s", "20s", "200s") if status == "timeout" else ("200s",):
                    self.FAST = CliTest.FAST.replace("200s", limit)
                    call = self.run_mode(mode)
                    self.assertEqual(call.status, 1, (mode, call.out, call.err))
                    (got, message), = self.query("SELECT status, message FROM trial_end")
                    self.assertEqual(got, status, message)
                    self.assertEqual(self.assay("verify", self.db).status, 0)
                    if word in message:
                        break
                self.assertIn(word, message)
                self.assert_sound()

    def test_children_of_a_worker_end_with_it(self):
        """A process that continues would take time from the next trial, and keeps the channel open."""
        for mode, status in (("leaves_child", "ok"), ("dies_before_child", "crashed")):
            with self.subTest(mode=mode):
                self.new_db()
                output = os.path.join(self.folder, mode)
                self.run_synthetic(ASSAY_WORKER=WORKER, FOREIGN_MODE=mode, FOREIGN_FILE=output)
                (got, message), = self.query("SELECT status, message FROM trial_end")
                self.assertEqual(got, status, message)
                self.assertIn("status 3" if message else "ok", message or got)
                with open(output, encoding="utf-8") as file:
                    child = file.read()
                try:
                    with open(f"/proc/{child}/stat", encoding="utf-8") as file:
                        self.assertEqual(file.read().rpartition(")")[2].split()[0], "Z")
                except (FileNotFoundError, ProcessLookupError):
                    pass

    def test_program_that_is_not_there(self):
        call = self.run_synthetic("--json", ASSAY_WORKER="/nowhere/worker")
        self.assertNotEqual(call.status, 0)
        self.assertIn("/nowhere/worker", call.err)


if __name__ == "__main__":
    unittest.main()
