/*
 * The effect on a GEMM of what cuBLASLt's algorithms report of their numerics: all of it, a part,
 * nothing, or something other than requested.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/gpu_shim/journey.h"
#include "tests/support/operations.h"
#include "tests/support/unit.h"

#define INPUT_NOT_REPORTED "(operands' type not reported)"

/* `count`: of the algorithms that are taken; 0: the GEMM is refused. */
struct expectation {
    enum precision precision;
    const char *flags;
    uint32_t count;
    enum support support;
    const char *method; /* a part of it, or of the refusal */
    uint64_t rows;      /* 0: 16 */
};

static const struct expectation reported[] = {
    {PRECISION_FP64, "100408,100401", 2, SUPPORT_NATIVE, "0x100408"},
    {PRECISION_FP32, "80201,80201", 2, SUPPORT_NATIVE, "0x80201"},
    {PRECISION_TF32, "40202,40202", 2, SUPPORT_NATIVE, "0x40202"},
    {PRECISION_BF16, "20202,20202", 2, SUPPORT_NATIVE, "0x20202"},
    {PRECISION_FP16, "10202,10202", 2, SUPPORT_NATIVE, "0x10202"},
    {PRECISION_FP8_E4M3, "400202,c00202", 2, SUPPORT_NATIVE, "0x400202"},
    {PRECISION_FP8_E5M2, "c00202,800202", 2, SUPPORT_NATIVE, "0xc00202"},
    {PRECISION_INT8, "200804,200804", 2, SUPPORT_NATIVE, "0x200804"},
    /* As cuBLASLt 13.1 reports bf16 and fp8 on an H100. */
    {PRECISION_BF16, "10202,10202", 2, SUPPORT_NATIVE, "0x10202"},
    {PRECISION_FP8_E4M3, "10202,20202", 1, SUPPORT_UNKNOWN, "0x10202 " INPUT_NOT_REPORTED},
    {PRECISION_FP8_E5M2, "10202,10202", 2, SUPPORT_UNKNOWN, "0x10202 " INPUT_NOT_REPORTED},
    /* By multiply-adds, none of which is used together with other units. */
    {PRECISION_BF16, "20201,20201", 2, SUPPORT_EMULATED, "0x20201"},
    {PRECISION_BF16, "20201,20202", 1, SUPPORT_NATIVE, "0x20202"},
    {PRECISION_INT8, "200801,200801", 2, SUPPORT_EMULATED, "0x200801"},
    /* A vector by a matrix needs no tensor units. */
    {PRECISION_BF16, "20201,20201", 2, SUPPORT_NATIVE, "0x20201", .rows = 1},
    /* As cuBLASLt 13.1 reports tf32 on an H100, some by multiply-adds. */
    {PRECISION_TF32, "40201,40202", 2, SUPPORT_NATIVE, "0x40201"},
};

static const struct expectation silent[] = {
    {PRECISION_FP64, "0,0", 2, SUPPORT_UNKNOWN, "(nothing reported)"},
    {PRECISION_FP32, "0,0", 2, SUPPORT_UNKNOWN, "(nothing reported)"},
    {PRECISION_TF32, "0,0", 2, SUPPORT_UNKNOWN, "(nothing reported)"},
    {PRECISION_BF16, "0,0", 2, SUPPORT_UNKNOWN, "(nothing reported)"},
    {PRECISION_FP16, "0,0", 2, SUPPORT_UNKNOWN, "(nothing reported)"},
    {PRECISION_FP8_E4M3, "0,0", 2, SUPPORT_UNKNOWN, "(nothing reported)"},
    {PRECISION_FP8_E5M2, "0,0", 2, SUPPORT_UNKNOWN, "(nothing reported)"},
    {PRECISION_INT8, "0,0", 2, SUPPORT_UNKNOWN, "(nothing reported)"},
    /* Only the units, not the operands. */
    {PRECISION_FP64, "408,8", 2, SUPPORT_UNKNOWN, INPUT_NOT_REPORTED},
    {PRECISION_FP32, "201,1", 2, SUPPORT_UNKNOWN, INPUT_NOT_REPORTED},
    {PRECISION_TF32, "202,2", 2, SUPPORT_UNKNOWN, INPUT_NOT_REPORTED},
    {PRECISION_BF16, "202,2", 2, SUPPORT_UNKNOWN, INPUT_NOT_REPORTED},
    {PRECISION_FP16, "202,2", 2, SUPPORT_UNKNOWN, INPUT_NOT_REPORTED},
    {PRECISION_FP8_E4M3, "202,80", 2, SUPPORT_UNKNOWN, INPUT_NOT_REPORTED},
    {PRECISION_INT8, "804,4", 2, SUPPORT_UNKNOWN, INPUT_NOT_REPORTED},
    {PRECISION_BF16, "201,1", 2, SUPPORT_EMULATED, INPUT_NOT_REPORTED},
    /* Only the operands, not the units. */
    {PRECISION_BF16, "20200,20000", 2, SUPPORT_UNKNOWN, "0x20200"},
    {PRECISION_FP32, "80200,80000", 2, SUPPORT_UNKNOWN, "0x80200"},
    /* Where some report more than others, both can be chosen. */
    {PRECISION_BF16, "0,20202", 2, SUPPORT_UNKNOWN, "(nothing reported)"},
    {PRECISION_BF16, "20202,0", 2, SUPPORT_NATIVE, "0x20202"},
    {PRECISION_BF16, "20201,0", 1, SUPPORT_UNKNOWN, "(nothing reported)"},
};

static const struct expectation others[] = {
    /* fp32 through anything narrower, however it is reported. */
    {PRECISION_FP32, "40202,40202", 0, SUPPORT_UNKNOWN, "do not compute in fp32 (flags 0x40202)"},
    {PRECISION_FP32, "202,2", 0, SUPPORT_UNKNOWN, "do not compute in fp32"},
    {PRECISION_FP32, "40200,40000", 0, SUPPORT_UNKNOWN, "do not compute in fp32"},
    {PRECISION_FP32, "80202,c0203", 0, SUPPORT_UNKNOWN, "do not compute in fp32"},
    {PRECISION_FP32, "a0201,90201", 0, SUPPORT_UNKNOWN, "do not compute in fp32"},
    {PRECISION_FP32, "40202,80201", 1, SUPPORT_NATIVE, "0x80201"},
    {PRECISION_FP32, "202,0", 1, SUPPORT_UNKNOWN, "(nothing reported)"},
    /* Others by wider or narrower operands. */
    {PRECISION_TF32, "80201,201", 0, SUPPORT_UNKNOWN, "do not compute in tf32"},
    {PRECISION_TF32, "20202,10202", 0, SUPPORT_UNKNOWN, "do not compute in tf32"},
    {PRECISION_BF16, "80201,40202", 0, SUPPORT_UNKNOWN, "do not compute in bf16"},
    {PRECISION_FP16, "80201,20202", 0, SUPPORT_UNKNOWN, "do not compute in fp16"},
    {PRECISION_FP64, "80201,40202", 0, SUPPORT_UNKNOWN, "do not compute in fp64"},
    {PRECISION_FP8_E4M3, "80201,20202", 0, SUPPORT_UNKNOWN, "do not compute in fp8_e4m3"},
    {PRECISION_INT8, "10202,400202", 0, SUPPORT_UNKNOWN, "do not compute in int8"},
    /* By another kind of unit, or sums narrower than requested. */
    {PRECISION_INT8, "802,2", 0, SUPPORT_UNKNOWN, "do not compute in int8"},
    {PRECISION_FP64, "402,2", 0, SUPPORT_UNKNOWN, "do not compute in fp64"},
    {PRECISION_FP16, "10102,102", 0, SUPPORT_UNKNOWN, "do not compute in fp16"},
};

static enum dtype other_operand(enum precision precision)
{
    return precision == PRECISION_FP8_E5M2 ? DTYPE_E4M3 : precision_dtype(precision);
}

static void expect(const struct expectation *row)
{
    const bool whole = row->precision == PRECISION_INT8, wide = row->precision == PRECISION_FP64;
    const struct gemm_shape shape = {
        .precision = row->precision,
        .m = row->rows > 0 ? row->rows : 16,
        .n = 16,
        .k = 16,
        .a = {.type = precision_dtype(row->precision), .stride = 16},
        .b = {.type = other_operand(row->precision), .stride = 16, .transpose = true},
        .c = {.type = whole  ? DTYPE_I32
                      : wide ? DTYPE_F64
                             : DTYPE_F32,
              .stride = 16},
    };
    struct operation *gemm = NULL;
    struct operation_info info;
    struct error err = ERROR_INIT;
    enum status status;

    setenv("ASSAY_SHIM_FLAGS", row->flags, 1);
    status = create_gemm(journey_device, &shape, &gemm, &err);
    if (status != (row->count > 0 ? STATUS_OK : STATUS_UNSUPPORTED))
        fail_msg("%s, flags %s: %s", precision_name(row->precision), row->flags, err.message);
    if (status != STATUS_OK) {
        if (strstr(err.message, row->method) == NULL)
            fail_msg("flags %s: %s", row->flags, err.message);
        return;
    }
    assert_int_equal(operation_describe(gemm, &info, NULL), STATUS_OK);
    if (info.support != row->support || info.algorithms != row->count ||
        strstr(info.method, row->method) == NULL)
        fail_msg("%s, flags %s: %s, %u algorithms, %s", precision_name(row->precision), row->flags,
                 support_name(info.support), (unsigned)info.algorithms, info.method);
    operation_destroy(gemm);
}

static void expect_all(const struct expectation *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect(&rows[i]);
    unsetenv("ASSAY_SHIM_FLAGS");
}

#define EXPECT_ALL(rows) expect_all(rows, sizeof(rows) / sizeof((rows)[0]))

TEST(reported)
{
    EXPECT_ALL(reported);
}

TEST(silent)
{
    EXPECT_ALL(silent);
}

TEST(others)
{
    EXPECT_ALL(others);
}

int main(void)
{
    const int opened = journey_open(LIBRARIES, SHIM_PATH);

    if (opened != 0)
        return opened;
    return unit_run(journey_setup, journey_teardown);
}
