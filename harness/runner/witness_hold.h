/* witness_hold - holds a campaign until others have seen its plan, and shows them its end. */
#ifndef ASSAY_RUNNER_WITNESS_HOLD_H
#define ASSAY_RUNNER_WITNESS_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "results/evidence/ledger.h"
#include "results/evidence/roster.h"
#include "results/store/store.h"

struct witness_hold {
    const char *command; /* gets the note of the plan's head, answers with cosignatures */
    const struct roster *roster;
    int64_t wanted; /* how many of its witnesses */
};

/*
 * Calls the command, again and again with pauses of up to half a minute, until so many witnesses of
 * the roster have cosigned the head of the campaign's plan; what they sign is stored as it comes.
 * The command gets ASSAY_DB and ASSAY_CHECKPOINT, for `assay checkpoint export --since`. What it
 * does wrong is said and tried again; errors are the store's. `ret_interrupted`: the user stopped
 * it
 * (`wake_fd`).
 */
enum status witness_hold(struct store *store, int64_t campaign, const struct witness_hold *hold,
                         int wake_fd, bool *ret_interrupted, struct error *err);

/*
 * Calls the command with the head of the campaign's end, and the proof that it continues that of
 * the plan (ledger_request), up to three times: the time that passed by a witness's clock is then
 * known. Who does not answer is said; errors are the store's.
 */
enum status witness_end(struct store *store, int64_t campaign, const struct ledger_checkpoint *end,
                        const struct witness_hold *hold, int wake_fd, struct error *err);

/*
 * Waits until this machine's clock is past the second of the newest cosignature of the campaign's
 * plan, so that the first trial comes after it by the clocks of both. NOT_FOUND: it has no head.
 */
enum status witness_clock(struct store *store, int64_t campaign, int wake_fd, bool *ret_interrupted,
                          struct error *err);

#endif
