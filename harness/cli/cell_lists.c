#include "harness/cli/cell_lists.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

/* Numbers from .. to, each the one before times (x) or plus (+) `by`. */
struct range {
    int64_t from, to;
    char how;
    int64_t by;
};

enum status cell_list_full(struct error *err, const char *option)
{
    return error_set(err, STATUS_INVALID, "--%s: at most %d of them", option, CELL_LIST_MAX);
}

/* Whether a word is FROM..TO, FROM..TOxFACTOR or FROM..TO+STEP. */
static bool read_range(const char *word, struct range *ret)
{
    char end = '\0';
    const int found = sscanf(word, "%" SCNd64 "..%" SCNd64 "%c%" SCNd64 "%c", &ret->from, &ret->to,
                             &ret->how, &ret->by, &end);

    if (found == 2)
        *ret = (struct range){ret->from, ret->to, '+', 1};
    return isdigit((unsigned char)word[0]) &&
           (found == 2 || (found == 4 && (ret->how == 'x' || ret->how == '+')));
}

static enum status append_range(struct text *out, const char *word, const struct range *range,
                                struct error *err)
{
    int64_t value = range->from;
    int count = 0;

    if (range->from < 1 || range->to < range->from || range->to > INT32_MAX ||
        range->by < (range->how == 'x' ? 2 : 1) || range->by > INT32_MAX)
        return error_set(
            err, STATUS_INVALID,
            "\"%s\": write a range that goes up, from 1 or more, such as 1..64x2 (1, 2, "
            "4 ... 64), 2..8+2 (2, 4, 6, 8) or 1..4",
            word);
    for (; value <= range->to && count <= CELL_LIST_MAX;
         value = range->how == 'x' ? value * range->by : value + range->by, count++)
        text_append_format(out, "%s%" PRId64, count ? "," : "", value);
    return count <= CELL_LIST_MAX ? STATUS_OK
                                  : error_set(err, STATUS_INVALID, "\"%s\" is more than %d numbers",
                                              word, CELL_LIST_MAX);
}

enum status cell_list_ranges(const char *list, char **ret, struct error *err)
{
    AUTO_FREE char *copy = strdup(list);
    CLEANUP(text_finish) struct text out = TEXT_INIT;
    char *rest = copy, *word;

    *ret = NULL;
    while ((word = strsep(&rest, ","))) {
        struct range range;

        if (word != copy)
            text_append_char(&out, ',');
        if (read_range(word, &range))
            TRY(append_range(&out, word, &range, err));
        else
            text_append(&out, word);
    }
    if (copy && text_ok(&out))
        *ret = strdup(out.data ? out.data : "");
    return *ret ? STATUS_OK : error_no_memory(err);
}

static enum status each_word(const char *list,
                             enum status (*take)(void *, const char *, struct error *),
                             void *context, struct error *err)
{
    AUTO_FREE char *copy = NULL;
    char *rest, *word;

    TRY(cell_list_ranges(list, &copy, err));
    rest = copy;
    while ((word = strsep(&rest, ",")))
        TRY(take(context, word, err));
    return STATUS_OK;
}

enum status cell_list_each(const struct command_line *line, int key,
                           enum status (*take)(void *, const char *, struct error *), void *context,
                           struct error *err)
{
    const char *value;

    for (size_t n = 0; (value = command_value_at(line, key, n)); n++)
        TRY(each_word(value, take, context, err));
    return STATUS_OK;
}

static enum status take_precision(void *context, const char *word, struct error *err)
{
    static const char *const names[] = {
#define NAME(code, name, storage) name,
        PRECISION_MAP(NAME)
#undef NAME
    };
    struct cell_lists *lists = context;
    const char *nearest;

    if (lists->precision_count == CELL_LIST_MAX)
        return cell_list_full(err, "precision");
    if (precision_from_name(word, &lists->precisions[lists->precision_count])) {
        lists->precision_count++;
        return STATUS_OK;
    }
    nearest = text_nearest(word, names, sizeof(names) / sizeof(names[0]));
    return error_set(
        err, STATUS_INVALID,
        "--precision %s: no such precision%s%s%s; write one of fp64, fp32, tf32, bf16, "
        "fp16, fp8_e4m3, fp8_e5m2, int8, fp4",
        word, nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
}

static enum status take_batch(void *context, const char *word, struct error *err)
{
    struct cell_lists *lists = context;
    int64_t batch;

    if (lists->batch_count == CELL_LIST_MAX)
        return cell_list_full(err, "batch");
    if (!text_parse_i64(word, &batch) || batch < 1)
        return error_set(err, STATUS_INVALID,
                         "--batch %s: write whole numbers from 1, such as --batch 1,8", word);
    lists->batches[lists->batch_count++] = batch;
    return STATUS_OK;
}

enum status cell_lists_read(const struct command_line *line, int precision_key, int batch_key,
                            struct cell_lists *ret, struct error *err)
{
    TRY(cell_list_each(line, precision_key, take_precision, ret, err));
    return cell_list_each(line, batch_key, take_batch, ret, err);
}

enum status cell_lists_over(const char *over, struct cell_lists *ret, bool *ret_taken,
                            struct error *err)
{
    *ret_taken = true;
    if (!strncmp(over, "precision=", 10))
        return each_word(over + 10, take_precision, ret, err);
    if (!strncmp(over, "batch=", 6))
        return each_word(over + 6, take_batch, ret, err);
    *ret_taken = false;
    return STATUS_OK;
}

void cell_lists_apply(const struct cell_lists *lists, struct plan_request *request)
{
    request->precisions = lists->precisions;
    request->precision_count = lists->precision_count;
    request->batches = lists->batches;
    request->batch_count = lists->batch_count;
}
