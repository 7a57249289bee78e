"""report --dossier: every section that an auditor looks for, and no markup injected by names."""

import html
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ANYWHERE, CliTest  # noqa: E402

# In the order of ISO/IEC 17025:2017, 7.8, with the clauses that each answers.
SECTIONS = [("Report and request", "7.8.2.1 a to e, h to j"), ("Method", "7.8.2.1 f, k"),
            ("Items tested", "7.8.2.1 g, p"), ("Conditions", "7.8.3.1 a"), ("Results", "7.8.2.1 m, 7.8.3.1 c"),
            ("Deviations and amendments", "7.8.2.1 n, 7.8.8"), ("All attempts", "7.5.1"),
            ("Conformity", "7.8.3.1 b, 7.8.6"), ("Comparisons and decisions", "7.8.3.1 d, 7.8.7"),
            ("Limits", "7.8.2.1 l"), ("Signatures", "7.8.2.1 o"), ("How to check this yourself", "")]


TWO_BATCHES = """workload: mine
version: 1
kind: synthetic
description: d
precisions: [fp32]
batches: [1, 2]
scenario: offline
synthetic: {launches: 1, elements: 100}
"""


# A worker whose samples are known: each trial settles, however busy the machine.
KNOWN = {"ASSAY_WORKER": os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                                      "foreign_worker.py"), "FOREIGN_NS": "1000000"}


class Dossier(CliTest):
    def dossier(self, *words, **environment):
        path = os.path.join(self.folder, "dossier.html")
        call = self.assay("report", *words, "--dossier", path, "--db", self.db, **environment)
        self.assertEqual(call.status, 0, call.err)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_whole(self):
        key = os.path.join(self.folder, "key")
        self.assertEqual(self.assay("key", "new", "lab", "--file", key).status, 0)
        question = "Is <script>alert(1)</script> as fast & \"cheap\"?"
        self.assertEqual(self.run_synthetic("--question", question, "--nonce", "buyer-4711",
                                            ASSAY_KEY=key, **KNOWN).status, 0)
        call = self.assay("amend", "last/1", "--reason", "the <b>fan</b> was loud", "--by",
                          "an auditor", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        page = self.dossier()
        titles = re.findall(r"<h2 id=\"[a-z]+\">(\d+)\. (.*?)</h2>", page)
        self.assertEqual(
            [(number, re.sub("<[^>]*>", "", title)) for number, title in titles],
            [(str(i + 1), f"{name} ISO/IEC 17025, {clauses}" if clauses else name)
             for i, (name, clauses) in enumerate(SECTIONS)])
        for party in ("Laboratory", "Place", "Customer", "Item received"):
            self.assertIn(f"<b>{party}</b><span>", page)
        self.assertIn("no conformity is stated", page)
        self.assertNotIn("<script", page)
        self.assertIn("Is &lt;script&gt;alert(1)&lt;/script&gt; as fast &amp; ", page)
        self.assertIn("buyer-4711", page)
        self.assertIn("the &lt;b&gt;fan&lt;/b&gt; was loud", page)
        self.assertIn("an auditor", page)
        report = os.path.join(self.folder, "report.html")
        self.assertEqual(self.assay("report", "--html", report, "--db", self.db).status, 0)
        with open(report, encoding="utf-8") as file:
            self.assertRegex(file.read(), "This result was amended .* by an auditor: the &lt;b&gt;fan&lt;/b&gt; was loud")
        self.assertIn("relate only to the items tested", page)
        # Who signed what, and the key by which that is checked.
        self.assertIn("lab (author: plan, end)", page)
        call = self.assay("key", "show", "--file", key)
        self.assertIn(call.out.strip(), html.unescape(page))
        # The result comes first, with its interval in its own unit; handwritten signatures, last.
        short = page[page.index('id="short"'):page.index('id="report"')]
        self.assertIn("95 % interval", short)
        self.assertRegex(short, r"[\d.]+ to [\d.]+ ")
        self.assertIn("2 planned beforehand, 2 started", short)
        self.assertIn("a simulated device", short)
        self.assertIn("no evidence", short)
        self.assertIn("<b>No decision is recorded</b>", short)
        for hand in ("Measured by", "Checked by", "Accepted by"):
            self.assertIn(f"<b>{hand}</b><span>name", page)
        self.assertIn('"sheet " counter(page) " of " counter(pages)', page)
        self.assertIn("End of the dossier.", page)
        for target in re.findall(r"href=\"#([^\"]+)\"", page):
            self.assertIn(f'id="{target}"', page, target)
        # Each file with its digest, and each tool's output with its own.
        for path, digest in self.query("SELECT path, sha256 FROM libraries WHERE sha256 <> ''"):
            self.assertIn(path, page)
            self.assertIn(digest, page)
        dumps = self.query("SELECT command, coalesce(message, '') FROM dumps")
        self.assertTrue(dumps)
        for command, message in dumps:
            self.assertIn(command, page)
            self.assertIn(message, page)
        # The head on the page is the database's.
        head = re.search(r"the head <code>(\d+:[0-9a-f]{64})</code>", page).group(1)
        call = self.assay("verify", self.db, "--expect-head", head, "--json")
        self.assertEqual(call.status, 0, call.out)
        self.assertEqual(self.assay("verify", self.db, "--expect-head",
                                    head.replace(head[-1], "0" if head[-1] != "0" else "1")).status, 1)

    def test_method_in_words(self):
        self.assertEqual(self.run_synthetic().status, 0)
        page = self.dossier()
        self.assertRegex(page, r"\d+ trials of each result; in each, warmup for at least \d+ "
                               r"iterations? and [\d.]+ .s, then a window of [\d.]+ .s")

    def test_the_same_bytes_again(self):
        self.assertEqual(self.run_synthetic().status, 0)
        pages = [self.dossier(SOURCE_DATE_EPOCH="1700000000") for _ in range(2)]
        self.assertEqual(pages[0], pages[1])
        self.assertIn("written 2023-11-14 22:13:20 UTC", pages[0])

    def test_files_of_several_results_are_listed_once(self):
        self.write("two.yaml", TWO_BATCHES)
        self.assertEqual(self.run_synthetic(os.path.join(self.folder, "two.yaml")).status, 0)
        self.assertEqual(self.query("SELECT count(*) FROM cell"), [(3,)])
        page = self.dossier()
        for path, in self.query("SELECT DISTINCT path FROM libraries WHERE path LIKE '%.so%'"):
            self.assertEqual(page.count(f'<td class="wrap">{path}</td>'), 1, path)

    def test_two_campaigns(self):
        """Each campaign's host, and a comparison that a result was the first part of."""
        self.write("evidence.yaml", self.EVIDENCE)
        protocol = os.path.join(self.folder, "evidence.yaml")
        call = self.run_synthetic("--protocol", protocol, "--json")
        self.assertEqual(call.status, 0, call.err)
        ids = [call.json()["results"][0]["id"]]
        call = self.assay("reproduce", ids[0], "--json", "--db", self.db)
        self.assertIn(call.status, (0, 1, 3), call.err)
        ids.append(call.json()["again"])
        stored = self.query("SELECT verdict FROM comparison")
        self.assertTrue(stored)
        page = self.dossier(ids[0])
        decisions = page[page.index('id="decisions"'):page.index('id="limits"')]
        self.assertEqual(decisions.count(f"<code>{ids[1]}</code>"), len(stored))
        page = self.dossier(*ids)
        decisions = page[page.index('id="decisions"'):page.index('id="limits"')]
        self.assertEqual(decisions.count(f"<code>{ids[1]}</code>"), len(stored))
        items = page[page.index('id="items"'):page.index('id="conditions"')]
        for identifier in ids:
            self.assertIn(f"<code>{identifier}</code>", items)  # two of one title
            self.assertIn(f"readings of the host of {identifier[:8]}", page)

    def test_decisions_come_first(self):
        """What was asked, the answer, its number with interval and its rule, before the figures."""
        protocol = self.write("evidence.yaml", self.EVIDENCE)
        question = "Is <b>the new driver</b> fit to be rolled out?"
        ids = []
        for words in ((), ("--question", question)):
            call = self.run_synthetic("--protocol", protocol, "--json", *words, **KNOWN)
            self.assertEqual(call.status, 0, call.err)
            ids.append(call.json()["results"][0]["id"])
        gates = []
        for margin in ("0.25", "0.3"):
            call = self.assay("gate", *ids, "--allow-foreign-worker", *ANYWHERE, "--margin", margin, "--json",
                              "--db", self.db)
            self.assertIn(call.status, (0, 1, 3), call.err)
            gates.append(call.json())
        page = self.dossier(*ids)
        short = page[page.index('id="short"'):page.index('id="report"')]
        self.assertIn("Asked: <b>Is &lt;b&gt;the new driver&lt;/b&gt; fit to be rolled out?</b>", short)
        self.assertLess(short.index('class="decision'), short.index('class="results short"'))
        words = {"passes": "Passes", "worse": "Fails: the candidate is worse",
                 "inconclusive": "Inconclusive: neither shown to hold nor to fail"}
        parts = short.split('<div class="decision')[1:]
        self.assertEqual(len(parts), 2)
        for part, gate, margin in zip(parts, reversed(gates), ("30 %", "25 %")):
            part = " ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split())
            self.assertIn(f"Is synthetic fp32, batch 1 {ids[1]} (b) as fast as synthetic fp32, batch 1 {ids[0]} (a), "
                          f"or slower by no more than {margin}?", part)
            self.assertIn(words[gate["gate"]["decision"]] + " Gate, ", part)
            number = re.search(r"How sure: time b/a ([\d.]+), 95 % interval ([\d.]+) to ([\d.]+)", part)
            ratio = gate["comparison"]["ratio"]
            for shown, name in zip(number.groups(), ("value", "lo", "hi")):
                self.assertAlmostEqual(float(shown), ratio[name], delta=0.01 * ratio[name])
            self.assertIn(f"Rule: passes when faster, or equivalent within {margin}; worse when slower"
                          " with the whole interval beyond that", part)
        self.assertNotIn("No decision is recorded", short)

    def test_all_decisions_are_counted(self):
        """Those beyond the newest four are counted too: passed gates do not hide a failed one."""
        call = self.assay("ab", "synthetic", "--device", "null:0", "--pairs", "8", "--db", self.db,
                          "--protocol", self.write("evidence.yaml", self.EVIDENCE),
                          "--a", "env:ASSAY_NULL=launch_ns=1000000,seed=1",
                          "--b", "env:ASSAY_NULL=launch_ns=1500000,seed=1")
        self.assertEqual(call.status, 0, call.err)
        tally = {}
        for margin in ("0.01", "0.02", "0.7", "0.8", "0.9"):
            call = self.assay("gate", "last", *ANYWHERE, "--margin", margin, "--json", "--db", self.db)
            decision = call.json()["gate"]["decision"]
            tally[decision] = tally.get(decision, 0) + 1
        page = self.dossier()
        short = page[page.index('id="short"'):page.index('id="report"')]
        self.assertEqual(short.count('<div class="decision'), 4)
        for decision, count in tally.items():
            self.assertIn(f"{count} gate: {decision}", short)
        self.assertEqual(sum(tally.values()), 5)
        self.assertIn("1 ab: ", short)
        self.assertIn("each with its rule", short)

    def test_a_decision_that_is_withheld(self):
        """That there is one, and its verdict, are reported, but not what it compares."""
        protocol, offer = self.write("evidence.yaml", self.EVIDENCE), os.path.join(self.folder, "offer.assay")
        call = self.assay("ab", "synthetic", "--device", "null:0", "--pairs", "5", "--db", self.db,
                          "--protocol", protocol)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.assay("bundle", "last", "-o", offer, "--withhold", "comparison.body", "--db",
                                    self.db).status, 0)
        self.new_db()
        self.assertEqual(self.assay("import", offer, "--db", self.db).status, 0)
        page = self.dossier()
        short = page[page.index('id="short"'):page.index('id="report"')]
        self.assertIn("What was compared is withheld, or not recorded.", short)
        self.assertIn("Paired comparison, 20", short)

    def test_of_a_bundle_that_withholds(self):
        """One withheld reading hides no other; the bundle's signer is named."""
        key, offer = (os.path.join(self.folder, name) for name in ("key", "offer.assay"))
        self.assertEqual(self.assay("key", "new", "lab", "--file", key).status, 0)
        self.assertEqual(self.run_synthetic(ASSAY_KEY=key).status, 0)
        call = self.assay("bundle", "last", "-o", offer, "--withhold", "host.name", "--withhold",
                          "device.name", "--db", self.db, ASSAY_KEY=key)
        self.assertEqual(call.status, 0, call.err)
        self.new_db()
        self.assertEqual(self.assay("import", offer, "--db", self.db).status, 0)
        page = self.dossier()
        shown = self.assay("show", "--all", "last/1", "--db", self.db).out
        for text in (page, shown):
            self.assertNotIn("shape that this version does not know", text)
        for name in ("host.kernel.release", "host.memory.total"):
            self.assertIn(name, shown)
        self.assertIn(os.uname().release, page)
        self.assertRegex(" ".join(shown.split()), "host.name (denied|withheld)")
        self.assertIn("lab (the bundle it came in)", page)
        self.assertIn("\u2014 lab ", page[page.index('id="signatures"'):])
        self.assertNotIn("by nobody", page)

    def test_deviations_are_named(self):
        call = self.run_synthetic(ASSAY_NULL="launch_ns=200000,fault=launch@1,seed=1")
        self.assertEqual(call.status, 1)
        page = self.dossier()
        part = page[page.index('id="deviations"'):page.index('id="attempts"')]
        self.assertIn("trial 1 ended as device", part)
        self.assertIn("0 of 2 planned trials completed", part)
        self.assertIn("no evidence", part)
        self.assertIn("No question was stated", page)
        self.assertIn("nsigned", page[page.index('id="signatures"'):])


if __name__ == "__main__":
    unittest.main()
