/* What the work of results costs, as recorded by `assay cost`: the newest figures of each. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "reports/dossier_internal.h"
#include "harness/core/member.h"
#include "reports/escape.h"

static void append_number(struct text *out, const json_t *number)
{
    char shown[NUMBER_SIZE];

    text_append(out, json_is_number(number)
                         ? number_format_digits(json_number_value(number), 4, shown)
                         : "unknown");
}

/* "0.2800 EUR [0.2652, 0.2977]" */
static void append_range(struct text *out, const json_t *range, const char *currency)
{
    const json_t *lo = json_object_get(range, "lo"), *hi = json_object_get(range, "hi");

    append_number(out, json_object_get(range, "value"));
    text_append_char(out, ' ');
    html_known(out, currency);
    if (json_is_number(lo) && json_is_number(hi) && !json_equal(lo, hi)) {
        text_append(out, " [");
        append_number(out, lo);
        text_append(out, ", ");
        append_number(out, hi);
        text_append(out, "]");
    }
}

static void append_parts(struct text *out, const json_t *parts)
{
    size_t i;
    json_t *part;

    text_append(out, " <span class=\"soft\">");
    json_array_foreach(parts, i, part)
    {
        text_append(out, i ? " + " : "= ");
        html_known(out, member_string(part, "kind"));
        text_append_char(out, ' ');
        append_number(out, json_object_get(json_object_get(part, "hourly"), "value"));
    }
    text_append(out, "</span>");
}

static void append_row(struct text *out, const json_t *body, const json_t *option, const char *per,
                       const json_t *cost, const json_t *share)
{
    const char *kind = member_string(option, "kind");

    text_append(out, "<tr><td><code>");
    html_known(out, member_string(body, "a"));
    text_append(out, "</code></td><td>");
    html_known(out, member_string(option, "item"));
    text_append(out, kind && !strcmp(kind, "cloud") ? ", rented" : ", bought");
    text_append(out, "</td><td>");
    html_known(out, per);
    text_append(out, "</td><td class=\"num\">");
    append_range(out, cost, member_string(json_object_get(body, "prices"), "currency"));
    if (!strcmp(per, "hour"))
        append_parts(out, json_object_get(option, "parts"));
    text_append(out, "</td><td class=\"num\">");
    if (json_is_number(share))
        text_append_format(out, "%.0f %%", 100 * json_number_value(share));
    text_append(out, "</td></tr>\n");
}

static void append_notes(struct text *out, const json_t *notes)
{
    size_t i;
    json_t *note;

    json_array_foreach(notes, i, note)
    {
        text_append(out, i ? "; " : "<tr><td colspan=\"5\" class=\"soft\">");
        if (json_is_integer(json_object_get(note, "line")))
            text_append_format(out, "line %lld of the sheet: ",
                               (long long)json_integer_value(json_object_get(note, "line")));
        html_known(out, member_string(note, "text"));
    }
    text_append(out, json_array_size(notes) > 0 ? "</td></tr>\n" : "");
}

/* columns: 0 created_utc_ns, 1 kind, 2 verdict, 3 body */
static void append_cost(struct text *out, const struct dossier_row *row)
{
    const char *column = dossier_column(row, 3);
    json_t *body = column ? json_loads(column, 0, NULL) : NULL, *option, *figure;
    const json_t *given = json_object_get(body, "assumptions");
    size_t i, k;

    text_append(out, "<tr><td colspan=\"5\"><b>");
    html_known(out, member_string(body, "a"));
    text_append(out, "</b> at prices of ");
    html_known(out, member_string(given, "as_of"));
    text_append_format(out, ": discount %g a year, PUE %g, at work %g of all hours; price sheet ",
                       json_number_value(json_object_get(given, "discount")),
                       json_number_value(json_object_get(given, "pue")),
                       json_number_value(json_object_get(given, "utilisation")));
    html_digest(out, member_string(json_object_get(body, "prices"), "sha256"));
    text_append(out, "</td></tr>\n");
    json_array_foreach(json_object_get(body, "options"), i, option)
    {
        append_row(out, body, option, "hour", json_object_get(option, "hourly"), NULL);
        json_array_foreach(json_object_get(option, "figures"), k, figure)
        {
            const char *per = member_string(figure, "per");

            append_row(out, body, option, per ? per : "?", json_object_get(figure, "cost"),
                       json_object_get(figure, "measured_share"));
        }
    }
    append_notes(out, json_object_get(body, "notes"));
    json_decref(body);
}

enum status dossier_costs(struct text *out, struct store *store, const struct view *view,
                          const char *heading, struct error *err)
{
    struct text table;
    size_t rows = 0;
    enum status status = STATUS_OK;

    text_init(&table);
    for (size_t i = 0; i < view->cell_count && status == STATUS_OK; i++)
        status = dossier_each_row(&table, store, view,
                                  "SELECT created_utc_ns, kind, verdict, body FROM comparison"
                                  " WHERE kind = 'cost' AND a = ?1 ORDER BY id DESC LIMIT 1",
                                  view->cells[i].id, append_cost, &rows, err);
    if (status == STATUS_OK && rows > 0) {
        text_append(out, heading);
        text_append(
            out,
            "<div class=\"scroll\"><table class=\"tight\"><caption>The newest recorded figures of "
            "each result. Bounds combine the measurement's interval with the prices' own bounds; "
            "the last column is the share of their width that is measured. What is rented is "
            "without the other rows of the sheet. While at work the device is under the load that "
            "was measured."
            "</caption><thead><tr><th scope=\"col\">Result</th><th scope=\"col\">Option</th>"
            "<th scope=\"col\">Per</th><th scope=\"col\" class=\"num\">Cost</th>"
            "<th scope=\"col\" class=\"num\">Measured</th></tr></thead><tbody>\n");
        text_append_bytes(out, table.data, table.length);
        text_append(out, "</tbody></table></div>\n");
    }
    out->failed |= table.failed;
    text_finish(&table);
    return status;
}
