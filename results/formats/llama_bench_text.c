/* The text forms of llama-bench's output: a JSON array, JSON lines, CSV. */
#include "results/formats/claims.h"

#include <stdlib.h>
#include <string.h>

#include <csv.h>

#include "harness/core/member.h"
#include "harness/core/text.h"
#include "results/formats/foreign_text.h"
#include "results/formats/import.h"
#include "results/formats/llama_bench_place.h"

#define WHERE_SIZE 256
#define COLUMNS_MAX 256

enum status llama_bench_read_json(const char *path, const char *bytes, size_t length,
                                  struct import_claims *ret, struct error *err)
{
    struct import_claims claims = {0};
    json_auto_t *json = NULL;
    char where[WHERE_SIZE];
    bool cut = false;
    enum status status = foreign_text_find(bytes, length, path, NULL, &json, &cut, err);

    if (status == STATUS_OK && !json_is_array(json))
        status = error_set(err, STATUS_INVALID, "%s: must be an array of results", path);
    EACH(fields, json) {
        if (status != STATUS_OK)
            break;
        snprintf(where, sizeof(where), "%.200s: result %zu", path, fields_at + 1);
        status = llama_bench_add(&claims, path, where, fields, err);
    }
    if (status == STATUS_OK && cut)
        status = import_claims_leave_out(&claims, err, "%s: ends within what follows result %zu",
                                         path, json_array_size(json));
    return import_claims_settle(&claims, status, path, "has no result", ret, err);
}

/* A line that is no object is one of a log. */
static enum status add_line(struct import_claims *claims, const char *path, const char *where,
                            const char *line, size_t length, struct error *err)
{
    struct error why = ERROR_INIT;
    json_auto_t *fields = NULL;
    enum status status;

    if (!foreign_text_begins(line, length, false))
        return STATUS_OK;
    status = foreign_text_parse(line, length, where, &fields, &why);
    if (status == STATUS_OK)
        status = llama_bench_add(claims, path, where, fields, err);
    else
        status = import_claims_entry(claims, claims->count, status, &why, err);
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

        snprintf(where, sizeof(where), "%.200s:%zu", path, ++line);
        status = add_line(&claims, path, where, bytes + at, size, err);
        at += size + 1;
    }
    return import_claims_settle(&claims, status, path,
                                "has no result on a line of its own: write one that takes several "
                                "lines into a list, [ ]",
                                ret, err);
}

struct table {
    const char *path;
    struct import_claims claims;
    char *names[COLUMNS_MAX];
    size_t columns, field, line;
    bool headed;
    json_t *row;
    const char *bad; /* what is wrong with this row; static */
    enum status status;
    struct error *err;
};

/* The header has to be right; a row that is not is left out. */
static void refuse(struct table *table, const char *what)
{
    if (table->status == STATUS_OK && !table->headed)
        table->status =
            error_set_at(table->err, STATUS_INVALID, table->path, table->line, "%s", what);
    else if (!table->bad)
        table->bad = what;
}

static void no_memory(struct table *table)
{
    if (table->status == STATUS_OK)
        table->status = error_no_memory(table->err);
}

static void on_field(void *bytes, size_t length, void *context)
{
    struct table *table = context;
    char *text;

    if (table->status != STATUS_OK)
        return;
    if (length > IMPORT_TEXT_MAX || (length && !text_is_utf8(bytes, length))) {
        refuse(table, "a field is too long or not UTF-8 text");
    } else if (table->field >= (table->headed ? table->columns : COLUMNS_MAX)) {
        refuse(table, "more fields than the header has");
    } else if (!(text = text_format("%.*s", (int)length, length ? (const char *)bytes : ""))) {
        no_memory(table);
    } else if (!table->headed) {
        table->names[table->columns++] = text;
    } else {
        if (!table->row)
            table->row = json_object();
        if (json_object_set_new(table->row, table->names[table->field], json_string(text)) < 0)
            no_memory(table);
        free(text);
    }
    table->field++;
}

/* A row of a single field is a line of a log. */
static void take_row(struct table *table)
{
    char where[WHERE_SIZE];

    snprintf(where, sizeof(where), "%.200s:%zu", table->path, table->line);
    if (table->field != table->columns && !table->bad)
        table->bad = "fewer fields than the header has";
    if (table->bad && table->field > 1) {
        table->status =
            import_claims_leave_out(&table->claims, table->err, "%s: %s", where, table->bad);
    } else if (!table->bad) {
        table->status = llama_bench_type_fields(table->row, table->err);
        if (table->status == STATUS_OK)
            table->status =
                llama_bench_add(&table->claims, table->path, where, table->row, table->err);
    }
}

static void on_row(int end, void *context)
{
    struct table *table = context;

    (void)end;
    if (table->status == STATUS_OK && table->headed)
        take_row(table);
    table->headed = true;
    table->bad = NULL;
    json_decref(table->row);
    table->row = NULL;
    table->field = 0;
}

/* The line with the names of the columns, after those of a log. */
static size_t find_header(struct table *table, const char *bytes, size_t length)
{
    size_t at = 0;

    while (at < length) {
        const char *end = memchr(bytes + at, '\n', length - at);
        const size_t size = end ? (size_t)(end - bytes) - at + 1 : length - at;

        if (memmem(bytes + at, size, "n_prompt", 8) &&
            memmem(bytes + at, size, "model_filename", 14))
            return at;
        at += size;
        table->line++;
    }
    table->line = 1;
    return 0;
}

/* Line by line, so that errors can say which. */
static void parse_lines(struct table *table, struct csv_parser *parser, const char *bytes,
                        size_t length)
{
    size_t at = find_header(table, bytes, length);
    bool good = true;

    while (good && at < length && table->status == STATUS_OK) {
        const char *end = memchr(bytes + at, '\n', length - at);
        const size_t size = end ? (size_t)(end - bytes) - at + 1 : length - at;

        if (memchr(bytes + at, '\0', size))
            table->status =
                error_set_at(table->err, STATUS_INVALID, table->path, table->line, "a NUL byte");
        else
            good = csv_parse(parser, bytes + at, size, on_field, on_row, table) == size;
        at += size;
        table->line++;
    }
    table->line -= table->line > 1;
    if (good && table->status == STATUS_OK)
        good = csv_fini(parser, on_field, on_row, table) == 0;
    if (!good && table->status == STATUS_OK)
        table->status =
            import_claims_leave_out(&table->claims, table->err,
                                    "%.200s:%zu: a quote in the wrong place, or not closed; "
                                    "this line and what follows were not read",
                                    table->path, table->line);
}

enum status llama_bench_read_csv(const char *path, const char *bytes, size_t length,
                                 struct import_claims *ret, struct error *err)
{
    struct table table = {.path = path, .line = 1, .err = err};
    struct csv_parser parser;

    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return error_no_memory(err);
    parse_lines(&table, &parser, bytes, length);
    csv_free(&parser);
    json_decref(table.row);
    for (size_t i = 0; i < table.columns; i++)
        free(table.names[i]);
    return import_claims_settle(&table.claims, table.status, path, "has no result", ret, err);
}
