/*
 * assay - libassay: what `assay` does with results, for other programs, from C17 and C++17.
 * `pkg-config --cflags --libs assay` has the flags.
 *
 *     struct assay_store *store = NULL;
 *
 *     if (assay_store_open("results.db", ASSAY_READ, 0, &store) != ASSAY_OK)
 *         fprintf(stderr, "%s\n", assay_error_message());
 *
 * Handles (store, results, estimate, comparison, verification) are opaque; each has one
 * function that frees it, which takes NULL. A struct with data is the library's, read through a
 * pointer, and lives as long as its handle; later versions add members at its end, so that it is
 * never copied by its size. A struct of options is the caller's: its INIT sets `size`, by which the
 * library knows the members that the caller does, and the rest to 0, which is the default of each.
 *
 * Text is UTF-8 and not escaped: names in a file are whoever made the file's. NULL is text that is
 * not known, NAN a number that is not. Times are seconds, and sizes bytes, where nothing is said.
 *
 * A handle belongs to one thread at a time; different handles may be used by different threads.
 * Warnings are written to standard error.
 */
#ifndef ASSAY_ASSAY_H
#define ASSAY_ASSAY_H

#include <assay/call.h>
#include <assay/compare.h>
#include <assay/error.h>
#include <assay/estimate.h>
#include <assay/result.h>
#include <assay/store.h>
#include <assay/verify.h>

#endif
