#include "harness/runner/campaign_choice.h"

#include <string.h>

#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/runner/tuner.h"
#include "harness/runner/worker_process.h"
#include "workloads/workload.h"

enum status campaign_take_choices(struct store *store, struct campaign_cell *cell, json_t *choices,
                                  struct error *err)
{
    TRY(store_add_choice(store, cell->row, choices, err));
    if (json_object_set(cell->message, "choices", choices) < 0)
        return error_no_memory(err);
    return STATUS_OK;
}

static bool has_choices(const struct campaign_cell *cell)
{
    const json_t *workload = json_object_get(cell->message, "workload");
    const char *name = member_string(workload, "kind");
    const struct workload_kind *kind = name ? workload_kind_find(name) : NULL;

    const struct named_worker *worker = cell->spec.worker;

    return kind && kind->choices && !worker_process_is_foreign() && !(worker && worker->program);
}

/* The same work on the same device: the messages are equal, except for results of trials. */
static bool same_work(const struct campaign_cell *a, const struct campaign_cell *b)
{
    const char *key;
    json_t *value;

    json_object_foreach(a->message, key, value)
    {
        if (strcmp(key, "choices") && strcmp(key, "verified") &&
            !json_equal(value, json_object_get(b->message, key)))
            return false;
    }
    return true;
}

/* The same libraries and surroundings for the worker. */
static bool same_stack(const struct arm_spec *a, const struct arm_spec *b)
{
    bool same = a->change_count == b->change_count && text_same(a->root, b->root);

    for (size_t i = 0; i < a->change_count && same; i++)
        same = !strcmp(a->changes[i], b->changes[i]);
    return same;
}

/* What compiles kernels: sizes that suit one compiler can be ten times slower by another, or fail.
 */
static const char *compiler_of(const struct arm_spec *spec, size_t which)
{
    static const char *const names[] = {"OCL_ICD_VENDORS=", "ASSAY_CC=", "ASSAY_LIB_OPENCL=",
                                        "ASSAY_LIB_NVRTC=", "ASSAY_LIB_HIPRTC="};

    if (which == sizeof(names) / sizeof(names[0]))
        return NULL;
    for (size_t i = 0; i < spec->change_count; i++)
        if (!strncmp(spec->changes[i], names[which], strlen(names[which])))
            return spec->changes[i];
    return "";
}

static bool same_compiler(const struct arm_spec *a, const struct arm_spec *b)
{
    bool same = text_same(a->root, b->root);

    for (size_t i = 0; same && compiler_of(a, i); i++)
        same = !strcmp(compiler_of(a, i), compiler_of(b, i));
    return same;
}

/* One for which choices for this work were made before, by the same compiler. */
static const struct campaign_cell *find_chosen(const struct campaign *campaign,
                                               const struct campaign_cell *cell)
{
    for (size_t i = 0; i < campaign->cell_count; i++) {
        const struct campaign_cell *other = &campaign->cells[i];

        if (json_object_get(other->message, "choices") && same_work(other, cell) &&
            same_compiler(&other->spec, &cell->spec))
            return other;
    }
    return NULL;
}

static json_t *stacks_of(const json_t *choices)
{
    return workload_choices_stacks(json_object_get(choices, "workload"));
}

static bool names_stacks(const json_t *choices)
{
    json_t *stacks = stacks_of(choices);
    const bool names = json_array_size(stacks) > 0;

    json_decref(stacks);
    return names;
}

/* True where both were made with libraries, and with the same. */
static bool same_libraries(const json_t *a, const json_t *b)
{
    json_t *first = stacks_of(a), *second = stacks_of(b);
    const bool same = json_array_size(first) > 0 && json_equal(first, second);

    json_decref(first);
    json_decref(second);
    return same;
}

/* Both arms keep one choice, unless this one's library turns out to be another. */
static enum status choose_anew(const struct tuner_request *request, json_t **choices,
                               struct error *err)
{
    json_t *made = NULL;

    TRY(tuner_run(request, &made, err));
    if (*choices && same_libraries(*choices, made)) {
        json_decref(made);
        return STATUS_OK;
    }
    json_decref(*choices);
    *choices = made;
    return STATUS_OK;
}

/* What is not supported ends the trials with the same message, and is reported there. */
static enum status record_unchosen(struct store *store, const struct campaign_cell *cell,
                                   const struct error *reason, struct error *err)
{
    json_t *failed;
    enum status status;

    if (reason->code == STATUS_UNSUPPORTED)
        return STATUS_OK;
    log_warning("%s: nothing could be chosen for all its trials, so each chooses for itself, "
                "and they may differ: %s",
                cell->label, reason->message);
    failed = json_pack("{s:o}", "failed", printable_or_null(reason->message));
    status = failed ? store_add_choice(store, cell->row, failed, err) : error_no_memory(err);
    json_decref(failed);
    return status;
}

static void warn_of_refusals(const struct campaign_cell *cell, const json_t *choices)
{
    const json_t *refused = json_object_get(choices, "refused");

    if (json_array_size(refused) > 0)
        log_warning("%s: %zu of the candidates failed and had no part in the choice for its "
                    "trials; the result names each; the first: %s",
                    cell->label, json_array_size(refused),
                    json_string_value(json_array_get(refused, 0)));
}

enum status campaign_choose(struct campaign *campaign, struct campaign_cell *cell, int wake_fd,
                            struct error *err)
{
    const struct tuner_request request = {.message = cell->message,
                                          .environment_changes = cell->spec.changes,
                                          .root = cell->spec.root,
                                          .named = cell->spec.worker,
                                          .silence_ns = campaign->silence_ns,
                                          .wake_fd = wake_fd};
    const struct campaign_cell *other;
    struct error reason = ERROR_INIT;
    json_t *choices;
    enum status status;

    if (cell->chosen)
        return STATUS_OK;
    if (json_object_get(cell->message, "choices") || !has_choices(cell)) {
        cell->chosen = true;
        return STATUS_OK;
    }
    other = find_chosen(campaign, cell);
    choices = other ? json_incref(json_object_get(other->message, "choices")) : NULL;
    status = STATUS_OK;
    if (!other || (names_stacks(choices) && !same_stack(&other->spec, &cell->spec)))
        status = choose_anew(&request, &choices, &reason);
    if (status != STATUS_OK) {
        json_decref(choices);
        if (status == STATUS_INTERRUPTED)
            return STATUS_OK;
        cell->chosen = true;
        return record_unchosen(campaign->store, cell, &reason, err);
    }
    cell->chosen = true;
    if (!other || choices != json_object_get(other->message, "choices"))
        warn_of_refusals(cell, choices);
    status = campaign_take_choices(campaign->store, cell, choices, err);
    json_decref(choices);
    return status;
}
