/* SPDX-License-Identifier: MIT */
/*
 * See system_allocator.h. The object is asked for 1 MiB at least, as gperftools asks, and by one
 * thread at a time: its functions need know nothing of threads. What it gave is never returned to
 * it, since it has no function for that; pages that stay free go back to the kernel.
 *
 * Most of these objects count or refuse, and pass the question on to the one that was there before,
 * which is ours: it answers with a part of the heap's window, and if that comes back as it is, the
 * heap has grown as it does otherwise. Memory of any other kind is lent.
 */
#include "lib/faces/gperftools/system_allocator.h"

#include "base/compiler.h"
#include "base/os.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"

/* Bytes asked for at once, so that the program's function is not called for each span; and how long
 * a thread sleeps while another one is in that function, whose time is the program's. */
enum { ASK_MIN = 1 << 20, ASKING_MS = 1 };

/* Behind its address the table of virtual functions has those of the class. */
struct system_allocator {
    const struct methods *methods;
};
struct methods {
    void (*end)(struct system_allocator *self);
    void (*end_delete)(struct system_allocator *self);
    void *(*alloc)(struct system_allocator *self, size_t size, size_t *actual, size_t align);
};

static void *kernel_alloc(struct system_allocator *self, size_t size, size_t *actual, size_t align);
static bool grow(size_t bytes);
static void *lend(struct extent_hooks *hooks, void *at, size_t size, size_t align, bool *zero,
                  bool *commit, unsigned arena);

void _ZN12SysAllocatorD1Ev(void *self);
void _ZN12SysAllocatorD0Ev(void *self);
extern const void *const _ZTI12SysAllocator[2];

/* The object of the class that asks the kernel. */
static const void *const kernel_methods[] = {
    NULL,
    _ZTI12SysAllocator,
    (const void *)_ZN12SysAllocatorD1Ev,
    (const void *)_ZN12SysAllocatorD0Ev,
    (const void *)kernel_alloc,
};
enum { METHODS_AT = 2 };
/* All filled at the first question: initialised data would cost every program a page. */
static struct system_allocator kernel;
static struct extent_hooks hooks;
static struct arena *source; /* the blocks in the program's memory */
static struct system_allocator *in_use;

/* Of what the object gave last: the part that was not asked for. */
static char *rest, *rest_end;
/* The process whose thread is asking. In a forked child it may be the parent, which does not count.
 */
static uint32_t asking;
/* A part of the heap's window, which the program's object got from ours while it was asked. */
static struct span *offered;
static bool offer_none; /* it is not handed on as it is */

struct system_allocator *system_allocator_get(void)
{
    kernel.methods = (const struct methods *)(kernel_methods + METHODS_AT);
    struct system_allocator *allocator = load_acquire(&in_use);
    return allocator == NULL ? &kernel : allocator;
}

void system_allocator_set(struct system_allocator *allocator)
{
    if (allocator == NULL || allocator == &kernel) {
        cold_set_source((struct memory_source){NULL, NULL});
        store_release(&in_use, NULL);
        return;
    }
    hooks = (struct extent_hooks){.alloc = lend,
                                  .purge_lazy = extents_default.purge_lazy,
                                  .split = extents_default.split,
                                  .merge = extents_default.merge};
    if (source == NULL && (source = arena_create(&hooks)) == NULL)
        return;
    store_release(&in_use, allocator);
    cold_set_source((struct memory_source){grow, source->owner});
}

static void *offer(size_t size, size_t align)
{
    if (align > UNIT || !cold_begin(NULL))
        return NULL;
    hold_more((size >> UNIT_SHIFT) + 2 * (size_t)harden_units); /* and what lies around blocks */
    offered = pages_take(0, (uint32_t)(size >> UNIT_SHIFT), 1);
    cold_end();
    return offered == NULL ? NULL : span_start(offered);
}

static void *kernel_alloc(struct system_allocator *self, size_t size, size_t *actual, size_t align)
{
    (void)self;
    bool zero, commit;
    size_t page = os_page_size();
    if (size > PTRDIFF_MAX - page || align > PTRDIFF_MAX)
        return NULL;
    size = (size + page - 1) & ~(page - 1);
    bool for_us =
        young.lending && !offer_none && offered == NULL && size >> UNIT_SHIFT <= INT32_MAX;
    void *got = for_us ? offer(size, align) : NULL;
    if (got == NULL)
        got = extents_default.alloc(&extents_default, NULL, size, align, &zero, &commit, 0);
    if (got != NULL && actual != NULL)
        *actual = size;
    /* cppcheck-suppress returnDanglingLifetime ; the kernel's memory */
    return got;
}

static void asking_begin(void)
{
    uint32_t here = (uint32_t)os_pid();
    for (;;) { /* ends when the thread that asks has its answer */
        uint32_t before = load_relaxed(&asking);
        if (before != here && __atomic_compare_exchange_n(&asking, &before, here, false,
                                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        os_wait(&asking, here, ASKING_MS);
    }
}

/* An aligned part of the rest, or NULL. */
static char *take_rest(size_t size, size_t align)
{
    size_t room = (size_t)(rest_end - rest), lead = -(uintptr_t)rest & (align - 1);
    if (rest == NULL || room < lead || room - lead < size)
        return NULL;
    char *got = rest + lead;
    rest = got + size;
    return got;
}

/* Asks the object. NULL, too, if it gave the heap's own memory: *more is true then if the heap can
 * use it. */
static char *ask(size_t size, size_t wanted, size_t align, bool *more)
{
    struct system_allocator *allocator = system_allocator_get();
    size_t actual = wanted;
    offered = NULL;
    char *got = allocator->methods->alloc(allocator, wanted, &actual, align);
    struct span *span = offered;
    offered = NULL;
    *more = got != NULL && span != NULL && got == span_start(span) && cold_begin(NULL);
    if (*more) {
        span->zero = false; /* the program may have written to it */
        pages_give(span);
        cold_end();
        return NULL;
    }
    if (got != NULL && window_has(got)) {
        offer_none = true;
        return NULL;
    }
    if (got == NULL || (uintptr_t)got % align != 0)
        return NULL;
    char *end = got + (actual < wanted ? wanted : actual);
    if (end - (got + size) > rest_end - rest) { /* the longer one is kept */
        rest = got + size;
        rest_end = end;
    }
    return got;
}

/* For the heap itself. */
static bool grow(size_t bytes)
{
    bool more;
    size_t page = os_page_size();
    bytes = (bytes + page - 1) & ~(page - 1);
    asking_begin();
    ask(0, bytes < ASK_MIN ? ASK_MIN : bytes, page, &more);
    store_release(&asking, 0);
    return more;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

static void *lend(struct extent_hooks *self, void *at, size_t size, size_t align, bool *zero,
                  bool *commit, unsigned arena)
{
    if (at != NULL)
        return NULL;
    asking_begin();
    char *got = take_rest(size, align);
    bool more;
    if (got == NULL && size < ASK_MIN)
        got = ask(size, ASK_MIN, align, &more);
    if (got == NULL)
        got = ask(size, size, align, &more);
    store_release(&asking, 0);
    *zero = false;
    *commit = true;
    return got;
}
