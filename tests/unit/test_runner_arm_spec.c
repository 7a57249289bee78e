#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include <string.h>

#include "harness/runner/arm_spec.h"

static void add(struct arm_spec *spec, const char *setting)
{
    struct error err = ERROR_INIT;

    if (arm_spec_add(spec, setting, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static void test_settings(void **state)
{
    struct arm_spec spec = {0}, back = {0};
    json_t *json;

    (void)state;
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

static void test_wrong_settings(void **state)
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

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct arm_spec spec = {0};
        struct error err = ERROR_INIT;

        assert_int_equal(arm_spec_add(&spec, wrong[i], &err), STATUS_INVALID);
        assert_non_null(strstr(err.message, wrong[i]));
        arm_spec_finish(&spec);
    }
}

/* A file for a library that nobody opens would make both arms the same. */
static void test_unknown_library(void **state)
{
    static const char *const wrong[] = {"lib:cublas=/x", "env:ASSAY_LIB_CUBLAS=/x"};

    (void)state;
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

static const char *factor(const json_t *varied, const char *pattern)
{
    const char *text = json_string_value(json_object_get(varied, pattern));

    return text ? text : "";
}

/* A cell as in the plan. */
static json_t *planned(const struct arm_spec *spec, const char *device, const char *precision)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "workload_digest", "5a", "device", device,
                     "precision", precision, "implementation", "portable", "spec",
                     arm_spec_to_json(spec));
}

static json_t *varied_of(json_t *a, json_t *b)
{
    struct error err = ERROR_INIT;
    json_t *varied = NULL;

    assert_int_equal(arm_spec_varied(a, b, &varied, &err), STATUS_OK);
    json_decref(a);
    json_decref(b);
    return varied;
}

static void test_varied(void **state)
{
    struct arm_spec a = {0}, b = {0};
    json_t *varied;

    (void)state;
    add(&a, "env:SAME=1");
    add(&b, "env:SAME=1");
    varied = varied_of(planned(&a, "cpu:0", "fp32"), planned(&b, "cpu:0", "fp32"));
    assert_int_equal(json_object_size(varied), 0);
    json_decref(varied);
    add(&b, "env:OTHER=2");
    add(&b, "root=/");
    varied = varied_of(planned(&a, "cpu:0", "fp32"), planned(&b, "cpu:0", "fp32"));
    assert_string_equal(factor(varied, "variable.OTHER"), "variable OTHER");
    assert_string_equal(factor(varied, "library.*"), "root directory");
    assert_string_equal(factor(varied, "compiler.*"), "root directory");
    assert_string_equal(factor(varied, "pocl.*"), "root directory");
    assert_string_equal(factor(varied, "icd.*"), "root directory");
    assert_string_equal(factor(varied, "variable.SAME"), "");
    json_decref(varied);
    arm_spec_finish(&a);
    arm_spec_finish(&b);
}

/* One arm states what the other gets from the command line or by default: not a difference. */
static void test_varied_is_what_comes_out_differently(void **state)
{
    struct arm_spec a = {0}, b = {0};
    struct error err = ERROR_INIT;
    json_t *varied, *broken = json_pack("{s:{s:[i]}}", "spec", "environment", 1), *empty;

    (void)state;
    add(&b, "device=cpu");
    add(&b, "precision=fp32");
    varied = varied_of(planned(&a, "cpu:0", "fp32"), planned(&b, "cpu:0", "fp32"));
    assert_int_equal(json_object_size(varied), 0);
    json_decref(varied);
    varied = varied_of(planned(&a, "cpu:0", "fp32"), planned(&b, "opencl:0", "fp32"));
    assert_string_equal(factor(varied, "device.*"), "device");
    assert_string_equal(factor(varied, "identity.precision"), "");
    json_decref(varied);
    varied = varied_of(planned(&a, "cpu:0", "fp32"), planned(&b, "cpu:0", "bf16"));
    assert_string_equal(factor(varied, "identity.precision"), "precision");
    json_decref(varied);
    varied = NULL;
    empty = json_object();
    assert_int_equal(arm_spec_varied(empty, broken, &varied, &err), STATUS_CORRUPT);
    assert_null(varied);
    json_decref(empty);
    json_decref(broken);
    arm_spec_finish(&a);
    arm_spec_finish(&b);
}

/* The compiler, what it brings and the variable that chose it are one factor. */
static void test_a_compiler_is_one_factor(void **state)
{
    static const char *const fields[] = {"variable.ASSAY_CC", "compiler.*", "library.*",
                                         "device.compiler*", "kernel.*.options"};
    struct arm_spec a = {0}, b = {0};
    json_t *varied;

    (void)state;
    add(&a, "cc=sh"); /* any program */
    assert_string_equal(a.changes[0], "ASSAY_CC=sh");
    varied = varied_of(planned(&a, "cpu:0", "fp32"), planned(&b, "cpu:0", "fp32"));
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        assert_string_equal(factor(varied, fields[i]), "compiler");
    json_decref(varied);
    arm_spec_finish(&a);
    arm_spec_finish(&b);
}

static char *ineffective(const char *varied_json, const char *field, const char *class,
                         const char *a, const char *b)
{
    struct error err = ERROR_INIT;
    json_t *varied = json_loads(varied_json, 0, NULL);
    json_t *judgement = json_pack("{s:[{s:s, s:s, s:s, s:s?}, {s:s, s:s, s:s, s:n}]}", "fields",
                                  "field", field, "class", class, "a", a, "b", b, "field",
                                  "variable.X", "class", "subject", "a", "1", "b");
    char *sentence;

    assert_non_null(varied);
    assert_int_equal(arm_spec_ineffective(varied, judgement, &sentence, &err), STATUS_OK);
    json_decref(varied);
    json_decref(judgement);
    return sentence;
}

static void test_a_setting_without_effect_is_reported(void **state)
{
    static const char varied[] = "{\"variable.X\": \"variable X\", \"library.*\": \"variable X\"}";
    static const struct {
        const char *field, *class, *a, *b;
        bool effect;
    } cases[] = {{"library.libc", "subject", "1", "1", false},
                 {"library.libc", "subject", "1", "2", true},
                 {"library.libc", "subject", "1", NULL, true},
                 {"device.threads.bind", "controlled", "close", "spread", true},
                 {"load.average", "nuisance", "1", "2", false},
                 {"choice.copy", "controlled", "1", "2", false},
                 {"kernel.copy.lanes", "controlled", "64", "128", false}};
    char *sentence;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sentence = ineffective(varied, cases[i].field, cases[i].class, cases[i].a, cases[i].b);
        assert_true(!sentence == cases[i].effect);
        assert_true(!sentence || strstr(sentence, "warning: X changed nothing that was recorded"));
        free(sentence);
    }
    sentence =
        ineffective("{\"variable.CC\": \"variable CC\"}", "device.name", "subject", "x", "x");
    assert_non_null(strstr(sentence, "cc=COMMAND"));
    free(sentence);
    assert_null(ineffective("{}", "device.name", "subject", "x", "x"));
    assert_null(ineffective("{\"device.*\": \"device\"}", "device.name", "subject", "x", "x"));
}

static void test_environment(void **state)
{
    struct arm_spec spec = {0};
    json_t *fixed = json_pack("{s:{s:s, s:s}, s:{s:s, s:s}}", "variable.OLD", "status", "measured",
                              "value", "1", "host.name", "status", "measured", "value", "h");
    json_t *environment;

    (void)state;
    add(&spec, "env:OLD");
    add(&spec, "env:NEW=2");
    environment = arm_spec_environment(&spec, fixed);
    assert_null(json_object_get(environment, "variable.OLD"));
    assert_non_null(json_object_get(fixed, "variable.OLD"));
    assert_string_equal(factor(json_object_get(environment, "variable.NEW"), "value"), "2");
    assert_non_null(json_object_get(environment, "host.name"));
    json_decref(environment);
    json_decref(fixed);
    arm_spec_finish(&spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_wrong_settings),
        cmocka_unit_test(test_unknown_library),
        cmocka_unit_test(test_varied),
        cmocka_unit_test(test_varied_is_what_comes_out_differently),
        cmocka_unit_test(test_a_compiler_is_one_factor),
        cmocka_unit_test(test_a_setting_without_effect_is_reported),
        cmocka_unit_test(test_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
