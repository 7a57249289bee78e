/*
 * threads - the pool of OpenMP threads that kernels and oneDNN share.
 *
 * OpenMP keeps one pool for each thread that starts parallel work; a device belongs to one thread,
 * and oneDNN is called from it, so both use the same threads. Their processors are set by
 * OMP_PROC_BIND and OMP_PLACES, which the runtime reads when the process begins:
 * cpu_threads_environment says what to start with.
 */
#ifndef ASSAY_BACKENDS_CPU_THREADS_H
#define ASSAY_BACKENDS_CPU_THREADS_H

#include "backends/cpu/source.h"
#include "harness/core/reading.h"

/*
 * Threads to use: OMP_NUM_THREADS where it is set, else one a core of those this process may run
 * on, at most as many as the cgroup's quota pays for. At least 1.
 */
uint32_t cpu_threads_count(void);

/* The calling thread may run on every processor of the runtime's places; nothing without places. */
void cpu_threads_unbind(void);

/* Makes the calling thread's pool that large and starts it. */
void cpu_threads_start(uint32_t threads);

/*
 * Runs all groups of a launch and returns when they are done. With `flush`, denormal operands and
 * results are zero in every thread meanwhile.
 */
void cpu_threads_run(cpu_kernel_run *run, const uint64_t groups[3],
                     const union cpu_argument *arguments, uint32_t threads, bool flush);

/*
 * denormals_flush() on all threads of the pool, the calling one included; costs as much as a
 * launch.
 */
void cpu_threads_set_flush(uint32_t threads, bool flush);

/* Writes one byte a page from the threads that will use the memory, so that it is mapped. */
void cpu_threads_touch(unsigned char *bytes, uint64_t size, uint32_t threads);

/* Their number, processors and runtime: "device.threads..." */
void cpu_threads_read(struct reading_list *list);

#endif
