/* SPDX-License-Identifier: MIT */
/*
 * gperftools' MallocHook in its C form. Hooks for new and delete are called by lib/api/hooks.h,
 * those for mmap, munmap, mremap and sbrk by mmap_calls.h. Where gperftools' own library is in the
 * process, the latter are its own: its mmap stands before libc's.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "lib/api/api.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/faces/gperftools/mmap_calls.h"
#include "lib/faces/names.h"
#include "lib/process/process.h"
#include "lib/watch/watch.h"

typedef void hook(void);
typedef int add_call(hook *);
typedef hook *set_call(hook *);

enum { ADDED_MAX = HOOKS_SET_AT, SET_AT = HOOKS_SET_AT };

static int add(hook **places, unsigned max, hook *added);
static int take_out(hook **places, hook *removed, const char *name);
static hook *set(hook **places, hook *now);
static int watched(int added);
static void *theirs(const char *name);

/* libtcmalloc_minimal is in the process, gperftools' own or ours of that name. It walks no stacks,
 * and programs that have it may rely on that. Asked before the first hook is set: the question
 * allocates. */
static bool has_minimal;

#define NAMED(verb, name) "MallocHook_" #verb #name "Hook"

/* The same for hooks of both kinds. */
#define ANY_HOOKS(name, places)                          \
    EXPORT int MallocHook_Add##name##Hook(hook *);       \
    EXPORT int MallocHook_Remove##name##Hook(hook *);    \
    EXPORT hook *MallocHook_Set##name##Hook(hook *);     \
    EXPORT int MallocHook_Remove##name##Hook(hook *h)    \
    {                                                    \
        return take_out(places, h, NAMED(Remove, name)); \
    }

/* Of allocations. */
#define HOOKS(name, places)                          \
    ANY_HOOKS(name, places)                          \
    EXPORT int MallocHook_Add##name##Hook(hook *h)   \
    {                                                \
        return add(places, ADDED_MAX, h);            \
    }                                                \
    EXPORT hook *MallocHook_Set##name##Hook(hook *h) \
    {                                                \
        return set(places, h);                       \
    }

/* Of the program's own calls; or handed to gperftools' library. */
#define OTHER_HOOKS(name, places)                                           \
    ANY_HOOKS(name, places)                                                 \
    EXPORT int MallocHook_Add##name##Hook(hook *h)                          \
    {                                                                       \
        add_call *next = theirs(NAMED(Add, name));                          \
        return next != NULL ? next(h) : watched(add(places, ADDED_MAX, h)); \
    }                                                                       \
    EXPORT hook *MallocHook_Set##name##Hook(hook *h)                        \
    {                                                                       \
        set_call *next = theirs(NAMED(Set, name));                          \
        if (next != NULL)                                                   \
            return next(h);                                                 \
        watched(h != NULL);                                                 \
        return set(places, h);                                              \
    }

HOOKS(New, (hook **)hooks_set.on_new)
HOOKS(Delete, (hook **)hooks_set.on_delete)
OTHER_HOOKS(PreMmap, (hook **)mmap_hooks.pre_mmap)
OTHER_HOOKS(Mmap, (hook **)mmap_hooks.mmap)
OTHER_HOOKS(Munmap, (hook **)mmap_hooks.munmap)
OTHER_HOOKS(Mremap, (hook **)mmap_hooks.mremap)
OTHER_HOOKS(PreSbrk, (hook **)mmap_hooks.pre_sbrk)
OTHER_HOOKS(Sbrk, (hook **)mmap_hooks.sbrk)

/* One replacement of each kind. */
#define REPLACEMENT(name, places)                                            \
    EXPORT int MallocHook_Set##name##Replacement(hook *);                    \
    EXPORT int MallocHook_Remove##name##Replacement(hook *);                 \
    EXPORT int MallocHook_Set##name##Replacement(hook *h)                    \
    {                                                                        \
        add_call *next = theirs("MallocHook_Set" #name "Replacement");       \
        return next != NULL ? next(h) : watched(add(places, 1, h));          \
    }                                                                        \
    EXPORT int MallocHook_Remove##name##Replacement(hook *h)                 \
    {                                                                        \
        return take_out(places, h, "MallocHook_Remove" #name "Replacement"); \
    }
REPLACEMENT(Mmap, (hook **)mmap_hooks.replace_mmap)
REPLACEMENT(Munmap, (hook **)mmap_hooks.replace_munmap)

/* From the first of these hooks on the calls are seen. */
static int watched(int added)
{
    if (added)
        mmap_calls_watch();
    return added;
}

static void look_for_minimal(void)
{
    static bool looked;
    if (__atomic_exchange_n(&looked, true, __ATOMIC_RELAXED))
        return;
    has_minimal = names_have_minimal() ||
                  (theirs("tc_version") != NULL && theirs("IsHeapProfilerRunning") == NULL);
}

/* Puts a hook into a free place of the first `max`. Like gperftools: 1, or 0 if there is none. */
static int add(hook **places, unsigned max, hook *added)
{
    bool done = false;
    look_for_minimal();
    for (unsigned i = 0; added != NULL && i < max && !done; i++) {
        hook *free_place = NULL;
        done = __atomic_compare_exchange_n(&places[i], &free_place, added, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED);
    }
    cold_hooks_changed();
    return done;
}

static int take_out(hook **places, hook *removed, const char *name)
{
    bool done = false;
    for (unsigned i = 0; removed != NULL && i <= SET_AT && !done; i++) {
        hook *expected = removed;
        done = __atomic_compare_exchange_n(&places[i], &expected, NULL, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_RELAXED);
    }
    cold_hooks_changed();
    add_call *next = done ? NULL : theirs(name);
    return next != NULL ? next(removed) : done;
}

static hook *set(hook **places, hook *now)
{
    look_for_minimal();
    hook *before = __atomic_exchange_n(&places[SET_AT], now, __ATOMIC_ACQ_REL);
    cold_hooks_changed();
    return before;
}

/* The function of gperftools' own library, if that is in the process, too. It has hooks of its own
 * in its lists, which it must be able to remove; and its mmap calls those for mmap. */
static void *theirs(const char *name)
{
    return next_has_library("libtcmalloc") ? next_find(name) : NULL;
}

void *_ZN10MallocHook12UnhookedMMapEPvmiiil(void *start, size_t length, int protection, int flags,
                                            int fd, off_t offset);
int _ZN10MallocHook14UnhookedMUnmapEPvm(void *start, size_t length);

/* This library, or the whole program if that is linked statically. */
extern HIDDEN const char __ehdr_start[], _end[];

/* How many frames from the leaf on are the hook's and ours: up to our last one, if the program's
 * own can be told from ours. */
static uint32_t frames_of_ours(const struct walk *walk)
{
    /* Hook and allocator together are a few frames; others are the program's. */
    enum { DEEPEST = 16 };
    uint32_t ours = 0, max = walk->count < DEEPEST ? walk->count : DEEPEST;
    for (uint32_t i = 0; i < max; i++) {
        uintptr_t pc = walk->pcs[walk->count - 1 - i];
        if (pc >= (uintptr_t)__ehdr_start && pc < (uintptr_t)_end)
            ours = i + 1;
    }
    return ours == walk->count ? 0 : ours;
}

/* From a hook: the stack of the program's call of malloc or free. */
EXPORT int MallocHook_GetCallerStackTrace(void **result, int max_depth, int skip_count)
{
    static const struct own_stack nothing;
    struct caller caller = CALLER_HERE;
    struct walk *walk = max_depth > 0 && skip_count >= 0 && !has_minimal
                            ? walks_take(WALKS_UNOWNED, &nothing)
                            : NULL;
    if (walk == NULL)
        return 0;
    unwind(walk, &caller, WALK_MAX);
    uint32_t at = frames_of_ours(walk) + (uint32_t)skip_count;
    int count = 0;
    for (; at < walk->count && count < max_depth; at++)
        result[count++] = (void *)walk->pcs[walk->count - 1 - at];
    walks_give(walk);
    return count;
}

EXPORT void *_ZN10MallocHook12UnhookedMMapEPvmiiil(void *start, size_t length, int protection,
                                                   int flags, int fd, off_t offset)
{
    long got = arch_syscall(SYS_mmap, (long)start, (long)length, protection, flags, fd, offset);
    if (got > -4096 && got < 0)
        errno = (int)-got;
    return got > -4096 && got < 0 ? MAP_FAILED : (void *)got;
}

EXPORT int _ZN10MallocHook14UnhookedMUnmapEPvm(void *start, size_t length)
{
    long got = arch_syscall(SYS_munmap, (long)start, (long)length, 0, 0, 0, 0);
    if (got != 0)
        errno = (int)-got;
    return got == 0 ? 0 : -1;
}
