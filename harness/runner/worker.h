/* worker - one trial, from the inside: the process that `assay run` starts for each. */
#ifndef ASSAY_RUNNER_WORKER_H
#define ASSAY_RUNNER_WORKER_H

/*
 * Speaks the worker protocol on descriptors 3 and 4, runs the trial that it receives, and returns
 * the process's exit status: 0 when an "end" was sent, whatever its status.
 */
int worker_main(void);

#endif
