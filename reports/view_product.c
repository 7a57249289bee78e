/* What a cell's facts say of its matrix products and its attention. */
#include <string.h>

#include "reports/view.h"
#include "reports/view_json.h"

bool view_product(const struct view_cell *cell, struct view_product *ret)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const json_t *product = json_object_get(cell->trials[i].facts, "product");

        if (!json_is_object(product))
            continue;
        *ret = (struct view_product){
            .support = view_json_string(product, "support"),
            .method = view_json_string(product, "method"),
            .library = view_json_string(product, "library"),
            .version = view_json_string(product, "version"),
            .algorithm = view_json_string(product, "algorithm"),
            .workspace_bytes = view_json_count(product, "workspace_bytes"),
        };
        return true;
    }
    return false;
}

bool view_is_emulated(const struct view_cell *cell)
{
    struct view_product product;

    return view_product(cell, &product) && product.support &&
           strcmp(product.support, "emulated") == 0;
}

bool view_is_vendor(const struct view_cell *cell)
{
    return cell->arm && strcmp(cell->arm, "vendor") == 0;
}

const char *view_arm_words(const struct view_cell *cell)
{
    static const char *const words[2][2] = {{"", ", emulated"}, {", vendor", ", vendor, emulated"}};

    return words[view_is_vendor(cell)][view_is_emulated(cell)];
}

bool view_is_unsupported(const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (!cell->trials[i].status || strcmp(cell->trials[i].status, "unsupported") != 0)
            return false;
    return cell->trial_count > 0;
}

void view_product_words(const struct view_product *product, struct text *ret)
{
    text_append(ret, product->support ? product->support : "support not told");
    if (product->method)
        text_append_format(ret, " (%s)", product->method);
    /* Our own text has no version but assay's own, which stands beside every result. */
    if (product->library && strcmp(product->library, "assay") != 0)
        text_append_format(ret, "; %s %s", product->library,
                           product->version ? product->version : "of unknown version");
    if (product->algorithm)
        text_append_format(ret, ", algorithm %s", product->algorithm);
    if (product->workspace_bytes.known && product->workspace_bytes.value > 0)
        text_append_format(ret, ", workspace %lld bytes",
                           (long long)product->workspace_bytes.value);
}

static const json_t *attention_of(const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const json_t *attention = json_object_get(cell->trials[i].facts, "attention");

        if (json_is_object(attention))
            return attention;
    }
    return NULL;
}

bool view_attention_words(const struct view_cell *cell, struct text *ret)
{
    const json_t *attention = attention_of(cell);
    const char *algorithm = view_json_string(attention, "algorithm");
    const char *rest;

    if (!attention)
        return false;
    if (json_is_true(json_object_get(attention, "fused"))) {
        const char *library = view_json_string(attention, "library");
        const char *version = view_json_string(attention, "version");

        text_append_format(ret, "one operation of %s %s, ", library ? library : "a library",
                           version ? version : "of unknown version");
        rest = view_json_string(attention, "method");
    } else {
        rest = view_json_string(attention, "reason");
    }
    text_append(ret, algorithm ? algorithm : "algorithm not told");
    if (rest)
        text_append_format(ret, " (%s)", rest);
    return true;
}
