#include "harness/core/csv_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <csv.h>

#include "harness/core/file_form.h"
#include "harness/core/text.h"

/* State between libcsv's callbacks. Lines are counted here, since libcsv does not. */
struct reader {
    const char *origin;
    const char *const *columns;
    size_t column_count;   /* 0: as many as the header has */
    csv_header_fn *header; /* NULL: it must be `columns` */
    csv_row_fn *row;
    void *context;
    char fields[CSV_READER_FIELDS_MAX][CSV_READER_FIELD_BYTES_MAX + 1];
    size_t field_count;
    uint64_t line;     /* of the byte being parsed, from 1 */
    uint64_t row_line; /* where the current row began */
    bool in_row, header_seen;
    enum status status;
    struct error *err;
};

static void refuse(struct reader *reader, uint64_t line, const char *what)
{
    if (reader->status == STATUS_OK)
        reader->status =
            error_set_at(reader->err, STATUS_INVALID, reader->origin, line, "%s", what);
}

static void take_field(void *bytes, size_t length, void *context)
{
    struct reader *reader = context;

    if (reader->status != STATUS_OK)
        return;
    if (!reader->in_row) {
        reader->in_row = true;
        reader->row_line = reader->line;
    }
    if (reader->field_count >=
        (reader->column_count ? reader->column_count : (size_t)CSV_READER_FIELDS_MAX))
        return refuse(reader, reader->row_line, "too many fields in this row");
    if (length > CSV_READER_FIELD_BYTES_MAX)
        return refuse(reader, reader->row_line, "a field is longer than 4096 bytes");
    if (length > 0 && !text_is_utf8(bytes, length))
        return refuse(reader, reader->row_line,
                      "a field is not UTF-8 text: save the file as UTF-8");
    memcpy(reader->fields[reader->field_count], bytes, length);
    reader->fields[reader->field_count++][length] = '\0';
}

static void check_header(struct reader *reader)
{
    struct text expected;
    bool same = reader->field_count == reader->column_count;
    const char *names[1] = {reader->fields[0]};
    const char *separator = csv_reader_separator(names, reader->field_count);

    text_init(&expected);
    for (size_t i = 0; i < reader->column_count; i++) {
        text_append_format(&expected, "%s%s", i ? "," : "", reader->columns[i]);
        same = same && !strcmp(reader->fields[i], reader->columns[i]);
    }
    if (!same)
        reader->status = error_set_at(reader->err, STATUS_INVALID, reader->origin, reader->row_line,
                                      "the first line must be: %s%s%s",
                                      text_ok(&expected) ? expected.data : "the header",
                                      separator ? "; " : "", separator ? separator : "");
    text_finish(&expected);
    reader->header_seen = true;
}

const char *csv_reader_separator(const char *const *columns, size_t count)
{
    if (count == 1 && strchr(columns[0], ';'))
        return "semicolons divide the columns: write the file with commas, and decimal points in "
               "numbers";
    if (count == 1 && strchr(columns[0], '\t'))
        return "tabs divide the columns: write the file with commas (tr '\\t' ',' <FILE)";
    return NULL;
}

static void take_row(int terminator, void *context)
{
    struct reader *reader = context;
    const char *fields[CSV_READER_FIELDS_MAX];

    (void)terminator;
    for (size_t i = 0; i < reader->field_count; i++)
        fields[i] = reader->fields[i];
    if (reader->status == STATUS_OK && !reader->header_seen && reader->header) {
        reader->header_seen = true;
        reader->column_count = reader->field_count;
        reader->status = reader->header(reader->context, fields, reader->field_count, reader->err);
    } else if (reader->status == STATUS_OK && !reader->header_seen) {
        check_header(reader);
    } else if (reader->status == STATUS_OK && reader->field_count < reader->column_count) {
        refuse(reader, reader->row_line, "too few fields in this row");
    } else if (reader->status == STATUS_OK) {
        reader->status = reader->row(reader->context, fields, reader->row_line, reader->err);
    }
    reader->field_count = 0;
    reader->in_row = false;
}

/* Feeds libcsv line by line, so that its callbacks know which line they are in. */
static void parse_block(struct csv_parser *parser, struct reader *reader, const char *block,
                        size_t length)
{
    while (length > 0 && reader->status == STATUS_OK) {
        const char *newline = memchr(block, '\n', length);
        size_t piece = newline ? (size_t)(newline - block) + 1 : length;

        if (memchr(block, '\0', piece))
            return refuse(reader, reader->line, "a NUL byte: this is not a text file");
        if (!reader->in_row)
            reader->row_line = reader->line;
        if (csv_parse(parser, block, piece, take_field, take_row, reader) != piece) {
            if (csv_error(parser) == CSV_EPARSE)
                return refuse(reader, reader->line,
                              "a quote in the wrong place: quote the whole field and double the "
                              "quotes inside");
            reader->status = error_set(reader->err, STATUS_NO_MEMORY, "%s: %s%s", reader->origin,
                                       csv_strerror(csv_error(parser)), error_remedy(ENOMEM));
            return;
        }
        /* An open quoted field grows inside libcsv, where we cannot bound it. */
        if (csv_get_buffer_size(parser) > (size_t)1 << 20)
            return refuse(reader, reader->row_line, "a quoted field does not end");
        if (newline)
            reader->line++;
        block += piece;
        length -= piece;
    }
}

static void parse_file(struct csv_parser *parser, struct reader *reader, FILE *file)
{
    char block[65536];
    const char *remedy;
    bool first = true;
    size_t got;

    while (reader->status == STATUS_OK && (got = fread(block, 1, sizeof(block), file)) > 0) {
        size_t skip = first && got >= 3 && !memcmp(block, "\xef\xbb\xbf", 3) ? 3 : 0;

        remedy = first ? file_form_remedy(block, got) : NULL;
        if (remedy) {
            reader->status =
                error_set(reader->err, STATUS_INVALID, "%s: %s", reader->origin, remedy);
            return;
        }
        if (first && skip < got && strchr("{[", block[skip]) && block[skip])
            return refuse(reader, 1,
                          "this is JSON, not CSV: write a line with the columns' names, and the "
                          "rows with commas (`jq -r` has @csv)");
        parse_block(parser, reader, block + skip, got - skip);
        first = false;
    }
    if (reader->status == STATUS_OK && ferror(file) && errno == EISDIR)
        reader->status = error_set(reader->err, STATUS_INVALID,
                                   "%s: is a folder; name a CSV file in it", reader->origin);
    if (reader->status == STATUS_OK && ferror(file))
        reader->status = error_set_errno(reader->err, errno, "%s", reader->origin);
    if (reader->status == STATUS_OK && csv_fini(parser, take_field, take_row, reader) != 0)
        refuse(reader, reader->row_line, "a quoted field does not end");
    if (reader->status == STATUS_OK && !reader->header_seen)
        refuse(reader, 1, "the file is empty");
}

static enum status run(struct reader *reader, FILE *file)
{
    struct csv_parser parser;

    reader->line = 1;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return error_no_memory(reader->err);
    parse_file(&parser, reader, file);
    csv_free(&parser);
    return reader->status;
}

enum status csv_reader_run(FILE *file, const char *origin, const char *const *columns,
                           size_t column_count, csv_row_fn *row, void *context, struct error *err)
{
    struct reader reader = {.origin = origin,
                            .columns = columns,
                            .column_count = column_count,
                            .row = row,
                            .context = context,
                            .err = err};

    return run(&reader, file);
}

enum status csv_reader_run_any(FILE *file, const char *origin, csv_header_fn *header,
                               csv_row_fn *row, void *context, struct error *err)
{
    struct reader reader = {
        .origin = origin, .header = header, .row = row, .context = context, .err = err};

    return run(&reader, file);
}
