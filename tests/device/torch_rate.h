/* torch_rate - what PyTorch reaches on this machine, where it is installed. */
#ifndef ASSAY_TESTS_DEVICE_TORCH_RATE_H
#define ASSAY_TESTS_DEVICE_TORCH_RATE_H

#include <stddef.h>

/*
 * FLOP/s of PyTorch's bf16 GEMM of 4096 x 4096 x 4096, B transposed, C in bf16, on the device of
 * the spec's number, by `script` under the interpreter `python` (a path, or a name in PATH); the
 * better of several repetitions. NAN where it could not be measured; `words` gets the version, or
 * the reason.
 */
double torch_rate(const char *python, const char *script, const char *device, char *words,
                  size_t size);

#endif
