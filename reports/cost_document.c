#include "reports/cost_document.h"

#include <math.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/number.h"

/* "0.2800 EUR [0.2652, 0.2977]"; without bounds where they are the value or not known. */
static void append_range(struct text *out, const json_t *range, const char *currency)
{
    const json_t *lo = json_object_get(range, "lo"), *hi = json_object_get(range, "hi");
    char value[NUMBER_SIZE], low[NUMBER_SIZE], high[NUMBER_SIZE];

    if (json_is_number(json_object_get(range, "value")))
        doc_phrase(out, "%s %s", number_format_digits(member_number(range, "value"), 4, value),
                   currency);
    else
        doc_phrase(out, "unknown");
    if (json_is_number(lo) && json_is_number(hi) && !json_equal(lo, hi))
        doc_phrase(out, " [%s, %s]", number_format_digits(json_number_value(lo), 4, low),
                   number_format_digits(json_number_value(hi), 4, high));
}

static void append_parts(struct text *out, const json_t *parts)
{
    char value[NUMBER_SIZE];

    EACH(part, parts) {
        const double hourly = member_number(json_object_get(part, "hourly"), "value");

        doc_phrase(out, " {soft %s %s %s}", part_at ? "+" : "=", member_string(part, "kind"),
                   isnan(hourly) ? "unknown" : number_format_digits(hourly, 4, value));
    }
}

static void say_option(struct doc *doc, const json_t *option, const char *currency)
{
    const char *kind = member_text(option, "kind");

    doc_add(doc, "%s, %s (line %lld)\tan hour\t", member_string(option, "item"),
            strcmp(kind, "cloud") ? "bought" : "rented", member_integer(option, "line"));
    append_range(&doc->block, json_object_get(option, "hourly"), currency);
    append_parts(&doc->block, json_object_get(option, "parts"));
    doc_end(doc, NULL);
    EACH(figure, json_object_get(option, "figures")) {
        const json_t *share = json_object_get(figure, "measured_share");

        doc_add(doc, " \t%s\t", member_string(figure, "per"));
        append_range(&doc->block, json_object_get(figure, "cost"), currency);
        if (json_is_number(share))
            doc_add(doc, "{soft ; %.0f %% of the width is the measurement's}",
                    100 * json_number_value(share));
        doc_end(doc, NULL);
    }
}

/* The rows of one result. */
static void say_cost(struct doc *doc, const json_t *cost)
{
    const json_t *given = json_object_get(cost, "assumptions");
    const json_t *prices = json_object_get(cost, "prices");

    doc_say(doc, NULL,
            "{bold %s} on %s at prices of %s: discount %g a year, PUE %g, at work %g of all hours, "
            "under the measured load while at work; price sheet {digest %s}",
            member_string(cost, "a"), member_string(cost, "device"), member_string(given, "as_of"),
            member_number(given, "discount"), member_number(given, "pue"),
            member_number(given, "utilisation"), member_string(prices, "sha256"));
    EACH(entry, json_object_get(cost, "options"))
        say_option(doc, entry, member_text(prices, "currency"));
    EACH(entry, json_object_get(cost, "notes")) {
        doc_add(doc, "{soft note: ");
        if (json_is_integer(json_object_get(entry, "line")))
            doc_add(doc, "line %lld: ", member_integer(entry, "line"));
        doc_say(doc, NULL, "%s}", member_string(entry, "text"));
    }
}

/* The values of the figure "per" of a cost's options widen both ends. */
static void widen(const json_t *cost, const char *per, double *lo, double *hi)
{
    EACH(option, json_object_get(cost, "options"))
        EACH(figure, json_object_get(option, "figures")) {
            const double value = member_number(json_object_get(figure, "cost"), "value");

            if (isnan(value) || strcmp(member_text(figure, "per"), per) != 0)
                continue;
            *lo = fmin(*lo, value);
            *hi = fmax(*hi, value);
        }
}

bool cost_answer_words(struct text *out, const json_t *costs)
{
    const json_t *first = json_array_get(costs, 0);
    const json_t *option = json_array_get(json_object_get(first, "options"), 0);
    const json_t *figure = json_array_get(json_object_get(option, "figures"), 0);
    const char *per = member_text(figure, "per");
    char least[NUMBER_SIZE], most[NUMBER_SIZE];
    double lo = INFINITY, hi = -INFINITY;

    EACH(cost, costs)
        widen(cost, per, &lo, &hi);
    if (lo > hi)
        return false;
    doc_phrase(out, "{bold %s", number_format_digits(lo, 3, least));
    if (strcmp(least, number_format_digits(hi, 3, most)) != 0)
        doc_phrase(out, " to %s", most);
    doc_phrase(out, " %s} %s", member_text(json_object_get(first, "prices"), "currency"), per);
    return true;
}

void cost_document(struct doc *doc, const json_t *costs)
{
    static const struct doc_column columns[] = {{"Option", 0}, {"Per", 0}, {"Cost", 0}};

    doc_table(doc, "tight", columns, sizeof(columns) / sizeof(*columns));
    EACH(cost, costs)
        say_cost(doc, cost);
    doc_close(doc);
}
