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

/*
 * Of a ratio of times b/a: "2.9 times faster [2.7, 3.1]", "4.1 % slower [3.1, 4.9]", "2 % faster [1
 * % slower, 5 % faster]", "unknown". From 1.5 on a multiple, else percent; 25 % faster is 1.25
 * times as much in the same time, 25 % slower 1.25 times the time.
 */
void comparison_speed_words(struct text *out, const struct estimate_interval *ratio,
                            bool with_interval);
/*
 * "0.8601, 95 % interval 0.6512 to 1.140, 5 pairs of 6 planned, ..."; a ratio of times. `planned`:
 * pairs, 0: not known.
 */
void comparison_ratio_words(struct text *out, const struct comparison *numbers, size_t planned);
/* "0.012": p of a family where it was judged in one, and `alone` asks for the other. */
void comparison_p_words(struct text *out, const struct comparison *numbers, bool alone);
/* "judged in a family of 3: inconclusive, p 0.012 (alone slower, p 0.004)", of one that was. */
void comparison_family_words(struct text *out, const struct comparison *numbers);
/* "attainment 98.2 % -> 97.1 %, b - a -1.1 points, 95 % interval -1.9 to -0.3", of servers. */
void comparison_change_words(struct text *out, const struct stored_comparison *comparison);
/* "98.2 %", "93 /s", "at least 80 /s". */
void comparison_served_words(struct text *out, enum compare_figure figure,
                             const struct served_figure *served);
/* What a row of a table says: the ratio with its interval, the change, or why there is neither. */
void comparison_number_words(struct text *out, const struct stored_comparison *comparison);
/*
 * The answer in a sentence without its full stop: "b is 1.8 times faster than a [1.6, 2.1]".
 * `b` and `a` are the phrases for both.
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

/*
 * What the order of measuring did to the numbers, and up to which correlation between neighbours
 * the verdict stands, as clauses with "; " between them; nothing where there is nothing to say.
 */
void comparison_order_words(struct text *out, const struct comparison *numbers);

/*
 * One of the sentences in which an answer is asked for or given, with the margin (NAN: not known)
 * in the place of its %s, where it has one.
 */
void comparison_margin_words(struct text *out, const char *sentence, double margin);
/*
 * "passes when faster, or equivalent within 1 %; ...": the rule of a kind of record ("gate", "ab",
 * "compare", "reproduce"), or of servers "attainment", "capacity", and "attainment again" of a
 * reproduction. `is_old`: as it was before version 9 of comparisons.
 */
void comparison_rule_words(struct text *out, const char *kind, double margin, bool is_old);

#endif
