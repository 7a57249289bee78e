"""The second verifier's part for JSON: bodies of records, and of estimates and comparisons. See verify.py,
"Records" and "Estimates" in results/FORMAT.md.
"""

import functools
import hashlib
import hmac
import json
import os
import re

import verify_decisions
import verify_served

NUL = re.compile(r"(?<!\\)(\\\\)*\\u0000")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?")
DEEPEST = 100
RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "results")


def heads():
    """Each type of record of record/projection.sql, whether it is shared, and its members that can be withheld."""
    with open(os.path.join(RESULTS, "record/projection.sql"), encoding="utf-8") as file:
        return re.findall(r"(?m)^--- (\w+)( shared)?(?:: (.*))?$", file.read())


# Each type of record with the paths of its members that can be withheld; * is any name, # any position.
TYPES = {kind: paths for kind, _, paths in heads()}
SHARED = tuple(kind for kind, shared, _ in heads() if shared)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def unhex(text):
    """Bytes in hex, in lower case."""
    if not re.fullmatch("([0-9a-f]{2})*", text):
        raise ValueError("no hex digits in lower case")
    return bytes.fromhex(text)


class Number(str):
    """A number as it is spelled."""


def once(pairs):
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a member is there twice")
    return dict(pairs)


def no_number(text):
    raise ValueError("%s is no number" % text)


def real(text):
    return float(text) if abs(float(text)) < float("inf") else no_number(text)


def whole(text):
    return int(text) if -1 << 63 <= int(text) < 1 << 63 else no_number(text)


def strict(text):
    """An object: no member twice, no NaN or infinity, no number beyond 64 bits, no NUL in a text."""
    if "\\u0000" in text and NUL.search(text):
        raise ValueError("a text holds a NUL")
    value = json.loads(text, object_pairs_hook=once, parse_constant=no_number, parse_int=whole,
                       parse_float=real)
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value


def spelled(text):
    """A JSON value with its numbers as they are spelled."""
    return json.loads(text, object_pairs_hook=once, parse_constant=no_number, parse_int=Number,
                      parse_float=Number)


def canonical(value, depth=0):
    """Canonical JSON, as text."""
    if isinstance(value, (dict, list)) and depth == DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return "{%s}" % ",".join("%s:%s" % (json.encoder.encode_basestring(name), canonical(value[name], depth + 1))
                                 for name in sorted(value))
    if isinstance(value, list):
        return "[%s]" % ",".join(canonical(item, depth + 1) for item in value)
    if isinstance(value, Number):
        return value if NUMBER.fullmatch(value) else no_number(value)
    if isinstance(value, str):
        return json.encoder.encode_basestring(value)
    return json.dumps(value)


# ---- members as statements of projection.sql are given them


def bound(value):
    """A member as a statement of projection.sql is given it."""
    if isinstance(value, dict) and len(value) == 1:
        (name, digest), = value.items()
        if name in ("record", "blob", "withheld") and re.fullmatch("[0-9a-f]{64}", str(digest)):
            return "(withheld)" if name == "withheld" else bytes.fromhex(digest)
    if isinstance(value, Number):
        return int(value) if re.fullmatch("-?[0-9]+", value) else float(value)
    return canonical(value) if isinstance(value, (dict, list)) else value


def elements(value):
    """An element for each run of a statement, as its parameters."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        parts = item.items() if isinstance(item, dict) else ()
        yield {"_key": key, "_each": bound(item), **{"_each_" + name: bound(part) for name, part in parts}}


# ---- records


def members(value, patterns, path=()):
    """The members that can be withheld, as (container, name or position, path in JSON)."""
    here = [p for p in patterns if len(p) == len(path) + 1]
    more = [p for p in patterns if len(p) > len(path) + 1]
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in pairs:
        def fits(pattern):
            part = pattern[len(path)]
            return part in ("*", name) if isinstance(name, str) else part == "#"
        if any(map(fits, here)):
            yield value, name, canonical(list(path) + [name])
        yield from members(item, [p for p in more if fits(p)], path + (name,))


def members_of(kind, value):
    return members(value, [pattern.split("/") for pattern in TYPES[kind].split()])


def withheld(value):
    """The commitment in place of a value that a bundle left out; None: it is there."""
    if isinstance(value, dict) and set(value) == {"withheld"} and \
            re.fullmatch("[0-9a-f]{64}", str(value["withheld"])):
        return value["withheld"]
    return None


def salt(secret, kind, body):
    """The salt of a record of the log with this secret; None: it needs none."""
    return hmac.new(secret, body.encode(), "sha256").digest() if TYPES[kind] else None


@functools.lru_cache(maxsize=1 << 14)  # tests verify one database a thousand times, a value of it changed
def digest(kind, body, salt, is_own):
    """(digest, whether it has the salts that it needs and no others) of a record of the own log, or another.
    `salt`: bytes, text or None."""
    value = spelled(body)
    if not isinstance(value, dict) or canonical(value) != body:
        raise ValueError("is not in canonical form")
    if kind not in TYPES or value.get("type") != kind:
        raise ValueError("is of another type")
    each = spelled(salt) if isinstance(salt, str) else {}
    found = list(members_of(kind, value))
    opened = [path for container, name, path in found if not withheld(container[name])]
    for container, name, path in found:
        commitment = withheld(container[name])
        if not commitment:
            if isinstance(salt, bytes) and len(salt) == 32:
                key = hmac.new(salt, path.encode(), "sha256").digest()
            else:
                key = unhex(each[path])
            if len(key) != 32:
                raise ValueError("has a salt of another length")
            commitment = sha256(key, canonical(container[name]).encode()).hex()
        container[name] = {"commitment": commitment}
    if isinstance(salt, str):
        fits = not is_own and set(each) == set(opened) and len(opened) < len(found)
    else:
        fits = len(opened) == len(found) and (salt is not None) == bool(TYPES[kind] if is_own else found)
    return sha256(b"\0", canonical(value).encode()), fits


def received(records):
    """What a record of a bundle says of those (body, salt) that came with it."""
    return sha256(*(b"%s\n%s\n" % (body.encode(), salt.hex().encode() if isinstance(salt, bytes)
                                   else (salt or "").encode()) for body, salt in records)).hex()


def references(value):
    """All {"record": hex} and {"blob": hex} in a value, as (name, digest)."""
    if isinstance(value, dict):
        for name in ("record", "blob"):
            if set(value) == {name} and re.fullmatch("[0-9a-f]{64}", str(value[name])):
                yield name, bytes.fromhex(value[name])
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from references(item)


@functools.lru_cache(maxsize=1 << 14)  # as digest
def refers_to(body):
    """The references of a record's body."""
    return tuple(references(spelled(body)))


@functools.lru_cache(maxsize=1 << 14)
def given(body):
    """Its members as statements of projection.sql are given them."""
    return {name: bound(value) for name, value in spelled(body).items()}


# ---- estimates and comparisons


def possible(kind, body):
    """The verdicts that match a comparison's body."""
    said = body.get("verdict") or body.get("comparability", {}).get("verdict")
    return {"calibration": ["done", "interrupted"], "cost": ["cost"], "plan": ["plan"], "baseline": ["baseline"],
            "gate": [body.get("gate", {}).get("decision")],
            "reproduce": [body.get("reproduce", {}).get("verdict")],
            "accept": [said], "decide": [said], "fleet": [said], "ab": [said] if body.get("verdict") else [said, "none"], "compare": [said]}.get(kind, [])


def verdicts(verifier):
    def read(table, number, text):
        try:
            return strict(text)
        except ValueError as error:
            verifier.wrong(table, table, number, "its body cannot be read: %s" % error)
            return {}

    for number, verdict, text in verifier.ask("SELECT id, verdict, body FROM estimate"):
        if read("estimate", number, text).get("verdict") != verdict:
            verifier.wrong("estimate", "estimate", number, "its verdict is not the one in its body")
    hidden = sum(withheld(strict(record.body).get("body")) is not None for record in verifier.records
                 if record.type == "comparison")
    ids = {cell: "%s/%s" % (uid[:8], ordinal) for cell, uid, ordinal in verifier.ask(
        "SELECT c.id, g.uid, c.ordinal FROM cell c JOIN campaign g ON g.id = c.campaign")}
    look = None
    for number, kind, a, b, version, verdict, text in verifier.ask(
            "SELECT id, kind, a, b, version, verdict, body FROM comparison"):
        body = read("comparison", number, text)
        if body == {"withheld": True} and hidden:
            hidden -= 1
            continue
        if verdict not in possible(kind, body):
            verifier.wrong("comparison", "comparison", number, "its verdict is not the one in its body")
        judge = verify_decisions if kind in verify_decisions.KINDS else verify_served
        look = look or verify_decisions.Results(verifier)
        look.version = version
        if version in judge.VERSIONS and (kind in verify_decisions.KINDS or "served" in body):
            figures = judge.wrong(kind, body, look)
            if figures:
                verifier.wrong("comparison", "comparison", number, figures)
        if version >= verify_decisions.CONDITIONS_FROM and "comparability" in body:
            figures = verify_decisions.wrong_conditions(body, look)
            if figures:
                verifier.wrong("comparison", "comparison", number, figures)
        if [body.get("a"), body.get("b")] != [ids.get(a), ids.get(b)]:
            verifier.wrong("comparison", "comparison", number, "is not of the results in its body")
