#include "harness/core/canonical.h"

#include <endian.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

/* As deep as jansson parses; deeper values are built by hand and most likely contain themselves. */
#define DEPTH_MAX 2048

/* "123" and 10 mean 1.23e10: significant digits, and the exponent of the first. */
struct decimal {
    char digits[18];
    int count;
    int exponent;
};

/* `size` > 0 rounded to `precision` significant digits, trailing zeros dropped. */
static struct decimal decimal_of(double size, int precision)
{
    struct decimal decimal = {.count = 0};
    char printed[64];
    const char *at;

    snprintf(printed, sizeof(printed), "%.*e", precision - 1, size);
    /* Only the digits count, so that the locale's decimal point does not matter. */
    for (at = printed; *at != 'e'; ++at)
        if (*at >= '0' && *at <= '9')
            decimal.digits[decimal.count++] = *at;
    decimal.exponent = atoi(at + 1);
    while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0')
        --decimal.count;
    return decimal;
}

/* One more in the last of `precision` places. */
static struct decimal next_above(struct decimal decimal, int precision)
{
    int i = precision - 1;

    while (decimal.count < precision)
        decimal.digits[decimal.count++] = '0';
    while (i >= 0 && decimal.digits[i] == '9')
        decimal.digits[i--] = '0';
    if (i >= 0) {
        ++decimal.digits[i];
    } else {
        decimal.digits[0] = '1';
        ++decimal.exponent;
    }
    while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0')
        --decimal.count;
    return decimal;
}

static bool reads_back(const struct decimal *decimal, double size)
{
    char printed[40];
    double value;

    snprintf(printed, sizeof(printed), "%.*se%d", decimal->count, decimal->digits,
             decimal->exponent - decimal->count + 1);
    return text_parse_double(printed, &value) && value == size;
}

/* `number` > 0, whose first digit stands for 10^exponent. */
static struct decimal decimal_from(uint64_t number, int exponent)
{
    struct decimal decimal = {.exponent = exponent};
    char digits[20];
    int at = sizeof(digits);

    while (number % 10 == 0)
        number /= 10;
    for (; number > 0; number /= 10)
        digits[--at] = (char)('0' + number % 10);
    decimal.count = (int)sizeof(digits) - at;
    memcpy(decimal.digits, digits + at, (size_t)decimal.count);
    return decimal;
}

/*
 * The fewest digits that read back as `size` > 0, of those the nearest to it, from its first 19
 * digits: another number reads back when it is closer than half the distance of two doubles. False
 * where 19 digits do not tell.
 */
static bool shortest_of_19(double size, struct decimal *ret)
{
    static const uint64_t units[] = {10000, 1000, 100}; /* of the last of 15, 16, 17 digits */
    uint64_t number = 0;
    char printed[64];
    const char *at = printed;
    double half;
    int exponent, binary;

    if (!(size > 1e-250 && size < 1e250) || frexp(size, &binary) == 0.5)
        return false;
    snprintf(printed, sizeof(printed), "%.18e", size);
    for (; *at != 'e'; ++at)
        if (*at >= '0' && *at <= '9')
            number = number * 10 + (uint64_t)(*at - '0');
    exponent = atoi(at + 1);
    half = ldexp(1, binary - 54) * pow(10, 18 - exponent);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        const uint64_t unit = units[i], rest = number % unit;
        const bool up = rest > unit / 2;
        const double off = (double)(up ? unit - rest : rest);

        if (rest == unit / 2 || fabs(off - half) < 1)
            return false;
        if (off > half)
            continue;
        number += up ? unit - rest : 0;
        number -= up ? 0 : rest;
        *ret = decimal_from(number, exponent + (number == UINT64_C(10000000000000000000)));
        return true;
    }
    return false;
}

/* The same for any `size` > 0. */
static struct decimal shortest(double size)
{
    /*
     * Up to 15 digits survive the way through a normal double, so below 15 there is nothing to find
     * but trailing zeros; subnormal numbers carry fewer digits.
     */
    int precision = size < 0x1p-1022 ? 1 : 15;
    struct decimal decimal;
    int exponent;
    bool power_of_two;

    if (shortest_of_19(size, &decimal))
        return decimal;
    power_of_two = frexp(size, &exponent) == 0.5;
    for (; precision < 17; ++precision) {
        decimal = decimal_of(size, precision);
        if (reads_back(&decimal, size))
            return decimal;
        /* Below a power of two doubles lie closer, so the nearest decimal may miss it from there.
         */
        if (power_of_two) {
            decimal = next_above(decimal, precision);
            if (reads_back(&decimal, size))
                return decimal;
        }
    }
    return decimal_of(size, 17);
}

static char *put(char *at, const char *bytes, int count)
{
    memcpy(at, bytes, (size_t)count);
    return at + count;
}

const char *canonical_real(double value, char ret[CANONICAL_REAL_SIZE])
{
    static const char zeros[] = "000000000000000000000";
    char *at = ret;
    struct decimal d;
    int point; /* digits before the decimal point */

    if (value == 0) {
        memcpy(ret, "0", 2);
        return ret;
    }
    if (value < 0)
        *at++ = '-';
    d = shortest(fabs(value));
    point = d.exponent + 1;
    if (d.count <= point && fabs(value) < 0x1p63) {
        at = put(put(at, d.digits, d.count), zeros, point - d.count);
    } else if (point > 0 && point <= 21 && fabs(value) < 0x1p63) {
        at = put(put(put(at, d.digits, point), ".", 1), d.digits + point, d.count - point);
    } else if (point > -6 && point <= 0) {
        at = put(put(put(at, "0.", 2), zeros, -point), d.digits, d.count);
    } else {
        at = put(put(at, d.digits, 1), ".", d.count > 1);
        at = put(at, d.digits + 1, d.count - 1);
        at += snprintf(at, 8, "e%+d", d.exponent);
    }
    *at = '\0';
    return ret;
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '"' && c != '\\';
}

static char *put_escape(char *at, unsigned char c)
{
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* a byte, and its escape */
    static const char digits[] = "0123456789abcdef";

    *at++ = '\\';
    for (const char *known = shorts; *known; known += 2) {
        if ((unsigned char)*known == c) {
            *at++ = known[1];
            return at;
        }
    }
    memcpy(at, "u00", 3);
    at[3] = digits[c >> 4];
    at[4] = digits[c & 15];
    return at + 5;
}

#define ESCAPE_MAX 6 /* bytes that one byte becomes */
#define PART 256     /* bytes for which room is made at once */

/* Escapes `length` bytes; there is room for as many as they may become, and 8 more. */
static char *put_escaped(char *at, const char *string, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t plain = 0;

        if (i + 8 <= length) {
            uint64_t bytes;

            memcpy(&bytes, string + i, 8);
            memcpy(at, &bytes, 8);
            plain = canonical_plain_of_eight(le64toh(bytes));
        } else {
            for (; i + plain < length && is_plain((unsigned char)string[i + plain]); plain++)
                at[plain] = string[i + plain];
        }
        at += plain;
        i += plain;
        if (plain < 8 && i < length)
            at = put_escape(at, (unsigned char)string[i++]);
    }
    return at;
}

void canonical_append_string(struct text *text, const char *string, size_t length)
{
    size_t done = 0;

    do {
        const size_t part = length - done < PART ? length - done : PART;
        char *at = text_reserve(text, ESCAPE_MAX * part + 10);

        if (!at)
            return;
        if (done == 0)
            *at++ = '"';
        at = put_escaped(at, string + done, part);
        done += part;
        if (done == length)
            *at++ = '"';
        text_extend_to(text, at);
    } while (done < length);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum status append_value(struct text *text, const json_t *value, int depth,
                                struct error *err);

static enum status append_object(struct text *text, const json_t *object, int depth,
                                 struct error *err)
{
    size_t count = json_object_size(object), i = 0;
    AUTO_FREE const char **keys = calloc(count ? count : 1, sizeof(*keys));
    const char *key;
    json_t *member;

    if (!keys)
        return error_no_memory(err);
    json_object_foreach((json_t *)object, key, member) keys[i++] = key;
    qsort(keys, count, sizeof(*keys), compare_keys);
    text_append_char(text, '{');
    for (i = 0; i < count; ++i) {
        if (i > 0)
            text_append_char(text, ',');
        canonical_append_string(text, keys[i], strlen(keys[i]));
        text_append_char(text, ':');
        TRY(append_value(text, json_object_get(object, keys[i]), depth + 1, err));
    }
    text_append_char(text, '}');
    return STATUS_OK;
}

static enum status append_array(struct text *text, const json_t *array, int depth,
                                struct error *err)
{
    enum status status = STATUS_OK;

    text_append_char(text, '[');
    for (size_t i = 0; i < json_array_size(array) && status == STATUS_OK; ++i) {
        if (i > 0)
            text_append_char(text, ',');
        status = append_value(text, json_array_get(array, i), depth + 1, err);
    }
    text_append_char(text, ']');
    return status;
}

static enum status append_value(struct text *text, const json_t *value, int depth,
                                struct error *err)
{
    char real[CANONICAL_REAL_SIZE];

    if (!value)
        return error_set(err, STATUS_INTERNAL, "a JSON value is missing");
    if (depth > DEPTH_MAX)
        return error_set(err, STATUS_INVALID, "JSON is nested deeper than %d", DEPTH_MAX);
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return append_object(text, value, depth, err);
    case JSON_ARRAY:
        return append_array(text, value, depth, err);
    case JSON_STRING:
        canonical_append_string(text, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        text_append_format(text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        if (!isfinite(json_real_value(value)))
            return error_set(err, STATUS_INVALID, "JSON has no number that is not finite");
        text_append(text, canonical_real(json_real_value(value), real));
        break;
    case JSON_TRUE:
        text_append(text, "true");
        break;
    case JSON_FALSE:
        text_append(text, "false");
        break;
    case JSON_NULL:
        text_append(text, "null");
        break;
    }
    return STATUS_OK;
}

enum status canonical_dump(const json_t *value, char **ret, struct error *err)
{
    CLEANUP(text_finish) struct text text;
    char *string;

    text_init(&text);
    TRY(append_value(&text, value, 0, err));
    string = text_steal(&text);
    if (!string)
        return error_no_memory(err);
    *ret = string;
    return STATUS_OK;
}

enum status canonical_digest(const json_t *value, struct digest *ret, struct error *err)
{
    AUTO_FREE char *string = NULL;

    TRY(canonical_dump(value, &string, err));

    *ret = digest_bytes(string, strlen(string));
    return STATUS_OK;
}

enum status canonical_parse(const char *bytes, size_t length, const char *origin, json_t **ret,
                            struct error *err)
{
    json_error_t problem;
    json_t *value = json_loadb(bytes, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
    struct text shown;
    enum status code;

    if (value) {
        *ret = value;
        return STATUS_OK;
    }
    /* jansson leaves the message empty where an allocation of its own fails. */
    code = json_error_code(&problem) == json_error_out_of_memory || !problem.text[0]
               ? STATUS_NO_MEMORY
               : STATUS_CORRUPT;
    text_init(&shown); /* jansson's message quotes the input */
    text_append_printable(&shown, problem.text, strlen(problem.text));
    error_set(err, code, "%s:%d:%d: %s", origin, problem.line, problem.column,
              shown.length ? shown.data : "out of memory");
    text_finish(&shown);
    return code;
}
