/*
 * load_timeline - how a trial under load went: requests in the system and their latencies over
 * time, in equal parts of the time from the first request to the last that is over.
 */
#ifndef ASSAY_REPORTS_LOAD_TIMELINE_H
#define ASSAY_REPORTS_LOAD_TIMELINE_H

#include "protocols/serving/request.h"
#include "reports/doc.h"

#define COURSE_PARTS 240

struct load_timeline {
    int64_t trial;   /* number of the trial */
    double length_s; /* of all parts; 0: no request was ever over, and there is nothing to show */
    size_t count;    /* parts */
    /* Mean number of requests that were scheduled and not over; NAN: none. Refused ones were never
     * in. */
    double backlog[COURSE_PARTS];
    /* The longest time, in ns, of the requests scheduled in the part that ended well; NAN: none. */
    double latency_ns[COURSE_PARTS];
};

/* `parts` from 1 to COURSE_PARTS. Those that were not over by then are in the system to the end. */
void load_timeline_make(const struct request *requests, size_t count, size_t parts,
                        struct load_timeline *ret);

/* The largest value; 0: there is none. */
double load_timeline_most(const double *values, size_t count);

/* Backlog and latency of a trial over its time, a line of blocks each; NULL: nothing. */
void load_timeline_document(struct doc *doc, const struct load_timeline *load_timeline);

#endif
