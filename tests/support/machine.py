"""What a test asks of the machine it runs on: has a process ended, and is there a processor for it now."""

import time

TOO_BUSY = 0.25  # of a second: with two processors and four that want one, each waits for half of it
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
    """Skips a test whose subject is a time that only a machine with a free processor keeps. Called before its part and,
    where that failed, after it: never in place of a failure on a machine that is idle."""
    share = waited_share()
    if share > TOO_BUSY:
        test.skipTest(f"the machine is too busy for this one: it waited {share:.0%} of the time for a processor")
