#include "harness/core/declaration.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comma_locale.h"
#include "harness/core/canonical.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "tests/support/unit.h"

/* A schema with one of everything that declarations use. */
enum shade { SHADE_LIGHT, SHADE_DARK };

struct model {
    int64_t heads;
    uint8_t layers;
    double dropout;
};

struct item {
    char *name;
    int64_t size;
};

struct sample {
    char *name;
    struct model model;
    enum shade shade;
    bool fast;
    int64_t window_ns;
    int64_t memory;
    int32_t limit;
    uint64_t seed;
    int64_t *batches;
    uint32_t batches_count;
    struct item *items;
    uint32_t items_count;
    char *label;
};

static const struct declaration_name shades[] = {{"light", SHADE_LIGHT}, {"dark", SHADE_DARK}};

static const struct declaration_field model_fields[] = {
    FIELD_INT("heads", FIELD_REQUIRED, struct model, heads),
    FIELD_UINT("layers", FIELD_REQUIRED, struct model, layers),
    FIELD_FLOAT("dropout", FIELD_OPTIONAL, struct model, dropout),
    FIELD_END,
};

static const struct declaration_schema batch_entry = {
    ENTRY_INT(0, int64_t),
};

static const struct declaration_field item_fields[] = {
    FIELD_STRING("name", FIELD_REQUIRED, struct item, name, 1, 100),
    FIELD_INT("size", DECLARATION_BYTES, struct item, size),
    FIELD_END,
};

static const struct declaration_schema item_entry = {
    ENTRY_GROUP(struct item, item_fields),
};

static const struct declaration_field sample_fields[] = {
    FIELD_STRING("name", FIELD_REQUIRED, struct sample, name, 1, 20),
    FIELD_GROUP("model", FIELD_OPTIONAL, struct sample, model, model_fields),
    FIELD_ENUM("shade", FIELD_OPTIONAL, struct sample, shade, shades, 2),
    FIELD_BOOL("fast", FIELD_OPTIONAL, struct sample, fast),
    FIELD_INT("window", FIELD_OPTIONAL | DECLARATION_DURATION, struct sample, window_ns),
    FIELD_INT("memory", FIELD_OPTIONAL | DECLARATION_BYTES, struct sample, memory),
    FIELD_INT("limit", FIELD_OPTIONAL, struct sample, limit),
    FIELD_UINT("seed", FIELD_OPTIONAL, struct sample, seed),
    FIELD_LIST("batches", FIELD_OPTIONAL, struct sample, batches, &batch_entry, 1, 4),
    FIELD_LIST("items", FIELD_OPTIONAL, struct sample, items, &item_entry, 0, 4),
    FIELD_STRING("label", FIELD_OPTIONAL, struct sample, label, 0, 7),
    FIELD_END,
};

static const struct declaration_schema schema = {
    ENTRY_GROUP(struct sample, sample_fields),
};

static enum status parse(const char *yaml, struct declaration *ret, struct error *err)
{
    return declaration_parse("f.yaml", yaml, strlen(yaml), &schema, ret, err);
}

static void expect_error_line(const char *yaml, const char *message, int line)
{
    struct declaration declaration = {0};
    struct error err = ERROR_INIT;
    enum status status = parse(yaml, &declaration, &err);

    if (status != STATUS_INVALID || strcmp(err.message, message))
        print_error("line %d: %s \"%s\"\n     expected \"%s\"\n", line, status_name(status),
                    err.message, message);
    assert_int_equal(status, STATUS_INVALID);
    assert_string_equal(err.message, message);
    assert_null(declaration.data);
    /* Without a place for the message the answer is the same. */
    assert_int_equal(parse(yaml, &declaration, NULL), STATUS_INVALID);
}
#define expect_error(yaml, message) expect_error_line(yaml, message, __LINE__)

#define FULL                                                                                       \
    "# a comment\n"                                                                                \
    "name: \"first\"\n"                                                                            \
    "model:\n"                                                                                     \
    "    heads: 12\n"                                                                              \
    "    layers: 255\n"                                                                            \
    "    dropout: 0.1\n"                                                                           \
    "shade: dark\n"                                                                                \
    "fast: true\n"                                                                                 \
    "window: 250ms\n"                                                                              \
    "memory: '1.5KiB' # half\n"                                                                    \
    "limit: -3\n"                                                                                  \
    "seed: 18446744073709551615\n"                                                                 \
    "batches: [1, 2,\n"                                                                            \
    "          4]\n"                                                                               \
    "items:\n"                                                                                     \
    "  - name: \xc3\xa4\xe2\x82\xac\n"                                                             \
    "    size: 64MiB\n"                                                                            \
    "  - {name: b, size: 10}\n"                                                                    \
    "label: short\n"

TEST(full)
{
    struct declaration declaration;
    struct error err = ERROR_INIT;
    struct sample *sample;

    assert_int_equal(parse(FULL, &declaration, &err), STATUS_OK);
    sample = declaration.data;
    assert_string_equal(sample->name, "first");
    assert_int_equal(sample->model.heads, 12);
    assert_int_equal(sample->model.layers, 255);
    assert_true(sample->model.dropout == 0.1);
    assert_int_equal(sample->shade, SHADE_DARK);
    assert_true(sample->fast);
    assert_int_equal(sample->window_ns, 250000000);
    assert_int_equal(sample->memory, 1536);
    assert_int_equal(sample->limit, -3);
    assert_true(sample->seed == UINT64_MAX);
    assert_int_equal(sample->batches_count, 3);
    assert_int_equal(sample->batches[2], 4);
    assert_int_equal(sample->items_count, 2);
    assert_string_equal(sample->items[0].name, "\xc3\xa4\xe2\x82\xac");
    assert_int_equal(sample->items[0].size, 64 << 20);
    assert_int_equal(sample->items[1].size, 10);
    assert_string_equal(sample->label, "short");
    assert_string_equal(declaration.origin, "f.yaml");

    assert_int_equal(declaration_line(&declaration, ""), 2);
    assert_int_equal(declaration_line(&declaration, "name"), 2);
    assert_int_equal(declaration_line(&declaration, "model"), 3);
    assert_int_equal(declaration_line(&declaration, "model.heads"), 4);
    assert_int_equal(declaration_line(&declaration, "model.nothing.more"), 3);
    assert_int_equal(declaration_line(&declaration, "batches[2]"), 14);
    assert_int_equal(declaration_line(&declaration, "batches[9]"), 13);
    assert_int_equal(declaration_line(&declaration, "items[0].size"), 17);
    assert_int_equal(declaration_line(&declaration, "items[1].size"), 18);
    assert_true(declaration_has(&declaration, "items[1].size"));
    assert_false(declaration_has(&declaration, "items[2]"));
    assert_false(declaration_has(&declaration, "model.he"));

    assert_int_equal(declaration_error(&declaration, "items[1].size", &err, "%d is odd", 10),
                     STATUS_INVALID);
    assert_string_equal(err.message, "f.yaml:18: 10 is odd");
    assert_int_equal(err.code, STATUS_INVALID);
    assert_int_equal(declaration_error(&declaration, "name", NULL, "x"), STATUS_INVALID);
    declaration_finish(&declaration);
    assert_null(declaration.data);
    declaration_finish(&declaration);
    declaration_finish(NULL);
}

static char *canonical_of(const char *yaml)
{
    struct declaration declaration;
    struct error err = ERROR_INIT;
    json_t *json;
    char *string;

    if (parse(yaml, &declaration, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(declaration_to_json(&declaration, &json, &err), STATUS_OK);
    assert_int_equal(canonical_dump(json, &string, &err), STATUS_OK);
    json_decref(json);
    declaration_finish(&declaration);
    return string;
}

static void expect_json(const char *yaml, const char *json)
{
    char *string = canonical_of(yaml);

    assert_string_equal(string, json);
    free(string);
}

TEST(json)
{
    expect_json(FULL,
                "{\"batches\":[1,2,4],\"fast\":true,\"items\":[{\"name\":\"\xc3\xa4\xe2\x82\xac\","
                "\"size\":67108864},{\"name\":\"b\",\"size\":10}],\"label\":\"short\","
                "\"limit\":-3,\"memory\":1536,\"model\":{\"dropout\":0.1,\"heads\":12,"
                "\"layers\":255},\"name\":\"first\",\"seed\":\"18446744073709551615\","
                "\"shade\":\"dark\",\"window\":\"250000000ns\"}");
    /* What is not written is left out; what is written stays, even when it is zero. */
    expect_json("name: x", "{\"name\":\"x\"}");
    expect_json("name: x\nfast: false\nshade: light\nwindow: 0s\nlimit: 0\nitems: []\nlabel: ''",
                "{\"fast\":false,\"items\":[],\"label\":\"\",\"limit\":0,\"name\":\"x\","
                "\"shade\":\"light\",\"window\":\"0ns\"}");
    /* Order, comments, quotes, units, byte order mark and line ends make no difference. */
    expect_json("\xef\xbb\xbfwindow: \"1500ms\"\r\n# c\r\n'name' : \"x\"\r\n",
                "{\"name\":\"x\",\"window\":\"1500000000ns\"}");
    expect_json("{name: x, window: 1.5s}", "{\"name\":\"x\",\"window\":\"1500000000ns\"}");
    expect_json("---\nname: \"\\u0078\"\nwindow: 1.5s\n...\n",
                "{\"name\":\"x\",\"window\":\"1500000000ns\"}");
}

TEST(keys)
{
    expect_error(
        "name: x\nwindos: 1s\n",
        "f.yaml:2: unknown key \"windos\"; did you mean \"window\"? Keys here: name, model, "
        "shade, fast, window, memory, limit, seed, batches, items, label");
    expect_error("name: x\nmodel:\n  heads: 1\n  layers: 2\n  qqqqqqq: 3\n",
                 "f.yaml:5: unknown key \"qqqqqqq\" in \"model\"; take it out. Keys here: heads, "
                 "layers, dropout");
    expect_error("name: x\n\"a\\eb\": 1\n",
                 "f.yaml:2: unknown key \"a\\x1Bb\"; take it out. Keys here: name, model, shade, "
                 "fast, window, memory, limit, seed, batches, items, label");
    expect_error("fast: true\nmodel:\n\n  heads: 1\nname: x\n",
                 "f.yaml:2: key \"layers\" is missing in \"model\"; add a line \"layers: ...\", "
                 "which is a whole number; write one from 0 to 255");
    expect_error("\nfast: true\n", "f.yaml:2: key \"name\" is missing; add a line \"name: ...\", "
                                   "which is text; write it in quotes on one line");
    expect_error("name: x\nfast: true\nname: y\n",
                 "f.yaml:3: key \"name\" is written twice, first in line 1; take one out");
    expect_error(
        "name: x\nitems:\n- name: a\n  size: 1\n- name: b\n",
        "f.yaml:5: key \"size\" is missing in \"items[1]\"; add a line \"size: ...\", which "
        "is a size; write a number and one of B, KiB, MiB, GiB, kB, MB, GB, e.g. 64MiB");
}

TEST(types)
{
    expect_error("name: x\nmodel: 3\n",
                 "f.yaml:2: \"model\" is \"3\", but should be a group of keys; write them indented "
                 "below it, one \"key: value\" a line");
    expect_error("name: x\nmodel:\n",
                 "f.yaml:2: \"model\" is empty, but should be a group of keys; "
                 "write them indented below it, one \"key: value\" a line");
    expect_error(
        "name: [x]\n",
        "f.yaml:1: \"name\" is a list, but should be text; write it in quotes on one line");
    expect_error("name:\n",
                 "f.yaml:1: \"name\" is empty, but should be text; write it in quotes on "
                 "one line");
    expect_error("name: \"\"\n", "f.yaml:1: \"name\" is \"\", but must not be empty; write a text");
    expect_error(
        "name: 123456789012345678901\n",
        "f.yaml:1: \"name\" is \"123456789012345678901\", longer than 20 characters; write "
        "a shorter text");
    expect_error("name: x\nlabel: 12345678\n",
                 "f.yaml:2: \"label\" is \"12345678\", longer than 7 characters; write a shorter "
                 "text");
    expect_error("name: x\nmodel:\n  heads: many\n",
                 "f.yaml:3: \"model.heads\" is \"many\", but should be a whole number; write one "
                 "from -9223372036854775808 to 9223372036854775807");
    expect_error("name: x\nmodel:\n  layers: 256\n",
                 "f.yaml:3: \"model.layers\" is \"256\", but should be a whole number; write one "
                 "from 0 to 255");
    expect_error("name: x\nlimit: 2147483648\n",
                 "f.yaml:2: \"limit\" is \"2147483648\", but should be a whole number; write one "
                 "from -2147483648 to 2147483647");
    expect_error(
        "name: x\nbatches: [1, 010]\n",
        "f.yaml:2: \"batches[1]\" is \"010\", but should be a whole number; write one from "
        "-9223372036854775808 to 9223372036854775807");
    expect_error(
        "name: x\nbatches: [1, 0x10]\n",
        "f.yaml:2: \"batches[1]\" is \"0x10\", but should be a whole number; write one from "
        "-9223372036854775808 to 9223372036854775807");
    expect_error("name: x\nbatches: 1\n",
                 "f.yaml:2: \"batches\" is \"1\", but should be a list; write e.g. [a, b]");
    expect_error("name: x\nbatches: []\n",
                 "f.yaml:2: \"batches\" has 0 items, but should have at least 1; add some");
    expect_error("name: x\nbatches: [1, 2, 3, 4, 5]\n",
                 "f.yaml:2: \"batches\" has 5 items, but should have at most 4; take some out");
    expect_error("name: x\nfast: yes\n",
                 "f.yaml:2: \"fast\" is \"yes\", but should be true or false");
    expect_error("name: x\nmodel: {heads: 1, layers: 1, dropout: .inf}\n",
                 "f.yaml:2: \"model.dropout\" is \".inf\", but should be a number; write e.g. 0.5");
    expect_error(
        "name: x\nmodel: {heads: 1, layers: 1, dropout: 0x1p3}\n",
        "f.yaml:2: \"model.dropout\" is \"0x1p3\", but should be a number; write e.g. 0.5");
    expect_error("name: x\nshade: drak\n",
                 "f.yaml:2: \"shade\" is \"drak\", which is not one of light, "
                 "dark; did you mean \"dark\"?");
    expect_error(
        "name: x\nshade: 1\n",
        "f.yaml:2: \"shade\" is \"1\", which is not one of light, dark; write one of these");
    expect_error("name: x\nwindow: 10\n",
                 "f.yaml:2: \"window\" is \"10\", but should be a duration; write a number and one "
                 "of ns, us, ms, s, min, h, e.g. 250ms");
    expect_error("name: x\nwindow: 64MiB\n",
                 "f.yaml:2: \"window\" is \"64MiB\", but should be a duration; write a number and "
                 "one of ns, us, ms, s, min, h, e.g. 250ms");
    expect_error("name: x\nmemory: 10s\n",
                 "f.yaml:2: \"memory\" is \"10s\", but should be a size; write a number and one of "
                 "B, KiB, MiB, GiB, kB, MB, GB, e.g. 64MiB");
    expect_error("name: x\nmemory: 9999999TiB\n",
                 "f.yaml:2: \"memory\" is \"9999999TiB\", but should be a size; write a number and "
                 "one of B, KiB, MiB, GiB, kB, MB, GB, e.g. 64MiB");
    expect_error("[a, b]\n", "f.yaml:1: the declaration is a list, but should be a group of keys; "
                             "write them indented below it, one \"key: value\" a line");
}

TEST(hostile)
{
    struct declaration declaration;
    struct error err = ERROR_INIT;
    struct text text;

    expect_error("", "f.yaml:1: nothing is declared here; write \"key: value\" lines. Keys: name, "
                     "model, shade, fast, window, memory, limit, seed, batches, items, label");
    expect_error("# only a comment\n",
                 "f.yaml:1: nothing is declared here; write \"key: value\" lines. Keys: name, "
                 "model, shade, fast, window, memory, limit, seed, batches, items, label");
    expect_error("name: &a x\n",
                 "f.yaml:1: anchors (&name) and aliases (*name) are not taken here; "
                 "write the value out");
    expect_error("name: x\nlabel: *a\n", "f.yaml:2: anchors (&name) and aliases (*name) are not "
                                         "taken here; write the value out");
    expect_error("name: !!str x\n", "f.yaml:1: tags (!name) are not taken here; write the value "
                                    "alone");
    expect_error("name: x\n---\nname: y\n",
                 "f.yaml:2: a second document (---) begins; write one declaration a file");
    expect_error("name: x\n? [a]\n: b\n",
                 "f.yaml:2: a key must be a plain word; write \"key: value\"");
    expect_error("name: x\nlabel: \xff\n",
                 "f.yaml:2: not valid UTF-8 text; save the file as UTF-8");
    expect_error("name: \"a\\0b\"\n",
                 "f.yaml:1: the value holds a NUL character (\\0); leave it out");
    expect_error("name: x\nmodel:\n\theads: 1\n",
                 "f.yaml:3: not YAML: found character that cannot start any token (while scanning "
                 "for the next token, line 3); indent with spaces, not tabs, and put text with "
                 "special characters in quotes");
    expect_error(
        "name: x: y\n",
        "f.yaml:1: not YAML: mapping values are not allowed in this context; put text that "
        "holds \": \" in quotes, and indent keys alike");
    expect_error(
        "name: x\nbatches: [1, 2\nlabel: 3\n",
        "f.yaml:3: not YAML: did not find expected ',' or ']' (while parsing a flow "
        "sequence, line 2); check the indentation and that brackets and quotes are closed");

    text_init(&text);
    text_append(&text, "name: x\nbatches: ");
    for (int i = 0; i < 100000; ++i)
        text_append_char(&text, '[');
    expect_error(text.data,
                 "f.yaml:2: nested too deep; declarations need no more than a few levels");
    text_clear(&text);
    text_append(&text, "batches: [");
    for (int i = 0; i < 100000; ++i)
        text_append(&text, "1,");
    expect_error(text.data, "f.yaml:1: too many values for a declaration");
    text_clear(&text);
    text_append(&text, "name: x #");
    while (text.length <= DECLARATION_SIZE_MAX)
        text_append_char(&text, '#');
    assert_int_equal(parse(text.data, &declaration, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "f.yaml: larger than"));
    text_finish(&text);
    assert_int_equal(
        declaration_parse("f.yaml", "name: x\nlabel: \0\n", 17, &schema, &declaration, &err),
        STATUS_INVALID);
    assert_string_equal(err.message, "f.yaml:2: not valid UTF-8 text; save the file as UTF-8");
}

TEST(file)
{
    char path[] = "/tmp/assay-declaration-XXXXXX";
    struct declaration declaration;
    struct error err = ERROR_INIT;
    struct text expected;
    int fd = mkstemp(path);
    char *here = getcwd(NULL, 0);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, "name: x\n", 8, &err), STATUS_OK);
    close(fd);
    assert_int_equal(declaration_load(path, &schema, &declaration, &err), STATUS_OK);
    assert_string_equal(((struct sample *)declaration.data)->name, "x");
    assert_string_equal(declaration.origin, path);
    declaration_finish(&declaration);
    unlink(path);

    text_init(&expected);
    text_append_format(&expected, "%s: there is no such file; check the path", path);
    assert_int_equal(declaration_load(path, &schema, &declaration, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.message, expected.data);
    text_clear(&expected);
    text_append_format(&expected, "no.yaml: there is no such file in %s; check the path", here);
    assert_int_equal(declaration_load("no.yaml", &schema, &declaration, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.message, expected.data);
    text_finish(&expected);
    free(here);
}

TEST(locale)
{
    struct declaration declaration;
    struct error err = ERROR_INIT;

    if (!comma_locale_enter())
        skip(); /* localedef is not here */
    assert_int_equal(parse("name: x\nmodel: {heads: 1, layers: 1, dropout: 0.5}\nmemory: 1.5KiB\n",
                           &declaration, &err),
                     STATUS_OK);
    assert_true(((struct sample *)declaration.data)->model.dropout == 0.5);
    assert_int_equal(((struct sample *)declaration.data)->memory, 1536);
    declaration_finish(&declaration);
    comma_locale_leave();
}
