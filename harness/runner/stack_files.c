#include "harness/runner/stack_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/machine_root.h"
#include "harness/core/member.h"
#include "harness/core/text.h"

#define REPORTED_MAX 1024
#define MODULES_DEP_MAX ((size_t)64 << 20)
#define NOTE_MAX 256

static const char *const kinds[] = {"compiler", "icd",   "driver", "firmware",
                                    "server",   "model", "input"};

static char *copy_of(const char *text)
{
    return text && text[0] ? strdup(text) : NULL;
}

static enum status add(struct stack_files *files, const char *kind, const char *path,
                       const char *version, const char *build_id, struct error *err)
{
    struct stack_file file = {.kind = kind, .path = strdup(path)};

    file.version = copy_of(version);
    file.build_id = copy_of(build_id);
    if (!ARRAY_ROOM(files->items, files->count, 1) || !file.path ||
        (version && version[0] && !file.version) || (build_id && build_id[0] && !file.build_id)) {
        free(file.path);
        free(file.version);
        free(file.build_id);
        return error_no_memory(err);
    }
    files->items[files->count++] = file;
    return STATUS_OK;
}

/* ---- reported by the worker ---- */

static const char *known_kind(const char *kind)
{
    for (size_t i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!strcmp(kinds[i], kind))
            return kinds[i];
    return NULL;
}

enum status stack_files_add_told(struct stack_files *files, const json_t *reported,
                                 const char *root, struct error *err)
{
    enum status status = STATUS_OK;

    if (!reported)
        return STATUS_OK;
    if (!json_is_array(reported) || json_array_size(reported) > REPORTED_MAX)
        return error_set(err, STATUS_PROTOCOL,
                         "worker message \"device\": files must be an array of at most %d",
                         REPORTED_MAX);
    EACH(entry, reported) {
        const char *kind = known_kind(member_string(entry, "kind"));
        const char *path = member_string(entry, "path");
        char *full;

        if (!kind || !path || path[0] != '/' || strlen(path) >= PATH_MAX)
            return error_set(err, STATUS_PROTOCOL,
                             "worker message \"device\": files[%zu] must have a kind (compiler, "
                             "icd, driver, firmware, server) and an absolute path",
                             entry_at);
        full = text_format("%s%s", root ? root : "", path);
        status = full ? add(files, kind, full, member_string(entry, "version"), NULL, err)
                      : error_no_memory(err);
        free(full);
        TRY(status);
    }
    return STATUS_OK;
}

/* ---- found on the host ---- */

/* "nvidia-uvm" and "nvidia_uvm" are one module. */
static bool is_module(const char *file, size_t length, const char *module)
{
    if (strlen(module) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (file[i] != module[i] && !(file[i] == '-' && module[i] == '_'))
            return false;
    return true;
}

/* Path of "module.ko", "module.ko.xz" ... by the lines "PATH: what it needs"; NULL: none. */
static char *find_module(const char *dependencies, const char *folder, const char *module)
{
    for (const char *line = dependencies; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *colon = line + strcspn(line, ":\n");
        const char *base = colon;
        const char *end;

        while (base > line && base[-1] != '/')
            base--;
        end = memmem(base, (size_t)(colon - base), ".ko", 3);
        if (*colon != ':' || !end || !is_module(base, (size_t)(end - base), module))
            continue;
        return line[0] == '/' ? strndup(line, (size_t)(colon - line))
                              : text_format("%s/%.*s", folder, (int)(colon - line), line);
    }
    return NULL;
}

/* Hex of the GNU build-id that the kernel keeps of a loaded module: an ELF note. "": none. */
static void read_build_id(const char *module, char ret[ELF_BUILD_ID_SIZE])
{
    unsigned char note[NOTE_MAX];
    char path[PATH_MAX], full[PATH_MAX];
    uint32_t head[3];
    FILE *file = NULL;
    size_t got = 0;

    ret[0] = '\0';
    snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", module);
    if (machine_path(full, path) && file_open_stream(full, &file, NULL) == STATUS_OK) {
        got = fread(note, 1, sizeof(note), file);
        fclose(file);
    }
    if (got < sizeof(head) + 4)
        return;
    memcpy(head, note, sizeof(head)); /* name size, description size, type */
    if (head[0] != 4 || head[2] != 3 || memcmp(note + sizeof(head), "GNU", 4) != 0 ||
        head[1] > got - sizeof(head) - 4 || head[1] * 2 >= ELF_BUILD_ID_SIZE)
        return;
    for (uint32_t i = 0; i < head[1]; i++)
        snprintf(ret + 2 * i, 3, "%02x", note[sizeof(head) + 4 + i]);
}

static char *module_line(const char *module, const char *name)
{
    char path[PATH_MAX], *line = NULL;

    snprintf(path, sizeof(path), "/sys/module/%s/%s", module, name);
    if (machine_read_line(path, &line, NULL) != STATUS_OK)
        return NULL;
    return line;
}

/* The firmware of the GPU's own processor, which belongs to the driver's version. */
static enum status add_nvidia_firmware(struct stack_files *files, const char *version,
                                       struct error *err)
{
    char folder[PATH_MAX], path[PATH_MAX + 256], full[PATH_MAX];
    char **names;
    enum status status = STATUS_OK;

    snprintf(folder, sizeof(folder), "/lib/firmware/nvidia/%.64s", version);
    names = machine_list(folder, "gsp_");
    for (size_t i = 0; names && names[i] && status == STATUS_OK; i++) {
        snprintf(path, sizeof(path), "%s/%.200s", folder, names[i]);
        if (machine_path(full, path))
            status = add(files, "firmware", full, version, NULL, err);
    }
    machine_list_free(names);
    return status;
}

static enum status add_module(struct stack_files *files, const char *module,
                              const char *dependencies, const char *folder, struct error *err)
{
    AUTO_FREE char *version = module_line(module, "version"),
                   *source = module_line(module, "srcversion");
    AUTO_FREE char *file = find_module(dependencies, folder, module);
    AUTO_FREE char *words =
        version || source
            ? text_format("%s%s%s%s", version ? version : "", version && source ? ", " : "",
                          source ? "srcversion " : "", source ? source : "")
            : NULL;
    char build_id[ELF_BUILD_ID_SIZE], full[PATH_MAX], stand_in[PATH_MAX];

    read_build_id(module, build_id);
    snprintf(stand_in, sizeof(stand_in), "/sys/module/%s", module);
    if (!machine_path(full, file ? file : stand_in))
        full[0] = '\0';
    TRY(add(files, "driver", full, words, build_id, err));
    if (version && !strcmp(module, "nvidia"))
        TRY(add_nvidia_firmware(files, version, err));
    return STATUS_OK;
}

enum status stack_files_add_host(struct stack_files *files, struct error *err)
{
    static const char *const modules[] = {"nvidia", "nvidia_uvm", "amdgpu",    "amdkfd",
                                          "i915",   "xe",         "habanalabs"};
    struct utsname system;
    char folder[PATH_MAX] = "", path[PATH_MAX + 32], full[PATH_MAX];
    AUTO_FREE char *dependencies = NULL;
    char *release = NULL;
    struct stat info;

    if (machine_read_line("/proc/sys/kernel/osrelease", &release, NULL) == STATUS_OK)
        snprintf(folder, sizeof(folder), "/lib/modules/%.128s", release);
    else if (uname(&system) == 0)
        snprintf(folder, sizeof(folder), "/lib/modules/%s", system.release);
    free(release);
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        snprintf(path, sizeof(path), "/sys/module/%s", modules[i]);
        if (!machine_path(full, path) || stat(full, &info) < 0)
            continue;
        if (!dependencies) {
            snprintf(path, sizeof(path), "%s/modules.dep", folder);
            if (machine_read(path, MODULES_DEP_MAX, &dependencies, NULL) != STATUS_OK)
                dependencies = strdup("");
        }
        TRY(add_module(files, modules[i], dependencies, folder, err));
    }
    return STATUS_OK;
}

void stack_files_finish(struct stack_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].version);
        free(files->items[i].build_id);
    }
    free(files->items);
    memset(files, 0, sizeof(*files));
}
