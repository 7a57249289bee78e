"""Shared by the tests that forge databases: one signed database, and both verifiers."""

import contextlib
import os
import sqlite3
import sys

try:
    import cryptography  # noqa: F401
except ImportError:
    print("skipped: the second verifier needs python3-cryptography")
    sys.exit(77)

import forge
import verify
from assay_cli import CliTest


class TamperTest(CliTest):
    """One signed database for all; each case forges a copy of it."""

    base = None

    def setUp(self):
        super().setUp()
        self.key = self.make_key("k.key")
        if not TamperTest.base:
            self.make_base()
        self.public, self.head = TamperTest.public, TamperTest.head
        self.copies = 0

    def make_key(self, name):
        call = self.assay("key", "new", name.split(".", maxsplit=1)[0], "--file", name, "--json")
        self.assertEqual(call.status, 0, call.err)
        return call.json()["public_key"]

    def make_base(self):
        key = os.path.join(self.folder, "k.key")
        self.run_settled("--nonce", "ask-17", ASSAY_KEY=key)
        result = self.query("SELECT substr(uid, 1, 8) || '/1' FROM campaign")[0][0]
        call = self.assay("amend", result, "--reason", "the fan was loud", "--by", "me", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        call = self.assay("checkpoint", "--db", self.db, "--json", ASSAY_KEY=key)
        self.assertEqual(call.status, 0, call.err)
        point = call.json()
        with open(os.path.join(self.folder, "token"), "wb") as file:
            file.write(forge.token(bytes.fromhex(point["root"])))
        call = self.assay("checkpoint", "--timestamp-token", "token", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.take_in_a_bundle(key)
        call = self.assay("history", result, "--baseline", "first", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        forge.fill_empty_tables(self.db)
        call = self.assay("checkpoint", "--db", self.db, ASSAY_KEY=key)
        self.assertEqual(call.status, 0, call.err)
        with open(self.db, "rb") as file:
            TamperTest.base = file.read()
        TamperTest.head = "%d:%s" % (point["size"], point["root"])
        TamperTest.public = self.key

    def take_in_a_bundle(self, key):
        """A campaign of another log, of which something is withheld."""
        for words in (("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--nonce", "ask-17",
                       "--db", "other.db"),
                      ("bundle", "last", "-o", "b.assay", "--db", "other.db", "--withhold", "stack.path",
                       "--withhold", "dump.output"), ("import", "b.assay", "--db", self.db)):
            call = self.assay(*words, ASSAY_KEY=key)
            self.assertEqual(call.status, 0, call.err)

    def copy(self):
        self.copies += 1
        path = os.path.join(self.folder, "copy%d.db" % (self.copies % 2))
        for end in ("-wal", "-shm"):  # of the case before
            with contextlib.suppress(FileNotFoundError):
                os.remove(path + end)
        with open(path, "wb") as file:
            file.write(TamperTest.base)
        return path

    def ours(self, path, *words):
        call = self.assay("verify", path, "--json", "--threads", "1", *words)
        found = [f for f in call.json()["findings"] if f["level"] == "wrong"]
        self.assertIn(call.status, (1,) if found else (0, 3), call.err)
        return {(f["check"], f["table"], f["key"]) for f in found}

    @staticmethod
    def theirs(path, **options):
        return {f[:3] for f in verify.Verifier(path, **options).run()}

    def both(self, path, ours=(), **theirs):
        return self.ours(path, *ours), self.theirs(path, **theirs)

    def assert_good(self, path, ours=(), **theirs):
        for found in self.both(path, ours, **theirs):
            self.assertEqual(found, set())

    def assert_named(self, path, table, keys):
        """Both report that such a row of the table is wrong."""
        for found in self.both(path):
            named = {f[2] for f in found if f[1] == table and (f[0] in ("record", "row", "content", "tree", "signature")
                                                               or table == "series")}
            self.assertTrue(named & {str(k) for k in keys}, "%s %s: %s" % (table, keys, found))

    def assert_found(self, path, ours=(), **theirs):
        for found in self.both(path, ours, **theirs):
            self.assertTrue(found)

    def tables(self):
        with contextlib.closing(sqlite3.connect(self.copy())) as db:
            return [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"
                                             " AND name NOT LIKE 'sqlite_%'")]
