/*
 * cells - one case of cells with several trials: what they are made of, the engine's outcome of
 * each, and rows of them.
 *
 * A process has a level of its own about the cell's. What an interval between trials is of, and
 * must cover, is the geometric mean over processes (their median, where they are log-normal) of the
 * expected mean of the window, "the level" in the rows.
 */
#ifndef ASSAY_TESTS_CALIBRATION_CELLS_H
#define ASSAY_TESTS_CALIBRATION_CELLS_H

#include "harness/core/random.h"
#include "protocols/estimate.h"
#include "tests/calibration/generator.h"
#include "tests/calibration/measure.h"

#define CELL_PERCENTILES 3
#define CELL_COUNT_MAX 1000
/* Windows of the cells whose spread alone matters; so cheap that more of them are made. */
#define CELL_COUNT_SHORT 15

/* How the log levels of processes are distributed, with the sd `spread`. */
enum cell_levels {
    CELL_LEVELS_NORMAL,
    CELL_LEVELS_TWO,         /* three in ten processes have another one */
    CELL_LEVELS_EXPONENTIAL, /* skewed: most are a little below, few far above */
    CELL_LEVELS_LOGNORMAL,   /* skewed twice: logs that are log-normal with sd 0.7 */
    CELL_LEVELS_RARE         /* one process in ten has another one */
};

/* A log level, of mean 0 and variance 1 (CELL_LEVELS_RARE: 1.01), and that of the process in the
 * middle. */
double cell_process_level(enum cell_levels levels, struct random *random);
double cell_middle_level(enum cell_levels levels);

struct cell {
    struct generator generator;
    size_t trials;
    double spread;      /* sd of the processes' log levels */
    double spread_high; /* > 0: of each cell its own, log-uniform from `spread` to this */
    size_t drifting;    /* so many of the trials drift by 5 % instead */
    bool percentiles;   /* are looked at; the generator is stationary or lognormal */
    enum cell_levels levels;
    bool middle; /* the truth is the process in the middle, not the mean of all */
    /* Of the campaign, from its first trial to its last: */
    double moves;      /* the level grows by this share */
    double neighbours; /* correlation of the processes' levels, which are normal then */
    size_t days;       /* > 0: on which the trials are measured, as many on each */
    double of_day;     /* share of the levels' variance that the trials of a day have in common */
    bool no_times;     /* the engine does not get the times */
    double waves;      /* > 0: a sine of 2 % over a campaign of so many periods, at any phase */
};

struct cell_outcome {
    enum estimate_verdict verdict;
    enum metric_grade grade;
    bool given, covered;
    bool seen;  /* the order of the trials, as a finding */
    double off; /* the value's distance from the level, relative */
    bool percentile_given[CELL_PERCENTILES], percentile_covered[CELL_PERCENTILES];
};

struct cells {
    struct cell cell;
    size_t series;
    struct cell_outcome *outcomes;
};

extern const double cell_quantiles[CELL_PERCENTILES];

/* Runs the case, or loads its stored outcomes. Free the outcomes. */
struct cells cells_run(const struct settings *settings, const struct cell *cell);

struct row cells_row(const struct cells *x, const char *what, double low, double high);

enum cells_counted { CELLS_ALL, CELLS_MARKED };

/* Of the intervals given, or those of cells that are not steady, those that cover. */
void cells_add_coverage(const struct cells *x, const char *what, enum cells_counted counted,
                        double low, struct table *table);

/* Cells of this verdict; with ESTIMATE_VERDICT_COUNT those that are not steady. */
void cells_add_verdict(const struct cells *x, const char *what, enum estimate_verdict verdict,
                       double low, double high, struct table *table);

/* Cells of this grade or a better one whose value is further off than `limit`. */
void cells_add_wrong(const struct cells *x, enum metric_grade grade, double limit, const char *what,
                     double high, struct table *table);

#endif
