/* The keys that the reader takes are those of the table in workloads/endpoint/README.md. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/file.h"
#include "harness/endpoint/declare.h"
#include "tests/support/unit.h"

#define KEYS_MAX 64
#define KEY_SIZE 64

struct keys {
    char list[KEYS_MAX][KEY_SIZE];
    size_t count;
};

static void add(struct keys *keys, const char *key)
{
    assert_true(keys->count < KEYS_MAX);
    snprintf(keys->list[keys->count++], KEY_SIZE, "%s", key);
}

static bool has(const struct keys *keys, const char *key)
{
    for (size_t i = 0; i < keys->count; ++i)
        if (!strcmp(keys->list[i], key))
            return true;
    return false;
}

/* Keys of groups within groups with a dot between them, and not the groups themselves. */
static void add_taken(struct keys *keys, const char *before, const struct declaration_field *fields)
{
    for (const struct declaration_field *field = fields; field->key; ++field) {
        char path[KEY_SIZE];

        snprintf(path, sizeof(path), "%s%s%s", before, *before ? "." : "", field->key);
        if (field->value.fields)
            add_taken(keys, path, field->value.fields);
        else
            add(keys, path);
    }
}

/* The first cell of each row of the section "Keys", which is between backquotes. */
static void add_documented(struct keys *keys, char *text)
{
    char *section = strstr(text, "\n## Keys\n"), *end, *line, *rest;

    assert_non_null(section);
    end = strstr(section + 1, "\n## ");
    if (end)
        *end = '\0';
    for (line = strtok_r(section, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *close = strncmp(line, "| `", 3) ? NULL : strchr(line + 3, '`');

        if (!close)
            continue;
        *close = '\0';
        add(keys, line + 3);
    }
}

TEST(keys_are_those_of_the_document)
{
    static struct keys taken, documented;
    struct error err = ERROR_INIT;
    char *text = NULL;
    size_t length;

    assert_int_equal(file_read(README, 1 << 20, &text, &length, &err), STATUS_OK);
    add_taken(&taken, "", endpoint_fields);
    add_documented(&documented, text);
    free(text);
    assert_true(taken.count > 15);
    for (size_t i = 0; i < taken.count; ++i)
        if (!has(&documented, taken.list[i]))
            fail_msg("%s has no row for %s", README, taken.list[i]);
    for (size_t i = 0; i < documented.count; ++i)
        if (!has(&taken, documented.list[i]))
            fail_msg("%s has a row for %s, which no endpoint has", README, documented.list[i]);
    assert_int_equal(taken.count, documented.count);
}
