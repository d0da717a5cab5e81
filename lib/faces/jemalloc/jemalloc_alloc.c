/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's allocation functions: the "x" family with its flags, and the plain ones under the
 * names of a build with the prefix je_. Caches in the flags are numbers and change nothing.
 * Functions jump to ours where possible, so that their caller is recorded.
 */
#include <errno.h>
#include <string.h>

#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_alloc.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"
#include "lib/watch/watch.h"

enum { FLAG_LG_ALIGN = 0x3f, FLAG_ZERO = 0x40, FLAG_ARENA_AT = 20 };
/* The largest of jemalloc's sizes (mallctl_serve.c). */
#define LARGE_MAX ((size_t)7 << 60)

void *rallocx(void *p, size_t size, int flags);
size_t xallocx(void *p, size_t size, size_t extra, int flags);
size_t sallocx(const void *p, int flags);
void dallocx(void *p, int flags);
void sdallocx(void *p, size_t size, int flags);

static size_t align_of(int flags);
static struct owner *owner_in(int flags);
static void *take_in_arena(size_t size, int flags);
static void *mallocx_told(size_t size, int flags);
static void clear_from(void *block, size_t from);
static void *mallocx_called(size_t size, int flags);
static void *rallocx_called(void *p, size_t size, int flags);
static size_t xallocx_called(void *p, size_t size, size_t extra, int flags);

EXPORT void *mallocx(size_t size, int flags)
{
    size_t align = align_of(flags);
    if (calls_wanted())
        return mallocx_called(size, flags);
    if (unlikely(guard_sampled))
        guarding_make_whole();
    if (unlikely((unsigned)flags >> FLAG_ARENA_AT != 0)) {
        struct owner *owner = arena_owner(((unsigned)flags >> FLAG_ARENA_AT) - 1);
        void *block = NULL;
        if (owner != NULL && owner->lend == NULL && (flags & (FLAG_LG_ALIGN | FLAG_ZERO)) == 0)
            block = owned_pop(owner, size);
        return block != NULL ? block : take_in_arena(size, flags);
    }
    if (unlikely(libc_xmalloc != NULL))
        return mallocx_told(size, flags);
    if (guarding_natural(align) && !(flags & FLAG_ZERO))
        return malloc(size);
    if (guarding_natural(align)) {
        void *block = calloc(1, size);
        if (block != NULL)
            clear_from(block, size);
        return block;
    }
    struct caller caller = CALLER_HERE;
    void *block = libc_aligned(align, size, &caller);
    if (block != NULL && flags & FLAG_ZERO)
        large_clear(block, malloc_usable_size(block));
    return block;
}

static size_t align_of(int flags)
{
    return (size_t)1 << (flags & FLAG_LG_ALIGN);
}

/* The arena in the flags: its number plus one; 0: the thread's own, 1: number 0. NULL: number 0,
 * or there is no such arena. */
static struct owner *owner_in(int flags)
{
    unsigned number = (unsigned)flags >> FLAG_ARENA_AT;
    struct arena *arena = number <= 1 || !init_done() ? NULL : arena_used(number - 1);
    return arena == NULL ? NULL : arena->owner;
}

/* With the option xmalloc, whose sentence names the call. */
static NOINLINE void *mallocx_told(size_t size, int flags)
{
    struct caller caller = CALLER_HERE;
    void *block = libc_take(align_of(flags), size, &caller, WORDS_OUT("mallocx"));
    if (block != NULL && flags & FLAG_ZERO)
        large_clear(block, malloc_usable_size(block));
    return block;
}

/* Number 0, whatever the arena of the thread is. */
static void *take_in_first(size_t size, int flags, const struct caller *caller)
{
    struct owner *own = heap_self == NULL ? NULL : heap_self->default_owner;
    if (own != NULL)
        cold_owned_default(NULL);
    void *block = libc_take(align_of(flags), size, caller, WORDS_OUT("mallocx"));
    if (own != NULL)
        cold_owned_default(own);
    return block;
}

static void out_of_memory(const char *words)
{
    errno = ENOMEM;
    if (libc_xmalloc != NULL)
        libc_xmalloc(words);
}

static NOINLINE void *take_in_arena(size_t size, int flags)
{
    struct caller caller = CALLER_HERE;
    struct owner *owner = owner_in(flags);
    bool zero = false;
    void *block = NULL;
    if ((unsigned)flags >> FLAG_ARENA_AT == 1)
        block = take_in_first(size, flags, &caller);
    else if (owner != NULL && size <= PTRDIFF_MAX)
        block = cold_owned_take(owner, size, align_of(flags), &caller, &zero);
    if (block == NULL)
        out_of_memory(WORDS_OUT("mallocx"));
    else if (flags & FLAG_ZERO && !zero)
        large_clear(block, malloc_usable_size(block));
    return block;
}

/* MALLOCX_ZERO counts to the end of the block, not of what was asked for. */
static void clear_from(void *block, size_t from)
{
    size_t usable = malloc_usable_size(block);
    if (usable > from)
        memset((char *)block + from, 0, usable - from);
}

/* The block elsewhere, aligned, in the arena of the flags. */
static void *moved(void *p, size_t size, size_t usable, int flags, const struct caller *caller)
{
    bool zero;
    struct owner *owner = owner_in(flags);
    void *block = owner == NULL ? libc_take(align_of(flags), size, caller, WORDS_OUT("rallocx"))
                                : cold_owned_take(owner, size, align_of(flags), caller, &zero);
    if (block == NULL) {
        out_of_memory(WORDS_OUT("rallocx"));
        return NULL;
    }
    size_t now = malloc_usable_size(block);
    memcpy(block, p, usable < now ? usable : now);
    libc_free(p, caller);
    return block;
}

/* The result has the size that nallocx tells, also of a block that became smaller. */
EXPORT void *rallocx(void *p, size_t size, int flags)
{
    struct caller caller = CALLER_HERE;
    size_t align = align_of(flags), usable = malloc_usable_size(p);
    if (calls_wanted())
        return rallocx_called(p, size, flags);
    size = size == 0 ? 1 : size;
    size_t wanted = nallocx(size, flags);
    if (wanted == 0) {
        out_of_memory(WORDS_OUT("rallocx"));
        return NULL;
    }
    void *block;
    bool elsewhere = owner_in(flags) != NULL && wanted != usable;
    if (!elsewhere && guarding_natural(align) &&
        (wanted == usable || (wanted > BLOCK_MAX && usable > BLOCK_MAX)))
        block =
            realloc(p, size); /* stays, or large ones change in place or move with their pages */
    else if ((uintptr_t)p % align == 0 && wanted == usable)
        block = p;
    else
        block = moved(p, size, usable, flags, &caller);
    if (block != NULL && flags & FLAG_ZERO)
        clear_from(block, usable);
    return block;
}

/* Only large blocks change in place. */
EXPORT size_t xallocx(void *p, size_t size, size_t extra, int flags)
{
    struct caller caller = CALLER_HERE;
    size_t usable = malloc_usable_size(p), now = 0;
    if (calls_wanted())
        return xallocx_called(p, size, extra, flags);
    if (size > LARGE_MAX || (uintptr_t)p % align_of(flags) != 0)
        return usable;
    size_t max = extra > LARGE_MAX - size ? LARGE_MAX : size + extra;
    if (usable == nallocx(max, flags))
        return usable;
    if (unlikely(lent_size(p) != 0)) {
        now = usable <= BLOCK_MAX ? 0 : extents_resize(p, size, max);
    } else {
        now = cold_resize(p, max, &caller);
        if (now == 0 && usable < size)
            now = cold_resize(p, size, &caller);
    }
    if (now == 0)
        return usable;
    if (flags & FLAG_ZERO)
        clear_from(p, usable);
    return now;
}

/* The same calls where they have hooks (lib/api/hooks.h): what they consist of has none. */
static NOINLINE void *mallocx_called(size_t size, int flags)
{
    young.quiet = true;
    void *block = mallocx(size, flags);
    young.quiet = false;
    calls_alloc(CALL_MALLOCX, block, (uintptr_t)block, (uintptr_t[]){size, (uintptr_t)flags, 0});
    return block;
}

/* One that would move is copied here, so that hooks are called while there are both blocks. */
static NOINLINE void *rallocx_called(void *p, size_t size, int flags)
{
    struct caller caller = CALLER_HERE;
    const uintptr_t args[] = {(uintptr_t)p, size, (uintptr_t)flags, 0};
    size_t usable = malloc_usable_size(p), wanted = nallocx(size, flags);
    young.quiet = true;
    size_t now = xallocx(p, size, 0, flags);
    bool stays = now == wanted && (uintptr_t)p % align_of(flags) == 0;
    void *block = stays ? p : mallocx(size == 0 ? 1 : size, flags);
    if (block != NULL && block != p) {
        size_t room = malloc_usable_size(block); /* less than that of nallocx in some modes */
        memcpy(block, p, usable < room ? usable : room);
    }
    young.quiet = false;
    if (block == p) {
        calls_expand(CALL_RALLOCX_STAYS, p, usable, now, (uintptr_t)p, args);
    } else if (block != NULL) {
        calls_alloc(CALL_RALLOCX, block, (uintptr_t)block, args);
        calls_dalloc(CALL_RALLOCX_FREES, p, args);
        libc_free(p, &caller);
    }
    return block;
}

static NOINLINE size_t xallocx_called(void *p, size_t size, size_t extra, int flags)
{
    size_t usable = malloc_usable_size(p);
    young.quiet = true;
    size_t now = xallocx(p, size, extra, flags);
    young.quiet = false;
    calls_expand(CALL_XALLOCX, p, usable, now, now,
                 (uintptr_t[]){(uintptr_t)p, size, extra, (uintptr_t)flags});
    return now;
}

static NOINLINE void free_called(enum call_dalloc call, void *p, const uintptr_t args[3])
{
    struct caller caller = CALLER_HERE;
    calls_dalloc(call, p, args);
    libc_free(p, &caller);
}

EXPORT size_t sallocx(const void *p, int flags)
{
    (void)flags;
    return malloc_usable_size((void *)p);
}

EXPORT void dallocx(void *p, int flags)
{
    if (calls_wanted())
        free_called(CALL_DALLOCX, p, (uintptr_t[]){(uintptr_t)p, (uintptr_t)flags, 0});
    else
        free(p);
}

EXPORT void sdallocx(void *p, size_t size, int flags)
{
    if (calls_wanted())
        free_called(CALL_SDALLOCX, p, (uintptr_t[]){(uintptr_t)p, size, (uintptr_t)flags});
    else
        free(p);
}

/* The program may use all of that: where blocks are checked to their last byte, they have no more
 * bytes than it asks for. */
EXPORT size_t nallocx(size_t size, int flags)
{
    if (size > LARGE_MAX || align_of(flags) > LARGE_MAX || !init_done())
        return 0;
    size = size == 0 ? 1 : size; /* not defined by jemalloc; in gperftools that of malloc(0) */
    if (unlikely(guarding_exact()))
        return size;
    guarding_make_whole();
    size_t room = sizes_room(size, align_of(flags));
    return room <= BLOCK_MAX ? class_size(class_of(room)) : units_of(size) << UNIT_SHIFT;
}

/* A block and its size. The name of the function ends in the commit that jemalloc was built from:
 * those of its releases are here, and what a build outside of a git checkout has. */
struct sized_block {
    void *block;
    size_t size;
};

#define SMALLOCX(commit)                                                \
    struct sized_block smallocx_##commit(size_t size, int flags);       \
    EXPORT struct sized_block smallocx_##commit(size_t size, int flags) \
    {                                                                   \
        void *block = mallocx(size, flags);                             \
        return (struct sized_block){block, malloc_usable_size(block)};  \
    }

SMALLOCX(b0b3e49a54ec29e32636f4577d9d5a896d67fd20) /* 5.2.0 */
SMALLOCX(ea6b3e973b477b8061e0076bb257dbd7f3faa756) /* 5.2.1 */
SMALLOCX(54eaed1d8b56b1aa528be3bdd1877e59c56fa90c) /* 5.3.0 */
SMALLOCX(81034ce1f1373e37dc865038e1bc8eeecf559ce8) /* 5.3.1 */
SMALLOCX(0000000000000000000000000000000000000000)
SMALLOCX(000000missing_version_try_git_fetch_tags)

#define SAME(result, name, other, args) \
    EXPORT result name args;            \
    EXPORT result name args __attribute__((alias(#other)))

SAME(void *, je_mallocx, mallocx, (size_t size, int flags));
SAME(void *, je_rallocx, rallocx, (void *p, size_t size, int flags));
SAME(size_t, je_xallocx, xallocx, (void *p, size_t size, size_t extra, int flags));
SAME(size_t, je_sallocx, sallocx, (const void *p, int flags));
SAME(void, je_dallocx, dallocx, (void *p, int flags));
SAME(void, je_sdallocx, sdallocx, (void *p, size_t size, int flags));
SAME(size_t, je_nallocx, nallocx, (size_t size, int flags));

#define JUMP(result, name, args, call) \
    EXPORT result name args;           \
    EXPORT result name args            \
    {                                  \
        return call;                   \
    }

JUMP(void *, je_malloc, (size_t size), malloc(size))
JUMP(void *, je_calloc, (size_t count, size_t size), calloc(count, size))
JUMP(void *, je_realloc, (void *p, size_t size), realloc(p, size))
JUMP(void *, je_aligned_alloc, (size_t align, size_t size), aligned_alloc(align, size))
JUMP(void *, je_memalign, (size_t align, size_t size), memalign(align, size))
JUMP(void *, je_valloc, (size_t size), valloc(size))
JUMP(void *, je_pvalloc, (size_t size), pvalloc(size))
JUMP(int, je_posix_memalign, (void **out, size_t align, size_t size),
     posix_memalign(out, align, size))
JUMP(size_t, je_malloc_usable_size, (void *p), malloc_usable_size(p))
JUMP(void, je_free, (void *p), free(p))
JUMP(void, je_free_sized, (void *p, size_t size), free_sized(p, size))
JUMP(void, je_free_aligned_sized, (void *p, size_t align, size_t size),
     free_aligned_sized(p, align, size))
