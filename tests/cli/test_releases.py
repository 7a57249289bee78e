"""Which release measured: signed provenance of the program, `verify --releases` and `show --releases`."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
try:
    import cryptography  # noqa: F401
except ImportError:
    print("skipped: the second verifier needs python3-cryptography")
    sys.exit(77)
if not shutil.which("openssl"):
    print("skipped: openssl signs the statements")
    sys.exit(77)

import verify  # noqa: E402
import verify_bundle  # noqa: E402
from assay_cli import ASSAY, CliTest, run_tests  # noqa: E402

PROVENANCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "harness", "package", "provenance.py")
SOURCE, BUILDER = "git+https://example.org/assay", "https://example.org/builds"


class Releases(CliTest):
    def setUp(self):
        super().setUp()
        self.public = {who: self.assay("key", "new", who, "--file", self.path(who), "--json").json()["public_key"]
                       for who in ("release", "other")}
        with open(ASSAY, "rb") as file:
            self.digest = hashlib.sha256(file.read()).hexdigest()
        call = self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db)
        self.assertEqual(call.status, 0, call.err)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def provenance(self, sums, key="release", *words):
        return subprocess.run([sys.executable, PROVENANCE, "--key", self.path(key), "--source", SOURCE, "--commit", "c0ffee",
                               "--builder", BUILDER, "--name", "assay-9.9", *words], input=sums, text=True,
                              capture_output=True, check=False)

    def statement(self, digest=None, key="release"):
        done = self.provenance("%s  bin/assay\n%s  lib/libassay.so\n" % (digest or self.digest, "12" * 32), key)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def both(self, text, path=None, key="release"):
        """The exit status of ours, on which the second verifier agrees, and what ours says."""
        call = self.assay("verify", path or self.db, "--releases", self.write("releases", text), "--release-key",
                          self.public[key])
        kind = verify_bundle.Bundle if path else verify.Verifier
        try:
            theirs = 1 if kind(path or self.db, releases=text, release_key=self.public[key]).run() else 0
        except (ValueError, KeyError, TypeError):
            theirs = 2
        self.assertEqual(call.status, theirs, (call.out, call.err))
        return call.status, call.out + call.err

    def changed(self, change):
        """A signed envelope whose statement was changed, and signed again."""
        envelope = json.loads(self.statement())
        statement = json.loads(base64.b64decode(envelope["payload"]))
        change(statement)
        payload, kind = json.dumps(statement).encode(), envelope["payloadType"]
        self.write("pae", "DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload.decode()))
        with open(self.path("release"), encoding="utf-8") as file:
            seed = base64.b64decode(file.read().strip().split("+", 4)[4])[1:]
        with open(self.path("der"), "wb") as file:
            file.write(bytes.fromhex("302e020100300506032b657004220420") + seed)
        signature = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", self.path("der"),
                                    "-in", self.path("pae")], check=True, stdout=subprocess.PIPE).stdout
        return json.dumps({**envelope, "payload": base64.b64encode(payload).decode(),
                           "signatures": [{"keyid": "", "sig": base64.b64encode(signature).decode()}]})

    def test_release_is_named(self):
        words = "assay-9.9/bin/assay, built by %s from %s@c0ffee" % (BUILDER, SOURCE)
        bundle = self.path("b.assay")
        self.assertEqual(self.assay("bundle", "last", "-o", bundle, "--db", self.db).status, 0)
        for text in (self.statement(), self.statement("34" * 32) + "\n" + self.statement(),
                     json.dumps(json.loads(self.statement()), indent=2)):
            for path in (None, bundle):
                status, said = self.both(text, path)
                self.assertEqual(status, 0, said)
                self.assertIn("was run by a release: " + words, said)
        asked = ("--releases", self.path("releases"), "--release-key", self.public["release"], "--db", self.db)
        identity = self.assay("results", "--json", "--db", self.db).json()[0]["id"]
        for more in ((), ("--all",)):
            out = self.assay("show", identity, *more, *asked).out
            self.assertIn("Program: " + words, " ".join(out.split()))
        self.assertEqual(self.assay("show", identity, "--json", *asked).json()["release"], {
            "name": "assay-9.9/bin/assay", "builder": BUILDER, "source": SOURCE + "@c0ffee"})
        self.write("releases", self.changed(lambda s: s["subject"][0].update(name="a|b <i> [x](y)")))
        self.assertIn("Program: a&#124;b &#60;i> [x&#93;(y), built by ", self.assay("show", identity, "--markdown", *asked).out)
        self.write("releases", self.statement("34" * 32))
        self.assertIn("Program: no release known", self.assay("show", identity, *asked).out)
        self.assertIsNone(self.assay("show", identity, "--json", *asked).json()["release"])
        self.assertNotIn("release", self.assay("show", identity, "--json", "--db", self.db).json())

    def test_other_digest(self):
        status, said = self.both(self.statement("34" * 32))
        self.assertEqual(status, 1)
        self.assertRegex(said, "wrong: .*no release known: campaign .* with the SHA-256 " + self.digest)

    def test_signatures(self):
        text = self.statement()
        envelope = json.loads(text)
        payload = base64.b64decode(envelope["payload"])
        for wrong, says in (
                (self.statement(key="other"), "envelope 1: it has no good signature by the key release"),
                (text + self.statement(key="other"), "envelope 2: it has no good signature"),
                (json.dumps({**envelope, "signatures": []}), "no good signature"),
                (json.dumps({**envelope, "payload": base64.b64encode(payload.replace(b"9.9", b"9.8")).decode()}),
                 "no good signature"),
                (json.dumps({**envelope, "payloadType": "text/plain"}), "no signed envelope"),
                (json.dumps({**envelope, "payload": "%"}), "not in base64"),
                ("{}", "no signed envelope"), ("[1]", "no signed envelope"), ("hello", "no signed envelope"),
                (text + "x", "envelope 2")):
            status, said = self.both(wrong)
            self.assertEqual(status, 2, said)
            self.assertIn(says, said)
        call = self.assay("verify", self.db, "--releases", self.write("empty", " \n"), "--release-key",
                          self.public["release"])
        self.assertEqual(call.status, 2)
        self.assertIn("has no envelope", call.err)

    def test_statements(self):
        def predicate(statement):
            return statement["predicate"]

        for change, says in (
                (lambda s: s.update(_type="https://in-toto.io/Statement/v0.1"), "no in-toto Statement v1"),
                (lambda s: s.update(predicateType="https://slsa.dev/provenance/v0.2"), "no in-toto Statement v1"),
                (lambda s: s.update(subject=[]), "a subject"),
                (lambda s: predicate(s)["runDetails"].clear(), "id of a builder"),
                (lambda s: predicate(s)["buildDefinition"].clear(), "a buildType"),
                (lambda s: s["subject"][1].update(name="x\u001b[2J"), "must have a name"),
                (lambda s: s["subject"][1]["digest"].update(sha256="AB" * 32), "64 hex"),
                (lambda s: s["subject"][1]["digest"].update(sha256=s["subject"][0]["digest"]["sha256"] + "00"), "64 hex")):
            call = self.assay("verify", self.db, "--releases", self.write("wrong", self.changed(change)), "--release-key",
                              self.public["release"])
            self.assertEqual(call.status, 2, call.out)
            self.assertIn(says, " ".join(call.err.split()))
            self.assertNotIn("\x1b", call.err)
        self.assertEqual(self.both(self.changed(lambda s: predicate(s)["buildDefinition"].pop("resolvedDependencies")))[0], 0)

    def test_words(self):
        for words in (("verify", self.db, "--releases", "x"), ("verify", self.db, "--release-key", "x"),
                      ("show", "1/1", "--releases", "x", "--db", self.db)):
            call = self.assay(*words)
            self.assertEqual(call.status, 2, call.err)
            self.assertIn("go together", call.err)
        for sums, words in (("", ()), ("hello\n", ()), ("%s  bin/assay\n" % self.digest, ("--key", self.db))):
            self.assertNotEqual(self.provenance(sums, "release", *words).returncode, 0)


if __name__ == "__main__":
    run_tests()
