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
        for folder, _, names in os.walk(os.path.join(self.prefix, "include")):
            for name in names:
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    yield name, file.read()

    def test_exports(self):
        """Exactly what the installed headers declare, with the prefix."""
        tool = shutil.which("nm")
        if not tool:
            self.skipTest("no nm")
        declared = set()
        for name, text in self.headers():
            self.assertNotIn('#include "', text)
            text = strip_comments(text)
            declared |= set(HEAD.findall(text))
            declared |= set(re.findall(r"^extern [^;(\"]*?(\w+)(?:\[\w*\])*;", text, re.M))
        self.assertGreater(len(declared), 100)
        done = run(tool, "-D", "--defined-only", "-P", os.path.join(self.lib, "libassay.so"))
        exported = {line.split()[0] for line in done.stdout.splitlines()}
        self.assertEqual(exported, {"assay_" + name for name in declared})

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

    def check(self, program):
        """It says what the program says."""
        rows = self.assay("results", "--json", "--archived", "--limit", "99", "--db", self.db).json()
        ours = self.document(program, "results", self.db)
        self.assertEqual(ours, {row["id"]: {"workload": row["workload"], "metrics": row["metrics"]} for row in rows})
        self.assertGreater(len(ours), 4)

        samples = [str(100 + i * 7 % 11) for i in range(70)]
        file = self.write("samples.csv", "sample_ns\n" + "\n".join(samples) + "\n")
        (row,) = self.assay("analyze", file, "--json").json()
        ours = self.document(program, "analyze", *samples)["estimate"]
        self.assertEqual({name: row[name] for name in ours}, ours)
        self.assertIsNotNone(ours["metrics"]["iteration_time"]["hi"])

        summary = self.assay("verify", self.db, "--json").json()
        ours = self.document(program, "verify", self.db)
        self.assertEqual(ours.pop("messages"), [])
        self.assertEqual({name: summary[name] for name in ours}, ours)
        self.assertGreater(ours["records"], 50)

        a, b = [row["id"] for row in rows if row["workload"] == "synthetic" and not row["arm"]][:2]
        shown = self.assay("compare", a, b, "--json", "--db", self.db).json()
        ours = self.document(program, "compare", self.db, a, b)
        self.assertEqual({name: shown[name] for name in ours}, ours)
        self.assertIsNotNone(ours["comparison"]["ratio"])

    def check_errors(self, program):
        missing = os.path.join(self.folder, "missing.db")
        said = self.assay("results", "--db", missing).err.partition("assay: error: ")[2]
        done = self.consume(program, "results", missing)
        self.assertEqual((done.returncode, done.stderr), (1, "not_found: " + said))
        with open(self.db, "r+b") as file:
            file.truncate(os.path.getsize(self.db) // 2)
        done = self.consume(program, "results", self.db)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.startswith("corrupt: "), done.stderr)
        done = self.consume(program, "compare", missing, "a/1", "b/1")
        self.assertEqual(done.returncode, 1)
        # Only assay's own executable is started again to measure or to probe.
        done = self.consume(program, "devices")
        self.assertIn("this is another program", done.stdout + done.stderr)

    def test_c(self):
        program = self.build(shlex.split(CC), "-std=c17")
        self.check(program)
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
