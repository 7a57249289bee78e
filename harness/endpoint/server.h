/*
 * server - a server that is started for a trial and ended with it.
 *
 * It is a process group of its own, ended when the thread that started it ends
 * (harness/core/process). What left the group is adopted (PR_SET_CHILD_SUBREAPER) and ended with
 * it, but for one case: where this process itself is killed. Its output is kept in memory
 * (harness/core/words).
 */
#ifndef ASSAY_ENDPOINT_SERVER_H
#define ASSAY_ENDPOINT_SERVER_H

#include <stdint.h>

#include "harness/core/process.h"
#include "harness/endpoint/endpoint.h"

struct endpoint_server_options {
    char **command;         /* program and arguments; "{port}" in one is the chosen port */
    uint32_t command_count; /* 0: none, the server runs already */
    char *health;           /* path that answers HTTP 200 when it is ready; under the URL without
                               its /v1 */
    int64_t ready_ns;       /* time that it has for that */
};

struct endpoint_server {
    struct process process; /* its pid: for who wants to see what it has mapped */
    int output_fd;
    char *url; /* heap: the options' URL with the port */
};

/*
 * Starts it and waits until it is ready. With "{port}" in the options' URL a port is chosen that is
 * free on the loopback device. `progress` (may be NULL) is called several times a second with the
 * time waited so far. BUSY: something answers at the URL already; CRASHED: it ended; TIMEOUT;
 * INTERRUPTED by options->wake_fd: messages of these end in its last output, and it has been
 * stopped.
 */
enum status endpoint_server_start(const struct endpoint_server_options *server,
                                  const struct endpoint_options *options,
                                  void (*progress)(void *context, int64_t waited_ns), void *context,
                                  struct endpoint_server *ret, struct error *err);

/* CRASHED, with its last output, once it has ended. To be called now and then: it discards output.
 */
enum status endpoint_server_check(struct endpoint_server *server, struct error *err);

/*
 * SIGTERM, after ten seconds SIGKILL, to all of its group, and SIGKILL to all children that this
 * process then has: those that left the group. Takes a zeroed one.
 */
void endpoint_server_stop(struct endpoint_server *server);

/* Heap copy of `text` with each "{port}" replaced; NULL: out of memory. */
char *endpoint_with_port(const char *text, unsigned port);

#endif
