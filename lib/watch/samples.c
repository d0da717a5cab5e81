/* SPDX-License-Identifier: MIT */
/* See lib/watch/watch.h. Records live in slabs of metadata memory that are never given back. */
#include "base/compiler.h"
#include "base/lock.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/watch/watch.h"

enum { SLAB_SHIFT = 6, SLAB = 1 << SLAB_SHIFT, SLABS = 1 << 16 };

static struct lock lock = {0, LOCK_SAMPLES};
static uint32_t slabs[SLABS]; /* meta ids */
static uint32_t count = 1, unused;
static uint64_t taken, live;

static struct sample *sample_at(uint32_t id)
{
    return (struct sample *)meta_at(slabs[id >> SLAB_SHIFT]) + id % SLAB;
}

static uint32_t id_locked(void)
{
    uint32_t id = unused;
    if (id != 0) {
        unused = sample_at(id)->next;
        return id;
    }
    if (count >> SLAB_SHIFT >= SLABS)
        return 0;
    if (slabs[count >> SLAB_SHIFT] == 0) {
        void *slab = meta_take(SLAB * sizeof(struct sample));
        if (slab == NULL)
            return 0;
        slabs[count >> SLAB_SHIFT] = meta_id(slab);
    }
    return count++;
}

uint32_t samples_add(void *block, size_t requested, size_t usable, uint32_t tid)
{
    lock_take(&lock);
    uint32_t id = id_locked();
    if (id != 0) {
        *sample_at(id) = (struct sample){block, requested, usable, os_now_ms(), tid, 0};
        live++;
    }
    taken++;
    lock_give(&lock);
    return id;
}

void samples_remove(uint32_t id)
{
    if (id == 0)
        return;
    lock_take(&lock);
    struct sample *sample = sample_at(id);
    sample->block = NULL;
    sample->next = unused;
    unused = id;
    live--;
    lock_give(&lock);
}

const struct sample *samples_get(uint32_t id)
{
    return sample_at(id);
}

void samples_resize(uint32_t id, size_t requested, size_t usable)
{
    if (id == 0)
        return;
    lock_take(&lock);
    sample_at(id)->requested = requested;
    sample_at(id)->usable = usable;
    lock_give(&lock);
}

uint64_t samples_taken(void)
{
    return load_relaxed(&taken);
}

uint64_t samples_live(void)
{
    return load_relaxed(&live);
}

void samples_recover(uint32_t parent_id)
{
    if (lock_break(&lock, parent_id))
        unused = 0; /* what waited for reuse may be torn: leave it */
}
