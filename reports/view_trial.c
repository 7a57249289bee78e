/* One attempt, as stored. */
#include "reports/view_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/member.h"

/* More than any workload makes; a hostile file must not cost hours. */
#define ROWS_MAX 20000

#define STORED_STRUCT struct view_phase
static const struct member phase_members[] = {STORED_READ(STORED_PHASE)};
#undef STORED_STRUCT
static const struct type phase_type = TYPE(struct view_phase, "a phase", phase_members);

#define STORED_STRUCT struct view_check
static const struct member check_members[] = {
    STORED_READ(STORED_CHECK) MEMBER_AS(struct view_check, REAL, "error", error),
    MEMBER_AS(struct view_check, TEXT, "error", error_text, .flags = MEMBER_BORROWED),
};
#undef STORED_STRUCT
static const struct view_check unknown_check = {
    .phase = "", .output = "", .metric = "", .error = NAN, .tolerance = NAN};
static const struct type check_type =
    TYPE(struct view_check, "a check", check_members, .unknown = &unknown_check);

#define STORED_STRUCT struct view_component
static const struct member component_members[] = {
    STORED_READ(STORED_COMPONENT) MEMBER(struct view_component, TEXT, at, .flags = MEMBER_BORROWED),
};
#undef STORED_STRUCT
static const struct view_component unknown_component = {.path = ""};
static const struct type component_type =
    TYPE(struct view_component, "a file", component_members, .unknown = &unknown_component);

#define STORED_STRUCT struct view_trial
#define ROWS(row, rows, row_count)                                                                 \
    MEMBER(struct view_trial, LIST, rows, .of = &row##_type,                                       \
           .count = offsetof(struct view_trial, row_count))
static const struct member trial_members[] = {
    STORED_READ(STORED_TRIAL) ROWS(phase, phases, phase_count),
    ROWS(check, checks, check_count),
    ROWS(component, components, component_count),
};
#undef STORED_STRUCT
static const struct type trial_type = TYPE(struct view_trial, "a trial", trial_members);

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static void keep_known_phases(struct view_trial *trial)
{
    size_t kept = 0;

    for (size_t i = 0; i < trial->phase_count; ++i)
        if (trial->phases[i].name && trial->phases[i].begin_ns.known &&
            trial->phases[i].end_ns.known)
            trial->phases[kept++] = trial->phases[i];
    trial->phase_count = kept;
}

/* Rows of the window's start, then what its end adds; `index` maps a path to its row. */
static bool join_components(struct view_trial *trial)
{
    json_auto_t *index = json_object();
    bool end_seen = false;
    size_t kept = 0;

    for (size_t i = 0; index && i < trial->component_count; ++i) {
        const struct view_component component = trial->components[i];
        const bool at_end = same(component.at, "window_end");
        const json_t *known = at_end ? json_object_get(index, component.path) : NULL;

        end_seen = end_seen || at_end;
        if (known) {
            struct view_component *first = &trial->components[json_integer_value(known)];

            /* Two unreadable files are not known to differ. */
            first->change =
                same(first->sha256, component.sha256) || (!first->sha256 && !component.sha256)
                    ? VIEW_SAME
                    : VIEW_CHANGED;
            first->sha256_end = component.sha256;
            continue;
        }
        trial->components[kept] = component;
        trial->components[kept].change = at_end ? VIEW_APPEARED : VIEW_GONE;
        json_object_set_new(index, component.path, json_integer((json_int_t)kept++));
    }
    trial->component_count = kept;
    for (size_t i = 0; i < kept; ++i) {
        if (!end_seen)
            trial->components[i].change = VIEW_ONCE;
        trial->changed_count += trial->components[i].change == VIEW_CHANGED;
    }
    return index != NULL;
}

/* Leaves out what a summary does not show, and more rows than any workload makes. */
static void cut_rows(json_t *json, enum view_depth depth)
{
    static const char *const shown[] = {"components", "checks", "environment", "artifacts",
                                        "telemetry"};
    static const char *const rows[] = {"phases", "components", "checks"};

    for (size_t i = 0; depth == VIEW_SUMMARY && i < sizeof(shown) / sizeof(*shown); ++i)
        json_object_del(json, shown[i]);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
        json_t *array = json_object_get(json, rows[i]);

        while (json_array_size(array) > ROWS_MAX)
            json_array_remove(array, json_array_size(array) - 1);
    }
}

bool view_trial_read(json_t *json, enum view_depth depth, struct view_trial *ret)
{
    const json_t *environment;
    struct view_count id = view_json_count(json, "id");

    cut_rows(json, depth);
    if (type_read(&trial_type, json, ret) == type_no_memory)
        return false;
    ret->id = id.known ? id.value : -1;
    ret->ok = same(ret->status, "ok");
    if (same(ret->status, "no_end"))
        ret->status = NULL;
    ret->artifacts = json_object_get(json, "artifacts");
    ret->telemetry = json_object_get(json, "telemetry");
    ret->series_rows = json_object_get(json, "series");
    environment = json_object_get(json, "environment");
    view_json_readings(environment, "host", &ret->host);
    view_json_readings(environment, "before", &ret->before);
    view_json_readings(environment, "after", &ret->after);
    keep_known_phases(ret);
    return join_components(ret);
}

void view_trial_finish(struct view_trial *trial)
{
    type_finish(&trial_type, trial);
    reading_list_finish(&trial->host);
    reading_list_finish(&trial->before);
    reading_list_finish(&trial->after);
}

const json_t *view_telemetry_series(const struct view_trial *trial, const char *part,
                                    const char *channel)
{
    char name[256];

    snprintf(name, sizeof(name), "telemetry:%.32s.%.160s", part, channel);
    EACH(row, trial->series_rows)
        if (strcmp(member_text(row, "name"), name) == 0)
            return row;
    return NULL;
}
