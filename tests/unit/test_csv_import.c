#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/formats/csv_import.h"
#include "tests/support/unit.h"

static FILE *open_text(const char *text, size_t length)
{
    FILE *file = fmemopen((void *)text, length, "r");

    assert_non_null(file);
    return file;
}

static enum status read_samples(const char *text, struct csv_samples *ret, struct error *err)
{
    FILE *file = open_text(text, strlen(text));
    enum status status = csv_import_samples(file, "f.csv", NULL, ret, err);

    fclose(file);
    return status;
}

static enum status read_pairs(const char *text, struct csv_pairs *ret, struct error *err)
{
    FILE *file = open_text(text, strlen(text));
    enum status status = csv_import_pairs(file, "f.csv", ret, err);

    fclose(file);
    return status;
}

TEST(samples)
{
    /* A byte-order mark, CRLF, quotes, an empty line, interleaved trials, no newline at the end. */
    static const char text[] = "\xef\xbb\xbfseries,trial,sample_ns\r\n"
                               "\"a, \"\"x\"\"\",1,10\r\n"
                               "b,1,20\n"
                               "\n"
                               "\"a, \"\"x\"\"\",2,30\n"
                               "\"a, \"\"x\"\"\",1,4611686018427387904";
    struct csv_samples samples;
    struct error err = ERROR_INIT;

    if (read_samples(text, &samples, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(samples.series_count, 2);
    assert_string_equal(samples.series[0].name, "a, \"x\"");
    assert_int_equal(samples.series[0].trial_count, 2);
    assert_int_equal(samples.series[0].trials[0].count, 2);
    assert_true(samples.series[0].trials[0].sample_ns[1] == (int64_t)1 << 62);
    assert_int_equal(samples.series[0].trials[1].sample_ns[0], 30);
    assert_string_equal(samples.series[1].trials[0].name, "1");
    csv_samples_finish(&samples);
    csv_samples_finish(&samples);
}

TEST(bad_samples)
{
#define HEAD "series,trial,sample_ns\n"
    static const char *const cases[][2] = {
        {" ", "f.csv:1: the file is empty"},
        {"a,b\n", "f.csv:1: there is no column sample_ns; there are: a, b"},
        {"command,mean,stddev,median,user,system,min,max\n",
         "f.csv: hyperfine's CSV has a summary"},
        {HEAD, "f.csv:2: no samples"},
        {HEAD "a,1,NaN\n", "f.csv:2: \"NaN\""},
        {HEAD "a,1,1\na,1,-5\n", "f.csv:3: \"-5\""},
        {HEAD "a,1,0\n", "f.csv:2: \"0\""},
        {HEAD "a,1,0.4\n", "f.csv:2: \"0.4\""},
        {HEAD "a,1,4611686018427387905\n", "f.csv:2:"},
        {HEAD "a,1,99999999999999999999\n", "f.csv:2:"},
        {HEAD "a,1,\n", "f.csv:2:"},
        {HEAD ",1,5\n", "f.csv:2: \"\""},
        {HEAD "a,,5\n", "f.csv:2: \"\""},
        {HEAD "a,1\n", "f.csv:2: too few"},
        {HEAD "a,1,5,6\n", "f.csv:2: too many"},
        {HEAD "a,1,\"5\n", "f.csv:2: a quoted field does not end"},
        {HEAD "a,1,5\"6\n", "f.csv:2: a quote in the wrong place"},
        {HEAD "\xff,1,5\n", "f.csv:2: a field is not UTF-8"},
        {HEAD "a\x1b[2J,1,x\n", "f.csv:2:"},
    };
    struct csv_samples samples;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = ERROR_INIT;

        if (read_samples(cases[i][0], &samples, &err) != STATUS_INVALID)
            fail_msg("accepted: %s", cases[i][0]);
        if (strncmp(err.message, cases[i][1], strlen(cases[i][1])))
            fail_msg("case %zu: %s", i, err.message);
        assert_null(strchr(err.message, '\x1b'));
    }
}

TEST(columns)
{
    static const char text[] = "when,host,took_ms,what\n1,x,1.5,a\n2,y,0.25,a\n3,x,2,b\n";
    static const struct {
        struct csv_columns columns;
        const char *message;
    } wrong[] = {{{.value = "took"}, "f.csv:1: there is no column took; there are: when, host"},
                 {{.value = "host"}, "f.csv:2: \"x\": write a number"},
                 {{.value = "took_ms", .unit = "min"}, "f.csv: --unit is one of"},
                 {{.value = "took_ms", .trial = "run"}, "f.csv:1: there is no column run"},
                 {{.value = "host", .unit = "s"}, "f.csv:2: \"x\""}};
    struct csv_columns columns = {.value = "took_ms", .trial = "host", .series = "what"};
    struct csv_samples samples;

    for (int pass = 0; pass < 3; pass++) {
        static const int64_t unit_ns[] = {1000000, 1000, 1000000000};
        static const char *const units[] = {NULL, "us", "s"};
        FILE *file = open_text(text, strlen(text));

        columns.unit = units[pass];
        assert_int_equal(csv_import_samples(file, "f.csv", &columns, &samples, NULL), STATUS_OK);
        fclose(file);
        assert_int_equal(samples.series_count, 2);
        assert_int_equal(samples.series[0].trial_count, 2);
        assert_string_equal(samples.series[0].trials[1].name, "y");
        assert_int_equal(samples.series[0].trials[0].sample_ns[0], 3 * unit_ns[pass] / 2);
        assert_int_equal(samples.series[0].trials[1].sample_ns[0], unit_ns[pass] / 4);
        csv_samples_finish(&samples);
    }
    columns = (struct csv_columns){.value = "took_ms"};
    {
        FILE *file = open_text(text, strlen(text));

        assert_int_equal(csv_import_samples(file, "f.csv", &columns, &samples, NULL), STATUS_OK);
        fclose(file);
        assert_int_equal(samples.series_count, 1);
        assert_string_equal(samples.series[0].name, "f.csv");
        assert_int_equal(samples.series[0].trials[0].count, 3);
        csv_samples_finish(&samples);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        FILE *file = open_text(text, strlen(text));
        struct error err = ERROR_INIT;

        assert_int_equal(csv_import_samples(file, "f.csv", &wrong[i].columns, &samples, &err),
                         STATUS_INVALID);
        fclose(file);
        assert_memory_equal(err.message, wrong[i].message, strlen(wrong[i].message));
    }
}

TEST(hyperfine)
{
    static const char *const wrong[] = {
        "{",
        "{}",
        "{\"results\":[]}",
        "{\"results\":[{\"command\":\"x\"}]}",
        "{\"results\":[{\"command\":\"x\",\"times\":[0]}]}",
        "{\"results\":[{\"command\":\"x\",\"times\":[\"1\"]}]}",
        "{\"results\":[{\"command\":\"x\",\"times\":[1],\"exit_codes\":[2]}]}"};
    static const char good[] =
        "{\"results\":[{\"command\":\"x\",\"times\":[0.001, 2],\"exit_codes\":[0,0]}]}";
    FILE *file = open_text(good, strlen(good));
    struct csv_samples samples;

    assert_int_equal(csv_import_json(file, "f.json", NULL, &samples, NULL), STATUS_OK);
    fclose(file);
    assert_int_equal(samples.series_count, 1);
    assert_string_equal(samples.series[0].name, "x");
    assert_int_equal(samples.series[0].trials[0].count, 2);
    assert_true(samples.series[0].trials[0].sample_ns[0] == 1000000);
    assert_true(samples.series[0].trials[0].sample_ns[1] == 2000000000);
    csv_samples_finish(&samples);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error err = ERROR_INIT;

        file = open_text(wrong[i], strlen(wrong[i]));
        assert_int_equal(csv_import_json(file, "f.json", NULL, &samples, &err), STATUS_INVALID);
        assert_memory_equal(err.message, "f.json:", 7);
        fclose(file);
    }
}

TEST(odd_bytes)
{
    static const char nul[] = HEAD "a,1,5\0\n";
    size_t long_length = sizeof(HEAD) + 3000000;
    char *text = malloc(long_length);
    struct csv_samples samples;
    struct error err = ERROR_INIT;
    FILE *file = open_text(nul, sizeof(nul) - 1);

    assert_int_equal(csv_import_samples(file, "f.csv", NULL, &samples, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "NUL"));
    fclose(file);
    /* A quoted field of megabytes is refused before it fills the memory. */
    memset(text, 'x', long_length);
    memcpy(text, HEAD "\"", sizeof(HEAD));
    file = open_text(text, long_length);
    assert_int_equal(csv_import_samples(file, "f.csv", NULL, &samples, &err), STATUS_INVALID);
    fclose(file);
    free(text);
}

TEST(pairs)
{
    struct csv_pairs pairs;
    struct error err = ERROR_INIT;

    if (read_pairs("series,pair,arm,value_ns\nx,p2,b,2.5\nx,p1,a,1e3\nx,p2,a,3\ny,1,a,1\n"
                   "x,p1,b,7\ny,1,b,2\n",
                   &pairs, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(pairs.series_count, 2);
    assert_int_equal(pairs.series[0].count, 2);
    assert_true(pairs.series[0].a[0] == 3 && pairs.series[0].b[0] == 2.5);
    assert_true(pairs.series[0].a[1] == 1000 && pairs.series[0].b[1] == 7);
    csv_pairs_finish(&pairs);
}

TEST(bad_pairs)
{
#define PAIRS "series,pair,arm,value_ns\n"
    static const char *const cases[][2] = {
        {PAIRS, "f.csv:2: no pairs"},
        {PAIRS "x,1,a,1\n", "f.csv:2: \"x\": a pair of this series has no arm b"},
        {PAIRS "x,1,b,1\n", "f.csv:2: \"x\": a pair of this series has no arm a"},
        {PAIRS "x,1,c,1\n", "f.csv:2: \"c\": an arm is a or b"},
        {PAIRS "x,1,a,1\nx,1,a,2\n", "f.csv:3: \"1\": this pair already has"},
        {PAIRS "x,1,a,nan\n", "f.csv:2: \"nan\""},
        {PAIRS "x,1,a,inf\n", "f.csv:2: \"inf\""},
        {PAIRS "x,1,a,-1\n", "f.csv:2: \"-1\""},
        {PAIRS "x,1,a,0\n", "f.csv:2: \"0\""},
    };
    struct csv_pairs pairs;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = ERROR_INIT;

        assert_int_equal(read_pairs(cases[i][0], &pairs, &err), STATUS_INVALID);
        if (strncmp(err.message, cases[i][1], strlen(cases[i][1])))
            fail_msg("case %zu: %s", i, err.message);
    }
}

/* Rows without end are refused at the bound, long before memory runs out. */
struct endless {
    unsigned long long rows;
};

static ssize_t read_endless(void *cookie, char *buffer, size_t size)
{
    struct endless *endless = cookie;
    size_t used = 0;

    if (endless->rows == 0)
        used += (size_t)snprintf(buffer, size, HEAD);
    while (used + 8 < size) {
        memcpy(buffer + used, "a,1,7\n", 6);
        used += 6;
        endless->rows++;
    }
    return (ssize_t)used;
}

TEST(endless)
{
    struct endless endless = {0};
    cookie_io_functions_t functions = {.read = read_endless};
    FILE *file = fopencookie(&endless, "r", functions);
    struct csv_samples samples;
    struct error err = ERROR_INIT;
    char words[64];

    snprintf(words, sizeof(words), "more than %u rows", CSV_IMPORT_ROWS_MAX);
    assert_int_equal(csv_import_samples(file, "f.csv", NULL, &samples, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, words));
    fclose(file);
}
