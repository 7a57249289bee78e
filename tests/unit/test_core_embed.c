#include "harness/core/embed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/core/file.h"

extern const struct embed_file embedded[];
extern const size_t embedded_count;

static void expect_same(const struct embed_file *file, const char *name, const char *path)
{
    struct error err = ERROR_INIT;
    size_t length;
    char *bytes;

    assert_string_equal(file->name, name);
    if (file_read(path, 1 << 20, &bytes, &length, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(file->length, length);
    assert_memory_equal(file->text, bytes, length + 1); /* the NUL too */
    free(bytes);
}

static void test_embedded(void **state)
{
    (void)state;
    assert_int_equal(embedded_count, 2);
    expect_same(&embedded[0], "core.cmake", SOURCE_DIRECTORY "/tests/unit/core.cmake");
    expect_same(&embedded[1], "LICENSE", SOURCE_DIRECTORY "/LICENSE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embedded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
