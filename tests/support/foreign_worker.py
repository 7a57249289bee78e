#!/usr/bin/env python3
"""A worker in another language, to show that the worker protocol does not depend on our code.

FOREIGN_MODE chooses how it behaves: "good", or one of many ways to break the rules. FOREIGN_NS is
what its samples take, or "launch_ns" for that of ASSAY_NULL, so that a test knows the result; its
driver then has a version, and its trials differ slightly, by their number in the file
foreign.trials. FOREIGN_HANDOVER makes it take assay's files and hand its outputs over, honestly or
in one of the ways that it names.
"""

import ctypes
import json
import mmap
import os
import select
import shutil
import signal
import sys
import time

MODE = os.environ.get("FOREIGN_MODE", "good")
SAMPLE_NS = os.environ.get("FOREIGN_NS", "1000000")
if SAMPLE_NS == "launch_ns":
    SAMPLE_NS = dict(part.split("=") for part in os.environ["ASSAY_NULL"].split(","))[SAMPLE_NS]
SAMPLE_NS = int(SAMPLE_NS)
KNOWN = "FOREIGN_NS" in os.environ
HANDOVER = os.environ.get("FOREIGN_HANDOVER", "good" if KNOWN else "")
WARMUP, WINDOW = 10, 200 if KNOWN else 40
DRIVER = {"status": "declared", "value": "1", "unit": None, "source": "foreign", "reason": None}
ODD = {"status": "guessed"} if MODE == "odd_reading" else {}
WRITE = os.fdopen(4, "w", encoding="utf-8")


def say(**message):
    WRITE.write(json.dumps(message) + "\n")
    WRITE.flush()


heard = b""


def hear(seconds=None):
    """The harness's next message; None: there is none in that time."""
    global heard
    while b"\n" not in heard:
        if not select.select([3], [], [], seconds)[0]:
            return None
        heard += os.read(3, 1 << 16)
    line, heard = heard.split(b"\n", 1)
    return json.loads(line)


def spend(begin, ns):
    """What its samples say that they took, and the spot checks that are asked for meanwhile. When both were over, had
    nothing delayed it: its samples are of known length, so a wait for a processor is in none of them."""
    until = begin + ns
    while (left := until - now()) > 0:
        if message := hear(left / 1e9):
            until += spot_check(message)
    return until


spots = 0


handed, pattern = 0, b""


def read_pattern(path):
    """Of the synthetic workload, out of a file of tensors."""
    with open(path, "rb") as file:
        data = file.read()
    header = int.from_bytes(data[:8], "little")
    entry = json.loads(data[8:8 + header])["pattern"]
    begin, end_ = entry["data_offsets"]
    return data[8 + header + begin:8 + header + end_]


def hand_over(message):
    global handed, pattern
    begin = now()
    handed += 1
    data, name, dtype = bytearray(pattern), "pattern", "F32"
    if HANDOVER == "nan":
        data[40:44] = b"\0\0\xc0\x7f"
    if HANDOVER == "batch":
        data = data[:len(data) // 2]
    if HANDOVER == "dtype":
        data, dtype = data[:len(data) // 2], "BF16"
    size = 2 if dtype == "BF16" else 4
    header = json.dumps({"other" if HANDOVER == "missing" else name: {
        "dtype": dtype, "shape": [len(data) // size], "data_offsets": [0, len(data)]}}).encode()
    header += b" " * (-len(header) % 8)
    if HANDOVER != "no_file":
        with open(message["outputs"], "wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            file.write(data[:-4] if HANDOVER == "truncated" else data)
    if HANDOVER != "stale":
        pattern = read_pattern(message["inputs"])
    took_ns = now() - begin
    say(type="handed_over", number=message["number"] + (HANDOVER == "number"), took_ns=took_ns,
        iteration=handed if HANDOVER == "iterations" else 1 if HANDOVER == "same" else handed * 1000000)
    return took_ns


def spot_check(message):
    """How long it says that this took."""
    global spots
    if message["type"] == "hand_over":
        return hand_over(message)
    assert message["type"] == "spot_check" and len(message["secret"]) == 16, message
    if MODE == "ignores_spots":
        return 0
    spots += 1
    say(type="spot_checked", number=message["number"] + (MODE == "wrong_spot"), took_ns=1000)
    return 1000


def sync(at):
    say(type="sync", at=at)
    while (message := hear())["type"] != "go":
        spot_check(message)


def now():
    return time.monotonic_ns()


def end(status, message, window_first, samples):
    say(type="end", status=status, message=message, iterations_per_sample=1,
        window_first=window_first, samples=samples)


def level():
    """Shortest time of this trial's samples: seven levels in turn, 0.01 % apart."""
    if not KNOWN:
        return SAMPLE_NS
    with open("foreign.trials", "ab") as file:
        file.write(b".")
        return SAMPLE_NS + (file.tell() - 1) * 3 % 7 * SAMPLE_NS // 10000


def sample(first, count, name=None):
    """So many samples; of the phase `name`, which takes as long as they do."""
    begin = now()
    values = [LEVEL_NS + SAMPLE_NS // 1000 * ((i * 7919) % 13) for i in range(first, first + count)]
    over = spend(begin, sum(values) * (4 if MODE == "slow_clock" and name == "window" else 1)) if name else begin
    say(type="samples", series="wall_ns", first=first, values=values)
    say(type="samples", series="gap_ns", first=first, values=[0] * count)
    if name:
        slow = 3 * (over - begin) // 4 if MODE == "slow_phase" and name == "window" else 0
        say(type="phase", name=name, begin_ns=begin - slow, end_ns=over - slow)


def check(phase, passed, error=0.0):
    say(type="check", phase=phase, output="y", metric="max", error=error if passed else 1.0,
        tolerance=1e-6, reason="exact", compared=10, passed=passed)


def map_to_execute(path):
    """As a loader would."""
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC)


LEVEL_NS = level()


def main():
    if MODE == "silent":
        time.sleep(60)
    if MODE == "garbage":
        WRITE.write("this is not JSON\n")
        WRITE.flush()
        time.sleep(60)
    if MODE == "binary":
        WRITE.flush()
        os.write(4, bytes(range(256)) * 16)
        time.sleep(60)
    if MODE == "long_line":
        WRITE.write("x" * (3 << 20) + "\n")
        WRITE.flush()
    if MODE == "no_hello":
        say(type="alive")
        time.sleep(60)
    if MODE == "closes":
        WRITE.close()
        os.close(3)
        time.sleep(60)
    if MODE == "wraps" and os.fork() != 0:
        os.wait()  # the child speaks in its place
        os._exit(0)
    if MODE == "forks" and os.fork() == 0:
        time.sleep(600)
    if MODE == "hides" and os.fork() == 0:
        os.close(3)
        os.close(4)
        while True:
            pass  # the work
    if MODE == "hidden":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: as a program with privileges is
    say(type="hello", protocol=1 if MODE == "version" else 2, worker="foreign 1",
        handover=bool(HANDOVER))
    trial = hear()["trial"]
    declared = "worker" in trial and MODE != "other_device"
    backend, index = trial["device"].split(":") if declared else ("foreign", "0")
    global pattern
    handing = HANDOVER if "handover" in trial else ""
    if handing:
        pattern = read_pattern(trial["handover"]["path"])
    global WARMUP, WINDOW  # what the protocol demands, or more
    WARMUP = max(WARMUP, trial["protocol"]["warmup"]["time_ns"] // SAMPLE_NS + 1)
    WINDOW = max(WINDOW, trial["protocol"]["window"]["time_ns"] // SAMPLE_NS + 1)
    if str(trial["batch"]) == os.environ.get("FOREIGN_SLOW_BATCH"):
        global LEVEL_NS
        LEVEL_NS += SAMPLE_NS // 20
    begin = now()
    say(type="device", device={"backend": backend, "index": int(index), "name": "a <b> & \u202e device",
                               "vendor": "v", "uuid": None, "type": "cpu", "simulated": True,
                               "readings": {"device.driver_version": DRIVER | ODD} if KNOWN or ODD else {},
                               "files": json.loads(os.environ.get("FOREIGN_FILES", "[]"))})
    say(type="phase", name="setup", begin_ns=begin, end_ns=now())
    if handing:
        sync("verify_before")
    if handing == "own_check" or (MODE != "no_check_before" and not handing):
        check("verify_before", MODE != "failed_check")
    if MODE == "gap":
        sample(3, 5)
    if MODE != "no_warmup":
        sample(0, 1 if MODE == "short_warmup" else WARMUP, "warmup")
    if MODE == "negative":
        say(type="samples", series="wall_ns", first=WARMUP, values=[-5])
    if MODE == "many_series":
        for i in range(100):
            say(type="samples", series=f"s{i}", first=0, values=[1])
    if MODE == "unknown_type":
        say(type="what")
    if MODE == "harness_word":
        say(type="go")
    mapped = map_to_execute(os.environ["FOREIGN_FILE"]) if MODE in ("replaces", "maps") else None
    if MODE != "no_sync":
        sync("window_start")
    if mapped and MODE == "replaces":
        shutil.copy(os.environ["FOREIGN_FILE"], os.environ["FOREIGN_FILE"] + ".new")
        os.replace(os.environ["FOREIGN_FILE"] + ".new", os.environ["FOREIGN_FILE"])
    first = {"no_warmup": 0, "short_warmup": 1}.get(MODE, WARMUP)
    window = {"few_samples": 3, "short_window": 20}.get(MODE, WINDOW)
    sample(first, window, "window" if MODE != "no_phase" else None)
    if MODE != "no_sync":
        sync("window_end")
    if spots and MODE != "no_check_within":
        check("spot_check", True)
    if handing and handing != "no_after":
        sync("verify_after")
    if MODE != "no_check_after" and not handing:
        check("verify_after", True, error=1.0 if MODE == "passes_anyway" else 0.0)
    say(type="facts", facts={"batch": trial["batch"], "framework": {
        "name": "probe", "precision": "bf16" if MODE == "other_precision" else trial["precision"],
        "threads": 7 if MODE == "other_threads" else (trial.get("worker") or {}).get("threads")}})
    if MODE == "edits_itself":
        with open(__file__, "a", encoding="utf-8") as file:
            file.write("# another program\n")
    if MODE in ("leaves_child", "dies_before_child"):
        child = os.fork()  # with the channel open, as a loader's processes have it
        if child == 0:
            time.sleep(600)
        with open(os.environ["FOREIGN_FILE"], "w", encoding="utf-8") as file:
            file.write(str(child))
    if MODE == "dies_before_child":
        os._exit(3)
    if MODE == "no_end":
        sys.exit(3)
    if MODE == "noisy":
        sys.stderr.write("noise\n" * 1000000)
    if MODE == "own_failure":
        sys.stderr.write("the fan fell off\n")
        end("device_lost", "the device has gone", first, first + window)
    else:
        end("ok", None, first, first + window + (MODE == "miscount"))
    if MODE == "crashes_at_exit":
        os.kill(os.getpid(), signal.SIGSEGV)
    if MODE == "lingers":
        time.sleep(60)


main()
