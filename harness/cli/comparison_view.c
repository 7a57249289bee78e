#include "harness/cli/comparison_view.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"

enum status comparison_options(const struct command_line *line, struct assay_compare_options *ret,
                               struct error *err)
{
    const char *by = command_value(line, KEY_BY);

    *ret = (struct assay_compare_options)ASSAY_COMPARE_OPTIONS_INIT;
    ret->by = by;
    ret->under = command_value(line, KEY_UNDER);
    ret->allow_foreign_worker = command_has(line, KEY_ALLOW_FOREIGN_WORKER);
    if (by && compare_figure_find(by) == COMPARE_FIGURE_COUNT)
        return error_set(err, STATUS_INVALID, "--by %s: write time, attainment or capacity", by);
    return command_fraction(line, KEY_MARGIN, "margin", &ret->margin, err);
}

enum assay_status comparison_of_arguments(const struct command_line *line,
                                          const struct assay_compare_options *options,
                                          struct assay_comparison **ret)
{
    return assay_compare(line->opened, line->arguments[0],
                         line->argument_count > 1 ? line->arguments[1] : NULL, options, ret);
}

struct doc comparison_view_doc(const struct command_line *line, struct text *out)
{
    struct doc doc = output_doc(line, out);

    doc.is_brief = !command_has(line, KEY_DETAILS);
    return doc;
}

void comparison_view_hint(struct doc *doc)
{
    if (doc->is_brief && doc->medium == &doc_lines)
        doc_say(doc, NULL, "--details has the tests, and each reading and field.");
}

/* The results of all. */
static enum status load_view(struct store *store, const struct campaign_comparison *c,
                             struct view *ret, struct error *err)
{
    AUTO_FREE int64_t *cells = calloc(2 * c->count + 1, sizeof(*cells));

    if (!cells)
        return error_no_memory(err);
    for (size_t i = 0; i < c->count; i++)
        memcpy(&cells[2 * i], c->list[i].cells, sizeof(c->list[i].cells));
    return view_load(store, cells, 2 * c->count, VIEW_SUMMARY, ret, err);
}

static enum status write_one(struct doc *doc, struct store *store,
                             const struct stored_comparison *comparison, struct error *err)
{
    CLEANUP(comparison_arms_finish) struct comparison_arms arms = {.view = {0}};

    TRY(comparison_arms_load(store, comparison, &arms, err));
    comparison_document(doc, comparison, &arms, !doc->is_brief);
    return STATUS_OK;
}

enum status comparison_view_write(struct doc *doc, struct store *store,
                                  const struct campaign_comparison *c, bool gated,
                                  struct error *err)
{
    CLEANUP(view_finish) struct view view = {0};

    if (gated)
        comparison_gate(doc, c);
    if (c->is_single) {
        TRY(write_one(doc, store, c->list, err));
    } else {
        TRY(load_view(store, c, &view, err));
        comparison_family_document(doc, &view, c, gated);
    }
    if (gated)
        comparison_gate_rule(doc, c);
    for (size_t i = 0; !doc->is_brief && !c->is_single && i < c->count; i++) {
        doc_heading(doc, 3, NULL, "%s", c->names[i]);
        TRY(write_one(doc, store, &c->list[i], err));
    }
    comparison_view_hint(doc);
    return STATUS_OK;
}

/* The data of --json. */
static enum status show_json(struct store *store, const struct campaign_comparison *c, bool gated,
                             json_t **ret, struct error *err)
{
    CLEANUP(comparison_arms_finish) struct comparison_arms arms = {.view = {0}};
    json_auto_t *object = NULL;

    if (!c->is_single) {
        *ret = campaign_comparison_json(c, gated);
        return STATUS_OK;
    }
    TRY(comparison_arms_load(store, c->list, &arms, err));
    object = gated ? gate_json(c->list, c->options.margin) : stored_comparison_json(c->list);
    *ret = comparison_arms_json(&arms, object);
    return STATUS_OK;
}

int campaign_comparison_show(const struct command_line *line, struct store *store,
                             const struct campaign_comparison *c, bool gated)
{
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    struct error err = ERROR_INIT;
    json_t *data = NULL;
    struct doc doc;

    if (command_has(line, KEY_JSON))
        return show_json(store, c, gated, &data, &err) == STATUS_OK ? output_json(data)
                                                                    : command_fail_store(&err);
    doc = comparison_view_doc(line, &out);
    if (comparison_view_write(&doc, store, c, gated, &err) == STATUS_OK)
        return output_document(&doc);
    doc_finish(&doc);
    return command_fail_store(&err);
}

static int exit_status_of(const struct stored_comparison *comparison)
{
    const enum compare_verdict verdict = comparison->numbers.verdict;
    const int served = served_change_verdict(comparison->figure, &comparison->change);

    if (!strcmp(member_text(comparison->judgement, "verdict"), "not_comparable"))
        return ASSAY_EXIT_USAGE;
    if (!comparison->has_numbers)
        return ASSAY_EXIT_DEVICE;
    if (comparison->figure != COMPARE_TIME)
        return served > 0 ? ASSAY_EXIT_OK : served < 0 ? ASSAY_EXIT_TRIALS : ASSAY_EXIT_DEVICE;
    if (verdict == COMPARE_EQUIVALENT || verdict == COMPARE_FASTER)
        return ASSAY_EXIT_OK;
    return verdict == COMPARE_SLOWER ? ASSAY_EXIT_TRIALS : ASSAY_EXIT_DEVICE;
}

int campaign_comparison_exit_status(const struct campaign_comparison *c)
{
    int worst = ASSAY_EXIT_OK;

    for (size_t i = 0; i < c->count; i++) {
        const int status = exit_status_of(&c->list[i]);

        if (status == ASSAY_EXIT_USAGE)
            return status;
        if (status == ASSAY_EXIT_TRIALS || (status != ASSAY_EXIT_OK && worst == ASSAY_EXIT_OK))
            worst = status;
    }
    return worst;
}
