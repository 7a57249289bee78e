/* The text forms of llama-bench's output: a JSON array, JSON lines, CSV. */
#include "results/formats/claims.h"

#include <stdlib.h>
#include <string.h>

#include <csv.h>

#include "harness/core/text.h"
#include "results/formats/claim_fields.h"
#include "results/formats/import.h"

#define WHERE_SIZE 256
#define COLUMNS_MAX 256

enum status llama_bench_read_json(const char *path, const char *bytes, size_t length,
                                  struct import_claims *ret, struct error *err)
{
    struct import_claims claims = {0};
    json_t *json = NULL, *fields;
    char where[WHERE_SIZE];
    size_t i;
    enum status status = claim_parse(bytes, length, path, &json, err);

    if (status != STATUS_OK)
        return status;
    if (!json_is_array(json))
        status = error_set(err, STATUS_INVALID, "%s: must be an array of results", path);
    json_array_foreach(json, i, fields)
    {
        snprintf(where, sizeof(where), "%.200s: result %zu", path, i + 1);
        status = llama_bench_add(&claims, path, where, fields, err);
        if (status != STATUS_OK)
            break;
    }
    json_decref(json);
    if (status == STATUS_OK)
        *ret = claims;
    else
        import_claims_finish(&claims);
    return status;
}

enum status llama_bench_read_jsonl(const char *path, const char *bytes, size_t length,
                                   struct import_claims *ret, struct error *err)
{
    struct import_claims claims = {0};
    char where[WHERE_SIZE];
    size_t line = 0;
    enum status status = STATUS_OK;

    for (size_t at = 0; at < length && status == STATUS_OK;) {
        const char *end = memchr(bytes + at, '\n', length - at);
        size_t size = end ? (size_t)(end - bytes) - at : length - at;
        json_t *fields = NULL;

        line++;
        snprintf(where, sizeof(where), "%.200s:%zu", path, line);
        if (strspn(bytes + at, " \t\r") < size) {
            status = claim_parse(bytes + at, size, where, &fields, err);
            if (status == STATUS_OK)
                status = llama_bench_add(&claims, path, where, fields, err);
        }
        json_decref(fields);
        at += size + 1;
    }
    if (status == STATUS_OK)
        *ret = claims;
    else
        import_claims_finish(&claims);
    return status;
}

struct table {
    const char *path;
    struct import_claims claims;
    char *names[COLUMNS_MAX];
    size_t columns, field, line;
    bool headed;
    json_t *row;
    enum status status;
    struct error *err;
};

static void refuse(struct table *table, const char *what)
{
    if (table->status == STATUS_OK)
        table->status =
            error_set_at(table->err, STATUS_INVALID, table->path, table->line, "%s", what);
}

static void on_field(void *bytes, size_t length, void *context)
{
    struct table *table = context;
    char *text;

    if (table->status != STATUS_OK)
        return;
    if (length > IMPORT_TEXT_MAX || (length && !text_is_utf8(bytes, length))) {
        refuse(table, "a field is too long or not UTF-8 text");
        return;
    }
    if (table->field >= (table->headed ? table->columns : COLUMNS_MAX)) {
        refuse(table, "more fields than the header has");
        return;
    }
    text = text_format("%.*s", (int)length, length ? (const char *)bytes : "");
    if (!text) {
        table->status = error_set(table->err, STATUS_NO_MEMORY, "%s: out of memory", table->path);
    } else if (!table->headed) {
        table->names[table->columns++] = text;
        text = NULL;
    } else {
        if (!table->row)
            table->row = json_object();
        json_object_set_new(table->row, table->names[table->field], json_string(text));
    }
    free(text);
    table->field++;
}

static void on_row(int end, void *context)
{
    struct table *table = context;
    char where[WHERE_SIZE];

    (void)end;
    if (table->status == STATUS_OK && !table->headed) {
        table->headed = true;
    } else if (table->status == STATUS_OK && table->field != table->columns) {
        refuse(table, "fewer fields than the header has");
    } else if (table->status == STATUS_OK) {
        snprintf(where, sizeof(where), "%.200s:%zu", table->path, table->line);
        table->status = llama_bench_add(&table->claims, table->path, where, table->row, table->err);
    }
    json_decref(table->row);
    table->row = NULL;
    table->field = 0;
}

enum status llama_bench_read_csv(const char *path, const char *bytes, size_t length,
                                 struct import_claims *ret, struct error *err)
{
    struct table table = {.path = path, .line = 1, .err = err};
    struct csv_parser parser;
    size_t at = 0;

    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return error_set(err, STATUS_NO_MEMORY, "%s: out of memory", path);
    /* Line by line, so that errors can say which. */
    while (at < length && table.status == STATUS_OK) {
        const char *end = memchr(bytes + at, '\n', length - at);
        size_t size = end ? (size_t)(end - bytes) - at + 1 : length - at;

        if (memchr(bytes + at, '\0', size))
            refuse(&table, "a NUL byte");
        else if (csv_parse(&parser, bytes + at, size, on_field, on_row, &table) != size)
            refuse(&table, csv_strerror(csv_error(&parser)));
        at += size;
        table.line++;
    }
    table.line -= table.line > 1;
    if (table.status == STATUS_OK && csv_fini(&parser, on_field, on_row, &table) != 0)
        refuse(&table, "a quote is not closed");
    csv_free(&parser);
    json_decref(table.row);
    for (size_t i = 0; i < table.columns; i++)
        free(table.names[i]);
    if (table.status == STATUS_OK)
        *ret = table.claims;
    else
        import_claims_finish(&table.claims);
    return table.status;
}
