/*
 * dynlib - vendor libraries, opened at run time.
 *
 * A library is described by its short name ("opencl"), its sonames newest first, and a table of
 * symbols. Opening fills a struct of function pointers, all or nothing for the required ones. Both
 * are made of the rows X(result, name, parameters) of one map:
 *
 *     struct nvml_api {
 *         NVML_REQUIRED_MAP(DYNLIB_MEMBER)
 *         NVML_OPTIONAL_MAP(DYNLIB_MEMBER)
 *     };
 *     #define DYNLIB_API struct nvml_api
 *     static const struct dynlib_symbol symbols[] = {
 *         NVML_REQUIRED_MAP(DYNLIB_REQUIRED) NVML_OPTIONAL_MAP(DYNLIB_OPTIONAL)};
 *     static const struct dynlib_spec spec = DYNLIB_SPEC("nvml", sonames, symbols);
 *
 * The
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

#define DYNLIB_MEMBER(result, name, parameters) result(*name) parameters;
#define DYNLIB_REQUIRED(result, name, ...) {#name, offsetof(DYNLIB_API, name), true},
#define DYNLIB_OPTIONAL(result, name, ...) {#name, offsetof(DYNLIB_API, name), false},

struct dynlib_spec {
    const char *name;           /* "opencl" */
    const char *const *sonames; /* newest first, NULL-terminated */
    const struct dynlib_symbol *symbols;
    size_t symbol_count;
    size_t api_size; /* of the caller's struct */
};

#define DYNLIB_SPEC(library, newest_first, table)                                                  \
    {                                                                                              \
        library, newest_first, table, sizeof(table) / sizeof((table)[0]), sizeof(DYNLIB_API)       \
    }

/* The result of opening; `path` is the file that the loader really mapped. */
struct dynlib {
    void *handle; /* NULL while not open */
    char *path;   /* heap */
    char *tried;  /* heap: "libfoo.so.2: not found; libfoo.so.1: ..." for people */
};

/*
 * Opens the library and fills `ret_table` (a struct of function pointers, laid out as spec->symbols
 * says), of which the rest becomes zeros. UNAVAILABLE: no candidate loads (message lists each with
 * its reason), or a required symbol is missing (message names it and the file). `lib->tried` is
 * filled either way.
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
