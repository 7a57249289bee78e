"""The stack of a result: mapped files, compilers, and what happens when either changes."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, CliTest  # noqa: E402

FOREIGN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support",
                       "foreign_worker.py")

# A worker that replaces $VICTIM by $SUBSTITUTE when the second trial begins, then runs assay's.
SWITCH = """#!/bin/sh
if [ -e "$VICTIM.once" ] && [ ! -e "$VICTIM.twice" ]; then
    : >"$VICTIM.twice"
    mv "$SUBSTITUTE" "$VICTIM"
fi
: >"$VICTIM.once"
[ -z "$PRELOADED" ] || export LD_PRELOAD="$VICTIM"
exec "$ASSAY" worker
"""

SMALL = """workload: small
version: 1
kind: memory_bound
description: small, for a test
precisions: [fp32]
memory_bound: {kernel: triad, elements: 100003}
"""


class Stack(CliTest):
    def script(self, name, text):
        path = self.write(name, text)
        os.chmod(path, 0o755)
        return path

    def library(self):
        """Path of a small library that can be preloaded anywhere."""
        with open("/proc/self/maps", encoding="utf-8") as file:
            found = {line.split()[-1] for line in file if "/libm.so" in line or "/libz.so" in line}
        if not found:
            self.skipTest("neither libm nor libz is mapped by python itself")
        return os.path.realpath(sorted(found)[-1])

    def switched(self, victim, substitute, *words, **environment):
        worker = self.script("switch.sh", SWITCH)
        call = self.assay("run", *words, "--protocol", self.fast(), "--db", self.db, "--json",
                          ASSAY_WORKER=worker, ASSAY=ASSAY, VICTIM=victim, SUBSTITUTE=substitute, **environment)
        self.assertEqual(call.status, 1, call.err)
        return self.assay("show", call.json()["results"][0]["id"], "--db", self.db, "--json").json()

    def assert_caught(self, record, path, name):
        """Trials of two stacks do not make one result: the second is invalid, and says by which file."""
        first, second = ([file["sha256"] for file in trial["components"] if file["path"] == path]
                         for trial in record["trials"])
        self.assertNotEqual(first[0], second[0])
        (status, message), = self.query("SELECT status, message FROM trial_end WHERE status <> 'ok'")
        self.assertEqual(status, "invalid")
        self.assertIn(f"stack: the file {name} was {first[0][:16]} in the first trial and is {second[0][:16]}", message)
        self.assertEqual(self.assay("verify", self.db).status, 0)

    def test_a_library_that_changes_between_trials(self):
        victim, other = (os.path.join(self.folder, name) for name in ("libvictim.so", "libother.so"))
        shutil.copy(self.library(), victim)
        shutil.copy(victim, other)
        with open(other, "ab") as file:
            file.write(b"another build\n")  # after the end of the ELF data: it loads as before
        record = self.switched(victim, other, "synthetic", "--device", "null:0", PRELOADED="1")
        self.assert_caught(record, victim, "library.libvictim")

    def test_a_library_that_changes_in_the_window(self):
        victim = os.path.join(self.folder, "libvictim.so")
        shutil.copy(self.library(), victim)
        with open(victim, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        call = self.run_synthetic("--json", ASSAY_WORKER=FOREIGN, FOREIGN_MODE="replaces",
                                  FOREIGN_FILE=victim)
        self.assertEqual(call.status, 0, call.err)
        record = self.assay("show", call.json()["results"][0]["id"], "--db", self.db,
                            "--json").json()
        for trial in record["trials"]:
            seen = {file["at"]: file for file in trial["components"] if file["path"] == victim}
            self.assertEqual(seen["window_start"]["sha256"], digest)
            self.assertIsNone(seen["window_end"]["sha256"])
            self.assertEqual(seen["window_end"]["missing_reason"],
                             "replaced or removed while mapped")
        self.assay("report", "--dossier", "d.html", "--db", self.db)
        with open(os.path.join(self.folder, "d.html"), encoding="utf-8") as file:
            self.assertTrue("1 files changed, came or went while trial 1" in file.read())
        shown = self.assay("show", "--all", call.json()["results"][0]["id"], "--db", self.db).out
        self.assertTrue("; changed, now not recorded" in " ".join(shown.split()))

    def compiler(self, text=""):
        found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if not found:
            self.skipTest("no C compiler here")
        return self.script("cc", f"#!/bin/sh\n{text}exec {found} \"$@\"\n")

    def small(self, **environment):
        return dict(environment, XDG_CACHE_HOME=os.path.join(self.folder, "cache"))

    def test_the_parts_of_the_compiler(self):
        cc = self.compiler()
        call = self.assay("run", self.write("small.yaml", SMALL), "--device", "cpu", "--protocol",
                          self.fast(), "--db", self.db, **self.small(ASSAY_CC=cc))
        self.assertEqual(call.status, 0, call.err)
        rows = self.query("SELECT DISTINCT at, path, size, sha256, version FROM libraries"
                          " WHERE kind = 'compiler'")
        paths = {path for _, path, _, _, _ in rows}
        self.assertIn(os.path.realpath(cc), paths)
        self.assertTrue({"ld", "lld", "ld.bfd", "ld.gold", "x86_64-linux-gnu-ld.bfd",
                         "aarch64-linux-gnu-ld.bfd"} & {os.path.basename(p) for p in paths}, paths)
        self.assertEqual({at for at, *_ in rows}, {"window_start", "window_end"})
        for _, path, size, digest, _ in rows:
            with open(path, "rb") as file:
                content = file.read()
            self.assertEqual(size, len(content))
            self.assertEqual(digest, hashlib.sha256(content).hexdigest())
        self.assertTrue(next(v for _, p, _, _, v in rows if p == os.path.realpath(cc)))
        # What its parts are linked with, unless the worker itself has it, too.
        mapped = {path for path, in self.query("SELECT path FROM libraries WHERE kind = 'library'")}
        linked = set()
        for path in paths:
            listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
            linked |= {os.path.realpath(word) for word in listed.split() if word.startswith("/")}
        self.assertTrue(linked)
        self.assertEqual(linked - mapped - paths, set())

    def test_a_compiler_that_changes(self):
        cc = self.compiler()
        other = os.path.join(self.folder, "other")
        with open(cc, encoding="utf-8") as file:
            shutil.copy(self.write("new", file.read() + "# newer\n"), other)
        os.chmod(other, 0o755)
        record = self.switched(cc, other, self.write("small.yaml", SMALL), "--device", "cpu",
                               **self.small(ASSAY_CC=cc))
        self.assert_caught(record, os.path.realpath(cc), "compiler.cc")

    def test_an_empty_variable_counts_as_unset(self):
        self.assertEqual(self.run_synthetic(ASSAY_HOST_ROOT="", ASSAY_LIB_CUDA="").status, 0)
        shown = self.assay("show", "--all", "last/1", "--db", self.db).out
        self.assertNotIn("taken from the folder", " ".join(shown.split()))
        self.assertNotIn("Libraries chosen by hand", shown)

    def test_drivers_and_firmware_of_a_recorded_machine(self):
        root = self.machine("cloud_guest")
        for path, content in {
                "sys/module/amdgpu/srcversion": "77AA",
                "sys/module/amdgpu/version": "6.8.5",
                "sys/class/drm/card0/device/vbios_version": "113-D41711XT-069",
                "sys/class/drm/card0/device/fw_version/smc_fw_version": "0x00553900",
                "sys/class/drm/card0/device/fw_version/vcn_fw_version": "0x0110901c",
                "sys/class/drm/card0-DP-1/status": "connected"}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(content + "\n")
        call = self.run_synthetic(ASSAY_HOST_ROOT=root)
        self.assertEqual(call.status, 0, call.err)
        self.assertIn(f"come from the folder {root} (ASSAY_HOST_ROOT), not from the machine",
                      " ".join(self.assay("show", "--all", "last/1", "--db", self.db).out.split()))
        reported = dict(self.query("SELECT name, value FROM conditions WHERE trial = 1"
                                   " AND (name LIKE 'host.firmware%' OR name LIKE 'host.driver%')"))
        self.assertEqual(reported, {
            "host.driver.amdgpu": "6.8.5, srcversion 77AA",
            "host.firmware.card0": "vbios 113-D41711XT-069, smc 0x00553900, vcn 0x0110901c"})
        self.assertEqual(self.query("SELECT DISTINCT path, version, missing_reason FROM libraries"
                                    " WHERE kind = 'driver'"),
                         [(root + "/sys/module/amdgpu", "6.8.5, srcversion 77AA",
                           "its file is not in this root")])

    def test_reports_of_a_worker_are_checked(self):
        reported = self.write("reported.bin", "a compiler of theirs")
        for files, word in (([{"kind": "compiler", "path": reported, "version": "7"},
                              {"kind": "firmware", "path": "/no/such/file"},
                              {"kind": "icd", "path": "/dev/zero"}], None),
                            ({"kind": "compiler"}, "array"), ([{"kind": "poem", "path": "/x"}], "kind"),
                            ([{"kind": "icd", "path": "x"}], "absolute"), ([3], "files[0]"),
                            ([{"kind": "icd", "path": "/x"}] * 2000, "at most 1024")):
            with self.subTest(word=word):
                self.new_db()
                call = self.run_synthetic("--json", ASSAY_WORKER=FOREIGN, FOREIGN_MODE="good",
                                          FOREIGN_FILES=json.dumps(files))
                if word:
                    self.assertEqual(call.status, 1)
                    self.assertIn(word, self.query("SELECT message FROM trial_end")[0][0])
                    continue
                self.assertEqual(call.status, 0, call.err)
                found = self.query("SELECT DISTINCT kind, path, version, size, sha256 IS NULL,"
                                   " missing_reason FROM libraries WHERE kind IN ('compiler', 'icd',"
                                   " 'firmware') ORDER BY kind")
                self.assertEqual(found, [
                    ("compiler", reported, "7", 20, 0, None),
                    ("firmware", "/no/such/file", None, 0, 1, "there is no such file"),
                    ("icd", "/dev/zero", None, 0, 1, "there is no such file")])


if __name__ == "__main__":
    unittest.main()
