/* What `assay doctor` found on the machine before a campaign's trials, and the output of tools
 * about it. */
#include "reports/html_internal.h"

#include <string.h>

#include "harness/core/member.h"
#include "reports/escape.h"
#include "reports/view_json.h"

static void append_cell(struct text *out, const json_t *finding, const char *key)
{
    text_append(out, "<td class=\"wrap\">");
    escape_html_words(out, member_text(finding, key));
    text_append(out, "</td>");
}

/* Checks that passed, or could not be done: one line each. */
static void append_list(struct text *out, const char *summary, const json_t *list, const char *key)
{
    size_t i;
    json_t *entry;

    if (json_array_size(list) == 0)
        return;
    text_append_format(out,
                       "<details><summary>%zu %s</summary><div class=\"scroll\">"
                       "<table class=\"tight\"><tbody>\n",
                       json_array_size(list), summary);
    json_array_foreach((json_t *)list, i, entry)
    {
        text_append(out, "<tr><th scope=\"row\" class=\"w20\">");
        escape_html(out, member_text(entry, "check"));
        text_append(out, "</th>");
        append_cell(out, entry, key);
        text_append(out, "</tr>\n");
    }
    text_append(out, "</tbody></table></div></details>\n");
}

static void append_findings(struct text *out, const json_t *findings)
{
    size_t i;
    json_t *finding;

    text_append(out, "<div class=\"scroll\"><table class=\"tight fixed\"><thead><tr>"
                     "<th scope=\"col\" class=\"w12\">What</th>"
                     "<th scope=\"col\" class=\"w9\">How bad</th>"
                     "<th scope=\"col\" class=\"w25\">Seen</th>"
                     "<th scope=\"col\" class=\"w25\">Effect</th>"
                     "<th scope=\"col\">What to do</th></tr></thead><tbody>\n");
    json_array_foreach((json_t *)findings, i, finding)
    {
        text_append(out, "<tr><th scope=\"row\" class=\"wrap\">");
        escape_html(out, member_text(finding, "check"));
        text_append(out, "</th>");
        append_cell(out, finding, "severity");
        append_cell(out, finding, "observed");
        append_cell(out, finding, "effect");
        append_cell(out, finding, "remedy");
        text_append(out, "</tr>\n");
    }
    text_append(out, "</tbody></table></div>\n");
}

static void append_report(struct text *out, const struct view_campaign *campaign,
                          const json_t *examined)
{
    const json_t *report = json_object_get(examined, "report");
    const json_t *findings = json_object_get(report, "findings");
    struct view_count utc_ns = view_json_count(examined, "utc_ns");

    text_append(out, "<p class=\"soft\">Campaign ");
    escape_html_short(out, campaign->uid ? campaign->uid : "not recorded", 8);
    text_append(out, ", ");
    html_time(out, &utc_ns, " UTC");
    text_append_format(out, ": %zu found, %zu in order, %zu not known here.</p>\n",
                       json_array_size(findings),
                       json_array_size(json_object_get(report, "passed")),
                       json_array_size(json_object_get(report, "unknown")));
    if (json_array_size(findings) > 0)
        append_findings(out, findings);
    append_list(out, "in order", json_object_get(report, "passed"), "observed");
    append_list(out, "not known here, each with its reason", json_object_get(report, "unknown"),
                "reason");
}

static void append_dump(struct text *out, const json_t *dump)
{
    struct view_count bytes = view_json_count(dump, "bytes");
    const char *digest = member_string(dump, "sha256");

    text_append(out, "<tr><th scope=\"row\" class=\"wrap\"><code>");
    escape_html(out, member_text(dump, "command"));
    text_append(out, "</code></th>");
    append_cell(out, dump, "status");
    text_append(out, "<td class=\"wrap\">");
    if (bytes.known)
        text_append_format(out, "%lld bytes, SHA-256 ", (long long)bytes.value);
    if (digest)
        html_digest(out, digest);
    if (member_string(dump, "message"))
        text_append(out, digest ? "; " : "");
    escape_html(out, member_text(dump, "message"));
    text_append(out, "</td></tr>\n");
}

void html_dumps(struct text *out, const struct view *view)
{
    for (size_t c = 0; c < view->campaign_count; ++c) {
        const json_t *dumps = json_object_get(view->campaigns[c].root, "dumps");
        size_t i;
        json_t *dump;

        if (json_array_size(dumps) == 0)
            continue;
        text_append(out, "<details><summary>What the system&#39;s and the vendors&#39; tools said "
                         "of the machine before campaign ");
        escape_html_short(out, view->campaigns[c].uid ? view->campaigns[c].uid : "not recorded", 8);
        text_append(out, ", stored verbatim (<code>assay show --dump</code>)</summary>"
                         "<div class=\"scroll\"><table class=\"tight\"><thead><tr>"
                         "<th scope=\"col\" class=\"w20\">Tool</th>"
                         "<th scope=\"col\" class=\"w12\">Came to</th>"
                         "<th scope=\"col\">Stored output, or the reason for none</th></tr></thead>"
                         "<tbody>\n");
        json_array_foreach((json_t *)dumps, i, dump)
        {
            append_dump(out, dump);
        }
        text_append(out, "</tbody></table></div></details>\n");
    }
}

void html_doctor(struct text *out, const struct view *view)
{
    bool any = false;

    for (size_t c = 0; c < view->campaign_count; ++c) {
        size_t i;
        json_t *examined;

        json_array_foreach(json_object_get(view->campaigns[c].root, "doctor"), i, examined)
        {
            text_append(out, any ? "" : "<h2 id=\"machine\">State of the machine</h2>\n");
            any = true;
            append_report(out, &view->campaigns[c], examined);
        }
    }
    if (any)
        html_dumps(out, view);
}
