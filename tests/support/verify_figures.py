"""What costs and plans say, recomputed from their own rows and the estimates of results ("Figures" in FORMAT.md)."""

import math

HOURS_A_YEAR = 8760
LARGEST = 10000  # units of a fleet whose chances are summed here
# Of a cost: the metrics that count work, what a figure is of, and how much of it.
WORKS = {"good_token_rate": 1e6, "goodput": 1e6, "item_rate": 1e6, "iteration_time": 1e3, "op_rate": 1e18,
         "byte_rate": 1e15}
UNKNOWN = (math.nan, math.nan, math.nan)
ENDS = ("value", "lo", "hi")


def number(value, otherwise=None):
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else otherwise


def close(mine, theirs):
    """Whether it is the number; what is not known is null."""
    if not math.isfinite(mine):
        return theirs is None
    return number(theirs) is not None and math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-15)


def alike(mine, theirs):
    return all(close(x, theirs[end]) for x, end in zip(mine, ENDS))


def range_of(metric):
    """(value, lo, hi) of a metric, of which it may have none."""
    return tuple(number((metric or {}).get(end), math.nan) for end in ENDS)


def power(metrics):
    """Watts, which stand for their bounds where these are not known."""
    value, lo, hi = range_of(metrics.get("mean_power"))
    return (value, lo, hi) if math.isfinite(lo + hi) else (value,) * 3


def rate(metric, metrics):
    """What is done in a second."""
    value, lo, hi = range_of(metrics.get(metric))
    return tuple(1e9 / x if x else math.nan for x in (value, hi, lo)) if metric == "iteration_time" else (value, lo, hi)


def amounts(row):
    return tuple(number(row.get(name), row["amount"]) for name in ("amount", "amount_lo", "amount_hi"))


def each(row, watts, assumptions):
    """What an hour costs for an amount of 1."""
    devices, years = number(row.get("covers_devices"), 1), number(row.get("term_months"), 12) / 12
    discount = assumptions["discount"]
    if row["unit"] == "kWh":
        return tuple(watt * assumptions["pue"] * assumptions["utilisation"] / 1000 for watt in watts)
    if row["unit"] == "each":
        factor = discount / (1 - (1 + discount) ** -years) if discount > 0 else 1 / years
        left = number(row.get("residual"), 0) * (1 + discount) ** -years
        return ((1 - left) * factor / devices / HOURS_A_YEAR,) * 3
    return ({"month": 12 / HOURS_A_YEAR, "hour": 1}[row["unit"]] / devices,) * 3


def hour(parts):
    """Of (amounts, each)."""
    return tuple(math.fsum(amount[i] * one[i] for amount, one in parts) for i in range(3))


def parts_of(own, rows, watts, assumptions):
    """The rows of an option's hour: its own, and of a bought device all that is neither bought nor rented."""
    found = [own] + [row for row in rows if own["kind"] == "device" and row["kind"] not in ("device", "cloud")]
    made = [(row, amounts(row), each(row, watts, assumptions)) for row in found]
    return [part for part in made if math.isfinite(part[2][0])]


def cost(body, look):
    """What is wrong with a cost; None: nothing that shows here."""
    rows = body["prices"]["rows"]
    metrics = look.metrics(body["a"])
    if metrics is None:
        return "its result has no figures"
    for option in body["options"]:
        own = next((row for row in rows if row["line"] == option["line"]), None)
        if own is None or own["kind"] != option["kind"] or own["kind"] not in ("device", "cloud"):
            return "an option is of no row of its prices"
        parts = parts_of(own, rows, power(metrics), body["assumptions"])
        if [(row["line"], row["kind"]) for row, _, _ in parts] != [(p["line"], p["kind"]) for p in option["parts"]]:
            return "its parts are of other rows of its prices"
        for (row, amount, one), part in zip(parts, option["parts"]):
            if not alike(hour([(amount, one)]), part["hourly"]):
                return "an hour of line %d is another amount" % row["line"]
        hourly = hour([part[1:] for part in parts])
        if not alike(hourly, option["hourly"]):
            return "an hour is not the sum of its parts"
        known = [(name, rate(name, metrics)) for name in WORKS]
        known = [(name, range_) for name, range_ in known if range_[0] > 0]
        if [name for name, _ in known] != [figure["metric"] for figure in option["figures"]]:
            return "its work is counted by other metrics"
        for (name, made), figure in zip(known, option["figures"]):
            scale = WORKS[name] / (3600 * body["assumptions"]["utilisation"])
            if not alike(tuple(hourly[i] / made[k] * scale if made[k] else math.nan for i, k in enumerate((0, 2, 1))),
                         figure["cost"]):
                return "work by %s costs another amount" % name
            measured, priced = (math.log(x[2] / x[1]) if x[1] > 0 else math.nan for x in (made, hourly))
            share = measured / (measured + priced) if measured + priced > 0 else math.nan
            if not close(share, figure["measured_share"]):
                return "another share of its width is measured"
    return None


def enough(units, spares, availability):
    """The share of the time in which at most so many are out."""
    out, every = 1 - availability, units + spares
    return math.fsum(math.comb(every, k) * out ** k * availability ** (every - k) for k in range(spares + 1))


def plan(body, _):
    """What is wrong with a plan; None: nothing that shows here. Several units need Student's t, which is left out."""
    request, devices, spares = body["request"], body["devices"], body["spares"]
    demand, lowest = request["demand"] * request["growth"], number(body["units"][0]["capacity"]["lo"])
    if len(body["units"]) == 1 and lowest and devices != math.ceil(demand / lowest):
        return "the devices are not those that carry the demand"
    if devices is None or spares is None:
        return None if body["total"] is None else "a total of what is not known"
    if body["total"] != devices + spares:
        return "the total is not the sum"
    if devices + spares > LARGEST:
        return None
    wanted, slack = 1 - request["risk"], 1e-12
    if enough(devices, spares, request["availability"]) < wanted - slack or (
            spares > 0 and enough(devices, spares - 1, request["availability"]) >= wanted + slack):
        return "the spares are not the fewest that keep the risk"
    return None
