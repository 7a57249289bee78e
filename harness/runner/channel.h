/*
 * channel - JSON lines over a pair of descriptors, with bounds.
 *
 * A line is at most CHANNEL_LINE_MAX bytes, newline included. Reading never blocks longer than the
 * deadline given; writing waits for the peer up to a deadline, too.
 */
#ifndef ASSAY_RUNNER_CHANNEL_H
#define ASSAY_RUNNER_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "harness/core/status.h"

#define CHANNEL_LINE_MAX (1u << 20)

struct channel {
    int read_fd, write_fd; /* -1: this side has none; owned by the channel */
    char *buffer;          /* bytes read and not yet handed out */
    size_t start, end, capacity;
    bool at_end; /* the peer has closed */
    /* Who alone may speak: `read_fd` is a Unix socket with SO_PASSCRED. 0: whoever holds it. */
    pid_t speaker;
};

/* Takes both descriptors and makes them non-blocking. */
enum status channel_init(struct channel *channel, int read_fd, int write_fd, struct error *err);
void channel_finish(struct channel *channel);

/*
 * The next whole line without its newline, valid until the next call. NOT_FOUND: the peer has
 * closed and nothing is left (a last line without newline is handed out first). TIMEOUT: the
 * deadline (CLOCK_MONOTONIC) has passed. INTERRUPTED: `wake_fd` (-1: none) became readable.
 * PROTOCOL: the line is too long. INVALID: another process than the speaker wrote ("worker.process:
 * ...").
 */
enum status channel_read_line(struct channel *channel, int64_t deadline_ns, int wake_fd,
                              char **ret_line, size_t *ret_length, struct error *err);

/* Writes the object as one line. TIMEOUT when the peer does not read; IO when it has closed. */
enum status channel_write_json(struct channel *channel, const json_t *json, int64_t deadline_ns,
                               struct error *err);

#endif
