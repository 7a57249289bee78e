#include "reports/history_document.h"

#include <stdint.h>
#include <string.h>

#include "harness/core/member.h"
#include "reports/comparison_words.h"
#include "reports/view.h"

static void say_change(struct doc *doc, const json_t *change)
{
    const json_t *stack = json_object_get(change, "stack");

    doc_add(doc, "%+.2f %% between %s and %s: %s", 100 * (member_number(change, "ratio") - 1),
            member_text(change, "before"), member_text(change, "after"),
            json_is_null(stack)           ? "the two cannot be judged"
            : json_array_size(stack) == 0 ? "nothing that was recorded of the stack differs"
                                          : "");
    comparison_names_words(&doc->block, stack, SIZE_MAX);
    doc_end(doc, NULL);
}

void history_results(struct doc *doc, const json_t *series, size_t most)
{
    static const struct doc_column columns[] = {
        {"result", DOC_NAME}, {"when", 0}, {"figure", 0}, {"changed", 0}};
    const json_t *results = json_object_get(series, "results");
    const size_t count = json_array_size(results);

    doc_table(doc, NULL, columns, sizeof(columns) / sizeof(*columns));
    for (size_t i = count > most ? count - most : 0; i < count; i++) {
        const json_t *result = json_array_get(results, i);
        const double figure = member_real(result, "value");
        const double lo = member_real(result, "lo"), hi = member_real(result, "hi");
        const bool has_interval = json_is_number(json_object_get(result, "lo"));
        const struct number_unit unit = view_series_unit(series, figure);
        const char *created = member_text(result, "created"), *clock = strchr(created, 'T');
        char value[NUMBER_SIZE], half[NUMBER_SIZE] = "";

        if (has_interval)
            number_format_half_width(figure, lo, hi, half);
        doc_add(doc, "%s\t%.10s %.5s\t%s %s\t", member_text(result, "id"), created,
                clock ? clock + 1 : "",
                number_format_unit_digits(figure, &unit,
                                          has_interval ? number_digits(figure, lo, hi) : 4, value),
                half);
        comparison_names_words(&doc->block, json_object_get(result, "stack"), SIZE_MAX);
        doc_end(doc, NULL);
    }
    doc_close(doc);
}

void history_changes(struct doc *doc, const json_t *series, const char *database)
{
    const json_t *results = json_object_get(series, "results");
    const char *newest = member_text(json_array_get(results, json_array_size(results) - 1), "id");
    const char *kind = member_text(series, "kind");
    const json_t *stale = json_object_get(series, "stale");

    doc_open(doc, DOC_DETAILS, NULL);
    if (!strcmp(kind, "constant"))
        doc_say(doc, NULL, "No change.");
    else if (strcmp(kind, "too_few") != 0)
        doc_say(doc, NULL, "Changed (%s):", kind);
    EACH(entry, json_object_get(series, "changes"))
        say_change(doc, entry);
    if (strcmp(kind, "too_few") != 0)
        doc_say(
            doc, NULL,
            "By %lld sittings (results within an hour of each other are one). At most 5 %% of "
            "constant series ever show a change, at whichever of 200 looks, where sittings that "
            "follow each other correlate by no more than 0.3.",
            (long long)json_integer_value(json_object_get(series, "sittings")));
    EACH(entry, json_object_get(series, "baselines")) {
        const char *name = member_text(entry, "name");

        doc_add(doc, "The newest is %+.2f %% against baseline %s (%s)",
                100 * (member_number(entry, "ratio") - 1), name, member_text(entry, "result"));
        if (database)
            doc_add(doc, "; assay compare @%s %s --db %s", name, newest, database);
        doc_end(doc, NULL);
    }
    if (json_is_object(stale)) {
        doc_add(doc, "Stale: %s was measured on another stack: ", member_text(stale, "result"));
        comparison_names_words(&doc->block, json_object_get(stale, "stack"), SIZE_MAX);
        if (database)
            doc_add(doc, "; assay reproduce %s --db %s", newest, database);
        doc_end(doc, NULL);
    }
    doc_close(doc);
}
