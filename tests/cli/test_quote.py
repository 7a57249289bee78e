"""A TPM 2.0 (swtpm) quotes plan and end of a run: checked offline by both verifiers; replayed quotes, forged logs and
swapped keys are refused."""

import base64
import hashlib
import os
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
try:
    import cryptography  # noqa: F401
except ImportError:
    print("skipped: the second verifier needs python3-cryptography")
    sys.exit(77)
if not all(shutil.which(tool) for tool in ("swtpm", "tpm2_quote", "tpm2_createak", "tpm2_setclock")):
    print("skipped: needs swtpm and tpm2-tools")
    sys.exit(77)

import forge  # noqa: E402
import verify  # noqa: E402
import verify_bundle  # noqa: E402
from assay_cli import CliTest, run_tests, wait_until  # noqa: E402

KEYS = {"ecc": ("0x81010002", "ecc", "ecdsa"), "rsa": ("0x81010003", "rsa", "rsassa")}
EVENTS = [(0, b"firmware"), (4, b"loader"), (7, b"secure boot"), (4, b"kernel"), (14, b"not quoted")]


def boot_log(events, mark=b"Spec ID Event03\0"):
    header = mark + struct.pack("<IBBBBI", 0, 0, 2, 0, 2, 2) + struct.pack("<HHHH", 4, 20, 11, 32) + b"\0"
    log = struct.pack("<II", 0, 3) + bytes(20) + struct.pack("<I", len(header)) + header
    for pcr, data in events:
        log += struct.pack("<III", pcr, 3 if pcr == 0xffffffff else 13, 2) + struct.pack("<H", 4) + bytes(20) + \
            struct.pack("<H", 11) + hashlib.sha256(data).digest() + struct.pack("<I", len(data)) + data
    return log


class Quote(CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tpm = subprocess.run(["mktemp", "-d", "/tmp/assay-tpm.XXXXXX"], check=True, capture_output=True,
                                 text=True).stdout.strip()
        socket = os.path.join(cls.tpm, "s")
        with open(os.path.join(cls.tpm, "log"), "w", encoding="utf-8") as log:
            cls.process = subprocess.Popen(
                ["swtpm", "socket", "--tpm2", "--tpmstate", "dir=" + cls.tpm, "--ctrl", "type=unixio,path=" + socket +
                 ".ctrl", "--server", "type=unixio,path=" + socket, "--flags", "not-need-init,startup-clear"],
                stdout=log, stderr=log)
        wait_until(lambda: os.path.exists(socket) and os.path.exists(socket + ".ctrl"))
        cls.tcti = "swtpm:path=" + socket
        for name, (handle, kind, scheme) in KEYS.items():
            cls.tool("tpm2_createek", "-Q", "-c", "ek", "-G", kind, "-u", "ek.pub")
            cls.tool("tpm2_createak", "-Q", "-C", "ek", "-c", "ak", "-G", kind, "-g", "sha256", "-s", scheme, "-u",
                     name + ".pem", "-f", "pem", "-n", "name")
            cls.tool("tpm2_evictcontrol", "-Q", "-C", "o", "-c", "ak", handle)
        for pcr, data in EVENTS:
            cls.tool("tpm2_pcrextend", "%d:sha256=%s" % (pcr, hashlib.sha256(data).hexdigest()))

    @classmethod
    def tool(cls, *words):
        environment = dict(os.environ, TPM2TOOLS_TCTI=cls.tcti)
        subprocess.run(words, check=True, cwd=cls.tpm, env=environment, stdout=subprocess.DEVNULL)
        for kind in ("-t", "-s"):  # there is no resource manager
            subprocess.run(["tpm2_flushcontext", kind], check=True, env=environment)

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait()
        shutil.rmtree(cls.tpm)
        super().tearDownClass()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def pem(self, name):
        return os.path.join(self.tpm, name + ".pem")

    def run_quoted(self, name="ecc", log=boot_log(EVENTS), **environment):
        if log is not None:
            with open(self.path("log"), "wb") as file:
                file.write(log)
        return self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db, "--quiet",
                          "--quote", KEYS[name][0], TPM2TOOLS_TCTI=self.tcti,
                          ASSAY_TPM_LOG=self.path("log") if log is not None else "/nowhere", **environment)

    def both(self, path, key=None):
        """The exit status of ours, with which the second verifier agrees, and what ours says."""
        call = self.assay("verify", path, *(("--quote-key", self.pem(key)) if key else ()))
        kind = verify_bundle.Bundle if path.endswith(".assay") else verify.Verifier
        pem = None
        if key:
            with open(self.pem(key), "rb") as file:
                pem = file.read()
        found = kind(path, quote_key=pem).run()
        self.assertEqual(call.status, 1 if found else 0, (call.out, call.err, found))
        return call.status, call.out

    def quotes(self, path):
        self.db, before = path, self.db
        rows = self.query("SELECT o.body FROM dump d JOIN content o ON o.digest = d.output WHERE tool = 'tpm2_quote'"
                          " ORDER BY d.id")
        self.db = before
        return [row[0] for row in rows]

    def forged(self, change):
        """A copy in which the quote of the end is what `change` makes of its lines; what follows is made again."""
        copy = self.path("copy.db")
        shutil.copy(self.db, copy)
        parts = dict(line.split(" ") for line in self.quotes(copy)[-1].splitlines())
        parts = {name: base64.b64decode(data) for name, data in parts.items()}
        parts = change(parts) or parts
        text = parts if isinstance(parts, str) else "".join(
            "%s %s\n" % (name, base64.b64encode(data).decode()) for name, data in parts.items())
        with forge.Forgery(copy) as forgery:
            last = [body for _, body in forgery.bodies("dump") if body["tool"] == "tpm2_quote"][-1]
            output = forgery.blob(text)
            forgery.edit("dump", lambda body: body.update(output=output) if body == last else False)
            forgery.drop_blobs()
            forgery.rewrite()
        return copy

    def test_plan_and_end(self):
        for name, log, says in (("ecc", boot_log(EVENTS), "led to by the log of the boot"), ("rsa", None, "without a log")):
            self.new_db()
            call = self.run_quoted(name, log)
            self.assertEqual(call.status, 0, call.err)
            self.assertEqual([k for (k,) in self.query("SELECT kind FROM checkpoint ORDER BY id")], ["plan", "end", "end"])
            bundle = self.path(name + ".assay")
            self.assertEqual(self.assay("bundle", "last", "-o", bundle, "--db", self.db).status, 0)
            for path in (self.db, bundle):
                status, out = self.both(path, name)
                self.assertEqual(status, 0, out)
                self.assertRegex(out, "a TPM quoted the heads of plan and end of campaign [0-9a-f]{8}, [0-9.]+ s apart by"
                                      " its clock; PCRs " + says)
                status, out = self.both(path, "rsa" if name == "ecc" else "ecc")
                self.assertEqual(status, 1)
                self.assertIn("no good quotes of its plan and its end by the key", out)
        self.assertEqual(self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db",
                                    self.db).status, 0)
        self.assertEqual(self.both(self.db)[0], 0)
        self.assertEqual(self.both(self.db, "rsa")[0], 1)  # the second campaign was not quoted

    def test_forged(self):
        self.assertEqual(self.run_quoted().status, 0)
        mine, plan = self.db, self.quotes(self.db)[0]
        self.new_db()
        self.assertEqual(self.run_quoted().status, 0)
        other = self.quotes(self.db)[-1]
        self.new_db()
        self.assertEqual(self.run_quoted("rsa").status, 0)
        third = dict(line.split(" ") for line in self.quotes(self.db)[-1].splitlines())
        self.db = mine
        self.assertEqual(self.both(self.forged(lambda parts: None), "ecc")[0], 0)

        def swap(name, data):
            return lambda parts: parts.update({name: data})

        def flip(name, at):
            return lambda parts: parts.update({name: parts[name][:at] + bytes([parts[name][at] ^ 1]) + parts[name][at + 1:]})

        for change, says in (
                (lambda parts: other, "nonce is the root of no head"),
                (swap("log", boot_log(EVENTS[:-2])), "do not lead to the value of PCR 4"),
                (swap("log", boot_log([(0, b"other firmware")] + EVENTS[1:])), "do not lead to the value of PCR 0"),
                (swap("log", boot_log(EVENTS[-1:])), "no event of a quoted PCR"),
                (swap("log", boot_log(EVENTS, b"Spec ID Event02\0")), "no log of TCG events"),
                (swap("log", boot_log(EVENTS)[:-1]), "no log of TCG events"),
                (swap("log", b""), "no log of TCG events"),
                (flip("pcrs", 5), "not those that it signed"),
                (flip("attest", 60), "not signed by its key"),
                (flip("signature", 20), "not signed by its key"),
                (swap("key", base64.b64decode(third["key"])), "not signed by its key"),
                (swap("key", b"hello"), "not a public key"),
                (lambda parts: parts.pop("pcrs") and None, "no line pcrs"),
                (lambda parts: "attest %\n", "base64"),
                (lambda parts: "".join("%s %s\n" % pair for pair in third.items()), "nonce is the root of no head")):
            status, out = self.both(self.forged(change))
            self.assertEqual(status, 1, out)
            self.assertIn(says, out)
        # The plan's quote once more is none of the end.
        copy = self.forged(lambda parts: plan)
        self.assertNotIn("quoted the heads", self.both(copy)[1])
        self.assertEqual(self.both(copy, "ecc")[0], 1)

    def test_another_key_at_the_end(self):
        """Both keys are of this TPM; whose the plan's is counts."""
        tools = self.wrapper('for w; do if [ "$w" = 0x81010002 ] && [ -e %s ]; then w=0x81010003; fi; set -- "$@" "$w";'
                             ' shift; done' % self.path("mark"), ("tpm2_quote", "tpm2_readpublic"))
        call = self.run_quoted(PATH=tools)
        self.assertEqual(call.status, 0, call.err)
        status, out = self.both(self.db)
        self.assertEqual(status, 1, out)
        self.assertIn("signed by another key than the quote of the plan", out)

    def wrapper(self, words, names):
        """A PATH whose tools do this first; the mark is there once the plan is quoted."""
        os.makedirs(self.path("bin"), exist_ok=True)
        for name in names:
            tool = self.write(os.path.join("bin", name), "#!/bin/sh\n%s\n%s \"$@\" || exit 1\n%s" % (
                words, shutil.which(name), "touch %s\n" % self.path("mark") if name == "tpm2_readpublic" else ""))
            os.chmod(tool, 0o755)
        return self.path("bin") + ":" + os.environ["PATH"]

    def test_clock(self):
        """That of the TPM goes on by 100 s more than the file's."""
        tools = self.wrapper('if [ -e %s ]; then tpm2_setclock $(($(tpm2_readclock | sed -n "s/^ *clock: //p") + 100000)); fi'
                             % self.path("mark"), ("tpm2_quote",))
        self.wrapper(":", ("tpm2_readpublic",))
        call = self.run_quoted(PATH=tools)
        self.assertEqual(call.status, 0, call.err)
        status, out = self.both(self.db)
        self.assertEqual(status, 1, out)
        self.assertRegex(out, "there were 10[0-9.]+ s by the clock of its TPM")

    def test_without_a_quote(self):
        """Nothing runs, and the reason is kept."""
        KEYS["none"] = ("0x81010077", "", "")
        call = self.run_quoted("none")
        del KEYS["none"]
        self.assertEqual(call.status, 3, call.err)
        self.assertIn("--quote 0x81010077: no quote of a TPM", call.err)
        self.assertEqual(self.query("SELECT count(*) FROM trial"), [(0,)])
        self.assertRegex(self.query("SELECT message FROM dump WHERE tool = 'tpm2_quote'")[0][0], "status [0-9]+")
        call = self.run_quoted("ecc", b"no log")
        self.assertIn("no log of TCG events", call.err)
        call = self.assay("run", "synthetic", "--plan-only", "--quote", "1", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("leave out --quote", call.err)
        call = self.assay("verify", self.db, "--quote-key", self.write("pem", "hello"))
        self.assertEqual(call.status, 2)
        self.assertIn("not a public key", call.err)
        # OpenSSL asks a person for the pass phrase of an encrypted block, unless it is given one.
        with open(self.pem("ecc"), encoding="ascii") as file:
            pem = file.read().replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,%s\n\n" % ("0" * 32), 1)
        call = self.assay("verify", self.db, "--quote-key", self.write("pem", pem))
        self.assertEqual(call.status, 2)
        self.assertIn("not a public key", call.err)
        self.assertNotIn("pass phrase", call.err)


if __name__ == "__main__":
    run_tests()
