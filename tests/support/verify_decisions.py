"""What acceptances and decisions say, recomputed from the estimates of the results that they judge: "Figures",
"Acceptances" and "Decisions" in results/FORMAT.md. A function says what is wrong, or None.
"""

import json
import math

import verify_body
import verify_figures
import verify_fleet
from verify_figures import UNKNOWN, alike, close, each, hour, number, range_of
from verify_student import student

VERSIONS = (17, 18, 19, 20, 21, 22, 23, 24, 25)  # of comparisons: the rules of this text
CONDITIONS = ("contention", "steal", "cgroup_throttled", "device_throttled", "device_shared")
CONDITIONS_FROM = 22  # the version of comparisons that tells them
UNDECIDED_FROM = 23  # that whose gates and acceptances decide nothing under them
STEADY = ("steady", "after_warmup", "after_slowdown", "serving")
PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9,
            "p": 1e-12}
TIMES = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
SHARES = {"": 1, "%": 0.01}
WORST = ("missed", "open", "met")
COSTS = {"cost_per_million_good_tokens": "good_token_rate", "cost_per_million_good_requests": "goodput",
         "cost_per_million_items": "item_rate", "cost_per_1000_iterations": "iteration_time",
         "cost_per_1e18_operations": "op_rate", "cost_per_petabyte": "byte_rate"}


# ---- what it rests on


class Results:
    """Results of a file by their ids, as far as it has them."""

    def __init__(self, verifier):
        self.ask = verifier.ask
        self.version = VERSIONS[-1]  # of the comparison that is looked at
        self.contents = dict(self.ask("SELECT digest, body FROM content"))
        self.cells = {}
        for row in self.ask("SELECT c.id, g.uid, c.ordinal, c.workload_name, c.precision, c.batch, c.implementation,"
                            " c.device_spec, c.protocol, g.plan FROM cell c JOIN campaign g ON g.id = c.campaign"
                            " ORDER BY c.ordinal"):
            cell = dict(zip(("id", "uid", "ordinal", "workload", "precision", "batch", "implementation", "device_spec",
                             "protocol", "plan"), row))
            self.cells["%s/%s" % (cell["uid"][:8], cell["ordinal"])] = cell
        self.bodies = {}
        for cell, body in self.ask("SELECT cell, body FROM claim") + self.ask("SELECT cell, body FROM estimate ORDER BY id"):
            self.bodies[cell] = body  # an estimate in place of a claim, and of several the newest
        self.estimated = {cell for (cell,) in self.ask("SELECT cell FROM estimate")}

    def content(self, digest):
        body = self.contents.get(digest)
        return None if body is None else json.loads(body)

    def body(self, result):
        cell = self.cells.get(result)
        text = cell and self.bodies.get(cell["id"])
        return json.loads(text) if text else {}

    def metrics(self, result):
        return self.body(result).get("metrics")

    def conditions(self, result):
        """The codes of those that its estimate has as findings."""
        found = [finding.get("code") for finding in self.body(result).get("findings") or ()]
        return [code for code in CONDITIONS if code in found]

    def devices(self, result):
        """The names of its devices; None: one of them is withheld."""
        names = {name for (name,) in self.ask(
            "SELECT d.name FROM trial t JOIN trial_device v ON v.trial = t.id JOIN device d ON d.id = v.device"
            " WHERE t.cell = ?", self.cells[result]["id"])}
        return names if all(names) else None

    def arm(self, result):
        """Its device and arm, of which a contract within a decision judges all."""
        cell = self.cells[result]
        cells = (self.content(cell["plan"]) or {}).get("cells") or [{}] * cell["ordinal"]
        spec = cells[cell["ordinal"] - 1].get("spec")
        arm = None if spec is None or len(cells) < 2 else spec.get("name") or "ba"[cell["ordinal"] % 2]
        return cell["device_spec"], arm

    def foreign(self, cell):
        """Whether another program than assay's own worker measured it: the last of its good trials, or of all."""
        trials = self.ask(
            "SELECT e.status = 'ok', e.facts, (SELECT count(*) FROM environment v JOIN reading_member m ON m.reading_set"
            " = v.readings JOIN reading r ON r.id = m.reading WHERE v.trial = t.id AND v.at = 'host' AND r.name ="
            " 'variable.ASSAY_WORKER') FROM trial t LEFT JOIN trial_end e ON e.trial = t.id WHERE t.cell = ?"
            " ORDER BY t.id", cell["id"])
        trials = [trial for trial in trials if trial[0]] or trials
        if not trials:
            return False
        facts = json.loads(trials[-1][1] or "{}")
        return trials[-1][2] > 0 and not (facts.get("conduct") or {}).get("checks")

    def fit(self, result):
        """Whether a decision may rest on it; None: what tells is withheld."""
        cell = self.cells[result]
        protocol = self.content(cell["protocol"])
        if protocol is None:
            return None
        return cell["id"] in self.estimated and protocol.get("evidence") is True and \
            self.body(result).get("verdict") in STEADY and not self.foreign(cell)

    def error(self, result):
        """The largest of the first output and measure that are compared by a distance."""
        found = self.ask("SELECT v.output, v.metric, v.error FROM verification v JOIN trial t ON t.id = v.trial WHERE"
                         " t.cell = ? AND v.metric IN ('normalised_rms', 'max_scaled') AND v.error IS NOT NULL ORDER BY"
                         " t.id, v.id", self.cells[result]["id"])
        return max((error for *name, error in found if name == list(found[0][:2])), default=math.nan)


def quantity(text, unit):
    """A written figure in its base unit."""
    digits, _, written = text.partition(" ")
    if unit in ("ns", "1"):
        return float(digits) * (TIMES if unit == "ns" else SHARES)[written]
    if written == unit:
        return float(digits)
    if not written.endswith(unit):
        raise ValueError("another unit")
    return float(digits) * PREFIXES[written[:-len(unit)].rstrip(" ")]


def at_most(count, units, share):
    """P(Bin(units, share) <= count)"""
    return math.fsum(math.comb(units, k) * share ** k * (1 - share) ** (units - k) for k in range(count + 1))


# ---- acceptances


def bounds(item, value, lo, hi, confidence, trials):
    """What the figure is no better and no worse than."""
    if trials < 2 or not 0 < lo <= value <= hi:
        return math.nan, math.nan
    df, lower = trials - 1, item["limit"] == "at_most"
    t = student(0.5 + confidence / 2, df)
    better = math.log(value / lo if lower else hi / value) / t * student(1 - item.get("alpha", 0.05), df)
    worse = math.log(hi / value if lower else value / lo) / t * student(1 - item.get("beta", 0.1), df)
    sign = -1 if lower else 1
    return value * math.exp(sign * better), value * math.exp(-sign * worse)


def judge_unit(look, result, item, levels, has_nonce, under):
    """(value, best, worst, trials, verdict) of a result, `under` conditions; None: what it rests on is withheld."""
    estimate, fit = look.body(result), look.fit(result)
    if fit is None:
        return None
    value, lo, hi = range_of((estimate.get("metrics") or {}).get(item["metric"]))
    trials = sum(number(trial.get("mean_ns")) is not None for trial in estimate.get("trials", ()))
    best, worst = bounds(item, value, lo, hi, number(estimate.get("confidence"), math.nan), trials)
    sign = -1 if item["limit"] == "at_most" else 1
    verdict = "rejected" if sign * (levels[0] - best) > 0 else "accepted" if sign * (worst - levels[1]) > 0 \
        else "inconclusive"
    disturbed = look.version >= UNDECIDED_FROM and not set(look.conditions(result)) <= set(under)
    if not fit or disturbed or not has_nonce or trials < item["trials"] or not math.isfinite(lo + hi):
        verdict = "inconclusive"
    return value, best, worst, trials, verdict


def of_units(item, verdicts):
    fleet, count = item.get("units"), len(verdicts)
    rejected, undecided = (sum(v == name for v in verdicts) for name in ("rejected", "inconclusive"))
    if fleet is None:
        return verdicts[0]
    if count < fleet["count"]:
        return "inconclusive"
    failing = 1 - fleet.get("declared", fleet["share"])
    if rejected and 1 - at_most(rejected - 1, count, failing) <= item.get("alpha", 0.05):
        return "rejected"
    if rejected + undecided < count and \
            at_most(rejected + undecided, count, 1 - fleet["share"]) <= 1 - fleet.get("confidence", 0.95):
        return "accepted"
    return "inconclusive"


def of_cell(look, result, wanted):
    """Whether a result is of the item's cell; None: a name of a device is withheld."""
    cell, names = look.cells[result], look.devices(result)
    if any(name in wanted and wanted[name] != cell[name] for name in ("workload", "precision", "batch", "implementation")):
        return False
    if wanted.get("device") in (None, cell["device_spec"]):
        return True
    return None if names is None else wanted["device"] in names


def judge_contract(look, contract, campaigns, like=None):
    """[(item, unit, levels, {result: its judgement}, verdict)] and that of all; None: something is withheld."""
    nonces, found = {}, []
    for uid in campaigns:
        mine = {result: cell for result, cell in look.cells.items() if cell["uid"] == uid}
        plan = look.content(next(iter(mine.values()))["plan"])
        if plan is None:
            return None
        for result in mine:
            if like is None or look.arm(result) == look.arm(like):
                nonces[result] = contract.get("nonce") in (None, plan.get("nonce"))
    for item in contract["items"]:
        of = {result: of_cell(look, result, item["cell"]) for result in nonces}
        if None in of.values():
            return None
        mine = [result for result in nonces if of[result]]
        unit = next(metric["unit"] for metric in ((look.metrics(result) or {}).get(item["metric"]) for result in mine)
                    if metric and metric.get("unit"))
        levels = [quantity(item[name], unit) for name in ("declared", "limiting")]
        units = {result: judge_unit(look, result, item, levels, nonces[result], contract.get("under", ())) for result in mine}
        if None in units.values():
            return None
        found.append((item, unit, levels, units, of_units(item, [judged[4] for judged in units.values()])))
    verdicts = [judged[4] for judged in found]
    verdict = "rejected" if "rejected" in verdicts else "accepted" if set(verdicts) == {"accepted"} else "inconclusive"
    return found, verdict


def is_digest_of(value, digest):
    return verify_body.sha256(verify_body.canonical(value).encode("utf-8", "surrogateescape")).hex() == digest


def accept(body, look):
    if not is_digest_of(body["contract"], body["contract_sha256"]):
        return "its contract is not the one that was judged by"
    for named in body["campaigns"]:
        plan = look.content(next(cell["plan"] for cell in look.cells.values() if cell["uid"] == named["campaign"]))
        if plan is not None and (named["planned"] != (plan.get("contract") == body["contract"]) or
                                 named["nonce"] != (body["contract"].get("nonce") in (None, plan.get("nonce")))):
            return "what is said of a plan is not so"
    made = judge_contract(look, body["contract"], [named["campaign"] for named in body["campaigns"]])
    if made is None:
        return None
    if len(made[0]) != len(body["items"]):
        return "it has other items than its contract"
    for (item, unit, levels, units, verdict), told in zip(made[0], body["items"]):
        if (told["metric"], told["unit"]) != (item["metric"], unit) or not all(
                close(mine, told[name]) for mine, name in zip(levels + [item.get("alpha", 0.05), item.get("beta", 0.1)],
                                                              ("declared", "limiting", "alpha", "beta"))):
            return "an item is not as its contract has it"
        if [one["result"] for one in told["units"]] != list(units):
            return "an item is judged by other results"
        for one, (value, best, worst, trials, mine) in zip(told["units"], units.values()):
            if one["trials"] != trials or not all(
                    close(x, one[name]) for x, name in ((value, "value"), (best, "best"), (worst, "worst"))):
                return "the bounds of %s are others" % one["result"]
            if look.version >= UNDECIDED_FROM and one.get("conditions", []) != look.conditions(one["result"]):
                return "the conditions of %s are others" % one["result"]
            if one["verdict"] != mine or (one["reason"] is None) != (mine != "inconclusive"):
                return "the verdict on %s is %s" % (one["result"], mine)
        counts = [sum(judged[4] == name for judged in units.values()) for name in ("rejected", "inconclusive")]
        if told["verdict"] != verdict or [told["rejected"], told["inconclusive"]] != counts:
            return "the verdict on an item is %s" % verdict
    return None if body["verdict"] == made[1] else "its verdict is %s" % made[1]


# ---- decisions


class Problem:
    """Options with their prices and figures, and the answer."""

    def __init__(self, names, lower, objectives, limits, margin):
        self.names, self.lower, self.objectives, self.limits, self.margin = names, lower, objectives, limits, margin
        self.results, self.prices, self.figures, self.besides = [], [], [], []

    def range(self, option, f):
        figure = self.figures[option][f]
        if not self.names[f].startswith("cost_"):
            return figure
        hourly = hour(self.prices[option].values())
        return tuple(hourly[i] * figure[i] for i in range(3))

    def excess(self, a, b, f):
        """The most by which a can be worse than b; each price is one for both."""
        (x, x_lo, x_hi), (y, y_lo, y_hi) = self.figures[a][f], self.figures[b][f]
        same = self.results[a] == self.results[b]
        if not math.isfinite(x_lo + x_hi + y_lo + y_hi):
            return math.nan
        if not self.names[f].startswith("cost_"):
            return 0 if same else x_hi - y_lo if self.lower[f] else y_hi - x_lo
        mine, other, total = self.prices[a], self.prices[b], 0
        most, least = (x, y) if same else (x_hi, y_lo)
        for line, (amount, one) in mine.items():
            weight = one[2] * most - (other[line][1][1] * least if line in other else 0)
            weight = 0 if same and line in other else weight
            total += weight * amount[2 if weight > 0 else 1]
        return total - sum(amount[1] * one[1] * least for line, (amount, one) in other.items() if line not in mine)

    def no_worse(self, a, b):
        """(whether a is shown to be no worse in all objectives, whether better in one)"""
        holds, better = True, False
        for f in self.objectives:
            most = self.excess(a, b, f)
            slack = self.margin * max(self.range(a, f)[0], self.range(b, f)[0])
            holds, better = holds and most <= slack, better or most < -slack
        return holds, better

    def met_of(self, option, limit):
        f, most, level = limit
        _, lo, hi = self.range(option, f)
        sign = 1 if most else -1
        worst, best = (hi, lo) if most else (lo, hi)
        return "met" if sign * worst <= sign * level else "missed" if sign * best > sign * level else "open"

    def answer(self):
        """(met of each limit of each option, met of each option, standings, verdict, who dominates whom)"""
        every = range(len(self.results))
        limits = [[self.met_of(i, limit) for limit in self.limits] for i in every]
        met = [min(limits[i] + self.besides[i] + ["met"], key=WORST.index) for i in every]
        shown = {(i, k): self.no_worse(i, k) for i in every for k in every if i != k}
        by = [[i for i in every if i != k and met[i] == "met" and shown[i, k] == (True, True)] for k in every]
        standings = ["infeasible" if met[k] == "missed" else "dominated" if by[k] else
                     "not_dominated" if all(any(shown[k, i]) for i in every if i != k and met[i] != "missed") else
                     "not_separable" for k in every]
        left = [met[i] for i in every if standings[i] == "not_dominated"]
        verdict = "open" if "not_separable" in standings or "open" in left else "none" if not left else \
            "decided" if len(left) == 1 else "trade_off"
        return limits, met, standings, verdict, by

    def scaled(self, change, factor, results):
        """The problem with one quantity so many times as large."""
        made = Problem(self.names, self.lower, self.objectives, list(self.limits), self.margin)
        made.results, made.besides = self.results, self.besides
        made.prices = [{line: (tuple(factor * x for x in amount), one) if change["what"] == "price" and
                        line == change["line"] else (amount, one) for line, (amount, one) in prices.items()}
                       for prices in self.prices]
        made.figures = [list(figures) for figures in self.figures]
        if change["what"] == "metric":
            for i, result in enumerate(self.results):
                for f, name in enumerate(self.names):
                    if result == results[change["option"]] and COSTS.get(name, name) == change["metric"]:
                        power = -1 if name in COSTS and change["metric"] != "iteration_time" else 1
                        made.figures[i][f] = tuple(x * factor ** power for x in self.figures[i][f])
        if change["what"] == "limit":
            f, most, level = made.limits[change["place"]]
            made.limits[change["place"]] = (f, most, level * factor)
        made.margin *= factor if change["what"] == "margin" else 1
        return made


def figure_of(name, look, option, unfit, assumptions):
    """A figure of a result; of a cost the hours that one unit of it takes."""
    if name == "cost_per_hour":
        return (1, 1, 1)
    if name in COSTS:
        metric = COSTS[name]
        made = verify_figures.rate(metric, look.metrics(option["result"]) or {})
        scale = verify_figures.WORKS[metric] / (3600 * assumptions["utilisation"])
        made = tuple(scale / made[i] for i in (0, 2, 1))
    elif name == "error":
        made = (look.error(option["result"]),) * 3
    else:
        made = range_of((look.metrics(option["result"]) or {}).get(name))
    return (made[0],) + (UNKNOWN[1:] if unfit else made[1:])


def prices_of(declared, told, look, rows, assumptions):
    """{line: (amounts, each)} of an option's hour; None: it has no such row."""
    names = {declared["item"]} if "item" in declared else look.devices(told["result"])
    own = next((row for row in rows if row["line"] == told["line"]), None)
    if own is None or own["kind"] not in ("device", "cloud") or declared.get("kind") not in (None, own["kind"]) or \
            names is not None and own["item"].lower() not in {name.lower() for name in names}:
        return None
    watts = verify_figures.power(look.metrics(told["result"]) or {})
    return {row["line"]: (amount, one) for row, amount, one in verify_figures.parts_of(own, rows, watts, assumptions)}


def unit_of(name, look, result, prices):
    if name.startswith("cost_"):
        return prices["currency"]
    return "" if name == "error" else look.metrics(result)[name]["unit"]


def limit_of(one, names, units):
    f, most = names.index(one["figure"]), "at_most" in one
    text = one["at_most" if most else "at_least"]
    if one["figure"].startswith("cost_") or one["figure"] == "error":
        return f, most, float(text.split(" ")[0])
    return f, most, quantity(text, units[f])


def decide(body, look):
    declared, told = body["decision"], body["options"]
    if not is_digest_of(declared, body["decision_sha256"]):
        return "its declaration is not the one that was decided by"
    needed = declared.get("requirements", [])
    names = list(dict.fromkeys(declared["objectives"] + [one["figure"] for one in needed if "figure" in one]))
    if [figure["name"] for figure in body["figures"]] != names or \
            [name for name, figure in zip(names, body["figures"]) if figure["objective"]] != \
            list(dict.fromkeys(declared["objectives"])):
        return "its figures are others than it declares"
    if [(option["name"], option["result"]) for option in told] != \
            [(option["name"], option["result"]) for option in declared["options"]]:
        return "its options are others than it declares"
    given, rows = declared.get("assumptions", {}), (body["prices"] or {}).get("rows")
    assumptions = {"discount": given.get("discount", 0), "pue": given.get("pue", 1), "utilisation": given.get("utilisation", 1)}
    units = [unit_of(name, look, told[0]["result"], body["prices"]) for name in names]
    lower = [name.startswith("cost_") or name == "error" or unit == "ns" or unit[:1] in "JW" for name, unit in zip(names, units)]
    if [(figure["unit"], figure["better"] == "lower") for figure in body["figures"]] != list(zip(units, lower)):
        return "a figure is better when it is worse, or has another unit"
    problem = Problem(names, lower,
                      [names.index(name) for name in declared["objectives"]],
                      [limit_of(one, names, units) for one in needed if "figure" in one], declared.get("margin", 0.01))
    for option, one in zip(declared["options"], told):
        fit = look.fit(one["result"])
        if fit is None:
            return None
        if (one["reason"] is None) != fit:
            return "%s %s" % (one["name"], "decides nothing" if one["reason"] is None else "decides")
        prices = {} if rows is None else prices_of(option, one, look, rows, assumptions)
        if prices is None:
            return "the price of %s is of another row" % one["name"]
        if rows is not None and not alike(hour(prices.values()), one["hourly"]):
            return "an hour of %s is another amount" % one["name"]
        besides = []
        for requirement in needed:
            if "contract" in requirement:
                made = judge_contract(look, requirement["contract"], [look.cells[one["result"]]["uid"]], one["result"])
                if made is None:
                    return None
                besides.append({"accepted": "met", "rejected": "missed"}.get(made[1], "open"))
        problem.results.append(one["result"])
        problem.prices.append(prices)
        problem.besides.append(besides)
        problem.figures.append([figure_of(name, look, one, not fit, assumptions) for name in names])
    return answered(body, problem, needed)


def answered(body, problem, needed):
    """What is wrong with the answer to a problem."""
    told, now = body["options"], problem.answer()
    limits, met, standings, verdict, by = now
    for i, one in enumerate(told):
        if not all(alike(problem.range(i, f), figure) for f, figure in enumerate(one["figures"])):
            return "a figure of %s is another" % one["name"]
        mine, besides = iter(zip(problem.limits, limits[i])), iter(problem.besides[i])
        for requirement, said in zip(needed, one["requirements"]):
            if "contract" in requirement:
                wanted, margin = next(besides), math.nan
            else:
                (f, most, level), wanted = next(mine)
                _, lo, hi = problem.range(i, f)
                margin = 1 - hi / level if most else lo / level - 1
            if said["verdict"] != wanted or not close(margin, said["margin"]):
                return "a requirement of %s is %s" % (one["name"], wanted)
        if (one["met"], one["standing"]) != (met[i], standings[i]) or \
                one["dominated_by"] != [told[k]["name"] for k in by[i]]:
            return "%s is %s" % (one["name"], standings[i].replace("_", " "))
    if body["verdict"] != verdict:
        return "its verdict is %s" % verdict
    results = {one["name"]: one["result"] for one in told}
    places = [i for i, one in enumerate(needed) if "figure" in one]
    for change in body["changes"]:
        if change["what"] == "limit":
            change = dict(change, place=places.index(change["requirement"]))
        beyond = 1 + (1e-7 if change["factor"] > 1 else -1e-7)
        _, _, then, verdict, _ = problem.scaled(change, change["factor"] * beyond, results).answer()
        moved = [{"option": told[i]["name"], "standing": then[i]} for i in range(len(told)) if then[i] != standings[i]]
        _, _, before, same, _ = problem.scaled(change, change["factor"] / beyond, results).answer()
        if (change["then"], change["verdict"]) != (moved, verdict) or (before, same) != (standings, now[3]):
            return "what would change it is something else"
    return None


# ---- conditions of comparisons


def wrong_conditions(body, look):
    """Whether a comparison of two results tells what was found on either that could turn it, and a gate obeys it."""
    results = [body.get("a"), body.get("b")]
    found = [look.conditions(result) for result in results]
    if body.get("conditions", []) != list(dict.fromkeys(found[0] + found[1])):
        return "its conditions are not those of its results"
    if look.version < UNDECIDED_FROM or "gate" not in body:
        return None
    gate = body["gate"]
    under = gate.get("under", [])
    if not isinstance(under, list) or under != [code for code in CONDITIONS if code in under]:
        return "what it was allowed to decide under are no conditions"
    beyond = [[code for code in codes if code not in under] for codes in found]
    wanted = [{"result": result, "conditions": codes} for result, codes in zip(results, beyond) if codes]
    if gate.get("undecided_by", []) != wanted:
        return "what keeps the gate from deciding is something else"
    return "it decides under conditions that it was not told to allow" if wanted and \
        gate.get("decision") in ("passes", "worse") else None


KINDS = {"cost": verify_figures.cost, "plan": verify_figures.plan, "accept": accept, "decide": decide,
         "fleet": verify_fleet.fleet}


def wrong(kind, body, look):
    """What is wrong with a comparison of one of these kinds, or None."""
    try:
        return KINDS[kind](body, look)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, AttributeError, StopIteration):
        return "a member that its figures rest on is missing or of another kind"
