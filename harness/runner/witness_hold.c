#include "harness/runner/witness_hold.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/filter.h"
#include "harness/core/log.h"
#include "results/evidence/ledger_witness.h"

#define SECOND_NS INT64_C(1000000000)
#define CALL_NS (60 * SECOND_NS)
#define PAUSE_MAX_S 30
#define END_CALLS 3 /* of the command: trials have run, so nothing is lost without an answer */

/* One call; `reason` says what it lacked. INTERRUPTED, or an error of the store. `since`: as of
 * ledger_request. */
static enum status ask(struct store *store, const struct ledger_checkpoint *head, int64_t since,
                       const struct witness_hold *hold, int wake_fd, char reason[512],
                       struct error *err)
{
    char database[PATH_MAX], number[48];
    const char *const settings[] = {database, number, NULL};
    struct filter filter = {.command = hold->command,
                            .settings = settings,
                            .timeout_ns = CALL_NS,
                            .max_output = NOTE_TEXT_MAX,
                            .wake_fd = wake_fd};
    struct ledger_import import;
    struct error problem = ERROR_INIT;
    AUTO_FREE char *note = NULL, *answer = NULL, *path = realpath(store_path(store), NULL);
    size_t length = 0;
    enum status taken = STATUS_OK, status;

    TRY(ledger_request(store, head, since, &note, err));
    snprintf(database, sizeof(database), "ASSAY_DB=%.4000s", path ? path : store_path(store));
    snprintf(number, sizeof(number), "ASSAY_CHECKPOINT=%" PRId64, head->id);
    filter.input = note;
    filter.length = strlen(note);
    status = filter_run(&filter, &answer, &length, &problem);
    if (status == STATUS_INTERRUPTED)
        return status;
    if (status == STATUS_OK && length == 0)
        status = error_set(&problem, STATUS_INVALID, "it answered nothing");
    else if (status == STATUS_OK && strlen(answer) != length)
        status = error_set(&problem, STATUS_INVALID, "what it answered is not text");
    /* One that failed may have asked others before, who have answered. */
    if (status == STATUS_OK || (status == STATUS_UNAVAILABLE && length > 0))
        taken = ledger_take_note(store, head->id, hold->roster, answer, &import,
                                 status == STATUS_OK ? &problem : NULL);
    /* A full disk is no fault of the command's. */
    if (taken != STATUS_OK && taken != STATUS_INVALID)
        return error_set(err, taken, "%s",
                         status == STATUS_OK ? problem.message : "the database cannot be written");
    if (status != STATUS_OK || taken != STATUS_OK)
        snprintf(reason, 512, "the command of --witness-command: %.400s", problem.message);
    else if (import.wrong > 0)
        snprintf(reason, 512, "%.400s", import.first_wrong);
    else if (import.foreign > 0)
        snprintf(reason, 512, "%zu signatures are of keys that the roster does not have (%.100s)",
                 import.foreign, import.first_foreign);
    else
        snprintf(reason, 512, "no others have answered");
    return STATUS_OK;
}

static enum status count(struct store *store, int64_t checkpoint, const struct witness_hold *hold,
                         size_t *ret, char names[512], struct error *err)
{
    struct text list;
    enum status status;

    text_init(&list);
    status = ledger_witnesses(store, checkpoint, hold->roster, ret, &list, err);
    snprintf(names, 512, "%.500s", text_ok(&list) ? list.data : "");
    text_finish(&list);
    return status;
}

enum status witness_hold(struct store *store, int64_t campaign, const struct witness_hold *hold,
                         int wake_fd, bool *ret_interrupted, struct error *err)
{
    struct ledger_checkpoint head;
    char names[512], reason[512];
    int64_t pause_s = 1;
    size_t have = 0;

    TRY(ledger_plan_checkpoint(store, campaign, &head, err));
    TRY(count(store, head.id, hold, &have, names, err));
    while ((int64_t)have < hold->wanted) {
        const enum status status = ask(store, &head, 0, hold, wake_fd, reason, err);

        if (status == STATUS_INTERRUPTED) {
            *ret_interrupted = true;
            return STATUS_OK;
        }
        TRY(status);
        TRY(count(store, head.id, hold, &have, names, err));
        if ((int64_t)have >= hold->wanted)
            break;
        log_info("no trial begins yet: %zu of %" PRId64
                 " witnesses have cosigned the plan%s%s%s; %s; asking again in %" PRId64 " s",
                 have, hold->wanted, have ? " (" : "", names, have ? ")" : "", reason, pause_s);
        if (file_wait_readable(wake_fd, pause_s * SECOND_NS)) {
            *ret_interrupted = true;
            return STATUS_OK;
        }
        pause_s = 2 * pause_s < PAUSE_MAX_S ? 2 * pause_s : PAUSE_MAX_S;
    }
    log_info("%zu witnesses have cosigned the plan: %s", have, names);
    return STATUS_OK;
}

enum status witness_end(struct store *store, int64_t campaign, const struct ledger_checkpoint *end,
                        const struct witness_hold *hold, int wake_fd, struct error *err)
{
    char names[512] = "", reason[512] = "no witness was asked";
    struct ledger_checkpoint plan;
    bool stopped = false;
    size_t have = 0;

    TRY(ledger_plan_checkpoint(store, campaign, &plan, err));
    for (int call = 0; call < END_CALLS && (int64_t)have < hold->wanted && !stopped; call++) {
        stopped = call > 0 && file_wait_readable(wake_fd, call * SECOND_NS);
        if (!stopped) {
            const enum status status = ask(store, end, plan.size, hold, wake_fd, reason, err);

            stopped = status == STATUS_INTERRUPTED;
            TRY(stopped ? STATUS_OK : status);
        }
        TRY(count(store, end->id, hold, &have, names, err));
    }
    if ((int64_t)have >= hold->wanted)
        log_info("%zu witnesses have cosigned the end: %s", have, names);
    else
        log_warning("%zu of %" PRId64
                    " witnesses have cosigned the end (%s): `assay verify` cannot "
                    "compare the time that passed with their clocks, unless they soon get `assay "
                    "checkpoint export --number %" PRId64 " --since %" PRId64 "`",
                    have, hold->wanted, reason, end->id, plan.size);
    return STATUS_OK;
}

enum status witness_clock(struct store *store, int64_t campaign, int wake_fd, bool *ret_interrupted,
                          struct error *err)
{
    struct ledger_checkpoint head;
    int64_t newest = 0;

    TRY(ledger_plan_checkpoint(store, campaign, &head, err));
    TRY(ledger_cosigned(store, head.id, &newest, err));
    while (!*ret_interrupted) {
        /* It says whole seconds, and was made within the one that it says. */
        const int64_t left_ns = (newest + 1) * SECOND_NS - clock_utc_ns();

        if (newest == 0 || left_ns <= 0)
            break;
        if (left_ns > SECOND_NS)
            log_info("a witness's clock is %.1f s ahead of this machine's: waiting for that",
                     (double)(left_ns - SECOND_NS) / 1e9);
        *ret_interrupted = file_wait_readable(
            wake_fd, left_ns < PAUSE_MAX_S * SECOND_NS ? left_ns : PAUSE_MAX_S * SECOND_NS);
    }
    return STATUS_OK;
}
