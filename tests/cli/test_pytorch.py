"""The worker of PyTorch: how it speaks the protocol, and, where PyTorch is, what it computes."""

import importlib.util
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PATTERN = os.path.join(ROOT, "tests", "support", "pattern_worker.py")
PYTORCH = os.path.join(ROOT, "backends", "workers", "pytorch", "pytorch.py")


class Protocol(CliTest):
    """Of a work in Python's standard library."""

    def measure(self, **environment):
        return self.assay("run", "synthetic", "--device", "null:0", "--protocol",
                          self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--json",
                          ASSAY_WORKER=PATTERN, **environment)

    def test_trials(self):
        results = []
        for _ in range(2):
            call = self.measure()
            self.assertEqual((call.status, call.json()["trials_ok"]), (0, 5), call.err)
            results.append(call.json()["results"][0]["id"])
        self.assertEqual(self.assay("verify", self.db).status, 0)
        self.assertEqual({phase for phase, in self.query("SELECT phase FROM verification WHERE passed")},
                         {"verify_before", "spot_check", "verify_after"})
        verdict = self.assay("compare", *results, "--json", "--db", self.db).json()["comparability"]
        self.assertEqual((verdict["verdict"], verdict["reasons"]), ("comparable_except", []))

    def test_an_output_that_is_kept(self):
        """Right at first, and stale once the inputs are others."""
        call = self.measure(PATTERN="kept")
        self.assertEqual(call.status, 1, call.out)
        self.assertEqual(set(self.query("SELECT status FROM trial_end")), {("check_failed",)})
        self.assertEqual(set(self.query("SELECT passed FROM verification WHERE phase = 'verify_before'")), {(1,)})
        (message,), *_ = self.query("SELECT message FROM trial_end")
        self.assertIn("the outputs handed over (", message)

    def test_other_work(self):
        call = self.assay("run", "triad", "--device", "null:0", "--precision", "fp32", "--protocol", self.fast(),
                          "--db", self.db, ASSAY_WORKER=PATTERN)
        self.assertEqual(call.status, 1, call.out)
        for status, message in self.query("SELECT status, message FROM trial_end"):
            self.assertEqual(status, "unsupported", message)
            self.assertIn("hands over no inputs", message)


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed here")
class PyTorch(CliTest):
    def run_workload(self, name, precision, *words, **environment):
        worker = self.write("worker.sh", f'#!/bin/sh\nexec "{sys.executable}" "{PYTORCH}"\n')
        os.chmod(worker, 0o755)
        self.new_db()
        call = self.assay("run", name, "--device", "cpu:0", "--precision", precision, "--protocol", self.fast(),
                          "--db", self.db, *words, ASSAY_WORKER=worker, **environment)
        for status, message in self.query("SELECT status, message FROM trial_end"):
            self.assertEqual(status, "ok", message)
        self.assertEqual(call.status, 0, call.err)

    def test_prefill(self):
        for precision in ("fp32", "bf16"):
            self.run_workload("gpt2_tiny_batched_inference", precision, "--batch", "4")

    def test_training(self):
        for mode in ("eager", "compile"):
            for precision in ("fp32", "bf16"):
                self.run_workload("gpt2_tiny_training_step", precision, ASSAY_PYTORCH_MODE=mode)
                outputs = {output for output, in self.query("SELECT DISTINCT output FROM verification")}
                self.assertLessEqual({"loss", "grad.wte", "grad.blocks", "adamw.parameters", "adamw.m", "adamw.v",
                                      "adamw.still"}, outputs)

    def test_compiled(self):
        self.run_workload("gpt2_tiny_batched_inference", "fp32", "--batch", "4", ASSAY_PYTORCH_MODE="compile")

    def test_gemm(self):
        for precision in ("fp32", "bf16"):
            self.run_workload("gemm_512", precision)


if __name__ == "__main__":
    unittest.main()
