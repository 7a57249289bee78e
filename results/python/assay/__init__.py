"""assay: measure AI hardware, read results, compare and verify them.

    import assay
    assay.run("triad", db="r.db", device="cpu:0")
    with assay.open("r.db") as store:
        for result in store.results(workload="triad"):
            print(result.device.name, result.value, result.state)
        print(assay.frame(store.results()))
    assay.analyze([1.02, 1.01, 1.04, 1.02, 1.03], unit_ns=1e9).value
"""

from ._native import Error, library, program
from .frames import frame
from .records import (Comparison, Device, Difference, Estimate, Finding, Metric, Result, Samples,
                      Trial, Verification, VerifyFinding)
from .store import Store, analyze, call, open, run, verify  # noqa: A004

__all__ = ["Comparison", "Device", "Difference", "Error", "Estimate", "Finding", "Metric", "Result",
           "Samples", "Store", "Trial", "Verification", "VerifyFinding", "analyze", "call", "frame",
           "open", "program", "run", "verify", "version"]


def version() -> str:
    """The library's version and commit."""
    return library().text(library().c.assay_version()) or ""
