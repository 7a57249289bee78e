/*
 * witnessing - whose signatures a reader counts, who saw a campaign's plan before it ran, and how
 * much time passed by a witness's clock until its end.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_WITNESSING_H
#define ASSAY_RESULTS_EVIDENCE_WITNESSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/text.h"
#include "results/evidence/roster.h"
#include "results/evidence/verify.h"

/* Whether signatures of authors are asked for: --key, or a roster that names one. */
bool verify_asks_for_authors(const struct verify_options *options);
/* The i-th key whose signature of that time counts as an author's; NULL: there are no more. */
const struct key_public *verify_author(const struct verify_options *options, size_t i,
                                       int64_t utc_ns);

#define WITNESSING_MAX 64

/* A cosignature of a head. */
struct sighting {
    int64_t seconds;   /* by the witness's clock; 0: there is none */
    int64_t head_ns;   /* when the head was made, by the file's clock */
    int64_t stored_ns; /* when the cosignature was here, by the same; 0: not known */
};

/* The cosignatures of one campaign. */
struct witnessing {
    int64_t first_trial_ns; /* by the file's clock; INT64_MAX: there is no trial */
    int64_t last_end_ns;    /* when its last head of kind `end` was made; 0: there is none */
    int64_t trials_ns;      /* how long its trials took together, by CLOCK_MONOTONIC */
    struct witnessed {
        const struct roster_key *who;
        struct sighting plan; /* the earliest */
        struct sighting end;  /* of the latest end, the earliest */
    } by[WITNESSING_MAX];
    size_t count;      /* names, each with its earliest cosignature */
    size_t foreign;    /* of keys that no roster names as a witness's */
    char refused[256]; /* whose cosignature does not count, and why; "": all do */
};

/* A good cosignature of the plan by this key of the roster; NULL: by a key that it does not have.
 */
void witnessing_add(struct witnessing *witnessing, const struct roster_key *who,
                    const struct sighting *plan);
/* One of an end, by who has cosigned the plan; of others it says nothing. */
void witnessing_add_end(struct witnessing *witnessing, const struct roster_key *who,
                        const struct sighting *end);

/*
 * Whether the time between both cosignatures of the i-th witness contradicts the file's: they are
 * of whole seconds, and clocks may differ by a hundredth and a second (FORMAT.md, "Cosignatures").
 * Then `out` gets what each clock says.
 */
bool witnessing_contradicts(const struct witnessing *witnessing, size_t i, struct text *out);

/*
 * What is to be said about it, of the campaign with this uid: also to options->campaign. False:
 * nothing, because nobody asked and nobody cosigned. `ret_wrong`: fewer than are asked for.
 */
bool witnessing_tell(const struct witnessing *witnessing, const struct verify_options *options,
                     const char *uid, struct text *out, bool *ret_wrong);

#endif
