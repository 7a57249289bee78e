#include "backends/cpu/threads.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "harness/core/cgroup.h"
#include "harness/core/denormals.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

/* Beyond these many groups a thread they are dealt out as threads get free, in parts of a 16th. */
#define DYNAMIC_FROM 4
#define DYNAMIC_PARTS 16

/* The quota of cpu.max ("max 100000", "150000 100000") in whole processors, rounded up; 0: none. */
static uint32_t quota(void)
{
    struct reading_list list;
    const struct reading *reading;
    long long limit, period;
    uint32_t processors = 0;

    reading_list_init(&list);
    cgroup_read_limits(&list);
    reading = reading_find(&list, "cgroup.cpu_max");
    if (reading != NULL && reading->status == READING_MEASURED &&
        sscanf(reading->text, "%lld %lld", &limit, &period) == 2 && limit > 0 && period > 0)
        processors = (uint32_t)((limit + period - 1) / period);
    reading_list_finish(&list);
    return processors;
}

/* The lowest number in "0-1,64-65", which names the core that these processors share; else `cpu`.
 */
static int first_sibling(int cpu)
{
    char *path = text_format("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    char *line = NULL;
    int first = cpu;

    if (path != NULL && file_read_line(path, &line, NULL) == STATUS_OK)
        first = (int)strtol(line, NULL, 10);
    free(line);
    free(path);
    return first;
}

/* Cores that this process may run on. */
static uint32_t cores(void)
{
    cpu_set_t allowed, seen;
    uint32_t count = 0;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        const long online = sysconf(_SC_NPROCESSORS_ONLN);

        return online > 0 ? (uint32_t)online : 1;
    }
    CPU_ZERO(&seen);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        int first;

        if (!CPU_ISSET(cpu, &allowed))
            continue;
        first = first_sibling(cpu);
        if (first < 0 || first >= CPU_SETSIZE || CPU_ISSET(first, &seen))
            continue;
        CPU_SET(first, &seen);
        count++;
    }
    return count > 0 ? count : 1;
}

uint32_t cpu_threads_count(void)
{
#ifdef _OPENMP
    const char *asked = getenv("OMP_NUM_THREADS");
    uint32_t limit, count;
    uint64_t number;

    if (asked != NULL && text_parse_u64(asked, &number) && number > 0 && number <= 65536)
        return (uint32_t)number;
    limit = quota();
    /* A runtime that binds has already bound this thread to one place: its places are the mask.
     */
    count = omp_get_num_places() > 0 ? (uint32_t)omp_get_num_places() : cores();
    return limit > 0 && limit < count ? limit : count;
#else
    return 1;
#endif
}

/* One launch, seen by all threads. `next` has a cache line of its own. */
struct job {
    cpu_kernel_run *run;
    const uint64_t *groups;
    const union cpu_argument *arguments;
    uint64_t total, part; /* part 0: one even share a thread */
    bool flush;
    uint64_t next __attribute__((aligned(128)));
};

static void work(struct job *job, uint64_t thread, uint64_t threads)
{
    const bool before = denormals_flush(job->flush);

    if (job->part == 0) {
        const uint64_t begin = job->total * thread / threads;
        const uint64_t end = job->total * (thread + 1) / threads;

        if (begin < end)
            job->run(job->groups, job->arguments, begin, end);
    } else {
        for (;;) {
            const uint64_t begin = __atomic_fetch_add(&job->next, job->part, __ATOMIC_RELAXED);
            const uint64_t end = begin + job->part;

            if (begin >= job->total)
                break;
            job->run(job->groups, job->arguments, begin, end < job->total ? end : job->total);
        }
    }
    denormals_flush(before);
}

void cpu_threads_run(cpu_kernel_run *run, const uint64_t groups[3],
                     const union cpu_argument *arguments, uint32_t threads, bool flush)
{
    struct job job = {.run = run, .groups = groups, .arguments = arguments, .flush = flush};

    job.total = groups[0] * groups[1] * groups[2];
    if (threads == 1 || job.total == 1) {
        work(&job, 0, 1);
        return;
    }
    if (job.total > (uint64_t)DYNAMIC_FROM * threads) {
        job.part = job.total / ((uint64_t)DYNAMIC_PARTS * threads);
        job.part += job.part == 0;
    }
#ifdef _OPENMP
    {
        /* Threads that are started here have the mode of this one afterwards. */
        const bool before = denormals_flush(flush);

        /* Always the whole pool: a smaller team would end the other threads. */
#pragma omp parallel num_threads(threads)
        work(&job, (uint64_t)omp_get_thread_num(), (uint64_t)omp_get_num_threads());
        denormals_flush(before);
    }
#endif
}

void cpu_threads_unbind(void)
{
#ifdef _OPENMP
    cpu_set_t all;
    int *ids = calloc(CPU_SETSIZE, sizeof(*ids));

    CPU_ZERO(&all);
    for (int place = 0; ids != NULL && place < omp_get_num_places(); place++) {
        const int count = omp_get_place_num_procs(place);

        if (count > CPU_SETSIZE)
            break;
        omp_get_place_proc_ids(place, ids);
        for (int i = 0; i < count; i++)
            CPU_SET(ids[i], &all);
    }
    if (CPU_COUNT(&all) > 0)
        sched_setaffinity(0, sizeof(all), &all);
    free(ids);
#endif
}

void cpu_threads_start(uint32_t threads)
{
#ifdef _OPENMP
    omp_set_dynamic(0);
    omp_set_num_threads((int)threads);
#pragma omp parallel num_threads(threads)
    __asm__ volatile("" : : : "memory");
#else
    (void)threads;
#endif
}

void cpu_threads_set_flush(uint32_t threads, bool flush)
{
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
    denormals_flush(flush);
#else
    (void)threads;
#endif
    /* LLVM's runtime gives the calling thread back what it had before a parallel region. */
    denormals_flush(flush);
}

void cpu_threads_touch(unsigned char *bytes, uint64_t size, uint32_t threads)
{
    const int64_t pages = (int64_t)((size + 4095) / 4096);

#ifdef _OPENMP
#pragma omp parallel for schedule(static) num_threads(threads)
#else
    (void)threads;
#endif
    for (int64_t page = 0; page < pages; page++)
        *(volatile unsigned char *)(bytes + page * 4096) = 0;
}

#ifdef _OPENMP
/* "0 1": the processor that each thread of the pool may run on, "0-3" where it is not one. */
static void read_places(struct reading_list *list, uint32_t threads)
{
    cpu_set_t *sets = calloc(threads, sizeof(*sets));
    bool pinned = true;
    struct text text;

    if (sets == NULL) {
        list->failed = true;
        return;
    }
#pragma omp parallel num_threads(threads)
    sched_getaffinity(0, sizeof(*sets), &sets[omp_get_thread_num()]);
    text_init(&text);
    for (uint32_t t = 0; t < threads; t++) {
        int low = -1, high = -1;

        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &sets[t])) {
                low = low < 0 ? cpu : low;
                high = cpu;
            }
        pinned = pinned && first_sibling(low) == first_sibling(high);
        text_append_format(&text, low == high ? "%s%d" : "%s%d-%d", t > 0 ? " " : "", low, high);
    }
    free(sets);
    if (!text_ok(&text))
        list->failed = true;
    else
        reading_add_text(list, "device.threads.processors", text.data, "sched_getaffinity");
    text_finish(&text);
    reading_add_text(list, "device.threads.pinned", pinned ? "yes" : "no", "sched_getaffinity");
}

static void read_variable(struct reading_list *list, const char *name, const char *variable)
{
    const char *value = getenv(variable);

    if (value != NULL)
        reading_add_text(list, name, value, variable);
    else
        reading_add_missing(list, name, READING_UNAVAILABLE, variable, "not set");
}
#endif

void cpu_threads_read(struct reading_list *list)
{
    const uint32_t threads = cpu_threads_count();
#ifdef _OPENMP
    void *function = NULL;
    int (*get)(void) = omp_get_max_threads;
    Dl_info info;

    memcpy(&function, &get, sizeof(function));
    reading_add_integer(list, "device.threads", threads, NULL,
                        getenv("OMP_NUM_THREADS") != NULL ? "OMP_NUM_THREADS"
                                                          : "sched_getaffinity, topology, cpu.max");
    if (dladdr(function, &info) != 0 && info.dli_fname != NULL)
        reading_add_text(list, "device.threads.runtime", info.dli_fname, "dladdr");
    else
        reading_add_missing(list, "device.threads.runtime", READING_UNAVAILABLE, "dladdr",
                            "the file of omp_get_max_threads cannot be determined");
    read_variable(list, "device.threads.bind", "OMP_PROC_BIND");
    read_variable(list, "device.threads.places", "OMP_PLACES");
    read_variable(list, "device.threads.wait_policy", "OMP_WAIT_POLICY");
    read_places(list, threads);
#else
    reading_add_integer(list, "device.threads", threads, NULL, "a build without OpenMP");
    reading_add_missing(list, "device.threads.runtime", READING_NOT_APPLICABLE, "build",
                        "built by a compiler without OpenMP: kernels run in one thread");
#endif
}
