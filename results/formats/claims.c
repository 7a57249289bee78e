#include "results/formats/claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/text.h"
#include "results/formats/claim_fields.h"
#include "results/formats/import.h"

void import_claims_finish(struct import_claims *claims)
{
    if (!claims)
        return;
    for (size_t i = 0; i < claims->count; i++)
        store_claim_finish(&claims->items[i]);
    free(claims->items);
    free(claims->program_version);
    json_decref(claims->left_out);
    *claims = (struct import_claims){0};
}

enum status import_claims_add(struct import_claims *claims, const char *path,
                              struct store_claim **ret, struct error *err)
{
    if (claims->count >= IMPORT_RESULTS_MAX)
        return error_set(err, STATUS_INVALID, "%s: more than %d results", path, IMPORT_RESULTS_MAX);
    TRY(ARRAY_GROW(claims->items, claims->count, 1, err));
    *ret = &claims->items[claims->count++];
    store_claim_init(*ret);
    return STATUS_OK;
}

enum status import_claims_leave_out(struct import_claims *claims, struct error *err,
                                    const char *format, ...)
{
    char message[ERROR_MESSAGE_MAX];
    struct text shown;
    va_list args;
    bool ok = true;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (++claims->left_out_count > LEFT_OUT_MAX)
        return STATUS_OK;
    if (!claims->left_out)
        claims->left_out = json_array();
    text_init(&shown); /* it quotes the file, and may be cut within a character */
    text_append_printable(&shown, message, strlen(message));
    ok = text_ok(&shown) && claims->left_out &&
         json_array_append_new(claims->left_out, json_string(shown.data)) == 0;
    text_finish(&shown);
    return ok ? STATUS_OK : error_no_memory(err);
}

enum status import_claims_entry(struct import_claims *claims, size_t before, enum status status,
                                const struct error *why, struct error *err)
{
    if (status == STATUS_OK)
        return STATUS_OK;
    while (claims->count > before)
        store_claim_finish(&claims->items[--claims->count]);
    if (status != STATUS_INVALID || before >= IMPORT_RESULTS_MAX)
        return error_set(err, status, "%s", why->message);
    return import_claims_leave_out(claims, err, "%s", why->message);
}

static const char *first_left_out(const struct import_claims *claims)
{
    return json_string_value(json_array_get(claims->left_out, 0));
}

/* Who reads one result later learns that the file had others; its folder is nobody's business. */
static enum status declare_left_out(struct import_claims *claims, const char *path,
                                    struct error *err)
{
    const char *first = first_left_out(claims), *slash = strrchr(path, '/');
    AUTO_FREE char *words = NULL;
    bool failed;

    if (claims->left_out_count == 0)
        return STATUS_OK;
    if (slash && !strncmp(first, path, (size_t)(slash - path) + 1))
        first += slash - path + 1;
    words = text_format("%zu, beside %zu imported: %s%s", claims->left_out_count, claims->count,
                        first, claims->left_out_count > 1 ? " ..." : "");
    failed = !words;
    for (size_t i = 0; i < claims->count && words; i++) {
        claim_declare(&claims->items[i], "", "import.left_out", words, "the whole file");
        failed |= claims->items[i].readings.failed;
    }
    return failed ? error_no_memory(err) : STATUS_OK;
}

enum status import_claims_settle(struct import_claims *claims, enum status status, const char *path,
                                 const char *none, struct import_claims *ret, struct error *err)
{
    if (status == STATUS_OK && claims->count == 0 && claims->left_out_count > 1)
        status = error_set(err, STATUS_INVALID, "%s (and %zu more; the file has no other result)",
                           first_left_out(claims), claims->left_out_count - 1);
    else if (status == STATUS_OK && claims->count == 0 && claims->left_out_count == 1)
        status = error_set(err, STATUS_INVALID, "%s", first_left_out(claims));
    else if (status == STATUS_OK && claims->count == 0)
        status = error_set(err, STATUS_INVALID, "%s: %s", path, none);
    if (status == STATUS_OK)
        status = declare_left_out(claims, path, err);
    if (status == STATUS_OK)
        *ret = *claims;
    else
        import_claims_finish(claims);
    return status;
}
