#!/usr/bin/env python3
"""One result is the same everywhere: its value, interval, unit, grade, verdict and findings are compared
between terminal, page, dossier, JSON, CSV, SQL, OpenMetrics and MLPerf's lines, for results of every kind:
steady, drifting, of one trial, of integers, failed, imported. For comparisons test_families.py does it."""

import csv
import html
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402

PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
TIMES = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9}
PERCENTILES = "analysis: {percentiles: [0.5, 0.75, 0.9, 0.99]}\n"
NAMES = {"iteration_time": "iteration_seconds", "byte_rate": "bytes_per_second",
         "op_rate": "operations_per_second", "item_rate": "items_per_second"}

GEMM = """workload: small_gemm
version: 1
kind: gemm
description: A small product, in integers too
precisions: [int8]
scenario: offline
gemm:
  shapes:
    - {m: 64, n: 64, k: 64}
"""
LLAMA = [{"build_commit": "abc", "model_filename": "m.gguf", "model_type": "x", "model_size": 1, "model_n_params": 1,
          "n_prompt": 512, "n_gen": 0, "n_batch": 512, "n_threads": 2, "backends": "CPU", "cpu_info": "a CPU",
          "gpu_info": "", "avg_ns": 5e6, "stddev_ns": 1, "avg_ts": 7100.25, "stddev_ts": 1,
          "test_time": "2026-11-20T16:02:03Z", "samples_ns": [5000000], "samples_ts": [7100.25]}]


def parse_figure(text):
    """A formatted figure -> (value in the base unit, unit, relative rounding)."""
    match = re.fullmatch(r"\(?([\d.]+) ([kMGTP]?)( ?)(.+?)\)?", text.strip())
    assert match, text
    digits = len((match[1].replace(".", "") if "." in match[1] else match[1].rstrip("0")).lstrip("0"))
    number, unit = float(match[1]), (match[2] + match[3] + match[4])
    if unit in TIMES:
        return number * TIMES[unit], "ns", 10 ** (1 - max(digits, 2))
    return number * PREFIXES[match[2]], match[4], 10 ** (1 - max(digits, 2))


class OneTruth(CliTest):
    made = None  # (folder, database, rows): shared by all tests

    def setUp(self):
        if OneTruth.made:
            self.folder, self.db, self.rows = OneTruth.made
            return
        super().setUp()
        OneTruth.kept = self.folder_object
        self.make()
        OneTruth.made = self.folder, self.db, self.rows

    def tearDown(self):
        pass  # the folder is removed with the process

    def make(self):
        fast = self.write("fast.yaml", self.FAST + PERCENTILES)
        for null in ("launch_ns=200000,seed=1", "launch_ns=200000,drift=3", "launch_ns=300000,cv=0.3,process_cv=0.2",
                     "fault=launch@1"):
            self.assay("run", "synthetic", "--device", "null:0", "--protocol", fast, "--db", self.db, ASSAY_NULL=null)
        path = self.write("gemm.yaml", GEMM)
        self.assay("run", path, "--device", "cpu:0", "--emulate", "--protocol", fast, "--db", self.db)
        path = self.write("llama.json", json.dumps(LLAMA))
        call = self.assay("import", path, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.rows = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual(len(self.rows), 6)

    def export(self, form):
        call = self.assay("export", form, *[row["id"] for row in self.rows], "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        return call.out

    def label(self, row):
        """The formatted verdict: its name with spaces or hyphens."""
        if row["verdict"]:
            return row["verdict"].replace("non_stationary", "non-stationary").replace("_", " ")
        return "unsupported" if row["precision"] == "int8" else "failed"

    def assert_figure(self, row, text):
        if row["value"] is None:
            self.assertIn(text.strip(), ("no result", "unsupported"), row)
            return
        value, unit, rounding = parse_figure(text)
        self.assertEqual(unit, row["unit"])
        self.assertAlmostEqual(value / row["value"], 1, delta=rounding, msg=row)
        self.assertEqual(text.strip().startswith("("), row["grade"] == "D")

    def test_kinds(self):
        """The results compared below are of many kinds."""
        verdicts = {row["verdict"] for row in self.rows}
        self.assertTrue({None, "imported"} < verdicts, verdicts)
        self.assertIn("tokens/s", {row["unit"] for row in self.rows})
        self.assertIn({row["unit"] for row in self.rows if row["precision"] == "int8"}, ({"OP/s"}, {None}))
        self.assertTrue(any(row["value"] is None for row in self.rows))

    def test_records(self):
        for row in self.rows:
            record = self.assay("show", row["id"], "--json", "--db", self.db).json()
            estimate = record["estimate"] or (record.get("imported") or {}).get("claim")
            if not estimate:
                self.assertIsNone(row["value"])
                continue
            self.assertEqual(estimate["metrics"], row["metrics"])
            self.assertEqual(estimate["headline"], row["metric"])
            for key in ("value", "lo", "hi", "unit", "grade"):
                self.assertEqual(estimate["metrics"][row["metric"]].get(key), row[key], key)
            if record["estimate"]:
                self.assertEqual(estimate["verdict"], row["verdict"])
                found = self.query("SELECT code, trial_number, subject FROM result_findings WHERE result = ?", row["id"])
                self.assertEqual(sorted(map(str, found)),
                                 sorted(str((f["code"], f.get("trial_number"), f.get("subject")))
                                        for f in estimate["findings"]))

    def test_sql(self):
        for row in self.rows:
            (found,) = self.query("SELECT value, lo, hi, unit, grade, verdict, metric FROM results WHERE result = ?",
                                  row["id"])
            self.assertEqual(found, tuple(row[key] for key in
                                          ("value", "lo", "hi", "unit", "grade", "verdict", "metric")))
            metrics = self.query("SELECT metric, value, lo, hi, unit, grade FROM metrics WHERE result = ?", row["id"])
            self.assertEqual({name: rest for name, *rest in metrics},
                             {name: [value.get(key) for key in ("value", "lo", "hi", "unit", "grade")]
                              for name, value in (row["metrics"] or {}).items()})

    def test_csv(self):
        table = {line["id"]: line for line in csv.DictReader(io.StringIO(self.export("csv")))}
        for row in self.rows:
            line = table[row["id"]]
            for key in ("unit", "grade", "verdict", "metric"):
                self.assertEqual(line[key] or None, row[key])
            for key in ("value", "lo", "hi"):
                self.assertEqual(float(line[key]) if line[key] else None, row[key])
            for name, metric in (row["metrics"] or {}).items():
                for key, column in (("value", name), ("lo", name + "_lo"), ("hi", name + "_hi")):
                    self.assertEqual(float(line[column]) if line[column] else None, metric[key])

    def test_openmetrics(self):
        lines = [line for line in self.export("openmetrics").splitlines() if not line.startswith("#")]
        for row in self.rows:
            own = [line for line in lines if f'result="{row["id"]}"' in line]
            if row["value"] is None:
                self.assertFalse([line for line in own if "per_second{" in line or "_seconds{" in line])
                continue
            (line,) = [line for line in own if line.startswith(f'assay_{NAMES[row["metric"]]}{{')]
            scale = 1e-9 if row["metric"] == "iteration_time" else 1
            self.assertAlmostEqual(float(line.rsplit("} ", 1)[1].split()[0]) / (row["value"] * scale), 1, places=12)
            self.assertIn(f'verdict="{row["verdict"]}"', line)
            if row["grade"]:
                self.assertIn(f'grade="{row["grade"]}"', line)
            if row["metric"] in ("item_rate", "op_rate"):
                self.assertIn(f'unit="{row["unit"]}"', line)

    def test_mlperf(self):
        # RFC 8785 writes 3.4e17 without an exponent, and Python takes it for an integer.
        entries = [json.loads(line.split(" ", 1)[1], parse_int=float) for line in self.export("mlperf").splitlines()]
        for row in self.rows:
            stats = [e["value"] for e in entries if e["key"] == "tracked_stats" and e["metadata"]["result"] == row["id"]]
            self.assertEqual(len(stats), 1)
            for key in ("value", "lo", "hi", "unit", "grade", "metric", "metrics"):
                self.assertEqual(stats[0].get(key), row[key], key)

    def test_terminal(self):
        table = self.assay("results", "--db", self.db, COLUMNS="200").out
        for row in self.rows:
            (line,) = [line for line in table.splitlines() if line.split()[:1] == [row["id"]]]
            fields = re.split(r"\s{2,}", line.strip())
            self.assertIn(self.label(row), line)
            if row["value"] is None:
                self.assertRegex(line, "no result|unsupported")
                continue
            figures = [re.split("±| -| over 1000 %|no interval", field)[0] for field in fields
                       if re.match(r"\(?[\d.]+ \S", field)]
            self.assert_figure(row, figures[-2] if row["metric"] != "iteration_time" else figures[0])
            self.assertIn(f"{row['grade'] or ''} {self.label(row)}".strip(), line)
            shown = self.assay("show", "--all", row["id"], "--db", self.db, COLUMNS="200").out
            self.assertIn(self.label(row) if row["verdict"] != "imported" else "Imported", shown)
            if row["grade"]:
                self.assertIn(f"grade {row['grade']}", shown)
            for name, metric in (row["metrics"] or {}).items():
                if row["imported"] or "_" in name:
                    continue
                (line,) = [line.strip() for line in shown.splitlines() if line.split()[:1] == [name]]
                if metric["value"] is None:
                    self.assertIn("not reported", line)
                else:
                    value, unit, rounding = parse_figure(re.split(r"\s{2,}", line)[1])
                    self.assertAlmostEqual(value / metric["value"], 1, delta=rounding)
                    self.assertEqual(unit, metric["unit"])

    def test_each_metric_is_everywhere(self):
        """A metric is a row of protocols/metric.h: p75, which no built-in protocol asks for, is no exception."""
        row = next(row for row in self.rows if (row["metrics"] or {}).get("p75", {}).get("value"))
        page = os.path.join(self.folder, "p75.html")
        self.assertEqual(self.assay("report", row["id"], "--html", page, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            self.assertIn("<dt>p75</dt>", file.read())
        self.assertIn("assay_iteration_p75_seconds{", self.export("openmetrics"))
        self.assertIn(",p75,p75_lo,p75_hi,", self.export("csv"))
        self.assertEqual(self.query("SELECT value FROM metrics WHERE result = ? AND metric = 'p75'", row["id"]),
                         [(row["metrics"]["p75"]["value"],)])

    def test_page_and_dossier(self):
        page, dossier = (os.path.join(self.folder, name) for name in ("page.html", "dossier.html"))
        for row in self.rows:
            call = self.assay("report", row["id"], "--html", page, "--dossier", dossier, "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
            for path in (page, dossier):
                with open(path, encoding="utf-8") as file:
                    text = html.unescape(file.read())
                (cell,) = re.findall(r'<td class="num value">(.*?)</td>', text)[:1]
                self.assert_figure(row, re.sub(r"<[^>]*>", "", cell))
                table = text[text.index('<table class="results'):]
                table = table[:table.index("</table>")]
                self.assertIn(self.label(row), table)
                if row["grade"]:
                    self.assertRegex(table, rf">{row['grade']}(</td>|, )")


if __name__ == "__main__":
    run_tests()
