/* SPDX-License-Identifier: MIT */
/* linked-only static-too */
/*
 * memoir_leaks and the calls about it: lost blocks are found with their stacks, blocks that the
 * program ignores, that registered memory leads to, or that were allocated in a disabled scope are
 * not, and each of these can be taken back.
 */
#include "include/memoir/memoir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/api/check.h"

enum { WIPE = 32 << 10, HIDE = 0x5a };

struct seen {
    uint64_t blocks, bytes, owned, cycles, frames;
};

/* Addresses that no scan takes for pointers. */
static uintptr_t hidden[8];

static void each(const struct memoir_leak *leak, void *context)
{
    struct seen *seen = context;
    seen->blocks += leak->definite.blocks;
    seen->bytes += leak->definite.bytes;
    seen->owned += leak->owned.blocks;
    seen->cycles += leak->cycles;
    if (leak->definite.blocks > 0)
        seen->frames += leak->frames;
}

static __attribute__((noinline)) void take(unsigned at, size_t size)
{
    void *block = calloc(1, size);
    hidden[at] = ~(uintptr_t)block;
}

static __attribute__((noinline)) void link_to(unsigned from, unsigned to)
{
    ((uintptr_t *)~hidden[from])[0] = ~hidden[to];
}

static __attribute__((noinline)) void wipe(void)
{
    volatile char dead[WIPE];
    memset((void *)dead, HIDE, sizeof dead);
#if defined(__x86_64__)
    __asm__ volatile("xor %%ebx, %%ebx\n\txor %%r12, %%r12\n\txor %%r13, %%r13\n\t"
                     "xor %%r14, %%r14\n\txor %%r15, %%r15" ::
                         : "rbx", "r12", "r13", "r14", "r15");
#endif
}

static __attribute__((noinline)) struct seen look(struct memoir_leaks *leaks)
{
    struct seen seen = {0};
    wipe();
    CHECK(memoir_leaks(leaks, sizeof *leaks, each, &seen));
    CHECK_EQ(seen.blocks, leaks->definite.blocks);
    CHECK_EQ(seen.bytes, leaks->definite.bytes);
    CHECK_EQ(seen.owned, leaks->indirect.blocks);
    CHECK(leaks->threads >= 1);
    return seen;
}

static void ignored(uint64_t blocks)
{
    struct memoir_leaks leaks;
    CHECK(memoir_leak_ignore((void *)~hidden[0]));
    CHECK_EQ(look(&leaks).blocks, blocks - 1);
    CHECK(memoir_leak_unignore((void *)~hidden[0]));
    CHECK(!memoir_leak_unignore((void *)~hidden[0]));
    CHECK(!memoir_leak_ignore((char *)~hidden[0] + 16));
    CHECK(!memoir_leak_ignore(&leaks));
    CHECK_EQ(look(&leaks).blocks, blocks);
}

static void registered(uint64_t blocks)
{
    struct memoir_leaks leaks;
    /* Shared memory with a name is no root by itself. */
    int file = memfd_create("shared", 0);
    if (file < 0 || ftruncate(file, 4096) != 0)
        abort();
    uintptr_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    shared[100] = ~hidden[0];
    CHECK_EQ(look(&leaks).blocks, blocks);
    CHECK(memoir_leak_root(shared, 4096));
    CHECK(memoir_leak_root(shared, 4096));
    CHECK_EQ(look(&leaks).blocks, blocks - 1);
    CHECK(memoir_leak_unroot(shared, 4096));
    CHECK_EQ(look(&leaks).blocks, blocks - 1);
    CHECK(memoir_leak_unroot(shared, 4096));
    CHECK(!memoir_leak_unroot(shared, 4096));
    CHECK(!memoir_leak_unroot(shared, 2048));
    CHECK_EQ(look(&leaks).blocks, blocks);
    /* Memory that is gone does no harm. */
    CHECK(memoir_leak_root(shared, 4096));
    munmap(shared, 4096);
    CHECK_EQ(look(&leaks).blocks, blocks);
}

static void disabled(uint64_t blocks)
{
    struct memoir_leaks leaks;
    memoir_leak_disable();
    memoir_leak_disable();
    take(4, 64);
    memoir_leak_enable();
    take(5, 64);
    memoir_leak_enable();
    CHECK_EQ(look(&leaks).blocks, blocks);
    memoir_leak_enable(); /* one too many */
    take(6, 64);
    CHECK_EQ(look(&leaks).blocks, blocks + 1);
}

int main(void)
{
    struct memoir_leaks leaks, before;
    memoir_start(0);
    take(7, 64);
    CHECK(memoir_leak_ignore((void *)~hidden[7])); /* whatever was there is not */
    uint64_t at_first = look(&before).blocks;
    take(0, 100);
    struct seen seen = look(&leaks);
    CHECK_EQ(seen.blocks, at_first + 1);
    CHECK(seen.frames > 0);
    CHECK(leaks.definite.bytes >= before.definite.bytes + 100);
    ignored(at_first + 1);
    const char *emulator = getenv("MEMOIR_EMULATOR");
    if (emulator == NULL || *emulator == '\0') /* whose /proc/self/mem is another one's */
        registered(at_first + 1);
    take(1, 100); /* a cycle of three */
    take(2, 100);
    take(3, 100);
    link_to(1, 2);
    link_to(2, 3);
    link_to(3, 1);
    seen = look(&leaks);
    CHECK_EQ(seen.blocks, at_first + 2);
    CHECK_EQ(leaks.indirect.blocks, before.indirect.blocks + 2);
    CHECK_EQ(seen.cycles, 1);
    disabled(at_first + 2);
    CHECK(memoir_leaks(&leaks, sizeof leaks.definite, NULL, NULL));
    return check_result();
}
