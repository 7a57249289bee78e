/* A cell's GEMMs and attention, from its facts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reports/serving_table.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/serving/declared.h"
#include "reports/view_json.h"

bool view_gemm(const struct view_cell *cell, struct view_gemm *ret)
{
    for (size_t i = 0; i < cell->trial_count; ++i) {
        const json_t *gemm = json_object_get(cell->trials[i].facts, "gemm");

        if (!json_is_object(gemm))
            continue;
        *ret = (struct view_gemm){
            .support = member_string(gemm, "support"),
            .method = member_string(gemm, "method"),
            .library = member_string(gemm, "library"),
            .version = member_string(gemm, "version"),
            .algorithm = member_string(gemm, "algorithm"),
            .workspace_bytes = view_json_count(gemm, "workspace_bytes"),
        };
        return true;
    }
    return false;
}

bool view_is_emulated(const struct view_cell *cell)
{
    struct view_gemm gemm;

    return view_gemm(cell, &gemm) && gemm.support && strcmp(gemm.support, "emulated") == 0;
}

bool view_is_vendor(const struct view_cell *cell)
{
    return cell->implementation && strcmp(cell->implementation, "vendor") == 0;
}

/* The variables of an arm, "ASSAY_NULL=launch_ns=300000"; its other settings have columns. */
static void append_settings(struct text *out, const json_t *settings)
{
    const json_t *variables = json_object_get(settings, "environment");
    const char *root = member_string(settings, "root");

    if (root)
        text_append_format(out, " root=%s", root);
    EACH(variable, variables) {
        const char *words = json_is_string(variable) ? json_string_value(variable) : "?";

        if (!strncmp(words, "ASSAY_CC=", 9)) /* as `assay ab` takes it */
            text_append_format(out, " cc=%s", words + 9);
        else
            text_append_format(out, " %s", words);
    }
}

void view_append_settings(const struct view_cell *cell, struct text *out)
{
    if (cell->arm && cell->arm[0] && cell->arm[1])
        text_append_format(out, " %s", cell->arm);
    else
        append_settings(out, json_object_get(cell->root, "arm_settings"));
}

void view_append_worker(const struct view_cell *cell, const char *lead, struct text *out)
{
    const json_t *worker = json_object_get(cell->root, "worker");
    const char *name = member_string(worker, "name");
    const char *version = member_string(worker, "version");
    const char *mode = member_string(worker, "mode");

    if (name && version)
        text_append_format(out, "%s%s %s%s%s", lead, name, version, mode ? " " : "",
                           mode ? mode : "");
}

bool serving_is_cell(const struct view_cell *cell, char ret_rate[SERVING_RATE_SIZE])
{
    static const char server[] = "server@";
    double rate;

    if (!cell->scenario || strncmp(cell->scenario, server, strlen(server)) != 0)
        return false;
    if (ret_rate)
        snprintf(ret_rate, SERVING_RATE_SIZE, "%.36s%s", cell->scenario + strlen(server),
                 serving_rate_of(cell->scenario, &rate) && isfinite(rate) && rate > 0 ? "/s" : "");
    return true;
}

void view_set_variant(struct view_cell *cell)
{
    char rate[SERVING_RATE_SIZE] = "";
    /* Arms of a matrix have names, which are what was set; a and b say nothing alone. */
    const bool named = cell->arm && cell->arm[0] && cell->arm[1];
    CLEANUP(text_finish) struct text settings = TEXT_INIT, worker = TEXT_INIT;

    if (!named)
        append_settings(&settings, json_object_get(cell->root, "arm_settings"));
    view_append_worker(cell, ", ", &worker);
    snprintf(cell->variant, sizeof(cell->variant), "%s%.16s%.48s%s%s%.40s%s%.24s%s%s",
             serving_is_cell(cell, rate) ? ", " : "", rate,
             worker.length          ? worker.data
             : view_is_vendor(cell) ? ", vendor"
                                    : "",
             view_is_emulated(cell) ? ", emulated" : "", cell->arm ? ", arm " : "",
             cell->arm ? cell->arm : "", cell->arm && settings.length ? " (" : "",
             cell->arm && settings.length ? settings.data + 1 : "",
             cell->arm && settings.length > 25 ? "\u2026" : "",
             cell->arm && settings.length ? ")" : "");
}

bool view_is_unsupported(const struct view_cell *cell)
{
    for (size_t i = 0; i < cell->trial_count; ++i)
        if (!cell->trials[i].status || strcmp(cell->trials[i].status, "unsupported") != 0)
            return false;
    return cell->trial_count > 0;
}

void view_gemm_words(const struct view_gemm *gemm, struct text *ret)
{
    text_append(ret, gemm->support ? gemm->support : "support unknown");
    if (gemm->method)
        text_append_format(ret, " (%s)", gemm->method);
    /* Our own kernels have no version but assay's, which every result shows. */
    if (gemm->library && strcmp(gemm->library, "assay") != 0)
        text_append_format(ret, "; %s %s", gemm->library,
                           gemm->version ? gemm->version : "of unknown version");
    if (gemm->algorithm)
        text_append_format(ret, ", algorithm %s", gemm->algorithm);
    if (gemm->workspace_bytes.known && gemm->workspace_bytes.value > 0)
        text_append_format(ret, ", workspace %lld bytes", (long long)gemm->workspace_bytes.value);
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
    const char *algorithm = member_string(attention, "algorithm");
    const char *rest;

    if (!attention)
        return false;
    if (member_is_true(attention, "fused")) {
        const char *library = member_string(attention, "library");
        const char *version = member_string(attention, "version");

        text_append_format(ret, "one operation of %s %s, ", library ? library : "a library",
                           version ? version : "of unknown version");
        rest = member_string(attention, "method");
    } else {
        rest = member_string(attention, "reason");
    }
    text_append(ret, algorithm ? algorithm : "algorithm unknown");
    if (rest)
        text_append_format(ret, " (%s)", rest);
    return true;
}
