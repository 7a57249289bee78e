#include "harness/core/inherited.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACK_USUAL ((rlim_t)8 << 20) /* of Linux, which compilers and frameworks expect */
#define STACK_LEAST ((rlim_t)2 << 20) /* for the deepest JSON that is read */
#define FILES_USUAL ((rlim_t)1024)

/*
 * Where one of them is closed, the next file or pipe would get its number, and what is meant for
 * the user's eyes would go there. They are replaced by descriptors that refuse as closed ones do.
 */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

static void reset_signals(void)
{
    sigset_t none;

    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN); /* a worker that died and a reader that closed show when written to */
    signal(SIGXFSZ, SIG_IGN); /* writing beyond a limit fails with its reason instead */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void let_owner_in(void)
{
    umask(umask(0) & (mode_t)~S_IRWXU);
}

/* Raises the soft limit towards the usual one; returns what it is then. */
static rlim_t raise_limit(__rlimit_resource_t resource, rlim_t usual)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) != 0)
        return usual;
    if (limit.rlim_cur < usual) {
        const rlim_t before = limit.rlim_cur;

        limit.rlim_cur = usual < limit.rlim_max ? usual : limit.rlim_max;
        if (setrlimit(resource, &limit) != 0)
            return before;
    }
    return limit.rlim_cur;
}

/* The C library took the size of threads' stacks from the limit when the program was started. */
static void set_thread_stacks(void)
{
    pthread_attr_t attributes;

    if (pthread_attr_init(&attributes) != 0)
        return;
    if (pthread_attr_setstacksize(&attributes, STACK_USUAL) == 0)
        pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
}

enum status inherited_reset(struct error *err)
{
    const rlim_t stack = raise_limit(RLIMIT_STACK, STACK_USUAL);

    fill_standard_descriptors();
    reset_signals();
    let_owner_in();
    raise_limit(RLIMIT_NOFILE, FILES_USUAL);
    set_thread_stacks();
    if (stack < STACK_LEAST)
        return error_set(err, STATUS_NO_MEMORY,
                         "the limit of the stack is %llu KiB, and assay needs %llu: raise it "
                         "(ulimit -s %llu), then do it again",
                         (unsigned long long)(stack >> 10), (unsigned long long)(STACK_LEAST >> 10),
                         (unsigned long long)(STACK_USUAL >> 10));
    return STATUS_OK;
}
