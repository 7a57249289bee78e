#include "harness/runner/quote_take.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/filter.h"
#include "harness/core/text.h"
#include "results/evidence/ledger.h"
#include "results/evidence/quote.h"
#include "results/store/store_internal.h"

#define TIMEOUT_NS (INT64_C(60) * 1000000000)
#define OUTPUT_MAX (1 << 22)

/* Lines as quote.h has them. */
static const char script[] =
    "set -e; d=$(mktemp -d); trap 'rm -rf \"$d\"' EXIT\n"
    "tpm2_quote -Q -c \"$ASSAY_QUOTE_KEY\" -l sha256:0,1,2,3,4,5,6,7,8,9 -g sha256"
    " -q \"$ASSAY_QUOTE_NONCE\" -m \"$d/attest\" -s \"$d/signature\" -o \"$d/pcrs\" -F values"
    " -f plain >&2\n"
    "tpm2_readpublic -Q -c \"$ASSAY_QUOTE_KEY\" -f pem -o \"$d/key\" >&2\n"
    "log=${ASSAY_TPM_LOG:-/sys/kernel/security/tpm0/binary_bios_measurements}\n"
    "if [ -r \"$log\" ]; then cat \"$log\" >\"$d/log\"; fi\n"
    "for f in attest signature key pcrs log; do"
    " if [ -e \"$d/$f\" ]; then echo \"$f $(base64 -w0 \"$d/$f\")\"; fi; done";

static enum status find_head(struct store *store, int64_t campaign, struct ledger_checkpoint *ret,
                             struct error *err)
{
    int64_t id = 0;

    TRY(store_ask(store, "SELECT coalesce(max(id), 0) FROM checkpoint WHERE campaign = ?1",
                  campaign, &id, err));
    return ledger_find_checkpoint(store, id, ret, err);
}

/* What the tools answer, heap, once it is a quote. */
static enum status ask(const char *key, const struct digest *nonce, char **ret, struct error *err)
{
    char hex[DIGEST_HEX_SIZE], root[DIGEST_HEX_SIZE + 32];
    AUTO_FREE char *of_key = text_format("ASSAY_QUOTE_KEY=%s", key), *output = NULL;
    const char *const settings[] = {of_key, root, NULL};
    const struct filter filter = {.command = script,
                                  .settings = settings,
                                  .input = "",
                                  .timeout_ns = TIMEOUT_NS,
                                  .max_output = OUTPUT_MAX,
                                  .wake_fd = -1};
    struct quote quote;
    size_t length = 0;

    if (!of_key)
        return error_no_memory(err);
    snprintf(root, sizeof(root), "ASSAY_QUOTE_NONCE=%s", digest_hex(nonce, hex));
    TRY(filter_run(&filter, &output, &length, err));
    TRY(quote_read(output, &quote, err));
    *ret = output;
    output = NULL;
    return STATUS_OK;
}

enum status quote_take(struct store *store, int64_t campaign, const char *key, struct error *err)
{
    struct store_dump dump = {.tool = QUOTE_TOOL, .command = QUOTE_TOOL, .exit_code = -1};
    struct error reason = ERROR_INIT;
    struct ledger_checkpoint head;
    AUTO_FREE char *output = NULL;
    enum status status;

    TRY(find_head(store, campaign, &head, err));
    status = ask(key, &head.root, &output, &reason);
    dump.utc_ns = clock_utc_ns();
    dump.status = status_name(status);
    dump.message = status == STATUS_OK ? NULL : reason.message;
    dump.exit_code = status == STATUS_OK ? 0 : -1;
    dump.output = output;
    TRY(store_add_dump(store, campaign, &dump, err));
    if (status == STATUS_OK)
        return STATUS_OK;
    return error_set(err, STATUS_UNAVAILABLE,
                     "--quote %s: no quote of a TPM (%s): make a restricted signing key with "
                     "tpm2_createek, tpm2_createak and tpm2_evictcontrol, and name its handle",
                     key, reason.message);
}
