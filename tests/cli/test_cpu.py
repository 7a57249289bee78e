"""The CPU backend through the command line: the device, and the compiler of its kernels."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402


class Cpu(CliTest):
    SMALL = """workload: small
version: 1
kind: memory_bound
description: small, for a test
precisions: [fp32]
memory_bound: {kernel: triad, elements: 100003}
"""

    def environment(self, **changes):
        return super().environment(XDG_CACHE_HOME=os.path.join(self.folder, "cache"), **changes)

    def setUp(self):
        super().setUp()
        found = [b for b in self.assay("devices", "cpu", "--json").json() if b["devices"]]
        if not found:
            self.skipTest("no C compiler here")
        self.libraries = {library["name"]: library for library in found[0]["libraries"]}

    def test_the_users_binding_leaves_every_core(self):
        """OpenMP binds this process too when these are set; its children must not be bound."""
        def device(**environment):
            found = self.assay("devices", "cpu", "--json", **environment).json()[0]["devices"][0]
            return (found["compute_units"],
                    found["readings"]["device.threads.processors"]["value"])

        free, _ = device()
        bound, processors = device(OMP_PROC_BIND="close", OMP_PLACES="cores")
        self.assertEqual(bound, free)
        self.assertEqual(len(set(processors.split())), bound)
        call = self.assay("run", self.write("small.yaml", self.SMALL), "--device", "cpu",
                          "--protocol", self.fast(), "--db", self.db, "--json",
                          OMP_PROC_BIND="close", OMP_PLACES="cores")
        self.assertEqual(call.status, 0, call.err)
        shown = self.assay("show", "last/1", "--db", self.db, "--json").json()
        self.assertEqual(shown["device"]["readings"]["device.threads.processors"]["value"],
                         processors)

    def test_an_arm_with_another_compiler_has_its_own_choice(self):
        """Sizes that one compiler's kernels run best with may be none that the other's run with at all."""
        product = self.write("product.yaml", "workload: product\nversion: 1\nkind: gemm\ndescription: small\n"
                             "precisions: [fp32]\nscenario: offline\ngemm: {shapes: [{m: 96, n: 96, k: 96}]}\n")
        call = self.assay("run", product, "--device", "cpu", "--protocol", self.fast(), "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        (rows,), = self.query("SELECT json_extract(json, '$.workload.gemm.register_rows') FROM choices")
        refuses = self.write("refuses.sh", "#!/bin/sh\nfor file; do case $file in *.c)\n"
                             f"grep -q '^#define REG_M {rows}$' \"$file\" && exit 1;; esac; done\nexec cc \"$@\"\n")
        os.chmod(refuses, 0o755)
        self.new_db()
        call = self.assay("ab", product, "--device", "cpu", "--protocol", self.write("evidence.yaml", self.EVIDENCE),
                          "--db", self.db, "--a", "cc=cc", "--b", "cc=" + refuses)
        self.assertEqual(self.query("SELECT DISTINCT status, message FROM trial_end"), [("ok", None)], call.err)
        chosen = [row for row, in self.query(
            "SELECT json_extract(json, '$.workload.gemm.register_rows') FROM choices ORDER BY result")]
        self.assertEqual(len(chosen), 2)
        self.assertNotEqual(chosen[1], rows)

    def test_the_window_begins_after_the_reference_loop(self):
        """What precedes its first sample is in no gap: samples and gaps would not fill the window."""
        protocol = self.write("often.yaml", self.FAST + "reference: {interval: 1us}\n")
        call = self.assay("run", self.write("small.yaml", self.SMALL), "--device", "cpu",
                          "--protocol", protocol, "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        rows = self.query(
            "SELECT s.value, p.begin_ns - json_extract(e.facts, '$.conduct.go_ns') FROM trial_end e"
            " JOIN phase p ON p.trial = e.trial AND p.name = 'window' JOIN samples s ON s.trial = e.trial"
            " AND s.series = 'reference_ns' AND s.number = e.window_first")
        self.assertEqual(len(rows), 2)
        for reference_ns, since_go_ns in rows:
            self.assertGreater(reference_ns, 0)
            self.assertGreater(since_go_ns, reference_ns)

    def test_memory(self):
        call = self.assay("run", self.write("small.yaml", self.SMALL), "--device", "cpu",
                          "--protocol", self.fast(), "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(call.json()["trials_ok"], 2)
        self.assert_sound()
        # Reading a byte back takes far less than a hundredth of a sample, so that samples end with it.
        for within, samples in self.query("SELECT facts ->> '$.conduct.read_within', samples - window_first FROM trial_end"):
            self.assertTrue(0 < within <= samples, (within, samples))
        # The compiled kernel is among the mapped files, and it is the artifact's binary.
        jit = self.query("SELECT DISTINCT sha256 FROM libraries WHERE path LIKE '%/kcache/%.so'")
        self.assertEqual(len(jit), 2)  # the workload's, and the reference loop's
        text = self.assay("show", "--all", "--db", self.db,
                          self.assay("results", "--db", self.db, "--ids").out.split()[0]).out
        self.assertIn("device.threads", text)
        self.assertIn(self.libraries["cc"]["path"], text)


if __name__ == "__main__":
    run_tests()
