"""The life of a convolution through the command line: plan, run, results, show, report, compare."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, pocl_cache, run_tests  # noqa: E402


class Convolutions(CliTest):
    CONVOLUTION = """workload: small
version: 1
kind: convolution
description: small, for a test
precisions: [fp32, bf16, int8]
convolution:
  shapes:
    - {height: 13, width: 11, channels: 4, filters: 8, kernel: 3, padding: 1}
    - {height: 13, width: 11, channels: 8, filters: 8, kernel: 1, stride: 2}
"""
    FLOPS = 2 * (13 * 11 * 8 * 9 * 4 + 7 * 6 * 8 * 8)

    def environment(self, **changes):
        environment = super().environment(**changes)
        environment["POCL_CACHE_DIR"] = pocl_cache()
        return environment

    def library(self):
        """A real device with a library's convolutions, and its support of each precision."""
        call = self.assay("devices", "-v", "--json")
        self.assertEqual(call.status, 0, call.err)
        for backend in call.json():
            for device in backend["devices"]:
                said = {entry["precision"]: entry["convolution"]
                        for entry in device["precisions"]}
                if said.get("fp32", {}).get("support") == "native":
                    return device["spec"], said
        self.skipTest("no library here has convolutions")

    def run_small(self, device, *arguments):
        path = self.write("small.yaml", self.CONVOLUTION)
        protocol = self.write("evidence.yaml", self.EVIDENCE)
        call = self.assay("run", path, "--device", device, "--protocol", protocol, "--db", self.db,
                          *arguments)
        self.assertEqual(call.status, 0, call.err)
        self.assert_sound()
        return call

    def test_both_implementations_from_plan_to_comparison(self):
        device, said = self.library()
        self.run_small(device, "--precision", "fp32", "--implementation", "vendor,portable")
        rows = self.assay("results", "--db", self.db, "--json").json()
        self.assertEqual([(row["implementation"], row["precision"], row["support"]) for row in rows],
                         [("vendor", "fp32", "native"), ("portable", "fp32", "native")])
        self.assertEqual([row["library"] for row in rows], [said["fp32"]["library"], "assay"])

        for facts, in self.query("SELECT facts FROM trial_end e JOIN trial t ON t.id = e.trial"
                                 " JOIN cell c ON c.id = t.cell WHERE c.ordinal = 1"):
            gemms = json.loads(facts)["gemms"]
            self.assertEqual([(p["kernel_height"], p["stride"], p["layout"]) for p in gemms],
                             [(3, 1, "nhwc"), (1, 2, "nhwc")])
            for gemm in gemms:
                self.assertEqual(gemm["library"], said["fp32"]["library"])
                self.assertTrue(gemm["algorithm"])
                self.assertTrue(gemm["weights"])
        text = " ".join(self.assay("show", "--all", "1/1", "--db", self.db).out.split())
        self.assertIn(f"{said['fp32']['library']} {said['fp32']['version']}", text)
        self.assertIn("small, vendor", self.assay("report", "--db", self.db).out)
        self.assertEqual(self.query("SELECT DISTINCT flops, items, item_name, headline FROM cell"),
                         [(self.FLOPS, 2, "convolution", "flops")])

        # A library and our own kernels are never mixed in one figure.
        judged = self.assay("compare", "1/1", "1/2", "--db", self.db, "--json").json()
        self.assertEqual(judged["comparability"]["verdict"], "not_comparable")
        self.assertIn("identity.implementation", json.dumps(judged["comparability"]))
        # A repetition does compare, and every field of a convolution has a class.
        self.run_small(device, "--precision", "fp32", "--implementation", "vendor")
        judged = self.assay("compare", "1/1", "2/1", "--db", self.db, "--json").json()
        self.assertEqual([f["field"] for f in judged["comparability"]["fields"]
                          if f["class"] == "identity" and f["state"] != "same"], [])
        self.assertEqual([f["field"] for f in judged["comparability"]["fields"]
                          if f["why"] == "no class is declared for it"], [])

    def test_each_precision_is_measured_or_refused(self):
        device, said = self.library()
        self.run_small(device, "--precision", "fp32,bf16,int8", "--implementation", "vendor", "--emulate")
        ended = dict(self.query("SELECT c.precision, group_concat(DISTINCT e.status) FROM trial_end"
                                " e JOIN trial t ON t.id = e.trial JOIN cell c ON c.id = t.cell"
                                " GROUP BY 1"))
        self.assertEqual(set(ended), {"fp32", "bf16", "int8"})
        for precision, status in ended.items():
            there = said[precision]["support"] != "absent"
            self.assertEqual(status, "ok" if there else "unsupported", precision)
        # The error against operands before rounding is recorded for each precision.
        for precision, least, most in (("int8", 1e-3, 1e-1), ("bf16", 1e-4, 2e-2),
                                       ("fp32", 1e-9, 1e-5)):
            errors = [error for error, in self.query(
                "SELECT v.error FROM verification v JOIN trial t ON t.id = v.trial JOIN cell c ON"
                " c.id = t.cell WHERE v.output LIKE '%.unrounded' AND c.precision = ?", precision)]
            self.assertEqual(bool(errors), ended[precision] == "ok")
            for error in errors:
                self.assertTrue(least < error < most, (precision, error))

    def test_what_is_not_declared_is_refused(self):
        path = self.write("small.yaml", self.CONVOLUTION)
        call = self.assay("run", path, "--precision", "fp8_e4m3", "--db", self.db)
        self.assertNotEqual(call.status, 0, call.out)
        self.assertIn("declares that precision", call.err)
        self.assertFalse(os.path.exists(self.db))
        path = self.write("wrong.yaml", self.CONVOLUTION.replace("kernel: 3,", "kernel: 30,"))
        call = self.assay("describe", path)
        self.assertNotEqual(call.status, 0)
        self.assertIn("wrong.yaml:8", call.err)
        self.assertIn("padded image", call.err)


if __name__ == "__main__":
    run_tests()
