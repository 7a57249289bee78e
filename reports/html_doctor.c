/* What `assay doctor` found on the machine before a campaign's trials, and the output of tools
 * about it. */
#include "reports/html_internal.h"

#include "harness/core/member.h"
#include "reports/doctor_document.h"
#include "reports/view_json.h"

static void say_report(struct doc *doc, const struct view_campaign *campaign,
                       const json_t *examined)
{
    const json_t *report = json_object_get(examined, "report");
    const json_t *findings = json_object_get(report, "findings");
    struct view_count utc_ns = view_json_count(examined, "utc_ns");

    doc_add(doc, "Campaign %.8s, ", campaign->uid);
    phrase_time(&doc->block, &utc_ns);
    doc_say(doc, "soft", ": %zu found, %zu in order, %zu not known here.",
            json_array_size(findings), member_size(report, "passed"),
            member_size(report, "unknown"));
    doctor_document(doc, report);
}

static void say_dump(struct doc *doc, const json_t *dump)
{
    struct view_count bytes = view_json_count(dump, "bytes");
    const char *digest = member_string(dump, "sha256"), *message = member_string(dump, "message");

    doc_add(doc, "{code %s}\t%s\t", member_text(dump, "command"), member_text(dump, "status"));
    if (bytes.known)
        doc_add(doc, "%lld bytes, SHA-256 ", (long long)bytes.value);
    if (digest)
        doc_add(doc, "{digest %s}", digest);
    if (message)
        doc_add(doc, "%s%s", digest ? "; " : "", message);
    doc_end(doc, NULL);
}

void html_dumps(struct doc *doc, const struct view *view)
{
    static const struct doc_column columns[] = {
        {"Tool", DOC_NAME | DOC_BREAK, 20},
        {"Came to", DOC_BREAK, 12},
        {"Stored output, or the reason for none", DOC_BREAK}};

    for (size_t c = 0; c < view->campaign_count; ++c) {
        const json_t *dumps = json_object_get(view->campaigns[c].root, "dumps");

        if (json_array_size(dumps) == 0)
            continue;
        doc_add(doc,
                "What the system's and the vendors' tools said of the machine before campaign "
                "%.8s, stored verbatim (`assay show --dump`)",
                view->campaigns[c].uid);
        doc_open(doc, DOC_FOLD, NULL);
        doc_table(doc, "tight", columns, sizeof(columns) / sizeof(*columns));
        EACH(dump, dumps)
            say_dump(doc, dump);
        doc_close(doc);
        doc_close(doc);
    }
}

void html_doctor(struct doc *doc, const struct view *view)
{
    bool any = false;

    for (size_t c = 0; c < view->campaign_count; ++c) {
        EACH(examined, json_object_get(view->campaigns[c].root, "doctor")) {
            if (!any)
                doc_heading(doc, 2, "machine", "State of the machine");
            any = true;
            say_report(doc, &view->campaigns[c], examined);
        }
    }
    if (any)
        html_dumps(doc, view);
}
