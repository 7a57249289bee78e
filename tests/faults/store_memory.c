/*
 * Every allocation fails, one after the other, until a run of the store goes through: those of our
 * own code (through the linker), of SQLite and of jansson (through their hooks). Once a single
 * allocation, once all following ones. A parse of jansson fails as a whole: its lexer (2.14,
 * lex_save) ignores that its buffer did not grow, and ends the process by an assertion.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sqlite3.h>

#include "tests/faults/store_scenario.h"
#include "tests/support/fault_walk.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *string);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *string);
json_t *__real_json_loads(const char *input, size_t flags, json_error_t *error);
json_t *__wrap_json_loads(const char *input, size_t flags, json_error_t *error);
json_t *__real_json_loadb(const char *buffer, size_t length, size_t flags, json_error_t *error);
json_t *__wrap_json_loadb(const char *buffer, size_t length, size_t flags, json_error_t *error);

static struct {
    bool armed, lasting, happened;
    bool in_json;          /* it was jansson's, whose parser calls some of them bad input */
    bool parsing, refused; /* one that failed in the parse */
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
    if (fails()) {
        memory.in_json = true;
        memory.refused = memory.parsing;
        return memory.parsing ? __real_malloc(size) : NULL;
    }
    return __real_malloc(size);
}

static json_t *parsed(json_t *json, json_error_t *error)
{
    memory.parsing = false;
    if (!memory.refused)
        return json;
    memory.refused = false;
    json_decref(json);
    if (error)
        snprintf(error->text, sizeof(error->text), "out of memory");
    return NULL;
}

json_t *__wrap_json_loads(const char *input, size_t flags, json_error_t *error)
{
    memory.parsing = true;
    return parsed(__real_json_loads(input, flags, error), error);
}

json_t *__wrap_json_loadb(const char *buffer, size_t length, size_t flags, json_error_t *error)
{
    memory.parsing = true;
    return parsed(__real_json_loadb(buffer, length, flags, error), error);
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

/* Scenario 1 from no file at all; `context` points to whether every later allocation fails, too. */
static bool inject(void *context, long at, long *ret_calls)
{
    struct scenario_progress progress = {0};
    struct error err = ERROR_INIT;
    void *state = NULL;
    struct fixture *fixture;
    const char *wrong;
    enum status status;

    assert_int_equal(fixture_make(&state), 0);
    fixture = state;
    memory.lasting = *(const bool *)context;
    memory.fail_at = at;
    memory.calls = 0;
    memory.happened = memory.in_json = false;
    memory.armed = !scenario_opened;
    status = scenario_run(fixture->path, 1, &progress, &err);
    memory.armed = false;
    *ret_calls = memory.calls;
    /* SQLite does without some allocations (its cache). */
    if (status != STATUS_OK && (status != STATUS_NO_MEMORY || !err.message[0]) &&
        !(status == STATUS_CORRUPT && memory.in_json))
        fail_msg("allocation %ld: %s: %s", at, status_name(status), err.message);
    wrong = scenario_check(fixture->path, &progress);
    if (wrong)
        fail_msg("allocation %ld: %s", at, wrong);
    fixture_remove(&state);
    return memory.happened;
}

/* ASSAY_TEST_ALL_CALLS=1 tries more, for a minute's work. */
static void walk(bool lasting, long tries, long thorough)
{
    fault_walk(inject, &lasting, getenv("ASSAY_TEST_ALL_CALLS") ? thorough : tries);
}

static void arm(void)
{
    memory.armed = true;
}

/* Most allocations are made while SQLite reads the schema; a sample of them will do. */
TEST(while_opening)
{
    scenario_opened = NULL;
    walk(false, 115, 350);
    walk(true, 67, 160);
}

TEST(while_writing)
{
    scenario_opened = arm;
    walk(false, 1100, 2700);
    walk(true, 226, 510);
}

int main(void)
{
    install();
    return unit_run(NULL, NULL);
}
