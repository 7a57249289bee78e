"""The buyer's walk: a nonce, a plan that two witnesses see before its first trial, the run, the bundle, and
its verification offline by both verifiers; what each step is worth when it is left out."""

import base64
import hashlib
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import unittest  # noqa: E402

try:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
except ImportError:
    print("skipped: the second verifier needs python3-cryptography")
    sys.exit(77)

import forge  # noqa: E402
import verify  # noqa: E402
import verify_bundle  # noqa: E402
from assay_cli import ASSAY, CliTest, run_tests, wait_until  # noqa: E402

NONCE = "order 4711"
FOREIGN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "foreign_worker.py")


def seed_of(declared, nonce):
    text = "assay-seed/1\n%d\n%s" % (declared, nonce)
    return str(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


class WitnessTest(CliTest):
    """A lab and two witnesses, each with a folder and a key of its own; the buyer's roster."""

    def setUp(self):
        super().setUp()
        self.public = {name: self.make_key(name) for name in ("lab", "watch", "notary")}
        self.roster = self.write_roster()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def make_key(self, name):
        os.makedirs(self.path(name))
        call = self.assay("key", "new", name, "--file", self.path(name, "key"), "--json")
        self.assertEqual(call.status, 0, call.err)
        return call.json()["public_key"]

    def write_roster(self, name="roster", lab="", watch="", notary="", leave_out=()):
        words = {"lab": "author " + lab, "watch": "witness " + watch, "notary": "witness " + notary}
        return self.write(name, "# whom the buyer trusts\n" + "".join(
            "%s %s\n" % (self.public[who], words[who]) for who in words if who not in leave_out))

    def good(self, *words, **environment):
        call = self.assay(*words, **environment)
        self.assertEqual(call.status, 0, call.err)
        return call

    def plan(self, *words):
        return self.good("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--plan-only",
                         "--key", self.path("lab", "key"), "--db", self.db, "--json", *words).json()

    def run_plan(self, *words, **environment):
        return self.assay("run", "--plan", "last", "--key", self.path("lab", "key"), "--db", self.db, "--quiet",
                          *words, **environment)

    def note(self, *words):
        name = self.path("head.note")
        self.good("checkpoint", "export", "-o", name, "--db", self.db, *words)
        return name

    def witness(self, who, note, *words):
        return self.assay("witness", "--key", self.path(who, "key"), "--state", self.path(who, "seen"), note,
                          *words)

    def take(self, answer, *words, roster=None):
        return self.assay("checkpoint", "import", self.write("answer", answer), "--roster",
                          roster or self.roster, "--db", self.db, *words)

    def cosign(self, who, *words):
        answer = self.witness(who, self.note(*words), "--log-key", self.public["lab"])
        self.assertEqual(answer.status, 0, answer.err)
        call = self.take(answer.out, *words)
        self.assertEqual(call.status, 0, call.err)
        return answer.out

    def bundle(self):
        name = self.path("offer.assay")
        if os.path.exists(name):
            os.remove(name)
        self.good("bundle", "last", "-o", name, "--db", self.db, ASSAY_KEY=self.path("lab", "key"))
        return name

    def both(self, path, *words, roster=None, witnesses=0, **theirs):
        """Whether each verifier is content, and the text of ours."""
        roster = roster or self.roster
        call = self.assay("verify", path, "--roster", roster, *(
            ("--witnesses", str(witnesses)) if witnesses else ()), *words)
        kind = verify_bundle.Bundle if path.endswith(".assay") else verify.Verifier
        with open(roster, encoding="utf-8") as file:
            found = kind(path, roster=file.read(), witnesses=witnesses, **theirs).run()
        self.assertEqual(call.status, 1 if found else 0, (call.out, call.err, found))
        return call.status == 0, call.out


class Walk(WitnessTest):
    def test_all_steps(self):
        plan = self.plan("--nonce", NONCE)
        self.assertEqual(self.query("SELECT event FROM campaign_event"), [("planned",)])
        self.assertEqual(self.query("SELECT count(*) FROM trial"), [(0,)])
        head = "%d:%s" % (plan["size"], plan["root"])
        self.cosign("watch")
        self.cosign("notary")
        call = self.run_plan()
        self.assertEqual(call.status, 0, call.err)
        bundle = self.bundle()
        os.rename(self.db, self.path("away.db"))  # offline: the bundle, the roster, what the buyer kept
        for path in (bundle, self.path("away.db")):
            good, out = self.both(path, "--nonce", NONCE, "--expect-head", head, witnesses=2, nonce=NONCE,
                                  head=head)
            self.assertTrue(good, out)
            self.assertRegex(out, "was witnessed before its first trial: by watch at 20[0-9T:-]+Z, notary at ")
            self.assertIn("Does not show that the signer's machine measured honestly", " ".join(out.split()))
            (campaign,) = self.good("verify", path, "--roster", self.roster, "--json").json()["campaigns"]
            self.assertEqual(campaign["campaign"], plan["campaign"])
            self.assertTrue(campaign["witnessed_before_first_trial"])
            self.assertEqual([w["name"] for w in campaign["witnesses"]], ["watch", "notary"])
            for witness in campaign["witnesses"]:
                self.assertTrue(witness["before_first_trial"])
                self.assertLessEqual(int(witness["utc_ns"]), int(campaign["first_trial_utc_ns"]))
        # The data follow from the nonce; both verifiers have derived the seed.
        self.db = self.path("away.db")
        declared = int(self.query("SELECT json_extract(body, '$.seed') FROM content JOIN campaign ON protocol ="
                                  " digest")[0][0])
        self.assertEqual(self.query("SELECT seed FROM cell"), [(seed_of(declared, NONCE),)])
        # Who imports the bundle has the campaign with its witnesses.
        self.db = self.path("buyer.db")
        self.good("import", bundle, "--db", self.db)
        self.assertTrue(self.both(self.db, witnesses=2)[0])

    def test_each_step_left_out(self):
        # No nonce.
        self.plan()
        # One witness only; the other comes after the trials.
        self.cosign("watch")
        self.assertEqual(self.run_plan().status, 0)
        began = self.query("SELECT min(started_utc_ns) FROM trial")[0][0]
        wait_until(lambda: time.time_ns() > began + 10 ** 9)
        self.cosign("notary", "--number", "1")
        path = self.bundle()
        for file in (path, self.db):
            self.assertTrue(self.both(file, witnesses=1)[0])
            good, out = self.both(file, witnesses=2)
            self.assertFalse(good)
            self.assertRegex(out, "by watch at [^;]*; too late by notary at [^;]*; 2 witnesses are asked for, and "
                                  "1 counted")
            self.assertFalse(self.both(file, "--nonce", NONCE, nonce=NONCE)[0])
            # A reader who does not know a witness, or no longer trusts one, does not count it.
            good, out = self.both(file, roster=self.write_roster("few", leave_out=("watch",)), witnesses=1)
            self.assertFalse(good)
            self.assertIn("keys that no roster names", out)
            for dates, says in (("revoked=2020-05-01", "the key of watch was revoked on 2020-05-01"),
                                ("expires=2020-05-01", "the key of watch had expired on 2020-05-01"),
                                ("not-before=2200-01-01", "the key of watch is trusted only from 2200-01-01")):
                good, out = self.both(file, roster=self.write_roster("dated", watch=dates), witnesses=1)
                self.assertFalse(good)
                self.assertIn(says, out)
            # So it is with who measured it.
            for dates in ("revoked=2020-05-01", "expires=2020-05-01", "not-before=2200-01-01"):
                self.assertFalse(self.both(file, roster=self.write_roster("dated", lab=dates))[0])
            self.assertTrue(self.both(file, roster=self.write_roster("dated", lab="revoked=2200-01-01"))[0])
            # Without an author nobody is asked whose results these are.
            self.assertTrue(self.both(file, roster=self.write_roster("few", leave_out=("lab",)), witnesses=1)[0])
        self.assertIn("had expired on", self.assay("verify", self.db, "--roster", self.write_roster(
            "dated", lab="expires=2020-05-01")).out)
        self.assertEqual(self.assay("verify", self.db, "--roster", self.roster, "--witnesses", "3").status, 2)
        self.assertEqual(self.assay("verify", self.db, "--witnesses", "1").status, 2)

    def test_not_witnessed_at_all(self):
        call = self.good("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db,
                         "--key", self.path("lab", "key"))
        for file in (self.bundle(), self.db):
            good, out = self.both(file)
            self.assertTrue(good, call.err)
            self.assertIn("was not witnessed before its first trial: its head has no cosignature", out)
            good, out = self.both(file, witnesses=1)
            self.assertFalse(good)
            # Without a roster nothing is said of witnesses.
            self.assertNotIn("witnessed", self.assay("verify", file).out)
        # What is called an import, and has trials, was measured here.
        with forge.Forgery(self.db) as forgery:
            (campaign,) = forgery.db.execute("SELECT lower(hex(digest)) FROM record WHERE type = 'campaign'").fetchone()
            forgery.enter({"type": "import", "campaign": {"record": campaign}, "sha256": "00" * 32, "file": "x",
                           "size": 1, "format": "csv", "program": "x"})
        self.assertIn("1 witnesses are asked for, and 0 counted", self.both(self.db, witnesses=1)[1])
        with open(self.roster, encoding="utf-8") as file:
            found = verify.Verifier(self.db, roster=file.read(), witnesses=1).run()
        self.assertTrue([f for f in found if "was not witnessed" in f[3]], found)

    def test_reproduced_with_the_same_data(self):
        worker = {"ASSAY_WORKER": FOREIGN, "FOREIGN_NS": "1000000"}
        words = ("run", "synthetic", "--device", "null:0", "--protocol", self.write("e.yaml", self.EVIDENCE),
                 "--db", self.db, "--quiet", "--key", self.path("lab", "key"), "--nonce")
        self.good(*words, NONCE, **worker)
        first = self.query("SELECT substr(uid, 1, 8) || '/1' FROM campaign")[0][0]
        self.good("reproduce", first, "--db", self.db, **worker)
        self.assertEqual(self.query("SELECT DISTINCT seed FROM cell"), [(seed_of(20261120, NONCE),)])
        plans = self.query("SELECT json_extract(body, '$.nonce'), json_extract(body, '$.reproduces.nonce') FROM"
                           " campaign JOIN content ON digest = plan ORDER BY id")
        self.assertEqual((plans[0], set(plans[1:])), ((NONCE, None), {(None, NONCE)}))
        # Other data of the same kind compare, and the difference is named.
        self.good(*words, "another", **worker)
        last = self.query("SELECT substr(uid, 1, 8) || '/1' FROM campaign ORDER BY id DESC LIMIT 1")[0][0]
        judged = self.good("compare", first, last, "--json", "--db", self.db).json()["comparability"]
        self.assertEqual(judged["verdict"], "comparable_except", judged["reasons"])
        self.assertIn("identity.seed", judged["except"])
        self.assertFalse(verify.Verifier(self.db).run())
        self.good("verify", self.db)

    def test_forged_cosignatures(self):
        """What the file's owner can do to the rows."""
        self.plan()
        line = self.cosign("watch")
        self.assertEqual(self.run_plan().status, 0)
        blob = base64.b64decode(line.split(" ")[2])[4:]
        (number,) = self.query("SELECT id FROM signature WHERE length(signature) = 72")[0]
        for forged in (blob[:7] + bytes([blob[7] ^ 1]) + blob[8:], blob[:-1] + bytes([blob[-1] ^ 1]), blob[8:],
                       blob[:71], bytes(72), b"\xff" * 8 + blob[8:]):
            with open(self.db, "rb") as file:
                copy = self.path("copy.db")
                with open(copy, "wb") as other:
                    other.write(file.read())
            with forge.Forgery(copy) as forgery:
                forgery.edit("signature", lambda body, forged=forged: len(body["signature"]) == 144 and
                             body.update(signature=forged.hex()))
                forgery.rewrite(kept=("signature",))
            good, out = self.both(copy)
            self.assertFalse(good)
            self.assertIn("signature %d" % number, out)


class Plans(WitnessTest):
    def test_runs_exactly_the_plan(self):
        self.plan("--order-seed", "7", "--question", "why")
        before = self.query("SELECT plan, uid FROM campaign")
        self.assertEqual(self.run_plan().status, 0)
        self.assertEqual(self.query("SELECT plan, uid FROM campaign"), before)
        self.assertEqual(self.query("SELECT kind FROM checkpoint ORDER BY id"), [("plan",), ("end",)])
        self.assertEqual([e for (e,) in self.query("SELECT event FROM campaign_event ORDER BY id")],
                         ["planned", "started", "finished"])
        call = self.run_plan()
        self.assertEqual(call.status, 4)
        self.assertRegex(call.err, "was started already; `assay run --resume [0-9a-f]{8} --db \S+` goes on with it")

    def test_refuses_another_program(self):
        self.plan()
        other = self.path("other")
        with open(ASSAY, "rb") as file, open(other, "wb") as copy:
            copy.write(file.read() + b"\n")
        os.chmod(other, 0o755)
        done = subprocess.run([other, "run", "--plan", "last", "--db", self.db], cwd=self.folder, text=True,
                              capture_output=True, env=self.environment(), check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("another file", done.stderr)
        self.assertEqual(self.query("SELECT count(*) FROM trial"), [(0,)])

    def test_refuses_another_declaration(self):
        text = ("workload: mine\nversion: 1\nkind: synthetic\ndescription: Of a user\nprecisions: [fp32]\n"
                "batches: [1]\nscenario: offline\nsynthetic:\n  launches: 1\n  elements: 4096\n")
        self.write("mine.yaml", text)
        self.good("run", "./mine.yaml", "--device", "null:0", "--protocol", self.fast(), "--plan-only", "--db",
                  self.db)
        self.write("mine.yaml", text.replace("version: 1", "version: 2"))
        call = self.run_plan()
        self.assertEqual(call.status, 4)
        self.assertIn("mine.yaml has changed since it was planned", call.err)
        self.write("mine.yaml", "# the same, with a comment\n" + text)
        self.assertEqual(self.run_plan().status, 0)

    def test_refuses_another_ledger(self):
        self.plan()
        with forge.Forgery(self.db) as forgery:
            (number, body) = forgery.bodies("event")[0]
            digest, salt, text = forgery.digest({**body, "utc_ns": str(int(body["utc_ns"]) + 1)})
            forgery.db.execute("UPDATE record SET digest = ?, salt = ?, body = ? WHERE id = ?",
                               (digest, salt, text, number))
        call = self.run_plan()
        self.assertEqual(call.status, 4)
        self.assertIn("does not give the root of the plan's head", call.err)

    def test_resume_runs_it_too(self):
        self.plan()
        self.good("run", "--resume", "last", "--db", self.db)
        self.assertEqual([e for (e,) in self.query("SELECT event FROM campaign_event ORDER BY id")],
                         ["planned", "started", "finished"])
        self.assertTrue(self.assay("verify", self.db).status == 0)

    def test_words(self):
        for words, says in ((("--plan", "last", "triad"), 'leave out "triad"'),
                            (("--plan", "last", "--nonce", "x"), 'leave out "--nonce"'),
                            (("--plan", "last", "--resume", "last"), "leave one out"),
                            (("triad", "--plan-only", "--witness-command", "x", "--witnesses", "1", "--roster",
                              self.roster), "leave out --witness-command"),
                            (("triad", "--witness-command", "x"), "go together"),
                            (("triad", "--witness-command", "x", "--witnesses", "3", "--roster", self.roster),
                             "from 1 to 2")):
            call = self.assay("run", *words, "--db", self.db)
            self.assertEqual(call.status, 2, call.err)
            self.assertIn(says, call.err)
        self.assertFalse(os.path.exists(self.db))


class Notes(WitnessTest):
    def test_import(self):
        self.plan()
        note = self.note()
        answer = self.witness("watch", note).out
        with open(note, encoding="utf-8") as file:
            whole = file.read()
        self.assertEqual(self.take(whole + answer).out.strip(),
                         "Checkpoint 1: 1 signatures stored, 1 were here before.")
        for text in (whole + answer, answer, self.note_text()):
            self.assertIn("0 signatures stored", self.take(text).out)
        self.assertEqual(self.query("SELECT role, name, length(signature) FROM signature ORDER BY id"),
                         [("author", "lab", 64), ("witness", "watch", 72)])
        later = self.witness("watch", note).out
        self.assertIn("0 signatures stored", self.take(later).out)  # one of a key: the first

    def note_text(self):
        return self.good("checkpoint", "export", "--db", self.db).out

    def test_import_refuses(self):
        self.plan()
        text = self.note_text()
        answer = self.witness("watch", self.note()).out
        lines = text.split("\n")
        other = base64.b64encode(bytes(32)).decode()
        for changed, says in (
                (text.replace(lines[0], "assay-log/" + "0" * 32), "is of another log"),
                (text.replace("\n%s\n" % lines[1], "\n%d\n" % (int(lines[1]) + 1)), "no checkpoint of that size"),
                (text.replace(lines[2], other), "has another root"),
                (text.replace("plan ", "end "), "last line is another"),
                ("", "not a signed note"), ("hello\n", "not a signed note"), (text.split("\n\n")[0] + "\n\n",
                                                                       "no signature in it"),
                (text + "hello\n", "neither a signed note")):
            call = self.take(changed)
            self.assertEqual(call.status, 2, changed)
            self.assertIn(says, call.err)
        # One that is wrong is named, and does not keep a good one out.
        forged = self.flip(self.witness("notary", self.note()).out)
        call = self.take(text + forged + answer)
        self.assertEqual(call.status, 2)
        self.assertIn("the signature of notary is wrong", call.err)
        self.assertEqual(self.query("SELECT name FROM signature ORDER BY id"), [("lab",), ("watch",)])
        # A key that the roster does not have cannot be checked.
        call = self.take(self.witness("notary", self.note()).out,
                         roster=self.write_roster("few", leave_out=("notary",)))
        self.assertEqual(call.status, 0)
        self.assertIn("keys that the roster does not have (the first: notary)", call.err)
        # Nor does one count that is used as something else, or out of its time.
        swapped = self.write("swapped", "%s author\n" % self.public["notary"])
        call = self.take(self.witness("notary", self.note()).out, roster=swapped)
        self.assertIn("has notary as an author", call.err)
        call = self.take(self.witness("notary", self.note()).out,
                         roster=self.write_roster("dated", notary="expires=2020-01-01"))
        self.assertIn("does not count: the key had expired on 2020-01-01", call.err)
        call = self.assay("checkpoint", "import", self.write("answer", answer), "--db", self.db)
        self.assertIn("--roster", call.err)

    @staticmethod
    def flip(line):
        dash, name, blob = line.split(" ")
        blob = bytearray(base64.b64decode(blob))
        blob[-1] ^= 1
        return "%s %s %s\n" % (dash, name, base64.b64encode(blob).decode())

    def test_witness_follows_a_log(self):
        self.plan()
        self.cosign("watch")
        self.assertEqual(self.run_plan().status, 0)
        kept = self.good("witness", "--kept", "--state", self.path("watch", "seen"), self.note()).out.strip()
        self.assertEqual(kept, str(self.query("SELECT size FROM checkpoint WHERE id = 1")[0][0]))
        # A later head only with the proof that it continues the one before.
        call = self.witness("watch", self.note())
        self.assertEqual((call.status, call.out), (4, ""))
        self.assertIn("--since " + kept, call.err)
        answer = self.witness("watch", self.note("--since", kept))
        self.assertEqual(answer.status, 0, answer.err)
        self.assertIn("1 signatures stored", self.take(answer.out).out)
        # An older one is refused.
        self.assertEqual(self.witness("watch", self.note("--number", "1")).status, 4)
        # Another key than the log's.
        call = self.witness("notary", self.note(), "--log-key", self.public["watch"])
        self.assertEqual(call.status, 4)
        self.assertIn("is not signed by the log's key", call.err)
        self.assertEqual(self.assay("checkpoint", "export", "--since", "999999", "--db", self.db).status, 2)

    def test_witness_finds_a_rewritten_log(self):
        self.plan()
        self.cosign("watch")
        kept = self.good("witness", "--kept", "--state", self.path("watch", "seen"), self.note()).out.strip()
        with forge.Forgery(self.db) as forgery:
            forgery.edit("event", lambda body: body.update(utc_ns=str(int(body["utc_ns"]) + 1)))
            forgery.rewrite()
        self.good("checkpoint", "--unsigned", "--db", self.db)
        call = self.witness("watch", self.note("--since", kept))
        self.assertEqual(call.status, 4)
        self.assertIn("does not continue", call.err)

    def test_witness_by_the_database(self):
        """`checkpoint --witness` makes the same cosignature."""
        self.plan()
        self.good("checkpoint", "--witness", self.path("watch", "key"), "--db", self.db)
        call = self.assay("checkpoint", "--witness", self.path("watch", "key"), "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("cosigned by watch already", call.err)
        self.assertTrue(self.both(self.db, witnesses=1)[0])


class AskingTest(WitnessTest):
    """--witness-command."""

    def asking(self, command, count=1):
        return ("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db, "--quiet",
                "--key", self.path("lab", "key"), "--witness-command", command, "--witnesses", str(count),
                "--roster", self.roster)

    def by(self, who):
        return "%s witness --key %s --state %s" % (ASSAY, self.path(who, "key"), self.path(who, "seen"))


class Commands(AskingTest):
    def test_holds_until_enough_have_signed(self):
        both = "tee %s | %s; %s < %s" % (self.path("n"), self.by("watch"), self.by("notary"), self.path("n"))
        call = self.good(*self.asking(both, 2))
        self.assertIn("2 witnesses have cosigned the plan: watch, notary", call.err)
        self.assertTrue(self.both(self.db, witnesses=2)[0])
        # The next plan of this ledger: a witness's state asks for a proof, which the command can get.
        proof = "note=$(cat); old=$(echo \"$note\" | %s --kept); %s checkpoint export --number " \
            "$ASSAY_CHECKPOINT --since $old | %s" % (self.by("watch"), ASSAY, self.by("watch"))
        self.good(*self.asking(proof))
        self.assertTrue(self.both(self.db, witnesses=1)[0])

    def test_interrupted_without_loss(self):
        run = self.start(*self.asking("%s; exit 3" % self.by("watch"), 2))
        err = ""
        while "asking again" not in err:
            err += wait_until(run.stderr.readline)
        self.assertIn("1 of 2 witnesses have cosigned the plan (watch)", err)
        self.assertIn("ended with status 3", err)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate()
        self.assertEqual(run.returncode, 130, out)
        self.assertIn("no trial has run", err)
        self.assertEqual(self.query("SELECT count(*) FROM trial"), [(0,)])
        self.assertEqual([e for (e,) in self.query("SELECT event FROM campaign_event")], ["planned"])
        call = self.run_plan("--witness-command", self.by("notary"), "--witnesses", "2", "--roster", self.roster)
        self.assertEqual(call.status, 0, call.err)
        self.assertTrue(self.both(self.db, witnesses=2)[0])
        call = self.assay("run", "--resume", "last", "--witness-command", "x", "--witnesses", "1", "--roster",
                          self.roster, "--db", self.db)
        self.assertEqual(call.status, 4)
        self.assertIn("can no longer be witnessed", call.err)

    def test_hostile_commands(self):
        """Each fails the first time, with its reason; the second time it is a witness."""
        forged = "%s | sed 's/.....==$/AAAAA==/;s/....$/AAAA/'" % self.by("notary")
        for command, says in (("true", "it answered nothing"), ("exit 9", "status 9"), ("kill -9 $$", "signal 9"),
                              ("while :; do echo yes; done", "writes more than"), ("echo hello", "not a signed note"),
                              ("printf 'a\\0b'", "is not text"), ("cat", "no others have answered"),
                              (forged, "notary"), ("/no/such", "status 127")):
            with self.subTest(command=command):
                self.new_db()
                for name in ("watch", "notary"):
                    if os.path.exists(self.path(name, "seen")):
                        os.remove(self.path(name, "seen"))
                mark = self.path("mark")
                if os.path.exists(mark):
                    os.remove(mark)
                call = self.assay(*self.asking("if [ -e %s ]; then %s; else : > %s; %s; fi" % (
                    mark, self.by("watch"), mark, command)))
                self.assertEqual(call.status, 0, call.err)
                self.assertIn("no trial begins yet: 0 of 1 witnesses", call.err)
                self.assertIn(says, call.err)
                self.assertEqual(self.query("SELECT c.kind, s.name FROM signature s JOIN checkpoint c ON c.id ="
                                            " s.checkpoint WHERE length(s.signature) = 72 ORDER BY c.id"),
                                 [("plan", "watch"), ("end", "watch")])


class BothEnds(AskingTest):
    """The witness sees the end, too: the time that passed by its clock is known."""

    def at_the_end(self, offset):
        """A witness of its own making, whose clock is another at the end."""
        return "%s %s" % (sys.executable, self.write("watch.py", r"""import base64, hashlib, sys, time
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
name, _, seed = open(%r).read().strip().split("+", 4)[2:]
key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(seed)[1:33])
public = key.public_key().public_bytes(form.Encoding.Raw, form.PublicFormat.Raw)
parts = sys.stdin.read().split("\n\n")
body = parts[1 if parts[0].startswith("old ") else 0] + "\n"
seconds = int(time.time()) + (%d if "\nend " in body else 0)
blob = hashlib.sha256(name.encode() + b"\n\4" + public).digest()[:4] + seconds.to_bytes(8, "big") + key.sign(
    ("cosignature/v1\ntime %%d\n" %% seconds + body).encode())
print("\u2014 %%s %%s" %% (name, base64.b64encode(blob).decode()))
""" % (self.path("watch", "key"), offset)))

    def test_both_ends(self):
        call = self.good(*self.asking(self.by("watch")))
        self.assertIn("1 witnesses have cosigned the end: watch", call.err)
        for file in (self.bundle(), self.db):
            good, out = self.both(file, witnesses=1)
            self.assertTrue(good, out)
            self.assertRegex(out, r"its end was witnessed by watch at 20[0-9T:-]+Z, [0-9]+ s after the plan "
                                  r"\([0-9.]+ to [0-9.]+ s by the file's clock\)")
            (witness,) = self.good("verify", file, "--roster", self.roster, "--json").json()["campaigns"][0]["witnesses"]
            elapsed = int(witness["end_utc_ns"]) - int(witness["utc_ns"])
            self.assertLess(int(witness["elapsed_least_ns"]) - 2 * 10 ** 9, elapsed)
            self.assertGreater(int(witness["elapsed_most_ns"]) + 2 * 10 ** 9, elapsed)

    def test_clock_that_is_another(self):
        """The file's clock lost 40 s, or won as many, between plan and end: so it is where the witness's did the reverse."""
        for offset in (40, -40):
            self.new_db()
            self.good(*self.asking(self.at_the_end(offset)))
            self.good("verify", self.db)
            for file in (self.bundle(), self.db):
                good, out = self.both(file)
                self.assertFalse(good)
                self.assertRegex(out, r"wrong: .* between the witnessed heads of its plan and its end there were -?[34][0-9] s "
                                      r"by the clock of watch, [0-9.]+ to [0-9.]+ s by the file's")
                self.assertTrue(self.both(file, roster=self.write_roster("few", leave_out=("watch",)))[0])
        self.new_db()
        self.good(*self.asking(self.at_the_end(0)))
        self.assertTrue(self.both(self.db, witnesses=1)[0])

    def test_end_without_an_answer(self):
        """What is measured is kept; the end can be cosigned later, and the file's clock says how much later."""
        call = self.good(*self.asking("note=$(cat); case $note in old*) exit 7;; esac; echo \"$note\" | " + self.by("watch")))
        self.assertRegex(call.err, "0 of 1 witnesses have cosigned the end .*status 7")
        good, out = self.both(self.db, witnesses=1)
        self.assertTrue(good, out)
        self.assertNotIn("its end was witnessed", out)
        self.cosign("watch", "--since", re.search("--since ([0-9]+)", call.err)[1])
        self.assertRegex(self.both(self.db, witnesses=1)[1], "its end was witnessed by watch")


class Signer(WitnessTest):
    def test_signer(self):
        """A key that assay never sees: a script signs, as a token's program would."""
        public = ""
        while "+" not in public:  # in base64, too, which must not be taken for the other form
            key = Ed25519PrivateKey.generate()
            public = base64.b64encode(key.public_key().public_bytes(
                serialization.Encoding.Raw, serialization.PublicFormat.Raw)).decode()
        raw = key.private_bytes(serialization.Encoding.Raw, serialization.PrivateFormat.Raw,
                                serialization.NoEncryption())
        script = self.write("sign.py", "import base64, sys\n"
                            "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey\n"
                            "key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(%r))\n"
                            "print(base64.b64encode(key.sign(sys.stdin.buffer.read())).decode())\n" % raw.hex())
        command = "%s %s" % (sys.executable, script)
        path = self.path("token.key")
        for words, says in ((("--signer", command), "--public"),
                            (("--signer", "cat", "--public", public), "no signature"),
                            (("--signer", "exit 4", "--public", public), "status 4"),
                            (("--signer", command, "--public", self.public["lab"]), "not its signature"),
                            (("--signer", command, "--public", public, "--passphrase"), "no key to protect")):
            call = self.assay("key", "new", "token", "--file", path, *words)
            self.assertEqual(call.status, 2 if "status" not in says else call.status, call.err)
            self.assertNotEqual(call.status, 0)
            self.assertIn(says, call.err)
            self.assertFalse(os.path.exists(path))
        shown = self.good("key", "new", "token", "--file", path, "--signer", command, "--public", public,
                          "--json").json()["public_key"]
        self.assertEqual(self.good("key", "show", "--file", path).out.strip(), shown)
        self.public["lab"] = shown
        self.roster = self.write_roster()
        self.good("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db, "--key",
                  path)
        bundle = self.path("offer.assay")
        self.good("bundle", "last", "-o", bundle, "--db", self.db, ASSAY_KEY=path)
        for file in (bundle, self.db):
            self.assertTrue(self.both(file)[0])
        # It fails later: nothing is signed, and the reason is said.
        self.write("sign.py", "import sys\nsys.exit('the token is not here')\n")
        before = self.query("SELECT count(*) FROM checkpoint")
        call = self.assay("checkpoint", "--key", path, "--db", self.db)
        self.assertNotEqual(call.status, 0)
        self.assertIn("ended with status 1", call.err)
        self.assertIn("the token is not here", call.err)
        self.assertEqual(self.query("SELECT count(*) FROM checkpoint"), before)


if __name__ == "__main__":
    run_tests()
