"""What libassay says, as immutable records: the members of the structs in assay/*.h, which describe them."""

from __future__ import annotations

import dataclasses
import math
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Metric:
    """A value in its base unit, with its interval [lo, hi]."""

    id: str
    label: str
    unit: str
    grade: str
    value: float
    lo: float
    hi: float
    needed: int


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a reader must know with the values."""

    code: str
    severity: str
    message: str
    remedy: str
    trial: int


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What samples say: a verdict, metrics and findings."""

    verdict: Optional[str]
    headline: str
    steady: bool
    confidence: float
    effective: float
    trials: int
    samples: int
    needed_trials: int
    metrics: tuple[Metric, ...]
    findings: tuple[Finding, ...]

    def metric(self, id: str) -> Optional[Metric]:  # noqa: A002: as the member of Metric
        """The metric with this id, as "p99"; None: it has none."""
        return next((metric for metric in self.metrics if metric.id == id), None)

    @property
    def value(self) -> float:
        """The headline metric's value; NAN: it has none."""
        metric = self.metric(self.headline)
        return metric.value if metric else math.nan


@dataclasses.dataclass(frozen=True)
class Device:
    """Where it was measured; `spec` is "opencl:0"."""

    spec: str
    backend: str
    name: str
    vendor: str
    uuid: str
    type: str
    simulated: bool


@dataclasses.dataclass(frozen=True)
class Trial:
    """One attempt at a planned trial; `status` is "ok", or how it failed."""

    row: int
    number: int
    status: str
    message: Optional[str]
    started_utc_ns: int
    samples: int
    window_first: int
    iterations_per_sample: int


@dataclasses.dataclass(frozen=True)
class Result:
    """A stored result: a workload on a device, under a protocol."""

    id: str
    workload: str
    kind: str
    precision: str
    scenario: Optional[str]
    implementation: Optional[str]
    batch: int
    protocol: str
    arm: Optional[str]
    program: Optional[str]
    state: str
    created_utc_ns: int
    trials_planned: int
    trials_ended: int
    trials_ok: int
    device: Device
    estimate: Optional[Estimate]
    trials: tuple[Trial, ...]

    @property
    def value(self) -> float:
        """The headline metric's value; NAN: it has none."""
        return self.estimate.value if self.estimate else math.nan


@dataclasses.dataclass(frozen=True)
class Samples:
    """A series of a trial, in order; those before `window_first` of the trial are warmup."""

    values: tuple[float, ...]
    at_ns: Optional[tuple[float, ...]]
    unit: str


@dataclasses.dataclass(frozen=True)
class Difference:
    """Of result b against a: `ratio` is b / a in time, with its interval [lo, hi]."""

    a: str
    b: str
    comparability: str
    verdict: Optional[str]
    decision: str
    reason: str
    paired: bool
    ratio: float
    lo: float
    hi: float
    p_difference: float
    p_equivalence: float
    needed: int


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Differences that were judged together, and what a gate decides: "passes", "worse" ..."""

    differences: tuple[Difference, ...]
    decision: str

    @property
    def passes(self) -> bool:
        """Whether a gate passes."""
        return self.decision == "passes"


@dataclasses.dataclass(frozen=True)
class VerifyFinding:
    """What `verify` found: `level` is "wrong", "unverified" or "note"."""

    level: str
    code: str
    check: str
    table: Optional[str]
    key: Optional[str]
    message: str


@dataclasses.dataclass(frozen=True)
class Verification:
    """Whether a file is what it claims to be."""

    verified: bool
    authors: bool
    leaves: int
    root: str
    records: int
    bytes: int
    signers: str
    signatures: int
    trusted_signatures: int
    estimates: int
    comparisons: int
    wrong: int
    unverified: int
    notes: int
    seconds: float
    findings: tuple[VerifyFinding, ...]
