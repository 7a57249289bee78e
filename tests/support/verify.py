"""A second verifier, written from results/FORMAT.md and BUNDLE.md alone: verify.py [options] FILE

Prints a line a finding, "wrong: CHECK: TABLE KEY: what", and exits with 0 (verified), 1 (something is
wrong) or 4 (no such database). Estimates are not recomputed. Signatures need python3-cryptography;
who signed a time stamp is checked with --tsa-ca (verify_stamp.py), otherwise a note says that it was not.
"""

import argparse
import base64
import functools
import glob
import os
import re
import sqlite3
import struct
import sys
from dataclasses import dataclass

import verify_body
import verify_estimates
import verify_heads
import verify_rules
import verify_quote
import verify_release
import verify_witness
from verify_body import RESULTS, sha256

EVIDENCE = ("log", "record", "content", "series")  # the other tables follow from these
SCHEMA = os.path.join("..", "tests", "data", "schema")
# What leads to version 1, to version 2, and to those after.
SCRIPTS = tuple(os.path.join(SCHEMA, f"schema_{k}.sql") for k in (1, 2)) + tuple(
    sorted(glob.glob(os.path.join(RESULTS, "store", "schema_[0-9]*.sql"))))
OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


class Refused(Exception):
    """Not a database of assay that this program knows."""


@dataclass
class Record:
    key: object  # its row's id; in a bundle its line
    log: int
    leaf: int
    type: str
    digest: bytes
    salt: object
    body: str


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


def nothing(function):
    """None instead of a failure, as the functions of projection.sql have it."""
    def call(text):
        try:
            return function(text)
        except (TypeError, ValueError):
            return None
    return call


def digest_of(text):
    return sha256(text.encode("utf-8", "surrogateescape"))


def read(name):
    with open(os.path.join(RESULTS, name), encoding="utf-8") as file:
        return file.read()


@functools.cache
def projection():
    """{type: [(statement, the member that it runs for each element of, the names of its parameters)]}"""
    found = {}
    for part in read("record/projection.sql").split("\n--- ")[1:]:
        head, _, text = part.partition("\n")
        found[re.match(r"\w+", head)[0]] = [(s, (re.findall("(?m)^-- each (.+)", s) or [None])[0], set(re.findall(r":([a-z_0-9]+)", s)))
                       for s in text.split(";\n") if s.strip()]
    return found


def functions(db):
    for name, function in (("assay_hex", verify_body.unhex), ("assay_sha256", digest_of)):
        db.create_function(name, 1, nothing(function), deterministic=True)


@functools.cache
def empty(version):
    db = sqlite3.connect(":memory:", isolation_level=None)
    functions(db)
    for script in SCRIPTS[:version]:
        db.executescript(read(script))
    return db


def model(version):
    """An empty database of that version, in which nothing is refused for what it refers to."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    empty(version).backup(db)
    db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
    functions(db)
    return db


@functools.lru_cache(maxsize=1 << 14)  # as verify_body.digest
def entering(kind, body):
    """The statements that enter a record in the tables, with their parameters but for its number."""
    given, members = verify_body.given(body), verify_body.spelled(body)
    return [(statement, {name: {**given, **element}.get(name) for name in names})
            for statement, each, names in projection().get(kind, ())
            for element in (verify_body.elements(members.get(each)) if each else ({},))]


class Projection:
    """The tables as they follow from records."""

    def __init__(self, db):
        self.db, self.about, self.rows = db, {}, {}

    def add(self, number, record):
        """Enters a record as row `number`; ValueError: it is none that can be here."""
        about = {record.digest} if record.type == "campaign" else set()
        for name, digest in verify_body.refers_to(record.body):
            if name == "record":
                if digest not in self.rows:
                    raise ValueError("refers to a record that is not here before it")
                about |= self.about[digest]
        self.rows[record.digest], self.about[record.digest] = number, about
        self.db.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?, NULL, '')",
                        (number, record.log, record.leaf, record.type, record.digest))
        self.db.executemany("INSERT INTO about VALUES (?, ?)", [(self.rows[d], number) for d in about])
        before = self.db.total_changes
        for statement, parameters in entering(record.type, record.body):
            self.db.execute(statement, {**parameters, "_record": number})
        if projection().get(record.type) and record.type not in verify_body.SHARED and \
                self.db.total_changes == before:
            raise ValueError("is of something that is not here")


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
    STEPS = ("schema", "structure", "load", "forms", "project", "tables", "blobs", "logs", "signatures", "samples",
             "complete", "rules", "verdicts")

    def __init__(self, path, keys=(), head=None, nonce=None, tsa_ca=None, roster=None, witnesses=0,
                 releases=None, release_key=None, quote_key=None):
        self.path, self.keys, self.head, self.nonce, self.tsa_ca = path, keys, head, nonce, tsa_ca
        self.roster, self.witnesses = verify_witness.read(roster), witnesses
        self.quote_key = quote_key
        self.releases = verify_release.read(releases, release_key, verify_heads.signed) if releases else None
        self.findings, self.notes, self.file, self.version = [], [], None, len(SCRIPTS)
        self.records, self.content, self.chunks, self.log_names = [], {}, [], {}

    def wrong(self, check, table, key, message):
        self.findings.append((check, table, None if key is None else str(key), message))

    def open(self):
        try:
            self.file = connect(self.path)
            application = self.file.execute("PRAGMA application_id").fetchone()[0]
            self.version = self.file.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.Error as error:
            with open(self.path, "rb") as file:
                begin = file.read(100)
            if len(begin) < 100 or begin[:16] != b"SQLite format 3\0" or begin[68:72] != b"ASSY":
                raise Refused(str(error)) from error
            self.wrong("file", None, None, "it cannot be read: %s" % error)
            return False
        if application != 0x41535359 or self.version not in range(1, len(SCRIPTS) + 1):
            raise Refused("no database of assay")
        try:
            self.look_beside()
        except sqlite3.Error as error:  # the list of its tables is damaged
            self.wrong("file", None, None, "it cannot be read: %s" % error)
            return False
        return True

    def look_beside(self):
        """What lies next to the database, and in its file outside of its content."""
        def pragma(name):
            return self.file.execute("PRAGMA " + name).fetchone()[0]
        if (odd := beside(self.path)[1]) is not None:
            self.wrong("file", None, None, odd)
        end = pragma("page_count") * pragma("page_size")
        if os.path.getsize(self.path) > end:
            self.wrong("file", None, None, "%d bytes follow its last page" % (os.path.getsize(self.path) - end))
        if unused := pragma("freelist_count"):
            self.notes.append((None, None, "%d bytes are on unused pages" % (unused * pragma("page_size"))))
        if not os.path.isfile(self.path + "-journal"):
            return
        try:
            with open(self.path + "-journal", "rb") as file:
                if file.read(1) not in (b"", b"\0"):
                    self.wrong("file", None, None, "a change that was cut off lies beside it, in its -journal")
        except OSError:
            pass

    def run(self):
        if self.open():
            self.readable = True
            for step in self.STEPS:
                try:
                    if self.readable:
                        getattr(self, step)()
                except (sqlite3.Error, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
                        ValueError, struct.error) as error:
                    self.wrong("file", None, None, "%s: %s" % (step, error))
        if self.file:
            self.file.close()
        return self.findings

    def ask(self, sql, *parameters):
        """Of the tables that were made from the records."""
        return self.db.execute(sql, parameters).fetchall()

    # ---- the file

    @staticmethod
    @functools.cache
    def expected(version):
        """What each object of the schema must say."""
        db = model(version)
        found = {row[:2]: row[2:] for row in db.execute(OBJECTS)}
        for table in [name for kind, name in found if kind == "table" and not name.startswith("sqlite_")]:
            for event, end in (("update", "changed"), ("delete", "deleted")):
                name = "%s_no_%s" % (table, event)
                unless = " WHEN OLD.body IS NOT NULL OR NEW.digest IS NOT OLD.digest" \
                    if name == "content_no_update" else ""
                found["trigger", name] = (table, (
                    "CREATE TRIGGER {0} BEFORE {1} ON {2}{4} BEGIN\n    SELECT RAISE(ABORT, '{2} is evidence:"
                    " rows are added, never {3}');\nEND").format(name, event.upper(), table, end, unless))
        db.close()
        return found

    def schema(self):
        expected = self.expected(self.version)
        found = {row[:2]: row[2:] for row in self.file.execute(OBJECTS)}
        for kind, name in sorted(set(expected) | set(found)):
            if expected.get((kind, name)) != found.get((kind, name)):
                self.wrong("schema", name, None, "the %s is missing, changed or foreign" % kind)
        self.readable = all(expected[o] == found.get(o) for o in expected if o[0] in ("table", "index"))

    def structure(self):
        for (line,) in self.file.execute("PRAGMA integrity_check(20)"):
            if line != "ok":
                self.wrong("file", None, None, line)

    def load(self):
        for number, name, secret in self.file.execute("SELECT * FROM log NOT INDEXED"):
            self.log_names[number] = name, secret
        self.records = [Record(*row) for row in self.file.execute(
            "SELECT id, log, leaf, type, digest, salt, body FROM record NOT INDEXED ORDER BY id")]
        self.content = dict(self.file.execute("SELECT digest, body FROM content NOT INDEXED"))
        self.chunks = self.file.execute("SELECT trial, name, first, count, minimum, maximum, total, data FROM"
                                        " series NOT INDEXED ORDER BY trial, name, first").fetchall()
        for number in sorted(set(range(1, len(self.records) + 1)) - {r.key for r in self.records}):
            self.wrong("record", "record", number, "is gone")

    # ---- records

    def forms(self):
        """Each record by itself; `logs_here` has the secret that the salts of the own log follow from."""
        secret, odd = self.log_names.get(1, ("", None))[1], 0
        for record in self.records:
            try:
                digest, fits = verify_body.digest(record.type, record.body, record.salt, record.log == 1)
                if digest != record.digest:
                    self.wrong("record", "record", record.key, "is not the record that entered the log")
                if not fits or record.log == 1 and \
                        record.salt != verify_body.salt(secret, record.type, record.body):
                    self.wrong("record", "record", record.key, "has other salts than it needs")
                    odd += 1
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
                self.wrong("record", "record", record.key, "cannot be read: %s" % error)
        if odd > 1:
            self.wrong("tree", "log", 1, "its secret makes other salts")

    def project(self):
        self.db = model(self.version)
        made, self.by_digest, self.wanted = Projection(self.db), {}, {}
        self.about, self.logs_of = made.about, {}
        came = []  # with the next record of a bundle
        for number, record in enumerate(self.records, 1):
            number = record.key if isinstance(record.key, int) else number
            self.logs_of.setdefault(record.log, []).append(record)
            self.by_digest[record.digest] = record
            self.db.execute("SAVEPOINT entering")
            try:
                made.add(number, record)
                if record.type == "bundle" and record.log == 1 and verify_body.received(came) != verify_body.strict(
                        record.body).get("received"):
                    self.wrong("row", "record", record.key, "what came with it was something else")
                came = [] if record.log == 1 else came
                came += [(record.body, record.salt)] * (record.log != 1)
                for name, digest in verify_body.refers_to(record.body):
                    if name == "blob":
                        self.wanted[digest] = self.wanted.get(digest) or record.log == 1
            except (sqlite3.Error, ValueError, RecursionError, AttributeError) as error:
                self.wrong("row", "record", record.key, str(error))
                self.db.execute("ROLLBACK TO entering")
            self.db.execute("RELEASE entering")

    def of_log(self, number):
        return self.logs_of.get(number, [])

    def campaign(self, record):
        """The row of a record `campaign`; None: there is none."""
        return next((row[0] for row in self.ask("SELECT g.id FROM campaign g JOIN record r ON r.id = g.record WHERE"
                                                " r.digest = ?", record.digest if record else None)), None)

    def tables(self):
        """The tables in the file against those that follow from the records."""
        for (table,) in self.ask("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            if table in EVIDENCE:
                continue
            keys = [row[0] for row in sorted(self.ask("SELECT pk, cid FROM pragma_table_info(?) WHERE pk", table))]
            places = dict(self.ask("SELECT pk, cid FROM pragma_table_info(?) WHERE pk", table))
            rows = [db.execute("SELECT * FROM %s NOT INDEXED" % table).fetchall() for db in (self.file, self.db)]
            if repr(rows[0]) == repr(rows[1]):
                continue
            here, made = ({tuple(row[places[k]] for k in keys): repr(row) for row in of} for of in rows)
            for key in here.keys() | made.keys():
                if here.get(key) != made.get(key):
                    self.wrong("row", table, "/".join(v.hex() if isinstance(v, bytes) else str(v) for v in key),
                               "is not what records say")

    # ---- beside the records

    def blob(self, reference):
        return self.content[bytes.fromhex(reference["blob"])]

    def left_out(self):
        """The blobs that bundles came without."""
        return {bytes.fromhex(digest) for record in self.of_log(1) if record.type == "bundle"
                for digest in verify_body.strict(record.body).get("withheld", ())}

    def blobs(self):
        for digest in self.wanted.keys() - self.content.keys():
            self.wrong("content", "content", digest.hex(), "is gone")
        for digest, body in self.content.items():
            if digest not in self.wanted:
                self.wrong("content", "content", digest.hex(), "no record refers to it")
            elif body is None and (self.wanted[digest] or digest not in self.left_out()):
                self.wrong("content", "content", digest.hex(), "is withheld, and not of a bundle")
            elif body is None:
                self.notes.append(("content", digest.hex(), "was withheld by who made the bundle"))
            elif self.bytes_of(body) is None or sha256(self.bytes_of(body)) != digest:
                self.wrong("content", "content", digest.hex(), "its digest is not that of what it says")
            self.db.execute("INSERT INTO content VALUES (?, ?)", (digest, body))

    @staticmethod
    def bytes_of(body):
        """Text is UTF-8, and bytes are not; None: it is neither."""
        try:
            if isinstance(body, str):
                return body.encode()
            body.decode()
        except UnicodeDecodeError:
            return body
        except (UnicodeEncodeError, AttributeError):
            pass
        return None

    def samples(self):
        """The chunks against the records of their trials."""
        told = {(trial, entry["name"]): entry for trial, digest in self.ask(
                    "SELECT e.trial, r.digest FROM trial_end e JOIN record r ON r.id = e.record")
                for entry in verify_body.strict(self.by_digest[digest].body).get("series", ())}
        found = {}
        for chunk in self.chunks:
            found.setdefault(chunk[:2], []).append(chunk)
            self.db.execute("INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?, x'')", chunk[:7])
        for (trial, name), chunks in found.items():
            entry, place = told.pop((trial, name), {}), 0
            for chunk in chunks:
                if chunk[2] != place:
                    self.wrong("content", "series", "%s/%s/%s" % (trial, name, place), "samples are missing")
                place = chunk[2] + chunk[3]
            if entry.get("samples") != place or entry.get("sha256") != sha256(*(sha256(c[7][:20], c[7][28:]) for c in chunks)).hex():
                self.wrong("content", "series", "%s/%s/0" % (trial, name), "is not what its record names")
        for trial, name in told:
            self.wrong("content", "series", "%s/%s/0" % (trial, name), "is gone")

    # ---- logs and signatures

    def logs(self):
        verify_heads.logs(self)

    def signatures(self):
        covered, seen = {}, {}
        for number, key, signature, log, size, root, kind, utc_ns, uid, campaign, stored in self.ask(
                "SELECT s.id, s.public_key, s.signature, c.log, c.size, c.root, c.kind, c.utc_ns, g.uid, g.id, s.utc_ns FROM"
                " signature s JOIN checkpoint c ON c.id = s.checkpoint LEFT JOIN campaign g ON"
                " g.id = c.campaign"):
            note = ("%s\n%s\n%s\n%s %s %s\n" % (
                self.log_names[log][0], size, base64.b64encode(root).decode(), kind, utc_ns,
                "-" if uid is None else uid)).encode("utf-8", "surrogateescape")
            seconds = None
            if len(signature) == 72:
                seconds = verify_witness.cosigned(verify_heads.signed, key, signature, note)
            if seconds is None and not verify_heads.signed(key, signature, note):
                self.wrong("signature", "signature", number, "does not fit its checkpoint")
            elif self.trusts(key, utc_ns if seconds is None else seconds * 10 ** 9, seconds is not None):
                covered[log] = max(covered.get(log, 0), size)
            if seconds is not None and kind in ("plan", "end"):
                seen.setdefault(campaign, verify_witness.Witnesses(self.roster)).add_row(
                    kind, key, seconds, utc_ns, stored)
        verify_witness.check(self, self.witnesses, seen)
        verify_quote.check(self, self.quote_key)
        if self.releases is not None:
            verify_release.check(self)
        for number, token, root in self.ask("SELECT t.id, token, root FROM timestamp_token t JOIN"
                                            " checkpoint c ON c.id = t.checkpoint"):
            self.stamp(token, root, "timestamp_token", number)
        for number, origin, size, root, note in self.ask(
                "SELECT record, origin, size, root, note FROM bundle GROUP BY record"):
            try:
                note = verify_heads.Note(note)
                if note.head(origin) != (size, root):
                    raise ValueError("is of another head")
                log = next(n for n, (name, _) in self.log_names.items() if name == origin)
                if note.signed_by(self.authors(note.time())):
                    covered[log] = max(covered.get(log, 0), size)
            except (ValueError, StopIteration) as error:
                self.wrong("signature", "bundle", number, "its note: %s" % error)
        if self.authors():
            verify_heads.cover(self, covered)

    def authors(self, utc_ns=None):
        """(name, key) of whose signatures are asked for; with a time, those that count then."""
        known = {entry.key: entry for entry in self.roster}
        named = [(text.split("+", 2)[0], base64.b64decode(text.split("+", 2)[2])[1:]) for text in self.keys]
        named += [(entry.name, entry.key) for entry in self.roster if entry.role == "author"]
        return [(name, key) for name, key in named
                if utc_ns is None or key not in known or known[key].counts(utc_ns)]

    def trusts(self, key, utc_ns, cosigned):
        """A cosignature counts as an author's only where --key names the witness's key."""
        named = {base64.b64decode(text.split("+", 2)[2])[1:] for text in self.keys}
        return key in {k for _, k in self.authors(utc_ns)} and (not cosigned or key in named)

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
            plan = {} if plan is None else verify_body.strict(plan)  # withheld
            order = [cells[cell][1] for (owner, _), cell in planned.items()
                     if owner == campaign and cell in cells]
            if plan.get("order", order) != order:
                self.wrong("complete", "campaign", campaign, "its plan has another order")
            if self.nonce is not None and plan.get("nonce") != self.nonce:
                self.wrong("complete", "campaign", campaign, "its plan carries another nonce")
        counts = dict(self.ask("SELECT trial, sum(count) FROM series WHERE name = 'wall_ns' GROUP BY trial"))
        for trial, (status, _, samples) in ends.items():
            if status == "ok" and samples is not None and counts.get(trial, 0) != samples:
                self.wrong("complete", "trial_end", trial, "another number of samples is stored")

    def rules(self):
        verify_rules.check(self)

    def verdicts(self):
        verify_body.verdicts(self)
        verify_estimates.check(self)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--key", action="append", default=[])
    parser.add_argument("--expect-head")
    parser.add_argument("--nonce")
    parser.add_argument("--roster", type=argparse.FileType(encoding="utf-8"))
    parser.add_argument("--witnesses", type=int, default=0)
    parser.add_argument("--releases", type=argparse.FileType(encoding="utf-8"))
    parser.add_argument("--release-key")
    parser.add_argument("--quote-key", type=argparse.FileType("rb"))
    parser.add_argument("--tsa-ca", help="certificates of time-stamping authorities, PEM")
    asked = parser.parse_args()
    if asked.expect_head and not re.fullmatch("([0-9]+:)?[0-9a-fA-F]{64}", asked.expect_head):
        parser.error("--expect-head: write ROOT or SIZE:ROOT in hex")
    import verify_bundle
    try:
        kind = verify_bundle.Bundle if verify_bundle.begins_as_one(asked.file) else Verifier
        reader = kind(asked.file, asked.key, asked.expect_head, asked.nonce, asked.tsa_ca,
                      asked.roster.read() if asked.roster else None, asked.witnesses,
                      asked.releases.read() if asked.releases else None, asked.release_key,
                      asked.quote_key.read() if asked.quote_key else None)
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
