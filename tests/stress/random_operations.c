/* SPDX-License-Identifier: MIT */
/* Random operations against a shadow (shadow.h): every entry point, 1 to 64 threads, blocks that
 * travel between threads through mailboxes and outlive the threads that made them. Checked at each
 * step: no overlap with any live block, alignment, usable size, zero from calloc, contents kept,
 * errno. Checked whenever all threads stand still: the library's own counts, in all, by thread and
 * by class, equal ours.
 *
 *     random_operations [--seed N] [--ops N] [--threads N] [--size-max N] [--uncounted 1]
 *
 * --uncounted leaves the counts out, and so does harden:on in MEMOIR: hardened blocks are longer
 * than malloc_usable_size tells.
 * Without --threads it runs with 1, 2, 4, 16 and 64 threads in turn and splits the operations among
 * them. A failure names seed, thread and operation; one thread with the same seed repeats
 * exactly. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/stress/shadow.h"
#include "tests/stress/target.h"

enum {
    THREADS_MAX = 64,
    SLOTS_ALL = 16384, /* live blocks, over all threads */
    SLOTS_MAX = 4096,
    MAILBOX_MAX = 64,
    POINTS = 3, /* quiescent points a round */
    CLASSES_MAX = 512,
    CLASS_BYTES_MAX = 16384, /* larger blocks need not have a class of their own */
    ERRNO_MARK = 77,
};

/* How the block came to be, where that restricts how it may go. */
enum origin { FROM_MALLOC, FROM_NEW, FROM_NEW_ALIGNED, FROM_ALIGNED };

struct slot {
    unsigned char *block;
    size_t size, usable, alignment;
    uint64_t seed;
    enum origin origin;
};

struct letter {
    atomic_int state; /* 0 empty, 1 being written or read, 2 full */
    struct slot slot;
};

struct counts {
    uint64_t allocs, frees, alloc_bytes, free_bytes;
};

struct worker {
    struct slot slots[SLOTS_MAX];
    struct letter mailbox[MAILBOX_MAX];
    struct counts all, by_class[CLASSES_MAX];
    struct memoir_totals before;
    uint64_t random, operation, operations;
    unsigned index;
    pthread_t thread;
};

static struct worker workers[THREADS_MAX];
static unsigned threads, slots_each;
static uint64_t run_seed;
static size_t size_max = (size_t)4 << 20;
static pthread_barrier_t barrier;
static bool uncounted;
static size_t class_usable[CLASSES_MAX];
static unsigned classes;

static void fail(const struct worker *worker, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

static void fail(const struct worker *worker, const char *format, ...)
{
    char line[400];
    int length = snprintf(
        line, sizeof line,
        "FAILED seed %llu threads %u thread %u operation %llu: ", (unsigned long long)run_seed,
        threads, worker ? worker->index : 0, worker ? (unsigned long long)worker->operation : 0);
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    va_end(arguments);
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)length) < 0) {
        _exit(2);
    }
    _exit(1);
}

static uint64_t below(struct worker *worker, uint64_t bound)
{
    return mix(&worker->random) % bound;
}

/* Mostly small, all magnitudes up to size_max, borders of powers of two more often than chance. */
static size_t random_size(struct worker *worker)
{
    static const uint8_t shift_of[32] = {3,  4,  4,  5,  5,  5,  6,  6,  6,  6,  7,
                                         7,  7,  8,  8,  8,  8,  9,  9,  9,  10, 10,
                                         10, 11, 11, 12, 12, 13, 13, 14, 15, 16};
    unsigned shift = shift_of[below(worker, 32)];
    if (below(worker, 100) == 0) {
        shift = 16 + (unsigned)below(worker, 7);
    }
    size_t size = below(worker, (uint64_t)1 << shift);
    if (below(worker, 16) == 0) {
        size = ((size_t)1 << shift) - 2 + below(worker, 5);
    }
    return size < size_max ? size : size_max;
}

static unsigned class_of(size_t usable)
{
    unsigned low = 0, high = classes;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (class_usable[middle] < usable) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < classes && class_usable[low] == usable ? low : CLASSES_MAX;
}

static void count(struct worker *worker, size_t usable, bool alloc)
{
    unsigned class = class_of(usable);
    struct counts *kinds[] = {&worker->all, class < CLASSES_MAX ? &worker->by_class[class] : NULL};
    for (int i = 0; i < 2 && kinds[i] != NULL; i++) {
        *(alloc ? &kinds[i]->allocs : &kinds[i]->frees) += 1;
        *(alloc ? &kinds[i]->alloc_bytes : &kinds[i]->free_bytes) += usable;
    }
}

static void contents_check(struct worker *worker, const struct slot *slot, size_t kept)
{
    size_t differs = fill_walk(slot->block, slot->usable, slot->seed, true, kept);
    if (differs < kept) {
        fail(worker, "contents of %p (%zu bytes) changed at %zu", (void *)slot->block, slot->size,
             differs);
    }
}

static void errno_check(struct worker *worker, const char *call)
{
    if (errno != ERRNO_MARK) {
        fail(worker, "errno is %d after a successful %s", errno, call);
    }
}

/* A block just came from the allocator (its fresh size, alignment and origin are in the slot): may
 * it be ours, and is it all that was promised? */
static void claim(struct worker *worker, struct slot *slot, const char *call)
{
    errno_check(worker, call);
    if (slot->block == NULL) {
        fail(worker, "null from %s of %zu bytes, alignment %zu", call, slot->size, slot->alignment);
    }
    size_t alignment = slot->alignment > 16 ? slot->alignment : 16;
    if (((uintptr_t)slot->block & (alignment - 1)) != 0) {
        fail(worker, "alignment %zu broken: %s returned %p", alignment, call, (void *)slot->block);
    }
    bool taken = granule_taken(slot->block);
    slot->usable = taken ? slot->size : target_usable(slot->block, slot->size);
    if (slot->usable < slot->size) {
        fail(worker, "usable size %zu from %s of %zu bytes", slot->usable, call, slot->size);
    }
    if (taken || !granules_flip(slot->block, slot->usable, true)) {
        fail(worker, "overlap: %s of %zu bytes returned %p, part of a live block", call, slot->size,
             (void *)slot->block);
    }
    slot->seed = mix(&worker->random);
    fill_walk(slot->block, slot->usable, slot->seed, false, 0);
}

static void release(struct worker *worker, struct slot *slot)
{
    if (target_usable(slot->block, 0) != slot->usable) {
        fail(worker, "usable size of %p changed from %zu", (void *)slot->block, slot->usable);
    }
    contents_check(worker, slot, slot->usable);
    if (!granules_flip(slot->block, slot->usable, false)) {
        fail(worker, "overlap: a part of %p (%zu bytes) was taken by another block",
             (void *)slot->block, slot->usable);
    }
}

static void zero_check(struct worker *worker, const struct slot *slot)
{
    const unsigned char *bytes = slot->block;
    if (bytes == NULL || slot->size == 0) {
        return;
    }
    if (bytes[0] != 0 || memcmp(bytes, bytes + 1, slot->size - 1) != 0) {
        fail(worker, "not zero: calloc of %zu bytes", slot->size);
    }
}

static void *live_block(struct worker *worker)
{
    struct slot *slot = &worker->slots[below(worker, slots_each)];
    return slot->block != NULL && slot->usable >= 64 ? slot->block : NULL;
}

static void allocate(struct worker *worker, struct slot *slot)
{
    const char *call = "malloc";
    size_t size = slot->size = random_size(worker);
    size_t alignment = (size_t)1 << below(worker, below(worker, 20) == 0 ? 18 : 10);
    slot->alignment = 16;
    slot->origin = FROM_MALLOC;
    void *block = NULL;
    unsigned choice = (unsigned)below(worker, 32);
    errno = ERRNO_MARK;
    if (choice < 5) {
        call = "calloc";
        slot->block = size % 3 == 0 ? target_calloc(size / 3, 3) : target_calloc(1, size);
        zero_check(worker, slot);
    } else if (choice == 5) {
        call = "realloc of NULL";
        slot->block = target_realloc(NULL, size, 0);
    } else if (choice == 6) {
        call = "reallocarray";
        slot->size = size / 5 * 5;
        slot->block = reallocarray(NULL, size / 5, 5);
    } else if (choice == 7 || choice == 8) {
        call = "memalign";
        slot->alignment = alignment;
        slot->origin = FROM_ALIGNED;
        slot->block = target_memalign(alignment, size);
    } else if (choice == 9) {
        call = "aligned_alloc";
        slot->alignment = alignment;
        slot->origin = FROM_ALIGNED;
        slot->block = aligned_alloc(alignment, size);
    } else if (choice == 10) {
        call = "posix_memalign";
        slot->alignment = alignment < sizeof(void *) ? sizeof(void *) : alignment;
        slot->origin = FROM_ALIGNED;
        slot->block = posix_memalign(&block, slot->alignment, size) == 0 ? block : NULL;
    } else if (choice == 11 && below(worker, 4) == 0) {
        call = "valloc";
        slot->alignment = (size_t)sysconf(_SC_PAGESIZE);
        slot->size = size % 2 ? size : (size / slot->alignment + 1) * slot->alignment;
        slot->block = size % 2 ? valloc(size) : pvalloc(size + 1); /* whole pages */
        slot->origin = FROM_ALIGNED;
    } else if (choice < 16 && _Znwm != NULL && _ZnamRKSt9nothrow_t != NULL) {
        call = "operator new";
        slot->block = choice % 2 ? _Znwm(size) : _ZnamRKSt9nothrow_t(size, "");
        slot->origin = FROM_NEW;
    } else if (choice == 16 && _ZnwmSt11align_val_t != NULL) {
        call = "aligned operator new";
        slot->alignment = alignment;
        slot->block = _ZnwmSt11align_val_t(size, alignment);
        slot->origin = FROM_NEW_ALIGNED;
    } else {
        slot->block = target_malloc(size, PLANT == PLANT_NOTHING ? NULL : live_block(worker));
    }
    claim(worker, slot, call);
    count(worker, slot->usable, true);
}

static void deallocate(struct worker *worker, struct slot *slot)
{
    release(worker, slot);
    count(worker, slot->usable, false);
    bool other_way = below(worker, 2) == 0;
    errno = ERRNO_MARK;
    if (slot->origin == FROM_NEW && other_way && _ZdlPv != NULL && _ZdaPvm != NULL) {
        if (slot->size % 2) {
            _ZdlPv(slot->block);
        } else {
            _ZdaPvm(slot->block, slot->size);
        }
    } else if (slot->origin == FROM_NEW_ALIGNED && other_way && _ZdlPvSt11align_val_t != NULL) {
        _ZdlPvSt11align_val_t(slot->block, slot->alignment);
    } else if (slot->origin == FROM_MALLOC && other_way && free_sized != NULL) {
        free_sized(slot->block, slot->size);
    } else if (slot->origin == FROM_ALIGNED && other_way && free_aligned_sized != NULL) {
        free_aligned_sized(slot->block, slot->alignment, slot->size);
    } else {
        target_free(slot->block);
    }
    errno_check(worker, "free");
    slot->block = NULL;
}

/* One block ends and another begins, also where it stays. */
static void count_realloc(struct worker *worker, const struct slot *old, const struct slot *new)
{
    count(worker, old->usable, false);
    count(worker, new->usable, true);
}

static void reallocate(struct worker *worker, struct slot *slot)
{
    struct slot old = *slot;
    release(worker, slot);
    slot->size =
        below(worker, 3) == 0 ? random_size(worker) : old.size + below(worker, old.size / 2 + 32);
    slot->size = slot->size < 1 ? 1 : slot->size > size_max ? size_max : slot->size;
    size_t keep = old.size < slot->size ? old.size : slot->size;
    slot->alignment = 16;
    slot->origin = FROM_MALLOC;
    errno = ERRNO_MARK;
    slot->block = target_realloc(old.block, slot->size, keep);
    if (slot->block != NULL) {
        size_t differs = fill_walk(slot->block, old.usable, old.seed, true, keep);
        if (differs < keep) {
            fail(worker, "contents lost by realloc from %zu to %zu bytes at %zu", old.size,
                 slot->size, differs);
        }
    }
    claim(worker, slot, "realloc");
    count_realloc(worker, &old, slot);
}

/* Leaves the block in the mailbox of a random worker, or keeps it if that is taken. */
static void send(struct worker *worker, struct slot *slot)
{
    struct worker *to = &workers[below(worker, threads)];
    struct letter *letter = &to->mailbox[below(worker, MAILBOX_MAX)];
    int empty = 0;
    if (atomic_compare_exchange_strong(&letter->state, &empty, 1)) {
        letter->slot = *slot;
        slot->block = NULL;
        atomic_store(&letter->state, 2);
    }
}

static void receive(struct worker *worker)
{
    struct letter *letter = &worker->mailbox[below(worker, MAILBOX_MAX)];
    int full = 2;
    if (!atomic_compare_exchange_strong(&letter->state, &full, 1)) {
        return;
    }
    struct slot slot = letter->slot;
    atomic_store(&letter->state, 0);
    struct slot *home = &worker->slots[below(worker, slots_each)];
    if (home->block == NULL && below(worker, 4) == 0) {
        contents_check(worker, &slot, slot.usable);
        *home = slot;
        return;
    }
    if (below(worker, 8) == 0) {
        reallocate(worker, &slot);
    }
    deallocate(worker, &slot);
}

static void operate(struct worker *worker)
{
    struct slot *slot = &worker->slots[below(worker, slots_each)];
    if (below(worker, 4) == 0) {
        receive(worker);
    } else if (slot->block == NULL) {
        allocate(worker, slot);
    } else {
        unsigned choice = (unsigned)below(worker, 16);
        if (choice < 9) {
            deallocate(worker, slot);
        } else if (choice < 12) {
            reallocate(worker, slot);
        } else if (choice < 15 && threads > 1) {
            send(worker, slot);
        } else {
            contents_check(worker, slot, slot->usable);
        }
        if (slot->block != NULL && slot->usable > 0 && planted(PLANT_SCRIBBLE)) {
            slot->block[slot->usable - 1] ^= 1;
        }
    }
    worker->operation++;
}

static void totals_check(const struct worker *worker, const char *whose, const struct counts *ours,
                         const struct memoir_totals *before, const struct memoir_totals *after)
{
    struct counts theirs = {after->allocs - before->allocs, after->frees - before->frees,
                            after->alloc_bytes - before->alloc_bytes,
                            after->free_bytes - before->free_bytes};
    if (memcmp(&theirs, ours, sizeof theirs) != 0) {
        fail(worker,
             "accounting %s: library %llu allocs %llu frees %llu bytes in %llu out, "
             "shadow %llu %llu %llu %llu",
             whose, (unsigned long long)theirs.allocs, (unsigned long long)theirs.frees,
             (unsigned long long)theirs.alloc_bytes, (unsigned long long)theirs.free_bytes,
             (unsigned long long)ours->allocs, (unsigned long long)ours->frees,
             (unsigned long long)ours->alloc_bytes, (unsigned long long)ours->free_bytes);
    }
}

/* Between two barriers that only main leaves and enters, so nobody allocates here. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct memoir_totals after;
    bool known = !uncounted && target_thread_totals(&worker->before);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (int point = 0; point < POINTS; point++) {
        for (uint64_t i = 0; i < worker->operations / POINTS; i++) {
            operate(worker);
        }
        if (known && target_thread_totals(&after)) {
            totals_check(worker, "of the thread", &worker->all, &worker->before, &after);
        }
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

struct snapshot {
    struct memoir_stats stats;
    struct memoir_totals by_class[CLASSES_MAX];
    bool known;
};

static void snapshot_take(struct snapshot *snapshot)
{
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->known = !uncounted && target_stats(&snapshot->stats);
    for (unsigned class = 0; class < classes && snapshot->known; class ++) {
        target_class_totals(class_usable[class], &snapshot->by_class[class]);
    }
}

static void counts_add(struct counts *sum, const struct counts *more)
{
    sum->allocs += more->allocs;
    sum->frees += more->frees;
    sum->alloc_bytes += more->alloc_bytes;
    sum->free_bytes += more->free_bytes;
}

/* All workers stand at the barrier. */
static void snapshot_compare(const struct snapshot *before)
{
    static struct snapshot now;
    snapshot_take(&now);
    if (!before->known || !now.known) {
        return;
    }
    struct counts sum = {0};
    for (unsigned i = 0; i < threads; i++) {
        counts_add(&sum, &workers[i].all);
    }
    totals_check(NULL, "in all", &sum, &before->stats.total, &now.stats.total);
    int64_t blocks = (int64_t)(now.stats.live_blocks - before->stats.live_blocks);
    int64_t bytes = (int64_t)(now.stats.live_bytes - before->stats.live_bytes);
    if (blocks != (int64_t)(sum.allocs - sum.frees) ||
        bytes != (int64_t)(sum.alloc_bytes - sum.free_bytes)) {
        fail(NULL,
             "accounting of live blocks: library %+lld blocks %+lld bytes, shadow %+lld %+lld",
             (long long)blocks, (long long)bytes, (long long)(sum.allocs - sum.frees),
             (long long)(sum.alloc_bytes - sum.free_bytes));
    }
    for (unsigned class = 0; class < classes; class ++) {
        char whose[40];
        struct counts class_sum = {0};
        for (unsigned i = 0; i < threads; i++) {
            counts_add(&class_sum, &workers[i].by_class[class]);
        }
        snprintf(whose, sizeof whose, "of class %zu", class_usable[class]);
        totals_check(NULL, whose, &class_sum, &before->by_class[class], &now.by_class[class]);
    }
}

/* The usable sizes that malloc gives out: what the library calls classes. */
static void find_classes(void)
{
    size_t before = 0;
    for (size_t size = 1; size <= CLASS_BYTES_MAX && classes < CLASSES_MAX; size++) {
        void *block = malloc(size);
        size_t usable = malloc_usable_size(block);
        free(block);
        /* Whole pages can also be a block of their own kind, when a page's alignment was
         * asked for. */
        if (usable > before && usable <= CLASS_BYTES_MAX && usable % 4096 != 0) {
            class_usable[classes++] = before = usable;
        }
    }
}

/* One generation of threads over the slots that the last one left. */
static void round_run(uint64_t operations)
{
    static struct snapshot before;
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        workers[i].index = i;
        workers[i].operations = operations / threads;
        memset(&workers[i].all, 0, sizeof workers[i].all);
        memset(workers[i].by_class, 0, sizeof workers[i].by_class);
        int code = pthread_create(&workers[i].thread, NULL, work, &workers[i]);
        if (code != 0) {
            fail(NULL, "pthread_create: %s", strerror(code));
        }
    }
    pthread_barrier_wait(&barrier);
    snapshot_take(&before);
    pthread_barrier_wait(&barrier);
    for (int point = 0; point < POINTS; point++) {
        pthread_barrier_wait(&barrier);
        snapshot_compare(&before);
        pthread_barrier_wait(&barrier);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    pthread_barrier_destroy(&barrier);
}

static void empty_everything(void)
{
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        for (unsigned s = 0; s < SLOTS_MAX; s++) {
            if (workers[i].slots[s].block != NULL) {
                deallocate(&workers[i], &workers[i].slots[s]);
            }
        }
        for (unsigned m = 0; m < MAILBOX_MAX; m++) {
            if (workers[i].mailbox[m].state == 2) {
                deallocate(&workers[i], &workers[i].mailbox[m].slot);
                workers[i].mailbox[m].state = 0;
            }
        }
    }
}

static void phase_run(unsigned thread_count, uint64_t operations)
{
    enum { ROUNDS = 4 };
    threads = thread_count;
    slots_each = SLOTS_ALL / threads < SLOTS_MAX ? SLOTS_ALL / threads : SLOTS_MAX;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        workers[i].random = run_seed + ((uint64_t)i << 32) + threads;
        workers[i].operation = 0;
    }
    for (int i = 0; i < ROUNDS; i++) {
        round_run(operations / ROUNDS);
    }
    empty_everything();
    printf("threads %2u  operations %llu  passed\n", threads, (unsigned long long)operations);
    fflush(stdout);
}

int main(int count_of_arguments, char **arguments)
{
    static const unsigned phases[] = {1, 2, 4, 16, 64};
    enum { PHASES = sizeof phases / sizeof phases[0] };
    bool brief = getenv("MEMOIR_STRESS_SHORT") != NULL;
    uint64_t operations = brief ? 10000000 : 100000000;
    unsigned only_threads = 0;
    run_seed = (uint64_t)getpid() * 2654435761u ^ (uint64_t)(uintptr_t)&brief;
    for (int i = 1; i + 1 < count_of_arguments; i += 2) {
        unsigned long long value = strtoull(arguments[i + 1], NULL, 0);
        if (strcmp(arguments[i], "--seed") == 0) {
            run_seed = value;
        } else if (strcmp(arguments[i], "--ops") == 0) {
            operations = value;
        } else if (strcmp(arguments[i], "--threads") == 0 && value >= 1 && value <= THREADS_MAX) {
            only_threads = (unsigned)value;
        } else if (strcmp(arguments[i], "--uncounted") == 0) {
            uncounted = value != 0;
        } else if (strcmp(arguments[i], "--size-max") == 0) {
            size_max = value;
        } else {
            fprintf(stderr, "usage: random_operations [--seed N] [--ops N] [--threads N]\n");
            return 2;
        }
    }
    const char *options = getenv("MEMOIR");
    uncounted |= options != NULL && strstr(options, "harden:on") != NULL;
    printf("seed %llu  operations %llu  accounting %s\n", (unsigned long long)run_seed,
           (unsigned long long)operations,
           memoir_stats != NULL && !uncounted ? "checked" : "not checked");
    fflush(stdout);
    find_classes();
    if (only_threads != 0) {
        phase_run(only_threads, operations);
        return 0;
    }
    for (int i = 0; i < PHASES; i++) {
        phase_run(phases[i], operations / PHASES);
    }
    return 0;
}
