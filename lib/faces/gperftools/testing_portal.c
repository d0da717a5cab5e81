/* SPDX-License-Identifier: MIT */
/*
 * See lib/faces/gperftools/testing_portal.h. The object is one of a C++ class: it begins with the
 * address of its table of virtual functions, in the order of gperftools' header.
 *
 * Two functions return the address of a flag that the program then writes to, unseen. So the calls
 * of MallocExtension look at the flags first. Tests of releases before 2.16 write to the flags by
 * name, and call two functions that are in no installed header, either.
 */
#include "lib/faces/gperftools/testing_portal.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/faces/gperftools/debug_allocator.h"
#include "lib/faces/gperftools/malloc_extension.h"
#include "lib/process/process.h"

struct portal {
    const void *const *methods;
};

/* What a program gives as FunctionRef: a function whose last argument is its data. */
struct body {
    void (*function)(void *data);
    void *data;
};

#define FLAG(length, type, name_length, name)                                      \
    __asm__("_ZN" #length "FLAG__namespace_do_not_use_directly_use_DECLARE_" #type \
            "_instead" #name_length "FLAGS_" #name "E")
extern int64_t flag_sample FLAG(61, int64, 31, tcmalloc_sample_parameter);
extern double flag_rate FLAG(62, double, 27, tcmalloc_release_rate);
extern int32_t flag_verbose FLAG(61, int32, 13, verbose);
EXPORT int64_t flag_sample = 0;
EXPORT double flag_rate = 1;
EXPORT int32_t flag_verbose = 0; /* for the tests' own messages: ours heed PERFTOOLS_VERBOSE */

static bool shown;
static int64_t sample_applied = 0;
static double rate_applied = 1;

void testing_portal_apply(void)
{
    if (flag_sample != sample_applied) {
        sample_applied = flag_sample;
        MallocExtension_SetNumericProperty("tcmalloc.sample_parameter",
                                           flag_sample < 0 ? 0 : (size_t)flag_sample);
    }
    if (flag_rate < rate_applied || flag_rate > rate_applied) {
        rate_applied = flag_rate;
        MallocExtension_SetMemoryReleaseRate(flag_rate);
    }
}

static void flags_show(void)
{
    if (load_acquire(&shown))
        return;
    flag_sample = sample_applied = control_active() ? control_rate() : 0;
    flag_rate = rate_applied = MallocExtension_GetMemoryReleaseRate();
    store_release(&shown, true);
}

/* TCMalloc_SystemAlloc and TCMalloc_SystemRelease: pages from the kernel that are in no heap. Those
 * of gperftools' own library, if that is behind ours: it calls them, too, and counts. */
#define SYSTEM_ALLOC   "_Z20TCMalloc_SystemAllocmPmm"
#define SYSTEM_RELEASE "_Z22TCMalloc_SystemReleasePvm"
void *system_alloc(size_t size, size_t *actual, size_t align) __asm__(SYSTEM_ALLOC);
bool system_release(void *start, size_t size) __asm__(SYSTEM_RELEASE);

static void *theirs_find(const char *name)
{
    return next_has_library("libtcmalloc") ? next_find(name) : NULL;
}

EXPORT void *system_alloc(size_t size, size_t *actual, size_t align)
{
    __typeof__(&system_alloc) theirs = (__typeof__(theirs))theirs_find(SYSTEM_ALLOC);
    if (theirs != NULL)
        return theirs(size, actual, align);
    size_t page = os_page_size(), bytes = (size + page - 1) & ~(page - 1);
    size_t more = align > page ? align - page : 0;
    if (bytes < size || bytes + more < bytes)
        return NULL;
    char *start = os_map(bytes + more);
    if (start == NULL)
        return NULL;
    size_t before = more == 0 ? 0 : -(uintptr_t)start & (align - 1);
    if (before != 0)
        os_unmap(start, before);
    if (before != more)
        os_unmap(start + before + bytes, more - before);
    if (actual != NULL)
        *actual = bytes;
    return start + before;
}

EXPORT bool system_release(void *start, size_t size)
{
    __typeof__(&system_release) theirs = (__typeof__(theirs))theirs_find(SYSTEM_RELEASE);
    if (theirs != NULL)
        return theirs(start, size);
    uintptr_t page = os_page_size(), from = ((uintptr_t)start + page - 1) & ~(page - 1),
              to = ((uintptr_t)start + size) & ~(page - 1);
    return to > from && os_return((void *)from, to - from);
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
    return &flag_sample;
}

static double *get_release_rate(struct portal *self)
{
    flags_show();
    return &flag_rate;
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
