/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/stop.h. Threads that begin others meanwhile are why the list is read until it shows
 * no new one: a thread that stands still begins none.
 */
#include "lib/leak/stop.h"

#include <fcntl.h>
#include <signal.h>

#include "base/arch.h"
#include "base/attach.h"
#include "base/compiler.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "base/os_timer.h"
#include "base/print.h"
#include "lib/watch/watch.h"

enum {
    PLACES_SHIFT = 17, /* threads; 40 MB of address space, touched as far as needed */
    PLACES_MAX = 1 << PLACES_SHIFT,
    TIDS_SHIFT = PLACES_SHIFT + 1, /* of the hash table of their ids */
    ROUNDS_MAX = 100, /* readings of the list: a program may begin threads without end */
    /* For all threads to stand still: one that runs answers in microseconds, but on a busy machine
     * it may have to wait for its turn. Those that sleep and do not answer are not waited for. */
    ANSWER_MS = STOP_MAX_MS / 2,
    SIGNAL_STACK = 16, /* in the third argument of a handler: ss_sp of its uc_stack */
    NS_IN_MS = 1000000,
    SILENT_MAX = 64, /* threads that are looked at each millisecond: do they sleep? */
};

/* Why a thread does not answer. */
enum silence { SILENCE_RUNS, SILENCE_SLEEPS, SILENCE_ENDS };

struct place {
    pid_t tid;
    uint32_t answered;
    struct roots_thread thread;
};

static struct place *places;
static pid_t *tids;           /* of them, by hash; while threads are interrupted */
static unsigned places_count; /* signalled */
static uint32_t scans;        /* a late answer is one to an earlier scan */
static uint32_t answers;
static uint32_t stopping;          /* the scan that threads in the handler wait for, or 0, */
static uint64_t stopping_until_ms; /* and until then */

static int signal_choose(void);
static bool round_signal(int folder, int signal);
static void wait_for_answers(uint64_t until_ms);
static enum silence silence_of(pid_t tid);
static bool silent_sp(pid_t tid, uintptr_t *sp);
static void on_stop(const void *info, void *context);

bool stop_threads(struct stop *stop)
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
    places_count = 0;
    scans += scans + 1 == 0 ? 2 : 1; /* 0 is none */
    store_relaxed(&answers, 0);
    int signal = signal_choose();
    bool good = folder >= 0 && places != NULL && stop->threads != NULL && tids != NULL;
    if (good) {
        interrupt_hear(INTERRUPT_STOP, on_stop);
        stop_extend(STOP_MAX_MS);
        store_release(&stopping, scans);
        for (unsigned round = 0; round < ROUNDS_MAX && round_signal(folder, signal); round++)
            wait_for_answers(stop->since_ns / NS_IN_MS + ANSWER_MS);
    }
    if (folder >= 0)
        os_close(folder);
    if (tids != NULL)
        os_unmap(tids, sizeof *tids << TIDS_SHIFT);
    for (unsigned i = 0; good && i < places_count; i++) {
        struct roots_thread *thread = &stop->threads[stop->count];
        bool silent = load_acquire(&places[i].answered) == 0;
        if (silent && silence_of(places[i].tid) == SILENCE_ENDS)
            continue; /* it uses its memory no more */
        stop->silent += silent;
        if (!silent)
            *thread = places[i].thread;
        else if (!silent_sp(places[i].tid, &thread->sp)) {
            stop->unknown++;
            continue;
        }
        thread->tid = places[i].tid;
        stop->count++;
    }
    return good;
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
    store_release(&stopping, 0);
    os_wake(&stopping, INT32_MAX);
}

void stop_free(struct stop *stop)
{
    /* `places` stays: a thread may be late. */
    if (stop->threads != NULL)
        os_unmap(stop->threads, stop->room);
}

/* One that programs without a handler for it ignore; 0: the program has handlers for all. */
static int signal_choose(void)
{
    if (interrupt_open(ATTACH_SIGNAL))
        return ATTACH_SIGNAL;
    return interrupt_open(SIGWINCH) ? SIGWINCH : 0;
}

/* False if it was there before. */
static bool tid_add(pid_t tid)
{
    uint32_t at = (uint32_t)tid * 0x9e3779b1u >> (32 - TIDS_SHIFT);
    for (; tids[at] != 0; at = (at + 1) % (1u << TIDS_SHIFT))
        if (tids[at] == tid)
            return false;
    tids[at] = tid;
    return true;
}

/* Signals the threads that were not there before; false if there are none. */
static bool round_signal(int folder, int signal)
{
    _Alignas(uint64_t) char names[4096];
    unsigned before = places_count;
    pid_t self = os_tid_asked();
    os_folder_rewind(folder);
    for (ssize_t got; (got = os_folder_read(folder, names, sizeof names)) > 0;)
        for (ssize_t at = 0; at < got;) {
            const struct os_folder_entry *entry = (const struct os_folder_entry *)(names + at);
            pid_t tid = 0;
            for (const char *digit = entry->name; *digit >= '0' && *digit <= '9'; digit++)
                tid = tid * 10 + (*digit - '0');
            at += entry->length;
            if (tid == 0 || tid == self || os_thread_is_ours(tid) || places_count == PLACES_MAX ||
                !tid_add(tid))
                continue;
            places[places_count].tid = tid;
            store_relaxed(&places[places_count].answered, 0);
            store_release(&places_count, places_count + 1);
            os_signal_queue(tid, signal,
                            interrupt_value(scans << PLACES_SHIFT | (places_count - 1)));
        }
    return places_count > before;
}

/* What the kernel tells about a thread, in a file of its folder; the length. */
static size_t task_read(pid_t tid, const char *file, char *text, size_t size)
{
    char path[64];
    struct print name;
    print_start(&name, path, sizeof path);
    print_format(&name, "/proc/self/task/%d/%s", (int)tid, file);
    int fd = os_open(print_string(&name), O_RDONLY | O_CLOEXEC, 0);
    ssize_t got = fd < 0 ? 0 : os_read(fd, text, size - 1);
    if (fd >= 0)
        os_close(fd);
    text[got < 0 ? 0 : got] = '\0';
    return got < 0 ? 0 : (size_t)got;
}

/* "tid (name) S 1 2 3 4 5 flags ...": a thread that sleeps although the signal was sent blocks it,
 * or the kernel does not let it go. One that runs will answer, unless it is about to end. The name
 * may hold any byte. */
static enum silence silence_of(pid_t tid)
{
    enum { FLAGS_FIELD = 6, ENDING = 4 }; /* fields behind the state; PF_EXITING */
    char text[256];
    size_t got = task_read(tid, "stat", text, sizeof text);
    while (got > 0 && text[got - 1] != ')')
        got--;
    if (got == 0 || text[got] == '\0' || text[got + 1] == 'Z' || text[got + 1] == 'X')
        return SILENCE_ENDS;
    uint32_t flags = 0;
    const char *at = text + got + 1;
    for (unsigned field = 0; *at != '\0' && field < FLAGS_FIELD; at++)
        field += *at == ' ';
    for (; *at >= '0' && *at <= '9'; at++)
        flags = flags * 10 + (uint32_t)(*at - '0');
    if (flags & ENDING)
        return SILENCE_ENDS;
    return text[got + 1] == 'R' ? SILENCE_RUNS : SILENCE_SLEEPS;
}

static bool all_silent_sleep(void)
{
    unsigned silent = 0;
    for (unsigned i = 0; i < places_count; i++)
        if (load_acquire(&places[i].answered) == 0 &&
            (++silent > SILENT_MAX || silence_of(places[i].tid) == SILENCE_RUNS))
            return false;
    return true;
}

static void wait_for_answers(uint64_t until_ms)
{
    for (uint32_t now; (now = load_acquire(&answers)) < places_count;) {
        if (os_now_ns() / NS_IN_MS >= until_ms)
            return;
        os_wait(&answers, now, 1);
        if (load_acquire(&answers) == now && all_silent_sleep())
            return;
    }
}

/* In any thread, at any moment, with all signals blocked. */
static void on_stop(const void *info, void *context)
{
    uint32_t number = (uint32_t)(uintptr_t)((const siginfo_t *)info)->si_value.sival_ptr;
    uint32_t scan = number >> PLACES_SHIFT;
    number %= PLACES_MAX;
    uint32_t now = load_acquire(&stopping);
    if (now == 0 || scan != now % (1u << (32 - PLACES_SHIFT)) ||
        number >= load_acquire(&places_count))
        return;
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
    __atomic_fetch_add(&answers, 1, __ATOMIC_RELEASE);
    os_wake(&answers, 1);
    while (load_acquire(&stopping) == now && stop_holds()) /* not for the next scan: it asks anew */
        os_wait(&stopping, now, STOP_MAX_MS);
}

/* The kernel's own word: "number arguments sp pc" of the system call in which the thread waits. */
static bool silent_sp(pid_t tid, uintptr_t *sp)
{
    enum { SP_FROM_END = 2 };
    char text[256];
    ssize_t got = (ssize_t)task_read(tid, "syscall", text, sizeof text);
    unsigned from_end = 0;
    for (; got > 0 && from_end < SP_FROM_END; got--)
        from_end += text[got - 1] == ' ';
    if (got <= 0)
        return false; /* it runs */
    *sp = 0;
    for (const char *at = text + got + 3; *at != ' ' && *at != '\n'; at++) /* behind " 0x" */
        *sp = *sp << 4 | (uintptr_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
    return *sp != 0;
}
