/* The kernels' own e^x, compiled here as C, against libm in fp64. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef float f32;
typedef uint32_t u32;
#define INLINE static inline
#define F_FMA(a, b, c) fmaf(a, b, c)
#include "tests/support/unit.h"
#include "workloads/kernels/memory_exp.h"

#define STRIDE 1009 /* prime; every float is 1.30 * 2^-24 at most, this takes one in a thousand */

TEST(error)
{
    double worst = 0.0;
    uint64_t tried = 0;

    for (uint64_t bits = 0; bits < (UINT64_C(1) << 32); bits += STRIDE) {
        const uint32_t pattern = (uint32_t)bits;
        float x;
        double exact, error;

        memcpy(&x, &pattern, sizeof(x));
        if (!(x >= -87.0f && x <= 88.0f))
            continue;
        exact = exp((double)x);
        error = fabs((double)exp_f32(x) - exact) / exact;
        worst = error > worst ? error : worst;
        ++tried;
    }
    assert_true(tried > 2000000);
    assert_true(worst <= 1.30 * 0x1p-24);
    assert_true(worst > 0.5 * 0x1p-24); /* else the comparison itself is wrong */
}

TEST(edges)
{
    assert_true(exp_f32(0.0f) == 1.0f);
    assert_true(exp_f32(-0.0f) == 1.0f);
    assert_true(exp_f32(-INFINITY) == exp_f32(-87.0f));
    assert_true(exp_f32(-87.0f) >= 0x1p-126f);
    assert_true(exp_f32(INFINITY) == exp_f32(88.0f));
    assert_true(isfinite(exp_f32(88.0f)));
    assert_true(isnan(exp_f32(NAN)));
}
