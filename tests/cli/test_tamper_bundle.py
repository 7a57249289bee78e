"""The tamper matrix of bundles: both verifiers find and name every change."""

import base64
import copy
import hashlib
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
try:
    import cryptography  # noqa: F401
except ImportError:
    print("skipped: the second verifier needs python3-cryptography")
    sys.exit(77)
import unittest  # noqa: E402

import forge  # noqa: E402
import verify  # noqa: E402
import verify_bundle  # noqa: E402
from assay_cli import CliTest  # noqa: E402

# What only the seal covers: the maker's statements, and the selection of rows.
MAKERS_WORD = ("created_utc_ns", "schema", "tool", "withheld")


def dump(value):
    return verify.canonical(value).decode("utf-8")


def other(value):
    """A different value of the same kind and form."""
    if isinstance(value, bool) or value is None:
        return "x"
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        if re.fullmatch("[0-9a-f]{16,}", value):
            return ("1" if value[0] == "0" else "0") + value[1:]
        return value + "x" if not re.fullmatch("[A-Za-z0-9+/]+=*", value) or len(value) % 4 else \
            ("B" if value[0] == "A" else "A") + value[1:]
    if isinstance(value, list):
        return value[1:] if value else ["x"]
    name = sorted(value)[0]
    return {**value, name: other(value[name])}


def changes(value, where=""):
    """(what, a changed copy) for a value and all that is in it, two of a list at most."""
    if isinstance(value, dict):
        for name in value:
            less = dict(value)
            del less[name]
            yield where + name + " taken out", less
            for what, part in changes(value[name], where + name + "."):
                yield what, {**value, name: part}
        yield where + "x added", {**value, "x": 1}
    elif isinstance(value, list):
        for i in sorted({0, len(value) - 1}) if value else ():
            for what, part in changes(value[i], "%s%d." % (where, i)):
                yield what, value[:i] + [part] + value[i + 1:]
            yield "%s%d taken out" % (where, i), value[:i] + value[i + 1:]
        yield where + "one added", value + (value[:1] or ["0" * 64])
        if len(value) > 1:
            yield where + "turned round", value[::-1]
    else:
        yield where + "changed", other(value)


class TamperBundle(CliTest):
    lines = None

    def setUp(self):
        super().setUp()
        self.key = os.path.join(self.folder, "k.key")
        self.file = os.path.join(self.folder, "b.assay")
        if not TamperBundle.lines:
            self.make()

    def make_key(self, name):
        call = self.assay("key", "new", name, "--file", name + ".key", "--json")
        self.assertEqual(call.status, 0, call.err)
        return call.json()["public_key"]

    def make(self):
        """Two campaigns, one of them bundled: heads before, between and after; some values withheld."""
        TamperBundle.public = self.make_key("k")
        environment = {"ASSAY_KEY": self.key}
        for _ in range(2):
            self.assertEqual(self.run_synthetic("--nonce", "ask-17", **environment).status, 0)
        result = self.query("SELECT substr(uid, 1, 8) || '/1' FROM campaign ORDER BY id DESC")[0][0]
        self.assertEqual(self.assay("amend", result, "--reason", "the fan was loud", "--by", "me",
                                    "--db", self.db).status, 0)
        end, root = self.query("SELECT id, root FROM checkpoint WHERE kind = 'end'"
                               " ORDER BY id DESC LIMIT 1")[0]
        with open(os.path.join(self.folder, "token"), "wb") as file:
            file.write(forge.token(root))
        call = self.assay("checkpoint", "--timestamp-token", "token", "--number", str(end),
                          "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        call = self.assay("bundle", "last", "-o", self.file, "--db", self.db, "--withhold",
                          "amendment.reason", "--withhold", "component.path", **environment)
        self.assertEqual(call.status, 0, call.err)
        TamperBundle.lines = self.read()
        TamperBundle.heads = json.loads(self.lines[0])["heads"]
        # The same again as another file, by somebody else.
        self.make_key("stranger")
        self.assertEqual(self.assay("bundle", "last", "-o", "other.assay", "--db", self.db, ASSAY_KEY=
                                    os.path.join(self.folder, "stranger.key")).status, 0)
        TamperBundle.stranger = self.read("other.assay")

    def read(self, name="b.assay"):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read().split("\n")[:-1]

    def write_lines(self, lines, seal=True):
        """Writes a bundle; with a correct last line, as anybody can make it."""
        body = "".join(line + "\n" for line in lines[:-1])
        if seal:
            end = json.loads(lines[-1])
            end.update(rows=len(lines) - 2, sha256=hashlib.sha256(body.encode()).hexdigest())
            if end["seal"] and seal != "kept":
                end["seal"] = None
            lines = lines[:-1] + [dump(end)]
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(body + lines[-1] + "\n")

    def ours(self, *words):
        """{(check, table, line)} of what is wrong; an unknown format is wrong as a whole."""
        call = self.assay("verify", self.file, "--json", "--threads", "1", *words)
        self.assertIn(call.status, (0, 1, 4), call.err)
        if call.status == 4:
            self.assertRaises(verify.Refused, verify_bundle.Bundle(self.file).run)
            return {("file", None, None)}
        found = [f for f in call.json()["findings"] if f["level"] == "wrong"]
        self.assertEqual(call.status, 1 if found else 0)
        return {(f["check"], f["table"], f["key"]) for f in found}

    def theirs(self, **options):
        try:
            return {f[:3] for f in verify_bundle.Bundle(self.file, **options).run()}
        except verify.Refused:
            return {("file", None, None)}

    def both(self, key=False, **options):
        head = options.get("head")
        return (self.ours(*(("--key", self.public) if key else ()),
                          *(("--expect-head", head) if head else ())),
                self.theirs(keys=[self.public] if key else (), **options))

    def assert_found(self, what, line=None, key=False, **options):
        for found in self.both(key, **options):
            self.assertTrue(found, what)
            if line is not None:
                self.assertIn("line %d" % line, {f[2] for f in found}, what)

    def row(self, table):
        return next(i for i, line in enumerate(self.lines) if '"table":"%s"}' % table in line)

    def tables(self):
        return sorted({json.loads(line)["data"]["table"] for line in self.lines[1:-1]})

    # ---- the cases

    def test_untouched(self):
        self.write_lines(self.lines, seal=False)
        heads = ["%d:%s" % (h["size"], h["root"]) for h in self.heads]
        self.assertEqual(len(heads), 4)
        for head in (None, *heads, heads[0].split(":")[1]):
            self.assertEqual(self.both(key=True, head=head), (set(), set()), head)
        self.assertTrue(any("tokens" in h for h in self.heads))
        self.assertTrue(any("leaves" in h for h in self.heads))
        self.write_lines(self.lines)
        self.assertEqual(self.both(), (set(), set()))
        self.assert_found("no seal", key=True)
        for head in ("%d:%s" % (self.heads[0]["size"], "0" * 64), "7:" + self.heads[0]["root"], "0" * 64):
            self.assert_found(head, head=head)

    def test_rows(self):
        """Of each table, one row: everything in it changed, removed, added."""
        cases = 0
        for table in self.tables():
            number = self.row(table)
            for what, changed in changes(json.loads(self.lines[number])):
                self.write_lines(self.lines[:number] + [dump(changed)] + self.lines[number + 1:])
                with self.subTest(table=table, what=what):
                    if re.fullmatch(r"values(\.\w+)? taken out", what):
                        continue  # as withholding does
                    self.assert_found(what, number + 1)
                    cases += 1
        print("%d rows changed and sealed anew, each found and named by both" % cases)

    def test_withheld_by_another(self):
        """Only the maker may withhold: the seal reveals it when another did."""
        number = next(i for i, line in enumerate(self.lines) if '"values":' in line)
        row = json.loads(self.lines[number])
        del row["values"]
        lines = self.lines[:number] + [dump(row)] + self.lines[number + 1:]
        self.write_lines(lines, seal="kept")
        self.assert_found("values taken out", key=True)

    def test_proofs_swapped(self):
        for number in range(1, len(self.lines) - 2, 23):
            rows = [json.loads(self.lines[number + i]) for i in (0, 1)]
            for members in (["path"], ["path", "leaf"], ["data"], ["values"], ["blobs"]):
                new = copy.deepcopy(rows)
                for member in members:
                    for a, b in ((0, 1), (1, 0)):
                        new[a].pop(member, None)
                        if member in rows[b]:
                            new[a][member] = rows[b][member]
                if new == rows:
                    continue
                self.write_lines(self.lines[:number] + [dump(r) for r in new] + self.lines[number + 2:])
                self.assert_found("%s swapped at line %d" % (members, number + 1))

    def test_lines(self):
        """Lines removed, doubled, reordered; their ends and their encoding."""
        for table in self.tables():
            number = self.row(table)
            with self.subTest(table=table):
                self.write_lines(self.lines[:number] + self.lines[number + 1:], seal="kept")
                self.assert_found("taken out", key=True)
                self.write_lines(self.lines[:number + 1] + self.lines[number:])
                self.assert_found("twice", number + 2)
                turned = self.lines[number:number + 2][::-1]
                if number + 2 < len(self.lines):
                    self.write_lines(self.lines[:number] + turned + self.lines[number + 2:])
                    self.assert_found("another order", number + 2)
                self.write_lines(self.lines[:number] + [self.lines[number].replace(",", ", ", 1)] +
                                 self.lines[number + 1:])
                self.assert_found("another spelling", number + 1)
        for what, lines in {
                "behind the end": self.lines + [self.lines[1]], "two heads": self.lines[:1] + self.lines,
                "no end": self.lines[:-1], "no head": self.lines[1:], "nothing": ["{}"],
                "an empty line": self.lines[:3] + [""] + self.lines[3:]}.items():
            with self.subTest(what):
                self.write_lines(lines, seal=False)
                self.assert_found(what)

    def test_first_line(self):
        cases = 0
        first = json.loads(self.lines[0])
        for member in first:
            for what, changed in changes(first[member], member + "."):
                if member == "heads":
                    continue
                with self.subTest(what):
                    self.write_lines([dump({**first, member: changed})] + self.lines[1:], seal="kept")
                    self.assert_found(what, key=True)
                    if member not in MAKERS_WORD and not what.endswith("one added"):
                        self.write_lines([dump({**first, member: changed})] + self.lines[1:])
                        self.assert_found(what)
                    cases += 1
            less = dict(first)
            del less[member]
            self.write_lines([dump(less)] + self.lines[1:])
            self.assert_found(member + " taken out", None if member == "assay_bundle" else 1)
        self.write_lines([dump({**first, "x": 1})] + self.lines[1:])
        self.assert_found("x added", 1)
        for member, value in (("tool", "a\0b"), ("created_utc_ns", 1 << 63), ("tool", "\\u0000\0")):
            self.write_lines([dump({**first, member: value})] + self.lines[1:])
            self.assert_found(member, 1)
        print("%d changes of the first line found by both" % cases)

    def test_heads(self):
        """Proofs of earlier heads: each changed; swapped; a plan that came after its trials."""
        cases = 0
        first = json.loads(self.lines[0])
        for i, head in enumerate(self.heads):
            for what, changed in changes(head):
                # The maker may show less, as with the selection of rows.
                if what in ("note taken out", "leaves taken out", "tokens taken out",
                            "tokens.0 taken out", "tokens.one added"):
                    continue
                if re.match(r"note", what):
                    changed["note"] = head["note"].replace(head["note"].split("\n")[3],
                                                           "plan 1 " + "0" * 64)
                with self.subTest(head=i, what=what):
                    heads = self.heads[:i] + [changed] + self.heads[i + 1:]
                    self.write_lines([dump({**first, "heads": heads})] + self.lines[1:])
                    self.assert_found(what)
                    cases += 1
            self.write_lines([dump({**first, "heads": self.heads[:i] + self.heads[i + 1:]})] +
                             self.lines[1:], seal="kept")
            self.assert_found("head taken out", key=True)
        heads = copy.deepcopy(self.heads)
        heads[0]["path"], heads[1]["path"] = heads[1]["path"], heads[0]["path"]
        self.write_lines([dump({**first, "heads": heads})] + self.lines[1:])
        self.assert_found("proofs swapped", 1)
        # The end's head declared as the plan's: it covers the plan, but trials too.
        plan = next(h for h in self.heads if "leaves" in h)
        end = next(h for h in self.heads if "note" in h and "\nend " in h["note"])
        heads = copy.deepcopy([h for h in self.heads if h is not plan])
        for head in heads:
            if head["size"] == end["size"]:
                head["note"] = head["note"].replace("\nend ", "\nplan ")
        self.write_lines([dump({**first, "heads": heads})] + self.lines[1:])
        self.assert_found("planned afterwards")
        print("%d changes of earlier heads found by both" % cases)

    def test_last_line(self):
        end = json.loads(self.lines[-1])
        theirs = json.loads(self.stranger[-1])
        for what, changed in (*changes(end), ("another's seal", {**end, "seal": theirs["seal"]})):
            with self.subTest(what):
                self.write_lines(self.lines[:-1] + [dump(changed)], seal=False)
                self.assert_found(what, key=True)
                if not what.startswith("seal") or what == "another's seal":
                    self.assert_found(what)
        # All of it sealed and signed by somebody else: good, and not by this key.
        self.write_lines(self.stranger, seal=False)
        self.assertEqual(self.both(), (set(), set()))
        self.assert_found("by a stranger", key=True)

    def test_bytes(self):
        body = ("\n".join(self.lines) + "\n").encode()
        chance = random.Random(5)
        for _ in range(60):
            at = chance.randrange(len(body))
            with open(self.file, "wb") as file:
                file.write(body[:at] + bytes([body[at] ^ (1 << chance.randrange(8))]) + body[at + 1:])
            self.assert_found("byte %d" % at, key=True)
        for _ in range(20):
            with open(self.file, "wb") as file:
                file.write(body[:chance.randrange(len(body))])
            self.assert_found("truncated", key=True)

    def test_cut_anywhere(self):
        """One finding with its line: what was cut off is not reported as missing too."""
        body = ("\n".join(self.lines) + "\n").encode()
        ends = [i + 1 for i, byte in enumerate(body) if byte == ord("\n")]
        chance = random.Random(9)
        for size in [len('{"assay_bundle":'), 20, 50, ends[0] - 1, ends[0] + 1, ends[-2] + 1, len(body) - 30,
                     len(body) - 1, ends[0], ends[3], ends[-2],
                     *(chance.randrange(20, len(body)) for _ in range(30))]:
            with open(self.file, "wb") as file:
                file.write(body[:size])
            call = self.assay("verify", self.file)
            self.assertEqual((call.status, call.err), (1, ""), size)
            wrong = [line for line in call.out.splitlines() if line.startswith("wrong: ")]
            expected = "wrong: complete: the bundle has no last line: the file is truncated" \
                if size in ends else "wrong: file: line %d: the file is truncated in this line" % (
                    1 + sum(end < size for end in ends))
            self.assertEqual(wrong, [expected], size)
            self.assertTrue(verify_bundle.Bundle(self.file).run(), size)
        self.assertEqual(self.assay("import", self.file, "--db", "new.db").status, 2)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "new.db")))
        for content in (b"", body[:15], b"{}\n", b"\x1f\x8b" + body, b'{"assay_bundle":3,"x":1}\n'):
            with open(self.file, "wb") as file:
                file.write(content)
            call = self.assay("verify", self.file)
            self.assertEqual(call.status, 4, content[:20])
            self.assertIn("b.assay: is ", call.err)
            if content.startswith(b"{"):
                self.assertRaises(verify.Refused, verify_bundle.Bundle(self.file).run)

    def test_damaged_lines(self):
        """Each damaged line is named, and the others are still read."""
        lines = list(self.lines)
        for number, (old, new) in {3: ('"leaf"', '"laef"'), 5: ("{", "["), 7: ('"path"', '"pth"')}.items():
            lines[number] = lines[number].replace(old, new, 1)
        self.write_lines(lines, seal="kept")
        for found in self.both():
            self.assertEqual({f[2] for f in found if f[0] == "file" and f[2] != "line %d" % len(lines)} - {None},
                             {"line 4", "line 6", "line 8"}, found)
        out = self.assay("verify", self.file).out
        self.assertIn("line 4: the line is neither a row nor the last one of a bundle", out)
        self.assertIn("line 6: the line is not JSON: it was changed or truncated", out)
        self.assertIn("line 8: a row lacks its leaf, table, path or values", out)

    def test_forged_whole(self):
        """A maker who owns the ledger can write a plan after the trials; not under the plan's head."""
        first = json.loads(self.lines[0])
        trial = next(json.loads(line)["leaf"] for line in self.lines[1:-1] if '"table":"trial"}' in line)
        plan = next(h for h in self.heads if "leaves" in h)
        self.assertLess(plan["size"], trial)
        for leaf in plan["leaves"]:
            self.assertLess(leaf["leaf"], plan["size"])
            self.assertIn('"leaf":%d,' % leaf["leaf"], "\n".join(self.lines))
        self.assertIn(base64.b64encode(bytes.fromhex(plan["root"])).decode(), plan["note"])
        self.assertEqual(first["assay_bundle"], 1)

    def write_ledger(self, rows, **first):
        """A bundle of a new ledger with these rows, as its owner can make one."""
        leaves = [verify.sha256(b"\0", verify.canonical(row["data"])) for row in rows]

        def root(part):
            half = verify_bundle.split(len(part)) if len(part) > 1 else 0
            return verify.node(root(part[:half]), root(part[half:])) if half else part[0]

        def path(leaf, part):
            half = verify_bundle.split(len(part)) if len(part) > 1 else 0
            if not half:
                return []
            return path(leaf, part[:half]) + [root(part[half:]).hex()] if leaf < half else \
                path(leaf - half, part[half:]) + [root(part[:half]).hex()]

        first = {**json.loads(self.lines[0]), "heads": [], "size": len(rows), "root": root(leaves).hex(), **first}
        first["note"] = "%s\n%d\n%s\nrequest 1 -\n\n" % (
            first["origin"], len(rows), base64.b64encode(root(leaves)).decode())
        self.write_lines([dump(first)] + [dump({**row, "leaf": i, "path": path(i, leaves)})
                                          for i, row in enumerate(rows)] + [self.lines[-1]])

    def test_forged_by_its_maker(self):
        """All proofs hold; rows of the same key, a text under another's digest, heads of another time."""
        rows = [json.loads(line) for line in self.lines[1:-1]]
        heads = ("checkpoint", "signature", "timestamp_token")
        own = [row for row in rows if row["data"]["table"] not in heads]
        self.write_ledger(own)
        self.assertEqual(self.both(), (set(), set()))
        self.write_ledger(rows)
        for found in self.both():
            self.assertIn(("tree", "checkpoint"), {f[:2] for f in found})
        self.write_ledger(own, origin="assay-log/1\n2")
        for found in self.both():
            self.assertIn(("signature", None, None), found)
        for table in ("trial_end", "phase", "planned_trial"):
            self.write_ledger(own + [next(row for row in own if row["data"]["table"] == table)])
            self.assert_found(table + " twice")
        poison = copy.deepcopy(own)
        row = next(row for row in poison if row["data"]["table"] == "content")
        opened = row["values"]["body"]
        opened["value"] += " "
        row["data"]["row"]["body"]["commitment"] = verify.sha256(
            bytes.fromhex(opened["salt"]), verify.canonical(opened["value"])).hex()
        self.write_ledger(poison)
        self.assert_found("a text under another's digest")
        call = self.assay("import", self.file, "--db", "new.db")
        self.assertEqual(call.status, 2, call.err)
        self.assertIn("its body does not match its digest", call.err)
        self.write_lines([self.lines[0], self.lines[1].replace('"table":"', '"table":"\\u001b[31m\u202e')] +
                         self.lines[2:])
        out = self.assay("verify", self.file).out
        self.assertIn("\\x1B[31m\\xE2\\x80\\xAE", out)
        self.assertNotIn("\x1b", out + self.assay("verify", self.file).err)
        for depth in (1500, 3000):
            self.write_lines([self.lines[0], "[" * depth + "]" * depth] + self.lines[2:])
            self.assert_found("nested", 2)


if __name__ == "__main__":
    unittest.main()
