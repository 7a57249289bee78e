"""What costs and plans say, recomputed from the members of their own records (FORMAT.md, "Estimates")."""

import math

HOURS_A_YEAR = 8760
LARGEST = 10000  # units of a fleet whose chances are summed here


def number(value, otherwise=None):
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else otherwise


def close(mine, theirs):
    return number(theirs) is not None and math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-15)


def hour(row, amount, discount):
    """What a row costs an hour, for an amount of it; None: energy, for which the power is needed."""
    devices, years = number(row.get("covers_devices"), 1), number(row.get("term_months"), 12) / 12
    if row["unit"] == "each":
        factor = discount / (1 - (1 + discount) ** -years) if discount > 0 else 1 / years
        left = number(row.get("residual"), 0) * (1 + discount) ** -years
        return amount * (1 - left) * factor / devices / HOURS_A_YEAR
    return {"month": 12 * amount / devices / HOURS_A_YEAR, "hour": amount / devices}.get(row["unit"])


def cost(body):
    """What is wrong with a cost; None: nothing that shows here."""
    rows = {row["line"]: row for row in body["prices"]["rows"]}
    for option in body["options"]:
        for part in option["parts"]:
            row = rows.get(part["line"])
            if row is None or row["kind"] != part["kind"]:
                return "a part is of no row of its prices"
            for end, amount in (("value", row["amount"]), ("lo", number(row.get("amount_lo"), row["amount"])),
                                ("hi", number(row.get("amount_hi"), row["amount"]))):
                mine = hour(row, amount, body["assumptions"]["discount"])
                if mine is not None and not close(mine, part["hourly"][end]):
                    return "an hour of line %d is another amount" % part["line"]
        for end in ("value", "lo", "hi"):
            parts = [number(part["hourly"][end]) for part in option["parts"]]
            if None not in parts and not close(math.fsum(parts), option["hourly"][end]):
                return "an hour is not the sum of its parts"
    return None


def enough(units, spares, availability):
    """The share of the time in which at most so many are out."""
    out, every = 1 - availability, units + spares
    return math.fsum(math.comb(every, k) * out ** k * availability ** (every - k) for k in range(spares + 1))


def plan(body):
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


def wrong(kind, body):
    """What is wrong with a comparison of this kind, or None."""
    if kind not in ("cost", "plan"):
        return None
    try:
        return {"cost": cost, "plan": plan}[kind](body)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, AttributeError):
        return "a member that its figures rest on is missing or of another kind"
