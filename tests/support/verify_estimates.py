"""What holds of an estimate whatever version of the analysis made it: "Estimates" in FORMAT.md. See verify.py."""

import math
import re
import struct

import verify_body

RATES = {"byte_rate": "bytes", "op_rate": "flops", "item_rate": "items"}


def number(value):
    """A JSON number as a float; None for what is none."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def members(value):
    return value if isinstance(value, dict) else {}


def spans(verifier):
    """(shortest, longest) iteration by the samples: {cell: span}, {(cell, sequence): span}; of cells without a server."""
    cells, trials = {}, {}
    for cell, sequence, low, high in verifier.ask(
            "SELECT t.cell, t.sequence, min(1.0 * s.minimum / e.iterations_per_sample), max(1.0 * s.maximum /"
            " e.iterations_per_sample) FROM series s JOIN trial t ON t.id = s.trial JOIN trial_end e ON e.trial = t.id"
            " JOIN cell c ON c.id = t.cell WHERE s.name = 'wall_ns' AND e.status = 'ok' AND e.iterations_per_sample > 0"
            " AND substr(c.scenario, 1, 6) <> 'server' GROUP BY t.cell, t.sequence"):
        trials[cell, sequence] = low, high
        first = cells.get(cell, (low, high))
        cells[cell] = min(low, first[0]), max(high, first[1])
    return cells, trials


def counted(sample):
    """The number that a sample of the series `counted` stands for."""
    return struct.unpack(">d", (sample << 20).to_bytes(8, "big"))[0]


def counted_spans(verifier):
    """The least and the largest number that the samples of a cell count themselves, where they do."""
    return {cell: (counted(low), counted(high)) for cell, low, high in verifier.ask(
        "SELECT t.cell, min(s.minimum), max(s.maximum) FROM series s JOIN trial t ON t.id = s.trial JOIN trial_end e"
        " ON e.trial = t.id WHERE s.name = 'counted' AND e.status = 'ok' GROUP BY t.cell")}


def outside(value, span):
    """Whether a number that is there is not in the span, but for rounding."""
    return value is not None and span is not None and not span[0] * (1 - 1e-6) <= value <= span[1] * (1 + 1e-6)


def wrong_rate(rate, time, work):
    return rate is not None and (time is None or not work or abs(rate * time - 1e9 * work) > 1e-9 * abs(1e9 * work))


def figures_of(metrics):
    """{metric: (value, lo, hi)}"""
    return {name: tuple(number(metric.get(part)) for part in ("value", "lo", "hi"))
            for name, metric in members(metrics).items() if isinstance(metric, dict)}


def faults(body, span, trials, work, counts=None):
    """What contradicts itself or the samples in an estimate; `trials`: spans by sequence; `work`: of an iteration, None of a server;
    `counts`: span of what its samples count themselves, which its trials are then of."""
    figures = figures_of(body.get("metrics"))
    times = figures.get("iteration_time", (None,) * 3)
    for name, (value, low, high) in figures.items():
        if (name == "iteration_time" or re.match(r"p[0-9]", name)) and outside(value, span):
            yield "its %s is outside of its samples" % name
        if name.startswith("counted_") and outside(value, counts or (math.nan, math.nan)):
            yield "its %s is outside of what its samples count" % name
        if None not in (value, low, high) and not low <= value <= high:
            yield "its %s is outside of its own interval" % name
        if work is not None and name in RATES and any(map(wrong_rate, (value, low, high), (times[0], times[2], times[1]),
                                     3 * [work[RATES[name]]])):
            yield "its %s is not its work by its time" % name
    for trial in filter(members, () if counts else body.get("trials") or ()):
        for name in ("mean_ns", "median_ns"):
            if outside(number(trial.get(name)), trials.get(trial.get("sequence"))):
                yield "the %s of a trial is outside of its samples" % name
    share, arrivals, good = (figures.get(name, (None,))[0] for name in ("attainment", "request_rate", "goodput"))
    if share is not None and not 0 <= share <= 1 or None not in (share, arrivals, good) and \
            good > share * arrivals * (1 + 1e-9):
        yield "its goodput is above its share of the arrivals"


def check(verifier):
    cells, trials = spans(verifier)
    counts = counted_spans(verifier)
    work = {cell: dict(zip(RATES.values(), counts)) for cell, *counts in verifier.ask(
        "SELECT id, bytes, flops, items FROM cell WHERE substr(scenario, 1, 6) <> 'server'")}
    for row, cell, version, text in verifier.ask("SELECT id, cell, version, body FROM estimate"):
        try:
            body = members(verify_body.strict(text))
        except ValueError:
            continue  # verify_body.verdicts says so
        if body.get("version", version) != version:
            verifier.wrong("estimate", "estimate", row, "is of another version than its body")
        mine = {sequence: span for (of, sequence), span in trials.items() if of == cell}
        for fault in faults(body, cells.get(cell), mine, work.get(cell), counts.get(cell)):
            verifier.wrong("estimate", "estimate", row, fault)
