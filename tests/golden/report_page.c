#include "tests/golden/report_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/html.h"

const char *const report_page_hostile[] = {
    "<script>console.error('owned')</script>",
    "\"><img src=x onerror=console.error(1)>",
    "</title></style></svg></pre><iframe src=//x></iframe>",
    "abc \xe2\x80\xae gpj.exe",
    "bell\x07 esc\x1b[31m nl\n",
    "bad\xff\xc0\xaf utf8",
    "&lt;b&gt; already &amp; <!-- -->",
    "' onmouseover='x' javascript:alert(1)",
};
const size_t report_page_hostile_count =
    sizeof(report_page_hostile) / sizeof(report_page_hostile[0]);

const char *report_page_long_name(void)
{
    static char name[10001];

    for (size_t i = 0; i + 1 < sizeof(name); ++i)
        name[i] = i % 100 == 99 ? '<' : (char)('a' + i % 26);
    return name;
}

void report_page_open(struct report_page *page)
{
    struct error err = ERROR_INIT;

    *page = (struct report_page){.folder = "/tmp/assay_page_XXXXXX"};
    assert_non_null(mkdtemp(page->folder));
    snprintf(page->path, sizeof(page->path), "%s/r.db", page->folder);
    if (store_open(page->path, STORE_CREATE, 1000000000, &page->store, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

void report_page_add(struct report_page *page, const struct synthetic_options *options)
{
    struct error err = ERROR_INIT;

    assert_true(page->cell_count + options->cells <= REPORT_PAGE_CELLS_MAX);
    if (synthetic_campaign_add(page->store, options, page->cells + page->cell_count, &err) !=
        STATUS_OK)
        fail_msg("%s", err.message);
    page->cell_count += options->cells;
}

void report_page_add_hostile(struct report_page *page)
{
    for (size_t i = 0; i <= report_page_hostile_count; ++i) {
        struct synthetic_options options = synthetic_options_default();
        const char *name =
            i < report_page_hostile_count ? report_page_hostile[i] : report_page_long_name();
        char uid[65];

        snprintf(uid, sizeof(uid), "%08zx%056d", i + 0xabc00000, 7);
        options.uid = uid;
        options.device_name = name;
        options.workload = name;
        options.library = name;
        options.message = name;
        options.trials = 3;
        options.samples = 60;
        options.estimates = SYNTHETIC_DECLARED;
        options.simulated = true;
        report_page_add(page, &options);
    }
}

void report_page_render(const struct report_page *page, struct text *ret)
{
    struct error err = ERROR_INIT;

    if (report_html_text(page->store, page->cells, page->cell_count, ret, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

void report_page_close(struct report_page *page)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char path[128];

    store_close(page->store);
    for (size_t i = 0; i < 3; ++i) {
        snprintf(path, sizeof(path), "%s%s", page->path, suffixes[i]);
        unlink(path);
    }
    rmdir(page->folder);
}

char *report_page_escaped(const char *name)
{
    struct text printable, out;

    text_init(&printable);
    text_init(&out);
    text_append_printable(&printable, name, strlen(name));
    for (const char *at = printable.data; *at; ++at) {
        static const char special[] = "&<>\"'";
        static const char *const references[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
        const char *found = strchr(special, *at);

        if (found)
            text_append(&out, references[found - special]);
        else
            text_append_char(&out, *at);
    }
    text_finish(&printable);
    return text_steal(&out);
}
