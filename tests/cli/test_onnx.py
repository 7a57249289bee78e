"""Workloads of ONNX files: what is wrong with one is said with file and line, before anything runs."""

import hashlib
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402
from onnx_files import (MAKE_MODEL, OUTSIDE_BYTES, copies, maker, outside, outside_bytes,  # noqa: E402
                        write_tensors)


class Onnx(CliTest):
    def setUp(self):
        super().setUp()
        self.text, _, _ = copies(self.folder)

    def describe(self, text):
        return self.assay("describe", self.write("copies.yaml", text))

    def assert_refused(self, text, line, word):
        call = self.describe(text)
        self.assertNotEqual(call.status, 0, call.out)
        self.assertIn(f"copies.yaml:{line}: ", call.err)
        self.assertIn(word, call.err)

    def changed(self, before, after):
        self.assertIn(before, self.text)
        return self.text.replace(before, after)

    def test_made_the_same(self):
        """The models that are made here have the same bytes wherever they are made."""
        for name, digest in (("bert_tiny", "fabd83ad95b5bd217516fcd04bfe86da4f52bfd570eaec76ac63ed7694b4d8be"),
                             ("resnet_tiny", "bbad074c76d201b51d5830d248ef8b9ffeeb1c27ac061cf6a9165915a13b2941"),
                             ("detector_tiny", "3abaf7c84e7d7dbf632b38447966f87bacb55c224b5c18cad478de48e41fd474")):
            subprocess.run([sys.executable, MAKE_MODEL, name, "--folder", self.folder], check=True)
            with open(os.path.join(self.folder, name + ".onnx"), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), digest)

    def test_described(self):
        call = self.describe(self.text)
        self.assertEqual(call.status, 0, call.err)
        for word in ("input t: i64 [8], from 1 to 3", "input g: f32 [8], from a file", "the reference in fp64"):
            self.assertIn(word, call.out)
        # Its place is not part of its identity, its content is.
        os.mkdir(os.path.join(self.folder, "sub"))
        for name in ("copies.onnx", "given.safetensors"):
            os.rename(os.path.join(self.folder, name), os.path.join(self.folder, "sub", name))
        self.write("sub/copies.yaml", self.text)
        moved = self.assay("describe", os.path.join(self.folder, "sub", "copies.yaml"))
        self.assertEqual(moved.out, call.out)

    def test_files(self):
        for before, after, line, word in (
                ("path: copies.onnx", "path: nowhere.onnx", 5, "there is no file"),
                ("path: copies.onnx", "path: .", 5, "there is no file"),
                ("path: given.safetensors", "path: copies.onnx", 11, "is another file: its SHA-256 is"),
                ("sha256: ", "sha256: 0", 5, "is not 64 digits"),
                ("path: copies.onnx", "path: given.safetensors", 5, "is another file: its SHA-256 is")):
            with self.subTest(after=after, line=line):
                self.assert_refused(self.changed(before, after), line, word)
        large = os.path.join(self.folder, "copies.onnx")
        with open(large, "r+b") as file:
            file.truncate(1 << 31)  # a hole: it takes no room
        self.assert_refused(self.text, 5, "2147483648 bytes, and a model in one file at most")

    def test_no_onnx_file(self):
        digest = next(word for word in self.text.split() if len(word) > 64).strip("}")
        given = self.text.split("given.safetensors, sha256: ")[1][:64]
        self.assert_refused(self.text.replace(digest, given).replace("copies.onnx", "given.safetensors"), 5,
                            "it is no ONNX file")

    def test_arrays(self):
        for before, after, line, word in (
                ("name: u, shape", "name: v, shape", 9, 'no input "v"; it has "x", "u", "t", "g"'),
                ("name: u_out", "name: v_out", 14, 'no output "v_out"'),
                ("{name: x, shape: [2, 4]}", "{name: x, shape: [4, 2]}", 8, '"x" has the shape [2, 4]'),
                ("{name: x, shape: [2, 4]}", "{name: x, shape: [8]}", 8, '"x" has the shape [2, 4]'),
                ("{name: x, shape: [2, 4]}", "{name: x, shape: [2, 0]}", 8, "write sides from 1 up"),
                ("name: t, type: i64", "name: t, type: i32", 10, "is not of the type i32"),
                ("  - {name: u, shape: [8], values: uniform}\n", "", 7, "the model has 4 inputs, and 3 are declared"),
                (", min: 1, max: 3", "", 10, "a range goes from `min` (0) to `max`"),
                ("min: 1, max: 3", "min: 4, max: 3", 10, "a range goes from"),
                ("type: i64, shape: [8], min: 1, max: 3", "type: i64, shape: [8], values: normal", 10, "are a `range`"),
                ("name: g_out, shape: [8]", "name: g_out, shape: [8], tolerance: 2.0", 16, "`tolerance` is 2"),
                ("seed: 5", "precisions: [fp64]", 6, "not in fp64"),
                ("seed: 5", "batches: [2]", 6, "say by `items`"),
                ("seed: 5", "items: 0", 6, "`items` is 0"),
                ("seed: 5", "reference: {path: given.safetensors, sha256: " + "0" * 64 + "}", 6, "write `seed`")):
            with self.subTest(after=after, line=line):
                self.assert_refused(self.changed(before, after), line, word)

    def test_weights_beside_the_model(self):
        """They are a part of what is measured: declared by their SHA-256, and all there."""
        w, b = {"location": "w.data"}, {"location": "sub/b.data", "offset": 16, "length": 32}
        values = outside_bytes()
        text = outside(self.folder, (w, b), {"w.data": values[:48], "sub/b.data": bytes(16) + values[48:]})
        call = self.describe(text)
        self.assertEqual(call.status, 0, call.err)
        self.assertRegex(call.out, "weights in sub/b.data: SHA-256 [0-9a-f]{64}")
        identity = re.search("identity (.*)", call.out).group(1)
        # Other weights are another workload; the declaration that they do not fit says so.
        other = bytes(48)
        with open(os.path.join(self.folder, "w.data"), "wb") as file:
            file.write(other)
        self.assert_refused(text, 9, "w.data is another file: its SHA-256 is")
        call = self.describe(text.replace(hashlib.sha256(values[:48]).hexdigest(), hashlib.sha256(other).hexdigest()))
        self.assertEqual(call.status, 0, call.err)
        self.assertNotIn(identity, call.out)
        # The model in a folder of its own: the files lie beside it.
        call = self.describe(outside(self.folder, (w, None), {"w.data": values[:48]}, path="models/outside.onnx"))
        self.assertEqual(call.status, 0, call.err)

    def test_weights_that_are_not_there(self):
        """Each is refused where it is described, with the file and the tensor."""
        whole = outside_bytes()
        for label, places, files, data, line, words in (
                ("undeclared", ({"location": "w.data"}, None), {"w.data": whole[:48]}, (), 5,
                 ("w.data, which are a part of what is measured", hashlib.sha256(whole[:48]).hexdigest())),
                ("missing", ({"location": "none.data"}, None), {}, (), 5, ("none.data, which is not there",)),
                ("declared and missing", ({"location": "none.data"}, None), {}, ("none.data",), 9,
                 ("there is no file", "none.data", "the model's folder")),
                ("another is declared", ({"location": "w.data"}, None), {"v.data": whole}, None, 5,
                 ('"w" lies in "w.data", which `data` does not name',)),
                ("one too many", (None, None), {"w.data": whole}, None, 5, ('no tensor of it lies in "w.data"',)),
                ("leaves", ({"location": "../w.data"}, None), {}, (), 5, ("leaves the model's folder",)),
                ("leaves, as declared", ({"location": "../w.data"}, None), {}, ("../w.data",), 9,
                 ("leaves the model's folder",)),
                ("leaves in the middle", ({"location": "a/../../w.data"}, None), {}, (), 5, ("leaves the model's folder",)),
                ("absolute", ({"location": "/etc/hostname"}, None), {}, (), 5, ("leaves the model's folder",)),
                ("nowhere", ({"offset": 0}, None), {}, (), 5, ("does not say in which",)),
                ("offset beyond", ({"location": "w.data", "offset": 96, "length": 48}, None), {"w.data": whole}, None, 5,
                 ('"w" reaches from byte 96 beyond the end', "has 80 bytes")),
                ("length beyond", ({"location": "w.data", "offset": 40, "length": 48}, None), {"w.data": whole}, None, 5,
                 ("from byte 40 beyond the end of",)),
                ("too short", ({"location": "w.data", "length": 44}, None), {"w.data": whole}, None, 5,
                 ("has 44 bytes", "its shape takes 48")),
                ("no length, more behind", ({"location": "w.data"}, None), {"w.data": whole}, None, 5,
                 ("has 80 bytes", "its shape takes 48")),
                ("cut off", ({"location": "w.data"}, None), {"w.data": whole[:47]}, None, 5, ("has 47 bytes",)),
                ("no number", ({"location": "w.data", "offset": "-4"}, None), {"w.data": whole[:48]}, None, 5,
                 ("is not a number",)),
                ("beyond 64 bits", ({"location": "w.data", "offset": 2**64 - 8, "length": 48}, None),
                 {"w.data": whole[:48]}, None, 5, ("from byte 18446744073709551608 beyond",))):
            with self.subTest(label=label):
                for word in words:
                    self.assert_refused(outside(self.folder, places, files, data), line, word)
        self.assertEqual(len(whole), OUTSIDE_BYTES)
        model = os.path.join(self.folder, "outside.onnx")
        text = outside(self.folder, ({"location": "w.data"}, None), {"w.data": whole[:48]})
        os.remove(os.path.join(self.folder, "w.data"))
        os.mkdir(os.path.join(self.folder, "w.data"))
        self.assert_refused(text, 9, "there is no file")
        self.assertTrue(os.path.exists(model))

    def described(self, nodes, shapes, version=17, inputs="{name: x, shape: [2, 3]}", constants=()):
        """What is said of a model of (operator, inputs, output, attributes), whose input is x and output y."""
        model = maker.Model("given")
        for name, kind, shape in shapes:
            (model.outputs if name == "y" else model.inputs).append(maker.array(name, kind, shape))
        for constant in constants:
            model.constant(*constant)
        for operator, names, output, attributes in nodes:
            model.node(operator, names, output, **attributes)
        before, maker.OPERATORS = maker.OPERATORS, version
        digest = model.write(os.path.join(self.folder, "given.onnx"))
        maker.OPERATORS = before
        out = next(shape for name, _, shape in shapes if name == "y")
        return self.describe("".join(self.text.splitlines(True)[:4]) +
                             f"model: {{path: given.onnx, sha256: {digest}}}\ninputs: [{inputs}]\n"
                             f"outputs: [{{name: y, shape: {list(out)}}}]\n")

    def test_what_the_reference_cannot_compute(self):
        """It is said where the model is described, with the node, the operator, and what to do."""
        plain = (("x", 1, (2, 3)), ("y", 1, (2, 3)))
        image = (("x", 1, (1, 2, 8, 8)), ("y", 1, (1, 2, 4, 4)))
        tokens = "{name: x, type: i64, shape: [2], max: 8}"
        for label, nodes, shapes, more, words in (
                ("operator", [("Sign", ["x"], "y", {})], plain, {}, ("of the operator Sign", "reference: {path")),
                ("version", [("Relu", ["x"], "y", {})], plain, {"version": 6}, ("are of version 6",)),
                ("attribute", [("Relu", ["x"], "y", {"sharp": 1})], plain, {}, ('"y" (Relu) has the attribute sharp',)),
                ("inputs", [("Relu", ["x", "x"], "y", {})], plain, {}, ("has 2 inputs",)),
                ("type", [("Cast", ["x"], "h", {"to": 10}), ("Cast", ["h"], "y", {"to": 1})], plain, {},
                 ('"h" (Cast)', "casts to f32")),
                ("window", [("MaxPool", ["x"], "y", {"kernel_shape": [9, 9], "strides": [2, 2]})], image,
                 {"inputs": "{name: x, shape: [1, 2, 8, 8]}"}, ("its window is larger than its input",)),
                ("sampling", [("Resize", ["x", "", "s"], "y", {"mode": "cubic"})], image,
                 {"inputs": "{name: x, shape: [1, 2, 8, 8]}", "constants": [("s", 1, (4,), [1, 1, 0.5, 0.5])]},
                 ("resizes by nearest and linear",)),
                ("shapes", [("Add", ["x", "c"], "y", {})], plain, {"constants": [("c", 1, (2,), [1, 2])]},
                 ("the shapes of its inputs do not fit",)),
                ("declared output", [("Transpose", ["x"], "y", {})], plain, {}, ("not the shape that is declared",)),
                ("order of nodes", [("Relu", ["later"], "y", {}), ("Relu", ["x"], "later", {})], plain, {},
                 ('its input "later" at no node before it',)),
                ("no such node", [("Relu", ["x"], "z", {})], plain, {}, ('output "y" at no node',)),
                ("shape from data", [("Cast", ["x"], "s", {"to": 7}), ("Reshape", ["c", "s"], "y", {})],
                 (("x", 1, (2,)), ("y", 1, (2, 3))), {"inputs": "{name: x, shape: [2]}",
                                                     "constants": [("c", 1, (6,), [1] * 6)]},
                 ("its shape depends on what an input of the model holds",)),
                ("tokens beyond the table", [("Gather", ["c", "x"], "y", {})], (("x", 7, (2,)), ("y", 1, (2, 2))),
                 {"inputs": tokens, "constants": [("c", 1, (8, 2), [1] * 16)]}, ("is beyond the axis",)),
                ("random", [("Dropout", ["x", "", "t"], "y", {})], plain, {"constants": [("t", 7, (), [1])]},
                 ("as in training",))):
            with self.subTest(label=label):
                call = self.described(nodes, shapes, **more)
                self.assertEqual(call.status, 2, call.out)
                self.assertRegex(call.err, "copies.yaml:5: .*given.onnx: ")
                for word in words:
                    self.assertIn(word, call.err)
        for nodes, shapes, more in (
                ([("Gather", ["c", "x"], "y", {})], (("x", 7, (2,)), ("y", 1, (2, 2))),
                 {"inputs": tokens, "constants": [("c", 1, (9, 2), [1] * 18)]}),
                ([("Shape", ["x"], "s", {}), ("Reshape", ["x", "s"], "y", {})], plain, {})):
            self.assertEqual(self.described(nodes, shapes, **more).status, 0)

    def test_files_of_tensors(self):
        """Inputs and expected outputs are in their files, by name, type and shape."""
        given = self.text.split("given.safetensors, sha256: ")[1][:64]
        for label, tensors, word in (("name", {"h": [1.0] * 8}, '"g"'), ("shape", {"g": [1.0] * 7}, "g"),
                                     ("no tensors", None, "given.safetensors")):
            with self.subTest(label=label):
                path = os.path.join(self.folder, "given.safetensors")
                if tensors:
                    digest = write_tensors(path, tensors)
                else:
                    with open(path, "wb") as file:
                        file.write(b"none")
                    digest = hashlib.sha256(b"none").hexdigest()
                self.assert_refused(self.text.replace(given, digest), 11, word)
        digest = write_tensors(os.path.join(self.folder, "expected.safetensors"), {"x_out": [1.0] * 8})
        copies(self.folder)
        self.assert_refused(self.text + f"reference: {{path: expected.safetensors, sha256: {digest}}}\n", 17, "x_out")


if __name__ == "__main__":
    run_tests()
