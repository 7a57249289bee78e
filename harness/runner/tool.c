#include "harness/runner/tool.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/version.h"

static bool has_commands;

void tool_has_commands(void)
{
    has_commands = true;
}

const char *tool_version(void)
{
    return ASSAY_VERSION_TEXT;
}

enum status tool_path(char **ret, struct error *err)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *copy;

    if (length < 0)
        return error_set_errno(err, errno, "/proc/self/exe (is /proc mounted?)");
    path[length] = '\0';
    if (!has_commands)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s: to measure, assay starts its own executable again, and this is "
                         "another program; let it start `assay run`",
                         path);
    copy = strdup(path);
    if (!copy)
        return error_no_memory(err);
    *ret = copy;
    return STATUS_OK;
}

enum status tool_digest(struct digest *ret, struct error *err)
{
    return digest_file("/proc/self/exe", ret, NULL, err);
}

json_t *tool_json(void)
{
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];
    int dirty = ASSAY_DIRTY;

    if (tool_digest(&digest, NULL) != STATUS_OK)
        hex[0] = '\0';
    else
        digest_hex(&digest, hex);
    return json_pack("{s:s, s:o, s:o, s:s, s:s, s:s, s:o}", "version", ASSAY_VERSION, "commit",
                     ASSAY_COMMIT[0] ? json_string(ASSAY_COMMIT) : json_null(), "modified",
                     dirty < 0 ? json_null() : json_boolean(dirty), "compiler",
                     ASSAY_COMPILER_ID " " ASSAY_COMPILER_VERSION, "flags", ASSAY_BUILD_FLAGS,
                     "build_type", ASSAY_BUILD_TYPE, "digest",
                     hex[0] ? json_string(hex) : json_null());
}
