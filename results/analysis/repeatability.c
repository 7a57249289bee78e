#include "results/analysis/repeatability.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "results/analysis/fields.h"
#include "results/analysis/pairs.h"
#include "results/store/store_internal.h"

/* Most candidates of one identity that are examined; many differ in some condition. */
#define CANDIDATES_MAX 64

/* Sessions of one kind: running sums of their log times. */
struct kind {
    json_t *fields; /* of the result that they match */
    size_t count;
    double mean, squares;
};

struct search {
    struct store *store;
    struct kind kinds[2];
    enum estimate_centre centre;
    int64_t campaigns[REPEATABILITY_MAX + 1]; /* that of the second result, and all that count */
    struct repeatability found;
};

static enum status campaign_of(struct store *store, int64_t cell, int64_t *ret, struct error *err)
{
    return store_ask(store, "SELECT campaign FROM cell WHERE id = ?1", cell, ret, err);
}

static enum status log_centre(struct store *store, int64_t cell, enum estimate_centre *ret_centre,
                              double *ret, struct error *err)
{
    double *times, sum = 0;
    size_t count;

    TRY(pairs_trial_centres(store, cell, &times, &count, ret_centre, NULL, err));
    for (size_t i = 0; i < count; i++)
        sum += log(times[i]);
    free(times);
    *ret = sum / (double)count;
    return STATUS_OK;
}

/*
 * Same identity and factors, and no condition that is known to differ. Data of another seed are of
 * the same distribution: a buyer's nonce would otherwise leave a result without any session.
 */
static bool is_alike(const json_t *judgement)
{
    if (!comparability_is_evidence(judgement) || member_size(judgement, "factors") > 0)
        return false;
    EACH(field, json_object_get(judgement, "fields")) {
        const char *name = member_string(field, "field");
        const char *class = member_string(field, "class");
        const char *state = member_string(field, "state");

        if (name && class && state && !strcmp(class, "controlled") && !strcmp(state, "differs") &&
            strcmp(name, "identity.seed"))
            return false;
    }
    return true;
}

/* The kind that a cell is of; NULL in `ret`: of none. */
static enum status kind_of(struct search *search, int64_t cell, struct kind **ret,
                           struct error *err)
{
    json_auto_t *fields = NULL;

    *ret = NULL;
    TRY(fields_of_cell(search->store, cell, &fields, err));
    for (int i = 0; i < 2 && !*ret; i++) {
        json_auto_t *judgement = NULL;

        TRY(comparability_judge(search->kinds[i].fields, fields, NULL, &judgement, err));
        if (is_alike(judgement))
            *ret = &search->kinds[i];
    }
    return STATUS_OK;
}

static bool is_known(const struct search *search, int64_t campaign)
{
    for (size_t i = 0; i <= search->found.count; i++)
        if (search->campaigns[i] == campaign)
            return true;
    return false;
}

/* Counts a cell; `ret_counts` says whether it does. */
static enum status take(struct search *search, int64_t cell, const char *id, bool *ret_counts,
                        struct error *err)
{
    enum estimate_centre centre;
    struct error ignored = ERROR_INIT;
    struct kind *kind;
    double value, distance;
    int64_t campaign;
    enum status status = campaign_of(search->store, cell, &campaign, err);

    *ret_counts = false;
    if (status != STATUS_OK || is_known(search, campaign))
        return status;
    status = kind_of(search, cell, &kind, err);
    if (status != STATUS_OK || !kind)
        return status;
    status = log_centre(search->store, cell, &centre, &value, &ignored);
    if (status == STATUS_NO_MEMORY)
        return error_set(err, status, "%s", ignored.message);
    if (status != STATUS_OK || centre != search->centre || !isfinite(value))
        return STATUS_OK;
    distance = value - kind->mean;
    kind->count++;
    kind->mean += distance / (double)kind->count;
    kind->squares += distance * (value - kind->mean);
    search->campaigns[++search->found.count] = campaign;
    *ret_counts = true;
    return json_array_append_new(search->found.ids, json_string(id)) == 0 ? STATUS_OK
                                                                          : error_no_memory(err);
}

static enum status begin(struct search *search, struct store *store, const int64_t cells[2],
                         struct error *err)
{
    double value;

    *search = (struct search){.store = store, .found = {.ids = json_array()}};
    if (!search->found.ids)
        return error_no_memory(err);
    for (int i = 0; i < 2; i++)
        TRY(fields_of_cell(store, cells[i], &search->kinds[i].fields, err));
    TRY(campaign_of(store, cells[1], &search->campaigns[0], err));
    return log_centre(store, cells[0], &search->centre, &value, err);
}

static enum status end(struct search *search, enum status status, struct repeatability *ret)
{
    struct repeatability *found = &search->found;
    double squares = 0;

    for (int i = 0; i < 2; i++) {
        const struct kind *kind = &search->kinds[i];

        if (kind->count > found->most)
            found->most = kind->count;
        if (kind->count >= REPEATABILITY_NEEDED) {
            found->df += (double)kind->count - 1;
            squares += kind->squares;
        }
        json_decref(kind->fields);
    }
    found->sd_log = found->df > 0 ? sqrt(squares / found->df) : NAN;
    if (status == STATUS_OK)
        *ret = *found;
    else
        repeatability_finish(found);
    return status;
}

/* The newest first: each campaign's first cell of the same identity, and the original itself. */
static const char candidates[] =
    "SELECT min(o.id), substr(g.uid, 1, 8) || '/' || o.ordinal FROM cell c JOIN cell o"
    " ON o.workload_name = c.workload_name AND o.workload = c.workload AND o.protocol = c.protocol"
    " AND o.precision = c.precision AND o.batch IS c.batch AND o.scenario IS c.scenario"
    " AND o.implementation IS c.implementation JOIN campaign g ON g.id = o.campaign"
    " WHERE c.id = ?1 AND o.campaign <> (SELECT campaign FROM cell WHERE id = ?2)"
    " AND (o.campaign <> c.campaign OR o.id = c.id)"
    " AND " CAMPAIGN_STATE("o.campaign") " = 'finished' GROUP BY o.campaign ORDER BY o.id = c.id "
                                         "DESC, o.id DESC LIMIT ?3";

struct candidate {
    int64_t cell;
    char id[80];
};

static enum status list_candidates(struct store *store, const int64_t cells[2],
                                   struct candidate list[CANDIDATES_MAX], size_t *ret_count,
                                   struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    enum status status = STATUS_OK;

    *ret_count = 0;
    TRY(statement_of(store, candidates, cells[0], &statement, err));
    statement_i64(&statement, cells[1]);
    statement_i64(&statement, CANDIDATES_MAX);
    while (*ret_count < CANDIDATES_MAX && statement_next(&statement, &status, err)) {
        const char *id = (const char *)sqlite3_column_text(statement.handle, 1);

        list[*ret_count].cell = sqlite3_column_int64(statement.handle, 0);
        snprintf(list[*ret_count].id, sizeof(list->id), "%s", id ? id : "?");
        ++*ret_count;
    }
    return status;
}

enum status repeatability_find(struct store *store, const int64_t cells[2],
                               struct repeatability *ret, struct error *err)
{
    AUTO_FREE struct candidate *list = calloc(CANDIDATES_MAX, sizeof(*list));
    struct search search;
    size_t count = 0;
    bool counts;
    enum status status = begin(&search, store, cells, err);

    if (status == STATUS_OK && !list)
        status = error_no_memory(err);
    if (status == STATUS_OK)
        status = list_candidates(store, cells, list, &count, err);
    for (size_t i = 0; i < count && status == STATUS_OK && search.found.count < REPEATABILITY_MAX;
         i++)
        status = take(&search, list[i].cell, list[i].id, &counts, err);
    return end(&search, status, ret);
}

enum status repeatability_from_record(struct store *store, const int64_t cells[2],
                                      const json_t *ids, struct repeatability *ret,
                                      struct error *err)
{
    struct search search;
    enum status status = begin(&search, store, cells, err);

    if (status == STATUS_OK && json_array_size(ids) > REPEATABILITY_MAX)
        status = error_set(err, STATUS_CORRUPT, "it rests on too many results");
    EACH(entry, ids) {
        const char *id = json_string_value(entry);
        bool counts = false;
        int64_t cell;

        if (status != STATUS_OK)
            break;
        if (!id || store_find_cell(store, id, &cell, NULL) != STATUS_OK)
            status = error_set(err, STATUS_UNSUPPORTED,
                               "rests on result %s, which is not in this file, and was not "
                               "recomputed",
                               id ? id : "(no id)");
        else
            status = take(&search, cell, id, &counts, err);
        if (status == STATUS_OK && !counts)
            status = error_set(err, STATUS_CORRUPT, "result %s is not a repetition of these", id);
    }
    return end(&search, status, ret);
}

void repeatability_finish(struct repeatability *repeatability)
{
    if (!repeatability)
        return;
    json_decref(repeatability->ids);
    repeatability->ids = NULL;
}

#define M(...) MEMBER(struct repeatability, __VA_ARGS__)
static const struct member members[] = {
    M(COUNT, count),
    MEMBER_AS(struct repeatability, JSON, "results", ids, .json = JSON_ARRAY, .of = &type_of_text),
    M(REAL, sd_log),
    M(REAL, df),
};
#undef M
const struct type repeatability_type = TYPE(struct repeatability, "a repeatability", members);
