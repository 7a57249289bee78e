/*
 * bundle_withhold - what a bundle leaves out: the requested values, and every other place where one
 * of them occurs.
 */
#ifndef ASSAY_RESULTS_BUNDLE_WITHHOLD_H
#define ASSAY_RESULTS_BUNDLE_WITHHOLD_H

#include "results/bundle.h"

struct bundle_secrets {
    struct bundle_secret *items; /* heap; values, and other encodings of them */
    size_t count;
    const struct bundle_options *options;
};

/*
 * Reads the values that the options name, after bundle_select. INVALID: an option names nothing.
 * Finish it also when this fails.
 */
enum status bundle_secrets_gather(struct bundle_secrets *secrets, struct store *store,
                                  const struct bundle_options *options, struct error *err);
void bundle_secrets_finish(struct bundle_secrets *secrets);

/* Whether one of the values is part of these bytes: verbatim, inside JSON, or in hex. */
bool bundle_secrets_are_in(const struct bundle_secrets *secrets, const void *bytes, size_t length);

/*
 * Whether the column is withheld whatever its value, because it is named. `reading`: the row's name
 * when it is a reading, else NULL.
 */
bool bundle_secrets_name(const struct bundle_secrets *secrets, const char *table,
                         const char *column, const char *reading);

/*
 * Whether the column is a digest by which a withheld value could be guessed: those are committed
 * for that reason, and are withheld when anything is.
 */
bool bundle_secrets_tell(const struct bundle_secrets *secrets, const char *table,
                         const char *column);

#endif
