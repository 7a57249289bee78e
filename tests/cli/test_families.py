"""Two campaigns are compared and gated as one family of cells: one error rate for all verdicts."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                      "foreign_worker.py")
WORKLOAD = """workload: mine
version: 1
kind: synthetic
description: d
precisions: [fp32]
batches: [1, 2, 3, 4, 7, 8]
scenario: offline
synthetic: {launches: 1, elements: 100}
"""


class Families(CliTest):
    def measure(self, batches="1,2,3,4", slow=""):
        """A campaign of which one batch takes 5 % longer."""
        call = self.assay("run", self.write("w.yaml", WORKLOAD), "--batch", batches, "--device", "null:0", "--protocol", self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--json",
                          ASSAY_WORKER=WORKER, FOREIGN_NS="200000", FOREIGN_SLOW_BATCH=slow)
        self.assertEqual(call.status, 0, call.err)
        return call.json()["results"][0]["id"].split("/")[0]

    def holm(self, values):
        order = sorted(range(len(values)), key=lambda i: values[i])
        adjusted, most = [0] * len(values), 0
        for rank, i in enumerate(order):
            most = max(most, min(values[i] * (len(values) - rank), 1))
            adjusted[i] = most
        return adjusted

    def test_compare_and_gate(self):
        a, same, slower = self.measure(), self.measure(), self.measure(slow="3")
        result = self.assay("compare", a, slower, "--json", "--db", self.db).json()
        self.assertEqual((result["a"], result["b"]), (a, slower))
        numbers = [one["comparison"] for one in result["comparisons"]]
        self.assertEqual([one["a"] for one in result["comparisons"]], [f"{a}/{i}" for i in range(1, 5)])
        self.assertEqual([row["family"] for row in numbers], [4] * 4)
        for key in ("difference", "equivalence", "worse"):
            for row, adjusted in zip(numbers, self.holm([row["p_" + key] for row in numbers])):
                self.assertAlmostEqual(row[f"p_{key}_family"], adjusted)
        self.assertEqual([row["verdict"] for row in numbers],
                         ["equivalent", "equivalent", "slower", "equivalent"])
        text = self.assay("compare", a, slower, "--db", self.db).out
        self.assertIn("mine fp32 batch 3", text)
        self.assertIn("Holm", text)
        for other, status, decision in ((same, 0, "passes"), (slower, 1, "worse")):
            self.assertEqual(self.assay("compare", a, other, "--exit-status", "--db", self.db).status, status)
            call = self.assay("gate", a, other, "--json", "--db", self.db)
            self.assertEqual((call.status, call.json()["decision"]), (status, decision))
        # Each cell's decision is stored with its family, and recomputed from it.
        self.assertEqual(self.query("SELECT verdict, count(*) FROM comparison GROUP BY 1 ORDER BY 1"),
                         [("passes", 7), ("worse", 1)])
        self.assertEqual(self.assay("compare", a, slower, "--record", "--db", self.db).status, 0)
        call = self.assay("verify", self.db, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 12), call.out)

    def test_what_does_not_match(self):
        a, b, other = self.measure("1,2"), self.measure("2,3"), self.measure("7,8")
        result = self.assay("compare", a, b, "--json", "--db", self.db).json()
        self.assertEqual([(one["a"], one["b"]) for one in result["comparisons"]], [(f"{a}/2", f"{b}/1")])
        self.assertEqual((result["only_in_a"], result["only_in_b"]), ([f"{a}/1"], [f"{b}/2"]))
        self.assertEqual(result["comparisons"][0]["comparison"]["family"], 1)
        for words, why in (((a, other), "no result of"), ((a, a), "one and the same")):
            for command in ("compare", "gate"):
                call = self.assay(command, *words, "--db", self.db)
                self.assertEqual(call.status, 2, (command, call.err))
                self.assertIn(why, call.err)


if __name__ == "__main__":
    run_tests()
