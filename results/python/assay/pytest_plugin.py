"""pytest: the fixture `assay_benchmark`.

    def test_parser(assay_benchmark):
        tree = assay_benchmark(parse, TEXT)     # called many times; what the last call returned
        assert tree.root

Without options it measures in the process of the tests, and the summary has a line for each test. With
`--assay-db FILE` assay measures each test in fresh processes under a protocol, by the kind `program`, and stores the
result with its provenance; with `--assay-baseline CAMPAIGN` tests that are slower than in that campaign fail.
"""

from __future__ import annotations

import builtins
import json
import math
import os
import re
import sys
import tempfile
import time
from typing import Any, Callable, Iterator, List, Optional, Tuple, TypeVar

import pytest

from . import Error, Estimate, analyze, open, run  # noqa: A004

Returned = TypeVar("Returned")
BLOCK_S = 1e-4  # a sample takes at least so long: the clock's own cost is a thousandth of it
SAMPLES_MIN, SAMPLES_MAX = 30, 10000
CHILD = "ASSAY_PYTEST_CHILD"  # set in a process that assay started, which prints its number


def pytest_addoption(parser: Any) -> None:
    """Options of the group assay."""
    group = parser.getgroup("assay", "benchmarks by assay")
    group.addoption("--assay-seconds", type=float, default=1.0, metavar="S",
                    help="how long assay_benchmark measures a test in this process (default: 1)")
    group.addoption("--assay-db", metavar="FILE",
                    help="measure in fresh processes, and store the results in this database")
    group.addoption("--assay-protocol", default="quick", metavar="PROTOCOL",
                    help="how assay measures with --assay-db (default: quick)")
    group.addoption("--assay-baseline", metavar="CAMPAIGN",
                    help="a test fails that is slower than its result in this campaign of --assay-db; `last` is the "
                         "newest of the same test")
    group.addoption("--assay-margin", type=float, default=0.01, metavar="FRACTION",
                    help="half-width of equivalence to the baseline (default: 0.01)")


def pytest_configure(config: Any) -> None:
    """Refuses a baseline that no test would be held to."""
    if config.getoption("--assay-baseline") and not config.getoption("--assay-db"):
        raise pytest.UsageError("--assay-baseline is of a database: name it by --assay-db FILE")


def measure(function: Callable[[], Any], seconds: float) -> tuple[list[float], Any]:
    """Seconds a call, in samples that are long enough for the clock; and what the last call returned."""
    calls, returned = 1, None

    def sample() -> float:
        nonlocal returned
        begun = time.perf_counter()
        for _ in range(calls):
            returned = function()
        return time.perf_counter() - begun

    while (took := sample()) < BLOCK_S:
        calls *= max(2, min(10, math.ceil(BLOCK_S / max(took, 1e-9))))
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while len(samples) < SAMPLES_MIN or (time.perf_counter() < end and len(samples) < SAMPLES_MAX):
        samples.append(sample() / calls)
    return samples, returned


def declaration(name: str, root: str, node: str) -> str:
    """Of the kind `program`: one test, in a process of its own. JSON is YAML, too."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--assay-seconds", "0.1", node]
    return json.dumps({
        "workload": name, "version": 1, "kind": "program", "description": f"the pytest benchmark {node}"[:200],
        "program": {"command": command, "directory": root, "environment": {"set": [f"{CHILD}=1"]},
                    "metric": {"pattern": "assay_benchmark: {value} s", "unit": "s", "better": "lower"}}})


def name_of(node: str) -> str:
    """A workload's name for a test: the end of its id, which tells tests apart."""
    return "pytest_" + re.sub(r"[^a-z0-9]+", "_", node.lower()).strip("_")[-50:]


class Benchmark:
    """What the fixture gives: call it with a function and its arguments."""

    def __init__(self, node: str, config: Any) -> None:
        self._node, self._config = node, config
        self.estimate: Optional[Estimate] = None
        self.note = ""

    def __call__(self, function: Callable[..., Returned], *arguments: Any, **keywords: Any) -> Returned:
        """Measures function(*arguments, **keywords), once a test, and gives what its last call returned."""
        if self.estimate:
            raise Error("assay_benchmark measures one function a test: write a test for each")
        stored = self._config.getoption("--assay-db")
        if stored and CHILD not in os.environ:
            returned = function(*arguments, **keywords)
            self._store(os.path.abspath(stored))
            return returned
        samples, returned = measure(lambda: function(*arguments, **keywords),
                                    self._config.getoption("--assay-seconds"))
        self.estimate = analyze(samples, unit_ns=1e9)
        return returned

    def _store(self, database: str) -> None:
        name = name_of(self._node)
        before = self._before(database, name)
        with tempfile.TemporaryDirectory(prefix="assay-pytest-") as folder:
            file = os.path.join(folder, "benchmark.yaml")
            with builtins.open(file, "w", encoding="utf-8") as text:
                text.write(declaration(name, str(self._config.rootpath), self._node))
            (result,) = run(file, db=database, protocol=self._config.getoption("--assay-protocol"))
        self.estimate = result.estimate
        if before:
            self._gate(database, before, result.id)

    def _before(self, database: str, name: str) -> Optional[str]:
        baseline = self._config.getoption("--assay-baseline")
        if not baseline or not os.path.exists(database):
            return None
        with open(database) as store:
            found = store.results(None if baseline == "last" else baseline, workload=name)
        return found[0].id if found else None

    def _gate(self, database: str, before: str, after: str) -> None:
        margin = self._config.getoption("--assay-margin")
        with open(database, write=True) as store:
            (difference,) = store.compare(before, after, margin=margin).differences
            exploratory = difference.comparability == "exploratory"  # a first look, which is no evidence for a gate
            if not exploratory:
                store.compare(before, after, margin=margin, record=True, gate=True)
        if difference.comparability == "not_comparable":
            pytest.fail(f"does not compare with {before}: assay compare {before} {after} --db {database} says why",
                        pytrace=False)
        if difference.lo > 1 + margin if exploratory else difference.decision == "worse":
            pytest.fail(f"slower than {before}: {difference.ratio:.3f} times the time, "
                        f"[{difference.lo:.3f}, {difference.hi:.3f}]", pytrace=False)
        if not (difference.hi <= 1 + margin if exploratory else difference.decision == "passes"):
            self.note = f"; whether slower than {before} is not settled"


@pytest.fixture
def assay_benchmark(request: Any) -> Iterator[Benchmark]:
    """A Benchmark for this test."""
    made = Benchmark(request.node.nodeid, request.config)
    try:
        yield made
    except Error as error:
        pytest.fail(f"assay: {error}", pytrace=False)
    finally:
        if made.estimate:
            request.config.stash.setdefault(LINES, []).append((request.node.nodeid, made))


LINES = pytest.StashKey[List[Tuple[str, Benchmark]]]()


def line(estimate: Estimate) -> str:
    """"1.234 us [1.230, 1.238] steady, grade C"."""
    metric = estimate.metric(estimate.headline)
    if not metric or math.isnan(metric.value):
        return f"no value: {estimate.verdict}"
    seconds = {"s": 1.0, "ns": 1e-9}.get(metric.unit, math.nan)
    scale, unit = next(((s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if metric.value * seconds >= s),
                       (1e-9, "ns"))
    interval = "no interval" if math.isnan(metric.lo) else "[{:.4g}, {:.4g}]".format(
        metric.lo * seconds / scale, metric.hi * seconds / scale)
    return f"{metric.value * seconds / scale:.4g} {unit} {interval} {estimate.verdict}, grade {metric.grade}"


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """A line a benchmark; the one number of a process that assay started."""
    lines = config.stash.get(LINES, [])
    if CHILD in os.environ:
        for _, made in lines:
            metric = made.estimate.metric("iteration_time")
            terminalreporter.write_line(f"assay_benchmark: {metric.value * 1e-9 if metric else math.nan!r} s")
    elif lines:
        terminalreporter.section("benchmarks by assay: time a call, 95 % interval")
        for node, made in lines:
            terminalreporter.write_line(f"{node}: {line(made.estimate)}{made.note}")
