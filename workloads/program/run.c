/* One run of a program: its command and environment, its end, and what it wrote. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/child_output.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/text.h"
#include "workloads/program/program.h"

#define OUTPUT_MAX ((off_t)64 << 20)
#define LOOK_NS INT64_C(100000000)
#define TRACE_NS INT64_C(200000) /* between two looks at those that are followed */
#define GRACE_NS INT64_C(2000000000)

/* ---- command and environment ---- */

static const char *value_of(char *const *environment, const char *name, size_t length)
{
    for (size_t i = 0; environment[i]; i++)
        if (!strncmp(environment[i], name, length) && environment[i][length] == '=')
            return environment[i] + length + 1;
    return NULL;
}

static bool is_passed(const struct program_environment *environment, const char *variable)
{
    const size_t length = strcspn(variable, "=");

    if (!strncmp(variable, "ASSAY_WORKER", strlen("ASSAY_WORKER"))) /* what this process is */
        return false;
    for (uint32_t i = 0; i < environment->pass_count; i++)
        if (strlen(environment->pass[i]) == length &&
            !strncmp(environment->pass[i], variable, length))
            return true;
    return environment->pass_count == 0;
}

/* In place of one of the same name. */
static void put(char **list, size_t *count, char *variable)
{
    const size_t length = strcspn(variable, "=") + 1;
    size_t at = 0;

    while (at < *count && strncmp(list[at], variable, length) != 0)
        at++;
    list[at] = variable;
    *count += at == *count;
}

/* What is set, else what this process has, else what is declared by default. Borrowed strings. */
static char **make_environment(const struct program_environment *declared)
{
    size_t have = 0, count = 0;
    char **ret;

    while (environ[have])
        have++;
    ret = calloc(have + declared->set_count + declared->otherwise_count + 1, sizeof(*ret));
    for (uint32_t i = 0; ret && i < declared->otherwise_count; i++)
        put(ret, &count, declared->otherwise[i]);
    for (size_t i = 0; ret && i < have; i++)
        if (is_passed(declared, environ[i]))
            put(ret, &count, environ[i]);
    for (uint32_t i = 0; ret && i < declared->set_count; i++)
        put(ret, &count, declared->set[i]);
    return ret;
}

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", text[i]))
            return false;
    return length > 0;
}

/* {batch} and {NAME}, a variable of capital letters; other braces are the program's own. */
static enum status fill_word(const struct program *program, const char *word, char **ret,
                             struct error *err)
{
    struct text out = TEXT_INIT;
    bool is_shells = false; /* the brace of ${NAME} */

    while (*word) {
        const char *close = *word == '{' && !is_shells ? strchr(word, '}') : NULL;
        const size_t length = close ? (size_t)(close - word - 1) : 0;
        const char *value = close ? value_of(program->envp, word + 1, length) : NULL;

        if (!strncmp(word, "{batch}", strlen("{batch}"))) {
            text_append_format(&out, "%lld", (long long)program->batch);
        } else if (close && is_name(word + 1, length)) {
            if (!value) {
                text_finish(&out);
                return error_set(err, STATUS_NOT_FOUND,
                                 "the command has %.*s, and there is no such variable: set it, or "
                                 "write `environment: {default: [\"%.*s=VALUE\"]}`",
                                 (int)length + 2, word, (int)length, word + 1);
            }
            text_append(&out, value);
        } else {
            is_shells = *word == '$';
            text_append_char(&out, *word++);
            continue;
        }
        word = close + 1;
    }
    *ret = text_steal(&out);
    return *ret ? STATUS_OK : error_no_memory(err);
}

static enum status fill_words(const struct program *program, char *const *words, uint32_t count,
                              char ***ret, struct error *err)
{
    *ret = calloc((size_t)count + 1, sizeof(**ret));
    if (!*ret)
        return error_no_memory(err);
    for (uint32_t i = 0; i < count; i++)
        TRY(fill_word(program, words[i], &(*ret)[i], err));
    return STATUS_OK;
}

/* It may be opened again and truncated, as by a shell's > /dev/stdout; how much is written is
 * looked at while the program runs. */
static int open_output(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC);
}

enum status program_open(const struct program_section *section, int64_t batch, struct program *ret,
                         struct error *err)
{
    *ret = (struct program){.section = section,
                            .batch = batch,
                            .out_fd = open_output("standard output"),
                            .err_fd = open_output("standard error")};
    if (ret->out_fd < 0 || ret->err_fd < 0)
        return error_set_errno(err, errno, "memory for the program's output");
    ret->envp = make_environment(&section->environment);
    if (!ret->envp)
        return error_no_memory(err);
    if (section->metric.file)
        program_metric_file_mark(section, &ret->before);
    TRY(fill_words(ret, section->command, section->command_count, &ret->argv, err));
    return section->check_count > 0
               ? fill_words(ret, section->check, section->check_count, &ret->check_argv, err)
               : STATUS_OK;
}

void program_close(struct program *program)
{
    process_free_words(program->argv);
    process_free_words(program->check_argv);
    free(program->envp);
    if (program->out_fd > 0)
        close(program->out_fd);
    if (program->err_fd > 0)
        close(program->err_fd);
    *program = (struct program){.out_fd = -1, .err_fd = -1};
}

/* ---- one run ---- */

static off_t size_of(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 ? info.st_size : 0;
}

/* With what it wrote last: to standard error, or else to standard output. */
static enum status fail(const struct program *program, enum status code, struct error *err,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

static enum status fail(const struct program *program, enum status code, struct error *err,
                        const char *format, ...)
{
    CLEANUP(text_finish) struct text words = TEXT_INIT;
    va_list args;

    text_append_format(&words, "%s ", program->argv[0]);
    va_start(args, format);
    text_append_formatv(&words, format, args);
    va_end(args);
    child_output_append(size_of(program->err_fd) > 0 ? program->err_fd : program->out_fd, &words);
    return error_set(err, code, "%s", text_ok(&words) ? words.data : "out of memory");
}

static void forget_output(int fd)
{
    if (ftruncate(fd, 0) == 0)
        lseek(fd, 0, SEEK_SET);
}

/* Whether it may go on. */
static enum status look(const struct program *program, int64_t begin_ns, struct error *err)
{
    char limit[TEXT_HUMAN_SIZE];
    const int64_t limit_ns = program->section->timeout_ns;

    if (program->alive)
        program->alive(program->alive_context);
    if (size_of(program->out_fd) > OUTPUT_MAX || size_of(program->err_fd) > OUTPUT_MAX)
        return fail(program, STATUS_INVALID, err,
                    "wrote more than %lld MiB to its standard output or error, which is kept in "
                    "memory: have it write to a file",
                    (long long)(OUTPUT_MAX >> 20));
    if (clock_monotonic_ns() - begin_ns <= limit_ns)
        return STATUS_OK;
    return fail(program, STATUS_TIMEOUT, err, "did not end within %s, its declared timeout",
                text_human_duration((double)limit_ns, limit));
}

/* Until the time is over, or it has ended. */
static void follow(struct program_trace *trace, const struct process *process, int64_t until_ns)
{
    const struct timespec pause = {.tv_nsec = TRACE_NS};

    while (!process_has_ended(process) && clock_monotonic_ns() < until_ns) {
        program_trace_step(trace);
        nanosleep(&pause, NULL);
    }
}

/* Each signal stops a followed one until it is let go on, and so does its end. */
static void stop_followed(struct program_trace *trace, const struct process *process)
{
    process_signal(process, SIGTERM);
    follow(trace, process, clock_monotonic_ns() + GRACE_NS);
    process_signal(process, SIGKILL);
    follow(trace, process, clock_monotonic_ns() + GRACE_NS);
}

static enum status wait_for(const struct program *program, struct process *process,
                            struct program_trace *trace, struct process_exit *ret,
                            struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();
    enum status status = STATUS_OK;

    for (;;) {
        const int64_t until_ns = clock_monotonic_ns() + LOOK_NS;

        if (trace)
            follow(trace, process, until_ns);
        status = process_wait(process, trace ? 0 : until_ns, ret, err);
        if (status != STATUS_TIMEOUT)
            return status;
        status = look(program, begin_ns, err);
        if (status != STATUS_OK)
            break;
    }
    if (trace)
        stop_followed(trace, process);
    process_stop(process, GRACE_NS, ret);
    return status;
}

static enum status judge(const struct program *program, const struct process_exit *end,
                         struct error *err)
{
    char by[PROCESS_SIGNAL_SIZE];

    if (!end->exited)
        return fail(program, STATUS_CRASHED, err, "was ended by %s", process_signal_text(end, by));
    if (end->code != program->section->exit_status)
        return fail(program, STATUS_CHECK_FAILED, err,
                    "ended with exit status %d, and %lld is declared", end->code,
                    (long long)program->section->exit_status);
    if (size_of(program->out_fd) > OUTPUT_MAX || size_of(program->err_fd) > OUTPUT_MAX)
        return look(program, clock_monotonic_ns(), err);
    return STATUS_OK;
}

/*
 * Whether the command is a set-user-ID program, as sudo is: a tracer would take its rights away. A
 * name without a slash is looked for in this process's PATH.
 */
static bool gains_rights(const struct program *program)
{
    const char *name = program->argv[0], *at = strchr(name, '/') ? "" : getenv("PATH");
    struct stat found;

    while (at) {
        const size_t length = strcspn(at, ":");
        AUTO_FREE char *path = length > 0 ? text_format("%.*s/%s", (int)length, at, name) : NULL;

        if (stat(path ? path : name, &found) == 0 && S_ISREG(found.st_mode))
            return (found.st_mode & (S_ISUID | S_ISGID)) != 0;
        at = at[length] ? at + length + 1 : NULL;
    }
    return false;
}

enum status program_run(struct program *program, struct program_trace *trace, struct error *err)
{
    const struct process_fd fds[] = {{program->out_fd, STDOUT_FILENO},
                                     {program->err_fd, STDERR_FILENO}};
    const bool hidden = trace && gains_rights(program);
    const struct process_options options = {.argv = program->argv,
                                            .envp = program->envp,
                                            .directory = program->section->directory,
                                            .fds = fds,
                                            .fd_count = 2,
                                            .forked = trace && !hidden ? program_trace_begin : NULL,
                                            .context = trace};
    struct process process = {0};
    struct process_exit end = {0};
    enum status status;

    forget_output(program->out_fd);
    forget_output(program->err_fd);
    if (trace)
        trace->refused = hidden;
    status = process_spawn(&options, &process, err);
    if (status != STATUS_OK && trace)
        trace->followed_count = 0; /* it has ended */
    TRY(status);
    status = wait_for(program, &process, hidden ? NULL : trace, &end, err);
    if (options.forked)
        program_trace_end(trace);
    return status == STATUS_OK ? judge(program, &end, err) : status;
}

/* ---- what it wrote ---- */

static enum status read_output(int fd, char **ret, size_t *ret_length, struct error *err)
{
    const off_t size = size_of(fd);
    AUTO_FREE char *text = malloc((size_t)size + 1);
    ssize_t got = text ? pread(fd, text, (size_t)size, 0) : -1;

    if (!text)
        return error_no_memory(err);
    if (got < 0)
        return error_set_errno(err, errno, "the program's output");
    for (ssize_t i = 0; i < got; i++)
        text[i] = text[i] ? text[i] : ' ';
    text[got] = '\0';
    *ret = text;
    *ret_length = (size_t)got;
    text = NULL;
    return STATUS_OK;
}

static enum status read_source(const struct program *program, char **ret, size_t *ret_length,
                               struct error *err)
{
    const struct program_metric *metric = &program->section->metric;

    if (metric->file)
        return program_metric_file_read(program->section, &program->before, ret, ret_length, err);
    return read_output(metric->stream == PROGRAM_STDERR ? program->err_fd : program->out_fd, ret,
                       ret_length, err);
}

enum status program_number(struct program *program, double *ret, struct error *err)
{
    const struct program_metric *metric = &program->section->metric;
    AUTO_FREE char *text = NULL;
    struct error reason = ERROR_INIT;
    size_t length = 0;
    enum status status;

    *ret = NAN;
    if (!metric->unit)
        return STATUS_OK;
    status = read_source(program, &text, &length, &reason);
    if (status == STATUS_OK)
        status = program_find_number(metric, text, length, ret, &reason);
    if (metric->file)
        program_metric_file_mark(program->section, &program->before);
    if (status == STATUS_OK)
        return STATUS_OK;
    return fail(program, STATUS_CHECK_FAILED, err, "gives no number in %s: %s",
                metric->file                       ? metric->file
                : metric->stream == PROGRAM_STDERR ? "its standard error"
                                                   : "its standard output",
                reason.message);
}

enum status program_run_check(const struct program *program, bool *ret_passed, struct text *ret,
                              struct error *err)
{
    AUTO_FREE char *input = NULL;
    const int words = program->check_argv ? open_output("the check's output") : -1;
    struct process_fd fds[] = {{-1, STDIN_FILENO}, {words, STDOUT_FILENO}, {words, STDERR_FILENO}};
    const struct process_options options = {.argv = program->check_argv,
                                            .envp = program->envp,
                                            .directory = program->section->directory,
                                            .fds = fds,
                                            .fd_count = 3};
    struct process process = {0};
    struct process_exit end = {.exited = true};
    enum status status = STATUS_OK;

    *ret_passed = true;
    if (!program->check_argv)
        return STATUS_OK;
    input = text_format("/proc/self/fd/%d", program->out_fd);
    fds[0].parent_fd = input ? open(input, O_RDONLY | O_CLOEXEC) : -1;
    if (words < 0 || fds[0].parent_fd < 0)
        status = error_set_errno(err, errno, "the program's output for its check");
    if (status == STATUS_OK)
        status = process_spawn(&options, &process, err);
    if (status == STATUS_OK)
        status = wait_for(program, &process, NULL, &end, err);
    *ret_passed = status == STATUS_OK && end.exited && end.code == 0;
    if (status == STATUS_OK && !*ret_passed)
        child_output_append(words, ret);
    if (fds[0].parent_fd >= 0)
        close(fds[0].parent_fd);
    if (words >= 0)
        close(words);
    return status;
}
