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
    int8_t *small; /* optional */
    uint16_t limit;
};

struct whole {
    char label[6];
    int64_t time_ns;
    uint64_t bytes;
    float ratio;
    struct part *part;
    struct part *parts;
    uint8_t parts_count;
    int32_t pair[2];
    char **names;
    uint32_t names_count;
    enum protocol_cache choice;
    bool *maybe;
};

static const cyaml_strval_t choices[] = {{"hot", 0}, {"cold", 1}};

static const cyaml_schema_field_t part_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct part, name, 0, 40),
    CYAML_FIELD_INT_PTR("small", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct part, small),
    CYAML_FIELD_UINT("limit", CYAML_FLAG_OPTIONAL, struct part, limit),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t part_entry = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct part, part_fields),
};
static const cyaml_schema_value_t pair_entry = {
    CYAML_VALUE_INT(CYAML_FLAG_DEFAULT, int32_t),
};
static const cyaml_schema_value_t name_entry = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, 20),
};
static const cyaml_schema_field_t whole_fields[] = {
    CYAML_FIELD_STRING("label", CYAML_FLAG_OPTIONAL, struct whole, label, 0),
    CYAML_FIELD_INT("time", CYAML_FLAG_OPTIONAL | DECLARATION_DURATION, struct whole, time_ns),
    CYAML_FIELD_UINT("bytes", CYAML_FLAG_OPTIONAL | DECLARATION_BYTES, struct whole, bytes),
    CYAML_FIELD_FLOAT("ratio", CYAML_FLAG_OPTIONAL, struct whole, ratio),
    CYAML_FIELD_MAPPING_PTR("part", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct whole, part,
                            part_fields),
    CYAML_FIELD_SEQUENCE("parts", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct whole, parts,
                         &part_entry, 0, 5),
    CYAML_FIELD_SEQUENCE_FIXED("pair", CYAML_FLAG_OPTIONAL, struct whole, pair, &pair_entry, 2),
    CYAML_FIELD_SEQUENCE("names", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct whole, names,
                         &name_entry, 1, 5),
    CYAML_FIELD_ENUM("choice", CYAML_FLAG_OPTIONAL, struct whole, choice, choices, 2),
    CYAML_FIELD_BOOL_PTR("maybe", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct whole, maybe),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t whole_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct whole, whole_fields),
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

static void check_lines(const struct declaration *declaration)
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

    for (size_t i = 0; i < declaration->length; ++i)
        lines += declaration->yaml[i] == '\n' || declaration->yaml[i] == '\r';
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); ++i) {
        int line = declaration_line(declaration, paths[i]);

        /* YAML has other line breaks too (U+0085, U+2028), three bytes at most. */
        FUZZ_REQUIRE(line >= 1 && line <= lines + (int)declaration->length / 2);
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

static void check_one(const uint8_t *data, size_t size, const cyaml_schema_value_t *schema)
{
    struct declaration declaration = {.data = NULL};
    struct error err = ERROR_INIT;
    enum status status;

    status = declaration_parse("f.yaml", (const char *)data, size, schema, &declaration, &err);
    if (status != STATUS_OK) {
        FUZZ_REQUIRE(status == STATUS_INVALID);
        fuzz_require_good_message(&err, status);
        FUZZ_REQUIRE(!strncmp(err.message, "f.yaml:", 7));
        /* Everything that libcyaml would refuse was refused before it, with a line. */
        FUZZ_REQUIRE(err.message[7] >= '0' && err.message[7] <= '9');
        FUZZ_REQUIRE(!declaration.data && !declaration.root && !declaration.yaml);
        return;
    }
    check_json(&declaration);
    check_lines(&declaration);
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
