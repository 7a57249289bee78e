#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "results/verify_internal.h"

#define MAGIC "SQLite format 3" /* and a NUL */

static uint32_t big_endian(const uint8_t *bytes, int count)
{
    uint32_t value = 0;

    for (int i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

struct verify_header verify_read_header(const char *path)
{
    uint8_t header[100];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file >= 0 ? pread(file, header, sizeof(header), 0) : -1;
    uint32_t page_size;

    if (file >= 0)
        close(file);
    if (got < (ssize_t)sizeof(header) || memcmp(header, MAGIC, sizeof(MAGIC)) != 0 ||
        big_endian(header + 68, 4) != STORE_APPLICATION_ID)
        return (struct verify_header){0};
    page_size = big_endian(header + 16, 2);
    return (struct verify_header){
        .ours = true,
        .bytes = (int64_t)big_endian(header + 28, 4) * (page_size == 1 ? 65536 : page_size),
        .version = (int)big_endian(header + 60, 4),
    };
}
