"""Workloads of ONNX files: what is wrong with one is said with file and line, before anything runs."""

import hashlib
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402
from onnx_files import MAKE_MODEL, copies, maker  # noqa: E402


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
                             ("resnet_tiny", "bbad074c76d201b51d5830d248ef8b9ffeeb1c27ac061cf6a9165915a13b2941")):
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

    def test_without_a_reference(self):
        """An operator that the reference lacks asks for declared outputs."""
        model = maker.Model("sign")
        model.inputs.append(maker.array("x", 1, (8,)))
        model.outputs.append(maker.array("x_out", 1, (8,)))
        model.node("Sign", ["x"], "x_out")
        digest = model.write(os.path.join(self.folder, "sign.onnx"))
        head = "".join(self.text.splitlines(True)[:4])
        self.assert_refused(head + f"model: {{path: sign.onnx, sha256: {digest}}}\ninputs: [{{name: x, shape: [8]}}]\n"
                            "outputs: [{name: x_out, shape: [8]}]\n", 5, "of the operator Sign, which the reference")


if __name__ == "__main__":
    run_tests()
