#include "results/bundle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/text.h"
#include "results/merkle.h"
#include "results/note.h"

#define LINE_MAX_BYTES ((size_t)128 << 20)
#define MARK "{\"assay_bundle\":"
#define COLUMNS_MAX 64

struct reader {
    const char *path;
    FILE *file;
    const struct bundle_visitor *visitor;
    const struct verify_options *options;
    struct bundle_head head;
    struct digest_state sha256;
    char *line;
    size_t capacity;
    uint64_t number, bytes, total; /* of the line; read; of the file */
    int64_t rows, withheld, last_leaf;
    bool has_head, has_end;
    char *seal; /* as the last line has it; NULL: none */
    char seal_body[128];
};

static void found(const struct reader *reader, enum verify_level level, enum verify_check check,
                  const char *table, const char *format, ...) __attribute__((format(printf, 5, 6)));

static void found(const struct reader *reader, enum verify_level level, enum verify_check check,
                  const char *table, const char *format, ...)
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
#define WRONG(reader, check, table, ...)                                                           \
    found(reader, VERIFY_WRONG, VERIFY_##check, table, __VA_ARGS__)

static enum status corrupt(const struct reader *reader, struct error *err, const char *what)
{
    return error_set(err, STATUS_CORRUPT, "%s:%" PRIu64 ": not a bundle of assay: %s", reader->path,
                     reader->number, what);
}

bool bundle_decode(const json_t *base64, unsigned char **ret, size_t *ret_length)
{
    const char *text = json_string_value(base64);
    const size_t length = json_string_length(base64);
    unsigned char *bytes = text ? malloc(length + 1) : NULL;

    if (!bytes || sodium_base642bin(bytes, length + 1, text, length, NULL, ret_length, NULL,
                                    sodium_base64_VARIANT_ORIGINAL) != 0) {
        free(bytes);
        return false;
    }
    *ret = bytes;
    return true;
}

/* ---- the head ---- */

static const char *text_of(const json_t *object, const char *key)
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

static bool is_text_array(const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!json_is_string(json_array_get(array, i)))
            return false;
    return json_is_array(array);
}

static enum status take_head(struct reader *reader, const json_t *line, struct error *err)
{
    struct bundle_head *head = &reader->head;
    const json_t *campaigns = json_object_get(line, "campaigns");
    const json_t *withheld = json_object_get(line, "withheld");
    const char *root = text_of(line, "root");

    if (json_integer_value(json_object_get(line, "assay_bundle")) != BUNDLE_VERSION)
        return corrupt(reader, err, "of another version; this assay reads version 1");
    head->size = json_integer_value(json_object_get(line, "size"));
    head->schema = json_integer_value(json_object_get(line, "schema"));
    head->created_utc_ns = json_integer_value(json_object_get(line, "created_utc_ns"));
    if (!text_of(line, "origin") || !text_of(line, "note") || !text_of(line, "tool") || !root ||
        !digest_from_hex(root, &head->root) || head->size < 1 || !is_text_array(campaigns) ||
        !is_text_array(withheld))
        return corrupt(reader, err, "its first line lacks origin, note, root, size or campaigns");
    head->origin = text_format("%s", text_of(line, "origin"));
    head->note = text_format("%s", text_of(line, "note"));
    head->tool = text_format("%s", text_of(line, "tool"));
    head->campaigns = json_incref((json_t *)campaigns);
    head->withheld = json_incref((json_t *)withheld);
    reader->has_head = true;
    if (!head->origin || !head->note || !head->tool)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
    return reader->visitor->head ? reader->visitor->head(reader->visitor->context, head, err)
                                 : STATUS_OK;
}

/* The parts of the note's fourth line, which the first line of the bundle does not repeat. */
static bool parse_note(const struct bundle_head *head, char kind[32], char campaign[STORE_UID_SIZE],
                       struct note *ret)
{
    const char *at = head->note;

    for (int i = 0; i < 3 && at; i++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if (!at || sscanf(at, "%31s %" SCNd64 " %64s", kind, &ret->utc_ns, campaign) != 3)
        return false;
    ret->origin = head->origin;
    ret->size = head->size;
    ret->root = head->root;
    ret->kind = kind;
    ret->campaign = strcmp(campaign, "-") ? campaign : NULL;
    return true;
}

/* The 64 bytes that a signature line holds for a key; false when the line is of another key. */
static bool signature_of(const char *line, size_t length, const struct key_public *key,
                         uint8_t ret[KEY_SIGNATURE_SIZE])
{
    static const char mark[] = "\xe2\x80\x94 "; /* an em dash */
    const size_t name = strlen(key->name);
    uint8_t bytes[4 + KEY_SIGNATURE_SIZE];
    const uint32_t id = key_id(key);
    size_t got = 0;

    if (length < strlen(mark) + name + 1 || memcmp(line, mark, strlen(mark)) != 0 ||
        memcmp(line + strlen(mark), key->name, name) != 0 || line[strlen(mark) + name] != ' ')
        return false;
    line += strlen(mark) + name + 1;
    length -= strlen(mark) + name + 1;
    if (sodium_base642bin(bytes, sizeof(bytes), line, length, NULL, &got, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        got != sizeof(bytes) || bytes[0] != (uint8_t)(id >> 24) ||
        bytes[1] != (uint8_t)(id >> 16) || bytes[2] != (uint8_t)(id >> 8) ||
        bytes[3] != (uint8_t)id)
        return false;
    memcpy(ret, bytes + 4, KEY_SIGNATURE_SIZE);
    return true;
}

static bool is_signed_by(const char *signatures, const char *body, const struct key_public *key)
{
    uint8_t signature[KEY_SIGNATURE_SIZE];

    for (const char *at = signatures; *at;) {
        const size_t length = strcspn(at, "\n");

        if (signature_of(at, length, key, signature) &&
            crypto_sign_verify_detached(signature, (const uint8_t *)body, strlen(body),
                                        key->bytes) == 0)
            return true;
        at += length + (at[length] == '\n');
    }
    return false;
}

/* The signature lines behind the body and an empty line; NULL when the text has another body. */
static const char *signatures_of(const char *text, const char *body)
{
    const size_t length = strlen(body);

    return text && !strncmp(text, body, length) && text[length] == '\n' ? text + length + 1 : NULL;
}

static void check_signatures(const struct reader *reader, const char *what, const char *text,
                             const char *body)
{
    const struct verify_options *options = reader->options;
    const char *signatures = signatures_of(text, body);

    if (text && !signatures)
        WRONG(reader, SIGNATURE, NULL, "what is signed is not the %s", what);
    for (size_t i = 0; options && i < options->key_count; i++)
        if (!signatures || !is_signed_by(signatures, body, &options->keys[i]))
            WRONG(reader, SIGNATURE, NULL, "the %s is not signed by the key \"%s\"", what,
                  options->keys[i].name);
}

static void check_notes(const struct reader *reader)
{
    const struct bundle_head *head = &reader->head;
    const struct verify_options *options = reader->options;
    char kind[32], campaign[STORE_UID_SIZE], hex[DIGEST_HEX_SIZE], sized[96];
    struct note note = {0};
    struct text body;

    text_init(&body);
    if (parse_note(head, kind, campaign, &note)) {
        note_append_body(&body, &note);
        check_signatures(reader, "head", head->note, body.data);
    } else {
        WRONG(reader, SIGNATURE, NULL, "its note is not one of a ledger's head");
    }
    text_finish(&body);
    check_signatures(reader, "bundle's end", reader->seal, reader->seal_body);
    if (!options || options->key_count == 0)
        found(reader, VERIFY_NOTE, VERIFY_SIGNATURE, NULL, "%s",
              reader->seal ? "the bundle is signed; --key checks by whom"
                           : "the bundle is not signed: who made it, and whether rows were taken "
                             "out of it, cannot be told");
    if (options && options->expect_head) {
        snprintf(sized, sizeof(sized), "%" PRId64 ":%s", head->size, digest_hex(&head->root, hex));
        if (strcmp(options->expect_head, hex) != 0 && strcmp(options->expect_head, sized) != 0)
            WRONG(reader, HEAD, NULL, "the head is %s, expected was %s", sized,
                  options->expect_head);
    }
}

/* ---- rows ---- */

static bool check_blob(const struct reader *reader, const char *table, const char *column,
                       const json_t *described, const json_t *blobs)
{
    const char *sha256 = text_of(described, "sha256");
    struct digest expected, digest;
    unsigned char *bytes = NULL;
    size_t length = 0;
    bool holds = false;

    if (sha256 && digest_from_hex(sha256, &expected) &&
        bundle_decode(json_object_get(blobs, column), &bytes, &length) &&
        (json_int_t)length == json_integer_value(json_object_get(described, "bytes"))) {
        digest = digest_bytes(bytes, length);
        holds = digest_equal(&digest, &expected);
    }
    free(bytes);
    if (!holds)
        WRONG(reader, CONTENT, table, "the bytes of %s are not those that entered the ledger",
              column);
    return holds;
}

static bool check_commitment(const struct reader *reader, const char *table, const char *column,
                             const char *commitment, const json_t *opened)
{
    const char *salt_hex = text_of(opened, "salt");
    const json_t *value = json_object_get(opened, "value");
    struct digest salt, expected, digest;
    struct digest_state state;
    char *dumped = NULL;
    bool holds = false;

    if (salt_hex && value && digest_from_hex(salt_hex, &salt) &&
        digest_from_hex(commitment, &expected) &&
        canonical_dump(value, &dumped, NULL) == STATUS_OK) {
        digest_init(&state);
        digest_update(&state, salt.bytes, DIGEST_SIZE);
        digest_update(&state, dumped, strlen(dumped));
        digest = digest_final(&state);
        holds = digest_equal(&digest, &expected);
    }
    free(dumped);
    if (!holds)
        WRONG(reader, CONTENT, table, "%s is not the value that was committed to", column);
    return holds;
}

/* Every value of the row: as it stands, opened, or withheld. */
static bool check_values(struct reader *reader, const struct bundle_row *row)
{
    const char *column;
    json_t *value;
    bool holds = true;

    json_object_foreach((json_t *)row->row, column, value)
    {
        const char *commitment = text_of(value, "commitment");
        const json_t *opened = json_object_get(row->values, column);

        if (commitment && !opened) {
            reader->withheld++;
            continue;
        }
        if (commitment) {
            holds &= check_commitment(reader, row->table, column, commitment, opened);
            value = json_object_get(opened, "value");
        }
        if (text_of(value, "sha256"))
            holds &= check_blob(reader, row->table, column, value, row->blobs);
    }
    return holds;
}

static bool check_proof(const struct reader *reader, const json_t *data, const json_t *path,
                        int64_t leaf, struct error *err)
{
    struct digest nodes[MERKLE_HEIGHT_MAX], digest;
    const size_t count = json_array_size(path);
    char *dumped = NULL;
    bool holds = json_is_array(path) && count <= MERKLE_HEIGHT_MAX;

    for (size_t i = 0; holds && i < count; i++) {
        const char *hex = json_string_value(json_array_get(path, i));

        holds = hex && digest_from_hex(hex, &nodes[i]);
    }
    if (holds && canonical_dump(data, &dumped, err) == STATUS_OK) {
        digest = merkle_leaf(dumped, strlen(dumped));
        holds = merkle_proves(&digest, (uint64_t)leaf, (uint64_t)reader->head.size, nodes, count,
                              &reader->head.root);
    } else {
        holds = false;
    }
    free(dumped);
    return holds;
}

static enum status take_row(struct reader *reader, const json_t *line, struct error *err)
{
    const json_t *data = json_object_get(line, "data");
    const struct bundle_row row = {
        .leaf = json_integer_value(json_object_get(line, "leaf")),
        .table = text_of(data, "table"),
        .key = json_object_get(line, "key"),
        .row = json_object_get(data, "row"),
        .values = json_object_get(line, "values"),
        .blobs = json_object_get(line, "blobs"),
    };

    if (!json_is_integer(json_object_get(line, "leaf")) || !row.table || !json_is_object(row.row) ||
        json_object_size(row.row) > COLUMNS_MAX)
        return corrupt(reader, err, "a row without leaf, table or values");
    reader->rows++;
    if (row.leaf <= reader->last_leaf) {
        WRONG(reader, TREE, row.table, "leaf %" PRId64 " stands behind leaf %" PRId64, row.leaf,
              reader->last_leaf);
        return STATUS_OK;
    }
    reader->last_leaf = row.leaf;
    if (row.leaf >= reader->head.size ||
        !check_proof(reader, data, json_object_get(line, "path"), row.leaf, err)) {
        WRONG(reader, ROW, row.table, "the row is not leaf %" PRId64 " under the head", row.leaf);
        return STATUS_OK;
    }
    if (!check_values(reader, &row) || !reader->visitor->row)
        return STATUS_OK;
    return reader->visitor->row(reader->visitor->context, &row, err);
}

/* ---- lines ---- */

static enum status take_end(struct reader *reader, const json_t *line,
                            const struct digest_state *before)
{
    struct digest_state state = *before;
    const struct digest digest = digest_final(&state);
    struct digest expected;
    const char *hex = text_of(line, "sha256");
    char own[DIGEST_HEX_SIZE];

    reader->has_end = true;
    snprintf(reader->seal_body, sizeof(reader->seal_body), BUNDLE_SEAL, digest_hex(&digest, own));
    if (text_of(line, "seal"))
        reader->seal = text_format("%s", text_of(line, "seal"));
    if (json_integer_value(json_object_get(line, "rows")) != reader->rows)
        WRONG(reader, COMPLETE, NULL, "the bundle has %" PRId64 " rows and counts %lld",
              reader->rows, (long long)json_integer_value(json_object_get(line, "rows")));
    if (!hex || !digest_from_hex(hex, &expected) || !digest_equal(&digest, &expected))
        WRONG(reader, FILE, NULL, "the file's own SHA-256 does not fit: it was changed on its way");
    return STATUS_OK;
}

static enum status take_line(struct reader *reader, size_t length, struct error *err)
{
    const struct digest_state before = reader->sha256;
    char origin[300];
    json_t *line = NULL;
    enum status status;

    snprintf(origin, sizeof(origin), "%.250s:%" PRIu64, reader->path, reader->number);
    status = canonical_parse(reader->line, length, origin, &line, err);
    if (status != STATUS_OK)
        return status;
    digest_update(&reader->sha256, reader->line, length);
    digest_update(&reader->sha256, "\n", 1);
    if (reader->has_end)
        WRONG(reader, FILE, NULL, "something stands behind the bundle's last line");
    else if (!reader->has_head)
        status = take_head(reader, line, err);
    else if (json_object_get(line, "leaf"))
        status = take_row(reader, line, err);
    else
        status = take_end(reader, line, &before);
    json_decref(line);
    return status;
}

/* Reads a line into reader->line, without its newline; *ret_more is false at the end. */
static enum status next_line(struct reader *reader, size_t *ret_length, bool *ret_more,
                             struct error *err)
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
                           ? corrupt(reader, err, "a line of more than 128 MiB")
                           : error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
            reader->line = grown;
            reader->capacity = capacity;
        }
        reader->line[length++] = (char)c;
    }
    if (ferror(reader->file))
        return error_set_errno(err, errno, "%s", reader->path);
    reader->bytes += length + 1;
    *ret_length = length;
    *ret_more = c != EOF || length > 0;
    if (*ret_more && c == EOF)
        WRONG(reader, FILE, NULL, "the last line has no end: the file was cut off");
    return STATUS_OK;
}

static enum status read_lines(struct reader *reader, struct error *err)
{
    size_t length;
    bool more = true;
    enum status status = next_line(reader, &length, &more, err);

    if (status == STATUS_OK &&
        (length < strlen(MARK) || memcmp(reader->line, MARK, strlen(MARK)) != 0))
        return corrupt(reader, err, "it does not begin as one");
    while (status == STATUS_OK && more) {
        status = take_line(reader, length, err);
        if (status == STATUS_OK && reader->number % 256 == 0 && reader->visitor->progress &&
            !reader->visitor->progress(reader->visitor->context, reader->bytes, reader->total))
            status = error_set(err, STATUS_INTERRUPTED, "interrupted");
        if (status == STATUS_OK)
            status = next_line(reader, &length, &more, err);
    }
    return status;
}

enum status bundle_read(const char *path, const struct bundle_visitor *visitor,
                        const struct verify_options *options, struct digest *ret_sha256,
                        struct error *err)
{
    struct reader reader = {.path = path, .visitor = visitor, .options = options, .last_leaf = -1};
    enum status status;

    reader.file = fopen(path, "re");
    if (!reader.file)
        return error_set_errno(err, errno, "%s", path);
    if (fseeko(reader.file, 0, SEEK_END) == 0)
        reader.total = (uint64_t)ftello(reader.file);
    rewind(reader.file);
    digest_init(&reader.sha256);
    status = read_lines(&reader, err);
    reader.number = 0;
    if (status == STATUS_OK && !reader.has_end)
        WRONG(&reader, COMPLETE, NULL, "the bundle has no last line: the file was cut off");
    if (status == STATUS_OK)
        check_notes(&reader);
    if (status == STATUS_OK && reader.withheld > 0)
        found(&reader, VERIFY_NOTE, VERIFY_CONTENT, NULL,
              "%" PRId64 " values are withheld; the commitments to them hold", reader.withheld);
    if (status == STATUS_OK)
        *ret_sha256 = digest_final(&reader.sha256);
    bundle_head_finish(&reader.head);
    free(reader.line);
    free(reader.seal);
    fclose(reader.file);
    return status;
}

bool bundle_recognise(const char *path)
{
    char begin[sizeof(MARK)] = "";
    FILE *file = fopen(path, "re");
    bool ours = file && fread(begin, 1, strlen(MARK), file) == strlen(MARK) && !strcmp(begin, MARK);

    if (file)
        fclose(file);
    return ours;
}
