"""history: series, changes with what of the stack differs, baselines as records, what is stale."""

import itertools
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import forge  # noqa: E402
from assay_cli import CliTest, run_tests  # noqa: E402


# A worker whose samples are known, so that a busy machine changes no result.
KNOWN = {"ASSAY_WORKER": os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "foreign_worker.py"),
         "FOREIGN_NS": "launch_ns"}


class History(CliTest):
    FAST = CliTest.FAST.replace("trials: 2", "trials: 1")

    def measure(self, times=1, launch_ns=200000, workload="synthetic", **environment):
        ids = []
        for _ in range(times):
            call = self.assay("run", workload, "--device", "null:0", "--protocol", self.fast(), "--db", self.db, "--json",
                              ASSAY_NULL=f"launch_ns={launch_ns}", **KNOWN, **environment)
            self.assertEqual(call.status, 0, call.err)
            ids.append(call.json()["results"][0]["id"])
        return ids

    def days_apart(self):
        """Moves each campaign to a day of its own."""
        with forge.Forgery(self.db) as forgery:
            days = itertools.count()
            forgery.edit("campaign", lambda body: body.update(
                created_utc_ns=str(int(body["created_utc_ns"]) + next(days) * 86400 * 10 ** 9)))
            forgery.rewrite()

    def history(self, *words):
        call = self.assay("history", "--db", self.db, "--json", *words)
        self.assertEqual(call.status, 0, call.err)
        return call.json()

    def test_series(self):
        """Results in their order."""
        listed = self.measure(4)
        (series,) = self.history("synthetic")
        self.assertEqual([r["id"] for r in series["results"]], listed)
        self.assertEqual((series["kind"], series["changes"], series["stale"]), ("too_few", [], None))
        self.assertEqual(series["sittings"], 1)
        for columns in (80, 120):
            self.assertIn("from 16 sittings on", " ".join(self.lines_on_terminal(columns, "history", "--db", self.db)))
        self.assertEqual(self.history(listed[0])[0]["results"], series["results"])
        self.assertEqual(self.history("--since", "2099-01-01"), [])
        self.assertEqual(self.history("no_such_workload"), [])

    def test_step(self):
        """A twentieth of the time is a change between the two results, and named in both forms."""
        slow = self.measure(8, 1000000)
        fast = self.measure(8, 50000)
        (series,) = self.history("synthetic")  # all of one sitting
        self.assertEqual((series["sittings"], series["kind"], series["changes"]), (1, "too_few", []))
        self.days_apart()
        (series,) = self.history("synthetic")
        self.assertEqual(series["sittings"], 16)
        self.assertEqual([r["id"] for r in series["results"]], slow + fast)
        self.assertEqual(series["kind"], "steps")
        (change,) = series["changes"]
        self.assertEqual((change["before"], change["after"]), (slow[-1], fast[0]))
        self.assertAlmostEqual(change["ratio"], 20, delta=0.1)  # of calls per second
        for columns in (80, 120):
            lines = self.lines_on_terminal(columns, "history", "--db", self.db)
            self.assertTrue(any("^" in line for line in lines), lines)
            self.assertIn(f"between {slow[-1]} and {fast[0]}", " ".join(" ".join(lines).split()))
            self.assertIn("By 16 sittings", " ".join(" ".join(lines).split()))

    def test_stale(self):
        """What was measured before a library changed, and not since, is named, by --stale alone, too."""
        library = next(line.split()[-1] for line in subprocess.run(
            ["ldconfig", "-p"], capture_output=True, text=True, env={"PATH": "/sbin:/usr/sbin:/bin"}).stdout.splitlines()
            if line.strip().startswith("libz.so.1 "))
        copies = []
        for number in (1, 2):
            folder = os.path.join(self.folder, str(number))
            os.mkdir(folder)
            copies.append(shutil.copy(library, os.path.join(folder, "libzcopy.so.1")))
        with open(copies[1], "ab") as file:
            file.write(b"changed")
        other = self.write("other.yaml", """workload: other
version: 1
kind: synthetic
description: Another workload on the same device
precisions: [fp32]
batches: [1]
scenario: offline
synthetic: {launches: 1, elements: 8192}
""")
        self.measure(LD_PRELOAD=copies[0])
        (new,) = self.measure(workload=other, LD_PRELOAD=copies[1])
        for words in ((), ("synthetic",), ("--stale",)):
            series = {s["workload"]: s["stale"] for s in self.history(*words)}
            self.assertEqual(series["synthetic"]["result"], new)
            self.assertIn(os.path.dirname(copies[1]), " ".join(series["synthetic"]["stack"]))
            self.assertIsNone(series.get("other"))
        self.measure(LD_PRELOAD=copies[1])
        self.assertEqual(self.history("--stale"), [])

    def test_baseline(self):
        """A baseline is a record that both verifiers accept; the newest of a name counts."""
        first, second = self.measure(2)
        for result in (first, second):
            call = self.assay("history", "--baseline", "main", result, "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
        (baseline,) = self.history()[0]["baselines"]
        self.assertEqual((baseline["name"], baseline["result"], baseline["ratio"]), ("main", second, 1))
        self.assertEqual(self.assay("show", "@main", "--db", self.db, "--json").json()["id"], second)
        self.assertEqual(self.assay("verify", self.db).status, 0)
        verifier = os.path.join(os.path.dirname(__file__), "..", "support", "verify.py")
        done = subprocess.run([sys.executable, verifier, self.db], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.query("SELECT kind, verdict FROM comparison"), [("baseline", "baseline")] * 2)
        call = self.assay("show", "@other", "--db", self.db)
        self.assertEqual(call.status, 4)
        self.assertIn("--baseline other RESULT", call.err)

    def test_baseline_is_recomputed(self):
        (first,) = self.measure()
        self.assay("history", "--baseline", "main", first, "--db", self.db)
        self.assert_worked_out_again("value", "baseline_other")

    def test_refused(self):
        self.measure()
        for words, text in ((("--baseline", "main"), "needs the RESULT"),
                            (("--baseline", "a b", "last/1"), "write a baseline's name"),
                            (("--since", "soon"), "write a date")):
            call = self.assay("history", "--db", self.db, *words)
            self.assertEqual(call.status, 2, call.err)
            self.assertIn(text, call.err)


if __name__ == "__main__":
    run_tests()
