/* What errors about declarations say of schema tables and values. */
#include "harness/core/declaration_node.h"

#include <inttypes.h>

static void append_range(struct text *text, const struct declaration_schema *schema)
{
    unsigned bits = 8 * schema->size;

    if (schema->type == DECLARATION_UINT)
        text_append_format(text, "0 to %" PRIu64,
                           bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1);
    else
        text_append_format(text, "%" PRId64 " to %" PRId64,
                           bits >= 64 ? INT64_MIN : -(int64_t)(1ull << (bits - 1)),
                           bits >= 64 ? INT64_MAX : (int64_t)((1ull << (bits - 1)) - 1));
}

void declaration_append_enumeration(struct text *text, const struct declaration_schema *schema)
{
    for (uint32_t i = 0; i < schema->max; ++i) {
        text_append(text, i ? ", " : "");
        text_append(text, schema->names[i].str);
    }
}

/* What is written there, as text for a message. */
void declaration_append_found(struct text *text, const struct declaration_node *node)
{
    if (node->kind == DECLARATION_MAPPING)
        text_append(text, "a group of keys");
    else if (node->kind == DECLARATION_SEQUENCE)
        text_append(text, "a list");
    else if (declaration_node_is_null(node))
        text_append(text, "empty");
    else
        declaration_append_quoted(text, node->text);
}

/* What should be written there, with an example to write instead. */
void declaration_append_expected(struct text *text, const struct declaration_schema *schema)
{
    switch (schema->type) {
    case DECLARATION_INT:
    case DECLARATION_UINT:
        if (schema->flags & DECLARATION_DURATION) {
            text_append(text, "a duration; write a number and one of ns, us, ms, s, min, h, "
                              "e.g. 250ms");
        } else if (schema->flags & DECLARATION_BYTES) {
            text_append(text, "a size; write a number and one of B, KiB, MiB, GiB, kB, MB, GB, "
                              "e.g. 64MiB");
        } else {
            text_append(text, "a whole number; write one from ");
            append_range(text, schema);
        }
        break;
    case DECLARATION_BOOL:
        text_append(text, "true or false");
        break;
    case DECLARATION_FLOAT:
        text_append(text, "a number; write e.g. 0.5");
        break;
    case DECLARATION_ENUM:
        text_append(text, "a choice; write one of ");
        declaration_append_enumeration(text, schema);
        break;
    case DECLARATION_STRING:
        text_append(text, "text; write it in quotes on one line");
        break;
    case DECLARATION_GROUP:
        text_append(text, "a group of keys; write them indented below it, one \"key: value\" a "
                          "line");
        break;
    default:
        text_append(text, "a list; write e.g. [a, b]");
    }
}
