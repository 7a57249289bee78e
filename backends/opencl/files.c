/* What the loader and PoCL read and run in addition to what they map. */
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"
#include "backends/opencl/vendors.h"

/*
 * PoCL keeps the headers (and, in some builds, bitcode) that every kernel is compiled with below
 * share/pocl, which it finds relative to its own path, lib/MACHINE/libpocl.so.2 or
 * lib/libpocl.so.2; the clang inside it runs the system's linker. The compiler itself is mapped.
 */
static void add_pocl(const char *library, struct backend_file_list *ret)
{
    static const char *const ways[] = {"../../share/pocl", "../share/pocl"};
    const char *slash = strrchr(library, '/');
    const size_t before = ret->count;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && ret->count == before; i++) {
        char *folder =
            text_format("%.*s/%s", slash != NULL ? (int)(slash - library) : 0, library, ways[i]);

        if (folder != NULL)
            backend_file_list_add_folder(ret, "compiler", folder);
        else
            ret->failed = true;
        free(folder);
    }
    backend_file_list_add(ret, "compiler", "ld", NULL);
}

void opencl_files(struct backend *backend, uint32_t index, struct backend_file_list *ret)
{
    const struct opencl_state *state = backend->state;
    const char *library = state->slots[index].platform->library;
    const char *base = library != NULL ? strrchr(library, '/') : NULL;

    opencl_vendors_files(ret);
    if (base != NULL && strncmp(base, "/libpocl", 8) == 0)
        add_pocl(library, ret);
}
