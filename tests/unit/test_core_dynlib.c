#include "harness/core/dynlib.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

struct table {
    int (*fixture_answer)(void);
    int (*fixture_required)(void);
    int (*fixture_absent)(void);
};

static const struct dynlib_symbol symbols[] = {
#define DYNLIB_API struct table
    DYNLIB_REQUIRED(int, fixture_answer) DYNLIB_REQUIRED(int, fixture_required)
        DYNLIB_OPTIONAL(int, fixture_absent)};

static struct dynlib_spec spec(const char *name, const char *const *sonames)
{
    return (struct dynlib_spec){name, sonames, symbols, sizeof(symbols) / sizeof(*symbols),
                                sizeof(DYNLIB_API)};
}

static void expect_open(const char *name, const char *const *sonames, const char *tried_start)
{
    struct dynlib_spec described = spec(name, sonames);
    struct table table = {NULL, NULL, NULL};
    struct error err = ERROR_INIT;
    struct dynlib lib;

    if (dynlib_open(&described, &lib, &table, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_non_null(lib.handle);
    assert_int_equal(table.fixture_answer(), 42);
    assert_int_equal(table.fixture_required(), 7);
    assert_null(table.fixture_absent);
    assert_string_equal(lib.path, DYNLIB_GOOD);
    assert_int_equal(strncmp(lib.tried, tried_start, strlen(tried_start)), 0);
    dynlib_finish(&lib);
    assert_null(lib.path);
    dynlib_finish(&lib);
}

TEST(open)
{
    static const char *const direct[] = {DYNLIB_GOOD, NULL};
    static const char *const older[] = {"libassay-no.so.2", DYNLIB_LACKING, DYNLIB_GOOD, NULL};

    expect_open("fixture", direct, DYNLIB_GOOD ": opened");
    expect_open("fixture", older,
                "libassay-no.so.2: not found; " DYNLIB_LACKING
                ": has no symbol fixture_required, which is required; " DYNLIB_GOOD ": opened");
    dynlib_finish(NULL);
}

static char steps[512];

static void note_step(const char *step)
{
    strncat(steps, step, sizeof(steps) - strlen(steps) - 2);
    strcat(steps, "\n");
}

TEST(watch)
{
    static const char *const older[] = {"libassay-no.so.2", DYNLIB_GOOD, NULL};

    dynlib_watch(note_step);
    expect_open("fixture", older, "libassay-no.so.2: not found");
    dynlib_watch(NULL);
    assert_string_equal(steps, "while opening libassay-no.so.2\n"
                               "while opening " DYNLIB_GOOD "\n"
                               "having opened " DYNLIB_GOOD "\n");
}

static void expect_unavailable(const char *name, const char *const *sonames, const char *message)
{
    struct dynlib_spec described = spec(name, sonames);
    struct table table = {NULL, NULL, NULL};
    struct error err = ERROR_INIT;
    struct dynlib lib;

    assert_int_equal(dynlib_open(&described, &lib, &table, &err), STATUS_UNAVAILABLE);
    assert_string_equal(err.message, message);
    assert_string_equal(lib.tried, message);
    assert_null(lib.handle);
    assert_null(lib.path);
    assert_null(table.fixture_answer); /* all or nothing */
    dynlib_finish(&lib);
}

TEST(unavailable)
{
    static const char *const absent[] = {"libassay-no.so.2", "libassay-no.so.1", NULL};
    static const char *const lacking[] = {DYNLIB_LACKING, NULL};
    static const char *const broken[] = {"/etc/passwd", NULL};
    static const char *const none[] = {NULL};

    expect_unavailable("fixture", absent,
                       "libassay-no.so.2: not found; libassay-no.so.1: not found");
    expect_unavailable("fixture", lacking,
                       DYNLIB_LACKING ": has no symbol fixture_required, which is required");
    expect_unavailable("fixture", broken, "/etc/passwd: is not a shared library (not an ELF file)");
    expect_unavailable("fixture", none, "");
}

TEST(override)
{
    static const char *const absent[] = {"libassay-no.so.2", NULL};
    static const char *const direct[] = {DYNLIB_GOOD, NULL};

    assert_null(dynlib_override_path("some_lib2"));
    setenv("ASSAY_LIB_SOME_LIB2", "", 1);
    assert_null(dynlib_override_path("some_lib2"));
    setenv("ASSAY_LIB_SOME_LIB2", DYNLIB_GOOD, 1);
    assert_string_equal(dynlib_override_path("some_lib2"), DYNLIB_GOOD);
    expect_open("some_lib2", absent, DYNLIB_GOOD ": opened");
    /* A failing override is not silently replaced by what the loader would find. */
    setenv("ASSAY_LIB_SOME_LIB2", "/nowhere/lib.so", 1);
    expect_unavailable("some_lib2", direct, "/nowhere/lib.so: not found");
    assert_null(dynlib_override_path("../x"));
}
