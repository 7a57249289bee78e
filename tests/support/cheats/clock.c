/*
 * A preloaded library whose clock is slow: CLOCK_MONOTONIC runs at a quarter from its first reading
 * on, in processes whose arguments have the word CHEAT_CLOCK ("" is in all of them). For tests
 * alone.
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
    long long ns;

    if (syscall(SYS_clock_gettime, clock, ret) != 0)
        return -1;
    if (clock != CLOCK_MONOTONIC || !is_asked())
        return 0;
    ns = ret->tv_sec * 1000000000LL + ret->tv_nsec;
    if (!first)
        first = ns;
    ns = first + (ns - first) / 4;
    ret->tv_sec = ns / 1000000000;
    ret->tv_nsec = ns % 1000000000;
    return 0;
}
