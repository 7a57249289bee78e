"""A second verifier, written from results/FORMAT.md and BUNDLE.md alone: verify.py [options] FILE

Prints a line a finding, "wrong: CHECK: TABLE KEY: what", and exits with 0 (verified), 1 (something is
wrong) or 4 (no such database). Estimates are not recomputed. Signatures need python3-cryptography;
who signed a time stamp is checked with --tsa-ca (verify_stamp.py), otherwise a note says that it was not.
"""

import argparse
import base64
import functools
import hashlib
import hmac
import json
import os
import re
import sqlite3
import struct
import sys

import verify_body
import verify_heads
import verify_rules

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "results")
COMMITTED = set("""amendment.author amendment.reason campaign.command campaign_event.detail claim.body
comparison.body component.digest component.missing_reason component.path content.body declaration.origin
device.digest device.name device.uuid device.vendor dump.message import.file import.sha256
ledger_origin.secret reading.body reading.hash reading_set.digest stack.digest telemetry.message
trial_end.facts trial_end.message""".split())

# Points of small order, under which anybody can sign; the sign, the topmost bit, is left out.
WEAK = {bytes.fromhex(text) for text in (
    "00" * 32, "01" + "00" * 31, "ec" + "ff" * 30 + "7f", "ed" + "ff" * 30 + "7f", "ee" + "ff" * 30 + "7f",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")}


OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


class Refused(Exception):
    """Not a database of assay that this program knows."""


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical(value):
    """JSON bytes; text keeps the bytes it has in the file, also those that are not UTF-8."""
    return CANONICAL.encode(value).encode("utf-8", "surrogateescape")


def typed(value):
    if isinstance(value, float):
        return {"ieee754": struct.pack(">d", value).hex()}
    if isinstance(value, bytes):
        return {"bytes": len(value), "sha256": hashlib.sha256(value).hexdigest()}
    return value


def signed(key, signature, text):
    """Whether this is a valid Ed25519 signature, and not under a key that anybody can sign with."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    if len(signature) != 64 or {point[:31] + bytes([point[31] & 0x7f])
                                for point in (key, signature[:32])} & WEAK:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
        return True
    except InvalidSignature:
        return False


def node(left, right):
    return sha256(b"\x01", left, right)


class Tree:
    """Roots of the perfect subtrees, largest first."""

    def __init__(self):
        self.size, self.nodes = 0, []

    def add(self, leaf):
        rest = self.size
        while rest & 1:
            leaf, rest = node(self.nodes.pop(), leaf), rest >> 1
        self.nodes.append(leaf)
        self.size += 1

    def root(self):
        if not self.nodes:
            return sha256(b"")
        root = self.nodes[-1]
        for left in reversed(self.nodes[:-1]):
            root = node(left, root)
        return root


def is_log(path):
    """Whether the -wal begins as a write-ahead log of a database with this page size."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(18)[16:], "big")
    with open(path + "-wal", "rb") as file:
        head = file.read(32)
    if len(head) < 32:
        return False
    magic, version, page, *_rest, first, second = struct.unpack(">8I", head)
    if magic | 1 != 0x377f0683 or version != 3007000 or page != (65536 if size == 1 else size):
        return False
    sums, words = [0, 0], struct.unpack(">6I" if magic & 1 else "<6I", head[:24])
    for i in range(0, 6, 2):
        sums[0] = (sums[0] + words[i] + sums[1]) % 2 ** 32
        sums[1] = (sums[1] + words[i + 1] + sums[0]) % 2 ** 32
    return sums == [first, second]


def beside(path):
    """Whether a log belongs to the file, and what is wrong with what is next to it."""
    for ending in ("-journal", "-wal", "-shm"):
        if os.path.exists(path + ending) and not os.path.isfile(path + ending):
            return False, "there is a %s that is not a file" % ending
    if not os.path.exists(path + "-wal"):
        return False, None
    if os.path.getsize(path + "-wal") == 0:
        return os.path.exists(path + "-shm"), None
    return (True, None) if is_log(path) else (False, "the -wal next to it is no log of it")


def connect(path):
    log, _ = beside(path)
    db = sqlite3.connect("file:%s?%s" % (path.replace("%", "%25").replace("?", "%3f").replace("#", "%23"),
                                         "mode=ro" if log else "immutable=1"), uri=True)
    db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "mmap_size=0"):
        db.execute("PRAGMA " + pragma)
    return db


def der(data):
    """The elements of a DER sequence: (tag, content)."""
    while data:
        length, data, tag = data[1], data[2:], data[0]
        if length & 0x80:
            count = length & 0x7F
            length, data = int.from_bytes(data[:count], "big"), data[count:]
        if length > len(data):
            raise ValueError("cut short")
        yield tag, data[:length]
        data = data[length:]


def imprint(token):
    """hashedMessage of an RFC 3161 token or response."""
    (outer, whole), *rest = der(token)
    if outer != 0x30 or rest:
        raise ValueError("no token")
    parts = list(der(whole))
    if parts[0][0] == 0x30:
        parts = list(der(parts[1][1]))
    signed = list(der(next(der(parts[1][1]))[1]))
    wrapped = list(der(signed[2][1]))[1][1]
    info = list(der(next(der(next(der(wrapped))[1]))[1]))
    algorithm, digest = list(der(info[2][1]))
    if bytes.fromhex("608648016503040201") != next(der(algorithm[1]))[1]:
        raise ValueError("not SHA-256")
    return digest[1]


class Verifier:
    def __init__(self, path, keys=(), head=None, nonce=None, tsa_ca=None):
        self.path, self.keys, self.head, self.nonce, self.tsa_ca = path, keys, head, nonce, tsa_ca
        self.findings, self.notes, self.withheld = [], [], set()

    def wrong(self, check, table, key, message):
        self.findings.append((check, table, None if key is None else str(key), message))

    def run(self):
        try:
            self.db = connect(self.path)
            application = self.db.execute("PRAGMA application_id").fetchone()[0]
            self.version = self.db.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.Error as error:
            with open(self.path, "rb") as file:
                begin = file.read(100)
            if len(begin) < 100 or begin[:16] != b"SQLite format 3\0" or begin[68:72] != b"ASSY":
                raise Refused(str(error)) from error
            self.wrong("file", None, None, "it cannot be read: %s" % error)
            return self.findings
        if application != 0x41535359 or not 1 <= self.version <= self.newest():
            raise Refused("no database of assay")
        if (odd := beside(self.path)[1]) is not None:
            self.wrong("file", None, None, odd)
        end = self.pragma("page_count") * self.pragma("page_size")
        if os.path.getsize(self.path) > end:
            self.wrong("file", None, None, "%d bytes follow its last page" % (os.path.getsize(self.path) - end))
        if unused := self.pragma("freelist_count"):
            self.notes.append((None, None, "%d bytes are on unused pages" % (unused * self.pragma("page_size"))))
        if self.has_hot_journal():
            self.wrong("file", None, None, "a change that was cut off lies beside it, in its -journal")
        for step in ("schema", "structure", "rows", "tree", "signatures", "content", "complete", "rules",
                     "verdicts"):
            try:
                getattr(self, step)()  # schema() takes away those that could not read the tables
            except (sqlite3.Error, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
                    ValueError, struct.error) as error:
                self.wrong("file", None, None, "%s: %s" % (step, error))
        return self.findings

    def pragma(self, name):
        return self.db.execute("PRAGMA " + name).fetchone()[0]

    def has_hot_journal(self):
        if not os.path.isfile(self.path + "-journal"):
            return False
        try:
            with open(self.path + "-journal", "rb") as file:
                return file.read(1) not in (b"", b"\0")
        except OSError:
            return False

    def ask(self, sql, *parameters):
        return self.db.execute(sql, parameters).fetchall()

    # ---- schema

    @staticmethod
    def script(version):
        return os.path.join(SCHEMA, "schema.sql" if version == 1 else "schema_%d.sql" % version)

    def newest(self):
        version = 1
        while os.path.exists(self.script(version + 1)):
            version += 1
        return version

    @staticmethod
    def key_sql(info, prefix):
        parts = [(pk, name, kind) for _, name, kind, _, _, pk in info if pk]
        return " || '/' || ".join("lower(hex(%s%s))" % (prefix, n) if kind == "BLOB" else prefix + n
                                  for _, n, kind in sorted(parts))

    @staticmethod
    def trigger_sql(table, info):
        return ("CREATE TRIGGER {0}_ledger AFTER INSERT ON {0} BEGIN\n"
                "    INSERT INTO ledger (leaf, table_name, key, digest)\n    SELECT n, '{0}', {1},\n"
                "        assay_leaf(n, '{0}', {2})\n"
                "    FROM (SELECT coalesce(max(leaf) + 1, 0) AS n FROM ledger);\nEND".format(
                    table, Verifier.key_sql(info, "NEW."),
                    ", ".join("'%s', NEW.%s" % (c, c) for c in sorted(row[1] for row in info))))

    @staticmethod
    @functools.cache
    def model(version):
        """Columns by table, and what each object of the schema must say; nobody changes them."""
        model = sqlite3.connect(":memory:")
        for number in range(1, version + 1):
            with open(Verifier.script(number), encoding="utf-8") as file:
                model.executescript(file.read())
        tables, expected = {}, {}
        for (table,) in model.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name"
                                      " NOT LIKE 'sqlite_%'"):
            for event, end in (("update", "changed"), ("delete", "deleted")):
                name = "%s_no_%s" % (table, event)
                expected["trigger", name] = (table, (
                    "CREATE TRIGGER {0} BEFORE {1} ON {2} BEGIN\n    SELECT RAISE(ABORT, '{2} is evidence:"
                    " rows are added, never {3}');\nEND").format(name, event.upper(), table, end))
            if table != "ledger":
                info = model.execute("SELECT * FROM pragma_table_info(?)", (table,)).fetchall()
                tables[table] = info
                expected["trigger", table + "_ledger"] = (table, Verifier.trigger_sql(table, info))
        expected.update({row[:2]: row[2:] for row in model.execute(OBJECTS)})
        model.close()
        return tables, expected

    def schema(self):
        self.tables, expected = self.model(self.version)
        found = {row[:2]: row[2:] for row in self.ask(OBJECTS)}
        for kind, name in sorted(set(expected) | set(found)):
            if expected.get((kind, name)) != found.get((kind, name)):
                self.wrong("schema", name, None, "the %s is missing, changed or foreign" % kind)
        self.readable = all(expected[o] == found.get(o) for o in expected
                            if o[0] in ("table", "index"))
        if not self.readable:
            self.rows = self.tree = self.signatures = self.content = self.complete = \
                self.rules = self.verdicts = lambda: None

    def structure(self):
        for (line,) in self.ask("PRAGMA integrity_check(20)"):
            if line != "ok":
                self.wrong("file", None, None, line)

    # ---- rows

    def leaf(self, table, row, number):
        fields = {}
        for (_, name, *_rest), value in zip(self.tables[table], row):
            if value is None:
                continue
            fields[name] = typed(value)
            if table + "." + name in COMMITTED:
                salt = hmac.new(self.secret, b"%d/%s" % (number, name.encode()), "sha256").digest()
                fields[name] = {"commitment": sha256(salt, canonical(fields[name])).hex()}
        return sha256(b"\0", canonical({"row": fields, "table": table}))

    def rows(self):
        origin = self.ask("SELECT name, secret FROM ledger_origin WHERE id = 1")
        self.origin, self.secret = origin[0] if origin else ("", b"")
        self.log = self.ask("SELECT leaf, table_name, key, digest FROM ledger ORDER BY leaf")
        for expected, (leaf, *_rest) in enumerate(self.log):
            if leaf != expected:
                self.wrong("tree", "ledger", None, "leaf %d is missing" % expected)
                break
        places = {}
        for leaf, table, key, digest in self.log:
            if table not in self.tables:
                self.wrong("row", "ledger", None, "leaf %d is of no table" % leaf)
            elif places.setdefault(table, {}).setdefault(key, (leaf, digest))[0] != leaf:
                self.wrong("row", table, key, "stands in the ledger twice")
        for table, info in self.tables.items():
            self.rows_of(table, info, places.get(table, {}))

    def rows_of(self, table, info, places):
        key_sql, seen, last = self.key_sql(info, ""), set(), -1
        names = ", ".join(row[1] for row in info)
        for key, *row in self.db.execute("SELECT %s, %s FROM %s NOT INDEXED" % (key_sql, names, table)):
            seen.add(key)
            if key not in places:
                self.wrong("row", table, key, "is not in the ledger")
            elif self.leaf(table, row, places[key][0]) != places[key][1]:
                self.wrong("row", table, key, "is not the row that entered the ledger")
        for key, (leaf, _) in places.items():
            if key not in seen:
                self.wrong("row", table, key, "is gone: leaf %d" % leaf)
            if key_sql == "id":
                if key <= last:
                    self.wrong("tree", table, key, "stands in the ledger in another order")
                last = key

    # ---- tree, signatures

    def tree(self):
        tree, heads = Tree(), {0: sha256(b"")}
        points, places = {}, {}
        for row in self.ask("SELECT size, id, root, frontier FROM checkpoint"):
            points.setdefault(row[0], []).append(row[1:])
        size, _, root = (self.head or "").rpartition(":")
        for leaf, table, key, digest in self.log:
            places[table, key] = leaf
            tree.add(digest)
            if tree.size in points or tree.size == len(self.log) or str(tree.size) == size:
                heads[tree.size] = tree.root()
            for number, stored, frontier in points.pop(tree.size, []):
                if stored != heads[tree.size]:
                    self.wrong("tree", "checkpoint", number, "the leaves come to another root")
                if frontier != b"".join(tree.nodes):
                    self.wrong("tree", "checkpoint", number, "its frontier does not follow")
        for rest in points.values():
            for number, *_rest in rest:
                self.wrong("tree", "checkpoint", number, "the end of the ledger was cut off")
        verify_heads.places(self, places)
        if self.head and bytes.fromhex(root) not in ([heads.get(int(size))] if size else heads.values()):
            self.wrong("head", None, None, "the expected head is not among this ledger's")

    def signatures(self):
        trusted = {base64.b64decode(text.split("+", 2)[2])[1:] for text in self.keys}
        covered = 0
        for number, key, signature, size, root, kind, utc_ns, uid in self.ask(
                "SELECT s.id, s.public_key, s.signature, c.size, c.root, c.kind, c.utc_ns, g.uid FROM"
                " signature s LEFT JOIN checkpoint c ON c.id = s.checkpoint LEFT JOIN campaign g ON"
                " g.id = c.campaign"):
            note = "%s\n%s\n%s\n%s %s %s\n" % (self.origin, size, base64.b64encode(root or b"").decode(),
                                              kind, utc_ns, "-" if uid is None else uid)
            if len(key) != 32 or not signed(key, signature, note.encode("utf-8", "surrogateescape")):
                self.wrong("signature", "signature", number, "does not fit its checkpoint")
            elif key in trusted:
                covered = max(covered, size)
        for number, token, root in self.ask("SELECT t.id, token, root FROM timestamp_token t LEFT JOIN"
                                            " checkpoint c ON c.id = t.checkpoint"):
            self.stamp(token, root, "timestamp_token", number)
        if trusted:
            verify_heads.cover(self, covered)

    def stamp(self, token, root, table, key):
        """A time stamp of a head: what it stamps, and who signed it, where the certificate is given."""
        try:
            if imprint(token) != root:
                raise ValueError("it is of another root")
            if self.tsa_ca:
                from verify_stamp import check
                with open(self.tsa_ca, "rb") as file:
                    message = "an authority of %s stamped this at %s" % (
                        self.tsa_ca, check(token, root, file.read()))
            else:
                message = "who signed the time stamp was not checked: no CA given"
            self.notes.append((table, key, message))
        except (ValueError, IndexError, StopIteration) as error:
            self.wrong("signature", table, key, "is no time stamp of this head: %s" % error)

    # ---- content

    def expect(self, table, key, stored, made):
        if stored != made and (table, str(key)) not in self.withheld:
            self.wrong("content", table, key, "its digest is not that of what it says")

    def came_in_bundles(self):
        return bool(self.ask("SELECT 1 FROM bundle"))

    def content(self):
        self.withheld = verify_body.withheld(self, COMMITTED)
        if self.ask("SELECT 1 FROM withheld") and not self.came_in_bundles():
            self.wrong("content", "withheld", None, "nothing in this file came in a bundle")
        for digest, body in self.ask("SELECT digest, body FROM content"):
            body = body.encode("utf-8", "surrogateescape") if isinstance(body, str) else body
            self.expect("content", digest.hex(), digest,
                        sha256(body if isinstance(body, bytes) else str(body).encode()))
        bodies, sets = {}, {}
        for number, value, name, body in self.ask("SELECT id, hash, name, body FROM reading"):
            name, body = (x.encode("utf-8", "surrogateescape") for x in (name, body))
            bodies[number] = (name, body)
            self.expect("reading", number, value, int.from_bytes(sha256(name, b"\0", body)[:8], "big",
                                                                 signed=True))
        for number, reading in self.ask("SELECT reading_set, reading FROM reading_member"):
            sets.setdefault(number, []).append(bodies.get(reading, (b"", b"")))
        objects = {n: b"{" + b",".join(canonical(name.decode("utf-8", "surrogateescape")) + b":" + body
                                       for name, body in sorted(members)) + b"}"
                   for n, members in sets.items()}
        for number, digest in self.ask("SELECT id, digest FROM reading_set"):
            self.expect("reading_set", number, digest, sha256(objects.get(number, b"{}")))
        names = ("backend", "device_index", "name", "readings", "simulated", "type", "uuid", "vendor")
        for number, digest, *row in self.ask("SELECT id, digest, %s FROM device" % ", ".join(names)):
            row = dict(zip(names, row), simulated=bool(row[4]))
            text = b",".join(canonical(n) + b":" + (objects.get(row[n], b"{}") if n == "readings"
                                                   else canonical(row[n])) for n in names)
            self.expect("device", number, digest, sha256(b"{" + text + b"}"))
        names = ("build_id", "kind", "missing_reason", "path", "sha256", "size", "version")
        stacks = {}
        for number, digest, *row in self.ask("SELECT id, digest, %s FROM component" % ", ".join(names)):
            row = {n: v.hex() if isinstance(v, bytes) else v for n, v in zip(names, row)}
            self.expect("component", number, digest, sha256(canonical(row)))
        for number, digest in self.ask("SELECT m.stack, c.digest FROM stack_member m JOIN component c"
                                       " ON c.id = m.component"):
            stacks.setdefault(number, set()).add(digest)
        for number, digest in self.ask("SELECT id, digest FROM stack"):
            self.expect("stack", number, digest, sha256(*sorted(stacks.get(number, ()))))

    # ---- completeness

    def numbered(self, table, sql):
        """Rows (key, group, number): numbers of a group are 1, 2, 3 ..."""
        counts = {}
        for key, group, number in self.ask(sql):
            counts[group] = counts.get(group, 0) + 1
            if number != counts[group]:
                self.wrong("complete", table, key, "number %s stands at place %d" %
                           (number, counts[group]))

    def complete(self):
        for table, row, owner, _ in self.ask("PRAGMA foreign_key_check"):
            self.wrong("complete", table, row, "belongs to a row of %s that is not there" % owner)
        self.numbered("cell", "SELECT id, campaign, ordinal FROM cell ORDER BY campaign, ordinal")
        self.numbered("planned_trial", "SELECT campaign || '/' || sequence, campaign, sequence FROM"
                      " planned_trial ORDER BY campaign, sequence")
        self.numbered("trial", "SELECT id, campaign || '/' || sequence, attempt FROM trial ORDER BY"
                      " campaign, sequence, attempt")
        cells = {r[0]: r[1:] for r in self.ask("SELECT id, campaign, ordinal, trials FROM cell")}
        planned = {r[:2]: r[2] for r in self.ask("SELECT campaign, sequence, cell FROM planned_trial"
                                                 " ORDER BY campaign, sequence")}
        ends = {r[0]: r[1:] for r in self.ask("SELECT trial, status, orphan, samples FROM trial_end")}
        events = dict(self.ask("SELECT campaign, event FROM campaign_event WHERE event NOT IN"
                               " ('archived', 'restored') ORDER BY id"))
        for number, (_, _, trials) in cells.items():
            if list(planned.values()).count(number) != trials:
                self.wrong("complete", "cell", number, "has not the planned number of trials")
        attempts = {}
        for number, campaign, sequence, _, cell in self.ask(
                "SELECT id, campaign, sequence, attempt, cell FROM trial ORDER BY attempt"):
            if planned.get((campaign, sequence)) != cell:
                self.wrong("complete", "trial", number, "is of another cell than was planned")
            before = attempts.setdefault((campaign, sequence), [])
            if before and before[-1] in ends and not ends[before[-1]][1] and \
                    ends[before[-1]][0] != "interrupted":
                self.wrong("complete", "trial", number, "was tried again without need")
            before.append(number)
            if number not in ends and events.get(campaign) == "finished":
                self.wrong("complete", "trial", number, "has no end")
        for (campaign, sequence), cell in planned.items():
            if events.get(campaign) == "finished" and (campaign, sequence) not in attempts:
                self.wrong("complete", "campaign", campaign, "trial %d was never run" % sequence)
            if cell in cells and cells[cell][0] != campaign:
                self.wrong("complete", "planned_trial", campaign, "is of another campaign's cell")
        plans = self.ask("SELECT g.id, c.body FROM campaign g JOIN content c ON c.digest = g.plan")
        if self.nonce is not None and not plans:
            self.wrong("complete", None, None, "no campaign answers the nonce")
        for campaign, plan in plans:
            plan = verify_body.strict(plan)
            order = [cells[cell][1] for (owner, _), cell in planned.items()
                     if owner == campaign and cell in cells]
            if plan.get("order", order) != order:
                self.wrong("complete", "campaign", campaign, "its plan has another order")
            if self.nonce is not None and plan.get("nonce") != self.nonce:
                self.wrong("complete", "campaign", campaign, "its plan carries another nonce")
        counts = {}
        for number, trial, name, first, count in self.ask(
                "SELECT id, trial, name, first, count FROM series ORDER BY trial, name, first"):
            if first != counts.get((trial, name), 0):
                self.wrong("complete", "series", number, "samples before it are missing")
            counts[trial, name] = first + count
        for trial, (status, _, samples) in ends.items():
            if status == "ok" and samples is not None and counts.get((trial, "wall_ns"), 0) != samples:
                self.wrong("complete", "trial_end", trial, "another number of samples is stored")

    def rules(self):
        verify_rules.check(self)

    def verdicts(self):
        verify_body.verdicts(self)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--key", action="append", default=[])
    parser.add_argument("--expect-head")
    parser.add_argument("--nonce")
    parser.add_argument("--tsa-ca", help="certificates of time-stamping authorities, PEM")
    asked = parser.parse_args()
    if asked.expect_head and not re.fullmatch("([0-9]+:)?[0-9a-fA-F]{64}", asked.expect_head):
        parser.error("--expect-head: write ROOT or SIZE:ROOT in hex")
    import verify_bundle
    try:
        kind = verify_bundle.Bundle if verify_bundle.begins_as_one(asked.file) else Verifier
        reader = kind(asked.file, asked.key, asked.expect_head, asked.nonce, asked.tsa_ca)
        findings = reader.run()
    except (Refused, OSError) as error:
        print("%s: %s" % (asked.file, error), file=sys.stderr)
        return 4
    for table, key, message in reader.notes:
        print("note: %s: %s" % (" ".join(str(x) for x in (table, key) if x), message))
    for check, table, key, message in findings:
        print("wrong: %s: %s" % (check, " ".join(x for x in (table, key) if x)) + ": " + message)
    print("%s: %s" % (asked.file, "NOT VERIFIED" if findings else "verified"))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.modules["verify"] = sys.modules["__main__"]
    sys.exit(main())
