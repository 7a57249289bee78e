#include "harness/cli/signing.h"

#include "harness/cli/interrupt.h"
#include "harness/core/cleanup.h"

enum status signing_open(const char *path, struct signing *ret, struct error *err)
{
    struct signing signing = {.has_key = false};
    enum status status =
        path ? key_read(path, &signing.key, err) : key_read_default(&signing.key, err);

    if (status != STATUS_OK && (path || status != STATUS_NOT_FOUND))
        return status;
    signing.has_key = status == STATUS_OK;
    *ret = signing;
    key_finish(&signing.key);
    return STATUS_OK;
}

const struct key *signing_key(const struct signing *signing)
{
    return signing->has_key ? &signing->key : NULL;
}

void signing_close(struct signing *signing)
{
    key_finish(&signing->key);
}

enum status signing_run(struct campaign *campaign, struct campaign_options *options,
                        struct campaign_summary *ret, struct error *err)
{
    CLEANUP(signing_close) struct signing signing = {.has_key = false};

    TRY(signing_open(NULL, &signing, err));
    options->key = signing_key(&signing);
    if (options->wake_fd < 0)
        TRY(interrupt_open(INTERRUPT_TRIALS, &options->wake_fd, err));
    return campaign_run(campaign, options, ret, err);
}
