/* The strict parses of text.h, and short forms of numbers for people. */
#include "harness/core/text.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool text_parse_u64(const char *string, uint64_t *ret)
{
    uint64_t value = 0;

    if (!string || !is_digit(*string))
        return false;
    for (; is_digit(*string); ++string) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*string - '0'), &value))
            return false;
    }
    if (*string)
        return false;
    *ret = value;
    return true;
}

bool text_parse_i64(const char *string, int64_t *ret)
{
    bool negative = string && *string == '-';
    uint64_t magnitude;

    if (!text_parse_u64(negative ? string + 1 : string, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *ret = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

/* Length of a decimal number "[-]digits[.digits][e[+-]digits]" at the start of `string`, or 0. */
static size_t decimal_length(const char *string)
{
    const char *at = string;
    bool digits = false;

    if (*at == '-')
        ++at;
    for (; is_digit(*at); ++at)
        digits = true;
    if (*at == '.')
        for (++at; is_digit(*at); ++at)
            digits = true;
    if (!digits)
        return 0;
    if (*at == 'e' || *at == 'E') {
        const char *exponent = at + 1;

        if (*exponent == '+' || *exponent == '-')
            ++exponent;
        if (is_digit(*exponent)) {
            while (is_digit(*exponent))
                ++exponent;
            at = exponent;
        }
    }
    return (size_t)(at - string);
}

static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool text_parse_double(const char *string, double *ret)
{
    double value;
    char *end;

    /* The syntax is checked here, since strtod also takes blanks, hex floats, "inf" and "nan". */
    if (!string || !*string || decimal_length(string) != strlen(string))
        return false;
    pthread_once(&c_locale_once, make_c_locale);
    value = c_locale ? strtod_l(string, &end, c_locale) : strtod(string, &end);
    if (*end || !isfinite(value))
        return false;
    *ret = value;
    return true;
}

struct unit {
    const char *name;
    double scale;
};

/*
 * A number with one of `units`, times the unit's scale, rounded to an integer. Whole numbers are
 * computed exactly; fractions through long double, exact to well below one.
 */
static bool parse_with_unit(const char *string, const struct unit *units, size_t count,
                            uint64_t *ret)
{
    char number[64];
    const struct unit *unit = NULL;
    size_t length;
    uint64_t whole, product;
    double value;
    long double scaled;

    if (!string)
        return false;
    while (string[0] == '0' && is_digit(string[1]))
        ++string;
    length = decimal_length(string);
    if (length == 0 || length >= sizeof(number) || *string == '-')
        return false;
    for (size_t i = 0; i < count && !unit; ++i)
        if (!strcmp(string + length, units[i].name))
            unit = &units[i];
    if (!unit)
        return false;
    memcpy(number, string, length);
    number[length] = '\0';
    if (text_parse_u64(number, &whole)) {
        if (__builtin_mul_overflow(whole, (uint64_t)unit->scale, &product))
            return false;
        *ret = product;
        return true;
    }
    if (!text_parse_double(number, &value))
        return false;
    scaled = roundl((long double)value * unit->scale);
    if (scaled >= 0x1p63L)
        return false;
    *ret = (uint64_t)scaled;
    return true;
}

bool text_parse_bytes(const char *string, uint64_t *ret)
{
    static const struct unit units[] = {
        {"", 1},         {"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
        {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 1e3},     {"KB", 1e3},
        {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
    };

    return parse_with_unit(string, units, sizeof(units) / sizeof(*units), ret);
}

bool text_parse_duration_ns(const char *string, int64_t *ret)
{
    static const struct unit units[] = {
        {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9},
    };
    uint64_t ns;

    if (!parse_with_unit(string, units, sizeof(units) / sizeof(*units), &ns) || ns > INT64_MAX)
        return false;
    *ret = (int64_t)ns;
    return true;
}

/* True where `string` matches `shape`, in which 0 matches a digit and T matches a T or a blank.
 */
static bool has_shape(const char *string, const char *shape)
{
    for (; *shape; ++shape, ++string)
        if (*shape == '0'   ? !is_digit(*string)
            : *shape == 'T' ? *string != 'T' && *string != ' '
                            : *string != *shape)
            return false;
    return !*string;
}

static bool parse_date_ns(const char *string, int64_t *ret)
{
    static const char *const shapes[] = {"0000-00-00", "0000-00-00T00:00", "0000-00-00T00:00Z",
                                         "0000-00-00T00:00:00", "0000-00-00T00:00:00Z"};
    struct tm tm = {0}, again;
    bool known = false;
    time_t seconds;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes) && !known; ++i)
        known = has_shape(string, shapes[i]);
    if (!known || sscanf(string, "%4d-%2d-%2d%*c%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                         &tm.tm_hour, &tm.tm_min, &tm.tm_sec) < 3)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    again = tm;
    seconds = timegm(&again);
    /* A day or an hour that does not exist becomes another one. */
    if (tm.tm_year < 70 || tm.tm_year > 361 || again.tm_mon != tm.tm_mon ||
        again.tm_mday != tm.tm_mday || again.tm_hour != tm.tm_hour || again.tm_min != tm.tm_min ||
        again.tm_sec != tm.tm_sec)
        return false;
    *ret = (int64_t)seconds * 1000000000;
    return true;
}

bool text_parse_moment_ns(const char *string, int64_t now_ns, int64_t *ret)
{
    static const struct unit units[] = {
        {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"w", 604800e9}};
    uint64_t age;

    if (string && parse_date_ns(string, ret))
        return true;
    if (!parse_with_unit(string, units, sizeof(units) / sizeof(*units), &age) ||
        age > (uint64_t)now_ns)
        return false;
    *ret = now_ns - (int64_t)age;
    return true;
}

/* Three significant digits of a value in [0, 1000), or of 1000..1023 in whole numbers. */
static void format_short(double value, const char *unit, char ret[TEXT_HUMAN_SIZE])
{
    double size = fabs(value);
    int digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;

    snprintf(ret, TEXT_HUMAN_SIZE, "%.*f%s%s", digits, value, *unit ? " " : "", unit);
}

/* Picks the unit in which the rounded value stays below `step`; the last takes all that is left. */
static const char *human(double value, double step, const char *const *units, size_t count,
                         char ret[TEXT_HUMAN_SIZE])
{
    double limit = step - 0.5;
    size_t i = 0;

    if (!isfinite(value)) {
        snprintf(ret, TEXT_HUMAN_SIZE, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return ret;
    }
    while (i + 1 < count && fabs(value) >= limit) {
        value /= step;
        ++i;
    }
    if (fabs(value) >= 1e5)
        snprintf(ret, TEXT_HUMAN_SIZE, "%.1e%s%s", value, *units[i] ? " " : "", units[i]);
    else
        format_short(value, units[i], ret);
    return ret;
}

const char *text_human_bytes(double bytes, char ret[TEXT_HUMAN_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

    if (fabs(bytes) < 1023.5 && bytes == floor(bytes)) {
        snprintf(ret, TEXT_HUMAN_SIZE, "%.0f B", bytes);
        return ret;
    }
    return human(bytes, 1024, units, sizeof(units) / sizeof(*units), ret);
}

const char *text_human_duration(double ns, char ret[TEXT_HUMAN_SIZE])
{
    static const char *const short_units[] = {"ns", "us", "ms", "s"};
    static const char *const long_units[] = {"s", "min", "h"};

    if (fabs(ns) < 99.95e9 || !isfinite(ns))
        return human(ns, 1000, short_units, 4, ret);
    return human(ns / 1e9, 60, long_units, 3, ret);
}

const char *text_human_si(double value, char ret[TEXT_HUMAN_SIZE])
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};

    return human(value, 1000, units, sizeof(units) / sizeof(*units), ret);
}

const char *text_plural_ending(const char *word)
{
    const size_t length = strlen(word);
    const char last = length > 0 ? word[length - 1] : '\0';
    const char before = length > 1 ? word[length - 2] : '\0';

    return last == 's' || last == 'x' || (last == 'h' && (before == 'c' || before == 's')) ? "es"
                                                                                           : "s";
}
