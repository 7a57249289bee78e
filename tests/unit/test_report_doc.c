/* A document: phrases, and blocks as a page, Markdown and lines have them. */
#include <stddef.h>
#include <string.h>

#include "reports/doc.h"
#include "tests/support/unit.h"

static const struct doc_medium *const media[] = {&doc_html, &doc_markdown, &doc_lines};
#define MEDIA (sizeof(media) / sizeof(*media))

/* What `write` makes of a document in each medium. */
static void assert_written(void (*write)(struct doc *doc), const char *const expected[MEDIA])
{
    for (size_t i = 0; i < MEDIA; i++) {
        struct text out;
        struct doc doc;

        text_init(&out);
        doc = doc_new(&out, media[i]);
        write(&doc);
        assert_true(text_ok(&out));
        assert_string_equal(out.data, expected[i]);
        assert_int_equal(doc.depth, 0);
        doc_finish(&doc);
        text_finish(&out);
    }
}

static void phrases(struct doc *doc)
{
    doc_say(doc, "soft", "{bold a {care b}} {code c} {link #r-1 d e}, `assay show`, 5 %% of %s",
            "f");
}

TEST(looks)
{
    assert_written(phrases,
                   (const char *const[]){
                       "<p class=\"soft\"><b>a <span class=\"care\">b</span></b> <code>c</code> <a "
                       "href=\"#r-1\">d e</a>, <code>assay show</code>, 5 % of f</p>\n",
                       "**a b** `c` d e, `assay show`, 5 % of f\n",
                       "a b c d e, `assay show`, 5 % of f\n"});
}

/* Data has no looks, whatever is in it, but for commands between two backticks. */
static void data(struct doc *doc)
{
    static const char hostile[] = "{bold x} <b> \x01y\x0e |@me [a](b) \t\n";

    doc_say(doc, NULL, "%s", hostile);
    doc_say(doc, NULL, "{code %s}", "`|` ``` x");
    doc_say(doc, NULL, "%s and %s", "see `assay \x02 doctor`", "a ` alone");
}

TEST(data_is_no_markup)
{
    assert_written(
        data, (const char *const[]){
                  "<p>{bold x} &lt;b&gt; \\x01y\\x0E |@me [a](b) \\x09\\x0A</p>\n"
                  "<p><code><code>|</code> <code></code>` x</code></p>\n"
                  "<p>see <code>assay \\x02 doctor</code> and a ` alone</p>\n",
                  "{bold x} &#60;b> &#92;x01y&#92;x0E &#124;&#64;me [a&#93;(b) "
                  "&#92;x09&#92;x0A\n\n`\\| ' x`\n\nsee `assay \\x02 doctor` and a &#96; alone\n",
                  "{bold x} <b> \\x01y\\x0E |@me [a](b) \\x09\\x0A\n`|` ``` x\n"
                  "see `assay \\x02 doctor` and a ` alone\n"});
}

static const char *volatile missing; /* which the compiler does not know */

static void numbers(struct doc *doc)
{
    doc_say(doc, NULL, "%d %lld %zu %.2f %g %+.1f %5s|%.3s|%c|%-4d|%u", -1, -2LL, (size_t)3, 0.5,
            1e9, 0.25, "ab", "abcdef", 'x', 7, 8U);
    doc_say(doc, NULL, "%s", missing);
    doc_say(doc, NULL, "{digest %s}, {digest %s}", "0123456789abcdef", missing);
}

TEST(directives)
{
    assert_written(
        numbers,
        (const char *const[]){
            "<p>-1 -2 3 0.50 1e+09 +0.2    ab|abc|x|7   |8</p>\n"
            "<p><span class=\"none\">not recorded</span></p>\n"
            "<p><code title=\"sha256:0123456789abcdef\">0123456789ab…</code>, <span "
            "class=\"none\">not recorded</span></p>\n",
            "-1 -2 3 0.50 1e+09 +0.2    ab&#124;abc&#124;x&#124;7   &#124;8\n\nnot recorded\n\n"
            "`0123456789abcdef`, `not recorded`\n",
            "-1 -2 3 0.50 1e+09 +0.2    ab|abc|x|7   |8\nnot recorded\n"
            "0123456789abcdef, not recorded\n"});
}

static void table(struct doc *doc)
{
    static const struct doc_column columns[] = {
        {"Name", DOC_NAME}, {"Number", DOC_NUMBER | DOC_LABELLED, 20}, {"Words", DOC_BREAK}};

    doc_say(doc, NULL, "before");
    doc_add(doc, "what it is");
    doc_table(doc, "tight", columns, 3);
    doc_say(doc, NULL, "a|b\t%d\tx\ny", 5);
    doc_say(doc, NULL, "longer\t12345678\tz");
    doc_say(doc, NULL, "none\t0\t");
    doc_say(doc, NULL, "all of it");
    doc_close(doc);
    doc_say(doc, NULL, "after");
}

TEST(tables)
{
    assert_written(
        table,
        (const char *const[]){
            "<p>before</p>\n<div class=\"scroll\"><table class=\"tight\"><caption>what it "
            "is</caption><thead><tr><th scope=\"col\">Name</th><th scope=\"col\" class=\"num "
            "w20\">Number</th><th scope=\"col\">Words</th></tr></thead><tbody>\n"
            "<tr><th scope=\"row\">a|b</th><td class=\"num\" data-name=\"Number\">5</td><td "
            "class=\"wrap\">x<br>y</td></tr>\n"
            "<tr><th scope=\"row\">longer</th><td class=\"num\" data-name=\"Number\">12345678</td>"
            "<td class=\"wrap\">z</td></tr>\n"
            "<tr><th scope=\"row\">none</th><td class=\"num\" data-name=\"Number\">0</td><td "
            "class=\"wrap\"></td></tr>\n"
            "<tr><th scope=\"row\" colspan=\"3\">all of it</th></tr>\n"
            "</tbody></table></div>\n<p>after</p>\n",
            "before\n\nwhat it is\n\n| Name | Number | Words |\n| --- | ---: | --- |\n"
            "| a&#124;b | 5 | x<br>y |\n| longer | 12345678 | z |\n| none | 0 |  |\n| all of it | "
            "| |\n\nafter\n",
            "before\nwhat it is\n\nName      Number  Words\na|b            5  x; y\n"
            "longer  12345678  z\nnone           0\nall of it\n\nafter\n"});
}

static void boxes(struct doc *doc)
{
    static const struct doc_column columns[] = {{"Who", 0}, {"How\n{much}", 0}};

    doc_heading(doc, 2, "id", "Title %d", 1);
    doc_note(doc, "note", "beware");
    doc_open(doc, DOC_FACTS, "facts");
    doc_say(doc, NULL, "Label\tvalue");
    doc_close(doc);
    doc_add(doc, "more");
    doc_open(doc, DOC_FOLD, NULL);
    doc_open(doc, DOC_LIST, NULL);
    doc_say(doc, NULL, "one");
    doc_close(doc);
    doc_close(doc);
    doc_open(doc, DOC_DETAILS, NULL);
    doc_say(doc, NULL, "line");
    doc_close(doc);
    doc_table(doc, "stacked", columns, 2);
    doc_say(doc, NULL, "we\tso");
    doc_close(doc);
}

TEST(boxes_hold_blocks)
{
    assert_written(
        boxes,
        (const char *const[]){
            "<h2 id=\"id\">Title 1</h2>\n<div class=\"note\">\n<p>beware</p>\n</div>\n"
            "<dl class=\"facts\">\n<div><dt>Label</dt><dd>value</dd></div>\n</dl>\n"
            "<details><summary>more</summary>\n<ul>\n<li>one</li>\n</ul>\n</details>\n"
            "<ul>\n<li>line</li>\n</ul>\n"
            "<div class=\"scroll\"><table class=\"stacked\"><thead><tr><th scope=\"col\">Who</th>"
            "<th scope=\"col\">How<br>{much}</th></tr></thead><tbody>\n"
            "<tr><td>we</td><td>so</td></tr>\n</tbody></table></div>\n",
            "## Title 1\n\nbeware\n\n- Label: value\n\nmore\n\n- one\n\n- line\n\n"
            "| Who | How<br>{much} |\n| --- | --- |\n| we | so |\n",
            "Title 1\nbeware\n  Label                   value\nmore\n    - one\n  line\n"
            "we\n  How: so\n\n"});
}

/* A section that stayed empty leaves nothing. */
static void undone(struct doc *doc)
{
    size_t before;

    doc_say(doc, NULL, "kept");
    before = doc->out->length;
    doc_heading(doc, 2, NULL, "Nothing");
    doc_open(doc, DOC_LIST, NULL);
    doc_close(doc);
    doc_undo(doc, before);
}

TEST(an_empty_section_is_taken_back)
{
    assert_written(undone, (const char *const[]){"<p>kept</p>\n", "kept\n", "kept\n"});
}

/* Of a fold in a brief document the summary is written, and nothing of what is in it. */
static void folded(struct doc *doc)
{
    static const struct doc_column columns[] = {{"Who", 0}, {"How", 0}};

    doc->is_brief = true;
    doc_add(doc, "summary");
    doc_open(doc, DOC_FOLD, NULL);
    doc_table(doc, NULL, columns, 2);
    doc_say(doc, NULL, "we\tso");
    doc_close(doc);
    doc_add(doc, "inner");
    doc_open(doc, DOC_FOLD, NULL);
    doc_close(doc);
    doc_say(doc, NULL, "hidden");
    doc_close(doc);
    doc_say(doc, NULL, "after");
}

TEST(a_brief_document_has_summaries_alone)
{
    assert_written(folded, (const char *const[]){"<details><summary>summary</summary>\n</details>\n"
                                                 "<p>after</p>\n",
                                                 "summary\n\nafter\n", "summary\nafter\n"});
}

static void assert_lines(size_t width, const char *expected)
{
    static const struct doc_column columns[] = {{"name", 0}, {"n", DOC_NUMBER}, {"words", 0}};
    struct text out;
    struct doc doc;

    text_init(&out);
    doc = doc_new(&out, &doc_lines);
    doc.width = width;
    doc_table(&doc, NULL, columns, 3);
    doc_say(&doc, NULL, "first\t12\tone two three four five six seven");
    doc_close(&doc);
    assert_string_equal(out.data, expected);
    doc_finish(&doc);
    text_finish(&out);
}

/* Words of the last column go on below its beginning; where it has no room, cells are lines. */
TEST(tables_fit_the_width)
{
    assert_lines(0, "name    n  words\nfirst  12  one two three four five six seven\n\n");
    assert_lines(36, "name    n  words\nfirst  12  one two three four five\n"
                     "           six seven\n\n");
    assert_lines(30, "first\n  n: 12\n  words: one two three four five six seven\n\n");
}

TEST(names_in_words)
{
    struct text out, plain;

    text_init(&out);
    text_init(&plain);
    doc_spaced(&out, "not_dominated");
    doc_phrase(&out, ", {link #a {bold x}}\ty\n`z`");
    doc_plain(&plain, out.data);
    assert_string_equal(plain.data, "not dominated, x  y; `z`");
    text_finish(&out);
    text_finish(&plain);
}
