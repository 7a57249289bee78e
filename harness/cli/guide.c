#include "harness/cli/guide.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/manual.h"
#include "harness/cli/output.h"
#include "harness/core/cleanup.h"
#include "harness/core/embed.h"
#include "harness/core/version.h"
#include "protocols/estimate.h"
#include "protocols/finding.h"
#include "protocols/metric.h"

extern const struct embed_file guide_texts[]; /* tutorial.md, ... */
extern const size_t guide_texts_count;

/* ---- texts made of tables, in the same Markdown ---- */

static void append_verdicts(struct text *out)
{
    text_append(out, "The best first; a cell has the worst that more than a fifth of its trials "
                     "have.\n\n");
    for (int i = 0; i < ESTIMATE_VERDICT_COUNT; i++)
        text_append_format(out, "**%s**: %s.\n\n", estimate_verdict_label(i),
                           estimate_verdict_help(i));
    text_append(out, "Of comparisons: **faster**, **slower**, **equivalent** (the whole interval "
                     "lies within the margin), **inconclusive** (said as: not settled).\n\n");
}

static void append_metrics(struct text *out)
{
    for (int i = 0; i < METRIC_COUNT; i++)
        text_append_format(out, "**%s** (%s%s): %s.\n\n", metrics[i].id, metrics[i].unit,
                           metrics[i].better == METRIC_HIGHER  ? ", higher is better"
                           : metrics[i].better == METRIC_LOWER ? ", lower is better"
                                                               : "",
                           metrics[i].help);
}

/* "{share:%}" as "<share>", "{subject|words}" as "<subject>". */
static void append_template(struct text *out, const char *words)
{
    while (*words) {
        const size_t plain = strcspn(words, "{"), name = strcspn(words + plain, ":|}");

        text_append_bytes(out, words, plain);
        words += plain;
        if (!*words)
            break;
        text_append_format(out, "<%.*s>", (int)name - 1, words + 1);
        words += strcspn(words, "}");
        words += *words == '}';
    }
}

static void append_findings(struct text *out)
{
    for (int i = 0; i < FINDING_COUNT; i++) {
        const struct finding_kind *kind = &finding_kinds[i];

        text_append_format(out, "**%s** (%s): ", kind->code, finding_severity_name(kind->severity));
        append_template(out, kind->words);
        text_append(out, kind->remedy[0] ? ". What to do: " : "");
        append_template(out, kind->remedy);
        text_append(out, ".\n\n");
    }
}

static const struct topic {
    const char *name, *title;
    void (*append)(struct text *out);
} topics[] = {
#define TOPIC_ROW(...) {__VA_ARGS__},
    GUIDE_TOPIC_MAP(TOPIC_ROW)
#undef TOPIC_ROW
};
#define TOPICS (sizeof(topics) / sizeof(topics[0]))

/* Its file, which begins with "# TITLE". */
static const char *file_of(const struct topic *topic)
{
    char name[32];

    snprintf(name, sizeof(name), "%s.md", topic->name);
    return embed_find(guide_texts, guide_texts_count, name)->text;
}

/* Its Markdown, which begins with "# TITLE". */
static void append_markdown(const struct topic *topic, struct text *out)
{
    if (topic->append) {
        text_append_format(out, "# %s\n\n", topic->title);
        topic->append(out);
    } else {
        text_append(out, file_of(topic));
    }
}

/* ---- writers, a line or a paragraph at a time ---- */

/* Words without the marks of bold and code. */
static void append_plain(struct text *out, const char *words)
{
    for (; *words; words++)
        if (*words == '*' && words[1] == '*')
            words++;
        else if (*words != '`')
            text_append_char(out, *words);
}

/* roff: bold for ** and `. */
static void append_roff(struct text *out, const char *words)
{
    bool bold = false;

    while (*words) {
        const size_t length = strcspn(words, "*`") + (*words == '*' && words[1] != '*');

        manual_append_roff(out, words, length);
        words += length;
        if (*words == '`' || (*words == '*' && words[1] == '*')) {
            words += 1 + (*words == '*');
            bold = !bold;
            text_append(out, bold ? "\\fB" : "\\fR");
        }
    }
    text_append(out, bold ? "\\fR\n" : "\n");
}

struct writer {
    struct text *out;
    struct text paragraph; /* its words so far */
    bool roff, in_code;
};

static void end_paragraph(struct writer *writer)
{
    CLEANUP(text_finish) struct text plain = TEXT_INIT;

    if (writer->paragraph.length == 0)
        return;
    if (writer->roff) {
        text_append(writer->out, ".PP\n");
        append_roff(writer->out, writer->paragraph.data);
    } else {
        append_plain(&plain, writer->paragraph.data);
        output_wrapped(writer->out, plain.data ? plain.data : "", 0, output_columns());
        text_append_char(writer->out, '\n');
    }
    text_clear(&writer->paragraph);
}

static void write_heading(struct writer *writer, const char *heading)
{
    if (writer->roff)
        text_append_format(writer->out, ".SH \"%s\"\n", heading);
    else
        text_append_format(writer->out, "%s\n\n", heading);
}

static void write_code(struct writer *writer, const char *line)
{
    if (writer->roff)
        append_roff(writer->out, line);
    else
        text_append_format(writer->out, "    %s\n", line);
}

/* Code begins or ends; a blank line after it. */
static void turn_code(struct writer *writer, bool in_code)
{
    if (writer->in_code == in_code)
        return;
    writer->in_code = in_code;
    if (writer->roff)
        text_append(writer->out, in_code ? ".PP\n.nf\n.RS\n" : ".RE\n.fi\n");
    else if (!in_code)
        text_append_char(writer->out, '\n');
}

static void write_line(struct writer *writer, const char *line, bool *fenced)
{
    const bool fence = !strncmp(line, "```", 3), indented = !strncmp(line, "    ", 4);

    if (fence || *fenced || indented || line[0] == '#' || line[0] == '\0')
        end_paragraph(writer);
    if (fence)
        *fenced = !*fenced;
    turn_code(writer, *fenced || indented);
    if (fence || line[0] == '\0')
        return;
    if (*fenced || indented)
        write_code(writer, *fenced ? line : line + 4);
    else if (line[0] == '#')
        write_heading(writer, line + strspn(line, "# "));
    else
        text_append_format(&writer->paragraph, "%s%s", writer->paragraph.length > 0 ? " " : "",
                           line);
}

static void write_topic(const char *markdown, bool roff, struct text *out)
{
    struct writer writer = {.out = out, .paragraph = TEXT_INIT, .roff = roff};
    bool fenced = false;

    for (const char *at = markdown; *at;) {
        const size_t length = strcspn(at, "\n");
        AUTO_FREE char *line = strndup(at, length);

        if (line)
            write_line(&writer, line, &fenced);
        out->failed = out->failed || !line;
        at += length + (at[length] == '\n');
    }
    end_paragraph(&writer);
    turn_code(&writer, false);
    out->failed = out->failed || writer.paragraph.failed;
    text_finish(&writer.paragraph);
}

/* "# TITLE" of its Markdown, heap. */
static char *title_of(const struct topic *topic)
{
    const char *text = topic->append ? topic->title : file_of(topic) + 2;

    return strndup(text, strcspn(text, "\n"));
}

void guide_append_topics(struct text *out)
{
    text_append(out, "Topics (`assay help TOPIC`, or assay-TOPIC(7)):\n");
    for (size_t i = 0; i < TOPICS; i++) {
        AUTO_FREE char *title = title_of(&topics[i]);

        text_append_format(out, "  %-15s  %s\n", topics[i].name, title ? title : "");
    }
}

enum status guide_append(const char *name, bool roff, struct text *ret, struct error *err)
{
    CLEANUP(text_finish) struct text markdown = TEXT_INIT;
    const struct topic *topic = NULL;
    const char *names[TOPICS], *nearest;

    for (size_t i = 0; i < TOPICS; i++) {
        names[i] = topics[i].name;
        if (!strcmp(names[i], name))
            topic = &topics[i];
    }
    if (!topic) {
        nearest = text_nearest(name, names, TOPICS);
        return error_set(
            err, STATUS_NOT_FOUND, "no command or topic \"%s\"%s%s%s; `assay help` lists them",
            name, nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    }
    append_markdown(topic, &markdown);
    if (!text_ok(&markdown))
        return error_no_memory(err);
    if (roff) {
        AUTO_FREE char *title = title_of(topic);

        text_append_format(ret, ".TH ASSAY\\-%s 7 \"\" \"assay " ASSAY_VERSION "\"\n", name);
        text_append_format(ret, ".SH NAME\nassay\\-%s \\- %s\n", name, title ? title : "");
    }
    write_topic(roff ? markdown.data + strcspn(markdown.data, "\n") : markdown.data, roff, ret);
    return STATUS_OK;
}
