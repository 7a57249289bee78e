/*
 * conduct - whether a trial was measured as its protocol says: how long, how often, checked when,
 * and by which clock. The harness asks it of each trial that says it is ok, `verify` of each that
 * is stored.
 */
#ifndef ASSAY_PROTOCOLS_CONDUCT_H
#define ASSAY_PROTOCOLS_CONDUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "harness/core/type.h"
#include "protocols/protocol.h"

/* A stretch of samples. Times are nanoseconds. */
struct conduct_part {
    int64_t samples;
    int64_t wall_ns;   /* sum of the samples */
    double median_ns;  /* of the samples, conduct_samples_median, of the window; 0: unknown */
    int64_t gap_ns;    /* sum of the gaps between them, without the one before the first */
    int64_t device_ns; /* sum of what they took by the device's clock; 0: not known */
    int64_t begin_ns, end_ns; /* the worker's phase, since the trial's start; -1: it sent none */
};

/*
 * What a trial's record has of its conduct: a row a member, with its flags (core/type.h) and what
 * it says. Structs, JSON, reading back, schema and the tables in FORMAT.md follow. All are int64_t,
 * -1 where they are FROM_0 and not known.
 */
#define NOTED 0
#define NOTED_OR_NULL MEMBER_FROM_0
#define NOTED_LATER (MEMBER_FROM_0 | MEMBER_LATER)
/* clang-format off */

/* What clocks other than CLOCK_MONOTONIC say that the window took. */
#define CONDUCT_CLOCKS_MAP(X)                                                                      \
    X(raw_ns, NOTED_LATER, "by CLOCK_MONOTONIC_RAW")                                               \
    X(ticks, NOTED_LATER, "of the processor's counter")                                            \
    X(device_ns, NOTED_LATER, "by the device's own clock, of the worker alone")

/* What assay's own worker says of its window: in its message `phase`, and so in the record. */
#define CONDUCT_REPORT_MAP(X)                                                                      \
    X(reference_ns, NOTED_LATER,                                                                   \
      "what assay's own worker says that it spent in the window in the reference loop and in"      \
      " reading results back, each as long as a second time at most")                              \
    X(read_back_ns, NOTED_LATER,                                                                   \
      "the 10th percentile, since a busy machine delays some, of how much longer it took to read"   \
      " a byte of the result back after a sample than to read it again, after those that the"       \
      " worker drew (null of another program, of fewer than eight, and of `generation` and"         \
      " `synthetic`)")                                                                              \
    X(read_within, NOTED_LATER,                                                                    \
      "how many of the window's samples end with a byte of the result read back, in their own"      \
      " time: all where that takes at most a 1000th of a sample, and drawn ones, so that it adds"   \
      " no more to the rate, where it takes at most a hundredth; 0: it takes longer")               \
    X(changed_samples, NOTED_LATER,                                                                \
      "how many of the window's samples had inputs that were changed in drawn places just before,"  \
      " and an output that was compared there")                                                     \
    X(unchanged_median_ns, NOTED_LATER,                                                            \
      "the median of the latest 1024 samples of the others (null of fewer than eight)")

/* What the harness saw: member `conduct` of the trial's facts, with those above. */
#define CONDUCT_SEEN_MAP(X)                                                                        \
    X(go_ns, NOTED, "when the harness let the window begin, by its clock since the trial's start") \
    X(told_ns, NOTED, "when it heard of the window's end, likewise")                               \
    X(go_utc_ns, NOTED_LATER, "the date at `go_ns`")                                               \
    X(told_utc_ns, NOTED_LATER, "the date at `told_ns`")                                           \
    X(kernel_ns, NOTED_OR_NULL,                                                                    \
      "the time between them by the kernel's own clock; null: it cannot be asked")                 \
    X(ticks_per_s, NOTED_OR_NULL,                                                                  \
      "the counter's rate by CLOCK_MONOTONIC_RAW from the trial's start to `go_ns`")               \
    X(spot_checks, NOTED, "how many were made in the window and answered")                         \
    X(spot_checks_ns, NOTED,                                                                       \
      "how long they took as the worker says (at most, until its answer came); part of the gaps")  \
    X(window_checks_ns, NOTED_LATER, "the same of those within the window")                        \
    X(checked_least_ns, NOTED_LATER,                                                               \
      "the shortest of the iterations that were checked, each from an empty queue until a byte of" \
      " its result was read back, without waiting for a processor (not known of other programs,"   \
      " which hand over what a sample left, and of `generation` and `synthetic`)")                                               \
    X(checked_median_ns, NOTED_LATER, "the median of the same iterations")                         \
    X(stopped, NOTED_LATER,                                                                        \
      "1: between the two the worker was stopped and let go on, by a signal")                      \
    X(moved, NOTED_LATER, "1: at one of the two it was in another control group than assay")       \
    X(steered, NOTED_LATER,                                                                        \
      "1: somebody else chose the processors or the priority of assay's own worker: a "            \
      "thread's were others at `told_ns` than at `go_ns`, the first thread's were others "         \
      "than assay's when it began or at `told_ns`, or its threads shared fewer processors "        \
      "than there were for them (null of other programs and of frameworks, which place "           \
      "their threads themselves)")                                                                 \
    X(hidden, NOTED_LATER,                                                                         \
      "what assay's own worker had, when it began, that nobody tells of: mapped files that no"     \
      " file needs which its program needs, executable memory without a file, further threads; of" \
      " another program whether it had preloads that assay did not give it (null of what"          \
      " ASSAY_WORKER names, and where LD_PRELOAD, LD_AUDIT or /etc/ld.so.preload is set)")         \
    X(threads, NOTED_LATER, "how many threads it had at `told_ns`")                                \
    X(cpu_ns, NOTED_LATER, "the processor time that it used between the two, of all its threads")  \
    X(queued_ns, NOTED_LATER,                                                                      \
      "how long its threads waited for a processor meanwhile, in sum (null: a thread ended)")      \
    X(outputs_checked, MEMBER_OPTIONAL,                                                            \
      "how many times assay compared outputs that the worker handed over: at least once for each"  \
      " spot check, once before and once after")
/* clang-format on */
#define CONDUCT_FIELD(name, flags, help) int64_t name;

struct conduct_clocks {
    CONDUCT_CLOCKS_MAP(CONDUCT_FIELD)
};

struct conduct_report {
    CONDUCT_REPORT_MAP(CONDUCT_FIELD)
};

enum conduct_clock {
    CONDUCT_CLOCK_RAW,
    CONDUCT_CLOCK_TSC, /* the processor's counter, on AArch64 as well */
    CONDUCT_CLOCK_DEVICE,
    CONDUCT_CLOCK_DATE, /* CLOCK_REALTIME */
    CONDUCT_CLOCK_COUNT
};

/* Who made the trial's checks. */
enum conduct_checks {
    CONDUCT_CHECKS_OF_WORKER,
    /* assay itself: the program is a declared worker, which the plan names, and hands its outputs
     * over. */
    CONDUCT_CHECKS_OF_ASSAY,
};

struct conduct_seen {
    CONDUCT_SEEN_MAP(CONDUCT_FIELD)
    struct conduct_clocks clocks;        /* from go_ns to told_ns, by the harness */
    struct conduct_clocks worker_clocks; /* over the worker's phase, by the worker */
    struct conduct_report report;
    char worker[DIGEST_HEX_SIZE]; /* SHA-256 of the program that measured; "": not known */
    enum conduct_checks checks;
};

/* What is known of a trial. */
struct conduct {
    int64_t started_utc_ns; /* the date at its start, from which times count; 0: not known */
    struct conduct_part warmup, window;
    int64_t iterations_per_sample;
    int64_t scheduled; /* requests of a server; 0: its samples follow each other */
    int64_t traced;    /* requests of the trace that they are; 0: the protocol says how many */
    int64_t request_columns; /* of its log, with a value for each of them */
    bool is_endpoint;        /* whose requests cannot be spot-checked */
    bool checked_before, checked_after, checked_within; /* a check of that phase was stored */
    struct conduct_seen seen;
    bool is_withheld; /* `seen` is: what needs it is not judged */
    const char
        *planned_worker; /* as seen.worker, by the campaign's plan; NULL or "": it says none */
};

/* Times of samples, of which a median is wanted. Zeros: none yet. */
struct conduct_samples {
    double *ns; /* heap */
    size_t count;
};
/* false: no memory. */
bool conduct_samples_add(struct conduct_samples *samples, const int64_t *ns, size_t count);
/* That of rank count / 2, from 0; 0: there are none. Reorders them. */
double conduct_samples_median(struct conduct_samples *samples);
void conduct_samples_finish(struct conduct_samples *samples);

/* Nothing is known. */
struct conduct conduct_new(void);

/* The first two: of a worker's phase. All own nothing, and take what is missing as not known. */
extern const struct type conduct_clocks_type, conduct_report_type, conduct_seen_type;
/* What a trial's facts have of it; nothing is known where they are withheld, or of another shape.
 */
struct conduct_seen conduct_seen_of(const json_t *facts);
/* A trial's facts, of which `conduct` alone is known: for schemas. */
extern const struct type conduct_facts_type;

/*
 * By what share of the window the clock and CLOCK_MONOTONIC disagree, in the harness or in the
 * worker, beyond what reading them takes (1 ms); 0: they agree, or there is none. CLOCK_MONOTONIC
 * is adjusted: its frequency by 0.05 % at most, its tick by 10 % (adjtimex(2)), which chronyd uses
 * by 8.3 % to correct large errors ("maxslewrate", chrony.conf(5)). The device's clock covers the
 * device's work alone, so that only its surplus counts: of the window, and of its samples' sum. The
 * date may be set once, which makes no trial invalid by itself: a slowed clock is one before the
 * window and in it.
 */
double conduct_clock_share(const struct conduct *conduct, enum conduct_clock clock);
/* Above CONDUCT_CLOCK_NOTED it is a finding, above CONDUCT_CLOCK_MOST the trial is invalid. */
#define CONDUCT_CLOCK_NOTED 0.001
#define CONDUCT_CLOCK_MOST 0.01
/* How a window was spent; nanoseconds. What is in no sample, check or pass of the loop is gaps. */
struct conduct_spent {
    double window, samples, checks, reference, gaps;
};
/* false: it is not known, as in trials of versions that did not note it, and of a server. */
bool conduct_spent(const struct conduct *conduct, struct conduct_spent *ret);
/*
 * What part of the window is gaps, beyond what one wait for a processor takes (50 ms). Above
 * CONDUCT_GAPS_NOTED it is a finding, above the protocol's `window.gaps` (CONDUCT_GAPS_MOST where
 * it has none) the trial is invalid; unless caches are made cold there. Of honest trials 0.5 % at
 * a load of 14.
 */
double conduct_gap_share(const struct conduct_spent *spent);
/* Of a sample, beyond what reading takes: above it the trial is invalid, as its wait was none. */
#define CONDUCT_LATE_MOST 0.2
#define CONDUCT_GAPS_NOTED 0.05
#define CONDUCT_GAPS_MOST 0.2
/*
 * How many times as long an iteration that was checked took as one of the median sample, beyond
 * what a launch by itself costs; 0: not known. A stack that recognises checks, or leaves out
 * launches of which nothing has changed, does its work in those alone.
 */
double conduct_checked_ratio(int64_t checked_ns, double iteration_ns);
/*
 * Of the shortest, above which it is a finding, by the kind of workload and how many were checked
 * (CONDUCT_CHECKED_LEAST at least: of fewer a busy machine may delay each). results/FORMAT.md has
 * the table, and what honest trials came to. Above CONDUCT_CHECKED_MOST the trial is invalid.
 */
double conduct_checked_noted(const char *kind, int64_t checks);
#define CONDUCT_CHECKED_LEAST 3
#define CONDUCT_CHECKED_MOST 50.0
/* For people: "CLOCK_MONOTONIC_RAW". */
const char *conduct_clock_words(enum conduct_clock clock);

/* The part of the worker's phase `name`; NULL: it is of neither. */
struct conduct_part *conduct_part_of(struct conduct *conduct, const char *name);

/* Notes a check of the phase; false: no check is of such a phase. */
bool conduct_note_check(struct conduct *conduct, const char *phase);

/*
 * INVALID: it breaks the clause that begins the message ("window.min_samples: 25 samples ..."), or
 * its clocks contradict each other ("clock.window: ...").
 */
enum status conduct_judge(const struct protocol *protocol, const struct conduct *conduct,
                          struct error *err);

#endif
