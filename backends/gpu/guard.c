#include "backends/gpu/guard.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Handlers of others (LLVM's, a sanitizer's) come after ours. A process that has been silent too
 * long is ended by SIGTERM: its compiler may hang.
 */
static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTERM};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))
static struct sigaction others[SIGNALS];
static char crash_context[512], words_when_stopped[512];

void gpu_guard_end(void)
{
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &others[i], NULL);
}

static void say_crash_context(int number)
{
    const char *words = number == SIGTERM ? words_when_stopped : crash_context;
    ssize_t written = write(STDERR_FILENO, words, strlen(words));

    (void)written;
    gpu_guard_end();
    raise(number); /* for the other handlers, also where the fault would not recur by itself */
}

void gpu_guard_begin(const char *compiler, const char *file, const char *arch)
{
    const struct sigaction ours = {.sa_handler = say_crash_context};

    snprintf(crash_context, sizeof(crash_context),
             "%s ended the process while it compiled %s for %s; does it know that arch?\n",
             compiler, file, arch);
    snprintf(words_when_stopped, sizeof(words_when_stopped),
             "%s was still compiling %s for %s when it was stopped\n", compiler, file, arch);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &ours, &others[i]);
}
