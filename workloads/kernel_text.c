#include "workloads/kernel_text.h"

#include "harness/core/cleanup.h"
#include "harness/core/embed.h"
#include "harness/core/text.h"

extern const struct embed_file kernel_texts[];
extern const size_t kernel_texts_count;

enum status kernel_text_join(const char *const *files, size_t count, char **ret, struct error *err)
{
    CLEANUP(text_finish) struct text joined = {0};
    char *stolen;

    text_init(&joined);
    for (size_t i = 0; i < count; ++i) {
        const struct embed_file *found = embed_find(kernel_texts, kernel_texts_count, files[i]);

        if (found == NULL)
            return error_set(err, STATUS_INTERNAL, "there is no kernel text %s", files[i]);
        text_append_format(&joined, "#line 1 \"workloads/kernels/%s\"\n", files[i]);
        text_append_bytes(&joined, found->text, found->length);
    }
    stolen = text_steal(&joined);
    if (stolen == NULL)
        return error_no_memory(err);
    *ret = stolen;
    return STATUS_OK;
}

enum status kernel_text_load(struct device *device, const char *const *files, size_t count,
                             struct module_source source, struct module **ret, struct error *err)
{
    AUTO_FREE char *text = NULL;

    TRY(kernel_text_join(files, count, &text, err));
    source.text = text;
    return device_module_load(device, &source, ret, err);
}
