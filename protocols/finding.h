/*
 * finding - what a reader must know with a number, as data: a code, the trial, numbers, a subject.
 *
 * A finding is made once, where it is seen, and stored with the estimate. Its text is in one table
 * here; terminal, page, JSON and dossier render it by finding_render, which also merges findings of
 * one code over trials and cells (figures that differ become a range). No code compares sentences.
 */
#ifndef ASSAY_PROTOCOLS_FINDING_H
#define ASSAY_PROTOCOLS_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/text.h"
#include "harness/core/type.h"

/* `assay doctor` uses the same three words. */
enum finding_severity {
    FINDING_INFO,    /* shown with the cell, not below a table of results */
    FINDING_WARNING, /* the value is less certain, or less general, than it looks */
    FINDING_CRITICAL /* the value must not be relied on */
};

#define FINDING_NUMBERS_MAX 4

/* More trials or pairs than these are no remedy: it is said what these would show instead. */
#define FINDING_TRIALS_REASONABLE 200
/* Nor are requests that take longer than this to come. */
#define FINDING_SECONDS_REASONABLE 86400

/*
 * X(constant, code, severity, numbers, words, remedy)
 *   numbers  names of the numbers, in their order, as JSON has them
 *   words    "{name:kind}"; "{subject}", "{subject|words where there is none}". Kinds: n a count, %
 * a share, +% a signed share, start a start against the end (+0.1: "10 % slower", +135: "136 times
 * slower"), half half of an interval's width as a share, ns a duration, g three digits, J, MHz
 *   remedy   what to do; "" where there is nothing to be done
 */
/* clang-format off */
#define FINDING_MAP(X)                                                                             \
    /* of a trial, from its samples */                                                             \
    X(LATE_WARMUP, "late_warmup", INFO, NUMBERS("sample", "change"),                        \
      "steady state begins at sample {sample:n} only, after a start {change:start}; the samples "  \
      "before it are kept and not in the estimate",                                                \
      "declare a longer warmup")                                                                   \
    X(WARMUP_REMAINDER, "warmup_remainder", INFO, NUMBERS("share"),                         \
      "up to {share:%} of the mean may still be warmup; the interval is wider by that",            \
      "declare a longer warmup")                                                                   \
    X(DRIFT, "drift", WARNING, NUMBERS("change"),                                           \
      "drift of {change:+%} over the window",                                                      \
      "check temperature and clocks; warm up longer or measure longer")                            \
    X(BIMODAL, "bimodal", WARNING, NUMBERS("low_ns", "high_ns", "share", "changes"),        \
      "bimodal: {low_ns:ns} and {high_ns:ns} ({share:%} of the time), {changes:n} changes; the "    \
      "mean is of the mixture",                                                                    \
      "look for a clock, another process or a memory placement that switches")                     \
    X(SEVERAL_LEVELS, "several_levels", WARNING,                                                   \
      NUMBERS("levels", "low_ns", "high_ns", "changes"),                                           \
      "{levels:n} levels from {low_ns:ns} to {high_ns:ns}, {changes:n} changes about their middle; "\
      "the mean is of the mixture",                                                                \
      "look for a clock, another process or a memory placement that switches")                     \
    X(FEW_VALUES, "few_values", INFO, NUMBERS("levels", "low_ns", "high_ns", "step_ns"),           \
      "{levels:n} values from {low_ns:ns} to {high_ns:ns}, {step_ns:ns} or multiples of it apart: "\
      "steps of a clock, or levels that alternate; the samples do not tell which",                 \
      "time blocks of more iterations, or read a finer clock")                                     \
    X(CHANGE_POINT, "change_point", WARNING, NUMBERS("change"),                             \
      "change point in the last 25 % of the series ({change:%}): no steady state",                 \
      "measure longer")                                                                            \
    X(FEW_SAMPLES, "few_samples", INFO, NUMBERS("samples", "needed"),                    \
      "{samples:n} samples after warmup; a test for steady state needs {needed:n}",                \
      "measure longer")                                                                            \
    X(AUTOCORRELATED, "autocorrelated", INFO, NUMBERS("ess", "samples"),                 \
      "strongly autocorrelated: effective sample size {ess:g} of {samples:n}, no interval within " \
      "the trial",                                                                                 \
      "measure longer, or run more trials")                                                        \
    X(UNIT_ROOT, "unit_root", INFO, NUMBERS("distance", "needed", "samples"),            \
      "autocorrelation does not exclude a random walk: n (1 - sum of phi) is {distance:g} of "     \
      "{needed:g} needed, with {samples:n} samples; an interval within the trial assumes a "       \
      "stationary series",                                                                         \
      "measure longer: if the series is stationary, that will show it; or run more trials")        \
    X(LONG_MEMORY, "long_memory", INFO, NUMBERS("order"),                                      \
      "correlation that does not die out within the window is possible (long memory, order "       \
      "{order:g}): no interval within the trial",                                                  \
      "run more trials: the interval between trials does not assume that it dies out")             \
    X(CONSTANT_SAMPLES, "constant_samples", WARNING, NUMBERS("samples", "value_ns"),        \
      "all {samples:n} samples are {value_ns:ns}: the timer is too coarse, or they were not "      \
      "measured one by one",                                                                       \
      "time blocks of more iterations")                                                            \
    X(COARSE_TIMER, "coarse_timer", WARNING, NUMBERS("step_ns", "share"),                   \
      "timer resolution {step_ns:ns}, {share:%} of a sample",                                      \
      "time blocks of more iterations")                                                            \
    X(OUTLIERS, "outliers", INFO, NUMBERS("outliers", "samples"),                           \
      "{outliers:n} outliers in {samples:n} samples (kept)",                                       \
      "look for interruptions")                                                                    \
    /* of the cell */                                                                              \
    X(NO_INTERVAL, "no_interval", WARNING, NUMBERS(NULL),                                   \
      "no confidence interval: the samples do not allow one",                                      \
      "measure longer, or run more trials")                                                        \
    X(ONE_TRIAL, "one_trial", WARNING, NUMBERS("needed"),                                   \
      "one trial: the interval leaves out differences between processes, often the larger part",   \
      "run at least {needed:n} trials")                                                            \
    X(FEW_TRIALS, "few_trials", INFO, NUMBERS("trials", "needed"),                          \
      "{trials:n} trials: the spread between processes is poorly known",                           \
      "run at least {needed:n} trials")                                                            \
    X(UNSEEN_LEVELS, "unseen_levels", INFO, NUMBERS("trials", "share"),                            \
      "the interval assumes normally distributed levels of processes: {trials:n} trials may not "  \
      "show a second level that less than {share:%} of the processes have",                        \
      "run more trials")                                                                           \
    X(INCOMPLETE, "incomplete", WARNING, NUMBERS("trials", "planned"),                          \
      "preliminary: {trials:n} of {planned:n} planned trials; the others have not run, or failed", \
      "its attempts say why; only an interrupted campaign continues, with `assay run --resume`")                               \
    X(IMPRECISE, "imprecise", INFO, NUMBERS("half_width", "trials", "margin"),              \
      "95 % interval {half_width:half}",                                                           \
      "about {trials:n} trials for {margin:half}")                                                 \
    X(BLOCKS, "blocks_of_iterations", INFO, NUMBERS("iterations"),                           \
      "a sample is {iterations:n} iterations: percentiles and the spread within a trial are of "   \
      "means over so many; single iterations vary more",                                           \
      "")                                                                                          \
    X(PERCENTILE_NEEDS, "percentile_not_reported", INFO, NUMBERS("ess", "needed", "samples"), \
      "{subject} not reported: needs an effective sample size of {ess:n}, at least {needed:n} "    \
      "samples after warmup (there are {samples:n})",                                              \
      "measure longer")                                                                            \
    X(PERCENTILE_TRIALS, "percentile_needs_longer_trials", INFO, NUMBERS("needed", "samples"),     \
      "{subject} not reported: needs {needed:n} samples after warmup in each trial (the fewest "   \
      "are {samples:n})",                                                                          \
      "measure longer")                                                                            \
    X(PERCENTILE_OPEN, "percentile_without_interval", INFO, NUMBERS(NULL),                   \
      "{subject} has no interval: too few samples beyond it",                                      \
      "measure longer")                                                                            \
    X(PERCENTILE_ALIKE, "percentile_alike", INFO, NUMBERS(NULL),                                   \
      "{subject} has no interval: the values that it rests on are alike to the last digit",        \
      "time blocks of more iterations, or run more trials")                                        \
    /* of the cell or a trial, by readings; without the path, as estimates cannot be withheld */   \
    X(FOREIGN_WORKER, "foreign_worker", CRITICAL, NUMBERS(NULL),                                   \
      "measured by another program than assay's own worker, and assay did not compare its "        \
      "outputs: device, times and checks are as that program reports them",                        \
      "measure with assay's own worker, or a declared one that hands its outputs over")            \
    X(ABOVE_CEILING, "above_ceiling", CRITICAL, NUMBERS("ratio"),                                  \
      "the rate is {ratio:g} times the most that this campaign measured the device to do "         \
      "({subject}): work was left out, or the cell's count of it is wrong",                         \
      "find out why, and note it with `assay amend`; it compares with nothing")                     \
    /* of the cell of an endpoint */                                                               \
    X(OUTPUTS_NOT_CHECKED, "outputs_not_checked", WARNING, NUMBERS(NULL),                          \
      "the answers are a server's of its own: that they came was checked, and not what they say",  \
      "test the quality of its answers by other means")                                            \
    X(CERTIFICATE_NOT_CHECKED, "certificate_not_checked", CRITICAL, NUMBERS(NULL),                 \
      "the server's certificate was not verified (verify_tls: false): another may have answered",  \
      "leave out `verify_tls: false`, and name an authority of your own as ca_file")                                              \
    /* of a trial, from what the harness saw of it */                                              \
    X(CLOCK_DISAGREES, "clock_disagrees", WARNING, NUMBERS("share"),                               \
      "over the window CLOCK_MONOTONIC and {subject} differ by {share:%}",                         \
      "let the time server settle (`chronyc tracking`, `timedatectl`), and look for programs that " \
      "change what clocks say")                                                                    \
    X(PRELOADED, "preloaded", WARNING, NUMBERS(NULL),                                              \
      "{subject} put libraries into the worker that nothing there asked for: they can change what " \
      "is measured, and what clocks say",                                                          \
      "measure without it")                                                                        \
    X(NO_PACKAGE, "no_package", INFO, NUMBERS("files"),                                            \
      "mapped files that belong to no package: {files:n} (drivers and libraries that were "        \
      "installed without the system's package manager: nobody else vouches for them)",             \
      "`assay show --json` lists them with their digests")                                         \
    /* of a trial, from what was sampled while it ran */                                           \
    X(STEAL, "steal", WARNING, NUMBERS("cores"),                                            \
      "the hypervisor took {cores:g} cores from this machine during the window",                   \
      "use dedicated cores, or another time")                                                      \
    X(CONTENTION, "contention", WARNING, NUMBERS("cores"),                                  \
      "contention: other processes used {cores:g} cores during the window",                        \
      "stop them; `assay doctor` on that machine names them")                                                      \
    X(CGROUP_THROTTLED, "cgroup_throttled", WARNING, NUMBERS("times", "stopped_ns"),        \
      "the cgroup's CPU quota stopped the worker {times:n} times ({stopped_ns:ns})",               \
      "give it whole processors instead of a quota")                                               \
    X(DEVICE_THROTTLED, "device_throttled", WARNING, NUMBERS("share"),                      \
      "the device throttled in {share:%} of the polls of the window ({subject})",                  \
      "check its cooling and power limit")                                                         \
    X(CLOCK_MOVED, "clock_moved", WARNING, NUMBERS("low", "high"),                          \
      "device clock between {low:MHz} and {high:MHz} during the window ({subject})",               \
      "lock it, or warm up longer")                                                                \
    X(DEVICE_SHARED, "device_shared", CRITICAL, NUMBERS(NULL),                              \
      "other processes used the device: {subject}",                                                \
      "end them and run again")                                                                    \
    X(MEMORY_ERRORS, "memory_errors", CRITICAL, NUMBERS("errors"),                          \
      "{errors:n} uncorrected memory errors on the device",                                        \
      "check the device")                                                                          \
    /* of a server's trial, from its requests */                                                   \
    X(LOAD_LATE, "load_late", CRITICAL, NUMBERS("p999_ns", "share"),                               \
      "the load was late: {share:%} of the requests were sent later than the protocol admits, or " \
      "never; one in a thousand {p999_ns:ns} or more after its time",                              \
      "{subject|give the generator a processor of its own, on an idle machine}")                   \
    X(REQUESTS_REFUSED, "requests_refused", WARNING, NUMBERS("requests", "share"),                 \
      "{requests:n} requests were refused ({share:%})",                                            \
      "lower the rate, or raise {subject|batching.queue, which was full}")                         \
    X(REQUESTS_UNFINISHED, "requests_unfinished", WARNING, NUMBERS("requests", "share"),           \
      "{requests:n} requests were not over at the end of the drain ({share:%}); they count as "    \
      "outside the limits",                                                                        \
      "lower the rate, or declare a longer serving.drain")                                         \
    X(REQUESTS_FAILED, "requests_failed", WARNING, NUMBERS("requests", "share"),                   \
      "{requests:n} requests failed ({share:%})",                                                  \
      "look into the log of the server")                                                           \
    X(LOAD_NOT_AS_DECLARED, "load_not_as_declared", CRITICAL, NUMBERS(NULL),                       \
      "the requests did not come as declared",                                                     \
      "look at the lag of the requests, and run again")                                            \
    X(QUEUE_GROWING, "queue_growing", WARNING, NUMBERS("growth"),                                  \
      "the queue grew by {growth:g} requests for each that arrived: the server does not keep up "  \
      "with this rate, and its latencies grow for as long as it lasts",                            \
      "lower the rate")                                                                            \
    X(LIMITS_MET, "limits_met", INFO, NUMBERS("attained", "demanded", "needed"),                   \
      "the limits are met: {attained:%} of the requests kept them, {demanded:%} must",             \
      "")                                                                                          \
    X(LIMITS_MISSED, "limits_missed", WARNING, NUMBERS("attained", "demanded", "needed"),          \
      "the limits are missed: {attained:%} of the requests kept them, {demanded:%} must",          \
      "{subject|lower the rate}")                                                                  \
    X(LIMITS_OPEN, "limits_open", INFO, NUMBERS("attained", "demanded", "needed", "rate"),         \
      "whether {demanded:%} of the requests keep the limits is open ({subject}): {attained:%} did",\
      "about {needed:n} requests in all trials would tell")                                        \
    X(LIMITS_UNKNOWN, "limits_unknown", INFO, NUMBERS("attained", "demanded", "needed"),           \
      "whether {demanded:%} of the requests keep the limits is open ({subject}): {attained:%} did",\
      "")                                                                                          \
    X(LIMITS_UNDECIDED, "limits_undecided", WARNING, NUMBERS("demanded", "least", "undecided"),    \
      "whether {demanded:%} of the requests keep the limits is open ({subject}): {least:%} did, "  \
      "and of {undecided:%} it is not known",                                                      \
      "")                                                                                          \
    X(ANSWERS_SHORT, "answers_short", WARNING, NUMBERS("share", "tokens", "asked"),                \
      "{share:%} of the answers have fewer output tokens than asked for: {tokens:g} of {asked:g} " \
      "on average; rates and latencies are of what came",                                          \
      "have the server go on to the length asked for (ignore_eos, min_tokens), or declare lengths "\
      "as its answers have")                                                                       \
    X(ANSWERS_LONG, "answers_long", WARNING, NUMBERS("share", "tokens", "asked"),                  \
      "{share:%} of the answers have more output tokens than asked for: {tokens:g} for {asked:g} " \
      "on average; rates and latencies are of what came",                                          \
      "see why the server does not keep to max_tokens")                                            \
    X(OUTPUT_AT_ONCE, "output_at_once", WARNING, NUMBERS("share"),                                 \
      "the output of {share:%} of the answers came at once: they have no time per token, and "     \
      "whether they keep a limit on it is not known",                                              \
      "look for a proxy or an option of the server that holds output back; else limit ttft and "   \
      "e2e alone")                                                                                 \
    X(OUTPUT_IN_PIECES, "output_in_pieces", WARNING, NUMBERS("share", "least_ns", "most_ns"),      \
      "{share:%} of the answers came in pieces of several tokens, and how many the first held is " \
      "not told: their time per token is between {least_ns:ns} and {most_ns:ns} on average",       \
      "have the server send each token by itself; else limit ttft and e2e alone")                  \
    /* of an endpoint's trial, from what its client counted */                                     \
    X(REQUESTS_ENDED, "requests_ended", WARNING, NUMBERS("requests"),                              \
      "{requests:n} requests, those of the start included: {subject}",                             \
      "")                                                                                          \
    X(REQUESTS_HELD, "requests_held", WARNING, NUMBERS("requests", "share"),                       \
      "{requests:n} requests waited for a free connection ({share:%})",                            \
      "declare more `connections`, or lower the rate")                                             \
    X(REQUESTS_AGAIN, "requests_sent_again", INFO, NUMBERS("requests", "share"),                   \
      "{requests:n} requests were sent twice ({share:%}), since the server had closed their "      \
      "connection",                                                                                \
      "")                                                                                          \
    X(TOKENS_BY_EVENTS, "tokens_by_events", WARNING, NUMBERS("requests", "share"),                 \
      "{requests:n} answers are without a usage that is believed ({share:%}): each event with "    \
      "output counts as one token, and may hold more",                                             \
      "have the server tell its usage, and leave out `usage: false`")                              \
    X(USAGE_BELOW_EVENTS, "usage_below_events", WARNING, NUMBERS("requests", "share"),             \
      "{requests:n} answers have fewer tokens by their usage than events with output "             \
      "({share:%}): the events were counted",                                                      \
      "declare `usage: false`, and report it to those who make the server")                        \
    X(USAGE_ABOVE_EVENTS, "usage_above_events", INFO, NUMBERS("requests", "share"),                \
      "{requests:n} answers have more tokens by their usage than events with output "              \
      "({share:%}): several tokens in an event, or tokens without text",                           \
      "")                                                                                          \
    X(ANSWERS_WITHOUT_END, "answers_without_end", INFO, NUMBERS("requests", "share"),              \
      "{requests:n} answers ended without [DONE] ({share:%})",                                     \
      "")                                                                                          \
    X(CLIENT_BUSY, "client_busy", WARNING, NUMBERS("share"),                                       \
      "the client that sends the requests used {share:%} of a processor: what was slow may have "  \
      "been the client",                                                                           \
      "lower the rate, or measure from a faster machine")                                          \
    X(TELEMETRY_GAP, "telemetry_incomplete", INFO, NUMBERS(NULL),                           \
      "telemetry is incomplete: {subject}",                                                        \
      "")                                                                                          \
    X(ENERGY_DISAGREES, "energy_disagrees", WARNING, NUMBERS("counter_j", "integral_j"),    \
      "{subject}: the energy counter gives {counter_j:J}, the integral of power {integral_j:J}",   \
      "trust neither before the cause is known")                                                   \
    X(ENERGY_SHORT, "energy_short_window", INFO, NUMBERS("needed_ns"),                      \
      "energy from windows shorter than {needed_ns:ns}, where a counter's steps show",             \
      "declare windows as long (window.time, or of a server more serving.requests)")                                  \
    X(FILE_CHANGED, "file_changed", CRITICAL, NUMBERS("versions"),                          \
      "{subject} changed while the campaign ran: trials used {versions:n} different files",        \
      "run the campaign again on one of them")
/* clang-format on */

enum finding_code {
#define FINDING_ENUM(constant, ...) FINDING_##constant,
    FINDING_MAP(FINDING_ENUM)
#undef FINDING_ENUM
        FINDING_COUNT
};

struct finding_kind {
    const char *code;
    enum finding_severity severity;
    const char *numbers[FINDING_NUMBERS_MAX];
    const char *words, *remedy;
};

extern const struct finding_kind finding_kinds[FINDING_COUNT];

struct finding {
    enum finding_code code;
    int64_t trial; /* its number in the cell, from 1; 0: of the cell */
    double numbers[FINDING_NUMBERS_MAX];
    char *subject; /* heap; NULL: none */
};

/* A failed allocation marks the list as failed; later adds do nothing. {0} is an empty list. */
struct finding_list {
    struct finding *items;
    size_t count;
    bool failed;
};

void finding_list_finish(struct finding_list *list);

/* Appends; `numbers` are as many as the kind names (NULL where it names none), subject is copied.
 */
void finding_add(struct finding_list *list, enum finding_code code, int64_t trial,
                 const char *subject, const double *numbers);

/* "info", "warning", "critical". */
const char *finding_severity_name(enum finding_severity severity);

/* True when one sentence can be made of both: same code and same subject. */
bool finding_same_kind(const struct finding *a, const struct finding *b);

/*
 * Appends the words of `count` >= 1 findings of one kind, e.g. of several trials or cells: the
 * figures, as a range where they differ. finding_render_remedy appends what to do ("" for none).
 */
void finding_render_words(const struct finding *const *items, size_t count, struct text *ret);
void finding_render_remedy(const struct finding *const *items, size_t count, struct text *ret);

/* Appends whose they are, of one kind and one cell: "trial 3", "trials 2, 5"; of the cell: nothing.
 */
void finding_render_trials(const struct finding *const *items, size_t count, struct text *ret);

/*
 * The whole sentence for findings of one kind of one cell: "trials 2, 5 of 8: drift of 3 % to 11 %
 * over the window; check temperature ...". `trial_count` is the cell's, 0: not known.
 */
void finding_render(const struct finding *const *items, size_t count, size_t trial_count,
                    struct text *ret);

/*
 * Calls `each` for every kind in the list, in the order of first occurrence, with all its findings.
 * False: out of memory.
 */
typedef void finding_group_fn(void *context, const struct finding *const *items, size_t count);
bool finding_each_group(const struct finding_list *list, finding_group_fn *each, void *context);

/*
 * A struct finding_list as stored: [{"code", "trial_number" (not of the cell's), "numbers": {...},
 * "subject"}]. Entries of unknown codes (of a newer program) are not read.
 */
extern const struct type findings_type;

/* The row of the table, or NULL: the code is unknown. */
const struct finding_kind *finding_kind_find(const char *code);
/* The known codes of stored findings (NULL: none), each once; a new array, NULL: no memory. */
json_t *findings_codes(const json_t *json);

/*
 * For `--json`: an entry for each kind with "code", "severity", "trials", "message", "remedy", and
 * "subject" where there is one. `result` (may be NULL) is added as "result".
 */
json_t *findings_for_people(const struct finding_list *list, const char *result);
/* An entry of it. */
extern const struct type finding_told_type;

#endif
