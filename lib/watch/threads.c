/* SPDX-License-Identifier: MIT */
/* See lib/watch/threads.h. */
#include "lib/watch/threads.h"

#include <fcntl.h>
#include <string.h>

#include "base/compiler.h"
#include "base/lock.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"

enum { SLAB_SHIFT = 6, SLAB = 1 << SLAB_SHIFT, SLABS = 1 << 15 };

struct thread {
    uint64_t since_ms;
    uint32_t tid;
    bool ended;
    bool named; /* by the program */
    char name[THREAD_NAME_SIZE];
};

static uint32_t slabs[SLABS]; /* meta ids */
static uint32_t count;
static __thread uint32_t number; /* of this thread, + 1 */

static struct thread *thread_at(uint32_t id)
{
    return (struct thread *)meta_at(load_acquire(&slabs[id >> SLAB_SHIFT])) + id % SLAB;
}

/* Memory for the next number. False when there is none. */
static bool slab_make(uint32_t id)
{
    uint32_t none = 0;
    if (id >> SLAB_SHIFT >= SLABS)
        return false;
    if (load_acquire(&slabs[id >> SLAB_SHIFT]) != 0)
        return true;
    void *slab = meta_take(SLAB * sizeof(struct thread));
    if (slab == NULL)
        return false;
    if (!__atomic_compare_exchange_n(&slabs[id >> SLAB_SHIFT], &none, meta_id(slab), false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        meta_give(slab, SLAB * sizeof(struct thread));
    return true;
}

static NOINLINE uint32_t thread_add(void)
{
    uint32_t id = load_relaxed(&count);
    do
        if (!slab_make(id))
            return THREAD_OTHER;
    while (!__atomic_compare_exchange_n(&count, &id, id + 1, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
    struct thread *thread = thread_at(id);
    thread->since_ms = os_now_ms();
    store_release(&thread->tid, lock_self());
    number = id + 1;
    return id;
}

uint32_t threads_self(void)
{
    return likely(number != 0) ? number - 1 : thread_add();
}

uint32_t threads_count(void)
{
    return load_acquire(&count);
}

void threads_end(void)
{
    if (number == 0)
        return;
    struct thread *thread = thread_at(number - 1);
    if (!thread->named)
        os_thread_name(thread->name);
    store_release(&thread->ended, true);
}

/* What the kernel calls a live thread; empty if it does not say. */
static void name_ask(uint32_t tid, char name[THREAD_NAME_SIZE])
{
    char path[64];
    struct print text;
    print_start(&text, path, sizeof path);
    print_format(&text, "/proc/self/task/%u/comm", tid);
    int fd = os_open(print_string(&text), O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    ssize_t got = os_read(fd, name, THREAD_NAME_SIZE);
    os_close(fd);
    got = got < 0 ? 0 : got;
    while (got > 0 && (name[got - 1] == '\n' || name[got - 1] == '\0' || got == THREAD_NAME_SIZE))
        got--;
    memset(name + got, 0, THREAD_NAME_SIZE - (size_t)got);
}

bool threads_row(uint32_t id, struct thread_row *row)
{
    if (id >= threads_count())
        return false;
    const struct thread *thread = thread_at(id);
    *row = (struct thread_row){.id = id,
                               .tid = load_acquire(&thread->tid),
                               .alive = !load_acquire(&thread->ended),
                               .since_ms = thread->since_ms};
    memcpy(row->name, thread->name, sizeof row->name);
    row->name[sizeof row->name - 1] = '\0';
    if (row->alive && !thread->named)
        name_ask(row->tid, row->name);
    return true;
}

void threads_set_name(const char *name)
{
    if (threads_self() == THREAD_OTHER)
        return;
    struct thread *thread = thread_at(number - 1);
    size_t length = strlen(name);
    length = length < sizeof thread->name ? length : sizeof thread->name - 1;
    memset(thread->name, 0, sizeof thread->name);
    memcpy(thread->name, name, length);
    thread->named = length > 0;
}

const char *threads_name(void)
{
    return number == 0 ? "" : thread_at(number - 1)->name;
}

void threads_recover(void)
{
    for (uint32_t id = 0; id < threads_count(); id++) {
        struct thread *thread = thread_at(id);
        if (id + 1 == number)
            thread->tid = lock_self();
        else
            thread->ended = true;
    }
}
