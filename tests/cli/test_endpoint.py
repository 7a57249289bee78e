#!/usr/bin/env python3
"""harness/endpoint against a server that misbehaves (tests/support/endpoint_server.py).

usage: test_endpoint.py DRIVER [unittest arguments]
"""
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from machine import has_ended  # noqa: E402

DRIVER = None
SERVER = pathlib.Path(__file__).resolve().parents[1] / "support" / "endpoint_server.py"
PATIENCE = 1500  # seconds for what only a defect makes hang
MEMORY_MAX = 256 << 20  # far below what the hostile answers would take
# AddressSanitizer keeps what was freed, up to so much.
ASAN = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=16"


class Run:
    """What the driver printed."""

    def __init__(self, process):
        self.status, self.text = process.returncode, process.stdout + process.stderr
        self.said, table = {}, []
        for line in process.stdout.splitlines():
            if line.startswith("# "):
                word, _, value = line[2:].partition(" ")
                self.said[word] = json.loads(value)
            else:
                table.append(line)
        self.requests = list(csv.DictReader(table))
        self.stats = self.said.get("stats", {})

    def statuses(self):
        return [request["status"] for request in self.requests]

    def number(self, column):
        return [int(r[column]) if r[column] else None for r in self.requests]

    def reasons(self):
        return {r["reason"]: r["count"] for r in self.stats["reasons"]}


class EndpointTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.log = cls.path / "log"
        cls.process, cls.port = cls.serve("--log", str(cls.log))

    @classmethod
    def serve(cls, *words):
        process = subprocess.Popen([sys.executable, str(SERVER), "--port", "0", *words],
                                   stdout=subprocess.PIPE, text=True)
        return process, int(process.stdout.readline().split()[2].rstrip(","))

    @classmethod
    def tearDownClass(cls):
        cls.process.kill()
        cls.process.communicate()
        cls.folder.cleanup()

    def drive(self, declaration, *words, **environment):
        path = self.path / "endpoint.yaml"
        path.write_text(declaration)
        return Run(subprocess.run([DRIVER, str(path), *words], capture_output=True, text=True,
                                  timeout=PATIENCE, check=False,
                                  env={**os.environ, "ASAN_OPTIONS": ASAN, **environment}))

    def measure(self, mode, *words, more="", port=None, scheme="http", **environment):
        """Runs four requests or more against a mode; memory and order must be good in each."""
        run = self.drive(f"endpoint:\n  url: {scheme}://127.0.0.1:{port or self.port}/v1\n"
                         f"  model: {mode}\n{more}", "-rate=0", "-count=4", *words, **environment)
        self.assertEqual(run.status, 0, run.text)
        self.assertLess(run.said["process"]["max_rss_bytes"], MEMORY_MAX)
        for request in run.requests:
            times = [int(request[c]) for c in ("scheduled", "sent", "first", "done") if request[c]]
            self.assertEqual(times, sorted(times), request)
        return run

    def assert_all(self, run, status, reason=None, count=4):
        self.assertEqual(run.statuses(), [status] * count, run.text)
        if reason:
            self.assertEqual(run.reasons(), {reason: count}, run.text)
        else:
            self.assertEqual(run.reasons(), {}, run.text)

    def log_of(self, run):
        """The server's lines of the requests of this run, which it writes after its answers."""
        start, deadline = run.said["process"]["start_ns"], time.monotonic() + PATIENCE
        while True:
            whole = self.log.read_text().rpartition("\n")[0].splitlines()
            lines = [line for line in map(json.loads, whole) if line["received"] >= start]
            if len(lines) >= len(run.requests) or time.monotonic() > deadline:
                return lines
            time.sleep(0.02)

    def test_honest(self):
        run = self.measure("honest", "-rate=200", "-count=40", "-prompt=5", "-output=7")
        self.assert_all(run, "ok", count=40)
        self.assertEqual(run.number("output_tokens"), [7] * 40)
        self.assertEqual(run.number("prompt_tokens"), [5] * 40)
        self.assertTrue(all(gap is not None for gap in run.number("worst_gap")))
        self.assertEqual(run.stats["events"], 40 * (7 + 3))
        self.assertIn(run.stats["connections_warm"], range(17))  # as far as there was time
        self.assertEqual((run.stats["prompt_asked"], run.stats["prompt_told"]), (200, 200))
        for name in ("held", "retried", "without_usage", "without_end", "usage_above_events",
                     "usage_below_events", "output_not_as_asked"):
            self.assertEqual(run.stats[name], 0, name)
        probe = run.said["probe"]
        self.assertEqual((probe["version"], probe["health"], probe["server"]),
                         ("1.2.3", 200, "hostile/1"))
        self.assertTrue(probe["model_listed"])

    def test_times_against_the_servers(self):
        """What the server did lies between what the client saw of it."""
        run = self.measure("honest", "-rate=100", "-count=30", "-output=4")
        start = run.said["process"]["start_ns"]
        log = self.log_of(run)
        self.assertEqual(len(log), 30)
        sent, received = sorted(run.number("sent")), sorted(x["received"] - start for x in log)
        for a, b in zip(sent, received):
            self.assertLess(a, b)
        for column, which in (("first", 0), ("done", -1)):
            told = sorted(x["sent"][which] - start for x in log)
            for a, b in zip(told, sorted(run.number(column))):
                self.assertLess(a, b, column)

    def test_requests(self):
        """What the server was sent; the same seed makes the same prompts, another others."""
        words = ("-count=3", "-output=6", "-prompt=9")
        more = "  ignore_eos: true\n  min_tokens: true\n  extra: '{\"temperature\": 0}'\n"
        bodies = []
        for seed in (1, 1, 2):
            run = self.measure("honest", *words, f"-seed={seed}", more=more)
            bodies.append([line["body"] for line in self.log_of(run)])
        prompts = [{body["prompt"] for body in some} for some in bodies]
        self.assertEqual(prompts[0], prompts[1])
        self.assertFalse(prompts[0] & prompts[2])
        self.assertEqual(len(prompts[0]), 3)
        self.assertEqual({len(prompt.split()) for prompt in prompts[0]}, {9})
        body = dict(bodies[0][0])
        del body["prompt"]
        self.assertEqual(body, {"model": "honest", "max_tokens": 6, "min_tokens": 6,
                                "ignore_eos": True, "stream": True, "temperature": 0,
                                "stream_options": {"include_usage": True}})

    def test_prompts_of_a_file(self):
        """In the file's order from a drawn one on, then from its beginning; other members of a line are left out."""
        texts = [f'größe "{i}"\tof things' for i in range(3)]
        forms = {"p.txt": "\ufeff" + "\n".join([texts[0], "", " \t", texts[1] + "\r", texts[2]]),
                 "p.jsonl": "".join(json.dumps({"prompt": text, "id": 7}) + "\n" for text in texts),
                 "texts.jsonl": "".join(json.dumps(text) + "\n" for text in texts)}
        for name, form in forms.items():
            (self.path / name).write_text(form, newline="")
            for api in ("", "  api: chat\n"):
                with self.subTest(name + api):
                    run = self.measure("honest", more=f"{api}  prompts: {{path: {name}}}\n")
                    self.assert_all(run, "ok")
                    self.assertEqual(run.stats["prompts_repeated"], 1)
                    bodies = [line["body"] for line in self.log_of(run)]
                    sent = ([body["messages"] for body in bodies] if api else [body["prompt"] for body in bodies])
                    asked = [[{"role": "user", "content": text}] for text in texts] if api else texts
                    self.assertEqual(sorted(map(sent.count, asked)), [1, 1, 2])
        self.assertEqual(run.stats["prompt_told"], 4 * 4)
        talk = [{"role": "system", "content": "be short"}, {"role": "user", "content": "why?"}]
        (self.path / "talk.jsonl").write_text(json.dumps({"messages": talk}))
        run = self.measure("honest", more="  api: chat\n  prompts: {path: talk.jsonl}\n")
        self.assertEqual([line["body"]["messages"] for line in self.log_of(run)], [talk] * 4)

    def test_files_without_prompts(self):
        for name, bytes_, line, words in (
                ("empty.txt", b"\n \n", "", "has no prompt"), ("latin.txt", b"a\ngr\xf6\n", ":2: ", "text in UTF-8"),
                ("zero.txt", b"a\0b\n", ":1: ", "without the byte 0"),
                ("number.jsonl", b'"a"\n7\n', ":2: ", "a text `prompt`"), ("cut.jsonl", b'{"prompt": "a', ":1: ", "a text `prompt`"),
                ("talk.jsonl", b'{"messages": [{"role": "user", "content": "a"}]}', ":1: ", "a text `prompt`"),
                ("missing.txt", None, "", "No such file")):
            with self.subTest(name):
                if bytes_ is not None:
                    (self.path / name).write_bytes(bytes_)
                error = self.drive("endpoint:\n  url: http://x/v1\n  model: m\n"
                                   f"  prompts: {{path: {name}}}\n").said["error"]
                self.assertEqual(error["status"], "invalid")
                self.assertIn("endpoint.yaml:4: ", error["message"])
                self.assertIn(name + line, error["message"])
                self.assertIn(words, error["message"])

    def test_name_of_the_client(self):
        for more, agent in (("", "assay"), ("  user_agent: python-requests/2.32\n", "python-requests/2.32")):
            self.assertEqual({line["agent"] for line in self.log_of(self.measure("honest", more=more))}, {agent})

    def test_chat(self):
        run = self.measure("honest", "-output=5", more="  api: chat\n")
        self.assert_all(run, "ok")
        self.assertEqual(run.number("output_tokens"), [5] * 4)
        # A role is no output.
        self.assertEqual(run.stats["usage_below_events"] + run.stats["usage_above_events"], 0)
        self.assertEqual(run.stats["events"], 4 * (1 + 5 + 3))

    def test_key(self):
        run = self.measure("echo_key", more="  key_variable: A_KEY\n", A_KEY="very-secret-0815")
        self.assert_all(run, "failed", "HTTP 401")
        self.assertTrue(run.stats["with_key"])
        self.assertEqual(self.log_of(run)[0]["authorization"], "Bearer very-secret-0815")
        self.assertNotIn("very-secret", run.text)
        self.assertIn("wrong: Bearer [key]", run.stats["reasons"][0]["example"])

    def test_key_missing(self):
        run = self.drive("endpoint: {url: 'http://127.0.0.1:1/v1', model: m, key_variable: NO_KEY}")
        self.assertEqual(run.status, 1)
        self.assertIn("NO_KEY is not set", run.said["error"]["message"])

    def test_stall(self):
        run = self.measure("stall")
        self.assert_all(run, "ok")
        self.assertTrue(all(gap >= 1_000_000_000 for gap in run.number("worst_gap")))

    def test_slow_first(self):
        run = self.measure("slow_first")
        self.assert_all(run, "ok")
        self.assertTrue(all(first - sent >= 1_000_000_000 for first, sent in
                            zip(run.number("first"), run.number("sent"))))

    def test_timeout(self):
        run = self.measure("never", more="  request_timeout: 300ms\n")
        self.assert_all(run, "timed_out", "request timeout")
        self.assertTrue(all(run.number("done")))
        self.assertEqual(run.number("first"), [None] * 4)

    def test_unfinished(self):
        run = self.measure("never", "-drain=300000000")
        self.assertEqual(run.statuses(), ["unfinished"] * 4)
        self.assertEqual(run.number("done"), [None] * 4)

    def test_held(self):
        """Two connections for four requests: late, and not left out."""
        run = self.measure("slow_first", more="  connections: 2\n  warm_connections: 1\n")
        self.assert_all(run, "ok")
        self.assertEqual(run.stats["held"], 2)
        self.assertEqual(run.stats["connections_peak"], 2)
        self.assertLessEqual(min(run.number("done")[:2]), min(run.number("sent")[2:]))

    def test_never_sent(self):
        run = self.measure("never", "-drain=3000000000",
                           more="  connections: 1\n  warm_connections: 0\n")
        self.assertEqual(run.statuses(), ["unfinished"] * 4)
        self.assertEqual([sent is None for sent in run.number("sent")], [False, True, True, True])

    def test_wake(self):
        run = self.drive(f"endpoint:\n  url: http://127.0.0.1:{self.port}/v1\n  model: never\n",
                         "-rate=0", "-count=2", "-wake=600000000")
        self.assertEqual(run.status, 1)
        self.assertEqual(run.said["error"]["status"], "interrupted")
        self.assertEqual(run.statuses(), ["unfinished"] * 2)

    def test_usage(self):
        """The usage is believed but where it tells fewer tokens than came, or was not asked for."""
        for mode, tokens, below, above, other in (
                ("wrong_usage", 8, 4, 0, 0), ("zero_usage", 8, 4, 0, 0), ("generous_usage", 8, 0, 4, 0),
                ("real_usage", 8, 0, 0, 0)):
            with self.subTest(mode):
                run = self.measure(mode, "-output=8")
                self.assert_all(run, "ok")
                self.assertEqual((run.stats["usage_below_events"], run.stats["usage_above_events"]), (below, above))
                self.assertEqual(run.stats["output_not_as_asked"], other)
                self.assertEqual(run.number("output_tokens"), [tokens] * 4)
        for mode, more in (("no_usage", ""), ("null_usage", ""), ("zero_usage", "  usage: false\n"),
                           ("text_usage", "  usage: false\n"), ("generous_usage", "  usage: false\n")):
            for api in ("", "  api: chat\n"):
                with self.subTest(mode + api):
                    run = self.measure(mode, "-output=8", "-prompt=5", more=more + api)
                    self.assert_all(run, "ok")
                    self.assertEqual((run.stats["without_usage"], run.stats["usage_below_events"]), (4, 0))
                    self.assertEqual(run.number("output_tokens"), [8] * 4)
                    self.assertEqual(run.number("prompt_tokens"), [5] * 4)
                    self.assertEqual(run.stats["prompt_told"], 0)
        for mode in ("text_usage", "fraction_usage", "negative_usage"):
            with self.subTest(mode):
                self.assert_all(self.measure(mode), "failed",
                                "a usage whose counts are not whole numbers; `usage: false` leaves it out")

    def test_usage_that_cannot_be(self):
        """No usage makes more tokens of an answer than were asked for, or came as events."""
        for mode, tokens, above_asked, above_bytes, blank in (
                ("honest", 8, 0, 0, 0), ("generous_usage", 8, 4, 0, 0), ("million_usage", 8, 4, 0, 0),
                ("long_answer", 12, 4, 0, 0), ("usage_without_text", 8, 0, 4, 0), ("blank_first", 8, 0, 0, 4)):
            for api in ("", "  api: chat\n"):
                with self.subTest(mode + api):
                    run = self.measure(mode, "-output=8", more=api)
                    self.assert_all(run, "ok")
                    self.assertEqual(run.number("output_tokens"), [tokens] * 4)
                    self.assertEqual([run.stats[name] for name in
                                      ("usage_above_asked", "tokens_above_bytes", "blank_first")],
                                     [above_asked, above_bytes, blank])

    def test_ends(self):
        """What an end says counts, and not that there is one."""
        cut = "the stream ended without finish_reason and [DONE]"
        for mode, reason in (
                ("ended_error", 'the answer ended with finish_reason "error"'),
                ("ended_abort", 'the answer ended with finish_reason "abort"'),
                ("ended_filter", 'the answer ended with finish_reason "content_filter"'),
                ("ended_unknown", 'the answer ended with finish_reason "insufficient\\x1Bresource"'),
                ("ended_done", "no finish_reason, and fewer output tokens than asked for"),
                ("every_null_text", cut), ("every_empty", cut), ("more_after_stop", cut)):
            for api in ("", "  api: chat\n"):
                with self.subTest(mode + api):
                    self.assert_all(self.measure(mode, "-output=8", more=api), "failed", reason)
        run = self.measure("closed_in_answer")
        self.assertEqual((run.statuses(), sum(run.reasons().values())), (["failed"] * 4, 4))
        self.assert_all(self.measure("whole_without_reason", "-output=8"), "ok")

    def test_lengths(self):
        """Fewer tokens than asked for are a failure where the server was told to make them."""
        below = "fewer output tokens than ignore_eos or min_tokens demands"
        for more in ("  ignore_eos: true\n", "  min_tokens: true\n", "  ignore_eos: true\n  usage: false\n"):
            with self.subTest(more):
                run = self.measure("short_stop", "-output=8", more=more)
                self.assert_all(run, "failed", below)
                self.assertEqual(run.stats["below_demand"], 4)
        for mode, tokens, more in (("short_stop", 1, ""), ("long_answer", 12, "  ignore_eos: true\n")):
            run = self.measure(mode, "-output=8", more=more)
            self.assert_all(run, "ok")
            self.assertEqual(run.number("output_tokens"), [tokens] * 4)
            self.assertEqual(run.stats["output_not_as_asked"], 4)
        # Events that stand for several tokens are no fewer tokens, where the server says that it was all.
        run = self.measure("in_one_piece", "-output=8", more="  ignore_eos: true\n  usage: false\n")
        self.assert_all(run, "ok")

    def test_pieces(self):
        for mode, outputs, first in (("honest", 8, None), ("in_one_piece", 1, 1), ("in_one_burst", 8, 8),
                                     ("first_piece", 5, 1), ("first_burst", 8, 4)):
            with self.subTest(mode):
                run = self.measure(mode, "-output=8")
                self.assert_all(run, "ok")
                self.assertEqual(run.number("output_tokens"), [8] * 4)
                self.assertEqual(run.number("outputs"), [outputs] * 4)
                if first:
                    self.assertEqual(run.number("first_outputs"), [first] * 4)

    def test_shares(self):
        run = self.measure("third_429", "-count=30")
        self.assertEqual(run.statuses().count("refused"), 10)
        self.assertEqual(run.statuses().count("ok"), 20)
        self.assertEqual(run.reasons(), {"HTTP 429": 10})
        run = self.measure("third_500", "-count=30")
        self.assertEqual(run.statuses().count("failed"), 10)
        example = run.stats["reasons"][0]["example"]
        self.assertTrue(example.startswith("\\x1B[31mout of \\x00 memory\\xFFxxx"), example)
        self.assertEqual(len(example), 203)

    def test_good_answers(self):
        for mode in ("crlf", "bytewise", "closing"):
            with self.subTest(mode):
                run = self.measure(mode, "-output=5")
                self.assert_all(run, "ok")
                self.assertEqual(run.number("output_tokens"), [5] * 4)
        run = self.measure("no_done")
        self.assert_all(run, "ok")
        self.assertEqual(run.stats["without_end"], 4)
        run = self.measure("endless_after_done", more="  limits: {body: 1MiB}\n")
        self.assert_all(run, "ok")
        self.assertLess(run.stats["bytes"], 5 << 20)
        run = self.measure("hang_after_done", more="  request_timeout: 5s\n")
        self.assert_all(run, "ok")

    def test_closed_after_each(self):
        """A new connection for each request, and none of them lost."""
        run = self.measure("closing", "-rate=50", "-count=20",
                           more="  connections: 4\n  warm_connections: 2\n")
        self.assert_all(run, "ok", count=20)
        self.assertGreaterEqual(run.stats["connections_opened"], 18)

    def test_bad_answers(self):
        for mode, status, reason in (
                ("unavailable", "refused", "HTTP 503"),
                ("redirect", "failed", "HTTP 307"),
                ("cut_short", "failed", "the stream ended without finish_reason and [DONE]"),
                ("no_output", "failed", "an answer without output"),
                ("error_in_stream", "failed", "an error in the stream"),
                ("garbage", "failed", "an event that is not the JSON of a completion"),
                ("deep", "failed", "an event that is not the JSON of a completion"),
                ("json_answer", "failed", "the answer is not an event stream"),
                ("gzip_bomb", "failed", "an encoded answer, which was not asked for"),
                ("endless_headers", "failed", "more bytes of headers than the limit"),
                ("huge_line", "failed", "a line longer than the limit")):
            with self.subTest(mode):
                self.assert_all(self.measure(mode), status, reason)

    def test_broken_transport(self):
        """libcurl's own words, which differ from version to version."""
        for mode in ("reset", "reset_at_once", "not_http", "endless_header", "broken_chunks"):
            with self.subTest(mode):
                run = self.measure(mode, more="  request_timeout: 20s\n")
                self.assertEqual(run.statuses(), ["failed"] * 4, run.text)
                self.assertEqual(sum(run.reasons().values()), 4)

    def test_endless(self):
        run = self.measure("endless", more="  limits: {body: 4MiB}\n")
        self.assert_all(run, "failed", "more bytes than the limit")
        run = self.measure("endless", more="  limits: {events: 1000}\n")
        self.assert_all(run, "failed", "more events than the limit")
        run = self.measure("endless_comments", more="  request_timeout: 300ms\n"
                                                    "  limits: {body: 1000GiB}\n")
        self.assert_all(run, "timed_out", "request timeout")
        run = self.measure("endless", "-drain=1000000000",
                           more="  limits: {body: 1000GiB, events: 1000000000}\n")
        self.assertEqual(run.statuses(), ["unfinished"] * 4)
        self.assertTrue(any(run.number("output_tokens")))

    def test_server_gone(self):
        """It ends with the first request: the others find nobody, and each has its times."""
        process, port = self.serve()
        try:
            run = self.measure("quit_all", port=port,
                               more="  connections: 1\n  warm_connections: 0\n")
        finally:
            process.kill()
            process.communicate()
        self.assertEqual(run.statuses(), ["failed"] * 4)
        # Its listening socket may outlive the first connection for a moment.
        self.assertEqual(sum(run.reasons().values()), 4, run.text)
        self.assertTrue(any("connect" in reason for reason in run.reasons()), run.text)
        self.assertNotIn(None, run.number("sent") + run.number("done"))

    def test_tls(self):
        cert, key = self.path / "cert.pem", self.path / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
        process, port = self.serve("--cert", str(cert), "--key", str(key))
        try:
            run = self.drive(f"endpoint: {{url: 'https://127.0.0.1:{port}/v1', model: honest}}")
            self.assertEqual(run.said["error"]["status"], "unavailable", run.text)
            self.assertIn("certificate", run.said["error"]["message"])
            run = self.measure("honest", port=port, scheme="https", more=f"  ca_file: {cert}\n")
            self.assert_all(run, "ok")
            self.assertFalse(run.stats["is_unverified"])
            run = self.measure("honest", port=port, scheme="https", more="  verify_tls: false\n")
            self.assert_all(run, "ok")
            self.assertTrue(run.stats["is_unverified"])
        finally:
            process.kill()
            process.communicate()

    def server(self, *words, ready="20s", health="/health"):
        command = json.dumps([sys.executable, str(SERVER), "--port", "{port}", *words])
        return ("endpoint:\n  url: http://127.0.0.1:{port}/v1\n  model: honest\n"
                f"  server: {{command: {command}, health: {health}, ready: {ready}}}\n")

    def assert_gone(self, pid):
        deadline = time.monotonic() + PATIENCE
        while not has_ended(pid):
            self.assertLess(time.monotonic(), deadline, f"process {pid} is still there")
            time.sleep(0.05)

    def test_server(self):
        run = self.drive(self.server("--slow", "0.5"), "-rate=0")
        self.assertEqual(run.status, 0, run.text)
        self.assertEqual(run.statuses(), ["ok"] * 10)
        self.assertGreater(run.said["server"]["waited_ns"], 0)
        self.assert_gone(run.said["server"]["pid"])

    def test_server_that_leaves_its_group(self):
        """What it started in sessions of their own, the second by the first, ends with it."""
        kept = self.path / "kept"
        leave = "setsid sh -c 'echo $$ >> {0}; setsid sh -c \"echo \\$\\$ >> {0}; exec sleep 600\" & exec sleep 600' &"
        command = ["sh", "-c", leave.format(kept) + ' exec "$@"', "sh", sys.executable, str(SERVER), "--port", "{port}"]
        run = self.drive("endpoint:\n  url: http://127.0.0.1:{port}/v1\n  model: honest\n"
                         f"  server: {{command: {json.dumps(command)}, health: /health, ready: 20s}}\n", "-rate=0")
        self.assertEqual(run.statuses(), ["ok"] * 10)
        pids = kept.read_text().split()
        self.assertEqual(len(pids), 2)
        for pid in pids:
            self.assert_gone(int(pid))

    def test_server_that_ends(self):
        run = self.drive(self.server("--die"))
        self.assertEqual(run.said["error"]["status"], "crashed")
        self.assertIn("the server ended with exit status 3; its last output: CUDA error: no kernel "
                      "image is available", run.said["error"]["message"])

    def test_server_not_ready(self):
        for ready in ("4s", "100s"):  # a busy machine may not start it in so short a time
            error = self.drive(self.server("--slow", "1000", ready=ready)).said["error"]
            self.assertEqual(error["status"], "timeout")
            if "listening on" in error["message"]:
                break
        self.assertIn("/health answers HTTP 503; its last output: listening on", error["message"])

    def test_server_there_before(self):
        text = self.server().replace("{port}", str(self.port))
        self.assertEqual(self.drive(text).said["error"]["status"], "busy")

    def test_server_killed_with_us(self):
        path = self.path / "killed.yaml"
        path.write_text(self.server("--gap", "5"))
        driver = subprocess.Popen([DRIVER, str(path), "-rate=0"], stdout=subprocess.PIPE, text=True)
        try:
            children = pathlib.Path(f"/proc/{driver.pid}/task/{driver.pid}/children")
            deadline = time.monotonic() + PATIENCE
            while not (found := children.read_text().split()) and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertTrue(found)
        finally:
            driver.send_signal(signal.SIGKILL)
            driver.communicate()
        self.assert_gone(int(found[0]))

    def test_declaration(self):
        base = "endpoint:\n  model: m\n  url: "
        for text, line, word in (
                (base + "ftp://x/v1\n", 3, "not of HTTP"),
                (base + "http://u:p@x/v1\n", 3, "user, password"),
                (base + "http://x/v1/\n", 3, "ends in a slash"),
                (base + "http://x:{port}/v1\n", 3, "{port}"),
                (base + "http://x/v1\n  extra: '{]'\n", 4, "no JSON object"),
                (base + "http://x/v1\n  extra: '{\"stream\": false}'\n", 4, "which assay sets"),
                (base + "http://x/v1\n  connections: 0\n", 4, "write 1 to"),
                (base + "http://x/v1\n  warm_connections: 999\n", 4, "more than all"),
                (base + "http://x/v1\n  request_timeout: 0s\n", 4, "1ms to 24h"),
                (base + "http://x/v1\n  server: {command: [a, '{port}']}\n", 4, "in neither"),
                (base + "http://x/v1\n  limits:\n    line: 0\n", 4, "limit of 0"),
                (base + "http://x/v1\n  user_agent: grün\n", 4, "printable characters"),
                (base + "http://x/v1\n  timeout: 3s\n", 4, "timeout")):
            with self.subTest(text):
                error = self.drive(text).said["error"]
                self.assertEqual(error["status"], "invalid")
                self.assertIn(f"endpoint.yaml:{line}: ", error["message"])
                self.assertIn(word, error["message"])

    def test_nobody_there(self):
        run = self.drive("endpoint: {url: 'http://127.0.0.1:1/v1', model: m}")
        self.assertEqual(run.said["error"]["status"], "unavailable")
        self.assertIn("is the server there?", run.said["error"]["message"])


if __name__ == "__main__":
    DRIVER = sys.argv.pop(1)
    unittest.main()
