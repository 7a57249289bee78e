"""The main use on a real OpenCL device (PoCL in CI), checked by SQL afterwards."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, pocl_cache, run_tests  # noqa: E402


class OpenCl(CliTest):
    def environment(self, **changes):
        environment = super().environment(**changes)
        environment["POCL_CACHE_DIR"] = pocl_cache()
        return environment

    SMALL = """workload: {name}
version: 1
kind: memory_bound
description: small, for a test
precisions: [fp32]
memory_bound: {{kernel: {kernel}, elements: 1000003}}
"""

    def device(self):
        """The first OpenCL device, or None."""
        for backend in self.assay("devices", "--json").json():
            if backend["backend"] == "opencl" and backend["devices"]:
                return backend["devices"][0]["spec"]
        return None

    def test_every_precision(self):
        """Emulation runs on request, with its errors, losses and recipe."""
        device = self.device()
        if not device:
            self.skipTest("no OpenCL device here")
        call = self.assay("run", "gpt2_tiny_training_step", "gpt2_tiny_batched_inference",
                          "--batch", "4", "--emulate", "--device", device, "--protocol",
                          self.fast(), "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(call.json()["trials_ok"], 2 * (3 + 4))
        self.assert_sound()
        rows = self.query("SELECT c.workload_name, c.precision, e.facts FROM trial_end e"
                          " JOIN trial t ON t.id = e.trial JOIN cell c ON c.id = t.cell")
        seen, compared = set(), set()
        for workload, precision, facts in rows:
            facts = json.loads(facts)
            seen.add((workload, precision))
            self.assertEqual(facts["gemm"]["support"],
                             "native" if precision == "fp32" else "emulated")
            self.assertIn("recipe", facts)
            if workload.endswith("inference"):
                if "top1" in facts:  # only the cell's first trial compares with the reference
                    self.assertGreater(facts["top1"]["agreement"], 0.5)
                    compared.add(precision)
            elif precision != "fp32":
                self.assertGreater(facts["loss"]["fp32"]["compared"], 0)
        self.assertEqual(len(seen), 7)
        self.assertEqual(len(compared), 4)
        # Every output was checked against the reference, and the errors are those of the precision.
        errors = dict(self.query(
            "SELECT c.precision, max(v.error) FROM verification v JOIN trial t ON t.id = v.trial"
            " JOIN cell c ON c.id = t.cell WHERE v.output = 'logits.last' GROUP BY 1"))
        self.assertLess(errors["fp32"], errors["fp16"])
        self.assertLess(errors["fp16"], errors["bf16"])
        self.assertLess(errors["bf16"], errors["int8"])
        shown = self.assay("show", "--all", "last/2", "--db", self.db)
        self.assertIn("from fp32 at the same step", " ".join(shown.out.split()))

    def test_training_and_memory(self):
        device = self.device()
        if not device:
            self.skipTest("no OpenCL device here")
        triad = self.write("triad.yaml", self.SMALL.format(name="small-triad", kernel="triad"))
        call = self.assay("run", triad, "gpt2_tiny_training_step", "--device", device,
                          "--precision", "fp32", "--protocol", self.fast(), "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(call.json()["trials_ok"], 4)
        self.assert_sound()

        # What was planned and what ran.
        self.assertEqual(self.query("SELECT count(*) FROM planned_trial")[0][0], 4)
        self.assertEqual(self.query("SELECT DISTINCT status, message FROM trial_end"), [("ok", None)])
        # On which libraries: the ICD loader and its driver, each with its digest.
        libraries = self.query("SELECT DISTINCT path, sha256 FROM libraries WHERE path LIKE "
                               "'%/libOpenCL.so%'")
        self.assertEqual(len(libraries), 1)
        self.assertEqual(len(libraries[0][1]), 64)
        # With which raw samples: as many as the trial counted, each a positive time.
        for trial, samples in self.query("SELECT trial, samples FROM trial_end"):
            counted, least = self.query(
                "SELECT count(*), min(value) FROM samples WHERE trial = ? AND series = 'wall_ns'",
                trial)[0]
            self.assertEqual(counted, samples)
            self.assertGreater(least, 0)
        # The stages of a training step, and its outputs checked before and after.
        series = {row[0] for row in self.query("SELECT DISTINCT name FROM series")}
        self.assertLessEqual({"wall_ns", "gap_ns", "stage:forward", "stage:backward",
                              "stage:optimizer"}, series)
        checks = self.query("SELECT phase, count(*), min(passed) FROM verification GROUP BY phase")
        self.assertEqual([row[0] for row in checks], ["spot_check", "verify_after", "verify_before"])
        self.assertTrue(all(row[1] > 4 and row[2] == 1 for row in checks))
        # Choices were made once per cell, and used by every trial.
        chosen = self.query("SELECT c.ordinal, b.body FROM choice x JOIN cell c ON c.id = x.cell"
                            " JOIN content b ON b.digest = x.content ORDER BY 1")
        self.assertEqual([row[0] for row in chosen], [1, 2])
        self.assertEqual(
            self.query("SELECT DISTINCT c.ordinal, json_extract(e.facts, '$.choices')"
                       " FROM trial_end e JOIN trial t ON t.id = e.trial"
                       " JOIN cell c ON c.id = t.cell ORDER BY 1"), chosen)
        self.assertEqual(
            self.query("SELECT count(*) FROM trial_end e JOIN trial t ON t.id = e.trial"
                       " JOIN cell c ON c.id = t.cell JOIN choices x ON x.result LIKE '%/' ||"
                       " c.ordinal WHERE e.iterations_per_sample ="
                       " json_extract(x.json, '$.iterations_per_sample')")[0][0], 4)
        # Kernels: text, compiler and options are on record.
        artifacts = self.query("SELECT count(*) FROM artifact")[0][0]
        self.assertGreater(artifacts, 2)
        # Readings have a status; unknown ones have a reason.
        shown = self.assay("show", "last/1", "--db", self.db, "--json").json()
        for name, reading in shown["device"]["readings"].items():
            self.assertIn(reading["status"], ("measured", "declared", "unavailable", "denied",
                                              "not_applicable"), name)
            if reading["status"] not in ("measured", "declared"):
                self.assertTrue(reading["reason"], name)

    def test_a_pair_shares_its_choice(self):
        """Both arms are given one worker's choices, so that only the arm differs."""
        device = self.device()
        if not device:
            self.skipTest("no OpenCL device here")
        gelu = self.write("gelu.yaml", self.SMALL.format(name="small-gelu", kernel="gelu"))
        call = self.assay("ab", gelu, "--device", device, "--a", "env:ASSAY_ARM=a", "--b",
                          "env:ASSAY_ARM=b", "--protocol", self.write("evidence.yaml", self.EVIDENCE),
                          "--db", self.db, "--json")
        self.assertIn(call.status, (0, 1, 3), call.err)
        self.assertEqual(self.query("SELECT count(*), count(DISTINCT content) FROM choice"),
                         [(2, 1)])
        self.assertEqual(
            self.query("SELECT count(*), count(DISTINCT json_extract(facts, '$.choices'))"
                       " FROM trial_end WHERE status = 'ok'"), [(10, 1)])

    def test_every_field_of_a_real_device_has_a_class(self):
        device = self.device()
        if not device:
            self.skipTest("no OpenCL device here")
        triad = self.write("copy.yaml", self.SMALL.format(name="small-copy", kernel="copy"))
        call = self.assay("run", triad, "--device", device, "--protocol", self.fast(), "--db",
                          self.db)
        self.assertEqual(call.status, 0, call.err)
        judged = self.assay("compare", "last/1", "last/1", "--json", "--db", self.db).json()
        fields = judged["comparability"]["fields"]
        self.assertGreater(len(fields), 60)
        self.assertEqual([f["field"] for f in fields
                          if f["why"] == "no class is declared for it"], [])
        # A first look compares as a first look only.
        self.assertEqual(judged["comparability"]["verdict"], "exploratory")


if __name__ == "__main__":
    run_tests()
