#include "harness/cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/command.h"
#include "harness/cli/envelope.h"
#include "harness/core/file.h"

static int write_end = -1;
static volatile sig_atomic_t seen;
static const char *note;

static void handle_signal(int number)
{
    const int before = errno;
    ssize_t ignored;

    if (seen && number == SIGHUP)
        return; /* a terminal that closes signals twice: the kernel and the shell */
    if (seen) {
        envelope_write_interrupted();
        _exit(ASSAY_EXIT_INTERRUPTED);
    }
    seen = 1;
    ignored = write(write_end, "x", 1);
    ignored = write(STDERR_FILENO, note, strlen(note));
    (void)ignored;
    errno = before;
}

enum status interrupt_open(enum interrupt_of what, int *ret_fd, struct error *err)
{
    static const char *const notes[] = {
        "\nassay: stopping after this trial is stored; once more to stop at once\n",
        "\nassay: stopping\n"};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART};
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_set_errno(err, errno, "pipe for signals");
    write_end = ends[1];
    note = notes[what];
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction before;

        /* Signals that nohup or a shell ignores for us stay ignored. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
            continue;
        if (sigaction(numbers[i], &action, NULL) < 0)
            return error_set_errno(err, errno, "sigaction");
    }
    *ret_fd = ends[0];
    return STATUS_OK;
}

bool interrupt_asked(int fd)
{
    return file_wait_readable(fd, 0);
}
