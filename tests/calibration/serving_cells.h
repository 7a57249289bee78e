/* serving_cells - simulated trials under load, and what the analysis says of them. */
#ifndef ASSAY_TESTS_CALIBRATION_SERVING_CELLS_H
#define ASSAY_TESTS_CALIBRATION_SERVING_CELLS_H

#include "tests/calibration/measure.h"
#include "tests/calibration/queues.h"

/* The share that may miss, where a cell says nothing else. */
#define CELL_TAIL 0.01

/* One cell: trials of one server at one rate. */
struct cell {
    enum queue_kind kind;
    double load, limit_s;
    double tail;              /* the share that may miss; 0: CELL_TAIL */
    size_t trials, requests;  /* 0: as the plan for the share says, with the warmup */
    struct arrivals arrivals; /* that really come; Poisson is declared, and a trace as it is */
    bool as_declared;         /* those that really come are declared, whatever they are */
    struct queue_fault fault;
    double noise; /* each trial's services take so much longer, with this standard deviation */
    bool common;  /* the same realisations at every load, as a campaign's rates have */
};

extern const struct arrivals cell_poisson;

double cell_tail(const struct cell *c);

struct serving_options cell_options(const struct cell *c);

/* Of a trial by plan, with its warmup; for a capacity that is known to `margin`, or as few as an
 * interval takes (0). */
size_t cell_requests(const struct cell *c, double margin);

struct cell_trials {
    struct serving_trial *trials;
    struct schedule *schedules;
    size_t count;
};

/*
 * Simulates the cell with arrivals under `seed` and services under `services`; ends the program
 * where that fails. cell_trials_finish.
 */
struct cell_trials cell_simulate(const struct cell *c, uint64_t seed, uint64_t services);
void cell_trials_finish(struct cell_trials *trials);

/* What the analysis says of them. */
struct serving_result cell_analyze(const struct cell *c, const struct cell_trials *trials);

/* Of the series of a case, the seed of the i-th. */
uint64_t cell_seed(const struct settings *settings, const struct cell *c, size_t i);

/* Results of `count` cells of one case, kept between runs; free them. */
struct serving_result *cell_results(const struct settings *settings, const struct cell *c,
                                    const char *name, size_t count);

/* Adds a row of `hits` in `trials`. */
void cell_row(struct table *table, const char *what, const char *where, double low, double high,
              size_t series, size_t trials, size_t hits);

/* Adds a row of the mean of `count` values; those that are not finite are left out. */
void cell_row_mean(struct table *table, const char *what, const char *where, double high,
                   const double *values, size_t count);

/* A row for each kind of row since `from`, over all its cases. */
void cell_row_pooled(struct table *table, size_t from);

#endif
