/* vendors - which drivers are registered with the ICD loader, for the case that it finds none. */
#ifndef ASSAY_BACKENDS_OPENCL_VENDORS_H
#define ASSAY_BACKENDS_OPENCL_VENDORS_H

#include "backends/backend.h"
#include "harness/core/text.h"

/*
 * Appends a sentence: every driver that OCL_ICD_VENDORS or /etc/OpenCL/vendors names and why it
 * does not load, or that none is registered.
 */
void opencl_vendors_describe(struct text *text);

/* Adds the files that the loader reads to find drivers: *.icd. */
void opencl_vendors_files(struct backend_file_list *ret);

#endif
