#include "backends/gpu/gpu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "backends/compile.h"
#include "harness/core/embed.h"

extern const struct embed_file gpu_prelude[];

struct digest gpu_prelude_digest(void)
{
    return digest_bytes(gpu_prelude[0].text, gpu_prelude[0].length);
}

char *gpu_program(const struct module_source *source)
{
    struct text text;

    text_init(&text);
    compile_append_defines(&text, source);
    text_append(&text, "#line 1 \"" GPU_PRELUDE_FILE "\"\n");
    text_append_bytes(&text, gpu_prelude[0].text, gpu_prelude[0].length);
    text_append_format(&text, "#line 1 \"%s\"\n", source->file);
    text_append(&text, source->text);
    text_append(&text, "\n");
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

static void append_line(struct text *text, const char *line, size_t length, const void *unused)
{
    size_t i;

    (void)unused;
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
    return compile_log_rewrite(log, append_line, NULL);
}

enum status gpu_refuse(const char *file, const char *function, const char *code, const char *log,
                       struct error *err)
{
    char *printable = gpu_log_rewrite(log);
    const char *begin =
        printable != NULL ? compile_log_head(printable, "error") : "(out of memory)";
    const enum status status =
        error_set(err, STATUS_COMPILE, "%s does not compile (%s: %s):\n%s", file, function, code,
                  begin[0] != '\0' ? begin : "(the compiler gives no message)");

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
