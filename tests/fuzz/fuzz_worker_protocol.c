/* Bytes from a worker: cut into bounded lines, and each line refused with a good message or
 * checked. */
#include "fuzz.h"

#include <inttypes.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/runner/channel.h"
#include "harness/runner/message.h"

/* What a checked message guarantees to the code that uses it. */
static void check_message(const struct message *message)
{
    FUZZ_REQUIRE(message->type < MESSAGE_TYPE_COUNT);
    switch (message->type) {
    case MESSAGE_PHASE:
        FUZZ_REQUIRE(message->phase.begin_ns >= 0 &&
                     message->phase.end_ns >= message->phase.begin_ns);
        FUZZ_REQUIRE(strlen(message->phase.name) > 0 &&
                     strlen(message->phase.name) < MESSAGE_NAME_MAX);
        break;
    case MESSAGE_SAMPLES:
        FUZZ_REQUIRE(strlen(message->samples.series) < MESSAGE_NAME_MAX);
        FUZZ_REQUIRE(message->samples.count == 0 || message->samples.values);
        break;
    case MESSAGE_CHECK:
        FUZZ_REQUIRE(message->check.output && message->check.metric && message->check.phase);
        break;
    case MESSAGE_DEVICE:
    case MESSAGE_ARTIFACT:
    case MESSAGE_FACTS:
    case MESSAGE_TRIAL:
        FUZZ_REQUIRE(json_is_object(message->body));
        break;
    case MESSAGE_END:
        FUZZ_REQUIRE(message->end.status < STATUS_COUNT);
        FUZZ_REQUIRE(message->end.status != STATUS_OK ||
                     (message->end.iterations_per_sample >= 1 && message->end.window_first >= 0 &&
                      message->end.window_first < message->end.samples));
        break;
    default:
        break;
    }
}

static void check_line(const char *line, size_t length)
{
    struct message message;
    struct error err = ERROR_INIT;
    enum status status = message_parse(line, length, &message, &err);

    if (status != STATUS_OK) {
        FUZZ_REQUIRE(status == STATUS_PROTOCOL);
        fuzz_require_good_message(&err, status);
        return;
    }
    check_message(&message);
    message_finish(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    struct channel channel;
    struct error err = ERROR_INIT;
    size_t total = 0, length;
    char *line;

    if (file < 0)
        file = memfd_create("lines", MFD_CLOEXEC);
    FUZZ_REQUIRE(file >= 0 && ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0);
    FUZZ_REQUIRE(write(file, data, size) == (ssize_t)size && lseek(file, 0, SEEK_SET) == 0);
    FUZZ_REQUIRE(channel_init(&channel, dup(file), -1, &err) == STATUS_OK);
    while (channel_read_line(&channel, INT64_MAX, -1, &line, &length, &err) == STATUS_OK) {
        FUZZ_REQUIRE(line[length] == '\0');
        FUZZ_REQUIRE(!memchr(line, '\n', length));
        total += length + 1;
        check_line(line, length);
    }
    FUZZ_REQUIRE(err.code == STATUS_NOT_FOUND || err.code == STATUS_PROTOCOL);
    FUZZ_REQUIRE(err.code == STATUS_PROTOCOL || total == size || total == size + 1);
    channel_finish(&channel);
    return 0;
}
