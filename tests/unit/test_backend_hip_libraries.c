/* Where libraries that belong to an opened HIP runtime are searched for, and in which order. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "backends/hip/runtime.h"
#include "tests/support/unit.h"

static void assert_list(const struct hip_candidates *candidates, const char *const *expected)
{
    size_t i;

    for (i = 0; expected[i] != NULL; i++) {
        assert_non_null(candidates->list[i]);
        assert_string_equal(candidates->list[i], expected[i]);
    }
    assert_null(candidates->list[i]);
}

TEST(next_to_the_runtime_first)
{
    static const char *const names[] = {"librocblas.so.3", "librocblas.so.0", NULL};
    static const char *const expected[] = {"/opt/rocm-5.7/lib/librocblas.so.3",
                                           "/opt/rocm-5.7/lib/librocblas.so.0", "librocblas.so.3",
                                           "librocblas.so.0", NULL};
    struct hip_candidates candidates;

    hip_runtime_candidates("/opt/rocm-5.7/lib/libamdhip64.so.5.7.31921", names, &candidates);
    assert_list(&candidates, expected);
}

TEST(next_to_the_runtime_only)
{
    static const char *const names[] = {"libhipblaslt.so.0", HIP_BESIDE "libhipblaslt.so.1", NULL};
    static const char *const expected[] = {"/usr/lib/libhipblaslt.so.0",
                                           "/usr/lib/libhipblaslt.so.1", "libhipblaslt.so.0", NULL};
    struct hip_candidates candidates;

    hip_runtime_candidates("/usr/lib/libamdhip64.so.6.4.43484", names, &candidates);
    assert_list(&candidates, expected);
}

/* HIPRTC may be in the runtime itself: a path stays one. */
TEST(path)
{
    static const char runtime[] = "/usr/lib/libamdhip64.so.5.2.21153";
    const char *const names[] = {"libhiprtc.so.5", runtime, NULL};
    const char *const expected[] = {"/usr/lib/libhiprtc.so.5", "libhiprtc.so.5", runtime, NULL};
    struct hip_candidates candidates;

    hip_runtime_candidates(runtime, names, &candidates);
    assert_list(&candidates, expected);
}

TEST(no_folder)
{
    static const char *const names[] = {"libhiprtc.so.7", NULL};
    static const char *const expected[] = {"libhiprtc.so.7", NULL};
    struct hip_candidates candidates;

    hip_runtime_candidates(NULL, names, &candidates);
    assert_list(&candidates, expected);
    hip_runtime_candidates("libamdhip64.so.7", names, &candidates);
    assert_list(&candidates, expected);
}
