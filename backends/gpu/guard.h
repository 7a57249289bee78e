/*
 * guard - last words of a process that a vendor's compiler ends.
 *
 * HIPRTC aborts on an arch that it does not know, and any compiler may crash. Whoever watches the
 * process then finds on stderr what it was doing. Not for two threads at a time.
 */
#ifndef ASSAY_BACKENDS_GPU_GUARD_H
#define ASSAY_BACKENDS_GPU_GUARD_H

/* Until gpu_guard_end(): a fatal signal says that `compiler` compiled `file` for `arch`. */
void gpu_guard_begin(const char *compiler, const char *file, const char *arch);
void gpu_guard_end(void);

#endif
