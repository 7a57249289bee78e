/*
 * store_draft - what comes in of a trial that has begun: kept in memory, in store->drafts, until
 * the trial's end makes one record of it.
 */
#ifndef ASSAY_RESULTS_STORE_STORE_DRAFT_H
#define ASSAY_RESULTS_STORE_STORE_DRAFT_H

#include "results/store/store_internal.h"

struct store_draft {
    int64_t trial;
    json_t *body;  /* arrays by name, "device" and "environment": members of the record */
    json_t *blobs; /* texts that it refers to */
    struct draft_series *series;
    size_t series_count;
    struct store_draft *next;
};

enum status draft_create(struct store *store, int64_t trial, struct error *err);
/* INVALID: this trial was not begun here, or has ended. The store owns what is found. */
enum status draft_find(struct store *store, int64_t trial, struct store_draft **ret,
                       struct error *err);
void draft_remove(struct store *store, int64_t trial);

/* The trial's record as it is so far, which parts are added to; its members are the draft's, so it
 * is not closed. INVALID, as of draft_find. */
struct record_body draft_body(struct store *store, int64_t trial, struct error *err);

/*
 * A text that the record will refer to: stored with it, since a blob that nothing refers to would
 * be taken for one that somebody added. Takes `text`, from the heap, where NULL is out of memory.
 */
enum status draft_add_blob(struct store *store, int64_t trial, char *text, struct digest *ret,
                           struct error *err);

/* Stores the blobs and the samples of all series, and puts what was collected into the record of
 * the end. */
void draft_put(const struct store_draft *draft, struct record_body *body);

#endif
