/* The page as text: well formed, whole, harmless, and small. No browser needed. */
#include "tests/golden/report_page.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/cleanup.h"
#include "reports/html.h"
#include "reports/html_internal.h"
#include "tests/golden/html_scan.h"
#include "tests/support/json_shapes.h"
#include "tests/support/unit.h"

static void assert_harmless(const char *html)
{
    struct html_scan scan;

    html_scan(html, &scan);
    if (scan.problem[0])
        fail_msg("%s", scan.problem);
    assert_true(scan.balanced);
}

/* Every link of the page leads to exactly one place of it. */
static void assert_links_resolve(const char *html)
{
    size_t links = 0;

    for (const char *at = html; (at = strstr(at, "href=\"#")); ++links) {
        char id[128];
        const char *end = strchr(at += 7, '"');

        assert_true(end && end - at < 100);
        snprintf(id, sizeof(id), " id=\"%.*s\"", (int)(end - at), at);
        if (html_count(html, id) != 1)
            fail_msg("%zu places have%s", html_count(html, id), id);
    }
    assert_true(links > 10);
}

TEST(the_page_says_everything)
{
    static const char *const parts[] = {
        "<!DOCTYPE html>",
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        "prefers-color-scheme: dark",
        "@media print",
        "name=\"viewport\"",
        "<p class=\"command wrap mono\">assay run first-look --protocol standard</p>",
        "unavailable: the kernel shows no frequency control",
        "denied: permission denied",
        "not applicable: a CPU device shares",
        "unavailable: deleted while it was mapped",
        "<span class=\"bad\">changed, now</span>",
        "it may fit in the cache",
        "it does not fit in the cache",
        "crashed",
        "check_failed",
        "device_lost",
        "timeout",
        "<td class=\"num grade\">D</td>",
        "no trial completed",
        "two roundings of fp32",
        "<title>forward: ",
        "in no stage",
        "Cite as (<code>assay show 9f2c41aa/3 --db ",
        "campaign 9f2c41aa5d0be37f18c6a2b94e7d035c8811aa02ff3e4c5d6b7a89900123fedc",
        "needs 2\u202f995 samples",
        "the device's own clock saw",
        "It ended before the first sample.",
        "3*n*sizeof(float)",
        "<th scope=\"row\" class=\"wrap\">workloads/<wbr>kernels/<wbr>memory.<wbr>h</th>",
        "<li>triad: 24 registers, 16 bytes spilled, bytes shared unknown</li>",
    };
    struct synthetic_options options = synthetic_options_default();
    struct report_page page;
    struct html_scan scan;
    struct text html;

    options.estimates = SYNTHETIC_DECLARED;
    report_page_open(&page);
    report_page_add(&page, &options);
    text_init(&html);
    report_page_render(&page, &html);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); ++i)
        if (!strstr(html.data, parts[i]))
            fail_msg("the page does not say: %s", parts[i]);
    assert_harmless(html.data);
    assert_links_resolve(html.data);
    html_scan(html.data, &scan);
    /* Per cell a chart a trial that has samples: 6 (one crashed), 5, 5, 5, 3; a distribution and
       the trials' means where one completed; the stages of one. At the head the results of each
       unit: B/s, tokens/s. */
    assert_int_equal(scan.charts, 6 + 5 + 5 + 5 + 3 + 4 * 2 + 1 + 2);
    assert_true(scan.tables > 10);
    assert_int_equal(html_count(html.data, "<article"), 5);
    text_finish(&html);
    report_page_close(&page);
}

/* The text of the page up to `end`, without its tags and its style sheet. */
static void text_before(const char *html, const char *end, struct text *ret)
{
    const char *last = strstr(html, end), *at = strstr(html, "<body");

    assert_non_null(last);
    for (bool inside = false; at && at < last; ++at) {
        inside = *at == '<' || (inside && at[-1] != '>');
        if (!inside || *at == '<')
            text_append_char(ret, inside ? ' ' : *at);
    }
    assert_true(text_ok(ret));
}

/* Who reads one screen learns what was asked, what came out, how sure it is; and sees no digest. */
TEST(the_first_screen_answers)
{
    struct synthetic_options options = synthetic_options_default();
    struct report_page page;
    struct text html, words;
    const char *picture;
    size_t digits = 0;

    options.estimates = SYNTHETIC_DECLARED;
    report_page_open(&page);
    report_page_add(&page, &options);
    text_init(&html);
    text_init(&words);
    report_page_render(&page, &html);
    text_before(html.data, "<h2 id=\"results\"", &words);
    assert_non_null(strstr(words.data, "How fast are 5 workloads on "));
    assert_non_null(strstr(words.data, " GB/s"));
    assert_non_null(strstr(words.data, "5 results: "));
    assert_non_null(strstr(words.data, "1 came to no value"));
    assert_non_null(strstr(words.data, "How sure:  95 % intervals of "));
    picture = strstr(html.data, "<svg class=\"chart\"");
    assert_true(picture && picture < strstr(html.data, "<h2 id=\"results\""));
    for (const char *at = words.data; *at; ++at) {
        digits = strchr("0123456789abcdef", *at) ? digits + 1 : 0;
        if (digits >= 8)
            fail_msg("a digest on the first screen: %.40s", at - 7);
    }
    assert_true(strstr(html.data, "<h2 id=\"provenance\"") >
                strstr(html.data, "<h2 id=\"results\""));
    /* Its contents lead to every heading, and more than three results are folded. */
    assert_int_equal(html_count(html.data, "<a href=\"#provenance\">Provenance</a>"), 1);
    assert_int_equal(html_count(html.data, "<a href=\"#each\">Each result</a>"), 1);
    assert_int_equal(html_count(html.data, "<details class=\"fold\"><summary>"), 5);
    text_finish(&html);
    text_finish(&words);
    report_page_close(&page);
}

TEST(hostile_names_stay_text)
{
    struct report_page page;
    struct text html;

    report_page_open(&page);
    report_page_add_hostile(&page);
    text_init(&html);
    report_page_render(&page, &html);
    assert_true(text_is_utf8(html.data, html.length));
    assert_harmless(html.data);
    assert_links_resolve(html.data);
    for (size_t i = 0; i <= report_page_hostile_count; ++i) {
        char *escaped = report_page_escaped(
            i < report_page_hostile_count ? report_page_hostile[i] : report_page_long_name());

        assert_non_null(escaped);
        /* device, library, message; the workload's name is shortened in headings */
        if (html_count(html.data, escaped) < 3)
            fail_msg("%.80s appears %zu times", escaped, html_count(html.data, escaped));
        free(escaped);
    }
    text_finish(&html);
    report_page_close(&page);
}

/* The scanner itself must find what it is meant to find. */
TEST(the_scanner_sees)
{
    static const char *const bad[] = {
        "<p><script>x</script></p>",    "<p><img src=\"x\"></p>",
        "<p onclick=\"x\">a</p>",       "<a href=\"http://x\">a</a>",
        "<p>a<!-- c --></p>",           "<p class=x>a</p>",
        "<p style=\"color:red\">a</p>", "<svg><use href=\"x\"></use></svg>",
    };
    struct html_scan scan;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        html_scan(bad[i], &scan);
        if (!scan.problem[0])
            fail_msg("not seen: %s", bad[i]);
    }
    html_scan("<p><b>a</p></b>", &scan);
    assert_false(scan.balanced);
    html_scan("<p><a href=\"#x\">a &lt;script&gt;</a><br></p>", &scan);
    assert_string_equal(scan.problem, "");
    assert_true(scan.balanced);
}

TEST(many_trials_stay_small)
{
    struct synthetic_options options = synthetic_options_default();
    struct report_page page;
    struct text html;

    options.estimates = SYNTHETIC_DECLARED;
    options.cells = 50;
    options.trials = 10;
    options.samples = 2500; /* more than a chart draws one by one, so more would draw the same */
    report_page_open(&page);
    report_page_add(&page, &options);
    text_init(&html);
    report_page_render(&page, &html);
    assert_true(html.length < 5 * 1000 * 1000);
    assert_harmless(html.data);
    text_finish(&html);
    report_page_close(&page);
}

TEST(failures_are_reported)
{
    struct synthetic_options options = synthetic_options_default();
    const int64_t unknown = 4711;
    struct error err = ERROR_INIT;
    CLEANUP(text_finish) struct text html = TEXT_INIT;
    struct report_page page;

    options.samples = 60;
    options.trials = 1;
    options.estimates = SYNTHETIC_NONE;
    report_page_open(&page);
    report_page_add(&page, &options);
    assert_int_equal(report_html_text(page.store, page.cells, 0, &html, &err), STATUS_INVALID);
    assert_int_equal(report_html_text(page.store, &unknown, 1, &html, &err), STATUS_NOT_FOUND);
    assert_int_equal(report_html_file(page.store, page.cells, 1, "/nowhere/r.html", &err),
                     STATUS_NOT_FOUND);
    report_page_close(&page);
}

/* A page also shows a damaged database: it says what cannot be read, and continues. */
TEST(damaged_samples_are_reported)
{
    struct synthetic_options options = synthetic_options_default();
    struct report_page page;
    struct text html;

    options.samples = 60;
    options.cells = 2;
    options.trials = 2;
    options.estimates = SYNTHETIC_DECLARED;
    report_page_open(&page);
    report_page_add(&page, &options);
    assert_int_equal(sqlite3_exec(store_connection(page.store),
                                  "DROP TRIGGER series_no_update;"
                                  "UPDATE series SET data = zeroblob(40) WHERE trial = 1",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    text_init(&html);
    report_page_render(&page, &html);
    assert_harmless(html.data);
    assert_non_null(strstr(html.data, "Trial 1</b></p><p class=\"lost none wrap\">"));
    assert_null(strstr(html.data, "It ended before the first sample."));
    assert_int_equal(html_count(html.data, "<article"), 2);
    text_finish(&html);
    report_page_close(&page);
}

/* Everything of a result's article that needs no samples. */
static void render_parts(void *context, json_t *root)
{
    struct store *store = context;
    struct view_campaign campaign = {0};
    struct html_appendix appendix = {0};
    struct view_cell cell;
    struct text out;
    struct doc doc;

    if (view_cell_from_json(root, VIEW_FULL, &cell, NULL) != STATUS_OK)
        return;
    for (size_t i = 0; i < cell.trial_count; ++i)
        cell.trials[i].id = -1; /* no samples */
    text_init(&out);
    html_appendix_collect(&appendix, &cell);
    doc = doc_new(&out, &doc_html);
    assert_int_equal(html_cell(&doc, store, &cell, &campaign, &appendix, 200, NULL), STATUS_OK);
    doc_finish(&doc);
    html_appendix_write(&out, &appendix);
    assert_harmless(out.data);
    assert_null(strstr(out.data, "nan "));
    html_appendix_finish(&appendix);
    text_finish(&out);
    view_cell_finish(&cell);
}

TEST(no_shape_of_a_record_breaks_the_page)
{
    struct synthetic_options options = synthetic_options_default();
    struct report_page page;
    json_t *root = NULL;

    options.samples = 20;
    options.trials = 1;
    options.cells = 1;
    options.estimates = SYNTHETIC_DECLARED;
    report_page_open(&page);
    report_page_add(&page, &options);
    assert_int_equal(store_cell_json(page.store, page.cells[0], &root, NULL), STATUS_OK);
    assert_true(json_shapes_try(root, render_parts, page.store) > 2000);
    json_decref(root);
    report_page_close(&page);
}

TEST(the_same_store_gives_the_same_page)
{
    struct synthetic_options options = synthetic_options_default();
    struct report_page page;
    struct text first, second;

    options.samples = 200;
    report_page_open(&page);
    report_page_add(&page, &options);
    text_init(&first);
    text_init(&second);
    report_page_render(&page, &first);
    report_page_render(&page, &second);
    assert_string_equal(first.data, second.data);
    text_finish(&first);
    text_finish(&second);
    report_page_close(&page);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return unit_run(NULL, NULL);
}
