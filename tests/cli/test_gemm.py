"""GEMMs through the command line: implementations, precisions, what is unsupported, what is kept."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, pocl_cache  # noqa: E402

PRECISIONS = ["fp64", "fp32", "tf32", "bf16", "fp16", "fp8_e4m3", "fp8_e5m2", "int8", "fp4"]


class Gemm(CliTest):
    def environment(self, **changes):
        environment = super().environment(**changes)
        environment["POCL_CACHE_DIR"] = pocl_cache()
        return environment

    GEMM = """workload: small
version: 1
kind: gemm
description: small, for a test
precisions: [fp32, bf16, fp8_e5m2]
gemm:
  shapes: [{m: 33, n: 65, k: 129}]
"""

    def devices(self):
        """Each real device with its precisions by name, from `devices -v --json`."""
        call = self.assay("devices", "-v", "--json")
        self.assertEqual(call.status, 0, call.err)
        return {device["spec"]: {entry["precision"]: entry for entry in device["precisions"]}
                for backend in call.json() for device in backend["devices"]
                if backend["backend"] != "null"}

    def any_device(self):
        for device, precisions in self.devices().items():
            return device, precisions
        self.skipTest("no device here")

    def run_small(self, *arguments):
        self.gemm = self.write("small.yaml", self.GEMM)
        return self.assay("run", self.gemm, "--protocol", self.fast(), "--db", self.db,
                          "--json", *arguments)

    def test_devices(self):
        for device, precisions in self.devices().items():
            self.assertEqual(list(precisions), PRECISIONS, device)
            for entry in precisions.values():
                for implementation in ("vendor", "portable", "convolution", "attention",
                            "attention_backward"):
                    self.assertIn(entry[implementation]["support"], ("native", "emulated", "absent"))
                    self.assertTrue(entry[implementation]["method"])
            self.assertEqual(precisions["fp32"]["portable"]["support"], "native")
            self.assertEqual(precisions["bf16"]["portable"]["support"], "emulated")
        shown = self.assay("devices", "-v").out
        self.assertIn("precision  vendor    portable", shown)
        self.assertIn("precision  vendor    how the library", shown)
        self.assertIn("sha256", shown)
        self.assertNotIn("precision  vendor", self.assay("devices").out)

    def test_unsupported_is_said_once(self):
        device, _ = self.any_device()
        call = self.run_small("--device", device)
        self.assertEqual(call.status, 0, call.err)
        answer = call.json()
        self.assertEqual((answer["trials_ok"], answer["trials_failed"],
                          answer["trials_unsupported"]), (2, 0, 4))
        self.assertEqual(call.err.count("the portable implementation emulates bf16"), 1)
        self.assertEqual(self.query("SELECT DISTINCT precision FROM cell c JOIN trial t ON"
                                    " t.cell = c.id JOIN trial_end e ON e.trial = t.id"
                                    " WHERE e.status = 'unsupported' ORDER BY 1"),
                         [("bf16",), ("fp8_e5m2",)])
        self.assertEqual(call.err.count("e5m2 stored, computed in f32"), 1)
        self.assertIn("unsupported", self.assay("report", "--db", self.db).out)
        page = os.path.join(self.folder, "page.html")
        for form in ("--html", "--dossier"):
            self.assertEqual(self.assay("report", form, page, "--db", self.db).status, 0)
            with open(page, encoding="utf-8") as file:
                self.assertIn(", 4 asked for what their device does not support", file.read())
        self.assert_sound()

    def test_a_library_that_lacks_a_precision_says_what_measures_it(self):
        for device, precisions in self.devices().items():
            vendor = {name: p["vendor"]["support"] for name, p in precisions.items()}
            if vendor["fp32"] == "native" and vendor["fp8_e5m2"] == "absent":
                break
        else:
            self.skipTest("no library here that lacks fp8_e5m2")
        self.new_db()
        self.run_small("--device", device, "--implementation", "vendor", "--precision", "fp8_e5m2")
        message, = {m for m, in self.query("SELECT message FROM trial_end")}
        self.assertIn(precisions["fp8_e5m2"]["vendor"]["method"], message)
        self.assertTrue(message.endswith("; --implementation portable --emulate measures our own text, "
                                         "labelled so"), message)

    def test_emulated_is_labelled(self):
        device, _ = self.any_device()
        call = self.run_small("--device", device, "--precision", "bf16,fp8_e5m2", "--emulate")
        self.assertEqual(call.status, 0, call.err)
        rows = self.assay("results", "--db", self.db, "--json").json()
        self.assertEqual([(row["precision"], row["support"], row["library"]) for row in rows],
                         [("bf16", "emulated", "assay"), ("fp8_e5m2", "emulated", "assay")])
        self.assertIn("small, emulated", self.assay("report", "--db", self.db).out)
        self.assertIn("emulated (our text: bf16 stored", " ".join(
            self.assay("show", "--all", "1/1", "--db", self.db).out.split()))
        page = os.path.join(self.folder, "page.html")
        self.assay("report", "--db", self.db, "--html", page)
        with open(page, encoding="utf-8") as file:
            self.assertIn(", emulated</th>", file.read())
        # The measured error against unrounded operands is kept, and is that of the precision.
        for cell, least, most in ((1, 1e-4, 2e-2), (2, 2e-2, 2e-1)):
            errors = self.query("SELECT error FROM verification v JOIN trial t ON t.id = v.trial"
                                " WHERE v.output = 'c.unrounded' AND t.cell = %d" % cell)
            self.assertTrue(errors and all(least < error < most for error, in errors), errors)

    def test_both_implementations(self):
        for device, precisions in self.devices().items():
            if precisions["fp32"]["vendor"]["support"] == "native":
                break
        else:
            self.skipTest("no vendor library here")
        call = self.run_small("--device", device, "--precision", "fp32", "--implementation",
                              "portable,vendor")
        self.assertEqual(call.status, 0, call.err)
        rows = self.assay("results", "--db", self.db, "--json").json()
        self.assertEqual([row["implementation"] for row in rows], ["portable", "vendor"])
        library = precisions["fp32"]["vendor"]["library"]
        self.assertEqual([row["library"] for row in rows], ["assay", library])
        self.assertIn("small, vendor", self.assay("report", "--db", self.db).out)
        self.assertIn(library, self.assay("show", "--all", "1/2", "--db", self.db).out)
        self.assert_sound()

    def test_nothing_but_unsupported(self):
        """The question was answered, with the reason: that is no failure."""
        device, _ = self.any_device()
        call = self.run_small("--device", device, "--precision", "fp8_e5m2", "--implementation", "portable")
        self.assertEqual(call.status, 0, call.err)
        answer = call.json()
        self.assertEqual((answer["trials_ok"], answer["trials_failed"], answer["trials_unsupported"]), (0, 0, 2))
        self.assertIn("e5m2 stored, computed in f32", call.err)

    def test_library_that_crashes(self):
        """It ends the process that queries it for fp32: that is reported, and so is all the rest."""
        library = os.environ.get("ASSAY_CLBLAST_CRASH")
        if not library:
            self.skipTest("the OpenCL loader was not there to build the stand-in")
        call = self.assay("devices", "opencl", "-v", "--json", "--lib", "clblast=" + library)
        self.assertEqual(call.status, 0, call.err)
        devices = call.json()[0]["devices"]
        if not devices:
            self.skipTest("no OpenCL device here")
        vendor = {entry["precision"]: entry["vendor"] for entry in devices[0]["precisions"]}
        self.assertEqual(list(vendor), PRECISIONS)
        self.assertEqual(vendor["fp32"]["support"], "unknown")
        self.assertIn("signal 6", vendor["fp32"]["method"])
        self.assertEqual(vendor["fp64"]["support"], "absent")
        self.assertEqual(vendor["bf16"]["support"], "absent")
        path = self.write("small.yaml", self.GEMM)
        call = self.assay("run", path, "--device", devices[0]["spec"], "--precision", "fp32",
                          "--implementation", "vendor", "--protocol", self.fast(), "--db", self.db, "--lib",
                          "clblast=" + library)
        self.assertEqual(call.status, 1)
        self.assertIn("signal 6", call.err)
        self.assert_sound()

    def test_wrong_arguments(self):
        call = self.assay("run", "gemm", "--implementation", "vendro", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("--implementation vendro: write portable", call.err)

    def test_plan_keeps_implementation_and_emulation(self):
        device, _ = self.any_device()
        path = self.write("small.yaml", self.GEMM)
        plan = self.assay("run", path, "--device", device, "--precision", "bf16", "--implementation",
                          "vendor", "--emulate", "--dry-run", "--json").json()
        self.assertEqual([(cell["implementation"], cell["emulate"]) for cell in plan["cells"]],
                         [("vendor", True)])
        plan = self.assay("run", path, "--device", device, "--dry-run", "--json").json()
        self.assertNotIn("emulate", plan["cells"][0])


if __name__ == "__main__":
    unittest.main()
