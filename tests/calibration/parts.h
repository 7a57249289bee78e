/*
 * parts - results of a long run, stored case by case, so that it can be interrupted.
 *
 * A part is a file in a folder. It counts only for the very program that wrote it (by its digest),
 * the seed and the case: the folder never has to be cleared.
 */
#ifndef ASSAY_TESTS_CALIBRATION_PARTS_H
#define ASSAY_TESTS_CALIBRATION_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"

struct parts {
    const char *folder; /* NULL: nothing is kept */
    uint64_t seed;
    char program[65];
    bool counting;      /* parts_take only counts the cases */
    bool telling;       /* progress on standard error */
    size_t total, done; /* cases */
    int64_t start_ns;
};

/* Makes the folder when there is one. IO errors. */
enum status parts_open(struct parts *parts, const char *folder, uint64_t seed, struct error *err);

/*
 * True when `data` (`size` bytes) of the case `key` needs no measuring: it was read, or the cases
 * are just being counted (and it stays as it is). A part that does not match is ignored.
 */
bool parts_take(struct parts *parts, const char *key, void *data, size_t size);

/* Stores a case's result; ends the program where that fails, since a night's work depends on it. */
void parts_keep(struct parts *parts, const char *key, const void *data, size_t size);

#endif
