/* What the answer to a decision costs, in words. */
#include "reports/decision_words.h"

#include <math.h>
#include <string.h>

#include "harness/core/member.h"

/* The figure that states the answer's cost: the first objective that is one, else the first
 * that a requirement asks for; the number of figures: none is. */
static size_t cost_figure(const json_t *body)
{
    const json_t *figures = json_object_get(body, "figures");
    const size_t count = json_array_size(figures);
    size_t found = count;

    EACH(figure, figures) {
        if (strncmp(member_text(figure, "name"), "cost", 4) != 0)
            continue;
        if (member_is_true(figure, "objective"))
            return figure_at;
        found = found == count ? figure_at : found;
    }
    return found;
}

static double cost_of(const json_t *option, size_t figure)
{
    return member_number(json_array_get(json_object_get(option, "figures"), figure), "value");
}

/* ", 31 % less than b, the next": of one option that remains. */
static void append_next(struct text *out, const json_t *body, const json_t *chosen, size_t figure)
{
    const double mine = cost_of(chosen, figure);
    const json_t *next = NULL;
    double least = INFINITY;
    char shown[NUMBER_SIZE];

    EACH(option, json_object_get(body, "options")) {
        const double cost = cost_of(option, figure);

        if (option != chosen && strcmp(member_text(option, "standing"), "infeasible") != 0 &&
            cost < least) {
            least = cost;
            next = option;
        }
    }
    if (next && least > mine * 1.0005)
        doc_phrase(out, ", %s less than %s, the next",
                   number_format_percent(1 - mine / least, shown), member_text(next, "name"));
}

/* " per million good tokens" of "cost_per_million_good_tokens", and what these are. */
static void append_per(struct text *out, const json_t *figure)
{
    const char *name = member_text(figure, "name");

    doc_spaced(out, name + strlen("cost"));
    if (strstr(name, "_good_"))
        doc_phrase(out, strstr(name, "_tokens") ? " (good: of requests that kept all limits)"
                                                : " (good: they kept all limits)");
}

bool decision_cost_words(struct text *out, const json_t *body)
{
    const json_t *figures = json_object_get(body, "figures"), *last = NULL;
    const size_t figure = cost_figure(body);
    struct number_unit unit;
    size_t left = 0, count = 0;

    if (figure == json_array_size(figures) || !strcmp(member_text(body, "verdict"), "none"))
        return false;
    unit = decision_figure_unit(body, figure);
    EACH(option, json_object_get(body, "options"))
        left += !strncmp(member_text(option, "standing"), "not_", 4);
    EACH(option, json_object_get(body, "options")) {
        if (strncmp(member_text(option, "standing"), "not_", 4) != 0)
            continue;
        doc_phrase(out, "%s", count++ ? "; " : "");
        if (left > 1)
            doc_phrase(out, "%s ", member_text(option, "name"));
        decision_range_words(out, json_array_get(json_object_get(option, "figures"), figure),
                             &unit);
        if (count == 1)
            append_per(out, json_array_get(figures, figure));
        last = option;
    }
    if (left == 1)
        append_next(out, body, last, figure);
    if (left > 0)
        doc_phrase(out, ".");
    return left > 0;
}
