#include "harness/cli/cell_lists.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"

enum status cell_list_full(struct error *err, const char *option)
{
    return error_set(err, STATUS_INVALID, "--%s: at most %d of them", option, CELL_LIST_MAX);
}

enum status cell_list_each(const struct command_line *line, int key,
                           enum status (*take)(void *, const char *, struct error *), void *context,
                           struct error *err)
{
    const char *value;

    for (size_t n = 0; (value = command_value_at(line, key, n)); n++) {
        char *copy = strdup(value), *rest = copy, *word;
        enum status status = copy ? STATUS_OK : error_no_memory(err);

        while (status == STATUS_OK && (word = strsep(&rest, ",")))
            status = take(context, word, err);
        free(copy);
        TRY(status);
    }
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

void cell_lists_apply(const struct cell_lists *lists, struct plan_request *request)
{
    request->precisions = lists->precisions;
    request->precision_count = lists->precision_count;
    request->batches = lists->batches;
    request->batch_count = lists->batch_count;
}
