#include "protocols/protocol.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/embed.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "protocols/protocol_clauses.h"

#define BUILTINS_MAX 16
#define CHAIN_MAX 8 /* protocols that extend one another */

extern const struct embed_file protocol_declared[];
extern const size_t protocol_declared_count;

static struct protocol_builtin builtins[BUILTINS_MAX];
static char builtin_names[BUILTINS_MAX][PROTOCOL_NAME_MAX];
static size_t builtin_count;
static pthread_once_t builtins_once = PTHREAD_ONCE_INIT;

static void list_builtins(void)
{
    for (size_t i = 0; i < protocol_declared_count && i < BUILTINS_MAX; ++i) {
        const char *file = protocol_declared[i].name;

        snprintf(builtin_names[i], sizeof(builtin_names[i]), "%.*s", (int)strcspn(file, "."), file);
        builtins[i] = (struct protocol_builtin){builtin_names[i], protocol_declared[i].text};
        ++builtin_count;
    }
}

const struct protocol_builtin *protocol_builtins(size_t *ret_count)
{
    pthread_once(&builtins_once, list_builtins);
    *ret_count = builtin_count;
    return builtins;
}

static const struct protocol_builtin *find_builtin(const char *name)
{
    size_t count;
    const struct protocol_builtin *all = protocol_builtins(&count);

    for (size_t i = 0; i < count; ++i)
        if (!strcmp(all[i].name, name))
            return &all[i];
    return NULL;
}

/* "; did you mean "quick"? There are quick, standard, soak" */
static void append_suggestion(struct text *text, const char *name)
{
    const char *names[BUILTINS_MAX], *nearest;
    size_t count;
    const struct protocol_builtin *all = protocol_builtins(&count);

    for (size_t i = 0; i < count; ++i)
        names[i] = all[i].name;
    nearest = text_nearest(name, names, count);
    if (nearest)
        text_append_format(text, "; did you mean \"%s\"? There are ", nearest);
    else
        text_append(text, "; there are ");
    for (size_t i = 0; i < count; ++i)
        text_append_format(text, "%s%s", i ? ", " : "", names[i]);
}

/* The files on the way from the protocol asked for to the one being read. */
struct chain {
    const char *path; /* resolved; NULL for a built-in */
    const struct chain *from;
    int length;
};

static enum status read_declaration(struct declaration *declaration, const struct chain *chain,
                                    struct protocol *ret, struct error *err);

static enum status read_builtin(const struct protocol_builtin *builtin, const struct chain *from,
                                struct protocol *ret, struct error *err)
{
    struct chain chain = {NULL, from, from ? from->length + 1 : 1};
    struct declaration declaration;
    char origin[PROTOCOL_NAME_MAX + 16];
    enum status status;

    snprintf(origin, sizeof(origin), "built-in %s.yaml", builtin->name);
    TRY(declaration_parse(origin, builtin->yaml, strlen(builtin->yaml), &protocol_schema,
                          &declaration, err));
    status = read_declaration(&declaration, &chain, ret, err);
    declaration_finish(&declaration);
    return status;
}

static enum status read_file(const char *path, const struct chain *from, struct protocol *ret,
                             struct error *err)
{
    struct chain chain = {NULL, from, from ? from->length + 1 : 1};
    struct declaration declaration;
    enum status status;
    char *resolved;

    TRY(declaration_load(path, &protocol_schema, &declaration, err));
    resolved = realpath(path, NULL);
    chain.path = resolved ? resolved : path;
    status = read_declaration(&declaration, &chain, ret, err);
    free(resolved);
    declaration_finish(&declaration);
    return status;
}

static enum status fail_cycle(const struct declaration *declaration, const struct chain *chain,
                              const char *resolved, struct error *err)
{
    struct text way;

    text_init(&way);
    for (const struct chain *at = chain; at; at = at->from) {
        text_append_format(&way, "%s extends ", at->path ? at->path : "a built-in");
        if (at->path && !strcmp(at->path, resolved))
            break;
    }
    declaration_error(declaration, "extends", err,
                      "protocols extend one another in a circle (backwards: %s...); take one "
                      "\"extends\" out",
                      way.data);
    text_finish(&way);
    return STATUS_INVALID;
}

static enum status read_base_file(const struct declaration *declaration, const char *base,
                                  const struct chain *chain, struct protocol *ret,
                                  struct error *err)
{
    char *path = file_beside(declaration->origin, base), *resolved;
    enum status status = STATUS_OK;

    if (!path)
        return error_no_memory(err);
    resolved = realpath(path, NULL);
    if (!resolved) {
        status = declaration_error(declaration, "extends", err,
                                   "\"extends\" names %s, but there is no such file; check the "
                                   "path, or write the name of a built-in protocol",
                                   path);
        goto out;
    }
    for (const struct chain *at = chain; at; at = at->from) {
        if (at->path && !strcmp(at->path, resolved)) {
            status = fail_cycle(declaration, chain, resolved, err);
            goto out;
        }
    }
    status = read_file(path, chain, ret, err);
out:
    free(resolved);
    free(path);
    return status;
}

static enum status read_base(const struct declaration *declaration, const struct chain *chain,
                             struct protocol *ret, struct error *err)
{
    const char *base = ((const struct protocol_raw *)declaration->data)->extends;
    const struct protocol_builtin *builtin = find_builtin(base);
    struct text list;

    if (chain->length >= CHAIN_MAX)
        return declaration_error(declaration, "extends", err,
                                 "more than %d protocols extend one another; write the clauses "
                                 "out in one of them",
                                 CHAIN_MAX);
    if (declaration_is_path(base))
        return read_base_file(declaration, base, chain, ret, err);
    if (builtin)
        return read_builtin(builtin, chain, ret, err);
    text_init(&list);
    append_suggestion(&list, base);
    declaration_error(declaration, "extends", err,
                      "\"extends\" is \"%s\", which is no built-in protocol%s, or write a path "
                      "that ends in .yaml",
                      base, list.data);
    text_finish(&list);
    return STATUS_INVALID;
}

static enum status read_declaration(struct declaration *declaration, const struct chain *chain,
                                    struct protocol *ret, struct error *err)
{
    bool derived = declaration_has(declaration, "extends");
    struct protocol protocol;
    enum status status = STATUS_OK;

    if (derived)
        status = read_base(declaration, chain, &protocol, err);
    else
        protocol_start(&protocol);
    TRY(status);
    status = protocol_overlay(&protocol, declaration, !derived, err);
    if (status == STATUS_OK)
        status = protocol_check(&protocol, declaration, declaration->origin, err);
    if (status == STATUS_OK)
        status = protocol_seal(&protocol, err);
    if (status != STATUS_OK) {
        protocol_finish(&protocol);
        return status;
    }
    *ret = protocol;
    return STATUS_OK;
}

/* A user's protocol under a built-in name would be mistaken for the built-in one. */
static enum status check_own_name(const char *path, const struct protocol *protocol,
                                  struct error *err)
{
    const struct protocol_builtin *builtin = find_builtin(protocol->name);
    struct protocol ours;
    bool same;

    if (!builtin)
        return STATUS_OK;
    TRY(read_builtin(builtin, NULL, &ours, err));
    same = digest_equal(&ours.digest, &protocol->digest);
    protocol_finish(&ours);
    if (same)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "%s: \"name\" is \"%s\", which is a built-in protocol "
                     "with other clauses; write a name of your own",
                     path, protocol->name);
}

enum status protocol_load(const char *path, struct protocol *ret, struct error *err)
{
    struct protocol protocol;
    enum status status;

    TRY(read_file(path, NULL, &protocol, err));
    status = check_own_name(path, &protocol, err);
    if (status != STATUS_OK) {
        protocol_finish(&protocol);
        return status;
    }
    *ret = protocol;
    return STATUS_OK;
}

enum status protocol_find(const char *name_or_path, struct protocol *ret, struct error *err)
{
    const struct protocol_builtin *builtin = find_builtin(name_or_path);
    struct text list;

    if (builtin)
        return read_builtin(builtin, NULL, ret, err);
    if (declaration_is_path(name_or_path))
        return protocol_load(name_or_path, ret, err);
    text_init(&list);
    append_suggestion(&list, name_or_path);
    error_set(err, STATUS_NOT_FOUND,
              "there is no protocol \"%s\"%s, or write the path of a file "
              "of your own that ends in .yaml",
              name_or_path, list.data);
    text_finish(&list);
    return STATUS_NOT_FOUND;
}

const char *protocol_purpose(const struct protocol *protocol)
{
    return protocol->evidence                  ? "evidence"
           : protocol->window_ns < 10000000000 ? "first look"
                                               : "no evidence";
}

void protocol_finish(struct protocol *protocol)
{
    if (!protocol)
        return;
    type_finish(&protocol_type, protocol);
    json_decref(protocol->json);
    *protocol = (struct protocol){.json = NULL};
}
