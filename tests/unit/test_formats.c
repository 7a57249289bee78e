/* Formats: a hostile database or a failing signer must not break them. */
#include "results/formats/export.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

/* The example of the DSSE specification (protocol.md). */
TEST(what_is_signed)
{
    size_t length = 0;
    char *pae = dsse_pae("http://example.com/HelloWorld", "hello world", 11, &length);

    assert_string_equal(pae, "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
    assert_int_equal(length, strlen(pae));
    free(pae);
}

static enum status refuse(void *context, const void *bytes, size_t length, uint8_t *ret,
                          size_t *ret_length, struct error *err)
{
    (void)context;
    (void)bytes;
    (void)length;
    (void)ret;
    (void)ret_length;
    return error_set(err, STATUS_DENIED, "the key is locked");
}

TEST(a_signer_that_refuses)
{
    struct dsse_signer signer = {.key_id = "k", .sign = refuse};
    struct error err = ERROR_INIT;
    json_t *envelope = NULL;

    assert_status(dsse_sign("t", "p", 1, &signer, &envelope, &err), STATUS_DENIED, err);
    assert_null(envelope);
}

static char *exported(struct store *store, const char *name, int64_t cell)
{
    struct export_request request = {.cells = &cell, .count = 1};
    const struct export_format *format;
    struct error err = ERROR_INIT;
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);

    assert_non_null(file);
    format = export_format_find(name, &err);
    assert_non_null(format);
    assert_ok(export_write(store, format, &request, file, &err), err);
    fclose(file);
    return text;
}

/* ESC, U+202E and the C1 control U+009B as a label or a JSON string has them. */
#define OPENMETRICS_SHOWN "\\\\x1B[31m\\\\xE2\\\\x80\\\\xAE\\\\xC2\\\\x9B"

/* Nothing that a terminal takes for a command, and nothing that turns text around. */
static void assert_harmless(const char *text)
{
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "\\u001b"));
    assert_null(strstr(text, "\u202e"));
    assert_null(strstr(text, "\302\233"));
}

/*
 * A device's name with what ends a label, a field and a line, commands a terminal, and turns text
 * around.
 */
TEST_WITH(hostile_names_stay_in_their_place, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct store_device device = {
        .backend = "null", .name = "a\"b\\c\nd,e\033[31m\u202e\302\233", .type = "gpu"};
    const struct store_trial_end end = {.status = "ok", .samples = -1, .max_rss_bytes = -1};
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS], trial, row;
    json_t *readings = json_object();
    char *text;

    device.readings = readings;
    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    assert_ok(store_begin_trial(fixture->store, campaign, 1, 0, &trial, &err), err);
    assert_ok(store_put_device(fixture->store, &device, &row, &err), err);
    assert_ok(store_set_trial_device(fixture->store, trial, row, &err), err);
    assert_ok(store_end_trial(fixture->store, trial, &end, &err), err);
    json_decref(readings);
    text = exported(fixture->store, "openmetrics", cells[0]);
    assert_non_null(strstr(text, "device=\"a\\\"b\\\\c\\\\x0Ad,e" OPENMETRICS_SHOWN "\""));
    assert_harmless(text);
    free(text);
    text = exported(fixture->store, "mlperf", cells[0]);
    assert_non_null(strstr(text, "\"value\":\"a\\\"b\\\\c\\\\x0Ad,e" OPENMETRICS_SHOWN "\""));
    assert_harmless(text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_memory_equal(line, ":::MLLOG {", 10);
    free(text);
    text = exported(fixture->store, "csv", cells[0]);
    assert_non_null(strstr(text, "\"a\"\"b\\c\\x0Ad,e\\x1B[31m\\xE2\\x80\\xAE\\xC2\\x9B\""));
    assert_harmless(text);
    free(text);
}
