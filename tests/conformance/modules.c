#include "tests/conformance/conformance.h"

#include <string.h>

#define HEAD "KERNEL(good, GLOBAL u32 *out)\n{\n    out[0] = VALUE;\n}\n"

static void test_describe(void **state)
{
    static const char text[] = HEAD;
    struct conformance *c = *state;
    const struct module_define defines[] = {{"VALUE", "41u + (1 << 0)"}};
    struct module_artifact artifact, again;
    struct module *module = NULL, *second = NULL;
    struct digest digest = digest_bytes(text, strlen(text));

    expect_ok(c, conformance_load_text(c, text, 1, defines, 1, &module));
    expect_ok(c, conformance_load_text(c, text, 1, defines, 1, &second));
    expect_ok(c, device_module_describe(c->device, module, &artifact, &c->err));
    expect_ok(c, device_module_describe(c->device, second, &again, &c->err));
    assert_string_equal(artifact.file, "conformance/inline.h");
    assert_true(digest_equal(&artifact.source, &digest));
    assert_true(digest_equal(&artifact.prelude, &again.prelude));
    assert_int_equal(artifact.lanes, 1);
    assert_non_null(strstr(artifact.options, "LANES=1"));
    assert_non_null(strstr(artifact.options, "VALUE=41u + (1 << 0)"));
    assert_true(artifact.compiler[0] != '\0');
    assert_true(artifact.compile_ns >= 0);
    if (artifact.has_binary) {
        assert_true(artifact.binary_bytes > 0);
        print_message("  binary of %llu bytes, %s when compiled again\n",
                      (unsigned long long)artifact.binary_bytes,
                      digest_equal(&artifact.binary, &again.binary) ? "the same" : "ANOTHER");
    }
    module_artifact_finish(&artifact);
    module_artifact_finish(&again);
    device_module_unload(c->device, module);
    device_module_unload(c->device, second);
    device_module_unload(c->device, NULL);
}

/* The message names our file and line, whatever prelude and defines come before. */
static void check_refused(struct conformance *c, const char *text, const char *place,
                          size_t define_count)
{
    const struct module_define defines[] = {{"ONE", "1"}, {"TWO", "2"}, {"THREE", "3"}};
    struct module *module = NULL;

    if (conformance_load_text(c, text, 1, defines, define_count, &module) == STATUS_OK)
        fail_msg("compiled, but must not:\n%s", text);
    assert_null(module);
    assert_int_equal(c->err.code, STATUS_COMPILE);
    if (strstr(c->err.message, place) == NULL)
        fail_msg("expected \"%s\" in:\n%s", place, c->err.message);
}

static void test_compile_errors(void **state)
{
    struct conformance *c = *state;

    check_refused(c, "undeclared_at_once x;\n", "conformance/inline.h:1", 0);
    check_refused(c, "\n\n\nKERNEL(a, GLOBAL u32 *p)\n{\n    p[0] = nothing;\n}\n",
                  "conformance/inline.h:6", 0);
    check_refused(c, "KERNEL(a, GLOBAL u32 *p)\n{\n    p[0] = 1 +;\n}\n", "conformance/inline.h:3",
                  3);
    check_refused(c, "KERNEL(a, GLOBAL u32 *p)\n{\n    p->x = 1;\n}\n", "conformance/inline.h:3",
                  1);
    check_refused(c, "/* two\n lines */\n#error stop here\n", "conformance/inline.h:3", 0);
}

static void test_names(void **state)
{
    struct conformance *c = *state;
    const struct module_define value = {"VALUE", "3u"};
    const struct module_define bad[] = {
        {"1X", "1"}, {"A B", "1"}, {"", "1"}, {"X", "1\n#error"}, {"LANES", "4"}};
    struct module *module = NULL;
    struct buffer *out = conformance_buffer(c, NULL, 4);
    const struct kernel_arg arg = arg_buffer(out), two[] = {arg, arg};
    struct kernel_launch launch = {
        .kernel = "absent", .groups = {1, 1, 1}, .args = &arg, .arg_count = 1};
    size_t i;

    expect_ok(c, conformance_load_text(c, HEAD, 1, &value, 1, &module));
    launch.module = module;
    expect_status(c, STATUS_NOT_FOUND, device_kernel_launch(c->device, &launch, &c->err));
    assert_non_null(strstr(c->err.message, "absent"));
    launch.kernel = "good";
    expect_ok(c, device_kernel_launch(c->device, &launch, &c->err));
    if (c->computes) {
        launch.args = two;
        launch.arg_count = 2;
        expect_status(c, STATUS_INVALID, device_kernel_launch(c->device, &launch, &c->err));
        launch.arg_count = 0;
        expect_status(c, STATUS_INVALID, device_kernel_launch(c->device, &launch, &c->err));
    }
    expect_ok(c, device_synchronize(c->device, &c->err));
    device_module_unload(c->device, module);
    device_buffer_free(out);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_status(c, STATUS_INVALID, conformance_load_text(c, HEAD, 1, &bad[i], 1, &module));
}

static void test_lanes_refused(void **state)
{
    struct conformance *c = *state;
    const struct module_define value = {"VALUE", "3u"};
    struct module *module = NULL;

    expect_status(c, STATUS_INVALID, conformance_load_text(c, HEAD, 0, &value, 1, &module));
    if (c->device->info.max_lanes == 0)
        return;
    expect_status(
        c, STATUS_UNSUPPORTED,
        conformance_load_text(c, HEAD, c->device->info.max_lanes + 1, &value, 1, &module));
    assert_null(module);
}

/* Modules coexist, each with its own defines, and are unloaded in any order. */
static void test_many(void **state)
{
    struct conformance *c = *state;
    const int count = c->small ? 4 : 12;
    struct module *modules[12] = {NULL};
    struct buffer *out = conformance_buffer(c, NULL, 4);
    char value[16];
    uint32_t got;
    int i;

    for (i = 0; i < count; i++) {
        const struct module_define define = {"VALUE", value};

        snprintf(value, sizeof(value), "%du", 100 + i);
        expect_ok(c, conformance_load_text(c, HEAD, 1, &define, 1, &modules[i]));
    }
    for (i = count - 1; i >= 0; i--) {
        const int m = i * 5 % count;

        RUN(c, modules[m], "good", 1, 1, 1, arg_buffer(out));
        expect_ok(c, device_download(out, 0, &got, 4, &c->err));
        if (c->computes)
            assert_int_equal(got, 100 + m);
    }
    for (i = 0; i < count; i++)
        device_module_unload(c->device, modules[i * 7 % count]);
    device_buffer_free(out);
}

CONFORMANCE_AREA(conformance_modules, {"provenance of a module", test_describe, false},
                 {"compile errors name file and line", test_compile_errors, true},
                 {"bad names and arguments", test_names, false},
                 {"impossible lanes", test_lanes_refused, false},
                 {"many modules", test_many, false});
