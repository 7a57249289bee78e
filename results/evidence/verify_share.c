#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/core/shortage.h"
#include "results/evidence/verify_internal.h"

#define THREADS_MAX 64

struct share {
    struct verify *verify;
    const char *doing;
    int64_t total, step, next;
    verify_work_fn *work;
    pthread_mutex_t lock;
};

struct thread {
    struct share *share;
    struct verify_worker worker;
    pthread_t id;
    bool started;
};

/* Claims the next part; false when there is none. The first thread reports the progress. */
static bool claim(struct share *share, int64_t *ret_first, int64_t *ret_end)
{
    bool more;

    pthread_mutex_lock(&share->lock);
    more = share->next < share->total && !verify_stopped(share->verify);
    if (more) {
        *ret_first = share->next;
        share->next += share->step;
        *ret_end = share->next < share->total ? share->next : share->total;
        verify_progress(share->verify, share->doing, (uint64_t)*ret_first, (uint64_t)share->total);
    }
    pthread_mutex_unlock(&share->lock);
    return more;
}

static void *run(void *context)
{
    struct thread *thread = context;
    int64_t first, end;

    while (claim(thread->share, &first, &end)) {
        thread->worker.findings.part = first;
        thread->share->work(&thread->worker, first, end);
    }
    return NULL;
}

static int thread_count(const struct verify *verify, const struct share *share)
{
    int64_t parts = (share->total + share->step - 1) / share->step;
    long count = verify->options->threads;
    cpu_set_t usable;

    if (count <= 0)
        count = sched_getaffinity(0, sizeof(usable), &usable) == 0 ? CPU_COUNT(&usable)
                                                                   : sysconf(_SC_NPROCESSORS_ONLN);
    if (count > parts)
        count = (long)parts;
    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : (int)count;
}

/* The findings of all threads, by their parts: each is of one thread, which has them in order. */
static void report(struct verify *verify, struct thread *threads, int count)
{
    struct verify_findings all = {0};
    size_t taken[THREADS_MAX] = {0}, total = 0;

    for (int i = 0; i < count; i++)
        total += threads[i].worker.findings.count;
    all.items = total > 0 ? malloc(total * sizeof(*all.items)) : NULL;
    if (total > 0 && !all.items)
        shortage_note();
    while (all.items && all.count < total) {
        const struct verify_note *next = NULL;
        int from = 0;

        for (int i = 0; i < count; i++) {
            const struct verify_findings *findings = &threads[i].worker.findings;

            if (taken[i] < findings->count &&
                (!next || findings->items[taken[i]].part < next->part))
                next = &findings->items[taken[from = i]];
        }
        all.items[all.count++] = *next;
        taken[from]++;
    }
    for (int i = 0; i < count; i++) {
        struct verify_findings *findings = &threads[i].worker.findings;

        all.unreported += findings->unreported;
        if (!all.items && findings->count > 0)
            verify_findings_report(verify, findings);
        free(findings->items);
    }
    verify_findings_report(verify, &all);
}

static void finish_thread(struct thread *thread, int64_t *done)
{
    *done += thread->worker.done;
    if (thread->worker.store != thread->share->verify->store)
        store_close(thread->worker.store);
}

enum status verify_share(struct verify *verify, const char *doing, int64_t total, int64_t step,
                         verify_work_fn *work, int64_t *ret_done, struct error *err)
{
    struct share share = {
        .verify = verify, .doing = doing, .total = total, .step = step, .work = work};
    int count = thread_count(verify, &share);
    struct thread *threads = calloc((size_t)count, sizeof(*threads));
    enum status status = STATUS_OK;
    int opened = 0;

    *ret_done = 0;
    if (!threads)
        return error_no_memory(err);
    pthread_mutex_init(&share.lock, NULL);
    for (; opened < count && status == STATUS_OK; opened++) {
        struct verify_worker *worker = &threads[opened].worker;

        threads[opened].share = &share;
        worker->verify = verify;
        if (opened == 0) { /* its thread is this one */
            worker->store = verify->store;
            verify_renew(verify, verify->store);
        } else {
            status = verify_open(verify, &worker->store, err);
        }
        worker->db = worker->store ? worker->store->db : NULL;
    }
    for (int i = 1; i < opened && status == STATUS_OK; i++)
        threads[i].started = pthread_create(&threads[i].id, NULL, run, &threads[i]) == 0;
    if (status == STATUS_OK)
        run(&threads[0]);
    for (int i = 0; i < opened; i++) {
        if (threads[i].started)
            pthread_join(threads[i].id, NULL);
    }
    report(verify, threads, opened);
    for (int i = 0; i < opened; i++)
        finish_thread(&threads[i], ret_done);
    pthread_mutex_destroy(&share.lock);
    free(threads);
    return status;
}
