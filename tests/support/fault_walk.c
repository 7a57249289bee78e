#include "tests/support/fault_walk.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Odd, so that calls that come in pairs are not all of one kind. */
static long stride_of(long calls, long tries)
{
    return calls > tries ? (calls / tries) | 1 : 1;
}

void fault_walk(fault_inject inject, void *context, long tries)
{
    long calls = 0, made, stride, count = 0;

    assert_false(inject(context, LONG_MAX, &calls));
    assert_true(calls > 0);
    stride = stride_of(calls, tries);
    for (long at = 1; inject(context, at, &made); at += stride)
        count++;
    print_message("%ld of %ld calls failed in turn\n", count, calls);
    assert_true(count * 10 >= calls / stride * 9);
}
