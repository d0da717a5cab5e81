/* SPDX-License-Identifier: MIT */
/*
 * See lib/alloc/large.h. Taking and giving are those of pages.c. What is special here: calloc of
 * memory that may be dirty, where clearing resident pages and returning the others to the kernel is
 * faster than writing all of it; realloc in place; and blocks whose pages were moved.
 */
#include "lib/alloc/large.h"

#include <string.h>

#include "lib/alloc/held.h"
#include "lib/alloc/tail.h"
#include "lib/window/window.h"

enum {
    UNITS_MAX = 1u << 31,
    SPARSE_MIN = 256 << 10, /* bytes; below, pages that hold nothing are copied as well */
    MOVED_MAX = 1000, /* blocks at a time; each costs two mappings, of 65,530 that a process has */
};

struct large_count large_counts[LARGE_SIZES];
static uint32_t moved_count;

static size_t run_units(size_t units);

void *large_take(unsigned pool, size_t size, size_t align, bool *zero)
{
    size_t units = size / UNIT + (size % UNIT != 0);
    size_t align_units = align <= UNIT ? 1 : align >> UNIT_SHIFT;
    if (units >= UNITS_MAX || align_units >= UNITS_MAX || units + align_units >= UNITS_MAX)
        return NULL;
    struct span *span = pages_take(pool, (uint32_t)run_units(units), (uint32_t)align_units);
    if (span == NULL)
        return NULL;
    *zero = span->zero;
    span->mark = MARK_LARGE;
    span->kinds = 0;
    span->record = 0;
    span->zero = false;
    span->length = (uint32_t)units;
    span->moved = false;
    span->slack = 0;
    span_set_units(span, false);
    store_relaxed(&window.kinds[span->first], MARK_LARGE);
    store_release(&span->state, SPAN_LARGE);
    held_add(large_size(span));
    if (unlikely(harden_on))
        tail_large_begin(span, size);
    return span_start(span);
}

/* Runs up to 1 MiB have eight lengths a doubling: the next block of about this size finds the run
 * of one before it, and begins where memory is in use already. The part of
 * the run behind the block is not touched. */
static size_t run_units(size_t units)
{
    /* Units: 64 KiB to 1 MiB, the runs that stay alone. */
    enum { ROUNDED_MIN = 16, ROUNDED_MAX = 256 };
    if (units < ROUNDED_MIN || units > ROUNDED_MAX || harden_on)
        return units;
    size_t step = (size_t)1 << (28 - __builtin_clz((unsigned)units));
    return (units + step - 1) & ~(step - 1);
}

/* Whether the page was in memory: a first write to one that is not takes the kernel's time. No
 * system call asks: programs may have forbidden themselves mincore. A wrong answer costs time. */
static bool was_resident(volatile char *page)
{
    enum { FAULT_NS = 200 }; /* a write takes a tenth of it, a fault several times as long */
    uint64_t start = os_now_ns();
    *page = 0;
    return os_now_ns() - start < FAULT_NS;
}

/* Whole pages, in pieces. Pieces that are in memory are written; the kernel is told to forget the
 * others, which costs no fault (and drops what was swapped out). True if all were in. */
static bool clear_pages(char *at, size_t bytes)
{
    /* One look each, by a write: 64 pages are there or not as a whole. */
    enum { PIECE = 256 << 10 };
    char *missing = NULL; /* where pieces that are not in memory begin, up to `at` */
    bool all = true;
    for (char *end = at + bytes, *next; at < end; at = next) {
        next = (size_t)(end - at) > PIECE ? at + PIECE : end;
        bool resident = was_resident(at);
        if (!resident && missing == NULL)
            missing = at;
        if (missing != NULL && (resident || next == end)) {
            size_t gap = (size_t)((resident ? at : next) - missing);
            huge_leave(missing, gap);
            if (!os_return(missing, gap))
                memset(missing, 0, gap);
            missing = NULL;
        }
        if (resident)
            memset(at, 0, (size_t)(next - at));
        all &= resident;
    }
    return all;
}

void large_clear(void *block, size_t size)
{
    enum { LOOK_MIN = 128 << 10 }; /* below it a memset costs less than a look at each page */
    bool ours = window_has(block) && mark_of(block) != MARK_FREE;
    if (size < LOOK_MIN || !ours || span_of(block)->full) {
        memset(block, 0, size);
        return;
    }
    struct span *span = span_of(block);
    size_t page = os_page_size();
    char *start = block, *end = start + size;
    char *first = (char *)(((uintptr_t)start + page - 1) & ~(uintptr_t)(page - 1));
    char *last = (char *)((uintptr_t)end & ~(uintptr_t)(page - 1));
    memset(start, 0, (size_t)(first - start));
    memset(last, 0, (size_t)(end - last));
    span->full = clear_pages(first, (size_t)(last - first)) && units_of(size) == span->units;
}

/* Memory that was moved here stays a mapping of its own for ever, which the kernel can't join with
 * its neighbours: fresh memory takes the place of all units from `first` on. *zero: all of them
 * read as zero. False: there may be nothing at all in that place now. */
static bool renew(struct span *span, uint32_t first, bool *zero)
{
    size_t page = os_page_size();
    uintptr_t start = (uintptr_t)span_start(span) + ((size_t)first << UNIT_SHIFT);
    uintptr_t end = (uintptr_t)span_start(span) + ((size_t)span->units << UNIT_SHIFT);
    uintptr_t from = (start + page - 1) & ~(page - 1), to = end & ~(page - 1);
    *zero = from == start && to == end;
    return from >= to || arena_renew((void *)from, to - from);
}

/* With `harden`: freed blocks wait before their addresses are used again; ids of spans. */
static uint32_t queue[32];

/* The block that has waited longest, in whose place this one waits. */
static struct span *queue_swap(struct span *span)
{
    enum { LONGEST = 16 << 20 }; /* bytes */
    static uint32_t next;
    if (large_size(span) > LONGEST)
        return span;
    uint32_t place = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % COUNT_OF(queue);
    uint32_t id = __atomic_exchange_n(&queue[place], span_id(span), __ATOMIC_ACQ_REL);
    return id == 0 ? NULL : span_at(id);
}

/* Closed at once, it waits; what has waited is given in its place. */
static void give_hardened(struct span *span)
{
    bool zero;
    tail_large_size(span, "free");
    if (span->moved) {
        __atomic_fetch_sub(&moved_count, 1, __ATOMIC_RELAXED);
        if (!renew(span, 0, &zero)) {
            pages_lose(span);
            return;
        }
    }
    span->zero = harden_close(span_start(span), (size_t)span->units << UNIT_SHIFT);
    span = queue_swap(span);
    if (span != NULL)
        pages_give(span);
}

bool large_yield(void)
{
    bool yields = false;
    for (unsigned i = 0; i < COUNT_OF(queue); i++) {
        uint32_t id = __atomic_exchange_n(&queue[i], 0, __ATOMIC_ACQ_REL);
        if (id != 0)
            pages_give(span_at(id));
        yields |= id != 0;
    }
    return yields;
}

void large_give(struct span *span)
{
    held_add(-(uint64_t)large_size(span));
    if (unlikely(harden_on)) {
        give_hardened(span);
        return;
    }
    if (unlikely(span->moved)) {
        __atomic_fetch_sub(&moved_count, 1, __ATOMIC_RELAXED);
        bool zero;
        span->full = false;
        if (!renew(span, 0, &zero)) {
            pages_lose(span);
            return;
        }
        span->zero = zero;
    }
    pages_give(span);
}

/* With `harden`: the page behind the block goes with its end. A block whose pages were moved stays
 * as it is. */
static bool resize_hardened(struct span *span, size_t size)
{
    uint32_t page = harden_units, before = span->units - page;
    uint32_t units = (uint32_t)units_of(size), whole = (units + page - 1) & ~(page - 1);
    size_t held = large_size(span), behind = (size_t)page << UNIT_SHIFT;
    tail_large_size(span, "realloc");
    if (whole != before && (span->moved || whole < before / 2))
        return false;
    char *old_end = span_start(span) + ((size_t)before << UNIT_SHIFT);
    char *end = span_start(span) + ((size_t)whole << UNIT_SHIFT);
    if (whole > before) {
        if (!pages_extend(span, whole + page))
            return false;
        harden_fence(end, behind, false);
        if (!harden_open(old_end, (size_t)(end - old_end))) {
            pages_shorten(span, before + page, false);
            return false;
        }
    } else if (whole < before) {
        bool closed = harden_close(end, (size_t)(old_end - end));
        pages_shorten(span, whole + page, closed);
    }
    span->length = units;
    held_add(large_size(span) - held);
    tail_large_begin(span, size);
    return true;
}

bool large_resize(struct span *span, size_t size)
{
    uint32_t units = (uint32_t)units_of(size), run = (uint32_t)run_units(units);
    size_t before = large_size(span);
    if (units_of(size) >= UNITS_MAX)
        return false;
    if (unlikely(harden_on))
        return resize_hardened(span, size);
    if (units > span->units && !pages_extend(span, run) && !pages_extend(span, units))
        return false;
    bool zero;
    if (run < span->units && (!span->moved || renew(span, run, &zero)))
        pages_shorten(span, run, false);
    span->length = units;
    held_add(large_size(span) - before);
    return true;
}

enum os_moved large_move(struct span *from, struct span *to)
{
    size_t bytes = large_size(from) < large_size(to) ? large_size(from) : large_size(to);
    size_t page = os_page_size();
    if ((uintptr_t)span_start(from) % page != 0 || (uintptr_t)span_start(to) % page != 0 ||
        bytes % page != 0 || load_relaxed(&moved_count) >= MOVED_MAX ||
        !window_has(span_start(from) + bytes)) /* os_move needs something mapped behind it */
        return OS_STAYED;
    huge_leave(span_start(from), bytes); /* advice would move along, and leave a hole behind */
    huge_leave(span_start(to), bytes);   /* and that of the other memory goes with it */
    enum os_moved moved = os_move(span_start(from), span_start(to), bytes);
    from->zero = moved == OS_MOVED && from->length == from->units;
    if (moved == OS_MOVED) {
        to->moved = true;
        __atomic_fetch_add(&moved_count, 1, __ATOMIC_RELAXED);
        to->full = from->full && large_size(from) >= large_size(to);
        from->full = false;
        if (unlikely(harden_on)) {
            from->slack = 0;
            tail_large_begin(to, large_size(to) - to->slack);
        }
    }
    return moved;
}

/* It was never written to, or with zeros. Reading brings no memory in. */
static bool unit_is_zero(const char *unit)
{
    enum { BYTES = 1 << UNIT_SHIFT };
    uint64_t first;
    memcpy(&first, unit, sizeof first);
    return first == 0 && memcmp(unit, unit + sizeof first, BYTES - sizeof first) == 0;
}

bool large_is_sparse(const void *block, size_t bytes)
{
    enum { LOOKS = 8, SHIFT = 37 }; /* not equally far apart: arrays have their own steps */
    const char *start = block;
    size_t step = (bytes >> UNIT_SHIFT) / LOOKS;
    unsigned zero = 0;
    for (size_t i = 0; step > 0 && i < LOOKS; i++)
        zero += unit_is_zero(start + ((i * step + i * SHIFT % step) << UNIT_SHIFT));
    return zero > LOOKS / 2;
}

/* Of two places that read as zero neither is written to, so that no page comes in. */
void large_copy_sparse(void *to, const void *from, size_t bytes)
{
    enum { UNIT_BYTES = 1 << UNIT_SHIFT };
    size_t done = 0;
    if (bytes >= SPARSE_MIN && large_is_sparse(from, bytes))
        for (; done + UNIT_BYTES <= bytes; done += UNIT_BYTES)
            if (!unit_is_zero((const char *)from + done) || !unit_is_zero((char *)to + done))
                memcpy((char *)to + done, (const char *)from + done, UNIT_BYTES);
    memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

void large_abandon(struct span *span)
{
    held_add(-(uint64_t)large_size(span));
    pages_lose(span);
}
