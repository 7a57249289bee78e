"""Files of other programs: imported, marked, never mixed with local measurements."""

import contextlib
import csv
import hashlib
import io
import json
import os
import sqlite3
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402

# The fields of llama-bench's output in mid-2025, with invented values.
ROW = {"build_commit": "8cf427ff", "build_number": 5163, "cpu_info": "Example CPU",
       "gpu_info": "Example GPU", "backends": "CUDA", "model_filename": "models/example.gguf",
       "model_type": "example 7B Q4_K - Medium", "model_size": 4677120000,
       "model_n_params": 7615616512, "n_batch": 2048, "n_ubatch": 512, "n_threads": 8,
       "cpu_mask": "0x0", "cpu_strict": False, "poll": 50, "type_k": "f16", "type_v": "f16",
       "n_gpu_layers": -1, "split_mode": "layer", "main_gpu": 0, "no_kv_offload": False,
       "flash_attn": False, "devices": "auto", "tensor_split": "0.00", "use_mmap": True,
       "embeddings": False, "n_prompt": 512, "n_gen": 0, "n_depth": 0,
       "test_time": "2025-04-24T11:58:50Z", "avg_ns": 72135640, "stddev_ns": 1453752,
       "avg_ts": 7100.25, "stddev_ts": 140.341520,
       "samples_ns": [74601900, 71632900, 71745200, 71952700, 70745500],
       "samples_ts": [6863.1, 7147.55, 7136.37, 7115.79, 7237.21]}
SECOND = {**ROW, "n_prompt": 0, "n_gen": 128, "avg_ns": 1076767880, "avg_ts": 118.875}

SUMMARY = """================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : {scenario}
Mode     : PerformanceOnly
{headline}
Result is : VALID
  Min duration satisfied : Yes
  Min queries satisfied : Yes
  Early stopping satisfied: Yes

================================================
Additional Stats
================================================
Min latency (ns)                : 1000000
Max latency (ns)                : 3000000
Mean latency (ns)               : 2000000
99.90 percentile latency (ns)   : 3000000

================================================
Test Parameters Used
================================================
samples_per_query : 4
target_qps : 50
qsl_rng_seed : 13281865557512327830

No warnings encountered during test.

No errors encountered during test.
"""
# The names and types of mid-2026, as llama-bench's get_fields and get_field_type have them.
NEWER = {name: value for name, value in ROW.items() if name != "use_mmap"} | {
    "n_cpu_moe": 0, "flash_attn": -1, "tensor_buft_overrides": "none", "load_mode": "mmap",
    "no_op_offload": 0, "no_host": False, "fit_target": 0, "fit_min_ctx": 4096}
OFFLINE = SUMMARY.format(scenario="Offline", headline="Samples per second: 33.75")


def as_csv(rows):
    names = [name for name in rows[0] if not name.startswith("samples_")]
    out = io.StringIO()
    out.write(",".join(names) + "\n")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in rows:
        writer.writerow([int(row[n]) if isinstance(row[n], bool) else row[n] for n in names])
    return out.getvalue()


class Import(CliTest):
    def sqlite(self, name, table, rows):
        names = [name for name in rows[0] if not name.startswith("samples_")]
        path = os.path.join(self.folder, name)
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})",
                           [[row[n] for n in names] for row in rows])
            db.commit()
        return path

    def take(self, *files):
        call = self.assay("import", *files, "--json", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        return call.json()

    def rows(self):
        return self.assay("results", "--json", "--limit", "0", "--db", self.db).json()

    def refused(self, path, *parts):
        """No crash, a message that says where, and nothing stored: a new database is not made."""
        was_there = os.path.exists(self.db)
        call = self.assay("import", path, "--db", self.db)
        self.assertEqual(call.status, 2, call.err)
        for part in parts:
            self.assertIn(part, call.err)
        if not was_there:
            self.assertEqual([n for n in os.listdir(self.folder) if os.path.basename(self.db) in n], [])
            return call.err
        self.assertEqual(self.query("SELECT count(*) FROM import"), [(0,)])
        self.assertEqual(self.query("SELECT count(*) FROM campaign"), [(0,)])
        return call.err

    def test_every_form_of_llama_bench(self):
        rows = [ROW, SECOND]
        files = {"llama-bench-json": self.write("a.json", json.dumps(rows, indent=2)),
                 "llama-bench-jsonl": self.write(
                     "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows)),
                 "llama-bench-csv": self.write("a.csv", as_csv(rows)),
                 "llama-bench-sqlite": self.sqlite("a.sqlite", "test", rows)}
        newer = self.sqlite("b.sqlite", "llama_bench", [SECOND])
        for form, path in files.items():
            self.new_db()
            (outcome,) = self.take(path)
            self.assertEqual((outcome["results"], outcome["program"], outcome["known"]),
                             (2, "llama-bench", False))
            first, second = self.rows()
            self.assertEqual((first["value"], second["value"]), (7100.25, 118.875), form)
            self.assertEqual(tuple(row["metrics"]["iteration_time"]["value"] for row in (first, second)), (72135640, 1076767880))
            self.assertEqual(first["workload"], "llama-bench:pp512 example 7B Q4_K - Medium")
            for row in (first, second):
                self.assertEqual(row["verdict"], "imported")
                self.assertEqual(row["imported"], "llama-bench")
                self.assertEqual(row["unit"], "tokens/s")
                self.assertEqual(row["device"], "Example GPU")
                self.assertEqual(row["batch"], 2048)
                self.assertEqual((row["trials_planned"], row["trials_ok"]), (0, 0))
                self.assertIsNone(row["lo"])
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            self.assertEqual(self.query("SELECT file, format, program, program_version, sha256 "
                                        "FROM imports"),
                             [(os.path.basename(path), form, "llama-bench", "8cf427ff", digest)])
            self.assert_sound()
        self.new_db()
        self.take(newer)
        self.assertEqual([row["value"] for row in self.rows()], [118.875])

    def test_what_it_lacks_is_on_record(self):
        self.take(self.write("a.csv", as_csv([ROW])), self.write("a.json", json.dumps([ROW])))
        for row in self.rows():
            record = self.assay("show", row["id"], "--json", "--db", self.db).json()
            readings = record["imported"]["readings"]
            for name in ("device.driver_version", "device.uuid", "identity.precision",
                         "identity.seed", "import.raw_samples", "import.warmup",
                         "import.steady_state", "import.verification", "import.stack",
                         "import.telemetry", "import.provenance"):
                self.assertEqual(readings[name]["status"], "unavailable", name)
                self.assertTrue(readings[name]["reason"], name)
                self.assertNotIn("value", readings[name])
            self.assertEqual(readings["device.name"]["status"], "declared")
            self.assertIsNone(record["identity"]["seed"])
            self.assertIsNone(record["cost"]["device_memory_bytes"])
            self.assertEqual(record["trials"], [])
            self.assertIsNone(record["estimate"])
            self.assertEqual(record["imported"]["claim"]["fields"]["model_size"], 4677120000)

    def test_mlperf(self):
        self.take(self.write("s.txt", OFFLINE))
        (row,) = self.rows()
        self.assertEqual((row["value"], row["unit"], row["scenario"], row["batch"],
                          row["imported"]), (33.75, "samples/s", "offline", None, "mlperf-loadgen"))
        self.new_db()
        server = SUMMARY.format(scenario="Server", headline="Scheduled samples per second : 20.5")
        server = server.replace("Additional Stats\n" + "=" * 48, "Additional Stats\n" + "=" * 48 +
                                "\nCompleted samples per second    : 20.25\n")
        single = SUMMARY.format(scenario="SingleStream",
                                headline="90th percentile latency (ns) : 2500000")
        self.take(self.write("two.txt", server + single))
        first, second = self.rows()
        self.assertEqual((first["value"], first["scenario"]), (20.25, "server"))
        self.assertEqual((second["metric"], second["value"], second["scenario"]),
                         ("iteration_time", 2000000, "single_stream"))
        record = self.assay("show", second["id"], "--json", "--db", self.db).json()
        self.assertEqual(
            record["imported"]["claim"]["fields"]["results"]["90th percentile latency (ns)"],
            "2500000")
        self.assertEqual(record["imported"]["readings"]["import.validity"]["value"], "VALID")
        self.assertEqual(record["imported"]["readings"]["device.name"]["status"], "unavailable")

    def test_mlperf_of_a_language_model(self):
        headline = ("Completed samples per second    : 15.73\n"
                    "Completed tokens per second: 9897.52")
        server = SUMMARY.format(scenario="Server", headline=headline).replace(
            "target_qps : 50", "target_qps : 15.75\nttft_latency (ns): 4500000000").replace(
            "Result is : VALID", "Result is : INVALID").replace(
            "No errors encountered during test.", "2 ERRORS encountered. See detailed log.")
        offline = SUMMARY.format(scenario="Offline", headline="Samples per second: 80.6\n"
                                 "Tokens per second: 23456.5\nTokens per second (inferred): 1")
        many = SUMMARY.format(scenario="MultiStream",
                              headline="99.0th percentile latency (ns) : 2500000")
        self.take(self.write("s.txt", server), self.write("o.txt", offline),
                  self.write("m.txt", many))
        rows = {row["scenario"]: row for row in self.rows()}
        self.assertEqual([(rows[name]["value"], rows[name]["unit"], rows[name]["batch"])
                          for name in ("server", "offline", "multi_stream")],
                         [(9897.52, "tokens/s", None), (23456.5, "tokens/s", None), (2000000, "ns", 4)])
        self.assertEqual([rows[name]["workload"] for name in ("server", "offline")],
                         ["mlperf:PySUT (INVALID)", "mlperf:PySUT"])
        for form in ("csv", "openmetrics", "mlperf"):
            self.assertIn("INVALID", self.assay("export", form, rows["server"]["id"], "--db", self.db).out)
        record = self.assay("show", rows["server"]["id"], "--json", "--db", self.db).json()
        claim, readings = record["imported"]["claim"], record["imported"]["readings"]
        self.assertEqual(claim["fields"]["results"]["Completed samples per second"], "15.73")
        self.assertEqual(readings["import.warnings"]["value"], "No warnings encountered during test.")
        # That the run broke its own rules is shown next to the number, everywhere.
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", rows["server"]["id"], "--html", page, "--db",
                                    self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        for text in (self.assay("results", "--db", self.db).out, html,
                     self.assay("show", "--all", rows["server"]["id"], "--db", self.db).out):
            text = " ".join(text.split())
            self.assertIn("By its own rules the run is INVALID.", text)
            self.assertIn("2 ERRORS encountered", text)
        self.assertNotIn("INVALID",
                         self.assay("show", "--all", rows["offline"]["id"], "--db", self.db).out)

    def test_many_files_of_one_program_are_one_remark(self):
        self.take(*(self.write(f"{i}.txt", OFFLINE.replace("33.75", f"{i}.5"))
                    for i in range(1, 9)))
        table = self.assay("results", "--db", self.db).out
        self.assertEqual(table.count("not by assay"), 1, table)

    def test_as_windows_writes_them(self):
        """A byte-order mark and CRLF change nothing; UTF-16 has a remedy."""
        for name, text in (("a.json", json.dumps([ROW], indent=1)), ("a.jsonl", json.dumps(ROW) + "\n"),
                           ("a.csv", as_csv([ROW])), ("a.txt", OFFLINE)):
            with self.subTest(name):
                self.new_db()
                path = self.write(name, "\ufeff" + text.replace("\r\n", "\n").replace("\n", "\r\n"))
                self.take(path)
                self.assertEqual([row["value"] for row in self.rows()],
                                 [33.75 if name == "a.txt" else 7100.25])
        self.new_db()
        with open(self.write("b.json", ""), "wb") as file:
            file.write(json.dumps([ROW]).encode("utf-16"))
        self.refused("b.json", "b.json: is UTF-16", "iconv")
        self.refused(self.write("c.json", ""), "c.json: is empty")

    def test_newer_llama_bench(self):
        self.take(self.write("a.json", json.dumps([NEWER], indent=4)))
        (row,) = self.rows()
        self.assertEqual((row["value"], row["device"]), (7100.25, "Example GPU"))

    def test_forms_that_are_not_read_have_a_remedy(self):
        table = "| model | size | test | t/s |\n| --- | --: | --: | --: |\n| x | 1 | pp512 | 9 |\n"
        self.refused(self.write("a.md", table), "a.md: ", "-o json")
        self.refused(self.write("a.sql", "CREATE TABLE IF NOT EXISTS llama_bench (\n  build_commit "
                                "TEXT,\n  model_filename TEXT,\n  n_prompt INTEGER\n);\n"),
                     "a.sql: ", "sqlite3")
        self.refused(self.write("one.json", json.dumps(ROW, indent=1)), "one.json: ", "into a list, [ ]")
        for name, text, remedy in (
                ("h.md", "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |\n|:---|---:|---:|---:|---:|\n"
                 "| `sleep 1` | 1.0 ± 0.1 | 0.9 | 1.1 | 1.00 |\n", "--export-json"),
                ("g.csv", "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,"
                 'error_message\n"copy",100,1,1,ns,,,,,\n', "--benchmark_format=json"),
                ("g.txt", "2026-01-01T00:00:00+00:00\nRunning ./b\n---\nBenchmark        Time             CPU   Iterations\n"
                 "copy          1.0 ns         1.0 ns    100\n", "--benchmark_format=json"),
                ("f.txt", "seq: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, ioengine=psync, iodepth=1\nfio-3.33\n",
                 "--output-format=json")):
            self.refused(self.write(name, text), name, remedy)
        for name, text in (("no", "\nNo warnings encountered during test.\n\nNo errors encountered "
                            "during test.\n"), ("some", "\n2 warnings encountered. See detailed "
                                                "log.\n\n1 ERROR encountered. See detailed log.\n")):
            self.refused(self.write(f"{name}.txt", text), f"{name}.txt: ", "accuracy run")

    def test_twice_is_once(self):
        path = self.write("a.json", json.dumps([ROW]))
        copy = self.write("copy.json", json.dumps([ROW]))
        first = self.take(path)[0]
        counts = "SELECT (SELECT count(*) FROM campaign), (SELECT count(*) FROM cell), " \
                 "(SELECT count(*) FROM claim), (SELECT count(*) FROM content), " \
                 "(SELECT count(*) FROM campaign_event)"
        before = self.query(counts)
        for again in (path, copy):
            outcome = self.take(again)[0]
            self.assertEqual((outcome["campaign"], outcome["known"]), (first["campaign"], True))
        self.assertEqual(self.query(counts), before)

    def test_never_compares_and_says_why(self):
        self.run_synthetic()
        own = self.rows()[0]["id"]
        self.take(self.write("a.json", json.dumps([ROW])), self.write("s.txt", OFFLINE))
        imported = [row["id"] for row in self.rows() if row["imported"]]
        self.assertEqual(len(imported), 2)
        for a, b in ((own, imported[0]), (imported[1], own), tuple(imported),
                     (imported[0], imported[0])):
            call = self.assay("compare", a, b, "--json", "--db", self.db)
            judgement = call.json()
            self.assertEqual(judgement["comparability"]["verdict"], "not_comparable")
            reasons = "\n".join(judgement["comparability"]["reasons"])
            self.assertIn("device.driver_version", reasons)
            if own in (a, b):
                self.assertIn("identity.origin differs: what another program measured", reasons)
        self.assertEqual(self.assay("gate", own, imported[0], "--db", self.db).status, 2)

    def test_shown_as_imported(self):
        self.take(self.write("a.json", json.dumps([ROW])))
        (row,) = self.rows()
        table = self.assay("results", "--db", self.db, COLUMNS="120").out
        self.assertIn("(imported)", table)
        self.assertIn("measured by llama-bench 8cf427ff, not by assay", " ".join(table.split()))
        self.assertNotIn("first look", table)
        shown = self.assay("show", "--all", row["id"], "--db", self.db).out
        self.assertIn("not by assay", " ".join(shown.split()))
        self.assertIn("llama-bench does not record the driver", " ".join(shown.split()))
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "--html", page, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("not by assay", text)
        self.assertIn("Imported by", text)
        self.assertIn("llama-bench does not record the driver", text)
        dossier = os.path.join(self.folder, "dossier.html")
        self.assertEqual(self.assay("report", "--dossier", dossier, "--db", self.db).status, 0)
        with open(dossier, encoding="utf-8") as file:
            document = file.read()
        self.assertIn("llama-bench does not record the driver", document)
        # No statement about it that only holds for assay's own trials.
        for pages, word in ((text, "trials completed"), (text, "attempts, none left out"),
                            (document, "Each trial is a fresh process"), (document, "completed"),
                            (document, "first look"), (document, "came so far as to name")):
            self.assertNotIn(word, pages)
        for pages in (text, document):
            self.assertNotIn("<dt>Measured by</dt><dd>assay", pages)
        for form in ("csv", "openmetrics", "mlperf", "intoto", "jsonl", "cyclonedx"):
            call = self.assay("export", form, row["id"], "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
            self.assertIn("imported", call.out)
        self.assertNotIn("assay_trials_ok 0", self.assay("export", "openmetrics", "--db",
                                                         self.db).out)

    def test_filters_find_imports(self):
        self.run_synthetic()
        self.take(self.write("a.json", json.dumps([ROW, SECOND])))
        for words, count in ((["--device", "example gpu"], 2), (["--device", "CUDA"], 2),
                             (["--protocol", "llama-bench"], 2), (["--device", "null"], 1)):
            call = self.assay("results", "--ids", *words, "--db", self.db)
            self.assertEqual(len(call.out.split()), count, words)

    def test_hostile_fields(self):
        self.assay("import", self.write("ok.json", json.dumps([ROW])), "--db", self.db)
        for name, value, words in (
                ("n_prompt", -1, "n_prompt: must be a whole number"),
                ("n_prompt", "many", "n_prompt: must be a whole number"),
                ("n_prompt", 2**62, "n_prompt: must be a whole number"),
                ("n_prompt", 0, "n_prompt and n_gen are both 0"),
                ("avg_ts", 0, "avg_ts: must be a number above 0"),
                ("avg_ts", None, "avg_ts: must be a number above 0"),
                ("avg_ns", "nan", "avg_ns: must be a number above 0"),
                ("avg_ns", "1e999", "avg_ns: must be a number above 0"),
                ("gpu_info", "x" * 5000, "gpu_info: must be a text"),
                ("gpu_info", ["a"], "gpu_info: must be a text"),
                ("test_time", 7, "test_time: must be a text"),
                ("n_batch", 1.5, "n_batch: must be a whole number")):
            self.new_db()
            bad = {**ROW, name: value}
            self.refused(self.write("bad.json", json.dumps([bad])), "bad.json: result 1: ", words)
            # Beside another one it is left out and named.
            self.partial(self.write("two.json", json.dumps([ROW, bad])), "two.json: result 2: " + words)
        missing = {key: value for key, value in ROW.items() if key != "avg_ts"}
        self.partial(self.write("m.jsonl", json.dumps(ROW) + "\n\n" + json.dumps(missing) + "\n"),
                     "m.jsonl:3: avg_ts: is missing")

    def partial(self, path, *messages, values=(7100.25,)):
        """What has a number is imported; the rest is named on standard error, counted, and on record."""
        self.new_db()
        call = self.assay("import", path, "--json", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        (outcome,) = call.json()
        self.assertEqual((outcome["results"], outcome["left_out"]), (len(values), len(messages)))
        self.assertEqual([row["value"] for row in self.rows()], list(values))
        lines = call.err.splitlines()
        self.assertEqual(len(lines), len(messages), call.err)
        for line, words in zip(lines, messages):
            self.assertIn("warning: left out: ", line)
            self.assertIn(words, line)
        self.assert_sound()

    def test_partly_written(self):
        """A benchmark that was killed, and rows that say nothing."""
        array = json.dumps([ROW, SECOND, ROW], indent=2)
        self.partial(self.write("cut.json", array[:array.rindex('"n_prompt"')]),
                     "cut.json: ends within what follows result 2", values=(7100.25, 118.875))
        self.partial(self.write("open.json", "[\n" + json.dumps(ROW) + "\n"), "ends within what follows result 1")
        lines = json.dumps(ROW) + "\n" + json.dumps(SECOND)
        self.partial(self.write("cut.jsonl", lines[:-30]), "cut.jsonl:2:")
        table = as_csv([ROW, SECOND])
        self.partial(self.write("narrow.csv", table[:table.rindex(",")] + "\n"), "narrow.csv:3: fewer fields")
        self.partial(self.write("wide.csv", table.rstrip("\n") + ',"1"\n'), "wide.csv:3: more fields")
        self.partial(self.write("open.csv", table + '"x'), "open.csv:4: a quote", values=(7100.25, 118.875))
        self.partial(self.sqlite("a.sqlite", "test", [{**ROW, "avg_ts": None}, ROW]), "result 1: avg_ts: must be")
        summary = OFFLINE.replace("33.75", "nan") + OFFLINE + OFFLINE.replace("PerformanceOnly", "AccuracyOnly")
        self.partial(self.write("s.txt", summary), "result at line 2: Samples per second", "an accuracy run", values=(33.75,))

    def test_lines_of_a_log(self):
        before = "warning: asserts enabled, performance may be affected\n[12:00] load: it's \"x\n"
        after = "\nllama_perf: done\n"
        for name, text in (("a.json", json.dumps([ROW], indent=2)), ("a.jsonl", json.dumps(ROW)), ("a.csv", as_csv([ROW])),
                           ("a.txt", OFFLINE)):
            head = before if name != "a.csv" else before.replace('"', "")
            self.partial(self.write(name, head * 300 + text + after), values=(33.75 if name == "a.txt" else 7100.25,))
            self.partial(self.write(name, (head + text + after).replace("\n", "\r\n")),
                         values=(33.75 if name == "a.txt" else 7100.25,))

    def test_numbers_that_json_does_not_have(self):
        """As C++ and Python write them; where a value is needed it is missing, elsewhere it is text."""
        for word in ("NaN", "nan", "-nan", "Infinity", "-Infinity", "inf", "-inf", "-nan(ind)", "18446744073709551615",
                     "1e999", "-1.#IND"):
            for name, end in (("a.json", "[%s]"), ("a.jsonl", "%s\n")):
                text = json.dumps({**ROW, "stddev_ts": "@", "samples_ns": ["@", 1]}).replace('"@"', word)
                self.partial(self.write(name, end % text))
                (row,) = self.rows()
                fields = self.assay("show", row["id"], "--json", "--db", self.db).json()["imported"]["claim"]["fields"]
                self.assertEqual((fields["stddev_ts"], fields["samples_ns"]), (word, [word, 1]))
                if word != "18446744073709551615":
                    self.new_db()
                    self.refused(self.write(name, end % json.dumps({**ROW, "avg_ts": "@"}).replace('"@"', word)),
                                 "avg_ts: must be a number above 0")
        for text in ('[{"n_prompt": 1x, "model_filename": ""}]', '[{"n_prompt": NaNa, "model_filename": ""}]',
                     '[{"n_prompt": +-, "model_filename": ""}]', '[{"n_prompt": 1, "model_filename": ""}}'):
            self.new_db()
            self.refused(self.write("x.json", text), "x.json:1:")

    def test_forms_of_one_run_are_one_record(self):
        for base in (ROW, NEWER, {**ROW, "n_gpu_layers": 0}):
            records = []
            for form, path in (("json", self.write("a.json", json.dumps([base]))),
                               ("jsonl", self.write("a.jsonl", json.dumps(base))), ("csv", self.write("a.csv", as_csv([base]))),
                               ("sqlite", self.sqlite(f"{len(base)}{base['n_gpu_layers']}.sqlite", "test", [base]))):
                self.new_db()
                self.take(path)
                (row,) = self.rows()
                record = self.assay("show", row["id"], "--json", "--db", self.db).json()
                fields = {k: v for k, v in record["imported"]["claim"]["fields"].items() if not k.startswith("samples_")}
                readings = {k: v for k, v in record["imported"]["readings"].items()
                            if k not in ("import.repetitions", "import.raw_samples")}
                records.append((form, fields, readings, row["device"], row["workload"],
                                record["identity"]["workload_digest"] if "workload_digest" in record["identity"] else None))
            for record in records[1:]:
                self.assertEqual(record[1:], records[0][1:], record[0])

    def test_where_it_ran(self):
        """gpu_info names every GPU of the machine, and backends those of the build."""
        two = {"gpu_info": "GPU A, GPU B"}
        three = {"gpu_info": "GPU A, GPU B, GPU C"}
        cases = [({}, "Example GPU", "CUDA"), ({"n_gpu_layers": 0}, "Example CPU", "CPU"),
                 ({"n_gpu_layers": 0.0}, "Example CPU", "CPU"), ({"n_gpu_layers": "0"}, "Example CPU", "CPU"),
                 ({"n_gpu_layers": None}, None, None), ({"devices": "none"}, "Example CPU", "CPU"),
                 ({"split_mode": "none", "main_gpu": -1}, "Example CPU", "CPU"),
                 ({"backends": "CPU", "gpu_info": ""}, "Example CPU", "CPU"), ({"backends": "BLAS"}, "Example CPU", "BLAS"),
                 ({"gpu_info": ""}, None, "CUDA"), (two, "GPU A, GPU B", "CUDA"),
                 ({**two, "devices": "CUDA0/CUDA1"}, "GPU A, GPU B", "CUDA"), ({**two, "devices": "CUDA1"}, "GPU B", "CUDA"),
                 ({**three, "devices": "CUDA0/CUDA2"}, "GPU A, GPU C", "CUDA"), ({**two, "devices": "CUDA7"}, None, "CUDA"),
                 ({**two, "devices": "RPC[10.0.0.1:50052]"}, None, "CUDA"),
                 ({**two, "devices": "CUDA1", "backends": "CUDA,Vulkan"}, None, "CUDA,Vulkan"),
                 ({**two, "devices": "CUDA1", "backends": "CUDA,BLAS"}, "GPU B", "CUDA,BLAS"),
                 ({**two, "split_mode": "none", "main_gpu": 1}, "GPU B", "CUDA"),
                 ({**two, "split_mode": "none", "main_gpu": 0}, "GPU A", "CUDA"),
                 ({**two, "tensor_split": "0.00/1.00"}, "GPU B", "CUDA"), ({**two, "tensor_split": "3.00/1.00"}, "GPU A, GPU B", "CUDA"),
                 ({**two, "tensor_split": "0.00"}, "GPU A, GPU B", "CUDA"),
                 ({**three, "devices": "CUDA1/CUDA2", "tensor_split": "0.00/1.00"}, "GPU C", "CUDA")]
        for change, device, backend in cases:
            row = {**SECOND, **change}
            files = [self.write("a.json", json.dumps([row]))]
            if not any(isinstance(value, float) or value is None for value in change.values()):
                files.append(self.write("a.csv", as_csv([row])))
            for path in files:
                self.new_db()
                self.take(path)
                (found,) = self.rows()
                readings = self.assay("show", found["id"], "--json", "--db", self.db).json()["imported"]["readings"]
                with self.subTest(change=change, path=path):
                    self.assertEqual(readings["device.name"].get("value"), device)
                    self.assertEqual(readings["device.backend"].get("value"), backend)
                    self.assertEqual(found["device"], device)
        old = {key: value for key, value in SECOND.items() if key not in ("backends", "devices")}
        for flags, device in (({"cuda": False, "metal": False}, "Example CPU"), ({"cuda": True, "metal": False}, "Example GPU")):
            self.new_db()
            self.take(self.write("old.json", json.dumps([{**old, **flags}])))
            self.assertEqual([row["device"] for row in self.rows()], [device])

    def test_mlperf_says_what_its_rate_is(self):
        def readings(text):
            self.new_db()
            self.take(self.write("s.txt", text))
            (row,) = self.rows()
            return row, self.assay("show", row["id"], "--json", "--db", self.db).json()["imported"]["readings"]
        row, found = readings(SUMMARY.format(scenario="Server", headline="Scheduled samples per second : 20.5"))
        self.assertEqual((row["value"], found["import.rate"]["value"]), (20.5, "Scheduled samples per second"))
        self.assertNotIn("iteration_time", row["metrics"])  # of a server it is the time in a queue, too
        row, found = readings(SUMMARY.format(scenario="Server", headline="Completed samples per second    : 20.5"))
        self.assertEqual(found["import.rate"]["value"], "Completed samples per second")
        # Cut off before its judgement, it is no valid run.
        row, found = readings(OFFLINE[:OFFLINE.index("Result is")])
        self.assertEqual(found["import.validity"]["status"], "unavailable")
        self.assertEqual(row["workload"], "mlperf:PySUT (validity unknown)")
        for words in (["show", row["id"]], ["results"]):
            self.assertIn("does not say whether the run kept", " ".join(self.assay(*words, "--db", self.db).out.split()))

    def test_hostile_texts(self):
        good = json.dumps([ROW])
        table = as_csv([ROW])
        cases = {"cut.json": good[:-30], "deep.json": "[" * 100000 + '"n_prompt model_filename',
                 "scalar.json": '["n_prompt model_filename"]', "nul.csv": table[:-40] + "\0\n",
                 "open.csv": table.rstrip("\n")[:-1], "wide.csv": table.rstrip("\n") + ',"1"\n',
                 "narrow.csv": table[:table.rindex(",")] + "\n",
                 "twice.json": good.replace('"n_gen": 0', '"n_gen": 0, "n_gen": 0'),
                 "empty.txt": "", "prose.txt": "nothing that anybody knows\n",
                 "cut.txt": OFFLINE[:OFFLINE.index("Scenario")],
                 "no.txt": OFFLINE.replace("33.75", "fast"),
                 "minus.txt": OFFLINE.replace("33.75", "-1"),
                 "accuracy.txt": OFFLINE.replace("PerformanceOnly", "AccuracyOnly"),
                 "batch.txt": OFFLINE.replace("samples_per_query : 4", "samples_per_query : x"),
                 "again.txt": OFFLINE + "x : y\n" * 300}
        for name, text in cases.items():
            self.new_db()
            with self.subTest(name):
                self.refused(self.write(name, text), name)

    def test_hostile_files(self):
        fifo = os.path.join(self.folder, "fifo")
        os.mkfifo(fifo)
        self.refused(fifo, "is not a regular file")
        self.refused(self.folder, "is not a regular file")
        self.refused("none.json", "none.json: No such file")
        base = self.sqlite("t.sqlite", "test", [ROW])
        with open(base, "rb") as file:
            content = file.read()
        for cut in (100, 1000, len(content) // 2):
            path = os.path.join(self.folder, f"cut{cut}.sqlite")
            with open(path, "wb") as file:
                file.write(content[:cut])
            self.refused(path, f"cut{cut}.sqlite")
        other = os.path.join(self.folder, "other.sqlite")
        with contextlib.closing(sqlite3.connect(other)) as db:
            db.execute("CREATE VIEW test AS WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + "
                       "1 FROM c) SELECT x AS n_prompt FROM c")
            db.commit()
        self.refused(other, "has no table llama_bench or test")
        blob = self.sqlite("blob.sqlite", "test", [ROW])
        with contextlib.closing(sqlite3.connect(blob)) as db:
            db.execute("UPDATE test SET gpu_info = x'00ff'")
            db.commit()
        self.refused(blob, "result 1: gpu_info: must be a finite number or UTF-8 text")
        endless = self.sqlite("endless.sqlite", "test", [ROW])
        with contextlib.closing(sqlite3.connect(endless)) as db:
            db.execute("UPDATE test SET stddev_ts = 9e999")
            db.commit()
        self.refused(endless, "result 1: stddev_ts: must be a finite number or UTF-8 text")
        # An assay database is not one of llama-bench.
        other = os.path.join(self.folder, "ours.db")
        self.assertEqual(self.assay("import", self.write("a.json", json.dumps([ROW])), "--db",
                                    other).status, 0)
        self.refused(other, "has no table llama_bench or test")

    def test_format_by_name(self):
        path = self.write("a.json", json.dumps([ROW]))
        call = self.assay("import", path, "--format", "mlperf-summary", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn('no heading "MLPerf Results Summary"', call.err)
        call = self.assay("import", path, "--format", "llama-bench-jsn", "--db", self.db)
        self.assertIn('did you mean "llama-bench-json"?', call.err)
        call = self.assay("import", path, "--format", "llama-bench-json", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)


if __name__ == "__main__":
    unittest.main()
