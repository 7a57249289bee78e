/*
 * inside - what handles of the public interface hold, for the library's own files and for the
 * command line, which opens and verifies through that interface and shows what is within.
 */
#ifndef ASSAY_LIBRARY_INSIDE_H
#define ASSAY_LIBRARY_INSIDE_H

#include <string.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "protocols/estimate.h"
#include "results/analysis/campaign_comparison.h"
#include "results/evidence/verify.h"
#include "results/store/store.h"
#include <assay/compare.h>
#include <assay/estimate.h>
#include <assay/store.h>
#include <assay/verify.h>

/* The error of this thread's last call of a public function; library_begin empties it for a new
 * one. */
struct error *library_error(void);
struct error *library_begin(void);

/* What a public function returns; both lists are the same (error.c). */
static inline enum assay_status library_end(enum status status)
{
    return (enum assay_status)status;
}

/* Options as the library knows them, of those that a caller may know fewer of. */
#define LIBRARY_TAKE(into, given)                                                                  \
    do {                                                                                           \
        if (given)                                                                                 \
            memcpy(&(into), (given), (given)->size < sizeof(into) ? (given)->size : sizeof(into)); \
    } while (0)

/*
 * JSON as `--json` prints it: members sorted, integers within 2^53, others as text, times of day in
 * ISO 8601, too. Takes the reference; NULL: there was no memory for it. Heap; NULL: no memory.
 */
char *library_json_text(json_t *json);
enum status library_text(json_t *json, char **ret, struct error *err);

struct assay_store {
    struct store *store;
    char *folder; /* heap, of the temporary database of a bundle; NULL: it is none */
};

static inline void comparison_cleanup(struct assay_comparison **comparison)
{
    assay_comparison_free(*comparison);
}

/* What a caller's handle holds. INVALID: there is no handle. */
enum status library_store(const struct assay_store *handle, struct store **ret, struct error *err);

struct assay_comparison {
    struct store *store;
    struct campaign_comparison made;
    struct assay_difference *differences; /* heap, one each */
};

/* As verify_file or bundle_verify, by the formulas of the workloads that are declared. */
enum status library_verify(const char *path, struct verify_options *options,
                           struct verify_summary *ret, struct error *err);

/*
 * What the file of statements says of releases (releases.h), signed by this public key, or a file
 * of it; both NULL: nothing is read. INVALID also for a file that is not there.
 */
enum status library_releases(const char *path, const char *key, struct releases *ret,
                             struct error *err);

/* The estimate as outsiders see it, which stays as long as `estimate`; NULL: no memory. */
struct assay_estimate *library_estimate(const struct estimate *estimate, bool claimed);

/* As assay_verification_json, not as text. New; NULL: no memory. */
json_t *library_verification_json(const struct assay_verification *verification);

#endif
