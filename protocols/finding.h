/*
 * finding - what a reader must know with a number, as data: a code, the trial, numbers, a subject.
 *
 * A finding is made once, where it is seen, and stored with the estimate if it is of one; others
 * are of a cell as it is shown, of figures, or of the machine. Its text is in one table here;
 * terminal, page, JSON and dossier render it by finding_render, which also merges findings of one
 * code over trials and cells (figures that differ become a range). No code compares sentences.
 */
#ifndef ASSAY_PROTOCOLS_FINDING_H
#define ASSAY_PROTOCOLS_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/text.h"
#include "harness/core/type.h"

/* In ascending order. NONE: of a report without findings. */
#define FINDING_SEVERITY_MAP(X)                                                                    \
    X(NONE, "none")                                                                                \
    X(INFO, "info")         /* shown with the cell, not below a table of results */                \
    X(WARNING, "warning")   /* the value is less certain, or less general, than it looks */        \
    X(CRITICAL, "critical") /* the value must not be relied on */

enum finding_severity {
#define FINDING_SEVERITY_ENUM(code, name) FINDING_##code,
    FINDING_SEVERITY_MAP(FINDING_SEVERITY_ENUM)
#undef FINDING_SEVERITY_ENUM
};

#define FINDING_NUMBERS_MAX 4

/* More trials or pairs than these are no remedy: it is said what these would show instead. */
#define FINDING_TRIALS_REASONABLE 200
/* Nor are requests that take longer than this to come. */
#define FINDING_SECONDS_REASONABLE 86400

/*
 * X(constant, code, severity, numbers, words, remedy)
 *   numbers  names of the numbers, in their order, as JSON has them
 *   words    "{name:kind}"; "{subject}", "{subject|words where there is none}", "{detail}". Kinds:
 * n a count, % a share, +% a signed share, start a start against the end (+0.1: "10 % slower",
 * +135: "136 times slower"), half half of an interval's width as a share, ns a duration, g three
 * digits, J, MHz remedy   what to do; "" where there is nothing to be done
 */
/* clang-format off */
#define FINDING_STORED_MAP(X)                                                                      \
    /* of a trial, from its samples */                                                             \
    X(LATE_WARMUP, "late_warmup", INFO, NUMBERS("sample", "change"),                        \
      "steady state begins at sample {sample:n} only, after a start {change:start}; the samples "  \
      "before it are kept and not in the estimate",                                                \
      "declare a longer warmup")                                                                   \
    X(WARMUP_REMAINDER, "warmup_remainder", INFO, NUMBERS("share"),                         \
      "up to {share:%} of the mean may still be warmup; the interval is wider by that",            \
      "declare a longer warmup")                                                                   \
    X(DISTURBED, "disturbed", WARNING, NUMBERS("share", "change"),                                 \
      "{share:%} of the samples lie {change:+%} off the level before and after them: a disturbance " \
      "that passed, and the mean is of everything",                                                \
      "look for what ran then (`assay show --all` has load, clocks and temperature of each trial), and " \
      "measure again")                                                                             \
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
      "all {samples:n} samples are {value_ns:ns}: what is seen is the resolution of the clock or " \
      "of the file, and not the time, or they were not measured one by one",                       \
      "time blocks of more iterations")                                                            \
    X(COARSE_TIMER, "coarse_timer", WARNING, NUMBERS("step_ns", "share"),                   \
      "what is seen is the resolution of the clock or of the file: {step_ns:ns}, {share:%} of a "  \
      "sample",                                                                                    \
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
      "the interval is of the typical process, the one in the middle: {trials:n} trials may not "   \
      "show a second level that less than {share:%} of the processes have, and of skewed levels "  \
      "the mean of all may lie outside",                                                           \
      "run more trials")                                                                           \
    X(TREND_OF_TRIALS, "trend_of_trials", WARNING, NUMBERS("change", "p"),                         \
      "the level moved by {change:+%} from the first trial to the last, which chance explains in " \
      "{p:%} of campaigns: the interval reaches both ends",                                        \
      "find what moves (`assay show --all` has temperature, clocks and load of each trial), or compare " \
      "in pairs, where it falls on both arms (`assay ab`)")                                        \
    X(SERIAL_TRIALS, "serial_trials", WARNING, NUMBERS("correlation", "p"),                        \
      "trials that follow each other are alike (correlation {correlation:g}), which chance "       \
      "explains in {p:%} of campaigns: the interval is of this hour, and wider by that",           \
      "measure again at another hour, or compare in pairs (`assay ab`)")                           \
    X(DAYS_OF_TRIALS, "days_of_trials", INFO, NUMBERS("trials", "days", "least"),                  \
      "the {trials:n} trials are of {days:n} days: the interval takes the days for independent, "  \
      "and not the trials of one; fewer than {least:n} days say little of how days differ",        \
      "spread the campaign over more days (`spread: 120h` in a protocol), or over one")              \
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
    X(PERCENTILE_GAP, "percentile_at_gap", INFO, NUMBERS("low_ns", "high_ns"),                     \
      "{subject} lies at a gap of the samples, from {low_ns:ns} to {high_ns:ns}, and on which side " \
      "is chance: it is an observed value, and the interval reaches over both sides",              \
      "report another percentile as well, and look for what takes the longer ones")                \
    /* of the cell or a trial, by readings; without the path, as estimates cannot be withheld */   \
    X(FOREIGN_WORKER, "foreign_worker", CRITICAL, NUMBERS(NULL),                                   \
      "measured by another program than assay's own worker, and assay did not compare its "        \
      "outputs: device, times and checks are as that program reports them",                        \
      "measure with assay's own worker, or a declared one that hands its outputs over")            \
    X(ABOVE_CEILING, "above_ceiling", CRITICAL, NUMBERS("ratio"),                                  \
      "the rate is {ratio:g} times the most that this campaign measured the device to do "         \
      "({subject}): work was left out, or the cell's count of it is wrong",                         \
      "find out why, and note it with `assay amend`; it compares with nothing")                     \
    X(COUNTED_BY_PROGRAM, "counted_by_program", WARNING, NUMBERS(NULL),                            \
      "counted by the program itself, in {subject}: nobody else has measured that number; the time " \
      "of a run beside it is measured from outside",                                               \
      "compare it with the time of a run, or check it by other means")                             \
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
    X(GAPS, "gaps", WARNING, NUMBERS("share"),                                                     \
      "{share:%} of the window are in no sample and in no check: work of the samples may run there",\
      "time longer samples (sample.min_time), on an idle machine")                                 \
    X(CHECKED_SLOWER, "checked_slower", WARNING, NUMBERS("ratio"),                                 \
      "the shortest of the iterations that were checked took {ratio:g} times as long as those of " \
      "the samples: work may be left out where nobody looks",                                      \
      "measure with another version of the driver and the library; results of an earlier launch "  \
      "must not be kept")                                                                          \
    X(STEERED, "steered", WARNING, NUMBERS(NULL),                                                  \
      "somebody else than assay chose processors or the priority of the worker",                   \
      "set them for assay as a whole (`taskset`, `nice`), which is recorded, and measure again")   \
    X(PRELOADED, "preloaded", WARNING, NUMBERS(NULL),                                              \
      "{subject} put libraries into the worker that nothing there asked for: they can change what " \
      "is measured, and what clocks say",                                                          \
      "measure without it")                                                                        \
    X(HIDDEN, "hidden", CRITICAL, NUMBERS("parts"),                                                \
      "the worker began with files, memory or threads ({parts:n}) that its program does not need "  \
      "and no LD_PRELOAD tells of: they can change what is measured, and what clocks say",         \
      "find out what puts them there (`assay show --json` lists files with their digests), and "   \
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
    X(USAGE_ABOVE_ASKED, "usage_above_asked", WARNING, NUMBERS("requests", "share"),               \
      "{requests:n} answers have more tokens by their usage than were asked for ({share:%}): "  \
      "only the requested number, or that of the events with output, was counted",                                     \
      "ask those who make the server why it does not keep to max_tokens")                          \
    X(TOKENS_ABOVE_BYTES, "tokens_above_bytes", WARNING, NUMBERS("requests", "share"),             \
      "{requests:n} answers have more tokens by their usage than bytes of text ({share:%}): a "    \
      "token has one or more",                                                                     \
      "declare `usage: false` and compare, before a rate of tokens is believed")                   \
    X(BLANK_FIRST, "blank_first_output", WARNING, NUMBERS("requests", "share"),                    \
      "{requests:n} answers begin with output that has nothing to see in it ({share:%}): the time " \
      "to first output is that of a blank",                                                        \
      "look at the answers, and limit `gap`, which has what follows a blank")                      \
    X(ANSWERS_WITHOUT_END, "answers_without_end", INFO, NUMBERS("requests", "share"),              \
      "{requests:n} answers ended without [DONE] ({share:%})",                                     \
      "")                                                                                          \
    X(PROMPTS_REPEATED, "prompts_repeated", WARNING, NUMBERS("requests", "share"),                 \
      "{requests:n} requests had a prompt that was sent before ({share:%}): servers keep what they " \
      "computed of prompts",                                                                       \
      "write a file with more prompts than all trials send")                                       \
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

/* Of a cell where it is shown, from what is recorded of it. */
#define FINDING_SHOWN_MAP(X)                                                                       \
    X(AUTOTUNING_FAILED, "autotuning_failed", WARNING, NUMBERS(NULL),                              \
      "Autotuning before the trials failed, so each trial tuned for itself and they may differ "   \
      "by that: {subject}",                                                                        \
      "")                                                                                          \
    X(CANDIDATE_FAILED, "candidate_failed", INFO, NUMBERS(NULL),                                   \
      "Candidate left out of the autotuning, since it failed: {subject}",                          \
      "")                                                                                          \
    X(HOST_ROOT, "host_root", WARNING, NUMBERS(NULL),                                              \
      "The host's readings, energy among them, come from the folder {subject} "                    \
      "(ASSAY_HOST_ROOT), not from the machine that measured.",                                    \
      "")                                                                                          \
    X(LIBRARIES_CHOSEN, "libraries_chosen", INFO, NUMBERS(NULL),                                   \
      "Libraries chosen by hand (--lib, ASSAY_LIB_...): {subject}; the stack has their paths "     \
      "and digests.",                                                                              \
      "")                                                                                          \
    X(FILE_ALTERED, "file_altered", CRITICAL, NUMBERS(NULL),                                        \
      "{subject} is {detail}: it has another content",                                             \
      "find out who replaced it, or reinstall the package, and measure again")                     \
    X(KERNEL_CHANGED, "kernel_changed", WARNING, NUMBERS("versions"),                               \
      "{subject} was compiled to {versions:n} different kernels in trials of this result, from "    \
      "one text, by one compiler and with the same options: something else that the compiler "      \
      "reads changed, or it makes other bytes each time",                                          \
      "find out which, and run the campaign again")                                                \
    X(PLAN_REPEATED, "plan_repeated", INFO, NUMBERS("campaigns"),                                   \
      "One of {campaigns:n} campaigns of the same plan, which are all here: it may be the best of "  \
      "them.",                                                                                     \
      "")                                                                                          \
    X(PLAN_HIDDEN, "plan_hidden", WARNING, NUMBERS("campaigns", "here"),                            \
      "One of {campaigns:n} campaigns of the same plan in its log, of which {here:n} here: it may "  \
      "be the best of them.",                                                                      \
      "ask for a bundle of all of them")                                                           \
    X(SIMULATED, "device_simulated", WARNING, NUMBERS(NULL),                                       \
      "The device is simulated: a test of the tool, not a measurement of hardware.",               \
      "")                                                                                          \
    X(AMENDED, "amended", WARNING, NUMBERS(NULL),                                                  \
      "{subject}: {detail}",                                                                       \
      "")                                                                                          \
    X(TRIALS_FAILED, "trials_failed", WARNING, NUMBERS(NULL),                                      \
      "{subject}: {detail}",                                                                       \
      "")                                                                                          \
    X(UNSUPPORTED, "unsupported", WARNING, NUMBERS(NULL),                                          \
      "unsupported{subject}",                                                                      \
      "")                                                                                          \
    X(CAMPAIGN_RUNNING, "campaign_running", WARNING, NUMBERS(NULL),                                \
      "campaign {subject} is running: what is shown of it is as of now, and its trials are "       \
      "analysed when it ends",                                                                     \
      "")                                                                                          \
    X(CAMPAIGN_CUT, "campaign_cut", WARNING, NUMBERS(NULL),                                        \
      "campaign {subject} was not finished when the bundle was made, so its trials are not "       \
      "analysed",                                                                                  \
      "")                                                                                          \
    X(CAMPAIGN_PLANNED, "campaign_planned", WARNING, NUMBERS(NULL),                                \
      "campaign {subject} is planned and has not begun, so its trials are not analysed",           \
      "it begins with: assay run --plan {subject} --db {detail}")                                  \
    X(CAMPAIGN_UNFINISHED, "campaign_unfinished", WARNING, NUMBERS(NULL),                          \
      "campaign {subject} is not finished, so its trials are not analysed",                        \
      "it goes on with: assay run --resume {subject} --db {detail}")                               \
    X(IMPORTED, "imported", WARNING, NUMBERS(NULL),                                                \
      "{subject|Imported: not measured by assay.}",                                                \
      "")

/* Of costs, fleets and decisions: the notes beside their figures. */
#define FINDING_FIGURE_MAP(X)                                                                      \
    X(PRICE_NOT_VALID, "price_not_valid", WARNING, NUMBERS(NULL),                                  \
      "the price is not valid on the day of the figures",                                          \
      "")                                                                                          \
    X(POWER_NOT_KNOWN, "power_not_known", INFO, NUMBERS(NULL),                                     \
      "the result has no measured power, so energy is left out of every figure",                   \
      "")                                                                                          \
    X(NO_TARIFF, "no_tariff", INFO, NUMBERS(NULL),                                                 \
      "the sheet has no row of kind energy, so energy is left out of the figures",                 \
      "")                                                                                          \
    X(FIGURES_SIMULATED, "simulated", CRITICAL, NUMBERS(NULL),                                     \
      "the device is simulated: the figures mean nothing",                                         \
      "")                                                                                          \
    X(IDLE_POWER, "idle_power", INFO, NUMBERS(NULL),                                               \
      "power while idle is not measured: the hours without work cost no energy here",              \
      "")                                                                                          \
    X(POWER_WITHOUT_INTERVAL, "power_without_interval", INFO, NUMBERS(NULL),                       \
      "the measured power has no interval: the bounds are without its uncertainty",                \
      "")                                                                                          \
    X(UNVERIFIED, "unverified", WARNING, NUMBERS(NULL),                                            \
      "another program measured this: what it says is a claim",                                    \
      "")                                                                                          \
    X(AT_LEAST, "at_least", INFO, NUMBERS(NULL),                                                   \
      "a unit was shown to miss the limits at no rate: the highest that was shown to meet them "   \
      "counts as its capacity",                                                                    \
      "")                                                                                          \
    X(CONDITIONS_DIFFER, "conditions_differ", WARNING, NUMBERS("conditions"),                      \
      "{conditions:n} conditions that should be as those of {subject} differ or are not known; "   \
      "`assay compare` lists them",                                                                \
      "")                                                                                          \
    X(ONE_UNIT, "one_unit", WARNING, NUMBERS(NULL),                                                \
      "one unit was measured, so the spread between units is not known: the number holds for "     \
      "units like this one",                                                                       \
      "")                                                                                          \
    X(NO_FLEET, "no_fleet", CRITICAL, NUMBERS(NULL),                                               \
      "no fleet is shown to carry the demand: the spread between so few units is too large; "      \
      "measure more of them",                                                                      \
      "")

/* Of the machine, by `assay doctor`, which shows the code as the name of the check (of a device's,
 * with its own name for "device"). The words are the effect of what was observed. */
#define FINDING_MACHINE_MAP(X)                                                                     \
    X(HOST_GOVERNOR, "governor", WARNING, NUMBERS(NULL),                                           \
      "the clock follows the load of a moment ago, so that the first samples run slower and "      \
      "short pauses show in the numbers",                                                          \
      "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor")         \
    X(HOST_CLOCK, "fixed clock", INFO, NUMBERS(NULL),                                              \
      "the clock may differ between trials and between days",                                      \
      "sudo cpupower frequency-set --min FREQUENCY --max FREQUENCY, with one that holds under "    \
      "load")                                                                                      \
    X(HOST_TURBO, "turbo", WARNING, NUMBERS(NULL),                                                 \
      "the clock depends on heat and on how many cores work, so neighbours and earlier trials "    \
      "show in the numbers",                                                                       \
      "{subject}")                                                                                 \
    X(HOST_SMT, "SMT", INFO, NUMBERS(NULL),                                                        \
      "two threads share a core's units: where they are placed shows in a CPU's numbers",          \
      "echo off | sudo tee /sys/devices/system/cpu/smt/control")                                   \
    X(HOST_VIRTUAL, "hypervisor", INFO, NUMBERS(NULL),                                             \
      "its host decides on processors, clocks and neighbours, none of which can be seen from "     \
      "here",                                                                                      \
      "measure on the bare machine, or on an instance with dedicated cores")                       \
    X(HOST_CLOCK_SOURCE, "clock source", WARNING, NUMBERS(NULL),                                   \
      "reading it takes about a microsecond, which is part of every sample",                       \
      "find out why the kernel gave up tsc (journalctl -k | grep -i tsc); if it is sound, boot "   \
      "with clocksource=tsc tsc=reliable")                                                         \
    X(HOST_TIMER, "timer", WARNING, NUMBERS(NULL),                                                 \
      "short samples are as long as reading the clock",                                            \
      "use a machine whose clock is read without a system call (vDSO), or protocols with longer "  \
      "samples (sample.min_time)")                                                                 \
    X(HOST_MEMORY, "memory", WARNING, NUMBERS(NULL),                                               \
      "the kernel takes pages back while samples are taken, or ends the worker",                   \
      "end what holds it: ps aux --sort=-rss | head")                                              \
    X(HOST_SWAP, "swap", WARNING, NUMBERS(NULL),                                                   \
      "a page that went out costs a thousand times its time when it is touched",                   \
      "sudo swapoff -a (needs as much free memory), then sudo swapon -a")                          \
    X(HOST_QUOTA, "processor quota", WARNING, NUMBERS(NULL),                                       \
      "once the quota of a period is used up, every thread is stopped until the next",             \
      "give the container whole processors instead (docker run --cpuset-cpus, not --cpus; "        \
      "AllowedCPUs=, not CPUQuota=)")                                                              \
    X(HOST_MEMORY_LIMIT, "memory limit", INFO, NUMBERS(NULL),                                      \
      "a workload that needs more is ended by the kernel",                                         \
      "raise memory.max of the cgroup (docker run --memory)")                                      \
    X(HOST_AFFINITY, "affinity", INFO, NUMBERS(NULL),                                              \
      "fewer processors work than the machine has; results are of that part",                      \
      "taskset -pc 0-N $$, or start without the restriction, if the whole is meant")               \
    X(HOST_NUMA, "NUMA", INFO, NUMBERS(NULL),                                                      \
      "the kernel moves pages between nodes while samples are taken",                              \
      "echo 0 | sudo tee /proc/sys/kernel/numa_balancing")                                         \
    X(HOST_HEAT, "temperature", WARNING, NUMBERS(NULL),                                            \
      "near its limit a processor lowers its clock",                                               \
      "let it cool, look at fans and air; measure under `soak` to see where it settles")           \
    X(HOST_BATTERY, "battery", WARNING, NUMBERS(NULL),                                             \
      "on battery the clock is held down",                                                         \
      "plug it in")                                                                                \
    X(HOST_TIME, "time of day", INFO, NUMBERS(NULL),                                               \
      "the dates of results may be wrong, which an auditor would ask about; durations are not "    \
      "touched",                                                                                   \
      "sudo timedatectl set-ntp true; without systemd, sudo apt-get install chrony")               \
    X(HOST_STEAL, "steal time", WARNING, NUMBERS(NULL),                                            \
      "the hypervisor gives this machine's processors to others, in the middle of samples",        \
      "use an instance with dedicated cores, or measure when its neighbours sleep")                \
    X(HOST_LOAD, "other processes", WARNING, NUMBERS(NULL),                                        \
      "they take processors, caches and memory bandwidth while samples are taken",                 \
      "stop them, or wait until they are done: ps aux --sort=-%cpu | head")                        \
    X(HOST_JITTER, "jitter", WARNING, NUMBERS(NULL),                                               \
      "a thread that only reads the clock is held up: samples carry time in which nothing of "     \
      "theirs ran",                                                                                \
      "{subject}")                                                                                 \
    X(DEVICE_THROTTLING, "device throttling", WARNING, NUMBERS(NULL),                              \
      "the device runs below its clock before anything is measured",                               \
      "{subject}")                                                                                 \
    X(DEVICE_HEAT, "device temperature", WARNING, NUMBERS(NULL),                                   \
      "near its limit a device lowers its clock",                                                  \
      "let it cool, look at fans and air")                                                         \
    X(DEVICE_PROCESSES, "device processes", CRITICAL, NUMBERS(NULL),                               \
      "they take the device's time, memory and power while samples are taken",                     \
      "{subject}")                                                                                 \
    X(DEVICE_ECC, "device ECC", INFO, NUMBERS(NULL),                                               \
      "bits that flip are not seen, and bandwidth differs from a device with ECC",                 \
      "{subject}")                                                                                 \
    X(DEVICE_PERSISTENCE, "device persistence", INFO, NUMBERS(NULL),                               \
      "the driver lets go of an idle device, and each trial waits for it again",                   \
      "sudo nvidia-smi -pm 1")                                                                     \
    X(DEVICE_PCIE, "device PCIe link", WARNING, NUMBERS(NULL),                                     \
      "copies run at a part of their rate",                                                        \
      "look at slot, riser and BIOS: lspci -vv shows LnkSta")
/* clang-format on */

#define FINDING_MAP(X)                                                                             \
    FINDING_STORED_MAP(X) FINDING_SHOWN_MAP(X) FINDING_FIGURE_MAP(X) FINDING_MACHINE_MAP(X)

enum finding_code {
#define FINDING_ENUM(constant, ...) FINDING_##constant,
    FINDING_MAP(FINDING_ENUM)
#undef FINDING_ENUM
        FINDING_COUNT,
    /* of the codes that records may have, which are the first */
    FINDING_STORED_COUNT = FINDING_FILE_CHANGED + 1
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
    char *detail;  /* heap; a second text; NULL: none, as of all that are stored */
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

/* Times their numbers that are times, those whose names end in "_ns". */
void finding_scale_times(struct finding_list *list, double by);

/* The same for a finding that is not stored, without numbers; the texts are copied. */
void finding_add_shown(struct finding_list *list, enum finding_code code, const char *subject,
                       const char *detail);

/* "info", "warning", "critical". */
const char *finding_severity_name(enum finding_severity severity);

/* True when one sentence can be made of both: same code and same texts. */
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
