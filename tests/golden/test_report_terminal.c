/*
 * The terminal's tables, compared with kept ones at 80 and 120 columns. ASSAY_UPDATE_GOLDEN=1
 * rewrites them.
 */
#include <stddef.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "reports/cell_document.h"
#include "reports/terminal.h"
#include "tests/support/synthetic_campaign.h"
#include "tests/support/unit.h"

static const char *golden_folder;

struct loaded {
    char folder[64], path[96];
    struct store *store;
    int64_t cells[16];
    struct view view;
};

/* As `show --all` writes it. */
static void append_cell(struct text *out, const struct view_campaign *campaign,
                        const struct view_cell *cell, size_t columns)
{
    struct text lines = TEXT_INIT;
    struct doc doc = doc_new(&lines, &doc_lines);

    doc.is_short = true;
    doc.screen = columns;
    cell_document(&doc, cell, campaign, true);
    doc_wrap(out, lines.data, columns);
    out->failed |= lines.failed;
    doc_finish(&doc);
    text_finish(&lines);
}

static void load(struct loaded *loaded, const struct synthetic_options *options)
{
    struct error err = ERROR_INIT;

    strcpy(loaded->folder, "/tmp/assay_report_XXXXXX");
    assert_non_null(mkdtemp(loaded->folder));
    snprintf(loaded->path, sizeof(loaded->path), "%s/r.db", loaded->folder);
    if (store_open(loaded->path, STORE_CREATE, 1000000000, &loaded->store, &err) != STATUS_OK ||
        synthetic_campaign_add(loaded->store, options, loaded->cells, &err) != STATUS_OK ||
        view_load(loaded->store, loaded->cells, options->cells, VIEW_FULL, &loaded->view, &err) !=
            STATUS_OK)
        fail_msg("%s", err.message);
}

static void unload(struct loaded *loaded)
{
    char path[128];

    view_finish(&loaded->view);
    store_close(loaded->store);
    unlink(loaded->path);
    snprintf(path, sizeof(path), "%s-wal", loaded->path);
    unlink(path);
    snprintf(path, sizeof(path), "%s-shm", loaded->path);
    unlink(path);
    rmdir(loaded->folder);
}

static struct synthetic_options options_of(const char *protocol)
{
    struct synthetic_options options = synthetic_options_default();

    options.estimates = SYNTHETIC_DECLARED;
    options.protocol = protocol;
    options.samples = 120;
    return options;
}

static void compare(const char *name, const char *got)
{
    char path[512], *expected = NULL;
    struct error err = ERROR_INIT;

    snprintf(path, sizeof(path), "%s/%s", golden_folder, name);
    if (getenv("ASSAY_UPDATE_GOLDEN")) {
        assert_int_equal(file_write_atomic(path, got, strlen(got), 0644, &err), STATUS_OK);
        return;
    }
    if (file_read(path, 1 << 20, &expected, NULL, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    if (strcmp(got, expected) != 0)
        print_error("--- %s says\n%s--- and this came\n%s", path, expected, got);
    assert_true(strcmp(got, expected) == 0);
    free(expected);
}

static void assert_lines_fit(const char *text, size_t columns)
{
    while (*text) {
        const char *end = strchr(text, '\n');
        char line[4096];

        assert_non_null(end);
        assert_true((size_t)(end - text) < sizeof(line));
        memcpy(line, text, (size_t)(end - text));
        line[end - text] = '\0';
        if (text_columns(line) > columns)
            fail_msg("%zu columns where %zu are: %s", text_columns(line), columns, line);
        assert_false(end > text && end[-1] == ' ');
        text = end + 1;
    }
}

static void check_table(const char *protocol, size_t columns, const char *golden)
{
    struct synthetic_options options = options_of(protocol);
    struct loaded loaded = {0};
    struct text out;

    load(&loaded, &options);
    text_init(&out);
    report_terminal_table(&out, &loaded.view, columns, false);
    assert_true(text_ok(&out));
    assert_lines_fit(out.data, columns);
    compare(golden, out.data);
    text_finish(&out);
    unload(&loaded);
}

TEST(table_at_80_columns)
{
    check_table("standard", 80, "report_table_80.txt");
}

TEST(table_at_120_columns)
{
    check_table("standard", 120, "report_table_120.txt");
}

TEST(quick_says_what_it_is)
{
    check_table("quick", 80, "report_table_quick_80.txt");
}

TEST(one_result_in_full)
{
    struct synthetic_options options = options_of("standard");
    struct loaded loaded = {0};
    struct text out;

    load(&loaded, &options);
    text_init(&out);
    append_cell(&out, &loaded.view.campaigns[0], &loaded.view.cells[0], 80);
    assert_true(text_ok(&out));
    assert_lines_fit(out.data, 80);
    /* The citation is last: identities of declarations, which may change with their defaults. */
    assert_non_null(strstr(out.data, "\nCite as (assay show 9f2c41aa/1"));
    assert_non_null(strstr(out.data, "\nassay result 9f2c41aa/1; campaign\n"));
    strstr(out.data, "\nCite as (")[1] = '\0';
    compare("report_cell_80.txt", out.data);
    text_finish(&out);
    unload(&loaded);
}

/* Their numbers are below the row where it has no room for them. */
TEST(many_remarks_leave_the_verdict_whole)
{
    struct synthetic_options options = options_of("standard");
    struct loaded loaded = {0};
    struct text out;

    options.simulated = true;
    load(&loaded, &options);
    for (size_t i = 0; i < loaded.view.cell_count; ++i) {
        struct view_origin *origin = &loaded.view.cells[i].origin;
        struct estimate *estimate = loaded.view.cells[i].estimate;

        origin->host_root = text_format("/root-%zu", i);
        if (estimate)
            finding_add(&estimate->findings, FINDING_FILE_CHANGED, 0, origin->host_root,
                        (double[]){2});
        origin->libraries = text_format("library_%zu", i);
    }
    text_init(&out);
    report_terminal_table(&out, &loaded.view, 72, false);
    assert_true(text_ok(&out));
    assert_lines_fit(out.data, 72);
    assert_null(strstr(out.data, "…"));
    assert_non_null(strstr(out.data, "after warmup      5/5\n"));
    assert_non_null(strstr(out.data, "      [2,7,8]\n"));
    text_finish(&out);
    unload(&loaded);
}

/* Several campaigns have long ids, which are moved before a figure or its unit is cut. */
TEST(long_ids_leave_the_figures_whole)
{
    struct synthetic_options options = options_of("standard");
    struct loaded loaded = {0};

    load(&loaded, &options);
    loaded.view.campaign_count = 2; /* of which the second says nothing new */
    for (size_t columns = 68; columns <= 80; columns += 4) {
        struct text out;

        text_init(&out);
        report_terminal_table(&out, &loaded.view, columns, false);
        assert_true(text_ok(&out));
        assert_lines_fit(out.data, columns);
        assert_null(strstr(out.data, "…"));
        assert_non_null(strstr(out.data, "\n 9f2c41aa/2"));
        text_finish(&out);
    }
    loaded.view.campaign_count = 1;
    unload(&loaded);
}

TEST(every_width_holds_its_lines)
{
    struct synthetic_options options = options_of("standard");
    struct loaded loaded = {0};

    options.device_name = "A device with a name that goes on and on (漢字漢字) beyond any column";
    options.workload = "a-workload-with-a-rather-long-name-0123456789";
    options.simulated = true;
    load(&loaded, &options);
    for (size_t columns = 60; columns < 200; ++columns) {
        struct text out;

        text_init(&out);
        report_terminal_table(&out, &loaded.view, columns, false);
        for (size_t i = 0; i < loaded.view.cell_count; ++i)
            append_cell(&out, &loaded.view.campaigns[0], &loaded.view.cells[i],
                        columns < 80 ? 80 : columns);
        assert_true(text_ok(&out));
        assert_lines_fit(out.data, columns < 80 ? 80 : columns);
        text_finish(&out);
    }
    unload(&loaded);
}

TEST(hostile_names_stay_text)
{
    struct synthetic_options options = options_of("standard");
    struct loaded loaded = {0};
    struct text out;

    options.device_name = "\x1b]0;owned\x07\x1b[2Jdevice\r\n\xe2\x80\xae"
                          "evil\xff";
    options.message = "\x1b[31mred\nnew line";
    options.library = "/tmp/\x1b[5mlib.so";
    load(&loaded, &options);
    text_init(&out);
    report_terminal_table(&out, &loaded.view, 80, false);
    append_cell(&out, &loaded.view.campaigns[0], &loaded.view.cells[4], 80);
    append_cell(&out, &loaded.view.campaigns[0], &loaded.view.cells[0], 80);
    assert_lines_fit(out.data, 80);
    assert_true(text_is_utf8(out.data, out.length));
    for (size_t i = 0; i < out.length; ++i)
        assert_true((unsigned char)out.data[i] >= 0x20 || out.data[i] == '\n');
    assert_null(strstr(out.data, "\xe2\x80\xae"));
    assert_non_null(strstr(out.data, "\\x1B]0;owned"));
    assert_non_null(strstr(out.data, "\\x1B[31mred\\x0Anew line"));
    text_finish(&out);
    unload(&loaded);
}

TEST(colours_are_closed)
{
    struct synthetic_options options = options_of("standard");
    struct loaded loaded = {0};
    struct text out;
    size_t opened = 0, closed = 0;

    load(&loaded, &options);
    text_init(&out);
    report_terminal_table(&out, &loaded.view, 80, true);
    for (const char *at = out.data; (at = strchr(at, '\033')); ++at)
        *(strncmp(at, "\033[0m", 4) == 0 ? &closed : &opened) += 1;
    assert_true(opened > 0);
    assert_int_equal(opened, closed);
    text_finish(&out);
    unload(&loaded);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s FOLDER-OF-GOLDEN-FILES\n", argv[0]);
        return 2;
    }
    golden_folder = argv[1];
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 77;
    return unit_run(NULL, NULL);
}
