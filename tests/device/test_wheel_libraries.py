"""wheel_libraries.py names the newest libraries of wheels, and keeps variables that are set."""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "declared", "wheel_libraries.py")


class WheelLibraries(unittest.TestCase):
    def names(self, folder, **environment):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ASSAY_LIB_")}
        done = subprocess.run(["sh", "-c", f'eval "$("{sys.executable}" "{SCRIPT}")"; env'],
                              env={**kept, "PYTHONPATH": folder, **environment}, check=True,
                              capture_output=True, text=True)
        return dict(line.split("=", 1) for line in done.stdout.splitlines()
                    if line.startswith("ASSAY_LIB_"))

    def test_names(self):
        with tempfile.TemporaryDirectory(prefix="wheels of ") as folder:
            self.assertEqual(self.names(folder), {})
            nine = os.path.join(folder, "nvidia", "cu9", "lib")
            ten = os.path.join(folder, "nvidia", "cu10", "lib")
            for path in (nine, ten):
                os.makedirs(path)
            for path in (f"{nine}/libnvrtc.so.9", f"{ten}/libnvrtc.so.10",
                         f"{ten}/libnvrtc-builtins.so.10.1", f"{ten}/libnvrtc.alt.so.10",
                         f"{ten}/libcublasLt.so.10"):
                open(path, "w", encoding="utf-8").close()
            self.assertEqual(self.names(folder),
                             {"ASSAY_LIB_NVRTC": f"{ten}/libnvrtc.so.10",
                              "ASSAY_LIB_CUBLASLT": f"{ten}/libcublasLt.so.10"})
            self.assertEqual(self.names(folder, ASSAY_LIB_NVRTC="/mine"),
                             {"ASSAY_LIB_NVRTC": "/mine",
                              "ASSAY_LIB_CUBLASLT": f"{ten}/libcublasLt.so.10"})


if __name__ == "__main__":
    unittest.main()
