/* SPDX-License-Identifier: MIT */ /* static-too */
/* The object that gperftools' own test programs ask for by a property: sizes, flags that change
 * what the allocator does, and realloc of blocks that are not the allocator's. */
#include <malloc.h>
#include <stdbool.h>

#include "memoir/compat/gperftools/malloc_extension_c.h"

#include "tests/api/check.h"

#pragma weak MallocExtension_GetNumericProperty
#pragma weak MallocExtension_GetMemoryReleaseRate
#pragma weak MallocExtension_ReleaseToSystem

struct portal;

/* A function and its data, which C++ passes as one value. */
struct body {
    void (*function)(void *);
    void *data;
};

/* In the order of gperftools' header: a table of virtual functions. */
struct methods {
    bool (*have_system_release)(struct portal *);
    bool (*is_debugging_malloc)(struct portal *);
    size_t (*get_page_size)(struct portal *);
    size_t (*get_min_align)(struct portal *);
    size_t (*get_max_size)(struct portal *);
    int64_t *(*get_sample_parameter)(struct portal *);
    double *(*get_release_rate)(struct portal *);
    int32_t *(*get_max_free_queue_size)(struct portal *);
    bool (*has_emergency_malloc)(struct portal *);
    bool (*is_emergency_ptr)(struct portal *, void *);
    void (*with_emergency_malloc)(struct portal *, struct body);
    uint32_t (*get_size_class)(struct portal *, void *);
    void *(*run_realloc)(struct portal *, void *, size_t, void (*)(void *),
                         size_t (*)(const void *));
};

struct portal {
    const struct methods *methods;
};

static size_t property(const char *name)
{
    size_t value = 0;
    CHECK_EQ(MallocExtension_GetNumericProperty(name, &value), 1);
    return value;
}

static char mine[] = "not on the heap";
static int mine_freed;

static void mine_free(void *p)
{
    mine_freed += p == mine;
}

static size_t mine_size(const void *p)
{
    return p == mine ? 3 : 0;
}

static void called(void *data)
{
    ++*(int *)data;
}

static void flags_have_an_effect(struct portal *portal)
{
    int64_t *sample = portal->methods->get_sample_parameter(portal), before = *sample;
    CHECK_EQ((size_t)before, property("tcmalloc.sample_parameter"));
    *sample = 12345;
    CHECK_EQ(property("tcmalloc.sample_parameter"), 12345);
    *sample = 0;
    CHECK_EQ(property("tcmalloc.sample_parameter"), 0);
    *sample = before;
    CHECK_EQ(property("tcmalloc.sample_parameter"), (size_t)before);
    double *rate = portal->methods->get_release_rate(portal);
    CHECK(*rate >= 1 && *rate <= 1);
    *rate = 2;
    MallocExtension_ReleaseToSystem(1);
    CHECK(MallocExtension_GetMemoryReleaseRate() >= 2);
    *rate = 1;
    CHECK(portal->methods->get_max_free_queue_size(portal) != NULL);
}

#define FLAG(length, type, name)                                                                   \
    __asm__("_ZN" #length "FLAG__namespace_do_not_use_directly_use_DECLARE_" #type "_instead" name \
            "E")
extern int64_t flag_sample FLAG(61, int64, "31FLAGS_tcmalloc_sample_parameter")
    __attribute__((weak));
extern double flag_rate FLAG(62, double, "27FLAGS_tcmalloc_release_rate") __attribute__((weak));
extern int32_t flag_verbose FLAG(61, int32, "13FLAGS_verbose") __attribute__((weak));
void *system_alloc(size_t size, size_t *actual,
                   size_t align) __asm__("_Z20TCMalloc_SystemAllocmPmm") __attribute__((weak));
bool system_release(void *start, size_t size) __asm__("_Z22TCMalloc_SystemReleasePvm")
    __attribute__((weak));

/* What tests of older releases use by name. */
static void older_names_have_an_effect(void)
{
    int64_t before = flag_sample;
    flag_sample = 54321;
    CHECK_EQ(property("tcmalloc.sample_parameter"), 54321);
    flag_sample = before;
    flag_rate = 4;
    MallocExtension_ReleaseToSystem(1);
    CHECK(MallocExtension_GetMemoryReleaseRate() >= 4);
    flag_rate = 1;
    CHECK_EQ(flag_verbose, 0);
    for (size_t align = 1; align <= 1 << 22; align *= 2) {
        size_t actual = 0;
        char *p = system_alloc(5000, &actual, align);
        CHECK(p != NULL && (uintptr_t)p % align == 0 && actual >= 5000);
        memset(p, 1, actual);
        CHECK(system_release(p, actual) && p[0] == 0 && p[actual - 1] == 0);
    }
    CHECK(system_alloc(SIZE_MAX - 9, NULL, 0) == NULL);
}

static void realloc_takes_blocks_of_others(struct portal *portal)
{
    const struct methods *can = portal->methods;
    char *p = can->run_realloc(portal, mine, 128, mine_free, mine_size);
    CHECK(p != NULL && p != mine && memcmp(p, mine, 3) == 0 && memcmp(p, mine, 4) != 0);
    CHECK_EQ(mine_freed, 1);
    p = can->run_realloc(portal, p, 100000, mine_free, mine_size);
    CHECK(p != NULL && memcmp(p, mine, 3) == 0 && malloc_usable_size(p) >= 100000);
    CHECK(can->run_realloc(portal, p, 0, mine_free, mine_size) == NULL);
    CHECK(can->run_realloc(portal, mine, 0, mine_free, mine_size) == NULL);
    CHECK_EQ(mine_freed, 2);
}

int main(void)
{
    struct {
        struct portal *portal;
        size_t value;
    } asked = {NULL, 0};
    size_t untouched = 7;
    int calls = 0;
    CHECK_EQ(MallocExtension_GetNumericProperty("tcmalloc.impl.testing-portal", &asked.value), 1);
    CHECK_EQ(asked.value, 1);
    CHECK_EQ(MallocExtension_GetNumericProperty("tcmalloc.impl.no", &untouched), 0);
    CHECK_EQ(untouched, 7);
    const struct methods *can = asked.portal->methods;
    CHECK(can->have_system_release(asked.portal) && !can->is_debugging_malloc(asked.portal));
    CHECK(can->get_page_size(asked.portal) >= 4096 && can->get_min_align(asked.portal) == 16);
    CHECK(can->get_max_size(asked.portal) >= 4096);
    CHECK(!can->has_emergency_malloc(asked.portal));
    can->with_emergency_malloc(asked.portal, (struct body){called, &calls});
    CHECK_EQ(calls, 1);
    flags_have_an_effect(asked.portal);
    older_names_have_an_effect();
    realloc_takes_blocks_of_others(asked.portal);
    return 0;
}
