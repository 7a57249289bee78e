"""What is wrong with a stored judgement of a fleet, from results/FORMAT.md and protocols/units.h alone."""

import math
import statistics

from verify_student import beta

HOUR_NS = 3600 * 10 ** 9
LOWER = ("iteration_time", "counted_cost", "p50", "p90", "p95", "p99", "p99.9")
CLOSE = 1e-7


def below(t, df):
    """P(T <= t) of Student's t."""
    tail = beta(df / 2, 0.5, df / (df + t * t)) / 2
    return tail if t < 0 else 1 - tail


def machine(look, result):
    """The device, its UUID and the host of a result; None where one is withheld."""
    rows = look.ask(
        "SELECT d.name, d.uuid, (SELECT json_extract(r.body, '$.value') FROM environment v JOIN reading_member m ON m.reading_set = v.readings"
        " JOIN reading r ON r.id = m.reading WHERE v.trial = t.id AND v.at = 'host' AND r.name = 'host.name')"
        " FROM trial t LEFT JOIN trial_device l ON l.trial = t.id LEFT JOIN device d ON d.id = l.device WHERE t.cell = ?"
        " ORDER BY t.id", look.cells[result]["id"])
    return next((row for row in rows if row[0] and row[2]), None)


def sittings(look, unit, metric):
    """The mean logs of its rates, an hour's results one."""
    values = []
    for result in unit["results"]:
        value = ((look.metrics(result) or {}).get(metric) or {}).get("value")
        (created,) = look.ask("SELECT created_utc_ns FROM campaign WHERE uid = ?", look.cells[result]["uid"])[0]
        if value and value > 0:
            values.append((created, -math.log(value) if metric in LOWER else math.log(value)))
    groups = []
    for created, value in sorted(values):
        if not groups or created - groups[-1][-1][0] > HOUR_NS:
            groups.append([])
        groups[-1].append((created, value))
    return [math.fsum(value for _, value in group) / len(group) for group in groups]


def rejected(chances, fdr):
    """The largest p that Benjamini and Hochberg's procedure rejects."""
    ordered = sorted(chances)
    return max((p for k, p in enumerate(ordered, 1) if p <= fdr * k / len(ordered)), default=-1)


def verdicts(logs, request):
    """{unit: (level, verdict)} of those with a value."""
    levels = {unit: math.fsum(values) / len(values) for unit, values in logs.items()}
    median, count = statistics.median(levels.values()), len(logs)
    df = sum(len(values) - 1 for values in logs.values())
    if df == 0:
        return {unit: (level - median, "one_sitting") for unit, level in levels.items()}
    within = math.fsum((value - levels[unit]) ** 2 for unit, values in logs.items() for value in values) / df
    usual = count / math.fsum(1 / len(values) for values in logs.values())
    spread = 1.4826 * statistics.median(abs(level - median) for level in levels.values())
    off = math.pi / 2 * max(spread ** 2, within / usual) / count
    limit, slow, fine = math.log1p(-request["margin"]), {}, {}
    for unit, values in logs.items():
        t = (levels[unit] - median - limit) / math.sqrt(within / len(values) + off)
        if len(values) > 1:
            slow[unit], fine[unit] = below(t, df), below(-t, df)
    most_slow, most_fine = rejected(slow.values(), request["fdr"]), rejected(fine.values(), request["fdr"])
    return {unit: (level - median, "one_sitting" if unit not in slow else "slow" if slow[unit] <= most_slow else
                   "fine" if fine[unit] <= most_fine else "undecided") for unit, level in levels.items()}


def fleet(body, look):
    """What is wrong with it, or None."""
    units, request = body["units"], body["request"]
    listed = [result for unit in units for result in unit["results"]]
    if sorted(listed) != sorted(body["results"]) or len(set(listed)) != len(listed):
        return "its units do not have each result once"
    if any(result not in look.cells for result in listed):
        return None  # of another file
    seen = {}
    for number, unit in enumerate(units):
        for result in unit["results"]:
            found = machine(look, result)
            if found and seen.setdefault(found, number) != number:
                return "results of one machine are of two units"
            if found and found != (unit["device"], unit["uuid"], unit["host"]):
                return "%s was not measured on the unit that it is counted to" % result
    logs = {number: sittings(look, unit, body["metric"]) for number, unit in enumerate(units)}
    wanted = verdicts({number: values for number, values in logs.items() if values}, request)
    for number, unit in enumerate(units):
        level, verdict = wanted.get(number, (math.nan, "failed"))
        if unit["verdict"] != verdict or unit["sittings"] != len(logs[number]):
            return "unit %d is %s, not %s" % (number + 1, verdict, unit["verdict"])
        if verdict != "failed" and abs(math.log(unit["ratio"]) - level) > CLOSE:
            return "unit %d lies elsewhere against the median" % (number + 1)
    missing = None if request["expected"] is None else max(request["expected"] - len(units), 0)
    if body["missing"] != missing:
        return "the units that are missing are counted wrong"
    said = {unit["verdict"] for unit in units}
    return None if body["verdict"] == (
        "slow_units" if "slow" in said else "failed_units" if "failed" in said or missing else
        "undecided" if said & {"undecided", "one_sitting"} else "fine") else "its verdict is another"
