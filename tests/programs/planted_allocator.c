/* SPDX-License-Identifier: MIT */
/* helper of tests_catch_planted_bugs.sh: an allocator that is ours but for one bug, chosen when it
 * is compiled with -DBUG=name. Preloaded before the library, whose functions it finds behind
 * itself. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum bug {
    NONE,
    FREE_SETS_ERRNO,
    FAILURE_LEAVES_ERRNO,
    SUCCESS_SETS_ERRNO,
    ALIGNMENT_IGNORED,
    CALLOC_DIRTY,
    REALLOC_LOSES_BYTE,
    REALLOC_FAILURE_FREES,
    REALLOC_ZERO_LEAKS,
    USABLE_TOO_LARGE,
    PVALLOC_NOT_WHOLE,
    PVALLOC_ELSEWHERE,
    FREE_DOES_NOTHING,
    FREE_ELSEWHERE_LOST,
    LOCK_HELD_IN_CHILD,
    TRIM_DOES_NOTHING,
    THREAD_LEAKS,
    NEW_RETURNS_NULL,
    FAILS_WITH_CRASH,
};

#ifndef BUG
#define BUG NONE
#endif

#define NEXT(name, type) ((type)next(#name))

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        _exit(99);
    }
    return function;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int thread_seen;
static pthread_t main_thread;

__attribute__((constructor)) static void remember_main(void)
{
    main_thread = pthread_self();
}

void *malloc(size_t size)
{
    static void *(*real)(size_t);
    real = real ? real : NEXT(malloc, void *(*)(size_t));
    if (BUG == LOCK_HELD_IN_CHILD) {
        pthread_mutex_lock(&lock);
    }
    int before = errno;
    char *block = real(size);
    if (BUG == FAILURE_LEAVES_ERRNO) {
        errno = before;
    } else if (BUG == SUCCESS_SETS_ERRNO) {
        errno = block != NULL ? EAGAIN : errno;
    } else if (BUG == THREAD_LEAKS && !thread_seen) {
        thread_seen = 1;
        memset(real(20000), 1, 20000);
    } else if (BUG == FAILS_WITH_CRASH && block == NULL) {
        *(volatile char *)block = 1;
    }
    if (BUG == LOCK_HELD_IN_CHILD) {
        pthread_mutex_unlock(&lock);
    }
    return block;
}

void free(void *block)
{
    static void (*real)(void *);
    real = real ? real : NEXT(free, void (*)(void *));
    if (BUG == FREE_DOES_NOTHING ||
        (BUG == FREE_ELSEWHERE_LOST && main_thread != 0 && pthread_self() != main_thread)) {
        return;
    }
    real(block);
    if (BUG == FREE_SETS_ERRNO && block != NULL) {
        errno = EAGAIN;
    }
}

void *calloc(size_t count, size_t size)
{
    static void *(*real)(size_t, size_t);
    real = real ? real : NEXT(calloc, void *(*)(size_t, size_t));
    char *block = real(count, size);
    if (BUG == CALLOC_DIRTY && block != NULL && count * size == 1000) {
        block[999] = 1;
    }
    return block;
}

void *realloc(void *old, size_t size)
{
    static void *(*real)(void *, size_t);
    real = real ? real : NEXT(realloc, void *(*)(void *, size_t));
    if (BUG == REALLOC_ZERO_LEAKS && old != NULL && size == 0) {
        return NULL;
    }
    char *block = real(old, size);
    if (BUG == REALLOC_LOSES_BYTE && block != NULL && old != NULL && size == 100000) {
        block[20] ^= 1;
    } else if (BUG == REALLOC_FAILURE_FREES && block == NULL && size != 0) {
        memset(old, 0, 1);
    }
    return block;
}

void *memalign(size_t alignment, size_t size)
{
    static void *(*real)(size_t, size_t);
    real = real ? real : NEXT(memalign, void *(*)(size_t, size_t));
    return real(BUG == ALIGNMENT_IGNORED && alignment == 512 ? 16 : alignment, size);
}

void *pvalloc(size_t size)
{
    static void *(*real)(size_t);
    real = real ? real : NEXT(pvalloc, void *(*)(size_t));
    if (BUG == PVALLOC_ELSEWHERE) {
        return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    return BUG == PVALLOC_NOT_WHOLE ? malloc(size) : real(size);
}

size_t malloc_usable_size(void *block)
{
    static size_t (*real)(void *);
    real = real ? real : NEXT(malloc_usable_size, size_t(*)(void *));
    size_t usable = real(block);
    return BUG == USABLE_TOO_LARGE && usable == 1024 ? usable + 16 : usable;
}

int malloc_trim(size_t pad)
{
    return BUG == TRIM_DOES_NOTHING ? 0 : NEXT(malloc_trim, int (*)(size_t))(pad);
}

#define NEW_PLANTED(name)                                                                    \
    void *name(size_t size)                                                                  \
    {                                                                                        \
        return BUG == NEW_RETURNS_NULL ? malloc(size) : NEXT(name, void *(*)(size_t))(size); \
    }
NEW_PLANTED(_Znwm)
NEW_PLANTED(_Znam)
