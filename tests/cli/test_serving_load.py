"""Loads under which a server is measured: recorded arrivals, and one realisation for both arms of a pair."""

import csv
import json
import math
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import forge  # noqa: E402
from assay_cli import CliTest, run_tests, thorough  # noqa: E402

VERIFIER = os.path.join(os.path.dirname(__file__), "..", "support", "verify.py")

SERVER = """workload: loaded
version: 1
kind: synthetic
description: A server with declared service times
scenario: server
synthetic: {launches: 1, elements: 64}
service: {base: 200us, distribution: exponential}
load: {%s}
batching: {policy: %s, max_batch: 4, queue: 4096}
slo: {e2e: 50ms, attain: 0.9}
"""
TRACE = "arrivals: {process: trace, path: %s, columns: {%s}%s}"
PROTOCOL = """extends: %s
name: few
version: 1
trials: %d
warmup: {iterations: 2, time: 1ms}
serving: {requests: 50, drain: 300s}
window: {max_samples: 1000000}
telemetry: {interval: 0s}
trial_timeout: 200s
"""
TIMES = [0, 0.052, 0.092, 0.352, 0.452]
TOKENS = [(48, 10), (31, 8), (12, 3), (7, 30), (7, 1)]
ROWS = "t,in,out\n" + "".join("%.3f,%d,%d\n" % (5 + at, *tokens) for at, tokens in zip(TIMES, TOKENS))


class Load(CliTest):
    def declare(self, load, policy="deadline"):
        self.declared = SERVER % (load, policy)
        return self.write("loaded.yaml", self.declared)

    def serve(self, *words, command="run", extends="serving_look", trials=3):
        return self.assay(command, "./loaded.yaml", "--protocol", self.write("few.yaml", PROTOCOL % (extends, trials)),
                          "--device", "null:0", "--db", self.db, *words)

    def column(self, trial, name):
        return [value for value, in self.query("SELECT value FROM samples WHERE trial = ? AND series = ?"
                                               " ORDER BY number", trial, "request:" + name)]

    def schedules(self):
        """The digest of each trial's schedule, with its cell and round."""
        return self.query("SELECT t.cell, (t.sequence - 1) / (SELECT count(*) FROM cell), r.body ->> '$.value'"
                          " FROM trial t JOIN environment n ON n.trial = t.id AND n.at = 'before' JOIN"
                          " reading_member m ON m.reading_set = n.readings JOIN reading r ON r.id = m.reading"
                          " WHERE r.name = 'serving.schedule' ORDER BY t.sequence")

    def assert_verified(self, path=None):
        call = self.assay("verify", path or self.db)
        self.assertEqual(call.status, 0, call.out)
        self.assertNotIn("schedules of", call.out)
        done = subprocess.run([sys.executable, VERIFIER, path or self.db], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("were not made again", done.stdout)

    def test_a_trace_is_played_as_it_was_recorded(self):
        self.write("t.csv", ROWS.replace("31,8", "31.0,8.0"))  # as pandas writes what it has as reals
        self.declare(TRACE % ("t.csv", "time: t, prompt: in, output: out", ", scale: 2"), "continuous")
        call = self.serve("--json")
        self.assertEqual(call.status, 0, call.err)
        for trial in 1, 2, 3:
            self.assertEqual(self.column(trial, "scheduled_ns"), [round(at * 5e8) for at in TIMES])
            self.assertEqual(list(zip(self.column(trial, "prompt_tokens"), self.column(trial, "output_tokens"))),
                             TOKENS)
        serving = json.loads(self.query("SELECT body FROM estimate")[0][0])["serving"]
        self.assertEqual(serving["totals"]["requests"], 15, "attainment is over all of a trace")
        self.assertEqual(len(set(self.schedules())), 3)
        self.assertEqual(len({digest for _, _, digest in self.schedules()}), 1)
        # The trace travels with the results: the file is not needed to make the schedule again.
        os.remove(os.path.join(self.folder, "t.csv"))
        self.assert_verified()
        bundle, other = os.path.join(self.folder, "b.assay"), os.path.join(self.folder, "other.db")
        campaign = self.query("SELECT uid FROM campaign")[0][0]
        call = self.assay("bundle", campaign, "--output", bundle, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        call = self.assay("import", bundle, "--db", other)
        self.assertEqual(call.status, 0, call.err)
        self.assert_verified(other)

    def test_a_trace_without_a_scale_is_played_to_the_nanosecond(self):
        """Its rate is rounded for the cell's name alone: 7 gaps in 3.1 s are 2.25806/s, and 2.258064516."""
        times = [0, 0.1, 0.3, 0.9, 1.1, 1.7, 2.9, 3.1]
        self.write("t.csv", "t\n" + "".join("%.1f\n" % at for at in times))
        self.declare(TRACE % ("t.csv", "time: t", ""))
        call = self.serve("--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT scenario FROM cell"), [("server@2.25806",)])
        self.assertEqual(self.column(1, "scheduled_ns"), [round(at * 1e9) for at in times])
        self.assert_verified()

    def test_a_trace_in_milliseconds(self):
        """With its unit it is the same load; without it is refused, not played a thousand times slower."""
        first, *rows = ROWS.splitlines()
        columns = first.split(",")
        at = columns.index("t")
        scaled = [row.split(",") for row in rows]
        for row in scaled:
            row[at] = f"{1000 * float(row[at]):.6f}"
        self.write("t.csv", "\n".join([first, *(",".join(row) for row in scaled)]) + "\n")
        unit = TRACE % ("t.csv", "time: t, prompt: in, output: out", ", unit: ms, scale: 1")
        self.declare(unit, "continuous")
        call = self.serve("--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.column(1, "scheduled_ns"), [round(at * 1e9) for at in TIMES])
        self.assert_verified()
        for load, words in ((unit.replace(", unit: ms", ""), "times look like milliseconds"),
                            (unit.replace("unit: ms", "unit: min"), "unit"),
                            ("arrivals: {process: poisson, unit: ms}, capacity: 9, rates: [9]", "belongs to another process")):
            self.declare(load, "continuous")
            call = self.serve()
            self.assertEqual(call.status, 2, call.out)
            self.assertIn(words, " ".join(call.err.split()))

    def test_rates_scale_a_trace(self):
        self.write("t.csv", ROWS)
        self.declare(TRACE % ("t.csv", "time: t", "") + ", rates: [20, 40]")
        call = self.serve("--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT scenario FROM cell ORDER BY ordinal"), [("server@20",), ("server@40",)])
        own = (len(TIMES) - 1) / TIMES[-1]
        for cell, rate in (1, 20), (2, 40):
            trial = self.query("SELECT min(id) FROM trial WHERE cell = ?", cell)[0][0]
            for at, wanted in zip(self.column(trial, "scheduled_ns"), TIMES):
                self.assertAlmostEqual(at / 1e9, wanted * own / rate, delta=2e-9)
        self.assert_verified()

    def test_rates_are_shares_of_a_declared_capacity(self):
        self.declare("arrivals: {process: poisson}, capacity: 1000, rates: [0.5x, 600]")
        call = self.serve("--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT scenario FROM cell ORDER BY ordinal"), [("server@500",), ("server@600",)])
        self.assert_verified()

    def test_rates_are_shares_of_a_capacity_that_is_measured_first(self):
        # Batches of four take 40 ms, whatever the machine is like: 100 requests/s, or less where others take its time.
        self.write("loaded.yaml", (SERVER % ("arrivals: {process: poisson}, rates: [0.25x, 0.5x, 20]", "deadline")).replace(
            "base: 200us, distribution: exponential", "base: 40ms"))
        call = self.serve(trials=2)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT scenario FROM cell ORDER BY ordinal"),
                         [("server@saturated",), ("server@0.25x",), ("server@0.5x",), ("server@20",)])
        (first,), = self.query("SELECT c.scenario FROM trial t JOIN cell c ON c.id = t.cell ORDER BY t.sequence LIMIT 1")
        self.assertEqual(first, "server@saturated")
        # The capacity by the log of the first trial: requests per time between admissions after the first quarter.
        at = sorted(ns for ns in self.column(1, "admitted_ns") if ns >= 0)
        begin = at[len(at) // 4]
        capacity = sum(ns > begin for ns in at) * 1e9 / (at[-1] - begin)
        self.assertLess(capacity, 101)
        told = self.query("SELECT c.scenario, r.body ->> '$.value' FROM trial t JOIN cell c ON c.id = t.cell JOIN"
                          " environment n ON n.trial = t.id AND n.at = 'before' JOIN reading_member m ON m.reading_set ="
                          " n.readings JOIN reading r ON r.id = m.reading WHERE r.name = 'serving.capacity'")
        self.assertEqual(sorted(told), [("server@0.25x", capacity)] * 2 + [("server@0.5x", capacity)] * 2)
        rates = {scenario: (json.loads(body)["serving"] or {}).get("rate") for scenario, body in
                 self.query("SELECT c.scenario, e.body FROM cell c JOIN estimate e ON e.cell = c.id") if "serving" in
                 json.loads(body)}
        for share in 0.25, 0.5:
            self.assertEqual(rates[f"server@{share}x"], float("%.6g" % (share * capacity)))
        self.assertEqual(rates["server@20"], 20)
        shown = self.assay("results", "--db", self.db).out
        self.assertIn("0.25x is %.6g/s, 0.5x is %.6g/s" % (capacity / 4, capacity / 2), " ".join(shown.split()))
        row = self.assay("results", "--json", "--db", self.db).json()[0]
        self.assertEqual((row["metric"], row["unit"]), ("item_rate", "requests/s"))
        self.assert_verified()
        # Another capacity in its reading is found by both verifiers.
        with forge.Forgery(self.db) as forgery:
            def other(body):
                reading = body["readings"].get("serving.capacity")
                return reading is not None and reading.update(value=12)
            self.assertEqual(forgery.edit("readings", other), 4)
            forgery.rewrite()
        self.assertIn("and the saturated server's trial shows", self.assay("verify", self.db).out)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertIn("its rate is a share of another capacity", done.stdout)

    def test_arms_and_endpoints_need_a_declared_capacity(self):
        self.write("endpoint.yaml", "workload: far\nversion: 1\nkind: endpoint\ndescription: d\nscenario: server\n"
                   "endpoint: {url: 'http://127.0.0.1:9/v1', model: m}\n"
                   "load: {arrivals: {process: poisson}, rates: [0.5x], lengths: {prompt: {law: fixed, mean: 4}, output: "
                   "{law: fixed, mean: 4}}}\nslo: {e2e: 1s}\n")
        call = self.assay("describe", "./endpoint.yaml")
        self.assertNotEqual(call.status, 0)
        self.assertIn("0.5x is a share of the capacity; write `capacity`", call.err)
        self.declare("arrivals: {process: poisson}, rates: [0.5x]")
        call = self.serve("--a", "env:ASSAY_TEST_ARM=a", "--b", "env:ASSAY_TEST_ARM=b", "--pairs", "5", command="ab",
                          extends="serving", trials=5)
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("both arms of a comparison must have one rate: write load.capacity", call.err)

    @thorough
    def test_both_arms_of_a_pair_have_one_realisation(self):
        self.write("t.csv", ROWS)
        for load, fresh in (TRACE % ("t.csv", "time: t", ", scale: 4"), False), \
                           ("arrivals: {process: poisson}, rates: [400, 800]", True):
            self.new_db()
            self.declare(load)
            call = self.serve("--a", "env:ASSAY_TEST_ARM=a", "--b", "env:ASSAY_TEST_ARM=b", "--pairs", "5",
                              "--json", command="ab", extends="serving", trials=5)
            self.assertEqual(call.status, 0, call.err)
            made = call.json()
            for one in made.get("comparisons", [made]):
                self.assertEqual((one["by"], one["comparison"], one["latency"]["pairs"]), ("attainment", None, 5))
            arms = {}
            for cell, repetition, digest in self.schedules():
                scenario = self.query("SELECT scenario FROM cell WHERE id = ?", cell)[0][0]
                arms.setdefault((scenario, repetition), []).append(digest)
            self.assertEqual({len(digests) for digests in arms.values()}, {2})
            self.assertEqual({len(set(digests)) for digests in arms.values()}, {1}, arms)
            self.assertEqual(len({digests[0] for digests in arms.values()}), len(arms) if fresh else 1)
            self.assert_verified()

    def test_a_malformed_trace_is_named_with_its_line(self):
        good = TRACE % ("t.csv", "time: t, prompt: in, output: out", "")
        self.declare(good, "continuous")
        for rows, words in ((None, "t.csv"), (ROWS.replace("31", "x"), "t.csv:3: 'x' is not a number"),
                            (ROWS.replace("5.092", "4"), "t.csv:4: it came before"),
                            (ROWS.replace("31", "3.5"), "t.csv:3: '3.5' is not a number"),
                            (ROWS.replace("31", "-3"), "t.csv:3: '-3' is not a number"),
                            (ROWS.replace("t,in,out", "t,in,in"), "t.csv:1: two columns are named 'in'"),
                            (ROWS.replace("in", "of"), "t.csv:1: there is no column 'in'")):
            if rows is not None:
                self.write("t.csv", rows)
            call = self.serve()
            self.assertEqual(call.status, 2, call.err)
            self.assertIn(words, call.err)
        self.write("t.csv", ROWS)
        for load, policy, words in (
                (good + ", rates: [3]", "continuous", None),
                (good.replace("}}", "}, scale: 2}") + ", rates: [3]", "continuous", "either a `scale` or `rates`"),
                (good.replace("}}", "}, scale: 0}"), "continuous", "loaded.yaml:8: `scale` is 0"),
                (good.replace("}}", "}, requests: 6}"), "continuous", "6 requests of a trace that has 5"),
                (good.replace("}}", "}, sha256: %s}" % ("0" * 64)), "continuous", "names another"),
                (good.replace(", prompt: in", ", prompt: in").replace(", output: out", ""), "continuous",
                 "write the column `output`"),
                ("arrivals: {process: poisson}", "deadline", "`rates` is missing"),
                ("arrivals: {process: poisson}, capacity: 9, rates: [-1]", "deadline", "rates"),
                ("arrivals: {process: poisson}, capacity: 9, rates: [-1x]", "deadline", "-1x"),
                ("arrivals: {process: poisson}, capacity: 9, rates: [1x, 9]", "deadline", "rate 9 is listed twice"),
                ("arrivals: {process: poisson}, capacity: 0, rates: [9]", "deadline", "`capacity` is 0"),
                ("arrivals: {process: trace}", "deadline", "this process needs `load.arrivals.path`")):
            self.declare(load, policy)
            call = self.assay("describe", "./loaded.yaml") if words is None else self.serve()
            self.assertEqual(call.status, 0 if words is None else 2, call.out + call.err)
            self.assertIn(words or "", call.err)

    def test_a_second_verifier_makes_every_process_and_law(self):
        laws = ("law: fixed, mean: 3", "law: uniform, min: 1, max: 9", "law: lognormal, mean: 4, cv: 1.5, max: 60",
                "law: geometric, mean: 3, max: 40")
        for process, law in zip(("gamma, cv: 2", "gamma, cv: 0.4", "on_off, on: 20ms, off: 60ms, rate_ratio: 8",
                                 "on_off, on: 10ms, off: 40ms"), laws):
            self.new_db()
            self.declare("arrivals: {process: %s}, rates: [500], lengths: {output: {%s}}" % (process, law), "continuous")
            call = self.serve(trials=1)
            self.assertEqual(call.status, 0, call.err)
            self.assert_verified()

    def test_energy_of_good_tokens(self):
        self.declare("arrivals: {process: poisson}, rates: [20000], lengths: {output: {law: uniform, min: 1, max: 9}}",
                     "continuous")
        self.write("loaded.yaml", self.declared.replace("e2e: 50ms", "e2e: 20s").replace("queue: 4096", "queue: 4"))
        protocol = PROTOCOL.replace("telemetry: {interval: 0s}", "telemetry: {interval: 20ms}")
        call = self.assay("run", "./loaded.yaml", "--protocol", self.write("few.yaml", protocol % ("serving_look", 3)),
                          "--device", "null:0", "--db", self.db, "--json", ASSAY_NULL="power_mw=120000")
        self.assertEqual(call.status, 0, call.err)
        estimate = json.loads(self.query("SELECT body FROM estimate")[0][0])
        metric = estimate["metrics"]["energy_per_good"]
        self.assertEqual(metric["unit"], "J/token")
        logs = []
        for trial in estimate["energy"][0]["trials"]:
            number = trial["trial_number"]
            # All but those that found the queue full.
            good = sum(tokens for tokens, status in zip(self.column(number, "output_tokens"), self.column(number, "status"))
                       if status == 0)
            self.assertGreater(good, 0)
            self.assertIn(3, self.column(number, "status"), "no request was refused")
            logs.append(math.log(trial["joules"] / good))
        self.assertAlmostEqual(metric["value"] / math.exp(sum(logs) / 3), 1, places=9)
        self.assert_verified()

    def test_power_of_a_load(self):
        self.declare("arrivals: {process: gamma, cv: 2}, rates: [80, 95, 120]")
        words = ("power", "./loaded.yaml", "--capacity", "100", "--precision", "0.1", "--trials", "4",
                 "--margin", "0.02")
        made = self.assay(*words, "--json").json()
        self.assertEqual([rate["load"] for rate in made["rates"]], [0.8, 0.95, 1.2])
        for rate in made["rates"][:2]:
            alone = 1 / (100 * (1 - math.sqrt(rate["load"])) ** 2)
            relaxation = (4 + 1) / 2 * alone + 0.01
            self.assertAlmostEqual(rate["relaxation_s"], relaxation)
            self.assertEqual([need["figure"] for need in rate["needs"]],
                             ["attainment", "p50", "p90", "p99", "p99.9", "capacity"])
            for need in rate["needs"]:
                tail, precision = need["tail"], 0.1
                if need["figure"] == "capacity":
                    precision = 0.02 * math.log(1 / tail) * rate["load"] / (1 - rate["load"]) / 1.4
                self.assertAlmostEqual(need["precision"], precision)
                least = max(10 / tail / 4, 10)
                wanted = max(2.09302405 ** 2 * (1 - tail) / tail / precision ** 2 / 4, least)
                for name, windows in ("least", least), ("wanted", wanted):
                    self.assertAlmostEqual(need[name]["total_s"] / (4 * (windows + 5) * relaxation), 1, places=5)
                    self.assertAlmostEqual(need[name]["requests"] / ((windows + 5) * relaxation * rate["rate"]), 1,
                                           delta=0.01)
        self.assertEqual((made["rates"][2]["relaxation_s"], made["rates"][2]["needs"]), (None, []))
        shown = self.assay(*words)
        self.assertIn("80 requests/s, load 0.8", shown.out)
        self.assertIn("120 requests/s, load 1.2: the backlog grows", shown.out)
        self.assertIn("to ±2 %:", shown.out)
        for words, message in ((("./loaded.yaml",), "the capacity is missing"),
                               (("triad",), "triad is not served under load"),
                               (("./loaded.yaml", "--capacity", "0"), "--capacity 0: write"),
                               (("./loaded.yaml", "--capacity", "9", "--margin", "2"), "--margin 2: write"),
                               (("./loaded.yaml", "--capacity", "9", "--precision", "2"), "--precision 2: write")):
            refused = self.assay("power", *words)
            self.assertEqual(refused.status, 2, refused.err)
            self.assertIn(message, refused.err)

    def test_the_azure_trace(self):
        folder = os.environ.get("ASSAY_TEST_TRACES")
        if not folder:
            self.skipTest("ASSAY_TEST_TRACES names no folder with code.csv of the Azure LLM traces of 2023")
        columns = "time: TIMESTAMP, prompt: ContextTokens, output: GeneratedTokens"
        path = os.path.join(folder, "code.csv")
        self.declare(TRACE % (path, columns, ", scale: 400, requests: 3000"), "continuous")
        call = self.serve("--json")
        self.assertEqual(call.status, 0, call.err)
        with open(path, encoding="utf-8", newline="") as file:
            rows = [row for row, _ in zip(csv.DictReader(file), range(3000))]
        self.assertEqual(self.column(1, "prompt_tokens"), [int(row["ContextTokens"]) for row in rows])
        self.assert_verified()


if __name__ == "__main__":
    run_tests()
