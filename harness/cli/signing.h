/* signing - the key that signs what a command records, and trials that are run under it. */
#ifndef ASSAY_CLI_SIGNING_H
#define ASSAY_CLI_SIGNING_H

#include "harness/runner/campaign.h"
#include "results/evidence/key.h"

struct signing {
    struct key key;
    bool has_key;
};

/*
 * The key in this file; NULL: the usual one, when there is one. Errors are those of a key that is
 * named, or is there, and cannot be used.
 */
enum status signing_open(const char *path, struct signing *ret, struct error *err);
/* NULL: not signed. */
const struct key *signing_key(const struct signing *signing);
void signing_close(struct signing *signing);

/*
 * Runs the campaign (campaign_run) with the usual key, until Ctrl-C where `wake_fd` of the options
 * is below 0, which it then becomes (interrupt.h).
 */
enum status signing_run(struct campaign *campaign, struct campaign_options *options,
                        struct campaign_summary *ret, struct error *err);

#endif
