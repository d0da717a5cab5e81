/* SPDX-License-Identifier: MIT */
/*
 * Functions of the program's that are called for every block: after one is handed out, before one
 * is freed, and both for a realloc. While there is any, no call takes the hot path, so that all of
 * them come by here; otherwise they cost nothing.
 */
#ifndef API_HOOKS_H
#define API_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "lib/api/young.h"

/* The last place is for jemalloc's events by bytes, the one before for MallocHook_Set..., the
 * others are for MallocHook_Add... */
enum { HOOKS_MAX = 9, HOOKS_BYTES_AT = 8, HOOKS_SET_AT = 7 };

typedef void hook_new(const void *block, size_t size);
typedef void hook_delete(const void *block);

/* Empty places are NULL. After a change the caller calls `cold_hooks_changed`. */
struct hooks {
    hook_new *on_new[HOOKS_MAX];
    hook_delete *on_delete[HOOKS_MAX];
};
extern HIDDEN struct hooks hooks_set;
extern HIDDEN bool hooks_any;
extern HIDDEN bool hooks_fill; /* filled (filling.h) or counted (guarding.h): as with hooks */

/* From outside of the allocator: */
void hooks_call_new(const void *block, size_t size);
void hooks_call_delete(const void *block);
/* `before` became `after`, which may be the same address. */
void hooks_call_resized(const void *before, const void *after, size_t size);

/* Functions for blocks that are picked by the sampler, and nothing for all others: `begin` after
 * one was handed out, `end` before it is freed. They cost the hot path nothing. */
struct caller;
struct hooks_picked {
    void (*begin)(const void *block, size_t size, const struct caller *caller);
    void (*end)(const void *block);
};
extern HIDDEN struct hooks_picked hooks_picked;
/* A function for new blocks of at least `bytes`. */
struct hooks_large {
    size_t bytes; /* SIZE_MAX: none */
    void (*told)(const void *block, size_t size, const struct caller *caller);
};
extern HIDDEN struct hooks_large hooks_large;
void hooks_call_large(const void *block, size_t size, const struct caller *caller);
/* From outside of the allocator, any block: */
void hooks_call_begin(const void *block, size_t size, const struct caller *caller);
void hooks_call_end(const void *block);

/*
 * jemalloc's hooks (calls.c): functions that are called for every call of malloc and its relatives,
 * with its name and arguments. After an allocation, before a free; a realloc that moves a block is
 * an allocation, then a free. Calls inside of a hook have none.
 */
/* The names of calls are numbers of jemalloc's. */
enum call_alloc {
    CALL_MALLOC,
    CALL_POSIX_MEMALIGN,
    CALL_ALIGNED_ALLOC,
    CALL_CALLOC,
    CALL_MEMALIGN,
    CALL_VALLOC,
    CALL_MALLOCX,
    CALL_REALLOC,
    CALL_RALLOCX
};
enum call_dalloc { CALL_FREE, CALL_DALLOCX, CALL_SDALLOCX, CALL_REALLOC_FREES, CALL_RALLOCX_FREES };
enum call_expand { CALL_REALLOC_STAYS, CALL_RALLOCX_STAYS, CALL_XALLOCX };

/* As a program passes them to mallctl; each function may be NULL. */
struct call_hooks {
    void (*alloc)(void *extra, int call, void *block, uintptr_t result, uintptr_t args[3]);
    void (*dalloc)(void *extra, int call, void *block, uintptr_t args[3]);
    void (*expand)(void *extra, int call, void *block, size_t before, size_t after,
                   uintptr_t result, uintptr_t args[4]);
    void *extra;
};
enum { CALL_HOOKS_MAX = 4 }; /* as many as jemalloc has */

extern HIDDEN bool calls_any;

/* A handle, or NULL if there are too many. */
void *calls_install(const struct call_hooks *hooks);
/* False: there is no such handle. A call that has begun in another thread may still reach it. */
bool calls_remove(void *handle);

/* Whether this call has hooks. */
INLINE bool calls_wanted(void)
{
    return unlikely(load_relaxed(&calls_any)) && !young.quiet;
}

/* From outside of the allocator, while `calls_wanted`: */
void calls_alloc(enum call_alloc call, void *block, uintptr_t result, const uintptr_t args[3]);
void calls_dalloc(enum call_dalloc call, void *block, const uintptr_t args[3]);
void calls_expand(enum call_expand call, void *block, size_t before, size_t after, uintptr_t result,
                  const uintptr_t args[4]);

#endif
