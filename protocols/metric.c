#include "protocols/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/member.h"

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

static const char *const grade_names[] = {"", "A", "B", "C", "D"};

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
    const char *word = integers ? "OP" : "FLOP";

    if (!open || !close) {
        snprintf(ret, METRIC_UNIT_SIZE, "%s", unit);
        return;
    }
    if (strncmp(open, "{item}", 6) == 0)
        word = item ? item : "item";
    snprintf(ret, METRIC_UNIT_SIZE, "%.*s%.30s%s", (int)(open - unit), unit, word, close + 1);
}

double metric_half_width(const struct metric_value *value)
{
    if (!value->has_value || !value->has_interval || !(value->value > 0))
        return NAN;
    return fmax(value->hi / value->value - 1, 1 - value->lo / value->value);
}

enum metric_grade metric_grade(const struct metric_value *value, bool steady, bool undecided,
                               size_t trials)
{
    double width = metric_half_width(value);

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
    return grade_names[grade];
}

const char *metric_grade_label(enum metric_grade grade)
{
    static const char *const labels[] = {"", "precise", "good", "rough", "indicative"};

    return labels[grade];
}

/* ---- codec ---- */

json_t *metrics_to_json(const struct metric_value values[METRIC_COUNT])
{
    json_t *object = json_object();

    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct metric_value *v = &values[i];
        json_t *entry;

        if (!v->present)
            continue;
        entry = json_pack("{s:s, s:o, s:o, s:o, s:o}", "unit", v->unit, "value",
                          real_or_null(v->has_value ? v->value : NAN), "lo",
                          real_or_null(v->has_interval ? v->lo : NAN), "hi",
                          real_or_null(v->has_interval ? v->hi : NAN), "grade",
                          v->grade ? json_string(metric_grade_name(v->grade)) : json_null());
        if (entry && !v->has_value && v->needed)
            json_object_set_new(entry, "needed", json_integer((json_int_t)v->needed));
        json_object_set_new(object, metrics[i].id, entry);
    }
    return object;
}

static bool read_real(const json_t *object, const char *key, double *ret)
{
    const json_t *number = json_object_get(object, key);

    if (!json_is_number(number))
        return false;
    *ret = json_number_value(number);
    return isfinite(*ret);
}

json_t *metric_member(const json_t *values, enum metric_id id)
{
    return id < METRIC_COUNT ? json_object_get(values, metrics[id].id) : NULL;
}

void metrics_from_json(const json_t *json, struct metric_value ret[METRIC_COUNT])
{
    memset(ret, 0, METRIC_COUNT * sizeof(*ret));
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const json_t *entry = json_object_get(json, metrics[i].id);
        const char *unit = json_string_value(json_object_get(entry, "unit"));
        const char *grade = json_string_value(json_object_get(entry, "grade"));
        const json_t *needed = json_object_get(entry, "needed");
        struct metric_value *v = &ret[i];

        if (!json_is_object(entry))
            continue;
        v->present = true;
        snprintf(v->unit, sizeof(v->unit), "%.47s", unit ? unit : "");
        v->has_value = read_real(entry, "value", &v->value);
        v->has_interval = v->has_value && read_real(entry, "lo", &v->lo) &&
                          read_real(entry, "hi", &v->hi) && v->lo <= v->hi;
        if (json_is_integer(needed) && json_integer_value(needed) > 0)
            v->needed = (uint64_t)json_integer_value(needed);
        for (size_t g = 1; grade && v->has_value && g < sizeof(grade_names) / sizeof(*grade_names);
             g++)
            if (strcmp(grade, grade_names[g]) == 0)
                v->grade = (enum metric_grade)g;
    }
}

json_t *metrics_schema(void)
{
    json_t *properties = json_object();

    for (size_t i = 0; i < METRIC_COUNT; i++) {
        char description[256];

        snprintf(description, sizeof(description), "%s: %s, in %s", metrics[i].label,
                 metrics[i].help, metrics[i].unit);
        json_object_set_new(
            properties, metrics[i].id,
            json_pack("{s:s, s:s, s:b, s:[s,s,s,s,s], s:{s:{s:s}, s:{s:[s,s]}, s:{s:[s,s]}, "
                      "s:{s:[s,s]}, s:{s:[s,s,s,s,n]}, s:{s:s, s:i}}}",
                      "description", description, "type", "object", "additionalProperties", 0,
                      "required", "unit", "value", "lo", "hi", "grade", "properties", "unit",
                      "type", "string", "value", "type", "number", "null", "lo", "type", "number",
                      "null", "hi", "type", "number", "null", "grade", "enum", "A", "B", "C", "D",
                      "needed", "type", "integer", "minimum", 1));
    }
    return json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0, "properties",
                     properties);
}
