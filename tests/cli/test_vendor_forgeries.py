"""Databases whose owner, who has the signing key, forges rows and rebuilds log, heads and signature.

No tree or signature shows such a change: it is found where rows contradict each other, the plan, the
protocol or the declared workload.
"""

import contextlib
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import unittest  # noqa: E402

from tamper import TamperTest  # noqa: E402  (exits where the second verifier cannot run)

import forge  # noqa: E402
from verify import canonical  # noqa: E402

WORKLOAD = """workload: small
version: 1
kind: memory_bound
description: a small triad
precisions: [fp32, fp64]
scenario: offline
memory_bound: {kernel: triad, elements: 65536}
"""

GAPS = "name = 'gap_ns' AND trial = 1 AND first = 0"


def change_content(db, kind, column, change):
    """Changes a stored JSON, and its digest wherever it is named."""
    digest, body = db.execute("SELECT digest, body FROM content WHERE kind = ? ORDER BY digest",
                              (kind,)).fetchone()
    body = json.loads(body)
    change(body)
    text = canonical(body)
    changed = hashlib.sha256(text).digest()
    db.execute("UPDATE content SET digest = ?, body = ? WHERE digest = ?", (changed, text.decode(), digest))
    db.execute("UPDATE ledger SET key = ? WHERE key = ?", (changed.hex(), digest.hex()))
    for table in ("campaign", "cell") if column == "protocol" else (("campaign",) if column == "plan"
                                                                   else ("cell",)):
        db.execute("UPDATE %s SET %s = ? WHERE %s = ?" % (table, column, column), (changed, digest))
    db.execute("UPDATE declaration SET digest = ? WHERE digest = ?", (changed, digest))


def faster(db, factor):
    """The rates of all estimates, times a factor, and the bytes of an iteration."""
    db.execute("UPDATE cell SET bytes = bytes * ?", (factor,))
    for number, body in db.execute("SELECT id, body FROM estimate").fetchall():
        body = json.loads(body)
        rate = body["metrics"]["byte_rate"]
        for name in ("value", "lo", "hi"):
            if rate.get(name) is not None:
                rate[name] *= factor
        db.execute("UPDATE estimate SET body = ? WHERE id = ?", (canonical(body).decode(), number))


def ten_times_the_bytes(db):
    faster(db, 10)


def in_plan(member, value, column):
    """The same lie in the plan and in the cell."""
    def forgery(db):
        change_content(db, "plan", "plan", lambda plan: plan["cells"][0].update({member: value}))
        db.execute("UPDATE cell SET %s = ?" % column, (str(value) if column == "seed" else value,))
    return forgery


def as_fp64(db):
    in_plan("precision", "fp64", "precision")(db)
    faster(db, 2)
    db.execute("UPDATE cell SET device_memory_bytes = bytes, working_set_bytes = bytes")


def no_order(db):
    change_content(db, "plan", "plan", lambda plan: plan.pop("order"))


def no_cells(db):
    change_content(db, "plan", "plan", lambda plan: plan.pop("cells"))


def each_trial(db):
    change_content(db, "protocol", "protocol", lambda protocol: protocol.update(verification="each_trial"))
    digest, = db.execute("SELECT lower(hex(protocol)) FROM campaign").fetchone()
    change_content(db, "plan", "plan", lambda plan: plan.update(protocol_digest=digest))


# What is forged (SQL, or a function of the database), and in which table both verifiers must find it.
FORGERIES = {
    "bytes and rate times ten": (ten_times_the_bytes, "cell"),
    "FLOPs that are not counted": ("UPDATE cell SET flops = 1, flops_formula = 'x'", "cell"),
    "items": ("UPDATE cell SET items = items + 1", "cell"),
    "working set": ("UPDATE cell SET working_set_bytes = 1", "cell"),
    "headline": ("UPDATE cell SET headline = 'items'", "cell"),
    "fp32 as fp64": ("UPDATE cell SET precision = 'fp64'", "cell"),
    "fp32 as fp64 in the plan, too": (in_plan("precision", "fp64", "precision"), "cell"),
    "fp32 as fp64 in the plan, with its bytes": (as_fp64, "verification"),
    "fp32 as fp16, which is not declared": (in_plan("precision", "fp16", "precision"), "cell"),
    "another batch": (in_plan("batch", 7, "batch"), "cell"),
    "another workload's name": ("UPDATE cell SET workload_name = 'gemm_4096'", "cell"),
    "another kind": ("UPDATE cell SET kind = 'gemm'", "cell"),
    "another seed": ("UPDATE cell SET seed = '7'", "cell"),
    "another seed in the plan, too": (in_plan("seed", 7, "seed"), "cell"),
    "another implementation": ("UPDATE cell SET implementation = 'vendor'", "cell"),
    "another scenario": ("UPDATE cell SET scenario = 'single_stream'", "cell"),
    "another protocol's name": ("UPDATE cell SET protocol_name = 'standard'", "cell"),
    "another backend": ("UPDATE cell SET backend = 'cuda'", "cell"),
    "another backend in all columns": ("UPDATE cell SET backend = 'cuda', device_spec = 'cuda:0'", "cell"),
    "another device's index": ("UPDATE cell SET device_index = 3", "cell"),
    "another order's seed": ("UPDATE campaign SET order_seed = '7'", "campaign"),
    "a plan without cells": (no_cells, "campaign"),
    "a plan without order": (no_order, "campaign"),
    "tool digest zero": ("UPDATE campaign SET tool_digest = zeroblob(32)", "campaign"),
    "another tool's digest": ("UPDATE campaign SET tool_digest = randomblob(32)", "campaign"),
    "another tool's version": ("UPDATE campaign SET tool_version = '9.9'", "campaign"),
    "a failed check in a good trial": ("UPDATE verification SET passed = 0, error = 9 WHERE id = 1",
                                       "verification"),
    "a passed check with error 9": ("UPDATE verification SET error = 9 WHERE id = 1", "verification"),
    "a passed check without an error": ("UPDATE verification SET error = NULL, error_text = 'nan' WHERE"
                                        " id = 1", "verification"),
    "a check of nothing": ("UPDATE verification SET compared = 0 WHERE id = 1", "verification"),
    "all checks deleted": ("DELETE FROM verification", "trial"),
    "checks after the window deleted": ("DELETE FROM verification WHERE phase = 'verify_after'", "trial"),
    "no trial was compared with the reference": ("UPDATE verification SET metric = 'same_bits'",
                                                 "verification"),
    "later trials were not compared, and should": (each_trial, "verification"),
    "tolerance 1e30": ("UPDATE verification SET tolerance = 1e30 WHERE metric <> 'same_bits'",
                       "verification"),
    "tolerance twice as large": ("UPDATE verification SET tolerance = 2 * tolerance WHERE metric <>"
                                 " 'same_bits'", "verification"),
    "end before start": ("UPDATE trial_end SET ended_utc_ns = 1 WHERE trial = 1", "trial_end"),
    "overlapping trials": ("UPDATE trial SET started_utc_ns = (SELECT started_utc_ns + 1 FROM trial WHERE"
                           " id = 1) WHERE id = 2", "trial"),
    "a trial before its plan": ("UPDATE trial SET started_utc_ns = started_utc_ns - 86400000000000",
                                "trial"),
    "a phase that ends before it begins": ("UPDATE phase SET end_ns = begin_ns - 1 WHERE id = 5", "phase"),
    "phases in another order": ("UPDATE phase SET begin_ns = 1 WHERE name = 'window'", "phase"),
    "a phase deleted": ("DELETE FROM phase WHERE name = 'window'", "trial"),
    "samples longer than their window": ("UPDATE phase SET end_ns = begin_ns + 1000 WHERE name = 'window'",
                                         "trial"),
    "signal 11 and ok": ("UPDATE trial_end SET signal = 11, exit_code = NULL", "trial_end"),
    "ok without an exit": ("UPDATE trial_end SET exit_code = NULL", "trial_end"),
    "orphaned and ok": ("UPDATE trial_end SET orphan = 1", "trial_end"),
    "ok with a reason": ("UPDATE trial_end SET message = 'the fan fell off'", "trial_end"),
    "environment deleted": ("DELETE FROM environment", "trial"),
    "environment after deleted": ("DELETE FROM environment WHERE at = 'after'", "trial"),
    "stack deleted": ("DELETE FROM trial_stack", "trial"),
    "stack at the end deleted": ("DELETE FROM trial_stack WHERE at = 'window_end'", "trial"),
    "device deleted": ("DELETE FROM trial_device", "trial"),
    "estimate deleted": ("DELETE FROM estimate", "cell"),
    "garbage in gap_ns": ("UPDATE series SET data = randomblob(length(data)) WHERE " + GAPS, "series"),
    "another sum of gap_ns": ("UPDATE series SET total = total + 1 WHERE " + GAPS, "series"),
    "gap_ns deleted": ("DELETE FROM series WHERE name = 'gap_ns'", "trial"),
    "telemetry cut": ("UPDATE series SET data = substr(data, 1, length(data) - 1) WHERE name LIKE"
                      " 'telemetry:host.cpu_busy%'", "series"),
}


# They contradict formulas and rules of the workload's kind, which assay alone has.
ASSAY_ALONE = {"bytes and rate times ten", "FLOPs that are not counted", "items", "working set", "headline",
               "fp32 as fp64 in the plan, too", "fp32 as fp64 in the plan, with its bytes",
               "tolerance 1e30", "tolerance twice as large"}


class VendorForgeries(TamperTest):
    secret = None

    def make_base(self):
        """Two good trials on the processor, signed, whose second is compared with the first."""
        key = os.path.join(self.folder, "k.key")
        call = self.assay("run", self.write("small.yaml", WORKLOAD), "--precision", "fp32", "--device",
                          "cpu:0", "--protocol", self.fast(), "--db", self.db, ASSAY_KEY=key)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT status FROM trial_end"), [("ok",), ("ok",)])
        with open(self.db, "rb") as file:
            TamperTest.base = file.read()
        with open(key, encoding="utf-8") as file:
            VendorForgeries.secret = file.read()
        TamperTest.head, TamperTest.public = None, self.key

    def forged(self, forgery):
        """A copy in which the owner changed something, and entered and signed all of it again."""
        path = self.copy()
        with forge.Forgery(path) as owner:
            owner.db.execute("DELETE FROM signature")
            if callable(forgery):
                forgery(owner.db)
            else:
                self.assertGreater(owner.db.execute(forgery).rowcount, 0, forgery)
            owner.rewrite()
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(self.folder, "k.key"))
        call = self.assay("checkpoint", "--db", path, "--key", self.write_key())
        self.assertEqual(call.status, 0, call.err)
        return path

    def write_key(self):
        path = self.write("k.key", VendorForgeries.secret)
        os.chmod(path, 0o600)
        return path

    def test_signed_again_without_a_change(self):
        path = self.forged("UPDATE ledger SET leaf = leaf")
        self.assert_good(path, ("--key", self.public), keys=[self.public])

    def test_each_is_found_by_both(self):
        missed, passed = ([], []), [0, 0]
        for name, (forgery, table) in FORGERIES.items():
            for i, found in enumerate(self.both(self.forged(forgery), ("--key", self.public),
                                                keys=[self.public])):
                passed[i] += not found
                if table not in {f[1] for f in found} and (i == 0 or name not in ASSAY_ALONE):
                    missed[i].append(name)
        print("%d forgeries; assay verifies %d of them, the second verifier %d" % (len(FORGERIES), *passed))
        self.assertEqual(missed, ([], []))


if __name__ == "__main__":
    unittest.main()
