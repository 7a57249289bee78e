/* The parts of the OpenCL backend that need no driver. */
#include "backends/opencl/log.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

TEST(error_names)
{
    struct error err = ERROR_INIT;

    assert_string_equal(opencl_error_name(0), "CL_SUCCESS");
    assert_string_equal(opencl_error_name(-54), "CL_INVALID_WORK_GROUP_SIZE");
    assert_string_equal(opencl_error_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
    assert_string_equal(opencl_error_name(-9999), "unknown code");
    assert_int_equal(opencl_fail(&err, NULL, "clFinish", -36), STATUS_DEVICE);
    assert_string_equal(err.message, "clFinish: CL_INVALID_COMMAND_QUEUE (-36)");
    assert_int_equal(opencl_fail(&err, "kernel x", "clEnqueueNDRangeKernel", -4),
                     STATUS_DEVICE_MEMORY);
    assert_string_equal(err.message, "kernel x: clEnqueueNDRangeKernel: "
                                     "CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)");
    assert_int_equal(opencl_fail(&err, NULL, "f", -5), STATUS_DEVICE_MEMORY);
    assert_int_equal(opencl_fail(&err, NULL, "f", -61), STATUS_DEVICE_MEMORY);
    assert_int_equal(opencl_fail(&err, NULL, "f", -2), STATUS_DEVICE_LOST);
    assert_int_equal(opencl_fail(&err, NULL, "f", -6), STATUS_NO_MEMORY);
    assert_int_equal(opencl_fail(&err, NULL, "f", -12345), STATUS_DEVICE);
    assert_non_null(strstr(err.message, "unknown code (-12345)"));
    assert_int_equal(opencl_fail(&err, NULL, "f", 0), STATUS_DEVICE);
    assert_non_null(strstr(err.message, "defective"));
}

static void check(const char *log, const char *expected)
{
    const struct opencl_log_map map = {.file = "k/a.h", .prelude_line = 4, .text_line = 150};
    char *got = opencl_log_rewrite(log, &map);

    assert_non_null(got);
    assert_string_equal(got, expected);
    free(got);
}

TEST(log)
{
    check("", "");
    check("\n\n", "");
    check("no place here\n", "no place here");
    /* Oclgrind counts through the whole text. */
    check("input.cl:150:20: error: x", "k/a.h:1:20: error: x");
    check("input.cl:163:5: error: x\n    p[0] = 1\n           ^\n",
          "k/a.h:14:5: error: x\n    p[0] = 1\n           ^");
    check("<kernel>:151:1: warning: y", "k/a.h:2:1: warning: y");
    check("error: /tmp/dir/x.cl:152:3: z", "error: k/a.h:3:3: z");
    check("input.cl:4:1: note: in the prelude", "backends/opencl/prelude.cl:1:1: note: in the "
                                                "prelude");
    check("input.cl:149:1: note", "backends/opencl/prelude.cl:146:1: note");
    /* A define: no file to name. */
    check("input.cl:3:1: note", "input.cl:3:1: note");
    /* Compilers that follow #line already say it right. */
    check("k/a.h:163:5: error: x", "k/a.h:163:5: error: x");
    check("error: k/a.h:3:20: use of x", "error: k/a.h:3:20: use of x");
    check("backends/opencl/prelude.cl:160:5: note", "backends/opencl/prelude.cl:160:5: note");
    check("/usr/share/pocl/include/_kernel.h:200:1: note", "/usr/share/pocl/include/_kernel.h:200:"
                                                           "1: note");
    check("a:b:c 1:2:3 :4: x", "a:b:c 1:2:3 :4: x");
    check("input.cl:170", "input.cl:170");
    check("bell \a and \x1b[31m\r\n", "bell \\x07 and \\x1B[31m");
}
