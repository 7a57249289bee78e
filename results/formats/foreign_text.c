#include "results/formats/foreign_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "harness/core/canonical.h"
#include "harness/core/text.h"

#define DEPTH_MAX 64     /* of objects and lists in each other; the formats have at most 6 */
#define TOKEN_MAX 512    /* bytes of a number or a word; fixed notation has up to 310 digits */
#define EFFORT_FACTOR 16 /* bytes looked at in all, for each byte of the file */

static const char blanks[] = " \t\r\n";

/* A value that begins at `at`, spelled as JSON into `out`. */
struct scan {
    const char *at, *end;
    char *out;
    size_t length, complete; /* of out; up to the last entry of the list that is whole */
    char open[DEPTH_MAX];    /* what closes the values that are open */
    size_t depth, list_depth;
    bool ended; /* the value's own end was seen */
};

static void put(struct scan *scan, const char *bytes, size_t count)
{
    memcpy(scan->out + scan->length, bytes, count);
    scan->length += count;
}

/* From a quote to the next, or to where the bytes are cut off; false: the line ends before. */
static bool take_string(struct scan *scan)
{
    const char *at = scan->at + 1;

    while (at < scan->end && *at != '"' && *at != '\n')
        at += *at == '\\' && at + 1 < scan->end ? 2 : 1;
    if (at < scan->end && *at != '"')
        return false;
    if (at < scan->end)
        put(scan, scan->at, (size_t)(at + 1 - scan->at));
    scan->at = at < scan->end ? at + 1 : scan->end;
    return true;
}

static bool is_no_number(const char *word)
{
    static const char *const words[] = {"nan",       "inf",      "infinity", "nan(ind)",
                                        "nan(snan)", "1.#qnan",  "1.#ind",   "1.#inf",
                                        "1.#snan",   "1.#qnan0", "1.#inf00", "1.#ind00"};

    word += *word == '-' || *word == '+';
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcasecmp(word, words[i]))
            return true;
    return false;
}

/* Whether jansson reads it as a number: an integer of 64 bits, or a finite real. */
static bool is_number(const char *word)
{
    int64_t whole;
    double real;

    return strpbrk(word, ".eE") ? text_parse_double(word, &real) : text_parse_i64(word, &whole);
}

/* Digits that make no number of this kind: an integer beyond 64 bits, a real beyond a double. */
static bool is_digits(const char *word)
{
    const char *first = word + (*word == '-');

    return *first >= '0' && *first <= '9' && !first[strspn(first, "+-.0123456789eE")];
}

/* A number, true, false or null; what is no number in JSON becomes text. */
static bool take_word(struct scan *scan)
{
    char word[TOKEN_MAX];
    size_t length = 0;
    bool known;

    while (scan->at + length < scan->end && length < sizeof(word) - 1 &&
           !strchr(" \t\r\n,:{}[]\"", scan->at[length]) && scan->at[length])
        length++;
    memcpy(word, scan->at, length);
    word[length] = '\0';
    known =
        !strcmp(word, "true") || !strcmp(word, "false") || !strcmp(word, "null") || is_number(word);
    if (!known && !is_no_number(word) && !is_digits(word)) {
        const bool is_cut = scan->at + length == scan->end;

        scan->at += is_cut ? length : 0;
        return is_cut;
    }
    put(scan, "\"", !known);
    put(scan, word, length);
    put(scan, "\"", !known);
    scan->at += length;
    return true;
}

static bool take_bracket(struct scan *scan)
{
    const char c = *scan->at;

    if (c == '{' || c == '[') {
        if (scan->depth == DEPTH_MAX)
            return false;
        scan->open[scan->depth++] = c == '{' ? '}' : ']';
    } else if (scan->depth == 0 || scan->open[scan->depth - 1] != c) {
        return false;
    } else {
        scan->depth--;
    }
    put(scan, scan->at++, 1);
    if (c == '}' && scan->depth == scan->list_depth && scan->open[scan->depth - 1] == ']')
        scan->complete = scan->length;
    scan->ended = scan->depth == 0;
    return true;
}

/* Up to the end of the value or of the bytes; false: it is no JSON. */
static bool take_value(struct scan *scan)
{
    bool ok = true;

    while (ok && scan->at < scan->end && !scan->ended) {
        if (strchr("{}[]", *scan->at) && *scan->at) {
            ok = take_bracket(scan);
        } else if (*scan->at == '"') {
            ok = take_string(scan);
        } else if (strchr(" \t\r\n,:", *scan->at) && *scan->at) {
            put(scan, scan->at++, 1);
        } else {
            ok = take_word(scan);
        }
        if (scan->depth == 0)
            break; /* a text or a number by itself */
    }
    return ok;
}

/* The value as JSON; of one that is cut off, its list up to the last whole entry. */
static enum status parse_scan(struct scan *scan, const char *where, json_t **ret, struct error *err)
{
    enum status status;

    if (!scan->ended) {
        scan->length = scan->complete;
        put(scan, "]}", scan->list_depth);
    }
    status = canonical_parse(scan->out, scan->length, where, ret, err);
    if (status == STATUS_CORRUPT && err)
        err->code = STATUS_INVALID;
    return status == STATUS_CORRUPT ? STATUS_INVALID : status;
}

static bool fits(const json_t *root, const char *list)
{
    if (list)
        return json_object_get(root, list) != NULL;
    return json_is_array(root) &&
           (json_array_size(root) == 0 || json_is_object(json_array_get(root, 0)));
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && *at && strchr(blanks, *at))
        at++;
    return at;
}

static bool begins_at(const char *at, const char *end, bool array)
{
    const char *next = at < end ? skip_blanks(at + 1, end) : end;

    if (at >= end || *at != (array ? '[' : '{') || next >= end)
        return false;
    return array ? *next == '{' || *next == ']' : *next == '"' || *next == '}';
}

/* The next line that begins such a value; NULL: none does. */
static const char *next_beginning(const char *at, const char *end, bool array)
{
    while (at < end) {
        const char *first = skip_blanks(at, end), *newline;

        if (begins_at(first, end, array))
            return first;
        newline = first < end ? memchr(first, '\n', (size_t)(end - first)) : NULL;
        at = newline ? newline + 1 : end;
    }
    return NULL;
}

bool foreign_text_begins(const char *head, size_t length, bool array)
{
    return next_beginning(head, head + length, array) != NULL;
}

struct found {
    json_t *root;
    size_t count;
    bool cut;
};

/* `scan` begins a value: takes it when it is what is looked for. */
static enum status consider(struct scan *scan, const char *list, const char *where,
                            struct found *found, struct error *err)
{
    struct error why = ERROR_INIT;
    json_auto_t *root = NULL;
    const bool cut = !scan->ended;
    enum status status = parse_scan(scan, where, &root, &why);

    if (status == STATUS_NO_MEMORY)
        return error_set(err, status, "%s", why.message);
    if (status == STATUS_OK && fits(root, list) && !(cut && found->count)) {
        if (!found->root)
            found->root = json_incref(root);
        found->cut = cut;
        found->count++;
    }
    return STATUS_OK;
}

/* Every line at which what is looked for may begin, with a bound on the bytes looked at. */
static enum status search(const char *bytes, size_t length, const char *where, const char *list,
                          struct found *found, struct error *err)
{
    const char *end = bytes + length, *at = bytes;
    struct scan scan = {.out = malloc(2 * length + 8)};
    size_t effort = length * EFFORT_FACTOR + 65536;
    enum status status = STATUS_OK;

    if (!scan.out)
        return error_no_memory(err);
    while (status == STATUS_OK && effort > 0 && (at = next_beginning(at, end, !list))) {
        bool good;
        size_t seen;

        scan = (struct scan){.at = at, .end = end, .out = scan.out, .list_depth = list ? 2 : 1};
        good = take_value(&scan);
        seen = (size_t)(scan.at - at) + 1;
        effort -= seen < effort ? seen : effort;
        if (good && (scan.ended || scan.complete))
            status = consider(&scan, list, where, found, err);
        if (good && scan.ended) {
            at = scan.at;
        } else {
            at = memchr(at, '\n', (size_t)(end - at));
            at = at ? at + 1 : end;
        }
    }
    free(scan.out);
    return status;
}

enum status foreign_text_find(const char *bytes, size_t length, const char *where, const char *list,
                              json_t **ret, bool *ret_cut, struct error *err)
{
    struct found found = {0};
    struct error why = ERROR_INIT; /* its message stands unless something is found */
    enum status status = canonical_parse(bytes, length, where, &found.root, &why);

    *ret_cut = false;
    if (status == STATUS_OK) {
        *ret = found.root;
        return STATUS_OK;
    }
    if (status == STATUS_CORRUPT)
        status = search(bytes, length, where, list, &found, &why);
    if (status == STATUS_OK && found.count == 1) {
        *ret = found.root;
        *ret_cut = found.cut;
        return STATUS_OK;
    }
    json_decref(found.root);
    if (status == STATUS_OK && found.count > 1)
        return error_set(err, STATUS_INVALID,
                         "%s: has %zu outputs one after the other: keep the one that is meant, or "
                         "put each into a file of its own",
                         where, found.count);
    return error_set(err, status == STATUS_OK ? STATUS_INVALID : status, "%s", why.message);
}

enum status foreign_text_parse(const char *bytes, size_t length, const char *where, json_t **ret,
                               struct error *err)
{
    const char *first = skip_blanks(bytes, bytes + length);
    struct scan scan = {.at = first, .end = bytes + length, .list_depth = 1};
    struct error why = ERROR_INIT;
    enum status status = canonical_parse(bytes, length, where, ret, &why);

    if (status == STATUS_OK)
        return status;
    if (status != STATUS_CORRUPT)
        return error_set(err, status, "%s", why.message);
    scan.out = malloc(2 * length + 8);
    if (!scan.out)
        return error_no_memory(err);
    status = STATUS_INVALID;
    if (first < scan.end && strchr("{[", *first) && *first && take_value(&scan) && scan.ended &&
        skip_blanks(scan.at, scan.end) == scan.end)
        status = parse_scan(&scan, where, ret, &why);
    free(scan.out);
    return status == STATUS_OK ? STATUS_OK : error_set(err, status, "%s", why.message);
}
