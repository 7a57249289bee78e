#!/usr/bin/env python3
"""Functions of the product that nothing in the product uses; a test does not count as a use.

usage: check_calls.py ROOT          names those of the tree at ROOT
       check_calls.py --self-test   plants some, expects them found

A function that a header of a room declares is used where its name occurs in a room outside of its
declaration and definition. In the form that clang-format gives, those two alone begin in the first
column. Public functions are for others: tests/library calls each. One that the file alone uses which
defines it is no function of a header, unless a test calls it. Exit status: 0 nothing found, 1 something found.
"""
import pathlib
import re
import sys
import tempfile

from check_tree import PUBLIC, files_of, room_of, strip_comments

ALLOWED = {
    "backend_registry_replace": "tests put backends of their own in place of the table",
}

STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
WORD = re.compile(r"[A-Za-z_]\w*")
# A declaration or the head of a definition: type and name from the first column on.
HEAD = re.compile(r"^(?!static\b|typedef\b|INLINE\b)(?:[A-Za-z_][\w *]*[ *])?([A-Za-z_]\w*)\(", re.M)


def check_calls(root, allowed=ALLOWED):
    declared, used, tested = {}, {}, set()
    for path in files_of(root):
        if not path.endswith((".c", ".h", ".inc", ".in")):
            continue
        text = STRING.sub('""', strip_comments((root / path).read_text(encoding="utf-8")))
        if room_of(path) is None:
            tested.update(WORD.findall(text))
            continue
        heads = list(HEAD.finditer(text))
        defined = {head.group(1) for head in heads if not path.endswith(".h")}
        if path.endswith(".h") and not path.startswith(PUBLIC):
            for head in heads:
                declared.setdefault(head.group(1), path)
        for head in reversed(heads):
            text = text[:head.start(1)] + text[head.end(1):]
        for word in WORD.findall(text):
            used.setdefault(word, set()).add(path if word in defined else None)
    for name, path in sorted(declared.items()):
        if name not in used and name not in allowed:
            yield f"{path}: {name} is used by nothing in the product; delete it and its tests, " \
                "or make it static in what uses it"
        elif None not in used.get(name, {None}) and name not in tested:
            yield f"{path}: {name} is used by {', '.join(used[name])} alone, which defines it; make it " \
                "static there"
    for name in allowed:
        if name not in declared or name in used:
            yield f"tests/arrows/check_calls.py: {name} needs no exception any more"


def self_test():
    """Used by a call, a table, a macro; unused except by itself, a comment, a string or a test."""
    tree = {
        "protocols/a.h": "int a_called(void);\nint *a_in_table(int x,\n    int y);\n"
                         "struct a *a_in_macro(void);\n#define A a_in_macro()\n"
                         "enum status a_unused(int x);\nvoid a_tested(void);\n"
                         "int a_own(void);\nint a_own_tested(void);\n",
        PUBLIC + "b.h": "int assay_b(void);\n",
        "protocols/a.c": "int a_called(void)\n{\n    return 1;\n}\n"
                         "enum status a_unused(int x)\n{\n    return x;\n}\nvoid a_tested(void)\n{\n}\n"
                         "int a_own(void)\n{\n    return 1;\n}\nint a_own_tested(void)\n{\n    return a_own();\n}\n"
                         "static int g(void)\n{\n    return a_own_tested();\n}\n",
        "results/store/b.c": '/* a_unused() */\nstatic int (*const table[])(int) = {a_in_table};\n'
                       'static int f(void)\n{\n    puts("a_unused(1)");\n    return a_called();\n}\n',
        "tests/unit/t.c": "int main(void)\n{\n    a_tested();\n    a_own_tested();\n}\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, content in tree.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content, encoding="utf-8")
        found = [line.split()[1] for line in check_calls(root, {"a_tested": "", "a_called": ""})]
    expected = ["a_own", "a_unused", "a_called"]
    if found != expected:
        print(f"expected {expected}, found {found}")
    return found == expected


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(0 if self_test() else 1)
    findings = list(check_calls(pathlib.Path(sys.argv[1])))
    print("\n".join(findings) if findings else "nothing found")
    sys.exit(1 if findings else 0)
