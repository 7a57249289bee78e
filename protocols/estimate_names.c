/* What the centres and verdicts of estimates are called. */
#include "protocols/estimate.h"

#include <string.h>

static const struct {
    const char *name, *label;
    bool steady;
    const char *help;
} verdicts[ESTIMATE_VERDICT_COUNT] = {
#define VERDICT_ROW(constant, ...) {__VA_ARGS__},
    ESTIMATE_VERDICT_MAP(VERDICT_ROW)
#undef VERDICT_ROW
};

const char *const estimate_centre_names[ESTIMATE_CENTRE_COUNT] = {"mean", "median"};

const char *estimate_centre_name(enum estimate_centre centre)
{
    return estimate_centre_names[centre == ESTIMATE_MEDIAN];
}

const char *estimate_verdict_name(enum estimate_verdict verdict)
{
    return verdict < ESTIMATE_VERDICT_COUNT ? verdicts[verdict].name : "unknown";
}

const char *estimate_verdict_label(enum estimate_verdict verdict)
{
    return verdict < ESTIMATE_VERDICT_COUNT ? verdicts[verdict].label : "unknown verdict";
}

const char *estimate_verdict_help(enum estimate_verdict verdict)
{
    return verdict < ESTIMATE_VERDICT_COUNT ? verdicts[verdict].help : "";
}

enum estimate_verdict estimate_verdict_find(const char *name)
{
    size_t i = 0;

    while (i < ESTIMATE_VERDICT_COUNT && !(name && strcmp(verdicts[i].name, name) == 0))
        i++;
    return (enum estimate_verdict)i;
}

bool estimate_verdict_is_steady(enum estimate_verdict verdict)
{
    return verdict < ESTIMATE_VERDICT_COUNT && verdicts[verdict].steady;
}
