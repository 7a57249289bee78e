#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/evidence/verify_internal.h"

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

    if (!budget)
        return; /* the old one goes on */
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
