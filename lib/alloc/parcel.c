/* SPDX-License-Identifier: MIT */
/* See lib/alloc/parcel.h. */
#include "lib/alloc/parcel.h"

#include <string.h>

#include "lib/window/window.h"

enum { BLOCKS_MAX = 62 }; /* with its head, a piece of 512 bytes */

static size_t parcel_bytes(unsigned count);

unsigned parcels_add(uint32_t *parcels, void *const *blocks, unsigned count)
{
    unsigned done = 0;
    while (done < count) {
        unsigned some = count - done < BLOCKS_MAX ? count - done : BLOCKS_MAX;
        struct parcel *parcel = meta_take(parcel_bytes(some));
        if (parcel == NULL)
            break;
        parcel->count = some;
        memcpy(parcel->blocks, blocks + done, some * sizeof *blocks);
        parcel->next = load_relaxed(parcels);
        while (!__atomic_compare_exchange_n(parcels, &parcel->next, meta_id(parcel), true,
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            ;
        done += some;
    }
    return done;
}

struct parcel *parcels_take(uint32_t *parcels)
{
    uint32_t first = load_acquire(parcels);
    while (first != 0) { /* ends: only other threads' additions make it fail */
        struct parcel *parcel = meta_at(first);
        if (__atomic_compare_exchange_n(parcels, &first, parcel->next, true, __ATOMIC_ACQUIRE,
                                        __ATOMIC_ACQUIRE))
            return parcel;
    }
    return NULL;
}

void parcel_end(struct parcel *parcel)
{
    meta_give(parcel, parcel_bytes(parcel->count));
}

static size_t parcel_bytes(unsigned count)
{
    return sizeof(struct parcel) + count * sizeof(void *);
}
