/*
 * program - any command as a workload: an iteration is a fresh process, from its start to its end.
 *
 * What a run says of itself, a number in its output or in a file, is read after it, outside of the
 * sample. README.md here has the keys.
 */
#ifndef ASSAY_WORKLOADS_PROGRAM_PROGRAM_H
#define ASSAY_WORKLOADS_PROGRAM_PROGRAM_H

#include <sys/stat.h>

#include "harness/core/declaration.h"
#include "harness/core/process.h"
#include "workloads/workload.h"

/* Where the number of a run is, of several, which counts. */
enum program_stream { PROGRAM_STDOUT, PROGRAM_STDERR };
enum program_take {
    PROGRAM_ONE, /* there is exactly one */
    PROGRAM_FIRST,
    PROGRAM_LAST,
    PROGRAM_MEAN,
    PROGRAM_MEDIAN,
    PROGRAM_MIN,
    PROGRAM_MAX,
    PROGRAM_SUM
};
enum program_better { PROGRAM_LOWER, PROGRAM_HIGHER };

struct program_metric {
    enum program_stream stream;
    char *file;                 /* in place of the stream; NULL: none */
    char *pattern, *json, *csv; /* one of them */
    enum program_take take;
    char *unit; /* NULL: the program has no metric, and its time is what counts */
    enum program_better better;
};

struct program_environment {
    char **set, **otherwise, **pass; /* "NAME=value" twice, and names */
    uint32_t set_count, otherwise_count, pass_count;
};

struct program_file {
    char *path, *sha256;
};

struct program_section {
    char **command, **check;
    uint32_t command_count, check_count;
    char *directory; /* NULL: where assay runs */
    struct program_environment environment;
    struct program_file *inputs, *outputs;
    uint32_t inputs_count, outputs_count;
    int64_t warmup, exit_status, timeout_ns;
    struct program_metric metric;
};

/* ---- declare.c ---- */

extern const struct workload_form program_form;

/* The section of a loaded workload; declaration_finish. `ret_section` lives as long. */
enum status program_read(const struct workload *workload, struct declaration *ret,
                         const struct program_section **ret_section, struct error *err);

/* `path` from the program's directory; heap, NULL: no memory. */
char *program_path(const struct program_section *section, const char *path);

/* INVALID: an input is not there, or another than its digest says. */
enum status program_check_inputs(const struct program_section *section, struct error *err);

/* ---- metric.c ---- */

/* Whether a pattern can be read: `{value}` in plain words, or an extended regular expression with
 * a group. INVALID. */
enum status program_check_pattern(const char *pattern, struct error *err);

/*
 * The number that `text` has by the metric, a finite one above 0. NOT_FOUND: it has none; INVALID:
 * it has several and one is wanted, or what it has is no such number.
 */
enum status program_find_number(const struct program_metric *metric, const char *text,
                                size_t length, double *ret, struct error *err);

/* ---- metric_file.c ---- */

/*
 * Notes how the metric's file is before a run. Its time of change is set back by 1 ns where that is
 * allowed: file systems count in ticks of milliseconds, and a short run that writes as many bytes
 * as the last one would not be seen.
 */
void program_metric_file_mark(const struct program_section *section, struct stat *ret_before);

/*
 * What the run wrote to it; heap, NUL-terminated. INVALID: it is as it was before the run, so that
 * its number is an earlier run's; or it is a pipe, a device or larger than 64 MiB. NOT_FOUND.
 */
enum status program_metric_file_read(const struct program_section *section,
                                     const struct stat *before, char **ret, size_t *ret_length,
                                     struct error *err);

/* ---- run.c ---- */

/* What is run and how, once for all runs of a trial. */
struct program {
    const struct program_section *section;
    int64_t batch;
    char **argv, **envp, **check_argv;
    int out_fd, err_fd; /* of the latest run, in memory */
    struct stat before; /* the metric's file before the next run; st_ino 0: there is none */
    struct program_trace *trace;
    void (*alive)(void *context); /* called once a second and more often while a program runs */
    void *alive_context;
};

/* NOT_FOUND: the command names a variable that is not set. program_close after failure, too. */
enum status program_open(const struct program_section *section, int64_t batch, struct program *ret,
                         struct error *err);
void program_close(struct program *program);

/*
 * One run, from its start to its end; whatever it started and left in its process group has ended,
 * too. `trace`, where it is not NULL, notes the files that it maps. NOT_FOUND, DENIED: it cannot be
 * started; CRASHED: a signal ended it; TIMEOUT; CHECK_FAILED: another exit status than the
 * declared; INVALID: it wrote too much. Each with its last output.
 */
enum status program_run(struct program *program, struct program_trace *trace, struct error *err);

/* The number of the latest run, as program_find_number; NAN where the program has no metric. To be
 * called after each run: CHECK_FAILED where the metric's file is as the call before left it. */
enum status program_number(struct program *program, double *ret, struct error *err);

/* Runs the checking command with the program's output as its input; true where there is none. */
enum status program_run_check(const struct program *program, bool *ret_passed, struct text *ret,
                              struct error *err);

/* ---- trace.c ---- */

/*
 * Follows a run and its children by ptrace, and notes what each has mapped to execute when it ends:
 * files that it unmapped before then are not seen, nor those that are only read.
 */
#define PROGRAM_FOLLOWED_MAX 256 /* processes at a time */
struct program_trace {
    char **paths; /* heap, each once */
    size_t count;
    pid_t followed[PROGRAM_FOLLOWED_MAX]; /* now */
    size_t followed_count;
    bool refused; /* the kernel does not allow it: nothing was seen */
    void **pages; /* of those files, mapped here as well, so that they are recorded with this
                     process's own */
    size_t page_count;
};

/* From now on; the child waits before it executes the program (process_options.forked). `trace`: a
 * struct program_trace. */
void program_trace_begin(void *trace, pid_t pid);
/* Lets all go on that wait for it; to be called often. */
void program_trace_step(struct program_trace *trace);
/* Ends those that are followed still, once the child has ended. */
void program_trace_end(struct program_trace *trace);
/* Maps here what was seen. */
void program_trace_hold(struct program_trace *trace);
void program_trace_finish(struct program_trace *trace);

#endif
