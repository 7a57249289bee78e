/* Which two trials are of one stack, by their variables and by their files. */
#include "protocols/same_stack.h"

#include <stddef.h>
#include <string.h>

#include "tests/support/unit.h"

/* A trial with one variable (`value` NULL: it is not known) and one file. */
static json_t *trial(const char *variable, const char *value, const char *path, const char *sha256)
{
    json_t *trial = json_pack("{s:s, s:{s:{s:{s:s?}}}, s:[{s:s, s:s, s:s?}]}", "status", "ok",
                              "environment", "host", variable, "value", value, "components", "path",
                              path, "kind", "library", "sha256", sha256);

    assert_non_null(trial);
    return trial;
}

/* Takes both. `named`: what the message has; NULL: they are of one stack. */
static void check(json_t *first, json_t *later, const char *named)
{
    json_t *failed = json_pack("{s:s}", "status", "crashed");
    json_t *trials = json_pack("[o, O, O, O]", failed, first, first, later);
    struct error err = ERROR_INIT;
    const enum status status = same_stack_check(first, later, &err);

    assert_ptr_equal(same_stack_first(trials), first);
    if (status != (named ? STATUS_INVALID : STATUS_OK) || (named && !strstr(err.message, named)))
        fail_msg("%s: %s", named ? named : "one stack", err.message);
    assert_int_equal(same_stack_check_all(trials, NULL), status);
    json_decref(trials);
    json_decref(first);
    json_decref(later);
}

#define LIBC "/lib/libc.so.6"

TEST(variables)
{
    static const char threads[] = "variable.OMP_NUM_THREADS";

    check(trial(threads, "1", LIBC, "a"), trial(threads, "1", LIBC, "a"), NULL);
    check(trial(threads, "1", LIBC, "a"), trial(threads, "2", LIBC, "a"),
          "the variable OMP_NUM_THREADS was \"1\" in the first trial and is \"2\"");
    check(trial("host.name", "a", LIBC, "a"), trial(threads, "2", LIBC, "a"),
          "the variable OMP_NUM_THREADS was not set in the first trial and is \"2\"");
    check(trial("variable.ASSAY_LIB_DNNL", "/x", LIBC, "a"), trial("host.other", "b", LIBC, "a"),
          "the variable ASSAY_LIB_DNNL was \"/x\" in the first trial and is not set");
    check(trial(threads, "1", LIBC, "a"), trial(threads, NULL, LIBC, "a"), NULL); /* withheld */
    check(trial("variable.ASSAY_DB", "a", LIBC, "a"), trial("host.name", "b", LIBC, "a"), NULL);
}

TEST(machines)
{
    check(trial("host.name", "a", LIBC, "a"), trial("host.name", "a", LIBC, "a"), NULL);
    check(trial("host.name", "a", LIBC, "a"), trial("host.name", "b", LIBC, "a"),
          "host.name was \"a\" in the first trial and is \"b\" in a later one: trials of two "
          "machines");
    check(trial("host.cpu.model", "a", LIBC, "a"), trial("host.cpu.model", "b", LIBC, "a"),
          "host.cpu.model");
    check(trial("host.name", "a", LIBC, "a"), trial("host.name", NULL, LIBC, "a"),
          NULL); /* withheld */
    check(trial("host.memory.total", "1", LIBC, "a"), trial("host.memory.total", "2", LIBC, "a"),
          NULL);
}

TEST(files)
{
    static const char name[] = "host.name";

    check(trial(name, "h", LIBC, "aaaa"), trial(name, "h", LIBC, "bbbb"),
          "the file library.libc was aaaa in the first trial and is bbbb");
    check(trial(name, "h", "/opt/1/libdnnl.so.3.1", "aaaa"),
          trial(name, "h", "/opt/2/libdnnl.so.3.2", "bbbb"), "library.libdnnl");
    check(trial(name, "h", LIBC, "a"), trial(name, "h", "/lib/libm.so.6", "b"), NULL);
    check(trial(name, "h", LIBC, "a"), trial(name, "h", LIBC, NULL), NULL); /* replaced meanwhile */
    check(trial(name, "h", "(withheld)", "a"), trial(name, "h", "(withheld)", "b"), NULL);
    check(trial(name, "h", "/home/u/.cache/pocl/kcache/AB/triad.so", "a"),
          trial(name, "h", "/home/u/.cache/pocl/kcache/AB/triad.so", "b"), NULL);
}

/* Two copies of a library in one trial, as frameworks bring their own. */
TEST(several_contents)
{
    for (int other = 0; other < 2; other++) {
        json_t *both = trial("host.name", "h", LIBC, "aaaa");

        json_array_append_new(json_object_get(both, "components"),
                              json_pack("{s:s, s:s, s:s}", "path", "/opt/libc.so.6", "kind",
                                        "library", "sha256", "bbbb"));
        check(both, trial("host.name", "h", LIBC, other ? "cccc" : "bbbb"),
              other ? "library.libc" : NULL);
    }
}
