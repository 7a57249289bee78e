"""verify says what a reader of a result does not see: attempts, unfinished, repeated, archived campaigns."""

import os
import signal
import sqlite3
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, wait_until  # noqa: E402


class Shown(CliTest):
    # Each trial takes long enough to be interrupted in.
    SLOW = CliTest.FAST.replace("time: 30ms", "time: 2s")

    def verify(self, path=None):
        call = self.assay("verify", path or self.db, "--json")
        self.assertEqual(call.status, 0, call.out)
        data = call.json()
        notes = [f["message"] for f in data["findings"] if f["level"] == "note" and f["check"] == "complete"]
        # In words, too.
        text = self.assay("verify", path or self.db).out
        for note in notes:
            self.assertIn(note, text)
        return data["shown"], " ".join(notes)

    def uids(self):
        return [uid for (uid,) in self.query("SELECT uid FROM campaign ORDER BY id")]

    def said(self, *words):
        return " ".join(self.assay(*words).out.split())

    def test_nothing_to_say(self):
        self.assertEqual(self.run_synthetic().status, 0)
        shown, notes = self.verify()
        self.assertEqual(shown, {"logs": [], "campaigns": [{
            "uid": self.uids()[0], "origin": shown["campaigns"][0]["origin"], "planned": 2, "retried": 0,
            "not_ok": 0, "no_end": 0, "resumed": 0, "archived": False, "state": "finished", "same_cells": 1,
            "same_cells_here": 1}]})
        self.assertNotIn("campaign", notes)

    def test_repeated(self):
        """Ten runs of one plan, and one of another: each is one of ten."""
        for _ in range(10):
            self.assertEqual(self.run_synthetic().status, 0)
        self.write("other.yaml", self.FAST.replace("trials: 2", "trials: 3"))
        self.assertEqual(self.assay("run", "synthetic", "--device", "null:0", "--protocol", "./other.yaml",
                                    "--db", self.db).status, 0)
        shown, notes = self.verify()
        self.assertEqual([(c["same_cells"], c["same_cells_here"]) for c in shown["campaigns"]],
                         [(10, 10)] * 10 + [(1, 1)])
        uids = [uid[:8] for uid in self.uids()]
        self.assertIn("10 campaigns ran the same plan, so a result of one may be the best of them: "
                      + ", ".join(uids[:8]) + " and others", notes)
        self.assertNotIn(uids[10], notes)
        said = "One of 10 campaigns of the same plan"
        self.assertIn(f"{said}, which are all here: it may be the best of them",
                      self.said("show", "--all", f"{uids[3]}/1", "--db", self.db))
        self.assertNotIn("campaigns of the same plan", self.said("show", "--all", f"{uids[10]}/1", "--db", self.db))
        # Handed over, the best of ten is said to be that.
        call = self.assay("bundle", uids[3], "-o", "offer.assay", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("Of this plan the log has 10 campaigns", call.out)
        shown, notes = self.verify("offer.assay")
        self.assertEqual([(c["same_cells"], c["same_cells_here"]) for c in shown["campaigns"]], [(10, 1)])
        self.assertEqual([(log["campaigns"], log["campaigns_here"]) for log in shown["logs"]], [(11, 1)])
        self.assertIn(f"campaign {uids[3]}: its log has 10 campaigns of the same plan, and 1 of them is here: "
                      "this may be the best of them", notes)
        self.assertIn("1 of its 11 campaigns are here", notes)
        said += " in its log, of which 1 here: it may be the best of them"
        self.assertIn(said, self.said("show", "--all", "offer.assay"))
        self.assertIn(said, self.said("report", "offer.assay"))
        for form in ("html", "dossier"):
            page = os.path.join(self.folder, f"{form}.html")
            call = self.assay("report", "offer.assay", f"--{form}={page}")
            self.assertEqual(call.status, 0, call.err)
            with open(page, encoding="utf-8") as file:
                self.assertIn(said, file.read())

    def test_archived(self):
        self.assertEqual(self.run_synthetic().status, 0)
        for words, archived in ((("--reason", "x"), True), (("--reason", "y", "--undo"), False)):
            self.assertEqual(self.assay("archive", "last", *words, "--db", self.db).status, 0)
            shown, notes = self.verify()
            self.assertEqual(shown["campaigns"][0]["archived"], archived)
            self.assertEqual("it was archived" in notes, archived)

    def test_interrupted_and_resumed(self):
        """A campaign that was interrupted is not finished; what was tried again is counted."""
        process = self.start("run", "synthetic", "--device", "null:0", "--protocol",
                             self.write("slow.yaml", self.SLOW), "--db", self.db, "--quiet")
        wait_until(lambda: os.path.exists(self.db) and self.begun() >= 1, process)
        process.send_signal(signal.SIGINT)
        process.communicate()
        shown, notes = self.verify()
        (one,) = shown["campaigns"]
        self.assertEqual((one["state"], one["resumed"], one["retried"]), ("interrupted", 0, 0))
        self.assertIn("is not finished (interrupted)", notes)
        self.assertEqual(self.assay("bundle", "last", "-o", "offer.assay", "--db", self.db).status, 0)
        shown, notes = self.verify("offer.assay")
        self.assertEqual(shown["campaigns"][0]["state"], "interrupted")
        self.assertIn("is not finished (interrupted)", notes)
        self.assertEqual(self.assay("run", "--resume", "last", "--db", self.db).status, 0)
        shown, notes = self.verify()
        (one,) = shown["campaigns"]
        self.assertEqual((one["state"], one["resumed"], one["retried"], one["not_ok"]), ("finished", 1, 1, 1))
        self.assertIn("trials tried again: 1; trials that did not end well: 1; resumed: 1", notes)

    def begun(self):
        try:
            return self.query("SELECT count(*) FROM trial")[0][0]
        except sqlite3.Error:
            return 0

    def test_failed_trials(self):
        self.run_synthetic(ASSAY_NULL="launch_ns=200000,seed=1,fault=upload@1")
        shown, notes = self.verify()
        self.assertEqual((shown["campaigns"][0]["planned"], shown["campaigns"][0]["not_ok"]), (2, 2))
        self.assertIn("trials that did not end well: 2", notes)


if __name__ == "__main__":
    unittest.main()
