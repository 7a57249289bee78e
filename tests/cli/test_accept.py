"""accept: verdicts that an independent calculation gives again, and contracts that are refused."""

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ANYWHERE, CliTest, run_tests, skip_when_busy  # noqa: E402

T95, T90, T975 = 2.131847, 1.533206, 2.776445  # Student's t with 4 degrees of freedom


class Accept(CliTest):
    def contract(self, declared="1 calls/s", limiting="0.5 calls/s", metric="item_rate", limit="at_least",
                 more="", cell="{workload: synthetic}", head="", under=ANYWHERE[1]):
        return self.write("contract.yaml", f"""contract: tender
version: 1
{head}items:
  - cell: {cell}
    metric: {metric}
    limit: {limit}
    declared: {declared}
    limiting: {limiting}
    trials: 5
{more}{f"under: [{under}]" if under else ""}
""")

    def measure(self, *words, window="30ms"):
        protocol = self.EVIDENCE.replace("{time: 30ms", "{time: " + window)
        call = self.assay("run", *words, "--device", "null:0", "--protocol",
                          self.write("evidence.yaml", protocol), "--db", self.db, "--json",
                          ASSAY_NULL="launch_ns=2000000,process_cv=0.02")
        self.assertEqual(call.status, 0, call.err)
        return call.json()["results"][0]["id"]

    def accept(self, contract, *words):
        return self.assay("accept", contract, *words, "--db", self.db)

    def page(self, format, result):
        path = os.path.join(self.folder, "page.html")
        call = self.assay("report", format, path, result, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_pages_of_a_later_contract(self):
        first, second = self.measure("synthetic"), self.measure("synthetic")
        for limiting in ("0.9 Mcalls/s", "0.5 Mcalls/s"):  # of one contract only the newest verdict is shown
            for _ in range(2):
                call = self.accept(self.contract("1 Mcalls/s", limiting), first.split("/")[0])
                self.assertIn(call.status, (1, 3), call.err)  # on a busy machine it may not be steady
        for format in ("--dossier", "--html"):
            page = self.page(format, first)
            section = page[page.index('id="acceptance"'):]
            self.assertEqual(section.count("contract tender version 1"), 2)
            self.assertIn("<b>Rejected</b>" if call.status == 1 else "<b>Inconclusive: ", section)
            self.assertIn("<b>The plan does not have this contract</b>", section)
            if call.status == 1:  # a picture of each item of both contracts
                self.assertEqual(section.count("<figcaption>Item 1: "), 2)
                self.assertIn("As declared: accepted ", section)
            self.assertNotIn("contract tender", self.page(format, second))

    def test_verdicts(self):
        contract = self.contract()
        result = self.measure("--contract", contract)
        call = self.accept(contract, "--json")
        if call.status == 3:  # of a result that is not steady
            skip_when_busy(self)
        self.assertEqual(call.status, 0, call.err)
        made = call.json()
        self.assertEqual((made["verdict"], made["a"]), ("accepted", result))
        self.assertTrue(made["campaigns"][0]["planned"])
        rate = self.assay("show", result, "--json", "--db", self.db).json()["estimate"]["metrics"]["item_rate"]
        (unit,) = made["items"][0]["units"]
        best = rate["value"] * math.exp(T95 / T975 * math.log(rate["hi"] / rate["value"]))
        worst = rate["value"] * math.exp(-T90 / T975 * math.log(rate["value"] / rate["lo"]))
        self.assertEqual(unit["trials"], 5)
        self.assertTrue(math.isclose(unit["best"], best, rel_tol=1e-5), (unit, rate))
        self.assertTrue(math.isclose(unit["worst"], worst, rel_tol=1e-5), (unit, rate))
        self.assertEqual(self.query("SELECT kind, verdict, b FROM comparison"), [("accept", "accepted", None)])
        self.assertNotIn("No decision is recorded", self.page("--dossier", result))
        for format in ("--dossier", "--html"):
            page = self.page(format, result)
            self.assertIn('id="acceptance"', page)
            for said in ("contract tender version 1, 1 item,", "is in the recorded plan", "<b>accepted</b></td>",
                         "1.0000 calls/s", "0.50000 calls/s", f"{unit['worst']:#.5g}".rstrip(".")):
                self.assertIn(said, page, format)
        # The limiting level at one and a half times the distance of the bound: (1.5^2 - 1) / (1.5^2 + 1).
        near = unit["value"] * (unit["worst"] / unit["value"]) ** 1.5
        call = self.accept(self.contract(f"{unit['value']:.9g} calls/s", f"{near:.9g} calls/s"), "--no-record")
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("stands up to a correlation of 0.38 between", " ".join(call.out.split()))
        # A contract that was written afterwards is told as such.
        later = self.accept(self.contract("1 Mcalls/s", "0.9 Mcalls/s"), "--no-record")
        self.assertEqual(later.status, 1, later.err)
        self.assertIn("Rejected contract tender", later.out)
        self.assertIn("does not have this contract", later.out)
        near = self.accept(self.contract(f"{unit['best'] * 0.999} calls/s", f"{unit['best'] * 0.99} calls/s"), "--no-record")
        self.assertEqual(near.status, 3 if worst < unit["best"] * 0.99 else 0, near.out)
        many = self.accept(self.contract(head="nonce: buyer\n"), "--no-record")
        self.assertEqual(many.status, 3)
        self.assertIn("does not have the contract's nonce", many.out)
        self.assert_forgeries_found(
            lambda body: body["items"][0]["units"][0].update(best=2500000000),
            lambda body: body["items"][0]["units"][0].update(worst=0.75),
            lambda body: body["items"][0]["units"][0].update(trials=6),
            lambda body: body["items"][0]["units"][0].update(verdict="inconclusive", reason="it is not steady"),
            lambda body: body["items"][0].update(declared=2),
            lambda body: body["items"][0].update(verdict="rejected"),
            lambda body: body["contract"]["items"][0].update(limiting="1e9 calls/s"),
            lambda body: body["contract"]["items"][0].update(trials=6),
            lambda body: body["campaigns"][0].update(planned=False))

    def forge_estimate(self, factor, version):
        """Makes the result faster by a factor, its rates with it, and says which analysis is to have done it."""
        import forge

        def forged(record):
            for name, value in record["body"]["metrics"].items():
                by = {"iteration_time": 1 / factor, "item_rate": factor}.get(name)
                value.update({part: float(value[part]) * by for part in ("value", "lo", "hi")
                              if by and value[part] is not None})
            record["body"]["verdict"] = record["verdict"] = "steady"
            record["version"] = record["body"]["version"] = version
        with forge.Forgery(self.db) as forgery:
            forgery.edit("estimate", forged)
            forgery.rewrite()

    def test_no_verdict_by_a_forged_estimate(self):
        """Numbers that do not follow from the samples decide nothing, whichever analysis they are ascribed to."""
        result = self.measure("synthetic")
        (current,), = self.query("SELECT version FROM estimate")
        prices = self.write("prices.csv", "item,kind,currency,amount,unit,valid_from\ncard,cloud,EUR,1,hour,2020-01-01\n")
        decision = self.write("decision.yaml", f"""decision: d
version: 1
question: q
options:
  - {{name: a, result: {result}}}
  - {{name: b, result: {result}}}
requirements:
  - {{figure: item_rate, at_least: 1 Mcalls/s}}
objectives: [item_rate]
""")
        words = {"accept": (self.contract("1 Mcalls/s", "0.9 Mcalls/s"),), "decide": (decision,),
                 "cost": (result, "--prices", prices, "--item", "card")}
        for version, said in ((current, "does not follow from its samples"), (99, "judge with a newer assay")):
            self.forge_estimate(1e4, version)
            for command, arguments in words.items():
                call = self.assay(command, *arguments, "--db", self.db)
                self.assertEqual(call.status, 4, call.out + call.err)
                self.assertIn(said, call.err)
            self.forge_estimate(1e-4, version)
        self.forge_estimate(1e4, 1)
        call = self.accept(self.contract("1 Mcalls/s", "0.9 Mcalls/s"))
        self.assertIn(call.status, (1, 3), call.out + call.err)

    def test_an_estimate_of_an_older_analysis(self):
        """What is judged is judged by the numbers of today, which are then stored beside the older ones."""
        self.measure("synthetic")
        (current,), = self.query("SELECT version FROM estimate")
        self.forge_estimate(1.001, 1)
        self.assertEqual(self.assay("verify", "--db", self.db).status, 3)
        for _ in range(2):
            self.assertIn(self.accept(self.contract()).status, (0, 3))
            self.assertEqual(self.query("SELECT version FROM estimate ORDER BY id"), [(1,), (current,)])
        call = self.assay("verify", "--db", self.db)
        self.assertEqual(call.status, 0, call.out)
        self.assertIn("note: estimate: estimate 1: was made by analysis version 1", call.out)

    def test_a_rejection_is_no_acceptance(self):
        """All that a verdict says, turned over by who has the key."""
        self.measure("synthetic")
        call = self.accept(self.contract("1 Mcalls/s", "0.9 Mcalls/s"), "--json")
        verdict = call.json()["verdict"]
        self.assertIn(verdict, ("rejected", "inconclusive"))  # on a busy machine it may not be steady

        def accepted(body):
            body["verdict"] = body["items"][0]["verdict"] = body["items"][0]["units"][0]["verdict"] = "accepted"
            body["items"][0].update(rejected=0, inconclusive=0, reason=None)
            body["items"][0]["units"][0]["reason"] = None
        self.assert_forgeries_found(accepted)

    def test_undecided_under_contention(self):
        """Nothing is decided by what was measured beside other processes, unless the contract allows it."""
        with self.busy_machine():
            result = self.measure("synthetic", window="300ms")
        findings = self.assay("show", result, "--json", "--db", self.db).json()["estimate"]["findings"]
        found = [code for code in ("contention", "steal", "cgroup_throttled")
                 if code in [finding["code"] for finding in findings]]
        self.assertIn("contention", found)
        call = self.accept(self.contract(under=""), "--no-record")
        self.assertEqual(call.status, 3)
        self.assertRegex(" ".join(call.out.split()), "^Undecided under contention by other processes[^:]* in " + result +
                         ": repeat it at another hour, or allow the condition in the contract")
        call = self.accept(self.contract(under=""), "--json", "--no-record")
        (unit,) = call.json()["items"][0]["units"]
        self.assertEqual((call.status, unit["verdict"], unit["conditions"]), (3, "inconclusive", found))
        if unit["reason"] == "it is not steady":
            skip_when_busy(self)
        self.assertIn("it was measured under contention by other processes", unit["reason"])
        call = self.accept(self.contract(under=", ".join(found)), "--json")
        self.assertEqual((call.status, call.json()["items"][0]["units"][0]["conditions"]), (0, found), call.err)
        self.assert_forgeries_found(
            lambda body: body["items"][0]["units"][0].pop("conditions"),
            lambda body: body["items"][0]["units"][0].update(conditions=["steal"]),
            lambda body: body["contract"].pop("under"))
        call = self.accept(self.contract(under="heat"))
        self.assertEqual(call.status, 2)
        self.assertIn("contract.yaml:10: ", call.err)

    def test_a_fleet_of_too_few(self):
        self.measure("synthetic")
        call = self.accept(self.contract(more="    units: {count: 29, share: 0.9}\n"))
        self.assertEqual(call.status, 3, call.err)
        self.assertIn("fewer units were measured than declared", call.out)

    def power(self, contract, sd="0.01"):
        call = self.assay("power", contract, "--sd", sd, "--json")
        self.assertEqual(call.status, 0, call.err)
        return call.json()

    def test_risks_beforehand(self):
        made = self.power(self.contract("1 Mcalls/s", "970 kcalls/s", more="    alpha: 0.02\n"
                                        "    units: {count: 59, share: 0.95, declared: 0.99}\n"))
        (item,) = made["items"]
        self.assertEqual((item["unit"], item["declared"]), ("calls/s", 1e6))
        rows = item["characteristic"]
        self.assertAlmostEqual(rows[0]["truth"], 1e6, delta=1)
        self.assertAlmostEqual(rows[-1]["truth"], 970e3, delta=1)
        # alpha, and a little less, since what the order of trials seems to show makes intervals wider
        self.assertTrue(0.019 < rows[0]["rejected"] < 0.02, rows[0])
        self.assertLess(rows[-1]["accepted"], 0.1)
        for one, next_one in zip(rows, rows[1:]):
            self.assertGreater(one["accepted"], next_one["accepted"])
            self.assertLess(one["rejected"], next_one["rejected"])
        # 59 units: none may fail for acceptance; 4 of 59 are rejected, since P(Bin(59, 0.01) >= 4) < 0.02.
        for row in [item["fleet"]["declared"], *item["fleet"]["characteristic"]]:
            bad = 1 - row["truth"]
            self.assertAlmostEqual(row["accepted"], row["truth"] ** 59, places=9)
            self.assertAlmostEqual(row["rejected"], 1 - sum(math.comb(59, k) * bad ** k * (1 - bad) ** (59 - k)
                                                            for k in range(4)), places=9)
        # Normal quantiles need fewer than Student's: (z(0.95) + z(0.9))^2 (sd / log(100 / 97))^2. A quarter
        # more make up for the 5 in 100 sets of trials whose order seems to matter.
        contract = self.contract(declared="100 calls/s", limiting="97 calls/s")
        for sd in (0.02, 0.08):
            few, least = self.power(contract, str(sd))["items"][0]["trials_needed"], 8.564 * (sd / math.log(100 / 97)) ** 2
            self.assertTrue(least < few < 1.3 * least + 4, (few, least))
        shown = self.assay("power", contract, "--sd", "0.08")
        self.assertIn(f"{few} trials tell the two levels apart", shown.out)
        for contract, words, said in ((self.contract(), (), "--sd is missing"), ("nowhere.yaml", (), "nowhere.yaml"),
                                      (self.contract(), ("--sd", "0.01", "--margin", "0.1"), "leave out all options"),
                                      (self.contract(limiting="0.5 requests/s"), ("--sd", "0.01"),
                                       "contract.yaml:8: ")):
            call = self.assay("power", contract, *words)
            self.assertEqual(call.status, 2, call.out)
            self.assertIn(said, call.err)

    def test_refusals(self):
        self.measure("synthetic")
        again = ("  - cell: {workload: synthetic}\n    metric: item_rate\n    limit: at_least\n"
                 "    declared: 2 calls/s\n    limiting: 1 calls/s\n    trials: 5\n")
        for words, line, said in (
                ({"declared": "1,000 calls/s"}, 7, "without thousands separators"),
                ({"declared": "1000"}, 7, "has no unit"),
                ({"declared": "-5 calls/s"}, 7, "write a positive number"),
                ({"declared": "1e308 Gcalls/s"}, 7, "beyond all numbers"),
                ({"declared": "9 kB/s"}, 7, "another unit: item_rate is written with calls/s"),
                ({"limiting": "10 kcalls/s"}, 8, "must be worse than what is declared"),
                ({"metric": "attainment", "declared": "105 %", "limiting": "90 %"}, 7, "more than all requests"),
                ({"metric": "speed"}, 5, "not a metric that assay measures"),
                ({"limit": "at_most"}, 6, "write at_least"),
                ({"limit": "about"}, 6, "write at_least or at_most"),
                ({"metric": "request_rate"}, 5, "nothing can be promised"),
                ({"more": "    alpha: 0.7\n"}, 10, "a risk lies above 0"),
                ({"more": "    units: {count: 28, share: 0.9}\n"}, 10, "write at least 29"),
                ({"more": again}, 11, "item 2 promises item_rate of the same cell as item 1"),
                ({"cell": "{workload: synthetic, batch: 7}"}, 4, "no result of the campaigns")):
            call = self.accept(self.contract(**words))
            self.assertEqual(call.status, 2, (words, call.out, call.err))
            self.assertIn(f"contract.yaml:{line}: ", call.err, words)
            self.assertIn(said, call.err)
        self.assertEqual(self.query("SELECT count(*) FROM comparison"), [(0,)])
        call = self.assay("run", "synthetic", "--contract", self.contract(), "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("leave out synthetic", call.err)
        for head, said in (("", "add --protocol standard"), ("protocol: quick\n", "write `protocol: standard`")):
            call = self.assay("run", "--contract", self.contract(head=head), "--device", "null:0", "--db", self.db)
            self.assertEqual(call.status, 2)
            self.assertIn("are not evidence, which is never accepted", call.err)
            self.assertIn(said, call.err)


if __name__ == "__main__":
    run_tests()
