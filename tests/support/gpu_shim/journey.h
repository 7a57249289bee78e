/*
 * journey - one short use of a GPU backend through its stand-in, in which any one vendor call
 * fails: for test_cuda_faults.c and similar tests.
 */
#ifndef ASSAY_TESTS_GPU_SHIM_JOURNEY_H
#define ASSAY_TESTS_GPU_SHIM_JOURNEY_H

#include <jansson.h>

#include "backends/backend.h"

struct journey_outcome {
    enum status status;
    struct error err;
    bool has_gemm, has_convolutions, has_attention;
};

/*
 * Makes the stand-in `path`, whose functions are counted and fail, this program's `libraries`
 * ("CUDA,NVRTC": what follows ASSAY_LIB_). 77: no OpenCL device for it to run on; 1 with a message
 * on stdout: it cannot be opened.
 */
int journey_open(const char *libraries, const char *path);

/* From now on `function` fails at its `n`-th call with `code`, outside of a journey; NULL: nothing.
 */
void journey_fail(const char *function, int n, int code);

/* Since the latest journey or journey_fail began. */
int journey_calls(const char *function);

/* From now on a journey opens the device for attention alone, which has a thousand calls. */
void journey_for_attention(bool alone);

/* Device 0 of the backend. NULL with a message on stdout: it cannot be opened. */
struct device *journey_open_device(const char *backend);

/* Setup and teardown of a group of tests: that device of BACKEND's, as `journey_device`. */
extern struct device *journey_device;
int journey_setup(void **state);
int journey_teardown(void **state);

/* A new one, which lives as long as the process. */
struct backend *journey_backend(const struct backend_ops *ops);

/*
 * New backend with these ops: open device 0; memory, copies in every direction, a module and its
 * description, a kernel twice between events, a GEMM twice (bias, D, an odd offset), a convolution,
 * attention forward and backward, telemetry; close. `function` fails at its `n`-th call with
 * `code`; NULL: nothing fails. cmocka's failure when an object is left in the driver.
 */
struct journey_outcome journey_run(const struct backend_ops *ops, const char *function, int n,
                                   int code);

/* The same with another use of the opened device. */
typedef enum status journey_use_fn(struct device *device, struct journey_outcome *outcome);
struct journey_outcome journey_run_use(const struct backend_ops *ops, journey_use_fn *use,
                                       const char *function, int n, int code);

/*
 * The one entry among `choices` of an operation ("gemm", "convolution"), and its algorithm's name;
 * fails the test when there is another number of them, or no name. Belong to `choices`.
 */
json_t *journey_choice(const json_t *choices, const char *operation);
const char *journey_algorithm(const json_t *choices, const char *operation);

/* True where the choices name one library, and `message`, unless NULL, names it, too. */
bool journey_names_stack(const json_t *choices, const char *message);

#endif
