#include "backends/gpu/gpu.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/embed.h"
#include "harness/core/text.h"

extern const struct embed_file gpu_prelude[];

struct digest gpu_prelude_digest(void)
{
    return digest_bytes(gpu_prelude[0].text, gpu_prelude[0].length);
}

char *gpu_program(const struct module_source *source)
{
    struct text text;

    text_init(&text);
    text_append_format(&text, "#define LANES %" PRIu32 "\n", source->lanes);
    for (size_t i = 0; i < source->define_count; i++)
        text_append_format(&text, "#define %s %s\n", source->defines[i].name,
                           source->defines[i].value);
    text_append(&text, "#line 1 \"" GPU_PRELUDE_FILE "\"\n");
    text_append_bytes(&text, gpu_prelude[0].text, gpu_prelude[0].length);
    text_append_format(&text, "#line 1 \"%s\"\n", source->file);
    text_append(&text, source->text);
    text_append(&text, "\n");
    return text_steal(&text);
}

char *gpu_defines(const struct module_source *source)
{
    struct text text;

    text_init(&text);
    text_append_format(&text, " -DLANES=%" PRIu32, source->lanes);
    for (size_t i = 0; i < source->define_count; i++)
        text_append_format(&text, " -D%s=%s", source->defines[i].name, source->defines[i].value);
    return text_steal(&text);
}

/* Length of "(12)" when the colon of a place follows it, else 0. */
static size_t place_length(const char *at)
{
    size_t digits;

    if (*at != '(')
        return 0;
    digits = strspn(at + 1, "0123456789");
    return digits > 0 && strncmp(at + 1 + digits, "):", 2) == 0 ? digits + 2 : 0;
}

static void append_line(struct text *text, const char *line, size_t length)
{
    size_t i;

    for (i = 0; i < length && !isspace((unsigned char)line[i]); i++) {
        const size_t place = place_length(line + i);

        if (place == 0)
            continue;
        text_append_printable(text, line, i);
        text_append_char(text, ':');
        text_append_printable(text, line + i + 1, place - 2);
        line += i + place;
        length -= i + place;
        break;
    }
    text_append_printable(text, line, length);
}

char *gpu_log_rewrite(const char *log)
{
    struct text text;
    size_t length;
    char *result;

    text_init(&text);
    for (; log != NULL && *log != '\0'; log += length + (log[length] == '\n')) {
        length = strcspn(log, "\n");
        append_line(&text, log, length > 0 && log[length - 1] == '\r' ? length - 1 : length);
        text_append_char(&text, '\n');
    }
    while (text_ok(&text) && text.length > 0 && text.data[text.length - 1] == '\n')
        text.data[--text.length] = '\0';
    result = text_ok(&text) && text.length == 0 ? strdup("") : text_steal(&text);
    text_finish(&text);
    return result;
}

/* A long log begins at its first error, which is what a person needs. */
enum status gpu_refuse(const char *file, const char *function, const char *code, const char *log,
                       struct error *err)
{
    char *printable = gpu_log_rewrite(log);
    const char *begin = printable != NULL ? printable : "(out of memory)";
    enum status status;

    if (strlen(begin) > ERROR_MESSAGE_MAX - 256) {
        const char *found = strstr(begin, "error");

        while (found != NULL && found > begin && found[-1] != '\n')
            found--;
        if (found != NULL)
            begin = found;
    }
    status = error_set(err, STATUS_COMPILE, "%s does not compile (%s: %s):\n%s", file, function,
                       code, begin[0] != '\0' ? begin : "(the compiler gives no message)");
    free(printable);
    return status;
}

void gpu_binary_finish(struct gpu_binary *binary)
{
    free(binary->bytes);
    free(binary->log);
    free(binary->options);
    free(binary->compiler);
    *binary = (struct gpu_binary){0};
}

void gpu_add_arithmetic_readings(struct reading_list *list, const char *source)
{
    reading_add_text(list, "device.fp32",
                     "denormals inf_nan round_nearest round_zero round_inf fma exact_divide_sqrt",
                     source);
    reading_add_text(list, "device.fp64",
                     "denormals inf_nan round_nearest round_zero round_inf fma", source);
}

void gpu_add_option_readings(struct reading_list *list, bool flush_denormals, const char *source)
{
    reading_add_text(list, "device.option.flush_denormals", flush_denormals ? "yes" : "no", source);
}
