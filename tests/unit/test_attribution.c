/* What tells people which worker, driver, library or setting a difference is of. */
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "tests/support/unit.h"

/* A result's fields; the caller changes what is to be told. */
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

static const json_t *factor_of(const json_t *judgement, const char *list, const char *name)
{
    size_t i;
    json_t *factor;

    json_array_foreach(json_object_get(judgement, list), i, factor)
    {
        if (!strcmp(member_text(factor, "factor"), name))
            return factor;
    }
    return NULL;
}

/* The labels of a factor as people read them; "" where there are none. */
static void check_labels(const json_t *judgement, const char *list, const char *name,
                         const char *expected)
{
    struct text words;

    text_init(&words);
    text_append(&words, "");
    if (!factor_of(judgement, list, name))
        fail_msg("%s lacks %s", list, name);
    comparability_append_labels(&words, factor_of(judgement, list, name));
    assert_true(text_ok(&words));
    assert_string_equal(words.length ? words.data : "", expected);
    text_finish(&words);
}

static void set_library(json_t *fields, const char *name, const char *digest, const char *package)
{
    char key[96];

    snprintf(key, sizeof(key), "library.%s", name);
    json_object_set_new(fields, key, json_string(digest));
    snprintf(key, sizeof(key), "library.%s" COMPARABILITY_PACKAGE, name);
    json_object_set_new(fields, key, json_string(package));
}

/* A worker is known by its product, whatever packages come before it in the order of names. */
TEST(a_worker_is_its_product)
{
    json_t *a = fields(), *b = fields(), *judgement;
    json_t *varied = json_pack("{s:s, s:s, s:s}", "worker.*", "worker", "library.*", "worker",
                               "gemm.*", "worker");

    set_library(a, "libnss_mdns4_minimal", "11", "libnss-mdns:amd64 0.15.1-3");
    set_library(b, "libc", "22", "libc6:amd64 2.36-9");
    set_library(b, "libopenvino", "33", "openvino 2026.4.1");
    json_object_set_new(a, "worker.name", json_string("onnxruntime"));
    json_object_set_new(a, "worker.version", json_string("1.32.0"));
    json_object_set_new(b, "worker.name", json_string("openvino"));
    json_object_set_new(b, "worker.version", json_string("2026.4.1"));
    judgement = judge(a, b, varied);
    check_labels(judgement, "factors", "worker", "onnxruntime 1.32.0 -> openvino 2026.4.1");
    check_labels(judgement, "brought", "package libnss-mdns", "0.15.1-3 -> none");
    json_decref(judgement);
    /* One product in two versions keeps its name. */
    json_object_set_new(b, "worker.name", json_string("onnxruntime"));
    json_object_set_new(b, "worker.version", json_string("1.33.0"));
    judgement = judge(a, b, varied);
    check_labels(judgement, "factors", "worker", "onnxruntime 1.32.0 -> onnxruntime 1.33.0");
    json_decref(judgement);
    /* assay's own has no declaration, and its library for products is not what it is known by. */
    json_object_del(a, "worker.name");
    json_object_del(a, "worker.version");
    json_object_set_new(a, "tool.version", json_string("0.2.0"));
    json_object_set_new(a, "gemm.version", json_string("2.7.3"));
    json_object_set_new(b, "tool.version", json_string("0.2.0"));
    judgement = judge(a, b, varied);
    check_labels(judgement, "factors", "worker", "assay 0.2.0 -> onnxruntime 1.33.0");
    json_decref(judgement);
    json_object_set_new(a, "identity.origin",
                        json_string(COMPARABILITY_FOREIGN_ORIGIN "/srv/worker.py"));
    json_object_set_new(varied, "identity.origin", json_string("worker"));
    judgement = judge(a, b, varied);
    check_labels(judgement, "factors", "worker", "/srv/worker.py -> onnxruntime 1.33.0");
    json_decref(judgement);
    json_decref(varied);
    json_decref(a);
    json_decref(b);
}

/* Every other factor, too, is known by fields and packages of its own. */
TEST(what_factors_are_known_by)
{
    static const struct {
        const char *fields[3][3]; /* field, in a, in b; NULL: absent */
        const char *factor, *labels;
    } cases[] = {
        {{{"device.platform_name", "Portable Computing Language", "Intel(R) OpenCL"},
          {"device.driver_version", "3.1", "2026.2"}},
         "driver",
         "Portable Computing Language 3.1 -> Intel(R) OpenCL 2026.2"},
        {{{"device.platform_name", "Portable Computing Language", "Portable Computing Language"},
          {"device.driver_version", "3.1", "6.0"}},
         "driver",
         "3.1 -> 6.0"},
        {{{"library.libpocl", "1", "2"},
          {"library.libpocl.package", "libpocl2:amd64 3.1-2", "libpocl2:amd64 3.1-3"}},
         "driver",
         "libpocl2 3.1-2 -> libpocl2 3.1-3"},
        {{{"gemm.library", "oneDNN", "MKL"}, {"gemm.version", "3.6", "2025.1"}},
         "library",
         "oneDNN 3.6 -> MKL 2025.1"},
        {{{"attention.library", "cuDNN", "oneDNN"}, {"attention.version", "9.1", "3.6"}},
         "library",
         "cuDNN 9.1 -> oneDNN 3.6"},
        {{{"library.libLLVM-14", "1", NULL},
          {"library.libLLVM-14.package", "libllvm14:amd64 14.0.6", NULL},
          {"compiler.cc1", "3", NULL}},
         "compiler",
         "libllvm14 14.0.6 -> none"},
        {{{"library.libamdhip64", "1", "2"},
          {"library.libamdhip64.package", "hip-runtime-amd 6.2", "hip-runtime-amd 6.3"}},
         "runtime",
         "hip-runtime-amd 6.2 -> hip-runtime-amd 6.3"},
        {{{"library.libc", "1", "2"},
          {"library.libc.package", "libc6:amd64 2.36-9", "libc6:amd64 2.41-12"}},
         "libc",
         "libc6 2.36-9 -> libc6 2.41-12"},
        {{{"device.uuid", "GPU-1", "GPU-2"}, {"device.vendor", "V", "V"}},
         "device",
         "GPU-1 -> GPU-2"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *sides[2] = {fields(), fields()}, *judgement;

        for (size_t k = 0; k < 3 && cases[i].fields[k][0]; k++)
            for (int side = 0; side < 2; side++)
                if (cases[i].fields[k][1 + side])
                    json_object_set_new(sides[side], cases[i].fields[k][0],
                                        json_string(cases[i].fields[k][1 + side]));
        judgement = judge(sides[0], sides[1], NULL);
        check_labels(judgement, "factors", cases[i].factor, cases[i].labels);
        json_decref(judgement);
        json_decref(sides[0]);
        json_decref(sides[1]);
    }
}

/* What an experiment set is known by its value, and nothing that followed from it. */
TEST(what_settings_are_known_by)
{
    json_t *a = fields(), *b = fields(), *judgement;
    json_t *varied = json_pack("{s:s, s:s}", "variable.OMP_NUM_THREADS", "variable OMP_NUM_THREADS",
                               "library.*", "variable OMP_NUM_THREADS");

    set_library(b, "libaaa", "1", "libaaa:amd64 1.0-1");
    json_object_set_new(a, "variable.OMP_NUM_THREADS", json_string("1"));
    json_object_set_new(b, "variable.OMP_NUM_THREADS", json_string("2"));
    judgement = judge(a, b, varied);
    check_labels(judgement, "factors", "variable OMP_NUM_THREADS", "1 -> 2");
    json_decref(judgement);
    json_decref(varied);
    varied =
        json_pack("{s:s, s:s}", "worker.root", "root directory", "library.*", "root directory");
    json_object_del(a, "variable.OMP_NUM_THREADS");
    json_object_del(b, "variable.OMP_NUM_THREADS");
    json_object_set_new(a, "worker.root", json_string("/"));
    json_object_set_new(b, "worker.root", json_string("/srv/trixie"));
    judgement = judge(a, b, varied);
    check_labels(judgement, "factors", "root directory", "/ -> /srv/trixie");
    json_decref(judgement);
    json_decref(varied);
    json_decref(a);
    json_decref(b);
}
