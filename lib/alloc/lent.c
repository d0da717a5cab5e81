/* SPDX-License-Identifier: MIT */
/*
 * See lib/alloc/lent.h. Extents are found by the table of lent_table.c; free ones also hang on
 * lists by their length, slabs with free blocks on one list a class. Functions that end in _locked
 * are called between `begin` and the end of the lock.
 */
#include "lib/alloc/lent.h"

#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/alloc/lent_table.h"

enum { BATCH = 128 }; /* extents that are made at once */

struct lock lent_lock = {.rank = LOCK_OUTSIDE};

static struct extent *spare; /* by `next` */
static uintptr_t lowest = UINTPTR_MAX, highest;
static bool given_up;

struct lender lent_all;

/* A counter of the lender, and the one of all. */
#define COUNT(lender, field, more)            \
    do {                                      \
        uint64_t added = (more);              \
        add_relaxed(&(lender)->field, added); \
        add_relaxed(&lent_all.field, added);  \
    } while (0)

bool lent_any(void)
{
    return load_relaxed(&highest) != 0;
}

void lent_give_up(void)
{
    store_relaxed(&given_up, true);
}

static uintptr_t start_of(const struct extent *extent)
{
    return (uintptr_t)extent->start;
}

static uintptr_t end_of(const struct extent *extent)
{
    return (uintptr_t)extent->start + extent->bytes;
}

/* All entries that an extent may need at once: both ends, and a page each for blocks. */
static size_t entries_of(size_t bytes)
{
    return 2 + bytes / os_page_size();
}

static void list_add(struct extent **head, struct extent *extent)
{
    extent->prev = NULL;
    extent->next = *head;
    if (*head != NULL)
        (*head)->prev = extent;
    *head = extent;
}

static void list_remove(struct extent **head, struct extent *extent)
{
    if (extent->prev != NULL)
        extent->prev->next = extent->next;
    else
        *head = extent->next;
    if (extent->next != NULL)
        extent->next->prev = extent->prev;
}

static struct extent **list_of_free(struct lender *lender, size_t bytes)
{
    size_t pages = bytes / os_page_size();
    unsigned log = pages <= 1 ? 0 : 63 - (unsigned)__builtin_clzl(pages);
    return &lender->free[log < LENT_SIZES ? log : LENT_SIZES - 1];
}

static bool begin(void)
{
    lock_take(&lent_lock);
    if (likely(!given_up))
        return true;
    lock_give(&lent_lock);
    return false;
}

static struct extent *extent_make_locked(struct lender *lender)
{
    struct extent **from = lender->spare != NULL ? &lender->spare : &spare;
    if (*from == NULL) {
        struct extent *batch = os_map(BATCH * sizeof *batch);
        for (unsigned i = 0; batch != NULL && i < BATCH; i++) {
            batch[i].next = spare;
            spare = &batch[i];
        }
    }
    struct extent *extent = *from;
    if (extent != NULL) {
        *from = extent->next;
        memset(extent, 0, sizeof *extent);
    }
    return extent;
}

static void spare_locked(struct extent *extent)
{
    struct lender *lender = extent->lender;
    bool theirs = (uintptr_t)extent - (uintptr_t)lender->books < lender->books_bytes;
    struct extent **to = theirs ? &lender->spare : &spare;
    extent->next = *to;
    *to = extent;
}

void lent_keep_books(struct lender *lender, void *start, size_t bytes)
{
    struct extent *batch = start;
    if (!begin())
        return;
    lender->books = start;
    lender->books_bytes = bytes;
    for (size_t i = 0; i < bytes / sizeof *batch; i++) {
        batch[i].next = lender->spare;
        lender->spare = &batch[i];
    }
    lock_give(&lent_lock);
}

static void ends_put(struct extent *extent)
{
    lent_table_put(start_of(extent), KEY_START, extent);
    lent_table_put(end_of(extent), KEY_END, extent);
}

static void ends_remove(const struct extent *extent)
{
    lent_table_remove(start_of(extent), KEY_START);
    lent_table_remove(end_of(extent), KEY_END);
}

struct extent *extent_new(struct lender *lender, void *start, size_t bytes)
{
    if (!begin())
        return NULL;
    struct extent *extent =
        lent_table_reserve(entries_of(bytes)) ? extent_make_locked(lender) : NULL;
    if (extent != NULL) {
        extent->lender = lender;
        extent->start = start;
        extent->bytes = bytes;
        ends_put(extent);
        lowest = start_of(extent) < lowest ? start_of(extent) : lowest;
        highest = end_of(extent) > highest ? end_of(extent) : highest;
    }
    lock_give(&lent_lock);
    return extent;
}

void extent_drop(struct extent *extent)
{
    if (!begin())
        return;
    ends_remove(extent);
    spare_locked(extent);
    lock_give(&lent_lock);
}

static void free_count(struct lender *lender, unsigned state, uint64_t more)
{
    if (state == EXTENT_DIRTY)
        COUNT(lender, dirty_bytes, more);
    else
        COUNT(lender, retained_bytes, more);
}

/* Out of the list of free ones. */
static void busy_locked(struct extent *extent)
{
    struct lender *lender = extent->lender;
    list_remove(list_of_free(lender, extent->bytes), extent);
    free_count(lender, extent->state, -extent->bytes);
    extent->state = EXTENT_BUSY;
}

static bool fits(const struct extent *extent, size_t bytes, size_t align)
{
    size_t lead = -start_of(extent) & (align - 1);
    return lead < extent->bytes && extent->bytes - lead >= bytes;
}

struct extent *extent_find(struct lender *lender, size_t bytes, size_t align)
{
    struct extent *found = NULL;
    if (!begin())
        return NULL;
    for (struct extent **list = list_of_free(lender, bytes);
         found == NULL && list < &lender->free[LENT_SIZES]; list++)
        for (found = *list; found != NULL && !fits(found, bytes, align);)
            found = found->next;
    if (found != NULL)
        busy_locked(found);
    lock_give(&lent_lock);
    return found;
}

struct extent *extent_next(struct lender *lender, uint64_t before_ms, size_t min, bool retained)
{
    struct extent *found = NULL;
    if (!begin())
        return NULL;
    for (struct extent **list = list_of_free(lender, min);
         found == NULL && list < &lender->free[LENT_SIZES]; list++)
        for (found = *list; found != NULL; found = found->next)
            if (retained || (found->state == EXTENT_DIRTY && found->freed_ms <= before_ms &&
                             found->bytes >= min))
                break;
    if (found != NULL)
        busy_locked(found);
    lock_give(&lent_lock);
    return found;
}

struct extent *extent_neighbours(struct lender *lender, struct extent **second)
{
    struct extent *found = NULL;
    if (!begin())
        return NULL;
    for (unsigned i = 0; i < LENT_SIZES && found == NULL; i++)
        for (found = lender->free[i]; found != NULL; found = found->next) {
            *second = lent_table_find(end_of(found), KEY_START);
            if (*second != NULL && (*second)->lender == lender &&
                (*second)->state == found->state && (*second)->committed == found->committed)
                break;
        }
    if (found != NULL) {
        busy_locked(found);
        busy_locked(*second);
    }
    lock_give(&lent_lock);
    return found;
}

struct extent *extent_after(struct extent *extent)
{
    if (!begin())
        return NULL;
    struct extent *next = lent_table_find(end_of(extent), KEY_START);
    if (next != NULL && (next->lender != extent->lender || next->state < EXTENT_DIRTY))
        next = NULL;
    if (next != NULL)
        busy_locked(next);
    lock_give(&lent_lock);
    return next;
}

struct extent *extent_cut(struct extent *extent, size_t bytes)
{
    if (!begin())
        return NULL;
    struct extent *rest = lent_table_reserve(4) ? extent_make_locked(extent->lender) : NULL;
    if (rest != NULL) {
        ends_remove(extent);
        *rest = *extent;
        rest->start += bytes;
        rest->bytes -= bytes;
        extent->bytes = bytes;
        ends_put(extent);
        ends_put(rest);
    }
    lock_give(&lent_lock);
    return rest;
}

bool extent_join(struct extent *extent, struct extent *behind)
{
    if (!begin())
        return false;
    bool ok = lent_table_reserve(2);
    if (ok) {
        ends_remove(extent);
        ends_remove(behind);
        extent->bytes += behind->bytes;
        extent->zero = extent->zero && behind->zero;
        extent->committed = extent->committed && behind->committed;
        ends_put(extent);
        spare_locked(behind);
    }
    lock_give(&lent_lock);
    return ok;
}

static void free_locked(struct extent *extent, unsigned state)
{
    struct lender *lender = extent->lender;
    extent->state = (uint8_t)state;
    extent->freed_ms = os_now_ms();
    list_add(list_of_free(lender, extent->bytes), extent);
    free_count(lender, state, extent->bytes);
}

void extent_free(struct extent *extent, unsigned state)
{
    if (!begin())
        return;
    free_locked(extent, state);
    lock_give(&lent_lock);
}

static void begin_large_locked(struct extent *extent)
{
    struct lender *lender = extent->lender;
    extent->state = EXTENT_LARGE;
    list_add(&lender->used, extent);
    COUNT(lender, active_bytes, extent->bytes);
    COUNT(lender, live_bytes, extent->bytes);
    COUNT(lender, large_bytes, extent->bytes);
}

static void end_large_locked(struct extent *extent)
{
    struct lender *lender = extent->lender;
    list_remove(&lender->used, extent);
    extent->state = EXTENT_BUSY;
    extent->zero = false;
    COUNT(lender, active_bytes, -extent->bytes);
    COUNT(lender, live_bytes, -extent->bytes);
    COUNT(lender, large_bytes, -extent->bytes);
}

void *extent_begin_large(struct extent *extent)
{
    if (!begin())
        return NULL;
    bool ok = lent_table_reserve(1);
    if (ok) {
        begin_large_locked(extent);
        lent_table_put(start_of(extent), KEY_PAGE, extent);
        COUNT(extent->lender, allocs[0], 1);
    }
    lock_give(&lent_lock);
    return ok ? extent->start : NULL;
}

void extent_resume_large(struct extent *extent)
{
    if (!begin())
        return;
    begin_large_locked(extent);
    lock_give(&lent_lock);
}

struct extent *extent_of_large(const void *p)
{
    if (!begin())
        return NULL;
    struct extent *extent = lent_table_find((uintptr_t)p, KEY_PAGE);
    if ((uintptr_t)p % os_page_size() != 0 || (extent != NULL && extent->state != EXTENT_LARGE))
        extent = NULL;
    if (extent != NULL)
        end_large_locked(extent);
    lock_give(&lent_lock);
    return extent;
}

size_t extent_slab_bytes(unsigned class)
{
    size_t page = os_page_size(), bytes = (size_t)size_classes[class].units_max << UNIT_SHIFT;
    return (bytes + page - 1) & ~(page - 1);
}

void extent_begin_slab(struct extent *extent, unsigned class)
{
    size_t page = os_page_size();
    if (!begin())
        return;
    if (!lent_table_reserve(extent->bytes / page)) {
        free_locked(extent, EXTENT_DIRTY);
        lock_give(&lent_lock);
        return;
    }
    struct lender *lender = extent->lender;
    size_t blocks = extent->bytes / class_size(class);
    blocks = blocks < SPAN_BLOCKS_MAX ? blocks : SPAN_BLOCKS_MAX;
    extent->state = EXTENT_SLAB;
    extent->class = (uint16_t) class;
    extent->blocks = extent->free = (uint16_t)blocks;
    for (unsigned i = 0; i < SPAN_BLOCKS_MAX / 64; i++) {
        size_t rest = blocks > i * 64 ? blocks - i * 64 : 0;
        extent->bits[i] = rest >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << rest) - 1;
    }
    list_add(&lender->slabs[class], extent);
    COUNT(lender, active_bytes, extent->bytes);
    COUNT(lender, slab_count[class], 1);
    for (uintptr_t at = start_of(extent); at < end_of(extent); at += page)
        lent_table_put(at, KEY_PAGE, extent);
    lock_give(&lent_lock);
}

static void end_slab_locked(struct extent *extent, struct extent **list)
{
    struct lender *lender = extent->lender;
    list_remove(list, extent);
    extent->zero = false;
    COUNT(lender, active_bytes, -extent->bytes);
    COUNT(lender, slab_count[extent->class], -1);
    for (uintptr_t at = start_of(extent); at < end_of(extent); at += os_page_size())
        lent_table_remove(at, KEY_PAGE);
    free_locked(extent, EXTENT_DIRTY);
}

void *lent_take(struct lender *lender, unsigned class)
{
    if (!begin())
        return NULL;
    struct extent *slab = lender->slabs[class];
    char *block = NULL;
    for (unsigned i = 0; slab != NULL && i < SPAN_BLOCKS_MAX / 64 && block == NULL; i++)
        if (slab->bits[i] != 0) {
            unsigned bit = (unsigned)__builtin_ctzll(slab->bits[i]);
            slab->bits[i] &= slab->bits[i] - 1;
            block = slab->start + (i * 64 + bit) * class_size(class);
        }
    if (block != NULL) {
        if (--slab->free == 0) {
            list_remove(&lender->slabs[class], slab);
            list_add(&lender->used, slab);
        }
        COUNT(lender, allocs[class], 1);
        COUNT(lender, live_bytes, class_size(class));
    }
    lock_give(&lent_lock);
    return block;
}

/* The extent of a live block, and of a slab the number of the block; or NULL. */
static struct extent *find_locked(const void *p, unsigned *number)
{
    uintptr_t page = os_page_size();
    struct extent *extent = lent_table_find((uintptr_t)p & ~(page - 1), KEY_PAGE);
    if (extent == NULL)
        return NULL;
    size_t offset = (size_t)((const char *)p - extent->start);
    if (extent->state != EXTENT_SLAB)
        return offset == 0 && extent->state == EXTENT_LARGE ? extent : NULL;
    *number = (unsigned)(offset / class_size(extent->class));
    bool lives = offset % class_size(extent->class) == 0 && *number < extent->blocks &&
                 !(extent->bits[*number / 64] >> (*number % 64) & 1);
    return lives ? extent : NULL;
}

/* A signal handler that interrupted its own thread here can't wait for it. */
RACY size_t lent_size(const void *p)
{
    if (likely((uintptr_t)p < lowest || (uintptr_t)p >= highest))
        return 0;
    if (given_up)
        return 1; /* maybe: so that nothing ends the program for it */
    unsigned number = 0;
    bool interrupted = lock_held >> LOCK_OUTSIDE & 1;
    if (!interrupted)
        lock_take(&lent_lock);
    const struct extent *extent = find_locked(p, &number);
    size_t size = extent == NULL                  ? 0
                  : extent->state == EXTENT_LARGE ? extent->bytes
                                                  : class_size(extent->class);
    if (!interrupted)
        lock_give(&lent_lock);
    return size;
}

struct lender *lent_by(const void *p)
{
    unsigned number;
    if (lent_size(p) == 0 || !begin())
        return NULL;
    const struct extent *extent = find_locked(p, &number);
    struct lender *lender = extent == NULL ? NULL : extent->lender;
    lock_give(&lent_lock);
    return lender;
}

bool lent_give(void *p, struct lender **freed)
{
    unsigned number = 0;
    *freed = NULL;
    if (!begin())
        return true; /* lost */
    struct extent *extent = find_locked(p, &number);
    if (extent != NULL) {
        struct lender *lender = extent->lender;
        bool large = extent->state == EXTENT_LARGE;
        unsigned class = large ? 0 : extent->class;
        COUNT(lender, frees[class], 1);
        if (large) {
            lent_table_remove(start_of(extent), KEY_PAGE);
            end_large_locked(extent);
            free_locked(extent, EXTENT_DIRTY);
            *freed = lender;
        } else {
            extent->bits[number / 64] |= UINT64_C(1) << (number % 64);
            COUNT(lender, live_bytes, -class_size(class));
            if (extent->free++ == 0) {
                list_remove(&lender->used, extent);
                list_add(&lender->slabs[class], extent);
            }
            bool only = lender->slabs[class] == extent && extent->next == NULL;
            if (extent->free == extent->blocks && !only) {
                end_slab_locked(extent, &lender->slabs[class]);
                *freed = lender;
            }
        }
    }
    lock_give(&lent_lock);
    return extent != NULL;
}

struct lent_sums lent_reset(struct lender *lender)
{
    struct lent_sums sums = {0, 0};
    if (!begin())
        return sums;
    sums.bytes = lender->live_bytes;
    for (struct extent *extent = lender->used, *next; extent != NULL; extent = next) {
        next = extent->next;
        if (extent->state == EXTENT_LARGE) {
            lent_table_remove(start_of(extent), KEY_PAGE);
            end_large_locked(extent);
            free_locked(extent, EXTENT_DIRTY);
        } else {
            end_slab_locked(extent, &lender->used);
        }
    }
    for (unsigned class = 1; class < CLASS_COUNT; class ++)
        while (lender->slabs[class] != NULL)
            end_slab_locked(lender->slabs[class], &lender->slabs[class]);
    for (unsigned class = 0; class < CLASS_COUNT; class ++) {
        sums.blocks += lender->allocs[class] - lender->frees[class];
        COUNT(lender, frees[class], lender->allocs[class] - lender->frees[class]);
    }
    COUNT(lender, live_bytes, -lender->live_bytes);
    lock_give(&lent_lock);
    return sums;
}

/* Extents with the lowest addresses from `from` on, in their order. */
enum { RANGES = 32 };
struct ranges {
    uintptr_t from;
    unsigned count;
    struct {
        uintptr_t start;
        size_t bytes;
    } sorted[RANGES];
};

static void range_add(void *context, const struct extent *extent)
{
    struct ranges *ranges = context;
    uintptr_t start = start_of(extent);
    unsigned at = ranges->count;
    if (extent->state == EXTENT_RETAINED || start < ranges->from)
        return;
    while (at > 0 && ranges->sorted[at - 1].start > start)
        at--;
    if (at == RANGES)
        return;
    ranges->count += ranges->count < RANGES;
    memmove(&ranges->sorted[at + 1], &ranges->sorted[at],
            (ranges->count - 1 - at) * sizeof ranges->sorted[0]);
    ranges->sorted[at].start = start;
    ranges->sorted[at].bytes = extent->bytes;
}

/* The kernel is asked without the lock, for which malloc and free would wait. */
size_t lent_resident(size_t parts_max)
{
    struct ranges ranges = {.from = 0};
    size_t resident = 0;
    if (load_relaxed(&lent_all.active_bytes) + load_relaxed(&lent_all.dirty_bytes) == 0)
        return 0;
    do {
        ranges.count = 0;
        if (!begin())
            break;
        lent_table_each(range_add, &ranges);
        lock_give(&lent_lock);
        for (unsigned i = 0; i < ranges.count; i++) {
            resident +=
                os_resident((void *)ranges.sorted[i].start, ranges.sorted[i].bytes, parts_max);
            ranges.from = ranges.sorted[i].start + 1;
        }
    } while (ranges.count == RANGES);
    return resident;
}
