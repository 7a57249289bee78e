#include "protocols/finding.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/number.h"

#define NUMBERS(...)                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
const struct finding_kind finding_kinds[FINDING_COUNT] = {
#define FINDING_ROW(constant, code, severity, numbers, words, remedy)                              \
    {code, FINDING_##severity, numbers, words, remedy},
    FINDING_MAP(FINDING_ROW)
#undef FINDING_ROW
};

static const char *const severity_names[] = {
#define SEVERITY_NAME(code, name) name,
    FINDING_SEVERITY_MAP(SEVERITY_NAME)
#undef SEVERITY_NAME
};

const char *finding_severity_name(enum finding_severity severity)
{
    return severity_names[severity];
}

void finding_list_finish(struct finding_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].subject);
        free(list->items[i].detail);
    }
    free(list->items);
    *list = (struct finding_list){0};
}

void finding_add(struct finding_list *list, enum finding_code code, int64_t trial,
                 const char *subject, const double *numbers)
{
    struct finding finding = {.code = code, .trial = trial};
    struct finding *grown;

    if (list->failed)
        return;
    for (size_t i = 0; i < FINDING_NUMBERS_MAX && finding_kinds[code].numbers[i]; i++)
        finding.numbers[i] = numbers[i];
    grown = realloc(list->items, (list->count + 1) * sizeof(*grown));
    if (grown)
        list->items = grown;
    finding.subject = subject ? strdup(subject) : NULL;
    if (!grown || (subject && !finding.subject)) {
        free(finding.subject);
        list->failed = true;
        return;
    }
    list->items[list->count++] = finding;
}

void finding_scale_times(struct finding_list *list, double by)
{
    for (size_t i = 0; i < list->count; i++) {
        struct finding *finding = &list->items[i];

        for (size_t k = 0; k < FINDING_NUMBERS_MAX; k++) {
            const char *name = finding_kinds[finding->code].numbers[k];
            const size_t length = name ? strlen(name) : 0;

            if (!name)
                break;
            if (length > 3 && !strcmp(name + length - 3, "_ns"))
                finding->numbers[k] *= by;
        }
    }
}

void finding_add_shown(struct finding_list *list, enum finding_code code, const char *subject,
                       const char *detail)
{
    const size_t before = list->count;
    char *copy = detail ? strdup(detail) : NULL;

    finding_add(list, code, 0, subject, NULL);
    if (list->count == before || (detail && !copy)) {
        list->failed = true;
        free(copy);
        return;
    }
    list->items[before].detail = copy;
}

bool finding_same_kind(const struct finding *a, const struct finding *b)
{
    return a->code == b->code && text_same(a->subject, b->subject) &&
           text_same(a->detail, b->detail);
}

/* ---- text ---- */

static void format_number(double value, const char *kind, size_t length, char ret[NUMBER_SIZE])
{
    struct number_unit unit;
    char percent[NUMBER_SIZE];

    if (!strncmp(kind, "n", length)) {
        snprintf(ret, NUMBER_SIZE, "%.0f", value);
    } else if (!strncmp(kind, "%", length)) {
        number_format_percent(fabs(value), ret);
    } else if (!strncmp(kind, "+%", length)) {
        snprintf(ret, NUMBER_SIZE, "%c%.40s", value < 0 ? '-' : '+',
                 number_format_percent(fabs(value), percent));
    } else if (!strncmp(kind, "half", length)) {
        snprintf(ret, NUMBER_SIZE, "±%.40s", number_format_percent(value, percent));
    } else if (!strncmp(kind, "start", length)) {
        if (value >= 1)
            snprintf(ret, NUMBER_SIZE, "%.3g times slower", 1 + value);
        else
            snprintf(ret, NUMBER_SIZE, "%.30s %s", number_format_percent(fabs(value), percent),
                     value > 0 ? "slower" : "faster");
    } else if (!strncmp(kind, "ns", length)) {
        unit = number_unit_duration(value);
        number_format_unit_digits(value, &unit, 3, ret);
    } else if (!strncmp(kind, "J", length)) {
        unit = number_unit_energy(value, NULL);
        number_format_unit_digits(value, &unit, 3, ret);
    } else if (!strncmp(kind, "MHz", length)) {
        snprintf(ret, NUMBER_SIZE, "%.0f MHz", value / 1e6);
    } else {
        number_format_digits(value, fabs(value) < 10 ? 2 : 3, ret);
    }
}

/* "A to B", and the shared end of both written once: "3 % to 11 %" becomes "3 to 11 %". */
static void append_range(struct text *out, const char *low, const char *high)
{
    const char *unit = strrchr(low, ' '), *other = strrchr(high, ' ');

    if (unit && other && strcmp(unit, other) == 0)
        text_append_format(out, "%.*s to %s", (int)(unit - low), low, high);
    else
        text_append_format(out, "%s to %s", low, high);
}

static void append_number(const struct finding *const *items, size_t count, size_t index,
                          const char *kind, size_t length, struct text *out)
{
    double low = items[0]->numbers[index], high = low;
    char from[NUMBER_SIZE], to[NUMBER_SIZE];

    for (size_t i = 1; i < count; i++) {
        low = fmin(low, items[i]->numbers[index]);
        high = fmax(high, items[i]->numbers[index]);
    }
    format_number(low, kind, length, from);
    format_number(high, kind, length, to);
    if (strcmp(from, to) == 0)
        text_append(out, from);
    else
        append_range(out, from, to);
}

static size_t index_of(const struct finding_kind *kind, const char *name, size_t length)
{
    size_t i = 0;

    while (i < FINDING_NUMBERS_MAX && kind->numbers[i] &&
           !(strlen(kind->numbers[i]) == length && !strncmp(kind->numbers[i], name, length)))
        i++;
    return i;
}

static void render(const char *words, const struct finding *const *items, size_t count,
                   struct text *out)
{
    const struct finding_kind *kind = &finding_kinds[items[0]->code];

    for (;;) {
        const char *open = strchr(words, '{'), *close = open ? strchr(open, '}') : NULL;
        const char *bar = open ? memchr(open, '|', (size_t)(close - open)) : NULL;
        const char *colon = open && !bar ? memchr(open, ':', (size_t)(close - open)) : NULL;

        if (!open) {
            text_append(out, words);
            return;
        }
        text_append_bytes(out, words, (size_t)(open - words));
        if (colon)
            append_number(items, count, index_of(kind, open + 1, (size_t)(colon - open - 1)),
                          colon + 1, (size_t)(close - colon - 1), out);
        else if (!strncmp(open, "{detail}", strlen("{detail}")))
            text_append_printable(out, items[0]->detail, strlen(items[0]->detail));
        else if (items[0]->subject)
            text_append_printable(out, items[0]->subject, strlen(items[0]->subject));
        else if (bar)
            text_append_bytes(out, bar + 1, (size_t)(close - bar - 1));
        words = close + 1;
    }
}

void finding_render_words(const struct finding *const *items, size_t count, struct text *ret)
{
    render(finding_kinds[items[0]->code].words, items, count, ret);
}

/* Of the wanted margin, which trials narrow by their root: what the most that is reasonable gives.
 */
static void append_reachable(const struct finding *const *items, size_t count, struct text *out)
{
    const char *kind = "half";
    char low[NUMBER_SIZE], high[NUMBER_SIZE];
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < count; i++) {
        const double reached =
            items[i]->numbers[2] * sqrt(items[i]->numbers[1] / FINDING_TRIALS_REASONABLE);

        least = fmin(least, reached);
        most = fmax(most, reached);
    }
    format_number(least, kind, strlen(kind), low);
    format_number(most, kind, strlen(kind), high);
    text_append_format(out, ", which is beyond reason: %d would give about ",
                       FINDING_TRIALS_REASONABLE);
    if (strcmp(low, high) == 0)
        text_append(out, low);
    else
        append_range(out, low, high);
}

/* What takes fewer requests, where those that would tell come in no time that is reasonable. */
static void append_fewer(double seconds, struct text *out)
{
    char hours[NUMBER_SIZE];

    text_append_format(out,
                       ", which come in %s hours at this rate, beyond reason: a lower rate, or "
                       "another share to demand, takes fewer",
                       number_format_digits(seconds / 3600, 2, hours));
}

void finding_render_remedy(const struct finding *const *items, size_t count, struct text *ret)
{
    double trials = 0, seconds = 0;

    render(finding_kinds[items[0]->code].remedy, items, count, ret);
    for (size_t i = 0; i < count; i++) {
        trials = fmax(trials, items[i]->numbers[1]);
        seconds = fmax(seconds, items[i]->numbers[2] / items[i]->numbers[3]);
    }
    if (items[0]->code == FINDING_IMPRECISE && trials > FINDING_TRIALS_REASONABLE)
        append_reachable(items, count, ret);
    else if (items[0]->code == FINDING_LIMITS_OPEN && seconds > FINDING_SECONDS_REASONABLE)
        append_fewer(seconds, ret);
}

void finding_render_trials(const struct finding *const *items, size_t count, struct text *ret)
{
    if (items[0]->trial == 0)
        return;
    text_append(ret, count > 1 ? "trials " : "trial ");
    for (size_t i = 0; i < count; i++)
        text_append_format(ret, "%s%" PRId64, i ? ", " : "", items[i]->trial);
}

/* "trial 3: ", "trials 2, 5 of 8: ", "all 8 trials: "; nothing for a finding of the cell. */
static void append_trials(const struct finding *const *items, size_t count, size_t trial_count,
                          struct text *out)
{
    if (items[0]->trial == 0)
        return;
    if (count > 1 && count == trial_count) {
        text_append_format(out, "all %zu trials: ", count);
        return;
    }
    finding_render_trials(items, count, out);
    if (trial_count > 1)
        text_append_format(out, " of %zu", trial_count);
    text_append(out, ": ");
}

void finding_render(const struct finding *const *items, size_t count, size_t trial_count,
                    struct text *ret)
{
    append_trials(items, count, trial_count, ret);
    finding_render_words(items, count, ret);
    if (finding_kinds[items[0]->code].remedy[0]) {
        text_append(ret, "; ");
        finding_render_remedy(items, count, ret);
    }
}

bool finding_each_group(const struct finding_list *list, finding_group_fn *each, void *context)
{
    const struct finding **group = calloc(list->count + 1, sizeof(*group));

    for (size_t i = 0; group && i < list->count; i++) {
        size_t count = 0;
        bool first = true;

        for (size_t k = 0; k < list->count && first; k++)
            if (finding_same_kind(&list->items[i], &list->items[k])) {
                first = k >= i;
                group[count++] = &list->items[k];
            }
        if (first)
            each(context, group, count);
    }
    free(group);
    return group != NULL;
}

/* ---- codec ---- */

static size_t code_of(const char *name)
{
    size_t i = 0;

    while (i < FINDING_STORED_COUNT && !(name && !strcmp(finding_kinds[i].code, name)))
        i++;
    return i;
}

const struct finding_kind *finding_kind_find(const char *code)
{
    const size_t i = code_of(code);

    return i < FINDING_STORED_COUNT ? &finding_kinds[i] : NULL;
}

json_t *findings_codes(const json_t *json)
{
    json_t *codes = json_array();
    bool seen[FINDING_STORED_COUNT] = {false};

    EACH(entry, json) {
        const size_t code = code_of(member_string(entry, "code"));

        if (code == FINDING_STORED_COUNT || seen[code])
            continue;
        seen[code] = true;
        if (json_array_append_new(codes, json_string(finding_kinds[code].code)) < 0) {
            json_decref(codes);
            return NULL;
        }
    }
    return codes;
}

/* By the names of the finding's code, which has been read before. */
static json_t *numbers_to_json(const void *at)
{
    const struct finding *finding = at;
    const char *const *names = finding_kinds[finding->code].numbers;
    json_t *numbers = json_object();

    for (size_t n = 0; n < FINDING_NUMBERS_MAX && names[n]; n++)
        json_object_set_new(numbers, names[n], real_or_null(finding->numbers[n]));
    return numbers;
}

static const char *numbers_from_json(const json_t *json, void *at)
{
    struct finding *finding = at;

    for (size_t n = 0; finding->code < FINDING_STORED_COUNT && n < FINDING_NUMBERS_MAX; n++)
        if (finding_kinds[finding->code].numbers[n])
            finding->numbers[n] = member_number(json, finding_kinds[finding->code].numbers[n]);
    return json_is_object(json) ? NULL : "";
}

static json_t *numbers_schema(void)
{
    return json_pack("{s:s, s:{s:[s, s]}}", "type", "object", "additionalProperties", "type",
                     "number", "null");
}

static const struct member_codec numbers_codec = {
    .to_json = numbers_to_json, .from_json = numbers_from_json, .schema = numbers_schema};

static const char *const codes[FINDING_STORED_COUNT] = {
#define CODE(constant, code, severity, numbers, words, remedy) code,
    FINDING_STORED_MAP(CODE)
#undef CODE
};

#define AS(...) MEMBER_AS(struct finding, __VA_ARGS__)
static const struct member finding_members[] = {
    AS(NAME, "code", code, .names = MEMBER_NAMES(codes)),
    {.name = "numbers", .kind = MEMBER_CUSTOM, .codec = &numbers_codec}, /* of the whole */
    AS(INTEGER, "trial_number", trial, .flags = MEMBER_OPTIONAL),
    AS(TEXT, "subject", subject, .flags = MEMBER_OPTIONAL),
};
#undef AS
static const struct finding unknown = {.code = FINDING_STORED_COUNT};
static const struct type finding_type =
    TYPE(struct finding, "a finding", finding_members, .unknown = &unknown);

/* Takes out those of unknown codes. */
static void settle(void *record)
{
    struct finding_list *list = record;
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].code < FINDING_STORED_COUNT)
            list->items[count++] = list->items[i];
        else
            type_finish(&finding_type, &list->items[i]);
    list->count = count;
}

const struct type findings_type = {
    .what = "findings",
    .size = sizeof(struct finding_list),
    TYPE_OF_VALUE(MEMBER_LIST, .of = &finding_type, .offset = offsetof(struct finding_list, items),
                  .count = offsetof(struct finding_list, count)),
    .settle = settle,
};

/* ---- for people ---- */

/* A finding of one kind, of any number of trials. */
struct told {
    const char *code;
    unsigned severity;
    int64_t *trials;
    size_t trial_count;
    const char *message, *remedy, *subject, *result;
};

#define M(...) MEMBER(struct told, __VA_ARGS__)
static const struct member told_members[] = {
    M(TEXT, code),
    M(NAME, severity, .names = MEMBER_NAMES(severity_names)),
    M(LIST, trials, .of = &type_of_integer, .count = offsetof(struct told, trial_count)),
    M(TEXT, message),
    M(TEXT, remedy),
    M(TEXT, subject, .flags = MEMBER_OPTIONAL),
    M(TEXT, result, .flags = MEMBER_OPTIONAL),
};
#undef M
const struct type finding_told_type = TYPE(struct told, "a finding", told_members);

struct people {
    json_t *array;
    const char *result;
};

static void add_for_people(void *context, const struct finding *const *items, size_t count)
{
    const struct people *people = context;
    const struct finding_kind *kind = &finding_kinds[items[0]->code];
    AUTO_FREE int64_t *trials = calloc(count + 1, sizeof(*trials));
    CLEANUP(text_finish) struct text words, remedy;
    struct told told = {.code = kind->code,
                        .severity = kind->severity,
                        .trials = trials,
                        .subject = items[0]->subject,
                        .result = people->result};

    text_init(&words);
    text_init(&remedy);
    finding_render_words(items, count, &words);
    finding_render_remedy(items, count, &remedy);
    told.message = words.data;
    told.remedy = remedy.data;
    for (size_t i = 0; trials && i < count && items[i]->trial; i++)
        trials[told.trial_count++] = items[i]->trial;
    json_array_append_new(people->array, type_to_json(&finding_told_type, &told));
}

json_t *findings_for_people(const struct finding_list *list, const char *result)
{
    struct people people = {json_array(), result};

    finding_each_group(list, add_for_people, &people);
    return people.array;
}
