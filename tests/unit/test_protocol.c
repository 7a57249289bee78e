#include "protocols/protocol.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/canonical.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "tests/support/unit.h"

#define SECOND INT64_C(1000000000)

static char directory[] = "/tmp/assay-protocol-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    /* Messages name files; relative names keep them the same everywhere. */
    return mkdtemp(directory) && !chdir(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
    char *command = text_format("rm -rf '%s'", directory);
    int result = system(command);

    (void)state;
    free(command);
    return result;
}

static void write_file(const char *name, const char *yaml)
{
    struct error err = ERROR_INIT;

    assert_int_equal(file_write_atomic(name, yaml, strlen(yaml), 0600, &err), STATUS_OK);
}

static void load(const char *yaml, struct protocol *ret)
{
    struct error err = ERROR_INIT;

    write_file("p.yaml", yaml);
    if (protocol_load("p.yaml", ret, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

/* "quick, standard, soak" and what else is built in. */
static char *builtin_list(void)
{
    struct text list;
    size_t count;
    const struct protocol_builtin *all = protocol_builtins(&count);

    text_init(&list);
    for (size_t i = 0; i < count; ++i)
        text_append_format(&list, "%s%s", i ? ", " : "", all[i].name);
    return text_steal(&list);
}

static void expect_error_line(const char *yaml, const char *message, int line)
{
    struct protocol protocol;
    struct error err = ERROR_INIT;
    enum status status;

    write_file("p.yaml", yaml);
    status = protocol_load("p.yaml", &protocol, &err);
    if (status != STATUS_INVALID || strcmp(err.message, message))
        print_error("line %d: %s \"%s\"\n     expected \"%s\"\n", line, status_name(status),
                    err.message, message);
    assert_int_equal(status, STATUS_INVALID);
    assert_string_equal(err.message, message);
}
#define expect_error(yaml, message) expect_error_line(yaml, message, __LINE__)

TEST(builtins)
{
    static const char *const first[] = {"quick", "standard", "soak"};
    struct error err = ERROR_INIT;
    size_t count;
    const struct protocol_builtin *all = protocol_builtins(&count);

    assert_true(count >= 3);
    for (size_t i = 0; i < 3; ++i)
        assert_string_equal(all[i].name, first[i]);
    for (size_t i = 0; i < count; ++i) {
        struct protocol protocol, from_file, from_json;
        char *path = text_format("%s/%s.yaml", DECLARED_DIRECTORY, all[i].name);

        if (protocol_find(all[i].name, &protocol, &err) != STATUS_OK)
            fail_msg("%s", err.message);
        assert_string_equal(protocol.name, all[i].name);
        /* The embedded text is the file, and the stored form gives the same identity. */
        assert_int_equal(protocol_find(path, &from_file, &err), STATUS_OK);
        assert_true(digest_equal(&protocol.digest, &from_file.digest));
        assert_int_equal(protocol_from_json(protocol.json, &from_json, &err), STATUS_OK);
        assert_true(digest_equal(&protocol.digest, &from_json.digest));
        assert_true(json_equal(protocol.json, from_json.json));
        assert_string_equal(protocol.description, from_json.description);
        assert_int_equal(protocol.required_count, from_json.required_count);
        assert_int_equal(protocol.window_ns, from_json.window_ns);
        protocol_finish(&from_json);
        protocol_finish(&from_file);
        protocol_finish(&protocol);
        free(path);
    }
}

TEST(quick)
{
    struct protocol p;
    struct error err = ERROR_INIT;

    assert_int_equal(protocol_find("quick", &p, &err), STATUS_OK);
    assert_false(p.evidence);
    assert_int_equal(p.version, 2);
    assert_int_equal(p.trials, 8);
    assert_int_equal(p.warmup_iterations, 1);
    assert_int_equal(p.warmup_ns, SECOND / 10);
    assert_int_equal(p.window_ns, SECOND / 5);
    assert_int_equal(p.window_min_samples, 3);
    assert_int_equal(p.min_sample_ns, 200000);
    assert_int_equal(p.trial_timeout_ns, 60 * SECOND);
    assert_int_equal(p.cache, PROTOCOL_CACHE_HOT);
    assert_true(p.flush_denormals);
    assert_int_equal(p.required_count, 0);
    assert_int_equal(p.estimate.percentile_count, 3);
    protocol_finish(&p);
    protocol_finish(&p);
    protocol_finish(NULL);
}

TEST(standard_and_soak)
{
    struct protocol standard, soak;
    struct error err = ERROR_INIT;

    assert_int_equal(protocol_find("standard", &standard, &err), STATUS_OK);
    assert_true(standard.evidence);
    assert_int_equal(standard.trials, 10);
    assert_int_equal(standard.warmup_ns, 3 * SECOND);
    assert_int_equal(standard.window_ns, 10 * SECOND);
    assert_int_equal(standard.window_min_samples, 100);
    assert_true(standard.estimate.confidence == 0.95);
    assert_int_equal(standard.estimate.percentile_count, 5);
    assert_true(standard.estimate.percentiles[4] == 0.999);
    assert_true(standard.required_count >= 5);
    assert_string_equal(standard.required[0], "device.name");
    assert_int_equal(protocol_find("soak", &soak, &err), STATUS_OK);
    assert_false(soak.evidence);
    assert_int_equal(soak.trials, 3);
    assert_int_equal(soak.window_ns, 3600 * SECOND);
    assert_int_equal(soak.warmup_ns, standard.warmup_ns); /* from its base */
    assert_int_equal(soak.required_count, standard.required_count);
    assert_string_not_equal(soak.description, standard.description);
    assert_false(digest_equal(&soak.digest, &standard.digest));
    protocol_finish(&soak);
    protocol_finish(&standard);
}

TEST(derived)
{
    struct protocol p, again, standard;
    struct error err = ERROR_INIT;

    load("name: mine\nextends: standard\ntrials: 20\nwindow:\n  time: 20s\n", &p);
    assert_int_equal(protocol_find("standard", &standard, &err), STATUS_OK);
    assert_string_equal(p.name, "mine");
    assert_int_equal(p.trials, 20);
    assert_int_equal(p.window_ns, 20 * SECOND);
    assert_int_equal(p.window_min_samples, standard.window_min_samples);
    /* The description of standard, "ten trials of ten seconds", does not apply to it. */
    assert_string_equal(p.description, "As standard but for trials, window.time");
    assert_false(digest_equal(&p.digest, &standard.digest));
    /* Identity is what is declared, not how it is spelled. */
    load("# mine\nwindow: {time: \"20000ms\"} # long\ntrials: 20\nextends: \"standard\"\n"
         "name: 'mine'\nanalysis: {confidence: 0.950}\n",
         &again);
    assert_true(digest_equal(&p.digest, &again.digest));
    protocol_finish(&again);
    load("name: mine\nextends: standard\ntrials: 20\nwindow:\n  time: 21s\n", &again);
    assert_false(digest_equal(&p.digest, &again.digest));
    protocol_finish(&again);
    protocol_finish(&standard);
    protocol_finish(&p);

    /* Lists replace the base's; a base may be a file next to the one that names it. */
    assert_int_equal(file_make_directories("sub/deep", 0700, &err), STATUS_OK);
    write_file("sub/base.yaml", "name: base\nextends: standard\nrequired: [device.name]\n"
                                "cache:\n  state: cold\n");
    write_file("sub/deep/top.yaml", "name: top\nextends: ../base.yaml\n"
                                    "analysis:\n  percentiles: [0.5]\n");
    if (protocol_find("sub/deep/top.yaml", &p, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(p.cache, PROTOCOL_CACHE_COLD);
    assert_int_equal(p.required_count, 1);
    assert_int_equal(p.estimate.percentile_count, 1);
    assert_int_equal(p.trials, 10);
    protocol_finish(&p);
}

#define WHOLE                                                                                      \
    "name: whole\nversion: 2\ndescription: all of it\nevidence: false\ntrials: 1\nseed: 1\n"       \
    "warmup: {iterations: 0, time: 0s}\n"                                                          \
    "window: {time: 1s, min_samples: 1, max_time: 1s, max_samples: 10}\n"                          \
    "sample: {min_time: 0s}\ntrial_timeout: 1s\ncooldown: 0s\ncache: {state: cold}\n"              \
    "flush_denormals: false\n"

TEST(whole)
{
    struct protocol p;
    struct estimate_options defaults = estimate_options_default();
    struct error err = ERROR_INIT;
    char *text;

    load(WHOLE, &p);
    assert_true(p.estimate.confidence == defaults.confidence);
    assert_int_equal(p.estimate.percentile_count, defaults.percentile_count);
    protocol_finish(&p);
    load(WHOLE "analysis: {confidence: 0.9, steady_tolerance: 0.1, drift_tolerance: 0.2, "
               "min_ess: 3, margin: 0.04, percentiles: [0.25, 0.75]}\nrequired: [a.b, c]\n",
         &p);
    assert_int_equal(canonical_dump(p.json, &text, &err), STATUS_OK);
    assert_string_equal(
        text, "{\"analysis\":{\"confidence\":0.9,\"drift_tolerance\":0.2,\"margin\":0.04,"
              "\"min_ess\":3,\"percentiles\":[0.25,0.75],\"steady_tolerance\":0.1},"
              "\"cache\":{\"flush_factor\":4,\"state\":\"cold\"},\"cooldown_ns\":0,"
              "\"description\":\"all of it\",\"evidence\":false,\"flush_denormals\":false,"
              "\"name\":\"whole\",\"required\":[\"a.b\",\"c\"],"
              "\"sample\":{\"min_time_ns\":0},\"seed\":1,\"trial_timeout_ns\":1000000000,"
              "\"trials\":1,\"version\":2,\"warmup\":{\"iterations\":0,\"time_ns\":0},"
              "\"window\":{\"max_samples\":10,\"max_time_ns\":1000000000,\"min_samples\":1,"
              "\"time_ns\":1000000000}}");
    free(text);
    protocol_finish(&p);
}

TEST(impossible)
{
    expect_error("name: a\nextends: standard\ntrials: 3\n",
                 "p.yaml:3: \"trials\" is 3, but evidence needs at least 5 processes to know the "
                 "spread between them; write 5 or more, or \"evidence: false\"");
    expect_error("name: a\nextends: soak\n\nevidence: true\n",
                 "p.yaml:4: \"trials\" is 3, but evidence needs at least 5 processes to know the "
                 "spread between them; write 5 or more, or \"evidence: false\"");
    expect_error("name: a\nextends: standard\nspread: 72h\n",
                 "p.yaml:3: \"spread\" is over 3 days, which are too few to know how days differ; "
                 "write 24h or less, 120h or more, or \"evidence: false\"");
    expect_error("name: a\nextends: standard\nrequired: []\n",
                 "p.yaml:3: \"required\" is empty, but evidence must say what it was measured on; "
                 "list readings such as device.name, or write \"evidence: false\"");
    expect_error(
        "name: a\nextends: quick\nwindow:\n  time: 1s\n  max_time: 500ms\n",
        "p.yaml:5: \"window.max_time\" (500ms) is shorter than \"window.time\" (1s); write "
        "1s or more");
    expect_error("name: a\nextends: quick\nwindow:\n  time: 1h\n",
                 "p.yaml:4: \"window.max_time\" (5s) is shorter than \"window.time\" (1h); write "
                 "1h or more");
    expect_error("name: a\nextends: quick\nwindow:\n  min_samples: 100001\n",
                 "p.yaml:4: \"window.max_samples\" (100000) is less than \"window.min_samples\" "
                 "(100001); write 100001 or more");
    expect_error("name: a\nextends: quick\nsample:\n  min_time: 2s\n",
                 "p.yaml:4: 3 samples (\"window.min_samples\") of at least 2s (\"sample.min_time\")"
                 " take longer than \"window.max_time\" (5s); write fewer or shorter samples, or a "
                 "longer limit");
    expect_error("name: a\nextends: quick\nanalysis:\n  confidence: 95\n",
                 "p.yaml:4: \"analysis.confidence\" is 95; write a number between 0.5 and 1, 0.95 "
                 "say");
    expect_error("name: a\nextends: quick\nanalysis:\n  confidence: 0.5\n",
                 "p.yaml:4: \"analysis.confidence\" is 0.5; write a number between 0.5 and 1, 0.95 "
                 "say");
    expect_error("name: a\nextends: quick\nanalysis:\n  margin: 0\n",
                 "p.yaml:4: \"analysis.margin\" is 0; write a number from 1e-06 to 0.5");
    expect_error("name: a\nextends: quick\nanalysis:\n  compare_by: mode\n",
                 "p.yaml:4: \"analysis.compare_by\" is \"mode\", which is not one of mean, median; "
                 "write one of these");
    expect_error("name: a\nextends: quick\nanalysis:\n  percentiles: [0.5,\n    99]\n",
                 "p.yaml:5: percentile 99; write a number between 0 and 1, p99 as 0.99");
    expect_error("name: a\nextends: quick\nanalysis:\n  percentiles: [0.5, 0.5]\n",
                 "p.yaml:4: percentile 0.5 stands after 0.5; write them in ascending order, each "
                 "once");
    expect_error("name: a\nextends: quick\ntrials: 0\n",
                 "p.yaml:3: \"trials\" is 0; write a number from 1 to 10000");
    expect_error("name: a\nextends: quick\ntrials: -1\n",
                 "p.yaml:3: \"trials\" is -1; write a number from 1 to 10000");
    expect_error("name: a\nextends: quick\ntrial_timeout: 10ms\n",
                 "p.yaml:3: \"trial_timeout\" is 10ms; write a duration from 1s to 24h");
    expect_error("name: a\nextends: quick\ncache:\n  flush_factor: 0\n",
                 "p.yaml:4: \"cache.flush_factor\" is 0; write a number from 1 to 64");
    expect_error(
        "name: My Protocol\nextends: quick\n",
        "p.yaml:1: \"name\" is \"My Protocol\"; write lower-case letters, digits, _, . and "
        "- only");
    expect_error(
        "name: a\nextends: quick\nrequired: [Device Name]\n",
        "p.yaml:3: \"Device Name\" is no name of a reading; write one such as device.name");
    expect_error("name: a\nextends: quick\nrequired:\n- x\n- x\n",
                 "p.yaml:5: \"x\" is required twice; take one out");
    expect_error("name: quick\nextends: quick\ntrials: 4\n",
                 "p.yaml: \"name\" is \"quick\", which is a built-in protocol with other clauses; "
                 "write a name of your own");
}

TEST(wrong_text)
{
    expect_error("name: a\ntrials: 5\n",
                 "p.yaml:1: clause \"version\" is missing; write it, or begin with \"extends: "
                 "standard\" and write only what differs");
    expect_error("name: a\nextends: standard\nwindow:\n  tiem: 1s\n",
                 "p.yaml:4: unknown key \"tiem\" in \"window\"; did you mean \"time\"? Keys here: "
                 "time, min_samples, max_time, max_samples, gaps");
    expect_error(
        "name: a\nextends: standard\nwindow:\n  time: 10\n",
        "p.yaml:4: \"window.time\" is \"10\", but should be a duration; write a number and "
        "one of ns, us, ms, s, min, h, e.g. 250ms");
    expect_error(
        "name: a\nextends: standard\ncache: {state: warm}\n",
        "p.yaml:3: \"cache.state\" is \"warm\", which is not one of hot, cold; write one of "
        "these");
}

/* Clauses that standard lacks have the old default; evidence verifies each trial. */
TEST(later_clauses)
{
    struct protocol p;
    struct error err = ERROR_INIT;

    assert_int_equal(protocol_find("standard", &p, &err), STATUS_OK);
    assert_int_equal(p.verification, PROTOCOL_VERIFY_EACH_TRIAL);
    assert_null(json_object_get(p.json, "verification"));
    assert_null(json_object_get(p.json, "reference"));
    protocol_finish(&p);
    assert_int_equal(protocol_find("quick", &p, &err), STATUS_OK);
    assert_int_equal(p.verification, PROTOCOL_VERIFY_FIRST_TRIAL);
    assert_true(p.trials >= 8);
    protocol_finish(&p);
    expect_error("name: a\nextends: standard\nverification: first_trial\n",
                 "p.yaml:3: \"verification\" is first_trial, but evidence compares the outputs of "
                 "every trial with the reference; write each_trial, or \"evidence: false\"");
}

/* Declared, it is part of the identity; where it is not, the protocol is what it was before. */
TEST(share_of_gaps)
{
    struct protocol with, without;
    struct error err = ERROR_INIT;

    write_file("with.yaml", "name: a\nextends: quick\nwindow: {gaps: 0.05}\n");
    write_file("without.yaml", "name: a\nextends: quick\ndescription: one\n");
    assert_int_equal(protocol_load("with.yaml", &with, &err), STATUS_OK);
    assert_int_equal(protocol_load("without.yaml", &without, &err), STATUS_OK);
    assert_float_equal(
        json_real_value(json_object_get(json_object_get(with.json, "window"), "gaps")), 0.05, 0);
    assert_null(json_object_get(json_object_get(without.json, "window"), "gaps"));
    assert_string_equal(with.description, "As quick but for window.gaps");
    protocol_finish(&with);
    protocol_finish(&without);
    expect_error("name: a\nextends: quick\nwindow:\n  gaps: 0.6\n",
                 "p.yaml:4: \"window.gaps\" is 0.6; write a number from 0 to 0.5");
}

TEST(extends)
{
    struct protocol p;
    struct error err = ERROR_INIT;
    char *here = getcwd(NULL, 0), *list = builtin_list(), *message;

    message =
        text_format("p.yaml:2: \"extends\" is \"standrad\", which is no built-in protocol; did "
                    "you mean \"standard\"? There are %s, or write a path that ends in .yaml",
                    list);
    expect_error("name: a\nextends: standrad\n", message);
    free(message);
    free(list);
    expect_error("name: a\nextends: ./none.yaml\n",
                 "p.yaml:2: \"extends\" names ./none.yaml, but there is no such file; check the "
                 "path, or write the name of a built-in protocol");
    write_file("bad.yaml", "name: bad\nextends: quick\n\ntrials: many\n");
    expect_error("name: a\nextends: bad.yaml\n",
                 "bad.yaml:4: \"trials\" is \"many\", but should be a whole number; write one from "
                 "-9223372036854775808 to 9223372036854775807");

    write_file("one.yaml", "name: one\nextends: two.yaml\n");
    write_file("two.yaml", "name: two\nextends: one.yaml\n");
    message = text_format("two.yaml:2: protocols extend one another in a circle (backwards: "
                          "%s/two.yaml extends %s/one.yaml extends ...); take one \"extends\" out",
                          here, here);
    assert_int_equal(protocol_load("one.yaml", &p, &err), STATUS_INVALID);
    assert_string_equal(err.message, message);
    free(message);
    write_file("self.yaml", "name: self\nextends: self.yaml\n");
    assert_int_equal(protocol_load("self.yaml", &p, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "in a circle"));

    for (int i = 0; i < 12; ++i) {
        char name[16], yaml[64];

        snprintf(name, sizeof(name), "c%d.yaml", i);
        snprintf(yaml, sizeof(yaml), "name: c%d\nextends: c%d.yaml\n", i, i + 1);
        write_file(name, i == 11 ? "name: c11\nextends: quick\n" : yaml);
    }
    assert_int_equal(protocol_load("c0.yaml", &p, &err), STATUS_INVALID);
    assert_string_equal(err.message, "c7.yaml:2: more than 8 protocols extend one another; write "
                                     "the clauses out in one of them");
    assert_int_equal(protocol_load("c5.yaml", &p, &err), STATUS_OK);
    assert_string_equal(p.name, "c5");
    protocol_finish(&p);
    free(here);
}

TEST(find)
{
    struct protocol p;
    struct error err = ERROR_INIT;
    char *list = builtin_list(), *message;

    assert_int_equal(protocol_find("quik", &p, &err), STATUS_NOT_FOUND);
    message = text_format("there is no protocol \"quik\"; did you mean \"quick\"? There are %s, or "
                          "write the path of a file of your own that ends in .yaml",
                          list);
    assert_string_equal(err.message, message);
    free(message);
    assert_int_equal(protocol_find("frobnicate", &p, &err), STATUS_NOT_FOUND);
    message =
        text_format("there is no protocol \"frobnicate\"; there are %s, or write the path of a "
                    "file of your own that ends in .yaml",
                    list);
    assert_string_equal(err.message, message);
    free(message);
    free(list);
    assert_int_equal(protocol_find("/nowhere/x.yaml", &p, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.message, "/nowhere/x.yaml: there is no such file; check the path");
}

/* One change to quick's stored form, and the message about it. */
static void expect_json_error(const char *path, const char *value, const char *message)
{
    struct protocol quick, p;
    struct error err = ERROR_INIT;
    json_t *json, *group, *member = json_loads(value, JSON_DECODE_ANY, NULL);
    const char *dot = strchr(path, '.');

    assert_int_equal(protocol_find("quick", &quick, &err), STATUS_OK);
    group = json = json_deep_copy(quick.json);
    if (dot) {
        char name[32];

        snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
        group = json_object_get(json, name);
        path = dot + 1;
    }
    if (member)
        json_object_set_new(group, path, member);
    else
        json_object_del(group, path);
    assert_int_equal(protocol_from_json(json, &p, &err), STATUS_INVALID);
    assert_string_equal(err.message, message);
    json_decref(json);
    protocol_finish(&quick);
}

TEST(from_json)
{
    struct protocol p;
    struct error err = ERROR_INIT;
    json_t *list = json_array();
    static const struct {
        const char *path, *value, *member;
    } faults[] = {
        {"trials", "", "trials"},
        {"trials", "\"3\"", "trials"},
        {"evidence", "1", "evidence"},
        {"window.time_ns", "", "window.time_ns"},
        {"window", "3", "window"},
        {"window", "{}", "window.time_ns"},
        {"serving", "3", "serving"},
        {"cache.state", "\"warm\"", "cache.state"},
        {"analysis.percentiles", "[1,2,3,4,5,6,7,8,9]", "analysis.percentiles"},
        {"analysis.percentiles", "[\"p50\"]", "analysis.percentiles"},
        {"analysis.margin", "\"1\"", "analysis.margin"},
        {"name", "7", "name"},
        {"name", "\"a name that is longer than the 63 characters that a protocol's name may have\"",
         "name"},
        {"description", "", "description"},
        {"required", "[1]", "required"},
        {"required", "{}", "required"},
    };

    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        char *message =
            text_format("stored protocol: member \"%s\" is missing or not valid", faults[i].member);

        expect_json_error(faults[i].path, faults[i].value, message);
        free(message);
    }
    expect_json_error("trials", "0",
                      "stored protocol: \"trials\" is 0; write a number from 1 to "
                      "10000");
    expect_json_error(
        "analysis.percentiles", "[null]",
        "stored protocol: percentile nan; write a number between 0 and 1, p99 as 0.99");
    expect_json_error("name", "\"a\\u001bb\"",
                      "stored protocol: \"name\" is \"a\\x1Bb\"; write lower-case letters, digits, "
                      "_, . and - only");
    expect_json_error("novelty", "1",
                      "stored protocol \"quick\" has clauses that this version of "
                      "assay does not know; use the version that stored it");
    expect_json_error("window.novelty", "1",
                      "stored protocol \"quick\" has clauses that this version of assay does not "
                      "know; use the version that stored it");
    assert_int_equal(protocol_from_json(list, &p, &err), STATUS_INVALID);
    assert_int_equal(protocol_from_json(NULL, &p, &err), STATUS_INVALID);
    json_decref(list);
}

int main(void)
{
    return unit_run(set_up, tear_down);
}
