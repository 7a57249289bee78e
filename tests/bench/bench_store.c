/*
 * Time to store a million samples as the runner does: chunk by chunk while a trial continues, each
 * chunk durable before the next.
 *
 * usage: bench_store REPEATS [FOLDER]
 * Prints one line a repeat: seconds through the store, from opening to the trial's end; seconds to
 * write and fsync the same eight million bytes in the same chunks to a plain file; the database's
 * bytes. FOLDER is where both files are made and removed again (default: the working folder).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "harness/core/status.h"
#include "results/store/store.h"

#define SAMPLES 1000000
#define CHUNK 16384 /* values in one message of a worker (harness/runner/worker_link.c) */

/* A plan of one cell with one trial; the digests are of two tiny declarations. */
static enum status plan(struct store *store, int64_t *ret_trial, struct error *err)
{
    struct store_cell cell = {.ordinal = 1,
                              .workload_name = "bench",
                              .protocol_name = "bench",
                              .kind = "synthetic",
                              .work.precision = "fp32",
                              .work.scenario = "single_stream",
                              .work.implementation = "portable",
                              .work.batch = 1,
                              .backend = "null",
                              .device_spec = "null:0",
                              .trials = 1};
    struct store_campaign campaign = {
        .created_utc_ns = clock_utc_ns(), .command = "bench_store", .tool_version = "bench"};
    json_t *json = json_pack("{s:s}", "name", "bench");
    struct store_declaration declaration = {
        .kind = "workload", .name = "bench", .version = 1, .origin = "built-in", .json = json};
    uint32_t order = 0;
    int64_t campaign_id, cell_id;
    enum status status = store_put_declaration(store, &declaration, &cell.workload, err);

    declaration.kind = "protocol";
    if (!status)
        status = store_put_declaration(store, &declaration, &cell.protocol, err);
    campaign.protocol = cell.protocol;
    campaign.plan = json;
    random_identifier(campaign.uid);
    if (!status)
        status =
            store_add_campaign(store, &campaign, &cell, 1, &order, 1, &campaign_id, &cell_id, err);
    if (!status)
        status = store_begin_trial(store, campaign_id, 1, clock_utc_ns(), ret_trial, err);
    json_decref(json);
    return status;
}

static enum status store_samples(const char *path, const int64_t *values, struct error *err)
{
    struct store_trial_end end = {
        .status = "ok", .iterations_per_sample = 1, .samples = SAMPLES, .max_rss_bytes = -1};
    struct store *store = NULL;
    int64_t trial;
    enum status status = store_open(path, STORE_CREATE, 1000000000, &store, err);

    if (status)
        return status;
    status = plan(store, &trial, err);
    for (size_t first = 0; !status && first < SAMPLES; first += CHUNK) {
        size_t count = SAMPLES - first < CHUNK ? SAMPLES - first : CHUNK;

        status = store_add_samples(store, trial, "wall_ns", first, values + first, count, err);
    }
    end.ended_utc_ns = clock_utc_ns();
    if (!status)
        status = store_end_trial(store, trial, &end, err);
    store_close(store);
    return status;
}

static enum status write_plain(const char *path, const int64_t *values, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0)
        return error_set(err, STATUS_IO, "%s: cannot be written", path);
    for (size_t first = 0; first < SAMPLES; first += CHUNK) {
        size_t count = SAMPLES - first < CHUNK ? SAMPLES - first : CHUNK;
        size_t bytes = count * sizeof(*values);

        if (write(fd, values + first, bytes) != (ssize_t)bytes || fdatasync(fd)) {
            close(fd);
            return error_set(err, STATUS_IO, "%s: writing failed", path);
        }
    }
    close(fd);
    return STATUS_OK;
}

static enum status measure(const char *folder, const int64_t *values, struct error *err)
{
    char database[4096], plain[4096], side[4200];
    struct stat info = {0};
    int64_t start, store_ns, plain_ns;
    enum status status;

    snprintf(database, sizeof(database), "%s/bench_store.%ld.db", folder, (long)getpid());
    snprintf(plain, sizeof(plain), "%s/bench_store.%ld.bin", folder, (long)getpid());
    start = clock_monotonic_ns();
    status = store_samples(database, values, err);
    store_ns = clock_monotonic_ns() - start;
    start = clock_monotonic_ns();
    if (!status)
        status = write_plain(plain, values, err);
    plain_ns = clock_monotonic_ns() - start;
    if (!status && stat(database, &info) == 0)
        printf("%.6f %.6f %lld\n", (double)store_ns / 1e9, (double)plain_ns / 1e9,
               (long long)info.st_size);
    unlink(database);
    unlink(plain);
    for (const char **suffix = (const char *[]){"-wal", "-shm", NULL}; *suffix; suffix++) {
        snprintf(side, sizeof(side), "%s%s", database, *suffix);
        unlink(side);
    }
    return status;
}

int main(int argc, char **argv)
{
    long repeats = argc > 1 ? atol(argv[1]) : 0;
    struct error err = ERROR_INIT;
    struct random random;
    int64_t *values = malloc(SAMPLES * sizeof(*values));

    if (repeats <= 0 || argc > 3 || !values) {
        fprintf(stderr, "usage: bench_store REPEATS [FOLDER]\n");
        free(values);
        return 2;
    }
    /* A millisecond with 3 % of log-normal noise: as hard to compress as real samples are. */
    random_init(&random, 1, 0);
    for (size_t i = 0; i < SAMPLES; i++)
        values[i] = (int64_t)(1e6 * exp(0.03 * random_next_normal(&random)));
    while (repeats-- > 0 && !measure(argc > 2 ? argv[2] : ".", values, &err))
        continue;
    if (err.code)
        fprintf(stderr, "bench_store: %s\n", err.message);
    free(values);
    return err.code ? 1 : 0;
}
