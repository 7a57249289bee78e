"""The second verifier's part for cosignatures and rosters: see verify.py, and "Signatures", "Cosignatures"
and "Rosters" in results/FORMAT.md.
"""

import base64
import datetime
import hashlib

SECOND = 10 ** 9
NEVER, ALWAYS = float("inf"), float("-inf")


def moment(text):
    """Nanoseconds since 1970 of a date in UTC."""
    time = datetime.datetime.fromisoformat(text.rstrip("Z")).replace(tzinfo=datetime.timezone.utc)
    return int(time.timestamp()) * SECOND


class Entry:
    """A key of a roster."""

    def __init__(self, line):
        word, self.role, *dates = line.split("#", 1)[0].split()
        self.name, stated, data = word.split("+", 2)
        data = base64.b64decode(data, validate=True)
        self.key, mark = data[1:], data[:1]
        if self.role not in ("author", "witness") or len(self.key) != 32 or mark not in (b"\1", b"\4") or \
                self.identity(mark).hex() != stated:
            raise ValueError("no key of a roster: " + line)
        self.dates = {"not-before": ALWAYS, "expires": NEVER, "revoked": NEVER}
        for date in dates:
            name, value = date.split("=", 1)
            if name not in self.dates:
                raise ValueError("no date of a roster: " + date)
            self.dates[name] = moment(value)

    def identity(self, mark):
        return hashlib.sha256(self.name.encode() + b"\n" + mark + self.key).digest()[:4]

    def counts(self, utc_ns):
        return self.dates["not-before"] <= utc_ns < min(self.dates["expires"], self.dates["revoked"])


def read(text):
    """The entries of a roster."""
    lines = [line.strip() for line in (text or "").splitlines()]
    entries = [Entry(line) for line in lines if line and not line.startswith("#")]
    if len({entry.key for entry in entries}) != len(entries):
        raise ValueError("a key of the roster is there twice")
    return entries


def cosigned(signed, key, blob, body):
    """The time, in seconds, at which this key cosigned a note's body; None: it did not."""
    seconds = int.from_bytes(blob[:8], "big")
    if len(blob) != 72 or seconds > ((1 << 63) - 1) // SECOND:
        return None
    text = b"cosignature/v1\ntime %d\n" % seconds + body
    return seconds if signed(key, blob[8:], text) else None


class Witnesses:
    """Who of a roster saw a plan, and who an end, by their cosignatures: (seconds, time of the head, stored) by name."""

    def __init__(self, entries):
        self.entries, self.times, self.plans, self.ends = entries, {}, {}, {}

    def names(self, key, seconds):
        return [e.name for e in self.entries if (e.key, e.role) == (key, "witness") and e.counts(seconds * SECOND)]

    def add(self, key, seconds):
        for name in self.names(key, seconds):
            self.times[name] = min(seconds, self.times.get(name, NEVER))

    def add_row(self, kind, key, seconds, head, stored):
        """A cosignature of a head of the kind "plan" or "end" in the file."""
        seen = (seconds, head, stored)
        if kind == "plan":
            self.add(key, seconds)
        for name in self.names(key, seconds):
            if kind == "plan" and (name not in self.plans or seconds < self.plans[name][0]):
                self.plans[name] = seen
            if kind == "end" and (name not in self.ends or (-head, seconds) < (-self.ends[name][1], self.ends[name][0])):
                self.ends[name] = seen

    def contradicted(self, trials, last_end):
        """Those by whose clocks another time passed from plan to end than by the file's."""
        for name, (end, end_head, end_stored) in self.ends.items():
            plan, plan_head, plan_stored = self.plans.get(name, (None, None, None))
            if plan is None or plan_stored == plan * SECOND or end_stored == end * SECOND or \
                    min(plan_head, plan_stored, end_head, end_stored) < 1:
                continue
            elapsed = (end - plan) * SECOND
            apart = max(elapsed, 0) / 100 + 2 * SECOND
            if not end_head - plan_stored - apart <= elapsed <= end_stored - plan_head + apart or \
                    (end_head == last_end and elapsed < trials - apart):
                yield name

    def take_lines(self, signed, lines, body):
        """The lines of a note: (name, id, blob)."""
        for name, identity, blob in lines:
            for entry in self.entries:
                if (entry.name, entry.identity(b"\4")) == (name, identity):
                    seconds = cosigned(signed, entry.key, blob, body)
                    if seconds is not None:
                        self.add(entry.key, seconds)

    def before(self, trials):
        """The names of those who saw it in an earlier second than the first of these starts of trials."""
        first = min(trials, default=None)
        return {name for name, seconds in self.times.items() if first is None or seconds < first // SECOND}


def check(verifier, wanted, seen):
    """Every campaign that was planned here needs so many, whose clocks agree; `seen` has each one's Witnesses."""
    for number, witnesses in seen.items():
        (trials,), = verifier.ask("SELECT total(m) FROM (SELECT max(p.end_ns) AS m FROM phase p JOIN trial t ON t.id ="
                                  " p.trial WHERE t.campaign = ? GROUP BY t.id)", number)
        (last,), = verifier.ask("SELECT max(utc_ns) FROM checkpoint WHERE campaign = ? AND kind = 'end'", number)
        for name in witnesses.contradicted(trials or 0, last):
            verifier.wrong("signature", "campaign", number, "another time passed by the clock of " + name)
    if not wanted:
        return
    imports = {row[0] for row in verifier.ask("SELECT campaign FROM import")}
    for (number,) in verifier.ask("SELECT id FROM campaign"):
        starts = [row[0] for row in verifier.ask("SELECT started_utc_ns FROM trial WHERE campaign = ?", number)]
        before = seen[number].before(starts) if number in seen else ()
        if (starts or number not in imports) and len(before) < wanted:
            verifier.wrong("signature", "campaign", number, "its plan was not witnessed before its first trial"
                           " by %d" % wanted)
