"""Which package a mapped file belongs to, by rpm's own database."""

import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402

SPEC = """Name: aardvark-libc
Epoch: 2
Version: 2.36
Release: 9.test
Summary: a library for a test
License: Apache-2.0
BuildArch: noarch
%description
A library for a test.
%install
mkdir -p %{{buildroot}}{folder}
echo content >%{{buildroot}}{path}
%files
{path}
"""


class Packages(CliTest):
    def libc(self):
        with open("/proc/self/maps", encoding="utf-8") as file:
            return next(line.split()[-1] for line in file if "/libc.so.6" in line)

    def run_tool(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def test_rpm(self):
        if not shutil.which("rpm") or not shutil.which("rpmbuild"):
            self.skipTest("no rpm (package rpm)")
        root, path = self.machine("tuned_server"), self.libc()
        database = os.path.join(root, "var/lib/rpm")
        os.makedirs(database)
        spec = self.write("p.spec", SPEC.format(folder=os.path.dirname(path), path=path))
        top = os.path.join(self.folder, "top")
        self.run_tool("rpmbuild", "-bb", "--define", f"_topdir {top}", "--define",
                      "__os_install_post %{nil}", spec)
        (built,) = [os.path.join(folder, name) for folder, _, names in os.walk(top)
                    for name in names if name.endswith(".rpm")]
        self.run_tool("rpm", "--dbpath", database, "--initdb")
        self.run_tool("rpm", "--dbpath", database, "--justdb", "--nodeps", "--noscripts",
                      "--ignoreos", "--ignorearch", "--force", "-i", built)
        call = self.run_synthetic(ASSAY_HOST_ROOT=root)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT path, manager, package, package_version FROM component"
                                    " WHERE package IS NOT NULL"),
                         [(path, "rpm", "aardvark-libc:noarch", "2:2.36-9.test")])


if __name__ == "__main__":
    unittest.main()
