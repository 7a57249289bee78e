#include "backends/null/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

static const char *const fault_names[] = {
#define NAME(code, name) name,
    NULL_FAULT_MAP(NAME)
#undef NAME
};

enum value_type { DURATION, REAL, COUNT, FAULT, PATH };

static const struct key {
    const char *name;
    enum value_type type;
    size_t offset;
    double min, max; /* of a REAL */
} keys[] = {
    {"launch_ns", DURATION, offsetof(struct null_plan, launch_ns), 0, 0},
    {"delay", REAL, offsetof(struct null_plan, delay), -0.99, 1000},
    {"cv", REAL, offsetof(struct null_plan, cv), 0, 10},
    {"phi", REAL, offsetof(struct null_plan, phi), -0.999, 0.999},
    {"process_cv", REAL, offsetof(struct null_plan, process_cv), 0, 10},
    {"warmup_ns", DURATION, offsetof(struct null_plan, warmup_ns), 0, 0},
    {"warmup_launches", REAL, offsetof(struct null_plan, warmup_launches), 0.001, 1e9},
    {"drift", REAL, offsetof(struct null_plan, drift), -1, 1000},
    {"step_at", COUNT, offsetof(struct null_plan, step_at), 0, 0},
    {"step", REAL, offsetof(struct null_plan, step), -0.99, 1000},
    {"power_mw", COUNT, offsetof(struct null_plan, power_mw), 0, 0},
    {"power_ramp", REAL, offsetof(struct null_plan, power_ramp), 0, 1e6},
    {"energy_wraps_at", COUNT, offsetof(struct null_plan, energy_wraps_at), 0, 0},
    {"energy_stuck", COUNT, offsetof(struct null_plan, energy_stuck), 0, 0},
    {"clock_khz", COUNT, offsetof(struct null_plan, clock_khz), 0, 0},
    {"clock_drop_khz", COUNT, offsetof(struct null_plan, clock_drop_khz), 0, 0},
    {"throttle", COUNT, offsetof(struct null_plan, throttle), 0, 0},
    {"throttle_after", DURATION, offsetof(struct null_plan, throttle_after_ns), 0, 0},
    {"foreign", COUNT, offsetof(struct null_plan, foreign), 0, 0},
    {"seed", COUNT, offsetof(struct null_plan, seed), 0, 0},
    {"fault", FAULT, 0, 0, 0},
    {"once", PATH, offsetof(struct null_plan, once), 0, 0},
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static enum status parse_fault(char *value, struct null_plan *plan, struct error *err)
{
    char *at = strchr(value, '@');
    const char *nearest;
    uint64_t n = 1;
    size_t i;

    if (at != NULL) {
        *at = '\0';
        if (!text_parse_u64(at + 1, &n) || n == 0)
            return error_set(err, STATUS_INVALID,
                             "ASSAY_NULL: fault %s@%s: write after @ which call fails, from 1",
                             value, at + 1);
    }
    for (i = 0; i < NULL_FAULT_COUNT; i++)
        if (strcmp(value, fault_names[i]) == 0) {
            plan->faults[i] = n;
            return STATUS_OK;
        }
    nearest = text_nearest(value, fault_names, NULL_FAULT_COUNT);
    return error_set(err, STATUS_INVALID,
                     "ASSAY_NULL: there is no fault \"%s\"%s%s%s; backends/null/README.md lists "
                     "them",
                     value, nearest != NULL ? "; did you mean \"" : "",
                     nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

static enum status parse_item(const char *name, char *value, struct null_plan *plan,
                              struct error *err)
{
    const char *names[KEY_COUNT], *nearest;
    const struct key *key = NULL;
    void *target;
    int64_t ns = 0;
    double real;
    size_t i;

    for (i = 0; i < KEY_COUNT; i++) {
        names[i] = keys[i].name;
        if (strcmp(name, keys[i].name) == 0)
            key = &keys[i];
    }
    if (key == NULL) {
        nearest = text_nearest(name, names, KEY_COUNT);
        return error_set(err, STATUS_INVALID,
                         "ASSAY_NULL: there is no key \"%s\"%s%s%s; backends/null/README.md lists "
                         "them",
                         name, nearest != NULL ? "; did you mean \"" : "",
                         nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
    }
    target = (char *)plan + key->offset;
    switch (key->type) {
    case DURATION:
        if (!text_parse_i64(value, &ns) && !text_parse_duration_ns(value, &ns))
            return error_set(err, STATUS_INVALID,
                             "ASSAY_NULL: %s=%s: write nanoseconds, or a time such as 250us", name,
                             value);
        if (ns < 0 || ns > 3600 * INT64_C(1000000000))
            return error_set(err, STATUS_INVALID,
                             "ASSAY_NULL: %s=%s: must be between 0 and one hour", name, value);
        *(int64_t *)target = ns;
        break;
    case REAL:
        if (!text_parse_double(value, &real) || real < key->min || real > key->max)
            return error_set(err, STATUS_INVALID, "ASSAY_NULL: %s=%s: write a number from %g to %g",
                             name, value, key->min, key->max);
        *(double *)target = real;
        break;
    case COUNT:
        if (!text_parse_u64(value, (uint64_t *)target))
            return error_set(err, STATUS_INVALID, "ASSAY_NULL: %s=%s: write a whole number", name,
                             value);
        if (strcmp(name, "seed") == 0)
            plan->seeded = true;
        if (strcmp(name, "power_mw") == 0)
            plan->has_power = true;
        break;
    case FAULT:
        return parse_fault(value, plan, err);
    case PATH:
        if (value[0] == '\0' || strlen(value) >= sizeof(plan->once))
            return error_set(err, STATUS_INVALID, "ASSAY_NULL: once=%s: write a file's path",
                             value);
        strcpy(plan->once, value);
        break;
    }
    return STATUS_OK;
}

enum status null_plan_parse(const char *string, struct null_plan *ret, struct error *err)
{
    struct null_plan plan = {
        .launch_ns = 100000, .warmup_launches = 10, .step = 0.1, .clock_khz = 1500000};
    AUTO_FREE char *copy = strdup(string != NULL ? string : "");

    if (copy == NULL)
        return error_no_memory(err);
    for (char *rest = copy; rest != NULL && copy[0] != '\0';) {
        char *item = strsep(&rest, ","), *value = strchr(item, '=');

        if (value == NULL)
            return error_set(err, STATUS_INVALID,
                             "ASSAY_NULL: \"%s\" is not key=value; several are written with "
                             "commas between",
                             item);
        *value++ = '\0';
        TRY(parse_item(item, value, &plan, err));
    }
    *ret = plan;
    return STATUS_OK;
}

void null_progress_init(struct null_progress *progress, const struct null_plan *plan)
{
    uint64_t seed = plan->seed;
    char identifier[65];

    memset(progress, 0, sizeof(*progress));
    progress->plan = plan;
    if (!plan->seeded) {
        random_identifier(identifier);
        identifier[16] = '\0';
        seed = strtoull(identifier, NULL, 16);
    }
    random_init(&progress->random, seed, 0);
    progress->process_factor = 1 + plan->process_cv * random_next_normal(&progress->random);
    progress->noise = random_next_normal(&progress->random);
}

int64_t null_progress_next_ns(struct null_progress *progress)
{
    const struct null_plan *plan = progress->plan;
    const double i = (double)progress->launches++;
    double ns = (double)plan->launch_ns * (1 + plan->delay) * progress->process_factor;

    ns *= 1 + plan->drift * i / 1000;
    if (plan->step_at != 0 && progress->launches >= plan->step_at)
        ns *= 1 + plan->step;
    if (plan->cv > 0) {
        ns *= 1 + plan->cv * progress->noise;
        progress->noise = plan->phi * progress->noise +
                          sqrt(1 - plan->phi * plan->phi) * random_next_normal(&progress->random);
    }
    if (plan->warmup_ns > 0)
        ns += (double)plan->warmup_ns * exp(-i / plan->warmup_launches);
    return ns > 0 ? llround(ns) : 0;
}

bool null_progress_fault(struct null_progress *progress, enum null_fault fault)
{
    progress->calls[fault]++;
    if (progress->plan->faults[fault] == 0 ||
        progress->calls[fault] != progress->plan->faults[fault])
        return false;
    return progress->plan->once[0] == '\0' || unlink(progress->plan->once) == 0;
}
