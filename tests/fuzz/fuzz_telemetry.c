/*
 * Output of a telemetry child: JSON lines, a byte 0, then rows of int64. A vendor's library may
 * have overwritten the child's memory, so none of it is trusted.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "harness/runner/telemetry_watch.h"

static int memory_of(const void *bytes, size_t length)
{
    int fd = memfd_create("telemetry", 0);

    FUZZ_REQUIRE(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, 0, size);
    const size_t words = end ? (size_t)(end - data) : size;
    struct telemetry_watch watch = {.control_fd = -1};
    struct telemetry_log log;
    struct error err = ERROR_INIT;

    watch.output_fd = memory_of(data, words);
    watch.rows_fd = memory_of(end ? end + 1 : data, end ? size - words - 1 : 0);
    FUZZ_REQUIRE(telemetry_watch_stop(&watch, 1, &log, &err) == STATUS_OK);
    FUZZ_REQUIRE(json_is_array(log.channels) && json_array_size(log.channels) == log.channel_count);
    FUZZ_REQUIRE(log.status == STATUS_OK || log.message);
    for (size_t i = 0; i < log.row_count; i++) {
        const int64_t *row = log.rows + i * (2 + log.channel_count);

        FUZZ_REQUIRE(row[0] >= 0 && row[1] >= row[0]);
        FUZZ_REQUIRE(i == 0 || row[0] >= row[-(int64_t)log.channel_count - 1]);
    }
    telemetry_log_finish(&log);
    return 0;
}
