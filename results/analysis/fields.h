/*
 * fields - a stored result as flat named values, the input of comparability.
 *
 * Names: identity.*, tool.*, device.*, host.*, cgroup.*, variable.*, load.*, kernel.FILE.*,
 * choice.* (sizes of groups and the like, the same for all trials), library.NAME (SHA-256 of the
 * file; NAME without ".so..."), jit.NAME (compiled kernels that a driver maps as libraries). A
 * value that is not known is null; "(not applicable)" is a value. A value that differs between the
 * trials of one result is null too.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_FIELDS_H
#define ASSAY_RESULTS_ANALYSIS_FIELDS_H

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/* From store_cell_json's object; new object. Only trials that ended "ok" count. NO_MEMORY. */
enum status fields_from_record(const json_t *record, json_t **ret, struct error *err);

/* The same of a stored cell. */
enum status fields_of_cell(struct store *store, int64_t cell, json_t **ret, struct error *err);

#endif
