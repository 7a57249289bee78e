"""The second verifier's part for the schedules of servers: see "Schedules" in results/FORMAT.md."""

import decimal
import hashlib
import math
import re
import struct

MASK = (1 << 64) - 1
STREAM = 0x73636864
GAPS, STATES, PROMPT, OUTPUT, JOINT = range(5)
UNITS = {"ns": 0, "us": 3, "ms": 6, "s": 9}


def mix(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
    return (z ^ z >> 27) * 0x94d049bb133111eb & MASK


def random_at(seed, stream, index):
    z = mix(seed + 0x9e3779b97f4a7c15 * (stream + 1) & MASK)
    z = mix((z ^ z >> 31) + 0x9e3779b97f4a7c15 * (index + 1) & MASK)
    return z ^ z >> 31


def log(x):
    m, exponent = math.frexp(x)
    if m < float.fromhex("0x1.6a09e667f3bcdp-1"):
        m, exponent = 2 * m, exponent - 1
    s = (m - 1) / (m + 1)
    total = 0.0
    for n in range(23, 0, -2):
        total = total * (s * s) + 1.0 / n
    return 2 * s * total + exponent * float.fromhex("0x1.62e42fefa39efp-1")


def exp(x):
    k = math.floor(x * float.fromhex("0x1.71547652b82fep+0") + 0.5)
    r = x - k * float.fromhex("0x1.62e42feep-1") - k * float.fromhex("0x1.a39ef35793c76p-33")
    total = 1.0
    for n in range(15, 0, -1):
        total = 1 + total * r / n
    return math.ldexp(total, k)


def cos_turn(t):
    """The cosine of 2 pi t, t in [0, 1)."""
    sign, total = 1, 0.0
    t = 1 - t if t > 0.5 else t
    if t > 0.25:
        t, sign = 0.5 - t, -1
    sine = t > 0.125
    x = float.fromhex("0x1.921fb54442d18p+2") * (0.25 - t if sine else t)
    for n in range(16, -1, -2):
        total = 1 - total * (x * x) / ((n + 2) * (n + 3) if sine else (n + 1) * (n + 2))
    return sign * x * total if sine else sign * total


class Random:
    """The numbers of a stream, one after the other."""

    def __init__(self, seed, stream):
        self.seed, self.stream, self.index = seed, stream, 0

    def next(self):
        self.index += 1
        return random_at(self.seed, self.stream, self.index - 1)

    def unit(self):
        return (self.next() >> 11) * 2.0 ** -53

    def exponential(self):
        return -log(1.0 - self.unit())

    def normal(self):
        radius = math.sqrt(-2.0 * log(1.0 - self.unit()))
        return radius * cos_turn(self.unit())

    def gamma(self, shape):
        d = (shape + 1 if shape < 1 else shape) - 1.0 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            v = 0.0
            while v <= 0:
                x = self.normal()
                v = 1 + c * x
            v = v * v * v
            if log(1.0 - self.unit()) < 0.5 * x * x + d * (1 - v + log(v)):
                break
        if shape < 1:
            v *= exp(max(log(1.0 - self.unit()) / shape, -700.0))
        return d * v / shape

    def below(self, bound):
        while True:
            product = self.next() * bound
            if product & MASK >= (1 << 64) % bound:
                return product >> 64


def seconds(duration):
    number, unit = re.fullmatch("([0-9.]+)([a-z]+)", duration).groups()
    factor = {"min": 60 * 10 ** 9, "h": 3600 * 10 ** 9}.get(unit) or 10 ** UNITS[unit]
    return int(decimal.Decimal(number) * factor) / 1e9


def length(law, seed, stream, i):
    """Tokens of request i; None: a law that is not this verifier's."""
    law = law or {"law": "none"}
    random = Random(random_at(seed, stream, i), stream)
    if law["law"] in ("none", "fixed"):
        return int(law.get("mean", 0)) if law["law"] == "fixed" else 0
    if law["law"] == "uniform":
        return law["min"] + random.below(law["max"] - law["min"] + 1)
    if law["law"] == "lognormal":
        variance = log(1 + law["cv"] * law["cv"])
        value = log(float(law["mean"])) - variance / 2 + math.sqrt(variance) * random.normal()
        value = exp(max(min(value, 700.0), -700.0))
    elif law["law"] == "geometric":
        value = 1 + math.floor(random.exponential() / -log(1 - 1 / law["mean"])) if law["mean"] > 1 else 1
    else:
        return None
    return int(min(max(math.floor(value), law["min"]), law["max"]))


def on_off(arrivals, seed):
    """The inverse of the integral of the relative rate, for targets that do not fall."""
    means = seconds(arrivals["on"]), seconds(arrivals["off"])
    ratio, high = arrivals.get("rate_ratio", 0), means[0] / (means[0] + means[1])
    levels = (ratio / (high * ratio + (1 - high)), 1 / (high * ratio + (1 - high))) if ratio > 0 else (1 / high, 0)
    random = Random(seed, STATES)
    level = 0 if random.unit() < high else 1
    stay, begin_s, begin = means[level] * random.exponential(), 0.0, 0.0

    def inverse(target):
        nonlocal level, stay, begin_s, begin
        while begin + stay * levels[level] < target:
            begin, begin_s, level = begin + stay * levels[level], begin_s + stay, 1 - level
            stay = means[level] * random.exponential()
        return begin_s + (target - begin) / levels[level] if levels[level] > 0 else begin_s
    return inverse


def times(arrivals, trace, rate, seed, count):
    """When each request comes and when one more would, in ns; None: a process that is not this verifier's."""
    if arrivals["process"] == "trace":
        at = trace["at_ns"]
        scale = arrivals.get("scale") or rate / (1e9 * (len(at) - 1) / at[-1])
        return [int(ns / scale) for ns in at] + [int((at[-1] + at[-1] / (len(at) - 1)) / scale)]
    process, random = arrivals["process"], Random(seed, GAPS)
    gaps = {"deterministic": lambda: 1, "poisson": random.exponential, "on_off": random.exponential,
            "gamma": lambda: random.gamma(1 / (arrivals["cv"] * arrivals["cv"]))}
    if process not in gaps:
        return None
    at = on_off(arrivals, seed) if process == "on_off" else float
    found, unit = [], 0.0
    for _ in range(count + 1):
        found.append(int(at(unit / rate) * 1e9))
        unit += gaps[process]()
    return found


def make(workload, trace, rate, seed, count):
    """The digest and times of a schedule, of all requests at once where rate is None; None: this verifier cannot make it."""
    arrivals, lengths = workload["load"]["arrivals"], workload["load"].get("lengths", {})
    if rate is None:
        at = times({"process": "deterministic"}, None, 1e6, seed, count)
    else:
        at = times(arrivals, trace, rate, seed, count)
    if at is None:
        return None
    digest = hashlib.sha256(b"assay-schedule/1\n" + struct.pack("<QQ", count, at[-1]))
    for i, ns in enumerate(at[:-1]):
        if arrivals.get("columns", {}).get("output"):
            row = i
            if rate is None:
                row = Random(random_at(seed, JOINT, i), JOINT).below(len(trace["at_ns"]))
            tokens = trace["prompt_tokens"][row], trace["output_tokens"][row]
        else:
            tokens = length(lengths.get("prompt"), seed, PROMPT, i), length(lengths.get("output"), seed, OUTPUT, i)
        if None in tokens:
            return None
        digest.update(struct.pack("<QII", ns, *tokens))
    return digest.hexdigest(), at[:-1]


def capacity(verifier, cell, decode):
    """What the first trial of the saturated server that is ok did, in requests/s; None: it shows none."""
    first = verifier.ask(
        "SELECT t.id FROM cell c JOIN cell s ON s.campaign = c.campaign AND s.scenario = 'server@saturated' AND s.workload ="
        " c.workload AND s.precision = c.precision AND s.implementation = c.implementation AND s.batch IS c.batch AND"
        " s.device_spec = c.device_spec JOIN trial t ON t.cell = s.id JOIN trial_end e ON e.trial = t.id AND e.status = 'ok'"
        " WHERE c.id = ? ORDER BY t.sequence, t.attempt LIMIT 1", cell)
    at = sorted(ns for trial, name, *_, data in verifier.chunks if name == "request:admitted_ns" and [(trial,)] == first
                for ns in decode(data) if ns >= 0)
    if len(at) < 2 or at[-1] == at[len(at) // 4]:
        return None
    first = at[len(at) // 4]
    return sum(ns > first for ns in at) * 1e9 / (at[-1] - first)


def rate_of(verifier, cell, scenario, told, decode):
    """The rate of a cell, None: saturated; False: its capacity is another than was told."""
    if scenario == "server@saturated":
        return None
    if not scenario.endswith("x"):
        return float(scenario[7:])
    measured = capacity(verifier, cell, decode)
    return float("%.6g" % (float(scenario[7:-1]) * measured)) if measured is not None and measured == told else False


def check(verifier, content, decode):
    """Of each trial of a server that is ok: its reading serving.schedule, and the sum of its scheduled times. What it cannot
    make again, since it is withheld or of a process or law that is not this verifier's, is counted in a note."""
    left = 0
    for trial, cell, workload, protocol, scenario, seed, turn, told, total, measured in verifier.ask(
            "SELECT t.id, c.id, c.workload, c.protocol, c.scenario, c.seed, (t.sequence - 1) / (SELECT count(*) FROM cell o"
            " WHERE o.campaign = c.campaign), (SELECT r.body ->> '$.value' FROM environment n JOIN reading_member m ON"
            " m.reading_set = n.readings JOIN reading r ON r.id = m.reading WHERE n.trial = t.id AND n.at = 'before'"
            " AND r.name = 'serving.schedule'), (SELECT sum(total) FROM series s WHERE s.trial = t.id AND s.name ="
            " 'request:scheduled_ns'), (SELECT r.body ->> '$.value' FROM environment n JOIN reading_member m ON m.reading_set ="
            " n.readings JOIN reading r ON r.id = m.reading WHERE n.trial = t.id AND n.at = 'before' AND r.name ="
            " 'serving.capacity') FROM trial t JOIN trial_end e ON e.trial = t.id AND e.status = 'ok' JOIN cell c"
            " ON c.id = t.cell WHERE c.scenario LIKE 'server@%' ORDER BY t.id"):
        workload, protocol = content.read(workload), content.read(protocol)
        named = ((workload or {}).get("load") or {}).get("arrivals", {}).get("sha256")
        trace = content.read(bytes.fromhex(named)) if named else None
        if workload is None or protocol is None or (named and trace is None):
            left += 1
            continue
        count = workload["load"]["arrivals"].get("requests") or protocol["serving"]["requests"]
        rate = rate_of(verifier, cell, scenario, measured, decode)
        if rate is False:
            verifier.wrong("trial", "trial", trial, "its rate is a share of another capacity than its campaign measured")
            continue
        made = make(workload, trace, rate, random_at(int(seed), STREAM, turn), count)
        left += made is None
        if made is not None and (made[0] != told or sum(made[1]) != total):
            verifier.wrong("trial", "trial", trial, "its schedule is not the declared one")
    if left:
        verifier.notes.append((None, None, "the schedules of %d trials were not made again" % left))
