#include "harness/core/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/shortage.h"

/* What `data` points at while nothing is allocated; never written to. */
char text_empty[1] = "";

void text_init(struct text *text)
{
    *text = (struct text)TEXT_INIT;
}

void text_finish(struct text *text)
{
    if (!text)
        return;
    if (text->capacity)
        free(text->data);
    text_init(text);
}

void text_clear(struct text *text)
{
    text->length = 0;
    text->failed = false;
    if (text->capacity)
        text->data[0] = '\0';
}

bool text_ok(const struct text *text)
{
    return !text->failed;
}

static bool grow(struct text *text, size_t more)
{
    size_t needed, capacity;
    char *data;

    if (text->failed)
        return false;
    if (more > SIZE_MAX / 4 || text->length > SIZE_MAX / 4) {
        text->failed = true;
        return false;
    }
    needed = text->length + more + 1;
    capacity = text->capacity ? text->capacity : 64;
    while (capacity < needed)
        capacity *= 2;
    data = realloc(text->capacity ? text->data : NULL, capacity);
    if (!data) {
        text->failed = true;
        shortage_note();
        return false;
    }
    data[text->length] = '\0';
    text->data = data;
    text->capacity = capacity;
    return true;
}

/* Room for `more` bytes and the final NUL. */
static bool reserve(struct text *text, size_t more)
{
    return (more < text->capacity - text->length && !text->failed) || grow(text, more);
}

char *text_reserve(struct text *text, size_t length)
{
    return reserve(text, length) ? text->data + text->length : NULL;
}

void text_extend_to(struct text *text, char *end)
{
    *end = '\0';
    text->length = (size_t)(end - text->data);
}

char *text_extend(struct text *text, size_t length)
{
    char *at = text_reserve(text, length);

    if (at)
        text_extend_to(text, at + length);
    return at;
}

void text_append_bytes(struct text *text, const void *bytes, size_t length)
{
    char *at = length > 0 ? text_extend(text, length) : NULL;

    if (at)
        memcpy(at, bytes, length);
}

void text_append(struct text *text, const char *string)
{
    text_append_bytes(text, string, strlen(string));
}

void text_append_char(struct text *text, char c)
{
    text_append_bytes(text, &c, 1);
}

void text_append_formatv(struct text *text, const char *format, va_list args)
{
    va_list again;
    size_t room;
    int length;

    if (!reserve(text, 63))
        return;
    room = text->capacity - text->length;
    va_copy(again, args);
    length = vsnprintf(text->data + text->length, room, format, args);
    if (length < 0) {
        text->data[text->length] = '\0';
        text->failed = true;
    } else if ((size_t)length < room) {
        text->length += (size_t)length;
    } else {
        text->data[text->length] = '\0';
        if (reserve(text, (size_t)length)) {
            vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
            text->length += (size_t)length;
        }
    }
    va_end(again);
}

void text_append_format(struct text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    text_append_formatv(text, format, args);
    va_end(args);
}

char *text_steal(struct text *text)
{
    char *data = NULL;

    if (reserve(text, 0)) {
        data = text->data;
        text_init(text);
    }
    text_finish(text);
    return data;
}

char *text_format(const char *format, ...)
{
    struct text text;
    va_list args;

    text_init(&text);
    va_start(args, format);
    text_append_formatv(&text, format, args);
    va_end(args);
    return text_steal(&text);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment distance by dynamic programming, three rows at a time. */
#define WORD_MAX 63

size_t text_distance(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    size_t rows[3][WORD_MAX + 1];

    if (m > WORD_MAX || n > WORD_MAX) /* not a likely typing error: equal, or entirely different */
        return strcmp(a, b) ? (m > n ? m : n) : 0;
    for (size_t j = 0; j <= n; ++j)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; ++i) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= n; ++j) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);

            best = smaller(best, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = smaller(best, two_above[j - 2] + 1);
            row[j] = best;
        }
    }
    return rows[m % 3][n];
}

const char *text_nearest(const char *word, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    size_t length = strlen(word),
           best = length / 3 + 2; /* one typing error in a short word, more in a long */

    for (size_t i = 0; i < count; ++i) {
        size_t distance = text_distance(word, names[i]);

        /* Words with nothing in common are never suggested, however short they are. */
        if (distance < best && distance < length && distance < strlen(names[i])) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
