"""A served endpoint as a cell: its requests are recorded, judged and shown, and its answers are not."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, child_of, has_ended, skip_when_busy, wait_until  # noqa: E402

SUPPORT = os.path.join(os.path.dirname(__file__), "..", "support")
VERIFIER, SERVER = (os.path.abspath(os.path.join(SUPPORT, name)) for name in ("verify.py", "endpoint_server.py"))
OK, UNFINISHED, FAILED, REFUSED, TIMED_OUT = range(5)
REQUESTS = 60

DECLARED = """workload: served
version: 1
kind: endpoint
description: A server of the test
scenario: server
endpoint:
  url: "http://127.0.0.1:%(port)s/v1"
  model: %(mode)s
%(more)sload:
  arrivals: {process: poisson}
%(load)s  rates: [%(rates)s]
  lengths: {%(prompt)soutput: {law: uniform, min: 2, max: 8}}
slo: {%(slo)s, attain: 0.9}
"""
NEVER = "e2e: 100s"  # on no machine, however busy, a request takes as long
PLAIN = {"port": 1, "mode": "honest", "more": "", "load": "", "rates": "100", "slo": "e2e: 1s",
         "prompt": "prompt: {law: fixed, mean: 5}, "}
STARTED = '  server: {command: [%s, %s, --port, "{port}"], ready: 100s}\n' % (sys.executable, SERVER)

PROTOCOL = """extends: serving_look
name: few
version: 1
trials: 2
warmup: {iterations: 2, time: 1ms}
spot_checks: {count: 4, least: 2}
serving: {requests: %d, drain: 20s, lag: 100s}
telemetry: {interval: 0s}
required: [device.memory, host.os]
trial_timeout: 200s
""" % REQUESTS
OUTSIDE = 1 + 1 + 2 + 1  # set up, checked before, warmed up, checked after


class Endpoint(CliTest):
    def setUp(self):
        super().setUp()
        self.served = os.path.join(self.folder, "served.log")
        self.process = subprocess.Popen([sys.executable, SERVER, "--port", "0", "--gap", "0.001", "--log",
                                         self.served], stdout=subprocess.PIPE, text=True)
        self.port = self.process.stdout.readline().split()[2].rstrip(",")

    def tearDown(self):
        self.process.kill()
        self.process.communicate()
        super().tearDown()

    def measure(self, *words, status=0, protocol=PROTOCOL, **changes):
        call = self.assay("run", self.write("served.yaml", DECLARED % {**PLAIN, "port": self.port, **changes}),
                          "--protocol", self.write("few.yaml", protocol), "--db", self.db, *words)
        self.assertEqual(call.status, status, call.err)
        self.assert_sound()
        return call

    def log(self, trial):
        """The requests of a trial: {"sent_ns": [...], ...}."""
        found = {}
        for name, value in self.query("SELECT series, value FROM samples WHERE trial = ? AND series"
                                      " LIKE 'request:%' ORDER BY series, number", trial):
            found.setdefault(name.removeprefix("request:"), []).append(value)
        return found

    def facts(self):
        return [json.loads(facts) for facts, in self.query("SELECT facts FROM trial_end ORDER BY trial")]

    def estimate(self):
        (body,), = self.query("SELECT body FROM estimate")
        return json.loads(body)

    def figures(self):
        estimate = self.estimate()
        return ({name: metric["value"] for name, metric in estimate["metrics"].items()},
                estimate["serving"]["slo"], {entry["code"]: entry["numbers"] for entry in estimate["findings"]})

    def findings(self):
        return {entry["code"] for entry in self.estimate()["findings"]}

    def assert_verified(self):
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_the_server_saw_agrees(self):
        self.measure()
        with open(self.served, encoding="utf-8") as file:
            lines = sorted((json.loads(line) for line in file), key=lambda line: line["received"])
        self.assertEqual(len(lines), 2 * (REQUESTS + OUTSIDE))
        prompts = {line["body"]["prompt"] for line in lines}
        self.assertEqual(len(prompts), len(lines), "a prompt was sent twice")
        for i, trial in enumerate((1, 2)):
            log, mine = self.log(trial), lines[i * len(lines) // 2:][OUTSIDE - 1:OUTSIDE - 1 + REQUESTS]
            self.assertEqual(set(log["status"]), {OK})
            self.assertEqual(set(log["admitted_ns"]), {-1})
            self.assertEqual(set(log["prompt_tokens"]), {5})
            self.assertEqual(sorted(log["output_tokens"]), sorted(line["body"]["max_tokens"] for line in mine))
            self.assertTrue(all(at <= sent for at, sent in zip(log["scheduled_ns"], log["sent_ns"])))
            # One time of the window's start explains all: sent before received, read after it was sent.
            latest = min(line["received"] - sent for line, sent in zip(mine, sorted(log["sent_ns"])))
            for name, token in (("first_ns", 0), ("done_ns", -1)):
                sent = sorted(line["sent"][token] for line in mine)
                self.assertLessEqual(max(at - seen for at, seen in zip(sent, sorted(log[name]))), latest)
        for facts in self.facts():
            self.assertEqual(facts["endpoint"]["told"]["version"], "1.2.3")
            self.assertEqual(facts["endpoint"]["requests_outside"], OUTSIDE)
            self.assertEqual(facts["endpoint"]["stats"]["reasons"], [])
            self.assertEqual(facts["conduct"]["spot_checks"], 0)
        self.assertEqual(self.query("SELECT backend, type, simulated FROM device"), [("endpoint", "endpoint", 0)])
        self.assert_verified()

    def test_every_output_has_it(self):
        self.measure("--json", rates="50, 100")
        rows = self.assay("results", "--json", "--db", self.db).json()
        # What its server computes with, and in which batches, is not known.
        self.assertEqual([row["implementation"] for row in rows], ["unknown"] * len(rows))
        shown = [line.split() for line in self.assay("show", "--all", rows[0]["id"], "--db", self.db).out.splitlines()]
        self.assertIn(["Implementation", "unknown"], shown)
        self.assertIn(["Precision,", "batch", "unknown,", "not", "recorded"], shown)
        self.assertEqual([(row["scenario"], row["precision"], row["backend"]) for row in rows],
                         [("server@50", "unknown", "endpoint"), ("server@100", "unknown", "endpoint")])
        shown = self.assay("show", rows[0]["id"], "--json", "--db", self.db).json()
        self.assertEqual(shown["device"]["name"], f"honest at http://127.0.0.1:{self.port}/v1")
        self.assertEqual(shown["device"]["readings"]["endpoint.version"]["value"], "1.2.3")
        self.assertIn("outputs_not_checked", {entry["code"] for entry in shown["estimate"]["findings"]})
        self.assertEqual({check["output"] for check in shown["trials"][0]["checks"]}, {"answer", "usage"})
        self.assertIn("endpoint.version", self.assay("show", "--all", rows[0]["id"], "--db", self.db).out)
        for words in (("results",), ("export", "csv", rows[0]["id"])):
            self.assertNotIn("imulated,true", self.assay(*words, "--db", self.db).out)
        self.assertIn("Under load: served", self.assay("results", "--db", self.db).out)
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "--html", page, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertRegex(text, "<h4>Under load: served on endpoint:[^<]*</h4>")
        self.assertNotIn("simulated", text.lower())
        # Another rate is another scenario; the same declaration, measured again, compares.
        call = self.assay("compare", rows[0]["id"], rows[1]["id"], "--db", self.db)
        self.assertIn("identity.scenario differs", call.out)
        self.measure(rates="50, 100")
        again = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual(len(again), 4)
        call = self.assay("compare", again[0]["id"], again[2]["id"], "--db", self.db)
        self.assertNotIn("not comparable", call.out.lower())

    def test_pictures_have_one_scale(self):
        """Those of one server's rates, and those of two servers on one page."""
        protocol = PROTOCOL.replace("trials: 2", "trials: 1").replace("requests: %d" % REQUESTS, "requests: 10")
        for rates, mode in (("50, 100", "honest"), ("20, 70", "slow_first")):
            self.measure(protocol=protocol, rates=rates, mode=mode)
        campaigns = [uid[:8] for uid, in self.query("SELECT uid FROM campaign ORDER BY id")]
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "--html", page, *campaigns, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        pictures = dict(re.findall(r'<svg[^>]*"((?:capacity|rates)[0-9])-t [^>]*>(.*?)</svg>', text, re.DOTALL))
        self.assertEqual(sorted(pictures), ["capacity1", "capacity2", "rates1", "rates2"])
        ticks = {name: re.findall(r'<text[^>]*class="tick"[^>]*>([^<]*)<', picture) for name, picture in pictures.items()}
        self.assertEqual(ticks["capacity1"], ticks["capacity2"])
        self.assertEqual(ticks["rates1"], ticks["rates2"])
        self.assertIn("100", ticks["rates2"])
        self.assertRegex(text, "<h3>Under load: served on endpoint:0, slow_first at http://127.0.0.1:")

    def test_a_server_that_does_not_answer_is_asked_once(self):
        call = self.measure(port="1", rates="50, 100", status=1)
        self.assertEqual(self.query("SELECT status FROM trial_end"), [("unavailable",)])
        self.assertEqual(call.err.count("is the server there?"), 1)
        self.assertIn("the server does not answer, and after 1 of 4 trials no other was run", call.err)
        self.assert_verified()
        call = self.assay("run", "--resume", "last", "--db", self.db)
        self.assertEqual((call.status, self.query("SELECT count(*) FROM trial_end")), (1, [(2,)]))

    def test_limits_are_judged_by_the_declared_capacity(self):
        """Without one it is not known how long a window must be, and that is said with what to write."""
        for load, verdict, reason, words in (
                ("", "inconclusive", "unplanned", "write load.capacity"),
                ("  capacity: 5000\n", "meets", "none", "the limits are met"),
                ("  capacity: 90\n", "inconclusive", "unplanned", "is not below the capacity")):
            with self.subTest(load=load):
                self.new_db()
                self.measure(load=load, slo="e2e: 10s")
                _, slo, _ = self.figures()
                if (slo["verdict"], slo["reason"]) != (verdict, reason):
                    skip_when_busy(self)
                self.assertEqual((slo["verdict"], slo["reason"]), (verdict, reason))
                self.assertIn(words, " ".join(self.assay("show", "--all", "last/1", "--db", self.db).out.split()))
                self.assert_verified()

    def test_stalls_show_in_latency_and_attainment(self):
        self.measure(mode="third_stall")
        slow = [sum(done - at > 2e9 for done, at in zip(log["done_ns"], log["scheduled_ns"]))
                for log in (self.log(1), self.log(2))]
        self.assertGreaterEqual(min(slow), REQUESTS // 3)
        estimate = self.estimate()
        self.assertLess(estimate["metrics"]["attainment"]["value"], 0.75)
        self.assertFalse({"limits_met", "certificate_not_checked"} & self.findings())
        self.assertGreater(estimate["metrics"]["e2e_p99"]["value"], 2e9)
        self.assertGreater(estimate["metrics"]["gap_p99"]["value"], 2e9)
        self.assert_verified()

    def test_what_is_refused_counts(self):
        call = self.measure(mode="third_429", more="  verify_tls: false\n")
        log = self.log(1)
        self.assertEqual(set(log["status"]), {OK, REFUSED})
        self.assertEqual(log["status"].count(REFUSED), REQUESTS // 3)
        self.assertLessEqual({"requests_refused", "certificate_not_checked"}, self.findings())
        self.assertNotIn("batching", call.out)
        self.assertIn("HTTP 429", {entry["reason"] for entry in self.facts()[0]["endpoint"]["stats"]["reasons"]})
        self.assertLess(self.estimate()["metrics"]["attainment"]["value"], 0.75)
        self.assert_verified()

    def test_a_usage_below_what_came_fails_the_check(self):
        self.measure(mode="wrong_usage", status=1)
        self.assertEqual({row for row in self.query("SELECT status FROM trial_end")}, {("check_failed",)})
        self.assert_verified()

    def test_shorter_answers_are_a_finding_or_failures(self):
        """One token where two to eight were asked for."""
        call = self.measure(mode="short_stop", slo=NEVER)
        self.assertEqual(set(self.log(1)["status"]), {OK})
        metrics, _, findings = self.figures()
        self.assertEqual(metrics["attainment"], 1)
        self.assertEqual((findings["answers_short"]["share"], findings["answers_short"]["tokens"]), (1, 1))
        self.assertTrue(4 < findings["answers_short"]["asked"] < 6)
        self.assertIn("100 % of the answers have fewer output tokens than asked for", " ".join(call.out.split()))
        self.assert_verified()

    def test_shorter_answers_than_demanded_fail(self):
        call = self.measure(mode="short_stop", more="  ignore_eos: true\n")
        self.assertEqual(set(self.log(1)["status"]), {FAILED})
        metrics, slo, findings = self.figures()
        self.assertEqual((metrics["attainment"], slo["failures"]), (0, 1))
        self.assertLessEqual({"requests_failed", "requests_ended"}, set(findings))
        # On a busy machine the load is late, of which nothing is judged.
        self.assertTrue({"limits_missed", "load_late"} & set(findings))
        self.assertIn("fewer output tokens than ignore_eos or min_tokens demands", " ".join(call.out.split()))
        self.assertNotIn("lower the rate", call.out)
        self.assert_verified()

    def test_longer_answers_are_a_finding(self):
        self.measure(mode="long_answer", more="  ignore_eos: true\n")
        numbers = self.figures()[2]["answers_long"]
        self.assertEqual((numbers["share"], round(numbers["tokens"] - numbers["asked"], 6)), (1, 4))

    def test_an_end_by_an_error_is_a_failure(self):
        call = self.measure(mode="seventh_error", more="  api: chat\n")
        self.assertEqual(self.log(1)["status"].count(FAILED), 9)
        self.assertLessEqual({"requests_failed", "requests_ended"}, self.findings())
        self.assertIn('9 requests, those of the start included: the answer ended with finish_reason "error"',
                      " ".join(call.out.split()))
        self.assert_verified()

    def test_findings_of_facts_that_are_withheld_are_taken_as_they_are(self):
        self.measure(mode="seventh_error", more="  usage: false\n")
        self.assertLessEqual({"requests_ended", "tokens_by_events"}, self.findings())
        bundle = os.path.join(self.folder, "offer.assay")
        self.assertEqual(self.assay("bundle", "last", "-o", bundle, "--db", self.db, "--withhold",
                                    "trial.facts").status, 0)
        call = self.assay("verify", bundle, "--json").json()
        self.assertEqual((call["wrong"], call["estimates"]), (0, 1), call["findings"])

    def test_prompts_of_a_file_are_recorded_by_digest(self):
        """And no prompt is, nor a part of one."""
        prompts = os.path.join(self.folder, "mine.txt")
        with open(prompts, "w", encoding="utf-8") as file:
            file.write("a secret of ours\n" * 30)
        with open(prompts, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        declared = {"more": "  prompts: {path: mine.txt}\n", "prompt": ""}
        self.measure(**declared)
        with open(self.served, encoding="utf-8") as file:
            self.assertEqual({json.loads(line)["body"]["prompt"] for line in file}, {"a secret of ours"})
        self.assertEqual(self.figures()[2]["prompts_repeated"], {"requests": REQUESTS - 30, "share": 0.5})
        self.assertEqual(self.query("SELECT body ->> '$.endpoint.prompts.sha256' FROM content WHERE body LIKE"
                                    " '%\"kind\":\"endpoint\"%'"), [(digest,)])
        with open(self.db, "rb") as file:
            self.assertNotIn(b"a secret of", file.read())
        self.assert_verified()
        call = self.measure(status=2, **{**declared, "more": f"  prompts: {{path: mine.txt, sha256: {'0' * 64}}}\n"})
        self.assertIn("mine.txt is another file: its SHA-256 is " + digest, call.err)
        call = self.measure(status=2, **{**declared, "prompt": PLAIN["prompt"]})
        self.assertIn("the file has the prompts, and so their lengths", call.err)

    def test_a_stall_after_a_blank_misses_the_limit_of_gaps(self):
        """The time to first output is that of a blank, which is said; a limit on gaps finds what follows."""
        call = self.measure(mode="blank_first", slo="ttft: 100s, gap: 200ms")
        metrics, slo, findings = self.figures()
        self.assertEqual((metrics["attainment"], slo["attainment"]), (0, 0))
        self.assertGreater(metrics["gap_p99"], 3e8)
        self.assertEqual(findings["blank_first_output"]["share"], 1)
        self.assertIn("longest gap between outputs 200 ms", " ".join(call.out.split()))
        self.assert_verified()

    def test_a_usage_above_what_was_asked_for_makes_no_tokens(self):
        self.measure(mode="million_usage", slo=NEVER)
        self.assertLessEqual(max(self.log(1)["output_tokens"]), 8)
        self.assertEqual(self.figures()[2]["usage_above_asked"]["share"], 1)
        self.assert_verified()

    def test_output_at_once_has_no_time_per_token(self):
        for mode, more in (("in_one_piece", ""), ("in_one_burst", ""), ("in_one_piece", "  usage: false\n")):
            with self.subTest(mode + more):
                self.new_db()
                call = self.measure(mode=mode, more=more, slo="ttft: 100s, tpot: 5ms")
                metrics, slo, findings = self.figures()
                self.assertFalse({"tpot_p50", "tpot_p99"} & set(metrics))
                self.assertEqual((slo["verdict"], slo["least"], slo["most"]), ("inconclusive", 0, 1))
                self.assertEqual(findings["output_at_once"]["share"], 1)
                self.assertEqual(findings["limits_undecided"], {"demanded": 0.9, "least": 0, "undecided": 1})
                self.assertRegex(call.out, r"100/s +0-100 % +0-1?[0-9]+ ")
                self.assert_verified()

    def test_a_first_piece_of_several_tokens_is_no_time_per_token(self):
        """Half of the tokens come first, the others each 20 ms."""
        for mode, known in (("first_burst", True), ("first_piece", False)):
            with self.subTest(mode):
                self.db = os.path.join(self.folder, mode + ".db")
                self.measure(mode=mode, rates="20", slo="tpot: 15ms")
                metrics, slo, findings = self.figures()
                if known:
                    self.assertGreater(metrics["tpot_p50"], 19e6)
                    self.assertLess(slo["most"], 0.1)  # pieces that wait in a busy client come together
                else:
                    self.assertNotIn("tpot_p50", metrics)
                    self.assertGreater(findings["output_in_pieces"]["most_ns"], 19e6)
                    self.assertLess(findings["output_in_pieces"]["least_ns"], 0.8 * findings["output_in_pieces"]["most_ns"])
                self.assertNotIn("limits_met", findings)
                self.assert_verified()

    def test_a_usage_that_comes_unasked_is_not_believed(self):
        self.measure(mode="zero_usage", more="  usage: false\n")
        self.assertGreaterEqual(min(self.log(1)["output_tokens"]), 2)
        self.assertEqual(set(self.log(1)["prompt_tokens"]), {5})
        self.assertIn("tokens_by_events", self.findings())
        self.assert_verified()

    def test_nothing_at_the_path_says_what_to_try(self):
        only = [subprocess.Popen([sys.executable, SERVER, "--port", "0", "--api", api], stdout=subprocess.PIPE,
                                 text=True) for api in ("chat", "completions")]
        try:
            chat, plain = (one.stdout.readline().split()[2].rstrip(",") for one in only)
            for port, path, more, asked, advice in (
                    (chat, "/v1", "", "POST http://127.0.0.1:%s/v1/completions (api: completions)",
                     "write `api: chat`"),
                    (plain, "/v1", "  api: chat\n", "POST http://127.0.0.1:%s/v1/chat/completions (api: chat)",
                     "write `api: completions`"),
                    (plain, "", "", "POST http://127.0.0.1:%s/completions (api: completions)",
                     "try `url: http://127.0.0.1:%s/v1`, else `api: chat`"),
                    (plain, "/v1/v1", "", "POST http://127.0.0.1:%s/v1/v1/completions (api: completions)",
                     "the url has /v1 twice; write it once"),
                    (chat, "/v1/chat/completions", "  api: chat\n",
                     "POST http://127.0.0.1:%s/v1/chat/completions/chat/completions (api: chat)",
                     "assay adds /chat/completions to the url"),
                    (plain, "/api/v1", "", "POST http://127.0.0.1:%s/api/v1/completions (api: completions)",
                     "write it as `url`, or try `api: chat`"),
                    (chat, "/v1", "  model: \"unlisted\"\n", "POST http://127.0.0.1:%s/v1/completions",
                     'the server does not list the model "unlisted"')):
                with self.subTest(asked=asked):
                    self.db = os.path.join(self.folder, f"{len(os.listdir(self.folder))}.db")
                    text = (DECLARED % {**PLAIN, "port": port, "more": more}).replace("/v1\"", path + "\"")
                    if "model" in more:
                        text = text.replace("  model: honest\n", "")
                    call = self.assay("run", self.write("served.yaml", text), "--protocol",
                                      self.write("few.yaml", PROTOCOL.replace("trials: 2", "trials: 1")), "--db", self.db)
                    self.assertEqual(call.status, 1, call.out + call.err)
                    (message,), = self.query("SELECT message FROM trial_end")
                    for part in ("HTTP 404", asked, advice):
                        self.assertIn(part % port if "%s" in part else part, message)
        finally:
            for one in only:
                one.kill()
                one.communicate()

    def test_each_counter_is_shown(self):
        self.measure()
        self.assert_facts_are_shown("endpoint", 25)

    def test_a_started_server_is_recorded_and_ended(self):
        self.measure(port="{port}", more=STARTED)
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as maps:
            mapped = {line.split()[5] for line in maps if " r-xp " in line and "/" in line}
        recorded = {path for path, in self.query("SELECT path FROM component WHERE kind = 'server'")}
        self.assertTrue(recorded)
        (campaign,), = self.query("SELECT substr(uid, 1, 8) FROM campaign")
        shown = self.assay("show", campaign + "/1", "--json", "--db", self.db).json()
        self.assertEqual(shown["device"]["readings"]["device.memory"]["status"], "not_applicable")
        self.assertLessEqual({path for path in mapped if "python" in os.path.basename(path)}, recorded)
        # What assay starts has this test's folder in its environment.
        wait_until(lambda: not any(pid.isdigit() and self.is_of_this_test(pid) for pid in os.listdir("/proc")))
        self.assert_verified()

    def test_a_killed_worker_leaves_no_server(self):
        self.write("served.yaml", DECLARED % {**PLAIN, "port": "{port}", "more": STARTED, "rates": "1"})
        self.write("few.yaml", PROTOCOL.replace("trials: 2", "trials: 1"))
        harness = self.start("run", "./served.yaml", "--protocol", "./few.yaml", "--db", self.db)
        worker = wait_until(lambda: child_of(harness.pid, "worker"), harness)
        server = wait_until(lambda: self.server_of(worker), harness)
        os.kill(worker, signal.SIGKILL)
        _, err = harness.communicate()
        self.assertEqual(harness.returncode, 1, err)
        wait_until(lambda: has_ended(server))
        self.assertEqual(self.query("SELECT status FROM trial_end"), [("crashed",)])
        self.assert_verified()

    def server_of(self, worker):
        with open(f"/proc/{worker}/task/{worker}/children", encoding="ascii") as file:
            return next(iter(file.read().split()), None)

    def is_of_this_test(self, pid):
        try:
            with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as file:
                return self.folder in file.read()
        except OSError:
            return False

    def test_a_server_that_ends_ends_its_trial_alone(self):
        self.measure(port="{port}", more=STARTED, mode="quit_later", status=1)
        ends = self.query("SELECT status, message FROM trial_end")
        self.assertEqual(len(ends), 2, "the campaign did not go on")
        for status, message in ends:
            self.assertEqual(status, "crashed")
            self.assertIn("the server ended with exit status 7", message)
        for trial in (1, 2):
            statuses = self.log(trial)["status"]
            self.assertEqual(len(statuses), REQUESTS)
            self.assertGreater(statuses.count(FAILED), 0)
            self.assertGreater(statuses.count(OK), 0)
        self.assert_verified()

    def test_nobody_there(self):
        self.process.kill()
        self.process.wait()
        call = self.measure(status=1)
        said = " ".join(call.out.split())
        self.assertIn("no value was measured", said)
        self.assertNotIn("--protocol standard", said)
        for status, message in self.query("SELECT status, message FROM trial_end"):
            self.assertEqual(status, "unavailable")
            self.assertIn("is the server there?", message)
        self.assert_verified()

    def test_what_is_declared_wrongly_is_named_with_its_line(self):
        plain = DECLARED % PLAIN
        for text, words in (
                (plain.replace("scenario: server\n", ""), "`scenario: server`"),
                (plain.replace("slo:", "batching: {policy: deadline, max_batch: 4}\nslo:"),
                 "served.yaml:13: an endpoint forms its batches itself"),
                (plain.replace("  lengths: {prompt: {law: fixed, mean: 5}, output: {law: uniform, min: 2, max: 8}}\n",
                               ""), "served.yaml:9: requests of an endpoint need `lengths`"),
                (plain.replace("law: fixed, mean: 5", "law: none"), "served.yaml:12: a request has a prompt"),
                (plain.replace("http://", "ftp://"), "served.yaml:7: "),
                (plain.replace("scenario: server", "scenario: server\nprecisions: [bf16, fp16]"),
                 "served.yaml:6: an endpoint computes in what it was started with"),
                (plain.replace("kind: endpoint", "kind: synthetic"), "endpoint"),
                (plain.replace("  model: honest\n", ""), "served.yaml:6: ")):
            with self.subTest(words=words):
                call = self.assay("describe", self.write("served.yaml", text))
                self.assertNotEqual(call.status, 0)
                self.assertIn(words, call.err)

    def test_an_implementation_is_not_chosen(self):
        call = self.assay("run", self.write("served.yaml", DECLARED % PLAIN), "--protocol",
                          self.write("few.yaml", PROTOCOL), "--implementation", "vendor", "--db", self.db)
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("its server chooses the implementation; leave it out", call.err)

    def test_a_device_is_not_chosen(self):
        call = self.assay("run", self.write("served.yaml", DECLARED % PLAIN), "--protocol", "serving_look",
                          "--device", "cpu:0", "--db", self.db)
        self.assertNotEqual(call.status, 0)
        self.assertIn("leave --device out", call.err)


if __name__ == "__main__":
    unittest.main()
