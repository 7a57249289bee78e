#!/usr/bin/env python3
"""A worker in another language, to show that the worker protocol does not depend on our code.

FOREIGN_MODE chooses how it behaves: "good", or one of many ways to break the rules. FOREIGN_NS is
what its samples take, or "launch_ns" for that of ASSAY_NULL, so that a test knows the result; its
driver then has a version, and its trials differ slightly, by their number in the file
foreign.trials.
"""

import ctypes
import json
import mmap
import os
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
WINDOW = 200 if KNOWN else 20
DRIVER = {"status": "declared", "value": "1", "unit": None, "source": "foreign", "reason": None}
READ = os.fdopen(3, "r", encoding="utf-8")
WRITE = os.fdopen(4, "w", encoding="utf-8")


def say(**message):
    WRITE.write(json.dumps(message) + "\n")
    WRITE.flush()


def hear(kind):
    message = json.loads(READ.readline())
    assert message["type"] == kind, message
    return message


def now():
    return time.monotonic_ns()


def end(status="ok", message=None, window_first=5, samples=5 + WINDOW):
    say(type="end", status=status, message=message, iterations_per_sample=1,
        window_first=window_first, samples=samples)


def level():
    """Shortest time of this trial's samples: seven levels in turn, 0.01 % apart."""
    if not KNOWN:
        return SAMPLE_NS
    with open("foreign.trials", "ab") as file:
        file.write(b".")
        return SAMPLE_NS + (file.tell() - 1) % 7 * SAMPLE_NS // 10000


def sample(first, count):
    say(type="samples", series="wall_ns", first=first,
        values=[LEVEL_NS + SAMPLE_NS // 1000 * ((i * 7919) % 13)
                for i in range(first, first + count)])


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
    if MODE == "hidden":
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: as a program with privileges is
    say(type="hello", protocol=2 if MODE == "version" else 1, worker="foreign 1")
    trial = hear("trial")["trial"]
    if str(trial["batch"]) == os.environ.get("FOREIGN_SLOW_BATCH"):
        global LEVEL_NS
        LEVEL_NS += SAMPLE_NS // 20
    begin = now()
    say(type="device", device={"backend": "foreign", "index": 0, "name": "a <b> & \u202e device",
                               "vendor": "v", "uuid": None, "type": "cpu", "simulated": True,
                               "readings": {"device.driver_version": DRIVER} if KNOWN else {},
                               "files": json.loads(os.environ.get("FOREIGN_FILES", "[]"))})
    say(type="phase", name="setup", begin_ns=begin, end_ns=now())
    check("verify_before", MODE != "failed_check")
    if MODE == "gap":
        sample(3, 5)
    sample(0, 5)
    if MODE == "negative":
        say(type="samples", series="wall_ns", first=5, values=[-5])
    if MODE == "many_series":
        for i in range(100):
            say(type="samples", series=f"s{i}", first=0, values=[1])
    if MODE == "unknown_type":
        say(type="what")
    if MODE == "harness_word":
        say(type="go")
    mapped = map_to_execute(os.environ["FOREIGN_FILE"]) if MODE == "replaces" else None
    if MODE != "no_sync":
        say(type="sync", at="window_start")
        hear("go")
    if mapped:
        shutil.copy(os.environ["FOREIGN_FILE"], os.environ["FOREIGN_FILE"] + ".new")
        os.replace(os.environ["FOREIGN_FILE"] + ".new", os.environ["FOREIGN_FILE"])
    sample(5, WINDOW)
    if MODE != "no_sync":
        say(type="sync", at="window_end")
        hear("go")
    if MODE != "no_check_after":
        check("verify_after", True, error=1.0 if MODE == "passes_anyway" else 0.0)
    say(type="facts", facts={"batch": trial["batch"]})
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
        end("device_lost", "the device has gone")
    else:
        end(samples=30 if MODE == "miscount" else 5 + WINDOW)
    if MODE == "crashes_at_exit":
        os.kill(os.getpid(), signal.SIGSEGV)
    if MODE == "lingers":
        time.sleep(60)


main()
