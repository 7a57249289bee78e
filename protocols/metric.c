#include "protocols/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/text.h"
#include "harness/core/type.h"

#define TRIALS_FOR_B 5
#define TRIALS_FOR_C 2 /* one trial's interval leaves out the differences between processes */
#define WIDTH_A 0.01
#define WIDTH_B 0.05
#define WIDTH_C 0.2

const struct metric metrics[METRIC_COUNT] = {
#define METRIC_ROW(constant, id, label, kind, unit, better, q, exported, help)                     \
    {id, label, METRIC_KIND_##kind, unit, METRIC_##better, q, exported, help},
    METRIC_MAP(METRIC_ROW)
#undef METRIC_ROW
};

static const char *const grade_names[] = {NULL, "A", "B", "C", "D"};

enum metric_id metric_find(const char *id)
{
    size_t i = 0;

    while (i < METRIC_COUNT && !(id && strcmp(metrics[i].id, id) == 0))
        i++;
    return (enum metric_id)i;
}

enum metric_id metric_of_quantile(double q)
{
    size_t i = 0;

    while (i < METRIC_COUNT && !(metrics[i].q > 0 && fabs(metrics[i].q - q) < 1e-9))
        i++;
    return (enum metric_id)i;
}

void metric_unit(enum metric_id id, const char *item, bool integers, char ret[METRIC_UNIT_SIZE])
{
    const char *unit = metrics[id].unit, *open = strchr(unit, '{'), *close = strchr(unit, '}');
    const char *word = integers ? "OP" : "FLOP", *ending = "";

    if (!open || !close) {
        snprintf(ret, METRIC_UNIT_SIZE, "%s", unit);
        return;
    }
    if (strncmp(open, "{item}", 6) == 0)
        word = item ? item : "item";
    if (*++close == 's') {
        ending = text_plural_ending(word);
        close++;
    }
    snprintf(ret, METRIC_UNIT_SIZE, "%.*s%.30s%s%s", (int)(open - unit), unit, word, ending, close);
}

double metric_half_width(const struct metric_value *value)
{
    if (!value->has_value || !value->has_interval || !(value->value > 0))
        return NAN;
    return fmax(value->hi / value->value - 1, 1 - value->lo / value->value);
}

enum metric_grade metric_grade(const struct metric_value *value, bool steady, bool undecided,
                               size_t trials, double unseen)
{
    const double interval = metric_half_width(value);
    const double width = interval < unseen ? unseen : interval;

    if (!value->has_value)
        return METRIC_GRADE_NONE;
    if (!(width <= WIDTH_C) || !(steady || undecided) || trials < TRIALS_FOR_C)
        return METRIC_GRADE_D;
    if (undecided || trials < TRIALS_FOR_B || width > WIDTH_B)
        return METRIC_GRADE_C;
    return width <= WIDTH_A ? METRIC_GRADE_A : METRIC_GRADE_B;
}

const char *metric_grade_name(enum metric_grade grade)
{
    return grade == METRIC_GRADE_NONE ? "" : grade_names[grade];
}

const char *metric_grade_label(enum metric_grade grade)
{
    static const char *const labels[] = {"", "precise", "good", "rough", "indicative"};

    return labels[grade];
}

/* ---- as JSON ---- */

static bool needs_nothing(const void *record)
{
    const struct metric_value *v = record;

    return v->has_value || v->needed == 0;
}

#define M(...) MEMBER(struct metric_value, __VA_ARGS__)
#define HAS(member) .has = offsetof(struct metric_value, member)
static const struct member value_members[] = {
    M(CHARS, unit, .size = METRIC_UNIT_SIZE),
    M(REAL, value, HAS(has_value)),
    M(REAL, lo, HAS(has_interval)),
    M(REAL, hi, HAS(has_interval)),
    M(NAME, grade, .names = MEMBER_NAMES(grade_names)),
    M(COUNT, needed, .flags = MEMBER_OPTIONAL, .absent = needs_nothing),
};
#undef HAS
#undef M

static void settle_value(void *record)
{
    struct metric_value *v = record;

    v->has_interval = v->has_value && isfinite(v->lo) && isfinite(v->hi) && v->lo <= v->hi;
    if (!v->has_value)
        v->grade = METRIC_GRADE_NONE;
}

static const struct type value_type =
    TYPE(struct metric_value, "a metric", value_members, .settle = settle_value);

json_t *metrics_to_json(const struct metric_value values[METRIC_COUNT])
{
    json_t *object = json_object();

    for (size_t i = 0; i < METRIC_COUNT; i++) {
        if (values[i].present)
            json_object_set_new(object, metrics[i].id, type_to_json(&value_type, &values[i]));
    }
    return object;
}

json_t *metric_member(const json_t *values, enum metric_id id)
{
    return id < METRIC_COUNT ? json_object_get(values, metrics[id].id) : NULL;
}

static json_t *all_to_json(const void *at)
{
    return metrics_to_json(at);
}

static const char *all_from_json(const json_t *json, void *at)
{
    struct metric_value *ret = at;

    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const json_t *entry = json_object_get(json, metrics[i].id);

        type_read(&value_type, entry, &ret[i]);
        ret[i].present = json_is_object(entry);
    }
    return json_is_object(json) ? NULL : "";
}

static json_t *all_schema(void)
{
    json_t *properties = json_object();

    for (size_t i = 0; i < METRIC_COUNT; i++) {
        json_t *schema = type_schema(&value_type, NULL);
        char description[256];

        snprintf(description, sizeof(description), "%s: %s, in %s", metrics[i].label,
                 metrics[i].help, metrics[i].unit);
        json_object_set_new(schema, "description", json_string(description));
        json_object_set_new(properties, metrics[i].id, schema);
    }
    return json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0, "properties",
                     properties);
}

static const struct member_codec all_codec = {
    .to_json = all_to_json, .from_json = all_from_json, .schema = all_schema};
const struct type metrics_type = {.what = "metrics",
                                  .size = sizeof(struct metric_value[METRIC_COUNT]),
                                  TYPE_OF_VALUE(MEMBER_CUSTOM, .codec = &all_codec),
                                  .def = "metrics"};
