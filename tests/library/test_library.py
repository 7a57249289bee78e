"""libassay as it is installed: what it exports, and a program made with it by pkg-config alone.

usage: ASSAY=FILE test_library.py BUILD CMAKE CC
"""

import json
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "arrows")]
from assay_cli import CliTest, run_tests  # noqa: E402
from check_calls import HEAD  # noqa: E402
from check_tree import strip_comments  # noqa: E402

BUILD, CMAKE, CC = sys.argv[1:4]
WARNINGS = ("-Wall", "-Wextra", "-Werror")
ASSAY = os.environ["ASSAY"]
METRICS = os.path.join(HERE, "..", "..", "protocols", "metric.h")
with open(METRICS, encoding="utf-8") as metrics_file:
    METRIC_IDS = re.findall(r'^    X\(\w+, "([\w.]+)",', metrics_file.read(), re.M)
PYTHON = """
import ctypes, json, sys
from ctypes import POINTER, byref, c_bool, c_char_p, c_int64, c_size_t, c_void_p

class Filter(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [(name, c_char_p) for name in (
        "campaign", "workload", "precision", "protocol", "verdict", "device")] + [
        ("since_utc_ns", c_int64), ("archived", c_bool), ("limit", c_int64), ("offset", c_int64)]

class Result(ctypes.Structure):
    _fields_ = [("id", c_char_p), ("workload", c_char_p)]

assay = ctypes.CDLL(sys.argv[1])
for name in ("assay_version", "assay_error_message", "assay_error_place"):
    getattr(assay, name).restype = c_char_p
assay.assay_results_at.restype = POINTER(Result)
store, results = c_void_p(), c_void_p()
said = {"version": assay.assay_version().decode()}
assert assay.assay_store_open(b"/nothing/here", 0, ctypes.c_double(0), byref(store)) == 2
assert b"/nothing/here" in assay.assay_error_message()
said["place"] = assay.assay_error_place().decode()
# Who goes on after a failure gets an error again, as from a path, a store and a trial that are NULL.
assert store.value is None
for status in (assay.assay_store_open(None, 0, ctypes.c_double(0), byref(store)),
               assay.assay_results_list(store, None, byref(results)),
               assay.assay_result_json(store, b"x/1", byref(results)),
               assay.assay_compare(store, b"x/1", b"x/2", None, byref(results)),
               assay.assay_samples_load(store, None, b"iteration_ns", byref(results))):
    assert status != 0 and assay.assay_error_message(), status
assert assay.assay_store_open(sys.argv[2].encode(), 0, ctypes.c_double(0), byref(store)) == 0
# A caller of an older version knows fewer members: `limit` is the last that this one does.
wanted = Filter(Filter.offset.offset, archived=True, limit=2, offset=1000)
assert assay.assay_results_list(store, byref(wanted), byref(results)) == 0
ids, i = [], 0
while result := assay.assay_results_at(results, c_size_t(i)):
    ids.append(result.contents.id.decode())
    i += 1
assay.assay_results_free(results)
assay.assay_store_close(store)
print(json.dumps({**said, "ids": ids}))
"""
RELEASE = os.path.join(HERE, "..", "data", "releases", "0.2.0", "results.db.xz")


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


class Library(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="assay-library-")
        cls.prefix = os.path.join(cls.temporary.name, "in a place", "of its own")
        done = run(CMAKE, "--install", BUILD, "--prefix", cls.prefix, "--component", "library")
        if done.returncode:
            raise AssertionError(done.stderr)
        (cls.pc,) = [folder for folder, _, names in os.walk(cls.prefix) if "assay.pc" in names]
        (cls.lib,) = [folder for folder, _, names in os.walk(cls.prefix) if "libassay.so" in names]

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        super().setUp()
        with lzma.open(RELEASE) as packed, open(self.db, "wb") as file:
            shutil.copyfileobj(packed, file)

    def headers(self):
        """The installed headers: {path as others include it: text}."""
        include = os.path.join(self.prefix, "include")
        found = {}
        for folder, _, names in os.walk(include):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    found[os.path.relpath(path, include)] = file.read()
        return found

    def test_exports(self):
        """Exactly what the installed headers declare; each is called by a test here."""
        tool = shutil.which("nm")
        if not tool:
            self.skipTest("no nm")
        declared = set()
        for text in self.headers().values():
            declared |= set(HEAD.findall(strip_comments(text)))
        self.assertGreater(len(declared), 20)
        self.assertTrue(all(name.startswith("assay_") for name in declared), declared)
        done = run(tool, "-D", "--defined-only", "-P", os.path.join(self.lib, "libassay.so"))
        exported = {line.split()[0] for line in done.stdout.splitlines()}
        self.assertEqual(exported, declared)
        calls = ""
        for name in ("consumer.c", "test_library.py"):
            with open(os.path.join(HERE, name), encoding="utf-8") as file:
                calls += file.read()
        self.assertEqual([name for name in declared if name not in calls], [])

    def test_headers(self):
        """At most ten, each by itself in C and in C++, and none reaches a header of another library."""
        headers = self.headers()
        self.assertLessEqual(len(headers), 10)
        self.assertIn("assay/assay.h", headers)
        languages = [(CC, "c", "-std=c17")]
        compiler = shutil.which("g++") or shutil.which("clang++")
        if compiler:
            languages.append((compiler, "c++", "-std=c++17"))
        self.reach(languages, headers)

    def reach(self, languages, headers):
        include = os.path.join(self.prefix, "include")
        for compiler, language, standard in languages:
            words = (*shlex.split(compiler), "-x", language, standard, "-pedantic", *WARNINGS, "-I", include)
            for name in headers:
                source = self.write("one.c", f"#include <{name}>\n#include <{name}>\n")
                done = run(*words, "-fsyntax-only", source)
                self.assertEqual(done.returncode, 0, done.stderr)
                reached = re.findall(r'^# \d+ "([^"<]+)"', run(*words, "-E", source).stdout, re.M)
                self.assertIn(os.path.join(include, name), reached)
                for path in reached:
                    self.assertNotRegex(path.replace(include, ""), r"jansson|sqlite|sodium|/harness/|/results/")

    def test_name(self):
        """The soname has the version as far as it is compatible."""
        version = run("pkg-config", "--modversion", "assay", env=self.paths()).stdout.strip() \
            if shutil.which("pkg-config") else None
        call = self.assay("--version")
        if version:
            self.assertEqual(call.out.split()[1], version)
        soname = "libassay.so." + ".".join(call.out.split()[1].split(".")[:2])
        self.assertEqual(os.readlink(os.path.join(self.lib, "libassay.so")), soname)

    def paths(self):
        return {**os.environ, "PKG_CONFIG_PATH": self.pc, "LD_LIBRARY_PATH": self.lib}

    def build(self, compiler, *language):
        """The consumer's path, made by what pkg-config says."""
        if not shutil.which("pkg-config"):
            self.skipTest("no pkg-config")
        flags = run("pkg-config", "--cflags", "--libs", "assay", env=self.paths())
        self.assertEqual(flags.returncode, 0, flags.stderr)
        target = os.path.join(self.folder, "consumer")
        done = run(*compiler, *language, *WARNINGS, os.path.join(HERE, "consumer.c"), "-x", "none", "-o", target,
                   *shlex.split(flags.stdout), cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return target

    def consume(self, program, *words):
        return run(program, *words, env=self.paths(), cwd=self.folder)

    def document(self, program, *words):
        done = self.consume(program, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def lines(self, program, *words):
        done = self.consume(program, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def same_metrics(self, rows, metrics):
        """Rows "", ID, VALUE, LO, HI, UNIT, GRADE against the metrics of --json, in their order."""
        self.assertEqual([row[1] for row in rows], [name for name in METRIC_IDS if name in metrics])
        for _, name, *numbers, unit, grade in rows:
            shown = metrics[name]
            self.assertEqual((unit, grade or None), (shown["unit"], shown["grade"]))
            for text, number in zip(numbers, (shown["value"], shown["lo"], shown["hi"])):
                self.assertEqual(None if text == "nan" else float(text), number)

    def check(self, program):
        """It says what the program says."""
        rows = self.assay("results", "--json", "--archived", "--limit", "0", "--db", self.db).json()
        ours = self.lines(program, "results", self.db)
        heads = [line for line in ours if line[0]]
        self.assertEqual([head[:2] for head in heads], [[row["id"], row["workload"]] for row in rows])
        self.assertGreater(len(rows), 4)
        for row, head in zip(rows, heads):
            after = ours[ours.index(head) + 1:]
            own = after[:next((i for i, line in enumerate(after) if line[0]), len(after))]
            self.same_metrics(own, row["metrics"] or {})

        samples = [str(100 + i * 7 % 11) for i in range(70)]
        file = self.write("samples.csv", "time_us\n" + "\n".join(samples) + "\n")
        (row,) = self.assay("analyze", file, "--column", "time_us", "--json").json()
        (verdict, value), *ours = self.lines(program, "analyze", *samples)
        self.assertEqual(verdict, row["verdict"])
        self.assertEqual(float(value), row["metrics"]["iteration_time"]["value"])
        self.same_metrics(ours, row["metrics"])
        self.assertIsNotNone(row["metrics"]["iteration_time"]["hi"])

        summary = self.assay("verify", self.db, "--json").json()
        ours = self.document(program, "verify", self.db)
        self.assertGreater(summary.pop("seconds") + ours.pop("seconds"), 0)
        self.assertEqual(ours, summary)
        self.assertGreater(ours["records"], 50)

        ids = [row["id"] for row in rows if row["workload"] == "synthetic" and not row["arm"]]
        a, b = ids[:2]
        shown = self.assay("compare", a, b, "--margin", "0.02", "--json", "--db", self.db).json()
        ours = self.document(program, "compare", self.db, a, b)
        self.assertEqual({name: shown[name] for name in ours}, ours)
        self.assertIsNotNone(ours["comparison"]["ratio"])
        stored = self.document(program, "show", self.db, a)
        self.assertEqual(stored, {name: value for name, value in self.assay("show", a, "--json", "--db", self.db)
                                  .json().items() if name in stored})
        trial = stored["trials"][0]
        values = self.consume(program, "samples", self.db, a, "wall_ns").stdout.split("\n")[:-1]
        self.assertEqual(len(values), trial["samples"])
        self.assertTrue(all(float(line.split()[0]) > 0 and line.endswith(" ns") for line in values))

    def check_record(self, program):
        """A gate that is recorded is verified like one of the program's."""
        a, b = [row["id"] for row in self.assay("results", "--workload", "synthetic", "--json", "--db", self.db).json()
                if not row["arm"]][:2]
        before = self.assay("verify", self.db, "--json").json()
        self.document(program, "record", self.db, a, b)
        after = self.assay("verify", self.db, "--json").json()
        self.assertEqual(after["comparisons"], before["comparisons"] + 1)
        # The estimates that it rests on are of this version then, and so no longer unverified.
        self.assertEqual(after["wrong"], 0)
        self.assertLess(after["unverified"], before["unverified"])

    def check_run(self, program):
        """What is measured by it is what the program measures; a run that is stopped keeps what it has."""
        probe = self.document(program, "call", ASSAY, "-1", "devices")
        self.assertEqual([backend["backend"] for backend in probe],
                         [backend["backend"] for backend in self.assay("devices", "--json").json()])
        database = os.path.join(self.folder, "run.db")
        words = ("run", "synthetic", "--device", "null:0", "--db", database)
        done = self.consume(program, "call", ASSAY, "-1", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        campaign = json.loads(done.stdout)["campaign"]
        self.assertRegex(done.stderr, r"(?m)^\[1/\d+\] synthetic")
        rows = self.assay("results", "--json", "--db", database).json()
        self.assertEqual({row["id"].partition("/")[0] for row in rows}, {campaign[:8]})
        done = self.consume(program, "call", ASSAY, "1", *words)
        self.assertEqual(done.returncode, 1)
        self.assertIn("interrupted: ", done.stderr)
        self.assertTrue(json.loads(done.stdout)["interrupted"])
        self.assertGreater(len(self.assay("results", "--json", "--db", database).json()), len(rows))
        done = self.consume(program, "call", ASSAY, "-1", "run", "no-such-workload", "--db", database)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "(?m)^(not_found|invalid): .*no-such-workload")
        self.assertIn("is it assay", self.consume(program, "call", "/bin/true", "-1", *words).stderr)
        self.assertIn("/no/assay", self.consume(program, "call", "/no/assay", "-1", *words).stderr)

    def check_errors(self, program):
        missing = os.path.join(self.folder, "missing.db")
        said = self.assay("results", "--db", missing).err.partition("assay: error: ")[2]
        done = self.consume(program, "results", missing)
        self.assertEqual((done.returncode, done.stderr), (1, "not_found: " + said))
        done = self.consume(program, "analyze", "100", "0", "100")
        self.assertIn("invalid: trial 1: sample 2 is 0 ns", done.stderr)
        with open(self.db, "r+b") as file:
            file.truncate(os.path.getsize(self.db) // 2)
        done = self.consume(program, "results", self.db)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith("corrupt: "), done.stderr)
        done = self.consume(program, "compare", missing, "a/1", "b/1")
        self.assertEqual(done.returncode, 1)

    def test_bundle(self):
        """A bundle is read as a database is, and not written to."""
        program = self.build(shlex.split(CC), "-std=c17")
        bundle = os.path.join(self.folder, "one.assay")
        for row in self.assay("results", "--json", "--db", self.db).json():
            if self.assay("bundle", row["id"].partition("/")[0], "-o", bundle, "--db", self.db).status == 0:
                break
        ours = self.consume(program, "results", bundle)
        self.assertIn(row["id"], ours.stdout)
        self.assertIn("verified", ours.stderr)
        done = self.consume(program, "record", bundle, "a/1", "b/1")
        self.assertIn("invalid: ", done.stderr)

    def test_python(self):
        """By ctypes alone: structs are read through pointers, options have their size."""
        done = run(sys.executable, "-c", PYTHON, os.path.join(self.lib, "libassay.so"), self.db)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.assay("results", "--json", "--archived", "--limit", "2", "--db", self.db).json()
        ours = json.loads(done.stdout)
        self.assertEqual(ours["ids"], [row["id"] for row in rows])
        self.assertEqual(ours["place"], "")
        self.assertTrue(self.assay("--version").out.startswith("assay " + ours["version"]))

    def test_c(self):
        program = self.build(shlex.split(CC), "-std=c17")
        self.check(program)
        self.check_record(program)
        self.check_run(program)
        self.check_errors(program)

    def test_cxx(self):
        compiler = shutil.which("g++") or shutil.which("clang++")
        if not compiler:
            self.skipTest("no C++ compiler")
        program = self.build((compiler,), "-std=c++17", "-x", "c++")
        self.check(program)
        self.check_errors(program)


if __name__ == "__main__":
    run_tests(sys.argv[:1])
