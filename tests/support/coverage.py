#!/usr/bin/env python3
"""Prints the line coverage by room from `llvm-cov export -summary-only` on standard input.

The build maps the source folder to ".", so that clang names a source BUILD/./ROOM/FILE; what is
generated lies in the build folder and has no "/./".
"""

import json
import sys


def main():
    rooms = {}
    for entry in json.load(sys.stdin)["data"][0]["files"]:
        _, mark, path = entry["filename"].rpartition("/./")
        if not mark:
            continue
        folders = path.split("/")[:-1]
        room = "/".join(folders[:2 if folders[0] in ("harness", "backends") else 1])
        lines = entry["summary"]["lines"]
        for name in (room, "all"):
            covered, count = rooms.get(name, (0, 0))
            rooms[name] = (covered + lines["covered"], count + lines["count"])
    if not rooms:
        sys.exit("coverage.py: no source file among the names that llvm-cov gives")
    total = rooms.pop("all")
    print(f"line coverage\n{'room':<24} {'lines':>7} {'covered':>8}")
    for name, (covered, count) in [*sorted(rooms.items()), ("all", total)]:
        if count > 0:
            print(f"{name:<24} {count:>7} {100 * covered / count:>7.1f}%")


if __name__ == "__main__":
    main()
