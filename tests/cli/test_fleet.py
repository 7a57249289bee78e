"""fleet: slow, failed and missing units among many, from two sittings of each; recorded and verified."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import forge  # noqa: E402
from assay_cli import ASSAY, CliTest, run_tests  # noqa: E402
from test_history import KNOWN  # noqa: E402

VERIFIER = os.path.join(os.path.dirname(__file__), "..", "support", "verify.py")
NAMED = ("unshare", "-u", *(() if os.geteuid() == 0 else ("-r",)), "sh", "-c", 'hostname "$0"; exec "$@"')
UNITS = {"rack1": 200000, "rack2": 201000, "rack3": 199000, "rack4": 200500, "rack5": 230000}  # ns a launch


class Fleet(CliTest):
    FAST = CliTest.FAST.replace("trials: 2", "trials: 1")

    def setUp(self):
        super().setUp()
        if not shutil.which("unshare") or subprocess.run([*NAMED, "unit", "true"], check=False, capture_output=True).returncode:
            self.skipTest("no namespace of host names here")

    def measure(self, unit, launch_ns, **environment):
        done = subprocess.run([*NAMED, unit, ASSAY, "run", "synthetic", "--device", "null:0", "--protocol", self.fast(),
                               "--db", self.db, "--quiet"], capture_output=True, text=True, cwd=self.folder, check=False,
                              env=self.environment(ASSAY_NULL=f"launch_ns={launch_ns}", **{**KNOWN, **environment}))
        return done.returncode

    def sittings(self, count, units=UNITS):
        """Each unit in so many sittings, a day apart and 0.1 % from each other."""
        for sitting in range(count):
            for unit, launch_ns in units.items():
                self.assertEqual(self.measure(unit, launch_ns + 200 * (sitting + len(unit)) * (-1) ** sitting), 0)
        with forge.Forgery(self.db) as forgery:
            number = iter(range(10000))
            forgery.edit("campaign", lambda body: body.update(created_utc_ns=str(
                int(body["created_utc_ns"]) - (count - 1 - next(number) // len(units)) * 86400 * 10 ** 9)))
            forgery.rewrite()

    def fleet(self, *words):
        return self.assay("fleet", "synthetic", "--db", self.db, *words)

    def verified(self):
        self.assertEqual(self.assay("verify", self.db).status, 0)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_a_slow_unit_is_named(self):
        self.sittings(2)
        call = self.fleet("--json")
        self.assertEqual(call.status, 1, call.err)
        body = call.json()
        self.assertEqual(body["verdict"], "slow_units")
        self.assertEqual([(unit["host"], unit["verdict"]) for unit in body["units"]][0], ("rack5", "slow"))
        self.assertEqual({unit["verdict"] for unit in body["units"][1:]}, {"fine"})
        self.assertAlmostEqual(body["units"][0]["ratio"], 200000 / 230000, delta=0.01)
        self.assertEqual([unit["sittings"] for unit in body["units"]], [2] * 5)
        self.assertIsNone(body["missing"])
        self.assertEqual(self.verified()[0], 0)
        for columns in (80, 120):
            text = " ".join(self.lines_on_terminal(columns, "fleet", "synthetic", "--db", self.db, "--margin", "0.3"))
            self.assertIn("0 of 5 units are slow", " ".join(text.split()))
        self.assertEqual(self.fleet("--margin", "0.3", "--json").json()["verdict"], "fine")
        self.assertEqual(self.fleet("--expected", "7", "--json").json()["missing"], 2)

    def test_a_forged_judgement_is_found(self):
        self.sittings(2)
        self.assertEqual(self.fleet().status, 1)
        with forge.Forgery(self.db) as forgery:
            def hide(body):
                body["body"]["units"][0]["verdict"] = "fine"
                body["body"]["verdict"] = body["verdict"] = "fine"
            forgery.edit("comparison", hide)
            forgery.rewrite()
        self.assertEqual(self.assay("verify", self.db).status, 1)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("unit 1 is slow, not fine", done.stdout)

    def test_one_sitting_and_failures(self):
        for unit, launch_ns in UNITS.items():
            self.assertEqual(self.measure(unit, launch_ns), 0)
        body = self.fleet("--json").json()
        self.assertEqual((body["verdict"], {unit["verdict"] for unit in body["units"]}), ("undecided", {"one_sitting"}))
        self.assertIn("an hour later", " ".join(self.fleet().out.split()))
        for _ in range(2):
            self.assertNotEqual(self.measure("rack6", 1, ASSAY_WORKER="/bin/false"), 0)
        body = self.fleet("--json").json()
        self.assertEqual(body["verdict"], "failed_units")
        self.assertEqual([(unit["host"], unit["failures"]) for unit in body["units"] if unit["verdict"] == "failed"],
                         [("rack6", 2)])
        self.assertEqual(self.verified()[0], 0)
        # One that failed before it knew its device, on a machine that has values: no further unit.
        self.assertNotEqual(self.measure("rack1", 1, ASSAY_WORKER="/bin/false"), 0)
        body = self.fleet("--json", "--expected", "7").json()
        self.assertEqual((len(body["units"]), body["missing"]), (6, 1))
        self.assertEqual([(unit["verdict"], unit["failures"]) for unit in body["units"] if unit["host"] == "rack1"],
                         [("one_sitting", 1)])
        self.assertIn("1 has failed, 1 is missing", " ".join(self.fleet("--expected", "7").out.split()))
        self.assertEqual(self.verified()[0], 0)

    def test_refused(self):
        self.assertEqual(self.measure("rack1", 200000), 0)
        for words, text in (((), "measure more units"), (("--margin", "1"), "--margin"), (("--expected", "0"), "--expected 0"), (("--fdr", "0.5"), "--fdr 0.5"),
                            (("--since", "soon"), "--since soon"), (("--since", "2099-01-01"), "0 results match")):
            call = self.fleet(*words)
            self.assertGreaterEqual(call.status, 2, words)
            self.assertIn(text, call.err)


if __name__ == "__main__":
    run_tests()
