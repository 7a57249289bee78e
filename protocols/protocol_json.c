/* A protocol's JSON form, whose canonical digest is its identity, and the way back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/text.h"
#include "protocols/protocol_clauses.h"

static json_t *clause_to_json(const struct clause *clause, const struct protocol *protocol)
{
    const char *place = (const char *)protocol + clause->offset;
    int64_t integer;
    unsigned word;
    double real;
    bool truth;

    switch (clause->type) {
    case CLAUSE_INTEGER:
    case CLAUSE_DURATION:
        memcpy(&integer, place, sizeof(integer));
        return json_integer(integer);
    case CLAUSE_BOOLEAN:
        memcpy(&truth, place, sizeof(truth));
        return json_boolean(truth);
    case CLAUSE_REAL:
        memcpy(&real, place, sizeof(real));
        return json_real(real);
    case CLAUSE_CACHE:
    case CLAUSE_REFUSAL:
    case CLAUSE_CENTRE:
    case CLAUSE_VERIFICATION:
        memcpy(&word, place, sizeof(word));
        return json_string(clause_words(clause->type)->names[word].str);
    }
    return NULL;
}

/* True for a clause that came later and says what its absence says. */
static bool is_silent(const struct clause *clause, const struct protocol *protocol)
{
    static const char zero[sizeof(int64_t)];
    size_t size = clause_words(clause->type) ? sizeof(unsigned) : sizeof(int64_t);

    return clause->later && !memcmp((const char *)protocol + clause->offset, zero, size);
}

/*
 * The object that holds `path`'s last part, and that part. A missing group is created in `create`
 * mode; else the result is NULL.
 */
static json_t *group_of(json_t *json, const char *path, bool create, const char **ret_key)
{
    const char *dot = strchr(path, '.');
    char name[32];
    json_t *group;

    *ret_key = path;
    if (!dot)
        return json;
    *ret_key = dot + 1;
    snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
    group = json_object_get(json, name);
    if (!group && create && !json_object_set_new(json, name, json_object()))
        group = json_object_get(json, name);
    return group;
}

static int set(json_t *json, const char *path, json_t *value)
{
    const char *key;
    json_t *group = group_of(json, path, true, &key);

    if (!group) {
        json_decref(value);
        return -1;
    }
    return json_object_set_new(group, key, value);
}

static json_t *protocol_to_json(const struct protocol *protocol)
{
    json_t *json = json_object(), *percentiles = json_array(), *required = json_array();
    int failed = !json || !percentiles || !required;

    for (size_t i = 0; i < protocol->estimate.percentile_count; ++i)
        failed |= json_array_append_new(percentiles, json_real(protocol->estimate.percentiles[i]));
    for (size_t i = 0; i < protocol->required_count; ++i)
        failed |= json_array_append_new(required, json_string(protocol->required[i]));
    for (size_t i = 0; i < protocol_clause_count; ++i)
        if (!is_silent(&protocol_clauses[i], protocol))
            failed |=
                set(json, protocol_clauses[i].json, clause_to_json(&protocol_clauses[i], protocol));
    failed |= set(json, "name", json_string(protocol->name));
    failed |= set(json, "description", json_string(protocol->description));
    failed |= set(json, "analysis.percentiles", percentiles);
    failed |= set(json, "required", required);
    if (failed) {
        json_decref(json);
        return NULL;
    }
    return json;
}

enum status protocol_seal(struct protocol *protocol, struct error *err)
{
    json_t *json = protocol_to_json(protocol);
    struct digest digest;
    enum status status;

    if (!json)
        return error_no_memory(err);
    status = canonical_digest(json, &digest, err);
    if (status != STATUS_OK) {
        json_decref(json);
        return status;
    }
    json_decref(protocol->json);
    protocol->json = json;
    protocol->digest = digest;
    return STATUS_OK;
}

#define ORIGIN "stored protocol"

static enum status fail_member(struct error *err, const char *path, const char *what)
{
    return error_set(err, STATUS_INVALID, ORIGIN ": member \"%s\" %s", path, what);
}

static enum status word_from_json(const struct clause *clause, const json_t *value, char *place,
                                  struct error *err)
{
    const struct clause_words *words = clause_words(clause->type);
    const char *name = json_string_value(value);
    const bool two = words->count == 2;
    struct text list;

    for (unsigned word = 0; name && word < words->count; word++) {
        if (!strcmp(name, words->names[word].str)) {
            memcpy(place, &word, sizeof(word));
            return STATUS_OK;
        }
    }
    text_init(&list);
    text_append(&list, two ? "is neither " : "is none of ");
    for (unsigned word = 0; word < words->count; word++)
        text_append_format(&list, "%s\"%s\"",
                           word == 0 ? ""
                           : two     ? " nor "
                                     : ", ",
                           words->names[word].str);
    fail_member(err, clause->json, list.data);
    text_finish(&list);
    return STATUS_INVALID;
}

static enum status clause_from_json(const struct clause *clause, const json_t *value,
                                    struct protocol *protocol, struct error *err)
{
    char *place = (char *)protocol + clause->offset;
    int64_t integer;
    double real;
    bool truth;

    if (!value && clause->later)
        return STATUS_OK;
    if (!value)
        return fail_member(err, clause->json, "is missing");
    switch (clause->type) {
    case CLAUSE_INTEGER:
    case CLAUSE_DURATION:
        if (!json_is_integer(value))
            return fail_member(err, clause->json, "is no integer");
        integer = json_integer_value(value);
        memcpy(place, &integer, sizeof(integer));
        break;
    case CLAUSE_BOOLEAN:
        if (!json_is_boolean(value))
            return fail_member(err, clause->json, "must be true or false");
        truth = json_is_true(value);
        memcpy(place, &truth, sizeof(truth));
        break;
    case CLAUSE_REAL:
        if (!json_is_number(value))
            return fail_member(err, clause->json, "is no number");
        real = json_number_value(value);
        memcpy(place, &real, sizeof(real));
        break;
    case CLAUSE_CACHE:
    case CLAUSE_REFUSAL:
    case CLAUSE_CENTRE:
    case CLAUSE_VERIFICATION:
        return word_from_json(clause, value, place, err);
    }
    return STATUS_OK;
}

static enum status texts_from_json(const json_t *json, struct protocol *protocol, struct error *err)
{
    const json_t *name = json_object_get(json, "name");
    const json_t *description = json_object_get(json, "description");
    const json_t *required = json_object_get(json, "required");
    size_t count = json_array_size(required);

    if (!json_is_string(name) || json_string_length(name) >= PROTOCOL_NAME_MAX)
        return fail_member(err, "name", "is no short text");
    snprintf(protocol->name, sizeof(protocol->name), "%s", json_string_value(name));
    if (!json_is_string(description))
        return fail_member(err, "description", "is no text");
    if (!json_is_array(required) || count > PROTOCOL_REQUIRED_MAX)
        return fail_member(err, "required", "is no list of a few names");
    for (size_t i = 0; i < count; ++i)
        if (!json_is_string(json_array_get(required, i)))
            return fail_member(err, "required", "holds something other than text");
    if (!protocol_set_text(&protocol->description, json_string_value(description)))
        return error_no_memory(err);
    for (; protocol->required_count < count; ++protocol->required_count) {
        size_t i = protocol->required_count;

        if (!protocol_set_text(&protocol->required[i],
                               json_string_value(json_array_get(required, i))))
            return error_no_memory(err);
    }
    return STATUS_OK;
}

static enum status percentiles_from_json(json_t *json, struct protocol *protocol, struct error *err)
{
    const char *key;
    const json_t *group = group_of(json, "analysis.percentiles", false, &key);
    const json_t *list = json_object_get(group, key);
    size_t count = json_array_size(list);

    if (!json_is_array(list) || count > ESTIMATE_PERCENTILES_MAX)
        return fail_member(err, "analysis.percentiles", "is no list of a few numbers");
    for (size_t i = 0; i < count; ++i) {
        if (!json_is_number(json_array_get(list, i)))
            return fail_member(err, "analysis.percentiles", "holds something other than numbers");
        protocol->estimate.percentiles[i] = json_number_value(json_array_get(list, i));
    }
    protocol->estimate.percentile_count = count;
    return STATUS_OK;
}

enum status protocol_from_json(const json_t *json, struct protocol *ret, struct error *err)
{
    struct protocol protocol;
    enum status status;
    const char *key;

    if (!json_is_object(json))
        return error_set(err, STATUS_INVALID, ORIGIN ": no JSON object");
    protocol_start(&protocol);
    status = texts_from_json(json, &protocol, err);
    if (status == STATUS_OK)
        status = percentiles_from_json((json_t *)json, &protocol, err);
    for (size_t i = 0; i < protocol_clause_count && status == STATUS_OK; ++i) {
        json_t *group = group_of((json_t *)json, protocol_clauses[i].json, false, &key);

        status =
            clause_from_json(&protocol_clauses[i], json_object_get(group, key), &protocol, err);
    }
    if (status == STATUS_OK)
        status = protocol_check(&protocol, NULL, ORIGIN, err);
    if (status == STATUS_OK)
        status = protocol_seal(&protocol, err);
    /* A member that this version does not know would silently not be obeyed. */
    if (status == STATUS_OK) {
        struct digest digest;

        status = canonical_digest(json, &digest, err);
        if (status == STATUS_OK && !digest_equal(&digest, &protocol.digest))
            status = error_set(err, STATUS_INVALID,
                               ORIGIN " \"%s\" has clauses that this version "
                                      "of assay does not know; use the version that stored it",
                               protocol.name);
    }
    if (status != STATUS_OK) {
        protocol_finish(&protocol);
        return status;
    }
    *ret = protocol;
    return STATUS_OK;
}
