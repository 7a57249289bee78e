"""The second verifier's part for what a ledger's heads cover: see verify.py, and "Tree and checkpoints"
and "Signatures" in results/FORMAT.md.
"""

import re


def places(verifier, leaves):
    """Each checkpoint directly after what it covers; `leaves` has the number of each (table, key)."""
    if not re.fullmatch("assay-log/[0-9a-f]{32}", verifier.origin):
        verifier.wrong("signature", "ledger_origin", 1, "its name is not of the form that it has")
    trials = {}
    for number, campaign in verifier.ask("SELECT id, campaign FROM trial"):
        trials.setdefault(campaign, []).append(leaves.get(("trial", number), 0))
    for number, size, kind, campaign in verifier.ask("SELECT id, size, kind, campaign FROM checkpoint"):
        if leaves.get(("checkpoint", number), size) != size:
            verifier.wrong("tree", "checkpoint", number, "it was made at another time than it says")
        if kind == "plan" and leaves.get(("campaign", campaign), size) >= size:
            verifier.wrong("tree", "checkpoint", number, "is of a plan, and covers no campaign")
        elif kind == "plan" and min(trials.get(campaign, [size])) < size:
            verifier.wrong("tree", "checkpoint", number, "is of a plan, and covers trials already")


def late(verifier, covered):
    """Campaigns whose row, or rows of theirs or of their trials, are at or after that leaf."""
    trials = dict(verifier.ask("SELECT id, campaign FROM trial"))
    rest = {row[1:3] for row in verifier.log if row[0] >= covered}
    found = {key for table, key in rest if table == "campaign"}
    for table, info in verifier.tables.items():
        names = [row[1] for row in info]
        owner = next((n for n in ("campaign", "trial") if n in names), None)
        keys = {key for name, key in rest if name == table}
        if table == "campaign_event":  # archiving comes later, and is not part of the run
            keys -= {key for (key,) in verifier.ask("SELECT %s FROM campaign_event WHERE event IN ('archived',"
                                                    " 'restored')" % verifier.key_sql(info, ""))}
        if keys and owner and table not in ("checkpoint", "bundle"):
            for key, number in verifier.ask("SELECT %s, %s FROM %s" % (verifier.key_sql(info, ""), owner,
                                                                       table)):
                if key in keys:
                    found.add(number if owner == "campaign" else trials.get(number))
    return found


def cover(verifier, covered):
    """Every campaign against the newest head that one of the reader's keys signed."""
    if not covered:
        verifier.wrong("signature", None, None, "unsigned by the key")
    for number, size in verifier.ask("SELECT g.id, max(c.size) FROM campaign g LEFT JOIN checkpoint c ON"
                                     " c.campaign = g.id GROUP BY g.id"):
        if size is None or size > covered:
            verifier.wrong("signature", "campaign", number, "is not covered by the key")
    for number in late(verifier, covered) if covered else ():
        verifier.wrong("signature", "campaign", number, "goes on after what the key covers")
