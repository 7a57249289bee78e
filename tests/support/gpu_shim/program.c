#include "tests/support/gpu_shim/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shim_program *shim_program_create(const char *text)
{
    struct shim_program *program = calloc(1, sizeof(*program));

    if (program == NULL || (program->text = strdup(text)) == NULL) {
        free(program);
        return NULL;
    }
    shim_live_add(1);
    return program;
}

void shim_program_destroy(struct shim_program *program)
{
    free(program->text);
    free(program->image);
    free(program->log);
    free(program);
    shim_live_add(-1);
}

void shim_compiler_misbehave(void)
{
    if (getenv("ASSAY_SHIM_COMPILER_ABORTS") != NULL)
        abort(); /* as HIPRTC 5.2 does on an arch that it does not know */
    if (getenv("ASSAY_SHIM_COMPILER_HANGS") != NULL)
        for (;;)
            pause();
}

enum core_result shim_program_compile(struct shim_program *program, const char *mark)
{
    char *text = core_program_text(program->text);
    struct core_module *module = NULL;
    enum core_result result;
    size_t size;

    if (text == NULL || core_open() != CORE_OK) {
        free(text);
        return CORE_INVALID;
    }
    free(program->log);
    program->log = NULL;
    result = core_module_create(text, &module, &program->log);
    if (result == CORE_OK) {
        core_module_destroy(module);
        free(program->log);
        program->log = strdup("compiled by the stand-in\n");
        size = strlen(mark) + strlen(text) + 1;
        program->image = malloc(size);
        if (program->image != NULL)
            snprintf(program->image, size, "%s%s", mark, text);
    }
    free(text);
    if (result == CORE_NOT_COMPILED)
        return CORE_NOT_COMPILED;
    return program->image != NULL ? CORE_OK : CORE_NO_MEMORY;
}

const char *shim_program_log(const struct shim_program *program, size_t *ret_size)
{
    const char *log = program->log != NULL ? program->log : "";

    *ret_size = strlen(log) + 1;
    return log;
}
