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
    """Who of a roster saw a plan, by its cosignatures."""

    def __init__(self, entries):
        self.entries, self.times = entries, {}

    def add(self, key, seconds):
        for entry in self.entries:
            if entry.key == key and entry.role == "witness" and entry.counts(seconds * SECOND):
                self.times[entry.name] = min(seconds, self.times.get(entry.name, NEVER))

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
    """Every campaign that was planned here needs so many; `seen` has each one's Witnesses."""
    imports = {row[0] for row in verifier.ask("SELECT campaign FROM import")}
    for (number,) in verifier.ask("SELECT id FROM campaign"):
        starts = [row[0] for row in verifier.ask("SELECT started_utc_ns FROM trial WHERE campaign = ?", number)]
        before = seen[number].before(starts) if number in seen else ()
        if (starts or number not in imports) and len(before) < wanted:
            verifier.wrong("signature", "campaign", number, "its plan was not witnessed before its first trial"
                           " by %d" % wanted)
