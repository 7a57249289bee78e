/* bundle_table - what the importer must know of a table to give its rows new numbers. */
#ifndef ASSAY_RESULTS_BUNDLE_TABLE_H
#define ASSAY_RESULTS_BUNDLE_TABLE_H

#include "results/store_internal.h"

#define BUNDLE_COLUMNS_MAX 32

struct bundle_column {
    char name[64];
    char parent[64]; /* table whose id it holds; "": none */
    bool is_blob;
};

struct bundle_table {
    char name[64];
    struct bundle_column columns[BUNDLE_COLUMNS_MAX];
    int column_count;
    int id;         /* column that is the row's number; -1: none */
    int key;        /* column that is the whole primary key; -1: several are */
    bool is_shared; /* its rows may be here already without being of a campaign */
    const char *const
        *same; /* columns that make two rows the same, in `find`'s order; NULL: none */
    sqlite3_stmt *insert, *find, *taken;
};

/* Fills a table whose name is set. Finish it also when this fails. */
enum status bundle_table_prepare(struct store *store, struct bundle_table *table,
                                 struct error *err);
void bundle_table_finish(struct bundle_table *table);

/* A statement that is used repeatedly; the caller finalizes it. */
enum status bundle_prepare(struct store *store, const char *sql, sqlite3_stmt **ret,
                           struct error *err);
/* What SQLite said last, as an error of the import. */
enum status bundle_failed(struct store *store, struct error *err);

#endif
