"""The second verifier's part for logs: trees, heads, what heads count and cover. See verify.py, and "Logs"
and "Signatures" in results/FORMAT.md.
"""

import base64
import re

from verify_body import canonical, sha256, spelled, strict, unhex

# Points of small order, under which anybody can sign; the sign, the topmost bit, is left out.
WEAK = {bytes.fromhex(text) for text in (
    "00" * 32, "01" + "00" * 31, "ec" + "ff" * 30 + "7f", "ed" + "ff" * 30 + "7f", "ee" + "ff" * 30 + "7f",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")}

LATER = ("estimate", "comparison", "amendment", "checkpoint", "signature", "timestamp")


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

    def __init__(self, leaves=()):
        self.size, self.nodes = 0, []
        for leaf in leaves:
            self.add(leaf)

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


class Part:
    """A tree of which only some leaves and subtrees are known, by (level, index). `shown` are its records that
    are in no subtree that is known as a whole."""

    def __init__(self, records, nodes, size):
        self.known, places = {}, []
        for level, index, digest in nodes:
            if type(level) is not int or type(index) is not int or not 0 <= level <= 62 or index < 0 or \
                    len(digest) != 64:
                raise ValueError("no place in a tree")
            self.known[level, index] = unhex(digest)
            places.append((index << level, (index + 1) << level))
        places.sort()
        if any(a[1] > b[0] for a, b in zip(places, places[1:] + [(size, size)])):
            raise ValueError("its nodes overlap, or one is beyond the end")
        hidden = {leaf for record in records for leaf in [record.leaf] if any(a <= leaf < b for a, b in places)}
        self.shown = [record for record in records if record.leaf not in hidden]
        self.known.update(((0, record.leaf), record.digest) for record in self.shown)

    def at(self, level, index):
        if (level, index) not in self.known:
            if level == 0:
                raise ValueError("leaf %d is neither here nor another's" % index)
            self.known[level, index] = node(self.at(level - 1, 2 * index), self.at(level - 1, 2 * index + 1))
        return self.known[level, index]

    def root(self, size):
        roots, first = [], 0
        if not 0 < size < 1 << 62:
            raise ValueError("no such head")
        while first < size:
            level = (size - first).bit_length() - 1
            while first & ((1 << level) - 1):
                level -= 1
            roots.append(self.at(level, first >> level))
            first += 1 << level
        root = roots.pop()
        while roots:
            root = node(roots.pop(), root)
        return root


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
        """(size, root) of a checkpoint of this log."""
        name, size, root, last = self.body.split("\n")[:4]
        kind, utc_ns, uid = last.split(" ")
        if self.body != "%s\n%d\n%s\n%s %d %s\n" % (
                origin, int(size), base64.b64encode(base64.b64decode(root)).decode(), kind, int(utc_ns),
                uid) or name != origin:
            raise ValueError("another text")
        return int(size), base64.b64decode(root)

    def time(self):
        return int(self.body.split("\n")[3].split(" ")[1])

    def signed_by(self, keys):
        """Whether one of these (name, key) signed it."""
        return any((name, mark) == (author, sha256(author.encode(), b"\n\1", key)[:4]) and
                   len(blob) == 64 and signed(key, blob, self.body.encode())
                   for author, key in keys for name, mark, blob in self.signatures)


def counted(records):
    """How many (type, digest) of each type there are, and their tree's root."""
    found = {}
    for kind, digest in records:
        found.setdefault(kind, []).append(digest)
    return {kind: {"count": len(digests), "root": Tree(digests).root().hex()}
            for kind, digests in found.items()}


def counts(campaigns, records, about):
    """What a head of these campaigns says of the records (type, digest) before it: its members `manifest` and,
    of several campaigns, `together`. `about`: {digest: campaigns}."""
    campaigns = set(campaigns)
    yield "manifest", {campaign.hex(): counted(r for r in records if about.get(r[1]) == {campaign})
                       for campaign in campaigns}
    if len(campaigns) > 1:
        yield "together", counted(r for r in records if len(about.get(r[1], ())) > 1 and about[r[1]] <= campaigns)


def cells(body, read):
    """What campaigns of the same cells have in common; `read`: the blob of a reference. None: it is not here."""
    try:
        return body["protocol"]["blob"], canonical(spelled(read(body["plan"]))["cells"])
    except (KeyError, TypeError, ValueError):
        return None


def count_same(campaigns, of):
    """How many have the cells of each of these campaigns; `of`: {campaign: cells}. 0: it has none."""
    return {name: sum(of.get(name) == other is not None for other in of.values()) for name in campaigns}


def same(a, b):
    return canonical(a) == canonical(b)


def check_counts(verifier, record, body, is_own):
    """What a head says of its campaigns, as far as they are here."""
    told = body.get("manifest", {})
    here = [campaign for campaign in map(verifier.by_digest.get, map(unhex, told))
            if campaign and campaign.type == "campaign" and campaign.log == record.log and
            campaign.leaf < record.leaf]
    if is_own and len(here) < len(told):
        verifier.wrong("complete", "record", record.key, "counts records of a campaign that is not here")
    before = sorted((r for r in verifier.of_log(here[0].log if here else 1) if r.leaf < record.leaf),
                    key=lambda r: r.leaf)
    for name, made in counts([r.digest for r in here], [(r.type, r.digest) for r in before], verifier.about):
        if name == "manifest":
            is_right = all(same(made[digest], told[digest]) for digest in made)
        else:
            is_right = len(here) < len(told) or same(made, body.get("together"))
        if not is_right:
            verifier.wrong("complete", "record", record.key, "counts other records of its campaigns than are here")
    if is_own and "same_cells_in_log" in body:
        of = {r.digest.hex(): cells(strict(r.body), verifier.blob) for r in before if r.type == "campaign"}
        if not same(count_same(body["same_cells_in_log"], of), body["same_cells_in_log"]):
            verifier.wrong("complete", "record", record.key, "counts other campaigns of the same cells than are here")


def head(verifier, record, root, frontier):
    """A head against the records before it. `frontier` is None where not all of them are here."""
    body = strict(record.body)
    if body.get("size") != record.leaf:
        verifier.wrong("tree", "record", record.key, "it was made at another time than it says")
    if body.get("root") != root.hex():
        verifier.wrong("tree", "record", record.key, "is a head, and the records before it have another root")
    if frontier is not None and body.get("frontier") != frontier.hex():
        verifier.wrong("tree", "record", record.key, "is a head, and its frontier does not follow")
    check_counts(verifier, record, body, frontier is not None)
    count = sum(r.type == "campaign" and r.leaf < record.leaf for r in verifier.of_log(record.log))
    told = body.get("campaigns_in_log", count)
    if told != count if frontier is not None else told < count:
        verifier.wrong("complete", "record", record.key, "counts other campaigns of its log than are here")
    plan = verifier.by_digest.get(bytes.fromhex(body.get("campaign", {}).get("record", "")))
    if body.get("kind") == "plan" and not (plan and plan.log == record.log and plan.leaf < record.leaf):
        verifier.wrong("tree", "campaign", verifier.campaign(plan), "its head of a plan covers no campaign")
    elif body.get("kind") == "plan" and any(
            r.type == "trial_begin" and r.leaf < record.leaf and plan.digest in verifier.about.get(r.digest, ())
            for r in verifier.of_log(record.log)):
        verifier.wrong("tree", "campaign", verifier.campaign(plan), "its head of a plan covers trials already")


def own(verifier):
    """This file's own log: {size: root} of all its heads."""
    tree, heads = Tree(), {}
    asked = (verifier.head or "").rpartition(":")[0]
    offset = 0
    for record in verifier.of_log(1):
        if record.leaf - tree.size not in (0, offset):
            offset = record.leaf - tree.size
            verifier.wrong("tree", "record", record.key, "is leaf %d at place %d" % (record.leaf, tree.size))
        if record.type == "checkpoint" or str(tree.size) == asked or verifier.head and not asked:
            heads[tree.size] = tree.root()
        if record.type == "checkpoint":
            head(verifier, record, heads[tree.size], b"".join(tree.nodes))
        tree.add(record.digest)
    heads[tree.size] = tree.root()
    return heads


def bundle(verifier, record):
    """A log of a bundle as far as it is here, under the head it came with: its heads."""
    body, heads = strict(record.body), {}
    (log,) = (number for number, (name, _) in verifier.log_names.items() if name == body["origin"])
    proof, size = strict(verifier.blob(body["proof"])), body["size"]
    if {name: type(value) for name, value in proof.items()} != {"heads": list, "nodes": list} or any(
            set(told) != {"root", "size"} for told in proof["heads"]):
        raise ValueError("its proof has other members")
    part = Part([r for r in verifier.of_log(log) if r.leaf < size], proof["nodes"], size)
    shown = part.shown
    for told in [body, *proof["heads"]]:
        if told["size"] > size or part.root(told["size"]).hex() != told["root"]:
            raise ValueError("its records have another root than a head of %d" % told["size"])
        heads[told["size"]] = unhex(told["root"])
        verifier.proven.update(r.key for r in shown)
    for one in shown:
        if one.type == "checkpoint":
            head(verifier, one, part.root(one.leaf), None)
    last = {r.leaf: r for r in shown}.get(size - 1)
    told = strict(last.body).get("manifest", {}) if last and last.type == "checkpoint" else {}
    here = {r.digest.hex(): strict(r.body)["uid"] for r in shown if r.type == "campaign"}
    if sorted(here.get(digest, "") for digest in told) != sorted(body["campaigns"]):
        verifier.wrong("complete", "bundle", record.key, "its head counts the records of other campaigns")
    return heads


def logs(verifier):
    numbers = sorted(verifier.log_names)
    if numbers[:1] != [1] or numbers != list(range(1, len(numbers) + 1)):
        verifier.wrong("tree", "log", next((n for n in range(1, len(numbers) + 2) if n not in numbers), 1),
                       "there are logs, and not this one")
    first = {record.log: record for record in verifier.records if record.leaf == 0}
    for number, (name, secret) in verifier.log_names.items():
        begins = strict(first[number].body) if number in first else {}
        if begins.get("type") != "log" or begins.get("name") != name or (secret is None) == (number == 1):
            verifier.wrong("tree", "log", number, "is not the one in its first record, or its secret is odd")
        if not re.fullmatch("assay-log/[0-9a-f]{32}", name):
            verifier.wrong("signature", "log", number, "its name is not of the form that it has")
    heads = [own(verifier)]
    sizes, verifier.proven = {}, set()
    for record in verifier.records:
        if record.type == "bundle" and record.log == 1:
            body = strict(record.body)
            sizes[body["origin"]] = max(body["size"], sizes.get(body["origin"], 0))
            try:
                heads.append(bundle(verifier, record))
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                verifier.wrong("tree", "bundle", record.key, "its log: %s" % error)
    for record in verifier.records:
        if record.log != 1 and record.key not in verifier.proven:
            verifier.wrong("tree", "record", record.key, "is of another log, and no bundle proves it")
            if record.log not in verifier.log_names:
                verifier.wrong("tree", "log", record.log, "is gone")
    for number, (name, _) in verifier.log_names.items():
        if number != 1 and name not in sizes:
            verifier.wrong("tree", "log", number, "no bundle brought it")
    size, _, root = (verifier.head or "").rpartition(":")
    if root and not any(bytes.fromhex(root) in ([known.get(int(size))] if size else known.values())
                        for known in heads):
        verifier.wrong("head", None, None, "the expected head is none of this file's")


def cover(verifier, covered):
    """Every campaign against the newest head of its log that one of the reader's keys signed."""
    if not covered:
        verifier.wrong("signature", None, None, "unsigned by the key")
    largest = {}
    for record in verifier.records:
        about = verifier.about.get(record.digest, ())
        if record.type == "checkpoint" and strict(record.body)["kind"] in ("plan", "end"):
            for digest in about:
                largest[digest] = max(record.leaf, largest.get(digest, 0))
    for campaign in verifier.records:
        if campaign.type == "campaign":
            size = covered.get(campaign.log, 0)
            if not size or largest.get(campaign.digest, 0) > size:
                verifier.wrong("signature", "campaign", verifier.campaign(campaign), "is not covered by the key")
            if size and any(r.leaf >= size and r.type not in LATER and not (
                    r.type == "event" and strict(r.body).get("event") in ("archived", "restored"))
                    and campaign.digest in verifier.about.get(r.digest, ()) for r in verifier.of_log(campaign.log)):
                verifier.wrong("signature", "campaign", verifier.campaign(campaign),
                               "goes on after what the key covers")
