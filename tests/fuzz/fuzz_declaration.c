/*
 * YAML declarations: the protocols' schema and one with every kind of value. Whatever the bytes,
 * they are refused with a good message or give data, JSON and an identity that come back the same.
 */
#include "fuzz.h"
#include "harness/core/canonical.h"
#include "harness/core/declaration.h"
#include "protocols/protocol_clauses.h"

struct part {
    char *name;
    int8_t small;
    uint16_t limit;
};

struct whole {
    char *label;
    int64_t time_ns;
    uint64_t bytes;
    double ratio;
    struct part part;
    struct part *parts;
    uint32_t parts_count;
    char **names;
    uint32_t names_count;
    enum protocol_cache choice;
    bool maybe;
};

static const struct declaration_name choices[] = {{"hot", 0}, {"cold", 1}};

static const struct declaration_field part_fields[] = {
    FIELD_STRING("name", FIELD_REQUIRED, struct part, name, 0, 40),
    FIELD_INT("small", FIELD_OPTIONAL, struct part, small),
    FIELD_UINT("limit", FIELD_OPTIONAL, struct part, limit),
    FIELD_END,
};
static const struct declaration_schema part_entry = {
    ENTRY_GROUP(struct part, part_fields),
};
static const struct declaration_schema name_entry = {
    ENTRY_STRING(0, 20),
};
static const struct declaration_field whole_fields[] = {
    FIELD_STRING("label", FIELD_OPTIONAL, struct whole, label, 0, 5),
    FIELD_INT("time", FIELD_OPTIONAL | DECLARATION_DURATION, struct whole, time_ns),
    FIELD_UINT("bytes", FIELD_OPTIONAL | DECLARATION_BYTES, struct whole, bytes),
    FIELD_FLOAT("ratio", FIELD_OPTIONAL, struct whole, ratio),
    FIELD_GROUP("part", FIELD_OPTIONAL, struct whole, part, part_fields),
    FIELD_LIST("parts", FIELD_OPTIONAL, struct whole, parts, &part_entry, 0, 5),
    FIELD_LIST("names", FIELD_OPTIONAL, struct whole, names, &name_entry, 1, 5),
    FIELD_ENUM("choice", FIELD_OPTIONAL, struct whole, choice, choices, 2),
    FIELD_BOOL("maybe", FIELD_OPTIONAL, struct whole, maybe),
    FIELD_END,
};
static const struct declaration_schema whole_schema = {
    ENTRY_GROUP(struct whole, whole_fields),
};

static void check_json(const struct declaration *declaration)
{
    struct error err = ERROR_INIT;
    char *text, *again;
    json_t *json;

    FUZZ_REQUIRE(declaration_to_json(declaration, &json, &err) == STATUS_OK);
    FUZZ_REQUIRE(canonical_dump(json, &text, &err) == STATUS_OK);
    json_decref(json);
    FUZZ_REQUIRE(canonical_parse(text, strlen(text), "again", &json, &err) == STATUS_OK);
    FUZZ_REQUIRE(canonical_dump(json, &again, &err) == STATUS_OK);
    FUZZ_REQUIRE(!strcmp(text, again));
    json_decref(json);
    free(text);
    free(again);
}

static void check_lines(const struct declaration *declaration, const uint8_t *data, size_t size)
{
    static const char *const paths[] = {"",
                                        "name",
                                        "window.time",
                                        "required[1]",
                                        "parts[0]",
                                        "parts[1].name",
                                        "pair[9999999999999999999]",
                                        "..[[]",
                                        "a.b.c.d"};
    int lines = 1;

    for (size_t i = 0; i < size; ++i)
        lines += data[i] == '\n' || data[i] == '\r';
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); ++i) {
        int line = declaration_line(declaration, paths[i]);

        /* YAML has other line breaks too (U+0085, U+2028), three bytes at most. */
        FUZZ_REQUIRE(line >= 1 && line <= lines + (int)size / 2);
        declaration_has(declaration, paths[i]);
    }
}

static void check_protocol(const struct declaration *declaration)
{
    struct protocol protocol, back;
    struct error err = ERROR_INIT;
    enum status status;

    protocol_start(&protocol);
    status = protocol_overlay(&protocol, declaration, true, &err);
    if (status == STATUS_OK)
        status = protocol_check(&protocol, declaration, declaration->origin, &err);
    if (status == STATUS_OK) {
        FUZZ_REQUIRE(protocol_seal(&protocol, &err) == STATUS_OK);
        FUZZ_REQUIRE(protocol_from_json(protocol.json, &back, &err) == STATUS_OK);
        FUZZ_REQUIRE(digest_equal(&protocol.digest, &back.digest));
        protocol_finish(&back);
    } else {
        FUZZ_REQUIRE(status == STATUS_INVALID);
        fuzz_require_good_message(&err, status);
        FUZZ_REQUIRE(!strncmp(err.message, "f.yaml:", 7));
    }
    protocol_finish(&protocol);
}

static void check_one(const uint8_t *data, size_t size, const struct declaration_schema *schema)
{
    struct declaration declaration = {.data = NULL};
    struct error err = ERROR_INIT;
    enum status status;

    status = declaration_parse("f.yaml", (const char *)data, size, schema, &declaration, &err);
    if (status != STATUS_OK) {
        FUZZ_REQUIRE(status == STATUS_INVALID);
        fuzz_require_good_message(&err, status);
        FUZZ_REQUIRE(!strncmp(err.message, "f.yaml:", 7));
        FUZZ_REQUIRE(err.message[7] >= '0' && err.message[7] <= '9');
        FUZZ_REQUIRE(!declaration.data && !declaration.root);
        return;
    }
    check_json(&declaration);
    check_lines(&declaration, data, size);
    if (schema == &protocol_schema)
        check_protocol(&declaration);
    declaration_finish(&declaration);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_one(data, size, &protocol_schema);
    check_one(data, size, &whole_schema);
    return 0;
}
