#include <stddef.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "reports/escape.h"
#include "tests/support/unit.h"

static void assert_html(const char *string, const char *expected)
{
    struct text out;

    text_init(&out);
    escape_html(&out, string);
    assert_true(text_ok(&out));
    assert_string_equal(out.data, expected);
    text_finish(&out);
}

TEST(markup_becomes_references)
{
    assert_html("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;");
    assert_html("\"><img src=x onerror='a'>", "&quot;&gt;&lt;img src=x onerror=&#39;a&#39;&gt;");
    assert_html("a & b &amp; c", "a &amp; b &amp;amp; c");
    assert_html("plain text 123", "plain text 123");
    assert_html("", "");
    assert_html(NULL, "");
}

TEST(names_break_between_their_words)
{
    static const char *const cases[][2] = {
        {"gpt2_small", "gpt2_<wbr>small"},
        {"/sys/a.b", "/sys/<wbr>a.<wbr>b"},
        {"3.1_", "3.1_"},
        {"_<", "_&lt;"},
        {"a_<", "a_<wbr>&lt;"},
        {"", ""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct text out;

        text_init(&out);
        escape_html_name(&out, cases[i][0], strlen(cases[i][0]));
        assert_string_equal(out.data ? out.data : "", cases[i][1]);
        text_finish(&out);
    }
}

TEST(what_is_no_text_becomes_visible)
{
    assert_html("a\x1b[31mb", "a\\x1B[31mb");
    assert_html("new\nline\ttab", "new\\x0Aline\\x09tab");
    assert_html("\xe2\x80\xae"
                "desrever",
                "\\xE2\\x80\\xAE"
                "desrever");
    assert_html("bad \xff\xfe utf8", "bad \\xFF\\xFE utf8");
    assert_html("\xc0\xafoverlong", "\\xC0\\xAFoverlong");
    assert_html("Grüße 漢字", "Grüße 漢字");
}

TEST(bytes_may_hold_nul)
{
    struct text out;

    text_init(&out);
    escape_html_bytes(&out, "a\0<", 3);
    assert_string_equal(out.data, "a\\x00&lt;");
    text_finish(&out);
}

/* Every byte alone, and pairs with each character that HTML gives a meaning. */
TEST(no_byte_passes_as_markup)
{
    for (int byte = 1; byte < 256; ++byte) {
        char string[] = {'x', (char)byte, '<', (char)byte, '"', '\'', '>', '\0'};
        struct text out;

        text_init(&out);
        escape_html(&out, string);
        assert_null(strpbrk(out.data, "<>\"'"));
        assert_true(text_is_utf8(out.data, out.length));
        text_finish(&out);
    }
}

TEST(short_forms_are_cut_at_a_character)
{
    struct text out;

    text_init(&out);
    escape_html_short(&out, "0123456789", 10);
    assert_string_equal(out.data, "0123456789");
    text_clear(&out);
    escape_html_short(&out, "0123456789", 6);
    assert_string_equal(out.data, "01234…");
    text_clear(&out);
    escape_html_short(&out, "<b>&<b>&", 4);
    assert_string_equal(out.data, "&lt;b&gt;…");
    text_clear(&out);
    escape_terminal_short(&out, "äöüäöü", 4);
    assert_string_equal(out.data, "äöü…");
    text_clear(&out);
    escape_terminal_short(&out, "漢字漢字", 5); /* two columns each */
    assert_string_equal(out.data, "漢字…");
    text_clear(&out);
    escape_terminal_short(&out, "anything", 0);
    assert_string_equal(out.data, "");
    text_finish(&out);
}

TEST(terminal_text_carries_no_escape)
{
    struct text out;

    text_init(&out);
    escape_terminal_short(&out, "\x1b]0;owned\x07\r\n", 80);
    assert_string_equal(out.data, "\\x1B]0;owned\\x07\\x0D\\x0A");
    text_finish(&out);
}

TEST(ids_are_plain)
{
    struct text out;
    char longer[300];

    text_init(&out);
    escape_html_id(&out, "9f2c41aa/3");
    assert_string_equal(out.data, "9f2c41aa-3");
    text_clear(&out);
    escape_html_id(&out, "\" onclick=\"x ÄÖ<>A");
    assert_string_equal(out.data, "onclick-x-a");
    text_clear(&out);
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    escape_html_id(&out, longer);
    assert_int_equal(out.length, 64);
    text_finish(&out);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return unit_run(NULL, NULL);
}
