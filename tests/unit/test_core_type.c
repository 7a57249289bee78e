#include "harness/core/type.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "harness/core/shape.h"
#include "tests/support/unit.h"

struct leaf {
    uint64_t id;
    double weight;
    bool has_weight;
};

struct tree {
    double height, width;
    bool has_width;
    uint64_t rings, cuts, cut_at;
    int64_t below, depth;
    bool old;
    unsigned kind;
    char *owner;
    char tag[4], code[4];
    json_t *notes, *places;
    struct leaf top;
    struct leaf *leaves;
    size_t leaf_count;
    bool settled;
    double spans[3];
    size_t span_count;
    char **names;
    size_t name_count;
    uint64_t nests, eggs;
};

static const struct member leaf_members[] = {
    MEMBER(struct leaf, COUNT, id, .help = "as it is counted"),
    MEMBER(struct leaf, REAL, weight, .has = offsetof(struct leaf, has_weight)),
};
static const struct leaf unknown_leaf = {.id = 77};
static const struct type leaf_type =
    TYPE(struct leaf, "a leaf", leaf_members, .unknown = &unknown_leaf);

static const char *const kinds[] = {NULL, "oak", "elm"};

static bool is_uncut(const void *record)
{
    return ((const struct tree *)record)->cuts == 0;
}

#define M(...) MEMBER(struct tree, __VA_ARGS__)
static const struct member bird_members[] = {
    M(COUNT, nests, .flags = MEMBER_OPTIONAL),
    M(COUNT, eggs, .flags = MEMBER_OPTIONAL),
};
static const struct type bird_type = TYPE_OF_MEMBERS(bird_members);

static const struct member tree_members[] = {
    M(REAL, height),
    M(REAL, width, .flags = MEMBER_LATER, .has = offsetof(struct tree, has_width)),
    M(COUNT, rings, .flags = MEMBER_NULLABLE),
    M(COUNT, cuts, .flags = MEMBER_OPTIONAL),
    M(COUNT, cut_at, .flags = MEMBER_OPTIONAL, .absent = is_uncut),
    M(INTEGER, below),
    M(INTEGER, depth, .flags = MEMBER_FROM_0),
    M(BOOLEAN, old),
    M(NAME, kind, .names = MEMBER_NAMES(kinds)),
    M(TEXT, owner, .flags = MEMBER_OPTIONAL),
    M(CHARS, tag, .size = 4),
    M(CHARS, code, .size = 4, .flags = MEMBER_WHOLE | MEMBER_LATER),
    M(JSON, notes, .flags = MEMBER_OPTIONAL),
    M(JSON, places, .flags = MEMBER_OPTIONAL, .json = JSON_ARRAY),
    M(RECORD, top, .of = &leaf_type),
    M(LIST, leaves, .of = &leaf_type, .count = offsetof(struct tree, leaf_count)),
    M(LIST, spans, .of = &type_of_real, .size = 3, .count = offsetof(struct tree, span_count),
      .flags = MEMBER_LATER),
    M(LIST, names, .of = &type_of_text, .count = offsetof(struct tree, name_count),
      .flags = MEMBER_LATER),
    MEMBER_GROUP("birds", bird_type, .flags = MEMBER_OPTIONAL),
};
#undef M

static void settle(void *record)
{
    ((struct tree *)record)->settled = true;
}

static const struct type tree_type = TYPE(struct tree, "a tree", tree_members, .settle = settle);

static const char whole[] =
    "{\"height\": 1.5, \"width\": null, \"rings\": null, \"cuts\": 2, \"cut_at\": 0, \"below\": -3,"
    " \"depth\": 0, \"code\": \"xyz\","
    " \"old\": true, \"kind\": \"elm\", \"owner\": \"Ann\", \"tag\": \"abc\", \"notes\": {\"a\": "
    "1},"
    " \"places\": [1], \"top\": {\"id\": 9, \"weight\": 0.25},"
    " \"spans\": [1.0, 2.5], \"names\": [\"a\", \"b\"], \"birds\": {\"eggs\": 4},"
    " \"leaves\": [{\"id\": 1, \"weight\": null}, {\"id\": 2, \"weight\": 4.0}]}";

static json_t *parsed(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    return json;
}

TEST(written_as_it_was_read)
{
    json_t *json = parsed(whole), *again;
    struct error err = ERROR_INIT;
    struct tree tree;

    assert_int_equal(type_from_json(&tree_type, json, &tree, &err), STATUS_OK);
    assert_true(tree.height == 1.5 && !tree.has_width && tree.rings == 0 && tree.cuts == 2);
    assert_true(tree.below == -3 && tree.old && tree.kind == 2 && tree.settled);
    assert_string_equal(tree.owner, "Ann");
    assert_string_equal(tree.tag, "abc");
    assert_int_equal(tree.leaf_count, 2);
    assert_true(tree.span_count == 2 && tree.spans[1] == 2.5 && tree.name_count == 2);
    assert_string_equal(tree.names[1], "b");
    assert_true(tree.eggs == 4 && tree.nests == 0);
    assert_true(tree.top.has_weight && !tree.leaves[0].has_weight && tree.leaves[1].weight == 4.0);
    again = type_to_json(&tree_type, &tree);
    assert_true(json_equal(json, again));
    json_decref(again);
    json_decref(json);
    type_finish(&tree_type, &tree);
    assert_null(tree.owner);
    assert_null(tree.leaves);
}

TEST(what_says_nothing_is_null_or_left_out)
{
    const struct tree empty = {.height = NAN, .depth = -1};
    json_t *json = type_to_json(&tree_type, &empty);
    json_t *expected = parsed(
        "{\"height\": null, \"width\": null, \"rings\": null, \"below\": 0, "
        "\"depth\": null, \"code\": \"\","
        " \"old\": false, \"kind\": null, \"tag\": \"\","
        " \"top\": {\"id\": 0, \"weight\": null}, \"leaves\": [], \"spans\": [], \"names\": []}");

    assert_true(json_equal(json, expected));
    json_decref(json);
    json_decref(expected);
}

/* Each fault alone is named, and what is valid is read all the same. */
TEST(the_first_fault_is_named)
{
    static const struct {
        const char *key, *value, *path;
    } faults[] = {
        {"height", "\"1\"", "height"}, {"rings", "-1", "rings"},
        {"below", "1.0", "below"},     {"old", "0", "old"},
        {"kind", "\"ash\"", "kind"},   {"owner", "7", "owner"},
        {"tag", "null", "tag"},        {"notes", "[]", "notes"},
        {"places", "{}", "places"},    {"top", "{}", "top.id"},
        {"leaves", "{}", "leaves"},    {"leaves", "[{}]", "leaves.id"},
        {"cuts", "true", "cuts"},      {"width", "false", "width"},
        {"depth", "0.5", "depth"},     {"spans", "[1,2,3,4]", "spans"},
        {"spans", "[true]", "spans"},  {"names", "[7]", "names"},
        {"birds", "[]", "birds"},      {"birds", "{\"eggs\": -1}", "birds.eggs"},
        {"code", "\"wxyz\"", "code"},
    };

    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        json_t *json = parsed(whole);
        struct error err = ERROR_INIT;
        struct tree tree;

        json_object_set_new(json, faults[i].key,
                            json_loads(faults[i].value, JSON_DECODE_ANY, NULL));
        assert_string_equal(type_read(&tree_type, json, &tree), faults[i].path);
        assert_true(tree.settled && (tree.height == 1.5 || i == 0));
        type_finish(&tree_type, &tree);
        assert_int_equal(type_from_json(&tree_type, json, &tree, &err), STATUS_CORRUPT);
        assert_non_null(strstr(err.message, faults[i].path));
        assert_null(tree.owner);
        json_decref(json);
    }
}

TEST(what_is_missing)
{
    json_t *json = parsed(whole);
    struct error err = ERROR_INIT;
    struct tree tree;

    json_object_del(json, "width"); /* came later */
    json_object_del(json, "owner"); /* optional */
    assert_int_equal(type_from_json(&tree_type, json, &tree, &err), STATUS_OK);
    assert_null(tree.owner);
    type_finish(&tree_type, &tree);
    json_object_del(json, "tag");
    assert_string_equal(type_read(&tree_type, json, &tree), "tag");
    type_finish(&tree_type, &tree);
    json_decref(json);
    json = json_array();
    assert_string_equal(type_read(&tree_type, json, &tree), "");
    assert_int_equal(tree.top.id, 0);
    assert_int_equal(type_from_json(&tree_type, json, &tree, &err), STATUS_CORRUPT);
    assert_string_equal(err.message, "a tree must be a JSON object");
    json_decref(json);
}

TEST(what_is_unknown_stays_so)
{
    json_t *json = json_object();
    struct leaf leaf;

    assert_string_equal(type_read(&leaf_type, json, &leaf), "id");
    assert_int_equal(leaf.id, 77);
    assert_true(isnan(leaf.weight) && !leaf.has_weight);
    json_decref(json);
    assert_string_equal(type_read(&leaf_type, NULL, &leaf), "");
    assert_int_equal(leaf.id, 77);
}

TEST(null_of_what_begins_at_0)
{
    json_t *json = parsed(whole);
    struct tree tree;

    json_object_set_new(json, "depth", json_null());
    assert_null(type_read(&tree_type, json, &tree));
    assert_int_equal(tree.depth, -1);
    type_finish(&tree_type, &tree);
    json_decref(json);
}

struct twig {
    uint64_t number;
    struct leaf leaf;
};
static const struct member twig_members[] = {
    MEMBER(struct twig, COUNT, number),
    MEMBER_ALL_OF(leaf_type, .offset = offsetof(struct twig, leaf)),
};
static const struct type twig_type = TYPE(struct twig, "a twig", twig_members);

TEST(all_members_of_another_type)
{
    json_t *json = parsed("{\"number\": 3, \"id\": 9, \"weight\": 0.5}"), *again, *schema;
    struct twig twig;

    assert_null(type_read(&twig_type, json, &twig));
    assert_true(twig.number == 3 && twig.leaf.id == 9 && twig.leaf.weight == 0.5);
    again = type_to_json(&twig_type, &twig);
    assert_true(json_equal(json, again));
    schema = type_schema(&twig_type, NULL);
    assert_int_equal(json_array_size(json_object_get(schema, "required")), 3);
    json_object_set_new(json, "id", json_string("9"));
    assert_string_equal(type_read(&twig_type, json, &twig), "id");
    json_decref(json);
    json_decref(again);
    json_decref(schema);
}

TEST(a_record_that_there_may_be)
{
    static const struct member members[] = {
        MEMBER(struct tree, RECORD, top, .of = &leaf_type, .has = offsetof(struct tree, settled)),
    };
    static const struct tree none = {.settled = false};
    static const struct type type = TYPE(struct tree, "a top", members, .unknown = &none);
    struct tree tree = none;
    json_t *json = type_to_json(&type, &tree);

    assert_true(json_is_null(json_object_get(json, "top")));
    assert_null(type_read(&type, json, &tree));
    assert_false(tree.settled);
    json_decref(json);
    tree.settled = true;
    json = type_to_json(&type, &tree);
    assert_true(json_is_object(json_object_get(json, "top")));
    assert_null(type_read(&type, json, &tree));
    assert_true(tree.settled);
    json_decref(json);
}

TEST(long_text_is_cut_between_characters)
{
    json_t *json = parsed(whole);
    struct tree tree;

    json_object_set_new(json, "tag", json_string("ab\xC3\xA4z"));
    assert_null(type_read(&tree_type, json, &tree));
    assert_string_equal(tree.tag, "ab");
    type_finish(&tree_type, &tree);
    json_decref(json);
}

#define INTEGER_SCHEMA                                                                             \
    "{\"type\": \"integer\", \"minimum\": -9007199254740992, \"maximum\": 9007199254740992}"

/* What is shown of a tree that was felled: of a digest, a time, a seed, and one of two types. */
struct felled {
    struct digest root;
    int64_t felled_utc_ns, seed, fall_ns;
    double share;
    json_t *reason;
};
static const struct type *const reasons[] = {&type_of_text, &leaf_type, NULL};
#define M(...) MEMBER(struct felled, __VA_ARGS__)
static const struct member felled_members[] = {
    M(DIGEST, root, .flags = MEMBER_NULLABLE),
    M(INTEGER, felled_utc_ns),
    M(INTEGER, seed, .flags = MEMBER_LATER),
    M(INTEGER, fall_ns, .flags = MEMBER_OPTIONAL),
    M(FINITE, share),
    M(ANY, reason, .choices = reasons),
};
#undef M
static const struct type felled_type =
    TYPE(struct felled, "a felled tree", felled_members, .def = "felled");

TEST(schema_of_what_is_printed)
{
    json_t *definitions = json_object(), *schema = type_schema(&felled_type, definitions);
    json_t *expected = parsed(
        "{\"felled\": {\"type\": \"object\", \"additionalProperties\": false,"
        " \"required\": [\"root\", \"felled_utc_ns\", \"felled_utc\", \"share\", \"reason\"],"
        " \"properties\": {\"root\": {\"anyOf\": [{\"type\": \"string\", \"pattern\":"
        " \"^[0-9a-f]{64}$\"}, {\"type\": \"null\"}]},"
        " \"felled_utc_ns\": {\"type\": \"string\", \"pattern\": \"^-?[0-9]+$\", \"unit\": \"ns\"},"
        " \"felled_utc\": {\"type\": \"string\", \"format\": \"date-time\"},"
        " \"seed\": {\"type\": \"string\", \"pattern\": \"^-?[0-9]+$\"},"
        " \"fall_ns\": {\"type\": \"integer\", \"minimum\": -9007199254740992, \"maximum\":"
        " 9007199254740992, \"unit\": \"ns\"}, \"share\": {\"type\": \"number\"}}}}");
    json_t *reason = json_object_get(
        json_object_get(json_object_get(json_object_get(definitions, "felled"), "properties"),
                        "reason"),
        "anyOf");

    assert_int_equal(json_array_size(reason), 2);
    json_object_del(json_object_get(json_object_get(definitions, "felled"), "properties"),
                    "reason");
    assert_true(json_equal(definitions, expected));
    assert_string_equal(json_string_value(json_object_get(schema, "$ref")), "#/$defs/felled");
    json_decref(definitions);
    json_decref(schema);
    json_decref(expected);
}

/* JSON that is made from no struct (shape.h). */
static const char *const words[] = {"soft", "hard"};
static const struct type wood = {WORD_OF(words)};
static const struct type plank = TYPE_OF({
    SHOWN("wood", RECORD, .of = &wood),
    OR_NULL("length", INTEGER),
    OPTIONAL("knots", TEXT),
    OPTIONAL_OR_NULL("bark", TEXT),
});
static const struct type planks = {LIST_OF(plank)};

TEST(schema_of_no_struct)
{
    json_t *schema = type_schema(&planks, NULL), *item = json_object_get(schema, "items"),
           *properties = json_object_get(item, "properties");
    json_t *wanted =
        json_pack("{s:{s:[s, s]}, s:{s:[{s:s, s:I, s:I}, {s:s}]}, s:{s:s},"
                  " s:{s:[{s:s}, {s:s}]}}",
                  "wood", "enum", "soft", "hard", "length", "anyOf", "type", "integer", "minimum",
                  -((json_int_t)1 << 53), "maximum", (json_int_t)1 << 53, "type", "null", "knots",
                  "type", "string", "bark", "anyOf", "type", "string", "type", "null");
    json_t *required = json_pack("[s, s]", "wood", "length");

    assert_int_equal(plank.count, 4);
    assert_true(json_equal(properties, wanted));
    assert_true(json_equal(json_object_get(item, "required"), required));
    json_decref(required);
    json_decref(wanted);
    json_decref(schema);
}

TEST(digests_and_finite_numbers)
{
    static const char hex[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const char *const faults[][2] = {
        {"root", "\"0123\""},
        {"root", "\"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\""},
        {"share", "null"},
        {"share", "\"1\""},
    };
    json_t *json = json_pack("{s:s, s:i, s:f, s:n}", "root", hex, "felled_utc_ns", 1, "share", 0.5,
                             "reason"),
           *again;
    struct felled felled;
    char read[DIGEST_HEX_SIZE];

    assert_null(type_read(&felled_type, json, &felled));
    assert_string_equal(digest_hex(&felled.root, read), hex);
    assert_true(json_is_null(felled.reason));
    again = type_to_json(&felled_type, &felled);
    assert_string_equal(json_string_value(json_object_get(again, "root")), hex);
    json_decref(again);
    type_finish(&felled_type, &felled);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        json_t *wrong = json_copy(json);

        json_object_set_new(wrong, faults[i][0], json_loads(faults[i][1], JSON_DECODE_ANY, NULL));
        assert_string_equal(type_read(&felled_type, wrong, &felled), faults[i][0]);
        type_finish(&felled_type, &felled);
        json_decref(wrong);
    }
    json_object_set_new(json, "root", json_null());
    assert_null(type_read(&felled_type, json, &felled));
    assert_true(digest_equal(&felled.root, &(struct digest){{0}}));
    type_finish(&felled_type, &felled);
    json_decref(json);
}

TEST(schema)
{
    json_t *schema = type_schema(&tree_type, NULL), *leaf = type_schema(&leaf_type, NULL);
    json_t *expected =
        parsed("{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"id\", "
               "\"weight\"],"
               " \"properties\": {\"id\": {\"anyOf\": [" INTEGER_SCHEMA ", {\"type\": \"string\","
               " \"pattern\": \"^-?[0-9]{16,}$\"}], \"description\": \"as it is counted\"},"
               " \"weight\": {\"anyOf\": [{\"type\": \"number\"}, {\"type\": \"null\"}]}}}");
    const json_t *required = json_object_get(schema, "required");
    json_t *plain;

    assert_true(json_equal(leaf, expected));
    assert_int_equal(json_array_size(required), 9); /* neither later nor optional */
    assert_true(json_equal(
        json_object_get(json_object_get(json_object_get(schema, "properties"), "leaves"), "items"),
        expected));
    plain = parsed("{\"type\": \"array\", \"items\": {\"type\": \"string\"}}");
    assert_true(json_equal(json_object_get(json_object_get(schema, "properties"), "names"), plain));
    json_decref(plain);
    json_decref(schema);
    json_decref(leaf);
    json_decref(expected);
}

/* break and continue leave both loops that EACH is made of as they would leave one. */
TEST(each_entry_of_an_array)
{
    json_auto_t *list = json_pack("[i, i, [i, i], i]", 3, 5, 7, 11, 13);
    json_int_t sum = 0, places = 0;

    EACH(entry, list) {
        if (json_is_array(entry)) {
            EACH(inner, entry)
                sum += json_integer_value(inner);
            continue;
        }
        if (json_integer_value(entry) == 5)
            continue;
        sum += json_integer_value(entry);
        places = 10 * places + (json_int_t)entry_at;
    }
    assert_int_equal(sum, 3 + 7 + 11 + 13);
    assert_int_equal(places, 3);
    EACH(entry, list) {
        places = (json_int_t)entry_at;
        if (json_integer_value(entry) == 5)
            break;
    }
    assert_int_equal(places, 1);
    EACH(entry, NULL)
        fail_msg("%s", json_string_value(entry));
}
