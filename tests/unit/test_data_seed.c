#include "protocols/data_seed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Computed with Python's hashlib. */
static void test_known(void **state)
{
    (void)state;
    assert_true(data_seed(20261120, NULL) == 20261120);
    assert_true(data_seed(20261120, "ask-17") == UINT64_C(3890574761574188003));
    assert_true(data_seed(UINT64_MAX, "") == UINT64_C(618084803651335427));
    assert_true(data_seed(1, "a") != data_seed(1, "b"));
    assert_true(data_seed(1, "a") != data_seed(2, "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
