/*
 * code_object - what an AMD GPU binary reports about its kernels: the metadata in its notes.
 *
 * A code object is an ELF file (little-endian, 64 bits, machine 224) with a note of the owner
 * "AMDGPU" and type 32, whose description is MessagePack: a map whose "amdhsa.kernels" is an array
 * of maps. HIPRTC may give it inside a bundle, of which the first device image is read. Facts from
 * LLVM's AMDGPU usage guide, "Code Object V3 Metadata" and later, and the MessagePack
 * specification.
 *
 * The bytes come from a vendor's library: any may be wrong, and nothing is read beyond them.
 */
#ifndef ASSAY_BACKENDS_HIP_CODE_OBJECT_H
#define ASSAY_BACKENDS_HIP_CODE_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"

#define CODE_OBJECT_NAME_MAX 64

/* One kernel; -1 where the metadata does not report. Names too long for the field are cut. */
struct code_object_kernel {
    char name[CODE_OBJECT_NAME_MAX];
    int64_t vgprs, sgprs; /* registers of a lane, of a wavefront */
    int64_t spilled_vgprs, spilled_sgprs;
    int64_t private_bytes; /* memory of a lane outside registers: .private_segment_... */
    int64_t group_bytes;   /* static shared memory: .group_segment_fixed_size */
    int64_t max_lanes;     /* .max_flat_workgroup_size */
    int64_t wavefront;     /* .wavefront_size */
};

struct code_object {
    char target[96];                    /* "amdgcn-amd-amdhsa--gfx90a"; "" when not reported */
    struct code_object_kernel *kernels; /* heap */
    size_t kernel_count;
};

/* CORRUPT with what is wrong with it, NO_MEMORY. Release with code_object_finish. */
enum status code_object_read(const void *bytes, size_t size, struct code_object *ret,
                             struct error *err);
void code_object_finish(struct code_object *object); /* takes a zeroed one */

/* NULL when there is none of that name. */
const struct code_object_kernel *code_object_find(const struct code_object *object,
                                                  const char *name);

#endif
