"""Each member of a record of each type, changed by the owner of the key, who makes all that follows from it again.

What `assay verify` lets pass is listed in FORMAT.md, "What no file can show", with its reason; nothing else is.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import unittest  # noqa: E402

from tamper import TamperTest  # noqa: E402  (exits where the second verifier cannot run)

import forge  # noqa: E402
import verify_body  # noqa: E402

FORMAT = os.path.join(os.path.dirname(__file__), "..", "..", "results", "FORMAT.md")
# Made again by whoever rewrites the log.
MADE_AGAIN = re.compile(r"checkpoint (size|root|frontier|campaigns_in_log|same_cells_in_log|manifest)|signature signature"
                        r"|trial series|\S+ type$|timestamp|bundle (received|sha256)")


def leaves(value, where=()):
    """The path of each leaf: one for all items of a list."""
    if isinstance(value, dict) and set(value) not in ({"record"}, {"blob"}, {"withheld"}):
        for name in sorted(value):
            yield from leaves(value[name], (*where, name))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, (*where, i))
    else:
        yield where


def word(kind, where):
    return kind + " " + ".".join("#" if isinstance(part, int) else part for part in where)


def other(value):
    """Another value of the same type, which looks as likely; None: a reference, or null."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, verify_body.Number):
        number = float(value) if re.search("[.e]", value) else int(value)
        return verify_body.Number(repr(number * 1.25) if isinstance(number, float) else str(
            number + (3 * number if abs(number) >= 1000 else 1)))
    if isinstance(value, str):
        return value[:-1] + ("1" if value[-1:] == "0" else "0")
    return None


def changed(value, where):
    """A copy with another leaf; None: there is no other."""
    if not where:
        return other(value)
    part = changed(value[where[0]], where[1:])
    if part is None:
        return None
    if isinstance(value, list):
        return value[:where[0]] + [part] + value[where[0] + 1:]
    return {**value, where[0]: part}


def section(name):
    """The lines of a section of FORMAT.md."""
    with open(FORMAT, encoding="utf-8") as file:
        return file.read().split("\n## %s\n" % name)[1].split("\n## ")[0].splitlines()


def types():
    """Those that FORMAT.md lists."""
    return {kind for line in section("Records") if line.startswith("| `")
            for kind in re.findall("`([a-z_]+)`", line.split(" | ")[0])} - {"type"}


def listed():
    """The patterns of the table in FORMAT.md."""
    for line in section("What no file can show"):
        if line.startswith("| `"):
            kind, members, _ = line.strip("| ").split(" | ")
            for member in re.findall("`([^`]+)`", members):
                yield re.compile(re.escape(kind.strip("`") + " " + member).replace(r"\*", ".*"))


class LeafSweep(TamperTest):
    def sweep(self):
        """{word: whether it passes} of each leaf."""
        with open(os.path.join(self.folder, "k.key"), encoding="utf-8") as file:
            key = file.read()
        with forge.Forgery(self.copy()) as forgery:
            bodies = [(number, kind, verify_body.spelled(body)) for number, kind, body in forgery.db.execute(
                "SELECT id, type, body FROM record WHERE log = 1 ORDER BY id DESC")]
        self.assertEqual({kind for _, kind, _ in bodies}, types(), "a type of which nothing is changed")
        places = {}
        for number, kind, body in bodies:
            for where in leaves(body):
                name = word(kind, where)
                if where[-1] == "ticks" and not body["facts"]["conduct"].get("ticks_per_s"):
                    continue  # of a counter whose rate could not be measured before the window
                if not MADE_AGAIN.match(name) and changed(body, where) is not None:
                    places.setdefault(name, (number, body, where))
        found = {}
        for name in sorted(places):
            number, body, where = places[name]
            path = self.copy()
            with forge.Forgery(path) as forgery:
                forgery.db.execute("UPDATE record SET body = ? WHERE id = ?",
                                   (verify_body.canonical(changed(body, where)), number))
                forgery.rewrite(key=key, series=True)
            found[name] = self.assay("verify", path, "--json", "--threads", "1").status == 0
        return found

    def test_sweep(self):
        found, patterns = self.sweep(), list(listed())
        passed = {name for name, passes in found.items() if passes}
        print("%d members changed: %d found, %d of those that no file can show" % (
            len(found), len(found) - len(passed), len(passed)))
        self.assertEqual([name for name in sorted(passed) if not any(p.fullmatch(name) for p in patterns)], [])
        # What is found is no longer in the table.
        self.assertEqual([p.pattern for p in patterns if not any(p.fullmatch(name) for name in passed)], [])


if __name__ == "__main__":
    unittest.main()
