#include "reports/doc.h"

#include <stdint.h>
#include <string.h>

#include "harness/core/cleanup.h"

static const struct {
    const char *name;
    enum doc_mark mark;
} looks[] = {{"bold", MARK_BOLD},    {"soft", MARK_SOFT}, {"good", MARK_GOOD},
             {"care", MARK_CARE},    {"bad", MARK_BAD},   {"none", MARK_NONE},
             {"code", MARK_CODE},    {"link", MARK_LINK}, {"digest", MARK_DIGEST},
             {"clause", MARK_CLAUSE}};

/* ---- phrases ---- */

static void append_data(struct text *out, const char *string)
{
    const char *open, *close;

    while ((open = strchr(string, '`')) && (close = strchr(open + 1, '`'))) {
        text_append_printable(out, string, (size_t)(open - string));
        text_append_char(out, MARK_COMMAND);
        text_append_printable(out, open + 1, (size_t)(close - open - 1));
        text_append_char(out, MARK_COMMAND_END);
        string = close + 1;
    }
    text_append_printable(out, string, strlen(string));
}

/* By a format that was checked where it was written. */
static void append_formatted(struct text *out, const char *format, ...)
{
    CLEANUP(text_finish) struct text words = TEXT_INIT;
    va_list args;

    va_start(args, format);
    text_append_formatv(&words, format, args);
    va_end(args);
    append_data(out, words.data);
    out->failed = out->failed || words.failed;
}

/* One directive, from its % on; returns what follows it. */
static const char *append_directive(struct text *out, const char *at, va_list *args)
{
    const size_t flags = 1 + strspn(at + 1, "-+ #.0123456789"), size = strspn(at + flags, "lz");
    const char type = at[flags + size], *string;
    char format[16] = "";

    memcpy(format, at, flags + size + 1 < sizeof(format) ? flags + size + 1 : 0);
    if (type == '%')
        text_append_char(out, '%');
    else if (type == 's' && !(string = va_arg(*args, const char *)))
        doc_phrase(out, "{none not recorded}");
    else if (type == 's')
        append_formatted(out, format, string);
    else if (strchr("efg", type))
        append_formatted(out, format, va_arg(*args, double));
    else if (size == 2)
        append_formatted(out, format, va_arg(*args, long long));
    else if (size == 1)
        append_formatted(out, format, va_arg(*args, size_t)); /* as wide as long */
    else
        append_formatted(out, format, va_arg(*args, int));
    return at + flags + size + 1;
}

/* A look, from its brace on; returns what follows its name. */
static const char *append_look(struct text *out, const char *at)
{
    for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
        const size_t length = strlen(looks[i].name);

        if (!strncmp(at + 1, looks[i].name, length) && at[1 + length] == ' ') {
            text_append_char(out, (char)looks[i].mark);
            return at + length + 2;
        }
    }
    text_append_char(out, '{');
    return at + 1;
}

static void append_phrases(struct text *out, const char *at, va_list *args)
{
    bool in_target = false, in_command = false;

    while (*at) {
        if (*at == '%') {
            at = append_directive(out, at, args);
        } else if (*at == '{') {
            in_target = !strncmp(at, "{link ", 6);
            at = append_look(out, at);
        } else if (*at == '`') {
            in_command = !in_command;
            text_append_char(out, in_command ? MARK_COMMAND : MARK_COMMAND_END);
            at++;
        } else {
            text_append_char(out, (char)(*at == '}'                ? MARK_END
                                         : *at == ' ' && in_target ? MARK_TO
                                                                   : *at));
            in_target = in_target && *at != ' ';
            at++;
        }
    }
}

void doc_phrasev(struct text *out, const char *format, va_list args)
{
    va_list copy;

    va_copy(copy, args);
    append_phrases(out, format, &copy);
    va_end(copy);
}

void doc_phrase(struct text *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    doc_phrasev(out, format, args);
    va_end(args);
}

void doc_spaced(struct text *out, const char *name)
{
    CLEANUP(text_finish) struct text words = TEXT_INIT;

    for (; name && *name; name++)
        text_append_char(&words, *name == '_' ? ' ' : *name);
    doc_phrase(out, "%s", words.data);
    out->failed = out->failed || words.failed;
}

size_t doc_plain_length(const char *phrases)
{
    size_t length = 0;

    while ((unsigned char)phrases[length] > MARK_COMMAND_END)
        length++;
    return length;
}

void doc_plain_short(struct text *out, const char *phrases, size_t digest)
{
    bool in_digest = false;

    while (*phrases) {
        const size_t length = doc_plain_length(phrases);

        text_append_bytes(out, phrases, in_digest && length > digest ? digest : length);
        phrases += length;
        in_digest = *phrases == MARK_DIGEST;
        if (*phrases == MARK_LINK)
            phrases += strcspn(phrases, "\x0c");
        else if (*phrases == MARK_COMMAND || *phrases == MARK_COMMAND_END)
            text_append_char(out, '`');
        else if (*phrases == '\n' || *phrases == '\t')
            text_append(out, *phrases == '\n' ? "; " : "  ");
        phrases += *phrases != '\0';
    }
}

void doc_plain(struct text *out, const char *phrases)
{
    doc_plain_short(out, phrases, SIZE_MAX);
}

/* ---- blocks ---- */

struct doc doc_new(struct text *out, const struct doc_medium *medium)
{
    struct doc doc = {.out = out, .medium = medium};

    text_init(&doc.block);
    text_init(&doc.rows);
    return doc;
}

void doc_finish(struct doc *doc)
{
    text_finish(&doc->block);
    text_finish(&doc->rows);
}

enum doc_box doc_box(const struct doc *doc)
{
    return doc->boxes[doc->depth];
}

static void clear(struct doc *doc)
{
    doc->out->failed = doc->out->failed || doc->block.failed || doc->rows.failed;
    text_clear(&doc->block);
}

void doc_add(struct doc *doc, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    doc_phrasev(&doc->block, format, args);
    va_end(args);
}

bool doc_ends_with(const struct doc *doc, char c)
{
    return doc->block.length > 0 && doc->block.data[doc->block.length - 1] == c;
}

void doc_end(struct doc *doc, const char *look)
{
    doc->medium->block(doc, look);
    doc->number += doc_box(doc) == DOC_NUMBERED;
    clear(doc);
}

void doc_end_heading(struct doc *doc, int level, const char *id)
{
    doc->medium->heading(doc, level, id);
    clear(doc);
}

void doc_open(struct doc *doc, enum doc_box box, const char *look)
{
    doc->boxes[++doc->depth] = box;
    if (box == DOC_NUMBERED) {
        doc->number = 1;
        doc->numbered = look;
    }
    doc->medium->open(doc, look);
    clear(doc);
    if (box == DOC_FOLD && doc->is_brief && doc->closed_depth == 0) {
        doc->closed_depth = doc->depth;
        doc->closed_from = doc->out->length;
    }
}

void doc_table(struct doc *doc, const char *look, const struct doc_column *columns, size_t count)
{
    doc->columns = columns;
    doc->column_count = count;
    doc_open(doc, DOC_TABLE, look);
}

void doc_close(struct doc *doc)
{
    if (doc->closed_depth == doc->depth && doc->closed_depth > 0) {
        doc_undo(doc, doc->closed_from);
        doc->closed_depth = 0;
    }
    doc->medium->close(doc);
    doc->depth--;
    clear(doc);
}

void doc_undo(struct doc *doc, size_t length)
{
    if (!text_ok(doc->out))
        return;
    doc->out->length = length;
    doc->out->data[length] = '\0';
}

void doc_each_cell(struct doc *doc,
                   void (*each)(struct doc *doc, size_t index, char *cell, bool is_last))
{
    char *cell = doc->block.data, *end;

    for (size_t i = 0; cell; i++, cell = end) {
        end = strchr(cell, '\t');
        if (end)
            *end++ = '\0';
        each(doc, i, cell, !end);
    }
}
