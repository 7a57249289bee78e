"""Databases whose owner, who has the signing key, forges records and rebuilds log, heads, signatures and tables.

No tree or signature shows such a change: it is found where records contradict each other, the plan, the
protocol or the declared workload.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import unittest  # noqa: E402

from tamper import TamperTest  # noqa: E402  (exits where the second verifier cannot run)

import forge  # noqa: E402
import verify_body  # noqa: E402

WORKLOAD = """workload: small
version: 1
kind: memory_bound
description: a small triad
precisions: [fp32, fp64]
scenario: offline
memory_bound: {kernel: triad, elements: 65536}
"""

GAPS = "name = 'gap_ns' AND trial = 1 AND first = 0"


def cells(change):
    """A change of every cell in the campaign's record."""
    def forgery(owner):
        def all_cells(campaign):
            for cell in campaign["cells"]:
                cell.update(change(cell) if callable(change) else change)
        owner.edit("campaign", all_cells)
    return forgery


def campaign(**change):
    return lambda owner: owner.edit("campaign", change)


def record(kind, change, only_first=False):
    """A change of every record of a type, or of the first: members to be set, or a function of its body."""
    def forgery(owner):
        found = iter(owner.bodies(kind))
        first, _ = next(found)

        def one(body):
            if only_first and owner.bodies(kind)[0] != (first, body):
                return False
            return change(body) if callable(change) else body.update(change)
        owner.edit(kind, one)
    return forgery


def without(*names):
    """A trial whose end is without these members."""
    def forgery(body):
        for name in names:
            del body[name]
    return record("trial", forgery)


def only(name, keep):
    """A trial of whose list only some items are left."""
    return record("trial", lambda body: body.update({name: [item for item in body[name] if keep(item)]}))


def first_check(**change):
    return record("trial", lambda body: body["checks"][0].update(change), only_first=True)


def all_checks(change):
    def forgery(body):
        for check in body["checks"]:
            if check["metric"] != "same_bits":
                check.update(change(check))
    return record("trial", forgery)


def phases(change, name="window"):
    def forgery(body):
        for phase in body["phases"]:
            if phase["name"] == name:
                phase.update(change(phase))
    return record("trial", forgery)


def samples(sql):
    """A change of chunks, and of what the trials' records say of them."""
    def forgery(owner):
        assert owner.db.execute(sql).rowcount > 0, sql
    forgery.series = True
    return forgery


def head(change):
    """Heads of campaigns that count something else than there is."""
    def forgery(_):
        pass
    forgery.heads = lambda body: body.update(change(body)) if "manifest" in body else None
    return forgery


def stored(kind, change):
    """A change of the plan or the protocol, and of its digest wherever it is named."""
    return lambda owner: owner.edit_blob(owner.bodies("campaign")[0][1][kind], change)


def faster(owner, factor):
    """The rates of all estimates, times a factor, and the bytes of an iteration."""
    cells(lambda cell: {"bytes": int(cell["bytes"]) * factor})(owner)

    def estimate(record):
        rate = record["body"]["metrics"]["byte_rate"]
        for name in ("value", "lo", "hi"):
            if rate.get(name) is not None:
                rate[name] = float(rate[name]) * factor
    owner.edit("estimate", estimate)


def ten_times_the_bytes(owner):
    faster(owner, 10)


def in_plan(member, value):
    """The same lie in the plan and in the cell."""
    def forgery(owner):
        stored("plan", lambda plan: plan["cells"][0].update({member: value}))(owner)
        cells({member: str(value) if member == "seed" else value})(owner)
    return forgery


def as_fp64(owner):
    in_plan("precision", "fp64")(owner)
    faster(owner, 2)
    cells(lambda cell: {"device_memory_bytes": cell["bytes"], "working_set_bytes": cell["bytes"]})(owner)


def each_trial(owner):
    digest = stored("protocol", lambda protocol: protocol.update(verification="each_trial"))(owner)
    stored("plan", lambda plan: plan.update(protocol_digest=digest))(owner)


def overlapping(owner):
    started = [int(body["started_utc_ns"]) for _, body in owner.bodies("trial_begin")]
    owner.edit("trial_begin", lambda body: body.update(
        started_utc_ns=started[0] + 1 if int(body["started_utc_ns"]) == started[1] else body["started_utc_ns"]))


def bundled(owner):
    """A record of a bundle whose campaign nobody has, beside one that shows in the table."""
    uid = owner.bodies("campaign")[0][1]["uid"]
    proof = owner.blob('{"heads":[],"nodes":[]}')
    owner.enter({"type": "bundle", "imported_utc_ns": 1, "file": "x", "sha256": "01" * 32, "origin":
                 "assay-log/" + "0" * 32, "size": 1, "root": "01" * 32, "note": "x", "proof": proof,
                 "received": verify_body.received(()),
                 "campaigns": [uid, "5a" * 32], "withheld": []})


def conduct(**change):
    """What the harness saw of each trial."""
    return record("trial", lambda body: body["facts"]["conduct"].update(change))


def slower_checks(owner):
    """Not so long that the trials were invalid."""
    (_, estimate), = owner.bodies("estimate")
    took = int(100000 + 40 * float(estimate["body"]["metrics"]["iteration_time"]["value"]))
    conduct(spot_checks=3, checked_least_ns=took, checked_median_ns=took)(owner)


def twice_the_date(trial):
    seen = trial["facts"]["conduct"]
    for name in ("go", "told"):
        seen[name + "_utc_ns"] = int(seen[name + "_utc_ns"]) + int(seen[name + "_ns"])


def second_trial(owner, kind, references, change):
    """Gives the second trial records of its own where it shares them with the first."""
    number, trial = owner.bodies("trial")[1]
    found = {owner.digest(body)[0].hex(): body for _, body in owner.bodies(kind)}
    mine = references(trial)
    for digest in {reference["record"] for reference in mine}:
        new = owner.enter_before(number, {**found[digest], **change(found[digest])})
        number += 1
        for reference in mine:
            if reference["record"] == digest:
                reference.update(new)
    owner.db.execute("UPDATE record SET body = ? WHERE id = ?", (verify_body.canonical(trial), number))


def another_variable(owner):
    second_trial(owner, "readings", lambda trial: [trial["environment"]["host"]], lambda body: {"readings": {
        **body["readings"], "variable.LD_LIBRARY_PATH": {"source": "environ", "status": "measured", "value": "/opt"}}})


def another_library(owner):
    second_trial(owner, "stack", lambda trial: [stack["stack"] for stack in trial["stacks"]], lambda body: {
        "components": [{**file, "sha256": "5a" * 32} if "/libc.so" in file["path"] else file
                       for file in body["components"]]})


def stored_choice(owner):
    owner.edit_blob(owner.bodies("choice")[0][1]["choice"], lambda choice: choice.update(
        iterations_per_sample=choice["iterations_per_sample"] + 1))


# What is forged, and in which table both verifiers must find it.
FORGERIES = {
    "bytes and rate times ten": (ten_times_the_bytes, "cell"),
    "FLOPs that are not counted": (cells({"flops": 1, "flops_formula": "x"}), "cell"),
    "items": (cells(lambda cell: {"items": int(cell["items"]) + 1}), "cell"),
    "working set": (cells({"working_set_bytes": 1}), "cell"),
    "headline": (cells({"headline": "items"}), "cell"),
    "fp32 as fp64": (cells({"precision": "fp64"}), "cell"),
    "fp32 as fp64 in the plan, too": (in_plan("precision", "fp64"), "cell"),
    "fp32 as fp64 in the plan, with its bytes": (as_fp64, "verification"),
    "fp32 as fp16, which is not declared": (in_plan("precision", "fp16"), "cell"),
    "another batch": (in_plan("batch", 7), "cell"),
    "another workload's name": (cells({"workload_name": "gemm_4096"}), "cell"),
    "another kind": (cells({"kind": "gemm"}), "cell"),
    "another seed": (cells({"seed": "7"}), "cell"),
    "another seed in the plan, too": (in_plan("seed", 7), "cell"),
    "another implementation": (cells({"implementation": "vendor"}), "cell"),
    "another scenario": (cells({"scenario": "single_stream"}), "cell"),
    "another protocol's name": (cells({"protocol_name": "standard"}), "cell"),
    "another backend": (cells({"backend": "cuda"}), "cell"),
    "another backend in all columns": (cells({"backend": "cuda", "device_spec": "cuda:0"}), "cell"),
    "another device's index": (cells({"device_index": 3}), "cell"),
    "another order's seed": (campaign(order_seed="7"), "campaign"),
    "a plan without cells": (stored("plan", lambda plan: plan.pop("cells")), "campaign"),
    "a plan without order": (stored("plan", lambda plan: plan.pop("order")), "campaign"),
    "tool digest zero": (campaign(tool_digest="0" * 64), "campaign"),
    "another tool's digest": (campaign(tool_digest="5a" * 32), "campaign"),
    "another tool's version": (campaign(tool_version="9.9"), "campaign"),
    "another program measured": (conduct(worker="5a" * 32), "trial"),
    "another program was to measure": (stored("plan", lambda plan: plan.update(worker="5a" * 32)), "trial"),
    "another program, as planned": (lambda owner: (
        stored("plan", lambda plan: plan.update(worker="5a" * 32))(owner), conduct(worker="5a" * 32)(owner)),
        "trial"),
    "a window of a tenth by another clock": (conduct(clocks={"raw_ns": 1000, "ticks": None, "device_ns": None}),
                                             "trial"),
    "a device that worked longer than the window": (conduct(worker_clocks={
        "raw_ns": None, "ticks": None, "device_ns": 10 ** 12}), "trial"),
    "iterations that took an hour where they were checked": (
        conduct(spot_checks=3, checked_least_ns=36 * 10 ** 11), "trial"),
    "iterations that took forty times as long where they were checked": (slower_checks, "estimate"),
    "checks that took an hour of the window": (conduct(window_checks_ns=36 * 10 ** 11), "trial"),
    "a reference loop that took an hour of the window": (conduct(reference_ns=36 * 10 ** 11), "trial"),
    "a date that runs twice as fast": (record("trial", twice_the_date), "trial"),
    "a date that was set in the window": (conduct(told_utc_ns=1), "estimate"),
    "a result that came a second after each sample": (conduct(read_back_ns=10 ** 9), "trial"),
    "results read back in more samples than there are": (conduct(read_within=10 ** 6), "trial"),
    "changed inputs in more samples than there are": (conduct(changed_samples=10 ** 6), "trial"),
    "samples of unchanged inputs that took no time": (
        conduct(spot_checks=3, checked_least_ns=10 ** 6, unchanged_median_ns=1), "trial"),
    "a worker that was stopped": (conduct(stopped=1), "trial"),
    "a worker of another control group": (conduct(moved=1), "trial"),
    "a worker that was steered": (conduct(steered=1), "estimate"),
    "a worker with something hidden": (conduct(hidden=1), "estimate"),
    "checks said to be assay's own": (conduct(checks="assay"), "trial"),
    "a failed check in a good trial": (first_check(passed=False, error=9), "verification"),
    "a passed check with error 9": (first_check(error=9), "verification"),
    "a passed check without an error": (first_check(error="nan"), "verification"),
    "a check of nothing": (first_check(compared=0), "verification"),
    "all checks deleted": (without("checks"), "trial"),
    "checks after the window deleted": (only("checks", lambda check: check["phase"] != "verify_after"), "trial"),
    "no trial was compared with the reference": (all_checks(lambda check: {"metric": "same_bits"}),
                                                 "verification"),
    "later trials were not compared, and should": (each_trial, "verification"),
    "tolerance 1e30": (all_checks(lambda check: {"tolerance": 1e30}), "verification"),
    "tolerance twice as large": (all_checks(lambda check: {"tolerance": 2 * float(check["tolerance"])}),
                                 "verification"),
    "end before start": (record("trial", {"ended_utc_ns": 1}, only_first=True), "trial_end"),
    "overlapping trials": (overlapping, "trial"),
    "a trial before its plan": (record("trial_begin", lambda body: body.update(
        started_utc_ns=int(body["started_utc_ns"]) - 86400000000000)), "trial"),
    "a phase that ends before it begins": (phases(lambda phase: {"end_ns": int(phase["begin_ns"]) - 1}), "phase"),
    "phases in another order": (phases(lambda phase: {"begin_ns": 1}), "phase"),
    "a phase deleted": (only("phases", lambda phase: phase["name"] != "window"), "trial"),
    "samples longer than their window": (phases(lambda phase: {"end_ns": int(phase["begin_ns"]) + 1000}),
                                         "trial"),
    "signal 11 and ok": (record("trial", lambda body: body.update(signal=11) or body.pop("exit_code")), "trial_end"),
    "ok without an exit": (without("exit_code"), "trial_end"),
    "orphaned and ok": (record("trial", {"orphan": True}), "trial_end"),
    "ok with a reason": (record("trial", {"message": "the fan fell off"}), "trial_end"),
    "environment deleted": (without("environment"), "trial"),
    "environment after deleted": (record("trial", lambda body: body["environment"].pop("after")), "trial"),
    "stack deleted": (without("stacks"), "trial"),
    "stack at the end deleted": (only("stacks", lambda stack: stack["at"] != "window_end"), "trial"),
    "device deleted": (without("device"), "trial"),
    "another variable in the second trial": (another_variable, "cell"),
    "another library in the second trial": (another_library, "cell"),
    "samples of other iterations than were chosen": (stored_choice, "trial"),
    "a choice after its trials": (record("choice", lambda body: body.update(
        created_utc_ns=int(body["created_utc_ns"]) + 10 ** 13)), "checkpoint"),
    "an end after the head of the end": (record("event", lambda body: body.update(
        utc_ns=int(body["utc_ns"]) + 10 ** 13) if body["event"] == "finished" else False), "checkpoint"),
    "estimate deleted": (lambda owner: owner.drop("type = 'estimate'"), "cell"),
    "garbage in gap_ns": (samples("UPDATE series SET data = randomblob(length(data)) WHERE " + GAPS), "series"),
    "another sum of gap_ns": (samples("UPDATE series SET total = total + 1 WHERE " + GAPS), "series"),
    "gap_ns deleted": (samples("DELETE FROM series WHERE name = 'gap_ns'"), "trial"),
    "telemetry cut": (samples("UPDATE series SET data = substr(data, 1, length(data) - 1) WHERE name LIKE"
                              " 'telemetry:host.cpu_busy%'"), "series"),
    "a head that counts other records": (head(lambda body: {
        "manifest": {name: {} for name in body["manifest"]}}), "record"),
    "a head that counts fewer campaigns": (head(lambda body: {"campaigns_in_log": 0}), "record"),
    "a head that counts a campaign that is not here": (head(lambda body: {
        "manifest": {**body["manifest"], "5a" * 32: {}}}), "record"),
    "facts withheld in the own log": (record("trial", {"facts": {"withheld": "5a" * 32}}), "record"),
    "a trial of another campaign's cell": (record("trial_begin", {"cell": 2}), "record"),
}


# They contradict formulas and rules of the workload's kind, which assay alone has.
ASSAY_ALONE = {"bytes and rate times ten", "FLOPs that are not counted", "items", "working set", "headline",
               "fp32 as fp64 in the plan, too", "fp32 as fp64 in the plan, with its bytes",
               "iterations that took forty times as long where they were checked", "a date that was set in the window",
               "a worker that was steered", "a worker with something hidden", "tolerance 1e30", "tolerance twice as large"}


class VendorForgeries(TamperTest):
    secret = None

    def make_base(self):
        """Two good trials on the processor, signed, whose second is compared with the first."""
        key = os.path.join(self.folder, "k.key")
        call = self.assay("run", self.write("small.yaml", WORKLOAD), "--precision", "fp32", "--device",
                          "cpu:0", "--protocol", self.fast(), "--db", self.db, ASSAY_KEY=key)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(self.query("SELECT status, message FROM trial_end"), [("ok", None), ("ok", None)])
        with open(self.db, "rb") as file:
            TamperTest.base = file.read()
        with open(key, encoding="utf-8") as file:
            VendorForgeries.secret = file.read()
        TamperTest.head, TamperTest.public = None, self.key

    def forged(self, forgery):
        """A copy in which the owner changed something, and entered and signed all of it again."""
        path = self.copy()
        with forge.Forgery(path) as owner:
            forgery(owner)
            owner.rewrite(VendorForgeries.secret, series=getattr(forgery, "series", False),
                          heads=getattr(forgery, "heads", None))
        return path

    def test_signed_again_without_a_change(self):
        path = self.forged(lambda owner: None)
        self.assert_good(path, ("--key", self.public), keys=[self.public])
        self.assertEqual(forge.dump(path), forge.dump(self.copy()))

    def test_bundle_of_a_campaign_that_is_not_here(self):
        for found in self.both(self.forged(bundled)):
            self.assertIn("bundle", {f[1] for f in found})

    def test_each_is_found_by_both(self):
        missed, passed = ([], []), [0, 0]
        for name, (forgery, table) in FORGERIES.items():
            for i, found in enumerate(self.both(self.forged(forgery), ("--key", self.public),
                                                keys=[self.public])):
                passed[i] += not found
                if table not in {f[1] for f in found} and (i == 0 or name not in ASSAY_ALONE):
                    missed[i].append(name)
                if {f[0] for f in found} & {"signature", "head"}:
                    missed[i].append(name + ": its signature")  # which is good: the owner has the key
        print("%d forgeries; assay verifies %d of them, the second verifier %d" % (len(FORGERIES), *passed))
        self.assertEqual(missed, ([], []))


if __name__ == "__main__":
    unittest.main()
