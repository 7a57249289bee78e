#include "results/evidence/timestamp_authority.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/process.h"
#include "harness/core/text.h"

#define LIMIT_NS INT64_C(30000000000)

static enum status write_token(const void *bytes, size_t length, char **ret, struct error *err)
{
    const char *base = getenv("TMPDIR");
    char *path = text_format("%s/assay-token-XXXXXX", base && *base ? base : "/tmp");
    int fd = path ? mkstemp(path) : -1;
    bool good = fd >= 0 && write(fd, bytes, length) == (ssize_t)length;
    enum status status = STATUS_OK;

    if (!path)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a path");
    if (!good)
        status = error_set_errno(err, errno ? errno : ENOSPC, "%s", path);
    if (fd >= 0)
        close(fd);
    if (good) {
        *ret = path;
        return STATUS_OK;
    }
    if (fd >= 0)
        unlink(path);
    free(path);
    return status;
}

static enum status ask_openssl(const char *token, const struct timestamp *timestamp,
                               const char *ca_file, int64_t at, struct error *err)
{
    char hex[DIGEST_HEX_SIZE], seconds[24];
    const char *argv[] = {"openssl", "ts",
                          "-verify", "-digest",
                          hex,       "-CAfile",
                          ca_file,   "-untrusted",
                          ca_file,   "-attime",
                          seconds,   "-in",
                          token,     timestamp->is_response ? NULL : "-token_in",
                          NULL};
    struct process_exit exit = {0};
    char *output = NULL;
    enum status status;

    digest_hex(&timestamp->imprint, hex);
    snprintf(seconds, sizeof(seconds), "%lld", (long long)at);
    status = process_capture((char *const *)(uintptr_t)argv, LIMIT_NS, 65536, &output, &exit, err);
    if (status == STATUS_OK &&
        (!exit.exited || exit.code != 0 || !strstr(output, "Verification: OK")))
        status = error_set(err, STATUS_INVALID,
                           "its signature is not one of an authority of %s: `openssl ts -verify "
                           "-digest %.16s... -CAfile %s` refuses it",
                           ca_file, hex, ca_file);
    free(output);
    return status;
}

enum status timestamp_verify(const void *bytes, size_t length, const struct digest *root,
                             const char *ca_file, struct timestamp *ret, bool *ret_checked,
                             struct error *err)
{
    struct timestamp timestamp;
    char *path = NULL;
    int64_t at = 0;
    enum status status = timestamp_check(bytes, length, root, err);

    if (status == STATUS_OK)
        status = timestamp_read(bytes, length, &timestamp, err);
    if (status == STATUS_OK && ca_file && !timestamp_seconds(&timestamp, &at))
        status = error_set(err, STATUS_INVALID, "the time stamp has no time");
    if (status == STATUS_OK && ca_file && access(ca_file, R_OK) != 0)
        status = error_set_errno(err, errno, "%s", ca_file);
    if (status == STATUS_OK && ca_file)
        status = write_token(bytes, length, &path, err);
    if (path) {
        status = ask_openssl(path, &timestamp, ca_file, at, err);
        unlink(path);
        free(path);
    }
    if (status == STATUS_OK) {
        *ret = timestamp;
        *ret_checked = ca_file != NULL;
    }
    return status;
}
