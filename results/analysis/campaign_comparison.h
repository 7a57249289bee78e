/*
 * campaign_comparison - several comparisons judged as one family: of the results of two campaigns,
 * cell by cell, or of the arms of one campaign of `assay ab`.
 *
 * Cells of two campaigns match where workload, precision, batch, scenario, implementation, arm and
 * protocol are the same, and the device too where a campaign has several. The verdicts hold
 * together: the chance of any false difference among them is at most 1 - confidence
 * (comparison_family). All that match, or that the plan of the arms declares, are the family: those
 * without numbers, such as cells that have not run yet, count in it with p = 1. So do, beside
 * servers, which compare by attainment, those that compare by time, and the other way round. Where
 * attainment or capacity is asked for, only the servers are the family, of a capacity one
 * comparison for all rates of a server.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_CAMPAIGN_COMPARISON_H
#define ASSAY_RESULTS_ANALYSIS_CAMPAIGN_COMPARISON_H

#include <stdbool.h>

#include <jansson.h>

#include "results/analysis/gate.h"
#include "results/analysis/stored_comparison.h"

struct campaign_comparison {
    char a[16], b[16]; /* ids of the campaigns; b "": the arms of a */
    size_t count;
    struct stored_comparison *list; /* heap; in the order of a's cells */
    char **names;                   /* heap; "triad fp32 batch 1", printable */
    json_t *only[2];                /* ids of the results that the other campaign has no match of */
    struct compare_options options;
    bool is_single; /* of two results, or the only one of a campaign: no family */
};

/*
 * `b` NULL: the arms of `a`. INVALID where no cell of the two matches, or `a` has no arms. Finish
 * with campaign_comparison_finish.
 */
enum status campaign_comparison_make(struct store *store, const char *a, const char *b,
                                     const struct compare_options *options,
                                     struct campaign_comparison *ret, struct error *err);

/*
 * What the words name: such a family, where `a` and `b` are campaigns of which one at least has
 * several cells, or, `b` NULL, `a` is one of several arms; else a single comparison, as
 * stored_comparison_make has it, whose `a` and `b` are results. Finish likewise.
 */
enum status campaign_comparison_of(struct store *store, const char *a, const char *b,
                                   const struct compare_options *options,
                                   struct campaign_comparison *ret, struct error *err);

/* Frees what the comparison holds. */
void campaign_comparison_finish(struct campaign_comparison *comparison);

/* Lets a gate pass on what a foreign worker measured. */
void campaign_comparison_allow_foreign_worker(struct campaign_comparison *comparison);

/* Lets a gate decide under these conditions, codes of protocols/condition.h. */
void campaign_comparison_allow_under(struct campaign_comparison *comparison, json_t *conditions);

/* The figure by which all compare; COMPARE_FIGURE_COUNT: not all by the same. */
enum compare_figure campaign_comparison_figure(const struct campaign_comparison *comparison);

/*
 * Worse where a cell is slower beyond the margin at an error rate for all of them (Holm); passes
 * where each cell passes by itself, since they must all (an intersection-union test, Berger,
 * Technometrics 24 (1982), needs no adjustment); not comparable where a cell is that, and refused
 * where a foreign worker measured one.
 */
enum gate_decision campaign_comparison_decide(const struct campaign_comparison *comparison);

/* The bodies of all, as gates or not: a new array. */
json_t *campaign_comparison_bodies(const struct campaign_comparison *comparison, bool gated);

/*
 * New object: {a, b, family, comparisons, only_in_a, only_in_b} or, of arms, {campaign, family,
 * comparisons}; with `gated` each with its own decision, and {decision} of all. NULL: out of
 * memory.
 */
json_t *campaign_comparison_json(const struct campaign_comparison *comparison, bool gated);

/*
 * The comparison, in `ret_one`, that a stored body is of: of the two results that it names, of the
 * two arms of the campaign of both (`paired`), or one of its family; with the margin and figure
 * that the body has. CORRUPT: it names none; UNSUPPORTED: the figure is not known. Finish `ret`, of
 * zeros before, in each case.
 */
enum status campaign_comparison_again(struct store *store, const json_t *body, bool paired,
                                      struct campaign_comparison *ret,
                                      const struct stored_comparison **ret_one, struct error *err);

/* Records every comparison (judgement.h), of results or of arms, or what a gate decides of each. */
enum status campaign_comparison_record(struct store *store,
                                       const struct campaign_comparison *comparison, bool gated,
                                       struct error *err);

#endif
