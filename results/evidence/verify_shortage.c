/*
 * What keeps the verifier from saying anything about a file: memory that is refused, files that may
 * not be opened, a disk that does not answer. None of it is a finding.
 */
#include "harness/core/shortage.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "results/evidence/verify_internal.h"

static sqlite3_mem_methods sqlite_memory;

static void *watched_malloc(int size)
{
    void *memory = sqlite_memory.xMalloc(size);

    if (!memory)
        shortage_note();
    return memory;
}

static void *watched_realloc(void *old, int size)
{
    void *memory = sqlite_memory.xRealloc(old, size);

    if (!memory)
        shortage_note();
    return memory;
}

static void *watched_crypto_malloc(size_t size, const char *file, int line)
{
    void *memory = malloc(size);

    (void)file;
    (void)line;
    if (!memory)
        shortage_note();
    return memory;
}

static void *watched_crypto_realloc(void *old, size_t size, const char *file, int line)
{
    void *memory = realloc(old, size);

    (void)file;
    (void)line;
    if (!memory)
        shortage_note();
    return memory;
}

void verify_watch_memory(void)
{
    sqlite3_mem_methods methods;

    shortage_watch_json();
    /* Refused, harmlessly, once libcrypto has allocated something: then they stand already. */
    CRYPTO_set_mem_functions(watched_crypto_malloc, watched_crypto_realloc, NULL);
    if (sqlite_memory.xMalloc ||
        sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory) != SQLITE_OK)
        return;
    methods = sqlite_memory;
    methods.xMalloc = watched_malloc;
    methods.xRealloc = watched_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
        memset(&sqlite_memory, 0, sizeof(sqlite_memory));
}

void verify_lack_begin(struct verify_lack *lack)
{
    pthread_mutex_init(&lack->lock, NULL);
    lack->shortages = shortage_count();
}

bool verify_lacks(const struct verify *verify)
{
    return verify->lack->is_set || shortage_count() != verify->lack->shortages;
}

bool verify_tell_lack(struct verify *verify, sqlite3 *db, int rc)
{
    struct verify_lack *lack = verify->lack;
    struct store store = {.db = db,
                          .path = (char *)(uintptr_t)verify->path,
                          .mode = STORE_READ,
                          .busy_timeout_ns = verify->options->wait_ns};

    switch (rc & 0xff) {
    case SQLITE_IOERR:
        if (rc == SQLITE_IOERR_CORRUPTFS || rc == SQLITE_IOERR_DATA ||
            rc == SQLITE_IOERR_SHORT_READ)
            return false;
        break;
    case SQLITE_NOMEM:
    case SQLITE_CANTOPEN:
    case SQLITE_FULL:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PERM:
    case SQLITE_PROTOCOL:
        break;
    default:
        return false;
    }
    pthread_mutex_lock(&lack->lock);
    if (!lack->is_set)
        store_error(&store, rc, "reading", &lack->err);
    lack->is_set = true;
    pthread_mutex_unlock(&lack->lock);
    return true;
}

enum status verify_lack_end(struct verify *verify, enum status status, struct error *err)
{
    struct verify_lack *lack = verify->lack;

    if (status == STATUS_OK && lack->is_set && lack->err.code != STATUS_NO_MEMORY) {
        if (err)
            *err = lack->err;
        status = lack->err.code;
    } else if (verify_lacks(verify) && status != STATUS_NO_MEMORY && status != STATUS_INTERRUPTED) {
        status = error_set(err, STATUS_NO_MEMORY,
                           "%s: memory ran out while it was checked, so nothing is known of it: "
                           "free some memory or raise the limit (ulimit -v), then check it again",
                           verify->path);
    }
    pthread_mutex_destroy(&lack->lock);
    return status;
}
