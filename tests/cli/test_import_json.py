"""Import of hyperfine, Google Benchmark, pytest-benchmark and fio, from files that these wrote."""

import json
import os
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
        self.refuse("hyperfine.json", lambda v: v["results"][1].update(exit_codes=[0, 1]),
                    "results 2", "exit code 1")
        self.refuse("hyperfine.json", lambda v: v["results"][0].update(mean=-1), "results 1", "mean")
        self.refuse("google_benchmark.json", lambda v: v["benchmarks"][2].update(time_unit="h"),
                    "benchmarks 3", "time_unit", "ns, us, ms or s")
        self.refuse("pytest_benchmark.json", lambda v: v["benchmarks"][0]["stats"].pop("mean"),
                    "benchmarks 1", "mean", "missing")
        self.refuse("fio.json", lambda v: v["jobs"][0].update(error=5), "none of its jobs has a result")
        self.refuse("fio.json", lambda v: v["jobs"][0]["read"].update(bw_bytes="fast"), "jobs 1", "bw_bytes")

    def test_twice_is_once(self):
        path = os.path.join(DATA, "fio.json")
        self.take(path)
        self.assertEqual(len(self.take(path)), 1)


if __name__ == "__main__":
    unittest.main()
