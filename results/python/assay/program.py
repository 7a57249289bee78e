"""The program `assay` of this package."""

import os
import sys

from ._native import program


def main() -> None:
    """Becomes the program, with the arguments of this process."""
    os.execv(program(), ["assay", *sys.argv[1:]])


if __name__ == "__main__":
    main()
