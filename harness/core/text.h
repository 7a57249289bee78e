/*
 * text - a growing byte string, and strict parsing.
 *
 * A failed allocation makes the text "failed": later appends do nothing, and text_ok() says so once
 * at the end, so that building code needs one check. The data is always NUL-terminated.
 */
#ifndef ASSAY_CORE_TEXT_H
#define ASSAY_CORE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
    char *data; /* "" while nothing was appended */
    size_t length;
    size_t capacity;
    bool failed;
};

/* Of an empty one, where it is declared. */
#define TEXT_INIT                                                                                  \
    {                                                                                              \
        .data = text_empty                                                                         \
    }
extern char text_empty[1];
void text_init(struct text *text);
void text_finish(struct text *text);
void text_clear(struct text *text);
bool text_ok(const struct text *text);

void text_append(struct text *text, const char *string);
void text_append_bytes(struct text *text, const void *bytes, size_t length);
void text_append_char(struct text *text, char c);
/* Longer by `length` bytes, which the caller writes; NULL: it has failed. */
char *text_extend(struct text *text, size_t length);
/*
 * For bytes whose number is known when they are written: returns the address after the last byte,
 * with room for `length`, or NULL: it has failed. text_extend_to ends the text at `end`, which must
 * be within that room.
 */
char *text_reserve(struct text *text, size_t length);
void text_extend_to(struct text *text, char *end);
void text_append_format(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void text_append_formatv(struct text *text, const char *format, va_list args);

/* Gives the heap string away (free() it) and leaves `text` empty; NULL when it failed. */
char *text_steal(struct text *text);

/* Heap copy by printf; NULL when out of memory. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whole-string parses: no blanks, no rest, no overflow; false leaves `ret` untouched. */
bool text_parse_i64(const char *string, int64_t *ret);
bool text_parse_u64(const char *string, uint64_t *ret);
bool text_parse_double(const char *string, double *ret); /* finite; locale does not matter */
/* "10", "512KiB", "1.5GiB", "2MB": bytes. */
bool text_parse_bytes(const char *string, uint64_t *ret);
/* "250ms", "2s", "1.5min", "1h", "800us", "40ns": nanoseconds. */
bool text_parse_duration_ns(const char *string, int64_t *ret);
/*
 * A moment in UTC, nanoseconds since 1970: "2026-11-20", "2026-11-20T15:52", "2026-11-20
 * 15:52:01Z", or how long before `now_ns`: "7d", "12h", "30min". From 1970 to 2261.
 */
bool text_parse_moment_ns(const char *string, int64_t now_ns, int64_t *ret);

/* Short human forms, at most 15 characters and NUL: "1.50 GiB", "12.3 ms", "4.56 G" (SI). */
#define TEXT_HUMAN_SIZE 16
const char *text_human_bytes(double bytes, char ret[TEXT_HUMAN_SIZE]);
const char *text_human_duration(double ns, char ret[TEXT_HUMAN_SIZE]);
const char *text_human_si(double value, char ret[TEXT_HUMAN_SIZE]);

/* What makes a plural of a word that ends in no y: "es" after a hiss (launch), else "s". */
const char *text_plural_ending(const char *word);

/* True when the bytes are well-formed UTF-8 without NUL. */
bool text_is_utf8(const void *bytes, size_t length);

/*
 * Appends untrusted bytes so that they are safe on a terminal and in UTF-8 output: control
 * characters and malformed bytes become \xNN.
 */
void text_append_printable(struct text *text, const void *bytes, size_t length);

/*
 * The same for whole pages: line breaks and tabs stay, and with `colour` the sequences that set
 * colours and weights ("ESC [ 1 m").
 */
void text_append_shown(struct text *text, const char *page, size_t length, bool colour);

/*
 * JSON in which such characters are \uXXXX, which reads as the same; jansson escapes only those
 * below 0x20.
 */
void text_append_json(struct text *text, const char *json, size_t length);

/* Columns of the terminal that a UTF-8 string takes (wcwidth; malformed bytes count one). */
size_t text_columns(const char *utf8);

/* Edit distance (insert, delete, replace, swap neighbours), for "did you mean". */
size_t text_distance(const char *a, const char *b);

/* The nearest of `count` names when it is near enough to suggest, else NULL. */
const char *text_nearest(const char *word, const char *const *names, size_t count);

/* Whether both say the same, or neither says anything (NULL). */
static inline bool text_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static inline bool text_ends_in(const char *string, const char *end)
{
    const size_t length = strlen(string), wanted = strlen(end);

    return length >= wanted && strcmp(string + length - wanted, end) == 0;
}

#endif
