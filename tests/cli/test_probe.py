"""`assay devices` with vendor libraries that are missing, broken, hang or lie.

usage: test_probe.py BROKEN_DRIVER SHIM SHIM_OF_ONEDNN
"""

import hashlib
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, pocl_cache, run_tests  # noqa: E402

BROKEN, SHIM, ONEDNN = sys.argv[1:]


class Probe(CliTest):
    def environment(self, **changes):
        environment = super().environment(**changes)
        environment["POCL_CACHE_DIR"] = pocl_cache()
        for library in ("CUDA", "NVRTC", "CUBLASLT", "CUDNN", "NVML"):
            environment.setdefault("ASSAY_LIB_" + library, BROKEN if library == "CUDA" else SHIM)
        environment.setdefault("ASSAY_PROBE_TIMEOUT", "60s")
        return environment

    def cuda(self, *words, **environment):
        call = self.assay("devices", "cuda", *words, "--json", **environment)
        self.assertEqual(call.status, 0, call.err)
        return call.json()[0]

    def broken(self, how, *words, **environment):
        return self.cuda(*words, ASSAY_BROKEN=how, **environment)

    def test_files_that_are_no_driver(self):
        text = self.write("libcuda.so.1", "I am a text file.\n" * 100)
        empty = self.write("empty.so", "")
        foreign = os.path.join(self.folder, "foreign.so")
        with open(BROKEN, "rb") as file:
            content = bytearray(file.read())
        content[18:20] = (8).to_bytes(2, sys.byteorder)  # e_machine: MIPS
        with open(foreign, "wb") as file:
            file.write(content)
        for path, word in ((text, "not an ELF file"), (empty, "not an ELF file"),
                           (foreign, "is built for another processor (ELF machine 8)"),
                           ("/dev/null", "file too short"), (self.folder, "directory"),
                           ("/nonexistent.so", "not found")):
            for how in ({"ASSAY_LIB_CUDA": path}, None):
                answer = self.cuda(**how) if how else self.cuda("--lib", "cuda=" + path)
                self.assertFalse(answer["available"])
                self.assertIn(path, answer["reason"])
                self.assertIn(word, answer["reason"])
                self.assertEqual(answer["devices"], [])
                tried = {entry["name"]: entry["tried"] for entry in answer["libraries"]}
                self.assertIn(word, tried["cuda"])
        lacking = self.cuda(ASSAY_LIB_CUDA="libm.so.6")
        self.assertIn("has no symbol cuInit, which is required", lacking["reason"])

    def test_a_library_that_ends_the_process(self):
        for how, words in (("crash", ("signal 6", "while opening " + BROKEN)),
                           ("exit", ("status 0 and gave no answer", "while opening " + BROKEN)),
                           ("init-crash", ("signal 6", "having opened " + BROKEN))):
            answer = self.broken(how)
            self.assertFalse(answer["available"])
            for word in words:
                self.assertIn(word, answer["reason"])
            self.assertIn("libraries_reason", answer)

    def test_a_library_that_hangs(self):
        for how, place in (("hang", "while opening "), ("init-hang", "having opened ")):
            for limit in ("0.3", "3", "30"):  # a busy machine may not reach the library in so short a time
                answer = self.broken(how, ASSAY_PROBE_TIMEOUT=limit + "s")
                self.assertFalse(answer["available"])
                self.assertIn(f"did not answer in {limit} s", answer["reason"])
                if place + BROKEN in answer["reason"]:
                    break
            self.assertIn(place + BROKEN, answer["reason"])

    def test_a_run_asks_only_the_backends_that_it_needs(self):
        # A driver that hangs is not even opened: waiting for it would outlast this call.
        hangs = {"ASSAY_BROKEN": "hang", "ASSAY_PROBE_TIMEOUT": "3600s"}
        evidence = self.write("evidence.yaml", self.EVIDENCE)
        run = self.assay("run", "synthetic", "--device", "null:0", "--protocol", evidence, "--db",
                         self.db, **hangs)
        self.assertEqual(run.status, 0, run.err)
        uid = self.query("SELECT uid FROM campaign")[0][0]
        for words, out in ((("reproduce", uid[:8] + "/1", "--db", self.db), uid[:8]),
                           (("doctor", "--device", "null:0", "--json", "--jitter", "0s"), "null:0"),
                           (("ab", "synthetic", "--a", "device=null:0", "--b", "device=null:1",
                             "--protocol", evidence, "--db", self.db), "Comparable, except")):
            call = self.assay(*words, **hangs)
            self.assertIn(out, call.out, call.err)
            self.assertNotIn("cuda", call.err)

    def test_a_run_on_all_devices_names_the_backend_that_fails(self):
        call = self.assay("doctor", "--jitter", "0s", ASSAY_BROKEN="crash")
        self.assertIn("warning: cuda is left out: asking this backend failed: it ended by signal 6",
                      call.err)
        self.assertIn("while opening " + BROKEN, call.err)

    def test_backends_are_asked_side_by_side(self):
        # cuda's driver waits until hip's is opened, too, and the other way round.
        for words in ((), ("--json",)):
            folder = os.path.join(self.folder, "meet" + "".join(words))
            os.mkdir(folder)
            call = self.assay("devices", *words, ASSAY_BROKEN="meet", ASSAY_BROKEN_MEET=folder,
                              ASSAY_LIB_HIP=BROKEN)
            self.assertEqual(call.status, 0, call.err)
            self.assertNotIn("did not answer", call.out)
            self.assertGreaterEqual(len(os.listdir(folder)), 2)

    def test_precisions_are_not_waited_for_one_by_one(self):
        for limit in ("5", "40"):  # a busy machine may not report the device in so short a time
            answer = self.assay("devices", "cuda", "-v", "--json", ASSAY_LIB_CUDA=SHIM,
                                ASSAY_LIB_CUBLASLT=BROKEN, ASSAY_BROKEN="hang",
                                ASSAY_PROBE_TIMEOUT=limit + "s")
            self.assertEqual(answer.status, 0, answer.err)
            if answer.json()[0]["devices"]:
                break
        precisions = answer.json()[0]["devices"][0]["precisions"]
        for i, entry in enumerate(precisions):
            self.assertEqual(entry["vendor"]["support"], "unknown")
            self.assertIn(f"did not answer in {limit} s" if i < 2 else "not asked, since the 2 before",
                          entry["vendor"]["method"])

    def test_a_backend_that_does_not_exist(self):
        call = self.assay("devices", "cudda")
        self.assertEqual(call.status, 2)
        self.assertIn('no backend "cudda"; there is: cuda, hip, cpu, opencl, null', call.err)

    def test_what_it_prints_is_not_the_answer(self):
        answer = self.broken("chatty")
        self.assertTrue(answer["available"], answer["reason"])
        self.assertEqual(answer["backend"], "cuda")
        self.assertEqual([d["name"] for d in answer["devices"]], ["A broken device"] * 2)

    def test_lies(self):
        for how, words in (("million", "the driver is defective"), ("none", "shows no device"),
                           ("minus", "the driver is defective")):
            answer = self.broken(how)
            self.assertFalse(answer["available"])
            self.assertIn(words, answer["reason"])
        for how, name in (("no-name", "nameless CUDA device"), ("long-name", "x" * 255),
                          ("bad-name", "\\x1B[31mred\\x0A\\xFF")):
            self.assertEqual(self.broken(how)["devices"][0]["name"], name)
        for how in ("no-memory", "minus-memory"):
            device = self.broken(how)["devices"][0]
            self.assertEqual(device["memory_bytes"], 0)
            self.assertEqual(device["readings"]["device.memory"]["status"], "unavailable")
            self.assertIn("the driver gave", device["readings"]["device.memory"]["reason"])

    def test_one_of_two_devices_fails(self):
        answer = self.broken("second")
        self.assertEqual([d["spec"] for d in answer["devices"]], ["cuda:0"])
        self.assertEqual([d["spec"] for d in answer["unusable"]], ["cuda:1"])
        self.assertIn("cuDeviceGet", answer["unusable"][0]["reason"])
        shown = self.assay("devices", "cuda", ASSAY_BROKEN="second")
        self.assertRegex(shown.out, r"cuda:1 +not usable: cuDeviceGet: .*999")
        run = self.assay("run", "copy", "--device", "cuda:1", "--db", self.db,
                         ASSAY_BROKEN="second")
        self.assertNotEqual(run.status, 0)
        self.assertIn("cuda:1: cuDeviceGet", run.err)

    def test_a_broken_library_next_to_the_driver_does_not_hide_the_device(self):
        answer = self.cuda(ASSAY_LIB_CUDA=SHIM, ASSAY_LIB_CUDNN=BROKEN, ASSAY_BROKEN="crash")
        self.assertEqual([d["spec"] for d in answer["devices"]], ["cuda:0"])
        self.assertIn("while opening " + BROKEN, answer["libraries_reason"])
        shown = self.assay("devices", "cuda", "-v", ASSAY_LIB_CUDA=SHIM, ASSAY_LIB_CUDNN=BROKEN,
                           ASSAY_BROKEN="crash")
        self.assertIn("libraries: asking for them failed", shown.out)
        self.assertIn("device.name", shown.out)

    def test_a_device_that_does_not_open_says_why(self):
        shown = self.assay("devices", "cuda", "-v", ASSAY_LIB_CUDA=SHIM, ASSAY_LIB_NVRTC="/dev/null")
        self.assertIn("GEMMs: no NVRTC for sm_90: /dev/null: file too short", shown.out)
        self.assertNotIn("exited with status", shown.out)

    def test_a_library_of_gemm_that_refuses_the_driver(self):
        refusing = {"ASSAY_LIB_CUDA": SHIM, "ASSAY_SHIM_FAIL": "cublasLtCreate@1:1"}
        shown = self.assay("devices", "cuda", "-v", **refusing)
        self.assertRegex(shown.out,
                         r"fp32 +absent +native +no vendor GEMM: cublasLtCreate: "
                         r"CUBLAS_STATUS.* \(1\)")
        small = self.write("small.yaml", "workload: small\nversion: 1\nkind: memory_bound\n"
                           "description: small\nmemory_bound: {kernel: copy, elements: 4099}\n")
        run = self.assay("run", small, "--device", "cuda:0", "--protocol", self.fast(), "--db",
                         self.db, **refusing)
        self.assertEqual(run.status, 0, run.err)
        # The vendor implementation says which call refused, not only that there is none.
        gemm = self.write("gemm.yaml", "workload: gemm\nversion: 1\nkind: gemm\n"
                             "description: small\nprecisions: [fp32]\n"
                             "gemm: {shapes: [{m: 8, n: 8, k: 8}]}\n")
        self.assay("run", gemm, "--device", "cuda:0", "--implementation", "vendor", "--protocol",
                   self.fast(), "--db", self.db, **refusing)
        reasons = {message for message, in self.query(
            "SELECT message FROM trial_end WHERE status = 'unsupported'")}
        self.assertEqual(len(reasons), 1)
        self.assertIn("so no vendor implementation: cublasLtCreate: CUBLAS_STATUS", reasons.pop())

    def test_a_stand_in_for_any_library_marks_the_device(self):
        real = self.assay("devices", "cpu", "--json").json()[0]
        if not real["available"]:
            self.skipTest(real["reason"])
        self.assertFalse(real["devices"][0]["simulated"])
        answer = self.assay("devices", "cpu", "--json", ASSAY_LIB_DNNL=ONEDNN).json()[0]
        self.assertTrue(answer["devices"][0]["simulated"])
        small = self.write("small.yaml", "workload: small\nversion: 1\nkind: memory_bound\n"
                           "description: small\nmemory_bound: {kernel: copy, elements: 4099}\n")
        run = self.assay("run", small, "--device", "cpu:0", "--protocol", self.fast(), "--db",
                         self.db, ASSAY_LIB_DNNL=ONEDNN)
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(self.query("SELECT DISTINCT simulated FROM device"), [(1,)])
        shown = self.assay("show", "--all", "last/1", "--db", self.db).out
        self.assertIn("Simulated device. This tests the tool", shown)

    def test_a_library_is_reported_by_path_version_and_digest(self):
        answer = self.assay("devices", "cpu", "--json")
        for library in answer.json()[0]["libraries"]:
            if library["path"]:
                with open(library["path"], "rb") as file:
                    self.assertEqual(library["sha256"], hashlib.sha256(file.read()).hexdigest())
            else:
                self.assertTrue(library["tried"])
        compiler = answer.json()[0]["libraries"][0]
        self.assertTrue(compiler["version"])
        owner = subprocess.run(["dpkg", "-S", compiler["path"]], capture_output=True, text=True,
                               check=False) if shutil.which("dpkg") else None
        if owner and owner.returncode == 0:
            self.assertEqual(compiler["package"]["name"].split(":")[0],
                             owner.stdout.split(":")[0])
            self.assertIn("package " + compiler["package"]["name"],
                          self.assay("devices", "cpu", "-v").out)

    def test_lines_end_at_words_on_a_terminal(self):
        for columns in (80, 120):
            self.assert_lines_end_at_words(columns, "devices", "-v", "cpu")


if __name__ == "__main__":
    run_tests([sys.argv[0]])
