/* SPDX-License-Identifier: MIT */
/* See lib/faces/gperftools/debug_allocator.h. */
#include "lib/faces/gperftools/debug_allocator.h"

#include "base/compiler.h"
#include "base/config.h"
#include "lib/api/api.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/faces/names.h"
#include "lib/watch/watch.h"

int MallocExtension_VerifyAllMemory(void);
int MallocExtension_VerifyNewMemory(const void *p);
int MallocExtension_VerifyArrayNewMemory(const void *p);
int MallocExtension_VerifyMallocMemory(const void *p);

/* The flag of the same meaning, which programs declare by a macro of gperftools' and change. */
extern int32_t flag_queue __asm__(
    "_ZN61FLAG__namespace_do_not_use_directly_use_DECLARE_int32_instead"
    "25FLAGS_max_free_queue_sizeE");
EXPORT int32_t flag_queue = 10 << 20;

static void trace_init(void);

int32_t *debug_allocator_queue_flag(void)
{
    return &flag_queue;
}

void debug_allocator_init(void)
{
    if (names_have_debug()) {
        config.debug_at_exit = config.debug;
        config.debug = true;
    }
    if (!config.debug)
        return;
    config.harden = false; /* a block has the words of one of them */
    int64_t queue = gperftools_number("TCMALLOC_MAX_FREE_QUEUE_SIZE", (int64_t)config.debug_queue);
    config.debug_queue = queue < 0 ? 0 : (uint64_t)queue;
    flag_queue = queue > INT32_MAX ? INT32_MAX : (int32_t)config.debug_queue;
    debugging_queue_limit(config.debug_queue, &flag_queue);
    config.debug_reclaim = gperftools_flag("TCMALLOC_RECLAIM_MEMORY", config.debug_reclaim);
    config.debug_names = gperftools_flag("TCMALLOC_SYMBOLIZE_STACKTRACE", config.debug_names);
    if (gperftools_flag("TCMALLOC_PAGE_FENCE", false))
        config.guard = CONFIG_GUARD_FULL;
    if (gperftools_flag("TCMALLOC_PAGE_FENCE_NEVER_RECLAIM", false))
        config.guard_quarantine = UINT64_MAX;
    config.guard_readable = gperftools_flag("TCMALLOC_PAGE_FENCE_READABLE", config.guard_readable);
    trace_init();
}

static void trace_init(void)
{
    const char *file = environment_get("TCMALLOC_TRACE_FILE");
    if (!gperftools_flag("TCMALLOC_TRACE", false))
        return;
    debugging_trace(file == NULL ? "/tmp/google.alloc" : file);
}

/* Outside of the debug allocator all checks are made at every call: there is nothing to verify. */
EXPORT NOINLINE int MallocExtension_VerifyAllMemory(void)
{
    struct caller caller = CALLER_HERE;
    debugging_verify_all(&caller);
    return 1;
}

EXPORT NOINLINE int MallocExtension_VerifyNewMemory(const void *p)
{
    struct caller caller = CALLER_HERE;
    debugging_verify(p, FAMILY_NEW, &caller);
    return 1;
}

EXPORT NOINLINE int MallocExtension_VerifyArrayNewMemory(const void *p)
{
    struct caller caller = CALLER_HERE;
    debugging_verify(p, FAMILY_NEW_ARRAY, &caller);
    return 1;
}

EXPORT NOINLINE int MallocExtension_VerifyMallocMemory(const void *p)
{
    struct caller caller = CALLER_HERE;
    debugging_verify(p, FAMILY_MALLOC, &caller);
    return 1;
}

struct histogram {
    int blocks;
    size_t total;
    int *rows;
};

static void histogram_add(void *context, size_t size)
{
    struct histogram *sum = context;
    int row = size == 0 ? 0 : 64 - __builtin_clzl(size);
    sum->blocks++;
    sum->total += size;
    sum->rows[row < DEBUG_HISTOGRAM_SIZE ? row : DEBUG_HISTOGRAM_SIZE - 1]++;
}

bool debug_allocator_histogram(int *blocks, size_t *total, int histogram[DEBUG_HISTOGRAM_SIZE])
{
    struct histogram sum = {.rows = histogram};
    if (!debugging_is_on())
        return false;
    debugging_each(histogram_add, &sum);
    *blocks = sum.blocks;
    *total = sum.total;
    return true;
}

size_t debug_allocator_queue_bytes(void)
{
    return debugging_queue_bytes();
}
