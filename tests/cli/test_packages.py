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
AutoReqProv: no
%description
A library for a test.
%install
mkdir -p %{{buildroot}}{folder}
cp {content} %{{buildroot}}{path}
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

    def rpm_machine(self, path, content):
        """A machine whose rpm has installed the content at that path."""
        root = self.machine("tuned_server")
        database = os.path.join(root, "var/lib/rpm")
        os.makedirs(database, exist_ok=True)
        spec = self.write("p.spec", SPEC.format(folder=os.path.dirname(path), path=path, content=content))
        top = os.path.join(self.folder, "top")
        shutil.rmtree(top, ignore_errors=True)
        self.run_tool("rpmbuild", "-bb", "--define", f"_topdir {top}", "--define", "__os_install_post %{nil}",
                      "--define", "_binaries_in_noarch_packages_terminate_build 0", spec)
        (built,) = [os.path.join(folder, name) for folder, _, names in os.walk(top)
                    for name in names if name.endswith(".rpm")]
        self.run_tool("rpm", "--dbpath", database, "--initdb")
        self.run_tool("rpm", "--dbpath", database, "--justdb", "--nodeps", "--noscripts",
                      "--ignoreos", "--ignorearch", "--force", "-i", built)
        return root

    def run_on(self, root):
        call = self.run_synthetic(ASSAY_HOST_ROOT=root)
        self.assertEqual(call.status, 0, call.err)
        return self.query("SELECT path, manager, package, package_version, version FROM component"
                          " WHERE package IS NOT NULL OR version LIKE 'not as%'")

    @unittest.skipUnless(shutil.which("rpm") and shutil.which("rpmbuild"), "no rpm (package rpm)")
    def test_rpm(self):
        path = self.libc()
        self.assertEqual(self.run_on(self.rpm_machine(path, os.path.realpath(path))),
                         [(path, "rpm", "aardvark-libc:noarch", "2:2.36-9.test", None)])

    @unittest.skipUnless(shutil.which("rpm") and shutil.which("rpmbuild"), "no rpm (package rpm)")
    def test_altered_since_rpm_installed_it(self):
        path, words = self.libc(), "not as installed by aardvark-libc:noarch 2:2.36-9.test"
        self.assertEqual(self.run_on(self.rpm_machine(path, self.write("content", "another\n"))),
                         [(path, None, None, None, words)])
        self.assert_shown(path, words)

    def test_altered_since_dpkg_installed_it(self):
        """The package's list is older than the file, and the MD5 that it recorded is another."""
        path, root = self.libc(), self.machine("tuned_server")
        info = os.path.join(root, "var/lib/dpkg/info")
        os.makedirs(info)
        for name, text in (("libc6:amd64.list", path), ("libc6:amd64.md5sums", f"{'0' * 32}  {path[1:]}"),
                           ("../status", "Package: libc6\nArchitecture: amd64\nVersion: 2.36-9")):
            with open(os.path.join(info, name), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        os.utime(os.path.join(info, "libc6:amd64.list"), (1, 1))
        words = "not as installed by libc6:amd64 2.36-9"
        self.assertEqual(self.run_on(root), [(path, None, None, None, words)])
        self.assert_shown(path, words)

    def assert_shown(self, path, words):
        (uid,), = self.query("SELECT uid FROM campaign")
        shown = self.assay("show", "--all", f"{uid[:8]}/1", "--db", self.db)
        self.assertIn(f"{path} is {words}: it has another content", " ".join(shown.out.split()))


if __name__ == "__main__":
    unittest.main()
