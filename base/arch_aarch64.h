/* SPDX-License-Identifier: MIT */
/* What aarch64 does its own way: entering the kernel, telling the core that we are spinning,
 * and reading a clock. */
#ifndef BASE_ARCH_AARCH64_H
#define BASE_ARCH_AARCH64_H

#define ARCH_JUMP "b" /* to a function, in assembler */

#include <stdbool.h>
#include <stdint.h>

/* Kinds of relocation that hold the address of a function of another object. */
enum { ARCH_RELOCATION_DATA = 1025, ARCH_RELOCATION_SLOT = 1026 };

static inline long arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}

static inline void arch_pause(void)
{
    __asm__ volatile("yield" ::: "memory");
}

/* A clock of 10 to 50 ns a step that only goes forward; read in a few ns. */
static inline uint64_t arch_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

/* *word -= by; true if that made it negative. */
static inline bool arch_count_down(int32_t *word, int32_t by)
{
    return (*word -= by) < 0;
}

#endif
