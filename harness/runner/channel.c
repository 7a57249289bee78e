#include "harness/runner/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/machine_root.h"
#include "harness/core/text.h"

static enum status set_nonblocking(int fd, struct error *err)
{
    int flags;

    if (fd < 0)
        return STATUS_OK;
    flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return error_set_errno(err, errno, "descriptor %d of the worker's channel", fd);
    return STATUS_OK;
}

enum status channel_init(struct channel *channel, int read_fd, int write_fd, struct error *err)
{
    TRY(set_nonblocking(read_fd, err));
    TRY(set_nonblocking(write_fd, err));
    memset(channel, 0, sizeof(*channel));
    channel->read_fd = read_fd;
    channel->write_fd = write_fd;
    return STATUS_OK;
}

void channel_finish(struct channel *channel)
{
    if (!channel)
        return;
    if (channel->read_fd >= 0)
        close(channel->read_fd);
    if (channel->write_fd >= 0 && channel->write_fd != channel->read_fd)
        close(channel->write_fd);
    free(channel->buffer);
    memset(channel, 0, sizeof(*channel));
    channel->read_fd = channel->write_fd = -1;
}

/* Milliseconds left for poll(2), rounded up; 0 when the deadline has passed. */
static int milliseconds_left(int64_t deadline_ns)
{
    int64_t left = deadline_ns - clock_monotonic_ns();

    if (left <= 0)
        return 0;
    left = (left + 999999) / 1000000;
    return left > 3600000 ? 3600000 : (int)left;
}

/* Makes room for more bytes, moving what is left to the front. */
static enum status make_room(struct channel *channel, struct error *err)
{
    size_t held = channel->end - channel->start;

    if (channel->start > 0) {
        memmove(channel->buffer, channel->buffer + channel->start, held);
        channel->start = 0;
        channel->end = held;
    }
    /* One byte is kept free for the NUL after a last line without newline. */
    if (channel->end + 1 >= channel->capacity) {
        size_t capacity = channel->capacity ? channel->capacity * 2 : 16384;
        char *grown;

        if (held >= CHANNEL_LINE_MAX)
            return error_set(err, STATUS_PROTOCOL, "the worker sent a line longer than %u bytes",
                             CHANNEL_LINE_MAX);
        grown = realloc(channel->buffer, capacity);
        if (!grown)
            return error_no_memory(err);
        channel->buffer = grown;
        channel->capacity = capacity;
    }
    return STATUS_OK;
}

static bool take_line(struct channel *channel, size_t scanned, char **ret_line, size_t *ret_length)
{
    size_t begin = channel->start + scanned;
    char *newline =
        channel->end > begin ? memchr(channel->buffer + begin, '\n', channel->end - begin) : NULL;

    if (!newline)
        return false;
    *newline = '\0';
    *ret_line = channel->buffer + channel->start;
    *ret_length = (size_t)(newline - *ret_line);
    channel->start = (size_t)(newline - channel->buffer) + 1;
    return true;
}

static enum status refuse_speaker(pid_t pid, struct error *err)
{
    char path[64];
    AUTO_FREE char *line = NULL;
    CLEANUP(text_finish) struct text name;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    text_init(&name);
    if (machine_read_line(path, &line, NULL) == STATUS_OK)
        text_append_printable(&name, line, strlen(line));
    return error_set(err, STATUS_INVALID,
                     "worker.process: %s (%d), and not the process that was started, writes to the "
                     "channel: the files that are recorded are not its own; a program that starts "
                     "another one in its place does so by exec",
                     name.length ? name.data : "a process", (int)pid);
}

/* As read(2); -1 with errno 0: another process than the speaker wrote, and `err` says so. */
static ssize_t take_bytes(struct channel *channel, void *bytes, size_t length, struct error *err)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {bytes, length};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    const struct cmsghdr *header;
    struct ucred who = {.pid = channel->speaker};
    ssize_t got;

    if (!channel->speaker)
        return read(channel->read_fd, bytes, length);
    got = recvmsg(channel->read_fd, &message, MSG_CMSG_CLOEXEC);
    header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS)
        memcpy(&who, CMSG_DATA(header), sizeof(who));
    if (got <= 0 || who.pid == channel->speaker)
        return got;
    refuse_speaker(who.pid, err);
    errno = 0;
    return -1;
}

enum status channel_read_line(struct channel *channel, int64_t deadline_ns, int wake_fd,
                              char **ret_line, size_t *ret_length, struct error *err)
{
    size_t scanned = 0;

    for (;;) {
        struct pollfd fds[2] = {{channel->read_fd, POLLIN, 0}, {wake_fd, POLLIN, 0}};
        ssize_t got;

        if (take_line(channel, scanned, ret_line, ret_length))
            return STATUS_OK;
        scanned = channel->end - channel->start;
        if (channel->at_end) {
            if (scanned == 0)
                return error_set(err, STATUS_NOT_FOUND, "the worker has closed its channel");
            channel->buffer[channel->end] = '\0';
            *ret_line = channel->buffer + channel->start;
            *ret_length = scanned;
            channel->start = channel->end;
            return STATUS_OK;
        }
        TRY(make_room(channel, err));
        if (poll(fds, wake_fd >= 0 ? 2 : 1, milliseconds_left(deadline_ns)) < 0) {
            if (errno == EINTR)
                continue;
            return error_set_errno(err, errno, "poll on the worker's channel");
        }
        if (wake_fd >= 0 && fds[1].revents)
            return error_set(err, STATUS_INTERRUPTED, "interrupted");
        if (!fds[0].revents) {
            if (clock_monotonic_ns() >= deadline_ns)
                return error_set(err, STATUS_TIMEOUT, "no word from the worker in time");
            continue;
        }
        got = take_bytes(channel, channel->buffer + channel->end,
                         channel->capacity - channel->end - 1, err);
        if (got > 0)
            channel->end += (size_t)got;
        else if (got == 0)
            channel->at_end = true;
        else if (errno == 0)
            return STATUS_INVALID;
        else if (errno != EINTR && errno != EAGAIN)
            return error_set_errno(err, errno, "reading from the worker");
    }
}

static enum status write_bytes(struct channel *channel, const char *bytes, size_t length,
                               int64_t deadline_ns, struct error *err)
{
    while (length > 0) {
        ssize_t written = write(channel->write_fd, bytes, length);

        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (written < 0 && errno == EAGAIN) {
            struct pollfd fd = {channel->write_fd, POLLOUT, 0};
            int ready = poll(&fd, 1, milliseconds_left(deadline_ns));

            if (ready < 0 && errno != EINTR)
                return error_set_errno(err, errno, "poll on the worker's channel");
            if (ready == 0 && clock_monotonic_ns() >= deadline_ns)
                return error_set(err, STATUS_TIMEOUT, "the peer does not read its channel");
        } else if (written < 0 && errno != EINTR) {
            return error_set_errno(err, errno, "writing to the peer");
        }
    }
    return STATUS_OK;
}

enum status channel_write_json(struct channel *channel, const json_t *json, int64_t deadline_ns,
                               struct error *err)
{
    AUTO_FREE char *line = json_dumps(json, JSON_COMPACT);
    size_t length;

    if (!line)
        return error_no_memory(err);
    length = strlen(line);
    line[length++] = '\n'; /* in the place of the NUL: the line is not used as a string again */
    if (length > CHANNEL_LINE_MAX)
        return error_set(err, STATUS_PROTOCOL, "a message is longer than %u bytes",
                         CHANNEL_LINE_MAX);
    else
        TRY(write_bytes(channel, line, length, deadline_ns, err));
    return STATUS_OK;
}
