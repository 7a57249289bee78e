/*
 * declared - workloads and suites as they are declared in YAML, and what is known without a device.
 *
 * A declaration names a kind and its parameters; with a precision and a batch it becomes a case,
 * the part of a cell that the workload knows.
 */
#ifndef ASSAY_WORKLOADS_DECLARED_H
#define ASSAY_WORKLOADS_DECLARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/precision.h"
#include "harness/core/status.h"
#include "harness/core/text.h"
#include "harness/core/workload_cost.h"

#define WORKLOAD_NAME_MAX 64
/* Of a workload and of a suite: true for [a-z0-9_-]+ of fewer characters. */
bool workload_name_is_valid(const char *name);

enum scenario { SCENARIO_SINGLE_STREAM, SCENARIO_OFFLINE, SCENARIO_SERVER };
const char *scenario_name(enum scenario scenario);
bool scenario_from_name(const char *name, enum scenario *ret);

/*
 * The scenario of a cell as text: of a server it names the rate of arrivals ("server@8" is 8
 * requests a second), since each rate is a cell. A negative rate is a share of a measured capacity
 * ("server@0.5x"), INFINITY measures it ("server@saturated"). Returns `ret`.
 */
#define SCENARIO_TEXT_SIZE 40
char *scenario_text(enum scenario scenario, double rate, char ret[SCENARIO_TEXT_SIZE]);
/* The inverse; `ret_rate` is 0 where the scenario has none. False for any other text. */
bool scenario_from_text(const char *text, enum scenario *ret, double *ret_rate);

/* UNKNOWN: of an endpoint, whose server has its own; nobody asks for it. */
enum implementation { IMPLEMENTATION_PORTABLE, IMPLEMENTATION_VENDOR, IMPLEMENTATION_UNKNOWN };
const char *implementation_name(enum implementation implementation);
bool implementation_from_name(const char *name, enum implementation *ret);

struct workload_kind;       /* workload.h */
struct serving_declaration; /* serving.h */

/* A loaded declaration. */
struct workload {
    char name[WORKLOAD_NAME_MAX];
    int64_t version;
    char *description; /* heap */
    char *origin;      /* heap: file it came from, or "built-in" */
    const struct workload_kind *kind;
    void *parameters;           /* the kind's own, validated; heap */
    enum precision *precisions; /* those declared, heap */
    size_t precision_count;
    int64_t *batches; /* those declared, heap; {1} where batch has no meaning */
    size_t batch_count;
    enum scenario scenario;
    struct serving_declaration *serving; /* heap; NULL: the scenario is not server */
    json_t *json;                        /* declaration with defaults filled in */
    struct digest digest;                /* of its canonical form: the workload's identity */
    json_t *trace; /* recorded arrivals (harness/runner/serving_trace.h); NULL: none */
};

/* What one run of a workload is of. */
struct framework;

struct workload_case {
    const struct workload *workload;
    enum precision precision;
    int64_t batch;
    enum scenario scenario;
    double rate; /* of a server, requests/s; else 0 */
    enum implementation implementation;
    uint64_t seed; /* of all generated data */
    /*
     * Group sizes, numbers of groups and tiles to use, as the kind's `choices` returned them for
     * the same case on the same device before; NULL: `init` measures and chooses. Borrowed.
     */
    const json_t *choices;
    /* A precision that the device does not have natively may be emulated, and is labelled so. */
    bool emulate;
    /*
     * What runs the model in place of our own operations, opened and not yet prepared; NULL: none.
     * Borrowed. `threads`: as many as the device uses where 0.
     */
    struct framework *framework;
    uint32_t framework_threads;
    bool own_precision; /* the framework is not told what to compute in */
};

const char *workload_kind_name(const struct workload *workload);
/* Appends a few lines for people: shapes and the like; nothing where the kind has none. */
void workload_append_shapes(const struct workload *workload, struct text *out);
/* From the declaration alone; errors are the kind's. */
enum status workload_case_cost(const struct workload_case *work, struct workload_cost *ret,
                               struct error *err);
/*
 * The largest tolerance that a check gives an output in a metric; -1: it follows from measured
 * data; WORKLOAD_NO_CHECK: the kind makes no such check.
 */
#define WORKLOAD_NO_CHECK (-2.0)
double workload_case_tolerance(const struct workload_case *work, const char *output,
                               const char *metric);

/* From the JSON kept in a store (YAML is a superset of JSON; same checks). */
enum status workload_from_json(const json_t *json, struct workload *ret, struct error *err);
void workload_finish(struct workload *workload);

/* Names of the built-in workloads and suites, sorted. */
struct catalog_entry {
    const char *name;
    const char *yaml;
    size_t length;
};
const struct catalog_entry *catalog_workloads(size_t *ret_count);
const struct catalog_entry *catalog_suites(size_t *ret_count);

/* Built-in name, or path to a YAML file (has '/' or ends in .yaml). NOT_FOUND suggests a name. */
enum status workload_find(const char *name_or_path, struct workload *ret, struct error *err);

/* A suite: named workloads, each with an optional narrower choice of precisions and batches. */
struct suite_entry {
    char *workload;             /* name or path (relative to the suite's file) */
    enum precision *precisions; /* heap; count 0: all that the workload declares */
    size_t precision_count;
    int64_t *batches; /* heap; count 0: all that the workload declares */
    size_t batch_count;
};
struct suite {
    char name[WORKLOAD_NAME_MAX];
    int64_t version;
    char *description;
    char *origin;
    struct suite_entry *entries;
    size_t entry_count;
    json_t *json;
    struct digest digest;
};
/* As workload_find. */
enum status suite_find(const char *name_or_path, struct suite *ret, struct error *err);
void suite_finish(struct suite *suite);

/* True when the YAML file declares a suite (has the key `suite`) rather than a workload. */
enum status declaration_is_suite(const char *path, bool *ret, struct error *err);
/* True when it has the key `workload` or `kind`. */
enum status declaration_is_workload(const char *path, bool *ret, struct error *err);

#endif
