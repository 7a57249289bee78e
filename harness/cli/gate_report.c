#include "harness/cli/gate_report.h"

#include "harness/cli/comparison_view.h"
#include "harness/core/cleanup.h"
#include "protocols/comparability.h"
#include "reports/comparison_words.h"

void gate_report_markdown(struct text *out, const struct campaign_comparison *comparison)
{
    CLEANUP(doc_finish) struct doc doc = doc_new(out, &doc_markdown);

    campaign_comparison_append(&doc, comparison, true);
}

/* "worse: time b/a 1.21 [1.19, 1.23]" */
static void append_message(struct text *out, const struct stored_comparison *comparison)
{
    const char *reason = comparability_why_no_evidence(comparison->judgement);
    json_auto_t *undecided_by = gate_undecided_by(comparison);
    CLEANUP(text_finish) struct text words = TEXT_INIT, plain = TEXT_INIT;

    doc_spaced(&words, gate_decision_name(gate_decide(comparison)));
    comparison_undecided_words(&words, undecided_by);
    doc_phrase(&words, comparison->figure == COMPARE_TIME ? ": time b/a " : ": ");
    comparison_number_words(&words, comparison);
    if (reason)
        doc_phrase(&words, "; %s", reason);
    doc_plain(&plain, words.data);
    doc_html_phrases(out, plain.data);
    out->failed = out->failed || words.failed || plain.failed;
}

void gate_report_junit(struct text *out, const struct campaign_comparison *comparison)
{
    size_t worse = 0, errors = 0;

    for (size_t i = 0; i < comparison->count; i++) {
        const enum gate_decision decision = gate_decide(&comparison->list[i]);

        worse += decision == GATE_WORSE;
        errors += decision != GATE_WORSE && decision != GATE_PASSES;
    }
    text_append_format(out,
                       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<testsuites name=\"assay gate\" tests=\"%zu\" failures=\"%zu\" "
                       "errors=\"%zu\">\n<testsuite name=\"",
                       comparison->count, worse, errors);
    doc_html_phrases(out, comparison->a);
    doc_html_phrases(out, comparison->b[0] ? " against " : "");
    doc_html_phrases(out, comparison->b);
    text_append_format(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\">\n",
                       comparison->count, worse, errors);
    for (size_t i = 0; i < comparison->count; i++) {
        const enum gate_decision decision = gate_decide(&comparison->list[i]);

        text_append(out, "<testcase classname=\"assay.gate\" name=\"");
        doc_html_phrases(out, comparison->names[i]);
        text_append(out, "\">");
        if (decision != GATE_PASSES) {
            text_append_format(out, "<%s type=\"%s\" message=\"",
                               decision == GATE_WORSE ? "failure" : "error",
                               gate_decision_name(decision));
            append_message(out, &comparison->list[i]);
            text_append(out, "\"/>");
        }
        text_append(out, "</testcase>\n");
    }
    text_append(out, "</testsuite>\n</testsuites>\n");
}
