/*
 * A vendor library that leaves out work: each function here takes the place of one in the library
 * that this object is linked with, and everything else is that library's. For tests alone.
 *
 * CHEAT says how: "second" leaves out every second call, "three" three of four, "later" three of
 * four after CHEAT_AFTER calls that are honest (0 where it is not set), none: an honest library.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Returns false data, so results through it count as simulated. */
extern const char assay_simulated[];
__attribute__((visibility("default"))) const char assay_simulated[] = "a library that cheats";

static bool leaves_out(void)
{
    static atomic_long calls;
    const char *how = getenv("CHEAT"), *after = getenv("CHEAT_AFTER");
    const long call = atomic_fetch_add(&calls, 1);

    if (!how)
        return false;
    if (!strcmp(how, "second"))
        return call % 2 == 1;
    if (!strcmp(how, "later") && call < (after ? atol(after) : 0))
        return false;
    return call % 4 != 0;
}

#define REAL(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))
#define EXPORT __attribute__((visibility("default")))

#ifdef CHEAT_OPENCL
EXPORT int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  unsigned count, void *const *wait, void **event);
int clEnqueueMarkerWithWaitList(void *queue, unsigned count, void *const *wait, void **event);

int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions, const size_t *offset,
                           const size_t *global, const size_t *local, unsigned count,
                           void *const *wait, void **event)
{
    if (!leaves_out())
        return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, count,
                                            wait, event);
    return event ? clEnqueueMarkerWithWaitList(queue, count, wait, event) : 0;
}
#endif

#ifdef CHEAT_ONEDNN
EXPORT int dnnl_primitive_execute(const void *primitive, void *stream, int count, const void *args);

int dnnl_primitive_execute(const void *primitive, void *stream, int count, const void *args)
{
    return leaves_out() ? 0 : REAL(dnnl_primitive_execute)(primitive, stream, count, args);
}
#endif

#ifdef CHEAT_CUDA
EXPORT unsigned cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
                               void **extra);

unsigned cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
                        void **extra)
{
    return leaves_out() ? 0
                        : REAL(cuLaunchKernel)(function, gx, gy, gz, bx, by, bz, shared, stream,
                                               args, extra);
}
#endif

#ifdef CHEAT_HIP
EXPORT int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, void *stream,
                                 void **args, void **extra);

int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **args,
                          void **extra)
{
    return leaves_out() ? 0
                        : REAL(hipModuleLaunchKernel)(function, gx, gy, gz, bx, by, bz, shared,
                                                      stream, args, extra);
}
#endif
