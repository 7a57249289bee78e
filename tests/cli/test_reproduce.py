"""reproduce: the same cell again, out of its own record, and what is said of the two."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402


WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                      "foreign_worker.py")


class Reproduce(CliTest):
    # A worker whose samples are known: a loaded machine changes no verdict.
    KNOWN = {"ASSAY_WORKER": WORKER, "FOREIGN_NS": "1000000"}
    SLOWER = {"ASSAY_WORKER": WORKER, "FOREIGN_NS": "1100000"}

    WORKLOAD = ("workload: mine\nversion: 1\nkind: synthetic\ndescription: d\n"
                "precisions: [fp32]\nbatches: [1]\nscenario: offline\n"
                "synthetic: {{launches: {launches}, elements: 100}}\n")

    def measure(self, *words, **environment):
        self.write("evidence.yaml", self.EVIDENCE)
        self.write("mine.yaml", self.WORKLOAD.format(launches=1))
        call = self.assay("run", os.path.join(self.folder, "mine.yaml"), "--device", "null:0",
                          "--protocol", os.path.join(self.folder, "evidence.yaml"), "--db", self.db,
                          "--json", *words, **environment)
        self.assertEqual(call.status, 0, call.err)
        return call.json()["results"][0]["id"]

    def reproduce(self, identifier, *words, **environment):
        return self.assay("reproduce", identifier, "--json", "--db", self.db, *words, **environment)

    def test_held(self):
        original = self.measure(**self.KNOWN)
        # Not today's files: the declaration has changed, the record has not.
        self.write("mine.yaml", self.WORKLOAD.format(launches=7))
        os.unlink(os.path.join(self.folder, "evidence.yaml"))
        call = self.reproduce(original, **self.KNOWN)
        self.assertEqual(call.status, 0, call.out + call.err)
        told = call.json()
        self.assertEqual((told["verdict"], told["original"]), ("reproduced", original))
        self.assertIn(told["comparison"]["comparability"]["verdict"],
                      ("comparable", "comparable_except"))
        # The same identity, other trials; the new plan names the old one; the verdict is stored.
        cells = self.query("SELECT DISTINCT hex(workload), hex(protocol), precision, batch,"
                           " scenario, arm, seed, device_spec FROM cell")
        self.assertEqual(len(cells), 1)
        plans = [json.loads(row[0]) for row in self.query(
            "SELECT b.body FROM campaign c JOIN content b ON b.digest = c.plan ORDER BY c.id")]
        self.assertEqual(self.query("SELECT count(*) FROM trial_end WHERE status = 'ok'"),
                         [(5 * len(plans),)])
        self.assertNotIn("reproduces", plans[0])
        uid, digest = self.query("SELECT uid, lower(hex(plan)) FROM campaign ORDER BY id")[0]
        self.assertEqual(plans[-1]["reproduces"],
                         {"campaign": uid, "ordinal": 1, "plan_digest": digest})
        self.assertEqual(self.query("SELECT kind, verdict, a, b FROM comparison ORDER BY id")[-1],
                         ("reproduce", "reproduced", 1, len(plans)))
        self.assert_sound()
        # And again, of the reproduction itself, for people.
        call = self.assay("reproduce", told["again"], "--db", self.db, **self.KNOWN)
        self.assertEqual(call.status, 0, call.err)
        self.assertRegex(call.out, "^Reproduced: [0-9a-f]{8}/1 agrees with")
        self.assertNotIn("sessions", call.out.splitlines()[1])
        call = self.assay("reproduce", told["again"], "--db", self.db, **self.SLOWER)
        self.assertEqual(call.status, 1, call.err)
        self.assertRegex(call.out, r"^Not reproduced: .*\n.*not how sessions do")

    def test_worked_out_again(self):
        self.assertEqual(self.reproduce(self.measure(**self.KNOWN), **self.SLOWER).status, 1)
        self.assert_worked_out_again("sd_log")

    def test_did_not_hold(self):
        original = self.measure(**self.KNOWN)
        call = self.reproduce(original, **self.SLOWER)
        self.assertEqual(call.status, 1, call.out + call.err)
        told = call.json()
        self.assertEqual((told["verdict"], told["comparison"]["verdict"]),
                         ("not_reproduced", "slower"))
        ratio = told["comparison"]["comparison"]["ratio"]
        self.assertLess(ratio["lo"], 1.1)
        self.assertGreater(ratio["lo"], 1.09)
        # The same difference is agreement to one who allows for it.
        call = self.reproduce(original, "--margin", "0.2", **self.SLOWER)
        self.assertEqual(call.status, 0, call.out + call.err)
        call = self.assay("verify", self.db, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 2), call.out)

    def test_not_here(self):
        original = self.measure()
        for words, part in ((("--device", "null:9"), "null:9"),
                            (("--device", "opencl:77"), "opencl:77")):
            call = self.reproduce(original, *words)
            self.assertEqual(call.status, 2, call.err)
            self.assertEqual(call.json()["verdict"], "not_reproducible_here")
            self.assertIn(part, call.json()["reason"])
        # Its trials all fail here.
        call = self.reproduce(original, ASSAY_NULL="fault=launch@1,seed=1")
        self.assertIn(call.status, (2,), call.out + call.err)
        self.assertIn("no trial succeeded", call.json()["reason"])
        self.assertEqual(self.assay("reproduce", "zzzz/1", "--db", self.db).status, 4)
        self.assertEqual(self.assay("reproduce", original, "--margin", "2", "--db",
                                    self.db).status, 2)

    def test_a_first_look_is_no_evidence(self):
        self.assertEqual(self.run_synthetic().status, 0)
        call = self.reproduce("last/1")
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("first look", call.json()["reason"])
        self.assertEqual(self.query("SELECT count(*) FROM campaign"), [(1,)])


if __name__ == "__main__":
    unittest.main()
