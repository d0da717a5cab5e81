/* SPDX-License-Identifier: MIT */
/* helper
 * What programs may rely on with jemalloc: sizes that nallocx foretells, memory that is zero to the
 * end of the block, sizes that change in place, names of mallctl that read back. It prints what
 * does not hold, with jemalloc's own library as with ours. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memoir/compat/jemalloc/jemalloc.h"

static int failures;
#define HOLDS(what) \
    ((what) ? (void)0 : (void)(failures++, printf("line %d: %s\n", __LINE__, #what)))

static size_t number(const char *name)
{
    size_t value = 0, length = sizeof value;
    if (mallctl(name, &value, &length, NULL, 0) != 0) {
        unsigned small = 0;
        length = sizeof small;
        HOLDS(mallctl(name, &small, &length, NULL, 0) == 0);
        value = small;
    }
    return value;
}

static size_t sized(const char *kind, size_t i)
{
    char name[64];
    snprintf(name, sizeof name, "arenas.%s.%zu.size", kind, i);
    return number(name);
}

static bool holds(const unsigned char *p, unsigned char byte, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (p[i] != byte)
            return false;
    return true;
}

static void sizes_are_foretold(void)
{
    for (size_t size = 1; size < 200000; size += 1 + size / 7)
        for (int lg = 0; lg < 22; lg++) {
            int flags = MALLOCX_LG_ALIGN(lg) | MALLOCX_ZERO;
            unsigned char *p = mallocx(size, flags);
            HOLDS(p != NULL && (uintptr_t)p % ((size_t)1 << lg) == 0);
            HOLDS(sallocx(p, 0) == nallocx(size, flags));
            HOLDS(holds(p, 0, 0, sallocx(p, 0)));
            memset(p, 0xa5, sallocx(p, 0));
            dallocx(p, 0);
        }
}

static void moved_blocks_keep_and_clear(void)
{
    static const size_t starts[] = {1, 16, 100, 3000, 20000, 40000, 300000};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        for (size_t j = 0; j < sizeof starts / sizeof *starts; j++) {
            int flags = MALLOCX_ZERO | (j % 2 ? MALLOCX_ALIGN(128) : 0);
            unsigned char *p = mallocx(starts[i], 0);
            size_t before = sallocx(p, 0);
            memset(p, 0x7a, before);
            p = rallocx(p, starts[j], flags);
            size_t now = sallocx(p, 0);
            HOLDS(now == nallocx(starts[j], flags));
            HOLDS(holds(p, 0x7a, 0, before < starts[j] ? before : starts[j]));
            HOLDS(holds(p, 0, before, now));
            dallocx(p, 0);
        }
}

static void large_blocks_change_in_place(void)
{
    size_t count = number("arenas.nlextents"), max = sized("lextent", count - 1);
    size_t one = sized("lextent", 1), three = sized("lextent", 3);
    size_t small = sized("bin", number("arenas.nbins") - 1);
    HOLDS(count > 100 && max >= (size_t)1 << 62 && sized("lextent", 0) > small);
    HOLDS(nallocx(max, 0) == max && nallocx(max + 1, 0) == 0 && nallocx(SIZE_MAX, 0) == 0);
    HOLDS(mallocx(max + 1, 0) == NULL && nallocx(1, MALLOCX_LG_ALIGN(63)) == 0);
    for (size_t i = 1; i < count; i++)
        HOLDS(sized("lextent", i) > sized("lextent", i - 1));

    unsigned char *p = mallocx(three, 0);
    HOLDS(xallocx(p, three, 0, 0) == three);
    HOLDS(xallocx(p, one, three - one, 0) == three);
    HOLDS(xallocx(p, one, 0, 0) >= one);
    HOLDS(xallocx(p, small, 0, 0) >= small);
    memset(p, 0x7a, sallocx(p, 0));
    size_t before = sallocx(p, 0), now = xallocx(p, three, 0, MALLOCX_ZERO);
    HOLDS(now == before || now == three);
    HOLDS(holds(p, 0x7a, 0, before) && holds(p, 0, before, now));
    HOLDS(xallocx(p, three, SIZE_MAX - three, 0) >= one);
    HOLDS(xallocx(p, max, 0, 0) < max);
    dallocx(p, 0);
    p = mallocx(1, 0);
    size_t min = sallocx(p, 0);
    HOLDS(xallocx(p, min + 1, 0, 0) == min && xallocx(p, 1, SIZE_MAX - 1, 0) == min);
    dallocx(p, 0);
}

static void names_read_back(void)
{
    bool flag = false, off = false, on = true;
    size_t length = sizeof flag;
    HOLDS(mallctl("thread.tcache.enabled", &flag, &length, &off, sizeof off) == 0 && flag);
    HOLDS(mallctl("thread.tcache.enabled", &flag, &length, &on, sizeof on) == 0 && !flag);
    HOLDS(mallctl("thread.tcache.enabled", &flag, &length, NULL, 0) == 0 && flag);
    HOLDS(mallctl("opt.prof", &flag, &length, NULL, 0) == 0 && !flag);
    uint64_t epoch = 1;
    HOLDS(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch) == 0);
    size_t before = number("stats.zero_reallocs");
    HOLDS(realloc(malloc(10), 0) == NULL);
    HOLDS(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch) == 0);
    HOLDS(number("stats.zero_reallocs") == before + 1);
    errno = 0;
    HOLDS(aligned_alloc(3, 10) == NULL && errno == EINVAL);
}

int main(void)
{
    sizes_are_foretold();
    moved_blocks_keep_and_clear();
    large_blocks_change_in_place();
    names_read_back();
    puts(failures == 0 ? "all holds" : "not all holds");
    return failures != 0;
}
