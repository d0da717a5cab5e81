/* SPDX-License-Identifier: MIT */
/* linked-only static-too */
/*
 * A call that asks for lost blocks right after the last pointer to one went out of scope, without
 * wiping the stack before: what dead frames left below the caller's, where the call's own variables
 * and the red zone lie, keeps no block reachable.
 */
#include "include/memoir/memoir.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/api/check.h"

enum {
    DEAD = 256,  /* words */
    PADDING = 2, /* words of the frame of the call itself: compilers leave gaps */
};

/* Where the frames of the next call will lie: each word keeps a block of its own. */
static __attribute__((noinline)) void lose(void)
{
    uintptr_t volatile *dead = __builtin_alloca(DEAD * sizeof *dead);
    for (unsigned i = 0; i < DEAD; i++)
        dead[i] = (uintptr_t)malloc(100);
}

static __attribute__((noinline)) void clear_registers(void)
{
#if defined(__x86_64__)
    __asm__ volatile("xor %%ebx, %%ebx\n\txor %%r12, %%r12\n\txor %%r13, %%r13\n\t"
                     "xor %%r14, %%r14\n\txor %%r15, %%r15" ::
                         : "rbx", "r12", "r13", "r14", "r15");
#endif
}

int main(void)
{
    struct memoir_leaks leaks;
    for (unsigned i = 1; i <= 3; i++) {
        lose();
        clear_registers();
        CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
        CHECK(leaks.definite.blocks >= i * DEAD - PADDING);
        CHECK(leaks.definite.blocks <= i * DEAD);
    }
    return check_result();
}
