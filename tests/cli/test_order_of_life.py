"""From nothing to a report through the command line, on the null backend: no device is needed."""

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, CliTest, document, wait_until  # noqa: E402


class Words(CliTest):
    def test_help_and_version(self):
        call = self.assay("--help")
        self.assertEqual(call.status, 0)
        for command in ("devices", "list", "describe", "run", "results", "show", "report"):
            self.assertRegex(call.out, rf"(?m)^  {command} ")
            help_text = self.assay(command, "--help")
            self.assertEqual(help_text.status, 0)
            self.assertIn(f"Usage: assay {command}", help_text.out)
        # The program that the harness starts is no command for people; the frameworks are.
        (line,) = re.findall(r"(?m)^ +worker .*", call.out)
        self.assertIn("frameworks", line)
        self.assertRegex(self.assay("--version").out, r"^assay \d+\.\d+\.\d+")
        self.assertEqual(self.assay().status, 2)

    def test_unknown_arguments(self):
        call = self.assay("resluts")
        self.assertEqual(call.status, 2)
        self.assertIn('did you mean "results"?', call.err)
        call = self.assay("run", "--no-such-option")
        self.assertEqual(call.status, 2)
        call = self.assay("show")
        self.assertEqual(call.status, 2)
        self.assertIn("ID", call.err)

    def test_manual_and_completion_name_every_option(self):
        page = self.assay("--manual").out
        completions = [(self.assay(f"--completion{shell}").out, name)
                       for shell, name in (("", "--%s"), ("=zsh", "--%s"), ("=fish", " -l %s "))]
        for option in re.findall(r"--([a-z-]+)", self.assay("run", "--help").out):
            for text, name in completions:
                self.assertIn(name % option, text)
            if option not in ("help", "usage"):
                self.assertIn("\\-\\-" + option.replace("-", "\\-"), page)
        self.assertIn(".SH \"EXIT STATUS\"", page)

    def test_a_folder_is_no_declaration(self):
        for words in (("describe", "./"), ("describe", "/"), ("run", "./", "--device", "null:0", "--dry-run"),
                      ("run", "synthetic", "--device", "null:0", "--protocol", "./", "--dry-run")):
            call = self.assay(*words)
            self.assertEqual(call.status, 2, words)
            self.assertIn("is a folder; name a file in it", call.err)

    def test_how_long_it_will_take_is_said_before(self):
        """By protocol and work at first; then by stored trials of the same cell, measured here."""
        run = ("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db)
        first = self.assay(*run, "--dry-run", "--json").json()["expected"]
        least = 2 * (5 + 30) * 1000000
        self.assertEqual((first["cells"], first["trials"], first["cells_known"], first["least_ns"]),
                         (1, 2, 0, least))
        self.assertGreater(first["expected_ns"], least)
        self.assertRegex(self.assay(*run, "--dry-run").out, r"^1 cell, 2 trials: about \d+ ms, roughly")
        self.assertFalse(os.path.exists(self.db))
        call = self.assay(*run, "--json")
        self.assertEqual(call.json()["expected"], first)
        self.assertRegex(call.err, r"^assay: 1 cell, 2 trials: about ")
        self.assertLess(call.err.index("about"), call.err.index("[1/2]"))
        self.assertRegex(call.err, r"(?m)^\[1/2\] synthetic fp32 .*, about .* left$")
        self.assertRegex(call.err, r"(?m)^\[2/2\] synthetic fp32 [^,]*$")
        took = [ns for (ns,) in self.query("SELECT e.ended_utc_ns - t.started_utc_ns FROM trial t JOIN"
                                           " trial_end e ON e.trial = t.id ORDER BY 1")]
        then = self.assay(*run, "--dry-run", "--json").json()["expected"]
        self.assertEqual(then["cells_known"], 1)
        # A later trial took the median; the first one compares with the reference, too.
        self.assertGreaterEqual(then["expected_ns"], 2 * took[1])
        self.assertIn("as stored trials of this cell took", self.assay(*run, "--dry-run").out)
        other = self.assay(*run, "--batch", "1", "--dry-run", "--json", ASSAY_DB="unused").json()["expected"]
        self.assertEqual(other["cells_known"], 1)
        quick = self.assay("run", "synthetic", "--device", "null:0", "--db", self.db, "--dry-run", "--json")
        self.assertEqual(quick.json()["expected"]["cells_known"], 0)
        self.assertEqual(self.assay(*run, "--quiet").err.count("about"), 0)

    def test_a_folder_is_no_samples(self):
        call = self.assay("analyze", ".")
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("is a folder; name a file in it", call.err)

    def test_isolated_processors(self):
        """An empty list is a value: none. Without the file it is unknown."""
        for content, expected in (("", ("none", "measured")), ("2-3", ("2-3", "measured")),
                               (None, (None, "unavailable"))):
            self.new_db()
            root = self.machine("cloud_guest")
            path = os.path.join(root, "sys/devices/system/cpu/isolated")
            self.assertFalse(os.path.exists(path))
            if content is not None:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                self.write(path, content + "\n")
            self.assertEqual(self.run_synthetic(ASSAY_HOST_ROOT=root).status, 0)
            self.assertEqual(self.query("SELECT DISTINCT value, status FROM conditions WHERE name ="
                                        " 'host.cpu.isolated'"), [expected])
            if content is not None:
                os.remove(path)

    def test_list_and_describe(self):
        rows = self.assay("list", "--json").json()
        names = {row["name"]: row["type"] for row in rows}
        self.assertEqual(names["quick"], "protocol")
        self.assertEqual(names["first-look"], "suite")
        self.assertEqual(names["synthetic"], "workload")
        for name in names:
            call = self.assay("describe", name, "--json")
            self.assertEqual(call.status, 0, call.err)
            self.assertRegex(call.json()["digest"], r"^[0-9a-f]{64}$")
            self.assertEqual(self.assay("describe", name).status, 0)
        call = self.assay("describe", "synthetik")
        self.assertEqual(call.status, 2)
        self.assertIn("synthetic", call.err)

    def test_devices(self):
        call = self.assay("devices", "--json")
        self.assertEqual(call.status, 0)
        backends = {backend["backend"]: backend for backend in call.json()}
        self.assertTrue(backends["null"]["available"])
        self.assertTrue(backends["null"]["hidden"])
        self.assertNotIn("null:0", self.assay("devices").out)
        self.assertIn("null:0", self.assay("devices", "--all").out)

    def test_one_processor_is_measured_once(self):
        specs = {device["spec"] for backend in self.assay("devices", "--json").json()
                 for device in backend["devices"] if device["type"] == "cpu"}
        if not {"cpu:0", "opencl:0"} <= specs:
            self.skipTest("this processor is not shown by both cpu and OpenCL here")
        plan = self.assay("run", "synthetic", "--dry-run")
        self.assertIn("on cpu:0", plan.out)
        self.assertNotIn("on opencl:0", plan.out)
        self.assertIn("on opencl:0", self.assay("run", "synthetic", "--dry-run", "--device",
                                                "opencl").out)
        without = self.assay("run", "synthetic", "--dry-run", ASSAY_CC="/nowhere/cc")
        self.assertIn("on opencl:0", without.out)

    def test_missing_vendor_library_is_a_reason(self):
        call = self.assay("devices", "--lib", "opencl=/nowhere/libOpenCL.so.1", "--json")
        self.assertEqual(call.status, 0)
        opencl = [b for b in call.json() if b["backend"] == "opencl"][0]
        self.assertFalse(opencl["available"])
        self.assertIn("/nowhere/libOpenCL.so.1", opencl["reason"])
        call = self.assay("run", "synthetic", "--lib", "opencl=/nowhere/x.so",
                          ASSAY_CC="/nowhere/cc")
        self.assertEqual(call.status, 3)
        self.assertIn("/nowhere/cc", call.err)
        self.assertEqual(self.assay("devices", "--lib", "nonsense").status, 2)

    def test_a_uuid_names_one_device(self):
        plan = self.assay("run", "synthetic", "--dry-run", "--device", "NULL-00000001")
        self.assertEqual(plan.status, 0, plan.err)
        self.assertIn("on null:1", plan.out)
        self.assertNotIn("on null:0", plan.out)
        for spec, word in (("null-0000", "begins the UUID of both null:0 and null:1"),
                           ("null-", "no device"), ("null-000", "no device")):
            refused = self.assay("run", "synthetic", "--dry-run", "--device", spec)
            self.assertEqual(refused.status, 2, refused.out)
            self.assertIn(word, refused.err)

    def test_a_variable_that_cannot_be_read_is_refused(self):
        for name in ("ASSAY_PROBE_TIMEOUT", "ASSAY_CC_TIMEOUT", "ASSAY_TOOL_TIMEOUT"):
            for value in ("soon", "5", "-1s", "0s"):
                call = self.assay("devices", "null", **{name: value})
                self.assertEqual(call.status, 2, (name, value))
                self.assertIn(f"{name}={value}: write a time with its unit", call.err)
        for value in ("soon", "5s", "-1", "86401"):
            call = self.assay("results", "--db", self.db, ASSAY_DB_WAIT=value)
            self.assertEqual(call.status, 2, value)
            self.assertIn(f"ASSAY_DB_WAIT={value}: write a number of seconds", call.err)

    def test_a_library_that_nobody_opens_is_refused(self):
        for call in (self.assay("devices", "--lib", "cublas=/nowhere/libcublas.so"),
                     self.assay("run", "synthetic", "--db", self.db,
                                ASSAY_LIB_CUBLAS="/nowhere/libcublas.so")):
            self.assertEqual(call.status, 2, call.err)
            self.assertIn('no backend opens a library "cublas"', call.err)
            self.assertIn('did you mean "cublaslt"?', call.err)
            self.assertIn("ASSAY_LIB_CUBLAS", call.err)
        self.assertFalse(os.path.exists(self.db))


class Run(CliTest):
    def test_other_bits_are_compared_with_the_reference(self):
        """A later trial whose outputs differ from the first's, and one that follows a failed first trial."""
        protocol = self.write("three.yaml", self.FAST.replace("trials: 2", "trials: 3"))
        once = self.write("once", "")
        run = ("run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db", self.db)
        full, same = "max_absolute", "same_bits"
        # A first trial's first check downloads twice: 1 for its bits, 2 against the reference.
        for fault, statuses, metrics in (
                ("download_corrupt@1", ["ok", "ok", "ok"], [full, full, full]),
                ("download_corrupt@2", ["check_failed", "ok", "ok"], [full, full, same])):
            with open(once, "w", encoding="utf-8"):
                pass
            self.new_db()
            call = self.assay(*run[:-1], self.db, ASSAY_NULL=f"once={once},fault={fault}")
            self.assertEqual(call.status, int("check_failed" in statuses), call.err)
            (row,) = self.assay("results", "--json", "--db", self.db).json()
            trials = self.assay("show", row["id"], "--db", self.db, "--json").json()["trials"]
            self.assertEqual([trial["status"] for trial in trials], statuses, fault)
            self.assertEqual([next(check["metric"] for check in trial["checks"]
                                   if check["phase"] == "verify_before") for trial in trials],
                             metrics, fault)

    def test_whole_journey(self):
        call = self.run_synthetic("--json")
        self.assertEqual(call.status, 0, call.err)
        result = call.json()
        self.assertEqual(result["trials_ok"], 2)
        self.assertEqual(len(result["results"]), 1)
        row = result["results"][0]
        self.assertTrue(row["simulated"])
        self.assert_sound()

        listed = self.assay("results", "--db", self.db, "--json").json()
        self.assertEqual(listed[0]["id"], row["id"])
        self.assertEqual(self.assay("results", "--db", self.db, "--ids").out.strip(), row["id"])
        self.assertIn("synthetic", self.assay("results", "--db", self.db).out)

        shown = self.assay("show", "--all", row["id"], "--db", self.db)
        self.assertEqual(shown.status, 0, shown.err)
        self.assertIn("synthetic", shown.out)
        record = self.assay("show", row["id"], "--db", self.db, "--json").json()
        self.assertEqual(len(record["trials"]), 2)
        for trial in record["trials"]:
            self.assertEqual(trial["status"], "ok")
            phases = [phase["name"] for phase in trial["phases"]]
            self.assertEqual(phases, ["setup", "verify_before", "calibrate", "warmup", "window",
                                      "verify_after"])
            self.assertEqual(set(trial["environment"]), {"host", "before", "after"})
            places = {component["at"] for component in trial["components"]}
            self.assertEqual(places, {"window_start", "window_end"})
            self.assertTrue(any("libc.so" in c["path"] and c["sha256"] and c["build_id"]
                                for c in trial["components"]))
            self.assertTrue(all(check["passed"] for check in trial["checks"]))

        # Only the first trial was compared with the reference; the other one wrote the same bits.
        metrics = [{check["metric"] for check in trial["checks"] if check["phase"] != "spot_check"}
                   for trial in record["trials"]]
        self.assertEqual(metrics, [{"max_absolute"}, {"same_bits"}])
        self.assertEqual(set(record["trials"][0]["facts"]["verified"]),
                         {"verify_before", "verify_after"})
        self.assertNotIn("verified", record["trials"][1]["facts"])

        series = self.assay("show", row["id"], "--db", self.db, "--series").out.splitlines()
        self.assertEqual(series[0], "series,trial,sample_ns")
        self.assertEqual(len(series) - 1, sum(t["samples"] for t in record["trials"]))

        page = os.path.join(self.folder, "page.html")
        call = self.assay("report", "--html", page, row["id"], "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        with open(page, encoding="utf-8") as file:
            self.assertIn(row["id"], file.read())
        self.assertIn("synthetic", self.assay("report", "--db", self.db).out)

    def test_samples_are_what_the_null_backend_did(self):
        call = self.run_synthetic("--json", ASSAY_NULL="launch_ns=1000000,seed=1")
        self.assertEqual(call.status, 0, call.err)
        values = [int(line.split(",")[2]) for line in self.assay(
            "show", call.json()["results"][0]["id"], "--db", self.db, "--series"
        ).out.splitlines()[1:]]
        self.assertGreaterEqual(min(values), 1000000)

    def test_sql_answers(self):
        """What was planned, what ran, on which libraries, with which raw samples."""
        self.assertEqual(self.run_synthetic().status, 0)
        self.assertEqual(self.query("SELECT count(*) FROM planned_trial")[0][0], 2)
        self.assertEqual(self.query("SELECT status, count(*) FROM trial_end GROUP BY status"),
                         [("ok", 2)])
        self.assertGreater(self.query("SELECT count(*) FROM libraries")[0][0], 0)
        self.assertGreater(self.query("SELECT count(*) FROM samples")[0][0], 10)

    def test_dry_run_stores_nothing(self):
        call = self.run_synthetic("--dry-run", "--order-seed", "7")
        self.assertEqual(call.status, 0, call.err)
        self.assertFalse(os.path.exists(self.db))
        again = self.run_synthetic("--dry-run", "--order-seed", "7")
        self.assertEqual(call.out, again.out)
        plan = self.run_synthetic("--dry-run", "--json", "--nonce", "from the buyer").json()
        self.assertEqual(plan["nonce"], "from the buyer")
        self.assertEqual(sorted(plan["order"]), [1, 1])

    def test_wrong_requests(self):
        for words, text in (
                (("--precision", "fp31"), "fp32"),
                (("--precision", "fp16"), "nothing to run"),
                (("--batch", "0"), "whole numbers"),
                (("--batch", "1,,1"), "whole numbers"),
                (("--precision", ""), "no such precision"),
                (("--batch", "7"), "nothing to run"),
                (("--order-seed", "x"), "order-seed"),
                (("--device", "null:9"), "null:0"),
                (("--protocol", "quikc"), "quick")):
            call = self.run_synthetic(*words)
            self.assertEqual(call.status, 2, (words, call.err))
            self.assertIn(text, call.err)
            self.assertFalse(os.path.exists(self.db))

    def test_a_workload_of_which_nothing_is_wanted(self):
        """One that was named and not measured is not left out in silence."""
        call = self.assay("run", "synthetic", "gpt2_tiny_training_step", "--batch", "1", "--device", "null:0",
                          "--dry-run", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("gpt2_tiny_training_step is left out", call.err)
        self.assertNotIn("synthetic is left out", call.err)

    def test_wrong_declarations_name_file_and_line(self):
        path = self.write("bad.yaml", "workload: x\nversion: 1\nkind: synthetic\n"
                                      "precisions: [fp32]\nlaunches_: 3\n")
        call = self.assay("run", path, "--device", "null:0", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("bad.yaml:5:", call.err)
        call = self.assay("run", os.path.join(self.folder, "none.yaml"), "--device", "null:0")
        self.assertEqual(call.status, 2)
        self.assertIn("none.yaml", call.err)

    def test_own_workload_without_code(self):
        path = self.write("mine.yaml", "workload: mine\nversion: 3\nkind: synthetic\n"
                                       "description: my own\nprecisions: [fp32]\nbatches: [1]\n"
                                       "scenario: offline\n"
                                       "synthetic: {launches: 2, elements: 100}\n")
        call = self.assay("run", path, "--device", "null:0", "--protocol", self.fast(), "--db",
                          self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(call.json()["results"][0]["workload"], "mine")

    def test_databases_that_cannot_be_used(self):
        cases = {
            "folder": lambda p: os.mkdir(p),
            "text": lambda p: self.write(os.path.basename(p), "not a database" * 100),
        }
        for name, make in cases.items():
            path = os.path.join(self.folder, name + ".db")
            make(path)
            call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.fast(),
                              "--db", path)
            self.assertEqual(call.status, 4, call.err)
            self.assertIn(path, call.err)
        # An unset variable in a script must not select another file.
        call = self.assay("run", "synthetic", "--device", "null:0", "--db", "")
        self.assertEqual(call.status, 4, call.err)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "assay.db")))
        call = self.assay("results", "--db", os.path.join(self.folder, "absent.db"))
        self.assertEqual(call.status, 4)
        call = self.assay("run", "synthetic", "--device", "null:0", "--db",
                          os.path.join(self.folder, "no", "such", "folder.db"))
        self.assertEqual(call.status, 4)

    def test_unknown_result(self):
        self.assertEqual(self.run_synthetic().status, 0)
        for identifier in ("zzzz/1", "ffffffff/1", "7/1", "1/7", "", "/", "last/99"):
            call = self.assay("show", identifier, "--db", self.db)
            self.assertEqual(call.status, 4, identifier)
            self.assertTrue(call.err.startswith("assay: "), call.err)

    def test_closed_output(self):
        self.assertEqual(self.run_synthetic().status, 0)
        for words in (("results",), ("list",), ("report",)):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([ASSAY, *words] + (["--db", self.db] if words[0] != "list"
                                                         else []),
                                      stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                                      env=self.environment())
            self.assertEqual(done.returncode, 5, words)
            self.assertIn("No space left", done.stderr)


class Interrupt(CliTest):
    def counted(self, sql):
        """The number that this query gives, 0 while there is no database."""
        try:
            return self.query(sql)[0][0]
        except sqlite3.OperationalError:
            return 0

    def test_interrupt_and_resume(self):
        protocol = self.write("four.yaml", self.FAST.replace("trials: 2", "trials: 4"))
        # The second trial waits until the interrupt is over, however late that is.
        worker = self.write("worker.sh", "#!/bin/sh\n[ -e go ] || mkdir first 2>/dev/null || "
                            f"exec sleep 300\nexec '{ASSAY}' worker\n")
        os.chmod(worker, 0o755)
        process = self.start("run", "synthetic", "--device", "null:0", "--protocol", protocol,
                             "--db", self.db, ASSAY_WORKER=worker)
        wait_until(lambda: self.counted("SELECT count(*) FROM trial_end"), process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("--resume", err)
        self.assert_sound()
        done = self.query("SELECT count(*) FROM trial_end WHERE status = 'ok'")[0][0]
        self.assertEqual(done, 1)
        # Finished trials are analysed and shown, marked as incomplete.
        self.assertIn("preliminary: 1 of 4 planned trials", " ".join(out.split()))
        early = self.query("SELECT body FROM estimate")
        self.assertEqual(len(early), 1)
        self.write("go", "")
        call = self.assay("run", "--resume", "last", "--db", self.db, "--json",
                          ASSAY_WORKER=worker)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(call.json()["trials_ok"], 3)
        (last,) = self.query("SELECT body FROM estimate ORDER BY id DESC LIMIT 1")
        self.assertNotIn("incomplete", last[0])
        self.assert_sound()
        self.assertEqual(self.query(
            "SELECT count(DISTINCT sequence) FROM trial JOIN trial_end ON trial = trial.id "
            "WHERE status = 'ok'")[0][0], 4)
        # Everything is done: resuming again runs nothing and loses nothing.
        call = self.assay("run", "--resume", "last", "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(call.json()["trials_ok"], 0)

    def test_every_reading_has_status_and_source(self):
        """In the forms of results/FORMAT.md, and in words by show --readings."""
        self.assertEqual(self.run_synthetic().status, 0)
        result = self.query("SELECT result FROM results")[0][0]
        record = self.assay("show", result, "--json", "--db", self.db).json()
        environment = record["trials"][0]["environment"]
        shown = self.assay("show", result, "--readings", "--db", self.db, COLUMNS="200")
        self.assertEqual(shown.status, 0, shown.err)
        lines = shown.out.splitlines()
        read = 0
        for readings in (record["device"]["readings"], *environment.values()):
            self.assertTrue(readings)
            for name, reading in readings.items():
                with self.subTest(name):
                    self.assertIn(reading["status"], ("measured", "declared", "unavailable", "denied",
                                                      "not_applicable"))
                    self.assertEqual("value" in reading, reading["status"] in ("measured", "declared"))
                    self.assertEqual("reason" in reading, "value" not in reading)
                    self.assertRegex(reading["source"], r"^(/\S+( [\w ]+)?|[A-Z0-9_]+|[\w().,:/ ]+)$")
                    words = ("read from " if reading["source"].startswith("/") else "told by ") \
                        if reading["source"] != "ASSAY_NULL" else "environment variable "
                    at = next(i for i, line in enumerate(lines) if line.split()[:1] == [name])
                    text = " ".join(lines[at:at + 4])
                    self.assertIn((words + reading["source"])[:60], " ".join(text.split()))
                    read += reading["source"].startswith("/")
        self.assertGreater(read, 20)

    def stopped_verify(self, path):
        """Ctrl-C as soon as it is caught; the exit status, what was written, and the messages."""
        with subprocess.Popen([ASSAY, "verify", path, "--threads", "1"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                              env=self.environment()) as process:
            def is_caught():
                with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                    masks = dict(line.split(":", 1) for line in file)
                return (int(masks["SigCgt"], 16) | int(masks["SigBlk"], 16)) >> (signal.SIGINT - 1) & 1
            while process.poll() is None and not is_caught():
                pass
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
            return process.returncode, out, err

    def assert_verify_is_stopped(self, path):
        for _ in range(50):
            status, out, err = self.stopped_verify(path)
            if status == 130:
                break  # else it was done before
        self.assertEqual(status, 130, err)
        self.assertIn("stopping", err)
        self.assertNotIn("verified", out.lower())
        return err

    def test_interrupted_verify(self):
        """Neither verified nor wrong: no overall result, and a separate exit status."""
        for _ in range(4):
            self.assertEqual(self.run_synthetic().status, 0)
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            db.executescript("DROP TRIGGER reading_no_update; UPDATE reading SET name = name || 'x'")
        err = self.assert_verify_is_stopped(self.db)
        self.assertIn("not checked to the end", err)

    def test_resume_of_a_running_campaign_is_refused(self):
        # Its first worker waits until the second harness is done.
        worker = self.write("worker.sh", "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.05; done\n"
                            f"exec '{ASSAY}' worker\n")
        os.chmod(worker, 0o755)
        process = self.start("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db",
                             self.db, ASSAY_WORKER=worker)
        wait_until(lambda: self.counted("SELECT count(*) FROM trial"), process)
        call = self.assay("run", "--resume", "last", "--db", self.db, ASSAY_WORKER=worker)
        self.write("go", "")
        self.assertEqual(call.status, 4, call.err)
        self.assertIn(str(process.pid), call.err)
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, err)

    def test_wrong_arguments(self):
        """Each is answered with the nearest name; an option's value may look like anything."""
        for words, expected in ((("rnu",), 'did you mean "run"?'),
                                (("run", "--protocl", "quick"), "did you mean --protocol?"),
                                (("run", "--zzzzzz=1"), "`assay run --help`"),
                                (("run", "synthetic", "--device", "nul:0"), '"nul:0"'),
                                (("run", "synthetic", "--device", "null:9"), "null:0"),
                                (("describe", "traid"), 'did you mean "triad"?')):
            call = self.assay(*words)
            self.assertEqual(call.status, 2, words)
            self.assertEqual(call.out, "")
            self.assertIn(expected, call.err)
        for word in ("-h", "--help", "--hel"):
            call = self.assay("run", word)
            self.assertEqual(call.status, 0, call.err)
            self.assertIn("Usage: assay run", call.out)
        # A prefix of a long option, and arguments after `--`, are not such mistakes.
        self.assertIn("synthetic", self.assay("describe", "--js", "synthetic").out)
        self.assertIn('"--nothing"', self.assay("describe", "--", "--nothing").err)

    def test_describe_checks_declarations(self):
        """A mistake is reported for the intended kind of file, with its line."""
        for text, where, expected in (
                ("name: ours\nextends: standard\ntrails: 3\n", 3, 'did you mean "trials"?'),
                ("name: ours\nextends: ./it.yaml\n", 2, "in a circle"),
                ("name: ours\nextends: standard\nwindow: {time: 3 parsecs}\n", 3, "e.g. 250ms"),
                ("suite: ours\nversion: 1\ndescription: x\nruns: []\n", 4, "workloads"),
                ("workload: ours\nkind: memory_bound\nmemory_bond: {}\n", 3,
                 'did you mean "memory_bound"?'),
                ("- a\n", 1, "is a list"), ("", 1, "nothing is declared"),
                ("name: ours\n\ttrials: 3\n", 2, "tab character")):
            path = self.write("it.yaml", text)
            call = self.assay("describe", path)
            self.assertEqual(call.status, 2, text)
            self.assertIn(f"it.yaml:{where}: ", call.err)
            self.assertIn(expected, call.err)
        path = self.write("it.yaml", "name: ours\nversion: 1\ndescription: x\nextends: standard\n"
                                     "trials: 7\n")
        self.assertIn("ours (protocol, version 1, evidence)", self.assay("describe", path).out)

    def test_resume_takes_no_names(self):
        self.assertEqual(self.assay("run", "synthetic", "--resume", "last").status, 2)
        self.assertEqual(self.run_synthetic().status, 0)
        call = self.assay("run", "--resume", "ffffffff", "--db", self.db)
        self.assertEqual(call.status, 4)

    def test_two_harnesses_share_a_database(self):
        words = ("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db",
                 self.db, "--json")
        for process in [self.start(*words, ASSAY_DB_WAIT="280") for _ in range(2)]:
            out, err = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, err)
            self.assertEqual(document(out)["data"]["trials_ok"], 2)
        self.assert_sound()
        self.assertEqual(self.query("SELECT count(*) FROM campaign")[0][0], 2)
        self.assertEqual(self.query("SELECT count(*) FROM trial_end WHERE status='ok'")[0][0], 4)


if __name__ == "__main__":
    unittest.main()
