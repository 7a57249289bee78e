/* signing - the key that signs what a command records. */
#ifndef ASSAY_CLI_SIGNING_H
#define ASSAY_CLI_SIGNING_H

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

#endif
