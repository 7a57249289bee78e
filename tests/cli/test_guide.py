"""The guide: each command of its ```sh blocks is run, in its order, with short protocols in place of the long ones."""

import os
import re
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests, thorough  # noqa: E402

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "harness", "guide")
SHORT = "trials: {trials}\nwindow: {{time: 20ms, min_samples: 3, max_time: 30s}}\nwarmup: {{iterations: 1, time: 10ms}}\n"
# In place of 128 MiB an array, which each trial would check.
TRIAD = ("workload: short_triad\nversion: 1\nkind: memory_bound\ndescription: a = b + 0.4 c\nprecisions: [fp32]\n"
         "scenario: offline\nmemory_bound: {kernel: triad, elements: 65536}\n")
BRIEF = ("program", "audit", "buy", "troubleshooting")
MADE = ("verdicts", "metrics", "findings")


class Guide(CliTest):
    def setUp(self):
        super().setUp()
        for name, trials in (("quick", 2), ("paired", 5), ("standard", 5)):
            self.write(f"short_{name}.yaml", f"name: short_{name}\nversion: 1\nextends: {name}\n" + SHORT.format(trials=trials))

        self.write("short_triad.yaml", TRIAD)

    def topics(self):
        shown = self.assay("help")
        self.assertEqual(shown.status, 0, shown.err)
        return re.findall(r"^  (\S+) +", shown.out.split("Topics (")[1], re.M)

    def commands(self, topic):
        with open(os.path.join(FOLDER, topic + ".md"), encoding="utf-8") as file:
            return [line for block in re.findall(r"^```sh\n(.*?)^```", file.read(), re.M | re.S) for line in block.splitlines()]

    def run_command(self, line):
        pipe = re.match(r"seq (\d+) (\d+) \| (.*)", line)
        words = shlex.split(pipe.group(3) if pipe else line)
        self.assertEqual(words[0], "assay", line)
        words = [f"./short_{word}.yaml" if word in ("quick", "standard", "triad") else word for word in words[1:]]
        if words[0] == "history":
            words = [word.replace("./short_triad.yaml", "short_triad") for word in words]
        if words[0] in ("ab", "matrix"):
            words[1:1] = ["--protocol", "./short_paired.yaml"]
        if words[0] == "time":
            words[1:1] = ["--protocol", "./short_quick.yaml"]
        numbers = "".join(f"{n}\n" for n in range(int(pipe.group(1)), int(pipe.group(2)) + 1)) if pipe else ""
        call = self.assay(*words, input=numbers) if pipe else self.assay(*words)
        # A machine may be unfit, and a gate undecided; wrong words or a command that fails are neither.
        expected = {"doctor": (0, 3), "gate": (0, 1, 3)}.get(words[0], (0,))
        self.assertIn(call.status, expected, f"{line}\n{call.err}")

    def run_topics(self, names):
        for topic in names:
            for line in self.commands(topic):
                with self.subTest(topic=topic, line=line):
                    self.run_command(line)

    def test_short_topics(self):
        self.run_topics(BRIEF)

    @thorough
    def test_long_topics(self):
        self.run_topics([name[:-3] for name in sorted(os.listdir(FOLDER)) if name[:-3] not in BRIEF])

    def test_every_topic_is_shown(self):
        topics = self.topics()
        self.assertEqual(set(topics), {name[:-3] for name in os.listdir(FOLDER) if name.endswith(".md")} | set(MADE))
        for topic in topics:
            shown, page = self.assay("help", topic), self.assay("help", topic, "--roff")
            for call in (shown, page):
                self.assertEqual(call.status, 0, call.err)
                self.assertNotIn("```", call.out)
                self.assertNotIn("**", call.out)
            self.assertTrue(page.out.startswith(f".TH ASSAY\\-{topic} 7 "), page.out[:80])
            for line in self.commands(topic) if topic not in MADE else ():
                self.assertIn("    " + line + "\n", shown.out)

    def test_reference_has_every_row(self):
        shown = self.assay("help", "findings").out
        for word in ("late_warmup (info):", "file_altered (critical):", "What to do:"):
            self.assertIn(word, shown)
        self.assertIn("byte_rate (B/s, higher is better):", self.assay("help", "metrics").out)

    def test_commands_and_unknown_topics(self):
        self.assertEqual(self.assay("help", "gate").out, self.assay("gate", "--help").out)
        call = self.assay("help", "tutorail")
        self.assertEqual(call.status, 2, call.err)
        self.assertIn('did you mean "tutorial"?', call.err)


if __name__ == "__main__":
    run_tests()
