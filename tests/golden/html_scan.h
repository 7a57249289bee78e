/*
 * html_scan - reads the tags of a page as a browser's serialiser writes them, to distinguish markup
 * from text.
 */
#ifndef ASSAY_TESTS_GOLDEN_HTML_SCAN_H
#define ASSAY_TESTS_GOLDEN_HTML_SCAN_H

#include <stdbool.h>
#include <stddef.h>

struct html_scan {
    size_t elements; /* start tags */
    size_t charts;   /* <svg class="chart" ...> and <svg class="parts" ...> */
    size_t tables, captions, details;
    char problem[256]; /* the first item that must not be in a report; "" for none */
    bool balanced;     /* every element that must be closed was closed, in order */
};

/*
 * Problems: an element that the report does not write (script, img, iframe, object, style beyond
 * the first ...), an attribute whose name begins with "on", an address other than "#...", a
 * comment.
 */
void html_scan(const char *page, struct html_scan *ret);

/* Occurrences of `needle`. */
size_t html_count(const char *page, const char *needle);

#endif
