"""Stacks that leave out work, and workers and clocks that lie: every one ends with the reason.

usage: test_cheats.py NAME=LIBRARY...   (tests/support/cheats)
The honest run beside each cheat is the same library without CHEAT.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, pocl_cache, run_tests  # noqa: E402

CHEATS = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
STAND_INS = {"cuda": ("CUDA", "NVRTC", "CUBLASLT", "CUDNN", "NVML"),
             "hip": ("HIP", "HIPRTC", "HIPBLASLT", "ROCBLAS", "ROCM_SMI")}

TRIAD = """workload: small_triad
version: 1
kind: memory_bound
description: small, for a test
precisions: [fp32]
memory_bound: {kernel: triad, elements: 100003}
"""
GEMM = """workload: small_gemm
version: 1
kind: gemm
description: small, for a test
precisions: [fp32]
gemm: {shapes: [{m: 64, n: 96, k: 128}]}
"""

# One trial with many spot checks, so that a cheat at every second iteration passes with 2^-16.
PROTOCOL = """extends: quick
name: spots
version: 1
trials: 1
verification: each_trial
warmup: {iterations: 2, time: 10ms}
window: {time: 300ms, min_samples: 5, max_time: 60s}
spot_checks: {count: 16, least: 16, time: 0s}
trial_timeout: 200s
"""


class Cheats(CliTest):
    def environment(self, **changes):
        return dict(super().environment(**changes), POCL_CACHE_DIR=pocl_cache())

    def measure(self, workload, device, *words, **environment):
        """(status, message) of the one trial."""
        self.new_db()
        call = self.assay("run", self.write("it.yaml", workload), "--device", device, "--protocol",
                          self.write("spots.yaml", PROTOCOL), "--db", self.db, *words, **environment)
        ends = self.query("SELECT status, message FROM trial_end")
        self.assertEqual(len(ends), 1, call.err)
        verified = self.assay("verify", self.db)
        self.assertEqual(verified.status, 0, verified.out)
        return ends[0]

    def library(self, name):
        if name not in CHEATS:
            self.skipTest(f"{name} is not installed here")
        if name in STAND_INS:
            return {"ASSAY_LIB_" + each: CHEATS[name] for each in STAND_INS[name]}
        return {"ASSAY_LIB_" + ("DNNL" if name == "onednn" else name.upper()): CHEATS[name]}

    def each(self, name, workload, device, *words):
        """Honest first; then each cheat, which a check finds."""
        library = self.library(name)
        self.assertEqual(self.measure(workload, device, *words, **library), ("ok", None))
        for cheat in ("second", "three"):
            with self.subTest(library=name, cheat=cheat):
                status, message = self.measure(workload, device, *words, CHEAT=cheat, **library)
                self.assertEqual(status, "check_failed", message)
        # After the first check, long before the last one.
        found = []
        for after in (300, 1000, 3000, 10000):
            status, message = self.measure(workload, device, *words, CHEAT="later",
                                           CHEAT_AFTER=str(after), **library)
            found.append((status, message))
            if "spot check" in (message or ""):
                self.assertEqual(status, "check_failed")
                return
        self.fail(f"no spot check found it: {found}")

    def test_opencl(self):
        self.each("opencl", TRIAD, "opencl:0")

    def test_cuda(self):
        self.each("cuda", TRIAD, "cuda:0")

    def test_hip(self):
        self.each("hip", TRIAD, "hip:0")

    def test_onednn(self):
        self.each("onednn", GEMM, "cpu:0", "--implementation", "vendor")

    def test_clock_of_the_worker(self):
        """A quarter of the time, by a library that is preloaded."""
        status, message = self.measure(TRIAD, "cpu:0", LD_PRELOAD=CHEATS["clock"], CHEAT_CLOCK="worker")
        self.assertEqual(status, "invalid", message)
        self.assertTrue(message.startswith("clock."), message)

    def test_clock_of_all(self):
        status, message = self.measure(TRIAD, "cpu:0", LD_PRELOAD=CHEATS["clock"], CHEAT_CLOCK="")
        self.assertEqual(status, "invalid", message)
        self.assertTrue(message.startswith("clock.kernel"), message)


if __name__ == "__main__":
    run_tests([sys.argv[0]] + [a for a in sys.argv[1:] if "=" not in a])
