/*
 * primitive - what GEMMs and convolutions share of oneDNN's primitives: attributes, memory,
 * execution, and which precision an implementation computes in.
 */
#include "backends/cpu/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/threads.h"
#include "harness/core/denormals.h"

#define ALIGN 4096

unsigned cpu_dnnl_type(const struct onednn *dnnl, enum dtype type)
{
    switch (type) {
    case DTYPE_F32:
        return ASSAY_DNNL_f32;
    case DTYPE_BF16:
        return ASSAY_DNNL_bf16;
    case DTYPE_F16:
        return ASSAY_DNNL_f16;
    case DTYPE_I8:
        return ASSAY_DNNL_s8;
    case DTYPE_I32:
        return ASSAY_DNNL_s32;
    case DTYPE_F64:
        return dnnl->major >= 3 ? ASSAY_DNNL_f64 : 0;
    case DTYPE_E5M2:
        return dnnl->major >= 3 ? ASSAY_DNNL_f8_e5m2 : 0;
    case DTYPE_E4M3:
        return dnnl->major >= 3 ? ASSAY_DNNL_f8_e4m3 : 0;
    case DTYPE_E2M1:
        return dnnl->major > 3 || (dnnl->major == 3 && dnnl->minor >= 7) ? ASSAY_DNNL_f4_e2m1 : 0;
    default:
        return 0;
    }
}

enum status cpu_dnnl_knows_precision(const struct onednn *dnnl, enum precision precision,
                                     struct error *err)
{
    if (precision == PRECISION_TF32 && dnnl->major < 3)
        return error_set(err, STATUS_UNSUPPORTED, "oneDNN %s has no tf32", dnnl->version);
    return STATUS_OK;
}

enum status cpu_dnnl_attributes(const struct onednn *dnnl, enum precision precision,
                                struct dnnl_primitive_attr **ret, struct error *err)
{
    const struct dnnl_api *api = &dnnl->api;
    struct dnnl_primitive_attr *attributes = NULL;
    const char *function = "dnnl_primitive_attr_create";
    unsigned code = api->dnnl_primitive_attr_create(&attributes);

    if (code == ASSAY_DNNL_success) {
        function = "dnnl_primitive_attr_set_scratchpad_mode";
        code = api->dnnl_primitive_attr_set_scratchpad_mode(attributes,
                                                            ASSAY_DNNL_scratchpad_mode_user);
    }
    /* fp32 is true fp32, whatever the environment says (ONEDNN_DEFAULT_FPMATH_MODE). */
    if (code == ASSAY_DNNL_success && api->dnnl_primitive_attr_set_fpmath_mode != NULL) {
        function = "dnnl_primitive_attr_set_fpmath_mode";
        code = api->dnnl_primitive_attr_set_fpmath_mode(
            attributes, precision == PRECISION_TF32 ? ASSAY_DNNL_fpmath_mode_tf32
                                                    : ASSAY_DNNL_fpmath_mode_strict);
    }
    if (code != ASSAY_DNNL_success) {
        if (attributes != NULL)
            api->dnnl_primitive_attr_destroy(attributes);
        return onednn_fail(dnnl, function, code, err);
    }
    *ret = attributes;
    return STATUS_OK;
}

enum status cpu_dnnl_memory(const struct onednn *dnnl, const struct assay_dnnl_memory_desc *layout,
                            void *bytes, struct dnnl_memory **ret, struct error *err)
{
    const unsigned code = dnnl->api.dnnl_memory_create(ret, layout, dnnl->engine, bytes);

    if (code != ASSAY_DNNL_success || *ret == NULL)
        return onednn_fail(dnnl, "dnnl_memory_create", code, err);
    return STATUS_OK;
}

enum status cpu_dnnl_array(const struct onednn *dnnl, const struct assay_dnnl_memory_desc *layout,
                           const char *what, unsigned char **ret, uint64_t *ret_bytes,
                           struct error *err)
{
    *ret_bytes = layout != NULL ? dnnl->api.dnnl_memory_desc_get_size(layout) : 0;
    if (*ret_bytes == 0)
        return STATUS_OK;
    *ret = aligned_alloc(ALIGN, (*ret_bytes + ALIGN - 1) / ALIGN * ALIGN);
    if (*ret == NULL)
        return error_set(err, STATUS_DEVICE_MEMORY,
                         "oneDNN %s: no memory for %s of %" PRIu64 " bytes", dnnl->version, what,
                         *ret_bytes);
    return STATUS_OK;
}

enum status cpu_dnnl_primitive(const struct onednn *dnnl, const struct dnnl_primitive_desc *desc,
                               struct dnnl_primitive **ret, struct error *err)
{
    const unsigned code = dnnl->api.dnnl_primitive_create(ret, desc);

    if (code != ASSAY_DNNL_success || *ret == NULL)
        return onednn_fail(dnnl, "dnnl_primitive_create", code, err);
    return STATUS_OK;
}

enum status cpu_dnnl_point(const struct onednn *dnnl, struct dnnl_memory *memory,
                           const struct operand *operand, enum dtype type, struct error *err)
{
    unsigned char *bytes;
    unsigned code;

    if (memory == NULL)
        return STATUS_OK;
    bytes = ((struct cpu_buffer *)operand->buffer)->bytes;
    code = dnnl->api.dnnl_memory_set_data_handle(memory,
                                                 bytes + operand->offset * (dtype_bits(type) / 8));
    return code == ASSAY_DNNL_success ? STATUS_OK
                                      : onednn_fail(dnnl, "dnnl_memory_set_data_handle", code, err);
}

/*
 * oneDNN's threads are the pool's. The mode is set once, and kept until the host may continue by
 * itself (device.c); threads that the library starts anew inherit it. Returns the calling thread's
 * mode.
 */
static bool begin_flush(struct cpu_device *device)
{
    const bool before = denormals_flush(true);

    if (!device->pool_flushes)
        cpu_threads_set_flush(device->threads, true);
    device->pool_flushes = true;
    return before;
}

enum status cpu_dnnl_execute(struct cpu_device *device, const struct dnnl_primitive *primitive,
                             int count, const struct assay_dnnl_exec_arg *args, struct error *err)
{
    const struct onednn *dnnl = &device->state->dnnl;
    const bool before = device->flush_denormals && begin_flush(device);
    unsigned code = dnnl->api.dnnl_primitive_execute(primitive, dnnl->stream, count, args);

    if (code == ASSAY_DNNL_success)
        code = dnnl->api.dnnl_stream_wait(dnnl->stream);
    if (device->flush_denormals)
        denormals_flush(before);
    return code == ASSAY_DNNL_success ? STATUS_OK
                                      : onednn_fail(dnnl, "dnnl_primitive_execute", code, err);
}

/* Bits of dnnl_cpu_isa_t that are the same in versions 2 and 3 (x86 only). */
#define ISA_AVX512 0x20u
#define ISA_VNNI 0x40u
#define ISA_BF16 0x80u
#define ISA_FP16 0x100u /* in version 3 */

static bool has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

/*
 * An algorithm that is named after an instruction set uses it: "brg:avx512_core_bf16". One that is
 * not ("gemm:jit") uses the best there is, which follows from the effective instruction set.
 */
static enum support judge(enum precision precision, const char *algorithm, unsigned isa, int major)
{
    const bool named = has(algorithm, ":avx") || has(algorithm, ":sse");
    const bool wide = named && (has(algorithm, "amx") || has(algorithm, "avx10"));

    if (algorithm[0] == '\0')
        return SUPPORT_UNKNOWN;
    if (strncmp(algorithm, "ref", 3) == 0)
        return SUPPORT_EMULATED;
#if !defined(__x86_64__)
    if (precision != PRECISION_FP32)
        return SUPPORT_UNKNOWN;
#endif
    switch (precision) {
    case PRECISION_FP64:
    case PRECISION_FP32:
    case PRECISION_TF32:
        return SUPPORT_NATIVE;
    case PRECISION_BF16:
        if (wide || (named ? has(algorithm, "bf16") : (isa & ISA_BF16) != 0))
            return SUPPORT_NATIVE;
        return SUPPORT_EMULATED;
    case PRECISION_FP16:
        if (wide || (named ? has(algorithm, "fp16") : major >= 3 && (isa & ISA_FP16) != 0))
            return SUPPORT_NATIVE;
        return SUPPORT_EMULATED;
    case PRECISION_INT8:
        if (wide ||
            (named ? has(algorithm, "vnni") || has(algorithm, "bf16") || has(algorithm, "fp16")
                   : (isa & ISA_VNNI) != 0))
            return SUPPORT_NATIVE;
        return SUPPORT_EMULATED;
    case PRECISION_FP4:
        /* Widened first, but where the name says otherwise: no instruction set so far has the type.
         */
        return has(algorithm, "fp4") ? SUPPORT_NATIVE : SUPPORT_EMULATED;
    default:
        return SUPPORT_UNKNOWN;
    }
}

/* 0: not known. */
static unsigned effective_isa(const struct onednn *dnnl)
{
    return dnnl->api.dnnl_get_effective_cpu_isa != NULL ? dnnl->api.dnnl_get_effective_cpu_isa()
                                                        : 0;
}

/*
 * tf32 is a permission that the library may not take: without an algorithm that says so, what runs
 * is fp32. And without VNNI the only instruction for bytes (VPMADDUBSW) adds two products in 16
 * bits, which saturate: sums that oneDNN does not promise to be exact ("Nuances of int8
 * computations").
 */
enum status cpu_dnnl_takes_precision(const struct onednn *dnnl, enum precision precision,
                                     const char *algorithm, struct error *err)
{
    if (precision == PRECISION_TF32 && !has(algorithm, "tf32"))
        return error_set(err, STATUS_UNSUPPORTED,
                         "oneDNN %s: with tf32 allowed it chooses %s, which computes in fp32",
                         dnnl->version, algorithm);
#if defined(__x86_64__)
    if (precision == PRECISION_INT8 && strncmp(algorithm, "ref", 3) != 0 &&
        judge(precision, algorithm, effective_isa(dnnl), dnnl->major) == SUPPORT_EMULATED)
        return error_set(err, STATUS_UNSUPPORTED,
                         "oneDNN %s: its int8 sums saturate at 16 bits on a processor without VNNI "
                         "(%s)",
                         dnnl->version, algorithm);
#endif
    return STATUS_OK;
}
void cpu_dnnl_describe(const struct onednn *dnnl, enum precision precision, const char *algorithm,
                       uint64_t scratchpad_bytes, struct operation_info *ret)
{
    const unsigned isa = effective_isa(dnnl);

    snprintf(ret->library, sizeof(ret->library), "oneDNN");
    snprintf(ret->version, sizeof(ret->version), "%s", dnnl->version);
    snprintf(ret->algorithm, sizeof(ret->algorithm), "%s", algorithm);
    ret->workspace_bytes = scratchpad_bytes;
    ret->support = judge(precision, algorithm, isa, dnnl->major);
    snprintf(ret->method, sizeof(ret->method),
             "impl_info_str \"%.48s\", dnnl_get_effective_cpu_isa 0x%x", algorithm, isa);
}
