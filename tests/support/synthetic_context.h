/*
 * synthetic_context - the context of a made-up campaign of synthetic_campaign: a device, a host,
 * its load and the files that a worker mapped, all invented.
 */
#ifndef ASSAY_TESTS_SUPPORT_SYNTHETIC_CONTEXT_H
#define ASSAY_TESTS_SUPPORT_SYNTHETIC_CONTEXT_H

#include "harness/core/random.h"
#include "tests/support/synthetic_campaign.h"

/* Adds the device; `ret` is its row. */
enum status synthetic_put_device(struct store *store, const struct synthetic_options *options,
                                 int64_t *ret, struct error *err);
/* Readings of a trial: of the host, and of its load `at` "before" or "after". */
enum status synthetic_add_host(struct store *store, int64_t trial, struct error *err);
enum status synthetic_add_load(struct store *store, int64_t trial, const char *at,
                               struct random *random, struct error *err);
/* Files mapped `at` an edge of the window; `changed`: one has other bytes. */
enum status synthetic_add_components(struct store *store, const struct synthetic_options *options,
                                     int64_t trial, const char *at, bool changed,
                                     struct error *err);

#endif
