/*
 * decision_words - a stored decision (results/analysis/decision.c) in words, the same for terminal
 * and page: phrases (doc.h).
 */
#ifndef ASSAY_REPORTS_DECISION_WORDS_H
#define ASSAY_REPORTS_DECISION_WORDS_H

#include <stdbool.h>

#include <jansson.h>

#include "harness/core/number.h"
#include "harness/core/text.h"
#include "reports/doc.h"

/* "Which of 3 options ...?", where the declaration asks nothing. */
void decision_question_words(struct text *out, const json_t *body);
/* The answer in a sentence. */
void decision_answer_words(struct text *out, const json_t *body);
/* When an option counts as worse, and which options have figures without an interval. */
void decision_sure_words(struct text *out, const json_t *body);
/* What the options that remain cost, and of a single one how much less than the next; false: no
 * option remains, or the decision has no cost. */
bool decision_cost_words(struct text *out, const json_t *body);
#define DECISION_NEAREST 3
/* Of the changes that leave other options: the nearest of a price, of a measured figure, and of a
 * limit or the margin; NULL: there are no more. */
void decision_nearest_changes(const json_t *body, const json_t *ret[DECISION_NEAREST]);
/* "latency p99", "cost per million good tokens". */
void decision_figure_name(struct text *out, const json_t *figure);
/* The unit in which the values of figure `index` of all options read best. */
struct number_unit decision_figure_unit(const json_t *body, size_t index);
/* "0.2800 EUR [0.2652, 0.2977]"; `member`: only that one of the range, without a unit. */
void decision_range_words(struct text *out, const json_t *range, const struct number_unit *unit);
/* "goodput at least 1.4 requests/s"; "the contract tender". */
void decision_requirement_words(struct text *out, const json_t *requirement);
/* "met, by 35 %": the worse bound; of an entry of an option's "requirements". */
void decision_met_words(struct text *out, const json_t *met);
/* "the price of line 3 (power, energy) from 0.3000 to 0.5400 EUR (1.8 times): b is dominated". */
void decision_change_words(struct text *out, const json_t *body, const json_t *change);
/* "81 % of the declared peak of 989 TFLOP/s (source, day)"; `peak`: an entry of peak_shares. */
void decision_peak_words(struct text *out, const json_t *sheet, const json_t *peak);
/* "a, b: line 3: the price is not valid on the day of the figures". */
void decision_note_words(struct text *out, const json_t *body, const json_t *note);

#endif
