/*
 * framework - a runtime of neural networks that somebody else wrote, opened by its C interface, as
 * the library of its wheel has it: it is given a model in the form of ONNX (onnx.ai), and runs it
 * on this processor in the memory of a cpu device's buffers. No Python takes part.
 *
 * Declarations of the interfaces are our own, in frameworks/. Calls wait until their work is done.
 */
#ifndef ASSAY_BACKENDS_FRAMEWORK_H
#define ASSAY_BACKENDS_FRAMEWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/precision.h"
#include "harness/core/status.h"

struct buffer;
struct device;
struct framework;

#define FRAMEWORK_WORD_MAX 64
#define FRAMEWORK_ARRAYS_MAX 256 /* inputs, and outputs */
#define FRAMEWORK_MODELS_MAX 2
#define FRAMEWORK_RANK_MAX 8

/* One array of the model: its name there, its shape, and where it lies. */
struct framework_array {
    const char *name;
    enum dtype type; /* f64, f32, bf16, i32 or i64 */
    size_t rank;
    int64_t shape[FRAMEWORK_RANK_MAX];
    struct buffer *buffer; /* of a cpu device */
    uint64_t offset;       /* bytes, into the buffer */
};

/* How a model is run. */
struct framework_model {
    const void *onnx; /* the model's bytes; not needed after framework_prepare */
    size_t length;
    uint32_t threads; /* at least 1 */
    /*
     * The precision that is requested of it. UNSUPPORTED where it does not compute such a model in
     * that.
     */
    enum precision precision;
    bool own_precision; /* none is requested: the framework chooses its precision */
    const struct framework_array *inputs, *outputs; /* names stay as long as the framework */
    size_t input_count, output_count;               /* FRAMEWORK_ARRAYS_MAX of each at the most */
};

/* What runs, as the framework reports it. */
struct framework_info {
    char name[FRAMEWORK_WORD_MAX], version[FRAMEWORK_WORD_MAX];
    char precision[FRAMEWORK_WORD_MAX]; /* "f32", "bf16"; "": it does not say */
    uint32_t threads;                   /* 0: it does not say */
};

/*
 * Opens the library. `interface`: "onnxruntime" or "openvino". UNSUPPORTED: another; UNAVAILABLE:
 * the loader's reason, or the interface is older than what is needed.
 */
enum status framework_open(const char *interface, const char *library, struct framework **ret,
                           struct error *err);
/*
 * Compiles a model and binds its arrays, whose buffers stay as long as the framework. Models are
 * numbered from 0 in the order in which they are prepared, at most FRAMEWORK_MODELS_MAX, all with
 * the threads of the first, which they share; each has its own copy of its weights. DEVICE with the
 * framework's own words; UNSUPPORTED: a buffer of another backend, or the precision that it reports
 * afterwards is not the one that it was told.
 */
enum status framework_prepare(struct framework *framework, const struct framework_model *model,
                              struct error *err);
/* Threads that the device uses for its own kernels, where it is a processor; else 1. */
uint32_t framework_threads(const struct device *device);
/*
 * The bytes of a buffer, for work between two runs; whoever calls waited for what was enqueued on
 * it. UNSUPPORTED: a buffer of another backend.
 */
enum status framework_memory(const struct buffer *buffer, void **ret, struct error *err);
/* Reads the inputs' buffers, fills the outputs', of a model by its number. */
enum status framework_run(struct framework *framework, size_t model, struct error *err);
void framework_describe(const struct framework *framework, struct framework_info *ret);
void framework_close(struct framework *framework); /* takes NULL */

#endif
