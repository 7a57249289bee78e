"""A reader that closes the pipe early: no message, the same status, nothing lost."""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, Call, CliTest  # noqa: E402


class ClosedPipe(CliTest):
    def without_reader(self, *words):
        """The call with a closed pipe as its standard output."""
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([ASSAY, *words], cwd=self.folder, timeout=PATIENCE, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE,
                              env=self.environment())
        os.close(writer)
        return Call(done.returncode, "", done.stderr)

    def evidence(self, *words):
        call = self.run_synthetic("--protocol", self.write("evidence.yaml", self.EVIDENCE), "--json", *words)
        self.assertEqual(call.status, 0, call.err)
        return call.json()["results"][0]["id"]

    def test_what_only_reads(self):
        first, second = self.evidence(), self.evidence()
        samples = self.write("samples.csv", self.assay("show", first, "--series", "--db", self.db).out)
        calls = (["list"], ["list", "--json"], ["list", "--names"], ["devices"], ["devices", "--json"],
                 ["describe", "triad"], ["run", "triad", "--device", "null:0", "--dry-run"],
                 ["run", "--help"], ["--help"], ["--manual"], ["analyze", samples],
                 ["analyze", samples, "--json"], *([*words, "--db", self.db] for words in (
                     ["results"], ["results", "--ids"], ["results", "--json"], ["show", first],
                     ["show", first, "--json"], ["show", first, "--series"], ["export", "csv"],
                     ["export", "json"], ["export", "openmetrics"], ["compare", first, second],
                     ["gate", first, second, "--no-record"], ["verify"])))
        for words in calls:
            if words[0] == "verify":
                words = ["verify", self.db, "--quiet"]
            with self.subTest(words=words):
                expected = self.assay(*words)
                self.assertNotEqual(expected.out, "")
                call = self.without_reader(*words)
                self.assertEqual((call.status, call.err), (expected.status, expected.err))

    def test_more_than_a_pipe_holds(self):
        """The reader reads one line of long output and closes."""
        first = self.evidence("--protocol", self.write("long.yaml", self.EVIDENCE.replace(
            "min_samples: 20", "min_samples: 2000")), "--quiet")
        for words in (["show", first, "--series"], ["show", first, "--json"], ["export", "json", first]):
            child = self.start(*words, "--db", self.db)
            self.assertTrue(child.stdout.readline())
            child.stdout.close()
            err = child.stderr.read()
            child.stderr.close()
            self.assertEqual((child.wait(), err), (0, ""), words)

    def test_what_writes_loses_nothing(self):
        self.write("evidence.yaml", self.EVIDENCE)
        run = ["run", "synthetic", "--device", "null:0", "--protocol", "./evidence.yaml", "--db", self.db]
        for _ in range(2):
            self.assertEqual(self.without_reader(*run).status, 0)
        self.assertEqual(self.query("SELECT count(*) FROM trial_end WHERE status = 'ok'"), [(10,)])
        first, second = (row[0] for row in self.query(
            "SELECT substr(uid, 1, 8) || '/1' FROM campaign ORDER BY id"))
        expected = self.assay("gate", first, second, "--no-record", "--db", self.db).status
        self.assertEqual(self.without_reader("gate", first, second, "--db", self.db).status, expected)
        self.assertEqual(self.without_reader("compare", first, second, "--record", "--db", self.db).status, 0)
        self.assertEqual(self.query("SELECT kind FROM comparison ORDER BY id"), [("gate",), ("compare",)])
        self.assertEqual(self.assay("verify", self.db).status, 0)
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.without_reader("report", first, "--html", page, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            self.assertTrue(file.read().endswith("</html>\n"))

    def test_a_full_disk_is_an_error_all_the_same(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        for words in (["list"], ["list", "--json"], ["--help"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([ASSAY, *words], stdout=full, stderr=subprocess.PIPE, text=True,
                                      env=self.environment(), check=False)
            self.assertEqual(done.returncode, 5, words)
            self.assertIn("No space left on device", done.stderr)


if __name__ == "__main__":
    unittest.main()
