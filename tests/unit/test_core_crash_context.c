/* The executable is its own child, which ends as its argument says, in a library or not. */
#include "harness/core/crash_context.h"

#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/core/process.h"
#include "tests/support/unit.h"

#define MINUTE INT64_C(60000000000)

static char *self;

static int child(const char *how)
{
    const struct rlimit no_core = {0, 0};
    void (*end)(char);
    void *library;

    setrlimit(RLIMIT_CORE, &no_core);
    crash_context_begin();
    if (strcmp(how, "own-crash") == 0)
        kill(getpid(), SIGSEGV);
    if (strcmp(how, "own-exit") == 0)
        exit(3);
    library = dlopen(DYNLIB_GOOD, RTLD_NOW);
    if (library == NULL)
        return 4;
    *(void **)&end = dlsym(library, "fixture_end");
    if (strcmp(how, "ended") == 0)
        crash_context_end();
    end(strcmp(how, "ended") == 0 ? 'x' : how[0]);
    return 5;
}

/* A child's standard error, in `ret`. */
static struct process_exit words_of(const char *how, char *ret, size_t size)
{
    char *argv[] = {self, (char *)(uintptr_t)how, NULL};
    const int words = memfd_create("words", 0);
    const struct process_call call = {
        .argv = argv, .error_fd = words, .wake_fd = -1, .timeout_ns = MINUTE, .max_output = 4096};
    struct process_exit end;
    char *output;
    ssize_t got;

    assert_true(words >= 0);
    process_call(&call, &output, NULL, &end, NULL);
    free(output);
    got = pread(words, ret, size - 1, 0);
    close(words);
    ret[got > 0 ? got : 0] = '\0';
    return end;
}

TEST(names_the_librarys_function)
{
    static const struct {
        const char *how, *words;
        int code, signal;
    } cases[] = {
        {"s", "ended in fixture_end of " DYNLIB_GOOD "\n", 0, SIGSEGV},
        {"a", "ended in fixture_end of " DYNLIB_GOOD "\n", 0, SIGABRT},
        {"t", "held up in fixture_end of " DYNLIB_GOOD "\n", 0, SIGTERM},
        {"x", "exit() was called in fixture_end of " DYNLIB_GOOD "\n", 3, 0},
    };
    char words[4096];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct process_exit end = words_of(cases[i].how, words, sizeof(words));

        if (strstr(words, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].how, words);
#ifndef __SANITIZE_ADDRESS__ /* which turns signals into its own exit */
        assert_int_equal(end.code, cases[i].code);
        assert_int_equal(end.signal, cases[i].signal);
#else
        (void)end;
#endif
    }
}

TEST(is_silent_of_our_own)
{
    static const char *const cases[] = {"own-crash", "own-exit", "ended"};
    char words[4096];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        words_of(cases[i], words, sizeof(words));
        if (strstr(words, "ended in") || strstr(words, "held up in") || strstr(words, "exit()"))
            fail_msg("%s: %s", cases[i], words);
    }
}

int main(int argc, char **argv)
{
    self = argv[0];
    return argc > 1 ? child(argv[1]) : unit_run(NULL, NULL);
}
