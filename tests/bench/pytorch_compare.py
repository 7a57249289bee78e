#!/usr/bin/env python3
"""assay's transformer on cpu:0 against the same model in PyTorch, in turns.

usage: pytorch_compare.py --assay FILE [--python FILE] [--sizes LIST] [--tasks LIST]
                          [--precisions LIST] [--rounds N] [--threads N] [--json FILE] ...

PyTorch is the user's to install (`python3 -m venv ENV; ENV/bin/pip install torch`, the CPU wheel:
see pytorch.org); --python names the interpreter that has it, by default the one that runs this.
On a busy machine the times are shown without a verdict: other processes may use at most a tenth of
one processor while either side of the verdict runs.
Exit status: 0 when assay's vendor implementation is nowhere slower, 1 when it is, 2 when something
could not be measured or a verdict was withheld.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from run_bench import ratio

SMALL = {"layers": 6, "heads": 6, "width": 384, "context": 256, "vocabulary": 8192, "mlp_ratio": 4}
# Shapes of workloads/declared; "second" is "small" with as many sequences as take about a second.
SIZES = {
    "tiny": ({"layers": 2, "heads": 2, "width": 64, "context": 32, "vocabulary": 256,
              "mlp_ratio": 4}, 32, 4),
    "small": (SMALL, 256, 4),
    "second": (SMALL, 256, 12),
    "124m": ({"layers": 12, "heads": 12, "width": 768, "context": 1024, "vocabulary": 50257,
              "mlp_ratio": 4}, 256, 1),
}
TASKS = {"train": "training_step", "prefill": "batched_inference"}
OPTIMIZER = {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8,
             "weight_decay": 0.1}
OTHERS_MAX = 0.1  # processors that others may use while a side runs
STAGES = ("data", "upload", "forward", "backward", "optimizer")
INSTALL = ("PyTorch is not there: {python} cannot import it.\nInstall it (see pytorch.org; the CPU "
           "wheel is enough) into an environment of its own:\n  python3 -m venv ENV && "
           "ENV/bin/pip install torch\nand name that interpreter: --python ENV/bin/python")


def fail(text):
    print(text, file=sys.stderr)
    raise SystemExit(2)


def section(name, values):
    return f"{name}:\n" + "".join(f"  {key}: {value}\n" for key, value in values.items())


def declaration(task, size):
    model, length, batch = SIZES[size]
    text = (f"workload: bench_{size}_{task}\nversion: 1\nkind: {TASKS[task]}\n"
            f"description: {size} for a comparison with PyTorch\nprecisions: [fp32, bf16]\n"
            f"batches: [{batch}]\nscenario: offline\nsequence_length: {length}\n"
            + section("model", model) + section("data", {"source": "markov", "successors": 8}))
    if task == "train":
        # One step in fp32 beforehand is enough: this is no check of the numbers.
        return text + section("optimizer", OPTIMIZER) + section(
            "verify", {"sequences": 1, "fp32_steps": 1})
    return text + section("verify", {"sequences": 1})


def protocol(options):
    """quick, with this script's times and one trial a process: fresh processes are our rounds."""
    text = options.protocol.read_text(encoding="utf-8")
    changes = {"name: quick": "name: bench_pytorch", "trials: 3": "trials: 1",
               "  iterations: 3": f"  iterations: {options.warmup_steps}",
               "  time: 200ms": f"  time: {options.warmup:g}s",
               "  time: 600ms": f"  time: {options.window:g}s",
               "  min_samples: 10": f"  min_samples: {options.min_samples}",
               "  max_time: 10s": "  max_time: 10min", "trial_timeout: 60s": "trial_timeout: 30min"}
    for old, new in changes.items():
        if old not in text:
            fail(f"{options.protocol}: no line `{old.strip()}`; this script must follow it")
        text = text.replace(old, new, 1)
    return text


def run(command, options, bind=False, **kwargs):
    """
    Both sides have as many threads, each on a core of its own. assay binds its workers itself, and
    must not be bound: OpenMP would put the harness on one core, and its workers inherit that.
    """
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("OMP_PLACES", "OMP_PROC_BIND")}
    environment["OMP_NUM_THREADS"] = str(options.threads)
    if bind:
        environment |= {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          env=environment, check=False, **kwargs)


def measure_assay(options, folder, case, implementation):
    task, size, precision = case
    database = folder / "compare.db"
    database.unlink(missing_ok=True)
    done = run([options.assay, "run", folder / f"{task}_{size}.yaml", "--device", "cpu:0", "--implementation",
                implementation, "--precision", precision, "--protocol", folder / "protocol.yaml", "--emulate",
                "--db", database, "--quiet", "--json",
                *(word for lib in options.lib for word in ("--lib", lib))], options)
    if done.returncode != 0:
        fail(f"assay run, {implementation} {' '.join(case)}: exit status {done.returncode}\n"
             f"{done.stderr[-2000:]}")
    result = json.loads(done.stdout)["data"]["results"][0]
    done = run([options.assay, "export", "csv-samples", "--db", database], options)
    if done.returncode != 0:
        fail(f"assay export: exit status {done.returncode}\n{done.stderr[-2000:]}")
    record = run([options.assay, "show", result["id"], "--db", database, "--json"], options)
    if record.returncode != 0:
        fail(f"assay show: exit status {record.returncode}\n{record.stderr[-2000:]}")
    series = {}
    for row in csv.DictReader(done.stdout.splitlines()):
        if int(row["number"]) >= int(row["window_first"]) and row["series"] in (
                "wall_ns", *(f"stage:{name}" for name in STAGES)):
            divisor = int(row["iterations_per_sample"]) if row["series"] == "wall_ns" else 1
            series.setdefault(row["series"], []).append(float(row["value"]) / divisor)
    if not series.get("wall_ns"):
        fail(f"assay run, {implementation} {' '.join(case)}: no samples in the window")
    return {"ns": statistics.median(series["wall_ns"]), "samples": len(series["wall_ns"]),
            "stages_ns": {name.partition(":")[2]: statistics.median(values)
                          for name, values in series.items() if name != "wall_ns"},
            "parameters": json.loads(record.stdout)["data"]["trials"][0]["facts"]["parameters"],
            "note": f"GEMMs {result['support']}, {result['library']} "
                    f"{result['library_version']}"}


def measure_torch(options, case, recipe, compiled):
    """None where this side cannot run (no C++ compiler for torch.compile), with a message."""
    task, size, _ = case
    model, length, batch = SIZES[size]
    order = {"model": model, "length": length, "batch": batch, "kind": TASKS[task],
             "recipe": recipe, "compiled": compiled, "threads": options.threads, "seed": 1,
             "optimizer": OPTIMIZER, "warmup_steps": options.warmup_steps,
             "warmup_ns": options.warmup * 1e9, "window_ns": options.window * 1e9,
             "min_samples": options.min_samples}
    script = pathlib.Path(__file__).with_name("pytorch_gpt2.py")
    done = run([options.python, script], options, bind=True, input=json.dumps(order))
    if done.returncode != 0 and compiled:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"skipped: torch.compile, {' '.join(case)} {recipe}: {reason}", flush=True)
        return None
    if done.returncode != 0:
        fail(f"PyTorch, {' '.join(case)} {recipe}: exit status {done.returncode}\n"
             f"{done.stderr[-2000:]}")
    answer = json.loads(done.stdout)
    return {"ns": statistics.median(answer["times_ns"]), "samples": len(answer["times_ns"]),
            "note": f"PyTorch {answer['torch']}, {answer['isa']}, {answer['threads']} threads",
            "parameters": answer["parameters"]}


def sides_of(options, folder, case):
    """The name of each side, and the function that runs it once in a fresh process."""
    task, _, precision = case
    recipes = ["fp32"] if precision == "fp32" else ["narrow"] if task == "prefill" else [
        "narrow", "autocast"]
    ret = {f"assay {implementation}": lambda implementation=implementation: measure_assay(options, folder, case, implementation)
           for implementation in options.implementations}
    for recipe in recipes:
        for mode in options.modes:
            word = "" if recipe == "fp32" else f" {recipe}"
            ret[f"torch {mode}{word}"] = lambda r=recipe, m=mode: measure_torch(
                options, case, r, m == "compiled")
    return ret


def processor_seconds():
    """What all processes and the hypervisor's other guests have used, and what ours have."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    used = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return used, sum(usage.ru_utime + usage.ru_stime for usage in usages)


def run_side(side):
    """The side's result, with the processors that others used meanwhile; None as the side's."""
    used, ours = processor_seconds()
    start = time.monotonic()
    value = side()
    elapsed = time.monotonic() - start
    used_after, ours_after = processor_seconds()
    if value is not None:
        value["others"] = max(0.0, (used_after - used - (ours_after - ours)) / elapsed)
    return value


def compare(options, folder, case):
    sides = sides_of(options, folder, case)
    rounds, load = [], []
    order = random.Random(options.seed)
    for number in range(-1 if options.discard else 0, options.rounds):
        got = {}
        for name in order.sample(sorted(sides), len(sides)):
            value = run_side(sides[name])
            if value is None:
                del sides[name]
            else:
                got[name] = value
        if len({value["parameters"] for value in got.values()}) > 1:
            fail(f"{' '.join(case)}: not the same model: {got}")
        load.append(os.getloadavg()[0])
        if number >= 0:  # the round before fills the caches of compiled code
            rounds.append(got)
    medians = {name: statistics.median(r[name]["ns"] for r in rounds) for name in sides}
    best = min((name for name in sides if name.startswith("torch")), key=medians.get)
    rows = []
    for name in sides:
        row = {"side": name, "median_ms": medians[name] / 1e6, "note": rounds[-1][name]["note"],
               "samples": [r[name]["samples"] for r in rounds],
               "rounds_ms": [r[name]["ns"] / 1e6 for r in rounds],
               "others_processors": max(r[name]["others"] for r in rounds)}
        if name != best:
            row["over_best_torch"] = list(
                ratio([math.log(r[name]["ns"] / r[best]["ns"]) for r in rounds]))
        if "stages_ns" in rounds[-1][name]:
            row["stages_ms"] = {stage: statistics.median(r[name]["stages_ns"][stage]
                                                         for r in rounds) / 1e6
                                for stage in rounds[-1][name]["stages_ns"]}
        rows.append(row)
    return {"task": case[0], "size": case[1], "precision": case[2], "best_torch": best,
            "load": [min(load), max(load)], "rows": rows}


def others_during(result, row):
    """The most that others used while this side or the best of PyTorch ran."""
    return max(side["others_processors"] for side in result["rows"]
               if side is row or side["side"] == result["best_torch"])


def verdict(result, row):
    """"met", "MISSED" or "undecided"; None where other processes used too much."""
    if others_during(result, row) > OTHERS_MAX:
        return None
    _, low, high = row["over_best_torch"]
    return "met" if high <= 1 else "undecided" if low <= 1 else "MISSED"


def show(result):
    """One block a case. The exit status: 1 where assay's vendor implementation is slower, 2 where
    there is no verdict."""
    print(f"\n{result['task']} {result['size']} {result['precision']}, load "
          f"{result['load'][0]:.1f} to {result['load'][1]:.1f}")
    status, reason = 0, None
    for row in result["rows"]:
        if "over_best_torch" in row:
            value, low, high = row["over_best_torch"]
            text = f"{value:.3f} ({low:.3f} to {high:.3f})"
            if row["side"] == "assay vendor":
                answer = verdict(result, row)
                status = 2 if answer is None else int(answer == "MISSED")
                text += f"  {answer or 'no verdict'}"
                if answer is None:
                    reason = (f"  no verdict: other processes used up to "
                              f"{others_during(result, row):.2f} processors during a measurement "
                              f"(at most {OTHERS_MAX}); stop them and measure again")
        else:
            text = "1 (best of PyTorch)"
        print(f"  {row['side']:<24} {row['median_ms']:>10.3f} ms  {text:<36} {row['note']}")
        if "stages_ms" in row:
            print("    " + ", ".join(f"{name} {value:.3f}"
                                     for name, value in row["stages_ms"].items()))
    if reason:
        print(reason)
    sys.stdout.flush()
    return status


def words(allowed):
    def parse(text):
        ret = text.split(",")
        unknown = [word for word in ret if word not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]}: one of {', '.join(allowed)}")
        return ret
    return parse


def parse_options():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--assay", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--protocol", type=pathlib.Path,
                        default=root / "protocols/declared/quick.yaml", help=argparse.SUPPRESS)
    parser.add_argument("--sizes", type=words(list(SIZES)), default=["tiny", "second"],
                        help=", ".join(SIZES))
    parser.add_argument("--tasks", type=words(list(TASKS)), default=list(TASKS))
    parser.add_argument("--precisions", type=words(["fp32", "bf16"]), default=["fp32", "bf16"])
    parser.add_argument("--implementations", type=words(["vendor", "portable"]),
                        default=["vendor", "portable"])
    parser.add_argument("--modes", type=words(["eager", "compiled"]),
                        default=["eager", "compiled"])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--warmup", type=float, default=1.0, help="seconds at least")
    parser.add_argument("--warmup-steps", type=int, default=3)
    parser.add_argument("--window", type=float, default=3.0, help="seconds at least")
    parser.add_argument("--min-samples", type=int, default=5)
    parser.add_argument("--no-discard", dest="discard", action="store_false",
                        help="count the first round too, which fills the compilers' caches")
    parser.add_argument("--lib", action="append", default=[], metavar="NAME=PATH",
                        help="handed to assay: dnnl=FILE for another oneDNN")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    if options.rounds < 5:
        parser.error("at least 5 rounds are needed for an interval")
    return options


def main():
    options = parse_options()
    if run([options.python, "-c", "import torch"], options).returncode != 0:
        fail(INSTALL.format(python=options.python))
    print(f"{options.threads} threads, load {os.getloadavg()[0]:.2f} at the start; ratios are "
          f"times over those of the best of PyTorch, over {options.rounds} rounds")
    results, statuses = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "protocol.yaml").write_text(protocol(options), encoding="utf-8")
        for size in options.sizes:
            for task in options.tasks:
                (folder / f"{task}_{size}.yaml").write_text(declaration(task, size),
                                                            encoding="utf-8")
                for precision in options.precisions:
                    results.append(compare(options, folder, (task, size, precision)))
                    statuses.append(show(results[-1]))
                    if options.json:
                        options.json.write_text(json.dumps(
                            {"threads": options.threads, "rounds": options.rounds,
                             "results": results}, indent=1) + "\n", encoding="utf-8")
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    sys.exit(main())
