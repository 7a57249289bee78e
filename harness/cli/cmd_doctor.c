#include <stdio.h>
#include <string.h>

#include "harness/cli/commands.h"
#include "harness/cli/output.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/runner/doctor.h"
#include "harness/runner/progress.h"
#include "reports/doctor_document.h"

enum { KEY_JITTER = 0x100 };

#define SECOND_NS ((int64_t)1000000000)
#define JITTER_NS (10 * SECOND_NS)
#define LOOK_NS SECOND_NS
#define JITTER_MAX_NS (600 * SECOND_NS)

/* In seconds of the test for jitter. */
static bool show_progress(void *context, int64_t done_ns)
{
    struct progress *progress = context;

    progress->done = (size_t)(done_ns / SECOND_NS);
    if (progress->done >= progress->total)
        progress_finish(progress);
    else if (!progress->label[0])
        progress_set(progress, "watching what is taken from a thread");
    else
        progress_tick(progress);
    return true;
}

static void say_report(struct doc *doc, const json_t *report)
{
    const size_t count = member_size(report, "findings");

    if (count == 0)
        doc_say(doc, NULL, "Nothing was found that would invalidate evidence.");
    else
        doc_say(doc, NULL, "%zu finding%s; the worst: %s", count, count == 1 ? "" : "s",
                member_text(report, "worst"));
    doctor_document(doc, report);
    doc_say(doc, NULL,
            "critical: numbers taken like this say little of the device; warning: wider intervals, "
            "or a level that moves; info: no change needed.");
}

static int run(const struct command_line *line)
{
    struct doctor_options options = {
        .device = command_value(line, KEY_DEVICE), .jitter_ns = JITTER_NS, .look_ns = LOOK_NS};
    const char *jitter = command_value(line, KEY_JITTER);
    struct progress progress;
    struct error err = ERROR_INIT;
    json_auto_t *report = NULL;
    enum status status;

    if (jitter && (!text_parse_duration_ns(jitter, &options.jitter_ns) || options.jitter_ns < 0 ||
                   options.jitter_ns > JITTER_MAX_NS)) {
        log_error("--jitter %s: write a duration up to 10min, such as 10s, or 0s for no such test",
                  jitter);
        return ASSAY_EXIT_USAGE;
    }
    if (options.device && !strcmp(options.device, "none"))
        options.device = "";
    progress_init(&progress, (size_t)(options.jitter_ns / SECOND_NS), command_has(line, KEY_QUIET));
    if (options.jitter_ns > 0) {
        options.tick = show_progress;
        options.context = &progress;
    }
    status = doctor_examine(&options, &report, &err);
    progress_finish(&progress);
    if (status != STATUS_OK)
        return command_fail(&err);
    return output_shown(line, report, say_report);
}

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "DEVICE", OPTION_REPEATS,
     "look at these devices: cuda:0, cuda, or the start of a UUID; none: at the host alone "
     "(default: every usable device)"},
    {"jitter", KEY_JITTER, "TIME", 0,
     "length of the test for jitter and steal time, which keeps one processor busy (default: 10s; "
     "0s: no test)"},
    {0}};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "Say what on this machine would invalidate evidence, and what to do about it",
    .text = "Checks clocks, other processes, memory, limits, temperature, time and devices, and "
            "for ten seconds how much time is taken from a thread that only reads the clock. What "
            "cannot be read on this machine is listed as not known; that is no finding.\n"
            "\n"
            "  assay doctor\n"
            "  assay doctor --device cuda:0 --jitter 60s\n"
            "  assay doctor --json --jitter 0s",
    .options = options,
    .groups = GROUP_JSON | GROUP_MARKDOWN | GROUP_STACK | GROUP_QUIET,
    .run = run,
};
