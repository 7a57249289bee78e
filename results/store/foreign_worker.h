/*
 * foreign_worker - which trials another program than assay's own worker measured, as SQL.
 *
 * The harness records ASSAY_WORKER with each trial that such a program measures
 * (harness/runner/PROTOCOL.md). The reading's name is never withheld; its value, a path, may be.
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

/* Whether such a program measured the trial of this row id. */
#define FOREIGN_WORKER_IS_OF(trial)                                                                \
    "EXISTS (SELECT 1" FOREIGN_WORKER_ROWS("SELECT readings FROM environment WHERE trial = " trial \
                                           " AND at = 'host'") ")"

/* Its path, "(withheld)" where that is, NULL where assay measured. */
#define FOREIGN_WORKER_PATH(sets)                                                                  \
    "(SELECT coalesce(json_extract(fr.body, '$.value'), '(withheld)')" FOREIGN_WORKER_ROWS(        \
        sets) " ORDER BY fr.id DESC LIMIT 1)"
#define FOREIGN_WORKER_OF(trial)                                                                   \
    FOREIGN_WORKER_PATH("SELECT readings FROM environment WHERE trial = " trial " AND at = "       \
                        "'host'")
/* Of any trial of the cell, whatever came of it. */
#define FOREIGN_WORKER_OF_CELL(cell)                                                               \
    FOREIGN_WORKER_PATH("SELECT fe.readings FROM trial ft JOIN environment fe"                     \
                        " ON fe.trial = ft.id AND fe.at = 'host' WHERE ft.cell = " cell)

#endif
