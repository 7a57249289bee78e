#!/usr/bin/env python3
"""The error rates on this very machine, through the command line: a against a, and known delays.

    ASSAY=build/release/bin/assay tests/calibration/real_machine.py [--comparisons 40] [--pairs 10]

A against A: a memory-bound and a compute-bound workload compared with themselves; beside it the very
same trials as if one arm had run after the other. Known delays: the null backend waits 1, 2 and 5 %
longer in arm b; a real kernel (gelu, in the cache) gets 1, 2 and 5 % more elements. Each row says how
many comparisons found it, and how many pairs the promised power takes at the spread measured.
"""

import argparse
import json
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
    return json.loads(done.stdout)


def power_at(sd, delay, pairs):
    """Pairs that `assay power` asks for at this spread, for 95 % power."""
    if not sd:
        return None
    answer = assay("power", "--pair-sd", f"{sd:.6f}", "--margin", str(delay), "--power", "0.95",
                   "--json")
    return answer["pairs_for_difference"]


def delays(name, arms, options, folder):
    for delay in (0.01, 0.02, 0.05):
        found, sds, without = 0, [], 0
        for k in range(options.delays):
            a, b, words = arms(delay, k)
            result = assay("ab", *words, *(x for s in a for x in ("--a", s)),
                           *(x for s in b for x in ("--b", s)), "--pairs", str(options.pairs),
                           "--protocol", os.path.join(folder, "short.yaml"), "--db",
                           os.path.join(folder, "delays.db"), "--json", "--quiet")
            numbers = result["comparison"]
            if not numbers:
                without += 1
                continue
            found += numbers["differs"] and numbers["ratio"]["value"] > 1
            sds.append(numbers["sd_log"])
        sds.sort()
        sd = sds[len(sds) // 2] if sds else 0
        needed = power_at(sd, delay, options.pairs)
        print(f"{name:<14} delay {delay:4.0%}: found {found} of {options.delays}"
              f"{f' ({without} without numbers)' if without else ''}; median sd of a pair "
              f"{sd:.2%}, at which 95 % power takes {needed} pairs (there were {options.pairs})",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=40)
    parser.add_argument("--delays", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--skip-self", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-machine-") as folder:
        def write(name, text):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return path

        protocol = write("short.yaml", PROTOCOL)
        elements = 4 << 20
        triad = write("triad.yaml", TRIAD.format(name="base", elements=elements))

        def null_arms(delay, k):
            base = "launch_ns=1000000,cv=0.005,process_cv=0.0035"
            return ([f"env:ASSAY_NULL={base},seed={2 * k + 1}"],
                    [f"env:ASSAY_NULL={base},delay={delay},seed={2 * k + 2}"],
                    ["synthetic", "--device", "null:0"])

        # In the cache and bound by arithmetic, so that the memory's own changes stay out of it.
        gelu = write("gelu.yaml", GELU.format(name="base", elements=200000))

        def kernel_arms(delay, k):
            more = write(f"more{delay}.yaml",
                         GELU.format(name="more", elements=int(200000 * (1 + delay))))
            return [], [f"workload={more}"], [gelu, "--device", options.device]

        delays("null backend", null_arms, options, folder)
        delays("gelu kernel", kernel_arms, options, folder)
        if options.skip_self:
            return
        for workload, name in ((triad, "triad"), ("gpt2_tiny_training_step", "training step")):
            result = assay("calibrate", workload, "--comparisons", str(options.comparisons),
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
