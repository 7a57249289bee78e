/*
 * The page in headless Chromium: hostile names stay text, the console is empty, and the page is not
 * blank. Without Chromium the test is skipped.
 */
#include "tests/golden/report_page.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "harness/core/process.h"
#include "tests/golden/html_scan.h"
#include "tests/support/unit.h"

#define BROWSER_NS ((int64_t)250 * 1000000000)

static const char *script;

/* A page as the browser built it. */
struct seen {
    char *dom, *console, *picture; /* heap */
    size_t picture_size;
};

static void look_at(const char *folder, const char *html, size_t length, struct seen *ret)
{
    static const char *const files[] = {"page.html", "dom.html", "console.log", "page.png",
                                        "stderr.log"};
    char page[128], path[160], *output = NULL;
    char *argv[] = {(char *)script, page, (char *)folder, NULL};
    struct process_exit end;
    struct error err = ERROR_INIT;

    snprintf(page, sizeof(page), "%s/page.html", folder);
    assert_int_equal(file_write_atomic(page, html, length, 0644, &err), STATUS_OK);
    if (process_capture(argv, BROWSER_NS, 65536, &output, &end, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    free(output);
    if (!end.exited || end.code != 0)
        fail_msg("%s ended with %d", script, end.exited ? end.code : -end.signal);
    snprintf(path, sizeof(path), "%s/dom.html", folder);
    assert_int_equal(file_read(path, 1 << 26, &ret->dom, NULL, &err), STATUS_OK);
    snprintf(path, sizeof(path), "%s/console.log", folder);
    assert_int_equal(file_read(path, 1 << 20, &ret->console, NULL, &err), STATUS_OK);
    snprintf(path, sizeof(path), "%s/page.png", folder);
    assert_int_equal(file_read(path, 1 << 26, &ret->picture, &ret->picture_size, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) {
        snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        unlink(path);
    }
}

static void finish_seen(struct seen *seen)
{
    free(seen->dom);
    free(seen->console);
    free(seen->picture);
}

/* A browser writes quotation marks in text as they are. */
static void as_serialised(char *escaped)
{
    static const struct {
        const char *reference;
        char character;
    } plain[] = {{"&#39;", '\''}, {"&quot;", '"'}};

    for (size_t i = 0; i < 2; ++i) {
        char *at = escaped;

        while ((at = strstr(at, plain[i].reference))) {
            size_t length = strlen(plain[i].reference);

            *at = plain[i].character;
            memmove(at + 1, at + length, strlen(at + length) + 1);
            ++at;
        }
    }
}

/* The instrument first: a bad page must be detected, or the tests below prove nothing. */
TEST(a_bad_page_is_seen)
{
    static const char html[] = "<!DOCTYPE html><title>x</title><p>a<script>console.error('owned')"
                               "</script><img src=x onerror=\"console.error('again')\">";
    struct seen seen = {0};
    struct html_scan scan;
    struct report_page page;

    report_page_open(&page);
    look_at(page.folder, html, strlen(html), &seen);
    html_scan(seen.dom, &scan);
    assert_string_not_equal(scan.problem, "");
    assert_non_null(strstr(seen.console, "owned"));
    finish_seen(&seen);
    report_page_close(&page);
}

TEST(hostile_names_stay_text)
{
    struct report_page page;
    struct seen seen = {0};
    struct html_scan source, scan;
    struct text html;

    report_page_open(&page);
    report_page_add_hostile(&page);
    text_init(&html);
    report_page_render(&page, &html);
    look_at(page.folder, html.data, html.length, &seen);
    html_scan(html.data, &source);
    html_scan(seen.dom, &scan);
    if (scan.problem[0])
        fail_msg("%s", scan.problem);
    /* The browser repaired nothing: what we wrote is what it built. */
    assert_true(scan.balanced);
    assert_int_equal(scan.elements, source.elements);
    assert_int_equal(scan.charts, source.charts);
    assert_true(scan.charts > 100);
    if (seen.console[0])
        fail_msg("the console says: %s", seen.console);
    for (size_t i = 0; i <= report_page_hostile_count; ++i) {
        char *escaped = report_page_escaped(
            i < report_page_hostile_count ? report_page_hostile[i] : report_page_long_name());

        assert_non_null(escaped);
        as_serialised(escaped);
        if (html_count(seen.dom, escaped) < 3)
            fail_msg("%.80s is %zu times in the document", escaped, html_count(seen.dom, escaped));
        free(escaped);
    }
    text_finish(&html);
    finish_seen(&seen);
    report_page_close(&page);
}

TEST(an_ordinary_page_is_whole)
{
    struct synthetic_options options = synthetic_options_default();
    struct report_page page;
    struct seen seen = {0};
    struct html_scan source, scan;
    struct text html;

    options.samples = 3000; /* both dots and envelopes */
    report_page_open(&page);
    report_page_add(&page, &options);
    text_init(&html);
    report_page_render(&page, &html);
    look_at(page.folder, html.data, html.length, &seen);
    html_scan(html.data, &source);
    html_scan(seen.dom, &scan);
    assert_string_equal(scan.problem, "");
    assert_true(scan.balanced);
    assert_int_equal(scan.elements, source.elements);
    assert_int_equal(html_count(seen.dom, "<article"), 5);
    assert_string_equal(seen.console, "");
    /* A PNG that is not blank: an empty page of this size compresses to a few KB. */
    assert_true(seen.picture_size > 50000);
    assert_memory_equal(seen.picture, "\x89PNG\r\n\x1a\n", 8);
    text_finish(&html);
    finish_seen(&seen);
    report_page_close(&page);
}

/* The script's own check for a browser. */
static bool has_browser(void)
{
    char folder[] = "/tmp/assay_browser_XXXXXX", page[64], command[256];
    int status;

    if (!mkdtemp(folder))
        return false;
    snprintf(page, sizeof(page), "%s/p.html", folder);
    file_write_atomic(page, "<p>x</p>", 8, 0644, NULL);
    snprintf(command, sizeof(command), "'%.100s' %s %s >/dev/null", script, page, folder);
    status = system(command);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    if (system(command) != 0)
        return false;
    return !(status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 77);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s chromium_page.sh\n", argv[0]);
        return 2;
    }
    script = argv[1];
    setlocale(LC_CTYPE, "C.UTF-8");
    if (!has_browser())
        return 77;
    return unit_run(NULL, NULL);
}
