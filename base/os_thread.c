/* SPDX-License-Identifier: MIT */
/*
 * See base/os_thread.h. The thread is made by the clone system call, with a mapping of its own for
 * stack and thread-local memory: pthread_create would allocate, take libc's locks, and
 * show the thread to the program.
 */
#include "base/os_thread.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/alternate.h"
#include "base/arch.h"
#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"
#include "base/os_call.h"
#include "base/words.h"

enum {
    CALL_CLOSE_RANGE = 436,
    CLOSE_UNSHARE = 2,     /* CLOSE_RANGE_UNSHARE */
    RESTORER = 0x04000000, /* SA_RESTORER */
    /* libc's own data beside ours, for the few functions of it that may touch errno, and the
     * thread's description that libc keeps around the thread pointer */
    BESIDE = 64 << 10,
    DESCRIPTION = 8 << 10,
    DATA_MAX = 64 << 20, /* more is no thread-local data of ours, but a place that was misread */
};

/* Found in the initial image of our thread-local data, its place there tells where the image lies
 * relative to the thread pointer. */
enum { MARKER = 0x6d656d6f };
static __thread volatile uint64_t marker[2] PACKED_LOCAL = {MARKER, ~(uint64_t)MARKER};

/* The file that this code is part of: defined by the linker. */
extern const Elf64_Ehdr __ehdr_start HIDDEN;

static struct {
    const char *image; /* initial values, then zeros */
    size_t image_size, size;
    ptrdiff_t distance; /* from the thread pointer to the data */
} data;

struct room {
    char *map, *pointer; /* of the mapping; the thread pointer */
    size_t size;
};

/* Lives on the new thread's stack. */
struct start {
    void (*run)(void);
    struct room room;
    bool *leaving; /* NULL: not known */
};

static const char *marker_find(void);

bool os_thread_prepare(void)
{
    const char *file = (const char *)&__ehdr_start;
    const Elf64_Phdr *part = (const Elf64_Phdr *)(file + __ehdr_start.e_phoff);
    const Elf64_Phdr *local = NULL;
    uintptr_t base = 0;
    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
        if (part[i].p_type == PT_LOAD && part[i].p_offset == 0)
            base = (uintptr_t)file - part[i].p_vaddr;
        if (part[i].p_type == PT_TLS)
            local = &part[i];
    }
    if (local == NULL || local->p_memsz > DATA_MAX)
        return false;
    data.image = (const char *)(base + local->p_vaddr);
    data.image_size = local->p_filesz;
    data.size = local->p_memsz;
    const char *found = marker_find();
    if (found == NULL)
        return false;
    data.distance = (const char *)marker - (found - data.image) - (char *)arch_thread();
    return data.distance > -DATA_MAX && data.distance < DATA_MAX;
}

static const char *marker_find(void)
{
    for (size_t at = 0; at + sizeof marker <= data.image_size; at += sizeof marker[0]) {
        uint64_t value[2];
        memcpy(value, data.image + at, sizeof value);
        if (value[0] == MARKER && value[1] == ~(uint64_t)MARKER)
            return data.image + at;
    }
    return NULL;
}

/* What lies below and above the thread pointer; ours is on one side of it. */
static void data_extent(size_t *below, size_t *above)
{
    ptrdiff_t end = data.distance + (ptrdiff_t)data.size;
    *below = (data.distance < 0 ? (size_t)-data.distance : 0) + BESIDE;
    *above = (end > 0 ? (size_t)end : 0) + BESIDE;
    *below = (*below + DESCRIPTION - 1) & ~(size_t)(DESCRIPTION - 1);
    *above = (*above + DESCRIPTION - 1) & ~(size_t)(DESCRIPTION - 1);
}

/* `shared`: the thread runs in this process, and children of the process need nothing of it. */
static bool room_make(struct room *room, size_t stack_size, bool shared)
{
    enum { FLOOR_PAGES = 1, NOT_IN_CHILDREN = 10 }; /* MADV_DONTFORK */
    size_t below, above, page = os_page_size();
    data_extent(&below, &above);
    room->size = (FLOOR_PAGES * page + stack_size + below + above + page - 1) & ~(page - 1);
    room->map = os_map(room->size);
    if (room->map == NULL)
        return false;
    os_protect(room->map, FLOOR_PAGES * page, false);
    if (shared)
        arch_syscall(SYS_madvise, (long)room->map, (long)room->size, NOT_IN_CHILDREN, 0, 0, 0);
    room->pointer = room->map + FLOOR_PAGES * page + stack_size + below;
    memcpy(room->pointer + data.distance, data.image, data.image_size);
    arch_thread_describe(room->pointer);
    return true;
}

/* Ids of such threads; a place is 0 if it is free. More than that are not known. The kernel writes
 * the id before the thread begins, and 0 when it is gone: a thread on its way out is still ours.
 * Forked children have the table, but neither the threads nor their rooms. */
enum { PLACE_TAKEN = -1, LEAVE_MS = 100 };
static pid_t running[OS_THREADS_MAX];
static pid_t processes[OS_THREADS_MAX]; /* that they were started in */
static struct room rooms[OS_THREADS_MAX];
static bool leaving[OS_THREADS_MAX]; /* it unmaps its room, or has done so */

/* A child of vfork is none of these: what it takes stays the parent's. */
static bool is_inherited(unsigned place)
{
    return load_relaxed(&processes[place]) != os_pid() && !os_shares_memory();
}

static pid_t *place_take(const struct room *room)
{
    for (unsigned i = 0; i < OS_THREADS_MAX; i++) {
        pid_t there = load_acquire(&running[i]);
        if (there == PLACE_TAKEN || (there != 0 && !is_inherited(i)) ||
            !__atomic_compare_exchange_n(&running[i], &there, PLACE_TAKEN, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED))
            continue;
        rooms[i] = *room;
        store_relaxed(&processes[i], os_pid());
        store_release(&leaving[i], false);
        return &running[i];
    }
    return NULL;
}

static unsigned place_of(pid_t tid)
{
    unsigned place = 0;
    while (place < OS_THREADS_MAX && load_acquire(&running[place]) != tid)
        place++;
    return place;
}

bool os_thread_room(uintptr_t *start, uintptr_t *end)
{
    unsigned place = place_of((pid_t)arch_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0));
    if (place == OS_THREADS_MAX)
        return false;
    *start = (uintptr_t)rooms[place].map;
    *end = *start + rooms[place].size;
    return true;
}

unsigned os_thread_rooms(uintptr_t starts[OS_THREADS_MAX], uintptr_t ends[OS_THREADS_MAX])
{
    unsigned count = 0;
    for (unsigned i = 0; i < OS_THREADS_MAX; i++) {
        if (load_acquire(&running[i]) == 0 || is_inherited(i))
            continue;
        for (unsigned ms = 0; load_acquire(&leaving[i]) && load_acquire(&running[i]) != 0; ms++) {
            if (ms == LEAVE_MS)
                break;
            os_wait((uint32_t *)&running[i], (uint32_t)load_relaxed(&running[i]), 1);
        }
        if (load_acquire(&leaving[i]) || load_acquire(&running[i]) == 0)
            continue;
        starts[count] = (uintptr_t)rooms[i].map;
        ends[count++] = (uintptr_t)rooms[i].map + rooms[i].size;
    }
    return count;
}

bool os_thread_is_ours(pid_t tid)
{
    unsigned place = place_of(tid);
    return place < OS_THREADS_MAX && !is_inherited(place);
}

/* At its end it makes only system calls that every thread makes: a seccomp filter may have come. */
static void begin(void *argument)
{
    struct start *start = argument;
    struct room room = start->room;
    start->run();
    if (start->leaving != NULL)
        store_release(start->leaving, true);
    arch_leave(room.map, room.size);
}

/* Starts `run` on a room of its own. The kernel's id of what was started, or a negative errno. */
static long start_in(struct room *room, void (*run)(void), unsigned long flags)
{
    size_t below, above;
    data_extent(&below, &above);
    struct start *start = (struct start *)(room->pointer - below) - 1;
    void *top = (void *)((uintptr_t)start & ~(uintptr_t)15);
    pid_t *place = place_take(room);
    *start = (struct start){run, *room, place == NULL ? NULL : &leaving[place - running]};
    bool copied = (flags & CLONE_VM) == 0;
    unsigned long ids = copied ? CLONE_CHILD_SETTID : CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    long got = arch_clone(flags | CLONE_SETTLS | (place == NULL ? 0 : ids), top, room->pointer,
                          place, begin, start);
    if (place != NULL && (got < 0 || copied)) /* a copy has its own table */
        store_release(place, 0);
    return got;
}

int os_thread_start(void (*run)(void), size_t stack_size)
{
    struct room room;
    if (data.image == NULL || !room_make(&room, stack_size, true))
        return -ENOMEM;
    long got =
        start_in(&room, run,
                 CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM);
    if (got < 0)
        os_unmap(room.map, room.size);
    return got < 0 ? (int)got : 0;
}

pid_t os_copy_start(void (*run)(void), size_t stack_size)
{
    struct room room;
    if (data.image == NULL || !room_make(&room, stack_size, false))
        return -ENOMEM;
    long got = start_in(&room, run, 0); /* no signal at its end */
    os_unmap(room.map, room.size);      /* the copy has its own */
    return (pid_t)got;
}

void os_copy_follow(pid_t parent)
{
    arch_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
    if (arch_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0) != parent) /* it ended before that */
        os_exit(0);
}

void os_session_new(void)
{
    if (!confined(CONFINE_HURRY))
        arch_syscall(SYS_setsid, 0, 0, 0, 0, 0, 0);
}

/* __WCLONE: never a child that the program has started by fork, which may have this id now. */
bool os_copy_ended(pid_t copy)
{
    int status;
    return arch_syscall(SYS_wait4, copy, (long)&status, __WCLONE | WNOHANG, 0, 0, 0) != 0;
}

void os_copy_kill(pid_t copy)
{
    int status;
    if (os_copy_ended(copy))
        return;
    arch_syscall(SYS_kill, copy, SIGKILL, 0, 0, 0, 0);
    arch_syscall(SYS_wait4, copy, (long)&status, __WCLONE, 0, 0, 0);
}

void os_thread_rename(const char *name)
{
    arch_syscall(SYS_prctl, PR_SET_NAME, (long)name, 0, 0, 0, 0);
}

int os_thread_hurry(void)
{
    enum { ZERO = 20, FIRST = -20 }; /* the kernel tells 20 less the priority */
    if (confined(CONFINE_HURRY))
        return 0;
    long got = arch_syscall(SYS_getpriority, PRIO_PROCESS, 0, 0, 0, 0, 0);
    arch_syscall(SYS_setpriority, PRIO_PROCESS, 0, FIRST, 0, 0, 0);
    return got < 0 ? 0 : ZERO - (int)got;
}

void os_thread_relax(int before)
{
    if (!confined(CONFINE_HURRY))
        arch_syscall(SYS_setpriority, PRIO_PROCESS, 0, before, 0, 0, 0);
}

bool os_thread_own_files(void)
{
    /* Closed one by one, so not the million that some systems allow. */
    enum { STANDARD_ERROR = 2, FIRST = 3, COUNT_MAX = 1 << 16 };
    if (arch_syscall(CALL_CLOSE_RANGE, FIRST, ~0u, CLOSE_UNSHARE, 0, 0, 0) != 0) {
        /* a kernel before 5.9 */
        struct rlimit limit = {0, 0};
        if (arch_syscall(SYS_unshare, CLONE_FILES, 0, 0, 0, 0, 0) != 0)
            return false;
        arch_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
        int count = limit.rlim_cur < COUNT_MAX ? (int)limit.rlim_cur : COUNT_MAX;
        for (int fd = FIRST; fd < count; fd++)
            os_close(fd);
    }
    for (int fd = 0; fd < STANDARD_ERROR; fd++)
        os_close(fd);
    return true;
}

/* As the kernel has it. */
struct action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

const void *os_handler(int signal)
{
    struct action action = {0};
    arch_syscall(SYS_rt_sigaction, signal, 0, (long)&action, sizeof action.mask, 0, 0);
    return (uintptr_t)action.handler > (uintptr_t)SIG_IGN ? (const void *)action.handler : NULL;
}

/* `before` is as it was at that moment: another thread may set one meanwhile. */
static bool handler_put(int signal, void (*handler)(int, siginfo_t *, void *),
                        struct action *before)
{
    struct action action = {.handler = handler, .mask = ~0ul};
    action.flags = SA_RESTART | SA_SIGINFO | (unsigned long)alternate_flag((const void *)handler);
    action.restorer = arch_restorer;
    action.flags |= action.restorer != NULL ? RESTORER : 0;
    return arch_syscall(SYS_rt_sigaction, signal, (long)&action, (long)before, sizeof action.mask,
                        0, 0) == 0;
}

static bool handler_get(int signal, struct action *action)
{
    return arch_syscall(SYS_rt_sigaction, signal, 0, (long)action, sizeof action->mask, 0, 0) == 0;
}

bool os_handler_ends_calls(int signal)
{
    struct action action = {0};
    return handler_get(signal, &action) && (uintptr_t)action.handler > (uintptr_t)SIG_IGN &&
           !(action.flags & SA_RESTART);
}

bool os_handler_set(int signal, void (*handler)(int, siginfo_t *, void *))
{
    struct action action = {0};
    return handler_get(signal, &action) && (uintptr_t)action.handler <= (uintptr_t)SIG_IGN &&
           handler_put(signal, handler, NULL);
}

bool os_handler_replace(int signal, void (*handler)(int, siginfo_t *, void *),
                        struct sigaction *before)
{
    struct action action = {0};
    if (!handler_put(signal, handler, &action))
        return false;
    memset(before, 0, sizeof *before);
    before->sa_sigaction = action.handler;
    before->sa_flags = (int)(action.flags & ~(unsigned long)RESTORER);
    memcpy(&before->sa_mask, &action.mask, sizeof action.mask);
    return true;
}

/* The twentieth field; the second one, a name in parentheses, may hold anything. */
uint32_t os_thread_count(void)
{
    enum { FIELDS_BEFORE = 18 };
    char text[512];
    int fd = os_open("/proc/self/stat", 0, 0);
    ssize_t length = fd < 0 ? 0 : os_read(fd, text, sizeof text - 1);
    if (fd >= 0)
        os_close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *at = strrchr(text, ')');
    for (int i = 0; at != NULL && i < FIELDS_BEFORE; i++)
        at = strchr(at + 1, ' ');
    return at == NULL ? 0 : (uint32_t)text_number(at + 1, 10);
}

/* ---- ids ---------------------------------------------------------------------------------- */

/* Absent from static programs. */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));

/* The offset of a thread's id in libc's thread descriptor (pthread_self); 0: not known. */
static uint32_t tid_offset;
static pid_t memory_of; /* the process whose memory this is; 0: not known */
static bool memory_copied;

void os_memory_claim(void)
{
    store_relaxed(&memory_of, os_pid());
}

/* The thread that forked without libc, which has the parent's id for it alone. 0: none. */
static struct {
    uintptr_t thread;
    pid_t noted, right;
} misnamed;

/* libc's number for the calling thread; 0: not known. */
static pid_t tid_noted(void)
{
    uint32_t offset = load_relaxed(&tid_offset);
    int32_t noted = 0;
    if (offset != 0)
        memcpy(&noted, (const char *)pthread_self() + offset, sizeof noted);
    return noted;
}

/* Remembers the right number of the thread that forked: a filter may deny to ask for it later. */
static void tid_compare(void)
{
    pid_t noted = tid_noted(), right = (pid_t)call3(SYS_gettid, 0, 0, 0);
    store_relaxed(&misnamed.thread, 0);
    if (noted == right || noted == 0)
        return;
    store_relaxed(&misnamed.noted, noted);
    store_relaxed(&misnamed.right, right);
    store_release(&misnamed.thread, (uintptr_t)pthread_self());
}

void os_tid_learn(void)
{
    static bool learned;
    if (likely(load_relaxed(&learned)))
        return;
    store_relaxed(&learned, true);
    /* glibc describes the field for debuggers: how many bits, how many items, at which offset. */
    static const char name[] = "_thread_db_pthread_tid";
    const uint32_t *about = dlsym == NULL || os_static() ? NULL : dlsym(RTLD_DEFAULT, name);
    if (about == NULL || about[0] != 8 * sizeof(pid_t) || about[1] != 1 || about[2] == 0)
        return;
    store_relaxed(&tid_offset, about[2]);
    if (load_relaxed(&memory_copied) && os_is_first_thread())
        tid_compare();
    else if (os_tid() != (pid_t)call3(SYS_gettid, 0, 0, 0))
        store_relaxed(&tid_offset, 0);
}

void os_tid_forked(void)
{
    os_memory_claim();
    store_relaxed(&memory_copied, true);
    if (tid_noted() == os_pid()) /* by libc's fork, as a rule */
        store_relaxed(&misnamed.thread, 0);
    else if (os_is_first_thread())
        tid_compare();
    else
        store_relaxed(&tid_offset, 0); /* the thread that forked is not this one */
}

pid_t os_tid(void)
{
    pid_t noted = tid_noted();
    if (unlikely(load_acquire(&misnamed.thread) != 0) && noted == load_relaxed(&misnamed.noted) &&
        misnamed.thread == (uintptr_t)pthread_self())
        return load_relaxed(&misnamed.right);
    return noted > 0 ? noted : (pid_t)call3(SYS_gettid, 0, 0, 0);
}

/* libc's number is wrong in a child that was not made by libc's fork, and right elsewhere. */
bool os_is_first_thread(void)
{
    pid_t pid = os_pid();
    return os_tid() == pid || (pid_t)call3(SYS_gettid, 0, 0, 0) == pid;
}

bool os_memory_is_borrowed(pid_t process)
{
    pid_t owner = load_relaxed(&memory_of);
    return owner != 0 && owner != process;
}
