/*
 * queues - simulated servers whose waiting times are known: M/M/1, M/D/1 and M/G/1 (by
 * Pollaczek-Khinchine), M/M/c (by Erlang C), and a server that takes all that wait, up to a limit,
 * as one batch of a + c b (by the stationary solution of its embedded chain).
 *
 * Each has a capacity of 1000 requests/s, so that the load is rate / 1000.
 */
#ifndef ASSAY_TESTS_CALIBRATION_QUEUES_H
#define ASSAY_TESTS_CALIBRATION_QUEUES_H

#include "protocols/serving/analysis.h"

#define QUEUE_CAPACITY 1000.0

enum queue_kind { QUEUE_MM1, QUEUE_MD1, QUEUE_MG1, QUEUE_MMC, QUEUE_BULK, QUEUE_KIND_COUNT };

const char *queue_name(enum queue_kind kind);

/* What the planner is told of it. */
struct serving_subject queue_subject(enum queue_kind kind);

/* A change of the server in the course of a trial. */
struct queue_fault {
    double slower; /* from half of the requests on, services take 1 + slower times as long */
    double stall;  /* the server stops for good after this share of the window; 0: never */
    double lag_s, lag_share; /* so many requests are sent so late, one after the other */
    double longer;           /* all services take 1 + longer times as long */
};

/*
 * Serves `schedule` into `requests` (as many), with service times under `seed`. Only scheduled,
 * sent and done are set. Requests not over at `until_ns` are unfinished.
 */
void queue_serve(enum queue_kind kind, const struct schedule *schedule,
                 const struct queue_fault *fault, uint64_t seed, int64_t until_ns,
                 struct request *requests);

/* The time in seconds that a share of `tail` of the requests exceeds at `load`, from its theory. */
double queue_level(enum queue_kind kind, double load, double tail);

/* The share that exceeds `seconds` at `load`. */
double queue_tail(enum queue_kind kind, double load, double seconds);

#endif
