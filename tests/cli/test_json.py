"""--json of every command: one document, as its schema says, on success, error and interruption."""

import contextlib
import copy
import glob
import json
import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, CliTest, document, run_tests, skip_when_busy, validator, wait_until  # noqa: E402
from test_fleet import NAMED  # noqa: E402

SAMPLES = "series,trial,sample_ns\n" + "".join(f"s,{t},{1000 + (7 * i + 3 * t) % 11}\n"
                                               for t in range(3) for i in range(100))
PAIRS = "series,pair,arm,value_ns\n" + "".join(f"s,{p},{arm},{1000 + (7 * p + 3 * k) % 5}\n"
                                               for p in range(8) for k, arm in enumerate("ab"))
HUGE = """workload: huge
version: 1
kind: gemm
description: more floating-point operations than 2^53
precisions: [fp32]
scenario: offline
gemm: {shapes: [{m: 200000, n: 200000, k: 200000}]}
"""


# A server whose limit nothing misses; half of them may, so that few requests show it, late ones beside each other too.
SERVED = """workload: served
version: 1
kind: synthetic
description: a server
scenario: server
synthetic: {launches: 1, elements: 64}
service: {base: 200us, distribution: deterministic}
load: {arrivals: {process: poisson}, rates: [80]}
batching: {policy: deadline, max_batch: 4, queue: 1000}
slo: {e2e: 20s, attain: 0.5}
"""
FEW = """extends: serving_look
name: few
version: 1
trials: 2
warmup: {iterations: 2, time: 1ms}
serving: {requests: 150, drain: 300s, lag: 10s}
telemetry: {interval: 0s}
"""

DECISION = """decision: cards
version: 1
prices: prices.csv
assumptions: {as_of: 2026-11-24}
options:
  - {name: one, result: %s, item: card, kind: device}
  - {name: two, result: %s, item: card, kind: cloud}
requirements:
  - {figure: cost_per_hour, at_most: 5 EUR}
objectives: [cost_per_million_items, item_rate]
"""
CONTRACT = """contract: c
version: 1
items:
  - cell: {workload: served}
    metric: goodput
    limit: at_least
    declared: 2 requests/s
    limiting: 1 requests/s
    trials: 2
"""


class Json(CliTest):
    def setUp(self):
        super().setUp()
        self.commands = [row["command"] for row in self.assay("schema", "--json").json()]

    def stored(self):
        """A database with two results that compare, one that failed, and a key."""
        evidence = self.write("evidence.yaml", self.EVIDENCE)
        run = ("run", "synthetic", "--device", "null:0", "--protocol", evidence, "--db", self.db)
        self.assertEqual(self.assay("key", "new").status, 0)
        self.first, self.second = (self.assay(*run, "--json").json()["results"][0]["id"] for _ in "ab")
        self.assertEqual(self.assay(*run, ASSAY_NULL="launch_ns=200000,seed=1,fault=download_corrupt@2").status, 1)
        self.serve()
        self.fleet = self.serve_fleet()
        self.run_words = run

    def serve(self):
        """A server that keeps up, which a busy machine may prevent."""
        served = self.write("served.yaml", SERVED)
        for _ in range(10):
            call = self.assay("run", served, "--device", "null:0", "--protocol", self.write("few.yaml", FEW), "--db",
                              self.db, "--json")
            self.assertEqual(call.status, 0, call.err)
            self.served = call.json()["results"][0]["id"]
            if self.assay("plan", self.served, "--demand", "1", "--db", self.db).status == 0:
                return
        skip_when_busy(self)
        self.fail("no server keeps up here")

    def serve_fleet(self):
        """A database of three units; None where hosts cannot be named."""
        fleet = os.path.join(self.folder, "fleet.db")
        for unit in ("one", "two", "three"):
            if subprocess.run([*NAMED, unit, ASSAY, "run", "synthetic", "--device", "null:0", "--protocol", self.fast(),
                               "--db", fleet], capture_output=True, env=self.environment(), check=False).returncode:
                return None
        return fleet

    def calls(self):
        """Of every command with --json, calls that succeed; statuses other than 0 are verdicts."""
        fast, evidence = self.fast(), os.path.join(self.folder, "evidence.yaml")
        two = self.write("two.csv", SAMPLES + "".join(f"other{line}\n" for line in SAMPLES.splitlines()[1:]))
        samples, pairs = self.write("samples.csv", SAMPLES), self.write("pairs.csv", PAIRS)
        bundle = os.path.join(self.folder, "bundle.assay")
        prices = self.write("prices.csv", "item,kind,currency,amount,unit,term_months\n"
                            "card,device,EUR,1,each,12\ncard,cloud,EUR,1,hour,\n")
        ab = ("synthetic", "--a", "device=null:0", "--b", "device=null:0", "--pairs", "5", "--protocol",
              evidence)
        other = os.path.join(self.folder, "other.db")
        return {
            "devices": [[], ["null"], ["--verbose"]],
            "doctor": [["--jitter", "0s"], ["--jitter", "1s", "--device", "null:0"]],
            "list": [[]],
            "init": [[], ["protocol"]],
            "describe": [["synthetic"], ["triad"], ["first-look"], ["standard"], ["quick"],
                         [self.write("huge.yaml", HUGE)]],
            "run": [["synthetic", "--device", "null:0", "--protocol", fast, "--plan-only"],
                    ["synthetic", "--device", "null:0", "--protocol", fast],
                    ["synthetic", "--device", "null:0", "--protocol", fast, "--dry-run"],
                    ["synthetic", "--device", "null:0", "--protocol", fast, "--nonce", "n", "--question", "q"]],
            "time": [["true", "--protocol", fast]],
            "results": [[], ["last"], ["--workload", "nothing"]],
            "show": [[self.first], ["last/1"]],
            "compare": [[self.first, self.second], [self.first, self.second, "--record"]],
            "ab": [list(ab), ["synthetic", *ab]],
            "matrix": [["synthetic", "--device", "null:0", "--protocol", evidence, "--over", "env:MATRIX=1,2,3"]],
            "history": [[], [self.first], ["--baseline", "name", self.first], ["--stale"]],
            "gate": [[self.first, self.second], [self.first, self.second, "--no-record"]],
            "cost": [[self.first, self.second, "--prices", prices, "--item", "card"],
                     [self.first, "--prices", prices, "--item", "card", "--no-record"]],
            "decide": [[self.write("decision.yaml", DECISION % (self.first, self.second))]],
            "accept": [[self.write("contract.yaml", CONTRACT), self.served.split("/")[0]]],
            "plan": [[self.served, "--demand", "1"]],
            "fleet": [["synthetic", "--db", self.fleet]] if self.fleet else [],
            "reproduce": [[self.first]],
            "analyze": [[samples], [pairs, "--paired"], [two, "--baseline", SAMPLES.splitlines()[1].split(",")[0]]],
            "power": [["--sd", "0.01"], [self.first], [self.write("contract.yaml", CONTRACT), "--sd", "0.01"],
                      ["synthetic_server", "--capacity", "500"]],
            "calibrate": [["synthetic", "--comparisons", "1", "--device", "null:0", "--pairs", "5", "--protocol", evidence]],
            "verify": [[], [bundle], ["--no-estimates"]],
            "bundle": [["last", "-o", bundle], ["last", "-o", bundle, "--unsigned", "--withhold", "host.name"]],
            "import": [[bundle, "--db", other], [bundle, bundle, "--db", other]],
            "checkpoint": [[], ["--number", "1"], ["--unsigned"], ["export"]],
            "amend": [[self.first, "--reason", "why", "--by", "me"]],
            "key": [["show"], ["list"], ["new", "another"]],
            "worker": [["list"], ["show", "onnxruntime"]],
            "stack": [["list"], ["show", "intel-opencl-rt"]],
            "schema": [[], ["results"]],
        }

    def words(self, command, words):
        stored = "--db" in self.assay(command, "--help").out and "--db" not in words
        if command == "verify" and words and words[0].endswith(".assay"):
            stored = False
        return [command, *words, "--json", *(["--db", self.db] if stored else [])]

    def test_every_command_is_here(self):
        """A new command with --json has a schema and calls in this test."""
        listed = [line.split()[0] for line in self.assay("--help").out.splitlines()
                  if line.startswith("  ") and not line.startswith("   ")]
        with_json = sorted(name for name in listed
                           if name.isalpha() and "--json" in self.assay(name, "--help").out)
        self.first = self.second = self.served = self.fleet = "x"
        self.assertEqual(with_json, sorted(self.commands))
        self.assertEqual(sorted(self.calls()), sorted(self.commands))

    def test_success(self):
        self.stored()
        verdicts = {"accept", "decide", "compare", "ab", "gate", "reproduce"}
        calls = self.calls()
        for command in sorted(self.commands, key=lambda name: name in ("verify", "import")):
            for words in calls[command]:
                with self.subTest(command=command, words=words):
                    call = self.assay(*self.words(command, words))
                    self.assertIn(call.status, (0, 1, 2, 3) if command in verdicts else (0,), call.err)
                    self.assertEqual(call.document["schema"], f"urn:assay:schema:{command}:1")
                    self.assertEqual(call.document["command"], command)
                    self.assertEqual(call.document["errors"], [])
                    self.assertIsNotNone(call.json())

    # What is an error for each command, apart from an unknown option.
    ERRORS = {
        "devices": (["nonsense"], "invalid"), "doctor": (["--jitter", "never"], "invalid"),
        "list": (["too-much"], "invalid"), "init": (["recipe"], "invalid"), "describe": (["nothing-like-it"], "not_found"),
        "run": (["synthetic", "--precision", "fp33"], "invalid"), "results": (["ffffffff"], "not_found"),
        "time": (["true", "--warmup", "many"], "invalid"),
        "show": (["ffffffff/1"], "not_found"), "compare": (["ffffffff/1", "ffffffff/2"], "not_found"),
        "ab": (["synthetic", "--a", "nonsense"], "invalid"), "gate": (["ffffffff"], "not_found"),
        "cost": (["ffffffff/1", "--prices", "no-file.csv"], "not_found"),
        "history": (["ffffffff/1"], "not_found"), "matrix": (["synthetic", "--over", "nonsense"], "invalid"),
        "plan": (["ffffffff/1", "--demand", "1"], "not_found"), "fleet": (["no_such_workload"], "not_found"),
        "accept": (["no-file.yaml"], "not_found"), "decide": (["no-file.yaml"], "not_found"),
        "reproduce": (["ffffffff/1"], "not_found"), "analyze": (["no-file.csv"], "not_found"),
        "power": (["--sd", "2"], "invalid"), "calibrate": (["--comparisons", "0"], "invalid"),
        "verify": (["no-file.db"], "not_found"), "bundle": (["ffffffff", "-o", "x"], "not_found"),
        "import": (["no-file"], "not_found"), "checkpoint": (["--number", "x"], "invalid"),
        "amend": (["ffffffff/1", "--reason", "why"], "not_found"), "key": (["lose"], "invalid"), "worker": (["show", "nowhere"], "not_found"),
        "stack": (["show", "nowhere"], "not_found"),
        "schema": (["nonsense"], "not_found"),
    }

    def check_error(self, words, status, plain=None):
        """The same exit status and line as without --json, and that line in the document."""
        plain = self.assay(*(plain or [word for word in words if word != "--json"]))
        call = self.assay(*words)
        self.assertEqual(call.status, plain.status, call.err)
        self.assertNotEqual(call.status, 0)
        self.assertIsNone(call.json())
        error = call.document["errors"][-1]
        self.assertEqual(error["status"], status, call.out)
        self.assertIn(f"assay: error: {error['message']}", call.err)
        if plain.err.startswith("assay: error: "):
            self.assertEqual(call.err, plain.err)
        return call

    def test_errors(self):
        self.assertEqual(self.run_synthetic().status, 0)
        self.assertEqual(sorted(self.ERRORS), sorted(self.commands))
        for command, (words, status) in self.ERRORS.items():
            with self.subTest(command=command):
                call = self.check_error(self.words(command, words), status)
                self.assertEqual(call.document["command"], command)
                self.check_error([command, "--json", "--nonsense"], "invalid")

    def test_arguments_that_no_command_takes(self):
        for words, said in ((["resluts", "--json"], 'no command "resluts"; did you mean "results"?'),
                            (["report", "--json"], "assay report has no option --json"),
                            (["--json"], 'no command "--json"'),
                            (["show", "--json"], "assay show: it needs ID"),
                            (["list", "--js", "more"], 'too many arguments at "more"'),
                            (["run", "--json", "--lib", "x"], "--lib x: write NAME=PATH"),
                            (["results", "--json", "--limit"], "option '--limit' requires an argument"),
                            (["list", "--json=1"], "doesn't allow an argument"),
                            (["list", "--json", "-Q"], "invalid option -- 'Q'")):
            with self.subTest(words=words):
                call = self.assay(*words)
                self.assertEqual(call.status, 2, call.err)
                self.assertIsNone(call.json())
                (error,) = call.document["errors"]
                self.assertEqual(error["status"], "invalid")
                self.assertIn(said, error["message"])
                self.assertEqual(call.err, f"assay: error: {error['message']}\n")
        for words in (["show", "x", "--series", "--json"], ["show", "x", "--dump", "lscpu", "--json"]):
            call = self.assay(*words)
            self.assertEqual((call.status, call.json()), (2, None))
            self.assertIn("leave out --json", call.document["errors"][0]["message"])

    def test_the_value_of_another_option(self):
        """--json as an option's value does not request JSON."""
        call = self.assay("results", "--workload", "--json", "--db", self.db)
        self.assertEqual((call.status, call.out), (4, ""))

    def test_where(self):
        path = self.write("bad.yaml", "workload: bad\nversion: 1\nkind: synthetic\nlaunches: 3\n")
        (error,) = self.check_error(["describe", path, "--json"], "invalid").document["errors"]
        self.assertEqual(error["where"], f"{path}:4")
        self.assertTrue(error["message"].startswith(f"{path}:4: "), error)
        path = self.write("bad.csv", SAMPLES + "s,0,fast\n")
        (error,) = self.check_error(["analyze", path, "--json"], "invalid").document["errors"]
        self.assertEqual(error["where"], f"{path}:302")

    def test_errors_together_with_data(self):
        """What failed after there was a result is in the same document."""
        call = self.run_synthetic("--json", ASSAY_NULL="launch_ns=200000,seed=1,fault=download_corrupt@2")
        self.assertEqual(call.status, 1)
        self.assertEqual(call.json()["trials_failed"], 2)
        self.assertEqual([e["status"] for e in call.document["errors"]], ["check_failed"])
        samples = self.write("foreign.txt", "nothing that is known")
        self.assertEqual(self.run_synthetic().status, 0)
        bundle = os.path.join(self.folder, "b.assay")
        self.assertEqual(self.assay("bundle", "last", "--unsigned", "-o", bundle, "--db", self.db).status, 0)
        call = self.assay("import", samples, bundle, "--json", "--db", os.path.join(self.folder, "o.db"))
        self.assertNotEqual(call.status, 0)
        self.assertEqual([row["file"] for row in call.json()], [bundle])
        self.assertEqual(len(call.document["errors"]), 1)

    def test_warnings_are_findings(self):
        self.assertEqual(self.run_synthetic().status, 0)
        call = self.assay("checkpoint", "--json", "--db", self.db)
        self.assertEqual(call.status, 0)
        (finding,) = call.document["findings"]
        self.assertEqual(finding["severity"], "warning")
        self.assertEqual(call.err, f"assay: warning: {finding['message']}\n")

    def test_findings_of_a_result(self):
        """What is stored by code and number is in the envelope in words."""
        self.assertEqual(self.run_synthetic().status, 0)
        call = self.assay("show", "last/1", "--json", "--db", self.db)
        stored = {finding["code"] for finding in call.json()["estimate"]["findings"]}
        self.assertTrue(stored)
        self.assertEqual({finding["code"] for finding in call.document["findings"]}, stored)
        self.assertEqual({finding["result"] for finding in call.document["findings"]}, {call.json()["id"]})
        shown = [finding for finding in call.document["findings"] if "result" in finding]
        listed = self.assay("results", "--json", "--db", self.db)
        self.assertEqual([finding for finding in listed.document["findings"]
                          if finding.get("result") == call.json()["id"]], shown)

    def test_integers_that_doubles_do_not_hold(self):
        """document() checks every integer of every document; here are some that are too large."""
        (cost,) = self.assay("describe", self.write("huge.yaml", HUGE), "--json").json()["costs"]
        self.assertEqual(cost["flops"], str(2 * 200000**3))
        self.assertIsInstance(cost["device_memory_bytes"], int)
        plan = self.assay("run", "synthetic", "--device", "null:0", "--dry-run", "--json", "--order-seed",
                          str(2**63 - 1)).json()
        self.assertEqual(plan["order_seed"], str(2**63 - 1))
        self.assertEqual(self.run_synthetic().status, 0)
        ((created,),) = self.query("SELECT created_utc_ns FROM campaign")
        (row,) = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual(row["created_utc_ns"], str(created))
        self.assertEqual(row["created_utc"], row["created"])
        with self.assertRaises(AssertionError):
            document(json.dumps({"schema": "urn:assay:schema:list:1", "version": 2**53 + 1}))

    def test_one_document_when_interrupted(self):
        long = self.write("long.yaml", self.FAST.replace("trials: 2", "trials: 500"))
        run = ("run", "synthetic", "--device", "null:0", "--protocol", long, "--db", self.db, "--json")
        ab = ("ab", "synthetic", "--a", "device=null:0", "--b", "device=null:0", "--pairs", "500", "--protocol",
              self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--json")
        begun = "SELECT count(*) FROM trial_end"

        def trials(child):
            def ended():
                with contextlib.suppress(Exception):
                    return self.query(begun)[0][0]
                return 0
            wait_until(ended, child)

        for words, data in ((run, True), (ab, False)):
            self.new_db()
            words = [self.db if word.endswith(".db") else word for word in words]
            child = self.start(*words)
            trials(child)
            child.send_signal(signal.SIGINT)
            out, err = child.communicate()
            whole = document(out)
            self.assertEqual(child.returncode, 130, err)
            self.assertEqual(whole["data"] is not None, data)
            self.assertEqual([e["status"] for e in whole["errors"]], ["interrupted"])
            self.assertIn("go on with: assay run --resume", whole["errors"][0]["message"])
            self.assertIn(whole["errors"][0]["message"], err)

    def test_one_document_when_ended_by_a_signal(self):
        """A command that does not end cleanly; a second Ctrl-C."""
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            child = self.start("analyze", fifo, "--json")
            with open(fifo, "w", encoding="utf-8"):  # it has opened it, too
                child.send_signal(number)
                out, _ = child.communicate()
            self.assertEqual(child.returncode, -number)
            whole = document(out)
            self.assertEqual((whole["command"], whole["data"]), ("analyze", None))
            self.assertEqual([e["status"] for e in whole["errors"]], ["interrupted"])
        child = self.start("run", "synthetic", "--device", "null:0", "--protocol",
                           self.write("hangs.yaml", self.FAST), "--db", self.db, "--json",
                           ASSAY_NULL="launch_ns=200000,fault=hang@5")
        wait_until(lambda: os.path.exists(self.db) and self.started(), child)
        child.send_signal(signal.SIGINT)
        said = ""
        while "once more to stop at once" not in said:
            said += child.stderr.readline()
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate()
        self.assertEqual(child.returncode, 130)
        self.assertEqual([e["status"] for e in document(out)["errors"]], ["interrupted"])

    def started(self):
        with contextlib.suppress(Exception):
            return self.query("SELECT count(*) FROM trial")[0][0]
        return 0

    def test_shapes_are_closed(self):
        """A member that no table has, one that is missing and one of another type are all found."""
        checker = validator("results")
        if not checker:
            self.skipTest("no python3-jsonschema")
        self.assertEqual(self.run_synthetic().status, 0)
        whole = self.assay("results", "--json", "--db", self.db).document

        def changed(change):
            other = copy.deepcopy(whole)
            change(other, other["data"][0])
            return other

        self.assertTrue(checker.is_valid(whole))
        for change in (lambda d, r: r.update(more=1), lambda d, r: r.pop("value"), lambda d, r: d.update(more=1),
                       lambda d, r: r.update(value="fast"), lambda d, r: d.pop("errors"),
                       lambda d, r: r.update(created_utc_ns=1), lambda d, r: r.pop("created_utc"),
                       lambda d, r: r.update(cell=2**53 + 1), lambda d, r: d.update(command="run"),
                       lambda d, r: d.update(data=None), lambda d, r: d["errors"].append({"status": "odd"})):
            self.assertFalse(checker.is_valid(changed(change)))

    def test_conduct_in_the_format(self):
        """FORMAT.md has each member of a trial's conduct, in the words of the schema."""
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "results", "FORMAT.md"),
                  encoding="utf-8") as file:
            rows = file.read()
        schema = json.loads(self.assay("schema", "show").out)
        trial = schema["properties"]["data"]["anyOf"][0]["properties"]["trials"]["items"]
        facts = trial["properties"]["facts"]["anyOf"][0]
        conduct = facts["properties"]["conduct"]["properties"]
        self.assertTrue(facts["additionalProperties"])
        for members in conduct, conduct["clocks"]["properties"]:
            for name, member in members.items():
                if member.get("format") != "date-time":
                    self.assertIn(f"| `{name}` | {member['description']} |", rows)

    def test_schemas_are_shipped(self):
        """The installed files of the build equal the program's output; each is a schema."""
        folder = os.path.join(self.folder, "schemas")
        os.mkdir(folder)
        self.assertEqual(self.assay("schema", "--write", folder).status, 0)
        names = sorted(os.listdir(folder))
        self.assertEqual(names, sorted(f"{name}-1.schema.json" for name in [*self.commands, "error"]))
        built = os.path.join(os.path.dirname(ASSAY), "..", "schemas")
        self.assertEqual(names, sorted(os.path.basename(path) for path in glob.glob(built + "/*.json")))
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as ours, \
                    open(os.path.join(built, name), encoding="utf-8") as theirs:
                text = ours.read()
                self.assertEqual(text, theirs.read())
            command = name.rpartition("-")[0]
            schema = json.loads(text)
            self.assertEqual(schema["$id"], f"urn:assay:schema:{command}:1")
            self.assertEqual(text, self.assay("schema", command).out)
            if validator(command):
                validator(command).check_schema(schema)


if __name__ == "__main__":
    run_tests()
