#include "tests/support/kernels/kernel_variants.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/embed.h"
#include "harness/core/text.h"
#include "tests/support/kernels/silent_device.h"
#include "workloads/ops/attention.h"
#include "workloads/reference_loop.h"

extern const struct embed_file kernel_texts[];
extern const size_t kernel_texts_count;

/* A device that accepts everything and records what it is given to compile. */
struct listener {
    struct device base;
    struct kernel_variants *variants; /* NULL: records no texts */
    struct kernel_launches *launched; /* NULL: records no launches */
    uint32_t lanes;
};

struct heard_module {
    struct module base;
    struct digest source;
};

static struct listener *listener(struct device *device)
{
    return (struct listener *)device;
}

static struct digest identity(const struct module_source *source)
{
    struct digest_state state;

    digest_init(&state);
    digest_update(&state, source->text, strlen(source->text) + 1);
    digest_update(&state, &source->lanes, sizeof(source->lanes));
    for (size_t i = 0; i < source->define_count; i++) {
        digest_update(&state, source->defines[i].name, strlen(source->defines[i].name) + 1);
        digest_update(&state, source->defines[i].value, strlen(source->defines[i].value) + 1);
    }
    return digest_final(&state);
}

static void free_source(struct module_source *source)
{
    for (size_t i = 0; i < source->define_count; i++) {
        free((char *)source->defines[i].name);
        free((char *)source->defines[i].value);
    }
    free((struct module_define *)source->defines);
    free((char *)source->file);
    free((char *)source->text);
}

static bool copy_source(const struct module_source *from, struct module_source *ret)
{
    struct module_define *defines = calloc(from->define_count + 1, sizeof(*defines));
    bool good = defines != NULL;

    *ret = (struct module_source){.file = strdup(from->file),
                                  .text = strdup(from->text),
                                  .lanes = from->lanes,
                                  .defines = defines};
    for (size_t i = 0; good && i < from->define_count; i++) {
        defines[i] =
            (struct module_define){strdup(from->defines[i].name), strdup(from->defines[i].value)};
        ret->define_count++;
        good = defines[i].name != NULL && defines[i].value != NULL;
    }
    good = good && ret->file != NULL && ret->text != NULL;
    if (!good)
        free_source(ret);
    return good;
}

static enum status write_down(struct kernel_variants *variants, const struct module_source *source,
                              struct error *err)
{
    struct kernel_variant *grown, mine = {.digest = identity(source)};

    for (size_t i = 0; i < variants->count; i++)
        if (digest_equal(&variants->items[i].digest, &mine.digest))
            return STATUS_OK;
    grown = realloc(variants->items, (variants->count + 1) * sizeof(*grown));
    if (grown == NULL)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    variants->items = grown;
    if (!copy_source(source, &mine.source))
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    variants->items[variants->count++] = mine;
    return STATUS_OK;
}

static enum status module_load(struct device *device, const struct module_source *source,
                               struct module **ret, struct error *err)
{
    struct heard_module *module = calloc(1, sizeof(*module));
    enum status status = STATUS_OK;

    if (module == NULL)
        return error_no_memory(err);
    module->source = identity(source);
    if (listener(device)->variants != NULL)
        status = write_down(listener(device)->variants, source, err);
    if (status != STATUS_OK) {
        free(module);
        return status;
    }
    *ret = &module->base;
    return STATUS_OK;
}

static void module_unload(struct device *device, struct module *module)
{
    (void)device;
    free(module);
}

static enum status module_describe(struct device *device, const struct module *module,
                                   struct module_artifact *ret, struct error *err)
{
    (void)device;
    (void)module;
    (void)ret;
    return error_set(err, STATUS_UNSUPPORTED, "nothing is compiled here");
}

static enum status kernel_launch(struct device *device, const struct kernel_launch *launch,
                                 struct error *err)
{
    struct kernel_launches *launched = listener(device)->launched;
    const struct digest source = ((struct heard_module *)launch->module)->source;
    struct digest_state state;
    struct digest mine, *grown;

    if (launched == NULL)
        return STATUS_OK;
    digest_init(&state);
    digest_update(&state, &source, sizeof(source));
    digest_update(&state, launch->kernel, strlen(launch->kernel));
    mine = digest_final(&state);
    for (size_t i = 0; i < launched->count; i++)
        if (digest_equal(&launched->items[i], &mine))
            return STATUS_OK;
    grown = realloc(launched->items, (launched->count + 1) * sizeof(*grown));
    if (grown == NULL)
        return error_no_memory(err);
    launched->items = grown;
    launched->items[launched->count++] = mine;
    return STATUS_OK;
}

static void gemm_destroy(struct operation *gemm)
{
    free(gemm);
}

static enum status gemm_run(struct operation *gemm, const union operands *operands,
                            struct error *err)
{
    (void)gemm;
    (void)operands;
    (void)err;
    return STATUS_OK;
}

static enum status gemm_describe(const struct operation *gemm, struct operation_info *ret,
                                 struct error *err)
{
    (void)gemm;
    (void)err;
    *ret = (struct operation_info){.library = "none", .support = SUPPORT_NATIVE};
    return STATUS_OK;
}

static enum status gemm_create(struct device *device, const struct operation_desc *desc,
                               struct operation **ret, struct error *err)
{
    static const struct operation_ops ops = {.size = sizeof(struct operation),
                                             .destroy = gemm_destroy,
                                             .run = gemm_run,
                                             .describe = gemm_describe};

    return operation_make(&ops, device, desc, ret, err);
}

static const struct operation_implementation operations[] = {
    {OPERATION_GEMM, NULL, gemm_create},
    {0},
};

static size_t lane_candidates(struct device *device, uint32_t *ret, size_t capacity)
{
    if (capacity > 0)
        ret[0] = listener(device)->lanes;
    return capacity > 0;
}

static const struct device_ops listener_ops = {
    SILENT_DEVICE_OPS,
    .module_load = module_load,
    .module_unload = module_unload,
    .module_describe = module_describe,
    .kernel_launch = kernel_launch,
    .operations = operations,
    .lane_candidates = lane_candidates,
};

static struct listener make_listener(uint32_t lanes, struct kernel_variants *variants)
{
    static char name[] = "listener", vendor[] = "none";

    return (struct listener){
        .base = {.ops = &listener_ops,
                 .info = {.name = name,
                          .vendor = vendor,
                          .type = lanes == 1 ? DEVICE_CPU : DEVICE_GPU,
                          .simulated = true,
                          .compute_units = 2,
                          .max_lanes = 1024,
                          .last_level_cache_bytes = 1 << 20}},
        .variants = variants,
        .lanes = lanes,
    };
}

static enum status check_all_texts(const struct kernel_variants *variants, struct error *err)
{
    for (size_t t = 0; t < kernel_texts_count; t++) {
        char *line = text_format("\"workloads/kernels/%s\"", kernel_texts[t].name);
        bool found = false;

        if (line == NULL)
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
        for (size_t i = 0; i < variants->count && !found; i++)
            found = strstr(variants->items[i].source.text, line) != NULL;
        free(line);
        if (!found)
            return error_set(err, STATUS_NOT_FOUND,
                             "no workload of the catalog compiles workloads/kernels/%s",
                             kernel_texts[t].name);
    }
    return STATUS_OK;
}

static enum status listen(const struct small_case *item, struct kernel_variants *variants,
                          uint32_t lanes, json_t **ret_choices, struct error *err)
{
    struct workload_case work = small_case_work(item);
    const struct workload_kind *kind = item->workload->kind;
    struct listener device = make_listener(lanes, variants);
    struct workload_instance *instance = NULL;
    enum status status = workload_instance_create(&work, &device.base, &instance, err);

    if (status != STATUS_OK)
        return status;
    if (ret_choices != NULL)
        *ret_choices = kind->choices != NULL ? kind->choices(instance) : NULL;
    workload_instance_destroy(instance);
    return STATUS_OK;
}

/* The loop that runs between samples belongs to no workload; it runs on processors alone. */
static enum status listen_to_reference_loop(struct kernel_variants *variants, struct error *err)
{
    struct listener device = make_listener(1, variants);
    const struct workload_cost costs[] = {{.flops = 0}, {.flops = 1}};
    enum status status = STATUS_OK;

    for (size_t i = 0; i < 2 && status == STATUS_OK; i++) {
        struct reference_loop *loop = NULL;

        status = reference_loop_create(&device.base, &costs[i], &loop, err);
        reference_loop_destroy(loop);
    }
    return status;
}

/* Attention over a cache of keys, which no workload of the catalog has. */
static enum status listen_to_attention(struct kernel_variants *variants, uint32_t lanes,
                                       struct error *err)
{
    static const enum dtype storages[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    struct listener device = make_listener(lanes, variants);
    enum status status = STATUS_OK;

    for (size_t i = 0; i < 3 && status == STATUS_OK; i++) {
        struct attention_text *text = NULL;

        status = attention_text_create(&device.base, storages[i], 64, lanes, &text, err);
        attention_text_destroy(text);
    }
    return status;
}

enum status kernel_variants_collect(const uint32_t *lanes, size_t lanes_count,
                                    struct kernel_variants *ret, struct error *err)
{
    struct kernel_variants variants = {0};
    struct small_cases cases = {0};
    enum status status = small_cases_init(&cases, err);

    for (size_t l = 0; l < lanes_count; l++)
        for (size_t i = 0; i < cases.count && status == STATUS_OK; i++) {
            status = listen(&cases.items[i], &variants, lanes[l], NULL, err);
            if (status == STATUS_UNSUPPORTED) {
                variants.refused++;
                status = STATUS_OK;
            }
        }
    small_cases_finish(&cases);
    for (size_t l = 0; l < lanes_count && status == STATUS_OK; l++)
        status = listen_to_attention(&variants, lanes[l], err);
    if (status == STATUS_OK)
        status = listen_to_reference_loop(&variants, err);
    if (status == STATUS_OK)
        status = check_all_texts(&variants, err);
    if (status != STATUS_OK) {
        kernel_variants_finish(&variants);
        return status;
    }
    *ret = variants;
    return STATUS_OK;
}

void kernel_variants_finish(struct kernel_variants *variants)
{
    for (size_t i = 0; i < variants->count; i++)
        free_source(&variants->items[i].source);
    free(variants->items);
    memset(variants, 0, sizeof(*variants));
}

enum status kernel_variants_choices(const struct small_case *item, uint32_t lanes, json_t **ret,
                                    struct error *err)
{
    return listen(item, NULL, lanes, ret, err);
}

enum status kernel_launches_add(struct kernel_launches *launched, const struct small_case *item,
                                uint32_t lanes, struct error *err)
{
    struct workload_case work = small_case_work(item);
    struct listener device = make_listener(lanes, NULL);
    struct workload_instance *instance = NULL;
    enum status status;

    device.launched = launched;
    status = workload_instance_create(&work, &device.base, &instance, err);
    if (status == STATUS_OK)
        status = item->workload->kind->iterate(instance, err);
    workload_instance_destroy(instance);
    return status;
}

void kernel_launches_finish(struct kernel_launches *launched)
{
    free(launched->items);
    *launched = (struct kernel_launches){0};
}
