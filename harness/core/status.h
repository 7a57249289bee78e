/*
 * status - the result of a call, and the message that goes with a failure.
 *
 * Every fallible function of assay returns `enum status` and takes a `struct error *` as its last
 * parameter. On failure it fills the error and leaves its `ret_` parameters untouched. `err` may
 * be NULL where the caller does not want the message.
 */
#ifndef ASSAY_CORE_STATUS_H
#define ASSAY_CORE_STATUS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* One list gives the codes, their names (stored in databases, so never renamed) and meanings. */
#define STATUS_MAP(X)                                                                              \
    X(OK, "ok", "success")                                                                         \
    X(INVALID, "invalid", "a declaration or argument is wrong")                                    \
    X(NOT_FOUND, "not_found", "what was asked for does not exist")                                 \
    X(IO, "io", "reading or writing failed")                                                       \
    X(NO_SPACE, "no_space", "the disk or a quota is full")                                         \
    X(NO_MEMORY, "no_memory", "the host is out of memory")                                         \
    X(BUSY, "busy", "somebody else holds it")                                                      \
    X(DENIED, "denied", "permission is missing")                                                   \
    X(UNAVAILABLE, "unavailable", "a library, device or counter is not here")                      \
    X(UNSUPPORTED, "unsupported", "the device or library cannot do this")                          \
    X(COMPILE, "compile", "a kernel does not compile")                                             \
    X(DEVICE, "device", "a vendor call failed")                                                    \
    X(DEVICE_LOST, "device_lost", "the device has gone or no longer answers")                      \
    X(DEVICE_MEMORY, "device_memory", "the device is out of memory")                               \
    X(CHECK_FAILED, "check_failed", "an output does not match its reference")                      \
    X(TIMEOUT, "timeout", "it took longer than the protocol allows")                               \
    X(CRASHED, "crashed", "a process ended before it sent a result")                               \
    X(INTERRUPTED, "interrupted", "the user or the system stopped it")                             \
    X(CORRUPT, "corrupt", "stored or received data is damaged")                                    \
    X(PROTOCOL, "protocol", "the peer broke the worker protocol")                                  \
    X(INTERNAL, "internal", "a defect in assay")

enum status {
#define STATUS_ENUM(code, name, meaning) STATUS_##code,
    STATUS_MAP(STATUS_ENUM)
#undef STATUS_ENUM
        STATUS_COUNT
};

#define ERROR_MESSAGE_MAX 2048
#define ERROR_PLACE_MAX 512

/* A failure's code and its message: what happened, where, and what to do. */
struct error {
    enum status code;
    char message[ERROR_MESSAGE_MAX];
    char place[ERROR_PLACE_MAX]; /* "FILE:LINE" of what is wrong in a file; else "" */
};

#define ERROR_INIT                                                                                 \
    {                                                                                              \
        STATUS_OK, "", ""                                                                          \
    }

/* Stable short name of a code ("device_lost"); "unknown" for a value out of range. */
const char *status_name(enum status code);

/* One-line meaning of a code, for people. */
const char *status_meaning(enum status code);

/* The code with this name, or STATUS_COUNT when there is none. */
enum status status_from_name(const char *name);

/*
 * Fills `err` (when not NULL) and returns `code`, so that a failing path is one line:
 *     return error_set(err, STATUS_IO, "%s: %s", path, strerror(errno));
 * A message longer than the buffer is cut at a UTF-8 boundary and ends in "...".
 */
enum status error_set(struct error *err, enum status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum status error_setv(struct error *err, enum status code, const char *format, va_list args);

/* As error_set, of a line of a file, from 1: "FILE:LINE: message", and its place. */
enum status error_set_at(struct error *err, enum status code, const char *file, uint64_t line,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));

/* What to do about an errno that says too little, from "; " on; "" for most. */
const char *error_remedy(int errnum);

/* Sets the code that fits `errnum` (ENOSPC, EACCES, ENOMEM, ENOENT, else IO): "WHAT: strerror". */
enum status error_set_errno(struct error *err, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Host memory has run out. One message for all places: a person can do the same thing in each. */
enum status error_no_memory(struct error *err);

/*
 * Puts "context: " before the message already in `err`, whose place stays; returns its code. With
 * NULL the code is not known here and INTERNAL is returned: where `err` may be NULL keep the status
 * yourself.
 */
enum status error_prefix(struct error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Evaluates `call`, and returns its status from the calling function unless that is OK. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const enum status try_status = (call);                                                     \
                                                                                                   \
        if (try_status != STATUS_OK)                                                               \
            return try_status;                                                                     \
    } while (0)

#endif
