#!/usr/bin/env python3
"""A worker of the synthetic workload on the module that speaks the protocol for PyTorch's worker."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "backends", "workers",
                                "pytorch"))
import pytorch  # noqa: E402


class Pattern:
    """Copies the pattern; an iteration that is left out, or a copy that is kept, shows."""

    def __init__(self, tensors):
        self.take(tensors)

    def prepare(self):
        pass

    def take(self, tensors):
        self.source = tensors["pattern"]

    def iterate(self, _):
        kind, shape, data = self.source
        if os.environ.get("PATTERN") != "kept" or not hasattr(self, "target"):
            self.target = (kind, shape, bytes(data))

    def synchronize(self):
        pass

    def outputs(self):
        return {"pattern": self.target}

    def device(self):
        reading = {"status": "declared", "value": "1", "unit": None, "source": "test", "reason": None}
        return {"backend": "null", "index": 0, "name": "pattern", "vendor": "test", "uuid": None, "type": "cpu",
                "simulated": True, "readings": {"device.driver_version": reading}}

    def facts(self):
        return {}


def make_work(trial, tensors):
    if trial["workload"]["kind"] != "synthetic":
        raise pytorch.Unsupported("this worker copies patterns alone")
    return Pattern(tensors)


pytorch.serve("pattern 1", make_work)
