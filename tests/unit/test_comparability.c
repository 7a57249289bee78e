#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "tests/support/unit.h"

/* A result's fields with one of each class; the caller changes what is to be judged. */
static json_t *fields(void)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, "
        "s:s, s:s}",
        "identity.checks", "made by assay", "identity.origin", "measured by assay",
        "identity.scenario", "offline", "identity.seed", "1", "identity.implementation", "portable",
        "identity.workload_digest", "w", "identity.protocol_digest", "p",
        "identity.protocol_evidence", 1, "identity.precision", "fp32", "identity.batch", 1,
        "device.name", "d", "device.backend", "opencl", "device.driver_version", "3.1",
        "library.libpocl", "aa", "library.libLLVM-14", "bb", "library.libz", "cc", "host.cpu.model",
        "m", "host.cpu.governor", "performance", "host.name", "x");
}

static json_t *judge(const json_t *a, const json_t *b, const json_t *varied)
{
    struct error err = ERROR_INIT;
    json_t *judgement = NULL;

    if (comparability_judge(a, b, varied, &judgement, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return judgement;
}

/* Judges `fields` against itself with one field set to `value` (taken; NULL: removed) in b. */
static json_t *judge_change(const char *field, json_t *value)
{
    json_t *a = fields(), *b = fields(), *judgement;

    if (value)
        json_object_set_new(b, field, value);
    else
        json_object_del(b, field);
    judgement = judge(a, b, NULL);
    json_decref(a);
    json_decref(b);
    return judgement;
}

static bool lists(const json_t *judgement, const char *key, const char *part)
{
    size_t i;
    json_t *entry;

    json_array_foreach(json_object_get(judgement, key), i,
                       entry) if (strstr(json_string_value(entry), part)) return true;
    return false;
}

TEST(same)
{
    json_t *judgement = judge_change("host.name", json_string("other"));

    assert_string_equal(member_text(judgement, "verdict"), "comparable");
    assert_int_equal(json_array_size(json_object_get(judgement, "factors")), 0);
    assert_true(json_is_null(json_object_get(judgement, "attribution")));
    json_decref(judgement);
}

TEST(identity)
{
    static const char *const names[] = {"identity.workload_digest", "identity.protocol_digest",
                                        "identity.precision", "identity.batch"};

    for (size_t i = 0; i < 4; i++) {
        for (int unknown = 0; unknown < 3; unknown++) {
            json_t *judgement = judge_change(names[i], unknown == 0   ? json_string("other")
                                                       : unknown == 1 ? json_null()
                                                                      : NULL);

            assert_string_equal(member_text(judgement, "verdict"), "not_comparable");
            assert_true(lists(judgement, "reasons", names[i]));
            assert_true(json_is_null(json_object_get(judgement, "attribution")));
            json_decref(judgement);
        }
    }
}

/* A first look compares with one of the same machine, but not as evidence. */
TEST(first_look)
{
    static const struct {
        const char *field, *value, *verdict;
        bool machine; /* the reason is that it is another machine */
    } cases[] = {
        {"library.libz", "dd", "exploratory", false},
        {"host.cpu.governor", "powersave", "exploratory", false},
        {"identity.protocol_digest", "q", "not_comparable", false},
        {"device.uuid", "v", "not_comparable", true},
        {"device.uuid", NULL, "not_comparable", true},
        {"host.name", "y", "not_comparable", true},
        {"host.name", NULL, "not_comparable", true},
    };
    json_t *a = fields(), *judgement;

    json_object_set_new(a, "identity.protocol_evidence", json_false());
    judgement = judge(a, a, NULL);
    assert_string_equal(member_text(judgement, "verdict"), "exploratory");
    assert_false(comparability_is_evidence(judgement));
    json_decref(judgement);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *b = json_deep_copy(a);

        json_object_set_new(a, "device.uuid", json_string("u"));
        json_object_set_new(b, "device.uuid", json_string("u"));
        if (cases[i].value)
            json_object_set_new(b, cases[i].field, json_string(cases[i].value));
        else
            json_object_del(b, cases[i].field);
        judgement = judge(a, b, NULL);
        if (strcmp(member_text(judgement, "verdict"), cases[i].verdict) != 0)
            fail_msg("%s: %s", cases[i].field, member_text(judgement, "verdict"));
        assert_true(json_is_null(json_object_get(judgement, "attribution")));
        assert_int_equal(lists(judgement, "reasons", "first look"), cases[i].machine);
        assert_int_equal(lists(judgement, "except", cases[i].field),
                         !strcmp(cases[i].field, "host.cpu.governor"));
        json_decref(judgement);
        json_decref(b);
    }
    json_decref(a);
}

/* What a foreign worker measured compares with the same worker's alone, and is marked. */
TEST(foreign_worker)
{
    json_t *a = fields(), *b = fields(), *judgement = judge(a, b, NULL);

    assert_null(comparability_foreign_worker(judgement));
    assert_string_equal(member_text(judgement, "verdict"), "comparable");
    json_decref(judgement);
    json_object_set_new(b, "identity.origin", json_string(COMPARABILITY_FOREIGN_ORIGIN "/x"));
    for (int i = 0; i < 2; i++) {
        judgement = i ? judge(a, b, NULL) : judge(b, a, NULL);
        assert_string_equal(comparability_foreign_worker(judgement), "/x");
        assert_string_equal(member_text(judgement, "verdict"), "not_comparable");
        assert_true(lists(judgement, "reasons", "identity.origin differs"));
        json_decref(judgement);
    }
    judgement = judge(b, b, NULL);
    assert_string_equal(comparability_foreign_worker(judgement), "/x");
    assert_string_equal(member_text(judgement, "verdict"), "comparable_except");
    assert_true(lists(judgement, "except", "identity.origin"));
    json_decref(judgement);
    json_object_set_new(a, "identity.origin", json_string(COMPARABILITY_FOREIGN_ORIGIN "/y"));
    judgement = judge(a, b, NULL);
    assert_string_equal(member_text(judgement, "verdict"), "not_comparable");
    json_decref(judgement);
    json_decref(a);
    json_decref(b);
}

TEST(unknown_never_equals_unknown)
{
    json_t *a = fields(), *judgement;

    json_object_set_new(a, "host.cpu.governor", json_null());
    judgement = judge(a, a, NULL);
    assert_string_equal(member_text(judgement, "verdict"), "comparable_except");
    assert_true(lists(judgement, "except", "host.cpu.governor"));
    json_decref(judgement);
    json_object_set_new(a, "device.driver_version", json_null());
    judgement = judge(a, a, NULL);
    assert_string_equal(member_text(judgement, "verdict"), "not_comparable");
    assert_true(lists(judgement, "reasons", "device.driver_version"));
    json_decref(judgement);
    json_object_del(a, "device.driver_version");
    judgement = judge(a, a, NULL);
    assert_string_equal(member_text(judgement, "verdict"), "not_comparable");
    json_decref(judgement);
    json_decref(a);
}

TEST(controlled)
{
    json_t *judgement = judge_change("host.cpu.governor", json_string("powersave"));

    assert_string_equal(member_text(judgement, "verdict"), "comparable_except");
    assert_true(lists(judgement, "except", "host.cpu.governor"));
    json_decref(judgement);
}

TEST(one_subject_is_named)
{
    json_t *a = fields(), *b = fields(), *judgement;

    /* Two fields of one factor are one subject. */
    json_object_set_new(b, "device.driver_version", json_string("6.0"));
    json_object_set_new(b, "library.libpocl", json_string("zz"));
    judgement = judge(a, b, NULL);
    assert_string_equal(member_text(judgement, "verdict"), "comparable");
    assert_string_equal(member_text(judgement, "attribution"), "driver");
    json_decref(judgement);
    /* With a second factor the difference is attributed to neither. */
    json_object_set_new(b, "library.libLLVM-14", NULL);
    json_object_del(b, "library.libLLVM-14");
    json_object_set_new(b, "library.libLLVM-19", json_string("yy"));
    judgement = judge(a, b, NULL);
    assert_true(json_is_null(json_object_get(judgement, "attribution")));
    assert_int_equal(json_array_size(json_object_get(judgement, "factors")), 2);
    json_decref(judgement);
    json_decref(a);
    json_decref(b);
}

TEST(library_without_a_rule_is_its_own_factor)
{
    json_t *judgement = judge_change("library.libz", json_string("other"));

    assert_string_equal(member_text(judgement, "attribution"), "library.libz");
    json_decref(judgement);
}

/* Files of a package are one factor: the driver's, where one of them is the driver. */
TEST(packages)
{
    static const char *const files[] = {"library.libcpu_device", "library.libcommon_clang",
                                        "library.libintelocl"};
    json_t *a = fields(), *b, *judgement;

    for (size_t i = 0; i < 3; i++) {
        char key[64];

        json_object_set_new(a, files[i], json_string("old"));
        snprintf(key, sizeof(key), "%s" COMPARABILITY_PACKAGE, files[i]);
        json_object_set_new(a, key, json_string("intel-opencl-rt:amd64 2022.2"));
    }
    b = json_deep_copy(a);
    for (size_t i = 0; i < 3; i++) {
        char key[64];

        json_object_set_new(b, files[i], json_string("new"));
        snprintf(key, sizeof(key), "%s" COMPARABILITY_PACKAGE, files[i]);
        json_object_set_new(b, key, json_string(COMPARABILITY_FOLDER "/opt/driver"));
    }
    /* One that only the folder has: it belongs to what took the package's place. */
    json_object_set_new(b, "library.libnew", json_string("new"));
    json_object_set_new(b, "library.libnew" COMPARABILITY_PACKAGE,
                        json_string(COMPARABILITY_FOLDER "/opt/driver"));
    judgement = judge(a, b, NULL);
    assert_string_equal(member_text(judgement, "attribution"), "driver");
    json_decref(judgement);
    /* Without the driver's own library the package itself is the factor, with its versions. */
    json_object_set(b, files[2], json_object_get(a, files[2]));
    json_object_del(a, "library.libintelocl" COMPARABILITY_PACKAGE);
    json_object_del(b, "library.libintelocl" COMPARABILITY_PACKAGE);
    judgement = judge(a, b, NULL);
    assert_string_equal(member_text(judgement, "attribution"), "package intel-opencl-rt");
    assert_string_equal(member_text(json_array_get(json_object_get(judgement, "factors"), 0), "a"),
                        "2022.2");
    json_decref(judgement);
    json_decref(a);
    json_decref(b);
}

/* A processor is the same device whatever two drivers call it, if the machine is the same. */
TEST(one_processor)
{
    json_t *a = fields(), *b, *judgement;

    json_object_set_new(a, "device.type", json_string("cpu"));
    b = json_deep_copy(a);
    json_object_set_new(b, "device.name", json_string("cpu-haswell-x"));
    json_object_set_new(b, "device.driver_version", json_string("6.0"));
    judgement = judge(a, b, NULL);
    assert_string_equal(member_text(judgement, "attribution"), "driver");
    json_decref(judgement);
    json_object_set_new(b, "host.name", json_string("another"));
    judgement = judge(a, b, NULL);
    assert_true(json_is_null(json_object_get(judgement, "attribution")));
    json_decref(judgement);
    json_decref(a);
    json_decref(b);
}

/* What follows from the one thing that an experiment set is no factor of its own. */
TEST(consequences)
{
    json_t *a = fields(), *b = fields(), *judgement, *brought;
    json_t *varied = json_pack("{s:s}", "variable.X", "variable X");

    json_object_set_new(b, "variable.X", json_string("1"));
    json_object_set_new(b, "library.libz", json_string("zz"));
    json_object_set_new(b, "device.driver_version", json_string("6.0"));
    judgement = judge(a, b, varied);
    brought = json_object_get(judgement, "brought");
    assert_string_equal(member_text(judgement, "attribution"), "variable X");
    assert_int_equal(json_array_size(brought), 2);
    assert_string_equal(member_text(json_array_get(brought, 0), "b"), "6.0");
    json_decref(judgement);
    /* With two settings a consequence could be of either. */
    json_object_set_new(varied, "identity.precision", json_string("precision"));
    judgement = judge(a, b, varied);
    assert_true(json_is_null(json_object_get(judgement, "attribution")));
    assert_int_equal(json_array_size(json_object_get(judgement, "factors")), 3);
    json_decref(judgement);
    json_decref(varied);
    json_decref(a);
    json_decref(b);
}

/* A judgement of two results whose kernels have other bytes, and of which `field` differs, too. */
static json_t *judge_kernels(const char *backend, const char *field)
{
    json_t *a = fields(), *b = fields(), *judgement;

    json_object_set_new(a, "device.backend", json_string(backend));
    json_object_set_new(b, "device.backend", json_string(backend));
    json_object_set_new(a, "kernel.x.h.binary", json_string("aa"));
    json_object_set_new(b, "kernel.x.h.binary", json_string("bb"));
    if (field) {
        json_object_set_new(a, field, json_string("1"));
        json_object_set_new(b, field, json_string("2"));
    }
    judgement = judge(a, b, NULL);
    json_decref(a);
    json_decref(b);
    return judgement;
}

/* Other bytes are never nothing: a factor by themselves, unless what makes them differs. */
TEST(bytes_of_kernels)
{
    static const struct {
        const char *backend, *field, *attribution;
        size_t factors;
    } cases[] = {
        {"cpu", NULL, "kernel binary", 1},
        {"opencl", NULL, "kernel binary", 1},
        {"cpu", "compiler.cc1", "compiler", 1},
        {"cpu", "library.libz", NULL, 2},
        {"opencl", "library.libz", "library.libz", 1},
        {"opencl", "device.driver_version", "driver", 1},
        {"cpu", "kernel.x.h.options", NULL, 0},
        {"cpu", "variable.X", NULL, 0},
        {"cpu", "choice.groups", "kernel binary", 1},
        {"cpu", "host.cpu.governor", "kernel binary", 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *judgement = judge_kernels(cases[i].backend, cases[i].field);

        assert_int_equal(json_array_size(json_object_get(judgement, "factors")), cases[i].factors);
        if (cases[i].attribution)
            assert_string_equal(member_text(judgement, "attribution"), cases[i].attribution);
        json_decref(judgement);
    }
}

/* Bytes that one alone knows say nothing. */
TEST(bytes_of_one_kernel)
{
    json_t *judgement = judge_change("kernel.x.h.binary", json_string("aa"));

    assert_string_equal(member_text(judgement, "verdict"), "comparable");
    assert_int_equal(json_array_size(json_object_get(judgement, "factors")), 0);
    json_decref(judgement);
}

/* A driver that an arm names is known by both versions, whatever else it brings. */
TEST(a_chosen_driver_has_its_versions)
{
    json_t *a = fields(), *b = fields(), *judgement, *factor;
    json_t *varied = json_pack("{s:s, s:s, s:s}", "variable.OCL_ICD_VENDORS", "driver", "library.*",
                               "driver", "device.*", "driver");

    json_object_set_new(b, "variable.OCL_ICD_VENDORS", json_string("/one"));
    json_object_set_new(b, "library.libz", json_string("zz"));
    json_object_set_new(b, "device.driver_version", json_string("6.0"));
    judgement = judge(a, b, varied);
    assert_string_equal(member_text(judgement, "attribution"), "driver");
    factor = json_array_get(json_object_get(judgement, "factors"), 0);
    assert_string_equal(member_text(factor, "factor"), "driver");
    assert_string_equal(member_text(factor, "a"), member_text(a, "device.driver_version"));
    assert_string_equal(member_text(factor, "b"), "6.0");
    json_decref(judgement);
    json_decref(varied);
    json_decref(a);
    json_decref(b);
}

TEST(varied)
{
    json_t *a = fields(), *b = fields(), *judgement;
    json_t *varied = json_pack("{s:s, s:s, s:s}", "identity.precision", "precision", "library.*",
                               "precision", "host.cpu.governor", "precision");

    json_object_set_new(b, "identity.precision", json_string("bf16"));
    json_object_set_new(b, "library.libz", json_string("zz"));
    json_object_set_new(b, "host.cpu.governor", json_string("powersave"));
    judgement = judge(a, b, varied);
    assert_string_equal(member_text(judgement, "verdict"), "comparable");
    assert_string_equal(member_text(judgement, "attribution"), "precision");
    json_decref(judgement);
    json_decref(varied);
    json_decref(a);
    json_decref(b);
}

TEST(rules)
{
    struct error err = ERROR_INIT;
    size_t count;
    const struct field_rule *rules = field_rules(&count, &err);

    if (!rules)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < count; i++) {
        const char *star = strchr(rules[i].field, '*');

        assert_true(strlen(rules[i].why) > 5);
        assert_true(!star || !strchr(star + 1, '*'));
        assert_true(rules[i].field_class == FIELD_SUBJECT ||
                    (!rules[i].factor && !rules[i].required));
        /* No row is hidden by an earlier one: an exact name finds itself. */
        if (!star)
            assert_ptr_equal(field_rule_find(rules[i].field), &rules[i]);
    }
    assert_int_equal(field_rule_find("kernel.memory.h.source")->field_class, FIELD_IDENTITY);
    assert_null(field_rule_find("no.such.field"));
    assert_string_equal(field_class_name(FIELD_NUISANCE), "nuisance");
}

/* Of either result, and of both. */
TEST(refused_by_name)
{
    static const char *const names[] = {"identity.above_ceiling", "identity.mixed_stacks"};

    for (int of = 1; of < 2 * 4; of++) {
        const char *name = names[of / 4];
        json_t *a = fields(), *b = fields(), *judgement;

        if (of & 1)
            json_object_set_new(a, name, json_string("why"));
        if (of & 2)
            json_object_set_new(b, name, json_string("why"));
        judgement = judge(a, b, NULL);
        assert_string_equal(member_text(judgement, "verdict"),
                            of % 4 ? "not_comparable" : "comparable");
        assert_int_equal(json_array_size(json_object_get(judgement, "reasons")),
                         (of & 1) + (of >> 1 & 1));
        json_decref(judgement);
        json_decref(a);
        json_decref(b);
    }
}
