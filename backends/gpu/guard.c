#include "backends/gpu/guard.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Handlers of others (LLVM's, a sanitizer's) come after ours. */
static const int fatal_signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
#define FATAL_SIGNALS (sizeof(fatal_signals) / sizeof(fatal_signals[0]))
static struct sigaction others[FATAL_SIGNALS];
static char last_words[512];

void gpu_guard_end(void)
{
    for (size_t i = 0; i < FATAL_SIGNALS; i++)
        sigaction(fatal_signals[i], &others[i], NULL);
}

static void say_last_words(int number)
{
    ssize_t told = write(STDERR_FILENO, last_words, strlen(last_words));

    (void)told;
    gpu_guard_end();
    raise(number); /* for the others to see, also where nothing would do it again by itself */
}

void gpu_guard_begin(const char *compiler, const char *file, const char *arch)
{
    const struct sigaction ours = {.sa_handler = say_last_words};

    snprintf(last_words, sizeof(last_words),
             "%s ended the process while it compiled %s for %s; does it know that arch?\n",
             compiler, file, arch);
    for (size_t i = 0; i < FATAL_SIGNALS; i++)
        sigaction(fatal_signals[i], &ours, &others[i]);
}
