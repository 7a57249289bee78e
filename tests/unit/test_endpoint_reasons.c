#include "harness/endpoint/reasons.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

TEST(count)
{
    struct reasons reasons = {0};
    char reason[32];

    reasons_add(&reasons, "a", "first", 5, NULL);
    reasons_add(&reasons, "b", NULL, 0, NULL);
    reasons_add(&reasons, "a", "second", 6, NULL);
    assert_int_equal(reasons.count, 2);
    assert_int_equal(reasons.list[0].count, 2);
    assert_string_equal(reasons.list[0].example, "first");
    assert_string_equal(reasons.list[1].example, "");
    for (int i = 0; i < 1000; ++i) {
        snprintf(reason, sizeof(reason), "HTTP %d", i);
        reasons_add(&reasons, reason, NULL, 0, NULL);
    }
    assert_int_equal(reasons.count, REASONS_MAX);
    assert_string_equal(reasons.list[REASONS_MAX - 1].reason, "other reasons");
    assert_int_equal(reasons.list[REASONS_MAX - 1].count, 1000 - (REASONS_MAX - 3));
}

TEST(excerpt)
{
    char shown[REASON_EXAMPLE_SIZE], bytes[600];

    reasons_excerpt("a\x1b[1m\n\xff", 7, NULL, shown);
    assert_string_equal(shown, "a\\x1B[1m\\x0A\\xFF");
    reasons_excerpt("key, keykey; ke", 15, "key", shown);
    assert_string_equal(shown, "[key], [key][key]; ke");
    memset(bytes, 'x', sizeof(bytes));
    reasons_excerpt(bytes, 200, NULL, shown);
    assert_int_equal(strlen(shown), 200);
    reasons_excerpt(bytes, 201, NULL, shown);
    assert_int_equal(strlen(shown), 203);
    /* A character of several bytes is not cut. */
    memcpy(bytes + 198, "\xe2\x82\xac", 3);
    reasons_excerpt(bytes, sizeof(bytes), NULL, shown);
    assert_int_equal(strlen(shown), 198 + 3);
    assert_string_equal(shown + 198, "...");
    /* A key across the cut is not shown in part. */
    memcpy(bytes + 190, "a long secret key", 17);
    reasons_excerpt(bytes, sizeof(bytes), "a long secret key", shown);
    assert_null(strstr(shown, "long"));
}
