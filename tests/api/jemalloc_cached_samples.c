/* SPDX-License-Identifier: MIT */
/* A freed block counts as cached (stats.arenas.<i>.tcache_bytes) whether it was a sample or not: in
 * the heap, in the arena of the thread, and in one that the flags name. */
#include <stdbool.h>

#include "tests/api/arena.h"
#include "tests/api/check.h"

#pragma weak mallocx
#pragma weak sallocx
#pragma weak dallocx

enum { ROUNDS = 20 };
static const size_t sizes[] = {1024, 14336, 32768};

static size_t cached(void)
{
    uint64_t epoch = 1;
    size_t bytes = 0, length = sizeof bytes;
    CHECK_EQ(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
    CHECK_EQ(mallctl("stats.arenas.4096.tcache_bytes", &bytes, &length, NULL, 0), 0);
    return bytes;
}

static void take_and_free(int flags)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned round = 0; round < ROUNDS; round++) {
            void *block = mallocx(sizes[i], flags);
            size_t before = cached(), size = sallocx(block, 0);
            dallocx(block, 0);
            CHECK_EQ(cached() - before, size);
            CHECK_EQ(mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
        }
}

static unsigned create(void)
{
    unsigned arena = 0;
    size_t length = sizeof arena;
    CHECK_EQ(mallctl("arenas.create", &arena, &length, NULL, 0), 0);
    return arena;
}

int main(void)
{
    bool active = true;
    size_t lg = 9; /* so that blocks of these sizes are samples, nearly all */
    CHECK_EQ(mallctl("prof.active", NULL, NULL, &active, sizeof active), 0);
    CHECK_EQ(mallctl("prof.reset", NULL, NULL, &lg, sizeof lg), 0);
    for (unsigned i = 0; i < 300; i++) /* a thread with few calls has no cache */
        free(opaque_ptr(malloc(16)));
    take_and_free(0);
    take_and_free(MALLOCX_ARENA(create()));
    unsigned arena = create();
    CHECK_EQ(mallctl("thread.arena", NULL, NULL, &arena, sizeof arena), 0);
    take_and_free(0);
    return check_result();
}
