/*
 * launch_recorder - a device that runs nothing and writes down what is launched.
 *
 * A line a launch: kernel, module, groups, arguments. Modules (text, lanes, defines) and buffers
 * (bytes) are numbered in the order in which launches use them first. Buffers read as zeros.
 */
#ifndef ASSAY_TESTS_UNIT_LAUNCH_RECORDER_H
#define ASSAY_TESTS_UNIT_LAUNCH_RECORDER_H

#include "backends/backend.h"
#include "harness/core/text.h"

struct launch_recorder {
    struct device device; /* first */
    struct text lines;
    uint32_t buffers, modules; /* used so far */
};

void launch_recorder_init(struct launch_recorder *recorder, enum device_type type);
void launch_recorder_finish(struct launch_recorder *recorder);

#endif
