"""reproduce: the same cell again, from its own record, and the comparison of the two."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import forge  # noqa: E402
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
        # Not the current files: the declaration has changed, the record has not.
        self.write("mine.yaml", self.WORKLOAD.format(launches=7))
        os.unlink(os.path.join(self.folder, "evidence.yaml"))
        call = self.reproduce(original, **self.KNOWN)
        self.assertEqual(call.status, 0, call.out + call.err)
        data = call.json()
        self.assertEqual((data["verdict"], data["original"]), ("reproduced", original))
        self.assertIn(data["comparison"]["comparability"]["verdict"],
                      ("comparable", "comparable_except"))
        # The same identity, other trials; the new plan names the old one; the verdict is stored.
        cells = self.query("SELECT DISTINCT hex(workload), hex(protocol), precision, batch,"
                           " scenario, implementation, seed, device_spec FROM cell")
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
        call = self.assay("reproduce", data["again"], "--db", self.db, **self.KNOWN)
        self.assertEqual(call.status, 0, call.err)
        self.assertRegex(call.out, r"^Reproduced: the two agree within [\d.]+ %\.")
        self.assertIn("not how sessions do", " ".join(call.out.split()))
        call = self.assay("reproduce", data["again"], "--db", self.db, **self.SLOWER)
        self.assertEqual(call.status, 1, call.err)
        self.assertRegex(call.out, r"^Not reproduced: the two differ by more than [\d.]+ %\.\n")
        self.assertRegex(call.out, r"(?m)^b is [\d.]+ % slower than a \[[\d.]+, [\d.]+\] on mine fp32[.,]")

    def sessions(self, *each):
        """A result measured in as many campaigns, each at its nanoseconds; the first one's id."""
        return [self.measure(ASSAY_WORKER=WORKER, FOREIGN_NS=str(ns)) for ns in each][0]

    def known(self, ns):
        return {"ASSAY_WORKER": WORKER, "FOREIGN_NS": str(ns)}

    def test_too_few_sessions(self):
        original = self.sessions(1000000, 1030000)
        data = self.reproduce(original, **self.known(1060000)).json()
        self.assertEqual((data["verdict"], data["reproduce"]["rests_on"]), ("not_reproduced", "trials"))
        repeatability = data["reproduce"]["repeatability"]
        self.assertEqual((repeatability["count"], repeatability["sd_log"]), (2, None))
        self.assertEqual(data["reproduce"]["ratio"], data["comparison"]["comparison"]["ratio"])

    def test_sessions_that_differ(self):
        """A difference as large as between sessions is inconclusive, a much larger one is not."""
        original = self.sessions(1000000, 1030000, 970000)
        call = self.reproduce(original, **self.known(1060000))
        self.assertEqual(call.status, 3, call.out + call.err)
        data = call.json()
        self.assertEqual((data["verdict"], data["comparison"]["verdict"]), ("inconclusive", "slower"))
        self.assertEqual((data["reproduce"]["rests_on"], data["reproduce"]["verdict"],
                          data["reproduce"]["repeatability"]["df"]), ("repeatability", "inconclusive", 2))
        self.assertAlmostEqual(data["reproduce"]["repeatability"]["sd_log"], 0.03, delta=0.001)
        self.assertLess(data["reproduce"]["ratio"]["lo"], 0.95)
        self.assertEqual(len(data["reproduce"]["repeatability"]["results"]), 3)
        self.assertIn(original, data["reproduce"]["repeatability"]["results"])
        self.assertNotIn(data["again"], data["reproduce"]["repeatability"]["results"])
        # Later sessions count the next time, not for earlier verdicts.
        call = self.assay("reproduce", original, "--db", self.db, **self.known(1500000))
        self.assertEqual(call.status, 1, call.out + call.err)
        self.assertIn("4 campaigns of this under the same conditions", " ".join(call.out.split()))
        call = self.reproduce(original, **self.known(1000000))
        self.assertEqual(call.status, 3, call.out)
        call = self.assay("verify", self.db, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 3), call.out)

    def test_a_difference_that_the_margin_may_allow(self):
        """Certainly different, by 6 %, which certainly exceeds only a narrow margin."""
        for margin, status in (("0.05", 3), ("0.01", 1)):
            self.new_db()
            original = self.sessions(1000000, 1005000, 995000)
            call = self.reproduce(original, "--margin", margin, **self.known(1060000))
            ratio = call.json()["reproduce"]["ratio"]
            self.assertEqual(call.status, status, call.out)
            self.assertTrue(1.01 < ratio["lo"] < 1.05 < ratio["value"])

    def test_steady_sessions(self):
        original = self.sessions(1000000, 1000000, 1000000)
        call = self.reproduce(original, **self.KNOWN)
        self.assertEqual(call.status, 0, call.out + call.err)
        self.assertEqual(call.json()["reproduce"]["rests_on"], "repeatability")
        self.assertEqual(self.reproduce(original, **self.SLOWER).status, 1)

    def test_other_conditions_are_no_sessions(self):
        original = self.sessions(1000000)
        for ns in ("1030000", "970000"):
            self.measure(ASSAY_WORKER=WORKER, FOREIGN_NS=ns, OMP_PROC_BIND="spread")
        data = self.reproduce(original, **self.SLOWER).json()
        self.assertEqual((data["verdict"], data["reproduce"]["repeatability"]["count"]), ("not_reproduced", 1))

    def test_sessions_forged_with_the_log(self):
        """One left out, one counted twice, a wrong one: the stored verdict then does not follow."""
        original = self.sessions(1000000, 1030000, 970000)
        other = self.measure(ASSAY_WORKER=WORKER, FOREIGN_NS="1000000", OMP_PROC_BIND="spread")
        self.assertEqual(self.reproduce(original, **self.known(1060000)).status, 3)
        with forge.Forgery(self.db) as forgery:
            ((_, base),) = forgery.bodies("comparison")
        sessions = base["body"]["reproduce"]["repeatability"]["results"]
        for change, part in ((lambda r: r[:2], "differs"), (lambda r: r[:2] + r[1:2], "not a repetition"),
                             (lambda r: r[:2] + [other], "not a repetition"),
                             (lambda r: r[:2] + ["00000000/1"], "not in this file")):
            base["body"]["reproduce"]["repeatability"]["results"] = change(sessions)
            with forge.Forgery(self.db) as forgery:
                forgery.edit("comparison", {"body": base["body"]})
                forgery.rewrite()
            call = self.assay("verify", self.db, "--json")
            found = [f for f in call.json()["findings"] if f["check"] == "comparison"]
            self.assertEqual(call.json()["comparisons"], 0)
            self.assertIn(part, found[0]["message"])
            self.assertEqual([f["level"] for f in found], ["unverified" if "file" in part else "wrong"])

    def test_recomputed(self):
        self.assertEqual(self.reproduce(self.measure(**self.KNOWN), **self.SLOWER).status, 1)
        self.assert_worked_out_again("sd_log")

    def test_did_not_hold(self):
        call = self.assay("key", "new", "--file", "k.key", "--json")
        public, key = call.json()["public_key"], os.path.join(self.folder, "k.key")
        original = self.measure(ASSAY_KEY=key, **self.KNOWN)
        call = self.reproduce(original, ASSAY_KEY=key, **self.SLOWER)
        verified = self.assay("verify", self.db, "--key", public)
        self.assertEqual(verified.status, 0, verified.out)
        self.assertEqual(call.status, 1, call.out + call.err)
        data = call.json()
        self.assertEqual((data["verdict"], data["comparison"]["verdict"]),
                         ("not_reproduced", "slower"))
        ratio = data["comparison"]["comparison"]["ratio"]
        self.assertLess(ratio["lo"], 1.1)
        self.assertGreater(ratio["lo"], 1.09)
        # The same difference is agreement with a larger margin.
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

    def test_a_machine_that_the_protocol_refuses(self):
        root = self.machine("tuned_server")
        self.EVIDENCE += "doctor: {refuse: critical}\n"
        original = self.measure(ASSAY_HOST_ROOT=root)
        call = self.reproduce(original, ASSAY_HOST_ROOT=root,
                              ASSAY_NULL="launch_ns=200000,seed=1,power_mw=1,foreign=1")
        self.assertEqual(call.status, 2, call.out + call.err)
        self.assertEqual(call.json()["verdict"], "not_reproducible_here")
        self.assertIn("null:0 processes", call.json()["reason"])

    def test_a_first_look_is_no_evidence(self):
        self.assertEqual(self.run_synthetic().status, 0)
        call = self.reproduce("last/1")
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("gives no evidence", call.json()["reason"])
        self.assertEqual(self.query("SELECT count(*) FROM campaign"), [(1,)])


if __name__ == "__main__":
    unittest.main()
