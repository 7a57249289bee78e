/*
 * storage - arrays in the storage types of backends/DIALECT.md, on the host: f32, bf16, f16.
 *
 * Encoding rounds as the kernels' STORE_ macros do: to nearest even, overflow to infinity, a NaN
 * stays one.
 */
#ifndef ASSAY_WORKLOADS_STORAGE_H
#define ASSAY_WORKLOADS_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "harness/core/precision.h"

/* True for f32, bf16 and f16. */
bool storage_is_known(enum dtype type);
/* Half the distance from 1 to the next number: 2^-24, 2^-8, 2^-11. */
double storage_unit_roundoff(enum dtype type);

#define STORAGE_DEFINES 3
/*
 * The defines by which a kernel text takes its storage type: storage, LOAD and STORE. For f64 the
 * text has to say what LOAD_F64 and STORE_F64 are.
 */
void storage_defines(enum dtype type, struct module_define ret[STORAGE_DEFINES]);

/*
 * Elements of a pack of kernels/pack.h for arrays in rows of `columns`: 16 bytes of them where each
 * row begins at a multiple of that as its array does, else 1. `columns` 0: there are no rows.
 */
uint32_t storage_pack(enum dtype type, uint64_t columns, uint32_t lanes);

#define STORAGE_PACK_DEFINES 2
/*
 * The defines of kernels/pack.h for arrays in rows of `columns` elements, which go to groups of
 * `lanes`: PACK, storage_pack's, and KEPT, the packs of a row that a lane keeps in registers, at
 * least 1. `columns` 0: there are no rows.
 */
void storage_pack_defines(enum dtype type, uint64_t columns, uint32_t lanes,
                          struct module_define ret[STORAGE_PACK_DEFINES]);

void storage_encode(enum dtype type, const float *values, uint64_t count, void *ret);
void storage_decode(enum dtype type, const void *bytes, uint64_t count, float *ret);

/*
 * `count` elements of an array on a device, from element `offset` on, as f32. Waits. Errors of
 * device_download; NO_MEMORY.
 */
enum status storage_download(struct buffer *buffer, enum dtype type, uint64_t offset,
                             uint64_t count, float *ret, struct error *err);

/* The other way, rounded as storage_encode does. Blocks. Errors of device_upload; NO_MEMORY. */
enum status storage_upload(struct buffer *buffer, enum dtype type, uint64_t offset,
                           const float *values, uint64_t count, struct error *err);

/*
 * Fills `count` elements of any type, from element `offset` on, with NaN, or -1 in types that have
 * none: what has to be written before it can pass a check. In the types of a text's storage it is
 * the NaN without a payload: of others, exp_f32_to_88 (kernels/memory_exp.h) makes a number.
 * Blocks. Errors of device_upload; NO_MEMORY.
 */
enum status storage_poison(struct buffer *buffer, enum dtype type, uint64_t offset, uint64_t count,
                           struct error *err);
/* The whole buffer, of elements of that type. */
enum status storage_poison_all(struct buffer *buffer, enum dtype type, struct error *err);

#endif
