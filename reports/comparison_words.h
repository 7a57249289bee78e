/*
 * comparison_words - a comparison in words, the same for terminal, Markdown, page and dossier.
 * Phrases (doc.h), of two results compared now or of what is recorded of them.
 */
#ifndef ASSAY_REPORTS_COMPARISON_WORDS_H
#define ASSAY_REPORTS_COMPARISON_WORDS_H

#include "reports/doc.h"
#include "results/analysis/stored_comparison.h"

/*
 * What a record of a comparison (stored_comparison_json, gate_json or reproduction_json, of any
 * version) says: ids, judgement, figure, numbers or change, why there are none. What it lacks is as
 * in a struct of zeros, numbers NaN. It borrows from `body`; nothing is to be freed.
 */
struct stored_comparison comparison_from_record(const json_t *body);

/* "0.8601 [0.6512, 1.140]", "0.8601 without an interval", "unknown". */
void comparison_range_words(struct text *out, const struct estimate_interval *ratio);
/* "0.8601, 95 % interval 0.6512 to 1.140, 5 pairs"; a ratio of times. */
void comparison_ratio_words(struct text *out, const struct comparison *numbers);
/* "0.012": p of a family where it was judged in one, and `alone` asks for the other. */
void comparison_p_words(struct text *out, const struct comparison *numbers, bool alone);
/* "p 0.012 (alone slower, p 0.004)" of one that was judged in a family. */
void comparison_family_words(struct text *out, const struct comparison *numbers);
/* "attainment 98.2 % -> 97.1 %, b - a -1.1 points, 95 % interval -1.9 to -0.3", of servers. */
void comparison_change_words(struct text *out, const struct stored_comparison *comparison);
/* "98.2 %", "93 /s", "at least 80 /s". */
void comparison_served_words(struct text *out, enum compare_figure figure,
                             const struct served_figure *served);
/* What a row of a table says: the ratio with its interval, the change, or why there is neither. */
void comparison_number_words(struct text *out, const struct stored_comparison *comparison);
/*
 * The answer in a sentence without its full stop: "b is 1.8 times faster than a (45 % less time)".
 * `b` and `a` are the phrases for both. First the conditions that could turn it: "Under contention,
 * which can turn it: ".
 */
void comparison_answer_words(struct text *out, const struct stored_comparison *comparison,
                             const char *b, const char *a);
/*
 * "driver (3.1 -> 6.0), libc and 3 more": factors, reasons or fields of a judgement, `most` of them
 * by name.
 */
void comparison_names_words(struct text *out, const json_t *list, size_t most);

/*
 * " under contention by other processes in ab12cd34/1, under a CPU quota in ab12cd34/2": what keeps
 * a gate or a contract undecided, of an array of {result, conditions}; nothing where it is empty.
 */
void comparison_undecided_words(struct text *out, const json_t *undecided_by);

/* A line: what to do where conditions could turn the verdict; nothing where there are none. */
void comparison_conditions_remedy(struct doc *doc, const struct stored_comparison *comparison);

/*
 * What the order of measuring did to the numbers, and up to which correlation between neighbours
 * the verdict stands, as clauses with "; " between them; nothing where there is nothing to say.
 */
void comparison_order_words(struct text *out, const struct comparison *numbers);

/* Lines: what a ratio of times rests on, and what limits it. */
void comparison_basis(struct doc *doc, const struct comparison *numbers);

#endif
