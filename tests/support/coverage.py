#!/usr/bin/env python3
"""Prints the line coverage by room from `llvm-cov export -summary-only` on standard input.

usage: coverage.py SOURCE_FOLDER
"""

import json
import os
import sys


def main():
    root = os.path.join(os.path.realpath(sys.argv[1]), "")
    rooms = {}
    for entry in json.load(sys.stdin)["data"][0]["files"]:
        path = os.path.realpath(entry["filename"])
        if not path.startswith(root) or path.startswith(root + "build/"):
            continue
        folders = path[len(root):].split("/")
        room = "/".join(folders[:2] if folders[0] in ("harness", "backends") else folders[:1])
        lines = entry["summary"]["lines"]
        for name in (room, "all"):
            covered, count = rooms.get(name, (0, 0))
            rooms[name] = (covered + lines["covered"], count + lines["count"])
    total = rooms.pop("all")
    print(f"line coverage\n{'room':<24} {'lines':>7} {'covered':>8}")
    for name, (covered, count) in [*sorted(rooms.items()), ("all", total)]:
        print(f"{name:<24} {count:>7} {100 * covered / count:>7.1f}%")


if __name__ == "__main__":
    main()
