#include "harness/core/status.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "tests/support/unit.h"

TEST(names)
{
    for (int i = 0; i < STATUS_COUNT; ++i) {
        assert_int_equal(status_from_name(status_name((enum status)i)), i);
        assert_true(strlen(status_meaning((enum status)i)) > 0);
    }
    assert_string_equal(status_name(STATUS_DEVICE_LOST), "device_lost");
    assert_string_equal(status_name((enum status)1000), "unknown");
    assert_string_equal(status_name((enum status) - 1), "unknown");
    assert_int_equal(status_from_name("nonsense"), STATUS_COUNT);
    assert_int_equal(status_from_name(NULL), STATUS_COUNT);
}

TEST(set)
{
    struct error err = ERROR_INIT;

    assert_int_equal(error_set(&err, STATUS_BUSY, "%s is %d", "x", 3), STATUS_BUSY);
    assert_int_equal(err.code, STATUS_BUSY);
    assert_string_equal(err.message, "x is 3");
    assert_int_equal(error_set(NULL, STATUS_BUSY, "x"), STATUS_BUSY);
    /* Arguments may lie in the message itself. */
    error_set(&err, STATUS_IO, "again: %s", err.message);
    assert_string_equal(err.message, "again: x is 3");
    error_set(&err, STATUS_IO, "%s and %s", err.message + 7, err.message);
    assert_string_equal(err.message, "x is 3 and again: x is 3");
    assert_int_equal(error_prefix(&err, "%s/%s", "a", err.message), STATUS_IO);
    assert_string_equal(err.message, "a/x is 3 and again: x is 3: x is 3 and again: x is 3");
}

TEST(codes_of_errno)
{
    static const struct {
        int reason;
        enum status code;
    } cases[] = {{ENOSPC, STATUS_NO_SPACE},  {EDQUOT, STATUS_NO_SPACE}, {EACCES, STATUS_DENIED},
                 {EPERM, STATUS_DENIED},     {EROFS, STATUS_DENIED},    {ENOMEM, STATUS_NO_MEMORY},
                 {ENOENT, STATUS_NOT_FOUND}, {EIO, STATUS_IO}};
    struct error err = ERROR_INIT;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
        assert_int_equal(error_set_errno(&err, cases[i].reason, "f%d", 1), cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(error_set_errno(NULL, cases[i].reason, "f"), cases[i].code);
    }
    assert_int_equal(error_no_memory(&err), STATUS_NO_MEMORY);
    assert_non_null(strstr(err.message, "out of memory; end other programs, or raise the limit"));
    error_set_errno(&err, ENOMEM, "%s", "fork");
    assert_non_null(strstr(err.message, "raise the limit"));
    error_set_errno(&err, ENOENT, "%s", "dir/file");
    assert_string_equal(err.message, "dir/file: No such file or directory");
}

TEST(cut)
{
    struct error err = ERROR_INIT;
    char word[3 * ERROR_MESSAGE_MAX];

    memset(word, 'x', sizeof(word));
    word[sizeof(word) - 1] = '\0';
    error_set(&err, STATUS_IO, "%s", word);
    assert_int_equal(strlen(err.message), ERROR_MESSAGE_MAX - 1);
    assert_string_equal(err.message + ERROR_MESSAGE_MAX - 5, "x...");
    /* In every position of a two-byte character the cut leaves good UTF-8. */
    for (int lead = 0; lead < 3; ++lead) {
        for (size_t i = 0; i + 2 < sizeof(word); i += 2)
            memcpy(word + i, "\xc3\xa4", 2);
        memset(word, 'x', (size_t)lead);
        if (lead == 1)
            word[1] = 'y';
        error_set(&err, STATUS_IO, "%s%s", lead == 1 ? "z" : "",
                  lead == 1 ? word + 2 : word + lead);
        assert_true(text_is_utf8(err.message, strlen(err.message)));
        assert_string_equal(err.message + strlen(err.message) - 3, "...");
    }
    /* One byte less than the buffer is not cut. */
    memset(word, 'x', ERROR_MESSAGE_MAX - 1);
    word[ERROR_MESSAGE_MAX - 1] = '\0';
    error_set(&err, STATUS_IO, "%s", word);
    assert_string_equal(err.message, word);
}
