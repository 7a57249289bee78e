"""Declared stacks: what is described of one, and what is wrong with one, with file and line."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests, thorough  # noqa: E402

VERIFIER = os.path.join(os.path.dirname(__file__), "..", "support", "verify.py")

LLAMA = """workload: llama_8b
version: 1
kind: pass
description: Llama 3.1 with 8 G parameters
precisions: [fp32, bf16]
batches: [1, 2]
sequence_length: 4096
model:
  width: 4096
  norm: {kind: rms, epsilon: 1.0e-5}
  stack:
    - of: [{embedding: {vocabulary: 128256}}]
    - times: 32
      of:
        - attention: {heads: 32, kv_heads: 8, rope: 500000}
        - mlp: {width: 14336, gate: silu}
    - of: [{norm: {}}, {head: {vocabulary: 128256, tied: false}}]
"""


class Pass(CliTest):
    def describe(self, text, *words):
        return self.assay("describe", self.write("stack.yaml", text), *words)

    def changed(self, before, after):
        self.assertIn(before, LLAMA)
        return LLAMA.replace(before, after)

    def test_described(self):
        call = self.describe(LLAMA)
        self.assertEqual(call.status, 0, call.err)
        for words in ("32 times attention (32 heads of 128, 8 of keys and values, rope 500000), "
                      "MLP (14336, gated by SiLU)", "parameters: 8030261248",
                      "161 linear: x W + b; 61.5 TFLOP", "65 rms_norm"):
            self.assertIn(words, call.out)
        costs = self.describe(LLAMA, "--json").json()["costs"]
        # Linear operators on every token, and T(T+1)/2 pairs of a head and layer.
        linear = 2 * 4096 * (8030261248 - 128256 * 4096 - 65 * 4096)
        self.assertEqual(costs[0]["flops"], linear + 32 * 4 * 4096 * 4096 * 4097 // 2)
        self.assertEqual([(cost["flops"] // costs[0]["flops"], cost["items"]) for cost in costs],
                         [(1, 4096), (2, 8192)] * 2)
        self.assertGreater(costs[2]["device_memory_bytes"], 2 * 8030261248)

    def test_identity(self):
        """Defaults that are written out change nothing; what is computed does."""
        identity = self.describe(LLAMA, "--json").json()["digest"]
        for before, after, same in (
                ("rope: 500000}", "rope: 500000, head: 128}", True),
                ("- of: [{embedding", "- times: 1\n      of: [{embedding", True),
                ("{norm: {}}", "{norm: {kind: rms, epsilon: 1.0e-5}}", True),
                ("mlp: {width: 14336, gate: silu}", "mlp: {width: 14336}", False),
                ("kv_heads: 8", "kv_heads: 4", False),
                ("epsilon: 1.0e-5", "epsilon: 1.0e-6", False),
                ("tied: false", "tied: true", False)):
            with self.subTest(after=after):
                other = self.describe(self.changed(before, after), "--json").json()["digest"]
                self.assertEqual(other == identity, same)

    def test_refused(self):
        for before, after, line, words in (
                ("precisions: [fp32, bf16]", "precisions: [fp32, int8]", 5, "does not run in int8; write fp32, bf16 or fp16"),
                ("sequence_length: 4096", "sequence_length: 0", 7, "sequence_length"),
                ("batches: [1, 2]", "batches: [1, 1048576]", 6, "a pass of 1048576 sequences is impossible"),
                ("sequence_length: 4096", "sequence_length: 4096\nscenario: server", 8, "server"),
                ("width: 4096", "width: 0", 9, "width"),
                ("epsilon: 1.0e-5", "epsilon: 0.0", 10, "`epsilon` is 0"),
                ("kind: rms", "kind: batch", 10, "batch"),
                ("kind: rms, ", "", 10, "write kind: rms"),
                ("model:\n", "train: {beta1: 2.0}\nmodel:\n", 8, "`train.beta1` is 2"),
                ("kind: rms, epsilon: 1.0e-5", "kind: rms", 10, "`epsilon` is 0"),
                ("vocabulary: 128256}}]\n    - times", "vocabulary: 0}}]\n    - times", 12, "vocabulary"),
                ("vocabulary: 128256}}]\n    - times", "vocabulary: 128256, positions: 100}}]\n    - times", 7,
                 "embeds 100 positions"),
                ("times: 32", "times: 0", 13, "times"),
                ("times: 32", "times: 4000", 11, "the stack has 8003 blocks"),
                ("kv_heads: 8", "kv_heads: 5", 15, "32 heads cannot share 5 heads"),
                ("kv_heads: 8", "kv_heads: 64", 15, "kv_heads"),
                ("heads: 32, kv_heads: 8", "heads: 33", 15, "33 heads do not divide the width of 4096"),
                ("rope: 500000", "head: 3, rope: 500000", 15, "write an even `head`"),
                ("rope: 500000", "rope: 1.0", 15, "`rope` is 1"),
                ("rope: 500000", "rope: 1.0e+13", 15, "write one above 1 and up to 1e+12"),
                # Written a key a line: the line of the key.
                ("{heads: 32, kv_heads: 8, rope: 500000}", "\n            heads: 32\n            kv_heads: 5", 17,
                 "32 heads cannot share 5 heads"),
                ("gate: silu", "gate: relu", 16, "relu"),
                ("mlp: {width: 14336", "mlp: {width: -1", 16, "width"),
                ("- mlp: {width: 14336, gate: silu}", "- {}", 16, "a block is one of embedding, attention"),
                ("- mlp: {width: 14336, gate: silu}", "- {norm: {}, mlp: {width: 8}}", 16, "a block is one of"),
                ("- mlp: {width: 14336, gate: silu}", "- embedding: {vocabulary: 128256}", 16, "embedding does not"),
                ("- mlp: {width: 14336, gate: silu}", "- head: {vocabulary: 128256}", 16, "head does not belong"),
                ("- of: [{embedding: {vocabulary: 128256}}]\n    - times", "- times", 14, "begins with its embedding"),
                ("vocabulary: 128256, tied: false", "vocabulary: 128255, tied: true", 17, "a tied head has"),
                ("- of: [{embedding", "- times: 2\n      of: [{embedding", 13, "is there once")):
            with self.subTest(after=after):
                call = self.describe(self.changed(before, after))
                self.assertNotEqual(call.status, 0, call.out)
                self.assertIn(f"stack.yaml:{line}: ", call.err)
                self.assertIn(words, call.err)

    MOE = LLAMA.replace("- mlp: {width: 14336, gate: silu}",
                        "- moe: {experts: 8, top: 2, width: 14336, gate: silu, routing: {law: zipf, alpha: 1.0, seed: 3}}")

    def test_moe_described(self):
        call = self.describe(self.MOE)
        self.assertEqual(call.status, 0, call.err)
        # The form of Mixtral 8x7B: 8 experts, and a router, a layer.
        parameters = 8030261248 + 32 * (7 * 3 * 4096 * 14336 + 4096 * 8)
        for words in ("mixture of experts (2 of 8 a token, 14336, gated by SiLU, routed by zipf 1, seed 3)",
                      f"parameters: {parameters}", "96 expert_product", "32 choose_experts", "32 assign_experts",
                      "routing of 4096 tokens: 1.02e+03 an expert, 8 to 8 of 8 experts touched in a layer, the largest "):
            self.assertIn(words, call.out)
        cost = self.describe(self.MOE, "--json").json()["costs"][0]
        linear = 2 * 4096 * (8030261248 - 128256 * 4096 - 65 * 4096 + 32 * (3 * 4096 * 14336 + 4096 * 8))
        self.assertEqual(cost["flops"], linear + 32 * 4 * 4096 * 4096 * 4097 // 2)
        self.assertIn("of experts those that a token is routed to", cost["flops_formula"])

    def test_moe_refused(self):
        for before, after, words in (
                ("top: 2", "top: 9", "a token goes to 9 experts, and there are 8; write `top` up to that"),
                ("top: 2", "top: 0", "top"),
                ("experts: 8", "experts: 4096", "experts"),
                ("law: zipf", "law: even", "even"),
                ("law: zipf", "law: uniform", "law: uniform has not; remove it, or write law: zipf"),
                ("alpha: 1.0, ", "", "law: zipf has no `alpha`; write its exponent, such as alpha: 1.0"),
                ("alpha: 1.0", "alpha: 0", "`alpha` is 0; write an exponent above 0"),
                ("law: zipf, alpha: 1.0", "law: model", "nothing is drawn; remove `seed`"),
                (", routing: {law: zipf, alpha: 1.0, seed: 3}", "", "routing")):
            with self.subTest(after=after):
                self.assertIn(before, self.MOE)
                call = self.describe(self.MOE.replace(before, after))
                self.assertNotEqual(call.status, 0, call.out)
                self.assertIn("stack.yaml:16: ", call.err)
                self.assertIn(words, call.err)
        call = self.describe(self.MOE.replace("batches: [1, 2]", "batches: [1, 262144]"))
        self.assertIn("stack.yaml:6: ", call.err)
        self.assertIn("to draw its routing takes minutes", call.err)
        call = self.describe(self.MOE.replace("law: zipf, alpha: 1.0, seed: 3", "law: model") + "train: {}\n")
        self.assertIn("stack.yaml:16: ", call.err)
        self.assertIn("write law: uniform or law: zipf, or remove `train`", call.err)

    def test_moe_trained(self):
        """Three times the forward pass; the law gives experts, and no weights of theirs."""
        forward = self.describe(self.MOE, "--json").json()["costs"][0]["flops"]
        call = self.describe(self.MOE + "train: {}\n")
        self.assertEqual(call.status, 0, call.err)
        for words in ("the weights of a token's experts are the router's", "96 expert_product_gradient",
                      "32 choose_experts_gradient", "of experts those that a token is routed to"):
            self.assertIn(words, call.out)
        self.assertNotIn("assign_experts", call.out)
        self.assertEqual(self.describe(self.MOE + "train: {}\n", "--json").json()["costs"][0]["flops"], 3 * forward)

    @thorough
    def test_moe_run(self):
        """Under two laws: what is read of the experts, and how tokens are spread, is recorded and shown."""
        moved = []
        for workload in ("moe_tiny_decode", "moe_tiny_decode_zipf"):
            call = self.assay("run", workload, "--device", "cpu:0", "--precision", "fp32", "--batch", "1", "--protocol",
                              self.fast(), "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
            moved.append(self.assay("describe", workload.replace("tiny", "small"), "--json").json()["costs"][1]["bytes"])
        self.assertGreater(moved[0], moved[1])
        shown = " ".join(self.assay("show", "--all", "2/1", "--db", self.db).out.split())
        self.assertIn("Routing zipf; 0.25 tokens an expert; 4 to 4 of 16 experts touched in a layer, the largest 4 to 4 "
                      "times the mean", shown)
        layers = self.assay("show", "1/1", "--json", "--db", self.db).json()["trials"][0]["facts"]["routing"]
        self.assertEqual([(layer["block"], layer["law"], layer["routed"], layer["touched"]) for layer in layers],
                         [(2, "uniform", 4, 4), (4, "uniform", 4, 4)])
        self.assertEqual(set(self.query("SELECT status, message FROM trial_end")), {("ok", None)})
        self.assertEqual(self.query("SELECT DISTINCT passed FROM verification"), [(1,)])
        self.assertIn(("router",), self.query("SELECT DISTINCT output FROM verification"))
        self.assert_verified()

    DECODE = LLAMA.replace("sequence_length: 4096", "decode: {context: 2048, page: 16}")

    def test_decode_described(self):
        call = self.describe(self.DECODE)
        self.assertEqual(call.status, 0, call.err)
        # 129 blocks of 16 positions, of 8 heads of 128, keys and values, in 32 layers.
        for words in ("decode: a token of each sequence, behind 2048 positions",
                      f"129 blocks of 16 positions a sequence and layer, {129 * 16 * 2 * 8 * 128 * 32} elements",
                      "32 attention_cached", "parameters: 8030261248"):
            self.assertIn(words, call.out)
        self.assertNotIn("sequence length", call.out)
        costs = self.describe(self.DECODE, "--json").json()["costs"]
        read = 8030261248 - 128256 * 4096 # but for the embedding, of which each token reads a row
        for cost, width, batch in zip(costs, (4, 4, 2, 2), (1, 2, 1, 2)):
            self.assertEqual(cost["items"], batch)
            self.assertEqual(cost["bytes"],
                             width * (read + batch * (4096 + 2050 * 2 * 8 * 128 * 32)))
            self.assertEqual(cost["flops"], batch * (2 * (read - 65 * 4096) + 32 * 4 * 4096 * 2049))
            self.assertGreater(cost["device_memory_bytes"],
                               width * (8030261248 + batch * 129 * 16 * 2 * 8 * 128 * 32))

    def test_decode_refused(self):
        for after, line, words in (
                ("sequence_length: 4096\ndecode: {context: 8}", 7, "write one of them"),
                ("decode: {context: 0}", 7, "context"),
                ("decode: {page: 16}", 7, "context"),
                ("decode: {context: 8, page: 1024}", 7, "page"),
                ("decode: {context: 8, pages: 1}", 7, "pages"),
                ("decode: {context: 8}\ntrain: {}", 8, "a step trains whole sequences"),
                ("scenario: offline", 1, "write `sequence_length`, or `decode`"),
                ("decode: {context: 1048576}\nbatches: [1, 1048576]", 7, "65537 blocks for each of them")):
            with self.subTest(after=after):
                text = self.changed("sequence_length: 4096", after)
                if "batches" in after:
                    text = text.replace("batches: [1, 2]\n", "", 1)
                call = self.describe(text)
                self.assertNotEqual(call.status, 0, call.out)
                self.assertIn(f"stack.yaml:{line}: ", call.err)
                self.assertIn(words, call.err)

    WEIGHTS = DECODE.replace("model:\n", "weights: {format: int4}\nmodel:\n", 1)

    def test_weights_described(self):
        """The bytes of codes and scales in place of the matrices', but for the embedding and gains."""
        call = self.describe(self.WEIGHTS)
        self.assertEqual(call.status, 0, call.err)
        matrices = 8030261248 - 128256 * 4096 - 65 * 4096
        for words in ("weights: int4", "groups of 128", "4.125 bits", f"{matrices} of the parameters"):
            self.assertIn(words, call.out)
        plain = self.describe(self.DECODE, "--json").json()["costs"]
        for name, bits in (("int4", 4.125), ("int4, group: 32", 4.5), ("fp8_block", 8 + 32 / 128 ** 2), ("mxfp8", 8.25),
                           ("mxfp4", 4.25), ("nvfp4", 4.5)):
            with self.subTest(name=name):
                text = self.WEIGHTS.replace("format: int4", f"format: {name}", 1)
                costs = self.describe(text, "--json").json()["costs"]
                for cost, before, width in zip(costs, plain, (4, 4, 2, 2)):
                    for key in ("bytes", "device_memory_bytes"):
                        self.assertEqual(before[key] - cost[key], matrices * width - matrices * bits / 8)
                    self.assertEqual(cost["flops"], before["flops"])

    def test_weights_refused(self):
        for before, after, line, words in (
                ("format: int4", "format: int3", 8, "int3"),
                ("format: int4", "group: 32", 8, "format"),
                ("format: int4", "format: int4, group: 48", 8, "`group` is 48 inputs; write 32, 64 or 128"),
                ("format: int4", "format: nvfp4, group: 32", 8, "remove `group`"),
                ("decode: {context: 2048, page: 16}", "sequence_length: 8", 8, "write `decode` in place of"),
                ("width: 14336", "width: 14400", 8, "groups of 128 do not divide the 14400 inputs of b2.down.w; write group: 64"),
                ("width: 14336", "width: 14340", 8, "multiples of it"),
                ("mlp: {width: 14336, gate: silu}", "moe: {experts: 8, top: 2, width: 64, routing: {law: model}}", 8,
                 "the matrices of experts cannot be held in few bits; remove `weights`, or write `mlp` in place of `moe`"),
                (LLAMA[LLAMA.index("    - times"):], "    - of: [{head: {vocabulary: 128256, tied: true}}]\n", 8,
                 "no block of the model has a matrix"),
                ("format: int4}\nmodel:", "format: mxfp8}\nmodel:", 8, "blocks of 32 do not divide the 14340 inputs")):
            with self.subTest(after=after):
                text = self.WEIGHTS.replace(before, after, 1)
                if "mxfp8" in after:
                    text = text.replace("width: 14336", "width: 14340", 1)
                call = self.describe(text)
                self.assertNotEqual(call.status, 0, call.out)
                self.assertIn(f"stack.yaml:{line}: ", call.err)
                self.assertIn(words, call.err)

    def run_in_both(self, workload, device):
        for precision in ("fp32", "bf16"):
            call = self.assay("run", workload, "--device", device, "--precision", precision, "--emulate", "--protocol",
                              self.fast(), "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
        self.assertEqual(set(self.query("SELECT status, message FROM trial_end")), {("ok", None)})
        self.assertEqual(self.query("SELECT DISTINCT passed FROM verification"), [(1,)])
        self.assert_verified()

    def test_decode_run(self):
        """A token behind a cache, on assay's own backend."""
        self.run_in_both("llama_tiny_decode", "cpu:0")

    def test_weights_run(self):
        """Weights in 4 bits, whose cost for the output is a fact of the result."""
        self.run_in_both("llama_tiny_decode_int4", "cpu:0")
        call = self.assay("show", "--all", self.assay("results", "--json", "--db", self.db).json()[0]["id"],
                          "--db", self.db)
        self.assertRegex(" ".join(call.out.split()),
                         r"\d+ in int4, 4\.5 bits each; rounding error [\d.]+ % of their RMS, "
                         r"error of the output [1-9][.\d]* % against")

    @thorough
    def test_on_pocl(self):
        present = {device["spec"] for backend in self.assay("devices", "--json").json() for device in backend["devices"]}
        if "opencl:0" not in present:
            self.skipTest("no OpenCL device (package pocl-opencl-icd)")
        self.run_in_both("llama_tiny_decode", "opencl:0")
        self.run_in_both("llama_tiny_decode_int4", "opencl:0")
        self.run_in_both("llama_tiny_step", "opencl:0")
        self.run_in_both("moe_tiny_decode_zipf", "opencl:0")
        self.run_in_both("moe_tiny_step", "opencl:0")
        self.run_in_both("moe_tiny_step_zipf", "cpu:0")

    def test_run(self):
        """On assay's own backend, checked by the graph in fp64; both verifiers find nothing."""
        call = self.assay("run", "llama_tiny_pass", "--device", "cpu:0", "--precision", "fp32", "--protocol",
                          self.fast(), "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(set(self.query("SELECT status, message FROM trial_end")), {("ok", None)})
        self.assertEqual(self.query("SELECT DISTINCT output FROM verification ORDER BY output"),
                         [("nodes",), ("output",), ("output.blocks",), ("output.live",), ("outputs",)])
        self.assertEqual(self.query("SELECT DISTINCT passed FROM verification"), [(1,)])
        self.assert_verified()

    def assert_verified(self):
        second = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertEqual((self.assay("verify", self.db).status, second.returncode), (0, 0), second.stdout)

    def test_train(self):
        """A step costs three times a pass."""
        passes = self.describe(LLAMA, "--json").json()["costs"]
        steps = self.describe(LLAMA + "train: {}\n", "--json").json()["costs"]
        self.assertEqual([step["flops"] for step in steps], [3 * cost["flops"] for cost in passes])
        self.run_in_both("llama_tiny_step", "cpu:0")
        outputs = {row[0] for row in self.query("SELECT DISTINCT output FROM verification")}
        self.assertLessEqual({"loss", "gradients", "gradients.blocks", "gradients.live", "nodes", "adamw.parameters",
                              "adamw.m", "adamw.v", "adamw.still", "adamw.copy"}, outputs)


if __name__ == "__main__":
    run_tests()
