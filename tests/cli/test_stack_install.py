"""Stacks: a driver in versions, installed from a lock file, named by an arm; with --nvrtc the real
compilers of CUDA 12 and 13, which need no device."""

import ctypes.util
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, CliTest, pocl_cache, run_tests, thorough  # noqa: E402
from wheels import make_wheel, share_wheels  # noqa: E402

DECLARATION = """stack: made-up
description: a driver of no device
versions: ["2.1.0", "1.0.0"]
driver: lib/libmadeup.so
"""


class Stack(CliTest):
    @classmethod
    def setUpClass(cls):
        """Room for what the tests install of the stack as it is declared above, and the wheels for that."""
        share_wheels(cls, "made_up", lambda version: {
            **cls.data(version, "lib/libmadeup.so"), "vendor/lib/libfancy.so.2": f"version {version}".encode()})

    def setUp(self):
        super().setUp()
        self.wheels = os.path.join(self.folder, "wheels")
        shutil.copytree(os.path.join(self.shared, "wheels"), self.wheels)
        os.mkdir(os.path.join(self.folder, "made-up"))
        self.name = self.write("made-up/stack.yaml", DECLARATION)
        for version, digest in self.digests.items():
            self.lock(version, digest)

    @staticmethod
    def data(version, *libraries):
        """As Intel's: the library lies in `data`, which goes into the environment itself."""
        return {f"made_up-{version}.data/data/{library}": b"no library" for library in libraries}

    def lock(self, version, digest):
        self.write(f"made-up/{version}.lock", f"made-up=={version} \\\n    --hash=sha256:{digest}\n")

    def environment(self, **changes):
        return super().environment(**{"ASSAY_WORKERS": os.path.join(self.folder, "installed"), **changes})

    def install(self, name, *words):
        return self.assay("stack", "install", name, "--find-links", self.wheels, *words)

    def have(self, *versions):
        """They are installed, as by `install`, where installing is not what is tested: by the first test for all."""
        for version in versions:
            first = os.path.join(self.shared, f"made-up@{version}")
            own = os.path.join(self.folder, "installed", f"made-up@{version}")
            if not os.path.exists(first):
                self.assertEqual(self.install(f"{self.name}@{version}").status, 0)
                self.keep(version)
                continue
            shutil.copytree(first, own, symlinks=True)
            self.write(f"installed/made-up@{version}/driver.icd", f"{own}/venv/lib/libmadeup.so\n")

    def keep(self, version):
        """For `have` of other tests."""
        folder = f"made-up@{version}"
        if not os.path.exists(os.path.join(self.shared, folder)):
            shutil.copytree(os.path.join(self.folder, "installed", folder), os.path.join(self.shared, folder),
                            symlinks=True)

    def installed(self):
        folder = os.path.join(self.folder, "installed")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def test_declared(self):
        rows = self.assay("stack", "list", "--json").json()
        self.assertGreaterEqual([row["name"] for row in rows].count("intel-opencl-rt"), 5)
        for row in rows:
            self.assertFalse(row["installed"])
            names = [package.split("==") for package in row["packages"][::2]]
            self.assertIn([row["name"], row["version"]], names)
            self.assertEqual(row["name"] == "intel-opencl-rt", "intel-cmplr-lib-rt" in [name for name, _ in names])
            self.assertEqual(row["driver"] is None, bool(row["libraries"]))
            for digest in row["packages"][1::2]:
                self.assertRegex(digest, "^sha256:[0-9a-f]{64}$")
        self.assertLessEqual({("nvrtc", "nvidia-cuda-nvrtc"), ("cublaslt", "nvidia-cublas"), ("cudnn", "nvidia-cudnn-cu13")},
                             {(library, row["name"]) for row in rows for library in row["libraries"]})
        self.assertIn("there are intel-opencl-rt", self.assay("stack", "show", "openvino").err)
        self.assertIn("there is no worker", self.assay("worker", "show", "intel-opencl-rt").err)
        self.assertIn("takes no settings", self.assay("stack", "show", "intel-opencl-rt,mode=x").err)
        for line, word in (("driver: ../x.so", "leads elsewhere"), ("stack: a/b", "`stack`"),
                           ("libraries: [{name: x, path: ../x.so}]", "`driver` or `libraries`")):
            key = line.split(":")[0]
            text = "".join(x for x in DECLARATION.splitlines(True) if not x.startswith(key)) + line + "\n"
            self.assertIn(word, self.assay("stack", "show", self.write("made-up/wrong.yaml", text)).err)

    def test_installed_and_named(self):
        """Versions side by side, each with an ICD file; an arm that names one has its variables."""
        folders = {}
        for version in ("1.0.0", "2.1.0"):
            call = self.install(f"{self.name}@{version}", "--json")
            self.assertEqual(call.status, 0, call.err)
            row, = call.json()
            self.assertEqual((row["version"], row["installed"]), (version, True))
            folders[version] = row["folder"]
            with open(os.path.join(row["folder"], "driver.icd"), encoding="utf-8") as file:
                driver = file.read().rstrip("\n")
            self.assertTrue(os.path.samefile(driver, os.path.join(row["folder"], "venv", row["driver"])))
            self.keep(version)
        self.assertEqual(self.installed(), ["made-up@1.0.0", "made-up@2.1.0"])
        call = self.assay("ab", "synthetic", "--device", "null:0", "--protocol", self.write("e.yaml", self.EVIDENCE),
                          "--a", "driver=" + folders["1.0.0"], "--b", "driver=" + folders["2.1.0"],
                          "--db", self.db, "--json")
        self.assertIn(call.status, (0, 1, 2, 3), call.err)
        shown = [self.assay("show", f"last/{number}", "--db", self.db, "--json").json() for number in (1, 2)]
        self.assertEqual([cell["trials"][0]["environment"]["host"]["variable.OCL_ICD_VENDORS"]["value"] for cell in shown],
                         [os.path.realpath(folders[version]) for version in ("1.0.0", "2.1.0")])
        factor, = call.json()["comparability"]["factors"]
        self.assertEqual(factor["factor"], "driver")
        self.assertEqual(self.assay("stack", "remove", self.name).status, 0)
        self.assertEqual(self.installed(), ["made-up@1.0.0"])
        self.assertIn("made-up@2.1.0 is not installed", self.assay("stack", "remove", self.name).err)

    def mapped_by_assay(self):
        """Names of libraries that assay itself runs on."""
        done = subprocess.run(["ldd", ASSAY], capture_output=True, text=True, check=True)
        return re.findall(r"^\s*(\S+\.so\S*) => /", done.stdout, re.M)

    def test_machines_libraries_that_a_stack_copies(self):
        """That a stack brings: the worker starts, on the machine's; the driver's own stay first."""
        names = ["libOpenCL.so.1", "libcuda.so.1", "libstdc++.so.6", "libgcc_s.so.1", *self.mapped_by_assay()]
        self.assertGreater(len(names), 8)
        self.have("1.0.0", "2.1.0")
        for name in names:
            self.write(f"installed/made-up@1.0.0/venv/lib/{name}", "no library")
        folder = os.path.join(self.folder, "installed")
        call = self.assay("ab", "synthetic", "--device", "null:0", "--protocol", self.write("e.yaml", self.EVIDENCE),
                          "--pairs", "5", "--a", f"driver={folder}/made-up@1.0.0", "--b", f"driver={folder}/made-up@2.1.0", "--db",
                          self.db, XDG_CACHE_HOME=os.path.join(self.folder, "cache"))
        self.assertIn(call.status, (0, 1, 3), call.err)
        self.assertEqual(self.query("SELECT DISTINCT status, message FROM trial_end"), [("ok", None)])
        path = [self.assay("show", f"last/{number}", "--db", self.db, "--json").json()["trials"][0]["environment"]["host"]
                ["variable.LD_LIBRARY_PATH"]["value"].split(":") for number in (1, 2)]
        self.assertEqual([len(folders) for folders in path], [2, 1])
        self.assertTrue(all(folders[-1].endswith("/venv/lib") for folders in path), path)
        links = {name: os.readlink(os.path.join(path[0][0], name)) for name in os.listdir(path[0][0])}
        self.assertLessEqual(set(self.mapped_by_assay()), set(links))
        self.assertFalse([file for file in links.values() if file.startswith(self.folder)])

    def test_driver_beside_another_loader(self):
        """PoCL in a folder with files that are named as a loader and as the system's libraries."""
        try:
            with open("/etc/OpenCL/vendors/pocl.icd", encoding="utf-8") as file:
                driver = ctypes.util.find_library("pocl") or file.read().strip()
        except FileNotFoundError:
            self.skipTest("no PoCL here")
        real = next((os.path.join(folder, driver) for folder in glob.glob("/usr/lib/*-linux-gnu") + ["/usr/lib64", "/usr/lib"]
                     if os.path.exists(os.path.join(folder, driver))), None)
        if not real:
            self.skipTest(f"{driver} is in no folder of the system")
        folder = os.path.join(self.folder, "vendor", "lib")
        os.makedirs(folder)
        os.symlink("/usr/share", os.path.join(self.folder, "share"))  # PoCL looks two folders above its own
        for name in (driver, "pocl"):
            os.symlink(os.path.join(os.path.dirname(real), name), os.path.join(folder, name))
        for name in ("libOpenCL.so.1", "libstdc++.so.6", "libsqlite3.so.0", "libcuda.so.1"):
            self.write(f"vendor/lib/{name}", "no library")
        self.write("vendor/driver.icd", os.path.join(folder, driver) + "\n")
        triad = self.write("triad.yaml", "workload: small\nversion: 1\nkind: memory_bound\ndescription: small\n"
                           "precisions: [fp32]\nmemory_bound: {kernel: triad, elements: 100003}\n")
        call = self.assay("ab", triad, "--device", "opencl:0", "--a", "driver=pocl", "--b",
                          f"driver={self.folder}/vendor", "--pairs", "5", "--protocol", self.write("e.yaml", self.EVIDENCE),
                          "--db", self.db, POCL_CACHE_DIR=pocl_cache(), XDG_CACHE_HOME=os.path.join(self.folder, "cache"))
        self.assertIn(call.status, (0, 1, 3), call.err)
        self.assertEqual(self.query("SELECT DISTINCT status, message FROM trial_end"), [("ok", None)])
        loaders = self.query("SELECT DISTINCT path FROM libraries WHERE path LIKE '%/libOpenCL.so%'")
        self.assertEqual(len(loaders), 1, loaders)
        self.assertNotIn(self.folder, loaders[0][0])

    @thorough
    def test_libraries(self):
        """Of a vendor, in versions: found by name, opened by an arm, its change attributed to the library."""
        self.write("made-up/stack.yaml", DECLARATION.split("driver:")[0] +
                   "libraries:\n  - {name: nvrtc, path: vendor/lib/libfancy.so}\n")
        self.assertEqual(self.install(self.name).status, 0)
        self.have("1.0.0")
        row, = self.assay("stack", "show", self.name, "--json").json()
        self.assertEqual((row["driver"], row["libraries"]), (None, {"nvrtc": "vendor/lib/libfancy.so"}))
        words = ("ab", "synthetic", "--device", "null:0", "--protocol", self.write("e.yaml", self.EVIDENCE), "--db",
                 self.db)
        declared = os.path.join(self.folder, "made-up", "stack.yaml")
        call = self.assay(*words, "--a", f"lib:nvrtc={declared}@1.0.0", "--b", f"lib:nvrtc={declared}", "--json")
        self.assertEqual(call.status, 0, call.err)
        shown = [self.assay("show", f"last/{number}", "--db", self.db, "--json").json() for number in (1, 2)]
        paths = [cell["trials"][0]["environment"]["host"]["variable.ASSAY_LIB_NVRTC"]["value"] for cell in shown]
        for path, version in zip(paths, ("1.0.0", "2.1.0")):
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), f"version {version}")
        call = self.assay(*words, "--a", f"lib:cudnn={declared}", "--b", "env:A=1")
        self.assertIn('has no library "cudnn"; it has nvrtc', call.err)
        for name, word in (("nvidia-cuda-nvrtc@13.0", "`assay stack install nvidia-cuda-nvrtc@13.0.88`"),
                           ("nvidia-cuda-nvrtc@9", 'has no version "9"')):
            self.assertIn(word, self.assay(*words, "--a", "lib:nvrtc=" + name, "--b", "env:A=1").err)

    def test_named_by_an_arm(self):
        for name, word in (("intel-opencl-rt@2024", "`assay stack install intel-opencl-rt@2024.2.2`"),
                           ("intel-opencl-rt@1", 'has no version "1"'), ("nowhere", "assay stack list")):
            call = self.assay("ab", "triad", "--a", "driver=" + name, "--b", "env:A=1", "--db", self.db)
            self.assertEqual(call.status, 2 if "install" not in word else call.status, call.err)
            self.assertNotEqual(call.status, 0)
            self.assertIn(word, call.err)

    @thorough
    def test_refused(self):
        """Another wheel than the lock's, and packages without the driver; nothing is left."""
        digest = make_wheel(self.wheels, "made_up", "2.1.0", self.data("2.1.0", "lib/other.so"))
        call = self.install(self.name)
        self.assertIn("a wheel is not the one that the lock file names", call.err)
        self.lock("2.1.0", digest)
        call = self.install(self.name)
        self.assertNotEqual(call.status, 0)
        self.assertIn("its packages have no lib/libmadeup.so", call.err)
        self.assertEqual(self.installed(), [])


class Nvrtc(CliTest):
    """The oldest and the newest of those locked compile every kernel text; all choices of defines in them are for the one
    that is installed (conformance_nvrtc)."""

    def environment(self, **changes):
        place = os.environ.get("ASSAY_WORKERS", os.path.join(os.getcwd(), "test-workers"))
        return super().environment(**{"ASSAY_WORKERS": place, **changes})

    def test_compiles(self):
        program = os.environ["ASSAY_CONFORMANCE_NVRTC"]
        rows = [row for row in self.assay("stack", "list", "--json").json() if "nvrtc" in row["libraries"]]
        rows.sort(key=lambda row: [int(part) for part in row["version"].split(".")])
        arch = "89"
        for row in (rows[0], rows[-1]):
            name = f"{row['name']}@{row['version']}"
            call = self.assay("stack", "install", name, "--quiet") if not row["installed"] else None
            if call and call.status != 0 and re.search("resolve|connection|network|unreachable", call.err, re.I):
                self.skipTest(f"{name} is not installed, and there is no network: {call.err[-300:]}")
            self.assertTrue(call is None or call.status == 0, call and call.err)
            file = glob.glob(os.path.join(row["folder"], "venv", "lib", "python3*", "site-packages",
                                          row["libraries"]["nvrtc"] + "*"))
            done = subprocess.run([program, arch], capture_output=True, text=True, check=False,
                                  env={**os.environ, "ASSAY_LIB_NVRTC": file[0]})
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
            self.assertIn(f"NVRTC {'.'.join(row['version'].split('.')[:2])} (", done.stdout)
            self.assertRegex(done.stdout, f"sm_{arch} +[1-9][0-9]+ texts")


if __name__ == "__main__":
    del globals()["Stack" if "--nvrtc" in sys.argv else "Nvrtc"]
    sys.argv = [word for word in sys.argv if word != "--nvrtc"]
    run_tests()
