"""The second verifier's part for cells and trials: see verify.py, and "Cells", "Trials" and "Checks" in
results/FORMAT.md. What needs a workload's formulas is left out: only assay has them.
"""

import hashlib
import json
import struct

import verify_body
import verify_schedule

PHASES = ["setup", "verify_before", "calibrate", "warmup", "window", "verify_after"]
CHECKED = ("verify_before", "verify_after")
WITHIN = "spot_check"

# What of a stored JSON object a column of a campaign or cell repeats.
CAMPAIGN = {"order_seed": "order_seed", "protocol_digest": "protocol"}
MACHINE = ("host.name", "host.architecture", "host.cpu.model", "host.cpu.online", "host.cpu.usable",
           "host.machine.product", "host.numa.nodes", "host.kernel.release")
TOOL = {"version": "tool_version", "digest": "tool_digest"}
CELL_OF_PLAN = {"protocol": "protocol_name", "protocol_digest": "protocol"}
CELL = {"ordinal": "ordinal", "workload": "workload_name", "workload_digest": "workload",
        "precision": "precision", "batch": "batch", "scenario": "scenario",
        "implementation": "implementation", "seed": "seed", "device": "device_spec"}
PROTOCOL = {"name": "protocol_name", "trials": "trials"}
WORKLOAD = {"workload": "workload_name", "kind": "kind"}
LOG = 9  # columns that each log of requests has
PIECES = "request:outputs", "request:first_outputs", "request:is_told"  # of endpoints, since 0.3.0


def rows(verifier, table):
    cursor = verifier.db.execute("SELECT * FROM %s" % table)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor]


def group(items, name):
    found = {}
    for item in items:
        found.setdefault(item[name], []).append(item)
    return found


def repeats(verifier, table, row, value, pairs):
    """Whether each column repeats the member; seeds use all 64 bits, and JSON's integers have a sign."""
    for member, column in pairs.items():
        stored, told = row[column], value.get(member)
        if isinstance(stored, bytes):
            stored = stored.hex()
        if isinstance(stored, str) and isinstance(told, int):
            told = str(told % (1 << 64))
        if stored != told:
            verifier.wrong("cell", table, row["id"], "%s is %s, and was to be %s" % (column, stored, told))


def data_seed(declared, plan):
    """The seed of a cell: the protocol's, or what it comes to with the nonce that the data answer."""
    nonce = plan.get("nonce")
    if nonce is None:
        nonce = (plan.get("reproduces") or {}).get("nonce")
    if nonce is None:
        return declared
    text = "assay-seed/1\n%d\n" % (declared % (1 << 64)) + nonce
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()[:8], "big")


class Content:
    """Stored JSON by digest; None: withheld."""

    def __init__(self, verifier):
        self.bodies = dict(verifier.ask("SELECT digest, body FROM content"))

    def read(self, digest):
        body = self.bodies.get(digest)
        return None if body is None else verify_body.strict(body)


def cells(verifier):
    content, imports = Content(verifier), {r[0] for r in verifier.ask("SELECT campaign FROM import")}
    of_campaign = group(sorted(rows(verifier, "cell"), key=lambda cell: cell["ordinal"]), "campaign")
    for campaign in rows(verifier, "campaign"):
        plan, mine = content.read(campaign["plan"]), of_campaign.get(campaign["id"], [])
        if campaign["id"] in imports and (plan is None or "imported" in plan):
            if any(cell["trials"] for cell in mine):
                verifier.wrong("cell", "campaign", campaign["id"], "trials of what another program measured")
            continue
        if plan is not None:
            version = dict(campaign, tool_version=campaign["tool_version"].split(" ", 1)[0])
            repeats(verifier, "campaign", version, plan, CAMPAIGN)
            repeats(verifier, "campaign", version, plan.get("tool", {}), TOOL)
            if len(plan.get("cells", ())) != len(mine) or not isinstance(plan.get("order"), list):
                verifier.wrong("cell", "campaign", campaign["id"], "its plan has other cells, or no order")
                plan = dict(plan, cells=[{}] * len(mine))
        for place, cell in enumerate(mine):
            if plan is not None:
                repeats(verifier, "cell", cell, plan, CELL_OF_PLAN)
                repeats(verifier, "cell", cell, plan["cells"][place], CELL)
            for column, pairs in (("protocol", PROTOCOL), ("workload", WORKLOAD)):
                declared = content.read(cell[column])
                if declared is not None:
                    repeats(verifier, "cell", cell, declared, pairs)
                    rates = declared.get("load", {}).get("rates", ())
                    shares = [rate for rate in rates if isinstance(rate, str)]
                    rates = ["server@" + (rate if rate in shares else "%.15g" % rate) for rate in rates]
                    rates += ["server@saturated"] if shares else []
                    if pairs is WORKLOAD and cell["scenario"] not in rates:
                        repeats(verifier, "cell", cell, declared, {"scenario": "scenario"})
                    if pairs is PROTOCOL and plan is not None:
                        repeats(verifier, "cell", cell, {"seed": data_seed(declared["seed"], plan)},
                                {"seed": "seed"})
                    for each in ("precision", "batch") if pairs is WORKLOAD else ():
                        if cell[each] not in declared.get(each + ("s" if each == "precision" else "es"), ()):
                            verifier.wrong("cell", "cell", cell["id"], "its %s is not declared" % each)


def decode(data):
    """The samples of a chunk (results/store/series.h)."""
    if data[:4] != b"ASF1" or data[5:8] != bytes(3):
        raise ValueError("no chunk of samples")
    width, (count, least) = data[4], struct.unpack(">Iq", data[8:20])
    if hashlib.sha256(data[:20] + data[28:]).digest()[:8] != data[20:28] or \
            not 1 <= count <= 1024 or len(data) != 28 + width * count or width > 8:
        raise ValueError("its checksum or length is wrong")
    return [least + int.from_bytes(data[28 + width * i:28 + width * (i + 1)], "big") for i in range(count)]


def series(verifier):
    """{trial: {name: (samples, sum)}}, all decoded."""
    found = {}
    for trial, name, first, count, least, most, total, data in verifier.chunks:
        number = "%s/%s/%s" % (trial, name, first)
        try:
            values = decode(data)
            fits = (count, least, most) == (len(values), min(values), max(values)) and \
                total == (sum(values) if abs(sum(values)) < 1 << 63 else None)
        except (ValueError, struct.error):
            fits, values = False, []
        if not fits:
            verifier.wrong("content", "series", number, "cannot be decoded, or is not what its row says")
        if not name.startswith("telemetry:") and least < (1 if name == "wall_ns" else -1):
            verifier.wrong("trial", "series", number, "holds %d" % least)
        before = found.setdefault(trial, {}).get(name, (0, 0))
        found[trial][name] = (before[0] + count, before[1] + sum(values))
        if name in ("wall_ns", "gap_ns", "device_ns"):
            found.setdefault((trial, name), []).extend(values)
    return found


MS = 1000000


def apart(monotonic, other, surplus_only=False):
    """By what share of it another clock disagrees, beyond 1 ms; None: there is no such clock."""
    if other is None or monotonic <= 0:
        return 0
    beyond = (other - monotonic if surplus_only else abs(other - monotonic)) - MS
    return max(beyond, 0) / monotonic


def clocks(seen, parts):
    """By what share of the window CLOCK_MONOTONIC and each other clock disagree."""
    harness, worker, rate = seen.get("clocks") or {}, seen.get("worker_clocks") or {}, seen.get("ticks_per_s")
    _, span, gaps, begin, end = parts["window"]
    elapsed, phase = seen.get("told_ns", 0) - seen.get("go_ns", 0), 0 if begin is None else end - begin

    def ticks(clock):
        return clock["ticks"] * 1e9 / rate if rate and clock.get("ticks") is not None else None
    return {
        "raw": max(apart(elapsed, harness.get("raw_ns")), apart(phase, worker.get("raw_ns"))),
        "tsc": max(apart(elapsed, ticks(harness)), apart(phase, ticks(worker))),
        "device": max(apart(elapsed, worker.get("device_ns"), True), apart(span - gaps, parts["device_ns"], True)),
    }


def date_ahead(date_ns, elapsed_ns):
    """By what share of it the date went further than CLOCK_MONOTONIC, beyond 1 ms; below 0: less far."""
    beyond = max(abs(date_ns - elapsed_ns) - MS, 0) / elapsed_ns if elapsed_ns > 0 else 0
    return beyond if date_ns > elapsed_ns else -beyond


def time_spent(seen, parts):
    """(window, samples with checks and reference loop, gaps) in ns; None: it is not known how the window was spent."""
    _, span, between, begin, end = parts["window"]
    checks = seen.get("window_checks_ns")
    if checks is None or begin is None or end <= begin or parts["log"] is not None:
        return None
    window, samples = end - begin, span - between
    told = samples + checks + (seen.get("reference_ns") or 0)
    return window, told, max(window - told, 0)


WITHHELD = {"withheld": True}  # in place of what the harness saw


def broken(protocol, seen, parts, checks, planned):
    """The clauses of its protocol that a trial breaks: "Conduct" in results/FORMAT.md."""
    if seen is None:
        return ["conduct"]
    withheld = seen == WITHHELD
    (warm, warm_ns, _, _, _), (count, span, gaps, begin, end) = parts["warmup"], parts["window"]
    warmup, window, spots = protocol["warmup"], protocol["window"], protocol.get("spot_checks", {})
    elapsed, full = seen.get("told_ns", 0) - seen.get("go_ns", 0), warm + count >= window["max_samples"]
    made, kernel = seen.get("spot_checks", 0), seen.get("kernel_ns")
    changed, unchanged_ns = seen.get("changed_samples") or 0, seen.get("unchanged_median_ns")
    least_ns = parts["median_ns"] if unchanged_ns is None else min(parts["median_ns"], unchanged_ns)
    dates = [parts["started_utc_ns"], seen.get("go_utc_ns"), seen.get("told_utc_ns")]
    ahead = [0, 0] if None in dates or min(dates) <= 0 else [
        date_ahead(dates[1] - dates[0], seen.get("go_ns", 0)), date_ahead(dates[2] - dates[1], elapsed)]
    spent, hot = time_spent(seen, parts), protocol["cache"]["state"] == "hot"
    rules = {
        "worker.identity": not withheld and planned is not None and seen.get("worker") != planned,
        "worker.stopped": (seen.get("stopped") or 0) > 0,
        "worker.cgroup": (seen.get("moved") or 0) > 0,
        "verification": not set(CHECKED) <= checks,
        "warmup.iterations": warm * parts["iterations"] < warmup["iterations"],
        "warmup.time": warm_ns < warmup["time_ns"],
        "window.min_samples": count < window["min_samples"] and not full and span < window["max_time_ns"],
        "window.time": span < window["time_ns"] and not full,
        "clock.gaps": hot and (spent[2] - 50 * MS > window.get("gaps", 0.2) * spent[0] if spent else
                               gaps - seen.get("spot_checks_ns", gaps) > span // 2 + 1000 * MS),
        "clock.checks": hot and spent is not None and spent[1] > spent[0] + MS,
        "spot_checks.least": (WITHIN not in checks if withheld else made < spots.get("least", 0)) and
        spots.get("least", 0) > 0 and not parts["endpoint"],
        "spot_checks": (made > 0 or changed > 0) and WITHIN not in checks or parts["log"] is None and changed > count,
        "spot_checks.time": made >= 3 and parts["log"] is None and
        ((seen.get("checked_least_ns") or 0) - MS / 10) * parts["iterations"] > 50 * least_ns > 0,
        "clock.result": parts["log"] is None and
        ((seen.get("read_back_ns") or 0) - MS / 10 > 0.2 * parts["median_ns"] > 0 or
         (seen.get("read_within") or 0) > count),
        "clock.date": min(ahead) > 0.01 or max(ahead) < -0.01,
        "clock.kernel": kernel is not None and abs(elapsed - kernel) > elapsed // 1000 + MS,
        "clock.window": begin is None or not withheld and (
            begin < seen["go_ns"] - MS or end > seen["told_ns"] + MS) or
        span > end - begin + MS or
        (parts["log"] is None and span < (end - begin) - (end - begin) // 50 - (50 if spent else 500) * MS),
    }
    rules.update(("clock." + name, share > 0.01) for name, share in clocks(seen, parts).items())
    if parts["log"] is not None:  # of a server, whose steps need not fill the window
        for clause in ("window.min_samples", "window.time", "clock.gaps"):
            del rules[clause]
        wanted = parts["traced"] or protocol.get("serving", {}).get("requests", 0)
        log = {name: count for name, count in parts["log"].items() if name not in PIECES}
        rules["serving.requests"] = list(log.values()) != [wanted] * LOG
    return [clause for clause, breaks in rules.items() if breaks]


class Trials:
    def __init__(self, verifier):
        self.verifier = verifier
        self.ends = {end["trial"]: end for end in rows(verifier, "trial_end")}
        self.cells = {cell["id"]: cell for cell in rows(verifier, "cell")}
        self.campaigns = {campaign["id"]: campaign for campaign in rows(verifier, "campaign")}
        self.trials = sorted(rows(verifier, "trial"), key=lambda trial: trial["id"])
        self.phases = group(sorted(rows(verifier, "phase"), key=lambda phase: phase["id"]), "trial")
        self.checks = group(rows(verifier, "verification"), "trial")
        self.devices = dict((r[0], r[1:]) for r in verifier.ask(
            "SELECT t.trial, d.backend, d.device_index FROM trial_device t JOIN device d ON d.id = t.device"))
        self.surroundings = set(verifier.ask("SELECT trial, at FROM environment"))
        self.stacks = set(verifier.ask("SELECT DISTINCT trial, at FROM trial_stack"))
        self.programs = group([dict(zip(("trial", "kind", "sha256"), row)) for row in verifier.ask(
            "SELECT DISTINCT s.trial, c.kind, c.sha256 FROM trial_stack s JOIN stack_member m ON m.stack ="
            " s.stack JOIN component c ON c.id = m.component")], "trial")
        self.foreign = {row[0] for row in verifier.ask(
            "SELECT e.trial FROM environment e JOIN reading_member m ON m.reading_set = e.readings JOIN"
            " reading r ON r.id = m.reading WHERE e.at = 'host' AND r.name = 'variable.ASSAY_WORKER'")}
        self.last_planned = dict(verifier.ask("SELECT campaign, max(sequence) FROM planned_trial GROUP BY campaign"))
        self.series, self.content = series(verifier), Content(verifier)
        self.chosen = {cell: (self.content.read(digest) or {}).get("iterations_per_sample") for cell, digest in
                       verifier.ask("SELECT cell, content FROM choice")}

    def wrong(self, table, key, message):
        self.verifier.wrong("trial", table, key, message)

    def run(self):
        last = {}
        for trial in self.trials:
            end = self.ends.get(trial["id"])
            before = last.get(trial["campaign"])
            if before is not None and trial["started_utc_ns"] < before:
                self.wrong("trial", trial["id"], "began before the one before it had ended")
            last[trial["campaign"]] = end and end["ended_utc_ns"]
            campaign = self.campaigns.get(trial["campaign"])
            if campaign and trial["started_utc_ns"] < campaign["created_utc_ns"]:
                self.wrong("trial", trial["id"], "began before it was planned")
            if campaign and trial["started_utc_ns"] < campaign["created_utc_ns"] + self.round_ns(trial, campaign) - 10**9:
                self.wrong("trial", trial["id"], "began before its round")
            if end and end["ended_utc_ns"] < trial["started_utc_ns"]:
                self.wrong("trial_end", trial["id"], "ended before it began")
            for at in ("host", "before", "after"):
                if end and not end["orphan"] and (trial["id"], at) not in self.surroundings:
                    self.wrong("trial", trial["id"], "has no readings of its surroundings: " + at)
            phases = [phase["end_ns"] for phase in self.phases.get(trial["id"], ())]
            if end and end["status"] == "ok" and phases and \
                    end["ended_utc_ns"] - trial["started_utc_ns"] < max(phases) * 0.99 - 1e8:
                self.verifier.notes.append(("trial", trial["id"], "took less time by the date than its phases"))
            if trial["id"] not in self.foreign:
                self.own(trial)
            if end:
                self.ended(trial, end)
        self.all_checks()
        self.others()
        self.one_device()
        self.alike()
        self.heads()

    def heads(self):
        """A campaign's head is dated between what its run entered before it and after it."""
        heads = group([dict(zip(("id", "log", "leaf", "utc_ns", "campaign"), row)) for row in self.verifier.ask(
            "SELECT c.id, c.log, c.size, c.utc_ns, g.record FROM checkpoint c JOIN campaign g ON g.id = c.campaign")],
                      "campaign")
        bodies = {(record.log, record.leaf): record.body for record in self.verifier.records if record.type in DATED}
        for campaign, log, leaf, kind in self.verifier.ask(
                "SELECT a.campaign, r.log, r.leaf, r.type FROM about a JOIN record r ON r.id = a.record"):
            utc_ns = json.loads(bodies[log, leaf]).get(DATED[kind]) if (log, leaf) in bodies else None
            for head in heads.get(campaign, ()) if isinstance(utc_ns, int) else ():
                if head["log"] == log and (utc_ns > head["utc_ns"] if leaf < head["leaf"] else
                                           kind == "trial_begin" and utc_ns < head["utc_ns"]):
                    self.verifier.wrong("complete", "checkpoint", head["id"], "is not dated between the records around it")

    def one_device(self):
        """The trials of a result are of one device."""
        used = {}
        for cell, *device in self.verifier.ask(
                "SELECT t.cell, d.backend, d.device_index, d.name, d.vendor, d.uuid FROM trial t JOIN trial_end e ON"
                " e.trial = t.id AND e.status = 'ok' JOIN trial_device x ON x.trial = t.id JOIN device d ON"
                " d.id = x.device"):
            used.setdefault(cell, set()).add(tuple(device))
        for cell, devices in used.items():
            if len(devices) > 1:
                self.wrong("cell", cell, "its trials are of several devices")

    def alike(self):
        """No two trials measure the same times, one by one."""
        seen = {}
        for trial, name, first, count, least, most, _total, data in self.verifier.chunks:
            if name == "wall_ns" and count >= 20 and most - least >= 1000 and trial not in self.foreign and \
                    seen.setdefault((first, data), trial) != trial:
                self.wrong("trial", trial, "has samples of trial %d" % seen[first, data])

    def own(self, trial):
        ended, place = 0, -1
        for phase in self.phases.get(trial["id"], ()):
            here = PHASES.index(phase["name"]) if phase["name"] in PHASES else -1
            if phase["begin_ns"] < ended or here <= place:
                self.wrong("phase", phase["id"], "is out of order")
            ended, place = phase["end_ns"], here
        cell, device = self.cells.get(trial["cell"]), self.devices.get(trial["id"])
        if cell and device and device != (cell["backend"], cell["device_index"]):
            self.wrong("trial", trial["id"], "ran on another device than its cell's")

    def ended(self, trial, end):
        number, ok = trial["id"], end["status"] == "ok"
        if end["exit_code"] is not None and end["signal"] is not None:
            self.wrong("trial_end", number, "ended by exit and by signal")
        if not ok:
            return
        window, samples = end["window_first"], end["samples"]
        if end["signal"] is not None or end["exit_code"] is None or end["orphan"] or \
                end["message"] is not None or (end["iterations_per_sample"] or 0) < 1 or \
                window is None or samples is None or not 0 <= window < samples:
            self.wrong("trial_end", number, "is ok, and its end says otherwise")
        for at in ("window_start", "window_end"):
            if (number, at) not in self.stacks:
                self.wrong("trial", number, "is ok without mapped files at " + at)
        if number not in self.foreign:
            self.own_ok(trial, samples)
            if self.planned(trial) not in (None, self.campaigns[trial["campaign"]]["tool_digest"].hex()):
                self.wrong("trial", number, "the plan names another program, and its readings do not")
        protocol = self.content.read(self.cells[trial["cell"]]["protocol"])
        facts = json.loads(end["facts"] or "{}")
        seen = facts.get("conduct") or {}
        if seen.get("checks") == "assay" and seen.get("outputs_checked", 0) < 2 + seen.get("spot_checks", 0):
            self.wrong("trial", number, "its checks are said to be assay's own, and too few outputs were compared")
        planned = self.planned(trial)
        if protocol is not None:
            seen = WITHHELD if "withheld" in facts else facts.get("conduct")
            for clause in broken(protocol, seen, self.stretch(trial, end),
                                 {check["phase"] for check in self.checks.get(number, ())}, planned):
                self.wrong("trial", number, "is ok, and breaks its protocol: " + clause)

    def round_ns(self, trial, campaign):
        """When the trial's round begins, after the plan, under a protocol that spreads rounds; 0: at once."""
        spread = (self.content.read(campaign["protocol"]) or {}).get("spread_ns") or 0
        cells = sum(cell["campaign"] == campaign["id"] for cell in self.cells.values())
        last = (self.last_planned.get(campaign["id"], 1) - 1) // cells
        return int(spread * ((trial["sequence"] - 1) // cells) / last) if last > 0 else 0

    def planned(self, trial):
        """SHA-256 of the program that was to measure; None: the plan does not say."""
        campaign, ordinal = self.campaigns[trial["campaign"]], self.cells[trial["cell"]]["ordinal"]
        if "programs" not in campaign:
            plan = self.content.read(campaign["plan"]) or {}
            campaign["programs"] = {at: (cell.get("worker") or {}).get("program")
                                    for at, cell in enumerate(plan.get("cells", ()), 1)}
            campaign["worker"] = plan.get("worker")
        return campaign["programs"].get(ordinal) or campaign["worker"]

    def stretch(self, trial, end):
        """What conduct.h calls the parts: {"warmup": (samples, ns, gaps, begin, end), "window": ...}."""
        number, cell = trial["id"], trial["cell"]
        phases, found = {phase["name"]: phase for phase in self.phases.get(number, ())}, {}
        wall, gap = (self.series.get((number, name), []) for name in ("wall_ns", "gap_ns"))
        first = end["window_first"]
        for name, walls, gaps in (("warmup", wall[:first], gap[:first]), ("window", wall[first:], gap[first + 1:])):
            phase, between = phases.get(name), sum(ns for ns in gaps if ns > 0)
            found[name] = (len(walls), sum(walls) + between, between,
                           phase and phase["begin_ns"], phase and phase["end_ns"])
        log = {name: count for name, (count, _) in self.series.get(number, {}).items() if name.startswith("request:")}
        served = self.cells[cell]["scenario"].startswith("server@")
        walls = sorted(wall[first:])
        device = sum(ns for ns in self.series.get((number, "device_ns"), [])[first:] if ns > 0)
        workload = self.content.read(self.cells[cell]["workload"]) if served else None
        traced = ((workload or {}).get("load") or {}).get("arrivals", {}).get("requests")
        return dict(found, traced=traced, iterations=end["iterations_per_sample"], log=log if served else None, device_ns=device,
                    median_ns=walls[len(walls) // 2] if walls else 0, endpoint=self.cells[cell]["kind"] == "endpoint", started_utc_ns=trial["started_utc_ns"])

    def own_ok(self, trial, samples):
        number, mine = trial["id"], self.series.get(trial["id"], {})
        phases = {phase["name"]: phase for phase in self.phases.get(number, ())}
        if set(phases) & set(PHASES) != set(PHASES):
            self.wrong("trial", number, "is ok without all phases")
        else:
            span = phases["window"]["end_ns"] - phases["warmup"]["begin_ns"]
            if sum(mine.get(name, (0, 0))[1] for name in ("wall_ns", "gap_ns")) > span:
                self.wrong("trial", number, "its samples take longer than warmup and window")
        chosen = self.chosen.get(trial["cell"])
        if chosen not in (None, self.ends[number]["iterations_per_sample"]) and \
                not self.cells[trial["cell"]]["scenario"].startswith("server@"):
            self.wrong("trial", number, "has samples of another number of iterations than was chosen")
        for phase in CHECKED:
            if phase not in {check["phase"] for check in self.checks.get(number, ())}:
                self.wrong("trial", number, "is ok without a check in " + phase)
        if number not in self.devices:
            self.wrong("trial", number, "is ok without a device")
        if "gap_ns" not in mine:
            self.wrong("trial", number, "is ok without gap_ns")
        for name, (count, _) in mine.items():
            if not name.startswith(("telemetry:", "request:")) and count != samples:
                self.wrong("trial", number, "has another number of values of " + name)
        digest = self.campaigns[trial["campaign"]]["tool_digest"]
        if not any(file["sha256"] == digest or (file["kind"] == "executable" and file["sha256"] is None)
                   for file in self.programs.get(number, ())):
            self.wrong("trial", number, "no mapped file is the program that its campaign names")

    def all_checks(self):
        content, compared = self.content, set()
        cell_of = {trial["id"]: trial["cell"] for trial in self.trials}
        for number in sorted(self.checks):
            ok = number in self.ends and self.ends[number]["status"] == "ok"
            cell = self.cells.get(cell_of.get(number))
            for check in self.checks[number]:
                error, tolerance = check["error"], check["tolerance"]
                within = error is not None and check["error_text"] is None and error <= tolerance
                if check["passed"] and not (within and check["compared"] > 0):
                    self.wrong("verification", check["id"], "passed, and its error is beyond its tolerance")
                if not check["passed"] and within and error < tolerance and number not in self.foreign:
                    self.wrong("verification", check["id"], "failed, and its error is within its tolerance")
                if not check["passed"] and ok:
                    self.wrong("verification", check["id"], "failed in a trial that is ok")
                if check["phase"] not in CHECKED + (WITHIN,):
                    self.wrong("verification", check["id"], "is of no phase with checks")
                if check["metric"] == "same_bits":
                    protocol = content.read(cell["protocol"]) if cell else None
                    if error != 0 or tolerance != 0 or check["output"] != "outputs" or cell_of.get(number) not in compared or \
                            (protocol or {}).get("verification") == "each_trial":
                        self.wrong("verification", check["id"], "no earlier trial explains it")
            if ok and any(check["metric"] != "same_bits" and check["phase"] in CHECKED
                          for check in self.checks[number]):
                compared.add(cell_of.get(number))

    def others(self):
        for phases in self.phases.values():
            for phase in phases:
                if phase["begin_ns"] < 0 or phase["end_ns"] < phase["begin_ns"]:
                    self.wrong("phase", phase["id"], "ends before it begins")
        for number, campaign in self.campaigns.items():
            if campaign["tool_digest"] == bytes(32):
                self.wrong("campaign", number, "names no program")
        states = dict(self.verifier.ask("SELECT campaign, event FROM campaign_event WHERE event NOT IN"
                                        " ('archived', 'restored') ORDER BY id"))
        estimated = {row[0] for row in self.verifier.ask("SELECT cell FROM estimate")}
        measured = {trial["cell"] for trial in self.trials
                    if self.ends.get(trial["id"], {}).get("status") == "ok"}
        for number, cell in self.cells.items():
            if number in measured - estimated and \
                    states.get(cell["campaign"]) in ("finished", "interrupted"):
                self.wrong("cell", number, "has trials that are ok, and no estimate")
            if cell["device_index"] is not None and \
                    cell["device_spec"] != "%s:%d" % (cell["backend"], cell["device_index"]):
                self.wrong("cell", number, "its device is not of its backend")


def name_of(path, kind):
    """What a file is called whatever its version and folder; None: nothing, or a compiled kernel."""
    base = path.rpartition("/")[2]
    if "/" not in path or (kind in ("library", "executable") and (
            "/kcache/" in path or "/.cache/" in path or ("/pocl/" in path and not base.startswith("libpocl-")))):
        return None
    if kind in ("library", "executable"):
        return "library." + base.partition(".so")[0]
    family = "pocl" if "/share/pocl/" in path else kind
    return family + "." + (base.partition(".ko")[0] if kind == "driver" else base)


class Stacks:
    """What of a trial's surroundings is the same in all that are ok of a cell."""

    def __init__(self, verifier):
        self.verifier, self.sets, self.stacks = verifier, {}, {}

    def variables(self, readings):
        if readings not in self.sets:
            self.sets[readings] = {
                name[9:]: json.loads(body).get("value") for name, body in self.verifier.ask(
                    "SELECT r.name, r.body FROM reading_member m JOIN reading r ON r.id = m.reading WHERE"
                    " m.reading_set = ? AND r.name GLOB 'variable.*'", readings)
                if not name[9:].startswith("ASSAY_") or name[9:].startswith("ASSAY_LIB_") or name[9:] == "ASSAY_CC"}
        return self.sets[readings]

    def machine(self, readings):
        return {name: json.loads(body).get("value") for name, body in self.verifier.ask(
            "SELECT r.name, r.body FROM reading_member m JOIN reading r ON r.id = m.reading WHERE m.reading_set = ?",
            readings) if name in MACHINE}

    def files(self, stacks):
        if stacks not in self.stacks:
            found = self.stacks[stacks] = {}
            for stack in stacks:
                for path, kind, *values in self.verifier.ask(
                        "SELECT c.path, c.kind, c.sha256, c.build_id, c.version FROM stack_member m JOIN component c"
                        " ON c.id = m.component WHERE m.stack = ?", stack):
                    mapped = kind in ("library", "executable")
                    known = [value for value in values[:1 if mapped else 3] if value is not None]
                    found.setdefault(name_of(path, kind), set()).add(known[0] if known else None)
            found.pop(None, None)
        return self.stacks[stacks]

    def run(self):
        first = {}
        for cell, trial, readings in self.verifier.ask(
                "SELECT t.cell, t.id, n.readings FROM trial t JOIN trial_end e ON e.trial = t.id AND e.status = 'ok'"
                " JOIN environment n ON n.trial = t.id AND n.at = 'host' ORDER BY t.cell, t.sequence, t.attempt"):
            stacks = tuple(row[0] for row in self.verifier.ask(
                "SELECT DISTINCT stack FROM trial_stack WHERE trial = ? ORDER BY stack", trial))
            (was, had) = first.setdefault(cell, (readings, stacks))
            for name, one, two in self.other(was, readings, had, stacks):
                self.verifier.wrong("trial", "cell", cell, "%s was %s, and is %s in trial %d" % (name, one, two, trial))

    def other(self, was, now, had, has):
        """(name, value, value) of what differs."""
        if was != now:
            one, two = self.machine(was), self.machine(now)
            for name in set(one) & set(two):
                if None not in (one[name], two[name]) and one[name] != two[name]:
                    yield name, one[name], two[name]
            one, two = self.variables(was), self.variables(now)
            for name in set(one) | set(two):
                values = [side.get(name) for side in (one, two)]
                withheld = any(name in side and side[name] is None for side in (one, two))
                if not withheld and values[0] != values[1]:
                    yield name, *values
        if had != has:
            one, two = self.files(had), self.files(has)
            for name in set(one) & set(two):
                before, after = one[name] - two[name], two[name] - one[name]
                if before and after and None not in one[name] | two[name]:
                    yield name, before, after


# What the run of a campaign enters, and the date of it.
DATED = {"choice": "created_utc_ns", "doctor": "utc_ns", "dump": "utc_ns", "estimate": "created_utc_ns", "event": "utc_ns",
         "trial": "ended_utc_ns", "trial_begin": "started_utc_ns"}

WORDS = {"event": ("event", "planned started resumed interrupted finished failed imported archived restored"),
         "checkpoint": ("kind", "plan resume end bundle request"), "signature": ("role", "author witness"),
         "declaration": ("kind", "workload protocol suite trace"), "doctor": ("worst", "critical warning info none")}


def told(verifier):
    """Members with defined words, and those that follow from what a record refers to."""
    for record in verifier.records:
        name, words = WORDS.get(record.type, (None, ""))
        if name and json.loads(record.body).get(name) not in words.split():
            verifier.wrong("complete", "record", record.key, "its %s is a word that is not known" % name)
    content = Content(verifier)
    for row in rows(verifier, "declaration"):
        body = content.read(row["digest"])
        if body and isinstance(body.get(row["kind"]), str) and \
                (body[row["kind"]], body.get("version", row["version"])) != (row["name"], row["version"]):
            verifier.wrong("complete", "declaration", row["id"], "has another name or version than its content")
    for row in rows(verifier, "device"):
        if row["backend"] == "null" and not row["simulated"]:
            verifier.wrong("complete", "device", row["id"], "is of the null backend, and not simulated")
    order = WORDS["doctor"][1].split()
    for row in rows(verifier, "doctor"):
        found = [order.index(entry["severity"]) for entry in (content.read(row["body"]) or {}).get("findings", ())
                 if entry.get("severity") in order]
        if row["worst"] in order and min(found, default=3) < order.index(row["worst"]):
            verifier.wrong("complete", "doctor", row["id"], "is less severe than one of its findings")
    estimates = group(rows(verifier, "estimate"), "cell")
    for row in rows(verifier, "comparison"):
        if row["kind"] == "baseline" and estimates.get(row["a"]):
            body = json.loads(row["body"])
            numbers = [json.loads(entry["body"]).get("metrics", {}).get(body.get("metric"), {})
                       for entry in estimates[row["a"]]]
            if not any(all(entry.get(name) == body.get(name) for name in ("value", "lo", "hi")) for entry in numbers):
                verifier.wrong("complete", "comparison", row["id"], "no estimate has the numbers of this baseline")


def check(verifier):
    cells(verifier)
    told(verifier)
    Trials(verifier).run()
    Stacks(verifier).run()
    verify_schedule.check(verifier, Content(verifier), decode)
