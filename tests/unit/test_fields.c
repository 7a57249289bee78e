/* Names of the files of a stack as fields for comparisons. */
#include "results/analysis/fields.h"

#include <stddef.h>
#include <string.h>

#include "tests/support/unit.h"

static json_t *component(const char *path, const char *kind, const char *sha256,
                         const char *build_id)
{
    return json_pack("{s:s, s:s, s:s?, s:s?, s:s}", "path", path, "kind", kind, "sha256", sha256,
                     "build_id", build_id, "version", "7");
}

static void assert_field(const json_t *fields, const char *name, const char *value)
{
    const char *found = json_string_value(json_object_get(fields, name));

    if (!found || strcmp(found, value))
        fail_msg("%s is %s, not %s", name, found ? found : "not there", value);
}

TEST(components)
{
    json_t *record =
        json_pack("{s:[{s:s, s:[o, o, o, o, o, o, o, o, o]}]}", "trials", "status", "ok",
                  "components", component("/usr/lib/x/libpocl.so.2.10.0", "library", "a1", NULL),
                  component("/usr/lib/x/pocl/libpocl-devices-basic.so", "library", "a2", NULL),
                  component("/home/u/.cache/pocl/kcache/AB/triad.so", "library", "a3", NULL),
                  component("/var/pocl/AB/0-0-0/dot.so", "library", "a4", NULL),
                  component("/usr/share/pocl/include/opencl-c.h", "compiler", "a5", NULL),
                  component("/usr/bin/x86_64-linux-gnu-as", "compiler", "a6", "b6"),
                  component("/lib/modules/6.1/dkms/nvidia.ko.xz", "driver", NULL, "b7"),
                  component("/sys/module/xe", "driver", NULL, NULL),
                  component("/etc/OpenCL/vendors/pocl.icd", "icd", "a9", NULL));
    json_t *fields = NULL;

    assert_non_null(record);
    assert_int_equal(fields_from_record(record, &fields, NULL), STATUS_OK);
    assert_field(fields, "library.libpocl", "a1");
    assert_field(fields, "library.libpocl-devices-basic", "a2");
    assert_field(fields, "jit.triad", "a3");
    assert_field(fields, "jit.dot", "a4");
    assert_field(fields, "pocl.opencl-c.h", "a5");
    assert_field(fields, "compiler.x86_64-linux-gnu-as", "a6");
    /* A file that could not be read is identified by the kernel's data. */
    assert_field(fields, "driver.nvidia", "b7");
    assert_field(fields, "driver.xe", "7");
    assert_field(fields, "icd.pocl.icd", "a9");
    json_decref(fields);
    json_decref(record);
}

/* A trial that a foreign worker measured has its path among its readings; NULL: withheld. */
static json_t *trial(const char *status, bool foreign, const char *path)
{
    json_t *readings = foreign ? json_pack("{s:{s:s, s:s?}}", "variable.ASSAY_WORKER", "status",
                                           path ? "ok" : "denied", "value", path)
                               : json_object();

    return json_pack("{s:s, s:{s:o}}", "status", status, "environment", "host", readings);
}

/* Takes the trials; `origin` NULL: unknown. */
static void assert_origin(json_t *a, json_t *b, const char *origin)
{
    json_t *record = json_pack("{s:[o, o]}", "trials", a, b), *fields = NULL;

    assert_int_equal(fields_from_record(record, &fields, NULL), STATUS_OK);
    if (origin)
        assert_field(fields, "identity.origin", origin);
    else
        assert_true(json_is_null(json_object_get(fields, "identity.origin")));
    json_decref(fields);
    json_decref(record);
}

TEST(who_measured)
{
    assert_origin(trial("ok", false, NULL), trial("ok", false, NULL), "measured by assay");
    assert_origin(trial("ok", true, "/w"), trial("ok", true, "/w"),
                  "measured by a foreign worker: /w");
    /* No path reads as assay's own. */
    assert_origin(trial("ok", true, "measured by assay"), trial("crashed", false, NULL),
                  "measured by a foreign worker: measured by assay");
    assert_origin(trial("ok", true, "/w"), trial("ok", true, "/v"), NULL);
    assert_origin(trial("ok", true, "/w"), trial("ok", false, NULL), NULL);
    assert_origin(trial("ok", true, NULL), trial("ok", true, NULL), NULL);
    assert_origin(trial("crashed", true, "/w"), trial("ok", false, NULL), "measured by assay");
    assert_origin(trial("crashed", true, "/w"), trial("crashed", true, "/w"),
                  "measured by a foreign worker: /w");
}

/* Trials that ran with different variables. */
TEST(mixed_stacks)
{
    static const char *const values[] = {"1", "2"};

    for (int i = 0; i < 2; i++) {
        json_t *record =
            json_pack("{s:[{s:s, s:{s:{s:{s:s}}}}, {s:s, s:{s:{s:{s:s}}}}]}", "trials", "status",
                      "ok", "environment", "host", "variable.OMP_X", "value", "1", "status", "ok",
                      "environment", "host", "variable.OMP_X", "value", values[i]);
        json_t *fields = NULL;

        assert_int_equal(fields_from_record(record, &fields, NULL), STATUS_OK);
        assert_int_equal(json_is_string(json_object_get(fields, "identity.mixed_stacks")), i);
        json_decref(fields);
        json_decref(record);
    }
}
