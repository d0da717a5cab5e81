/* SPDX-License-Identifier: MIT */
/* See lib/guard/debug_queue.h. A ring: an entry is complete before `end` counts it, so a thread
 * that is cut off leaves a queue that can be used. */
#include "lib/guard/debug_queue.h"

#include "base/os.h"

/* The option debug.queue bounds their bytes, and half of this their number: the other half is room
 * for what threads push before one of them takes the oldest out. */
enum { ENTRIES = 1 << 16 };

struct lock debug_queue_lock = {.rank = LOCK_GUARD};

static struct debug_entry *ring;
static uint64_t first, end; /* counted from the start of the process */
static size_t limit, bytes;
static const int32_t *flag;
static int32_t flag_before;

static size_t weight(const struct debug_entry *entry);

void debug_queue_limit(size_t max, const int32_t *changed)
{
    limit = max;
    flag = changed;
    flag_before = changed == NULL ? 0 : *changed;
}

static size_t limit_now(void)
{
    int32_t now = flag == NULL ? 0 : load_relaxed(flag);
    return flag == NULL || now == flag_before ? limit : now < 0 ? 0 : (size_t)now;
}

bool debug_queue_push(const struct debug_entry *entry)
{
    lock_take(&debug_queue_lock);
    if (ring == NULL)
        store_release(&ring, (struct debug_entry *)os_map(ENTRIES * sizeof *ring));
    bool fits = ring != NULL && end - first < ENTRIES;
    if (fits) {
        ring[end % ENTRIES] = *entry;
        bytes += weight(entry);
        store_release(&end, end + 1);
    }
    lock_give(&debug_queue_lock);
    return fits;
}

bool debug_queue_pop(struct debug_entry *entry, bool all)
{
    lock_take(&debug_queue_lock);
    bool over = end != first && (all || bytes > limit_now() || end - first > ENTRIES / 2);
    if (over) {
        *entry = ring[first % ENTRIES];
        bytes -= weight(entry);
        store_release(&first, first + 1);
    }
    lock_give(&debug_queue_lock);
    return over;
}

static size_t weight(const struct debug_entry *entry)
{
    return entry->place.start == NULL ? entry->size : entry->place.room;
}

bool debug_queue_find(const char *p, struct debug_entry *found)
{
    bool any = false;
    lock_take(&debug_queue_lock);
    for (uint64_t i = end; i != first && !any; i--) {
        *found = ring[(i - 1) % ENTRIES];
        any = found->place.start != NULL &&
              (found->p == p || (size_t)(p - found->place.start) < found->place.room);
    }
    lock_give(&debug_queue_lock);
    return any;
}

void debug_queue_each(void (*each)(const struct debug_entry *entry))
{
    lock_take(&debug_queue_lock);
    for (uint64_t i = first; i != end; i++)
        each(&ring[i % ENTRIES]);
    lock_give(&debug_queue_lock);
}

struct debug_queue_sums debug_queue_sums(void)
{
    lock_take(&debug_queue_lock);
    struct debug_queue_sums sums = {end - first, bytes};
    lock_give(&debug_queue_lock);
    return sums;
}

size_t debug_queue_resident(size_t parts_max)
{
    struct debug_entry *now = load_acquire(&ring);
    return now == NULL ? 0 : os_resident(now, ENTRIES * sizeof *now, parts_max);
}

static void count_again(void)
{
    bytes = 0;
    for (uint64_t i = first; i != end; i++)
        bytes += weight(&ring[i % ENTRIES]);
}

void debug_queue_recover(uint32_t parent_id)
{
    if (lock_break(&debug_queue_lock, parent_id))
        count_again();
}

void debug_queue_abandoned(void)
{
    if (!lock_is_own(&debug_queue_lock))
        return;
    count_again();
    lock_give(&debug_queue_lock);
}
