"""A device under load: schedules made beforehand, latencies from the scheduled time, and clear ends."""

import contextlib
import fractions
import hashlib
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import forge  # noqa: E402
import verify_decisions  # noqa: E402
import verify_rules  # noqa: E402
from assay_cli import CliTest, child_of, has_ended, run_tests, skip_when_busy, thorough, wait_until  # noqa: E402

VERIFIER = os.path.join(os.path.dirname(__file__), "..", "support", "verify.py")
OK, UNFINISHED, FAILED, REFUSED, TIMED_OUT = range(5)

SERVER = """workload: served
version: 1
kind: synthetic
description: A server with declared service times
scenario: server
synthetic: {launches: 1, elements: 64}
service: {base: %(base)s, distribution: %(law)s%(stall)s}
load:
  arrivals: {process: %(process)s}
  rates: [%(rates)s]
batching: {policy: deadline, max_batch: %(batch)s, queue: %(queue)s}
slo: {e2e: %(limit)s, attain: 0.9}
"""
PLAIN = {"base": "200us", "law": "exponential", "stall": "", "process": "poisson", "rates": "500, 1000",
         "batch": 4, "queue": 1000, "limit": "50ms"}

PROTOCOL = """extends: serving_look
name: few
version: 1
trials: 2
warmup: {iterations: 2, time: 1ms}
serving: {requests: %d, drain: %s}
telemetry: {interval: 0s}
trial_timeout: 200s
"""


def encode(values):
    """A chunk of samples (results/store/series.h)."""
    least = min(values)
    width = (max(values) - least).bit_length() + 7 >> 3
    head = b"ASF1" + bytes([width, 0, 0, 0]) + struct.pack(">Iq", len(values), least)
    data = b"".join((value - least).to_bytes(width, "big") for value in values)
    return head + hashlib.sha256(head + data).digest()[:8] + data


class Serving(CliTest):
    def declare(self, **changes):
        return self.write("served.yaml", SERVER % dict(PLAIN, **changes))

    # A drain ends with the last request: a long one costs nothing, and a busy machine leaves none unfinished.
    def protocol(self, requests=200, drain="300s", trials=2):
        return self.write("few.yaml", (PROTOCOL % (requests, drain)).replace("trials: 2", f"trials: {trials}"))

    def serve(self, *words, requests=200, drain="300s", trials=2, **changes):
        return self.assay("run", self.declare(**changes), "--protocol",
                          self.protocol(requests, drain, trials), "--device", "null:0", "--db", self.db,
                          *words)

    def log(self, trial):
        """The requests of a trial: {"sent_ns": [...], ...}."""
        found = {}
        for name, value in self.query("SELECT series, value FROM samples WHERE trial = ? AND series"
                                      " LIKE 'request:%' ORDER BY series, number", trial):
            found.setdefault(name.removeprefix("request:"), []).append(value)
        return found

    def findings(self, result=0):
        rows = self.query("SELECT body FROM estimate ORDER BY id")
        return {entry["code"] for entry in json.loads(rows[result][0])["findings"]}

    def assert_verified(self):
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_counter_of_the_generator_is_shown(self):
        self.assertEqual(self.serve(trials=1, rates="500").status, 0)
        self.assert_facts_are_shown("generator", 5)

    def test_each_rate_is_a_cell_and_all_of_it_is_verified(self):
        call = self.serve("--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT scenario FROM cell ORDER BY ordinal"),
                         [("server@500",), ("server@1000",)])
        self.assert_sound()
        self.assert_verified()
        for trial, in self.query("SELECT id FROM trial"):
            log = self.log(trial)
            self.assertEqual({len(column) for column in log.values()}, {200})
            self.assertTrue(all(sent >= at for sent, at in zip(log["sent_ns"], log["scheduled_ns"])),
                            "a request was sent before its time")
            self.assertEqual(set(log["status"]), {OK})
        # The schedule's digest is in the record of the surroundings before the trial.
        digests = self.query("SELECT r.body ->> '$.value' FROM environment n JOIN reading_member m ON"
                             " m.reading_set = n.readings JOIN reading r ON r.id = m.reading WHERE n.at ="
                             " 'before' AND r.name = 'serving.schedule'")
        self.assertEqual(len(set(digests)), 4, digests)

    @thorough
    def test_plan_of_a_fleet(self):
        # Limits that nothing on this machine misses, so that the highest rate is what a unit carries.
        self.write("few.yaml", PROTOCOL % (150, "300s, lag: 100s"))
        for _ in range(4):  # on a machine whose processors others take for long it may be inconclusive
            self.new_db()
            call = self.assay("run", self.declare(rates="40, 80", limit="20s"), "--protocol", "./few.yaml",
                              "--device", "null:0", "--db", self.db, "--json")
            self.assertEqual(call.status, 0, call.err)
            result = call.json()["results"][0]["id"]
            plan = ("plan", result, "--db", self.db, "--json")
            call = self.assay(*plan, "--demand", "1000", "--growth", "1.5", "--availability", "0.9", "--risk",
                              "0.01")
            if call.status == 0:
                break
        else:
            skip_when_busy(self)
        self.assertEqual(call.status, 0, call.err)
        found = call.json()
        self.assertEqual(found["units"][0]["capacity"]["state"], "at_least")
        carried = found["units"][0]["capacity"]["lo"]
        # 80 where few requests are late; between the two where those of a busy machine leave that open.
        self.assertTrue(40 <= carried <= 80, carried)
        self.assertEqual(found["devices"], math.ceil(1500 / carried))
        out = lambda spares: sum(math.comb(found["devices"] + spares, k) * 0.1 ** k *  # noqa: E731
                                 0.9 ** (found["devices"] + spares - k) for k in range(spares + 1))
        self.assertGreaterEqual(out(found["spares"]), 0.99)
        self.assertLess(out(found["spares"] - 1), 0.99)
        self.assertEqual(found["total"], found["devices"] + found["spares"])
        self.assertEqual({note["code"] for note in found["notes"]}, {"at_least", "one_unit"})
        self.check_drawn_plans(result, carried)
        for name, value in (("devices", found["devices"] + 1), ("spares", found["spares"] + 1),
                            ("spares", found["spares"] - 1), ("total", None)):
            self.assertIsNotNone(verify_decisions.wrong("plan", dict(found, **{name: value}), None), name)
        self.assertIsNone(verify_decisions.wrong("plan", found, None))
        # What is recorded names the result, whatever "last" means later.
        call = self.assay("plan", "last/1", "--db", self.db, "--json", "--demand", "7")
        self.assertEqual((call.status, call.json()["results"]), (0, [result]), call.err)
        self.run_synthetic(ASSAY_NULL="launch_ns=200000,seed=1")
        # 100 spans of 1 s, in the k-th of which k requests come: 99 of them have at most 99.
        trace = self.write("trace.csv", "at\n" + "".join(f"{k + i / 200:.3f}\n" for k in range(1, 101)
                                                         for i in range(k)) + "101.5\n")
        call = self.assay(*plan, "--trace", trace, "--column", "at", "--span", "1s")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(call.json()["request"]["demand"], 99)
        call = self.assay(*plan, "--trace", trace, "--column", "at", "--span", "1s", "--quantile", "0.5", "--no-record")
        self.assertEqual(call.json()["request"]["demand"], 50)
        self.assertEqual(self.query("SELECT kind, a, b FROM comparison"), [("plan", 1, None)] * 3)
        self.assert_verified()
        for words, message in ((("--demand", "0"), "--demand 0: write"), ((), "either --demand"),
                               (("--trace", trace, "--demand", "1"), "either --demand"),
                               (("--trace", trace), "trace.csv:1: "), (("--demand", "1", "--risk", "2"), "--risk 2")):
            refused = self.assay("plan", result, "--db", self.db, *words)
            self.assertEqual(refused.status, 2, words)
            self.assertIn(message, refused.err)
        refused = self.assay("plan", result, result.replace("/1", "/2"), "--demand", "9", "--db", self.db)
        self.assertIn("measured on the same unit", refused.err)

    def check_drawn_plans(self, result, carried):
        """50 drawn demands: devices and spares as printed, by exact fractions."""
        draw, plans = random.Random(20261124), []
        for _ in range(50):
            demand, growth = draw.randrange(1, 4000), draw.choice((1, 1.5, 2.25))
            works, risk = draw.choice(("0.9", "0.99", "0.995")), draw.choice(("0.1", "0.01", "0.0003"))
            call = self.assay("plan", result, "--db", self.db, "--no-record", "--demand", str(demand), "--growth",
                              str(growth), "--availability", works, "--risk", risk)
            devices, spares = math.ceil(demand * growth / carried), -1
            enough = fractions.Fraction(0)
            while enough < 1 - fractions.Fraction(risk):
                spares += 1
                n, up = devices + spares, fractions.Fraction(works)
                enough = sum(math.comb(n, k) * (1 - up) ** k * up ** (n - k) for k in range(spares + 1))
            printed = [int(n) for n in re.findall(r"^ +([0-9]+)  (?:to serve|spare|in all)", call.out, re.M)]
            self.assertEqual(printed, [devices, spares, devices + spares], call.out)
            plans.append((devices, devices + spares, float(works), float(risk)))
        # The promise on fleets: in 10^4 draws each, too few devices work no oftener than the risk allows.
        for devices, count, works, risk in plans[:8]:
            short = sum(sum(draw.random() < works for _ in range(count)) < devices for _ in range(10000))
            self.assertLessEqual(short, 10000 * risk + 4 * math.sqrt(10000 * risk) + 1, (devices, count, works, risk))

    def test_a_round_is_one_realisation_at_every_rate(self):
        self.assertEqual(self.serve(trials=1).status, 0)
        times = {scenario: self.log(trial)["scheduled_ns"] for trial, scenario in
                 self.query("SELECT t.id, c.scenario FROM trial t JOIN cell c ON c.id = t.cell")}
        for slow, fast in zip(times["server@500"], times["server@1000"]):
            self.assertAlmostEqual(slow, 2 * fast, delta=2)

    def test_services_are_drawn_anew_in_each_trial(self):
        self.assertEqual(self.serve(base="1ms", process="deterministic", rates="200", batch=1, requests=60).status, 0)
        first, second = ([value for value, in self.query("SELECT value FROM samples WHERE trial = ? AND series = 'wall_ns'"
                                                         " ORDER BY number", trial)]
                         for trial, in self.query("SELECT id FROM trial ORDER BY id"))
        alike = sum(abs(a - b) < 30e3 for a, b in zip(first, second))  # of independent draws some 3 %
        self.assertLess(alike, len(first) / 3, (first, second))

    def test_every_output_has_its_figures(self):
        self.assertEqual(self.serve().status, 0)
        rows = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual([row["scenario"] for row in rows], ["server@500", "server@1000"])
        for row in rows:
            self.assertEqual(row["verdict"], "serving")
            self.assertEqual(row["metric"], "attainment")
        shown = self.assay("show", rows[0]["id"], "--json", "--db", self.db).json()
        estimate = shown["estimate"]
        self.assertEqual(estimate["verdict"], "serving")
        self.assertIn(estimate["serving"]["slo"]["verdict"], ("meets", "misses", "inconclusive"))
        self.assertLessEqual({"attainment", "goodput", "e2e_p99", "ttft_p99", "lag_p99.9"},
                             set(estimate["metrics"]))
        self.assertNotIn("iteration_time", estimate["metrics"])
        self.assertIn("e2e_p99", self.assay("export", "csv", rows[0]["id"], "--db", self.db).out)
        lines = [json.loads(line.removeprefix(":::MLLOG ")) for line in
                 self.assay("export", "mlperf", rows[0]["id"], "--db", self.db).out.splitlines()]
        (line,) = [line for line in lines if line["key"] == "assay_early_stopping"]
        self.assertEqual(line["metadata"]["assumes"], "independent requests")
        totals, slo = estimate["serving"]["totals"], estimate["serving"]["slo"]
        self.assertEqual(line["value"]["misses"], totals["requests"] - totals["met"])
        # The largest number of misses whose chance is 1 % or less where a tenth misses.
        chance, allowed = 0, -1
        while chance + math.comb(totals["requests"], allowed + 1) * 0.1 ** (allowed + 1) * \
                0.9 ** (totals["requests"] - allowed - 1) <= 0.01:
            allowed += 1
            chance += math.comb(totals["requests"], allowed) * 0.1 ** allowed * 0.9 ** (totals["requests"] - allowed)
        self.assertEqual(line["value"]["misses_allowed"], allowed)
        self.assertEqual(line["value"]["passes"], line["value"]["misses"] <= allowed)
        self.assertEqual((slo["mlperf_allowed"], line["metadata"]["assay_verdict"]), (allowed, slo["verdict"]))
        self.assertIn("Under load: served", self.assay("results", "--db", self.db).out)
        history = self.assay("history", "--db", self.db).out
        self.assertRegex(history, r":[0-9]{2}  [0-9.]+ %")  # a share, not "1.000 1"
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "--html", page, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        self.assertIn("<h4>Under load: served fp32 on null:0, null device</h4>", html)
        for heading in ("Requests within the limits over the rate", "Latency end to end over the rate", ">knee<",
                        "Latency \u00b7 " + rows[1]["id"], "Trial 1 \u00b7 " + rows[1]["id"]):
            self.assertIn(heading, html)
        for columns in 80, 120:
            lines = self.assay("show", "--all", rows[0]["id"], "--db", self.db, COLUMNS=str(columns)).out.splitlines()
            sparks = [line for line in lines if line.startswith(("  backlog  ", "  longest  "))]
            self.assertEqual(len(sparks), 2, lines)
            for line in sparks:
                self.assertLessEqual(len(line), columns)
                self.assertGreaterEqual(sum(line.count(block) for block in "▁▂▃▄▅▆▇█ "), columns - 37)
                self.assertIn("█", line)

    def test_a_stalled_server_is_seen(self):
        # Two seconds without an answer, at 100 requests a second. A client that waits for each answer
        # before it asks again would see one slow request; from the scheduled time two hundred are.
        call = self.serve(base="1ms", law="deterministic", stall=", stall_at: 2s, stall: 2s",
                          process="deterministic", rates="100", batch=1, requests=600, trials=1, queue=1000)
        self.assertEqual(call.status, 0, call.err)
        log = self.log(1)
        half = 500_000_000
        slow = sum(done - at > half for done, at in zip(log["done_ns"], log["scheduled_ns"]))
        naive = sum(done - begun > half for done, begun in zip(log["done_ns"], log["admitted_ns"]))
        self.assertGreaterEqual(slow, 149)
        self.assertLess(naive, slow / 4)
        (share, p99), = self.query("SELECT body ->> '$.metrics.attainment.value', body ->>"
                                   " '$.metrics.e2e_p99.value' FROM estimate")
        self.assertLess(share, 0.9)
        self.assertGreater(p99, 1.5e9)
        self.assert_verified()

    def test_requests_that_find_the_queue_full_are_refused(self):
        call = self.serve(base="5ms", rates="100000", queue=8, batch=1, trials=1)
        self.assertEqual(call.status, 0, call.err)
        log = self.log(1)
        self.assertEqual(len(log["status"]), 200)
        self.assertGreater(log["status"].count(REFUSED), 0)
        self.assertEqual(set(log["status"]), {OK, REFUSED})
        self.assertIn("requests_refused", self.findings())
        self.assert_verified()

    def test_a_million_a_second(self):
        call = self.serve(base="1us", rates="1000000", batch=1000, queue=100000, requests=5000, trials=1)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(len(self.log(1)["status"]), 5000)
        self.assert_verified()

    def test_what_is_not_over_after_the_drain_is_unfinished(self):
        call = self.serve(base="20ms", rates="10000", queue=1000, batch=1, trials=1, drain="100ms")
        self.assertEqual(call.status, 0, call.err)
        log = self.log(1)
        self.assertGreater(log["status"].count(UNFINISHED), 100)
        self.assertEqual(log["done_ns"].count(-1), log["status"].count(UNFINISHED))
        self.assertIn("requests_unfinished", self.findings())
        self.assert_verified()

    def test_continuous_batches_make_a_token_a_step(self):
        self.write("tokens.yaml", """workload: tokens
version: 1
kind: synthetic
description: Requests of several tokens
scenario: server
synthetic: {launches: 1, elements: 64}
service: {base: 100us, per_item: 10us}
load:
  arrivals: {process: gamma, cv: 2}
  rates: [500]
  lengths: {output: {law: uniform, min: 1, max: 8}}
batching: {policy: continuous, max_batch: 4}
slo: {ttft: 100ms, tpot: 10ms}
""")
        call = self.assay("run", "./tokens.yaml", "--protocol", self.protocol(trials=1), "--device", "null:0",
                          "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        log = self.log(1)
        (batches,), = self.query("SELECT sum(value) FROM samples s JOIN (SELECT number FROM samples WHERE"
                                 " trial = 1 AND series = 'step:begin_ns' AND value >= 0) w USING (number)"
                                 " WHERE trial = 1 AND series = 'step:batch'")
        self.assertEqual(sum(log["output_tokens"]), batches)
        self.assertEqual(set(log["output_tokens"]), set(range(1, 9)))
        for tokens, first, done, gap in zip(log["output_tokens"], log["first_ns"], log["done_ns"],
                                            log["worst_gap_ns"]):
            self.assertEqual(first == done, tokens == 1)
            self.assertEqual(gap == -1, tokens == 1)
        self.assert_verified()

    def test_a_wrong_result_inside_the_window_voids_the_trial(self):
        # The first download is the check before the warmup, the second the first spot check.
        self.write("few.yaml", PROTOCOL % (200, "300s") + "verification: each_trial\n")
        call = self.assay("run", self.declare(rates="500"), "--protocol", "./few.yaml", "--device", "null:0", "--db",
                          self.db, ASSAY_NULL="fault=download_corrupt@2")
        self.assertEqual(call.status, 1, call.err)
        for status, message in self.query("SELECT status, message FROM trial_end"):
            self.assertEqual(status, "check_failed")
            self.assertIn("spot check 1 of the window", message)
        self.assertEqual(len(self.log(1)["status"]), 200)
        self.assertEqual(self.query("SELECT count(*) FROM estimate"), [(0,)])
        self.assert_verified()

    def test_spot_checks_stop_the_windows_clock(self):
        self.assertEqual(self.serve(rates="500", trials=1).status, 0)
        (facts,), = self.query("SELECT facts FROM trial_end")
        facts = json.loads(facts)
        self.assertEqual(facts["generator"]["pauses"] <= facts["conduct"]["spot_checks"], True)
        self.assertGreaterEqual(facts["conduct"]["spot_checks"], 1)
        self.assertEqual(self.query("SELECT DISTINCT phase FROM verification ORDER BY id"),
                         [("verify_before",), ("spot_check",), ("verify_after",)])

    def forged(self, name, change):
        """What verify finds wrong once a series of every trial is another one, and the log fits it."""
        original = self.db
        self.db = os.path.join(self.folder, "forged.db")
        shutil.copy(original, self.db)
        with forge.Forgery(self.db) as forgery:
            for rowid, data in forgery.db.execute("SELECT rowid, data FROM series WHERE name = ?", (name,)).fetchall():
                values = change(verify_rules.decode(data))
                data = encode(values)
                forgery.db.execute("UPDATE series SET data = ?, minimum = ?, maximum = ?, total = ? WHERE rowid = ?",
                                   (data, min(values), max(values), sum(values), rowid))
            forgery.rewrite(series=True)
        call = self.assay("verify", self.db, "--json")
        self.db = original
        self.assertEqual(call.status, 1, call.out)
        return "\n".join(found["message"] for found in call.json()["findings"] if found["level"] == "wrong")

    def test_a_forged_log_of_requests_is_found(self):
        self.assertEqual(self.serve().status, 0)
        later = self.forged("request:scheduled_ns", lambda values: values[:-1] + [values[-1] - 1])
        self.assertIn("request:scheduled_ns of trial 1 is not the declared schedule", later)
        for name, change, words in (
                ("request:sent_ns", lambda values: [max(value - 10**7, 0) for value in values], "out of order"),
                ("request:done_ns", lambda values: [value - 1000 for value in values], "out of order"),
                ("request:status", lambda values: [REFUSED] + values[1:], "its status excludes"),
                ("step:batch", lambda values: [value + 1 for value in values], "the steps put out")):
            with self.subTest(name=name):
                self.assertIn(words, self.forged(name, change))

        def other_digest(body):
            reading = body["readings"].get("serving.schedule")
            return reading is not None and reading.update(value="0" * 64)

        with forge.Forgery(self.db) as forgery:
            self.assertEqual(forgery.edit("readings", other_digest), 4)
            forgery.rewrite()
        self.assertIn("its schedule had the digest 0000", self.assay("verify", self.db).out)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.count("its schedule is not the declared one"), 4, done.stdout)

    def kill_in_window(self, which):
        """Ends the generator or the worker of a window of an hour."""
        self.declare(rates="1")
        harness = self.start("run", "./served.yaml", "--protocol", self.protocol(requests=3600, trials=1),
                             "--device", "null:0", "--db", self.db)
        worker = wait_until(lambda: child_of(harness.pid, "worker"), harness)

        def generator():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{worker}/task/{worker}/children", encoding="ascii") as file:
                    for child in file.read().split():
                        with open(f"/proc/{child}/comm", encoding="ascii") as name:
                            if name.read().strip() == "assay-load":
                                return int(child)
            return 0

        load = wait_until(generator, harness)
        wait_until(lambda: self.query("SELECT count(*) FROM trial")[0][0] if os.path.exists(self.db) else 0)
        os.kill(load if which == "generator" else worker, signal.SIGKILL)
        out, err = harness.communicate()
        self.assertEqual(harness.returncode, 1, err)
        wait_until(lambda: has_ended(load))
        (status, message), = self.query("SELECT status, message FROM trial_end")
        self.assertEqual(status, "crashed", message)
        self.assert_sound()
        self.assert_verified()
        return message

    def test_a_killed_generator_ends_the_trial(self):
        self.assertIn("generator of requests was ended by signal 9", self.kill_in_window("generator"))
        self.assertEqual(self.query("SELECT sum(count) FROM series WHERE name = 'request:status'"), [(3600,)])

    def test_a_killed_worker_ends_the_trial_and_the_generator(self):
        self.assertIn("signal 9", self.kill_in_window("worker"))

    def test_what_is_declared_wrongly_is_named_with_its_line(self):
        plain = SERVER % PLAIN
        for text, words in (
                (plain.replace("500, 1000", "0"), "served.yaml:10: rate 0; write requests per second"),
                (plain.replace("500, 1000", "500, 500"), "served.yaml:10: rate 500 is listed twice"),
                (plain.replace("slo: {e2e: 50ms, attain: 0.9}\n", ""),
                 "served.yaml:5: `scenario: server` needs the section `slo`"),
                (plain.replace("e2e: 50ms, ", ""), "served.yaml:12: no limit is written"),
                (plain.replace("scenario: server", "scenario: offline"),
                 "served.yaml:8: `load` belongs to `scenario: server`"),
                (plain.replace("process: poisson", "process: gamma"), "this process needs `load.arrivals.cv`"),
                (plain.replace("e2e: 50ms", "tpot: 50ms"), "served.yaml:12: requests make no tokens"),
                (plain.replace("max_batch: 4", "max_batch: 0"), "served.yaml:11: `max_batch` is 0")):
            with self.subTest(words=words):
                path = self.write("served.yaml", text)
                call = self.assay("describe", path)
                self.assertNotEqual(call.status, 0)
                self.assertIn(words, call.err)

    def test_a_protocol_without_requests_is_refused(self):
        call = self.assay("run", self.declare(), "--device", "null:0", "--db", self.db)
        self.assertNotEqual(call.status, 0)
        self.assertIn("serving_look", call.err)


if __name__ == "__main__":
    run_tests()
