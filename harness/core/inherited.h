/* inherited - what a process gets from the one that started it, put into the state assay expects.
 */
#ifndef ASSAY_CORE_INHERITED_H
#define ASSAY_CORE_INHERITED_H

#include "harness/core/status.h"

/*
 * At the start of main, before a thread, a file or a child is made; children of this process begin
 * with most of it:
 *   - descriptors 0, 1 and 2 that are closed become ones that refuse as closed ones do;
 *   - no signal is blocked; SIGCHLD is not ignored, so that the end of a child is reported; SIGPIPE
 * and SIGXFSZ are, so that writing fails with its reason. Others stay ignored if they were (nohup);
 *   - whoever makes a file may read and write it, whatever the umask says;
 *   - the limits of stack and open files are raised to the usual ones, as far as the hard limits
 *     allow, and threads have a stack of the usual size, however short or long that limit is.
 * NO_MEMORY: the hard limit leaves a stack too short to work with.
 */
enum status inherited_reset(struct error *err);

#endif
