"""The tamper matrix of bundles: whatever is changed, left out or put in is found, although the last line
is made right again; with --key also what the seal alone covers."""

import base64
import copy
import decimal
import hashlib
import json
import os
import random
import re
import sqlite3
import sys
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tamper import CliTest  # noqa: E402  (exits where the second verifier cannot run)
from test_import import ROW  # noqa: E402

import forge  # noqa: E402
import verify_bundle  # noqa: E402
import verify_heads  # noqa: E402

SEAL = "with --key"  # found by who names the key, since the seal is gone


def shortest(number):
    """A number with an exponent as RFC 8785 writes it: none from 1e-6 to 1e21, and no zeros before it."""
    value = decimal.Decimal(number.group())
    if decimal.Decimal("1e-6") <= abs(value) < decimal.Decimal("1e21"):
        return format(value, "f")
    return re.sub(r"e([+-])0+", r"e\1", number.group())


def dump(value):
    """Canonical, but for strings that look like a number behind a colon or comma."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return re.sub(r"(?<=[:,\[])-?\d+(?:\.\d+)?e[+-]\d+(?=[,\]}])", shortest, text)


def other(value):
    """A different value of the same kind and form."""
    if isinstance(value, bool) or value is None:
        return "x"
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return ("1" if value[:1] == "0" else "0") + value[1:]
    if isinstance(value, list):
        return [other(value[0])] + value[1:] if value else ["x"]
    name = sorted(value)[0]
    return {**value, name: other(value[name])}


class Parts:
    """A bundle's lines, parsed, in a copy of its own."""

    def __init__(self, lines):
        rows = [json.loads(line) for line in lines]
        self.head, self.end = rows[0], rows[-1]
        self.blobs = [r for r in rows[1:-1] if "text" in r or "base64" in r]
        self.records = [r for r in rows[1:-1] if "record" in r]
        self.series = [r for r in rows[1:-1] if "series" in r]
        self.nodes, self.heads = self.head["proof"]["nodes"], self.head["proof"]["heads"]

    def lines(self, is_repaired=True):
        rows = [self.head, *self.blobs, *self.records, *self.series]
        body = "".join(dump(row) + "\n" for row in rows)
        if is_repaired:
            self.end = {**self.end, "records": len(self.records), "seal": None,
                        "sha256": hashlib.sha256(body.encode()).hexdigest()}
        return body + dump(self.end) + "\n"

    def one(self, kind, number=-1):
        return [r for r in self.records if r["record"]["type"] == kind][number]

    def shown(self):
        return {r["leaf"] for r in self.records}

    def hidden(self):
        """A leaf that is in a subtree handed over."""
        return next(i << level for level, i, _ in self.nodes if level > 0)


class TamperBundle(CliTest):
    text = None

    def setUp(self):
        super().setUp()
        self.key = os.path.join(self.folder, "k.key")
        self.file = os.path.join(self.folder, "b.assay")
        if not TamperBundle.text:
            self.make()

    def make_key(self, name):
        call = self.assay("key", "new", name, "--file", name + ".key", "--json")
        self.assertEqual(call.status, 0, call.err)
        return call.json()["public_key"]

    def done(self, *words, **environment):
        call = self.assay(*words, "--db", self.db, ASSAY_KEY=self.key, **environment)
        self.assertEqual(call.status, 0, call.err)
        return call

    def make(self):
        """Four campaigns, three of them bundled (one is of another program), with a comparison of two and
        an amendment that came later; something is withheld."""
        TamperBundle.public = self.make_key("k")
        self.write("e.yaml", self.EVIDENCE)
        for protocol in (self.fast(), "./e.yaml", "./e.yaml"):
            self.done("run", "synthetic", "--device", "null:0", "--protocol", protocol)
        self.write("bench.json", json.dumps([ROW]))
        self.done("import", "bench.json")
        uids = [uid[:8] for (uid,) in self.query("SELECT uid FROM campaign ORDER BY id")]
        self.assertIn(self.assay("gate", uids[1] + "/1", uids[2] + "/1", "--db", self.db).status, (0, 1, 3))
        self.assertEqual(self.query("SELECT count(*) FROM comparison"), [(1,)])
        words = ("bundle", *uids[1:], "--withhold", "campaign.command")
        self.done(*words, "-o", "before.assay")
        self.done("amend", uids[1] + "/1", "--reason", "the fan was loud", "--by", "me")
        self.done(*words, "-o", self.file)
        TamperBundle.text = self.read(self.file)
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out)
        TamperBundle.before = self.read("before.assay")
        TamperBundle.digests = dict(self.query("SELECT leaf, lower(hex(digest)) FROM record"))
        # The same again by somebody else.
        self.make_key("stranger")
        call = self.assay(*words, "-o", "stranger.assay", "--db", self.db,
                          ASSAY_KEY=os.path.join(self.folder, "stranger.key"))
        self.assertEqual(call.status, 0, call.err)
        TamperBundle.stranger = self.read("stranger.assay")

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def parts(self):
        return Parts(self.text.splitlines())

    def put(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def wrong(self, *words):
        """What assay verify says is wrong."""
        call = self.assay("verify", self.file, "--json", "--threads", "1", *words)
        found, unverified = ([f for f in call.json()["findings"] if f["level"] == level] for level in ("wrong", "unverified"))
        self.assertEqual(call.status, 1 if found else 3 if unverified else 0, call.err)
        asked = dict(zip(words[::2], words[1::2]))
        theirs = verify_bundle.Bundle(self.file, keys=[asked["--key"]] if "--key" in asked else [],
                                      head=asked.get("--expect-head")).run()
        self.assertEqual(bool(theirs), bool(found), (theirs, found))
        return [f["check"] + ": " + f["message"] for f in found]

    def leave_out(self, parts, kind, is_proven):
        """A record less; with `is_proven` its hash is in the proof, as of one that is not shown."""
        record = parts.one(kind)
        parts.records.remove(record)
        parts.series = [s for s in parts.series if s["leaf"] != record["leaf"]]
        if is_proven:
            parts.nodes.append([0, record["leaf"], self.digests[record["leaf"]]])
            parts.nodes.sort(key=lambda n: n[1] << n[0])

    @staticmethod
    def count_more(parts):
        """The owner of the log lets the last head count a campaign that the bundle does not show, so that what
        there is of its campaigns together cannot be checked; the tree and the note follow."""
        line, size = parts.records[-1], parts.head["size"]
        line["record"]["manifest"]["5a" * 32] = {}
        leaves = [types.SimpleNamespace(leaf=r["leaf"], digest=bytes.fromhex(TamperBundle.digests[r["leaf"]]))
                  for r in parts.records[:-1]]
        leaves.append(types.SimpleNamespace(leaf=line["leaf"], digest=hashlib.sha256(
            b"\0" + dump(line["record"]).encode()).digest()))
        root = verify_heads.Part(leaves, parts.nodes, size).root(size)
        note = parts.head["note"].split("\n")[:4]
        note[2] = base64.b64encode(root).decode()
        parts.head.update(root=root.hex(), note="\n".join(note) + "\n\n")

    # ---- the cases: (what, how, whether only the seal finds it)

    def cases_of_records(self):
        kinds = sorted({r["record"]["type"] for r in self.parts().records})
        self.assertEqual(set(kinds), {
            "amendment", "campaign", "checkpoint", "claim", "comparison", "declaration", "device", "doctor",
            "dump", "estimate", "event", "import", "log", "readings", "signature", "stack", "trial",
            "trial_begin"})
        yield "a head that counts a campaign that is not shown", self.count_more
        for kind in kinds:
            yield kind + " left out", lambda p, k=kind: self.leave_out(p, k, False)
            yield kind + " left out, its hash in the proof", lambda p, k=kind: self.leave_out(p, k, True)
            yield kind + " changed", lambda p, k=kind: self.change(p.one(k))
            yield kind + ": a member more", lambda p, k=kind: p.one(k)["record"].update(x=1)
            if kind == "readings":
                yield "a reading that is no object", lambda p: p.one("readings")["record"]["readings"].update(x="x")
            yield kind + " in another's place", lambda p, k=kind: p.one(k).update(
                leaf=p.one(k)["leaf"] + 1)
            if self.parts().one(kind)["salt"]:
                yield kind + ": salt changed", lambda p, k=kind: p.one(k).update(
                    salt=other(p.one(k)["salt"]))
                if isinstance(self.parts().one(kind)["salt"], str):
                    yield kind + ": salt in capitals", lambda p, k=kind: p.one(k).update(
                        salt=p.one(k)["salt"].upper())
                yield kind + ": salt taken out", lambda p, k=kind: p.one(k).update(salt=None)

    @staticmethod
    def change(line):
        record = line["record"]
        name = next(n for n in sorted(record) if n not in ("type", "withheld")
                    and not (isinstance(record[n], dict) and "withheld" in record[n]))
        record[name] = other(record[name])

    def cases_of_order(self):
        def twice(p):
            p.records.insert(5, p.records[4])

        def twice_elsewhere(p):
            p.records.append({**p.one("estimate"), "leaf": p.hidden()})
            p.records.sort(key=lambda r: r["leaf"])

        def turned(p):
            p.records[4], p.records[5] = p.records[5], p.records[4]

        def leaves_swapped(p):
            a, b = p.one("event", 0), p.one("event", 1)
            a["record"], b["record"], a["salt"], b["salt"] = b["record"], a["record"], b["salt"], a["salt"]

        def forged(p, kind, is_node_gone=False):
            line = copy.deepcopy(p.one(kind))
            self.change(line)
            line["leaf"] = p.hidden()
            p.records.append(line)
            p.records.sort(key=lambda r: r["leaf"])
            if is_node_gone:
                p.nodes[:] = [n for n in p.nodes if n[1] << n[0] != line["leaf"]]

        def beyond(p):
            p.records.append({**p.one("doctor"), "leaf": p.head["size"]})

        yield "a record twice", twice
        yield "a record twice, once in the place of one that is not shown", twice_elsewhere
        yield "two records in another order", turned
        yield "two records in each other's place", leaves_swapped
        yield "a record beyond the end", beyond
        for kind in ("amendment", "comparison", "declaration", "device", "readings", "estimate"):
            yield "a forged %s in the place of one that is not shown" % kind, \
                lambda p, k=kind: forged(p, k)
        yield "the same, without the hash of what is there", lambda p: forged(p, "readings", True)

    def cases_of_withholding(self):
        def withhold_more(p):
            self.withhold(p.one("comparison"), "body")

        def wrong_commitment(p):
            line = next(r for r in p.records if r["record"]["type"] == "campaign")
            line["record"]["command"] = {"withheld": "0" * 64}

        def open_it(p):
            p.one("campaign")["record"]["command"] = "assay run nothing"

        def elsewhere(p):
            p.one("doctor")["record"]["worst"] = {"withheld": "0" * 64}

        def salt_of_withheld(p):
            p.one("campaign").update(salt={'["command"]': "0" * 64})

        yield "a withheld value's commitment changed", wrong_commitment
        yield "a withheld value put in", open_it
        yield "a withheld value's salt put in", salt_of_withheld
        yield "a commitment where no value can be withheld", elsewhere
        yield "one more value withheld, by somebody else", withhold_more, SEAL

    def withhold(self, line, name):
        """As a bundle withholds, by who has the record and its salt."""
        import hmac
        salt = bytes.fromhex(line["salt"])
        path = dump([name])
        own = hmac.new(salt, path.encode(), hashlib.sha256).digest()
        line["record"][name] = {"withheld": hashlib.sha256(own + dump(line["record"][name]).encode())
                                .hexdigest()}
        line["salt"] = {}

    def cases_of_blobs(self):
        def change(p):
            p.blobs[2]["text"] += " "

        def spelled(p):
            p.blobs[2] = {"base64": base64.b64encode(p.blobs[2]["text"].encode()).decode()}

        yield "a blob changed", change
        yield "a blob put in", lambda p: p.blobs.append({"text": "{}"})
        yield "a blob that is no text", lambda p: p.blobs.append({"text": 5})
        yield "a blob that is no base64", lambda p: p.blobs.append({"base64": "%"})
        yield "a blob left out", lambda p: p.blobs.pop(2), SEAL
        yield "a blob in another spelling", spelled

    def cases_of_samples(self):
        def chunk(p, i, value):
            p.series[i]["chunks"][0] = value

        def bit(p):
            data = bytearray(base64.b64decode(p.series[0]["chunks"][0]))
            data[-1] ^= 1
            chunk(p, 0, base64.b64encode(bytes(data)).decode())

        def swap(p):
            a, b = [s for s in p.series if s["series"] == "wall_ns"][:2]
            a["chunks"], b["chunks"] = b["chunks"], a["chunks"]

        yield "a sample changed", bit
        yield "samples left out", lambda p: p.series.pop(0)
        yield "all samples left out", lambda p: p.series.clear()
        yield "samples twice", lambda p: p.series.append(p.series[0])
        yield "a chunk twice", lambda p: p.series[0]["chunks"].append(p.series[0]["chunks"][0])
        yield "samples of two trials swapped", swap
        yield "samples from another number on", lambda p: p.series[0].update(first=1)
        yield "samples from a number on that is a text", lambda p: p.series[0].update(first="0")
        yield "samples under another name", lambda p: p.series[0].update(series="x")
        yield "samples of another record", lambda p: p.series[0].update(leaf=p.one("event")["leaf"])
        yield "samples that are none", lambda p: chunk(p, 0, "AAAA")

    def cases_of_proof(self):
        def split(p):
            """A hash beside those of its two halves."""
            level, i, digest = next(n for n in p.nodes if n[0] > 0)
            p.nodes += [[level - 1, 2 * i, digest], [level - 1, 2 * i + 1, digest]]

        def another_history(p):
            """An earlier head that this log never had, by hashes of its own beside those of the log."""
            level, i, digest = next(n for n in p.nodes if n[0] > 0)
            p.nodes.append([0, i << level, digest])
            p.heads.append({"root": digest, "size": (i << level) + 1})

        yield "a hash of the proof changed", lambda p: p.nodes.__setitem__(0, other_node(p.nodes[0]))
        yield "a hash of the proof left out", lambda p: p.nodes.pop(0)
        yield "a hash of the proof twice", lambda p: p.nodes.append(p.nodes[0])
        yield "a hash for a record that is shown", lambda p: p.nodes.append(
            [0, p.records[0]["leaf"], self.digests[p.records[0]["leaf"]]])
        yield "a hash beyond the end", lambda p: p.nodes.append([0, p.head["size"], "0" * 64])
        yield "a hash at no place", lambda p: p.nodes.append([63, 0, "0" * 64])
        yield "hashes of both halves of a hash", split
        yield "a hash of the proof in capitals", lambda p: p.nodes.__setitem__(
            0, [*p.nodes[0][:2], p.nodes[0][2].upper()])
        yield "an earlier head's root in capitals", lambda p: p.heads[0].update(root=p.heads[0]["root"].upper())
        yield "no proof", lambda p: p.head.update(proof={})
        yield "earlier heads that are no list", lambda p: p.head["proof"].update(heads={})
        yield "an earlier head's root changed", lambda p: p.heads[0].update(root="0" * 64)
        yield "an earlier head's size changed", lambda p: p.heads[0].update(size=p.heads[0]["size"] + 1)
        yield "an earlier head put in", lambda p: p.heads.append({"root": "0" * 64, "size": 3})
        yield "an earlier head of another history", another_history
        yield "an earlier head left out", lambda p: p.heads.pop(0), SEAL

    def cases_of_ends(self):
        stranger = json.loads(self.stranger.splitlines()[0])
        before = json.loads(self.before.splitlines()[0])

        def withheld(p, *words):
            p.head["withheld"] = list(words)

        def campaigns(p, change):
            p.head["campaigns"] = change(p.head["campaigns"])

        yield "the root changed", lambda p: p.head.update(root="0" * 64)
        yield "the root of another head", lambda p: p.head.update(root=before["root"])
        yield "a record more in the size", lambda p: p.head.update(size=p.head["size"] + 1)
        yield "a record less in the size", lambda p: p.head.update(size=p.head["size"] - 1)
        yield "the head of a bundle that was made before", lambda p: p.head.update(
            {n: before[n] for n in ("note", "root", "size", "proof")})
        yield "the note changed", lambda p: p.head.update(note=p.head["note"].replace("\nrequest ", "\nend ")), SEAL
        yield "the note taken out", lambda p: p.head.update(note="")
        yield "the note of another head", lambda p: p.head.update(note=stranger["note"])
        yield "the origin changed", lambda p: p.head.update(origin="assay-log/" + "0" * 32)
        yield "an origin of another form", lambda p: p.head.update(origin="assay-log/1\n2")
        yield "a version of another kind", lambda p: p.head.update(assay_bundle="1")
        yield "a member more in the first line", lambda p: p.head.update(x=1)
        yield "a member less in the first line", lambda p: p.head.pop("tool")
        yield "a campaign less in the list", lambda p: campaigns(p, lambda c: c[1:])
        yield "a campaign more in the list", lambda p: campaigns(p, lambda c: c + ["0" * 64])
        yield "a campaign twice in the list", lambda p: campaigns(p, lambda c: c + c[:1])
        yield "the list of campaigns turned round", lambda p: campaigns(p, lambda c: c[::-1])
        yield "another campaign in the list", lambda p: campaigns(p, lambda c: ["0" * 64] + c[1:])
        yield "nothing in the list of what is withheld", lambda p: withheld(p)
        yield "another word in the list of what is withheld", lambda p: withheld(p, "host.name")
        yield "one more word in the list of what is withheld", lambda p: withheld(
            p, "campaign.command", "host.name")
        yield "a pattern in the list of what is withheld", lambda p: withheld(p, "campaign.*"), SEAL
        yield "the time changed", lambda p: p.head.update(created_utc_ns=5), SEAL
        yield "the time as a text", lambda p: p.head.update(created_utc_ns="5")
        yield "the root in capitals", lambda p: p.head.update(root=p.head["root"].upper())
        yield "the tool changed", lambda p: p.head.update(tool="x"), SEAL
        yield "nothing but the seal taken out", lambda p: None, SEAL

    def test_matrix(self):
        rows = []
        for group in (self.cases_of_records, self.cases_of_order, self.cases_of_withholding,
                      self.cases_of_blobs, self.cases_of_samples, self.cases_of_proof, self.cases_of_ends):
            for what, change, *how in group():
                with self.subTest(what):
                    parts = self.parts()
                    change(parts)
                    self.put(parts.lines())
                    plain, keyed = self.wrong(), self.wrong("--key", self.public)
                    self.assertTrue(keyed, what)
                    if how:
                        self.assertEqual(plain, [], what)
                    else:
                        self.assertTrue(plain, what)
                    rows.append((what, how[0] if how else plain[0].replace(self.file, "FILE")))
        print("\n".join("%-66s %.110s" % row for row in rows))
        print("%d changes, all found" % len(rows))
        self.assertGreaterEqual(len(rows), 62)

    # ---- beside the table

    def test_untouched(self):
        self.put(self.text)
        heads = ["%d:%s" % (h["size"], h["root"]) for h in self.parts().heads]
        self.assertGreater(len(heads), 5)
        for head in (heads[0], heads[-1], heads[0].split(":")[1]):
            self.assertEqual(self.wrong("--key", self.public, "--expect-head", head), [], head)
        self.assertTrue(self.wrong("--expect-head", "7:" + heads[0].split(":")[1]))
        self.assertTrue(self.wrong("--expect-head", "0" * 64))
        self.put(self.parts().lines())
        self.assertEqual(self.wrong(), [])
        self.put(self.stranger)
        self.assertEqual(self.wrong(), [])
        self.assertTrue(self.wrong("--key", self.public))

    def test_blob_left_out(self):
        """It is reported as withheld, by its digest; with nothing in the list, that is wrong."""
        parts = self.parts()
        digest = hashlib.sha256(parts.blobs.pop(2)["text"].encode()).hexdigest()
        self.put(parts.lines())
        found = self.assay("verify", self.file, "--json").json()["findings"]
        self.assertIn(("note", "content", digest), {(f["level"], f["check"], f["key"]) for f in found})
        parts.head["withheld"] = []
        self.put(parts.lines())
        self.assertTrue(any("its maker says that nothing is" in w for w in self.wrong()))

    def test_seal_kept(self):
        """The seal is of the whole file: with it any change is found, and without the key."""
        for change in (lambda p: p.head.update(tool="x"), lambda p: p.blobs.pop(0)):
            parts = self.parts()
            seal = parts.end["seal"]
            change(parts)
            parts.lines()
            parts.end["seal"] = seal
            self.put(parts.lines(is_repaired=False))
            self.assertTrue(any("is not of this bundle" in w for w in self.wrong()))

    def test_last_line(self):
        parts = self.parts()
        theirs = json.loads(self.stranger.splitlines()[-1])
        for what, end in (("a seal that is no text", {**parts.end, "seal": 0}), ("another's seal", {**parts.end, "seal": theirs["seal"]}),
                          ("a record more", {**parts.end, "records": parts.end["records"] + 1}),
                          ("their number as a text", {**parts.end, "records": str(parts.end["records"])}),
                          ("another digest", {**parts.end, "sha256": "0" * 64}),
                          ("a member more", {**parts.end, "x": 1}),
                          ("a member less", {"seal": None, "records": 1})):
            with self.subTest(what):
                self.put("\n".join([*self.text.splitlines()[:-1], dump(end), ""]))
                self.assertTrue(self.wrong())

    def test_lines(self):
        lines = self.text.splitlines()
        for what, changed in {
                "behind the end": lines + [lines[1]], "two heads": lines[:1] + lines, "no end": lines[:-1],
                "another spelling": [*lines[:9], lines[9].replace(":", ": ", 1), *lines[10:]],
                "an unknown line": [*lines[:9], '{"x":1}', *lines[9:]],
                "an unknown type": [*lines[:9], '{"leaf":1,"record":{"type":"x"},"salt":null}', *lines[9:]],
                "nested": [*lines[:9], "[" * 3000 + "]" * 3000, *lines[9:]],
                "an empty line": [*lines[:3], "", *lines[3:]]}.items():
            with self.subTest(what):
                self.put("\n".join([*changed, ""]))
                self.assertTrue(self.wrong())

    def test_later_amendment(self):
        """A bundle made after it shows it; the head of one made before does not count it."""
        for text, count in ((self.before, 0), (self.text, 1)):
            self.assertEqual(sum(r["record"]["type"] == "amendment"
                                 for r in Parts(text.splitlines()).records), count)
            self.put(text)
            self.assertEqual(self.wrong("--key", self.public), [])
        parts = self.parts()
        self.leave_out(parts, "amendment", True)
        self.put(parts.lines())
        self.assertEqual([w for w in self.wrong() if "counts other records" not in w], [])

    def test_bytes(self):
        body = self.text.encode()
        chance = random.Random(5)
        for _ in range(30):
            at = chance.randrange(len(body))
            with open(self.file, "wb") as file:
                file.write(body[:at] + bytes([body[at] ^ (1 << chance.randrange(8))]) + body[at + 1:])
            call = self.assay("verify", self.file, "--key", self.public)
            self.assertIn(call.status, (1, 4), at)
        for size in [20, 50, len(body) - 30, len(body) - 1, *(chance.randrange(20, len(body)) for _ in range(10))]:
            with open(self.file, "wb") as file:
                file.write(body[:size])
            call = self.assay("verify", self.file)
            self.assertEqual((call.status, call.err), (1, ""), size)
            self.assertIn("the file is truncated", call.out)
        self.assertEqual(self.assay("import", self.file, "--db", "new.db").status, 2)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "new.db")))
        for content in (b"", body[:14], b"{}\n", b"\x1f\x8b" + body, ):
            with open(self.file, "wb") as file:
                file.write(content)
            self.assertEqual(self.assay("verify", self.file).status, 4, content[:20])
        self.put('{"assay_bundle":3,"x":1}\n')
        self.assertIn("use a newer one", self.assay("verify", self.file).out)

    def test_control_characters(self):
        """A hostile bundle's text reaches a terminal escaped."""
        lines = self.text.splitlines()
        self.put("\n".join([lines[0].replace('"withheld":["', '"withheld":["\\u001b[31m\u202e', 1), *lines[1:], ""]))
        call = self.assay("verify", self.file)
        self.assertNotIn("\x1b", call.out + call.err)

    def test_database_with_a_forged_record(self):
        """After an import, too: a record put into the vendor's log is proven by no bundle."""
        self.put(self.text)
        self.new_db()
        self.assertEqual(self.assay("import", self.file, "--db", self.db).status, 0)
        self.assertEqual(self.assay("verify", self.db).status, 0)
        with sqlite3.connect(self.db) as db:
            db.execute("INSERT INTO record (log, leaf, type, digest, body) VALUES (2, ?, 'readings', ?, ?)",
                       (self.parts().hidden(), hashlib.sha256(b'\0{"readings":{},"type":"readings"}').digest(),
                        '{"readings":{},"type":"readings"}'))
            db.execute("INSERT INTO reading_set (record) SELECT max(id) FROM record")
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 1, call.out)
        self.assertIn("no bundle here proves it", call.out)

    def test_withheld_after_import(self):
        """Who took a bundle in cannot withhold more of it: the digests are the same, and it is found."""
        self.put(self.text)
        self.new_db()
        self.assertEqual(self.assay("import", self.file, "--db", self.db).status, 0)
        line = self.parts().one("comparison")
        self.withhold(line, "body")
        with forge.Forgery(self.db) as owner:
            owner.db.execute("UPDATE record SET body = ?, salt = '{}' WHERE type = 'comparison'", (dump(line["record"]),))
            owner.db.execute("UPDATE comparison SET body = '{\"withheld\":true}'")
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 1, call.out)
        self.assertIn("something was withheld since, or changed", call.out)
        self.assertEqual({found[:2] for found in forge.verify.Verifier(self.db).run()}, {("row", "record")})


def other_node(node):
    return [*node[:2], other(node[2])]


if __name__ == "__main__":
    unittest.main()
