#!/usr/bin/env python3
"""What README.md says must hold: its links lead somewhere, its declarations are accepted, the
commands it names exist, and its map has every room.

usage: check_readme.py ROOT ASSAY
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from check_tree import ARROWS


def call(assay, *arguments):
    return subprocess.run([str(assay), *arguments], capture_output=True, text=True, check=False)


def check(root, assay):
    text = (root / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in target and not (root / target).exists():
            yield f"a link to {target}, which does not exist"
    for room in [*ARROWS, "tests"]:
        if f"[{room}]({room}/README.md)" not in text:
            yield f"the map does not have {room}"

    known = set(re.findall(r"^  ([a-z]+) {2,}", call(assay, "--help").stdout, re.M))
    for command in set(re.findall(r"^    assay ([a-z]+)", text, re.M)):
        if command not in known:
            yield f"assay {command}: no such command"

    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S)
    if not blocks:
        yield "no declaration to try"
    with tempfile.TemporaryDirectory() as folder:
        for number, block in enumerate(blocks, 1):
            path = pathlib.Path(folder) / f"{number}.yaml"
            path.write_text(block, encoding="utf-8")
            answer = call(assay, "describe", str(path))
            if answer.returncode != 0:
                yield f"declaration {number} is refused: {answer.stderr.strip()}"


if __name__ == "__main__":
    findings = list(check(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()))
    print("\n".join(findings) if findings else "nothing found")
    sys.exit(1 if findings else 0)
