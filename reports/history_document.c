#include "reports/history_document.h"

#include <stdint.h>
#include <string.h>

#include "harness/core/member.h"
#include "reports/comparison_words.h"

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
