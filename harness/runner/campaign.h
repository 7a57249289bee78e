/*
 * campaign - what one `assay run` planned and does: recorded first, then trial by trial, then the
 * estimates. If killed at any time, it can be continued with campaign_open.
 */
#ifndef ASSAY_RUNNER_CAMPAIGN_H
#define ASSAY_RUNNER_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/runner/plan.h"
#include "harness/runner/rounds.h"
#include "harness/runner/witness_hold.h"
#include "results/evidence/key.h"
#include "results/evidence/ledger.h"
#include "results/store/store.h"

struct campaign_cell {
    int64_t row, ordinal;
    char *label;          /* "triad fp32 on opencl:0", heap */
    json_t *message;      /* body of the worker's "trial" message */
    struct arm_spec spec; /* how its worker starts */
    bool chosen;          /* its message has the choices, or there are none to hand over */
    bool refused;         /* a trial of this call ended unsupported, and the user was informed */
    json_t *environment;  /* fixed readings as its worker has them; set while running */
    json_t *first;        /* the first of its trials that is ok; NULL: none yet */
};

struct campaign {
    struct store *store; /* the caller's */
    int64_t row;
    char uid[STORE_UID_SIZE];
    struct campaign_cell *cells;
    size_t cell_count;
    bool resumed;
    bool planned;                            /* its plan has its head, and nothing has run yet */
    int64_t silence_ns;                      /* watchdog, from the protocol */
    int64_t cooldown_ns;                     /* pause between trials, from the protocol */
    struct rounds rounds;                    /* of trials over time, from the protocol */
    enum protocol_verification verification; /* from the protocol */
    enum protocol_refusal doctor_refuses;    /* from the protocol, */
    int64_t doctor_jitter_ns;                /* as this is */
    int64_t telemetry_ns;                    /* telemetry interval, from the protocol; 0: none */
    char worker[DIGEST_HEX_SIZE]; /* of the program that measures, by the plan; "": it says none */
    json_t *expected; /* expected_json, as said before the first trial; set while running */
};

struct campaign_options {
    int wake_fd;           /* readable: stop cleanly; -1: none */
    bool quiet;            /* no progress */
    int64_t jitter_ns;     /* test for jitter beforehand, at least so long */
    const struct key *key; /* signs the log at the plan and at the end; NULL: not signed */
    const struct witness_hold *witnesses; /* who must see the plan before; NULL: nobody */
    const char *quote_key; /* the TPM's, that quotes plan and end (quote_take.h); NULL: none does */
};

/* The result of running. */
struct campaign_summary {
    size_t planned, done, ok, failed; /* trials; done: of this call */
    size_t unsupported;  /* neither ok nor failed: the device lacks what was asked for */
    enum status failure; /* of the first that failed */
    bool interrupted;
    bool unanswered; /* interrupted: a served endpoint does not answer, so that no more was asked */
    bool held;       /* interrupted while the plan was waiting for witnesses: nothing has run */
};

/* Records plan, cells and order in one transaction; nothing has run yet. */
enum status campaign_create(struct store *store, const struct plan *plan, const char *command,
                            struct campaign *ret, struct error *err);

/*
 * Takes up a stored campaign (store_find_campaign's forms of `id`), from its own record and no
 * file. Trials that the harness left without an end are closed as crashed and run again. BUSY:
 * another process runs this campaign (lease.h). INVALID: another program than this began it, and
 * trials are pending.
 */
enum status campaign_open(struct store *store, const char *id, struct campaign *ret,
                          struct error *err);
/*
 * The same, of a campaign that campaign_plan has recorded and that has not been started. INVALID:
 * it was, or a declaration is another now; CORRUPT: what its head covers has been changed.
 */
enum status campaign_open_planned(struct store *store, const char *id, struct campaign *ret,
                                  struct error *err);
void campaign_finish(struct campaign *campaign);

/* What its trials need of the protocol. */
void campaign_take_protocol(struct campaign *campaign, const struct protocol *protocol);

/*
 * How the cell's worker starts, from the plan (arm_spec_to_json; NULL: as the harness did), and who
 * that is (named_worker_json; NULL: assay's own).
 */
enum status campaign_cell_take_spec(struct campaign_cell *cell, const json_t *spec,
                                    const json_t *worker, struct error *err);

/* Adds the head of the plan, signed when there is a key, so that others can see it before. */
enum status campaign_plan(struct campaign *campaign, const struct key *key,
                          struct ledger_checkpoint *ret, struct error *err);

/*
 * Runs every planned trial that has no final attempt, then estimates each cell; of an interrupted
 * campaign from the trials that are done, which the estimate says. Before the first trial and at
 * the end the log gets a checkpoint, signed when there is a key. Where witnesses are asked for,
 * it holds before the first trial until they have cosigned, and they are shown the end of a
 * campaign that was not interrupted; INVALID when trials have run already. UNAVAILABLE: the plan
 * cannot be quoted, and nothing has run; an end that cannot is said.
 * Returns OK also when trials failed or the user interrupted (see the summary); an error is the
 * store's or the system's, and what was finished before is kept.
 */
enum status campaign_run(struct campaign *campaign, const struct campaign_options *options,
                         struct campaign_summary *ret, struct error *err);

#endif
