#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "results/evidence/merkle.h"
#include "tests/support/store_fixture.h"

#include "results/record/record.h"
#include "tests/support/unit.h"
#include "tests/unit/leaf.h"

static const struct record_visitor nothing = {.context = NULL};

static enum status scan(const char *type, const char *body, struct error *err)
{
    return record_scan(record_type_find(type), body, strlen(body), &nothing, err);
}

static void assert_refused(const char *body)
{
    struct error err = ERROR_INIT;

    if (scan("event", body, &err) == STATUS_OK)
        fail_msg("accepted: %s", body);
    assert_int_equal(err.code, STATUS_CORRUPT);
    assert_true(err.message[0] != '\0');
}

static void assert_taken(const char *body)
{
    struct error err = ERROR_INIT;

    assert_ok(scan("event", body, &err), err);
}

/* A body of the type "event" with this value in it. */
static void check_value(const char *value, bool is_canonical)
{
    char body[512];

    snprintf(body, sizeof(body), "{\"a\":%s,\"type\":\"event\"}", value);
    if (is_canonical)
        assert_taken(body);
    else
        assert_refused(body);
}

TEST(form)
{
    static const char whole[] = "{\"a\":[1,{\"b\":null}],\"type\":\"event\"}";
    static const char *const refused[] = {
        "",
        "{}",
        "[]",
        "1",
        "\"type\"",
        "null",
        " {\"type\":\"event\"}",
        "{\"type\":\"event\"} ",
        "{\"type\":\"event\"}\n",
        "{\"type\":\"event\"}{",
        "{ \"type\":\"event\"}",
        "{\"type\" :\"event\"}",
        "{\"type\": \"event\"}",
        "{\"type\":\"event\" }",
        "{\"type\":\"event\",}",
        "{,\"type\":\"event\"}",
        "{\"type\":\"event\"",
        "{\"type\":\"event",
        "{\"type\":",
        "{\"type\"",
        "{\"type\":\"trial\"}",
        "{\"type\":\"even\"}",
        "{\"type\":\"events\"}",
        "{\"type\":1}",
        "{\"type\":null}",
        "{\"type\":[\"event\"]}",
        "{\"type\":{\"type\":\"event\"}}",
        "{\"a\":{\"type\":\"event\"}}",
        "{\"typ\\u0065\":\"event\"}",
        "{\"type\":\"event\",\"type\":\"event\"}",
        "{type:\"event\"}",
        "{'type':'event'}",
        "{\"a\":1 \"type\":\"event\"}",
        "{1:2,\"type\":\"event\"}",
        "{\"type\":\"event\"}//",
        "\xef\xbb\xbf{\"type\":\"event\"}",
    };

    assert_taken("{\"type\":\"event\"}");
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        assert_refused(refused[i]);
    /* Every part of a body is none. */
    for (size_t length = 0; length < sizeof(whole) - 1; length++) {
        char body[sizeof(whole)] = "";

        memcpy(body, whole, length);
        assert_refused(body);
    }
    assert_null(record_type_find("row"));
    assert_null(record_type_find(""));
    /* The types of which release 0.2.0 has no record with such a member; test_migration.py has the
     * others. */
    assert_string_equal(record_type_find("trial")->committed, "facts message telemetry/#/message");
    for (size_t i = 0; record_type_at(i); i++)
        assert_ptr_equal(record_type_find(record_type_at(i)->name), record_type_at(i));
}

TEST(strings)
{
    static const char *const good[] = {
        "\"\"",        "\"a\"",        "\"\\\"\\\\\"",         "\"\\b\\f\\n\\r\\t\"",
        "\"\\u0001\"", "\"\\u001f\"",  "\"\\u000b\"",          "\"/\"",
        "\"\x7f\"",    "\"\xc3\xa4\"", "\"\xf0\x9f\x98\x80\"",
    };
    static const char *const bad[] = {
        "\"\t\"",      "\"\n\"",      "\"\x01\"",     "\"\\/\"",
        "\"\\u0041\"", "\"\\u0009\"", "\"\\u0008\"",  "\"\\u000a\"",
        "\"\\u000A\"", "\"\\u001F\"", "\"\\u0022\"",  "\"\\u005c\"",
        "\"\\u00e4\"", "\"\\u007f\"", "\"\\u0000\"",  "\"\\ud83d\\ude00\"",
        "\"\\x41\"",   "\"\\u001\"",  "\"\\u\"",      "\"\\\"",
        "\"\\a\"",     "\"\xff\"",    "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
        "'a'",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        check_value(good[i], true);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_value(bad[i], false);
}

TEST(numbers)
{
    static const char *const good[] = {
        "0",
        "1",
        "-1",
        "10",
        "9223372036854775807",
        "-9223372036854775808",
        "0.5",
        "-0.5",
        "1.25",
        "1e+30",
        "1.5e-7",
        "1e-7",
        "-1.5e+300",
        "true",
        "false",
        "null",
    };
    static const char *const bad[] = {
        "-0",   "00",  "01",   "-01", "+1",    ".5",     "5.",       "1.0",   "1.50",    "0.0",
        "-0.0", "1e5", "1E+5", "1e+", "1e+05", "12e+30", "1.5e+030", "0x10",  "1_0",     "NaN",
        "inf",  "--1", "1.",   "-",   "True",  "nul",    "nulll",    "1e-07", "1.0e+30",
    };
    /* Only found where numbers must be exact: other digits of the same value, or another form. */
    static const char *const longer[] = {
        "0.10000000000000001", "1e+2", "100000000000000000000",   "9223372036854775808",
        "0.0000001",           "1e-5", "1.7976931348623157e+309",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        check_value(good[i], true);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        check_value(bad[i], false);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]) + sizeof(longer) / sizeof(longer[0]);
         i++) {
        const size_t count = sizeof(good) / sizeof(good[0]);
        const struct record_visitor exact = {.is_exact = true};
        char body[128];
        struct error err = ERROR_INIT;
        enum status status;

        snprintf(body, sizeof(body), "{\"a\":%s,\"type\":\"event\"}",
                 i < count ? good[i] : longer[i - count]);
        status = record_scan(record_type_find("event"), body, strlen(body), &exact, &err);
        if ((status == STATUS_OK) != (i < count))
            fail_msg("%s: %s", body, err.message);
    }
}

/* By the bytes that they stand for, not by those that write them. */
TEST(order)
{
    assert_taken("{\"\":1,\"type\":\"event\"}");
    assert_taken("{\"a\":1,\"aa\":1,\"ab\":1,\"b\":1,\"type\":\"event\"}");
    assert_taken("{\"Z\":1,\"a\":1,\"type\":\"event\",\"z\":1}");
    assert_taken("{\"type\":\"event\",\"\xc3\xa4\":1,\"\xf0\x9f\x98\x80\":1}");
    assert_refused("{\"b\":1,\"a\":1,\"type\":\"event\"}");
    assert_refused("{\"a\":1,\"a\":1,\"type\":\"event\"}");
    assert_refused("{\"aa\":1,\"a\":1,\"type\":\"event\"}");
    assert_refused("{\"a\":1,\"B\":1,\"type\":\"event\"}");
    assert_refused("{\"a\":{\"c\":1,\"b\":1},\"type\":\"event\"}");
    assert_refused("{\"a\":[{\"c\":1,\"c\":1}],\"type\":\"event\"}");
    /* U+0001 < TAB < LF < U+001F < '!' < '"' < '\' < 'a' */
    assert_taken("{\"\\u0001\":1,\"\\t\":1,\"\\n\":1,\"\\u001f\":1,\"!\":1,\"\\\"\":1,\"\\\\\":1,"
                 "\"a\":1,\"type\":\"event\"}");
    assert_refused("{\"\\t\":1,\"\\u0001\":1,\"type\":\"event\"}");
    assert_refused("{\"\\n\":1,\"\\t\":1,\"type\":\"event\"}");
    assert_refused("{\"\\u001f\":1,\"\\r\":1,\"type\":\"event\"}");
    assert_refused("{\"#\":1,\"\\\"\":1,\"type\":\"event\"}");
    assert_refused("{\"a\":1,\"\\\\\":1,\"type\":\"event\"}");
}

TEST(depth)
{
    for (int depth = RECORD_DEPTH_MAX - 3; depth < RECORD_DEPTH_MAX + 4; depth++)
        for (int kind = 0; kind < 2; kind++) {
            struct text body;
            struct error err = ERROR_INIT;

            text_init(&body);
            text_append(&body, "{\"a\":");
            for (int i = 1; i < depth; i++)
                text_append(&body, kind ? "{\"a\":" : "[");
            text_append(&body, "1");
            for (int i = 1; i < depth; i++)
                text_append_char(&body, kind ? '}' : ']');
            text_append(&body, ",\"type\":\"event\"}");
            if (depth <= RECORD_DEPTH_MAX)
                assert_ok(scan("event", body.data, &err), err);
            else
                assert_status(scan("event", body.data, &err), STATUS_CORRUPT, err);
            text_finish(&body);
        }
}

/* ---- members and references ---- */

struct seen {
    struct text members, references;
};

static enum status see_member(void *context, struct record_span path, struct record_span value,
                              const struct digest *withheld, struct error *err)
{
    struct seen *seen = context;

    (void)err;
    text_append_bytes(&seen->members, path.bytes, path.length);
    text_append_char(&seen->members, withheld ? '!' : '=');
    text_append_bytes(&seen->members, value.bytes, value.length);
    text_append_char(&seen->members, '\n');
    return STATUS_OK;
}

static enum status see_reference(void *context, bool is_blob, const struct digest *digest,
                                 struct error *err)
{
    struct seen *seen = context;
    char hex[DIGEST_HEX_SIZE];

    (void)err;
    text_append_format(&seen->references, "%s %.4s\n", is_blob ? "blob" : "record",
                       digest_hex(digest, hex));
    return STATUS_OK;
}

static void assert_seen(const char *type, const char *body, const char *members,
                        const char *references)
{
    struct seen seen;
    const struct record_visitor visitor = {
        .context = &seen, .member = see_member, .reference = see_reference};
    struct error err = ERROR_INIT;

    text_init(&seen.members);
    text_init(&seen.references);
    assert_ok(record_scan(record_type_find(type), body, strlen(body), &visitor, &err), err);
    assert_string_equal(seen.members.data ? seen.members.data : "", members);
    assert_string_equal(seen.references.data ? seen.references.data : "", references);
    text_finish(&seen.members);
    text_finish(&seen.references);
}

#define HEX_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEX_CAPITALS "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define HEX_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

TEST(members)
{
    assert_seen("amendment",
                "{\"author\":\"x\",\"cell\":1,\"reason\":\"y\",\"type\":\"amendment\"}",
                "[\"author\"]=\"x\"\n[\"reason\"]=\"y\"\n", "");
    /* Only at their place. */
    assert_seen("amendment", "{\"a\":{\"author\":1},\"b\":[\"author\"],\"type\":\"amendment\"}", "",
                "");
    assert_seen("event", "{\"detail\":{\"withheld\":\"" HEX_A "\"},\"type\":\"event\"}",
                "[\"detail\"]!{\"withheld\":\"" HEX_A "\"}\n", "");
    assert_seen("event", "{\"detail\":{\"withheld\":\"" HEX_A "\",\"x\":1},\"type\":\"event\"}",
                "[\"detail\"]={\"withheld\":\"" HEX_A "\",\"x\":1}\n", "");
    assert_seen("event", "{\"detail\":[{\"withheld\":\"" HEX_A "\"}],\"type\":\"event\"}",
                "[\"detail\"]=[{\"withheld\":\"" HEX_A "\"}]\n", "");
    assert_seen("readings",
                "{\"readings\":{\"a\\\"b\":{\"status\":1},\"host.name\":2},\"type\":"
                "\"readings\"}",
                "[\"readings\",\"a\\\"b\"]={\"status\":1}\n[\"readings\",\"host.name\"]=2\n", "");
    assert_seen("readings", "{\"readings\":[1,{\"a\":2}],\"type\":\"readings\"}", "", "");
    assert_seen(
        "stack",
        "{\"components\":[{\"kind\":\"k\",\"path\":\"/a\"},{\"missing_reason\":\"m\",\"path\":"
        "\"/b\"}],\"type\":\"stack\"}",
        "[\"components\",0,\"path\"]=\"/a\"\n[\"components\",1,\"missing_reason\"]=\"m\"\n"
        "[\"components\",1,\"path\"]=\"/b\"\n",
        "");
    assert_seen("stack", "{\"components\":{\"0\":{\"path\":\"/a\"}},\"type\":\"stack\"}", "", "");
}

TEST(references)
{
    assert_seen("event",
                "{\"a\":{\"record\":\"" HEX_A "\"},\"b\":[{\"blob\":\"" HEX_B
                "\"},{\"c\":{\"record\":"
                "\"" HEX_B "\"}}],\"type\":\"event\"}",
                "", "record aaaa\nblob bbbb\nrecord bbbb\n");
    /* Anything more or less is no reference. */
    assert_seen("event",
                "{\"a\":{\"record\":\"" HEX_A "\",\"x\":1},\"b\":{\"record\":\"aaaa\"},\"c\":{"
                "\"record\":1},\"d\":{\"records\":\"" HEX_A "\"},\"e\":[\"record\",\"" HEX_A "\"],"
                "\"f\":{\"record\":\"" HEX_CAPITALS "\"},\"type\":\"event\"}",
                "", "");
}

/* ---- digests ---- */

static struct digest digest_of(const char *type, const char *body, const struct record_salts *salts)
{
    struct digest digest;
    struct error err = ERROR_INIT;

    assert_ok(record_digest(record_type_find(type), body, strlen(body), salts, &digest, NULL, &err),
              err);
    return digest;
}

TEST(digests)
{
    static const char plain[] = "{\"kind\":\"plan\",\"type\":\"checkpoint\"}";
    static const char body[] =
        "{\"author\":\"x\",\"cell\":1,\"reason\":\"y\",\"type\":\"amendment\"}";
    struct record_salts salts = {.has_all = true, .all = {{7}}}, other = {.has_all = true};
    const struct record_span author = {"[\"author\"]", 10}, reason = {"[\"reason\"]", 10};
    struct digest digest, expected, salt, commitment[2], again;
    char hex[3][DIGEST_HEX_SIZE], *with, *without;
    struct error err = ERROR_INIT;
    json_t *each;

    digest = digest_of("checkpoint", plain, NULL);
    expected = leaf_of(plain, strlen(plain));
    assert_true(digest_equal(&digest, &expected));

    /* With its commitments in it, it is a leaf. */
    assert_true(record_member_salt(&salts, author, &salt));
    commitment[0] = record_commitment(&salt, (struct record_span){"\"x\"", 3});
    assert_true(record_member_salt(&salts, reason, &salt));
    commitment[1] = record_commitment(&salt, (struct record_span){"\"y\"", 3});
    with = text_format("{\"author\":{\"commitment\":\"%s\"},\"cell\":1,\"reason\":{\"commitment\":"
                       "\"%s\"},\"type\":\"amendment\"}",
                       digest_hex(&commitment[0], hex[0]), digest_hex(&commitment[1], hex[1]));
    expected = leaf_of(with, strlen(with));
    digest = digest_of("amendment", body, &salts);
    assert_true(digest_equal(&digest, &expected));
    again = digest_of("amendment", body, &other);
    assert_false(digest_equal(&again, &digest));

    /* Without its members it is the same record, whichever are withheld. */
    without = text_format("{\"author\":{\"withheld\":\"%s\"},\"cell\":1,\"reason\":{\"withheld\":"
                          "\"%s\"},\"type\":\"amendment\"}",
                          hex[0], hex[1]);
    again = digest_of("amendment", without, NULL);
    assert_true(digest_equal(&again, &digest));
    free(without);
    without = text_format("{\"author\":\"x\",\"cell\":1,\"reason\":{\"withheld\":\"%s\"},\"type\":"
                          "\"amendment\"}",
                          hex[1]);
    again = digest_of("amendment", without, &salts);
    assert_true(digest_equal(&again, &digest));

    /* A salt of each member opens as the salt of all does; without it there is no digest. */
    assert_true(record_member_salt(&salts, author, &salt));
    each = json_pack("{s:s}", "[\"author\"]", digest_hex(&salt, hex[2]));
    again = digest_of("amendment", without, &(struct record_salts){.each = each});
    assert_true(digest_equal(&again, &digest));
    assert_status(record_digest(record_type_find("amendment"), body, strlen(body),
                                &(struct record_salts){.each = each}, &again, NULL, &err),
                  STATUS_CORRUPT, err);
    assert_non_null(strstr(err.message, "[\"reason\"]"));
    assert_status(record_digest(record_type_find("amendment"), without, strlen(without), NULL,
                                &again, NULL, &err),
                  STATUS_CORRUPT, err);
    json_object_set_new(each, "[\"author\"]", json_string("zz"));
    assert_false(record_member_salt(&(struct record_salts){.each = each}, author, &salt));
    json_object_set_new(each, "[\"author\"]", json_integer(1));
    assert_false(record_member_salt(&(struct record_salts){.each = each}, author, &salt));
    json_decref(each);
    free(with);
    free(without);

    /* Bodies that differ by a bit have other digests, or none. */
    for (size_t i = 0; i < 8 * strlen(body); i++) {
        char changed[sizeof(body)];

        memcpy(changed, body, sizeof(body));
        changed[i / 8] = (char)(changed[i / 8] ^ (1 << i % 8));
        if (record_digest(record_type_find("amendment"), changed, strlen(body), &salts, &again,
                          NULL, NULL) == STATUS_OK)
            assert_false(digest_equal(&again, &digest));
    }
}

/* The salt of a record depends on the secret and on every byte of it; of a member on its path. */
TEST(salts)
{
    const struct digest secret = {{1}}, other = {{2}};
    struct digest salts[4], one, two;

    salts[0] = record_salt(&secret, "abc", 3);
    salts[1] = record_salt(&other, "abc", 3);
    salts[2] = record_salt(&secret, "abd", 3);
    salts[3] = record_salt(&secret, "ab", 2);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_false(digest_equal(&salts[i], &salts[k]));
    assert_true(record_member_salt(&(struct record_salts){.has_all = true, .all = salts[0]},
                                   (struct record_span){"[\"a\"]", 5}, &one));
    assert_true(record_member_salt(&(struct record_salts){.has_all = true, .all = salts[0]},
                                   (struct record_span){"[\"b\"]", 5}, &two));
    assert_false(digest_equal(&one, &two));
    assert_false(record_member_salt(NULL, (struct record_span){"[\"b\"]", 5}, &two));
}

TEST(names)
{
    char name[32];

    assert_true(record_member_name(record_type_find("amendment"),
                                   (struct record_span){"[\"author\"]", 10}, name, sizeof(name)));
    assert_string_equal(name, "amendment.author");
    assert_true(record_member_name(record_type_find("readings"),
                                   (struct record_span){"[\"readings\",\"host.name\"]", 24}, name,
                                   sizeof(name)));
    assert_string_equal(name, "host.name");
    assert_true(record_member_name(record_type_find("stack"),
                                   (struct record_span){"[\"components\",12,\"path\"]", 24}, name,
                                   sizeof(name)));
    assert_string_equal(name, "stack.path");
    assert_false(record_member_name(record_type_find("amendment"),
                                    (struct record_span){"[\"author\"]", 10}, name, 10));
}

/* What canonical_dump writes is what the scanner takes, exactly. */
TEST(dumped)
{
    static const double reals[] = {0.1,   1.0 / 3, 1e-7,    5e-324, 1.7976931348623157e308,
                                   123.5, 1e15,    1e22,    -2.5,   0x1p-1074,
                                   1e21,  0.5e-5,  12345.6, 1e300,  9007199254740993.0};
    const struct record_visitor exact = {.is_exact = true};

    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
        struct error err = ERROR_INIT;
        json_t *json = json_pack("{s:s, s:f, s:s, s:[i,b,n]}", "type", "event", "a", reals[i], "b",
                                 "\x01\x1f\x7f\"\\/\t", "c", -5, 1);
        char *body = NULL;

        assert_ok(canonical_dump(json, &body, &err), err);
        assert_ok(record_scan(record_type_find("event"), body, strlen(body), &exact, &err), err);
        free(body);
        json_decref(json);
    }
}
