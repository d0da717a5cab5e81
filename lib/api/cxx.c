/* SPDX-License-Identifier: MIT */
/*
 * C++'s operators new and delete under their mangled names, so that no C++ library comes with us.
 * A throwing new that fails asks the program's new_handler, again and again as the standard says;
 * without one it throws bad_alloc through the C++ library that is in the process, found by weak
 * references; where there is none it ends the program with a clear line.
 */
#include <dlfcn.h>
#include <stdint.h>

#include "lib/api/hardening.h"
#include "lib/api/hooks.h"
#include "lib/api/hot.h"
#include "lib/api/libc.h"
#include "lib/api/mismatch.h"
#include "lib/watch/watch.h"

typedef void (*new_handler)(void);
extern new_handler _ZSt15get_new_handlerv(void) __attribute__((weak)); /* std::get_new_handler() */
extern void *dlsym(void *handle, const char *name) __attribute__((weak));
extern void _ZSt17__throw_bad_allocv(void) __attribute__((weak)); /* libstdc++ throws for us */

/* The type that std::nothrow_t and std::align_val_t arguments have for the ABI. */
struct nothrow;

/* To hooks, new is malloc or aligned_alloc, as in jemalloc. */
static void *take(size_t align, size_t size, const struct caller *caller)
{
    void *block = align == 0 ? libc_malloc(size, caller) : libc_aligned(align, size, caller);
    if (calls_wanted() && align == 0)
        calls_alloc(CALL_MALLOC, block, (uintptr_t)block, (uintptr_t[]){size, 0, 0});
    else if (calls_wanted())
        calls_alloc(CALL_ALIGNED_ALLOC, block, (uintptr_t)block, (uintptr_t[]){align, size, 0});
    return block;
}

bool cxx_new_aborts;

bool cxx_handler_called(void)
{
    new_handler handler = _ZSt15get_new_handlerv == NULL ? NULL : _ZSt15get_new_handlerv();
    if (handler != NULL)
        handler();
    return handler != NULL;
}

static NOINLINE void *new_slower(size_t align, size_t size, unsigned family)
{
    struct caller caller = CALLER_HERE;
    caller.family = (uint8_t)family;
    for (;;) {
        void *block = take(align, size, &caller);
        if (block != NULL)
            return block;
        if (!cxx_handler_called())
            break;
    }
    if (cxx_new_aborts) {
        libc_abort("<jemalloc>: Allocation failed and opt.experimental_infallible_new is true. "
                   "Aborting.\n",
                   "out of memory in operator new, and experimental_infallible_new is set; raise "
                   "the memory limit");
        return NULL;
    }
    if (_ZSt17__throw_bad_allocv != NULL)
        _ZSt17__throw_bad_allocv();
    fatal_line("out of memory in operator new, and there is no C++ library to throw bad_alloc; "
               "raise the memory limit or use new(std::nothrow)");
}

/* The nothrow forms must call the handler, too, and must swallow what it throws, which takes C++:
 * the C++ library's own form calls our throwing one and catches. */
static NOINLINE void *new_slower_nothrow(size_t align, size_t size, const struct nothrow *tag,
                                         unsigned family)
{
    struct caller caller = CALLER_HERE;
    caller.family = (uint8_t)family;
    void *block = take(align, size, &caller);
    if (block != NULL || _ZSt15get_new_handlerv == NULL || _ZSt15get_new_handlerv() == NULL ||
        dlsym == NULL)
        return block;
    if (align == 0) {
        void *(*next)(size_t, const struct nothrow *) =
            (void *(*)(size_t, const struct nothrow *))dlsym(RTLD_NEXT, "_ZnwmRKSt9nothrow_t");
        return next == NULL ? NULL : next(size, tag);
    }
    void *(*next)(size_t, size_t, const struct nothrow *) =
        (void *(*)(size_t, size_t, const struct nothrow *))dlsym(
            RTLD_NEXT, "_ZnwmSt11align_val_tRKSt9nothrow_t");
    return next == NULL ? NULL : next(size, align, tag);
}

static NOINLINE void *new_slow(size_t align, size_t size, unsigned family)
{
    void *block = harden_on && align == 0 ? hardening_pop(size) : NULL;
    return block != NULL ? block : new_slower(align, size, family);
}

static NOINLINE void *new_slow_nothrow(size_t align, size_t size, const struct nothrow *tag,
                                       unsigned family)
{
    void *block = harden_on && align == 0 ? hardening_pop(size) : NULL;
    return block != NULL ? block : new_slower_nothrow(align, size, tag, family);
}

/* NULL: go on slowly. */
INLINE void *new_block(size_t size)
{
    struct heap *heap = load_relaxed(&heap_now);
    return likely(size <= SMALL_MAX) ? hot_pop(heap, hot_mark_small(heap, size)) : NULL;
}

#define DEFINE(result, name, args) \
    EXPORT result name args;       \
    EXPORT result name args

DEFINE(void *, _Znwm, (size_t size))
{
    void *block = new_block(size);
    return likely(block != NULL) ? block : new_slow(0, size, FAMILY_NEW);
}
DEFINE(void *, _Znam, (size_t size))
{
    void *block = new_block(size);
    return likely(block != NULL) ? block : new_slow(0, size, FAMILY_NEW_ARRAY);
}
DEFINE(void *, _ZnwmRKSt9nothrow_t, (size_t size, const struct nothrow *tag))
{
    void *block = new_block(size);
    return likely(block != NULL) ? block : new_slow_nothrow(0, size, tag, FAMILY_NEW);
}
DEFINE(void *, _ZnamRKSt9nothrow_t, (size_t size, const struct nothrow *tag))
{
    void *block = new_block(size);
    return likely(block != NULL) ? block : new_slow_nothrow(0, size, tag, FAMILY_NEW_ARRAY);
}
DEFINE(void *, _ZnwmSt11align_val_t, (size_t size, size_t align))
{
    return new_slow(align, size, FAMILY_NEW);
}
DEFINE(void *, _ZnamSt11align_val_t, (size_t size, size_t align))
{
    return new_slow(align, size, FAMILY_NEW_ARRAY);
}
DEFINE(void *, _ZnwmSt11align_val_tRKSt9nothrow_t,
       (size_t size, size_t align, const struct nothrow *tag))
{
    return new_slow_nothrow(align, size, tag, FAMILY_NEW);
}
DEFINE(void *, _ZnamSt11align_val_tRKSt9nothrow_t,
       (size_t size, size_t align, const struct nothrow *tag))
{
    return new_slow_nothrow(align, size, tag, FAMILY_NEW_ARRAY);
}

/* All deletes are free: the block knows its size. What the caller says of size and alignment is
 * only compared (lib/api/mismatch.h). */
#define DELETE(name, args, family)                           \
    EXPORT void name args;                                   \
    EXPORT void name args                                    \
    {                                                        \
        if (unlikely(!hot_push(load_relaxed(&heap_now), p))) \
            libc_delete_slow(p, SIZE_UNKNOWN, 0, family);    \
    }

#define DELETE_SIZED(name, args, family)                                 \
    EXPORT void name args;                                               \
    EXPORT void name args                                                \
    {                                                                    \
        if (unlikely(!hot_push_sized(load_relaxed(&heap_now), p, size))) \
            libc_delete_slow(p, size, 0, family);                        \
    }

#define DELETE_ALIGNED(name, args, size, family)  \
    EXPORT void name args;                        \
    EXPORT void name args                         \
    {                                             \
        libc_delete_slow(p, size, align, family); \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"
DELETE(_ZdlPv, (void *p), FAMILY_NEW)
DELETE(_ZdaPv, (void *p), FAMILY_NEW_ARRAY)
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const struct nothrow *tag), FAMILY_NEW)
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const struct nothrow *tag), FAMILY_NEW_ARRAY)
DELETE_SIZED(_ZdlPvm, (void *p, size_t size), FAMILY_NEW)
DELETE_SIZED(_ZdaPvm, (void *p, size_t size), FAMILY_NEW_ARRAY)
DELETE_ALIGNED(_ZdlPvSt11align_val_t, (void *p, size_t align), SIZE_UNKNOWN, FAMILY_NEW)
DELETE_ALIGNED(_ZdaPvSt11align_val_t, (void *p, size_t align), SIZE_UNKNOWN, FAMILY_NEW_ARRAY)
DELETE_ALIGNED(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), size, FAMILY_NEW)
DELETE_ALIGNED(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), size, FAMILY_NEW_ARRAY)
DELETE_ALIGNED(_ZdlPvSt11align_val_tRKSt9nothrow_t,
               (void *p, size_t align, const struct nothrow *tag), SIZE_UNKNOWN, FAMILY_NEW)
DELETE_ALIGNED(_ZdaPvSt11align_val_tRKSt9nothrow_t,
               (void *p, size_t align, const struct nothrow *tag), SIZE_UNKNOWN, FAMILY_NEW_ARRAY)
