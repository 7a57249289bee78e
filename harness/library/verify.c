#include <assay/verify.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/shortage.h"
#include "harness/library/inside.h"
#include "harness/runner/cell_from_record.h"
#include "results/evidence/bundle.h"
#include "results/evidence/quote.h"
#include "results/evidence/witnessing.h"

#define KEYS_MAX 16

enum status library_verify(const char *path, struct verify_options *options,
                           struct verify_summary *ret, struct error *err)
{
    options->derive = cell_from_record;
    options->tolerance = tolerance_from_record;
    return bundle_recognise(path) ? bundle_verify(path, options, ret, err)
                                  : verify_file(path, options, ret, err);
}

struct assay_verification {
    char *path;
    struct assay_verify_options asked;
    struct verify_summary made;
    struct assay_verify_summary summary;
    char root[DIGEST_HEX_SIZE];
    bool checked;
    struct assay_verify_finding **findings; /* heap, and each, with table, key and message */
    size_t count;
    json_t *campaigns, *shown;
    unsigned long shortages; /* of memory, before */
};

/* In a bundle's row it can be any value. NULL of NULL, and where memory has run out. */
static const char *printable(const char *bytes)
{
    CLEANUP(text_finish) struct text text = TEXT_INIT;

    if (!bytes)
        return NULL;
    text_append_printable(&text, bytes, strlen(bytes));
    return text_ok(&text) ? strdup(text.data) : NULL;
}

static void found(void *context, const struct verify_finding *finding)
{
    struct assay_verification *verification = context;
    struct assay_verify_finding *told;

    /* What could not be read for want of memory is not wrong. */
    if (finding->level == VERIFY_WRONG && shortage_count() != verification->shortages)
        return;
    told = ARRAY_ROOM(verification->findings, verification->count, 1) ? calloc(1, sizeof(*told))
                                                                      : NULL;
    if (!told) {
        shortage_note();
        return;
    }
    *told = (struct assay_verify_finding){.level = verify_levels[finding->level],
                                          .code = finding->code,
                                          .check = verify_check_name(finding->check),
                                          .table = printable(finding->table),
                                          .key = printable(finding->key),
                                          .message = printable(finding->message)};
    verification->findings[verification->count++] = told;
}

static void take_campaign(void *context, json_t *campaign)
{
    json_array_append(((struct assay_verification *)context)->campaigns, campaign);
}

static bool progress(void *context, const struct verify_progress *progress)
{
    const struct assay_verify_options *asked = &((struct assay_verification *)context)->asked;

    return !asked->progress ||
           asked->progress(asked->context, progress->doing, progress->done, progress->total);
}

static enum status read_keys(const struct assay_verify_options *asked, struct key_public *keys,
                             struct error *err)
{
    if (asked->key_count > KEYS_MAX)
        return error_set(err, STATUS_INVALID, "more than %d keys", KEYS_MAX);
    for (size_t i = 0; i < asked->key_count; i++)
        if (key_public_read(asked->keys[i], &keys[i], err) != STATUS_OK)
            return err->code = STATUS_INVALID;
    return STATUS_OK;
}

static enum status read_roster(const struct assay_verify_options *asked, struct roster *roster,
                               struct verify_options *options, struct error *err)
{
    if (asked->roster && roster_read(asked->roster, roster, err) != STATUS_OK)
        return err->code = STATUS_INVALID;
    if (asked->roster)
        options->roster = roster;
    if (asked->witnesses < 0 || asked->witnesses > (int64_t)roster_witnesses(roster))
        return error_set(err, STATUS_INVALID,
                         "%lld witnesses: the roster names %zu, and as many can be asked for",
                         (long long)asked->witnesses, roster_witnesses(roster));
    return STATUS_OK;
}

enum status library_releases(const char *path, const char *key, struct releases *ret,
                             struct error *err)
{
    struct key_public public;

    if (!path != !key)
        return error_set(err, STATUS_INVALID,
                         "--releases and --release-key go together: the statements, and whose key "
                         "has signed them");
    if (path && (key_public_read(key, &public, err) != STATUS_OK ||
                 releases_read(path, &public, ret, err) != STATUS_OK))
        return err->code = err->code == STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_INVALID;
    return STATUS_OK;
}

static enum status check(struct assay_verification *verification, struct error *err)
{
    const struct assay_verify_options *asked = &verification->asked;
    struct key_public keys[KEYS_MAX];
    CLEANUP(roster_finish) struct roster roster = {0};
    CLEANUP(releases_finish) struct releases releases = {0};
    struct digest quote_key;
    struct verify_options options = {.context = verification,
                                     .found = found,
                                     .campaign = take_campaign,
                                     .progress = progress,
                                     .expect_head = asked->expect_head,
                                     .nonce = asked->nonce,
                                     .keys = keys,
                                     .key_count = asked->key_count,
                                     .witnesses = asked->witnesses,
                                     .tsa_ca = asked->tsa_ca,
                                     .threads = asked->threads,
                                     .skip_estimates = asked->skip_estimates,
                                     .shown = verification->shown,
                                     .wait_ns = (int64_t)(asked->wait_s * 1e9)};

    TRY(read_keys(asked, keys, err));
    TRY(read_roster(asked, &roster, &options, err));
    TRY(library_releases(asked->releases, asked->release_key, &releases, err));
    options.releases = asked->releases ? &releases : NULL;
    if (asked->quote_key && quote_key_read(asked->quote_key, &quote_key, err) != STATUS_OK)
        return err->code = STATUS_INVALID;
    options.quote_key = asked->quote_key ? &quote_key : NULL;
    if (asked->tsa_ca && access(asked->tsa_ca, R_OK) != 0)
        return error_set(err, STATUS_INVALID, "%s: %s", asked->tsa_ca, strerror(errno));
    verification->summary.authors = verify_asks_for_authors(&options);
    TRY(library_verify(verification->path, &options, &verification->made, err));
    if (shortage_count() != verification->shortages)
        return error_set(err, STATUS_NO_MEMORY,
                         "%s: memory ran out while it was checked, so nothing is known of it: "
                         "free some memory or raise the limit (ulimit -v), then check it again",
                         verification->path);
    verification->checked = true;
    return STATUS_OK;
}

static void sum_up(struct assay_verification *verification)
{
    const struct verify_summary *made = &verification->made;

    verification->summary = (struct assay_verify_summary){
        .verified = verification->checked && made->wrong + made->unverified == 0,
        .authors = verification->summary.authors,
        .leaves = made->leaves,
        .root = digest_hex(&made->root, verification->root),
        .records = made->rows,
        .bytes = made->bytes,
        .signers = made->signers,
        .signatures = made->signatures,
        .trusted_signatures = made->trusted_signatures,
        .estimates = made->estimates,
        .comparisons = made->comparisons,
        .wrong = made->wrong,
        .unverified = made->unverified,
        .notes = made->notes,
        .seconds = made->seconds};
}

enum assay_status assay_verify(const char *path, const struct assay_verify_options *options,
                               struct assay_verification **ret)
{
    struct error *err = library_begin();
    struct assay_verification *verification;
    enum status status;

    *ret = NULL;
    verify_watch_memory();
    verification = calloc(1, sizeof(*verification));
    if (!verification)
        return library_end(error_no_memory(err));
    LIBRARY_TAKE(verification->asked, options);
    verification->path = strdup(path);
    verification->campaigns = json_array();
    verification->shown = json_pack("{s:[], s:[]}", "campaigns", "logs");
    verification->shortages = shortage_count();
    status =
        verification->path && verification->shown ? check(verification, err) : error_no_memory(err);
    sum_up(verification);
    *ret = verification;
    return library_end(status);
}

void assay_verification_free(struct assay_verification *verification)
{
    if (!verification)
        return;
    for (size_t i = 0; i < verification->count; i++) {
        free((char *)verification->findings[i]->table);
        free((char *)verification->findings[i]->key);
        free((char *)verification->findings[i]->message);
        free(verification->findings[i]);
    }
    free(verification->findings);
    free(verification->path);
    json_decref(verification->campaigns);
    json_decref(verification->shown);
    free(verification);
}

const struct assay_verify_summary *
assay_verification_summary(const struct assay_verification *verification)
{
    return &verification->summary;
}

const struct assay_verify_finding *
assay_verification_finding(const struct assay_verification *verification, size_t i)
{
    return i < verification->count ? verification->findings[i] : NULL;
}

json_t *library_verification_json(const struct assay_verification *verification)
{
    const struct assay_verify_summary *summary = &verification->summary;
    json_t *json = type_to_json(&verify_summary_type, &verification->made);
    json_t *findings = json_array();

    for (size_t i = 0; i < verification->count; i++) {
        const struct assay_verify_finding *one = verification->findings[i];

        json_array_append_new(findings,
                              json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:s?}", "code", one->code,
                                        "level", one->level, "check", one->check, "table",
                                        one->table, "key", one->key, "message", one->message));
    }
    json_object_update_new(json, json_pack("{s:o, s:b, s:s, s:O, s:o, s:O}", "file",
                                           printable_or_null(verification->path), "verified",
                                           summary->verified, "state",
                                           summary->verified    ? "verified"
                                           : summary->wrong > 0 ? "not_verified"
                                                                : "could_not_verify",
                                           "campaigns", verification->campaigns, "findings",
                                           findings, "shown", verification->shown));
    return json;
}

enum assay_status assay_verification_json(const struct assay_verification *verification, char **ret)
{
    return library_end(library_text(library_verification_json(verification), ret, library_begin()));
}
