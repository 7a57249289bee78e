#include "harness/core/declaration.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/declaration_node.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

bool declaration_is_path(const char *name)
{
    const size_t length = strlen(name);

    return strchr(name, '/') || (length > 5 && !strcmp(name + length - 5, ".yaml"));
}

enum status declaration_parse(const char *origin, const char *yaml, size_t length,
                              const struct declaration_schema *schema, struct declaration *ret,
                              struct error *err)
{
    struct declaration declaration = {
        .origin = strdup(origin), .schema = schema, .data = calloc(1, schema->size)};
    enum status status = STATUS_OK;

    if (!declaration.origin || !declaration.data)
        status = error_no_memory(err);
    if (status == STATUS_OK)
        status = declaration_node_parse(origin, yaml, length, &declaration.root, err);
    if (status == STATUS_OK)
        status = declaration_check(&declaration, err);
    if (status == STATUS_OK)
        *ret = declaration;
    else
        declaration_finish(&declaration);
    return status;
}

enum status declaration_load(const char *path, const struct declaration_schema *schema,
                             struct declaration *ret, struct error *err)
{
    enum status status;
    size_t length;
    AUTO_FREE char *yaml = NULL;

    status = file_read(path, DECLARATION_SIZE_MAX, &yaml, &length, err);
    if (status == STATUS_NOT_FOUND && *path == '/')
        error_set(err, status, "%s: there is no such file; check the path", path);
    TRY(status);
    return declaration_parse(path, yaml, length, schema, ret, err);
}

/* Frees what a value points to. */
static void free_value(char *place, const struct declaration_schema *schema)
{
    char *items;
    uint32_t count;

    if (schema->type == DECLARATION_GROUP) {
        for (const struct declaration_field *field = schema->fields; field->key; field++)
            free_value(place + field->offset, &field->value);
    } else if (schema->type == DECLARATION_STRING || schema->type == DECLARATION_LIST) {
        memcpy(&items, place, sizeof(items));
        if (schema->type == DECLARATION_LIST) {
            memcpy(&count, place + schema->count, sizeof(count));
            for (uint32_t i = 0; i < count; i++)
                free_value(items + (size_t)i * schema->entry->size, schema->entry);
        }
        free(items);
    }
}

void declaration_finish(struct declaration *declaration)
{
    if (!declaration)
        return;
    if (declaration->data)
        free_value(declaration->data, declaration->schema);
    free(declaration->data);
    declaration_node_destroy(declaration->root);
    free(declaration->origin);
    *declaration = (struct declaration){0};
}

/* The node of a path, or of the longest part of it that is written; `ret_whole` says which. */
static const struct declaration_node *find(const struct declaration *declaration, const char *path,
                                           bool *ret_whole)
{
    const struct declaration_node *node = declaration->root;

    *ret_whole = false;
    while (node && *path) {
        const struct declaration_node *next = NULL;

        if (*path == '[') {
            unsigned long index = strtoul(path + 1, NULL, 10);

            if (node->kind == DECLARATION_SEQUENCE)
                for (next = node->first; next && index > 0; --index)
                    next = next->next;
            path += strcspn(path, "]");
            path += *path == ']';
        } else {
            size_t length = strcspn(path, ".[");

            next = declaration_node_member(node, path, length);
            path += length;
        }
        path += *path == '.';
        if (!next)
            return node;
        node = next;
    }
    *ret_whole = node != NULL;
    return node;
}

bool declaration_has(const struct declaration *declaration, const char *path)
{
    bool whole;

    find(declaration, path, &whole);
    return whole;
}

int declaration_line(const struct declaration *declaration, const char *path)
{
    bool whole;
    const struct declaration_node *node = find(declaration, path, &whole);

    return node ? node->line : 1;
}

void declaration_locate(const struct declaration *declaration, struct error *err)
{
    const size_t length = err ? strcspn(err->message, ": ") : 0;
    char path[128], message[ERROR_MESSAGE_MAX];
    enum status code;

    if (!err || err->code == STATUS_OK || err->place[0] || length >= sizeof(path) ||
        !memchr(err->message, '[', length))
        return;
    memcpy(path, err->message, length);
    path[length] = '\0';
    memcpy(message, err->message, sizeof(message));
    code = err->code;
    declaration_error(declaration, path, err, "%s", message);
    err->code = code;
}

enum status declaration_error(const struct declaration *declaration, const char *path,
                              struct error *err, const char *format, ...)
{
    CLEANUP(text_finish) struct text message = TEXT_INIT, shown = TEXT_INIT;
    va_list args;

    /* Values go into messages as they were written; none may contain terminal control codes. */
    va_start(args, format);
    text_append_formatv(&message, format, args);
    va_end(args);
    text_append_printable(&shown, message.data, message.length);
    error_set_at(err, STATUS_INVALID, declaration->origin,
                 (uint64_t)declaration_line(declaration, path), "%s", shown.data);
    return STATUS_INVALID;
}
