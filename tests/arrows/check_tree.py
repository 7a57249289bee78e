#!/usr/bin/env python3
"""House rules that a compiler does not check: who may include whom, and how files look.

usage: check_tree.py ROOT [--links FILE] [--version X.Y.Z]   check the tree at ROOT
       check_tree.py --self-test                             plant each fault, expect it found

--links names a file of lines "room target;target;..." (what each CMake target links), which
tests/arrows/CMakeLists.txt writes. Exit status: 0 nothing found, 1 something found.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

CORE = "harness/core"
RESULTS = ["results/record", "results/store", "results/analysis", "results/evidence",
           "results/formats"]

# room: what it may include besides itself. An entry that ends in .h admits only that header.
# The closure is written out: an arrow A -> B -> C admits A -> C, except where only a header is
# admitted (workloads see a device through backends/backend.h and nothing else of that room, and of
# an endpoint what declares it).
ARROWS = {
    CORE: [],
    "backends": [CORE],
    "workloads": [CORE, "backends/backend.h", "harness/endpoint/declare.h"],
    "protocols": [CORE],
    "results/record": [CORE, "protocols"],
    "results/store": [CORE, "protocols", "results/record"],
    "results/analysis": [CORE, "protocols", "results/record", "results/store"],
    "results/evidence": [CORE, "protocols", "results/record", "results/store", "results/analysis"],
    "results/formats": [CORE, "protocols", *RESULTS[:-1]],
    "reports": [CORE, "protocols", *RESULTS],
    "harness/endpoint": [CORE, "protocols/serving/request.h"],
    "harness/runner": [CORE, "harness/endpoint", "workloads", "backends", "protocols", *RESULTS],
    "harness/library": [CORE, "harness/runner", "reports", "protocols", *RESULTS],
    "harness/cli": [CORE, "harness/runner", "harness/library", "reports", "workloads/declared.h", "protocols",
                    *RESULTS],
}

# Within a room: which of its folders may include which; all may include what lies in the room itself.
FOLDERS = {
    "workloads": {
        "data": [], "check": ["data"], "ops": ["data", "check"], "onnx": ["data", "check"],
        "graph": ["check"], "session": ["check", "graph", "ops"],
        "models": ["data", "check", "ops", "onnx", "graph", "session"],
        "gemm": ["data", "check", "ops", "onnx"],
        "convolution": ["data", "check", "ops", "onnx", "gemm"],
        "memory_bound": ["data", "check"], "synthetic": ["check"], "endpoint": [],
        "launch": ["check"], "transfer": ["check"],
        "training_step": ["data", "check", "models"],
        "batched_inference": ["data", "check", "models"],
        "generation": ["data", "check", "models", "batched_inference"],
        "pass": ["check", "graph", "models", "session"],
        "program": ["check"],
        "declared": [], "kernels": [],
    },
    "backends": {
        "cpu": [], "gpu": [], "cuda": ["gpu"], "hip": ["gpu"], "null": [], "opencl": [], "skeleton": [],
        "frameworks": ["cpu"], "workers": [], "stacks": [],
    },
}

# The public headers of the library, which are installed as <assay/...> and included as that.
PUBLIC = "harness/library/assay/"

# Written at build time, so not found in the source tree; each belongs to the room of its path.
GENERATED = {"harness/core/version.h"}

# Vendor libraries are opened at run time through declarations of our own.
VENDOR = re.compile(r"^(CL/|cuda|nvrtc|nvml|cublas|cudnn|hip/|hiprtc|rocblas|hipblas|miopen|"
                    r"rocm|amd_smi|oneapi/)", re.I)

# A library that only some rooms may use.
LIBRARY_ROOMS = {"sqlite3.h": (*RESULTS, "reports")}

# A file is a subject. One above this says at its head, after "One subject:", why it is one.
MAX_LINES = 1000

TEXT = {".c", ".h", ".in", ".cl", ".py", ".sh", ".md", ".yaml", ".sql", ".cmake", ".txt"}
CODE = {".c", ".h", ".py", ".sh", ".cmake", ".cl"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def room_of(path):
    """The room that holds a path relative to the root, or None."""
    best = None
    for room in ARROWS:
        if path.startswith(room + "/") and (best is None or len(room) > len(best)):
            best = room
    return best


def strip_comments(text):
    """Comments become blank lines, as many; strings stay."""
    def blank(match):
        found = match.group(0)
        return found if found.startswith('"') else "\n" * found.count("\n")
    return COMMENT.sub(blank, text)


def folder_of(room, path):
    """The folder of the room that holds the path; "" for what lies in the room itself."""
    return path[len(room) + 1:].rpartition("/")[0].partition("/")[0]


def check_folders(root):
    """Within a room, too, arrows go one way, and every folder is in the list."""
    for path in files_of(root):
        room = room_of(path)
        if room not in FOLDERS or not path.endswith((".c", ".h")):
            continue
        here = folder_of(room, path)
        if here and here not in FOLDERS[room]:
            yield f"{path}: the folder {here} of {room} has no arrows; list it in FOLDERS of check_tree.py"
            continue
        for quote, name in INCLUDE.findall(strip_comments((root / path).read_text(encoding="utf-8"))):
            there = folder_of(room, name) if quote == '"' and room_of(name) == room else ""
            if here and there and there != here and there not in FOLDERS[room][here]:
                yield f'{path}: "{name}" runs against the arrows of {room}: {here} may include ' + \
                    (", ".join(FOLDERS[room][here]) or "no other folder")


def may_include(room, header):
    owner = room_of(header)
    if owner is None:
        return False
    return owner == room or owner in ARROWS[room] or header in ARROWS[room]


def check_includes(root, path, text):
    room = room_of(path)
    if room is None:
        return
    for match in INCLUDE.finditer(strip_comments(text)):
        quote, name = match.groups()
        line = strip_comments(text).count("\n", 0, match.start()) + 1
        where = f"{path}:{line}: "
        if quote == "<" and (root / PUBLIC / name.removeprefix("assay/")).exists():
            quote, name = '"', PUBLIC + name.removeprefix("assay/")
        if quote == "<":
            if VENDOR.match(name):
                yield where + f"<{name}> is a vendor's header; declare what is needed in a " \
                    "header of ours and open the library at run time"
            if room not in LIBRARY_ROOMS.get(name, (room,)):
                yield where + f"<{name}> is the business of {', '.join(LIBRARY_ROOMS[name])} alone"
            if (root / name).exists():
                yield where + f"<{name}> is ours: write it in quotes"
        elif name not in GENERATED and not (root / name).exists():
            yield where + f'"{name}" is not a path from the root of the tree'
        elif not name.endswith((".h", ".inc")):
            yield where + f'"{name}" is not a header'
        elif not may_include(room, name):
            yield where + f'"{name}" runs against the arrows: {room} may include ' + \
                (", ".join(ARROWS[room]) or "none of ours but itself")


def check_public(root):
    """Public headers include the standard library's and each other alone; tests/library counts them."""
    for path in files_of(root):
        if not path.startswith(PUBLIC):
            continue
        for quote, name in INCLUDE.findall(strip_comments((root / path).read_text(encoding="utf-8"))):
            if quote == '"' or "/" in name and not name.startswith("assay/"):
                yield f'{path}: "{name}" is not public: declare what is needed in <assay/...>'


def check_shape(path, text, version):
    suffix = pathlib.PurePath(path).suffix
    lines = text.split("\n")
    count = len(lines) - 1
    if suffix in CODE and count > MAX_LINES and "One subject:" not in "\n".join(lines[:30]):
        yield f"{path}:{count}: over {MAX_LINES} lines; is there a second subject in it? If not, say why at its " \
            'head, after "One subject:"'
    if text and not text.endswith("\n"):
        yield f"{path}:{count + 1}: no newline at the end"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield f"{path}:{number}: trailing white space"
        if suffix in {".c", ".h"} and "\t" in line:
            yield f"{path}:{number}: a tab; indent by 4 spaces"
        if suffix in {".c", ".h"} and version and f'"{version}"' in line and room_of(path):
            yield f"{path}:{number}: the version is written out; use ASSAY_VERSION " \
                "of harness/core/version.h"


def check_readmes(root):
    for folder in list(ARROWS) + ["results", "tests"]:
        if (root / folder).is_dir() and not (root / folder / "README.md").exists():
            yield f"{folder}: no README.md (what lives here, what it may include, where to add)"


def check_links(lines):
    targets = {"assay_" + room.rpartition("/")[2]: room for room in ARROWS}
    targets["assay"] = targets.pop("assay_cli")
    for line in lines:
        name, _, linked = line.strip().partition(" ")
        room = targets.get(name)
        for other in linked.split(";") if room else []:
            below = targets.get(other)
            if below and below != room and not any(
                    entry == below or room_of(entry) == below for entry in ARROWS[room]):
                yield f"{room}/CMakeLists.txt: {name} links {other}, against the arrows"


def files_of(root):
    """Tracked and untracked files: a fault is found before it is committed."""
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "--cached",
               "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        names = [name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(p.relative_to(root)) for p in root.rglob("*")
                 if not {"build", ".git"} & set(p.relative_to(root).parts)]
    return sorted(name for name in names if (root / name).is_file())


def check_tree(root, links=(), version=None):
    found = list(check_readmes(root)) + list(check_links(links)) + list(check_public(root)) + \
        list(check_folders(root))
    for path in files_of(root):
        if pathlib.PurePath(path).suffix not in TEXT:
            continue
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            found.append(f"{path}: not UTF-8")
            continue
        found += check_shape(path, text, version)
        if path.endswith((".c", ".h")):
            found += check_includes(root, path, text)
    return found


def self_test():
    """A small clean tree passes; with each fault planted in turn, exactly that one is reported."""
    clean = {room + "/README.md": "Here.\n" for room in ARROWS}
    clean.update({
        "results/README.md": "Here.\n",
        "tests/README.md": "Here.\n",
        "harness/core/status.h": "#include <stdio.h>\n",
        "backends/backend.h": '#include "harness/core/status.h"\n',
        "backends/registry.h": '#include "backends/backend.h"\n',
        "workloads/catalog.c": '#include "backends/backend.h"\n'
                               '/*\n#include "results/store/store.h"\n*/\n',
        "protocols/protocol.h": '#include "harness/core/version.h"\n',
        "results/store/store.h": '#include <sqlite3.h>\n#include "protocols/protocol.h"\n',
        "reports/html.c": '#include "results/store/store.h"\n',
        "harness/runner/trial.h": '#include "protocols/protocol.h"\n',
        "harness/runner/trial.c": '#include "backends/registry.h"\n',
        "harness/cli/main.c": '#include "harness/runner/trial.h"\n'
                              '#include "results/store/store.h"\n#include <assay/assay.h>\n',
        "harness/library/assay/store.h": "#include <stdbool.h>\n",
        "harness/library/assay/assay.h": "#include <assay/store.h>\n",
        "harness/library/store.c": '#include <assay/store.h>\n#include "results/store/store.h"\n',
        "reports/html.h": "int x;\n",
        "workloads/models/gpt2.h": '#include "workloads/ops/ops.h"\n',
        "workloads/ops/ops.h": "int x;\n",
        "results/store/rows.h": "int x;\n",
    })
    planted = [
        ("harness/core/status.h", '#include "backends/backend.h"\n', "against the arrows"),
        ("backends/null.c", '#include "workloads/catalog.h"\n', "not a path from the root"),
        ("backends/null.c", '#include "protocols/protocol.h"\n', "against the arrows"),
        ("workloads/gemm.c", '#include "backends/registry.h"\n', "against the arrows"),
        ("reports/html.c", '  #  include "backends/backend.h"\n', "against the arrows"),
        ("results/store/store.c", '#include "harness/runner/trial.h"\n', "against the arrows"),
        ("protocols/rule.c", '#include "results/store/store.h"\n', "against the arrows"),
        ("harness/runner/trial.c", '#include "harness/cli/main.c"\n', "not a header"),
        ("harness/runner/trial.c", '#include "trial.h"\n', "not a path from the root"),
        ("harness/runner/trial.c", "#include <sqlite3.h>\n", "the business of results/record"),
        ("backends/opencl.c", "#include <CL/cl.h>\n", "vendor"),
        ("workloads/ops/norm.c", '#include "workloads/models/gpt2.h"\n', "against the arrows of workloads"),
        ("workloads/bert/bert.c", "int x;\n", "has no arrows"),
        ("backends/opencl.c", "#include <backends/backend.h>\n", "in quotes"),
        ("protocols/rule.c", "int x; \n", "trailing white space"),
        ("protocols/rule.c", "\tint x;\n", "a tab"),
        ("protocols/rule.c", "int x;", "no newline"),
        ("protocols/rule.c", "int x;\n" * (MAX_LINES + 1), "over"),
        ("protocols/rule.c", 'static const char v[] = "9.8.7";\n', "the version is written out"),
        ("results/store/README.md", None, "no README.md"),
        ("harness/library/assay/run.h", '#include "harness/runner/trial.h"\n', "is not public"),
        ("harness/library/assay/run.h", "#include <sys/types.h>\n", "is not public"),
        ("harness/runner/run.c", "#include <assay/assay.h>\n", "against the arrows"),
    ]
    failures = 0
    for path, text, expected in [(None, None, None)] + planted:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            tree = dict(clean)
            if path:
                tree[path] = text
            for name, content in tree.items():
                if content is not None:
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(content, encoding="utf-8")
            found = check_tree(root, version="9.8.7")
        good = not found if path is None else len(found) == 1 and expected in found[0]
        if not good:
            failures += 1
            print(f"planted {path}: {text!r:.60}: expected {expected!r}, found {found}")
    links = [("assay_reports assay_backends;assay_store", 1), ("assay_core assay_store", 1),
             ("assay_workloads assay_backends;assay_core", 0), ("assay assay_reports;m", 0),
             ("assay_runner assay_reports", 1)]
    for line, expected in links:
        if len(list(check_links([line]))) != expected:
            failures += 1
            print(f"links {line!r}: expected {expected} finding(s)")
    print(f"self-test: {len(planted)} planted faults and {len(links)} link lines, "
          f"{failures} not as expected")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("root", nargs="?", type=pathlib.Path)
    parser.add_argument("--links", type=pathlib.Path)
    parser.add_argument("--version")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return 1 if self_test() else 0
    if options.root is None:
        parser.error("ROOT is missing")
    links = options.links.read_text().splitlines() if options.links else []
    found = check_tree(options.root, links, options.version)
    print("\n".join(found) if found else "nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
