#include "harness/core/crash_context.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#include <gnu/libc-version.h>
#define HAVE_BACKTRACE 1
#endif

#define FRAMES_MAX 96
#define STACK_BYTES 65536 /* for a handler, where the thread's own stack is used up */
#define PATIENCE_SECONDS 5

static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTERM};
#define FATAL_COUNT (sizeof(fatal) / sizeof(fatal[0]))
static struct sigaction before[FATAL_COUNT];
static char stack[STACK_BYTES];
static volatile sig_atomic_t watching;

static void put(const char *words)
{
    const ssize_t written = write(STDERR_FILENO, words, strlen(words));

    (void)written;
}

#ifdef HAVE_BACKTRACE
enum owner { OURS, LIBRARY, C_LIBRARY, NOBODY };

static enum owner owner_of(const void *address, Dl_info *ret, const ElfW(Sym) * *ret_symbol)
{
    static const void *ours, *c_library;
    Dl_info info;

    if (ours == NULL && dladdr((void *)(uintptr_t)owner_of, &info) != 0)
        ours = info.dli_fbase;
    /* a function that no sanitizer puts one of its own before */
    if (c_library == NULL && dladdr((void *)(uintptr_t)gnu_get_libc_version, &info) != 0)
        c_library = info.dli_fbase;
    if (dladdr1(address, ret, (void **)(uintptr_t)ret_symbol, RTLD_DL_SYMENT) == 0)
        return NOBODY; /* code generated at run time */
    if (ret->dli_fbase == ours)
        return OURS;
    return ret->dli_fbase == c_library ? C_LIBRARY : LIBRARY;
}

/*
 * The library's function that our code had called: going outwards from the end, the last one before
 * ours. The C library's are in between, as they deliver a signal and perform the exit. False where
 * our own code was at work.
 */
static bool find_called(Dl_info *ret, bool *ret_named)
{
    void *frames[FRAMES_MAX];
    const int count = backtrace(frames, FRAMES_MAX);
    const ElfW(Sym) *symbol = NULL;
    bool here = false, left = false, found = false; /* within and after the frames of this file */

    for (int i = 0; i < count; i++) {
        /* A return address is after its call, which may be a function's last instruction. */
        const char *address = (const char *)frames[i] - 1;
        Dl_info info;
        const enum owner owner = owner_of(address, &info, &symbol);

        if (owner == OURS && left)
            return found;
        here |= owner == OURS;
        left |= here && owner != OURS;
        if (owner != LIBRARY || !here)
            continue;
        found = true;
        *ret = info;
        *ret_named = info.dli_sname != NULL && symbol != NULL &&
                     address < (const char *)info.dli_saddr + symbol->st_size;
    }
    return found;
}

static void tell(const char *how)
{
    Dl_info called;
    bool named;

    if (!find_called(&called, &named))
        return;
    put(how);
    put(named ? called.dli_sname : "code without an exported name");
    put(" of ");
    put(called.dli_fname);
    put("\n");
}
#else
static void tell(const char *how)
{
    (void)how;
}
#endif

static void restore(void)
{
    for (size_t i = 0; i < FATAL_COUNT; i++)
        sigaction(fatal[i], &before[i], NULL);
}

static void say_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    restore();
    signal(SIGALRM, SIG_DFL);
    alarm(PATIENCE_SECONDS); /* the loader's lock may be held */
    tell(number == SIGTERM ? "held up in " : "ended in ");
    alarm(0);
    if (info->si_code <= 0 || number == SIGTERM || number == SIGABRT)
        raise(number); /* a fault recurs by itself at the same instruction */
}

static void say_exit(void)
{
    if (watching)
        tell("exit() was called in ");
}

void crash_context_begin(void)
{
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
    const struct sigaction action = {.sa_sigaction = say_signal,
                                     .sa_flags = SA_ONSTACK | SA_SIGINFO};

    if (watching)
        return;
#ifdef HAVE_BACKTRACE
    {
        void *frame;

        backtrace(&frame, 1); /* loads what it needs now, not in a handler */
    }
#endif
    sigaltstack(&own, NULL);
    for (size_t i = 0; i < FATAL_COUNT; i++)
        sigaction(fatal[i], &action, &before[i]);
    watching = true;
    atexit(say_exit);
}

void crash_context_end(void)
{
    watching = false;
}
