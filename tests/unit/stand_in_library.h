/*
 * stand_in_library - a library of GEMMs that computes on the host, so that our side of it is
 * tested; cheats on request.
 */
#ifndef ASSAY_TESTS_UNIT_STAND_IN_LIBRARY_H
#define ASSAY_TESTS_UNIT_STAND_IN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/backend.h"

/* Ways in which a library could be faster, or wrong. */
enum stand_in_cheat {
    HONEST,
    NEGATES,     /* one element */
    ZEROS,       /* instead of C */
    NARROW,      /* operands, to the type `to` */
    NARROW_SUMS, /* to f16, after every 16 products */
    SKIPS,       /* 32 products in the middle of every sum */
    SWAPS,       /* two neighbouring elements in the middle */
};

/* Its settings, and what it did. One library, the same for all tests of a process. */
struct stand_in {
    enum support support; /* as it reports */
    enum stand_in_cheat cheat;
    enum dtype to;
    bool only_fnuz; /* refuses OCP's e4m3 */
    size_t created, run;
};
extern struct stand_in stand_in;

/* Gives the device this library in place of its own, native and honest. */
void stand_in_add(struct device *device);
/* Removes it; fails the test where a product was not released. */
void stand_in_remove(struct device *device);

#endif
