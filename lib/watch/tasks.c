/* SPDX-License-Identifier: MIT */
/*
 * See lib/watch/tasks.h. Rows are claimed under one lock; a small table of the ids seen last finds
 * a thread's row without a search. Existing threads are found by reading /proc/self/task in a
 * thread of our own, whose descriptors are not the program's.
 */
#include "lib/watch/tasks.h"

#include <fcntl.h>
#include <string.h>

#include "base/compiler.h"
#include "base/confine.h"
#include "base/lock.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "base/os_timer.h"
#include "base/print.h"
#include "base/words.h"
#include "lib/alloc/alloc.h"

/* 64 rows at a time; 131,072 threads at once, as in lib/leak/stop.c. */
enum { SLAB_SHIFT = 6, SLAB = 1 << SLAB_SHIFT, SLABS = 1 << 11 };

static struct lock lock = {.rank = LOCK_THREADS};
static BULK uint32_t slabs[SLABS]; /* meta ids */
static uint32_t count = 1;         /* the next number */
static uint32_t ids = 1;
static uint32_t cursor;    /* where the next look for a free row begins */
static uint32_t free_rows; /* about how many there are below `count` */

struct task *tasks_at(uint32_t number)
{
    return (struct task *)meta_at(load_acquire(&slabs[number >> SLAB_SHIFT])) + number % SLAB;
}

uint32_t tasks_count(void)
{
    return load_acquire(&count);
}

/* A row that an ended thread left. */
static uint32_t row_used_locked(void)
{
    uint32_t end = tasks_count();
    for (uint32_t i = 0; i < end && load_relaxed(&free_rows) > 0; i++) {
        cursor = cursor + 1 < end ? cursor + 1 : 1;
        if (load_acquire(&tasks_at(cursor)->state) == TASK_FREE) {
            __atomic_fetch_sub(&free_rows, 1, __ATOMIC_RELAXED);
            return cursor;
        }
    }
    return TASK_NONE;
}

static uint32_t row_new_locked(void)
{
    uint32_t slab = count >> SLAB_SHIFT;
    if (slab >= SLABS)
        return TASK_NONE;
    if (slabs[slab] == 0) {
        void *memory = meta_take(SLAB * sizeof(struct task));
        if (memory == NULL)
            return TASK_NONE;
        store_release(&slabs[slab], meta_id(memory));
    }
    store_release(&count, count + 1);
    return count - 1;
}

/* A thread is found by two parties at the same time, itself and a scan: where its row would be. */
static uint32_t *recent_of(uint32_t tid)
{
    static BULK uint32_t recent[1 << 15]; /* as many as there are ids by default */
    return &recent[tid % COUNT_OF(recent)];
}

static bool is_row_of(uint32_t number, uint32_t tid)
{
    const struct task *task = tasks_at(number);
    return load_acquire(&task->state) == TASK_LIVES && task->tid == tid;
}

static uint32_t row_find_locked(uint32_t tid)
{
    uint32_t number = *recent_of(tid);
    if (number == TASK_NONE || is_row_of(number, tid))
        return number;
    for (number = 1; number < count; number++) /* another thread had that place since */
        if (is_row_of(number, tid))
            return number;
    return TASK_NONE;
}

static void row_fill(struct task *task, uint32_t tid)
{
    uint32_t rows = task->rows, wait_rows = task->wait_rows;
    memset(task, 0, sizeof *task);
    task->rows = rows;
    task->wait_rows = wait_rows;
    task->tid = tid;
    task->id = ids++;
    task->since_ms = os_now_ms();
    task->timer = task->wall_timer = -1;
    store_release(&task->state, TASK_LIVES);
}

uint32_t tasks_join(pid_t tid, bool *fresh)
{
    lock_take(&lock);
    uint32_t number = row_find_locked((uint32_t)tid);
    *fresh = number == TASK_NONE;
    if (*fresh && (number = row_used_locked()) == TASK_NONE)
        number = row_new_locked();
    if (*fresh && number != TASK_NONE) {
        row_fill(tasks_at(number), (uint32_t)tid);
        store_release(recent_of((uint32_t)tid), number);
    }
    lock_give(&lock);
    return number;
}

uint32_t tasks_self(pid_t tid)
{
    uint32_t number = load_acquire(recent_of((uint32_t)tid));
    return number != TASK_NONE && is_row_of(number, (uint32_t)tid) ? number : TASK_NONE;
}

uint32_t tasks_self_search(pid_t tid)
{
    uint32_t number = load_acquire(recent_of((uint32_t)tid)), end = tasks_count();
    if (number == TASK_NONE || is_row_of(number, (uint32_t)tid))
        return number;
    for (number = 1; number < end; number++) /* another thread has that place */
        if (is_row_of(number, (uint32_t)tid)) {
            store_release(recent_of((uint32_t)tid), number);
            return number;
        }
    return TASK_NONE;
}

bool tasks_has_self(void)
{
    return tasks_count() > 1 && tasks_self_search((pid_t)lock_self()) != TASK_NONE;
}

void tasks_end(uint32_t number, bool kept)
{
    struct task *task = tasks_at(number);
    task->until_ms = os_now_ms();
    if (!kept)
        __atomic_fetch_add(&free_rows, 1, __ATOMIC_RELAXED);
    store_release(&task->state, kept ? TASK_ENDED : TASK_FREE);
}

/* ---- all threads, from the kernel ---------------------------------------------------- */

/* WAIT_MS: a scan takes some milliseconds; after that its thread is taken to be stopped.
 * NAMES_SIZE: some 500 threads a system call. */
enum { STACK_SIZE = 64 << 10, WAIT_MS = 1000, NAMES_SIZE = 16 << 10, IDLE = 0, BUSY = 1 };

static uint32_t scanning; /* IDLE or BUSY */
static struct tasks_scan scan_calls;

/* Which threads have rows: a hash table of numbers, by tid; and which of them were seen. */
struct index {
    uint32_t size; /* a power of 2 */
    uint32_t *numbers;
    uint8_t *seen; /* by number */
    uint32_t rows;
};

static uint32_t *index_find(const struct index *index, uint32_t tid)
{
    for (uint32_t at = tid * 0x9e3779b1u;; at++) {
        uint32_t *number = &index->numbers[at & (index->size - 1)];
        if (*number == TASK_NONE || tasks_at(*number)->tid == tid)
            return number;
    }
}

static void task_seen(struct index *index, uint32_t tid)
{
    uint32_t number = *index_find(index, tid);
    if (number != TASK_NONE) {
        index->seen[number] = 1;
        return;
    }
    bool fresh = false;
    if (!os_thread_is_ours((pid_t)tid))
        number = tasks_join((pid_t)tid, &fresh);
    if (fresh && number != TASK_NONE)
        scan_calls.joined(number);
}

/* A small file of /proc, its end marked by a zero; the length. */
static size_t file_read(const char *path, char *text, size_t size)
{
    int fd = os_open(path, O_RDONLY | O_CLOEXEC, 0);
    ssize_t got = fd < 0 ? 0 : os_read(fd, text, size - 1);
    if (fd >= 0)
        os_close(fd);
    text[got < 0 ? 0 : got] = '\0';
    return got < 0 ? 0 : (size_t)got;
}

size_t tasks_tell(pid_t tid, const char *file, char *text, size_t size)
{
    char path[64];
    struct print name;
    print_start(&name, path, sizeof path);
    print_format(&name, "/proc/self/task/%d/%s", (int)tid, file);
    return file_read(print_string(&name), text, size);
}

/* "SigBlk:", a tab, and a set of all signals in hexadecimal. */
uint64_t tasks_blocked(pid_t tid)
{
    static const char name[] = "\nSigBlk:\t";
    char text[4096];
    tasks_tell(tid, "status", text, sizeof text);
    const char *at = strstr(text, name);
    return at == NULL ? 0 : text_number(at + sizeof name - 1, 16);
}

bool tasks_listed_apart(void)
{
    char text[16];
    file_read("/proc/self/stat", text, sizeof text);
    return text[0] != '\0' && (pid_t)text_number(text, 10) != os_pid();
}

/* "NSpid:", and its id in each namespace from /proc's to its own, with a tab before each. */
pid_t tasks_listed(pid_t listed)
{
    char text[4096];
    tasks_tell(listed, "status", text, sizeof text);
    pid_t own = 0;
    const char *at = strstr(text, "\nNSpid:");
    for (at = at == NULL ? "" : at + 1; *at != '\0' && *at != '\n'; at++)
        if (*at == '\t')
            own = (pid_t)text_number(at + 1, 10);
    return own;
}

static void names_read(struct index *index, int folder)
{
    bool apart = !confined(CONFINE_OPEN) && tasks_listed_apart();
    char *names = os_map(NAMES_SIZE);
    if (names == NULL)
        return;
    for (;;) {
        ssize_t got = os_folder_read(folder, names, NAMES_SIZE);
        if (got <= 0)
            break;
        for (ssize_t at = 0; at < got;) {
            const struct os_folder_entry *entry = (const struct os_folder_entry *)(names + at);
            uint32_t tid = (uint32_t)text_number(entry->name, 10);
            if (tid != 0 && apart)
                tid = (uint32_t)tasks_listed((pid_t)tid);
            if (tid != 0)
                task_seen(index, tid);
            at += entry->length;
        }
    }
    os_unmap(names, NAMES_SIZE);
}

static void scan(void)
{
    int folder = os_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (folder < 0)
        return;
    struct index index = {.size = 64, .rows = tasks_count()};
    while (index.size < 2 * index.rows)
        index.size *= 2;
    size_t bytes = index.size * sizeof *index.numbers + index.rows;
    index.numbers = os_map(bytes);
    if (index.numbers != NULL) {
        index.seen = (uint8_t *)(index.numbers + index.size);
        for (uint32_t number = 1; number < index.rows; number++)
            if (load_acquire(&tasks_at(number)->state) == TASK_LIVES)
                *index_find(&index, tasks_at(number)->tid) = number;
        names_read(&index, folder);
        /* A thread may have begun or ended since: the kernel has the last word. */
        for (uint32_t number = 1; number < index.rows; number++)
            if (!index.seen[number] && load_acquire(&tasks_at(number)->state) == TASK_LIVES &&
                !os_thread_alive((pid_t)tasks_at(number)->tid))
                scan_calls.ended(number);
        os_unmap(index.numbers, bytes);
    }
    os_close(folder);
}

static void scan_run(void)
{
    os_thread_rename("memoir");
    bool own = os_thread_own_files();
    if (scan_calls.joined != NULL)
        scan();
    if (own && scan_calls.after != NULL)
        scan_calls.after();
    store_release(&scanning, IDLE);
    os_wake(&scanning, 1);
}

void tasks_scan_start(const struct tasks_scan *calls)
{
    uint32_t idle = IDLE;
    if (!__atomic_compare_exchange_n(&scanning, &idle, BUSY, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    scan_calls = *calls;
    if (os_thread_start(scan_run, STACK_SIZE) != 0)
        store_release(&scanning, IDLE);
}

void tasks_scan(const struct tasks_scan *calls)
{
    uint64_t before;
    os_signals_set(~(uint64_t)0, &before); /* which the thread inherits */
    tasks_scan_start(calls);
    os_signals_set(before, NULL);
    tasks_scan_settle();
}

void tasks_scan_settle(void)
{
    uint64_t from_ms = os_now_ms();
    while (load_acquire(&scanning) == BUSY && os_now_ms() - from_ms < WAIT_MS)
        os_wait(&scanning, BUSY, WAIT_MS);
}

void tasks_name_of(pid_t tid, char name[TASK_NAME_SIZE])
{
    char path[64], text[TASK_NAME_SIZE];
    struct print print;
    print_start(&print, path, sizeof path);
    print_format(&print, "/proc/self/task/%d/comm", (int)tid);
    int fd = os_open(print_string(&print), O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    ssize_t got = os_read(fd, text, TASK_NAME_SIZE);
    os_close(fd);
    got = got < 0 ? 0 : got;
    while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == '\0' || got == TASK_NAME_SIZE))
        got--;
    memcpy(name, text, (size_t)got);
    memset(name + got, 0, TASK_NAME_SIZE - (size_t)got);
}

void tasks_name(const struct task *task, char name[TASK_NAME_SIZE])
{
    memcpy(name, task->name, TASK_NAME_SIZE);
    if (load_acquire(&task->state) == TASK_LIVES)
        tasks_name_of((pid_t)task->tid, name);
}

void tasks_forked(uint32_t parent_id)
{
    lock_break(&lock, parent_id);
    store_relaxed(&scanning, IDLE);
    if (count == 1)
        return; /* without a system call: there was no profile */
    uint32_t tid = (uint32_t)os_tid_asked(), own = tasks_self_search((pid_t)parent_id);
    for (uint32_t number = 1; number < tasks_count(); number++) {
        struct task *task = tasks_at(number);
        if (number == own) {
            task->tid = tid;
            *recent_of(tid) = number;
        } else if (task->state != TASK_FREE) {
            task->state = TASK_FREE;
            free_rows++;
        }
    }
}
