/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/counts.h. A row holds the sum of what its heap says now and what the heap had
 * counted before its own numbers began anew: so a row can be written again at any time.
 */
#include "lib/heap/counts.h"

_Static_assert((int)MARK_COUNT <= (int)RECORDER_MARKS, "bins of the recorder file");

/* What is kept with a heap. */
struct counted {
    uint32_t file;               /* number of the recorder file that this was made for */
    struct recorder_heap *row;   /* NULL: the file has no memory for it */
    struct recorder_heap before; /* added to what the heap says */
    /* By bin: mallocs that may pass until its counts are copied; blocks in it when they were. */
    uint32_t parts[MARK_COUNT];
    uint16_t held[MARK_COUNT];
    /* At the last sharing: mallocs, and a mean of how many there are between two. */
    uint32_t shared[MARK_COUNT], mean[MARK_COUNT];
    uint64_t stocked[2];       /* the bins that there were then */
    uint64_t shorter[2];       /* bins whose part the heap keeps shorter than their share */
    uint32_t part;             /* `heap->part` then */
    uint32_t total, total_max; /* sum of `parts`: then, and at most now */
    uint32_t visits;           /* until the next sharing */
    uint32_t visited_ms;
};

static uint32_t files; /* recorder files made by this process and by those it was forked from */
static uint32_t rows;  /* of heaps, in the last of them; row 0 is no heap's */

INLINE struct counted *counted_of(struct heap *heap);
static NOINLINE struct counted *counted_make(struct heap *heap);
static struct counted *counted_make_locked(struct heap *heap);
static void begin(struct heap *heap, struct counted *counted);
static void bins_copy(const struct heap *heap, const struct counted *counted);
INLINE void bin_copy(const struct heap *heap, const struct counted *counted, unsigned mark);
INLINE void count_copy(const struct counted *counted, unsigned mark, struct recorder_count now);
INLINE struct recorder_count bin_of(const struct heap *heap, unsigned mark);
INLINE uint64_t free_of(const struct heap *heap, unsigned mark);
static void large_copy(const struct heap *heap, const struct counted *counted);

void counts_bin_slow(struct heap *heap, unsigned mark)
{
    struct counted *counted = counted_of(heap);
    if (counted != NULL)
        bin_copy(heap, counted, mark);
}

/* What is kept with the heap; NULL where there is no file, or no memory for a row. */
INLINE struct counted *counted_of(struct heap *heap)
{
    struct counted *counted = heap->counted;
    if (unlikely(!mirror_on()))
        return NULL;
    if (unlikely(counted == NULL || load_acquire(&counted->file) != load_relaxed(&files)))
        counted = counted_make(heap);
    return likely(counted != NULL && counted->row != NULL) ? counted : NULL;
}

/* A file that is shown already, but to which `counts_copy` has not come yet, has no rows. A signal
 * handler may have interrupted a holder of the lock, or of one that is taken after it: the next
 * call comes here again. */
static NOINLINE struct counted *counted_make(struct heap *heap)
{
    if ((lock_held & LOCK_RANKS) >> LOCK_REGISTRY != 0)
        return NULL;
    lock_take(&heap_lock);
    struct counted *counted = mirror_head()->mark_count == 0 ? NULL : counted_make_locked(heap);
    lock_give(&heap_lock);
    return counted;
}

static struct counted *counted_make_locked(struct heap *heap)
{
    struct counted *counted = heap->counted;
    if (counted == NULL && (counted = meta_take(sizeof *counted)) == NULL)
        return NULL;
    store_release(&heap->counted, (void *)counted);
    if (counted->file != load_relaxed(&files))
        begin(heap, counted);
    return counted;
}

/* A row for the heap, with all that it has counted. Under `heap_lock`, in any thread: the heap's
 * own may count on meanwhile, and writes the row again at its next slow call. */
static void begin(struct heap *heap, struct counted *counted)
{
    uint32_t number = ++rows;
    counted->row = mirror_on() ? mirror_row_make(SHEET_HEAPS, number) : NULL;
    counted->before = (struct recorder_heap){0};
    if (counted->row != NULL) {
        bins_copy(heap, counted);
        large_copy(heap, counted);
    }
    store_release(&counted->file, load_relaxed(&files));
}

static void bins_copy(const struct heap *heap, const struct counted *counted)
{
    for (unsigned word = 0; word < COUNT_OF(heap->stocked); word++)
        for (uint64_t bits = heap->stocked[word]; bits != 0; bits &= bits - 1)
            bin_copy(heap, counted, word * 64 + (unsigned)__builtin_ctzll(bits));
}

INLINE void bin_copy(const struct heap *heap, const struct counted *counted, unsigned mark)
{
    count_copy(counted, mark, bin_of(heap, mark));
}

INLINE void count_copy(const struct counted *counted, unsigned mark, struct recorder_count now)
{
    struct recorder_count before = counted->before.marks[mark];
    struct recorder_count *to = &counted->row->marks[mark];
    store_relaxed(&to->frees, before.frees + now.frees);
    store_release(&to->allocs, before.allocs + now.allocs);
}

/* Computed as `heap_mallocs` and `heap_frees` do. */
INLINE struct recorder_count bin_of(const struct heap *heap, unsigned mark)
{
    const struct stock *stock = heap_stock(heap, mark);
    if (unlikely(stock == NULL))
        return (struct recorder_count){0, 0};
    int32_t left = load_relaxed(&heap->clock[mark]);
    uint64_t mallocs = load_relaxed(&stock->drawn) - (uint64_t)(left < 0 ? 0 : left);
    return (struct recorder_count){mallocs, mallocs + free_of(heap, mark) - (uint64_t)stock->taken};
}

/* Free blocks that the heap has of a mark, those that wait included. */
INLINE uint64_t free_of(const struct heap *heap, unsigned mark)
{
    uint64_t cached = slot_place(load_relaxed(&heap->top[mark]));
    return likely(heap->delay == NULL) ? cached : cached + delay_count(heap->delay, mark);
}

static void large_copy(const struct heap *heap, const struct counted *counted)
{
    const struct heap_sums *now = &heap->large;
    const struct recorder_heap *before = &counted->before;
    struct recorder_heap *row = counted->row;
    store_relaxed(&row->large.frees, before->large.frees + now->frees);
    store_relaxed(&row->large_bytes.frees, before->large_bytes.frees + now->free_bytes);
    store_relaxed(&row->large_bytes.allocs, before->large_bytes.allocs + now->alloc_bytes);
    store_release(&row->large.allocs, before->large.allocs + now->allocs);
}

void counts_all_slow(struct heap *heap)
{
    struct counted *counted = counted_of(heap);
    if (counted != NULL)
        bins_copy(heap, counted);
}

/* A thread that makes few calls comes by about every VISIT_MS. */
enum { VISIT_MS = 16 };
static void total_pace(const struct heap *heap, struct counted *counted)
{
    uint32_t total = counted->total_max;
    bool slow = heap->came_ms - counted->visited_ms > VISIT_MS;
    counted->visited_ms = heap->came_ms;
    total = slow ? total / 4 + 1 : total * 2;
    counted->total_max = total < COUNTS_UNSEEN_MAX ? total : COUNTS_UNSEEN_MAX;
}

/* Copies the counts of all bins that were used since the last visit, and sets their clocks to their
 * parts again. About how many mallocs there were. Some 30 instructions a used bin. */
static uint32_t bins_visit(struct heap *heap, struct counted *counted)
{
    uint32_t mallocs = 0;
    for (unsigned word = 0; word < COUNT_OF(heap->stocked); word++)
        for (uint64_t bits = heap->stocked[word]; bits != 0; bits &= bits - 1) {
            unsigned mark = word * 64 + (unsigned)__builtin_ctzll(bits);
            uint32_t left = (uint32_t)heap->clock[mark], part = counted->parts[mark];
            uint32_t held = (uint32_t)free_of(heap, mark);
            if (left == part && (uint16_t)held == counted->held[mark])
                continue;
            counted->held[mark] = (uint16_t)held;
            if (unlikely((int32_t)left < 0)) { /* its wait is over */
                bin_copy(heap, counted, mark);
                continue;
            }
            struct stock *stock = (struct stock *)heap->slots[mark] - 1;
            uint64_t now = stock->drawn - left;
            count_copy(counted, mark,
                       (struct recorder_count){now, now + held - (uint64_t)stock->taken});
            heap_set_part(heap, mark, stock, left, part);
            mallocs += part - left;
        }
    return mallocs;
}

/* Together the clocks of all bins run for `total_max` mallocs: a quarter of them is shared evenly,
 * the rest by use, so that they run out at about the same time. */
static void parts_share(const struct heap *heap, struct counted *counted)
{
    /* Use is a mean that halves at each visit, so that a new phase counts after two or three. */
    enum { EVEN = 4, MEAN_SHIFT = 1, USED_MAX = 1 << 16 };
    uint32_t bins = 0;
    uint64_t sum = 0;
    counted->total = counted->total_max;
    counted->part = heap->part;
    for (unsigned word = 0; word < COUNT_OF(heap->stocked); word++) {
        counted->stocked[word] = heap->stocked[word];
        counted->shorter[word] = 0;
        for (uint64_t bits = heap->stocked[word]; bits != 0; bits &= bits - 1, bins++) {
            unsigned mark = word * 64 + (unsigned)__builtin_ctzll(bits);
            uint32_t mallocs = (uint32_t)bin_of(heap, mark).allocs, mean = counted->mean[mark];
            uint32_t used = mallocs - counted->shared[mark];
            used = used < USED_MAX ? used : USED_MAX;
            counted->shared[mark] = mallocs;
            sum += counted->mean[mark] = mean - (mean >> MEAN_SHIFT) + used;
        }
    }
    uint32_t even = counted->total / (EVEN * (bins + 1)) + 1;
    uint64_t rest = counted->total > even * bins ? counted->total - even * bins : 0;
    uint64_t share = (rest << 32) / (sum + 1);
    for (unsigned word = 0; word < COUNT_OF(heap->stocked); word++)
        for (uint64_t bits = heap->stocked[word]; bits != 0; bits &= bits - 1) {
            unsigned mark = word * 64 + (unsigned)__builtin_ctzll(bits);
            uint32_t part = even + (uint32_t)(counted->mean[mark] * share >> 32);
            counted->parts[mark] = heap_part_max(heap, mark, part);
            counted->shorter[word] |= counted->parts[mark] < part ? bits & -bits : 0;
        }
}

/* Shares change slowly: they are made anew now and then, where visits are too frequent, and where
 * their basis is outdated. */
void counts_visit_slow(struct heap *heap)
{
    /* Visits until the next sharing, which looks at all bins; fewer if the clocks ran out after
     * less than a quarter of their mallocs. */
    enum { VISITS = 16, SOON = 4 };
    struct counted *counted = counted_of(heap);
    if (counted == NULL)
        return;
    if (heap->watched) {
        bins_copy(heap, counted);
        return;
    }
    bool hidden = heap_hide(heap);
    total_pace(heap, counted);
    if (counted->visits-- == 0 || counted->total != counted->total_max ||
        counted->part != heap->part || counted->stocked[0] != heap->stocked[0] ||
        counted->stocked[1] != heap->stocked[1]) {
        parts_share(heap, counted);
        counted->visits = VISITS;
    }
    if (bins_visit(heap, counted) < counted->total / SOON && counted->visits > SOON)
        counted->visits = SOON;
    if (hidden)
        heap_show(heap);
}

void counts_ring_slow(struct heap *heap, unsigned mark, bool alone)
{
    struct counted *counted = counted_of(heap);
    if (counted == NULL)
        return;
    alone |= (counted->shorter[mark / 64] >> mark % 64 & 1) != 0;
    if (!alone || counted->parts[mark] == 0 || counted->part != heap->part ||
        heap->came_ms - counted->visited_ms > VISIT_MS) {
        counts_visit_slow(heap);
        return;
    }
    bool hidden = heap_hide(heap);
    bin_copy(heap, counted, mark);
    if (heap->clock[mark] >= 0)
        heap_set_part(heap, mark, heap_stock(heap, mark), (uint32_t)heap->clock[mark],
                      counted->parts[mark]);
    if (hidden)
        heap_show(heap);
}

/* Adds to row 0, which counts what goes past the heaps. */
static void shared_add(struct recorder_count *to, uint64_t allocs, uint64_t frees)
{
    if (frees != 0)
        __atomic_fetch_add(&to->frees, frees, __ATOMIC_RELAXED);
    if (allocs != 0)
        __atomic_fetch_add(&to->allocs, allocs, __ATOMIC_RELAXED);
}

void counts_large_slow(struct heap *heap, const struct heap_sums *more)
{
    if (heap != NULL) {
        struct counted *counted = counted_of(heap);
        if (counted != NULL)
            large_copy(heap, counted);
        return;
    }
    struct recorder_heap *row = mirror_on() ? mirror_row(SHEET_HEAPS, 0) : NULL;
    if (row != NULL) {
        shared_add(&row->large_bytes, more->alloc_bytes, more->free_bytes);
        shared_add(&row->large, more->allocs, more->frees);
    }
}

void counts_direct_slow(unsigned class, uint64_t allocs, uint64_t frees)
{
    struct recorder_heap *row = mirror_on() ? mirror_row(SHEET_HEAPS, 0) : NULL;
    if (row != NULL)
        shared_add(&row->marks[class], allocs, frees);
}

static struct recorder_count less(struct recorder_count all, struct recorder_count part)
{
    return (struct recorder_count){all.allocs - part.allocs, all.frees - part.frees};
}

/* Its last thread may have exited without running its destructors. */
void counts_adopt(struct heap *heap)
{
    struct counted *counted = counted_of(heap);
    if (counted == NULL)
        return;
    const struct recorder_heap *row = counted->row;
    const struct heap_sums *large = &heap->large;
    for (unsigned mark = 1; mark < MARK_COUNT; mark++)
        counted->before.marks[mark] = less(row->marks[mark], bin_of(heap, mark));
    counted->before.large = less(row->large, (struct recorder_count){large->allocs, large->frees});
    counted->before.large_bytes =
        less(row->large_bytes, (struct recorder_count){large->alloc_bytes, large->free_bytes});
}

/* Heaps count from their beginning, each in its own row: nothing that they count while this runs is
 * missing, or is in two rows. */
void counts_copy(void)
{
    static BULK struct account_sum classes[ACCOUNT_ROWS]; /* stacks may be small */
    struct recorder_heap *row = mirror_row_make(SHEET_HEAPS, 0);
    struct recorder_head *head = mirror_head();
    lock_take(&heap_lock); /* no heap ends between the two, and is missing in both */
    head->class_count = CLASS_COUNT;
    head->mark_count = MARK_COUNT;
    for (unsigned mark = 1; mark < MARK_COUNT; mark++)
        head->mark_sizes[mark] =
            mark == MARK_LARGE || mark == MARK_WATCHED ? 0 : (uint32_t)class_size(mark_class(mark));
    rows = 0;
    store_relaxed(&files, files + 1);
    account_past_heaps_locked(classes);
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all)
        counted_make_locked(heap);
    lock_give(&heap_lock);
    for (unsigned class = 1; row != NULL && class < CLASS_COUNT; class ++)
        shared_add(&row->marks[class], classes[class].allocs, classes[class].frees);
    if (row != NULL) {
        const struct account_sum *large = &classes[ACCOUNT_LARGE];
        shared_add(&row->large, large->allocs, large->frees);
        shared_add(&row->large_bytes, large->alloc_bytes, large->free_bytes);
    }
}
