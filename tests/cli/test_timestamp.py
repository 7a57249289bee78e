"""Time stamps by an authority made here: whose signature is believed, and what is said without one."""

import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
if not shutil.which("openssl"):
    print("skipped: there is no openssl")
    sys.exit(77)
from assay_cli import CliTest  # noqa: E402

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
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", name + ".pem", "-CAkey",
                     name + ".key", "-set_serial", "7", "-days", "2", "-out", name + "-tsa.pem",
                     "-extfile", "tsa.cnf", "-extensions", "tsa_certificate")

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
        call = self.assay("verify", path or self.db, "--json", *words, **environment)
        self.assertIn(call.status, (0, 1), call.err)
        told = [f for f in call.json()["findings"] if "stamp" in f["message"] or
                f["table"] == "timestamp_token"]
        return call.status, " ".join(f["message"] for f in told)

    def test_signed(self):
        for options in ((), ("-token_out",)):
            with self.subTest(options):
                self.stamp(self.root, "good", "token", *options)
                self.keep("token")
        status, told = self.verify()
        self.assertEqual(status, 0)
        self.assertEqual(told.count("not checked: no CA given"), 2, told)
        status, told = self.verify("--tsa-ca", "good.pem")
        self.assertEqual(status, 0, told)
        self.assertEqual(told.count("an authority of good.pem stamped this root at 20"), 2, told)
        status, told = self.verify("--tsa-ca", "other.pem")
        self.assertEqual(status, 1)
        self.assertEqual(told.count("not one of an authority of other.pem"), 2, told)
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
        status, told = self.verify("--tsa-ca", "good.pem")
        self.assertEqual(status, 1)
        self.assertIn("not one of an authority", told)

    def test_no_openssl(self):
        self.stamp(self.root, "good", "token")
        self.keep("token")
        status, told = self.verify("--tsa-ca", "good.pem", PATH="/nonexistent")
        self.assertEqual(status, 1)
        self.assertIn("openssl", told)

    def test_in_a_bundle(self):
        end, root = self.query("SELECT id, lower(hex(root)) FROM checkpoint WHERE kind = 'plan'")[0]
        self.stamp(root, "good", "token")
        call = self.assay("checkpoint", "--timestamp-token", "token", "--number", str(end), "--db",
                          self.db)
        self.assertEqual(call.status, 0, call.err)
        call = self.assay("bundle", "last", "-o", "b.assay", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("no CA given", self.verify(path="b.assay")[1])
        status, told = self.verify("--tsa-ca", "good.pem", path="b.assay")
        self.assertEqual(status, 0)
        self.assertIn("stamped the head of", told)
        self.assertEqual(self.verify("--tsa-ca", "other.pem", path="b.assay")[0], 1)


if __name__ == "__main__":
    unittest.main()
