#include "tests/golden/html_scan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_ 24
#define DEPTH_MAX 64

static const char *const written[] = {
    "html", "head",   "meta",       "title",   "style",    "body",  "div",  "header",
    "main", "footer", "section",    "article", "aside",    "h1",    "h2",   "h3",
    "h4",   "p",      "b",          "i",       "br",       "wbr",   "span", "code",
    "pre",  "small",  "sup",        "a",       "dl",       "dt",    "dd",   "ul",
    "ol",   "li",     "table",      "caption", "thead",    "tbody", "tr",   "th",
    "td",   "figure", "figcaption", "details", "summary",  "time",  "svg",  "desc",
    "path", "rect",   "circle",     "text",    "colgroup", "col",   "nav",
};
static const char *const empty[] = {"meta", "br", "wbr", "col"};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void problem(struct html_scan *ret, const char *what, const char *name)
{
    if (!ret->problem[0])
        snprintf(ret->problem, sizeof(ret->problem), "%s: %.100s", what, name);
}

static const char *read_name(const char *at, char name[NAME_MAX_])
{
    size_t length = 0;

    while (*at && !isspace((unsigned char)*at) && !strchr("/>=", *at)) {
        if (length + 1 < NAME_MAX_)
            name[length++] = (char)tolower((unsigned char)*at);
        ++at;
    }
    name[length] = '\0';
    return at;
}

/* One attribute; NULL at the end of the tag. */
static const char *read_attribute(const char *at, const char *element, struct html_scan *ret)
{
    char name[NAME_MAX_], value[64] = "";
    const char *end;

    at += strspn(at, " \t\n/");
    if (*at == '>' || !*at)
        return NULL;
    at = read_name(at, name);
    if (at[0] == '=' && at[1] == '"') {
        end = strchr(at + 2, '"');
        if (!end) {
            problem(ret, "a value without an end", name);
            return NULL;
        }
        snprintf(value, sizeof(value), "%.*s", (int)(end - at - 2 < 60 ? end - at - 2 : 60),
                 at + 2);
        at = end + 1;
    } else {
        problem(ret, "an attribute without a quoted value", name);
        at += *at == '=';
    }
    if (strncmp(name, "on", 2) == 0)
        problem(ret, "an event handler", name);
    if (strcmp(name, "style") == 0 || strcmp(name, "src") == 0 || strcmp(name, "srcset") == 0)
        problem(ret, "an attribute that a report never writes", name);
    if (strstr(name, "href") && value[0] != '#')
        problem(ret, "an address outside the page", value);
    if (strcmp(name, "class") == 0 && strcmp(element, "svg") == 0)
        ret->charts += strcmp(value, "chart") == 0 || strcmp(value, "parts") == 0;
    return at;
}

static const char *end_of_tag(const char *at)
{
    bool quoted = false;

    for (; *at && (quoted || *at != '>'); ++at)
        quoted = *at == '"' ? !quoted : quoted;
    return *at ? at + 1 : at;
}

static void count_element(const char *name, struct html_scan *ret)
{
    ++ret->elements;
    ret->tables += strcmp(name, "table") == 0;
    ret->captions += strcmp(name, "caption") == 0;
    ret->details += strcmp(name, "details") == 0;
    if (!is_one_of(name, written, sizeof(written) / sizeof(written[0])))
        problem(ret, "an element that a report never writes", name);
}

void html_scan(const char *page, struct html_scan *ret)
{
    char stack[DEPTH_MAX][NAME_MAX_];
    size_t depth = 0, styles = 0;
    const char *at = page;

    *ret = (struct html_scan){.balanced = true};
    while ((at = strchr(at, '<'))) {
        char name[NAME_MAX_];
        const char *tag = at, *next;
        bool closing = at[1] == '/';

        if (strncasecmp(at, "<!doctype html>", 15) == 0) {
            at += 15;
            continue;
        }
        if (at[1] == '!' || at[1] == '?')
            problem(ret, "a comment or declaration", at);
        next = read_name(at + 1 + closing, name);
        at = end_of_tag(at);
        if (closing) {
            if (depth == 0 || strcmp(stack[depth - 1], name) != 0)
                ret->balanced = false;
            depth -= depth > 0;
            continue;
        }
        count_element(name, ret);
        while (next && next < at)
            next = read_attribute(next, name, ret);
        if (strcmp(name, "style") == 0) {
            const char *end = strstr(at, "</style>");

            if (++styles > 1)
                problem(ret, "a second style", name);
            at = end ? end : at;
        }
        if (at[-2] == '/' || is_one_of(name, empty, sizeof(empty) / sizeof(empty[0])))
            continue;
        if (depth == DEPTH_MAX) {
            problem(ret, "nested too deep", tag);
            return;
        }
        memcpy(stack[depth++], name, sizeof(name));
    }
    ret->balanced = ret->balanced && depth == 0;
}

size_t html_count(const char *page, const char *needle)
{
    size_t count = 0;

    for (const char *at = page; (at = strstr(at, needle)); at += strlen(needle))
        ++count;
    return count;
}
