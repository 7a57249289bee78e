/* bundle_withhold - what a bundle leaves out. For results/bundle_*.c alone. */
#ifndef ASSAY_RESULTS_EVIDENCE_BUNDLE_WITHHOLD_H
#define ASSAY_RESULTS_EVIDENCE_BUNDLE_WITHHOLD_H

#include "results/evidence/bundle.h"
#include "results/record/record.h"

/* What must be left out: words of --withhold, and the values that they name. */
struct bundle_secrets {
    const struct bundle_options *options;
    struct bundle_secret *items; /* heap */
    size_t count;
    bool *found;       /* heap: by word of --withhold */
    bool confidential; /* a record rests on a confidential price, and is left out for it */
};

/* Finish it even after a failure. */
enum status bundle_secrets_init(struct bundle_secrets *secrets,
                                const struct bundle_options *options, struct error *err);
void bundle_secrets_finish(struct bundle_secrets *secrets);

/* Takes the values of a record's members that words name; once for every record, before any is
 * written. */
enum status bundle_secrets_gather(struct bundle_secrets *secrets, const struct record_type *type,
                                  const char *body, size_t length, struct error *err);
/* What the bundle says of it: the words of --withhold, and what confidential prices add. New. */
json_t *bundle_secrets_words(const struct bundle_secrets *secrets);
/* INVALID: a word named nothing. */
enum status bundle_secrets_check(const struct bundle_secrets *secrets, struct error *err);

/* Whether the bytes contain a value that must be left out. */
bool bundle_secrets_are_in(const struct bundle_secrets *secrets, const void *bytes, size_t length);
/*
 * NULL: no word names the output of tools, "dump.output"; else where the caller says whether there
 * is any.
 */
bool *bundle_secrets_dumps(struct bundle_secrets *secrets);

/*
 * The body without the members that must be left out, and its salt, as a bundle has them: heap.
 * INVALID: such a value is where it cannot be left out.
 */
enum status bundle_withhold(struct bundle_secrets *secrets, const struct record_type *type,
                            const char *body, size_t length, const struct digest *salt, char **ret,
                            json_t **ret_salt, int64_t *withheld, struct error *err);

#endif
