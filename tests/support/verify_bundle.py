"""The second verifier's part for bundles, written from results/BUNDLE.md alone: see verify.py."""

import base64
import functools
import hashlib
import re
import sqlite3
import struct

import verify
import verify_body
import verify_witness

FIRST = {"assay_bundle", "campaigns", "created_utc_ns", "heads", "note", "origin", "root", "schema", "size",
         "tool", "withheld"}


def begins_as_one(path):
    with open(path, "rb") as file:
        return file.read(16) == b'{"assay_bundle":'


@functools.lru_cache(maxsize=1 << 14)
def parsed(text):
    """A line's object, which nobody changes; whether it stands there in canonical form."""
    line = verify_body.strict(text.decode("utf-8"), verify_body.no_number)
    return line, verify.canonical(line) == text


def digests(path):
    return tuple(unhex(text) for text in path)


def unhex(text):
    value = bytes.fromhex(text)
    if len(value) != 32:
        raise ValueError("no SHA-256")
    return value


def split(size):
    return 1 << (size - 1).bit_length() - 1


@functools.lru_cache(maxsize=1 << 14)  # tests verify one bundle a thousand times, a line of it changed
def included(leaf, index, size, path):
    """The root that an audit path, a tuple, leads to (RFC 6962, section 2.1.1)."""
    path = list(path)

    def climb(index, size):
        if size == 1:
            return leaf
        half = split(size)
        if index < half:
            left = climb(index, half)
            return verify.node(left, path.pop(0))
        right = climb(index - half, size - half)
        return verify.node(path.pop(0), right)
    if not 0 <= index < size < 1 << 62:
        raise ValueError("no such leaf")
    root = climb(index, size)
    if path:
        raise ValueError("the path is too long")
    return root


def grown(old_root, old, size, path):
    """The two roots that a consistency proof leads to (RFC 6962, section 2.1.2)."""
    def climb(old, size, whole):
        if old == size:
            root = old_root if whole else path.pop(0)
            return root, root
        half = split(size)
        if old <= half:
            before, after = climb(old, half, whole)
            return before, verify.node(after, path.pop(0))
        before, after = climb(old - half, size - half, False)
        left = path.pop(0)
        return verify.node(left, before), verify.node(left, after)
    if not 0 < old <= size < 1 << 62:
        raise ValueError("no such head")
    roots = climb(old, size, True)
    if path:
        raise ValueError("the path is too long")
    return roots


class Note:
    """A checkpoint's signed text, or a seal's."""

    def __init__(self, text):
        self.body, _, self.lines = text.partition("\n\n")
        self.body += "\n"
        self.signatures = []
        for line in self.lines.split("\n")[:-1]:
            dash, name, signature = line.split(" ")
            signature = base64.b64decode(signature, validate=True)
            if dash != "\u2014" or not name or len(signature) not in (68, 76):
                raise ValueError("no line of a signature")
            self.signatures.append((name, signature[:4], signature[4:]))
        if self.lines and self.lines[-1] != "\n" or "\n\n" not in text:
            raise ValueError("no end of a line")

    def head(self, origin):
        """(size, root, kind, uid) of a checkpoint of this ledger."""
        name, size, root, last = self.body.split("\n")[:4]
        kind, utc_ns, uid = last.split(" ")
        if self.body != "%s\n%d\n%s\n%s %d %s\n" % (
                origin, int(size), base64.b64encode(base64.b64decode(root)).decode(), kind, int(utc_ns),
                uid) or name != origin:
            raise ValueError("another text")
        return int(size), base64.b64decode(root), kind, uid

    def time(self):
        return int(self.body.split("\n")[3].split(" ")[1])

    def signed_by(self, keys):
        """Whether one of these (name, key) signed it."""
        return any((name, mark) == (author, hashlib.sha256(author.encode() + b"\n\1" + key).digest()[:4]) and
                   len(blob) == 64 and verify.signed(key, blob, self.body.encode())
                   for author, key in keys for name, mark, blob in self.signatures)


class Bundle(verify.Verifier):
    def run(self):
        self.line, self.rows_read, self.last = 0, 0, -1
        self.held = []
        self.heads, self.early, self.campaigns, self.first, self.end = {}, {}, {}, None, None
        with open(self.path, "rb") as file:
            whole = file.read()
        if not begins_as_one(self.path):
            raise verify.Refused("no bundle of assay")
        lines = whole.split(b"\n")
        if lines.pop():
            self.found("file", None, "the file is truncated")
        before = hashlib.sha256()
        for line in lines:
            self.line += 1
            sha256 = before.hexdigest()
            before.update(line + b"\n")
            try:
                self.take(*parsed(line), sha256)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
                self.found("file", None, "the line cannot be read: %r" % error)
                if not self.first:
                    return self.findings
        self.line = 0
        if not self.end:
            self.found("complete", None, "the last line is missing")
        else:
            self.check_end()
        self.check_plans()
        if not self.findings:
            self.together()
        return self.findings

    def found(self, check, table, message):
        self.wrong(check, table, "line %d" % self.line if self.line else None, message)

    def take(self, line, canonical, sha256):
        if not canonical:
            self.found("file", None, "is not in canonical form")
        if self.end:
            self.found("file", None, "stands behind the last line")
        elif not self.first:
            self.take_first(line)
        elif "leaf" in line:
            self.take_row(line)
        elif set(line) != {"rows", "seal", "sha256"}:
            raise ValueError("has another member, or lacks one")
        else:
            self.end = line, sha256

    # ---- heads

    def take_first(self, line):
        if line["assay_bundle"] > 1:
            raise verify.Refused("a bundle of a newer version")
        if line["assay_bundle"] != 1 or set(line) != FIRST:
            raise ValueError("of another version, or with other members")
        self.size, self.root, self.origin = line["size"], unhex(line["root"]), line["origin"]
        self.campaigns = {uid: {"head": None, "starts": [], "imported": False,
                                "seen": verify_witness.Witnesses(self.roster)} for uid in line["campaigns"]}
        self.first = line
        last = 0
        for head in line["heads"]:
            if head["size"] <= last or not {"path", "root", "size"} <= set(head) <= {
                    "path", "root", "size", "leaves", "note", "tokens"}:
                raise ValueError("heads in another order or form")
            last = head["size"]
            try:
                self.take_head(head, last, unhex(head["root"]))
            except (ValueError, IndexError, KeyError, StopIteration) as error:
                self.found("tree", None, "the head of %d leaves: %s" % (last, error))

    def take_head(self, head, size, root):
        if grown(root, size, self.size, list(digests(head["path"]))) != (root, self.root):
            raise ValueError("this ledger has not grown from it")
        self.heads[size] = root
        for token in head.get("tokens", ()):
            self.stamp(base64.b64decode(token), root, None, "line 1")
        leaves = head.get("leaves", ())
        if any(set(leaf) != {"leaf", "path"} for leaf in leaves) or \
                [leaf["leaf"] for leaf in leaves] != sorted({leaf["leaf"] for leaf in leaves}):
            raise ValueError("its leaves are in another order or form")
        for leaf in leaves:
            self.early.setdefault(leaf["leaf"], []).append([size, digests(leaf["path"]), False])
        if "note" in head:
            noted, stated, kind, uid = Note(head["note"]).head(self.origin)
            if (noted, stated) != (size, root) or uid not in self.campaigns:
                self.found("signature", None, "the note of the head of %d leaves is another's" % size)
            elif kind == "plan" and self.campaigns[uid]["head"] is None:
                self.campaigns[uid]["head"] = size
                note = Note(head["note"])
                self.campaigns[uid]["seen"].take_lines(verify.signed, note.signatures, note.body.encode())

    def check_end(self):
        end, sha256 = self.end
        if not re.fullmatch("assay-log/[0-9a-f]{32}", self.origin):
            self.found("signature", None, "its origin is not of the form that it has")
        if end["sha256"] != sha256:
            self.found("file", None, "its SHA-256 does not fit")
        if end["rows"] != self.rows_read:
            self.found("complete", None, "counts %s rows" % end["rows"])
        note = seal = noted = None
        try:
            seal = Note(end["seal"]) if end["seal"] is not None else None
            note = Note(self.first["note"])
            if note.head(self.origin)[:2] != (self.size, self.root):
                raise ValueError("of another head")
            noted = note.time()
        except (ValueError, AttributeError) as error:
            self.found("signature", None, "its note or seal: %s" % error)
        if seal and seal.body != "assay-bundle/1\n%s\n" % sha256:
            self.found("signature", None, "the seal is of another file")
        keys = self.authors(noted)
        if self.authors() and not (note and note.signed_by(keys)):
            self.found("signature", None, "the head is not signed by the key")
        if self.authors() and not (seal and seal.signed_by(keys)):
            self.found("signature", None, "the end is not signed by the key")
        heads = dict(self.heads)
        heads[self.size] = self.root
        size, _, root = (self.head or "").rpartition(":")
        if self.head and bytes.fromhex(root) not in ([heads.get(int(size))] if size else heads.values()):
            self.found("head", None, "is not shown to have grown from the expected head")

    # ---- rows

    def take_row(self, line):
        self.rows_read += 1
        data, leaf = line["data"], line["leaf"]
        if not {"data", "leaf", "path"} <= set(line) <= {"blobs", "data", "leaf", "path", "values"} or \
                set(data) != {"row", "table"}:
            raise ValueError("has another member, or lacks one")
        table = data["table"]
        if leaf <= self.last:
            self.found("tree", table, "leaf %d stands behind leaf %d" % (leaf, self.last))
            return
        self.last = leaf
        digest = verify.sha256(b"\0", verify.canonical(data))
        try:
            if included(digest, leaf, self.size, digests(line["path"])) != self.root:
                raise ValueError("it leads elsewhere")
        except (ValueError, IndexError) as error:
            self.found("row", table, "the row is not leaf %d: %s" % (leaf, error))
            return
        row = self.open(table, data["row"], line.get("values", {}), line.get("blobs", {}))
        self.look(table, leaf, digest, row)
        self.held.append((table, row))

    def open(self, table, row, values, blobs):
        """Column to value; a withheld one is its commitment, as bytearray."""
        result, used = {}, set()
        for column, value in row.items():
            if isinstance(value, dict) and set(value) == {"commitment"}:
                commitment = unhex(value["commitment"])
                if "%s.%s" % (table, column) not in verify.COMMITTED:
                    self.found("content", table, "%s is no column that can be withheld" % column)
                if column not in values:
                    result[column] = bytearray(commitment)
                    continue
                used.add(column)
                value = values[column]["value"]
                if set(values[column]) != {"salt", "value"} or commitment != verify.sha256(
                        unhex(values[column]["salt"]), verify.canonical(value)):
                    self.found("content", table, "%s is not what was committed to" % column)
            if isinstance(value, dict) and "sha256" in value:
                data = base64.b64decode(blobs[column], validate=True) if column in blobs else b""
                if verify.typed(data) != value:
                    self.found("content", table, "%s has other bytes" % column)
                used.add(column + " bytes")
                value = data
            elif isinstance(value, dict):
                value = struct.unpack(">d", bytes.fromhex(value["ieee754"]))[0]
            result[column] = value
        if used != set(values) | {c + " bytes" for c in blobs}:
            self.found("content", table, "has values or bytes that did not enter the ledger")
        return result

    def look(self, table, leaf, digest, row):
        """What an earlier head covered, and what came after it."""
        for early in self.early.get(leaf, ()):
            try:
                early[2] = included(digest, leaf, early[0], early[1]) == self.heads[early[0]]
            except (ValueError, IndexError):
                pass
            if early[2] and table == "content":
                early.append(row["digest"])
        if table == "campaign":
            campaign = self.campaigns.get(row["uid"])
            if campaign is None or "id" in campaign:
                self.found("complete", table, "is not a campaign of the first line")
                return
            campaign["id"] = row["id"]
            size = campaign["head"]
            stood = [e for leaves in self.early.values() for e in leaves if e[0] == size and e[2]]
            campaign["planned"] = any(e[3:] == [row["plan"]] for e in stood) and \
                any(e[0] == size and e[2] for e in self.early.get(leaf, ()))
        if table == "checkpoint" and row["size"] != leaf:
            self.found("tree", table, "it was made at another time than it says")
        if table == "trial":
            for campaign in self.campaigns.values():
                if campaign.get("id") != row["campaign"]:
                    continue
                campaign["starts"].append(row["started_utc_ns"])
                if leaf < (campaign["head"] or 0):
                    campaign["planned"] = False
        if table == "import":
            for campaign in self.campaigns.values():
                campaign["imported"] |= campaign.get("id") == row["campaign"]

    def check_plans(self):
        for leaf, proofs in self.early.items():
            if not all(proof[2] for proof in proofs):
                self.found("tree", None, "leaf %d is not shown under an earlier head" % leaf)
        for uid, campaign in self.campaigns.items():
            if "id" not in campaign:
                self.found("complete", "campaign", "%s is not there" % uid)
            elif campaign["head"] and not campaign["planned"]:
                self.found("complete", "campaign", "%s was not planned before it ran" % uid)
            if "id" in campaign and (campaign["starts"] or not campaign["imported"]) and \
                    len(campaign["seen"].before(campaign["starts"])) < self.witnesses:
                self.found("signature", "campaign", "the plan of %s was not witnessed by %d" % (
                    uid, self.witnesses))

    # ---- the rows together, in a database of their own

    def together(self):
        self.db = sqlite3.connect(":memory:")
        self.db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
        for version in range(1, self.newest() + 1):
            with open(self.script(version), encoding="utf-8") as file:
                self.db.executescript(file.read())
        self.db.execute("PRAGMA ignore_check_constraints=ON")
        try:
            for table, row in self.held:
                self.insert(table, row)
            self.content()
            self.complete()
            self.rules()
            self.verdicts()
        except (sqlite3.Error, ValueError, TypeError) as error:
            self.wrong("complete", None, None, "the rows do not go together: %s" % error)

    def came_in_bundles(self):
        return True

    def insert(self, table, row):
        info = {r[1]: r for r in self.db.execute("SELECT * FROM pragma_table_info(?)", (table,))}
        if not info or not set(row) <= set(info):
            raise ValueError("table %s has not these columns" % table)
        key = "/".join(str(row[n].hex() if isinstance(row[n], bytes) else row[n])
                       for n, r in info.items() if r[5])
        for column, value in row.items():
            if isinstance(value, bytearray):
                self.db.execute("INSERT INTO withheld VALUES (?, ?, ?, ?)",
                                (table, key, column, bytes(value)))
                row[column] = verify_body.stand_in(column, info[column][2], bytes(value))
        self.db.execute("INSERT INTO %s (%s) VALUES (%s)" % (
            table, ", ".join(row), ", ".join("?" * len(row))), list(row.values()))
