#!/usr/bin/env python3
"""A worker of `generation` in Python's standard library: GPT-2, a token at a time, in plain loops.

TOKENS chooses how it saves work: "skips" leaves every other step out and repeats the token before it; "stale" keeps
the keys and values of the first prompts that it had; "kept" returns its first outputs again; "foreign" chooses tokens
that the vocabulary does not have; "other" takes the second largest logit's.
"""

import math
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "backends", "workers",
                                "python"))
import assay_worker  # noqa: E402

MODE = os.environ.get("TOKENS", "good")


def norm(x, gain, bias):
    mean = sum(x) / len(x)
    scale = (sum((v - mean) ** 2 for v in x) / len(x) + 1e-5) ** -0.5
    return [(v - mean) * scale * g + b for v, g, b in zip(x, gain, bias)]


def linear(x, weights, bias):
    return [sum(v * row[j] for v, row in zip(x, weights)) + b for j, b in enumerate(bias)]


def gelu(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


class Tokens(assay_worker.Generation, assay_worker.Work):
    framework, precisions, dtype = "loops", ("fp32",), None

    def load(self, entry, _):
        _, shape, data = entry
        return data.cast("f", shape).tolist()

    def pool(self, entry):
        return entry[2].cast("i", entry[1]).tolist()

    def store(self, rows):
        form = "i" if isinstance(rows[0][0], int) else "f"
        return {"i": "I32", "f": "F32"}[form], (len(rows), len(rows[0])), b"".join(
            struct.pack(f"<{len(row)}{form}", *row) for row in rows)

    def begin(self):
        self.pairs = None  # by sequence, a place for each layer and position

    def first(self, prompts):
        if self.pairs is None or MODE != "stale":
            self.pairs = [{} for _ in prompts]
        self.text = [list(prompt) + [0] * self.output for prompt in prompts]
        self.logits = [None] * len(prompts)
        for position in range(0 if not self.pairs[0] else self.prompt - 1, self.prompt):
            self.run(position)

    def next(self, position):
        if MODE == "skips" and position % 2 == 0:
            for text in self.text:
                text[position + 1] = text[position]
        else:
            self.run(position)

    def run(self, position):
        for i, (text, cache) in enumerate(zip(self.text, self.pairs)):
            self.logits[i] = self.step(text[position], position, cache)
            if position >= self.prompt - 1:
                order = sorted(range(len(self.logits[i])), key=lambda v, row=self.logits[i]: -row[v])
                text[position + 1] = {"foreign": 1 << 20, "other": order[1]}.get(MODE, order[0])

    def step(self, token, position, cache):
        w = self.weights
        x = [a + b for a, b in zip(w["wte"][token % len(w["wte"])], w["wpe"][position])]
        width = len(x)
        size = width // self.heads
        for layer in range(self.layers):
            h = f"h{layer}."
            qkv = linear(norm(x, w[h + "ln1.g"], w[h + "ln1.b"]), w[h + "attn.w"], w[h + "attn.b"])
            cache[layer, position] = qkv[width:2 * width], qkv[2 * width:]
            seen = [cache[layer, at] for at in range(position + 1) if (layer, at) in cache]
            values = []
            for head in range(0, width, size):
                scores = [math.exp(sum(a * b for a, b in zip(qkv[head:head + size], key[head:])) * size ** -0.5)
                          for key, _ in seen]
                values += [sum(s * value[head + j] for s, (_, value) in zip(scores, seen)) / sum(scores)
                           for j in range(size)]
            x = [a + b for a, b in zip(x, linear(values, w[h + "attn_proj.w"], w[h + "attn_proj.b"]))]
            wide = linear(norm(x, w[h + "ln2.g"], w[h + "ln2.b"]), w[h + "fc.w"], w[h + "fc.b"])
            x = [a + b for a, b in zip(x, linear([gelu(v) for v in wide], w[h + "fc_proj.w"], w[h + "fc_proj.b"]))]
        x = norm(x, w["lnf.g"], w["lnf.b"])
        return [sum(a * b for a, b in zip(x, row)) for row in w["wte"]]

    def made(self, count):
        return [text[self.prompt:self.prompt + count] for text in self.text]

    def outputs(self):
        if MODE != "kept" or not hasattr(self, "shown"):
            self.shown = super().outputs()
        return self.shown

    def facts(self):
        return {}


assay_worker.serve("tokens 1", {"generation": Tokens})
