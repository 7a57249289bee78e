#include "protocols/protocol_clauses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

/* ---- the words of enumerations: X(word, value) ---- */

#define CACHE_WORDS(X) X("hot", PROTOCOL_CACHE_HOT) X("cold", PROTOCOL_CACHE_COLD)
#define REFUSAL_WORDS(X)                                                                           \
    X("nothing", PROTOCOL_REFUSE_NOTHING)                                                          \
    X("critical", PROTOCOL_REFUSE_CRITICAL) X("warning", PROTOCOL_REFUSE_WARNING)
#define CENTRE_WORDS(X) X("mean", ESTIMATE_MEAN) X("median", ESTIMATE_MEDIAN)
#define VERIFICATION_WORDS(X)                                                                      \
    X("each_trial", PROTOCOL_VERIFY_EACH_TRIAL) X("first_trial", PROTOCOL_VERIFY_FIRST_TRIAL)

#define WORD_AT(word, value) [value] = (word),
#define WORD_PAIR(word, value) {word, value},
#define WORDS(of, list)                                                                            \
    static const char *const of##_words[] = {list(WORD_AT)};                                       \
    static const struct declaration_name of##_pairs[] = {list(WORD_PAIR)};
WORDS(cache, CACHE_WORDS)
WORDS(refusal, REFUSAL_WORDS)
WORDS(centre, CENTRE_WORDS)
WORDS(verification, VERIFICATION_WORDS)

/* ---- the clauses ---- */

/* clang-format off */
#define ANALYSIS(X)                                                                                \
    X("analysis.", REAL, "confidence", estimate.confidence, 0, 1, DEFAULT)                         \
    X("analysis.", REAL, "steady_tolerance", estimate.steady_tolerance, 1e-6, 0.5, DEFAULT)        \
    X("analysis.", REAL, "drift_tolerance", estimate.drift_tolerance, 1e-6, 0.5, DEFAULT)          \
    X("analysis.", REAL, "min_ess", estimate.min_ess, 1, 1e6, DEFAULT)                             \
    X("analysis.", REAL, "margin", estimate.margin, 1e-6, 0.5, DEFAULT)                            \
    X("analysis.", CENTRE, "compare_by", estimate.compare_by, 0, 0, LATER)
/* clang-format on */

#define CLAUSE(group, of_type, key, member, least, most, absence)                                  \
    {group key,                                                                                    \
     CLAUSE_##of_type,                                                                             \
     offsetof(struct protocol, member),                                                            \
     sizeof(((struct protocol *)0)->member),                                                       \
     least,                                                                                        \
     most,                                                                                         \
     CLAUSE_##absence},
#define CLAUSES(list) list(CLAUSE)
#define CLAUSES_OF(name, list, flags) list(CLAUSE)
const struct clause protocol_clauses[] = {PROTOCOL_CLAUSES(CLAUSES, CLAUSES_OF) ANALYSIS(CLAUSE)};
const size_t protocol_clause_count = sizeof(protocol_clauses) / sizeof(*protocol_clauses);

/* ---- in JSON ---- */

static bool has_no_gaps(const void *record)
{
    return ((const struct protocol *)record)->window_gaps <= 0;
}

#define STORED_NEEDED 0
#define STORED_DEFAULT 0
#define STORED_LATER MEMBER_OPTIONAL
#define STORED_INTEGER(key) key, MEMBER_INTEGER
#define STORED_DURATION(key) key "_ns", MEMBER_INTEGER
#define STORED_SEED(key) STORED_INTEGER(key)
#define STORED_BOOLEAN(key) key, MEMBER_BOOLEAN
#define STORED_REAL(key) key, MEMBER_REAL
#define STORED_SHARE(key) STORED_REAL(key), .absent = has_no_gaps
#define STORED_CACHE(key) key, MEMBER_NAME, .names = MEMBER_NAMES(cache_words)
#define STORED_REFUSAL(key) key, MEMBER_NAME, .names = MEMBER_NAMES(refusal_words)
#define STORED_CENTRE(key) key, MEMBER_NAME, .names = MEMBER_NAMES(centre_words)
#define STORED_VERIFICATION(key) key, MEMBER_NAME, .names = MEMBER_NAMES(verification_words)
#define STORED(group, type, key, member, least, most, absence)                                     \
    {STORED_##type(key), .flags = STORED_##absence, .offset = offsetof(struct protocol, member)},

_Static_assert(sizeof(enum protocol_cache) == sizeof(unsigned) &&
                   sizeof(enum protocol_refusal) == sizeof(unsigned) &&
                   sizeof(enum estimate_centre) == sizeof(unsigned) &&
                   sizeof(enum protocol_verification) == sizeof(unsigned),
               "a NAME is unsigned");

#define NO_TYPE(list)
#define TYPE_OF_GROUP(name, list, flags)                                                           \
    static const struct member name##_members[] = {list(STORED)};                                  \
    static const struct type name##_type = TYPE_OF_MEMBERS(name##_members);
PROTOCOL_CLAUSES(NO_TYPE, TYPE_OF_GROUP)
static const struct member analysis_members[] = {
    ANALYSIS(STORED) MEMBER_AS(struct protocol, LIST, "percentiles", estimate.percentiles,
                               .of = &type_of_real, .size = ESTIMATE_PERCENTILES_MAX,
                               .count = offsetof(struct protocol, estimate.percentile_count))};
static const struct type analysis_type = TYPE_OF_MEMBERS(analysis_members);

#define STORE(list) list(STORED)
#define STORE_GROUP(name, list, with_flags) MEMBER_GROUP(#name, name##_type, .flags = (with_flags)),
static const struct member protocol_members[] = {
    MEMBER(struct protocol, CHARS, name, .size = PROTOCOL_NAME_MAX, .flags = MEMBER_WHOLE),
    MEMBER(struct protocol, TEXT, description),
    PROTOCOL_CLAUSES(STORE, STORE_GROUP) MEMBER_GROUP("analysis", analysis_type),
    MEMBER(struct protocol, LIST, required, .of = &type_of_text, .size = PROTOCOL_REQUIRED_MAX,
           .count = offsetof(struct protocol, required_count)),
};
const struct type protocol_type = TYPE(struct protocol, "a protocol", protocol_members);

/* ---- in YAML: all may be left out, as a derived protocol writes only what differs ---- */

#define OPTIONAL FIELD_OPTIONAL
#define P struct protocol
#define YAML_INTEGER(key, member) FIELD_INT(key, OPTIONAL, P, member)
#define YAML_DURATION(key, member) FIELD_INT(key, OPTIONAL | DECLARATION_DURATION, P, member)
#define YAML_SEED(key, member) YAML_INTEGER(key, member)
#define YAML_BOOLEAN(key, member) FIELD_BOOL(key, OPTIONAL, P, member)
#define YAML_REAL(key, member) FIELD_FLOAT(key, OPTIONAL, P, member)
#define YAML_SHARE(key, member) YAML_REAL(key, member)
#define YAML_WORD(key, member, pairs)                                                              \
    FIELD_ENUM(key, OPTIONAL, P, member, pairs, sizeof(pairs) / sizeof(*(pairs)))
#define YAML_CACHE(key, member) YAML_WORD(key, member, cache_pairs)
#define YAML_REFUSAL(key, member) YAML_WORD(key, member, refusal_pairs)
#define YAML_CENTRE(key, member) YAML_WORD(key, member, centre_pairs)
#define YAML_VERIFICATION(key, member) YAML_WORD(key, member, verification_pairs)
#define YAML(group, type, key, member, least, most, absence) YAML_##type(key, member),

#define NO_FIELDS(list)
#define FIELDS_OF_GROUP(name, list, flags)                                                         \
    static const struct declaration_field name##_fields[] = {list(YAML) FIELD_END};
PROTOCOL_CLAUSES(NO_FIELDS, FIELDS_OF_GROUP)
static const struct declaration_schema percentile_entry = {ENTRY_FLOAT};
static const struct declaration_field analysis_fields[] = {
    ANALYSIS(YAML) FIELD_LIST("percentiles", OPTIONAL, struct protocol_raw, percentiles,
                              &percentile_entry, 0, ESTIMATE_PERCENTILES_MAX),
    FIELD_END,
};
static const struct declaration_schema required_entry = {ENTRY_STRING(1, 100)};

/* A group's fields have their places from the start of protocol_raw, where the clauses are. */
_Static_assert(offsetof(struct protocol_raw, clauses) == 0, "clauses begin what is written");
#define FIELDS_IN(key, fields) FIELD_GROUP(key, OPTIONAL, struct protocol_raw, clauses, fields)
#define FIELDS(list) list(YAML)
#define FIELDS_GROUP(name, list, flags) FIELDS_IN(#name, name##_fields),
static const struct declaration_field protocol_fields[] = {
    FIELD_STRING("name", FIELD_REQUIRED, struct protocol_raw, name, 1, PROTOCOL_NAME_MAX - 1),
    FIELD_STRING("description", OPTIONAL, struct protocol_raw, description, 1, 1000),
    FIELD_STRING("extends", OPTIONAL, struct protocol_raw, extends, 1, 4095),
    PROTOCOL_CLAUSES(FIELDS, FIELDS_GROUP) FIELDS_IN("analysis", analysis_fields),
    FIELD_LIST("required", OPTIONAL, struct protocol_raw, required, &required_entry, 0,
               PROTOCOL_REQUIRED_MAX),
    FIELD_END,
};
const struct declaration_schema protocol_schema = {
    ENTRY_GROUP(struct protocol_raw, protocol_fields),
};

/* ---- a protocol from what is written ---- */

void protocol_start(struct protocol *protocol)
{
    *protocol = (struct protocol){.cold_flush_factor = 4, .estimate = estimate_options_default()};
}

/* True when it was another value before. */
static bool copy_clause(const struct clause *clause, const struct protocol_raw *raw,
                        struct protocol *protocol)
{
    const char *from = (const char *)&raw->clauses + clause->offset;
    char *to = (char *)protocol + clause->offset;
    const bool other = memcmp(to, from, clause->size) != 0;

    memcpy(to, from, clause->size);
    return other;
}

/* Puts a copy in the place of what is there; false when out of memory. */
static bool protocol_set_text(char **place, const char *value)
{
    char *copy = strdup(value);

    if (!copy)
        return false;
    free(*place);
    *place = copy;
    return true;
}

static bool same_percentiles(const struct protocol_raw *raw, const struct protocol *protocol)
{
    size_t count = raw->percentiles_count;
    bool same = count == protocol->estimate.percentile_count;

    for (size_t i = 0; i < count && same; ++i)
        same = protocol->estimate.percentiles[i] == raw->percentiles[i];
    return same;
}

static bool same_required(const struct protocol_raw *raw, const struct protocol *protocol)
{
    bool same = raw->required_count == protocol->required_count;

    for (size_t i = 0; i < raw->required_count && same; ++i)
        same = strcmp(protocol->required[i], raw->required[i]) == 0;
    return same;
}

static bool copy_required(const struct protocol_raw *raw, struct protocol *protocol)
{
    for (size_t i = 0; i < protocol->required_count; ++i) {
        free(protocol->required[i]);
        protocol->required[i] = NULL;
    }
    protocol->required_count = 0;
    for (size_t i = 0; i < raw->required_count; ++i) {
        if (!protocol_set_text(&protocol->required[i], raw->required[i]))
            return false;
        ++protocol->required_count;
    }
    return true;
}

/* The names of what a derived protocol has otherwise than its base. */
static void add_other(struct text *others, const char *path)
{
    if (strcmp(path, "version") != 0)
        text_append_format(others, "%s%s", others->length ? ", " : " but for ", path);
}

/* The lists: written ones take the base's place whole. */
static bool copy_lists(const struct protocol_raw *raw, const struct declaration *declaration,
                       struct protocol *protocol, struct text *others)
{
    if (declaration_has(declaration, "analysis.percentiles") && !same_percentiles(raw, protocol)) {
        protocol->estimate.percentile_count = raw->percentiles_count;
        for (size_t i = 0; i < raw->percentiles_count; ++i)
            protocol->estimate.percentiles[i] = raw->percentiles[i];
        add_other(others, "analysis.percentiles");
    }
    if (declaration_has(declaration, "required") && !same_required(raw, protocol)) {
        add_other(others, "required");
        return copy_required(raw, protocol);
    }
    return true;
}

/*
 * The base's description would say of a derived protocol what is true of the base ("ten trials of
 * ten seconds"), so one without its own says from what it differs, and in which clauses.
 */
static bool describe(const struct protocol_raw *raw, const char *base, const struct text *others,
                     struct protocol *protocol)
{
    struct text words;
    bool done;

    if (raw->description)
        return protocol_set_text(&protocol->description, raw->description);
    text_init(&words);
    text_append_format(&words, "As %s%s", base, others->length ? others->data : "");
    done =
        text_ok(others) && text_ok(&words) && protocol_set_text(&protocol->description, words.data);
    text_finish(&words);
    return done;
}

static enum status overlay(struct protocol *protocol, const struct declaration *declaration,
                           bool complete, struct text *others, struct error *err)
{
    const struct protocol_raw *raw = declaration->data;
    char base[sizeof(protocol->name)];

    memcpy(base, protocol->name, sizeof(base));
    for (size_t i = 0; i < protocol_clause_count; ++i) {
        const struct clause *clause = &protocol_clauses[i];

        if (!declaration_has(declaration, clause->path)) {
            if (complete && clause->absence == CLAUSE_NEEDED)
                return declaration_error(declaration, clause->path, err,
                                         "clause \"%s\" is missing; write it, or begin with "
                                         "\"extends: standard\" and write only what differs",
                                         clause->path);
        } else if (copy_clause(clause, raw, protocol)) {
            add_other(others, clause->path);
        }
    }
    snprintf(protocol->name, sizeof(protocol->name), "%s", raw->name);
    if (complete && !raw->description)
        return declaration_error(declaration, "", err,
                                 "key \"description\" is missing; add a line that says what this "
                                 "protocol is for");
    if (!copy_lists(raw, declaration, protocol, others) || !describe(raw, base, others, protocol))
        return error_no_memory(err);
    return STATUS_OK;
}

enum status protocol_overlay(struct protocol *protocol, const struct declaration *declaration,
                             bool complete, struct error *err)
{
    CLEANUP(text_finish) struct text others;

    text_init(&others);
    return overlay(protocol, declaration, complete, &others, err);
}
