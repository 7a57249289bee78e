"""llama.cpp's own server, with a small model made here, as an endpoint: started by assay and measured; and the
same server by another client, GuideLLM, at the same rate.

ASSAY_LLAMA_PYTHON names a Python with xllamacpp and gguf (and guidellm, for the other client). Without it an
environment is made beside the build, once; skipped where no package index is reached."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(HERE, "..", "support")
VERIFIER, SERVER = (os.path.abspath(os.path.join(SUPPORT, name)) for name in ("verify.py", "llama_server.py"))
COMPARE = os.path.join(HERE, "..", "bench", "endpoint_compare.py")
PACKAGES = ("xllamacpp==2026.10.11549", "gguf==0.19.0")
TRIALS, REQUESTS, WORDS = 2, 40, 32

DECLARED = """workload: llama
version: 1
kind: endpoint
description: llama.cpp's server with random weights
scenario: server
endpoint:
  url: "http://127.0.0.1:{port}/v1"
  model: random
  ignore_eos: true
  server: {command: [%s, %s, %s, --port, "{port}"], health: /health, ready: 120s}
load:
  arrivals: {process: poisson}
  rates: [10]
  lengths: {prompt: {law: fixed, mean: %d}, output: {law: uniform, min: 2, max: 12}}
slo: {ttft: 30s, e2e: 60s, attain: 0.9}
"""
PROTOCOL = """extends: serving_look
name: few
version: 1
trials: %d
warmup: {iterations: 2, time: 1ms}
spot_checks: {count: 4, least: 2}
serving: {requests: %d, drain: 60s}
telemetry: {interval: 0s}
required: [device.memory, host.os]
trial_timeout: 300s
""" % (TRIALS, REQUESTS)


class Llama(CliTest):
    def setUp(self):
        super().setUp()
        self.python = os.environ.get("ASSAY_LLAMA_PYTHON")
        if self.python:
            return
        place = os.path.join(os.getcwd(), "test-workers", "llama")
        self.python = os.path.join(place, "bin", "python")
        if not self.imports("xllamacpp, gguf"):
            made = subprocess.run([sys.executable, "-m", "venv", place], capture_output=True, text=True, check=False)
            made = made if made.returncode else subprocess.run(
                [self.python, "-m", "pip", "install", "-q", "--only-binary", ":all:", *PACKAGES],
                capture_output=True, text=True, check=False)
            if made.returncode:
                self.skipTest("llama.cpp's server cannot be installed here: " + (made.stderr or made.stdout)[-300:])

    def imports(self, names):
        return os.path.exists(self.python) and subprocess.run([self.python, "-c", f"import {names}"],
                                                              capture_output=True, check=False).returncode == 0

    def test_started_and_measured(self):
        model = os.path.join(self.folder, "random.gguf")
        call = self.assay("run", self.write("llama.yaml", DECLARED % (self.python, SERVER, model, WORDS)),
                          "--protocol", self.write("few.yaml", PROTOCOL), "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assert_sound()
        values = {}
        for name, value in self.query("SELECT series, value FROM samples WHERE series LIKE 'request:%'"):
            values.setdefault(name.removeprefix("request:"), []).append(value)
        self.assertEqual(values["status"], [0] * TRIALS * REQUESTS)
        # By the server's own usage: each word is one token of this model, and <s> one more.
        self.assertEqual(set(values["prompt_tokens"]), {WORDS + 1})
        self.assertLessEqual({2, 12}, set(values["output_tokens"]))
        self.assertLessEqual(set(values["output_tokens"]), set(range(2, 13)))
        for facts, in self.query("SELECT facts FROM trial_end"):
            endpoint = json.loads(facts)["endpoint"]
            self.assertEqual(endpoint["told"]["models"], ["random"])
            self.assertEqual(endpoint["stats"]["reasons"], [])
        (estimate,), = self.query("SELECT body FROM estimate")
        self.assertEqual(json.loads(estimate)["serving"]["load"]["mismatched"], 0)
        files = [name for name, in self.query("SELECT path FROM component WHERE kind = 'server'")]
        self.assertTrue(any("xllamacpp" in name for name in files), files)
        self.assertEqual(self.assay("verify", self.db).status, 0)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_by_another_client(self):
        """Both clients had every request answered, with the tokens that were asked for."""
        if not self.imports("guidellm"):
            self.skipTest(f"{self.python} has no guidellm")
        path = os.path.join(self.folder, "logs.json")
        done = subprocess.run([sys.executable, COMPARE, "--assay", os.environ["ASSAY"], "--python", self.python,
                               "--pairs", "1", "--requests", "20", "--json", path], capture_output=True, text=True,
                              check=False, env=self.environment())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(path, encoding="utf-8") as file:
            logs = json.load(file)
        for side, (requests,) in logs.items():
            self.assertEqual(len(requests), 20, side)
            self.assertEqual({(request["prompt"], request["n"]) for request in requests}, {(65, 16)}, side)
            for request in requests:
                self.assertLessEqual(request["scheduled"], request["sent"], side)
                self.assertLess(request["sent"], request["first"], side)
                self.assertLessEqual(request["first"], request["done"], side)
        self.assertIn("tpot, latency / n (GuideLLM's)", done.stdout)


if __name__ == "__main__":
    run_tests()
