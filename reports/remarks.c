#include "reports/remarks.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
        free(remarks->items[i].warning);
        free(remarks->items[i].cells);
    }
    free(remarks->items);
    remarks_init(remarks);
}

static struct remark *find_or_create(struct remarks *remarks, const char *text)
{
    struct remark *items;
    char *copy;

    for (size_t i = 0; i < remarks->count; ++i)
        if (strcmp(remarks->items[i].text, text) == 0)
            return &remarks->items[i];
    copy = strdup(text);
    items = copy ? realloc(remarks->items, (remarks->count + 1) * sizeof(*items)) : NULL;
    if (!items) {
        free(copy);
        return NULL;
    }
    remarks->items = items;
    items[remarks->count] = (struct remark){.text = copy};
    return &items[remarks->count++];
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

void remarks_add(struct remarks *remarks, size_t index, const char *text)
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

/*
 * One remark for all attempts of a cell that ended alike, "9f2c41aa/5: trials 1, 4: timeout: ...";
 * for all cells where a device does not support something.
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

        if (!other->ok && same(other->status, trial->status) &&
            same(other->message, trial->message))
            text_append_format(&numbers, "%s%lld", count++ ? ", " : "", (long long)other->number);
    }
    if (trial->status && strcmp(trial->status, "unsupported") == 0)
        text_append(&text, "unsupported"); /* of the device, so the same for many cells */
    else
        text_append_format(&text, "%s: trial%s %s: %s", cell->result, count > 1 ? "s" : "",
                           numbers.data, trial->status ? trial->status : "not finished");
    if (trial->message && *trial->message) {
        text_append(&text, ": ");
        text_append(&text, trial->message);
    }
    if (text_ok(&text) && text_ok(&numbers))
        remarks_add(remarks, index, text.data);
    else
        remarks->failed = true;
    text_finish(&numbers);
    text_finish(&text);
}

static void add_failures(struct remarks *remarks, size_t index, const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const struct view_trial *trial = &cell->trials[i];
        bool told = trial->ok;

        for (size_t k = 0; k < i && !told; ++k)
            told = !cell->trials[k].ok && same(cell->trials[k].status, trial->status) &&
                   same(cell->trials[k].message, trial->message);
        if (!told)
            add_failure(remarks, index, cell, i);
    }
}

static const char *skip_figure(const char *at)
{
    return at + strspn(at, "0123456789.+-e");
}

bool remarks_alike(const char *a, const char *b)
{
    while (*a && *b) {
        bool figure_a = (*a >= '0' && *a <= '9') || *a == '+' || *a == '-';
        bool figure_b = (*b >= '0' && *b <= '9') || *b == '+' || *b == '-';

        if (figure_a && figure_b) {
            a = skip_figure(a);
            b = skip_figure(b);
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

/* One text for each kind: those alike are told by the first of them, and their number. */
static void say_kinds(const char *before, const char *const *warnings, size_t count,
                      remarks_say_fn *say, void *context)
{
    for (size_t i = 0; i < count; ++i) {
        size_t others = 0;
        bool said = false;
        struct text text;

        for (size_t k = 0; k < count && !said; ++k) {
            bool same = k != i && remarks_alike(warnings[i], warnings[k]);

            said = same && k < i;
            others += same;
        }
        if (said)
            continue;
        text_init(&text);
        text_append(&text, before);
        text_append(&text, warnings[i]);
        if (others)
            text_append_format(&text, " (and %zu more like it)", others);
        if (text_ok(&text))
            say(context, text.data);
        text_finish(&text);
    }
}

void remarks_of_estimate(const struct view_estimate *estimate, remarks_say_fn *say, void *context)
{
    say_kinds("", (const char *const *)estimate->warnings, estimate->warning_count, say, context);
}

/* Of strings that a record holds. */
static void say_refusals(const json_t *refusals, remarks_say_fn *say, void *context)
{
    const char **texts = calloc(json_array_size(refusals) + 1, sizeof(*texts));
    size_t i, count = 0;
    json_t *entry;

    json_array_foreach(refusals, i, entry)
    {
        if (texts && json_is_string(entry))
            texts[count++] = json_string_value(entry);
    }
    say_kinds("Left out of what was chosen among, since it failed: ", texts, count, say, context);
    free(texts);
}

void remarks_of_choice(const struct view_cell *cell, remarks_say_fn *say, void *context)
{
    const json_t *choices = json_object_get(cell->root, "choices");
    const char *failed = view_json_string(choices, "failed");

    if (failed)
        say_kinds("Nothing could be chosen for all trials, so each chose for itself, and they may "
                  "differ by that: ",
                  &failed, 1, say, context);
    say_refusals(json_object_get(choices, "refused"), say, context);
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (cell->trials[i].ok)
            say_refusals(json_object_get(cell->trials[i].facts, "refused"), say, context);
}

struct target {
    struct remarks *remarks;
    size_t index;
};

/* Says that the remark stands for others that differ in their figures. */
static void make_similar(struct remarks *remarks, struct remark *remark)
{
    static const char more[] = " more like it)";
    size_t length = strlen(remark->warning), tail = sizeof(more) - 1;
    bool counted = length > tail && strcmp(remark->warning + length - tail, more) == 0;
    char *text = text_format("%.*s%ssimilarly for the others marked so)", (int)(length - counted),
                             remark->warning, counted ? "; " : " (");

    if (!text) {
        remarks->failed = true;
        return;
    }
    free(remark->text);
    remark->text = text;
    remark->similar = true;
}

static void add_warning(void *context, const char *text)
{
    const struct target *target = context;
    struct remarks *remarks = target->remarks;
    struct remark *remark;

    if (text[0] == 'p' && text[1] >= '0' && text[1] <= '9')
        return; /* of a percentile, which a table does not show */
    for (size_t i = 0; i < remarks->count; ++i) {
        remark = &remarks->items[i];
        if (!remark->warning || !remarks_alike(remark->warning, text))
            continue;
        if (!remark->similar && strcmp(remark->warning, text) != 0)
            make_similar(remarks, remark);
        add_cell(remarks, remark, target->index);
        return;
    }
    remark = find_or_create(remarks, text);
    if (!remark || !(remark->warning = strdup(text))) {
        remarks->failed = true;
        return;
    }
    add_cell(remarks, remark, target->index);
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
            remarks_add(remarks, index, text);
        else
            remarks->failed = true;
        free(text);
        free(words);
    }
}

/* Trials ended well, and the campaign did not come to its end, where it is analysed. */
static void add_unfinished(struct remarks *remarks, size_t index, const struct view_cell *cell)
{
    char *text = text_format("not analysed yet: its campaign has not come to its end; "
                             "assay run --resume %.8s",
                             cell->result);

    if (text)
        remarks_add(remarks, index, text);
    else
        remarks->failed = true;
    free(text);
}

static void say_origin(const struct view_cell *cell, remarks_say_fn *say, void *context)
{
    static const struct {
        size_t member;
        const char *format;
    } rows[] = {
        {offsetof(struct view_origin, worker),
         "Measured by another program than assay's own worker (ASSAY_WORKER=%s): what it says of "
         "the device, its times and its checks are its word alone."},
        {offsetof(struct view_origin, host_root),
         "The host's readings, energy among them, were taken from the folder %s "
         "(ASSAY_HOST_ROOT), not from the machine that measured."},
        {offsetof(struct view_origin, libraries),
         "Files were chosen for libraries (--lib, ASSAY_LIB_...): %s; the stack has their paths "
         "and digests."},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *value = *(char *const *)((const char *)&cell->origin + rows[i].member);
        struct text text;

        if (!value)
            continue;
        text_init(&text);
        text_append_format(&text, rows[i].format, value);
        if (text_ok(&text))
            say(context, text.data);
        text_finish(&text);
    }
}

static void add_plain(void *context, const char *text)
{
    const struct target *target = context;

    remarks_add(target->remarks, target->index, text);
}

static void count_remark(void *context, const char *text)
{
    (void)text;
    ++*(size_t *)context;
}

void remarks_of_cell(const struct view_cell *cell, remarks_say_fn *say, void *context)
{
    say_origin(cell, say, context);
    remarks_of_choice(cell, say, context);
    remarks_of_estimate(&cell->estimate, say, context);
}

bool remarks_has_any(const struct view_cell *cell)
{
    size_t count = 0;

    remarks_of_cell(cell, count_remark, &count);
    return count > 0;
}

void remarks_add_cell(struct remarks *remarks, size_t index, const struct view_cell *cell)
{
    struct target target = {remarks, index};

    remarks_of_estimate(&cell->estimate, add_warning, &target);
    if (cell->device.simulated)
        remarks_add(remarks, index,
                    "The device is simulated: a test of the tool, not a measurement of hardware.");
    say_origin(cell, add_plain, &target);
    remarks_of_choice(cell, add_warning, &target);
    add_amendments(remarks, index, cell);
    add_failures(remarks, index, cell);
    if (!cell->estimate.present && cell->ok_count > 0 && !cell->imported.present)
        add_unfinished(remarks, index, cell);
    if (cell->imported.present) {
        char *words = view_imported_words(cell);

        remarks_add(remarks, index, words ? words : "Imported: not measured by assay.");
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
