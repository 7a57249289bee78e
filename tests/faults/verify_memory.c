/*
 * Every allocation of the verifier fails, one after the other, until it goes through: those of our
 * own code (through the linker), of SQLite, of jansson and of libcrypto (through their hooks). A
 * sound file is then verified, or it could not be; never does anything in it become wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sqlite3.h>

#include "results/evidence/ledger.h"
#include "results/evidence/verify.h"
#include "tests/support/fault_walk.h"
#include "tests/support/store_fixture.h"
#include "tests/support/timestamp_fixture.h"
#include "tests/support/unit.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *string);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *string);

static struct {
    bool armed, lasting, happened;
    long fail_at, calls;
} memory;

static bool fails(void)
{
    if (!memory.armed)
        return false;
    memory.calls++;
    if (memory.calls == memory.fail_at || (memory.lasting && memory.calls > memory.fail_at)) {
        memory.happened = true;
        return true;
    }
    return false;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *string)
{
    return fails() ? NULL : __real_strdup(string);
}

static sqlite3_mem_methods real_methods;

static void *sqlite_malloc(int size)
{
    return fails() ? NULL : real_methods.xMalloc(size);
}

static void *sqlite_realloc(void *old, int size)
{
    return fails() ? NULL : real_methods.xRealloc(old, size);
}

static void *json_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

static void install(void)
{
    sqlite3_mem_methods methods;

    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_methods), SQLITE_OK);
    methods = real_methods;
    methods.xMalloc = sqlite_malloc;
    methods.xRealloc = sqlite_realloc;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
    json_set_alloc_funcs(json_malloc, free);
}

static void build(struct fixture *fixture)
{
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS];
    struct ledger_checkpoint head;
    uint8_t token[256];
    size_t length;
    struct key key;

    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    for (int64_t sequence = 1; sequence <= 6; sequence++)
        assert_ok(fixture_run_trial(fixture->store, campaign, sequence, "ok", 200, NULL, &err),
                  err);
    assert_ok(store_add_campaign_event(fixture->store, campaign, "finished", NULL, &err), err);
    assert_ok(key_generate("lab", &key, &err), err);
    assert_ok(ledger_add_checkpoint(fixture->store, "end", campaign, &key, &head, &err), err);
    length = timestamp_fixture(&head.root, token);
    assert_ok(ledger_add_timestamp(fixture->store, head.id, token, length, &err), err);
    store_close(fixture->store);
    fixture->store = NULL;
}

struct heard {
    int64_t wrong;
    char first[256];
};

static void hear(void *context, const struct verify_finding *finding)
{
    struct heard *heard = context;

    if (finding->level != VERIFY_WRONG || fixture_explains(finding))
        return;
    if (heard->wrong++ == 0)
        snprintf(heard->first, sizeof(heard->first), "%s: %s", verify_check_name(finding->check),
                 finding->message);
}

struct walk {
    const char *path;
    bool lasting;
};

static bool inject(void *context, long at, long *ret_calls)
{
    const struct walk *walk = context;
    struct heard heard = {0};
    const struct verify_options options = {.threads = 1, .context = &heard, .found = hear};
    struct verify_summary summary = {0};
    struct error err = ERROR_INIT;
    enum status status;

    memory.lasting = walk->lasting;
    memory.fail_at = at;
    memory.calls = 0;
    memory.happened = false;
    memory.armed = true;
    status = verify_file(walk->path, &options, &summary, &err);
    memory.armed = false;
    *ret_calls = memory.calls;
    if (heard.wrong > 0)
        fail_msg("allocation %ld: %s", at, heard.first);
    if (memory.happened && (status != STATUS_NO_MEMORY || !err.message[0]))
        fail_msg("allocation %ld: %s: %s", at, status_name(status), err.message);
    if (!memory.happened)
        assert_ok(status, err);
    return memory.happened;
}

/* ASSAY_TEST_ALL_CALLS=1 tries more. */
static void walk(bool lasting, long tries, long thorough)
{
    void *state = NULL;
    struct fixture *fixture;

    assert_int_equal(fixture_open(&state), 0);
    fixture = state;
    build(fixture);
    fault_walk(inject, &(struct walk){.path = fixture->path, .lasting = lasting},
               getenv("ASSAY_TEST_ALL_CALLS") ? thorough : tries);
    fixture_remove(&state);
}

TEST(each_fails)
{
    walk(false, 100, 800);
}

TEST(all_fail_from_one_on)
{
    walk(true, 80, 380);
}

int main(void)
{
    install();
    verify_watch_memory();
    return unit_run(NULL, NULL);
}
