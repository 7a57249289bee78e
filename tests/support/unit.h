/*
 * unit - tests of a program that say themselves that they are tests (by cmocka).
 *
 *     TEST(nothing_to_do)
 *     {
 *         assert_int_equal(f(0), 0);
 *     }
 *
 * A program runs its tests in the order of its file; it has no main unless it needs one of its own,
 * which ends in `return unit_run(NULL, NULL);`. In a test `state` is cmocka's.
 */
#ifndef ASSAY_TESTS_SUPPORT_UNIT_H
#define ASSAY_TESTS_SUPPORT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct unit_test {
    struct CMUnitTest test;
    struct unit_test *next;
};

/* Adds a test behind those that were added before; `test` lives as long as the program. */
void unit_add(struct unit_test *test);

/* Runs all, between `setup` and `teardown` (either may be NULL); how many failed. */
int unit_run(CMFixtureFunction setup, CMFixtureFunction teardown);

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* Each run of the test is between `setup` and `teardown`; either may be NULL. */
#define TEST_WITH(name, setup, teardown)                                                           \
    static void test_##name(void **state);                                                         \
    __attribute__((constructor)) static void unit_add_##name(void)                                 \
    {                                                                                              \
        static struct unit_test test = {{"test_" #name, test_##name, setup, teardown, NULL},       \
                                        NULL};                                                     \
                                                                                                   \
        unit_add(&test);                                                                           \
    }                                                                                              \
    static void test_##name(__attribute__((unused)) void **state)

#endif
