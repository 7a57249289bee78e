/* One attempt, as stored. */
#include "reports/view_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/member.h"
#include "results/store/stored.h"

/* More than any workload makes; a hostile file must not cost hours. */
#define ROWS_MAX 20000

static size_t row_count(const json_t *array)
{
    size_t count = json_array_size(array);

    return count < ROWS_MAX ? count : ROWS_MAX;
}

static bool read_phases(const json_t *json, struct view_trial *ret)
{
    size_t count = row_count(json);

    ret->phases = calloc(count + 1, sizeof(*ret->phases));
    for (size_t i = 0; ret->phases && i < count; ++i) {
        const json_t *row = json_array_get(json, i);
        struct view_count begin = view_json_count(row, "begin_ns"),
                          end = view_json_count(row, "end_ns");

        if (begin.known && end.known)
            ret->phases[ret->phase_count++] =
                (struct view_phase){member_text(row, "name"), begin.value, end.value};
    }
    return ret->phases != NULL;
}

#define STORED_STRUCT struct view_check
static const struct member check_members[] = {STORED_READ(STORED_CHECK)};
#undef STORED_STRUCT
static const struct type check_type = TYPE_OF_MEMBERS(check_members);

#define STORED_STRUCT struct view_component
static const struct member component_members[] = {STORED_READ(STORED_COMPONENT)};
#undef STORED_STRUCT
static const struct type component_type = TYPE_OF_MEMBERS(component_members);

#define STORED_STRUCT struct view_trial
static const struct member trial_members[] = {STORED_READ(STORED_TRIAL)};
#undef STORED_STRUCT
static const struct type trial_type = TYPE_OF_MEMBERS(trial_members);

static bool read_checks(const json_t *json, struct view_trial *ret)
{
    size_t count = row_count(json);

    ret->checks = calloc(count + 1, sizeof(*ret->checks));
    for (size_t i = 0; ret->checks && i < count; ++i) {
        const json_t *row = json_array_get(json, i);
        struct view_check *check = &ret->checks[ret->check_count++];

        *check = (struct view_check){.phase = "",
                                     .output = "",
                                     .metric = "",
                                     .error_text = member_string(row, "error"),
                                     .error = member_number(row, "error"),
                                     .tolerance = NAN};
        type_read(&check_type, row, check);
    }
    return ret->checks != NULL;
}

static bool read_series(const json_t *json, struct view_trial *ret)
{
    size_t count = row_count(json);

    ret->series = calloc(count + 1, sizeof(*ret->series));
    for (size_t i = 0; ret->series && i < count; ++i) {
        const char *name = member_string(json_array_get(json, i), "name");

        if (name)
            ret->series[ret->series_count++] = name;
    }
    return ret->series != NULL;
}

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* Rows of the window's start, then what its end adds; `index` maps a path to its row. */
static bool read_components(const json_t *json, struct view_trial *ret)
{
    size_t count = row_count(json);
    json_t *index = json_object();
    bool end_seen = false;

    ret->components = calloc(count + 1, sizeof(*ret->components));
    for (size_t i = 0; index && ret->components && i < count; ++i) {
        const json_t *row = json_array_get(json, i);
        const char *path = member_text(row, "path"), *digest = member_string(row, "sha256");
        bool at_end = same(member_string(row, "at"), "window_end");
        const json_t *known = at_end ? json_object_get(index, path) : NULL;

        end_seen = end_seen || at_end;
        if (known) {
            struct view_component *component = &ret->components[json_integer_value(known)];

            component->change = same(component->digest, digest) ? VIEW_SAME : VIEW_CHANGED;
            /* Two unreadable files are not known to differ. */
            if (!component->digest && !digest)
                component->change = VIEW_SAME;
            component->digest_end = digest;
            continue;
        }
        ret->components[ret->component_count] = (struct view_component){
            .path = "", .digest = digest, .change = at_end ? VIEW_APPEARED : VIEW_GONE};
        type_read(&component_type, row, &ret->components[ret->component_count]);
        json_object_set_new(index, path, json_integer((json_int_t)ret->component_count));
        ++ret->component_count;
    }
    for (size_t i = 0; i < ret->component_count; ++i) {
        if (!end_seen)
            ret->components[i].change = VIEW_ONCE;
        ret->changed_count += ret->components[i].change == VIEW_CHANGED;
    }
    json_decref(index);
    return index && ret->components;
}

bool view_trial_read(json_t *json, enum view_depth depth, struct view_trial *ret)
{
    const json_t *environment = json_object_get(json, "environment");
    struct view_count id = view_json_count(json, "id");

    ret->id = id.known ? id.value : -1;
    type_read(&trial_type, json, ret);
    ret->ok = same(ret->status, "ok");
    if (same(ret->status, "no_end"))
        ret->status = NULL;
    if (depth == VIEW_SUMMARY) {
        json_object_del(json, "components");
        json_object_del(json, "environment");
        json_object_del(json, "artifacts");
        json_object_del(json, "checks");
        json_object_del(json, "telemetry");
        environment = NULL;
    }
    ret->artifacts = json_object_get(json, "artifacts");
    ret->telemetry = json_object_get(json, "telemetry");
    ret->series_rows = json_object_get(json, "series");
    view_json_readings(environment, "host", &ret->host);
    view_json_readings(environment, "before", &ret->before);
    view_json_readings(environment, "after", &ret->after);
    return read_phases(json_object_get(json, "phases"), ret) &&
           read_checks(json_object_get(json, "checks"), ret) &&
           read_series(json_object_get(json, "series"), ret) &&
           read_components(json_object_get(json, "components"), ret);
}

void view_trial_finish(struct view_trial *trial)
{
    free(trial->phases);
    free(trial->checks);
    free(trial->series);
    free(trial->components);
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
