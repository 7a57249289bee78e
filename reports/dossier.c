#include "reports/dossier.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "reports/cell_document.h"
#include "reports/citation.h"
#include "reports/dossier_internal.h"
#include "reports/html_decision.h"
#include "reports/results_document.h"

/* When the page was written; SOURCE_DATE_EPOCH (seconds) replaces it, for reproducible pages. */
static int64_t written_utc_ns(void)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    int64_t seconds;

    if (epoch && text_parse_i64(epoch, &seconds) && seconds >= 0 && seconds < INT64_C(1) << 33)
        return seconds * 1000000000;
    return clock_utc_ns();
}

static void say_masthead(struct doc *doc)
{
    const struct view_count written = {true, written_utc_ns()};

    text_append(doc->out, "<header class=\"masthead\">");
    doc_add(doc, "assay, written ");
    phrase_time(&doc->block, &written);
    doc_end(doc, "eyebrow");
    doc_heading(doc, 1, NULL, "Test report: dossier of a measurement");
    text_append(doc->out, "</header>\n<main>\n");
}

/* What identifies each campaign, and its outcome. */
static void say_campaigns(struct doc *doc, const struct view *view)
{
    for (size_t i = 0; i < view->campaign_count; i++) {
        const struct view_campaign *campaign = &view->campaigns[i];
        const bool imported = view_is_import(view, i);
        const struct view_count never = {false, 0};

        doc_open(doc, DOC_FACTS, "facts campaign");
        doc_say(doc, NULL, "Campaign\t{code %s}", campaign->uid);
        doc_add(doc, imported ? "Imported\t" : "Planned and recorded\t");
        phrase_time(&doc->block, &campaign->created_utc_ns);
        doc_end(doc, NULL);
        doc_add(doc, "Ended\t");
        phrase_time(&doc->block, campaign->event_count > 0
                                     ? &campaign->events[campaign->event_count - 1].utc_ns
                                     : &never);
        doc_end(doc, NULL);
        doc_say(doc, NULL, "Plan\t{digest %s}", campaign->plan_digest);
        doc_say(doc, NULL, "Nonce of the client\t%s",
                campaign->nonce ? campaign->nonce : "none was given");
        doc_add(doc, imported ? "Imported by\t" : "Measured by\t");
        phrase_tool(&doc->block, campaign);
        doc_end(doc, NULL);
        doc_close(doc);
    }
}

static void say_question(struct doc *doc, const struct view *view)
{
    for (size_t i = 0; i < view->campaign_count; i++) {
        const char *question = view->campaigns[i].question;

        if (question) {
            doc_say(doc, NULL, "{bold %s}", question);
            doc_say(doc, "soft", "Stated in the plan, before the first trial.");
        } else {
            doc_say(doc, NULL,
                    "No question was stated in the plan (`assay run --question`). What "
                    "was asked of the tool:");
        }
        doc_say(doc, "command wrap mono", "%s", view->campaigns[i].command);
    }
}

/* What the standard asks for and no program can know: lines to write on. */
static void say_parties(struct doc *doc)
{
    static const char *const lines[][2] = {{"Laboratory", "name, address (7.8.2.1 b)"},
                                           {"Place", "where it was measured (7.8.2.1 c)"},
                                           {"Customer", "name, contact (7.8.2.1 e)"},
                                           {"Item received", "date (7.8.2.1 h)"}};

    doc_say(doc, NULL,
            "The sections follow the reporting clauses of ISO/IEC 17025:2017, and each names its "
            "own. That makes nobody an accredited laboratory. What a program cannot know is to be "
            "filled in:");
    text_append(doc->out, "<div class=\"hands\">\n");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        text_append_format(doc->out, "<p class=\"one\"><b>%s</b><span>%s</span></p>\n", lines[i][0],
                           lines[i][1]);
    text_append(doc->out, "</div>\n");
}

static void say_attempts(struct doc *doc, const struct view *view)
{
    dossier_section(doc, DOSSIER_ATTEMPTS);
    doc_say(doc, NULL,
            "Every trial that was started is listed here, whatever its outcome. Trials are planned "
            "and recorded before the first one runs; none is repeated until it looks good.");
    for (size_t i = 0; i < view->cell_count; i++) {
        AUTO_FREE char *id = phrase_result_id(&view->cells[i]);

        phrase_title(&doc->block, &view->cells[i]);
        doc_heading(doc, 3, id, " {code %s}", view->cells[i].result);
        if (view->cells[i].imported.present) {
            doc_add(doc, "None of ours: another program measured it, and its file says no more of "
                         "how often than ");
            dossier_see(&doc->block, DOSSIER_ITEMS);
            doc_say(doc, NULL, " has.");
            continue;
        }
        cell_sections(doc, &view->cells[i], CELL_DOSSIER);
    }
}

static void say_results(struct doc *doc, const struct view *view)
{
    dossier_section(doc, DOSSIER_RESULTS);
    results_document(doc, view, false);
    doc_say(doc, "soft", "To be cited as:");
    for (size_t i = 0; i < view->cell_count; i++) {
        CLEANUP(text_finish) struct text citation = TEXT_INIT;

        citation_append(&citation, &view->campaigns[view->cells[i].campaign], &view->cells[i]);
        doc_say(doc, "wrap", "{code %s}", citation.data);
    }
}

static void say_limits(struct doc *doc)
{
    dossier_section(doc, DOSSIER_LIMITS);
    doc_add(doc, "{bold The results relate only to the items tested}, as identified in ");
    dossier_see(&doc->block, DOSSIER_ITEMS);
    doc_add(doc, ", with the software of ");
    dossier_see(&doc->block, DOSSIER_CONDITIONS);
    doc_say(doc, NULL,
            ", at the time of the trials. Another unit of the same model, another "
            "driver or another day is another measurement.");
    doc_say(doc, NULL,
            "An interval covers what varies from trial to trial in this campaign. It does not "
            "cover what was the same in all of them: this unit, this machine, this room, this "
            "build of each library. A workload represents itself alone; whether it represents the "
            "load of the reader is the reader's judgement.");
    doc_say(doc, NULL,
            "Whether more was measured than is handed over, and whether the machine reported the "
            "truth, no file can show; `results/FORMAT.md` lists what limits it: a nonce, a witness "
            "of the plan, `assay reproduce`.");
    doc_add(doc, "This page is not to be shown in part without ");
    dossier_see(&doc->block, DOSSIER_DEVIATIONS);
    doc_add(doc, " and ");
    dossier_see(&doc->block, DOSSIER_ATTEMPTS);
    doc_say(doc, NULL, ".");
}

static void say_check_yourself(struct doc *doc)
{
    static const char *const steps[] = {
        "Ask for the database, or for a bundle of the campaign (`assay bundle`), and for the "
        "public key of whoever measured, by another way than the file.",
        "`assay verify --key PUBLIC FILE` checks every record against the log, the log against its "
        "signed heads, that nothing planned is missing, and works out every figure of the results "
        "again from the raw samples. It needs no device and no network.",
        "Compare the head among the signatures with the one that was given to you when the "
        "measurement ended: `assay verify --expect-head SIZE:ROOT FILE`. Somebody who owns the "
        "file can rewrite all of it, but not a head that you hold.",
        "Do not trust our program: `results/FORMAT.md` specifies the file, and "
        "`tests/support/verify.py` is a second verifier that shares no code with the first.",
        "`assay reproduce RESULT` measures the same again on your floor and says whether it held.",
    };

    dossier_section(doc, DOSSIER_CHECK);
    doc_open(doc, DOC_LIST, NULL);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
        doc_say(doc, NULL, "%s", steps[i]);
    doc_close(doc);
}

static enum status append_page(struct text *out, struct store *store, const struct view *view,
                               struct error *err)
{
    CLEANUP(doc_finish) struct doc doc = doc_new(out, &doc_html);
    json_auto_t *decisions = NULL;
    bool accepted;

    html_page_begin(out, "dossier", "Dossier", view->campaigns[0].uid);
    say_masthead(&doc);
    TRY(dossier_summary(&doc, store, view, err));
    dossier_section(&doc, DOSSIER_REPORT);
    say_campaigns(&doc, view);
    say_question(&doc, view);
    say_parties(&doc);
    dossier_method(&doc, view);
    dossier_items(&doc, view);
    dossier_conditions(&doc, view);
    say_results(&doc, view);
    TRY(dossier_deviations(&doc, store, view, err));
    say_attempts(&doc, view);
    dossier_section(&doc, DOSSIER_CONFORMITY);
    TRY(dossier_acceptances(&doc, store, view, NULL, &accepted, err));
    if (!accepted)
        doc_say(&doc, NULL,
                "No contract was judged by these results (`assay accept`), so no "
                "conformity is stated.");
    TRY(dossier_decisions(&doc, store, view, err));
    TRY(dossier_newest(store, view, &judgement_decide, &decisions, err));
    if (json_array_size(decisions) > 0) {
        doc_heading(&doc, 3, "decision", "Decisions between options");
        html_decisions(&doc, decisions, false);
    }
    TRY(dossier_costs(&doc, store, view, 3, err));
    say_limits(&doc);
    TRY(dossier_signatures(&doc, store, view, err));
    say_check_yourself(&doc);
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
    CLEANUP(text_finish) struct text page = TEXT_INIT;

    TRY(report_dossier_text(store, cells, count, &page, err));
    return file_write_atomic(path, page.data, page.length, 0644, err);
}
