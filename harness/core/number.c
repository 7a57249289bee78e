#include "harness/core/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void decimal_point(char *number)
{
    const char *point = localeconv()->decimal_point;
    char *at = strcmp(point, ".") ? strstr(number, point) : NULL;

    if (at) {
        *at = '.';
        memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
    }
}

struct number_unit number_unit_duration(double ns)
{
    static const struct number_unit units[] = {
        {1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}, {60e9, "min"}};
    size_t i = 0;

    /* Minutes only from ten on: "90.0 s" reads better than "1.500 min". */
    while (i + 1 < sizeof(units) / sizeof(units[0]) &&
           ns >= units[i + 1].factor * (i + 2 == sizeof(units) / sizeof(units[0]) ? 10 : 0.99995))
        ++i;
    return units[i];
}

static bool is_symbol(const char *base)
{
    return base[0] >= 'A' && base[0] <= 'Z';
}

struct number_unit number_unit_rate(double value, const char *base)
{
    static const char prefixes[] = {'\0', 'k', 'M', 'G', 'T', 'P', 'E'};
    struct number_unit unit = {.factor = 1};
    bool symbol = is_symbol(base);
    double size = fabs(value);
    size_t i = 0;

    if (symbol || size >= 9999.5) {
        while (i + 1 < sizeof(prefixes) && size >= unit.factor * 999.95) {
            unit.factor *= 1e3;
            ++i;
        }
    }
    if (i == 0)
        snprintf(unit.name, sizeof(unit.name), "%.40s", base);
    else
        snprintf(unit.name, sizeof(unit.name), "%c%s%.40s", prefixes[i], symbol ? "" : " ", base);
    return unit;
}

const char *number_format_digits(double value, int digits, char ret[NUMBER_SIZE])
{
    double size = fabs(value);
    int decimals;

    if (!isfinite(value)) {
        snprintf(ret, NUMBER_SIZE, "-");
        return ret;
    }
    if (size == 0 || digits < 1) {
        snprintf(ret, NUMBER_SIZE, "0");
        return ret;
    }
    if (size < 1e-6 || size >= 1e15) {
        snprintf(ret, NUMBER_SIZE, "%.*e", digits > 15 ? 14 : digits - 1, value);
        decimal_point(ret);
        return ret;
    }
    decimals = digits - 1 - (int)floor(log10(size));
    /* 9.9996 with four digits is 10.00, not 10.000 */
    if (decimals > 0 && round(size * pow(10, decimals)) >= pow(10, digits))
        --decimals;
    snprintf(ret, NUMBER_SIZE, "%.*f", decimals > 0 ? decimals : 0, value);
    decimal_point(ret);
    return ret;
}

const char *number_format(double value, char ret[NUMBER_SIZE])
{
    return number_format_digits(value, 4, ret);
}

const char *number_format_rounded(double value, int digits, char ret[NUMBER_SIZE])
{
    double size = fabs(value);
    double step = digits > 0 && size < 1e15 ? pow(10, floor(log10(size)) + 1 - digits) : 0;

    return number_format_digits(step > 1 ? round(value / step) * step : value, digits, ret);
}

int number_digits(double value, double lo, double hi)
{
    double wider = fmax(value - lo, hi - value) / fabs(value);

    if (!isfinite(lo) || !isfinite(hi) || !isfinite(wider))
        return 4;
    return wider >= 0.2 ? 2 : wider >= 0.02 ? 3 : 4;
}

const char *number_format_ends(double lo, double hi, const struct number_unit *unit, int digits,
                               char ret[NUMBER_SIZE])
{
    char from[NUMBER_SIZE], to[NUMBER_SIZE];

    do {
        number_format_rounded(lo / unit->factor, digits, from);
        number_format_rounded(hi / unit->factor, digits, to);
    } while (lo < hi && strcmp(from, to) == 0 && digits++ < 9);
    snprintf(ret, NUMBER_SIZE, "%.21s to %.21s", from, to);
    return ret;
}

const char *number_format_unit_digits(double value, const struct number_unit *unit, int digits,
                                      char ret[NUMBER_SIZE])
{
    char number[NUMBER_SIZE];

    snprintf(ret, NUMBER_SIZE, "%.24s %.22s",
             number_format_rounded(value / unit->factor, digits, number), unit->name);
    return ret;
}

const char *number_format_unit(double value, const struct number_unit *unit, char ret[NUMBER_SIZE])
{
    return number_format_unit_digits(value, unit, 4, ret);
}

const char *number_format_percent(double share, char ret[NUMBER_SIZE])
{
    char number[NUMBER_SIZE];
    double percent = share * 100;

    if (isfinite(percent) && fabs(percent) >= 9.95)
        snprintf(number, sizeof(number), "%.0f", percent);
    else if (isfinite(percent) && percent != 0 && fabs(percent) < 0.001)
        snprintf(number, sizeof(number), "<0.001");
    else
        number_format_digits(percent, 2, number);
    snprintf(ret, NUMBER_SIZE, "%.24s %%", number);
    return ret;
}

const char *number_format_half_width(double value, double lo, double hi, char ret[NUMBER_SIZE])
{
    double below = 1 - lo / value, above = hi / value - 1;
    char percent[NUMBER_SIZE];

    ret[0] = '\0';
    if (!(value > 0) || !isfinite(lo) || !isfinite(hi))
        return ret;
    number_format_percent(fmax(above, below), percent);
    /* Wide intervals lean to one side, and one figure for both would mislead; the widest say that
     * nothing is known. */
    if (fmax(above, below) > 10)
        snprintf(ret, NUMBER_SIZE, "over 1000 %%");
    else if (fmax(above, below) >= 0.1 && fabs(above - below) > 0.1 * fmax(above, below))
        snprintf(ret, NUMBER_SIZE, "-%.0f/+%.0f %%", below * 100, above * 100);
    else
        snprintf(ret, NUMBER_SIZE, "±%.24s", percent);
    return ret;
}

const char *number_format_count(int64_t value, char ret[NUMBER_SIZE])
{
    char digits[NUMBER_SIZE];
    size_t length, used = 0;

    snprintf(digits, sizeof(digits), "%lld", (long long)value);
    length = strlen(digits);
    for (size_t i = 0; i < length; ++i) {
        size_t left = length - i;

        if (i > 0 && digits[i - 1] != '-' && left % 3 == 0 && used + 5 < NUMBER_SIZE) {
            memcpy(ret + used, "\u202f", 3);
            used += 3;
        }
        if (used + 1 < NUMBER_SIZE)
            ret[used++] = digits[i];
    }
    ret[used] = '\0';
    return ret;
}

const char *number_format_bytes(double bytes, char ret[NUMBER_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    char number[NUMBER_SIZE];
    size_t i = 0;

    while (i + 1 < sizeof(units) / sizeof(units[0]) && bytes >= 1023.5) {
        bytes /= 1024;
        ++i;
    }
    if (i == 0 || bytes == floor(bytes))
        snprintf(number, sizeof(number), "%.0f", bytes);
    else
        number_format_digits(bytes, 3, number);
    snprintf(ret, NUMBER_SIZE, "%.24s %s", number, units[i]);
    return ret;
}

const char *number_format_scientific(double value, char ret[NUMBER_SIZE])
{
    if (!isfinite(value))
        snprintf(ret, NUMBER_SIZE, "%s", isnan(value) ? "not a number" : "infinite");
    else
        snprintf(ret, NUMBER_SIZE,
                 value != 0 && (fabs(value) < 1e-3 || fabs(value) >= 1e4) ? "%.1e" : "%.2g", value);
    decimal_point(ret);
    return ret;
}

struct number_unit number_unit_energy(double joules, const char *per)
{
    static const struct {
        double factor;
        const char *name;
    } steps[] = {{1e6, "MJ"},       {1e3, "kJ"},  {1, "J"},     {1e-3, "mJ"},
                 {1e-6, "\u00b5J"}, {1e-9, "nJ"}, {1e-12, "pJ"}};
    struct number_unit unit = {1e-12, "pJ"};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); ++i)
        if (joules >= steps[i].factor || i + 1 == sizeof(steps) / sizeof(steps[0])) {
            unit.factor = steps[i].factor;
            snprintf(unit.name, sizeof(unit.name), "%s%s%.30s", steps[i].name, per ? "/" : "",
                     per ? per : "");
            break;
        }
    return unit;
}

void number_format_apart(double a, double b, int digits, char ret_a[NUMBER_SIZE],
                         char ret_b[NUMBER_SIZE])
{
    do {
        snprintf(ret_a, NUMBER_SIZE, "%.*g", digits, a);
        snprintf(ret_b, NUMBER_SIZE, "%.*g", digits, b);
    } while (a != b && !strcmp(ret_a, ret_b) && digits++ < 17);
    decimal_point(ret_a);
    decimal_point(ret_b);
}
