"""ONNX models and files of tensors for tests, in Python's standard library."""

import hashlib
import importlib.util
import json
import math
import os
import struct
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MAKE_MODEL = os.path.join(ROOT, "workloads", "onnx", "make_model.py")
SEED = 5
COPIES = """workload: copies
version: 1
kind: onnx
description: copies of its inputs
model: {{path: copies.onnx, sha256: {model}}}
seed: {seed}
inputs:
  - {{name: x, shape: [2, 4]}}
  - {{name: u, shape: [8], values: uniform}}
  - {{name: t, type: i64, shape: [8], min: 1, max: 3}}
  - {{name: g, shape: [8], file: {{path: given.safetensors, sha256: {given}}}}}
outputs:
  - {{name: x_out, shape: [2, 4]}}
  - {{name: u_out, shape: [8]}}
  - {{name: t_out, shape: [8]}}
  - {{name: g_out, shape: [8]}}
"""


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


maker = load(MAKE_MODEL)
generator = load(os.path.join(ROOT, "tests", "cli", "test_generator.py"))


def write_tensors(path, tensors):
    """{name: list of numbers, or of rows} as F32 in the safetensors format; returns the file's SHA-256."""
    header, body = {}, b""
    for name, values in tensors.items():
        shape = [len(values), len(values[0])] if isinstance(values[0], list) else [len(values)]
        flat = sum(values, []) if isinstance(values[0], list) else values
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + 4 * len(flat)]}
        body += struct.pack(f"<{len(flat)}f", *flat)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    whole = struct.pack("<Q", len(text)) + text + body
    with open(path, "wb") as file:
        file.write(whole)
    return hashlib.sha256(whole).hexdigest()


def copies(folder):
    """A model that hands its inputs out again: the declaration, what its file gives, what must come out."""
    model = maker.Model("copies")
    for name, kind, shape in (("x", 1, (2, 4)), ("u", 1, (8,)), ("t", 7, (8,)), ("g", 1, (8,))):
        model.inputs.append(maker.array(name, kind, shape))
        model.outputs.append(maker.array(name + "_out", 1, shape))
    model.constant("table", 1, (4,), [10.0, 11.0, 12.0, 13.0])
    for name in "xug":
        model.node("Identity", [name], name + "_out")
    model.node("Gather", ["table", "t"], "t_out", axis=0)
    given = [float(i) for i in range(8)]
    digests = (model.write(os.path.join(folder, "copies.onnx")),
               write_tensors(os.path.join(folder, "given.safetensors"), {"g": given}))
    x = [generator.f32(generator.normal(SEED, 0, 0, i)) for i in range(8)]
    uniform = [((generator.bits(SEED, 4, i) >> 12) * 2 + 1) * 2.0**-53 * 2 - 1 for i in range(8)]
    expected = {"x_out": [x[:4], x[4:]], "u_out": [generator.f32(value) for value in uniform],
                "t_out": [11.0 + generator.bits(SEED, 8, i) % 3 for i in range(8)], "g_out": given}
    assert all(math.isfinite(value) for value in x)
    return COPIES.format(model=digests[0], given=digests[1], seed=SEED), [given[:4], given[4:]], expected


OUTSIDE = """workload: outside
version: 1
kind: onnx
description: weights beside the model
model:
  path: {path}
  sha256: {model}
{data}inputs:
  - {{name: x, shape: [2, 3]}}
outputs:
  - {{name: y, shape: [2, 4]}}
"""
OUTSIDE_BYTES = 4 * (12 + 8)  # of both tensors


def outside(folder, places, files, data=None, path="outside.onnx"):
    """A model whose weights lie in files beside it; returns its declaration.

    `places`: external_data of its two tensors, w of 12 numbers and b of 8, as dictionaries (None: in the model).
    `files`: {path from the model's folder: bytes}. `data`: the declared locations, all of `files` by default.
    """
    model = maker.Model("outside")
    model.inputs.append(maker.array("x", 1, (2, 3)))
    model.outputs.append(maker.array("y", 1, (2, 4)))
    for (name, shape), place in zip((("w", (3, 4)), ("b", (2, 4))), places):
        values = struct.pack(f"<{math.prod(shape)}f", *range(math.prod(shape)))
        if place is None:
            tensor = maker.tensor(name, 1, shape, values)
        else:
            tensor = (b"".join(maker.number(1, side) for side in shape) + maker.number(2, 1) + maker.data(8, name)
                      + b"".join(maker.data(13, maker.data(1, key) + maker.data(2, str(value)))
                                 for key, value in place.items()) + maker.number(14, 1))
        model.tensors.append(maker.data(5, tensor))
    model.node("Add", [model.node("MatMul", ["x", "w"], "product"), "b"], "y")
    beside = os.path.dirname(os.path.join(folder, path))
    os.makedirs(beside, exist_ok=True)
    digest = model.write(os.path.join(folder, path))
    for name, content in files.items():
        os.makedirs(os.path.dirname(os.path.join(beside, name)), exist_ok=True)
        with open(os.path.join(beside, name), "wb") as file:
            file.write(content)
    lines = [f"    - {{location: {name}, sha256: {hashlib.sha256(files.get(name, b'')).hexdigest()}}}\n"
             for name in (files if data is None else data)]
    return OUTSIDE.format(path=path, model=digest, data="".join(["  data:\n"] + lines) if lines else "")


def outside_bytes():
    """The values of w, then those of b: of every kind that a sum can go wrong by."""
    return struct.pack("<20f", *(0.25 * i - 2 for i in range(20)))
