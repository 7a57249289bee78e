"""The second verifier's part for estimates and comparisons, in a column and in a body: see
verify.py and "Estimates" in results/FORMAT.md.
"""

import hashlib
import json
import re

NUL = re.compile(r"(?<!\\)(\\\\)*\\u0000")


def once(pairs):
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a member stands there twice")
    return dict(pairs)


def no_number(text):
    raise ValueError("%s is no number" % text)


def real(text):
    return float(text) if abs(float(text)) < float("inf") else no_number(text)


def whole(text):
    return int(text) if -1 << 63 <= int(text) < 1 << 63 else no_number(text)


def strict(text, parse_float=real):
    """An object: no member twice, no NaN or infinity, no number beyond 64 bits, no NUL in a text."""
    if "\\u0000" in text and NUL.search(text):
        raise ValueError("a text holds a NUL")
    value = json.loads(text, object_pairs_hook=once, parse_constant=no_number, parse_int=whole,
                       parse_float=parse_float)
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value


def possible(kind, body):
    """The verdicts that match a comparison's body."""
    said = body.get("verdict") or body.get("comparability", {}).get("verdict")
    return {"calibration": ["done", "interrupted"], "gate": [body.get("gate", {}).get("decision")],
            "reproduce": [body.get("reproduce", {}).get("verdict")],
            "ab": [said] if body.get("verdict") else [said, "none"], "compare": [said]}.get(kind, [])


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
    ids = {cell: "%s/%s" % (uid[:8], ordinal) for cell, uid, ordinal in verifier.ask(
        "SELECT c.id, g.uid, c.ordinal FROM cell c JOIN campaign g ON g.id = c.campaign")}
    for number, kind, a, b, verdict, text in verifier.ask(
            "SELECT id, kind, a, b, verdict, body FROM comparison"):
        if ("comparison", str(number)) in verifier.withheld:
            continue
        body = read("comparison", number, text)
        if verdict not in possible(kind, body):
            verifier.wrong("comparison", "comparison", number, "its verdict is not the one in its body")
        if [body.get("a"), body.get("b")] != [ids.get(a), ids.get(b)]:
            verifier.wrong("comparison", "comparison", number, "is not of the results in its body")


def stand_in(column, kind, commitment):
    """The placeholder in a row for a value that a bundle left out."""
    if kind == "BLOB":
        return hashlib.sha256(commitment).digest()
    if column == "hash":
        return int.from_bytes(commitment[:8], "little", signed=True)
    return '{"reason":"withheld","status":"denied","value":null}' if column in ("body", "facts") else \
        "(withheld)"


def withheld(verifier, possible):
    """The rows, as (table, key), that have a placeholder in a column that can be withheld."""
    found = set()
    for table, key, column, commitment in verifier.ask(
            "SELECT table_name, key, column_name, commitment FROM withheld"):
        if "%s.%s" % (table, column) not in possible:
            continue
        info = verifier.ask("SELECT name, type, pk FROM pragma_table_info(?)", table)
        kinds = {name: kind for name, kind, _ in info}
        (name,) = (name for name, _, pk in info if pk)
        row = verifier.ask("SELECT %s FROM %s WHERE %s = ?" % (column, table, name),
                           bytes.fromhex(key) if kinds[name] == "BLOB" else key)
        if row == [(stand_in(column, kinds[column], commitment),)]:
            found.add((table, key))
    return found
