#include "harness/core/shortage.h"

#include <stdatomic.h>
#include <stddef.h>

#include <jansson.h>

static atomic_ulong count;

void shortage_note(void)
{
    atomic_fetch_add(&count, 1);
}

unsigned long shortage_count(void)
{
    return atomic_load(&count);
}

static json_malloc_t json_allocate;

static void *watched(size_t size)
{
    void *memory = json_allocate(size);

    if (!memory && size > 0)
        shortage_note();
    return memory;
}

void shortage_watch_json(void)
{
    json_malloc_t allocate;
    json_free_t release;

    json_get_alloc_funcs(&allocate, &release);
    if (allocate == watched)
        return;
    json_allocate = allocate;
    json_set_alloc_funcs(watched, release);
}
