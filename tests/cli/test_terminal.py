"""What commands write on a terminal: lines break between words, and nothing is lost."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402


class Terminal(CliTest):
    def test_words(self):
        for columns in (50, 80):
            for words in (("--help",), ("list",), ("describe", "standard"), ("describe", "triad"),
                          ("describe", "first-look")):
                with self.subTest(columns=columns, words=words):
                    self.assert_lines_end_at_words(columns, *words)

    def commands(self):
        names = re.findall(r"^    ([a-z]+)\) most=", self.assay("--completion").out, re.M)
        self.assertGreater(len(names), 15)
        return names

    def test_help(self):
        """Options and paragraphs end before the edge; an example, to be copied, is never broken."""
        examples, rows = 0, {80: 0, 120: 0}
        for name in self.commands():
            lines = {columns: self.lines_on_terminal(columns, name, "--help") for columns in (80, 120)}
            with self.subTest(command=name):
                words = [" ".join(line).split() for line in lines.values()]
                self.assertEqual(words[0], words[1])
                for columns, shown in lines.items():
                    self.assertLessEqual(max(map(len, shown)), columns)
                    rows[columns] += len(shown)
                written = re.search(r"\.SS assay %s( [^\n]*)?\n(.*?)(?=\n\.S[SH])" % name,
                                    self.assay("--manual").out, re.S).group(2)
                for block in re.findall(r"(?s)\.nf\n(.*?)\n\.fi", written):
                    block = block.replace("\\-", "-").replace("\\e", "\\").split("\n")
                    examples += len(block)
                    for shown in lines.values():
                        at = shown.index(block[0])
                        self.assertEqual(shown[at:at + len(block)], block)
        self.assertGreater(examples, 5)
        self.assertLess(rows[120], rows[80])

    def test_usage(self):
        for word in ("--usage", "--usa"):
            call = self.assay("run", word)
            self.assertEqual((call.status, call.err), (0, ""))
            self.assertIn("Usage: assay run [", call.out)
            self.assertIn("[--precision=PRECISION,...]", call.out)

    def test_a_value_continues_under_its_column(self):
        lines = self.assert_lines_end_at_words(60, "describe", "standard")
        self.assertTrue(any(line.endswith(" 3000000000 (3 s)") for line in lines), lines)
        (at,) = (i for i, line in enumerate(lines) if line.startswith("  required "))
        column = lines[at].index("[")
        self.assertGreater(column, 30)
        self.assertEqual(lines[at + 1][:column + 1], " " * column + '"')

    def test_a_comparison(self):
        self.write("e.yaml", self.EVIDENCE)
        for environment in ({}, {"OMP_PROC_BIND": "spread"}):
            call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", "./e.yaml", "--db",
                              self.db, **environment)
            self.assertEqual(call.status, 0, call.err)
        (first, second) = ("%s/1" % uid[:8] for (uid,) in self.query("SELECT uid FROM campaign ORDER BY id"))
        for columns in (50, 80):
            lines = self.assert_lines_end_at_words(columns, "compare", first, second, "--details", "--db",
                                                   self.db)
            self.assertIn("OMP_PROC_BIND", " ".join(lines))

    def test_messages_end_at_words(self):
        protocol = self.write("a_protocol.yaml", "extends: quick\nname: a_protocol\nversion: 1\ntrials: 1\n")
        lines = self.lines_on_terminal(60, "run", "synthetic", "--device", "null:0", "--protocol", protocol, "--db",
                                       self.db, messages=True)
        first = next(i for i, line in enumerate(lines) if line.startswith("assay: 1 cell, 1 trial"))
        self.assertTrue(lines[first + 1].startswith("    "), lines)
        self.assertIn("and the first ones will tell more", " ".join(" ".join(lines).split()))
        self.assertLessEqual(max(map(len, lines[first:first + 3])), 60)


if __name__ == "__main__":
    unittest.main()
