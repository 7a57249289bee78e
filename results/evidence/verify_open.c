/* What the first bytes of a file say, and a connection that trusts nothing in it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/shortage.h"
#include "results/evidence/verify_internal.h"

#define LOG_MAGIC 0x377f0682 /* the last bit: its checksums are of big-endian words */
#define LOG_VERSION 3007000
#define LOG_HEADER 32

#define MAGIC "SQLite format 3" /* and a NUL */

static uint32_t big_endian(const uint8_t *bytes, int count)
{
    uint32_t value = 0;

    for (int i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

static bool read_beginning(const char *path, uint8_t *ret, size_t size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const ssize_t got = file >= 0 ? pread(file, ret, size, 0) : -1;

    if (file >= 0)
        close(file);
    return got == (ssize_t)size;
}

static uint32_t page_size_of(const uint8_t header[18])
{
    const uint32_t size = big_endian(header + 16, 2);

    return size == 1 ? 65536 : size;
}

/* https://www.sqlite.org/fileformat2.html#walformat */
bool verify_is_log(const char *path)
{
    char *name = text_format("%s-wal", path);
    uint8_t log[LOG_HEADER], database[18];
    bool is_log = name && read_beginning(name, log, sizeof(log)) &&
                  read_beginning(path, database, sizeof(database));
    uint32_t sums[2] = {0, 0};

    free(name);
    if (!is_log || (big_endian(log, 4) | 1) != (LOG_MAGIC | 1) ||
        big_endian(log + 4, 4) != LOG_VERSION || big_endian(log + 8, 4) != page_size_of(database))
        return false;
    for (int i = 0; i < 24; i += 8) {
        uint32_t words[2] = {big_endian(log + i, 4), big_endian(log + i + 4, 4)};

        if (!(big_endian(log, 4) & 1)) {
            words[0] = __builtin_bswap32(words[0]);
            words[1] = __builtin_bswap32(words[1]);
        }
        sums[0] += words[0] + sums[1];
        sums[1] += words[1] + sums[0];
    }
    return big_endian(log + 24, 4) == sums[0] && big_endian(log + 28, 4) == sums[1];
}

struct verify_header verify_read_header(const char *path)
{
    uint8_t header[100];
    const bool is_read = read_beginning(path, header, sizeof(header));
    uint32_t page_size;

    if (!is_read || memcmp(header, MAGIC, sizeof(MAGIC)) != 0 ||
        big_endian(header + 68, 4) != STORE_APPLICATION_ID)
        return (struct verify_header){0};
    page_size = page_size_of(header);
    return (struct verify_header){
        .ours = true,
        .bytes = (int64_t)big_endian(header + 28, 4) * page_size,
        .version = (int)big_endian(header + 60, 4),
    };
}

/* Virtual machine steps between two checks of the budget. */
#define WORK_STEP 100000
#define WAIT_NS INT64_C(10000000000)

/* Bounds the work by the file's size, and stops when the user asks for it. */
static int on_work(void *context)
{
    struct verify_budget *budget = context;

    budget->left -= WORK_STEP;
    return budget->left < 0 || verify_stopped(budget->verify);
}

static void harden(sqlite3 *db, int64_t wait_ns, struct verify_budget *budget)
{
    store_limit_connection(db);
    sqlite3_progress_handler(db, WORK_STEP, on_work, budget);
    sqlite3_busy_timeout(db, (int)(wait_ns / 1000000));
    sqlite3_exec(db,
                 "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA query_only=ON;"
                 "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-512",
                 NULL, NULL, NULL);
}

void verify_renew(struct verify *verify, struct store *store)
{
    struct verify_budget *budget = calloc(1, sizeof(*budget));

    if (!budget) {
        shortage_note(); /* the old one goes on, and may end before the step does */
        return;
    }
    *budget = (struct verify_budget){verify, verify->work_max, verify->budgets};
    verify->budgets = budget;
    sqlite3_progress_handler(store->db, WORK_STEP, on_work, budget);
}

enum status verify_open(struct verify *verify, struct store **ret, struct error *err)
{
    struct store *store = calloc(1, sizeof(*store));
    char *name = store_uri(verify->path, verify->immutable ? "?immutable=1" : "?mode=ro");
    struct verify_budget *budget = calloc(1, sizeof(*budget));
    enum status status = STATUS_OK;
    int rc;

    if (budget) {
        *budget = (struct verify_budget){verify, verify->work_max, verify->budgets};
        verify->budgets = budget;
    }
    if (store)
        store->path = strdup(verify->path);
    if (!store || !name || !budget || !store->path) {
        status = error_no_memory(err);
        goto done;
    }
    store->mode = STORE_READ;
    store->trusts_estimates = true; /* verify_estimates checks them */
    store->busy_timeout_ns = verify->options->wait_ns ? verify->options->wait_ns : WAIT_NS;
    rc = sqlite3_open_v2(name, &store->db,
                         SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = record_register(store->db);
    if (rc != SQLITE_OK) {
        status = store_error(store, rc, "opening", err);
        goto done;
    }
    harden(store->db, store->busy_timeout_ns, budget);
    *ret = store;
    store = NULL;
done:
    store_close(store);
    free(name);
    return status;
}
