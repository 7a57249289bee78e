"""What the declarations say already is refused before the first trial, with what to do instead."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402

TWO_BATCHES = """workload: two
version: 1
kind: synthetic
description: two cells
precisions: [fp32]
batches: [1, 2]
scenario: offline
synthetic: {launches: 1, elements: 100}
"""


class BeforeMeasuring(CliTest):
    def refused(self, word, *words):
        """The command says `word` and measures nothing: there is no campaign, nor a trial."""
        call = self.assay(*words, "--db", self.db)
        self.assertEqual(call.status, 2, call.out + call.err)
        self.assertIn(word, " ".join(call.err.split()))
        self.assertFalse(os.path.exists(self.db), call.err)
        return call

    def test_protocols_whose_results_never_compare(self):
        own = self.write("own.yaml", "extends: quick\nname: own\nversion: 1\ntrials: 6\n")
        for command, more in (("ab", ()), ("matrix", ("--over", "env:A=1,2")), ("calibrate", ())):
            for protocol, name in (("quick", "quick"), ("serving_look", "serving_look"), (own, "own")):
                with self.subTest(command=command, protocol=name):
                    call = self.refused(f"the protocol {name} gives no evidence", command, "synthetic", "--device",
                                        "null:0", "--protocol", protocol, *more)
                    self.assertIn("use --protocol paired", " ".join(call.err.split()))
                    self.assertIn("those of assay that compare: standard, paired, serving", " ".join(call.err.split()))
        # A server's comparison is not sent to a protocol that cannot give one.
        call = self.refused("use `--protocol serving`, or write", "ab", "synthetic_server", "--device", "null:0")
        self.assertNotIn("serving_look", call.err)
        call = self.refused("use `--protocol serving_look` or `serving`", "run", "synthetic_server", "--device", "null:0",
                            "--protocol", "standard")

    def test_calibrate_looks_at_every_workload_first(self):
        evidence = self.write("evidence.yaml", self.EVIDENCE)
        words = ("calibrate", "synthetic", self.write("two.yaml", TWO_BATCHES), "--device", "null:0", "--protocol", evidence)
        self.refused("comes to 2 cells, and one is compared with itself", *words)
        self.refused("nowhere.yaml", "calibrate", "synthetic", os.path.join(self.folder, "nowhere.yaml"), "--device",
                     "null:0", "--protocol", evidence)
        self.refused("synthetic", "calibrate", "synthetic", "triad", "--device", "null:0", "--protocol", evidence,
                     "--precision", "bf16")

    def test_reproduce_looks_at_the_result_first(self):
        """One that compares with nothing, not even itself, is not measured again."""
        evidence = self.write("evidence.yaml", self.EVIDENCE)
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", evidence, "--db", self.db,
                          ASSAY_NULL="fault=launch@20")
        self.assertEqual(call.status, 1, call.err)
        trials = self.query("SELECT count(*) FROM trial")
        call = self.assay("reproduce", "last/1", "--db", self.db, "--json")
        self.assertEqual((call.status, call.json()["verdict"]), (2, "not_reproducible_here"), call.err)
        self.assertIsNone(call.json()["again"])
        self.assertIn("not even with itself", call.json()["reason"])
        self.assertEqual(self.query("SELECT count(*) FROM trial"), trials)
        self.assertIn("not even with itself", " ".join(self.assay("reproduce", "last/1", "--db", self.db).out.split()))


if __name__ == "__main__":
    run_tests()
