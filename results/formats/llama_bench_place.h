/*
 * llama_bench_place - where a result of llama-bench ran, and its fields in one form.
 *
 * Its files name the processor, every GPU of the machine and every backend of the build; what was
 * used of them follows from n_gpu_layers, devices, split_mode, main_gpu and tensor_split.
 */
#ifndef ASSAY_RESULTS_FORMATS_LLAMA_BENCH_PLACE_H
#define ASSAY_RESULTS_FORMATS_LLAMA_BENCH_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"

struct llama_bench_place {
    char *device;       /* heap; NULL: the file does not tell */
    char *backend;      /* heap; NULL likewise */
    const char *field;  /* that `device` is from, or that is missing */
    const char *reason; /* why `device` is NULL; static */
};

/* NO_MEMORY. `ret` is to be finished. */
enum status llama_bench_place_find(const json_t *fields, struct llama_bench_place *ret,
                                   struct error *err);

/*
 * CSV has texts alone and SQLite no booleans: gives the fields that llama-bench is known to write
 * the types that they have in its JSON. Others, and texts that are not of that type, stay.
 */
enum status llama_bench_type_fields(json_t *fields, struct error *err);

/* Whatever the form: an integer, a whole real, or the digits of one. False: it is none. */
bool llama_bench_get_whole(const json_t *value, int64_t *ret);

#endif
