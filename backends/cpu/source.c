#include "backends/cpu/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backends/compile.h"
#include "harness/core/cleanup.h"

static const char head[] = "assay_kernel";

/*
 * The compiler says which of the dialect's scalars a parameter is, since its type may go by another
 * name: the letter of the signature and the member of the argument.
 */
#define LETTER(type)                                                                               \
    "_Generic((" type ")0, i32: 'i', u32: 'u', i64: 'l', u64: 'L', f32: 'f', f64: 'd')"
#define MEMBER(type, argument)                                                                     \
    "_Generic((" type ")0, i32: " argument ".i32_, u32: " argument ".u32_, i64: " argument         \
    ".i64_, u64: " argument ".u64_, f32: " argument ".f32_, f64: " argument ".f64_)"

void cpu_source_join(const struct module_source *source, const char *prelude, size_t prelude_length,
                     struct text *ret)
{
    text_init(ret);
    text_append(ret, "#line 1 \"defines\"\n");
    compile_append_defines(ret, source);
    text_append(ret, "#line 1 \"" CPU_PRELUDE_FILE "\"\n");
    text_append_bytes(ret, prelude, prelude_length);
    text_append_format(ret, "\n#line 1 \"%s\"\n", source->file);
    text_append(ret, source->text);
    text_append(ret, "\n");
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The position after a string or character constant that begins at `at`. */
static const char *skip_quoted(const char *at)
{
    const char quote = *at++;

    while (*at != '\0' && *at != quote && *at != '\n')
        at += at[0] == '\\' && at[1] != '\0' ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

/* The next head as a whole word outside of strings; NULL when there is none. */
static const char *find_head(const char *at)
{
    while (*at != '\0') {
        if (*at == '"' || *at == '\'') {
            at = skip_quoted(at);
        } else if (is_word(*at)) {
            const char *begin = at;

            while (is_word(*at))
                at++;
            if ((size_t)(at - begin) == strlen(head) && strncmp(begin, head, strlen(head)) == 0)
                return begin;
        } else {
            at++;
        }
    }
    return NULL;
}

struct piece {
    const char *begin, *end;
};

static struct piece trim(const char *begin, const char *end)
{
    while (begin < end && isspace((unsigned char)*begin))
        begin++;
    while (end > begin && isspace((unsigned char)end[-1]))
        end--;
    return (struct piece){begin, end};
}

/*
 * Splits what is between the parentheses at `at`; returns the position after the closing one, or
 * NULL.
 */
static const char *split(const char *at, struct piece *ret, size_t capacity, size_t *ret_count)
{
    const char *begin;
    size_t count = 0;
    int depth = 0;

    while (isspace((unsigned char)*at))
        at++;
    if (*at != '(')
        return NULL;
    for (begin = ++at; *at != '\0'; at++) {
        if (*at == '(' || *at == '[')
            depth++;
        if (depth == 0 && (*at == ',' || *at == ')')) {
            if (count == capacity)
                return NULL;
            ret[count++] = trim(begin, at);
            begin = at + 1;
            if (*at == ')') {
                *ret_count = count;
                return at + 1;
            }
        }
        if (*at == ')' || *at == ']')
            depth--;
    }
    return NULL;
}

static bool is_pointer(struct piece parameter)
{
    return memchr(parameter.begin, '*', (size_t)(parameter.end - parameter.begin)) != NULL;
}

/* What comes before the parameter's name. */
static struct piece type_of(struct piece parameter)
{
    const char *name = parameter.end;

    while (name > parameter.begin && is_word(name[-1]))
        name--;
    return trim(parameter.begin, name);
}

#define PIECES_MAX (KERNEL_ARGS_MAX + 1)

/*
 * The function that runs a range of groups, and the signature. Every name in it is reserved, since
 * a kernel may be called anything else.
 */
static void append_runner(struct text *text, struct piece name, const struct piece *parameters,
                          size_t count)
{
    const int length = (int)(name.end - name.begin);

    text_append_format(text,
                       "extern const char " CPU_SIGNATURE "%.*s[];\n"
                       "const char " CPU_SIGNATURE "%.*s[] = {",
                       length, name.begin, length, name.begin);
    for (size_t i = 0; i < count; i++) {
        const struct piece type = type_of(parameters[i]);
        const int size = (int)(type.end - type.begin);

        if (is_pointer(parameters[i]))
            text_append_format(text, "'%c', ", CPU_PARAMETER_POINTER);
        else
            text_append_format(text, LETTER("%.*s") ", ", size, type.begin);
    }
    text_append_format(text,
                       "0};\n"
                       "void " CPU_RUN "%.*s(const u64 *assay_groups, const union assay_argument "
                       "*assay_arguments, u64 assay_begin, u64 assay_end)\n{\n"
                       "    struct assay_geometry assay_at = assay_first(assay_groups, "
                       "assay_begin);\n"
                       "    for (; assay_begin < assay_end; assay_begin++) {\n"
                       "        assay_place = assay_at;\n"
                       "        %.*s(assay_at",
                       length, name.begin, length, name.begin);
    for (size_t i = 0; i < count; i++) {
        const struct piece type = type_of(parameters[i]);
        const int size = (int)(type.end - type.begin);

        if (is_pointer(parameters[i])) {
            text_append_format(text, ", assay_arguments[%zu].pointer_", i);
            continue;
        }
        text_append_format(text, ", ({ const union assay_argument assay_a = assay_arguments[%zu]; ",
                           i);
        text_append_format(text, MEMBER("%.*s", "assay_a") "; })", size, type.begin);
    }
    text_append(text, ");\n        assay_next(&assay_at);\n    }\n}\n");
}

static enum status expand_head(const char **at, struct text *body, struct text *runners,
                               struct error *err)
{
    struct piece pieces[PIECES_MAX];
    size_t count = 0, parameters;
    const char *behind = split(*at + strlen(head), pieces, PIECES_MAX, &count);

    if (behind == NULL)
        return error_set(err, STATUS_COMPILE,
                         "KERNEL(name, parameters...) with at most %d parameters was expected, not "
                         "\"%.60s\"",
                         KERNEL_ARGS_MAX, *at + strlen(head));
    parameters = count - 1;
    /* KERNEL(name, ) of a macro without parameters */
    if (parameters == 1 && pieces[1].begin == pieces[1].end)
        parameters = 0;
    text_append_format(body,
                       "static __attribute__((noinline)) void %.*s(const struct "
                       "assay_geometry assay_place",
                       (int)(pieces[0].end - pieces[0].begin), pieces[0].begin);
    for (size_t i = 1; i <= parameters; i++) {
        text_append(body, ", ");
        text_append_bytes(body, pieces[i].begin, (size_t)(pieces[i].end - pieces[i].begin));
    }
    text_append(body, ")");
    append_runner(runners, pieces[0], pieces + 1, parameters);
    *at = behind;
    return STATUS_OK;
}

enum status cpu_source_expand(const char *preprocessed, struct text *ret, struct error *err)
{
    const char *at = preprocessed, *found;
    CLEANUP(text_finish) struct text body = TEXT_INIT, runners = TEXT_INIT;

    text_append(&runners, "\n# 1 \"assay-runners\"\n");
    while ((found = find_head(at)) != NULL) {
        text_append_bytes(&body, at, (size_t)(found - at));
        at = found;
        TRY(expand_head(&at, &body, &runners, err));
    }
    text_append(&body, at);
    text_append_bytes(&body, runners.data, runners.length);
    if (!text_ok(&body) || !text_ok(&runners))
        return error_no_memory(err);
    *ret = body;
    text_init(&body);
    return STATUS_OK;
}
