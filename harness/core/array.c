#include "harness/core/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 16 /* items */

/* 0: beyond what can be counted. */
static size_t room_of(size_t count)
{
    size_t room = count ? LEAST : 0;

    while (room < count && room)
        room *= 2;
    return room;
}

bool array_room(void *address, size_t count, size_t more, size_t size)
{
    const size_t wanted = more <= SIZE_MAX - count ? room_of(count + more) : 0;
    void *items, *grown;
    size_t bytes;

    if (wanted == room_of(count) && (wanted || more == 0))
        return true;
    if (!wanted || __builtin_mul_overflow(wanted, size, &bytes))
        return false;
    memcpy(&items, address, sizeof(items));
    grown = realloc(items, bytes);
    if (grown)
        memcpy(address, &grown, sizeof(grown));
    return grown != NULL;
}
