#include "results/evidence/bundle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "results/record/record.h"

#define LINE_MAX_BYTES ((size_t)128 << 20)
#define MARK "{\"assay_bundle\":"

struct reader {
    const char *path;
    FILE *file;
    struct digest_state before; /* of all lines before the current one */
    char *line;
    size_t capacity, length;
    uint64_t number, bytes, total; /* of the line; read; of the file */
    int64_t records;
    bool has_end;
};

static enum status damaged(const struct reader *reader, struct error *err, const char *what)
{
    return error_set(err, STATUS_CORRUPT, "%s:%" PRIu64 ": %s", reader->path, reader->number, what);
}

void bundle_head_finish(struct bundle_head *head)
{
    if (!head)
        return;
    free(head->origin);
    free(head->note);
    free(head->tool);
    free(head->seal);
    json_decref(head->campaigns);
    json_decref(head->withheld);
    json_decref(head->proof);
    memset(head, 0, sizeof(*head));
}

static const char *text_of(const json_t *object, const char *key)
{
    return member_string(object, key);
}

/* Whether these are its members, and no others. */
static bool members_are(const json_t *object, const char *const *names)
{
    size_t count = 0;

    for (; names[count]; count++)
        if (!json_object_get(object, names[count]))
            return false;
    return json_object_size(object) == count;
}

static bool are_texts(const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!json_is_string(json_array_get(array, i)))
            return false;
    return json_is_array(array);
}

static enum status take_head(struct reader *reader, const json_t *line, struct bundle_head *head,
                             struct error *err)
{
    static const char *const names[] = {
        "assay_bundle", "campaigns", "created_utc_ns", "note",     "origin", "proof",
        "root",         "size",      "tool",           "withheld", NULL};
    const json_int_t version = member_integer(line, "assay_bundle");
    const char *root = text_of(line, "root");

    if (version > BUNDLE_VERSION)
        return error_set(err, STATUS_CORRUPT,
                         "%s: is a bundle of version %lld; this assay reads version %d; use a "
                         "newer one",
                         reader->path, (long long)version, BUNDLE_VERSION);
    head->size = member_integer(line, "size");
    head->created_utc_ns = member_integer(line, "created_utc_ns");
    if (version < 1 || !members_are(line, names) ||
        !json_is_integer(json_object_get(line, "created_utc_ns")) || !text_of(line, "origin") ||
        !text_of(line, "note") || !text_of(line, "tool") || !root ||
        !digest_from_hex(root, &head->root) || head->size < 1 ||
        !json_is_object(json_object_get(line, "proof")) ||
        !are_texts(json_object_get(line, "campaigns")) || member_size(line, "campaigns") == 0 ||
        !are_texts(json_object_get(line, "withheld")))
        return damaged(reader, err, "is not the first line of a bundle");
    head->origin = strdup(text_of(line, "origin"));
    head->note = strdup(text_of(line, "note"));
    head->tool = strdup(text_of(line, "tool"));
    head->campaigns = json_incref(json_object_get(line, "campaigns"));
    head->withheld = json_incref(json_object_get(line, "withheld"));
    head->proof = json_incref(json_object_get(line, "proof"));
    return head->origin && head->note && head->tool ? STATUS_OK : error_no_memory(err);
}

static enum status take_end(struct reader *reader, const json_t *line, struct bundle_head *head,
                            struct error *err)
{
    static const char *const names[] = {"records", "seal", "sha256", NULL};
    struct digest_state state = reader->before;
    const struct digest digest = digest_final(&state);
    char hex[DIGEST_HEX_SIZE];
    const char *told = text_of(line, "sha256");

    if (!members_are(line, names) ||
        (!text_of(line, "seal") && !json_is_null(json_object_get(line, "seal"))))
        return damaged(reader, err, "is not a line that bundles have");
    reader->has_end = true;
    digest_hex(&digest, hex);
    snprintf(head->seal_body, sizeof(head->seal_body), BUNDLE_SEAL, hex);
    head->records = member_integer(line, "records");
    if (text_of(line, "seal") && !(head->seal = strdup(text_of(line, "seal"))))
        return error_no_memory(err);
    if (!json_is_integer(json_object_get(line, "records")) || head->records != reader->records)
        return damaged(reader, err, "it does not count the records that came before it");
    return told && !strcmp(told, hex)
               ? STATUS_OK
               : damaged(reader, err, "its own SHA-256 does not match: it was changed in transit");
}

/* A line's members; the value of "record" is kept apart. */
struct parsing {
    json_t *json;
    struct record_span record;
};

static enum status take_member(void *context, struct record_span name, struct record_span value,
                               struct error *err)
{
    struct parsing *parsing = context;
    AUTO_FREE char *key = text_format("%.*s", (int)name.length, name.bytes);
    const bool is_record = key && !strcmp(key, "record");
    json_t *json =
        is_record ? json_null() : json_loadb(value.bytes, value.length, JSON_DECODE_ANY, NULL);
    const bool is_set = key && json_object_set_new(parsing->json, key, json) == 0;

    if (!key)
        json_decref(json);
    if (is_record)
        parsing->record = value;
    return is_set ? STATUS_OK : error_no_memory(err);
}

/* Only the canonical form: anything else was not written by assay. `ret->json`: a new reference. */
static enum status parse_line(struct reader *reader, struct parsing *ret, struct error *err)
{
    const struct record_visitor visitor = {.context = ret, .is_exact = true, .top = take_member};
    enum status status;

    ret->json = json_object();
    if (!ret->json)
        return error_no_memory(err);
    status = record_scan(NULL, reader->line, reader->length, &visitor, err);
    return status == STATUS_CORRUPT ? damaged(reader, err, "is not a JSON object in canonical form")
                                    : status;
}

/* Reads a line, without its newline; *ret_more is false at the end. */
static enum status next_line(struct reader *reader, bool *ret_more, struct error *err)
{
    size_t length = 0;
    int c;

    reader->number++;
    while ((c = getc_unlocked(reader->file)) != EOF && c != '\n') {
        if (length + 1 >= reader->capacity) {
            const size_t capacity = reader->capacity ? reader->capacity * 2 : 65536;
            char *grown = capacity <= LINE_MAX_BYTES ? realloc(reader->line, capacity) : NULL;

            if (!grown)
                return capacity > LINE_MAX_BYTES
                           ? damaged(reader, err, "the line has more than 128 MiB")
                           : error_no_memory(err);
            reader->line = grown;
            reader->capacity = capacity;
        }
        reader->line[length++] = (char)c;
    }
    if (ferror(reader->file))
        return error_set_errno(err, errno, "%s", reader->path);
    reader->bytes += length + 1;
    reader->length = length;
    *ret_more = c != EOF;
    return c == EOF && length > 0 ? damaged(reader, err, "the file is truncated in this line")
                                  : STATUS_OK;
}

static enum status take_line(struct reader *reader, struct bundle_head *head, void *context,
                             enum status (*take)(void *, const struct bundle_head *,
                                                 const struct bundle_line *, struct error *),
                             struct error *err)
{
    struct parsing line = {0};
    enum status status = parse_line(reader, &line, err);

    reader->records += line.record.bytes != NULL;
    if (status == STATUS_OK && reader->has_end)
        status = damaged(reader, err, "there is data after the bundle's last line");
    else if (status == STATUS_OK && reader->number == 1)
        status = take_head(reader, line.json, head, err);
    else if (status == STATUS_OK && json_object_get(line.json, "seal"))
        status = take_end(reader, line.json, head, err);
    else if (status == STATUS_OK)
        status = take(
            context, head,
            &(struct bundle_line){line.json, line.record.bytes, line.record.length, reader->number},
            err);
    json_decref(line.json);
    digest_update(&reader->before, reader->line, reader->length);
    digest_update(&reader->before, "\n", 1);
    return status;
}

static bool begins_as_one(FILE *file)
{
    char begin[sizeof(MARK)] = "";

    return fread(begin, 1, strlen(MARK), file) == strlen(MARK) && !strcmp(begin, MARK);
}

enum status bundle_read(const char *path, struct bundle_head *ret, void *context,
                        enum status (*take)(void *context, const struct bundle_head *head,
                                            const struct bundle_line *line, struct error *err),
                        bool (*progress)(void *context, uint64_t done, uint64_t total),
                        struct error *err)
{
    struct reader reader = {.path = path};
    bool more = true;
    enum status status = STATUS_OK;

    memset(ret, 0, sizeof(*ret));
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
    digest_init(&reader.before);
    while (status == STATUS_OK && (status = next_line(&reader, &more, err)) == STATUS_OK && more) {
        status = take_line(&reader, ret, context, take, err);
        if (status == STATUS_OK && reader.number % 64 == 0 && progress &&
            !progress(context, reader.bytes, reader.total))
            status = error_set(err, STATUS_INTERRUPTED, "interrupted");
    }
    if (status == STATUS_OK && !reader.has_end)
        status = damaged(&reader, err, "the bundle has no last line: the file is truncated");
    ret->sha256 = digest_final(&reader.before);
    free(reader.line);
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
