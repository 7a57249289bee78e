/*
 * How late the generator of requests sends them, and what it adds to each: the time from the stamp
 * of its sending until a server that polls the ring reads it. For comparison, the delay of a
 * process on the same processor that only reads the clock, over the same schedule, scheduled in the
 * same way: the two take turns.
 *
 * usage: bench_generator RATE SECONDS TURNS. One line: rate, requests, lag p50, p99, p99.9,
 * maximum, then the same of what is added and of how late the bare clock was read, all in ns; then
 * the generator's processor, or "shared", and its scheduling; then the time that the
 * hypervisor took from all processors while requests were sent, and while the clock was read, in
 * ms.
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

/* A process of real-time scheduling that runs without a rest is stopped for 50 ms each second. */
#define AWAKE_NS INT64_C(9000000)
#define REST_NS INT64_C(1000000)

/* Of all turns. */
struct figures {
    int64_t *lag, *added, *late;
    size_t sent, read;
    long stolen_sending, stolen_reading; /* ms */
    long long processor;
    bool fifo;
};

static void print_quantiles(int64_t *values, size_t count)
{
    static const double q[] = {0.5, 0.99, 0.999};

    order_sort(values, count);
    for (size_t i = 0; i < sizeof(q) / sizeof(*q); i++)
        printf(" %.0f", order_quantile(values, count, q[i]));
    printf(" %lld", (long long)values[count - 1]);
}

/* From all processors since the machine's start, in ms; 0 where it is not known. */
static long stolen_ms(void)
{
    FILE *file = fopen("/proc/stat", "r");
    long ticks = 0;

    if (file) {
        if (fscanf(file, "cpu %*s %*s %*s %*s %*s %*s %*s %ld", &ticks) != 1)
            ticks = 0;
        fclose(file);
    }
    return ticks * 1000 / sysconf(_SC_CLK_TCK);
}

/* Polls as the worker does: it looks at the clock each time round. */
static enum status serve(struct generator *generator, const struct schedule *schedule,
                         int64_t *added, struct error *err)
{
    enum status status = generator_prepare(generator, true, err);
    size_t seen = 0;

    generator_begin(generator);

    while (status == STATUS_OK && seen < schedule->count) {
        const int64_t polled_ns = generator_now_ns(generator);
        uint32_t index;

        if (generator_waiting(generator) == 0 || polled_ns < 0)
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

/* In a process that ends: requests whose time came in a rest are left out. Gives their count. */
static size_t read_clock(const struct schedule *schedule, const struct figures *how, int64_t *late)
{
    const struct sched_param first = {.sched_priority = 1};
    int64_t start_ns, rest_ns, now_ns;
    size_t i = 0, count = 0;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)(how->processor >= 0 ? how->processor : 0), &set);
    if (how->processor >= 0)
        sched_setaffinity(0, sizeof(set), &set);
    if (how->fifo)
        sched_setscheduler(0, SCHED_FIFO, &first);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    start_ns = clock_monotonic_ns();
    rest_ns = AWAKE_NS;
    while (i < schedule->count) {
        now_ns = clock_monotonic_ns() - start_ns;
        if (now_ns >= schedule->requests[i].at_ns) {
            late[count++] = now_ns - schedule->requests[i++].at_ns;
        } else if (now_ns >= rest_ns) {
            clock_sleep_until_ns(start_ns + now_ns + REST_NS);
            now_ns = clock_monotonic_ns() - start_ns;
            rest_ns = now_ns + AWAKE_NS;
            while (i < schedule->count && schedule->requests[i].at_ns <= now_ns)
                i++;
        }
    }
    return count;
}

/* Of a reader of the clock in a process of its own, while this one is as busy as a server is. */
static enum status watch(const struct schedule *schedule, struct figures *figures)
{
    const size_t size = (schedule->count + 1) * sizeof(int64_t);
    const long before = stolen_ms();
    int64_t *shared =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    pid_t child = -1;

    if (shared != MAP_FAILED)
        child = fork();
    if (child == 0) {
        shared[0] = (int64_t)read_clock(schedule, figures, shared + 1);
        _exit(0);
    }
    while (child > 0 && waitpid(child, NULL, WNOHANG) == 0)
        ;
    if (child > 0) {
        memcpy(figures->late + figures->read, shared + 1, (size_t)shared[0] * sizeof(*shared));
        figures->read += (size_t)shared[0];
    }
    if (shared != MAP_FAILED)
        munmap(shared, size);
    figures->stolen_reading += stolen_ms() - before;
    return child > 0 ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status send(const struct schedule *schedule, struct figures *figures, struct error *err)
{
    const long before = stolen_ms();
    struct generator *generator = NULL;
    enum status status = generator_start(schedule, 1 << 20, &generator, err);
    json_t *facts;

    if (status == STATUS_OK)
        status = serve(generator, schedule, figures->added + figures->sent, err);
    if (status == STATUS_OK) {
        facts = generator_facts(generator);
        figures->processor = json_is_integer(json_object_get(facts, "processor"))
                                 ? json_integer_value(json_object_get(facts, "processor"))
                                 : -1;
        figures->fifo = !strcmp(json_string_value(json_object_get(facts, "scheduling")), "fifo");
        json_decref(facts);
        for (size_t i = 0; i < schedule->count; i++)
            figures->lag[figures->sent++] =
                generator_sent_ns(generator, (uint32_t)i) - schedule->requests[i].at_ns;
        figures->stolen_sending += stolen_ms() - before;
    }
    generator_destroy(generator);
    return status;
}

/* Each turn's own schedule, and the generator begins with all processors. */
static enum status take_turn(double rate, size_t count, uint64_t seed, const cpu_set_t *all,
                             struct figures *figures, struct error *err)
{
    const struct arrivals arrivals = {.process = ARRIVAL_POISSON};
    const struct schedule_extent extent = {.count = count};
    const struct lengths lengths = {0};
    struct schedule schedule = {0};
    enum status status = schedule_make(&arrivals, &lengths, rate, extent, seed, &schedule, err);

    if (status == STATUS_OK) {
        sched_setaffinity(0, sizeof(*all), all);
        status = send(&schedule, figures, err);
    }
    if (status == STATUS_OK)
        status = watch(&schedule, figures);
    schedule_finish(&schedule);
    return status;
}

int main(int argc, char **argv)
{
    const double rate = argc == 4 ? atof(argv[1]) : 0, seconds = argc == 4 ? atof(argv[2]) : 0;
    const long turns = argc == 4 ? atol(argv[3]) : 0;
    struct figures figures = {.processor = -1};
    struct error err = ERROR_INIT;
    enum status status;
    size_t count;
    cpu_set_t all;

    if (!(rate > 0 && seconds > 0 && turns > 0)) {
        fprintf(stderr, "usage: bench_generator RATE SECONDS TURNS\n");
        return 2;
    }
    count = (size_t)(rate * seconds / (double)turns) + 1;
    figures.lag = calloc(count * (size_t)turns, sizeof(int64_t));
    figures.added = calloc(count * (size_t)turns, sizeof(int64_t));
    figures.late = calloc(count * (size_t)turns, sizeof(int64_t));
    status = figures.lag && figures.added && figures.late
                 ? STATUS_OK
                 : error_set(&err, STATUS_NO_MEMORY, "out of memory");
    sched_getaffinity(0, sizeof(all), &all);
    for (long turn = 0; turn < turns && status == STATUS_OK; turn++)
        status = take_turn(rate, count, (uint64_t)turn + 1, &all, &figures, &err);
    if (status == STATUS_OK && figures.read == 0)
        status = error_set(&err, STATUS_TIMEOUT, "every request's time came in a rest; try again");
    if (status == STATUS_OK) {
        printf("%g %zu", rate, figures.sent);
        print_quantiles(figures.lag, figures.sent);
        print_quantiles(figures.added, figures.sent);
        print_quantiles(figures.late, figures.read);
        if (figures.processor >= 0)
            printf(" %lld", figures.processor);
        else
            printf(" shared");
        printf(" %s %ld %ld\n", figures.fifo ? "fifo" : "other", figures.stolen_sending,
               figures.stolen_reading);
    } else {
        fprintf(stderr, "bench_generator: %s\n", err.message);
    }
    free(figures.lag);
    free(figures.added);
    free(figures.late);
    return status == STATUS_OK ? 0 : 1;
}
