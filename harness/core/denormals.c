#include "harness/core/denormals.h"

#include <stdint.h>

#if defined(__SSE__)
#define FLUSH_BITS 0x8040u /* FTZ and DAZ of MXCSR: Intel SDM volume 1, section 10.2.3 */

static uint64_t read_control(void)
{
    return __builtin_ia32_stmxcsr();
}

static void write_control(uint64_t control)
{
    __builtin_ia32_ldmxcsr((uint32_t)control);
}
#elif defined(__aarch64__)
#define FLUSH_BITS (UINT64_C(1) << 24) /* FZ of FPCR: Arm ARM, section C5.2 */

static uint64_t read_control(void)
{
    uint64_t control;

    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

static void write_control(uint64_t control)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}
#endif

#ifdef FLUSH_BITS
bool denormals_can_flush(void)
{
    return true;
}

bool denormals_flush(bool flush)
{
    const uint64_t before = read_control();

    write_control(flush ? before | FLUSH_BITS : before & ~(uint64_t)FLUSH_BITS);
    return (before & FLUSH_BITS) == FLUSH_BITS;
}
#else
bool denormals_can_flush(void)
{
    return false;
}

bool denormals_flush(bool flush)
{
    return flush;
}
#endif
