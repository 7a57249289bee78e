"""Whether attainment or capacity of servers changed, recomputed from their estimates and from both capacities: "Servers"
in results/FORMAT.md. A function says what is wrong, or None.
"""

import math
import statistics

from verify_student import beta, student
from verify_figures import alike, close, number, range_of

VERSIONS = (18, 19, 20, 21, 22, 23, 24, 25)  # of comparisons: the rules of this text
BATCHES = 20  # that the dispersion of misses rests on
NORMAL = statistics.NormalDist()


def beta_quantile(chance, a, b):
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if beta(a, b, middle) < chance else (low, middle)
    return high


def share_range(share, n, confidence):
    """(value, lo, hi) of a share seen in so many independent requests."""
    chance, missed = 0.5 + confidence / 2, share * n
    return (share, beta_quantile(1 - chance, missed, n - missed + 1) if share > 0 else 0,
            beta_quantile(chance, missed + 1, n - missed) if share < 1 else 1)


def subtract(a, b):
    if not math.isfinite(sum(a) + sum(b)):
        return b[0] - a[0], b[1] - a[2], b[2] - a[1]
    change = b[0] - a[0]
    return change, change - math.hypot(b[0] - b[1], a[2] - a[0]), change + math.hypot(b[2] - b[0], a[0] - a[1])


def over_pairs(pairs, dispersion, confidence):
    """Of (share missed of a, share missed of b, requests)."""
    n, every = len(pairs), sum(requests for _, _, requests in pairs)
    changes, chance = [a - b for a, b, _ in pairs], 0.5 + confidence / 2
    up, down = (sum(max(sign * d, 0) for d in changes) / n for sign in (1, -1))
    variance = max(sum(d * d for d in changes) - n * (up - down) ** 2, 0) / (n * (n - 1))
    if up + down > 0:
        effective = every / max(variance * every / (up + down - (up - down) ** 2), 1) if variance else every
    else:
        effective = max(every / max(dispersion, 1), 1) * (NORMAL.inv_cdf(chance) / student(chance, BATCHES - 1)) ** 2
    value, lo, hi = subtract(share_range(down, effective, confidence), share_range(up, effective, confidence))
    half = student(chance, n - 1) * math.sqrt(variance)
    return value, max(min(lo, value - half), -1), min(max(hi, value + half), 1)


def paired(a, b, confidence):
    """(pairs, change) of two estimates by their trials of one number."""
    trials = [{trial["number"]: trial for trial in estimate["trials"] if trial.get("requests")} for estimate in (a, b)]
    both = [[trials[i][n] for i in (0, 1)] for n in sorted(set(trials[0]) & set(trials[1]))]
    if len(both) < 2:
        return len(both), None
    dispersion = max(1, *(number(estimate["serving"]["slo"]["dispersion"], 1) for estimate in (a, b)))
    made = []
    for undecided in (1, 0), (0, 1):  # b's are missed, or a's
        made.append(over_pairs([tuple((one["missed"] + one["undecided"] * with_it) / one["requests"]
                                      for one, with_it in zip(pair, reversed(undecided))) +
                                ((pair[0]["requests"] + pair[1]["requests"]) / 2,) for pair in both],
                               dispersion, confidence))
    return len(both), ((made[0][0] + made[1][0]) / 2, made[0][1], made[1][2])


def p_worse(change, edge, confidence, pairs):
    chance, half = 0.5 + confidence / 2, change[2] - change[0]
    if math.isnan(change[2]):
        return math.nan
    if math.isnan(half):
        return (1 - confidence) / 2 if change[2] < edge else 1
    if half <= 0:
        return 0 if change[0] < edge else 1
    off = (change[0] - edge) / half
    if not pairs:
        return NORMAL.cdf(NORMAL.inv_cdf(chance) * off)
    df, t = pairs - 1, student(chance, pairs - 1) * off
    upper = beta(df / 2, 0.5, df / (df + t * t)) / 2
    return 1 - upper if t > 0 else upper


def figure(estimate):
    """(value, lo, hi) of attainment, and whether the backlog grows."""
    slo = estimate["serving"]["slo"]
    if slo["reason"] == "growing":
        return (0, 0, 0), True
    return tuple(number(slo[name], math.nan) for name in ("attainment", "lo", "hi")), False


def check(kind, body, look):
    served = body["served"]
    confidence, margin, pairs = served["confidence"], served["margin"], served.get("pairs", 0)
    if body["by"] == "capacity":
        a, b = ([math.log(x) for x in range_of(served[name])] for name in "ab")
        change, edge, show = subtract(a, b), math.log1p(-margin), math.exp
    else:
        estimates = [look.body(body[name]) for name in "ab"]
        if any(estimate["serving"]["version"] < 2 for estimate in estimates):
            return None  # their trials say nothing of requests
        (a, grows_a), (b, grows_b) = map(figure, estimates)
        if not (alike(a, served["a"]) and alike(b, served["b"])):
            return "its shares within the limits are not those of its results"
        change, edge, show = subtract(a, b), -margin, float
        if pairs or kind == "ab" and not grows_a | grows_b:
            count, made = paired(*estimates, confidence)
            if pairs != (count if made else 0):
                return "it rests on %d pairs, and there are %d" % (pairs, count)
            change = made or change
    if not alike(tuple(map(show, change)), served["change"]):
        return "its change is not that of its results"
    if not close(p_worse(change, edge, confidence, pairs), served["p_worse"]):
        return "its p is another"
    p = number(served["p_worse_family"], number(served["p_worse"], math.nan))
    verdict = "not_worse" if show(change[1]) >= (1 - margin if body["by"] == "capacity" else edge) else \
        "worse" if p <= (1 - confidence) / 2 else "inconclusive"
    return None if body["verdict"] == verdict else "its verdict is %s" % verdict


def wrong(kind, body, look):
    """What is wrong with a comparison of servers, or None."""
    if not isinstance(body.get("served"), dict):
        return None
    try:
        return check(kind, body, look)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, AttributeError):
        return "a member that its change rests on is missing or of another kind"
