/*
 * lease - which process runs a campaign, so that two never resume the same one at once.
 *
 * A campaign's "started" and "resumed" events carry "BOOT_ID PID START_TICKS" in their detail; the
 * three together name a process for good on one machine, and say which process to wait for. A
 * process of another machine, another boot or another container cannot be found so; a lock on the
 * database's file, which ends with its holder, excludes it.
 */
#ifndef ASSAY_RESULTS_STORE_LEASE_H
#define ASSAY_RESULTS_STORE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"

#define LEASE_SIZE 128

/* This process's description. */
void lease_describe(char ret[LEASE_SIZE]);

/*
 * `events`: the campaign's events, oldest first. BUSY when the last one of its run (archiving is
 * none) is a start or resume by a process that is alive here; `campaign` names it in the message.
 */
enum status lease_check(const json_t *events, const char *campaign, struct error *err);

/*
 * Whether a process runs the campaign now: its newest start or resume is by one that is alive here,
 * or another process has its lock. `row` and `path` as for lease_take(), `events` as for
 * lease_check(). False where this cannot be seen: over a file system without locks.
 */
bool lease_is_held(const char *path, int64_t row, const json_t *events);

/*
 * Locks the campaign with row `row` of the database at `path` until lease_release() or the end of
 * this process. BUSY when another process has it, wherever it runs. A file system without locks
 * between processes gives OK.
 */
enum status lease_take(const char *path, int64_t row, const char *campaign, struct error *err);
void lease_release(const char *path, int64_t row);

#endif
