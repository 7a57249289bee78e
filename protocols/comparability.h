/*
 * comparability - may two results be compared at all, and what may a difference be attributed to?
 *
 * Every recorded field has a class, declared in protocols/declared/fields.yaml with its reason:
 *   identity    must match and be known; else the two do not compare
 *   subject     what a comparison is about: may differ, is named, belongs to a factor (device,
 *               driver, library ...)
 *   controlled  must match, or the verdict says except which
 *   nuisance    recorded, may differ
 * Unknown never equals unknown. A subject that must be known (the driver's version, say) and is not
 * ends the comparison, since it could not be said what differs. What a foreign worker measured
 * compares with that same worker's results alone, and they are among what the verdict excepts.
 */
#ifndef ASSAY_PROTOCOLS_COMPARABILITY_H
#define ASSAY_PROTOCOLS_COMPARABILITY_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/core/text.h"
#include "harness/core/type.h"

/*
 * Of stored comparisons. Raised whenever one could come out otherwise: with ESTIMATE_VERSION and
 * SERVING_VERSION, and with fields.yaml or what a record gives as fields.
 */
#define COMPARISON_VERSION 25

enum field_class { FIELD_IDENTITY, FIELD_SUBJECT, FIELD_CONTROLLED, FIELD_NUISANCE };
const char *field_class_name(enum field_class field_class);

/* One row of fields.yaml. */
struct field_rule {
    const char *field; /* exact, or ending in '*' for all that begin so; the first match counts */
    enum field_class field_class;
    const char *factor; /* subject: "driver"; NULL: the field's own name is the factor */
    bool required;      /* subject: unknown means not comparable */
    const char *why;
};

/* The built-in table; loaded once, never freed. NULL and `err` when it is damaged (a defect). */
const struct field_rule *field_rules(size_t *ret_count, struct error *err);

/* The rule of a field, or NULL when none matches (a test ensures that none is left out). */
const struct field_rule *field_rule_find(const char *field);
/* Whether the pattern is of the field: one '*' matches any sequence of characters. */
bool field_matches(const char *pattern, const char *field);

/*
 * EXPLORATORY: two first looks (protocols with `evidence: false`) of one device of one machine that
 * would otherwise be comparable. Their numbers may be shown; they are no evidence, and nothing is
 * attributed.
 */
enum comparability_verdict { COMPARABLE, COMPARABLE_EXCEPT, NOT_COMPARABLE, EXPLORATORY };
const char *comparability_verdict_name(enum comparability_verdict verdict);

/* A reason of a judgement for people, true of every protocol without evidence. */
const char *comparability_reason_words(const char *reason);

/*
 * Why no decision may rest on a judgement, for people: its first reason in words, or what makes it
 * exploratory. NULL: one may, or nothing is known of it. Static, or of the judgement.
 */
const char *comparability_why_no_evidence(const json_t *judgement);

/*
 * The beginning of identity.origin of a result that another program than assay's own worker
 * measured; what follows is that program's path.
 */
#define COMPARABILITY_FOREIGN_ORIGIN "measured by a foreign worker: "

/*
 * A field of this ending names the package of the file whose field comes before it ("library.libc"
 * and "library.libc.package": "libc6:amd64 2.36-9"), or the folder of a file of no package that
 * lies outside the folders where all libraries lie.
 */
#define COMPARABILITY_PACKAGE ".package"
#define COMPARABILITY_FOLDER "files in "

/* That path of the first of the two results that has one, or NULL: neither is such a result. */
const char *comparability_foreign_worker(const json_t *judgement);

/* Whether a judgement says comparable, if only but for some conditions: then decisions may rest on
 * it. */
bool comparability_is_evidence(const json_t *judgement);

/*
 * Judges two results by their fields. `a` and `b`: objects, name -> value (any JSON; null:
 * unknown). A field that only one of them has is unknown in the other. `varied`: what an experiment
 * set on purpose, as an object {field or prefix*: factor}; such fields count as subjects of that
 * factor, whatever their class. NULL: nothing, as for two stored results. Where the experiment set
 * one thing, every subject that differs counts as its consequence: the arms were alike in all else
 * and took turns.
 *
 * Files of one package are one factor: that of the rule that one of them has, else "package NAME".
 * Processors of one model in one machine are one device whatever their drivers call them, which
 * then belongs to the driver. A kernel's bytes belong to the factor that made them; where none such
 * and no condition of theirs differs, they are the factor "kernel binary".
 *
 * New object in `ret`, as comparability_type describes it. The state of a field is "same",
 * "differs" or "unknown"; a reason is "field: why it ends the comparison". `attribution` is the one
 * factor that differs; null when none or several do. `a` and `b` of a factor are what a person
 * knows it by (a product and its version, a name), or null. NO_MEMORY, or INTERNAL when the table
 * is damaged.
 */
enum status comparability_judge(const json_t *a, const json_t *b, const json_t *varied,
                                json_t **ret, struct error *err);
extern const struct type comparability_type;

/*
 * Appends what a factor of such an object is in a and in b, "onnxruntime 1.32.0 -> openvino
 * 2026.4.1"; nothing, and false, where that is not known or the same. As recorded, so that it is
 * escaped by who shows it.
 */
bool comparability_append_labels(struct text *out, const json_t *factor);

#endif
