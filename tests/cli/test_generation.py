"""Tokens one after the other: measured in a closed loop and under load, verified twice, forged figures refused."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import forge  # noqa: E402
from assay_cli import CliTest  # noqa: E402

VERIFIER = os.path.join(os.path.dirname(__file__), "..", "support", "verify.py")

MODEL = """version: 1
kind: generation
description: a small transformer makes tokens
model: {layers: 2, heads: 2, width: 32, context: 32, vocabulary: 256, mlp_ratio: 4}
"""
CLOSED = "workload: made\n" + MODEL + """precisions: [fp32]
batches: [2]
scenario: %s
generation: {prompt: 12, output: 6, page: 4, measure: %s}
"""
SERVER = "workload: served\n" + MODEL + """precisions: [fp32]
scenario: server
load:
  arrivals: {process: poisson}
  rates: [50]
  lengths: {prompt: {law: uniform, min: 2, max: 16}, output: {law: uniform, min: 1, max: 8}}
batching: {policy: continuous, max_batch: 4, max_tokens: 12, chunk: 6}
generation: {page: 4, blocks: 14}
slo: {ttft: 10s, tpot: 10s, attain: 0.5}
"""
PROTOCOL = """extends: serving_look
name: few
version: 1
trials: 2
warmup: {iterations: 2, time: 1ms}
serving: {requests: 120, drain: 600s}
telemetry: {interval: 0s}
trial_timeout: 300s
"""


class Generation(CliTest):
    def run_it(self, text, protocol, *words):
        call = self.assay("run", self.write("made.yaml", text), "--protocol", protocol, "--device", "cpu:0", "--db",
                          self.db, *words)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(set(self.query("SELECT status, message FROM trial_end")), {("ok", None)})
        return call

    def verified(self, path):
        """What each verifier answers: whether it found nothing."""
        second = subprocess.run([sys.executable, VERIFIER, path], capture_output=True, text=True, check=False)
        return self.assay("verify", path).status == 0, second.returncode == 0

    def metrics(self):
        (body,), = self.query("SELECT body FROM estimate ORDER BY id DESC LIMIT 1")
        return {name: value["value"] for name, value in json.loads(body)["metrics"].items()}

    def test_each_measure(self):
        # 2 layers of 12 * 32^2, the head, biases and norms; a row of the cache is a key and a value a layer.
        weights, row = 2 * 12 * 32 ** 2 + 256 * 32 + 2 * (288 + 4 * 32) + 64, 2 * 2 * 32
        steps = [4 * (weights + 2 * (12 + i + 1) * row) for i in range(1, 6)]
        prefill = 4 * (weights + 2 * 24 * row)
        for measure, scenario, items, moved in (
                ("request", "single_stream", 12, prefill + sum(steps)), ("prefill", "offline", 24, prefill),
                ("decode", "offline", 2, sum(steps) // 5)):
            self.new_db()
            self.run_it(CLOSED % (scenario, measure), self.fast())
            (stored, tokens, name), = self.query("SELECT bytes, items, item_name FROM cell")
            self.assertEqual((stored, tokens, name), (moved, items, "token"), measure)
            found = self.metrics()
            self.assertAlmostEqual(found["byte_rate"] / found["item_rate"], moved / items, delta=1e-6 * moved)
            stages = {name for name, in self.query("SELECT DISTINCT series FROM samples WHERE series LIKE 'stage:%'")}
            self.assertEqual(stages, {"stage:upload"} | ({"stage:decode"} if measure != "prefill" else set()) |
                             ({"stage:prefill"} if measure != "decode" else set()))
            checks = {output for output, in self.query("SELECT DISTINCT output FROM verification")}
            self.assertLessEqual({"logits.last", "logits.top1", "logits.live", "tokens.greedy"}, checks)
            self.assertEqual(self.verified(self.db), (True, True))

    def test_under_load(self):
        self.run_it(SERVER, self.write("few.yaml", PROTOCOL))
        self.assert_sound()
        self.assertEqual(self.verified(self.db), (True, True))
        for trial, in self.query("SELECT id FROM trial"):
            found = {}
            for name, value in self.query("SELECT series, value FROM samples WHERE trial = ? AND (series LIKE"
                                          " 'request:%' OR series LIKE 'step:%') ORDER BY series, number", trial):
                found.setdefault(name, []).append(value)
            window = [i for i, at in enumerate(found["step:begin_ns"]) if at >= 0]
            self.assertEqual(set(found["request:status"]), {0})
            self.assertGreater(len(set(found["request:prompt_tokens"])), 5)
            # Every token of a prompt was taken in, every output put out, within the limits of a step.
            taken, put = ([found["step:" + name][i] for i in window] for name in ("prefill_tokens", "batch"))
            self.assertEqual(sum(taken), sum(found["request:prompt_tokens"]))
            self.assertEqual(sum(put), sum(found["request:output_tokens"]))
            self.assertLessEqual(max(taken), 12)
            self.assertLessEqual(max(put), 4)
            self.assertLessEqual(max(found["step:kv_used"]), 14)
            self.assertGreater(max(found["step:kv_used"]), 0)

    def test_forged_figures(self):
        self.run_it(CLOSED % ("offline", "decode"), self.fast())

        def cell(**change):
            return lambda owner: owner.edit("campaign", lambda body: [
                one.update({name: int(one[name]) * 10 for name in change}) for one in body["cells"]] and None)

        def rate(name):
            def forgery(owner):
                def estimate(record):
                    value = record["body"]["metrics"][name]
                    value.update({key: float(value[key]) * 10 for key in ("value", "lo", "hi") if value.get(key)})
                owner.edit("estimate", estimate)
            return forgery

        for name, forgeries in (("signed again as it is", ()), ("bytes x 10", (cell(bytes=1), rate("byte_rate"))),
                                ("tokens x 10", (cell(items=1), rate("item_rate"))),
                                ("rate of bytes x 10", (rate("byte_rate"),)),
                                ("rate of tokens x 10", (rate("item_rate"),))):
            path = os.path.join(self.folder, "forged.db")
            with open(self.db, "rb") as file, open(path, "wb") as copy:
                copy.write(file.read())
            with forge.Forgery(path) as owner:
                for forgery in forgeries:
                    forgery(owner)
                owner.rewrite(None)
            # The second verifier does not know the formulas of kinds, and takes a cell's figures as they are.
            self.assertEqual(self.verified(path)[0], not forgeries, name)


if __name__ == "__main__":
    unittest.main()
