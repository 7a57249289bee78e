#include "reports/load_timeline.h"

#include <math.h>

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

void load_timeline_sparkline(struct text *out, const double *values, size_t count, double most)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

    for (size_t i = 0; i < count; i++) {
        const double level = ceil(8 * values[i] / most) - 1;

        text_append(out, isnan(level) ? " " : blocks[(size_t)fmin(fmax(level, 0), 7)]);
    }
}
