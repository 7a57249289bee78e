/*
 * crash_context - where a process was when something ended it, for the process that watches it.
 *
 * A vendor's library may crash, call exit(), or never return. A child of ours that works with one
 * then writes, as its last line on stderr, in which library's function it was: the one that our own
 * code had called. SIGTERM counts as well, since it ends a process that has been silent too long.
 */
#ifndef ASSAY_CORE_CRASH_CONTEXT_H
#define ASSAY_CORE_CRASH_CONTEXT_H

/*
 * From now on a fatal signal, SIGTERM or an exit() called by foreign code is reported: "held up in
 * cuMemAlloc of /usr/lib/libcuda.so.1" and the like. Reports nothing where no library's function is
 * found between us and the end, or the C library cannot walk the stack. Handlers that were there
 * before still get the signal. Once a process.
 */
void crash_context_begin(void);

/* The process is about to end normally: exit() is no longer reported, signals are. */
void crash_context_end(void);

#endif
