/*
 * declaration_node - the keys and values of a YAML text with their lines. Private to the
 * declaration_*.c files.
 */
#ifndef ASSAY_CORE_DECLARATION_NODE_H
#define ASSAY_CORE_DECLARATION_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/declaration.h"
#include "harness/core/status.h"
#include "harness/core/text.h"

#define DECLARATION_NODES_MAX 65536

enum declaration_kind { DECLARATION_SCALAR, DECLARATION_MAPPING, DECLARATION_SEQUENCE };

struct declaration_node {
    enum declaration_kind kind;
    int line;     /* of the key in a mapping, of the value elsewhere; from 1 */
    char *key;    /* heap; NULL unless this is a mapping's member */
    char *text;   /* heap; a scalar's content */
    bool plain;   /* a scalar without quotes */
    size_t count; /* of children */
    struct declaration_node *first, *last, *next;
};

/* Reads the text into a tree; INVALID with "ORIGIN:LINE: ..." for anything beyond plain YAML. */
enum status declaration_node_parse(const char *origin, const char *yaml, size_t length,
                                   struct declaration_node **ret, struct error *err);
void declaration_node_destroy(struct declaration_node *node);

/* The child of a mapping with this key (not NUL-terminated), or NULL. */
struct declaration_node *declaration_node_member(const struct declaration_node *node,
                                                 const char *key, size_t length);

/* Compares the tree with the schema and fills declaration->data, which is zero. */
enum status declaration_check(const struct declaration *declaration, struct error *err);

/* Where a number of `size` bytes begins in one of more, as memory has it. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DECLARATION_LOW(number, size) ((char *)(number))
#else
#define DECLARATION_LOW(number, size) ((char *)(number) + sizeof(*(number)) - (size))
#endif

/* True when the scalar means "nothing": empty, ~ or null without quotes. */
bool declaration_node_is_null(const struct declaration_node *node);

/* Texts for messages: what is written, what should be written instead, the names of a choice. */
void declaration_append_found(struct text *text, const struct declaration_node *node);
void declaration_append_expected(struct text *text, const struct declaration_schema *schema);
void declaration_append_enumeration(struct text *text, const struct declaration_schema *schema);

/* Appends untrusted text in quotes, escaped for terminals and cut to a length fit for messages. */
void declaration_append_quoted(struct text *text, const char *string);

#endif
