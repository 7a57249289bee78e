/* internal - what the files of this folder share. */
#ifndef ASSAY_BACKENDS_CPU_INTERNAL_H
#define ASSAY_BACKENDS_CPU_INTERNAL_H

#include "backends/backend.h"
#include "backends/cpu/cache.h"
#include "backends/cpu/compiler.h"
#include "backends/cpu/dnnl_api.h"

/* The backend's state. Kept for the life of the process, like the libraries. */
struct cpu_state {
    struct cpu_compiler compiler;
    struct cpu_cache cache;
    struct digest target;
    struct onednn dnnl;
    bool has_dnnl;
    char *dnnl_reason; /* why not, when it has not */
};

/* Memory that is asked for in multiples of this is also asked for in pages of it (madvise). */
#define CPU_HUGE_PAGE ((uint64_t)2 << 20)

struct cpu_device {
    struct device base;
    struct cpu_state *state;
    uint32_t threads;
    bool compile_anew; /* take no kernel from the cache */
    bool flush_denormals;
    struct cpu_packed *packed; /* packed.c: copies that GEMMs hold */
    struct cpu_block *blocks;  /* packed.c: the memory that they lie in */
    bool pool_flushes; /* a primitive has set that on the pool's threads, and nothing undone it */
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
/* Bytes that an allocation may take now; 0: not reported. */
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

/* ---- primitive.c: what GEMMs and convolutions share of the library's primitives ---- */

/* The library's number for a type; 0: it has none. */
unsigned cpu_dnnl_type(const struct onednn *dnnl, enum dtype type);
/* UNSUPPORTED for what this version of the library cannot be asked for. */
enum status cpu_dnnl_knows_precision(const struct onednn *dnnl, enum precision precision,
                                     struct error *err);
/* UNSUPPORTED where `algorithm`, which the library chose, computes in another precision. */
enum status cpu_dnnl_takes_precision(const struct onednn *dnnl, enum precision precision,
                                     const char *algorithm, struct error *err);
/* With the arithmetic that `precision` allows, and a scratchpad that the caller provides. */
enum status cpu_dnnl_attributes(const struct onednn *dnnl, enum precision precision,
                                struct dnnl_primitive_attr **ret, struct error *err);
enum status cpu_dnnl_memory(const struct onednn *dnnl, const struct assay_dnnl_memory_desc *layout,
                            void *bytes, struct dnnl_memory **ret, struct error *err);
/*
 * Heap for `layout` and its size; NULL and 0 for a layout that needs none. DEVICE_MEMORY names
 * `what`.
 */
enum status cpu_dnnl_array(const struct onednn *dnnl, const struct assay_dnnl_memory_desc *layout,
                           const char *what, unsigned char **ret, uint64_t *ret_bytes,
                           struct error *err);
enum status cpu_dnnl_primitive(const struct onednn *dnnl, const struct dnnl_primitive_desc *desc,
                               struct dnnl_primitive **ret, struct error *err);
/* Points `memory` at an operand; NULL memory: nothing to do. */
enum status cpu_dnnl_point(const struct onednn *dnnl, struct dnnl_memory *memory,
                           const struct operand *operand, enum dtype type, struct error *err);
/* Runs and waits, with denormals as the device was opened. */
enum status cpu_dnnl_execute(struct cpu_device *device, const struct dnnl_primitive *primitive,
                             int count, const struct assay_dnnl_exec_arg *args, struct error *err);
/* Fills `ret` from the algorithm's name and the effective instruction set. */
void cpu_dnnl_describe(const struct onednn *dnnl, enum precision precision, const char *algorithm,
                       uint64_t scratchpad_bytes, struct operation_info *ret);

/*
 * packed.c: the copy of `matrix`, a constant of layout `given`, in layout `wanted`; made at its
 * first use, which waits. Give it back by cpu_packed_release. DEVICE_MEMORY: no memory for it.
 */
struct cpu_packed;
enum status cpu_packed_use(struct cpu_device *device, const struct operand *matrix, enum dtype type,
                           const struct assay_dnnl_memory_desc *given,
                           const struct assay_dnnl_memory_desc *wanted, struct cpu_packed **ret,
                           struct error *err);
void cpu_packed_release(struct cpu_device *device, struct cpu_packed *packed);
/* Its address and size in bytes. */
void *cpu_packed_bytes(const struct cpu_packed *packed, uint64_t *ret_size);

/* gemm.c, convolution.c: operation_implementation.create */
enum status cpu_gemm_create(struct device *device, const struct operation_desc *desc,
                            struct operation **ret, struct error *err);
enum status cpu_convolution_create(struct device *device, const struct operation_desc *desc,
                                   struct operation **ret, struct error *err);

#endif
