#!/usr/bin/env python3
"""A decode step of GPT-2 124M in assay's vendor implementation and in llama.cpp, in turns, on this processor.

    python3 -m venv ENV; ENV/bin/pip install llama-cpp-python gguf
    python3 tests/bench/llama_compare.py --tools build/release/bench --python ENV/bin/python

llama-cpp-python is compiled when it is installed, for the processor that it is installed on; nothing is installed or
linked by this. README.md in this folder says what differs. Exit status: 0 when all was measured, 2 when something was
not, or llama.cpp lacks instructions that the processor has or its kernels for them do not run (UNFAIR).
"""
import argparse
import json
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile

from run_bench import bound_environment, ratio, start_arm, turn

HERE = pathlib.Path(__file__).parent
# What llama.cpp calls instructions that matter here, by the processor's flag.
INSTRUCTIONS = {"avx2": "AVX2", "avx512f": "AVX512", "avx512_vnni": "AVX512_VNNI", "avx512_bf16": "AVX512_BF16",
                "amx_int8": "AMX_INT8", "asimddp": "DOTPROD", "i8mm": "MATMUL_INT8", "sve": "SVE"}


def fail(text):
    print("llama_compare: " + text, file=sys.stderr)
    raise SystemExit(2)


def lacks(system):
    """Instructions of this processor that llama.cpp's own line does not name."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next((line.split(":")[1].split() for line in file if line.startswith(("flags", "Features"))), [])
    named = {part.split("=")[0].split(":")[-1].strip() for part in system.split("|") if part.strip().endswith("1")}
    return [name for flag, name in INSTRUCTIONS.items() if flag in flags and name not in named]


def llama(options, model, precision, batch, layout):
    return [options.python, HERE / "llama_decode.py", model, precision, batch, options.threads, options.steps, layout]


def environment_of(options):
    return {**bound_environment(), "OMP_NUM_THREADS": str(options.threads)}


def layout_that_runs(options, model, precision, batch):
    """"own", or "plain" where llama.cpp's kernels for its own layouts end in an illegal instruction."""
    command = [str(part) for part in llama(options, model, precision, batch, "own")]
    done = subprocess.run(command, input="\n", text=True, capture_output=True, check=False,
                          env=environment_of(options))
    if done.returncode not in (0, -signal.SIGILL):
        fail(f"llama_decode.py exited with {done.returncode}: {done.stderr[-1000:]}")
    return "own" if done.returncode == 0 else "plain"


def pair(options, model, precision, batch, layout):
    """One process each; the logarithm of llama.cpp's time over assay's, and both times, all medians of the turns."""
    environment = environment_of(options)
    ours = [options.tools / "device_stream", "cpu:0", "gpt2_124m_decode", options.steps, "turns", "vendor", batch,
            precision]
    children = {"assay": start_arm(ours, environment),
                "llama": start_arm(llama(options, model, precision, batch, layout), environment)}
    told = json.loads(children["llama"].stdout.readline() or "null")
    if told is None:
        fail(f"llama_decode.py exited with {children['llama'].wait()}")
    times = {name: [] for name in children}
    for _ in range(options.turns):
        for name in random.sample(list(children), 2):
            turn(children[name])  # not counted: the other's threads still watch for work
            times[name].append(turn(children[name]))
    for child in children.values():
        child.stdin.close()
        if child.wait() != 0:
            fail(f"{child.args[0]} exited with {child.returncode}")
    return (statistics.median(math.log(a / b) for a, b in zip(times["llama"], times["assay"])),
            *(statistics.median(times[name]) / 1e6 for name in ("assay", "llama")), told)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--python", required=True, help="that of an environment with llama-cpp-python and gguf")
    parser.add_argument("--precisions", default="fp32,bf16,int8")
    parser.add_argument("--batches", default="1,4,16")
    parser.add_argument("--pairs", type=int, default=6, help="of processes, at least 5")
    parser.add_argument("--turns", type=int, default=8, help="of a pair")
    parser.add_argument("--steps", type=int, default=31, help="of a turn")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--models", type=pathlib.Path, help="folder in which the models are kept")
    options = parser.parse_args()
    if subprocess.run([options.python, "-c", "import llama_cpp, gguf"], capture_output=True, check=False).returncode:
        fail(f"{options.python} has no llama_cpp and gguf; `pip install llama-cpp-python gguf`")
    print(f"{options.threads} threads, load {os.getloadavg()[0]:.2f} at the start; llama.cpp's time of a step over "
          f"assay's, {options.pairs} pairs of processes of {options.turns} turns of {options.steps} steps", flush=True)
    said, unfair = None, []
    with tempfile.TemporaryDirectory() as made:
        folder = options.models or pathlib.Path(made)
        for precision in options.precisions.split(","):
            model = folder / f"gpt2_124m_{precision}.gguf"
            for batch in map(int, options.batches.split(",")):
                layout = layout_that_runs(options, model, precision, batch)
                logs, ours, theirs, tellings = zip(*(pair(options, model, precision, batch, layout)
                                                     for _ in range(options.pairs)))
                told = tellings[0]
                missing = lacks(told["system"])
                if said is None:
                    said = f"llama-cpp-python {told['version']}: {told['system']}"
                    print(said, flush=True)
                why = [*(f"built without {name}" for name in missing),
                       *(["its own layouts end in an illegal instruction"] if layout == "plain" else [])]
                unfair += why
                value, low, high = ratio(logs)
                print(f"llama    {'UNFAIR' if why else '-     '} {precision} batch {batch:<2} (llama.cpp: "
                      f"{told['weights']}, cache {told['cache']}{''.join(', ' + part for part in why)}): {value:.3f}, "
                      f"95 % interval {low:.3f} to {high:.3f}; medians {statistics.median(theirs):.2f} and "
                      f"{statistics.median(ours):.2f} ms", flush=True)
            if not options.models:
                model.unlink()
    return 2 if unfair else 0


if __name__ == "__main__":
    sys.exit(main())
