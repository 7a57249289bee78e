#!/usr/bin/env python3
"""The error rates on this very machine, through the command line: a against a, and known delays.

    ASSAY=build/release/bin/assay tests/calibration/real_machine.py [--comparisons 40] [--pairs 10]

A against A: a memory-bound and a compute-bound workload compared with themselves; and the same
trials as if one arm had run after the other. Known delays: the null backend waits 1, 2 and 5 %
longer in arm b; a real kernel (gelu, in the cache) gets 1, 2 and 5 % more elements. As in practice,
a pilot against itself measures the spread of a pair first, `assay power` says how many pairs find
the delay with 95 %, and each comparison runs that number; the row says how many comparisons found
it. The delays are compared by the trials' medians (analysis.compare_by), which rare steal time does
not change. With --root also launch and bandwidth of one CPU through two OpenCL stacks.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

ASSAY = os.environ.get("ASSAY", "assay")

PROTOCOL = """extends: paired
name: paired-short
version: 1
warmup: {iterations: 3, time: 100ms}
window: {time: 250ms, min_samples: 12}
cooldown: 0s
"""

TRIAD = """workload: triad-{name}
version: 1
kind: memory_bound
description: triad of {elements} elements
precisions: [fp32]
batches: [1]
scenario: offline
memory_bound: {{kernel: triad, elements: {elements}}}
"""

LAUNCH = """workload: launch
version: 1
kind: memory_bound
description: copy of so few elements that a launch is all there is
precisions: [fp32]
batches: [1]
scenario: offline
memory_bound: {kernel: copy, elements: 64}
"""

BY_MEDIAN = """analysis: {compare_by: median}
"""

GELU = """workload: gelu-{name}
version: 1
kind: memory_bound
description: gelu of {elements} elements, in the cache
precisions: [fp32]
batches: [1]
scenario: offline
memory_bound: {{kernel: gelu, elements: {elements}, lanes: 1}}
"""


def assay(*words, **environment):
    done = subprocess.run([ASSAY, *words], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    if done.returncode not in (0, 1):
        sys.exit(f"assay {' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["data"]


def power_at(sd, delay):
    """Pairs that `assay power` asks for at this spread, for 95 % power."""
    return assay("power", "--pair-sd", f"{max(sd, 1e-5):.6f}", "--margin", str(delay), "--power",
                 "0.95", "--json")["pairs_for_difference"]


class Delays:
    """Comparisons of an arm b that takes so much longer, each with the pairs that power asks for."""

    def __init__(self, name, arms, options, folder, protocol):
        self.name, self.arms, self.options, self.protocol = name, arms, options, protocol
        self.database = os.path.join(folder, "delays.db")

    def compare(self, delay, pairs):
        a, b, words = self.arms(delay)
        return assay("ab", *words, *(x for s in a for x in ("--a", s)),
                     *(x for s in b for x in ("--b", s)), "--pairs", str(pairs), "--protocol",
                     self.protocol, "--db", self.database, "--json", "--quiet")["comparison"]

    def run(self):
        pilot = self.compare(0, self.options.pilot)
        if not pilot or pilot["sd_log"] is None:
            sys.exit(f"{self.name}: the pilot has no steady pairs: this machine is too busy")
        kept = pilot["pairs"] / self.options.pilot
        print(f"{self.name:<14} pilot against itself: sd of a pair {pilot['sd_log']:.2%}, "
              f"{pilot['pairs']} of {self.options.pilot} pairs steady", flush=True)
        for delay in (0.01, 0.02, 0.05):
            needed = power_at(pilot["sd_log"], delay)
            pairs = math.ceil(max(needed, 5) / kept)
            if pairs > self.options.most_pairs:
                print(f"{self.name:<14} delay {delay:4.0%}: {needed} pairs are needed, more than "
                      f"--most-pairs: not run", flush=True)
                continue
            results = [self.compare(delay, pairs) for _ in range(self.options.delays)]
            numbers = [n for n in results if n]
            found = sum(n["differs"] and n["ratio"]["value"] > 1 for n in numbers)
            sds = sorted(n["sd_log"] for n in numbers if n["sd_log"] is not None)
            ratios = sorted(n["ratio"]["value"] - 1 for n in numbers)
            print(f"{self.name:<14} delay {delay:4.0%}: found {found} of {self.options.delays} with "
                  f"{pairs} pairs each ({needed} needed); delay measured "
                  f"{ratios[len(ratios) // 2]:.2%}, sd of a pair {sds[len(sds) // 2]:.2%} (medians "
                  "of the comparisons)", flush=True)


def stacks(root, workloads, options, folder, protocol):
    """One device through the OpenCL of this system and of another root: launch and bandwidth."""
    for name, workload in workloads:
        result = assay("ab", workload, "--device", "opencl:0", "--b", f"root={root}", "--pairs",
                       str(options.pilot), "--protocol", protocol, "--db",
                       os.path.join(folder, "stacks.db"), "--json", "--quiet")
        numbers = result["comparison"]
        if not numbers:
            print(f"{name:<14} two stacks: no numbers: {result.get('reason')}", flush=True)
            continue
        ratio = numbers["ratio"]
        print(f"{name:<14} two stacks: {result['verdict']}, time b/a {ratio['value']:.3f} "
              f"[{ratio['lo']:.3f}, {ratio['hi']:.3f}], {numbers['pairs']} pairs; put down to: "
              f"{result['attribution']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=40)
    parser.add_argument("--delays", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--pilot", type=int, default=20, help="pairs of a pilot")
    parser.add_argument("--most-pairs", type=int, default=200, help="of one comparison")
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--root", help="folder of another system whose OpenCL is arm b; needs root")
    parser.add_argument("--skip-delays", action="store_true")
    parser.add_argument("--skip-self", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-machine-") as folder:
        def write(name, text):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return path

        protocol = write("short.yaml", PROTOCOL)
        median = write("median.yaml", PROTOCOL.replace("paired-short", "paired-median") + BY_MEDIAN)
        elements = 4 << 20
        triad = write("triad.yaml", TRIAD.format(name="base", elements=elements))

        def null_arms(delay):
            # Without a seed, so that each process draws its own factor: a pair's sd is 0.5 %.
            base = "launch_ns=1000000,cv=0.005,process_cv=0.0035"
            return ([f"env:ASSAY_NULL={base}"], [f"env:ASSAY_NULL={base},delay={delay}"],
                    ["synthetic", "--device", "null:0"])

        # In the cache and bound by arithmetic, so that the memory's own changes stay out of it.
        gelu = write("gelu.yaml", GELU.format(name="base", elements=200000))

        def kernel_arms(delay):
            words = [gelu, "--device", options.device]
            if not delay:
                return [], [], words
            more = write(f"more{delay}.yaml",
                         GELU.format(name="more", elements=round(200000 * (1 + delay))))
            return [], [f"workload={more}"], words

        if not options.skip_delays:
            Delays("null backend", null_arms, options, folder, median).run()
            Delays("gelu kernel", kernel_arms, options, folder, median).run()
        if options.root:
            stacks(options.root, (("launch", write("launch.yaml", LAUNCH)), ("triad", triad)),
                   options, folder, median)
        if options.skip_self:
            return
        for workload, name in ((triad, "triad"), ("gpt2_tiny_training_step", "training step")):
            result = assay("calibrate", workload, "--precision", "fp32", "--comparisons", str(options.comparisons),
                           "--pairs", str(options.pairs), "--protocol", protocol, "--device",
                           options.device, "--db", os.path.join(folder, "self.db"), "--json",
                           "--quiet")
            sds = sorted(row["sd_log"] for row in result["rows"] if "sd_log" in row)
            print(f"{name:<14} against itself: {result['paired_different']} of "
                  f"{result['comparisons']} differ, {result['paired_verdicts']} called faster or "
                  f"slower ({result['without_numbers']} without numbers); as one arm after the "
                  f"other: {result['blocked_different']}; median sd of a pair "
                  f"{sds[len(sds) // 2] if sds else 0:.2%}", flush=True)


if __name__ == "__main__":
    main()
