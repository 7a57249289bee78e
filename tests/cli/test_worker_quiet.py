"""Nothing that is measured talks to anybody: in a network of its own, to which every address belongs, frameworks send no
packet, look up no name, and leave nothing of their makers' in the user's folders. With --wheels, of the real ones that
are installed (or can be, where they are small)."""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, Call, CliTest, run_tests  # noqa: E402
from wheels import make_wheel  # noqa: E402

DECLARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "backends", "workers")
STAND_IN = os.environ.get("ASSAY_STAND_IN")
WHEELS = "--wheels" in sys.argv
MODEL = """workload: little
version: 1
kind: batched_inference
description: a little transformer
precisions: [fp32]
batches: [1]
scenario: offline
model: {layers: 2, heads: 2, width: 32, context: 16, vocabulary: 96, mlp_ratio: 4}
sequence_length: 16
data: {source: markov, successors: 4}
"""
# Installed for this from PyPI, with what the folder's file system must have left, in GiB.
INSTALLED = {"onnxruntime": 2, "openvino": 2, "pytorch": 16}
LARGE = ["pytorch"]  # 5 GiB from PyPI: installed only where asked for
# Whatever is sent, to any address, goes over the loopback device, whose packets are counted.
ALONE = """ip link set lo up && ip route add local default dev lo && { ip -6 route add local default dev lo || true; } &&
{ "$@"; status=$?; sed -n 's/^ *lo://p' /proc/net/dev >&3; exit $status; }"""


class Quiet(CliTest):
    def setUp(self):
        super().setUp()
        if not shutil.which("unshare") or not shutil.which("ip"):
            self.skipTest("there is no unshare or no ip here")
        status, sent, _ = self.alone("true")
        if status.status != 0 or sent != 0:
            self.skipTest(f"no network namespace here: {status.err.strip()[-200:]}")

    def alone(self, *words, **environment):
        """A program in a network of its own: its call, the packets that were sent, and the files in its home."""
        home = os.path.join(self.folder, "home")
        shutil.rmtree(home, ignore_errors=True)
        os.mkdir(home)
        changes = {"HOME": home, "XDG_CACHE_HOME": None, "ASSAY_WORKERS": self.workers(), **environment}
        values = {name: value for name, value in self.environment(**changes).items() if value is not None}
        counts, write = os.pipe()
        with os.fdopen(counts) as pipe:
            # Root needs no namespace of users, which a changed root folder forbids.
            done = subprocess.run(["unshare", "-n" if os.geteuid() == 0 else "-rn", "sh", "-c", f"exec 3>&{write}; {ALONE}", "sh", *words],
                                  cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=values,
                                  timeout=PATIENCE, check=False, pass_fds=[write])
            os.close(write)
            counted = pipe.read().split()
        files = [os.path.relpath(os.path.join(folder, name), home) for folder, folders, names in os.walk(home)
                 for name in folders + names]
        return Call(done.returncode, done.stdout, done.stderr), int(counted[9]) if counted else 0, files

    def workers(self):
        # Real wheels are installed once for all tests, and stay beside the build.
        return os.path.join(os.getcwd(), "test-workers") if WHEELS else os.path.join(self.folder, "workers")

    def declare(self, name):
        """The worker's own declaration, of a version whose wheel has the stand-in as its library."""
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        with open(os.path.join(DECLARED, name, "worker.yaml"), encoding="utf-8") as file:
            text = re.sub("(?m)^versions:.*$", 'versions: ["9.9"]', file.read())
        with open(STAND_IN, "rb") as file:
            library = re.search("(?m)^library: (.*)$", text).group(1) + ".9.9"
            digest = make_wheel(self.folder, name, "9.9", {library: file.read()})
        self.write(f"{name}/9.9.lock", f"{name}==9.9 --hash=sha256:{digest}\n")
        path = self.write(f"{name}/worker.yaml", text)
        call = self.assay("worker", "install", path, "--find-links", self.folder, ASSAY_WORKERS=self.workers())
        self.assertEqual(call.status, 0, call.err)
        return path

    def measure(self, worker, **environment):
        self.new_db()
        model = self.write("little.yaml", MODEL)
        return self.alone(ASSAY, "run", model, "--device", "cpu:0", "--worker", worker, "--protocol", self.fast(), "--db",
                          self.db, **environment)

    def assert_quiet(self, worker):
        call, sent, files = self.measure(worker)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(sent, 0)
        # Compiled kernels are kept where they belong: assay's, and a framework's own.
        self.assertEqual([path for path in files if re.search("(?i)microsoft|telemetry|deviceid|analytics|intel", path)], [])
        quiet, = self.query("SELECT DISTINCT body FROM reading WHERE name = 'worker.quiet'")
        self.assertIn("ORT_DISABLE_TELEMETRY=1", quiet[0])

    def test_what_is_sent_is_counted(self):
        """To an address, and to whoever knows names: else the other tests could not fail."""
        for program in ("import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
                        "import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'x', ('2001:db8::1', 9))",
                        "import socket; socket.getaddrinfo('assay.invalid', 80)"):
            _, sent, _ = self.alone(sys.executable, "-c", program)
            self.assertGreater(sent, 0, program)

    def test_stand_in(self):
        """Which sends, and makes a folder, unless it is told not to; what the user sets counts."""
        if WHEELS:
            self.skipTest("of the real ones alone")
        worker = self.declare("onnxruntime")
        self.assert_quiet(worker)
        call, sent, files = self.measure(worker, ORT_DISABLE_TELEMETRY="0")
        self.assertEqual(call.status, 0, call.err)
        self.assertGreater(sent, 0)
        self.assertIn(".cache/Microsoft", files)
        self.assertEqual(self.query("SELECT json_extract(body, '$.value') FROM reading WHERE name ="
                                    " 'variable.ORT_DISABLE_TELEMETRY'"), [("0",)])

    def test_wheels(self):
        if not WHEELS:
            self.skipTest("with --wheels")
        measured, left_out = [], []
        for name in sorted(os.listdir(DECLARED)):
            if not os.path.exists(os.path.join(DECLARED, name, "worker.yaml")):
                continue
            known = os.path.isdir(self.workers()) and any(folder.startswith(f"{name}@")
                                                          for folder in os.listdir(self.workers()))
            left = shutil.disk_usage(os.getcwd()).free >> 30
            if not known and name in LARGE and not os.environ.get("ASSAY_TEST_LARGE_WHEELS"):
                print(f"skipped: {name} is not installed in {self.workers()}; ASSAY_TEST_LARGE_WHEELS=1 installs it")
                left_out.append(name)
                continue
            if not known and left < INSTALLED.get(name, left + 1):
                print(f"skipped: {name} is not installed in {self.workers()}, on whose disk {left} GiB are left")
                left_out.append(name)
                continue
            if name in INSTALLED:
                self.provide_worker(name, ASSAY_WORKERS=self.workers())
            with self.subTest(name):
                self.assert_quiet(name)
            measured.append(name)
        self.assertEqual([name for name in INSTALLED if name not in measured + left_out], [])


if __name__ == "__main__":
    if not WHEELS and not STAND_IN:
        sys.exit("ASSAY_STAND_IN names no library")
    sys.argv = [word for word in sys.argv if word != "--wheels"]
    run_tests()
