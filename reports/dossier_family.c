/*
 * What a stored comparison was judged together with. Its verdict is the family's; the verdict that
 * it has alone stands beside it, with both p values: those of the test that the verdict rests on.
 */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/member.h"
#include "reports/dossier_internal.h"

static json_int_t size_of(const json_t *body)
{
    return json_integer_value(json_object_get(json_object_get(body, "family_of"), "size"));
}

bool dossier_in_family(const json_t *body)
{
    return size_of(body) > 1;
}

/* As comparison_tests_equivalence. */
static bool tests_equivalence(const json_t *numbers)
{
    const char *verdict = member_text(numbers, "verdict");

    if (!strcmp(verdict, "inconclusive") && json_object_get(numbers, "verdict_alone"))
        verdict = member_text(numbers, "verdict_alone");
    return !strcmp(verdict, "equivalent");
}

static void append_p(struct text *out, const json_t *body, bool family)
{
    const json_t *numbers = json_object_get(body, "comparison"), *p;
    char key[32];

    snprintf(key, sizeof(key), "p_%s%s", tests_equivalence(numbers) ? "equivalence" : "difference",
             family ? "_family" : "");
    p = json_object_get(numbers, key);
    if (json_is_number(p))
        text_append_format(out, "%.2g", json_number_value(p));
    else
        text_append(out, "unknown");
}

void dossier_family(struct text *out, const json_t *body)
{
    const json_t *of = json_object_get(body, "family_of");

    if (!dossier_in_family(body)) {
        text_append(out, body ? "alone" : "");
        return;
    }
    text_append_format(out, "%lld of <code>", (long long)size_of(body));
    html_known(out, member_text(of, json_object_get(of, "campaign") ? "campaign" : "a"));
    if (json_object_get(of, "b")) {
        text_append(out, "</code> and <code>");
        html_known(out, member_text(of, "b"));
    }
    text_append(out, "</code>");
}

void dossier_family_p(struct text *out, const json_t *body)
{
    if (!dossier_in_family(body) || !json_is_object(json_object_get(body, "comparison")))
        return;
    text_append(out, "; p ");
    append_p(out, body, true);
    text_append_format(out, " in a family of %lld (alone %s, p ", (long long)size_of(body),
                       member_text(json_object_get(body, "comparison"), "verdict_alone"));
    append_p(out, body, false);
    text_append(out, ")");
}

void dossier_family_alone(struct text *out, const json_t *body)
{
    const json_t *numbers = json_object_get(body, "comparison");

    if (!dossier_in_family(body) || !json_is_object(numbers))
        return;
    text_append(out, "<br><span class=\"soft\">");
    if (json_object_get(body, "gate"))
        text_append_format(out, "%s, ", member_text(numbers, "verdict"));
    text_append_format(out, "alone %s</span>", member_text(numbers, "verdict_alone"));
}

void dossier_p(struct text *out, const json_t *body)
{
    if (!json_is_object(json_object_get(body, "comparison")) ||
        json_object_get(body, "reproduce")) {
        text_append(out, "<span class=\"soft\">none</span>");
        return;
    }
    append_p(out, body, dossier_in_family(body));
    if (!dossier_in_family(body))
        return;
    text_append(out, "<br><span class=\"soft\">alone ");
    append_p(out, body, false);
    text_append(out, "</span>");
}

void dossier_families(struct text *out, const struct dossier_row *row)
{
    const long long count = dossier_integer(row, 0), families = dossier_integer(row, 1);

    if (count < 2)
        return;
    text_append_format(out, "<p>%lld comparisons are recorded. ", count);
    if (families == 1)
        text_append(out, "They were judged together, as one family: the chance of any false "
                         "difference among them is at most 5 %.</p>\n");
    else
        text_append_format(out,
                           "They were judged in %lld families, those judged alone each counted as "
                           "one. A verdict has the error rate of its own family; over all that are "
                           "recorded, the chance that one of them is false grows with the number "
                           "of families.</p>\n",
                           families);
}
