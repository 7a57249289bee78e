#include "model_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"
#include "workloads/kernel_text.h"
#include "workloads/ops/internal.h"
#include "workloads/storage.h"

static json_t *choices; /* of the first instance; measuring again for each takes long */

struct device *model_fixture_open(void)
{
    const char *asked = getenv("ASSAY_TEST_BACKEND");
    const char *name = asked ? asked : "opencl";
    struct backend *backend = backend_find(name);
    const struct device_options options = {.profile = true};
    struct device *device = NULL;
    struct error err = ERROR_INIT;

    if (!backend || backend_probe(backend, &err) != STATUS_OK ||
        backend_device_open(backend, 0, &options, &device, &err) != STATUS_OK) {
        printf("SKIPPED: no %s device: %s\n", name, err.message);
        return NULL;
    }
    return device;
}

void model_fixture_close(struct device *device)
{
    json_decref(choices);
    choices = NULL;
    device_close(device);
}

int model_fixture_run(struct device **device)
{
    int failed;

    *device = model_fixture_open();
    failed = unit_run(NULL, NULL);
    model_fixture_close(*device);
    return failed;
}

void model_running_start(struct model_running *running, struct device *device, const char *yaml,
                         enum precision precision)
{
    struct workload_case work = {.workload = &running->workload,
                                 .precision = precision,
                                 .seed = 3,
                                 .implementation = IMPLEMENTATION_PORTABLE,
                                 .choices = choices,
                                 .emulate = true};

    ASSERT_OK(workload_parse("test.yaml", yaml, strlen(yaml), &running->workload, err));
    work.batch = running->workload.batches[0];
    ASSERT_OK(workload_instance_create(&work, device, &running->base, err));
    if (!choices)
        choices = running->workload.kind->choices(running->base);
    running->gpt2 = (struct gpt2_instance *)running->base;
}

void model_running_stop(struct model_running *running)
{
    workload_instance_destroy(running->base);
    workload_finish(&running->workload);
}

void model_fixture_refuse(const char *yaml, const char *words)
{
    struct workload workload;
    struct error failure = ERROR_INIT;

    assert_int_equal(workload_parse("test.yaml", yaml, strlen(yaml), &workload, &failure),
                     STATUS_INVALID);
    if (!strstr(failure.message, words))
        fail_msg("no \"%s\" in: %s", words, failure.message);
}

/* Heap. A kernel may be written once for a single lane and once for many. */
static char *replace_all(const char *text, const char *from, const char *to)
{
    struct text ret;
    const char *place;

    text_init(&ret);
    for (; (place = strstr(text, from)) != NULL; text = place + strlen(from))
        text_append_format(&ret, "%.*s%s", (int)(place - text), text, to);
    text_append(&ret, text);
    assert_true(text_ok(&ret));
    return ret.data;
}

void model_fixture_break_kernel(struct device *device, struct ops *ops, const char *from,
                                const char *to)
{
    static const char *const files[] = {"pack.h",
                                        "fold.h",
                                        "memory_exp.h",
                                        "transformer_norm.h",
                                        "transformer_attention.h",
                                        "transformer_gelu.h",
                                        "transformer_embedding.h",
                                        "transformer_scaling.h",
                                        "transformer_loss.h",
                                        "transformer_adamw.h",
                                        "transformer_int8.h",
                                        "transformer_generation.h"};
    struct module_define defines[STORAGE_DEFINES + STORAGE_PACK_DEFINES];
    struct module_source source = {.file = "broken",
                                   .lanes = ops->lanes[OPS_ROWS],
                                   .defines = defines,
                                   .define_count = STORAGE_DEFINES + STORAGE_PACK_DEFINES};
    char *text = NULL, *broken;

    ASSERT_OK(kernel_text_join(files, sizeof(files) / sizeof(files[0]), &text, err));
    assert_non_null(strstr(text, from));
    broken = replace_all(text, from, to);
    source.text = broken;
    storage_defines(ops->storage, defines);
    storage_pack_defines(ops->storage, ops->width, source.lanes, defines + STORAGE_DEFINES);
    device_module_unload(device, ops->modules[OPS_ROWS]);
    ops->modules[OPS_ROWS] = NULL;
    ASSERT_OK(device_module_load(device, &source, &ops->modules[OPS_ROWS], err));
    free(broken);
    free(text);
}
