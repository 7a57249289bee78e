"""Servers compare by attainment and capacity: in words, JSON, Markdown and JUnit, pages, and recomputed."""

import os
import subprocess
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import forge  # noqa: E402
from assay_cli import ANYWHERE, CliTest, run_tests, skip_when_busy  # noqa: E402

VERIFIER = os.path.join(os.path.dirname(__file__), "..", "support", "verify.py")

# Limits, lags and a queue that no busy machine exceeds: what decides is how many requests the server has finished when
# the drain ends.
SERVER = """workload: served
version: 1
kind: synthetic
description: A server with declared service times
scenario: server
synthetic: {launches: 1, elements: 64}
service: {base: 1ms, distribution: deterministic}
load: {arrivals: {process: deterministic}, rates: [50, 100]}
batching: {policy: deadline, max_batch: 1, queue: 100}
slo: {e2e: 30s, attain: 0.9}
"""
PROTOCOL = """extends: serving
name: few
version: 1
trials: 5
warmup: {iterations: 2, time: 1ms}
serving: {requests: 60, drain: 3s, lag: 100s}
window: {max_samples: 1000000}
telemetry: {interval: 0s}
trial_timeout: 200s
"""


class ServingGate(CliTest):
    def serve(self, launch_ns):
        """A campaign over both rates: its id."""
        for _ in range(3):  # on a busy machine a trial may be invalid
            call = self.assay("run", self.write("served.yaml", SERVER), "--protocol", self.write("few.yaml", PROTOCOL),
                              "--device", "null:0", "--db", self.db, "--json", ASSAY_NULL=f"launch_ns={launch_ns}")
            if call.status == 0:
                break
        else:
            skip_when_busy(self)
        self.assertEqual(call.status, 0, call.err)
        return call.json()["results"][0]["id"].split("/")[0]

    def gate(self, status, *words):
        call = self.assay("gate", *words, *ANYWHERE, "--json", "--markdown", "gate.md", "--junit", "gate.xml", "--db", self.db)
        self.assertEqual(call.status, status, [one.get("reason") for one in call.json()["comparisons"]])
        with open(os.path.join(self.folder, "gate.md"), encoding="utf-8") as file:
            return call.json(), file.read(), xml.etree.ElementTree.parse(os.path.join(self.folder, "gate.xml"))

    def test_by_attainment_and_capacity(self):
        for _ in range(3):  # a busy machine may not carry the rates, and then there is nothing to pass
            self.new_db()
            quick, again = self.serve(0), self.serve(0)
            words = ("gate", quick, again, *ANYWHERE, "--margin", "0.2", "--no-record", "--db", self.db, "--by")
            if self.assay(*words, "attainment").status == 0 and \
                    "declare higher rates" in self.assay(*words, "capacity").out:
                break
        else:
            skip_when_busy(self)
        slow = self.serve(110_000_000)
        found, text, cases = self.gate(0, quick, again, "--by", "attainment", "--margin", "0.2")
        self.assertEqual((found["decision"], found["family"]), ("passes", 2))
        self.assertIn("2 of 2 comparisons pass.", text)
        self.assertIn("Rule: not worse, and a gate passes, when the whole interval of b - a lies above minus 20 %; worse when", text)
        self.assertEqual([list(case) for case in cases.iter("testcase")], [[], []])

        found, text, cases = self.gate(1, quick, slow, "--by", "attainment", "--margin", "0.1")
        self.assertEqual(found["decision"], "worse")
        for one, rate in zip(found["comparisons"], (50, 100)):
            self.assertEqual((one["verdict"], one["comparison"], one["gate"]["by"]), ("worse", None, "attainment"))
            served = one["served"]
            self.assertLess(served["change"]["hi"], -0.1)
            self.assertAlmostEqual(served["change"]["value"], served["b"]["value"] - served["a"]["value"])
            # On a busy machine the baseline misses a few, too.
            self.assertRegex(text, rf"\| served fp32 batch 1, {rate}/s \| [^|]* \| [^|]* \| attainment [0-9.]+ % -> [^|]* \| \*\*worse\*\* \|\n")
        self.assertEqual([[part.tag for part in case] for case in cases.iter("testcase")], [["failure"]] * 2)

        # All rates of a server are one capacity.
        found, text, _ = self.gate(1, quick, slow, "--by", "capacity")
        (one,) = found["comparisons"]
        self.assertEqual((one["served"]["a"]["lo"], one["served"]["b"]["hi"]), (100, 50))
        self.assertAlmostEqual(one["served"]["change"]["hi"], 0.5)
        self.assertIn("capacity at least 100.0 /s -> at most 50.00 /s", text)
        found, text, cases = self.gate(3, quick, again, "--by", "capacity")
        self.assertEqual(found["decision"], "inconclusive")
        self.assertIn("declare higher rates", text)
        self.assertEqual([[part.tag for part in case] for case in cases.iter("testcase")], [["error"]])

        # In words, of one rate; and in the dossier.
        call = self.assay("gate", f"{quick}/1", f"{slow}/1", *ANYWHERE, "--by", "attainment", "--db", self.db)
        self.assertEqual(call.status, 1, call.err)
        self.assertIn("the attainment of b is lower than that of a by more than 1 % of the requests", call.out)
        page = os.path.join(self.folder, "dossier.html")
        self.assertEqual(self.assay("report", "--dossier", page, quick, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        self.assertIn("as many requests within the limits as of", html)
        self.assertIn("serve as high a rate within the limits as", html)

        self.compare(quick, slow)
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out)
        self.assertIn("9 comparisons", call.out)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_arms_compare_pair_by_pair(self):
        served = self.write("served.yaml", SERVER.replace("rates: [50, 100]", "rates: [50]"))
        for _ in range(3):  # on a busy machine a trial may be invalid
            self.new_db()
            call = self.assay("ab", served, "--protocol", self.write("few.yaml", PROTOCOL), "--device", "null:0", "--a",
                              "env:ASSAY_TEST_ARM=a", "--b", "env:ASSAY_TEST_ARM=b", "--pairs", "5", "--db", self.db,
                              "--json")
            if call.status == 0:
                break
        else:
            skip_when_busy(self)
        self.assertEqual(call.status, 0, call.err)
        made = call.json()
        change = made["served"]["change"]
        self.assertEqual((made["by"], made["served"]["pairs"]), ("attainment", 5))
        self.assertLess(change["lo"], change["value"])
        self.assertGreater(change["hi"], change["value"])
        campaign = made["a"].split("/")[0]
        self.assertIn("by the differences of 5 pairs with the same arrivals",
                      self.assay("compare", campaign, "--db", self.db).out)
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out)
        self.assertIn("1 comparison\n", call.out)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        # A change without a width, as two intervals without one would make it, is found by both verifiers.
        with forge.Forgery(self.db) as forgery:
            self.assertEqual(forgery.edit("comparison", lambda body: body["body"]["served"]["change"].update(
                lo=body["body"]["served"]["change"]["value"])), 1)
            forgery.rewrite()
        self.assertIn("does not follow from what is stored", self.assay("verify", self.db).out)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertIn("its change is not that of its results", done.stdout)
        # What an earlier analysis of servers made is verified where the numbers are the same, else it is not.
        with forge.Forgery(self.db) as forgery:
            forgery.edit("comparison", lambda body: body["body"]["served"]["change"].update(lo=change["lo"]))
            self.assertEqual(forgery.edit("estimate", lambda body: body["body"]["serving"].update(version=1)), 2)
            forgery.rewrite()
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out)
        with forge.Forgery(self.db) as forgery:
            forgery.edit("estimate", lambda body: body["body"]["serving"].update(another=1))
            forgery.rewrite()
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 3, call.out)
        self.assertIn("was made by another version of the analysis of servers: 1, and this is 5", call.out)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

        self.assert_alike_latencies_decide_nothing(campaign)

    def assert_alike_latencies_decide_nothing(self, campaign):
        """Where all pairs have one latency there is no interval of no width, and that is said."""
        with forge.Forgery(self.db) as forgery:
            first, = forgery.db.execute("SELECT min(trial) FROM series").fetchone()
            forgery.db.execute("DELETE FROM series WHERE trial != ?", (first,))
            for trial, in forgery.db.execute("SELECT id FROM trial WHERE id != ?", (first,)).fetchall():
                forgery.db.execute("INSERT INTO series SELECT ?, name, first, count, minimum, maximum, total, data FROM"
                                   " series WHERE trial = ?", (trial, first))
            # As an older analysis would have made them: they are made again of these samples.
            forgery.edit("estimate", lambda body: (body.update(version=1), body["body"].update(version=1)))
            forgery.rewrite(series=True)
        call = self.assay("compare", campaign, "--json", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        made = call.json()["latency"]
        self.assertEqual((made["ratio"], made["no_spread"], made["verdict"]),
                         ({"value": 1, "lo": None, "hi": None}, True, "inconclusive"))
        self.assertIn("nothing is decided", self.assay("compare", campaign, "--db", self.db).out)

    def compare(self, quick, slow):
        """Not by the time of a request, whatever was asked for: of one rate, of two campaigns, and in the page."""
        words = ("compare", f"{quick}/1", f"{slow}/1", "--db", self.db)
        one = self.assay(*words, "--record", "--by", "time", "--json").json()
        self.assertEqual((one["by"], one["verdict"], one["comparison"]), ("attainment", "worse", None))
        shares = []
        for arm in one["arms"]:
            figures = {figure["metric"]: figure for figure in arm["figures"]}
            self.assertLessEqual({"attainment", "goodput", "e2e_p50"}, figures.keys())
            shares.append(figures["attainment"]["value"])
        self.assertLess(shares[1], shares[0] - 0.1)
        self.assertEqual([arm["capacity"]["state"] for arm in one["arms"]], ["at_least", "at_most"])
        call = self.assay(*words, "--exit-status")
        self.assertEqual(call.status, 1, call.err)
        for line in ("the attainment of b is lower than that of a by more than 1 % of the requests", "goodput", "latency p50",
                     "capacity at least 100.0 /s at most 50.00 /s"):
            self.assertIn(line, " ".join(call.out.split()))
        self.assertNotIn("faster", call.out)
        self.assertNotIn("slower", call.out)
        call = self.assay("compare", f"{quick}/1", f"{slow}/1", "--by", "capacity", "--record", "--db", self.db)
        self.assertIn("the capacity of b is lower than that of a by more than 1 %", call.out)
        call = self.assay("compare", quick, slow, "--db", self.db)
        self.assertEqual(call.out.count(" worse\n"), 2, call.out)
        page = os.path.join(self.folder, "report.html")
        self.assertEqual(self.assay("report", "--html", page, quick, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            self.assertIn("compare, attainment", file.read())

    def test_what_is_no_server_is_named(self):
        call = self.assay("run", "synthetic", "--protocol", "quick", "--device", "null:0", "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        one = call.json()["results"][0]["id"]
        call = self.assay("gate", one, one, "--by", "goodput", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("--by goodput: write time, attainment or capacity", call.err)


if __name__ == "__main__":
    run_tests()
