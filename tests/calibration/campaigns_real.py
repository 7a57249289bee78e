#!/usr/bin/env python3
"""A against A, campaign by campaign, on this very machine: how many pairs of campaigns differ.

    ASSAY=build/release/bin/assay tests/calibration/campaigns_real.py --minutes 120 [--db FILE]

Ten campaigns of two workloads, one after the other, each spread over a tenth of the time: hours are
compared with hours. Between them, ten more whose rounds are each spread over the whole time, and so
see the same hours. Then each pair of a kind is compared as a user would (`assay compare A B`). All
measure the same, so that each pair that is called different is an error. --compare FILE counts the
campaigns of an earlier run once more.
"""

import argparse
import collections
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

ASSAY = os.environ.get("ASSAY", "assay")

PROTOCOL = """name: real-campaign
version: 1
description: Standard, with ten short trials that are spread over time, compared by medians
extends: standard
warmup: {{iterations: 3, time: 200ms}}
window: {{time: 500ms, min_samples: 20}}
cooldown: 0s
spread: {seconds}s
analysis: {{compare_by: median}}
"""

WORKLOAD = """workload: real-{kernel}
version: 1
kind: memory_bound
description: {kernel} of {elements} elements on one processor
precisions: [fp32]
batches: [1]
scenario: offline
memory_bound: {{kernel: {kernel}, elements: {elements}, lanes: 1}}
"""

KERNELS = (("gelu", 200000), ("triad", 4 << 20))


def assay(*words, seconds):
    done = subprocess.run([ASSAY, *words, "--json"], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=seconds)
    if done.returncode not in (0, 1, 3):  # 3: a gate that does not decide
        sys.exit(f"assay {' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["data"]


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Campaigns:
    """Campaigns of one kind, each spread over so many seconds."""

    def __init__(self, folder, kind, seconds, options):
        self.seconds, self.options, self.made = seconds, options, []
        self.words = [write(folder, f"{kernel}.yaml", WORKLOAD.format(kernel=kernel, elements=n))
                      for kernel, n in KERNELS]
        protocol = write(folder, f"{kind}.yaml", PROTOCOL.format(seconds=seconds))
        self.words += ["--protocol", protocol, "--device", options.device, "--db", options.db,
                       "--quiet"]

    def run(self):
        # Beside other work a trial may take many times as long as alone.
        ended = assay("run", *self.words, seconds=self.seconds + 3600)
        self.made.append(ended["campaign"])


def measure(folder, options):
    each = max(options.minutes * 60 // options.campaigns - 25, 30)
    split = Campaigns(folder, "split", each, options)
    over = Campaigns(folder, "over", options.minutes * 60 - 30 * options.campaigns - 60, options)
    threads = [threading.Thread(target=over.run) for _ in range(options.campaigns)]

    def interleave():
        for thread in threads:
            thread.start()
            time.sleep(min(30, over.seconds / 10 / options.campaigns))
    beside = threading.Thread(target=interleave)
    beside.start()
    for _ in range(options.campaigns):
        split.run()
    beside.join()
    for thread in threads:
        thread.join()
    return {"split": split.made, "over": over.made}


def count(kind, campaigns, options):
    """Says how the pairs of these campaigns were called, and what a gate would have decided."""
    called, gates, differ, named = collections.Counter(), collections.Counter(), 0, 0
    pairs = list(itertools.combinations(campaigns, 2))
    for a, b in pairs:
        found = assay("compare", a, b, "--db", options.db, seconds=600)["comparisons"]
        for one in found:
            called[one["verdict"]] += 1
            differs = one["verdict"] in ("faster", "slower")
            differ += differs
            named += differs and bool(one.get("conditions"))
        gate = assay("gate", a, b, "--no-record", "--db", options.db, seconds=600)
        gates[gate["decision"]] += 1
    print(f"{kind}: of {sum(called.values())} comparisons in {len(pairs)} pairs of {len(campaigns)} "
          f"campaigns {differ} differ, {named} of these with a condition that would turn it; "
          f"{dict(called)}; gates: {dict(gates)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=120)
    parser.add_argument("--campaigns", type=int, default=10, help="of either kind")
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--db", help="keeps the campaigns in this database")
    parser.add_argument("--compare", metavar="FILE",
                        help="compares the campaigns that this file, written by --list, names")
    parser.add_argument("--list", metavar="FILE", help="writes the campaigns' names to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-campaigns-") as folder:
        options.db = options.db or os.path.join(folder, "campaigns.db")
        if options.compare:
            with open(options.compare, encoding="utf-8") as file:
                made = json.load(file)
        else:
            made = measure(folder, options)
        if options.list:
            write("", options.list, json.dumps(made))
        for kind, campaigns in made.items():
            count(kind, campaigns, options)


if __name__ == "__main__":
    main()
