#include "protocols/condition.h"

#include <string.h>

#include "harness/core/member.h"

static const char *const words[] = {
#define CONDITION_WORDS(constant, code, said) said,
    CONDITION_MAP(CONDITION_WORDS)
#undef CONDITION_WORDS
};

const struct declaration_name condition_names[CONDITION_COUNT] = {
#define CONDITION_NAME(constant, code, said) {code, CONDITION_##constant},
    CONDITION_MAP(CONDITION_NAME)
#undef CONDITION_NAME
};

static bool has(const json_t *codes, const char *code)
{
    EACH(known, codes) {
        const char *text = json_string_value(known);

        if (text && code && !strcmp(text, code))
            return true;
    }
    return false;
}

json_t *condition_known(const json_t *codes)
{
    json_t *known = json_array();

    for (int i = 0; i < CONDITION_COUNT; i++)
        if (has(codes, condition_names[i].str))
            json_array_append_new(known, json_string(condition_names[i].str));
    return known;
}

static bool is_found(const json_t *findings, const char *code)
{
    EACH(finding, findings)
        if (!strcmp(member_text(finding, "code"), code))
            return true;
    return false;
}

bool condition_add(const json_t *record, json_t *codes)
{
    const json_t *findings = json_object_get(json_object_get(record, "estimate"), "findings");

    for (int i = 0; i < CONDITION_COUNT; i++) {
        const char *code = condition_names[i].str;

        if (is_found(findings, code) && !has(codes, code) &&
            json_array_append_new(codes, json_string(code)) != 0)
            return false;
    }
    return true;
}

json_t *condition_beyond(const json_t *codes, const json_t *allowed)
{
    json_t *beyond = json_array();

    EACH(code, codes)
        if (!has(allowed, json_string_value(code)))
            json_array_append(beyond, code);
    return beyond;
}

/* A code that is none of the table stands for itself. */
static const char *words_of(const char *code)
{
    for (int i = 0; code && i < CONDITION_COUNT; i++)
        if (!strcmp(code, condition_names[i].str))
            return words[i];
    return code ? code : "?";
}

void condition_append(struct text *out, const json_t *codes)
{
    const size_t count = json_array_size(codes);

    EACH(code, codes) {
        if (code_at > 0)
            text_append(out, code_at + 1 < count ? ", " : " and ");
        text_append(out, words_of(json_string_value(code)));
    }
}
