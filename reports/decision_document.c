#include "reports/decision_document.h"

#include <string.h>

#include "harness/core/member.h"
#include "protocols/decision.h"
#include "reports/decision_words.h"
#include "results/analysis/acceptance.h"

void decision_grounds(struct doc *doc, const json_t *body)
{
    doc_add(doc, "{bold At what cost:} ");
    if (decision_cost_words(&doc->block, body))
        doc_end(doc, NULL);
    else
        text_clear(&doc->block);
    doc_add(doc, "{bold How sure:} ");
    decision_sure_words(&doc->block, body);
    doc_end(doc, NULL);
}

/* ---- the options ---- */

static void append_standing(struct text *out, const json_t *option)
{
    const char *reason = member_text(option, "reason");

    doc_phrase(out, "{bold ");
    doc_spaced(out, member_text(option, "standing"));
    doc_phrase(out, "}");
    EACH(name, json_object_get(option, "dominated_by"))
        doc_phrase(out, "%s%s", name_at ? ", " : " by ", json_string_value(name));
    if (reason[0])
        doc_phrase(out, ": %s", acceptance_reason_words(reason));
}

/* Requirements, and shares of declared peaks, a line each. */
static void append_met(struct text *out, const json_t *body, const json_t *option)
{
    const json_t *required = member_in(body, "decision", "requirements");
    const char *before = "";

    EACH(entry, json_object_get(option, "requirements")) {
        text_append(out, before);
        decision_requirement_words(out, json_array_get(required, entry_at));
        doc_phrase(out, ": ");
        decision_met_words(out, entry);
        before = "\n";
    }
    EACH(entry, json_object_get(option, "peaks")) {
        text_append(out, before);
        decision_peak_words(out, json_object_get(body, "peaks"), entry);
        before = "\n";
    }
}

static void say_option(struct doc *doc, const json_t *body, const json_t *option)
{
    doc_add(doc, "{bold %s} ({code %s}, {soft %s})\t", member_text(option, "name"),
            member_string(option, "result"), member_string(option, "device"));
    append_standing(&doc->block, option);
    EACH(range, json_object_get(option, "figures")) {
        const struct number_unit unit = decision_figure_unit(body, range_at);

        doc_add(doc, "\t");
        decision_range_words(&doc->block, range, &unit);
    }
    doc_add(doc, "\t");
    append_met(&doc->block, body, option);
    doc_end(doc, NULL);
}

static void append_head(struct text *out, const json_t *figure)
{
    decision_figure_name(out, figure);
    doc_phrase(out, "\n{soft %s}",
               !member_is_true(figure, "objective")              ? "required only"
               : !strcmp(member_text(figure, "better"), "lower") ? "lower is better"
                                                                 : "higher is better");
}

void decision_options(struct doc *doc, const json_t *body)
{
    struct text heads[DECISION_FIGURES_MAX + 1];
    struct doc_column columns[DECISION_FIGURES_MAX + 3] = {{"Option", 0},
                                                           {"Standing", DOC_LABELLED}};
    const json_t *figures = json_object_get(body, "figures");
    size_t i, count = json_array_size(figures);

    count = count < DECISION_FIGURES_MAX ? count : DECISION_FIGURES_MAX;
    for (i = 0; i <= count; i++) {
        text_init(&heads[i]);
        if (i < count)
            append_head(&heads[i], json_array_get(figures, i));
        else
            doc_phrase(&heads[i], "Requirements\n{soft margins of the worse bound}");
        columns[i + 2] =
            (struct doc_column){heads[i].data, i < count ? DOC_NUMBER | DOC_LABELLED : 0};
        doc->out->failed |= heads[i].failed;
    }
    doc_table(doc, "tight stacked", columns, count + 3);
    EACH(option, json_object_get(body, "options"))
        say_option(doc, body, option);
    doc_close(doc);
    for (i = 0; i <= count; i++)
        text_finish(&heads[i]);
}

/* ---- all of it ---- */

/* A list in a fold, an entry a line. */
static void say_list(struct doc *doc, const json_t *body, const char *member, const char *summary,
                     void (*words_of)(struct text *, const json_t *, const json_t *))
{
    const json_t *list = json_object_get(body, member);

    if (json_array_size(list) == 0)
        return;
    doc_add(doc, "%zu %s", json_array_size(list), summary);
    doc_open(doc, DOC_FOLD, NULL);
    doc_open(doc, DOC_LIST, NULL);
    EACH(entry, list) {
        words_of(&doc->block, body, entry);
        doc_end(doc, NULL);
    }
    doc_close(doc);
    doc_close(doc);
}

void decision_changes(struct doc *doc, const json_t *body)
{
    say_list(doc, body, "changes", "single changes that would give another answer, each by itself",
             decision_change_words);
}

void decision_notes(struct doc *doc, const json_t *body)
{
    say_list(doc, body, "notes", "notes", decision_note_words);
}

void decision_document(struct doc *doc, const json_t *body)
{
    decision_question_words(&doc->block, body);
    doc_end(doc, NULL);
    decision_answer_words(&doc->block, body);
    doc_end(doc, "answer");
    decision_grounds(doc, body);
    decision_options(doc, body);
    decision_changes(doc, body);
    decision_notes(doc, body);
}
