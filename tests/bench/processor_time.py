#!/usr/bin/env python3
"""Processor time beside wall time, of the two arms of each comparison in a database of `assay ab`.

usage: processor_time.py DATABASE

A worker's processor time is the growth of `worker_cpu_ms` (telemetry of the host, ten readings a second, of all its threads)
while it takes samples: spot checks, which are gaps of more than 5 ms between samples, are left out, and so is 0.1 s
on both sides of each, since the counter is known only at its readings. It is divided by the time that it was read over,
which gives the processors that were busy, and times the trial's time per iteration. The ratios are of b over a, geometric means
over the pairs with 95 % intervals (Student's t on the logs).
"""

import bisect
import json
import math
import sqlite3
import statistics
import sys

GAP_NS, EDGE_NS = 5e6, 1e8
T975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
        2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045)


def uninterrupted(walls, gaps, begin):
    """Spans of time, in ns since the trial began, in which samples follow each other."""
    spans = []
    for wall, gap in zip(walls, gaps):
        begin += gap
        if gap > GAP_NS or not spans:
            spans.append([begin, begin])
        begin += wall
        spans[-1][1] = begin
    return [(a + EDGE_NS, b - EDGE_NS) for a, b in spans if b - a > 2 * EDGE_NS]


def counter_at(times, values, time):
    after = bisect.bisect_right(times, time)
    if after in (0, len(times)):
        return math.nan
    share = (time - times[after - 1]) / (times[after] - times[after - 1])
    return values[after - 1] + share * (values[after] - values[after - 1])


def of_trial(database, trial, first, per_sample):
    """(time per iteration in ns, busy processors)"""
    def series(name):
        return [value for (value,) in database.execute(
            "SELECT value FROM samples WHERE trial = ? AND series = ? ORDER BY number", (trial, name))]
    ((begin,),) = database.execute("SELECT begin FROM phases WHERE trial = ? AND phase = 'window'", (trial,))
    walls = series("wall_ns")[first:]
    times, values = series("telemetry:host.time_ns"), series("telemetry:host.worker_cpu_ms")
    used = spanned = 0.0
    for a, b in uninterrupted(walls, series("gap_ns")[first:], begin * 1e9):
        grown = counter_at(times, values, b) - counter_at(times, values, a)
        if not math.isnan(grown):
            used, spanned = used + grown * 1e6, spanned + b - a
    return statistics.mean(walls) / per_sample, used / spanned if spanned else math.nan


def ratio(pairs):
    logs = [math.log(b / a) for a, b in pairs if a > 0 and b > 0]
    if len(logs) < 2:
        return "not known"
    half = T975[min(len(logs) - 2, len(T975) - 1)] * statistics.stdev(logs) / math.sqrt(len(logs))
    middle = statistics.mean(logs)
    return "%.3f [%.3f, %.3f]" % tuple(math.exp(x) for x in (middle, middle - half, middle + half))


def main():
    database = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
    cells = {}
    for trial, result, first, per_sample in database.execute(
            "SELECT trial, result, window_first, iterations_per_sample FROM trials WHERE status = 'ok' ORDER BY trial"):
        cells.setdefault(result, []).append(of_trial(database, trial, first, per_sample))
    for (body,) in database.execute("SELECT body FROM comparison WHERE kind = 'ab' ORDER BY id"):
        a, b = (json.loads(body)[arm] for arm in "ab")
        for result in a, b:
            ((workload, precision, implementation),) = database.execute(
                "SELECT workload, precision, implementation FROM results WHERE result = ?", (result,))
            print("%s  %s %s %s: %.4g ms per iteration, %.2f processors busy, %d trials" % (
                result, workload, precision, implementation, statistics.median(w for w, _ in cells[result]) / 1e6,
                statistics.median(n for _, n in cells[result]), len(cells[result])))
        pairs = list(zip(cells[a], cells[b]))
        print("  wall time b/a %s, processor time b/a %s" % (
            ratio([(x[0], y[0]) for x, y in pairs]), ratio([(x[0] * x[1], y[0] * y[1]) for x, y in pairs])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
