/*
 * dynlib - vendor libraries, opened at run time.
 *
 * A library is described by its short name ("opencl"), its sonames newest first, and a table of
 * symbols. Opening fills a struct of function pointers, all or nothing for the required ones. The
 * search order is: environment variable ASSAY_LIB_<NAME>, then each soname through the dynamic
 * loader. RTLD_NOW | RTLD_LOCAL; libraries are never closed, since vendor libraries do not survive
 * it.
 */
#ifndef ASSAY_CORE_DYNLIB_H
#define ASSAY_CORE_DYNLIB_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/status.h"

struct dynlib_symbol {
    const char *name;
    size_t offset; /* of the function pointer in the caller's struct */
    bool required; /* an optional one that is missing stays NULL */
};

#define DYNLIB_REQUIRED(type, name)                                                                \
    {                                                                                              \
#name, offsetof(type, name), true                                                          \
    }
#define DYNLIB_OPTIONAL(type, name)                                                                \
    {                                                                                              \
#name, offsetof(type, name), false                                                         \
    }

struct dynlib_spec {
    const char *name;           /* "opencl" */
    const char *const *sonames; /* newest first, NULL-terminated */
    const struct dynlib_symbol *symbols;
    size_t symbol_count;
};

/* The result of opening; `path` is the file that the loader really mapped. */
struct dynlib {
    void *handle; /* NULL while not open */
    char *path;   /* heap */
    char *tried;  /* heap: "libfoo.so.2: not found; libfoo.so.1: ..." for people */
};

/*
 * Opens the library and fills `ret_table` (a zeroed struct of function pointers, laid out as
 * spec->symbols says). UNAVAILABLE: no candidate loads (message lists each with its reason), or a
 * required symbol is missing (message names it and the file). `lib->tried` is filled either way.
 */
enum status dynlib_open(const struct dynlib_spec *spec, struct dynlib *lib, void *ret_table,
                        struct error *err);

/*
 * True once this process has opened a library with a symbol `assay_simulated`: a simulated vendor
 * library, with which no measurement is of a real device.
 */
bool dynlib_any_simulated(void);

/*
 * From now on `watcher` is called before each library is opened ("while opening libcuda.so.1") and
 * once it is ("having opened /usr/lib/libcuda.so.1"), so that a process which a library's own code
 * ends or holds up has reported where it was. NULL: no watcher.
 */
void dynlib_watch(void (*watcher)(const char *step));

/* Frees the strings; the mapping stays. Takes a zeroed or half-filled one. */
void dynlib_finish(struct dynlib *lib);

/* Path that the environment variable ASSAY_LIB_<NAME> gives for `name`, or NULL. */
const char *dynlib_override_path(const char *name);

#endif
