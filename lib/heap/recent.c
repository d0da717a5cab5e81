/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/recent.h. A ring of rows: row numbers only count up, and a row's slot is its number
 * modulo the length. A live block is found again by the address of its record, which is unique
 * while the block lives: rows of live blocks with the same hash of that address form a chain,
 * youngest first. A chain ends at the first number that the ring has already overwritten.
 *
 * There is one lock, taken only while this is on. If `changing` is set when the lock is
 * taken, the process was forked while another thread changed the ring: it is emptied.
 */
#include "lib/heap/recent.h"

#include <errno.h>
#include <string.h>

#include "base/file/sink.h"
#include "base/lock.h"
#include "base/os.h"
#include "lib/heap/threads.h"
#include "lib/watch/watch.h"

struct row {
    const struct record *record; /* NULL: the block has ended */
    uint64_t older;              /* number of the next in the chain */
    uint64_t allocated_ns, freed_ns;
    size_t requested, usable;
    uint32_t stack, free_stack;
    uint32_t allocator, allocator_id; /* row of the allocating thread, and that thread's id */
    uint32_t freer, freer_id;
};

struct ring {
    uint64_t next;  /* number of the next row; the first is 1 */
    uint64_t first; /* number of the oldest row that counts */
    uint32_t size, buckets;
    bool changing;
    struct row *rows;
    uint64_t *chains; /* numbers of rows */
};

static struct lock lock = {.rank = LOCK_RECENT};
static struct ring *ring; /* NULL: off */
static int64_t max;

static struct ring *ring_make(uint32_t size);
static void ring_drop(struct ring *old);
static struct row *row_of(const struct ring *in, uint64_t number);
static void ring_add(struct ring *to, const struct row *row);
static struct row *ring_take(struct ring *in, const struct record *record);
static struct ring *ring_open(void);
static void ring_close(void);

int64_t recent_max(void)
{
    return load_relaxed(&max);
}

int recent_set_max(int64_t blocks)
{
    struct ring *made = NULL;
    if (blocks != 0) {
        made = ring_make(blocks < 0 || blocks > RECENT_MAX ? RECENT_MAX : (uint32_t)blocks);
        if (made == NULL)
            return ENOMEM;
    }
    struct ring *old = ring_open();
    if (old != NULL && made != NULL) {
        uint64_t number = old->next - old->first > made->size ? old->next - made->size : old->first;
        for (; number < old->next; number++)
            ring_add(made, row_of(old, number));
    }
    ring = made;
    store_relaxed(&max, blocks);
    block_events_switch(BLOCK_RECENT, made != NULL);
    ring_close();
    ring_drop(old);
    return 0;
}

void recent_begin(const struct record *record, uint32_t stack, size_t requested, size_t usable)
{
    uint32_t self = threads_self();
    struct row row = {
        .record = record,
        .allocated_ns = os_now_ns(),
        .requested = requested,
        .usable = usable,
        .stack = stack,
        .allocator = self,
        .allocator_id = threads_id(self),
    };
    struct ring *to = ring_open();
    if (to != NULL)
        ring_add(to, &row);
    ring_close();
}

void recent_end(const struct record *record, uint32_t stack)
{
    uint32_t self = threads_self();
    uint64_t now_ns = os_now_ns();
    struct ring *in = ring_open();
    struct row *row = in == NULL ? NULL : ring_take(in, record);
    if (row != NULL) {
        row->record = NULL;
        row->freed_ns = now_ns;
        row->free_stack = stack;
        row->freer = self;
        row->freer_id = threads_id(self);
    }
    ring_close();
}

static size_t ring_bytes(uint32_t size, uint32_t buckets)
{
    return sizeof(struct ring) + size * sizeof(struct row) + buckets * sizeof(uint64_t);
}

static struct ring *ring_make(uint32_t size)
{
    uint32_t buckets = 1;
    while (buckets < size)
        buckets *= 2;
    struct ring *made = os_map(ring_bytes(size, buckets));
    if (made == NULL)
        return NULL;
    made->next = made->first = 1;
    made->size = size;
    made->buckets = buckets;
    made->rows = (struct row *)(made + 1);
    made->chains = (uint64_t *)(made->rows + size);
    return made;
}

static void ring_drop(struct ring *old)
{
    if (old != NULL)
        os_unmap(old, ring_bytes(old->size, old->buckets));
}

static struct row *row_of(const struct ring *in, uint64_t number)
{
    return &in->rows[number % in->size];
}

static uint64_t *chain_of(const struct ring *in, const struct record *record)
{
    uint64_t hash = hash_word((uintptr_t)record);
    return &in->chains[(hash >> 32) & (in->buckets - 1)];
}

/* Overwrites the oldest row if the ring is full. */
static void ring_add(struct ring *to, const struct row *row)
{
    uint64_t number = to->next++;
    struct row *place = row_of(to, number);
    if (number - to->first == to->size)
        to->first++;
    *place = *row;
    if (row->record != NULL) {
        uint64_t *chain = chain_of(to, row->record);
        place->older = *chain;
        *chain = number;
    }
}

/* Takes the row of a live block out of its chain. NULL if it has none. */
static struct row *ring_take(struct ring *in, const struct record *record)
{
    uint64_t *link = chain_of(in, record);
    while (*link >= in->first) {
        struct row *row = row_of(in, *link);
        if (row->record == record) {
            *link = row->older;
            return row;
        }
        link = &row->older;
    }
    return NULL;
}

/* Takes the lock. NULL while this is off. */
static struct ring *ring_open(void)
{
    lock_take(&lock);
    if (ring == NULL)
        return NULL;
    if (ring->changing) {
        ring->first = ring->next;
        memset(ring->chains, 0, ring->buckets * sizeof *ring->chains);
    }
    ring->changing = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return ring;
}

static void ring_close(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (ring != NULL)
        ring->changing = false;
    lock_give(&lock);
}

/* The keys "alloc_..." or "dalloc_...": thread, time, stack. `named` is the last thread whose name
 * was asked for, because that takes system calls. */
static void write_hand(struct sink *sink, const char *hand, uint32_t thread, uint32_t id,
                       uint64_t time_ns, uint32_t stack, struct thread_row *named)
{
    if (named->id != id && !threads_row(thread, named))
        named->id = UINT32_MAX;
    sink_format(sink, ",\"%s_thread_uid\":%u", hand, id);
    if (named->id == id && id != UINT32_MAX && named->name[0] != '\0') {
        sink_format(sink, ",\"%s_thread_name\":", hand);
        block_write_text(sink, named->name);
    }
    sink_format(sink, ",\"%s_time\":%lu,\"%s_trace\":", hand, time_ns, hand);
    block_write_stack(sink, stack);
}

static void write_row(struct sink *sink, const struct row *row, struct thread_row *named)
{
    bool released = row->record == NULL;
    sink_format(sink, "{\"size\":%lu,\"usize\":%lu,\"released\":%s", row->requested, row->usable,
                released ? "true" : "false");
    write_hand(sink, "alloc", row->allocator, row->allocator_id, row->allocated_ns, row->stack,
               named);
    if (released)
        write_hand(sink, "dalloc", row->freer, row->freer_id, row->freed_ns, row->free_stack,
                   named);
    sink_text(sink, "}");
}

int recent_write(struct sink *sink, uint64_t sample_interval)
{
    struct ring *from = ring_open();
    uint64_t count = from == NULL ? 0 : from->next - from->first;
    size_t bytes = count * sizeof(struct row);
    struct row *rows = count == 0 ? NULL : os_map(bytes);
    for (uint64_t i = 0; rows != NULL && i < count; i++)
        rows[i] = *row_of(from, from->first + i);
    int64_t kept = max;
    ring_close();
    if (count > 0 && rows == NULL)
        return ENOMEM;
    struct thread_row named = {.id = UINT32_MAX};
    sink_format(sink, "{\"sample_interval\":%lu,\"recent_alloc_max\":%ld,\"recent_alloc\":[",
                sample_interval, (long)kept);
    for (uint64_t i = 0; i < count; i++) {
        if (i > 0)
            sink_text(sink, ",");
        write_row(sink, &rows[i], &named);
    }
    sink_text(sink, "]}");
    if (rows != NULL)
        os_unmap(rows, bytes);
    return sink_flush(sink);
}

void recent_recover(uint32_t parent_id)
{
    lock_break(&lock, parent_id);
}

void recent_abandoned(void)
{
    if (lock_is_own(&lock))
        lock_give(&lock);
}
