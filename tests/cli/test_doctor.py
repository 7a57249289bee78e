"""assay doctor: findings on recorded machines, on this one, and with a campaign."""

import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest  # noqa: E402


class Doctor(CliTest):
    def examine(self, machine, *words, **environment):
        call = self.assay("doctor", "--json", "--jitter", "0s", "--device", "none", *words,
                          ASSAY_HOST_ROOT=self.machine(machine), **environment)
        self.assertEqual(call.status, 0, call.err)
        report = call.json()
        for finding in report["findings"]:
            self.assertTrue(all(finding[key] for key in ("check", "severity", "observed", "effect",
                                                         "remedy")), finding)
        return report, {f["check"]: f for f in report["findings"]}

    def test_a_machine_made_ready_has_no_findings(self):
        report, findings = self.examine("tuned_server")
        # The affinity is this process's own, not from the recorded files.
        self.assertEqual(set(findings) - {"affinity"}, set(), report)
        self.assertIn({"check": "governor", "observed": "performance on every processor"},
                      report["passed"])
        self.assertTrue(any(u["check"] == "jitter" for u in report["unknown"]))

    def test_a_laptop_has_its_findings(self):
        report, findings = self.examine("laptop")
        for check, seen in {"governor": "powersave", "turbo": "on", "clock source": "hpet",
                            "swap": "1.43 GiB", "processor quota": "150000 100000", "SMT": "on",
                            "temperature": "97 degrees", "battery": "AC", "memory": "586 MiB",
                            "fixed clock": "400000 to 4700000"}.items():
            self.assertIn(seen, findings[check]["observed"])
        self.assertIn("no_turbo", findings["turbo"]["remedy"])
        self.assertEqual(report["worst"], "warning")
        ranks = [["critical", "warning", "info"].index(f["severity"]) for f in report["findings"]]
        self.assertEqual(ranks, sorted(ranks))

    def test_remedies_fit_the_place(self):
        """In a container they are for its host; root needs no sudo."""
        root = self.machine("laptop")
        _, findings = self.examine("laptop")
        self.assertEqual("sudo tee" in findings["governor"]["remedy"], os.geteuid() != 0)
        self.write(os.path.join(root, ".dockerenv"), "")
        call = self.assay("doctor", "--json", "--jitter", "0s", "--device", "none", ASSAY_HOST_ROOT=root)
        remedies = {f["check"]: f["remedy"] for f in call.json()["findings"]}
        self.assertRegex(remedies["governor"], "^on the host of this container: echo performance | sudo tee")
        self.assertNotIn("container:", remedies["memory"])

    def test_what_cannot_be_known_is_no_finding(self):
        report, findings = self.examine("cloud_guest")
        self.assertIn("hypervisor", findings)
        self.assertIn("150000 100000", findings["processor quota"]["observed"])
        unknown = {u["check"]: u["reason"] for u in report["unknown"]}
        for check in ("governor", "turbo", "fixed clock", "temperature"):
            self.assertIn(check, unknown)
            self.assertNotIn(check, findings)

    def test_steal_and_load_are_seen_between_two_readings(self):
        # The same counters twice: nothing happened in between.
        report, findings = self.examine("cloud_guest")
        self.assertNotIn("steal time", findings)
        self.assertIn({"check": "steal time", "observed": "0.0 % while looking"}, report["passed"])

    def test_this_machine(self):
        with open("/proc/swaps", encoding="ascii") as swaps:
            before = swaps.read()
        call = self.assay("doctor", "--jitter", "200ms", "--json", "--device", "none")
        self.assertEqual(call.status, 0, call.err)
        report = call.json()
        self.assertGreater(report["jitter"]["duration_ns"], 100_000_000)
        self.assertLessEqual(report["jitter"]["lost_ns"], report["jitter"]["duration_ns"])
        said = [entry["check"] for key in ("findings", "passed", "unknown")
                for entry in report[key]]
        self.assertEqual(len(said), len(set(said)), "each check says one thing")
        # The findings match the files, as they were before or as they are now.
        with open("/proc/swaps", encoding="ascii") as swaps:
            used = [sum(int(line.split()[3]) for line in lines.splitlines()[1:]) > 0
                    for lines in (before, swaps.read())]
        self.assertIn("swap" in {f["check"] for f in report["findings"]}, used)
        lines = self.lines_on_terminal(80, "doctor", "--jitter", "0s", "--device", "none")
        self.assertLessEqual(max(map(len, lines)), 80, lines)

    def test_shares_of_processes_add_up(self):
        """Named processes are shares of the same total, and the rest is reported too."""
        if os.cpu_count() > 16:
            self.skipTest("too many processors for three processes to be noticed")
        spin = [sys.executable, "-c", "while True: pass"]
        busy = [subprocess.Popen(spin) for _ in range(3)]  # few, so that each is named
        try:
            call = self.assay("doctor", "--jitter", "500ms", "--json", "--device", "none")
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertEqual(call.status, 0, call.err)
        (seen,) = [f["observed"] for f in call.json()["findings"] if f["check"] == "other processes"]
        total, named = re.fullmatch(r"(\d+) % of all processor time \(idle: \d+ %\): (.*)",
                                    seen).groups()
        parts = [int(share) for share in re.findall(r"(\d+) %", named)]
        self.assertTrue(parts, seen)
        self.assertLessEqual(sum(parts), int(total) + len(parts), seen)

    def test_a_device(self):
        call = self.assay("doctor", "--json", "--jitter", "0s", "--device", "null:0",
                          ASSAY_NULL="power_mw=9000,throttle=2,foreign=1")
        findings = {f["check"]: f for f in call.json()["findings"]}
        self.assertEqual(findings["null:0 processes"]["severity"], "critical")
        self.assertIn("thermal", findings["null:0 throttling"]["observed"])
        call = self.assay("doctor", "--json", "--jitter", "0s", "--device", "null:0",
                          ASSAY_NULL="power_mw=9000,fault=telemetry_crash@1")
        self.assertIn("signal 11", json.dumps(call.json()["unknown"]))

    def test_wrong_arguments(self):
        self.assertEqual(self.assay("doctor", "--jitter", "soon").status, 2)
        self.assertEqual(self.assay("doctor", "--device", "cuda:99", "--jitter", "0s").status, 3)

    def test_findings_are_stored_with_a_campaign(self):
        call = self.run_synthetic(ASSAY_NULL="launch_ns=200000,power_mw=1,foreign=1")
        self.assertEqual(call.status, 0, call.err)
        self.assertIn("null:0 processes", call.err)
        self.assertEqual(self.query("SELECT count(*) FROM doctor"), [(1,)])
        self.assertEqual(self.query("SELECT severity FROM findings WHERE \"check\" = "
                                    "'null:0 processes'"), [("critical",)])

    def test_a_protocol_refuses(self):
        self.FAST += "doctor: {refuse: critical}\n"
        stranger = "launch_ns=200000,power_mw=1,foreign=1"
        call = self.run_synthetic(ASSAY_NULL=stranger)
        self.assertEqual(call.status, 3, call.err)
        self.assertIn("null:0 processes", call.err)
        self.assertEqual(self.query("SELECT count(*) FROM trial"), [(0,)])
        self.assertEqual(self.query("SELECT event FROM campaign_event ORDER BY id DESC LIMIT 1"),
                         [("failed",)])

    def test_an_unknown_refusal_is_refused(self):
        self.FAST += "doctor: {refuse: everything}\n"
        call = self.run_synthetic()
        self.assertEqual(call.status, 2)
        self.assertIn("refuse", call.err)


if __name__ == "__main__":
    unittest.main()
