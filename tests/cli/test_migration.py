"""Files of each release from 0.2.0 on: read, verified, added to, handed over; and files of a later schema."""

import glob
import hashlib
import json
import lzma
import os
import shutil
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests  # noqa: E402

try:
    import cryptography  # noqa: F401
    import verify_bundle
except ImportError:
    verify_bundle = None
    print("the second verifier needs python3-cryptography: its part is left out")
SECOND = os.path.join(os.path.dirname(__file__), "..", "support", "verify.py")
RELEASES = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "..", "data", "releases", "*", "")))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Migration(CliTest):
    def unpack(self, release):
        """The release's database as self.db, and what it said of its results."""
        self.new_db()
        with lzma.open(os.path.join(release, "results.db.xz")) as packed, open(self.db, "wb") as file:
            shutil.copyfileobj(packed, file)
        with open(os.path.join(release, "values.json"), encoding="utf-8") as file:
            return json.load(file)

    def done(self, *words, statuses=(0,)):
        call = self.assay(*words)
        self.assertIn(call.status, statuses, f"{words}: {call.err}")
        return call

    def assert_verified(self, path):
        """By both verifiers: nothing is wrong, and what older rules made otherwise is said to be unverified."""
        summary = self.done("verify", path, "--json", statuses=(0, 3)).json()
        self.assertEqual(summary["wrong"], 0, summary["findings"])
        unverified = {f["code"] for f in summary["findings"] if f["level"] == "unverified"}
        self.assertLessEqual(unverified, {"estimate_version", "comparison_version"})
        if verify_bundle:
            second = subprocess.run([sys.executable, SECOND, path], capture_output=True, text=True, check=False)
            self.assertEqual(second.returncode, 0, second.stdout + second.stderr)
        return summary

    def values(self, *words):
        rows = self.done("results", "--json", "--archived", "--limit", "99", "--db", self.db, *words).json()
        return {row["id"]: {name: row[name] for name in ("workload", "verdict", "metrics")} for row in rows}

    def assert_same(self, values, kept):
        """Each result has the values of its release; metrics may have been added since."""
        for identifier, old in kept.items():
            new = values[identifier]
            self.assertEqual((new["workload"], new["verdict"]), (old["workload"], old["verdict"]))
            for metric, value in old["metrics"].items():
                self.assertEqual({name: new["metrics"][metric][name] for name in value}, value)

    def test_a_release_is_there(self):
        self.assertTrue(RELEASES)

    def test_read(self):
        for release in RELEASES:
            with self.subTest(release):
                kept = self.unpack(release)
                before = digest(self.db)
                db = ("--db", self.db)
                self.assert_same(self.values(), kept)
                for identifier in kept:
                    self.done("show", identifier, *db)
                    self.done("show", identifier, "--json", *db)
                self.done("report", *db)
                self.done("report", "--html", "page.html", *db)
                arms, own = [], []
                for identifier in sorted(kept):
                    row = self.done("show", identifier, "--json", *db).json()
                    (arms if row["arm"] else own if not row["imported"] else []).append(identifier)
                self.done("report", "--dossier", "dossier.html", own[0].split("/")[0], *db)
                self.done("compare", arms[0].split("/")[0], *db)
                self.done("compare", own[0], own[1], *db, statuses=(0, 2))
                for name in ("csv", "csv-samples", "json", "jsonl", "openmetrics", "mlperf"):
                    self.assertTrue(self.done("export", name, *db).out, name)
                for name in ("cyclonedx", "intoto"):
                    self.assertTrue(self.done("export", name, own[0], *db).out, name)
                summary = self.assert_verified(self.db)
                for table in ("estimate", "comparison"):
                    other = [f for f in summary["findings"] if (f["check"], f["level"]) == (table, "unverified")]
                    (stored,), = self.query(f"SELECT count(*) FROM {table}")
                    self.assertGreater(stored, 0)
                    self.assertEqual(summary[table + "s"] + len(other), stored)
                self.assertEqual(digest(self.db), before)

    def test_added_to(self):
        for release in RELEASES:
            with self.subTest(release):
                kept = self.unpack(release)
                records = self.query("SELECT id, type, digest, body FROM record ORDER BY id")
                self.assertEqual(self.run_synthetic("--db", self.db).status, 0)
                self.done("amend", sorted(kept)[0], "--reason", "read by a later one", "--by", "a test", "--db",
                          self.db)
                now = self.query("SELECT id, type, digest, body FROM record ORDER BY id")
                self.assertGreater(len(now), len(records))
                self.assertEqual(self.query("PRAGMA freelist_count"), [(0,)])  # verify would say so
                # Version 2 on: the campaign that make.py archived.
                self.assertEqual(self.query("SELECT archived, count(*) FROM campaigns GROUP BY 1 HAVING archived"),
                                 [(1, 1)])
                self.assertEqual(now[:len(records)], records)
                self.assertEqual(len(self.values()), len(kept) + 1)
                self.assert_same(self.values(), kept)
                self.assert_verified(self.db)

    def test_handed_over(self):
        """Its bundle, and a bundle that is made of it now."""
        for release in RELEASES:
            with self.subTest(release):
                kept = self.unpack(release)
                theirs = os.path.join(release, "offer.assay")
                ours = os.path.join(self.folder, "ours.assay")
                with open(theirs, encoding="utf-8") as file:
                    (uid,) = json.loads(file.readline())["campaigns"]
                if os.path.exists(ours):
                    os.remove(ours)
                self.done("bundle", uid, "-o", ours, "--db", self.db)
                for bundle in (theirs, ours):
                    self.new_db()
                    self.assertEqual(self.done("verify", bundle, "--json", statuses=(0, 3)).json()["wrong"], 0)
                    if verify_bundle:
                        self.assertEqual(verify_bundle.Bundle(bundle).run(), [])
                    self.done("import", bundle, "--db", self.db)
                    self.assert_same(self.values(), {key: value for key, value in kept.items()
                                                     if uid.startswith(key.split("/")[0])})
                    self.assertEqual(len(self.values()), 1)
                    self.assert_verified(self.db)

    def test_a_later_schema(self):
        """Every command names both versions and says what to do, and changes nothing."""
        self.assertEqual(self.run_synthetic().status, 0)
        connection = sqlite3.connect(self.db)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version={version + 1}")
        connection.close()
        before = digest(self.db)
        commands = [line.split()[0] for line in self.done("--help").out.split("Commands:\n")[1].split("\n\n")[0]
                    .splitlines() if line.startswith("  ") and line[2] != " "]
        prices = self.write("prices.csv", "item,kind,currency,amount,unit\ncard,cloud,EUR,1,hour\n")
        contract = self.write("contract.yaml", "contract: c\nversion: 1\nitems:\n  - cell: {workload: synthetic}\n"
                              "    metric: item_rate\n    limit: at_least\n    declared: 2 calls/s\n"
                              "    limiting: 1 calls/s\n    trials: 5\n")
        decision = self.write("decision.yaml", "decision: d\nversion: 1\noptions:\n  - {name: a, result: last/1}\n"
                              "  - {name: b, result: last/2}\nobjectives: [item_rate]\n")
        words = {"run": ("synthetic", "--device", "null:0"), "show": ("last/1",), "compare": ("a/1", "b/1"),
                 "ab": ("synthetic", "--a", "device=null:0", "--b", "device=null:0"), "gate": ("a/1", "b/1"),
                 "reproduce": ("last/1",), "power": ("last/1",), "bundle": ("last", "-o", "x.assay"),
                 "export": ("csv",), "cost": ("last/1", "--prices", prices), "plan": ("last/1", "--demand", "1"),
                 "fleet": ("synthetic",),
                 "import": (self.write("x.json", "[]"),), "amend": ("last/1", "--reason", "x"),
                 "archive": ("last", "--reason", "x"), "accept": (contract,), "decide": (decision,), "history": (),
                 "matrix": ("synthetic", "--over", "device=null:0,null:1"), "calibrate": ("synthetic", "--device", "null:0"),
                 "checkpoint": (), "results": (), "report": (), "verify": (), "time": ("--", "true")}
        asked = [name for name in commands if "\n      --db=" in self.done(name, "--help").out]
        self.assertEqual(sorted(asked), sorted(words))
        for command in asked:
            with self.subTest(command):
                call = self.assay(command, "--db", self.db, *words[command])
                self.assertEqual(call.status, 4, call.err)
                self.assertIn(f"has schema version {version + 1}, this assay knows versions up to {version}; use "
                              "the newer assay that wrote it", " ".join(call.err.split()))
        self.assertEqual(digest(self.db), before)

    def test_a_later_bundle(self):
        with open(os.path.join(RELEASES[-1], "offer.assay"), encoding="utf-8") as file:
            text = file.read()
        later = self.write("later.assay", text.replace('"assay_bundle":1,', '"assay_bundle":99,', 1))
        for words in (("verify", later), ("show", later), ("import", later, "--db", self.db)):
            with self.subTest(words[0]):
                call = self.assay(*words)
                self.assertNotEqual(call.status, 0)
                self.assertIn("is a bundle of version 99; this assay reads version 1; use a newer one",
                              " ".join((call.out + call.err).split()))
        self.assertEqual(self.values() if os.path.exists(self.db) else {}, {})


if __name__ == "__main__":
    run_tests()
