#include "results/evidence/witnessing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/clock.h"

#define SECOND_NS INT64_C(1000000000)

/* ---- authors ---- */

bool verify_asks_for_authors(const struct verify_options *options)
{
    bool asks = options && options->key_count > 0;

    for (size_t i = 0; options && options->roster && i < options->roster->count; i++)
        asks |= !options->roster->keys[i].is_witness;
    return asks;
}

const struct key_public *verify_author(const struct verify_options *options, size_t i,
                                       int64_t utc_ns)
{
    char why[80];

    for (size_t k = 0; options && k < options->key_count; k++) {
        const struct roster_key *known = roster_find(options->roster, options->keys[k].bytes);

        if ((!known || roster_counts(known, utc_ns, why, sizeof(why))) && i-- == 0)
            return &options->keys[k];
    }
    for (size_t k = 0; options && options->roster && k < options->roster->count; k++) {
        const struct roster_key *key = &options->roster->keys[k];

        if (!key->is_witness && roster_counts(key, utc_ns, why, sizeof(why)) && i-- == 0)
            return &key->key;
    }
    return NULL;
}

/* ---- witnesses ---- */

static void format_seconds(int64_t seconds, char ret[CLOCK_ISO_SIZE])
{
    clock_format_iso(seconds * SECOND_NS, ret);
    memcpy(ret + 19, "Z", 2); /* a cosignature has whole seconds */
}

/* A witness counts once, by its name. */
static struct witnessed *find(struct witnessing *witnessing, const struct roster_key *who)
{
    for (size_t i = 0; i < witnessing->count; i++)
        if (!strcmp(witnessing->by[i].who->key.name, who->key.name))
            return &witnessing->by[i];
    return NULL;
}

void witnessing_add(struct witnessing *witnessing, const struct roster_key *who,
                    const struct sighting *plan)
{
    struct witnessed *by;
    char why[80];

    if (!who || !who->is_witness) {
        witnessing->foreign++;
        return;
    }
    if (!roster_counts(who, plan->seconds * SECOND_NS, why, sizeof(why))) {
        snprintf(witnessing->refused, sizeof(witnessing->refused), "the key of %s %s",
                 who->key.name, why);
        return;
    }
    by = find(witnessing, who);
    if (!by && witnessing->count < WITNESSING_MAX)
        witnessing->by[witnessing->count++] = (struct witnessed){who, *plan, {0}};
    else if (by && plan->seconds < by->plan.seconds)
        *by = (struct witnessed){who, *plan, {0}};
}

void witnessing_add_end(struct witnessing *witnessing, const struct roster_key *who,
                        const struct sighting *end)
{
    struct witnessed *by = who ? find(witnessing, who) : NULL;
    char why[80];

    if (by && roster_counts(who, end->seconds * SECOND_NS, why, sizeof(why)) &&
        (end->head_ns > by->end.head_ns ||
         (end->head_ns == by->end.head_ns && end->seconds < by->end.seconds)))
        by->end = *end;
}

/* ---- elapsed time ---- */

/* Both heads were cosigned, and when the file had the cosignatures is known. */
static bool has_elapsed(const struct witnessed *by)
{
    return by->end.seconds > 0 && by->plan.head_ns > 0 && by->plan.stored_ns > 0 &&
           by->end.head_ns > 0 && by->end.stored_ns > 0;
}

/* The least and most that passed between both cosignatures, by the file's clock. */
static int64_t elapsed_least(const struct witnessed *by)
{
    return has_elapsed(by) ? by->end.head_ns - by->plan.stored_ns : 0;
}

static int64_t elapsed_most(const struct witnessed *by)
{
    return has_elapsed(by) ? by->end.stored_ns - by->plan.head_ns : 0;
}

bool witnessing_contradicts(const struct witnessing *witnessing, size_t i, struct text *out)
{
    const struct witnessed *by = &witnessing->by[i];
    const int64_t seconds = by->end.seconds - by->plan.seconds;
    const double elapsed = 1e9 * (double)seconds;
    const double apart = (seconds > 0 ? elapsed / 100 : 0) + 2e9;
    /* Trials after that head are none of it. */
    const int64_t trials = by->end.head_ns == witnessing->last_end_ns ? witnessing->trials_ns : 0;

    if (!has_elapsed(by) ||
        (elapsed >= (double)elapsed_least(by) - apart &&
         elapsed <= (double)elapsed_most(by) + apart && elapsed >= (double)trials - apart))
        return false;
    text_append_format(out, "%" PRId64 " s by the clock of %s, %.3f to %.3f s by the file's",
                       seconds, by->who->key.name, (double)elapsed_least(by) / 1e9,
                       (double)elapsed_most(by) / 1e9);
    if (trials > 0)
        text_append_format(out, ", and the trials took %.3f s by CLOCK_MONOTONIC",
                           (double)trials / 1e9);
    return true;
}

/* A cosignature's time is cut to whole seconds, so it can be up to one later than it says. */
static bool is_in_time(const struct witnessing *witnessing, size_t i)
{
    return witnessing->by[i].plan.seconds < witnessing->first_trial_ns / SECOND_NS;
}

static json_t *number_or_null(bool known, int64_t value)
{
    return known ? json_integer((json_int_t)value) : json_null();
}

static json_t *witness_json(const struct witnessing *witnessing, size_t i)
{
    const struct witnessed *by = &witnessing->by[i];
    const bool elapsed = has_elapsed(by);
    char id[9];

    snprintf(id, sizeof(id), "%08x", key_id(&by->who->key));
    return json_pack("{s:s, s:s, s:I, s:b, s:o, s:o, s:o}", "name", by->who->key.name, "id", id,
                     "utc_ns", (json_int_t)(by->plan.seconds * SECOND_NS), "before_first_trial",
                     is_in_time(witnessing, i), "end_utc_ns",
                     number_or_null(by->end.seconds > 0, by->end.seconds * SECOND_NS),
                     "elapsed_least_ns", number_or_null(elapsed, elapsed_least(by)),
                     "elapsed_most_ns", number_or_null(elapsed, elapsed_most(by)));
}

static void hand_over(const struct witnessing *witnessing, const struct verify_options *options,
                      const char *uid, size_t in_time)
{
    const int64_t wanted = options->witnesses > 0 ? options->witnesses : 1;
    json_t *list = json_array(), *json;

    for (size_t i = 0; i < witnessing->count; i++)
        json_array_append_new(list, witness_json(witnessing, i));
    json = json_pack(
        "{s:s, s:b, s:o, s:I, s:o}", "campaign", uid, "witnessed_before_first_trial",
        (int64_t)in_time >= wanted, "witnesses", list, "unknown_cosignatures",
        (json_int_t)witnessing->foreign, "first_trial_utc_ns",
        number_or_null(witnessing->first_trial_ns != INT64_MAX, witnessing->first_trial_ns));
    options->campaign(options->context, json);
    json_decref(json);
}

static void append_witnesses(struct text *out, const struct witnessing *witnessing, bool in_time)
{
    const char *before = "by ";

    for (size_t i = 0; i < witnessing->count; i++) {
        char time[CLOCK_ISO_SIZE];

        if (is_in_time(witnessing, i) != in_time)
            continue;
        format_seconds(witnessing->by[i].plan.seconds, time);
        text_append_format(out, "%s%s at %s", before, witnessing->by[i].who->key.name, time);
        before = ", ";
    }
}

/* Who saw the end, and how long that was after the plan. */
static void append_ends(struct text *out, const struct witnessing *witnessing)
{
    const char *before = "; its end was witnessed ";

    for (size_t i = 0; i < witnessing->count; i++) {
        const struct witnessed *by = &witnessing->by[i];
        char time[CLOCK_ISO_SIZE];

        if (by->end.seconds == 0)
            continue;
        format_seconds(by->end.seconds, time);
        text_append_format(out, "%sby %s at %s, %" PRId64 " s after the plan", before,
                           by->who->key.name, time, by->end.seconds - by->plan.seconds);
        if (has_elapsed(by))
            text_append_format(out, " (%.3f to %.3f s by the file's clock)",
                               (double)elapsed_least(by) / 1e9, (double)elapsed_most(by) / 1e9);
        before = ", ";
    }
}

bool witnessing_tell(const struct witnessing *witnessing, const struct verify_options *options,
                     const char *uid, struct text *out, bool *ret_wrong)
{
    const bool ran = witnessing->first_trial_ns != INT64_MAX;
    size_t in_time = 0;

    for (size_t i = 0; i < witnessing->count; i++)
        in_time += is_in_time(witnessing, i);
    if (options->campaign)
        hand_over(witnessing, options, uid, in_time);
    *ret_wrong = (int64_t)in_time < options->witnesses;
    if (!options->roster && options->key_count == 0 && witnessing->foreign == 0 && !*ret_wrong)
        return false;
    text_append_format(out, "the plan of campaign %.8s was %s%s: ", uid,
                       in_time > 0 ? "witnessed" : "not witnessed",
                       ran ? " before its first trial" : "");
    if (in_time > 0)
        append_witnesses(out, witnessing, true);
    else if (witnessing->count == 0)
        text_append(out, witnessing->foreign > 0 ? "by no key that your roster names"
                                                 : "its head has no cosignature");
    if (witnessing->count > in_time) {
        text_append(out, in_time > 0 ? "; too late " : "too late ");
        append_witnesses(out, witnessing, false);
    }
    append_ends(out, witnessing);
    if (witnessing->foreign > 0)
        text_append_format(out,
                           "; %zu cosignatures are of keys that no roster names as a "
                           "witness's (--roster)",
                           witnessing->foreign);
    if (witnessing->refused[0])
        text_append_format(out, "; %s", witnessing->refused);
    if (*ret_wrong)
        text_append_format(out, "; %" PRId64 " witnesses are asked for, and %zu counted",
                           options->witnesses, in_time);
    return true;
}
