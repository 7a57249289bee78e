"""python3 -m assay: the program."""

from .program import main

main()
