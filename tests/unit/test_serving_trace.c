#include "protocols/serving/arrivals.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

static const struct trace_columns azure = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"};

static enum status read_text(const char *text, const struct trace_columns *columns,
                             struct trace *ret, struct error *err)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    enum status status;

    assert_non_null(file);
    status = trace_read(file, "t.csv", columns, ret, err);
    fclose(file);
    return status;
}

static struct trace read_good(const char *text, const struct trace_columns *columns)
{
    struct trace trace = {0};
    struct error err = ERROR_INIT;

    if (read_text(text, columns, &trace, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return trace;
}

TEST(forms)
{
    static const char *const texts[] = {
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n"
        "2023-11-16 18:17:04.0319600,3180,8\r\n2023-11-16 18:17:05,110,27",
        "x,GeneratedTokens,ContextTokens,TIMESTAMP\n,10,4808,2023-11-16T18:17:03.97996Z\n"
        ",8,3180,2023-11-16T18:17:04.03196+00:00\n\n,27,110,2023-11-16T18:17:05Z\n",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n-1,4808,10\n-0.948,3180,8\n0.02004,110,27\n"};

    for (size_t i = 0; i < 3; i++) {
        struct trace trace = read_good(texts[i], &azure), first = read_good(texts[0], &azure);

        assert_int_equal(trace.count, 3);
        assert_int_equal(trace.requests[0].at_ns, 0);
        assert_int_equal(trace.requests[1].at_ns, 52000000);
        assert_int_equal(trace.requests[2].at_ns, 1020040000);
        assert_int_equal(trace.requests[1].prompt_tokens, 3180);
        assert_int_equal(trace.requests[2].output_tokens, 27);
        assert_true(digest_equal(&trace.digest, &first.digest));
        trace_finish(&trace);
        trace_finish(&first);
    }
    trace_finish(NULL);
}

TEST(schedule)
{
    struct trace trace =
        read_good("t,p,o\n0,1,2\n1,3,4\n1,5,6\n4,7,8\n", &(struct trace_columns){"t", "p", "o"});
    struct arrivals a = {.process = ARRIVAL_TRACE, .trace = &trace, .scale = 2};
    const struct arrivals poisson = {.process = ARRIVAL_POISSON};
    const struct lengths joint = {.joint = &trace};
    struct schedule s;
    int seen[10] = {0};

    assert_int_equal(schedule_make(&a, &joint, 0, (struct schedule_extent){0, 0}, 1, &s, NULL), 0);
    assert_int_equal(s.count, 4);
    assert_int_equal(s.requests[1].at_ns, 500000000);
    assert_int_equal(s.requests[3].at_ns, 2000000000);
    assert_int_equal(s.requests[3].output_tokens, 8);
    assert_int_equal(s.window_ns, 2666666666); /* the mean gap after the last */
    assert_true(fabs(arrivals_mean_rate(&a, 0) - 1.5) < 1e-12);
    schedule_finish(&s);
    assert_int_equal(
        schedule_make(&a, &joint, 0, (struct schedule_extent){0, 1000000000}, 1, &s, NULL), 0);
    assert_int_equal(s.count, 3);
    schedule_finish(&s);
    assert_int_equal(schedule_make(&a, &joint, 0, (struct schedule_extent){5, 0}, 1, &s, NULL),
                     STATUS_INVALID);
    assert_int_equal(schedule_make(&a, &joint, 1, (struct schedule_extent){2, 0}, 1, &s, NULL),
                     STATUS_INVALID);
    assert_int_equal(
        schedule_make(&a, &joint, 0, (struct schedule_extent){0, 2000000001}, 1, &s, NULL),
        STATUS_INVALID);
    a.scale = 0;
    assert_int_equal(schedule_make(&a, &joint, 0, (struct schedule_extent){2, 0}, 1, &s, NULL),
                     STATUS_INVALID);
    /* Rows drawn for arrivals of their own: both columns of one row. */
    assert_int_equal(
        schedule_make(&poisson, &joint, 5, (struct schedule_extent){4000, 0}, 1, &s, NULL), 0);
    for (size_t i = 0; i < s.count; i++) {
        assert_int_equal(s.requests[i].output_tokens, s.requests[i].prompt_tokens + 1);
        seen[s.requests[i].prompt_tokens]++;
    }
    for (int i = 1; i < 9; i += 2)
        assert_in_range(seen[i], 850, 1150);
    schedule_finish(&s);
    trace_finish(&trace);
}

/* Numbers are of the declared unit; those of nanoseconds since 1970 are exact. */
TEST(units)
{
    static const struct {
        const char *text, *unit;
        int64_t second, third;
    } cases[] = {{"t\n0\n7\n1000\n", "s", 7000000000, 1000000000000},
                 {"t\n0\n7\n1000.5\n", "ms", 7000000, 1000500000},
                 {"t\n-5\n7\n1000\n", "us", 12000, 1005000},
                 {"t\n1700000000000\n1700000000001\n1700000000500\n", "ms", 1000000, 500000000},
                 {"t\n1700000000000000001\n1700000000000000003\n1700000000000000010\n", "ns", 2, 9},
                 {"t\n1700000000\n1700000001\n1700000002.5\n", NULL, 1000000000, 2500000000},
                 {"t\n1700000000\n1700000300\n1700000600\n", "s", 300000000000, 600000000000}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct trace_columns columns = {.time = "t", .unit = cases[i].unit};
        struct trace trace = read_good(cases[i].text, &columns);

        assert_int_equal(trace.requests[1].at_ns, cases[i].second);
        assert_int_equal(trace.requests[2].at_ns, cases[i].third);
        trace_finish(&trace);
    }
}

/* A unit is never guessed: what does not look like seconds is refused with what to declare. */
TEST(unlikely_seconds)
{
    static const struct {
        const char *column, *text, *message;
    } cases[] = {
        {"t", "0\n120\n250\n3600000\n",
         "t.csv: times look like milliseconds (median gap 130, last 3600000): declare `unit: ms`"},
        {"t", "0\n12.5\n25.25\n40\n", "t.csv: times look like milliseconds (median gap 12.75"},
        {"t", "0\n0\n40000\n80000\n", "t.csv: times look like microseconds"},
        {"t", "0\n30000000\n50000000\n", "t.csv: times look like nanoseconds"},
        {"t", "1700000000000\n1700000000100\n",
         "t.csv:2: '1700000000000' looks like milliseconds since 1970: declare `unit: ms`"},
        {"t", "1700000000000000\n", "t.csv:2: '1700000000000000' looks like microseconds"},
        {"t", "1700000000000000000\n", "t.csv:2: '1700000000000000000' looks like nanoseconds"},
        {"sent_ms", "0\n1\n2\n", "t.csv: by the name of the column 'sent_ms' its times are"},
        {"time_ns", "0\n1\n2\n", "t.csv: by the name of the column 'time_ns' its times are"},
        {"milliseconds", "0.5\n1\n2\n", "t.csv: by the name of the column 'milliseconds'"}};
    static const struct {
        const char *column, *text;
    } good[] = {{"t", "0\n1\n3\n5\n"},
                {"t", "0.0\n0.25\n8\n"},
                {"t_s", "0\n600\n1200\n"},
                {"seconds", "0\n600\n1200\n"}};
    char text[200];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct trace_columns columns = {.time = cases[i].column};
        struct trace trace = {0};
        struct error err = ERROR_INIT;

        snprintf(text, sizeof(text), "%s\n%s", cases[i].column, cases[i].text);
        assert_int_equal(read_text(text, &columns, &trace, &err), STATUS_INVALID);
        if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("'%s', expected '%s'", err.message, cases[i].message);
    }
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        const struct trace_columns columns = {.time = good[i].column};
        struct trace trace;

        snprintf(text, sizeof(text), "%s\n%s", good[i].column, good[i].text);
        trace = read_good(text, &columns);
        trace_finish(&trace);
    }
}

/* What is stored is what was read, and nothing else is taken for a trace. */
TEST(stored)
{
    static const char *const bad[] = {
        "{}",
        "{'at_ns':[0,1],'prompt_tokens':[1,1],'output_tokens':[1]}",
        "{'at_ns':[1,2],'prompt_tokens':[1,1],'output_tokens':[1,1]}",
        "{'at_ns':[0,0],'prompt_tokens':[1,1],'output_tokens':[1,1]}",
        "{'at_ns':[0,2,1],'prompt_tokens':[1,1,1],'output_tokens':[1,1,1]}",
        "{'at_ns':[0,1],'prompt_tokens':[1,-1],'output_tokens':[1,1]}",
        "{'at_ns':[0,1.5],'prompt_tokens':[1,1],'output_tokens':[1,1]}"};
    struct trace trace =
        read_good("t,p,o\n0,1,2\n1,3,4\n1,5,6\n4,7,8\n", &(struct trace_columns){"t", "p", "o"});
    struct trace again = {0};
    json_t *json = trace_to_json(&trace);

    assert_int_equal(trace_from_json(json, &again, NULL), STATUS_OK);
    assert_int_equal(again.count, trace.count);
    assert_memory_equal(again.requests, trace.requests, trace.count * sizeof(*trace.requests));
    assert_true(digest_equal(&again.digest, &trace.digest));
    assert_int_equal(trace_cut(&again, 5, NULL), STATUS_INVALID);
    assert_int_equal(trace_cut(&again, 1, NULL), STATUS_INVALID);
    assert_int_equal(trace_cut(&again, 2, NULL), STATUS_OK);
    assert_int_equal(again.count, 2);
    assert_false(digest_equal(&again.digest, &trace.digest));
    trace_finish(&again);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char text[120];
        json_t *wrong;

        snprintf(text, sizeof(text), "%s", bad[i]);
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        wrong = json_loads(text, 0, NULL);
        assert_non_null(wrong);
        assert_int_equal(trace_from_json(wrong, &again, NULL), STATUS_INVALID);
        json_decref(wrong);
    }
    json_decref(json);
    trace_finish(&trace);
}

TEST(refusals)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.csv:1: the file is empty"},
        {"\x1f\x8b\x08", "t.csv: is gzip: run `gunzip -k FILE`"},
        {"\xff\xfeT", "t.csv: is UTF-16"},
        {"{\"timestamp\": 0, \"input_length\": 5}\n", "t.csv:1: this is JSON, not CSV"},
        {"[{\"timestamp\": 0}]\n", "t.csv:1: this is JSON, not CSV"},
        {"TIMESTAMP;ContextTokens;GeneratedTokens\n0,5;1;1\n", "t.csv:1: semicolons divide"},
        {"TIMESTAMP\tContextTokens\tGeneratedTokens\n0\t1\t1\n", "t.csv:1: tabs divide"},
        {"TIMESTAMP,ContextTokens\n1,2\n", "t.csv:1: there is no column 'GeneratedTokens'"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n", "t.csv: 0 requests at no moment"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n1,1,1\n1,1,1\n", "t.csv: 2 requests at one"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n2,1,1\n1,1,1\n", "t.csv:3: it came before"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n1,1,1\n2,0,1\n", "t.csv:3: a request without"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n1,1,1\n2,1,0\n", "t.csv:3: a request without"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n1,1,1\n2,1,-1\n",
         "t.csv:3: '-1' is not a number"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n1,1,1\n2,1,100000001\n", "t.csv:3: '100000001'"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n1,1,1\n2,1\n", "t.csv:3: too few fields"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\nnan,1,1\n", "t.csv:2: 'nan' is not a time"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n7d,1,1\n", "t.csv:2: '7d' is not a time"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.x,1,1\n",
         "t.csv:2: '2023-11-16 18:17:03.x' is not a time"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-02-30 18:17:03,1,1\n",
         "t.csv:2: '2023-02-30 18:17:03' is not a time"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n1,1,1\n2023-11-16 18:17:03,1,1\n",
         "t.csv:3: '2023-11-16 18:17:03' is not a time"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct trace trace = {.count = 99};
        struct error err = ERROR_INIT;

        assert_int_equal(read_text(cases[i].text, &azure, &trace, &err), STATUS_INVALID);
        if (strncmp(err.message, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("'%s', expected '%s'", err.message, cases[i].message);
        assert_int_equal(trace.count, 99);
    }
}

/* Counted with awk; the file is not part of this repository: ASSAY_TEST_TRACES names its folder. */
TEST(azure)
{
    static const struct {
        const char *name;
        size_t count;
        uint64_t prompt, output;
        double cv; /* of the gaps */
    } files[] = {{"code.csv", 8819, 18059974, 245896, 13.2},
                 {"conv.csv", 19366, 22361870, 4088665, 1.09}};
    const char *folder = getenv("ASSAY_TEST_TRACES");

    if (!folder) {
        print_message("ASSAY_TEST_TRACES is not set\n");
        skip();
    }
    for (size_t k = 0; k < 2; k++) {
        struct trace trace = {0};
        struct error err = ERROR_INIT;
        uint64_t prompt = 0, output = 0;
        double mean, squares = 0;
        char path[4096];
        FILE *file;

        snprintf(path, sizeof(path), "%s/%s", folder, files[k].name);
        file = fopen(path, "r");
        if (!file)
            skip();
        if (trace_read(file, files[k].name, &azure, &trace, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        fclose(file);
        for (size_t i = 0; i < trace.count; i++) {
            prompt += trace.requests[i].prompt_tokens;
            output += trace.requests[i].output_tokens;
        }
        mean = (double)trace.requests[trace.count - 1].at_ns / (double)(trace.count - 1);
        for (size_t i = 1; i < trace.count; i++)
            squares += pow((double)(trace.requests[i].at_ns - trace.requests[i - 1].at_ns), 2);
        assert_true(
            fabs(sqrt(squares / (double)(trace.count - 1) / (mean * mean) - 1) / files[k].cv - 1) <
            0.01);
        assert_int_equal(trace.count, files[k].count);
        assert_int_equal(prompt, files[k].prompt);
        assert_int_equal(output, files[k].output);
        trace_finish(&trace);
    }
}
