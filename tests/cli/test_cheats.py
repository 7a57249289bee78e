"""Stacks that leave out work, and workers and clocks that lie: every one ends with the reason.

usage: test_cheats.py [Kernels | Copies | Convolutions | Libraries | Surroundings | Times] NAME=LIBRARY...   (tests/support/cheats)
The honest run beside each cheat is the same library without CHEAT.
"""

import ctypes
import glob
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, CliTest, pocl_cache, run_tests, wait_until  # noqa: E402

CHEATS = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
STAND_INS = {"cuda": ("CUDA", "NVRTC", "CUBLASLT", "CUDNN", "NVML"),
             "hip": ("HIP", "HIPRTC", "HIPBLASLT", "ROCBLAS", "ROCM_SMI")}

KERNELS = ("cpu", "opencl", "cuda", "hip")  # whose launches are cheated, and on which device of that name
GEMMS = {"onednn": "cpu:0", "cuda": "cuda:0", "hip": "hip:0"}

TRIAD = """workload: small_triad
version: 1
kind: memory_bound
description: small, for a test
precisions: [fp32]
memory_bound: {kernel: triad, elements: 100003}
"""
# Some milliseconds, where that of small_triad is hardly longer than a launch.
LONG_TRIAD = TRIAD.replace("small_triad", "long_triad").replace("100003", "4000003")
GEMM = """workload: small_gemm
version: 1
kind: gemm
description: small, for a test
precisions: [fp32]
gemm: {shapes: [{m: 64, n: 96, k: 128}]}
"""

CONVOLUTION = """workload: small_convolution
version: 1
kind: convolution
description: small, for a test
precisions: [fp32]
convolution: {shapes: [{height: 13, width: 11, channels: 4, filters: 8, kernel: 3, padding: 1}]}
"""

LAUNCH = """workload: small_launch
version: 1
kind: launch
description: small, for a test
batches: [10]
scenario: single_stream
"""

TRANSFER = """workload: small_transfer
version: 1
kind: transfer
description: small, for a test
batches: [65544]
scenario: single_stream
transfer: {direction: %s}
"""

TRAINING = """workload: small_training
version: 1
kind: training_step
description: A training step of a tiny GPT-2 on 4 sequences of 32 generated tokens
precisions: [fp32]
batches: [4]
scenario: offline
model:
  layers: 1
  heads: 2
  width: 64
  context: 32
  vocabulary: 256
  mlp_ratio: 4
sequence_length: 32
data:
  source: markov
  successors: 8
optimizer:
  learning_rate: 1.0e-3
  beta1: 0.9
  beta2: 0.95
  epsilon: 1.0e-8
  weight_decay: 0.1
  warmup_steps: 10
verify:
  sequences: 4
  loss_steps: 20
  loss_margin: 0.05
"""

SYNTHETIC = """workload: small_synthetic
version: 1
kind: synthetic
description: small, for a test
synthetic: {launches: 1, elements: 64}
"""

# One trial with many spot checks, so that a cheat at every second iteration passes with 2^-16.
PROTOCOL = """extends: quick
name: spots
version: 1
trials: 1
verification: each_trial
warmup: {iterations: 2, time: 10ms}
window: {time: 300ms, min_samples: 5, max_time: 60s}
spot_checks: {count: 16, least: 16, time: 0s}
trial_timeout: 200s
"""

SERVED = """workload: served
version: 1
kind: synthetic
description: A server of a test
scenario: server
synthetic: {launches: 1, elements: 64}
service: {base: 1ms}
load: {arrivals: {process: poisson}, rates: [80]}
batching: {policy: deadline, max_batch: 4, queue: 1000}
slo: {e2e: 1s, attain: 0.9}
"""
UNDER_LOAD = """extends: serving_look
name: few
version: 1
trials: 1
warmup: {iterations: 2, time: 1ms}
serving: {requests: 400, drain: 20s}
telemetry: {interval: 0s}
trial_timeout: 200s
"""


class CheatTest(CliTest):
    def environment(self, **changes):
        return super().environment(**{"POCL_CACHE_DIR": pocl_cache(), **changes})

    def measure(self, workload, device, *words, protocol=PROTOCOL, **environment):
        """(status, message) of the one trial."""
        self.new_db()
        call = self.assay("run", self.write("it.yaml", workload), "--device", device, "--protocol",
                          self.write("spots.yaml", protocol), "--db", self.db, *words, **environment)
        ends = self.query("SELECT status, message FROM trial_end")
        self.assertEqual(len(ends), 1, call.err)
        verified = self.assay("verify", self.db)
        self.assertEqual(verified.status, 0, verified.out)
        return ends[0]

    def library(self, name):
        if name not in CHEATS:
            self.skipTest(f"{name} is not installed here")
        if name == "cpu":  # the honest compiler has the same digest, and so have its kernels' names in the cache
            return {"ASSAY_CC": CHEATS[name], "XDG_CACHE_HOME": os.path.join(self.folder, "cheating")}
        if name in STAND_INS:
            return {"ASSAY_LIB_" + each: CHEATS[name] for each in STAND_INS[name]}
        return {"ASSAY_LIB_" + ("DNNL" if name == "onednn" else name.upper()): CHEATS[name]}

    def each(self, name, workload, device, *words, cheats=("second", "three", "cached", "low")):
        """Honest first; then each cheat, which a check finds. How many iterations the honest one had."""
        library = self.library(name)
        self.assertEqual(self.measure(workload, device, *words, **library), ("ok", None))
        iterations = self.query("SELECT samples * iterations_per_sample FROM trial_end")[0][0]
        for cheat in cheats:
            with self.subTest(library=name, cheat=cheat):
                status, message = self.measure(workload, device, *words, CHEAT=cheat, **library)
                self.assertEqual(status, "check_failed", message)
                if cheat == "cached":  # right at the first check, and as long as nothing changes
                    self.assertIn("spot check", message)
        return iterations

    def later(self, name, workload, device, *words, calls):
        """
        After the first check, long before the last one: only those within the window find it. `calls`: about how
        many an honest trial has; those before the window are unknown.
        """
        library, found = self.library(name), []
        for part in (0.2, 0.1, 0.4, 0.05, 0.8, 1.6, 3.2):
            after = round(calls * part)
            status, message = self.measure(workload, device, *words, CHEAT="later",
                                           CHEAT_AFTER=str(after), **library)
            found.append((after, status, message))
            if "spot check" in (message or ""):
                self.assertEqual(status, "check_failed")
                return
        self.fail(f"no spot check found it: {found}")


class Kernels(CheatTest):
    def test_kernels(self):
        for name in KERNELS:
            with self.subTest(library=name):
                calls = self.each(name, TRIAD, name + ":0")
                self.later(name, TRIAD, name + ":0", calls=calls)


class Copies(CheatTest):
    def test_launches(self):
        """The counter is too low for ever, however few were left out."""
        for name in ("cpu", "opencl"):
            with self.subTest(library=name):
                library = self.library(name)
                self.assertEqual(self.measure(LAUNCH, name + ":0", **library), ("ok", None))
                status, message = self.measure(LAUNCH, name + ":0", CHEAT="later", CHEAT_AFTER="500", **library)
                self.assertEqual(status, "check_failed", message)
                self.assertRegex(message, "the counter is [0-9]+, expected [0-9]+: of the launches since it was last set,"
                                          " [0-9]+ did not run")

    def test_copies(self):
        """Left out, of half of the bytes, of the last time's: once the first check is over."""
        library = self.library("opencl")
        for direction in ("host_to_device", "device_to_host", "both", "device_to_device"):
            transfer = TRANSFER % direction
            self.assertEqual(self.measure(transfer, "opencl:0", **library), ("ok", None))
            for cheat in ("copy_dropped", "copy_half", "copy_stale"):
                if direction == "device_to_device" and cheat == "copy_stale":
                    continue  # what is left out leaves the last time's bytes there
                with self.subTest(direction=direction, cheat=cheat):
                    status, message = self.measure(transfer, "opencl:0", CHEAT=cheat, CHEAT_COPY="65544",
                                                   CHEAT_AFTER="40", **library)
                    self.assertEqual(status, "check_failed", message)
                    self.assertRegex(message, "(to_device|to_host|within_device): [0-9]+ of [0-9]+ bytes are not the"
                                              " source's; byte [0-9]+: got 0x.., expected 0x..")


class Convolutions(CheatTest):
    def test_convolutions(self):
        """Those of a library, and assay's own text, which the stand-ins compile as OpenCL does."""
        for name, device, *words in (("onednn", "cpu:0", "--implementation", "vendor"),
                                     ("cuda", "cuda:0", "--implementation", "vendor"),
                                     ("cpu", "cpu:0"), ("opencl", "opencl:0")):
            with self.subTest(library=name):
                calls = self.each(name, CONVOLUTION, device, *words,
                                  cheats=("second", "three") + (("cached", "low") if name == "onednn" else ()))
                self.later(name, CONVOLUTION, device, *words, calls=calls)


class Libraries(CheatTest):
    def test_gemms(self):
        for name, device in GEMMS.items():
            with self.subTest(library=name):
                calls = self.each(name, GEMM, device, "--implementation", "vendor")
                self.later(name, GEMM, device, "--implementation", "vendor", calls=calls)

    def test_training_by_a_library(self):
        """Its GEMMs are left out, from the first on and within the window; the kernels are honest."""
        for name, device in GEMMS.items():
            with self.subTest(library=name):
                steps = self.each(name, TRAINING, device, "--implementation", "vendor", cheats=("second", "three"))
                self.later(name, TRAINING, device, "--implementation", "vendor", calls=20 * steps)

    def test_training(self):
        """A step that computes no loss, and one that runs half of the batch."""
        for name in KERNELS:
            with self.subTest(library=name):
                library = self.library(name)
                self.assertEqual(self.measure(TRAINING, name + ":0", **library), ("ok", None))
                for cheat in ({"CHEAT": "named", "CHEAT_KERNEL": "cross_entropy_forward"}, {"CHEAT": "half"}):
                    with self.subTest(library=name, **cheat):
                        status, message = self.measure(TRAINING, name + ":0", **library, **cheat)
                        self.assertEqual(status, "check_failed", message)


class Times(CheatTest):
    """Stacks that do the work of a check, and of nothing else: the right results, and a rate without bounds."""

    def test_iteration_that_is_checked(self):
        library = self.library("opencl")
        self.assertEqual(self.measure(LONG_TRIAD, "opencl:0", **library), ("ok", None))
        (least, median), = self.query("SELECT facts ->> '$.conduct.checked_least_ns', facts ->>"
                                      " '$.conduct.checked_median_ns' FROM trial_end")
        self.assertLessEqual(least, median)
        self.assertGreater(least, 100000)  # it moves 48 MB
        self.assertGreaterEqual(self.query("SELECT facts ->> '$.conduct.read_back_ns' FROM trial_end")[0][0] or 0, 0)
        (within, samples), = self.query("SELECT facts ->> '$.conduct.read_within', samples - window_first FROM trial_end")
        self.assertLessEqual(within, samples)
        # What is put off until it is read is late in both, and too few samples of a busy machine are read back.
        for cheat, clauses in (("unchanged", ("spot_checks.time: ",)), ("lazy", ("clock.result: ", "spot_checks.time: "))):
            with self.subTest(cheat=cheat):
                status, message = self.measure(LONG_TRIAD, "opencl:0", CHEAT=cheat, **library)
                (changed, samples), = self.query(
                    "SELECT facts ->> '$.conduct.changed_samples', samples - window_first FROM trial_end")
                # It had to do the work of nearly all: what is left is too little to be found for certain.
                if cheat == "unchanged" and samples - changed < 8 and status == "ok":
                    continue
                self.assertEqual(status, "invalid", message)
                self.assertTrue(message.startswith(clauses), message)

    def test_work_for_checks_alone(self):
        """What works only where an output was filled before, as by checks: iterations too short for a rule of times.
        Samples have other inputs, and outputs that are compared."""
        library = self.library("opencl")
        self.assertEqual(self.measure(TRIAD, "opencl:0", **library), ("ok", None))
        (changed, samples), = self.query(
            "SELECT facts ->> '$.conduct.changed_samples', samples - window_first FROM trial_end")
        self.assertTrue(0 < changed <= samples, (changed, samples))
        status, message = self.measure(TRIAD, "opencl:0", CHEAT="poisoned", **library)
        self.assertEqual(status, "check_failed", message)
        self.assertRegex(message, "spot check of sample [0-9]+, whose inputs were changed before it")

    def test_work_in_the_gaps(self):
        """What does not wait for the device: reading the result does, in the sample, or in the gaps its events are read.
        Forty samples have eight read-backs on a busy machine, too."""
        library = self.library("opencl")
        protocol = PROTOCOL.replace("min_samples: 5", "min_samples: 40") + "reference: {interval: 0s}\n"
        self.assertEqual(self.measure(LONG_TRIAD, "opencl:0", protocol=protocol, **library), ("ok", None))
        shares = [self.query("SELECT body ->> '$.metrics.%s_share.value' FROM estimate" % part)[0][0]
                  for part in ("sample", "check", "gap")]
        aside, = self.query("SELECT sum(e.facts ->> '$.conduct.reference_ns') * 1.0 / sum(p.end_ns - p.begin_ns) FROM "
                            "trial_end e JOIN phase p ON p.trial = e.trial AND p.name = 'window'")[0]
        self.assertAlmostEqual(sum(shares) + aside, 1, places=6)
        self.assertGreater(min(shares), 0)
        status, message = self.measure(LONG_TRIAD, "opencl:0", protocol=protocol, CHEAT="early", **library)
        self.assertEqual(status, "invalid", message)
        self.assertTrue(message.startswith(("clock.gaps: ", "clock.result: ")), message)


class Surroundings(CheatTest):
    """Caches of kernels, libraries that are exchanged, and clocks."""

    def replace(self, path):
        """Puts an object in the place of a compiled kernel that calls each of its functions once in four times."""
        honest, source = path + ".honest", os.path.join(self.folder, "less.c")
        shutil.copy(path, honest)
        library = ctypes.CDLL(honest)
        names = subprocess.run(["nm", "-D", "--defined-only", honest], capture_output=True, check=True, text=True)
        text = "#include <dlfcn.h>\ntypedef long run(long, long, long, long, long, long);\n"
        for _, kind, name in (line.split() for line in names.stdout.splitlines()):
            if kind == "R":  # what the CPU backend knows a kernel's parameters by
                value = ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, name)))
                text += 'const char %s[] = "%s";\n' % (name, value.decode())
            elif kind == "T":
                text += ("long %s(long a, long b, long c, long d, long e, long f) { static run *real; static int"
                         " calls; if (!real) real = (run *)dlsym(dlopen(\"%s\", RTLD_NOW), \"%s\"); return"
                         " calls++ %% 4 ? 0 : real(a, b, c, d, e, f); }\n" % (name, honest, name))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", path, source], check=True)

    @staticmethod
    def digest(path):
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def replace_kernel(self, folder):
        """In the cache of the CPU backend, together with the file that holds its digest."""
        (cached,) = [path for path in glob.glob(os.path.join(folder, "assay", "kcache", "*.so"))
                     if self.holds(path, b"assay_run_stream_triad")]
        digest = self.digest(cached)
        self.replace(cached)
        note = cached[:-3] + ".txt"
        with open(note, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(digest, text)
        with open(note, "w", encoding="utf-8") as file:
            file.write(text.replace(digest, self.digest(cached)))
        return digest

    @staticmethod
    def holds(path, word):
        with open(path, "rb") as file:
            return word in file.read()

    def test_replaced_kernel(self):
        """A first look takes it from the cache, and a check finds it; evidence compiles each trial's anew."""
        cache = os.path.join(self.folder, "cache")
        self.assertEqual(self.measure(TRIAD, "cpu:0", XDG_CACHE_HOME=cache), ("ok", None))
        digest = self.replace_kernel(cache)
        status, message = self.measure(TRIAD, "cpu:0", XDG_CACHE_HOME=cache)
        self.assertEqual(status, "check_failed", message)
        self.new_db()
        call = self.assay("run", self.write("it.yaml", TRIAD), "--device", "cpu:0", "--protocol",
                          self.write("evidence.yaml", self.EVIDENCE), "--db", self.db, XDG_CACHE_HOME=cache)
        self.assertEqual(call.status, 0, call.err)
        binaries = self.query("SELECT DISTINCT json_extract(c.body, '$.binary') FROM artifact a JOIN content c"
                              " ON c.digest = a.content")
        self.assertEqual(binaries, [(digest,)])

    def test_other_bytes_of_one_compiler(self):
        """A compiler that reads a file which nobody else does: other bytes are a factor, and a finding in one result."""
        more, cc = os.path.join(self.folder, "more"), os.path.join(self.folder, "cc")
        with open(cc, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexec cc "$@" $(cat "%s")\n' % more)
        os.chmod(cc, 0o755)
        evidence, results = self.write("evidence.yaml", self.EVIDENCE), []
        for options in ("", "", "-O1", "changes"):
            with open(more, "w", encoding="utf-8") as file:
                file.write(options.replace("changes", ""))
            process = self.start("run", self.write("it.yaml", TRIAD), "--device", "cpu:0", "--protocol", evidence,
                                 "--db", self.db, "--json", ASSAY_CC=cc)
            if options == "changes":
                wait_until(lambda: self.ends() >= 17, process)
                with open(more, "w", encoding="utf-8") as file:
                    file.write("-O1")
            out, err = process.communicate()
            self.assertEqual(process.returncode, 0, err)
            results.append(json.loads(out)["data"]["results"][0]["id"])
        kernel = "kernel.memory_stream.h.binary"
        for other, expected in ((1, []), (2, [kernel]), (3, [kernel])):
            call = self.assay("compare", results[0], results[other], "--db", self.db, "--json")
            factors = call.json()["comparability"]["factors"]
            self.assertEqual([field for factor in factors for field in factor["fields"]], expected, (other, factors))
            self.assertEqual([factor["factor"] for factor in factors], ["kernel binary"] if expected else [])
            shown = " ".join(self.assay("show", "--all", results[other], "--db", self.db).out.split())
            self.assertEqual("memory_stream.h was compiled to 2 different kernels" in shown, other == 3, shown)
        self.assertEqual(self.assay("verify", self.db).status, 0)

    def test_replaced_kernel_of_a_driver(self):
        """In the cache of a vendor's driver, which is PoCL's, also below the stand-ins: a check finds it."""
        for name in KERNELS[1:]:
            with self.subTest(library=name):
                library = self.library(name) | {"POCL_CACHE_DIR": os.path.join(self.folder, name)}
                os.mkdir(library["POCL_CACHE_DIR"])
                self.assertEqual(self.measure(TRIAD, name + ":0", **library), ("ok", None))
                pattern, replaced = os.path.join(library["POCL_CACHE_DIR"], "**", "stream_triad.so"), set()
                status, message = "ok", "no kernel in the cache"
                # A group size that is chosen by time may be another in the next run, whose kernel is compiled then.
                while status == "ok" and (new := set(glob.glob(pattern, recursive=True)) - replaced):
                    for kernel in new:
                        self.replace(kernel)
                    replaced |= new
                    status, message = self.measure(TRIAD, name + ":0", **library)
                self.assertEqual(status, "check_failed", message)

    def test_resume_with_another_library(self):
        """What is left of a campaign is not measured by a library that leaves out work, by its path, in its place
        or where a link leads now."""
        path, honest = os.path.join(self.folder, "libOpenCL.so"), os.path.join(self.folder, "one", "libOpenCL.so")
        os.mkdir(os.path.dirname(honest))
        shutil.copy(self.library("opencl")["ASSAY_LIB_OPENCL"], honest)
        os.symlink(honest, path)
        protocol = self.write("slow.yaml", self.FAST.replace("trials: 2", "trials: 6"))
        process = self.start("run", self.write("it.yaml", TRIAD), "--device", "opencl:0", "--protocol", protocol,
                             "--db", self.db, "--quiet", ASSAY_LIB_OPENCL=path)
        wait_until(lambda: os.path.exists(self.db) and self.ends() >= 1, process)
        process.send_signal(signal.SIGINT)
        process.communicate()
        done = self.ends()
        self.assertLess(done, 6)
        resume = ("run", "--resume", "last", "--db", self.db)
        call = self.assay(*resume)
        self.assertNotEqual(call.status, 0, call.err)
        self.assertIn('the variable ASSAY_LIB_OPENCL was "%s" in the first trial and is not set' % path, call.err)
        self.assertEqual(self.ends(), done)
        another = os.path.join(self.folder, "two", "libOpenCL.so")
        os.mkdir(os.path.dirname(another))
        shutil.copy(CHEATS["opencl"], another)
        with open(another, "ab") as file:
            file.write(b"another")
        os.rename(honest, honest + ".away")
        shutil.copy(another, honest)
        call = self.assay(*resume, ASSAY_LIB_OPENCL=path)
        self.assertNotEqual(call.status, 0, call.err)
        self.assertIn("the file library.libOpenCL was ", call.err)
        self.assertEqual(self.ends(), done)
        os.rename(honest + ".away", honest)
        os.remove(path)
        os.symlink(another, path)
        self.assay(*resume, ASSAY_LIB_OPENCL=path)
        later = self.query("SELECT status, message FROM trial_end ORDER BY trial")[done:]
        self.assertEqual({status for status, _ in later}, {"invalid"})
        for _, message in later:
            self.assertIn("stack: the file library.libOpenCL was ", message)
        verified = self.assay("verify", self.db)
        self.assertEqual(verified.status, 0, verified.out)

    def ends(self):
        try:
            return self.query("SELECT count(*) FROM trial_end")[0][0]
        except sqlite3.OperationalError:  # not yet there
            return 0

    def test_honest_runs_pass(self):
        """ASSAY_TEST_HONEST: how many, in turn over the devices, besides the one beside each cheat; a check that
        fails by chance would fail some of many."""
        kinds = [(name, workload, name + ":0") for workload in (TRIAD, CONVOLUTION, TRAINING) for name in KERNELS]
        kinds += [(name, workload, device, "--implementation", "vendor") for workload in (GEMM, TRAINING)
                  for name, device in GEMMS.items()]
        kinds = [kind for kind in kinds if kind[0] in CHEATS]
        for i in range(int(os.environ.get("ASSAY_TEST_HONEST", 0))):
            name, *words = kinds[i % len(kinds)]
            self.assertEqual(self.measure(*words, **self.library(name)), ("ok", None), (i, name, words))

    # From the harness, with whose programs it comes back; and from the harness for good.
    HIDES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char kept[4096] = "LD_PRELOAD=";
__attribute__((constructor)) static void hide(void)
{
    const char *value = getenv("LD_PRELOAD");
    strncat(kept, value ? value : "", 4000);
    unsetenv("LD_PRELOAD");
}
#ifdef RETURNS
int execve(const char *path, char *const *argv, char *const *envp)
{
    int (*real)(const char *, char *const *, char *const *) =
        (int (*)(const char *, char *const *, char *const *))dlsym(RTLD_NEXT, "execve");
    static char *more[4096];
    size_t count = 1;
    more[0] = kept;
    for (; *envp && count < 4095; envp++)
        more[count++] = *envp;
    return real(path, argv, more);
}
#endif
"""

    def test_a_preload_that_hides(self):
        source, hidden = self.write("hides.c", self.HIDES), os.path.join(self.folder, "hides.so")
        for words, least in ((None, 0), ((), 1), (("-DRETURNS",), 3)):
            environment = {}
            if words is not None:
                subprocess.run(["cc", *words, "-shared", "-fPIC", "-o", hidden, source, "-ldl"], check=True)
                environment["LD_PRELOAD"] = hidden
            self.assertEqual(self.measure(SYNTHETIC, "null:0", **environment), ("ok", None))
            (count,), = self.query("SELECT facts ->> '$.conduct.hidden' FROM trial_end")
            found = {one["code"] for one in self.assay("show", "last", "--json", "--db", self.db).document["findings"]}
            self.assertEqual((count, "hidden" in found), (least, least > 0), words)
            self.assertNotIn("preloaded", found)

    def test_clock_of_the_worker(self):
        """A quarter of the time, by a library that is preloaded."""
        status, message = self.measure(TRIAD, "cpu:0", LD_PRELOAD=CHEATS["clock"], CHEAT_CLOCK="worker")
        self.assertEqual(status, "invalid", message)
        self.assertTrue(message.startswith("clock."), message)

    def test_clock_of_the_worker_within_the_window(self):
        """Its window begins and ends where the harness lets it; only other clocks show the rate."""
        status, message = self.measure(TRIAD, "cpu:0", protocol=PROTOCOL.replace("time: 300ms", "time: 3s"),
                                       LD_PRELOAD=CHEATS["clock"], CHEAT_CLOCK="worker",
                                       CHEAT_AFTER_MS="2500")
        self.assertEqual(status, "invalid", message)
        self.assertRegex(message, "^clock.(raw|tsc|window): ")

    def test_clock_that_steps_under_load(self):
        """The date may step; CLOCK_MONOTONIC of a worker or its generator may not. Nothing is lost of either."""
        for reached, environment in (
                ("ok", {"CHEAT_CLOCK": "", "CHEAT_REALTIME": "1", "CHEAT_STEP_MS": "3600000"}),
                ("ok", {"CHEAT_CLOCK": "", "CHEAT_REALTIME": "1", "CHEAT_STEP_MS": "-3600000"}),
                ("invalid", {"CHEAT_CLOCK": "worker", "CHEAT_STEP_MS": "2500"}),
                ("invalid", {"CHEAT_CLOCK": "worker", "CHEAT_STEP_MS": "-2500"})):
            with self.subTest(**environment):
                status, message = self.measure(SERVED, "null:0", protocol=UNDER_LOAD, LD_PRELOAD=CHEATS["clock"],
                                               CHEAT_AFTER_MS="2500", **environment)
                self.assertEqual(status, reached, message)
                if status == "invalid":
                    self.assertRegex(message, r"^(clock\.|request )")
                self.assertEqual(self.query("SELECT count FROM series WHERE name = 'request:status'"), [(400,)])

    def test_clock_that_is_slightly_slow(self):
        """Less than 1 %, which a time server may do: a finding, as is what was preloaded."""
        for after in (2000, 4000, 8000, 16000):
            status, message = self.measure(
                TRIAD, "cpu:0", protocol=PROTOCOL.replace("time: 300ms", "time: 4s"),
                LD_PRELOAD=CHEATS["clock"], CHEAT_CLOCK="worker", CHEAT_AFTER_MS=str(after),
                CHEAT_LOSES_PPM="8000")
            if status == "invalid":  # it was slow before the window, whose beginning then is another
                self.assertTrue(message.startswith("clock.window"), message)
                continue
            self.assertEqual(status, "ok", message)
            call = self.assay("show", "last", "--json", "--db", self.db)
            found = {(one["code"], one.get("subject")) for one in call.document["findings"]}
            self.assertIn(("preloaded", "LD_PRELOAD"), found)
            if ("clock_disagrees", "CLOCK_MONOTONIC_RAW") not in found:
                continue  # it was slow from the end of the window on
            self.assertIn("put libraries into the worker",
                          " ".join(self.assay("show", "--all", "last", "--db", self.db).out.split()))
            bundle = os.path.join(self.folder, "b.assay")
            for words in (("bundle", "last", "-o", bundle, "--db", self.db, "--withhold", "trial.facts"),
                          ("verify", bundle)):
                call = self.assay(*words)
                self.assertEqual(call.status, 0, call.out + call.err)
            return
        self.fail("the clock was slow before each window, or after it")

    def test_date_against_all(self):
        """Clocks that are slowed alike by a half: to them the date is twice as fast, before the window and in it."""
        status, message = self.measure(TRIAD, "cpu:0", LD_PRELOAD=CHEATS["clock"], CHEAT_CLOCK="", CHEAT_REALTIME="1",
                                       CHEAT_LOSES_PPM="-1000000")
        self.assertEqual(status, "invalid", message)
        self.assertTrue(message.startswith("clock.date: "), message)

    def test_date_against_a_witness(self):
        """The harness's date runs at a quarter, or as it is: a witness of plan and end has a clock of its own."""
        for name in ("lab", "watch"):
            self.assay("key", "new", name, "--file", os.path.join(self.folder, name))
        roster = self.write("roster", self.assay("key", "show", "--file", os.path.join(self.folder, "watch")).out.strip() +
                            " witness\n")
        command = "note=$(cat); case $note in old*) sleep 5;; esac; echo \"$note\" | %s witness --key %s --state %s" % (
            ASSAY, os.path.join(self.folder, "watch"), os.path.join(self.folder, "seen"))
        for slow in ({"LD_PRELOAD": CHEATS["clock"], "CHEAT_CLOCK": "--witness-command", "CHEAT_REALTIME": "1"}, {}):
            self.new_db()
            self.assay("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", self.db, "--key",
                       os.path.join(self.folder, "lab"), "--witness-command", command, "--witnesses", "1", "--roster",
                       roster, **slow)
            call = self.assay("verify", self.db, "--roster", roster)
            self.assertRegex(call.out, "its end was witnessed by watch")
            self.assertEqual(call.status, 1 if slow else 0, call.out)
            self.assertEqual("s by the clock of watch" in call.out, bool(slow), call.out)

    def test_clock_of_all(self):
        status, message = self.measure(TRIAD, "cpu:0", LD_PRELOAD=CHEATS["clock"], CHEAT_CLOCK="")
        self.assertEqual(status, "invalid", message)
        self.assertTrue(message.startswith("clock.kernel"), message)


if __name__ == "__main__":
    run_tests([sys.argv[0]] + [a for a in sys.argv[1:] if "=" not in a])
