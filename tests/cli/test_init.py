"""init: every template is written, and runs as it is."""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402


class Init(CliTest):
    def init(self, *words):
        call = self.assay("init", *words, "--json")
        self.assertEqual(call.status, 0, call.err)
        return call.json()[0]

    def done(self, *words):
        call = self.assay(*words)
        self.assertEqual(call.status, 0, call.err + call.out)
        return call

    def measured(self, *words):
        return self.done("run", *words, "--device", "null:0", "--db", self.db, "--json").json()["results"]

    def test_every_template_is_described(self):
        for kind in self.assay("init", "--json").json():
            made = self.init(kind["type"], "ours", *(("ab/1", "ab/2") if kind["type"] == "decision" else ()))
            self.assertEqual(made["file"], "ours" + os.path.splitext(kind["file"])[1])
            self.assertIn(made["file"], made["next"])
            with open(os.path.join(self.folder, made["file"]), encoding="utf-8") as file:
                text = file.read()
            self.assertNotIn("@", text)
            for command, options in re.findall(r"^#     assay (\w+)([^#\n]*)", text, re.M):
                usage = self.done(command, "--help").out
                for option in re.findall(r"--[a-z-]+", options):
                    self.assertRegex(usage, rf"(?m)^ +(-\w, +)?{option}\b", text)
            if kind["type"] in ("workload", "suite", "protocol", "endpoint"):
                self.done("describe", "./" + made["file"])
            os.remove(os.path.join(self.folder, made["file"]))

    def test_workload_suite_and_protocol_run(self):
        protocol = self.write("few.yaml", "name: few\nversion: 1\nextends: quick\ntrials: 1\nwindow: {time: 10ms}\n")
        for kind in ("workload", "suite"):
            self.init(kind, "ours_" + kind)
            call = self.assay("run", f"./ours_{kind}.yaml", "--device", "cpu:0", "--precision", "fp32", "--protocol",
                              protocol, "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
        self.init("protocol", "ours")
        self.assertEqual(self.measured("synthetic", "--protocol", "./ours.yaml")[0]["trials_ended"], 10)

    def test_contract(self):
        self.init("contract", "ours")
        self.assertIn("trials tell the two levels apart", self.done("power", "./ours.yaml", "--sd", "0.02").out)
        self.done("run", "--contract", "./ours.yaml", "--device", "cpu:0", "--plan-only", "--db", self.db)
        self.assertEqual(self.query("SELECT body ->> '$.contract.contract' FROM content, campaign WHERE digest = plan"),
                         [("ours",)])

    def test_prices_and_decision(self):
        self.init("prices")
        one, two = (self.measured("synthetic", "--protocol", self.fast())[0]["id"] for _ in range(2))
        shown = self.assay("cost", one, "--item", "card", "--prices", "./prices.csv", "--db", self.db)
        self.assertEqual(shown.status, 0, shown.err)
        self.assertIn("EUR", shown.out)
        self.init("decision", "which", one, two)
        shown = self.assay("decide", "./which.yaml", "--db", self.db)
        self.assertNotEqual(shown.status, 2, shown.err)
        for option in ("option 1", "option 2"):
            self.assertIn(option, shown.out + shown.err)

    def test_refused(self):
        self.init("contract")
        os.makedirs(os.path.join(self.folder, "a folder"))
        made = self.init("workload", "a folder/ours.yaml")
        self.assertEqual(made["file"], "a folder/ours.yaml")
        self.assertIn("'a folder/ours.yaml'", made["next"])
        with open(os.path.join(self.folder, "a folder/ours.yaml"), encoding="utf-8") as file:
            self.assertIn("workload: ours\n", file.read())
        for words, said in ((("contract",), "contract.yaml is there already and is left as it is"),
                            (("recipe",), "write one of workload, suite,"),
                            (("workload", "Ours"), "a-z, digits"),
                            (("workload", "ours", "more"), "takes one name"),
                            (("workload", "no/such/ours"), "no/such"),
                            (("decision", "which", "ab12/1"), "assay init decision which RESULT RESULT")):
            call = self.assay("init", *words)
            self.assertEqual(call.status, 2, call.err)
            self.assertIn(said, call.err)
            envelope = json.loads(self.assay("init", *words, "--json").out)
            self.assertEqual(len(envelope["errors"]), 1)


if __name__ == "__main__":
    run_tests()
