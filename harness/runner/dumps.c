#include "harness/runner/dumps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/clock.h"
#include "harness/core/machine_root.h"
#include "harness/core/process.h"
#include "harness/core/text.h"

#define TIMEOUT_NS (INT64_C(15) * 1000000000) /* ASSAY_TOOL_TIMEOUT is another */
#define OUTPUT_MAX ((size_t)8 << 20)
#define WORDS_MAX 6

/* A tool with an older form of the same question has a second row: it is asked when the first
 * fails. */
static const struct dump_tool {
    const char *backend; /* NULL: of the host */
    const char *words[WORDS_MAX];
    const char *needs; /* a file that it cannot do without; NULL: none */
    bool is_fallback;  /* of the row before */
} tools[] = {
    {NULL, {"lscpu", "-J"}, NULL, false},
    {NULL, {"lscpu"}, NULL, true}, /* util-linux before 2.30 */
    {NULL, {"numactl", "--hardware"}, NULL, false},
    {NULL, {"dmidecode"}, "/sys/firmware/dmi/tables/DMI", false},
    {"opencl", {"clinfo", "--json"}, NULL, false},
    {"opencl", {"clinfo", "--raw"}, NULL, true}, /* before 3.0.23 */
    {"cuda", {"nvidia-smi", "-q", "-x"}, NULL, false},
    {"hip", {"rocm-smi", "-a", "--json"}, NULL, false},
    {"hip", {"amd-smi", "static", "--json"}, NULL, false},
};

static bool is_wanted(const struct dump_tool *tool, const json_t *specs)
{
    size_t length = tool->backend ? strlen(tool->backend) : 0;

    if (!tool->backend)
        return true;
    EACH(spec, specs) {
        const char *text = json_string_value(spec);

        if (text && !strncmp(text, tool->backend, length) && text[length] == ':')
            return true;
    }
    return false;
}

/* As it was written, but for bytes that are not UTF-8 and controls other than line ends and tabs.
 */
static char *clean(const char *raw)
{
    size_t length = strlen(raw);
    struct text text;

    if (text_is_utf8(raw, length))
        return strdup(raw);
    text_init(&text);
    for (size_t at = 0; at < length;) {
        size_t line = strcspn(raw + at, "\n\t\r");

        text_append_printable(&text, raw + at, line);
        at += line;
        if (at < length)
            text_append_char(&text, raw[at++]);
    }
    return text_steal(&text);
}

static int64_t timeout_ns(void)
{
    const char *text = getenv("ASSAY_TOOL_TIMEOUT");
    int64_t ns = TIMEOUT_NS;

    if (text)
        text_parse_duration_ns(text, &ns);
    return ns;
}

/* Runs the tool; the result is put into `ret`, whose output is heap. */
static enum status ask(const struct dump_tool *tool, struct store_dump *ret, struct error *reason)
{
    const struct process_call call = {.argv = (char *const *)tool->words,
                                      .settings = process_plain,
                                      .error_fd = -1,
                                      .wake_fd = -1,
                                      .timeout_ns = timeout_ns(),
                                      .max_output = OUTPUT_MAX + 1};
    struct process_exit exit = {0};
    AUTO_FREE char *raw = NULL;
    enum status status = STATUS_OK;

    if (tool->needs && access(tool->needs, R_OK) < 0)
        return errno == EACCES
                   ? error_set(reason, STATUS_DENIED, "%s may be read by root alone", tool->needs)
                   : error_set(reason, STATUS_UNAVAILABLE, "there is no %s here", tool->needs);
    TRY(process_call(&call, &raw, NULL, &exit, reason));
    ret->exit_code = exit.code;
    if (raw[0]) {
        bool cut = strlen(raw) > OUTPUT_MAX;

        raw[cut ? OUTPUT_MAX : strlen(raw)] = '\0';
        ret->output = clean(raw);
        if (!ret->output)
            status = error_no_memory(reason);
        else if (cut)
            status = error_set(reason, STATUS_NO_SPACE,
                               "it wrote more than %zu MiB; the rest is cut", OUTPUT_MAX >> 20);
    }
    if (status == STATUS_OK && exit.code != 0)
        status = error_set(reason, STATUS_UNAVAILABLE, "%s ended with exit status %d",
                           tool->words[0], exit.code);
    else if (status == STATUS_OK && !ret->output)
        status = error_set(reason, STATUS_UNAVAILABLE, "%s wrote nothing", tool->words[0]);
    return status;
}

static char *join(const char *const *words)
{
    struct text text;

    text_init(&text);
    for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
        text_append_format(&text, "%s%s", i > 0 ? " " : "", words[i]);
    return text_steal(&text);
}

static enum status take(struct store *store, int64_t campaign, const struct dump_tool *tool,
                        bool *ret_settled, struct error *err)
{
    struct store_dump dump = {.tool = tool->words[0], .utc_ns = clock_utc_ns(), .exit_code = -1};
    struct error reason = ERROR_INIT;
    char *command = join(tool->words);
    enum status status, outcome = STATUS_OK;

    /* The tools would report this machine, not the recorded one. */
    if (machine_root()[0])
        outcome =
            error_set(&reason, STATUS_UNAVAILABLE, "a recorded machine's tools cannot be run");
    else
        outcome = ask(tool, &dump, &reason);
    dump.command = command;
    dump.status = status_name(outcome);
    dump.message = outcome == STATUS_OK ? NULL : reason.message;
    status = !command || outcome == STATUS_NO_MEMORY ? error_no_memory(err)
                                                     : store_add_dump(store, campaign, &dump, err);
    /* A tool that is missing has no older form, either. */
    *ret_settled = outcome == STATUS_OK || dump.exit_code < 0;
    free(command);
    free(dump.output);
    return status;
}

enum status dumps_take(struct store *store, int64_t campaign, const json_t *specs,
                       struct error *err)
{
    bool settled = false;

    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        if (!is_wanted(&tools[i], specs) || (tools[i].is_fallback && settled))
            continue;
        TRY(take(store, campaign, &tools[i], &settled, err));
    }
    return STATUS_OK;
}
