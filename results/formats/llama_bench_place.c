#include "results/formats/llama_bench_place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"

#define DEVICES_MAX 64

/* ---- types ---- */

/* Of test::get_field_type in llama-bench.cpp, of all its versions; the others are texts. */
static const char *const wholes[] = {
    "build_number",  "n_batch",      "n_ubatch",    "n_threads",     "poll",
    "model_size",    "n_gpu_layers", "main_gpu",    "n_prompt",      "n_gen",
    "n_depth",       "avg_ns",       "stddev_ns",   "n_cpu_moe",     "flash_attn",
    "no_op_offload", "fit_target",   "fit_min_ctx", "model_n_params"};
static const char *const reals[] = {"avg_ts", "stddev_ts", "defrag_thold"};
static const char *const booleans[] = {
    "cpu_strict", "no_kv_offload", "embeddings", "no_host", "use_mmap", "use_direct_io",
    "f16_kv",     "mul_mat_q",     "low_vram",   "cuda",    "opencl",   "vulkan",
    "kompute",    "metal",         "sycl",       "rpc",     "gpu_blas", "blas"};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}
#define IS_ONE_OF(name, names) is_one_of(name, names, sizeof(names) / sizeof((names)[0]))

bool llama_bench_get_whole(const json_t *value, int64_t *ret)
{
    double real = json_real_value(value);

    if (json_is_integer(value))
        *ret = json_integer_value(value);
    else if (json_is_string(value) && text_parse_i64(json_string_value(value), ret))
        return true;
    else if (json_is_real(value) && real > -0x1p53 && real < 0x1p53 &&
             real == (double)(int64_t)real)
        *ret = (int64_t)real;
    else
        return false;
    return true;
}

/* NULL: it stays as it is. */
static json_t *typed(const json_t *fields, const char *name, const json_t *value)
{
    /* A boolean until it became the number -1, 0 or 1, in a version that has load_mode. */
    const bool is_boolean = IS_ONE_OF(name, booleans) ||
                            (!strcmp(name, "flash_attn") && !json_object_get(fields, "load_mode"));
    int64_t whole;
    double real;

    if (IS_ONE_OF(name, reals))
        return json_is_string(value) && text_parse_double(json_string_value(value), &real)
                   ? json_real(real)
                   : NULL;
    if (!(is_boolean || IS_ONE_OF(name, wholes)) || !llama_bench_get_whole(value, &whole))
        return NULL;
    if (is_boolean)
        return whole == 0 || whole == 1 ? json_boolean(whole) : NULL;
    return json_integer(whole);
}

enum status llama_bench_type_fields(json_t *fields, struct error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach(fields, name, value)
    {
        json_t *better = typed(fields, name, value);

        if (better && json_object_set_new(fields, name, better) < 0)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

/* ---- lists in texts ---- */

struct list {
    const char *items[DEVICES_MAX];
    size_t lengths[DEVICES_MAX], count;
};

/* False: more than DEVICES_MAX. */
static bool split(const char *text, const char *between, struct list *ret)
{
    *ret = (struct list){.count = 0};
    while (text && *text) {
        const char *end = strstr(text, between);

        if (ret->count == DEVICES_MAX)
            return false;
        ret->items[ret->count] = text;
        ret->lengths[ret->count++] = end ? (size_t)(end - text) : strlen(text);
        text = end ? end + strlen(between) : NULL;
    }
    return true;
}

static const char *text_of(const json_t *fields, const char *name)
{
    const char *text = json_string_value(json_object_get(fields, name));

    return text && *text ? text : NULL;
}

/* ---- backends ---- */

static bool is_processor(const char *name, size_t length)
{
    static const char *const names[] = {"CPU", "BLAS", "ZenDNN", "zDNN", "AMX"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == length && !strncmp(names[i], name, length))
            return true;
    return false;
}

/* How many backends of GPUs the build has; -1: the file does not tell. */
static int count_gpu_backends(const json_t *fields)
{
    static const char *const flags[] = {"cuda",  "opencl", "vulkan", "kompute",
                                        "metal", "sycl",   "rpc",    "gpu_blas"};
    const char *backends = text_of(fields, "backends");
    struct list list;
    bool told = false;
    int count = 0;

    if (backends && split(backends, ",", &list)) {
        for (size_t i = 0; i < list.count; i++)
            count += !is_processor(list.items[i], list.lengths[i]);
        return count;
    }
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        const json_t *flag = json_object_get(fields, flags[i]);

        told = told || json_is_boolean(flag);
        count += json_is_true(flag);
    }
    return told ? count : -1;
}

/* ---- which of several GPUs ---- */

struct gpus {
    struct list names;
    size_t used[DEVICES_MAX], count; /* places in names */
};

/* "CUDA1" is the second GPU of the one backend there is. */
static bool take_devices(const char *devices, int gpu_backends, struct gpus *gpus)
{
    struct list list;

    if (!split(devices, "/", &list) || gpu_backends != 1)
        return false;
    gpus->count = 0;
    for (size_t i = 0; i < list.count; i++) {
        const char *at = list.items[i] + list.lengths[i];
        char digits[8];
        size_t length = 0;
        int64_t place;

        while (length < list.lengths[i] && at[-1] >= '0' && at[-1] <= '9') {
            at--;
            length++;
        }
        if (length >= sizeof(digits) || length == list.lengths[i])
            return false;
        memcpy(digits, at, length);
        digits[length] = '\0';
        if (!text_parse_i64(digits, &place) || (size_t)place >= gpus->names.count)
            return false;
        gpus->used[gpus->count++] = (size_t)place;
    }
    return gpus->count > 0;
}

/* "0.00/1.00": the second of those used; all where no share is above 0. */
static bool take_shares(const char *shares, int gpu_backends, struct gpus *gpus)
{
    struct list list;
    size_t count = 0, used[DEVICES_MAX];

    if (!split(shares, "/", &list))
        return false;
    for (size_t i = 0; i < list.count; i++) {
        char number[32];
        double share = 0;

        if (list.lengths[i] >= sizeof(number))
            return false;
        memcpy(number, list.items[i], list.lengths[i]);
        number[list.lengths[i]] = '\0';
        if (!text_parse_double(number, &share))
            return false;
        if (share > 0 && i >= gpus->count)
            return false;
        if (share > 0)
            used[count++] = gpus->used[i];
    }
    if (count == 0 || count == gpus->count)
        return true;
    memcpy(gpus->used, used, count * sizeof(used[0]));
    gpus->count = count;
    return gpu_backends == 1;
}

static bool is_automatic(const char *devices)
{
    return !devices || !strcmp(devices, "auto");
}

/* False: the file does not tell. */
static bool choose(const json_t *fields, int gpu_backends, struct gpus *gpus)
{
    const char *devices = text_of(fields, "devices"), *mode = text_of(fields, "split_mode");
    const char *shares = text_of(fields, "tensor_split");
    struct list asked;
    int64_t main_gpu = 0;

    for (gpus->count = 0; gpus->count < gpus->names.count; gpus->count++)
        gpus->used[gpus->count] = gpus->count;
    if (gpus->count == 1)
        return true;
    if (!is_automatic(devices) && !take_devices(devices, gpu_backends, gpus) &&
        !(split(devices, "/", &asked) && asked.count == gpus->names.count))
        return false;
    if (!mode || strcmp(mode, "none") != 0)
        return !shares || take_shares(shares, gpu_backends, gpus);
    if (gpus->count == 1)
        return true;
    if (gpu_backends != 1 ||
        !llama_bench_get_whole(json_object_get(fields, "main_gpu"), &main_gpu) || main_gpu < 0 ||
        (size_t)main_gpu >= gpus->count)
        return false;
    gpus->used[0] = gpus->used[main_gpu];
    gpus->count = 1;
    return true;
}

static char *join(const struct gpus *gpus)
{
    struct text text = TEXT_INIT;

    for (size_t i = 0; i < gpus->count; i++)
        text_append_format(&text, "%s%.*s", i ? ", " : "", (int)gpus->names.lengths[gpus->used[i]],
                           gpus->names.items[gpus->used[i]]);
    return text_steal(&text);
}

/* ---- all of it ---- */

enum where { ON_PROCESSOR, ON_GPU, UNTOLD };

static enum where where_of(const json_t *fields, int gpu_backends)
{
    const char *devices = text_of(fields, "devices"), *mode = text_of(fields, "split_mode");
    int64_t layers, main_gpu;

    if (gpu_backends == 0 || (devices && !strcmp(devices, "none")))
        return ON_PROCESSOR;
    if (mode && !strcmp(mode, "none") &&
        llama_bench_get_whole(json_object_get(fields, "main_gpu"), &main_gpu) && main_gpu < 0)
        return ON_PROCESSOR;
    if (!llama_bench_get_whole(json_object_get(fields, "n_gpu_layers"), &layers))
        return UNTOLD;
    return layers == 0 ? ON_PROCESSOR : ON_GPU;
}

static enum status set(struct llama_bench_place *place, const char *field, const char *device,
                       const char *backend, struct error *err)
{
    place->field = field;
    place->device = device ? strdup(device) : NULL;
    place->backend = backend ? strdup(backend) : NULL;
    return (device && !place->device) || (backend && !place->backend) ? error_no_memory(err)
                                                                      : STATUS_OK;
}

static enum status set_gpus(const json_t *fields, int gpu_backends, struct llama_bench_place *place,
                            struct error *err)
{
    struct gpus gpus = {.count = 0};
    const char *info = text_of(fields, "gpu_info");

    if (!info || !split(info, ", ", &gpus.names)) {
        place->reason = "layers of the model were on a GPU, and gpu_info names none";
        return set(place, "gpu_info", NULL, text_of(fields, "backends"), err);
    }
    if (!choose(fields, gpu_backends, &gpus)) {
        place->reason = "gpu_info names all GPUs of the machine, and which of them were used does "
                        "not follow from devices, split_mode, main_gpu and tensor_split";
        return set(place, "gpu_info", NULL, text_of(fields, "backends"), err);
    }
    TRY(set(place, "gpu_info", NULL, text_of(fields, "backends"), err));
    if (!(place->device = join(&gpus)))
        return error_no_memory(err);
    return STATUS_OK;
}

static void llama_bench_place_finish(struct llama_bench_place *place)
{
    free(place->device);
    free(place->backend);
    *place = (struct llama_bench_place){0};
}

enum status llama_bench_place_find(const json_t *fields, struct llama_bench_place *ret,
                                   struct error *err)
{
    const int gpu_backends = count_gpu_backends(fields);
    struct llama_bench_place place = {0};
    enum status status;

    switch (where_of(fields, gpu_backends)) {
    case ON_PROCESSOR:
        place.reason = "the file has no cpu_info";
        status = set(&place, "cpu_info", text_of(fields, "cpu_info"),
                     gpu_backends == 0 ? text_of(fields, "backends") : "CPU", err);
        break;
    case ON_GPU:
        status = set_gpus(fields, gpu_backends, &place, err);
        break;
    default:
        place.reason = "without n_gpu_layers the file does not tell whether a GPU was used";
        status = set(&place, "n_gpu_layers", NULL, NULL, err);
    }
    if (status == STATUS_OK)
        *ret = place;
    else
        llama_bench_place_finish(&place);
    return status;
}
