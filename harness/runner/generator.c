#include "harness/runner/generator.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/clock.h"

#define LEAD_NS INT64_C(5000000) /* from generator_begin to the window's start */
#define READY_NS INT64_C(10000000000)
#define POLL_NS INT64_C(200000) /* between looks at a state that is not timed */
/*
 * Before a request's time, spent in watching the clock: a third of the mean gap within these
 * bounds. An idle processor wakes late, in a virtual machine now and then by hundreds of us.
 */
#define SPIN_LEAST_NS INT64_C(200000)
#define SPIN_MOST_NS INT64_C(1000000)
#define SPIN_SHARED_NS INT64_C(20000) /* of a processor that others want */
#define NAP_NS INT64_C(10000000)      /* longest sleep: a pause may end meanwhile */
/* With a smaller mean gap it hardly sleeps: exponential gaps leave it awake for two thirds. */
#define FIFO_GAP_NS INT64_C(180000)

enum state { STATE_START, STATE_BEGIN, STATE_READY, STATE_DONE };

/* A cache line each, so that one side's writing does not disturb the other's reading. */
#define LINE _Alignas(64)

struct shared {
    LINE _Atomic int state;
    int processor;                /* -1: none of its own */
    int64_t start_ns;             /* CLOCK_MONOTONIC of the window's zero */
    int64_t spin_ns;              /* valid once READY */
    bool fifo, locked;            /* what the kernel granted; valid once READY */
    LINE _Atomic uint64_t pauses; /* odd: the clock stands still */
    _Atomic int64_t paused_ns;    /* of the pauses that are over */
    LINE _Atomic uint64_t head;   /* the generator's: requests put in */
    LINE _Atomic uint64_t tail;   /* the server's: requests taken out */
    LINE uint32_t count, queue, mask;
};

struct generator {
    struct shared *shared;
    size_t size;
    const int64_t *at_ns;     /* in shared memory, as the rest */
    _Atomic int64_t *sent_ns; /* REQUEST_NEVER: not yet */
    unsigned char *refused;
    uint32_t *ring;
    pid_t pid;              /* 0: reaped */
    int64_t pause_began_ns; /* CLOCK_MONOTONIC */
};

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- the generator's side ---- */

/* Now by the window's clock, at a moment when it ran. */
static int64_t running_now(const struct shared *shared)
{
    for (;;) {
        const uint64_t pauses = atomic_load_explicit(&shared->pauses, memory_order_acquire);
        int64_t now;

        if (pauses & 1) {
            clock_sleep_until_ns(clock_monotonic_ns() + POLL_NS);
            continue;
        }
        now = clock_monotonic_ns() - shared->start_ns -
              atomic_load_explicit(&shared->paused_ns, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        if (pauses == atomic_load_explicit(&shared->pauses, memory_order_relaxed))
            return now;
    }
}

static bool is_full(const struct shared *shared, uint64_t head)
{
    return head - atomic_load_explicit(&shared->tail, memory_order_acquire) >= shared->queue;
}

/*
 * Writes what is there already to the lines that sending request i will write: after a sleep they
 * are in no cache and their pages in no TLB, which takes microseconds, and the server sees a
 * request only once all of its lines are written.
 */
static void warm(const struct generator *generator, uint32_t i, uint64_t head)
{
    struct shared *shared = generator->shared;

    atomic_store_explicit(&generator->sent_ns[i], REQUEST_NEVER, memory_order_relaxed);
    if (!is_full(shared, head))
        generator->ring[head & shared->mask] = i;
    atomic_store_explicit(&shared->head, head, memory_order_relaxed);
}

/* Until request i's time, the next place in the ring being `head`; the time then. */
static int64_t wait_for(const struct generator *generator, uint32_t i, uint64_t head)
{
    const struct shared *shared = generator->shared;
    const int64_t at_ns = generator->at_ns[i], spin_ns = shared->spin_ns;
    bool is_warm = false;

    for (;;) {
        const int64_t now = running_now(shared), left = at_ns - now;

        if (left <= 0)
            return now;
        if (left > spin_ns) {
            clock_sleep_until_ns(clock_monotonic_ns() +
                                 (left - spin_ns < NAP_NS ? left - spin_ns : NAP_NS));
        } else if (!is_warm) {
            warm(generator, i, head);
            is_warm = true;
        } else {
            relax();
        }
    }
}

static void send_all(struct generator *generator)
{
    struct shared *shared = generator->shared;
    uint64_t head = 0;

    for (uint32_t i = 0; i < shared->count; i++) {
        const int64_t now = wait_for(generator, i, head);

        if (is_full(shared, head)) {
            generator->refused[i] = 1;
            atomic_store_explicit(&generator->sent_ns[i], now, memory_order_release);
            continue;
        }
        atomic_store_explicit(&generator->sent_ns[i], now, memory_order_relaxed);
        generator->ring[head & shared->mask] = i;
        atomic_store_explicit(&shared->head, ++head, memory_order_release);
    }
    atomic_store_explicit(&shared->state, STATE_DONE, memory_order_release);
}

static void set_up(const struct generator *generator)
{
    struct shared *shared = generator->shared;
    const int64_t mean_gap_ns = generator->at_ns[shared->count - 1] / shared->count;
    const struct sched_param first = {.sched_priority = 1};
    cpu_set_t set;

    /* Of the worker, of which this is a copy, nothing is needed: it is not to be made resident. */
    shared->locked = mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0 &&
                     mlock(shared, generator->size) == 0;
    if (shared->processor >= 0) {
        CPU_ZERO(&set);
        CPU_SET((size_t)shared->processor, &set);
        if (sched_setaffinity(0, sizeof(set), &set) != 0)
            shared->processor = -1;
    }
    shared->spin_ns = mean_gap_ns / 3 < SPIN_LEAST_NS  ? SPIN_LEAST_NS
                      : mean_gap_ns / 3 > SPIN_MOST_NS ? SPIN_MOST_NS
                                                       : mean_gap_ns / 3;
    if (shared->processor < 0)
        shared->spin_ns = SPIN_SHARED_NS;
    /*
     * Past other programs, where that is allowed and where it sleeps for most of the time: one that
     * runs without a rest is stopped for 50 ms each second (sched_rt_runtime_us).
     */
    shared->fifo = mean_gap_ns >= FIFO_GAP_NS && sched_setscheduler(0, SCHED_FIFO, &first) == 0;
}

static _Noreturn void run_process(struct generator *generator, pid_t parent)
{
    struct shared *shared = generator->shared;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    prctl(PR_SET_NAME, "assay-load");
    prctl(PR_SET_TIMERSLACK, 1UL);
    signal(SIGTERM, SIG_DFL);
    /* The channel is the worker's: its end must show when the worker ends. */
    if (close_range(3, ~0u, 0) != 0)
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
    while (atomic_load_explicit(&shared->state, memory_order_acquire) == STATE_START)
        clock_sleep_until_ns(clock_monotonic_ns() + POLL_NS);
    set_up(generator);
    atomic_store_explicit(&shared->state, STATE_READY, memory_order_release);
    send_all(generator);
    _exit(0);
}

/* ---- the server's side ---- */

static size_t aligned(size_t size)
{
    return (size + 63) / 64 * 64;
}

static enum status map_memory(struct generator *generator, const struct schedule *schedule,
                              uint32_t queue, struct error *err)
{
    const size_t count = schedule->count;
    size_t ring = 1, places[5];
    int fd = memfd_create("assay-load", MFD_CLOEXEC);
    int64_t *at_ns;
    char *base;

    while (ring < queue)
        ring *= 2;
    places[0] = aligned(sizeof(struct shared));
    places[1] = places[0] + aligned(count * sizeof(int64_t));
    places[2] = places[1] + aligned(count * sizeof(int64_t));
    places[3] = places[2] + aligned(count);
    places[4] = places[3] + aligned(ring * sizeof(uint32_t));
    generator->size = places[4];
    if (fd < 0 || ftruncate(fd, (off_t)generator->size) != 0) {
        const int reason = errno;

        if (fd >= 0)
            close(fd);
        return error_set(err, STATUS_NO_MEMORY, "memory for %zu requests: %s%s", count,
                         strerror(reason), error_remedy(ENOMEM));
    }
    base = mmap(NULL, generator->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    close(fd);
    if (base == MAP_FAILED)
        return error_set(err, STATUS_NO_MEMORY, "memory for %zu requests: %s%s", count,
                         strerror(errno), error_remedy(ENOMEM));
    generator->shared = (struct shared *)base;
    generator->at_ns = at_ns = (int64_t *)(base + places[0]);
    generator->sent_ns = (_Atomic int64_t *)(base + places[1]);
    generator->refused = (unsigned char *)(base + places[2]);
    generator->ring = (uint32_t *)(base + places[3]);
    for (size_t i = 0; i < count; i++) {
        at_ns[i] = schedule->requests[i].at_ns;
        atomic_init(&generator->sent_ns[i], REQUEST_NEVER);
    }
    generator->shared->processor = -1;
    generator->shared->count = (uint32_t)count;
    generator->shared->queue = queue;
    generator->shared->mask = (uint32_t)ring - 1;
    return STATUS_OK;
}

enum status generator_start(const struct schedule *schedule, uint32_t queue, struct generator **ret,
                            struct error *err)
{
    struct generator *generator = calloc(1, sizeof(*generator));
    const pid_t self = getpid();
    enum status status;

    if (!generator)
        return error_no_memory(err);
    status = map_memory(generator, schedule, queue, err);
    if (status == STATUS_OK) {
        generator->pid = fork();
        if (generator->pid == 0)
            run_process(generator, self);
        if (generator->pid < 0) {
            generator->pid = 0;
            status =
                error_set(err, STATUS_IO, "a process that generates requests: %s", strerror(errno));
        }
    }
    if (status != STATUS_OK) {
        generator_destroy(generator);
        return status;
    }
    *ret = generator;
    return STATUS_OK;
}

void generator_destroy(struct generator *generator)
{
    if (!generator)
        return;
    if (generator->pid > 0) {
        kill(generator->pid, SIGKILL);
        while (waitpid(generator->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (generator->shared)
        munmap(generator->shared, generator->size);
    free(generator);
}

/* The last of at least two processors, which this thread leaves; -1: there is none to spare. */
static int spare_processor(void)
{
    cpu_set_t set;
    int last = -1;

    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 2)
        return -1;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &set))
            last = i;
    CPU_CLR((size_t)last, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0 ? last : -1;
}

enum status generator_prepare(struct generator *generator, bool own_processor, struct error *err)
{
    struct shared *shared = generator->shared;
    const int64_t until_ns = clock_monotonic_ns() + READY_NS;

    shared->processor = own_processor ? spare_processor() : -1;
    shared->start_ns = INT64_MAX / 2; /* until it is ready */
    atomic_store_explicit(&shared->pauses, 1, memory_order_relaxed);
    atomic_store_explicit(&shared->state, STATE_BEGIN, memory_order_release);
    while (atomic_load_explicit(&shared->state, memory_order_acquire) == STATE_BEGIN) {

        TRY(generator_check(generator, err));
        if (clock_monotonic_ns() > until_ns)
            return error_set(err, STATUS_TIMEOUT,
                             "the generator of requests was not ready within %d s",
                             (int)(READY_NS / 1000000000));
        clock_sleep_until_ns(clock_monotonic_ns() + POLL_NS);
    }
    return STATUS_OK;
}

void generator_begin(struct generator *generator)
{
    generator->shared->start_ns = clock_monotonic_ns() + LEAD_NS;
    atomic_store_explicit(&generator->shared->pauses, 2, memory_order_release);
}

int64_t generator_time_ns(const struct generator *generator, int64_t monotonic_ns)
{
    return monotonic_ns - generator->shared->start_ns -
           atomic_load_explicit(&generator->shared->paused_ns, memory_order_relaxed);
}

int64_t generator_now_ns(const struct generator *generator)
{
    return generator_time_ns(generator, clock_monotonic_ns());
}

uint32_t generator_waiting(const struct generator *generator)
{
    const struct shared *shared = generator->shared;

    return (uint32_t)(atomic_load_explicit(&shared->head, memory_order_acquire) -
                      atomic_load_explicit(&shared->tail, memory_order_relaxed));
}

uint32_t generator_peek(const struct generator *generator, uint32_t place)
{
    const struct shared *shared = generator->shared;

    return generator
        ->ring[(atomic_load_explicit(&shared->tail, memory_order_relaxed) + place) & shared->mask];
}

void generator_take(struct generator *generator, uint32_t count)
{
    atomic_fetch_add_explicit(&generator->shared->tail, count, memory_order_release);
}

int64_t generator_sent_ns(const struct generator *generator, uint32_t index)
{
    return atomic_load_explicit(&generator->sent_ns[index], memory_order_acquire);
}

bool generator_refused(const struct generator *generator, uint32_t index)
{
    return generator_sent_ns(generator, index) != REQUEST_NEVER && generator->refused[index];
}

bool generator_is_done(const struct generator *generator)
{
    return atomic_load_explicit(&generator->shared->state, memory_order_acquire) == STATE_DONE;
}

enum status generator_check(struct generator *generator, struct error *err)
{
    int how;

    if (generator->pid > 0 && waitpid(generator->pid, &how, WNOHANG) == generator->pid) {
        generator->pid = 0;
        if (!generator_is_done(generator))
            return WIFSIGNALED(how)
                       ? error_set(err, STATUS_CRASHED,
                                   "the generator of requests was ended by signal %d (%s)",
                                   WTERMSIG(how), strsignal(WTERMSIG(how)))
                       : error_set(err, STATUS_CRASHED,
                                   "the generator of requests exited with status %d before all "
                                   "requests were sent",
                                   WEXITSTATUS(how));
    }
    return STATUS_OK;
}

void generator_pause(struct generator *generator)
{
    atomic_fetch_add_explicit(&generator->shared->pauses, 1, memory_order_seq_cst);
    generator->pause_began_ns = clock_monotonic_ns();
}

void generator_resume(struct generator *generator)
{
    atomic_fetch_add_explicit(&generator->shared->paused_ns,
                              clock_monotonic_ns() - generator->pause_began_ns,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&generator->shared->pauses, 1, memory_order_release);
}

json_t *generator_facts(const struct generator *generator)
{
    const struct shared *shared = generator->shared;

    return json_pack("{s:o, s:s, s:b, s:I, s:I}", "processor",
                     shared->processor < 0 ? json_null() : json_integer(shared->processor),
                     "scheduling", shared->fifo ? "fifo" : "other", "locked", shared->locked,
                     "pauses", (json_int_t)(atomic_load(&shared->pauses) / 2 - 1), "paused_ns",
                     (json_int_t)atomic_load(&shared->paused_ns));
}
