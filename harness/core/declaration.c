#include "harness/core/declaration.h"

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/declaration_node.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

bool declaration_is_path(const char *name)
{
    const size_t length = strlen(name);

    return strchr(name, '/') || (length > 5 && !strcmp(name + length - 5, ".yaml"));
}

/* Keeps the first of libcyaml's messages; later ones only repeat it on the way up. */
__attribute__((format(printf, 3, 0))) static void on_cyaml_log(cyaml_log_t level, void *context,
                                                               const char *format, va_list args)
{
    struct text *first = context;

    if (level >= CYAML_LOG_ERROR && first->length == 0)
        text_append_formatv(first, format, args);
}

static cyaml_config_t config_with_log(struct text *log)
{
    return (cyaml_config_t){
        .log_fn = on_cyaml_log,
        .log_ctx = log,
        .mem_fn = cyaml_mem,
        .log_level = CYAML_LOG_ERROR,
        .flags = CYAML_CFG_NO_ALIAS | CYAML_CFG_DEFAULT,
    };
}

/* libcyaml reads numbers with strtod, which must see a decimal point whatever the locale. */
static cyaml_err_t load_in_c_locale(const struct text *yaml, const cyaml_config_t *config,
                                    const cyaml_schema_value_t *schema, void **ret)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = (locale_t)0;
    cyaml_err_t result;

    if (plain)
        before = uselocale(plain);
    result = cyaml_load_data((const uint8_t *)yaml->data, yaml->length, config, schema, ret, NULL);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return result;
}

static enum status load_data(struct declaration *declaration, const struct text *yaml,
                             struct error *err)
{
    struct text log, shown;
    cyaml_config_t config;
    enum status status = STATUS_OK;
    cyaml_err_t result;
    void *data = NULL;

    text_init(&log);
    text_init(&shown);
    config = config_with_log(&log);
    result = load_in_c_locale(yaml, &config, declaration->schema, &data);
    if (result == CYAML_OK) {
        declaration->data = data;
    } else if (result == CYAML_ERR_OOM) {
        status = error_set(err, STATUS_NO_MEMORY, "%s: out of memory", declaration->origin);
    } else {
        /* What declaration_check() has no rule for, such as the ranges of libcyaml from 1.4 on. */
        text_append_printable(&shown, log.data, strcspn(log.data, "\n"));
        status = error_set(err, STATUS_INVALID, "%s: %s%s%s", declaration->origin,
                           cyaml_strerror(result), shown.length ? ": " : "", shown.data);
    }
    text_finish(&shown);
    text_finish(&log);
    return status;
}

enum status declaration_parse(const char *origin, const char *yaml, size_t length,
                              const cyaml_schema_value_t *schema, struct declaration *ret,
                              struct error *err)
{
    struct declaration declaration = {.schema = schema, .length = length};
    enum status status;
    struct text text;

    text_init(&text);
    declaration.origin = strdup(origin);
    declaration.yaml = malloc(length + 1);
    if (!declaration.origin || !declaration.yaml) {
        status = error_set(err, STATUS_NO_MEMORY, "%s: out of memory", origin);
        goto out;
    }
    memcpy(declaration.yaml, yaml, length);
    declaration.yaml[length] = '\0';
    status = declaration_node_parse(origin, declaration.yaml, length, &declaration.root, err);
    if (status == STATUS_OK)
        status = declaration_check(&declaration, &text, err);
    if (status == STATUS_OK)
        status = load_data(&declaration, &text, err);
out:
    text_finish(&text);
    if (status == STATUS_OK)
        *ret = declaration;
    else
        declaration_finish(&declaration);
    return status;
}

enum status declaration_load(const char *path, const cyaml_schema_value_t *schema,
                             struct declaration *ret, struct error *err)
{
    enum status status;
    size_t length;
    char *yaml;

    status = file_read(path, DECLARATION_SIZE_MAX, &yaml, &length, err);
    if (status == STATUS_NOT_FOUND && err && *path != '/') {
        char *here = getcwd(NULL, 0);

        error_set(err, status, "%s: there is no such file in %s; check the path", path,
                  here ? here : "the working directory");
        free(here);
    } else if (status == STATUS_NOT_FOUND) {
        error_set(err, status, "%s: there is no such file; check the path", path);
    }
    if (status != STATUS_OK)
        return status;
    status = declaration_parse(path, yaml, length, schema, ret, err);
    free(yaml);
    return status;
}

void declaration_finish(struct declaration *declaration)
{
    struct text log;

    if (!declaration)
        return;
    if (declaration->data) {
        cyaml_config_t config = config_with_log(&log);

        text_init(&log);
        cyaml_free(&config, declaration->schema, declaration->data, 0);
        text_finish(&log);
    }
    declaration_node_destroy(declaration->root);
    free(declaration->yaml);
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

enum status declaration_error(const struct declaration *declaration, const char *path,
                              struct error *err, const char *format, ...)
{
    struct text message, shown;
    va_list args;

    /* Values go into messages as they were written; none may contain terminal control codes. */
    text_init(&message);
    text_init(&shown);
    va_start(args, format);
    text_append_formatv(&message, format, args);
    va_end(args);
    text_append_printable(&shown, message.data, message.length);
    error_set_at(err, STATUS_INVALID, declaration->origin,
                 (uint64_t)declaration_line(declaration, path), "%s", shown.data);
    text_finish(&shown);
    text_finish(&message);
    return STATUS_INVALID;
}
