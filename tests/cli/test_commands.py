"""What holds for all commands: options and their letters, exit statuses that scripts use, completion."""

import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, CliTest  # noqa: E402

FOREIGN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                       "foreign_worker.py")


class Options(CliTest):
    def commands(self):
        """Every command that help lists."""
        part = self.assay("--help").out.split("\nCommands:\n")[1].split("\n\n")[0]
        return re.findall(r"^  (\w+) ", part, re.MULTILINE)

    def test_a_letter_has_one_meaning(self):
        """The tables of all commands, as help prints them: one long option a letter, and the reverse."""
        letters, names = {}, {}
        commands = self.commands()
        self.assertGreater(len(commands), 20)
        for command in commands:
            options = re.findall(r"^  (?:-(\w), |    )--([\w-]+)", self.assay(command, "--help").out,
                                 re.MULTILINE)
            self.assertGreater(len(options), 1, command)
            for letter, name in options:
                names.setdefault(name, {}).setdefault(letter, command)
                if letter:
                    letters.setdefault(letter, {}).setdefault(name, command)
        self.assertGreater(len(letters), 5)
        self.assertEqual({k: v for k, v in letters.items() if len(v) > 1}, {})
        self.assertEqual({k: v for k, v in names.items() if len(v) > 1}, {},
                         "an option has a letter in one command and none in another")

    def test_exit_statuses_are_documented(self):
        manual = self.assay("--manual").out
        for command in ("compare", "ab"):
            text = self.assay(command, "--help").out
            self.assertIn("--exit-status", text)
            self.assertRegex(" ".join(text.split()), "0 where b is equivalent or faster, 1 where b is slower, 2")
        self.assertIn("exit\\-status: slower", manual)


class ExitStatus(CliTest):
    def measure(self, ns):
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol",
                          self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--json",
                          ASSAY_WORKER=FOREIGN, FOREIGN_NS=str(ns))
        self.assertEqual(call.status, 0, call.err)
        return self.query("SELECT substr(uid, 1, 8) || '/1' FROM campaign ORDER BY id DESC LIMIT 1")[0][0]

    def status(self, *words):
        call = self.assay("compare", *words, "--db", self.db)
        self.assertTrue(call.out, call.err)
        return call.status

    def test_compare(self):
        a, b = self.measure(200000), self.measure(400000)
        first_look = self.assay("run", "synthetic", "--device", "null:0", "--protocol", "quick", "--db",
                                self.db)
        self.assertEqual(first_look.status, 0, first_look.err)
        for words, told, default in (((a, b), 1, 0), ((b, a), 0, 0), ((a, a), 0, 0),
                                     ((a, "last"), 2, 0)):
            self.assertEqual(self.status(*words), default)
            self.assertEqual(self.status(*words, "--exit-status"), told, words)
        self.assertEqual(self.status(a, a, "--exit-status", "--margin", "0.0000001"), 3)
        self.assertEqual(self.assay("compare", a, "zzzz/1", "--exit-status", "--db", self.db).status, 4)

    def test_ab(self):
        arms = ("ab", "synthetic", "--device", "null:0", "--protocol",
                self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--exit-status")
        changed = ("--b", "env:FOREIGN_NS=400000")
        worker = {"ASSAY_WORKER": FOREIGN, "FOREIGN_NS": "200000"}
        self.assertEqual(self.assay(*arms, *changed, **worker).status, 1)
        self.assertEqual(self.assay("compare", "last", "--exit-status", "--db", self.db).status, 1)
        self.assertEqual(self.assay(*[w for w in arms if w != "--exit-status"], *changed, **worker).status, 0)


if __name__ == "__main__":
    unittest.main()
