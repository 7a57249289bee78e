"""results, show, report: what is listed, in which order; archived campaigns; bundles shown as they are."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402

try:
    import verify
except ImportError:  # it needs python3-cryptography
    verify = None


class ListTest(CliTest):
    def measure(self, *words):
        call = self.run_synthetic(*words)
        self.assertEqual(call.status, 0, call.err)
        return self.query("SELECT substr(uid, 1, 8) FROM campaign ORDER BY id DESC LIMIT 1")[0][0]

    def ids(self, *words):
        call = self.assay("results", "--ids", *words, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        return call.out.split()

    def refused(self, part, *words):
        call = self.assay("results", *words, "--db", self.db)
        self.assertEqual((call.status, call.out), (2, ""))
        self.assertIn(part, call.err)


class Lists(ListTest):
    def test_since(self):
        campaign = self.measure()
        for since in ("1970-01-01", "2026-01-01T00:00", "7d", "10min"):
            self.assertEqual(self.ids("--since", since), [campaign + "/1"])
        self.assertEqual(self.ids("--since", "2261-12-31"), [])
        for since in ("7", "tomorrow", "2026-02-30", "2026-1-1", "-1d", ""):
            self.refused("write a date", "--since=" + since)

    def test_sort(self):
        for batch in ("1", "2", "4"):
            self.write(f"w{batch}.yaml", f"workload: mine{batch}\nversion: 1\nkind: synthetic\ndescription: d\n"
                       f"precisions: [fp32]\nbatches: [{batch}]\nscenario: offline\n"
                       "synthetic: {launches: 1, elements: 100}\n")
        for batch in ("2", "4", "1"):
            call = self.assay("run", f"./w{batch}.yaml", "--device", "null:0", "--protocol", self.fast(),
                              "--db", self.db)
            self.assertEqual(call.status, 0, call.err)

        def batches(*words):
            return [row["batch"] for row in self.assay("results", "--json", "--db", self.db, *words).json()]

        self.assertEqual(batches(), [1, 4, 2])
        self.assertEqual(batches("--sort", "created"), [2, 4, 1])
        self.assertEqual(batches("--sort", "-created"), [1, 4, 2])
        self.assertEqual(batches("--sort", "batch"), [1, 2, 4])
        self.assertEqual(batches("--sort", "-workload"), [4, 2, 1])
        self.assertEqual(batches("--sort", "batch", "--limit", "2"), [1, 2])
        table = self.assay("results", "--sort", "batch", "--db", self.db).out
        places = [table.index(f"mine{batch}") for batch in (1, 2, 4)]
        self.assertEqual(places, sorted(places))
        self.refused("write one of created, workload", "--sort", "colour")
        self.refused("--sort -: write one of", "--sort", "-")
        for key in ("device", "precision", "protocol", "result", "grade", "verdict"):
            self.assertEqual(len(self.ids("--sort", key)), 3, key)

    def test_brief(self):
        campaign = self.measure()
        self.assertEqual(self.assay("amend", campaign + "/1", "--reason", "the fan was loud", "--db",
                                    self.db).status, 0)
        out = self.assay("show", campaign + "/1", "--db", self.db, COLUMNS="80").out
        self.assertLessEqual(len(out.splitlines()), 12, out)
        for part in (campaign + "/1  synthetic, fp32", "System ", "null:0", "simulated", "Configuration ",
                     "protocol fast", "Result ", "Verdict ", "2 of 2 planned trials", "the fan was loud"):
            self.assertIn(part, out)

    def test_pages_to_standard_output(self):
        self.measure()
        for option, name in (("--html", "page.html"), ("--dossier", "dossier.html")):
            call = self.assay("report", option, "-", "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
            self.assertEqual(self.assay("report", option, name, "--db", self.db).status, 0)
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                self.assertEqual(len(call.out), len(file.read()))
            self.assertTrue(call.out.startswith("<!DOCTYPE html>"))
        self.assertEqual(self.assay("report", "--html", "-", "--dossier", "-", "--db", self.db).status, 2)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "-")))


class Archive(ListTest):
    def setUp(self):
        super().setUp()
        call = self.assay("key", "new", "k", "--file", "k.key", "--json")
        self.assertEqual(call.status, 0, call.err)
        self.public = call.json()["public_key"]

    def environment(self, **changes):
        return super().environment(**({"ASSAY_KEY": os.path.join(self.folder, "k.key")} | changes))

    def archive(self, *words):
        return self.assay("archive", *words, "--by", "me", "--db", self.db)

    def assert_verified(self, path):
        call = self.assay("verify", path, "--key", self.public, "--json")
        self.assertEqual((call.status, call.json()["wrong"]), (0, 0), call.out)
        if verify and path == self.db:
            self.assertEqual(verify.Verifier(path, keys=[self.public]).run(), [])

    def test_a_campaign_is_left_out_and_listed_again(self):
        first, second = self.measure(), self.measure()
        self.assertEqual(self.archive(second, "--reason", "the fan was loud").status, 0)
        self.assertEqual(self.query("SELECT event, detail FROM campaign_event ORDER BY id DESC LIMIT 1"),
                         [("archived", "the fan was loud (by me)")])
        self.assertEqual(self.ids(), [first + "/1"])
        self.assertEqual(self.ids("last"), [first + "/1"])
        self.assertEqual(self.ids("--archived"), [second + "/1", first + "/1"])
        self.assertEqual(self.ids(second), [second + "/1"])
        for words in (("results",), ("results", "--json"), ("results", "--ids"), ("report",), ("export", "csv")):
            call = self.assay(*words, "--db", self.db)
            self.assertIn("1 archived campaign is not shown", call.err)
            self.assertNotIn(second, call.out)
        self.assertIn(second, self.assay("export", "csv", "--archived", "--db", self.db).out)
        self.assertIn("archived: the fan was loud (by me)", self.assay("report", second, "--db", self.db).out)
        self.assertIn("the campaign was archived", self.assay("report", second, "--dossier", "-", "--db", self.db).out)
        # It stays unchanged: finished, compared, verified, under the head that was signed at its end.
        self.assertEqual(self.assay("compare", first + "/1", second + "/1", "--db", self.db).status, 0)
        self.assert_verified(self.db)
        self.assert_sound()
        call = self.archive(second, "--reason", "again")
        self.assertEqual(call.status, 4)
        self.assertIn("already archived", call.err)
        self.assertEqual(self.archive(second, "--undo", "--reason", "it was another fan").status, 0)
        self.assertEqual(self.ids(), [second + "/1", first + "/1"])
        self.assertNotIn("archived", self.assay("results", "--db", self.db).err)
        self.assert_verified(self.db)

    def test_all_or_none(self):
        first, second = self.measure(), self.measure()
        self.assertEqual(self.assay("archive", first, "--db", self.db).status, 2)
        self.assertEqual(self.archive(first, "ffffffff", "--reason", "x").status, 4)
        self.assertEqual(len(self.ids()), 2)
        self.assertEqual(self.archive(first, second, "--reason", "x").status, 0)
        self.assertEqual(self.ids(), [])
        self.assertEqual(self.assay("results", "--db", self.db).status, 0)

    def test_nothing_is_deleted(self):
        campaign = self.measure()
        call = self.assay("delete", campaign, "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("assay archive", call.err)
        self.assertEqual(self.ids(), [campaign + "/1"])

    def test_bundles_carry_it(self):
        first, second = self.measure(), self.measure()
        self.assertEqual(self.archive(first, "--reason", "the fan was loud").status, 0)
        bundle = os.path.join(self.folder, "b.assay")
        self.assertEqual(self.assay("bundle", first, second, "-o", bundle, "--db", self.db).status, 0)
        self.assert_verified(bundle)
        self.assertEqual(self.assay("import", bundle, "--db", "other.db").status, 0)
        self.db = os.path.join(self.folder, "other.db")
        self.assertEqual(self.ids(), [second + "/1"])
        self.assertEqual(self.assay("verify", self.db).status, 0)


class Bundle(ListTest):
    def setUp(self):
        super().setUp()
        self.campaign = self.measure()
        self.bundle = os.path.join(self.folder, "offer.assay")
        self.assertEqual(self.assay("bundle", self.campaign, "-o", self.bundle, "--db", self.db).status, 0)
        os.mkdir(os.path.join(self.folder, "tmp"))
        os.remove(self.db)

    def shown(self, *words):
        call = self.assay(*words, TMPDIR=os.path.join(self.folder, "tmp"))
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("offer.assay is a bundle: verified", call.err)
        self.assertEqual(os.listdir(os.path.join(self.folder, "tmp")), [])
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".db")], [])
        return call.out

    def test_it_is_shown_without_being_imported(self):
        result = self.campaign + "/1"
        for words in (("show", self.bundle), ("show", self.bundle, result), ("show", self.bundle, "--all"),
                      ("show", result, "--db", self.bundle), ("results", self.bundle, "--ids"),
                      ("results", self.bundle, self.campaign, "--ids"), ("results", "--ids", "--db", self.bundle)):
            self.assertIn(result, self.shown(*words), words)
        for words in (("results", self.bundle), ("report", self.bundle), ("report", "--db", self.bundle)):
            self.assertIn("campaign " + self.campaign, self.shown(*words), words)
        self.assertIn(result, self.shown("report", self.bundle, "--html", "-"))
        self.assertEqual(json.loads(self.shown("show", self.bundle, "--json"))["data"]["id"], result)

    def test_several_results(self):
        campaigns = [self.measure(), self.measure()]
        self.assertEqual(self.assay("bundle", *campaigns, "-o", self.bundle, "--db", self.db).status, 0)
        os.remove(self.db)
        table = self.shown("show", self.bundle)
        self.assertEqual([c in table for c in campaigns], [True, True])
        self.assertIn(campaigns[0] + "/1", self.shown("show", self.bundle, campaigns[0] + "/1"))

    def test_a_damaged_one_is_refused(self):
        with open(self.bundle, encoding="utf-8") as file:
            text = file.read()
        self.write("offer.assay", text.replace('"workload_name":"synthetic"', '"workload_name":"syntheticx"', 1))
        for words in (("show", self.bundle), ("results", self.bundle), ("report", "--db", self.bundle)):
            call = self.assay(*words)
            self.assertEqual((call.status, call.out), (4, ""))
            self.assertIn("fails verification", call.err)

    def test_what_is_no_bundle(self):
        call = self.assay("show", "absent.assay", "x/1", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("unless the first is a bundle", call.err)


if __name__ == "__main__":
    run_tests() if verify is None else unittest.main()
