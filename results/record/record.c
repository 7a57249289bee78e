#include "results/record/record.h"

#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"

#define PATH_PARTS_MAX 4 /* the longest path of a member that can be withheld */

/* One pass over a body: validates its form, and finds members and references. */
struct scan {
    const struct record_type *type;
    const char *at, *end;
    const struct record_visitor *visitor;
    struct error *err;
    enum status status;
    /* The path of the current value, up to the parts that patterns can have. */
    struct {
        struct record_span name; /* as it is written, without quotes; bytes NULL: a position */
        size_t position;
    } parts[PATH_PARTS_MAX];
    int depth;
    bool has_type;
    bool can_commit; /* a member can be withheld that is, or is in, the member of depth 1 */
};

static bool fail(struct scan *scan, const char *why)
{
    if (scan->status == STATUS_OK && scan->type)
        scan->status = error_set(scan->err, STATUS_CORRUPT, "is no record of type %s: %s",
                                 scan->type->name, why);
    else if (scan->status == STATUS_OK)
        scan->status = error_set(scan->err, STATUS_CORRUPT, "is not in canonical form: %s", why);
    return false;
}

static bool take(struct scan *scan, char c)
{
    if (scan->at == scan->end || *scan->at != c)
        return false;
    scan->at++;
    return true;
}

static bool take_word(struct scan *scan, const char *word)
{
    const size_t length = strlen(word);

    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
        return false;
    scan->at += length;
    return true;
}

/* A control character is escaped by its short form where it has one, else as \u00xx; there is no
 * NUL. */
static bool take_escape(struct scan *scan)
{
    char c;

    if (scan->at == scan->end)
        return false;
    c = *scan->at++;
    if (strchr("\"\\bfnrt", c) && c)
        return true;
    if (c != 'u' || scan->end - scan->at < 4 || memcmp(scan->at, "00", 2) != 0 ||
        (scan->at[2] != '0' && scan->at[2] != '1') ||
        !((scan->at[3] >= '0' && scan->at[3] <= '9') ||
          (scan->at[3] >= 'a' && scan->at[3] <= 'f')) ||
        (scan->at[2] == '0' && strchr("089acd", scan->at[3])))
        return false;
    scan->at += 4;
    return true;
}

/* The content of a string, without its quotes. UTF-8 is checked once for the whole body. */
static bool take_string(struct scan *scan, struct record_span *ret)
{
    if (!take(scan, '"'))
        return fail(scan, "a string is expected");
    ret->bytes = scan->at;
    while (scan->at < scan->end && *scan->at != '"') {
        unsigned char c = (unsigned char)*scan->at;
        uint64_t bytes;

        if (scan->end - scan->at >= 8 && c != '\\') {
            memcpy(&bytes, scan->at, 8);
            scan->at += canonical_plain_of_eight(le64toh(bytes));
            if (scan->at == scan->end || *scan->at == '"')
                break;
            c = (unsigned char)*scan->at;
        }
        scan->at++;
        if (c < 0x20 || (c == '\\' && !take_escape(scan)))
            return fail(scan, "a string is not in canonical form");
    }
    ret->length = (size_t)(scan->at - ret->bytes);
    return take(scan, '"') || fail(scan, "it ends within a string");
}

static int take_digits(struct scan *scan)
{
    const char *first = scan->at;

    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return (int)(scan->at - first);
}

/* Whether a number is the one that the canonical form has for its value. */
static bool is_shortest(const char *text, size_t length, bool is_real)
{
    char copy[CANONICAL_REAL_SIZE], again[CANONICAL_REAL_SIZE];
    int64_t integer;
    double real;

    if (length >= sizeof(copy))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (!is_real)
        return text_parse_i64(copy, &integer);
    /* From 1e-6 on, no two decimals of up to 15 digits read back as the same double. */
    if (length <= 15 && !strchr(copy, 'e') && strspn(copy, "-.0") <= strlen("0.00000"))
        return true;
    return text_parse_double(copy, &real) && !strcmp(canonical_real(real, again), copy);
}

static bool take_number(struct scan *scan)
{
    const char *first = scan->at;
    const bool is_negative = take(scan, '-');
    const char *whole = scan->at;
    int digits = take_digits(scan), exponent;
    bool is_real = false;

    if (digits == 0)
        return fail(scan, "a value is expected");
    if (*whole == '0' &&
        (digits > 1 || (is_negative && (scan->at == scan->end || *scan->at != '.'))))
        return fail(scan, "a number is not in canonical form");
    if (take(scan, '.')) {
        is_real = true;
        if (take_digits(scan) == 0 || scan->at[-1] == '0')
            return fail(scan, "a number is not in canonical form");
    }
    if (take(scan, 'e')) {
        const bool has_sign = take(scan, '+') || take(scan, '-');

        whole = scan->at;
        exponent = take_digits(scan);
        is_real = true;
        if (!has_sign || exponent == 0 || *whole == '0' || digits > 1)
            return fail(scan, "a number is not in canonical form");
    }
    if (scan->visitor->is_exact && !is_shortest(first, (size_t)(scan->at - first), is_real))
        return fail(scan, "a number is not in canonical form");
    return true;
}

/* ---- members that can be withheld ---- */

static bool part_fits(const struct scan *scan, int i, const char *part, size_t length)
{
    const struct record_span *name = &scan->parts[i].name;

    if (length == 1 && *part == '#')
        return !name->bytes;
    return name->bytes && ((length == 1 && *part == '*') ||
                           (length == name->length && memcmp(part, name->bytes, length) == 0));
}

static bool pattern_fits(const struct scan *scan, const char *pattern, const char *end)
{
    for (int i = 0; i < scan->depth; i++) {
        const char *slash = memchr(pattern, '/', (size_t)(end - pattern));
        const char *stop = slash ? slash : end;

        if (!part_fits(scan, i, pattern, (size_t)(stop - pattern)))
            return false;
        if (!slash)
            return i + 1 == scan->depth;
        pattern = slash + 1;
    }
    return false;
}

static bool is_committed(const struct scan *scan)
{
    const char *pattern = scan->type->committed;

    if (!scan->can_commit || scan->depth == 0 || scan->depth > PATH_PARTS_MAX)
        return false;
    while (*pattern) {
        const char *end = pattern + strcspn(pattern, " ");

        if (pattern_fits(scan, pattern, end))
            return true;
        pattern = *end ? end + 1 : end;
    }
    return false;
}

/* Whether a pattern begins with the name at depth 1: most members are in none, which is quickly
 * seen. */
static bool begins_pattern(const struct scan *scan)
{
    const char *pattern = scan->type && scan->visitor->member ? scan->type->committed : "";

    while (*pattern) {
        if (part_fits(scan, 0, pattern, strcspn(pattern, "/ ")))
            return true;
        pattern += strcspn(pattern, " ");
        pattern += *pattern == ' ';
    }
    return false;
}

static void append_path(const struct scan *scan, struct text *out)
{
    for (int i = 0; i < scan->depth; i++) {
        text_append_char(out, i ? ',' : '[');
        if (scan->parts[i].name.bytes) {
            text_append_char(out, '"');
            text_append_bytes(out, scan->parts[i].name.bytes, scan->parts[i].name.length);
            text_append_char(out, '"');
        } else {
            text_append_format(out, "%zu", scan->parts[i].position);
        }
    }
    text_append_char(out, ']');
}

/* The digest in {"NAME":"<64 hex digits>"}, if the span is that and nothing else. */
static bool reads_as(struct record_span span, const char *name, struct digest *ret)
{
    const size_t length = strlen(name);

    if (span.length != length + DIGEST_HEX_SIZE - 1 + 7 || memcmp(span.bytes, "{\"", 2) != 0 ||
        memcmp(span.bytes + 2, name, length) != 0 ||
        memcmp(span.bytes + 2 + length, "\":\"", 3) != 0 ||
        memcmp(span.bytes + span.length - 2, "\"}", 2) != 0)
        return false;
    return digest_from_digits(span.bytes + 5 + length, ret);
}

static bool visit_member(struct scan *scan, struct record_span value)
{
    struct digest commitment;
    CLEANUP(text_finish) struct text path = TEXT_INIT;

    if (!scan->visitor->member || !is_committed(scan))
        return true;
    append_path(scan, &path);
    if (!text_ok(&path))
        scan->status = error_no_memory(scan->err);
    else
        scan->status = scan->visitor->member(
            scan->visitor->context, (struct record_span){path.data, path.length}, value,
            reads_as(value, "withheld", &commitment) ? &commitment : NULL, scan->err);
    return scan->status == STATUS_OK;
}

static bool visit_top(struct scan *scan, struct record_span name, struct record_span value)
{
    if (scan->depth != 1 || !scan->visitor->top)
        return true;
    scan->status = scan->visitor->top(scan->visitor->context, name, value, scan->err);
    return scan->status == STATUS_OK;
}

static bool visit_reference(struct scan *scan, struct record_span object)
{
    struct digest digest;
    bool is_blob = false;

    if (!scan->visitor->reference ||
        !(reads_as(object, "record", &digest) || (is_blob = reads_as(object, "blob", &digest))))
        return true;
    scan->status = scan->visitor->reference(scan->visitor->context, is_blob, &digest, scan->err);
    return scan->status == STATUS_OK;
}

/* ---- values ---- */

static bool take_value(struct scan *scan);

/* The next byte of a string as it is written, decoded; -1 at its end. */
static int next_byte(struct record_span *string)
{
    static const char shorts[] = "b\bf\fn\nr\rt\t";
    int c;

    if (string->length == 0)
        return -1;
    c = (unsigned char)*string->bytes++;
    string->length--;
    if (c != '\\')
        return c;
    c = (unsigned char)*string->bytes++;
    string->length--;
    if (c == 'u') {
        const char last = string->bytes[3];

        c = (string->bytes[2] - '0') * 16 + (last <= '9' ? last - '0' : last - 'a' + 10);
        string->bytes += 4;
        string->length -= 4;
        return c;
    }
    for (const char *known = shorts; *known; known += 2)
        if (*known == c)
            return known[1];
    return c;
}

static int compare_names(const struct record_span *a, const struct record_span *b)
{
    struct record_span left = *a, right = *b;
    int x, y;

    for (size_t i = 0; i < a->length && i < b->length; i++) {
        if (a->bytes[i] == '\\' || b->bytes[i] == '\\')
            break;
        if (a->bytes[i] != b->bytes[i])
            return (unsigned char)a->bytes[i] - (unsigned char)b->bytes[i];
    }
    do {
        x = next_byte(&left);
        y = next_byte(&right);
    } while (x == y && x >= 0);
    return x - y;
}

static void set_part(struct scan *scan, const struct record_span *name, size_t position)
{
    if (scan->depth <= PATH_PARTS_MAX) {
        scan->parts[scan->depth - 1].name = name ? *name : (struct record_span){0};
        scan->parts[scan->depth - 1].position = position;
    }
    if (scan->depth == 1)
        scan->can_commit = begins_pattern(scan);
}

static bool check_type(struct scan *scan, const struct record_span *name,
                       const struct record_span *value)
{
    size_t length;

    if (!scan->type || scan->depth != 1 || name->length != 4 || memcmp(name->bytes, "type", 4) != 0)
        return true;
    length = strlen(scan->type->name);
    scan->has_type = value->length == length + 2 && *value->bytes == '"' &&
                     memcmp(value->bytes + 1, scan->type->name, length) == 0;
    return scan->has_type || fail(scan, "it names another type");
}

static bool take_object(struct scan *scan)
{
    struct record_span last = {0}, name;

    if (take(scan, '}'))
        return true;
    do {
        struct record_span value;

        if (!take_string(scan, &name))
            return false;
        if (last.bytes && compare_names(&last, &name) >= 0)
            return fail(scan, "its members are not sorted, or one is there twice");
        last = name;
        if (!take(scan, ':'))
            return fail(scan, "a colon is expected");
        set_part(scan, &name, 0);
        value.bytes = scan->at;
        if (!take_value(scan))
            return false;
        value.length = (size_t)(scan->at - value.bytes);
        if (!check_type(scan, &name, &value) || !visit_member(scan, value) ||
            !visit_top(scan, name, value))
            return false;
    } while (take(scan, ','));
    return take(scan, '}') || fail(scan, "an object does not end");
}

static bool take_array(struct scan *scan)
{
    if (take(scan, ']'))
        return true;
    for (size_t i = 0;; i++) {
        struct record_span value = {.bytes = scan->at};

        set_part(scan, NULL, i);
        if (!take_value(scan))
            return false;
        value.length = (size_t)(scan->at - value.bytes);
        if (!visit_member(scan, value))
            return false;
        if (!take(scan, ','))
            break;
    }
    return take(scan, ']') || fail(scan, "an array does not end");
}

static bool take_value(struct scan *scan)
{
    const char *first = scan->at;
    struct record_span string;
    bool is_object, taken;

    if (scan->at == scan->end)
        return fail(scan, "it ends too early");
    if (*first == '"')
        return take_string(scan, &string);
    is_object = take(scan, '{');
    if (!is_object && !take(scan, '['))
        return take_word(scan, "null") || take_word(scan, "true") || take_word(scan, "false") ||
               take_number(scan);
    if (++scan->depth > RECORD_DEPTH_MAX + (scan->type ? 0 : 1)) /* a bundle's line has a record */
        return fail(scan, "it is nested too deeply");
    taken = is_object ? take_object(scan) : take_array(scan);
    scan->depth--;
    return taken &&
           (!is_object ||
            visit_reference(scan, (struct record_span){first, (size_t)(scan->at - first)}));
}

enum status record_scan(const struct record_type *type, const char *body, size_t length,
                        const struct record_visitor *visitor, struct error *err)
{
    struct scan scan = {
        .type = type, .at = body, .end = body + length, .visitor = visitor, .err = err};

    if (length == 0 || *body != '{' || !text_is_utf8(body, length))
        fail(&scan, "it is no JSON object in UTF-8");
    else if (take_value(&scan) && scan.at != scan.end)
        fail(&scan, "something follows it");
    else if (scan.status == STATUS_OK && type && !scan.has_type)
        fail(&scan, "it names no type");
    return scan.status;
}

/* ---- elements of what was read ---- */

/* The end of a string that begins here. */
static const char *skip_string(const char *at)
{
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

static const char *skip_value(const char *at)
{
    int depth = 0;

    do {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at++;
    } while (depth > 0 || (*at != ',' && *at != '}' && *at != ']'));
    return at;
}

struct record_walk record_walk_begin(struct record_span value)
{
    const bool is_object = *value.bytes == '{';

    return (struct record_walk){is_object || *value.bytes == '[' ? value.bytes : NULL, is_object};
}

bool record_walk_next(struct record_walk *walk, struct record_span *ret_name,
                      struct record_span *ret_value)
{
    const char *at = walk->at;

    if (!at || *at == '}' || *at == ']' || at[1] == '}' || at[1] == ']')
        return false;
    *ret_name = (struct record_span){0};
    at++;
    if (walk->is_object) {
        const char *end = skip_string(at);

        *ret_name = (struct record_span){at + 1, (size_t)(end - at) - 2};
        at = end + 1;
    }
    walk->at = skip_value(at);
    *ret_value = (struct record_span){at, (size_t)(walk->at - at)};
    return true;
}

struct record_span record_find(struct record_span object, const char *name)
{
    struct record_walk walk = record_walk_begin(object);
    struct record_span at, value;

    while (walk.is_object && record_walk_next(&walk, &at, &value))
        if (at.length == strlen(name) && !memcmp(at.bytes, name, at.length))
            return value;
    return (struct record_span){"", 0};
}

/* ---- values in SQL ---- */

/* A string's bytes; heap where it has escapes. */
static int bind_string(sqlite3_stmt *statement, int parameter, struct record_span string)
{
    char *decoded;
    size_t length = 0;
    int c;

    if (!memchr(string.bytes, '\\', string.length))
        return sqlite3_bind_text(statement, parameter, string.bytes, (int)string.length,
                                 SQLITE_STATIC);
    decoded = malloc(string.length + 1);
    if (!decoded)
        return SQLITE_NOMEM;
    while ((c = next_byte(&string)) >= 0)
        decoded[length++] = (char)c;
    return sqlite3_bind_text(statement, parameter, decoded, (int)length, free);
}

static int bind_number(sqlite3_stmt *statement, int parameter, const struct record_span *value)
{
    char text[64];
    int64_t integer;
    double real;

    if (value->length >= sizeof(text))
        return SQLITE_MISMATCH;
    memcpy(text, value->bytes, value->length);
    text[value->length] = '\0';
    if (text_parse_i64(text, &integer))
        return sqlite3_bind_int64(statement, parameter, integer);
    return text_parse_double(text, &real) ? sqlite3_bind_double(statement, parameter, real)
                                          : SQLITE_MISMATCH;
}

int record_bind(sqlite3_stmt *statement, int parameter, const struct record_span *value)
{
    struct digest digest;

    switch (*value->bytes) {
    case '"':
        return bind_string(statement, parameter,
                           (struct record_span){value->bytes + 1, value->length - 2});
    case 't':
        return sqlite3_bind_int(statement, parameter, 1);
    case 'f':
        return sqlite3_bind_int(statement, parameter, 0);
    case 'n':
        return sqlite3_bind_null(statement, parameter);
    case '{':
        if (reads_as(*value, "record", &digest) || reads_as(*value, "blob", &digest))
            return sqlite3_bind_blob(statement, parameter, digest.bytes, DIGEST_SIZE,
                                     SQLITE_TRANSIENT);
        if (reads_as(*value, "withheld", &digest))
            return sqlite3_bind_text(statement, parameter, "(withheld)", -1, SQLITE_STATIC);
        /* fall through */
    case '[':
        return sqlite3_bind_text(statement, parameter, value->bytes, (int)value->length,
                                 SQLITE_STATIC);
    default:
        return bind_number(statement, parameter, value);
    }
}
