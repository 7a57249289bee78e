#include "harness/core/denormals.h"

#include <float.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/unit.h"

/* A denormal result, a denormal operand: whether each is kept. */
static void expect(bool result_kept, bool operand_kept)
{
    volatile float smallest = FLT_MIN, tiny = FLT_TRUE_MIN, two = 2.0f, large = 0x1p100f;

    assert_int_equal(smallest / two != 0, result_kept);
    assert_int_equal(tiny * large != 0, operand_kept);
}

TEST(flush)
{
    const bool can = denormals_can_flush();

    assert_false(denormals_flush(false) && can);
    expect(true, true);
    assert_int_equal(denormals_flush(true), !can);
    expect(!can, !can);
    assert_true(denormals_flush(false));
    expect(true, true);
}
