/*
 * shortage - how often memory was refused to this process.
 *
 * A check that finds input wrong because it could not be read whole must not say so: it compares
 * the count before and after. Counted are errors with STATUS_NO_MEMORY, texts that could not grow,
 * and what shortage_note is called for.
 */
#ifndef ASSAY_CORE_SHORTAGE_H
#define ASSAY_CORE_SHORTAGE_H

/* Memory was refused. In any thread. */
void shortage_note(void);

unsigned long shortage_count(void);

/* From now on jansson's allocations count, too; it calls a document bad when one fails. */
void shortage_watch_json(void);

#endif
