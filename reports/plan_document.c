#include "reports/plan_document.h"

#include "harness/core/member.h"
#include "harness/core/number.h"

static void say_count(struct doc *doc, const json_t *plan, const char *name, const char *words)
{
    const json_t *count = json_object_get(plan, name);

    if (json_is_integer(count))
        doc_say(doc, NULL, "%lld\t%s", (long long)json_integer_value(count), words);
    else
        doc_say(doc, NULL, "?\t%s", words);
}

static void say_unit(struct doc *doc, const json_t *unit)
{
    const json_t *capacity = json_object_get(unit, "capacity");
    const char *device = member_string(unit, "device");
    char lo[NUMBER_SIZE], hi[NUMBER_SIZE];

    number_format_digits(member_number(capacity, "lo"), 3, lo);
    doc_add(doc, "Measured: {code %s}, %s: ", member_string(unit, "result"), device ? device : "?");
    if (json_is_number(json_object_get(capacity, "hi")))
        doc_say(doc, NULL, "%s to %s requests/s", lo,
                number_format_digits(member_number(capacity, "hi"), 3, hi));
    else
        doc_say(doc, NULL, "at least %s requests/s", lo);
}

void plan_document(struct doc *doc, const json_t *plan)
{
    static const struct doc_column columns[] = {{"Devices", DOC_NUMBER}, {"", 0}};
    const json_t *request = json_object_get(plan, "request");

    doc_add(doc, "%.4g requests/s", member_number(request, "demand"));
    if (json_object_get(request, "trace"))
        doc_add(doc, " (not exceeded in %g %% of the trace's spans of %g s)",
                100 * member_number(request, "quantile"), member_number(request, "span_ns") / 1e9);
    if (member_number(request, "growth") != 1)
        doc_add(doc, ", times %g for growth", member_number(request, "growth"));
    doc_say(doc, NULL, ", within the limits of what was measured:");
    doc_table(doc, NULL, columns, 2);
    say_count(doc, plan, "devices", "to serve it");
    say_count(doc, plan, "spares", "spare, for those that are out");
    say_count(doc, plan, "total", "in all");
    doc_close(doc);
    doc_say(doc, NULL,
            "Confidence %g %%; each device works %g %% of the time, and for %g %% of it too few "
            "may.",
            100 * member_number(request, "confidence"),
            100 * member_number(request, "availability"), 100 * member_number(request, "risk"));
    EACH(entry, json_object_get(plan, "units"))
        say_unit(doc, entry);
    EACH(entry, json_object_get(plan, "notes"))
        doc_say(doc, NULL, "Note: %s", member_string(entry, "text"));
}
