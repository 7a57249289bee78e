#include "harness/runner/probe_child.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/dynlib.h"
#include "harness/core/crash_context.h"
#include "harness/core/member.h"
#include "harness/core/process.h"
#include "harness/core/text.h"
#include "harness/core/child_output.h"
#include "harness/runner/tool.h"

#define TIMEOUT_NS (60 * (int64_t)1000000000)
#define OUTPUT_MAX ((size_t)16 << 20)

/* ---- the child ---- */

static int answer_fd = STDOUT_FILENO;

static int write_line(const json_t *json)
{
    char *line = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    struct text text;
    size_t done = 0;

    text_init(&text);
    if (line)
        text_append_format(&text, "%s\n", line);
    free(line);
    while (text_ok(&text) && done < text.length) {
        ssize_t wrote = write(answer_fd, text.data + done, text.length - done);

        if (wrote < 0 && errno != EINTR)
            break;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    done = line && text_ok(&text) && done == text.length;
    text_finish(&text);
    return done ? 0 : 1;
}

void probe_child_step(const char *step)
{
    json_t *json = json_string(step);

    write_line(json);
    json_decref(json);
}

void probe_child_begin(void)
{
    int own = dup(STDOUT_FILENO);

    if (own >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        answer_fd = own;
    dynlib_watch(probe_child_step);
    crash_context_begin();
}

int probe_child_answer(json_t *answer)
{
    int status = write_line(answer);

    crash_context_end();
    json_decref(answer);
    return status;
}

int probe_child_refuse(const struct error *error)
{
    return probe_child_answer(json_pack("{s:o}", "refused", printable_or_null(error->message)));
}

/* ---- the parent ---- */

static int64_t timeout_ns(void)
{
    const char *text = getenv("ASSAY_PROBE_TIMEOUT");
    int64_t timeout = TIMEOUT_NS;

    if (text)
        text_parse_duration_ns(text, &timeout);
    return timeout;
}

/* The answer among the lines, NULL: none; `ret_step` is the last step reported, NULL: none. */
static json_t *read_lines(const char *output, json_t **ret_step)
{
    json_t *answer = NULL;

    *ret_step = NULL;
    while (output && *output) {
        size_t length = strcspn(output, "\n");
        json_t *line = NULL;

        if (canonical_parse(output, length, "probe", &line, NULL) == STATUS_OK) {
            json_t **place = json_is_string(line) ? ret_step : &answer;

            json_decref(*place);
            *place = line;
        }
        output += length + (output[length] == '\n');
    }
    return answer;
}

/* How it ended, where it was, and its last output. */
static enum status explain(enum status status, const struct process_exit *end, const json_t *step,
                           int output_fd, struct error *err)
{
    char by[PROCESS_SIGNAL_SIZE];
    CLEANUP(text_finish) struct text text = TEXT_INIT;

    if (status == STATUS_TIMEOUT)
        text_append_format(&text, "it did not answer in %.3g s (ASSAY_PROBE_TIMEOUT)",
                           (double)timeout_ns() / 1e9);
    else if (status == STATUS_CRASHED)
        text_append_format(&text, "it ended by %s", process_signal_text(end, by));
    else
        text_append_format(&text, "it ended with status %d%s", end->code,
                           end->code == 0 ? " and gave no answer" : "");
    if (json_is_string(step))
        text_append_format(&text, ", %s", json_string_value(step));
    child_output_append(output_fd, &text);
    if (status == STATUS_OK)
        status = end->code == 0 ? STATUS_PROTOCOL : STATUS_UNAVAILABLE;
    return error_set(err, status, "%s", text_ok(&text) ? text.data : "out of memory");
}

static enum status run(char *const *argv, int output_fd, json_t **ret, struct error *err)
{
    const struct process_call call = {.argv = argv,
                                      .error_fd = output_fd,
                                      .wake_fd = -1,
                                      .timeout_ns = timeout_ns(),
                                      .max_output = OUTPUT_MAX};
    struct process_exit end;
    struct error reason = ERROR_INIT;
    char *output;
    enum status status = process_call(&call, &output, NULL, &end, &reason);
    json_t *step, *answer = read_lines(output, &step);

    free(output);
    if (status != STATUS_OK && status != STATUS_TIMEOUT && status != STATUS_CRASHED) {
        if (err)
            *err = reason;
    } else if (status != STATUS_OK || end.code != 0 || !answer) {
        status = explain(status, &end, step, output_fd, err);
    } else if (json_object_get(answer, "refused")) {
        const char *words = member_string(answer, "refused");

        status = error_set(err, STATUS_UNSUPPORTED, "%s", words ? words : "");
    }
    json_decref(step);
    if (status != STATUS_OK) {
        json_decref(answer);
        return status;
    }
    *ret = answer;
    return STATUS_OK;
}

enum status probe_child_ask(const char *question, const char *detail, json_t **ret,
                            struct error *err)
{
    char *program;
    int output_fd;
    enum status status;

    TRY(tool_path(&program, err));
    output_fd = child_output_open("assay-probe");
    if (output_fd < 0) {
        status = error_set_errno(err, errno, "memory for the probe's output");
    } else {
        char *argv[] = {program, (char *)"probe", (char *)question, (char *)detail, NULL};

        backend_unbind_process();
        status = run(argv, output_fd, ret, err);
        close(output_fd);
    }
    free(program);
    return status;
}

struct asking {
    void (*ask)(void *item);
    void *item;
    pthread_t thread;
    bool started;
};

static void *run_asking(void *argument)
{
    const struct asking *asking = argument;

    asking->ask(asking->item);
    return NULL;
}

void probe_child_side_by_side(void (*ask)(void *item), void *items, size_t size, size_t count)
{
    struct asking *askings = calloc(count, sizeof(*askings));

    for (size_t i = 0; i < count; i++) {
        void *item = (char *)items + i * size;

        if (askings) {
            askings[i] = (struct asking){.ask = ask, .item = item};
            askings[i].started =
                pthread_create(&askings[i].thread, NULL, run_asking, &askings[i]) == 0;
        }
        if (!askings || !askings[i].started)
            ask(item);
    }
    for (size_t i = 0; askings && i < count; i++)
        if (askings[i].started)
            pthread_join(askings[i].thread, NULL);
    free(askings);
}
