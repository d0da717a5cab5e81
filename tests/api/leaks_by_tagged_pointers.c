/* SPDX-License-Identifier: MIT */
/* linked-only static-too not-emulated */
/*
 * Pointers that carry something in their high or low bits: whether they keep a block is what the
 * option leak.tags says. The program starts itself once for each of its words; an emulator does not
 * start it by itself, and there unit/scan has the rules.
 */
#include "include/memoir/memoir.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/api/check.h"

enum { WIPE = 32 << 10, SIZE = 200 };

/* What a pointer is changed into, in the order of `truth`. */
static const uintptr_t tags[] = {
    (uintptr_t)0x5a << 56,                /* the byte that aarch64 ignores */
    (uintptr_t)0x5a5a << 48,              /* all that no address of a process uses */
    (uintptr_t)5,                         /* the low three bits */
    (uintptr_t)13,                        /* and the fourth */
    (uintptr_t)0x5a << 56 | (uintptr_t)5, /* both ends */
};
enum { KINDS = sizeof tags / sizeof tags[0] };

/* Which of them keep a block (r), make it possibly lost (p) or leave it lost (d). */
static const struct {
    const char *word, *x86_64, *aarch64;
} truth[] = {
    {"auto", "ddppd", "rdppp"}, {"off", "ddppd", "ddppd"}, {"high", "rrppp", "rrppp"},
    {"low", "ddrrd", "rdrrr"},  {"all", "rrrrr", "rrrrr"},
};

static uintptr_t kept; /* a global variable, and so a root */

static __attribute__((noinline)) void keep(uintptr_t tag)
{
    kept = (uintptr_t)calloc(1, SIZE) | tag;
}

static __attribute__((noinline)) void wipe(void)
{
    volatile char dead[WIPE];
    memset((void *)dead, 0x5a, sizeof dead);
#if defined(__x86_64__)
    __asm__ volatile("xor %%ebx, %%ebx\n\txor %%r12, %%r12\n\txor %%r13, %%r13\n\t"
                     "xor %%r14, %%r14\n\txor %%r15, %%r15" ::
                         : "rbx", "r12", "r13", "r14", "r15");
#endif
}

static __attribute__((noinline)) struct memoir_leaks look(void)
{
    struct memoir_leaks leaks;
    wipe();
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
    return leaks;
}

static int judge(const char *wanted)
{
    struct memoir_leaks before = look();
    for (unsigned i = 0; i < KINDS; i++) {
        keep(tags[i]);
        struct memoir_leaks now = look();
        char got = now.definite.blocks > before.definite.blocks   ? 'd'
                   : now.possible.blocks > before.possible.blocks ? 'p'
                                                                  : 'r';
        CHECK_AT(got == wanted[i], "tag %lx has the verdict %c, not %c", (unsigned long)tags[i],
                 got, wanted[i]);
        free((void *)(kept << 16 >> 16 & ~(uintptr_t)15));
        kept = 0;
    }
    return check_result();
}

int main(int count, char **words)
{
    if (count > 1)
        return judge(words[1]);
    for (unsigned i = 0; i < sizeof truth / sizeof truth[0]; i++) {
        char command[4096];
#if defined(__aarch64__)
        const char *wanted = truth[i].aarch64;
#else
        const char *wanted = truth[i].x86_64;
#endif
        snprintf(command, sizeof command, "MEMOIR=leak.tags:%s %s %s", truth[i].word, words[0],
                 wanted);
        CHECK_EQ(WEXITSTATUS(system(command)), 0);
    }
    return check_result();
}
