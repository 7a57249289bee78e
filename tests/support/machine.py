"""What a test asks of the machine it runs on: has a process ended, and is there a processor for it now."""

import os
import time

TOO_BUSY = 0.25  # of the time that a process with work waits: of twice as many as there are processors each waits half
QUEUE = 3  # processes that want one, for each processor
WATCHED = 0.5  # seconds


def has_ended(pid):
    """Whether a process runs no more. Nobody may have asked yet how it ended: it then is still listed, in state Z,
    and stays so where process 1 asks for none of those whose parents have ended, as in some containers."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def waited_share():
    """Which share of half a second this process waited for a processor, though it had work all the time; 0 where
    the kernel does not count it (/proc/self/schedstat: nanoseconds that it ran, and that it waited)."""
    def waited():
        try:
            with open("/proc/thread-self/schedstat", encoding="ascii") as file:
                return int(file.read().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0
    begin, before = time.monotonic(), waited()
    while time.monotonic() - begin < WATCHED:
        pass
    return (waited() - before) / (time.monotonic() - begin)


def skip_when_busy(test):
    """Skips a test whose subject is a time that only a machine with a free processor keeps, once its part has failed, as
    often as it was tried. It goes on, and so fails, where the machine is not busy: not now, nor in the last minute."""
    share, load, processors = waited_share(), os.getloadavg()[0], len(os.sched_getaffinity(0))
    if share > TOO_BUSY or load > QUEUE * processors:
        test.skipTest("the machine is too busy for this one: it waited %.0f %% of half a second for a processor, and in the"
                      " last minute %.1f processes wanted one of %d" % (100 * share, load, processors))
