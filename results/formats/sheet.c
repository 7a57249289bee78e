#include "results/formats/sheet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/csv_reader.h"
#include "harness/core/text.h"

struct sheet {
    const struct sheet_form *form;
    void *context;
    const char *origin;
    int place[CSV_READER_FIELDS_MAX]; /* of each column in the file; -1: not there */
    json_t *rows;
};

enum status sheet_refuse(const char *origin, uint64_t line, const char *column, const char *field,
                         const char *what, struct error *err)
{
    CLEANUP(text_finish) struct text shown = TEXT_INIT;

    text_append_printable(&shown, field, strlen(field) < 60 ? strlen(field) : 60);
    return error_set_at(err, STATUS_INVALID, origin, line, "%s \"%s\": %s", column,
                        text_ok(&shown) ? shown.data : "", what);
}

static enum status take_header(void *context, const char *const *names, size_t count,
                               struct error *err)
{
    struct sheet *sheet = context;
    const struct sheet_form *form = sheet->form;

    for (size_t c = 0; c < form->count; c++)
        sheet->place[c] = -1;
    for (size_t i = 0; i < count; i++) {
        size_t c = 0;

        while (c < form->count && strcmp(form->columns[c].name, names[i]) != 0)
            c++;
        if (c == form->count) {
            char what[100];
            const char *between = strpbrk(names[i], ";\t|");

            snprintf(what, sizeof(what),
                     between && count == 1 ? "put commas between the fields"
                                           : "no such column (small letters count); `assay %s "
                                             "--help` lists them",
                     form->command);
            return sheet_refuse(sheet->origin, 1, "column", names[i], what, err);
        }
        if (sheet->place[c] >= 0)
            return sheet_refuse(sheet->origin, 1, "column", names[i], "is there twice", err);
        sheet->place[c] = (int)i;
    }
    for (size_t c = 0; c < form->count; c++)
        if (form->columns[c].required && sheet->place[c] < 0)
            return error_set_at(err, STATUS_INVALID, sheet->origin, 1,
                                "there is no column \"%s\"; %s", form->columns[c].name,
                                form->required);
    return STATUS_OK;
}

/* YYYY-MM-DD, of a day that there is. */
static bool is_day(const char *field)
{
    int64_t ns;
    char moment[32];

    if (strlen(field) != 10)
        return false;
    snprintf(moment, sizeof(moment), "%sT00:00:00Z", field);
    return text_parse_moment_ns(moment, 0, &ns);
}

static enum status take_field(const char *origin, const struct sheet_column *column,
                              const char *field, uint64_t line, json_t *row, struct error *err)
{
    double number;

    if (!field[0]) {
        json_object_set_new(row, column->name, json_null());
        return column->required
                   ? sheet_refuse(origin, line, column->name, field, "must not be empty", err)
                   : STATUS_OK;
    }
    switch (column->kind) {
    case SHEET_NUMBER:
        if (!text_parse_double(field, &number))
            return sheet_refuse(origin, line, column->name, field,
                                "write a number with a decimal point, without separators or a "
                                "sign of the currency",
                                err);
        if (number < 0 || number > 1e15)
            return sheet_refuse(origin, line, column->name, field, "write a number from 0 to 1e15",
                                err);
        json_object_set_new(row, column->name, json_real(number));
        return STATUS_OK;
    case SHEET_DAY:
        if (!is_day(field))
            return sheet_refuse(origin, line, column->name, field, "write a day as YYYY-MM-DD",
                                err);
        break;
    case SHEET_BOOLEAN:
        if (strcmp(field, "yes") != 0 && strcmp(field, "no") != 0)
            return sheet_refuse(origin, line, column->name, field, "write yes or no", err);
        break;
    case SHEET_TEXT:
        if (strlen(field) > 200)
            return sheet_refuse(origin, line, column->name, field, "is longer than 200 bytes", err);
        break;
    }
    json_object_set_new(row, column->name, json_string(field));
    return STATUS_OK;
}

static enum status take_row(void *context, const char *const *fields, uint64_t line,
                            struct error *err)
{
    struct sheet *sheet = context;
    const struct sheet_form *form = sheet->form;
    json_t *row = json_pack("{s:I}", "line", (json_int_t)line);
    enum status status = STATUS_OK;

    if (json_array_size(sheet->rows) == SHEET_ROWS_MAX)
        status = error_set_at(err, STATUS_INVALID, sheet->origin, line, "more than %d rows",
                              SHEET_ROWS_MAX);
    for (size_t c = 0; c < form->count && status == STATUS_OK; c++)
        status = take_field(sheet->origin, &form->columns[c],
                            sheet->place[c] < 0 ? "" : fields[sheet->place[c]], line, row, err);
    if (status == STATUS_OK)
        status = form->check(sheet->context, sheet->origin, row, line, err);
    if (json_array_append_new(sheet->rows, row) < 0 && status == STATUS_OK)
        status = error_no_memory(err);
    return status;
}

enum status sheet_parse(const struct sheet_form *form, void *context, const char *origin,
                        const char *text, size_t length, json_t **ret, struct error *err)
{
    json_auto_t *rows = json_array();
    struct sheet sheet = {.form = form, .context = context, .origin = origin, .rows = rows};
    const struct digest digest = digest_bytes(text, length);
    FILE *file = length ? fmemopen((void *)(uintptr_t)text, length, "r") : NULL;
    char hex[DIGEST_HEX_SIZE];
    enum status status;

    if (length == 0)
        return error_set_at(err, STATUS_INVALID, origin, 1, "the file is empty");
    if (!file)
        return error_set_errno(err, errno, "%s", origin);
    status = csv_reader_run_any(file, origin, take_header, take_row, &sheet, err);
    fclose(file);
    TRY(status);
    if (json_array_size(rows) == 0)
        return error_set_at(err, STATUS_INVALID, origin, 1, "there is no row in it");
    *ret = json_pack("{s:s, s:O}", "sha256", digest_hex(&digest, hex), "rows", rows);
    return *ret ? STATUS_OK : error_no_memory(err);
}
