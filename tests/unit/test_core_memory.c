/*
 * Every allocation of a call fails once, the first, the second, ..., until the call succeeds. The
 * linker sends this executable's allocations (ours, not those inside shared libraries) to the
 * functions here.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/declaration.h"
#include "harness/core/dynlib.h"
#include "harness/core/file.h"
#include "harness/core/process.h"
#include "harness/core/reading.h"
#include "harness/core/text.h"
#include "tests/support/unit.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *string);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *string);

static long fail_at = -1; /* allocations until the one that fails; negative: none does */

static bool fails(void)
{
    return fail_at >= 0 && fail_at-- == 0;
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

/* Runs `call` with each allocation failing in turn; it must say NO_MEMORY every time. */
static void expect_no_memory(enum status (*call)(struct error *err), int at_least)
{
    int n = 0;

    for (;; ++n) {
        struct error err = ERROR_INIT;
        enum status status;

        assert_true(n < 10000);
        fail_at = n;
        status = call(&err);
        if (fail_at >= 0) { /* the failure was not reached: it ran whole */
            fail_at = -1;
            assert_int_equal(status, STATUS_OK);
            break;
        }
        if (status != STATUS_NO_MEMORY)
            print_error("allocation %d: %s \"%s\"\n", n, status_name(status), err.message);
        assert_int_equal(status, STATUS_NO_MEMORY);
        assert_int_equal(err.code, STATUS_NO_MEMORY);
    }
    assert_in_range(n, at_least, 10000); /* or nothing was tested */
}

static enum status call_text(struct error *err)
{
    struct text text;
    enum status status;

    text_init(&text);
    for (int i = 0; i < 1000; ++i)
        text_append_format(&text, "%d ", i);
    status = text_ok(&text) ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "text");
    text_finish(&text);
    return status;
}

static json_t *example;

static enum status call_canonical(struct error *err)
{
    char *text = NULL;
    enum status status = canonical_dump(example, &text, err);

    if (status != STATUS_OK)
        assert_null(text);
    free(text);
    return status;
}

static enum status call_file(struct error *err)
{
    char *bytes = NULL;
    enum status status = file_read("/proc/self/status", 100000, &bytes, NULL, err);

    free(bytes);
    return status;
}

static enum status call_reading(struct error *err)
{
    struct reading_list list;
    enum status status;

    reading_list_init(&list);
    for (int i = 0; i < 20; ++i) {
        char name[] = {(char)('a' + i), '\0'};

        reading_add_integer(&list, name, i, "unit", "source");
    }
    reading_add_missing(&list, "z", READING_DENIED, "source", "reason");
    status = list.failed ? error_set(err, STATUS_NO_MEMORY, "list") : STATUS_OK;
    reading_list_finish(&list);
    return status;
}

static enum status call_dynlib(struct error *err)
{
    static const char *const sonames[] = {"libassay-no.so.1", "libc.so.6", NULL};
    struct {
        size_t (*strlen)(const char *);
    } table = {NULL};
    static const struct dynlib_symbol symbols[] = {{"strlen", 0, true}};
    const struct dynlib_spec spec = {"c", sonames, symbols, 1};
    struct dynlib lib;
    enum status status = dynlib_open(&spec, &lib, &table, err);

    dynlib_finish(&lib);
    return status;
}

/* argv wants char *, which exec(3) never writes to. */
#define ARG(string) ((char *)(string))

static enum status call_capture(struct error *err)
{
    char *argv[] = {ARG("echo"), ARG("hello"), NULL};
    char *output = NULL;
    enum status status = process_capture(argv, INT64_MAX, 100, &output, NULL, err);

    if (status == STATUS_OK)
        assert_string_equal(output, "hello\n");
    free(output);
    return status;
}

struct plan {
    char *name;
    int64_t *sizes;
    uint32_t sizes_count;
};
static const struct declaration_schema size_entry = {
    ENTRY_INT(DECLARATION_BYTES, int64_t),
};
static const struct declaration_field plan_fields[] = {
    FIELD_STRING("name", FIELD_REQUIRED, struct plan, name, 1, 100),
    FIELD_LIST("sizes", FIELD_REQUIRED, struct plan, sizes, &size_entry, 1, 9),
    FIELD_END,
};
static const struct declaration_schema plan_schema = {
    ENTRY_GROUP(struct plan, plan_fields),
};

static enum status call_declaration(struct error *err)
{
    static const char yaml[] = "name: x # comment\nsizes: [1KiB, 2, 3MiB]\n";
    struct declaration declaration;
    enum status status;

    status = declaration_parse("f", yaml, strlen(yaml), &plan_schema, &declaration, err);
    if (status == STATUS_OK)
        declaration_finish(&declaration);
    return status;
}

/* A wrong declaration gives its error, or out of memory, and nothing else. */
static enum status call_wrong_declaration(struct error *err)
{
    static const char yaml[] = "name: x\nsizes: [two, 1KiB]\n";
    struct declaration declaration;
    enum status status;

    status = declaration_parse("f", yaml, strlen(yaml), &plan_schema, &declaration, err);
    if (status != STATUS_INVALID)
        return status;
    assert_non_null(strstr(err->message, "f:2: \"sizes[0]\" is \"two\", but should be a size"));
    return STATUS_OK;
}

TEST(all)
{
    static const char json[] = "{\"a\":[1,2.5,\"x\"],\"b\":{\"c\":null,\"d\":true}}";
    struct error err = ERROR_INIT;

    assert_int_equal(canonical_parse(json, strlen(json), "x", &example, &err), STATUS_OK);
    expect_no_memory(call_text, 3);
    expect_no_memory(call_canonical, 3);
    expect_no_memory(call_file, 1);
    expect_no_memory(call_reading, 60);
    expect_no_memory(call_dynlib, 2);
    expect_no_memory(call_capture, 1);
    expect_no_memory(call_declaration, 10);
    expect_no_memory(call_wrong_declaration, 10);
    json_decref(example);
}
