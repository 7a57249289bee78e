/* denormals - whether the calling thread's arithmetic keeps denormal numbers. */
#ifndef ASSAY_CORE_DENORMALS_H
#define ASSAY_CORE_DENORMALS_H

#include <stdbool.h>

/* True where this processor's flushing can be switched. */
bool denormals_can_flush(void);

/*
 * With `flush`, denormal operands and results of the calling thread are zero from now on; threads
 * that it starts inherit that. Returns what it was before; where it cannot be switched, `flush`.
 */
bool denormals_flush(bool flush);

#endif
