#include "harness/runner/campaign_choice.h"

#include <string.h>

#include "harness/core/log.h"
#include "harness/runner/tuner.h"
#include "harness/runner/worker_process.h"

enum status campaign_take_choices(struct store *store, struct campaign_cell *cell, json_t *choices,
                                  struct error *err)
{
    enum status status = store_add_choice(store, cell->row, choices, err);

    if (status == STATUS_OK && json_object_set(cell->message, "choices", choices) < 0)
        status = error_set(err, STATUS_NO_MEMORY, "no memory for the campaign");
    return status;
}

static bool has_choices(const struct campaign_cell *cell)
{
    const json_t *workload = json_object_get(cell->message, "workload");
    const char *name = json_string_value(json_object_get(workload, "kind"));
    const struct workload_kind *kind = name ? workload_kind_find(name) : NULL;

    return kind && kind->choices && !worker_process_is_foreign();
}

/* The same work on the same device: the messages are equal, choices aside. */
static bool same_work(const struct campaign_cell *a, const struct campaign_cell *b)
{
    const char *key;
    json_t *value;

    json_object_foreach(a->message, key, value)
    {
        if (strcmp(key, "choices") && !json_equal(value, json_object_get(b->message, key)))
            return false;
    }
    return true;
}

/* Made for this work before, by another cell of the campaign; borrowed. */
static json_t *find_choices(const struct campaign *campaign, const struct campaign_cell *cell)
{
    for (size_t i = 0; i < campaign->cell_count; i++) {
        json_t *choices = json_object_get(campaign->cells[i].message, "choices");

        if (choices && same_work(&campaign->cells[i], cell))
            return choices;
    }
    return NULL;
}

enum status campaign_choose(struct campaign *campaign, struct campaign_cell *cell, int wake_fd,
                            struct error *err)
{
    const struct tuner_request request = {.message = cell->message,
                                          .environment_changes = cell->spec.changes,
                                          .root = cell->spec.root,
                                          .silence_ns = campaign->silence_ns,
                                          .wake_fd = wake_fd};
    struct error reason = ERROR_INIT;
    json_t *choices;
    enum status status;

    if (cell->chosen)
        return STATUS_OK;
    if (json_object_get(cell->message, "choices") || !has_choices(cell)) {
        cell->chosen = true;
        return STATUS_OK;
    }
    choices = json_incref(find_choices(campaign, cell));
    status = choices ? STATUS_OK : tuner_run(&request, &choices, &reason);
    if (status == STATUS_INTERRUPTED)
        return STATUS_OK;
    cell->chosen = true;
    if (status != STATUS_OK) {
        log_debug("%s: nothing chosen beforehand: %s", cell->label, reason.message);
        return STATUS_OK;
    }
    status = campaign_take_choices(campaign->store, cell, choices, err);
    json_decref(choices);
    return status;
}
