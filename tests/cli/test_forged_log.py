"""Databases whose owner changes something and rewrites the log to match."""

import contextlib
import json
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import unittest  # noqa: E402

from tamper import TamperTest  # noqa: E402  (exits where the second verifier cannot run)

import forge  # noqa: E402


class ForgedLog(TamperTest):
    def test_log_rewritten_without_the_key(self):
        """The file is consistent; only information outside the file reveals it."""
        for signatures in ("kept", "dropped", "forged"):
            with self.subTest(signatures):
                path = self.copy()
                with forge.Forgery(path) as forgery:
                    forgery.db.execute("UPDATE phase SET end_ns = end_ns + 1 WHERE id = 1")
                    if signatures != "kept":
                        forgery.db.execute("DELETE FROM signature")
                    forgery.db.execute("DELETE FROM timestamp_token")
                    forgery.rewrite()
                if signatures == "kept":
                    self.assert_found(path)
                    continue
                if signatures == "forged":
                    self.make_key("other.key")
                    self.assertEqual(self.assay("checkpoint", "--db", path, "--key",
                                                "other.key").status, 0)
                self.assert_good(path)
                for ours, theirs in (((("--key", self.public)), {"keys": [self.public]}),
                                     ((("--expect-head", self.head)), {"head": self.head}),
                                     ((("--expect-head", self.head.split(":")[1])),
                                      {"head": self.head.split(":")[1]})):
                    self.assert_found(path, ours, **theirs)
                os.remove(os.path.join(self.folder, "other.key")) if signatures == "forged" else None

    def test_end_cut_off(self):
        """Everything after the plan's checkpoint removed, log and rows."""
        path = self.copy()
        with forge.Forgery(path) as forgery:
            cut = forgery.db.execute("SELECT size FROM checkpoint WHERE kind = 'end'").fetchone()[0]
            gone = forgery.db.execute("SELECT table_name, key FROM ledger WHERE leaf >= ?",
                                      (cut,)).fetchall()
            for table in {t for t, _ in gone}:
                keys = {k for t, k in gone if t == table}
                for row in forgery.rows(table):
                    if forgery.key(table, row) in keys:
                        forgery.delete(table, row)
            forgery.db.execute("DELETE FROM ledger WHERE leaf >= ?", (cut,))
        self.assert_good(path)
        self.assert_found(path, ("--expect-head", self.head), head=self.head)

    def test_heads_that_cover_less_than_they_claim(self):
        """A signed plan alone, a plan entered after its trials, a ledger with another's name."""
        path = self.copy()
        with forge.Forgery(path) as forgery:
            kept = forgery.db.execute("SELECT id, size || ':' || hex(root) FROM checkpoint WHERE kind ="
                                      " 'plan'").fetchone()
            forgery.db.execute("DELETE FROM timestamp_token")
            forgery.db.execute("DELETE FROM signature WHERE checkpoint <> ?", kept[:1])
            forgery.db.execute("DELETE FROM checkpoint WHERE id <> ?", kept[:1])
            forgery.rewrite()
        self.assert_good(path, ("--expect-head", kept[1]), head=kept[1])
        call = self.assay("verify", path, "--expect-head", kept[1])
        self.assertIn("it does not cover what came later", call.out)
        for found in self.both(path, ("--key", self.public), keys=[self.public]):
            self.assertEqual(found, {("signature", "campaign", "1")})
        for table, number, change in (
                ("note", 1, "UPDATE checkpoint SET kind = 'end' WHERE id = 1"),
                ("checkpoint", 2, "UPDATE checkpoint SET kind = 'plan' WHERE kind = 'end'"),
                ("checkpoint", 9, "INSERT INTO checkpoint SELECT 9, size, root, 1, kind, campaign, frontier"
                                  " FROM checkpoint WHERE id = 1"),
                ("ledger_origin", 1, "UPDATE ledger_origin SET name = 'assay-bundle/1' || char(10)")):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                before = forgery.db.execute("SELECT size, root, frontier FROM checkpoint WHERE id = 1"
                                            ).fetchone()
                forgery.db.execute("DELETE FROM signature")
                forgery.db.execute("DELETE FROM timestamp_token")
                forgery.db.execute(change)
                if table == "note":
                    forgery.db.execute("DELETE FROM bundle")
                    forgery.db.execute("DELETE FROM withheld")
                forgery.rewrite()
                if number == 9:
                    row = (9, *before[:2], 1, "plan", 1, before[2])
                    forgery.db.execute("DELETE FROM checkpoint WHERE id = 9")
                    forgery.db.execute("DELETE FROM ledger WHERE table_name = 'checkpoint' AND key = 9")
                    forgery.enter("checkpoint", row)
            if table == "note":
                call = self.assay("verify", path)
                self.assertIn("there is no checkpoint of its plan", call.out)
                continue
            for found in self.both(path):
                self.assertIn((table, str(number)), {f[1:] for f in found}, change)
        for time, message in ((b"19990101000000Z", "the times in this file are too late"),
                           (b"20990101000000Z", "it does not show that the plan came before")):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                forgery.db.execute("DELETE FROM timestamp_token")
                root, = forgery.db.execute("SELECT root FROM checkpoint WHERE kind = 'plan'").fetchone()
                forgery.rewrite()
                forgery.enter("timestamp_token", (1, 1, 1, forge.token(root, time)))
            self.assertIn(message, self.assay("verify", path).out)
        tables, path = self.tables(), self.copy()
        with forge.Forgery(path) as forgery:
            for table in tables:
                if table != "ledger_origin":
                    forgery.db.execute("DELETE FROM " + table)
            forgery.rewrite()
        self.assert_good(path)
        for found in self.both(path, ("--nonce", "ask-17"), nonce="ask-17"):
            self.assertEqual(found, {("complete", None, None)})

    def test_estimate_forged_with_its_log(self):
        """Without key or head only recomputing finds this, so only assay does."""
        path = self.copy()
        with forge.Forgery(path) as forgery:
            body = json.loads(forgery.db.execute("SELECT body FROM estimate").fetchone()[0])
            body["metrics"]["iteration_time"]["value"] *= 0.99
            forgery.db.execute("UPDATE estimate SET body = ?",
                               (json.dumps(body, sort_keys=True, separators=(",", ":")),))
            forgery.db.execute("DELETE FROM signature")
            forgery.db.execute("DELETE FROM timestamp_token")
            forgery.rewrite()
        self.assertIn(("estimate", "estimate", "1"), self.ours(path))
        self.assertEqual(self.theirs(path), set())
        self.assert_found(path, ("--key", self.public), keys=[self.public])
        for version, level in ((0, "wrong"), (1, "note"), (99, "note")):
            with forge.Forgery(path) as forgery:
                forgery.db.execute("UPDATE estimate SET version = ?", (version,))
                forgery.rewrite()
            out = self.assay("verify", path).out
            self.assertRegex(out, level + ": estimate: estimate 1: was made by analysis version %d; version"
                             r" \d+ gives a mean of \S+ ns where" % version)

    def test_comparison_forged_with_its_log(self):
        path = os.path.join(self.folder, "ab.db")
        call = self.assay("ab", "synthetic", "--protocol", self.fast(), "--a", "device=null:0", "--b",
                          "device=null:0", "--pairs", "5", "--db", path)
        self.assertEqual(call.status, 0, call.err)
        call = self.assay("verify", path, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 1), call.out)
        with forge.Forgery(path) as forgery:
            forgery.db.execute("UPDATE comparison SET body = replace(body, 'null:0', 'null:1'),"
                               " verdict = iif(verdict = 'faster', 'slower', 'faster')")
            forgery.db.execute("UPDATE comparison SET body = json_set(body, '$.verdict', verdict)")
            forgery.rewrite()
        self.assertIn(("comparison", "comparison", "1"), self.ours(path))

    def test_withheld_as_a_cover(self):
        """A changed text that is claimed to be withheld, with and without a bundle in the file."""
        path = os.path.join(self.folder, "covered.db")
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", path)
        self.assertEqual(call.status, 0, call.err)
        with forge.Forgery(path) as forgery:
            forgery.db.execute("INSERT INTO withheld SELECT 'content', lower(hex(protocol)), 'body',"
                               " zeroblob(32) FROM campaign")
            forgery.db.execute("UPDATE content SET body = '{}' WHERE digest = (SELECT protocol FROM campaign)")
            forgery.rewrite()
        for found in self.both(path):
            self.assertIn(("content", "withheld", None), found)
            self.assertIn(("content", "content"), {f[:2] for f in found})
        path = self.copy()  # which has a row of `bundle`
        with forge.Forgery(path) as forgery:
            forgery.db.execute("DELETE FROM signature")
            forgery.db.execute("DELETE FROM timestamp_token")
            forgery.db.execute("DELETE FROM withheld")
            forgery.db.execute("INSERT INTO withheld SELECT 'content', lower(hex(protocol)), 'body',"
                               " zeroblob(32) FROM campaign")
            forgery.rewrite()
        self.assert_good(path)
        for column, value in (("body", "body || ' '"), ("kind", "kind")):
            with forge.Forgery(path) as forgery:
                forgery.db.execute("UPDATE withheld SET column_name = ?", (column,))
                forgery.db.execute("UPDATE content SET body = %s WHERE digest = (SELECT protocol FROM campaign)"
                                   % value)
                forgery.rewrite()
            for found in self.both(path):
                self.assertIn(("content", "content"), {f[:2] for f in found})

    def test_key_that_anybody_can_sign_with(self):
        """Points of small order, and the smallest forgery under them: R the neutral element, S 0."""
        neutral = b"\1" + bytes(31)
        for point in (neutral, bytes(31) + b"\x80", neutral[:31] + b"\x80"):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                number, checkpoint = forgery.db.execute(
                    "SELECT max(s.id) + 1, max(c.id) FROM signature s, checkpoint c").fetchone()
                forgery.enter("signature", (number, checkpoint, 1, "witness", "eve", point,
                                            neutral + bytes(32)))
            for found in self.both(path):
                self.assertEqual({f[:3] for f in found}, {("signature", "signature", str(number))})

    def test_members_twice_forged_with_the_log(self):
        """One reader takes the first, another the last: neither verifier takes either."""
        for change in ("'{\"verdict\":\"steady\",' || substr(body, 2)",
                       "replace(body, '\"samples\":', '\"m\":1e400,\"samples\":')"):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                forgery.db.execute("UPDATE estimate SET body = " + change)
                forgery.db.execute("DELETE FROM signature")
                forgery.db.execute("DELETE FROM timestamp_token")
                forgery.rewrite()
            for found in self.both(path):
                self.assertIn(("estimate", "estimate", "1"), found)

    def test_verdicts_forged_with_their_log(self):
        """A column and the body must agree; both verifiers find that without recomputing."""
        path = os.path.join(self.folder, "ab.db")
        call = self.assay("ab", "synthetic", "--protocol", self.write("e.yaml", self.EVIDENCE), "--a",
                          "device=null:0", "--b", "device=null:0", "--pairs", "5", "--db", path)
        self.assertEqual(call.status, 0, call.err)
        for words, statuses in ((("gate", "last/1", "last/2"), (0, 1, 3)), (("compare", "last/1", "last/2",
                                                                           "--record"), (0,)),
                                (("calibrate", "synthetic", "--protocol", "e.yaml", "--device", "null:0",
                                  "--comparisons", "1", "--pairs", "5"), (0,)),
                                (("reproduce", "last/1", "--quiet"), (0, 1, 3))):
            call = self.assay(*words, "--db", path)
            self.assertIn(call.status, statuses, call.out + call.err)
        self.assert_good(path)
        with open(path, "rb") as file:
            good = file.read()
        with contextlib.closing(sqlite3.connect(path)) as db:
            kinds = dict(db.execute("SELECT id, kind FROM comparison"))
        self.assertEqual(set(kinds.values()), {"ab", "gate", "compare", "calibration", "reproduce"})
        for table, number, change in [
                ("estimate", 1, "verdict = 'x'"), *(("comparison", n, c) for n in kinds for c in (
                    "verdict = 'x'", "kind = 'x'", "a = coalesce((SELECT max(id) FROM cell WHERE id <> a), 1)",
                    "b = coalesce((SELECT max(id) FROM cell WHERE id <> b), 1)"))]:
            with open(path, "wb") as file:
                file.write(good)
            with forge.Forgery(path) as forgery:
                forgery.db.execute("UPDATE %s SET %s WHERE id = ?" % (table, change), (number,))
                forgery.rewrite()
            for found in self.both(path):
                self.assertIn((table, table, str(number)), found, (kinds.get(number), change))

    def test_references_forged_with_the_log(self):
        """A row that refers to a missing one: past the end, in a gap, or hidden by a doubled leaf."""
        for kind in ("beyond", "gap", "doubled"):
            with self.subTest(kind):
                path = self.copy()
                with forge.Forgery(path) as forgery:
                    forgery.db.execute("DELETE FROM signature")
                    forgery.db.execute("DELETE FROM timestamp_token")
                    readings = forgery.rows("reading")
                    self.assertGreater(len(readings), 2)
                    gone, kept = readings[len(readings) // 2], readings[0]
                    if kind == "beyond":
                        forgery.db.execute("UPDATE phase SET trial = 1000 WHERE id = 1")
                    else:
                        forgery.delete("reading", gone)
                    forgery.rewrite()
                    if kind == "doubled":
                        leaf = forgery.db.execute("SELECT max(leaf) + 1 FROM ledger").fetchone()[0]
                        forgery.insert("ledger", (
                            leaf, "reading", forgery.key("reading", kept),
                            forge.leaf_reader(forgery.db).leaf("reading", kept, leaf)))
                ours, _ = self.both(path)
                table = "phase" if kind == "beyond" else "reading_member"
                self.assertIn(("complete", table), {found[:2] for found in ours})
                self.assert_found(path)


if __name__ == "__main__":
    unittest.main()
