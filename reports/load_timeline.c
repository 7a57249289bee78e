#include "reports/load_timeline.h"

#include <math.h>
#include <stdio.h>

#include "harness/core/number.h"

#define BESIDE 37 /* columns of a line of blocks for what stands before and after them */

/* A request is over when its last output was there, or when it failed. */
static int64_t end_of(const struct request *request)
{
    return request->done_ns != REQUEST_NEVER ? request->done_ns : request->scheduled_ns;
}

static void add_time(struct load_timeline *load_timeline, double part_ns, double from, double to)
{
    for (size_t i = (size_t)fmax(from / part_ns, 0); i < load_timeline->count; i++) {
        const double begin = fmax(from, (double)i * part_ns);
        const double end = fmin(to, (double)(i + 1) * part_ns);

        if (end <= begin)
            return;
        load_timeline->backlog[i] += (end - begin) / part_ns;
    }
}

void load_timeline_make(const struct request *requests, size_t count, size_t parts,
                        struct load_timeline *ret)
{
    int64_t last = 0;
    double part_ns;

    *ret = (struct load_timeline){.count = parts};
    for (size_t i = 0; i < count; i++)
        last = end_of(&requests[i]) > last ? end_of(&requests[i]) : last;
    for (size_t i = 0; i < parts; i++)
        ret->latency_ns[i] = NAN;
    if (last == 0)
        return;
    ret->length_s = (double)last * 1e-9;
    part_ns = (double)last / (double)parts;
    for (size_t i = 0; i < count; i++) {
        const struct request *r = &requests[i];
        const double at = (double)r->scheduled_ns;
        size_t part = (size_t)(at / part_ns);

        if (r->status == REQUEST_REFUSED)
            continue;
        add_time(ret, part_ns, at, r->done_ns != REQUEST_NEVER ? (double)r->done_ns : (double)last);
        part = part < parts ? part : parts - 1;
        if (r->status == REQUEST_OK)
            ret->latency_ns[part] = fmax(ret->latency_ns[part], (double)r->done_ns - at);
    }
}

double load_timeline_most(const double *values, size_t count)
{
    double most = 0;

    for (size_t i = 0; i < count; i++)
        most = fmax(most, values[i]);
    return most;
}

/*
 * A line of blocks, from ▁ (up to an eighth of the most) to █. Of all parts in one the
 * largest is shown, so that no spike is lost; a blank where there is none.
 */
static void say_spark(struct doc *doc, const char *label, const double *values, size_t count,
                      const char *most_words)
{
    static const char *const levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const size_t room = (doc->screen ? doc->screen : 80) - BESIDE;
    const size_t blocks = count < room ? count : room;
    const double most = load_timeline_most(values, count);

    doc_add(doc, "%-11s", label);
    for (size_t b = 0; b < blocks; b++) {
        double level = NAN;

        for (size_t i = b * count / blocks; i < (b + 1) * count / blocks; i++)
            level = fmax(level, ceil(8 * values[i] / most) - 1);
        doc_add(doc, "%s", isnan(level) ? " " : levels[(size_t)fmin(fmax(level, 0), 7)]);
    }
    doc_say(doc, NULL, "  up to %s", most_words);
}

void load_timeline_document(struct doc *doc, const struct load_timeline *load_timeline)
{
    char human[TEXT_HUMAN_SIZE], most[NUMBER_SIZE + 16];

    if (!load_timeline || !(load_timeline->length_s > 0))
        return;
    doc_heading(doc, 4, NULL, "Over trial %lld, %s", (long long)load_timeline->trial,
                text_human_duration(1e9 * load_timeline->length_s, human));
    doc_open(doc, DOC_DETAILS, NULL);
    snprintf(most, sizeof(most), "%.3g requests",
             load_timeline_most(load_timeline->backlog, load_timeline->count));
    say_spark(doc, "backlog", load_timeline->backlog, load_timeline->count, most);
    say_spark(doc, "longest", load_timeline->latency_ns, load_timeline->count,
              text_human_duration(
                  load_timeline_most(load_timeline->latency_ns, load_timeline->count), human));
    doc_close(doc);
}
