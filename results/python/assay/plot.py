"""Pictures by matplotlib: the samples of a result, the differences of a comparison."""

from __future__ import annotations

from typing import Any, Optional

from .records import Comparison, Result
from .store import Store


def _axes(axes: Optional[Any]) -> Any:
    if axes is not None:
        return axes
    from matplotlib import pyplot

    return pyplot.subplots()[1]


def samples(store: Store, result: Result, axes: Optional[Any] = None) -> Any:
    """Time per iteration of every trial's window, in order; gives the axes, new ones where there are none."""
    axes = _axes(axes)
    for trial in result.trials:
        if trial.status == "ok":
            values = store.samples(trial).values[max(trial.window_first, 0):]
            axes.plot([value / trial.iterations_per_sample * 1e-9 for value in values], ".", markersize=2,
                      label=f"trial {trial.number}")
    axes.set(xlabel="sample of the window", ylabel="time per iteration, s", title=f"{result.workload} {result.id}")
    axes.legend()
    return axes


def differences(comparison: Comparison, axes: Optional[Any] = None) -> Any:
    """The ratios b / a in time with their intervals, a row each; gives the axes."""
    axes = _axes(axes)
    for row, one in enumerate(comparison.differences):
        axes.errorbar(one.ratio, row, xerr=[[one.ratio - one.lo], [one.hi - one.ratio]], fmt="o", color="C0")
    axes.axvline(1, color="grey", linewidth=1)
    axes.set(xlabel="time b / a, with its interval", yticks=range(len(comparison.differences)),
             yticklabels=[f"{one.b} against {one.a}" for one in comparison.differences])
    return axes
