"""Databases whose owner changes something and rewrites the log to match."""

import contextlib
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import unittest  # noqa: E402

from tamper import TamperTest  # noqa: E402  (exits where the second verifier cannot run)

import forge  # noqa: E402
import verify_body  # noqa: E402


def changes(value, where=""):
    """(what, a changed copy) for a value and all that is in it, three of a list and sixteen members at most."""
    if isinstance(value, dict):
        names = sorted(value)
        for name in names if not where or len(names) <= 16 else names[:8] + names[-8:]:
            for what, part in changes(value[name], where + "." * bool(where) + name):
                yield what, {**value, name: part}
    elif isinstance(value, list):
        for i in sorted({0, len(value) // 2, len(value) - 1}) if value else ():
            for what, part in changes(value[i], "%s.%d" % (where, i)):
                yield what, value[:i] + [part] + value[i + 1:]
    elif isinstance(value, bool) or value is None:
        yield where, not value
    elif isinstance(value, verify_body.Number):
        yield where, verify_body.Number("1" if value == "0" else "0")
    else:
        yield where, ("1" if value[:1] == "0" else "0") + value[1:]


class ForgedLog(TamperTest):
    def test_log_rewritten_without_the_key(self):
        """The file is consistent; only information outside the file reveals it."""
        for signatures in ("kept", "dropped", "forged"):
            with self.subTest(signatures):
                path = self.copy()
                with forge.Forgery(path) as forgery:
                    forgery.edit("amendment", {"reason": "it was quiet"})
                    forgery.rewrite(kept=("signature",) if signatures == "kept" else ())
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

    def test_any_member_forged_with_its_log(self):
        """Each member of a record of each type, with all that follows from it: a kept head reveals it."""
        cases = 0
        with forge.Forgery(self.copy()) as forgery:
            size = int(self.head.split(":")[0])
            bodies = {kind: (number, verify_body.spelled(body)) for number, kind, body in forgery.db.execute(
                "SELECT id, type, body FROM record WHERE log = 1 AND leaf < ? ORDER BY id", (size,))}
        for kind, (number, body) in bodies.items():
            for what, changed in changes(body):
                if what == "type" or kind == "checkpoint" and what in ("size", "root", "frontier", "campaigns_in_log"):
                    continue  # which the rewriting makes again
                path = self.copy()
                with forge.Forgery(path) as forgery:
                    forgery.db.execute("UPDATE record SET body = ? WHERE id = ?", (verify_body.canonical(changed),
                                                                                number))
                    forgery.rewrite()
                with self.subTest(kind=kind, what=what):
                    self.assert_found(path, ("--expect-head", self.head), head=self.head)
                    cases += 1
        self.assertGreaterEqual(cases, 300)
        print("%d members forged with their log, each found by both" % cases)

    def test_end_cut_off(self):
        """Everything from the end's checkpoint on removed."""
        path = self.copy()
        with forge.Forgery(path) as forgery:
            cut = forgery.db.execute("SELECT record FROM checkpoint WHERE kind = 'end'").fetchone()[0]
            forgery.db.execute("DELETE FROM record WHERE id >= ?", (cut,))
            forgery.db.execute("DELETE FROM log WHERE id > 1")
            forgery.rewrite(kept=("signature",))
            forgery.drop_blobs()
        self.assert_good(path)
        self.assert_found(path, ("--expect-head", self.head), head=self.head)

    def test_heads_that_cover_less_than_they_claim(self):
        """A signed plan alone, a plan entered after its trials, a log with another's name."""
        path = self.copy()
        with forge.Forgery(path) as forgery:
            number, kept = forgery.db.execute("SELECT record, size || ':' || lower(hex(root)) FROM checkpoint WHERE kind ="
                                              " 'plan' AND log = 1").fetchone()
            forgery.drop("type IN ('timestamp', 'import', 'claim', 'bundle') OR type = 'checkpoint' AND id <> ? OR"
                         " type = 'signature' AND id NOT IN (SELECT r.id FROM record r, record c WHERE c.id = ? AND"
                         " r.body ->> '$.checkpoint.record' = lower(hex(c.digest)))", number, number)
            forgery.db.execute("DELETE FROM record WHERE log > 1")
            forgery.db.execute("DELETE FROM log WHERE id > 1")
            forgery.rewrite(kept=("signature",))
            forgery.drop_blobs()
        self.assert_good(path, ("--expect-head", kept), head=kept)
        call = self.assay("verify", path, "--expect-head", kept)
        for found in self.both(path, ("--key", self.public), keys=[self.public]):
            self.assertEqual(found, {("signature", "campaign", "1")})
        for table, key, change in (
                ("note", None, lambda forgery: forgery.edit("checkpoint", lambda body: body.update(
                    kind="end") if body["kind"] == "plan" else False)),
                ("campaign", "1", lambda forgery: forgery.edit("checkpoint", lambda body: body.update(
                    kind="plan") if body["kind"] == "end" else False)),
                ("log", "1", lambda forgery: (forgery.db.execute("UPDATE log SET name = 'assay-bundle/1' || char(10)"
                                                                 " WHERE id = 1"),
                                              forgery.edit("log", {"name": "assay-bundle/1\n"})))):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                change(forgery)
                forgery.rewrite()
            if table == "note":
                call = self.assay("verify", path)
                self.assertIn("there is no checkpoint of its plan", call.out)
                continue
            for found in self.both(path):
                self.assertIn((table, key), {f[1:] for f in found})
        for time, message in ((b"19990101000000Z", "the times in this file are too late"),
                              (b"20990101000000Z", "it does not show that the plan came before")):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                forgery.rewrite()
                digest, root = forgery.db.execute("SELECT lower(hex(r.digest)), root FROM checkpoint c JOIN record r ON"
                                                  " r.id = c.record WHERE kind = 'plan'").fetchone()
                forgery.enter({"type": "timestamp", "checkpoint": {"record": digest}, "utc_ns": 1,
                               "token": forge.token(root, time).hex()})
            self.assertIn(message, self.assay("verify", path).out)
        path = self.copy()
        with forge.Forgery(path) as forgery:
            forgery.db.execute("DELETE FROM record WHERE id > 1")
            forgery.db.execute("DELETE FROM log WHERE id > 1")
            forgery.rewrite()
            forgery.drop_blobs()
        self.assert_good(path)
        for found in self.both(path, ("--nonce", "ask-17"), nonce="ask-17"):
            self.assertEqual(found, {("complete", None, None)})

    @staticmethod
    def scaled(factor, version=None):
        """A change of an estimate that agrees with itself: times by a factor, rates by its inverse."""
        def change(record):
            for name, value in record["body"]["metrics"].items():
                by = {"iteration_time": factor, "item_rate": 1 / factor}.get(name)
                value.update({part: float(value[part]) * by for part in ("value", "lo", "hi")
                              if by and value[part] is not None})
            if version is not None:
                record["version"] = record["body"]["version"] = version
        return change

    def forged(self, *changes):
        """With other estimates, and without the baseline, whose numbers are those of the estimate that was."""
        path = self.copy()
        with forge.Forgery(path) as forgery:
            forgery.drop("type = 'comparison' AND json_extract(body, '$.kind') = 'baseline'")
            for change in changes:
                forgery.edit("estimate", change)
            forgery.rewrite()
        return path

    def likely(self):
        """A factor of the mean that leaves it among the samples, however much alike these are."""
        with contextlib.closing(sqlite3.connect(self.copy())) as db:
            mean, longest = db.execute(
                "SELECT s.body ->> '$.metrics.iteration_time.value', max(1.0 * r.maximum / e.iterations_per_sample) FROM"
                " estimate s JOIN trial t ON t.cell = s.cell JOIN trial_end e ON e.trial = t.id JOIN series r ON r.trial ="
                " t.id AND r.name = 'wall_ns' WHERE s.id = 1").fetchone()
        return (mean + longest) / 2 / mean

    def test_estimate_forged_with_its_log(self):
        """Without key or head only recomputing finds this, so only assay does."""
        path = self.forged(self.scaled(self.likely()))
        self.assertIn(("estimate", "estimate", "1"), self.ours(path))
        self.assertEqual(self.theirs(path), set())
        self.assert_found(path, ("--key", self.public), keys=[self.public])

    def test_estimate_of_another_version(self):
        """A version number does not turn verification off: what is not recomputed is not verified."""
        for version, status, words in ((0, 1, "wrong: estimate: estimate 1: .*there is no such version"),
                                       (1, 3, "unverified: estimate: estimate 1: was made by analysis version 1;"),
                                       (99, 3, "unverified: estimate: estimate 1: was made by analysis version 99;")):
            path = self.forged(self.scaled(self.likely(), version))
            call = self.assay("verify", path)
            self.assertEqual(call.status, status, call.out)
            self.assertRegex(call.out, words)
            said = self.assay("verify", path, "--json").json()
            self.assertEqual((said["verified"], said["state"]), (
                False, "not_verified" if status == 1 else "could_not_verify"), said["findings"])
        # Numbers that differ are written so that they do; equal ones are verified, whatever their version.
        for change, levels in ((1e-7, {"unverified"}), (1e-8, {"unverified"}), (3e-14, {"note"}), (0, set())):
            call = self.assay("verify", self.forged(self.scaled(1 + change, 1)), "--json")
            found = [f for f in call.json()["findings"] if f["table"] == "estimate"]
            self.assertEqual({f["level"] for f in found}, levels, found)
            for finding in found if change > 1e-9 else ():
                now, then = re.search(r"gives a mean of (\S+) ns where (\S+) ns is stored", finding["message"]).groups()
                self.assertNotEqual(now, then)

    def test_what_holds_in_any_version(self):
        """Both verifiers, of any version: numbers that contradict the samples or one another."""
        def metric(name, **parts):
            return lambda record: record["body"]["metrics"][name].update(
                {part: float(record["body"]["metrics"][name][part]) * by for part, by in parts.items()})
        def trial(name, by):
            return lambda record: record["body"]["trials"][0].update(
                {name: float(record["body"]["trials"][0][name]) * by})
        for change in (self.scaled(0.01), self.scaled(100), metric("item_rate", value=1.001), metric("item_rate", lo=0.9),
                       metric("p50", value=0.01), metric("p50", lo=100), trial("mean_ns", 0.01), trial("median_ns", 100),
                       lambda record: record["body"].update(version=7)):
            for version in (None, 1, 99):
                of = (lambda record, version=version: record.update(version=version) if version else None)
                path = self.forged(*([self.scaled(1, version)] if version else []), change, of)
                for found in self.both(path):
                    self.assertIn(("estimate", "estimate", "1"), found)

    def assert_both_find(self, check, table, change, series=False):
        path = self.copy()
        with forge.Forgery(path) as forgery:
            change(forgery)
            forgery.rewrite(series=series)
        for found in self.both(path):
            self.assertIn((check, table), {f[:2] for f in found})

    def test_times_between_records(self):
        """Heads, starts, ends and phases in an order that no clock gives."""
        def head(kind, by):
            return lambda forgery: forgery.edit("checkpoint", lambda body: body.update(
                utc_ns=str(int(body["utc_ns"]) + by)) if body["kind"] == kind else False)
        hour = 3600 * 10**9
        self.assert_both_find("complete", "checkpoint", head("plan", hour))
        self.assert_both_find("complete", "checkpoint", head("end", -hour))

        def long_phase(body):
            body["phases"][-1]["end_ns"] = verify_body.Number(str(hour))
        path = self.copy()
        with forge.Forgery(path) as forgery:
            forgery.edit("trial", long_phase)
            forgery.rewrite()
        self.assertIn("note: trial: trial 1: it took", self.assay("verify", path).out)

    def test_rounds_begun_early(self):
        """Trials that are said to have been spread over an hour."""
        path = os.path.join(self.folder, "spread.db")
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol",
                          self.write("spread.yaml", self.FAST + "spread: 2s\n"), "--db", path)
        self.assertEqual(call.status, 0, call.err)
        self.assert_good(path)
        with forge.Forgery(path) as forgery:
            (_, campaign), = forgery.bodies("campaign")
            forgery.edit_blob(campaign["protocol"], lambda body: body.update(spread_ns=3600 * 10**9))
            forgery.rewrite()
        for found in self.both(path):
            self.assertIn(("trial", "trial", "2"), found)
            self.assertNotIn(("trial", "trial", "1"), found)
        self.assertIn("its round begins 3600000000000 ns after that", self.assay("verify", path).out)

    def test_one_trial_in_place_of_another(self):
        """Its samples are those of the first, one by one."""
        path = os.path.join(self.folder, "trials.db")
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.write("e.yaml", self.EVIDENCE),
                          "--db", path, ASSAY_NULL="launch_ns=1000000,process_cv=0.01")
        self.assertEqual(call.status, 0, call.err)
        self.assert_good(path)
        with forge.Forgery(path) as forgery:
            forgery.db.execute("DELETE FROM series WHERE trial = 2")
            forgery.db.execute("INSERT INTO series SELECT 2, name, first, count, minimum, maximum, total, data FROM"
                               " series WHERE trial = 1")
            forgery.rewrite(series=True)
        for found in self.both(path):
            self.assertIn(("trial", "trial", "2"), found)

    def test_a_result_of_two_devices(self):
        def other(forgery):
            (_, body), *_ = forgery.bodies("device")
            number, last = forgery.bodies("trial")[-1]
            last["device"] = forgery.enter_before(number, {**body, "name": "another device"})
            forgery.db.execute("UPDATE record SET body = ? WHERE id = ?", (verify_body.canonical(last), number + 1))
        self.assert_both_find("trial", "cell", other)

    def test_comparison_forged_with_its_log(self):
        path = os.path.join(self.folder, "ab.db")
        call = self.assay("ab", "synthetic", "--protocol", self.write("evidence.yaml", self.EVIDENCE), "--a",
                          "device=null:0", "--b", "device=null:0", "--db", path)
        self.assertEqual(call.status, 0, call.err)
        call = self.assay("verify", path, "--json")
        self.assertEqual((call.status, call.json()["comparisons"]), (0, 1), call.out)
        def forged(record):
            record["verdict"] = "slower" if record["verdict"] == "faster" else "faster"
            record["body"]["verdict"] = record["verdict"]
        with forge.Forgery(path) as forgery:
            forgery.edit("comparison", forged)
            forgery.rewrite()
        self.assertIn(("comparison", "comparison", "1"), self.ours(path))

    def test_withheld_as_a_cover(self):
        """A text of the own log that is claimed to be withheld, and one that another text stands for."""
        for value, name in (("NULL", "content"), ("'{}'", "content")):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                digest, = forgery.db.execute("SELECT lower(hex(protocol)) FROM campaign").fetchone()
                forgery.db.execute("UPDATE content SET body = %s WHERE lower(hex(digest)) = ?" % value, (digest,))
                forgery.rewrite()
            for found in self.both(path):
                self.assertIn(("content", name, digest), found)

    def test_key_that_anybody_can_sign_with(self):
        """Points of small order, and the smallest forgery under them: R the neutral element, S 0."""
        neutral = b"\1" + bytes(31)
        for point in (neutral, bytes(31) + b"\x80", neutral[:31] + b"\x80"):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                number, digest = forgery.db.execute(
                    "SELECT (SELECT max(id) + 1 FROM signature), lower(hex(digest)) FROM record WHERE type ="
                    " 'checkpoint' AND log = 1").fetchone()
                forgery.enter({"type": "signature", "checkpoint": {"record": digest}, "utc_ns": 1, "role": "witness",
                               "name": "eve", "public_key": point.hex(), "signature": (neutral + bytes(32)).hex()})
            for found in self.both(path):
                self.assertEqual({f[:3] for f in found}, {("signature", "signature", str(number))})

    def test_members_twice_forged_with_the_log(self):
        """One reader takes the first, another the last: neither verifier takes either."""
        for change in ("replace(body, '\"body\":{', '\"body\":{\"verdict\":\"steady\",')",
                       "replace(body, '\"samples\":', '\"m\":1e400,\"samples\":')"):
            path = self.copy()
            with forge.Forgery(path) as forgery:
                forgery.db.execute("UPDATE record SET body = %s WHERE type = 'estimate'" % change)
                forgery.db.execute("UPDATE record SET digest = ? WHERE type = 'estimate' AND log = 1", (
                    verify_body.sha256(b"\0", forgery.db.execute("SELECT body FROM record WHERE type = 'estimate' AND"
                                                                 " log = 1").fetchone()[0].encode()),))
            self.assert_found(path)

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
        with forge.Forgery(path) as forgery:
            cell = {"campaign": {"record": forgery.db.execute(
                "SELECT lower(hex(digest)) FROM record WHERE type = 'campaign'").fetchone()[0]}, "cell": 1}
        cases = [("comparison", n, change) for n in kinds for change in (
            lambda body: body.update(verdict="x"), lambda body: body.update(kind="x"),
            lambda body: body.update(a={**body["b"], "cell": 3 - int(body["a"]["cell"])} if "a" in body else cell),
            lambda body: body.update(b={**body["a"], "cell": 3 - int(body["b"]["cell"])} if "b" in body else cell))]
        for table, number, change in cases:
            with open(path, "wb") as file:
                file.write(good)
            with forge.Forgery(path) as forgery:
                row = forgery.bodies(table)[number - 1][1]
                forgery.edit(table, lambda body, row=row, change=change: change(body) if body == row else False)
                forgery.rewrite()
            for found in self.both(path):
                self.assertIn((table, table, str(number)), found, kinds.get(number))

    def test_references_forged_with_the_log(self):
        """A record that refers to a missing one, or to one that comes later."""
        for kind in ("beyond", "gone", "later"):
            with self.subTest(kind):
                path = self.copy()
                with forge.Forgery(path) as forgery:
                    if kind == "gone":
                        forgery.drop("id = (SELECT max(id) FROM record WHERE type = 'readings' AND log = 1)")
                    else:
                        other = "5a" * 32 if kind == "beyond" else forgery.db.execute(
                            "SELECT lower(hex(digest)) FROM record WHERE log = 1 ORDER BY id DESC").fetchone()[0]
                        forgery.edit("trial", lambda body, other=other: body.update(begin={"record": other}))
                    forgery.rewrite()
                for found in self.both(path):
                    self.assertIn(("row", "record"), {f[:2] for f in found})


if __name__ == "__main__":
    unittest.main()
