#include "reports/remarks.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/text.h"
#include "reports/view_json.h"

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
    free(remarks->items);
    remarks_init(remarks);
}

/* Takes the heap text. */
static struct remark *append_remark(struct remarks *remarks, char *text)
{
    struct remark *items = realloc(remarks->items, (remarks->count + 1) * sizeof(*items));

    if (!items) {
        free(text);
        return NULL;
    }
    remarks->items = items;
    items[remarks->count] = (struct remark){.text = text};
    return &items[remarks->count++];
}

static struct remark *find_or_create(struct remarks *remarks, const char *text)
{
    char *copy;

    for (size_t i = 0; i < remarks->count; ++i)
        if (remarks->items[i].text && strcmp(remarks->items[i].text, text) == 0)
            return &remarks->items[i];
    copy = strdup(text);
    return copy ? append_remark(remarks, copy) : NULL;
}

static void add_cell(struct remarks *remarks, struct remark *remark, size_t index)
{
    size_t *cells;

    if (remark->cell_count && remark->cells[remark->cell_count - 1] == index)
        return;
    cells = realloc(remark->cells, (remark->cell_count + 1) * sizeof(*cells));
    if (!cells) {
        remarks->failed = true;
        return;
    }
    remark->cells = cells;
    cells[remark->cell_count++] = index;
}

static void add_text(struct remarks *remarks, size_t index, const char *text)
{
    struct remark *remark = find_or_create(remarks, text);

    if (remark)
        add_cell(remarks, remark, index);
    else
        remarks->failed = true;
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A trial without an end is no failure while its campaign runs: it may be the one under way. */
static bool is_failure(const struct view_cell *cell, const struct view_trial *trial)
{
    return !trial->ok && (trial->status || cell->run != VIEW_RUN_RUNNING);
}

/*
 * One remark for all attempts of a cell that ended in the same way, "9f2c41aa/5: trials 1, 4:
 * timeout: ..."; for all cells where a device does not support something.
 */
static void add_failure(struct remarks *remarks, size_t index, const struct view_cell *cell,
                        size_t first)
{
    const struct view_trial *trial = &cell->trials[first];
    size_t count = 0;
    struct text numbers, text;

    text_init(&numbers);
    text_init(&text);
    for (size_t i = first; i < cell->trial_count; ++i) {
        const struct view_trial *other = &cell->trials[i];

        if (is_failure(cell, other) && same(other->status, trial->status) &&
            same(other->message, trial->message))
            text_append_format(&numbers, "%s%lld", count++ ? ", " : "", (long long)other->number);
    }
    if (view_is_unsupported(cell))
        text_append(&text, "unsupported"); /* of the device, so the same for many cells */
    else
        text_append_format(&text, "%s: trial%s %s: %s", cell->result, count > 1 ? "s" : "",
                           numbers.data, trial->status ? trial->status : "not finished");
    if (trial->message && *trial->message) {
        text_append(&text, ": ");
        text_append(&text, trial->message);
    }
    if (text_ok(&text) && text_ok(&numbers))
        add_text(remarks, index, text.data);
    else
        remarks->failed = true;
    text_finish(&numbers);
    text_finish(&text);
}

static void add_failures(struct remarks *remarks, size_t index, const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const struct view_trial *trial = &cell->trials[i];
        bool seen = !is_failure(cell, trial);

        for (size_t k = 0; k < i && !seen; ++k)
            seen = is_failure(cell, &cell->trials[k]) &&
                   same(cell->trials[k].status, trial->status) &&
                   same(cell->trials[k].message, trial->message);
        if (!seen)
            add_failure(remarks, index, cell, i);
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
    const struct finding **grown =
        realloc(remark->findings, (remark->finding_count + count) * sizeof(*grown));
    struct remark_part *parts;

    if (!grown)
        return false;
    remark->findings = grown;
    parts = realloc(remark->parts, (remark->part_count + 1) * sizeof(*parts));
    if (!parts)
        return false;
    remark->parts = parts;
    memcpy(grown + remark->finding_count, items, count * sizeof(*items));
    remark->finding_count += count;
    parts[remark->part_count++] = (struct remark_part){result, count};
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
        if (remarks->items[i].findings &&
            finding_same_kind(remarks->items[i].findings[0], items[0]))
            remark = &remarks->items[i];
    if (!remark)
        remark = append_remark(remarks, NULL);
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
        struct text text;

        if (!remark->findings)
            continue;
        text_init(&text);
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

/* ---- remarks on the stored choices and the origin of a result ---- */

struct sayer {
    remarks_say_fn *say;
    void *context;
    size_t trial_count;
    enum finding_severity severity; /* of the findings to say now */
};

__attribute__((format(printf, 3, 4))) static void
say_text(const struct sayer *sayer, enum finding_severity severity, const char *format, ...)
{
    struct text text;
    va_list args;

    text_init(&text);
    va_start(args, format);
    text_append_formatv(&text, format, args);
    va_end(args);
    if (text_ok(&text))
        sayer->say(sayer->context, severity, text.data);
    text_finish(&text);
}

/* Of strings that a record holds; equal ones once. */
static void say_refusals(const json_t *refusals, const struct sayer *sayer)
{
    size_t i;
    json_t *entry;

    json_array_foreach(refusals, i, entry)
    {
        bool said = false;

        for (size_t k = 0; k < i && !said; ++k)
            said = json_equal(json_array_get(refusals, k), entry);
        if (json_is_string(entry) && !said)
            say_text(sayer, FINDING_INFO,
                     "Candidate left out of the autotuning, since it failed: %s",
                     json_string_value(entry));
    }
}

static void say_choice(const struct view_cell *cell, const struct sayer *sayer)
{
    const json_t *choices = json_object_get(cell->root, "choices");
    const char *failed = member_string(choices, "failed");

    if (failed)
        say_text(sayer, FINDING_WARNING,
                 "Autotuning before the trials failed, so each trial tuned for itself and they may "
                 "differ by that: %s",
                 failed);
    say_refusals(json_object_get(choices, "refused"), sayer);
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].ok)
            say_refusals(json_object_get(cell->trials[i].facts, "refused"), sayer);
}

void remarks_of_choice(const struct view_cell *cell, remarks_say_fn *say, void *context)
{
    say_choice(cell, &(struct sayer){say, context, 0, FINDING_INFO});
}

/* As the finding of an estimate, for a cell that has none: its failed trials are also marked. */
static void say_foreign_worker(const struct sayer *sayer)
{
    const struct finding finding = {.code = FINDING_FOREIGN_WORKER};
    struct text text;

    text_init(&text);
    finding_render(&(const struct finding *){&finding}, 1, 0, &text);
    if (text_ok(&text))
        sayer->say(sayer->context, finding_kinds[finding.code].severity, text.data);
    text_finish(&text);
}

static void say_origin(const struct view_cell *cell, const struct sayer *sayer)
{
    if (cell->origin.worker && !cell->estimate)
        say_foreign_worker(sayer);
    if (cell->origin.host_root)
        say_text(
            sayer, FINDING_WARNING,
            "The host's readings, energy among them, come from the folder %s (ASSAY_HOST_ROOT), "
            "not from the machine that measured.",
            cell->origin.host_root);
    if (cell->origin.libraries)
        say_text(
            sayer, FINDING_INFO,
            "Libraries chosen by hand (--lib, ASSAY_LIB_...): %s; the stack has their paths and "
            "digests.",
            cell->origin.libraries);
}

static void add_amendments(struct remarks *remarks, size_t index, const struct view_cell *cell)
{
    size_t i;
    json_t *amendment;

    json_array_foreach(cell->amendments, i, amendment)
    {
        char *words = view_amendment_words(amendment);
        char *text = words ? text_format("%s: %s", cell->result, words) : NULL;

        if (text)
            add_text(remarks, index, text);
        else
            remarks->failed = true;
        free(text);
        free(words);
    }
}

static bool is_unfinished(const struct view_cell *cell)
{
    return !cell->estimate && cell->run != VIEW_RUN_OVER && !view_is_unsupported(cell);
}

/* What is to be expected of a campaign that has not ended; NULL: no memory. */
static char *unfinished_words(const struct view_cell *cell)
{
    const bool planned = cell->run == VIEW_RUN_PLANNED;

    if (cell->run == VIEW_RUN_RUNNING)
        return text_format("campaign %.8s is running: what is shown of it is as of now, and its "
                           "trials are analysed when it ends",
                           cell->result);
    if (!cell->database)
        return text_format("campaign %.8s was not finished when the bundle was made, so its trials "
                           "are not analysed",
                           cell->result);
    return text_format("campaign %.8s %s, so its trials are not analysed; it %s with: assay run "
                       "%s %.8s --db %s",
                       cell->result, planned ? "is planned and has not begun" : "is not finished",
                       planned ? "begins" : "goes on", planned ? "--plan" : "--resume",
                       cell->result, cell->database);
}

static void say_unfinished(const struct view_cell *cell, const struct sayer *sayer)
{
    char *words = unfinished_words(cell);

    if (words)
        say_text(sayer, FINDING_WARNING, "%s", words);
    free(words);
}

/* Without an estimate for the reason that the campaign was not finished. */
static void add_unfinished(struct remarks *remarks, size_t index, const struct view_cell *cell)
{
    char *text = unfinished_words(cell);

    if (text)
        add_text(remarks, index, text);
    else
        remarks->failed = true;
    free(text);
}

static void add_severe(void *context, enum finding_severity severity, const char *text)
{
    const struct target *target = context;

    if (severity != FINDING_INFO)
        add_text(target->remarks, target->index, text);
}

static void say_findings(void *context, const struct finding *const *items, size_t count)
{
    const struct sayer *sayer = context;
    struct text text;

    if (finding_kinds[items[0]->code].severity != sayer->severity)
        return;
    text_init(&text);
    finding_render(items, count, sayer->trial_count, &text);
    if (text_ok(&text))
        sayer->say(sayer->context, finding_kinds[items[0]->code].severity, text.data);
    text_finish(&text);
}

void remarks_of_cell(const struct view_cell *cell, remarks_say_fn *say, void *context)
{
    struct sayer sayer = {say, context, cell->estimate ? cell->estimate->trial_count : 0,
                          FINDING_INFO};

    say_origin(cell, &sayer);
    say_choice(cell, &sayer);
    if (is_unfinished(cell))
        say_unfinished(cell, &sayer);
    for (int severity = FINDING_CRITICAL; cell->estimate && severity >= FINDING_INFO; --severity) {
        sayer.severity = (enum finding_severity)severity;
        finding_each_group(&cell->estimate->findings, say_findings, &sayer);
    }
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

void remarks_add_cell(struct remarks *remarks, size_t index, const struct view_cell *cell)
{
    struct target target = {remarks, index, cell->result};
    const struct sayer sayer = {add_severe, &target, 0, FINDING_INFO};

    if (cell->estimate && !finding_each_group(&cell->estimate->findings, add_findings, &target))
        remarks->failed = true;
    if (cell->device.simulated)
        add_text(remarks, index,
                 "The device is simulated: a test of the tool, not a measurement of hardware.");
    say_origin(cell, &sayer);
    say_choice(cell, &sayer);
    add_amendments(remarks, index, cell);
    add_failures(remarks, index, cell);
    if (is_unfinished(cell))
        add_unfinished(remarks, index, cell);
    if (cell->imported.present) {
        char *words = view_imported_words(cell);

        add_text(remarks, index, words ? words : "Imported: not measured by assay.");
        free(words);
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
