"""What a process gets from the one that starts it: signals, limits, descriptors, umask, environment, folder. Each state
either changes nothing or ends with an error that names it; none crashes, and none is a worker's fault."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, Call, CliTest, run_tests  # noqa: E402

NOBODY = 65534


def limited(name, soft, hard=None):
    return lambda: resource.setrlimit(name, (soft, soft if hard is None else hard))


def ignored(*signals):
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in signals]


def blocked(*signals):
    return lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signals)


def closed(*descriptors):
    return lambda: [os.close(fd) for fd in descriptors]


def changed(function, *arguments):
    return lambda: function(*arguments)


# A state in which everything works as it does without.
HARMLESS = {
    "SIGCHLD ignored": ignored(signal.SIGCHLD),
    "SIGPIPE ignored": ignored(signal.SIGPIPE),
    "SIGALRM ignored": ignored(signal.SIGALRM),
    "SIGINT, SIGTERM and SIGHUP ignored": ignored(signal.SIGINT, signal.SIGTERM, signal.SIGHUP),
    "every signal ignored": ignored(*(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})),
    "every signal blocked": blocked(*signal.valid_signals()),
    "a short stack": limited(resource.RLIMIT_STACK, 64 << 10, 8 << 20),
    "a stack of 2 MiB": limited(resource.RLIMIT_STACK, 2 << 20),
    "an endless stack": limited(resource.RLIMIT_STACK, resource.RLIM_INFINITY),
    "a stack of 64 GiB": limited(resource.RLIMIT_STACK, 64 << 30, resource.RLIM_INFINITY),
    "few open files, for now": limited(resource.RLIMIT_NOFILE, 8, 1024),
    "no core dumps": limited(resource.RLIMIT_CORE, 0),
    "no locked memory": limited(resource.RLIMIT_MEMLOCK, 0),
    "standard input closed": closed(0),
    "standard error closed": closed(2),
    "standard input and error closed": closed(0, 2),
    "umask 0777": changed(os.umask, 0o777),
    "umask 0": changed(os.umask, 0),
    "a process group and session of its own": os.setsid,
}
# A state in which an error has to say what is wrong. Some need a user without privileges.
REFUSED = {
    "a stack of 64 KiB": (limited(resource.RLIMIT_STACK, 64 << 10), "stack.*64 KiB.*ulimit -s"),
    "a stack of 1 MiB": (limited(resource.RLIMIT_STACK, 1 << 20), "stack.*1024 KiB.*ulimit -s"),
    "16 open files": (limited(resource.RLIMIT_NOFILE, 16), "Too many open files.*ulimit -n"),
    "6 open files": (limited(resource.RLIMIT_NOFILE, 6), "Too many open files.*ulimit -n"),
    "files of 1 KiB": (limited(resource.RLIMIT_FSIZE, 1 << 10), "ulimit -f"),
    "no files": (limited(resource.RLIMIT_FSIZE, 0), "ulimit -f"),
}
ENVIRONMENTS = {
    "no home": {"HOME": None},
    "an empty home": {"HOME": ""},
    "a home that is not there": {"HOME": "/dev/null/nowhere"},
    "no path": {"PATH": None},
    "an empty path": {"PATH": ""},
    "no folder for temporary files": {"TMPDIR": "/dev/null/nowhere"},
    "a locale with commas": {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
    "a locale that is not there": {"LC_ALL": "xx_YY.nothing"},
    "an odd time zone": {"TZ": ":/dev/null/nowhere"},
    "a zone far from here": {"TZ": "XXX-25:59:59"},
    "nothing": None,
}


class Inherited(CliTest):
    def environment(self, **changes):
        return super().environment(**{"ASSAY_NULL": "launch_ns=2000000,seed=1", **changes})  # slept through

    def call(self, *words, state=None, environment=None, cwd=None):
        done = subprocess.run([ASSAY, *words], cwd=cwd or self.folder, timeout=PATIENCE, stdin=subprocess.DEVNULL,
                              capture_output=True, encoding="utf-8", preexec_fn=state, check=False,
                              env=self.environment() if environment is None else environment)
        return Call(done.returncode, done.stdout, done.stderr)

    def assert_works(self, name, **state):
        """Devices, a run and its results, as ever."""
        self.new_db()
        with self.subTest(name):
            call = self.call("devices", **state)
            self.assertEqual(call.status, 0, call.err)
            self.assertNotRegex(call.out, "ended by|with status|cannot start /")
            call = self.call("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db, **state)
            self.assertEqual(call.status, 0, call.err)
            self.assertEqual(self.query("SELECT DISTINCT status, message FROM trial_end"), [("ok", None)])
            self.assert_sound()
            call = self.call("results", "--db", self.db, **state)
            self.assertEqual(call.status, 0, call.err)
            self.assertIn("synthetic", call.out)

    def test_harmless_states(self):
        for name, state in HARMLESS.items():
            self.assert_works(name, state=state)

    def test_environments(self):
        for name, changes in ENVIRONMENTS.items():
            environment = {"ASSAY_NULL": self.environment()["ASSAY_NULL"]} if changes is None else {
                key: value for key, value in self.environment(**changes).items() if value is not None}
            self.assert_works(name, environment=environment)

    def test_refused_states(self):
        for name, (state, words) in REFUSED.items():
            self.new_db()
            with self.subTest(name):
                call = self.call("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db,
                                 state=state)
                self.assertIn(call.status, (3, 4, 5), call.err)
                self.assertRegex(" ".join(call.err.split()), words)

    def test_little_memory(self):
        """How much is too little is a matter of the libraries: the first limit below which nothing is measured."""
        for mib in range(16, 0, -1):
            self.new_db()
            call = self.call("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db,
                             state=limited(resource.RLIMIT_DATA, mib << 20))
            if call.status:
                self.assertIn(call.status, (3, 4, 5), call.err)
                self.assertRegex(call.err, "memory")
                return
        self.fail("a run needs less than a mebibyte?")

    def test_closed_output_is_no_database(self):
        """The database gets none of the three, so that nothing that is printed is written into it."""
        for name, state in {"output": closed(1), "all": closed(0, 1, 2)}.items():
            self.new_db()
            with self.subTest(name):
                call = self.call("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db,
                                 state=state)
                self.assertIn(call.status, (0, 5), call.err)
                self.assertEqual(self.query("SELECT DISTINCT status, message FROM trial_end"), [("ok", None)])
                self.assertEqual(self.call("verify", self.db).status, 0)

    def test_folder_that_was_deleted(self):
        def leave():
            folder = tempfile.mkdtemp(prefix="assay-gone-")
            os.chdir(folder)
            os.rmdir(folder)
        self.assert_works("a folder that was deleted", state=leave)
        call = self.call("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), state=leave)
        self.assertIn(call.status, (4, 5), call.err)
        self.assertRegex(call.err, "assay.db: ")

    def test_without_privileges(self):
        """A umask without the owner's rights, and no further processes, matter to others than root."""
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        os.chmod(self.folder, 0o777)
        home = {"HOME": self.folder, "XDG_CONFIG_HOME": self.folder, "ASSAY_NULL": self.environment()["ASSAY_NULL"],
                "PATH": os.environ["PATH"]}

        def become(then):
            def state():
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                then()
            return state
        try:
            self.call("--version", state=become(lambda: None))
        except PermissionError:
            self.skipTest("another user cannot start this program")
        self.assert_works("umask 0777", state=become(changed(os.umask, 0o777)), environment=home)
        mode = os.stat(self.db).st_mode & 0o777
        self.assertEqual(mode, 0o600)
        call = self.call("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db",
                         os.path.join(self.folder, "none.db"), environment=home,
                         state=become(limited(resource.RLIMIT_NPROC, 0)))
        self.assertIn(call.status, (3, 4, 5), call.err)
        self.assertRegex(call.err, "ulimit -u")

    def test_workers_inherit_none_of_it(self):
        """A worker begins with every signal as the system has it: that is what frameworks expect."""
        status = os.path.join(self.folder, "status")
        worker = self.write("worker.sh", f"#!/bin/sh\ncat /proc/self/status > {status}\nexit 3\n")
        os.chmod(worker, 0o755)
        self.assertTrue(shutil.which("cat"))
        environment = self.environment(ASSAY_WORKER=worker)
        self.call("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db,
                  environment=environment, state=lambda: (HARMLESS["every signal ignored"](),
                                                          HARMLESS["every signal blocked"]()))
        with open(status, encoding="utf-8") as file:
            masks = dict(line.split(":\t") for line in file.read().splitlines() if line.startswith("Sig"))
        self.assertEqual((int(masks["SigIgn"], 16), int(masks["SigBlk"], 16)), (0, 0), masks)


if __name__ == "__main__":
    run_tests()
