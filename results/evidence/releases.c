#include "results/evidence/releases.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "results/evidence/dsse.h"

#define FILE_MAX (1 << 24)
#define WORD_MAX 400 /* bytes of a name or URI */
#define PAYLOAD_TYPE "application/vnd.in-toto+json"
#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define PREDICATE_TYPE "https://slsa.dev/provenance/v1"

static void release_finish(struct release *release)
{
    json_decref(release->name);
    json_decref(release->builder);
    json_decref(release->source);
}

void releases_finish(struct releases *releases)
{
    for (size_t i = 0; i < releases->count; i++)
        release_finish(&releases->items[i]);
    free(releases->items);
    memset(releases, 0, sizeof(*releases));
}

/* What can be shown as it is. */
static bool is_word(const char *text)
{
    size_t length = 0;

    for (; text && text[length]; length++)
        if (text[length] < 0x20 || text[length] > 0x7e)
            return false;
    return length > 0 && length <= WORD_MAX;
}

/* "URI@COMMIT" of the first dependency, as far as it is there. */
static json_t *source_of(const json_t *build)
{
    const json_t *source = json_array_get(json_object_get(build, "resolvedDependencies"), 0);
    const char *uri = member_string(source, "uri");
    const char *commit = member_string(json_object_get(source, "digest"), "gitCommit");

    if (!is_word(uri))
        return json_string("");
    return is_word(commit) && !strstr(uri, commit) ? json_sprintf("%s@%s", uri, commit)
                                                   : json_string(uri);
}

static enum status add_subject(struct releases *releases, const json_t *subject,
                               const char *builder, const json_t *build, struct error *err)
{
    const char *name = member_string(subject, "name");
    const char *hex = member_text(json_object_get(subject, "digest"), "sha256");
    struct release release = {0}, *grown;

    if (!is_word(name) || !digest_from_hex(hex, &release.digest))
        return error_set(err, STATUS_INVALID,
                         "each of its subjects must have a name and a digest \"sha256\" of 64 hex "
                         "digits in lower case");
    grown = realloc(releases->items, (releases->count + 1) * sizeof(*grown));
    if (!grown)
        return error_no_memory(err);
    releases->items = grown;
    release.name = json_string(name);
    release.builder = json_string(builder);
    release.source = source_of(build);
    grown[releases->count++] = release;
    return release.name && release.builder && release.source ? STATUS_OK : error_no_memory(err);
}

static enum status add_statement(struct releases *releases, const json_t *statement,
                                 struct error *err)
{
    const json_t *subjects = json_object_get(statement, "subject");
    const json_t *predicate = json_object_get(statement, "predicate");
    const json_t *build = json_object_get(predicate, "buildDefinition");
    const char *builder = member_string(member_in(predicate, "runDetails", "builder"), "id");

    if (strcmp(member_text(statement, "_type"), STATEMENT_TYPE) != 0 ||
        strcmp(member_text(statement, "predicateType"), PREDICATE_TYPE) != 0)
        return error_set(err, STATUS_INVALID,
                         "it is no in-toto Statement v1 with the predicate " PREDICATE_TYPE);
    if (!is_word(member_string(build, "buildType")) || !is_word(builder) ||
        json_array_size(subjects) == 0)
        return error_set(err, STATUS_INVALID,
                         "it must have a buildType, the id of a builder, and a subject");
    EACH(subject, subjects)
        TRY(add_subject(releases, subject, builder, build, err));
    return STATUS_OK;
}

enum status releases_add(struct releases *releases, const char *text, size_t length,
                         struct error *err)
{
    const size_t before = releases->count;
    json_auto_t *statement = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const enum status status = add_statement(releases, statement, err);

    while (status != STATUS_OK && releases->count > before)
        release_finish(&releases->items[--releases->count]);
    return status;
}

static enum status take(struct releases *releases, const json_t *envelope,
                        const struct key_public *key, struct error *err)
{
    AUTO_FREE char *statement = NULL;
    size_t length = 0;

    TRY(dsse_open(envelope, PAYLOAD_TYPE, key, &statement, &length, err));
    return releases_add(releases, statement, length, err);
}

enum status releases_read(const char *path, const struct key_public *key, struct releases *ret,
                          struct error *err)
{
    CLEANUP(releases_finish) struct releases releases = {0};
    AUTO_FREE char *bytes = NULL;
    size_t length = 0, at = 0, number = 0;

    TRY(file_read(path, FILE_MAX, &bytes, &length, err));
    while (at += strspn(bytes + at, " \t\r\n"), at < length) {
        json_error_t where;
        json_auto_t *envelope = json_loadb(bytes + at, length - at,
                                           JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &where);
        struct error reason = ERROR_INIT;

        number++;
        if (take(&releases, envelope, key, &reason) != STATUS_OK)
            return error_set(err, reason.code, "%s: envelope %zu: %s", path, number,
                             reason.message);
        at += (size_t)where.position;
    }
    if (number == 0)
        return error_set(err, STATUS_INVALID, "%s: has no envelope with a statement", path);
    *ret = releases;
    releases = (struct releases){0};
    return STATUS_OK;
}

const struct release *releases_find(const struct releases *releases, const struct digest *digest)
{
    for (size_t i = 0; releases && i < releases->count; i++)
        if (digest_equal(&releases->items[i].digest, digest))
            return &releases->items[i];
    return NULL;
}

char *release_words(const struct release *release)
{
    const char *source = json_string_value(release->source);

    return text_format("%s, built by %s%s%s", json_string_value(release->name),
                       json_string_value(release->builder), *source ? " from " : "", source);
}
