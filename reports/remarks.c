#include "reports/remarks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/same_stack.h"

void remarks_init(struct remarks *remarks)
{
    *remarks = (struct remarks){0};
}

void remarks_finish(struct remarks *remarks)
{
    if (!remarks)
        return;
    for (size_t i = 0; i < remarks->count; ++i) {
        free(remarks->items[i].text);
        free(remarks->items[i].findings);
        free(remarks->items[i].parts);
        free(remarks->items[i].cells);
    }
    for (size_t i = 0; i < remarks->made_count; ++i)
        finding_list_finish(&remarks->made[i]);
    free(remarks->made);
    free(remarks->items);
    remarks_init(remarks);
}

static struct remark *append_remark(struct remarks *remarks)
{
    if (!ARRAY_ROOM(remarks->items, remarks->count, 1))
        return NULL;
    remarks->items[remarks->count] = (struct remark){0};
    return &remarks->items[remarks->count++];
}

static void add_cell(struct remarks *remarks, struct remark *remark, size_t index)
{
    if (remark->cell_count && remark->cells[remark->cell_count - 1] == index)
        return;
    if (ARRAY_ROOM(remark->cells, remark->cell_count, 1))
        remark->cells[remark->cell_count++] = index;
    else
        remarks->failed = true;
}

/* A trial without an end is no failure while its campaign runs: it may be the one under way. */
static bool is_failure(const struct view_cell *cell, const struct view_trial *trial)
{
    return !trial->ok && (trial->status || cell->run != VIEW_RUN_RUNNING);
}

/*
 * One finding for all attempts of a cell that ended in the same way, "9f2c41aa/5: trials 1, 4:
 * timeout: ..."; the same for all cells where a device does not support something.
 */
static void find_failure(const struct view_cell *cell, size_t first, struct finding_list *list)
{
    const struct view_trial *trial = &cell->trials[first];
    const char *message = trial->message && *trial->message ? trial->message : NULL;
    size_t count = 0;
    struct text numbers = TEXT_INIT;
    AUTO_FREE char *subject = NULL, *detail = NULL;

    for (size_t i = first; i < cell->trial_count; ++i) {
        const struct view_trial *other = &cell->trials[i];

        if (is_failure(cell, other) && text_same(other->status, trial->status) &&
            text_same(other->message, trial->message))
            text_append_format(&numbers, "%s%lld", count++ ? ", " : "", (long long)other->number);
    }
    subject = text_format("%s: trial%s %s", cell->result, count > 1 ? "s" : "", numbers.data);
    detail = text_format("%s%s%s", trial->status ? trial->status : "not finished",
                         message ? ": " : "", message ? message : "");
    if (!subject || !detail)
        list->failed = true;
    else if (view_is_unsupported(cell))
        finding_add_shown(list, FINDING_UNSUPPORTED, message ? strstr(detail, ": ") : NULL, NULL);
    else
        finding_add_shown(list, FINDING_TRIALS_FAILED, subject, detail);
    text_finish(&numbers);
}

static void find_failures(const struct view_cell *cell, struct finding_list *list)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const struct view_trial *trial = &cell->trials[i];
        bool seen = !is_failure(cell, trial);

        for (size_t k = 0; k < i && !seen; ++k)
            seen = is_failure(cell, &cell->trials[k]) &&
                   text_same(cell->trials[k].status, trial->status) &&
                   text_same(cell->trials[k].message, trial->message);
        if (!seen)
            find_failure(cell, i, list);
    }
}

/* Findings of one kind, of all cells that have them. */
struct target {
    struct remarks *remarks;
    size_t index;
    const char *result; /* of the cell */
};

/* Takes the findings of one cell into the remark. False: no memory. */
static bool take_findings(struct remark *remark, const char *result,
                          const struct finding *const *items, size_t count)
{
    if (!ARRAY_ROOM(remark->findings, remark->finding_count, count) ||
        !ARRAY_ROOM(remark->parts, remark->part_count, 1))
        return false;
    memcpy(remark->findings + remark->finding_count, items, count * sizeof(*items));
    remark->finding_count += count;
    remark->parts[remark->part_count++] = (struct remark_part){result, count};
    return true;
}

static void add_findings(void *context, const struct finding *const *items, size_t count)
{
    const struct target *target = context;
    struct remarks *remarks = target->remarks;
    struct remark *remark = NULL;

    if (finding_kinds[items[0]->code].severity == FINDING_INFO)
        return;
    /* Stated once, above the table (view_contention). */
    if (items[0]->code == FINDING_CONTENTION || items[0]->code == FINDING_STEAL)
        return;
    for (size_t i = 0; i < remarks->count && !remark; ++i)
        if (finding_same_kind(remarks->items[i].findings[0], items[0]))
            remark = &remarks->items[i];
    if (!remark)
        remark = append_remark(remarks);
    if (!remark || !take_findings(remark, target->result, items, count)) {
        remarks->failed = true;
        return;
    }
    add_cell(remarks, remark, target->index);
}

/* Whether the parts of all cells are of the same trials. */
static bool same_trials(const struct remark *remark)
{
    const size_t each = remark->parts[0].count;

    for (size_t i = 1; i < remark->part_count; ++i)
        if (remark->parts[i].count != each)
            return false;
    for (size_t i = each; i < remark->finding_count; ++i)
        if (remark->findings[i]->trial != remark->findings[i - each]->trial)
            return false;
    return true;
}

/*
 * Whose the findings of several cells are: "9f2c41aa/1: trial 2; 9f2c41aa/3: trials 1, 4: ", and
 * "trial 2 of each: " where that is shorter. A row may be steady with one trial that is not.
 */
static void append_trials(const struct remark *remark, struct text *out)
{
    size_t at = 0;

    if (remark->findings[0]->trial == 0)
        return;
    if (same_trials(remark)) {
        finding_render_trials(remark->findings, remark->parts[0].count, out);
        text_append(out, " of each: ");
        return;
    }
    for (size_t i = 0; i < remark->part_count; at += remark->parts[i++].count) {
        text_append_format(out, "%s%s: ", i ? "; " : "", remark->parts[i].result);
        finding_render_trials(remark->findings + at, remark->parts[i].count, out);
    }
    text_append(out, ": ");
}

void remarks_render(struct remarks *remarks)
{
    for (size_t i = 0; i < remarks->count; ++i) {
        struct remark *remark = &remarks->items[i];
        struct text text = TEXT_INIT;

        if (remark->cell_count == 1) {
            finding_render(remark->findings, remark->finding_count, 0, &text);
        } else {
            append_trials(remark, &text);
            finding_render_words(remark->findings, remark->finding_count, &text);
            if (finding_kinds[remark->findings[0]->code].remedy[0]) {
                text_append(&text, "; ");
                finding_render_remedy(remark->findings, remark->finding_count, &text);
            }
        }
        free(remark->text);
        remark->text = text_steal(&text);
        remarks->failed = remarks->failed || !remark->text;
    }
}

/* ---- findings of a cell that are not stored with its estimate ---- */

/* Of strings that a record holds. */
static void find_refusals(const json_t *refusals, struct finding_list *list)
{
    EACH(entry, refusals)
        if (json_is_string(entry))
            finding_add_shown(list, FINDING_CANDIDATE_FAILED, json_string_value(entry), NULL);
}

static void find_choice(const struct view_cell *cell, struct finding_list *list)
{
    const json_t *choices = json_object_get(cell->root, "choices");
    const char *failed = member_string(choices, "failed");

    if (failed)
        finding_add_shown(list, FINDING_AUTOTUNING_FAILED, failed, NULL);
    find_refusals(json_object_get(choices, "refused"), list);
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].ok)
            find_refusals(json_object_get(cell->trials[i].facts, "refused"), list);
}

/* Files of the trials that another hand than their package manager's put there, each once. */
static void find_altered(const struct view_cell *cell, struct finding_list *list)
{
    json_auto_t *seen = json_object();

    for (size_t i = 0; i < cell->trial_count; ++i) {
        for (size_t k = 0; k < cell->trials[i].component_count; ++k) {
            const struct view_component *file = &cell->trials[i].components[k];

            if (!file->version ||
                strncmp(file->version, SAME_STACK_ALTERED, strlen(SAME_STACK_ALTERED)) != 0 ||
                json_object_get(seen, file->path))
                continue;
            finding_add_shown(list, FINDING_FILE_ALTERED, file->path, file->version);
            json_object_set_new(seen, file->path, json_true());
        }
    }
}

/* {key of text, compiler and options: {binary: file, ..}, ..} takes one more. */
static void add_compiled(json_t *compiled, const json_t *artifact)
{
    const char *binary = member_string(artifact, "binary"), *file = member_string(artifact, "file");
    AUTO_FREE char *key = NULL;
    json_t *binaries;

    if (!binary || !file)
        return;
    key = text_format("%s\n%s\n%s\n%s\n%s\n%" JSON_INTEGER_FORMAT, file,
                      member_text(artifact, "source"), member_text(artifact, "prelude"),
                      member_text(artifact, "options"), member_text(artifact, "compiler"),
                      member_integer(artifact, "lanes"));
    if (key && !json_object_get(compiled, key))
        json_object_set_new(compiled, key, json_object());
    binaries = key ? json_object_get(compiled, key) : NULL;
    if (binaries)
        json_object_set_new(binaries, binary, json_string(file));
}

/* What is one text with one compiler and other bytes in another trial. */
static void find_kernels(const struct view_cell *cell, struct finding_list *list)
{
    json_auto_t *compiled = json_object();
    const char *key;
    json_t *binaries;

    for (size_t i = 0; i < cell->trial_count; ++i) {
        EACH(entry, cell->trials[i].artifacts)
            if (cell->trials[i].ok)
                add_compiled(compiled, json_object_get(entry, "artifact"));
    }
    json_object_foreach(compiled, key, binaries)
    {
        const double versions = (double)json_object_size(binaries);

        if (versions > 1)
            finding_add(list, FINDING_KERNEL_CHANGED, 0,
                        json_string_value(json_object_iter_value(json_object_iter(binaries))),
                        &versions);
    }
}

static void find_origin(const struct view_cell *cell, struct finding_list *list)
{
    /* As the finding of an estimate, for a cell that has none: its failed trials are marked, too.
     */
    if (cell->origin.worker && !cell->estimate)
        finding_add_shown(list, FINDING_FOREIGN_WORKER, NULL, NULL);
    if (cell->origin.host_root)
        finding_add_shown(list, FINDING_HOST_ROOT, cell->origin.host_root, NULL);
    if (cell->origin.libraries)
        finding_add_shown(list, FINDING_LIBRARIES_CHOSEN, cell->origin.libraries, NULL);
    find_altered(cell, list);
    find_kernels(cell, list);
}

static void find_amendments(const struct view_cell *cell, struct finding_list *list)
{
    EACH(amendment, cell->amendments) {
        AUTO_FREE char *words = view_amendment_words(amendment);

        if (words)
            finding_add_shown(list, FINDING_AMENDED, cell->result, words);
        else
            list->failed = true;
    }
}

/* Without an estimate for the reason that the campaign was not finished. */
static void find_unfinished(const struct view_cell *cell, struct finding_list *list)
{
    const enum finding_code code = cell->run == VIEW_RUN_RUNNING   ? FINDING_CAMPAIGN_RUNNING
                                   : !cell->database               ? FINDING_CAMPAIGN_CUT
                                   : cell->run == VIEW_RUN_PLANNED ? FINDING_CAMPAIGN_PLANNED
                                                                   : FINDING_CAMPAIGN_UNFINISHED;
    char campaign[9];

    if (cell->estimate || cell->run == VIEW_RUN_OVER || view_is_unsupported(cell))
        return;
    snprintf(campaign, sizeof(campaign), "%.8s", cell->result);
    finding_add_shown(list, code, campaign, cell->database);
}

/* Who picks the best of several runs of one plan shows that one. */
static void find_same_plan(const struct view_cell *cell, struct finding_list *list)
{
    const int64_t here = cell->same_plan_here, told = cell->same_plan_told;
    const bool hidden = told > here;

    if (hidden || here > 1)
        finding_add(list, hidden ? FINDING_PLAN_HIDDEN : FINDING_PLAN_REPEATED, 0, NULL,
                    (double[]){(double)(hidden ? told : here), (double)here});
}

static void find_imported(const struct view_cell *cell, struct finding_list *list)
{
    AUTO_FREE char *words = cell->imported.present ? view_imported_words(cell) : NULL;

    if (cell->imported.present)
        finding_add_shown(list, FINDING_IMPORTED, words, NULL);
}

/* ---- saying them ---- */

struct sayer {
    remarks_say_fn *say;
    void *context;
    size_t trial_count;
    enum finding_severity severity; /* of the findings to say now; NONE: of all */
};

static void say_findings(void *context, const struct finding *const *items, size_t count)
{
    const struct sayer *sayer = context;
    const enum finding_severity severity = finding_kinds[items[0]->code].severity;
    CLEANUP(text_finish) struct text text = TEXT_INIT;

    if (sayer->severity != FINDING_NONE && severity != sayer->severity)
        return;
    finding_render(items, count, sayer->trial_count, &text);
    if (text_ok(&text))
        sayer->say(sayer->context, severity, text.data);
}

void remarks_of_choice(const struct view_cell *cell, remarks_say_fn *say, void *context)
{
    CLEANUP(finding_list_finish) struct finding_list list = {0};

    find_choice(cell, &list);
    finding_each_group(&list, say_findings, &(struct sayer){say, context, 0, FINDING_NONE});
}

void remarks_of_cell(const struct view_cell *cell, remarks_say_fn *say, void *context)
{
    CLEANUP(finding_list_finish) struct finding_list list = {0};
    struct sayer sayer = {say, context, 0, FINDING_NONE};

    find_origin(cell, &list);
    find_choice(cell, &list);
    find_unfinished(cell, &list);
    find_same_plan(cell, &list);
    finding_each_group(&list, say_findings, &sayer);
    if (!cell->estimate)
        return;
    sayer.trial_count = cell->estimate->trial_count;
    for (sayer.severity = FINDING_CRITICAL; sayer.severity >= FINDING_INFO; --sayer.severity)
        finding_each_group(&cell->estimate->findings, say_findings, &sayer);
}

static void count_remark(void *context, enum finding_severity severity, const char *text)
{
    (void)severity;
    (void)text;
    ++*(size_t *)context;
}

bool remarks_has_any(const struct view_cell *cell)
{
    size_t count = 0;

    remarks_of_cell(cell, count_remark, &count);
    return count > 0;
}

/* Keeps a list, whose items remarks refer to. False: no memory; it is the caller's then. */
static bool keep(struct remarks *remarks, const struct finding_list *list)
{
    if (!ARRAY_ROOM(remarks->made, remarks->made_count, 1))
        return false;
    remarks->made[remarks->made_count++] = *list;
    return true;
}

void remarks_add_cell(struct remarks *remarks, size_t index, const struct view_cell *cell)
{
    struct target target = {remarks, index, cell->result};
    struct finding_list list = {0};

    if (cell->estimate && !finding_each_group(&cell->estimate->findings, add_findings, &target))
        remarks->failed = true;
    if (cell->device.simulated)
        finding_add_shown(&list, FINDING_SIMULATED, NULL, NULL);
    find_origin(cell, &list);
    find_choice(cell, &list);
    find_amendments(cell, &list);
    find_failures(cell, &list);
    find_unfinished(cell, &list);
    find_same_plan(cell, &list);
    find_imported(cell, &list);
    if (list.failed || !keep(remarks, &list)) {
        finding_list_finish(&list);
        remarks->failed = true;
    } else if (!finding_each_group(&list, add_findings, &target)) {
        remarks->failed = true;
    }
}

size_t remarks_of(const struct remarks *remarks, size_t index, size_t *ret, size_t capacity)
{
    size_t count = 0;

    for (size_t i = 0; i < remarks->count && count < capacity; ++i)
        for (size_t c = 0; c < remarks->items[i].cell_count; ++c)
            if (remarks->items[i].cells[c] == index) {
                ret[count++] = i + 1;
                break;
            }
    return count;
}
