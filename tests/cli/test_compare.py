"""analyze, compare, ab, gate, power, calibrate: what may be compared, and what is refused and why."""

import html
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ANYWHERE, ASSAY, CliTest  # noqa: E402

import forge  # noqa: E402

FOREIGN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                       "foreign_worker.py")


class Analyze(CliTest):
    def samples(self, series):
        rows = ["series,trial,sample_ns"]
        for name, trials in series.items():
            for trial, values in enumerate(trials):
                rows += [f"{name},{trial},{value}" for value in values]
        return self.write("samples.csv", "\n".join(rows))

    def test_objects_of_the_documented_form(self):
        generator = random.Random(5)
        steady = [[int(1e6 * (1 + generator.gauss(0, 0.01))) for _ in range(400)]
                  for _ in range(5)]
        warm = [[int(1e6 * (1 + generator.gauss(0, 0.01) + math.exp(-i / 20)))
                 for i in range(400)] for _ in range(5)]
        path = self.samples({"steady": steady, "warm": warm, "one": [[7]]})
        call = self.assay("analyze", path, "--json")
        self.assertEqual(call.status, 0, call.err)
        rows = {row["series"]: row for row in call.json()}
        self.assertEqual(list(rows), ["steady", "warm", "one"])
        self.assertEqual(rows["steady"]["verdict"], "steady")
        self.assertEqual(rows["warm"]["verdict"], "after_warmup")
        self.assertTrue(all(trial["steady_from"] > 20 for trial in rows["warm"]["trials"]))
        for name in ("steady", "warm"):
            mean = rows[name]["metrics"]["iteration_time"]
            self.assertLess(mean["lo"], 1e6 * 1.002)
            self.assertGreater(mean["hi"], 1e6 * 0.998)
            self.assertEqual(len(rows[name]["trials"]), 5)
            self.assertEqual(rows[name]["samples"], 2000)
            self.assertIn("process", rows[name]["variance"])
        self.assertGreaterEqual(rows["steady"]["metrics"]["p99.9"]["needed"], 2995)
        self.assertIsNone(rows["one"]["metrics"]["iteration_time"]["lo"])
        self.assertTrue(rows["one"]["findings"])
        # The same input gives the same bytes.
        self.assertEqual(call.out, self.assay("analyze", path, "--json").out)

    def test_a_gpu_whose_power_limit_moves_its_clock(self):
        """Recorded (tests/data/README.md): nothing that drifts so is called steady and no more."""
        recorded = os.path.join(os.path.dirname(__file__), "..", "data", "devices", "h100_samples.csv")
        rows = {row["series"]: row for row in self.assay("analyze", recorded, "--json").json()}
        self.assertEqual({name: row["verdict"] for name, row in rows.items()},
                         {"triad fp32": "undetermined", "gemm_4096 bf16": "steady",
                          "gemm_8192 bf16": "after_warmup", "device_training_step bf16": "steady"})
        # Its first trial leaves its level for 40 samples and returns to it: no warmup, and not without being said.
        self.assertIn("disturbed", [finding["code"] for finding in rows["gemm_4096 bf16"]["findings"]])
        self.assertNotIn("disturbed", [finding["code"] for finding in rows["device_training_step bf16"]["findings"]])
        for trial in rows["gemm_8192 bf16"]["trials"]:
            self.assertGreater(trial["steady_from"], 200)

    def test_pairs(self):
        generator = random.Random(6)
        rows = ["series,pair,arm,value_ns"]
        for pair in range(12):
            drift = 1 + 0.05 * pair
            for name, ratio in (("slower", 1.02), ("same", 1.0), ("faster", 0.97)):
                a = 1e6 * drift * (1 + generator.gauss(0, 0.002))
                b = 1e6 * drift * ratio * (1 + generator.gauss(0, 0.002))
                rows += [f"{name},{pair},a,{a}", f"{name},{pair},b,{b}"]
        call = self.assay("analyze", "--paired", self.write("p.csv", "\n".join(rows)), "--json",
                          "--margin", "0.01")
        self.assertEqual(call.status, 0, call.err)
        verdicts = {row["series"]: row for row in call.json()}
        self.assertEqual(verdicts["slower"]["verdict"], "slower")
        self.assertEqual(verdicts["same"]["verdict"], "equivalent")
        self.assertEqual(verdicts["faster"]["verdict"], "faster")
        self.assertEqual(verdicts["slower"]["pairs"], 12)
        self.assertGreater(verdicts["slower"]["ratio"]["lo"], 1.01)

    def test_a_family_of_pairs(self):
        """Of forty series, a few differ by chance, which is reported; one really differs."""
        generator = random.Random(2)
        rows = ["series,pair,arm,value_ns"]
        for series in range(41):
            for pair in range(10):
                for arm, ratio in (("a", 1), ("b", 1.05 if series == 40 else 1)):
                    rows.append(f"s{series},{pair},{arm},{1e6 * ratio * (1 + generator.gauss(0, 0.005))}")
        path = self.write("p.csv", "\n".join(rows))
        rows = self.assay("analyze", "--paired", path, "--json").json()
        ranked = sorted(rows, key=lambda row: row["p_difference"])
        self.assertEqual((ranked[0]["series"], ranked[0]["verdict"]), ("s40", "slower"))
        self.assertLess(ranked[0]["p_difference_family"], 0.001)
        holm, screen = 0, 1
        for rank, row in enumerate(ranked):
            holm = max(holm, min(row["p_difference"] * (41 - rank), 1))
            self.assertAlmostEqual(row["p_difference_family"], holm)
            self.assertEqual(row["family"], 41)
        for rank in range(41, 0, -1):
            screen = min(screen, ranked[rank - 1]["p_difference"] * 41 / rank)
            self.assertAlmostEqual(ranked[rank - 1]["q_difference"], screen)
        chance = [row for row in ranked[1:] if row["differs"]]
        self.assertTrue(chance and not any(row["verdict"] in ("faster", "slower") for row in ranked[1:]))
        self.assertEqual(self.assay("analyze", "--paired", path).out.count("occurs by chance"),
                         len(chance))

    def test_wrong_input(self):
        for text, part in (("", "empty"), ("a,b\n", "there is no column sample_ns; there are: a, b"),
                           ("series,trial,sample_ns\nx,1,NaN\n", ":2: \"NaN\""),
                           ("series,trial,sample_ns\nx,1,\"5\n", "quoted")):
            call = self.assay("analyze", self.write("bad.csv", text))
            self.assertEqual(call.status, 2)
            self.assertIn(part, call.err)
        self.assertEqual(self.assay("analyze", "absent.csv").status, 2)
        self.assertEqual(self.assay("analyze", "absent.csv", "--margin", "7").status, 2)


    def test_columns_units_and_names_of_trials(self):
        generator = random.Random(8)
        rows = ["host,what,took_ms"]
        for host, drift in (("steady-1", 0), ("steady-2", 0), ("moving-3", 0.2)):
            rows += [f"{host},job,{(1 + drift * i / 300) * (1 + generator.gauss(0, 0.002))}" for i in range(300)]
        path = self.write("other.csv", "\n".join(rows))
        words = ("analyze", path, "--column", "took_ms", "--trial-column", "host", "--series-column", "what")
        (row,) = self.assay(*words, "--json").json()
        self.assertEqual((row["series"], row["trial_names"]), ("job", ["steady-1", "steady-2", "moving-3"]))
        (drift,) = [f for f in row["findings"] if f["code"] == "drift"]
        self.assertEqual(row["trial_names"][drift["trial_number"] - 1], "moving-3")
        out = self.assay(*words).out
        self.assertIn("! trial moving-3: drift of", out)
        def mean(unit):
            (row,) = self.assay("analyze", self.write("u.csv", "x\n" + "5\n" * 40), "--column", "x",
                                "--unit", unit, "--json").json()
            return row["metrics"]["iteration_time"]["value"]
        self.assertEqual([mean(u) for u in ("ns", "us", "ms", "s")], [5, 5e3, 5e6, 5e9])
        self.assertEqual(self.assay("analyze", path).status, 2)

    def test_unpaired(self):
        generator = random.Random(9)
        def values(ratio):
            return [int(1e6 * ratio * (1 + generator.gauss(0, 0.01))) for _ in range(300)]
        path = self.samples({"old": [values(1.0) for _ in range(6)], "new": [values(0.9) for _ in range(6)],
                             "same": [values(1.0) for _ in range(6)]})
        call = self.assay("analyze", path, "--baseline", "old", "--json", "--margin", "0.02")
        rows = call.json()[3:]
        self.assertEqual([(r["series"], r["baseline"], r["basis"], r["verdict"]) for r in rows],
                         [("new", "old", "trials", "faster"), ("same", "old", "trials", "equivalent")])
        self.assertRegex(self.assay("analyze", path, "--baseline", "old").out, r"new is 1[01]\.?\d* % faster than old \[")
        # With one trial each there is no spread between processes, which is reported.
        one = self.samples({"old": [values(1.0)], "new": [values(0.9)], "many": [values(1.0), values(1.0)]})
        call = self.assay("analyze", one, "--baseline", "old")
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("many is not compared with old: 1 and 2 of their trials have a mean", call.err)
        self.assertRegex(call.out, r"new is 1[01]\.?\d* % faster than old \[")
        self.assertNotIn("many is", call.out)
        one = self.samples({"old": [values(1.0)], "new": [values(0.9)]})
        call = self.assay("analyze", one, "--baseline", "old")
        self.assertEqual(call.status, 0, call.err)
        self.assertRegex(call.out, r"new is 1[01]\.?\d* % faster than old \[")
        self.assertIn("what differs between processes", call.out)
        self.assertEqual(self.assay("analyze", one, "--baseline", "older").status, 2)

    def test_some_series_cannot_be_compared(self):
        """Too short for an interval: it is named, and the others are compared; as the baseline it is an error."""
        generator = random.Random(4)
        def values(count, ratio):
            return [int(1e6 * ratio * (1 + generator.gauss(0, 0.01))) for _ in range(count)]
        path = self.samples({"old": [values(300, 1)], "short": [values(4, 1)], "new": [values(300, 0.9)]})
        call = self.assay("analyze", path, "--baseline", "old", "--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual([r["series"] for r in call.json() if "baseline" in r], ["new"])
        self.assertIn("short is not compared: its samples allow no interval", call.err)
        call = self.assay("analyze", path, "--baseline", "short")
        self.assertEqual(call.status, 2)
        self.assertIn("--baseline short: its samples allow no interval", call.err)

    def test_analyze_two_files(self):
        """The newer against the older one: by name, or the only series of each; the answer comes first."""
        def listed(name, level, tests):
            draw = random.Random(name)
            return self.write(name, json.dumps({"benchmarks": [{"fullname": test, "stats": {
                "data": [level * draw.gauss(1, .01) for _ in range(60)]}} for test in tests]}))
        old, new = listed("old.json", 1, ("a", "b", "gone")), listed("new.json", 1.1, ("b", "a", "come"))
        call = self.assay("analyze", old, new, "--json")
        self.assertEqual(call.status, 0, call.err)
        rows = [row for row in call.json() if "baseline" in row]
        self.assertEqual([(row["series"], row["baseline"], row["verdict"]) for row in rows],
                         [(f"{new}: {name}", f"{old}: {name}", "slower") for name in ("b", "a")])
        self.assertEqual({row["basis"] for row in rows}, {"within_one_trial"})
        for row in rows:
            self.assertAlmostEqual(row["ratio"]["value"], 1.1, delta=.02)
        self.assertIn(f"{new}: come is not compared: the first file has no such series", call.err)
        numbers = [self.write(name, "".join(f"{random.Random(name).gauss(level, .01)}\n" for _ in range(1)) + "".join(
            f"{level + .001 * (n % 7)}\n" for n in range(80))) for name, level in (("x.txt", 1), ("y.txt", .5))]
        call = self.assay("analyze", *numbers, "--unit", "ms")
        self.assertEqual(call.status, 0, call.err)
        self.assertRegex(call.out, "^%s is 1[.]9.* times faster than %s " % tuple(map(re.escape, reversed(numbers))))
        self.assertEqual(call.out.count("grade"), 2)
        for words, reason in (((old, numbers[0], "--unit", "ms"), "can be compared with one of the first"),
                              (("-", "-"), "cannot be both files"), ((old, new, "--paired"), "--paired is for one file"),
                              ((old, new, "--baseline", "a"), "--baseline is for one file")):
            call = self.assay("analyze", *words)
            self.assertEqual(call.status, 2, words)
            self.assertIn(reason, call.err)

    def test_hyperfine(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "hyperfine")
        path = os.path.join(folder, "two_commands.json")
        with open(path, encoding="utf-8") as file:
            data = json.load(file)["results"]
        rows = self.assay("analyze", path, "--json").json()
        self.assertEqual([r["series"] for r in rows], [t["command"] for t in data])
        self.assertEqual([r["samples"] for r in rows], [20, 20])
        self.assertRegex(self.assay("analyze", path, "--baseline", "true").out,
                         r"sleep 0\.01 is [\d.]+ times slower than true \[")
        call = self.assay("analyze", os.path.join(folder, "two_commands.csv"))
        self.assertEqual(call.status, 2)
        self.assertIn("--export-json", call.err)


class Compare(CliTest):
    def measure(self, *words, workload="synthetic", protocol=None, **environment):
        protocol = protocol or self.write("evidence.yaml", self.EVIDENCE)
        call = self.assay("run", workload, "--device", "null:0", "--protocol", protocol, "--db",
                          self.db, "--json", *words, **environment)
        self.assertEqual(call.status, 0, call.err)
        return call.json()["results"][0]["id"]

    def compare(self, *words):
        call = self.assay("compare", *words, "--json", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        return call.json()

    def gate(self, *words):
        return self.assay("gate", *words, "--allow-foreign-worker", *ANYWHERE, "--db", self.db).status

    def measure_slower(self):
        """A baseline, and a candidate that measurably takes twice as long."""
        self.new_db()
        return [self.measure(ASSAY_WORKER=FOREIGN, FOREIGN_NS=ns) for ns in ("200000", "400000")]

    def test_conditions_that_could_turn_it(self):
        """They stand in the first line and in the record, and the second verifier looks for them in the estimates."""
        a, b = self.measure_slower()
        found = {"code": "contention", "trial_number": 1, "numbers": {"cores": 0.7}}
        with forge.Forgery(self.db) as forgery:
            self.assertEqual(forgery.edit("estimate", lambda body: body["body"]["findings"].append(found)), 2)
            forgery.rewrite()
        said = " ".join(self.assay("compare", a, b, "--db", self.db).out.split())
        self.assertRegex(said, r"^b is [0-9.]+ times slower than a \[[^]]*\] on synthetic fp32, under contention by other processes[^.]*, which can turn it\.")
        self.assertIn("repeat it at another hour", said)
        self.assertIn("contention", self.compare(a, b)["conditions"])
        self.assertEqual(self.assay("compare", a, b, "--record", "--db", self.db).status, 0)
        verifier = [sys.executable, os.path.join(os.path.dirname(__file__), "..", "support", "verify.py"), self.db]
        told = "its conditions are not those of its results"
        self.assertNotIn(told, subprocess.run(verifier, capture_output=True, text=True, check=False).stdout)
        with forge.Forgery(self.db) as forgery:
            self.assertEqual(forgery.edit("comparison", lambda body: body["body"].pop("conditions") and None), 1)
            forgery.rewrite()
        self.assertIn(told, subprocess.run(verifier, capture_output=True, text=True, check=False).stdout)

    def test_gate_undecided_under_contention(self):
        """A gate is inconclusive on results with the finding contention, unless --under allows it."""
        protocol = self.write("longer.yaml", self.EVIDENCE.replace("{time: 30ms", "{time: 300ms"))
        a = self.measure(protocol=protocol, ASSAY_WORKER=FOREIGN, FOREIGN_NS="200000")
        with self.busy_machine():
            b = self.measure(protocol=protocol, ASSAY_WORKER=FOREIGN, FOREIGN_NS="400000")
        words = ("gate", a, b, "--allow-foreign-worker", "--db", self.db)
        call = self.assay(*words, "--junit", "gate.xml")
        first = " ".join(call.out.split())
        self.assertEqual(call.status, 3, call.err)
        self.assertRegex(first, "^assay gate: inconclusive Undecided (under .* in %s, )?under contention by other processes.* in %s: repeat it at "
                         "another hour, or allow the condition by --under" % (a, b))
        self.assertIn("gate undecided under ", call.err)
        with open(os.path.join(self.folder, "gate.xml"), encoding="utf-8") as file:
            self.assertRegex(file.read(), 'message="inconclusive.* under contention by other processes')
        body = self.assay(*words, "--json", "--no-record").json()
        self.assertEqual((body["gate"]["decision"], "under" in body["gate"]), ("inconclusive", False))
        (contention,) = [one for one in body["gate"]["undecided_by"] if one["result"] == b]
        self.assertIn("contention", contention["conditions"])
        call = self.assay(*words, "--under", ",".join(body["conditions"]), "--json")
        self.assertEqual((call.status, call.json()["gate"]["decision"]), (1, "worse"), call.err)
        self.assertEqual((call.json()["gate"]["under"], call.json()["conditions"]), (body["conditions"], body["conditions"]))
        self.assertEqual([row[1] for row in self.stored()], ["inconclusive", "worse"])
        self.assertEqual(self.assay("verify", self.db).status, 0)
        verifier = [sys.executable, os.path.join(os.path.dirname(__file__), "..", "support", "verify.py"), self.db]
        self.assertEqual(subprocess.run(verifier, check=False).returncode, 0)

        def passes(record):
            if record["verdict"] == "inconclusive":
                record["verdict"] = record["body"]["gate"]["decision"] = "passes"
        with forge.Forgery(self.db) as forgery:
            forgery.edit("comparison", passes)
            forgery.rewrite()
        self.assertEqual(self.assay("verify", self.db).status, 1)
        self.assertIn("it decides under conditions that it was not told to allow",
                      subprocess.run(verifier, capture_output=True, text=True, check=False).stdout)
        call = self.assay(*words, "--under", "contention,heat")
        self.assertEqual(call.status, 2)
        self.assertIn("--under contention,heat: write contention, steal,", call.err)

    def stored(self):
        return self.query("SELECT kind, verdict, a, b FROM comparison ORDER BY id")

    def short(self):
        """Options for pairs that take a tenth of a second an arm."""
        return ("--protocol", self.write("evidence.yaml", self.EVIDENCE))

    def workload(self, version, precisions="[fp32]"):
        return self.write(f"w{version}.yaml", f"workload: mine\nversion: {version}\n"
                          "kind: synthetic\ndescription: d\n"
                          f"precisions: {precisions}\nbatches: [1]\nscenario: offline\n"
                          "synthetic: {launches: 1, elements: 100}\n")

    def test_every_recorded_field_has_a_class(self):
        identifier = self.measure()
        fields = self.compare(identifier, identifier)["comparability"]["fields"]
        self.assertGreater(len(fields), 40)
        self.assertEqual([f["field"] for f in fields
                          if f["why"] == "no class is declared for it"], [])

    def test_same_conditions(self):
        a = self.measure()
        b = self.measure()
        result = self.compare(a, b)
        self.assertEqual(result["comparability"]["verdict"], "comparable_except")
        self.assertIn("device.simulated", result["comparability"]["except"])
        self.assertEqual(result["comparability"]["factors"], [])
        brief, details = (self.assay("compare", a, b, *more, "--db", self.db).out for more in ((), ("--details",)))
        self.assertIn("not paired", brief)
        # What is not known of either machine is counted, and named where that is asked for.
        unknown = [field["field"] for field in result["comparability"]["fields"]
                   if field["field"] in result["comparability"]["except"] and field["state"] == "unknown"]
        if len(unknown) > 1:
            self.assertIn(f"{len(unknown)} readings unknown on both", brief)
            self.assertIn("unknown on both: " + ", ".join(unknown), details)
        self.assertNotIn("host.name", brief)
        self.assertIn("host.name", details)

    def test_refusals_name_the_reason(self):
        base = self.measure(workload=self.workload(1))
        cases = {
            "identity.workload_digest": self.measure(workload=self.workload(2)),
            "identity.protocol_digest": self.measure(
                workload=self.workload(1),
                protocol=self.write("other.yaml", self.EVIDENCE.replace("30ms", "31ms"))),
            "identity.protocol_evidence": self.measure(workload=self.workload(1),
                                                       protocol="quick"),
        }
        for field, other in cases.items():
            result = self.compare(base, other)
            self.assertEqual(result["comparability"]["verdict"], "not_comparable")
            self.assertTrue(any(reason.startswith(field)
                                for reason in result["comparability"]["reasons"]), field)
            self.assertIsNone(result["comparison"])
            self.assertIsNone(result["attribution"])
            self.assertEqual(self.gate(base, other), 2)

    def test_first_looks_are_exploratory(self):
        """Numbers and what differs are shown; nothing is attributed, recorded, or passes a gate."""
        a, b = (self.measure(workload=self.workload(1), protocol="quick") for _ in range(2))
        result = self.compare(a, b)
        self.assertEqual(result["comparability"]["verdict"], "exploratory")
        self.assertIsNone(result["attribution"])
        said = self.assay("compare", a, b, "--db", self.db).out
        self.assertIn(", exploratory and no evidence", said.splitlines()[0])
        self.assertIn("Exploratory: by protocol no evidence", said)
        self.assertEqual(self.gate(a, b), 2)
        refused = self.assay("compare", a, b, "--record", "--db", self.db)
        self.assertEqual(refused.status, 2)
        self.assertIn("without evidence", refused.err)

    def test_stored_reasons_are_said_as_compare_says_them(self):
        """By the report of a gate and the dossier; what is stored keeps its words."""
        call = self.assay("run", "synthetic", "--device", "null:0", "--device", "null:1", "--protocol", "quick",
                          "--db", self.db, "--json")
        a, b = (result["id"] for result in call.json()["results"])
        (stored,) = self.compare(a, b)["comparability"]["reasons"]
        self.assertIn("first look", stored)
        said = " ".join(self.assay("compare", a, b, "--db", self.db).out.split())
        (reason,) = re.findall(r"The two do not compare: (identity.* for servers)\.", said)
        gate = [os.path.join(self.folder, name) for name in ("gate.md", "gate.xml")]
        dossier = os.path.join(self.folder, "dossier.html")
        self.assertEqual(self.assay("gate", a, b, "--markdown", gate[0], "--junit", gate[1], "--db",
                                    self.db).status, 2)
        self.assertEqual(self.assay("report", a, b, "--dossier", dossier, "--db", self.db).status, 0)
        for path in (*gate, dossier):
            with open(path, encoding="utf-8") as file:
                text = html.unescape(file.read().replace("<code>", "`").replace("</code>", "`"))
            self.assertIn(reason, " ".join(text.split()), path)
            self.assertNotIn(stored, text, path)

    def test_gate_is_recorded(self):
        """Whatever the result; once, while it stays the same; and recomputed from samples."""
        a, b = self.measure_slower()
        self.assertEqual(self.gate(a, b, "--no-record"), 1)
        self.assertEqual(self.stored(), [])
        for _ in range(2):
            self.assertEqual(self.gate(a, b), 1)
        self.assertEqual(self.stored(), [("gate", "worse", 1, 2)])
        self.assertEqual(self.gate(b, a), 0)
        self.assertEqual(self.gate(a, b, "--margin", "0.05"), 1)
        self.assertEqual([row[1] for row in self.stored()], ["worse", "passes", "worse"])
        call = self.assay("gate", a, b, "--allow-foreign-worker", *ANYWHERE, "--json", "--db", self.db)
        self.assertEqual(call.json()["gate"], {"decision": "worse", "margin": 0.01, "paired": False,
                                               "allow_foreign_worker": True, "under": ANYWHERE[1].split(",")})
        call = self.assay("verify", self.db, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 4), call.out)
        call = self.assay("report", "--dossier", "d.html", a, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        with open(os.path.join(self.folder, "d.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(page.count("<td>gate</td>"), 4)
        self.assertRegex(page, r"<td><b>worse</b>(<br><span class=\"soft\">under [^<]*</span>)?</td>")

    def test_gate_of_a_slowdown_that_the_margin_may_allow(self):
        """Certainly slower, and by more than the margin as estimated, but not certainly so."""
        known = [self.measure(ASSAY_WORKER=FOREIGN, FOREIGN_NS=str(ns)) for ns in (1000000, 1100000)]
        ratio = self.compare(*known)["comparison"]["ratio"]
        self.assertGreater(ratio["lo"], 1.09)
        within = str((ratio["lo"] + ratio["value"]) / 2 - 1)
        self.assertEqual(self.compare(*known, "--margin", within)["verdict"], "slower")
        self.assertEqual(self.gate(*known, "--margin", within), 3)
        self.assertEqual(self.gate(*known, "--margin", str(ratio["lo"] * 0.999 - 1)), 1)
        self.assertEqual(self.gate(*known, "--margin", str(ratio["hi"] * 1.001 - 1)), 0)
        # What has little left of the margin says how little it takes for granted.
        near = ("--margin", str(ratio["hi"] * 1.0002 - 1))
        holds = self.compare(*known, *near)["comparison"]["holds_to"]
        self.assertTrue(0 < holds < 0.9, holds)
        said = " ".join(self.assay("compare", *known, *near, "--details", "--db", self.db).out.split())
        self.assertIn("trials are taken for independent, which so few check poorly: the verdict stands up to a correlation of "
                      f"{holds:.2g} between", said)

    def test_gate_forged(self):
        a, b = self.measure_slower()
        self.assertEqual(self.gate(a, b), 1)
        self.assert_worked_out_again("value")
        a, b = self.measure_slower()
        self.assertEqual(self.gate(a, b), 1)
        import forge
        with forge.Forgery(self.db) as forgery:
            forgery.edit("comparison", lambda record: record.update(
                verdict="passes", body={**record["body"], "gate": {**record["body"]["gate"], "decision": "passes"}}))
            forgery.rewrite()
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 1, call.out)
        self.assertIn("wrong: comparison: comparison 1: does not follow", call.out)

    def test_gate_of_pairs_and_of_what_does_not_compare(self):
        call = self.assay("ab", "synthetic", *self.short(), "--a", "device=null:0", "--b",
                          "device=null:0", "--pairs", "5", "--db", self.db, "--json",
                          ASSAY_WORKER=FOREIGN, FOREIGN_NS="1000000")
        self.assertEqual(call.status, 0, call.err)
        campaign = call.json()["a"].split("/")[0]
        self.assertIn(self.gate(campaign), (0, 3))
        self.assertEqual(self.assay("compare", campaign, "--record", "--db", self.db).status, 0)
        self.assertEqual([row[0] for row in self.stored()], ["ab", "gate"])
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "--db", self.db, "--html", page).status, 0)
        with open(page, encoding="utf-8") as file:
            page = file.read()
        self.assertIn('<h2 id="comparisons">Comparisons</h2>', page)
        self.assertIn(f"<b>{self.stored()[0][1]}</b>", page)
        other = self.measure(workload=self.workload(1))
        self.assertEqual(self.gate(campaign + "/1", other), 2)
        self.assertEqual(self.stored()[-1][:2], ("gate", "not_comparable"))
        call = self.assay("verify", self.db, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 3), call.out)

    def test_compare_records_when_asked(self):
        a, b = self.measure(), self.measure()
        self.compare(a, b)
        self.assertEqual(self.stored(), [])
        self.assertEqual(self.assay("compare", a, b, "--record", "--db", self.db).status, 0)
        self.assertEqual([row[0] for row in self.stored()], ["compare"])
        self.assertEqual(self.assay("verify", self.db, "--json").json()["comparisons"], 1)
        self.assertEqual(self.assay("bundle", a.split("/")[0], b.split("/")[0], "-o", "b.assay", "--db",
                                    self.db).status, 0)
        call = self.assay("verify", "b.assay", "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 1), call.out)

    def test_gate_of_a_file_that_cannot_be_written(self):
        if os.geteuid() == 0 and not shutil.which("setpriv"):
            self.skipTest("root writes everywhere, and there is no setpriv (package util-linux)")
        a, b = self.measure_slower()
        os.chmod(self.db, 0o444)
        os.chmod(self.folder, 0o555)
        try:
            words = [ASSAY, "gate", a, b, "--allow-foreign-worker", *ANYWHERE, "--db", self.db]
            if os.geteuid() == 0:
                words = ["setpriv", "--reuid", "65534", "--clear-groups", *words]
            done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False,
                                  env=self.environment())
        finally:
            os.chmod(self.folder, 0o755)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("warning: the judgement is not recorded: ", done.stderr)
        self.assertEqual(self.stored(), [])

    def test_one_factor_and_a_condition(self):
        """The attributed cause of a difference is shown with other known differences."""
        def measure(ns, text, **environment):
            path = os.path.join(self.folder, text, "cc")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            files = json.dumps([{"kind": "compiler", "path": path}])
            return self.measure(ASSAY_WORKER=FOREIGN, FOREIGN_NS=ns, FOREIGN_FILES=files, **environment)

        base = measure("1000000", "old", OMP_PROC_BIND="close")
        for bind, words in (("close", r"Attributed to: compiler \(files in \S+ -> files in \S+\)\.\n"),
                            ("spread", r"Attributed to: compiler \(files in \S+ -> files in \S+\), unless one of the conditions "
                                       r"that differ made it\.\n")):
            other = measure("1100000", "new", OMP_PROC_BIND=bind)
            self.assertEqual(self.compare(base, other)["attribution"], "compiler")
            self.assertRegex(self.assay("compare", base, other, "--db", self.db).out, words)

    def test_unfinished_campaigns_are_not_recorded(self):
        a, b = (self.measure(ASSAY_WORKER=FOREIGN, FOREIGN_NS="1000000") for _ in range(2))
        with forge.Forgery(self.db) as forgery:
            forgery.drop("id = (SELECT max(id) FROM record WHERE type = 'event')")
            forgery.rewrite()
        call = self.assay("gate", a, b, "--allow-foreign-worker", *ANYWHERE, "--db", self.db)
        self.assertIn(call.status, (0, 3))
        self.assertIn("is not finished", call.err)
        call = self.assay("compare", a, b, "--record", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertEqual(self.stored(), [])

    def test_unknown_driver_does_not_compare(self):
        protocol = self.write("evidence.yaml", self.EVIDENCE)
        for _ in range(2):
            call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", protocol,
                              "--db", self.db, ASSAY_WORKER=FOREIGN)
            self.assertEqual(call.status, 0, call.err)
        result = self.compare("1/1", "2/1")
        self.assertEqual(result["comparability"]["verdict"], "not_comparable")
        self.assertTrue(any("device.driver_version is not known of either" in reason
                            for reason in result["comparability"]["reasons"]))

    def test_ab(self):
        call = self.assay("ab", "synthetic", "--device", "null:0", "--pairs", "6", "--db",
                          self.db, *self.short(), "--json",
                          "--a", "env:ASSAY_NULL=launch_ns=1000000,seed=1",
                          "--b", "env:ASSAY_NULL=launch_ns=20000000,seed=2",
                          ASSAY_WORKER=FOREIGN, FOREIGN_NS="launch_ns")
        self.assertEqual(call.status, 0, call.err)
        result = call.json()
        self.assertEqual(result["attribution"], "variable ASSAY_NULL")
        self.assertGreater(result["comparison"]["ratio"]["value"], 2)
        self.assertEqual(result["verdict"], "slower")
        self.assertRegex(self.assay("compare", "last", "--db", self.db).out,
                         r"^b \(ASSAY_NULL=launch_ns=20000000,seed=2\) is [\d.]+ times slower than a "
                         r"\(ASSAY_NULL=launch_ns=1000000,seed=1\) \[[\d.]+, [\d.]+\] on synthetic fp32[.,]")
        self.assertEqual(self.gate("last"), 1)
        again = self.compare("last")
        self.assertEqual(again["comparison"], result["comparison"])
        self.assertEqual(self.query("SELECT kind, verdict FROM comparison ORDER BY id"),
                         [("ab", "slower"), ("gate", "worse")])
        # Both arms of a pair are adjacent in the order.
        order = [row[0] for row in self.query(
            "SELECT cell FROM planned_trial ORDER BY sequence")]
        for first, second in zip(order[::2], order[1::2]):
            self.assertNotEqual(first, second)
        # The variable of each arm is among its readings.
        shown = self.assay("show", "last/2", "--db", self.db, "--json").json()
        self.assertEqual(
            shown["trials"][0]["environment"]["host"]["variable.ASSAY_NULL"]["value"],
            "launch_ns=20000000,seed=2")
        power = self.assay("power", "last", "--db", self.db, "--json").json()
        self.assertGreater(power["pairs_for_difference"], 0)

    def test_ab_by_medians(self):
        """The ratio is that of the steady parts' medians, recomputed here from the samples."""
        protocol = self.write("median.yaml", self.EVIDENCE.replace("evidence-fast", "by-median")
                              + "analysis: {compare_by: median}\n")
        for _ in range(5):  # on a busy machine trials may not settle, leaving too few pairs
            self.new_db()
            call = self.assay("ab", "synthetic", "--device", "null:0", "--pairs", "6", "--db", self.db,
                              "--protocol", protocol, "--json",
                              "--a", "env:ASSAY_NULL=launch_ns=1000000,cv=0.3",
                              "--b", "env:ASSAY_NULL=launch_ns=1500000,cv=0.3")
            self.assertEqual(call.status, 0, call.err)
            comparison = call.json()["comparison"]
            if comparison["pairs"] > 1:
                break
        self.assertEqual(comparison["compare_by"], "median")
        medians, means = {}, {}
        for name in ("last/1", "last/2"):
            shown = self.assay("show", name, "--db", self.db, "--json").json()
            estimate = shown["estimate"]
            for entry in estimate["trials"]:
                if entry["steady_from"] is None or entry["median_ns"] is None:  # a busy machine
                    continue
                sequence, start = entry["sequence"], entry["steady_from"]
                trial = self.query("SELECT id FROM trial WHERE campaign = (SELECT max(id) FROM campaign)"
                                   f" AND sequence = {sequence} ORDER BY attempt DESC LIMIT 1")[0][0]
                values = [row[0] for row in self.query(
                    "SELECT CAST(value AS REAL) / iterations_per_sample FROM samples JOIN trial_end USING"
                    f" (trial) WHERE trial = {trial} AND series = 'wall_ns' AND number >= {start}")]
                pair = (sequence - 1) // 2
                medians.setdefault(pair, {})[name] = statistics.median(values)
                means.setdefault(pair, {})[name] = statistics.mean(values)

        def ratio(of):
            logs = [math.log(pair["last/2"] / pair["last/1"]) for pair in of.values()
                    if len(pair) == 2]
            return math.exp(statistics.mean(logs))

        self.assertAlmostEqual(comparison["ratio"]["value"], ratio(medians), places=9)
        self.assertNotAlmostEqual(comparison["ratio"]["value"], ratio(means), places=6)
        self.assertEqual(self.compare("last")["comparison"], comparison)
        self.assertIn("medians", self.assay("compare", "last", "--db", self.db).out)
        verified = self.assay("verify", self.db, "--json")
        self.assertEqual(verified.status, 0, verified.out + verified.err)

    def test_ab_is_resumed_with_its_arms(self):
        call = self.assay("ab", "synthetic", "--device", "null:0", "--pairs", "5", "--db", self.db,
                          *self.short(), "--b", "env:ASSAY_NULL=fault=crash@5,seed=1")
        self.assertEqual(call.status, 1, call.err)
        statuses = self.query("SELECT c.ordinal, e.status FROM trial_end e JOIN trial t ON "
                              "t.id = e.trial JOIN cell c ON c.id = t.cell ORDER BY 1")
        self.assertEqual(statuses, [(1, "ok")] * 5 + [(2, "crashed")] * 5)
        rows = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual([row["arm"] for row in rows], ["a", "b"])
        table = self.assay("results", "--db", self.db, COLUMNS="200").out
        self.assertIn("synthetic, arm b (ASSAY_NULL=fault=crash@5…)", table)
        self.assertIn("crashed", self.assay("compare", "last", "--db", self.db).out)
        self.assertEqual(self.gate("last"), 2)

    def test_wrong_arms(self):
        for words, part in ((("--a", "colour=red"), "device=D"),
                            (("--pairs", "1"), "--pairs"),
                            (("--a", "root=/nowhere"), "no such folder"),
                            (("--margin", "2"), "--margin")):
            call = self.assay("ab", "synthetic", "--device", "null:0", "--db", self.db, *words)
            self.assertEqual(call.status, 2)
            self.assertIn(part, call.err)
        for words, part in ((("--device", "null"), "one device with one"),
                            (("--device", "null:0", "--batch", "3"), "comes to no cell")):
            call = self.assay("ab", "synthetic", *words, "--db", self.db)
            self.assertEqual(call.status, 2)
            self.assertIn(part, call.err)
        self.assertFalse(os.path.exists(self.db))

    def test_power_from_numbers(self):
        power = self.assay("power", "--pair-sd", "0.005", "--margin", "0.01", "--power", "0.8",
                           "--json").json()
        # n = (t + t)^2 sd^2 / delta^2 at sd = half of delta: 5 by the noncentral t.
        self.assertIn(power["pairs_for_difference"], (4, 5))
        samples = {row["percentile"]: row["samples"] for row in power["samples_for_percentiles"]}
        self.assertEqual((samples["p50"], samples["p99"]), (5, 299))
        self.assertEqual(self.assay("power").status, 2)
        self.assertEqual(self.assay("power", "--sd", "7").status, 2)
        self.assertEqual(self.assay("power", "--sd", "0.01", "--confidence", "0.3").status, 2)

    def test_power_that_no_number_reaches(self):
        """It must not say that 0 of them are enough."""
        words = ("power", "--sd", "0.9", "--margin", "0.0001")
        self.assertIsNone(self.assay(*words, "--json").json()["pairs_for_difference"])
        lines = self.assay(*words).out.splitlines()[1:4]
        self.assertEqual([line.split()[:3] for line in lines], [["more", "than", word]
                                                               for word in ("10^7", "10^7", "10^5")])

    def test_calibrate(self):
        call = self.assay("calibrate", "synthetic", "--comparisons", "2", "--pairs", "5",
                          *self.short(), "--device", "null:0", "--db", self.db, "--json",
                          ASSAY_WORKER=FOREIGN, FOREIGN_NS="1000000")
        self.assertEqual(call.status, 0, call.err)
        result = call.json()
        self.assertEqual(result["comparisons"], 2)
        self.assertEqual(len(result["rows"]), 2)
        self.assertGreater(result["sample_overhead_ns"], 0)
        self.assertEqual(self.query("SELECT kind FROM comparison"), [("calibration",)])
        self.assert_worked_out_again("sd_log")

    def test_one_result_alone(self):
        call = self.assay("compare", "last/1", "--db", self.db)
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("last/1 is one result: name the other one", call.err)

    def test_what_the_two_are_and_what_is_left_out(self):
        """Both forms show it; what is recorded stays unchanged."""
        a = self.measure()
        once = self.write("once", "")
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", "evidence.yaml",
                          "--db", self.db, "--quiet",
                          ASSAY_NULL=f"launch_ns=200000,fault=crash@5,once={once}")
        self.assertEqual(call.status, 1, call.err)
        data = self.compare(a, "last/1", "--record")
        self.assertEqual([arm["id"] for arm in data["arms"]], [data["a"], data["b"]])
        for arm, trials in zip(data["arms"], map(data["comparison"]["trials"].get, "ab")):
            self.assertEqual((arm["workload"], arm["device_spec"]), ("synthetic", "null:0"))
            self.assertEqual(arm["counted"], trials)
            self.assertEqual(arm["counted"] + len(arm["left_out"]), arm["planned"])
        self.assertIn({"trial": 1, "why": "crashed"}, data["arms"][1]["left_out"])
        words = self.assay("compare", a, "last/1", "--db", self.db).out
        for arm in ("a", "b"):
            self.assertRegex(words, rf"(?m)^  {arm} {data[arm]} +\(?[\d.]+ calls/s\)? [±-]")
        self.assertRegex(words, r"(?m)^  both +synthetic fp32 on null:0 \(null device, simulated\)$")
        self.assertRegex(words, r"\d of \d trials count, without trial 1 \(crashed\)")
        ((body,),) = self.query("SELECT body FROM comparison")
        self.assertNotIn("arms", json.loads(body))

    def test_pairs_that_do_not_count_are_described(self):
        """What is stored keeps its identifiers."""
        once = self.write("once", "")
        call = self.assay("ab", "synthetic", *self.short(), "--pairs", "5", "--db", self.db,
                          "--device", "null:0", "--a", "env:ASSAY_NULL=launch_ns=200000,seed=1",
                          "--b", f"env:ASSAY_NULL=launch_ns=200000,seed=1,fault=oom@1,once={once}")
        self.assertEqual(call.status, 1, call.err)
        data = self.assay("compare", "last", "--db", self.db)
        self.assertRegex(data.out, r"\d of 5 pairs count; dropped: .*pair \d: b device memory")
        self.assertNotIn("device_memory", data.out)
        ((body,),) = self.query("SELECT body FROM comparison")
        self.assertRegex(json.loads(body)["note"], r"pair \d: b device memory")

    def test_gate_of_a_result_with_itself(self):
        """After a run that failed, `last` is the baseline: that must not pass."""
        a = self.measure()
        call = self.assay("gate", a, "last/1", "--db", self.db)
        self.assertEqual(call.status, 2, call.err)
        self.assertIn(f"one and the same result, {a}", call.err)
        self.assertEqual(self.stored(), [])

    def test_gate_of_unknown_results(self):
        self.measure()
        self.assertEqual(self.gate("last/1", "last/9"), 4)
        self.assertEqual(self.gate("last/1", "last/1", "--margin", "x"), 2)


if __name__ == "__main__":
    unittest.main()
