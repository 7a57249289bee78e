#include "results/bundle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/core/canonical.h"
#include "harness/core/text.h"
#include "results/bundle_internal.h"

#define LINE_MAX_BYTES ((size_t)128 << 20)
#define MARK "{\"assay_bundle\":"

void bundle_found(const struct bundle_reader *reader, enum verify_level level,
                  enum verify_check check, const char *table, const char *format, ...)
{
    struct text message;
    va_list args;
    char key[32];

    text_init(&message);
    va_start(args, format);
    text_append_formatv(&message, format, args);
    va_end(args);
    snprintf(key, sizeof(key), "line %" PRIu64, reader->number);
    if (reader->visitor->found)
        reader->visitor->found(reader->visitor->context,
                               &(struct verify_finding){
                                   .level = level,
                                   .check = check,
                                   .table = table,
                                   .key = reader->number > 0 ? key : NULL,
                                   .message = text_ok(&message) ? message.data : "out of memory",
                               });
    text_finish(&message);
}

enum status bundle_damaged(struct bundle_reader *reader, const char *what)
{
    reader->damage = what;
    return STATUS_CORRUPT;
}

bool bundle_decode(const json_t *base64, unsigned char **ret, size_t *ret_length)
{
    const char *text = json_string_value(base64);
    const size_t length = json_string_length(base64);
    unsigned char *bytes = text ? malloc(length + 1) : NULL;

    if (!bytes || !key_base64_decode(text, length, bytes, length + 1, ret_length)) {
        free(bytes);
        return false;
    }
    *ret = bytes;
    return true;
}

/* ---- the head ---- */

const char *bundle_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

void bundle_head_finish(struct bundle_head *head)
{
    if (!head)
        return;
    free(head->origin);
    free(head->note);
    free(head->tool);
    json_decref(head->campaigns);
    json_decref(head->withheld);
    memset(head, 0, sizeof(*head));
}

bool bundle_members_are(const json_t *object, const char *const *needed,
                        const char *const *possible)
{
    size_t count = 0;

    for (; *needed; needed++, count++)
        if (!json_object_get(object, *needed))
            return false;
    for (; *possible; possible++)
        count += json_object_get(object, *possible) != NULL;
    return json_object_size(object) == count;
}

bool bundle_path(const json_t *path, struct digest ret[MERKLE_HEIGHT_MAX + 1], size_t *ret_count)
{
    const size_t count = json_array_size(path);

    if (!json_is_array(path) || count > MERKLE_HEIGHT_MAX + 1)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *hex = json_string_value(json_array_get(path, i));

        if (!hex || !digest_from_hex(hex, &ret[i]))
            return false;
    }
    *ret_count = count;
    return true;
}

static bool is_text_array(const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!json_is_string(json_array_get(array, i)))
            return false;
    return json_is_array(array);
}

static enum status take_head(struct bundle_reader *reader, const json_t *line, struct error *err)
{
    struct bundle_head *head = &reader->head;
    const json_t *campaigns = json_object_get(line, "campaigns");
    const json_t *withheld = json_object_get(line, "withheld");
    const char *root = bundle_text(line, "root");
    enum status status;
    static const char *const needed[] = {"assay_bundle", "campaigns", "created_utc_ns", "heads",
                                         "note",         "origin",    "root",           "schema",
                                         "size",         "tool",      "withheld",       NULL};
    static const char *const none[] = {NULL};
    const json_int_t version = json_integer_value(json_object_get(line, "assay_bundle"));

    if (version > BUNDLE_VERSION)
        return error_set(err, STATUS_CORRUPT,
                         "%s: is a bundle of version %lld; this assay reads version %d; use a "
                         "newer one",
                         reader->path, (long long)version, BUNDLE_VERSION);
    if (version < 1)
        return bundle_damaged(reader, "the first line has no version of a bundle");
    if (!bundle_members_are(line, needed, none))
        return bundle_damaged(reader, "the first line lacks a member, or has one too many");
    head->size = json_integer_value(json_object_get(line, "size"));
    head->schema = json_integer_value(json_object_get(line, "schema"));
    head->created_utc_ns = json_integer_value(json_object_get(line, "created_utc_ns"));
    if (!bundle_text(line, "origin") || !bundle_text(line, "note") || !bundle_text(line, "tool") ||
        !root || !digest_from_hex(root, &head->root) || head->size < 1 ||
        !is_text_array(campaigns) || !is_text_array(withheld))
        return bundle_damaged(reader, "the first line lacks origin, note, root, size or campaigns");
    head->origin = text_format("%s", bundle_text(line, "origin"));
    head->note = text_format("%s", bundle_text(line, "note"));
    head->tool = text_format("%s", bundle_text(line, "tool"));
    head->campaigns = json_incref((json_t *)campaigns);
    head->withheld = json_incref((json_t *)withheld);
    if (!head->origin || !head->note || !head->tool)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
    status = bundle_take_heads(reader, line, err);
    if (status != STATUS_OK)
        return status;
    reader->has_head = true;
    return reader->visitor->head ? reader->visitor->head(reader->visitor->context, head, err)
                                 : STATUS_OK;
}

/* ---- lines ---- */

static enum status take_end(struct bundle_reader *reader, const json_t *line,
                            const struct digest_state *before)
{
    struct digest_state state = *before;
    const struct digest digest = digest_final(&state);
    struct digest expected;
    const char *hex = bundle_text(line, "sha256");
    static const char *const needed[] = {"rows", "seal", "sha256", NULL}, *const none[] = {NULL};
    char own[DIGEST_HEX_SIZE];

    if (!bundle_members_are(line, needed, none))
        return bundle_damaged(reader, "the line is neither a row nor the last one of a bundle");
    reader->has_end = true;
    snprintf(reader->seal_body, sizeof(reader->seal_body), BUNDLE_SEAL, digest_hex(&digest, own));
    if (bundle_text(line, "seal"))
        reader->seal = text_format("%s", bundle_text(line, "seal"));
    if (json_integer_value(json_object_get(line, "rows")) != reader->rows)
        BUNDLE_WRONG(reader, COMPLETE, NULL, "the bundle has %" PRId64 " rows and counts %lld",
                     reader->rows, (long long)json_integer_value(json_object_get(line, "rows")));
    if (!hex || !digest_from_hex(hex, &expected) || !digest_equal(&digest, &expected))
        BUNDLE_WRONG(reader, FILE, NULL,
                     "the file's own SHA-256 does not match: it was changed in transit");
    return STATUS_OK;
}

/* Only the canonical form: anything else was not written by assay. */
static enum status parse(struct bundle_reader *reader, size_t length, json_t **ret,
                         struct error *err)
{
    char *dumped = NULL;
    enum status status;

    if (canonical_parse(reader->line, length, "", ret, err) == STATUS_NO_MEMORY)
        return STATUS_NO_MEMORY;
    if (!*ret)
        return bundle_damaged(reader, "the line is not JSON: it was changed or truncated");
    status = canonical_dump(*ret, &dumped, err);
    if (status == STATUS_OK &&
        (strlen(dumped) != length || memcmp(dumped, reader->line, length) != 0))
        BUNDLE_WRONG(reader, FILE, NULL, "the line is not in canonical form");
    free(dumped);
    return status;
}

static enum status take_line(struct bundle_reader *reader, size_t length, struct error *err)
{
    const struct digest_state before = reader->sha256;
    json_t *line = NULL;
    enum status status = parse(reader, length, &line, err);

    digest_update(&reader->sha256, reader->line, length);
    digest_update(&reader->sha256, "\n", 1);
    if (status == STATUS_OK && !reader->has_head)
        status = take_head(reader, line, err);
    else if (status == STATUS_OK && json_object_get(line, "leaf"))
        status = bundle_take_row(reader, line, err);
    else if (status == STATUS_OK)
        status = take_end(reader, line, &before);
    json_decref(line);
    if (status == STATUS_CORRUPT && reader->damage) {
        BUNDLE_WRONG(reader, FILE, NULL, "%s", reader->damage);
        reader->damage = NULL;
        return STATUS_OK;
    }
    return status;
}

/* Reads a line into reader->line, without its newline; *ret_more is false at the end. */
static enum status next_line(struct bundle_reader *reader, size_t *ret_length, bool *ret_more,
                             struct error *err)
{
    size_t length = 0;
    int c;

    reader->number++;
    while ((c = getc_unlocked(reader->file)) != EOF && c != '\n') {
        if (length + 1 >= reader->capacity) {
            const size_t capacity = reader->capacity ? reader->capacity * 2 : 65536;
            char *grown = capacity <= LINE_MAX_BYTES ? realloc(reader->line, capacity) : NULL;

            if (!grown && capacity > LINE_MAX_BYTES) {
                BUNDLE_WRONG(reader, FILE, NULL, "the line has more than 128 MiB");
                reader->cut = true;
                *ret_more = false;
                return STATUS_OK;
            }
            if (!grown)
                return error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
            reader->line = grown;
            reader->capacity = capacity;
        }
        reader->line[length++] = (char)c;
    }
    if (ferror(reader->file))
        return error_set_errno(err, errno, "%s", reader->path);
    reader->bytes += length + 1;
    *ret_length = length;
    *ret_more = c != EOF;
    reader->cut = c == EOF && length > 0;
    if (reader->cut)
        BUNDLE_WRONG(reader, FILE, NULL, "the file is truncated in this line");
    return STATUS_OK;
}

static enum status read_lines(struct bundle_reader *reader, struct error *err)
{
    size_t length;
    bool more = false;
    enum status status = next_line(reader, &length, &more, err);

    while (status == STATUS_OK && more) {
        status = take_line(reader, length, err);
        if (status == STATUS_OK && !reader->has_head)
            return STATUS_OK; /* nothing can be read without it */
        if (status == STATUS_OK && reader->number % 256 == 0 && reader->visitor->progress &&
            !reader->visitor->progress(reader->visitor->context, reader->bytes, reader->total))
            status = error_set(err, STATUS_INTERRUPTED, "interrupted");
        if (status == STATUS_OK)
            status = next_line(reader, &length, &more, err);
        if (status == STATUS_OK && more && reader->has_end) {
            BUNDLE_WRONG(reader, FILE, NULL, "there is data after the bundle's last line");
            return STATUS_OK;
        }
    }
    return status;
}

static bool begins_as_one(FILE *file)
{
    char begin[sizeof(MARK)] = "";

    return fread(begin, 1, strlen(MARK), file) == strlen(MARK) && !strcmp(begin, MARK);
}

enum status bundle_read(const char *path, const struct bundle_visitor *visitor,
                        const struct verify_options *options, struct digest *ret_sha256,
                        struct error *err)
{
    struct bundle_reader reader = {
        .path = path, .visitor = visitor, .options = options, .last_leaf = -1};
    enum status status;

    reader.file = fopen(path, "re");
    if (!reader.file)
        return error_set_errno(err, errno, "%s", path);
    if (!begins_as_one(reader.file)) {
        fclose(reader.file);
        return error_set(err, STATUS_CORRUPT, "%s: is not a bundle of assay", path);
    }
    if (fseeko(reader.file, 0, SEEK_END) == 0)
        reader.total = (uint64_t)ftello(reader.file);
    rewind(reader.file);
    digest_init(&reader.sha256);
    status = read_lines(&reader, err);
    reader.number = 0;
    if (status == STATUS_OK && reader.has_head && !reader.has_end && !reader.cut)
        BUNDLE_WRONG(&reader, COMPLETE, NULL, "the bundle has no last line: the file is truncated");
    if (status == STATUS_OK && reader.has_end) { /* missing rows cannot be checked */
        bundle_check_notes(&reader);
        bundle_check_plans(&reader);
    }
    if (status == STATUS_OK && reader.withheld > 0)
        bundle_found(&reader, VERIFY_NOTE, VERIFY_CONTENT, NULL,
                     "%" PRId64 " values are withheld; the commitments to them hold",
                     reader.withheld);
    if (status == STATUS_OK)
        *ret_sha256 = digest_final(&reader.sha256);
    bundle_finish_heads(&reader);
    bundle_head_finish(&reader.head);
    free(reader.line);
    free(reader.seal);
    fclose(reader.file);
    return status;
}

bool bundle_recognise(const char *path)
{
    struct stat st;
    /* Opening a pipe would block until somebody writes. */
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    bool ours = file && begins_as_one(file);

    if (file)
        fclose(file);
    return ours;
}
