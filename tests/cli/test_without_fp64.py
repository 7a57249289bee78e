"""Work in fp64 on OpenCL devices that lack it: unsupported with one reason before anything is compiled, whatever the
kind, and no failure of the run."""

import ctypes.util
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, pocl_cache, run_tests  # noqa: E402

CASES = {**{kernel: f"memory_bound: {{kernel: {kernel}, elements: 4096}}" for kernel in ("copy", "scale", "add", "triad")},
         "transpose": "memory_bound: {kernel: transpose, rows: 64, columns: 64}",
         "embedding_gather": "memory_bound: {kernel: embedding_gather, vocabulary: 64, dimension: 64, lookups: 16}",
         "gemm": "gemm: {shapes: [{m: 32, n: 32, k: 32}]}",
         "convolution": "convolution: {shapes: [{height: 8, width: 8, channels: 8, filters: 8, kernel: 3, stride: 1,"
                        " padding: 1}]}"}


class WithoutFp64(CliTest):
    def environment(self, **changes):
        changes.setdefault("POCL_CACHE_DIR", pocl_cache())
        return super().environment(**changes)

    def devices(self, **environment):
        return [device for backend in self.assay("devices", "--json", **environment).json()
                if backend["backend"] == "opencl" for device in backend["devices"]]

    def declare(self, name, precisions, body):
        return self.write(f"{name}.yaml", f"workload: small_{name}\nversion: 1\nkind: {body.partition(':')[0]}\n"
                          f"description: small, for a test\nprecisions: [{precisions}]\n{body}\n")

    def once(self):
        return self.write("once.yaml", self.FAST.replace("trials: 2", "trials: 1"))

    def ends(self):
        return self.query("SELECT DISTINCT c.workload_name, c.implementation, e.status, e.message FROM trial_end e"
                          " JOIN trial t ON t.id = e.trial JOIN cell c ON c.id = t.cell")

    def assert_unsupported(self, implementation, *more, **environment):
        """Every case, by this implementation, beside further workloads."""
        files = [self.declare(name, "fp64", body) for name, body in CASES.items()]
        call = self.assay("run", *files, *more, "--implementation", implementation, "--device", "opencl:0", "--protocol",
                          self.once(), "--db", self.db, "--json", **environment)
        self.assertEqual(call.json()["trials_failed"], 0, call.err)
        # As of a GEMM: the question was answered, with the reason, even where nothing else was asked.
        self.assertEqual(call.status, 0, call.err)
        ends = [end for end in self.ends() if end[0] != "small_measured"]
        self.assertEqual({name for name, _, _, _ in ends}, {f"small_{name}" for name in CASES})
        for name, _, status, message in ends:
            self.assertEqual(status, "unsupported", (name, message))
            self.assertRegex(message, r"has no fp64 \(the driver does not offer cl_khr_fp64\): choose", name)

    def test_stand_in(self):
        """PoCL behind a loader whose devices and compiler lack it; types that are only stored run."""
        if not self.devices():
            self.skipTest("no OpenCL device here")
        environment = {"ASSAY_LIB_OPENCL": os.environ["ASSAY_OPENCL_SHIM"], "ASSAY_SHIM_LACKS_F64": "1"}
        measured = self.declare("measured", "fp32", CASES["triad"])
        self.assert_unsupported("portable,vendor", measured, **environment)
        self.new_db()
        call = self.assay("run", self.declare("triad", "fp32, bf16, fp16", CASES["triad"]), "--device", "opencl:0",
                          "--protocol", self.once(), "--db", self.db, **environment)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual({status for _, _, status, _ in self.ends()}, {"ok"})

    def test_rusticl(self):
        """Mesa's driver on the processor, which lacks it in Debian 12; its ICD file is in a folder of its own."""
        driver = os.environ.get("ASSAY_TEST_RUSTICL") or ctypes.util.find_library("RusticlOpenCL")
        if not driver:
            self.skipTest("no Mesa rusticl here; ASSAY_TEST_RUSTICL=/path/libRusticlOpenCL.so.1 names one")
        self.write("rusticl.icd", driver + "\n")
        environment = {"OCL_ICD_VENDORS": self.folder, "RUSTICL_ENABLE": "llvmpipe"}
        devices = self.devices(**environment)
        if not devices:
            self.skipTest(f"{driver} finds no device")
        if "value" in devices[0]["readings"]["device.fp64"]:
            self.skipTest(f"{driver} has fp64")
        self.assert_unsupported("portable", **environment)


if __name__ == "__main__":
    run_tests()
