#!/usr/bin/env python3
"""A worker of the synthetic workload on the module that speaks the protocol for workers in Python."""

import os
import sys
import time

if os.environ.get("PATTERN") != "installed":  # else that of its own environment
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "backends", "workers",
                                "python"))
import assay_worker  # noqa: E402


class Pattern:
    """Copies the pattern; an iteration that is left out, or a copy that is kept, shows."""

    def __init__(self, _, tensors):
        self.iterations = 0
        self.take(tensors)

    def prepare(self):
        if os.environ.get("PATTERN") == "sleeps":  # as a compiler may take
            time.sleep(60)

    def take(self, tensors):
        self.source = tensors["pattern"]

    def iterate(self, _):
        kind, shape, data = self.source
        self.iterations += 1
        if os.environ.get("PATTERN") != "kept" or not hasattr(self, "target"):
            self.target = (kind, shape, bytes(data))

    def synchronize(self):
        pass

    def compilations(self):
        return self.iterations if os.environ.get("PATTERN") == "compiles" else 0

    def outputs(self):
        return {"pattern": self.target}

    def device(self):
        reading = {"status": "declared", "value": "1", "unit": None, "source": "test", "reason": None}
        return {"backend": "null", "index": 0, "name": "pattern", "vendor": "test", "uuid": None, "type": "cpu",
                "simulated": True, "readings": {"device.driver_version": reading}}

    def facts(self):
        return {}


assay_worker.serve("pattern 1", {"synthetic": Pattern})
