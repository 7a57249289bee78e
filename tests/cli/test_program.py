"""Programs as workloads: what is measured, what they count themselves, and how each fault of theirs is named."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ANYWHERE, CliTest, run_tests  # noqa: E402

SHIPPED = os.path.join(os.path.dirname(__file__), "..", "..", "workloads", "program", "declared")
# What the shipped declarations read, as the programs write it, and the number in it.
WRITTEN = {
    "fio_read": ('fio: note\n{"fio version": "fio-3.33", "jobs": [{"jobname": "read", "read": {"bw_bytes": 838860800}}]}\n', 838860800),
    "sysbench_cpu": ("CPU speed:\n    events per second:   651.84\n\nGeneral statistics:\n", 651.84),
    "llama_bench_prompt": ('[\n  {"n_prompt": 512, "n_gen": 0, "avg_ns": 10, "avg_ts": 1234.5, "samples_ts": [1234.5]}\n]\n', 1234.5),
    "vllm_bench_serve": ("Request throughput (req/s):              0.21\nOutput token throughput (tok/s):         434.40\n"
                         "Total Token throughput (tok/s):          868.80\n", 434.4),
    "nvbandwidth_host_to_device": (" 0     25.17\n\nSUM host_to_device_memcpy_ce 25.17\n", 25.17),
    "nccl_all_reduce": ("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 47.4509\n#\n", 47.4509),
}
VERIFIER = os.path.join(os.path.dirname(__file__), "..", "support", "verify.py")

BENCH = """import os, sys
runs = os.environ["RUNS_FILE"]
with open(runs, "a") as file:
    file.write("x")
count = os.path.getsize(runs)
print("loaded")
print("rate: %.3f tokens/s" % (float(os.environ.get("SPEED", "100")) + 0.01 * (count * 7 % 11)))
"""
DECLARED = """workload: mine
version: 1
kind: program
description: "a program of a test"
program:
  command: [%s, bench.py]
  inputs: [{path: bench.py}]
%s"""
METRIC = '  metric: {pattern: "rate: {value} tokens/s", unit: tokens/s, better: higher}\n'


class Program(CliTest):
    def setUp(self):
        super().setUp()
        self.write("bench.py", BENCH)

    def environment(self, **changes):
        changes.setdefault("RUNS_FILE", os.path.join(self.folder, "runs"))
        return super().environment(**changes)

    def declare(self, more=METRIC, name="mine.yaml"):
        return self.write(name, DECLARED % (sys.executable, more))

    def measure(self, more=METRIC, status=0, **changes):
        """The result of a run, and its call."""
        self.new_db()
        call = self.assay("run", self.declare(more), "--protocol", self.fast(), "--db", self.db, **changes)
        self.assertEqual(call.status, status, call.err)
        (row,) = self.assay("results", "--json", "--db", self.db).json()
        return row, call

    def assert_verified(self):
        call = self.assay("verify", self.db)
        self.assertEqual(call.status, 0, call.out)
        done = subprocess.run([sys.executable, VERIFIER, self.db], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_counted(self):
        row, call = self.measure()
        self.assertEqual(row["metric"], "counted_rate")
        self.assertEqual(row["unit"], "tokens/s")
        self.assertTrue(100 < row["value"] < 100.2, row)
        self.assertIn("counted_by_program", json.dumps(self.assay("show", row["id"], "--json", "--db", self.db).json()))
        self.assertIn("counted by the program itself, in tokens/s", re.sub(r"\s+", " ", call.out))
        self.assertIn(row["grade"], ("C", "D"))  # whatever its interval: nobody else has measured it
        shown = self.assay("show", row["id"], "--all", "--db", self.db).out
        self.assertIn("Runs, without a reference", shown)
        self.assertNotIn("fp64 reference", shown)
        time = row["metrics"]["iteration_time"]["value"]
        self.assertTrue(1e6 < time < 60e9, row)
        self.assert_verified()
        # Each run but the first of a trial is a sample with its number; nothing else ran.
        (samples,), = self.query("SELECT sum(count) FROM series WHERE name = 'counted'")
        self.assertEqual(samples, self.query("SELECT sum(count) FROM series WHERE name = 'wall_ns'")[0][0])
        self.assertEqual(os.path.getsize(os.path.join(self.folder, "runs")), samples + 2)
        paths = [path for path, in self.query("SELECT DISTINCT path FROM component")]
        self.assertIn(os.path.join(self.folder, "bench.py"), paths)
        if self.query("SELECT facts FROM trial_end WHERE trial = 1")[0][0].find('"followed":true') >= 0:
            self.assertIn(os.path.realpath(sys.executable), paths)

    def test_time(self):
        row, call = self.measure("")
        self.assertEqual(row["metric"], "iteration_time")
        self.assertNotIn("counted", call.out)
        self.assertNotIn("counted_rate", row["metrics"])
        self.assert_verified()

    def test_of_a_file(self):
        self.write("bench.py", BENCH + 'open("out.json", "w").write(\'{"ms": [2.5, 3.5]}\')\n')
        row, _ = self.measure("  warmup: 1\n  metric: {file: out.json, json: \"ms[]\", take: mean, unit: ms, better: lower}\n")
        self.assertEqual((row["metric"], row["unit"]), ("counted_cost", "ms"))
        self.assertAlmostEqual(row["value"], 3, places=9)
        self.assert_verified()

    def test_stale_file(self):
        """A number that an earlier run left is none of this run's; one that is written again with as many bytes is."""
        of_a_file = '  metric: {file: out.json, json: ms, unit: ms, better: lower}\n'
        self.write("out.json", '{"ms": 2.5}')
        _, call = self.measure(of_a_file, status=1)
        self.assertIn("the run has not written it: what is there is from before", re.sub(r"\s+", " ", call.err))
        self.write("bench.py", BENCH + 'count == 4 or open("out.json", "w").write(\'{"ms": 2.5}\')\n')
        row, call = self.measure(of_a_file, status=1)
        self.assertIn("what is there is from before", re.sub(r"\s+", " ", call.err))
        self.write("bench.py", BENCH + 'open("out.json", "w").write(\'{"ms": 2.5}\')\n')
        row, _ = self.measure(of_a_file)
        self.assertAlmostEqual(row["value"], 2.5, places=9)
        os.remove(os.path.join(self.folder, "out.json"))
        os.mkfifo(os.path.join(self.folder, "out.json"))
        self.write("bench.py", BENCH)
        _, call = self.measure(of_a_file, status=1)
        self.assertIn("it is a pipe or a device", re.sub(r"\s+", " ", call.err))

    def test_pairs_and_gate(self):
        declared = self.declare()
        protocol = self.write("evidence.yaml", self.EVIDENCE.replace("min_samples: 20", "min_samples: 3"))
        call = self.assay("ab", declared, "--a", "env:SPEED=100", "--b", "env:SPEED=200", "--protocol", protocol, "--db",
                          self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertRegex(call.out, r"is (2\.0|1\.99)\d* times faster")
        self.assertIn("SPEED", call.out)
        # A rate is no time: more than 1 is slower, as of times.
        self.assertRegex(call.out, r"tokens/s a/b 0\.50?\d*, 95 % interval")
        self.assertNotIn("time b/a", call.out)
        (campaign,), = self.query("SELECT substr(uid, 1, 8) FROM campaign")
        gate = self.assay("gate", campaign, *ANYWHERE, "--db", self.db)
        self.assertEqual(gate.status, 0, gate.out + gate.err)
        self.assertEqual(self.assay("history", "--db", self.db).status, 0)
        again = self.assay("reproduce", campaign + "/1", "--db", self.db)
        self.assertIn(again.status, (0, 1, 3), again.out + again.err)
        self.assert_verified()

    def test_outputs(self):
        self.write("bench.py", BENCH + 'open("out", "w").write("done")\n')
        digest = hashlib.sha256(b"done").hexdigest()
        self.measure(f"  outputs: [{{path: out, sha256: {digest}}}]\n  check: [grep, -q, loaded]\n")
        self.assertEqual(self.query("SELECT DISTINCT output, passed FROM verification ORDER BY output"),
                         [("check", 1), ("outputs", 1), ("runs", 1)])
        wrong = digest.replace(digest[0], "0" if digest[0] != "0" else "1")
        _, call = self.measure(f"  outputs: [{{path: out, sha256: {wrong}}}]\n", status=1)
        self.assertIn(f"has the SHA-256 {digest[:12]}", call.err)
        _, call = self.measure("  check: [sh, -c, \"echo not so; exit 1\"]\n", status=1)
        self.assertIn("the checking command sh does not pass; its last output: not so", call.err)

    def test_faults(self):
        faults = (("sys.exit(3)", "", "ended with exit status 3, and 0 is declared"),
                  ("", '  metric: {pattern: "speed {value}", unit: x, better: lower}\n', "gives no number in its standard output"),
                  ('print("speed nan")', '  metric: {pattern: "speed ([^ ]+)", unit: x, better: lower}\n',
                   "no finite number"),
                  ("print('last words', flush=True)\nimport time\ntime.sleep(1000)", "  timeout: 1s\n",
                   "did not end within 1.00 s, its declared timeout; its last output: loaded rate"))
        for fault, more, message in faults:
            self.write("bench.py", BENCH + fault + "\n")
            _, call = self.measure(more, status=1)
            self.assertIn(message, re.sub(r"\s+", " ", call.err))

    def test_timeout(self):
        """One that is over its time may end by itself; what it left outside of its process group ends as well."""
        self.write("bench.py", "import os, signal, subprocess, sys, time\n"
                   "def end(*_):\n    open('ended', 'a').write('x')\n    sys.exit(1)\n"
                   "signal.signal(signal.SIGTERM, end)\n"
                   "left = subprocess.Popen(['sh', '-c', 'trap \"\" TERM; sleep 1000'], start_new_session=True)\n"
                   "open('left', 'a').write('%d\\n' % left.pid)\ntime.sleep(1000)\n")
        _, call = self.measure("  timeout: 3s\n", status=1)
        self.assertIn("did not end within 3.00 s, its declared timeout", re.sub(r"\s+", " ", call.err))
        with open(os.path.join(self.folder, "ended"), encoding="utf-8") as ended:
            self.assertEqual(ended.read(), "xx")  # of two trials
        with open(os.path.join(self.folder, "left"), encoding="utf-8") as left:
            self.assertEqual([pid for pid in left.read().split() if os.path.exists("/proc/" + pid)], [])

    def test_ten_megabytes(self):
        self.write("bench.py", 'print("x\\n" * 5000000)\n' + BENCH)
        row, _ = self.measure()
        self.assertEqual(row["unit"], "tokens/s")

    def test_changed_input(self):
        self.write("bench.py", BENCH + 'if count == 6:\n    open("bench.py", "a").write("#\\n")\n')
        _, call = self.measure(status=1)
        self.assertRegex(call.err, "the input .*bench.py is another file than the plan's")

    def test_cannot_start(self):
        for command, message in (("/no/such/program", "cannot start /no/such/program"), ("/", "cannot start /")):
            path = self.write("no.yaml", "workload: no\nversion: 1\nkind: program\ndescription: x\nprogram:\n"
                              f"  command: [{command}]\n")
            call = self.assay("run", path, "--protocol", self.fast(), "--db", self.db)
            self.assertEqual(call.status, 1, call.err)
            self.assertIn(message, call.err)

    def test_command(self):
        """`assay time`: the same without a file, answered first and repeated from its record."""
        words = ("time", "--protocol", self.fast(), "--db", self.db, "--warmup", "1")
        call = self.assay(*words, "--", sys.executable, "bench.py")
        self.assertEqual(call.status, 0, call.err)
        self.assertRegex(call.out.splitlines()[0], r"^A run takes [0-9.]+ m?s")
        self.assertIn("the same with --protocol paired", call.err)
        call = self.assay(*words, "--pattern", "rate: {value} tokens/s", "--unit", "tokens/s", "--better", "higher", "--",
                          sys.executable, "bench.py")
        self.assertRegex(call.out.splitlines()[0], r"^It counts 100\.[0-9]+ tokens/s")
        declaration = self.assay("time", "--declaration", "--", sys.executable, "bench.py", "--steps", "3")
        path = self.write("own.yaml", declaration.out)
        self.assertEqual(json.loads(declaration.out)["program"]["command"][1:], ["bench.py", "--steps", "3"])
        self.assertEqual(self.assay("describe", path).status, 0)
        self.assert_verified()
        for wrong in (("--unit", "x"), ("--pattern", "{value}"), ("--warmup", "-1"), ("--name", "No Name"),
                      ("--declaration", "--json")):
            self.assertEqual(self.assay("time", *wrong, "--", "true").status, 2)
        self.assertEqual(self.assay("time").status, 2)

    def has_direct_reads(self):
        """Not every file system has them (an old tmpfs)."""
        try:
            os.close(os.open(os.path.join(self.folder, "direct"), os.O_CREAT | os.O_RDWR | os.O_DIRECT))
        except OSError:
            return False
        return True

    def test_shipped(self):
        """Each declaration finds its number in what its program writes; those that are installed here run."""
        self.assertEqual(sorted(WRITTEN), sorted(name[:-5] for name in os.listdir(SHIPPED)))
        for name, (written, number) in WRITTEN.items():
            path = os.path.join(SHIPPED, name + ".yaml")
            self.assertEqual(self.assay("describe", path).status, 0, name)
            with open(path, encoding="utf-8") as file:
                text, count = re.subn(r"command: \[[^]]*\]", "command: [cat, written]", file.read())
            self.assertEqual(count, 1)
            self.write("written", written)
            self.new_db()
            call = self.assay("run", self.write("tried.yaml", text), "--protocol", self.fast(), "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
            (row,) = self.assay("results", "--json", "--db", self.db).json()
            self.assertAlmostEqual(row["value"] / number, 1, places=8)
        for name in ("sysbench_cpu", "fio_read"):
            if shutil.which(name.split("_", 1)[0]) and (name != "fio_read" or self.has_direct_reads()):
                call = self.assay("run", os.path.join(SHIPPED, name + ".yaml"), "--protocol", self.fast(), "--db", self.db)
                self.assertEqual(call.status, 0, call.err)

    def test_all_processors(self):
        """A run is not bound to a processor, whatever threads its worker has."""
        self.write("bench.py", BENCH + 'print("processors", len(os.sched_getaffinity(0)))\n')
        row, _ = self.measure('  metric: {pattern: "processors {value}", unit: processors, better: higher}\n')
        self.assertAlmostEqual(row["value"], len(os.sched_getaffinity(0)), places=9)


if __name__ == "__main__":
    run_tests()
