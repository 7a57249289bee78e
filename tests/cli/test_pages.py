"""The page as somebody reads it: the first screen of an A/B, and the pictures of several results."""

import html
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import PATIENCE, CliTest, run_tests, skip_when_busy  # noqa: E402

GEMM = """workload: small_gemm
version: 1
kind: gemm
description: a product small enough for a test
precisions: [fp32, bf16]
scenario: offline
gemm:
  shapes:
    - {m: 64, n: 64, k: 64}
"""

TRIAD = """workload: small_triad
version: 1
kind: memory_bound
description: a triad small enough for a test
precisions: [fp32, bf16]
scenario: offline
memory_bound:
  kernel: triad
  elements: 262144
"""


class Pages(CliTest):
    def page(self, *words):
        path = os.path.join(self.folder, "page.html")
        call = self.assay("report", "--html", path, "--db", self.db, *words)
        self.assertEqual(call.status, 0, call.err)
        with open(path, encoding="utf-8") as file:
            return file.read()

    @staticmethod
    def words(page):
        """What is read before the results: tags left out, blanks made one."""
        head = page[page.index("<body"):page.index('<h2 id="results"')]
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", head)).split())

    def ab(self, *words, pairs=8):
        call = self.assay("ab", "synthetic", "--device", "null:0", "--protocol",
                          self.write("evidence.yaml", self.EVIDENCE), "--pairs", str(pairs), "--db", self.db,
                          "--quiet", *words)
        self.assertEqual(call.status, 0, call.err)

    def test_two_arms_are_answered_in_a_sentence(self):
        self.ab("--a", "env:ASSAY_NULL=launch_ns=6000000,seed=3", "--b",
                "env:ASSAY_NULL=launch_ns=2000000,seed=4")
        page = self.page()
        words = self.words(page)
        self.assertIn("Does b differ from a: synthetic on null device?", words)
        self.assertRegex(words, r"b \(ASSAY_NULL=launch_ns=[^)]*\) is [\d.]+ times faster than a \(ASSAY_NULL=[^)]*\) "
                                r"\[[\d.]+, [\d.]+\] on synthetic fp32")
        self.assertRegex(words, r"How sure: time b/a [\d.]+ , 95 % interval [\d.]+ to [\d.]+, \d+ pairs of 8 planned, ")
        self.assertNotRegex(words, r"\b[0-9a-f]{8,}\b")
        (picture,) = re.findall(r'<svg class="chart".*?</svg>', page[:page.index('id="results"')])
        # A dot for each pair, one for all of them, and both in the legend.
        (counted,) = re.findall(r"(\d+) pairs of 8 planned", words)
        self.assertEqual(picture.count("<circle"), int(counted) + 1 + 2)
        stack = page[page.index('id="stack-difference"'):]
        self.assertIn("launch_ns=6000000,seed=3", stack[:stack.index("</table>")])
        self.assertIn("launch_ns=2000000,seed=4", stack[:stack.index("</table>")])

    SENTENCES = {"inconclusive": "It is not settled whether b", "equivalent": "is equivalent to a",
                 "faster": r"[\d.]+ (%|times) faster than a", "slower": r"[\d.]+ (%|times) slower than a"}

    def test_the_answer_is_the_comparisons_verdict(self):
        """Which verdict equal arms get depends on the machine's load; what the page makes of it does not."""
        self.ab("--a", "env:ASSAY_NULL=launch_ns=2000000,seed=3", "--b",
                "env:ASSAY_NULL=launch_ns=2000000,seed=3", pairs=5)
        ((body,),) = self.query("SELECT body FROM comparison")
        said = [verdict for verdict, words in self.SENTENCES.items() if re.search(words, self.words(self.page()))]
        self.assertEqual(said, [json.loads(body)["verdict"]])

    def test_precisions_and_ceilings(self):
        call = self.assay("run", self.write("small_gemm.yaml", GEMM),
                          self.write("small_triad.yaml", TRIAD), "--device", "cpu:0", "--emulate", "--protocol", self.write("fast.yaml", self.FAST), "--db", self.db, "--quiet")
        if "no usable device" in call.err:
            self.skipTest(call.err)
        page = self.page("last")
        rows = self.assay("results", "--json", "--db", self.db).json()
        valued = [row for row in rows if row["value"] is not None]
        if len(valued) < 4:
            skip_when_busy(self)
        self.assertEqual(len(valued), 4, call.err)
        # Each result is a row of the first picture, with its value.
        first = html.unescape(page[:page.index('id="results"')])
        for row in valued:
            self.assertTrue(f">{row['workload']} {row['precision']}" in first, row)
        for words in ("By precision: small_gemm", "By precision: small_triad", "Largest error (",
                      "The ceilings are measured, not declared"):
            self.assertTrue(words in page, words)
        roofline = re.search(r'<svg class="chart"[^>]*><title id="roofline-1-t".*?</svg>', page)[0]
        # A mark for each product, one for each precision in the legend; triad makes the slope.
        self.assertEqual(roofline.count("<circle"), 4)
        self.assertEqual(roofline.count('<path class="curve'), 2)

    def test_devices_side_by_side(self):
        """One piece of work on three units is a picture of three rows; on two it is in the first picture already."""
        for _ in range(3):
            call = self.assay("run", "synthetic", "--device", "null:0", "--protocol",
                              self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--quiet",
                              ASSAY_NULL="launch_ns=2000000,seed=1")
            self.assertEqual(call.status, 0, call.err)
        campaigns = [uid[:8] for (uid,) in self.query("SELECT uid FROM campaigns")]
        self.assertNotIn("<h3>By device</h3>", self.page(*campaigns[:2]))
        page = self.page(*campaigns)
        (picture,) = re.findall(r'<svg class="chart"[^>]*><title id="device-1-t".*?</svg>', page)
        for campaign in campaigns:
            self.assertIn(f">null:0, {campaign}/1<", picture)
        self.assertEqual(picture.count("<circle"), 3)

    def test_a_phone_shows_all_without_a_scroll_to_the_side(self):
        """What is wider than a window of 390 pixels, asked of the browser; and the same of a bad page."""
        browser = os.environ.get("CHROMIUM") or shutil.which("chromium")
        if not browser:
            self.skipTest("no chromium")
        script = ("<script>const wide = [...document.querySelectorAll('body *')].filter(e => "
                  "!e.closest('svg, details:not([open])') && (e.getBoundingClientRect().right > innerWidth + 1 "
                  "|| e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible'));"
                  "document.title = 'wide ' + innerWidth + ':' + wide.slice(0, 3).map(e => e.outerHTML.slice(0, 90));"
                  "</script></body>")
        self.run_settled()
        self.ab("--a", "env:ASSAY_NULL=launch_ns=2000000,seed=3", "--b", "env:ASSAY_NULL=launch_ns=1900000,seed=4")
        campaigns = [uid[:8] for (uid,) in self.query("SELECT uid FROM campaigns")]
        page = self.page(*campaigns)
        page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        for text, bad in ((page, False), (page.replace("<main>", "<main><p style='width: 500px'>x</p>"), True)):
            path = self.write("phone.html", text.replace("</body>", script))
            call = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                   f"--user-data-dir={self.folder}/profile", "--hide-scrollbars",
                                   "--window-size=390,900", "--dump-dom", "file://" + path],
                                  env=dict(os.environ, HOME=self.folder), capture_output=True, text=True,
                                  timeout=PATIENCE, check=True)
            (width, wide), = re.findall(r"<title>wide (\d+):(.*?)</title>", call.stdout, re.S)
            self.assertLessEqual(int(width), 500)
            self.assertEqual(bool(wide), bad, wide)

    def test_nine_results_fit_on_ten_sheets(self):
        browser = os.environ.get("CHROMIUM") or shutil.which("chromium")
        if not browser:
            self.skipTest("no chromium")
        batches = self.write("batches.yaml", """workload: batches
version: 1
kind: synthetic
description: nine results
precisions: [fp32]
batches: [1, 2, 3, 4, 5, 6, 7, 8, 9]
scenario: offline
synthetic: {launches: 1, elements: 100}
""")
        call = self.assay("run", batches, "--device", "null:0", "--protocol",
                          self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--quiet",
                          ASSAY_NULL="launch_ns=1000000,seed=1")
        self.assertEqual(call.status, 0, call.err)
        self.page()
        paper = os.path.join(self.folder, "page.pdf")
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                        f"--user-data-dir={self.folder}/profile", f"--print-to-pdf={paper}",
                        "file://" + os.path.join(self.folder, "page.html")],
                       env=dict(os.environ, HOME=self.folder), capture_output=True, timeout=PATIENCE, check=True)
        with open(paper, "rb") as file:
            sheets = len(re.findall(rb"/Type */Page\b", file.read()))
        self.assertGreater(sheets, 3)
        if sheets > 10:  # what a busy machine did to each result stands there, too
            skip_when_busy(self)
        self.assertLessEqual(sheets, 10)

    def test_on_paper_a_report_is_short_and_a_dossier_whole(self):
        self.run_settled()
        page = self.page()
        rules = re.findall(r"\.report :is\(([^{]*)\) \{ display: none; \}", page)
        self.assertEqual(len(rules), 1)
        self.assertIn(".full", rules[0])
        self.assertIn('<body class="report">', page)
        dossier = self.assay("report", "--dossier", "-", "--db", self.db)
        self.assertIn('<body class="dossier">', dossier.out)
        self.assertNotIn("<script", dossier.out + page)


if __name__ == "__main__":
    run_tests()
