"""Keys under a passphrase: from a file and typed on a terminal."""

import os
import pty
import stat
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, CliTest  # noqa: E402


class Passphrase(CliTest):
    def test_passphrase(self):
        words = self.write("words", "open sesame\n")
        os.chmod(words, 0o600)
        path = os.path.join(self.folder, "sealed.key")
        call = self.assay("key", "new", "sealed", "--file", path, "--passphrase", ASSAY_KEY_PASSPHRASE_FILE=words)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with open(path, encoding="ascii") as file:
            self.assertTrue(file.read().startswith("ENCRYPTED+KEY+sealed+"))
        public = self.assay("key", "show", "--file", path).out.strip()  # needs no passphrase
        self.assertEqual(self.run_synthetic().status, 0)
        call = self.assay("checkpoint", "--key", path, "--db", self.db, ASSAY_KEY_PASSPHRASE_FILE=words)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.assay("verify", self.db, "--key", public).status, 0)
        os.chmod(words, 0o644)
        call = self.assay("checkpoint", "--key", path, "--db", self.db, ASSAY_KEY_PASSPHRASE_FILE=words)
        self.assertIn("others than you may read", call.err)
        os.chmod(words, 0o600)
        self.write("words", "open\n")
        call = self.assay("checkpoint", "--key", path, "--db", self.db, ASSAY_KEY_PASSPHRASE_FILE=words)
        self.assertNotEqual(call.status, 0)
        self.assertIn("the passphrase is another one", call.err)
        call = self.assay("checkpoint", "--key", path, "--db", self.db)
        self.assertNotEqual(call.status, 0)

    def test_passphrase_on_a_terminal(self):
        path = os.path.join(self.folder, "typed.key")

        def typed(words, answers):
            pid, master = pty.fork()
            if pid == 0:
                os.chdir(self.folder)
                os.execve(ASSAY, [ASSAY, *words], self.environment())
            out = b""
            for prompt, answer in answers:
                while prompt not in out:
                    out += os.read(master, 4096)
                os.write(master, answer + b"\n")
            while True:
                try:
                    more = os.read(master, 4096)
                except OSError:
                    break
                if not more:
                    break
                out += more
            os.close(master)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out

        new = ("key", "new", "typed", "--file", path, "--passphrase")
        status, out = typed(new, ((b"New passphrase", b"one"), (b"same again", b"two")))
        self.assertEqual(status, 2, out)
        self.assertIn(b"not the same", out)
        self.assertFalse(os.path.exists(path))
        status, out = typed(new, ((b"New passphrase", b"sesame"), (b"same again", b"sesame")))
        self.assertEqual(status, 0, out)
        self.assertNotIn(b"sesame", out)  # it is not shown
        self.assertEqual(self.run_synthetic().status, 0)
        status, out = typed(("checkpoint", "--key", path, "--db", self.db), ((b"Passphrase of the key typed",
                                                                               b"sesame"),))
        self.assertEqual(status, 0, out)
        status, out = typed(("checkpoint", "--key", path, "--db", self.db), ((b"Passphrase", b"\x03"),))
        self.assertNotEqual(status, 0, out)
        self.assertIn(b"interrupted", out)


if __name__ == "__main__":
    unittest.main()
