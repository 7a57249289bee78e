#!/usr/bin/env python3
"""Is the tool fast and small enough to measure with? Runs what README.md here describes.

usage: run_bench.py --tools FOLDER --assay FILE [--pairs N] [--elements N] [--seed N]
                    [--results N] [--trials N] [--samples N] [--walked N] [--table FILE]
                    [NAME ...]

NAME is one of: copy triad cpu_copy cpu_triad cpu_rates opencl_rates decode launch cpu_launch
transfer cpu_transfer launches gemm convolution host spots store sample generator memory devices scale
verify bundle (default: all). Exit status: 0 when every goal is met, 1 when one is missed, 2 when
something could not be measured.
"""
import argparse
import json
import math
import os
import pathlib
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

# Two-sided 95 % quantiles of Student's t by degrees of freedom.
T975 = {4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 11: 2.201, 14: 2.145,
        19: 2.093, 29: 2.045, 39: 2.023}

# Of a made-up database (make_results).
WORKLOADS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")

BLOCK, SAMPLES, WARMUP = 4, 24, 8
DECODE_TURNS = 14
TURNS = 15  # of assay and the bare library, in one process
SHORT_TURNS = 101  # of a millisecond


def t975(freedom):
    """The tabled quantile at or below these degrees of freedom: never too narrow."""
    usable = [key for key in T975 if key <= freedom]
    if not usable:
        raise SystemExit("run_bench.py: at least 5 pairs are needed for an interval")
    return T975[max(usable)]


def run(command, **kwargs):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **kwargs)
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-2000:] + done.stderr[-2000:])
        print(f"could not be measured: {command[0]} exited with {done.returncode}")
        raise SystemExit(2)
    return done.stdout


def verdict(name, met, text):
    """`met` None: it cannot be shown here."""
    print(f"{name:<8} {'met   ' if met else 'UNSHOWN' if met is None else 'MISSED'} {text}", flush=True)
    return met


def ratio(logs):
    """Geometric mean of ratios given by their logarithms, and its 95 % interval."""
    half = t975(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return (math.exp(statistics.mean(logs) + part) for part in (0, -half, half))


def bound_environment():
    """The environment of workers on the CPU backend, and of the yardstick."""
    return {**os.environ, "OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}


def start_arm(command, environment):
    """A program that takes a sample for each line it is given."""
    return subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, env=environment)


def turn(child):
    child.stdin.write("\n")
    child.stdin.flush()
    line = child.stdout.readline()
    if not line:
        print(f"could not be measured: {child.args[0]} exited with {child.wait()}")
        raise SystemExit(2)
    return int(line)


def stream(options, kernel, device="opencl:0", label=None, environment=None):
    """Two processes take turns, in random order each time; the median of their turns' ratios is one
    observation. The placement of arrays in memory favours one side for a process's whole life."""
    declaration = (f"workload: bench_{kernel}\nversion: 1\nkind: memory_bound\n"
                   f"description: {kernel} for bench\nprecisions: [fp32]\nscenario: offline\n"
                   f"memory_bound:\n  kernel: {kernel}\n  elements: {options.elements}\n")
    order = random.Random(options.seed)
    logs, rates = [], {"device": [], "openmp": []}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{kernel}.yaml"
        path.write_text(declaration, encoding="utf-8")
        arms = {"device": [options.tools / "device_stream", device, path, BLOCK, "turns"],
                "openmp": [options.tools / "openmp_stream", kernel, options.elements, BLOCK]}
        for _ in range(options.pairs):
            children, series = {}, {arm: [] for arm in arms}
            for arm in order.sample(sorted(arms), 2):
                children[arm] = start_arm(arms[arm], environment)
                turn(children[arm])  # it is ready, and idles while the other begins
            for _ in range(SAMPLES):
                for arm in order.sample(sorted(arms), 2):
                    series[arm].append(turn(children[arm]))
            for child in children.values():
                child.stdin.close()
                if child.wait() != 0:
                    print(f"could not be measured: {child.args[0]} exited with {child.returncode}")
                    raise SystemExit(2)
            for arm in arms:
                rates[arm].append(options.elements * 4 * (2 if kernel == "copy" else 3)
                                  / statistics.median(series[arm]))
            logs.append(statistics.median(math.log(ours / plain) for ours, plain in
                                          zip(series["device"], series["openmp"])))
    value, low, high = ratio(logs)
    return verdict(label or kernel, high < 1.05,
                   f"device time / OpenMP time {value:.3f}, 95 % interval {low:.3f} to {high:.3f} "
                   f"over {len(logs)} pairs of processes of {SAMPLES} turns (goal: below 1.05; "
                   f"medians {statistics.median(rates['device']):.1f} and "
                   f"{statistics.median(rates['openmp']):.1f} GB/s)")


RATED = ("layer_norm", "softmax", "adamw")


def rates(options, device, label, environment=None):
    """Rates by counted bytes against copy's: all in turns in one process, one ratio a process."""
    met = True
    logs, copies = {name: [] for name in RATED}, []
    for _ in range(options.pairs):
        got = {}
        for line in run([options.tools / "bench_rates", device, BLOCK, SAMPLES, "copy", *RATED],
                        env=environment).splitlines():
            name, count, elapsed = line.split()
            got.setdefault(name, []).append(int(count) / int(elapsed))
        copies.append(statistics.median(got["copy"][WARMUP:]))
        for name in RATED:
            logs[name].append(statistics.median(
                math.log(ours / copy) for ours, copy in zip(got[name][WARMUP:],
                                                            got["copy"][WARMUP:])))
    for name in RATED:
        value, low, high = ratio(logs[name])
        met &= verdict(f"{label}_{name}", low >= 0.9,
                       f"rate / copy's rate {value:.3f}, 95 % interval {low:.3f} to {high:.3f} over "
                       f"{len(logs[name])} processes (goal: from 0.9; copy's median "
                       f"{statistics.median(copies):.1f} GB/s)")
    return met


def decode(options):
    """Bytes/s of a decode step of GPT-2 124M by its formula over copy's: in turns in one process, one ratio a process."""
    met = True
    cases = [("portable", "fp32", 1)] + [("vendor", precision, batch) for precision in ("fp32", "bf16", "int8")
                                         for batch in (1, 4, 16)]
    for implementation, precision, batch in cases:
        logs, rates_of = [], {"copy": [], "decode": []}
        for _ in range(max(options.pairs // 2, 5)):
            got = {"copy": [], "decode": []}
            for line in run([options.tools / "bench_rates", "cpu:0", 3, DECODE_TURNS, "copy",
                             f"gpt2_124m_decode@{implementation}@{batch}@{precision}"],
                            env=bound_environment()).splitlines():
                name, count, elapsed = line.split()
                got["copy" if name == "copy" else "decode"].append(int(count) / int(elapsed))
            logs.append(statistics.median(math.log(ours / copy) for ours, copy in
                                          zip(got["decode"][2:], got["copy"][2:])))
            for name, values in got.items():
                rates_of[name].append(statistics.median(values[2:]))
        value, low, high = ratio(logs)
        goal = "; goal: from 0.85" if batch == 1 else ""
        met &= verdict(f"decode {implementation} {precision} batch {batch}", batch > 1 or low >= 0.85,
                       f"rate / copy's rate {value:.3f}, 95 % interval {low:.3f} to {high:.3f} over {len(logs)} "
                       f"processes ({statistics.median(rates_of['decode']):.1f} and "
                       f"{statistics.median(rates_of['copy']):.1f} GB/s{goal})")
    return met


def cpu_launch(options):
    """The median block of 2000 launches of an empty kernel with two groups."""
    times = [float(line) for line in run([options.tools / "bench_launch", 2 * options.pairs,
                                          "cpu:0"], env=bound_environment()).split()]
    return verdict("cpu_launch", statistics.median(times) < 5000,
                   f"median {statistics.median(times):.0f}, {min(times):.0f} to {max(times):.0f} ns "
                   "a launch (goal: below 5000)")


def against_bare_onednn(options, name, argument):
    """Bare oneDNN's time over ours, for each shape and precision; all must reach 0.97.

    In turns in one process, whose median counts as one observation: the placement of its arrays in
    memory favours one side by some percent for its whole life."""
    cases, met = {}, True
    for _ in range(max(5, options.pairs // 2)):
        turns = {}
        for line in run([options.tools / f"bench_{name}", TURNS, argument],
                        env=bound_environment()).splitlines():
            shape, precision, algorithm, ours, bare = line.split()
            turns.setdefault((shape, precision, algorithm), []).append(
                math.log(float(bare) / float(ours)))
        for case, logs in turns.items():
            cases.setdefault(case, []).append(statistics.median(logs))
    for (shape, precision, algorithm), logs in cases.items():
        value, low, high = ratio(logs)
        met &= verdict(name, low >= 0.97,
                       f"{shape} {precision} ({algorithm}): bare oneDNN's time / ours {value:.3f}, 95 % "
                       f"interval {low:.3f} to {high:.3f} over {len(logs)} processes of {TURNS} turns "
                       "(goal: from 0.97)")
    return met


def launch(options):
    """An empty kernel through us and by bare OpenCL calls, in turns in one process. No goal."""
    pairs = [[float(word) for word in line.split()]
             for line in run([options.tools / "bench_launch", 2 * options.pairs]).splitlines()]
    value, low, high = ratio([math.log(ours / bare) for ours, bare in pairs])
    print(f"launch   -      through assay / bare calls {value:.3f}, 95 % interval {low:.3f} to "
          f"{high:.3f} over {len(pairs)} pairs; median {statistics.median(p[0] for p in pairs):.0f} "
          "ns a launch", flush=True)
    return True


def against_bare_calls(options, label, device, cases, environment=None):
    """A workload's iterations and bare calls on the same memory and queue, in turns in one process, whose median
    counts as one observation. `cases`: workload, batch, the goal of bare time over ours (None: reported)."""
    met = True
    for name, batch, goal in cases:
        logs, ours = [], []
        for _ in range(max(5, options.pairs // 2)):
            printed = run([options.tools / "bench_system", SHORT_TURNS, device, name, batch], env=environment)
            pairs = [[float(word) for word in line.split()] for line in printed.splitlines()]
            logs.append(statistics.median(math.log(bare / mine) for mine, bare in pairs))
            ours.append(statistics.median(mine for mine, _ in pairs))
        value, low, high = ratio(logs)
        text = (f"{name}, {batch}: bare calls' time / ours {value:.3f}, 95 % interval {low:.3f} to {high:.3f} over "
                f"{len(logs)} processes of {SHORT_TURNS} turns; median {statistics.median(ours) / 1e3:.2f} us")
        if goal is None:
            print(f"{label:<8} -      {text}", flush=True)
        else:  # missed where all of the interval is
            met &= verdict(label, True if low >= goal else False if high < goal else None,
                           f"{text} (goal: from {goal})") is not False
    return met


def transfer(options, device, label, environment=None):
    names = ["transfer_to_device", "transfer_to_host", "transfer_within_device"]
    names += ["transfer_to_device_pinned", "transfer_to_host_pinned"] if device != "cpu:0" else []
    return against_bare_calls(options, label, device, [(name, batch, goal) for name in names for batch, goal in
                                                       ((4, None), (65536, None), (16777216, 0.98))], environment)


def host(options):
    """A training step without its device: on the null backend, whose launches take no time."""
    logs, times = [], {"null:0": [], "cpu:0": []}
    order = random.Random(options.seed)
    words = {"null:0": ["20", "8"], "cpu:0": ["1", "6", "vendor"]}
    for _ in range(max(5, options.pairs // 2)):
        median = {}
        for device in order.sample(sorted(words), 2):
            series = [int(line) for line in
                      run([options.tools / "device_stream", device, "gpt2_small_training_step",
                           *words[device]],
                          env={**bound_environment(), "ASSAY_NULL": "launch_ns=0"}).split()]
            median[device] = statistics.median(series[2:])
            times[device].append(median[device])
        logs.append(math.log(median["null:0"] / median["cpu:0"]))
    value, low, high = ratio(logs)
    return verdict("host", high < 0.03,
                   f"host's part of gpt2_small_training_step on cpu:0, vendor implementation: {100 * value:.3f} "
                   f"%, 95 % interval {100 * low:.3f} to {100 * high:.3f} over {len(logs)} pairs "
                   f"(goal: below 3; medians {statistics.median(times['null:0']) / 1e3:.0f} µs and "
                   f"{statistics.median(times['cpu:0']) / 1e6:.0f} ms)")


SPOTS = """extends: standard
name: spots
version: 1
evidence: false
trials: 1
cooldown: 0s
window: {{time: {seconds}s}}
"""
NEAR = 8  # samples on either side of a spot check


def spots(options):
    """What spot checks change in the samples of a window: those after each against those before it, in one process.

    The checks themselves lie between samples. Processes differ by more than the goal, windows without checks
    would be other processes, so the samples next to a check are compared.
    """
    met = True
    for workload, words in (("triad", []), ("gemm_1024", ["--implementation", "vendor"]),
                            ("gpt2_tiny_training_step", [])):
        logs, checks = [], 0
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "spots.yaml").write_text(SPOTS.format(seconds=options.seconds))
            for number in range(options.pairs):
                database = folder / f"{number}.db"
                run([options.assay, "run", workload, "--precision", "fp32", "--device", "cpu:0", "--protocol",
                     folder / "spots.yaml", "--db", database, "--quiet", *words])
                with sqlite3.connect(database) as db:
                    wall, gap = ([value for value, in db.execute("SELECT value FROM samples WHERE trial = 1 AND "
                                                                 "series = ? ORDER BY number", (name,))]
                                 for name in ("wall_ns", "gap_ns"))
                    first, made = db.execute("SELECT window_first, json_extract(facts, '$.conduct.spot_checks') "
                                             "FROM trial_end").fetchone()
                places = sorted(range(first + NEAR, len(wall) - NEAR), key=lambda i: -gap[i])[:made]
                change = sum(sum(wall[i:i + NEAR]) - sum(wall[i - NEAR:i]) for i in places)
                logs.append(-math.log1p(change / sum(wall[first:])))
                checks += len(places)
        value, low, high = ratio(logs)
        met &= verdict("spots", 0.995 < low and high < 1.005,
                       f"{workload}: rate with spot checks over that without {value:.5f}, 95 % interval {low:.5f} to "
                       f"{high:.5f} over {len(logs)} processes of {options.seconds} s, {checks} checks (goal: within "
                       "0.5 %)")
    return met


def store(options):
    """The slowest of five counts. Next to it: a plain write and fsync of the same bytes."""
    lines = [line.split() for line in run([options.tools / "bench_store", 5]).splitlines()]
    seconds = [float(line[0]) for line in lines]
    ratios = sorted(float(line[0]) / float(line[1]) for line in lines)
    size = int(lines[-1][2])
    return verdict("store", max(seconds) < 1.0,
                   f"1e6 samples in {min(seconds):.3f} to {max(seconds):.3f} s (goal: below 1), "
                   f"{ratios[0]:.1f} to {ratios[-1]:.1f} x a plain write and fsync; "
                   f"{size / 1e6:.2f} MB on disk")


def sample(options):
    lines = [line.split() for line in run([options.tools / "bench_sample", 11]).splitlines()]
    costs = sorted(float(line[0]) for line in lines)
    clocks = statistics.median(float(line[0]) / float(line[1]) for line in lines)
    return verdict("sample", costs[-1] < 200,
                   f"{costs[0]:.1f} to {costs[-1]:.1f} ns a sample (goal: below 200), "
                   f"{clocks:.2f} x two clock readings alone")


def generator(options):
    """How late requests are sent, and what is added to each: idle, and beside a busy process for each processor."""
    met = send(options, "generator", True)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        send(options, "generator under load", False)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return met


def send(options, label, is_goal):
    """False: a goal is missed; None: a bare clock there is late by more than the goal, which says nothing of ours."""
    verdicts = []
    for rate, seconds in ((1, 40), (10, 20), (100, 20), (1000, 20), (5000, 20)):
        words = run([options.tools / "bench_generator", rate, seconds, 10]).split()
        lag, added, bare = ([int(word) / 1000 for word in words[first:first + 4]] for first in (2, 6, 10))
        met = None if lag[2] > 20 and bare[2] > 20 else lag[2] <= 20
        met = met if added[0] <= 1 else False
        verdicts.append(met if is_goal else True)
        why = "" if verdicts[-1] is not None else " (the goal cannot be shown on this machine: the bare clock is later than 20 us)"
        verdict(label, verdicts[-1],
                f"{rate}/s: late by {lag[0]:.2f}, {lag[1]:.2f}, {lag[2]:.2f}, {lag[3]:.1f} us (p50, p99, p99.9, "
                f"maximum; goal: p99.9 at most 20), adds {added[0]:.2f} us (p50; goal: at most 1), "
                f"p99.9 {added[2]:.2f}; a bare reading of the clock there, in turns: {bare[0]:.2f}, {bare[1]:.2f}, "
                f"{bare[2]:.2f}, {bare[3]:.1f}{why}; processor {words[14]}, {words[15]}; taken by the hypervisor: "
                f"{words[16]} ms while sending, {words[17]} ms while reading the clock")
    return False if False in verdicts else None if None in verdicts else True


def memory(options):
    """Peak resident memory of the harness process itself; its workers are not counted."""
    with tempfile.TemporaryDirectory() as folder:
        command = [options.assay, "run", "first-look", "--protocol", "quick", "--db",
                   pathlib.Path(folder) / "bench.db"]
        peak = 0
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as child:
            while child.poll() is None:
                try:
                    status = pathlib.Path(f"/proc/{child.pid}/status").read_text(encoding="utf-8")
                except OSError:
                    break
                for line in status.splitlines():
                    if line.startswith("VmHWM:"):
                        peak = max(peak, int(line.split()[1]) * 1024)
                time.sleep(0.02)
            errors = child.stderr.read()
        if child.returncode != 0 or peak == 0:
            print(f"could not be measured: assay run exited with {child.returncode}\n{errors[-2000:]}")
            raise SystemExit(2)
    return verdict("memory", peak < 64 * 2**20,
                   f"harness {peak / 2**20:.1f} MiB at its peak during first-look (goal: below 64)")


def devices(options):
    times = []
    for _ in range(11):
        start = time.monotonic()
        run([options.assay, "devices"])
        times.append(time.monotonic() - start)
    return verdict("devices", max(times) < 1.0,
                   f"assay devices in {min(times):.3f} to {max(times):.3f} s (goal: below 1)")


def make_results(options, path, results, trials=None, samples=None):
    """A database of so many results of ten workloads, half of them before one that is like no other: a
    campaign is measured on null devices and repeated (make_results), each copy as good as the first."""
    folder, trials, samples = path.parent, trials or options.trials, samples or options.samples
    for name in (*WORKLOADS, "needle"):
        (folder / f"{name}.yaml").write_text(
            f"workload: {name}\nversion: 1\nkind: synthetic\ndescription: made up for this database\n"
            "precisions: [fp32]\nbatches: [1]\nscenario: offline\nsynthetic: {launches: 1, elements: 4096}\n",
            encoding="utf-8")
    (folder / "short.yaml").write_text(
        f"extends: quick\nname: short\nversion: 1\ntrials: {trials}\ntrial_timeout: 600s\n"
        "sample: {min_time: 0s}\n"
        f"warmup: {{iterations: {samples // 10}, time: 1ms}}\n"
        f"window: {{time: 1ms, max_time: 300s, min_samples: {samples - samples // 10}, max_samples: {samples - samples // 10}}}\n",
        encoding="utf-8")

    def measure(device, *names):
        run([options.assay, "run", *(folder / f"{name}.yaml" for name in names), "--device", device,
             "--protocol", folder / "short.yaml", "--quiet", "--db", path],
            env={**os.environ, "ASSAY_NULL": "launch_ns=20us,cv=0.03,phi=0.3,seed=7" if samples < 10**5
                 else "launch_ns=5us"})

    measure("null:0", *WORKLOADS[:min(results, 10)])
    copies = max(results // 10 - 1, 0)
    run([options.tools / "make_results", path, copies // 2])
    if copies:
        measure("null:1", "needle")
    run([options.tools / "make_results", path, copies - copies // 2])


def scale_cases(options, database):
    """Commands as users type them; a result's id in the middle, two of one workload to compare."""
    def ids(*words):
        return run([options.assay, "results", "--db", database, "--ids", *words]).split()

    middle = ids("--workload", "needle")[0]
    pair = ids("--workload", "beta", "--limit", "2")
    return {"results": ["results"],
            "results, filter matches many": ["results", "--workload", "beta"],
            "results, filter matches one": ["results", "--device", "null:1"],
            "results, filter matches none": ["results", "--precision", "fp64"],
            "results, device matches none": ["results", "--device", "nowhere"],
            "results, filters with nothing in common":
                ["results", "--workload", "needle", "--device", "null:0"],
            "show": ["show", middle],
            "compare": ["compare", *(pair if len(pair) > 1 else [middle, middle])]}


def cost(command, statuses=(0,)):
    """Seconds, processor time (s) and peak memory (bytes) of one call."""
    command = [str(part) for part in command]
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in statuses:
        print(f"could not be measured: {' '.join(command)} exited with {child.returncode}")
        raise SystemExit(2)
    return (time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def time_verify(options, path, *words):
    return cost([options.assay, "verify", *words, path])


def scale(options):
    """The slowest of nine calls, whole process, in databases that grow tenfold each.

    verify, which reads all of it, is reported separately: the faster of two calls, and its rate."""
    sizes = [10**power for power in range(2, 7) if 10**power <= options.results]
    slowest, bytes_each, seconds, verified = {}, [], [], []
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        for size in sizes:
            path = pathlib.Path(folder) / f"{size}.db"
            start = time.monotonic()
            make_results(options, path, size)
            seconds.append(time.monotonic() - start)
            bytes_each.append(path.stat().st_size / (size * options.trials * options.samples))
            for name, words in scale_cases(options, path).items():
                times = []
                for _ in range(9):
                    start = time.monotonic()
                    run([options.assay, *words, "--db", path])
                    times.append(1e3 * (time.monotonic() - start))
                slowest.setdefault(name, []).append(max(times))
            verified.append((path.stat().st_size / 1e6,
                             *min(time_verify(options, path, "--no-estimates") for _ in range(2))))
            path.unlink()
    rows = [["results", *(f"{size:,}" for size in sizes)],
            ["samples", *(f"{size * options.trials * options.samples:,}" for size in sizes)],
            ["bytes on disk per sample", *(f"{size:.2f}" for size in bytes_each)],
            ["writing, results a second", *(f"{a / b:.0f}" for a, b in zip(sizes, seconds))],
            *([f"{name}, ms", *(f"{value:.1f}" for value in slowest[name])] for name in slowest),
            ["verify --no-estimates, s", *(f"{v[1]:.2f}" for v in verified)],
            ["verify --no-estimates, MB/s", *(f"{v[0] / v[1]:.0f}" for v in verified)],
            ["verify --no-estimates, processor's MB/s", *(f"{v[0] / v[2]:.0f}" for v in verified)],
            ["verify --no-estimates, peak MB", *(f"{v[3] / 1e6:.0f}" for v in verified)]]
    table = "\n".join("| " + " | ".join(row) + " |" for row in
                      [rows[0], ["---"] + ["---:"] * len(sizes), *rows[1:]])
    print(table, flush=True)
    if options.table:
        options.table.write_text(table + "\n", encoding="utf-8")
    worst = max(slowest, key=lambda name: slowest[name][-1])
    growth = max(values[-1] / values[0] for values in slowest.values())
    rate = verified[-1][0] / verified[-1][1]
    met = verdict("verify", rate >= 200,
                  f"--no-estimates, {verified[-1][0]:.0f} MB with {sizes[-1]} results: {rate:.0f} MB/s "
                  f"(goal: 200 or more), {verified[-1][0] / verified[-1][2]:.0f} MB/s a processor; "
                  f"{sizes[-1] // sizes[0]} times the results take "
                  f"{verified[-1][1] / verified[0][1]:.0f} times the time")
    return met & verdict("scale", slowest[worst][-1] < 100 and growth <= sizes[-1] / sizes[0],
                   f"slowest at {sizes[-1]} results: {worst}, {slowest[worst][-1]:.1f} ms (goal: "
                   f"below 100); {sizes[-1] // sizes[0]} times the results take at most "
                   f"{growth:.1f} times the time (goal: linear or better)")


def verify(options):
    """Processor time of verify: mostly samples, mostly rows, and the estimates of the latter."""
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        path = pathlib.Path(folder) / "verify.db"
        make_results(options, path, 1, 5, options.walked // 100)
        run([options.tools / "make_results", path, 19])
        size = path.stat().st_size / 1e6
        rate = size / min(time_verify(options, path, "--no-estimates")[1] for _ in range(5))
        path.unlink()
        met = verdict("verify", rate >= 500,
                      f"{options.walked:,} samples, {size:.0f} MB: {rate:.0f} MB per second of "
                      "processor time (goal: 500 or more)")
        count = min(options.results, 2000)
        make_results(options, path, count)
        size = path.stat().st_size / 1e6
        rate = size / min(time_verify(options, path, "--no-estimates")[1] for _ in range(5))
        met &= verdict("verify", rate >= 200,
                       f"{count} small results, {size:.0f} MB: {rate:.0f} MB per second of "
                       "processor time without estimates (goal: 200 or more)")
        seconds = min(time_verify(options, path)[1] for _ in range(2)) * 1e5 / count / 2
    return met & verdict("verify", seconds < 60,
                         f"with estimates, 10^5 such results would take {seconds:.0f} s on two "
                         "processors (goal: below 60)")


def bundle(options):
    """Processor time of taking in a small bundle, with its checks; the least of nine."""
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        names = [pathlib.Path(folder) / name for name in ("from.db", "one.assay", "into.db")]
        run([options.assay, "run", "self-test", "--device", "null", "--quiet", "--db", names[0]])
        listed = json.loads(run([options.assay, "results", "--json", "--db", names[0]]))
        campaign = listed["data"][0]["id"].split("/")[0]
        run([options.assay, "bundle", campaign, "--unsigned", "-o", names[1], "--db", names[0]])
        times = []
        for _ in range(9):
            times.append(1e3 * cost([options.assay, "import", names[1], "--db", names[2]])[1])
            names[2].unlink()
        size = names[1].stat().st_size / 1e3
    return verdict("bundle", min(times) <= 15,
                   f"{size:.0f} kB taken in, in {min(times):.0f} ms of processor time (goal: 15 or "
                   "less)")


def main():
    measures = {"copy": lambda o: stream(o, "copy"), "triad": lambda o: stream(o, "triad"),
                "cpu_copy": lambda o: stream(o, "copy", "cpu:0", "cpu_copy", bound_environment()),
                "cpu_triad": lambda o: stream(o, "triad", "cpu:0", "cpu_triad",
                                              bound_environment()),
                "cpu_rates": lambda o: rates(o, "cpu:0", "cpu", bound_environment()),
                "opencl_rates": lambda o: rates(o, "opencl:0", "opencl"), "decode": decode,
                "cpu_launch": cpu_launch,
                "gemm": lambda o: against_bare_onednn(o, "gemm", o.largest),
                "convolution": lambda o: against_bare_onednn(o, "convolution", o.images),
                "host": host, "spots": spots,
                "transfer": lambda o: transfer(o, "opencl:0", "transfer"),
                "cpu_transfer": lambda o: transfer(o, "cpu:0", "cpu_transfer", bound_environment()),
                "launches": lambda o: against_bare_calls(o, "launches", "opencl:0",
                                                         [("launch", 1, 0.98), ("launch", 100, 0.98),
                                                          ("launch_queued", 1, 0.98)]),
                "launch": launch, "store": store, "sample": sample, "generator": generator,
                "memory": memory,
                "devices": devices, "scale": scale, "verify": verify, "bundle": bundle}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--assay", type=pathlib.Path, required=True)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--elements", type=int, default=2**25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=int, default=100000, help="of the largest (scale)")
    parser.add_argument("--trials", type=int, default=5, help="a result (scale)")
    parser.add_argument("--samples", type=int, default=200, help="a trial (scale)")
    parser.add_argument("--walked", type=int, default=10**8, help="samples in all (verify)")
    parser.add_argument("--table", type=pathlib.Path, help="file for the table (scale)")
    parser.add_argument("--largest", type=int, default=4096, help="square size (gemm)")
    parser.add_argument("--seconds", type=int, default=10, help="of a window (spots)")
    parser.add_argument("--images", type=int, default=8, help="at once (convolution)")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *measures])
    options = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.2f} at the start")
    met = [measures[name](options) for name in options.names or measures]
    return 1 if False in met else 2 if None in met else 0


if __name__ == "__main__":
    sys.exit(main())
