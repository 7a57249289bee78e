#include "harness/core/tensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/text.h"

#define LENGTH_BYTES 8
#define HEADER_MAX ((uint64_t)64 << 20)
#define ALIGN 64 /* of the data in the file */

static const struct {
    enum dtype type;
    const char *name;
} types[] = {{DTYPE_F64, "F64"}, {DTYPE_F32, "F32"},      {DTYPE_BF16, "BF16"},
             {DTYPE_F16, "F16"}, {DTYPE_E4M3, "F8_E4M3"}, {DTYPE_E5M2, "F8_E5M2"},
             {DTYPE_I8, "I8"},   {DTYPE_I32, "I32"},      {DTYPE_I64, "I64"}};
#define TYPES (sizeof(types) / sizeof(types[0]))

static const char *type_name(enum dtype type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].type == type)
            return types[i].name;
    return NULL;
}

struct tensor tensor_new(const char *name, enum dtype type, size_t rank, const uint64_t *shape)
{
    struct tensor tensor = {.type = type, .rank = rank};

    snprintf(tensor.name, sizeof(tensor.name), "%s", name);
    for (size_t i = 0; i < rank; i++)
        tensor.shape[i] = shape[i];
    tensor.bytes = tensor_elements(&tensor) * dtype_bits(type) / 8;
    return tensor;
}

uint64_t tensor_elements(const struct tensor *tensor)
{
    uint64_t product = 1;

    for (size_t i = 0; i < tensor->rank; i++)
        product *= tensor->shape[i];
    return product;
}

static json_t *shape_json(const struct tensor *tensor)
{
    json_t *shape = json_array();

    for (size_t i = 0; i < tensor->rank; i++)
        json_array_append_new(shape, json_integer((json_int_t)tensor->shape[i]));
    return shape;
}

json_t *tensors_json(const struct tensors *tensors)
{
    json_t *json = json_object();

    for (size_t i = 0; i < tensors->count; i++) {
        const struct tensor *tensor = &tensors->items[i];

        json_object_set_new(json, tensor->name,
                            json_pack("{s:s, s:o, s:I, s:I}", "dtype", type_name(tensor->type),
                                      "shape", shape_json(tensor), "offset",
                                      (json_int_t)tensor->offset, "bytes",
                                      (json_int_t)tensor->bytes));
    }
    return json;
}

/* ---- writing ---- */

/* The header's text, and its length with the blanks that align the data; NULL: no memory. */
static char *write_header(const struct tensor *items, size_t count, uint64_t *ret_length)
{
    json_auto_t *json = json_object();
    uint64_t at = 0;
    char *text;

    for (size_t i = 0; i < count; i++) {
        json_object_set_new(json, items[i].name,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype", type_name(items[i].type),
                                      "shape", shape_json(&items[i]), "data_offsets",
                                      (json_int_t)at, (json_int_t)(at + items[i].bytes)));
        at += items[i].bytes;
    }
    text = json_dumps(json, JSON_COMPACT);
    if (text)
        *ret_length = (LENGTH_BYTES + strlen(text) + ALIGN - 1) / ALIGN * ALIGN - LENGTH_BYTES;
    return text;
}

static enum status map_file(const char *path, int fd, bool write, struct tensors *ret,
                            struct error *err)
{
    void *map = mmap(NULL, ret->size, write ? PROT_READ | PROT_WRITE : PROT_READ,
                     write ? MAP_SHARED : MAP_PRIVATE, fd, 0);

    if (map == MAP_FAILED)
        return error_set_errno(err, errno, "%s", path);
    ret->map = map;
    return STATUS_OK;
}

enum status tensors_create(const char *path, const struct tensor *items, size_t count,
                           struct tensors *ret, struct error *err)
{
    uint64_t length = 0, at;
    CLEANUP(tensors_close) struct tensors tensors = {.count = count};
    enum status status;
    AUTO_FREE char *header = NULL;
    uint8_t *bytes;
    int fd;

    *ret = (struct tensors){0};
    for (size_t i = 0; i < count; i++)
        if (!type_name(items[i].type))
            return error_set(err, STATUS_UNSUPPORTED, "%s: %s is handed over in no file", path,
                             dtype_name(items[i].type));
    header = write_header(items, count, &length);
    tensors.items = calloc(count + 1, sizeof(*tensors.items));
    if (!header || !tensors.items)
        return error_no_memory(err);
    memcpy(tensors.items, items, count * sizeof(*items));
    at = LENGTH_BYTES + length;
    for (size_t i = 0; i < count; i++) {
        tensors.items[i].offset = at;
        at += items[i].bytes;
    }
    tensors.size = at;
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    errno = posix_fallocate(fd, 0, (off_t)at);
    status = errno == 0 ? map_file(path, fd, true, &tensors, err)
                        : error_set_errno(err, errno, "%s", path);
    close(fd);
    TRY(status);
    bytes = tensors.map;
    for (int i = 0; i < LENGTH_BYTES; i++)
        bytes[i] = (uint8_t)(length >> (8 * i));
    memset(bytes + LENGTH_BYTES, ' ', length);
    memcpy(bytes + LENGTH_BYTES, header, strlen(header));
    for (size_t i = 0; i < count; i++)
        tensors.items[i].data = bytes + tensors.items[i].offset;
    *ret = tensors;
    tensors = (struct tensors){0};
    return STATUS_OK;
}

/* ---- reading ---- */

static enum status damaged(const char *path, const char *what, struct error *err)
{
    return error_set(err, STATUS_CORRUPT, "%s: %s", path, what);
}

static enum status read_tensor(const char *path, const char *name, const json_t *json,
                               struct tensors *tensors, uint64_t begin, struct error *err)
{
    struct tensor *tensor = &tensors->items[tensors->count];
    const char *type = json_string_value(json_object_get(json, "dtype"));
    const json_t *shape = json_object_get(json, "shape");
    const json_t *offsets = json_object_get(json, "data_offsets");
    const json_int_t from = json_integer_value(json_array_get(offsets, 0));
    const json_int_t to = json_integer_value(json_array_get(offsets, 1));
    const uint64_t room = tensors->size - begin;
    uint64_t elements = 1;
    size_t i;

    for (i = 0; i < TYPES && type && strcmp(types[i].name, type) != 0; i++)
        ;
    if (!type || i == TYPES || strlen(name) >= TENSOR_NAME_MAX)
        return error_set(err, STATUS_CORRUPT, "%s: the tensor %.60s has the unknown type %.20s",
                         path, name, type ? type : "(none)");
    tensor->type = types[i].type;
    tensor->rank = json_array_size(shape);
    if (!json_is_array(shape) || tensor->rank > TENSOR_RANK_MAX)
        return damaged(path, "a tensor's shape is not up to four numbers", err);
    for (i = 0; i < tensor->rank; i++) {
        const json_int_t side = json_integer_value(json_array_get(shape, i));

        if (side < 1 || (uint64_t)side > room || elements > room / (uint64_t)side)
            return damaged(path, "a tensor's shape is larger than the file", err);
        tensor->shape[i] = (uint64_t)side;
        elements *= (uint64_t)side;
    }
    tensor->bytes = elements * dtype_bits(tensor->type) / 8;
    if (from < 0 || to < from || (uint64_t)to > room)
        return error_set(err, STATUS_CORRUPT, "%s: the file ends before the tensor %s (truncated?)",
                         path, name);
    if ((uint64_t)(to - from) != tensor->bytes ||
        (uint64_t)from % (dtype_bits(tensor->type) / 8) != 0)
        return damaged(path, "a tensor's offsets are not those of its shape and type", err);
    snprintf(tensor->name, sizeof(tensor->name), "%s", name);
    tensor->offset = begin + (uint64_t)from;
    tensor->data = (uint8_t *)tensors->map + tensor->offset;
    tensors->count++;
    return STATUS_OK;
}

static enum status read_header(const char *path, struct tensors *tensors, struct error *err)
{
    const uint8_t *bytes = tensors->map;
    uint64_t length = 0;
    json_auto_t *header = NULL;
    const char *name;
    json_t *entry;

    for (int i = 0; i < LENGTH_BYTES; i++)
        length |= (uint64_t)bytes[i] << (8 * i);
    if (length > HEADER_MAX || length > tensors->size - LENGTH_BYTES)
        return damaged(path, "the file ends before its header (truncated?)", err);
    TRY(canonical_parse((const char *)bytes + LENGTH_BYTES, length, path, &header, err));
    tensors->items = calloc(json_object_size(header) + 1, sizeof(*tensors->items));
    if (!tensors->items)
        return error_no_memory(err);
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, "__metadata__") != 0)
            TRY(read_tensor(path, name, entry, tensors, LENGTH_BYTES + length, err));
    }
    return STATUS_OK;
}

enum status tensors_open(const char *path, struct tensors *ret, struct error *err)
{
    CLEANUP(tensors_close) struct tensors tensors = {0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct stat stat;
    enum status status;

    if (fd < 0 || fstat(fd, &stat) < 0) {
        status = error_set_errno(err, errno, "%s", path);
        if (fd >= 0)
            close(fd);
        return status;
    }
    tensors.size = (uint64_t)stat.st_size;
    status = !S_ISREG(stat.st_mode) || tensors.size < LENGTH_BYTES
                 ? damaged(path, "it is not a file of tensors (truncated?)", err)
                 : map_file(path, fd, false, &tensors, err);
    close(fd);
    TRY(status);
    TRY(read_header(path, &tensors, err));
    *ret = tensors;
    tensors = (struct tensors){0};
    return STATUS_OK;
}

void tensors_close(struct tensors *tensors)
{
    if (tensors->map)
        munmap(tensors->map, tensors->size);
    free(tensors->items);
    *tensors = (struct tensors){0};
}

enum status tensors_find(const struct tensors *tensors, const char *name, enum dtype type,
                         enum dtype other, size_t rank, const uint64_t *shape,
                         const struct tensor **ret, struct error *err)
{
    const struct tensor *found = NULL;
    bool same;

    for (size_t i = 0; i < tensors->count && !found; i++)
        if (!strcmp(tensors->items[i].name, name))
            found = &tensors->items[i];
    if (!found)
        return error_set(err, STATUS_CHECK_FAILED, "there is no tensor \"%s\"", name);
    if (found->type != type && found->type != other)
        return error_set(err, STATUS_CHECK_FAILED, "tensor %s is in %s, not in %s", name,
                         dtype_name(found->type), dtype_name(type));
    same = found->rank == rank;
    for (size_t i = 0; i < rank && same; i++)
        same = found->shape[i] == shape[i];
    if (!same) {
        struct text text = TEXT_INIT;
        enum status status;

        for (size_t i = 0; i < found->rank; i++)
            text_append_format(&text, "%s%" PRIu64, i ? ", " : "", found->shape[i]);
        text_append(&text, "), not (");
        for (size_t i = 0; i < rank; i++)
            text_append_format(&text, "%s%" PRIu64, i ? ", " : "", shape[i]);
        text_append(&text, ")");
        status = error_set(err, STATUS_CHECK_FAILED,
                           "tensor %s has the shape (%s: it is of another batch or size", name,
                           text_ok(&text) ? text.data : "?");
        text_finish(&text);
        return status;
    }
    *ret = found;
    return STATUS_OK;
}
