#include "harness/core/processor.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/support/unit.h"

#define ARM(designer, variant, part, revision)                                                     \
    "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd sve\nCPU implementer\t: " designer  \
    "\nCPU architecture: 8\nCPU variant\t: " variant "\nCPU part\t: " part                         \
    "\nCPU revision\t: " revision "\n\nprocessor\t: 1\n"

static void assert_called(const char *cpuinfo, const char *name, const char *vendor)
{
    char *got_name = processor_name(cpuinfo), *got_vendor = processor_vendor(cpuinfo);

    assert_non_null(got_name);
    assert_string_equal(got_name, name);
    if (vendor) {
        assert_non_null(got_vendor);
        assert_string_equal(got_vendor, vendor);
    } else {
        assert_null(got_vendor);
    }
    free(got_name);
    free(got_vendor);
}

TEST(reported)
{
    assert_called(
        "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 17\nmodel name\t: AMD EPYC "
        "9654 96-Core Processor\n",
        "AMD EPYC 9654 96-Core Processor", "AuthenticAMD");
    assert_called("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n",
                  "POWER9, altivec supported", NULL);
    /* Some kernels for Arm report it. */
    assert_called("model name\t: ARMv8 Processor rev 1 (v8l)\n" ARM("0x41", "0x0", "0xd08", "3"),
                  "ARMv8 Processor rev 1 (v8l)", "Arm");
}

TEST(arm)
{
    assert_called(ARM("0x41", "0x0", "0xd4f", "0"), "Arm Neoverse-V2 r0p0", "Arm"); /* Grace */
    assert_called(ARM("0x41", "0x3", "0xd0c", "1"), "Arm Neoverse-N1 r3p1", "Arm");
    assert_called(ARM("0x6d", "0x0", "0xd49", "0"), "Microsoft Azure-Cobalt-100 r0p0", "Microsoft");
    assert_called(ARM("0x41", "0x1", "0xd99", "2"), "Arm part 0xd99 r1p2", "Arm");
    assert_called(ARM("0x99", "0x1", "0x001", "2"), "Arm designer 0x99 part 0x001 r1p2",
                  "Arm designer 0x99");
}

TEST(nothing)
{
    assert_null(processor_name(""));
    assert_null(processor_vendor("processor\t: 0\n"));
    assert_null(processor_name("model name\t: \nCPU implementer\t: what\nCPU part\t: 0x1\n"));
    assert_null(processor_line("cpu MHz\t: 1\n", "cpu"));
}
