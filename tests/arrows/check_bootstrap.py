"""bootstrap.sh as somebody meets it who mistypes, has no root, or watches a build: usage: FILE ROOT.

The packages' tools and cmake are stand-ins on PATH where the real ones would change this machine; the
line for an administrator is tried by the real apt-get, in a simulation.
"""

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

NOBODY = 65534
STEPS = "".join(f"echo '[{done}/40 {done * 4}.5] Building C object {done}.c.o'\n" for done in range(41))


def stand_in(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


class Bootstrap(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        self.program = os.path.join(ROOT, "bootstrap.sh")
        self.environment = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}", TERM="xterm")

    def call(self, *arguments, **options):
        return subprocess.run([self.program, *arguments], env=self.environment, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, check=False, **options)

    def test_a_wrong_word_is_named_in_two_lines(self):
        for arguments in ([], ["tset"], ["run", "now"], ["test", "--al"], ["test", "--all", "x"],
                          ["install", "all"], ["build", "release"], ["sanitize", "fast"]):
            got = self.call(*arguments)
            self.assertEqual(got.returncode, 2, arguments)
            self.assertEqual(got.stdout, "")
            lines = got.stderr.splitlines()
            self.assertEqual(len(lines), 2, got.stderr)
            self.assertTrue(not arguments or f'"{arguments[-1]}"' in lines[0], got.stderr)

    def test_help_is_no_error(self):
        for word in ("help", "--help", "-h"):
            got = self.call(word)
            self.assertEqual((got.returncode, got.stderr), (0, ""))
            self.assertIn("usage:", got.stdout)

    def ask_without_root(self):
        """What is said where no package is installed and nobody may install one."""
        stand_in(self.folder, "dpkg-query", "exit 1\n")
        stand_in(self.folder, "sudo", "exit 1\n")
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        copy = os.path.join(self.folder, "bootstrap.sh")
        shutil.copy(self.program, copy)
        self.program = copy
        got = self.call("install", "check", cwd=self.folder, **user)
        self.assertEqual(got.returncode, 1, got.stderr)
        found = re.search(r"ask an administrator for: apt-get update && (apt-get install .*)", got.stderr)
        self.assertTrue(found, got.stderr)
        return found.group(1).split()

    @unittest.skipUnless(shutil.which("apt-get"), "there is no apt-get")
    def test_the_line_for_an_administrator_works(self):
        policy = subprocess.run(["apt-cache", "policy", "libcsv-dev"], capture_output=True, text=True,
                                check=True)
        if not re.search(r"Candidate: \d", policy.stdout):
            self.skipTest("the lists of packages were never fetched here")
        words = self.ask_without_root()
        got = subprocess.run([words[0], "--simulate", *words[1:]], capture_output=True, text=True,
                             check=False)
        self.assertEqual(got.returncode, 0, got.stderr)

    @unittest.skipUnless(shutil.which("apt-get"), "there is no apt-get")
    def test_without_lists_only_what_every_release_has_is_named(self):
        stand_in(self.folder, "apt-cache", "exit 0\n")
        words = self.ask_without_root()
        self.assertIn("libcsv-dev", words)
        self.assertFalse([word for word in words if word.startswith("libdnnl")])

    def build(self, terminal):
        stand_in(self.folder, "dpkg-query", 'shift 2; for p in "$@"; do echo "installed $p"; done\n')
        stand_in(self.folder, "cmake", f'case "$*" in *--build*) {STEPS} echo "a.c:1: warning: w";; esac\n')
        copy = os.path.join(self.folder, "bootstrap.sh")
        shutil.copy(self.program, copy)
        if not terminal:
            return subprocess.run([copy, "build"], env=self.environment, capture_output=True,
                                  stdin=subprocess.DEVNULL, check=True).stdout.decode()
        ours, theirs = pty.openpty()
        with subprocess.Popen([copy, "build"], env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            try:
                while piece := os.read(ours, 65536):
                    shown += piece
            except OSError:  # the end of a terminal
                pass
        os.close(ours)
        self.assertEqual(process.returncode, 0, shown)
        return shown.decode()

    def test_a_build_is_one_line_on_a_terminal(self):
        shown = self.build(terminal=True)
        self.assertNotIn("Building C object", shown)
        self.assertIn("a.c:1: warning: w", shown)
        self.assertRegex(shown, r"\r\x1b\[K    10 of 40 steps, about 2 min 0 s left\r\x1b\[K    11 of 40")
        self.assertLess(shown.count("\n"), 6)

    def test_a_log_has_a_line_each_half_minute(self):
        shown = self.build(terminal=False)
        self.assertIn("a.c:1: warning: w", shown)
        self.assertEqual(len(re.findall(r"^    \d+ of 40 steps", shown, re.MULTILINE)), 5, shown)
        self.assertNotIn("\x1b", shown)


if __name__ == "__main__":
    ROOT = sys.argv.pop(1)
    unittest.main()
