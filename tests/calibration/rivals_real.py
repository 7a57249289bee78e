#!/usr/bin/env python3
"""Do the re-implemented rules decide as the real tools do? The same series to both.

    python3 -m venv venv && venv/bin/pip install pyperf apache-otava
    venv/bin/python tests/calibration/rivals_real.py build/release/bin/rival_decisions [--seed 1]

Prints, a tool and a kind of series, how many decisions agree. Exit 1 when any differs: both rules
are deterministic, so all should. A tool that is not installed is named and left out.
"""

import argparse
import importlib.metadata
import json
import random
import subprocess
import sys


def series(rng, count, phi, steps=0):
    """AR(1) around 1 with sd 1 %; `steps` changes of 2 % at random places."""
    places = sorted(rng.randrange(count) for _ in range(steps))
    signs = [rng.choice((-1, 1)) for _ in places]
    value, values = rng.gauss(0, 1), []
    for i in range(count):
        level = 1 + sum(0.02 * s for p, s in zip(places, signs) if p <= i)
        values.append(level * (1 + 0.01 * value))
        value = phi * value + (1 - phi * phi) ** 0.5 * rng.gauss(0, 1)
    return values


class Ours:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def __call__(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def report(tool, case, agree, total, hits):
    print(f"{tool:<24} {case:<34} {agree} of {total} decisions agree; {hits} said \"changed\"",
          flush=True)
    return agree == total


def ask_otava(ours, rng, total):
    from otava.analysis import compute_change_points
    name = f"otava {importlib.metadata.version('apache-otava')}"
    fine = True
    for count, phi, steps in ((300, 0, 0), (300, 0.5, 0), (300, 0.9, 0), (300, 0.3, 3), (57, 0, 1)):
        agree = hits = 0
        for _ in range(total):
            x = series(rng, count, phi, steps)
            theirs = [change.index for change in compute_change_points(list(x))[0]]
            agree += ours(rule="otava", a=x) == theirs
            hits += bool(theirs)
        fine &= report(name, f"phi {phi}, n {count}, {steps} steps", agree, total, hits)
    return fine


def ask_pyperf(ours, rng, total):
    import pyperf
    from pyperf._compare import is_significant_benchs
    name = f"pyperf {importlib.metadata.version('pyperf')}"

    def benchmark(values):
        return pyperf.Benchmark([pyperf.Run(values[i:i + 3], metadata={"name": "x"},
                                            collect_metadata=False)
                                 for i in range(0, len(values), 3)])

    fine = True
    for count, change in ((60, 0), (60, 0.004), (15, 0), (15, 0.006), (6, 0.01), (150, 0.002)):
        agree = hits = 0
        for _ in range(total):
            a = series(rng, count, 0)
            b = [(1 + change) * value for value in series(rng, count, 0)]
            theirs = bool(is_significant_benchs(benchmark(a), benchmark(b))[0])
            agree += ours(rule="pyperf", a=a, b=b) == theirs
            hits += theirs
        fine &= report(name, f"{count} values an arm, changed {change:.1%}", agree, total, hits)
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="rival_decisions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--series", type=int, default=200, help="a kind of series")
    options = parser.parse_args()
    ours = Ours(options.program)
    rng = random.Random(options.seed)
    fine = True
    for ask in (ask_otava, ask_pyperf):
        try:
            fine &= ask(ours, rng, options.series)
        except ImportError as error:
            print(f"left out: {error}")
    ours.close()
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
