"""Effects of a batch system, a daemon or a closing terminal on assay, and how it handles them."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, CliTest, child_of, run_tests, wait_until  # noqa: E402


# Root needs no namespace of users, which a changed root folder forbids.
USERS = () if os.geteuid() == 0 else ("--user", "--map-root-user")
CONTAINER = ("unshare", *USERS, "--pid", "--fork", "--kill-child", "--mount-proc")
# Process 1 that starts a campaign, kills it, and resumes it before it waits for the one that it killed.
REAPS_NONE = """
import os, subprocess, sys, time
at = sys.argv.index("--")
first = subprocess.Popen(sys.argv[1:at])
while not os.path.exists("here"):
    time.sleep(0.02)
first.kill()
path = "/proc/%d/stat" % first.pid
while True:
    with open(path) as file:
        if file.read().rpartition(")")[2].split()[0] == "Z":
            break
    time.sleep(0.02)
sys.exit(subprocess.run(sys.argv[at + 1:]).returncode)
"""


class Surroundings(CliTest):
    def container(self):
        if not shutil.which("unshare") or subprocess.run([*CONTAINER, "true"], check=False,
                                                         stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no namespaces")
        return CONTAINER

    def waiting_worker(self):
        """A worker that waits for long the first time, and leaves the file "here"."""
        worker = self.write("worker.sh", f"#!/bin/sh\n[ -e here ] && exec {ASSAY} worker\ntouch here\n"
                            "exec sleep 300\n")
        os.chmod(worker, 0o755)
        return worker

    def words(self):
        return (ASSAY, "run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db",
                self.db)

    def popen(self, words, worker=None, **options):
        return subprocess.Popen(words, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True,
                                env=self.environment(**({"ASSAY_WORKER": worker} if worker else {})),
                                stdout=subprocess.DEVNULL, **options)

    def finish(self, process):
        err = process.communicate(timeout=PATIENCE)[1]
        return process.returncode, err

    def test_a_limit_on_the_size_of_files(self):
        """Files of a worker's messages are nominally larger; the limit applies to them too."""
        status, err = self.finish(self.popen(
            self.words(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                (64 << 20, 64 << 20))))
        self.assertEqual(status, 0, err)
        self.new_db()
        status, err = self.finish(self.popen(
            self.words(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                (100000, 100000))))
        self.assertEqual(status, 4, err)
        self.assertIn("ulimit -f", err)

    def held(self, process):
        """Its descriptors 0, 1 and 2, as far as they are open."""
        held = []
        for fd in range(3):
            with contextlib.suppress(OSError):
                held.append(os.readlink(f"/proc/{process.pid}/fd/{fd}"))
        return held

    def test_closed_descriptors_are_not_reused(self):
        process = subprocess.Popen([ASSAY, "doctor", "--jitter", "60s"], cwd=self.folder,
                                   env=self.environment(),
                                   preexec_fn=lambda: os.closerange(0, 3))
        try:
            # The loader opens libraries by them before; what is free is taken by what the doctor reads.
            wait_until(lambda: self.held(process) == ["/dev/null"] * 3, process)
        finally:
            process.kill()
            process.wait()

    def test_a_terminal_says_twice_that_it_closes(self):
        worker = self.write("worker.sh", "#!/bin/sh\ntrap '' TERM\ntouch here\nexec sleep 300\n")
        os.chmod(worker, 0o755)
        process = self.start(*self.words()[1:], ASSAY_WORKER=worker)
        wait_until(lambda: os.path.exists(os.path.join(self.folder, "here")), process)
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.02)
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130, err)
        # Not thrown away: the trial has its end.
        self.assertEqual(self.query("SELECT status FROM trial_end"), [("interrupted",)])

    def test_the_same_campaign_in_two_containers(self):
        """In each of them the harness is process 1, and neither sees the other."""
        container, worker = self.container(), self.waiting_worker()
        first = subprocess.Popen((*container, *self.words()), cwd=self.folder,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL,
                                 env=self.environment(ASSAY_WORKER=worker))
        try:
            wait_until(lambda: os.path.exists(os.path.join(self.folder, "here")), first)
            resume = (*container, ASSAY, "run", "--resume", "last", "--db", self.db)
            status, err = self.finish(self.popen(resume, worker))
            self.assertEqual(status, 4, err)
            self.assertIn("is being run by", err)
            self.assertEqual(self.query("SELECT count(*) FROM trial_end"), [(0,)])
        finally:  # of the harness, whose end unshare waits for: its own would come before that of the harness
            os.kill(wait_until(lambda: child_of(first.pid, self.db), first), signal.SIGKILL)
            first.wait()
        # The lock is released with its holder.
        status, err = self.finish(self.popen(resume, worker))
        self.assertEqual(status, 0, err)

    def test_a_killed_campaign_where_nobody_reaps(self):
        """Its harness stays in the list of processes for good, and holds it no longer."""
        worker = self.waiting_worker()
        words = (*self.container(), sys.executable, "-c", REAPS_NONE, *self.words(), "--", ASSAY, "run", "--resume",
                 "last", "--db", self.db)
        status, err = self.finish(self.popen(words, worker))
        self.assertEqual(status, 0, err)
        self.assertEqual(self.query("SELECT count(*) FROM trial_end WHERE status = 'ok'"), [(2,)])

    def beside(self, act, **environment):
        """(status, message) and the findings of a trial of one second, during which act(pid of its worker) is called."""
        protocol = self.write("second.yaml", self.FAST.replace("trials: 2", "trials: 1").replace("time: 30ms", "time: 1s"))
        process = self.start("run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db", self.db,
                             **environment)
        worker = wait_until(lambda: child_of(process.pid, "worker"), process)
        with contextlib.suppress(ProcessLookupError, FileNotFoundError, PermissionError):
            while process.poll() is None:
                act(worker)
                time.sleep(0.05)
        _, err = process.communicate(timeout=PATIENCE)
        (end,) = self.query("SELECT status, message FROM trial_end")
        self.assertEqual(self.assay("verify", self.db).status, 0, err)
        shown = self.assay("show", "last", "--json", "--db", self.db).document["findings"] if end[0] == "ok" else []
        self.new_db()
        return end, {finding["code"] for finding in shown}

    def test_a_worker_that_is_left_alone(self):
        end, findings = self.beside(lambda pid: None)
        self.assertEqual(end, ("ok", None))
        self.assertNotIn("steered", findings)

    def test_a_worker_that_is_stopped(self):
        def stop(pid):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.01)
            os.kill(pid, signal.SIGCONT)
        (status, message), _ = self.beside(stop)
        self.assertEqual(status, "invalid", message)
        self.assertIn("worker.stopped: ", message)

    def test_a_worker_that_is_steered(self):
        """Its priority or its processors: in the window, and before it says a word."""
        def slower(pid):
            os.setpriority(os.PRIO_PROCESS, pid, min(os.getpriority(os.PRIO_PROCESS, pid) + 1, 19))

        def elsewhere(pid):
            os.sched_setaffinity(pid, {sorted(os.sched_getaffinity(0))[int(10 * time.monotonic()) % 2]})
        for act in (slower, elsewhere)[:min(len(os.sched_getaffinity(0)), 2)]:
            with self.subTest(act=act.__name__):
                end, findings = self.beside(act)
                self.assertEqual(end, ("ok", None))
                self.assertIn("steered", findings)

    def test_a_worker_in_another_control_group(self):
        groups = [root for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/freezer")
                  if os.path.exists(f"{root}/cgroup.procs") and os.access(f"{root}/cgroup.procs", os.W_OK)]
        if not groups:
            self.skipTest("no control group can be made here")
        group = f"{groups[-1]}/assay-test-{os.getpid()}"
        try:
            os.mkdir(group)
        except OSError as error:
            self.skipTest(str(error))

        def move(pid):
            with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(pid))
        try:
            (status, message), _ = self.beside(move)
        finally:
            wait_until(lambda: not os.path.exists(group) or not os.rmdir(group))
        self.assertEqual(status, "invalid", message)
        self.assertIn("worker.cgroup: ", message)

    def test_a_language_whose_capital_of_i_is_another(self):
        locale = os.path.join(self.folder, "tr")
        if not shutil.which("localedef") or subprocess.run(
                ["localedef", "--no-archive", "-c", "-i", "tr_TR", "-f", "UTF-8", locale],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no sources of locales")
        for words, variables in ((("--lib", "hip=/nowhere/libother.so"), {}),
                                 ((), {"ASSAY_LIB_HIP": "/nowhere/libother.so"})):
            call = self.assay("devices", *words, LC_ALL="tr", LOCPATH=self.folder, **variables)
            self.assertEqual(call.status, 0, call.err)
            self.assertIn("/nowhere/libother.so", call.out)

    def test_no_output_replaces_a_database(self):
        self.assertEqual(self.assay("key", "new").status, 0)
        self.assertEqual(self.run_synthetic().status, 0)
        key = os.path.join(self.folder, "config", "assay", "default.key")
        for target in (self.db, key):
            for words in (("export", "csv", "-o", target), ("report", "--html", target),
                          ("report", "--dossier", target), ("bundle", "-o", target, "last")):
                with open(target, "rb") as file:
                    before = file.read()
                call = self.assay(*words, "--db", self.db)
                self.assertEqual(call.status, 2, (words, call.err))
                self.assertIn("never overwritten", call.err)
                with open(target, "rb") as file:
                    self.assertTrue(file.read() == before, words)

    def test_secrets_stay_where_they_are(self):
        secret = "nvapi-dGhpcyBpcyBub25lIG9mIHlvdXIgYnVzaW5lc3M"
        self.assertEqual(self.run_synthetic(NVIDIA_API_KEY=secret, CUDA_SET="1").status, 0)
        self.assertEqual(self.query("SELECT DISTINCT value FROM conditions WHERE name ="
                                    " 'variable.CUDA_SET'"), [("1",)])
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    self.assertFalse(secret.encode() in file.read(), name)

    def test_a_worker_that_may_not_be_inspected(self):
        """Its trial has no libraries, with the reason; the next trial is by another user's worker."""
        foreign = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                               "foreign_worker.py")
        user = 65534 if os.geteuid() == 0 else None
        words = list(self.words())
        if user:  # who may not enter the folders of the user who built it
            os.chmod(self.folder, 0o777)
            foreign, words[0] = (shutil.copy(path, self.folder) for path in (foreign, words[0]))
        process = subprocess.Popen(words, cwd=self.folder, user=user, group=user,
                                   extra_groups=[] if user else None, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=self.environment(ASSAY_WORKER=foreign, FOREIGN_MODE="hidden"))
        status, err = self.finish(process)
        self.assertEqual(status, 1, err)
        rows = self.query("SELECT status, message FROM trial_end")
        self.assertEqual([row[0] for row in rows], ["denied"] * 2, rows)
        self.assertIn("mapped", rows[0][1])

    def test_a_campaign_is_one_programs(self):
        """Another assay binary cannot resume it, but may estimate what is measured."""
        worker = self.write("worker.sh", "#!/bin/sh\n[ -e go ] || { touch go; kill -INT $PPID; exec sleep"
                            f" 300; }}\nexec '{ASSAY}' worker\n")
        os.chmod(worker, 0o755)
        call = self.run_synthetic(ASSAY_WORKER=worker)
        self.assertEqual(call.status, 130, call.err)
        other = shutil.copy(ASSAY, self.folder)
        with open(other, "ab") as file:
            file.write(b"\n")
        resume = ("run", "--resume", "last", "--db", self.db)
        before = self.query("SELECT count(*) FROM record")
        status, err = self.finish(self.popen((other, *resume)))
        self.assertEqual(status, 4, err)
        self.assertIn("continue with the program that began it", err)
        self.assertEqual(self.query("SELECT count(*) FROM record"), before)
        call = self.assay(*resume, ASSAY_WORKER=worker)
        self.assertEqual(call.status, 0, call.err)
        status, err = self.finish(self.popen((other, *resume)))
        self.assertEqual(status, 0, err)

    def test_a_result_is_of_one_machine(self):
        """Under another name of the host no trial is added to a result of this one."""
        renamed = ("unshare", "--uts", "--map-root-user", "sh", "-c", "hostname another-machine && exec \"$@\"", "sh")
        if subprocess.run((*renamed, "true"), capture_output=True, check=False).returncode:
            self.skipTest("no host name of its own can be had here (unshare --uts)")
        worker = self.write("worker.sh", "#!/bin/sh\nif [ -e one ] && [ ! -e go ]; then touch go; kill -INT $PPID; exec"
                            f" sleep 300; fi\ntouch one\nexec '{ASSAY}' worker\n")
        os.chmod(worker, 0o755)
        call = self.run_synthetic(ASSAY_WORKER=worker)
        self.assertEqual(call.status, 130, call.err)
        before = self.query("SELECT count(*) FROM record")
        resume = (ASSAY, "run", "--resume", "last", "--db", self.db)
        status, err = self.finish(self.popen((*renamed, *resume), worker))
        self.assertEqual(status, 4, err)
        self.assertIn('is "another-machine" in a later one: trials of two machines do not make one result', err)
        self.assertEqual(self.query("SELECT count(*) FROM record"), before)
        status, err = self.finish(self.popen(resume, worker))
        self.assertEqual(status, 0, err)


if __name__ == "__main__":
    run_tests()
