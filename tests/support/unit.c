#include "tests/support/unit.h"

#include <stdlib.h>

static struct unit_test *first, **end = &first;
static size_t count;

void unit_add(struct unit_test *test)
{
    *end = test;
    end = &test->next;
    ++count;
}

int unit_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    struct CMUnitTest *tests = calloc(count + 1, sizeof(*tests));
    size_t n = 0;
    int failed;

    if (!tests)
        return 1;
    for (const struct unit_test *test = first; test; test = test->next)
        tests[n++] = test->test;
    failed = _cmocka_run_group_tests("tests", tests, n, setup, teardown);
    free(tests);
    return failed;
}
