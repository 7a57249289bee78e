"""Names NVIDIA's libraries that PyTorch's wheels brought, for a machine that has no toolkit.

usage: eval "$(python3 declared/wheel_libraries.py)"

Prints a line for the shell each, export ASSAY_LIB_CUBLASLT='/...'; missing libraries are left out,
and variables already set are kept. The interpreter is the one whose packages are searched.
"""

import glob
import os
import re
import shlex
import sys

LIBRARIES = {"NVRTC": "libnvrtc.so.[0-9]*", "CUBLASLT": "libcublasLt.so.[0-9]*",
             "CUDNN": "libcudnn.so.[0-9]*"}


def version(path):
    return [int(number) for number in re.findall(r"\d+", os.path.basename(path))]


def main():
    for name, pattern in LIBRARIES.items():
        found = [path for folder in sys.path if folder
                 for path in glob.glob(os.path.join(folder, "nvidia", "*", "lib", pattern))]
        if found and not os.environ.get("ASSAY_LIB_" + name):
            print(f"export ASSAY_LIB_{name}={shlex.quote(max(found, key=version))}")


if __name__ == "__main__":
    main()
