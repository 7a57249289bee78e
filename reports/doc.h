/*
 * doc - a document for people, described once: as HTML, as Markdown, or as plain lines.
 *
 * An author builds one block after the other of phrases and ends it; what it becomes, a paragraph,
 * an item, a fact or a row, is said by the box that it stands in. The medium writes and escapes; an
 * author never does:
 *
 *     doc_say(&doc, "soft", "{bold How sure:} %g %% of {code %s} (`assay show`)", share, result);
 *
 * In a format
 *     {bold x} {soft x} {good x} {care x} {bad x} {none x} {clause x} {code x}
 *                      are looks, and may hold others
 *     {digest x}       is a SHA-256, of which a page shows the beginning
 *     {link #id x}     leads to another place of a page
 *     `x`              is a command
 *     \t               ends a cell of a row, or the label of a fact
 *     \n               breaks the line
 * and what directives print (s with a precision, c, d, i, u, x, e, f and g with their lengths and
 * flags) is data, which has no look of its own but for commands between backticks. NULL for s is
 * "not recorded".
 */
#ifndef ASSAY_REPORTS_DOC_H
#define ASSAY_REPORTS_DOC_H

#include <stdarg.h>
#include <stddef.h>

#include "harness/core/text.h"

/* What holds blocks. */
enum doc_box {
    DOC_PAGE,    /* paragraphs; the outermost one, which is always open */
    DOC_GROUP,   /* paragraphs that belong together */
    DOC_FOLD,    /* the same below the first block, its summary; a page shows them when asked */
    DOC_DETAILS, /* lines that say more of the block before */
    DOC_LIST,
    DOC_NUMBERED, /* a list whose items have numbers from 1; of its look NAME a link to #NAME-N
                     leads to one */
    DOC_ITEM,     /* of a list, where it holds boxes: after the block before it, which begins it */
    DOC_FACTS,    /* a label, \t and a value each */
    DOC_TABLE,    /* rows; see doc_table */
};

/* Flags of a column. */
enum {
    DOC_NUMBER = 1,    /* to the right */
    DOC_WHOLE = 2,     /* is not broken on a page */
    DOC_BREAK = 4,     /* may be broken anywhere on a page */
    DOC_NAME = 8,      /* names its row */
    DOC_LABELLED = 16, /* where a narrow page leaves heads out, each cell has it */
};

struct doc_column {
    const char *head; /* phrases */
    unsigned flags;
    /* On a page, in percent of the table: 6, 9, 12, 20, 25 or 30, which style.css has; 0: by what
     * is in it. */
    unsigned width;
    const char *look; /* of its cells: their class on a page; NULL: none */
};

struct doc;
/* How blocks are written; each gets the phrases that doc_add has made in `doc->block`. */
struct doc_medium {
    void (*block)(struct doc *doc, const char *look);
    void (*heading)(struct doc *doc, int level, const char *id);
    void (*open)(struct doc *doc, const char *look); /* of doc_box(doc), which has just begun */
    void (*close)(struct doc *doc);                  /* of doc_box(doc), which ends */
};
extern const struct doc_medium doc_html, doc_markdown, doc_lines;

#define DOC_DEPTH 8
struct doc {
    struct text *out; /* of the caller, who may write to it between blocks, as pictures do */
    const struct doc_medium *medium;
    struct text block; /* the phrases so far */
    enum doc_box boxes[DOC_DEPTH];
    size_t depth;         /* of those open; there are never more than DOC_DEPTH - 1 */
    size_t number;        /* of the next item of a numbered list */
    const char *numbered; /* its look */
    const struct doc_column *columns;
    size_t column_count;
    struct text rows; /* of a table whose columns are laid out where it ends */
    bool is_stacked; /* such a table's look says "stacked": a narrow medium writes cells as lines */
    bool is_short;   /* of digests lines have the beginning, as pages do */
    bool is_joined;  /* or "fixed", of many wide columns: as a fact, its cells joined */
    /* Of the caller, after doc_new. */
    bool is_brief;                    /* of a fold the summary alone is written */
    size_t width;                     /* of lines, the columns that a table may take; 0: any */
    size_t screen;                    /* columns that a row of blocks has room in; 0: 80 */
    size_t closed_depth, closed_from; /* a fold of which nothing is written, and from where */
};

/* Finish with doc_finish, which writes nothing. */
struct doc doc_new(struct text *out, const struct doc_medium *medium);
void doc_finish(struct doc *doc);

/* Appends phrases to the block. */
void doc_add(struct doc *doc, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether the block ends with this character: what follows may be the first of several. */
bool doc_ends_with(const struct doc *doc, char c);
/* Ends the block. `look`: its class on a page, such as "soft"; NULL: none. */
void doc_end(struct doc *doc, const char *look);
/* Ends it as a heading of this level; `id`, for links to it, may be NULL. */
void doc_end_heading(struct doc *doc, int level, const char *id);
/* A format and what it prints, and the end. */
#define doc_say(doc, look, ...) (doc_add(doc, __VA_ARGS__), doc_end(doc, look))
#define doc_heading(doc, level, id, ...)                                                           \
    (doc_add(doc, __VA_ARGS__), doc_end_heading(doc, level, id))
/* A group of one paragraph, such as a "note" or a "note stop". */
#define doc_note(doc, look, ...)                                                                   \
    (doc_open(doc, DOC_GROUP, look), doc_say(doc, NULL, __VA_ARGS__), doc_close(doc))
/* Opens a box. `look`: its class on a page, or NULL. */
void doc_open(struct doc *doc, enum doc_box box, const char *look);
/*
 * Opens a table of `count` columns (DOC_COLUMNS at most), which must stay until it is closed; the
 * block, where there is one, is its caption. A row of fewer cells has its last one over the columns
 * that are left.
 */
#define DOC_COLUMNS 40
void doc_table(struct doc *doc, const char *look, const struct doc_column *columns, size_t count);
/* Closes the innermost box. */
void doc_close(struct doc *doc);
/* Takes back what was written since `out` had this length: of a section that stayed empty. */
void doc_undo(struct doc *doc, size_t length);
/* The innermost box. */
enum doc_box doc_box(const struct doc *doc);

/* ---- phrases by themselves ---- */

/* As doc_add, for authors of parts: the text is phrases, to be appended to `doc->block`. */
void doc_phrase(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void doc_phrasev(struct text *out, const char *format, va_list args);
/* "not dominated", for the name "not_dominated". */
void doc_spaced(struct text *out, const char *name);
/* Phrases as a page has them, for authors of pages who write their own blocks; by a format. */
void doc_html_phrases(struct text *out, const char *phrases);
void html_phrase(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Phrases in words alone, as JUnit's messages and labels of pictures have them. */
void doc_plain(struct text *out, const char *phrases);
/* The same with so many characters of each digest. */
void doc_plain_short(struct text *out, const char *phrases, size_t digest);

/*
 * Appends what doc_lines made, with lines of at most `columns`: what continues stands below a
 * line's second column, or is indented.
 */
void doc_wrap(struct text *out, const char *lines, size_t columns);
/* Bytes of the longest word, between blanks. */
size_t doc_longest_word(const char *string);
/* Words from `column` on, up to `to`, and the end of the line; further lines begin at `indent`. */
void doc_wrap_words(struct text *out, const char *string, size_t column, size_t indent, size_t to);

/* ---- for media ---- */

/*
 * In phrases these bytes begin a look, up to MARK_END, or a command; what is data has none of them.
 * After MARK_LINK its target and MARK_TO come before the words.
 */
enum doc_mark {
    MARK_BOLD = 1,
    MARK_SOFT,
    MARK_GOOD,
    MARK_CARE,
    MARK_BAD,
    MARK_NONE,
    MARK_CODE,
    MARK_COMMAND,
    MARK_LINK = 11,
    MARK_TO,
    MARK_DIGEST,
    MARK_CLAUSE,
    MARK_END,
    MARK_COMMAND_END
};
/* Bytes of plain text at the start of phrases, up to a mark, \t, \n or the end. */
size_t doc_plain_length(const char *phrases);
/* Calls `each` for every cell of the block, with its number from 0, and whether it is the last. */
void doc_each_cell(struct doc *doc,
                   void (*each)(struct doc *doc, size_t index, char *cell, bool is_last));

#endif
