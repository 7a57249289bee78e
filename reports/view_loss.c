/* What a cell's facts say of its losses. */
#include "reports/view.h"

static const json_t *loss_of(const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const json_t *loss = json_object_get(cell->trials[i].facts, "loss");

        if (cell->trials[i].counted && json_is_number(json_object_get(loss, "first_nats")) &&
            json_is_number(json_object_get(loss, "last_nats")))
            return loss;
    }
    return NULL;
}

bool view_loss_words(const struct view_cell *cell, struct text *ret)
{
    const json_t *loss = loss_of(cell), *fp32 = json_object_get(loss, "fp32");
    const json_t *apart = json_object_get(fp32, "largest_difference_nats");
    const char *missing = json_string_value(json_object_get(fp32, "missing"));

    if (!loss)
        return false;
    text_append_format(ret, "%.4g to %.4g nats in %lld steps",
                       json_number_value(json_object_get(loss, "first_nats")),
                       json_number_value(json_object_get(loss, "last_nats")),
                       (long long)json_integer_value(json_object_get(loss, "steps")));
    if (json_is_number(apart))
        text_append_format(ret,
                           "; at most %.2g nats from fp32 at the same step, over the first %lld",
                           json_number_value(apart),
                           (long long)json_integer_value(json_object_get(fp32, "compared")));
    else if (missing)
        text_append_format(ret, "; fp32 at the same steps is missing: %s", missing);
    else if (fp32)
        text_append(ret, "; not compared with fp32: the steps were not the same");
    return true;
}
