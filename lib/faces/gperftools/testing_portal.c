/* SPDX-License-Identifier: MIT */
/*
 * See lib/faces/gperftools/testing_portal.h. The object is one of a C++ class: it begins with the
 * address of its table of virtual functions, in the order of gperftools' header.
 *
 * Two functions return the address of a flag that the program then writes to, unseen. So the calls
 * of MallocExtension look at the flags first.
 */
#include "lib/faces/gperftools/testing_portal.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/faces/gperftools/debug_allocator.h"
#include "lib/faces/gperftools/malloc_extension.h"

struct portal {
    const void *const *methods;
};

/* What a program gives as FunctionRef: a function whose last argument is its data. */
struct body {
    void (*function)(void *data);
    void *data;
};

static struct {
    bool shown;
    int64_t sample, sample_applied;
    double rate, rate_applied;
} flags;

void testing_portal_apply(void)
{
    if (likely(!load_acquire(&flags.shown)))
        return;
    if (flags.sample != flags.sample_applied) {
        flags.sample_applied = flags.sample;
        MallocExtension_SetNumericProperty("tcmalloc.sample_parameter",
                                           flags.sample < 0 ? 0 : (size_t)flags.sample);
    }
    if (flags.rate < flags.rate_applied || flags.rate > flags.rate_applied) {
        flags.rate_applied = flags.rate;
        MallocExtension_SetMemoryReleaseRate(flags.rate);
    }
}

static void flags_show(void)
{
    if (load_acquire(&flags.shown))
        return;
    flags.sample = flags.sample_applied = control_active() ? control_rate() : 0;
    flags.rate = flags.rate_applied = MallocExtension_GetMemoryReleaseRate();
    store_release(&flags.shown, true);
}

#pragma GCC diagnostic ignored "-Wunused-parameter"

static bool have_system_release(struct portal *self)
{
    return true;
}

static bool is_debugging_malloc(struct portal *self)
{
    return debugging_is_on();
}

static size_t get_page_size(struct portal *self)
{
    return UNIT;
}

static size_t get_min_align(struct portal *self)
{
    return GRANULE;
}

static size_t get_max_size(struct portal *self)
{
    return BLOCK_MAX;
}

static int64_t *get_sample_parameter(struct portal *self)
{
    flags_show();
    return &flags.sample;
}

static double *get_release_rate(struct portal *self)
{
    flags_show();
    return &flags.rate;
}

static int32_t *get_max_free_queue_size(struct portal *self)
{
    return debug_allocator_queue_flag();
}

/* Blocks for calls from inside of the allocator are there (lib/api/emergency.h), but no thread can
 * be made to take them, so tests of them are told that there are none. */
static bool has_emergency_malloc(struct portal *self)
{
    return false;
}

static bool is_emergency_ptr(struct portal *self, void *p)
{
    return false;
}

static void with_emergency_malloc(struct portal *self, struct body body)
{
    body.function(body.data);
}

/* In gperftools the class by which free_sized would be misled if the block had another one than its
 * size tells; 0 is none. The size that the caller tells is only compared here: no block has one. */
static uint32_t get_size_class(struct portal *self, void *p)
{
    return 0;
}

/* realloc, where the program knows of a block that is not the allocator's how large it is and how
 * it is freed. */
static NOINLINE void *run_realloc(struct portal *self, void *old, size_t size,
                                  void (*free_invalid)(void *),
                                  size_t (*size_of_invalid)(const void *))
{
    struct caller caller = CALLER_HERE;
    if (old == NULL || MallocExtension_GetOwnership(old) == OWNERSHIP_OURS)
        return __libc_realloc(old, size);
    if (size == 0) {
        free_invalid(old);
        return NULL;
    }
    size_t have = size_of_invalid(old);
    void *block = libc_malloc(size, &caller);
    if (block == NULL)
        return NULL;
    memcpy(block, old, have < size ? have : size);
    free_invalid(old);
    return block;
}

static void destroy(struct portal *self)
{
}

static const void *const methods[] = {
    (const void *)have_system_release,
    (const void *)is_debugging_malloc,
    (const void *)get_page_size,
    (const void *)get_min_align,
    (const void *)get_max_size,
    (const void *)get_sample_parameter,
    (const void *)get_release_rate,
    (const void *)get_max_free_queue_size,
    (const void *)has_emergency_malloc,
    (const void *)is_emergency_ptr,
    (const void *)with_emergency_malloc,
    (const void *)get_size_class,
    (const void *)run_realloc,
    (const void *)destroy,
    (const void *)destroy,
};

bool testing_portal_get(const char *name, size_t *value)
{
    static const struct portal portal = {methods};
    if (strcmp(name, "tcmalloc.impl.testing-portal") != 0)
        return false;
    const void *object = &portal;
    memcpy(value - 1, &object, sizeof object);
    *value = 1;
    return true;
}
