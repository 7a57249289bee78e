#include "reports/dossier.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "reports/citation.h"
#include "reports/dossier_internal.h"
#include "reports/escape.h"
#include "reports/html_decision.h"

/* When the page was written; SOURCE_DATE_EPOCH (seconds) replaces it, for reproducible pages. */
static int64_t written_utc_ns(void)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    int64_t seconds;

    if (epoch && text_parse_i64(epoch, &seconds) && seconds >= 0 && seconds < INT64_C(1) << 33)
        return seconds * 1000000000;
    return clock_utc_ns();
}

static void append_masthead(struct text *out)
{
    const struct view_count written = {true, written_utc_ns()};

    text_append(out, "<header class=\"masthead\"><p class=\"eyebrow\">assay, written ");
    html_time(out, &written, " UTC");
    text_append(out, "</p><h1>Test report: dossier of a measurement</h1>\n</header>\n<main>\n");
}

/* What identifies each campaign, and its outcome. */
static void append_campaigns(struct text *out, const struct view *view)
{
    for (size_t i = 0; i < view->campaign_count; i++) {
        const struct view_campaign *campaign = &view->campaigns[i];
        const bool imported = view_is_import(view, i);

        text_append(out, "<dl class=\"facts campaign\">\n");
        html_fact_begin(out, "Campaign");
        text_append(out, "<code class=\"wrap\">");
        html_known(out, campaign->uid);
        text_append(out, "</code>");
        html_fact_end(out);
        html_fact_begin(out, imported ? "Imported" : "Planned and recorded");
        html_time(out, &campaign->created_utc_ns, " UTC");
        html_fact_end(out);
        html_fact_begin(out, "Ended");
        if (campaign->event_count > 0)
            html_time(out, &campaign->events[campaign->event_count - 1].utc_ns, " UTC");
        else
            html_known(out, NULL);
        html_fact_end(out);
        html_fact_begin(out, "Plan");
        html_digest(out, campaign->plan_digest);
        html_fact_end(out);
        html_fact_begin(out, "Nonce of the client");
        html_known(out, campaign->nonce ? campaign->nonce : "none was given");
        html_fact_end(out);
        html_tool(out, imported ? "Imported by" : "Measured by", campaign);
        text_append(out, "</dl>\n");
    }
}

static void append_question(struct text *out, const struct view *view)
{
    for (size_t i = 0; i < view->campaign_count; i++) {
        const char *question = view->campaigns[i].question;

        if (question) {
            text_append(out, "<p><b>");
            escape_html(out, question);
            text_append(out, "</b></p>\n<p class=\"soft\">Stated in the plan, before the first "
                             "trial.</p>\n");
        } else {
            text_append(out, "<p>No question was stated in the plan (<code>assay run "
                             "--question</code>). What was asked of the tool:</p>\n");
        }
        text_append(out, "<p><code class=\"command wrap\">");
        html_known(out, view->campaigns[i].command);
        text_append(out, "</code></p>\n");
    }
}

/* What the standard asks for and no program can know: lines to write on. */
static void append_parties(struct text *out)
{
    static const char *const lines[][2] = {{"Laboratory", "name, address (7.8.2.1 b)"},
                                           {"Place", "where it was measured (7.8.2.1 c)"},
                                           {"Customer", "name, contact (7.8.2.1 e)"},
                                           {"Item received", "date (7.8.2.1 h)"}};

    text_append(out, "<p>The sections follow the reporting clauses of ISO/IEC 17025:2017, and each "
                     "names its own. That makes nobody an accredited laboratory. What a program "
                     "cannot know is to be filled in:</p>\n<div class=\"hands\">\n");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        text_append_format(out, "<p class=\"one\"><b>%s</b><span>%s</span></p>\n", lines[i][0],
                           lines[i][1]);
    text_append(out, "</div>\n");
}

static void append_attempts(struct text *out, const struct view *view)
{
    dossier_section(out, DOSSIER_ATTEMPTS);
    text_append(out,
                "<p>Every trial that was started "
                "is listed here, whatever its outcome. Trials are planned and recorded before the "
                "first one runs; none is repeated until it looks good.</p>\n");
    for (size_t i = 0; i < view->cell_count; i++) {
        text_append(out, "<h3 class=\"attempt\" id=\"");
        html_result_id(out, &view->cells[i]);
        text_append(out, "\">");
        html_cell_title(out, &view->cells[i]);
        text_append(out, " <code>");
        escape_html(out, view->cells[i].result);
        text_append(out, "</code></h3>\n");
        if (view->cells[i].imported.present) {
            text_append(out, "<p>None of ours: another program measured it, and its file says no "
                             "more of how often than ");
            dossier_see(out, DOSSIER_ITEMS);
            text_append(out, " has.</p>\n");
            continue;
        }
        html_attempts(out, &view->cells[i]);
        if (view->cells[i].trial_count > 0)
            html_checks(out, &view->cells[i]);
    }
}

static void append_results(struct text *out, const struct view *view)
{
    dossier_section(out, DOSSIER_RESULTS);
    html_results(out, view);
    text_append(out, "<p class=\"soft\">To be cited as:</p>\n");
    for (size_t i = 0; i < view->cell_count; i++) {
        struct text citation;

        text_init(&citation);
        citation_append(&citation, &view->campaigns[view->cells[i].campaign], &view->cells[i]);
        text_append(out, "<p class=\"wrap\"><code>");
        escape_html(out, text_ok(&citation) ? citation.data : "");
        text_append(out, "</code></p>\n");
        text_finish(&citation);
    }
}

static void append_limits(struct text *out)
{
    dossier_section(out, DOSSIER_LIMITS);
    text_append(out, "<p><b>The results relate only to the items tested</b>, as identified in ");
    dossier_see(out, DOSSIER_ITEMS);
    text_append(out, ", with the software of ");
    dossier_see(out, DOSSIER_CONDITIONS);
    text_append(
        out,
        ", at the time of the trials. Another unit of the same model, another driver or another "
        "day "
        "is another measurement.</p>\n"
        "<p>An interval covers what varies from trial to trial in this campaign. It does not cover "
        "what was the same in all of them: this unit, this machine, this room, this build of each "
        "library. A workload represents itself alone; whether it represents the load of the "
        "reader is the reader&#39;s judgement.</p>\n"
        "<p>Whether more was measured than is handed over, and whether the machine reported the "
        "truth, no file can show; <code>results/FORMAT.md</code> lists what limits it: a "
        "nonce, a witness of the plan, <code>assay reproduce</code>.</p>\n"
        "<p>This page is not to be shown in part without ");
    dossier_see(out, DOSSIER_DEVIATIONS);
    text_append(out, " and ");
    dossier_see(out, DOSSIER_ATTEMPTS);
    text_append(out, ".</p>\n");
}

static void append_check_yourself(struct text *out)
{
    dossier_section(out, DOSSIER_CHECK);
    text_append(
        out,
        "<ol>\n"
        "<li>Ask for the database, or for a bundle of the campaign (<code>assay bundle</code>), "
        "and "
        "for the public key of whoever measured, by another way than the file.</li>\n"
        "<li><code>assay verify --key PUBLIC FILE</code> checks every record against the log, the "
        "log against its signed heads, that nothing planned is missing, and works out every "
        "figure of the results again from the raw samples. It needs no device and no "
        "network.</li>\n"
        "<li>Compare the head among the signatures with the one that was given to you when the "
        "measurement ended: <code>assay verify --expect-head SIZE:ROOT FILE</code>. Somebody who "
        "owns the file can rewrite all of it, but not a head that you hold.</li>\n"
        "<li>Do not trust our program: <code>results/FORMAT.md</code> specifies the file, and "
        "<code>tests/support/verify.py</code> is a second verifier that shares no code with the "
        "first.</li>\n"
        "<li><code>assay reproduce RESULT</code> measures the same again on your floor and says "
        "whether it held.</li>\n"
        "</ol>\n");
}

static enum status append_page(struct text *out, struct store *store, const struct view *view,
                               struct error *err)
{
    json_auto_t *decisions = NULL;
    size_t before;

    html_page_begin(out, "dossier", "Dossier", view->campaigns[0].uid);
    append_masthead(out);
    TRY(dossier_summary(out, store, view, err));
    dossier_section(out, DOSSIER_REPORT);
    append_campaigns(out, view);
    append_question(out, view);
    append_parties(out);
    dossier_method(out, view);
    dossier_items(out, view);
    dossier_conditions(out, view);
    append_results(out, view);
    TRY(dossier_deviations(out, store, view, err));
    append_attempts(out, view);
    dossier_section(out, DOSSIER_CONFORMITY);
    before = out->length;
    TRY(dossier_acceptances(out, store, view, "", err));
    if (out->length == before)
        text_append(out,
                    "<p>No contract was judged by these results (<code>assay accept</code>), so "
                    "no conformity is stated.</p>\n");
    TRY(dossier_decisions(out, store, view, err));
    TRY(html_decisions_load(store, view, &decisions, err));
    html_decisions(out, decisions, "<h3 id=\"decision\">Decisions between options</h3>\n", false);
    TRY(dossier_costs(out, store, view, "<h3>Cost</h3>\n", err));
    append_limits(out);
    TRY(dossier_signatures(out, store, view, err));
    append_check_yourself(out);
    text_append(out, "</main>\n<footer class=\"colophon\"><p>Written by assay from its database; "
                     "the page holds no scripts and loads nothing. The evidence is the database, "
                     "not this page. End of the dossier.</p></footer>\n</div>\n</body>\n</html>\n");
    return STATUS_OK;
}

enum status report_dossier_text(struct store *store, const int64_t *cells, size_t count,
                                struct text *ret, struct error *err)
{
    CLEANUP(view_finish) struct view view = {0};

    if (count == 0)
        return error_set(err, STATUS_INVALID, "a dossier needs at least one result");
    TRY(view_load(store, cells, count, VIEW_FULL, &view, err));
    TRY(append_page(ret, store, &view, err));
    if (!text_ok(ret))
        return error_no_memory(err);
    return STATUS_OK;
}

enum status report_dossier_file(struct store *store, const int64_t *cells, size_t count,
                                const char *path, struct error *err)
{
    CLEANUP(text_finish) struct text page;

    text_init(&page);
    TRY(report_dossier_text(store, cells, count, &page, err));
    return file_write_atomic(path, page.data, page.length, 0644, err);
}
