#include "harness/core/shell.h"

#include <string.h>

static bool is_bare(const char *word)
{
    return word[0] && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-./:=,+@%")] == '\0';
}

/* Whether output shows every byte of it as it is. */
static bool is_printable(const char *word)
{
    struct text shown = TEXT_INIT;
    bool same;

    text_append_printable(&shown, word, strlen(word));
    same = text_ok(&shown) && !strcmp(shown.data, word);
    text_finish(&shown);
    return same;
}

static void append_single(struct text *text, const char *word)
{
    text_append_char(text, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            text_append(text, "'\\''");
        else
            text_append_char(text, *word);
    }
    text_append_char(text, '\'');
}

static size_t ends_of(const char *word, size_t length)
{
    size_t ends = 0;

    while (ends < length && word[length - 1 - ends] == '\n')
        ends++;
    return ends;
}

/* A shell takes line ends off the end of what a command writes: those are in quotes. */
static void append_printf(struct text *text, const char *word)
{
    const size_t length = strlen(word), kept = length - ends_of(word, length);

    text_append(text, "\"$(printf '");
    for (size_t i = 0; i < kept; i++) {
        const unsigned char byte = (unsigned char)word[i];

        if (byte < 0x20 || byte > 0x7e || strchr("'\\%", byte))
            text_append_format(text, "\\%03o", byte);
        else
            text_append_char(text, (char)byte);
    }
    text_append(text, "')\"");
    if (kept < length)
        append_single(text, word + kept);
}

void shell_append(struct text *text, const char *word)
{
    if (is_bare(word))
        text_append(text, word);
    else if (is_printable(word))
        append_single(text, word);
    else
        append_printf(text, word);
}

char *shell_quoted(const char *word)
{
    struct text text = TEXT_INIT;

    shell_append(&text, word);
    return text_steal(&text);
}
