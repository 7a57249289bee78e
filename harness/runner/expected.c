#include "harness/runner/expected.h"

#include <stdlib.h>

#include "protocols/protocol.h"

/* Newest trials that the median is taken of. */
#define TRIALS_MAX 25

static int by_value(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

enum status expected_trial_of(struct store *store, const json_t *message,
                              struct expected_trial *ret, struct error *err)
{
    int64_t durations[TRIALS_MAX];
    struct expected_trial trial;
    struct protocol protocol;
    size_t count = 0;
    enum status status = protocol_from_json(json_object_get(message, "protocol"), &protocol, err);

    if (status != STATUS_OK)
        return status;
    if (store)
        status = store_trial_durations(store, message, durations, TRIALS_MAX, &count, err);
    trial.least_ns = protocol.warmup_ns + protocol.window_ns + protocol.throttle_cooldown_ns;
    trial.window_max_ns = protocol.window_max_ns;
    trial.known = count > 0;
    trial.ns = trial.least_ns;
    if (count > 0) {
        qsort(durations, count, sizeof(*durations), by_value);
        trial.ns = durations[count / 2] + protocol.throttle_cooldown_ns;
    }
    protocol_finish(&protocol);
    if (status == STATUS_OK)
        *ret = trial;
    return status;
}

void expected_add(struct expected *expected, const struct expected_trial *trial, size_t trials)
{
    if (trials == 0)
        return;
    expected->cells++;
    expected->trials += trials;
    expected->known += trial->known;
    expected->ns += (int64_t)trials * trial->ns;
    expected->least_ns += (int64_t)trials * trial->least_ns;
    if (!trial->known && trial->window_max_ns > expected->window_max_ns)
        expected->window_max_ns = trial->window_max_ns;
}

void expected_add_before(struct expected *expected, int64_t ns)
{
    expected->ns += ns;
    expected->least_ns += ns;
}

void expected_append(struct text *out, const struct expected *expected)
{
    char time[TEXT_HUMAN_SIZE], most[TEXT_HUMAN_SIZE];

    text_human_duration((double)expected->ns, time);
    text_append_format(out, "%zu cell%s, %zu trial%s: ", expected->cells,
                       expected->cells == 1 ? "" : "s", expected->trials,
                       expected->trials == 1 ? "" : "s");
    if (expected->known == expected->cells) {
        text_append_format(out, "about %s, as stored trials of %s took", time,
                           expected->cells == 1 ? "this cell" : "these cells");
        return;
    }
    text_append_format(out, "at least %s", time);
    if (expected->known > 0)
        text_append_format(out, ", %zu cell%s as stored trials of %s took, the others",
                           expected->known, expected->known == 1 ? "" : "s",
                           expected->known == 1 ? "it" : "them");
    text_append_format(out,
                       " by warmup, window and pause alone: starting, compiling and checking come "
                       "on top, and where samples are slow a window may last up to %s",
                       text_human_duration((double)expected->window_max_ns, most));
}

json_t *expected_json(const struct expected *expected)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:o}", "cells", (json_int_t)expected->cells, "trials",
                     (json_int_t)expected->trials, "cells_known", (json_int_t)expected->known,
                     "least_ns", (json_int_t)expected->least_ns, "expected_ns",
                     expected->known == expected->cells ? json_integer(expected->ns) : json_null());
}
