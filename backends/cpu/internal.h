/* internal - what the files of this folder share. */
#ifndef ASSAY_BACKENDS_CPU_INTERNAL_H
#define ASSAY_BACKENDS_CPU_INTERNAL_H

#include "backends/backend.h"
#include "backends/cpu/cache.h"
#include "backends/cpu/compiler.h"
#include "backends/cpu/dnnl_api.h"
#include "backends/cpu/source.h"

/* The backend's state. Kept for the life of the process, like the libraries. */
struct cpu_state {
    struct cpu_compiler compiler;
    struct cpu_cache cache;
    struct digest target;
    struct onednn dnnl;
    bool has_dnnl;
    char *dnnl_reason; /* why not, when it has not */
};

struct cpu_device {
    struct device base;
    struct cpu_state *state;
    uint32_t threads;
    bool flush_denormals;
    bool pool_flushes; /* a product has set that on the pool's threads, and nothing undone it */
};

struct cpu_buffer {
    struct buffer base;
    unsigned char *bytes;
};

static inline struct cpu_device *cpu_device(struct device *device)
{
    return (struct cpu_device *)device;
}

/* info.c */
enum status cpu_device_info(struct backend *backend, uint32_t index, struct device_info *ret,
                            struct error *err);
/* Bytes that an allocation may take now; 0: not told. */
uint64_t cpu_memory_available(void);

/* device.c */
enum status cpu_device_open(struct backend *backend, uint32_t index,
                            const struct device_options *options, struct device **ret,
                            struct error *err);

/* module.c */
enum status cpu_module_load(struct device *device, const struct module_source *source,
                            struct module **ret, struct error *err);
void cpu_module_unload(struct device *device, struct module *module);
enum status cpu_module_describe(struct device *device, const struct module *module,
                                struct module_artifact *ret, struct error *err);
enum status cpu_kernel_launch(struct device *device, const struct kernel_launch *launch,
                              struct error *err);

/* product.c: only with the library */
enum status cpu_product_create(struct device *device, const struct product_shape *shape,
                               struct product **ret, struct error *err);
void cpu_product_destroy(struct device *device, struct product *product);
enum status cpu_product_run(struct device *device, struct product *product,
                            const struct product_operands *operands, struct error *err);
enum status cpu_product_describe(struct device *device, const struct product *product,
                                 struct product_info *ret, struct error *err);

/* The library's number for a type; 0: it has none. */
unsigned cpu_dnnl_type(const struct onednn *dnnl, enum dtype type);
/* Fills `ret` from the algorithm's name and the effective instruction set. */
void cpu_dnnl_describe(const struct onednn *dnnl, enum precision precision, const char *algorithm,
                       uint64_t scratchpad_bytes, struct product_info *ret);

/* convolution.c: only with a library that has them */
enum status cpu_convolution_create(struct device *device, const struct convolution_shape *shape,
                                   struct convolution **ret, struct error *err);
void cpu_convolution_destroy(struct device *device, struct convolution *convolution);
enum status cpu_convolution_set_weights(struct device *device, struct convolution *convolution,
                                        const struct product_operand *weights, struct error *err);
enum status cpu_convolution_run(struct device *device, struct convolution *convolution,
                                const struct product_operand *input,
                                const struct product_operand *output, struct error *err);
enum status cpu_convolution_describe(struct device *device, const struct convolution *convolution,
                                     struct convolution_info *ret, struct error *err);

#endif
