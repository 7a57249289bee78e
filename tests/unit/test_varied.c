#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>

#include <string.h>

#include "harness/core/member.h"
#include "results/analysis/varied.h"
#include "tests/support/unit.h"

/* A cell as in the plan; `spec`: JSON of what its arm was given. */
static json_t *planned(const char *spec, const char *device, const char *precision)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "workload_digest", "5a", "device", device,
                     "precision", precision, "implementation", "portable", "spec",
                     json_loads(spec, 0, NULL));
}

static json_t *varied_of(json_t *a, json_t *b)
{
    struct error err = ERROR_INIT;
    json_t *varied = NULL;

    assert_int_equal(varied_of_arms(a, b, &varied, &err), STATUS_OK);
    json_decref(a);
    json_decref(b);
    return varied;
}

TEST(what_one_arm_sets)
{
    static const char same[] = "{\"environment\": [\"SAME=1\"]}";
    json_t *varied = varied_of(planned(same, "cpu:0", "fp32"), planned(same, "cpu:0", "fp32"));

    assert_int_equal(json_object_size(varied), 0);
    json_decref(varied);
    varied = varied_of(
        planned(same, "cpu:0", "fp32"),
        planned("{\"environment\": [\"SAME=1\", \"OTHER=2\"], \"root\": \"/\"}", "cpu:0", "fp32"));
    assert_string_equal(member_text(varied, "variable.OTHER"), "variable OTHER");
    assert_string_equal(member_text(varied, "library.*"), "root directory");
    assert_string_equal(member_text(varied, "compiler.*"), "root directory");
    assert_string_equal(member_text(varied, "pocl.*"), "root directory");
    assert_string_equal(member_text(varied, "icd.*"), "root directory");
    assert_string_equal(member_text(varied, "variable.SAME"), "");
    json_decref(varied);
}

/* One arm states what the other gets from the command line or by default: not a difference. */
TEST(only_what_comes_out_differently)
{
    static const char none[] = "{\"environment\": []}",
                      stated[] = "{\"device\": \"cpu\", \"precision\": \"fp32\"}";
    json_t *varied = varied_of(planned(none, "cpu:0", "fp32"), planned(stated, "cpu:0", "fp32"));

    assert_int_equal(json_object_size(varied), 0);
    json_decref(varied);
    varied = varied_of(planned(none, "cpu:0", "fp32"), planned(stated, "opencl:0", "fp32"));
    assert_string_equal(member_text(varied, "device.*"), "device");
    assert_string_equal(member_text(varied, "identity.precision"), "");
    json_decref(varied);
    varied = varied_of(planned(none, "cpu:0", "fp32"), planned(stated, "cpu:0", "bf16"));
    assert_string_equal(member_text(varied, "identity.precision"), "precision");
    json_decref(varied);
}

/* The compiler, what it brings and the variable that chose it are one factor. */
TEST(a_compiler_is_one_factor)
{
    static const char *const fields[] = {"variable.ASSAY_CC", "compiler.*", "library.*",
                                         "device.compiler*", "kernel.*.options"};
    json_t *varied = varied_of(planned("{\"environment\": [\"ASSAY_CC=sh\"]}", "cpu:0", "fp32"),
                               planned("{}", "cpu:0", "fp32"));

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        assert_string_equal(member_text(varied, fields[i]), "compiler");
    json_decref(varied);
}

/* The two variables of a driver and all that it brings are the driver; others stay their own. */
TEST(a_driver_is_one_factor)
{
    static const char one[] = "{\"driver\": \"/one\", \"environment\": [\"OCL_ICD_VENDORS=/one\", "
                              "\"LD_LIBRARY_PATH=/one\"]}",
                      other[] = "{\"driver\": \"other\", \"environment\": "
                                "[\"OCL_ICD_VENDORS=/etc/other.icd\", \"SPEED=1\"]}",
                      by_hand[] = "{\"environment\": [\"OCL_ICD_VENDORS=/one\"]}";
    json_t *varied = varied_of(planned(one, "opencl:0", "fp32"), planned("{}", "opencl:0", "fp32"));
    const char *pattern;
    json_t *value;

    assert_string_equal(member_text(varied, "variable.LD_LIBRARY_PATH"), "driver");
    assert_string_equal(member_text(varied, "library.*"), "driver");
    json_object_foreach(varied, pattern, value)
        assert_string_equal(json_string_value(value), "driver");
    json_decref(varied);
    varied = varied_of(planned(one, "opencl:0", "fp32"), planned(other, "opencl:0", "fp32"));
    assert_string_equal(member_text(varied, "variable.OCL_ICD_VENDORS"), "driver");
    assert_string_equal(member_text(varied, "variable.SPEED"), "variable SPEED");
    assert_string_equal(member_text(varied, "device.*"), "driver");
    json_decref(varied);
    varied = varied_of(planned("{}", "opencl:0", "fp32"), planned(by_hand, "opencl:0", "fp32"));
    assert_string_equal(member_text(varied, "library.*"), "variable OCL_ICD_VENDORS");
    json_decref(varied);
}

/* A plan that somebody else wrote may say anything. */
TEST(no_environment)
{
    json_t *empty = json_object(), *varied = NULL, *list = json_array(), *cell;
    struct error err = ERROR_INIT;

    cell = json_pack("{s:{s:[i]}}", "spec", "environment", 1);
    assert_int_equal(varied_of_arms(empty, cell, &varied, &err), STATUS_CORRUPT);
    json_decref(cell);
    for (int i = 0; i < VARIED_VARIABLES_MAX; i++)
        json_array_append_new(list, json_sprintf("V%d=1", i));
    cell = json_pack("{s:{s:O}}", "spec", "environment", list);
    assert_int_equal(varied_of_arms(cell, empty, &varied, &err), STATUS_OK);
    assert_string_equal(member_text(varied, "library.*"), member_text(varied, "variable.V0"));
    assert_non_null(strstr(member_text(varied, "variable.V0"), "variables V0, V1, "));
    assert_string_equal(member_text(varied, "variable.V31"), member_text(varied, "variable.V0"));
    json_decref(varied);
    varied = NULL;
    json_array_append_new(list, json_string("ONE=more"));
    assert_int_equal(varied_of_arms(cell, empty, &varied, &err), STATUS_CORRUPT);
    assert_null(varied);
    json_decref(cell);
    json_decref(list);
    json_decref(empty);
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
    assert_int_equal(varied_without_effect(varied, judgement, &sentence, &err), STATUS_OK);
    json_decref(varied);
    json_decref(judgement);
    return sentence;
}

TEST(a_setting_without_effect_is_reported)
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
