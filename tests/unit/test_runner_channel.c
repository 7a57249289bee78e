#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/runner/channel.h"
#include "tests/support/unit.h"

#define SECOND ((int64_t)1000000000)

static void open_reader(struct channel *channel, int *ret_writer)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(channel_init(channel, ends[0], -1, NULL), STATUS_OK);
    *ret_writer = ends[1];
}

static void put(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void expect(struct channel *channel, const char *text)
{
    char *line;
    size_t length;
    struct error err = ERROR_INIT;

    if (channel_read_line(channel, clock_monotonic_ns() + 10 * SECOND, -1, &line, &length, &err) !=
        STATUS_OK)
        fail_msg("%s", err.message);
    assert_string_equal(line, text);
    assert_int_equal(length, strlen(text));
}

static enum status read_now(struct channel *channel, int wake_fd)
{
    char *line;
    size_t length;

    return channel_read_line(channel, clock_monotonic_ns() + SECOND / 100, wake_fd, &line, &length,
                             NULL);
}

TEST(lines)
{
    struct channel channel;
    int writer;

    open_reader(&channel, &writer);
    assert_int_equal(read_now(&channel, -1), STATUS_TIMEOUT);
    put(writer, "one\ntwo\n\nthr");
    expect(&channel, "one");
    expect(&channel, "two");
    expect(&channel, "");
    assert_int_equal(read_now(&channel, -1), STATUS_TIMEOUT);
    put(writer, "ee\nlast without newline");
    expect(&channel, "three");
    close(writer);
    expect(&channel, "last without newline");
    assert_int_equal(read_now(&channel, -1), STATUS_NOT_FOUND);
    assert_int_equal(read_now(&channel, -1), STATUS_NOT_FOUND);
    channel_finish(&channel);
}

TEST(wake)
{
    struct channel channel;
    int writer, wake[2];

    open_reader(&channel, &writer);
    assert_int_equal(pipe(wake), 0);
    put(wake[1], "x");
    assert_int_equal(read_now(&channel, wake[0]), STATUS_INTERRUPTED);
    close(writer);
    close(wake[0]);
    close(wake[1]);
    channel_finish(&channel);
}

/* A child writes more than a line may hold; the reader refuses and does not grow without end. */
TEST(long_line)
{
    struct channel channel;
    enum status status;
    int writer;
    pid_t child;

    open_reader(&channel, &writer);
    child = fork();
    if (child == 0) {
        char *block = malloc(65536);

        memset(block, 'a', 65536);
        signal(SIGPIPE, SIG_DFL);
        close(channel.read_fd);
        for (int i = 0; i < 64 && write(writer, block, 65536) > 0; i++)
            ;
        _exit(0);
    }
    close(writer);
    do
        status = read_now(&channel, -1);
    while (status == STATUS_TIMEOUT);
    assert_int_equal(status, STATUS_PROTOCOL);
    assert_true(channel.capacity <= 4 * (size_t)CHANNEL_LINE_MAX);
    channel_finish(&channel);
    kill(child, SIGKILL);
}

TEST(write)
{
    struct channel writer, reader;
    json_t *json = json_pack("{s:i}", "a", 1);
    char *line;
    size_t length;
    int ends[2];

    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(channel_init(&reader, ends[0], -1, NULL), STATUS_OK);
    assert_int_equal(channel_init(&writer, -1, ends[1], NULL), STATUS_OK);
    assert_int_equal(channel_write_json(&writer, json, INT64_MAX, NULL), STATUS_OK);
    assert_int_equal(channel_read_line(&reader, INT64_MAX, -1, &line, &length, NULL), STATUS_OK);
    assert_string_equal(line, "{\"a\":1}");
    /* A peer that does not read: the pipe fills up, then the deadline ends it. */
    enum status status = STATUS_OK;
    for (int i = 0; i < 1000000 && status == STATUS_OK; i++)
        status = channel_write_json(&writer, json, clock_monotonic_ns() + SECOND / 100, NULL);
    assert_int_equal(status, STATUS_TIMEOUT);
    channel_finish(&reader);
    assert_int_equal(channel_write_json(&writer, json, INT64_MAX, NULL), STATUS_IO);
    channel_finish(&writer);
    json_decref(json);
}

/* Another process may hold the descriptor, and must not write to it. */
TEST(speaker)
{
    const int on = 1;
    struct channel channel;
    struct error err = ERROR_INIT;
    char *line, name[32];
    size_t length;
    int ends[2];
    pid_t child;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
    assert_int_equal(channel_init(&channel, ends[0], -1, NULL), STATUS_OK);
    channel.speaker = getpid();
    put(ends[1], "mine\nand");
    expect(&channel, "mine");
    child = fork();
    if (child == 0) {
        put(ends[1], "not\n");
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    put(ends[1], " mine\n");
    assert_int_equal(
        channel_read_line(&channel, clock_monotonic_ns() + 10 * SECOND, -1, &line, &length, &err),
        STATUS_INVALID);
    snprintf(name, sizeof(name), "(%d)", (int)child);
    assert_non_null(strstr(err.message, "worker.process: "));
    assert_non_null(strstr(err.message, name));
    close(ends[1]);
    channel_finish(&channel);
}
