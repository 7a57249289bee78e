"""Telemetry of a trial: stored when available, reported when not, and never the cause of a failed
trial."""

import json
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402

NULL = "launch_ns=200000,seed=1"


class Telemetry(CliTest):
    FAST = CliTest.FAST + "telemetry: {interval: 20ms}\n"

    def channels(self, trial=1, part="device"):
        return {row[0]: row[1:] for row in self.query(
            "SELECT channel, kind, samples, wraps_at, reason FROM sensors WHERE trial = ? AND "
            "part = ?", trial, part)}

    def values(self, channel, trial=1):
        return [row[0] for row in self.query(
            "SELECT value FROM samples WHERE trial = ? AND series = ? ORDER BY number", trial,
            f"telemetry:{channel}")]

    def part(self, part, trial=1):
        return self.query("SELECT status, message, ticks, cpu_ns, reading_ns FROM telemetry "
                          "WHERE trial = ? AND part = ?", trial, part)[0]

    def test_device_and_host_during_a_trial(self):
        call = self.run_synthetic(ASSAY_NULL=NULL + ",power_mw=150000,energy_wraps_at=9000000")
        self.assertEqual(call.status, 0, call.err)
        channels = self.channels()
        self.assertEqual(channels["energy_uj"][2], 9000000)
        # Missing telemetry has a reason, and no values instead of zeros.
        self.assertEqual(channels["clock_memory_khz"][1], 0)
        self.assertIn("no memory clock", channels["clock_memory_khz"][3])
        self.assertEqual(set(self.values("device.power_mw")), {150000})
        times = self.values("device.time_ns")
        self.assertEqual(times, sorted(times))
        self.assertEqual(len(times), channels["power_mw"][1])
        status, message, ticks, cpu_ns, reading_ns = self.part("device")
        self.assertEqual((status, message, ticks), ("ok", None, len(times)))
        self.assertGreater(cpu_ns, 0)
        self.assertGreater(reading_ns, 0)
        busy = self.values("host.cpu_busy_ms")
        self.assertEqual(busy, sorted(busy))
        self.assertEqual(self.part("host")[0], "ok")
        # Readings at both ends, and the vendor's output, once for the campaign.
        self.assertEqual(self.query("SELECT count(*) FROM telemetry WHERE part = 'device' AND "
                                    "readings_begin = readings_end")[0][0], 2)
        self.assertEqual(self.query("SELECT count(*) FROM telemetry WHERE dump IS NOT NULL"), [(1,)])
        self.assert_sound()

    def test_the_windows_edges_are_asked_for(self):
        """With an interval of an hour there are only the moments of start, end and both edges; a
        sampler that is late for the second edge answers both at once."""
        for warmup in ("5ms", "200ms", "8s"):  # until the sampler is there before its end
            self.new_db()
            self.FAST = Telemetry.FAST.replace("20ms", "3600s").replace("time: 5ms", f"time: {warmup}")
            call = self.run_synthetic(ASSAY_NULL=NULL + ",power_mw=150000")
            self.assertEqual(call.status, 0, call.err)
            times = self.values("device.time_ns")
            (warm,) = self.query("SELECT end_ns FROM phase WHERE trial = 1 AND name = 'warmup'")[0]
            if times[0] < warm:
                break
        self.assertIn(len(times), (3, 4))
        self.assertLess(times[0], warm)
        self.assertGreaterEqual(times[1], warm)

    def test_none_when_the_protocol_says_so(self):
        self.FAST = self.FAST.replace("20ms", "0s")
        call = self.run_synthetic(ASSAY_NULL=NULL + ",power_mw=150000")
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT count(*) FROM telemetry"), [(0,)])

    def test_impossible_interval_is_refused(self):
        self.FAST = self.FAST.replace("20ms", "1ms")
        call = self.run_synthetic()
        self.assertEqual(call.status, 2)
        self.assertIn("telemetry.interval", call.err)

    def test_missing_telemetry_is_reported(self):
        call = self.run_synthetic()
        self.assertEqual(call.status, 0, call.err)
        status, message, ticks, _, reading_ns = self.part("device")
        self.assertEqual((status, ticks, reading_ns), ("unavailable", 0, None))
        self.assertIn("power_mw", message)
        self.assertEqual(self.part("host")[0], "ok")

    def test_faults_of_the_vendors_library_do_not_affect_the_trial(self):
        faults = {"telemetry_open@1": "device", "telemetry_crash@2": "crashed",
                  "telemetry_hang@2": "timeout"}
        for fault, status in faults.items():
            with self.subTest(fault=fault):
                self.new_db()
                self.FAST = self.FAST.replace("trials: 2", "trials: 1")
                call = self.run_synthetic(ASSAY_NULL=f"{NULL},power_mw=1000,fault={fault}")
                self.assertEqual(call.status, 0, call.err)
                self.assertEqual(self.query("SELECT status, message FROM trial_end"), [("ok", None)])
                part = self.part("device")
                self.assertEqual(part[0], status)
                self.assertTrue(part[1])
                if "open" not in fault:  # what was sampled before stays
                    self.assertEqual(self.values("device.power_mw"), [1000])
                self.assertEqual(self.part("host")[0], "ok")
                self.assert_sound()

    def test_a_reading_that_fails_is_a_gap(self):
        call = self.run_synthetic(ASSAY_NULL=f"{NULL},power_mw=0,fault=telemetry_read@2")
        self.assertEqual(call.status, 0, call.err)
        status, message, ticks, _, _ = self.part("device")
        self.assertEqual(status, "ok")
        self.assertIn("1 readings failed", message)
        self.assertEqual(len(self.values("device.power_mw")), ticks - 1)
        self.assertEqual(set(self.values("device.power_mw")), {0})
        self.assertNotIn(1, self.values("device.power_mw#"))

    def estimate(self):
        return json.loads(self.query("SELECT body FROM estimate")[0][0])

    def window(self, trial):
        return self.query("SELECT begin_ns, end_ns FROM phase WHERE trial = ? AND name = 'window'", trial)[0]

    def in_window(self, channel, trial):
        begin, end = self.window(trial)
        return [value for value, at in zip(self.values(channel, trial), self.values("device.time_ns", trial),
                                           strict=True) if begin <= at <= end]

    def estimate_with_readings(self, part="device", **environment):
        """The estimate of a run whose windows have readings before, in and after them, however late the
        sampler is on a loaded machine."""
        for window_ms in (30, 300, 3000):
            self.new_db()
            self.FAST = Telemetry.FAST.replace("time: 30ms", f"time: {window_ms}ms")
            call = self.run_synthetic(**environment)
            self.assertEqual(call.status, 0, call.err)
            if self.has_readings_around(part):
                break
        return self.estimate()

    def has_readings_around(self, part="device"):
        windows = [(self.window(trial), self.values(f"{part}.time_ns", trial)) for trial in (1, 2)]
        return all(at[0] <= begin and at[-1] >= end and any(begin <= time <= end for time in at)
                   for (begin, end), at in windows)

    def wraps_in_window(self, trial):
        values = self.in_window("device.energy_uj", trial)
        return values != sorted(values)

    def test_energy_of_a_counter_that_wraps(self):
        # One wrap, in the future, and the next one as long after that as the machine has been up:
        # longer than any pause of the machine.
        self.FAST = self.FAST.replace("time: 30ms", "time: 1200ms")
        later_ns = 2400000000
        for _ in range(20):  # until it lies in a window
            self.new_db()
            begin_ns = time.monotonic_ns()
            wraps_at = (begin_ns + later_ns) // 1000 * 150
            call = self.run_synthetic(ASSAY_NULL=f"{NULL},power_mw=150000,energy_wraps_at={wraps_at}")
            self.assertEqual(call.status, 0, call.err)
            if self.has_readings_around() and any(self.wraps_in_window(trial) for trial in (1, 2)):
                break
            later_ns = time.monotonic_ns() - begin_ns - 800000000  # in the second one, at the current rate
        else:
            self.fail("no wrap in a window")
        estimate = self.estimate()
        self.assertEqual(estimate["energy_source"], "device.energy_uj")
        device = [e for e in estimate["energy"] if e["part"] == "device"][0]
        for trial in device["trials"]:  # 150 W, whatever the window's length
            self.assertAlmostEqual(trial["joules"] / trial["seconds"], 150, delta=3)
            self.assertAlmostEqual(trial["joules_by_power"] / trial["seconds"], 150, delta=0.01)
        self.assertAlmostEqual(estimate["metrics"]["mean_power"]["value"], 150, delta=3)
        value = estimate["metrics"]["energy_per_iteration"]
        self.assertLess(value["lo"], value["value"])
        self.assertLess(value["value"], value["hi"])
        codes = [finding["code"] for finding in estimate["findings"]]
        self.assertIn("energy_short_window", codes)
        self.assertNotIn("energy_disagrees", codes)
        self.assertEqual(self.assay("verify", self.db).status, 0)

    def test_a_counter_that_does_not_change_is_unavailable(self):
        estimate = self.estimate_with_readings(ASSAY_NULL=NULL + ",power_mw=150000,energy_stuck=1")
        self.assertNotIn("energy_per_iteration", estimate["metrics"])
        device = [e for e in estimate["energy"] if e["part"] == "device"][0]
        self.assertIsNone(device["joules_per_iteration"]["value"])
        self.assertEqual(device["reason"], "the counter did not advance")

    def test_what_happened_is_said_in_the_result(self):
        for after_ms in (150, 600, 2400, 9600):  # until it happens in a window of twice as long
            self.new_db()
            self.FAST = Telemetry.FAST.replace("time: 30ms", f"time: {2 * after_ms}ms")
            call = self.run_synthetic(
                ASSAY_NULL=f"{NULL},power_mw=1000,throttle=2,throttle_after={after_ms}ms,foreign=5,"
                "clock_drop_khz=900000")
            self.assertEqual(call.status, 0, call.err)
            if any(len(set(self.in_window("device.clock_core_khz", trial))) == 2 for trial in (1, 2)):
                break
        found = {finding["code"]: finding for finding in self.estimate()["findings"]}
        self.assertEqual(found["device_throttled"]["subject"], "thermal")
        self.assertGreater(found["device_throttled"]["numbers"]["share"], 0)
        self.assertEqual(found["clock_moved"]["numbers"], {"low": 900e6, "high": 1500e6})
        self.assertEqual(found["device_shared"]["subject"], "; ".join(
            f"pid {i}, a declared stranger, 4096 bytes" for i in (1, 2, 3)) + "; and 2 more")
        call = self.assay("show", "--all", "last/1", "--db", self.db)
        self.assertIn("thermal", call.out)
        self.assertIn("System telemetry, trial 1", call.out)
        self.assertIn("unavailable: a null device has no memory", call.out)
        self.assertRegex(call.out, r"energy +[0-9.]+ .*J/iteration")
        page = os.path.join(self.folder, "page.html")
        self.assertEqual(self.assay("report", "--html", page, "--db", self.db).status, 0)
        with open(page, encoding="utf-8") as file:
            page = file.read()
        self.assertIn("System telemetry, trial 2", page)
        self.assertIn("device throttle reasons", page)
        self.assertIn("unavailable: a null device has no memory clock", page)
        self.assertIn("J/iteration", page)
        self.assertIn("State of the machine", page)
        self.assertIn("null:0 processes", page)
        row = self.assay("results", "--json", "--db", self.db).json()[0]
        self.assertEqual(row["energy_source"], "device.energy_uj")
        self.assertAlmostEqual(row["metrics"]["mean_power"]["value"], 1, delta=0.05)

    def test_energy_of_the_hosts_packages(self):
        """A recorded machine's counters do not change, which is reported; nothing is made up."""
        estimate = self.estimate_with_readings("host", ASSAY_HOST_ROOT=self.machine("tuned_server"))
        energy = {e["channel"]: e for e in estimate["energy"]}
        self.assertEqual(energy["rapl_0_package-0_energy_uj"]["reason"], "the counter did not advance")
        self.assertEqual(self.channels(part="host")["rapl_0_package-0_energy_uj"][2], 262143328850)

    def test_a_worker_cannot_write_telemetry(self):
        worker = self.write("worker.py", FALSE_WORKER)
        os.chmod(worker, 0o755)
        call = self.run_synthetic(ASSAY_WORKER=worker)
        self.assertEqual(call.status, 1, call.err)
        self.assertIn("are the harness's", self.query("SELECT message FROM trial_end")[0][0])


FALSE_WORKER = """#!/usr/bin/env python3
import json, os
def say(**words):
    os.write(4, (json.dumps(words) + "\\n").encode())
say(type="hello", protocol=2, worker="false")
os.read(3, 1 << 20)
say(type="samples", series="telemetry:device.power_mw", first=0, values=[1, 2])
os.read(3, 1)
"""

if __name__ == "__main__":
    unittest.main()
