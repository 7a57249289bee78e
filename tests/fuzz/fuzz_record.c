/*
 * Records: what the scanner takes as canonical is what the canonical form has, to the byte; where
 * it finds members and references, they are within the body; its digest follows from what it took.
 */
#include "fuzz.h"

#include <jansson.h>

#include "harness/core/canonical.h"
#include "results/record/record.h"

struct seen {
    const char *body;
    size_t length;
    const char *last; /* end of the member before */
    size_t members, withheld;
};

static enum status see_member(void *context, struct record_span path, struct record_span value,
                              const struct digest *commitment, struct error *err)
{
    struct seen *seen = context;
    json_t *json = NULL;

    (void)err;
    FUZZ_REQUIRE(value.bytes >= seen->last &&
                 value.bytes + value.length <= seen->body + seen->length);
    FUZZ_REQUIRE(canonical_parse(path.bytes, path.length, "path", &json, NULL) == STATUS_OK);
    FUZZ_REQUIRE(json_is_array(json));
    json_decref(json);
    seen->last = value.bytes + value.length;
    seen->members++;
    seen->withheld += commitment != NULL;
    return STATUS_OK;
}

static enum status see_reference(void *context, bool is_blob, const struct digest *digest,
                                 struct error *err)
{
    struct seen *seen = context;
    char hex[DIGEST_HEX_SIZE];

    (void)is_blob;
    (void)err;
    digest_hex(digest, hex);
    FUZZ_REQUIRE(memmem(seen->body, seen->length, hex, DIGEST_HEX_SIZE - 1) != NULL);
    return STATUS_OK;
}

/* A body is canonical exactly when it is what canonical_dump makes of it. */
static bool is_canonical(const char *body, size_t length, const char *type)
{
    json_t *json = NULL;
    char *again = NULL;
    const char *told;
    bool is = canonical_parse(body, length, "body", &json, NULL) == STATUS_OK &&
              json_is_object(json) && canonical_dump(json, &again, NULL) == STATUS_OK &&
              strlen(again) == length && !memcmp(again, body, length);

    told = json_string_value(json_object_get(json, "type"));
    is = is && told && !strcmp(told, type);
    free(again);
    json_decref(json);
    return is;
}

static int depth_of(const char *body, size_t length)
{
    int depth = 0, most = 0;
    bool in_string = false;

    for (size_t i = 0; i < length; i++) {
        if (body[i] == '"')
            in_string = !in_string;
        else if (in_string && body[i] == '\\')
            i++;
        else if (!in_string && (body[i] == '{' || body[i] == '['))
            most = ++depth > most ? depth : most;
        else if (!in_string && (body[i] == '}' || body[i] == ']'))
            depth--;
    }
    return most;
}

static void check(const struct record_type *type, const char *body, size_t length)
{
    struct seen seen = {.body = body, .length = length, .last = body};
    const struct record_visitor exact = {
        .context = &seen, .is_exact = true, .member = see_member, .reference = see_reference};
    const struct record_salts salts = {.has_all = true, .all = {{5}}}, others = {.has_all = true};
    struct digest one, two;
    struct error err = ERROR_INIT;
    enum status status = record_scan(type, body, length, &exact, &err);

    if (status != STATUS_OK)
        fuzz_require_good_message(&err, status);
    if (depth_of(body, length) <= RECORD_DEPTH_MAX)
        FUZZ_REQUIRE((status == STATUS_OK) == is_canonical(body, length, type->name));
    if (record_digest(type, body, length, &salts, &one, NULL, NULL) != STATUS_OK) {
        FUZZ_REQUIRE(status != STATUS_OK);
        return;
    }
    if (status != STATUS_OK)
        return;
    FUZZ_REQUIRE(record_digest(type, body, length, &others, &two, NULL, NULL) == STATUS_OK);
    FUZZ_REQUIRE(digest_equal(&one, &two) == (seen.members == seen.withheld));
}

/* The body as its own text has its type; else each type in turn. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *body = malloc(size + 1); /* so that reading beyond the end is seen */
    const struct record_type *type;

    FUZZ_REQUIRE(body != NULL);
    memcpy(body, data, size);
    body[size] = '\0';
    for (size_t i = 0; (type = record_type_at(i)); i++) {
        char name[64];

        snprintf(name, sizeof(name), "\"type\":\"%s\"", type->name);
        if (i == 0 || memmem(body, size, name, strlen(name)))
            check(type, body, size);
    }
    free(body);
    return 0;
}
