/* SPDX-License-Identifier: MIT */
/*
 * mimalloc's allocation functions. The frequent ones have the hot path of malloc and free; the
 * others say what they want and have `mimalloc_take` or `mimalloc_resize` find it. Each knows its
 * caller, so that a profile shows the program's function and not ours.
 */
#include <errno.h>
#include <string.h>

#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_alloc.h"
#include "lib/faces/mimalloc/mimalloc.h"
#include "lib/watch/watch.h"

bool mimalloc_aligns(size_t align)
{
    return align != 0 && (align & (align - 1)) == 0;
}

size_t mimalloc_product(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

/* The block itself: from the hot path if possible. *clean: it reads as zero up to its size. */
static void *take_block(const struct wish *wish, size_t size, bool *clean,
                        const struct caller *caller)
{
    size_t align = wish->align;
    *clean = false;
    if (wish->owner != NULL) {
        void *block = align <= GRANULE ? owned_pop(wish->owner, size) : NULL;
        return block != NULL ? block : cold_owned_take(wish->owner, size, align, caller, clean);
    }
    if (!guarding_natural(align))
        return libc_aligned(align, size, caller);
    if (!wish->zero || size <= BLOCK_MAX)
        return libc_malloc(size, caller);
    *clean = true;
    return cold_calloc(size, caller);
}

/* Zero up to the last usable byte. */
static void clear(char *block, size_t size, bool clean)
{
    size_t usable = malloc_usable_size(block);
    if (clean)
        memset(block + size, 0, usable - size);
    else
        large_clear(block, usable);
}

/* The program gets a pointer into the block: lib/alloc/shifted.h. */
static void *shift(char *block, size_t by, const struct caller *caller)
{
    bool known = false;
    if (cold_begin(caller)) {
        known = shifted_add(block + by, block);
        cold_end();
    }
    if (known)
        return block + by;
    libc_free(block, caller);
    errno = ENOMEM;
    return NULL;
}

static void *fail(int error, size_t size)
{
    if (error == EOVERFLOW)
        mimalloc_error(error, "allocation request is too large (%zu bytes)", size);
    mimalloc_error(ENOMEM, "unable to allocate memory (%zu bytes)", size);
    errno = ENOMEM;
    return NULL;
}

void *mimalloc_take(const struct wish *wish, const struct caller *caller)
{
    bool clean;
    size_t by = -wish->offset & (wish->align - 1), size = wish->size + by;
    mimalloc_deferred_free(false);
    if (wish->size > PTRDIFF_MAX || size < by || size > PTRDIFF_MAX)
        return fail(EOVERFLOW, wish->size);
    char *block = take_block(wish, size, &clean, caller);
    if (block == NULL)
        return fail(ENOMEM, wish->size);
    if (wish->zero)
        clear(block, size, clean);
    return by == 0 ? block : shift(block, by, caller);
}

static bool fits(const void *p, size_t usable, const struct wish *wish)
{
    return sizes_stay(usable, wish->size) &&
           (((uintptr_t)p + wish->offset) & (wish->align - 1)) == 0;
}

void *mimalloc_resize(void *p, const struct wish *wish, const struct caller *caller)
{
    if (p == NULL)
        return mimalloc_take(wish, caller);
    if (wish->size > PTRDIFF_MAX)
        return fail(EOVERFLOW, wish->size);
    size_t usable = mi_usable_size(p), kept = usable < wish->size ? usable : wish->size;
    char *block;
    if (guarding_natural(wish->align) && wish->offset == 0 && wish->size > 0 &&
        ((usable > BLOCK_MAX && wish->owner == NULL) || fits(p, usable, wish))) {
        block = cold_realloc(p, wish->size, caller);
        if (block == NULL)
            return fail(ENOMEM, wish->size);
    } else if (fits(p, usable, wish)) {
        block = p;
    } else {
        struct wish plain = *wish;
        plain.zero = false;
        if ((block = mimalloc_take(&plain, caller)) == NULL)
            return NULL;
        memcpy(block, p, kept);
        libc_free(p, caller);
    }
    if (wish->zero)
        memset(block + kept, 0, mi_usable_size(block) - kept);
    return block;
}

static NOINLINE void *take_slow(size_t size)
{
    struct caller caller = CALLER_HERE;
    return mimalloc_take(&(struct wish){.size = size, .align = 1}, &caller);
}

static NOINLINE void *take_zero_slow(size_t size)
{
    struct caller caller = CALLER_HERE;
    return mimalloc_take(&(struct wish){.size = size, .align = 1, .zero = true}, &caller);
}

INLINE void *take(size_t size)
{
    if (likely(size <= SMALL_MAX)) {
        struct heap *heap = load_relaxed(&heap_now);
        void *block = hot_pop(heap, hot_mark_small(heap, size));
        if (likely(block != NULL))
            return block;
    }
    return take_slow(size);
}

INLINE void *take_zero(size_t size)
{
    if (likely(size <= SMALL_MAX)) {
        struct heap *heap = load_relaxed(&heap_now);
        size_t mark = hot_mark_small(heap, size);
        void *block = hot_pop(heap, mark);
        if (likely(block != NULL))
            return memset(block, 0, class_size(mark_class((unsigned)mark)));
    }
    return take_zero_slow(size);
}

FUNCTION(void *, mi_malloc, (size_t size))
{
    return take(size);
}

FUNCTION(void *, mi_malloc_small, (size_t size))
{
    return take(size);
}

FUNCTION(void *, mi_mallocn, (size_t count, size_t size))
{
    return take(mimalloc_product(count, size));
}

FUNCTION(void *, mi_zalloc, (size_t size))
{
    return take_zero(size);
}

FUNCTION(void *, mi_zalloc_small, (size_t size))
{
    return take_zero(size);
}

FUNCTION(void *, mi_calloc, (size_t count, size_t size))
{
    return take_zero(mimalloc_product(count, size));
}

/* Frees what can be freed. Anything else is reported, and the program goes on, as in mimalloc;
 * where blocks are guarded or debugged it ends as those modes want it. */
static NOINLINE void free_slow(void *p)
{
    if (p == NULL || cold_owned_push(p))
        return;
    struct caller caller = CALLER_OF(FAMILY_ANY);
    if (guard_calls || guarding_owns(p) || cold_is_block(p)) {
        cold_free(p, &caller);
        return;
    }
    struct span *span = span_find(p);
    if (span != NULL && span->state == SPAN_BLOCKS)
        mimalloc_misuse(EAGAIN, "double free detected of block %p with size %zu", p,
                        class_size(mark_class(span->mark)));
    else
        mimalloc_misuse(EINVAL, "mi_free: invalid pointer: %p", p);
}

FUNCTION(void, mi_free, (void *p))
{
    if (unlikely(!hot_push(load_relaxed(&heap_now), p)))
        free_slow(p);
}

#define FREE(name, args)                                     \
    FUNCTION(void, name, args)                               \
    {                                                        \
        if (unlikely(!hot_push(load_relaxed(&heap_now), p))) \
            free_slow(p);                                    \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"
FREE(mi_free_small, (void *p))
FREE(mi_free_size, (void *p, size_t size))
FREE(mi_free_aligned, (void *p, size_t align))
FREE(mi_free_size_aligned, (void *p, size_t size, size_t align))

/* Frees p if it is ours, and leaves it alone if not. */
FUNCTION(void, mi_cfree, (void *p))
{
    struct caller caller = CALLER_OF(FAMILY_ANY);
    if (cold_is_block(p))
        libc_free(p, &caller);
}

FUNCTION(void, mi_ufree, (void *p, size_t *usable))
{
    struct caller caller = CALLER_OF(FAMILY_ANY);
    if (usable != NULL)
        *usable = mi_usable_size(p);
    if (p != NULL)
        libc_free(p, &caller);
}

FUNCTION(size_t, mi_usable_size, (const void *p))
{
    size_t size = hot_size(p);
    if (likely(size != 0))
        return size;
    return p == NULL ? 0 : cold_usable(p);
}

FUNCTION(size_t, mi_good_size, (size_t size))
{
    size_t good = nallocx(size == 0 ? 1 : size, 0);
    return good == 0 ? size : good;
}

static NOINLINE void *resize_slow(void *p, size_t size)
{
    struct caller caller = CALLER_OF(FAMILY_ANY);
    return mimalloc_resize(p, &(struct wish){.size = size, .align = 1}, &caller);
}

INLINE void *resize(void *p, size_t size)
{
    size_t usable = hot_size(p);
    if (likely(usable != 0 && sizes_stay(usable, size))) {
        cold_kept(p, size);
        return p;
    }
    return resize_slow(p, size);
}

FUNCTION(void *, mi_realloc, (void *p, size_t size))
{
    return resize(p, size);
}

FUNCTION(void *, mi_reallocn, (void *p, size_t count, size_t size))
{
    return resize(p, mimalloc_product(count, size));
}

FUNCTION(void *, mi_reallocarray, (void *p, size_t count, size_t size))
{
    size_t bytes = mimalloc_product(count, size);
    void *block = resize(p, bytes);
    if (block == NULL && bytes > PTRDIFF_MAX)
        errno = EOVERFLOW;
    return block;
}

FUNCTION(void *, mi_reallocf, (void *p, size_t size))
{
    struct caller caller = CALLER_OF(FAMILY_ANY);
    void *block = mimalloc_resize(p, &(struct wish){.size = size, .align = 1}, &caller);
    if (block == NULL && p != NULL)
        libc_free(p, &caller);
    return block;
}

/* `place` is that of a pointer. As on NetBSD: the answer is an error number, and errno stays. */
FUNCTION(int, mi_reallocarr, (void *place, size_t count, size_t size))
{
    struct caller caller = CALLER_OF(FAMILY_ANY);
    void *p, *block = NULL;
    size_t bytes = mimalloc_product(count, size);
    if (place == NULL || size == 0)
        return errno = EINVAL;
    memcpy(&p, place, sizeof p);
    if (bytes == 0)
        mi_free(p);
    else
        block = mimalloc_resize(p, &(struct wish){.size = bytes, .align = 1}, &caller);
    if (block == NULL && bytes != 0)
        return errno = bytes > PTRDIFF_MAX ? EOVERFLOW : ENOMEM;
    memcpy(place, &block, sizeof block);
    return 0;
}

FUNCTION(void *, mi_rezalloc, (void *p, size_t size))
{
    struct caller caller = CALLER_OF(FAMILY_ANY);
    return mimalloc_resize(p, &(struct wish){.size = size, .align = 1, .zero = true}, &caller);
}

FUNCTION(void *, mi_recalloc, (void *p, size_t count, size_t size))
{
    struct caller caller = CALLER_OF(FAMILY_ANY);
    struct wish wish = {.size = mimalloc_product(count, size), .align = 1, .zero = true};
    return mimalloc_resize(p, &wish, &caller);
}

/* In place or not at all. */
FUNCTION(void *, mi_expand, (void *p, size_t size))
{
    return p != NULL && size <= mi_usable_size(p) ? p : NULL;
}

FUNCTION(void *, mi__expand, (void *p, size_t size))
{
    void *block = p != NULL && size <= mi_usable_size(p) ? p : NULL;
    if (block == NULL)
        errno = ENOMEM;
    return block;
}

static void *tell_size(void *block, size_t *usable)
{
    if (usable != NULL)
        *usable = block == NULL ? 0 : mi_usable_size(block);
    return block;
}

/* The functions that also tell the size. */
#define TELLING(name, args, ...)                                 \
    FUNCTION(void *, name, args)                                 \
    {                                                            \
        struct caller caller = CALLER_HERE;                      \
        struct wish wish = {__VA_ARGS__};                        \
        if (!mimalloc_aligns(wish.align))                        \
            return tell_size(NULL, usable);                      \
        return tell_size(mimalloc_take(&wish, &caller), usable); \
    }

TELLING(mi_umalloc, (size_t size, size_t *usable), .size = size, .align = 1)
TELLING(mi_umalloc_small, (size_t size, size_t *usable), .size = size, .align = 1)
TELLING(mi_uzalloc_small, (size_t size, size_t *usable), .size = size, .align = 1, .zero = true)
TELLING(mi_ucalloc, (size_t count, size_t size, size_t *usable),
        .size = mimalloc_product(count, size), .align = 1, .zero = true)
TELLING(mi_umalloc_aligned, (size_t size, size_t align, size_t *usable), .size = size,
        .align = align)
TELLING(mi_uzalloc_aligned, (size_t size, size_t align, size_t *usable), .size = size,
        .align = align, .zero = true)

FUNCTION(void *, mi_urealloc, (void *p, size_t size, size_t *before, size_t *usable))
{
    struct caller caller = CALLER_OF(FAMILY_ANY);
    if (before != NULL)
        *before = mi_usable_size(p);
    return tell_size(mimalloc_resize(p, &(struct wish){.size = size, .align = 1}, &caller), usable);
}
