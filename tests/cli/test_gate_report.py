"""What a gate writes for reviewers: Markdown, JUnit XML, and what posts them on GitHub and GitLab."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ANYWHERE, PATIENCE, CliTest, run_tests, skip_when_busy  # noqa: E402

ACTION = os.path.join(os.path.dirname(__file__), "..", "..", "harness", "package", "gate-action")


class GateReport(CliTest):
    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def arms(self, a, b, statuses=(0, 1)):
        """A campaign of two arms that wait so many ns, and are told apart, or end otherwise: its id."""
        for _ in range(5):  # a busy machine may leave too few steady pairs
            call = self.assay("ab", "synthetic", "--device", "null:0", "--protocol",
                              self.write("evidence.yaml", self.EVIDENCE), "--pairs", "6", "--db", self.db,
                              "--a", f"env:ASSAY_NULL=launch_ns={a},seed=3", "--b",
                              f"env:ASSAY_NULL=launch_ns={b},seed=4", "--exit-status", "--quiet")
            if call.status in statuses:
                return self.query("SELECT substr(uid, 1, 8) FROM campaigns ORDER BY campaign DESC")[0][0]
        skip_when_busy(self)
        return self.fail(f"the arms never end with one of {statuses}: {call.out}{call.err}")

    def gate(self, *words, **more):
        return self.assay("gate", *words, *ANYWHERE, "--markdown", "gate.md", "--junit", "gate.xml", "--db",
                          self.db, **more)

    def test_worse(self):
        campaign = self.arms(1000000, 4000000)
        call = self.gate(campaign)
        self.assertEqual(call.status, 1, call.err)
        text = self.read("gate.md")
        (row,) = re.findall(r"^### assay gate: worse\n\n\*\*b \(.*launch&#95;ns=4000000.*\)\*\* is ([\d.]+) times slower than \*\*a "
                            r"\(.*\)\*\* \[([\d.]+), ([\d.]+)\] on synthetic fp32(?:, under .*)?\.$", text, re.M)
        ratio = self.assay("compare", campaign, "--json", "--db", self.db).json()["comparison"]["ratio"]
        for shown, exact in zip(row, (ratio["value"], ratio["lo"], ratio["hi"])):
            self.assertAlmostEqual(float(shown), exact, delta=0.501 * 10 ** -len(shown.partition(".")[2]))
        root = xml.etree.ElementTree.fromstring(self.read("gate.xml"))
        self.assertEqual({key: root.get(key) for key in ("tests", "failures", "errors")},
                         {"tests": "1", "failures": "1", "errors": "0"})
        (case,) = root.iter("testcase")
        self.assertEqual((case.get("name"), [part.tag for part in case]), ("synthetic fp32 batch 1", ["failure"]))
        self.assertRegex(case[0].get("message"), r"^worse: [\d.]+ times slower \[")

    def test_passes(self):
        call = self.gate(self.arms(4000000, 1000000))
        self.assertEqual(call.status, 0, call.err)
        self.assertTrue(self.read("gate.md").startswith("### assay gate: passes\n"))
        root = xml.etree.ElementTree.fromstring(self.read("gate.xml"))
        (case,) = root.iter("testcase")
        self.assertEqual(list(case), [])

    def test_refused_is_an_error_and_names_are_no_markup(self):
        workload = self.write("w.yaml", "workload: mine_too\nversion: 1\nkind: synthetic\n"
                              "description: d\nprecisions: [fp32]\nbatches: [1]\nscenario: offline\n"
                              "synthetic: {launches: 1, elements: 100}\n")
        identifiers = []
        for protocol in ("quick", self.write("evidence.yaml", self.EVIDENCE)):
            call = self.assay("run", workload, "--device", "null:0", "--protocol", protocol, "--db", self.db,
                              "--json")
            self.assertEqual(call.status, 0, call.err)
            identifiers.append(call.json()["results"][0]["id"])
        self.assertEqual(self.gate(*identifiers).status, 2)
        text = self.read("gate.md")
        self.assertTrue(text.startswith("### assay gate: not comparable\n\nThe two do not compare: identity.protocol"), text)
        self.assertIn("\n- both: mine&#95;too fp32 on null:0", text)
        (case,) = xml.etree.ElementTree.fromstring(self.read("gate.xml")).iter("testcase")
        self.assertEqual((case.get("name"), [part.tag for part in case]), ("mine_too fp32 batch 1", ["error"]))

    def test_markdown_of_what_commands_show(self):
        """--markdown in place of lines: of one comparison a list, of several a table; without control characters."""
        campaign = self.arms(1000000, 4000000)
        one = self.assay("compare", campaign, "--markdown", "--db", self.db)
        self.assertEqual(one.status, 0, one.err)
        self.assertRegex(one.out, r"(?m)^- a `[0-9a-f]{8}/1`: \(?[\d.]+ calls/s")
        self.assertRegex(one.out, r"(?m)^\*\*How sure:\*\* time b/a \*\*[\d.]+\*\*, 95 % interval [\d.]+ to [\d.]+, \d pairs of 6 ")
        words = re.sub(r"[*`]|&#95;", lambda mark: "_" if len(mark[0]) > 1 else "", one.out)
        plain = self.assay("compare", campaign, "--db", self.db).out
        self.assertEqual([re.sub("^(a [^ :]*|b [^ :]*|both): ", r"\1 ", line.strip("- ")) for line in words.splitlines() if line],
                         [re.sub("  +", " ", line.strip("- ")) for line in plain.splitlines() if line][:-1])
        self.assertTrue(plain.endswith("\n--details has the tests, and each reading and field.\n"), plain)
        for words, row in ((("results",), "| fp32 | 1 |"), (("show", f"{campaign}/1"), f"assay result {campaign}/1"),
                           (("show", "--all", f"{campaign}/1"), "#### All attempts"), (("history",), f"| {campaign}/1 |")):
            call = self.assay(*words, "--markdown", "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
            self.assertIn(row, call.out)
            self.assertNotRegex(call.out, r"[\x00-\x09\x0b-\x1f\x7f]")
        table = self.assay("results", "--markdown", "--db", self.db).out
        self.assertRegex(table, rf"(?m)^\| synthetic, arm a .* `{campaign}/1` \| fp32 \| 1 \| \(?[\d.]+ \S*calls/s\)? \| ")
        self.assertRegex(table, r"(?m)^1\. The device is simulated")
        doctor = self.assay("doctor", "--jitter", "0s", "--device", "none", "--markdown")
        self.assertEqual(doctor.status, 0, doctor.err)
        rows = [line for line in doctor.out.splitlines() if line.startswith("| ")]
        self.assertGreater(len(rows), 5)
        self.assertLessEqual({row.count("|") - row.count("\\|") for row in rows}, {3, 6})

    def test_a_file_that_cannot_be_written(self):
        campaign = self.arms(4000000, 1000000)
        call = self.assay("gate", campaign, "--markdown", "nowhere/gate.md", "--db", self.db)
        self.assertGreaterEqual(call.status, 2)
        self.assertIn("nowhere", call.err)

    def stand_in(self, name, script):
        stub = os.path.join(self.folder, "bin", name)
        os.makedirs(os.path.dirname(stub), exist_ok=True)
        with open(stub, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$@" >>"$LOG"\n{script}')
        os.chmod(stub, 0o755)
        return os.path.dirname(stub)

    def action(self, **environment):
        self.stand_in("gh", 'case "$*" in *--edit-last*) exit 1;; esac\ncat "${5:-/dev/null}" >>"$LOG"\n')
        # Knows a note of somebody's and, where NOTES has more, those; PUT fails where it is told so.
        stubs = self.stand_in("curl", 'cat >>"$LOG"\nfor word; do case $word in body@*) cat "${word#body@}" >>"$LOG"; '
                              'touch wrote;; esac; done\n'
                              'case "$*" in *" PUT "*) exit ${PUT:-0};; *sort=desc*) cat notes;; esac\n')
        base = dict(os.environ, ASSAY=os.path.abspath(os.environ["ASSAY"]), DATABASE=self.db,
                    PATH=stubs + ":" + os.environ["PATH"], LOG="posted.log",
                    GITHUB_OUTPUT="output", GITHUB_STEP_SUMMARY="summary", JOB_URL="https://ci.example/jobs/7")
        base.update(environment or {})
        return subprocess.run(["sh", os.path.abspath(os.path.join(ACTION, "gate.sh"))], cwd=self.folder,
                              env=base, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def test_the_action_comments_and_keeps_the_decision(self):
        campaign = self.arms(1000000, 4000000)
        done = self.action(BASELINE=campaign, UNDER=ANYWHERE[1], PULL_REQUEST="7")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(self.read("output"), "decision=worse\n")
        self.assertIn("### assay gate: worse", self.read("summary"))
        log = self.read("posted.log")
        self.assertIn("pr comment 7 --edit-last", log)
        self.assertIn("### assay gate: worse", log)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "assay-gate.xml")))
        # What it was measured on, with what settings, by how much, and where.
        self.assertRegex(log, r"\(ASSAY&#95;NULL.*launch&#95;ns=4000000.*\).* is [\d.]+ times slower ")
        self.assertIn(" on null:0", log)
        self.assertIn("[this job](https://ci.example/jobs/7)", log)

    def test_gitlab_has_one_note_that_later_runs_replace(self):
        campaign = self.arms(4000000, 1000000)
        merge = {"BASELINE": campaign, "UNDER": ANYWHERE[1], "CI_API_V4_URL": "https://gitlab.example/api/v4",
                 "CI_PROJECT_ID": "3", "CI_MERGE_REQUEST_IID": "9", "GITLAB_TOKEN": "secret"}
        notes = "https://gitlab.example/api/v4/projects/3/merge_requests/9/notes"
        others = '[{"id":12,"type":null,"body":"see ### assay gate: passes"}'
        ours = ',{"id":34,"type":null,"body":"### assay gate: worse"},{"id":33,"body":"### assay gate: worse"}'
        for more, put, written in (("", "0", [f"body@[^ ]+ {notes}"]), (ours, "0", [f"PUT .*body@[^ ]+ {notes}/34"]),
                                   (ours, "1", [f"PUT .*body@[^ ]+ {notes}/34", f"body@[^ ]+ {notes}"])):
            self.write("notes", others + more + "]")
            self.write("posted.log", "")
            done = self.action(PUT=put, **merge)
            self.assertEqual((done.returncode, done.stderr.count("warning")), (0, 0), done.stdout + done.stderr)
            log = self.read("posted.log")
            calls = re.findall(r"^--silent .*body@.*$", log, re.M)
            self.assertEqual(len(calls), len(written), calls)
            for call, pattern in zip(calls, written):
                self.assertRegex(call, pattern + "$")
            self.assertIn("### assay gate: passes\n", log)
            # The token is not among the arguments, which every user of the machine can read.
            self.assertEqual(set(re.findall(r"^.*secret.*$", log, re.M)), {"PRIVATE-TOKEN: secret"})
        self.write("posted.log", "")
        self.assertEqual(self.action(**dict(merge, GITLAB_TOKEN="")).returncode, 0)
        self.assertEqual(self.read("posted.log"), "")

    def test_inconclusive_can_be_allowed(self):
        campaign = self.arms("1000000,cv=0.2", "1000000,cv=0.2", statuses=(3,))
        self.assertEqual(self.gate(campaign).status, 3)
        call = self.gate(campaign, "--allow", "inconclusive")
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("exit status 0 although inconclusive: --allow inconclusive", call.err)
        root = xml.etree.ElementTree.fromstring(self.read("gate.xml"))
        self.assertEqual([(root.get("errors"), suite.get("skipped")) for suite in root], [("0", "1")])
        (case,) = root.iter("testcase")
        self.assertEqual([part.tag for part in case], ["skipped"])
        self.assertEqual(self.query("SELECT DISTINCT json_extract(body, '$.gate.decision') FROM comparison "
                                    "WHERE kind = 'gate'"),
                         [("inconclusive",)])
        done = self.action(BASELINE=campaign, UNDER=ANYWHERE[1], ALLOW="inconclusive")
        self.assertEqual((done.returncode, self.read("output")), (0, "decision=inconclusive\n"), done.stderr)
        self.assertEqual(self.gate(campaign, "--allow", "worse").status, 2)
        self.assertEqual(self.gate(self.arms(1000000, 4000000), "--allow", "inconclusive").status, 1)

    def test_the_action_takes_no_input_for_code(self):
        done = self.action(BASELINE="$(touch owned); touch owned #", CANDIDATE="`touch owned`")
        self.assertGreaterEqual(done.returncode, 2)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "owned")))
        with open(os.path.join(ACTION, "action.yml"), encoding="utf-8") as file:
            text = file.read()
        (script,) = re.findall(r"^ +run: (.*)$", text, re.M)
        self.assertNotIn("${{", script)
        # Every variable that the script takes from the action is handed to it.
        with open(os.path.join(ACTION, "gate.sh"), encoding="utf-8") as file:
            used = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", file.read())) - {"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"}
        of_gitlab = {name for name in used if name.startswith("CI_")} | {"GITLAB_TOKEN"}
        self.assertEqual(used - of_gitlab - set(re.findall(r"^ +([A-Z_]+): ", text, re.M)), set())
        with open(os.path.join(ACTION, "..", "gate-gitlab.yml"), encoding="utf-8") as file:
            text = file.read()
        of_github = {"GH_TOKEN", "GH_REPO", "PULL_REQUEST"}
        self.assertEqual(used - of_gitlab - of_github - set(re.findall(r"[ ]([A-Z_]+)(?:: |=)", text)), set())


if __name__ == "__main__":
    run_tests()
