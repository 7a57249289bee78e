#include "harness/core/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/core/shortage.h"

static const char *const names[STATUS_COUNT] = {
#define STATUS_NAME(code, name, meaning) [STATUS_##code] = name,
    STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
};

static const char *const meanings[STATUS_COUNT] = {
#define STATUS_MEANING(code, name, meaning) [STATUS_##code] = meaning,
    STATUS_MAP(STATUS_MEANING)
#undef STATUS_MEANING
};

const char *status_name(enum status code)
{
    return (unsigned)code < STATUS_COUNT ? names[code] : "unknown";
}

const char *status_meaning(enum status code)
{
    return (unsigned)code < STATUS_COUNT ? meanings[code] : "unknown status code";
}

enum status status_from_name(const char *name)
{
    for (int i = 0; name && i < STATUS_COUNT; ++i)
        if (!strcmp(names[i], name))
            return (enum status)i;
    return STATUS_COUNT;
}

/* Ends a message that did not fit with "...", without cutting a UTF-8 sequence in two. */
static void mark_cut(char message[ERROR_MESSAGE_MAX])
{
    size_t end = ERROR_MESSAGE_MAX - 4;

    while (end > 0 && ((unsigned char)message[end] & 0xc0) == 0x80)
        --end;
    memcpy(message + end, "...", 4);
}

enum status error_setv(struct error *err, enum status code, const char *format, va_list args)
{
    char message[ERROR_MESSAGE_MAX];
    int length;

    if (code == STATUS_NO_MEMORY)
        shortage_note();
    if (!err)
        return code;
    /* Through a buffer of its own, since the arguments may point into err->message. */
    length = vsnprintf(message, sizeof(message), format, args);
    if (length < 0)
        snprintf(message, sizeof(message), "%s", status_meaning(code));
    else if ((size_t)length >= sizeof(message))
        mark_cut(message);
    err->code = code;
    err->place[0] = '\0';
    memcpy(err->message, message, strlen(message) + 1);
    return code;
}

enum status error_set(struct error *err, enum status code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_setv(err, code, format, args);
    va_end(args);
    return code;
}

enum status error_set_at(struct error *err, enum status code, const char *file, uint64_t line,
                         const char *format, ...)
{
    char message[ERROR_MESSAGE_MAX];
    va_list args;
    int length;

    if (!err)
        return error_set(err, code, "%s", "");
    va_start(args, format);
    if (vsnprintf(message, sizeof(message), format, args) < 0)
        message[0] = '\0';
    va_end(args);
    error_set(err, code, "%s:%" PRIu64 ": %s", file, line, message);
    length = snprintf(err->place, sizeof(err->place), "%s:%" PRIu64, file, line);
    if (length < 0 || (size_t)length >= sizeof(err->place))
        err->place[0] = '\0'; /* half a path names another file */
    return code;
}

static enum status code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOSPC:
    case EDQUOT:
        return STATUS_NO_SPACE;
    case EACCES:
    case EPERM:
    case EROFS:
        return STATUS_DENIED;
    case ENOMEM:
        return STATUS_NO_MEMORY;
    case ENOENT:
        return STATUS_NOT_FOUND;
    default:
        return STATUS_IO;
    }
}

const char *error_remedy(int errnum)
{
    switch (errnum) {
    case EMFILE:
        return "; this process may not have more files open: raise the limit (ulimit -n), then do "
               "it again";
    case ENFILE:
        return "; the system has as many files open as it allows: end other programs or raise "
               "fs.file-max, then do it again";
    case ENOMEM:
        return "; end other programs, or raise the limit (ulimit -v, or that of the container), "
               "then do it again";
    default:
        return "";
    }
}

enum status error_no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "out of memory%s", error_remedy(ENOMEM));
}

enum status error_set_errno(struct error *err, int errnum, const char *format, ...)
{
    enum status code = code_of_errno(errnum);
    char what[ERROR_MESSAGE_MAX];
    char reason[128];
    va_list args;

    if (!err)
        return error_set(err, code, "%s", "");
    va_start(args, format);
    if (vsnprintf(what, sizeof(what), format, args) < 0)
        what[0] = '\0';
    va_end(args);
    /* The GNU form: it may return a static string instead of filling the buffer. */
    return error_set(err, code, "%s: %s%s", what, strerror_r(errnum, reason, sizeof(reason)),
                     error_remedy(errnum));
}

enum status error_prefix(struct error *err, const char *format, ...)
{
    char context[ERROR_MESSAGE_MAX], place[ERROR_PLACE_MAX];
    va_list args;

    if (!err)
        return STATUS_INTERNAL;
    va_start(args, format);
    if (vsnprintf(context, sizeof(context), format, args) < 0)
        context[0] = '\0';
    va_end(args);
    memcpy(place, err->place, sizeof(place));
    error_set(err, err->code, "%s: %s", context, err->message);
    memcpy(err->place, place, sizeof(place));
    return err->code;
}
