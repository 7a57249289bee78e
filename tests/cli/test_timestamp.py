"""Time stamps by an authority made here: whose signature is accepted, and the message without one."""

import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
if not shutil.which("openssl"):
    print("skipped: there is no openssl")
    sys.exit(77)
import random  # noqa: E402

import forge  # noqa: E402
from assay_cli import CliTest  # noqa: E402

try:
    import verify_stamp
    import verify
    import verify_bundle
except ImportError:
    print("the second verifier needs python3-cryptography: its part is left out")
    verify = None

CONFIG = """
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
[tsa_certificate]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[no_purpose]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
[tsa]
serial = serial
default_policy = 1.2.3.4
digests = sha256
signer_digest = sha256
accuracy = secs:1
ordering = no
ess_cert_id_alg = sha256
"""


class Timestamp(CliTest):
    def openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def authority(self, name):
        """A root certificate NAME.pem, and a stamping key NAME-tsa with a certificate under it."""
        self.openssl("req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", name + ".key", "-out",
                     name + ".pem", "-subj", "/CN=" + name, "-days", "2", "-config", "tsa.cnf",
                     "-extensions", "ca")
        self.openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", name + "-tsa.key",
                     "-out", name + ".csr", "-subj", "/CN=%s tsa" % name, "-config", "tsa.cnf")
        self.certify(name, name + "-tsa", "tsa_certificate", "2")

    def certify(self, name, out, extensions, days):
        """OUT.pem: a certificate of NAME's stamping key, valid from today for so many days."""
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", name + ".pem", "-CAkey",
                     name + ".key", "-set_serial", "7", "-days", days, "-out", out + ".pem",
                     "-extfile", "tsa.cnf", "-extensions", extensions)

    def stamp(self, root, name, out, *words):
        self.write("serial", "01\n")
        self.openssl("ts", "-query", "-digest", root, "-sha256", "-cert", "-out", "query")
        self.openssl("ts", "-reply", "-config", "tsa.cnf", "-section", "tsa", "-queryfile", "query",
                     "-signer", name + "-tsa.pem", "-inkey", name + "-tsa.key", "-out", out, *words)

    def setUp(self):
        super().setUp()
        self.write("tsa.cnf", CONFIG)
        self.authority("good")
        self.authority("other")
        self.assertEqual(self.run_synthetic().status, 0)
        call = self.assay("checkpoint", "--db", self.db, "--json")
        self.assertEqual(call.status, 0, call.err)
        self.root = call.json()["root"]

    def keep(self, file):
        call = self.assay("checkpoint", "--timestamp-token", file, "--db", self.db)
        self.assertEqual(call.status, 0, call.err)

    def verify(self, *words, path=None, **environment):
        """Our verifier's result; the second verifier must agree."""
        call = self.assay("verify", path or self.db, "--json", *words, **environment)
        self.assertIn(call.status, (0, 1), call.err)
        if verify and not environment:
            self.assertEqual(self.theirs(*words, path=path), call.status)
        notes = [f for f in call.json()["findings"] if "stamp" in f["message"] or
                 f["table"] == "timestamp_token"]
        return call.status, " ".join(f["message"] for f in notes)

    def theirs(self, *words, path=None):
        path = os.path.join(self.folder, path or self.db)
        kind = verify_bundle.Bundle if verify_bundle.begins_as_one(path) else verify.Verifier
        reader = kind(path, tsa_ca=os.path.join(self.folder, words[1]) if words else None)
        wrong = reader.run()
        notes = " ".join(note[2] for note in reader.notes)
        if not words:
            self.assertIn("not checked: no CA given", notes)
        elif not wrong:
            self.assertIn("stamped this at 20", notes)
            self.assertNotIn("not checked", notes)
        return 1 if wrong else 0

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def replace(self, token):
        """Replaces the database's only token, with a matching log."""
        with forge.Forgery(self.db) as forgery:
            forgery.edit("timestamp", {"token": token.hex()})
            forgery.rewrite(kept=("timestamp",))

    def test_signed(self):
        for options in ((), ("-token_out",)):
            with self.subTest(options):
                self.stamp(self.root, "good", "token", *options)
                self.keep("token")
        status, notes = self.verify()
        self.assertEqual(status, 0)
        self.assertEqual(notes.count("not checked: no CA given"), 2, notes)
        status, notes = self.verify("--tsa-ca", "good.pem")
        self.assertEqual(status, 0, notes)
        self.assertEqual(notes.count("an authority of good.pem stamped this root at 20"), 2, notes)
        status, notes = self.verify("--tsa-ca", "other.pem")
        self.assertEqual(status, 1)
        self.assertEqual(notes.count("not one of an authority of other.pem"), 2, notes)
        self.assertEqual(self.assay("verify", self.db, "--tsa-ca", "nothing.pem").status, 2)
        self.write("empty.pem", "")
        self.assertEqual(self.verify("--tsa-ca", "empty.pem")[0], 1)

    def test_forged(self):
        """The imprint is right, and the authority never signed it."""
        self.stamp("00" * 32, "good", "token", "-token_out")
        with open(os.path.join(self.folder, "token"), "rb") as file:
            token = file.read()
        self.assertEqual(token.count(bytes(32)), 1)
        with open(os.path.join(self.folder, "token"), "wb") as file:
            file.write(token.replace(bytes(32), bytes.fromhex(self.root)))
        self.keep("token")
        self.assertEqual(self.verify()[0], 0)
        status, notes = self.verify("--tsa-ca", "good.pem")
        self.assertEqual(status, 1)
        self.assertIn("not one of an authority", notes)

    def test_forged_in_part(self):
        """Another certificate, purpose, time, signature or attribute; refused by both."""
        self.stamp(self.root, "good", "token", "-token_out")
        self.keep("token")
        good = self.read("token")
        self.assertEqual(self.verify("--tsa-ca", "good.pem")[0], 0)
        der = {name: self.read_der(name) for name in ("good-tsa", "other-tsa")}
        self.assertEqual(good.count(der["good-tsa"]), 1)
        time = good.index(b"\x18\x0f20") + 2
        self.assertEqual(good[time + 14:time + 15], b"Z")
        cases = {
            "another time": good[:time] + b"1999" + good[time + 4:],
            "the signature": good[:-1] + bytes([good[-1] ^ 1]),
            "cut": good[:-1],
            "more behind": good + b"\0",
        }
        for name, extensions, days in (("ca", "ca", "2"), ("none", "no_purpose", "2")):
            self.certify("good", name, extensions, days)
            self.openssl("ts", "-query", "-digest", self.root, "-sha256", "-cert", "-out", "query")
            try:
                self.openssl("ts", "-reply", "-config", "tsa.cnf", "-section", "tsa", "-queryfile",
                             "query", "-signer", name + ".pem", "-inkey", "good-tsa.key", "-out",
                             name + ".token", "-token_out")
                cases["certificate " + name] = self.read(name + ".token")
            except subprocess.CalledProcessError:
                pass # this openssl does not stamp with it
        if len(der["good-tsa"]) == len(der["other-tsa"]):
            cases["another's certificate"] = good.replace(der["good-tsa"], der["other-tsa"])
        for name, token in cases.items():
            with self.subTest(name):
                self.replace(token)
                self.assertEqual(self.verify("--tsa-ca", "good.pem")[0], 1)

    def read_der(self, name):
        self.openssl("x509", "-in", name + ".pem", "-outform", "der", "-out", name + ".der")
        return self.read(name + ".der")

    @unittest.skipUnless(verify, "needs python3-cryptography")
    def test_any_byte(self):
        """Whatever either verifier still accepts with a changed bit says what the authority signed."""
        self.stamp(self.root, "good", "token", "-token_out")
        good, root = self.read("token"), bytes.fromhex(self.root)
        authorities = self.read("good.pem")
        original, chance = verify_stamp.Stamp(good), random.Random(20261122)
        signed = (original.content, original.attributes, original.signature)
        kept = 0
        for at in chance.sample(range(len(good)), 150):
            token = bytearray(good)
            token[at] ^= 1 << chance.randrange(8)
            try:
                verify_stamp.check(bytes(token), root, authorities)
            except ValueError:
                continue
            stamp = verify_stamp.Stamp(bytes(token))
            self.assertEqual((stamp.content, stamp.attributes, stamp.signature), signed, at)
            kept += 1
        self.assertLess(kept, 10)
        self.keep("token")
        for at in chance.sample(range(len(good)), 12):
            token = bytearray(good)
            token[at] ^= 1 << chance.randrange(8)
            self.replace(bytes(token))
            call = self.assay("verify", self.db, "--json", "--tsa-ca", "good.pem")
            notes = [f["message"] for f in call.json()["findings"] if f["table"] == "timestamp_token"]
            if call.status == 0:
                self.assertEqual(len(notes), 1)
                self.assertIn(original.time.strftime("at %Y%m%d%H%M%SZ"), notes[0])

    def test_certificate_of_the_readers(self):
        """A token without certificates: the signer's is in the reader's file. No program is run."""
        self.stamp(self.root, "good", "certified")
        self.openssl("ts", "-query", "-digest", self.root, "-sha256", "-out", "query")
        self.openssl("ts", "-reply", "-config", "tsa.cnf", "-section", "tsa", "-queryfile", "query",
                     "-signer", "good-tsa.pem", "-inkey", "good-tsa.key", "-out", "token")
        self.assertNotIn(self.read_der("good-tsa"), self.read("token"))
        self.keep("token")
        self.write("both.pem", (self.read("good.pem") + self.read("good-tsa.pem")).decode())
        status, notes = self.verify("--tsa-ca", "both.pem", PATH="/nonexistent")
        self.assertEqual(status, 0, notes)
        self.assertIn("an authority of both.pem stamped this root", notes)

    def test_in_a_bundle(self):
        end, root = self.query("SELECT id, lower(hex(root)) FROM checkpoint WHERE kind = 'plan'")[0]
        self.stamp(root, "good", "token")
        call = self.assay("checkpoint", "--timestamp-token", "token", "--number", str(end), "--db",
                          self.db)
        self.assertEqual(call.status, 0, call.err)
        call = self.assay("bundle", "last", "-o", "b.assay", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("no CA given", self.verify(path="b.assay")[1])
        status, notes = self.verify("--tsa-ca", "good.pem", path="b.assay")
        self.assertEqual(status, 0)
        self.assertIn("stamped this root at", notes)
        self.assertEqual(self.verify("--tsa-ca", "other.pem", path="b.assay")[0], 1)


if __name__ == "__main__":
    unittest.main()
