"""bundle, verify, withhold: a campaign handed over in one file."""

import base64
import hashlib
import importlib.util
import json
import os
import re
import sys
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import forge  # noqa: E402
import verify  # noqa: E402
import verify_bundle  # noqa: E402
from assay_cli import CliTest  # noqa: E402
from test_import import ROW  # noqa: E402

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "results", "BUNDLE.md")
DIGESTS = ("component.digest", "device.digest", "import.sha256", "reading.hash", "reading_set.digest",
           "stack.digest")


def withholdable():
    """The columns that BUNDLE.md names."""
    with open(PAGE, encoding="utf-8") as file:
        named = file.read().split("or one of these columns:")[1].split(". `dump.output`")[0]
    return re.findall(r"`([a-z_]+\.[a-z_]+)`", named)


def dump(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sealed(lines):
    """The lines with a new last line, as somebody without a key could write it."""
    body = "".join(line + "\n" for line in lines[:-1])
    end = json.loads(lines[-1])
    end["rows"] = len(lines) - 2
    end["sha256"] = hashlib.sha256(body.encode()).hexdigest()
    return body + dump(end) + "\n"


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
        return super().environment(ASSAY_KEY=self.key, **changes)

    def make(self, *words):
        call = self.assay("bundle", "last", "-o", self.file, "--db", self.db, "--json", *words)
        self.assertEqual(call.status, 0, call.err)
        return call.json()

    def verify(self, *words):
        return self.assay("verify", self.file, "--json", *words)

    def measure(self):
        self.assertEqual(self.run_synthetic().status, 0)

    def new_key(self):
        call = self.assay("key", "new", "--json")
        self.assertEqual(call.status, 0, call.err)
        return call.json()["public_key"] if "public_key" in call.json() else call.json()["public"]

    def test_verified_elsewhere(self):
        self.measure()
        self.measure()
        report = self.make()
        self.assertFalse(report["signed"])
        self.assertEqual(report["sha256"], hashlib.sha256(read(self.file)).hexdigest())
        os.unlink(self.db)
        head = f"{report['size']}:{report['root']}"
        call = self.verify("--expect-head", head)
        self.assertEqual(call.status, 0, call.out)
        self.assertTrue(call.json()["verified"])
        self.assertEqual(call.json()["estimates"], 1)
        self.assertEqual(call.json()["root"], report["root"])
        self.assertEqual(self.verify("--expect-head", "0" * 64).status, 1)

    def test_withheld_is_nowhere(self):
        self.measure()
        secret = b"launch_ns=200000,seed=1"
        self.make()
        self.assertIn(secret, read(self.file))
        report = self.make("--withhold", "variable.ASSAY_NULL")
        bytes_ = read(self.file)
        self.assertGreater(report["withheld"], 0)
        self.assertNotIn(secret, bytes_)
        self.assertNotIn(base64.b64encode(secret), bytes_)
        for line in bytes_.splitlines():
            for inner in everything_in(json.loads(line)):
                self.assertNotIn(secret.lower(), inner.lower())
        call = self.verify()
        self.assertEqual(call.status, 0, call.out)
        call = self.assay("bundle", "last", "-o", self.file, "--db", self.db, "--withhold", "no.thing")
        self.assertEqual(call.status, 2)
        self.assertIn("no.thing", call.err)

    def assert_nowhere(self, value):
        for line in read(self.file).splitlines():
            self.assertFalse([i[:200] for i in everything_in(json.loads(line)) if value in i])

    def test_every_column_of_the_page_can_be_withheld(self):
        """Each has a unique value; the withheld one occurs nowhere, the others are there."""
        columns = withholdable()
        self.assertEqual(sorted(columns), sorted(verify.COMMITTED - set(DIGESTS)
                                                 - {"ledger_origin.secret"}))
        self.measure()
        result = self.query("SELECT result FROM results")[0][0]
        self.assertEqual(self.assay("amend", result, "--reason", "x", "--by", "y", "--db",
                                    self.db).status, 0)
        forge.fill_empty_tables(self.db)
        words = {column: "secret-of-%s" % column.replace(".", "-") for column in columns}
        with forge.Forgery(self.db) as forgery:
            for column in columns:
                table, name = column.split(".")
                value = json.dumps({"status": "measured", "value": words[column]}, sort_keys=True,
                                   separators=(",", ":")) if name in ("body", "facts") else words[column]
                # The heads need the plan, so it stays unchanged.
                spared = " AND digest NOT IN (SELECT plan FROM campaign)" if table == "content" else ""
                forgery.db.execute("UPDATE {0} SET {1} = ? WHERE rowid = (SELECT max(rowid) FROM {0} WHERE"
                                   " 1{2})".format(table, name, spared)
                                   if table != "trial_end" else
                                   "UPDATE trial_end SET %s = ? WHERE trial = 1" % name, (value,))
            forgery.db.execute("UPDATE import SET sha256 = randomblob(32)")
            forgery.db.execute("DELETE FROM signature")
            forgery.rewrite()
        self.make()
        whole = read(self.file)
        digests = [bytes(value) for column in DIGESTS if column != "reading.hash" for (value,) in
                   self.query("SELECT %s FROM %s" % tuple(reversed(column.split("."))))]
        for column in columns:
            self.assertTrue(words[column].encode() in whole, column)
        for column in columns:
            with self.subTest(column):
                self.make("--withhold", column)
                bytes_ = read(self.file)
                self.assert_nowhere(words[column].encode())
                self.assertEqual([d.hex() for d in digests if d.hex().encode() in bytes_ or
                                  base64.b64encode(d) in bytes_], [])
                gone = [c for c in columns if words[c].encode() not in bytes_]
                self.assertEqual(gone, [column])

    def test_whatever_is_withheld_it_verifies(self):
        """A comparison or estimate that depends on withheld values is noted; a wrong one is wrong."""
        self.write("e.yaml", self.EVIDENCE)
        call = self.assay("ab", "synthetic", "--protocol", "./e.yaml", "--a", "device=null:0", "--b",
                          "device=null:0", "--pairs", "5", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        for word in ("comparison.body", "device.*", "host.*", "device.driver_version", "content.body",
                     "host.cpu.usable", "host.clocksource", "trial_end.facts", "*"):
            with self.subTest(word):
                self.make("--withhold", word)
                for line in read(self.file).splitlines():
                    line = json.loads(line)  # by its hash a reading can be guessed
                    if line.get("data", {}).get("table") == "reading":
                        self.assertEqual("hash" in line.get("values", ()), "body" in line.get("values", ()))
                call = self.verify()
                self.assertEqual(call.status, 0, call.out)
                self.assertEqual(verify_bundle.Bundle(self.file).run(), [])
                taken = os.path.join(self.folder, "taken.db")
                call = self.assay("import", self.file, "--db", taken)
                self.assertEqual(call.status, 0, call.err)
                call = self.assay("verify", taken)
                self.assertEqual(call.status, 0, call.out)
                if word == "content.body":
                    self.assertIn("was withheld by who made the bundle", call.out)
                    call = self.assay("reproduce", "last/1", "--db", taken)
                    self.assertEqual(call.status, 2, call.out)
                    self.assertIn("was withheld", call.out)
                    self.assertNotIn("first look", self.assay("show", "last/1", "--db", taken).out)
                os.unlink(taken)
        for word, said in (("host.name", "was recomputed, except for withheld values that do not "
                            "affect it: host.name"),
                           ("host.cpu.usable", "cannot be recomputed without withheld values: "
                            "host.cpu.usable; ask for a bundle that contains them")):
            self.make("--withhold", word)
            taken = os.path.join(self.folder, "taken.db")
            self.assertEqual(self.assay("import", self.file, "--db", taken).status, 0)
            call = self.assay("verify", taken)
            self.assertIn(said, call.out)
            self.assertIn(f"{int('do not affect it' in said)} comparisons recomputed", call.out)
            os.unlink(taken)
        decided = self.assay("gate", "last/1", "last/2", "--db", self.db)
        self.assertIn(decided.status, (0, 1, 3), decided.err)
        self.make("--withhold", "host.cpu.usable")
        self.assertEqual(self.verify().status, 0)
        with forge.Forgery(self.db) as forgery:
            forgery.db.execute("UPDATE comparison SET verdict = ?1, body = json_set(body, '$.gate.decision',"
                               " ?1) WHERE kind = 'gate'", ("worse" if decided.status == 0 else "passes",))
            forgery.rewrite()
        self.make("--withhold", "host.cpu.usable")
        call = self.verify()
        self.assertEqual(call.status, 1, call.out)
        self.assertIn("does not follow from what is stored", call.out)
        with forge.Forgery(self.db) as forgery:
            forgery.db.execute("UPDATE comparison SET body = json_set(body, '$.comparison.sd_log', 0.5)")
            forgery.rewrite()
        self.make("--withhold", "host.cpu.usable")
        call = self.verify()
        self.assertEqual(call.status, 1, call.out)
        self.assertIn("does not follow from what is stored", call.out)

    def test_results_of_another_program_withheld(self):
        """The file, its name and its claims; the rest is verified by both verifiers, and imported."""
        self.write("secret-name.json", json.dumps([ROW]))
        self.assertEqual(self.assay("import", "secret-name.json", "--db", self.db).status, 0)
        digest = self.query("SELECT sha256 FROM import")[0][0]
        self.make()
        for known in (b"secret-name", digest.hex().encode(), b"7100.25"):
            self.assertIn(known, read(self.file))
        report = self.make("--withhold", "import.file", "--withhold", "claim.body")
        self.assertGreaterEqual(report["withheld"], 4)
        for hidden in (b"secret-name", b"7100.25", digest.hex().encode(), base64.b64encode(digest)):
            self.assert_nowhere(hidden)
        call = self.verify()
        self.assertEqual(call.status, 0, call.out)
        self.assertEqual(verify_bundle.Bundle(self.file).run(), [])
        self.new_db()
        for _ in range(2):
            self.assertEqual(self.assay("import", self.file, "--db", self.db).status, 0)
        self.assertEqual(self.assay("verify", self.db).status, 0)
        if importlib.util.find_spec("cryptography"): # for the signatures that a database may have
            self.assertEqual(verify.Verifier(self.db).run(), [])
        self.assertEqual(self.query("SELECT file, sha256 = ? FROM import", digest), [("(withheld)", 0)])
        result = self.query("SELECT result FROM results")[0][0]
        for words in (("results",), ("show", result), ("show", result, "--json"),
                      ("export", "json", result), ("export", "csv", result),
                      ("report", "--html", "page.html"), ("report", "--dossier", "dossier.html")):
            call = self.assay(*words, "--db", self.db)
            self.assertEqual(call.status, 0, (words, call.err))
            self.assertNotIn("7100", call.out)
        # The file itself is another import: it cannot be known to be the same.
        call = self.assay("import", "secret-name.json", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)

    def test_only_what_can_be_withheld_is(self):
        """A commitment where the format has none: rows of a hand-written ledger."""
        self.measure()
        self.make()
        lines = read(self.file).decode().splitlines()
        row = next(json.loads(line) for line in lines[1:-1]
                   if json.loads(line)["data"]["table"] == "trial_end")
        row["data"]["row"]["status"] = {"commitment": "ab" * 32}
        first = json.loads(lines[0])
        leaf = hashlib.sha256(b"\0" + dump(row["data"]).encode()).hexdigest()
        row.update(leaf=0, path=[])
        first.update(heads=[], root=leaf, size=1)
        note = first["note"].split("\n")
        note[1:3] = ["1", base64.b64encode(bytes.fromhex(leaf)).decode()]
        first["note"] = "\n".join(note)
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(sealed([dump(first), dump(row), lines[-1]]))
        theirs = [f[3] for f in verify_bundle.Bundle(self.file).run()]
        for found in ([f["message"] for f in self.verify().json()["findings"]], theirs):
            self.assertTrue(any("status is no column that can be withheld" in f for f in found), found)

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
        self.assertIn(json.dumps(output).encode(), read(self.file))
        self.make("--withhold", "dump.output")
        self.assertNotIn(json.dumps(output)[1:60].encode(), read(self.file))
        self.assertEqual(self.verify().status, 0)

    def test_all_of_the_device_withheld(self):
        """A pattern withholds texts wherever they occur, but not numbers, which others may share."""
        self.measure()
        with forge.Forgery(self.db) as forgery:
            (cell,), = forgery.db.execute("SELECT id FROM cell")
            forgery.db.execute("UPDATE cell SET items = 33554432 WHERE id = ?", (cell,))
            for name, value in (("device.cache.l3", 33554432), ("device.serial", "SN-20261122")):
                row = (None, 0, name, dump({"status": "measured", "value": value}))
                number = forgery.db.execute("INSERT INTO reading VALUES (?, ?, ?, ?)", row).lastrowid
                forgery.db.execute("INSERT INTO reading_member SELECT readings, ? FROM device", (number,))
            forgery.db.execute("UPDATE device SET vendor = 'of SN-20261122', uuid = 'GPU-of-no-reading'")
            forgery.rewrite()
        self.make("--withhold", "device.*")
        self.assert_nowhere(b"SN-20261122")
        self.assert_nowhere(b"GPU-of-no-reading")
        self.assertTrue(b"33554432" in read(self.file))
        self.assertFalse(any(b"33554432" in line for line in read(self.file).splitlines()
                             if b'"table":"reading"' in line))

    def test_withheld_as_encoded_in_json(self):
        """The nonce is in the plan, within JSON, and verbatim in the command line."""
        nonce = 'ask "17" \\ \u00e4'
        self.assertEqual(self.run_synthetic("--nonce", nonce).status, 0)
        self.make()
        self.assertTrue(any(nonce.encode() in inner for line in read(self.file).splitlines()
                            for inner in everything_in(json.loads(line))))
        result = self.query("SELECT substr(uid, 1, 8) || '/1' FROM campaign")[0][0]
        self.assertEqual(self.assay("amend", result, "--reason", nonce, "--by", "me", "--db",
                                    self.db).status, 0)
        self.make("--withhold", "amendment.reason")
        for line in read(self.file).splitlines():
            for inner in everything_in(json.loads(line)):
                self.assertNotIn(nonce.encode(), inner)
        call = self.verify()
        self.assertEqual(call.status, 0, call.out)

    def test_key_in_the_folder_of_a_database(self):
        self.measure()
        call = self.assay("key", "new", "near", "--file", os.path.join(self.folder, "near.key"))
        self.assertEqual(call.status, 0)
        self.assertIn("beside the database test1.db", call.err)

    def test_no_row_can_be_removed_or_changed(self):
        public = self.new_key()
        self.measure()
        self.assertTrue(self.make()["signed"])
        self.assertEqual(self.verify("--key", public).status, 0, self.verify("--key", public).out)
        lines = read(self.file).decode().splitlines()
        step = max(1, len(lines) // 25)
        for i in range(1, len(lines) - 1, step):
            with open(self.file, "w", encoding="utf-8") as file:
                file.write(sealed(lines[:i] + lines[i + 1:]))
            self.assertEqual(self.verify("--key", public).status, 1, lines[i])
        # Without a key one can at most rewrite rows, which are then not under the head.
        for i in range(1, len(lines) - 1, step):
            row = json.loads(lines[i])
            name, value = next((n, v) for n, v in row["data"]["row"].items() if n != "id")
            row["data"]["row"][name] = (value + 1 if isinstance(value, int) else "x"
                                        if isinstance(value, str) else {**value, "bytes": 1})
            with open(self.file, "w", encoding="utf-8") as file:
                file.write(sealed(lines[:i] + [dump(row)] + lines[i + 1:]))
            call = self.verify()
            self.assertEqual(call.status, 1, lines[i])
            self.assertTrue(any(f["level"] == "wrong" and f["check"] in ("row", "content")
                                for f in call.json()["findings"]), call.out)

    def test_imported_into_another_database(self):
        self.measure()
        self.make()
        here = self.db
        self.new_db()
        self.measure() # numbers are taken
        for known in (False, True):
            call = self.assay("import", self.file, "--db", self.db, "--json")
            self.assertEqual(call.status, 0, call.err)
            report = call.json()[0]
            self.assertEqual((report["known"], report["results"]), (known, 1))
        uid = self.query("SELECT uid FROM campaign ORDER BY id DESC LIMIT 1")[0][0]
        self.assertEqual(uid[:8], report["campaign"])
        self.assertEqual(self.query("SELECT campaign, file FROM bundles"), [(uid, "offer.assay")])
        self.assertEqual(self.assay("verify", self.db).status, 0)
        # The result is the same in both, including the samples.
        shown = [self.assay("show", f"{uid[:8]}/1", "--db", db, "--json").json()
                 for db in (here, self.db)]
        for part in ("identity", "cost", "workload", "protocol"):
            self.assertEqual(shown[0][part], shown[1][part])
        self.assertEqual(shown[0]["estimate"]["metrics"], shown[1]["estimate"]["metrics"])
        # A changed one leaves no trace.
        lines = read(self.file).decode().splitlines()
        row = json.loads(lines[5])
        row["leaf"] += 1
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(sealed(lines[:5] + [dump(row)] + lines[6:]))
        self.new_db()
        call = self.assay("import", self.file, "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("nothing was taken in", call.err)
        self.assertFalse(os.path.exists(self.db))
        self.measure()
        before = self.query("SELECT count(*) FROM content")
        self.assertEqual(self.assay("import", self.file, "--db", self.db).status, 2)
        self.assertEqual(self.query("SELECT count(*) FROM content"), before)

    def test_two_campaigns_imported(self):
        key = self.new_key()
        self.measure()
        self.measure()
        uids = [uid for (uid,) in self.query("SELECT uid FROM campaign ORDER BY id")]
        call = self.assay("bundle", *uids, "-o", self.file, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.verify("--key", key).status, 0)
        self.new_db()
        call = self.assay("import", self.file, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertIn(f"imported 2 results of assay as campaigns {uids[0][:8]}, {uids[1][:8]}", call.out)
        report = self.assay("import", self.file, "--db", self.db, "--json").json()[0]
        self.assertEqual((report["campaigns"], report["results"]), ([uid[:8] for uid in uids], 2))
        # The signature is the bundle's, not this ledger's: the message names the file to check.
        call = self.assay("verify", self.db, "--key", key)
        self.assertEqual(call.status, 1)
        self.assertEqual(call.out.count("SHA-256 " + hashlib.sha256(read(self.file)).hexdigest()), 2)

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
