/* SPDX-License-Identifier: MIT */
/*
 * C++'s operators new and delete under their mangled names, so that no C++ library comes with us.
 * A throwing new that fails asks the program's new_handler, again and again as the standard says;
 * without one it throws bad_alloc through the C++ library that is in the process, found by weak
 * references; where there is none it ends the program with a clear line.
 *
 * A program's own operators are called by all forms that it did not replace
 * (lib/process/operators.h).
 */
#include <stdint.h>

#include "lib/api/hardening.h"
#include "lib/api/hooks.h"
#include "lib/api/hot.h"
#include "lib/api/init.h"
#include "lib/api/libc.h"
#include "lib/api/mismatch.h"
#include "lib/process/process.h"
#include "lib/watch/watch.h"

typedef void (*new_handler)(void);
extern new_handler _ZSt15get_new_handlerv(void) __attribute__((weak)); /* std::get_new_handler() */
extern void _ZSt17__throw_bad_allocv(void) __attribute__((weak));      /* libstdc++ throws for us */

/* The type that std::nothrow_t and std::align_val_t arguments have for the ABI. */
struct nothrow;

/* Whose operators the program's references lead to. */
enum { OURS, UNKNOWN, REPLACED };
static uint8_t whose = UNKNOWN;
static struct operators operators; /* if they are replaced */

void (*cxx_new_fails)(size_t size);

static void *take(size_t align, size_t size, const struct caller *caller);
INLINE bool maybe_replaced(void);
static bool is_replaced(void);

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
    if (cxx_new_fails != NULL) {
        cxx_new_fails(size);
        return NULL;
    }
    if (_ZSt17__throw_bad_allocv != NULL)
        _ZSt17__throw_bad_allocv();
    fatal_line("out of memory in operator new, and there is no C++ library to throw bad_alloc; "
               "raise the memory limit or use new(std::nothrow)");
}

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

/* In the C++ library first: an allocator behind ours may have operators, too, that know nothing of
 * the program's or ours. A search takes microseconds, and keeps the C++ library for ever. */
static void *cxx_find(void **known, const char *name)
{
    void *found = load_relaxed(known);
    if (likely(found != NULL))
        return found;
    found = next_find_beside((const void *)_ZSt15get_new_handlerv, name);
    if (found == NULL)
        return next_find(name);
    store_relaxed(known, found);
    return found;
}

/* The C++ library's own form calls the throwing one, which is the program's or ours, and catches:
 * that takes C++. */
static void *nothrow_by_cxx(size_t align, size_t size, const struct nothrow *tag, unsigned family)
{
    static void *known[4];
    bool array = family == FAMILY_NEW_ARRAY;
    void *found;
    if (align == 0)
        found = cxx_find(&known[array], array ? "_ZnamRKSt9nothrow_t" : "_ZnwmRKSt9nothrow_t");
    else
        found = cxx_find(&known[2 + array], array ? "_ZnamSt11align_val_tRKSt9nothrow_t"
                                                  : "_ZnwmSt11align_val_tRKSt9nothrow_t");
    if (found == NULL)
        return NULL;
    return align == 0
               ? ((void *(*)(size_t, const struct nothrow *))found)(size, tag)
               : ((void *(*)(size_t, size_t, const struct nothrow *))found)(size, align, tag);
}

/* The nothrow forms must call the handler, too, and must swallow what it throws. */
static NOINLINE void *new_slower_nothrow(size_t align, size_t size, const struct nothrow *tag,
                                         unsigned family)
{
    struct caller caller = CALLER_HERE;
    caller.family = (uint8_t)family;
    void *block = take(align, size, &caller);
    if (block != NULL || _ZSt15get_new_handlerv == NULL || _ZSt15get_new_handlerv() == NULL)
        return block;
    return nothrow_by_cxx(align, size, tag, family);
}

static NOINLINE void *new_slow(size_t align, size_t size, unsigned family)
{
    void *block = harden_on && align == 0 ? hardening_pop(size) : NULL;
    return block != NULL ? block : new_slower(align, size, family);
}

static NOINLINE void *new_slow_array(size_t align, size_t size)
{
    if (maybe_replaced() && is_replaced())
        return align == 0 ? operators.make(size) : operators.make_aligned(size, align);
    return new_slow(align, size, FAMILY_NEW_ARRAY);
}

/* Whether they are replaced, or that is not known yet. */
INLINE bool maybe_replaced(void)
{
    return unlikely(load_relaxed(&whose) != OURS);
}

static bool is_replaced(void)
{
    return init_done() && load_acquire(&whose) == REPLACED;
}

static NOINLINE void *new_slow_nothrow(size_t align, size_t size, const struct nothrow *tag,
                                       unsigned family)
{
    if (maybe_replaced() && is_replaced())
        return nothrow_by_cxx(align, size, tag, family);
    void *block = harden_on && align == 0 ? hardening_pop(size) : NULL;
    return block != NULL ? block : new_slower_nothrow(align, size, tag, family);
}

/* NULL: go on slowly. */
INLINE void *new_block(size_t size)
{
    struct heap *heap = load_relaxed(&heap_now);
    return likely(size <= SMALL_MAX) ? hot_pop(heap, hot_mark_small(heap, size)) : NULL;
}

/* The same for the forms that end in the program's new. */
INLINE void *new_block_derived(size_t size)
{
    return !maybe_replaced() ? new_block(size) : NULL;
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
    void *block = new_block_derived(size);
    return likely(block != NULL) ? block : new_slow_array(0, size);
}
DEFINE(void *, _ZnwmRKSt9nothrow_t, (size_t size, const struct nothrow *tag))
{
    void *block = new_block_derived(size);
    return likely(block != NULL) ? block : new_slow_nothrow(0, size, tag, FAMILY_NEW);
}
DEFINE(void *, _ZnamRKSt9nothrow_t, (size_t size, const struct nothrow *tag))
{
    void *block = new_block_derived(size);
    return likely(block != NULL) ? block : new_slow_nothrow(0, size, tag, FAMILY_NEW_ARRAY);
}
DEFINE(void *, _ZnwmSt11align_val_t, (size_t size, size_t align))
{
    return new_slow(align, size, FAMILY_NEW);
}
DEFINE(void *, _ZnamSt11align_val_t, (size_t size, size_t align))
{
    return new_slow_array(align, size);
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
static NOINLINE void delete_by_program(void *p, size_t align, unsigned family, bool from_array)
{
    if (!is_replaced())
        libc_delete_slow(p, SIZE_UNKNOWN, align, family);
    else if (align == 0)
        (from_array ? operators.drop_array : operators.drop)(p);
    else
        (from_array ? operators.drop_array_aligned : operators.drop_aligned)(p, align);
}

/* The two that the others end in. */
#define DELETE(name, args, hot, size, align, family)  \
    EXPORT void name args;                            \
    EXPORT void name args                             \
    {                                                 \
        if (unlikely(!(hot)))                         \
            libc_delete_slow(p, size, align, family); \
    }

#define DELETE_DERIVED(name, args, hot, size, align, family, from_array) \
    EXPORT void name args;                                               \
    EXPORT void name args                                                \
    {                                                                    \
        if (likely(hot))                                                 \
            return;                                                      \
        if (!maybe_replaced())                                           \
            libc_delete_slow(p, size, align, family);                    \
        else                                                             \
            delete_by_program(p, align, family, from_array);             \
    }

INLINE bool pushed(void *p)
{
    return hot_push(load_relaxed(&heap_now), p);
}

INLINE bool pushed_derived(void *p)
{
    return !maybe_replaced() && pushed(p);
}

/* Never where the program has operators of its own: `cxx_find_operators` closes the bounds. */
INLINE bool pushed_sized(void *p, size_t size)
{
    return hot_push_sized(load_relaxed(&heap_now), p, size);
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
DELETE(_ZdlPv, (void *p), pushed(p), SIZE_UNKNOWN, 0, FAMILY_NEW)
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), false, SIZE_UNKNOWN, align, FAMILY_NEW)

/* Forms that call the plain one. */
DELETE_DERIVED(_ZdaPv, (void *p), pushed_derived(p), SIZE_UNKNOWN, 0, FAMILY_NEW_ARRAY, false)
DELETE_DERIVED(_ZdlPvRKSt9nothrow_t, (void *p, const struct nothrow *tag), pushed_derived(p),
               SIZE_UNKNOWN, 0, FAMILY_NEW, false)
DELETE_DERIVED(_ZdlPvm, (void *p, size_t size), pushed_sized(p, size), size, 0, FAMILY_NEW, false)
DELETE_DERIVED(_ZdaPvSt11align_val_t, (void *p, size_t align), false, SIZE_UNKNOWN, align,
               FAMILY_NEW_ARRAY, false)
DELETE_DERIVED(_ZdlPvSt11align_val_tRKSt9nothrow_t,
               (void *p, size_t align, const struct nothrow *tag), false, SIZE_UNKNOWN, align,
               FAMILY_NEW, false)
DELETE_DERIVED(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), false, size, align,
               FAMILY_NEW, false)

/* Forms that call the one for arrays. */
DELETE_DERIVED(_ZdaPvRKSt9nothrow_t, (void *p, const struct nothrow *tag), pushed_derived(p),
               SIZE_UNKNOWN, 0, FAMILY_NEW_ARRAY, true)
DELETE_DERIVED(_ZdaPvm, (void *p, size_t size), pushed_sized(p, size), size, 0, FAMILY_NEW_ARRAY,
               true)
DELETE_DERIVED(_ZdaPvSt11align_val_tRKSt9nothrow_t,
               (void *p, size_t align, const struct nothrow *tag), false, SIZE_UNKNOWN, align,
               FAMILY_NEW_ARRAY, true)
DELETE_DERIVED(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), false, size, align,
               FAMILY_NEW_ARRAY, true)

void cxx_find_operators(void)
{
    static const struct operators ours = {
        _Znwm,  _Znam,  _ZnwmSt11align_val_t,  _ZnamSt11align_val_t,
        _ZdlPv, _ZdaPv, _ZdlPvSt11align_val_t, _ZdaPvSt11align_val_t,
    };
    bool replaced = false;
    if (memoir_operators_by_linker != NULL)
        replaced = memoir_operators_by_linker(&operators);
    else if (operators_by_loader != NULL)
        replaced = operators_by_loader(&operators, &ours);
    if (replaced)
        sizes_close_bounds();
    store_release(&whose, replaced ? REPLACED : OURS);
}
