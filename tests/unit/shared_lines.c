/* SPDX-License-Identifier: MIT */
/* timeout=300 */
/*
 * Cache lines that two threads write to in a steady state, counted. Threads free one of their slots
 * at random and allocate another block, of a random size. They run by turns, a few calls each, in
 * an order that repeats, so that the counts are the same in every run. Then the lines that each
 * thread writes in its hot path are compared:
 *
 *   its own    its heap, its stocks, its thread-local words: never another thread's, and nothing in
 *              them changes while the others run
 *   live       the bytes that say which block lives, of the blocks in its slots and in its bins;
 *              one line of them stands for 1, 4 or 16 KiB of blocks
 *   pages      those bytes again, but by 4 KiB: a processor fetches lines ahead within a page, and
 *              takes them away from the thread that writes to them
 *   block      the lines of these blocks themselves
 *
 * A line with one block of another thread's is less harm than a line shared evenly. So the limits
 * are about writes: if each block is as likely to be written next, how many of 1,000 writes find
 * a line that another thread wrote last.
 */
#include <semaphore.h>

#include "tests/unit/unit.h"

enum {
    LINE = 64,
    PAGE = 4096,
    THREADS_MAX = 4,
    SLOTS_MAX = 20000,
    SLICE = 32,     /* calls of a turn, at most */
    TURNOVERS = 10, /* times that all slots are filled anew */
};

struct row {
    size_t low, high;
    unsigned slots, threads;
    unsigned live_max, page_max, block_max; /* writes of 1,000 */
};

/* What was written, or may be, and by which thread. */
struct write {
    uintptr_t line;
    unsigned thread;
};

struct writes {
    struct write *all;
    size_t count, room;
};

struct verdict {
    size_t lines, shared;
    double found; /* writes of 1,000 that find a line of another thread's */
};

struct worker {
    const struct row *row;
    unsigned number;
    unsigned calls_left;
    uint64_t random;
    struct heap *heap;
    void *slots[SLOTS_MAX];
    sem_t go;
    uintptr_t words[3]; /* where its thread-local words are */
    bool ends;
};

static struct worker workers[THREADS_MAX];
static sem_t back;

static void write_add(struct writes *writes, uintptr_t line, unsigned thread)
{
    if (writes->count == writes->room) {
        writes->room = writes->room * 2 + 1000;
        writes->all = realloc(writes->all, writes->room * sizeof *writes->all);
        assert(writes->all != NULL);
    }
    writes->all[writes->count++] = (struct write){line, thread};
}

static void writes_add(struct writes *writes, const void *from, size_t bytes, unsigned thread)
{
    uintptr_t first = (uintptr_t)from / LINE, last = ((uintptr_t)from + bytes - 1) / LINE;
    for (uintptr_t line = first; line <= last; line++)
        write_add(writes, line, thread);
}

static int by_line(const void *a, const void *b)
{
    const struct write *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

static struct verdict judge(struct writes *writes)
{
    struct verdict verdict = {0, 0, 0};
    double found = 0;
    qsort(writes->all, writes->count, sizeof *writes->all, by_line);
    for (size_t i = 0, end; i < writes->count; i = end) {
        unsigned by[THREADS_MAX] = {0}, threads = 0;
        for (end = i; end < writes->count && writes->all[end].line == writes->all[i].line; end++)
            by[writes->all[end].thread]++;
        for (unsigned t = 0; t < THREADS_MAX; t++) {
            threads += by[t] > 0;
            found += (double)by[t] * (double)(end - i - by[t]) / (double)(end - i);
        }
        verdict.lines++;
        verdict.shared += threads > 1;
    }
    verdict.found = writes->count == 0 ? 0 : 1000 * found / (double)writes->count;
    free(writes->all);
    *writes = (struct writes){NULL, 0, 0};
    return verdict;
}

static void one_turn(struct worker *worker)
{
    const struct row *row = worker->row;
    unsigned calls = 1 + (unsigned)(unit_random(&worker->random) % SLICE);
    for (; calls > 0 && worker->calls_left > 0; calls--, worker->calls_left--) {
        uint64_t random = unit_random(&worker->random) >> 8;
        void **slot = &worker->slots[random % row->slots];
        size_t size = row->low + (random >> 24) % (row->high - row->low + 1);
        if (*slot != NULL)
            unit_free(worker->heap, *slot);
        *slot = unit_malloc(worker->heap, class_of(size));
        assert(*slot != NULL);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    while (sem_wait(&worker->go) == 0 && !worker->ends) {
        if (worker->heap == NULL) {
            worker->heap = unit_heap(worker->number % COLOURS, 0);
            assert(worker->heap != NULL);
            worker->words[0] = (uintptr_t)&heap_now;
            worker->words[1] = (uintptr_t)&heap_self;
            worker->words[2] = (uintptr_t)&pages_side;
        }
        one_turn(worker);
        sem_post(&back);
    }
    for (unsigned i = 0; i < worker->row->slots; i++)
        if (worker->slots[i] != NULL)
            unit_free(worker->heap, worker->slots[i]);
    heap_end(worker->heap);
    sem_post(&back);
    return NULL;
}

static void let_run(struct worker *worker)
{
    sem_post(&worker->go);
    while (sem_wait(&back) != 0)
        ;
}

static void add_own(struct writes *writes, const struct worker *worker)
{
    const struct heap *heap = worker->heap;
    writes_add(writes, heap, sizeof *heap, worker->number);
    for (unsigned i = 0; i < COUNT_OF(worker->words); i++)
        writes_add(writes, (void *)worker->words[i], 1, worker->number);
    for (unsigned mark = 1; mark < MARK_COUNT; mark++) {
        const struct stock *stock = heap_stock(heap, mark);
        if (stock != NULL)
            writes_add(writes, stock, sizeof *stock + (stock->room + (size_t)1) * sizeof(void *),
                       worker->number);
    }
}

/* Of the blocks: their live bytes, pages of these, and the blocks themselves. */
struct block_writes {
    struct writes live, page, block;
};

static void add_block(struct block_writes *writes, const struct worker *worker, void *p)
{
    writes_add(&writes->live, live_at(p), 1, worker->number);
    write_add(&writes->page, (uintptr_t)live_at(p) / PAGE, worker->number);
    writes_add(&writes->block, p, class_size(mark_class(span_of(p)->mark)), worker->number);
}

static void add_blocks(struct block_writes *writes, const struct worker *worker)
{
    for (unsigned i = 0; i < worker->row->slots; i++)
        if (worker->slots[i] != NULL)
            add_block(writes, worker, worker->slots[i]);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) { /* others only wait to go home */
        unsigned mark = mark_make(class, worker->heap->colour);
        const struct stock *stock = heap_stock(worker->heap, mark);
        size_t count = heap_cached(worker->heap, mark);
        for (size_t i = 1; i <= count; i++)
            add_block(writes, worker, slot_block(stock->slots[i]));
    }
}

static uint64_t sum_of(const struct writes *writes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < writes->count; i++)
        for (unsigned k = 0; k < LINE / sizeof(uint64_t); k++)
            sum = sum * 31 + ((const uint64_t *)(writes->all[i].line * LINE))[k];
    return sum;
}

/* Nothing that is a thread's own changes while the others run. */
static void others_leave_it_alone(unsigned threads)
{
    for (unsigned t = 0; t < threads; t++) {
        struct writes own = {NULL, 0, 0};
        add_own(&own, &workers[t]);
        uint64_t before = sum_of(&own);
        for (unsigned other = 0; other < threads; other++) {
            workers[other].calls_left = workers[other].row->slots;
            while (other != t && workers[other].calls_left > 0)
                let_run(&workers[other]);
        }
        assert(sum_of(&own) == before);
        free(own.all);
    }
}

/* Fills the slots of all threads, in random order. */
static void give(const struct row *row)
{
    struct heap *heap = unit_heap(0, 0);
    uint64_t random = 1;
    for (unsigned i = 0; i < row->slots * row->threads; i++) {
        void **slot = &workers[unit_random(&random) % row->threads].slots[i / row->threads];
        size_t size = row->low + (unit_random(&random) >> 8) % (row->high - row->low + 1);
        if (*slot == NULL)
            assert((*slot = unit_malloc(heap, class_of(size))) != NULL);
    }
    heap_end(heap);
    heap_drop_parked(0, 0);
}

/* The threads fill their slots, by turns. `given`: with the first blocks of another thread's. */
static void all_run(const struct row *row, bool given, pthread_t *threads)
{
    for (unsigned t = 0; t < row->threads; t++) {
        struct worker *worker = &workers[t];
        memset(worker, 0, sizeof *worker);
        worker->row = row;
        worker->number = t;
        worker->random = t + 1;
        worker->calls_left = row->slots * TURNOVERS;
        sem_init(&worker->go, 0, 0);
        assert(pthread_create(&threads[t], NULL, work, worker) == 0);
    }
    if (given)
        give(row);
    for (bool runs = true; runs;) {
        runs = false;
        for (unsigned t = 0; t < row->threads; t++)
            if (workers[t].calls_left > 0) {
                let_run(&workers[t]);
                runs = true;
            }
    }
}

static void all_end(const struct row *row, const pthread_t *threads)
{
    for (unsigned t = 0; t < row->threads; t++) {
        workers[t].ends = true;
        let_run(&workers[t]);
        pthread_join(threads[t], NULL);
        sem_destroy(&workers[t].go);
    }
    heap_drop_parked(0, 0);
    pages_return(0, UINT64_MAX); /* the next row finds nothing of this one */
}

struct verdicts {
    struct verdict own, live, page, block;
};

static struct verdicts count(const struct row *row)
{
    struct writes own = {NULL, 0, 0};
    struct block_writes blocks = {own, own, own};
    for (unsigned t = 0; t < row->threads; t++) {
        add_own(&own, &workers[t]);
        add_blocks(&blocks, &workers[t]);
    }
    return (struct verdicts){judge(&own), judge(&blocks.live), judge(&blocks.page),
                             judge(&blocks.block)};
}

/* Each thread gives half of its blocks to the next one. */
static void mix(const struct row *row)
{
    for (unsigned i = 0; i < row->slots; i += 2) {
        void *first = workers[0].slots[i];
        for (unsigned t = 0; t + 1 < row->threads; t++)
            workers[t].slots[i] = workers[t + 1].slots[i];
        workers[row->threads - 1].slots[i] = first;
    }
}

static void row_holds(const struct row *row, bool given)
{
    pthread_t threads[THREADS_MAX];
    all_run(row, given, threads);
    struct verdicts found = count(row);
    mix(row);
    struct verdicts mixed = count(row);
    mix(row); /* with two threads: as it was; whoever frees a block, it goes home */
    printf("%4zu to %4zu bytes, %5u slots, %u threads%s: live %zu lines, %zu shared, %.0f of 1,000 "
           "writes (mixed: %.0f); pages %zu, %zu, %.0f (mixed: %.0f); blocks %zu, %zu, %.0f "
           "(mixed: %.0f); own %zu, %zu\n",
           row->low, row->high, row->slots, row->threads, given ? ", given" : "", found.live.lines,
           found.live.shared, found.live.found, mixed.live.found, found.page.lines,
           found.page.shared, found.page.found, mixed.page.found, found.block.lines,
           found.block.shared, found.block.found, mixed.block.found, found.own.lines,
           found.own.shared);
    assert(found.own.lines > 0 && found.own.shared == 0);
    assert(found.live.lines > 0 && found.live.found <= row->live_max + 0.5 &&
           found.page.found <= row->page_max + 0.5 && found.block.found <= row->block_max + 0.5);
    assert(mixed.live.found > row->live_max); /* the positive control */
    others_leave_it_alone(row->threads);
    all_end(row, threads);
}

/* Both ways to look at a thread's own lines see what they are to see. */
static void controls_fail(void)
{
    static _Alignas(LINE) uint64_t words[LINE];
    struct writes own = {NULL, 0, 0};
    writes_add(&own, words, sizeof words, 0);
    uint64_t before = sum_of(&own);
    words[LINE / 2]++;
    assert(sum_of(&own) != before);
    assert(judge(&own).shared == 0);
    writes_add(&own, words, sizeof words, 0);
    writes_add(&own, &words[LINE / 2], 1, 1);
    assert(judge(&own).shared == 1);
}

int main(void)
{
    /* Limits: what was counted, and a little more. Tiny blocks: two of a span have their bytes in
     * the line before. Blocks above 1 KiB: a thread takes from spans of others when there are
     * enough free blocks in them. */
    static const struct row rows[] = {
        {16, 64, 1000, 2, 0, 200, 0},     {16, 64, 20000, 2, 0, 5, 0},
        {64, 256, 1000, 2, 0, 5, 0},      {64, 256, 20000, 2, 0, 40, 0},
        {8, 1024, 1000, 2, 0, 20, 0},     {8, 1024, 20000, 2, 0, 60, 0},
        {1024, 8192, 1000, 2, 0, 300, 0}, {16, 64, 1000, 4, 0, 5, 0},
        {16, 64, 20000, 4, 0, 5, 0},      {64, 256, 1000, 4, 0, 5, 0},
        {64, 256, 20000, 4, 0, 100, 0},   {8, 1024, 1000, 4, 0, 5, 0},
        {8, 1024, 20000, 4, 0, 400, 0},   {1024, 8192, 1000, 4, 8, 450, 0}};
    static const struct row rows_given[] = {{16, 64, 1000, 2, 0, 5, 0},
                                            {64, 256, 1000, 2, 0, 5, 0},
                                            {8, 1024, 1000, 2, 0, 40, 0},
                                            {8, 1024, 20000, 2, 0, 40, 0}};
    unit_start();
    sem_init(&back, 0, 0);
    controls_fail();
    for (unsigned i = 0; i < COUNT_OF(rows); i++)
        row_holds(&rows[i], false);
    for (unsigned i = 0; i < COUNT_OF(rows_given); i++)
        row_holds(&rows_given[i], true);
    return 0;
}
