#include "harness/core/inherited.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"

static void (*handler_of(int number))(int)
{
    struct sigaction action;

    assert_int_equal(sigaction(number, NULL, &action), 0);
    return action.sa_handler;
}

TEST(signals)
{
    sigset_t all, now;

    signal(SIGCHLD, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* nohup's and a shell's wish */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    assert_int_equal(inherited_reset(NULL), STATUS_OK);
    assert_ptr_equal(handler_of(SIGCHLD), SIG_DFL);
    assert_ptr_equal(handler_of(SIGINT), SIG_IGN);
    assert_ptr_equal(handler_of(SIGPIPE), SIG_IGN);
    assert_ptr_equal(handler_of(SIGXFSZ), SIG_IGN);
    sigprocmask(SIG_SETMASK, NULL, &now);
    for (int number = 1; number < NSIG; number++)
        assert_int_not_equal(sigismember(&now, number), 1);
    signal(SIGINT, SIG_DFL);
}

TEST(umask)
{
    umask(0777);
    assert_int_equal(inherited_reset(NULL), STATUS_OK);
    assert_int_equal(umask(022), 077);
    assert_int_equal(inherited_reset(NULL), STATUS_OK);
    assert_int_equal(umask(022), 022);
}

/* In a child, since a hard limit cannot be raised again. */
static int with_stack(rlim_t soft, rlim_t hard, rlim_t after)
{
    const struct rlimit limit = {soft, hard};
    struct error err = ERROR_INIT;
    struct rlimit now;
    enum status status;

    if (setrlimit(RLIMIT_STACK, &limit) != 0)
        return 2;
    status = inherited_reset(&err);
    if (getrlimit(RLIMIT_STACK, &now) != 0 || now.rlim_cur != after)
        return 3;
    if (status == STATUS_OK)
        return 0;
    return strstr(err.message, "ulimit -s 8192") ? 1 : 4;
}

static void expect_stack(rlim_t soft, rlim_t hard, rlim_t after, int code)
{
    const pid_t child = fork();
    int how;

    if (child == 0)
        _exit(with_stack(soft, hard, after));
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), code);
}

TEST(limits)
{
    const rlim_t mib = (rlim_t)1 << 20;
    pthread_attr_t attributes;
    size_t size = 0;

    expect_stack(mib, 16 * mib, 8 * mib, 0);
    expect_stack(mib, 4 * mib, 4 * mib, 0);
    expect_stack(mib, mib, mib, 1);
    expect_stack(16 * mib, 16 * mib, 16 * mib, 0);
    assert_int_equal(inherited_reset(NULL), STATUS_OK);
    assert_int_equal(pthread_getattr_default_np(&attributes), 0);
    assert_int_equal(pthread_attr_getstacksize(&attributes, &size), 0);
    assert_int_equal(size, 8 * mib);
    pthread_attr_destroy(&attributes);
}
