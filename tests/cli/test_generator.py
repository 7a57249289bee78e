"""Weights and inputs follow from workloads/data/GENERATOR.md, in Python's standard library alone."""

import bisect
import glob
import itertools
import json
import math
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
VECTORS = os.path.join(HERE, "..", "data", "generator.json")
WORKER = os.path.join(HERE, "..", "support", "foreign_worker.py")
MASK = 2**64 - 1
WEIGHT_STREAM = 0x67707432
LAYER_MATRICES = ["attn.w", "attn_proj.w", "fc.w", "fc_proj.w"]
LAYER_VECTORS = ["ln1.g", "ln1.b", "attn.b", "attn_proj.b", "ln2.g", "ln2.b", "fc.b", "fc_proj.b"]


def bits(seed, stream, index):
    z = (seed + 0x9e3779b97f4a7c15 * (stream + 1)) & MASK
    z = ((z ^ z >> 30) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ z >> 27) * 0x94d049bb133111eb) & MASK
    z = ((z ^ z >> 31) + 0x9e3779b97f4a7c15 * (index + 1)) & MASK
    z = ((z ^ z >> 30) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ z >> 27) * 0x94d049bb133111eb) & MASK
    return z ^ z >> 31


def unit(value):
    return (value >> 11) * 2.0**-53


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def pattern(seed, index):
    return f32(2 * unit(bits(seed, 0, index)) - 1)


def normal(seed, shape, operand, index):
    u, v = (((bits(seed, 4 * shape + 2 * operand + k, index) >> 12) * 2 + 1) * 2.0**-53 for k in (0, 1))
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


def weight(seed, number, deviation, index):
    b = bits(seed, WEIGHT_STREAM + number, index)
    total = sum(b >> shift & 0xffff for shift in (0, 16, 32, 48))
    return f32(f32(deviation) * f32((total - 131070.0) * float.fromhex("0x1.bb67ae86627e7p-16")))


def tensor_names(layers):
    return (["wte", "wpe"] + [f"h{i}.{name}" for i in range(layers) for name in LAYER_MATRICES]
            + [f"h{i}.{name}" for i in range(layers) for name in LAYER_VECTORS] + ["lnf.g", "lnf.b"])


class Markov:
    def __init__(self, states, successors, seed):
        self.seed, self.rows = seed, []
        for a in range(states):
            row = []
            for k in range(successors):
                at = a * successors + k
                u, w = unit(bits(seed, 1, at)), unit(bits(seed, 2, at))
                state = min(a // 2 if k == 0 else int((states + 1.0)**u - 1.0), states - 1)
                same = next((entry for entry in row if entry[0] == state), None)
                if same:
                    same[1] += w * w + 0.02
                else:
                    row.append([state, w * w + 0.02])
            total = sum(p for _, p in row)
            self.rows.append([(state, p / total) for state, p in row])
        now, change = [1 / states] * states, 1
        while change >= 1e-13:
            then = [0.0] * states
            for a, row in enumerate(self.rows):
                for state, p in row:
                    then[state] += now[a] * p
            total = sum(then)
            then = [p / total for p in then]
            change = sum(abs(p - q) for p, q in zip(now, then))
            now = then
        self.cumulative = list(itertools.accumulate(now))

    def sequence(self, number, length):
        at, tokens = number * (length + 1), []
        state = bisect.bisect_right(self.cumulative, unit(bits(self.seed, 3, at)))
        for t in range(length):
            tokens.append(state)
            u = unit(bits(self.seed, 3, at + 1 + t))
            for state, p in self.rows[state]:
                if u < p:
                    break
                u -= p
        return tokens


def compute(vectors):
    """The vectors anew, from what they are of."""
    names = tensor_names(2)
    tiny = Markov(256, 8, vectors["seed"])
    seed = vectors["seed"]
    return {
        "seed": seed,
        "bits": [bits(seed, stream, index) for stream in (0, 1, 7) for index in (0, 1, 2**40)],
        "pattern": [pattern(seed, i) for i in range(4)],
        "gemm_normal": [normal(seed, 0, operand, i) for operand in (0, 1) for i in range(4)],
        "weights": {name: [weight(seed, names.index(name), 0.01 if "proj" in name else 0.02, i) for i in range(4)]
                    for name in ("wte", "h1.attn.w", "h1.fc_proj.w")},
        "tokens": [tiny.sequence(n, 32)[:8] for n in range(2)]}


class Generator(CliTest):
    def test_vectors(self):
        with open(VECTORS, encoding="utf-8") as file:
            vectors = json.load(file)
        mine = compute(vectors)
        for name, value in mine.items():
            if name == "gemm_normal":  # logarithm and cosine are a library's
                self.assertTrue(all(abs(a - b) <= 1e-14 for a, b in zip(value, vectors[name])))
            else:
                self.assertEqual(value, vectors[name], name)

    def test_what_assay_hands_over(self):
        """The worker ends at once, since it does not know this work; the file is there."""
        cache = os.path.join(self.folder, "cache")
        self.assay("run", "gpt2_tiny_batched_inference", "--device", "null:0", "--precision", "fp32", "--batch",
                   "1", "--protocol", self.fast(), "--db", self.db, "--implementation", "portable",
                   ASSAY_WORKER=WORKER, FOREIGN_HANDOVER="good", XDG_CACHE_HOME=cache)
        (path,) = glob.glob(os.path.join(cache, "assay", "handover", "*.safetensors"))
        with open(path, "rb") as file:
            data = file.read()
        start = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:start])
        (protocol,), = self.query("SELECT body FROM content WHERE digest = (SELECT protocol FROM cell)")
        seed = json.loads(protocol)["seed"]

        def values(name, form):
            begin, end = header[name]["data_offsets"]
            return [v for v, in struct.iter_unpack(form, data[start + begin:start + end])]

        names = tensor_names(2)
        self.assertEqual(set(header), set(names) | {"tokens"})
        for number, name in enumerate(names):
            got = values(name, "<f")
            if name.endswith((".g", ".b")):
                self.assertEqual(set(got), {1.0 if name.endswith(".g") else 0.0}, name)
            else:
                deviation = 0.02 / math.sqrt(4) if "proj" in name else 0.02
                for i in range(0, len(got), 1 + len(got) // 500):
                    self.assertEqual(got[i], weight(seed, number, deviation, i), (name, i))
        source = Markov(256, 8, seed)
        self.assertEqual(values("tokens", "<i"), [token for n in range(16) for token in source.sequence(n, 32)])


if __name__ == "__main__":
    unittest.main()
