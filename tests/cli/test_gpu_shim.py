"""All commands on a GPU backend through the stand-in for its vendor's libraries.

usage: test_gpu_shim.py BACKEND SHIM LIBRARY...   e.g. cuda libassay_cuda_shim.so cuda nvrtc
"""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests, use_stand_in  # noqa: E402

BACKEND, SHIM, *LIBRARIES = sys.argv[1:]


class GpuShim(CliTest):
    MEMORY = """workload: small-{kernel}
version: 1
kind: memory_bound
description: small, for a test
precisions: [{precision}]
memory_bound: {{kernel: {kernel}, {size}}}
"""
    GEMM = """workload: small-gemm
version: 1
kind: gemm
description: small, for a test
precisions: [fp32]
gemm: {shapes: [{m: 48, n: 40, k: 33}]}
"""

    CONVOLUTION = """workload: small-convolution
version: 1
kind: convolution
description: small, for a test
precisions: [fp32]
convolution:
  shapes:
    - {height: 9, width: 8, channels: 4, filters: 8, kernel: 3, padding: 1}
    - {height: 9, width: 8, channels: 8, filters: 4, kernel: 1}
"""

    def environment(self, **changes):
        return use_stand_in(super().environment(**changes), SHIM, LIBRARIES)

    def setUp(self):
        super().setUp()
        backend = next(b for b in self.assay("devices", "--json").json()
                       if b["backend"] == BACKEND)
        if not backend["available"]:
            self.skipTest(backend.get("reason", "no OpenCL device for the stand-in"))
        self.backend = backend

    def memory(self, kernel, size="elements: 100003", precision="fp32"):
        return self.write(f"{kernel}-{precision}.yaml",
                          self.MEMORY.format(kernel=kernel, size=size, precision=precision))

    def test_devices(self):
        device = self.backend["devices"][0]
        self.assertTrue(device["simulated"])
        self.assertEqual(device["spec"], BACKEND + ":0")
        shown = self.assay("devices", "-v")
        self.assertEqual(shown.status, 0, shown.err)
        for library in LIBRARIES:
            self.assertIn(f"library {library}: {SHIM}", shown.out)
        for library in self.backend["libraries"]:
            if library["name"] in LIBRARIES:
                self.assertRegex(library["version"] or "", r"\d", library["name"])
        # A plain run leaves a simulated device out.
        call = self.assay("run", self.memory("copy"), "--protocol", self.fast(), "--db", self.db,
                          "--json")
        specs = self.query("SELECT DISTINCT device_spec FROM cell")
        self.assertNotIn((BACKEND + ":0",), specs, call.err)

    def test_whole_journey(self):
        call = self.assay("run", self.memory("triad"), self.memory("dot", precision="bf16"),
                          self.memory("layer_norm", "rows: 37, columns: 129"),
                          self.memory("transpose", "rows: 65, columns: 97"),
                          self.write("gemm.yaml", self.GEMM), "gpt2_tiny_training_step",
                          "gpt2_tiny_batched_inference", "--device", BACKEND + ":0", "--protocol",
                          self.fast(), "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        self.assert_sound()
        ended = dict(self.query("SELECT c.workload_name || ' ' || c.precision, group_concat("
                                "DISTINCT e.status) FROM trial_end e JOIN trial t ON t.id = e.trial"
                                " JOIN cell c ON c.id = t.cell GROUP BY 1"))
        for name in ("small-triad fp32", "small-dot bf16", "small-layer_norm fp32",
                     "small-transpose fp32", "small-gemm fp32", "gpt2_tiny_training_step fp32",
                     "gpt2_tiny_batched_inference fp32"):
            self.assertEqual(ended.get(name), "ok", call.err)
        # Every attempt is kept, and every device is marked as simulated.
        self.assertEqual(self.query("SELECT DISTINCT simulated FROM device"), [(1,)])
        # Kernels are on record.
        self.assertGreater(self.query("SELECT count(DISTINCT content) FROM artifact")[0][0], 6)
        # The page and the terminal say so before the numbers.
        page = os.path.join(self.folder, "report.html")
        self.assertEqual(self.assay("report", "--db", self.db, "--html", page).status, 0)
        with open(page, encoding="utf-8") as file:
            self.assertIn("Some devices are simulated", file.read())
        self.assertRegex(self.assay("show", "--all", "last/1", "--db", self.db).out,
                         r"Libraries chosen by hand\s+.--lib, ASSAY_LIB_\.\.\.\):[^;]*\b" + BACKEND)
        shown = self.assay("show", "last/1", "--db", self.db, "--json").json()
        for name, reading in shown["device"]["readings"].items():
            if reading["status"] not in ("measured", "declared"):
                self.assertTrue(reading["reason"], name)
        # Each field has a class; a first look compares as a first look only, simulated or not.
        judged = self.assay("compare", "last/1", "last/1", "--json", "--db", self.db).json()
        fields = judged["comparability"]["fields"]
        self.assertEqual([f["field"] for f in fields
                          if f["why"] == "no class is declared for it"], [])
        self.assertEqual(judged["comparability"]["verdict"], "exploratory")

    # The smallest possible transformer: the stand-in computes in plain loops.
    TRANSFORMER = """workload: {kind}
version: 1
kind: {kind}
description: small, for a test
precisions: [bf16]
batches: [2]
model: {{layers: 2, heads: 2, width: 16, context: 9, vocabulary: 32, mlp_ratio: 4}}
sequence_length: 9
data: {{source: markov, successors: 4}}
verify: {{{verify}}}
"""

    def transformers(self):
        return [self.write(kind + ".yaml", self.TRANSFORMER.format(kind=kind, verify=verify))
                for kind, verify in (("training_step", "sequences: 1, fp32_steps: 4"),
                                     ("batched_inference", "sequences: 1"))]

    def run_attention(self, *workloads, **changes):
        call = self.assay("run", *workloads, "--precision", "bf16", "--implementation", "vendor", "--device",
                          BACKEND + ":0", "--protocol", self.fast(), "--db", self.db, "--json", **changes)
        self.assertEqual(call.status, 0, call.err)
        return {name: json.loads(facts)["attention"] for name, facts in self.query(
            "SELECT c.workload_name, e.facts FROM trial_end e JOIN trial t ON t.id = e.trial"
            " JOIN cell c ON c.id = t.cell WHERE e.status = 'ok'")}

    @unittest.skipUnless(BACKEND == "cuda", "only cuDNN has attention")
    def test_attention_of_the_library_is_reported(self):
        training, prefill = "training_step", "batched_inference"
        facts = self.run_attention(*self.transformers())
        for name in (training, prefill):
            self.assertIs(facts[name]["fused"], True, facts)
            self.assertEqual(facts[name]["library"], "cuDNN")
            self.assertIn("engine", facts[name]["algorithm"])
        self.assertIn("one operation of cuDNN", " ".join(
            self.assay("show", "--all", "last/1", "--db", self.db).out.split()))
        # Without the library the same workload runs by GEMMs, and says so.
        self.db = os.path.join(self.folder, "without.db")
        without = self.run_attention(self.transformers()[1],
                                     ASSAY_LIB_CUDNN="/nowhere/libcudnn.so.9")
        self.assertIs(without[prefill]["fused"], False)
        self.assertIn("has no vendor attention", without[prefill]["reason"])

    def test_overflow_calibration_and_registers_are_shown(self):
        (training, prefill) = self.transformers()
        with open(training, "a", encoding="utf-8") as file:
            file.write("loss_scaling: {initial: 16777216}\n")
        for path, precision in ((training, "fp16"), (prefill, "int8")):
            with open(path, encoding="utf-8") as file:
                text = file.read().replace("[bf16]", f"[{precision}]")
            self.write(os.path.basename(path), text)
        call = self.assay("run", training, prefill, "--implementation", "vendor", "--device", BACKEND + ":0",
                          "--protocol", self.fast(), "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        shown = [self.assay("show", "--all", f"last/{i}", "--db", self.db).out for i in (1, 2)]
        words = [" ".join(page.split()) for page in shown]
        self.assertRegex(words[0], r"Loss scale 16777216 at first, \d+ at the end; \d+ of \d+ steps "
                         "overflowed and were skipped, the first after 0")
        # The step that overflowed was taken at the same weights, so its loss compares.
        self.assertIn("nats from fp32 at the same step, over the first 1", words[0])
        scale, = [json.loads(facts)["loss_scale"] for facts, in self.query(
            "SELECT e.facts FROM trial_end e JOIN trial t ON t.id = e.trial JOIN cell c ON "
            "c.id = t.cell WHERE c.workload_name = 'training_step' LIMIT 1")]
        self.assertLess(scale["last"], scale["initial"])
        self.assertGreater(scale["steps_skipped"], 0)
        self.assertIn("Calibration percentile 99.99 over 8 sequences in fp32; 9 GEMM inputs",
                      words[1])
        for page in words:
            self.assertIn("Kernel texts as compiled for the device workloads/kernels/", page)
            kernel = page[page.index("embedding_forward: "):][:90]
            self.assertRegex(kernel, r": (\d+ registers|registers unknown), \d+ bytes spilled, "
                             r"\d+ bytes shared")
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "--db", self.db, "--html", page).status, 0)
        with open(page, encoding="utf-8") as file:
            page = file.read()
        for word in ("Loss scale", "Calibration", "<li>embedding_forward: "):
            self.assertIn(word, page)
        self.assertRegex(page, r'<th scope="row" class="wrap">workloads/(<wbr>)?kernels/(<wbr>)?transformer')

    def measure_gemm(self, command, *arguments, declaration=None, **changes):
        protocol = self.write("evidence.yaml", self.EVIDENCE)
        path = self.write("gemm.yaml", declaration or self.GEMM)
        return self.assay(command, path, "--device", BACKEND + ":0", "--protocol", protocol, "--db",
                          self.db, *arguments, **changes)

    def chosen(self, kind="gemm"):
        """By cell, the algorithms that were chosen for it, and those that its trials report."""
        chosen, ran = {}, {}
        for cell, choice in self.query(
                "SELECT x.cell, b.body FROM choice x JOIN content b ON b.digest = x.content"):
            choice = json.loads(choice)["workload"][kind]
            chosen[cell] = [a["algorithm"] for a in choice["algorithms"].values()]
        for cell, status, message, facts in self.query(
                "SELECT t.cell, e.status, e.message, e.facts FROM trial_end e JOIN trial t"
                " ON t.id = e.trial"):
            self.assertEqual(status, "ok", message)
            ran.setdefault(cell, []).append(json.loads(facts)["gemms"][0])
        return chosen, ran

    def test_one_algorithm_is_chosen_for_all_trials(self):
        call = self.measure_gemm("run", "--implementation", "vendor",
                                    ASSAY_SHIM_ALGORITHMS="90000000,80000000,3000000,fail,5000000")
        self.assertEqual(call.status, 0, call.err)
        self.assert_sound()
        chosen, ran = self.chosen()
        self.assertEqual(len(chosen), 1)
        self.assertEqual(set(chosen), set(ran))
        for cell, gemms in ran.items():
            self.assertGreater(len(gemms), 1)
            for gemm in gemms:
                self.assertEqual([gemm["algorithm"]], chosen[cell])
                self.assertGreater(gemm["tried"], 2)
        # The record's own choice, where the library offers it no more.
        again = self.assay("reproduce", "last/1", "--db", self.db,
                           ASSAY_SHIM_ALGORITHMS="1000,1000")
        self.assertNotEqual(again.status, 0)
        messages = self.query("SELECT e.message FROM trial_end e WHERE e.status != 'ok'")
        self.assertTrue(messages, again.out + again.err)
        for message, in messages:
            self.assertIn("does not offer the algorithm", message)
            self.assertIn("assay run", message)

    @unittest.skipUnless(BACKEND == "cuda", "the vendor's convolutions are cuDNN's alone")
    def test_one_algorithm_is_chosen_for_all_trials_of_a_convolution(self):
        call = self.measure_gemm("run", "--implementation", "vendor", declaration=self.CONVOLUTION,
                                    ASSAY_SHIM_ALGORITHMS="90000000,80000000,3000000,fail")
        self.assertEqual(call.status, 0, call.err)
        self.assert_sound()
        chosen, ran = self.chosen("convolution")
        self.assertEqual(list(chosen.values()), [["IMPLICIT_GEMM, CUDNN_FMA_MATH"] * 2])
        self.assertEqual(set(chosen), set(ran))
        for gemms in ran.values():
            self.assertEqual(len(gemms), 5)
            for gemm in gemms:
                self.assertEqual(gemm["algorithm"], "IMPLICIT_GEMM, CUDNN_FMA_MATH")
                self.assertEqual((gemm["algorithms"], gemm["tried"]), (4, 4))
        shown = self.assay("show", "--all", "last/1", "--db", self.db)
        self.assertIn("IMPLICIT_GEMM, CUDNN_FMA_MATH", " ".join(shown.out.split()))
        again = self.assay("reproduce", "last/1", "--db", self.db,
                           ASSAY_SHIM_ALGORITHMS="1000,1000")
        self.assertNotEqual(again.status, 0)
        messages = self.query("SELECT e.message FROM trial_end e WHERE e.status != 'ok'")
        self.assertTrue(messages, again.out + again.err)
        for message, in messages:
            self.assertIn("does not offer the algorithm", message)

    def test_both_arms_of_one_library_share_the_algorithm(self):
        call = self.measure_gemm("ab", "--a", "implementation=vendor", "--a", "env:IRRELEVANT=1", "--b",
                                    "implementation=vendor", "--pairs", "5",
                                    ASSAY_SHIM_ALGORITHMS="1000,90000000,3000000,5000000")
        self.assertIn(call.status, (0, 1, 3), call.err)
        chosen, ran = self.chosen()
        self.assertEqual(len(chosen), 2, call.err)
        algorithms = [tuple(a) for a in chosen.values()]
        self.assertEqual(algorithms[0], algorithms[1])

    def test_an_arm_with_other_algorithms_has_its_own_choice(self):
        call = self.measure_gemm("ab", "--a", "implementation=vendor", "--a",
                                    "env:ASSAY_SHIM_BLAS_VERSION=1", "--a",
                                    "env:ASSAY_SHIM_ALGORITHMS=90000000,1000,2000", "--b",
                                    "implementation=vendor", "--b", "env:ASSAY_SHIM_ALGORITHMS=8000,7000000",
                                    "--pairs", "5")
        self.assertIn(call.status, (0, 1, 3), call.err)
        chosen, ran = self.chosen()
        self.assertEqual(len(chosen), 2, call.err)
        self.assertEqual(len(ran), 2, call.err)
        for cell, gemms in ran.items():
            for gemm in gemms:
                self.assertEqual([gemm["algorithm"]], chosen[cell])

    def test_a_compiler_that_aborts_is_survived(self):
        call = self.assay("run", self.memory("triad"), "--device", BACKEND + ":0", "--protocol",
                          self.fast(), "--db", self.db, ASSAY_SHIM_COMPILER_ABORTS="1")
        self.assertNotEqual(call.status, 0)
        self.assert_sound()
        ends = self.query("SELECT e.status, e.message FROM trial_end e")
        # Each planned trial was attempted, and ended by itself.
        self.assertEqual(self.query("SELECT count(*) FROM trial"), [(len(ends),)])
        self.assertGreater(len(ends), 1)
        for status, message in ends:
            self.assertEqual(status, "crashed", message)
            self.assertIn("signal 6", message)
            self.assertIn({"cuda": "NVRTC 13.0", "hip": "HIPRTC 6.2"}[BACKEND], message)
            self.assertIn({"cuda": "for sm_90", "hip": "for gfx942"}[BACKEND], message)

    def test_a_compiler_that_hangs_is_survived_and_named(self):
        for limit in ("5", "100"):  # a busy machine may not reach the compiler in so short a time
            hangs = self.write("hangs.yaml", self.FAST.replace("trial_timeout: 200s",
                                                               f"trial_timeout: {limit}s")
                               .replace("trials: 2", "trials: 1"))
            self.new_db()
            call = self.assay("run", self.memory("triad"), "--device", BACKEND + ":0", "--protocol",
                              hangs, "--db", self.db, ASSAY_SHIM_COMPILER_HANGS="1")
            self.assertNotEqual(call.status, 0)
            self.assert_sound()
            ends = self.query("SELECT e.status, e.message FROM trial_end e")
            self.assertEqual(len(ends), 1)
            self.assertEqual(ends[0][0], "timeout")
            if "was still compiling" in ends[0][1]:
                break
        for word in (f"no word from the worker for {limit} s", "was still compiling",
                     {"cuda": "NVRTC 13.0", "hip": "HIPRTC 6.2"}[BACKEND],
                     {"cuda": "for sm_90", "hip": "for gfx942"}[BACKEND]):
            self.assertIn(word, ends[0][1])

    def test_doctor_reports_ecc(self):
        """The driver's answer, not "the device does not tell"; HIP's own is never taken."""
        report = self.assay("doctor", "--json", "--jitter", "0s", "--device", f"{BACKEND}:0").json()
        reported = report[{"cuda": "passed", "hip": "unknown"}[BACKEND]]
        self.assertIn(f"{BACKEND}:0 ECC", [entry["check"] for entry in reported])


if __name__ == "__main__":
    run_tests(sys.argv[:1])
