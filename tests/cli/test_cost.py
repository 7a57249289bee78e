"""cost: figures that an independent calculation gives again, and price sheets that are refused."""

import math
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402

COLUMNS = ("item,kind,currency,amount,amount_lo,amount_hi,unit,term_months,residual,covers_devices,"
           "valid_from,valid_to,source,confidential")


class Cost(CliTest):
    def setUp(self):
        super().setUp()
        self.result = self.measure(ASSAY_NULL="launch_ns=100000,power_mw=350000")

    def measure(self, **environment):
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol",
                          self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--json",
                          **environment)
        self.assertEqual(call.status, 0, call.err)
        return call.json()["results"][0]["id"]

    def sheet(self, *rows):
        return self.write("prices.csv", "\n".join((COLUMNS,) + rows) + "\n")

    def cost(self, sheet, *words):
        return self.assay("cost", self.result, "--prices", sheet, "--item", "card", "--db", self.db, *words)

    def metrics(self):
        record = self.assay("show", self.result, "--json", "--db", self.db).json()
        return record["estimate"]["metrics"]

    def test_against_an_independent_calculation(self):
        """50 drawn sheets: hourly cost and cost of 1000 iterations, with bounds and shares."""
        draw = random.Random(20261123)
        metrics = self.metrics()
        rate = [1e9 / metrics["iteration_time"][key] for key in ("value", "hi", "lo")]
        power = metrics["mean_power"]
        watts = [power[key] if power["lo"] is not None else power["value"] for key in ("value", "lo", "hi")]
        self.assertAlmostEqual(watts[0], 350, delta=1)
        for _ in range(50):
            discount = draw.choice((0, round(draw.uniform(0.001, 0.3), 4)))
            pue, use = round(draw.uniform(1, 2), 3), round(draw.uniform(0.05, 1), 3)
            price, months = draw.randrange(100, 50000), draw.choice((1, 12, 36, 60))
            spread, residual = draw.choice((0, 10, 99)), draw.choice((0, 0.1, 1))
            month, covers, tariff = draw.randrange(1, 900), draw.randrange(1, 9), draw.choice((0.05, 0.31))
            sheet = self.sheet(
                f"card,device,EUR,{price},{price - spread},{price + spread},each,{months},{residual},,,,,",
                f"room,colocation,EUR,{month},,,month,,,{covers},,,,",
                f"power,energy,EUR,{tariff},,,kWh,,,,,,,",
                "card,cloud,EUR,1.25,,,hour,,,,,,,")
            words = ("--discount", str(discount), "--pue", str(pue), "--utilisation", str(use))
            call = self.cost(sheet, *words, "--no-record", "--json")
            self.assertEqual(call.status, 0, call.err)
            bought, rented = call.json()[0]["options"]
            years = months / 12
            factor = (discount * (1 + discount) ** years / ((1 + discount) ** years - 1)
                      if discount else 1 / years)
            hour = [amount * (1 - residual / (1 + discount) ** years) * factor / 8760 +
                    12 * month / covers / 8760 + tariff * pue * watt / 1000 * use
                    for amount, watt in zip((price, price - spread, price + spread), watts)]
            work = [hour[0] / (3600 * use * rate[0]), hour[1] / (3600 * use * rate[2]),
                    hour[2] / (3600 * use * rate[1])]
            figure = next(f for f in bought["figures"] if f["per"] == "1000 iterations")
            for got, expected in ((bought["hourly"], hour), (figure["cost"], [1000 * w for w in work])):
                for key, value in zip(("value", "lo", "hi"), expected):
                    self.assertTrue(math.isclose(got[key], value, rel_tol=1e-9), (key, got, expected))
            measured, priced = math.log(rate[2] / rate[1]), math.log(hour[2] / hour[1])
            self.assertAlmostEqual(figure["measured_share"], measured / (measured + priced), 9)
            self.assertEqual(rented["hourly"]["value"], 1.25)
            text = self.cost(sheet, *words, "--no-record").out
            for lead, value in (("an hour", hour[0]), ("1000 iterations", 1000 * work[0])):
                printed = re.search(lead + " +([0-9.e+-]+) EUR", text).group(1)
                self.assertEqual(float(printed), float(f"{value:.4g}"))

    def test_recorded_and_recomputed(self):
        sheet = self.sheet("Card,device,EUR,6000,5000,7000,each,48,0.1,,,,quote,yes",
                           "power,energy,EUR,0.3,,,kWh,,,,,,,", "other,device,EUR,1,,,each,1,,,,,,")
        for _ in range(2):  # the second is equal and adds nothing
            self.assertEqual(self.cost(sheet).status, 0)
        self.assertEqual(self.query("SELECT kind, a, b FROM comparison"), [("cost", 1, None)])
        rows = self.query("SELECT body ->> '$.prices.rows[0].item', json_array_length(body, '$.prices.rows')"
                          " FROM comparison")
        self.assertEqual(rows, [("Card", 2)])  # what counts, and no more
        self.assert_forgeries_found(
            lambda body: body["options"][0]["hourly"].update(value=1),
            lambda body: body["options"][0]["parts"][0]["hourly"].update(hi=1),
            lambda body: body["options"][0]["parts"][1]["hourly"].update(value=0.001),  # energy
            lambda body: body["options"][0]["parts"].pop(),
            lambda body: body["options"][0]["figures"][0]["cost"].update(lo=0.5),
            lambda body: body["options"][0]["figures"][0].update(measured_share=0.125),
            lambda body: body["prices"]["rows"][0].update(amount_lo=4999),
            lambda body: body["assumptions"].update(discount=0.01),
            lambda body: body["assumptions"].update(pue=1.1))

    def test_what_is_missing_is_said(self):
        sheet = self.sheet("card,device,EUR,6000,,,each,48,,,,2020-01-01,,")
        call = self.cost(sheet, "--utilisation", "0.5")
        self.assertEqual(call.status, 0, call.err)
        for words in ("not valid on the day", "no row of kind energy", "simulated", "while idle"):
            self.assertIn(words, call.out)
        self.assertNotIn("not valid", self.cost(sheet, "--as-of", "2019-12-31").out)
        self.result = self.measure()  # without a power meter
        call = self.cost(self.sheet("card,device,EUR,6000,,,each,48,,,,,,", "p,energy,EUR,0.3,,,kWh,,,,,,,"))
        self.assertIn("line 3: the result has no measured power", call.out)

    def test_refusals(self):
        good = "card,device,EUR,6000,,,each,48,,,,,,"
        cases = {
            "card,device,EUR,\"6,000\",,,each,48,,,,,,": "2: amount \"6,000\": write a number",
            "card,device,EUR,-1,,,each,48,,,,,,": "2: amount \"-1\": write a number from 0",
            "card,device,EUR,nan,,,each,48,,,,,,": "2: amount \"nan\"",
            "card,device,EUR,,,,each,48,,,,,,": "2: amount \"\": must not be empty",
            "card,device,Euro,1,,,each,48,,,,,,": "ISO 4217",
            "card,device,EUR,1,,,,48,,,,,,": "2: unit \"\"",
            "card,device,EUR,1,,,week,48,,,,,,": "write each, hour, kWh or month",
            "card,gpu,EUR,1,,,each,48,,,,,,": "2: kind \"gpu\": write device",
            "card,device,EUR,1,,,each,,,,,,,": "write its months",
            "card,device,EUR,1,2,,each,48,,,,,,": "amount_lo <= amount",
            "card,device,EUR,1,,,each,48,1.5,,,,,": "share of the price",
            "card,device,EUR,1,,,each,48,,0.5,,,,": "at least 1 device",
            "card,device,EUR,1,,,each,48,,,,2026-02-30,,": "write a day",
            "card,device,EUR,1,,,each,48,,,2026-12-31,2026-01-01,,": "2: valid_to \"2026-01-01\": lies before valid_from",
            "card,device,EUR,1,,,each,1201,,,,,,": "at most 1200",
            "card,energy,EUR,1,,,month,,,,,,,": "by the kWh",
            "card,cloud,EUR,1,,,each,12,,,,,,": "an hour or a month",
            good + "\nroom,colocation,USD,1,,,month,,,,,,,": "3: currency \"USD\", but line 2 has \"EUR\"",
            "card,device,EUR,1,,,each,48,,,,,,maybe": "write yes or no",
            "card,device": "2: too few fields",
        }
        for row, words in cases.items():
            call = self.cost(self.sheet(row))
            self.assertEqual(call.status, 2, row)
            self.assertIn("prices.csv:", call.err)
            self.assertIn(words, call.err)
        call = self.cost(self.write("prices.csv", "item,kind,currency,amount,unit,colour\n"))
        self.assertIn("column \"colour\": no such column", call.err)
        call = self.cost(self.write("prices.csv", "item;kind;currency;amount;unit\n"))
        self.assertIn("prices.csv:1: column \"item;kind;currency;amount;unit\": put commas", call.err)
        self.assertIn("there is no column \"unit\"",
                      self.cost(self.write("prices.csv", "item,kind,currency,amount\n")).err)
        for words in (("--discount", "2"), ("--pue", "0.9"), ("--utilisation", "0"), ("--as-of", "soon")):
            self.assertEqual(self.cost(self.sheet(good), *words).status, 2)
        call = self.assay("cost", self.result, "--prices", self.sheet(good), "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("has the item \"", call.err)
        self.assertEqual(self.assay("cost", self.result, "--db", self.db).status, 2)
        self.assertEqual(self.query("SELECT count(*) FROM comparison"), [(0,)])


if __name__ == "__main__":
    run_tests()
