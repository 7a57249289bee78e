/*
 * wrapper_fixture - shared by the tests of the wrappers: hooks are counted and return a set answer,
 * so that a test sees which calls reach a device.
 */
#ifndef ASSAY_TESTS_UNIT_WRAPPER_FIXTURE_H
#define ASSAY_TESTS_UNIT_WRAPPER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backends/backend.h"

extern int reached;        /* calls of any hook */
extern enum status answer; /* what the hooks return */

/* One call of a hook: counts it, and returns the answer. */
enum status say(struct error *err);

/* The call (which gets &err) is refused with this status and a message, and reaches no hook. */
#define REFUSED(status, call)                                                                      \
    do {                                                                                           \
        struct error err = ERROR_INIT;                                                             \
        const int before = reached;                                                                \
        assert_int_equal(call, status);                                                            \
        assert_int_equal(err.code, status);                                                        \
        assert_true(err.message[0] != '\0');                                                       \
        assert_int_equal(reached, before);                                                         \
    } while (0)

/* The call is OK and reaches one hook. */
#define PASSES(call)                                                                               \
    do {                                                                                           \
        struct error err = ERROR_INIT;                                                             \
        const int before = reached;                                                                \
        assert_int_equal(call, STATUS_OK);                                                         \
        assert_int_equal(reached, before + 1);                                                     \
    } while (0)

#endif
