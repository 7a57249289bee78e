#!/usr/bin/env python3
"""The whole tool under load, against theory: queues with declared service times on the null backend.

    ASSAY=build/release/bin/assay tests/calibration/serving_machine.py [--service 1] [--loads 0.5,0.8,0.9] [--repeats N]

M/M/1 and M/D/1: the mean and p90 of the time from the scheduled moment, and the share of requests within the
exact p90, which is 0.9. Each row is one campaign of five trials, as long as the plan asks for (100 relaxation
times). What the machine adds is in the figures: `late` and a mean above theory are its doing where processors are
taken away. A campaign is a row; after them, of each case, the campaigns whose load was delivered and how many of the
intervals that they gave cover. Exit status 1: of all of these intervals so few cover that a share of 93.5 % explains it
in less than one of a thousand cases.
"""

import argparse
import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
from decimal import Decimal, getcontext

ASSAY = os.path.abspath(os.environ.get("ASSAY", "assay"))
TRIALS = 5
SHARE = 0.9
PROMISED = 0.935
QUEUES = {"exponential": "M/M/1", "deterministic": "M/D/1"}
WORKLOAD = """workload: queue
version: 1
kind: synthetic
description: A queue whose latencies are known
scenario: server
synthetic: {launches: 1, elements: 64}
service: {base: %(service)dns, distribution: %(law)s}
load: {arrivals: {process: poisson}, capacity: %(capacity).9g, rates: [%(load)gx]}
batching: {policy: deadline, max_batch: 1, queue: 100000}
slo: {e2e: %(limit)dns, attain: %(share)g, failures: 0}
"""
PROTOCOL = """extends: serving_look
name: queue
version: 1
trials: %(trials)d
warmup: {iterations: 400, time: 1ms} # the plan takes the capacity from it: draws of few services are another queue's
serving: {requests: %(requests)d, drain: 30s}
window: {max_samples: 10000000}
telemetry: {interval: 0s}
trial_timeout: 600s
"""


def waits_deterministic(load, at):
    """P(wait <= at services) of M/D/1 (Erlang 1909; Tijms, A First Course in Stochastic Models (2003), 9.2)."""
    total, x, rho = Decimal(0), Decimal(at), Decimal(load)
    for k in range(int(at) + 1):
        u = rho * (k - x)
        total += u ** k * (-u).exp() / math.factorial(k) if k or u else Decimal(1)
    return (1 - rho) * total


def theory(law, load):
    """Mean and p90 of the time in the system, in services."""
    if law == "exponential":
        return 1 / (1 - load), -math.log(1 - SHARE) / (1 - load)
    low, high = 0.0, 100.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if waits_deterministic(load, middle) < SHARE else (low, middle)
    return 1 + load / (2 * (1 - load)), 1 + high


def requests(load, relaxations):
    """Of a trial: the warmup of five relaxation times, and its part of the window, with a tenth to spare. As the plan, which
    does not know the law, takes them."""
    relaxation = 1 / (1 - math.sqrt(load)) ** 2 + 1
    return math.ceil(1.1 * (relaxations / TRIALS + 10) * relaxation * load)


def measure(law, load, service_ns, folder, relaxations, nonce):
    mean, p90 = (value * service_ns for value in theory(law, load))
    names = dict(law=law, load=load, service=service_ns, capacity=1e9 / service_ns, limit=round(p90), share=SHARE,
                 trials=TRIALS, requests=requests(load, relaxations))
    for name, text in ("queue.yaml", WORKLOAD), ("protocol.yaml", PROTOCOL):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text % names)
    database = os.path.join(folder, f"{law}-{load}-{nonce}.db")
    done = subprocess.run([ASSAY, "run", "./queue.yaml", "--protocol", "./protocol.yaml", "--device", "null:0",
                           "--nonce", nonce, "--db", database, "--json", "--quiet"],
                          cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    with sqlite3.connect(database) as db:
        body = json.loads(db.execute("SELECT body FROM estimate").fetchone()[0])
    serving, means = body["serving"], [trial["mean_ns"] for trial in body["trials"]]
    return {"law": law, "load": load, "requests": names["requests"], "mean": (mean, sum(means) / len(means)),
            "p90": (p90, serving["percentiles"]["e2e"]["p90"]), "slo": serving["slo"], "plan": serving["plan"],
            "delivered": serving["load"]["verdict"], "queue": serving["queue"]["verdict"],
            "lag": serving["load"]["lag_p999_ns"]}


def covers(interval, value):
    return None if interval["lo"] is None or interval["hi"] is None else interval["lo"] <= value <= interval["hi"]


def row(found):
    words = {True: "covers", False: "**does not cover**", None: "refused"}
    p90, measured = found["p90"]
    slo = found["slo"]
    said = [words[covers(measured, p90)], words[covers(slo, SHARE)]]
    spread = lambda i, unit: "-" if i["lo"] is None or i["hi"] is None else \
        f"{i['lo'] / unit:.3g} to {i['hi'] / unit:.3g}"  # noqa: E731
    print(f"| {QUEUES[found['law']]}, load {found['load']:g}, {TRIALS} x {found['requests']} requests |"
          f" {found['mean'][0] / 1e6:.3f} |"
          f" {found['mean'][1] / 1e6:.3f} | {p90 / 1e6:.3f} | {measured['value'] / 1e6:.3f} ({spread(measured, 1e6)})"
          f" {said[0]} | {slo['attainment']:.4f} ({spread(slo, 1)}) {said[1]} | {found['delivered']},"
          f" {found['queue']} | {found['lag'] / 1e3:.3g} |", flush=True)
    return found["delivered"], said


def count(rows):
    """(covered, given) of p90 and attainment, of the campaigns whose load was delivered; and their number."""
    delivered = [said for verdict, said in rows if verdict == "delivered"]
    given = [[one[i] for one in delivered if one[i] != "refused"] for i in range(2)]
    return [(sum(one == "covers" for one in words), len(words)) for words in given], len(delivered)


def explained(covered, given):
    """Whether so few of the intervals are chance, if 93.5 % cover."""
    return sum(math.comb(given, k) * PROMISED ** k * (1 - PROMISED) ** (given - k) for k in range(covered + 1)) > 0.001


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--service", type=float, default=1, help="mean service time in ms (default: 1)")
    parser.add_argument("--loads", default="0.5,0.8,0.9")
    parser.add_argument("--laws", default="exponential,deterministic")
    parser.add_argument("--relaxations", type=float, default=10 / (1 - SHARE), help="of all trials of a row")
    parser.add_argument("--repeats", type=int, default=1, help="campaigns of each row, with arrivals of their own")
    options = parser.parse_args()
    getcontext().prec = 80
    counts = []
    print("| case | mean by theory, ms | measured | p90 by theory, ms | measured | within the exact p90 | verdicts |"
          " lag p99.9, us |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for law in options.laws.split(","):
            for load in options.loads.split(","):
                rows = [row(measure(law, float(load), round(options.service * 1e6), folder, options.relaxations,
                                    str(number))) for number in range(options.repeats)]
                counts.append((f"{QUEUES[law]}, load {load}", len(rows), *count(rows)))
    counts.append(("all of these", sum(one[1] for one in counts),
                   [tuple(sum(one[2][i][k] for one in counts) for k in range(2)) for i in range(2)],
                   sum(one[3] for one in counts)))
    print("\n| case | campaigns | load delivered | attainment covers | p90 covers |\n| --- | --- | --- | --- | --- |")
    for case, campaigns, (p90, attainment), delivered in counts:
        print(f"| {case} | {campaigns} | {delivered} | {attainment[0]} of {attainment[1]} | {p90[0]} of {p90[1]} |")
    return 0 if all(explained(*one) for one in counts[-1][2]) else 1


if __name__ == "__main__":
    sys.exit(main())
