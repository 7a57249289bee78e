/* What `assay doctor` found on the machine before a campaign's trials. */
#include "reports/html_internal.h"

#include <string.h>

#include "reports/escape.h"
#include "reports/view_json.h"

static void append_cell(struct text *out, const json_t *finding, const char *key)
{
    text_append(out, "<td class=\"wrap\">");
    escape_html_words(out, view_json_text(finding, key));
    text_append(out, "</td>");
}

static void append_report(struct text *out, const struct view_campaign *campaign,
                          const json_t *examined)
{
    const json_t *report = json_object_get(examined, "report");
    const json_t *findings = json_object_get(report, "findings");
    struct view_count utc_ns = view_json_count(examined, "utc_ns");
    size_t i;
    json_t *finding;

    text_append(out, "<p class=\"soft\">Campaign ");
    escape_html_short(out, campaign->uid ? campaign->uid : "not recorded", 8);
    text_append(out, ", ");
    html_time(out, &utc_ns, " UTC");
    text_append_format(out, ": %zu found, %zu in order, %zu not known here.</p>\n",
                       json_array_size(findings),
                       json_array_size(json_object_get(report, "passed")),
                       json_array_size(json_object_get(report, "unknown")));
    if (json_array_size(findings) == 0)
        return;
    text_append(out, "<div class=\"scroll\"><table class=\"tight\"><thead><tr>"
                     "<th scope=\"col\">What</th><th scope=\"col\">How bad</th>"
                     "<th scope=\"col\">Seen</th><th scope=\"col\">What it spoils</th>"
                     "<th scope=\"col\">What to do</th></tr></thead><tbody>\n");
    json_array_foreach((json_t *)findings, i, finding)
    {
        text_append(out, "<tr><th scope=\"row\" class=\"wrap\">");
        escape_html(out, view_json_text(finding, "check"));
        text_append(out, "</th>");
        append_cell(out, finding, "severity");
        append_cell(out, finding, "observed");
        append_cell(out, finding, "spoils");
        append_cell(out, finding, "remedy");
        text_append(out, "</tr>\n");
    }
    text_append(out, "</tbody></table></div>\n");
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
}
