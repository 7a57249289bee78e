"""matrix: several arms against a base in blocks, as one family; resumed, verified, refused."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402

VERIFIER = os.path.join(os.path.dirname(__file__), "..", "support", "verify.py")
# Delays that the null backend takes from a variable of the arm.
OVER = ("--over", "env:ASSAY_NULL=launch_ns={2000000,4000000,8000000}")


class Matrix(CliTest):
    def matrix(self, *words, **environment):
        return self.assay("matrix", "synthetic", "--device", "null:0", "--protocol",
                          self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, *words, **environment)

    def test_blocks(self):
        """Each round holds every arm once; two comparisons with the base, judged together, that verify."""
        call = self.matrix(*OVER, "--json")
        self.assertEqual(call.status, 0, call.err)
        data = call.json()
        uid = data["campaign"]
        self.assertEqual(data["family"], 2)
        self.assertEqual([(c["a"], c["b"]) for c in data["comparisons"]],
                         [(f"{uid}/1", f"{uid}/2"), (f"{uid}/1", f"{uid}/3")])
        for comparison in data["comparisons"]:
            self.assertEqual(comparison["family_of"]["campaign"], uid)
        order = [row[0] for row in self.query(
            "SELECT c.ordinal FROM planned_trial p JOIN cell c ON c.id = p.cell ORDER BY p.sequence")]
        for i in range(0, len(order), 3):
            self.assertEqual(sorted(order[i:i + 3]), [1, 2, 3])
        self.assertEqual([r["arm"] for r in self.assay("results", "--db", self.db, "--json").json()],
                         ["launch_ns=2000000", "launch_ns=4000000", "launch_ns=8000000"])
        self.assertEqual(self.assay("verify", self.db).status, 0)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for columns in (80, 120):
            text = " ".join(" ".join(self.lines_on_terminal(columns, "compare", uid, "--db", self.db)).split())
            self.assertIn("launch_ns=8000000", text)
        # Each row of the page's table has the arm's whole name.
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "--html", page, uid, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("Which setting differs from launch_ns=2000000: synthetic on null device?", text)
        for delay in (2000000, 4000000, 8000000):
            self.assertTrue(f", arm launch_ns={delay}" in text, delay)

    def test_combinations(self):
        """Braces and several --over: every combination, and an empty value is the machine as it is."""
        call = self.matrix("--over", "env:FIRST=x{1,2}", "--over", "env:SECOND=,y", "--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual([r["arm"] for r in self.assay("results", "--db", self.db, "--json").json()],
                         ["x1, as it is", "x2, as it is", "x1, y", "x2, y"])

    def test_sweep(self):
        """run --over: values of a setting side by side, under any protocol, and a curve over them."""
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--over",
                          "threads=1..4x2", "--over", "batch=1", "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        rows = call.json()["results"]
        self.assertEqual([(row["arm"], row["batch"]) for row in rows], [("1", 1), ("2", 1), ("4", 1)])
        settings = [self.assay("show", row["id"], "--json", "--db", self.db).json()["arm_settings"] for row in rows]
        self.assertEqual([one["environment"] for one in settings], [[f"OMP_NUM_THREADS={n}"] for n in (1, 2, 4)])
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "--html", page, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("How fast is synthetic", text)
        if all(row["value"] for row in rows):
            self.assertIn("Time over OMP_NUM_THREADS", text)
        for over, said in (("threads=4..1", "a range that goes up"), ("threads=1..9x1", "a range that goes up"),
                           ("threads=1..2000000000", "more than 64 numbers"), ("threads=1..20", "more than 16 arms"),
                           ("threads=0", "from 1 to 65536"), ("device=null:0", "by --device"),
                           ("workload=triad", "the workloads themselves"), ("batch=two", "--batch two")):
            call = self.assay("run", "synthetic", "--device", "null:0", "--over", over, "--db", self.db)
            self.assertEqual(call.status, 2, over)
            self.assertIn(said, call.err)

    def test_refused(self):
        for words, text in (((), "say with --over"), (("--over", "cc"), "write KEY=VALUE"),
                            (("--over", "cc="), "write KEY=VALUE"),
                            (("--over", "env:A=1"), "one arm alone"),
                            (("--over", "driver=none_such,other"), "ICD file of"),
                            (("--over", "env:A={1,2,3,4,5}", "--over", "env:B={1,2,3,4,5}"), "more than 16")):
            call = self.matrix(*words)
            self.assertEqual(call.status, 2, call.err)
            self.assertIn(text, call.err)


if __name__ == "__main__":
    run_tests()
