"""What commands write on a terminal: lines end at words before its edge, and nothing is lost."""

import os
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

    def test_a_value_goes_on_under_its_column(self):
        lines = self.assert_lines_end_at_words(60, "describe", "standard")
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
            lines = self.assert_lines_end_at_words(columns, "compare", first, second, "--explain", "--db",
                                                   self.db)
            self.assertIn("OMP_PROC_BIND", " ".join(lines))


if __name__ == "__main__":
    unittest.main()
