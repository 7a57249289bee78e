"""Shared by the tests of the command line: a call of assay with its own folder and database."""

import atexit
import contextlib
import copy
import fcntl
import functools
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

from machine import has_ended, skip_when_busy  # noqa: F401  (for the tests)

SETTLED = ("steady", "after_warmup", "after_slowdown")  # verdicts whose value is a headline
ASSAY = os.path.abspath(os.environ["ASSAY"])  # the executable, set by ctest; tests have folders of their own
# A shell without job control starts background commands with SIGINT ignored, which children inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
PATIENCE = 1500  # seconds for what only a defect makes hang; ctest's are a little more


@functools.cache
def pocl_cache():
    """PoCL's folder of compiled kernels: that of tests of the same texts, which ctest names and runs one
    after the other; else new and one for all tests of this process."""
    if shared := os.environ.get("ASSAY_TEST_POCL_CACHE"):
        os.makedirs(shared, exist_ok=True)
        return shared
    folder = tempfile.TemporaryDirectory(prefix="assay-pocl-")
    atexit.register(folder.cleanup)
    return folder.name


def use_stand_in(environment, shim, libraries):
    """The environment, with the stand-in for a vendor's libraries in their place."""
    environment["POCL_CACHE_DIR"] = pocl_cache()
    for library in libraries:
        environment.setdefault("ASSAY_LIB_" + library.upper(), shim)
    return environment


def thorough(test):
    """Marks a test that takes many processor seconds, beside cheaper ones of its kind: for --thorough."""
    test.is_thorough = True
    return test


class Part(unittest.TestLoader):
    """The tests that are marked as thorough, or the others, or by None all."""

    def __init__(self, wanted):
        super().__init__()
        self.wanted = wanted

    def getTestCaseNames(self, case):
        return [name for name in super().getTestCaseNames(case)
                if self.wanted in (None, hasattr(getattr(case, name), "is_thorough"))]


def run_tests(argv=None, whole=False):
    """unittest.main for tests that skip where something is absent: all of them skipped is ctest's
    77; some, and the others count, with a line for each that was skipped. Those that are thorough are
    run with --thorough and alone, or with the others (`whole`)."""
    words = list(sys.argv if argv is None else argv)
    part = Part(None if whole else "--thorough" in words)
    words = [word for word in words if word != "--thorough"]
    result = unittest.main("__main__", argv=words, exit=False, testLoader=part).result
    for test, why in result.skipped:
        print(f"skipped: {test.id()}: {why}")
    if not result.wasSuccessful() or result.testsRun == 0:
        sys.exit(1)
    sys.exit(77 if len(result.skipped) == result.testsRun else 0)


def wait_until(condition, process=None):
    """The first true value of the condition while the process runs."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"nothing of what was waited for in {PATIENCE} s")
        if process and process.poll() is not None:
            raise AssertionError(f"ended with {process.returncode} before what was waited for")
        time.sleep(0.02)
    return value


def child_of(pid, word):
    """Pid of a child whose last argument is this; 0: none. Children may be missing while others end."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = [int(child) for child in file.read().split()]
    for child in children:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            with open(f"/proc/{child}/cmdline", encoding="utf-8", errors="replace") as file:
                if file.read().split("\0")[-2:-1] == [word]:
                    return child
    return 0


@functools.cache
def validator(command):
    """A validator of a command's --json, by the program's schema; None without python3-jsonschema."""
    try:
        import jsonschema
    except ImportError:
        return None
    done = subprocess.run([ASSAY, "schema", command], capture_output=True, text=True, check=True)
    return jsonschema.Draft202012Validator(json.loads(done.stdout))


def exact(digits):
    """An integer that every JSON reader keeps exactly, including those that use doubles."""
    if abs(int(digits)) > 2**53:
        raise AssertionError(f"{digits} is beyond 2^53")
    return int(digits)


def document(text):
    """The only document of a call with --json, valid by its schema."""
    whole = json.loads(text, parse_int=exact)
    identifier = whole["schema"].split(":")
    if identifier[:3] != ["urn", "assay", "schema"]:
        raise AssertionError(whole["schema"])
    checker = validator(identifier[3])
    for error in checker.iter_errors(whole) if checker else ():
        raise AssertionError(f"{whole['schema']} at {error.json_path}: {error.message[:2000]}")
    return whole


class Call:
    """A finished call: status, standard output, standard error."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @functools.cached_property
    def document(self):
        return document(self.out)

    def json(self):
        """The data of a call with --json."""
        return self.document["data"]


# Of a gate whose decision must not depend on who else uses the machine that the tests run on.
ANYWHERE = ("--under", "contention,steal,cgroup_throttled")


class CliTest(unittest.TestCase):
    """Every test has a fresh folder; self.db is a database in it."""

    def setUp(self):
        self.folder_object = tempfile.TemporaryDirectory(prefix="assay-cli-")
        self.folder = self.folder_object.name
        self.db_count = 0
        self.new_db()

    def tearDown(self):
        self.folder_object.cleanup()

    def environment(self, **changes):
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith("ASSAY_") and k not in ("NO_COLOR", "COLUMNS")}
        environment["XDG_CONFIG_HOME"] = os.path.join(self.folder, "config")  # no key of the user's
        environment["ASSAY_NULL"] = "launch_ns=1000000,seed=1"
        environment.update(changes)
        return environment

    def assay(self, *words, timeout=PATIENCE, input=None, **environment):
        stdin = {"stdin": subprocess.DEVNULL} if input is None else {"input": input}
        done = subprocess.run([ASSAY, *words], cwd=self.folder, timeout=timeout,
                              **stdin, capture_output=True, text=True,
                              env=self.environment(**environment), check=False)
        return Call(done.returncode, done.stdout, done.stderr)

    def lines_on_terminal(self, columns, *words, messages=False):
        """What a finished call writes on a terminal of this width, with its messages or without."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        child = subprocess.Popen([ASSAY, *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=slave,
                                 stderr=slave if messages else subprocess.DEVNULL, env=self.environment())

        # The last close of a terminal can overtake what was written to it: Linux looks for text
        # before it looks for the close, with no lock over both. So this side stays open, and the
        # end is marked in the output.
        end = b"\x04end\x04"

        def say_end():
            child.wait()
            os.write(slave, end)

        last = threading.Thread(target=say_end)
        last.start()
        out = b""
        while not out.endswith(end):
            out += os.read(master, 65536)
        last.join()
        os.close(slave)
        os.close(master)
        out = out[:-len(end)]
        self.assertEqual(child.wait(), 0)
        return re.sub(r"\x1b\[[0-9;]*m", "", out.decode()).replace("\r\n", "\n").splitlines()

    def assert_lines_end_at_words(self, columns, *words):
        """Only text without a space to break at exceeds the width, and nothing is lost."""
        lines = self.lines_on_terminal(columns, *words)
        for line in lines:
            if len(line) > columns:
                before, _, last = line.rpartition(" ")
                self.assertLessEqual(len(before), columns, line)
                self.assertGreater(len(last), columns - 24, line)
        self.assertEqual(" ".join(lines).split(), self.assay(*words).out.split())
        return lines

    def start(self, *words, **environment):
        return subprocess.Popen([ASSAY, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment(**environment))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def machine(self, name):
        """Unpacks a recorded machine; the folder for ASSAY_HOST_ROOT."""
        here = os.path.dirname(__file__)
        with open(os.path.join(here, "..", "data", "machines", f"{name}.txt"),
                  encoding="utf-8") as file:
            parts = file.read().split("\n@ ")[1:]
        for part in parts:
            path, _, content = part.partition("\n")
            full = os.path.join(self.folder, name, path.lstrip("/"))
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(content + "\n")
        return os.path.join(self.folder, name)

    def query(self, sql, *parameters):
        with contextlib.closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True,
                                                timeout=PATIENCE)) as connection:
            return connection.execute(sql, parameters).fetchall()

    def assert_worked_out_again(self, number, *rules):
        """verify recomputes the stored comparison, and accepts no other, even with a rewritten log; the rules besides."""
        import forge
        import verify_body
        call = self.assay("verify", self.db, "--json")
        self.assertEqual(call.status, 0, call.out)
        self.assertEqual(call.json()["comparisons"], 1, call.out)
        with forge.Forgery(self.db) as forgery:
            ((_, record),) = forgery.bodies("comparison")
            body, count = re.subn(r'"%s":[0-9.e+-]+' % number, '"%s":0.125' % number,
                                  verify_body.canonical(record["body"]))
            self.assertGreater(count, 0, record)
            forgery.edit("comparison", {"body": verify_body.spelled(body)})
            forgery.rewrite()
        call = self.assay("verify", self.db, "--json")
        self.assertEqual(call.status, 1)
        found = [f for f in call.json()["findings"] if f["level"] == "wrong"]
        self.assertEqual([f["code"] for f in found if f["check"] == "complete"], [*rules], found)
        found = [f for f in found if f["check"] != "complete"]
        self.assertEqual([(f["check"], f["table"]) for f in found], [("comparison", "comparison")], found)
        self.assertIn("it differs in ", found[0]["message"])

    def assert_forgeries_found(self, *changes):
        """Both verifiers work out the one stored comparison, and find each change of its body by who has the key."""
        import forge
        verifier = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verify.py")
        key = os.path.join(self.folder, "vendor.key")
        public = self.assay("key", "new", "vendor", "--file", key, "--json").json()["public_key"]
        self.assertEqual(self.assay("checkpoint", "--db", self.db, ASSAY_KEY=key).status, 0)
        with open(key, encoding="utf-8") as file:
            secret = file.read()

        def both(database):
            call = self.assay("verify", database, "--key", public, "--json")
            done = subprocess.run([sys.executable, verifier, database, "--key", public], capture_output=True, text=True,
                                  check=False)
            return call, done
        call, done = both(self.db)
        self.assertEqual((call.status, done.returncode), (0, 0), call.out + done.stdout + done.stderr)
        self.assertEqual(call.json()["comparisons"], 1, call.out)
        for place, change in enumerate(changes):
            forged = os.path.join(self.folder, "forged.db")
            shutil.copyfile(self.db, forged)
            with forge.Forgery(forged) as forgery:
                def edit(record, change=change):
                    change(record["body"])
                    record["verdict"] = record["body"].get("verdict", record["verdict"])
                self.assertEqual(forgery.edit("comparison", edit), 1)
                forgery.rewrite(secret)
            call, done = both(forged)
            found = [f for f in call.json()["findings"] if f["level"] == "wrong"]
            self.assertEqual({(f["check"], f["table"]) for f in found}, {("comparison", "comparison")}, (place, found))
            self.assertEqual(set(re.findall("^wrong: ([a-z]+: [a-z]+) ", done.stdout, re.M)), {"comparison: comparison"},
                             (place, done.stdout + done.stderr))
            os.remove(forged)

    def assert_facts_are_shown(self, place, least):
        """Whatever a trial counts there, `least` members or more, changes what a person sees of its result."""
        import forge
        (campaign,), = self.query("SELECT substr(uid, 1, 8) FROM campaign")
        (text,), = self.query("SELECT facts FROM trial_end WHERE trial = 1")

        def seen():
            page = os.path.join(self.folder, "page.html")
            self.assertEqual(self.assay("report", "--html", page, "--db", self.db).status, 0)
            with open(page, encoding="utf-8") as file:
                return self.assay("show", "--all", campaign + "/1", "--db", self.db).out, file.read()

        def members(value, path):
            if isinstance(value, dict) and value:
                return [member for key in value for member in members(value[key], path + [key])]
            return [(path, value)]

        def other(key, value):
            if key == "reasons":
                return [{"reason": "another", "count": 3, "example": ""}]
            if isinstance(value, bool):
                return not value
            return 3 * value + 12345 if isinstance(value, int) else ["another"] if isinstance(value, list) else "another"

        plain, found = seen(), members(json.loads(text)[place], [place])
        self.assertGreaterEqual(len(found), least)
        for path, value in found:
            facts = json.loads(text)
            inner = facts
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = other(path[-1], value)
            with forge.Forgery(self.db) as forgery:
                forgery.db.execute("UPDATE trial_end SET facts = ? WHERE trial = 1", (json.dumps(facts),))
            for what, old, new in zip(("show", "the page"), plain, seen()):
                self.assertFalse(old == new, f"{path} of the facts is not in {what}")

    def apart(self, name):
        """The same test with a folder and a database of its own, for what runs at the same time."""
        one = copy.copy(self)
        one.folder = os.path.join(self.folder, name)
        os.mkdir(one.folder)
        one.new_db()
        return one

    def new_db(self):
        """From now on another database, for loops."""
        self.db_count += 1
        self.db = os.path.join(self.folder, f"test{self.db_count}.db")

    def assert_sound(self):
        self.assertEqual(self.query("PRAGMA integrity_check"), [("ok",)])
        self.assertEqual(self.query("PRAGMA foreign_key_check"), [])

    # A protocol that takes a fraction of a second a trial. The limit is generous, so that a busy
    # machine changes no verdict; tests of hanging workers use HANGS, whose limit they wait for.
    FAST = """extends: quick
name: fast
version: 1
trials: 2
warmup: {iterations: 2, time: 5ms}
window: {time: 30ms, min_samples: 5}
trial_timeout: 200s
"""
    HANGS = FAST.replace("trial_timeout: 200s", "trial_timeout: 3s")

    # Short, and yet one whose results may be compared.
    EVIDENCE = """extends: standard
name: evidence-fast
version: 1
trials: 5
warmup: {iterations: 2, time: 5ms}
window: {time: 30ms, min_samples: 20}
spot_checks: {count: 2, least: 1, time: 50ms}
cooldown: 0s
required: [host.kernel.release, device.name]
"""

    def fast(self):
        return self.write("fast.yaml", self.FAST)

    @contextlib.contextmanager
    def busy_machine(self):
        """Other processes that take all processors, so that results of windows of 300 ms have the finding contention."""
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
        try:
            yield
        finally:
            for other in others:
                other.kill()
                other.wait()

    def provide_worker(self, name, **environment):
        """Installs a declared worker, unless its newest version is here; skips where there is no network."""
        rows = self.assay("worker", "list", "--json", **environment).json()
        if next(row for row in rows if row["name"] == name)["installed"]:
            return
        call = self.assay("worker", "install", name, "--quiet", **environment)
        if call.status != 0 and re.search("resolve|connection|network|unreachable", call.err, re.I):
            self.skipTest(f"{name} is not installed, and there is no network: {call.err[-300:]}")
        self.assertEqual(call.status, 0, call.err)

    def plain_compiler(self):
        """For ASSAY_CC, where the speed of assay's kernels does not matter: under an evidence protocol each trial compiles
        them again, and without optimization that takes a fraction of a second."""
        compiler = self.write("cc", '#!/bin/sh\nexec cc "$@" -O0\n')
        os.chmod(compiler, 0o755)
        return compiler

    def run_synthetic(self, *words, **environment):
        return self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.fast(),
                          "--db", self.db, *words, **environment)

    def run_settled(self, *words, **environment):
        """run_synthetic in a new database, until the result has numbers, which a busy machine may prevent; its launches
        are so long that the null backend sleeps through them."""
        environment.setdefault("ASSAY_NULL", "launch_ns=2000000,seed=1")
        for _ in range(20):
            self.new_db()
            call = self.run_synthetic(*words, **environment)
            self.assertEqual(call.status, 0, call.err)
            (row,) = self.assay("results", "--json", "--db", self.db).json()
            if row["value"] is not None and row["verdict"] in SETTLED:
                return row
        skip_when_busy(self)
        return self.fail("no trial settles here")
