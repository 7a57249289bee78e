#include "reports/doctor_document.h"

#include "harness/core/member.h"

/* Checks that passed, or could not be done: one line each. */
static void say_list(struct doc *doc, const char *summary, const json_t *list, const char *key)
{
    static const struct doc_column columns[] = {{"Check", DOC_NAME, 20}, {"Seen", DOC_BREAK}};

    if (json_array_size(list) == 0)
        return;
    doc_add(doc, "%zu %s", json_array_size(list), summary);
    doc_open(doc, DOC_FOLD, NULL);
    doc_table(doc, "tight", columns, sizeof(columns) / sizeof(*columns));
    EACH(entry, list)
        doc_say(doc, NULL, "%s\t%s", member_text(entry, "check"), member_text(entry, key));
    doc_close(doc);
    doc_close(doc);
}

static void say_findings(struct doc *doc, const json_t *findings)
{
    static const struct doc_column columns[] = {{"What", DOC_NAME | DOC_BREAK, 12},
                                                {"How bad", DOC_BREAK, 9},
                                                {"Seen", DOC_BREAK, 25},
                                                {"Effect", DOC_BREAK, 25},
                                                {"What to do", DOC_BREAK}};

    doc_table(doc, "tight fixed stacked", columns, sizeof(columns) / sizeof(*columns));
    EACH(finding, findings)
        doc_say(doc, NULL, "%s\t%s\t%s\t%s\t%s", member_text(finding, "check"),
                member_text(finding, "severity"), member_text(finding, "observed"),
                member_text(finding, "effect"), member_text(finding, "remedy"));
    doc_close(doc);
}

void doctor_document(struct doc *doc, const json_t *report)
{
    const json_t *findings = json_object_get(report, "findings");

    if (json_array_size(findings) > 0)
        say_findings(doc, findings);
    say_list(doc, "in order", json_object_get(report, "passed"), "observed");
    say_list(doc, "not known here, each with its reason", json_object_get(report, "unknown"),
             "reason");
}
