#include "results/formats/foreign_text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static char *find(const char *text, const char *list, bool *cut, struct error *err)
{
    json_t *root = NULL;
    char *dumped;

    if (foreign_text_find(text, strlen(text), "f", list, &root, cut, err) != STATUS_OK)
        return NULL;
    dumped = json_dumps(root, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(root);
    return dumped;
}

TEST(found)
{
    static const struct {
        const char *text, *list, *found;
        bool cut;
    } cases[] = {
        {"[{\"a\":1}]", NULL, "[{\"a\":1}]", false},
        {"[12:00] it's \"\n[\n{\"a\":1}\n]\n[1]\nend {", NULL, "[{\"a\":1}]", false},
        {"note\r\n  {\"list\": [{\"a\": [1]}]}\r\nend", "list", "{\"list\":[{\"a\":[1]}]}", false},
        {"{\"x\":1}\n{\"list\":[]}\n", "list", "{\"list\":[]}", false},
        {"{\"list\": [NaN, -Infinity, -nan(ind)]}", "list",
         "{\"list\":[\"NaN\",\"-Infinity\",\"-nan(ind)\"]}", false},
        {"{\"list\": [9223372036854775807, 9223372036854775808, 1e999]}", "list",
         "{\"list\":[9223372036854775807,\"9223372036854775808\",\"1e999\"]}", false},
        {"{\"list\": \"NaN, ]}\\\" inf\", \"n\": nan}", "list",
         "{\"list\":\"NaN, ]}\\\" inf\",\"n\":\"nan\"}", false},
        {"[{\"a\":{\"b\":[{}]}},{\"a\":2},{\"a", NULL, "[{\"a\":{\"b\":[{}]}},{\"a\":2}]", true},
        {"{\"c\":{\"d\":[{\"e\":1}]},\"list\":[{\"a\":1},", "list",
         "{\"c\":{\"d\":[{\"e\":1}]},\"list\":[{\"a\":1}]}", true},
        {"{\"list\":[{\"a\":1}],\"tail\":[{\"b\":1},{", "list",
         "{\"list\":[{\"a\":1}],\"tail\":[{\"b\":1}]}", true}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = ERROR_INIT;
        bool cut = false;
        char *found = find(cases[i].text, cases[i].list, &cut, &err);

        if (!found)
            fail_msg("%s: %s", cases[i].text, err.message);
        assert_string_equal(found, cases[i].found);
        assert_int_equal(err.code, STATUS_OK);
        assert_int_equal(cut, cases[i].cut);
        free(found);
    }
}

TEST(refused)
{
    static const struct {
        const char *text, *list, *words;
    } cases[] = {{"", NULL, "f:"},
                 {"prose", "list", "f:1:"},
                 {"[{\"a\":1}", "list", "f:1:"},
                 {"[{\"a\":1x}]", NULL, "f:1:"},
                 {"[{\"a\":1}}", NULL, "f:1:"},
                 {"[{\"a\":\"1\n\"}]", NULL, "f:1:"},
                 {"[{\"a\":Nan0}]", NULL, "f:1:"},
                 {"[{\"a\":1,\"a\":2}]", NULL, "f:1:"},
                 {"[{\"a\":", NULL, "f:1:"},
                 {"[{\"a\":1}]\n[{\"a\":2}]\n", NULL, "has 2 outputs"}};
    char *deep = malloc(200001);
    struct error err = ERROR_INIT;
    bool cut;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_null(find(cases[i].text, cases[i].list, &cut, &err));
        assert_int_equal(err.code, STATUS_INVALID);
        assert_non_null(strstr(err.message, cases[i].words));
    }
    /* Every line may begin a value: the effort stays in proportion to the length. */
    for (size_t i = 0; i < 200000; i += 4)
        memcpy(deep + i, "[{\n ", 4);
    deep[200000] = '\0';
    assert_null(find(deep, NULL, &cut, &err));
    assert_int_equal(err.code, STATUS_INVALID);
    free(deep);
}

TEST(begins)
{
    static const char *const lists[] = {"[{", "x\n [\n{", "[]", "\r\n[ ]"};
    static const char *const objects[] = {"{\"a", "log\n{\n \"", "{}"};
    static const char *const neither[] = {"",  "[", "{", "[1", "[12:00] {\"a\"", "x {\"a\":1}",
                                          "{a"};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        assert_true(foreign_text_begins(lists[i], strlen(lists[i]), true));
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        assert_true(foreign_text_begins(objects[i], strlen(objects[i]), false));
    for (size_t i = 0; i < sizeof(neither) / sizeof(neither[0]); i++)
        for (int array = 0; array < 2; array++)
            assert_false(foreign_text_begins(neither[i], strlen(neither[i]), array));
}
