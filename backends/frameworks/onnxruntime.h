/*
 * onnxruntime - the part of ONNX Runtime's C interface that is used here, declared anew after its
 * documentation (onnxruntime.ai/docs/api/c, struct OrtApi). The table only grows at its end, and
 * every version of the library gives the table of each version before it: what is asked for is that
 * of 1.13. Members that are not used are counted.
 */
#ifndef ASSAY_BACKENDS_FRAMEWORKS_ONNXRUNTIME_H
#define ASSAY_BACKENDS_FRAMEWORKS_ONNXRUNTIME_H

#include <stddef.h>
#include <stdint.h>

#define ORT_TABLE_VERSION 13

enum { ORT_LOG_WARNING = 2 };
enum { ORT_OPTIMISE_ALL = 99 };
enum { ORT_ARENA_ALLOCATOR = 1 };
enum { ORT_MEMORY_DEFAULT = 0 };
enum { ORT_FLOAT = 1, ORT_INT32 = 6, ORT_INT64 = 7, ORT_DOUBLE = 11 };

struct ort_status;
struct ort_env;
struct ort_session;
struct ort_options;
struct ort_threads;
struct ort_memory;
struct ort_value;

struct ort_api {
    void *before_get_error_message[2];
    const char *(*get_error_message)(const struct ort_status *);
    void *before_create_session[5];
    struct ort_status *(*create_session)(const struct ort_env *, const void *model, size_t length,
                                         const struct ort_options *, struct ort_session **);
    struct ort_status *(*run)(struct ort_session *, const void *options, const char *const *names,
                              const struct ort_value *const *inputs, size_t count,
                              const char *const *output_names, size_t output_count,
                              struct ort_value **outputs);
    struct ort_status *(*create_options)(struct ort_options **);
    void *before_set_optimisation[12];
    struct ort_status *(*set_optimisation)(struct ort_options *, int level);
    void *before_create_tensor[25];
    struct ort_status *(*create_tensor)(const struct ort_memory *, void *data, size_t bytes,
                                        const int64_t *shape, size_t rank, int type,
                                        struct ort_value **);
    void *before_create_memory[19];
    struct ort_status *(*create_memory)(int allocator, int type, struct ort_memory **);
    void *before_release[22];
    void (*release_env)(struct ort_env *);
    void (*release_status)(struct ort_status *);
    void (*release_memory)(struct ort_memory *);
    void (*release_session)(struct ort_session *);
    void (*release_value)(struct ort_value *);
    void *before_release_options[3];
    void (*release_options)(struct ort_options *);
    void *before_create_env[18];
    struct ort_status *(*create_env)(int level, const char *id, const struct ort_threads *,
                                     struct ort_env **); /* CreateEnvWithGlobalThreadPools */
    struct ort_status *(*share_threads)(struct ort_options *);
    struct ort_status *(*create_threads)(struct ort_threads **);
    void (*release_threads)(struct ort_threads *);
    void *before_set_threads_within[24];
    struct ort_status *(*set_threads_within)(struct ort_threads *, int);
    struct ort_status *(*set_threads_between)(struct ort_threads *, int);
};

struct ort_base {
    const struct ort_api *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

#endif
