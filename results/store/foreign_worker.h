/*
 * foreign_worker - which trials another program than assay's own worker measured, as SQL.
 *
 * The harness records ASSAY_WORKER with each trial that such a program measures
 * (harness/runner/PROTOCOL.md). The reading's name is never withheld; its value, a path, may be.
 * A declared worker's trial is none of these where assay compared its outputs: it has the reading,
 * and "checks" in what the harness saw of it.
 */
#ifndef ASSAY_RESULTS_STORE_FOREIGN_WORKER_H
#define ASSAY_RESULTS_STORE_FOREIGN_WORKER_H

#define FOREIGN_WORKER_READING "variable.ASSAY_WORKER"

/*
 * The members and readings of the sets that `sets` gives, those of such a program alone. CROSS
 * JOIN: readings have no index of names, and a set is short.
 */
#define FOREIGN_WORKER_ROWS(sets)                                                                  \
    " FROM reading_member fm CROSS JOIN reading fr ON fr.id = fm.reading WHERE fm.reading_set IN " \
    "(" sets ") AND fr.name = '" FOREIGN_WORKER_READING "'"

/* Whether the program of the trial of this row id was a declared worker that assay checked. */
#define FOREIGN_WORKER_CHECKED(trial)                                                              \
    "EXISTS (SELECT 1 FROM trial_end fx WHERE fx.trial = " trial                                   \
    " AND fx.facts ->> '$.conduct.checks' = 'assay')"

/* Whether what is said of it is its program's word: it measured, and assay did not check. */
#define FOREIGN_WORKER_UNCHECKED(trial)                                                            \
    "NOT EXISTS (SELECT 1 FROM trial_end fx WHERE fx.trial = " trial                               \
    " AND (fx.facts ->> '$.conduct.checks' = 'assay' OR fx.status = 'unsupported'))"

/* Whether any other program than assay's own was the worker of the trial of this row id. */
#define FOREIGN_WORKER_RAN(trial)                                                                  \
    "EXISTS (SELECT 1" FOREIGN_WORKER_ROWS("SELECT readings FROM environment WHERE trial = " trial \
                                           " AND at = 'host'") ")"

/* Whether such a program measured it, unchecked. */
#define FOREIGN_WORKER_IS_OF(trial)                                                                \
    "(" FOREIGN_WORKER_RAN(trial) " AND " FOREIGN_WORKER_UNCHECKED(trial) ")"

/* Its path, "(withheld)" where that is, NULL where assay measured. */
#define FOREIGN_WORKER_PATH(sets, condition)                                                       \
    "(SELECT coalesce(json_extract(fr.body, '$.value'), '(withheld)')" FOREIGN_WORKER_ROWS(        \
        sets) " AND " condition " ORDER BY fr.id DESC LIMIT 1)"
#define FOREIGN_WORKER_OF(trial)                                                                   \
    FOREIGN_WORKER_PATH("SELECT readings FROM environment WHERE trial = " trial " AND at = "       \
                        "'host'",                                                                  \
                        FOREIGN_WORKER_UNCHECKED(trial))
/* Of any trial of the cell, whatever came of it. */
#define FOREIGN_WORKER_OF_CELL(cell)                                                               \
    FOREIGN_WORKER_PATH(                                                                           \
        "SELECT fe.readings FROM trial ft JOIN environment fe"                                     \
        " ON fe.trial = ft.id AND fe.at = 'host' WHERE ft.cell = " cell,                           \
        "EXISTS (SELECT 1 FROM trial ft JOIN environment fe ON fe.trial = ft.id AND fe.at = "      \
        "'host' WHERE ft.cell = " cell                                                             \
        " AND fe.readings = fm.reading_set AND " FOREIGN_WORKER_UNCHECKED("ft.id") ")")

#endif
