#include "harness/core/dynlib.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

static atomic_bool any_simulated;

static void (*step_watcher)(const char *step);

void dynlib_watch(void (*watcher)(const char *step))
{
    step_watcher = watcher;
}

static void tell_step(const char *verb, const char *path)
{
    AUTO_FREE char *step = step_watcher ? text_format("%s %s", verb, path) : NULL;

    if (step)
        step_watcher(step);
}

static bool is_name(const char *name)
{
    return name && *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

const char *dynlib_override_path(const char *name)
{
    const char *path;
    char variable[80] = "ASSAY_LIB_";
    size_t at = strlen(variable);

    if (!is_name(name))
        return NULL;
    for (; *name && at + 1 < sizeof(variable); ++name)
        variable[at++] = *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A') : *name;
    if (*name)
        return NULL;
    path = getenv(variable);
    return path && *path ? path : NULL;
}

static const char *machine_name(unsigned machine)
{
    switch (machine) {
    case EM_386:
        return "x86";
    case EM_X86_64:
        return "x86-64";
    case EM_ARM:
        return "Arm, 32 bits";
    case EM_AARCH64:
        return "AArch64";
    case EM_PPC64:
        return "POWER";
    case EM_RISCV:
        return "RISC-V";
    default:
        return "another processor";
    }
}

static bool read_head(const char *path, ElfW(Ehdr) * ret)
{
    FILE *file = fopen(path, "rbe");
    const bool whole = file && fread(ret, sizeof(*ret), 1, file) == 1;

    if (file)
        fclose(file);
    return whole;
}

/* What the loader calls "not found" or "too short" though the file is there; heap, else NULL. */
static char *explain_file(const char *path)
{
    ElfW(Ehdr) own, head = {{0}};

    if (!strchr(path, '/') || !read_head("/proc/self/exe", &own))
        return NULL;
    if (!read_head(path, &head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
        struct stat info;

        return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, R_OK) == 0
                   ? strdup("is not a shared library (not an ELF file)")
                   : NULL;
    }
    if (head.e_machine == own.e_machine)
        return NULL;
    return text_format("is built for %s (ELF machine %u), this program for %s",
                       machine_name(head.e_machine), head.e_machine, machine_name(own.e_machine));
}

/* Notes briefly why a candidate was rejected. */
static void note_failure(struct text *tried, const char *candidate, const char *reason)
{
    size_t length = strlen(candidate);

    if (tried->length > 0)
        text_append(tried, "; ");
    text_append(tried, candidate);
    text_append(tried, ": ");
    if (!strncmp(reason, candidate, length) && !strncmp(reason + length, ": ", 2)) {
        reason += length + 2;
        if (!strcmp(reason, "cannot open shared object file: No such file or directory"))
            reason = "not found";
    }
    text_append(tried, reason);
}

/* Looks up every symbol; false, with a note, when a required one is missing. */
static bool find_symbols(const struct dynlib_spec *spec, void *handle, const char *path,
                         void **addresses, struct text *tried)
{
    for (size_t i = 0; i < spec->symbol_count; ++i) {
        const struct dynlib_symbol *symbol = &spec->symbols[i];

        addresses[i] = dlsym(handle, symbol->name);
        if (!addresses[i] && symbol->required) {
            CLEANUP(text_finish) struct text reason = TEXT_INIT;

            text_append_format(&reason, "has no symbol %s, which is required", symbol->name);
            note_failure(tried, path, reason.data);
            return false;
        }
    }
    return true;
}

/* The file of a handle, symbolic links resolved; heap, NULL when out of memory. */
static char *mapped_path(void *handle, const char *candidate)
{
    struct link_map *map = NULL;
    const char *name = candidate;
    char *resolved;

    if (!dlinfo(handle, RTLD_DI_LINKMAP, &map) && map && map->l_name && *map->l_name)
        name = map->l_name;
    resolved = realpath(name, NULL);
    return resolved ? resolved : strdup(name);
}

/* Opens one candidate. OK, UNAVAILABLE with a note in `tried`, or NO_MEMORY. */
static enum status try_candidate(const struct dynlib_spec *spec, const char *candidate,
                                 void **addresses, struct text *tried, struct dynlib *lib)
{
    const char *reason;
    void *handle;
    char *path;

    tell_step("while opening", candidate);
    handle = dlopen(candidate, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        AUTO_FREE char *explained = explain_file(candidate);

        reason = dlerror();
        note_failure(tried, candidate, explained ? explained : reason ? reason : "unknown reason");
        return STATUS_UNAVAILABLE;
    }
    path = mapped_path(handle, candidate);
    if (!path)
        return STATUS_NO_MEMORY;
    tell_step("having opened", path);
    if (!find_symbols(spec, handle, path, addresses, tried)) {
        free(path);
        return STATUS_UNAVAILABLE;
    }
    if (dlsym(handle, "assay_simulated") != NULL)
        atomic_store(&any_simulated, true);
    lib->handle = handle;
    lib->path = path;
    return STATUS_OK;
}

bool dynlib_any_simulated(void)
{
    return atomic_load(&any_simulated);
}

enum status dynlib_open(const struct dynlib_spec *spec, struct dynlib *lib, void *ret_table,
                        struct error *err)
{
    const char *only = dynlib_override_path(spec->name);
    const char *const chosen[] = {only, NULL};
    const char *const *candidates = only ? chosen : spec->sonames;
    AUTO_FREE void **addresses = calloc(spec->symbol_count + 1, sizeof(*addresses));
    enum status status = STATUS_UNAVAILABLE;
    struct text tried = TEXT_INIT;

    *lib = (struct dynlib){0};
    memset(ret_table, 0, spec->api_size);
    if (!addresses)
        return error_no_memory(err);
    for (; *candidates && status == STATUS_UNAVAILABLE; ++candidates)
        status = try_candidate(spec, *candidates, addresses, &tried, lib);
    if (status == STATUS_OK) {
        for (size_t i = 0; i < spec->symbol_count; ++i)
            memcpy((char *)ret_table + spec->symbols[i].offset, &addresses[i], sizeof(void *));
        if (tried.length > 0)
            text_append(&tried, "; ");
        text_append_format(&tried, "%s: opened", lib->path);
    }
    lib->tried = text_steal(&tried);
    if (!lib->tried)
        status = STATUS_NO_MEMORY;
    if (status == STATUS_NO_MEMORY) {
        dynlib_finish(lib);
        return error_no_memory(err);
    }
    if (status != STATUS_OK)
        return error_set(err, status, "%s", lib->tried);
    return STATUS_OK;
}

void dynlib_finish(struct dynlib *lib)
{
    if (!lib)
        return;
    free(lib->path);
    free(lib->tried);
    *lib = (struct dynlib){0};
}
