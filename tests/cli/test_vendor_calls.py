"""Every call to a vendor's library goes wrong in turn, in the commands that make it.

usage: test_vendor_calls.py BACKEND SHIM LIBRARY...

A sample by default. ASSAY_TEST_ALL_CALLS=1: of each function in each process of each journey the first
call, the second, a middle one and the last. ASSAY_TEST_CALLS=all, or FROM:TO as test_every_call counts
them: every single call of the trials. See tests/README.md.
"""

import os
import sys
import unittest
from signal import SIGTERM

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import call_walk  # noqa: E402
from assay_cli import CliTest, run_tests, use_stand_in  # noqa: E402
from call_walk import Fault, Walk  # noqa: E402

BACKEND, SHIM, *LIBRARIES = sys.argv[1:]
DEVICE = BACKEND + ":0"
LONG = "ASSAY_TEST_ALL_CALLS" in os.environ
RANGE = os.environ.get("ASSAY_TEST_CALLS")
AT_ONCE = 100  # trials of one campaign


class VendorCalls(CliTest):
    maxDiff = None

    # The same calls in every trial: numbers of samples and iterations that no time decides.
    PROTOCOL = """extends: quick
name: counted
version: 1
trials: {trials}
warmup: {{iterations: 1, time: 0ms}}
window: {{time: 1ms, min_samples: 2, max_samples: 3}}
sample: {{min_time: 0s}}
trial_timeout: {timeout}
"""
    # The same, of a kind that may be reproduced.
    EVIDENCE = PROTOCOL.replace("quick", "standard") + "cooldown: 0s\nrequired: [device.name]\n"
    HEAD = "workload: {name}\nversion: 1\nkind: {kind}\ndescription: small, for a test\nprecisions: [{precision}]\n"
    MODEL = """batches: [1]
model: {layers: 1, heads: 1, width: 8, context: 4, vocabulary: 8, mlp_ratio: 1}
sequence_length: 4
data: {source: markov, successors: 4}
"""
    # name: kind, precision, body
    WORKLOADS = {
        "triad": ("memory_bound", "fp32", "memory_bound: {kernel: triad, elements: 103}\n"),
        "gemm": ("gemm", "fp32", "gemm: {shapes: [{m: 8, n: 8, k: 8}]}\n"),
        "fp64": ("gemm", "fp64", "gemm: {shapes: [{m: 8, n: 8, k: 8}]}\n"),
        "convolution": ("convolution", "fp32", "convolution:\n  shapes:\n"
                        "    - {height: 5, width: 4, channels: 4, filters: 4, kernel: 3, padding: 1}\n"),
        "inference": ("batched_inference", "bf16", MODEL + "verify: {sequences: 1}\n"),
        "training": ("training_step", "bf16", MODEL + "verify: {sequences: 1, fp32_steps: 1}\n"),
    }
    if BACKEND == "hip":
        del WORKLOADS["convolution"]  # the vendor's convolutions are cuDNN's alone

    def environment(self, **changes):
        return use_stand_in(super().environment(**changes), SHIM, LIBRARIES)

    def setUp(self):
        super().setUp()
        backend = next(b for b in self.assay("devices", "--json").json() if b["backend"] == BACKEND)
        if not backend["available"]:
            self.skipTest(backend.get("reason", "no OpenCL device for the stand-in"))
        self.walked = 0
        self.probe_timeout = "60s"

    def protocol(self, trials, timeout="200s", text=PROTOCOL):
        return self.write("counted.yaml", text.format(trials=trials, timeout=timeout))

    def workload(self, name, copy=""):
        kind, precision, body = self.WORKLOADS[name]
        return self.write(f"{name}{copy}.yaml", self.HEAD.format(
            name="small-" + name + copy, kind=kind, precision=precision) + body)

    def walk(self, command, *words, faults=None):
        walk = Walk(os.path.join(self.folder, "walk"), faults)
        walk.call = self.assay(*command, *words, timeout=3000, ASSAY_PROBE_TIMEOUT=self.probe_timeout,
                               **walk.environment())
        return walk

    def run_walk(self, workloads, trials, faults=None, limit="200s"):
        """A new database with these workloads' trials. Each must be in it, whole, and verified."""
        self.new_db()
        implementation = [] if any("triad" in path for path in workloads) else ["--implementation", "vendor"]
        walk = self.walk(["run", *workloads, *implementation, "--device", DEVICE], "--protocol",
                         self.protocol(trials, limit), "--db", self.db, "--quiet", faults=faults)
        self.check_stored(trials * len(workloads), walk)
        return walk

    def check_stored(self, trials, walk):
        self.assertEqual(len(self.ends()), trials, walk.call.err)
        self.assert_sound()
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out + call.err)

    def ends(self):
        """The ends of the newest campaign's trials, in their order."""
        return self.query("SELECT e.status, e.message, e.exit_code, e.signal, t.id FROM trial t"
                          " JOIN trial_end e ON e.trial = t.id WHERE t.campaign ="
                          " (SELECT max(id) FROM campaign) ORDER BY t.sequence")

    def offset(self, name):
        """Workers before those of the trials, and what a trial calls."""
        walk = self.run_walk([self.workload(name)], 1)
        self.assertEqual([end[0] for end in self.ends()], ["ok"], walk.call.err)
        last = walk.processes("worker")
        return last - 1, walk.tally(f"worker.{last}").calls

    def is_reported(self, trial, fault):
        """Whether a trial's record names the function that failed."""
        name = fault.function.removesuffix("_v2")
        return self.query(
            "SELECT count(*) FROM (SELECT r.body AS body FROM trial_device d JOIN device v ON"
            " v.id = d.device JOIN reading_member m ON m.reading_set = v.readings JOIN reading r ON"
            " r.id = m.reading WHERE d.trial = ?1 UNION ALL SELECT facts FROM trial_end WHERE"
            " trial = ?1) WHERE instr(body, ?2) > 0 AND instr(body, ?3) > 0",
            trial, name, fault.words)[0][0] > 0

    def judge(self, fault, end, tally):
        """What is wrong with how a trial ended, None: nothing."""
        status, message, code, signal, trial = end
        self.walked += 1
        if tally is None or not tally.reached(fault):
            return "the call was not made"
        if fault.deed == "code":
            # The harness ends a worker that cannot report what the protocol requires.
            ended = signal == SIGTERM and status == "unavailable"
            if not ended and (code != 0 or tally.live != 0):
                return f"it left {tally.live} objects, status {code}, signal {signal}"
            if status != "ok":
                return None if fault.function in message and fault.words in message else message
            silent = call_walk.is_reported(fault) or call_walk.is_needed(fault, tally)
            return "it went unnoticed" if silent and not self.is_reported(trial, fault) else None
        if status == "ok":  # it happened after the last message, when all results were there
            return None if call_walk.is_release(fault, tally) else "it went unnoticed"
        expected = "timeout" if fault.deed == "hang" else "crashed"
        if status != expected or fault.function not in message:
            return f"{status}: {message}"
        return None

    def fail_in_trials(self, name, calls, deed="code", limit="200s"):
        """Each of these calls in a trial of its own."""
        offset, _ = self.offset(name)
        for at in range(0, len(calls), AT_ONCE):
            faults = [Fault(*call, deed) for call in calls[at:at + AT_ONCE]]
            walk = self.run_walk([self.workload(name)], len(faults), {
                f"worker.{offset + 1 + i}": fault for i, fault in enumerate(faults)}, limit)
            self.judge_all(name, faults, walk, offset)

    def judge_all(self, name, faults, walk, offset):
        defects = []
        for i, (fault, end) in enumerate(zip(faults, self.ends(), strict=True)):
            wrong = self.judge(fault, end, walk.tally(f"worker.{offset + 1 + i}"))
            if wrong:
                defects.append(f"{name}: {fault}: {wrong}")
        self.assertEqual(defects, [])

    def report(self, what):
        print(f"{BACKEND}: {what}: {self.walked} calls walked", flush=True)

    # ---- a sample, in every run ----

    def test_a_sample_of_calls(self):
        calls = call_walk.SAMPLE[BACKEND]
        offset = 1
        faults = [Fault(*call) for call in calls]
        walk = self.run_walk([self.workload("triad")], len(faults) + 1, {
            f"worker.{offset + 1 + i}": fault for i, fault in enumerate(faults)})
        self.assertEqual(walk.call.status, 1)
        ends = self.ends()
        self.assertEqual(ends[-1][0], "ok", "the trial in which nothing fails")
        for i, fault in enumerate(faults):
            wrong = self.judge(fault, ends[i], walk.tally(f"worker.{offset + 1 + i}"))
            self.assertIsNone(wrong, fault)

    # ---- the long form ----

    @unittest.skipUnless(LONG, "ASSAY_TEST_ALL_CALLS")
    def test_calls_of_trials(self):
        for name in self.WORKLOADS:
            _, calls = self.offset(name)
            self.fail_in_trials(name, call_walk.some_calls(calls))
        self.report("trials")

    @unittest.skipUnless(RANGE, "ASSAY_TEST_CALLS")
    def test_every_call(self):
        every = [(name, *call) for name in self.WORKLOADS
                 for call in call_walk.every_call(self.offset(name)[1])]
        first, last = (0, len(every)) if RANGE == "all" else map(int, RANGE.split(":"))
        print(f"{BACKEND}: calls {first}:{min(last, len(every))} of {len(every)}", flush=True)
        for name in self.WORKLOADS:
            self.fail_in_trials(name, [call[1:] for call in every[first:last] if call[0] == name])
            self.report(f"every call, up to {name}")

    @unittest.skipUnless(LONG, "ASSAY_TEST_ALL_CALLS")
    def test_libraries_that_crash_exit_or_hang(self):
        seen = set()
        for name in self.WORKLOADS:
            _, calls = self.offset(name)
            new = [(function, 1) for function in calls if function not in seen]
            seen |= set(calls)
            for deed in ("crash", "exit", "hang"):
                self.fail_in_trials(name, new, deed, "2s" if deed == "hang" else "200s")
        self.report("crashes, exits and hangs")

    @unittest.skipUnless(LONG, "ASSAY_TEST_ALL_CALLS")
    def test_calls_of_choosing(self):
        """A worker that chooses for the trials: failures are reported, and the trials continue."""
        for name in self.WORKLOADS:
            self.run_walk([self.workload(name)], 1)
            walk = self.run_walk([self.workload(name)], 1)
            if walk.processes("worker") < 2:
                continue
            defects = []
            for fault in [Fault(*call) for call in call_walk.some_calls(walk.tally("worker.1").calls)]:
                wrong = self.choose(name, fault)
                defects += [f"{name}: {fault}: {wrong}"] if wrong else []
            self.assertEqual(defects, [])
        self.report("choosing")

    def choose(self, name, fault):
        """What is wrong with a run whose choice had a fault, None: nothing."""
        walk = self.run_walk([self.workload(name)], 1, {"worker.1": fault})
        self.walked += 1
        tally = walk.tally("worker.1")
        if self.ends()[0][0] != "ok" or tally.live != 0:
            return f"{self.ends()[0]}, {tally.live} objects"
        if not tally.reached(fault) or not call_walk.is_needed(fault, tally):
            return None
        shown = self.assay("show", "--all", "last/1", "--db", self.db).out
        if fault.function not in walk.call.err or fault.function not in shown.replace("\n", " "):
            return f"{walk.call.err}\n{shown}"
        return None

    def fail_in_command(self, command, trials, status, first=0):
        """Some calls of each trial of a command that plans its own trials, all at once; not of the
        `first`, before which a worker may choose."""
        walk = self.walk(command(trials))
        self.check_stored(trials, walk)
        self.assertIn(walk.call.status, status, walk.call.err)
        offset = walk.processes("worker") - trials + first
        calls = call_walk.some_calls(walk.tally(f"worker.{offset + 1}").calls)
        for at in range(0, len(calls), trials - first):
            faults = [Fault(*call) for call in calls[at:at + trials - first]]
            walk = self.walk(command(trials), faults={
                f"worker.{offset + 1 + i}": fault for i, fault in enumerate(faults)})
            self.check_stored(trials, walk)
            defects = []
            for i, (fault, end) in enumerate(zip(faults, self.ends()[first:])):
                wrong = self.judge(fault, end, walk.tally(f"worker.{offset + 1 + i}"))
                defects += [f"{fault}: {wrong}"] if wrong else []
            self.assertEqual(defects, [])

    @unittest.skipUnless(LONG, "ASSAY_TEST_ALL_CALLS")
    def test_calls_of_ab(self):
        path = self.workload("gemm")
        arms = ["--a", "implementation=vendor", "--a", "env:IRRELEVANT=1", "--b", "implementation=vendor"]
        self.fail_in_command(lambda trials: [
            "ab", path, *arms, "--device", DEVICE, "--protocol", self.protocol(5, text=self.EVIDENCE), "--db", self.db,
            "--pairs", str(trials // 2)], 40, (0, 1, 2, 3), first=2)
        self.report("ab")

    def measure_evidence(self, trials):
        """A result that may be reproduced; its name."""
        self.new_db()
        call = self.assay("run", self.workload("gemm"), "--implementation", "vendor", "--device", DEVICE,
                          "--protocol", self.protocol(trials, text=self.EVIDENCE), "--db", self.db,
                          "--quiet", timeout=3000)
        self.assertEqual(call.status, 0, call.err)
        return self.query("SELECT result FROM results")[0][0]

    @unittest.skipUnless(LONG, "ASSAY_TEST_ALL_CALLS")
    def test_calls_of_reproduce(self):
        original = self.measure_evidence(40)
        self.fail_in_command(lambda trials: ["reproduce", original, "--db", self.db, "--quiet"], 40,
                             (0, 1, 3))
        self.report("reproduce: trials")

    @unittest.skipUnless(LONG, "ASSAY_TEST_ALL_CALLS")
    def test_calls_of_finding_a_device_to_reproduce_on(self):
        """The device is found, and all trials end well, or the failed function is named."""
        self.probe_timeout = "5s"
        original = self.measure_evidence(5)
        command = ["reproduce", original, "--db", self.db, "--quiet"]
        calls = self.walk(command).tally("probe.1").calls
        defects = []
        for fault in call_walk.faults_of(calls):
            walk = self.walk(command, faults={"probe.1": fault})
            self.walked += 1
            tally = walk.tally("probe.1")
            said = walk.call.err + walk.call.out.replace("\n", " ")
            if fault.deed == "code" and tally.live != 0:
                defects.append(f"{fault}: it left {tally.live} objects")
            if fault.deed == "code" and not call_walk.is_needed(fault, tally):
                self.assertEqual([end[0] for end in self.ends()], ["ok"] * 5, fault)
            elif fault.function.removesuffix("_v2") not in said or walk.call.status != 2:
                defects.append(f"{fault}: {walk.call.status}: {said}")
        self.check_stored(5, walk)
        self.report("reproduce: probe")
        self.assertEqual(defects, [])

    @unittest.skipUnless(LONG, "ASSAY_TEST_ALL_CALLS")
    def test_calls_of_devices(self):
        """Device and libraries are shown if the failure is tolerable, else the reason."""
        self.probe_timeout = "2s"
        whole = self.walk(["devices", BACKEND, "--verbose"])
        self.shown = whole.call.out
        roles = sorted({name.rsplit(".", 1)[0] for name in os.listdir(whole.folder)} - {"plan"})
        tallies = {role: whole.tally(role + ".1") for role in roles}
        defects = []
        for role, tally in tallies.items():
            for fault in call_walk.faults_of(tally.calls):
                wrong = self.show_devices(role, fault)
                defects += [f"{role} {fault}: {wrong}"] if wrong else []
        self.report("devices: " + ", ".join(roles))
        self.assertEqual(defects, [])

    def show_devices(self, role, fault):
        """What is wrong with what is shown, None: nothing."""
        walk = self.walk(["devices", BACKEND, "--verbose"], faults={role + ".1": fault})
        call = walk.call
        tally = walk.tally(role + ".1")
        self.walked += 1
        if call.status not in (0, 1):
            return call.err
        if tally is None or not tally.reached(fault):
            return None
        reported = fault.function.removesuffix("_v2") in call.out.replace("\n", " ")
        again = call.out == self.shown  # it was queried a second time, and all is reported
        if fault.deed == "code" and tally.live != 0:
            return f"it left {tally.live} objects"
        if (fault.deed == "code" and not call_walk.is_needed(fault, tally)
                and not call_walk.is_reported(fault)):
            return None
        return None if reported or again else call.out

    @unittest.skipUnless(LONG, "ASSAY_TEST_ALL_CALLS")
    def test_calls_of_telemetry(self):
        """Telemetry fails no trial; missing channels name the failed function."""
        walk = self.run_walk([self.workload("triad")], 2)
        calls = walk.tally("telemetry.3").calls
        faults = call_walk.faults_of(calls)
        walk = self.run_walk([self.workload("triad")], len(faults) + 1, {
            f"telemetry.{3 + i}": fault for i, fault in enumerate(faults)})
        defects = []
        for i, (fault, end) in enumerate(zip(faults, self.ends()[1:], strict=True)):
            tally = walk.tally(f"telemetry.{3 + i}")
            self.walked += 1
            if tally is None or not tally.reached(fault):
                continue
            if end[0] != "ok" or end[2] != 0:
                defects.append(f"{fault}: {end}")
            if (not call_walk.SILENT.match(str(fault))
                    and not self.is_reported_in_telemetry(end[4], fault)):
                defects.append(f"{fault}: it went unnoticed")
        self.assertEqual(defects, [])
        self.report("telemetry")

    def is_reported_in_telemetry(self, trial, fault):
        return self.query(
            "SELECT count(*) FROM (SELECT t.message AS body FROM telemetry t WHERE t.trial = ?1 UNION ALL"
            " SELECT CAST(c.body AS TEXT) FROM telemetry t JOIN content c ON c.digest = t.channels WHERE"
            " t.trial = ?1 UNION ALL SELECT r.body FROM telemetry t JOIN reading_member m ON m.reading_set"
            " IN (t.readings_begin, t.readings_end) JOIN reading r ON r.id = m.reading WHERE t.trial = ?1)"
            " WHERE instr(body, ?2) > 0", trial, fault.function.removesuffix("_v2"))[0][0] > 0


if __name__ == "__main__":
    run_tests(sys.argv[:1])
