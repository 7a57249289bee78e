#include "protocols/data_seed.h"

#include <stddef.h>

#include "tests/support/unit.h"

/* Computed with Python's hashlib. */
TEST(known)
{
    assert_true(data_seed(20261120, NULL) == 20261120);
    assert_true(data_seed(20261120, "ask-17") == UINT64_C(3890574761574188003));
    assert_true(data_seed(UINT64_MAX, "") == UINT64_C(618084803651335427));
    assert_true(data_seed(1, "a") != data_seed(1, "b"));
    assert_true(data_seed(1, "a") != data_seed(2, "a"));
}
