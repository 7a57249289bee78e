/*
 * The thread that sends: one epoll set for libcurl's sockets and a timer for the next request.
 * libcurl gets the request PREPARE_NS before its time, since it takes as long until the first byte
 * is to be written; there the exchange waits for the time itself. With no other request under way,
 * whose answer would wait, too, it gets it PREPARE_ALONE_NS before: after a rest its code and data
 * are in no cache. The timer wakes the thread WAKE_NS before that, since a wake-up takes tens of
 * microseconds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/endpoint/exchange.h"
#include "harness/endpoint/prompt.h"

#define WAKE_NS 90000
#define PREPARE_NS 60000
#define PREPARE_ALONE_NS 1000000
#define BATCH 64
#define DESCRIPTORS_BESIDE 64   /* that the process needs beside connections */
#define WARM_BEFORE_NS 10000000 /* warm-up ends so long before the window */
#define FOR_EVER_NS (INT64_MAX / 2)

struct loop {
    const struct endpoint_options *options;
    const struct schedule *schedule;
    struct endpoint_stats *stats;
    struct request *requests;
    struct client client;
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    CURLM *multi;
    int epoll_fd, timer_fd;
    int64_t curl_ns;  /* when libcurl wants to be called */
    int64_t armed_ns; /* what the timer is set to */
    struct exchange *exchanges;
    struct exchange **idle; /* a stack of those that are free */
    size_t exchange_count, idle_count;
    size_t next; /* request to be sent */
    struct text body;
    size_t body_of; /* the request that `body` is of; SIZE_MAX: none */
    size_t held_at; /* the last one that found no free connection */
    bool is_woken;
};

static int64_t thread_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int on_socket(CURL *handle, curl_socket_t fd, int what, void *context, void *unused)
{
    struct loop *loop = context;
    struct epoll_event event = {.data.fd = fd};

    (void)handle;
    (void)unused;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) &&
        (errno != EEXIST || epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event)))
        return -1;
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *context)
{
    struct loop *loop = context;

    (void)multi;
    loop->curl_ns = ms < 0 ? FOR_EVER_NS : clock_monotonic_ns() + ms * 1000000;
    return 0;
}

/* Calls libcurl where it wanted to be called. */
static void act_on_time(struct loop *loop)
{
    int running;

    if (clock_monotonic_ns() < loop->curl_ns)
        return;
    loop->curl_ns = FOR_EVER_NS;
    curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

static void act_on_socket(struct loop *loop, const struct epoll_event *event)
{
    int mask = (event->events & EPOLLIN ? CURL_CSELECT_IN : 0) |
               (event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
               (event->events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    int running;

    curl_multi_socket_action(loop->multi, event->data.fd, mask, &running);
}

/* Waits until something is to do, at most until `until_ns`; `after` is called after each event. */
static void wait_for(struct loop *loop, int64_t until_ns, void (*after)(struct loop *))
{
    struct epoll_event events[BATCH];
    int64_t now = clock_monotonic_ns();
    int64_t left = (until_ns < loop->curl_ns ? until_ns : loop->curl_ns) - now;
    int ms = left <= 0 ? 0 : left > 60000000000 ? 60000 : (int)((left + 999999) / 1000000);
    int count = epoll_wait(loop->epoll_fd, events, BATCH, ms);

    for (int i = 0; i < count; ++i) {
        uint64_t times;

        if (events[i].data.fd == loop->options->wake_fd) {
            loop->is_woken = true;
        } else if (events[i].data.fd == loop->timer_fd) {
            if (read(loop->timer_fd, &times, sizeof(times)) < 0)
                continue;
        } else {
            act_on_socket(loop, &events[i]);
        }
        if (after)
            after(loop);
    }
    act_on_time(loop);
}

static void make_body(struct loop *loop)
{
    const struct scheduled_request *planned = &loop->schedule->requests[loop->next];
    const struct endpoint_options *options = loop->options;
    const bool is_chat = options->api == ENDPOINT_CHAT;
    struct text *body = &loop->body;

    text_clear(body);
    text_append(body, is_chat ? "{\"messages\":" : "{\"prompt\":");
    if (options->prompts) {
        text_append(body, prompts_at(options->prompts, options->seed, loop->next));
    } else {
        text_append(body, is_chat ? "[{\"role\":\"user\",\"content\":\"" : "\"");
        prompt_append(body, options->seed, loop->next, planned->prompt_tokens);
        text_append(body, is_chat ? "\"}]" : "\"");
    }
    if (planned->output_tokens > 0)
        text_append_format(body, ",\"max_tokens\":%u", planned->output_tokens);
    if (options->min_tokens)
        text_append_format(body, ",\"min_tokens\":%u", planned->output_tokens);
    text_append(body, loop->client.body_end);
    loop->body_of = loop->next;
}

static void collect(struct loop *loop)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(loop->multi, &left))) {
        CURL *handle = message->easy_handle;
        CURLcode code = message->data.result;
        struct exchange *exchange;

        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(handle, CURLINFO_PRIVATE, &exchange);
        exchange_end(exchange, code);
        curl_multi_remove_handle(loop->multi, handle);
        loop->idle[loop->idle_count++] = exchange;
    }
}

static void send_next(struct loop *loop)
{
    struct exchange *exchange = loop->idle[--loop->idle_count];
    size_t active = loop->exchange_count - loop->idle_count;
    int running;

    if (loop->body_of != loop->next)
        make_body(loop);
    exchange_begin(exchange, &loop->requests[loop->next],
                   loop->schedule->requests[loop->next].output_tokens, &loop->body);
    loop->body_of = SIZE_MAX;
    loop->stats->prompts_repeated +=
        loop->options->prompts && loop->next >= loop->options->prompts->count;
    ++loop->next;
    if (active > loop->stats->connections_peak)
        loop->stats->connections_peak = active;
    curl_multi_add_handle(loop->multi, exchange->handle);
    loop->curl_ns = FOR_EVER_NS;
    curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

static int64_t due_ns(const struct loop *loop)
{
    return loop->next < loop->schedule->count
               ? loop->start_ns + loop->schedule->requests[loop->next].at_ns
               : FOR_EVER_NS;
}

static int64_t prepare_ns(const struct loop *loop)
{
    return due_ns(loop) -
           (loop->idle_count == loop->exchange_count ? PREPARE_ALONE_NS : PREPARE_NS);
}

static void send_due(struct loop *loop)
{
    collect(loop);
    while (clock_monotonic_ns() >= prepare_ns(loop)) {
        if (loop->idle_count == 0) {
            if (loop->held_at != loop->next && clock_monotonic_ns() >= due_ns(loop)) {
                ++loop->stats->held;
                loop->held_at = loop->next;
            }
            return;
        }
        send_next(loop);
        collect(loop);
    }
}

static void arm(struct loop *loop, int64_t at_ns)
{
    struct itimerspec when = {
        .it_value = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000}};

    if (loop->armed_ns == at_ns)
        return;
    timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    loop->armed_ns = at_ns;
}

static void work(struct loop *loop)
{
    size_t count = loop->schedule->count;

    for (;;) {
        int64_t now = clock_monotonic_ns(), until = loop->end_ns;

        send_due(loop);
        if (loop->is_woken || now >= loop->end_ns ||
            (loop->next == count && loop->idle_count == loop->exchange_count))
            return;
        if (loop->next < count && loop->idle_count > 0) {
            if (loop->body_of != loop->next)
                make_body(loop);
            if (clock_monotonic_ns() >= prepare_ns(loop) - WAKE_NS)
                until = 0;
            else
                arm(loop, prepare_ns(loop) - WAKE_NS);
        }
        wait_for(loop, until, send_due);
    }
}

static size_t discard(char *bytes, size_t size, size_t count, void *context)
{
    size_t *left = context;

    (void)bytes;
    if (size * count > *left)
        return 0;
    *left -= size * count;
    return size * count;
}

/* Opens connections by a question that every such server answers, if by HTTP 404. */
static enum status warm(struct loop *loop, struct error *err)
{
    uint32_t wanted = loop->options->warm, done = 0;
    CURL **handles = calloc(wanted ? wanted : 1, sizeof(*handles));
    size_t *left = calloc(wanted ? wanted : 1, sizeof(*left));
    char *url = text_format("%s/models", loop->options->url);
    int64_t end_ns = loop->start_ns - WARM_BEFORE_NS;
    enum status status = STATUS_OK;
    CURLcode failure = CURLE_OK;
    int unused;

    if (wanted > loop->exchange_count)
        wanted = (uint32_t)loop->exchange_count;
    if (!handles || !left || !url)
        status = error_no_memory(err);
    for (uint32_t i = 0; i < wanted && status == STATUS_OK; ++i) {
        handles[i] = client_handle(&loop->client);
        if (!handles[i]) {
            status = error_no_memory(err);
            break;
        }
        left[i] = loop->options->limits.line_bytes;
        curl_easy_setopt(handles[i], CURLOPT_URL, url);
        curl_easy_setopt(handles[i], CURLOPT_HTTPHEADER, loop->client.key_headers);
        curl_easy_setopt(handles[i], CURLOPT_WRITEFUNCTION, discard);
        curl_easy_setopt(handles[i], CURLOPT_WRITEDATA, &left[i]);
        curl_easy_setopt(handles[i], CURLOPT_FRESH_CONNECT, 1L);
        curl_multi_add_handle(loop->multi, handles[i]);
    }
    while (status == STATUS_OK && done < wanted && clock_monotonic_ns() < end_ns &&
           !loop->is_woken) {
        CURLMsg *message;

        wait_for(loop, end_ns, NULL);
        while ((message = curl_multi_info_read(loop->multi, &unused)))
            if (message->msg == CURLMSG_DONE) {
                ++done;
                if (message->data.result == CURLE_OK)
                    ++loop->stats->connections_warm;
                else
                    failure = message->data.result;
            }
    }
    if (status == STATUS_OK && wanted > 0 && done == wanted && !loop->stats->connections_warm)
        status = error_set(err, STATUS_UNAVAILABLE, "%s: %s; is the server there?", url,
                           curl_easy_strerror(failure));
    for (uint32_t i = 0; i < wanted && handles; ++i)
        if (handles[i]) {
            curl_multi_remove_handle(loop->multi, handles[i]);
            curl_easy_cleanup(handles[i]);
        }
    free(handles);
    free(left);
    free(url);
    return status;
}

/* Each connection is a descriptor. */
static enum status check_descriptors(const struct loop *loop, struct error *err)
{
    struct rlimit limit;
    rlim_t needed = loop->exchange_count + DESCRIPTORS_BESIDE;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
        return STATUS_OK;
    limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < needed)
        return error_set(
            err, STATUS_INVALID,
            "%zu connections need %llu open files, and %llu are allowed; declare fewer "
            "connections, or run `ulimit -n %llu` before",
            loop->exchange_count, (unsigned long long)needed, (unsigned long long)limit.rlim_max,
            (unsigned long long)needed);
    return STATUS_OK;
}

static enum status open_loop(struct loop *loop, struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN};

    loop->exchange_count = loop->schedule->count < loop->options->connections
                               ? loop->schedule->count
                               : loop->options->connections;
    TRY(check_descriptors(loop, err));
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (loop->epoll_fd < 0 || loop->timer_fd < 0)
        return error_set_errno(err, errno, "waiting for connections");
    event.data.fd = loop->timer_fd;
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &event))
        return error_set_errno(err, errno, "waiting for a timer");
    event.data.fd = loop->options->wake_fd;
    if (loop->options->wake_fd >= 0 &&
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->options->wake_fd, &event))
        return error_set_errno(err, errno, "waiting for wake_fd");
    loop->multi = curl_multi_init();
    loop->exchanges = calloc(loop->exchange_count + 1, sizeof(*loop->exchanges));
    loop->idle = calloc(loop->exchange_count + 1, sizeof(struct exchange *));
    if (!loop->multi || !loop->exchanges || !loop->idle)
        return error_no_memory(err);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)loop->options->connections);
    for (size_t i = 0; i < loop->exchange_count; ++i) {
        loop->idle[loop->idle_count++] = &loop->exchanges[i];
        TRY(exchange_init(&loop->exchanges[i], &loop->client, loop->stats, loop->start_ns, err));
    }
    return STATUS_OK;
}

/* What is under way is no longer waited for. */
static void abandon(struct loop *loop)
{
    for (size_t i = 0; i < loop->idle_count; ++i)
        loop->idle[i]->request = NULL;
    for (size_t i = 0; i < loop->exchange_count; ++i)
        if (loop->exchanges[i].request) {
            exchange_abandon(&loop->exchanges[i]);
            curl_multi_remove_handle(loop->multi, loop->exchanges[i].handle);
        }
}

static void close_loop(struct loop *loop)
{
    for (size_t i = 0; loop->exchanges && i < loop->exchange_count; ++i)
        if (loop->exchanges[i].handle)
            exchange_finish(&loop->exchanges[i]);
    curl_multi_cleanup(loop->multi);
    free(loop->exchanges);
    free(loop->idle);
    text_finish(&loop->body);
    client_finish(&loop->client);
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    if (loop->timer_fd >= 0)
        close(loop->timer_fd);
}

enum status endpoint_run(const struct endpoint_options *options, const struct schedule *schedule,
                         int64_t start_ns, struct request *requests, struct endpoint_stats *stats,
                         struct error *err)
{
    struct loop loop = {
        .options = options,
        .schedule = schedule,
        .stats = stats,
        .requests = requests,
        .start_ns = start_ns,
        .end_ns = start_ns + schedule->window_ns + options->drain_ns,
        .epoll_fd = -1,
        .timer_fd = -1,
        .curl_ns = FOR_EVER_NS,
        .body_of = SIZE_MAX,
        .held_at = SIZE_MAX,
    };
    enum status status;

    memset(stats, 0, sizeof(*stats));
    text_init(&loop.body);
    requests_begin(schedule, requests);
    status = client_init(&loop.client, options, err);
    if (status == STATUS_OK)
        status = open_loop(&loop, err);
    if (status == STATUS_OK)
        status = warm(&loop, err);
    if (status == STATUS_OK) {
        int64_t cpu_ns = thread_cpu_ns(), now_ns = clock_monotonic_ns();
        int64_t begin_ns = start_ns > now_ns ? start_ns : now_ns;

        stats->with_key = loop.client.key != NULL;
        stats->is_unverified = options->is_unverified;
        work(&loop);
        stats->cpu_ns = thread_cpu_ns() - cpu_ns;
        now_ns = clock_monotonic_ns();
        stats->wall_ns = now_ns > begin_ns ? now_ns - begin_ns : 0;
        abandon(&loop);
        if (loop.is_woken)
            status = error_set(err, STATUS_INTERRUPTED, "the requests were stopped from outside");
    }
    close_loop(&loop);
    return status;
}
