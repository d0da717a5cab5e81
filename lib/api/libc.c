/* SPDX-License-Identifier: MIT */
/*
 * The C library's allocation functions. What each returns and does to errno is as in glibc: ENOMEM
 * on every failure, errno untouched on success and by free, realloc(p, 0) frees, any alignment is
 * accepted and rounded up to a power of two.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/os.h"
#include "lib/api/debugging.h"
#include "lib/api/guarding.h"
#include "lib/api/hardening.h"
#include "lib/api/hooks.h"
#include "lib/api/hot.h"
#include "lib/api/libc.h"
#include "lib/api/mismatch.h"
#include "lib/api/owned.h"
#include "lib/guard/guard.h"
#include "lib/watch/watch.h"

int libc_new_mode;
bool (*libc_aligned_strictly)(void);
void (*libc_xmalloc)(const char *words);

static __attribute__((noinline)) void *malloc_middle(size_t size);
static NOINLINE void *malloc_slow(size_t size);
static NOINLINE void *malloc_slower(size_t size);
static NOINLINE bool libc_try_again(const char *words);
INLINE void tell_alloc(enum call_alloc call, void *block, uintptr_t first, uintptr_t second);
INLINE void tell_free(enum call_dalloc call, void *p, uintptr_t size);

EXPORT void *malloc(size_t size)
{
    if (unlikely(size > SMALL_MAX))
        return malloc_middle(size);
    struct heap *heap = load_relaxed(&heap_now);
    void *block = hot_pop(heap, hot_mark_small(heap, size));
    if (unlikely(block == NULL))
        return malloc_slow(size);
    return block;
}

static __attribute__((noinline)) void *malloc_middle(size_t size)
{
    if (likely(size <= BLOCK_MAX)) {
        void *block = hot_pop(load_relaxed(&heap_now), class_of_middle(size));
        if (likely(block != NULL))
            return block;
    }
    return malloc_slow(size);
}

static NOINLINE void *malloc_slow(size_t size)
{
    return harden_on ? hardening_malloc(size, malloc_slower) : malloc_slower(size);
}

/* The slow functions are jumped to, not called, so that each has its caller's frame and finds
 * the caller of malloc. */
static NOINLINE void *malloc_slower(size_t size)
{
    struct caller caller = CALLER_HERE;
    void *block = owned_pop_default(size);
    if (block != NULL)
        return block;
    do
        block = size > PTRDIFF_MAX ? NULL : cold_malloc(size, &caller);
    while (unlikely(block == NULL) && libc_try_again(WORDS_OUT("malloc")));
    tell_alloc(CALL_MALLOC, block, size, 0);
    return block;
}

/* Memory is out. True if a handler of the program's may have made room (tc_set_new_mode). */
static NOINLINE bool libc_try_again(const char *words)
{
    errno = ENOMEM;
    if (load_relaxed(&libc_new_mode) != 0 && cxx_handler_called())
        return true;
    if (libc_xmalloc != NULL)
        libc_xmalloc(words);
    return false;
}

/* The hooks of a call (hooks.h), if there are any. */
INLINE void tell_alloc(enum call_alloc call, void *block, uintptr_t first, uintptr_t second)
{
    if (calls_wanted())
        calls_alloc(call, block, (uintptr_t)block, (uintptr_t[]){first, second, 0});
}

static NOINLINE void free_slower(void *p)
{
    tell_free(CALL_FREE, p, 0);
    if (cold_owned_push(p))
        return;
    struct caller caller = CALLER_HERE;
    cold_free(p, &caller);
}

INLINE void tell_free(enum call_dalloc call, void *p, uintptr_t size)
{
    if (calls_wanted() && p != NULL)
        calls_dalloc(call, p, (uintptr_t[]){(uintptr_t)p, size, 0});
}

void libc_free_slow(void *p)
{
    if (unlikely(harden_on))
        hardening_release(p, free_slower);
    else
        free_slower(p);
}

void libc_free(void *p, const struct caller *caller)
{
    if (unlikely(!hot_push(load_relaxed(&heap_now), p)) && !(harden_on && hardening_push(p)) &&
        !cold_owned_push(p))
        cold_free(p, caller);
}

static NOINLINE void delete_slower(void *p, size_t size, size_t align, unsigned family)
{
    struct caller caller = CALLER_HERE;
    caller.family = (uint8_t)family;
    if (guarding_owns(p))
        guarding_compare(p, size, align, &caller);
    else if (unlikely(debugging_owns(p)))
        debugging_compare(p, size, align, &caller);
    else if (size != SIZE_UNKNOWN || align != 0)
        mismatch_look(p, size, align, &caller);
    tell_free(size == SIZE_UNKNOWN ? CALL_FREE : CALL_SDALLOCX, p, size == SIZE_UNKNOWN ? 0 : size);
    libc_free(p, &caller);
}

void libc_delete_slow(void *p, size_t size, size_t align, unsigned family)
{
    if (harden_on && (align == 0 || (uintptr_t)p % align == 0) &&
        (size == SIZE_UNKNOWN ? hardening_push(p) : hardening_push_sized(p, size)))
        return;
    delete_slower(p, size, align, family);
}

EXPORT void free(void *p)
{
    if (unlikely(!hot_push(load_relaxed(&heap_now), p)))
        libc_free_slow(p);
}

INLINE void *take_cleared(size_t size, const struct caller *caller)
{
    void *block;
    do
        block = size > PTRDIFF_MAX ? NULL : cold_calloc(size, caller);
    while (unlikely(block == NULL) && libc_try_again(WORDS_OUT("calloc")));
    return block;
}

static NOINLINE void *calloc_slower(size_t size)
{
    struct caller caller = CALLER_HERE;
    return take_cleared(size, &caller);
}

static NOINLINE void *calloc_slow(size_t size)
{
    return harden_on ? hardening_malloc(size, calloc_slower) /* new blocks are zero */
                     : calloc_slower(size);
}

static NOINLINE void *calloc_told(size_t count, size_t size)
{
    struct caller caller = CALLER_HERE;
    size_t bytes;
    void *block =
        take_cleared(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, &caller);
    tell_alloc(CALL_CALLOC, block, count, size);
    return block;
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (unlikely(__builtin_mul_overflow(count, size, &bytes)))
        bytes = SIZE_MAX;
    if (likely(bytes <= BLOCK_MAX && bytes != 0)) {
        struct heap *heap = load_relaxed(&heap_now);
        void *block = hot_pop(heap, hot_mark(heap, bytes));
        if (likely(block != NULL))
            return memset(block, 0, bytes);
    }
    return unlikely(load_relaxed(&calls_any)) ? calloc_told(count, size) : calloc_slow(bytes);
}

/* As a call, and not parts of one, if it has hooks: those of the new block and of the old one are
 * called while there are both. */
static void *realloc_told(void *p, size_t size, const struct caller *caller)
{
    const uintptr_t args[] = {(uintptr_t)p, size, 0, 0};
    size_t usable = malloc_usable_size(p), now;
    void *block = NULL;
    bool freed = false; /* in modes that always move */
    young.quiet = true;
    if (sizes_stay(usable, size))
        freed = (block = realloc(p, size)) != p && block != NULL;
    else if (size > BLOCK_MAX && usable > BLOCK_MAX && cold_resize(p, size, caller) != 0)
        block = p;
    now = block == NULL ? 0 : malloc_usable_size(block);
    if (block == NULL && (block = libc_malloc(size, caller)) != NULL)
        large_copy_sparse(block, p, size < usable ? size : usable);
    young.quiet = false;
    if (block == p) {
        calls_expand(CALL_REALLOC_STAYS, p, usable, now, (uintptr_t)p, args);
    } else if (block != NULL) {
        calls_alloc(CALL_REALLOC, block, (uintptr_t)block, args);
        calls_dalloc(CALL_REALLOC_FREES, p, args); /* NOLINT(clang-analyzer-unix.Malloc) */
        if (!freed)
            libc_free(p, caller);
    }
    return block;
}

static NOINLINE void *realloc_slower(void *p, size_t size)
{
    struct caller caller = CALLER_HERE;
    void *block;
    if (calls_wanted())
        return realloc_told(p, size, &caller);
    do
        block = size > PTRDIFF_MAX ? NULL : cold_realloc(p, size, &caller);
    while (unlikely(block == NULL) && libc_try_again(WORDS_OUT("rallocx")));
    return block;
}

static NOINLINE void *realloc_slow(void *p, size_t size)
{
    void *block = harden_on ? hardening_realloc(p, size) : NULL;
    return block != NULL ? block : realloc_slower(p, size);
}

/* Moves a block; both sizes have a class, and the old block is not watched. */
static __attribute__((noinline)) void *realloc_move(void *p, size_t size)
{
    struct caller caller = CALLER_HERE;
    struct heap *heap = load_relaxed(&heap_now);
    size_t usable = hot_size(p);
    if (calls_wanted())
        return realloc_told(p, size, &caller);
    void *block = hot_pop(heap, hot_mark(heap, size));
    if (unlikely(block == NULL) && (block = cold_malloc_moved(size, &caller)) == NULL) {
        if (size <= usable)
            return p;
        return libc_try_again(WORDS_OUT("rallocx")) ? realloc(p, size) : NULL;
    }
    memcpy(block, p, size < usable ? size : usable);
    libc_free(p, &caller);
    return block;
}

abort_hook *libc_abort_hook;

void libc_abort(const char *theirs, const char *ours)
{
    abort_hook *hook = load_acquire(&libc_abort_hook);
    if (hook != NULL)
        hook(theirs);
    else
        fatal_line(ours);
}

uint32_t libc_zero_realloc;
uint64_t libc_zero_reallocs;

static NOINLINE void *realloc_zero(void *p)
{
    struct caller caller = CALLER_HERE;
    __atomic_fetch_add(&libc_zero_reallocs, 1, __ATOMIC_RELAXED);
    if (libc_zero_realloc == ZERO_REALLOC_ALLOCATES)
        return realloc(p, 1);
    if (libc_zero_realloc == ZERO_REALLOC_ABORTS) {
        libc_abort("<jemalloc>: Called realloc(non-null-ptr, 0) with zero_realloc:abort set\n",
                   "realloc(p, 0), and zero_realloc:abort is set; free the block instead");
        return NULL;
    }
    tell_free(CALL_REALLOC_FREES, p, 0);
    libc_free(p, &caller);
    return NULL;
}

static NOINLINE void *realloc_first(size_t size)
{
    struct caller caller = CALLER_HERE;
    void *block = libc_take(1, size, &caller, WORDS_OUT("realloc"));
    tell_alloc(CALL_REALLOC, block, 0, size);
    return block;
}

/* The block stays where it is. */
static NOINLINE void *realloc_kept(void *p, size_t size)
{
    struct caller caller = CALLER_HERE;
    return realloc_told(p, size, &caller);
}

EXPORT void *realloc(void *p, size_t size)
{
    if (p == NULL)
        return unlikely(libc_xmalloc != NULL || load_relaxed(&calls_any)) ? realloc_first(size)
                                                                          : malloc(size);
    if (unlikely(size == 0))
        return realloc_zero(p);
    size_t usable = hot_size(p);
    if (unlikely(usable == 0 || size > BLOCK_MAX))
        return realloc_slow(p, size);
    if (sizes_stay(usable, size)) {
        if (calls_wanted())
            return realloc_kept(p, size);
        cold_kept(p, size);
        return p;
    }
    return realloc_move(p, size);
}

EXPORT void *reallocarray(void *p, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, bytes);
}

static int invalid_alignment(void)
{
    if (libc_xmalloc != NULL)
        libc_xmalloc(WORDS_ALIGNED("invalid alignment"));
    return EINVAL;
}

void *libc_aligned(size_t align, size_t size, const struct caller *caller)
{
    if (align > (size_t)1 << 63) {
        errno = invalid_alignment();
        return NULL;
    }
    if (unlikely(align & (align - 1) || align == 0) && libc_aligned_strictly != NULL &&
        libc_aligned_strictly()) {
        errno = invalid_alignment();
        return NULL;
    }
    if (align & (align - 1))
        align = (size_t)1 << (64 - __builtin_clzl(align));
    return libc_take(align, size, caller, WORDS_ALIGNED("out of memory"));
}

static void *take_unaligned(size_t size, const struct caller *caller, const char *words)
{
    void *block = NULL;
    struct heap *heap = load_relaxed(&heap_now);
    if (likely(size <= BLOCK_MAX))
        block = hot_pop(heap, hot_mark(heap, size));
    if (unlikely(block == NULL))
        block = harden_on ? hardening_pop(size) : owned_pop_default(size);
    while (unlikely(block == NULL)) {
        block = size > PTRDIFF_MAX ? NULL : cold_malloc(size, caller);
        if (block == NULL && !libc_try_again(words))
            break;
    }
    return block;
}

void *libc_take(size_t align, size_t size, const struct caller *caller, const char *words)
{
    if (guarding_natural(align))
        return take_unaligned(size, caller, words);
    void *block;
    do
        block = size > PTRDIFF_MAX ? NULL : cold_aligned(align, size, caller);
    while (unlikely(block == NULL) && libc_try_again(words));
    return block;
}

void *libc_malloc(size_t size, const struct caller *caller)
{
    return take_unaligned(size, caller, WORDS_OUT("malloc"));
}

EXPORT void *memalign(size_t align, size_t size)
{
    struct caller caller = CALLER_HERE;
    void *block = libc_aligned(align, size, &caller);
    tell_alloc(CALL_MEMALIGN, block, align, size);
    return block;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
    struct caller caller = CALLER_HERE;
    void *block = libc_aligned(align, size, &caller);
    tell_alloc(CALL_ALIGNED_ALLOC, block, align, size);
    return block;
}

EXPORT int posix_memalign(void **out, size_t align, size_t size)
{
    if (align % sizeof(void *) != 0 || align == 0 || (align & (align - 1)) != 0)
        return invalid_alignment();
    struct caller caller = CALLER_HERE;
    void *block = libc_aligned(align, size, &caller);
    if (block == NULL)
        return ENOMEM; /* errno is set, too, as in glibc */
    *out = block;
    if (calls_wanted())
        calls_alloc(CALL_POSIX_MEMALIGN, block, 0, (uintptr_t[]){(uintptr_t)out, align, size});
    return 0;
}

EXPORT void *valloc(size_t size)
{
    struct caller caller = CALLER_HERE;
    void *block = libc_aligned(os_page_size(), size, &caller);
    tell_alloc(CALL_VALLOC, block, size, 0);
    return block;
}

EXPORT void *pvalloc(size_t size)
{
    size_t page = os_page_size(), rounded = (size + page - 1) & ~(page - 1);
    if (rounded < size) {
        libc_try_again(WORDS_ALIGNED("out of memory"));
        return NULL;
    }
    struct caller caller = CALLER_HERE;
    void *block = libc_aligned(page, rounded == 0 ? page : rounded, &caller);
    tell_alloc(CALL_VALLOC, block, size, 0);
    return block;
}

EXPORT size_t malloc_usable_size(void *p)
{
    size_t size = hot_size(p);
    if (likely(size != 0))
        return size;
    return p == NULL ? 0 : cold_usable(p);
}

EXPORT void cfree(void *p)
{
    free(p);
}

/* C23: the block knows its size, but a wrong one is told of. */
EXPORT void free_sized(void *p, size_t size)
{
    if (unlikely(!hot_push_sized(load_relaxed(&heap_now), p, size)))
        libc_delete_slow(p, size, 0, FAMILY_MALLOC);
}

EXPORT void free_aligned_sized(void *p, size_t align, size_t size)
{
    libc_delete_slow(p, size, align, FAMILY_MALLOC);
}

/* Names by which old programs reach libc's allocator. */
EXPORT void *__libc_malloc(size_t size) __attribute__((alias("malloc")));
EXPORT void __libc_free(void *p) __attribute__((alias("free")));
EXPORT void *__libc_calloc(size_t count, size_t size) __attribute__((alias("calloc")));
EXPORT void *__libc_realloc(void *p, size_t size) __attribute__((alias("realloc")));
EXPORT void *__libc_memalign(size_t align, size_t size) __attribute__((alias("memalign")));
EXPORT void *__libc_valloc(size_t size) __attribute__((alias("valloc")));
EXPORT void *__libc_pvalloc(size_t size) __attribute__((alias("pvalloc")));
EXPORT void __libc_cfree(void *p) __attribute__((alias("cfree")));
EXPORT int __posix_memalign(void **out, size_t align, size_t size)
{
    return posix_memalign(out, align, size);
}
