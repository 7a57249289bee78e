#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>

#include <string.h>

#include "harness/runner/arm_spec.h"
#include "tests/support/unit.h"

static void add(struct arm_spec *spec, const char *setting)
{
    struct error err = ERROR_INIT;

    if (arm_spec_add(spec, setting, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

TEST(settings)
{
    struct arm_spec spec = {0}, back = {0};
    json_t *json;

    add(&spec, "device=opencl:1");
    add(&spec, "precision=bf16");
    add(&spec, "lib:opencl=/x/libOpenCL.so.1");
    add(&spec, "env:POCL_X=a,b=c");
    add(&spec, "env:GONE");
    add(&spec, "root=/");
    add(&spec, "workload=mine.yaml");
    add(&spec, "implementation=vendor");
    add(&spec, "emulate");
    assert_string_equal(spec.device, "opencl:1");
    assert_int_equal(spec.precision, PRECISION_BF16);
    assert_string_equal(spec.changes[0], "ASSAY_LIB_OPENCL=/x/libOpenCL.so.1");
    assert_string_equal(spec.changes[1], "POCL_X=a,b=c");
    assert_string_equal(spec.changes[2], "GONE");
    assert_null(spec.changes[3]);
    json = arm_spec_to_json(&spec);
    assert_int_equal(arm_spec_from_json(json, &back, NULL), STATUS_OK);
    assert_int_equal(back.change_count, 3);
    assert_string_equal(back.changes[1], spec.changes[1]);
    assert_string_equal(back.root, "/");
    assert_string_equal(back.workload, "mine.yaml");
    assert_string_equal(back.device, "opencl:1");
    assert_true(back.has_precision && back.precision == PRECISION_BF16);
    assert_true(back.has_implementation && back.implementation == IMPLEMENTATION_VENDOR &&
                back.emulate);
    json_decref(json);
    arm_spec_finish(&spec);
    arm_spec_finish(&back);
    arm_spec_finish(NULL);
}

TEST(wrong_settings)
{
    static const char *const wrong[] = {"",
                                        "x",
                                        "device=",
                                        "lib:opencl",
                                        "lib:=x",
                                        "lib:opencl=",
                                        "cc=",
                                        "cc=/no/such/compiler",
                                        "env:",
                                        "env:=x",
                                        "precision=fp31",
                                        "implementation=x",
                                        "emulate=1",
                                        "root=/no/such/folder",
                                        "colour=red"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct arm_spec spec = {0};
        struct error err = ERROR_INIT;

        assert_int_equal(arm_spec_add(&spec, wrong[i], &err), STATUS_INVALID);
        assert_non_null(strstr(err.message, wrong[i]));
        arm_spec_finish(&spec);
    }
}

/* A file for a library that nobody opens would make both arms the same. */
TEST(unknown_library)
{
    static const char *const wrong[] = {"lib:cublas=/x", "env:ASSAY_LIB_CUBLAS=/x"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct arm_spec spec = {0};
        struct error err = ERROR_INIT;

        assert_int_equal(arm_spec_add(&spec, wrong[i], &err), STATUS_INVALID);
        assert_non_null(strstr(err.message, "no backend opens a library \"cublas\""));
        assert_non_null(strstr(err.message, "did you mean \"cublaslt\"?"));
        assert_int_equal(spec.change_count, 0);
        arm_spec_finish(&spec);
    }
}

TEST(environment)
{
    struct arm_spec spec = {0};
    json_t *fixed = json_pack("{s:{s:s, s:s}, s:{s:s, s:s}}", "variable.OLD", "status", "measured",
                              "value", "1", "host.name", "status", "measured", "value", "h");
    json_t *environment;

    add(&spec, "env:OLD");
    add(&spec, "env:NEW=2");
    environment = arm_spec_environment(&spec, fixed);
    assert_null(json_object_get(environment, "variable.OLD"));
    assert_non_null(json_object_get(fixed, "variable.OLD"));
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(environment, "variable.NEW"), "value")),
        "2");
    assert_non_null(json_object_get(environment, "host.name"));
    json_decref(environment);
    json_decref(fixed);
    arm_spec_finish(&spec);
}
