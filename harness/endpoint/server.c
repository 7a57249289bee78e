#include "harness/endpoint/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "harness/core/child_output.h"
#include "harness/endpoint/client.h"

#define PORT "{port}"
#define POLL_NS INT64_C(100000000)
#define HEALTH_TIMEOUT_MS 2000L
#define GRACE_NS (10 * INT64_C(1000000000))

char *endpoint_with_port(const char *text, unsigned port)
{
    struct text filled;
    const char *found;

    text_init(&filled);
    while ((found = strstr(text, PORT))) {
        text_append_bytes(&filled, text, (size_t)(found - text));
        text_append_format(&filled, "%u", port);
        text = found + sizeof(PORT) - 1;
    }
    text_append(&filled, text);
    return text_steal(&filled);
}

/* One that nobody listens at now; the server may still find it taken, and then says so itself. */
static enum status choose_port(unsigned *ret, struct error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_good = fd >= 0 && !bind(fd, (struct sockaddr *)&address, length) &&
                   !getsockname(fd, (struct sockaddr *)&address, &length);
    int problem = errno;

    if (fd >= 0)
        close(fd);
    if (!is_good)
        return error_set_errno(err, problem, "choosing a port");
    *ret = ntohs(address.sin_port);
    return STATUS_OK;
}

static size_t discard(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes;
    (void)context;
    return size * count;
}

/* HTTP status, 0 where nothing answers. */
static long ask_health(CURL *handle)
{
    long http = 0;

    if (curl_easy_perform(handle) == CURLE_OK)
        curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &http);
    return http;
}

static enum status spawn(const struct endpoint_server_options *server, unsigned port,
                         struct endpoint_server *ret, struct error *err)
{
    char **argv = calloc(server->command_count + 1, sizeof(*argv));
    enum status status = STATUS_OK;

    for (uint32_t i = 0; argv && i < server->command_count && status == STATUS_OK; ++i) {
        argv[i] = endpoint_with_port(server->command[i], port);
        if (!argv[i])
            status = STATUS_NO_MEMORY;
    }
    if (!argv || status != STATUS_OK) {
        process_free_words(argv);
        return error_no_memory(err);
    }
    ret->output_fd = child_output_open("assay-server");
    if (ret->output_fd < 0) {
        status = error_set_errno(err, errno, "memory for the server's output");
    } else {
        struct process_fd fds[] = {{ret->output_fd, STDOUT_FILENO},
                                   {ret->output_fd, STDERR_FILENO}};
        struct process_options options = {.argv = argv, .fds = fds, .fd_count = 2};

        status = process_spawn(&options, &ret->process, err);
    }
    process_free_words(argv);
    return status;
}

/* `what` and the last output. */
static enum status fail(const struct endpoint_server *server, enum status code, const char *what,
                        struct error *err)
{
    struct text words;

    text_init(&words);
    child_output_append(server->output_fd, &words);
    error_set(err, code, "%s%s", what, words.data);
    text_finish(&words);
    return code;
}

enum status endpoint_server_check(struct endpoint_server *server, struct error *err)
{
    struct process_exit end;
    char by[PROCESS_SIGNAL_SIZE], what[64 + PROCESS_SIGNAL_SIZE];

    if (!process_has_ended(&server->process)) {
        child_output_forget(server->output_fd);
        return STATUS_OK;
    }
    process_stop(&server->process, 0, &end);
    if (end.exited)
        snprintf(what, sizeof(what), "the server ended with exit status %d", end.code);
    else
        snprintf(what, sizeof(what), "the server was ended by %s", process_signal_text(&end, by));
    return fail(server, STATUS_CRASHED, what, err);
}

static enum status wait_ready(const struct endpoint_server_options *options, int wake_fd,
                              CURL *health, void (*progress)(void *context, int64_t waited_ns),
                              void *context, struct endpoint_server *server, struct error *err)
{
    int64_t begin = clock_monotonic_ns();
    char what[128], seconds[TEXT_HUMAN_SIZE];
    long http = 0;

    for (;;) {
        TRY(endpoint_server_check(server, err));
        http = ask_health(health);
        if (http == 200)
            return endpoint_server_check(server, err);
        if (clock_monotonic_ns() - begin >= options->ready_ns)
            break;
        if (progress)
            progress(context, clock_monotonic_ns() - begin);
        if (file_wait_readable(wake_fd, POLL_NS))
            return fail(server, STATUS_INTERRUPTED, "the start of the server was stopped", err);
    }
    text_human_duration((double)options->ready_ns, seconds);
    if (http)
        snprintf(what, sizeof(what), "the server is not ready after %s: %s answers HTTP %ld",
                 seconds, options->health, http);
    else
        snprintf(what, sizeof(what), "the server does not answer after %s", seconds);
    return fail(server, STATUS_TIMEOUT, what, err);
}

static CURL *prepare_health(const struct client *client, const struct endpoint_server *server,
                            const char *path)
{
    size_t length = strlen(server->url);
    CURL *handle = client_handle(client);
    char *url;

    if (length > 3 && !strcmp(server->url + length - 3, "/v1"))
        length -= 3;
    url = text_format("%.*s%s", (int)length, server->url, path);
    if (handle && url) {
        curl_easy_setopt(handle, CURLOPT_URL, url);
        curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, HEALTH_TIMEOUT_MS);
        curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, discard);
        curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, 1L);
    } else {
        curl_easy_cleanup(handle);
        handle = NULL;
    }
    free(url);
    return handle;
}

enum status endpoint_server_start(const struct endpoint_server_options *server,
                                  const struct endpoint_options *options,
                                  void (*progress)(void *context, int64_t waited_ns), void *context,
                                  struct endpoint_server *ret, struct error *err)
{
    struct client client = {.options = options};
    struct endpoint_server started = {.output_fd = -1};
    CURL *health = NULL;
    unsigned port = 0;
    enum status status = STATUS_OK;

    if (strstr(options->url, PORT))
        status = choose_port(&port, err);
    TRY(status);
    started.url = endpoint_with_port(options->url, port);
    if (started.url)
        health = prepare_health(&client, &started, server->health);
    if (!health)
        status = error_no_memory(err);
    else if (ask_health(health) != 0)
        status = error_set(err, STATUS_BUSY,
                           "something answers at %s before the server is started; end it, or write "
                           "{port} in the command and the url",
                           started.url);
    prctl(PR_SET_CHILD_SUBREAPER, 1UL);
    if (status == STATUS_OK)
        status = spawn(server, port, &started, err);
    if (status == STATUS_OK)
        status = wait_ready(server, options->wake_fd, health, progress, context, &started, err);
    curl_easy_cleanup(health);
    if (status != STATUS_OK)
        endpoint_server_stop(&started);
    else
        *ret = started;
    return status;
}

void endpoint_server_stop(struct endpoint_server *server)
{
    struct process_exit end;

    if (!server->url)
        return;
    process_stop(&server->process, GRACE_NS, &end);
    process_end_adopted();
    if (server->output_fd >= 0)
        close(server->output_fd);
    free(server->url);
    *server = (struct endpoint_server){.output_fd = -1};
}
