/* cpu_fixture - CPU backends with new state, with their files in a folder of their own. */
#ifndef ASSAY_TESTS_UNIT_CPU_FIXTURE_H
#define ASSAY_TESTS_UNIT_CPU_FIXTURE_H

#include <stdbool.h>

#include "backends/cpu/cpu.h"

extern char cpu_fixture_folder[]; /* between setup and teardown */

/* Of a group of tests. */
int cpu_fixture_setup(void **state);
int cpu_fixture_teardown(void **state);

/* Each has its own state, which lives as long as the process. */
struct backend *cpu_fixture_backend(void);
/* The device of a new one; fails the test where there is none. */
struct device *cpu_fixture_open(void);

/* The kernel cache of devices opened from now on: folder `name` of ours. */
void cpu_fixture_set_cache(const char *name);

/* False, said as the reason to skip, where there is no compiler. */
bool cpu_fixture_has_compiler(void);

#endif
