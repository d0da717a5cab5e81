/* SPDX-License-Identifier: MIT */
/*
 * mimalloc's heaps: owners of blocks (lib/api/owned.h). A handle is the owner itself; the heap that
 * all blocks without an owner belong to has a handle of its own. Release 3 calls the part of a heap
 * that a thread uses a theap: the same handle here. In release 2 a heap that its thread leaves
 * behind is deleted.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/mimalloc/mimalloc.h"
#include "lib/faces/mimalloc/mimalloc_region.h"
#include "lib/watch/watch.h"

enum { TAG_KEPT = 1 << 8 }; /* mi_heap_destroy of such a heap only deletes it */

void *_Znwm(size_t size);
static BULK struct owner backing; /* only its address is used */

FUNCTION(struct owner *, mi_heap_get_backing, (void))
{
    return &backing;
}

FUNCTION(struct owner *, mi_heap_main, (void))
{
    return &backing;
}

struct owner *mimalloc_owner(const struct owner *heap)
{
    return heap == &backing ? NULL : (struct owner *)heap;
}

FUNCTION(struct owner *, mi_heap_new, (void))
{
    return cold_owned_new(mimalloc_release() < 3);
}

FUNCTION(struct owner *, mi_heap_new_ex, (int tag, bool allow_destroy, intptr_t arena))
{
    bool in_region = (int)arena != 0;
    struct owner *owner = in_region ? region_heap_new((int)arena, !allow_destroy) : mi_heap_new();
    if (owner != NULL && !in_region)
        owner->tag = (uint64_t)(tag & 255) | (allow_destroy ? 0 : TAG_KEPT);
    return owner;
}

static bool in_use(const struct owner *heap)
{
    return heap != NULL && heap != &backing && heap->alive && !heap->deleted;
}

FUNCTION(void, mi_heap_delete, (struct owner * heap))
{
    if (in_use(heap) && region_has_heap(heap))
        region_heap_delete(heap);
    else if (in_use(heap))
        cold_owned_delete(heap);
}

FUNCTION(void, mi_heap_destroy, (struct owner * heap))
{
    struct caller caller = CALLER_HERE;
    if (in_use(heap) && region_has_heap(heap))
        region_heap_destroy(heap, &caller);
    else if (in_use(heap) && heap->tag & TAG_KEPT)
        cold_owned_delete(heap);
    else if (in_use(heap))
        cold_owned_destroy(heap, &caller);
}

FUNCTION(struct owner *, mi_heap_get_default, (void))
{
    struct owner *owner = heap_self == NULL ? NULL : heap_self->default_owner;
    return owner == NULL ? &backing : owner;
}

FUNCTION(struct owner *, mi_heap_set_default, (struct owner * heap))
{
    struct owner *before = mi_heap_get_default();
    if (heap == NULL || (heap != &backing && !in_use(heap)))
        return NULL;
    cold_owned_default(mimalloc_owner(heap));
    return before;
}

FUNCTION(void, mi_heap_collect, (struct owner * heap, bool force))
{
    (void)heap;
    mimalloc_deferred_free(force);
    if (force)
        cold_trim();
    else
        cold_flush();
}

/* Blocks of deleted heaps belong to the first one. */
static struct owner *heap_owning(struct owner *owner)
{
    return owner == NULL || owner->deleted ? &backing : owner;
}

/* Which heap a live block belongs to; NULL: it is none. */
static struct owner *heap_of(const void *p)
{
    const void *block = p == NULL || !init_done() ? NULL : shifted_find(p);
    block = block == NULL ? p : block;
    if (!cold_is_block(block))
        return NULL;
    if (!window_has(block) && !guarding_owns(block)) {
        struct owner *heap = region_heap_of(block);
        return heap == NULL ? &backing : heap;
    }
    return heap_owning(guarding_owns(block) ? guarding_owner(block) : owner_of(span_of(block)));
}

FUNCTION(struct owner *, mi_heap_of, (const void *p))
{
    return heap_of(p);
}

/* The same for any aligned address in a span with blocks, free ones among them, or in a guarded
 * block that lives: mimalloc looks at pages there. Slow: goes through all spans. */
static struct owner *heap_around(const void *p)
{
    struct owner *heap = heap_of(p);
    if (heap != NULL || (uintptr_t)p % sizeof(void *) != 0 || !init_done())
        return heap;
    const void *guarded = guarding_start(p);
    if (guarded != NULL)
        return heap_of(guarded);
    const struct span *span = span_find(p);
    return span == NULL ? NULL : heap_owning(owner_of(span));
}

/* 3.4's; a freed block is in its heap there as long as its memory is. */
FUNCTION(bool, mi_heap_contains, (const struct owner *heap, const void *p))
{
    return heap != NULL && heap_around(p) == heap;
}

FUNCTION(bool, mi_heap_contains_block, (struct owner * heap, const void *p))
{
    return heap != NULL && heap_of(p) == heap;
}

FUNCTION(bool, mi_heap_check_owned, (struct owner * heap, const void *p))
{
    return mi_heap_contains(heap, p);
}

/* 2.4 means the thread's default heap, 3.4 any. */
FUNCTION(bool, mi_check_owned, (const void *p))
{
    struct owner *heap = p != NULL && init_done() && cold_owns(p) ? heap_around(p) : NULL;
    return heap != NULL && (mimalloc_release() >= 3 || heap == mi_heap_get_default());
}

FUNCTION(bool, mi_any_heap_contains, (const void *p))
{
    return heap_around(p) != NULL;
}

/* As mimalloc lays it out; releases differ in the last field, which is 0 in both. */
struct area {
    void *blocks;
    size_t reserved, committed, used, block_size, full_block_size;
    intptr_t tag;
};
typedef bool visitor(const struct owner *heap, const struct area *area, void *block, size_t size,
                     void *arg);

static bool is_of(const struct span *span, const struct owner *heap)
{
    uint8_t state = load_acquire(&span->state);
    if (state != SPAN_BLOCKS && state != SPAN_LARGE)
        return false;
    const struct owner *owner = owner_of(span);
    return (owner == NULL || owner->deleted ? &backing : owner) == heap;
}

static void *live_block(const struct span *span, unsigned index)
{
    void *block = span->state == SPAN_LARGE ? span_start(span)
                                            : span_block(span, index, mark_class(span->mark));
    return mark_of(block) == MARK_FREE ? NULL : block;
}

static bool visit_span(const struct owner *heap, const struct span *span, bool blocks,
                       visitor *visit, void *arg)
{
    bool large = span->state == SPAN_LARGE;
    unsigned count = large ? 1 : span->blocks;
    size_t size = large ? large_size(span) : class_size(mark_class(span->mark));
    struct area area = {span_start(span),
                        (size_t)span->units << UNIT_SHIFT,
                        (size_t)span->units << UNIT_SHIFT,
                        0,
                        size,
                        size,
                        0};
    for (unsigned i = 0; i < count; i++)
        area.used += live_block(span, i) != NULL;
    if (area.used == 0)
        return true;
    if (!visit(heap, &area, NULL, size, arg))
        return false;
    for (unsigned i = 0; blocks && i < count; i++) {
        void *block = live_block(span, i);
        size_t usable = size;
        if (block != NULL)
            block = debugging_inner(block, &usable);
        if (block != NULL && !visit(heap, &area, block, usable, arg))
            return false;
    }
    return true;
}

static bool visit_extent(const struct owner *heap, const struct extent *extent, bool blocks,
                         visitor *visit, void *arg)
{
    bool large = extent->state == EXTENT_LARGE;
    unsigned count = large ? 1 : extent->blocks;
    size_t size = large ? extent->bytes : class_size(extent->class);
    struct area area = {extent->start,
                        extent->bytes,
                        extent->bytes,
                        large ? 1 : (size_t)(extent->blocks - extent->free),
                        size,
                        size,
                        0};
    void *block;
    if (!visit(heap, &area, NULL, size, arg))
        return false;
    for (unsigned i = 0; blocks && i < count; i++)
        if (extent_block(extent, i, &block) && lent_size(block) != 0 &&
            !visit(heap, &area, block, size, arg))
            return false;
    return true;
}

struct visit {
    const struct owner *heap;
    bool blocks;
    visitor *visit;
    void *arg;
};

/* A guarded block is an area of its own. */
static bool visit_guarded(void *context, void *block, size_t size)
{
    const struct visit *visit = context;
    struct area area = {block, size, size, 1, size, size, 0};
    return visit->visit(visit->heap, &area, NULL, size, visit->arg) &&
           (!visit->blocks || visit->visit(visit->heap, &area, block, size, visit->arg));
}

static bool visit_region(const struct owner *heap, bool blocks, visitor *visit, void *arg)
{
    size_t count;
    struct extent *extents = lent_copies(region_lender(heap), &count);
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < count; i++)
        goes_on = visit_extent(heap, &extents[i], blocks, visit, arg);
    if (extents != NULL)
        os_unmap(extents, count * sizeof *extents);
    return goes_on;
}

/* Without a lock, so that the visitor may free the block. What other threads change meanwhile may
 * be missed. */
FUNCTION(bool, mi_heap_visit_blocks,
         (const struct owner *heap, bool blocks, visitor *visit, void *arg))
{
    if (heap == NULL || visit == NULL || !init_done())
        return false;
    if (heap != &backing && region_has_heap(heap))
        return visit_region(heap, blocks, visit, arg);
    uint32_t ids = span_count();
    for (uint32_t id = 1; id < ids; id++)
        if (is_of(span_at(id), heap) && !visit_span(heap, span_at(id), blocks, visit, arg))
            return false;
    return guarding_each_owned(heap == &backing ? NULL : heap, visit_guarded,
                               &(struct visit){heap, blocks, visit, arg});
}

/* What ended threads leave behind belongs to no heap of its own. */
FUNCTION(bool, mi_abandoned_visit_blocks,
         (void *subproc, int tag, bool blocks, visitor *visit, void *arg))
{
    (void)subproc, (void)tag, (void)blocks, (void)arg;
    return visit != NULL;
}

FUNCTION(bool, mi_heap_visit_abandoned_blocks,
         (struct owner * heap, bool blocks, visitor *visit, void *arg))
{
    (void)heap, (void)blocks, (void)arg;
    return visit != NULL;
}

FUNCTION(bool, mi_unsafe_heap_page_is_under_utilized,
         (struct owner * heap, void *p, size_t percent))
{
    if (!mi_heap_contains(heap, p) || !window_has(p))
        return false;
    const struct span *span = span_of(p);
    size_t used = 0;
    for (unsigned i = 0; span->state == SPAN_BLOCKS && i < span->blocks; i++)
        used += live_block(span, i) != NULL;
    return span->state == SPAN_BLOCKS && used * 100 <= (size_t)span->blocks * percent;
}

/* Hints: memory comes from the node of the thread that asks. */
FUNCTION(void, mi_heap_set_numa_affinity, (struct owner * heap, int node))
{
    (void)heap, (void)node;
}

INLINE void *pop(struct owner *heap, size_t size)
{
    return likely(heap != &backing) ? owned_pop(heap, size) : NULL;
}

static NOINLINE void *take_slow(struct owner *heap, size_t size)
{
    struct caller caller = CALLER_HERE;
    struct wish wish = {.size = size, .align = 1, .owner = mimalloc_owner(heap)};
    return mimalloc_take(&wish, &caller);
}

static NOINLINE void *take_zero_slow(struct owner *heap, size_t size)
{
    struct caller caller = CALLER_HERE;
    struct wish wish = {.size = size, .align = 1, .zero = true, .owner = mimalloc_owner(heap)};
    return mimalloc_take(&wish, &caller);
}

#define PLAIN(name, args, size)                               \
    FUNCTION(void *, name, args)                              \
    {                                                         \
        void *block = pop(heap, size);                        \
        return block != NULL ? block : take_slow(heap, size); \
    }
#define ZEROED(name, args, size)           \
    FUNCTION(void *, name, args)           \
    {                                      \
        return take_zero_slow(heap, size); \
    }
#define HEAP struct owner *heap

PLAIN(mi_heap_malloc, (HEAP, size_t size), size)
PLAIN(mi_heap_malloc_small, (HEAP, size_t size), size)
PLAIN(mi_heap_mallocn, (HEAP, size_t count, size_t size), mimalloc_product(count, size))
PLAIN(mi_theap_malloc, (HEAP, size_t size), size)
PLAIN(mi_theap_malloc_small, (HEAP, size_t size), size)
ZEROED(mi_heap_zalloc, (HEAP, size_t size), size)
ZEROED(mi_heap_zalloc_small, (HEAP, size_t size), size)
ZEROED(mi_heap_calloc, (HEAP, size_t count, size_t size), mimalloc_product(count, size))
ZEROED(mi_theap_zalloc, (HEAP, size_t size), size)
ZEROED(mi_theap_zalloc_small, (HEAP, size_t size), size)
ZEROED(mi_theap_calloc, (HEAP, size_t count, size_t size), mimalloc_product(count, size))

/* As in mimalloc_aligned.c. */
#define TAKING(name, args, ...)                                                    \
    FUNCTION(void *, name, args)                                                   \
    {                                                                              \
        struct caller caller = CALLER_HERE;                                        \
        struct wish wish = {__VA_ARGS__, .owner = mimalloc_owner(heap)};           \
        return mimalloc_aligns(wish.align) ? mimalloc_take(&wish, &caller) : NULL; \
    }
#define RESIZING(name, args, ...)                                                       \
    FUNCTION(void *, name, args)                                                        \
    {                                                                                   \
        struct caller caller = CALLER_OF(FAMILY_ANY);                                   \
        struct wish wish = {__VA_ARGS__, .owner = mimalloc_owner(heap)};                \
        return mimalloc_aligns(wish.align) ? mimalloc_resize(p, &wish, &caller) : NULL; \
    }

TAKING(mi_heap_malloc_aligned, (HEAP, size_t size, size_t align), .size = size, .align = align)
TAKING(mi_theap_malloc_aligned, (HEAP, size_t size, size_t align), .size = size, .align = align)
TAKING(mi_heap_malloc_aligned_at, (HEAP, size_t size, size_t align, size_t offset), .size = size,
       .align = align, .offset = offset)
TAKING(mi_heap_zalloc_aligned, (HEAP, size_t size, size_t align), .size = size, .align = align,
       .zero = true)
TAKING(mi_heap_zalloc_aligned_at, (HEAP, size_t size, size_t align, size_t offset), .size = size,
       .align = align, .offset = offset, .zero = true)
TAKING(mi_heap_calloc_aligned, (HEAP, size_t count, size_t size, size_t align),
       .size = mimalloc_product(count, size), .align = align, .zero = true)
TAKING(mi_heap_calloc_aligned_at, (HEAP, size_t count, size_t size, size_t align, size_t offset),
       .size = mimalloc_product(count, size), .align = align, .offset = offset, .zero = true)
RESIZING(mi_heap_realloc, (HEAP, void *p, size_t size), .size = size, .align = 1)
RESIZING(mi_theap_realloc, (HEAP, void *p, size_t size), .size = size, .align = 1)
RESIZING(mi_heap_reallocn, (HEAP, void *p, size_t count, size_t size),
         .size = mimalloc_product(count, size), .align = 1)
RESIZING(mi_heap_realloc_aligned, (HEAP, void *p, size_t size, size_t align), .size = size,
         .align = align)
RESIZING(mi_heap_realloc_aligned_at, (HEAP, void *p, size_t size, size_t align, size_t offset),
         .size = size, .align = align, .offset = offset)
RESIZING(mi_heap_rezalloc, (HEAP, void *p, size_t size), .size = size, .align = 1, .zero = true)
RESIZING(mi_heap_recalloc, (HEAP, void *p, size_t count, size_t size),
         .size = mimalloc_product(count, size), .align = 1, .zero = true)
RESIZING(mi_heap_rezalloc_aligned, (HEAP, void *p, size_t size, size_t align), .size = size,
         .align = align, .zero = true)
RESIZING(mi_heap_rezalloc_aligned_at, (HEAP, void *p, size_t size, size_t align, size_t offset),
         .size = size, .align = align, .offset = offset, .zero = true)
RESIZING(mi_heap_recalloc_aligned, (HEAP, void *p, size_t count, size_t size, size_t align),
         .size = mimalloc_product(count, size), .align = align, .zero = true)
RESIZING(mi_heap_recalloc_aligned_at,
         (HEAP, void *p, size_t count, size_t size, size_t align, size_t offset),
         .size = mimalloc_product(count, size), .align = align, .offset = offset, .zero = true)

FUNCTION(void *, mi_heap_reallocf, (HEAP, void *p, size_t size))
{
    struct caller caller = CALLER_OF(FAMILY_ANY);
    struct wish wish = {.size = size, .align = 1, .owner = mimalloc_owner(heap)};
    void *block = mimalloc_resize(p, &wish, &caller);
    if (block == NULL && p != NULL)
        libc_free(p, &caller);
    return block;
}

static char *copy(struct owner *heap, const char *text, size_t length, const struct caller *caller)
{
    struct wish wish = {.size = length + 1, .align = 1, .owner = mimalloc_owner(heap)};
    char *block = mimalloc_take(&wish, caller);
    if (block == NULL)
        return NULL;
    memcpy(block, text, length);
    block[length] = '\0';
    return block;
}

FUNCTION(char *, mi_heap_strdup, (HEAP, const char *text))
{
    struct caller caller = CALLER_HERE;
    return text == NULL ? NULL : copy(heap, text, strlen(text), &caller);
}

FUNCTION(char *, mi_heap_strndup, (HEAP, const char *text, size_t length))
{
    struct caller caller = CALLER_HERE;
    return text == NULL ? NULL : copy(heap, text, strnlen(text, length), &caller);
}

extern char *realpath(const char *path, char *resolved);
FUNCTION(char *, mi_heap_realpath, (HEAP, const char *path, char *resolved))
{
    struct caller caller = CALLER_HERE;
    char buffer[PATH_MAX];
    if (resolved != NULL)
        return realpath(path, resolved);
    return realpath(path, buffer) == NULL ? NULL : copy(heap, buffer, strlen(buffer), &caller);
}

/* Without memory in the heap, operator new asks the new handler and throws. */
static NOINLINE void *new_slow(struct owner *heap, size_t size)
{
    struct caller caller = CALLER_HERE;
    struct wish wish = {.size = size, .align = 1, .owner = mimalloc_owner(heap)};
    void *block = mimalloc_take(&wish, &caller);
    return block != NULL ? block : _Znwm(size);
}

FUNCTION(void *, mi_heap_alloc_new, (HEAP, size_t size))
{
    void *block = pop(heap, size);
    return block != NULL ? block : new_slow(heap, size);
}

FUNCTION(void *, mi_heap_alloc_new_n, (HEAP, size_t count, size_t size))
{
    return new_slow(heap, mimalloc_product(count, size));
}

#define JUMP(result, name, args, call) \
    FUNCTION(result, name, args)       \
    {                                  \
        return call;                   \
    }

JUMP(struct owner *, mi_heap_theap, (HEAP), heap)
JUMP(struct owner *, mi_theap_get_default, (void), mi_heap_get_default())
JUMP(struct owner *, mi_theap_set_default, (HEAP), mi_heap_set_default(heap))
JUMP(void, mi_theap_collect, (HEAP, bool force), mi_heap_collect(heap, force))
JUMP(bool, mi_theap_visit_blocks, (const HEAP, bool blocks, visitor *visit, void *arg),
     mi_heap_visit_blocks(heap, blocks, visit, arg))
