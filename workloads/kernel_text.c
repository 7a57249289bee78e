#include "workloads/kernel_text.h"

#include <string.h>

#include "harness/core/embed.h"
#include "harness/core/text.h"

extern const struct embed_file kernel_texts[];
extern const size_t kernel_texts_count;

static const struct embed_file *find_text(const char *file)
{
    for (size_t i = 0; i < kernel_texts_count; ++i)
        if (strcmp(kernel_texts[i].name, file) == 0)
            return &kernel_texts[i];
    return NULL;
}

enum status kernel_text_join(const char *const *files, size_t count, char **ret, struct error *err)
{
    struct text joined;
    char *stolen;

    text_init(&joined);
    for (size_t i = 0; i < count; ++i) {
        const struct embed_file *found = find_text(files[i]);

        if (found == NULL) {
            text_finish(&joined);
            return error_set(err, STATUS_INTERNAL, "there is no kernel text %s", files[i]);
        }
        text_append_format(&joined, "#line 1 \"workloads/kernels/%s\"\n", files[i]);
        text_append_bytes(&joined, found->text, found->length);
    }
    stolen = text_steal(&joined);
    if (stolen == NULL)
        return error_no_memory(err);
    *ret = stolen;
    return STATUS_OK;
}
