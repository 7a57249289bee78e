/*
 * Measures a server by a Poisson schedule, or by an even one, and prints what is known of each
 * request:
 *
 *     endpoint_driver FILE [-rate=R] [-count=N] [-seed=S] [-prompt=TOKENS] [-output=TOKENS]
 *                     [-drain=NS] [-wake=NS] [-even=1]
 *
 * FILE has an `endpoint:` as harness/endpoint/declare.h says. A server that it declares is started
 * and ended. -rate=0 sends all at once; -wake interrupts it after so long. Output: a CSV table of
 * the requests, and lines that begin with "# " and a word, of JSON: probe, server, stats, error.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "harness/core/text.h"
#include "harness/endpoint/declare.h"

#define LEAD_NS 300000000 /* for the warm-up */

struct file {
    struct endpoint_declaration endpoint;
};

static const struct declaration_field fields[] = {
    FIELD_GROUP("endpoint", FIELD_REQUIRED, struct file, endpoint, endpoint_fields),
    FIELD_END,
};
static const struct declaration_schema schema = {ENTRY_GROUP(struct file, fields)};

static double rate = 10;
static int64_t count = 10, seed = 1, prompt = 8, output = 8, drain_ns = 10000000000, wake_ns, even;

static bool read_argument(const char *argument)
{
    const struct {
        const char *name;
        int64_t *ret;
    } numbers[] = {{"-count=", &count},   {"-seed=", &seed},      {"-prompt=", &prompt},
                   {"-output=", &output}, {"-drain=", &drain_ns}, {"-wake=", &wake_ns},
                   {"-even=", &even}};

    if (!strncmp(argument, "-rate=", 6))
        return text_parse_double(argument + 6, &rate);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); ++i)
        if (!strncmp(argument, numbers[i].name, strlen(numbers[i].name)))
            return text_parse_i64(argument + strlen(numbers[i].name), numbers[i].ret);
    return false;
}

static void make_schedule(struct schedule *ret)
{
    struct random random;
    double at = 0;

    ret->requests = calloc((size_t)count, sizeof(*ret->requests));
    ret->count = (size_t)count;
    if (!ret->requests)
        abort();
    random_init(&random, (uint64_t)seed, 1);
    for (int64_t i = 0; i < count; ++i) {
        if (rate > 0)
            at += even ? 1 / rate : -log1p(-random_next_unit(&random)) / rate;
        ret->requests[i] = (struct scheduled_request){
            .at_ns = (int64_t)(at * 1e9),
            .prompt_tokens = (uint32_t)prompt,
            .output_tokens = (uint32_t)output,
        };
    }
    ret->window_ns = (int64_t)(at * 1e9) + 1;
}

static void print_json(const char *word, json_t *value)
{
    char *json = json_dumps(value, JSON_COMPACT);

    printf("# %s %s\n", word, json);
    free(json);
    json_decref(value);
}

static void print_error(const struct error *err)
{
    print_json("error",
               json_pack("{s:s,s:s}", "status", status_name(err->code), "message", err->message));
}

/* A time that may be missing: empty then. */
static void print_time(int64_t ns)
{
    if (ns == REQUEST_NEVER)
        printf(",");
    else
        printf(",%" PRId64, ns);
}

static void print_requests(const struct request *requests, size_t number)
{
    static const char *const names[] = {"ok", "unfinished", "failed", "refused", "timed_out"};

    printf("index,scheduled,sent,first,done,worst_gap,prompt_tokens,output_tokens,outputs,"
           "first_outputs,status\n");
    for (size_t i = 0; i < number; ++i) {
        const struct request *r = &requests[i];

        printf("%zu,%" PRId64, i, r->scheduled_ns);
        print_time(r->sent_ns);
        print_time(r->first_ns);
        print_time(r->done_ns);
        print_time(r->worst_gap_ns);
        printf(",%u,%u,%u,%u,%s\n", r->prompt_tokens, r->output_tokens, r->outputs,
               r->first_outputs, names[r->status]);
    }
}

static enum status measure(const struct endpoint_options *options, struct error *err)
{
    struct endpoint_stats stats = {0};
    struct schedule schedule;
    struct request *requests;
    struct rusage usage;
    enum status status;
    json_t *told = NULL;
    int64_t start_ns;

    status = endpoint_probe(options, &told, err);
    if (status != STATUS_OK)
        return status;
    print_json("probe", told);
    make_schedule(&schedule);
    requests = calloc(schedule.count, sizeof(*requests));
    if (!requests)
        abort();
    start_ns = clock_monotonic_ns() + LEAD_NS;
    status = endpoint_run(options, &schedule, start_ns, requests, &stats, err);
    getrusage(RUSAGE_SELF, &usage);
    print_requests(requests, schedule.count);
    print_json("stats", type_to_json(&endpoint_stats_type, &stats));
    print_json("process", json_pack("{s:I,s:I}", "start_ns", (json_int_t)start_ns, "max_rss_bytes",
                                    (json_int_t)usage.ru_maxrss * 1024));
    free(requests);
    free(schedule.requests);
    return status;
}

static void on_progress(void *context, int64_t ns)
{
    *(int64_t *)context = ns;
}

static enum status run(const char *path, struct error *err)
{
    struct declaration declaration;
    struct endpoint_server server = {0};
    struct prompts prompts = {0};
    struct endpoint_options options;
    int64_t waited_ns = 0;
    struct file *file;
    enum status status = declaration_load(path, &schema, &declaration, err);

    if (status != STATUS_OK)
        return status;
    file = declaration.data;
    status = endpoint_declaration_check(&declaration, "endpoint", &file->endpoint, err);
    options = file->endpoint.options;
    options.drain_ns = drain_ns;
    options.seed = (uint64_t)seed;
    if (status == STATUS_OK)
        status = endpoint_prompts_find(&file->endpoint, &prompts, err);
    options.prompts = prompts.count > 0 ? &prompts : NULL;
    if (wake_ns > 0) {
        struct itimerspec when = {
            .it_value = {.tv_sec = wake_ns / 1000000000, .tv_nsec = wake_ns % 1000000000}};

        options.wake_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        timerfd_settime(options.wake_fd, 0, &when, NULL);
    }
    if (status == STATUS_OK && file->endpoint.server.command_count > 0) {
        status = endpoint_server_start(&file->endpoint.server, &options, on_progress, &waited_ns,
                                       &server, err);
        if (status == STATUS_OK) {
            options.url = server.url;
            print_json("server", json_pack("{s:i,s:s,s:I}", "pid", (int)server.process.pid, "url",
                                           server.url, "waited_ns", (json_int_t)waited_ns));
        }
    }
    if (status == STATUS_OK)
        status = measure(&options, err);
    if (status == STATUS_OK && server.url)
        status = endpoint_server_check(&server, err);
    endpoint_server_stop(&server);
    prompts_finish(&prompts);
    declaration_finish(&declaration);
    return status;
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;

    for (int i = 2; i < argc; ++i)
        if (!read_argument(argv[i])) {
            fprintf(stderr, "unknown argument %s\n", argv[i]);
            return 2;
        }
    if (argc < 2 || count < 1 || run(argv[1], &err) != STATUS_OK) {
        print_error(&err);
        return 1;
    }
    return 0;
}
