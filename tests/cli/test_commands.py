"""What holds for all commands: options and their letters, exit statuses that scripts use, completion."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, CliTest  # noqa: E402

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
            self.assertRegex(" ".join(text.split()), "0 where b is equivalent or faster( .of servers not worse.)?, 1 where b is "
                             "slower( .worse.)?, 2")
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
        for words, expected, default in (((a, b), 1, 0), ((b, a), 0, 0), ((a, a), 0, 0),
                                     ((a, "last"), 2, 0)):
            self.assertEqual(self.status(*words), default)
            self.assertEqual(self.status(*words, "--exit-status"), expected, words)
        self.assertEqual(self.status(a, a, "--exit-status", "--margin", "0.0000001"), 3)
        self.assertEqual(self.assay("compare", a, "zzzz/1", "--exit-status", "--db", self.db).status, 4)

    def test_ab(self):
        arms = ("ab", "synthetic", "--device", "null:0", "--protocol",
                self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--exit-status")
        changed = ("--b", "env:FOREIGN_NS=400000")
        worker = {"ASSAY_WORKER": FOREIGN, "FOREIGN_NS": "200000"}
        self.assertEqual(self.assay(*arms, *changed, **worker).status, 1)
        self.assertEqual(self.assay("compare", "last", "--exit-status", "--db", self.db).status, 1)
        # This variable's effect is not recorded: a note says that it may have none, here and later.
        for words in ((), ("--json",)):
            out = self.assay("compare", "last", *words, "--db", self.db).out
            self.assertIn("warning: FOREIGN_NS changed nothing that was recorded", out)
        self.assertEqual(self.assay("verify", self.db).status, 0)
        self.assertEqual(self.assay(*[w for w in arms if w != "--exit-status"], *changed, **worker).status, 0)


class Defaults(CliTest):
    def configure(self, text):
        os.makedirs(os.path.join(self.folder, "config", "assay"), exist_ok=True)
        return self.write(os.path.join("config", "assay", "config.yaml"), text)

    def test_options_then_environment_then_file(self):
        fast = os.path.join(self.folder, self.fast())
        self.configure(f"db: {self.db}\ndevice: null:0\nprotocol: {fast}\nquiet: true\n")
        call = self.assay("run", "synthetic")
        self.assertEqual(call.status, 0, call.err)
        # What was chosen here stands in the record.
        self.assertEqual(self.query("SELECT device_spec, protocol FROM results"),
                         [("null:0", re.search("name: (.*)", self.FAST)[1])])
        self.assertNotIn("[1/2]", call.err)
        self.configure(f"db: {self.db}\ndevice: null:0\nprotocol: {fast}\n")
        self.assertIn("[1/2]", self.assay("run", "synthetic").err)
        other = os.path.join(self.folder, "other.db")
        for words, environment in ((("--db", other), {}), ((), {"ASSAY_DB": other})):
            call = self.assay("run", "synthetic", *words, **environment)
            self.assertEqual(call.status, 0, call.err)
            self.assertTrue(os.path.exists(other))
            os.unlink(other)
        # A filter is no choice of what to measure.
        self.assertIn("synthetic", self.assay("results", "--device", "null:0").out)
        self.configure(f"db: {self.db}\ndevice: cuda:7\n")
        self.assertIn("synthetic", self.assay("results").out)
        self.assertNotEqual(self.assay("run", "synthetic", "--dry-run").status, 0)
        self.assertEqual(self.assay("run", "synthetic", "--dry-run", "--device", "null:0").status, 0)

    def test_wrong_ones_are_named_with_their_line(self):
        for text, message in (("quiet: true\ndevise: cpu:0\n", 'config.yaml:2: unknown key "devise"; did you mean "device"'),
                              ("db: mine.db\n", "config.yaml:1: db: mine.db: write an absolute path"),
                              ("quiet: perhaps\n", "config.yaml:1: ")):
            self.configure(text)
            call = self.assay("list")
            self.assertEqual(call.status, 2)
            self.assertIn(message, call.err)

    def test_roster_and_key(self):
        self.assertEqual(self.run_synthetic().status, 0)
        self.configure("roster: /nowhere/roster\n")
        self.assertIn("/nowhere/roster", self.assay("verify", self.db).err)
        self.configure("key: /nowhere/bench.key\n")
        self.assertIn("/nowhere/bench.key", self.assay("key", "show").err)


class Completion(CliTest):
    def setUp(self):
        super().setUp()
        self.script = self.write("complete.bash", self.assay("--completion").out)
        self.assertEqual(self.run_synthetic().status, 0)
        self.campaign = self.query("SELECT substr(uid, 1, 8) FROM campaign")[0][0]
        self.result = self.campaign + "/1"

    def offers(self, line, breaks=" \t\n\"'><=;|&(:"):
        """What bash offers as completions of the line's last word."""
        done = subprocess.run(
            ["bash", "--norc", "-c", 'source "$1"; COMP_WORDBREAKS=$3 COMP_LINE=$2 COMP_POINT=${#2}; _assay "$4"; '
             'printf "%s\\n" "${COMPREPLY[@]}"', "bash", self.script, line, breaks, ASSAY],
            check=True, capture_output=True, text=True, cwd=self.folder, env=self.environment(ASSAY_DB=self.db))
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_arguments(self):
        self.write("offer.assay", "")
        self.write("notes.txt", "")
        files = {"offer.assay", "notes.txt", "complete.bash", "fast.yaml"}
        self.assertEqual(self.offers("assay compare "), [self.result, "last", self.campaign])
        self.assertEqual(self.offers("assay compare --margin 0.02 last "), [self.result, "last", self.campaign])
        self.assertEqual(self.offers("assay compare a/1 b/1 "), [])
        self.assertEqual(self.offers("assay amend " + self.result[:3]), [self.result])
        self.assertEqual(self.offers("assay amend --reason x "), [self.result])
        self.assertEqual(self.offers("assay archive "), ["last", self.campaign])
        self.assertEqual(set(self.offers("assay show ")), {self.result, "offer.assay"})
        self.assertEqual(set(self.offers("assay show offer.assay ")) - {"offer.assay"}, {self.result})
        self.assertEqual(self.offers("assay show " + self.result + " "), [])
        self.assertTrue(files <= set(self.offers("assay verify ")))
        self.assertEqual(self.offers("assay checkpoint "), ["export", "import"])
        self.assertTrue(files <= set(self.offers("assay checkpoint import ")))
        self.assertTrue(files <= set(self.offers("assay witness ")))
        self.assertEqual(self.offers("assay list "), [])
        workloads = self.offers("assay run ")
        self.assertTrue({"triad", "first-look", "fast.yaml"} <= set(workloads))
        self.assertNotIn("quick", workloads)
        self.assertNotIn("first-look", self.offers("assay calibrate "))
        self.assertEqual(self.offers("assay ver"), ["verify"])
        self.assertNotIn("probe", self.offers("assay "))
        self.assertIn("cpu", self.offers("assay devices "))

    def test_values(self):
        devices = self.assay("devices", "--names").out.split()
        self.assertIn("cpu:0", devices)
        self.assertNotIn("null:0", devices)
        for line in ("assay run --device ", "assay run -d ", "assay results --device=", "assay ab triad --device "):
            self.assertEqual(self.offers(line), devices)
        # Readline replaces the text after the last word break.
        self.assertEqual(self.offers("assay run --device cpu:"), ["0"])
        self.assertEqual(self.offers("assay run --device=cpu:"), ["0"])
        self.assertEqual(self.offers("assay run --device=cpu:", breaks=" \t\n"), ["--device=cpu:0"])
        protocols = self.offers("assay results --protocol ")
        self.assertTrue({"quick", "standard"} <= set(protocols))
        self.assertFalse({"triad", "fast.yaml"} & set(protocols))
        self.assertTrue({"quick", "fast.yaml"} <= set(self.offers("assay run --protocol ")))
        self.assertTrue({"fp32", "bf16", "int8"} <= set(self.offers("assay run --precision ")))
        self.assertEqual(self.offers("assay run --implementation v"), ["vendor"])
        self.assertEqual(self.offers("assay results --sort -r"), ["-result"])
        self.assertEqual(self.offers("assay run --resume "), ["last", self.campaign])
        self.assertEqual(self.offers("assay run --plan "), ["last", self.campaign])
        self.assertEqual(self.offers("assay results --limit "), [])
        self.assertEqual(self.offers("assay compare --db absent.db "), ["last"])

    def test_options(self):
        everything = self.offers("assay results --")
        self.assertTrue({"--since=", "--sort=", "--json"} <= set(everything))
        for given in ("--json", "--since 7d", "--since=7d", "--workload x", "-w x"):
            name = {"-w": "--workload"}.get(given.split()[0], given.split()[0].split("=")[0])
            left = self.offers(f"assay results {given} --")
            self.assertEqual(sorted(set(everything) - set(left)), [o for o in everything if o.rstrip("=") == name])
        self.assertIn("--device=", self.offers("assay run --device cpu:0 --"))
        self.assertNotIn("--protocol=", self.offers("assay run -p quick --"))

    def test_first_words(self):
        self.assertEqual(self.offers("assay key "), ["new", "show", "list"])
        self.assertEqual(self.offers("assay key s"), ["show"])
        formats = self.offers("assay export ")
        message = self.assay("export", "zzzzzzzzzz", "--db", self.db).err
        self.assertEqual(formats, message.split("there are ")[1].strip().split(", "))
        self.assertEqual(self.offers("assay export --sign csv"), ["csv", "csv-samples"])
        self.assertEqual(self.offers("assay export json "), [self.result, "last", self.campaign])

    def in_a_shell(self, words, start, lines):
        """Types into a shell on a terminal: `start`, then each text of `lines` until the shell adds what is expected."""
        os.symlink(ASSAY, os.path.join(self.folder, "assay"))
        master, slave = pty.openpty()
        path = self.folder + ":" + os.environ["PATH"]
        shell = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, cwd=self.folder, start_new_session=True,
                                 env=self.environment(PATH=path, ASSAY_DB=self.db, TERM="dumb", PS1="ready> ",
                                                      INPUTRC="/dev/null", HOME=self.folder))
        os.close(slave)

        def typed(text, until):
            os.write(master, text.encode())
            out, end = "", time.monotonic() + PATIENCE
            while until not in out:
                self.assertTrue(select.select([master], [], [], end - time.monotonic())[0], f"{text!r}: {out!r}")
                out += os.read(master, 4096).decode()

        try:
            typed(start + "; echo so''urced\n", "sourced")
            for text, until in lines:
                typed("\x15" + text, until)
        finally:
            shell.kill()
            shell.wait()
            os.close(master)

    def test_in_a_shell(self):
        """Typed into bash on a terminal, with its own word breaks."""
        self.in_a_shell(["bash", "--norc", "--noprofile", "-i"], "source complete.bash", [
            ("assay amen\t", "assay amend "), ("assay amend " + self.result[:4] + "\t", self.result + " "),
            ("assay run --device=cpu:\t", "--device=cpu:0 ")])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_in_zsh(self):
        self.write("_assay", self.assay("--completion=zsh").out)
        self.write("offer.assay", "")
        self.in_a_shell(["zsh", "-f", "-i"], "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D", [
            ("assay amen\t", "assay amend "), ("assay amend " + self.result[:4] + "\t", self.result + " "),
            ("assay archive las\t", "archive last "), ("assay verify off\t", "offer.assay "),
            ("assay run --device=cpu:\t", "--device=cpu:0 "), ("assay run -d cp\t", "-d cpu:0 "),
            ("assay results --sort=-res\t", "--sort=-result "), ("assay run --implementation ven\t", "vendor "),
            ("assay key s\t", "key show "), ("assay gate --allow-for\t", "--allow-foreign-worker ")])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_in_fish(self):
        self.write("assay.fish", self.assay("--completion=fish").out)
        self.write("offer.assay", "")
        os.symlink(ASSAY, os.path.join(self.folder, "assay"))
        path = self.folder + ":" + os.environ["PATH"]

        def offers(line):
            done = subprocess.run(["fish", "-N", "-c", "source assay.fish; complete -C $argv[1]", line], check=True,
                                  capture_output=True, text=True, cwd=self.folder,
                                  env=self.environment(PATH=path, ASSAY_DB=self.db, HOME=self.folder))
            self.assertEqual(done.stderr, "")
            return {offer.split("\t")[0] for offer in done.stdout.splitlines()}

        for line, expected in (("assay amen", {"amend"}), ("assay amend ", {self.result}),
                               ("assay amend --reason x ", {self.result}), ("assay amend --db absent.db ", set()),
                               ("assay archive ", {"last", self.campaign}), ("assay compare a/1 b/1 ", set()),
                               ("assay verify off", {"offer.assay"}), ("assay key ", {"new", "show", "list"}),
                               ("assay run --device=cpu:", {"--device=cpu:0"}), ("assay run -d cp", {"cpu:0"}),
                               ("assay results --sort=-res", {"--sort=-result"}), ("assay key show ", set()),
                               ("assay run --implementation ven", {"vendor"}),
                               ("assay export json ", {self.result, "last", self.campaign})):
            self.assertEqual(offers(line), expected, line)


if __name__ == "__main__":
    unittest.main()
