#include "harness/core/embed.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/file.h"
#include "tests/support/unit.h"

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

TEST(embedded)
{
    assert_int_equal(embedded_count, 2);
    expect_same(&embedded[0], "core.cmake", SOURCE_DIRECTORY "/tests/unit/core.cmake");
    expect_same(&embedded[1], "LICENSE", SOURCE_DIRECTORY "/LICENSE");
}
