/*
 * telemetry_child - the process that samples telemetry during a trial.
 *
 * A vendor's management library may hang or crash, so it never runs in the harness; and host and
 * device are sampled by a process each, so that one does not end the other. A child writes its
 * readings to two files in memory that it shares with the harness, which reads them when the trial
 * is over: no process waits for another while samples are taken, and what a killed child had
 * written remains.
 *
 * Descriptors of the child: WORDS (JSON lines), ROWS (binary), CONTROL (a pipe from the harness).
 *   words  {"channels": [...]}            once, before the first row; telemetry_channel's members
 *          {"readings": {...}}            telemetry_edges at the start, and again at the end
 *          {"dump": "..."}                once at the end, where there is one
 *          {"failed": status, "message"}  telemetry cannot be had; the child ends
 *          {"lost": n, "message"}         at the end: readings that failed; why the last one did
 *   rows   int64 in this machine's byte order: begin_ns, end_ns (CLOCK_MONOTONIC around the
 *          reading), then a value a channel, TELEMETRY_MISSING where there was none
 * A byte on CONTROL asks for a row at once; closing it asks for a last row and ends the child.
 */
#ifndef ASSAY_RUNNER_TELEMETRY_CHILD_H
#define ASSAY_RUNNER_TELEMETRY_CHILD_H

#define TELEMETRY_CONTROL_FD 3
#define TELEMETRY_WORDS_FD 4
#define TELEMETRY_ROWS_FD 5

#define TELEMETRY_CHANNELS_MAX 256
#define TELEMETRY_ROW_HEAD 2 /* values of a row before the channels' */

/*
 * `part` is "host", or a device such as "cuda:0"; `worker` a process id or 0; `dump` is "dump"
 * where one is wanted. Returns the exit status.
 */
int telemetry_child_main(const char *part, const char *interval_ns, const char *worker,
                         const char *dump);

#endif
