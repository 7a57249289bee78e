"""Workers in Python: how their module speaks the protocol, and, with --wheels, what those frameworks
compute that are installed (in ASSAY_WORKERS, else test-workers)."""

import itertools
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PATTERN = os.path.join(ROOT, "tests", "support", "pattern_worker.py")
VERIFIER = os.path.join(ROOT, "tests", "support", "verify.py")
TOKENS = os.path.join(ROOT, "tests", "support", "token_worker.py")
GENERATION = """workload: made
version: 1
kind: generation
description: a small transformer makes tokens
precisions: [fp32]
batches: [2]
scenario: %s
model: {layers: 2, heads: 2, width: 8, context: 16, vocabulary: 16, mlp_ratio: 2}
generation: {prompt: 4, output: 5, measure: %s}
data: {source: markov, successors: 4}
"""
HONEST = {"batched_inference": ("gpt2_tiny_batched_inference", "4"), "generation": ("gpt2_tiny_generation", "4"),
          "training_step": ("gpt2_tiny_training_step", "4"), "gemm": ("gemm_512", "1"),
          "convolution": ("conv_resnet50_3x3_7", "1")}
WHEELS = "--wheels" in sys.argv


class Protocol(CliTest):
    """Of a work in Python's standard library."""

    def measure(self, **environment):
        return self.assay("run", "synthetic", "--device", "null:0", "--protocol",
                          self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--json",
                          ASSAY_WORKER=PATTERN, **environment)

    def test_trials(self):
        results = []
        for _ in range(2):
            call = self.measure()
            self.assertEqual((call.status, call.json()["trials_ok"]), (0, 5), call.err)
            results.append(call.json()["results"][0]["id"])
        self.assertEqual(self.assay("verify", self.db).status, 0)
        self.assertEqual({phase for phase, in self.query("SELECT phase FROM verification WHERE passed")},
                         {"verify_before", "spot_check", "verify_after"})
        verdict = self.assay("compare", *results, "--json", "--db", self.db).json()["comparability"]
        self.assertEqual((verdict["verdict"], verdict["reasons"]), ("comparable_except", []))

    def test_an_output_that_is_kept(self):
        """Right at first, and stale once the inputs are others."""
        call = self.measure(PATTERN="kept")
        self.assertEqual(call.status, 1, call.out)
        self.assertEqual(set(self.query("SELECT status FROM trial_end")), {("check_failed",)})
        self.assertEqual(set(self.query("SELECT passed FROM verification WHERE phase = 'verify_before'")), {(1,)})
        (message,), *_ = self.query("SELECT message FROM trial_end")
        self.assertIn("the outputs handed over (", message)

    def test_times_that_are_not_so(self):
        """Checks of an hour, work between samples, and the slowest samples left out."""
        self.EVIDENCE = CliTest.EVIDENCE.replace("time: 30ms", "time: 600ms").replace(
            "trials: 5", "trials: 1\nevidence: false")
        for lie, clauses in (("hour", ["clock.checks"]), ("between", ["clock.gaps"]), ("best", ["clock.window", "clock.gaps"])):
            with self.subTest(lie=lie):
                self.new_db()
                self.measure(PATTERN=lie)
                (status, message), = self.query("SELECT status, message FROM trial_end")
                self.assertEqual(status, "invalid", message)
                self.assertIn(message.split(":")[0], clauses, message)

    def test_declared_share_of_gaps(self):
        """A third of the window lies between samples, which the protocol may allow."""
        for most, reached in (("0.5", "ok"), ("0.2", "invalid"), (None, "invalid")):
            with self.subTest(most=most):
                self.new_db()
                self.EVIDENCE = CliTest.EVIDENCE.replace("time: 30ms", "time: 600ms").replace(
                    "trials: 5", "trials: 1\nevidence: false").replace(
                        "min_samples: 20", "min_samples: 20" + (", gaps: " + most if most else ""))
                self.measure(PATTERN="third")
                (status, message), = self.query("SELECT status, message FROM trial_end")
                self.assertEqual(status, reached, message)
                self.assertIn("clock.gaps: " if reached == "invalid" else "", message or "")
                self.assertEqual(self.assay("verify", self.db).status, 0)
                second = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
                self.assertEqual(second.returncode, 0, second.stdout)
                found = [f["code"] for f in self.assay("show", "last", "--json", "--db", self.db).document["findings"]]
                self.assertEqual("gaps" in found, reached == "ok", found)

    def test_compiles_in_the_window(self):
        """Its samples are of more than the work, which the module finds and says."""
        call = self.measure(PATTERN="compiles")
        self.assertEqual(call.status, 1, call.out)
        for status, message in self.query("SELECT status, message FROM trial_end"):
            self.assertEqual(status, "invalid", message)
            self.assertRegex(message, "the framework compiled [1-9][0-9]* times in the window")

    def test_compiles_too_long(self):
        self.FAST = CliTest.FAST.replace("200s", "3s")
        call = self.run_synthetic(ASSAY_WORKER=PATTERN, PATTERN="sleeps")
        self.assertEqual(call.status, 1, call.out)
        for status, message in self.query("SELECT status, message FROM trial_end"):
            self.assertEqual(status, "timeout", message)
            self.assertRegex(message, "no word from the worker for 3 s, the protocol's `trial_timeout`.* \\(after hello\\)")

    def test_other_work(self):
        call = self.assay("run", "triad", "--device", "null:0", "--precision", "fp32", "--protocol", self.fast(),
                          "--db", self.db, ASSAY_WORKER=PATTERN)
        self.assertEqual(call.status, 0, call.out)
        for status, message in self.query("SELECT status, message FROM trial_end"):
            self.assertEqual(status, "unsupported", message)
            self.assertIn("hands over no inputs", message)

    def generate(self, measure, scenario, **environment):
        self.new_db()
        return self.assay("run", self.write("made.yaml", GENERATION % (scenario, measure)), "--device", "cpu:0",
                          "--protocol", self.write("evidence.yaml", self.EVIDENCE.replace("trials: 5", "trials: 1\nevidence: false")),
                          "--db", self.db, ASSAY_WORKER=TOKENS, **environment)

    def test_tokens(self):
        """Of requests, prefills and steps, whose place follows from their number."""
        for measure, scenario in (("request", "single_stream"), ("prefill", "offline"), ("decode", "offline"),
                                  ("decode", "single_stream")):
            call = self.generate(measure, scenario)
            self.assertEqual(set(self.query("SELECT status, message FROM trial_end")), {("ok", None)}, call.err)
            phases = {(phase, output) for phase, output in self.query("SELECT phase, output FROM verification")}
            for phase in ("verify_before", "spot_check", "verify_after"):
                self.assertLessEqual({(phase, output) for output in ("logits.live", "logits.top1", "tokens.greedy")},
                                     phases)
            self.assertEqual(self.assay("verify", self.db).status, 0)

    def test_tokens_that_were_not_made(self):
        for mode, measure, at, reason in (
                ("skips", "request", "verify_before, iteration 1", "logits.last"),
                ("skips", "decode", "verify_before, iteration 1", "logits.sampled"),
                ("stale", "request", "spot_check", "logits.last"),
                ("stale", "decode", "spot_check", "logits."),
                ("kept", "request", "spot_check", "logits.last"),
                ("other", "prefill", "verify_before, iteration 1", "logits.top1"),
                ("foreign", "decode", "verify_before, iteration 1", "token 0 of sequence 0 is 1048576")):
            with self.subTest(mode=mode, measure=measure):
                call = self.generate(measure, "offline", TOKENS=mode)
                self.assertEqual(call.status, 1, call.out)
                for status, message in self.query("SELECT status, message FROM trial_end"):
                    self.assertEqual(status, "check_failed", message)
                    self.assertIn(f"the outputs handed over ({at}", message)
                    self.assertIn(reason, message)


class Frameworks(CliTest):
    """What each declares, in each of its modes, by our own checks."""

    def environment(self, **changes):
        place = os.environ.get("ASSAY_WORKERS", os.path.join(os.getcwd(), "test-workers"))
        return super().environment(**{"ASSAY_WORKERS": place, **changes})

    def measure(self, name, workload, *words):
        rows = [row for row in self.assay("worker", "list", "--json").json() if row["name"] == name]
        if not rows[0]["installed"]:
            self.skipTest(f"{name} is not installed (`assay worker install {name}`)")
        for mode in rows[0]["modes"] or [None]:
            self.new_db()
            call = self.assay("run", workload, "--device", "cpu:0", "--worker", name + (f",mode={mode}" if mode else ""),
                              "--protocol", self.write("fast.yaml", self.FAST.replace("trials: 2", "trials: 1")),
                              "--db", self.db, "--json", *words)
            for status, message in self.query("SELECT status, message FROM trial_end"):
                self.assertEqual(status, "ok", message)
            self.assertEqual(call.status, 0, call.err)
            self.assertEqual(self.assay("verify", self.db).status, 0)
            for row in call.json()["results"]:
                facts = self.assay("show", row["id"], "--db", self.db, "--json").json()["trials"][0]["facts"]
                self.assertEqual([facts["framework"][key] for key in ("name", "mode", "precision")],
                                 [name, mode, row["precision"]])
                self.assertEqual(facts["conduct"]["checks"], "assay")
            yield {output: error for output, error in self.query(
                "SELECT c.precision || ' ' || v.output, max(v.error) FROM verification v JOIN trial t ON t.id = v.trial"
                " JOIN cell c ON c.id = t.cell GROUP BY 1")}

    def prefill(self, name):
        for errors in self.measure(name, "gpt2_tiny_batched_inference", "--batch", "4"):
            # The precision that it computes in shows: between the rounding of bf16 and its bound.
            self.assertLess(errors["fp32 logits.last"], 1e-5)
            self.assertGreater(errors["bf16 logits.last"], 1e-3)

    def generation(self, name):
        for errors in self.measure(name, "gpt2_tiny_generation", "--batch", "4", "--precision", "fp32,bf16"):
            self.assertLess(errors["fp32 logits.last"], 1e-5)
            self.assertGreater(errors["bf16 logits.last"], 1e-3)
            self.assertEqual((errors["fp32 tokens.greedy"], errors["bf16 tokens.greedy"]), (0, 0))
        for errors in self.measure(name, self.write("decode.yaml", GENERATION % ("offline", "decode"))):
            self.assertLess(errors["fp32 logits.blocks"], 1e-5)

    def training(self, name):
        for errors in self.measure(name, "gpt2_tiny_training_step"):
            self.assertLessEqual({f"fp32 {output}" for output in ("loss", "grad.wte", "grad.blocks", "adamw.parameters",
                                                                  "adamw.m", "adamw.v", "adamw.still")}, set(errors))
            self.assertLess(errors["fp32 grad.wte"], 1e-4)
            self.assertGreater(errors["bf16 grad.wte"], 1e-4)

    def products(self, name):
        for errors in self.measure(name, "gemm_512", "--precision", "fp32,bf16"):
            self.assertIn("bf16 c", errors)

    def convolutions(self, name):
        for errors in self.measure(name, "conv_resnet50_3x3_7", "--precision", "fp32,bf16", "--batch", "1"):
            self.assertIn("bf16 output", errors)


    def test_honest_trials_pass(self):
        """ASSAY_TEST_HONEST: how many trials, in turn over all that is installed and what it runs, must all be ok."""
        wanted = int(os.environ.get("ASSAY_TEST_HONEST", 0))
        rows = [row for row in self.assay("worker", "list", "--json").json() if row["installed"]]
        cases = [(row["name"] + "@" + row["version"] + (f",mode={mode}" if mode else ""), run)
                 for row in rows for mode in row["modes"] or [None] if mode != "own_precision"
                 for run in row["runs"] if run["kind"] in HONEST and "cpu" in run["devices"]]
        self.assertTrue(cases or not wanted, "no worker is installed")
        counts = {}
        for worker, run in itertools.cycle(cases) if cases else ():
            if sum(counts.values()) >= wanted:
                break
            workload, batch = HONEST[run["kind"]]
            precisions = [p for p in run["precisions"] if p in ("fp32", "bf16")]
            self.new_db()
            call = self.assay("run", workload, "--device", "cpu:0", "--worker", worker, "--batch", batch, "--precision",
                              ",".join(precisions), "--protocol", self.write("fast.yaml", self.FAST), "--db", self.db)
            ends = self.query("SELECT status, message FROM trial_end")
            self.assertEqual(({status for status, _ in ends}, call.status), ({"ok"}, 0), (worker, workload, ends, counts))
            counts[worker, run["kind"]] = counts.get((worker, run["kind"]), 0) + len(ends)
        print(f"{sum(counts.values())} honest trials of {len(counts)} kinds of work ok", file=sys.stderr)


def add(name, part):
    setattr(Frameworks, f"test_{name}_{part}", lambda self: getattr(self, part)(name))


for framework in ("pytorch", "jax", "tensorflow"):
    for piece in ("prefill", "generation", "training", "products", "convolutions"):
        add(framework, piece)


if __name__ == "__main__":
    del globals()["Protocol" if WHEELS else "Frameworks"]
    sys.argv = [word for word in sys.argv if word != "--wheels"]
    run_tests()
