/* bundle_importer - state of importing a bundle. For results/bundle_*.c only. */
#ifndef ASSAY_RESULTS_BUNDLE_IMPORTER_H
#define ASSAY_RESULTS_BUNDLE_IMPORTER_H

#include "results/bundle.h"
#include "results/bundle_table.h"

#define BUNDLE_TABLES_MAX 64

struct bundle_importer {
    struct store *store;
    const char *path;
    const struct bundle_visitor *outer;
    struct bundle_import *summary;
    struct bundle_table tables[BUNDLE_TABLES_MAX];
    size_t table_count;
    sqlite3_stmt *remember, *recall, *withhold;
    char *origin, *note;
    char first_uid[STORE_UID_SIZE];
    int64_t size;
    struct digest root;
    json_t *new_uids;
    /* of the row at hand */
    struct digest commitments[BUNDLE_COLUMNS_MAX];
    bool is_withheld[BUNDLE_COLUMNS_MAX];
};

/* ---- bundle_bind.c ---- */

/* Row numbers in this database by those in the bundle, of the rows imported so far. */
enum status bundle_remember(struct bundle_importer *importer, const char *table, int64_t there,
                            int64_t here, struct error *err);
bool bundle_recall(struct bundle_importer *importer, const char *table, int64_t there,
                   int64_t *ret);

/*
 * Binds column `i` of the row as parameter `number`, renumbered for this database; a placeholder
 * where it is withheld (importer->is_withheld). CORRUPT: it is of no form, or refers to no row.
 */
enum status bundle_bind_value(struct bundle_importer *importer, const struct bundle_table *table,
                              int i, const struct bundle_row *row, sqlite3_stmt *statement,
                              int number);

/* An estimate names its trials by number: binds its body with the numbers in this database. */
enum status bundle_renumber_estimate(struct bundle_importer *importer,
                                     const struct bundle_table *table, const struct bundle_row *row,
                                     struct error *err);

#endif
