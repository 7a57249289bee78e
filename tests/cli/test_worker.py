"""Named workers: declared, installed from a lock file, chosen by name, recorded in the plan."""

import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests, thorough, wait_until  # noqa: E402
import forge  # noqa: E402
import machine  # noqa: E402
from wheels import make_wheel, share_wheels  # noqa: E402

FOREIGN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "foreign_worker.py")
PATTERN = os.path.join(os.path.dirname(FOREIGN), "pattern_worker.py")
MODULE = os.path.join(os.path.dirname(FOREIGN), "..", "..", "backends", "workers", "python", "assay_worker.py")
DECLARATION = """worker: probe
description: a program that speaks the worker protocol
versions: ["2.1.0", "1.0.0"]
modes: [calm, busy]
entry: probe.py
runs:
  - {kind: synthetic, precisions: [fp32], devices: ["null"]}
"""


class Worker(CliTest):
    @classmethod
    def setUpClass(cls):
        """Wheels for all tests, and room for what they install of them."""
        share_wheels(cls, "probe", lambda version: {
            "probe.py": b"probe = 1\n", "libprobe.so": b"a library of the package"})

    def setUp(self):
        super().setUp()
        self.wheels, self.declared = os.path.join(self.folder, "wheels"), os.path.join(self.folder, "probe")
        shutil.copytree(os.path.join(self.shared, "wheels"), self.wheels)
        os.mkdir(self.declared)
        for version, digest in self.digests.items():
            self.lock(version, digest)
        self.name = self.write("probe/worker.yaml", DECLARATION)
        shutil.copy(FOREIGN, os.path.join(self.declared, "probe.py"))

    def lock(self, version, digest):
        self.write(f"probe/{version}.lock", f"# made here\nprobe=={version} \\\n    --hash=sha256:{digest}\n")

    def environment(self, **changes):
        return super().environment(**{"ASSAY_WORKERS": os.path.join(self.folder, "workers"), **changes})

    def install(self, name, *words):
        return self.assay("worker", "install", name, "--find-links", self.wheels, *words)

    def have(self, name, *versions):
        """Its versions are installed, as by `install`, where installing is not what is tested: from the wheels of all
        tests, and by the first of them."""
        with open(name, encoding="utf-8") as file:
            text = file.read()
        called = re.search("(?m)^worker: (.*)$", text).group(1)
        for version in versions or ("2.1.0",):
            folder = f"{called}@{version}"
            first = os.path.join(self.shared, "environments" if "interpreter:" in text else "files", folder)
            own = os.path.join(self.folder, "workers", folder)
            if os.path.exists(first):
                shutil.copytree(first, own, symlinks=True)
                continue
            call = self.install(f"{name}@{version}")
            self.assertEqual(call.status, 0, call.err)
            shutil.copytree(own, first, symlinks=True)

    def installed(self):
        try:
            return sorted(os.listdir(os.path.join(self.folder, "workers")))
        except FileNotFoundError:
            return []

    def run_worker(self, name, *words, **environment):
        return self.run_synthetic("--worker", name, *words, **environment)

    def trials(self):
        try:
            return self.query("SELECT count(*) FROM trial_end")[0][0]
        except sqlite3.Error:
            return 0

    def test_declared(self):
        """Those that are compiled in, with versions that lie side by side, and their packages by hash."""
        rows = self.assay("worker", "list", "--json").json()
        self.assertEqual([row["installed"] for row in rows], [False] * len(rows))
        names = [row["name"] for row in rows]
        self.assertGreaterEqual(names.count("onnxruntime"), 3)
        self.assertIn("openvino", names)
        for row in rows:
            self.assertTrue(row["packages"] and row["runs"], row)
            for package, digest in zip(row["packages"][::2], row["packages"][1::2]):
                self.assertRegex(package, "^[^=]+==[^=]+$")
                self.assertRegex(digest, "^sha256:[0-9a-f]{64}$")
        self.assertIn(names[0], self.assay("worker", "list").out)
        shown, = self.assay("worker", "show", self.name + "@1", "--json").json()
        self.assertEqual((shown["version"], shown["modes"]), ("1.0.0", ["calm", "busy"]))

    def test_installed_side_by_side(self):
        call = self.run_worker(self.name)
        self.assertNotEqual(call.status, 0)
        self.assertIn("is not installed; `assay worker install", call.err)
        for version in ("1.0.0", "2.1.0"):
            call = self.install(f"{self.name}@{version}", "--json")
            self.assertEqual(call.status, 0, call.err)
            row, = call.json()
            self.assertEqual((row["version"], row["installed"]), (version, True))
            self.assertTrue(os.path.exists(os.path.join(row["folder"], "site-packages", "probe.py")))
        self.assertEqual(self.installed(), ["probe@1.0.0", "probe@2.1.0"])
        self.assertEqual(self.assay("worker", "remove", self.name).status, 0)
        self.assertEqual(self.installed(), ["probe@1.0.0"])
        call = self.assay("worker", "remove", self.name)
        self.assertIn("probe@2.1.0 is not installed", call.err)

    def test_a_changed_wheel_is_refused(self):
        """And nothing is left of what was begun; what was installed before stays."""
        self.assertEqual(self.install(self.name).status, 0)
        make_wheel(self.wheels, "probe", "2.1.0", {"probe.py": b"probe = 'changed'\n"})
        call = self.install(self.name)
        self.assertNotEqual(call.status, 0)
        self.assertIn("a wheel is not the one that the lock file names", call.err)
        self.assertEqual(self.installed(), ["probe@2.1.0"])
        # Another lock file is another worker, whatever is installed.
        self.lock("2.1.0", "0" * 64)
        call = self.run_worker(self.name)
        self.assertIn("is installed from another lock file", call.err)

    def test_locks_have_hashes(self):
        for text, word in (("probe==2.1.0\n", "has no hash"), ("--index-url http://x probe==1\n", "line 1"), ("probe>=2 --hash=sha256:0\n", "line 1"),
                           ("probe==2.1.0\n  --hash=md5:00\n", "line 2")):
            with self.subTest(text=text):
                self.write("probe/2.1.0.lock", text)
                call = self.install(self.name)
                self.assertNotEqual(call.status, 0)
                self.assertIn(word, call.err)
                self.assertEqual(self.installed(), [])
        self.write("probe/2.1.0.lock", "# nothing\n")
        self.write("probe/worker.yaml", DECLARATION + "interpreter: python3\n")
        call = self.install(self.name)
        self.assertNotEqual(call.status, 0)
        self.assertIn("names no package", call.err)

    def test_what_the_machine_has_already(self):
        """A program that names its own interpreter needs no package; the plan has its SHA-256 all the same."""
        self.write("probe/2.1.0.lock", "# the Python of this machine has all of it\n")
        self.assertIn("is not installed", self.run_worker(self.name).err)
        self.assertEqual(self.install(self.name).status, 0)
        self.assertEqual(self.installed(), ["probe@2.1.0"])
        call = self.run_worker(self.name)
        self.assertEqual(call.status, 0, call.err)
        self.write("probe/2.1.0.lock", "# another\n")
        self.assertIn("is installed from another lock file", self.run_worker(self.name).err)

    def test_no_such(self):
        self.assertIn("there are assay, jax, onnxruntime, openvino", self.assay("worker", "show", "nowhere").err)
        for name, word in (("@3", 'has no version "3"; it has 2.1.0, 1.0.0'),
                           (",mode=wild", 'has no mode "wild"; it has calm, busy'), (",speed=9", "mode=NAME"),
                           (",threads=0", "threads=N")):
            self.assertIn(word, self.assay("worker", "show", self.name + name).err)
        # What is no setting of a worker is one of an arm, and written by itself.
        for text, word in (("assay,implementation=vendor", "--a worker=assay --a implementation=vendor"),
                           ("assay@2", "has neither versions nor settings"),
                           (f"{self.name},implementation=vendor", f"--a worker={self.name} --a implementation=vendor")):
            call = self.assay("ab", "triad", "--a", "worker=" + text, "--b", "worker=assay", "--db", self.db)
            self.assertEqual(call.status, 2, call.out)
            self.assertIn(word, " ".join(call.err.split()))
        for line, word in (("entry: assay", "`interface`"), ("entry: ../x", "leads elsewhere"),
                           ("threads: -1", "`threads`"), ("worker: a/b", "`worker`")):
            key = line.split(":")[0]
            text = "".join(x for x in DECLARATION.splitlines(True) if not x.startswith(key)) + line + "\n"
            path = self.write("probe/wrong.yaml", text)
            call = self.assay("worker", "show", path)
            self.assertIn(word, call.err)
            self.assertRegex(call.err, r"wrong\.yaml:\d+: ")

    def test_measures(self):
        """The plan names it by digests, its results are marked, and a changed program is another one."""
        self.have(self.name)
        call = self.run_worker(self.name, "--json", FOREIGN_MODE="good")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.assay("verify", self.db).status, 0, self.assay("verify", self.db).out)
        plan, = (json.loads(row[0]) for row in self.query(
            "SELECT c.body FROM campaign g JOIN content c ON c.digest = g.plan"))
        worker = plan["cells"][0]["worker"]
        with open(FOREIGN, "rb") as file:
            self.assertEqual(worker["program"], hashlib.sha256(file.read()).hexdigest())
        self.assertEqual((worker["name"], worker["version"], worker["mode"]), ("probe", "2.1.0", "calm"))
        self.assertEqual(plan["cells"][0]["implementation"], "vendor")
        shown = self.assay("show", call.json()["results"][0]["id"], "--db", self.db, "--json").json()
        readings = shown["trials"][0]["environment"]["host"]
        self.assertEqual([readings["worker." + key]["value"] for key in ("name", "version", "mode", "source")],
                         ["probe", "2.1.0", "calm", worker["program"]])
        self.assertIn("variable.ASSAY_WORKER", readings)  # no word of assay's own
        call = self.run_worker("assay", "--json")
        self.assertEqual(call.status, 0, call.err)

    def test_resume_with_another_program(self):
        self.have(self.name)
        protocol = self.write("slow.yaml", CliTest.FAST.replace("trials: 2", "trials: 40"))
        process = self.start("run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db", self.db,
                             "--quiet", "--worker", self.name)
        wait_until(lambda: os.path.exists(self.db) and self.trials() >= 1, process)
        process.send_signal(signal.SIGINT)
        process.communicate()
        if self.trials() == 40:
            self.skipTest("the campaign ended before it was interrupted")
        with open(os.path.join(self.declared, "probe.py"), "a", encoding="utf-8") as file:
            file.write("# changed\n")
        call = self.assay("run", "--resume", "last", "--db", self.db)
        self.assertNotEqual(call.status, 0, call.err)
        self.assertIn("is another than the plan names", call.err)

    @thorough
    def test_checked_by_assay(self):
        """Outputs that assay compared itself make a declared worker's results its own; others stay marked."""
        os.mkdir(os.path.join(self.folder, "other"))
        other = self.write("other/worker.yaml", DECLARATION.replace("worker: probe", "worker: other"))
        for name in os.listdir(self.declared):
            if name != "worker.yaml":
                shutil.copy(os.path.join(self.declared, name), os.path.join(self.folder, "other"))
        protocol = self.write("e.yaml", self.EVIDENCE)
        for name in (self.name, other):
            self.have(name)
        for handed, verdict, decision in (("good", "comparable_except", (0, 1, 3)), ("", "not_comparable", (2,))):
            with self.subTest(handed=handed):
                self.new_db()
                words = {"FOREIGN_HANDOVER": handed, "FOREIGN_NS": "1000000"}
                call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db", self.db,
                                  "--json", "--worker", self.name, **words)
                self.assertEqual(call.status, 0, call.err)
                call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db", self.db,
                                  "--json", "--worker", self.name, **words)
                rows = self.assay("results", "--db", self.db, "--json").json()
                self.assertEqual([row["foreign_worker"] is None for row in rows], [bool(handed)] * 2)
                self.assertEqual(("foreign_worker",) in self.query("SELECT code FROM result_findings"), not handed)
                gate = self.assay("gate", rows[0]["id"], rows[1]["id"], "--db", self.db)
                self.assertIn(gate.status, decision, gate.err)
                self.assertNotIn("--allow-foreign-worker", gate.out + gate.err)
                call = self.assay("ab", "synthetic", "--device", "null:0", "--a", f"worker={self.name}", "--b",
                                  f"worker={other}", "--pairs", "5", "--protocol", protocol, "--db", self.db, "--json",
                                  **words)
                self.assertEqual(call.status, 0, call.err)
                self.assertEqual([arm["foreign_worker"] is None for arm in call.json()["arms"]], [bool(handed)] * 2)
                shown = self.assay("show", "--all", rows[0]["id"], "--db", self.db).out
                self.assertEqual("another program than assay's own worker" in " ".join(shown.split()), not handed)
                judged = call.json()["comparability"]
                self.assertEqual(judged["verdict"], verdict, judged["reasons"])
                self.assertEqual(judged["except"].count("identity.origin"), 0)
                if handed:
                    self.assertEqual(judged["attribution"], "worker")
                self.assertEqual(self.assay("verify", self.db).status, 0)
        with forge.Forgery(self.db) as forgery:  # whose outputs nobody compared
            forgery.edit("trial", lambda body: body["facts"]["conduct"].update(checks="assay"))
            forgery.rewrite()
        self.assertIn("its checks are said to be assay's own, of 0 outputs", self.assay("verify", self.db).out)

    def lies(self, mode, word, setting="", **environment):
        self.new_db()
        call = self.run_worker(self.name + setting, FOREIGN_HANDOVER="good", FOREIGN_MODE=mode, **environment)
        self.assertEqual(call.status, 1, call.out)
        for status, message in self.query("SELECT status, message FROM trial_end"):
            self.assertEqual((status, word in (message or "")), ("invalid", True), message)
        self.assertEqual(self.assay("verify", self.db).status, 0)

    def test_what_it_ran_as(self):
        """Another device, precision or number of threads than planned; another process than the one started."""
        self.have(self.name)
        self.lies("other_device", "worker.device: the plan says null:0, and the worker opened foreign:0")
        self.lies("other_precision", "worker.precision: the plan says fp32, and the worker reports bf16")
        self.lies("other_threads", "worker.threads: the plan says 3, and the worker reports 7", ",threads=3")
        self.lies("wraps", "worker.process: python3")
        self.new_db()  # with a process that waits
        call = self.run_worker(self.name, FOREIGN_HANDOVER="good", FOREIGN_MODE="forks")
        self.assertEqual(call.status, 0, call.err)
        call = self.run_worker(self.name + ",threads=3", FOREIGN_HANDOVER="good")
        self.assertEqual(call.status, 0, call.err)

    def test_another_process_works(self):
        """In the place of the worker's own; it gets a twentieth of the window only where a processor is free for it."""
        self.have(self.name)
        try:
            self.lies("hides", "worker.process: processes that the worker's program started, python3",
                      FOREIGN_NS="5000000")
        except AssertionError:
            machine.skip_when_busy(self)
            raise

    def test_a_device_of_its_own(self):
        """One that no backend of assay's opens is planned, and is what the worker opens."""
        self.write("probe/worker.yaml", DECLARATION.replace('["null"]', '[tpu]'))
        self.have(self.name)
        words = ("--protocol", self.fast(), "--db", self.db, "--worker", self.name)
        call = self.assay("run", "synthetic", "--device", "tpu:3", *words, "--json", FOREIGN_HANDOVER="good")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(call.json()["trials_ok"], 2)
        self.assertEqual(self.assay("verify", self.db).status, 0)
        for device, worker, word in (("tpu:x", self.name, 'no device "tpu:x"'), ("npu:0", self.name, 'no device "npu:0"'),
                                     ("tpu:0", "assay", 'no device "tpu:0"')):
            call = self.assay("run", "synthetic", "--device", device, *words[:4], "--worker", worker)
            self.assertNotEqual(call.status, 0)
            self.assertIn(word, call.err)

    def test_a_changed_package(self):
        """A file of a package that the process maps, and that is not what was installed."""
        self.have(self.name)
        library = os.path.join(self.folder, "workers", "probe@2.1.0", "site-packages", "libprobe.so")
        call = self.run_worker(self.name, FOREIGN_HANDOVER="good", FOREIGN_MODE="maps", FOREIGN_FILE=library)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT DISTINCT package, package_version FROM component WHERE path LIKE"
                                    " '%libprobe.so'"), [("probe", "2.1.0")])
        with open(library, "ab") as file:
            file.write(b", changed")
        self.lies("maps", "libprobe.so is not as the package", FOREIGN_FILE=library)

    def test_a_module_that_is_exchanged(self):
        """A file that the process reads and does not map: between two campaigns, and in the middle of one."""
        self.have(self.name)
        site = os.path.join(self.folder, "workers", "probe@2.1.0", "site-packages")
        module = os.path.join(site, "module.py")
        results = []
        for text in ("a = 1\n", "a = 2\n"):
            self.write(module, text)
            call = self.run_worker(self.name, "--json", FOREIGN_HANDOVER="good")
            self.assertEqual(call.status, 0, call.err)
            results.append(call.json()["results"][0]["id"])
        readings = self.query("SELECT DISTINCT value FROM conditions WHERE name = 'worker.files'")
        self.assertEqual(len(readings), 2)
        factors = self.assay("compare", *results, "--db", self.db, "--json").json()["comparability"]["fields"]
        self.assertEqual([(field["factor"], field["state"]) for field in factors if field["field"] == "worker.files"],
                         [("worker", "differs")])
        for what in ("written or replaced", "new", "removed"):
            self.new_db()
            protocol = self.write("slow.yaml", CliTest.FAST.replace("trials: 2", "trials: 40"))
            process = self.start("run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db", self.db,
                                 "--quiet", "--worker", self.name)
            wait_until(lambda: os.path.exists(self.db) and self.trials() >= 1, process)
            if what == "removed":
                os.remove(os.path.join(site, "new.py"))
                os.remove(module)
            elif what == "new":
                self.write(os.path.join(site, "new.py"), "a = 3\n")
            else:
                self.write(module, "a = 3\n")
                self.write(module, "a = 2\n")  # as it was
            wait_until(lambda: self.query("SELECT 1 FROM trial_end WHERE status = 'invalid'"), process)
            process.send_signal(signal.SIGINT)
            process.communicate()
            for message, in self.query("SELECT message FROM trial_end WHERE status = 'invalid'"):
                self.assertRegex(message, "^worker.packages: .*/(module|new).py (was|is) %s since the plan" % what)
            self.assertEqual(self.assay("verify", self.db).status, 0)

    @thorough
    def test_the_shared_module(self):
        """A program in Python has assay's module beside its packages, and no other one."""
        self.write("probe/worker.yaml", DECLARATION + "interpreter: python3\n")
        shutil.copy(PATTERN, os.path.join(self.declared, "probe.py"))
        self.have(self.name)
        call = self.run_worker(self.name, PATTERN="installed")
        self.assertEqual(call.status, 0, call.err)
        plan, = (json.loads(row[0]) for row in self.query(
            "SELECT c.body FROM campaign g JOIN content c ON c.digest = g.plan"))
        with open(MODULE, "rb") as file:
            self.assertEqual(plan["cells"][0]["worker"]["module"], hashlib.sha256(file.read()).hexdigest())
        self.assertEqual(self.assay("verify", self.db).status, 0)
        folder = os.path.join(self.folder, "workers", "probe@2.1.0", "venv", "lib")
        module = os.path.join(folder, os.listdir(folder)[0], "site-packages", "assay_worker.py")
        with open(module, "a", encoding="utf-8") as file:
            file.write("# changed\n")
        call = self.run_worker(self.name)
        self.assertIn("has another assay_worker.py than this assay", call.err)

    def test_not_supported(self):
        """A trial that says so measured nothing: it is no other program's word, and no variable was set."""
        self.write("probe/worker.yaml", DECLARATION.replace("synthetic", "memory_bound") + "interpreter: python3\n")
        shutil.copy(PATTERN, os.path.join(self.declared, "probe.py"))
        self.have(self.name)
        call = self.assay("run", "triad", "--device", "null:0", "--precision", "fp32", "--protocol", self.fast(), "--db",
                          self.db, "--worker", self.name, "--json", PATTERN="installed")
        self.assertEqual({status for status, in self.query("SELECT status FROM trial_end")}, {"unsupported"}, call.err)
        row, = self.assay("results", "--db", self.db, "--json").json()
        self.assertIsNone(row["foreign_worker"])
        for words in (("results",), ("show", row["id"]), ("verify", self.db)):
            call = self.assay(*words, *(("--db", self.db) if words[0] != "verify" else ()))
            for word in ("another program", "another worker", "ASSAY_WORKER:"):
                self.assertNotIn(word, " ".join((call.out + call.err).split()), words)

    def test_matrix(self):
        """Workers with their settings among the values, and crossed with another setting."""
        self.have(self.name, "1.0.0", "2.1.0")
        call = self.assay("matrix", "synthetic", "--device", "null:0", "--pairs", "5", "--protocol",
                          self.write("e.yaml", self.EVIDENCE), "--db", self.db, "--json", "--over",
                          f"worker={self.name}@1,{self.name}@2,mode=busy,threads=2", "--over", "env:OMP_X=1,2",
                          FOREIGN_NS="1000000")
        self.assertEqual(call.status, 0, call.err)
        plan, = (json.loads(row[0]) for row in self.query(
            "SELECT c.body FROM campaign g JOIN content c ON c.digest = g.plan"))
        self.assertEqual([(cell["worker"]["version"], cell["worker"]["mode"], cell["worker"]["threads"],
                           cell["spec"]["environment"]) for cell in plan["cells"]],
                         [("1.0.0", "calm", 0, ["OMP_X=1"]), ("2.1.0", "busy", 2, ["OMP_X=1"]),
                          ("1.0.0", "calm", 0, ["OMP_X=2"]), ("2.1.0", "busy", 2, ["OMP_X=2"])])
        self.assertEqual(self.assay("verify", self.db).status, 0)

    @thorough
    def test_matrix_of_versions(self):
        """The page asks what the matrix does."""
        self.have(self.name, "1.0.0", "2.1.0")
        page = os.path.join(self.folder, "page.html")
        for other, asked in ((f"{self.name}@2", f"Which version of {self.name} differs from 1: synthetic"),
                             ("assay", "Which worker differs from ")):
            self.new_db()
            call = self.assay("matrix", "synthetic", "--device", "null:0", "--pairs", "5", "--protocol",
                              self.write("e.yaml", self.EVIDENCE), "--db", self.db, "--quiet", "--over",
                              f"worker={self.name}@1,{other}", FOREIGN_NS="1000000")
            self.assertEqual(call.status, 0, call.err)
            self.assertEqual(self.assay("report", "--html", page, "--db", self.db).status, 0)
            with open(page, encoding="utf-8") as file:
                self.assertIn(asked, file.read())

    @thorough
    def test_products_by_name(self):
        """Wherever two workers are compared, both are called by product and version."""
        os.mkdir(os.path.join(self.folder, "other"))
        self.write("other/worker.yaml", DECLARATION.replace("worker: probe", "worker: aprobe"))
        for name in ("probe.py", "1.0.0.lock", "2.1.0.lock"):
            shutil.copy(os.path.join(self.declared, name), os.path.join(self.folder, "other", name))
        other = os.path.join(self.folder, "other", "worker.yaml")
        self.have(self.name, "1.0.0")
        self.have(other, "2.1.0")
        protocol, words = self.write("e.yaml", self.EVIDENCE), "probe 1.0.0 -> aprobe 2.1.0"
        report = os.path.join(self.folder, "report.html")

        def ab(*more):
            return self.assay("ab", "synthetic", "--device", "null:0", "--a", f"worker={self.name}@1.0.0", "--b",
                              f"worker={other}@2.1.0", "--pairs", "5", "--protocol", protocol, "--db", self.db,
                              FOREIGN_NS="1000000", FOREIGN_HANDOVER="good", *more)

        call = ab("--json")
        self.assertEqual(call.status, 0, call.err)
        factor, = call.json()["comparability"]["factors"]
        self.assertEqual(f"{factor['a']} -> {factor['b']}", words)
        uid = call.json()["a"].split("/")[0]
        for command in (("compare", uid), ("gate", uid, "--markdown", report), ("report", "--html", report, uid),
                        ("report", "--dossier", report, uid)):
            with self.subTest(command=command):
                call = self.assay(*command, "--db", self.db)
                self.assertIn(call.status, (0, 1, 3), call.err)
                text = call.out
                if report in command:
                    with open(report, encoding="utf-8") as file:
                        text = file.read()
                text = " ".join(text.replace("&#45;", "-").replace("&gt;", ">").replace("&#62;", ">").split())
                self.assertIn("aprobe 2.1.0", text)
                self.assertIn("probe 1.0.0", text)
        self.new_db()
        for name in (f"{self.name}@1.0.0", f"{other}@2.1.0"):
            call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db", self.db,
                              "--worker", name, FOREIGN_NS="1000000", FOREIGN_HANDOVER="good")
            self.assertEqual(call.status, 0, call.err)
        self.assertIn(f"worker: {words}", " ".join(self.assay("history", "synthetic", "--db", self.db).out.split()))
        self.new_db()
        call = self.assay("matrix", "synthetic", "--device", "null:0", "--pairs", "5", "--protocol", protocol, "--db",
                          self.db, "--over", f"worker=assay,{self.name}@1.0.0,{other}@2.1.0", FOREIGN_NS="1000000",
                          FOREIGN_HANDOVER="good")
        self.assertEqual(call.status, 0, call.err)
        for product in ("probe 1.0.0", "aprobe 2.1.0"):
            self.assertRegex(" ".join(call.out.split()), rf"worker \(assay \d[^>]* -> {product}\)")

    def test_arms(self):
        """Two versions are two arms, whose difference is the worker's."""
        self.have(self.name, "1.0.0", "2.1.0")
        call = self.assay("ab", "synthetic", "--device", "null:0", "--a", f"worker={self.name}@1", "--b",
                          f"worker={self.name}@2", "--pairs", "5", "--protocol", self.write("e.yaml", self.EVIDENCE),
                          "--db", self.db, "--json", FOREIGN_NS="1000000")
        self.assertEqual(call.status, 0, call.err)
        judged = call.json()["comparability"]
        self.assertEqual([factor["factor"] for factor in judged["factors"]], ["worker"])
        self.assertIn("worker.version", judged["factors"][0]["fields"])
        self.assertEqual([judged["factors"][0][side] for side in "ab"], ["probe 1.0.0", "probe 2.1.0"])
        call = self.assay("ab", "triad", "--a", f"worker={self.name}", "--b", "worker=assay", "--db", self.db)
        self.assertIn("runs none of it in that precision on that device", call.err)
        call = self.run_worker(self.name, ASSAY_WORKER=FOREIGN)
        self.assertIn("unset it to measure with", call.err)


if __name__ == "__main__":
    run_tests()
