/*
 * A library that has the C interfaces of ONNX Runtime and of OpenVINO as far as assay calls them,
 * written from their documentation and not from assay's declarations: functions by their number in
 * the table, or by name. It reads the weights out of the model that it is given and computes the
 * logits by the fp64 reference, so that whatever assay writes, sets and binds shows in the checks;
 * the nodes of such a model it does not read (the real libraries do, test_worker_frameworks.py
 * --wheels). A model that is no GPT-2 it runs by the fp64 reference of workloads/onnx.
 *
 * Of generation, the keys and values that it puts out are the numbers of their tokens: a step finds
 * in them the text that it goes on with, and ends with an error where assay did not put every one
 * of them where it belongs.
 *
 * As OpenVINO does on processors that have it, it computes in bf16 (it rounds the outputs) unless
 * another precision is set. STAND_IN: "wrong": one element is; "skips": the last output is all
 * zeros, and steps of generation leave theirs as they were; "tires": those behind the sixteenth do
 * so; "fails": a run ends with an error; "bf16": reports that, whatever it was told; "narrow":
 * computes in that, and does not report it. A run on fewer processors than the harness may use, to
 * which threads of a real library would be confined, ends with an error. Results are marked as
 * simulated.
 */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/frameworks/model.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int assay_simulated = 1;

/* ---- ONNX Runtime: functions by their number in struct OrtApi ---- */

static void *create_env(int level, const char *id, const void *threads, void **ret)
{
    (void)level;
    (void)id;
    *ret = ret;
    return threads ? NULL : (void *)"no threads";
}

static void *create_session(const void *env, const void *model, size_t length, const void *options,
                            void **ret)
{
    (void)env;
    (void)options;
    *ret = read_model(model, length);
    return NULL;
}

static void *share_threads(void *options)
{
    return options ? NULL : (void *)"no options";
}

static void *create_nothing(void **ret)
{
    *ret = ret;
    return NULL;
}

static void *set_number(void *options, int number)
{
    (void)options;
    return number < 1 ? (void *)"a number below 1" : NULL;
}

static void *create_memory(int allocator, int type, void **ret)
{
    (void)allocator;
    (void)type;
    *ret = ret;
    return NULL;
}

static void *create_tensor(const void *memory, void *data, size_t bytes, const int64_t *shape,
                           size_t rank, int type, void **ret)
{
    struct bound *bound = new_bound(data, shape, rank, type);

    (void)memory;
    *ret = bound;
    if (bytes != bound->array.elements * size_of(type) ||
        (type != FLOAT && type != INT32 && type != INT64 && type != DOUBLE))
        return (void *)"not these elements";
    return NULL;
}

static void *run_session(void *session, const void *options, const char *const *names,
                         const void *const *inputs, size_t count, const char *const *output_names,
                         size_t output_count, void **outputs)
{
    struct model *model = session;

    (void)options;
    for (size_t i = 0; i < count; i++)
        bind_array(model, names[i], inputs[i]);
    for (size_t i = 0; i < output_count; i++)
        bind_array(model, output_names[i], outputs[i]);
    if (!model->other && (!model->tokens || !model->logits))
        return (void *)"no such arrays";
    return run_model(model) ? NULL : (void *)why_failed();
}

static void release_session(void *session)
{
    free_model(session);
}

static void release_nothing(void *object)
{
    (void)object;
}

static const char *message_of(const void *status)
{
    return status;
}

static const void *table[149];

static const void *get_api(uint32_t version)
{
    table[2] = (const void *)message_of;
    table[8] = (const void *)create_session;
    table[9] = (const void *)run_session;
    table[10] = table[121] = (const void *)create_nothing;
    table[23] = table[147] = table[148] = (const void *)set_number;
    table[119] = (const void *)create_env;
    table[120] = (const void *)share_threads;
    table[49] = (const void *)create_tensor;
    table[69] = (const void *)create_memory;
    table[92] = table[93] = table[94] = table[100] = table[122] = (const void *)release_nothing;
    table[95] = (const void *)release_session;
    table[96] = (const void *)free;
    return version <= 13 ? table : NULL;
}

static const char *get_version(void)
{
    return "stand-in 1";
}

/* As the wheel of 1.32 does unless it is told not to: a folder of its own, and a word to its maker.
 */
static void tell_maker(void)
{
    const char *off = getenv("ORT_DISABLE_TELEMETRY"), *home = getenv("HOME");
    const struct sockaddr_in maker = {
        .sin_family = AF_INET, .sin_port = htons(443), .sin_addr = {htonl(0xc0000201)}};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char path[4096 + 16];

    if (off == NULL || strcmp(off, "1") != 0) {
        snprintf(path, 4096, "%s/.cache", home != NULL ? home : "");
        mkdir(path, 0700);
        strcat(path, "/Microsoft");
        mkdir(path, 0700);
        sendto(fd, "event", 5, 0, (const struct sockaddr *)&maker, sizeof(maker));
    }
    if (fd >= 0)
        close(fd);
}

EXPORT const void *OrtGetApiBase(void);
EXPORT const void *OrtGetApiBase(void)
{
    static const void *base[2];

    tell_maker();
    base[0] = (const void *)get_api;
    base[1] = (const void *)get_version;
    return base;
}

/* ---- OpenVINO: functions by name ---- */

struct shape {
    int64_t rank, *dims;
};

#define OPENVINO(type, name, ...)                                                                  \
    EXPORT type name(__VA_ARGS__);                                                                 \
    EXPORT type name(__VA_ARGS__)

OPENVINO(int, ov_get_openvino_version, const char **ret)
{
    ret[0] = "stand-in 1";
    return 0;
}

OPENVINO(void, ov_version_free, void *version)
{
    (void)version;
}

OPENVINO(const char *, ov_get_error_info, int status)
{
    (void)status;
    return "general error";
}

OPENVINO(const char *, ov_get_last_err_msg, void)
{
    return strdup(why_failed());
}

OPENVINO(void, ov_free, void *text)
{
    free(text);
}

OPENVINO(int, ov_core_create, void **ret)
{
    *ret = ret;
    return 0;
}

OPENVINO(void, ov_core_free, void *core)
{
    (void)core;
}

OPENVINO(int, ov_core_read_model_from_memory_buffer, const void *core, const char *model,
         size_t length, const void *weights, void **ret)
{
    (void)core;
    (void)weights;
    *ret = read_model(model, length);
    return 0;
}

OPENVINO(int, ov_core_compile_model, const void *core, void *model, const char *device,
         size_t count, void **ret, ...)
{
    struct model *self = model;
    va_list list;

    (void)core;
    self->narrow = true;
    va_start(list, ret);
    for (size_t i = 0; i < count; i += 2) {
        const char *key = va_arg(list, const char *), *value = va_arg(list, const char *);

        if (!strcmp(key, "INFERENCE_PRECISION_HINT"))
            self->narrow = !strcmp(value, "bf16") || is_told("narrow");
    }
    va_end(list);
    *ret = model;
    return strcmp(device, "CPU") ? -1 : 0;
}

OPENVINO(int, ov_compiled_model_get_property, const struct model *model, const char *key,
         char **ret)
{
    const bool narrow = (model->narrow && !is_told("narrow")) || is_told("bf16");

    *ret = strdup(!strcmp(key, "INFERENCE_PRECISION_HINT") ? (narrow ? "bf16" : "f32") : "1");
    return 0;
}

OPENVINO(int, ov_compiled_model_create_infer_request, void *model, void **ret)
{
    *ret = model;
    return 0;
}

OPENVINO(int, ov_shape_create, int64_t rank, const int64_t *dims, struct shape *ret)
{
    ret->rank = rank;
    ret->dims = memcpy(malloc((size_t)rank * sizeof(*dims)), dims, (size_t)rank * sizeof(*dims));
    return 0;
}

OPENVINO(int, ov_shape_free, struct shape *shape)
{
    free(shape->dims);
    return 0;
}

OPENVINO(int, ov_tensor_create_from_host_ptr, int type, struct shape shape, void *memory,
         void **ret)
{
    static const int types[] = {[2] = BFLOAT16, [4] = FLOAT, [9] = INT32, [10] = INT64};

    if (type < 0 || type > 10 || !types[type])
        return -1;
    *ret = new_bound(memory, shape.dims, (size_t)shape.rank, types[type]);
    return 0;
}

OPENVINO(int, ov_infer_request_set_tensor, struct model *model, const char *name,
         const struct bound *tensor)
{
    bind_array(model, name, tensor);
    return 0;
}

OPENVINO(int, ov_infer_request_infer, struct model *model)
{
    return run_model(model) ? 0 : -1;
}

OPENVINO(void, ov_tensor_free, void *tensor)
{
    free(tensor);
}

OPENVINO(void, ov_infer_request_free, void *request)
{
    (void)request;
}

OPENVINO(void, ov_compiled_model_free, void *model)
{
    (void)model;
}

OPENVINO(void, ov_model_free, struct model *model)
{
    free_model(model);
}
