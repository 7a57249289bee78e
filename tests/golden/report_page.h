/* report_page - a database in a folder of its own, and its page; shared by the tests of the page.
 */
#ifndef ASSAY_TESTS_GOLDEN_REPORT_PAGE_H
#define ASSAY_TESTS_GOLDEN_REPORT_PAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "harness/core/text.h"
#include "tests/support/synthetic_campaign.h"

#define REPORT_PAGE_CELLS_MAX 64

struct report_page {
    char folder[64], path[96];
    struct store *store;
    int64_t cells[REPORT_PAGE_CELLS_MAX];
    size_t cell_count;
};

/* Names that try to inject markup. */
extern const char *const report_page_hostile[];
extern const size_t report_page_hostile_count;

/* Fails the test when something goes wrong. Each campaign added needs a uid of its own. */
void report_page_open(struct report_page *page);
void report_page_add(struct report_page *page, const struct synthetic_options *options);
void report_page_render(const struct report_page *page, struct text *ret);
/* Two campaigns with every hostile name in every place that takes one; and one name of 10 KB. */
void report_page_add_hostile(struct report_page *page);
void report_page_close(struct report_page *page);

/* An untrusted text as it must be in the source of a page (not as a browser serialises it). */
char *report_page_escaped(const char *name); /* heap */

/* A name of 10 000 characters. */
const char *report_page_long_name(void);

#endif
