/*
 * conformance - what every backend must do, checked on every device that is here.
 *
 * Each area is one file with one table of tests; main.c runs them all on one open device at a time.
 */
#ifndef ASSAY_TESTS_CONFORMANCE_H
#define ASSAY_TESTS_CONFORMANCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backends/backend.h"

/* The state of a test. */
struct conformance {
    struct backend *backend;
    uint32_t index;
    struct device *device;
    bool computes; /* false: null, which runs no kernels */
    bool small;    /* an interpreter: keep the work small */
    struct error err;
};

struct conformance_test {
    const char *name;
    void (*run)(void **state);
    bool needs_compute;
};

struct conformance_area {
    const char *name;
    const struct conformance_test *tests;
    size_t count;
};

#define CONFORMANCE_AREA(area_name, ...)                                                           \
    static const struct conformance_test area_tests[] = {__VA_ARGS__};                             \
    const struct conformance_area area_name = {#area_name, area_tests,                             \
                                               sizeof(area_tests) / sizeof(area_tests[0])}

extern const struct conformance_area conformance_arithmetic;
extern const struct conformance_area conformance_attention;
extern const struct conformance_area conformance_buffers;
extern const struct conformance_area conformance_convolutions;
extern const struct conformance_area conformance_events;
extern const struct conformance_area conformance_functions;
extern const struct conformance_area conformance_groups;
extern const struct conformance_area conformance_launch;
extern const struct conformance_area conformance_lifecycle;
extern const struct conformance_area conformance_modules;
extern const struct conformance_area conformance_gemm;
extern const struct conformance_area conformance_storage;

/* Fails the test with the error's message unless the call (which gets &c->err) is OK. */
#define expect_ok(c, call)                                                                         \
    do {                                                                                           \
        (c)->err = (struct error)ERROR_INIT;                                                       \
        if ((call) != STATUS_OK)                                                                   \
            fail_msg("%s: %s (%s)", #call, (c)->err.message, status_name((c)->err.code));          \
    } while (0)

/* The call must fail with this status, say so in the error, and give a message. */
#define expect_status(c, status, call)                                                             \
    do {                                                                                           \
        (c)->err = (struct error)ERROR_INIT;                                                       \
        if ((call) != (status) || (c)->err.code != (status) || (c)->err.message[0] == '\0')        \
            fail_msg("%s: expected %s, got %s: \"%s\"", #call, status_name(status),                \
                     status_name((c)->err.code), (c)->err.message);                                \
    } while (0)

/* One of the embedded texts under kernels/, compiled. The caller unloads it. */
struct module *conformance_module(struct conformance *c, const char *file, uint32_t lanes);

/* A text given here, under the file name "conformance/inline.h". */
enum status conformance_load_text(struct conformance *c, const char *text, uint32_t lanes,
                                  const struct module_define *defines, size_t define_count,
                                  struct module **ret);

/* A buffer with these bytes in it (NULL: undefined). */
struct buffer *conformance_buffer(struct conformance *c, const void *bytes, uint64_t size);

/* Launches and waits. Ends in arguments of struct kernel_arg. */
void conformance_run(struct conformance *c, struct module *module, const char *kernel, uint32_t x,
                     uint32_t y, uint32_t z, const struct kernel_arg *args, size_t arg_count);

#define RUN(c, module, kernel, x, y, z, ...)                                                       \
    do {                                                                                           \
        const struct kernel_arg run_args[] = {__VA_ARGS__};                                        \
        conformance_run(c, module, kernel, x, y, z, run_args,                                      \
                        sizeof(run_args) / sizeof(run_args[0]));                                   \
    } while (0)

static inline struct kernel_arg arg_buffer(struct buffer *value)
{
    return (struct kernel_arg){.type = KERNEL_ARG_BUFFER, .buffer = value};
}

static inline struct kernel_arg arg_u64(uint64_t value)
{
    return (struct kernel_arg){.type = KERNEL_ARG_U64, .u64 = value};
}

static inline struct kernel_arg arg_u32(uint32_t value)
{
    return (struct kernel_arg){.type = KERNEL_ARG_U32, .u32 = value};
}

static inline struct kernel_arg arg_f32(float value)
{
    return (struct kernel_arg){.type = KERNEL_ARG_F32, .f32 = value};
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;

    __builtin_memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float value;

    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Same bits, or both NaN. */
static inline bool same_float(float a, float b)
{
    return bits_of(a) == bits_of(b) || (a != a && b != b);
}

/* True when the device keeps denormal f32 unless requested otherwise. */
bool conformance_keeps_denormals(const struct conformance *c);

#endif
