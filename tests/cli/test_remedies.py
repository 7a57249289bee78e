"""Commands that messages name: they exist, with these options, work as a shell takes them, and are not what was done."""

import html
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, CliTest, run_tests  # noqa: E402

NAMES = ("plain.db", "with blank/x.db", "it's $HOME.db", "a\nb.db", "`id`;x.db", "größe \"x\".db")
DECISION = """decision: which
version: 1
options:
  - {{name: one, result: {}}}
  - {{name: two, result: {}}}
objectives: [item_rate]
"""


class Remedies(CliTest):
    def measure(self, protocol, workload="synthetic"):
        call = self.assay("run", workload, "--device", "null:0", "--protocol", protocol, "--db", self.db, "--json")
        self.assertIn(call.status, (0, 1), call.err)
        return call.json()["results"][0]["id"]

    def shell(self, command):
        """What `assay COMMAND` of a message comes to in a shell."""
        self.assertTrue(command.startswith("assay "), command)
        return subprocess.run(["sh", "-c", shlex.quote(ASSAY) + command[5:]], cwd=self.folder, check=False,
                              env=self.environment(), capture_output=True, text=True, timeout=PATIENCE)

    def assert_named_well(self, text):
        """Every command in back quotes exists, with its options."""
        for command in re.findall(r"`(assay [a-z][^`]*)`", " ".join(text.split())):
            name, *words = command.split()[1:]
            call = self.assay(name, "--help")
            self.assertEqual(call.status, 0, command)
            for word in words:
                if word.startswith("--"):
                    self.assertIn(word.split("=")[0], call.out, command)

    def test_first_looks(self):
        self.measure("quick")
        table = self.assay("results", "--db", self.db).out
        self.assertIn("simulated, so no protocol makes it evidence", " ".join(table.split()))
        self.assertNotIn("--protocol quick", table)
        self.assert_named_well(table)
        self.assert_named_well(self.assay("show", "last/1", "--db", self.db).out)

    def test_citations_of_a_page(self):
        for self.db in NAMES[:3:2]:
            os.makedirs(os.path.dirname(os.path.join(self.folder, self.db)), exist_ok=True)
            self.measure("quick")
            self.assertEqual(self.assay("report", "--html", "page.html", "--db", self.db).status, 0)
            page = pathlib.Path(self.folder, "page.html").read_text(encoding="utf-8")
            (command,) = re.findall(r"Cite as \(<code>(.*?)</code>", page, re.S)
            done = self.shell(html.unescape(command))
            self.assertEqual(done.returncode, 0, command + done.stderr)
            self.assertIn("synthetic", done.stdout)

    def test_nothing_was_measured(self):
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", "quick", "--db", self.db,
                          ASSAY_NULL="launch_ns=200000,seed=1,fault=crash@1")
        self.assertEqual(call.status, 1, call.err)
        self.assertIn("no value was measured, for the reasons", call.out)
        self.assertNotIn("Good for", call.out)
        self.assertNotIn("Next", call.out)
        self.assertEqual(self.assay("report", "--html", "page.html", "--db", self.db).status, 0)
        with open(os.path.join(self.folder, "page.html"), encoding="utf-8") as page:
            self.assertIn("<b><span class=\"soft\">failed</span></b>", page.read())
        self.assert_named_well(call.out + call.err)

    def test_long_protocols_are_no_first_look(self):
        """soak is none, though it gives no evidence: in lists, on the terminal, the page and the dossier."""
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", "soak", "--plan-only", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        for option in ("--html", "--dossier"):
            self.assertEqual(self.assay("report", option, option[2:], "--db", self.db).status, 0)
        pages = [pathlib.Path(self.folder, name).read_text(encoding="utf-8") for name in ("html", "dossier")]
        calls = [self.assay(*words).out for words in (("show", "last/1", "--db", self.db), ("describe", "soak"),
                                                      ("show", "last/1", "--all", "--db", self.db),
                                                      ("compare", "last/1", "last/1", "--db", self.db))]
        for text in pages + calls:
            self.assertNotIn("first look", " ".join(text.split()))
        for text in pages + calls[:3]:
            self.assertIn("no evidence", " ".join(text.split()))
        self.assertNotIn("first look", [str(row) for row in self.assay("list", "--json").json() if "soak" in row.values()][0])

    def test_commands_name_the_database(self):
        """Those of errors, too."""
        self.db = "it's another.db"
        self.assertEqual(self.run_synthetic().status, 0)
        for words, pattern in ((("show", "ffffffff/1"), "`(assay results .*)` lists"),
                               (("show", "what"), "`(assay results .*)` lists"),
                               (("export", "csv", "--workload", "triad"), "`(assay results .*)` lists"),
                               (("history", "triad"), "`(assay results .*)` lists"),
                               (("amend", "last/1", "--reason", "a test"), "`(assay show .*)` says")):
            call = self.assay(*words, "--db", self.db)
            command = re.search(pattern, call.err)
            self.assertTrue(command, (words, call.err))
            self.assertEqual(self.shell(command.group(1)).returncode, 0, command.group(1))

    def test_decide(self):
        look, again, other = self.measure("quick"), self.measure("quick"), self.measure(self.fast())
        path = self.write("which.yaml", DECISION.format(look, again))
        call = self.assay("decide", path, "--db", self.db)
        self.assertIn("measure it under one that does", call.out)
        self.assertNotIn("longer or more trials would", call.out)
        # Another protocol: the command leads to a result that the decision takes.
        path = self.write("which.yaml", DECISION.format(other, look))
        call = self.assay("decide", path, "--db", self.db)
        self.assertEqual(call.status, 2, call.out)
        command = re.search(r"comes from: (assay .*)$", call.err, re.M)
        if not command:  # neither gives evidence
            self.assertIn("--protocol standard", call.err)
            self.assertNotIn("--protocol quick", call.err)
            return
        self.shell(command.group(1))
        made = self.assay("results", "--json", "--db", self.db).json()[0]["id"]
        path = self.write("which.yaml", DECISION.format(other, made))
        self.assertIn(self.assay("decide", path, "--db", self.db).status, (0, 3))

    def test_copied_commands_work_whatever_the_name(self):
        for name in NAMES:
            self.db = name
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
            absent = self.assay("results", "--db", name)
            self.assertEqual(self.shell(re.search(r"`(assay run .*)` makes one", absent.err).group(1)
                                        .replace("first-look", "synthetic --device null:0 --protocol "
                                                 + self.fast())).returncode, 0)
            for call, pattern in (
                    (self.run_synthetic(), r"a page of it: (assay report .*)$"),
                    (self.assay("checkpoint", "--db", name), r"^  (assay verify .*)$"),
                    (self.assay("bundle", "last", "-o", name + ".assay", "--db", name), r"^  (assay verify .*)$"),
                    (self.assay("run", "synthetic", "--db", name + ".assay"), r"`(assay verify .*)` checks it")):
                command = re.search(pattern, call.out + call.err, re.M)
                self.assertTrue(command, call.out + call.err)
                done = self.shell(command.group(1))
                self.assertEqual(done.returncode, 0, command.group(1) + done.stderr)
            os.remove(os.path.join(self.folder, name + ".assay"))


if __name__ == "__main__":
    run_tests()
