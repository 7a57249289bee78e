/*
 * guard - a last message of a process that a vendor's compiler ends or blocks.
 *
 * HIPRTC aborts on an arch that it does not know, and any compiler may crash or hang. The process
 * that watches it, and stops it by SIGTERM, then finds on stderr what it was doing. Not for two
 * threads at a time.
 */
#ifndef ASSAY_BACKENDS_GPU_GUARD_H
#define ASSAY_BACKENDS_GPU_GUARD_H

/* Until gpu_guard_end(): a fatal signal, or SIGTERM, says that `compiler` compiled `file` for
 * `arch`. */
void gpu_guard_begin(const char *compiler, const char *file, const char *arch);
void gpu_guard_end(void);

#endif
