#include "backends/hip/code_object.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE_AMDGPU 224
#define SEGMENT_NOTE 4
#define NOTE_METADATA 32
#define KERNELS_MAX 4096
#define DEPTH_MAX 32

/* What is left to read; a reading beyond its end makes it bad, and everything after gives 0. */
struct span {
    const unsigned char *at;
    size_t left;
    bool bad;
};

static const unsigned char *take(struct span *span, size_t count)
{
    const unsigned char *taken = span->at;

    if (span->bad || count > span->left) {
        span->bad = true;
        return NULL;
    }
    span->at += count;
    span->left -= count;
    return taken;
}

static uint64_t little(struct span *span, size_t count)
{
    const unsigned char *bytes = take(span, count);
    uint64_t value = 0;

    for (size_t i = 0; bytes != NULL && i < count; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static uint64_t big(struct span *span, size_t count)
{
    const unsigned char *bytes = take(span, count);
    uint64_t value = 0;

    for (size_t i = 0; bytes != NULL && i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

static struct span sub_span(const struct span *whole, uint64_t offset, uint64_t size)
{
    struct span part = {.bad = true};

    if (!whole->bad && offset <= whole->left && size <= whole->left - offset)
        part = (struct span){whole->at + offset, (size_t)size, false};
    return part;
}

/* ---- MessagePack, as far as the metadata uses it ---- */

enum kind { PACK_OTHER, PACK_INTEGER, PACK_TEXT, PACK_ARRAY, PACK_MAP };

struct item {
    enum kind kind;
    int64_t integer;
    struct span text;
    uint64_t count; /* elements of an array, pairs of a map: they follow */
};

static struct item item_text(struct span *span, uint64_t length)
{
    const unsigned char *bytes = take(span, (size_t)length);

    return (struct item){.kind = PACK_TEXT,
                         .text = {bytes, bytes != NULL ? (size_t)length : 0, false}};
}

static struct item item_integer(int64_t value)
{
    return (struct item){.kind = PACK_INTEGER, .integer = value};
}

static struct item next_item(struct span *span)
{
    const unsigned type = (unsigned)little(span, 1);
    uint64_t value;

    if (type < 0x80)
        return item_integer((int64_t)type);
    if (type >= 0xe0)
        return item_integer((int64_t)type - 256);
    if (type < 0x90)
        return (struct item){.kind = PACK_MAP, .count = type & 15};
    if (type < 0xa0)
        return (struct item){.kind = PACK_ARRAY, .count = type & 15};
    if (type < 0xc0)
        return item_text(span, type & 31);
    switch (type) {
    case 0xc0: /* nil, false, true */
    case 0xc2:
    case 0xc3:
        return (struct item){.kind = PACK_OTHER};
    case 0xc4: /* binary */
    case 0xc5:
    case 0xc6:
        take(span, (size_t)big(span, (size_t)1 << (type - 0xc4)));
        return (struct item){.kind = PACK_OTHER};
    case 0xca: /* float */
    case 0xcb:
        take(span, type == 0xca ? 4 : 8);
        return (struct item){.kind = PACK_OTHER};
    case 0xcc: /* unsigned */
    case 0xcd:
    case 0xce:
    case 0xcf:
        value = big(span, (size_t)1 << (type - 0xcc));
        return item_integer(value > INT64_MAX ? -1 : (int64_t)value);
    case 0xd0: /* signed */
        return item_integer((int8_t)big(span, 1));
    case 0xd1:
        return item_integer((int16_t)big(span, 2));
    case 0xd2:
        return item_integer((int32_t)big(span, 4));
    case 0xd3:
        return item_integer((int64_t)big(span, 8));
    case 0xd9: /* text */
    case 0xda:
    case 0xdb:
        return item_text(span, big(span, (size_t)1 << (type - 0xd9)));
    case 0xdc:
    case 0xdd:
        return (struct item){.kind = PACK_ARRAY, .count = big(span, type == 0xdc ? 2 : 4)};
    case 0xde:
    case 0xdf:
        return (struct item){.kind = PACK_MAP, .count = big(span, type == 0xde ? 2 : 4)};
    default: /* extensions: the metadata has none */
        span->bad = true;
        return (struct item){.kind = PACK_OTHER};
    }
}

/* Every element takes a byte at least, so a count beyond what is left ends soon. */
static void skip_children(struct span *span, const struct item *item, int depth)
{
    uint64_t children = item->kind == PACK_ARRAY ? item->count
                        : item->kind == PACK_MAP ? 2 * item->count
                                                 : 0;

    if (depth > DEPTH_MAX)
        span->bad = true;
    for (; children > 0 && !span->bad; children--) {
        struct item child = next_item(span);

        skip_children(span, &child, depth + 1);
    }
}

static bool text_is(const struct item *item, const char *word)
{
    return item->kind == PACK_TEXT && item->text.at != NULL && item->text.left == strlen(word) &&
           memcmp(item->text.at, word, item->text.left) == 0;
}

static void copy_text(const struct item *item, char *ret, size_t size)
{
    size_t length = item->kind == PACK_TEXT && item->text.at != NULL ? item->text.left : 0;

    if (length >= size)
        length = size - 1;
    for (size_t i = 0; i < length; i++)
        ret[i] = item->text.at[i] >= 0x20 && item->text.at[i] < 0x7f ? (char)item->text.at[i] : '?';
    ret[length] = '\0';
}

/* ---- the metadata ---- */

static const struct {
    const char *key;
    size_t offset;
} numbers[] = {
    {".vgpr_count", offsetof(struct code_object_kernel, vgprs)},
    {".sgpr_count", offsetof(struct code_object_kernel, sgprs)},
    {".vgpr_spill_count", offsetof(struct code_object_kernel, spilled_vgprs)},
    {".sgpr_spill_count", offsetof(struct code_object_kernel, spilled_sgprs)},
    {".private_segment_fixed_size", offsetof(struct code_object_kernel, private_bytes)},
    {".group_segment_fixed_size", offsetof(struct code_object_kernel, group_bytes)},
    {".max_flat_workgroup_size", offsetof(struct code_object_kernel, max_lanes)},
    {".wavefront_size", offsetof(struct code_object_kernel, wavefront)},
};

static void read_kernel(struct span *span, const struct item *map, struct code_object_kernel *ret)
{
    *ret = (struct code_object_kernel){"", -1, -1, -1, -1, -1, -1, -1, -1};
    for (uint64_t i = 0; i < map->count && !span->bad; i++) {
        struct item key = next_item(span), value;

        skip_children(span, &key, 0);
        value = next_item(span);
        if (text_is(&key, ".name"))
            copy_text(&value, ret->name, sizeof(ret->name));
        for (size_t n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++)
            if (value.kind == PACK_INTEGER && value.integer >= 0 && text_is(&key, numbers[n].key))
                memcpy((char *)ret + numbers[n].offset, &value.integer, sizeof(value.integer));
        skip_children(span, &value, 0);
    }
}

static enum status read_kernels(struct span *span, const struct item *array,
                                struct code_object *object, struct error *err)
{
    /* A kernel is a byte at least: a count beyond the bytes is false. */
    if (array->count > span->left || array->count > KERNELS_MAX)
        return error_set(err, STATUS_CORRUPT, "the metadata counts %llu kernels",
                         (unsigned long long)array->count);
    free(object->kernels);
    object->kernel_count = 0;
    object->kernels = calloc((size_t)array->count + 1, sizeof(*object->kernels));
    if (object->kernels == NULL)
        return error_no_memory(err);
    for (uint64_t i = 0; i < array->count && !span->bad; i++) {
        struct item item = next_item(span);

        if (item.kind == PACK_MAP)
            read_kernel(span, &item, &object->kernels[object->kernel_count++]);
        else
            skip_children(span, &item, 0);
    }
    return STATUS_OK;
}

static enum status read_metadata(struct span span, struct code_object *object, struct error *err)
{
    struct item top = next_item(&span);

    if (top.kind != PACK_MAP)
        return error_set(err, STATUS_CORRUPT, "the metadata is no map");
    for (uint64_t i = 0; i < top.count && !span.bad; i++) {
        struct item key = next_item(&span), value;

        skip_children(&span, &key, 0);
        value = next_item(&span);
        if (text_is(&key, "amdhsa.kernels") && value.kind == PACK_ARRAY) {
            TRY(read_kernels(&span, &value, object, err));
            continue;
        }
        if (text_is(&key, "amdhsa.target"))
            copy_text(&value, object->target, sizeof(object->target));
        skip_children(&span, &value, 0);
    }
    if (span.bad)
        return error_set(err, STATUS_CORRUPT, "the metadata ends in the middle");
    return STATUS_OK;
}

/* ---- notes, ELF, bundle ---- */

/* Finds the metadata in a run of notes; false when it is not among them. */
static bool find_note(struct span notes, struct span *ret)
{
    while (!notes.bad && notes.left >= 12) {
        const uint64_t owner_size = little(&notes, 4), size = little(&notes, 4);
        const uint64_t type = little(&notes, 4);
        const unsigned char *owner = take(&notes, (size_t)((owner_size + 3) & ~3ull));
        const unsigned char *content = take(&notes, (size_t)size);

        take(&notes, (4 - size % 4) % 4 < notes.left ? (4 - size % 4) % 4 : notes.left);
        if (owner != NULL && content != NULL && type == NOTE_METADATA && owner_size == 7 &&
            memcmp(owner, "AMDGPU", 7) == 0) {
            *ret = (struct span){content, (size_t)size, false};
            return true;
        }
    }
    return false;
}

static enum status read_elf(const struct span *file, struct code_object *object, struct error *err)
{
    struct span head = *file, notes, metadata;
    const unsigned char *ident = take(&head, 16);
    uint64_t machine, offset, entry_size, count;

    if (ident == NULL || memcmp(ident, "\177ELF\2\1", 6) != 0)
        return error_set(err, STATUS_CORRUPT, "it is no 64-bit little-endian ELF file");
    little(&head, 2);
    machine = little(&head, 2);
    if (machine != MACHINE_AMDGPU)
        return error_set(err, STATUS_CORRUPT, "its machine is %llu, not AMDGPU (224)",
                         (unsigned long long)machine);
    take(&head, 4 + 8);
    offset = little(&head, 8); /* program headers */
    take(&head, 8 + 4 + 2);
    entry_size = little(&head, 2);
    count = little(&head, 2);
    if (head.bad || entry_size < 56)
        return error_set(err, STATUS_CORRUPT, "its ELF header is cut or has no segments");
    for (uint64_t i = 0; i < count; i++) {
        struct span segment = offset <= UINT64_MAX - i * entry_size
                                  ? sub_span(file, offset + i * entry_size, 56)
                                  : (struct span){.bad = true};
        const uint64_t type = little(&segment, 4);
        uint64_t at, size;

        take(&segment, 4);
        at = little(&segment, 8);
        take(&segment, 16);
        size = little(&segment, 8);
        if (segment.bad || type != SEGMENT_NOTE)
            continue;
        notes = sub_span(file, at, size);
        if (find_note(notes, &metadata))
            return read_metadata(metadata, object, err);
    }
    return error_set(err, STATUS_CORRUPT, "it has no AMDGPU metadata");
}

/* "__CLANG_OFFLOAD_BUNDLE__", count, then offset, size, name length and name of each image. */
static bool first_device_image(const struct span *file, struct span *ret)
{
    static const char magic[24] = "__CLANG_OFFLOAD_BUNDLE__";
    struct span head = *file;
    const unsigned char *found = take(&head, sizeof(magic));
    uint64_t count;

    if (found == NULL || memcmp(found, magic, sizeof(magic)) != 0)
        return false;
    count = little(&head, 8);
    for (uint64_t i = 0; i < count && !head.bad; i++) {
        const uint64_t offset = little(&head, 8), size = little(&head, 8);
        const uint64_t length = little(&head, 8);
        const unsigned char *name = take(&head, (size_t)length);

        if (name != NULL && length >= 3 && memcmp(name, "hip", 3) == 0) {
            *ret = sub_span(file, offset, size);
            return true;
        }
    }
    return false;
}

enum status code_object_read(const void *bytes, size_t size, struct code_object *ret,
                             struct error *err)
{
    struct span file = {bytes, size, false}, image;
    struct code_object object = {0};
    enum status status;

    status = read_elf(first_device_image(&file, &image) ? &image : &file, &object, err);
    if (status != STATUS_OK) {
        code_object_finish(&object);
        if (err != NULL)
            error_prefix(err, "code object");
        return status;
    }
    *ret = object;
    return STATUS_OK;
}

void code_object_finish(struct code_object *object)
{
    free(object->kernels);
    memset(object, 0, sizeof(*object));
}

const struct code_object_kernel *code_object_find(const struct code_object *object,
                                                  const char *name)
{
    for (size_t i = 0; i < object->kernel_count; i++)
        if (strcmp(object->kernels[i].name, name) == 0)
            return &object->kernels[i];
    return NULL;
}
