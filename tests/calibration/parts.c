#include "tests/calibration/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "harness/core/digest.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

enum status parts_open(struct parts *parts, const char *folder, uint64_t seed, struct error *err)
{
    struct digest program;
    enum status status;

    *parts = (struct parts){.seed = seed, .start_ns = clock_monotonic_ns()};
    if (!folder)
        return STATUS_OK;
    status = digest_file("/proc/self/exe", &program, NULL, err);
    if (status == STATUS_OK)
        status = file_make_directories(folder, 0777, err);
    if (status != STATUS_OK)
        return status;
    digest_hex(&program, parts->program);
    parts->folder = folder;
    return STATUS_OK;
}

/* Everything that a part depends on: the beginning of its file, whose name is the digest of it. */
static char *heading_of(const struct parts *parts, const char *key, char **ret_path)
{
    char *heading = text_format("calibration %s seed %llu %s\n", parts->program,
                                (unsigned long long)parts->seed, key);
    char name[DIGEST_HEX_SIZE];
    struct digest digest;

    if (!heading)
        abort();
    digest = digest_bytes(heading, strlen(heading));
    *ret_path = text_format("%s/%.24s.part", parts->folder, digest_hex(&digest, name));
    if (!*ret_path)
        abort();
    return heading;
}

static void count_done(struct parts *parts, const char *key, bool kept)
{
    double minutes = (double)(clock_monotonic_ns() - parts->start_ns) / 60e9;

    parts->done++;
    if (parts->telling)
        fprintf(stderr, "%3zu of %zu cases, %.1f minutes: %s%s\n", parts->done, parts->total,
                minutes, key, kept ? " (kept from before)" : "");
}

bool parts_take(struct parts *parts, const char *key, void *data, size_t size)
{
    char *path, *heading, *bytes = NULL;
    size_t length = 0, head;
    bool fits;

    if (parts->counting) {
        parts->total++;
        return true;
    }
    if (!parts->folder)
        return false;
    heading = heading_of(parts, key, &path);
    head = strlen(heading);
    fits = file_read(path, head + size + 1, &bytes, &length, NULL) == STATUS_OK &&
           length == head + size && !memcmp(bytes, heading, head);
    if (fits)
        memcpy(data, bytes + head, size);
    free(bytes);
    free(path);
    free(heading);
    if (fits)
        count_done(parts, key, true);
    return fits;
}

void parts_keep(struct parts *parts, const char *key, const void *data, size_t size)
{
    char *path, *heading, *bytes;
    struct error err = ERROR_INIT;
    size_t head;

    if (parts->folder) {
        heading = heading_of(parts, key, &path);
        head = strlen(heading);
        bytes = malloc(head + size);
        if (!bytes)
            abort();
        memcpy(bytes, heading, head);
        memcpy(bytes + head, data, size);
        if (file_write_atomic(path, bytes, head + size, 0666, &err) != STATUS_OK) {
            fprintf(stderr, "calibration: %s\n", err.message);
            exit(2);
        }
        free(bytes);
        free(path);
        free(heading);
    }
    count_done(parts, key, false);
}
