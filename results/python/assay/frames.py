"""Records as frames of pandas or Polars."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable

from ._native import Error
from .records import Result


def _columns(record: Any, before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            found.update(_columns(value, f"{before}{field.name}."))
        elif not isinstance(value, tuple):
            found[before + field.name] = value
    return found


def _result(record: Result) -> dict[str, Any]:
    columns = _columns(record)
    metric = record.estimate.metric(record.estimate.headline) if record.estimate else None
    if metric:
        columns.update(_columns(metric))
        columns["id"], columns["metric"] = record.id, metric.id
    return columns


def frame(records: Iterable[Any], kind: str = "pandas") -> Any:
    """A row a record, nested members as "device.name"; a Result also has its headline metric's members.

    `kind` is "pandas" or "polars", which has to be installed.
    """
    rows = [_result(one) if isinstance(one, Result) else _columns(one) for one in records]
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(rows)
    if kind == "polars":
        import polars

        return polars.DataFrame(rows, infer_schema_length=None)
    raise Error(f'there is no frame "{kind}"; there are: pandas, polars')
