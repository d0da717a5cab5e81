/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/counts.h. A row holds the sum of what its heap says now and what the heap had
 * counted before its own numbers began anew: so a row can be written again at any time.
 */
#include "lib/heap/counts.h"

_Static_assert((int)MARK_COUNT <= (int)RECORDER_MARKS, "bins of the recorder file");

/* What is kept with a heap. */
struct counted {
    uint32_t file;                /* for which this was made */
    struct recorder_heap *row;    /* NULL: the file has no memory for it */
    struct recorder_heap before;  /* added to what the heap says */
    uint32_t visited[MARK_COUNT]; /* mallocs from each bin at the last visit, */
    uint32_t mean[MARK_COUNT];    /* a mean of how many there were between two, */
    uint32_t parts[MARK_COUNT];   /* and how many may follow until the next one */
};

static uint32_t files; /* that were made in this process and those it was forked from */
static uint32_t rows;  /* in this one; row 0 is no heap's */

/* As `heap_mallocs` and `heap_frees` have it. */
INLINE struct recorder_count bin_of(const struct heap *heap, unsigned mark)
{
    const struct stock *stock = heap_stock(heap, mark);
    if (unlikely(stock == NULL))
        return (struct recorder_count){0, 0};
    int32_t left = load_relaxed(&heap->clock[mark]);
    uint64_t mallocs = load_relaxed(&stock->drawn) - (uint64_t)(left < 0 ? 0 : left);
    uint64_t cached = slot_place(load_relaxed(&heap->top[mark]));
    return (struct recorder_count){mallocs, mallocs + cached - (uint64_t)stock->taken};
}

/* What was counted up to now is in row 0 already, unless the heap is new. */
static void begin(struct heap *heap, struct counted *counted, bool anew)
{
    uint32_t number = __atomic_add_fetch(&rows, 1, __ATOMIC_RELAXED);
    counted->row = mirror_on() ? mirror_row_make(SHEET_HEAPS, number) : NULL;
    counted->before = (struct recorder_heap){0};
    for (unsigned mark = 1; mark < MARK_COUNT && !anew; mark++) {
        struct recorder_count now = bin_of(heap, mark);
        counted->before.marks[mark] = (struct recorder_count){0 - now.allocs, 0 - now.frees};
    }
    if (!anew) {
        counted->before.large =
            (struct recorder_count){0 - heap->large.allocs, 0 - heap->large.frees};
        counted->before.large_bytes =
            (struct recorder_count){0 - heap->large.alloc_bytes, 0 - heap->large.free_bytes};
    }
    store_release(&counted->file, load_relaxed(&files));
}

static NOINLINE struct counted *counted_make(struct heap *heap)
{
    struct counted *counted = heap->counted;
    if (counted == NULL && (counted = meta_take(sizeof *counted)) == NULL)
        return NULL;
    heap->counted = counted;
    begin(heap, counted, true);
    return counted;
}

/* What is kept with the heap; NULL where there is no file, or no memory for a row. */
INLINE struct counted *counted_of(struct heap *heap)
{
    struct counted *counted = heap->counted;
    if (unlikely(!mirror_on()))
        return NULL;
    if (unlikely(counted == NULL || counted->file != load_relaxed(&files)))
        counted = counted_make(heap);
    return likely(counted != NULL && counted->row != NULL) ? counted : NULL;
}

/* Returns the heap's mallocs from the bin. */
INLINE uint64_t bin_copy(const struct heap *heap, const struct counted *counted, unsigned mark)
{
    struct recorder_count now = bin_of(heap, mark), before = counted->before.marks[mark];
    struct recorder_count *to = &counted->row->marks[mark];
    store_relaxed(&to->frees, before.frees + now.frees);
    store_release(&to->allocs, before.allocs + now.allocs);
    return now.allocs;
}

static void bins_copy(const struct heap *heap, const struct counted *counted)
{
    for (unsigned word = 0; word < COUNT_OF(heap->stocked); word++)
        for (uint64_t bits = heap->stocked[word]; bits != 0; bits &= bits - 1)
            bin_copy(heap, counted, word * 64 + (unsigned)__builtin_ctzll(bits));
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

void counts_bin_slow(struct heap *heap, unsigned mark)
{
    struct counted *counted = counted_of(heap);
    if (counted != NULL)
        bin_copy(heap, counted, mark);
}

void counts_all_slow(struct heap *heap)
{
    struct counted *counted = counted_of(heap);
    if (counted != NULL)
        bins_copy(heap, counted);
}

/* Together the clocks of all bins run for `heap->part` mallocs: a quarter of them is shared evenly,
 * the rest by use, so that they run out at about the same time. */
static void parts_share(struct heap *heap, struct counted *counted, uint64_t total, uint32_t bins)
{
    enum { EVEN = 4 };
    uint32_t even = heap->part / (EVEN * (bins + 1)) + 1;
    uint64_t rest = heap->part > even * bins ? heap->part - even * bins : 0;
    uint64_t share = (rest << 32) / (total + 1);
    bool hidden = heap_hide(heap);
    for (unsigned word = 0; word < COUNT_OF(heap->stocked); word++)
        for (uint64_t bits = heap->stocked[word]; bits != 0; bits &= bits - 1) {
            unsigned mark = word * 64 + (unsigned)__builtin_ctzll(bits);
            counted->parts[mark] = even + (uint32_t)(counted->mean[mark] * share >> 32);
            heap_set_part(heap, mark, counted->parts[mark]);
        }
    if (hidden)
        heap_show(heap);
}

void counts_visit_slow(struct heap *heap)
{
    enum { MEAN_SHIFT = 4 };
    struct counted *counted = counted_of(heap);
    uint64_t total = 0;
    uint32_t bins = 0;
    if (counted == NULL)
        return;
    for (unsigned word = 0; word < COUNT_OF(heap->stocked); word++)
        for (uint64_t bits = heap->stocked[word]; bits != 0; bits &= bits - 1, bins++) {
            unsigned mark = word * 64 + (unsigned)__builtin_ctzll(bits);
            uint32_t mallocs = (uint32_t)bin_copy(heap, counted, mark);
            uint32_t used = mallocs - counted->visited[mark], mean = counted->mean[mark];
            used = used < COUNTS_UNSEEN_MAX ? used : COUNTS_UNSEEN_MAX;
            counted->visited[mark] = mallocs;
            total += counted->mean[mark] = mean - (mean >> MEAN_SHIFT) + (used << MEAN_SHIFT);
        }
    if (!heap->watched)
        parts_share(heap, counted, total, bins);
}

void counts_sample_slow(struct heap *heap, unsigned mark)
{
    struct counted *counted = counted_of(heap);
    if (counted == NULL)
        return;
    uint32_t used = (uint32_t)bin_of(heap, mark).allocs - counted->visited[mark];
    if (used >= counted->parts[mark]) {
        counts_visit_slow(heap);
        return;
    }
    bool hidden = heap_hide(heap);
    heap_set_part(heap, mark, counted->parts[mark] - used);
    if (hidden)
        heap_show(heap);
}

/* To the row of all that goes past the heaps. */
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

/* Everything up to now is in row 0; what heaps count from now on, in theirs. */
void counts_copy(void)
{
    static BULK struct account_sum classes[ACCOUNT_ROWS]; /* stacks may be small */
    struct recorder_heap *row = mirror_row_make(SHEET_HEAPS, 0);
    struct recorder_head *head = mirror_head();
    head->class_count = CLASS_COUNT;
    head->mark_count = MARK_COUNT;
    for (unsigned mark = 1; mark < MARK_COUNT; mark++)
        head->mark_sizes[mark] =
            mark == MARK_LARGE || mark == MARK_WATCHED ? 0 : (uint32_t)class_size(mark_class(mark));
    store_relaxed(&rows, 0);
    store_relaxed(&files, files + 1);
    account_classes(classes);
    lock_take(&heap_lock);
    for (struct heap *heap = heap_first(); heap != NULL; heap = heap->all) {
        if (heap->counted == NULL)
            heap->counted = meta_take(sizeof(struct counted));
        if (heap->counted != NULL)
            begin(heap, heap->counted, false);
    }
    lock_give(&heap_lock);
    for (unsigned class = 1; row != NULL && class < CLASS_COUNT; class ++)
        shared_add(&row->marks[class], classes[class].allocs, classes[class].frees);
    if (row != NULL) {
        const struct account_sum *large = &classes[ACCOUNT_LARGE];
        shared_add(&row->large, large->allocs, large->frees);
        shared_add(&row->large_bytes, large->alloc_bytes, large->free_bytes);
    }
}
