#include "backends/compile.h"

#include <inttypes.h>
#include <string.h>

void compile_append_defines(struct text *text, const struct module_source *source)
{
    text_append_format(text, "#define LANES %" PRIu32 "\n", source->lanes);
    for (size_t i = 0; i < source->define_count; i++)
        text_append_format(text, "#define %s %s\n", source->defines[i].name,
                           source->defines[i].value);
}

char *compile_options(const char *options, const struct module_source *source)
{
    struct text text;

    text_init(&text);
    text_append_format(&text, "%s -DLANES=%" PRIu32, options, source->lanes);
    for (size_t i = 0; i < source->define_count; i++)
        text_append_format(&text, " -D%s=%s", source->defines[i].name, source->defines[i].value);
    return text_steal(&text);
}

char *compile_log_rewrite(const char *log, compile_line_fn *append, const void *context)
{
    struct text text;
    size_t length;
    char *result;

    text_init(&text);
    for (; log != NULL && *log != '\0'; log += length + (log[length] == '\n')) {
        length = strcspn(log, "\n");
        append(&text, log, length > 0 && log[length - 1] == '\r' ? length - 1 : length, context);
        text_append_char(&text, '\n');
    }
    while (text_ok(&text) && text.length > 0 && text.data[text.length - 1] == '\n')
        text.data[--text.length] = '\0';
    result = text_ok(&text) && text.length == 0 ? strdup("") : text_steal(&text);
    text_finish(&text);
    return result;
}

const char *compile_log_head(const char *log, const char *mark)
{
    const char *found = strlen(log) > ERROR_MESSAGE_MAX - 256 ? strstr(log, mark) : NULL;

    while (found != NULL && found > log && found[-1] != '\n')
        found--;
    return found != NULL ? found : log;
}
