/* cell_lists - the lists of --precision and --batch, which say what cells a plan has. */
#ifndef ASSAY_CLI_CELL_LISTS_H
#define ASSAY_CLI_CELL_LISTS_H

#include "harness/cli/command.h"
#include "harness/core/precision.h"
#include "harness/runner/plan.h"

#define CELL_LIST_MAX 64

struct cell_lists {
    enum precision precisions[CELL_LIST_MAX];
    size_t precision_count;
    int64_t batches[CELL_LIST_MAX];
    size_t batch_count;
};

/* Reads "--precision fp32,bf16 --batch 1,8" by these options' keys. INVALID says what to write. */
enum status cell_lists_read(const struct command_line *line, int precision_key, int batch_key,
                            struct cell_lists *ret, struct error *err);

/* Takes "precision=fp32,bf16" and "batch=1..8x2" as the two options; another setting is not taken.
 */
enum status cell_lists_over(const char *over, struct cell_lists *ret, bool *ret_taken,
                            struct error *err);

/* Lets the request point to them. */
void cell_lists_apply(const struct cell_lists *lists, struct plan_request *request);

/*
 * A list with its ranges written out: "1..64x2" is 1,2,4 ... 64, "2..8+2" is 2,4,6,8 and "1..3" is
 * 1,2,3; words of another form stay. New text. INVALID: a range that goes down, does not move, or
 * has more than CELL_LIST_MAX numbers.
 */
enum status cell_list_ranges(const char *list, char **ret, struct error *err);

/* Calls `take` for each comma-separated word of every --OPTION of this key, ranges
 * written out. */
enum status cell_list_each(const struct command_line *line, int key,
                           enum status (*take)(void *, const char *, struct error *), void *context,
                           struct error *err);

/* INVALID: the option was given more than CELL_LIST_MAX values. */
enum status cell_list_full(struct error *err, const char *option);

#endif
