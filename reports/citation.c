#include "reports/citation.h"

#include <string.h>

static void append_part(struct text *out, const char *string)
{
    const char *known = string ? string : "not recorded";

    text_append_printable(out, known, strlen(known));
}

static void append_declaration(struct text *out, const char *what, const char *name,
                               const struct view_count *version, const char *digest)
{
    text_append_format(out, "; %s ", what);
    append_part(out, name);
    if (version->known)
        text_append_format(out, " v%lld", (long long)version->value);
    text_append(out, " sha256:");
    append_part(out, digest);
}

void citation_append(struct text *out, const struct view_campaign *campaign,
                     const struct view_cell *cell)
{
    text_append(out, "assay result ");
    append_part(out, cell->result);
    text_append(out, "; campaign ");
    append_part(out, campaign->uid);
    append_declaration(out, "protocol", cell->protocol, &cell->protocol_version,
                       cell->protocol_digest);
    append_declaration(out, "workload", cell->workload, &cell->workload_version,
                       cell->workload_digest);
    if (cell->imported.present) {
        text_append(out, "; measured by ");
        append_part(out, cell->imported.program);
        text_append(out, ", file sha256:");
        append_part(out, cell->imported.sha256);
        text_append(out, "; imported by assay ");
    } else {
        text_append(out, "; assay ");
    }
    append_part(out, campaign->tool_version);
    if (campaign->tool_digest) {
        text_append(out, " sha256:");
        append_part(out, campaign->tool_digest);
    }
}
