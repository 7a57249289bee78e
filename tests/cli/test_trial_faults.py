"""A fault in a worker ends its trial with a reason; the campaign continues and the status says so."""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import PATIENCE, CliTest, child_of, wait_until  # noqa: E402

# Faults of the null backend, and the status that the trial must end with.
FAULTS = {
    "open@1": "device",
    "alloc@1": "device",
    "oom@1": "device_memory",
    "upload@1": "device",
    "download@1": "device",
    "download_corrupt@1": "check_failed",
    "compile@1": "compile",
    "launch@5": "device",
    "lost@5": "device_lost",
    "hang@5": "timeout",
    "crash@5": "crashed",
    "abort@5": "crashed",
    "exit@5": "crashed",
}


class TrialFaults(CliTest):
    # The first download of each trial's process is its full check against the reference.
    FAST = CliTest.FAST + "verification: each_trial\n"
    HANGS = CliTest.HANGS + "verification: each_trial\n"

    def test_every_fault_has_its_reason(self):
        for fault, status in FAULTS.items():
            with self.subTest(fault=fault):
                self.new_db()
                self.FAST = self.HANGS if status == "timeout" else TrialFaults.FAST
                call = self.run_synthetic(
                    "--json", ASSAY_NULL=f"launch_ns=200000,seed=1,fault={fault}")
                self.assertEqual(call.status, 1, (fault, call.out, call.err))
                self.assertEqual(call.json()["trials_failed"], 2)
                rows = self.query("SELECT status, message FROM trial_end")
                self.assertEqual([row[0] for row in rows], [status, status], rows)
                self.assertTrue(all(row[1] for row in rows), rows)
                self.assert_sound()
                # A failed trial stays: asking to resume does not pick a better one.
                call = self.assay("run", "--resume", "last", "--db", self.db, "--json")
                self.assertEqual(call.json()["trials_ok"], 0)
                self.assertEqual(self.query("SELECT count(*) FROM trial")[0][0], 2)

    def test_wrong_result_after_the_window_voids_the_trial(self):
        # The first download is the check before the warmup, the second the one after the window.
        call = self.run_synthetic(
            "--json", ASSAY_NULL="launch_ns=200000,seed=1,fault=download_corrupt@2")
        self.assertEqual(call.status, 1, call.err)
        rows = self.query("SELECT status, samples FROM trial_end")
        self.assertEqual([row[0] for row in rows], ["check_failed"] * 2)
        self.assertTrue(all(row[1] > 5 for row in rows), "the samples are kept")
        self.assertEqual(self.query("SELECT count(*) FROM estimate")[0][0], 0)
        self.assertIn("check_failed", self.assay("show", "--all", "last/1", "--db", self.db).out
                      + self.assay("report", "--db", self.db).out
                      + self.assay("results", "--db", self.db).out)

    def test_required_reading_that_is_not_there(self):
        protocol = self.write("p.yaml", self.FAST + "required: [device.name, host.cpu.colour]\n")
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db",
                          self.db)
        self.assertEqual(call.status, 1, call.err)
        rows = self.query("SELECT status, message, samples FROM trial_end")
        self.assertEqual([row[0] for row in rows], ["unavailable"] * 2)
        self.assertIn("host.cpu.colour", rows[0][1])

    def test_other_cells_continue(self):
        once = os.path.join(self.folder, "once")
        self.write("once", "")
        call = self.run_synthetic(
            "--json", ASSAY_NULL=f"launch_ns=200000,seed=1,fault=crash@5,once={once}")
        self.assertEqual(call.status, 1, call.err)
        result = call.json()
        self.assertEqual((result["trials_ok"], result["trials_failed"]), (1, 1))
        self.assertIn("signal 11", call.err)

    def test_worker_killed_from_outside(self):
        # The first worker hangs until it is stopped, however late; the second one does not.
        once = self.write("once", "")
        process = self.start("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db",
                             self.db, "--json", ASSAY_NULL=f"launch_ns=200000,fault=hang@5,once={once}")
        wait_until(lambda: not os.path.exists(once), process)
        os.kill(wait_until(lambda: child_of(process.pid, "worker"), process), signal.SIGKILL)
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1, err)
        rows = self.query("SELECT e.status, e.message FROM trial_end e ORDER BY trial")
        self.assertEqual([row[0] for row in rows], ["crashed", "ok"])
        self.assertIn("signal 9", rows[0][1])


if __name__ == "__main__":
    unittest.main()
