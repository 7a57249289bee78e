"""ONNX Runtime and OpenVINO as workers, through a stand-in for both libraries
(tests/support/frameworks), or, with --wheels, through the real ones from their lock files."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests, thorough  # noqa: E402
import forge  # noqa: E402
from onnx_files import MAKE_MODEL, copies, outside, outside_bytes, write_tensors  # noqa: E402
from wheels import make_wheel  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DECLARED = os.path.join(ROOT, "backends", "workers")
STAND_IN = os.environ.get("ASSAY_STAND_IN")
WHEELS = "--wheels" in sys.argv
MODEL = """workload: little
version: 1
kind: batched_inference
description: a little transformer
precisions: [fp32, bf16]
batches: [1]
scenario: offline
model: {layers: 2, heads: 2, width: 32, context: 16, vocabulary: 96, mlp_ratio: 4}
sequence_length: 16
data: {source: markov, successors: 4}
"""
# 11 positions, in blocks that make room for one more than the model embeds.
TOKENS = """workload: tokens
version: 1
kind: generation
description: a little transformer makes tokens
precisions: [fp32, bf16, int8]
batches: [1, 3]
scenario: %s
model: {layers: 2, heads: 2, width: 32, context: 11, vocabulary: 96, mlp_ratio: 4}
generation: {prompt: 5, output: 6, page: 4, measure: %s}
data: {source: markov, successors: 4}
verify: {sequences: 3}
"""
# Every block and operator of declared stacks.
STACKS = {
    "llama": """workload: stack
version: 1
kind: pass
description: two layers as in Llama
precisions: [fp32, bf16]
batches: [2]
sequence_length: 12
model:
  width: 32
  norm: {kind: rms, epsilon: 1.0e-5}
  stack:
    - of: [{embedding: {vocabulary: 96}}]
    - times: 2
      of: [{attention: {heads: 4, kv_heads: 2, rope: 10000}}, {mlp: {width: 48, gate: silu}}]
    - of: [{norm: {}}, {head: {vocabulary: 96}}]
""",
    "gpt2": """workload: stack
version: 1
kind: pass
description: two layers as in GPT-2
precisions: [fp32, bf16]
batches: [2]
sequence_length: 12
model:
  width: 32
  norm: {kind: layer, epsilon: 1.0e-5}
  stack:
    - of: [{embedding: {vocabulary: 96, positions: 16}}]
    - times: 2
      of: [{attention: {heads: 4, bias: true}}, {mlp: {width: 64, bias: true}}]
    - of: [{norm: {}}, {head: {vocabulary: 96, tied: true}}]
""",
    "layer": """workload: stack
version: 1
kind: pass
description: one attention
precisions: [fp32, bf16]
sequence_length: 5
model:
  width: 8
  norm: {kind: rms, epsilon: 1.0e-6}
  stack:
    - of: [{embedding: {vocabulary: 11}}, {attention: {heads: 2, head: 6, rope: 100, qk_norm: true, bias: true}}]
""",
}
HEAD = """workload: {0}
version: 1
kind: {1}
description: two layers
precisions: [fp64, fp32, bf16, fp16, int8]
{1}:
  shapes:
"""
LAYERS = {
    "linear": ("gemm", "c", """    - {m: 24, n: 40, k: 32}
    - {m: 8, n: 17, k: 48}
"""),
    "plain": ("gemm", "c", """    - {m: 24, n: 40, k: 32}
    - {m: 8, n: 17, k: 48}
  weights: plain
"""),
    "windows": ("convolution", "output", """    - {height: 9, width: 7, channels: 8, filters: 12, kernel: 3, padding: 1, stride: 2, groups: 4}
    - {height: 8, width: 8, channels: 3, filters: 5, kernel: 3, dilation: 2}
"""),
}


class Frameworks(CliTest):
    """The same tests; what a stand-in is told to do wrong is skipped with the real ones."""

    shared = None  # a folder with both workers, which the first test installs for all

    def setUp(self):
        super().setUp()
        self.model = self.write("little.yaml", MODEL)
        names = ("onnxruntime", "openvino")
        if not Frameworks.shared:
            Frameworks.shared = self.install_wheels(names) if WHEELS else self.install_stand_ins()
        self.workers = self.shared if WHEELS else os.path.join(self.shared, "workers")
        self.names = {name: name if WHEELS else os.path.join(self.shared, name, "worker.yaml") for name in names}

    def install_wheels(self, names):
        """They stay beside the build for all runs."""
        self.workers = os.path.join(os.getcwd(), "test-workers")
        for name in names:
            self.provide_worker(name)
        return self.workers

    def install_stand_ins(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-frameworks-")
        self.addClassCleanup(folder.cleanup)
        self.workers = os.path.join(folder.name, "workers")
        for name in ("onnxruntime", "openvino"):
            call = self.assay("worker", "install", self.declare(folder.name, name), "--find-links", folder.name)
            self.assertEqual(call.status, 0, call.err)
        return folder.name

    def environment(self, **changes):
        return super().environment(**{"ASSAY_WORKERS": self.workers, "XDG_CACHE_HOME": os.path.join(self.folder, "cache"),
                                     **changes})

    def declare(self, place, name):
        """The worker's own declaration, of a version whose wheel has the stand-in as its library."""
        folder = os.path.join(place, name)
        os.mkdir(folder)
        with open(os.path.join(DECLARED, name, "worker.yaml"), encoding="utf-8") as file:
            text = re.sub("(?m)^versions:.*$", 'versions: ["9.9"]', file.read())
        with open(STAND_IN, "rb") as file:
            library = re.search("(?m)^library: (.*)$", text).group(1) + ".9.9"
            digest = make_wheel(place, name, "9.9", {library: file.read()})
        for file_name, content in (("9.9.lock", f"{name}==9.9 --hash=sha256:{digest}\n"), ("worker.yaml", text)):
            with open(os.path.join(folder, file_name), "w", encoding="utf-8") as file:
                file.write(content)
        return os.path.join(folder, "worker.yaml")

    def measure(self, name, *words, mode="", **environment):
        self.new_db()
        return self.assay("run", self.model, "--worker", self.names[name] + mode, "--protocol", self.fast(), "--db",
                          self.db, "--json", *words, **environment)

    def test_measured_and_checked(self):
        """Every declared precision, by the framework's own word, with our checks; no kernel of ours."""
        for name, precisions in (("onnxruntime", {"fp32": None}), ("openvino", {"fp32": "f32", "bf16": "bf16"})):
            call = self.measure(name)
            if WHEELS and "reports f32" in call.err:
                self.skipTest("this processor has no bf16")
            self.assertEqual(call.status, 0, call.err)
            results = call.json()["results"]
            self.assertEqual({row["precision"] for row in results}, set(precisions))
            self.assertEqual({row["simulated"] for row in results}, {not WHEELS})
            self.assertEqual(self.assay("verify", self.db).status, 0)
            for row in results:
                shown = self.assay("show", row["id"], "--db", self.db, "--json").json()
                framework = shown["trials"][0]["facts"]["framework"]
                self.assertEqual((framework["name"], framework["precision"]), (name, precisions[row["precision"]]))
                self.assertEqual(shown["worker"]["name"], name)
                self.assertEqual(shown["trials"][0]["artifacts"], [])
                package, = {c["package"] for c in shown["trials"][0]["components"] if f"/{name}@" in c["path"]}
                self.assertEqual(package, name)
            errors = self.query("SELECT DISTINCT c.precision, v.output, v.error FROM verification v JOIN trial t ON"
                                " t.id = v.trial JOIN cell c ON c.id = t.cell WHERE v.output = 'logits.last'")
            # What it computes in shows in the error: of bf16 it lies between its rounding and its bound.
            for precision, _, error in errors:
                self.assertLess(error, 1e-5 if precision == "fp32" else 0.1)
                if precision == "bf16":
                    self.assertGreater(error, 1e-3)

    def compared(self, name, precisions, *outputs):
        """Measures, and finds these outputs compared before, in and after the window."""
        call = self.measure(name)
        if WHEELS and "reports f32" in call.err:
            self.skipTest("this processor has no bf16")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual({row["precision"] for row in call.json()["results"]}, precisions)
        self.assertEqual(self.assay("verify", self.db).status, 0)
        checks = self.query("SELECT DISTINCT phase, output FROM verification")
        for phase in ("verify_before", "spot_check", "verify_after"):
            for output in outputs:
                self.assertIn((phase, output), checks)

    def test_declared_stacks(self):
        """Against the graph's reference before, in and after the window; wrong outputs are found."""
        self.FAST = CliTest.FAST + "spot_checks: {count: 1, least: 1, time: 10ms}\n"
        for stack, text in STACKS.items():
            self.model = self.write("stack.yaml", text)
            for name, precisions in (("onnxruntime", {"fp32"}), ("openvino", {"fp32", "bf16"})):
                with self.subTest(stack=stack, name=name):
                    self.compared(name, precisions, "output", "output.blocks", "output.live")
                    for precision, error in self.query(
                            "SELECT c.precision, max(v.error) FROM verification v JOIN trial t ON t.id = v.trial JOIN"
                            " cell c ON c.id = t.cell WHERE v.output = 'output' GROUP BY 1"):
                        self.assertLess(error, 1e-5 if precision == "fp32" else 0.1)
                        if precision == "bf16":
                            self.assertGreater(error, 1e-4)
        for told, status, word in (() if WHEELS else (("wrong", "check_failed", "output"), ("skips", "check_failed", "output"),
                                                      ("fails", "device", "told to fail"))):
            with self.subTest(told=told):
                self.assertEqual(self.measure("onnxruntime", STAND_IN=told).status, 1)
                self.ended(status, word)

    @thorough
    def test_tokens(self):
        """Of requests, prefills and steps, in closed loops, each compared with fp64 before, in and after the window."""
        self.FAST = CliTest.FAST + "spot_checks: {count: 1, least: 1, time: 10ms}\n"
        for measure, scenario in (("request", "single_stream"), ("prefill", "offline"), ("decode", "offline")):
            self.model = self.write("tokens.yaml", TOKENS % (scenario, measure))
            for name, precisions in (("onnxruntime", {"fp32"}), ("openvino", {"fp32", "bf16"})):
                self.compared(name, precisions, "tokens.greedy")
                for facts, in self.query("SELECT facts ->> '$.framework.name' FROM trial_end"):
                    self.assertEqual(facts, name)
                for precision, error in self.query(
                        "SELECT c.precision, max(v.error) FROM verification v JOIN trial t ON t.id = v.trial JOIN cell c"
                        " ON c.id = t.cell WHERE v.output = 'logits.last' GROUP BY 1"):
                    self.assertLess(error, 1e-5 if precision == "fp32" else 0.1)
                    if precision == "bf16":
                        self.assertGreater(error, 1e-3)

    @thorough
    def test_tokens_that_are_wrong(self):
        """Logits of another precision, or of a step that was not made, have their reason."""
        self.FAST = CliTest.FAST.replace("trials: 2", "trials: 1")
        for measure in ("request", "decode"):
            self.model = self.write("tokens.yaml", TOKENS % ("single_stream", measure))
            call = self.measure("openvino", "--precision", "fp32", mode=",mode=own_precision")
            if not WHEELS or call.status != 0:
                self.assertEqual(call.status, 1, call.err)
                self.ended("check_failed", "logits.")
            if WHEELS:
                continue
            for name, told, status, word in (
                    ("onnxruntime", "wrong", "check_failed", "logits."),
                    ("onnxruntime", "skips", "check_failed", "logits."),
                    ("openvino", "skips", "check_failed", "logits."),
                    ("openvino", "tires", "check_failed", "logits."),
                    ("openvino", "narrow", "check_failed", "logits."),
                    ("openvino", "bf16", "unsupported", "was told to compute in f32 and reports bf16"),
                    ("onnxruntime", "fails", "device", "told to fail")):
                with self.subTest(measure=measure, told=told):
                    self.assertEqual(self.measure(name, "--precision", "fp32", "--batch", "3", STAND_IN=told).status,
                                     int(status != "unsupported"))
                    self.ended(status, word)
                    passed = self.query("SELECT min(passed) FROM verification WHERE phase = 'verify_before'")
                    self.assertEqual(told == "tires", passed == [(1,)], told)

    def test_tokens_that_are_not_made(self):
        """A server's requests join and leave between steps, which the models here have no shape for."""
        self.model = self.write("tokens.yaml", TOKENS % ("single_stream", "request"))
        self.assertIn("runs none of it in that precision", self.measure("openvino", "--precision", "int8").err)
        self.new_db()
        call = self.assay("run", "gpt2_tiny_generation_server", "--worker", self.names["onnxruntime"], "--precision",
                          "fp32", "--protocol", "serving_look", "--db", self.db)
        self.assertEqual(call.status, 0, call.out)
        self.ended("unsupported", "frameworks make tokens in closed loops")

    def take(self, name):
        """The model is now that of LAYERS; its kind, and what its outputs are called."""
        kind, output, text = LAYERS[name]
        self.model = self.write(f"{name}.yaml", HEAD.format(name, kind) + text)
        return kind, output

    @thorough
    def test_products_and_convolutions(self):
        """Each layer against fp64, in every precision that is declared, and in no other."""
        for model in LAYERS:
            kind, output = self.take(model)
            for name in self.names:
                declared, = (runs["precisions"] for runs in self.assay("worker", "show", self.names[name], "--json")
                             .json()[0]["runs"] if runs["kind"] == kind)
                call = self.measure(name)
                if WHEELS and "reports f32" in call.err:
                    self.skipTest("this processor has no bf16")
                self.assertEqual(call.status, 0, call.err)
                self.assertEqual({row["precision"] for row in call.json()["results"]}, set(declared))
                self.assertEqual(self.assay("verify", self.db).status, 0)
                errors = {(precision, what): error for precision, what, error in self.query(
                    "SELECT c.precision, v.output, max(v.error) FROM verification v JOIN trial t ON t.id = v.trial"
                    " JOIN cell c ON c.id = t.cell WHERE v.passed GROUP BY 1, 2")}
                for precision in declared:
                    for layer in range(2):
                        self.assertLess(errors[precision, f"{output}[{layer}].unrounded"],
                                        {"fp64": 1e-14, "fp32": 1e-6, "bf16": 1e-2}[precision])
                for facts, in self.query("SELECT facts ->> '$.framework.name' FROM trial_end"):
                    self.assertEqual(facts, name)

    def test_layers_that_are_wrong(self):
        """One that was left out, or computed in less than what was asked, has its reason."""
        for model in ("linear", "windows"):
            _, output = self.take(model)
            call = self.measure("openvino", "--precision", "fp32", mode=",mode=own_precision")
            if not WHEELS or call.status != 0:
                self.assertEqual(call.status, 1, call.err)
                self.ended("check_failed", f"output {output}[")
            if WHEELS:
                continue
            for name, told, status, word in (
                    ("onnxruntime", "skips", "check_failed", f"output {output}[1]["),
                    ("openvino", "skips", "check_failed", f"output {output}[1]["),
                    ("openvino", "narrow", "check_failed", f"output {output}[0]["),
                    ("openvino", "bf16", "unsupported", "was told to compute in f32 and reports bf16"),
                    ("onnxruntime", "fails", "device", "told to fail")):
                self.assertEqual(self.measure(name, "--precision", "fp32", STAND_IN=told).status == 0,
                                 status == "unsupported")
                self.ended(status, word)

    def test_layers_that_are_not_run(self):
        _, output = self.take("linear")
        self.assertIn("runs none of it in that precision", self.measure("onnxruntime", "--precision", "bf16").err)
        with open(self.model, "a", encoding="utf-8") as file:
            file.write("  result: sum\n")
        self.measure("openvino", "--precision", "bf16")
        self.ended("unsupported", f"frameworks store {output}[0] in the type of the operands")

    def ended(self, status, word):
        for got, message in self.query("SELECT status, message FROM trial_end"):
            self.assertEqual((got, word in message), (status, True), message)

    def test_its_own_precision_is_caught(self):
        """Left to itself it computes fp32 models in bf16, which the comparison with fp64 finds."""
        call = self.measure("openvino", "--precision", "fp32", mode=",mode=own_precision")
        if WHEELS and call.status == 0:
            self.skipTest("on this processor OpenVINO leaves fp32 as it is")
        self.assertEqual(call.status, 1, call.err)
        self.ended("check_failed", "logits")

    @thorough
    def test_arms(self):
        """Frameworks against each other and against assay: put down to the worker, each package by name."""
        tokens = self.write("tokens.yaml", TOKENS % ("single_stream", "request"))
        for model, a, b in ((self.model, "onnxruntime", "openvino"), (self.model, "assay", "openvino"),
                            (tokens, "assay", "openvino")):
            call = self.assay("ab", model, "--a", f"worker={self.names.get(a, a)}", "--b",
                              f"worker={self.names[b]}", "--batch", "1", "--precision", "fp32", "--device", "cpu",
                              "--pairs", "5", "--protocol", self.write("evidence.yaml", self.EVIDENCE), "--db",
                              self.db, "--json", ASSAY_CC=self.plain_compiler())
            self.assertEqual(call.status, 0, call.err)
            judged = call.json()["comparability"]
            self.assertEqual(judged["verdict"], "comparable_except", judged["reasons"])
            self.assertEqual(judged["attribution"], "worker")
            self.assertIn("package openvino", [factor["factor"] for factor in judged["brought"]])

    def make(self, name):
        subprocess.run([sys.executable, MAKE_MODEL, name, "--folder", self.folder], check=True)
        return os.path.join(self.folder, name + ".yaml")

    def test_onnx_files(self):
        """A file that somebody brings: whole outputs against fp64, the file itself in the record."""
        for model in ("resnet_tiny", "bert_tiny", "detector_tiny") + (("resnet50",) if WHEELS else ()):
            self.model = self.make(model)
            with open(self.model, encoding="utf-8") as file:
                digest = re.search("sha256: (.*)", file.read()).group(1)
            for name in self.names:
                call = self.measure(name, "--precision", "fp32")
                self.assertEqual(call.status, 0, call.err)
                self.assertEqual(self.assay("verify", self.db).status, 0)
                checks = {(output, metric): error for output, metric, error in
                          self.query("SELECT output, metric, max(error) FROM verification GROUP BY 1, 2")}
                output = {"bert_tiny": "rows_out", "detector_tiny": "found"}.get(model, "logits")
                self.assertLess(checks[output, "normalised_rms"], 1e-5)
                self.assertLess(checks[output + ".blocks", "worst_block"], 1e-5)
                self.assertEqual(checks[output + ".live", "count"], 0)
                self.assertEqual(self.query("SELECT DISTINCT lower(hex(sha256)) FROM component WHERE kind = 'model'"),
                                 [(digest,)])
                row, = call.json()["results"]
                shown = self.assay("show", row["id"], "--db", self.db, "--json").json()
                self.assertEqual(shown["trials"][0]["facts"]["model"]["sha256"], digest)

    def test_onnx_weights_beside(self):
        """Weights in files beside the model get to the framework, and into the record."""
        values = outside_bytes()
        places = ({"location": "w.data"}, {"location": "sub/b.data", "offset": 16, "length": 32})
        files = {"w.data": values[:48], "sub/b.data": bytes(16) + values[48:]}
        self.model = self.write("outside.yaml", outside(self.folder, places, files))
        for name in self.names:
            call = self.measure(name, "--precision", "fp32")
            self.assertEqual(call.status, 0, call.err)
            self.assertEqual(self.assay("verify", self.db).status, 0)
            self.assertLess(self.query("SELECT max(error) FROM verification WHERE metric <> 'count'")[0][0], 1e-6)
            found = {row[0] for row in self.query("SELECT lower(hex(sha256)) FROM component WHERE kind = 'model'")}
            self.assertLessEqual({hashlib.sha256(content).hexdigest() for content in files.values()}, found)
            self.assertEqual(len(found), 3)
        # Whether the files are where trials look for them is known before there is one.
        words = ("run", self.model, "--worker", self.names["onnxruntime"], "--device", "cpu", "--protocol",
                 self.write("e.yaml", self.EVIDENCE), "--db")
        again, none = (os.path.join(self.folder, name) for name in ("again.db", "none.db"))
        self.assertEqual(self.assay(*words, again).status, 0)
        call = self.assay("reproduce", "last/1", "--db", again, XDG_CACHE_HOME=os.path.join(self.folder, "elsewhere"))
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("is not known here", call.out + call.err)
        call = self.assay(*words, none, XDG_CACHE_HOME="", HOME="")
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("set XDG_CACHE_HOME or HOME", call.err)
        self.assertFalse(os.path.exists(none))
        with forge.Forgery(self.db) as forgery:  # other weights than the workload names
            forgery.edit("stack", lambda body: [part.update(sha256="0" * 64) for part in body["components"]
                                                if part.get("sha256") == hashlib.sha256(values[:48]).hexdigest()])
            forgery.rewrite()
        call = self.assay("verify", self.db)
        self.assertNotEqual(call.status, 0)
        self.assertIn("no file of its stack has the digest of the weights", call.out)

    def test_onnx_arms(self):
        """Two runtimes on one file are compared, and put down to the worker."""
        self.model = self.make("bert_tiny")
        call = self.assay("ab", self.model, "--a", f"worker={self.names['onnxruntime']}", "--b",
                          f"worker={self.names['openvino']}", "--precision", "fp32", "--device", "cpu", "--pairs", "5",
                          "--protocol", self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        judged = call.json()["comparability"]
        self.assertEqual((judged["verdict"], judged["attribution"]), ("comparable_except", "worker"))
        self.assertEqual(self.query("SELECT DISTINCT passed FROM verification"), [(1,)])
        # Another file is another workload, which verify sees in what was recorded.
        with forge.Forgery(self.db) as forgery:
            forgery.edit("stack", lambda body: [part.update(kind="icd") for part in body["components"]
                                                if part["kind"] == "model"])
            forgery.rewrite()
        call = self.assay("verify", self.db)
        self.assertNotEqual(call.status, 0)
        self.assertIn("no file of its stack has the digest of the model", call.out)

    def test_onnx_failures(self):
        """What is wrong with a run of a file has its reason in the trial."""
        self.model = self.make("resnet_tiny")
        call = self.assay("run", self.model, "--db", self.db)
        self.assertIn("which assay's own backends do not run", call.err)
        call = self.measure("onnxruntime", "--precision", "bf16")
        self.assertIn("runs none of it in that precision", call.err)
        call = self.measure("openvino", "--precision", "fp32", mode=",mode=own_precision")
        if not WHEELS or call.status != 0:
            self.assertEqual(call.status, 1, call.err)
            self.ended("check_failed", "logits")
        if not WHEELS:
            for told, status, word in (("wrong", "check_failed", "logits"), ("fails", "device", "told to fail")):
                call = self.measure("onnxruntime", "--precision", "fp32", STAND_IN=told)
                self.assertEqual(call.status, 1, call.err)
                self.ended(status, word)

    def test_onnx_file_is_gone(self):
        """What is left of a campaign does not begin without the files that its trials read."""
        self.model = self.make("resnet_tiny")
        call = self.measure("onnxruntime", "--precision", "fp32", "--plan-only")
        self.assertEqual(call.status, 0, call.err)
        os.rename(os.path.join(self.folder, "resnet_tiny.onnx"), os.path.join(self.folder, "kept"))
        for option in ("--plan", "--resume"):
            call = self.assay("run", option, "last", "--db", self.db)
            self.assertNotIn(call.status, (0, 1), call.err)
            self.assertIn("the file of SHA-256", call.err)
            self.assertEqual(self.query("SELECT count(*) FROM trial"), [(0,)])
        os.rename(os.path.join(self.folder, "kept"), os.path.join(self.folder, "resnet_tiny.onnx"))
        call = self.assay("run", "--plan", "last", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)

    def test_onnx_inputs_and_reference(self):
        """Inputs by the published generator or from a file, and outputs that the declaration names."""
        text, given, expected = copies(self.folder)
        for values, status in ((expected, 0), ({**expected, "x_out": given}, 1)):
            digest = write_tensors(os.path.join(self.folder, "expected.safetensors"), values)
            self.model = self.write("copies.yaml", text + "reference:\n  path: expected.safetensors\n"
                                    f"  sha256: {digest}\n")
            for name in self.names:
                call = self.measure(name)
                self.assertEqual(call.status, status, call.err)
                if status == 0:
                    self.assertEqual(self.query("SELECT max(error) FROM verification"), [(0.0,)])

    def test_failures_have_reasons(self):
        if WHEELS:
            self.skipTest("the real libraries are not told to fail")
        for name in self.names:
            for told, status, word in (("wrong", "check_failed", "logits"), ("fails", "device", "told to fail")):
                call = self.measure(name, "--precision", "fp32", "--batch", "1", STAND_IN=told)
                self.assertEqual(call.status, 1, call.err)
                self.ended(status, word)
        call = self.measure("openvino", "--precision", "fp32", "--batch", "1", STAND_IN="bf16")
        self.assertIn("was told to compute in f32 and reports bf16", call.err)
        call = self.measure("onnxruntime", "--precision", "bf16")
        self.assertIn("runs none of it in that precision", call.err)
        self.workers = shutil.copytree(self.workers, os.path.join(self.folder, "workers"))
        shutil.rmtree(os.path.join(self.workers, "openvino@9.9", "site-packages"))
        call = self.measure("openvino")
        self.assertIn("lacks its library", call.err)


if __name__ == "__main__":
    if not WHEELS and not STAND_IN:
        sys.exit("ASSAY_STAND_IN names no library")
    sys.argv = [word for word in sys.argv if word != "--wheels"]
    run_tests(whole=WHEELS)
