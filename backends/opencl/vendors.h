/* vendors - which drivers are registered with the ICD loader, for the case that it finds none. */
#ifndef ASSAY_BACKENDS_OPENCL_VENDORS_H
#define ASSAY_BACKENDS_OPENCL_VENDORS_H

#include "harness/core/text.h"

/*
 * Appends a sentence: every driver that OCL_ICD_VENDORS or /etc/OpenCL/vendors names and why it
 * does not load, or that none is registered.
 */
void opencl_vendors_describe(struct text *text);

#endif
