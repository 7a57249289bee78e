"""bundle, verify, withhold: a campaign handed over in one file."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, CliTest  # noqa: E402
from test_import import ROW  # noqa: E402

try:
    import cryptography  # noqa: F401
    import verify_bundle
except ImportError:
    verify_bundle = None
    print("the second verifier needs python3-cryptography: its part is left out")
HOST = "host-of-a-test"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def everything_in(value):
    """All bytes that a value holds, also in JSON within strings, in hex, base64 and compressed."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield name.encode()
            yield from everything_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from everything_in(part)
    elif isinstance(value, str):
        yield value.encode()
        for read_in in (json.loads, bytes.fromhex, lambda t: base64.b64decode(t, validate=True)):
            try:
                inner = read_in(value)
            except ValueError:
                continue
            if isinstance(inner, bytes):
                yield from unpacked(inner)
            elif isinstance(inner, (dict, list, str)):
                yield from everything_in(inner)
    else:
        yield str(value).encode()


def unpacked(data):
    yield data
    for wbits in (15, 31, -15):
        try:
            yield zlib.decompress(data, wbits)
        except zlib.error:
            pass


class Bundle(CliTest):
    def setUp(self):
        super().setUp()
        self.key = os.path.join(self.folder, "key")
        self.file = os.path.join(self.folder, "offer.assay")

    def environment(self, **changes):
        return super().environment(**{"ASSAY_KEY": self.key, **changes})

    def make(self, *words, campaigns=("last",)):
        call = self.assay("bundle", *campaigns, "-o", self.file, "--db", self.db, "--json", *words)
        self.assertEqual(call.status, 0, call.err)
        return call.json()

    def verify(self, *words, path=None):
        return self.assay("verify", path or self.file, "--json", *words)

    def wrong(self, *words, path=None):
        call = self.verify(*words, path=path)
        self.assertIn(call.status, (0, 1), call.err)
        return [f["message"] for f in call.json()["findings"] if f["level"] == "wrong"]

    def assert_good(self, *words, path=None):
        self.assertEqual(self.wrong(*words, path=path), [])
        if path is None and verify_bundle:
            self.assertEqual(verify_bundle.Bundle(self.file).run(), [])

    def notes(self, path=None):
        return [f["message"] for f in self.verify(path=path).json()["findings"] if f["level"] == "note"]

    def test_facts_are_no_cover(self):
        """A trial without its warmup, whose facts are withheld: what needs no facts is judged."""
        if not verify_bundle:
            self.skipTest("needs python3-cryptography")
        import forge
        import verify_body
        self.measure()
        with forge.Forgery(self.db) as forgery:
            forgery.edit("trial", {"window_first": verify_body.Number("0")})
            forgery.rewrite()
        self.make("--withhold", "trial.facts")
        self.assertIn("was not measured as its protocol says: warmup.iterations", " ".join(self.wrong()))
        self.assertIn("breaks its protocol: warmup.iterations",
                      " ".join(str(found) for found in verify_bundle.Bundle(self.file).run()))

    def measure(self, *words):
        call = self.run_synthetic(*words)
        self.assertEqual(call.status, 0, call.err)

    def new_key(self, name="vendor"):
        call = self.assay("key", "new", name, "--file", self.key, "--json")
        self.assertEqual(call.status, 0, call.err)
        return call.json()["public_key"]

    def uids(self):
        return [uid for (uid,) in self.query("SELECT uid FROM campaign ORDER BY id")]

    def taken(self, *files):
        """A new database with what the bundles have."""
        self.new_db()
        for file in files or (self.file,):
            call = self.assay("import", file, "--db", self.db)
            self.assertEqual(call.status, 0, call.err)

    def assert_nowhere(self, value):
        for line in read(self.file).splitlines():
            self.assertFalse([i[:200] for i in everything_in(json.loads(line)) if value in i], value)

    def assert_shown(self):
        """What commands show of a database with withheld values."""
        for row in self.assay("results", "--json", "--db", self.db).json():
            for words in (("show", row["id"]), ("show", row["id"], "--json"), ("export", "json", row["id"]),
                          ("export", "csv", row["id"]), ("results",), ("report", "--html", "page.html"),
                          ("report", "--dossier", "dossier.html")):
                call = self.assay(*words, "--db", self.db)
                self.assertEqual(call.status, 0, (words, call.err))

    # ---- handed over

    def test_verified_elsewhere(self):
        self.measure()
        self.measure()
        report = self.make()
        self.assertFalse(report["signed"])
        self.assertEqual(report["sha256"], hashlib.sha256(read(self.file)).hexdigest())
        os.unlink(self.db)
        call = self.verify("--expect-head", f"{report['size']}:{report['root']}")
        self.assertEqual(call.status, 0, call.out)
        self.assertTrue(call.json()["verified"])
        self.assertEqual(call.json()["estimates"], 1)
        self.assertEqual(call.json()["root"], report["root"])
        self.assertEqual(self.verify("--expect-head", "0" * 64).status, 1)
        self.assert_good()

    def test_says_what_it_does_not_show(self):
        """How many records and campaigns of its log; how many of them are of the same plan."""
        for _ in range(3):
            self.measure()
        self.write("other.yaml", self.FAST.replace("trials: 2", "trials: 3"))
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", "./other.yaml", "--db",
                          self.db)
        self.assertEqual(call.status, 0, call.err)
        uids = self.uids()
        for campaigns, hidden in ((uids[1:2], 3), (uids[1:3], 2), (uids, 0)):
            with self.subTest(hidden=hidden):
                report = self.make(campaigns=campaigns)
                shown = self.verify().json()["shown"]
                (log,) = shown["logs"]
                self.assertEqual((log["records"], log["campaigns"]), (report["size"], 4))
                self.assertEqual((log["records_here"], log["campaigns_here"]),
                                 (report["records"], len(campaigns)))
                here = sum(uid != uids[3] for uid in campaigns)
                for one in shown["campaigns"]:
                    self.assertEqual((one["same_cells"], one["same_cells_here"]),
                                     (3, here) if one["uid"] != uids[3] else (1, 1))
                notes = " ".join(self.notes())
                self.assertEqual(f"of the {report['size']} records of its log are not shown; "
                                 f"{len(campaigns)} of its 4 campaigns are here" in notes,
                                 report["records"] < report["size"], notes)
                self.assertEqual("its log has 3 campaigns of the same plan, and %d of them" % here in notes,
                                 here < 3, notes)
        self.taken()
        self.assertEqual(len(self.verify(path=self.db).json()["shown"]["campaigns"]), 4)

    # ---- withheld

    def test_withheld_is_nowhere(self):
        self.measure()
        secret = self.environment()["ASSAY_NULL"].encode()
        self.make()
        self.assertTrue(secret in read(self.file))
        report = self.make("--withhold", "variable.ASSAY_NULL")
        self.assertGreater(report["withheld"], 0)
        self.assertFalse(secret in read(self.file))
        self.assertFalse(base64.b64encode(secret) in read(self.file))
        self.assert_nowhere(secret)
        self.assert_good()
        self.assertIn("values in its records are withheld: ", " ".join(self.notes()))
        self.assertGreaterEqual(self.verify().json()["shown"]["logs"][0]["withheld"]["variable.ASSAY_NULL"], 1)
        call = self.assay("bundle", "last", "-o", self.file, "--db", self.db, "--withhold", "no.thing")
        self.assertEqual(call.status, 2)
        self.assertIn("no.thing", call.err)

    def test_digests_stay(self):
        """With everything withheld that can be, records and roots are what they were."""
        self.measure()
        self.assertEqual(self.assay("amend", "last/1", "--reason", "loud", "--db", self.db).status, 0)
        there = {leaf: digest for leaf, digest in self.query("SELECT leaf, digest FROM record")}
        self.make("--withhold", "*")
        self.assert_good()
        self.taken()
        for leaf, digest in self.query("SELECT leaf, digest FROM record WHERE log = 2 AND leaf IN (SELECT"
                                       " leaf FROM record WHERE log = 2)"):
            self.assertEqual(there.get(leaf, digest), digest)
        self.assertEqual(self.wrong(path=self.db), [])
        self.assert_shown()
        self.assertEqual(self.query("SELECT DISTINCT command FROM campaign"), [("(withheld)",)])

    def test_host_name(self):
        """It is gone wherever it was: readings, command line, path, reason, name of the key."""
        path = os.path.join(self.folder, HOST)
        os.mkdir(path)
        with open(os.path.join(path, "fast.yaml"), "w", encoding="utf-8") as file:
            file.write(self.FAST)
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--uts", "sh", "-c",
             'echo %s > /proc/sys/kernel/hostname && exec "$@"' % HOST, "sh", ASSAY, "run", "synthetic",
             "--device", "null:0", "--protocol", f"./{HOST}/fast.yaml", "--db", self.db],
            cwd=self.folder, env=self.environment(), capture_output=True, text=True, check=False)
        if not os.path.exists(self.db):
            self.skipTest("no namespace of its own: " + done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.query("SELECT DISTINCT value FROM conditions WHERE name = 'host.name'"),
                         [(HOST,)])
        self.assertEqual(self.assay("amend", "last/1", "--reason", HOST + " was moved", "--by", "me@" + HOST,
                                    "--db", self.db).status, 0)
        self.make()
        self.assertGreater(read(self.file).count(HOST.encode()), 4)
        self.make("--withhold", "host.name")
        self.assert_nowhere(HOST.encode())
        self.assert_good()
        withheld = self.verify().json()["shown"]["logs"][0]["withheld"]
        for name in ("host.name", "campaign.command", "amendment.reason", "amendment.author"):
            self.assertIn(name, withheld)
        self.taken()
        self.assertEqual(self.wrong(path=self.db), [])
        self.assert_shown()
        self.assertFalse(HOST.encode() in read(self.db))
        self.db = os.path.join(self.folder, "test1.db")
        self.new_key(HOST)
        call = self.assay("bundle", "last", "-o", self.file, "--db", self.db, "--withhold", "host.name")
        self.assertEqual(call.status, 2)
        self.assertIn("in the name of the key that signs", call.err)

    def everything(self):
        """A database in which each member that can be withheld has a value of its own: {word: value}."""
        os.mkdir(os.path.join(self.folder, "declared-here"))
        with open(os.path.join(self.folder, "declared-here", "fast.yaml"), "w", encoding="utf-8") as file:
            file.write(self.EVIDENCE)
        for _ in range(2):
            call = self.assay("run", "synthetic", "--device", "null:0", "--protocol",
                              "declared-here/fast.yaml", "--quiet", "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
        self.write("secret-bench.json", json.dumps([ROW]))
        self.assertEqual(self.assay("import", "secret-bench.json", "--db", self.db).status, 0)
        uids = [uid[:8] for uid in self.uids()]
        self.assertEqual(self.assay("amend", uids[0] + "/1", "--reason", "the fan was loud", "--by",
                                    "an auditor", "--db", self.db).status, 0)
        self.assertEqual(self.assay("archive", uids[0], "--reason", "put away for good", "--db",
                                    self.db).status, 0)
        self.assertIn(self.assay("gate", uids[0] + "/1", uids[1] + "/1", "--db", self.db).status, (0, 1, 3))
        return {"amendment.reason": "the fan was loud", "amendment.author": "an auditor",
                "event.detail": "put away for good", "import.file": "secret-bench",
                "claim.body": "7100.25", "device.name": "null device", "device.uuid": "null-00000000",
                "campaign.command": "--quiet", "comparison.body": '"gate":{',
                "trial.facts": '"facts":{"conduct":',
                "stack.path": "/bin/assay", "dump.output": '"lscpu": ['}

    def test_every_member_can_be_withheld(self):
        """The withheld value occurs nowhere, the others do; it verifies, is imported and shown."""
        values = self.everything()
        campaigns = self.uids()
        self.make(campaigns=campaigns)
        inner = {i for line in read(self.file).splitlines() for i in everything_in(json.loads(line))}
        whole = b"\n".join([*inner, read(self.file)])
        here = {word: value.encode() for word, value in values.items() if value.encode() in whole}
        self.assertLessEqual(set(values) - set(here), {"dump.output"})  # no lscpu
        for word in here:
            with self.subTest(word):
                report = self.make("--withhold", word, campaigns=campaigns)
                self.assertGreater(report["withheld"], 0)
                self.assert_nowhere(here[word])
                self.assertFalse(here[word] in read(self.file))
                self.assert_good()
        self.make(*(w for word in here for w in ("--withhold", word)), campaigns=campaigns)
        self.assert_good()
        self.taken()
        self.assertEqual(self.wrong(path=self.db), [])
        self.assert_shown()
        self.assertEqual(self.query("SELECT file FROM import"), [("(withheld)",)])

    def test_patterns(self):
        self.write("e.yaml", self.EVIDENCE)
        call = self.assay("ab", "synthetic", "--protocol", "./e.yaml", "--a", "device=null:0", "--b",
                          "device=null:0", "--pairs", "5", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        for word in ("device.*", "host.*", "host.cpu.usable", "trial.*", "comparison.body", "*"):
            with self.subTest(word):
                self.make("--withhold", word)
                self.assert_good()
                here = self.db
                self.taken()
                self.assertEqual(self.wrong(path=self.db), [])
                self.db = here
        for word, said in (("host.name", "was recomputed, except for withheld values that do not "
                            "affect it: host.name"),
                           ("host.cpu.usable", "cannot be recomputed without withheld values: "
                            "host.cpu.usable; ask for a bundle that contains them")):
            self.make("--withhold", word)
            self.assertIn(said, " ".join(self.notes()))

    def test_what_cannot_be_withheld(self):
        """A value that is also where nothing can be left out: refused, with words."""
        self.measure()
        self.assertEqual(self.assay("amend", "last/1", "--reason", "synthetic", "--by", "me", "--db",
                                    self.db).status, 0)
        call = self.assay("bundle", "last", "-o", self.file, "--db", self.db, "--withhold", "amendment.reason")
        self.assertEqual(call.status, 2)
        self.assertIn("in a member that cannot be withheld", call.err)
        self.assertFalse(os.path.exists(self.file))
        for word in ("campaign.uid", "trial.status", "estimate.body", "event.event", "x"):
            call = self.assay("bundle", "last", "-o", self.file, "--db", self.db, "--withhold", word)
            self.assertEqual(call.status, 2, word)
            self.assertIn("neither a reading of these campaigns nor a member", call.err)

    def test_withheld_as_encoded_in_json(self):
        """The nonce is in the plan, within JSON, and verbatim in the command line."""
        nonce = 'ask "17" \\ \u00e4'
        self.measure("--nonce", nonce)
        self.make()
        self.assertTrue(any(nonce.encode() in inner for line in read(self.file).splitlines()
                            for inner in everything_in(json.loads(line))))
        self.assertEqual(self.assay("amend", "last/1", "--reason", nonce, "--by", "me", "--db",
                                    self.db).status, 0)
        self.make("--withhold", "amendment.reason")
        self.assert_nowhere(nonce.encode())
        self.assert_good()
        self.assertTrue(self.wrong("--nonce", nonce))  # the plan is withheld: it cannot be shown

    def test_results_of_another_program_withheld(self):
        self.write("secret-name.json", json.dumps([ROW]))
        self.assertEqual(self.assay("import", "secret-name.json", "--db", self.db).status, 0)
        digest = self.query("SELECT sha256 FROM import")[0][0]
        self.make()
        for known in (b"secret-name", digest.hex().encode(), b"7100.25"):
            self.assertTrue(known in read(self.file), known)
        report = self.make("--withhold", "import.file", "--withhold", "claim.body")
        self.assertGreaterEqual(report["withheld"], 4)
        for hidden in (b"secret-name", b"7100.25", digest.hex().encode(), base64.b64encode(digest)):
            self.assert_nowhere(hidden)
        self.assert_good()
        self.taken(self.file, self.file)
        self.assertEqual(self.wrong(path=self.db), [])
        self.assertEqual(self.query("SELECT file, sha256 = ? FROM import", digest), [("(withheld)", 0)])
        self.assert_shown()
        self.assertNotIn("7100", self.assay("results", "--db", self.db).out)
        # The file itself is another import: it cannot be known to be the same.
        self.assertEqual(self.assay("import", "secret-name.json", "--db", self.db).status, 0)

    # ---- taken in

    def test_imported_into_another_database(self):
        self.measure()
        self.make()
        here = self.db
        self.new_db()
        self.measure()  # numbers are taken
        count = None
        for known in (False, True):
            call = self.assay("import", self.file, "--db", self.db, "--json")
            self.assertEqual(call.status, 0, call.err)
            report = call.json()[0]
            self.assertEqual((report["known"], report["results"]), (known, 1))
            if known:
                self.assertEqual(self.query("SELECT count(*) FROM record"), count)
            count = self.query("SELECT count(*) FROM record")
        uid = self.uids()[-1]
        self.assertEqual(uid[:8], report["campaign"])
        self.assertEqual(self.query("SELECT campaign, file FROM bundles"), [(uid, "offer.assay")])
        self.assertEqual(self.wrong(path=self.db), [])
        # The result is the same in both, including the samples.
        shown = [self.assay("show", f"{uid[:8]}/1", "--db", db, "--json").json()
                 for db in (here, self.db)]
        for part in ("identity", "cost", "workload", "protocol"):
            self.assertEqual(shown[0][part], shown[1][part])
        self.assertEqual(shown[0]["estimate"]["metrics"], shown[1]["estimate"]["metrics"])
        # Handed on, it is the file that came.
        call = self.assay("bundle", uid, "-o", "again.assay", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("hand that file on", call.err)
        # Into the database that it came from: nothing is new.
        self.assertTrue(self.assay("import", self.file, "--db", here, "--json").json()[0]["known"])

    def test_damaged_leaves_no_trace(self):
        self.measure()
        self.make()
        data = read(self.file)
        with open(self.file, "wb") as file:
            file.write(data.replace(b'"attempt":1', b'"attempt":2', 1))
        self.new_db()
        call = self.assay("import", self.file, "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("nothing was taken in", call.err)
        self.assertFalse(os.path.exists(self.db))
        self.measure()
        before = self.query("SELECT count(*) FROM content")
        self.assertEqual(self.assay("import", self.file, "--db", self.db).status, 2)
        self.assertEqual(self.query("SELECT count(*) FROM content"), before)

    def test_two_of_one_log(self):
        """Made at different times, one after the other and together."""
        self.measure()
        first = self.uids()[0]
        self.make(campaigns=[first])
        os.rename(self.file, os.path.join(self.folder, "first.assay"))
        self.measure()
        second = self.uids()[1]
        self.make(campaigns=[second])
        os.rename(self.file, os.path.join(self.folder, "second.assay"))
        self.make(campaigns=[first, second])
        for files in (("first.assay", "second.assay"), ("second.assay", "first.assay"), (self.file,),
                      (self.file, "first.assay", "second.assay")):
            self.taken(*files)
            self.assertEqual(self.query("SELECT count(*) FROM campaign"), [(2,)])
            self.assertEqual(self.query("SELECT count(*) FROM log"), [(2,)])
            self.assertEqual(self.wrong(path=self.db), [])
        self.taken("first.assay")
        call = self.assay("import", self.file, "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("1 of its campaigns are here already and 1 are not", call.err)

    def test_two_campaigns_imported(self):
        key = self.new_key()
        self.measure()
        self.measure()
        uids = self.uids()
        self.make(campaigns=uids)
        self.assert_good("--key", key)
        self.new_db()
        call = self.assay("import", self.file, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertIn(f"imported 2 results of assay as campaigns {uids[0][:8]}, {uids[1][:8]}", call.out)
        report = self.assay("import", self.file, "--db", self.db, "--json").json()[0]
        self.assertEqual((report["campaigns"], report["results"]), ([uid[:8] for uid in uids], 2))

    def test_key_of_who_made_it(self):
        """A database with a vendor's bundle verifies under the vendor's key; own campaigns need the own."""
        vendor = self.new_key()
        self.measure()
        self.make()
        self.taken()
        self.assertEqual(self.wrong("--key", vendor, path=self.db), [])
        self.key = os.path.join(self.folder, "own")
        own = self.new_key("own")
        self.assertEqual(len(self.wrong("--key", own, path=self.db)), 2)  # unsigned by it; not covered
        self.measure()
        self.assertEqual(self.wrong("--key", vendor, "--key", own, path=self.db), [])
        call = self.wrong("--key", vendor, path=self.db)
        self.assertEqual(len(call), 1, call)
        self.assertIn("is not covered by a signature of the key that you named", call[0])
        call = self.wrong("--key", own, path=self.db)
        self.assertEqual(len(call), 1, call)
        self.assertIn("which came in a bundle, is not covered", call[0])
        # Unsigned, it is nobody's.
        self.new_db()
        self.measure()
        self.make("--unsigned")
        self.taken()
        self.assertTrue(self.wrong("--key", vendor, path=self.db))

    # ---- calls

    def test_key_in_the_folder_of_a_database(self):
        self.measure()
        call = self.assay("key", "new", "near", "--file", os.path.join(self.folder, "near.key"))
        self.assertEqual(call.status, 0)
        self.assertIn("beside the database test1.db", call.err)

    def test_what_tools_said_can_be_withheld(self):
        self.measure()
        ((output,),) = self.query("SELECT output FROM dumps WHERE tool = 'lscpu' AND status = 'ok'"
                                  " UNION ALL SELECT '' WHERE NOT EXISTS (SELECT 1 FROM dumps WHERE"
                                  " tool = 'lscpu' AND status = 'ok')")
        if not output:
            self.skipTest("no lscpu (package util-linux)")
        result = self.query("SELECT result FROM results")[0][0]
        call = self.assay("show", result, "--dump", "lscpu", "--db", self.db)
        self.assertEqual(call.out, output)
        self.make()
        self.assertTrue(json.dumps(output).encode() in read(self.file))
        self.make("--withhold", "dump.output")
        self.assertFalse(json.dumps(output)[1:60].encode() in read(self.file))
        self.assert_good()
        self.assertIn("was withheld by who made the bundle", " ".join(self.notes()))

    def test_since(self):
        """A head that somebody kept is shown to be one that the log has grown from."""
        self.measure()
        kept = self.assay("checkpoint", "--db", self.db, "--json").json()
        head = f"{kept['size']}:{kept['root']}"
        self.measure()
        self.make()
        self.assert_good("--expect-head", head)
        self.make("--since", head)
        self.assert_good("--expect-head", head)
        for other in (f"{kept['size'] - 1}:{kept['root']}", f"{kept['size'] + 1000}:{kept['root']}", "x"):
            call = self.assay("bundle", "last", "-o", self.file, "--db", self.db, "--since", other)
            self.assertEqual(call.status, 2)
            self.assertIn("--since", call.err)

    def test_in_place_of_a_database(self):
        """Commands that read show it (test_lists.py); those that write say what to do with it."""
        self.measure()
        self.make()
        self.assertEqual(self.assay("results", "--db", self.file).status, 0)
        for words in (("amend", "last/1", "--reason", "x"), ("archive", "last", "--reason", "x")):
            call = self.assay(*words, "--db", self.file)
            self.assertEqual(call.status, 4)
            self.assertIn("is a bundle, not a database", call.err)
            self.assertIn(f"assay import {self.file} --db FILE", call.err)
            self.assertNotIn("damaged", call.err)

    def test_wrong_calls(self):
        self.measure()
        self.assertEqual(self.assay("bundle", "last", "--db", self.db).status, 2)
        self.assertEqual(self.assay("bundle", "zzzz", "-o", self.file, "--db", self.db).status, 4)
        self.assertFalse(os.path.exists(self.file))
        self.write("offer.assay", '{"assay_bundle":1}\n')
        self.assertEqual(self.verify().status, 1)
        self.write("offer.assay", '{"assay_bundle":1,' + "x" * 100000)
        self.assertEqual(self.verify().status, 1)


if __name__ == "__main__":
    unittest.main()
