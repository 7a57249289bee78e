"""The second verifier's part for bundles, written from results/BUNDLE.md alone: see verify.py."""

import base64
import fnmatch
import functools
import hashlib
import json

import verify
import verify_body
import verify_heads
import verify_rules
from verify import Record

FIRST = {"assay_bundle", "campaigns", "created_utc_ns", "note", "origin", "proof", "root", "size", "tool",
         "withheld"}
OWN = "assay-log/" + "0" * 32  # in the place of the log of a database that imports it


def begins_as_one(path):
    with open(path, "rb") as file:
        return file.read(16) == b'{"assay_bundle":'


def whole(value):
    """An integer; a text that reads like one is none."""
    if not isinstance(value, verify_body.Number):
        raise ValueError("no number")
    return verify_body.whole(value)


def unbase64(text):
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("another spelling")
    return data


@functools.lru_cache(maxsize=1 << 14)
def parsed(text):
    """A line's object, which nobody changes; whether it stands there in canonical form."""
    text = text.decode("utf-8")
    verify_body.strict(text)
    line = verify_body.spelled(text)
    return line, verify_body.canonical(line) == text


class Bundle(verify.Verifier):
    STEPS = ("lines", "forms", "last_line", "project", "blobs", "words", "logs", "signatures", "samples",
             "complete", "rules", "verdicts")

    def open(self):
        if not begins_as_one(self.path):
            raise verify.Refused("no bundle of assay")
        self.readable = True
        self.first = self.end = None
        self.line, self.trials = 0, {}
        return True

    def found(self, check, message):
        self.wrong(check, None, "line %d" % self.line if self.line else None, message)

    def lines(self):
        with open(self.path, "rb") as file:
            lines = file.read().split(b"\n")
        if lines.pop():
            self.found("file", "the file is truncated")
        self.sha256 = hashlib.sha256()
        for line in lines:
            self.line += 1
            before = self.sha256.hexdigest()
            self.sha256.update(line + b"\n")
            try:
                self.take(*parsed(line), before)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                self.found("file", "the line cannot be read: %r" % error)
            if not self.first:
                break
        self.line = 0
        self.readable = self.first is not None

    def take(self, line, canonical, before):
        if not canonical:
            raise ValueError("is not in canonical form")
        if self.end:
            self.found("file", "stands behind the last line")
        elif not self.first:
            self.take_first(line)
        elif set(line) == {"leaf", "record", "salt"}:
            self.take_record(whole(line["leaf"]), line["record"], line["salt"])
        elif set(line) == {"chunks", "first", "leaf", "series"}:
            self.take_series(whole(line["leaf"]), line["series"], whole(line["first"]), line["chunks"])
        elif set(line) == {"text"}:
            self.content[verify_body.sha256(line["text"].encode())] = line["text"]
        elif set(line) == {"base64"}:
            data = unbase64(line["base64"])
            self.content[verify_body.sha256(data)] = data
        elif set(line) == {"records", "seal", "sha256"}:
            self.end = dict(line, before=before)
        else:
            raise ValueError("has another member, or lacks one")

    def take_first(self, line):
        if whole(line["assay_bundle"]) > 1:
            raise verify.Refused("a bundle of a newer version")
        texts = [line[name] for name in ("note", "origin", "root", "tool")] + line["campaigns"] + line["withheld"]
        if line["assay_bundle"] != "1" or set(line) != FIRST or not line["campaigns"] or not all(
                type(text) is str for text in texts):
            raise ValueError("of another version, or with other members")
        whole(line["created_utc_ns"])
        self.size, self.first = whole(line["size"]), line
        self.log_names = {1: (OWN, bytes(32)), 2: (line["origin"], None)}
        self.last = -1
        self.own({"type": "log", "name": OWN}, 0)

    def own(self, body, leaf):
        """A record as a database enters it that imports the bundle."""
        body = verify_body.canonical(body)
        kind = json.loads(body)["type"]
        salt = verify_body.salt(bytes(32), kind, body)
        self.records.append(Record(None, 1, leaf, kind, verify_body.digest(kind, body, salt, True)[0], salt, body))

    def take_record(self, leaf, record, salt):
        if not self.last < leaf < self.size:
            self.found("tree", "is leaf %d after leaf %d of %d" % (leaf, self.last, self.size))
            return
        self.last, body = leaf, verify_body.canonical(record)
        if type(salt) is str:
            salt = verify_body.unhex(salt)
        elif salt is not None:
            salt = verify_body.canonical(dict(salt))
        digest, _ = verify_body.digest(record["type"], body, salt, False)
        self.records.append(Record("line %d" % self.line, 2, leaf, record["type"], digest, salt, body))

    def take_series(self, leaf, name, first, chunks):
        if leaf > self.last:
            raise ValueError("is before the record of its trial")
        for data in map(unbase64, chunks):
            values = verify_rules.decode(data)
            total = sum(values)
            self.chunks.append((leaf, name, first, len(values), min(values), max(values),
                                total if -1 << 63 <= total < 1 << 63 else None, data))
            first += len(values)

    def last_line(self):
        """The last line, and what importing the bundle would add."""
        if not self.end:
            self.found("complete", "the last line is missing")
            return
        if self.end["sha256"] != self.end["before"]:
            self.found("file", "its SHA-256 does not fit")
        if whole(self.end["records"]) != len(self.records) - 1:
            self.found("complete", "counts %s records" % self.end["records"])
        seal = verify_heads.Note(self.end["seal"]) if self.end["seal"] is not None else None
        if seal and seal.body != "assay-bundle/1\n%s\n" % self.end["before"]:
            self.found("signature", "the seal is of another file")
        if self.authors() and not (seal and seal.signed_by(self.authors(int(self.first["created_utc_ns"])))):
            self.found("signature", "the end is not signed by the key")
        proof = verify_body.canonical(self.first["proof"])
        digest = verify_body.sha256(proof.encode())
        self.content[digest] = proof
        self.own({"type": "bundle", "imported_utc_ns": 0, "file": "-", "sha256": self.sha256.hexdigest(),
                  "proof": {"blob": digest.hex()},
                  "received": verify_body.received((r.body, r.salt) for r in self.records if r.log == 2),
                  **{name: self.first[name] for name in ("campaigns", "note", "origin", "root", "size")}}, 1)

    def left_out(self):
        return set(self.wanted)

    def project(self):
        super().project()
        for digest in self.wanted.keys() - self.content.keys():
            self.content[digest] = None
        trials = dict(self.ask("SELECT r.leaf, e.trial FROM trial_end e JOIN record r ON r.id = e.record"))
        self.chunks = sorted((trials.get(leaf, 0), *chunk) for leaf, *chunk in self.chunks)
        if [uid for (uid,) in self.ask("SELECT uid FROM campaign ORDER BY id")] != self.first["campaigns"]:
            self.found("complete", "has other campaigns than its first line names, or in another order")

    def words(self):
        """What its maker says is withheld, against what is."""
        names = {(record.type + "." if record.type != "readings" else "") + name for record in self.of_log(2)
                 for container, name, _ in verify_body.members_of(record.type, verify_body.spelled(record.body))
                 if verify_body.withheld(container[name])}
        if None in self.content.values():
            names.add("dump.output")
        told = self.first["withheld"]
        if names and not told:
            self.found("content", "something is withheld, although its maker says that nothing is")
        for word in told:
            if not any(name == word or fnmatch.fnmatchcase(name, word) for name in names):
                self.found("content", "its maker says that something is withheld that is not: " + word)
