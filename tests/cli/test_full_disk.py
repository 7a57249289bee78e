"""A full disk, from the first byte of a database to the last of a campaign: what is left, the message,
whether its advice works. Real file systems, of some KiB, in a mount namespace of its own."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import unittest  # noqa: E402

from assay_cli import CliTest  # noqa: E402

INSIDE = "ASSAY_TEST_INSIDE"
ROOMY_KIB = 8192


def mount(*words):
    return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0


def enter_namespace():
    """Runs this file again in a mount namespace; 77 where that is not permitted."""
    try:
        probe = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=64k", "assay", "/mnt"],
                               capture_output=True, text=True, check=False)
    except FileNotFoundError:
        print("skipped: no unshare (package util-linux)")
        sys.exit(77)
    if probe.returncode != 0:
        print("skipped: no privilege to mount a small file system: %s" % probe.stderr.strip())
        sys.exit(77)
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-rm", sys.executable, *sys.argv])


class FullDisk(CliTest):
    def setUp(self):
        super().setUp()
        self.disk = os.path.join(self.folder, "disk")
        os.mkdir(self.disk)
        self.mounted = False
        self.db = os.path.join(self.disk, "results.db")

    def make_disk(self, kib):
        self.assertTrue(mount("-t", "tmpfs", "-o", "size=%dk" % kib, "assay", self.disk))
        self.mounted = True

    def resize(self, kib):
        self.assertTrue(mount("-o", "remount,size=%dk" % kib, self.disk))

    def remove_disk(self):
        if self.mounted:
            subprocess.run(["umount", self.disk], check=True)
        self.mounted = False

    def tearDown(self):
        self.remove_disk()
        super().tearDown()

    def trials(self):
        return self.query("SELECT count(*) FROM trial_end WHERE status = 'ok'")[0][0]

    def assert_resumes(self, call):
        """The exact advice; what had been committed is still there afterwards."""
        (advice,) = [line for line in call.err.splitlines() if "assay run --resume" in line]
        words = advice.split("go on with: assay ")[1].split()
        before = self.trials()
        ids = self.query("SELECT trial FROM trial_end WHERE status = 'ok' ORDER BY trial")
        call = self.assay(*words)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT trial FROM trial_end WHERE status = 'ok' ORDER BY trial LIMIT ?",
                                    before), ids)
        self.assertEqual(self.trials(), 2)

    def fill(self, seen):
        """True when there was room for all of it."""
        call = self.run_synthetic()
        if call.status == 0:
            return True
        self.assertEqual(call.status, 5, call.err)
        self.assertIn("database or disk is full", call.err)
        self.resize(ROOMY_KIB)
        if "nothing was stored" in call.err:
            seen.add("no file")
            self.assertEqual(os.listdir(self.disk), [])
        else:
            self.assertGreater(os.path.getsize(self.db), 0)
            verified = self.assay("verify", self.db)
            self.assertEqual(verified.status, 0, verified.out)
        if "--resume" in call.err:
            seen.add("resumed after %d" % self.trials())
            self.assert_resumes(call)
        else:
            seen.add("no trial")
            self.assertEqual(self.run_synthetic().status, 0)
        self.assertEqual(self.assay("verify", self.db).status, 0)
        self.assert_sound()
        return False

    def test_at_every_size(self):
        """Nothing, or a sound database: with more room, following the advice, the campaign finishes."""
        seen, kib, done = set(), 4, False
        while not done:
            with self.subTest(kib=kib):
                self.make_disk(kib)
                done = self.fill(seen)
            self.remove_disk()
            kib += 48 if seen - {"no file"} else 80
        self.assertLessEqual({"no file", "no trial", "resumed after 0", "resumed after 1"}, seen)

    def test_what_was_there_stays(self):
        """A second campaign finds no room: the first is unchanged, and so is the file's name."""
        self.make_disk(ROOMY_KIB)
        self.assertEqual(self.run_synthetic().status, 0)
        before = self.assay("results", "--json", "--db", self.db).json()
        used = os.statvfs(self.disk)
        self.resize((used.f_blocks - used.f_bfree) * used.f_bsize // 1024 + 64)
        call = self.run_synthetic()
        self.assertEqual(call.status, 5, call.err)
        self.assertIn("what was stored before is kept: free some space", call.err)
        self.resize(ROOMY_KIB)
        after = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual(after[-1:], before)
        self.assertEqual(self.assay("verify", self.db).status, 0)
        self.remove_disk()


if __name__ == "__main__":
    if INSIDE not in os.environ:
        enter_namespace()
    del os.environ[INSIDE]
    unittest.main()
