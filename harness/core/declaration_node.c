#include "harness/core/declaration_node.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#define QUOTED_MAX 60

void declaration_append_quoted(struct text *text, const char *string)
{
    size_t length = strlen(string), cut = length;

    if (length > QUOTED_MAX) {
        cut = QUOTED_MAX;
        while (cut > 0 && ((unsigned char)string[cut] & 0xc0) == 0x80)
            --cut;
    }
    text_append_char(text, '"');
    text_append_printable(text, string, cut);
    text_append(text, cut < length ? "...\"" : "\"");
}

bool declaration_node_is_null(const struct declaration_node *node)
{
    return node->kind == DECLARATION_SCALAR && node->plain &&
           (!*node->text || !strcmp(node->text, "~") || !strcmp(node->text, "null") ||
            !strcmp(node->text, "Null") || !strcmp(node->text, "NULL"));
}

void declaration_node_destroy(struct declaration_node *node)
{
    if (!node)
        return;
    for (struct declaration_node *child = node->first, *next; child; child = next) {
        next = child->next;
        declaration_node_destroy(child); /* as deep as DECLARATION_DEPTH_MAX */
    }
    free(node->key);
    free(node->text);
    free(node);
}

struct declaration_node *declaration_node_member(const struct declaration_node *node,
                                                 const char *key, size_t length)
{
    if (node->kind != DECLARATION_MAPPING)
        return NULL;
    for (struct declaration_node *child = node->first; child; child = child->next)
        if (strlen(child->key) == length && !memcmp(child->key, key, length))
            return child;
    return NULL;
}

struct parse {
    const char *origin, *yaml;
    size_t length;
    yaml_parser_t parser;
    struct declaration_node *root;
    struct declaration_node *open[DECLARATION_DEPTH_MAX]; /* mappings and lists around this place */
    size_t depth, nodes;
    char *key; /* heap; read, its value not yet */
    int key_line;
    struct error *err;
};

static enum status fail(struct parse *parse, size_t line, const char *what)
{
    return error_set_at(parse->err, STATUS_INVALID, parse->origin, line + 1, "%s", what);
}

static enum status fail_memory(struct parse *parse)
{
    return error_no_memory(parse->err);
}

/* Adds a new node below the open one; NULL when out of memory. */
static struct declaration_node *add_node(struct parse *parse, enum declaration_kind kind,
                                         size_t line)
{
    struct declaration_node *node = calloc(1, sizeof(*node));
    struct declaration_node *parent = parse->depth ? parse->open[parse->depth - 1] : NULL;

    if (!node)
        return NULL;
    ++parse->nodes;
    node->kind = kind;
    node->line = parse->key ? parse->key_line : (int)line + 1;
    node->key = parse->key;
    parse->key = NULL;
    if (!parent) {
        parse->root = node;
        return node;
    }
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    ++parent->count;
    return node;
}

static bool expects_key(const struct parse *parse)
{
    return parse->depth && parse->open[parse->depth - 1]->kind == DECLARATION_MAPPING &&
           !parse->key;
}

static enum status on_scalar(struct parse *parse, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t line = event->start_mark.line;
    struct declaration_node *node;
    char *copy;

    if (strlen(value) != event->data.scalar.length)
        return fail(parse, line, "the value holds a NUL character (\\0); leave it out");
    copy = strdup(value);
    if (!copy)
        return fail_memory(parse);
    if (expects_key(parse)) {
        parse->key = copy;
        parse->key_line = (int)line + 1;
        return STATUS_OK;
    }
    node = add_node(parse, DECLARATION_SCALAR, line);
    if (!node) {
        free(copy);
        return fail_memory(parse);
    }
    node->text = copy;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return STATUS_OK;
}

static enum status on_open(struct parse *parse, enum declaration_kind kind, size_t line)
{
    struct declaration_node *node;

    if (expects_key(parse))
        return fail(parse, line, "a key must be a plain word; write \"key: value\"");
    if (parse->depth == DECLARATION_DEPTH_MAX)
        return fail(parse, line, "nested too deep; declarations need no more than a few levels");
    node = add_node(parse, kind, line);
    if (!node)
        return fail_memory(parse);
    parse->open[parse->depth++] = node;
    return STATUS_OK;
}

static const char *anchor_of(const yaml_event_t *event, const char **tag)
{
    const yaml_char_t *anchor = NULL, *name = NULL;

    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        name = event->data.scalar.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        name = event->data.mapping_start.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        name = event->data.sequence_start.tag;
    } else if (event->type == YAML_ALIAS_EVENT) {
        anchor = event->data.alias.anchor;
    }
    *tag = (const char *)name;
    return (const char *)anchor;
}

static enum status on_event(struct parse *parse, const yaml_event_t *event)
{
    size_t line = event->start_mark.line;
    const char *tag, *anchor = anchor_of(event, &tag);

    if (anchor)
        return fail(parse, line,
                    "anchors (&name) and aliases (*name) are not taken here; write the value out");
    if (tag)
        return fail(parse, line, "tags (!name) are not taken here; write the value alone");
    if (parse->nodes > DECLARATION_NODES_MAX)
        return fail(parse, line, "too many values for a declaration");
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (parse->root)
            return fail(parse, line,
                        "a second document (---) begins; write one declaration a file");
        return STATUS_OK;
    case YAML_SCALAR_EVENT:
        return on_scalar(parse, event);
    case YAML_MAPPING_START_EVENT:
        return on_open(parse, DECLARATION_MAPPING, line);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(parse, DECLARATION_SEQUENCE, line);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        --parse->depth;
        return STATUS_OK;
    default:
        return STATUS_OK;
    }
}

/* libyaml's error, with its line and the most frequent cause. */
static enum status on_problem(struct parse *parse)
{
    const yaml_parser_t *parser = &parse->parser;
    const char *problem = parser->problem ? parser->problem : "not readable as YAML";
    size_t line = parser->problem_mark.line;
    struct text what;
    enum status status;

    if (parser->error == YAML_MEMORY_ERROR)
        return fail_memory(parse);
    if (parser->error == YAML_READER_ERROR) { /* it gives an offset alone */
        line = 0;
        for (size_t i = 0; i < parser->problem_offset && i < parse->length; ++i)
            line += parse->yaml[i] == '\n';
    }
    text_init(&what);
    text_append_format(&what, "not YAML: %s", problem);
    if (parser->context)
        text_append_format(&what, " (%s, line %zu)", parser->context,
                           parser->context_mark.line + 1);
    if (strstr(problem, "cannot start any token"))
        text_append(&what, "; indent with spaces, not tabs, and put text with special characters "
                           "in quotes");
    else if (strstr(problem, "mapping values are not allowed"))
        text_append(&what, "; put text that holds \": \" in quotes, and indent keys alike");
    else if (strstr(problem, "did not find expected"))
        text_append(&what, "; check the indentation and that brackets and quotes are closed");
    status = text_ok(&what) ? fail(parse, line, what.data) : fail_memory(parse);
    text_finish(&what);
    return status;
}

static enum status check_utf8(struct parse *parse)
{
    size_t line = 0, start = 0;

    /* A line at a time, to name it. NUL is caught here too. */
    for (size_t i = 0; i <= parse->length; ++i) {
        if (i < parse->length && parse->yaml[i] != '\n')
            continue;
        if (!text_is_utf8(parse->yaml + start, i - start))
            return fail(parse, line, "not valid UTF-8 text; save the file as UTF-8");
        start = i + 1;
        ++line;
    }
    return STATUS_OK;
}

static enum status run(struct parse *parse)
{
    enum status status = STATUS_OK;
    bool ended = false;

    while (status == STATUS_OK && !ended) {
        yaml_event_t event;

        if (!yaml_parser_parse(&parse->parser, &event))
            return on_problem(parse);
        status = on_event(parse, &event);
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return status;
}

enum status declaration_node_parse(const char *origin, const char *yaml, size_t length,
                                   struct declaration_node **ret, struct error *err)
{
    struct parse parse = {.origin = origin, .yaml = yaml, .length = length, .err = err};
    enum status status;

    if (length > DECLARATION_SIZE_MAX)
        return error_set(err, STATUS_INVALID,
                         "%s: larger than the %d bytes that a declaration "
                         "may have",
                         origin, DECLARATION_SIZE_MAX);
    TRY(check_utf8(&parse));
    if (!yaml_parser_initialize(&parse.parser))
        return fail_memory(&parse);
    yaml_parser_set_input_string(&parse.parser, (const unsigned char *)yaml, length);
    status = run(&parse);
    yaml_parser_delete(&parse.parser);
    free(parse.key);
    if (status != STATUS_OK) {
        declaration_node_destroy(parse.root);
        return status;
    }
    *ret = parse.root;
    return STATUS_OK;
}
