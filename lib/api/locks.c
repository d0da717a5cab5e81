/* SPDX-License-Identifier: MIT */
/*
 * See lib/api/locks.h. Each function here first tries for the lock: if it is free, that is all, and
 * costs little more than libc's own function. Only a thread that has to wait walks its stack, looks
 * at the clock and calls libc's function, which waits as ever; trying first changes neither what is
 * returned nor which thread gets the lock. What libc would refuse without looking at the lock goes
 * straight to libc.
 *
 * Nothing of ours is held during a wait: a thread may be cancelled in it, a handler may jump out of
 * it, and a child may be forked meanwhile. Such a wait is not counted.
 *
 * A library that is opened by its path is seen at once. Of one that the loader has to search for,
 * with the caller's search path, the program learns nothing before it calls dlsym: that is
 * redirected as well, and looks for new libraries.
 */
#include "lib/api/locks.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

#include "base/compiler.h"
#include "base/lock.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/api/cold.h"
#include "lib/api/deepbind.h"
#include "lib/api/young.h"
#include "lib/cpu/cpu.h"
#include "lib/process/process.h"

enum { NS = 1000000000 };

static int own_mutex_lock(pthread_mutex_t *mutex);
static int own_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until);
static int own_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                               const struct timespec *until);
static int own_rdlock(pthread_rwlock_t *rwlock);
static int own_timedrdlock(pthread_rwlock_t *rwlock, const struct timespec *until);
static int own_clockrdlock(pthread_rwlock_t *rwlock, clockid_t clock, const struct timespec *until);
static int own_wrlock(pthread_rwlock_t *rwlock);
static int own_timedwrlock(pthread_rwlock_t *rwlock, const struct timespec *until);
static int own_clockwrlock(pthread_rwlock_t *rwlock, clockid_t clock, const struct timespec *until);
static int own_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
static int own_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                              const struct timespec *until);
static int own_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                              const struct timespec *until);
static int own_mtx_lock(mtx_t *mutex);
static int own_mtx_timedlock(mtx_t *mutex, const struct timespec *until);
static int own_cnd_wait(cnd_t *condition, mtx_t *mutex);
static int own_cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until);
static void *own_dlsym(void *handle, const char *name);
static bool is_possible(void);
static bool functions_find(void);
static void *function_find(const char *name);
static void undoings_make(void);
static bool list_is_readable(void);
static bool is_helper(void);
static bool has_threads(void);
static bool redirect(void);

enum {
    MUTEX_LOCK,
    MUTEX_TIMEDLOCK,
    MUTEX_CLOCKLOCK,
    RDLOCK,
    TIMEDRDLOCK,
    CLOCKRDLOCK,
    WRLOCK,
    TIMEDWRLOCK,
    CLOCKWRLOCK,
    COND_WAIT,
    COND_TIMEDWAIT,
    COND_CLOCKWAIT,
    MTX_LOCK,
    MTX_TIMEDLOCK,
    CND_WAIT,
    CND_TIMEDWAIT,
    DLSYM,
    BINDINGS
};

/* x86-64 programs of before 2003 have condition variables of another layout. */
static const char old_conditions[] = "GLIBC_2.2.5";
static struct binding bindings[BINDINGS] = {
    [MUTEX_LOCK] = {"pthread_mutex_lock", (void *)own_mutex_lock, NULL, NULL},
    [MUTEX_TIMEDLOCK] = {"pthread_mutex_timedlock", (void *)own_mutex_timedlock, NULL, NULL},
    [MUTEX_CLOCKLOCK] = {"pthread_mutex_clocklock", (void *)own_mutex_clocklock, NULL, NULL},
    [RDLOCK] = {"pthread_rwlock_rdlock", (void *)own_rdlock, NULL, NULL},
    [TIMEDRDLOCK] = {"pthread_rwlock_timedrdlock", (void *)own_timedrdlock, NULL, NULL},
    [CLOCKRDLOCK] = {"pthread_rwlock_clockrdlock", (void *)own_clockrdlock, NULL, NULL},
    [WRLOCK] = {"pthread_rwlock_wrlock", (void *)own_wrlock, NULL, NULL},
    [TIMEDWRLOCK] = {"pthread_rwlock_timedwrlock", (void *)own_timedwrlock, NULL, NULL},
    [CLOCKWRLOCK] = {"pthread_rwlock_clockwrlock", (void *)own_clockwrlock, NULL, NULL},
    [COND_WAIT] = {"pthread_cond_wait", (void *)own_cond_wait, NULL, old_conditions},
    [COND_TIMEDWAIT] = {"pthread_cond_timedwait", (void *)own_cond_timedwait, NULL, old_conditions},
    [COND_CLOCKWAIT] = {"pthread_cond_clockwait", (void *)own_cond_clockwait, NULL, NULL},
    [MTX_LOCK] = {"mtx_lock", (void *)own_mtx_lock, NULL, NULL},
    [MTX_TIMEDLOCK] = {"mtx_timedlock", (void *)own_mtx_timedlock, NULL, NULL},
    [CND_WAIT] = {"cnd_wait", (void *)own_cnd_wait, NULL, NULL},
    [CND_TIMEDWAIT] = {"cnd_timedwait", (void *)own_cnd_timedwait, NULL, NULL},
    [DLSYM] = {"dlsym", (void *)own_dlsym, NULL, NULL},
};

/* `bindings` with ours and libc's exchanged: they point references back to libc. */
static struct binding undoings[BINDINGS];

/* libc's functions that take a lock only if it is free. */
static struct {
    int (*mutex)(pthread_mutex_t *mutex);
    int (*read)(pthread_rwlock_t *rwlock);
    int (*write)(pthread_rwlock_t *rwlock);
    int (*mtx)(mtx_t *mutex);
} try;

static bool prepared;   /* libc's functions are known */
static bool redirected; /* references lead here: at least those of the objects of the start */
static bool left_over;  /* after the stop: references of later objects may still lead here */
static uint64_t loads;  /* deepbind_loads() at the last redirection; 0: objects are missing */

/* libc's function behind one of ours, by its type. */
#define LIBCS(which, ours) ((__typeof__(&(ours)))load_relaxed(&bindings[which].libcs))

/* Weak: a static program need not have it. */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));
/* Weak: glibc has it from 2.32 on. */
extern char __libc_single_threaded __attribute__((weak));

/* ---- on and off ---- */

int locks_start(void)
{
    if (!is_possible())
        return ENOSYS;
    if (!is_helper()) {
        if (!redirect())
            return ENOSYS;
    } else if (load_acquire(&prepared)) {
        store_relaxed(&loads, 0);
        if (!deepbind_point_first(bindings, BINDINGS))
            return ENOSYS;
        redirected = true;
    } else if (has_threads()) {
        return EAGAIN;
    } /* else the first call of pthread_create redirects: locks_prepare */
    waits_start();
    return 0;
}

void locks_stop(void)
{
    waits_stop();
    if (!redirected)
        return;
    undoings_make();
    left_over = is_helper() || !list_is_readable();
    if (left_over)
        deepbind_point_first(undoings, BINDINGS);
    else
        deepbind_point(undoings, BINDINGS);
    redirected = false;
}

void locks_loaded(void)
{
    if (unlikely(load_relaxed(&waits_running))) {
        if (!functions_find() || !list_is_readable())
            return;
        if (!redirected || deepbind_loads() != load_relaxed(&loads))
            redirect();
    } else if (unlikely(left_over) && list_is_readable()) {
        left_over = false;
        deepbind_point(undoings, BINDINGS);
    }
}

void locks_prepare(void)
{
    functions_find();
    locks_loaded();
}

#ifdef RTLD_DEEPBIND
extern int dladdr1(const void *, Dl_info *, void **, int) __attribute__((weak));
extern void *dlvsym(void *, const char *, const char *) __attribute__((weak));

static bool is_possible(void)
{
    return deepbind_point != NULL && dlsym != NULL && !os_static();
}

/* Whether the address is an entry of an executable's own table of stubs. */
static bool is_stub(const void *function)
{
    Dl_info about;
    const ElfW(Sym) *symbol = NULL;
    return dladdr1 != NULL && dladdr1(function, &about, (void **)&symbol, RTLD_DL_SYMENT) != 0 &&
           symbol != NULL && symbol->st_shndx == SHN_UNDEF;
}

/* What the program's own references lead to: libc's function, or that of another library that
 * stands before libc. For all of the process, a function whose address a program takes that is not
 * position independent has the address of the program's stub, which leads to us once it is
 * redirected. */
static void *function_find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name), *next = next_find(name);
    if (found == next || found == NULL || !is_stub(found))
        return found;
    /* Before glibc 2.36 RTLD_NEXT finds the oldest version of condition variables. */
    void *newer = dlvsym == NULL ? NULL : dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return newer != NULL ? newer : next;
}
#else
static void *function_find(const char *name)
{
    (void)name;
    return NULL;
}

static bool is_possible(void)
{
    return false;
}
#endif

static bool functions_find(void)
{
    if (load_acquire(&prepared))
        return true;
    if (!is_possible())
        return false;
    for (size_t i = 0; i < BINDINGS; i++)
        if (bindings[i].libcs == NULL)
            store_relaxed(&bindings[i].libcs, function_find(bindings[i].name));
    *(void **)&try.mutex = function_find("pthread_mutex_trylock");
    *(void **)&try.read = function_find("pthread_rwlock_tryrdlock");
    *(void **)&try.write = function_find("pthread_rwlock_trywrlock");
    *(void **)&try.mtx = function_find("mtx_trylock");
    if (try.mtx == NULL)
        bindings[MTX_LOCK].libcs = bindings[MTX_TIMEDLOCK].libcs = NULL;
    deepbind_remember();
    store_release(&prepared, bindings[MUTEX_LOCK].libcs != NULL && try.mutex != NULL &&
                                 try.read != NULL && try.write != NULL);
    return prepared;
}

static void undoings_make(void)
{
    for (size_t i = 0; i < BINDINGS; i++) {
        undoings[i] = bindings[i];
        undoings[i].ours = bindings[i].libcs;
        undoings[i].libcs = bindings[i].libcs == NULL ? NULL : bindings[i].ours;
    }
}

static bool list_is_readable(void)
{
    cold_settle();
    return lock_held == 0 && !young_left_threads();
}

/* Whether the calling thread is the helper: libc does not know it, so it can't ask the loader. */
static bool is_helper(void)
{
    uintptr_t start, end;
    return os_thread_room(&start, &end);
}

/* Threads of thrd_create count, too, although it does not call pthread_create. */
static bool has_threads(void)
{
    return &__libc_single_threaded != NULL && !load_relaxed(&__libc_single_threaded);
}

static bool redirect(void)
{
    if (!functions_find() || !list_is_readable())
        return false;
    store_relaxed(&loads, deepbind_loads());
    redirected = deepbind_point(bindings, BINDINGS);
    return redirected;
}

/* Compiled to a jump: dlsym looks at its caller, which must stay the program. */
static void *own_dlsym(void *handle, const char *name)
{
    locks_loaded();
    return LIBCS(DLSYM, own_dlsym)(handle, name);
}

/* ---- a wait ---- */

struct wait {
    uint64_t from_ns; /* 0: it is not counted */
    uint32_t row;
};

static NOINLINE struct wait wait_begin(enum wait_kind kind, int holder, const struct caller *from)
{
    struct wait wait = {0, 0};
    if (!load_relaxed(&waits_running) || alloc_forked())
        return wait;
    wait.from_ns = os_now_ns();
    wait.row = waits_find(kind, holder > 0 ? (uint32_t)holder : 0, from);
    return wait;
}

/* Counts the wait, unless libc refused it without waiting. */
static NOINLINE int wait_end(const struct wait *wait, int error)
{
    bool waited = error == 0 || error == ETIMEDOUT || error == EOWNERDEAD;
    if (wait->from_ns != 0 && waited && load_relaxed(&waits_running) && !alloc_forked())
        waits_add(wait->row, os_now_ns() - wait->from_ns);
    return error;
}

/* Arguments that libc checks before it looks at the lock. */
static bool is_time(const struct timespec *until)
{
    return until != NULL && until->tv_nsec >= 0 && until->tv_nsec < NS;
}

static bool is_clock(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

/* The kernel's id of the thread that has the lock; 0: not known. Of a lock shared between processes
 * it is not asked for: the holder may be in another process. */
#ifdef __GLIBC__
enum { SHARED_BIT = 128 };
static int mutex_holder(const pthread_mutex_t *mutex)
{
    return mutex->__data.__kind & SHARED_BIT ? 0 : load_relaxed(&mutex->__data.__owner);
}

static int rwlock_holder(const pthread_rwlock_t *rwlock)
{
    return rwlock->__data.__shared ? 0 : load_relaxed(&rwlock->__data.__cur_writer);
}
#else
static int mutex_holder(const pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

static int rwlock_holder(const pthread_rwlock_t *rwlock)
{
    (void)rwlock;
    return 0;
}
#endif

/* ---- mutexes ---- */

/* Cost while the lock is free: this and libc's function that tries for it. */
static int own_mutex_lock(pthread_mutex_t *mutex)
{
    int error = try.mutex(mutex);
    if (likely(error != EBUSY))
        return error;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_MUTEX, mutex_holder(mutex), &caller);
    return wait_end(&wait, LIBCS(MUTEX_LOCK, own_mutex_lock)(mutex));
}

static int own_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    int error = is_time(until) ? try.mutex(mutex) : EBUSY;
    if (likely(error != EBUSY))
        return error;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_MUTEX, mutex_holder(mutex), &caller);
    return wait_end(&wait, LIBCS(MUTEX_TIMEDLOCK, own_mutex_timedlock)(mutex, until));
}

static int own_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
                               const struct timespec *until)
{
    int error = is_clock(clock) && is_time(until) ? try.mutex(mutex) : EBUSY;
    if (likely(error != EBUSY))
        return error;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_MUTEX, mutex_holder(mutex), &caller);
    return wait_end(&wait, LIBCS(MUTEX_CLOCKLOCK, own_mutex_clocklock)(mutex, clock, until));
}

/* C11's functions return an enum. A wait that timed out is counted, too. */
static int mtx_end(const struct wait *wait, int result)
{
    wait_end(wait, result == thrd_success ? 0 : result == thrd_timedout ? ETIMEDOUT : EINVAL);
    return result;
}

static int own_mtx_lock(mtx_t *mutex)
{
    int result = try.mtx(mutex);
    if (likely(result == thrd_success))
        return result;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_MUTEX, mutex_holder((pthread_mutex_t *)mutex), &caller);
    return mtx_end(&wait, LIBCS(MTX_LOCK, own_mtx_lock)(mutex));
}

static int own_mtx_timedlock(mtx_t *mutex, const struct timespec *until)
{
    int result = is_time(until) ? try.mtx(mutex) : thrd_busy;
    if (likely(result == thrd_success))
        return result;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_MUTEX, mutex_holder((pthread_mutex_t *)mutex), &caller);
    return mtx_end(&wait, LIBCS(MTX_TIMEDLOCK, own_mtx_timedlock)(mutex, until));
}

/* ---- rwlocks ---- */

static int own_rdlock(pthread_rwlock_t *rwlock)
{
    int error = try.read(rwlock);
    if (likely(error != EBUSY))
        return error;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_READ, rwlock_holder(rwlock), &caller);
    return wait_end(&wait, LIBCS(RDLOCK, own_rdlock)(rwlock));
}

static int own_timedrdlock(pthread_rwlock_t *rwlock, const struct timespec *until)
{
    int error = is_time(until) ? try.read(rwlock) : EBUSY;
    if (likely(error != EBUSY))
        return error;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_READ, rwlock_holder(rwlock), &caller);
    return wait_end(&wait, LIBCS(TIMEDRDLOCK, own_timedrdlock)(rwlock, until));
}

static int own_clockrdlock(pthread_rwlock_t *rwlock, clockid_t clock, const struct timespec *until)
{
    int error = is_clock(clock) && is_time(until) ? try.read(rwlock) : EBUSY;
    if (likely(error != EBUSY))
        return error;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_READ, rwlock_holder(rwlock), &caller);
    return wait_end(&wait, LIBCS(CLOCKRDLOCK, own_clockrdlock)(rwlock, clock, until));
}

static int own_wrlock(pthread_rwlock_t *rwlock)
{
    int error = try.write(rwlock);
    if (likely(error != EBUSY))
        return error;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_WRITE, rwlock_holder(rwlock), &caller);
    return wait_end(&wait, LIBCS(WRLOCK, own_wrlock)(rwlock));
}

static int own_timedwrlock(pthread_rwlock_t *rwlock, const struct timespec *until)
{
    int error = is_time(until) ? try.write(rwlock) : EBUSY;
    if (likely(error != EBUSY))
        return error;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_WRITE, rwlock_holder(rwlock), &caller);
    return wait_end(&wait, LIBCS(TIMEDWRLOCK, own_timedwrlock)(rwlock, until));
}

static int own_clockwrlock(pthread_rwlock_t *rwlock, clockid_t clock, const struct timespec *until)
{
    int error = is_clock(clock) && is_time(until) ? try.write(rwlock) : EBUSY;
    if (likely(error != EBUSY))
        return error;
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_WRITE, rwlock_holder(rwlock), &caller);
    return wait_end(&wait, LIBCS(CLOCKWRLOCK, own_clockwrlock)(rwlock, clock, until));
}

/* ---- condition variables: each call waits, the mutex it takes again included ---- */

static int own_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_CONDITION, 0, &caller);
    return wait_end(&wait, LIBCS(COND_WAIT, own_cond_wait)(condition, mutex));
}

static int own_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                              const struct timespec *until)
{
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_CONDITION, 0, &caller);
    return wait_end(&wait, LIBCS(COND_TIMEDWAIT, own_cond_timedwait)(condition, mutex, until));
}

static int own_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                              const struct timespec *until)
{
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_CONDITION, 0, &caller);
    return wait_end(&wait,
                    LIBCS(COND_CLOCKWAIT, own_cond_clockwait)(condition, mutex, clock, until));
}

static int own_cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_CONDITION, 0, &caller);
    return mtx_end(&wait, LIBCS(CND_WAIT, own_cnd_wait)(condition, mutex));
}

static int own_cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until)
{
    struct caller caller = CALLER_HERE;
    struct wait wait = wait_begin(WAIT_CONDITION, 0, &caller);
    return mtx_end(&wait, LIBCS(CND_TIMEDWAIT, own_cnd_timedwait)(condition, mutex, until));
}
