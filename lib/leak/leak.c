/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/leak.h. The copy and the process share the result and nothing else. The copy has one
 * thread and runs our code only, so that locks of libc that other threads held when it was made do
 * not matter. A copy that does not end in time is killed, and there is no scan.
 */
#include "lib/leak/leak.h"

#include "base/compiler.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/alloc/alloc.h"
#include "lib/leak/chains.h"
#include "lib/leak/closed.h"
#include "lib/leak/descriptors.h"
#include "lib/leak/stop.h"

enum {
    STACK_SIZE = 256 << 10, /* of the copy, which scans; its tables are mapped apart */
    CONSTANTS_MAX = 4096,   /* parts of memory that may hold vtables: two a loaded object */
    LOOK_MS = 20,           /* between two looks at whether a copy has died */
    READERS_MS = 1000,      /* wait for readers of the last scan: they take milliseconds */
    PATIENCE_MS = 300000,   /* wait for a copy: at 100 MiB a second, 30 GiB */
    ENDING_MS = 1000,       /* wait for the end of a copy that is done */
    STAND_MS = 30000,       /* threads stand still, without a copy: at 1 GiB a second, 30 GiB */
};

/* What the copy shares with the process. */
struct shared {
    struct leak_scan scan; /* first: this is what callers get */
    uint32_t done;
    bool good;
};

static struct leak_request request_now;
static struct stop stop_now;
static struct apart apart_now;
static BULK struct descriptors descriptors_now;
static struct written written_now;
static int priority; /* of the scanning thread, before and after it hurries (os_thread_hurry) */
static BULK struct touched touched_before; /* asks the kernel about the process, not its copy */
static struct shared *shared_now;          /* of the scan that is running */
static struct shared *shared_last;         /* of the last one that succeeded */
static pid_t busy; /* the process that is being scanned, or 0; a parent's id was left by fork */
static uint32_t readers; /* of shared_last */
static enum leak_failure failure;

static void scan_make(struct shared *shared);
static void scan_make_now(struct shared *shared);
static bool scan_here(void);
static void own_skip(struct roots *roots, const struct scan *scan);
static bool scan_opened(bool in_place);
static void copy_run(void);
static enum leak_failure copy_wait(pid_t copy, struct shared *shared, bool in_vain);

const struct leak_scan *leak_find(const struct leak_request *request)
{
    pid_t self = os_pid(), before = load_relaxed(&busy);
    if (before == self || !__atomic_compare_exchange_n(&busy, &before, self, false,
                                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return NULL;
    struct shared *shared = shared_now = os_map_shared(sizeof *shared);
    failure = LEAK_NO_MEANS;
    if (shared != NULL) {
        request_now = *request;
        scan_make(shared);
    }
    struct shared *old = shared_last;
    if (shared != NULL && shared->good)
        __atomic_store_n(&shared_last, shared, __ATOMIC_SEQ_CST);
    else
        old = shared;
    for (unsigned i = 0; i < READERS_MS && load_acquire(&readers) > 0; i++)
        os_wait(&readers, load_relaxed(&readers), 1);
    if (old != NULL &&
        load_acquire(&readers) == 0) /* else a reader is stuck, and the memory stays */
        os_unmap(old, sizeof *old);
    bool good = shared != NULL && shared == shared_last;
    if (good)
        __atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    store_release(&busy, 0);
    return good ? &shared->scan : NULL;
}

static void scan_make(struct shared *shared)
{
    struct leak_scan *scan = &shared->scan;
    if (request_now.watch_ms > 0)
        written_watch(&written_now, request_now.watch_ms);
    scan->watched_ms = written_now.watched_ms;
    scan_make_now(shared);
    written_free(&written_now);
    written_now.watched_ms = 0;
}

static void scan_make_now(struct shared *shared)
{
    struct leak_scan *scan = &shared->scan;
    descriptors_look(&descriptors_now);
    apart_look(&apart_now);
    uint64_t before_ns = os_now_ns();
    priority = os_thread_hurry();
    enum stop_outcome outcome = stop_threads(&stop_now);
    if (outcome != STOP_DONE) {
        stop_release();
        os_thread_relax(priority);
        stop_free(&stop_now);
        apart_free(&apart_now);
        failure = outcome == STOP_TOO_SLOW ? LEAK_TOO_BUSY : LEAK_NO_MEANS;
        return;
    }
    for (unsigned i = 0; request_now.here != NULL && i < stop_now.count; i++)
        if (stop_now.threads[i].tid == request_now.here->tid) {
            uintptr_t signal_stack = stop_now.threads[i].registers[ARCH_REGISTERS];
            stop_now.threads[i] = *request_now.here;
            stop_now.threads[i].registers[ARCH_REGISTERS] = signal_stack;
        }
    scan->time_ms = os_now_ms();
    scan->threads = stop_now.count + stop_now.unknown;
    scan->silent = stop_now.silent;
    touched_open(&touched_before);
    stop_extend(STAND_MS); /* a copy of 100 GiB takes seconds to make, too */
    descriptors_take(&descriptors_now);
    pid_t copy = apart_take(&apart_now) && !descriptors_now.announce_forks
                     ? os_copy_start(copy_run, STACK_SIZE)
                     : -1;
    scan->in_place = copy <= 0; /* no process or no memory for a copy, or it would lack some */
    if (scan->in_place)
        shared->good = scan_opened(true);
    bool held = stop_holds(); /* else they have gone on, and what was noted of them is old */
    /* Noted before they go on: they may run before this thread does. */
    scan->stood_us = (os_now_ns() - stop_now.since_ns) / 1000;
    stop_release();
    os_thread_relax(priority);
    touched_close(&touched_before);
    if (copy > 0)
        failure = copy_wait(copy, shared, !held);
    shared->good = shared->good && held;
    if (!held)
        failure = LEAK_TOO_BUSY;
    scan->took_us = (os_now_ns() - before_ns) / 1000;
    apart_free(&apart_now);
    descriptors_free(&descriptors_now);
    stop_free(&stop_now);
}

enum leak_failure leak_failure(void)
{
    return failure;
}

const struct leak_scan *leak_last(void)
{
    __atomic_add_fetch(&readers, 1, __ATOMIC_SEQ_CST);
    struct shared *last = __atomic_load_n(&shared_last, __ATOMIC_SEQ_CST);
    return last == NULL ? NULL : &last->scan;
}

void leak_last_end(void)
{
    __atomic_sub_fetch(&readers, 1, __ATOMIC_RELEASE);
}

void leak_memory(struct scan_range ranges[LEAK_MEMORIES])
{
    uintptr_t result = (uintptr_t)load_acquire(&shared_last), places = (uintptr_t)stop_now.places;
    ranges[0] = (struct scan_range){result, result == 0 ? 0 : result + sizeof *shared_last};
    ranges[1] = (struct scan_range){places, places == 0 ? 0 : places + stop_now.places_room};
}

static void skip_note(void *roots, const void *start, size_t bytes)
{
    roots_skip(roots, start, bytes);
}

static void skip_range(struct roots *roots, const struct scan_range *range)
{
    roots_skip(roots, (const void *)range->start, range->end - range->start);
}

/* Our threads, in place: what they hold are answers about blocks. A copy has but its own. */
static void skip_threads(struct roots *roots)
{
    uintptr_t starts[OS_THREADS_MAX], ends[OS_THREADS_MAX];
    unsigned count = 1;
    if (shared_now->scan.in_place)
        count = os_thread_rooms(starts, ends);
    else if (!os_thread_room(&starts[0], &ends[0]))
        return;
    for (unsigned i = 0; i < count; i++)
        roots_skip(roots, (const void *)starts[i], ends[i] - starts[i]);
}

/* What the scan has used, and, in a copy, what the program does not share with it any more. */
static void memory_tell(const struct scan *scan, const struct touched *touched)
{
    struct leak_scan *told = &shared_now->scan;
    told->own_bytes =
        touched_bytes(touched, scan->states, scan->states_bytes) +
        touched_bytes(touched, scan->large, scan->large_bytes) +
        (scan->chains == NULL ? 0 : touched_bytes(touched, scan->chains, chains_bytes())) +
        touched_bytes(touched, scan->waiting, scan->waiting_max * sizeof *scan->waiting);
    told->own_bytes += touched_present(touched, shared_now, sizeof *shared_now);
    uintptr_t start, end;
    if (os_thread_room(&start, &end)) /* the stack that it runs on */
        told->own_bytes += touched_bytes(touched, (const void *)start, end - start);
    uint64_t alone = told->in_place ? 0 : touched_alone();
    told->copied_bytes = alone > told->own_bytes ? alone - told->own_bytes : 0;
}

static bool scan_here(void)
{
    const struct leak_request *request = &request_now;
    size_t constants_bytes = CONSTANTS_MAX * sizeof(struct scan_range);
    struct scan_range *constants = os_map(constants_bytes);
    struct scan_rules rules = {
        .inside = request->inside,
        .offset_max = request->offset_max,
        .kept = request->kept,
        .base = request->base,
        .step = request->step,
        .ages = request->ages,
        .written = written_now.bits != NULL ? &written_now : NULL,
        .tags_high = request->tags_high,
        .tags_low = request->tags_low,
        .others = request->others,
        .in_place = shared_now->scan.in_place,
    };
    struct roots roots = {.threads = stop_now.threads,
                          .threads_count = stop_now.count,
                          .without = request->without,
                          .threads_complete = stop_now.unknown == 0,
                          .sp_here = request->here != NULL ? request->here->sp : 0,
                          .touched_before = &touched_before,
                          .mappings = request->mappings || stop_now.unknown > 0};
    struct scan scan;
    if (constants == NULL)
        return false;
    struct touched touched;
    touched_open(&touched);
    rules.touched = &touched;
    rules.constants.ranges = constants;
    rules.constants.count = roots_constants(constants, CONSTANTS_MAX);
    bool good = scan_begin(&scan, &rules, &shared_now->scan.result);
    if (good) {
        own_skip(&roots, &scan);
        roots_skip(&roots, constants, constants_bytes);
        if (!request->without.globals) {
            scan_root(&scan, (uintptr_t)apart_now.words,
                      (uintptr_t)apart_now.words + apart_now.bytes);
            scan_root(&scan, (uintptr_t)descriptors_now.words,
                      (uintptr_t)descriptors_now.words + descriptors_now.bytes);
        }
        good = roots_scan(&roots, &scan);
        scan_finish(&scan);
        memory_tell(&scan, &touched);
        scan_end(&scan);
    }
    touched_close(&touched);
    os_unmap(constants, constants_bytes);
    return good && shared_now->scan.result.complete;
}

/* The scan's own memory is not a root. */
static void own_skip(struct roots *roots, const struct scan *scan)
{
    roots_skip(roots, stop_now.threads, stop_now.room);
    roots_skip(roots, stop_now.places, stop_now.places_room);
    roots_skip(roots, scan->states, scan->states_bytes);
    roots_skip(roots, scan->large, scan->large_bytes);
    if (scan->chains != NULL)
        roots_skip(roots, scan->chains, chains_bytes());
    roots_skip(roots, scan->waiting, scan->waiting_max * sizeof *scan->waiting);
    roots_skip(roots, apart_now.words, apart_now.room);
    roots_skip(roots, apart_now.ranges, apart_now.ranges_room);
    if (written_now.bits != NULL)
        roots_skip(roots, written_now.bits, written_now.bytes);
    roots_skip(roots, shared_now, sizeof *shared_now);
    if (shared_last != NULL)
        roots_skip(roots, shared_last, sizeof *shared_last);
    if (request_now.others != NULL) {
        skip_range(roots, &request_now.others->memory);
        skip_range(roots, &request_now.others->table);
        roots_skip(roots, scan->others, scan->others_count);
    }
    huge_notes(skip_note, roots);
    skip_threads(roots);
    roots_skip(roots, descriptors_now.words, descriptors_now.room);
}

/* With the parts of blocks that the program has closed. */
static bool scan_opened(bool in_place)
{
    struct closed closed;
    bool good = closed_open(&closed) && scan_here();
    closed_end(&closed, in_place);
    return good;
}

static void copy_run(void)
{
    struct shared *shared = shared_now;
    os_copy_follow(load_relaxed(&busy));
    os_thread_relax(priority);
    os_session_new(); /* the kernel shares time between sessions, where it does so at all */
    closed_read_as_zero();
    shared->good = scan_opened(false);
    store_release(&shared->done, 1);
    os_wake_shared(&shared->done);
    os_exit(0);
}

static enum leak_failure copy_wait(pid_t copy, struct shared *shared, bool in_vain)
{
    uint64_t since_ms = os_now_ms();
    enum leak_failure failed = LEAK_NO_MEANS; /* if it ends without a result */
    while (!in_vain && load_acquire(&shared->done) == 0 && failed != LEAK_TOO_LONG) {
        if (os_copy_ended(copy))
            return load_acquire(&shared->done) != 0 ? LEAK_NO_MEANS : LEAK_COPY_ENDED;
        if (os_now_ms() - since_ms > PATIENCE_MS)
            failed = LEAK_TOO_LONG;
        else
            os_wait_shared(&shared->done, 0, LOOK_MS);
    }
    /* A copy that is done ends by itself. It is not killed at once: the program may have waited for
     * it, too, and then its number may be another process's. */
    for (unsigned i = 0; i < ENDING_MS && load_acquire(&shared->done) != 0; i++) {
        if (os_copy_ended(copy))
            return failed;
        os_wait_shared(&shared->done, 1, 1);
    }
    os_copy_kill(copy);
    return failed;
}
