/* SPDX-License-Identifier: MIT */
/* static-too
 * A resize that another block would not serve better leaves the block where it is: within its class,
 * at every sampling rate, and large blocks that shrink or do not change. */
#include <malloc.h>

#include "tests/api/check.h"

CHECK_WEAK void memoir_set_rate(int64_t bytes);

static size_t usable_of(size_t size)
{
    void *block = malloc(size);
    size_t usable = malloc_usable_size(block);
    free(block);
    return usable;
}

static void stays(size_t from, size_t to)
{
    unsigned char *block = malloc(opaque_size(from)), *after;
    uintptr_t was = (uintptr_t)block;
    size_t kept = from < to ? from : to;
    pattern_fill(block, from, from);
    after = realloc(block, opaque_size(to));
    CHECK_AT((uintptr_t)after == was, "%zu to %zu", from, to);
    CHECK_AT(pattern_differs_at(after, kept, from) == kept, "%zu to %zu", from, to);
    free(after);
}

static void every_class(void)
{
    for (size_t size = 1; size <= 32768;) {
        size_t usable = usable_of(size), middle = size + (usable - size) / 2;
        for (int i = 0; i < 3; i++) {
            stays(usable, size);
            stays(size, usable);
            stays(usable, middle);
            stays(middle, size);
        }
        stays(usable, usable / 2 + 1);
        size = usable + 1;
    }
    for (int i = 0; i < 50; i++) {
        stays(16, 2);
        stays(2, 16);
    }
}

static void large_blocks(void)
{
    stays(100000, 100000);
    stays(100000, 99000);
    stays(1 << 20, 40000);
    stays(1 << 20, 600000);
}

int main(void)
{
    every_class();
    large_blocks();
    const int64_t rates[] = {1, 1024, 0};
    for (size_t i = 0; memoir_set_rate != NULL && i < sizeof rates / sizeof rates[0]; i++) {
        memoir_set_rate(rates[i]);
        every_class();
        large_blocks();
    }
    return check_result();
}
