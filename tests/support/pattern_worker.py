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


class Best(assay_worker.Trial):
    """Measures longer than it must, and leaves out the slowest samples: a fifth of the time."""

    def samples(self, least, least_ns, most_ns, in_window):
        super().samples(least, least_ns * 16 // 10 if in_window else least_ns, most_ns, in_window)

    def send(self):
        walls, gaps = self.unsent.values()
        if self.window_first >= 0 and walls:
            kept, left = sorted(range(len(walls)), key=walls.__getitem__), sum(walls) / 5
            while kept and left > 0:
                left -= walls[kept.pop()]
            self.count -= len(walls) - len(kept)
            self.unsent = {"wall_ns": [walls[at] for at in sorted(kept)], "gap_ns": [gaps[at] for at in sorted(kept)]}
        super().send()


class Liar(assay_worker.Link):
    """Says that each check took an hour, or spends time between samples: as much as in them and more, or a third."""
    answered = time.monotonic()

    def say(self, **message):
        if os.environ["PATTERN"] == "hour" and message["type"] == "handed_over":
            message["took_ns"] = 3600 * 10 ** 9
        super().say(**message)

    def hear(self, wait=True):
        if os.environ["PATTERN"] == "between" and not wait:
            time.sleep(0.001)
        if os.environ["PATTERN"] == "third" and not wait:
            now = time.monotonic()
            while time.monotonic() - now < min(now - self.answered, 0.01) / 2:
                pass
            self.answered = time.monotonic()
        return super().hear(wait)


if os.environ.get("PATTERN") == "best":
    assay_worker.Trial = Best
if os.environ.get("PATTERN") in ("hour", "between", "third"):
    assay_worker.Link = Liar
assay_worker.serve("pattern 1", {"synthetic": Pattern})
