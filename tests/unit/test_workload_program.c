/* Programs as workloads: how they are declared, what number is found in what they write, and how a
 * run ends that is not as declared. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "workloads/program/program.h"

/* The declaration with these lines in its section. */
static enum status parse(const char *section, struct workload *ret, struct error *err)
{
    char yaml[2048];

    snprintf(yaml, sizeof(yaml),
             "workload: mine\nversion: 1\nkind: program\ndescription: x\nprogram:\n%s", section);
    return workload_parse("mine.yaml", yaml, strlen(yaml), ret, err);
}

TEST(mistakes)
{
    static const struct {
        const char *section, *message;
    } rows[] = {
        {"  directory: .\n", "mine.yaml:"},
        {"  command: [\"\"]\n", "mine.yaml:6: the command is empty"},
        {"  command: [a]\n  timeout: 0s\n", "mine.yaml:7: timeout: write how long"},
        {"  command: [a]\n  warmup: -1\n", "mine.yaml:7: `warmup` is -1"},
        {"  command: [a]\n  exit_status: 256\n", "mine.yaml:7: `exit_status` is 256"},
        {"  command: [a]\n  environment: {set: [A]}\n", "mine.yaml:7: \"A\" is no variable"},
        {"  command: [a]\n  environment: {default: [\"=A\"]}\n", "\"=A\" is no variable"},
        {"  command: [a]\n  metric: {unit: s, better: lower}\n", "is said in no way"},
        {"  command: [a]\n  metric: {unit: s, better: lower, json: a, csv: b}\n", "several ways"},
        {"  command: [a]\n  metric: {unit: s, better: lower, pattern: \"a [0-9]+\"}\n",
         "does not say where the number is"},
        {"  command: [a]\n  metric: {unit: s, better: lower, pattern: \"a ([0-9]+\"}\n",
         "is no pattern"},
        {"  command: [a]\n  metric: {unit: s, better: lower, json: a, file: f, from: stderr}\n",
         "the number is read from `file`"},
        {"  command: [a]\n  metric: {unit: \"{s}\", better: lower, json: a}\n", "is no unit"},
        {"  command: [a]\n  outputs: [{path: f}]\n", "f needs its SHA-256"},
        {"  command: [a]\n  inputs: [{path: /no/such/file}]\n", "/no/such/file"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct workload workload = {0};
        struct error err = ERROR_INIT;

        assert_int_equal(parse(rows[i].section, &workload, &err), STATUS_INVALID);
        if (!strstr(err.message, rows[i].message))
            fail_msg("%s lacks \"%s\"", err.message, rows[i].message);
    }
}

/* ---- the number ---- */

struct number_row {
    struct program_metric metric;
    const char *text;
    double value; /* 0: an error with these words */
    const char *words;
};

#define P(text)                                                                                    \
    {                                                                                              \
        .unit = (char *)"x", .pattern = (char *)(text)                                             \
    }
#define TAKE(text, how)                                                                            \
    {                                                                                              \
        .unit = (char *)"x", .pattern = (char *)(text), .take = (how)                              \
    }
#define J(path)                                                                                    \
    {                                                                                              \
        .unit = (char *)"x", .json = (char *)(path)                                                \
    }
#define C(column, how)                                                                             \
    {                                                                                              \
        .unit = (char *)"x", .csv = (char *)(column), .take = (how)                                \
    }

static const struct number_row readings[] = {
    {P("rate: {value} t/s"), "x\nrate:   12.5 t/s\n", 12.5, NULL},
    {P("rate: {value} t/s"), "rate: 1e3 t/s", 1000, NULL},
    {P("(a+b) {value}"), "(a+b) 7", 7, NULL},
    {P("^n=([0-9.]+)$"), "m=1\nn=2.25\n", 2.25, NULL},
    {P("rate: {value}"), "rate: 1.e+03\n", 1000, NULL},
    {P("rate: {value}"), "rate: 5.\n", 5, NULL},
    {P("rate: {value}"), "rate: 1,5\n", 0, "1 is a part of a longer word"},
    {P("rate: {value}"), "rate: 1.234,5\n", 0, "1.234 is a part of a longer word"},
    {P("rate: {value}"), "rate: 1.5k\n", 0, "1.5 is a part of a longer word"},
    {P("rate: {value}"), "rate: 12\302\265s\n", 0, "12 is a part of a longer word"},
    {P("{value} t/s"), "1,234 t/s\n", 0, "234 is a part of a longer word"},
    {P("{value}, x"), "rate 1.5, x\n", 1.5, NULL},
    {P("{value}k"), "rate 1.5k\n", 1.5, NULL},
    {P("a,{value}"), "fp32,a,1.5, 3\n", 1.5, NULL},
    {P("rate: {value}"), "rate: NaN\n", 0, "no number at"},
    {P("rate: ([^ ]+)"), "rate: nan x\n", 0, "no finite number"},
    {P("rate: ([^ ]+)"), "rate: inf x\n", 0, "no finite number"},
    {P("rate: {value}"), "rate: 0\n", 0, "one above 0 is wanted"},
    {P("rate: {value}"), "rate: -3\n", 0, "one above 0 is wanted"},
    {P("rate: {value}"), "", 0, "no number at"},
    {P("x*([0-9]*)"), "", 0, "no number at"},
    {P("t {value}"), "t 1\nt 2\n", 0, "it has 2 numbers"},
    {TAKE("t {value}", PROGRAM_FIRST), "t 4\nt 2\nt 3\n", 4, NULL},
    {TAKE("t {value}", PROGRAM_LAST), "t 4\nt 2\nt 3\n", 3, NULL},
    {TAKE("t {value}", PROGRAM_MIN), "t 4\nt 2\nt 3\n", 2, NULL},
    {TAKE("t {value}", PROGRAM_MAX), "t 4\nt 2\nt 3\n", 4, NULL},
    {TAKE("t {value}", PROGRAM_SUM), "t 4\nt 2\nt 3\n", 9, NULL},
    {TAKE("t {value}", PROGRAM_MEAN), "t 4\nt 2\nt 3\n", 3, NULL},
    {TAKE("t {value}", PROGRAM_MEDIAN), "t 4\nt 2\nt 9\nt 3\n", 3.5, NULL},
    {J("a.b[1].c"), "log line\n{\"a\":{\"b\":[{},{\"c\":2.5}]}}\ntail", 2.5, NULL},
    {J("a"), "[INFO] {ready}\n[1.5 s] {\"a\":3}\n", 3, NULL},
    {J("a"), "{\"b\": {\"a\": 3}, \"c\"", 0, "no whole JSON"},
    {J("[0].x"), "[{\"x\":\"17\"}]", 17, NULL},
    {{.unit = (char *)"x", .json = (char *)"r[].t", .take = PROGRAM_SUM},
     "{\"r\":[{\"t\":1},{\"t\":2},{}]}",
     3,
     NULL},
    {J("a.c"), "{\"a\":{\"b\":1}}", 0, "no number at"},
    {J("a[9]"), "{\"a\":[1]}", 0, "no number at"},
    {J("a[1"), "{\"a\":[1]}", 0, "lacks a ]"},
    {J("a"), "{\"a\":NaN}", 0, "no whole JSON"},
    {J("a"), "nothing", 0, "no whole JSON"},
    {C("rate", PROGRAM_LAST), "name,rate\na,1.5\nb,2.5\n", 2.5, NULL},
    {C("rate", PROGRAM_ONE), "name,speed\na,1\n", 0, "no column \"rate\""},
    {C("rate", PROGRAM_ONE), "", 0, "it is empty"},
    {C("rate", PROGRAM_ONE), "rate\nx\n", 0, "no finite number"},
};

TEST(numbers)
{
    for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
        const struct number_row *row = &readings[i];
        struct error err = ERROR_INIT;
        double value = 0;
        const enum status status =
            program_find_number(&row->metric, row->text, strlen(row->text), &value, &err);

        if (row->value > 0) {
            if (status != STATUS_OK || fabs(value - row->value) > 1e-12)
                fail_msg("row %zu: %g and not %g: %s", i, value, row->value, err.message);
            continue;
        }
        if (status == STATUS_OK || !strstr(err.message, row->words))
            fail_msg("row %zu: \"%s\" lacks \"%s\"", i, err.message, row->words);
    }
}

/* ---- runs ---- */

/* A program of a shell's words, with a timeout. */
static struct program_section section_of(char **words, int64_t timeout_ns)
{
    return (struct program_section){.command = words, .command_count = 3, .timeout_ns = timeout_ns};
}

static enum status run_words(const char *script, int64_t timeout_ns, struct error *err)
{
    char *words[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)script};
    const struct program_section section = section_of(words, timeout_ns);
    struct program program;
    enum status status = program_open(&section, 1, &program, err);

    if (status == STATUS_OK)
        status = program_run(&program, NULL, err);
    program_close(&program);
    return status;
}

TEST(faults)
{
    static const struct {
        const char *script;
        enum status status;
        const char *message;
    } rows[] = {
        {"exit 0", STATUS_OK, ""},
        {"echo why >&2; exit 3", STATUS_CHECK_FAILED,
         "sh ended with exit status 3, and 0 is declared; its last output: why"},
        {"echo so far; kill -SEGV $$", STATUS_CRASHED, "was ended by signal 11"},
        {"echo before; sleep 1000", STATUS_TIMEOUT,
         "did not end within 300 ms, its declared "
         "timeout; its last output: before"},
        {"head -c 10000000 /dev/zero", STATUS_OK, ""},
        {"head -c 70000000 /dev/zero", STATUS_INVALID, "wrote more than 64 MiB"},
        {"echo again > /dev/stdout", STATUS_OK, ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = ERROR_INIT;
        const int64_t limit_ns =
            rows[i].status == STATUS_TIMEOUT ? 300000000 : INT64_C(600000000000);

        assert_int_equal(run_words(rows[i].script, limit_ns, &err), rows[i].status);
        if (!strstr(err.message, rows[i].message))
            fail_msg("\"%s\" lacks \"%s\"", err.message, rows[i].message);
    }
}

TEST(cannot_start)
{
    char *missing[] = {(char *)"/no/such/program", (char *)"a", (char *)"b"};
    char *folder[] = {(char *)"/", (char *)"a", (char *)"b"};
    struct program_section section = section_of(missing, 1000000000);
    struct program program;
    struct error err = ERROR_INIT;

    assert_int_equal(program_open(&section, 1, &program, &err), STATUS_OK);
    assert_int_equal(program_run(&program, NULL, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "cannot start /no/such/program"));
    program_close(&program);
    section.command = folder;
    assert_int_equal(program_open(&section, 1, &program, &err), STATUS_OK);
    assert_int_equal(program_run(&program, NULL, &err), STATUS_DENIED);
    program_close(&program);
    section.directory = (char *)"/no/such/folder";
    assert_int_equal(program_open(&section, 1, &program, &err), STATUS_OK);
    assert_int_not_equal(program_run(&program, NULL, &err), STATUS_OK);
    assert_non_null(strstr(err.message, "chdir"));
    program_close(&program);
}

/* What it left running, in its group or out of it, has ended. */
TEST(left_behind)
{
    char path[] = "/tmp/assay-left-XXXXXX";
    char script[256], line[64] = "";
    struct error err = ERROR_INIT;
    int fd = mkstemp(path), pids[2] = {0};
    FILE *file;

    assert_true(fd >= 0);
    close(fd);
    prctl(PR_SET_CHILD_SUBREAPER, 1UL);
    snprintf(script, sizeof(script), "sleep 1000 & echo $! > %s; setsid sleep 1001 & echo $! >> %s",
             path, path);
    assert_int_equal(run_words(script, INT64_C(600000000000), &err), STATUS_OK);
    process_end_adopted();
    prctl(PR_SET_CHILD_SUBREAPER, 0UL);
    file = fopen(path, "re");
    assert_non_null(file);
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(fgets(line, sizeof(line), file));
        pids[i] = atoi(line);
        assert_true(pids[i] > 1);
        assert_int_not_equal(kill(pids[i], 0), 0);
    }
    fclose(file);
    unlink(path);
}

/* A run and its children show the files that they map; where tracing is not allowed, it says so. */
TEST(trace)
{
    char *words[] = {(char *)"sh", (char *)"-c", (char *)"env true; true"};
    const struct program_section section = section_of(words, INT64_C(600000000000));
    struct program_trace trace = {0};
    struct program program;
    struct error err = ERROR_INIT;
    bool has_env = false;

    assert_int_equal(program_open(&section, 1, &program, &err), STATUS_OK);
    assert_int_equal(program_run(&program, &trace, &err), STATUS_OK);
    assert_int_equal(trace.followed_count, 0);
    for (size_t i = 0; i < trace.count; i++)
        has_env = has_env || strstr(trace.paths[i], "true") ||
                  strstr(trace.paths[i], "coreutils") || strstr(trace.paths[i], "busybox");
    program_trace_hold(&trace);
    if (trace.refused)
        assert_int_equal(trace.page_count, 0);
    else
        assert_true(has_env && trace.page_count > 0);
    program_trace_finish(&trace);
    program_close(&program);
}

/* Neither a program that cannot be executed nor one that has rights of its own is followed. */
TEST(not_traced)
{
    char *missing[] = {(char *)"/no/such/program", (char *)"a", (char *)"b"},
         *owned[] = {(char *)"/tmp/assay_test_setuid", (char *)"a", (char *)"b"};
    struct program_section section = section_of(missing, INT64_C(600000000000));
    struct program_trace trace = {0};
    struct program program;
    struct error err = ERROR_INIT;

    assert_int_equal(program_open(&section, 1, &program, &err), STATUS_OK);
    assert_int_equal(program_run(&program, &trace, &err), STATUS_NOT_FOUND);
    assert_int_equal(trace.followed_count, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    program_close(&program);

    assert_int_equal(
        system("cp /bin/true /tmp/assay_test_setuid && chmod 4755 /tmp/assay_test_setuid"), 0);
    section = section_of(owned, INT64_C(600000000000));
    assert_int_equal(program_open(&section, 1, &program, &err), STATUS_OK);
    assert_int_equal(program_run(&program, &trace, &err), STATUS_OK);
    assert_true(trace.refused && trace.count == 0);
    program_close(&program);
    unlink(owned[0]);
}

TEST(environment)
{
    char *set[] = {(char *)"A_SET=1"}, *otherwise[] = {(char *)"A_HERE=no", (char *)"A_DEFAULT=2"};
    char *pass[] = {(char *)"PATH", (char *)"A_HERE"};
    char *words[] = {
        (char *)"sh", (char *)"-c",
        (char *)"test \"${A_SET}{A_SET}{batch}{x}\" = 115{x} && test {A_HERE} = yes && "
                "test {A_DEFAULT} = 2 && test -z \"$A_AWAY\""};
    struct program_section section = section_of(words, INT64_C(600000000000));
    struct program program;
    struct error err = ERROR_INIT;

    setenv("A_SET", "0", 1);
    setenv("A_HERE", "yes", 1);
    setenv("A_AWAY", "3", 1);
    section.environment = (struct program_environment){set, otherwise, pass, 1, 2, 2};
    assert_int_equal(program_open(&section, 5, &program, &err), STATUS_OK);
    assert_int_equal(program_run(&program, NULL, &err), STATUS_OK);
    program_close(&program);
    words[2] = (char *)"{A_MISSING}";
    assert_int_equal(program_open(&section, 5, &program, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "{A_MISSING}"));
    program_close(&program);
}
