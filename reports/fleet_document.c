#include "reports/fleet_document.h"

#include <string.h>

#include "harness/core/member.h"
#include "harness/core/number.h"
#include "reports/view.h"

/* Units that are listed; the JSON has all. */
#define UNITS_SHOWN 40

static size_t count_of(const json_t *fleet, const char *verdict)
{
    size_t count = 0;

    EACH(unit, json_object_get(fleet, "units"))
        count += !strcmp(member_text(unit, "verdict"), verdict);
    return count;
}

static void say_count(struct doc *doc, size_t count, const char *one, const char *several,
                      const char *words)
{
    if (count > 0)
        doc_add(doc, ", %zu %s %s", count, count == 1 ? one : several, words);
}

static void say_answer(struct doc *doc, const json_t *fleet)
{
    const json_t *request = json_object_get(fleet, "request");
    const size_t units = member_size(fleet, "units"), slow = count_of(fleet, "slow");
    const long long missing = member_integer(fleet, "missing");

    doc_add(doc, "{bold %zu of %zu units %s slow} on %s %s", slow, units, slow == 1 ? "is" : "are",
            member_text(request, "workload"), member_text(fleet, "precision"));
    say_count(doc, count_of(fleet, "fine"), "is", "are", "fine");
    say_count(doc, count_of(fleet, "undecided"), "is", "are", "not decided");
    say_count(doc, count_of(fleet, "one_sitting"), "was", "were",
              "measured in one sitting, which decides nothing");
    say_count(doc, count_of(fleet, "failed"), "has", "have", "failed");
    say_count(doc, missing > 0 ? (size_t)missing : 0, "is", "are", "missing");
    doc_say(doc, NULL, ".");
}

static void say_unit(struct doc *doc, const json_t *unit)
{
    const char *verdict = member_text(unit, "verdict"), *uuid = member_text(unit, "uuid");
    const json_t *needed = json_object_get(unit, "needed");

    doc_add(doc, "%s\t%s%s%.13s\t", verdict, member_text(unit, "host"), *uuid ? " " : "", uuid);
    if (json_is_number(json_object_get(unit, "ratio")))
        doc_add(doc, "%+.2f %%", 100 * (member_number(unit, "ratio") - 1));
    doc_add(doc, "\t");
    if (json_is_number(json_object_get(unit, "lo")))
        doc_add(doc, "%+.2f to %+.2f %%", 100 * (member_number(unit, "lo") - 1),
                100 * (member_number(unit, "hi") - 1));
    doc_add(doc, "\t%lld\t", member_integer(unit, "sittings"));
    if (member_integer(unit, "failures") > 0)
        doc_add(doc, "%lld without a value; ", member_integer(unit, "failures"));
    if (json_is_integer(needed))
        doc_add(doc, "about %lld sittings decide", (long long)json_integer_value(needed));
    else
        doc_add(doc, "%s", json_string_value(json_array_get(json_object_get(unit, "results"), 0)));
    doc_end(doc, NULL);
}

static void say_units(struct doc *doc, const json_t *fleet)
{
    static const struct doc_column columns[] = {
        {"verdict", 0},       {"unit", DOC_NAME},       {"against the median", DOC_NUMBER},
        {"95 % interval", 0}, {"sittings", DOC_NUMBER}, {"note", 0}};
    size_t shown = 0;

    doc_table(doc, NULL, columns, sizeof(columns) / sizeof(columns[0]));
    EACH(unit, json_object_get(fleet, "units"))
        if (strcmp(member_text(unit, "verdict"), "fine") != 0 && shown++ < UNITS_SHOWN)
            say_unit(doc, unit);
    EACH(unit, json_object_get(fleet, "units"))
        if (!strcmp(member_text(unit, "verdict"), "fine") && shown++ < UNITS_SHOWN)
            say_unit(doc, unit);
    doc_close(doc);
    if (shown > UNITS_SHOWN)
        doc_say(doc, "soft", "%zu more units: --json has all.", shown - UNITS_SHOWN);
}

static void say_spread(struct doc *doc, const json_t *spread, const char *what)
{
    if (json_is_number(json_object_get(spread, "sd")))
        doc_say(doc, NULL, "%s\t%.2f %% (95 %% interval %.2f to %.2f %%)", what,
                100 * member_number(spread, "sd"), 100 * member_number(spread, "lo"),
                100 * member_number(spread, "hi"));
    else
        doc_say(doc, NULL, "%s\tnot known: no unit has two sittings", what);
}

void fleet_document(struct doc *doc, const json_t *fleet)
{
    const json_t *request = json_object_get(fleet, "request");
    const double median = member_number(fleet, "median");
    const struct number_unit unit = view_series_unit(fleet, median);
    char value[NUMBER_SIZE];

    say_answer(doc, fleet);
    doc_open(doc, DOC_FACTS, NULL);
    doc_say(doc, NULL, "median of the units\t%s",
            number_format_unit_digits(median, &unit, 4, value));
    say_spread(doc, json_object_get(fleet, "between_units"), "units differ by");
    say_spread(doc, json_object_get(fleet, "between_sittings"), "sittings of a unit differ by");
    doc_close(doc);
    say_units(doc, fleet);
    doc_say(
        doc, NULL,
        "{bold How sure:} slow is a unit shown to lie more than %g %% below the median, by what "
        "its sittings differ by and not by its trials, which share their hour. Of the units "
        "called slow at most %g %% are expected not to be (Benjamini and Hochberg).",
        100 * member_number(request, "margin"), 100 * member_number(request, "fdr"));
    if (count_of(fleet, "one_sitting") > 0)
        doc_say(doc, NULL,
                "Measure units of one sitting again, an hour later or more: what a unit shows once "
                "may be its hour's.");
}
