"""Stored results, comparisons and verification: libassay's calls as Python has them."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from types import TracebackType
from typing import Any, Callable, Iterable, Iterator, Optional, Sequence, Union

from ._native import Error, library, program
from .records import (Comparison, Device, Difference, Estimate, Finding, Metric, Result, Samples,
                      Trial, Verification, VerifyFinding)

Path = Union[str, "os.PathLike[str]"]


def _estimate(pointer: Any) -> Optional[Estimate]:
    lib = library()
    if pointer == lib.ffi.NULL:
        return None
    metrics = lib.each(lambda i: lib.c.assay_estimate_metric(pointer, i))
    findings = lib.each(lambda i: lib.c.assay_estimate_finding(pointer, i))
    return lib.record(Estimate, pointer, metrics=tuple(lib.record(Metric, one) for one in metrics),
                      findings=tuple(lib.record(Finding, one) for one in findings))


def _result(results: Any, i: int, pointer: Any) -> Result:
    lib = library()
    trials = lib.each(lambda n: lib.c.assay_results_trial(results, i, n))
    return lib.record(Result, pointer, device=lib.record(Device, pointer.device),
                      estimate=_estimate(pointer.estimate),
                      trials=tuple(lib.record(Trial, trial) for trial in trials))


class Store:
    """A database of results, or a bundle, which is verified when it is opened.

    `write` allows to record comparisons; what is there is never changed. `wait` is how many seconds to wait for a
    database that another process holds. Threads may share a Store; its calls are made one after the other.
    """

    def __init__(self, path: Path, write: bool = False, wait: float = 10) -> None:
        lib = library()
        handle = lib.ffi.new("struct assay_store **")
        mode = lib.c.ASSAY_WRITE if write else lib.c.ASSAY_READ
        lib.check(lib.c.assay_store_open(lib.bytes(path), mode, float(wait), handle))
        self._handle, self._lock = handle[0], threading.Lock()

    def close(self) -> None:
        """Closes it, once no thread is in a call of it; closing again does nothing."""
        with self._lock:
            library().c.assay_store_close(self._handle)
            self._handle = library().ffi.NULL

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        """The handle, which belongs to one thread at a time."""
        with self._lock:
            if self._handle == library().ffi.NULL:
                raise Error("the store is closed: open it again with assay.open")
            yield self._handle

    def results(self, campaign: Optional[str] = None, *, workload: Optional[str] = None,
                precision: Optional[str] = None, protocol: Optional[str] = None,
                verdict: Optional[str] = None, device: Optional[str] = None,
                since_utc_ns: int = 0, archived: bool = False, limit: int = 0,
                offset: int = 0) -> list[Result]:
        """Results, newest campaign first; `campaign` is the start of an identifier, or "last"."""
        lib = library()
        values = {"campaign": campaign, "workload": workload, "precision": precision,
                  "protocol": protocol, "verdict": verdict, "device": device,
                  "since_utc_ns": since_utc_ns, "archived": archived, "limit": limit, "offset": offset}
        options, _kept = lib.options("assay_filter", values)
        handle = lib.ffi.new("struct assay_results **")
        with self._opened() as store:
            lib.check(lib.c.assay_results_list(store, options, handle))
            try:
                found = lib.each(lambda i: lib.c.assay_results_at(handle[0], i))
                return [_result(handle[0], i, one) for i, one in enumerate(found)]
            finally:
                lib.c.assay_results_free(handle[0])

    def details(self, result: str) -> Any:
        """All that is stored of a result, as `assay show RESULT --json` has it."""
        lib = library()
        text = lib.ffi.new("char **")
        with self._opened() as store:
            lib.check(lib.c.assay_result_json(store, lib.bytes(result), text))
        return json.loads(lib.taken(text[0]) or "null")

    def samples(self, trial: Trial, series: str = "wall_ns") -> Samples:
        """A series of an ended trial: "wall_ns", "gap_ns", "device_ns" or "telemetry:PART.CHANNEL"."""
        lib = library()
        handle = lib.ffi.new("struct assay_samples **")
        wanted = lib.ffi.new("struct assay_trial *", {"row": trial.row})
        with self._opened() as store:
            lib.check(lib.c.assay_samples_load(store, wanted, lib.bytes(series), handle))
        try:
            loaded = handle[0]
            count = loaded.count
            at = None if loaded.at_ns == lib.ffi.NULL else tuple(lib.ffi.unpack(loaded.at_ns, count))
            return Samples(tuple(lib.ffi.unpack(loaded.values, count)) if count else (), at,
                           lib.text(loaded.unit) or "")
        finally:
            lib.c.assay_samples_free(handle[0])

    def compare(self, a: str, b: Optional[str] = None, *, margin: float = 0, by: Optional[str] = None,
                under: Optional[str] = None, allow_foreign_worker: bool = False,
                record: bool = False, gate: bool = False) -> Comparison:
        """Compares two results, two campaigns cell by cell, or the arms of one campaign.

        `margin` is the half-width of equivalence (0: 0.01). `record` keeps it as evidence, in a store that is open
        for writing; `gate` keeps it as the decision of a gate.
        """
        lib = library()
        options, _kept = lib.options("assay_compare_options", {
            "margin": margin, "by": by, "under": under, "allow_foreign_worker": allow_foreign_worker})
        handle = lib.ffi.new("struct assay_comparison **")
        with self._opened() as store:
            lib.check(lib.c.assay_compare(store, lib.bytes(a), lib.bytes(b), options, handle))
            try:
                found = lib.each(lambda i: lib.c.assay_comparison_at(handle[0], i))
                made = Comparison(tuple(lib.record(Difference, one) for one in found),
                                  lib.text(lib.c.assay_comparison_decision(handle[0])) or "")
                if record:
                    lib.check(lib.c.assay_comparison_record(handle[0], gate))
                return made
            finally:
                lib.c.assay_comparison_free(handle[0])


def open(path: Path, write: bool = False, wait: float = 10) -> Store:  # noqa: A001: as gzip.open
    """A database of results, or a bundle; see Store."""
    return Store(path, write, wait)


def analyze(*trials: Iterable[float], unit_ns: float = 1, warmup: int = 0, confidence: float = 0,
            margin: float = 0) -> Estimate:
    """What durations say, as `assay analyze` does: a sequence a trial, in the order in which they were measured.

    `unit_ns` is the nanoseconds of one unit (1e9: the values are seconds); the first `warmup` values of each trial
    are declared warmup.
    """
    lib = library()
    options, _kept = lib.options("assay_analyze_options",
                                 {"unit_ns": unit_ns, "confidence": confidence, "margin": margin})
    values = [lib.ffi.new("double[]", [float(value) for value in trial]) for trial in trials]
    series = lib.ffi.new("struct assay_series[]", [
        {"values": one, "count": len(one), "warmup": min(warmup, len(one))} for one in values])
    handle = lib.ffi.new("struct assay_estimate **")
    lib.check(lib.c.assay_analyze(series, len(values), options, handle))
    try:
        made = _estimate(handle[0])
        assert made is not None
        return made
    finally:
        lib.c.assay_estimate_free(handle[0])


def verify(path: Path, *, keys: Sequence[str] = (), roster: Optional[Path] = None,
           nonce: Optional[str] = None, expect_head: Optional[str] = None, witnesses: int = 0,
           tsa_ca: Optional[Path] = None, threads: int = 0, skip_estimates: bool = False,
           progress: Optional[Callable[[str, int, int], Optional[bool]]] = None) -> Verification:
    """Whether a database or bundle is what it claims to be.

    `progress` is called several times a second with what is done, how much, and of how much (0: not known); False
    ends the call.
    """
    lib = library()
    kept_keys = [lib.bytes(key) for key in keys]
    said, raised = lib.progress(
        "bool(void *, const char *, uint64_t, uint64_t)",
        lambda doing, done, total: progress(lib.text(doing) or "", done, total) if progress else True)
    options, _kept = lib.options("assay_verify_options", {
        "expect_head": expect_head, "nonce": nonce, "roster": roster, "witnesses": witnesses,
        "tsa_ca": tsa_ca, "threads": threads, "skip_estimates": skip_estimates, "progress": said,
        "keys": lib.ffi.new("char *[]", kept_keys) if keys else None, "key_count": len(kept_keys)})
    handle = lib.ffi.new("struct assay_verification **")
    status = lib.c.assay_verify(lib.bytes(path), options, handle)
    try:
        if raised:
            raise raised[0]
        lib.check(status)
        found = lib.each(lambda i: lib.c.assay_verification_finding(handle[0], i))
        return lib.record(Verification, lib.c.assay_verification_summary(handle[0]),
                          findings=tuple(lib.record(VerifyFinding, one) for one in found))
    finally:
        lib.c.assay_verification_free(handle[0])


def _words(command: str, arguments: Sequence[str], options: dict[str, Any]) -> list[str]:
    words = [command]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words.append(f"{option}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return words + ["--", *arguments]


def call(command: str, *arguments: str, progress: Optional[Callable[[str], Optional[bool]]] = None,
         **options: Any) -> Any:
    """What `assay COMMAND --json` says, by a process of its own.

    Options are keywords: `db="r.db"`, `quiet=True`, `device=["cpu:0", "opencl:0"]`, `exit_status=True`. `progress` is
    called with each line for people; False ends the command as Ctrl-C does.
    """
    lib = library()

    def report(line: Any) -> Optional[bool]:
        return progress(lib.text(line) or "") if progress and line != lib.ffi.NULL else True

    said, raised = lib.progress("bool(void *, const char *)", report)
    options_struct, _kept = lib.options("assay_call_options", {"program": program(), "progress": said})
    words = [lib.bytes(word) for word in _words(command, arguments, options)]
    text = lib.ffi.new("char **")
    status = lib.c.assay_call(lib.ffi.new("char *[]", [*words, lib.ffi.NULL]), options_struct, text)
    data = None if text[0] == lib.ffi.NULL else lib.taken(text[0])
    if raised:
        raise raised[0]
    lib.check(status)
    return None if data is None else json.loads(data)


def run(*workloads: str, db: Path, progress: Optional[Callable[[str], Optional[bool]]] = None,
        **options: Any) -> list[Result]:
    """Measures workloads, and gives their results: assay.run("triad", db="r.db", device="cpu:0", protocol="quick")."""
    made = call("run", *workloads, db=db, progress=progress, **options)
    with open(db) as store:
        return store.results(made["campaign"], archived=True)
