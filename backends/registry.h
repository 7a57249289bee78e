/*
 * registry - what the registry and the wrappers share inside this directory; callers use backend.h.
 */
#ifndef ASSAY_BACKENDS_REGISTRY_H
#define ASSAY_BACKENDS_REGISTRY_H

#include "backends/backend.h"

/*
 * INTERNAL, naming the hook, when a table lacks a hook that is not optional, or has only some of
 * the hooks that go together (events).
 */
enum status backend_ops_check(const struct backend_ops *ops, struct error *err);
enum status device_ops_check(const struct device_ops *ops, struct error *err);

/*
 * Puts another table in place of the compiled-in one, for tests; NULL restores the real one. The
 * array belongs to the caller.
 */
void backend_registry_replace(struct backend *backends, size_t count);

#endif
