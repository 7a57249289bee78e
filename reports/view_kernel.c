/* What an artifact, a kernel text compiled for a device, records. */
#include "reports/view.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"

static void append_count(struct text *ret, const json_t *resources, const char *key,
                         const char *what)
{
    const json_t *value = json_object_get(resources, key);

    if (json_is_integer(value))
        text_append_format(ret, "%s%lld %s", ret->length ? ", " : "",
                           (long long)json_integer_value(value), what);
    else
        text_append_format(ret, "%s%s unknown", ret->length ? ", " : "", what);
}

void view_kernel_words(const json_t *resources, struct text *ret)
{
    CLEANUP(text_finish) struct text words = TEXT_INIT;

    append_count(&words, resources, "registers", "registers");
    append_count(&words, resources, "spill_bytes", "bytes spilled");
    append_count(&words, resources, "shared_bytes", "bytes shared");
    text_append(ret, text_ok(&words) ? words.data : "out of memory");
}

void view_artifact_words(const json_t *artifact, struct text *ret)
{
    const char *compiler = member_string(artifact, "compiler");
    const char *binary = member_string(artifact, "binary");
    const long long lanes = member_integer(artifact, "lanes");

    text_append(ret, compiler ? compiler : "compiler unknown");
    if (lanes > 0)
        text_append_format(ret, ", %lld lane%s", lanes, lanes == 1 ? "" : "s");
    if (binary)
        text_append_format(ret, ", binary sha256 %.12s", binary);
    if (json_object_size(json_object_get(artifact, "resources")) == 0)
        text_append(ret, "; registers and spills unknown");
}
