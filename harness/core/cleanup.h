/*
 * cleanup - variables that free what they hold where their block ends, whichever way it is left: by
 * TRY (status.h), by a return, or at its end. An attribute of gcc and clang. Each has a value where
 * it is declared; a pointer whose memory another takes over is set to NULL.
 *
 * json_auto_t is the same for a reference to a JSON value (Jansson).
 */
#ifndef ASSAY_CORE_CLEANUP_H
#define ASSAY_CORE_CLEANUP_H

#include <stdlib.h>

/* CLEANUP(text_finish) struct text line = ...; calls text_finish(&line). */
#define CLEANUP(function) __attribute__((cleanup(function)))

/* AUTO_FREE char *path = ...; frees path. */
#define AUTO_FREE CLEANUP(cleanup_free)

static inline void cleanup_free(void *address)
{
    free(*(void **)address);
}

#endif
