"""A worker that is not ours speaks the protocol; one that breaks it ends its trial with a reason."""

import base64
import concurrent.futures
import csv
import hashlib
import html
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ANYWHERE, CliTest, has_ended, run_tests, thorough, wait_until  # noqa: E402

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                      "foreign_worker.py")

# How it misbehaves, the status that its trials must end with, and a part of the reason.
MODES = {
    "silent": ("timeout", "no word"),
    "garbage": ("protocol", "worker message"),
    "binary": ("protocol", "worker message"),
    "long_line": ("protocol", "longer than"),
    "no_hello": ("protocol", "hello"),
    "closes": ("timeout", "did not exit"),
    "version": ("protocol", "version 1"),
    "failed_check": ("check_failed", "checks did not pass"),
    "no_check_before": ("invalid", "verification: the worker sent no check in verify_before"),
    "no_check_after": ("invalid", "verification: the worker sent no check in verify_after"),
    "no_check_within": ("invalid", "spot_checks: the worker answered"),
    "ignores_spots": ("timeout", "no word"),
    "wrong_spot": ("protocol", "was not asked for"),
    "no_warmup": ("invalid", "warmup.iterations: 0 samples"),
    "short_warmup": ("invalid", "warmup.iterations: 1 samples of 1 iterations"),
    "few_samples": ("invalid", "window.min_samples: 3 samples"),
    "short_window": ("invalid", "window.time: 0.02"),
    "no_phase": ("invalid", "clock.window: the worker sent no phase"),
    "slow_phase": ("invalid", "clock.window: the worker's window is from"),
    "passes_anyway": ("protocol", "passed with the error 1 of 10 elements"),
    "gap": ("protocol", "begins at 3"),
    "negative": ("protocol", "positive"),
    "many_series": ("protocol", "series"),
    "unknown_type": ("protocol", "type"),
    "harness_word": ("protocol", "go"),
    "odd_reading": ("protocol", 'reading "device.driver_version": unknown status "guessed"'),
    "no_sync": ("protocol", "window_start"),
    "no_end": ("crashed", "status 3"),
    "own_failure": ("device_lost", "has gone"),
    "crashes_at_exit": ("crashed", "after it had sent its results"),
    "lingers": ("timeout", "sent its results and did not exit"),
    "miscount": ("protocol", "counts 51"),
}


# The same of a worker that hands its outputs over.
HANDOVER = {
    "good": ("ok", ""),
    "nan": ("check_failed", "pattern[10]: got nan"),
    "stale": ("check_failed", "pattern["),
    "missing": ("check_failed", 'there is no tensor "pattern"'),
    "batch": ("check_failed", "it is of another batch or size"),
    "dtype": ("check_failed", "is in bf16, not in f32"),
    "truncated": ("corrupt", "truncated?"),
    "no_file": ("not_found", "outputs.0"),
    "number": ("protocol", "were not asked for"),
    "same": ("protocol", "none has run since"),
    "iterations": ("protocol", "its samples have more of them"),
    "own_check": ("protocol", "assay checks them"),
    "no_after": ("invalid", "verification: the worker sent no check in verify_after"),
}


class ForeignWorker(CliTest):
    def fast(self):
        return self.write("fast.yaml", self.FAST.replace("trials: 2", "trials: 1"))

    def run_mode(self, mode):
        self.new_db()
        return self.run_synthetic("--json", ASSAY_WORKER=WORKER, FOREIGN_MODE=mode)

    def test_good(self):
        for mode in ("good", "noisy"):
            call = self.run_mode(mode)
            self.assertEqual(call.status, 0, call.err)
            self.assertEqual(call.json()["trials_ok"], 1)
            self.assertEqual(self.assay("verify", self.db).status, 0)
            self.assertEqual(self.query("SELECT name FROM device"), [("a <b> & \u202e device",)])
            identifier = call.json()["results"][0]["id"]
            host = self.assay("show", identifier, "--db", self.db, "--json").json()
            self.assertEqual(host["trials"][0]["environment"]["host"]["variable.ASSAY_WORKER"]
                             ["value"], WORKER)

    def lie(self, mode):
        status, word = MODES[mode]
        # A worker that hangs must reach that point within the limit, which it then waits for.
        for limit in ("2s", "20s", "200s") if status == "timeout" else ("200s",):
            self.FAST = CliTest.FAST.replace("200s", limit)
            call = self.run_mode(mode)
            self.assertEqual(call.status, 1, (mode, call.out, call.err))
            (got, message), = self.query("SELECT status, message FROM trial_end")
            self.assertEqual(got, status, message)
            self.assertEqual(self.assay("verify", self.db).status, 0)
            if word in message:
                break
        self.assertIn(word, message)
        self.assert_sound()

    def test_every_lie_has_its_reason(self):
        """Several at a time, those that wait for a limit first."""
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            waits = sorted(MODES, key=lambda mode: MODES[mode][0] != "timeout")
            lies = {mode: pool.submit(self.apart(mode).lie, mode) for mode in waits}
        for mode, lie in lies.items():
            with self.subTest(mode=mode):
                lie.result()

    def test_outputs_that_are_handed_over(self):
        """assay compares them itself; each way to hand over something else ends the trial."""
        for way, (status, word) in HANDOVER.items():
            with self.subTest(way=way):
                self.new_db()
                call = self.run_synthetic("--json", ASSAY_WORKER=WORKER, FOREIGN_HANDOVER=way)
                self.assertEqual(call.status, 0 if status == "ok" else 1, call.err)
                for got, message in self.query("SELECT status, message FROM trial_end"):
                    self.assertEqual(got, status, message)
                    self.assertIn(word, message or "")
                self.assertEqual(self.assay("verify", self.db).status, 0)
        self.new_db()
        self.run_synthetic(ASSAY_WORKER=WORKER, FOREIGN_HANDOVER="good")
        self.assertEqual({phase for phase, in self.query("SELECT phase FROM verification")},
                         {"verify_before", "spot_check", "verify_after"})
        self.assertEqual(self.query("SELECT min(passed), max(metric) FROM verification"), [(1, "max_absolute")])

    def test_results_that_only_their_program_has_checked(self):
        """They compare with nothing, not even with each other."""
        results = []
        for _ in range(2):
            call = self.assay("run", "synthetic", "--device", "null:0", "--protocol",
                              self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--json",
                              ASSAY_WORKER=WORKER, FOREIGN_NS="1000000", FOREIGN_HANDOVER="")
            self.assertEqual(call.status, 0, call.err)
            results.append(call.json()["results"][0]["id"])
        call = self.assay("compare", *results, "--json", "--db", self.db).json()
        self.assertEqual(call["comparability"]["verdict"], "not_comparable")
        self.assertTrue(any(reason.startswith("identity.checks") and "hand them over" in reason
                            for reason in call["comparability"]["reasons"]), call["comparability"]["reasons"])
        self.assertEqual(self.assay("gate", *results, "--allow-foreign-worker", "--db", self.db).status, 2)

    def test_children_of_a_worker_end_with_it(self):
        """A process that continues would take time from the next trial, and keeps the channel open."""
        for mode, status in (("leaves_child", "ok"), ("dies_before_child", "crashed")):
            with self.subTest(mode=mode):
                self.new_db()
                output = os.path.join(self.folder, mode)
                self.run_synthetic(ASSAY_WORKER=WORKER, FOREIGN_MODE=mode, FOREIGN_FILE=output)
                (got, message), = self.query("SELECT status, message FROM trial_end")
                self.assertEqual(got, status, message)
                self.assertIn("status 3" if message else "ok", message or got)
                with open(output, encoding="utf-8") as file:
                    child = file.read()
                wait_until(lambda: has_ended(child))

    def interrupted(self, **environment):
        """A campaign of 10 trials that was stopped after some of them."""
        protocol = self.write("slow.yaml", CliTest.FAST.replace("trials: 2", "trials: 10"))
        self.new_db()
        process = self.start("run", "synthetic", "--device", "null:0", "--protocol", protocol,
                             "--db", self.db, "--quiet", **environment)
        wait_until(lambda: os.path.exists(self.db) and self.trials() >= 1, process)
        process.send_signal(signal.SIGINT)
        process.communicate()
        if self.trials() == 10:
            self.skipTest("the campaign ended before it was interrupted")

    def resume(self, **environment):
        return self.assay("run", "--resume", "last", "--db", self.db, **environment)

    def test_resume_with_another_worker(self):
        """Trials of two programs do not make one result."""
        for first, second in (({"ASSAY_WORKER": WORKER}, {}), ({}, {"ASSAY_WORKER": WORKER})):
            with self.subTest(first=first):
                self.interrupted(**first)
                call = self.resume(**second)
                self.assertNotEqual(call.status, 0, call.err)
                self.assertIn("trials of two programs", call.err)
                call = self.resume(**first)
                self.assertEqual(call.status, 0, call.err)

    @thorough
    def test_resume_with_another_stack(self):
        """Nor do those with two libraries, or two settings of one; what is no part of a measurement may change."""
        library, bound = {"ASSAY_LIB_OPENCL": "/nowhere/libOpenCL.so.1"}, {"OMP_PROC_BIND": "close"}
        for first, second, name in (({}, library, "ASSAY_LIB_OPENCL"), (library, {}, "ASSAY_LIB_OPENCL"),
                                    (bound, {"OMP_PROC_BIND": "spread"}, "OMP_PROC_BIND")):
            with self.subTest(first=first):
                self.interrupted(**first)
                done = self.trials()
                call = self.resume(**second)
                self.assertNotEqual(call.status, 0, call.err)
                self.assertIn(f"the variable {name} was ", call.err)
                self.assertEqual(self.trials(), done)
                call = self.resume(**first, ASSAY_TOOL_TIMEOUT="16s")
                self.assertEqual(call.status, 0, call.err)
                self.assertEqual(self.assay("verify", self.db).status, 0)

    def test_resume_with_another_file(self):
        """What the trials ran on is looked at before the first that is left, not by each of them."""
        os.mkdir(os.path.join(self.folder, "tool"))
        path = self.write("tool/cc", "old")
        with_file = {"ASSAY_WORKER": WORKER, "FOREIGN_FILES": json.dumps([{"kind": "compiler", "path": path}])}
        self.interrupted(**with_file)
        done = self.trials()

        def refused(words):
            call = self.resume(**with_file)
            self.assertNotEqual(call.status, 0, call.err)
            self.assertIn(words, call.err)
            self.assertIn("synthetic fp32", call.err)
            self.assertEqual(self.trials(), done)

        self.write("tool/cc", "new")
        refused("the file compiler.cc was ")
        os.remove(path)
        refused(f"{path}, with which the campaign was planned, is not there any more")
        self.write("tool/cc", "old")
        call = self.resume(**with_file)
        self.assertEqual(call.status, 0, call.err)

    def test_resume_without_a_folder_of_an_arm(self):
        """Of a driver, or of a library, even where no trial has used it yet."""
        os.mkdir(os.path.join(self.folder, "driver"))
        library = self.write("driver/libone.so", "")
        self.write("driver/one.icd", library + "\n")
        folder = os.path.dirname(library)
        for setting, missing in ((f"driver={folder}", folder), (f"lib:opencl={library}", library)):
            self.new_db()
            process = self.start("ab", "synthetic", "--device", "null:0", "--pairs", "30", "--protocol",
                                 self.write("e.yaml", self.EVIDENCE), "--a", setting, "--db", self.db)
            wait_until(lambda: os.path.exists(self.db) and self.trials() >= 1, process)
            process.send_signal(signal.SIGINT)
            process.communicate()
            done = self.trials()
            os.rename(missing, missing + ".away")
            call = self.resume()
            self.assertNotEqual(call.status, 0, call.err)
            self.assertIn(f"{missing}, with which the campaign was planned, is not there any more", call.err)
            self.assertEqual(self.trials(), done)
            os.rename(missing + ".away", missing)

    def test_program_that_changes(self):
        """The plan names the worker's digest; a trial of another program is none."""
        worker = os.path.join(self.folder, "worker.py")
        shutil.copy(WORKER, worker)
        self.new_db()
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol",
                          self.write("two.yaml", CliTest.FAST), "--db", self.db, ASSAY_WORKER=worker,
                          FOREIGN_MODE="edits_itself")
        self.assertEqual(call.status, 1, call.out)
        (first, _), (second, message) = self.query("SELECT status, message FROM trial_end ORDER BY trial")
        self.assertEqual((first, second), ("ok", "invalid"), message)
        self.assertTrue(message.startswith("worker.identity: the plan names the program "), message)
        self.assertEqual(self.assay("verify", self.db).status, 0)
        plan, = self.query("SELECT body FROM content WHERE digest = (SELECT plan FROM campaign)")
        with open(WORKER, "rb") as file:
            self.assertEqual(json.loads(plan[0])["worker"], hashlib.sha256(file.read()).hexdigest())

    def trials(self):
        try:
            return self.query("SELECT count(*) FROM trial_end")[0][0]
        except sqlite3.Error:
            return 0

    def test_program_that_is_not_there(self):
        call = self.run_synthetic("--json", ASSAY_WORKER="/nowhere/worker")
        self.assertNotEqual(call.status, 0)
        self.assertIn("/nowhere/worker", call.err)


class Mark(CliTest):
    """Every output that shows what a foreign worker measured says that one measured it."""

    KNOWN = {"ASSAY_WORKER": WORKER, "FOREIGN_NS": "1000000"}
    WORDS = "another program than assay's own worker"

    def measure(self, **environment):
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol",
                          self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--json",
                          **environment)
        self.assertEqual(call.status, 0, call.err)
        return call.json()["results"][0]["id"]

    def output(self, *words, status=0):
        call = self.assay(*words, "--db", self.db)
        self.assertEqual(call.status, status, call.err)
        return call.out + call.err

    def report(self, kind, *results):
        path = os.path.join(self.folder, "report.html")
        self.output("report", "--" + kind, path, *results)
        with open(path, encoding="utf-8") as file:
            return html.unescape(file.read())

    def in_words(self, text):
        return self.WORDS in " ".join(text.split())

    def in_findings(self, *words):
        findings = self.assay(*words, "--json", "--db", self.db).document["findings"]
        return any(f["code"] == "foreign_worker" and f["severity"] == "critical" and self.WORDS in f["message"]
                   for f in findings)

    def in_row(self, row):
        self.assertIn(row["foreign_worker"] or None, (WORKER, None))
        return bool(row["foreign_worker"])

    def in_csv(self, text):
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertTrue(rows)
        return all(self.in_row(row) and "foreign_worker" in row.get("findings", "foreign_worker").split()
                   for row in rows)

    def in_records(self, *records):
        return all(any(f["code"] == "foreign_worker" for f in record["estimate"]["findings"])
                   for record in records)

    def in_bom(self, bom):
        properties = [(p["name"], p["value"]) for p in bom["metadata"]["component"]["properties"]]
        return ("assay:foreign-worker", WORKER) in properties and ("assay:finding", "foreign_worker") in properties

    def in_statement(self, statement):
        (result,) = statement["predicate"]["results"]
        return self.in_row(result["row"]) and self.in_records(result)

    def in_openmetrics(self, text):
        samples = [line for line in text.splitlines() if not line.startswith("#")]
        return all(f'foreign_worker="{WORKER}"' in line for line in samples) and any(
            line.startswith("assay_finding{") and 'code="foreign_worker",severity="critical"' in line
            for line in samples)

    def in_mlperf(self, text):
        lines = [json.loads(line.removeprefix(":::MLLOG ")) for line in text.splitlines()]
        values = {line["key"]: line["value"] for line in lines}
        return values["assay_foreign_worker"] == WORKER and "foreign_worker" in values["assay_findings"]

    def exports(self, one):
        """Whether each format of `assay export` has the mark."""
        key = os.path.join(self.folder, "key")
        if not os.path.exists(key):
            self.assertEqual(self.assay("key", "new", "tester.example", "--file", key).status, 0)
        marks = {
            "csv": self.in_csv, "csv-samples": self.in_csv,
            "json": lambda text: self.in_records(*json.loads(text)),
            "jsonl": lambda text: self.in_records(*map(json.loads, text.splitlines())),
            "cyclonedx": lambda text: self.in_bom(json.loads(text)),
            "intoto": lambda text: self.in_statement(json.loads(text)),
            "openmetrics": self.in_openmetrics, "mlperf": self.in_mlperf}
        refusal = self.output("export", "unknownformat", status=2)
        # Parquet is made of the columns of csv, by a program that need not be here: test_export.py.
        self.assertEqual(set(refusal.split("there are ")[1].strip().split(", ")), {*marks, "parquet"})
        found = {name: mark(self.output("export", name, one)) for name, mark in marks.items()}
        signed = json.loads(self.output("export", "intoto", one, "--key", key))
        found["intoto, signed"] = self.in_statement(json.loads(base64.b64decode(signed["payload"])))
        return found

    def outputs(self, one):
        (row,) = self.assay("results", "--json", "--db", self.db).json()
        return {
            "results": self.in_words(self.output("results")),
            "results --json": self.in_row(row) and self.in_findings("results"),
            "show": self.in_words(self.output("show", one)),
            "show --all": self.in_words(self.output("show", one, "--all")),
            "show --json": self.in_findings("show", one),
            "page": self.in_words(self.report("html")),
            "dossier": self.in_words(self.report("dossier")),
            "result_findings": ("foreign_worker",) in self.query("SELECT code FROM result_findings"),
            **self.exports(one)}

    def test_every_output(self):
        for environment in (self.KNOWN, {}):
            self.new_db()
            found = self.outputs(self.measure(**environment))
            self.assertEqual(found, dict.fromkeys(found, bool(environment)))
            self.assertEqual(self.assay("verify", self.db).status, 0)

    def test_a_result_without_figures(self):
        """What failed under a foreign worker is not told of assay's own."""
        self.run_synthetic(ASSAY_WORKER=WORKER, FOREIGN_MODE="own_failure")
        (row,) = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual((row["foreign_worker"], row["value"]), (WORKER, None))
        for words in (("results",), ("show", row["id"]), ("show", row["id"], "--all")):
            self.assertTrue(self.in_words(self.output(*words)), words)

    def test_a_path_that_is_withheld(self):
        """The mark stays, the estimate is recomputed, and nothing in the bundle has the path."""
        one, bundle = self.measure(**self.KNOWN), os.path.join(self.folder, "x.assay")
        self.output("bundle", one.split("/")[0], "--unsigned", "--withhold", "variable.ASSAY_WORKER", "-o",
                    bundle)
        with open(bundle, "rb") as file:
            self.assertNotIn(b"foreign_worker.py", file.read())
        self.db = os.path.join(self.folder, "taken.db")
        self.assertEqual(self.assay("import", bundle, "--db", self.db).status, 0)
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out)
        self.assertIn("1 estimate,", call.out)
        (row,) = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual(row["foreign_worker"], "(withheld)")
        self.assertTrue(self.in_findings("results"))
        self.assertTrue(self.in_words(self.output("show", one)))
        self.output("gate", one, self.measure(), "--allow-foreign-worker", status=2)

    def stored(self):
        return [(verdict, json.loads(body)["gate"]["allow_foreign_worker"]) for verdict, body in
                self.query("SELECT verdict, body FROM comparison WHERE kind = 'gate' ORDER BY id")]

    def test_compare_and_gate(self):
        first, second, own = self.measure(**self.KNOWN), self.measure(**self.KNOWN), self.measure()
        # Two results of one such worker compare, marked; the gate refuses unless it is told to go on.
        call = self.assay("compare", first, second, "--json", "--db", self.db).json()
        self.assertEqual(call["comparability"]["verdict"], "comparable_except")
        self.assertIn("identity.origin", call["comparability"]["except"])
        self.assertEqual([arm["foreign_worker"] for arm in call["arms"]], [WORKER, WORKER])
        shown = " ".join(self.output("compare", first, second).split())
        self.assertRegex(shown, " both synthetic fp32 on .*, measured by the foreign worker " + re.escape(WORKER))
        self.assertIn(f"Measured by another program than assay's own worker, {WORKER}: device, times and checks are as it reports them.", shown)
        for words in ((), ("--json",)):
            refused = self.output("gate", first, second, *words, status=2)
            self.assertIn("foreign_worker", refused)
        self.assertIn("(--allow-foreign-worker)", refused)
        call = self.assay("gate", first, second, "--margin", "0.5", "--allow-foreign-worker", *ANYWHERE, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.stored(), [("foreign_worker", False), ("passes", True)])
        dossier = self.report("dossier", first, second)
        for words in ("Refused: another program than assay's own worker measured", "--allow-foreign-worker"):
            self.assertTrue(words in dossier, words)
        # With assay's own on either side they are no two results of one program.
        for pair in ((first, own), (own, first)):
            call = self.assay("compare", *pair, "--json", "--db", self.db).json()
            self.assertEqual(call["comparability"]["verdict"], "not_comparable")
            self.assertTrue(any(reason.startswith("identity.origin differs")
                                for reason in call["comparability"]["reasons"]))
            self.assertEqual({arm["foreign_worker"] for arm in call["arms"]}, {WORKER, None})
            for words in ((), ("--allow-foreign-worker",)):
                self.output("gate", *pair, *words, status=2)
        self.assertEqual({verdict for verdict, _ in self.stored()[2:]}, {"not_comparable"})
        call = self.assay("verify", self.db, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 6), call.out)

    @thorough
    def test_ab(self):
        """Both arms are marked, whatever an arm sets; so are several comparisons of one campaign."""
        protocol = self.write("evidence.yaml", self.EVIDENCE)
        words = ("ab", "synthetic", "--device", "null:0", "--protocol", protocol, "--pairs", "5", "--db", self.db)
        for change in ("ASSAY_WORKER", "ASSAY_WORKER=", "ASSAY_WORKER=/bin/true"):
            call = self.assay(*words, "--b", "env:" + change, **self.KNOWN)
            self.assertEqual(call.status, 2, call.out)
            self.assertIn("worker=NAME chooses who measures an arm", call.err)
        call = self.assay(*words, "--b", "env:FOREIGN_SLOW_BATCH=0", "--json", **self.KNOWN)
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("identity.origin", call.json()["comparability"]["except"])
        self.assertEqual([arm["foreign_worker"] for arm in call.json()["arms"]], [WORKER, WORKER])
        self.assertIn("measured by the foreign worker", " ".join(self.output("compare", "last").split()))
        self.output("gate", "last", status=2)
        several = self.write("w.yaml", "workload: w\nversion: 1\nkind: synthetic\ndescription: d\n"
                             "precisions: [fp32]\nbatches: [1, 2]\nscenario: offline\nsynthetic: {launches: 1, elements: 100}\n")
        call = self.assay("ab", several, *words[2:], "--b", "env:FOREIGN_SLOW_BATCH=0", **self.KNOWN)
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("Of 2 of the 2 comparisons another program than assay's own worker",
                      " ".join(self.output("compare", "last").split()))
        call = self.assay("gate", "last", "--json", "--db", self.db)
        self.assertEqual((call.status, call.json()["decision"]), (2, "foreign_worker"))
        self.assertIn(self.assay("gate", "last", "--allow-foreign-worker", "--margin", "0.5", "--db",
                                 self.db).status, (0, 3))
        self.assertEqual([allowed for _, allowed in self.stored()], [False] * 3 + [True] * 2)
        self.assertEqual(self.assay("verify", self.db).status, 0)


if __name__ == "__main__":
    run_tests()
