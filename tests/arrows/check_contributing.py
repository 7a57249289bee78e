#!/usr/bin/env python3
"""What CONTRIBUTING.md says must hold: the files that it names exist, the tables that it names are in
them, and bootstrap.sh has its commands.

usage: check_contributing.py ROOT       check the tree at ROOT
       check_contributing.py --self-test    plant each fault, expect it found
"""
import pathlib
import re
import subprocess
import sys

FOLDERS = ("backends", "harness", "protocols", "reports", "results", "tests", "workloads")


def check(root, text):
    names = re.findall(r"\]\(([^)#\s]+)\)", text) + [
        name for name in re.findall(r"`([^`\s]+)`", text)
        if name.startswith(tuple(folder + "/" for folder in FOLDERS)) and "NAME" not in name]
    for name in names:
        if "://" not in name and not (root / name).exists():
            yield f"{name} does not exist"
    for table, name in re.findall(r"`([A-Z]+_(?:MAP|VERSION))` (?:in|of) `([^`]+)`", text):
        if (root / name).is_file() and \
                not re.search(rf"#define {table}\b", (root / name).read_text(encoding="utf-8")):
            yield f"{table} is not defined in {name}"
    usage = subprocess.run([str((root / "bootstrap.sh").resolve()), "--help"], capture_output=True, text=True,
                           check=False).stdout
    for command in re.findall(r"\./bootstrap\.sh ([a-z]+(?: --[a-z]+)?)", text):
        if not re.search(rf"^  {command}\b", usage, re.M):
            yield f"bootstrap.sh has no {command}"


def self_test(root):
    clean = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    planted = ["`protocols/none.c`", "[a link](none.md)", "`METRIC_MAP` in `protocols/finding.h`",
               "    ./bootstrap.sh none"]
    wrong = [fault for fault in planted if len(list(check(root, clean + "\n" + fault))) != 1]
    print(f"self-test: {len(planted)} planted faults, {len(wrong)} not as expected {wrong}")
    return len(wrong)


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        sys.exit(1 if self_test(pathlib.Path(__file__).parents[2]) else 0)
    tree = pathlib.Path(sys.argv[1])
    findings = list(check(tree, (tree / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    print("\n".join(findings) if findings else "nothing found")
    sys.exit(1 if findings else 0)
