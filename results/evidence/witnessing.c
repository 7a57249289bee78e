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

void witnessing_add(struct witnessing *witnessing, const struct roster_key *who, int64_t seconds)
{
    char why[80];

    if (!who || !who->is_witness) {
        witnessing->foreign++;
        return;
    }
    if (!roster_counts(who, seconds * SECOND_NS, why, sizeof(why))) {
        snprintf(witnessing->refused, sizeof(witnessing->refused), "the key of %s %s",
                 who->key.name, why);
        return;
    }
    for (size_t i = 0; i < witnessing->count; i++)
        if (!strcmp(witnessing->by[i].who->key.name, who->key.name)) {
            if (seconds < witnessing->by[i].seconds)
                witnessing->by[i] = (struct witnessed){who, seconds};
            return;
        }
    if (witnessing->count < WITNESSING_MAX)
        witnessing->by[witnessing->count++] = (struct witnessed){who, seconds};
}

/* A cosignature's time is cut to whole seconds, so it can be up to one later than it says. */
static bool is_in_time(const struct witnessing *witnessing, size_t i)
{
    return witnessing->by[i].seconds < witnessing->first_trial_ns / SECOND_NS;
}

static json_t *witness_json(const struct witnessing *witnessing, size_t i)
{
    const struct witnessed *by = &witnessing->by[i];
    char id[9];

    snprintf(id, sizeof(id), "%08x", key_id(&by->who->key));
    return json_pack("{s:s, s:s, s:I, s:b}", "name", by->who->key.name, "id", id, "utc_ns",
                     (json_int_t)(by->seconds * SECOND_NS), "before_first_trial",
                     is_in_time(witnessing, i));
}

static void hand_over(const struct witnessing *witnessing, const struct verify_options *options,
                      const char *uid, size_t in_time)
{
    const int64_t wanted = options->witnesses > 0 ? options->witnesses : 1;
    json_t *list = json_array(), *json;

    for (size_t i = 0; i < witnessing->count; i++)
        json_array_append_new(list, witness_json(witnessing, i));
    json = json_pack("{s:s, s:b, s:o, s:I, s:o}", "campaign", uid, "witnessed_before_first_trial",
                     (int64_t)in_time >= wanted, "witnesses", list, "unknown_cosignatures",
                     (json_int_t)witnessing->foreign, "first_trial_utc_ns",
                     witnessing->first_trial_ns == INT64_MAX
                         ? json_null()
                         : json_integer((json_int_t)witnessing->first_trial_ns));
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
        format_seconds(witnessing->by[i].seconds, time);
        text_append_format(out, "%s%s at %s", before, witnessing->by[i].who->key.name, time);
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
