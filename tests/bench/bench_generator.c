/*
 * How late the generator of requests sends them, and what it adds to each: the time from the stamp
 * of its sending until a server that polls the ring reads it. For comparison, the delay of a
 * process on the same processor that only reads the clock, over the same schedule.
 *
 * usage: bench_generator RATE SECONDS. One line: rate, requests, lag p50, p99, p99.9, maximum, then
 * the same of what is added and of how late the bare clock was read, all in ns; then the
 * generator's processor, or "shared", and its scheduling.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/status.h"
#include "harness/runner/generator.h"
#include "protocols/serving/arrivals.h"
#include "protocols/stats/order.h"

static void print_quantiles(int64_t *values, size_t count)
{
    static const double q[] = {0.5, 0.99, 0.999};

    order_sort(values, count);
    for (size_t i = 0; i < sizeof(q) / sizeof(*q); i++)
        printf(" %.0f", order_quantile(values, count, q[i]));
    printf(" %lld", (long long)values[count - 1]);
}

static enum status serve(struct generator *generator, const struct schedule *schedule,
                         int64_t *added, struct error *err)
{
    enum status status = generator_prepare(generator, true, err);
    size_t seen = 0;

    generator_begin(generator);

    while (status == STATUS_OK && seen < schedule->count) {
        uint32_t index;

        if (generator_waiting(generator) == 0)
            continue;
        added[seen] = generator_now_ns(generator);
        index = generator_peek(generator, 0);
        added[seen++] -= generator_sent_ns(generator, index);
        generator_take(generator, 1);
        if (seen % 1000 == 0)
            status = generator_check(generator, err);
    }
    return status;
}

static void read_clock(const struct schedule *schedule, long long processor, int64_t *late)
{
    const int64_t start_ns = clock_monotonic_ns();
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)(processor >= 0 ? processor : 0), &set);
    if (processor >= 0)
        sched_setaffinity(0, sizeof(set), &set);
    for (size_t i = 0; i < schedule->count; i++)
        while ((late[i] = clock_monotonic_ns() - start_ns - schedule->requests[i].at_ns) < 0)
            ;
}

/* Of a reader of the clock in a process of its own, while this one is as busy as a server is. */
static enum status watch(const struct schedule *schedule, long long processor, int64_t *late)
{
    const size_t size = schedule->count * sizeof(*late);
    int64_t *shared =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    pid_t child = -1;

    if (shared != MAP_FAILED)
        child = fork();
    if (child == 0) {
        read_clock(schedule, processor, shared);
        _exit(0);
    }
    while (child > 0 && waitpid(child, NULL, WNOHANG) == 0)
        ;
    if (child > 0)
        memcpy(late, shared, size);
    if (shared != MAP_FAILED)
        munmap(shared, size);
    return child > 0 ? STATUS_OK : STATUS_NO_MEMORY;
}

int main(int argc, char **argv)
{
    const double rate = argc == 3 ? atof(argv[1]) : 0, seconds = argc == 3 ? atof(argv[2]) : 0;
    const struct arrivals arrivals = {.process = ARRIVAL_POISSON};
    const struct lengths lengths = {0};
    const struct schedule_extent extent = {.count = (size_t)(rate * seconds) + 10};
    struct generator *generator = NULL;
    struct schedule schedule = {0};
    struct error err = ERROR_INIT;
    int64_t *lag, *added, *late;
    enum status status;

    if (!(rate > 0 && seconds > 0)) {
        fprintf(stderr, "usage: bench_generator RATE SECONDS\n");
        return 2;
    }
    lag = calloc(extent.count, sizeof(*lag));
    added = calloc(extent.count, sizeof(*added));
    late = calloc(extent.count, sizeof(*late));
    status = lag && added && late
                 ? schedule_make(&arrivals, &lengths, rate, extent, 1, &schedule, &err)
                 : STATUS_NO_MEMORY;
    if (status == STATUS_OK)
        status = generator_start(&schedule, 1 << 20, &generator, &err);
    if (status == STATUS_OK)
        status = serve(generator, &schedule, added, &err);
    if (status == STATUS_OK) {
        json_t *facts = generator_facts(generator);
        const json_t *own = json_object_get(facts, "processor");
        const long long processor = json_is_integer(own) ? json_integer_value(own) : -1;

        for (size_t i = 0; i < schedule.count; i++)
            lag[i] = generator_sent_ns(generator, (uint32_t)i) - schedule.requests[i].at_ns;
        printf("%g %zu", rate, schedule.count);
        print_quantiles(lag, schedule.count);
        print_quantiles(added, schedule.count);
        status = watch(&schedule, processor, late);
        print_quantiles(late, schedule.count);
        if (processor >= 0)
            printf(" %lld", processor);
        else
            printf(" shared");
        printf(" %s\n", json_string_value(json_object_get(facts, "scheduling")));
        json_decref(facts);
    } else {
        fprintf(stderr, "bench_generator: %s\n", err.message);
    }
    generator_destroy(generator);
    schedule_finish(&schedule);
    free(lag);
    free(added);
    free(late);
    return status == STATUS_OK ? 0 : 1;
}
