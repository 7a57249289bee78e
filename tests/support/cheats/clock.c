/*
 * A preloaded library whose clock is slow: CLOCK_MONOTONIC runs at a quarter, in processes whose
 * arguments have the word CHEAT_CLOCK ("" is in all of them), from its first reading on, or from
 * CHEAT_AFTER_MS later on: in the middle of a window, both of whose ends then are within what the
 * harness saw. With CHEAT_STEP_MS it is not slow, but steps by so much at that time; with
 * CHEAT_REALTIME, CLOCK_REALTIME does. For tests alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int is_asked(void)
{
    static int asked = -1;
    const char *word = getenv("CHEAT_CLOCK");
    char arguments[4096];
    size_t length;
    FILE *file;

    if (asked >= 0)
        return asked;
    asked = 0;
    file = word ? fopen("/proc/self/cmdline", "re") : NULL;
    if (!file)
        return asked;
    length = fread(arguments, 1, sizeof(arguments) - 1, file);
    fclose(file);
    asked = memmem(arguments, length, word, strlen(word)) != NULL;
    return asked;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret)
{
    static long long first;
    const char *loses = getenv("CHEAT_LOSES_PPM"); /* of the time since; not set: three quarters */
    const char *after = getenv("CHEAT_AFTER_MS");
    const char *step = getenv("CHEAT_STEP_MS");
    long long ns;

    if (syscall(SYS_clock_gettime, clock, ret) != 0)
        return -1;
    if (clock != (getenv("CHEAT_REALTIME") ? CLOCK_REALTIME : CLOCK_MONOTONIC) || !is_asked())
        return 0;
    ns = ret->tv_sec * 1000000000LL + ret->tv_nsec;
    if (!first)
        first = ns + (after ? atoll(after) * 1000000 : 0);
    if (ns > first && step)
        ns += atoll(step) * 1000000;
    else if (ns > first)
        ns -= (long long)((double)(ns - first) * (loses ? atof(loses) : 750000) / 1e6);
    ret->tv_sec = ns / 1000000000;
    ret->tv_nsec = ns % 1000000000;
    return 0;
}
