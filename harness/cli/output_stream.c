/* Bytes to standard output, and whether somebody still reads them. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/core/log.h"

/* The kernel says so of a pipe and a socket whose other end is closed, whatever errno is by now. */
bool output_reader_left(void)
{
    struct pollfd fd = {.fd = STDOUT_FILENO};

    return ferror(stdout) && poll(&fd, 1, 0) == 1 && (fd.revents & POLLERR);
}

int output_flush(void)
{
    int why = errno; /* of an earlier write, where ferror reports one */

    if (fflush(stdout) != 0)
        why = errno;
    else if (!ferror(stdout))
        return ASSAY_EXIT_OK;
    if (output_reader_left())
        return ASSAY_EXIT_OK;
    log_error("standard output: %s", strerror(why ? why : EIO));
    return ASSAY_EXIT_SYSTEM;
}

int output_bytes(const char *bytes, size_t length)
{
    fwrite(bytes, 1, length, stdout);
    return output_flush();
}
