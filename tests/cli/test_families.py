"""Comparisons of two campaigns, and those of one `assay ab`, are judged as one family: one error rate."""

import html
import math
import os
import re
import signal
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ANYWHERE, CliTest, run_tests, wait_until  # noqa: E402

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                      "foreign_worker.py")
WORKLOAD = """workload: mine
version: 1
kind: synthetic
description: d
precisions: [fp32]
batches: [1, 2, 3, 4, 7, 8]
scenario: offline
synthetic: {launches: 1, elements: 100}
"""


class Families(CliTest):
    def measure(self, batches="1,2,3,4", slow=""):
        """A campaign of which one batch takes 5 % longer."""
        call = self.assay("run", self.write("w.yaml", WORKLOAD), "--batch", batches, "--device", "null:0", "--protocol", self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, "--json",
                          ASSAY_WORKER=WORKER, FOREIGN_NS="200000", FOREIGN_SLOW_BATCH=slow)
        self.assertEqual(call.status, 0, call.err)
        return call.json()["results"][0]["id"].split("/")[0]

    def holm(self, values):
        order = sorted(range(len(values)), key=lambda i: values[i])
        adjusted, most = [0] * len(values), 0
        for rank, i in enumerate(order):
            most = max(most, min(values[i] * (len(values) - rank), 1))
            adjusted[i] = most
        return adjusted

    def test_compare_and_gate(self):
        a, same, slower = self.measure(), self.measure(), self.measure(slow="3")
        result = self.assay("compare", a, slower, "--json", "--db", self.db).json()
        self.assertEqual((result["a"], result["b"]), (a, slower))
        numbers = [one["comparison"] for one in result["comparisons"]]
        self.assertEqual([one["a"] for one in result["comparisons"]], [f"{a}/{i}" for i in range(1, 5)])
        self.assertEqual([row["family"] for row in numbers], [4] * 4)
        for key in ("difference", "equivalence", "worse"):
            for row, adjusted in zip(numbers, self.holm([row["p_" + key] for row in numbers])):
                self.assertAlmostEqual(row[f"p_{key}_family"], adjusted)
        self.assertEqual([row["verdict"] for row in numbers],
                         ["equivalent", "equivalent", "slower", "equivalent"])
        text = self.assay("compare", a, slower, "--db", self.db).out
        self.assertIn("mine fp32 batch 3", text)
        self.assertIn("Holm", text)
        for other, status, decision in ((same, 0, "passes"), (slower, 1, "worse")):
            self.assertEqual(self.assay("compare", a, other, "--exit-status", "--db", self.db).status, status)
            call = self.assay("gate", a, other, "--allow-foreign-worker", *ANYWHERE, "--json", "--db", self.db)
            self.assertEqual((call.status, call.json()["decision"]), (status, decision))
        # Each cell's decision is stored with its family, and recomputed from it.
        self.assertEqual(self.query("SELECT verdict, count(*) FROM comparison GROUP BY 1 ORDER BY 1"),
                         [("passes", 7), ("worse", 1)])
        self.assertEqual(self.assay("compare", a, slower, "--record", "--db", self.db).status, 0)
        call = self.assay("verify", self.db, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 12), call.out)

    def test_what_does_not_match(self):
        a, b, other = self.measure("1,2"), self.measure("2,3"), self.measure("7,8")
        result = self.assay("compare", a, b, "--json", "--db", self.db).json()
        self.assertEqual([(one["a"], one["b"]) for one in result["comparisons"]], [(f"{a}/2", f"{b}/1")])
        self.assertEqual((result["only_in_a"], result["only_in_b"]), ([f"{a}/1"], [f"{b}/2"]))
        self.assertEqual(result["comparisons"][0]["comparison"]["family"], 1)
        for words, why in (((a, other), "no result of"), ((a, a), "one and the same")):
            for command in ("compare", "gate"):
                call = self.assay(command, *words, "--db", self.db)
                self.assertEqual(call.status, 2, (command, call.err))
                self.assertIn(why, call.err)

    def ab(self, *words, slow="3", **environment):
        """Arms of which b takes 5 % longer with one batch."""
        return ("ab", self.write("w.yaml", WORKLOAD), *(words or ("--batch", "1,2,3")), "--device", "null:0",
                "--protocol", self.write("evidence.yaml", self.EVIDENCE), "--a", "env:FOREIGN_SLOW_BATCH=0",
                "--b", "env:FOREIGN_SLOW_BATCH=" + slow, "--db", self.db)

    of_three = None

    def make_three(self):
        """A database with self.ab() in it, measured once for all tests: the finished call."""
        if not Families.of_three:
            call = self.assay(*self.ab(), "--exit-status", "--details", **self.WORKER)
            self.assertEqual(call.status, 1, call.err)
            with open(self.db, "rb") as file:
                Families.of_three = call, file.read()
        with open(self.db, "wb") as file:
            file.write(Families.of_three[1])
        return Families.of_three[0]

    WORKER = {"ASSAY_WORKER": WORKER, "FOREIGN_NS": "200000"}

    def rows_of(self, text):
        """What --details says of the family, before each comparison in full: (verdict, p, alone, p alone)."""
        said = re.findall(r": judged in a family of 3: (\w+), p (\S+) \(alone (\w+), p ([^\s)]+)\)", text)
        self.assertEqual(len(said), 3, text)
        return said

    def rows_of_page(self, path, kind="ab"):
        with open(path, encoding="utf-8") as file:
            page = file.read()
        rows = []
        for row in re.findall(r'<tr><td class="when">.*?</tr>', page, re.DOTALL):
            cells = [html.unescape(re.sub(r"<[^>]*>", " ", cell)).split()
                     for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
            if cells[1] == [kind]:
                self.assertEqual(cells[7][:2], ["3", "of"])
                rows.append((cells[4][0], cells[6][0], cells[4][-1], cells[6][-1]))
        return page, rows

    def shown(self, numbers):
        """(verdict, p, alone, p alone) of a comparison in JSON, as outputs for people have them."""
        verdict, alone = numbers["verdict"], numbers["verdict_alone"]
        rests_on = alone if verdict == "inconclusive" else verdict
        p = "p_equivalence" if rests_on == "equivalent" else "p_difference"
        return verdict, f"{numbers[p + '_family']:.2g}", alone, f"{numbers[p]:.2g}"

    def test_ab_of_several(self):
        """The verdict and p are the family's in terminal, JSON, page, dossier and database alike."""
        call = self.make_three()
        data = self.assay("compare", "last", "--json", "--db", self.db).json()
        numbers = [one["comparison"] for one in data["comparisons"]]
        campaign = data["campaign"]
        self.assertEqual([(one["a"], one["b"]) for one in data["comparisons"]],
                         [(f"{campaign}/{i}", f"{campaign}/{i + 1}") for i in (1, 3, 5)])
        self.assertEqual([row["verdict"] for row in numbers], ["equivalent", "equivalent", "slower"])
        self.assertEqual([row["family"] for row in numbers], [data["family"]] * 3)
        for key in ("difference", "equivalence", "worse"):
            for row, adjusted in zip(numbers, self.holm([row["p_" + key] for row in numbers])):
                self.assertAlmostEqual(row[f"p_{key}_family"], adjusted)
        self.assertEqual(self.rows_of(call.out), [self.shown(row) for row in numbers])
        # A pair's trials are adjacent, and every round has each pair once.
        order = [row[0] for row in self.query("SELECT c.ordinal FROM planned_trial p JOIN cell c ON c.id = p.cell"
                                              " ORDER BY p.sequence")]
        pairs = [{first, second} for first, second in zip(order[::2], order[1::2])]
        for at in range(0, len(pairs), 3):
            self.assertEqual(sorted(map(sorted, pairs[at:at + 3])), [[1, 2], [3, 4], [5, 6]])
        self.assertGreater(len({str(pairs[at:at + 3]) for at in range(0, len(pairs), 3)}), 1)
        # Either arm of each comparison runs first as often as the other.
        for one in range(1, 7):
            self.assertLessEqual(abs(order[::2].count(one) - order[1::2].count(one)), 1, order)
        rows = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual([row["arm"] for row in rows], list("ababab"))
        # The gate judges the same family, and all is recorded and recomputed.
        call = self.assay("gate", "last", "--allow-foreign-worker", *ANYWHERE, "--json", "--db", self.db)
        self.assertEqual((call.status, call.json()["decision"], call.json()["family"]), (1, "worse", 3))
        self.assertEqual(self.query("SELECT kind, verdict FROM comparison ORDER BY id"),
                         [("ab", row["verdict"]) for row in numbers]
                         + [("gate", decision) for decision in ("passes", "passes", "worse")])
        call = self.assay("verify", self.db, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 6), call.out)
        for option in ("--html", "--dossier"):
            path = os.path.join(self.folder, "page.html")
            self.assertEqual(self.assay("report", "last", option, path, "--db", self.db).status, 0)
            page, rows = self.rows_of_page(path)
            self.assertEqual(rows, [self.shown(row) for row in numbers])
            self.assertIn("6 comparisons are recorded. They were judged in 2 families", page)
            self.assertEqual(len(self.rows_of_page(path, "gate")[1]), 3)
        self.assertIn(f"judged in a family of 3: slower, p {self.shown(numbers[2])[1]} (alone slower", page)

    @staticmethod
    def just_beyond(one):
        """A margin beyond the 90 % interval by a fiftieth of its half-width: p is a little below 5 %."""
        ratio, ends = math.log(one["ratio"]["value"]), one["equivalence_interval"]
        end, centre = max((math.log(ends["hi"]), ratio), (-math.log(ends["lo"]), -ratio))
        return math.exp(centre + 1.02 * (end - centre)) - 1

    def test_a_verdict_that_does_not_hold_for_all(self):
        """Equivalent by itself with p just below 5 %, which is three times that among three."""
        self.make_three()
        numbers = [one["comparison"] for one in
                   self.assay("compare", "last", "--json", "--db", self.db).json()["comparisons"]]
        bounds = [self.just_beyond(one) for one in numbers]
        words = ("compare", "last", "--margin", repr(min(bounds)), "--record", "--db", self.db)
        text = self.assay(*words, "--details")
        call = self.assay(*words, "--json")
        numbers = [one["comparison"] for one in call.json()["comparisons"]]
        number = bounds.index(min(bounds))
        self.assertEqual(numbers[number]["verdict_alone"], "equivalent")
        self.assertNotEqual(numbers[number]["verdict"], "equivalent")
        self.assertGreater(numbers[number]["p_equivalence_family"], 0.1)
        shown = [self.shown(row) for row in numbers]
        self.assertEqual(self.rows_of(text.out), shown)
        path = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "last", "--html", path, "--db", self.db).status, 0)
        self.assertEqual(self.rows_of_page(path)[1][3:], shown)
        explained = self.assay(*words, "--details").out
        self.assertIn("judged in a family of 3: {0}, p {1} (alone equivalent, p {3})".format(*shown[number]), explained)
        self.assertEqual(self.assay("verify", self.db).status, 0)

    def test_one_comparison_is_no_family(self):
        call = self.assay(*self.ab("--batch", "3"), "--json", **self.WORKER)
        self.assertEqual(call.status, 0, call.err)
        self.assertNotIn("family_of", call.json())
        self.assertNotIn("family", call.json()["comparison"])
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "last", "--html", page, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            page = file.read()
        self.assertIn(">alone</td>", page)
        self.assertNotIn("comparisons are recorded", page)

    def test_cells_that_have_not_run(self):
        """They are of the family that the plan declares: its size is that before and after a resume."""
        process = self.start(*self.ab("--batch", "1,2"), "--quiet", **self.WORKER)
        wait_until(lambda: os.path.exists(self.db) and self.ended() >= 1, process)
        process.send_signal(signal.SIGINT)
        process.communicate()
        if self.ended() == 20:
            self.skipTest("the campaign ended before it was interrupted")
        for _ in range(2):
            data = self.assay("compare", "last", "--json", "--db", self.db).json()
            measured = [one["comparison"] for one in data["comparisons"] if one["comparison"]]
            self.assertEqual((data["family"], len(data["comparisons"])), (2, 2))
            self.assertEqual([one["family_of"]["size"] for one in data["comparisons"]], [2] * 2)
            self.assertEqual([one["family"] for one in measured], [2] * len(measured))
            unknown = [1] * (2 - len(measured))
            known = [1 if one["p_difference"] is None else one["p_difference"] for one in measured]
            for one, adjusted in zip(measured, self.holm(known + unknown)):
                self.assertAlmostEqual(one["p_difference_family"], adjusted)
            if unknown:
                self.assertIn(f"Those without numbers ({len(unknown)}) count in this, with p = 1.",
                              self.assay("compare", "last", "--db", self.db).out)
                self.assertEqual(self.assay("compare", "last", "--record", "--db", self.db).status, 2)
            self.assertEqual(self.assay("run", "--resume", "last", "--db", self.db, **self.WORKER).status, 0)
        self.assertEqual(len(measured), 2)
        self.assertEqual(self.assay("compare", "last", "--record", "--db", self.db).status, 0)
        self.assertEqual(self.query("SELECT count(*) FROM comparison"), [(2,)])

    def ended(self):
        try:
            return self.query("SELECT count(*) FROM trial_end")[0][0]
        except sqlite3.Error:
            return 0

    def test_arms_that_do_not_fit(self):
        for words, part in ((("--b", "precision=fp16"), "no cell"),
                            (("--b", "workload=synthetic"), "6 cells and arm b to 1")):
            call = self.assay(*self.ab("--margin", "0.01"), *words, **self.WORKER)
            self.assertEqual(call.status, 2, call.err)
            self.assertIn(part, call.err)
        self.make_three()
        for words, part in ((("power", "last"), "3 comparisons"), (("calibrate", os.path.join(self.folder, "w.yaml"),
                                                                   "--device", "null:0"), "6 cells")):
            call = self.assay(*words, "--db", self.db)
            self.assertEqual(call.status, 2, call.err)
            self.assertIn(part, call.err)


if __name__ == "__main__":
    run_tests()
