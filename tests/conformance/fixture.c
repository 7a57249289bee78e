#include "tests/conformance/conformance.h"

#include <string.h>

#include "harness/core/embed.h"

extern const struct embed_file conformance_kernels[];
extern const size_t conformance_kernels_count;

struct module *conformance_module(struct conformance *c, const char *file, uint32_t lanes)
{
    struct module_source source = {.lanes = lanes};
    struct module *module = NULL;
    char name[64];
    size_t i;

    for (i = 0; i < conformance_kernels_count; i++)
        if (strcmp(conformance_kernels[i].name, file) == 0)
            source.text = conformance_kernels[i].text;
    assert_non_null(source.text);
    snprintf(name, sizeof(name), "tests/conformance/kernels/%s", file);
    source.file = name;
    expect_ok(c, device_module_load(c->device, &source, &module, &c->err));
    return module;
}

enum status conformance_load_text(struct conformance *c, const char *text, uint32_t lanes,
                                  const struct module_define *defines, size_t define_count,
                                  struct module **ret)
{
    const struct module_source source = {.file = "conformance/inline.h",
                                         .text = text,
                                         .lanes = lanes,
                                         .defines = defines,
                                         .define_count = define_count};

    c->err = (struct error)ERROR_INIT;
    return device_module_load(c->device, &source, ret, &c->err);
}

struct buffer *conformance_buffer(struct conformance *c, const void *bytes, uint64_t size)
{
    struct buffer *buffer = NULL;

    expect_ok(c, device_buffer_alloc(c->device, size, BUFFER_READ_WRITE, &buffer, &c->err));
    if (bytes != NULL)
        expect_ok(c, device_upload(buffer, 0, bytes, size, &c->err));
    return buffer;
}

void conformance_run(struct conformance *c, struct module *module, const char *kernel, uint32_t x,
                     uint32_t y, uint32_t z, const struct kernel_arg *args, size_t arg_count)
{
    const struct kernel_launch launch = {.module = module,
                                         .kernel = kernel,
                                         .groups = {x, y, z},
                                         .args = args,
                                         .arg_count = arg_count};

    expect_ok(c, device_kernel_launch(c->device, &launch, &c->err));
    expect_ok(c, device_synchronize(c->device, &c->err));
}

bool conformance_keeps_denormals(const struct conformance *c)
{
    const struct reading *reading = reading_find(&c->device->info.readings, "device.fp32");

    return reading == NULL || reading->text == NULL || strstr(reading->text, "denormals") != NULL;
}
