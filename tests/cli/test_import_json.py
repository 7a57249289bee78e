"""Import of hyperfine, Google Benchmark, pytest-benchmark and fio, from files that these wrote."""

import gzip
import json
import os
import statistics
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402

DATA = os.path.join(os.path.dirname(__file__), "..", "data", "imports")


def load(name):
    with open(os.path.join(DATA, name), encoding="utf-8") as file:
        return json.load(file)


class ImportJson(CliTest):
    def take(self, path):
        call = self.assay("import", path, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        rows = self.assay("results", "--json", "--db", self.db).json()
        return {row["workload"]: self.assay("show", row["id"], "--json", "--db", self.db).json()
                for row in rows}

    def metric(self, record, name):
        return record["imported"]["claim"]["metrics"][name]["value"]

    def check_common(self, records, program):
        for record in records.values():
            readings = record["imported"]["readings"]
            for name in ("device.driver_version", "import.warmup", "import.stack", "import.verification",
                         "import.provenance", "import.telemetry"):
                self.assertEqual(readings[name]["status"], "unavailable", name)
                self.assertGreater(len(readings[name]["reason"]), 15)
            self.assertEqual(record["imported"]["origin"]["program"], program)
            self.assertIsNone(record["estimate"])

    def test_help_names_every_format(self):
        names = self.assay("import", "--format", "nothing", "x").err.strip().split("there are ")[1].split(", ")
        self.assertIn("superbench", names)
        text = " ".join(self.assay("import", "--help").out.split())
        for name in names:
            self.assertRegex(text, rf"\b{name}\b")

    def test_hyperfine(self):
        records = self.take(os.path.join(DATA, "hyperfine.json"))
        self.check_common(records, "hyperfine")
        self.assertEqual(set(records), {"hyperfine:" + entry["command"]
                                        for entry in load("hyperfine.json")["results"]})
        for entry in load("hyperfine.json")["results"]:
            record = records["hyperfine:" + entry["command"]]
            self.assertAlmostEqual(self.metric(record, "iteration_time") / (entry["mean"] * 1e9), 1, places=12)
            self.assertEqual(record["imported"]["claim"]["fields"], entry)

    def test_google_benchmark(self):
        records = self.take(os.path.join(DATA, "google_benchmark.json"))
        self.check_common(records, "google-benchmark")
        entries = {"google-benchmark:" + entry["name"]: entry
                   for entry in load("google_benchmark.json")["benchmarks"] if "error_occurred" not in entry}
        self.assertEqual(set(records), set(entries))
        factors = {"ns": 1, "us": 1e3}
        self.assertEqual({entry["time_unit"] for entry in entries.values()}, set(factors))
        for name, entry in entries.items():
            self.assertAlmostEqual(self.metric(records[name], "iteration_time")
                                   / (entry["real_time"] * factors[entry["time_unit"]]), 1, places=12)
            # By CPU time, or not: the file does not say, so it is no rate.
            self.assertNotIn("item_rate", {key for key, value in
                                           records[name]["imported"]["claim"]["metrics"].items()
                                           if value and value["value"] is not None})
            self.assertEqual(records[name]["imported"]["readings"]["host.name"]["value"], "bench")

    def test_google_benchmark_repetitions(self):
        """Each repetition is a result; their mean, median and so on are not results of their own."""
        records = self.take(os.path.join(DATA, "google_benchmark_repetitions.json"))
        self.assertEqual(set(records), {f"google-benchmark:copy/4096 repetition {k}" for k in (1, 2, 3)})
        # Older versions do not say which is which, but by the names.
        old = load("google_benchmark_repetitions.json")
        for entry in old["benchmarks"]:
            for name in ("run_type", "repetitions", "repetition_index", "aggregate_name", "run_name"):
                entry.pop(name, None)
        (outcome,) = self.assay("import", self.write("old.json", json.dumps(old)), "--json", "--db", self.db).json()
        self.assertEqual(outcome["results"], 3)

    def test_pytest_benchmark(self):
        records = self.take(os.path.join(DATA, "pytest_benchmark.json"))
        self.check_common(records, "pytest-benchmark")
        for entry in load("pytest_benchmark.json")["benchmarks"]:
            record = records["pytest-benchmark:" + entry["fullname"]]
            self.assertAlmostEqual(self.metric(record, "iteration_time") / (entry["stats"]["mean"] * 1e9), 1,
                                   places=12)
            self.assertEqual(record["imported"]["readings"]["host.cpu.model"]["value"], "Example CPU")

    def test_fio(self):
        records = self.take(os.path.join(DATA, "fio_mixed.json"))
        self.check_common(records, "fio")
        self.assertEqual(set(records), {"fio:mixed read", "fio:mixed write"})
        (job,) = load("fio_mixed.json")["jobs"]
        for direction in ("read", "write"):
            record = records["fio:mixed " + direction]
            self.assertEqual(self.metric(record, "item_rate"), job[direction]["bw_bytes"])
            self.assertEqual(record["imported"]["claim"]["metrics"]["item_rate"]["unit"], "bytes/s")

    def test_phoronix(self):
        """A result for each test and system; a unit of which nobody knows what it counts is no rate."""
        call = self.assay("import", os.path.join(DATA, "phoronix.json"), "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        rows = self.assay("results", "--json", "--db", self.db).json()
        records = [self.assay("show", row["id"], "--json", "--db", self.db).json() for row in rows]
        self.check_common({record["id"]: record for record in records}, "phoronix-test-suite")
        found = {(row["workload"], record["imported"]["readings"]["host.name"]["value"]): (row["value"], row["unit"])
                 for row, record in zip(rows, records)}
        stream = "phoronix-test-suite:pts/stream-1.3.4 Type: Copy"
        self.assertEqual(found, {(stream, "machine one"): (12345.6e6, "bytes/s"),
                                 (stream, "machine two"): (23456.7e6, "bytes/s"),
                                 ("phoronix-test-suite:pts/example-1.0.0 Example", "machine one"): (12.5e9, "ns")})

    def test_superbench(self):
        call = self.assay("import", os.path.join(DATA, "superbench.jsonl"), "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        rows = self.assay("results", "--json", "--db", self.db).json()
        key = "superbench:model-benchmarks:gpt/pytorch-gpt2-small/fp16_train_"
        self.assertEqual(sorted((row["workload"], row["value"], row["unit"]) for row in rows),
                         [(key + "step_time", 50.5e6, "ns"), (key + "step_time", 51.5e6, "ns"),
                          (key + "throughput", 157.4, "samples/s"), (key + "throughput", 158.4, "samples/s")])
        records = {row["id"]: self.assay("show", row["id"], "--json", "--db", self.db).json() for row in rows}
        self.check_common(records, "superbench")
        self.assertEqual({record["imported"]["readings"]["host.name"]["value"] for record in records.values()},
                         {"node-0", "node-1"})

    def refuse(self, name, change, *words):
        value = load(name)
        change(value)
        call = self.assay("import", self.write("changed.json", json.dumps(value)), "--db", self.db)
        self.assertEqual(call.status, 2, call.err)
        for word in words:
            self.assertIn(word, call.err)
        self.assertFalse(os.path.exists(self.db) and self.query("SELECT count(*) FROM cell")[0][0])

    def test_bad_values_are_refused_by_place(self):
        """Where nothing else is in the file."""
        def only(name, entry, change):
            def apply(value):
                value[name] = [value[name][entry]]
                change(value[name][0])
            return apply
        for codes, words in (([0, 1], "run 2 ended with exit code 1"), ([None], "run 1 was ended by a signal"),
                             ([0, 139], "which stands for signal 11"), ([0, 1.0], "must be a whole number or null"),
                             (["0"], "must be a whole number or null"), ([-1073741819], "exit code -1073741819"),
                             ([True], "must be a whole number or null"), ({}, "must be a list"), (0, "must be a list"),
                             (None, "must be a list")):
            self.refuse("hyperfine.json", only("results", 1, lambda e: e.update(exit_codes=codes)), "results 1", words)
        self.refuse("hyperfine.json", only("results", 0, lambda e: e.update(mean=-1)), "results 1", "mean")
        self.refuse("google_benchmark.json", only("benchmarks", 2, lambda e: e.update(time_unit="h")),
                    "benchmarks 1", "time_unit", "ns, us, ms or s")
        self.refuse("pytest_benchmark.json", only("benchmarks", 0, lambda e: e["stats"].pop("mean")),
                    "benchmarks 1", "mean", "missing")
        for error, words in ((5, "the job failed with error 5"), ("0", "must be a whole number"), (0.5, "whole number")):
            self.refuse("fio.json", lambda v: v["jobs"][0].update(error=error), "jobs 1", words)
        self.refuse("fio.json", lambda v: v["jobs"][0]["read"].update(bw_bytes="fast"), "jobs 1", "bw_bytes")
        self.refuse("fio.json", lambda v: v["jobs"][0]["read"].pop("bw_bytes"), "jobs 1", "before fio 3.0")

        def statistics(value):
            one, = value["benchmarks"][:1]
            value["benchmarks"] = [{**one, "name": one["name"] + "_" + name, "run_type": "aggregate",
                                    "aggregate_name": name} for name in ("mean", "median", "stddev")]
        self.refuse("google_benchmark.json", statistics, "statistics of repetitions alone",
                    "without --benchmark_report_aggregates_only")

    def changed(self, name, change):
        value = load(name)
        change(value)
        return self.write(name, json.dumps(value))

    def test_a_flag_of_another_type_is_no_false(self):
        """A 1 or a text in place of true, as other writers of JSON have it; 0 and null are false."""
        first, *rest = [(("google-benchmark:" + one["name"]), one["real_time"] * {"ns": 1, "us": 1e3}[one["time_unit"]])
                        for one in load("google_benchmark.json")["benchmarks"] if "error_occurred" not in one]
        failed = "benchmarks 4: error_occurred"
        for flag, value in (("error_occurred", 1), ("error_occurred", "true"), ("skipped", 1.0)):
            path = self.changed("google_benchmark.json", lambda v: v["benchmarks"][0].update({flag: value}))
            self.left_out(path, rest, f"benchmarks 1: {flag}", failed)
        for value in (0, 0.0, None, False):
            path = self.changed("google_benchmark.json", lambda v: v["benchmarks"][0].update(error_occurred=value))
            self.left_out(path, [first, *rest], failed)
        (job,) = load("fio.json")["jobs"]
        self.left_out(self.changed("fio.json", lambda v: v["jobs"][0].update(error=0.0)),
                      [("fio:" + job["jobname"] + " read", job["read"]["bw_bytes"])])

    def test_texts_about_a_file_refuse_no_result(self):
        """A time as a number, or a host that is null: it is unknown, and the results are what they are."""
        for name, change, reading in (
                ("google_benchmark_repetitions.json", lambda v: v["context"].update(host_name=5), "host.name"),
                ("fio.json", lambda v: v.update(time=1763200000), "import.measured"),
                ("pytest_benchmark.json", lambda v: v["machine_info"].update(cpu=None), "host.cpu.model"),
                ("pytest_benchmark.json", lambda v: v.update(datetime=[1]), "import.measured"),
                ("phoronix_2022.json", lambda v: [one.update(timestamp=5, hardware=None) for one in v["systems"].values()],
                 "import.measured")):
            self.new_db()
            for record in self.take(self.changed(name, change)).values():
                self.assertEqual(record["imported"]["readings"][reading]["status"], "unavailable")

    def test_fio_of_several_clients(self):
        """fio --client writes another list, whose last entry is the sum of the others."""
        def clients(value):
            (job,) = value.pop("jobs")
            value["client_stats"] = [{**job, "jobname": name, "hostname": host, "port": 8765}
                                     for name, host in (("a", "10.0.0.5"), ("b", "10.0.0.6"), ("All clients", "10.0.0.6"))]
        records = self.take(self.changed("fio.json", clients))
        self.assertEqual(set(records), {"fio:a read", "fio:b read"})
        self.assertEqual(records["fio:a read"]["imported"]["readings"]["host.name"]["value"], "10.0.0.5")

    def test_repetitions_as_reals(self):
        """As a tool that reads and writes JSON in doubles leaves them."""
        def reals(value):
            for one in value["benchmarks"]:
                one.update({name: float(one[name]) for name in ("repetitions", "repetition_index") if name in one})
        plain = set(self.take(os.path.join(DATA, "google_benchmark_repetitions.json")))
        self.new_db()
        self.assertEqual(set(self.take(self.changed("google_benchmark_repetitions.json", reals))), plain)

    def left_out(self, path, results, *messages):
        """The rest is imported, and what is left out is named, counted and on record."""
        self.new_db()
        call = self.assay("import", path, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        lines = [" ".join(line.split()) for line in call.err.splitlines()]
        self.assertEqual(len(lines), len(messages), call.err)
        for line, words in zip(lines, messages):
            self.assertTrue(line.startswith("assay: warning: left out: "), line)
            self.assertIn(words, line)
        self.assertEqual(call.out.count("left out"), 1 if messages else 0)
        if messages:
            self.assertIn(f"; {len(messages)} left out", call.out)
        rows = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual(sorted((row["workload"], row["value"]) for row in rows), sorted(results))
        record = self.assay("show", rows[0]["id"], "--json", "--db", self.db).json()
        told = record["imported"]["readings"].get("import.left_out", {"value": ""})["value"]
        self.assertEqual(told.startswith(f"{len(messages)}, beside {len(rows)} imported: "), bool(messages), told)
        self.assertNotIn(self.folder, told)
        return record

    def test_what_failed_is_left_out(self):
        self.left_out(os.path.join(DATA, "hyperfine_failures.json"),
                      [("hyperfine:./train (driver=550)", 1.04e9), ("hyperfine:./train (driver=560)", 2.04e9),
                       ("hyperfine:./old", 3.04e9)],
                      "results 1: run 1 was ended by a signal", "results 2: run 2 ended with exit code 137")
        (job,) = load("fio.json")["jobs"]
        self.left_out(os.path.join(DATA, "fio_log.json"), [("fio:" + job["jobname"] + " read", job["read"]["bw_bytes"])])
        first = load("google_benchmark.json")["benchmarks"][0]
        factor = {"ns": 1, "us": 1e3}[first["time_unit"]]
        self.left_out(os.path.join(DATA, "google_benchmark_nan.json"),
                      [("google-benchmark:" + first["name"], first["real_time"] * factor),
                       ("google-benchmark:counted", first["real_time"] * factor)],
                      "benchmarks 2: skipped: no such device", "benchmarks 3: real_time: must be a number above 0")
        gpt = "model-benchmarks:gpt/pytorch-gpt2-small/fp16_train_"
        self.left_out(os.path.join(DATA, "superbench_failed.jsonl"), [("superbench:" + gpt + "step_time", 50.5e6)],
                      f"superbench_failed.jsonl:2: {gpt}throughput: must be a number above 0",
                      "its model-benchmarks:gpt/return_code is not 0", "its model-benchmarks:gpt/return_code is not 0")

    def test_phoronix_of_2019(self):
        stream = "phoronix-test-suite:pts/stream-1.3.4 Type: "
        self.left_out(os.path.join(DATA, "phoronix_2019.json"), [(stream + "Copy", 12345.6e6), (stream + "Triad", 11000.5e6)],
                      "pts/stream-1.3.4 Type: Triad on machine one: has no value: the test failed there")

    def test_phoronix_of_2022(self):
        """With hardware, software and single runs; which part of a system a test used is not in the file."""
        record = self.left_out(
            os.path.join(DATA, "phoronix_2022.json"),
            [("phoronix-test-suite:pts/stream-1.3.4 Type: Copy", 12345.6e6),
             ("phoronix-test-suite:pts/onnx-1.17.0 Model: tiny - Device: CPU", 7.25e6)],
            "Type: Copy on machine two: has no value", "Device: CPU on machine two: has no value",
            'its unit "Celsius" is not known', "pts/build-1.0.0: has no result of any system")
        readings = record["imported"]["readings"]
        self.assertEqual(readings["host.cpu.model"]["value"], "Example CPU @ 4.00GHz (8 Cores)")
        self.assertIn("Graphics: Example GPU 24GB", readings["import.hardware"]["value"])
        self.assertIn("OS: Debian 12", readings["import.software"]["value"])
        self.assertEqual(readings["import.raw_values"]["value"], "12340.1, 12345.2, 12351.5 MB/s")
        self.assertEqual(readings["import.measured"]["value"], "2024-05-01 09:00:00")
        self.assertEqual(readings["device.name"]["status"], "unavailable")
        self.assertEqual(self.query("SELECT program_version FROM imports"), [("10.8.4",)])
        shown = " ".join(self.assay("show", "--all", record["id"], "--db", self.db).out.split())
        for words in ("Example GPU 24GB", "Debian 12", "12340.1, 12345.2, 12351.5 MB/s"):
            self.assertIn(words, shown)

    def test_text_around_the_json(self):
        """Lines of a log, a byte-order mark, CRLF; and what looks like JSON, and is none."""
        with open(os.path.join(DATA, "hyperfine.json"), encoding="utf-8") as file:
            text = file.read()
        entries = [("hyperfine:" + entry["command"], entry["mean"] * 1e9) for entry in load("hyperfine.json")["results"]]
        for name, before, after in (("log", "[12:00:01] begins\n[1]\n{\n{broken\nit's \"\n", "\ndone {}\n[ 2]\n"),
                                    ("mark", "\ufeff", ""), ("both", "\ufeffwarning: x\n\n", "}\n"),
                                    ("other", '{"results": 1x}\n{"level": "info"}\n', '{"level": "info"}\n')):
            with self.subTest(name):
                path = self.write(name + ".json", (before + text + after).replace("\n", "\r\n"))
                self.new_db()
                call = self.assay("import", path, "--db", self.db)
                self.assertEqual((call.status, call.err), (0, ""), call.err)
                rows = self.assay("results", "--json", "--db", self.db).json()
                self.assertEqual(sorted((row["workload"], row["value"]) for row in rows), sorted(entries))
                rows = self.assay("analyze", path, "--json").json()
                self.assertEqual(["hyperfine:" + row["series"] for row in rows], [name for name, _ in entries])
        twice = self.assay("import", self.write("twice.json", text + text), "--db", self.db)
        self.assertEqual(twice.status, 2)
        self.assertIn("has 2 outputs one after the other", twice.err)

    def test_cut_off(self):
        """What was written before a program was killed is there; that more was to come is said."""
        with open(os.path.join(DATA, "google_benchmark_repetitions.json"), encoding="utf-8") as file:
            text = file.read()
        third = text.index('"name"', text.index('"name"', text.index('"name"') + 1) + 1)
        cut = self.write("cut.json", text[:third])
        call = self.assay("import", cut, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("cut.json: ends early, after benchmarks 2", " ".join(call.err.split()))
        self.assertEqual(len(self.assay("results", "--json", "--db", self.db).json()), 2)

    def test_names_tell_results_apart(self):
        long = "./run " + "--flag " * 60
        def result(command, **more):
            return {"command": command, "mean": 1.5, "times": [1, 2], "exit_codes": [0, 0], **more}
        path = self.write("names.json", json.dumps({"results": [
            result(long + "a"), result(long + "b"), result("x", parameters={"n": "1"}),
            result("x", parameters={"n": "2"}), result("x", parameters={"n": "2"}), result("y"), result("y")]}))
        names = [long + "a", long + "b", "x (n=1)", "x (n=2) #1", "x (n=2) #2", "y #1", "y #2"]
        self.left_out(path, [("hyperfine:" + name, 1.5e9) for name in names])
        rows = self.assay("analyze", path, "--json").json()
        self.assertEqual([row["series"] for row in rows], names)
        call = self.assay("analyze", path, "--baseline", "x")
        self.assertEqual(call.status, 2)
        self.assertIn('"x (n=1)", "x (n=2) #1"', call.err)

    def test_analyze_leaves_out_failed_runs(self):
        call = self.assay("analyze", os.path.join(DATA, "hyperfine_failures.json"), "--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual([row["series"] for row in call.json()], ["./train (driver=550)", "./train (driver=560)", "./old"])
        self.assertEqual(call.err.count("left out"), 2)
        path = self.write("one.json", json.dumps({"results": [{"command": "x", "times": [1, 2], "exit_codes": [0, None]}]}))
        call = self.assay("analyze", path)
        self.assertEqual((call.status, call.out), (2, ""))
        self.assertIn("run 2 was ended by a signal", call.err)
        path = self.write("nan.json", '{"results": [{"command": "x", "times": [1, NaN], "exit_codes": [0, 0]}]}')
        call = self.assay("analyze", path)
        self.assertEqual(call.status, 2)
        self.assertIn('time 2 is "NaN"', call.err)

    def test_analyze_other_programs(self):
        """Samples of each program that keeps them; what has none is left out by name, or says how to get them."""
        def series(path, left_out=0):
            call = self.assay("analyze", path, "--json")
            self.assertEqual((call.status, call.err.count("left out: ")), (0, left_out), call.err)
            return {row["series"]: (row["samples"], row["metrics"]["iteration_time"]["value"]) for row in call.json()}
        with open(os.path.join(DATA, "pytest_benchmark.json"), encoding="utf-8") as file:
            rounds = json.load(file)
        found = series(os.path.join(DATA, "pytest_benchmark.json"))
        for entry in rounds["benchmarks"]:
            count, mean = found.pop(entry["fullname"])
            self.assertEqual(count, len(entry["stats"]["data"]))
            self.assertAlmostEqual(mean, entry["stats"]["mean"] * 1e9, delta=1)
            del entry["stats"]["data"]
        self.assertEqual(found, {})
        call = self.assay("analyze", self.write("no_data.json", json.dumps(rounds)))
        self.assertEqual(call.status, 2)
        self.assertIn("run pytest with --benchmark-save-data", call.err)
        found = series(os.path.join(DATA, "google_benchmark_repetitions.json"))  # three, and their statistics
        self.assertEqual({name: count for name, (count, _) in found.items()}, {"copy/4096": 3})
        self.assertEqual({count for count, _ in series(os.path.join(DATA, "google_benchmark.json"), left_out=1).values()}, {1})
        self.assertEqual(len(series(os.path.join(DATA, "google_benchmark_nan.json"), left_out=2)), 2)
        old = [{"name": name, "real_time": 2, "time_unit": "us"} for name in ("a", "a", "a_mean", "a_stddev", "b_mean")]
        self.assertEqual(series(self.write("old.json", json.dumps({"context": {}, "benchmarks": old}))),
                         {"a": (2, 2000), "b_mean": (1, 2000)})
        self.assertEqual(self.assay("analyze", self.write("none.json", json.dumps({"benchmarks": [dict(
            old[0], run_type="aggregate")]}))).status, 2)
        tests = [{"n_prompt": 512, "n_gen": 0, "model_type": "m", "samples_ns": [10, 30]},
                 {"n_prompt": 0, "n_gen": 0, "samples_ns": [1]}, {"n_prompt": 0, "n_gen": 8, "n_depth": 4, "samples_ns": [5]}]
        self.assertEqual(series(self.write("llama.json", json.dumps(tests)), left_out=1), {"pp512 m": (2, 20), "tg8@d4": (1, 5)})

    def test_analyze_programs_that_load_servers(self):
        """Forms as these programs document them; requests that failed have no time."""
        def series(name, text):
            call = self.assay("analyze", self.write(name, text), "--json")
            self.assertEqual(call.status, 0, call.err)
            return {row["series"]: (row["samples"], row["metrics"]["iteration_time"]["value"]) for row in call.json()}
        latency = {"avg_latency": 2.0, "latencies": [1.5, 2.5], "percentiles": {"50": 2.0}}
        self.assertEqual(series("latency.json", json.dumps(latency)), {"latency": (2, 2e9)})
        served = {"backend": "vllm", "completed": 2, "ttfts": [0.25, 0.0, 0.75], "itls": [[0.125], [], [0.125, 0.5]],
                  "errors": ["", "refused", ""], "mean_ttft_ms": 500}
        self.assertEqual(series("served.json", json.dumps(served)),
                         {"time to first output": (2, 5e8), "time between outputs": (3, 2.5e8)})
        begin = 1722000000000000001
        requests = [{"timestamp": begin, "response_timestamps": [begin + 5, begin + 25]},
                    {"timestamp": begin + 9, "response_timestamps": [begin + 16]}, {"timestamp": begin, "response_timestamps": []}]
        self.assertEqual(series("profile_export.json", json.dumps({"experiments": [{"experiment": {"mode": "concurrency"},
                                                                                    "requests": requests}]})),
                         {"1: latency": (2, 16), "1: time to first output": (2, 6)})
        guide = {"benchmarks": [{"requests": {"successful": [{"request_latency": 2.0, "time_to_first_token_ms": 4.0},
                                                            {"request_latency": 4.0, "time_to_first_token_ms": None}],
                                              "errored": [{"request_latency": 9.0}]}},
                                {"requests": {"successful": [{"request_latency": 1.0}]}}]}
        self.assertEqual(series("guidellm.json", json.dumps(guide)),
                         {"1: latency": (2, 3e9), "1: time to first output": (1, 4e6), "2: latency": (1, 1e9)})
        lines = [{"metadata": {"session_num": i}, "metrics": {"request_latency": {"value": 10 + i, "unit": "ms"},
                                                              "output_token_count": {"value": 7, "unit": "tokens"}}}
                 for i in range(3)] + [{"metadata": {}, "metrics": {}, "error": {"code": 499}}]
        self.assertEqual(series("profile_export.jsonl", "".join(json.dumps(line) + "\n" for line in lines)),
                         {"request_latency": (3, 11e6)})
        for text, words in (({"ttfts": [0], "errors": ["refused"]}, "no request was answered"),
                            ({"latencies": [1, 0]}, "time 2 is 0"), ({"latencies": []}, "must be a list of seconds"),
                            ({"experiments": [{"requests": [{"timestamp": 5, "response_timestamps": [4]}]}]}, "time 1 is -1"),
                            ({"benchmarks": [{"requests": {"successful": []}}]}, "no request that was answered")):
            call = self.assay("analyze", self.write("bad.json", json.dumps(text)))
            self.assertEqual(call.status, 2, text)
            self.assertIn(words, call.err)

    def test_analyze_plain_numbers(self):
        """A list of JSON, or a number a line, with a header or without; a unit is never guessed: without one they are
        numbers, and it is said."""
        numbers = [5, 6.5, 7]
        files = {"list.json": json.dumps(numbers), "mark.json": "\ufeff\n " + json.dumps(numbers, indent=1),
                 "plain.txt": "5\n6.5\r\n7", "header.csv": "latency\n5\n6.5\n7\n", "ms.csv": "latency_ms\n5\n6.5\n7\n"}
        for name, text in files.items():
            path = self.write(name, text)
            for unit, factor in (("us", 1e3), ("ms", 1e6), ("s", 1e9)):
                (row,) = self.assay("analyze", path, "--unit", unit, "--json").json()
                self.assertEqual((row["series"], row["samples"]), (path, 3), name)
                self.assertAlmostEqual(row["metrics"]["iteration_time"]["value"], 37 / 6 * factor)
            call = self.assay("analyze", path, "--json")
            self.assertEqual(call.status, 0, call.err)
            self.assertEqual("the unit of the numbers is not declared" in call.err, name != "ms.csv", call.err)
            (row,) = call.json()
            factor, unit = (1e6, "ns") if name == "ms.csv" else (1, "")
            mean, spread = row["metrics"]["iteration_time"], row["samples_spread"]
            self.assertEqual(mean["unit"], unit, name)
            self.assertAlmostEqual(mean["value"] / factor, 37 / 6, places=9)
            self.assertEqual([spread[key] / factor for key in ("min", "median", "max")], numbers, name)
            self.assertAlmostEqual(spread["sd"] / factor, statistics.stdev(numbers), places=9)
            self.assertEqual((sum(spread["histogram"]), spread["histogram"][0], spread["histogram"][-1]), (3, 1, 1))
        plain = self.assay("analyze", "-", input="x\n5\n6.5\n7\n").out
        self.assertIn("min 5.000, median 6.500, max 7.000, sd 1.041\n", plain)
        self.assertNotRegex(plain.split("\n  -")[0], r"[0-9] [nµm]?s\b")
        call = self.assay("analyze", os.path.join(self.folder, "ms.csv"), os.path.join(self.folder, "plain.txt"))
        self.assertEqual(call.status, 2)
        self.assertIn("declares no unit, and the other file does", call.err)
        for text, words in (("[1, null]", "time 2 is null"), ("[1, NaN]", 'time 2 is "NaN"'), ("[1, 0]", "time 2 is 0"),
                            ('[1, "2"]', "time 2 is"), ("[]", "neither a list of numbers"), ("[[1]]", "neither a list"),
                            ("5\nx\n", ":2:"), ("5\n6,7\n", ":2:"), ("5;6\n", "semicolons"), ("a\tb\n", "tabs"),
                            ("12 ms\n13 ms\n", "write numbers alone, and name their unit with --unit"),
                            ("12ms\n13\n14\n", ':1: "12ms"'), ("nan\n13\n14\n", ':1: "nan"'),
                            ("1_000\n1001\n", ':1: "1_000"'), ("+5\n6\n", ':1: "+5"'),
                            ("sample_ns,sample_ns\n5,6\n", "two columns are named sample_ns"),
                            ('{"latency_ms": 1.5}\n{"latency_ms": 1.6}\n', "jq -s 'map(.latency_ms)'"),
                            ('{"a": 1} \r\n{"a": 2}', "is JSON lines")):
            call = self.assay("analyze", self.write("bad", text), "--unit", "ms")
            self.assertEqual(call.status, 2, text)
            self.assertIn(words, call.err)

    def test_other_encodings_have_a_remedy(self):
        for name, content, words in (("x.gz", gzip.compress(b"series,trial,sample_ns\na,1,5\n"), "is gzip: run `gunzip -k"),
                                     ("x.zst", b"\x28\xb5\x2f\xfd....", "is zstd"), ("x.zip", b"PK\x03\x04....", "ZIP archive"),
                                     ("x.csv", "sample_ns\n5\n".encode("utf-16"), "is UTF-16"),
                                     ("y.csv", "sample_ns\n5\n".encode("utf-16-le"), "looks like UTF-16")):
            path = os.path.join(self.folder, name)
            with open(path, "wb") as file:
                file.write(content)
            for words_before in (["import"], ["analyze"]):
                call = self.assay(*words_before, path, *(["--db", self.db] if words_before == ["import"] else []))
                self.assertEqual(call.status, 2)
                self.assertIn(words, " ".join(call.err.split()))
        for text, words in ((':::MLLOG {"key": "result_validity", "value": "VALID"}\n', "mlperf_log_summary.txt"),
                            ("command,mean,stddev,median,user,system,min,max\n", "--export-json")):
            call = self.assay("import", self.write("log.txt", text), "--db", self.db)
            self.assertEqual(call.status, 2)
            self.assertIn(words, call.err)

    def test_twice_is_once(self):
        path = os.path.join(DATA, "fio.json")
        self.take(path)
        self.assertEqual(len(self.take(path)), 1)


if __name__ == "__main__":
    unittest.main()
