/*
 * campaign_trace - one iteration of each cell in the JSON of Chrome's trace format ("Trace Event
 * Format", 2016), which Perfetto and TensorBoard open.
 *
 * A worker of its own runs the iteration after the campaign's trials, with their choices: no timed
 * window, sample or record knows of it.
 */
#ifndef ASSAY_RUNNER_CAMPAIGN_TRACE_H
#define ASSAY_RUNNER_CAMPAIGN_TRACE_H

#include "harness/runner/campaign.h"

/*
 * Whether assay itself runs the operations of a cell, from the body of its "trial" message and the
 * name of its worker (NULL: assay's own). UNSUPPORTED: what does, and what to write instead.
 */
enum status campaign_trace_check(const json_t *message, const char *worker, struct error *err);

/*
 * Traces each cell that has a trial that is ok, and writes the file. Of each operation it has
 * bytes, FLOPs and what bounds it: `launch`, `memory` or `compute`, by which it would take longest
 * at the best rate of this database's results on the device (launch; copy, scale, add, triad or
 * dot; GEMMs of the precision), `none` where that is less than a tenth of its time, `input` for
 * copies from the host, else `unknown`. A cell that cannot be traced is a warning. NOT_FOUND: there
 * is none that could.
 */
enum status campaign_trace_write(const struct campaign *campaign, const char *path, int wake_fd,
                                 struct error *err);

#endif
