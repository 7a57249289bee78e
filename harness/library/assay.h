/*
 * assay - the library behind the program: what `assay` does with results, for other programs.
 *
 * Include this header alone, as <assay/assay.h>, from C17 or C++; `pkg-config --cflags --libs
 * assay` has the flags. The list below is what the program itself uses, and all that is exported.
 *
 * A function that these headers declare as store_open has the name assay_store_open in the library:
 * prefix.h defines the one as the other. Structs, enumerations and macros keep their names.
 *
 * Nothing is promised before 1.0 but this: a release whose headers are not compatible with the one
 * before it has another soname (libassay.so.0.2, libassay.so.0.3), and files are read and migrated
 * from 0.2 on.
 *
 * Measuring starts the running executable again, as a worker, and records its digest, so that in
 * any other program no device is found and no trial starts: start `assay run`.
 */
#ifndef ASSAY_LIBRARY_ASSAY_H
#define ASSAY_LIBRARY_ASSAY_H

/* Outside of extern "C", since C++ has its own declarations in some of them. */
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include <jansson.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "harness/library/prefix.h"

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/declaration.h"
#include "harness/core/digest.h"
#include "harness/core/embed.h"
#include "harness/core/file.h"
#include "harness/core/inherited.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/core/number.h"
#include "harness/core/precision.h"
#include "harness/core/reading.h"
#include "harness/core/shortage.h"
#include "harness/core/status.h"
#include "harness/core/shape.h"
#include "harness/core/shell.h"
#include "harness/core/text.h"
#include "harness/core/type.h"
#include "harness/core/workload_cost.h"
#include "harness/core/version.h"
#include "workloads/declared.h"
#include "protocols/acceptance.h"
#include "protocols/comparability.h"
#include "protocols/contract.h"
#include "protocols/cost.h"
#include "protocols/decision.h"
#include "protocols/compare.h"
#include "protocols/compare_unpaired.h"
#include "protocols/estimate.h"
#include "protocols/finding.h"
#include "protocols/metric.h"
#include "protocols/protocol.h"
#include "protocols/serving/change.h"
#include "protocols/serving/power.h"
#include "protocols/serving/request.h"
#include "protocols/serving/trace.h"
#include "protocols/stats/order.h"
#include "protocols/stats/succession.h"
#include "results/store/store.h"
#include "results/store/stored.h"
#include "results/analysis/calibration.h"
#include "results/analysis/campaign_comparison.h"
#include "results/analysis/contention.h"
#include "results/analysis/peak_share.h"
#include "results/analysis/fleet_plan.h"
#include "results/analysis/gate.h"
#include "results/analysis/history.h"
#include "results/analysis/judgement.h"
#include "results/analysis/pairs.h"
#include "results/analysis/repeatability.h"
#include "results/analysis/reproduction.h"
#include "results/analysis/stored_comparison.h"
#include "results/analysis/varied.h"
#include "results/evidence/bundle.h"
#include "results/evidence/key.h"
#include "results/evidence/ledger.h"
#include "results/evidence/ledger_witness.h"
#include "results/evidence/note.h"
#include "results/evidence/roster.h"
#include "results/evidence/timestamp.h"
#include "results/evidence/verify.h"
#include "results/evidence/witness.h"
#include "results/evidence/witnessing.h"
#include "results/formats/csv_export.h"
#include "results/formats/csv_import.h"
#include "results/formats/dsse.h"
#include "results/formats/export.h"
#include "results/formats/import.h"
#include "results/formats/peak_sheet.h"
#include "results/formats/price_sheet.h"
#include "reports/acceptance_document.h"
#include "reports/comparison_words.h"
#include "reports/cost_document.h"
#include "reports/decision_document.h"
#include "reports/decision_words.h"
#include "reports/doc.h"
#include "reports/doctor_document.h"
#include "reports/dossier.h"
#include "reports/history_document.h"
#include "reports/html.h"
#include "reports/plan_document.h"
#include "reports/terminal.h"
#include "reports/view.h"
#include "harness/runner/arm_spec.h"
#include "harness/runner/campaign.h"
#include "harness/runner/cell_from_record.h"
#include "harness/runner/doctor.h"
#include "harness/runner/expected.h"
#include "harness/runner/named_worker.h"
#include "harness/runner/package_install.h"
#include "harness/runner/plan.h"
#include "harness/runner/probe.h"
#include "harness/runner/probe_precisions.h"
#include "harness/runner/progress.h"
#include "harness/runner/sampler.h"
#include "harness/runner/spread.h"
#include "harness/runner/telemetry_child.h"
#include "harness/runner/tool.h"
#include "harness/runner/witness_hold.h"
#include "harness/runner/worker.h"
#include "harness/runner/worker_declared.h"

#ifdef __cplusplus
}
#endif

#endif
