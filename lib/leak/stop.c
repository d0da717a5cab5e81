/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/stop.h. A thread may start another one before it is stopped, so the list of threads
 * is read until it shows no new one: a thread that stands still starts none.
 *
 * Where thousands of threads are ready to run, ours gets the processor as rarely as each of them:
 * signalling all of them itself would take minutes. So each stopped thread signals the next ones
 * before it waits, and wakes the next ones when it goes on.
 */
#include "lib/leak/stop.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "base/arch.h"
#include "base/attach_protocol.h"
#include "base/compiler.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "base/os_timer.h"
#include "base/words.h"
#include "lib/watch/watch.h"

enum {
    PLACES_SHIFT = 17, /* threads; 40 MB of address space, touched as far as needed */
    PLACES_MAX = 1 << PLACES_SHIFT,
    TIDS_SHIFT = PLACES_SHIFT + 1, /* of the hash table of their ids */
    ROUNDS_MAX = 100, /* readings of the list: a program may start threads without end */
    /* The wait for the next answer. A running thread answers in microseconds; one that waits for a
     * processor on a busy machine is waited for as long as a scan may take. Silent threads that
     * sleep are not waited for, nor, for longer than DEAF_MS, those that block the signal or that
     * the kernel does not let go. */
    ANSWER_MS = 1000,
    DEAF_MS = 5,       /* of waiting, or of running: code that blocks signals does so for less */
    TRACED_MS = 50,    /* stopped by a tracer; one that only looks lets the thread go sooner */
    NEXT = 2,          /* threads that each stopped thread signals, and later wakes: a tree, so that
                          all processors signal and wake */
    KEEP = 64,         /* threads that ours signals between two calls of keep_standing */
    SIGNAL_STACK = 16, /* in the third argument of a handler: ss_sp of its uc_stack */
    MASKS_READ_MAX = 64, /* of threads that are to be sent libc's signal, a scan: about 1 ms */
    LOOKS_MAX = 4096,    /* silent threads that are looked at before answers are: some 100 ms */
};

/* Why a thread does not answer. */
enum silence { SILENCE_RUNS, SILENCE_SLEEPS, SILENCE_ENDS };

struct place {
    pid_t tid;
    pid_t listed; /* its name in /proc, which may count otherwise */
    uint32_t sent, answered;
    enum silence silence; /* if no answer is expected, why; SILENCE_RUNS: it is */
    uint64_t ran_ns;      /* 1 ns more than it had run when `has_run` first looked; 0: it did not */
    bool tried, insisted; /* whether to send it libc's signal, too, was decided; and it was sent */
    struct roots_thread thread;
};

/* What /proc tells of a thread. */
struct told {
    char state;
    uint32_t flags;
    uint64_t waiting, blocked; /* signals */
};

static struct place *places;
static pid_t *tids;           /* of them, by hash; while threads are interrupted */
static unsigned places_count; /* threads to be signalled */
static unsigned signalled;    /* those of them that a thread has signalled, or is about to */
static int signal_now;
static bool insists;              /* and the one that libc keeps for itself, if that is not heard */
static bool any_blocks_libcs;     /* a thread was seen that does, in this scan or an earlier one */
static unsigned masks_read;       /* of threads that might, in this scan */
static pid_t own[OS_THREADS_MAX]; /* our other threads, as listed */
static unsigned own_count;
static uint32_t scans;     /* a late answer is one to an earlier scan */
static uint32_t answering; /* threads in the part of the handler that uses the places, */
static uint32_t inside;    /* and in all of it: those that stand still, and late ones */
static pid_t scanned;      /* the process that they belong to; a parent's id was left by fork */
static uint32_t answers;
static uint32_t answers_wanted;    /* our thread is woken when there are that many */
static uint32_t stopping;          /* the scan that threads in the handler wait for, or 0 */
static uint64_t stopping_until_ms; /* how long they wait at most */

static bool late_ones_leave(void);
static int signal_choose(void);
static bool keep_standing(const struct stop *stop);
static bool round_list(const struct stop *stop, int folder);
static void round_signal(const struct stop *stop);
static bool all_are_known(void);
static bool wait_for_answers(const struct stop *stop);
static void threads_list(struct stop *stop);
static enum silence silence_of(pid_t tid);
static bool silent_note(pid_t tid, struct roots_thread *thread);
static void on_stop(const void *info, void *context);
static uint32_t answer(uint32_t value, void *context);

enum stop_outcome stop_threads(struct stop *stop)
{
    *stop = (struct stop){.room = PLACES_MAX * sizeof(struct roots_thread)};
    int folder = os_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (places == NULL) /* it stays: a thread of the last time may be late */
        places = os_map(PLACES_MAX * sizeof *places);
    tids = os_map(sizeof *tids << TIDS_SHIFT);
    stop->threads = os_map(stop->room);
    stop->places = places;
    stop->places_room = PLACES_MAX * sizeof *places;
    stop->since_ns = os_now_ns();
    bool stands = late_ones_leave();
    store_relaxed(&answers_wanted, UINT32_MAX);
    store_relaxed(&places_count, 0);
    own_count = 0;
    store_relaxed(&signalled, 0);
    store_relaxed(&answers, 0);
    scans += scans + 1 == 0 ? 2 : 1; /* 0 is none */
    signal_now = signal_choose();
    insists = interrupt_open_libcs();
    masks_read = 0;
    bool good = folder >= 0 && places != NULL && stop->threads != NULL && tids != NULL;
    if (good && stands) {
        interrupt_hear(INTERRUPT_STOP, on_stop);
        stop_extend(STOP_MAX_MS);
        bool any = round_list(stop, folder); /* most of them, before the first one stands still */
        stop->since_ns = os_now_ns();
        store_release(&stopping, scans);
        for (unsigned round = 0; any && stands && round < ROUNDS_MAX; round++) {
            round_signal(stop);
            stands = wait_for_answers(stop);
            any = stands && !all_are_known() && round_list(stop, folder);
        }
        stands = keep_standing(stop);
    }
    if (folder >= 0)
        os_close(folder);
    if (tids != NULL)
        os_unmap(tids, sizeof *tids << TIDS_SHIFT);
    if (good && stands)
        threads_list(stop);
    return !good ? STOP_IMPOSSIBLE : stands ? STOP_DONE : STOP_TOO_SLOW;
}

void stop_extend(unsigned ms)
{
    store_release(&stopping_until_ms, os_now_ms() + ms);
}

bool stop_holds(void)
{
    return os_now_ms() < load_acquire(&stopping_until_ms);
}

void stop_release(void)
{
    __atomic_store_n(&stopping, 0, __ATOMIC_SEQ_CST);
    os_wake(&stopping, NEXT);
}

void stop_free(struct stop *stop)
{
    /* `places` stays: a thread may be late. */
    if (stop->threads != NULL)
        os_unmap(stop->threads, stop->room);
}

/* A thread may have answered the last scan so late that it still writes to its place, which is
 * another thread's in this one. `stopping` is 0, so no more begin to. False: one is there still. */
static bool late_ones_leave(void)
{
    uint64_t since_ms = os_now_ms();
    if (scanned != os_pid()) {
        store_relaxed(&answering, 0);
        store_relaxed(&inside, 0);
    }
    scanned = os_pid();
    for (uint32_t now; (now = __atomic_load_n(&answering, __ATOMIC_SEQ_CST)) > 0;) {
        if (os_now_ms() - since_ms > ANSWER_MS)
            return false;
        os_wait(&answering, now, 1);
    }
    return true;
}

/* A signal that the kernel ignores where the program has no handler for it; 0: it has handlers for
 * all of them. */
static int signal_choose(void)
{
    if (interrupt_open(ATTACH_SIGNAL))
        return ATTACH_SIGNAL;
    return interrupt_open(SIGWINCH) ? SIGWINCH : 0;
}

/* False if the thread is in the table already. */
static bool tid_add(pid_t tid)
{
    uint32_t at = (uint32_t)tid * 0x9e3779b1u >> (32 - TIDS_SHIFT);
    for (; tids[at] != 0; at = (at + 1) % (1u << TIDS_SHIFT))
        if (tids[at] == tid)
            return false;
    tids[at] = tid;
    return true;
}

/* Tells the stopped threads that ours is still at work. False: it was too slow, and they have gone
 * on, or all of this takes too long. */
static bool keep_standing(const struct stop *stop)
{
    if (!stop_holds() || (os_now_ns() - stop->since_ns) / 1000000 > STOP_ALL_MS)
        return false;
    stop_extend(STOP_MAX_MS);
    return true;
}

/* Signals the next thread that no other thread signals. False if all are taken. May run in a signal
 * handler. */
static bool signal_next(void)
{
    unsigned number = load_relaxed(&signalled);
    do {
        if (number >= load_acquire(&places_count))
            return false;
    } while (!__atomic_compare_exchange_n(&signalled, &number, number + 1, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    os_signal_queue(places[number].tid, signal_now,
                    interrupt_value(scans << PLACES_SHIFT | number));
    store_release(&places[number].sent, 1);
    return true;
}

static void place_add(pid_t tid, pid_t listed)
{
    struct place *place = &places[places_count];
    place->tid = tid;
    place->listed = listed;
    store_relaxed(&place->answered, 0);
    store_relaxed(&place->sent, 0);
    place->silence = SILENCE_RUNS;
    place->ran_ns = 0;
    place->tried = place->insisted = false;
    store_release(&places_count, places_count + 1);
}

static void thread_add(pid_t tid, pid_t listed)
{
    if (places_count == PLACES_MAX || !tid_add(tid))
        return;
    if (!os_thread_is_ours(tid))
        place_add(tid, listed);
    else if (own_count < OS_THREADS_MAX)
        own[own_count++] = tid;
}

/* Adds the threads that were not there before; false if there are none. */
static bool round_list(const struct stop *stop, int folder)
{
    _Alignas(uint64_t) char names[4096];
    unsigned before = places_count;
    bool apart = tasks_listed_apart();
    pid_t self = os_tid_asked();
    os_folder_rewind(folder);
    for (ssize_t got;
         keep_standing(stop) && (got = os_folder_read(folder, names, sizeof names)) > 0;) {
        for (ssize_t at = 0; at < got;) {
            const struct os_folder_entry *entry = (const struct os_folder_entry *)(names + at);
            pid_t listed = (pid_t)text_number(entry->name, 10);
            pid_t tid = apart && listed != 0 ? tasks_listed(listed) : listed;
            at += entry->length;
            if (tid != 0 && tid != self)
                thread_add(tid, listed);
        }
    }
    return places_count > before;
}

static void round_signal(const struct stop *stop)
{
    store_relaxed(&answers_wanted, places_count);
    for (unsigned i = 1; signal_next() && (i % KEEP != 0 || keep_standing(stop)); i++)
        ;
}

/* Whether the process has as many threads as are listed, so that none has begun since: to read a
 * list of thousands again takes milliseconds, in which they all stand still. */
static bool all_are_known(void)
{
    uint32_t there = os_thread_count(), known = 1; /* ours */
    for (unsigned i = 0; i < own_count; i++)
        known += os_thread_alive(own[i]);
    for (unsigned i = 0; i < places_count; i++)
        known += places[i].silence != SILENCE_ENDS;
    return there == known;
}

_Static_assert(ATTACH_SIGNAL < 32 && SIGWINCH < 32, "the sets in that file have no others");

/* "tid (name) S 1 2 3 4 5 flags ... waiting blocked ...", each set of signals in decimal, signal 1
 * in the lowest bit. The name may hold any byte. False: the thread is gone. The kernel has nothing
 * cheaper, and it is asked about each thread that does not answer while the others stand still. */
static bool thread_tell(pid_t tid, struct told *told)
{
    enum { FLAGS_FIELD = 6, WAITING_FIELD = 28, BLOCKED_FIELD = 29 }; /* behind the state */
    char text[1024];
    size_t got = tasks_tell(tid, "stat", text, sizeof text);
    *told = (struct told){0};
    while (got > 0 && text[got - 1] != ')')
        got--;
    if (got == 0 || text[got] == '\0')
        return false;
    told->state = text[got + 1];
    unsigned field = 0;
    for (const char *at = text + got + 1; *at != '\0' && field <= BLOCKED_FIELD; at++) {
        if (*at != ' ')
            continue;
        uint64_t number =
            ++field == FLAGS_FIELD || field >= WAITING_FIELD ? text_number(at + 1, 10) : 0;
        if (field == FLAGS_FIELD)
            told->flags = (uint32_t)number;
        else if (field == WAITING_FIELD)
            told->waiting = number;
        else if (field == BLOCKED_FIELD)
            told->blocked = number;
    }
    return true;
}

/* A thread that sleeps although the signal was sent blocks it, or the kernel does not let it go.
 * One that runs will answer, unless it is about to end. */
static enum silence silence_told(bool there, const struct told *told)
{
    enum { ENDING = 4 }; /* PF_EXITING */
    if (!there || told->state == 'Z' || told->state == 'X' || (told->flags & ENDING) != 0)
        return SILENCE_ENDS;
    return told->state == 'R' ? SILENCE_RUNS : SILENCE_SLEEPS;
}

static enum silence silence_of(pid_t tid)
{
    struct told told;
    bool there = thread_tell(tid, &told);
    return silence_told(there, &told);
}

static bool is_in_set(uint64_t set)
{
    return signal_now == 0 || (set >> (signal_now - 1) & 1) != 0; /* 0: no thread gets one */
}

static bool blocks_libcs(pid_t tid)
{
    return tasks_blocked(tid) >> (INTERRUPT_LIBCS - 1) & 1;
}

/* Threads of a program mostly block the same signals: if none of the first ones blocks this one,
 * the others are not asked. To read the file of each of thousands would take long. */
static bool seems_to_block_libcs(pid_t tid)
{
    if (masks_read >= MASKS_READ_MAX && !any_blocks_libcs)
        return false;
    masks_read++;
    bool blocks = blocks_libcs(tid);
    any_blocks_libcs |= blocks;
    return blocks;
}

/* Whether the thread has used a processor for DEAF_MS since this was first asked. Code that blocks
 * signals for a moment may have to wait for a processor much longer than that moment. */
static bool has_run(struct place *place)
{
    char text[128];
    uint64_t ran_min_ns = DEAF_MS * UINT64_C(1000000);
    if (tasks_tell(place->listed, "schedstat", text, sizeof text) == 0)
        return true; /* such a kernel does not tell */
    uint64_t ran_ns = text_number(text, 10) + 1;
    if (place->ran_ns == 0)
        place->ran_ns = ran_ns;
    return ran_ns - place->ran_ns >= ran_min_ns;
}

/* Whether the thread will not answer: the signal waits for it, and it blocks that, or the kernel
 * or a debugger does not let it go. One that has the signal is in the handler, which blocks it, and
 * will; unless the value of the signal was lost, because too many wait (RLIMIT_SIGPENDING). */
static bool is_deaf(struct place *place, uint64_t waited_ms)
{
    struct told told;
    bool there = thread_tell(place->listed, &told);
    bool waits = is_in_set(told.waiting), blocked = is_in_set(told.blocked);
    if (there && told.state == 't' && waits) { /* else it may be held in the midst of its answer */
        bool stays = waited_ms >= TRACED_MS;
        place->silence = stays ? SILENCE_SLEEPS : SILENCE_RUNS;
        return stays;
    }
    if (place->insisted && there && told.state != 'S' && !blocks_libcs(place->listed))
        return false; /* it waits for a processor */
    if (!waits && silence_told(there, &told) == SILENCE_ENDS) {
        place->silence = SILENCE_ENDS;
        return true;
    }
    if (!waits && (blocked || told.state != 'S' || waited_ms < DEAF_MS))
        return false;
    if ((told.state == 'R' && !blocked) || (waited_ms < DEAF_MS && !(told.state == 'S' && blocked)))
        return false;
    if (told.state == 'R' && !has_run(place))
        return false;
    place->silence = SILENCE_SLEEPS;
    return true;
}

/* A thread that sleeps although it was signalled blocks the signal. Programs can't block the one
 * that libc keeps for itself, except by a system call of their own. But it ends a process without a
 * handler for it, as one is after exec. So it is sent only to a thread that waits in a call which
 * goes on after it, and does not block it: it would be there still after exec, and each scan would
 * add one. False: it was not sent now. */
static bool insist(struct place *place)
{
    char text[256];
    if (!insists || place->tried)
        return false;
    tasks_tell(place->listed, "syscall", text, sizeof text);
    if (text[0] < '0' || text[0] > '9')
        return false; /* it runs, or is gone */
    place->tried = true;
    uint32_t number = (uint32_t)(place - places);
    place->insisted = interrupt_spares((long)text_number(text, 10)) &&
                      !seems_to_block_libcs(place->listed) &&
                      os_signal_queue(place->tid, INTERRUPT_LIBCS,
                                      interrupt_value(scans << PLACES_SHIFT | number));
    return place->insisted;
}

/* Whether no more answers are expected. A thread may be about to signal another one, or still in
 * the handler of the last scan, where it blocks all signals. */
static bool all_silent_are_deaf(uint64_t waited_ms)
{
    unsigned looks = 0;
    bool all = true;
    if (load_acquire(&inside) > load_acquire(&answers))
        return false;
    for (unsigned i = 0; i < places_count; i++) {
        struct place *place = &places[i];
        if (load_acquire(&place->answered) != 0 || place->silence != SILENCE_RUNS)
            continue;
        if (++looks > LOOKS_MAX || load_acquire(&place->sent) == 0)
            return false;
        if (insist(place))
            all = false;
        else if (!is_deaf(place, waited_ms))
            return false;
    }
    return all;
}

/* Whether a thread that has not answered is ready to run, and no processor ran it: the first of
 * these looks notes how long it had run before. */
static bool any_waits_for_processor(void)
{
    for (unsigned i = 0; i < places_count; i++) {
        struct place *place = &places[i];
        struct told told;
        if (load_acquire(&place->answered) == 0 && place->silence == SILENCE_RUNS &&
            (load_acquire(&place->sent) == 0 ||
             (thread_tell(place->listed, &told) && told.state == 'R' && !has_run(place))))
            return true;
    }
    return false;
}

/* False: the threads do not stand still. */
static bool wait_for_answers(const struct stop *stop)
{
    uint64_t last_ms = os_now_ms();
    for (uint32_t now; (now = load_acquire(&answers)) < places_count;) {
        if (!keep_standing(stop))
            return false;
        os_wait(&answers, now, 1);
        if (load_acquire(&answers) != now)
            last_ms = os_now_ms();
        else if (all_silent_are_deaf(os_now_ms() - last_ms))
            break;
        else if (os_now_ms() - last_ms > ANSWER_MS && !any_waits_for_processor())
            break;
    }
    return true;
}

/* Signal handler, in any thread, at any moment, with all signals blocked. */
static void on_stop(const void *info, void *context)
{
    uint32_t value = (uint32_t)(uintptr_t)((const siginfo_t *)info)->si_value.sival_ptr;
    __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&answering, 1, __ATOMIC_SEQ_CST);
    uint32_t now = answer(value, context);
    __atomic_sub_fetch(&answering, 1, __ATOMIC_SEQ_CST);
    if (now != 0) {
        /* Not for the next scan: it asks anew. */
        while (load_acquire(&stopping) == now && stop_holds())
            os_wait(&stopping, now, STOP_MAX_MS);
        os_wake(&stopping, NEXT);
    }
    __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
}

/* The scan that the thread has answered; 0: it was asked by one that is over. */
static uint32_t answer(uint32_t value, void *context)
{
    uint32_t scan = value >> PLACES_SHIFT, number = value % PLACES_MAX;
    uint32_t now = __atomic_load_n(&stopping, __ATOMIC_SEQ_CST);
    if (now == 0 || scan != now % (1u << (32 - PLACES_SHIFT)) ||
        number >= load_acquire(&places_count))
        return 0;
    const char *frame = (const char *)context - ARCH_SIGNAL_CONTEXT;
    struct roots_thread *thread = &places[number].thread;
    uintptr_t sp = *(const uintptr_t *)(frame + ARCH_SIGNAL_SP);
    for (unsigned i = 0; i < ARCH_REGISTERS && i < ROOTS_REGISTERS; i++)
        thread->registers[i] = *(const uintptr_t *)(frame + arch_signal_slot(i));
    thread->registers[ARCH_REGISTERS] = *(const uintptr_t *)((const char *)context + SIGNAL_STACK);
    const void *vectors = NULL;
    size_t vectors_bytes = arch_signal_vectors(context, &vectors);
    thread->vectors = (struct scan_range){(uintptr_t)vectors, (uintptr_t)vectors + vectors_bytes};
    thread->pc = *(const uintptr_t *)(frame + ARCH_SIGNAL_PC);
    thread->sp = sp;
    thread->tp = (uintptr_t)__builtin_thread_pointer();
    store_release(&places[number].answered, 1);
    if (__atomic_add_fetch(&answers, 1, __ATOMIC_RELEASE) >= load_relaxed(&answers_wanted))
        os_wake(&answers, 1);
    for (unsigned i = 0; i < NEXT; i++)
        signal_next();
    return now;
}

static void threads_list(struct stop *stop)
{
    for (unsigned i = 0; i < places_count; i++) {
        struct roots_thread *thread = &stop->threads[stop->count];
        bool silent = load_acquire(&places[i].answered) == 0;
        if (silent && (places[i].silence == SILENCE_RUNS ? silence_of(places[i].listed)
                                                         : places[i].silence) == SILENCE_ENDS)
            continue; /* it uses its memory no more */
        stop->silent += silent;
        if (!silent)
            *thread = places[i].thread;
        else if (!silent_note(places[i].listed, thread)) {
            stop->unknown++;
            continue;
        }
        thread->tid = places[i].tid;
        stop->count++;
    }
}

/* From /proc/self/task/TID/syscall: "number arguments sp pc" of the call that it waits in. */
static bool silent_note(pid_t tid, struct roots_thread *thread)
{
    enum { ARGUMENTS = 6, WORDS = ARGUMENTS + 2 };
    char text[256];
    uintptr_t words[WORDS];
    unsigned count = 0;
    tasks_tell(tid, "syscall", text, sizeof text);
    for (const char *at = text; count < WORDS && (at = strstr(at, " 0x")) != NULL; at += 3)
        words[count++] = text_number(at + 3, 16);
    if (count < 2 || words[count - 2] == 0)
        return false; /* it runs */
    thread->sp = words[count - 2];
    memcpy(thread->registers, words, (count - 2) * sizeof words[0]);
    return true;
}
