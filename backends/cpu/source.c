#include "backends/cpu/source.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "assay_kernel";

/* Scalars of the dialect: the letter of the signature and the member of the argument. */
static const struct {
    const char *name;
    char letter;
} scalars[] = {{"i32", 'i'}, {"u32", 'u'}, {"i64", 'l'}, {"u64", 'L'}, {"f32", 'f'}, {"f64", 'd'}};

#define SCALAR_COUNT (sizeof(scalars) / sizeof(scalars[0]))

void cpu_source_join(const struct module_source *source, const char *prelude, size_t prelude_length,
                     struct text *ret)
{
    text_init(ret);
    text_append_format(ret, "#line 1 \"defines\"\n#define LANES %" PRIu32 "\n", source->lanes);
    for (size_t i = 0; i < source->define_count; i++)
        text_append_format(ret, "#define %s %s\n", source->defines[i].name,
                           source->defines[i].value);
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

/* Behind a string or character constant that begins at `at`. */
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

/* Splits what stands between the parentheses at `at`; returns behind the closing one, or NULL. */
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

static bool piece_is(struct piece piece, const char *word)
{
    return (size_t)(piece.end - piece.begin) == strlen(word) &&
           strncmp(piece.begin, word, strlen(word)) == 0;
}

/* Letter of one parameter, 0 when it is neither a pointer nor a scalar of the dialect. */
static char letter_of(struct piece parameter)
{
    const char *name = parameter.end;
    struct piece type;

    if (memchr(parameter.begin, '*', (size_t)(parameter.end - parameter.begin)) != NULL)
        return CPU_PARAMETER_POINTER;
    while (name > parameter.begin && is_word(name[-1]))
        name--;
    type = trim(parameter.begin, name);
    if (type.end - type.begin > 6 && strncmp(type.begin, "const ", 6) == 0)
        type = trim(type.begin + 6, type.end);
    for (size_t i = 0; i < SCALAR_COUNT; i++)
        if (piece_is(type, scalars[i].name))
            return scalars[i].letter;
    return 0;
}

static const char *member_of(char letter)
{
    for (size_t i = 0; i < SCALAR_COUNT; i++)
        if (scalars[i].letter == letter)
            return scalars[i].name;
    return "pointer";
}

#define PIECES_MAX (KERNEL_ARGS_MAX + 1)

/*
 * The function that runs a range of groups, and the signature. Every name in it is reserved, since
 * a kernel may be called anything else.
 */
static void append_runner(struct text *text, struct piece name, const char *letters)
{
    const int length = (int)(name.end - name.begin);

    text_append_format(text,
                       "extern const char " CPU_SIGNATURE "%.*s[];\n"
                       "const char " CPU_SIGNATURE "%.*s[] = \"%s\";\n"
                       "void " CPU_RUN "%.*s(const u64 *assay_groups, const union assay_argument "
                       "*assay_arguments, u64 assay_begin, u64 assay_end)\n{\n"
                       "    struct assay_geometry assay_at = assay_first(assay_groups, "
                       "assay_begin);\n"
                       "    for (; assay_begin < assay_end; assay_begin++) {\n"
                       "        assay_place = assay_at;\n"
                       "        %.*s(assay_at",
                       length, name.begin, length, name.begin, letters, length, name.begin, length,
                       name.begin);
    for (size_t i = 0; letters[i] != '\0'; i++)
        text_append_format(text, ", assay_arguments[%zu].%s_", i, member_of(letters[i]));
    text_append(text, ");\n        assay_next(&assay_at);\n    }\n}\n");
}

static enum status expand_head(const char **at, struct text *body, struct text *runners,
                               struct error *err)
{
    struct piece pieces[PIECES_MAX];
    char letters[KERNEL_ARGS_MAX + 1] = "";
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
    for (size_t i = 0; i < parameters; i++) {
        const struct piece parameter = pieces[i + 1];

        letters[i] = letter_of(parameter);
        if (letters[i] == 0)
            return error_set(err, STATUS_COMPILE,
                             "kernel %.*s: parameter \"%.*s\" is neither a GLOBAL pointer nor one "
                             "of i32 u32 i64 u64 f32 f64",
                             (int)(pieces[0].end - pieces[0].begin), pieces[0].begin,
                             (int)(parameter.end - parameter.begin), parameter.begin);
        text_append(body, ", ");
        text_append_bytes(body, parameter.begin, (size_t)(parameter.end - parameter.begin));
    }
    text_append(body, ")");
    append_runner(runners, pieces[0], letters);
    *at = behind;
    return STATUS_OK;
}

enum status cpu_source_expand(const char *preprocessed, struct text *ret, struct error *err)
{
    const char *at = preprocessed, *found;
    enum status status = STATUS_OK;
    struct text body, runners;

    text_init(&body);
    text_init(&runners);
    text_append(&runners, "\n# 1 \"assay-runners\"\n");
    while (status == STATUS_OK && (found = find_head(at)) != NULL) {
        text_append_bytes(&body, at, (size_t)(found - at));
        at = found;
        status = expand_head(&at, &body, &runners, err);
    }
    text_append(&body, at);
    text_append_bytes(&body, runners.data, runners.length);
    if (status == STATUS_OK && (!text_ok(&body) || !text_ok(&runners)))
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    text_finish(&runners);
    if (status != STATUS_OK)
        text_finish(&body);
    else
        *ret = body;
    return status;
}
