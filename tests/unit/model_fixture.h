/* model_fixture - a device for the transformer's tests: PoCL, or whatever OpenCL device is first.
 */
#ifndef ASSAY_TESTS_UNIT_MODEL_FIXTURE_H
#define ASSAY_TESTS_UNIT_MODEL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backends/backend.h"

/* The device (closed by the caller), or NULL after saying why the test is skipped. */
struct device *model_fixture_open(void);

#define ASSERT_OK(call)                                                                            \
    do {                                                                                           \
        struct error err_ = ERROR_INIT;                                                            \
        struct error *err = &err_;                                                                 \
                                                                                                   \
        if ((call) != STATUS_OK)                                                                   \
            fail_msg("%s:%d: %s", __FILE__, __LINE__, err->message);                               \
    } while (0)

#endif
