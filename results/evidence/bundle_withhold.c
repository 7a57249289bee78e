#include "results/evidence/bundle_withhold.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/array.h"
#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"

/* Bytes; a shorter value occurs everywhere by chance. More for a pattern, which may match "cpu". */
#define SECRET_LENGTH_MIN 3
#define PATTERN_LENGTH_MIN 6

/* A value that is withheld, in one encoding, to be searched for elsewhere. */
struct bundle_secret {
    char *text;
    size_t length;
};

static bool is_pattern(const char *word)
{
    return strpbrk(word, "*?[") != NULL;
}

static enum status add_spelling(struct bundle_secrets *secrets, const char *text, size_t length,
                                struct error *err)
{
    for (size_t i = 0; i < secrets->count; i++)
        if (!strcmp(secrets->items[i].text, text))
            return STATUS_OK;
    TRY(ARRAY_GROW(secrets->items, secrets->count, 1, err));
    secrets->items[secrets->count] = (struct bundle_secret){text_format("%s", text), length};
    return secrets->items[secrets->count++].text ? STATUS_OK : error_no_memory(err);
}

/* As the value is written inside a JSON string. */
static char *escaped(const char *text)
{
    struct text out = TEXT_INIT;

    canonical_append_string(&out, text, strlen(text));
    if (text_ok(&out)) {
        out.data[out.length - 1] = '\0';
        memmove(out.data, out.data + 1, out.length - 1);
    }
    return text_steal(&out);
}

/* The value, the value in JSON, in JSON within JSON, and in hex. */
static enum status add_secret(struct bundle_secrets *secrets, const char *text, size_t shortest,
                              struct error *err)
{
    const size_t length = text ? strlen(text) : 0;
    AUTO_FREE char *once = NULL, *twice = NULL, *hex = NULL;

    if (length < shortest)
        return STATUS_OK;
    once = escaped(text);
    twice = once ? escaped(once) : NULL;
    hex = malloc(2 * length + 1);
    if (once && twice && hex) {
        sodium_bin2hex(hex, 2 * length + 1, (const unsigned char *)text, length);
        TRY(add_spelling(secrets, text, length, err));
        TRY(add_spelling(secrets, once, strlen(once), err));
        TRY(add_spelling(secrets, twice, strlen(twice), err));
        if (length >= PATTERN_LENGTH_MIN)
            TRY(add_spelling(secrets, hex, 2 * length, err));
    } else {
        return error_no_memory(err);
    }
    return STATUS_OK;
}

/* ---- names ---- */

static bool fits(const char *word, const char *name)
{
    return is_pattern(word) ? fnmatch(word, name, 0) == 0 : strcmp(word, name) == 0;
}

/* The word that names it; -1: none. */
static int word_of(const struct bundle_secrets *secrets, const char *name)
{
    for (size_t i = 0; i < secrets->options->withhold_count; i++)
        if (fits(secrets->options->withhold[i], name))
            return (int)i;
    return -1;
}

#define PRICED "comparison.body" /* what rests on prices */

/* Whether a member rests on a price that is confidential. */
static bool is_confidential(const struct bundle_secrets *secrets, const char *name,
                            struct record_span value)
{
    json_auto_t *body = NULL;
    bool found = false;

    if (secrets->options->show_confidential || strcmp(name, PRICED) != 0 ||
        !memmem(value.bytes, value.length, "\"confidential\"", strlen("\"confidential\"")))
        return false;
    body = json_loadb(value.bytes, value.length, 0, NULL);
    EACH(row, member_in(body, "prices", "rows"))
        found |= member_string(row, "confidential") &&
                 !strcmp(member_string(row, "confidential"), "yes");
    return found;
}

json_t *bundle_secrets_words(const struct bundle_secrets *secrets)
{
    json_t *words = json_array();

    for (size_t i = 0; i < secrets->options->withhold_count; i++)
        json_array_append_new(words, json_string(secrets->options->withhold[i]));
    if (secrets->confidential && word_of(secrets, PRICED) < 0)
        json_array_append_new(words, json_string(PRICED));
    return words;
}

bool *bundle_secrets_dumps(struct bundle_secrets *secrets)
{
    const int word = word_of(secrets, "dump.output");

    return word >= 0 ? &secrets->found[word] : NULL;
}

/* ---- gathering ---- */

struct gathering {
    struct bundle_secrets *secrets;
    const struct record_type *type;
};

/* A text is a secret by itself; of a reading, its value is. */
static enum status add_value(struct bundle_secrets *secrets, const json_t *value, bool is_exact,
                             struct error *err)
{
    const size_t shortest = is_exact ? SECRET_LENGTH_MIN : PATTERN_LENGTH_MIN;
    char number[32];

    if (json_is_object(value) && json_object_get(value, "status"))
        value = json_object_get(value, "value");
    if (json_is_string(value))
        return add_secret(secrets, json_string_value(value), shortest, err);
    /* Numbers are not unique: a cache's size may equal an unrelated number. */
    if (json_is_integer(value) && is_exact) {
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
        return add_secret(secrets, number, shortest, err);
    }
    return STATUS_OK;
}

static enum status gather_member(void *context, struct record_span path, struct record_span value,
                                 const struct digest *withheld, struct error *err)
{
    const struct gathering *gathering = context;
    struct bundle_secrets *secrets = gathering->secrets;
    char name[256];
    json_auto_t *json = NULL;
    int word;

    if (withheld || !record_member_name(gathering->type, path, name, sizeof(name)))
        return STATUS_OK;
    secrets->confidential = secrets->confidential || is_confidential(secrets, name, value);
    word = word_of(secrets, name);
    if (word < 0)
        return STATUS_OK;
    secrets->found[word] = true;
    json = json_loadb(value.bytes, value.length, JSON_DECODE_ANY, NULL);
    return json ? add_value(secrets, json, !is_pattern(secrets->options->withhold[word]), err)
                : error_no_memory(err);
}

enum status bundle_secrets_gather(struct bundle_secrets *secrets, const struct record_type *type,
                                  const char *body, size_t length, struct error *err)
{
    struct gathering gathering = {secrets, type};
    const struct record_visitor visitor = {.context = &gathering, .member = gather_member};
    json_t *json, *digest;
    enum status status;

    if (secrets->options->withhold_count == 0 && strcmp(type->name, "comparison") != 0)
        return STATUS_OK;
    status = record_scan(type, body, length, &visitor, err);
    /* An import's plan names the file by its digest, which would confirm a guess. */
    if (status == STATUS_OK && !strcmp(type->name, "import") &&
        (word_of(secrets, "import.file") >= 0 || word_of(secrets, "claim.body") >= 0)) {
        json = json_loadb(body, length, 0, NULL);
        digest = json_object_get(json, "sha256");
        if (json_is_string(digest))
            status = add_secret(secrets, json_string_value(digest), SECRET_LENGTH_MIN, err);
        json_decref(json);
    }
    return status;
}

enum status bundle_secrets_check(const struct bundle_secrets *secrets, struct error *err)
{
    for (size_t i = 0; i < secrets->options->withhold_count; i++)
        if (!secrets->found[i])
            return error_set(
                err, STATUS_INVALID,
                "--withhold %s: neither a reading of these campaigns nor a member of a record that "
                "can be withheld; `assay show --json` lists readings, results/BUNDLE.md members",
                secrets->options->withhold[i]);
    return STATUS_OK;
}

bool bundle_secrets_are_in(const struct bundle_secrets *secrets, const void *bytes, size_t length)
{
    for (size_t i = 0; i < secrets->count; i++)
        if (memmem(bytes, length, secrets->items[i].text, secrets->items[i].length))
            return true;
    return false;
}

/* ---- leaving out ---- */

struct leaving {
    struct bundle_secrets *secrets;
    const struct record_type *type;
    struct record_salts salts;
    const char *done;
    struct text out, rest; /* the body for the bundle; the same without its members */
    json_t *kept;          /* salts of members that stay */
    int64_t withheld;
};

static enum status leave_member(void *context, struct record_span path, struct record_span value,
                                const struct digest *withheld, struct error *err)
{
    struct leaving *leaving = context;
    char name[256], hex[DIGEST_HEX_SIZE], *key;
    struct digest salt, commitment;
    const bool is_named =
        record_member_name(leaving->type, path, name, sizeof(name)) &&
        (word_of(leaving->secrets, name) >= 0 || is_confidential(leaving->secrets, name, value));

    (void)withheld;
    text_append_bytes(&leaving->out, leaving->done, (size_t)(value.bytes - leaving->done));
    text_append_bytes(&leaving->rest, leaving->done, (size_t)(value.bytes - leaving->done));
    leaving->done = value.bytes + value.length;
    if (!record_member_salt(&leaving->salts, path, &salt))
        return error_set(err, STATUS_CORRUPT, "a record has no salt");
    if (is_named || bundle_secrets_are_in(leaving->secrets, value.bytes, value.length)) {
        commitment = record_commitment(&salt, value);
        text_append_format(&leaving->out, "{\"withheld\":\"%s\"}", digest_hex(&commitment, hex));
        leaving->withheld++;
        return STATUS_OK;
    }
    text_append_bytes(&leaving->out, value.bytes, value.length);
    key = text_format("%.*s", (int)path.length, path.bytes);
    if (!key || json_object_set_new(leaving->kept, key, json_string(digest_hex(&salt, hex))) < 0) {
        free(key);
        return error_no_memory(err);
    }
    free(key);
    return STATUS_OK;
}

static json_t *salt_json(const struct leaving *leaving)
{
    char hex[DIGEST_HEX_SIZE];

    if (leaving->withheld > 0)
        return json_incref(leaving->kept);
    if (json_object_size(leaving->kept) == 0)
        return json_null();
    return json_string(digest_hex(&leaving->salts.all, hex));
}

enum status bundle_withhold(struct bundle_secrets *secrets, const struct record_type *type,
                            const char *body, size_t length, const struct digest *salt, char **ret,
                            json_t **ret_salt, int64_t *withheld, struct error *err)
{
    struct leaving leaving = {.secrets = secrets, .type = type, .done = body};
    const struct record_visitor visitor = {.context = &leaving, .member = leave_member};
    enum status status;

    leaving.salts.has_all = salt != NULL;
    if (salt)
        leaving.salts.all = *salt;
    leaving.kept = json_object();
    text_init(&leaving.out);
    text_init(&leaving.rest);
    status = leaving.kept ? record_scan(type, body, length, &visitor, err) : error_no_memory(err);
    text_append_bytes(&leaving.out, leaving.done, (size_t)(body + length - leaving.done));
    text_append_bytes(&leaving.rest, leaving.done, (size_t)(body + length - leaving.done));
    if (status == STATUS_OK && (!text_ok(&leaving.out) || !text_ok(&leaving.rest)))
        status = error_no_memory(err);
    if (status == STATUS_OK &&
        bundle_secrets_are_in(secrets, leaving.rest.data, leaving.rest.length))
        status = error_set(err, STATUS_INVALID,
                           "a withheld value is also in a record of type %s, in a member that "
                           "cannot be withheld; `--withhold` what contains it, or leave it in",
                           type->name);
    if (status == STATUS_OK) {
        *ret_salt = salt_json(&leaving);
        *ret = text_steal(&leaving.out);
        *withheld += leaving.withheld;
    }
    text_finish(&leaving.out);
    text_finish(&leaving.rest);
    json_decref(leaving.kept);
    return status;
}

enum status bundle_secrets_init(struct bundle_secrets *secrets,
                                const struct bundle_options *options, struct error *err)
{
    *secrets = (struct bundle_secrets){.options = options};
    secrets->found = calloc(options->withhold_count + 1, sizeof(*secrets->found));
    return secrets->found ? STATUS_OK : error_no_memory(err);
}

void bundle_secrets_finish(struct bundle_secrets *secrets)
{
    for (size_t i = 0; i < secrets->count; i++)
        free(secrets->items[i].text);
    free(secrets->items);
    free(secrets->found);
    memset(secrets, 0, sizeof(*secrets));
}
