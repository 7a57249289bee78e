"""report --dossier: every section that an auditor looks for, and nothing that a name smuggles in."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402

SECTIONS = ["Question", "Method", "Items tested", "Conditions", "Deviations", "All attempts",
            "Results", "Decision rule", "Limits", "Signatures", "How to check this yourself"]


class Dossier(CliTest):
    def dossier(self):
        path = os.path.join(self.folder, "dossier.html")
        call = self.assay("report", "--dossier", path, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_whole(self):
        key = os.path.join(self.folder, "key")
        self.assertEqual(self.assay("key", "new", "lab", "--file", key).status, 0)
        question = "Is <script>alert(1)</script> as fast & \"cheap\"?"
        self.assertEqual(self.run_synthetic("--question", question, "--nonce", "buyer-4711",
                                            ASSAY_KEY=key).status, 0)
        call = self.assay("amend", "last/1", "--reason", "the <b>fan</b> was loud", "--by",
                          "an auditor", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        page = self.dossier()
        titles = re.findall(r"<h2 id=\"[a-z]+\">(\d+)\. ([^<]+)</h2>", page)
        self.assertEqual(titles, [(str(i + 1), name) for i, name in enumerate(SECTIONS)])
        self.assertNotIn("<script", page)
        self.assertIn("Is &lt;script&gt;alert(1)&lt;/script&gt; as fast &amp; ", page)
        self.assertIn("buyer-4711", page)
        self.assertIn("the &lt;b&gt;fan&lt;/b&gt; was loud", page)
        self.assertIn("an auditor", page)
        self.assertIn("relate only to the items tested", page)
        self.assertIn("lab (author)", page)
        for target in re.findall(r"href=\"#([^\"]+)\"", page):
            self.assertIn(f'id="{target}"', page, target)
        # Each file with its digest, and what tools said with theirs.
        for path, digest in self.query("SELECT path, sha256 FROM libraries WHERE sha256 <> ''"):
            self.assertIn(path, page)
            self.assertIn(digest, page)
        dumps = self.query("SELECT command, coalesce(message, '') FROM dumps")
        self.assertTrue(dumps)
        for command, message in dumps:
            self.assertIn(command, page)
            self.assertIn(message, page)
        # The head that the page names is the database's.
        head = re.search(r"the head <code class=\"wrap\">(\d+:[0-9a-f]{64})</code>", page).group(1)
        call = self.assay("verify", self.db, "--expect-head", head, "--json")
        self.assertEqual(call.status, 0, call.out)
        self.assertEqual(self.assay("verify", self.db, "--expect-head",
                                    head.replace(head[-1], "0" if head[-1] != "0" else "1")).status, 1)

    def test_deviations_are_named(self):
        call = self.run_synthetic(ASSAY_NULL="launch_ns=200000,fault=launch@1,seed=1")
        self.assertEqual(call.status, 1)
        page = self.dossier()
        part = page[page.index('id="deviations"'):page.index('id="attempts"')]
        self.assertIn("trial 1 ended as device", part)
        self.assertIn("0 of 2 planned trials ended well", part)
        self.assertIn("no evidence", part)
        self.assertIn("No question was stated", page)
        self.assertIn("nobody", page[page.index('id="signatures"'):])


if __name__ == "__main__":
    unittest.main()
