#include "harness/core/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define CONTROL_C '\x03'

/* A line of a terminal; false: it ended, Ctrl-C ended it, or it is longer than `size` - 1 bytes. */
static bool read_line(int fd, char *ret, size_t size, bool *ret_long)
{
    size_t length = 0;
    char c;

    *ret_long = false;
    for (;;) {
        const ssize_t got = read(fd, &c, 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || c == CONTROL_C)
            return false;
        if (c == '\n')
            break;
        if (length + 1 < size)
            ret[length++] = c;
        else
            *ret_long = true;
    }
    ret[length] = '\0';
    return !*ret_long;
}

enum status secret_ask(const char *prompt, char *ret, size_t size, struct error *err)
{
    const int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    struct termios before, silent;
    sigset_t blocked, mask;
    bool read_it, is_long;

    if (fd < 0)
        return error_set(err, STATUS_UNAVAILABLE, "there is no terminal to ask on");
    if (tcgetattr(fd, &before) != 0) {
        close(fd);
        return error_set(err, STATUS_UNAVAILABLE, "there is no terminal to ask on");
    }
    silent = before;
    silent.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    silent.c_lflag |= ICANON | ECHONL;
    silent.c_cc[VEOL] =
        CONTROL_C; /* a signal would end the process, and leave the terminal silent */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    sigprocmask(SIG_BLOCK, &blocked, &mask);
    tcsetattr(fd, TCSAFLUSH, &silent);
    (void)!write(fd, prompt, strlen(prompt));
    read_it = read_line(fd, ret, size, &is_long);
    tcsetattr(fd, TCSAFLUSH, &before);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(fd);
    if (is_long)
        return error_set(err, STATUS_INVALID, "that is more than %zu bytes", size - 1);
    if (!read_it)
        return error_set(err, STATUS_INTERRUPTED, "interrupted");
    return STATUS_OK;
}
