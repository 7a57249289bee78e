/* Tools in the test's own folder, which print what real ones do, or misbehave. */
#include "harness/runner/dumps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

static char folder[] = "/tmp/assay-dumps-XXXXXX";

static void add_tool(const char *name, const char *script)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static void remove_tools(void)
{
    char command[64];

    snprintf(command, sizeof(command), "/bin/rm -f %s/*", folder);
    assert_int_equal(system(command), 0);
}

static int begin(void **state)
{
    char *path = NULL;

    (void)state;
    if (!mkdtemp(folder) || asprintf(&path, "%s", folder) < 0)
        return -1;
    setenv("PATH", path, 1);
    setenv("ASSAY_TOOL_TIMEOUT", "600s", 1);
    free(path);
    return 0;
}

static int end(void **state)
{
    (void)state;
    remove_tools();
    return rmdir(folder);
}

/* A new campaign, with the tools run; takes ownership of `specs`. */
static void ask(struct fixture *fixture, json_t *specs, int64_t *ret_campaign, int64_t *cell)
{
    int64_t cells[FIXTURE_CELLS];
    struct error err = ERROR_INIT;

    assert_ok(fixture_add_campaign(fixture->store, 1, ret_campaign, cells, &err), err);
    assert_ok(dumps_take(fixture->store, *ret_campaign, specs, &err), err);
    *cell = cells[0];
    json_decref(specs);
}

static int64_t count(const struct fixture *fixture, const char *tool, const char *condition)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM dump WHERE tool = '%s' AND id > 1 AND %s",
             tool, condition);
    return fixture_ask(fixture->store, sql);
}

TEST_WITH(verbatim, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign, cell;
    char *text = NULL;

    add_tool("lscpu", "test \"$1\" = -J && test \"$LC_ALL\" = C && "
                      "printf '{\\n\\t\"lscpu\": \"\\303\\244 %%s\"\\n}'");
    add_tool("nvidia-smi", "test \"$1$2\" = -q-x && printf 'odd \\377\\001 byte\\n\\tnext\\n'");
    ask(fixture, json_pack("[s]", "cuda:0"), &campaign, &cell);
    assert_ok(store_load_dump(fixture->store, cell, "lscpu", &text, &err), err);
    assert_string_equal(text, "{\n\t\"lscpu\": \"\xc3\xa4 %s\"\n}");
    free(text);
    assert_ok(store_load_dump(fixture->store, cell, "nvidia-smi", &text, &err), err);
    assert_string_equal(text, "odd \\xFF\\x01 byte\n\tnext\n");
    free(text);
    assert_int_equal(count(fixture, "lscpu", "status = 'ok' AND exit_code = 0 AND message IS NULL"),
                     1);
    /* A tool of a device that is not measured is not run; a missing one of the host is recorded. */
    assert_int_equal(count(fixture, "clinfo", "1"), 0);
    assert_int_equal(count(fixture, "numactl",
                           "status = 'unavailable' AND exit_code IS NULL"
                           " AND output IS NULL AND message LIKE '%No such%'"),
                     1);
    assert_int_equal(store_load_dump(fixture->store, cell, "numactl", &text, &err),
                     STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "lscpu,nvidia-smi"));
    remove_tools();
}

TEST_WITH(misbehaviour, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    int64_t campaign, cell;

    add_tool("lscpu", "test \"$1\" != -J && echo old");
    add_tool("numactl", "echo half; kill -SEGV $$");
    add_tool("clinfo", "exit 3");
    add_tool("rocm-smi", "exit 0");
    add_tool("amd-smi",
             "while :; do echo 0123456789012345678901234567890123456789012345678901234567; done"
             " | /usr/bin/head -c 9000000");
    ask(fixture, json_pack("[s, s]", "hip:0", "opencl:1"), &campaign, &cell);
    assert_int_equal(count(fixture, "lscpu",
                           "command = 'lscpu -J' AND status = 'unavailable'"
                           " AND exit_code = 1"),
                     1);
    assert_int_equal(count(fixture, "lscpu", "command = 'lscpu' AND status = 'ok'"), 1);
    assert_int_equal(count(fixture, "numactl", "status = 'crashed' AND message LIKE '%signal 11%'"),
                     1);
    assert_int_equal(count(fixture, "clinfo", "status = 'unavailable' AND exit_code = 3"), 2);
    assert_int_equal(
        count(fixture, "rocm-smi", "status = 'unavailable' AND message LIKE '%nothing'"), 1);
    assert_int_equal(count(fixture, "amd-smi", "status = 'no_space' AND message LIKE '%8 MiB%'"),
                     1);
    assert_int_equal(fixture_ask(fixture->store, "SELECT length(c.body) FROM dump d JOIN content c"
                                                 " ON c.digest = d.output WHERE tool = 'amd-smi'"),
                     8 << 20);
    remove_tools();
}

TEST_WITH(hang, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    int64_t campaign, cell;

    add_tool("numactl", "echo begun; /bin/sleep 600");
    setenv("ASSAY_TOOL_TIMEOUT", "100ms", 1);
    ask(fixture, json_array(), &campaign, &cell);
    setenv("ASSAY_TOOL_TIMEOUT", "600s", 1);
    assert_int_equal(count(fixture, "numactl", "status = 'timeout'"), 1);
    remove_tools();
}

/* The tools here do not describe a replayed machine. */
TEST_WITH(recorded_machine, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    int64_t campaign, cell;

    add_tool("lscpu", "echo not this");
    setenv("ASSAY_HOST_ROOT", "/nowhere", 1);
    ask(fixture, json_array(), &campaign, &cell);
    unsetenv("ASSAY_HOST_ROOT");
    assert_int_equal(count(fixture, "lscpu", "status = 'unavailable' AND output IS NULL"), 1);
    remove_tools();
}

int main(void)
{
    return unit_run(begin, end);
}
