/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/threads.h. Rows lie in slabs that are never given back; one lock guards their
 * reuse, taken when a thread records its first block and when it ends. Threads that exit
 * without running their destructors are found by asking the kernel for their ids, one at
 * each new thread, so that ten thousand short threads do not leave ten thousand rows behind.
 */
#include "lib/heap/threads.h"

#include <string.h>

#include "base/compiler.h"
#include "base/confine.h"
#include "base/lock.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/heap/recorder.h"
#include "lib/heap/sites.h"
#include "lib/watch/watch.h"

enum {
    SLAB_SHIFT = 6, /* 64 rows are 4.5 KiB */
    SLAB = 1 << SLAB_SHIFT,
    SLABS = 1 << 15, /* for 2 million threads at once; the table is 128 KiB of untouched memory */
    KEPT = 64,       /* ended threads keep their rows while there are at most this many */
    /* Rows of ended threads that are checked for a new thread: bounds the time under the lock. */
    LOOKS = 8,
    /* Number of live threads from which on the kernel is asked whether they still exist. A seccomp
     * filter may forbid that system call, and few threads need no check. */
    ASK_FROM = 64,
};

enum thread_state { THREAD_NONE, THREAD_LIVES, THREAD_ENDED };

struct thread {
    uint64_t since_ms;
    struct heap *heap;           /* NULL: it has none; read by any thread while it lives */
    struct thread_counts counts; /* once it has ended */
    struct recorder *recorder;   /* kept; inherited if the thread exits without running its
                                  destructors */
    uint32_t id, tid;
    uint32_t sites; /* stays with the row */
    uint8_t state;
    bool named;   /* the program set the name */
    bool counted; /* `counts` is known */
    char name[THREAD_NAME_SIZE];
};

static struct lock lock = {.rank = LOCK_THREADS};
static BULK uint32_t slabs[SLABS]; /* meta ids */
static uint32_t count, ids;
static uint32_t inherited;          /* threads with lower ids were the parent's (threads_claim) */
static bool names_kept;             /* of ended threads */
static uint32_t living;             /* rows of threads that have not ended, as far as is known */
static pid_t process;               /* the process whose threads these are */
static struct thread_counts others; /* of threads that left their rows to others; */
static bool others_unknown;         /* not of all */
static uint32_t cursor;             /* where the next search for a free row begins */
static __thread uint32_t own;       /* number of this thread's row, + 1 */

static struct thread *thread_at(uint32_t number);
static void thread_copy(uint32_t number);
static bool counts_of(const struct thread *thread, struct thread_counts *counts);

/* The name of a thread that lives is the kernel's business; the file has the last one that was
 * asked for. */
void threads_copy_name(void)
{
    struct recorder_thread *copy =
        own != 0 && mirror_on() ? mirror_row(SHEET_THREADS, own - 1) : NULL;
    if (copy != NULL && !thread_at(own - 1)->named && !confined(CONFINE_NAMES))
        os_thread_name(copy->name);
}

static struct thread *thread_at(uint32_t number)
{
    return (struct thread *)meta_at(slabs[number >> SLAB_SHIFT]) + number % SLAB;
}

void threads_copy(void)
{
    for (uint32_t number = 0; number < threads_count(); number++)
        thread_copy(number);
    threads_copy_name();
}

/* Into the recorder file; the state is written last. */
static void thread_copy(uint32_t number)
{
    _Static_assert((int)THREAD_LIVES == (int)RECORDER_THREAD_LIVES &&
                       (int)THREAD_ENDED == (int)RECORDER_THREAD_ENDED,
                   "states of the recorder file");
    const struct thread *thread = thread_at(number);
    struct recorder_thread *copy = mirror_on() ? mirror_row_make(SHEET_THREADS, number) : NULL;
    if (copy == NULL)
        return;
    if (copy->id != thread->id)
        store_release(&copy->state, RECORDER_THREAD_NONE);
    copy->since_ms = thread->since_ms;
    copy->id = thread->id;
    copy->tid = thread->tid;
    memcpy(copy->name, thread->name, sizeof copy->name);
    copy->alloc_objects = thread->counts.objects;
    copy->alloc_bytes = thread->counts.bytes;
    copy->counted = thread->counted;
    store_release(&copy->state, thread->state);
}

uint32_t *threads_sites(uint32_t number)
{
    return &thread_at(number)->sites;
}

static void thread_vanished(struct thread *thread)
{
    thread->state = THREAD_ENDED;
    living--;
    if (thread->recorder != NULL)
        totals_inherit(thread->recorder);
    thread->recorder = NULL;
    thread->heap = NULL;
}

/* Another thread may have its row. */
static void counts_fold_locked(const struct thread *thread)
{
    add_relaxed(&others.objects, thread->counts.objects);
    add_relaxed(&others.bytes, thread->counts.bytes);
    if (!thread->counted)
        store_relaxed(&others_unknown, true);
}

/* Whether the row's thread has ended and none of its blocks is live. `ask`: may ask the kernel. */
static bool is_free_locked(uint32_t number, bool ask)
{
    struct thread *thread = thread_at(number);
    uint8_t before = thread->state;
    ask &= thread->state == THREAD_LIVES && living >= ASK_FROM && thread->id >= inherited;
    if (ask && os_thread_gone((pid_t)thread->tid))
        thread_vanished(thread);
    if (thread->state == THREAD_ENDED && sites_fold(number)) {
        thread->state = THREAD_NONE;
        counts_fold_locked(thread);
    }
    if (thread->state != before)
        thread_copy(number);
    return thread->state == THREAD_NONE;
}

/* A free row, or a new one. Of the rows that are checked, the kernel is asked about one, each time
 * about another, so that in the end it is asked about all. */
static uint32_t number_locked(void)
{
    for (unsigned i = 0; i < LOOKS && count >= KEPT; i++) {
        cursor = cursor + 1 < count ? cursor + 1 : 0;
        if (is_free_locked(cursor, ids % LOOKS == i))
            return cursor;
    }
    if (count >> SLAB_SHIFT >= SLABS)
        return THREAD_OTHER;
    if (slabs[count >> SLAB_SHIFT] == 0) {
        void *slab = meta_take(SLAB * sizeof(struct thread));
        if (slab == NULL)
            return THREAD_OTHER;
        slabs[count >> SLAB_SHIFT] = meta_id(slab);
    }
    store_release(&count, count + 1);
    return count - 1;
}

/* A vfork child shares our memory, and to it all threads look dead, so it gets no row. The id that
 * such a child may have left in our thread-local memory is not taken for the thread's. */
static NOINLINE uint32_t thread_add(void)
{
    pid_t here = os_pid();
    if (load_relaxed(&process) == 0)
        store_relaxed(&process, here);
    if (load_relaxed(&process) != here)
        return THREAD_OTHER;
    lock_take(&lock);
    uint32_t number = number_locked();
    if (number != THREAD_OTHER) {
        struct thread *thread = thread_at(number);
        thread->since_ms = os_now_ms();
        thread->heap = heap_self;
        thread->counts = (struct thread_counts){0};
        thread->counted = false;
        thread->tid = (uint32_t)os_tid();
        store_relaxed(&thread->id, ids++);
        thread->named = false;
        memset(thread->name, 0, sizeof thread->name);
        store_release(&thread->state, THREAD_LIVES);
        living++;
        own = number + 1;
        thread_copy(number);
    }
    lock_give(&lock);
    threads_copy_name();
    return number;
}

uint32_t threads_self(void)
{
    return likely(own != 0) ? own - 1 : thread_add();
}

uint32_t threads_id(uint32_t number)
{
    return number == THREAD_OTHER ? UINT32_MAX : load_relaxed(&thread_at(number)->id);
}

void threads_keep(struct recorder *recorder)
{
    uint32_t number = threads_self();
    if (number != THREAD_OTHER)
        thread_at(number)->recorder = recorder;
}

uint32_t threads_count(void)
{
    return load_acquire(&count);
}

void threads_keep_names(void)
{
    store_relaxed(&names_kept, true);
}

void threads_has_heap(struct heap *heap)
{
    if (own != 0)
        store_release(&thread_at(own - 1)->heap, heap);
}

static bool counts_of(const struct thread *thread, struct thread_counts *counts)
{
    struct account_sum sum;
    const struct heap *heap = load_acquire(&thread->heap);
    if (heap == NULL || !account_other_thread(heap, thread->tid, &sum))
        return false;
    *counts = (struct thread_counts){sum.allocs, sum.alloc_bytes};
    return true;
}

bool threads_counts(uint32_t number, struct thread_counts *counts)
{
    if (number == THREAD_OTHER) {
        *counts =
            (struct thread_counts){load_relaxed(&others.objects), load_relaxed(&others.bytes)};
        return !load_relaxed(&others_unknown);
    }
    const struct thread *thread = thread_at(number);
    uint8_t state = load_acquire(&thread->state);
    if (state == THREAD_LIVES)
        return counts_of(thread, counts);
    *counts = thread->counts;
    return state == THREAD_ENDED && thread->counted;
}

void threads_end(void)
{
    if (own == 0)
        return;
    struct thread *thread = thread_at(own - 1);
    if (!thread->named && (load_relaxed(&names_kept) || mirror_on()))
        os_thread_name(thread->name);
    thread->counted = counts_of(thread, &thread->counts);
    lock_take(&lock);
    /* All or nothing: a row that is still there has everything that its thread did. */
    bool gone = count > KEPT && sites_ended(own - 1) && sites_fold(own - 1);
    store_release(&thread->state, gone ? THREAD_NONE : THREAD_ENDED);
    if (gone)
        counts_fold_locked(thread);
    thread_copy(own - 1);
    living--;
    own = 0;
    lock_give(&lock);
}

bool threads_row(uint32_t number, struct thread_row *row)
{
    if (number >= threads_count())
        return false;
    const struct thread *thread = thread_at(number);
    uint8_t state = load_acquire(&thread->state);
    if (state == THREAD_NONE)
        return false;
    *row = (struct thread_row){.id = thread->id,
                               .tid = thread->tid,
                               .alive = state == THREAD_LIVES,
                               .since_ms = thread->since_ms};
    memcpy(row->name, thread->name, sizeof row->name);
    row->name[sizeof row->name - 1] = '\0';
    if (row->alive && !thread->named)
        tasks_name_of((pid_t)row->tid, row->name);
    return true;
}

void threads_set_name(const char *name)
{
    if (threads_self() == THREAD_OTHER)
        return;
    struct thread *thread = thread_at(own - 1);
    size_t length = strlen(name);
    length = length < sizeof thread->name ? length : sizeof thread->name - 1;
    memset(thread->name, 0, sizeof thread->name);
    memcpy(thread->name, name, length);
    thread->named = length > 0;
    thread_copy(own - 1);
    threads_copy_name();
}

const char *threads_name(void)
{
    return own == 0 ? "" : thread_at(own - 1)->name;
}

void threads_recover(uint32_t parent_id, bool first)
{
    lock_break(&lock, parent_id);
    process = os_pid();
    inherited = ids;
    if (first)
        threads_claim();
}

void threads_claim(void)
{
    lock_take(&lock);
    for (uint32_t number = 0; number < count; number++) {
        struct thread *thread = thread_at(number);
        if (number + 1 == own)
            thread->tid = lock_self();
        else if (thread->state == THREAD_LIVES && thread->id < inherited)
            thread_vanished(thread);
    }
    inherited = 0;
    lock_give(&lock);
}

void threads_abandoned(void)
{
    if (!lock_is_own(&lock))
        return;
    sites_fold_abandoned();
    lock_give(&lock);
}
